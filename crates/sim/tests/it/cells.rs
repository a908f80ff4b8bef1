//! Several devices and access points on a channel plan: turns, interference and handovers against
//! arithmetic.
//!
//! Link traces are constant or change in steps, so that expected rates follow by hand.

use crate::common::{Ran, flow_list, folder, run};
use timeplane_radio::{Dbm, ErrorTables, LinkParameters, LinkState, Mcs, RateBySignal, all_right};

/// Bytes of a packet on the air, and the datagram payload in it.
const PACKET: u32 = 8_180;
const DATAGRAM: u32 = PACKET - 28;

fn rates() -> RateBySignal {
    RateBySignal::new(ErrorTables::bundled(), LinkParameters::default(), Mcs::single_carrier())
}

/// The keys of a link with a constant level.
fn at(level: f64) -> LinkState {
    rates().at(Dbm::new(level)).unwrap_or_else(|| panic!("no rate at {level} dBm"))
}

/// The time of a packet on the air, and the probability that it arrives.
fn packet(link: LinkState) -> (f64, f64) {
    let time = f64::from(PACKET) * 8.0 / link.rate.as_bps() as f64;
    (time, all_right(link.packet_error, f64::from(PACKET) / 8_140.0))
}

/// A file with one pair of beams whose level changes in steps: start and dBm.
fn beams(name: &str, steps: &[(f64, f64)]) {
    let mut text = "time_s,tx_deg,rx_deg,power_dbm\n".to_owned();
    for (i, &(from, level)) in steps.iter().enumerate() {
        text += &format!("{from},0,0,{level}\n");
        // Levels are linear between two lines: a step takes the millisecond before it.
        let until = steps.get(i + 1).map_or(10.0, |s| s.0 - 0.001);
        text += &format!("{until:.3},0,0,{level}\n");
    }
    std::fs::write(folder().join(name), text).expect("a folder that can be written to");
}

/// Bytes that a host received between two times, in seconds.
fn received(ran: &Ran, host: i64, from: f64, until: f64) -> f64 {
    let (times, hosts) = (ran.column("received", "time_ps"), ran.column("received", "host"));
    let bytes = ran.column("received", "received_bytes");
    let within = |t: i64| t as f64 > from * 1e12 + 1.0 && t as f64 <= until * 1e12 + 1.0;
    (0..times.len()).filter(|&i| hosts[i] == host && within(times[i])).map(|i| bytes[i] as f64).sum()
}

/// Two servers send to two devices, each as fast as it can, over one access point or one each.
fn two_devices(name: &str, radio: &str, links: [[u32; 2]; 2]) -> String {
    let [[a, b], [c, d]] = links;
    let flows = format!("cells_{name}.csv");
    flow_list(&flows, &[(0, 0, 2, 4_000_000_000), (0, 1, 3, 4_000_000_000)]);
    format!(
        r#"
[fabric]
rate = "10 Gb/s"
propagation = "0 s"
mtu = "{PACKET} B"
framing = "none"
[fabric.topology.graph]
hosts = 4
switches = 4
links = [
    {{ nodes = [0, 4] }}, {{ nodes = [1, 5] }}, {{ nodes = [4, 5] }},
    {{ nodes = [2, 6], rate = "1 Tb/s" }}, {{ nodes = [3, 7], rate = "1 Tb/s" }},
    {{ nodes = [{a}, {b}] }}, {{ nodes = [{c}, {d}] }},
]
[fabric.radio]
access = "planned"
retries = 0
queue.drop_tail.packets = 500
{radio}
[workload.flows]
file = "{flows}"
[window]
measure = "400 ms"
drain = "0 s"
[record]
received_every = "100 ms"
[scheme.datagrams.transport.datagrams]
"#
    )
}

