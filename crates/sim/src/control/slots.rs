//! The table of planned slots: what each of them granted, and what its pairs sent.
//!
//! A slot is written when no gate can be open for it any more, a slack after its end.

use crate::engine::time::SimTime;
use crate::hosts::nic::GateOpening;
use crate::record::capture::Capture;
use std::collections::{BTreeMap, VecDeque};
use timeplane_model::{Duration, HostId, Rate, Time};
use timeplane_results::{Recorder, SlotRow};

/// A slot of a round, which may still be in use.
#[derive(Debug)]
pub struct PlannedSlot {
    pub round: u64,
    pub index: u32,
    pub start: Time,
    pub open: Duration,
    pub guard: Duration,
    pub pairs: Vec<(HostId, HostId)>,
}

/// Slots that are not written yet.
#[derive(Default)]
pub struct Slots {
    /// With the bytes on the wire of each pair, mostly in the order of starts.
    planned: VecDeque<(PlannedSlot, Sent)>,
    /// The slot, and the place in it behind the pair that was counted last. Gates of a slot end in
    /// the order of hosts, so the next pair is mostly there.
    next: (usize, usize),
    /// Bytes on the wire, by the slot's start, source and destination, where the slot is not found
    /// at once.
    used: BTreeMap<(Time, u32, u32), u64>,
}

/// What the pairs of a slot have sent.
struct Sent {
    bytes: Vec<u64>,
    /// Whether pairs are in order, and each there once.
    in_order: bool,
}

impl Slots {
    pub fn push(&mut self, slot: PlannedSlot) {
        let in_order = slot.pairs.is_sorted_by(|a, b| a < b);
        let bytes = vec![0; slot.pairs.len()];
        self.planned.push_back((slot, Sent { bytes, in_order }));
    }

    /// The first slot that starts at `start`, and the place of a pair in it.
    fn place(&self, start: Time, pair: (HostId, HostId)) -> Option<(usize, usize)> {
        let (slot, next) = self.next;
        let is_next = |(planned, sent): &(PlannedSlot, Sent)| {
            planned.start == start && sent.in_order && planned.pairs.get(next) == Some(&pair)
        };
        if self.planned.get(slot).is_some_and(is_next) {
            return Some(self.next);
        }
        let slot = self.planned.partition_point(|planned| planned.0.start < start);
        let (planned, _) = self.planned.get(slot).filter(|planned| planned.0.start == start)?;
        Some((slot, planned.pairs.iter().position(|p| *p == pair)?))
    }

    /// The last slot of a pair that starts by `latest`.
    pub fn find(&self, latest: Time, source: u32, destination: HostId) -> Option<&PlannedSlot> {
        let pair = (HostId(source), destination);
        let slots = self.planned.iter().rev().map(|planned| &planned.0);
        slots.into_iter().find(|slot| slot.start <= latest && slot.pairs.contains(&pair))
    }

    /// Counts what a host sent through gates that are closed again.
    pub fn count(&mut self, host: u32, ended: &[GateOpening]) {
        for opening in ended {
            let (start, destination) = (opening.opened, opening.queue.0);
            let place = self.place(start, (HostId(host), HostId(destination)));
            self.next = place.map_or(self.next, |(slot, pair)| (slot, pair + 1));
            let used = match place {
                Some((slot, pair)) => &mut self.planned[slot].1.bytes[pair],
                None => self.used.entry((start, host, destination)).or_default(),
            };
            *used += opening.sent;
        }
    }

