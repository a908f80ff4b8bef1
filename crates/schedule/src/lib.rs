//! Planning algorithms: demand goes in, a plan comes out.
//!
//! A [`Scheduler`] has no clock and does no I/O: what it needs from one call to the next (pointers, deadlines counted in
//! slots) it keeps in itself, what is in force it is told as [`Standing`]. How long it computes is declared elsewhere and
//! charged by the driver. The same demand, fabric and history always give the same plan.
//!
//! [`Schedulers`] knows them by name. A new algorithm of this crate is a file and a variant of [`TdmaScheduler`]; one
//! from outside (Python, a test) is [registered](Schedulers::register) at run time. Circuit switches are planned in
//! [`circuits`], links between racks that relieve a tree in [`flyways`].

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod allocator;
pub mod circuits;
pub mod coloring;
mod conflict_free;
mod cover;
pub mod flyways;
mod greedy;
mod paths;
mod rate_allocator;
pub mod rates;
mod registry;
mod routes;
mod timeslots;
mod turns;
mod weighted_round_robin;

pub use allocator::{Allocation, Allocator};
pub use conflict_free::ConflictFree;
pub use greedy::Greedy;
pub use paths::{ClosPaths, PathColoring};
pub use rate_allocator::{RateAllocator, RateNormalizer};
pub use registry::{SchedulerFactory, Schedulers, TdmaScheduler};
pub use timeslots::{PacketSlot, SlotFill, SlotMetric, TimeslotAllocator};
pub use weighted_round_robin::WeightedRoundRobin;

use timeplane_model::{Bytes, Demand, Duration, Fabric, Plan, Round, Slot};

/// A planning algorithm.
pub trait Scheduler: Send {
    /// Decides what `demand` gets of `fabric`, after what is in force.
    ///
    /// `demand` is what still waits when this plan begins: whatever is granted already has been taken off it. It has as
    /// many hosts as `fabric`. A scheduler of slots answers [`Plan::Slots`] with at most [`SlotParameters::slots`]
    /// entries, and none where nothing waits.
    fn plan(&mut self, demand: &Demand, fabric: &Fabric, standing: &Standing) -> Plan;
}

/// What a plan of slots is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotParameters {
    /// How long the gates of a slot are open; positive.
    pub open: Duration,
    /// From a slot's end to the next one's begin: guard or dark time; not negative.
    pub guard: Duration,
    /// Slots of a round, at most; at least 1.
    pub slots: u32,
    /// The largest frame, in wire bytes: who may not cut a frame has no use for a grant of less.
    pub frame: Bytes,
}

impl SlotParameters {
    /// From one slot's begin to the next one's.
    pub fn period(&self) -> Duration {
        self.open + self.guard
    }
    /// The longest round.
    pub fn round(&self) -> Duration {
        self.period() * i64::from(self.slots)
    }
}

/// What is in force when a plan begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// The number of the round to plan.
    pub round: Round,
    /// The slot that will be the last one before it, if there was one: what is up already costs no dark time.
    pub last: Option<Slot>,
}