#[test]
fn devices_of_an_access_point_take_turns_by_packets_and_a_blocked_one_leaves_all_to_the_other() {
    let (fast, slow) = (-55.0, -79.0);
    beams("cells_fast.csv", &[(0.0, fast)]);
    beams("cells_slow.csv", &[(0.0, slow), (0.2, -150.0), (0.3, slow)]);
    let radio = r#"link = [
        { nodes = [4, 6], trace.beams = "cells_fast.csv" },
        { nodes = [4, 7], trace.beams = "cells_slow.csv" },
    ]"#;
    let ran = run(&two_devices("turns", radio, [[4, 6], [4, 7]]), "datagrams", 1);
    let ((t1, p1), (t2, p2)) = (packet(at(fast)), packet(at(slow)));
    assert!(t2 > 3.0 * t1, "{t1} and {t2}: rates that differ");
    for (from, until) in [(0.0, 0.2), (0.3, 0.4)] {
        // With one packet each in turn, both get 1 / (1/R1 + 1/R2). With equal airtime, each would
        // get half of its rate.
        let turns = (until - from) / (t1 + t2);
        for (host, right) in [(2, p1), (3, p2)] {
            let expected = turns * right * f64::from(DATAGRAM);
            let measured = received(&ran, host, from, until);
            assert!((measured / expected - 1.0).abs() < 0.02, "host {host}: {measured} bytes, {expected} expected");
        }
        let fair_in_time = (until - from) / 2.0 / t1 * f64::from(DATAGRAM);
        assert!(received(&ran, 2, from, until) < 0.6 * fair_in_time);
    }
    let alone = 0.1 / t1 * p1 * f64::from(DATAGRAM);
    let measured = received(&ran, 2, 0.2, 0.3);
    assert!((measured / alone - 1.0).abs() < 0.01, "{measured} bytes, {alone} expected");
    assert!(received(&ran, 3, 0.2, 0.3) <= f64::from(DATAGRAM), "while blocked, nothing but the packet in the air");
}

#[test]
fn who_sends_at_the_same_time_on_a_channel_adds_to_the_noise() {
    let level = -66.0;
    beams("cells_level.csv", &[(0.0, level)]);
    beams("cells_other.csv", &[(0.0, -55.0)]);
    let (clean, model) = (at(level), rates());
    // An interferer that costs about a third of the packets: its level equals that of the noise
    // which it adds.
    let lossy = |i: f64| model.packet_error_among(clean.mcs, Dbm::new(level), Dbm::new(i).milliwatts()).unwrap();
    let other = (0..2_000).map(|i| -110.0 + 0.02 * f64::from(i)).find(|&i| lossy(i) > 0.3).expect("loud enough");
    let scenario = |channel: u32, declared: bool| {
        let pair = format!("interference = [{{ nodes = [5, 6], level_dbm = {other} }}]");
        let radio = format!(
            r#"{}
            link = [
                {{ nodes = [4, 6], trace.beams = "cells_level.csv" }},
                {{ nodes = [5, 7], channel = {channel}, trace.beams = "cells_other.csv" }},
                {{ nodes = [5, 6], channel = {channel}, trace.beams = "cells_other.csv" }},
            ]"#,
            if declared { pair.as_str() } else { "" }
        );
        let text = two_devices("interference", &radio, [[4, 6], [5, 7]]);
        // A third link gives node 6 a radio on the second channel too; nothing is routed over it.
        text.replace("{ nodes = [5, 7] },", "{ nodes = [5, 7] }, { nodes = [5, 6], rate = \"1 Mb/s\" },")
    };
    let lost = |ran: &Ran, link: [i64; 2]| {
        let (from, to) = (ran.column("links", "from"), ran.column("links", "to"));
        let number = (0..from.len()).find(|&i| [from[i], to[i]] == link).unwrap();
        let (links, packets) = (ran.column("drops", "link"), ran.column("drops", "packets"));
        let reasons = ran.words("drops", "reason");
        let of = |i: &usize| links[*i] == number as i64 && reasons[*i] == "air";
        let lost: i64 = (0..links.len()).filter(of).map(|i| packets[i]).sum();
        (lost as f64, lost as f64 + ran.column("links", "sent_packets")[number] as f64)
    };
    let expected = 1.0 - all_right(lossy(other), f64::from(PACKET) / 8_140.0);
    let quiet = 1.0 - packet(clean).1;
    for (channel, declared, expected) in [(0, true, expected), (0, false, quiet), (1, true, quiet)] {
        let (lost, sent) = lost(&run(&scenario(channel, declared), "datagrams", 1), [4, 6]);
        let deviation = (expected * (1.0 - expected) / sent).sqrt();
        let found = lost / sent;
        assert!(
            (found - expected).abs() < 4.0 * deviation + 1e-3,
            "channel {channel}, declared {declared}: {found} of {sent} lost, {expected} expected"
        );
    }
}