    /// Writes the slots that ended at least `slack` before `at`, or all without a time.
    pub fn write(
        &mut self,
        at: Option<SimTime>,
        slack: Duration,
        line: &[Rate],
        mut capture: Option<&mut Capture>,
        recorder: &mut Recorder,
    ) {
        let is_over = |slot: &PlannedSlot| at.is_none_or(|at| slot.start + slot.open + slack <= at.on_perfect_clock());
        while self.planned.front().is_some_and(|planned| is_over(&planned.0)) {
            let Some((slot, sent)) = self.planned.pop_front() else { return };
            self.next.0 = self.next.0.saturating_sub(1);
            if let Some(capture) = &mut capture {
                capture.is_over(slot.start, &slot.pairs);
            }
            for ((source, destination), sent) in slot.pairs.into_iter().zip(sent.bytes) {
                recorder.slot(&SlotRow {
                    round: slot.round,
                    slot: slot.index,
                    start_ps: slot.start.as_ps(),
                    open_ps: slot.open.as_ps(),
                    gap_ps: slot.guard.as_ps(),
                    source: source.0,
                    destination: destination.0,
                    granted_bytes: line[source.index()].bytes_in(slot.open).get(),
                    sent_bytes: Some(sent + self.used.remove(&(slot.start, source.0, destination.0)).unwrap_or(0)),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PERIOD: Duration = Duration::from_us(1);

    fn start(slot: i64) -> Time {
        Time::ZERO + PERIOD * slot
    }

    proptest! {
        /// Gates end in any order, for pairs in any order, and old slots are written in between.
        #[test]
        fn each_pair_is_counted_in_its_slot(
            planned in prop::collection::vec((0i64..3, any::<bool>(), prop::collection::vec((0u32..5, 0u32..5), 0..8)), 1..12),
            counts in prop::collection::vec((0i64..30, 0u32..6, 0u32..5, 1u64..100, 0u8..20), 0..120),
        ) {
            let (mut slots, mut at, mut written) = (Slots::default(), 0, -1);
            for (index, (step, sorts, mut pairs)) in (0..).zip(planned) {
                at += step;
                if sorts {
                    pairs.sort_unstable();
                }
                let pairs = pairs.into_iter().map(|(s, d)| (HostId(s), HostId(d))).collect();
                let (open, guard) = (PERIOD, Duration::ZERO);
                slots.push(PlannedSlot { round: 1, index, start: start(at), open, guard, pairs });
            }
            let mut all: BTreeMap<(Time, u32, u32), u64> = BTreeMap::new();
            // Runs of counts as hosts of one slot give them, and single ones.
            for (slot, host, destination, sent, what) in counts {
                let opening = |destination, host| {
                    let from = SimTime::ZERO + PERIOD * slot;
                    (host, GateOpening { sent, ..GateOpening::slot((destination, 0), from, from + PERIOD) })
                };
                let of_slot = slots.planned.iter().find(|p| p.0.start == start(slot));
                let in_turn = of_slot.filter(|_| what > 9).map_or(Vec::new(), |p| p.0.pairs.clone());
                let mut ended: Vec<_> = in_turn.iter().map(|(s, d)| opening(d.0, s.0)).collect();
                ended.push(opening(destination, host));
                for (host, opening) in ended.iter().filter(|_| slot > written) {
                    slots.count(*host, &[*opening]);
                    *all.entry((opening.opened, *host, opening.queue.0)).or_default() += opening.sent;
                }
                if what == 0 {
                    written = written.max(slot);
                    let over = SimTime::ZERO + PERIOD * (slot + 1);
                    slots.write(Some(over), Duration::ZERO, &[Rate::gbps(1); 5], None, &mut Recorder::discard());
                }
            }
            for (&(begin, source, destination), &sent) in all.iter().filter(|a| a.0.0 > start(written)) {
                let pair = (HostId(source), HostId(destination));
                let of = slots.planned.iter().find(|p| p.0.start == begin);
                let place = of.and_then(|(slot, sent)| Some(sent.bytes[slot.pairs.iter().position(|p| *p == pair)?]));
                let beside = slots.used.get(&(begin, source, destination)).copied();
                prop_assert_eq!(place.or(beside), Some(sent), "{:?} {}", begin, source);
                prop_assert!(place.is_none() || beside.is_none());
            }
        }
    }
}
