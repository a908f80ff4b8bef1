//! The schedule of rotor switches by the time of the simulation.
//!
//! Simulated racks know this time exactly.

use crate::engine::time::SimTime;
use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;
use timeplane_model::{Duration, Time};
use timeplane_schedule::rotor::{self, RotorSchedule, RotorTiming};

/// A schedule in time.
pub(crate) struct Cycle {
    cycle: rotor::Cycle,
    /// The slice that was asked for last. Mostly the next question is for the same.
    latest: Cell<Latest>,
}

/// A slice, and the times in which racks are in it.
#[derive(Clone, Copy)]
struct Latest {
    slice: i64,
    start: SimTime,
    end: SimTime,
}

/// The time in which an uplink leads to one rack: see [`rotor::Hold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub number: u32,
    pub open: SimTime,
    pub close: SimTime,
}

impl Deref for Cycle {
    type Target = rotor::Cycle;

    fn deref(&self) -> &rotor::Cycle {
        &self.cycle
    }
}

fn exact(time: Time) -> SimTime {
    SimTime::from_ps(time.as_ps())
}

impl Cycle {
    pub fn new(schedule: Arc<RotorSchedule>, timing: RotorTiming, propagation: Duration) -> Self {
        let none = Latest { slice: 0, start: SimTime::MAX, end: SimTime::MAX };
        Self { cycle: rotor::Cycle::new(schedule, timing, propagation), latest: Cell::new(none) }
    }

    /// The slice in which racks are at `at`, counted from the start of the run.
    #[inline]
    pub fn slice_at(&self, at: SimTime) -> i64 {
        let latest = self.latest.get();
        if latest.start <= at && at < latest.end {
            return latest.slice;
        }
        let slice = self.cycle.slice_at(at.on_perfect_clock());
        self.latest.set(Latest { slice, start: self.start(slice), end: self.start(slice + 1) });
        slice
    }

    /// When racks see a slice begin.
    #[inline]
    pub fn start(&self, slice: i64) -> SimTime {
        exact(self.cycle.start(slice))
    }

    /// The hold of an uplink in a slice.
    #[inline]
    pub fn hold(&self, slice: i64, uplink: u32) -> Hold {
        let rotor::Hold { number, open, close } = self.cycle.hold(slice, uplink);
        Hold { number, open: exact(open), close: exact(close) }
    }

    /// See [`rotor::Cycle::lit`].
    #[inline]
    pub fn lit(&self, begin: SimTime, end: SimTime, rack: u32, uplink: u32) -> Option<u32> {
        self.cycle.lit(begin.on_perfect_clock(), end.on_perfect_clock(), rack, uplink)
    }
}
