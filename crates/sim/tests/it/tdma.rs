//! TDMA as in "Practical TDMA for Datacenter Ethernet" (EuroSys 2012): PFC frames open and close
//! gates.
//!
//! The tests cover the cost of frames, the length of guards, clocks that do not matter, and receive
//! buffers.

use crate::common::{Ran, load, run};
use timeplane_model::{Bytes, Duration};
use timeplane_scenario::{PlanSpec, TdmaSpec};

/// Application bytes of a full frame: 9000 B, of which 16 name flow and offset.
const PAYLOAD: u64 = 9000 - 16;
/// Wire bytes of a full frame.
const FRAME: u64 = 9038;

/// All to all on one switch; `slots` are the keys of the plan, in addition to slots of 300 us and
/// guards of 15 us.
fn shuffle(hosts: u64, pair_bytes: u64, slots: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = {hosts} }}
        rate = "10 Gb/s"
        mtu = "9000 B"
        [workload.shuffle]
        bytes = "{pair_bytes} B"
        [scheme.slots]
        transport.raw = {{}}
        plan.tdma = {{ slot = "300 us", {slots} }}
        "#
    )
}

fn collisions(ran: &Ran) -> u64 {
    ran.summary.collisions.expect("a run of slots counts them")
}

fn slots(text: &str) -> (TdmaSpec, timeplane_model::Fabric) {
    let loaded = load(text);
    let Some(PlanSpec::Tdma(slots)) = &loaded.scenario.scheme["slots"].plan else { panic!("a plan of slots") };
    (slots.clone(), loaded.scenario.fabric.build().unwrap())
}

/// The ratio of fig. 7, 1.05, by frames that are obeyed at once: 24 hosts with 23 partners each. A
/// slot of 375,000 B holds 41.5 frames. The 42nd starts in the slot and ends in the guard, as a
/// frame under way is finished when a gate closes.
#[test]
fn a_shuffle_by_signals_takes_its_bytes_and_the_guards() {
    let frames = 42 * 60;
    let signals = r#"guard = "15 us", signals = { reaction = "immediate" }"#;
    let ran = run(&shuffle(24, frames * PAYLOAD, signals), "slots", 1);
    let ideal = (23 * frames * FRAME * 800) as f64;
    let completion = ran.summary.completion_ps.unwrap() as f64;
    println!("by signals: {:.4} of ideal, {} collisions", completion / ideal, collisions(&ran));
    assert_eq!(collisions(&ran), 0);
    assert!((completion / ideal / 1.05 - 1.0).abs() < 0.01, "{}", completion / ideal);

    // Section 6.5: two frames per slot and host. The paper counts 60 B each, about 3 Mb/s for each
    // host.
    let pfc = &ran.summary.control_messages["pfc"];
    let seconds = completion * 1e-12;
    let per_host = pfc.messages as f64 / seconds / 24.0;
    let (paper, wire) = (per_host * 480.0 / 1e6, pfc.bytes as f64 * 8.0 / seconds / 24.0 / 1e6);
    println!("control frames: {paper:.2} Mb/s per host of 60 B, {wire:.2} Mb/s on the wire");
    assert!((paper - 3.05).abs() < 0.1, "{paper}");
    assert_eq!(pfc.bytes, pfc.messages * 84);
    let sent: i64 = ran.column("slots", "sent_bytes").iter().sum();
    let from = ran.column("links", "from");
    let links = ran.column("links", "sent_bytes");
    let uplinks: i64 = links.iter().zip(&from).filter(|(_, f)| **f < 24).map(|(b, _)| b).sum();
    assert_eq!(sent, uplinks, "the table of slots knows who sent when");
}

