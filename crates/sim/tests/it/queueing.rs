//! Waiting times in one queue against the Pollaczek-Khinchine formula: `W = lambda E[S^2] / (2 (1 -
//! rho))` for Poisson arrivals (Kleinrock, Queueing Systems I, 1975, eq. 5.70).
//!
//! A flow is one packet. Its completion time minus that in an empty network is its waiting time, to
//! the picosecond. Every datagram has 28 B of headers: a service time is exponential plus a
//! constant. Its second moment is exact below, and differs from that of M/M/1 by less than 1e-3.

use crate::common::run;
use timeplane_results::stats::{Interval, LEVEL};

/// Mean bytes of a flow: large compared with 28 B of headers.
const MEAN: f64 = 100_000.0;
const HEADER: f64 = 28.0;
/// Rate 8 Gb/s: a byte takes a nanosecond, so times in ns and sizes in B are the same numbers.
const WARMUP_NS: f64 = 1e9;

/// The distribution of sizes.
#[derive(Clone, Copy, Debug)]
enum Law {
    Exponential,
    Fixed,
}

impl Law {
    fn toml(self) -> &'static str {
        match self {
            Self::Exponential => "exponential",
            Self::Fixed => "fixed",
        }
    }

    /// `W` in ns at load `rho`.
    fn waiting(self, rho: f64) -> f64 {
        let mean = MEAN + HEADER;
        // E[(X + h)^2] = E[X^2] + 2 h E[X] + h^2, where E[X^2] is twice the squared mean, or once.
        let factor = match self {
            Self::Exponential => 2.0,
            Self::Fixed => 1.0,
        };
        let second = factor * MEAN * MEAN + 2.0 * HEADER * MEAN + HEADER * HEADER;
        rho / mean * second / (2.0 * (1.0 - rho))
    }

    /// The textbook formula, `rho / (1 - rho) E[S]`, and half of it.
    fn textbook(self, rho: f64) -> f64 {
        let full = rho / (1.0 - rho) * (MEAN + HEADER);
        match self {
            Self::Exponential => full,
            Self::Fixed => full / 2.0,
        }
    }
}

/// Mean waits of the measured flows in batches, over several seeds.
fn waits(text: &str, seeds: u64, batches: usize, of: impl Fn(i64) -> bool) -> Vec<f64> {
    let mut means = Vec::new();
    for seed in 1..=seeds {
        let ran = run(text, "open", seed);
        assert_eq!(ran.summary.flows.unfinished, 0);
        let flow = ran.column("flows", "flow");
        let (fct, ideal) = (ran.column("flows", "fct_ps"), ran.column("flows", "ideal_ps"));
        let (measured, destination) = (ran.column("flows", "measured"), ran.column("flows", "destination"));
        let mut waits: Vec<(i64, f64)> = (0..fct.len())
            .filter(|&i| measured[i] == 1 && of(destination[i]))
            .map(|i| {
                assert!(fct[i] >= ideal[i], "flow {} is faster than the empty network", flow[i]);
                (flow[i], (fct[i] - ideal[i]) as f64 / 1e3)
            })
            .collect();
        // Rows come as flows end; batches are in the order of arrival.
        waits.sort_unstable_by_key(|w| w.0);
        let length = waits.len() / batches;
        assert!(length > 0);
        means.extend(
            waits.chunks_exact(length).take(batches).map(|b| b.iter().map(|w| w.1).sum::<f64>() / length as f64),
        );
    }
    means
}

fn check(name: &str, law: Law, rho: f64, means: &[f64]) {
    let interval = Interval::of(means, LEVEL).expect("several batches");
    let (expected, half) = (law.waiting(rho), interval.half_width.expect("several batches"));
    println!(
        "{name} {law:?} load {rho}: W = {:.1} ns +- {half:.1} ({:.2} %), expected {expected:.1}, textbook {:.1}, deviation {:+.2} %",
        interval.mean,
        100.0 * half / expected,
        law.textbook(rho),
        100.0 * (interval.mean / expected - 1.0)
    );
    assert!((law.textbook(rho) / expected - 1.0).abs() < 1e-3);
    assert!(half < 0.02 * expected, "the interval is too wide to tell anything");
    assert!((interval.mean - expected).abs() < half, "theory is outside of the interval");
}

/// Two hosts on one wire send to each other: two independent queues at the hosts' interfaces, each
/// with load `rho`.
fn wire(law: Law, rho: f64, packets: f64, seeds: u64) {
    // Each host sends one packet every MEAN / rho ns.
    let measure = packets / 2.0 / seeds as f64 * (MEAN + HEADER) / rho;
    let text = format!(
        r#"
        [fabric]
        topology.graph = {{ hosts = 2, switches = 0, links = [{{ nodes = [0, 1] }}] }}
        rate = "8 Gb/s"
        framing = "none"
        [workload.poisson]
        load = {rho}
        sizes.{} = "{MEAN} B"
        packets = "single"
        [window]
        warmup = "{WARMUP_NS} ns"
        measure = "{measure:.0} ns"
        [scheme.open]
        transport.datagrams = {{}}
        "#,
        law.toml()
    );
    check("interface", law, rho, &waits(&text, seeds, 16, |_| true));
}

#[test]
fn waiting_in_an_interface_at_half_load() {
    wire(Law::Exponential, 0.5, 1.2e6, 2);
    wire(Law::Fixed, 0.5, 6e5, 2);
}

#[test]
fn waiting_in_an_interface_at_high_load() {
    wire(Law::Exponential, 0.8, 2.4e6, 3);
    wire(Law::Fixed, 0.8, 2e6, 2);
}

#[test]
fn waiting_in_an_interface_at_very_high_load() {
    wire(Law::Exponential, 0.95, 24e6, 24);
    wire(Law::Fixed, 0.95, 10e6, 10);
}

/// Sixty-three hosts on links a hundred times as fast send to one: the queue is at the switch's
/// port. Before it a packet waits for its own sender's link with probability 1e-4, for up to a
/// hundredth of a service time.
#[test]
fn waiting_in_a_switch_port() {
    let hosts = 64;
    let links: Vec<String> = (0..hosts)
        .map(|h| {
            let rate = if h == 0 { 8 } else { 800 };
            format!(r#"{{ nodes = [{h}, {hosts}], rate = "{rate} Gb/s" }}"#)
        })
        .collect();
    for (law, rho, packets) in [(Law::Exponential, 0.8, 2e6), (Law::Fixed, 0.8, 1.2e6)] {
        let measure = packets / 2.0 * (MEAN + HEADER) / rho;
        let text = format!(
            r#"
            [fabric]
            topology.graph = {{ hosts = {hosts}, switches = 1, links = [{}] }}
            rate = "8 Gb/s"
            framing = "none"
            [workload.poisson]
            load = {rho}
            pattern.incast = {{ receiver = 0 }}
            sizes.{} = "{MEAN} B"
            packets = "single"
            [window]
            warmup = "{WARMUP_NS} ns"
            measure = "{measure:.0} ns"
            [scheme.open]
            transport.datagrams = {{}}
            "#,
            links.join(", "),
            law.toml()
        );
        check("switch port", law, rho, &waits(&text, 2, 16, |destination| destination == 0));
    }
}
