//! Two TDMA controllers of which one fails: the other takes over within the time of a formula, and
//! two of them never plan at once.
//!
//! Slots in the tables show which controller planned them.

use crate::common::{Ran, run};
use timeplane_model::Duration;

const US: i64 = 1_000_000;
const SLOT: Duration = Duration::from_us(100);
const GUARD: Duration = Duration::from_us(12);
const SLOTS: i64 = 16;
const LATENCY: Duration = Duration::from_us(20);
const COMPUTE: Duration = Duration::from_us(100);
const CLOCK: Duration = Duration::from_us(2);
/// How long a frame may hold a gate open.
const HOLD: Duration = Duration::from_us(500);

/// Gates by hosts' clocks, and by frames.
const BY_CLOCK: &str = r#"clock_error = "2 us""#;
const BY_SIGNAL: &str = r#"signals = { hold = "500 us" }"#;

/// A shuffle in slots between the hosts of a tree: two switches of three hosts under one root.
fn tree(keys: &str, failures: &str, seed: u64) -> Ran {
    let text = format!(
        r#"
        [fabric]
        topology.tree = {{ edges = 2, hosts_per_edge = 3 }}
        rate = "10 Gb/s"
        [workload.shuffle]
        bytes = "3 MB"
        {failures}
        [scheme.c]
        transport.raw = {{ report_every = "300 us" }}
        plan.tdma = {{ slot = "100 us", guard = "12 us", round_slots = {SLOTS}, {keys} }}
        "#
    );
    run(&text, "c", seed)
}

fn away(element: &str, from: i64, until: i64) -> String {
    format!("[[failure]]\nelement = \"{element}\"\nat = \"{from} us\"\nuntil = \"{until} us\"\n")
}

/// Start, end, source and bytes of every slot, in the order of starts.
fn slots(ran: &Ran) -> Vec<(i64, i64, i64, i64)> {
    let (start, open) = (ran.column("slots", "start_ps"), ran.column("slots", "open_ps"));
    let (source, sent) = (ran.column("slots", "source"), ran.column("slots", "sent_bytes"));
    let mut all: Vec<_> = (0..start.len()).map(|i| (start[i], start[i] + open[i], source[i], sent[i])).collect();
    all.sort_unstable();
    all
}

/// The longest time in which no slot is used.
fn longest_silence(ran: &Ran) -> Duration {
    let used: Vec<_> = slots(ran).into_iter().filter(|s| s.3 > 0).collect();
    Duration::from_ps(used.windows(2).map(|w| w[1].0 - w[0].1).max().expect("slots"))
}

/// Every byte came, once; no host sent in a foreign slot; and no two slots of different plans
/// overlap.
fn check(ran: &Ran, what: &str) {
    check_slots(ran, &slots(ran), what);
}

/// The same where a controller that has lost messages goes on planning until it hears of its
/// successor: no two of the slots overlap in which hosts sent. Hosts have withdrawn the others.
fn check_used(ran: &Ran, what: &str) {
    let used: Vec<_> = slots(ran).into_iter().filter(|s| s.3 > 0).collect();
    check_slots(ran, &used, what);
}

fn check_slots(ran: &Ran, slots: &[(i64, i64, i64, i64)], what: &str) {
    assert_eq!((ran.summary.flows.unfinished, ran.summary.collisions), (0, Some(0)), "{what}");
    assert!(ran.summary.dropped_packets.is_empty(), "{what}: {:?}", ran.summary.dropped_packets);
    assert!(ran.column("flows", "received_bytes").iter().all(|b| *b == 3_000_000), "{what}");
    for pair in slots.windows(2) {
        assert!(pair[0].0 == pair[1].0 || pair[0].1 <= pair[1].0, "{what}: two plans, {pair:?}");
    }
    let mut senders: Vec<(i64, i64)> = slots.iter().map(|s| (s.0, s.2)).collect();
    senders.dedup();
    assert_eq!(senders.len(), slots.len(), "{what}: a sender has two slots at once");
}

