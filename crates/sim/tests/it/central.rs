//! Central control, by timeslots and by rates, through the whole simulator.
//!
//! Delays and shares are compared with arithmetic on packets of one size.

use crate::common::{Ran, flow_list, run};
use proptest::prelude::*;
use proptest::sample::select;
use timeplane_scenario::Algorithms;

/// A full frame on the wire, in bytes.
const FRAME: i64 = 1538;
/// Its time at 1 Gb/s, in ps.
const SLOT: i64 = FRAME * 8000;

/// 24 servers under 4 leaves, with `uplinks` spines of `rate`, flows of ten full packets, and
/// timeslots with these parameters.
///
/// All packets have one size. A shorter one would be stored and forwarded sooner, and could catch
/// up with the one before it.
fn leaf_spine(uplinks: u32, rate: &str, pattern: &str, plan: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.leaf_spine = {{ leaves = 4, hosts_per_leaf = 6, spines = {uplinks} }}
        rate = "1 Gb/s"
        uplink_rate = "{rate}"
        propagation = "1 us"
        [workload.poisson]
        load = 0.9
        {pattern}
        sizes.fixed = "14720 B"
        [window]
        measure = "30 ms"
        [scheme.syn]
        transport.datagrams = {{}}
        plan.timeslots = {{ {plan} }}
        "#
    )
}

/// Flows go from any server to any other one.
const UNIFORM: &str = r#"pattern = "uniform""#;

/// The longest queue that a packet found with itself: on links from servers, from leaves to spines,
/// from spines to leaves, and from leaves to servers.
fn longest(ran: &Ran, servers: i64, leaves: i64) -> [i64; 4] {
    let [from, to, queue] = ["from", "to", "max_queue_bytes"].map(|c| ran.column("links", c));
    let mut most = [0; 4];
    for ((from, to), queue) in from.into_iter().zip(to).zip(queue) {
        let kind = match (from < servers, to < servers) {
            (true, _) => 0,
            (_, true) => 3,
            _ if from < servers + leaves => 1,
            _ => 2,
        };
        most[kind] = most[kind].max(queue);
    }
    most
}

/// Four hosts that all have 1 MB for each other, and their grants.
fn granted(plan: &str) -> Ran {
    let text = format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 4 }}
        rate = "10 Gb/s"
        [workload.shuffle]
        bytes = "1 MB"
        [record]
        grants = true
        [scheme.c]
        transport.raw = {{}}
        plan.{plan} = {{}}
        "#
    );
    run(&text, "c", 1)
}

/// Wire bytes that hosts sent.
fn left_hosts(ran: &Ran) -> i64 {
    let (from, sent) = (ran.column("links", "from"), ran.column("links", "sent_bytes"));
    from.iter().zip(sent).filter(|l| *l.0 < 4).map(|l| l.1).sum()
}

/// Timeslots are recorded as slots: each host sends and receives one packet at a time, and all
/// packets are sent in slots.
#[test]
fn all_that_is_sent_is_in_the_timeslots_that_were_granted() {
    let ran = granted("timeslots");
    let sent: i64 = ran.nullable("slots", "sent_bytes").into_iter().map(|s| s.expect("known")).sum();
    assert_eq!(sent, left_hosts(&ran));
    let start = ran.column("slots", "start_ps");
    for end in ["source", "destination"] {
        let mut pairs: Vec<_> = start.iter().copied().zip(ran.column("slots", end)).collect();
        let all = pairs.len();
        pairs.sort_unstable();
        pairs.dedup();
        assert!(all > 8000 && pairs.len() == all, "{end}: {all} and {}", pairs.len());
    }
    assert!(ran.column("rates", "rate_bps").is_empty());
}

