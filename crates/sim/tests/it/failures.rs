//! Links, switches, hosts and the controller fail and return: losses are what arithmetic says, and
//! so is the recovery.
//!
//! Small networks have one flow, so that each lost packet is known.

use crate::common::{Ran, flow_list, run};
use std::collections::{BTreeMap, BTreeSet};

/// Line time of a full frame (1538 B) at 10 Gb/s, in ps.
const LINE: i64 = 1_230_400;
const US: i64 = 1_000_000;
/// Application bytes of a full datagram.
const PAYLOAD: u64 = 1472;

fn drops(ran: &Ran) -> BTreeMap<(i64, String), i64> {
    let (links, reasons) = (ran.column("drops", "link"), ran.words("drops", "reason"));
    let packets = ran.column("drops", "packets");
    (0..links.len()).map(|i| ((links[i], reasons[i].clone()), packets[i])).collect()
}

fn lost(ran: &Ran, reason: &str) -> u64 {
    ran.summary.dropped_packets.get(reason).copied().unwrap_or(0)
}

/// One flow of 300 packets from host 0 to host 1 under one switch, with 5 us of propagation.
fn stream(file: &str, failure: &str) -> Ran {
    flow_list(file, &[(0, 0, 1, 300 * PAYLOAD)]);
    let text = format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 2 }}
        rate = "10 Gb/s"
        propagation = "5 us"
        [workload.flows]
        file = "{file}"
        {failure}
        [scheme.c]
        transport.datagrams = {{}}
        "#
    );
    run(&text, "c", 1)
}

/// The packets k of 300 that satisfy `f`: when it starts to leave the host, when it arrives at the
/// switch, and when at the other host.
fn count(f: impl Fn(i64, i64, i64) -> bool) -> i64 {
    let p = 5 * US;
    (1..=300).filter(|k| f((k - 1) * LINE, k * LINE + p, (k + 1) * LINE + 2 * p)).count() as i64
}

const FAILS: i64 = 100 * US;
const RETURNS: i64 = 200 * US;

#[test]
fn a_wire_loses_what_is_on_it_and_what_comes() {
    let ran = stream(
        "wire.csv",
        "[[failure]]\nelement = { wire = 1 }\nat = \"100 us\"\nuntil = \"200 us\"\ndetection = \"1 ms\"",
    );
    let expected = count(|_, switch, host| switch < RETURNS && host >= FAILS);
    assert_eq!(drops(&ran), BTreeMap::from([((3, "link_down".to_owned()), expected)]));
    assert_eq!(ran.column("flows", "received_bytes")[0] as u64, (300 - expected as u64) * PAYLOAD);
    // Both directions at once, named by its ends: the same.
    let ends = "[[failure]]\nelement = { between = [2, 1] }\nat = \"100 us\"\nuntil = \"200 us\"\ndetection = \"1 ms\"";
    assert_eq!(drops(&stream("ends.csv", ends)), drops(&ran));
    // Once it is known, the switch has no route: of the same packets, others are lost for this
    // reason.
    let known = "[[failure]]\nelement = { wire = 1 }\nat = \"100 us\"\nuntil = \"200 us\"\ndetection = \"30 us\"";
    let known = drops(&stream("known.csv", known));
    let down = count(|_, switch, host| switch < FAILS + 30 * US && host >= FAILS);
    let no_route = count(|_, switch, _| (FAILS + 30 * US..RETURNS + 30 * US).contains(&switch));
    let both = [((3, "link_down".to_owned()), down), ((0, "no_route".to_owned()), no_route)];
    assert_eq!(known, BTreeMap::from(both));
}

#[test]
fn a_switch_loses_what_is_in_it_and_what_comes_in() {
    let ran = stream("switch.csv", "[[failure]]\nelement = { switch = 0 }\nat = \"100 us\"\nuntil = \"200 us\"");
    // In the switch: complete when it failed, and not yet gone. A packet that was coming in when it
    // returned is not complete.
    let inside = count(|_, switch, host| switch < FAILS && host - 5 * US > FAILS);
    let comes = count(|_, switch, _| switch >= FAILS && switch - LINE < RETURNS);
    let both = [((3, "switch_down".to_owned()), inside), ((0, "switch_down".to_owned()), comes)];
    assert_eq!(drops(&ran), BTreeMap::from(both));
}