/// A server, a core, and two access points (3 and 4) with a device (5) between them. `flows` are
/// those of a file.
fn two_cells(
    name: &str,
    handover: &str,
    [a, b]: [&[(f64, f64)]; 2],
    flows: &[(i64, u32, u32, u64)],
    rest: &str,
) -> String {
    flow_list(&format!("cells_{name}.csv"), flows);
    beams(&format!("cells_{name}_a.csv"), a);
    beams(&format!("cells_{name}_b.csv"), b);
    format!(
        r#"
[fabric]
rate = "10 Gb/s"
propagation = "0 s"
mtu = "{PACKET} B"
framing = "none"
[fabric.topology.graph]
hosts = 2
switches = 4
links = [
    {{ nodes = [0, 2] }}, {{ nodes = [1, 5], rate = "1 Tb/s" }}, {{ nodes = [2, 3] }}, {{ nodes = [2, 4] }},
    {{ nodes = [3, 5] }}, {{ nodes = [4, 5] }},
]
[fabric.radio]
access = "planned"
retries = 0
queue.drop_tail.packets = 200
{handover}
link = [
    {{ nodes = [3, 5], trace.beams = "cells_{name}_a.csv" }},
    {{ nodes = [4, 5], trace.beams = "cells_{name}_b.csv" }},
]
[workload.flows]
file = "cells_{name}.csv"
{rest}
"#
    )
}

/// The states of the link from an access point to the device, with their times in milliseconds.
fn states(ran: &Ran, access_point: i64) -> Vec<(i64, String)> {
    let (from, to) = (ran.column("links", "from"), ran.column("links", "to"));
    let number = (0..from.len()).find(|&i| [from[i], to[i]] == [access_point, 5]).unwrap() as i64;
    let (times, links) = (ran.column("air", "time_ps"), ran.column("air", "link"));
    let words = ran.words("air", "state");
    let mut states: Vec<(i64, String)> = Vec::new();
    for i in (0..times.len()).filter(|&i| links[i] == number) {
        assert_eq!(times[i] % 1_000_000_000, 0);
        if states.last().is_none_or(|s| s.1 != words[i]) {
            states.push((times[i] / 1_000_000_000, words[i].clone()));
        }
    }
    states
}

fn named(states: &[(i64, &str)]) -> Vec<(i64, String)> {
    states.iter().map(|&(at, state)| (at, state.to_owned())).collect()
}

const HIGH: f64 = -58.0;
const LOW: f64 = -70.0;
/// Of the first access point; the other one has the opposite.
const FALLS: [(f64, f64); 3] = [(0.0, HIGH), (0.5, LOW), (1.0, HIGH)];
const RISES: [(f64, f64); 3] = [(0.0, LOW), (0.5, HIGH), (1.0, LOW)];
const HANDOVER: &str = r#"handover = { hysteresis_db = 3.0, trigger = "100 ms", delay = "20 ms" }"#;
const UNTIL_1500: &str = "[window]\nmeasure = \"1.5 s\"\ndrain = \"0 s\"\n[record]\nreceived_every = \"10 ms\"\n";

