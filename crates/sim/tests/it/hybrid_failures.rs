//! Circuits whose messages are lost, whose controller fails, and whose wires and switches fail:
//! only packets on the failed element are lost.
//!
//! Lost frames are reported and sent again.

use crate::common::{Ran, flow_list, run};
use std::collections::BTreeSet;

const US: i64 = 1_000_000;
/// Payload of a full raw frame, and its line time at 10 Gb/s.
const PAYLOAD: u64 = 1484;
const LINE: i64 = 1_230_400;
/// The default plan, in us: its period, and the longest time from planning to its start (computing,
/// a message, opening gates).
const PERIOD: i64 = 3_000;
const LEAD: i64 = 100 + 10;
/// A host that hears nothing reports again after two periods and their leads.
const FALLBACK: i64 = 2 * (PERIOD + LEAD);

/// Eight racks with one host each: one large flow, two that need circuits for a while, and four for
/// the packet switch. Nodes 8 to 15 are the racks, 16 is the packet switch, 17 the circuit switch.
/// Losses are reported and sent again.
fn shuffle(name: &str, plan: &str, failure: &str) -> Ran {
    let frames = |d: u32| {
        if d == 1 {
            6000
        } else if d < 4 {
            600
        } else {
            100
        }
    };
    let pairs = (0..8u32).flat_map(|i| (1..8u32).map(move |d| (0, i, (i + d) % 8, frames(d) * PAYLOAD)));
    let flows: Vec<_> = pairs.collect();
    flow_list(name, &flows);
    // As many frames as there are inputs: all packets may come at once when a period starts.
    let text = format!(
        r#"
        [fabric]
        topology.hybrid = {{ tors = 8, hosts_per_tor = 1, packet_rate = "1 Gb/s", multiplexer_frames = 8 }}
        rate = "10 Gb/s"
        propagation = "100 ns"
        [workload]
        flows.file = "{name}"
        [window]
        drain = "1 s"
        {failure}
        [scheme.it]
        transport.raw = {{ report_every = "2 ms" }}
        plan.circuits = {{ unreported = 0.1, {plan} }}
        "#
    );
    let ran = run(&text, "it", 1);
    // Where all flows have ended, every byte arrived, once.
    if ran.summary.flows.unfinished == 0 {
        let sizes: i64 = flows.iter().map(|f| f.3 as i64).sum();
        assert_eq!(ran.column("flows", "received_bytes").iter().sum::<i64>(), sizes);
    }
    ran
}

fn took(ran: &Ran) -> i64 {
    ran.summary.completion_ps.expect("all flows are done") / US
}

fn reasons(ran: &Ran) -> Vec<&str> {
    ran.summary.dropped_packets.keys().map(String::as_str).collect()
}

/// A lost schedule, heartbeat, frame or report costs time and never a frame. No gate is open beyond
/// its configuration, and no rate lasts beyond its period. The rules of classes and limits hold for
/// hosts that have not heard. (A plan that breaks them fails the run.)
#[test]
fn lost_messages_lose_no_frame() {
    let whole = shuffle("loss-none.csv", "control_loss = 0.0", "");
    assert_eq!((whole.summary.flows.unfinished, reasons(&whole)), (0, vec![]));
    let mut last = took(&whole);
    for loss in [0.05, 0.2, 0.5] {
        let ran = shuffle(&format!("loss-{loss}.csv"), &format!("control_loss = {loss:?}"), "");
        assert_eq!((ran.summary.flows.unfinished, reasons(&ran)), (0, vec![]), "{loss}");
        let lost: u64 = ran.summary.control_messages.values().map(|c| c.lost).sum();
        let all: u64 = ran.summary.control_messages.values().map(|c| c.messages).sum();
        assert!((lost as f64 / all as f64 / loss - 1.0).abs() < 0.5 && took(&ran) > last, "{lost} of {all}");
        println!("{lost} of {all} messages lost: {} us instead of {} us", took(&ran), took(&whole));
        last = took(&ran);
    }
}

/// Starts of configurations, in us.
fn begins(ran: &Ran) -> BTreeSet<i64> {
    ran.column("slots", "start_ps").into_iter().map(|t| t / US).collect()
}

#[test]
fn a_controller_that_is_killed_loses_no_frame() {
    let whole = shuffle("controller-whole.csv", "", "");
    // Within a configuration, at the start of a period, and before the first one.
    for (at, until) in [(4_000, 4_100), (6_240, 11_000), (50, 2_000)] {
        let failure = format!("[[failure]]\nelement = \"controller\"\nat = \"{at} us\"\nuntil = \"{until} us\"\n");
        let ran = shuffle(&format!("controller-{at}.csv"), "", &failure);
        assert_eq!((ran.summary.flows.unfinished, reasons(&ran)), (0, vec![]), "{at}");
        // The schedules of its predecessor are over a period and its lead after its end; the new
        // one does not know them.
        let begins = begins(&ran);
        let old = begins.range(..until).next_back().copied();
        assert!(old.is_none_or(|old| old < at + LEAD + PERIOD), "{old:?}");
        let new = *begins.range(until..).find(|b| Some(**b) > old && **b > at + LEAD + PERIOD).expect("it goes on");
        // By then all hosts have reported, and it has planned at the next of its periods.
        let most = until + FALLBACK.max(PERIOD) + PERIOD + LEAD + 30;
        assert!(new >= until + PERIOD && new <= most, "{new} of {until} to {most}");
        let lost = took(&ran) - took(&whole);
        assert!(lost < most + PERIOD - at, "{lost}");
        println!(
            "controller away from {at} to {until} us: circuits again at {new} us (at most {most}), done {lost} us later"
        );
    }
    // Without a successor, grants are used, and then nothing is sent.
    let ran = shuffle("controller-gone.csv", "", "[[failure]]\nelement = \"controller\"\nat = \"4 ms\"\n");
    assert!(ran.summary.flows.unfinished > 0 && reasons(&ran).is_empty());
    assert!(*begins(&ran).last().unwrap() < 4_000 + LEAD + PERIOD);
}

