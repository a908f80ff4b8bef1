//! Circuits alongside packets through the whole simulator: the arithmetic of REACToR, its rules,
//! and what happens where they are broken.
//!
//! Schemes have no control latency unless a test is about it.

use crate::common::{Ran, flow_list, load, run};
use timeplane_model::Named;
use timeplane_scenario::CircuitAlgorithm;

/// Payload of a full raw frame at an MTU of 1500 B, of 1538 B on the wire.
const PAYLOAD: u64 = 1484;
const WIRE: f64 = 1538.0;
/// A period of 3 ms, in ps.
const PERIOD: i64 = 3_000_000_000;

/// `tors` racks of `hosts` hosts at 10 Gb/s, with a packet switch of 1 Gb/s per host.
fn hybrid(tors: u32, hosts: u32, more: &str, workload: &str, schemes: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.hybrid = {{ tors = {tors}, hosts_per_tor = {hosts}, packet_rate = "1 Gb/s", {more} }}
        rate = "10 Gb/s"
        propagation = "100 ns"
        [workload]
        {workload}
        [window]
        measure = "100 ms"
        drain = "0 ms"
        {schemes}
        "#
    )
}

/// A scheme without control latency, which leaves only the schedule.
fn ideal(name: &str, plan: &str) -> String {
    format!(
        r#"
        [scheme.{name}]
        transport.raw = {{}}
        plan.circuits = {{ period = "3 ms", dark = "30 us", least_open = "30 us", control_latency = "0 ns", compute_time = "0 ns", unreported = 0.1, signals.reaction = "immediate", {plan} }}
        "#
    )
}

/// In every period each host sends a share of the line to the next one, and the rest evenly to the
/// `small` hosts after it.
fn skewed(name: &str, hosts: u32, large: f64, small: u32, periods: i64) -> String {
    let full = PERIOD as f64 / 1e12 * 10e9 / 8.0 / WIRE;
    let frames = |share: f64| (share * full) as u64;
    let mut flows = Vec::new();
    for period in 0..periods {
        for host in 0..hosts {
            for next in 1..=small + 1 {
                let share = if next == 1 { large } else { (1.0 - large) / f64::from(small) };
                flows.push((period * PERIOD, host, (host + next) % hosts, frames(share) * PAYLOAD));
            }
        }
    }
    flow_list(name, &flows);
    format!("flows.file = \"{name}\"")
}

/// Wire bytes on links from a node into hosts' racks, relative to what the hosts' links carry in so
/// many periods.
fn share(ran: &Ran, from: i64, hosts: i64, periods: i64) -> f64 {
    let [source, to, sent] = ["from", "to", "sent_bytes"].map(|c| ran.column("links", c));
    let on = source.iter().zip(&to).zip(&sent).filter(|((f, t), _)| **f == from && **t < from);
    let bytes: i64 = on.map(|(_, s)| s).sum();
    bytes as f64 * 8.0 / (10e9 * (periods * PERIOD) as f64 / 1e12 * hosts as f64)
}

fn lost(ran: &Ran, reason: &str) -> i64 {
    let (reasons, packets) = (ran.words("drops", "reason"), ran.column("drops", "packets"));
    reasons.iter().zip(packets).filter(|(r, _)| *r == reason).map(|(_, p)| p).sum()
}

