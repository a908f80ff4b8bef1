//! What hosts were granted, written down where a scenario asks for it: rates of pairs as they change, timeslots one by one.

use crate::engine::time::SimTime;
use crate::hosts::nic::Window;
use std::collections::BTreeMap;
use timeplane_model::{Duration, Rate};
use timeplane_protocol::Opening;
use timeplane_results::{RateRow, Recorder, SlotRow};

/// Writes them down. Slots and circuits have rows of their own: their controllers say what they plan.
pub enum Grants {
    /// The rate of each pair that has one, and when it lapses where none follows.
    Rates(BTreeMap<(u32, u32), (Rate, SimTime)>),
    /// Timeslots of this length.
    Timeslots(Duration),
}

impl Grants {
    /// A host's gate opens at `at`, until then.
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

    /// Windows of a host are over, in which so much has been sent.
    pub fn ended(&self, host: u32, line: Rate, ended: &[Window], recorder: &mut Recorder) {
        let Self::Timeslots(length) = *self else { return };
        for window in ended {
            let open = window.until - window.from;
            recorder.slot(&SlotRow {
                round: (window.opened.as_ps() / length.as_ps()).unsigned_abs(),
                slot: 0,
                start_ps: window.opened.as_ps(),
                open_ps: open.as_ps(),
                gap_ps: 0,
                source: host,
                destination: window.queue.0,
                granted_bytes: line.bytes_in(open).get(),
                sent_bytes: Some(window.sent),
            });
        }
    }

    /// The run has ended then: rates that have lapsed by then are over.
    pub fn close(&mut self, end: SimTime, recorder: &mut Recorder) {
        let Self::Rates(held) = self else { return };
        for (&(source, destination), &(rate, lapses)) in held.iter() {
            if rate > Rate::ZERO && lapses < end {
                recorder.rate(&RateRow { time_ps: lapses.as_ps(), source, destination, rate_bps: 0 });
            }
        }
    }
}
