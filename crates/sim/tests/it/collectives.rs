//! Flows that wait for others: when they start, how long steps take, and the closed formulas of
//! collectives.
//!
//! Hosts share one switch, so that formulas are exact up to the last packet.

use crate::common::{Ran, run, run_by_packets};
use std::collections::BTreeMap;
use std::path::Path;

/// Eight hosts under a switch of 100 Gb/s with wires of 100 ns.
fn packets(workload: &str, scheme: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.single_switch.hosts = 8
        rate = "100 Gb/s"
        mtu = "9000 B"
        propagation = "100 ns"
        [workload]
        {workload}
        [scheme.c]
        {scheme}
        "#
    )
}

/// The same hosts, each with a circuit of 100 Gb/s and 10 Gb/s of packets.
fn circuits(workload: &str) -> String {
    let scheme = r#"
        transport.raw = {}
        plan.circuits = { scheduler = "hold", period = "500 us", dark = "20 us", least_open = "20 us", packets = false, limits = false, control_latency = "1 us", compute_time = "10 us", signals.reaction = "immediate" }
    "#;
    packets(workload, scheme).replace(
        "single_switch.hosts = 8",
        r#"hybrid = { tors = 8, hosts_per_tor = 1, packet_rate = "10 Gb/s", dark.fixed = "10 us" }"#,
    )
}

