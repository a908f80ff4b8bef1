//! Trains give the same results as single packets: every table and every number of a run is the
//! same, to the picosecond.
//!
//! Runs are compared both ways; only the amount of work differs.

use crate::common::{assert_same, run, run_by_packets};
use proptest::prelude::*;

/// Runs a scenario both ways, asserts that nothing differs, and returns events by packets over
/// events.
fn same(text: &str, seed: u64) -> f64 {
    let (together, each) = (run(text, "slots", seed), run_by_packets(text, "slots", seed));
    assert_same(&format!("{text}\nseed {seed}"), &together, &each)
}

const ONE_SWITCH: &str = "topology.single_switch = { hosts = 8 }";
const TREE: &str = "topology.leaf_spine = { leaves = 3, hosts_per_leaf = 4, spines = 1 }";
const CLOS: &str = "topology.leaf_spine = { leaves = 4, hosts_per_leaf = 4, spines = 4 }";

fn scenario(topology: &str, fabric: &str, workload: &str, transport: &str, slots: &str) -> String {
    format!(
        r#"
        [fabric]
        {topology}
        rate = "10 Gb/s"
        {fabric}
        [workload]
        {workload}
        [scheme.slots]
        transport.{transport} = {{}}
        plan.tdma = {{ {slots} }}
        "#
    )
}

const SHUFFLE: &str = r#"shuffle = { bytes = "1234567 B" }"#;
const SLOTS: &str = r#"slot = "100 us", guard = "15 us""#;

/// Slots of 100 us hold 81 frames of 1500 B, and mostly one event stands for all of them.
#[test]
fn a_shuffle_is_the_same_by_trains_and_by_packets() {
    for (topology, fabric) in [
        (ONE_SWITCH, ""),
        (ONE_SWITCH, r#"mtu = "9000 B""#),
        (ONE_SWITCH, r#"switch.buffer.per_port = "160 kB""#),
        (ONE_SWITCH, r#"switch.forwarding = "cut_through""#),
        (ONE_SWITCH, r#"switch = { ecn = "30 kB", buffer.shared = { memory = "100 kB", alpha = 1.0 } }"#),
        (TREE, ""),
        (TREE, r#"switch.buffer.shared = { memory = "100 kB", alpha = 0.5 }"#),
    ] {
        for transport in ["raw", "datagrams"] {
            let text = scenario(topology, fabric, SHUFFLE, transport, SLOTS);
            let times = same(&text, 1);
            println!("{topology} {fabric} {transport}: {times:.1} times fewer events");
            assert!(times > 3.0, "{text}: {times}");
        }
    }
}

/// Frames open and close gates: the certain end of a slot is known when it opens, and the rest is
/// sent packet by packet.
#[test]
fn signals_are_the_same_by_trains_and_by_packets() {
    for reaction in ["immediate", "interface"] {
        let slots = format!(r#"{SLOTS}, signals = {{ reaction = "{reaction}" }}"#);
        let times = same(&scenario(ONE_SWITCH, "", SHUFFLE, "raw", &slots), 1);
        println!("{reaction}: {times:.1} times fewer events");
        assert!(times > 3.0, "{reaction}: {times}");
    }
}

/// Clock errors of twice the guard: a packet comes in between, and the run is repeated packet by
/// packet.
#[test]
fn a_plan_that_keeps_nobody_apart_moves_packets_one_by_one() {
    let slots = r#"slot = "100 us", guard = "15 us", clock_error = "30 us""#;
    for seed in 1..4 {
        assert_eq!(same(&scenario(ONE_SWITCH, "", SHUFFLE, "raw", slots), seed), 1.0);
    }
}

/// Eight ports share room for five frames: packets of different ports are lost, although they never
/// meet on a link.
#[test]
fn a_shared_buffer_that_is_too_small_loses_the_same_packets() {
    for memory in ["8 kB", "4 kB"] {
        let fabric = format!("switch.buffer.shared = {{ memory = \"{memory}\", alpha = 1.0 }}");
        let text = scenario(ONE_SWITCH, &fabric, SHUFFLE, "raw", SLOTS);
        let text = format!("{text}\n[window]\nmeasure = \"1 ms\"\ndrain = \"20 ms\"\n");
        let dropped = run(&text, "slots", 1).summary.dropped_packets["buffer_full"];
        assert!(dropped > 100, "{memory}: {dropped} packets are lost");
        same(&text, 1);
    }
}

/// The number of random scenarios: 48, or what `PROPTEST_CASES` says.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
    /// For any plan, whether it keeps its guarantee or not: with clock errors beyond a guard, or
    /// paths that cross, packets meet.
    #[test]
    fn nothing_differs_whatever_the_plan(
        topology in prop::sample::select(vec![ONE_SWITCH, TREE, CLOS]),
        mtu in prop::sample::select(vec![1500u32, 9000]),
        slot_us in 20u32..300,
        guard_us in 0u32..20,
        error_us in 0u32..12,
        loss in prop::sample::select(vec![0.0, 0.05]),
        scheduler in prop::sample::select(vec!["weighted_round_robin", "conflict_free"]),
        transport in prop::sample::select(vec!["raw", "datagrams"]),
        signals in prop::sample::select(vec!["", r#", signals = { reaction = "immediate" }"#, r#", signals = { reaction = "interface" }"#]),
        fabric in prop::sample::select(vec![
            "", r#"switch.forwarding = "cut_through""#, r#"switch.buffer.per_port = "40 kB""#, r#"propagation = "20 us""#, r#"uplink_rate = "4 Gb/s""#,
            r#"switch.buffer.shared = { memory = "12 kB", alpha = 1.0 }"#, r#"switch.buffer.shared = { memory = "60 kB", alpha = 0.5 }"#,
            r#"switch = { ecn = "20 kB", buffer.shared = { memory = "1 MB", alpha = 1.0 } }"#,
        ]),
        workload in prop::sample::select(vec![
            r#"shuffle = { bytes = "300 kB" }"#,
            r#"poisson = { load = 0.5, sizes.exponential = "80 kB" }"#,
            r#"poisson = { load = 0.3, sizes.exponential = "800 kB", packets = "alternating" }"#,
        ]),
        window in any::<bool>(),
        latency in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let drift = if error_us > 0 && signals.is_empty() { format!(", clock_error = \"{error_us} us\"") } else { String::new() };
        let slots = format!(
            "slot = \"{slot_us} us\", guard = \"{guard_us} us\", control_loss = {loss}, scheduler = \"{scheduler}\"{signals}{drift}"
        );
        // A single switch has no uplinks.
        let fabric = if topology == ONE_SWITCH && fabric.starts_with("uplink") { "" } else { fabric };
        let mut text = scenario(topology, &format!("mtu = \"{mtu} B\"\n{fabric}"), workload, transport, &slots);
        // A plan that does not suit its network may never end.
        text += if window {
            "\n[window]\nwarmup = \"1 ms\"\nmeasure = \"4 ms\"\ndrain = \"3 ms\"\n"
        } else {
            "\n[window]\nmeasure = \"1 ms\"\ndrain = \"40 ms\"\n"
        };
        if latency {
            text += "\n[record]\nlatency = true\n";
        }
        same(&text, seed);
    }
}
