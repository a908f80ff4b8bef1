//! Hosts that take time for packets: by arithmetic where the time is constant, and by its mean,
//! bounds and order where it is random.

use crate::common::{Ran, flow_list, load, run};
use timeplane_model::Bytes;
use timeplane_scenario::{Algorithms, PlanSpec};

const US: i64 = 1_000_000;
/// Line time of a full frame (1538 B) at 10 Gb/s, in ps.
const LINE: i64 = 1_230_400;
/// Application bytes of a full datagram, and its time through one switch.
const PAYLOAD: u64 = 1472;
const ALONE: i64 = 2 * (LINE + 5 * US);

/// Times to send and to receive, in us.
fn times([send, receive]: [[f64; 2]; 2]) -> String {
    let ([a, b], [c, d]) = (send, receive);
    format!(
        "host.latency.times = {{ send_least = \"{a} us\", send_most = \"{b} us\", \
         receive_least = \"{c} us\", receive_most = \"{d} us\" }}\n"
    )
}

fn two_hosts(file: &str, rest: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 2 }}
        rate = "10 Gb/s"
        propagation = "5 us"
        [workload.flows]
        file = "{file}"
        {rest}
        "#
    )
}

fn datagrams(file: &str, host: &str) -> Ran {
    run(&two_hosts(file, &format!("[record]\nlatency = true\n[scheme.c]\ntransport.datagrams = {{}}\n{host}")), "c", 1)
}

#[test]
fn a_constant_time_is_added_once_and_costs_no_rate() {
    flow_list("hosts-constant.csv", &[(0, 0, 1, PAYLOAD), (500 * US, 1, 0, 100 * PAYLOAD)]);
    let constant = times([[7.0, 7.0], [20.5, 20.5]]);
    for nic in ["", "nic.discipline = \"round_robin\"\n", "nic.discipline = \"fair_queue\"\n"] {
        let ran = datagrams("hosts-constant.csv", &format!("{constant}{nic}"));
        let added = 27 * US + US / 2;
        assert_eq!(ran.column("flows", "fct_ps"), [ALONE + added, ALONE + 99 * LINE + added], "{nic}");
        // The network, and the time that an empty network needs, are what they were.
        assert_eq!(ran.column("flows", "ideal_ps"), [ALONE, ALONE + 99 * LINE]);
        let latency = ran.column("latency", "latency_ps");
        assert!(latency.len() == 1 && (ALONE * 63 / 64..=ALONE).contains(&latency[0]), "{latency:?}");
    }
}

#[test]
fn a_round_trip_grows_by_the_four_times() {
    // One segment at a time: each waits for nothing but its acknowledgement.
    let flows: Vec<_> = (0..20).map(|i| (i * 1000 * US, 0, 1, 1000)).collect();
    flow_list("hosts-rtt.csv", &flows);
    for preset in ["", "preset = \"rfc\", "] {
        let of = |host: &str| {
            let tcp = format!("transport.tcp = {{ {preset}handshake = false, delayed_ack.segments = 1 }}\n");
            run(&two_hosts("hosts-rtt.csv", &format!("[record]\nrtt = true\n[scheme.c]\n{tcp}{host}")), "c", 1)
        };
        let (with, without) = (of(&times([[3.0, 3.0], [11.25, 11.25]])), of(""));
        let rtt = |ran: &Ran| ran.summary.rtt_ps.as_ref().expect("round trips").mean;
        assert_eq!(rtt(&with) - rtt(&without), 28.5e6, "{preset}");
    }
}

#[test]
fn random_times_have_their_bounds_and_their_mean() {
    let count = 4000;
    let flows: Vec<_> = (0..count).map(|i| (i * 100 * US, (i % 2) as u32, (1 - i % 2) as u32, PAYLOAD)).collect();
    flow_list("hosts-random.csv", &flows);
    for (host, [least, most]) in [
        (times([[2.0, 10.0], [0.0, 0.0]]), [2.0, 10.0]),
        (times([[0.0, 0.0], [4.0, 30.0]]), [4.0, 30.0]),
        ("host.latency = \"kernel\"\n".to_owned(), [35.0, 94.0]),
    ] {
        let ran = datagrams("hosts-random.csv", &host);
        let own: Vec<f64> = ran.column("flows", "fct_ps").iter().map(|f| (f - ALONE) as f64 / 1e6).collect();
        let (low, high) = (own.iter().copied().fold(f64::MAX, f64::min), own.iter().copied().fold(0.0, f64::max));
        let range = most - least;
        assert!(low >= least && low < least + 0.1 * range && high <= most && high > most - 0.1 * range, "{host}");
        // Four standard errors of a uniform time.
        let error = 4.0 * range / 12f64.sqrt() / (count as f64).sqrt();
        let mean = own.iter().sum::<f64>() / count as f64;
        assert!((mean - (least + most) / 2.0).abs() < error, "{host}: {mean}");
    }
}