fn all_reduce(algorithm: &str, bytes: &str) -> String {
    format!(r#"collective = {{ operation = "all_reduce", algorithm = "{algorithm}", bytes = "{bytes}" }}"#)
}

/// The time of the only step, in ps.
fn step(ran: &Ran) -> f64 {
    let steps = ran.column("steps", "step_ps");
    assert_eq!(steps.len(), 1);
    assert_eq!(ran.summary.step_ps.unwrap().mean, steps[0] as f64);
    steps[0] as f64
}

/// Wire bytes of a chunk as datagrams of 9000 B, each with 28 B of headers and 38 B of framing.
fn datagrams(bytes: u64) -> u64 {
    bytes + bytes.div_ceil(8972) * (28 + 38)
}

/// `2 (n - 1)` rounds of an n-th of the bytes, each with the latency of a packet over two wires:
/// exact up to the size of the last packet.
#[test]
fn a_ring_takes_what_the_formula_says() {
    let bytes = 100_000_000u64;
    let ran = run(&packets(&all_reduce("ring", "100 MB"), "transport.datagrams = {}"), "c", 1);
    let chunk = bytes / 8;
    let line = |wire: u64| wire as f64 * 80.0;
    // A chunk follows its first packet, which crosses one wire more than the others behind it; two
    // wires of 100 ns.
    let last = chunk % 8972 + 66;
    let round = line(datagrams(chunk)) + line(last) + 200_000.0;
    let took = step(&ran);
    assert!((took / (14.0 * round) - 1.0).abs() < 1e-3, "{took} of {}", 14.0 * round);
    // The formula for large chunks: 2 (n - 1) / n of the bytes at the rate, and 14 latencies.
    let formula = 2.0 * 7.0 / 8.0 * bytes as f64 * 80.0 + 14.0 * (line(9038) + 200_000.0);
    assert!((took / formula - 1.0).abs() < 0.01, "{took} of {formula}");
    // No scheme is faster than the bound, and this one nearly reaches it.
    let ideal = ran.column("steps", "ideal_ps")[0] as f64;
    assert!(took >= ideal && took < 1.01 * ideal, "{took} of {ideal}");
    assert_eq!(ran.column("collectives", "sent_bytes"), [(14 * bytes) as i64]);
}

#[test]
fn a_ring_over_the_right_circuits_takes_the_same() {
    let workload = all_reduce("ring", "512 MB");
    let ran = run(&circuits(&workload), "c", 1);
    let formula = 2.0 * 7.0 / 8.0 * 512e6 * 80.0;
    let took = step(&ran);
    assert!(took > formula && took < 1.01 * formula, "{took} of {formula}");
    assert_eq!(ran.summary.packets.dropped, 0);
}

/// Halving and doubling sends as much in fewer rounds. Direct exchange sends all at once, and all
/// links are as busy.
#[test]
fn other_algorithms_take_as_long_for_large_buffers() {
    for algorithm in ["halving_doubling", "direct"] {
        let ran = run(&packets(&all_reduce(algorithm, "100 MB"), "transport.datagrams = {}"), "c", 1);
        let ideal = ran.column("steps", "ideal_ps")[0] as f64;
        let took = step(&ran);
        assert!(took >= ideal && took < 1.02 * ideal, "{algorithm}: {took} of {ideal}");
    }
}

/// Every flow starts when the last byte of all that it waits for has come. In a ring this is the
/// flow of the previous rank, one round earlier.
#[test]
fn a_flow_begins_when_what_it_waits_for_has_come() {
    let workload = all_reduce("ring", "1 MB");
    let schemes = [
        "transport.datagrams = {}",
        "transport.raw = {}",
        "transport.tcp = {}",
        r#"transport.raw = {}
        plan.tdma = { slot = "20 us", guard = "1 us" }"#,
        r#"transport.datagrams = {}
        plan.rates = { control_latency = "1 us" }"#,
    ];
    for scheme in schemes {
        let ran = run(&packets(&workload, scheme), "c", 1);
        let [source, start, fct] = ["source", "start_ps", "fct_ps"].map(|c| ran.column("flows", c));
        let mut by_host: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        for ((&host, &start), &fct) in source.iter().zip(&start).zip(&fct) {
            by_host.entry(host).or_default().push((start, start + fct));
        }
        by_host.values_mut().for_each(|flows| flows.sort_unstable());
        for host in 0..8 {
            let (own, before) = (&by_host[&host], &by_host[&((host + 7) % 8)]);
            assert_eq!(own.len(), 14, "{scheme}");
            assert_eq!(own[0].0, 0);
            for round in 1..14 {
                assert_eq!(own[round].0, before[round - 1].1, "{scheme}: host {host}, round {round}");
            }
        }
        let end = by_host.values().map(|f| f[13].1).max();
        assert_eq!(end, Some(step(&ran) as i64), "{scheme}");
    }
}

/// Packets that are booked ahead, one by one or as trains, start others at the same picosecond.
#[test]
fn trains_change_nothing() {
    for algorithm in ["ring", "halving_doubling", "tree", "direct"] {
        let scheme = r#"transport.raw = {}
        plan.tdma = { slot = "20 us", guard = "1 us" }"#;
        let text = packets(&all_reduce(algorithm, "2 MB"), scheme);
        let (trains, packets) = (run(&text, "c", 1), run_by_packets(&text, "c", 1));
        for (table, column) in
            [("steps", "step_ps"), ("flows", "start_ps"), ("flows", "fct_ps"), ("collectives", "start_ps")]
        {
            assert_eq!(trains.column(table, column), packets.column(table, column), "{algorithm}: {table}.{column}");
        }
    }
}

#[test]
fn steps_follow_each_other_and_compute() {
    let workload = r#"collective = { operation = "all_gather", algorithm = "direct", bytes = "1 MB", group = 4, stride = 2, steps = 3, compute = "1 ms" }"#;
    let ran = run(&packets(workload, "transport.datagrams = {}"), "c", 1);
    let [start, took, ideal] = ["start_ps", "step_ps", "ideal_ps"].map(|c| ran.column("steps", c));
    assert_eq!(start[0], 0);
    for step in 0..3 {
        assert!(took[step] >= ideal[step] && ideal[step] > 1_000_000_000, "{took:?} {ideal:?}");
        if step > 0 {
            assert_eq!(start[step], start[step - 1] + took[step - 1]);
        }
    }
    // Two groups per step, each after the step's millisecond.
    let [step, begin, ranks] = ["step", "start_ps", "ranks"].map(|c| ran.column("collectives", c));
    assert_eq!((step, ranks), (vec![0, 0, 1, 1, 2, 2], vec![4; 6]));
    assert!(begin.iter().enumerate().all(|(i, b)| *b == start[i / 2] + 1_000_000_000), "{begin:?}");
    assert_eq!(ran.summary.coflows.finished, 6);
    assert_eq!(ran.words("collectives", "kind"), vec!["all_gather"; 6]);
}

#[test]
fn what_is_lost_for_good_is_a_step_without_an_end() {
    // Nothing repairs bit errors.
    let text =
        packets(&all_reduce("ring", "8 MB"), "transport.datagrams = {}").replace("mtu =", "bit_error = 1e-8\nmtu =");
    let ran = run(&text, "c", 1);
    assert!(ran.summary.packets.dropped > 0);
    assert_eq!(ran.nullable("steps", "step_ps"), [None]);
    assert_eq!(ran.nullable("collectives", "collective_ps"), [None]);
    assert_eq!((ran.summary.step_ps, ran.summary.step_stretch), (None, None));
}

#[test]
fn the_trace_of_a_ring_takes_its_rounds_and_its_computations() {
    let prefix =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/collectives/chakra-ring-allreduce-8/custom_allreduce");
    let workload = format!("chakra.prefix = \"{}\"", prefix.display());
    let ran = run(&packets(&workload, "transport.datagrams = {}"), "c", 1);
    // 131072 B are 14 full datagrams and one of 5464 B. The last one crosses both wires behind the
    // others.
    let round = 80 * (datagrams(131_072) as i64 + 5_464 + 66) + 200_000;
    // A last packet that is shorter than those before it waits for them: the second wire is as busy
    // as the first.
    let full = 80 * (datagrams(131_072) as i64 + 9_038) + 200_000;
    let took = step(&ran) as i64 - 49_000_000;
    assert!((14 * round..=14 * full).contains(&took), "{took}: {} to {}", 14 * round, 14 * full);
    assert_eq!(ran.summary.flows.finished, 112);
}