#[test]
fn a_device_between_two_access_points_uses_the_louder_one() {
    let rest = format!("{UNTIL_1500}[scheme.datagrams.transport.datagrams]\n");
    let flows = [(0, 0, 1, 10_000_000_000)];
    for (queued, name) in [("lost", "saturated_lost"), ("forwarded", "saturated_forwarded")] {
        let handover = HANDOVER.replace(" }", &format!(", queued = \"{queued}\" }}"));
        let ran = run(&two_cells(name, &handover, [&FALLS, &RISES], &flows, &rest), "datagrams", 1);
        // Levels cross at 0.5 s and 1 s.
        let a = [(0, "used"), (600, "unused"), (1_100, "handover"), (1_120, "used")];
        let b = [(0, "unused"), (600, "handover"), (620, "used"), (1_100, "unused")];
        assert_eq!((states(&ran, 3), states(&ran, 4)), (named(&a), named(&b)), "{queued}");
        let ((high, p), (low, q)) = (packet(at(HIGH)), packet(at(LOW)));
        let spans = [
            (0.0, 0.5, p / high),
            (0.5, 0.6, q / low),
            (0.6, 0.62, 0.0),
            (0.62, 1.0, p / high),
            (1.0, 1.1, q / low),
            (1.1, 1.12, 0.0),
            (1.12, 1.5, p / high),
        ];
        for (from, until, rate) in spans {
            let expected = (until - from) * rate * f64::from(DATAGRAM);
            let measured = received(&ran, 1, from, until);
            let slack = 2.0 * f64::from(DATAGRAM) + 0.01 * expected;
            assert!((measured - expected).abs() <= slack, "{queued} {from} s: {measured} bytes, {expected} expected");
        }
        // The queue is full when the device leaves; one packet is in the air.
        let lost = ran.summary.dropped_packets.get("handover").copied().unwrap_or(0);
        match queued {
            "lost" => assert!((396..=400).contains(&lost), "{lost}"),
            _ => assert_eq!(lost, 0),
        }
        assert!(ran.summary.packets.is_balanced());
    }
}

#[test]
fn without_a_queue_nothing_is_lost_by_a_handover() {
    // 80 Mb/s, 10 kB every millisecond.
    let flows: Vec<_> = (0..1_400).map(|i| (i * 1_000_000_000, 0, 1, 10_000)).collect();
    let handover = HANDOVER.replace(" }", ", queued = \"forwarded\" }");
    let rest = format!("{UNTIL_1500}[scheme.datagrams.transport.datagrams]\n");
    let ran = run(&two_cells("light", &handover, [&FALLS, &RISES], &flows, &rest), "datagrams", 1);
    let errors = ran.summary.dropped_packets.get("air").copied().unwrap_or(0);
    let losses: u64 = ran.summary.dropped_packets.values().sum();
    assert_eq!(losses, errors, "{:?}", ran.summary.dropped_packets);
    assert!((errors as f64) < 0.02 * ran.summary.packets.sent as f64);
    // Packets that come during the handover wait at the new access point.
    let (starts, times) = (ran.column("flows", "start_ps"), ran.nullable("flows", "fct_ps"));
    let mut waited = 0;
    for (start, time) in starts.iter().zip(times) {
        let Some(time) = time else { continue };
        let end = start + time;
        let in_delay = |t: i64| (600_300_000_000..620_000_000_000).contains(&t);
        assert!(!in_delay(end), "a flow ends at {end} ps");
        waited += i32::from(in_delay(*start));
    }
    assert!(waited >= 15, "{waited} flows wait");
}

