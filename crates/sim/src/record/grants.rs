//! Grants of hosts, where a scenario records them: rates of pairs as they change, and timeslots one
//! by one.
//!
//! TDMA slots and circuits have rows of their own, which their controllers report.

use crate::engine::time::SimTime;
use crate::hosts::nic::GateOpening;
use std::collections::BTreeMap;
use timeplane_model::{Duration, Rate};
use timeplane_protocol::Opening;
use timeplane_results::{RateRow, Recorder, SlotRow};

/// Writes grants.
pub enum Grants {
    /// The rate of each pair that has one, and when it lapses unless another one follows.
    Rates(BTreeMap<(u32, u32), (Rate, SimTime)>),
    /// Timeslots of this length.
    Timeslots(Duration),
}

impl Grants {
    /// A gate of a host opens from `at` to `until`.
    pub fn opened(&mut self, at: SimTime, until: SimTime, host: u32, opening: &Opening, recorder: &mut Recorder) {
        let Self::Rates(held) = self else { return };
        let (pair, rate) = ((host, opening.destination.0), opening.rate.unwrap_or_default());
        let (before, lapses) = held.insert(pair, (rate, until)).unwrap_or((Rate::ZERO, at));
        let row = |at: SimTime, rate: Rate| RateRow {
            time_ps: at.as_ps(),
            source: pair.0,
            destination: pair.1,
            rate_bps: rate.as_bps(),
        };
        let lapsed = before > Rate::ZERO && lapses < at;
        if lapsed {
            recorder.rate(&row(lapses, Rate::ZERO));
        }
        if rate != if lapsed { Rate::ZERO } else { before } {
            recorder.rate(&row(at, rate));
        }
    }

    /// Windows of a host have ended.
    pub fn ended(&self, host: u32, line: Rate, ended: &[GateOpening], recorder: &mut Recorder) {
        let Self::Timeslots(length) = *self else { return };
        for opening in ended {
            let open = opening.until - opening.from;
            recorder.slot(&SlotRow {
                round: (opening.opened.as_ps() / length.as_ps()).unsigned_abs(),
                slot: 0,
                start_ps: opening.opened.as_ps(),
                open_ps: open.as_ps(),
                gap_ps: 0,
                source: host,
                destination: opening.queue.0,
                granted_bytes: line.bytes_in(open).get(),
                sent_bytes: Some(opening.sent),
            });
        }
    }

    /// The run has ended: rates that lapsed before are over.
    pub fn close(&mut self, end: SimTime, recorder: &mut Recorder) {
        let Self::Rates(held) = self else { return };
        for (&(source, destination), &(rate, lapses)) in held.iter() {
            if rate > Rate::ZERO && lapses < end {
                recorder.rate(&RateRow { time_ps: lapses.as_ps(), source, destination, rate_bps: 0 });
            }
        }
    }
}
