//! Hosts that use their timeslots in step give the same results as hosts that act by themselves:
//! every table and every number of a run is the same, to the picosecond.
//!
//! Runs are compared both ways; only the amount of work differs.

use crate::common::{assert_same, run, run_by_packets};
use proptest::prelude::*;
use proptest::sample::select;

/// Runs a scenario both ways, asserts that nothing differs, and returns events by themselves over
/// events in step.
fn same(text: &str, seed: u64) -> f64 {
    let (together, each) = (run(text, "timeslots", seed), run_by_packets(text, "timeslots", seed));
    assert_same(&format!("{text}\nseed {seed}"), &together, &each)
}

const ONE_SWITCH: &str = "topology.single_switch.hosts = 7";
const CLOS: &str = "topology.leaf_spine = { leaves = 3, hosts_per_leaf = 4, spines = 2 }\nuplink_rate = \"2 Gb/s\"";
const FABRICS: [&str; 5] = [
    ONE_SWITCH,
    CLOS,
    "topology.leaf_spine = { leaves = 2, hosts_per_leaf = 4, spines = 2 }",
    "topology.tree = { edges = 3, hosts_per_edge = 3 }\nuplink_rate = \"3 Gb/s\"",
    "topology.fat_tree.k = 4",
];

fn scenario(fabric: &str, workload: &str, transport: &str, plan: &str) -> String {
    format!(
        r#"
        [fabric]
        {fabric}
        rate = "1 Gb/s"
        propagation = "1 us"
        [workload.poisson]
        {workload}
        [scheme.timeslots]
        transport.{transport}
        plan.timeslots = {{ {plan} }}
        "#
    )
}

const WORKLOAD: &str = r#"load = 0.7
sizes.exponential = "46 kB""#;
const MEASURED: &str = "\n[window]\nmeasure = \"4 ms\"\n";
const DRAINED: &str = "\n[window]\nwarmup = \"1 ms\"\nmeasure = \"2 ms\"\ndrain = \"1 ms\"\n";

#[test]
fn hosts_in_step_need_fewer_events() {
    for plan in ["control = \"unlimited\"", "", "batch = 8, control_latency = \"5 us\", compute_time = \"3 us\""] {
        for transport in ["datagrams = {}", "raw = {}"] {
            let times = same(&(scenario(CLOS, WORKLOAD, transport, plan) + MEASURED), 1);
            println!("{plan} {transport}: {times:.1} times fewer events");
            assert!(times > 1.3, "{plan} {transport}: {times}");
        }
    }
}

/// Grants come after their slots have started: none of them is used either way.
#[test]
fn late_grants_are_late_both_ways() {
    // Ports take longer than a plan without a time ahead reckons with.
    let slow =
        r#"batch = 2, control.network = { host_rate = "100 Mb/s", controller_rate = "100 Mb/s" }, ahead = "20 us""#;
    let text = scenario(CLOS, WORKLOAD, "raw = {}", slow) + "\n[window]\nmeasure = \"4 ms\"\ndrain = \"5 ms\"\n";
    same(&text, 1);
    let late: i64 = run(&text, "timeslots", 1).column("control", "late").iter().sum();
    assert!(late > 0, "no grant was late");
}

/// Behind cut-through switches the last packet has arrived before its host's link is free: no event
/// of the interface may come later.
#[test]
fn a_run_ends_with_its_last_packet_both_ways() {
    let fabric = format!("{}\nswitch.forwarding = \"cut_through\"", FABRICS[2]);
    let text = scenario(&fabric, "load = 0.4\nsizes.fixed = \"1472 B\"", "datagrams = {}", "") + MEASURED;
    for seed in 0..12 {
        same(&text, seed);
    }
}

/// 50 cases, or as many as the environment says.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(50)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
    /// For any plan: in step or not, with clock errors, losses, slots longer than a packet, or
    /// grants that come late.
    #[test]
    fn nothing_differs_whatever_the_plan(
        fabric in select(&FABRICS[..]),
        more in select(&["", "", "", r#"mtu = "9000 B""#, r#"switch.latency = "700 ns""#, r#"switch.forwarding = "cut_through""#,
            r#"switch.buffer.per_port = "10 kB""#, r#"switch.ecn = "20 kB""#][..]),
        metric in select(&["mmf", "ocf", "srjf"][..]),
        fill in select(&["packet", "packet", "packet", "packet", "packet", "packet", "packets", "fragments"][..]),
        control in select(&["", r#"control = "unlimited""#, r#"control = "unlimited""#,
            r#"control.network = { host_rate = "300 Mb/s", controller_rate = "2 Gb/s" }"#, "control.in_band.controller = 1"][..]),
        times in (1u32..10, select(&[0u32, 0, 1, 5, 30][..]), select(&[0u32, 0, 3][..])),
        odd in select(&["", "", "", "", "", "", "", "", r#"clock_error = "2 us""#, "control_loss = 0.05", r#"phase = "4 us""#, r#"slot = "80 us""#,
            r#"classes = ["5 kB", "20 kB"]"#, r#"flow_order = "arrival""#][..]),
        transport in select(&["datagrams = {}", "datagrams = {}", r#"raw = { report_every = "300 us" }"#,
            r#"tcp = { congestion = "dctcp", min_rto = "2 ms" }"#][..]),
        workload in select(&[WORKLOAD, "load = 0.9\nsizes.exponential = \"4 kB\"\npackets = \"alternating\"",
            "load = 0.4\nsizes.fixed = \"1472 B\"\n", "load = 0.6\nsizes.exponential = \"200 kB\""][..]),
        record in select(&["", "", "", "", "", "[record]\nlatency = true\n", "[record]\ngrants = true\n", "[record]\nqueues_every = \"50 us\"\n"][..]),
        window in select(&[MEASURED, DRAINED][..]),
        tcp_turns in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let (batch, latency, compute) = times;
        let mut plan = format!("metric = \"{metric}\", fill = \"{fill}\", batch = {batch}, control_latency = \"{latency} us\", compute_time = \"{compute} us\"");
        for part in [control, odd].into_iter().filter(|part| !part.is_empty()) {
            plan += &format!(", {part}");
        }
        // A single frame of 9000 B is longer than that slot is needed for.
        let fabric = format!("{fabric}\n{more}");
        let nic = if tcp_turns && transport.starts_with("tcp") { "\nnic.discipline = \"fair_queue\"" } else { "" };
        let transport = format!("{transport}{nic}");
        // In band, reports of a large backlog may fill a link. The controller then grants nothing,
        // the backlog grows, and the run would never end with its last flow.
        let window = if control.contains("in_band") { DRAINED } else { window };
        // In-step hosts and those that act by themselves must agree on a plan that is refused, too.
        let text = scenario(&fabric, workload, &transport, &plan) + record + window;
        same(&text, seed);
    }
}
