//! Queue disciplines against their specifications: the times of drops, and the procedure of RFC
//! 8289. The tests drive one queue with packets at fixed intervals.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

const MTU: u64 = 1_500;
const TARGET: Duration = Duration::from_ms(5);
const INTERVAL: Duration = Duration::from_ms(100);

fn item(ect: bool) -> Item {
    Item { bytes: MTU, ect }
}

fn codel(ecn: bool) -> QueueState {
    let limit = Limit::Packets(1_000);
    QueueState::new(Discipline::CoDel { target: TARGET, interval: INTERVAL, limit, ecn }, MTU)
}

fn us(us: i64) -> SimTime {
    SimTime::from_ps(us * 1_000_000)
}

/// The times at which a packet is not sent, with a packet each 100 us from `begin` to `end`, all of
/// which have waited for `waited`.
fn hits(queue: &mut QueueState, begin: i64, end: i64, waited: Duration, ect: bool) -> Vec<(i64, OnDeparture)> {
    let mut hits = Vec::new();
    for now in (begin..end).step_by(100) {
        loop {
            let what = queue.depart(us(now), item(ect), waited, 10 * MTU);
            if what != OnDeparture::Send {
                hits.push((now, what));
            }
            if what != OnDeparture::Drop {
                break;
            }
        }
    }
    hits
}

#[test]
fn limits_are_in_packets_or_bytes() {
    for (limit, last) in [(Limit::Packets(3), 2), (Limit::Bytes(Bytes::new(3 * MTU + 1)), 2), (Limit::Packets(0), -1)] {
        let queue = QueueState::new(Discipline::DropTail { limit }, MTU);
        for n in 0..5 {
            let expected = if n <= last { OnArrival::Take } else { OnArrival::Drop };
            assert_eq!(queue.arrive(item(true), n as u64, n as u64 * MTU), expected, "{limit:?} {n}");
        }
    }
}

#[test]
fn marks_from_the_threshold_on() {
    let mut queue = QueueState::new(Discipline::EcnThreshold { packets: 2, limit: Limit::Packets(4) }, MTU);
    use OnArrival::{Drop, Mark, Take};
    let becomes = |ect| [0, 1, 2, 3, 4].map(|n| queue.arrive(item(ect), n, n * MTU));
    assert_eq!(becomes(true), [Take, Take, Mark, Mark, Drop]);
    assert_eq!(becomes(false), [Take, Take, Take, Take, Drop]);
    assert_eq!(queue.depart(us(9), item(true), Duration::from_secs(1), 9 * MTU), OnDeparture::Send);
}

/// Section 3.3: the first drop comes when the wait was too long for an interval. The next ones
/// follow by the inverse square root of their count.
#[test]
fn drops_come_faster_by_the_square_root() {
    let drops = hits(&mut codel(false), 1_000, 2_000_000, TARGET, true);
    let (mut due, mut expected) = (101_000.0, Vec::new());
    for n in 1..=drops.len() {
        // At the first departure that is not earlier.
        expected.push((due / 100.0_f64).ceil() as i64 * 100);
        due += 100_000.0 / (n as f64).sqrt();
    }
    assert_eq!(drops.iter().map(|d| d.0).collect::<Vec<_>>(), expected);
    // The sum of 1 / sqrt(n) is about 2 sqrt(n) - 1.46: 19 intervals are 104 drops.
    assert!((103..=106).contains(&drops.len()), "{}", drops.len());
}

#[test]
fn marks_come_when_drops_would() {
    let drops = hits(&mut codel(true), 0, 1_000_000, TARGET * 3, false);
    let marks = hits(&mut codel(true), 0, 1_000_000, TARGET * 3, true);
    assert!(drops.len() > 20 && drops.iter().all(|d| d.1 == OnDeparture::Drop));
    assert!(marks.iter().all(|m| m.1 == OnDeparture::Mark));
    assert!(drops.iter().map(|d| d.0).eq(marks.iter().map(|m| m.0)));
}

#[test]
fn short_waits_and_short_queues_lose_nothing() {
    let mut queue = codel(false);
    assert_eq!(hits(&mut queue, 0, 1_000_000, TARGET - Duration::from_ps(1), false), []);
    for now in 0..1_000 {
        assert_eq!(queue.depart(us(1_000 * now), item(false), Duration::from_secs(1), MTU), OnDeparture::Send);
    }
    // One short wait in each interval is enough.
    for now in (2_000_000..4_000_000).step_by(90_000) {
        assert_eq!(hits(&mut queue, now, now + 90_000, TARGET, false), []);
        assert_eq!(hits(&mut queue, now + 90_000, now + 90_001, Duration::ZERO, false), []);
    }
}