/// One configuration for each of a host's demands, each with 30 us of dark time: open circuits are
/// used, and nothing else is lost.
#[test]
fn circuits_carry_what_their_schedule_leaves_open() {
    let hosts = 12;
    // One constant configuration costs nothing; n configurations cost n dark times.
    for (small, expected) in [(1, 1.0 - 2.0 * 0.01), (4, 1.0 - 5.0 * 0.01), (7, 1.0 - 8.0 * 0.01)] {
        let workload = skewed(&format!("circuits-{small}.csv"), hosts, 0.75, small, 5);
        let plan = r#"scheduler = "cover_all", packets = false"#;
        let text =
            hybrid(hosts, 1, r#"dark.fixed = "20 us""#, &workload, &ideal("circuits", plan)).replace("100 ms", "15 ms");
        let ran = run(&text, "circuits", 1);
        // Racks are nodes 12 to 23, then come the packet switch and the circuit switch.
        let carried = share(&ran, 25, 12, 5);
        assert!((carried / expected - 1.0).abs() < 0.01, "{small}: {carried} of {expected}");
        assert_eq!((lost(&ran, "circuit_dark"), lost(&ran, "multiplexer_full")), (0, 0));
        assert_eq!(share(&ran, 24, 12, 5), 0.0);
    }
}

/// A demand of one large flow and the packet switch's share is carried nearly completely within its
/// period: the large flow by a constant circuit, the small ones by packets (REACToR, figure 10, at
/// D above 90).
#[test]
fn small_demands_go_by_the_packet_switch() {
    let workload = skewed("circuits-92.csv", 12, 0.92, 9, 4);
    let text = hybrid(12, 1, "", &workload, &ideal("both", r#"scheduler = "cover_all""#)).replace("100 ms", "12 ms");
    let ran = run(&text, "both", 1);
    let [circuits, packets] = [25, 24].map(|switch| share(&ran, switch, 12, 4));
    assert!(circuits > 0.99 * 0.92 && circuits <= 0.92, "{circuits}");
    assert!(packets > 0.96 * 0.08 && packets <= 0.08, "{packets}");
    assert_eq!(lost(&ran, "circuit_dark"), 0);
}

/// With limits, a rack holds little for a host. Without them frames are lost whatever it holds, as
/// more come than the link carries.
#[test]
fn limits_keep_frames_out_of_each_others_way() {
    let workload = skewed("circuits-limits.csv", 12, 0.9, 9, 3);
    let schemes =
        ideal("with", r#"scheduler = "cover_all""#) + &ideal("without", r#"scheduler = "cover_all", limits = false"#);
    let lost = |frames: u32, scheme: &str| {
        let more = format!("multiplexer_frames = {frames}");
        let ran = run(&hybrid(12, 1, &more, &workload, &schemes), scheme, 1);
        (lost(&ran, "multiplexer_full"), ran.summary.packets.sent)
    };
    assert_eq!(lost(3, "with").0, 0);
    assert!(lost(3, "without").0 > 100, "{:?}", lost(3, "without"));
    // One frame each, as in REACToR, nearly suffices.
    let (dropped, sent) = lost(1, "with");
    assert!((dropped as f64) < 1e-3 * sent as f64, "{dropped} of {sent}");
}

/// The packet switch brings packets of several hosts at a time. Only pairs without packets
/// alongside their circuits need no more than a frame.
#[test]
fn one_frame_is_enough_where_circuits_come_evenly() {
    // Hosts 0 to 5 send by circuits, 6 to 11 by packets, to the same six.
    let full = (0.9 * PERIOD as f64 / 1e12 * 10e9 / 8.0 / WIRE) as u64;
    let mut flows = Vec::new();
    for period in 0..3 {
        for host in 0..6 {
            flows.push((period * PERIOD, host, (host + 1) % 6, full * PAYLOAD));
            flows.push((period * PERIOD, host + 6, host, full / 10 * PAYLOAD));
        }
    }
    flow_list("circuits-even.csv", &flows);
    let workload = "flows.file = \"circuits-even.csv\"";
    let text = hybrid(12, 1, "multiplexer_frames = 1", workload, &ideal("with", r#"scheduler = "cover_all""#));
    let ran = run(&text, "with", 1);
    assert_eq!((lost(&ran, "multiplexer_full"), ran.summary.flows.unfinished), (0, 0));
    assert!(share(&ran, 24, 12, 3) > 0.04, "packets came, too");
}

/// A switch that is slower than schedules assume loses the packets that are sent into the dark, and
/// only these.
#[test]
fn light_that_comes_too_early_is_lost() {
    let workload = skewed("circuits-dark.csv", 8, 0.6, 3, 2);
    let plan = r#"scheduler = "cover_all", packets = false"#;
    for (dark, loses) in [("20 us", false), ("36 us", true)] {
        let text = hybrid(8, 1, &format!(r#"dark.fixed = "{dark}""#), &workload, &ideal("circuits", plan));
        let ran = run(&text, "circuits", 1);
        assert_eq!(lost(&ran, "circuit_dark") > 0, loses, "{dark}");
        // A flow whose circuit is mostly dark sends its last frames into the dark again and again.
        assert!(loses || ran.summary.flows.unfinished == 0);
    }
}

/// For every scheduler, number of wires and kind of host: every byte arrives, none is sent into the
/// dark, and no rule is broken (a plan that breaks one fails the run).
#[test]
fn every_scheduler_serves_everyone() {
    let flows: Vec<(i64, u32, u32, u64)> = (0..60u32)
        .map(|k| {
            let (from, to) = (k * 7 % 12, (k * 5 + 1 + k / 12) % 12);
            let to = if to == from { (to + 1) % 12 } else { to };
            (i64::from(k) * 150_000_000, from, to, u64::from(k % 9 + 1) * 150 * PAYLOAD)
        })
        .collect();
    flow_list("circuits-mixed.csv", &flows);
    let workload = "flows.file = \"circuits-mixed.csv\"";
    for scheduler in ["solstice_refined", "cover_all", "round_robin"] {
        for (tors, hosts, wires) in [(12, 1, ""), (4, 3, ""), (3, 4, "circuit_uplinks = 2, packet_uplinks = 2")] {
            for transport in ["raw = {}", r#"tcp = { min_rto = "10 ms" }"#] {
                let scheme = format!(
                    r#"
                    [scheme.it]
                    transport.{transport}
                    plan.circuits = {{ scheduler = "{scheduler}", dark = "30 us", least_open = "130 us" }}
                    "#
                );
                for retune in ["all_stop", "moved"] {
                    let comma = if wires.is_empty() { "" } else { ", " };
                    let more = format!("{wires}{comma}retune = \"{retune}\"");
                    let text = hybrid(tors, hosts, &more, workload, &scheme);
                    let ran = run(&text, "it", 3);
                    let what = format!("{scheduler} {tors} x {hosts} {transport} {retune}");
                    assert_eq!(ran.summary.flows.unfinished, 0, "{what}");
                    assert_eq!(lost(&ran, "circuit_dark"), 0, "{what}");
                }
            }
        }
    }
}

/// All schedulers by name, where only moved ports stop; those with days have long ones.
#[test]
fn every_name_is_a_scheduler() {
    let flows: Vec<(i64, u32, u32, u64)> = (0..40u32)
        .map(|k| (i64::from(k) * 100_000_000, k % 6, (k % 6 + 1 + k / 6 % 5) % 6, u64::from(k % 7 + 1) * 100 * PAYLOAD))
        .collect();
    flow_list("circuits-names.csv", &flows);
    for &scheduler in CircuitAlgorithm::all() {
        let day = if scheduler.has_day() { ", day = \"500 us\"" } else { "" };
        let steps = if scheduler.has_granularity() { ", granularity = 2" } else { "" };
        let scheme = ideal("it", &format!("scheduler = \"{}\"{day}{steps}", scheduler.name()));
        let text = hybrid(6, 1, "retune = \"moved\"", "flows.file = \"circuits-names.csv\"", &scheme);
        let ran = run(&text, "it", 1);
        let name = scheduler.name();
        assert_eq!((ran.summary.flows.unfinished, lost(&ran, "circuit_dark")), (0, 0), "{name}");
        // A round robin of long days changes less often than one of nine dark times.
        if scheduler == CircuitAlgorithm::RoundRobin {
            let last = |text: &str| run(text, "it", 1).column("slots", "slot").into_iter().max();
            // 3 ms hold five of 30 + 500 us and a part of one, or ten of 30 + 270 us.
            assert_eq!((last(&text), last(&text.replace(day, ""))), (Some(5), Some(9)));
        }
    }
}

/// A long coflow arrives first. Sunflow serves the short one before it if hosts report coflows.
#[test]
fn reported_coflows_have_an_order() {
    let mut list = "start_ps,source,destination,size_bytes,coflow\n".to_owned();
    for (source, destination, frames, coflow) in [(0, 1, 4000, 1), (0, 2, 300, 2), (3, 1, 300, 2)] {
        list += &format!("0,{source},{destination},{},{coflow}\n", frames * PAYLOAD);
    }
    std::fs::write(crate::common::folder().join("circuits-coflows.csv"), list).unwrap();
    let ccts = |coflows: bool, demand: &str| {
        let plan = format!("scheduler = \"sunflow\", packets = false, coflows = {coflows}, demand = \"{demand}\"");
        let workload = "flows.file = \"circuits-coflows.csv\"";
        let text = hybrid(4, 1, "retune = \"moved\", dark.fixed = \"20 us\"", workload, &ideal("it", &plan));
        let ran = run(&text, "it", 1);
        let end = ran.column("coflows", "cct_ps").into_iter().map(|cct| cct / 1_000_000).collect::<Vec<_>>();
        <[i64; 2]>::try_from(end).unwrap()
    };
    for demand in ["reports", "oracle"] {
        let [long, short] = ccts(true, demand);
        let [long_as_one, short_as_one] = ccts(false, demand);
        // 300 frames take 369 us, 4000 frames 4922 us, and each circuit is dark for 30 us. As one
        // coflow, the longest demand has a whole period first.
        assert!((369 + 30..1000).contains(&short), "{demand}: {short}");
        assert!(short_as_one > 3000, "{demand}: {short_as_one}");
        assert!((4922..=long_as_one + 500).contains(&long), "{demand}: {long} and {long_as_one}");
    }
}

/// The table of slots has the bytes of each configuration, also where a circuit stands for several.
/// Together they are the bytes at the circuit switch.
#[test]
fn what_was_sent_in_slots_is_what_crossed_circuits() {
    let hosts = 6;
    // Two configurations per period for the second demand, and of the first one, which stands from
    // period to period.
    for (name, large, small) in [("stands", 1.0, 0), ("turns", 0.6, 1)] {
        let workload = skewed(&format!("slots_{name}.csv"), hosts, large, small, 20);
        for latency in ["0 ns", "5 us"] {
            let scheme = ideal("slots", "scheduler = \"solstice_refined\"")
                .replace("control_latency = \"0 ns\"", &format!("control_latency = \"{latency}\""));
            let text = hybrid(hosts, 1, "dark.fixed = \"20 us\"", &workload, &scheme);
            let ran = run(&text, "slots", 1);
            let sum = |values: Vec<i64>| values.into_iter().sum::<i64>();
            let fabric = load(&text).scenario.fabric.build().unwrap();
            let switch = i64::from(fabric.circuit_switch().unwrap().0);
            let (to, sent) = (ran.column("links", "to"), ran.column("links", "sent_bytes"));
            let crossed = sum(to.iter().zip(sent).filter(|l| *l.0 == switch).map(|l| l.1).collect());
            let in_slots = sum(ran.nullable("slots", "sent_bytes").into_iter().flatten().collect());
            assert_eq!(lost(&ran, "circuit_dark"), 0, "{name}, {latency}");
            assert!(crossed > 0 && in_slots == crossed, "{name}, {latency}: {in_slots} of {crossed}");
        }
    }
}

/// A flow that starts within a period has no circuit until the next one, and meanwhile goes by the
/// packet switch (figure 8).
#[test]
fn what_comes_within_a_period_begins_by_packets() {
    flow_list("circuits-late.csv", &[(0, 0, 1, 4000 * PAYLOAD), (1_000_000_000, 2, 3, 4000 * PAYLOAD)]);
    let text = hybrid(4, 1, "", "flows.file = \"circuits-late.csv\"", &ideal("both", r#"scheduler = "cover_all""#));
    let ran = run(&text, "both", 1);
    let [source, fct] = ["source", "fct_ps"].map(|c| ran.column("flows", c));
    let of = |host: i64| fct[source.iter().position(|&s| s == host).expect("its flow")] as f64 / 1e9;
    // 4000 frames are 4.92 ms of line time. The first flow has its circuit from the start. The
    // second waits 2 ms for a circuit, with a share of the packet switch, up to a tenth of the
    // line.
    let line = 4000.0 * WIRE * 8.0 / 10e9 * 1e3;
    // A circuit leaves the packet switch a part of its tenth, for any newcomer.
    let circuit = line / (1.0 - 0.1 * 0.12);
    assert!(of(0) < circuit * 1.02, "{} of {circuit}", of(0));
    assert!(of(2) > line + 2.0 - 2.0 * 0.1 - 0.05 && of(2) < circuit * 1.02 + 2.0, "{} of {circuit}", of(2));
}

/// Frames by circuit overtake those that wait at the packet switch. Only lost frames are repeated,
/// unless receivers take what was overtaken for lost.
#[test]
fn what_circuits_overtake_is_not_repeated() {
    let scheme = |name: &str, raw: &str| {
        let plan = r#"plan.circuits = { period = "2 ms", dark = "30 us", least_open = "100 us" }"#;
        format!("[scheme.{name}]\n{raw}\n{plan}\n")
    };
    let both = scheme("patient", "transport.raw = {}") + &scheme("hasty", r#"transport.raw.reordering = "0 s""#);
    let workload = r#"poisson = { load = 0.6, sizes.exponential = "200 kB" }"#;
    let text = hybrid(6, 1, r#"dark.fixed = "20 us""#, workload, &both)
        .replace("measure = \"100 ms\"", "measure = \"10 ms\"")
        .replace("drain = \"0 ms\"", "drain = \"20 ms\"");
    let counts = |name: &str| {
        let ran = run(&text, name, 1);
        (ran.summary.retransmissions, ran.summary.dropped_packets.values().sum::<u64>())
    };
    let (repeated, lost) = counts("patient");
    assert_eq!(repeated, lost);
    let (repeated, lost) = counts("hasty");
    assert!(repeated > lost, "{repeated} repetitions of {lost} lost frames");
}

/// TCP in one direction over a circuit, in frames of 9 kB: bytes received after 50 and after 100
/// ms, and wire bytes of acknowledgements over the packet switch and over the circuit switch. Pairs
/// without a demand may send nothing, so acknowledgements without a share wait for a plan.
fn tcp_one_way(acknowledgements: f64) -> ([f64; 2], [f64; 2]) {
    let name = format!("circuits-tcp-{acknowledgements}.csv");
    flow_list(&name, &[(0, 0, 1, 1_000_000_000)]);
    let plan = format!("acknowledgements = {acknowledgements:?}, scheduler = \"cover_all\"");
    let scheme = ideal("it", &plan)
        .replace("transport.raw = {}", "transport.tcp.preset = \"rfc\"")
        .replace("unreported = 0.1", "unreported = 0.0");
    let text = hybrid(4, 1, "", &format!("flows.file = \"{name}\""), &scheme)
        .replace("propagation", "mtu = \"9 kB\"\npropagation");
    let [half, whole] = ["50 ms", "100 ms"].map(|measure| run(&text.replace("100 ms", measure), "it", 1));
    let back = [8, 9].map(|switch| {
        let [from, to, sent] = ["from", "to", "sent_bytes"].map(|c| whole.column("links", c));
        let links = from.iter().zip(&to).zip(sent);
        links.filter(|((f, t), _)| (**f, **t) == (switch, 4)).map(|(_, s)| s as f64).sum()
    });
    ([half, whole].map(|ran| ran.column("flows", "received_bytes")[0] as f64), back)
}

/// Acknowledgements need no circuit: with a share of the packet switch they come at once, and TCP
/// soon fills its circuit. Without a share, each of its first windows waits for a plan that knows
/// of its acknowledgements.
#[test]
fn acknowledgements_of_a_circuit_go_by_packets() {
    // One acknowledgement (84 B) for two frames of 9,038 B gives 46 Mb/s. A third of a share of 15
    // % suffices for one of three hosts.
    let ([half, whole], [packets, circuits]) = tcp_one_way(0.15);
    let circuit = 10e9 - (0.15 + 0.02) * 1e9;
    let expected = circuit * (9000.0 - 52.0) / 9038.0 / 8.0;
    let goodput = (whole - half) / 0.05;
    // The gate of each period starts with a frame, whenever the last one went: up to a frame more.
    let frame = 8948.0 / 0.003;
    assert!(goodput > expected * 0.999 && goodput < expected + frame, "{goodput} of {expected} B/s");
    // The handshake and the first congestion window take a period each, and so does the first grant
    // of a circuit.
    assert!(half > expected * (0.05 - 3.0 * 0.003), "{half} B of {} B", expected * 0.05);
    assert!(packets > 84.0 / (2.0 * 9038.0) * whole && circuits == 0.0, "{packets} B back, {circuits} B by circuits");
    let ([waiting, _], _) = tcp_one_way(0.0);
    assert!(waiting < half / 2.0, "{waiting} of {half} B");
    // A share is also a limit. One that is too small for the acknowledgements holds data back,
    // and none of them use circuits.
    let share = 0.03;
    let ([_, little], [packets, circuits]) = tcp_one_way(share);
    let most = share * 1e9 / 3.0 / 8.0 * 0.1;
    assert!(packets > 0.5 * most && packets <= most + 84.0, "{packets} of {most} B back");
    assert!(little < most / 84.0 * 2.0 * 9000.0 && circuits == 0.0, "{little} B, {circuits} B by circuits");
    println!(
        "received in 50 ms: {half} B with a share, {waiting} B without; in 100 ms: {whole} B, {little} B with 3 %"
    );
}

/// Only an oracle knows traffic that comes after hosts have reported and before it is planned: a
/// period earlier.
#[test]
fn an_oracle_is_as_good_as_reports_or_a_period_better() {
    // Messages take 200 us, and a margin of 1 us. Reports are read when the run starts. By 401 us a
    // period is planned, which starts before 810 us, once schedules have come and gates are open.
    // The next reports are read at 3,200 us, as messages also tell hosts when to report, and are
    // planned by 3,401 us.
    let flows = [(0, 0, 1), (2_900, 2, 3), (3_250, 4, 5), (3_390, 6, 7), (3_500, 1, 0)];
    let list: Vec<_> = flows.iter().map(|&(us, from, to)| (us * 1_000_000, from, to, 4000 * PAYLOAD)).collect();
    flow_list("circuits-oracle.csv", &list);
    let scheme = |name: &str| {
        let plan = format!("demand = \"{name}\", scheduler = \"cover_all\"");
        // Pause frames take as long, and dark times allow for all of it.
        ideal(name, &plan)
            .replace("dark = \"30 us\"", "dark = \"250 us\"")
            .replace("\"0 ns\", compute", "\"200 us\", compute")
            .replace("unreported = 0.1", "unreported = 0.0")
    };
    let took = |name: &str| {
        let ran = run(&hybrid(8, 1, "", "flows.file = \"circuits-oracle.csv\"", &scheme(name)), name, 1);
        assert_eq!((ran.summary.flows.unfinished, ran.summary.packets.dropped), (0, 0));
        let [source, fct] = ["source", "fct_ps"].map(|c| ran.column("flows", c));
        flows.map(|f| fct[source.iter().position(|&s| s == i64::from(f.1)).expect("its flow")])
    };
    let (reports, oracle) = (took("reports"), took("oracle"));
    for (i, (reports, oracle)) in reports.into_iter().zip(oracle).enumerate() {
        let earlier = if i == 2 || i == 3 { PERIOD } else { 0 };
        // Pairs that are served at the same time add dark times.
        assert!(((reports - oracle) - earlier).abs() < PERIOD / 20, "{i}: {reports} and {oracle} ps");
    }
    let [reports, oracle] = [reports, oracle].map(|all| all.iter().sum::<i64>());
    assert!(reports - oracle > 2 * PERIOD - PERIOD / 20, "{reports} and {oracle} ps");
}
