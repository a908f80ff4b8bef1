//! Turns the specification of a plan into its agents, for every driver that runs them.
//!
//! A scenario specifies a plan ([`PlanSpec`]), and `timeplane_protocol` has the agents that carry
//! it out. [`assemble`] brings both together and is the only match over all plans. The simulator
//! and the lab work with the result, [`PlanAgents`], and need not know which plan they run.
//!
//! To add a plan, write a module here with a type that implements [`PlanAgents`], and add its arm
//! to [`assemble`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod circuits;
pub mod flyways;
mod rates;
mod tdma;
mod terms;
mod timeslots;

pub use terms::{ClockTerms, DemandSource, GrantRecord, PlanTerms, QueueWatch, RelayTerms};

use std::sync::Arc;
use timeplane_model::{ClosError, Fabric, Time};
use timeplane_protocol::Agent;
use timeplane_scenario::{PlanSpec, Retune};
use timeplane_schedule::{Algorithms, OwnError};

/// The network that a plan is assembled for.
#[derive(Clone, Debug)]
pub struct Site {
    /// All hosts and links, at their full rates.
    pub fabric: Arc<Fabric>,
    /// The largest packet, in bytes.
    pub mtu: u32,
    /// Which ports go dark when the circuit switch is retuned; any value without such a switch.
    pub retune: Retune,
    /// Signals take microseconds instead of the control latency, which only messages take. The
    /// controller then opens a gate when its circuit is lit, and not ahead of that.
    pub prompt_signals: bool,
    /// Hosts with empty queues report new data unasked, so TDMA asks an idle network ten times a
    /// second, or once a round if that is longer. Simulated hosts cost nothing when they are asked
    /// after every slot.
    pub seldom_asked: bool,
}

/// Which of a plan's controllers an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The planner of this number, below [`PlanTerms::planners`]. Planner 0 leads from the start.
    Planner(u32),
    /// The relay of this number, below [`RelayTerms::count`].
    Relay(u32),
}

/// When an agent starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Counts the starts of this controller: hosts prefer the grants of the higher epoch.
    pub epoch: u32,
    /// The time on the agent's clock.
    pub at: Time,
    /// Hosts may still hold grants of an earlier start: the agent grants nothing until they expire.
    pub after_restart: bool,
}

impl Start {
    /// The first start, at the clock's zero.
    pub const FIRST: Self = Self { epoch: 0, at: Time::ZERO, after_restart: false };
}

/// The agents of one plan on one network.
pub trait PlanAgents {
    /// The fabric at the rates that the plan may use.
    fn fabric(&self) -> &Arc<Fabric>;

    /// Returns what the driver must provide.
    fn terms(&self) -> PlanTerms;

    /// Builds a controller. Roles that the terms do not list yield an unspecified one.
    ///
    /// # Errors
    /// If no algorithm has the specified name, if it cannot be made, or if the plan does not suit
    /// the fabric.
    fn controller(
        &self,
        role: Role,
        start: Start,
        algorithms: &Algorithms,
    ) -> Result<Box<dyn Agent + Send>, AssemblyError>;
}

/// Why a plan has no agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssemblyError {
    /// The own algorithm at this key of the specification is unknown, or cannot be made.
    #[error("{key}: {error}")]
    Own {
        /// The key of a scheme, such as `plan.tdma.scheduler`.
        key: &'static str,
        /// The reason.
        error: OwnError,
    },
    /// Timeslots and rates need a Clos network.
    #[error(transparent)]
    Clos(#[from] ClosError),
    /// Flyways cannot be planned on this fabric.
    #[error("plan.flyways: {0}")]
    Flyways(String),
}

impl AssemblyError {
    /// Why the own algorithm at a key has not been made.
    fn own(key: &'static str) -> impl Fn(OwnError) -> Self {
        move |error| Self::Own { key, error }
    }
}

/// Assembles the agents of a plan.
pub fn assemble(spec: &PlanSpec, site: &Site) -> Box<dyn PlanAgents> {
    let site = site.clone();
    match spec {
        PlanSpec::Tdma(spec) => Box::new(tdma::Tdma::new(spec.clone(), site)),
        PlanSpec::Timeslots(spec) => Box::new(timeslots::Timeslots { spec: spec.clone(), site }),
        PlanSpec::Rates(spec) => Box::new(rates::Rates { spec: spec.clone(), site }),
        PlanSpec::Circuits(spec) => Box::new(circuits::Circuits { spec: spec.clone(), site }),
        PlanSpec::Flyways(spec) => Box::new(flyways::Flyways { spec: spec.clone(), site }),
    }
}
