//! Random small scenarios: every packet is delivered, lost with a reason or under way. The same
//! seed gives the same results, and no scheme changes the arrivals.
//!
//! A run itself does not end with `Ok` where packets or bytes are missing or came from nowhere.

use crate::common::{Ran, load, run, try_run};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use timeplane_scenario::Algorithms;

/// A `[fabric]` table.
fn fabric() -> impl Strategy<Value = (String, u32)> {
    let shape = select(vec![
        ("topology.single_switch = { hosts = 4 }", 4),
        ("topology.leaf_spine = { leaves = 2, hosts_per_leaf = 3, spines = 2 }", 6),
        ("topology.tree = { edges = 3, hosts_per_edge = 2 }", 6),
        ("topology.fat_tree = { k = 4 }", 16),
        ("topology.fat_tree = { k = 4, hosts_per_edge = 3 }", 24),
        ("topology.expander = { hosts = 9, hosts_per_rack = 2, uplinks = 2, seed = 3 }", 9),
        (
            "topology.graph = { hosts = 3, switches = 2, links = [{ nodes = [0, 3] }, { nodes = [1, 3], rate = \"3 Gb/s\" }, \
             { nodes = [2, 4] }, { nodes = [3, 4] }, { nodes = [4, 3], propagation = \"3 us\" }] }",
            3,
        ),
    ]);
    let wires = (
        select(vec!["1 Gb/s", "10 Gb/s", "7 Gb/s"]),
        select(vec!["2 Gb/s", "10 Gb/s", "40 Gb/s"]),
        select(vec!["0 s", "1 us", "50 us"]),
        select(vec!["ethernet", "ethernet_frame", "ppp", "none"]),
        select(vec![576, 1500]),
        select(vec!["0.0", "1e-8", "2e-6"]),
    );
    let switch = (
        select(vec!["0 s", "700 ns"]),
        select(vec!["store_and_forward", "cut_through"]),
        select(vec![
            "buffer = \"unbounded\"",
            "buffer.per_port = \"6 kB\"",
            "buffer.per_port = \"40 kB\"",
            "buffer.shared = { memory = \"20 kB\", alpha = 1.0 }",
            "buffer.shared = { memory = \"60 kB\", alpha = 0.5 }",
            "pfc = { pause_at = \"5 kB\", resume_at = \"1 kB\" }",
            "pfc = { pause_at = \"5 kB\", resume_at = \"1 kB\", headroom = \"2 kB\" }",
        ]),
        select(vec!["", ", ecn = \"5 kB\""]),
    );
    (shape, wires, switch).prop_map(|(shape, wires, switch)| {
        let (rate, uplink, propagation, framing, mtu, bit_error) = wires;
        let (latency, forwarding, buffer, ecn) = switch;
        let forwarding = if buffer.starts_with("pfc") { "store_and_forward" } else { forwarding };
        let text = format!(
            "[fabric]\n{}\nrate = \"{rate}\"\nuplink_rate = \"{uplink}\"\npropagation = \"{propagation}\"\nframing = \"{framing}\"\n\
             mtu = \"{mtu} B\"\nbit_error = {bit_error}\n\
             switch = {{ latency = \"{latency}\", forwarding = \"{forwarding}\", {buffer}{ecn} }}\n",
            shape.0
        );
        (text, shape.1)
    })
}

/// `[workload]` and `[window]`.
fn workload() -> impl Strategy<Value = String> {
    let poisson = (
        select(vec![0.1, 0.7, 1.3]),
        select(vec![
            "\"uniform\"",
            "{ incast = { receiver = 1 } }",
            "\"permutation\"",
            "{ stride = { by = 1 } }",
            "\"all_to_all\"",
        ]),
        select(vec!["fixed = \"700 B\"", "exponential = \"20 kB\"", "exponential = \"3 B\""]),
        select(vec![
            "\"mtu\"",
            "{ fixed = \"200 B\" }",
            "\"bimodal\"",
            "\"facebook_web\"",
            "\"alternating\"",
            "\"single\"",
        ]),
        select(vec!["0 s", "100 us"]),
        select(vec!["", "drain = \"0 s\"", "drain = \"150 us\""]),
    )
        .prop_map(|(load, pattern, sizes, packets, warmup, drain)| {
            format!(
                "[workload.poisson]\nload = {load}\npattern = {pattern}\nsizes.{sizes}\npackets = {packets}\n\
                 [window]\nwarmup = \"{warmup}\"\nmeasure = \"300 us\"\n{drain}\n"
            )
        });
    let window = select(vec![
        "",
        "[window]\nwarmup = \"20 us\"\n",
        "[window]\nmeasure = \"200 us\"\ndrain = \"10 us\"\n",
        "[window]\nmeasure = \"50 us\"\n",
        "[window]\ndrain = \"90 us\"\n",
    ]);
    let shuffle = (select(vec!["1 B", "9 kB", "60 kB"]), select(vec!["0 s", "100 us"]), window).prop_map(
        |(bytes, jitter, window)| format!("[workload.shuffle]\nbytes = \"{bytes}\"\njitter = \"{jitter}\"\n{window}"),
    );
    prop_oneof![poisson, shuffle]
}

