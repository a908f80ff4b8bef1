//! Schemes with fabrics of their own: each carries the flows of the scenario as if its fabric were
//! the scenario's, on one scale.
//!
//! The scenario's fabric sets arrivals and ideal times.

use crate::common::{Ran, flow_list, run, try_run};
use timeplane_sim::run::RunError;

/// Fabrics of eight hosts: the scenario's, a faster one with another marking threshold, one with
/// circuits.
const PLAIN: &str = r#"topology.leaf_spine = { leaves = 2, hosts_per_leaf = 4, spines = 1 }
    rate = "10 Gb/s"
    propagation = "1 us"
    switch = { buffer.per_port = "200 kB", ecn = "30 kB" }"#;
const FAST: &str = r#"topology.single_switch.hosts = 8
    rate = "40 Gb/s"
    propagation = "2 us"
    mtu = "3000 B"
    switch = { buffer.per_port = "200 kB", ecn = "60 kB" }"#;
const HYBRID: &str = r#"topology.hybrid = { tors = 4, hosts_per_tor = 2, packet_rate = "1 Gb/s", dark.fixed = "10 us" }
    rate = "10 Gb/s"
    propagation = "1 us"
    switch = { buffer.per_port = "200 kB", ecn = "30 kB" }"#;

const CONTROLS: [(&str, &str, &str); 4] = [
    ("plain", "transport.tcp = { congestion = \"dctcp\", min_rto = \"2 ms\" }", ""),
    ("fast", "transport.tcp = { congestion = \"dctcp\", min_rto = \"2 ms\" }", FAST),
    ("slots", "transport.datagrams = {}\nplan.tdma = { slot = \"50 us\", guard = \"5 us\" }", FAST),
    ("circuits", "transport.raw = {}\nplan.circuits = { dark = \"40 us\" }", HYBRID),
];

/// The table of one scheme, with its own fabric or none.
fn scheme((name, keys, _): (&str, &str, &str), fabric: &str) -> String {
    let own = if fabric.is_empty() { String::new() } else { format!("[scheme.{name}.fabric]\n{fabric}\n") };
    format!("[scheme.{name}]\n{keys}\n{own}")
}

fn scenario(fabric: &str, workload: &str, schemes: &str) -> String {
    format!("[fabric]\n{fabric}\n[workload]\n{workload}\n[record]\nlatency = true\n{schemes}")
}

/// All results of a run but the slowdowns.
fn told(ran: &Ran) -> Vec<(String, Vec<i64>)> {
    let columns = [
        ("flows", "flow"),
        ("flows", "source"),
        ("flows", "destination"),
        ("flows", "size_bytes"),
        ("flows", "start_ps"),
        ("flows", "fct_ps"),
        ("links", "from"),
        ("links", "to"),
        ("links", "sent_packets"),
        ("links", "busy_ps"),
        ("links", "max_queue_bytes"),
        ("latency", "latency_ps"),
        ("latency", "packets"),
        ("control", "messages"),
        ("drops", "packets"),
    ];
    columns.iter().map(|(t, c)| (format!("{t}.{c}"), ran.column(t, c))).collect()
}

/// A list of 300 flows of 1 kB to 400 kB, so that the workload is the same for any fabric.
fn list(name: &str) -> String {
    let flows: Vec<_> = (0..300u64)
        .map(|i| {
            let (source, by) = (i % 8, 1 + i / 8 % 7);
            (i as i64 * 7_000_001, source as u32, ((source + by) % 8) as u32, 1_000 + i * i * 7_919 % 400_000)
        })
        .collect();
    flow_list(name, &flows);
    format!("flows.file = \"{name}\"")
}

#[test]
fn each_control_runs_as_if_its_fabric_were_the_scenarios() {
    let workload = list("own-fabrics.csv");
    let all: String = CONTROLS.map(|c| scheme(c, c.2)).concat();
    let together = scenario(PLAIN, &workload, &all);
    let mut completions = Vec::new();
    for c in CONTROLS {
        let own = if c.2.is_empty() { PLAIN } else { c.2 };
        let alone = run(&scenario(own, &workload, &scheme(c, "")), c.0, 7);
        let ran = run(&together, c.0, 7);
        assert_eq!(told(&ran), told(&alone), "{}", c.0);
        assert_eq!(ran.column("flows", "fct_ps").len(), 300);
        completions.push(ran.summary.simulated_ps);
    }
    completions.sort_unstable();
    completions.dedup();
    assert_eq!(completions.len(), 4, "the fabrics make a difference: {completions:?}");
}

/// Line times and delays by hand: one datagram of 1472 B, from rack to rack in the scenario's
/// fabric.
#[test]
fn slowdowns_count_from_the_scenarios_fabric() {
    flow_list("own-one.csv", &[(0, 0, 7, 1472)]);
    let c = ("it", "transport.datagrams = {}", "");
    let own = "topology.single_switch.hosts = 8\nrate = \"40 Gb/s\"";
    let ran = run(&scenario(PLAIN, "flows.file = \"own-one.csv\"", &scheme(c, own)), "it", 1);
    // 1538 B four times at 10 Gb/s and twice at 40 Gb/s, 1 us on each wire.
    assert_eq!(ran.column("flows", "ideal_ps"), [4 * 1_230_400 + 4_000_000]);
    assert_eq!(ran.column("flows", "fct_ps"), [2 * 307_600 + 2_000_000]);
}

/// A load refers to the scenario's fabric. A scheme on faster links gets the same arrivals, which
/// are a smaller load there.
#[test]
fn arrivals_are_those_of_the_scenarios_fabric() {
    let workload = "poisson = { load = 0.5, sizes.exponential = \"50 kB\" }\n[window]\nmeasure = \"3 ms\"";
    let text = scenario(PLAIN, workload, &CONTROLS.map(|c| scheme(c, c.2)).concat());
    let flows = |name: &str| {
        let ran = run(&text, name, 3);
        let mut flows: Vec<_> = ["start_ps", "source", "destination", "size_bytes"]
            .map(|c| ran.column("flows", c))
            .into_iter()
            .fold(vec![Vec::new(); ran.column("flows", "start_ps").len()], |mut rows, column| {
                rows.iter_mut().zip(column).for_each(|(row, value)| row.push(value));
                rows
            });
        flows.sort_unstable();
        flows
    };
    let plain = flows("plain");
    assert!(plain.len() > 100, "{}", plain.len());
    for name in ["fast", "slots", "circuits"] {
        assert_eq!(flows(name), plain, "{name}");
    }
}

#[test]
fn other_hosts_are_refused() {
    let c = ("it", "transport.datagrams = {}", "");
    let text = scenario(PLAIN, &list("own-hosts.csv"), &scheme(c, "topology.single_switch.hosts = 9"));
    let Err(RunError::Fabric(e)) = try_run(&text, "it", 1) else { panic!("nine hosts are not eight") };
    assert_eq!(e.to_string(), "hosts is 9: as many as the scenario's fabric has");
}