/// Rates are recorded as they change. With constant demand they add up to the bytes sent, and never
/// exceed a line.
#[test]
fn rates_over_time_are_what_was_sent() {
    let ran = granted("rates");
    let [at, source, destination, bps] =
        ["time_ps", "source", "destination", "rate_bps"].map(|c| ran.column("rates", c));
    let end = ran.summary.completion_ps.unwrap();
    let mut order: Vec<usize> = (0..at.len()).collect();
    order.sort_by_key(|&i| at[i]);
    let mut now = std::collections::BTreeMap::new();
    let (mut bits, mut last) = (0.0, 0);
    for instant in order.chunk_by(|&a, &b| at[a] == at[b]) {
        let time = at[instant[0]].min(end);
        bits += now.values().sum::<i64>() as f64 * (time - last) as f64 / 1e12;
        last = time;
        now.extend(instant.iter().map(|&i| ((source[i], destination[i]), bps[i])));
        for host in 0..4 {
            let of = |end: fn(&(i64, i64)) -> i64| now.iter().filter(|r| end(r.0) == host).map(|r| r.1).sum::<i64>();
            assert!(of(|p| p.0) <= 10_000_000_000 && of(|p| p.1) <= 10_000_000_000, "{now:?}");
        }
    }
    bits += now.values().sum::<i64>() as f64 * (end - last) as f64 / 1e12;
    // Up to a frame or two for each of the twelve pairs.
    let sent = left_hosts(&ran) as f64;
    assert!((bits / 8.0 - sent).abs() < 24.0 * FRAME as f64, "{} of {sent}", bits / 8.0);
    assert!(ran.column("slots", "start_ps").is_empty());
}