#[test]
fn tcp_goes_on_both_ways() {
    let flows = [(0, 0, 1, 100_000_000), (0, 1, 0, 100_000_000)];
    let rest = "[scheme.tcp.transport.tcp]\npreset = \"rfc\"\nmin_rto = \"10 ms\"\n";
    for queued in ["lost", "forwarded"] {
        let handover = HANDOVER.replace(" }", &format!(", queued = \"{queued}\" }}"));
        let name = format!("tcp_{queued}");
        let ran = run(&two_cells(&name, &handover, [&FALLS, &RISES], &flows, rest), "tcp", 1);
        assert_eq!(ran.summary.flows.finished, 2, "{queued}");
        assert_eq!(ran.column("flows", "received_bytes"), [100_000_000, 100_000_000]);
        let last = ran.nullable("flows", "fct_ps").into_iter().flatten().max().unwrap();
        assert!(last > 620_000_000_000, "the flows outlive a handover: {last} ps");
        // Nothing used a link that was not in use.
        let (from, to) = (ran.column("links", "from"), ran.column("links", "to"));
        let sent = |a, b| {
            let i = (0..from.len()).find(|&i| [from[i], to[i]] == [a, b]).unwrap();
            ran.column("links", "sent_packets")[i]
        };
        assert!([sent(3, 5), sent(5, 3), sent(4, 5), sent(5, 4)].iter().all(|&n| n > 500), "{queued}");
        let (by_air, to_core) = (sent(5, 3) + sent(5, 4), sent(3, 2) + sent(4, 2));
        match queued {
            "lost" => assert_eq!(to_core, by_air, "only what comes from the device goes to the core"),
            _ => assert!(to_core > by_air, "what waits goes back by the core: {to_core} and {by_air}"),
        }
    }
}

#[test]
fn a_swing_that_is_smaller_than_the_hysteresis_moves_nobody() {
    let swing: Vec<(f64, f64)> = (0..8).map(|i| (f64::from(i) * 0.2, if i % 2 == 0 { -58.0 } else { -63.0 })).collect();
    let steady = [(0.0, -60.5)];
    let rest = format!("{UNTIL_1500}[scheme.datagrams.transport.datagrams]\n");
    let flows = [(0, 0, 1, 1_000_000_000)];
    let count = |hysteresis: &str| {
        let handover = HANDOVER.replace("3.0", hysteresis);
        let ran = run(&two_cells("swing", &handover, [&swing, &steady], &flows, &rest), "datagrams", 1);
        let arrivals = |ap| states(&ran, ap).iter().filter(|s| s.1 == "handover").count();
        (arrivals(3), arrivals(4))
    };
    assert_eq!(count("3.0"), (0, 0));
    // From 0.2 s on, the other one is louder by 2.5 dB for long enough every 200 ms; the last time
    // until the run ends.
    assert_eq!(count("2.0"), (3, 3));
}

#[test]
fn a_proxy_follows_the_device_to_its_new_access_point() {
    // The first link falls silent for good; the second one stays as it is.
    let (a, b) = ([(0.0, HIGH), (0.5, -150.0)], [(0.0, LOW)]);
    let rest = r#"
[window]
measure = "1.5 s"
drain = "0 s"
[record]
received_every = "10 ms"
[scheme.steered.transport.tcp]
min_rto = "10 ms"
[scheme.steered.proxy]
policy.reactive = {}
report_delay = "1 ms"
base_rtt = "5 ms"
"#;
    let flows = [(0, 0, 1, 4_000_000_000)];
    // Congestion windows are set by the shortest round trip, which must exceed that of one packet.
    let text =
        two_cells("proxy", HANDOVER, [&a, &b], &flows, rest).replace("propagation = \"0 s\"", "propagation = \"1 ms\"");
    let ran = run(&text, "steered", 1);
    assert_eq!(states(&ran, 4), named(&[(0, "unused"), (600, "handover"), (620, "used")]));
    let (time, right) = packet(at(LOW));
    let expected = 0.6 / time * right * f64::from(PACKET - 40);
    let measured = received(&ran, 1, 0.9, 1.5);
    assert!((0.8 * expected..1.01 * expected).contains(&measured), "{measured} bytes, at most {expected}");
    assert_eq!(received(&ran, 1, 0.51, 0.61), 0.0, "the blockage is felt");
}