/// The longest time from the loss of a controller to the first slot of its successor: until the
/// successor misses it, until all hosts have told that they obey the successor, until the slots are
/// over that were open then, and from a report to a slot.
fn bound(by_signal: bool) -> Duration {
    let round = (SLOT + GUARD) * SLOTS;
    // Frames differ by no more than this, in reaction and line time.
    let (clock, held) =
        if by_signal { (Duration::ZERO, HOLD + Duration::from_us(10)) } else { (CLOCK, Duration::ZERO) };
    let message = LATENCY + clock * 2 + Duration::from_us(1);
    let takeover = round + LATENCY * 2 + clock * 2 + Duration::from_us(1);
    let lead = COMPUTE + message;
    takeover + COMPUTE + message * 2 + held + (SLOT + GUARD) * 2 + lead + message * 3
}

#[test]
fn a_standby_takes_over_within_the_bound() {
    for (keys, by_signal) in [(BY_CLOCK, false), (BY_SIGNAL, true)] {
        let both = format!("{keys}, standby = {{}}");
        let whole = tree(&both, "", 1);
        check(&whole, keys);
        // While all is well, the second one changes nothing.
        let alone = tree(keys, "", 1);
        assert_eq!(whole.summary.completion_ps, alone.summary.completion_ps);
        assert!(
            whole.summary.control_messages["peers"].messages > 0
                && !alone.summary.control_messages.contains_key("peers")
        );
        let mut longest = Duration::ZERO;
        // In a slot, in a guard, and while grants are under way. It returns before it is missed,
        // after its successor leads, or not in the run.
        for (at, until) in [(2_000, 2_300), (3_333, 9_000), (4_127, 30_000), (5_050, 900_000), (150, 10_000)] {
            let what = format!("{keys}, away from {at} to {until} us");
            let ran = tree(&both, &away("controller", at, until), 1);
            check(&ran, &what);
            let silence = longest_silence(&ran);
            longest = longest.max(silence);
            assert!(silence <= bound(by_signal), "{what}: no slot for {silence}, more than {}", bound(by_signal));
            // No host stays muted.
            let later = slots(&ran).into_iter().filter(|s| s.0 > at * US + bound(by_signal).as_ps() && s.3 > 0);
            let senders: std::collections::BTreeSet<i64> = later.map(|s| s.2).collect();
            assert_eq!(senders.len(), 6, "{what}: {senders:?}");
        }
        // Without it, no host has a slot while the controller is away.
        let without = tree(keys, &away("controller", 3_333, 100_000), 1);
        let silence = longest_silence(&without);
        println!("{keys}: no slot for {longest} at most with a standby, bound {}; {silence} without", bound(by_signal));
        assert!(silence > Duration::from_ms(90) && longest * 5 < silence);
    }
}

/// A controller that returns follows, and leads again when its successor fails. Both may fail at
/// once.
#[test]
fn controllers_take_turns() {
    for (keys, by_signal) in [(BY_CLOCK, false), (BY_SIGNAL, true)] {
        let both = format!("{keys}, standby = {{}}");
        let turns = away("controller", 2_000, 7_000) + &away("standby", 14_000, 60_000);
        let ran = tree(&both, &turns, 2);
        check(&ran, keys);
        assert!(longest_silence(&ran) <= bound(by_signal));
        let last = ran.summary.completion_ps.unwrap();
        assert!(last < 60_000 * US, "the first one leads again, before the second returns: {last}");
        // Both return at once, and know nothing.
        let together = away("controller", 2_000, 6_000) + &away("standby", 3_000, 6_000);
        check(&tree(&both, &together, 2), keys);
        // The standby fails before it is needed.
        let early = away("standby", 1_000, 5_000) + &away("controller", 8_000, 9_000);
        check(&tree(&both, &early, 2), keys);
    }
}

/// One control message of twenty is lost, or one of five.
#[test]
fn losses_cost_time_alone() {
    for keys in [BY_CLOCK, BY_SIGNAL] {
        for (loss, seeds) in [("0.05", 1..=4), ("0.2", 5..=6)] {
            for seed in seeds {
                let both = format!("{keys}, control_loss = {loss}, standby = {{ latency = \"50 us\" }}");
                let what = format!("{both}, seed {seed}");
                let ran = tree(&both, &away("controller", 3_333, 9_000), seed);
                check_used(&ran, &what);
                let peers = &ran.summary.control_messages["peers"];
                assert!(peers.messages > peers.lost && ran.summary.control_messages["grants"].lost > 0);
            }
        }
    }
}
