//! Tests that with raw frames every byte arrives, whatever is lost, repeated or reordered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use timeplane_model::{Duration, Time};
use timeplane_transport::{MAX_MISSING, Range, RawConfig, RawReceiver, RawSender, RepairReport};

const DELAY: Duration = Duration::from_us(100);

#[derive(Clone, Copy, Debug)]
struct Trouble {
    loss: f64,
    duplication: f64,
    jitter_us: i64,
    /// How long a receiver waits for what was overtaken.
    reordering_us: i64,
    seed: u64,
}

enum Packet {
    Frame(u64, u32),
    Report(RepairReport),
}

struct Outcome {
    /// When the sender knew that everything had arrived.
    done: Time,
    frames: u64,
    retransmissions: u64,
    reports: u64,
    duplicates: u64,
}

/// Sends a frame each microsecond while there are any, and checks each byte.
fn transfer(bytes: u64, payload: u32, trouble: Trouble, mut drop: impl FnMut(u64) -> bool) -> Outcome {
    let config = RawConfig {
        report_interval: Duration::from_us(500),
        reordering: Duration::from_us(trouble.reordering_us),
        // Longer than a frame and its report take at most, if reordering is waited for.
        resend_timeout: Duration::from_us(1_000 + 4 * trouble.reordering_us),
    };
    let (mut sender, mut receiver) = (RawSender::new(&config, bytes), RawReceiver::new(&config, bytes));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(trouble.seed);
    let mut heap = BinaryHeap::new();
    let mut packets = Vec::new();
    let mut arrived = vec![false; bytes as usize];
    let (mut now, mut frames, mut reports) = (Time::ZERO, 0, 0);
    let mut send_at = Some(now);
    for _ in 0..5_000_000 {
        if sender.is_done() {
            assert!(receiver.is_complete() && arrived.iter().all(|&b| b));
            assert_eq!((sender.backlog(), sender.deadline()), (0, None));
            let retransmissions = sender.retransmissions();
            return Outcome { done: now, frames, retransmissions, reports, duplicates: receiver.duplicates() };
        }
        let arrival = heap.peek().map(|&Reverse((at, _))| at);
        let wake = [arrival, send_at, sender.deadline(), receiver.deadline()].into_iter().flatten().min();
        let wake = wake.expect("the repair waits for nothing");
        assert!(wake >= now);
        now = wake;
        let mut sent = None;
        if arrival == Some(now) {
            let Some(Reverse((_, i))) = heap.pop() else { unreachable!() };
            match &packets[i] {
                &Packet::Frame(offset, len) => {
                    let mut new = 0;
                    for byte in &mut arrived[offset as usize..offset as usize + len as usize] {
                        new += u64::from(!*byte);
                        *byte = true;
                    }
                    assert_eq!(receiver.on_frame(now, offset, len), new);
                    let prefix = arrived.iter().position(|b| !b).unwrap_or(arrived.len());
                    assert_eq!(receiver.received(), prefix as u64);
                }
                Packet::Report(report) => sender.on_report(now, report),
            }
        } else if send_at == Some(now) {
            sent = sender.next_frame(now, payload).map(|f| Packet::Frame(f.offset, f.len));
            frames += u64::from(sent.is_some());
        } else if receiver.deadline() == Some(now) {
            let report = receiver.report(now);
            assert!(report.is_some() || trouble.reordering_us > 0, "a report was due");
            assert!(receiver.deadline().is_none_or(|at| at > now));
            if let Some(report) = report {
                assert!(report.missing.len() <= MAX_MISSING);
                reports += 1;
                sent = Some(Packet::Report(report));
            }
        } else {
            sender.on_timeout(now);
        }
        send_at = match send_at {
            Some(at) if at > now => Some(at),
            Some(_) => (sender.backlog() > 0).then(|| now + Duration::from_us(1)),
            None => (sender.backlog() > 0).then_some(now),
        };
        if let Some(packet) = sent {
            let scripted = matches!(packet, Packet::Frame(..)) && drop(frames - 1);
            let copies = 1 + u64::from(rng.random::<f64>() < trouble.duplication);
            packets.push(packet);
            for _ in 0..copies {
                if !scripted && rng.random::<f64>() >= trouble.loss {
                    let jitter = Duration::from_us(rng.random_range(0..=trouble.jitter_us));
                    heap.push(Reverse((now + DELAY + jitter, packets.len() - 1)));
                }
            }
        }
    }
    panic!("the repair does not end");
}

const NONE: Trouble = Trouble { loss: 0.0, duplication: 0.0, jitter_us: 0, reordering_us: 0, seed: 1 };

