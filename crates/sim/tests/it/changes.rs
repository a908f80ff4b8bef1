//! Rates that change during a run: packets leave when arithmetic says, and slots follow announced
//! changes.
//!
//! Wires alternate between 10 Gb/s and 1 Gb/s.

use crate::common::{Ran, flow_list, run};

/// Line time of a full frame (1538 B) at 10 Gb/s and at 1 Gb/s, in ps.
const FAST: i64 = 1_230_400;
const SLOW: i64 = 12_304_000;
const US: i64 = 1_000_000;
/// Application bytes of a full datagram.
const PAYLOAD: u64 = 1472;

/// One flow of 300 packets from host 0 to host 1 under one switch, with 5 us of propagation.
fn stream(file: &str, change: &str) -> Ran {
    flow_list(file, &[(0, 0, 1, 300 * PAYLOAD)]);
    let text = format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 2 }}
        rate = "10 Gb/s"
        propagation = "5 us"
        [workload.flows]
        file = "{file}"
        {change}
        [scheme.c]
        transport.datagrams = {{}}
        "#
    );
    run(&text, "c", 1)
}

/// When 300 packets have left a link, where packet k is ready at `ready(k)` and `line` gives the
/// line time over time.
fn last_departure(ready: impl Fn(i64) -> i64, line: impl Fn(i64) -> i64) -> i64 {
    let mut free = 0;
    for k in 0..300 {
        let begin = ready(k).max(free);
        free = begin + line(begin);
    }
    free
}

#[test]
fn what_has_begun_ends_at_the_old_rate() {
    // The host's wire becomes slow at 100 us, in the middle of a packet, and fast again at 300 us.
    let table =
        "[[change]]\nwires = { wire = 0 }\nat = \"100 us\"\nrates = [\"1 Gb/s\", \"10 Gb/s\"]\nevery = \"200 us\"";
    let line = |begin: i64| if begin < 100 * US || (begin - 100 * US) / (200 * US) % 2 == 1 { FAST } else { SLOW };
    let left = last_departure(|_| 0, line);
    let ran = stream("sender.csv", table);
    assert_eq!(ran.summary.simulated_ps, left + FAST + 10 * US);
    // The line time of its link, packet by packet.
    assert_eq!(ran.column("links", "busy_ps")[..2], [left, 0]);
    assert_eq!(ran.column("flows", "received_bytes"), [(300 * PAYLOAD) as i64]);
}

#[test]
fn what_waits_is_sent_at_the_new_rate() {
    // The receiver's wire is slow until 1 ms: packets queue in front of it, and then leave ten
    // times as fast.
    let table = "[[change]]\nwires = { between = [2, 1] }\nat = \"0 s\"\nrates = [\"1 Gb/s\"]\n\
                 [[change]]\nwires = { wire = 1 }\nat = \"1 ms\"\nrates = [\"10 Gb/s\"]";
    let ready = |k: i64| (k + 1) * FAST + 5 * US;
    let left = last_departure(ready, |begin| if begin < 1000 * US { SLOW } else { FAST });
    let ran = stream("receiver.csv", table);
    assert_eq!(ran.summary.simulated_ps, left + 5 * US);
    let waits = |k: i64| (k * FAST) / SLOW;
    // All packets but those that have left when the last one comes, by then all at the slow rate.
    let held = ran.column("links", "max_queue_bytes")[3];
    assert!((held - (300 - waits(299)) * 1538).abs() <= 2 * 1538, "{held}");
}

#[test]
fn what_changes_nothing_changes_nothing() {
    let same = "[[change]]\nwires = \"all\"\nat = \"7 us\"\nrates = [\"10 Gb/s\"]\nevery = \"13 us\"";
    let (with, without) = (stream("same.csv", same), stream("none.csv", ""));
    for (table, columns) in [("flows", ["start_ps", "fct_ps"]), ("links", ["busy_ps", "max_queue_bytes"])] {
        for column in columns {
            assert_eq!(with.column(table, column), without.column(table, column), "{table}.{column}");
        }
    }
}

/// A flow in slots to a host whose wire has a tenth of its rate every other 2 ms. The switch holds
/// 60 kB.
fn slots(notice: &str) -> Ran {
    flow_list("slots.csv", &[(0, 0, 1, 8_000_000)]);
    let text = format!(
        r#"
        [fabric]
        topology.single_switch = {{ hosts = 2 }}
        rate = "10 Gb/s"
        switch.buffer.per_port = "60 kB"
        [workload.flows]
        file = "slots.csv"
        [record]
        received_every = "500 us"
        [[change]]
        wires = {{ wire = 1 }}
        at = "2 ms"
        rates = ["1 Gb/s", "10 Gb/s"]
        every = "2 ms"
        notice = "{notice}"
        [scheme.c]
        transport.raw = {{ report_every = "1 ms" }}
        plan.tdma = {{ slot = "200 us", guard = "15 us" }}
        "#
    );
    run(&text, "c", 1)
}

