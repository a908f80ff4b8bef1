//! What executes grants in front of one queue.

use crate::agent::Opening;
use std::collections::VecDeque;
use timeplane_model::{Grant, Time, Trigger};

/// The grants of one queue (destination and class), in order.
///
/// A grant begins and ends by the host's clock, and ends with its lease at the latest. Times are half-open: the begin is inside, the end outside.
/// Grants by signal are not executed yet.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// By begin; none overlap. The first may have begun.
    grants: VecDeque<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    start: Time,
    end: Time,
    grant: Grant,
    begun: bool,
}

/// Why a gate does not take a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Its begin is past.
    #[error("it began at {start:?}, it is {now:?}")]
    Late {
        /// When it was to begin.
        start: Time,
        /// The time.
        now: Time,
    },
    /// It begins by a signal or never.
    #[error("it begins at no time")]
    NoTime,
    /// It ends before it begins.
    #[error("it is open for no time")]
    Empty,
    /// The queue has another grant for a part of this time.
    #[error("it overlaps another grant of its queue")]
    Overlap,
}

impl Gate {
    /// A gate that is closed for good until it gets a grant.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a grant that is still to begin, whole or not at all.
    ///
    /// # Errors
    /// Where it is late, empty, without a time, or overlaps one accepted before.
    pub fn accept(&mut self, now: Time, grant: Grant) -> Result<(), Refused> {
        let Trigger::At(start) = grant.start else { return Err(Refused::NoTime) };
        let end = match grant.end {
            Trigger::At(end) => end.min(grant.lease),
            Trigger::Signal(_) | Trigger::Never => grant.lease,
        };
        if start < now {
            return Err(Refused::Late { start, now });
        }
        if end <= start {
            return Err(Refused::Empty);
        }
        let at = self.grants.partition_point(|w| w.start < start);
        let before = at.checked_sub(1).is_some_and(|i| self.grants[i].end > start);
        if before || self.grants.get(at).is_some_and(|w| w.start < end) {
            return Err(Refused::Overlap);
        }
        self.grants.insert(at, Window { start, end, grant, begun: false });
        Ok(())
    }

    /// The grant by which the queue may send at `at`; a grant that is over may be forgotten.
    pub fn open_at(&self, at: Time) -> Option<&Grant> {
        self.grants.iter().find(|w| w.start <= at && at < w.end).map(|w| &w.grant)
    }

    /// When it opens or closes next after `now`.
    pub fn next_change(&self, now: Time) -> Option<Time> {
        self.grants.iter().flat_map(|w| [w.start, w.end]).find(|&t| t > now)
    }

    /// When it has to be [advanced](Self::advance) next: the begin of the first grant that has not begun.
    pub fn due(&self) -> Option<Time> {
        self.grants.iter().find(|w| !w.begun).map(|w| w.start)
    }

    /// Begins the grant whose time is `now`, and forgets those that are over; also tells how many were over before they began, since nobody called
    /// in time. One that is called late begins now, and ends as granted.
    pub fn advance(&mut self, now: Time) -> (Option<Opening>, u32) {
        let mut missed = 0;
        while let Some(first) = self.grants.front().filter(|w| w.end <= now) {
            missed += u32::from(!first.begun);
            self.grants.pop_front();
        }
        let opening = match self.grants.front_mut() {
            Some(first) if first.start <= now && !first.begun => {
                first.begun = true;
                Some(Opening::of(&first.grant, now, first.end))
            }
            _ => None,
        };
        (opening, missed)
    }

    /// Forgets all grants that have not begun; how many.
    pub fn withdraw(&mut self) -> u32 {
        let before = self.grants.len();
        self.grants.retain(|w| w.begun);
        (before - self.grants.len()) as u32
    }

    /// Whether it holds no grant, begun or not.
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }
}