/// Circuits that a host had and used, as sender or receiver: their starts, in us.
fn used(ran: &Ran, host: i64) -> Vec<i64> {
    let [start, source, destination, sent] =
        ["start_ps", "source", "destination", "sent_bytes"].map(|c| ran.column("slots", c));
    let of = |i: &usize| (source[*i] == host || destination[*i] == host) && sent[*i] > 0;
    (0..start.len()).filter(of).map(|i| start[i] / US).collect()
}

#[test]
fn only_what_is_on_a_dead_element_is_lost() {
    let whole = shuffle("element-whole.csv", "", "");
    let (at, until, detection) = (3_500, 8_000, 500);
    for (element, reason) in [
        ("{ between = [9, 17] }", "link_down"),
        ("{ between = [9, 16] }", "link_down"),
        ("{ switch = 9 }", "switch_down"),
        ("{ switch = 8 }", "switch_down"),
        ("{ switch = 1 }", "switch_down"),
        ("{ host = 1 }", "host_down"),
    ] {
        let failure = format!(
            "[[failure]]\nelement = {element}\nat = \"{at} us\"\nuntil = \"{until} us\"\ndetection = \"{detection} us\"\n"
        );
        let ran = shuffle("element.csv", "", &failure);
        assert_eq!(ran.summary.flows.unfinished, 0, "{element}");
        // Packets that rates still allow find no route once switches know.
        assert!(reasons(&ran).iter().all(|r| *r == reason || *r == "no_route"), "{element}: {:?}", reasons(&ran));
        let lost: u64 = ran.summary.dropped_packets.values().sum();
        assert!(lost > 0, "{element}");
        // Until it is known and the next plan holds: each circuit in both directions, of up to
        // eight hosts, with packets alongside.
        let circuits = match element {
            "{ between = [9, 16] }" | "{ switch = 8 }" => 0,
            "{ switch = 9 }" => 8,
            _ => 2,
        };
        let unknown = (detection + PERIOD + LEAD) * US;
        let most = unknown / LINE * circuits + unknown / (10 * LINE) * 8 * 2;
        assert!((lost as i64) < most, "{element}: {lost} of {most}");
        // No host has a circuit over an element that is known to be dead. All have one again within
        // a period of its return.
        let known = at + detection + PERIOD + LEAD..until + detection;
        if circuits > 0 {
            let used = used(&ran, 1);
            assert!(used.iter().all(|t| !known.contains(t)), "{element}: {used:?}");
            let back = used.iter().copied().find(|t| *t >= known.end).expect("it returns");
            assert!(back <= known.end + 2 * PERIOD + LEAD, "{element}: {back}");
            print!("circuits again at {back} us, ");
        }
        println!(
            "{element} away from {at} to {until} us: {} us instead of {} us, {:?} lost of {most}",
            took(&ran),
            took(&whole),
            ran.summary.dropped_packets
        );
    }
}

/// A rack with two wires uses the other one where one is dead. Circuits that fit into one wire go
/// on without a loss once that is known.
#[test]
fn a_rack_uses_the_wire_that_is_left() {
    // Two racks of two hosts. Only host 0 has something to send, and its own wire is the dead one.
    flow_list("wire-left.csv", &[(0, 0, 2, 40_000 * PAYLOAD)]);
    let text = r#"
        [fabric]
        topology.hybrid = { tors = 2, hosts_per_tor = 2, packet_rate = "1 Gb/s" }
        rate = "10 Gb/s"
        [workload]
        flows.file = "wire-left.csv"
        [[failure]]
        element = { wire = 8 }
        at = "10 ms"
        detection = "1 ms"
        [window]
        drain = "1 s"
        [scheme.it]
        transport.raw = { report_every = "1 ms" }
        plan.circuits = { unreported = 0.0 }
        "#;
    let ran = run(text, "it", 1);
    let [from, to, sent] = ["from", "to", "sent_bytes"].map(|c| ran.column("links", c));
    // Wires 0 to 3 belong to hosts, 4 to 7 lead to the packet switch, 8 to 11 to the circuit
    // switch.
    assert_eq!([(from[16], to[16]), (from[18], to[18])], [(4, 7); 2]);
    assert!(sent[16] > 0 && sent[18] > sent[16], "{} and {} bytes", sent[16], sent[18]);
    assert_eq!((ran.summary.flows.unfinished, reasons(&ran)), (0, vec!["link_down"]));
    let most = (1_000 + PERIOD + LEAD) * US / LINE;
    assert!((ran.summary.dropped_packets["link_down"] as i64) < most);
}