#[test]
fn a_host_that_returns_goes_on() {
    let ran = stream("sender.csv", "[[failure]]\nelement = { host = 0 }\nat = \"100 us\"\nuntil = \"200 us\"");
    // Only the packet that was leaving is lost. The rest comes later by the time that the host was
    // away.
    let leaving = count(|begin, _, _| begin < FAILS && FAILS < begin + LINE);
    assert_eq!((leaving, drops(&ran)), (1, BTreeMap::from([((0, "host_down".to_owned()), 1)])));
    let sent = count(|begin, _, _| begin < FAILS);
    assert_eq!(ran.column("flows", "received_bytes")[0] as u64, 299 * PAYLOAD);
    let end = ran.summary.simulated_ps;
    assert_eq!(end, RETURNS + (300 - sent + 1) * LINE + 10 * US);
    // As the receiver, it loses the packets that come.
    let ran = stream("receiver.csv", "[[failure]]\nelement = { host = 1 }\nat = \"100 us\"\nuntil = \"200 us\"");
    let comes = count(|_, _, host| host >= FAILS && host - LINE < RETURNS);
    assert_eq!(drops(&ran), BTreeMap::from([((3, "host_down".to_owned()), comes)]));
}

/// All to all between eight hosts over two spines.
fn spines(scheme: &str, failures: &str) -> Ran {
    let text = format!(
        r#"
        [fabric]
        topology.leaf_spine = {{ leaves = 2, hosts_per_leaf = 4, spines = 2 }}
        rate = "10 Gb/s"
        uplink_rate = "40 Gb/s"
        [workload.shuffle]
        bytes = "1 MB"
        {failures}
        [scheme.c]
        {scheme}
        "#
    );
    run(&text, "c", 3)
}

#[test]
fn traffic_goes_around_a_dead_spine_and_every_byte_arrives_once() {
    let spine = "[[failure]]\nelement = { switch = 2 }\nat = \"1 ms\"\nuntil = \"4 ms\"\ndetection = \"300 us\"\n";
    let whole = spines("transport.raw = { report_every = \"200 us\" }", "");
    let ran = spines("transport.raw = { report_every = \"200 us\" }", spine);
    assert_eq!((ran.summary.flows.unfinished, lost(&whole, "switch_down")), (0, 0));
    // There are no losses but those of the spine's failure, and each lost frame is sent again.
    let reasons: Vec<&String> = ran.summary.dropped_packets.keys().collect();
    assert_eq!(reasons, ["switch_down"]);
    let again: i64 = ran.column("flows", "retransmissions").iter().sum();
    assert!(lost(&ran, "switch_down") > 50 && again as u64 >= lost(&ran, "switch_down"));
    let took = |ran: &Ran| ran.summary.completion_ps.expect("all flows are done");
    println!("a spine away for 3 ms of {} us: {} us", took(&whole) / US, took(&ran) / US);
    // TCP's timeouts recover its losses.
    let tcp = spines("transport.tcp = { min_rto = \"1 ms\" }", spine);
    assert!(tcp.summary.flows.unfinished == 0 && lost(&tcp, "switch_down") > 0);
    // While no switch knows of the failure, all packets that ECMP sends there are lost.
    let deaf = spines("transport.raw = { report_every = \"200 us\" }", &spine.replace("300 us", "9 ms"));
    assert!(lost(&deaf, "switch_down") > 3 * lost(&ran, "switch_down"));
    // Without both spines there is no route, and a run with a drain ends without them.
    let both = "[window]\ndrain = \"30 ms\"\n[[failure]]\nelement = { switch = 2 }\nat = \"100 us\"\ndetection = \"0 s\"\n\
                [[failure]]\nelement = { switch = 3 }\nat = \"200 us\"\ndetection = \"100 us\"\n";
    let cut = spines("transport.raw = { report_every = \"200 us\" }", both);
    assert!(lost(&cut, "no_route") > 0);
    let (source, destination) = (cut.column("flows", "source"), cut.column("flows", "destination"));
    let fct = cut.nullable("flows", "fct_ps");
    assert!((0..fct.len()).all(|i| fct[i].is_some() == (source[i] / 4 == destination[i] / 4)));
}