#[test]
fn packets_of_a_host_keep_their_order() {
    let flows: Vec<_> = (0..500).map(|i| (i * US / 2, 0, 1, 100)).collect();
    flow_list("hosts-order.csv", &flows);
    let ran = datagrams("hosts-order.csv", &times([[0.0, 60.0], [0.0, 60.0]]));
    let (flow, start, fct) =
        (ran.column("flows", "flow"), ran.column("flows", "start_ps"), ran.column("flows", "fct_ps"));
    let mut ends: Vec<_> = (0..flow.len()).map(|i| (flow[i], start[i] + fct[i])).collect();
    ends.sort_unstable();
    assert_eq!(ends.len(), 500);
    assert!(ends.is_sorted_by_key(|e| e.1), "{ends:?}");
    // Some wait for the packet before them, others do not.
    let waits = ends.windows(2).filter(|e| e[0].1 == e[1].1).count();
    assert!((1..499).contains(&waits), "{waits}");
}

#[test]
fn the_least_guard_covers_the_variation_of_hosts_that_send() {
    let text = |guard: &str, host: &str| {
        format!(
            r#"
            [fabric]
            topology.single_switch = {{ hosts = 8 }}
            rate = "10 Gb/s"
            [workload.shuffle]
            bytes = "2 MB"
            jitter = "1 us"
            [scheme.c]
            transport.raw = {{}}
            {host}
            plan.tdma = {{ slot = "100 us", guard = "{guard}", signals = {{ reaction = "immediate" }} }}
            "#
        )
    };
    // A constant time only shifts slots. A random one needs a guard that is longer by the spread.
    let (constant, spread) = (times([[30.0, 30.0], [9.0, 9.0]]), times([[5.0, 25.0], [1.0, 40.0]]));
    let loaded = load(&text("15 us", ""));
    let spec = match &loaded.scenario.scheme["c"].plan {
        Some(PlanSpec::Tdma(tdma)) => tdma.clone(),
        _ => unreachable!("it has slots"),
    };
    let fabric = loaded.scenario.fabric.build().expect("a fabric");
    let least = spec.least_guard(&fabric, Bytes::new(1538)).expect("signals");
    let collisions = |guard: &str, host: &str| run(&text(guard, host), "c", 1).summary.collisions.expect("slots");
    let enough = format!("{} ns", (least.as_ps() + 999) / 1000);
    assert_eq!(collisions(&enough, ""), 0);
    assert_eq!(collisions(&enough, &constant), 0);
    assert!(collisions(&enough, &spread) > 0);
    let longer = format!("{} ns", (least.as_ps() + 20 * US + 999) / 1000);
    assert_eq!(collisions(&longer, &spread), 0);
    // Which is what the check asks for.
    let warned = |guard: &str| {
        let warnings = load(&text(guard, &spread)).validate(&Algorithms::built_in()).expect("it is valid");
        warnings.iter().any(|w| w.to_string().contains("sending times of hosts"))
    };
    assert!(warned(&enough) && !warned(&longer));
}

/// Random traffic through all kinds of hosts. The run checks that nothing is missing.
#[test]
fn nothing_is_lost_within_hosts_and_runs_repeat() {
    let text = |scheme: &str| {
        format!(
            r#"
            [fabric]
            topology.leaf_spine = {{ leaves = 2, hosts_per_leaf = 4, spines = 2 }}
            rate = "10 Gb/s"
            switch.buffer.per_port = "60 kB"
            [workload.poisson]
            load = 0.5
            sizes.cdf = "websearch"
            [window]
            measure = "4 ms"
            drain = "100 us"
            [scheme.c]
            host.latency = "kernel"
            {scheme}
            "#
        )
    };
    for scheme in [
        "transport.datagrams = {}",
        "transport.raw = {}",
        "transport.tcp = {}",
        "transport.tcp = { preset = \"rfc\" }",
        "transport.tcp = {}\nplan.rates = {}",
        "transport.raw = {}\nplan.timeslots = {}",
        "transport.raw = {}\nplan.tdma = { control = { in_band = { controller = 7 } } }",
    ] {
        let [one, other] = [1, 1].map(|seed| run(&text(scheme), "c", seed));
        assert!(!one.column("flows", "flow").is_empty(), "{scheme}");
        for column in ["flow", "fct_ps", "received_bytes"] {
            assert_eq!(one.nullable("flows", column), other.nullable("flows", column), "{scheme}: {column}");
        }
    }
}