/// The guard of the formula suffices for many seeds and all reactions. With less, hosts send in
/// each other's slots.
#[test]
fn the_least_guard_is_just_long_enough() {
    let reactions = [
        (r#""interface""#, 1),
        (r#""user_space""#, 1),
        (r#"{ times = { off_least = "100 us", off_most = "200 us", on_least = "100 us", on_most = "200 us" } }"#, 1),
        (r#""intel_82599""#, 1),
        (r#"{ times = { off_least = "1 us", off_most = "9 us", on_least = "3 us", on_most = "12 us" } }"#, 1),
    ];
    for (reaction, gap) in reactions {
        let with = |guard: Duration| {
            let keys = format!(
                r#"guard = "{} ps", signals = {{ reaction = {reaction}, frame_gap = "{gap} us" }}"#,
                guard.as_ps()
            );
            shuffle(6, 300 * PAYLOAD, &keys)
        };
        let (spec, fabric) = slots(&with(Duration::from_ms(1)));
        let least = spec.least_guard(&fabric, Bytes::new(FRAME)).unwrap();
        let enough: u64 = (1..=12).map(|seed| collisions(&run(&with(least), "slots", seed))).sum();
        assert_eq!(enough, 0, "{reaction} with {least}");
        // Without the frame in progress and a part of the jitter.
        let short = (least - Duration::from_ns(7_230)).scale(0.6);
        let met: u64 = (1..=12).map(|seed| collisions(&run(&with(short), "slots", seed))).sum();
        println!("{reaction}: no collision with {least}, {met} with {short}");
        assert!(met > 0, "{reaction} with {short}");
    }
}

/// In a tree, packets that cross the root arrive later than others.
#[test]
fn the_least_guard_covers_the_paths_of_a_tree() {
    let with = |guard: &str| {
        shuffle(6, 200 * PAYLOAD, &format!(r#"guard = "{guard}", signals = {{ reaction = "immediate" }}"#)).replace(
            "topology.single_switch = { hosts = 6 }",
            "topology.tree = { edges = 3, hosts_per_edge = 2 }\npropagation = \"2 us\"\nswitch.latency = \"1 us\"",
        )
    };
    let (spec, fabric) = slots(&with("1 ms"));
    let least = spec.least_guard(&fabric, Bytes::new(FRAME)).unwrap();
    for seed in 1..=5 {
        assert_eq!(collisions(&run(&with(&format!("{} ps", least.as_ps())), "slots", seed)), 0, "{least}");
    }
    assert!(collisions(&run(&with("6 us"), "slots", 1)) > 0);
}

/// Switches that cut through do not store frames: on one switch and in the paper's tree of jumbo
/// frames, much less of a guard keeps slots apart than where they are stored.
#[test]
fn the_least_guard_knows_forwarding() {
    let tree = "topology.tree = { edges = 3, hosts_per_edge = 2 }";
    let mut leasts = Vec::new();
    for (topology, mtu) in [("topology.single_switch = { hosts = 6 }", 1500u64), (tree, 1500), (tree, 9000)] {
        for forwarding in ["store_and_forward", "cut_through"] {
            let with = |guard: Duration| {
                let keys = format!(r#"guard = "{} ps", signals = {{ reaction = "interface" }}"#, guard.as_ps());
                let fabric = format!("{topology}\nswitch = {{ latency = \"1 us\", forwarding = \"{forwarding}\" }}");
                // Some slots of 300 us for each pair, without a shorter frame at the end.
                shuffle(6, 1_800_000 / (mtu - 16) * (mtu - 16), &keys)
                    .replace("topology.single_switch = { hosts = 6 }", &fabric)
                    .replace("9000 B", &format!("{mtu} B"))
            };
            let (spec, fabric) = slots(&with(Duration::from_ms(1)));
            let least = spec.least_guard(&fabric, Bytes::new(mtu + 38)).unwrap();
            let met = |guard| (1..=8).map(|seed| collisions(&run(&with(guard), "slots", seed))).sum::<u64>();
            assert_eq!(met(least), 0, "{topology} {mtu} B {forwarding} with {least}");
            let short = least.scale(0.2);
            assert!(met(short) > 0, "{topology} {mtu} B {forwarding} with {short}");
            leasts.push(least);
        }
    }
    // Six control frames of 67.2 ns apart, 4 us of spread, a frame in progress, and in the tree two
    // hops of 1 us of latency, 1 us of propagation, and a frame's or 64 B's line time.
    let us = |line: f64, hop: f64| Duration::from_ps(((5.0 * 0.0672 + 4.0 + line + hop) * 1e6).round() as i64);
    let expected = [(1.2304, 0.0, 0.0), (1.2304, 6.4608, 4.1024), (7.2304, 18.4608, 4.1024)];
    let expected: Vec<_> = expected.iter().flat_map(|&(line, a, b)| [us(line, a), us(line, b)]).collect();
    assert_eq!(leasts, expected);
}

/// Gates by clocks: a guard of twice their error keeps hosts apart, a smaller one does not. Frames
/// end before a gate closes, so none is in progress.
#[test]
fn clocks_need_twice_their_error() {
    let with = |guard: u32| shuffle(8, 500 * PAYLOAD, &format!(r#"guard = "{guard} us", clock_error = "10 us""#));
    for seed in 1..=12 {
        // The last frame of a flow is full, but one that is cut to fill a slot leaves a shorter
        // one: up to a frame more.
        assert_eq!(collisions(&run(&with(20 + 8), "slots", seed)), 0);
    }
    assert!((1..=12).map(|seed| collisions(&run(&with(5), "slots", seed))).sum::<u64>() > 0);
}

/// Clocks that drift apart at 100 us/s, as the paper measured: gates by clocks meet after a while,
/// not where beacons set the clocks, and never where frames open the gates.
#[test]
fn drifting_clocks_collide_unless_they_are_set_or_not_asked() {
    // 500 ppm have the effect in 0.2 s that 50 ppm, 100 us/s between two clocks, have in 2 s.
    // Grants come in by twice the error before they start, so hosts that are further ahead hear of
    // them too late.
    let with = |keys: &str| {
        let text = shuffle(
            6,
            4_000 * PAYLOAD,
            &format!(r#"guard = "34 us", clock_error = "10 us", clock_drift = 500.0 {keys}"#),
        );
        format!("{text}\n[window]\nmeasure = \"1 ms\"\ndrain = \"300 ms\"\n")
    };
    let all = |keys: &str| -> (u64, u64) {
        let runs = (1..=8).map(|seed| run(&with(keys), "slots", seed));
        runs.fold((0, 0), |sum, ran| (sum.0 + collisions(&ran), sum.1 + ran.summary.flows.unfinished))
    };
    let (met, unfinished) = all("");
    println!("drifting: {met} collisions, {unfinished} flows that do not end");
    assert!(met > 0 && unfinished > 0);
    assert_eq!(all(r#", resync = "5 ms""#), (0, 0));
    assert_eq!(all(r#", signals = { reaction = "interface" }"#), (0, 0));
}

/// Five hosts send to one whose application reads at 4 Gb/s: nothing overflows, and the application
/// never waits long.
#[test]
fn a_receive_buffer_never_overflows_and_stays_busy() {
    for (signals, round) in [("", 8), (r#", signals = { reaction = "interface" }"#, 8), ("", 32)] {
        let mut flows = Vec::new();
        for source in 1..6 {
            flows.push((0, source, 0, 1_500 * PAYLOAD));
        }
        crate::common::flow_list("tdma_receive.csv", &flows);
        let receive = r#"receive = { buffer = "4 MB", drain = "4 Gb/s" }"#;
        let text = shuffle(6, 1, &format!(r#"guard = "15 us", round_slots = {round}, {receive}{signals}"#)).replace(
            "[workload.shuffle]\n        bytes = \"1 B\"",
            "[workload.flows]\n        file = \"tdma_receive.csv\"",
        );
        let ran = run(&text, "slots", 1);
        assert!(ran.summary.dropped_packets.is_empty(), "{:?}", ran.summary.dropped_packets);
        let ideal = (5 * 1_500 * FRAME * 2_000) as f64;
        let ratio = ran.summary.completion_ps.unwrap() as f64 / ideal;
        println!("rounds of {round}{signals}: {ratio:.3} of what the application takes");
        assert!(ratio < 1.06, "{ratio}");
        assert_eq!(ran.summary.flows.unfinished, 0);
    }
}

/// Short flows alongside a shuffle: a share of 500 Mb/s outside of the slots.
fn beside_bulk(name: &str, background: &str) -> (Ran, Ran) {
    let mut flows: Vec<(i64, u32, u32, u64)> = Vec::new();
    for i in 0..6 {
        flows.extend((0..6).filter(|j| *j != i).map(|j| (0, i, j, 1_200 * PAYLOAD)));
        // A flow every 100 us from each host, to one host after the other: 5 kB are 41 us at 1
        // Gb/s.
        flows.extend((0..100).map(|k| (100_000_000 * k + 3_000_000, i, (i + 1 + k as u32 % 5) % 6, 5_000)));
    }
    flows.sort_unstable();
    crate::common::flow_list(name, &flows);
    let with = |keys: &str| {
        let workload = format!("[workload.flows]\n        file = \"{name}\"");
        let text = shuffle(6, 1, &format!(r#"guard = "15 us"{keys}"#));
        run(&text.replace("[workload.shuffle]\n        bytes = \"1 B\"", &workload), "slots", 1)
    };
    (with(""), with(background))
}

/// The median completion time of flows of 5 kB, in us.
fn median_of_short(ran: &Ran) -> i64 {
    let sizes = ran.column("flows", "size_bytes");
    let times = ran.column("flows", "fct_ps");
    let mut short: Vec<i64> =
        sizes.iter().zip(times).filter(|(s, _)| **s == 5_000).map(|(_, t)| t / 1_000_000).collect();
    short.sort_unstable();
    short[short.len() / 2]
}

#[test]
fn short_flows_need_not_wait_for_slots() {
    let (without, with) = beside_bulk("tdma_short.csv", r#", background = { rate = "500 Mb/s", below = "10 kB" }"#);
    let (slow, fast) = (median_of_short(&without), median_of_short(&with));
    let longer = with.summary.completion_ps.unwrap() as f64 / without.summary.completion_ps.unwrap() as f64;
    println!("short flows: {slow} us in slots, {fast} us beside them; the shuffle takes {longer:.3} times as long");
    assert_eq!(with.summary.flows.unfinished, 0);
    assert!(fast < 40 && slow > 10 * fast, "{fast} us, {slow} us");
    // The share is 5 %; what short flows no longer take from the slots comes off.
    assert!(longer < 1.06, "{longer}");
    // Queues stay short: two frames of slots and a short packet or two.
    let from = with.column("links", "from");
    let queues = with.column("links", "max_queue_bytes");
    let longest = queues.iter().zip(from).filter(|(_, f)| *f >= 6).map(|(q, _)| *q).max().unwrap();
    assert!(longest < 3 * FRAME as i64, "{longest} B");
}

/// Traffic outside of the slots does not ask for room. Where it exceeds the rate of the
/// application, it is lost, counted, and sent again.
#[test]
fn what_a_receive_buffer_cannot_take_is_lost_and_repaired() {
    let flows: Vec<_> = (1..6).flat_map(|i| (0..20).map(move |k| (50_000_000 * k, i, 0, 9_000u64))).collect();
    let mut flows: Vec<(i64, u32, u32, u64)> = flows;
    flows.sort_unstable();
    crate::common::flow_list("tdma_overflow.csv", &flows);
    let keys = r#"guard = "15 us", background = { rate = "2 Gb/s", below = "10 kB" }, receive = { buffer = "60 kB", drain = "1 Gb/s" }"#;
    let text = shuffle(6, 1, keys).replace(
        "[workload.shuffle]\n        bytes = \"1 B\"",
        "[workload.flows]\n        file = \"tdma_overflow.csv\"",
    );
    let ran = run(&text, "slots", 1);
    assert!(ran.summary.dropped_packets["receive_buffer"] > 0);
    assert_eq!(ran.summary.dropped_packets.len(), 1);
    assert_eq!(ran.summary.flows.unfinished, 0);
    let reasons: std::collections::BTreeSet<String> = ran.words("drops", "reason").into_iter().collect();
    assert_eq!(reasons.into_iter().collect::<Vec<_>>(), ["receive_buffer"]);
}

/// One host with ten times the rate sends to ten slow ones in each slot, by paced gates and by
/// frames that open several queues at once. One after the other would take ten times as long.
/// Slots, and the unused part of a slot of 4.1 frames, cost a tenth.
#[test]
fn a_fast_host_serves_slow_ones_in_one_slot() {
    let links: String = (0..11)
        .map(|h| format!("{{ nodes = [{h}, 11], rate = \"{} Gb/s\" }}, ", if h == 0 { 10 } else { 1 }))
        .collect();
    crate::common::flow_list("tdma_mixed.csv", &(1..11).map(|h| (0, 0, h, 600 * PAYLOAD)).collect::<Vec<_>>());
    for (signals, most) in [("", 1.12), (r#", signals = { reaction = "immediate" }"#, 1.12)] {
        let text = shuffle(11, 1, &format!(r#"guard = "15 us", scheduler = "conflict_free"{signals}"#))
            .replace(
                "topology.single_switch = { hosts = 11 }",
                &format!("topology.graph = {{ hosts = 11, switches = 1, links = [{links}] }}"),
            )
            .replace(
                "[workload.shuffle]\n        bytes = \"1 B\"",
                "[workload.flows]\n        file = \"tdma_mixed.csv\"",
            );
        let ran = run(&text, "slots", 1);
        let ideal = (600 * FRAME * 8_000) as f64;
        let ratio = ran.summary.completion_ps.unwrap() as f64 / ideal;
        println!("ten receivers at once{signals}: {ratio:.3} of their line time");
        assert!(ratio < most, "{ratio}");
        let sent: i64 = ran.column("slots", "sent_bytes").iter().sum();
        assert!(sent >= 10 * 600 * FRAME as i64, "{sent}");
        // The fast host has ten grants a slot, more than messages usually have: rounds start later.
        assert_eq!(ran.summary.control_total().late, 0);
    }
}

/// Slots with paths of their own through a leaf-spine: packets never meet while all have more to
/// send than a slot carries, which ECMP cannot guarantee.
#[test]
fn paths_of_their_own_keep_pairs_apart() {
    let with = |scheduler: &str| {
        let leaves = "topology.leaf_spine = { leaves = 4, hosts_per_leaf = 2, spines = 2 }";
        let text = shuffle(8, 2_000 * PAYLOAD, &format!(r#"guard = "35 us", scheduler = "{scheduler}""#))
            .replace("topology.single_switch = { hosts = 8 }", leaves);
        let ran = run(&format!("{text}\n[window]\nmeasure = \"1 ms\"\ndrain = \"60 ms\"\n"), "slots", 1);
        (collisions(&ran), ran.column("slots", "sent_bytes").iter().sum::<i64>())
    };
    let ((ecmp, sent), (tagged, more)) = (with("weighted_round_robin"), with("conflict_free"));
    println!("collisions: {ecmp} by ECMP, {tagged} on paths of their own; {sent} B and {more} B sent");
    assert!(ecmp > 0);
    assert_eq!(tagged, 0);
    assert!(more * 100 > sent * 98);
}

/// The ratio of fig. 8, 1.05, on three edge switches with eight hosts each and uplinks of 10 Gb/s:
/// the traffic across the root takes the line time of 128 pairs.
#[test]
fn a_tree_by_signals_takes_what_its_uplinks_take_and_the_guards() {
    // Just below 20 slots of 375,000 B.
    let frames = 829;
    let signals = r#"guard = "15 us", signals = { reaction = "immediate", interfaces = "per_edge_switch" }"#;
    let text = shuffle(24, frames * PAYLOAD, signals)
        .replace("topology.single_switch = { hosts = 24 }", "topology.tree = { edges = 3, hosts_per_edge = 8 }");
    let ran = run(&text, "slots", 1);
    let ideal = (128 * frames * FRAME * 800) as f64;
    let ratio = ran.summary.completion_ps.unwrap() as f64 / ideal;
    println!("tree by signals: {ratio:.4} of ideal, {} collisions", collisions(&ran));
    assert!((ratio / 1.05 - 1.0).abs() < 0.01, "{ratio}");
}

/// Control frames of one interface arrive one after the other; each host obeys within its bounds.
#[test]
fn arrivals_of_control_frames_are_recorded() {
    let keys = r#"guard = "60 us", signals = { reaction = "interface", frame_gap = "4 us" }"#;
    let text = format!("{}[record]\nsignals = true\n", shuffle(6, 100 * PAYLOAD, keys));
    let ran = run(&text, "slots", 1);
    let of = |c| ran.column("signals", c);
    let (time, host, opens, reaction) = (of("time_ps"), of("host"), of("opens"), of("reaction_ps"));
    assert!(reaction.iter().all(|r| (2_000_000..=6_000_000).contains(r)), "{reaction:?}");
    // As many as the summary counts, less those of gates that were not open, or not opened.
    let opened = opens.iter().filter(|o| **o == 1).count();
    assert_eq!(opened, ran.column("slots", "slot").len(), "each slot is opened once");
    assert!(opens.len() as u64 <= ran.summary.control_messages["pfc"].messages);
    // A frame of 84 B takes 67.2 ns, and 4 us pass before the next one.
    let step = 67_200 + 4_000_000;
    let mut gaps = 0;
    for slot in time.iter().zip(&host).zip(&opens).filter(|o| *o.1 == 1).map(|o| o.0).collect::<Vec<_>>().windows(2) {
        let ((a, first), (b, second)) = (slot[0], slot[1]);
        if second > first && b - a < 60_000_000 {
            assert_eq!(b - a, (second - first) * step, "hosts {first} and {second}");
            gaps += 1;
        }
    }
    assert!(gaps > 20, "{gaps}");
    // Without the record there are no rows, and the same slots.
    let without = run(&text.replace("[record]\nsignals = true\n", ""), "slots", 1);
    assert!(without.column("signals", "host").is_empty());
    assert_eq!(without.column("slots", "sent_bytes"), ran.column("slots", "sent_bytes"));
}