const TRANSPORTS: [&str; 11] = [
    "transport.datagrams = {}",
    "transport.raw = { report_every = \"300 us\" }",
    "transport.tcp = { congestion = \"cubic\", min_rto = \"2 ms\" }",
    "transport.tcp = { congestion = \"new_reno\", min_rto = \"1 ms\", sack = false, handshake = false, ecn = true }",
    "transport.tcp = { congestion = \"dctcp\", min_rto = \"1 ms\", pacing = true, delayed_ack = { segments = 1 } }",
    "transport.tcp = { min_rto = \"1 ms\", receive_window = \"30 kB\" }",
    "transport.tcp = { congestion = \"bbr\", min_rto = \"1 ms\" }",
    "transport.tcp = { congestion = \"bbr3\", min_rto = \"1 ms\", preset = \"datacenter\" }",
    "transport.tcp = { preset = \"linux\", min_rto = \"1 ms\" }",
    "transport.tcp = { preset = \"datacenter\", pacing = true }",
    "transport.ndp = { window = 8 }",
];
const ROUTES: [&str; 2] = ["", "ecmp = \"packet\""];
const INTERFACES: [&str; 6] = [
    "",
    "nic = { discipline = \"round_robin\" }",
    "nic = { burst = \"16 kB\" }",
    "nic = { discipline = \"round_robin\", burst = \"5 kB\" }",
    "nic = { discipline = \"fair_queue\" }",
    "nic = { discipline = \"fair_queue\", burst = \"16 kB\" }",
];
const PLANS: [&str; 5] = [
    "",
    "",
    "plan.tdma = { slot = \"50 us\", guard = \"5 us\", round_slots = 8 }",
    "plan.tdma = { slot = \"100 us\", guard = \"1 us\", round_slots = 16, control_loss = 0.1, clock_error = \"3 us\" }",
    "plan.tdma = { slot = \"60 us\", guard = \"0 s\", round_slots = 5, compute_time = \"0 s\", control_latency = \"1 us\" }",
];

/// `[[failure]]` tables, mostly none. The elements exist in every fabric above.
fn failures() -> impl Strategy<Value = String> {
    let element = select(vec![
        "{ wire = 0 }",
        "{ wire = 2 }",
        "{ wire = 3 }",
        "{ switch = 0 }",
        "{ host = 1 }",
        "{ host = 2 }",
        "\"controller\"",
    ]);
    let one = (element, 0u32..300, 1u32..400, select(vec!["0 s", "20 us", "1 ms"]), 0u8..8).prop_map(
        |(element, at, length, detection, forever)| {
            let until = if forever == 0 { String::new() } else { format!("until = \"{} us\"\n", at + length) };
            format!("[[failure]]\nelement = {element}\nat = \"{at} us\"\n{until}detection = \"{detection}\"\n")
        },
    );
    prop_oneof![Just(String::new()), prop::collection::vec(one, 1..4).prop_map(|f| f.concat())]
}

fn scheme() -> impl Strategy<Value = String> {
    (select(&TRANSPORTS[..]), select(&ROUTES[..]), select(&INTERFACES[..]), select(&PLANS[..]))
        .prop_map(|(transport, ecmp, nic, plan)| format!("{transport}\n{ecmp}\n{nic}\n{plan}\n"))
}

/// Number, start, source, destination and size of every flow.
fn arrivals(ran: &Ran) -> Vec<[i64; 5]> {
    let columns = ["flow", "start_ps", "source", "destination", "size_bytes"].map(|c| ran.column("flows", c));
    let mut rows: Vec<_> = (0..columns[0].len()).map(|i| [0, 1, 2, 3, 4].map(|c: usize| columns[c][i])).collect();
    rows.sort_unstable();
    rows
}