const SLOTS: &str = "transport.raw = { report_every = \"300 us\" }\nplan.tdma = { slot = \"100 us\", guard = \"5 us\", round_slots = 16 }";

/// A shuffle in slots between the hosts of a tree: two switches of three hosts under one root.
fn tree(failures: &str) -> Ran {
    let text = format!(
        r#"
        [fabric]
        topology.tree = {{ edges = 2, hosts_per_edge = 3 }}
        rate = "10 Gb/s"
        [workload.shuffle]
        bytes = "2 MB"
        {failures}
        [scheme.c]
        {SLOTS}
        "#
    );
    run(&text, "c", 1)
}

/// The longest queue in a switch.
fn longest_queue(ran: &Ran) -> i64 {
    let queues = ran.column("links", "max_queue_bytes").into_iter().zip(ran.column("links", "from"));
    queues.filter(|(_, from)| *from >= 6).map(|(bytes, _)| bytes).max().unwrap()
}

#[test]
fn slots_are_planned_without_what_is_known_to_be_dead() {
    let failures = |element: &str| {
        format!("[[failure]]\nelement = {element}\nat = \"4 ms\"\nuntil = \"20 ms\"\ndetection = \"500 us\"\n")
    };
    let whole = tree("");
    for (element, cut) in [("{ wire = 6 }", true), ("{ host = 1 }", false), ("{ switch = 1 }", true)] {
        let ran = tree(&failures(element));
        let apart = |a: i64, b: i64| match element {
            "{ host = 1 }" => a == 1 || b == 1,
            "{ switch = 1 }" => a >= 3 || b >= 3,
            _ => (a < 3) != (b < 3),
        };
        let (start, source) = (ran.column("slots", "start_ps"), ran.column("slots", "source"));
        let destination = ran.column("slots", "destination");
        // No round that is planned after 4.5 ms uses an element known to be down then: up to two
        // rounds of 16 slots are granted.
        let (from, until) = (4_500 * US + 2 * 16 * 105 * US + 500 * US, 20_500 * US);
        let pairs = (0..start.len()).map(|i| (start[i], apart(source[i], destination[i])));
        let (mut during, mut after, mut others) = (0, 0, 0);
        for (at, apart) in pairs {
            during += u32::from(apart && (from..until).contains(&at));
            after += u32::from(apart && at >= until);
            others += u32::from(!apart && (from..until).contains(&at));
        }
        assert_eq!(during, 0, "{element}: slots over what is dead");
        assert!(after > 0 && (others > 0 || cut), "{element}: {after} slots later, {others} meanwhile");
        // All losses are repaired, no host stays muted, and packets do not meet in the switches.
        assert_eq!(ran.summary.flows.unfinished, 0);
        assert!(longest_queue(&ran) <= 1538, "{} B queued", longest_queue(&ran));
        let took = |ran: &Ran| ran.summary.completion_ps.expect("all flows are done") / US;
        println!(
            "{element} away from 4 to 20 ms: {} us instead of {} us, {:?} lost",
            took(&ran),
            took(&whole),
            ran.summary.dropped_packets
        );
    }
}

