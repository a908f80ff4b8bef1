//! The schedule of rotor switches by the time of the simulation.
//!
//! Simulated racks know this time exactly.

use crate::engine::time::SimTime;
use std::ops::Deref;
use std::sync::Arc;
use timeplane_model::{Duration, Time};
use timeplane_schedule::rotor::{self, RotorSchedule, RotorTiming};

/// A schedule in time.
pub(crate) struct Cycle(rotor::Cycle);

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
        &self.0
    }
}

fn exact(time: Time) -> SimTime {
    SimTime::from_ps(time.as_ps())
}

impl Cycle {
    pub fn new(schedule: Arc<RotorSchedule>, timing: RotorTiming, propagation: Duration) -> Self {
        Self(rotor::Cycle::new(schedule, timing, propagation))
    }

    /// The slice in which racks are at `at`, counted from the start of the run.
    pub fn slice_at(&self, at: SimTime) -> i64 {
        self.0.slice_at(at.on_perfect_clock())
    }

    /// When racks see a slice begin.
    pub fn start(&self, slice: i64) -> SimTime {
        exact(self.0.start(slice))
    }

    /// The hold of an uplink in a slice.
    pub fn hold(&self, slice: i64, uplink: u32) -> Hold {
        let rotor::Hold { number, open, close } = self.0.hold(slice, uplink);
        Hold { number, open: exact(open), close: exact(close) }
    }

    /// See [`rotor::Cycle::lit`].
    pub fn lit(&self, begin: SimTime, end: SimTime, rack: u32, uplink: u32) -> Option<u32> {
        self.0.lit(begin.on_perfect_clock(), end.on_perfect_clock(), rack, uplink)
    }
}