/// Section 5.5: within 16 intervals it drops again at nearly the rate at which it stopped. Later it
/// starts anew.
#[test]
fn the_count_is_used_again() {
    for (pause, reused) in [(500_000, true), (3_000_000, false)] {
        let mut queue = codel(false);
        let first = hits(&mut queue, 0, 1_000_000, TARGET, false);
        let count = first.len() as u64;
        assert_eq!(queue.codel.count, count);
        let again = 1_000_000 + pause;
        assert_eq!(hits(&mut queue, 1_000_000, again, Duration::ZERO, false), []);
        let second = hits(&mut queue, again, again + 101_000, TARGET, false);
        assert_eq!(second[0].0, again + 100_000);
        // One drop with a count of one came first.
        let expected = if reused { count - 1 } else { 1 };
        assert_eq!((queue.codel.count, queue.codel.last_count), (expected, expected));
        let next = hits(&mut queue, again + 101_000, again + 300_000, TARGET, false)[0].0;
        let interval = 100_000.0 / (expected as f64).sqrt();
        assert_eq!(next, again + 100_000 + (interval / 100.0).ceil() as i64 * 100);
    }
}

/// The queue of RFC 8289, written as its sections 5.5 and 5.6 describe it, with its packets.
#[derive(Default)]
struct Rfc {
    queue: VecDeque<(i64, u32)>,
    first_above: i64,
    drop_next: i64,
    count: i64,
    last_count: i64,
    dropping: bool,
    dropped: Vec<u32>,
}

impl Rfc {
    fn law(t: i64, count: i64) -> i64 {
        t + (INTERVAL.as_ps() as f64 / (count as f64).sqrt()) as i64
    }

    fn head(&mut self, now: i64) -> (Option<(i64, u32)>, bool) {
        let Some(packet) = self.queue.pop_front() else {
            self.first_above = 0;
            return (None, false);
        };
        if now - packet.0 < TARGET.as_ps() || self.queue.len() as u64 * MTU <= MTU {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now + INTERVAL.as_ps();
        } else {
            return (Some(packet), now >= self.first_above);
        }
        (Some(packet), false)
    }

    fn dequeue(&mut self, now: i64) -> Option<u32> {
        let (mut packet, mut late) = self.head(now);
        if self.dropping {
            if !late {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.dropped.extend(packet.map(|p| p.1));
                self.count += 1;
                (packet, late) = self.head(now);
                if late {
                    self.drop_next = Self::law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if late {
            self.dropped.extend(packet.map(|p| p.1));
            packet = self.head(now).0;
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recently = now - self.drop_next < 16 * INTERVAL.as_ps();
            self.count = if delta > 1 && recently { delta } else { 1 };
            self.drop_next = Self::law(now, self.count);
            self.last_count = self.count;
        }
        packet.map(|p| p.1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same packets are dropped and sent as by the procedure of the RFC, for any arrivals and
    /// any speed.
    #[test]
    fn is_the_rfcs_procedure(phases in prop::collection::vec((1u32..40, 1i64..4_000, 1usize..800), 1..12)) {
        let (mut rfc, mut queue, mut ours) = (Rfc::default(), codel(false), VecDeque::new());
        let (mut dropped, mut now, mut number) = (Vec::new(), 1_000_000i64, 0u32);
        for (burst, interval, times) in phases {
            for i in 0..times {
                now += interval * 1_000_000;
                // Packets come in bursts so that the queue grows and shrinks.
                for _ in 0..if i % 32 == 0 { burst } else { 0 } {
                    rfc.queue.push_back((now, number));
                    ours.push_back((now, number));
                    number += 1;
                }
                let expected = rfc.dequeue(now);
                let sent = loop {
                    let Some((at, number)) = ours.pop_front() else { break None };
                    let waited = Duration::from_ps(now - at);
                    match queue.depart(SimTime::from_ps(now), item(true), waited, ours.len() as u64 * MTU) {
                        OnDeparture::Drop => dropped.push(number),
                        _ => break Some(number),
                    }
                };
                prop_assert_eq!(sent, expected);
            }
        }
        prop_assert_eq!(&dropped, &rfc.dropped);
    }
}