#[test]
fn slots_follow_what_is_known_ahead() {
    let ran = slots("20 ms");
    assert!(ran.column("drops", "packets").is_empty());
    assert_eq!(ran.column("flows", "received_bytes"), [8_000_000]);
    // No slot spans a change, and none is planned for more than its time carries.
    let (start, open) = (ran.column("slots", "start_ps"), ran.column("slots", "open_ps"));
    assert!(start.iter().zip(&open).all(|(s, o)| s / (2000 * US) == (s + o + 15 * US - 1) / (2000 * US)));
    // Slots use the rate of their span, except for guards and the rest before a change.
    let (time, bytes) = (ran.column("received", "time_ps"), ran.column("received", "received_bytes"));
    for (t, b) in time.iter().zip(&bytes).filter(|(t, _)| **t >= 1000 * US) {
        let slow = (t - 1) / (2000 * US) % 2 == 1;
        let share = *b as f64 * 8e3 / 500e6 / if slow { 1.0 } else { 10.0 };
        let ends = *t == *time.last().unwrap();
        assert!(ends || (0.6..1.0).contains(&share), "{t}: {share}");
    }
}

#[test]
fn slots_that_hear_too_late_overflow_the_buffer_and_repair_it() {
    let ran = slots("0 s");
    assert!(!ran.column("drops", "packets").is_empty());
    assert_eq!(ran.column("flows", "received_bytes"), [8_000_000]);
}

#[test]
fn what_waits_behind_slots_is_sent_at_the_new_rate() {
    // All packets leave in one slot. The receiver's wire becomes slow in the middle of it,
    // unannounced, and fast again after it.
    flow_list("behind.csv", &[(0, 0, 1, 300 * PAYLOAD)]);
    let text = r#"
        [fabric]
        topology.single_switch = { hosts = 2 }
        rate = "10 Gb/s"
        propagation = "5 us"
        [workload.flows]
        file = "behind.csv"
        [[change]]
        wires = { wire = 1 }
        at = "300 us"
        rates = ["1 Gb/s", "10 Gb/s"]
        every = "400 us"
        [scheme.c]
        transport.datagrams = {}
        plan.tdma = { slot = "400 us", guard = "15 us" }
        "#;
    let ran = run(text, "c", 1);
    let (begin, fct) = (ran.column("slots", "start_ps")[0], ran.column("flows", "fct_ps")[0]);
    let slow = 300 * US..700 * US;
    assert!(begin < slow.start && begin + 300 * FAST > slow.start && begin + 300 * FAST < slow.end, "{begin}");
    let ready = |k: i64| begin + (k + 1) * FAST + 5 * US;
    let left = last_departure(ready, |at| if slow.contains(&at) { SLOW } else { FAST });
    assert_eq!(fct, left + 5 * US);
}

/// Slots on wires that change, whose controller is away while one of them is slow.
#[test]
fn a_controller_that_returns_knows_the_rates() {
    flow_list("returns.csv", &[(0, 0, 1, 8_000_000)]);
    let text = r#"
        [fabric]
        topology.single_switch = { hosts = 2 }
        rate = "10 Gb/s"
        switch.buffer.per_port = "60 kB"
        [workload.flows]
        file = "returns.csv"
        [[change]]
        wires = { wire = 1 }
        at = "0 s"
        rates = ["1 Gb/s", "10 Gb/s"]
        every = "20 ms"
        notice = "1 ms"
        [[failure]]
        element = "controller"
        at = "5 ms"
        until = "6 ms"
        [scheme.c]
        transport.raw = { report_every = "1 ms" }
        plan.tdma = { slot = "200 us", guard = "15 us", round_slots = 4 }
        "#;
    let ran = run(text, "c", 1);
    assert!(ran.column("drops", "packets").is_empty());
    let (start, sent) = (ran.column("slots", "start_ps"), ran.column("slots", "sent_bytes"));
    let most = |from: i64, to: i64| {
        let of = start.iter().zip(&sent).filter(|(s, _)| (from * US..to * US).contains(*s));
        of.map(|(_, b)| *b).max().unwrap_or(0)
    };
    // The bytes of 200 us at 1 Gb/s, before it failed and after, and at 10 Gb/s.
    assert_eq!((most(0, 5_000), most(6_000, 20_000)), (25_000, 25_000));
    assert!(most(20_000, 25_000) > 240_000);
}
