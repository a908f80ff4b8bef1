//! Planning algorithms: from a demand to a plan.
//!
//! A [`Scheduler`] has no clock and does no I/O. It keeps its own state between calls (pointers,
//! deadlines counted in slots) and learns what is in force as [`Standing`]. The driver accounts for
//! its computation time, which is configured elsewhere. The same demand, fabric and history always
//! give the same plan.
//!
//! [`TdmaScheduler`] and the enums of other plans list the algorithms of these crates. To add one,
//! add a file and a variant. One from outside (Python, a test) is [registered](Registry::register)
//! at run time, in [`Algorithms`]. [`circuits`] plans circuit switches, and [`flyways`] plans links
//! between racks that relieve a tree. [`rotor`] has cyclic schedules of rotor switches.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod allocator;
pub mod circuits;
pub mod coloring;
mod conflict_free;
mod cover;
pub mod flyways;
mod greedy;
mod own;
mod paths;
mod rate_allocator;
pub mod rates;
mod registry;
pub mod rotor;
mod routes;
mod timeslots;
mod turns;
mod weighted_round_robin;

pub use allocator::{Allocation, Allocator};
pub use conflict_free::ConflictFree;
pub use greedy::Greedy;
pub use own::{Algorithm, OwnAlgorithm, OwnError, Parameters};
pub use paths::{ClosPaths, PathColoring};
pub use rate_allocator::{Normalizer, RateAllocator, RateNormalizer, RateParameters, RateRule};
pub use registry::{Algorithms, Factory, Registry, TdmaScheduler};
pub use timeslots::{
    Order, PacketSlot, SlotFill, SlotMetric, SlotOrder, TimeslotAllocator, TimeslotParameters, Waiting,
};
pub use weighted_round_robin::WeightedRoundRobin;

use timeplane_model::{Bytes, Demand, Duration, Fabric, Plan, Round, Slot};

/// A planning algorithm.
pub trait Scheduler: Send {
    /// Plans how to serve `demand` on `fabric`, after what is in force.
    ///
    /// `demand` is the backlog when this plan starts, without what is already granted. It has as
    /// many hosts as `fabric`. A scheduler of slots returns [`Plan::Slots`] with at most
    /// [`SlotParameters::slots`] entries, and with none if there is no backlog.
    fn plan(&mut self, demand: &Demand, fabric: &Fabric, standing: &Standing) -> Plan;

    /// Why the last plan must not be used; `None` if nothing went wrong. Own schedulers may fail,
    /// which ends the run.
    fn failure(&self) -> Option<OwnError> {
        None
    }
}

/// Durations and limits of a plan of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotParameters {
    /// How long the gates of a slot are open; positive.
    pub open: Duration,
    /// From the end of a slot to the start of the next: guard or dark time; not negative.
    pub guard: Duration,
    /// Maximum number of slots in a round; at least 1.
    pub slots: u32,
    /// The largest frame in wire bytes. A sender that cannot split frames has no use for a smaller
    /// grant.
    pub frame: Bytes,
}

impl SlotParameters {
    /// From the start of a slot to the start of the next.
    pub fn period(&self) -> Duration {
        self.open + self.guard
    }
    /// Length of the longest round.
    pub fn round(&self) -> Duration {
        self.period() * i64::from(self.slots)
    }
}

/// What is in force when a plan starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// Number of the round to plan.
    pub round: Round,
    /// The slot before this plan, if there is one: circuits that are up already cost no dark time.
    pub last: Option<Slot>,
}