/// With unit links and paths of equal length, every packet finds every link free: there is no queue
/// anywhere in the network.
#[test]
fn nothing_waits_behind_anything_on_unit_links() {
    for metric in ["ocf", "srjf", "mmf"] {
        for coloring in ["euler_split", "paull"] {
            let plan = format!(r#"metric = "{metric}", coloring = "{coloring}""#);
            // Six servers per leaf, six spines. Server h sends to server h + 6 k: always to another
            // leaf.
            for by in [6, 12, 18] {
                let text = leaf_spine(6, "1 Gb/s", &format!("pattern.stride.by = {by}"), &plan);
                let ran = run(&text, "syn", by);
                assert_eq!(longest(&ran, 24, 4), [FRAME; 4], "{metric} {coloring} {by}");
                assert_eq!(ran.summary.flows.unfinished, 0);
            }
        }
    }
    let one_switch = leaf_spine(6, "1 Gb/s", UNIFORM, "").replace(
        "topology.leaf_spine = { leaves = 4, hosts_per_leaf = 6, spines = 6 }",
        "topology.single_switch.hosts = 24",
    );
    let ran = run(&one_switch, "syn", 1);
    assert_eq!(longest(&ran, 24, 0), [FRAME, 0, 0, FRAME]);
}

/// A packet under the same leaf comes sooner than one from another leaf. Then only a server's link
/// can be busy, and by one packet: arrivals of one slot are less than a slot apart.
#[test]
fn unequal_paths_meet_at_the_last_link_only() {
    let ran = run(&leaf_spine(6, "1 Gb/s", UNIFORM, ""), "syn", 1);
    let [up, leaf, spine, down] = longest(&ran, 24, 4);
    assert_eq!([up, leaf, spine], [FRAME; 3]);
    // A packet from another leaf is stored and forwarded twice more, 1 us away each time. Packets
    // that are this number of slots apart may arrive together.
    let longer = 2 * (SLOT + 1_000_000) / 8000;
    assert!(down > FRAME && down <= FRAME + longer, "{down}");
}

/// A link that stands for `f` unit links gets up to `f` packets at once, and has sent them when
/// those of the next slot come.
#[test]
fn faster_links_hold_as_many_packets_as_they_stand_for() {
    for (uplinks, rate, units) in [(3, "2 Gb/s", 2), (2, "3 Gb/s", 3), (1, "6 Gb/s", 6)] {
        let text = leaf_spine(uplinks, rate, UNIFORM, "");
        let ran = run(&text, "syn", 1);
        let [up, leaf, spine, down] = longest(&ran, 24, 4);
        assert_eq!(up, FRAME);
        // Where a frame takes no whole number of picoseconds, each is rounded up.
        assert!(leaf > FRAME && leaf <= units * (FRAME + 1), "{leaf}");
        // The packets of a slot leave a leaf one after the other, within the slot. Those of two
        // slots can meet at a spine, in part.
        assert!(spine <= 2 * units * (FRAME + 1), "{spine}");
        // Two more hops with the longest wait at both, against a packet without waits.
        let line = SLOT / units;
        let later = 2 * (line + 1_000_000) + (units - 1) * line + (2 * units - 1) * line;
        assert!(down <= FRAME + later / 8000, "{down}");
        assert_eq!(ran.summary.flows.unfinished, 0);
    }
}

#[test]
fn clock_error_brings_queues_back() {
    let queue = |error: &str| {
        let text = leaf_spine(6, "1 Gb/s", "pattern.stride.by = 6", &format!(r#"clock_error = "{error}""#));
        longest(&run(&text, "syn", 3), 24, 4)[3]
    };
    assert_eq!(queue("0 s"), FRAME);
    // One sender for each receiver: a late packet meets only the next one of its own sender. With
    // spread senders it meets others.
    let uniform = |error: &str| {
        let text = leaf_spine(6, "1 Gb/s", UNIFORM, &format!(r#"clock_error = "{error}""#));
        longest(&run(&text, "syn", 3), 24, 4)
    };
    let (good, bad) = (uniform("0 s"), uniform("30 us"));
    assert!(bad[1] > good[1] && bad[2] > good[2] && bad[3] > good[3], "{good:?} {bad:?}");
}

/// `n` senders and one receiver: slots and rates both share its link evenly, and lose nothing of
/// it.
#[test]
fn an_incast_takes_the_time_of_its_bytes() {
    let flows: Vec<_> = (1..=5).map(|h| (0, h, 0, 1472 * 100)).collect();
    flow_list("central-incast.csv", &flows);
    let text = r#"
        [fabric]
        topology.single_switch.hosts = 6
        rate = "1 Gb/s"
        propagation = "0 s"
        [workload.flows]
        file = "central-incast.csv"
        [scheme.mmf]
        transport.datagrams = {}
        plan.timeslots = { control = "unlimited" }
        [scheme.srjf]
        transport.datagrams = {}
        plan.timeslots = { metric = "srjf", control = "unlimited" }
        [scheme.asy]
        transport.datagrams = {}
        plan.rates = { control = "unlimited" }
        [scheme.max_min]
        transport.datagrams = {}
        plan.rates = { normalizer = "max_min", control = "unlimited" }
        [scheme.proportional]
        transport.datagrams = {}
        plan.rates = { normalizer = "proportional", control = "unlimited" }
    "#;
    let fct = |scheme| {
        let mut fct = run(text, scheme, 1).column("flows", "fct_ps");
        fct.sort_unstable();
        fct
    };
    // 500 slots, and one more hop.
    let last = 501 * SLOT;
    let mmf = fct("mmf");
    assert_eq!(mmf[4], last);
    assert!(mmf[0] >= last - 5 * SLOT, "all end together: {mmf:?}");
    assert_eq!(fct("srjf"), [1, 2, 3, 4, 5].map(|k| (100 * k + 1) * SLOT), "one after the other");
    for scheme in ["asy", "max_min", "proportional"] {
        let fct = fct(scheme);
        // A fifth of the link each: the last packet of each leaves after 99 intervals of five
        // slots.
        assert!(fct.iter().all(|t| (t - 496 * SLOT).abs() <= 6 * SLOT), "{scheme}: {fct:?}");
    }
}

/// Rates follow demand: a pair that is left alone gets all of its link.
#[test]
fn what_others_leave_is_given_at_once() {
    flow_list("central-leave.csv", &[(0, 1, 0, 1472 * 50), (0, 2, 0, 1472 * 150)]);
    let text = r#"
        [fabric]
        topology.single_switch.hosts = 3
        rate = "1 Gb/s"
        propagation = "0 s"
        [workload.flows]
        file = "central-leave.csv"
        [scheme.asy]
        transport.datagrams = {}
        plan.rates = {}
    "#;
    let ran = run(text, "asy", 1);
    let fct = ran.column("flows", "fct_ps");
    // Half of the link for 100 packets of both, then all of it.
    let off = (fct[1] - 201 * SLOT).abs();
    assert!(off <= 2 * SLOT, "{fct:?}");
    assert_eq!(longest(&ran, 3, 0)[0], FRAME);
}

/// Rates that add up to a receiver's link put no more on it, whatever happens to a pair's rate: a
/// sender is ahead of its rate by up to one packet.
#[test]
fn a_receiver_gets_what_its_rates_add_up_to() {
    for normalizer in ["scale_both", "scale_down", "max_min", "proportional"] {
        let text = format!(
            r#"
            [fabric]
            topology.single_switch.hosts = 20
            rate = "1 Gb/s"
            [workload.poisson]
            load = 0.9
            sizes.exponential = "46 kB"
            [window]
            measure = "100 ms"
            drain = "0 s"
            [scheme.asy]
            transport.datagrams = {{}}
            plan.rates.normalizer = "{normalizer}"
            "#
        );
        let down = longest(&run(&text, "asy", 1), 20, 0)[3];
        println!("{normalizer}: {down} B");
        assert!(down <= 20 * FRAME, "{normalizer}: {down} B");
    }
}

/// Packets of 40 B and 1500 B, one per slot: the mix fills 0.4 x 84 + 0.6 x 1538 of 1538 B (wire
/// bytes), and no more can be carried.
#[test]
fn small_packets_waste_their_slots() {
    let text = r#"
        [fabric]
        topology.single_switch.hosts = 8
        rate = "1 Gb/s"
        [workload.poisson]
        load = 0.95
        sizes.exponential = "46 kB"
        packets = "bimodal"
        [window]
        warmup = "50 ms"
        measure = "150 ms"
        drain = "0 s"
        [record]
        queues_every = "10 ms"
        [scheme.packet]
        transport.datagrams = {}
        plan.timeslots = {}
        [scheme.packets]
        transport.datagrams = {}
        plan.timeslots.fill = "packets"
        [scheme.fragments]
        transport.datagrams = {}
        plan.timeslots.fill = "fragments"
        [scheme.asy]
        transport.datagrams = {}
        plan.rates = {}
    "#;
    // The used share of the servers' links, over the whole run.
    let used = |scheme| {
        let ran = run(text, scheme, 1);
        let (from, busy) = (ran.column("links", "from"), ran.column("links", "busy_ps"));
        let busy: i64 = from.iter().zip(&busy).filter(|(f, _)| **f < 8).map(|(_, b)| b).sum();
        busy as f64 / (8.0 * ran.summary.simulated_ps as f64)
    };
    let fill = (0.4 * 84.0 + 0.6 * 1538.0) / 1538.0;
    let (one, whole, cut, asy) = (used("packet"), used("packets"), used("fragments"), used("asy"));
    println!(
        "used of 0.95 offered: one packet a slot {one:.3} (fill {fill:.3}), whole packets {whole:.3}, fragments {cut:.3}, rates {asy:.3}"
    );
    assert!(one < fill + 0.01 && one > 0.9 * fill, "{one} of {fill}");
    assert!(whole > one + 0.05 && cut > whole && cut > 0.85 && asy > 0.85);
}

const CLOS: [&str; 5] = [
    r#"topology.single_switch.hosts = 7"#,
    r#"topology.leaf_spine = { leaves = 3, hosts_per_leaf = 4, spines = 2 }
       uplink_rate = "2 Gb/s""#,
    r#"topology.leaf_spine = { leaves = 2, hosts_per_leaf = 4, spines = 2 }"#,
    r#"topology.tree = { edges = 3, hosts_per_edge = 3 }
       uplink_rate = "3 Gb/s""#,
    r#"topology.fat_tree.k = 4"#,
];
const PLANS: [&str; 10] = [
    r#"plan.timeslots = {}"#,
    r#"plan.timeslots = { control_loss = 0.1, control_latency = "20 us", batch = 8 }"#,
    r#"plan.timeslots = { metric = "ocf", coloring = "paull", clock_error = "5 us", ahead = "100 us" }"#,
    r#"plan.timeslots = { metric = "srjf", fill = "packets", control_latency = "3 us", compute_time = "10 us" }"#,
    r#"plan.timeslots = { fill = "fragments", classes = ["5 kB", "20 kB"], control_loss = 0.05 }"#,
    r#"plan.rates = {}"#,
    r#"plan.rates = { control_loss = 0.1, control_latency = "20 us", every = "50 us" }"#,
    r#"plan.rates = { normalizer = "max_min", estimator.horizon = "100 us", compute_time = "10 us" }"#,
    r#"plan.rates = { normalizer = "proportional", estimator.arrivals = "1 ms", threshold = 0.01 }"#,
    r#"plan.rates = { normalizer = "scale_down", every = "20 us" }"#,
];
const TRANSPORTS: [&str; 3] = [
    "transport.datagrams = {}",
    "transport.raw = { report_every = \"300 us\" }",
    "transport.tcp = { congestion = \"dctcp\", min_rto = \"2 ms\" }",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    /// Whatever is lost, late or wrong on the control network: every packet is accounted for, and
    /// every flow ends.
    #[test]
    fn nothing_is_lost_or_stranded(
        fabric in select(&CLOS[..]),
        plan in select(&PLANS[..]),
        transport in select(&TRANSPORTS[..]),
        bytes in select(&["3 kB", "30 kB"][..]),
        seed in 0u64..1000,
    ) {
        let text = format!(
            r#"
            [fabric]
            {fabric}
            rate = "1 Gb/s"
            propagation = "1 us"
            switch.ecn = "30 kB"
            [workload.poisson]
            load = 0.4
            sizes.exponential = "{bytes}"
            [window]
            measure = "3 ms"
            [scheme.c]
            {transport}
            {plan}
            "#
        );
        let ran = run(&text, "c", seed);
        prop_assert_eq!(ran.summary.flows.unfinished, 0);
        prop_assert!(ran.summary.packets.is_balanced() && ran.summary.bytes.is_balanced());
        prop_assert_eq!(ran.summary.packets.dropped, 0);
        let again = run(&text, "c", seed);
        prop_assert_eq!(ran.summary, again.summary);
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let text = |plan: &str, fabric: &str| {
        format!(
            "[fabric]\n{fabric}\nrate = \"1 Gb/s\"\n[workload.poisson]\nload = 0.5\nsizes.fixed = \"10 kB\"\n[window]\nmeasure = \"1 ms\"\n\
             [scheme.c]\ntransport.datagrams = {{}}\n{plan}\n"
        )
    };
    let is_refused = |text: &str, what: &str| {
        let found = timeplane_scenario::Loaded::from_str(text, "test", crate::common::folder(), &[])
            .and_then(|l| l.validate(&Algorithms::built_in()).map(|_| ()));
        let message = found.err().unwrap_or_else(|| panic!("nothing is wrong with {text}")).to_string();
        assert!(message.contains(what), "{message}");
    };
    let refused = |plan: &str, fabric: &str, what: &str| is_refused(&text(plan, fabric), what);
    let four = "topology.single_switch.hosts = 4";
    refused(r#"plan.timeslots.slot = "10 us""#, four, "the time of a packet of the MTU");
    refused(r#"plan.timeslots.metric = "fifo""#, four, "unknown order of timeslots `fifo`");
    refused(r#"plan.timeslots = { control_latency = "50 us", ahead = "20 us" }"#, four, "clock errors");
    let mixed = r#"topology.graph = { hosts = 2, switches = 1, links = [{ nodes = [0, 2] }, { nodes = [1, 2], rate = "2 Gb/s" }] }"#;
    refused("plan.rates = {}", mixed, "host 1");
    refused("plan.timeslots = {}", mixed, "host 1");
    let slow = "topology.tree = { edges = 2, hosts_per_edge = 2 }\nuplink_rate = \"1500 Mb/s\"";
    refused("plan.rates = {}", slow, "parallel unit links");
    // A packet as large as its flow fits no slot.
    for plan in ["plan.timeslots = {}", "plan.tdma = {}"] {
        let single = text(plan, four).replace("[window]", "packets = \"single\"\n[window]");
        is_refused(&single, "packets `single` with slots");
    }
}

/// One pair with a long flow, and a short one that comes later.
#[test]
fn under_srjf_a_shorter_flow_of_the_pair_goes_first() {
    let us = |n: i64| n * 1_000_000;
    flow_list("central-order.csv", &[(0, 0, 1, 1472 * 100), (us(100), 0, 1, 1472 * 5), (us(110), 0, 1, 1472 * 3)]);
    let text = r#"
        [fabric]
        topology.single_switch.hosts = 2
        rate = "1 Gb/s"
        propagation = "0 s"
        [workload.flows]
        file = "central-order.csv"
        [scheme.metric]
        transport.datagrams = {}
        plan.timeslots = { metric = "srjf", control = "unlimited" }
        [scheme.arrival]
        transport.datagrams = {}
        plan.timeslots = { metric = "srjf", flow_order = "arrival", control = "unlimited" }
        [scheme.mmf]
        transport.datagrams = {}
        plan.timeslots = { metric = "mmf", control = "unlimited" }
    "#;
    let ends = |scheme| -> Vec<i64> {
        let ran = run(text, scheme, 1);
        let [flow, start, fct] = ["flow", "start_ps", "fct_ps"].map(|c| ran.column("flows", c));
        let mut ends: Vec<(i64, i64)> = (0..flow.len()).map(|i| (flow[i], start[i] + fct[i])).collect();
        ends.sort_unstable();
        ends.into_iter().map(|e| e.1).collect()
    };
    // One slot for each packet without a gap, and the hop behind the switch. At 100 us the ninth
    // slot has begun; the third flow has come when the first of the second's five slots begins.
    let slots = |n: i64| (n + 1) * SLOT;
    assert_eq!(ends("metric"), [slots(108), slots(9 + 3 + 5), slots(9 + 3)]);
    assert_eq!(ends("arrival"), [slots(100), slots(105), slots(108)]);
    assert_eq!(ends("mmf"), ends("arrival"));
}

/// Hosts with phases start each timeslot later than the plan, each by its own constant.
#[test]
fn a_phase_delays_a_host_by_a_constant() {
    let flows: Vec<_> = (0..8).flat_map(|h| (0..20).map(move |k| (k * 10 * SLOT, h, h + 8, 1472))).collect();
    flow_list("central-phase.csv", &flows);
    let text = r#"
        [fabric]
        topology.single_switch.hosts = 16
        rate = "1 Gb/s"
        propagation = "0 s"
        [workload.flows]
        file = "central-phase.csv"
        [scheme.aligned]
        transport.datagrams = {}
        plan.timeslots = { control = "unlimited" }
        [scheme.spread]
        transport.datagrams = {}
        plan.timeslots = { phase = "12 us", control = "unlimited" }
    "#;
    let late = |scheme, seed| -> Vec<i64> {
        let ran = run(text, scheme, seed);
        let late: Vec<(i64, i64)> =
            ran.column("flows", "source").into_iter().zip(ran.column("flows", "fct_ps")).collect();
        let of = |host| late.iter().filter(move |l| l.0 == host).map(|l| l.1 - 2 * SLOT);
        let constant: Vec<i64> = (0..8).map(|host| of(host).next().unwrap()).collect();
        (0..8).for_each(|host| assert!(of(host).all(|l| l == constant[host as usize]), "host {host} of {scheme}"));
        constant
    };
    assert_eq!(late("aligned", 1), [0; 8]);
    let phases: Vec<i64> = (1..=8).flat_map(|seed| late("spread", seed)).collect();
    assert!(phases.iter().all(|p| (0..12_000_000).contains(p)), "{phases:?}");
    // 64 values that are uniform from 0 to 12 us: their mean is within four of its deviations.
    let mean = phases.iter().sum::<i64>() as f64 / 64.0;
    assert!((mean - 6e6).abs() < 4.0 * 12e6 / 12f64.sqrt() / 8.0, "{mean}");
    assert_ne!(phases[..8], phases[8..16], "another seed, other phases");
    assert_eq!(late("spread", 1), phases[..8], "the same seed, the same phases");
}

/// The time in the network from the first switch on is that from the host without its link.
#[test]
fn latency_from_the_first_switch_leaves_out_the_host_link() {
    let text = |from: &str| {
        let scenario = leaf_spine(3, "10 Gb/s", UNIFORM, r#"control = "unlimited""#);
        format!("{scenario}[record]\nlatency = true\nlatency_from = \"{from}\"")
    };
    // Without measurement at its ends, so that the same packets count.
    let mean = |from: &str| run(&text(from), "syn", 1).summary.network_latency_ps.unwrap().mean;
    let (host, switch) = (mean("host"), mean("first_switch"));
    let link = (SLOT + 1_000_000) as f64;
    assert!((host - switch - link).abs() < 1e-3 * link, "{host} {switch} {link}");
}

/// A queue without the frame that is being sent is whole frames where packets have one size.
#[test]
fn a_queue_is_recorded_with_and_without_the_frame_in_service() {
    flow_list("central-queue.csv", &[(0, 0, 1, 1472 * 10)]);
    let text = r#"
        [fabric]
        topology.single_switch.hosts = 2
        rate = "1 Gb/s"
        propagation = "0 s"
        [workload.flows]
        file = "central-queue.csv"
        [record]
        queues_every = "5 us"
        [scheme.open]
        transport.datagrams = {}
    "#;
    let ran = run(text, "open", 1);
    let of = |c| ran.column("queues", c);
    let rows = of("time_ps").into_iter().zip(of("node")).zip(of("queue_bytes").into_iter().zip(of("waiting_bytes")));
    let mut seen = 0;
    for ((time, node), (queue, waiting)) in rows {
        let sent = time / SLOT;
        // The host sends ten frames without a gap; the switch has one, and sends it.
        let (rest, behind) = (FRAME - (time % SLOT) / 8000, if node == 0 { 9 - sent } else { 0 });
        assert_eq!((queue, waiting), (behind * FRAME + rest, behind * FRAME), "at {time} ps, node {node}");
        seen += 1;
    }
    assert_eq!(seen, 2 * 10 * SLOT / 5_000_000 + 1);
}