#[test]
fn without_trouble_there_is_one_report() {
    let o = transfer(10_500, 1_000, NONE, |_| false);
    // The last of eleven frames leaves after 10 us, and the report takes as long back.
    assert_eq!(o.done, Time::ZERO + Duration::from_us(210));
    assert_eq!((o.frames, o.retransmissions, o.reports, o.duplicates), (11, 0, 1, 0));
}

#[test]
fn a_lost_frame_is_repaired_by_one_frame() {
    let o = transfer(50_000, 1_000, NONE, |i| i == 7);
    assert_eq!((o.frames, o.retransmissions, o.duplicates), (51, 1, 0));
}

#[test]
fn a_lost_tail_is_repaired_from_its_end() {
    // Frames 40 to 49 are lost: the timer repeats the last one, and the report then requests the
    // others.
    let o = transfer(50_000, 1_000, NONE, |i| (40..50).contains(&i));
    assert_eq!((o.frames, o.retransmissions, o.duplicates), (60, 10, 0));
    assert!(o.done < Time::ZERO + Duration::from_ms(2));
}

#[test]
fn the_loss_of_everything_is_repaired() {
    let o = transfer(50_000, 1_000, NONE, |i| i < 53);
    assert_eq!((o.frames, o.duplicates), (103, 0));
    // The timer doubles: 1, 2, 4 and 8 ms.
    assert!(o.done > Time::ZERO + Duration::from_ms(15) && o.done < Time::ZERO + Duration::from_ms(17));
}

#[test]
fn nothing_to_send_is_done_at_once() {
    let config = RawConfig::default();
    let mut sender = RawSender::new(&config, 0);
    assert!(sender.is_done() && RawReceiver::new(&config, 0).is_complete());
    assert_eq!((sender.next_frame(Time::ZERO, 1_500), sender.deadline()), (None, None));
}

#[test]
fn odd_reports_do_no_harm() {
    let mut sender = RawSender::new(&RawConfig::default(), 10_000);
    while sender.next_frame(Time::ZERO, 1_000).is_some_and(|f| f.offset < 4_000) {}
    let missing = vec![Range { start: 9_000, end: 5 }, Range { start: 0, end: u64::MAX }];
    sender.on_report(Time::ZERO, &RepairReport { contiguous: u64::MAX, missing });
    assert_eq!(sender.backlog(), 10_000);
    sender.on_report(Time::ZERO, &RepairReport { contiguous: 2_500, missing: vec![] });
    assert_eq!(sender.backlog(), 7_500);
    // Resends come first, cut as the driver asks.
    assert_eq!(
        sender.next_frame(Time::ZERO, 700).map(|f| (f.offset, f.len, f.retransmission)),
        Some((2_500, 700, true))
    );
}