#[test]
fn a_controller_that_is_killed_strands_nobody() {
    let whole = tree("");
    let took = |ran: &Ran| ran.summary.completion_ps.expect("all flows are done");
    for (at, until) in [(2_000, 2_300), (3_333, 9_000), (100, 3_000)] {
        let failure = format!("[[failure]]\nelement = \"controller\"\nat = \"{at} us\"\nuntil = \"{until} us\"\n");
        let ran = tree(&failure);
        assert_eq!((ran.summary.flows.unfinished, ran.summary.dropped_packets.len()), (0, 0));
        // Slots of both controllers never meet.
        assert!(longest_queue(&ran) <= 1538, "{} B queued", longest_queue(&ran));
        let (start, source) = (ran.column("slots", "start_ps"), ran.column("slots", "source"));
        let mut seen = BTreeSet::new();
        assert!((0..start.len()).all(|i| seen.insert((start[i], source[i]))));
        let lost: u64 = ran.summary.control_messages.values().map(|c| c.lost).sum();
        // Hosts that hear nothing report again after two rounds.
        assert!(lost > 0 || until - at < 4_000, "reports to nobody");
        let starts = start.iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>();
        let pause = starts.windows(2).map(|w| w[1] - w[0]).max().unwrap();
        println!(
            "controller away from {at} to {until} us: {} us instead of {} us, no slot starts for {} us",
            took(&ran) / US,
            took(&whole) / US,
            pause / US
        );
        // Granted slots continue. A new controller waits until all of them are over: two rounds and
        // their lead.
        let memory = 2 * (16 * 105 + 121);
        assert!(took(&ran) > took(&whole) && took(&ran) < took(&whole) + (until - at + 2 * memory) * US);
    }
    // Without a successor, granted slots are used, and then nothing is sent.
    let ran = tree("[window]\ndrain = \"60 ms\"\n[[failure]]\nelement = \"controller\"\nat = \"3 ms\"\n");
    assert!(ran.summary.flows.unfinished > 0 && ran.summary.dropped_packets.is_empty());
    let last = *ran.column("slots", "start_ps").iter().max().unwrap();
    assert!((3_000 * US..3_000 * US + 2 * (16 * 105 + 121) * US).contains(&last), "{last}");
}

/// Between leaves whose spines are both away there is no route. Once that is known, nothing is sent
/// there: losses do not grow with the time that they are away.
#[test]
fn plans_of_packets_and_of_rates_leave_out_what_has_no_route() {
    for plan in ["timeslots", "rates"] {
        let away = |until: u32, detection: &str| {
            let scheme = format!("transport.raw = {{ report_every = \"300 us\" }}\nplan.{plan} = {{}}");
            let spine = |s: u32| {
                format!(
                    "[[failure]]\nelement = {{ switch = {s} }}\nat = \"500 us\"\nuntil = \"{until} ms\"\ndetection = \"{detection}\"\n"
                )
            };
            let ran = spines(&scheme, &(spine(2) + &spine(3)));
            assert_eq!(ran.summary.flows.unfinished, 0, "{plan}");
            ran.summary.packets.dropped
        };
        let (short, long) = (away(4, "200 us"), away(12, "200 us"));
        // Nobody hears of it.
        let deaf = away(12, "11 ms");
        println!("{plan}: {short} packets lost in 3.5 ms, {long} in 11.5 ms, {deaf} without word of it");
        assert!(short > 0 && short == long && deaf > 4 * long);
    }
}

#[test]
fn plans_of_packets_and_of_rates_go_on_after_a_failure() {
    for plan in ["timeslots = {}", "rates = {}"] {
        for element in ["{ host = 2 }", "{ switch = 2 }", "\"controller\"", "{ wire = 9 }"] {
            let scheme = format!("transport.raw = {{ report_every = \"300 us\" }}\nplan.{plan}");
            let failure = format!(
                "[[failure]]\nelement = {element}\nat = \"500 us\"\nuntil = \"2 ms\"\ndetection = \"200 us\"\n"
            );
            let ran = spines(&scheme, &failure);
            assert_eq!(ran.summary.flows.unfinished, 0, "{plan} {element}");
            assert_eq!(ran.summary.dropped_packets.is_empty(), element == "\"controller\"", "{plan} {element}");
        }
    }
}