#[test]
fn whatever_levels_do_packets_are_conserved_and_runs_repeat() {
    // Three devices (hosts 1 to 3 under 8 to 10) among three access points (5 to 7) behind a core
    // (4), all on one channel.
    let mut state = 1_u64;
    let mut next = || {
        state = timeplane_model::mix64(state);
        state
    };
    let mut links = String::new();
    for device in 8..11 {
        for access_point in 5..8 {
            let name = format!("cells_any_{access_point}_{device}.csv");
            let steps: Vec<(f64, f64)> =
                (0..12).map(|i| (f64::from(i) * 0.05, -85.0 + (next() % 300) as f64 * 0.1)).collect();
            beams(&name, &steps);
            links += &format!("{{ nodes = [{access_point}, {device}], trace.beams = \"{name}\" }},\n");
        }
    }
    let flows: Vec<_> = (0..200)
        .map(|i| {
            let device = 1 + (next() % 3) as u32;
            let (from, to) = if next() % 3 == 0 { (device, 0) } else { (0, device) };
            (i * 2_500_000_000, from, to, 10_000 + next() % 2_000_000)
        })
        .collect();
    flow_list("cells_any.csv", &flows);
    let wires: String = (5..8).flat_map(|a| (8..11).map(move |d| format!("{{ nodes = [{a}, {d}] }}, "))).collect();
    for (queued, retries, queue, ecmp) in [
        ("lost", 0, "drop_tail.packets = 50", "flow"),
        ("forwarded", 2, "codel.packets = 300", "packet"),
        ("forwarded", 0, "ecn = { mark_at = 20 }", "flow"),
    ] {
        let text = format!(
            r#"
[fabric]
rate = "10 Gb/s"
propagation = "10 us"
mtu = "9000 B"
[fabric.topology.graph]
hosts = 4
switches = 7
links = [
    {{ nodes = [0, 4] }}, {{ nodes = [4, 5] }}, {{ nodes = [4, 6] }}, {{ nodes = [4, 7] }},
    {{ nodes = [1, 8] }}, {{ nodes = [2, 9] }}, {{ nodes = [3, 10] }}, {wires}
]
[fabric.radio]
access = "planned"
retries = {retries}
queue.{queue}
handover = {{ hysteresis_db = 1.0, trigger = "3 ms", delay = "2 ms", queued = "{queued}" }}
interference = [{{ nodes = [5, 9], level_dbm = -90.0 }}, {{ nodes = [8, 9], level_dbm = -80.0 }}]
link = [
{links}]
[workload.flows]
file = "cells_any.csv"
[window]
measure = "600 ms"
drain = "0 s"
[scheme.datagrams]
ecmp = "{ecmp}"
transport.datagrams = {{}}
[scheme.tcp]
ecmp = "{ecmp}"
transport.tcp.min_rto = "5 ms"
"#
        );
        for scheme in ["datagrams", "tcp"] {
            // A run whose packets are not conserved ends in an error.
            let [one, two] = [1, 1].map(|seed| run(&text, scheme, seed));
            assert_eq!(serde_json::to_string(&one.summary).unwrap(), serde_json::to_string(&two.summary).unwrap());
            let handovers = one.words("air", "state").iter().filter(|s| *s == "handover").count();
            assert!(handovers >= 20, "{handovers} links of new access points");
            let reasons: Vec<_> = one.summary.dropped_packets.keys().cloned().collect();
            assert!(!reasons.iter().any(|r| r == "no_route"), "{reasons:?}");
            assert_eq!(reasons.iter().any(|r| r == "handover"), queued == "lost", "{reasons:?}");
            assert!(one.summary.packets.delivered > 1_000);
        }
    }
}