fn at(us: i64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

#[test]
fn a_sender_that_is_extended_waits_for_its_tail_no_more() {
    let config = RawConfig { resend_timeout: Duration::from_ms(1), ..RawConfig::default() };
    let mut sender = RawSender::new(&config, 0);
    assert!(sender.is_done());
    sender.extend(1_500);
    assert!(!sender.is_done());
    assert_eq!(sender.next_frame(at(0), 1_000).map(|f| (f.offset, f.len)), Some((0, 1_000)));
    assert_eq!(sender.deadline(), None);
    assert_eq!(sender.next_frame(at(0), 1_000).map(|f| (f.offset, f.len)), Some((1_000, 500)));
    assert_eq!(sender.deadline(), Some(at(1_000)));
    sender.extend(0);
    assert_eq!(sender.deadline(), Some(at(1_000)));
    sender.extend(10);
    assert_eq!((sender.deadline(), sender.backlog()), (None, 10));
    sender.on_timeout(at(5_000));
    assert_eq!(sender.backlog(), 10);
    assert_eq!(sender.next_frame(at(5_000), 1_000).map(|f| (f.offset, f.len)), Some((1_500, 10)));
    assert_eq!(sender.deadline(), Some(at(6_000)));
    // The last frame is repeated, not a frame of an earlier length of the flow.
    sender.on_timeout(at(6_000));
    assert_eq!(
        sender.next_frame(at(6_000), 1_000).map(|f| (f.offset, f.len, f.retransmission)),
        Some((1_500, 10, true))
    );
    sender.on_report(at(6_100), &RepairReport { contiguous: 1_510, missing: vec![] });
    assert!(sender.is_done());
    assert_eq!(sender.deadline(), None);
}

#[test]
fn frames_that_did_not_leave_are_as_if_never_given() {
    let mut sender = RawSender::new(&RawConfig::default(), 2_500);
    let frames: Vec<_> = std::iter::from_fn(|| sender.next_frame(at(0), 1_000)).collect();
    assert_eq!((frames.len(), sender.backlog(), sender.deadline().is_some()), (3, 0, true));
    for frame in frames[1..].iter().rev() {
        sender.unsent(*frame);
    }
    assert_eq!((sender.backlog(), sender.next_offset(), sender.deadline()), (1_500, 1_000, None));
    let again: Vec<_> = std::iter::from_fn(|| sender.next_frame(at(0), 1_000)).collect();
    assert_eq!(again, frames[1..]);
    // Out of order they are sent again like missing ranges, lowest first; bytes that have arrived
    // meanwhile are not.
    sender.on_report(at(1), &RepairReport { contiguous: 500, missing: vec![] });
    sender.unsent(frames[0]);
    let repeated = sender.next_frame(at(2), 1_000).unwrap();
    assert_eq!((repeated.offset, repeated.len, repeated.retransmission, sender.retransmissions()), (500, 500, true, 1));
    sender.unsent(repeated);
    assert_eq!((sender.backlog(), sender.retransmissions()), (500, 0));
    sender.acknowledged(2_500);
    sender.unsent(frames[2]);
    assert_eq!((sender.backlog(), sender.is_done()), (0, true));
}

#[test]
fn a_receiver_learns_the_length_late() {
    let mut receiver = RawReceiver::new(&RawConfig::default(), u64::MAX);
    assert_eq!(receiver.on_frame(at(0), 0, 1_000), 1_000);
    assert_eq!((receiver.is_complete(), receiver.deadline()), (false, None));
    assert_eq!(receiver.report_now(at(3)), RepairReport { contiguous: 1_000, missing: vec![] });
    assert!(!receiver.set_length(at(5), 999) && !receiver.is_complete());
    assert!(receiver.set_length(at(5), 1_000) && receiver.is_complete());
    assert_eq!(receiver.deadline(), Some(at(5)));
    assert_eq!(receiver.report(at(5)), Some(RepairReport { contiguous: 1_000, missing: vec![] }));
    assert!(receiver.set_length(at(6), 1_000));
    assert_eq!(receiver.deadline(), None);

    let mut receiver = RawReceiver::new(&RawConfig::default(), u64::MAX);
    receiver.on_frame(at(0), 500, 500);
    assert!(!receiver.set_length(at(1), 900));
    assert!(receiver.set_length(at(1), 1_000));
    assert_eq!((receiver.missing_ranges(), receiver.on_frame(at(2), 0, 500), receiver.is_complete()), (1, 500, true));
}

#[test]
fn only_what_is_missing_for_long_is_reported() {
    let config = RawConfig { reordering: Duration::from_us(100), ..RawConfig::default() };
    let mut receiver = RawReceiver::new(&config, 10_000);
    receiver.on_frame(at(0), 1_000, 1_000);
    assert_eq!((receiver.deadline(), receiver.report(at(99))), (Some(at(100)), None));
    // In time. What is missing now came later, and is waited for as long from here.
    receiver.on_frame(at(90), 3_000, 1_000);
    receiver.on_frame(at(95), 0, 1_000);
    assert_eq!((receiver.report(at(100)), receiver.deadline()), (None, Some(at(200))));
    receiver.on_frame(at(150), 5_000, 1_000);
    let missing = vec![Range { start: 2_000, end: 3_000 }];
    assert_eq!(receiver.report(at(200)), Some(RepairReport { contiguous: 2_000, missing }));
    // The next report waits for its interval, and has all that was missing at the last one.
    assert_eq!(receiver.deadline(), Some(at(1_200)));
    receiver.on_frame(at(1_150), 7_000, 1_000);
    let missing = vec![Range { start: 2_000, end: 3_000 }, Range { start: 4_000, end: 5_000 }];
    assert_eq!(receiver.report(at(1_200)), Some(RepairReport { contiguous: 2_000, missing }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once(
        bytes in 0u64..60_000,
        payload in 50u32..3_000,
        loss in prop_oneof![Just(0.0), 0.0..0.5f64],
        duplication in prop_oneof![Just(0.0), 0.0..0.5f64],
        jitter_us in 0i64..2_000,
        reordering_us in prop_oneof![Just(0), 1i64..3_000],
        seed: u64,
    ) {
        let o = transfer(bytes, payload, Trouble { loss, duplication, jitter_us, reordering_us, seed }, |_| false);
        prop_assert!(o.frames >= bytes.div_ceil(u64::from(payload)));
    }

    #[test]
    fn nothing_is_repeated_that_is_overtaken_by_less_than_the_allowance(
        bytes in 0u64..60_000,
        payload in 50u32..3_000,
        jitter_us in 0i64..2_000,
        seed: u64,
    ) {
        let o = transfer(bytes, payload, Trouble { jitter_us, reordering_us: jitter_us + 1, seed, ..NONE }, |_| false);
        prop_assert_eq!((o.retransmissions, o.duplicates), (0, 0));
        prop_assert!(o.reports <= 1);
    }
}