/// Checks a finished run; `one_path` says that all packets of a flow take the path of its ideal
/// time.
///
/// A packet that a failure takes off a wire was sent, and did not cross it.
fn consistent(ran: &Ran, one_path: bool) {
    let s = &ran.summary;
    assert!(s.packets.is_balanced() && s.bytes.is_balanced());
    assert_eq!(s.dropped_packets.values().sum::<u64>(), s.packets.dropped);
    assert_eq!(s.flows.finished + s.flows.unfinished, s.flows.measured);
    let (size, received) = (ran.column("flows", "size_bytes"), ran.column("flows", "received_bytes"));
    let (fct, ideal) = (ran.nullable("flows", "fct_ps"), ran.column("flows", "ideal_ps"));
    let known = ran.nullable("flows", "acknowledged_ps");
    for i in 0..size.len() {
        assert!(received[i] <= size[i]);
        // No sender knows before its receiver.
        assert!(known[i].is_none_or(|known| fct[i].is_some_and(|fct| fct <= known)), "flow {i}");
        if let Some(fct) = fct[i] {
            assert_eq!(received[i], size[i]);
            // No flow is faster than alone on the same path.
            assert!(ideal[i] > 0 && (!one_path || fct >= ideal[i]), "flow {i} took {fct} ps, {} alone", ideal[i]);
        }
    }
    // Waiting bytes are in packets.
    let (bytes, packets) = (ran.column("queues", "queue_bytes"), ran.column("queues", "queue_packets"));
    assert!(bytes.iter().zip(&packets).all(|(b, p)| *b > 0 && *p > 0));
    let (sent, busy) = (ran.column("links", "sent_bytes"), ran.column("links", "busy_ps"));
    assert!(sent.iter().zip(&busy).all(|(s, b)| (*s > 0) == (*b > 0)));
    let packets: i64 = ran.column("links", "sent_packets").iter().sum();
    // A packet on a link's wire or in its queue when the run ends was accepted and has not crossed
    // it.
    let fallen = s.dropped_packets.get("link_down").copied().unwrap_or(0);
    assert!(s.packet_hops <= packets as u64 && packets as u64 <= s.packet_hops + s.packets.in_flight + fallen);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_unseen(
        fabric in fabric(),
        workload in workload(),
        failures in failures(),
        schemes in prop::collection::vec(scheme(), 2..4),
        sampled in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let mut text = format!("{}{workload}", fabric.0);
        if sampled {
            text += "[record]\nqueues_every = \"7 us\"\n";
        }
        // A pause that is never lifted would last for ever.
        if !text.contains("pfc") {
            text += &failures;
        }
        for (i, scheme) in schemes.iter().enumerate() {
            text += &format!("[scheme.c{i}]\n{scheme}");
        }
        // Ports of a ring that are paused can wait for each other for ever.
        if text.contains("pfc") && text.contains("expander") && !text.contains("drain") {
            text = if text.contains("[window]\n") {
                text.replacen("[window]\n", "[window]\ndrain = \"5 ms\"\n", 1)
            } else {
                text + "[window]\ndrain = \"5 ms\"\n"
            };
        }
        prop_assume!(load(&text).validate(&Algorithms::built_in()).is_ok());
        let mut first: Option<Ran> = None;
        for (i, scheme) in schemes.iter().enumerate() {
            let name = format!("c{i}");
            let once = || match try_run(&text, &name, seed) {
                Ok(ran) => Ok(ran),
                Err(e) => Err(TestCaseError::fail(format!("{name}: {e}\n{text}"))),
            };
            let (ran, again) = (once()?, once()?);
            // Where a wire fails, packets take others.
            let one_path = !scheme.contains("ecmp") && !scheme.contains("ndp");
            consistent(&ran, one_path && failures.is_empty());
            prop_assert_eq!(serde_json::to_string(&ran.summary).unwrap(), serde_json::to_string(&again.summary).unwrap());
            for (a, b) in ran.tables.iter().zip(again.tables.iter()) {
                prop_assert_eq!(&a.batches, &b.batches, "{} of {}\n{}", a.name, name, text);
            }
            match &first {
                None => first = Some(ran),
                Some(first) => prop_assert_eq!(arrivals(first), arrivals(&ran), "{}", text),
            }
        }
    }
}

/// A raw sender repeats frames that are only late: because they overtake each other on several
/// paths, or wait in a queue for longer than its timer. The report that all have come then meets a
/// flow that still waits in its host's interface.
#[test]
fn a_report_may_come_while_a_repair_waits() {
    let paths = r#"
        [fabric]
        topology.leaf_spine = { leaves = 2, hosts_per_leaf = 3, spines = 2 }
        rate = "1 Gb/s"
        [workload.shuffle]
        bytes = "60 kB"
        [scheme.free]
        transport.raw = {}
        ecmp = "packet"
    "#;
    let queue = r#"
        [fabric]
        topology.single_switch = { hosts = 16 }
        rate = "1 Gb/s"
        [workload.poisson]
        load = 0.9
        sizes.exponential = "1 MB"
        pattern.incast.receiver = 0
        [window]
        measure = "2 s"
        [scheme.free]
        transport.raw = {}
    "#;
    for text in [queue, paths] {
        let ran = run(text, "free", 1);
        consistent(&ran, false);
        assert_eq!(ran.summary.flows.unfinished, 0);
    }
}

/// Lost packets spent no time in the network. All others spent at least the time of their links.
#[test]
fn every_packet_that_arrives_has_a_latency() {
    for transport in ["datagrams = {}", "tcp = { min_rto = \"2 ms\" }"] {
        let text = format!(
            r#"
            [fabric]
            topology.leaf_spine = {{ leaves = 2, hosts_per_leaf = 3, spines = 2 }}
            rate = "1 Gb/s"
            propagation = "1 us"
            bit_error = 1e-6
            [workload.shuffle]
            bytes = "60 kB"
            [record]
            latency = true
            [scheme.c]
            transport.{transport}
            "#
        );
        let ran = run(&text, "c", 1);
        assert!(ran.summary.dropped_packets["bit_error"] > 0);
        let packets: i64 = ran.column("latency", "packets").iter().sum();
        assert_eq!(packets as u64, ran.summary.packets.delivered);
        // Two links and wires at least, of the smallest frame: 2 x (672 ns + 1 us).
        assert!(ran.column("latency", "latency_ps")[0] >= 3_290_000);
    }
}
