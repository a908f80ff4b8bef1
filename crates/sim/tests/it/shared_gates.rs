//! Flows of one host to one destination behind the gate of a plan: with hosts of Linux they share
//! it evenly, whatever their windows.
//!
//! A short flow starts beside a long one. Times follow by processor sharing.

use crate::common::{Ran, flow_list, run};

const LONG: u64 = 60_000_000;
/// It finishes before the long one, and is long enough for its slow start to matter little.
const SHORT: u64 = 12_000_000;
/// It hardly leaves slow start.
const SHORTER: u64 = 1_000_000;
/// When the short flow starts, in ps.
const LATER: i64 = 15_000_000_000;
/// Of a full packet's wire bytes, those that are the application's: 1538 B and 1460 B.
const PAYLOAD: f64 = 1_460.0 / 1_538.0;

/// Hosts 0 and 2 send to host 1, so that a plan gives each half of a link of 10 Gb/s.
fn transfers(name: &str, short: u64, scheme: &str) -> Ran {
    let file = format!("shared-gates-{name}.csv");
    flow_list(&file, &[(0, 0, 1, LONG), (0, 2, 1, 2 * LONG), (LATER, 0, 1, short)]);
    let text = format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 3 }}
        rate = "10 Gb/s"
        propagation = "1 us"
        [workload.flows]
        file = "{file}"
        [scheme.c]
        transport.tcp = {{ congestion = "cubic" }}
        {scheme}
        "#
    );
    let ran = run(&text, "c", 1);
    assert_eq!((ran.summary.flows.unfinished, ran.summary.timeouts), (0, 0), "{scheme}");
    ran
}

/// Completion times in seconds: of the long flow that shares its gate, and of the short one.
fn times(ran: &Ran) -> (f64, f64) {
    let (flow, fct) = (ran.column("flows", "flow"), ran.column("flows", "fct_ps"));
    let of = |number: i64| fct[flow.iter().position(|&f| f == number).unwrap()] as f64 * 1e-12;
    (of(0), of(2))
}

const RATES: &str = r#"plan.rates = { every = "50 us", control_latency = "5 us", compute_time = "5 us" }"#;
const SLOTS: &str = r#"plan.tdma = { slot = "50 us", guard = "2 us" }"#;

#[test]
fn a_short_flow_gets_half_of_its_queues_rate() {
    let (long, short) = times(&transfers("rates", SHORT, RATES));
    let rate = 5e9 / 8.0 * PAYLOAD;
    let ideal = (2 * SHORT) as f64 / rate;
    println!("rates: {:.3} of the ideal, the long flow {:.3}", short / ideal, long / ((LONG + SHORT) as f64 / rate));
    assert!((short / ideal - 1.0).abs() < 0.1, "{short} s for {ideal} s");
    assert!((long / ((LONG + SHORT) as f64 / rate) - 1.0).abs() < 0.05, "{long} s");
}

#[test]
fn a_short_flow_gets_half_of_its_hosts_slots() {
    let (long, short) = times(&transfers("slots", SHORT, SLOTS));
    // What both carry until the long flow ends.
    let rate = (LONG + SHORT) as f64 / long;
    let ideal = (2 * SHORT) as f64 / rate;
    println!("slots: {:.3} of the ideal at {:.2} Gb/s", short / ideal, rate * 8e-9);
    assert!((short / ideal - 1.0).abs() < 0.15, "{short} s for {ideal} s");
}

/// First come, first served, the short flow waits behind the window of the long one in each of its
/// round trips.
#[test]
fn first_come_first_served_windows_keep_short_flows_waiting() {
    for (name, plan) in [("rates", RATES), ("slots", SLOTS)] {
        let fifo = format!("nic.discipline = \"fifo\"\n{plan}");
        let fair = times(&transfers(&format!("fair-{name}"), SHORTER, plan)).1;
        let fifo = times(&transfers(&format!("fifo-{name}"), SHORTER, &fifo)).1;
        println!("{name}: {:.2} ms in turn, {:.2} ms first come, first served", fair * 1e3, fifo * 1e3);
        assert!(fifo > 1.5 * fair, "{name}: {fifo} s, in turn {fair} s");
    }
}

/// What is reported is what windows allow: slots are as busy as where windows wait in the queue.
#[test]
fn plans_see_the_demand_of_windows() {
    for (name, plan) in [("rates", RATES), ("slots", SLOTS)] {
        let fifo = format!("nic.discipline = \"fifo\"\n{plan}");
        let fair = times(&transfers(&format!("demand-{name}"), SHORT, plan)).0;
        let fifo = times(&transfers(&format!("demand-fifo-{name}"), SHORT, &fifo)).0;
        println!("{name}: {:.1} ms in turn, {:.1} ms first come, first served", fair * 1e3, fifo * 1e3);
        assert!((fair / fifo - 1.0).abs() < 0.1, "{name}: {fair} s, {fifo} s");
    }
}
