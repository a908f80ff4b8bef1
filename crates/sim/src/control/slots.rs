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
    planned: VecDeque<(PlannedSlot, Vec<u64>)>,
    /// Bytes on the wire, by the slot's start, source and destination, where the slot is not found
    /// at once.
    used: BTreeMap<(Time, u32, u32), u64>,
}

impl Slots {
    pub fn push(&mut self, slot: PlannedSlot) {
        let sent = vec![0; slot.pairs.len()];
        self.planned.push_back((slot, sent));
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
            let at = self.planned.partition_point(|planned| planned.0.start < start);
            let planned = self.planned.get_mut(at).filter(|planned| planned.0.start == start);
            let pair = (HostId(host), HostId(destination));
            let used = planned.and_then(|(slot, sent)| {
                let at = slot.pairs.iter().position(|p| *p == pair)?;
                Some(&mut sent[at])
            });
            *used.unwrap_or_else(|| self.used.entry((start, host, destination)).or_default()) += opening.sent;
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
            if let Some(capture) = &mut capture {
                capture.is_over(slot.start, &slot.pairs);
            }
            for ((source, destination), sent) in slot.pairs.into_iter().zip(sent) {
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
