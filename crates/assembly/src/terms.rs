//! The requirements of a plan on the driver that runs its agents.
//!
//! A driver delivers messages, keeps clocks and records tables for any plan. [`PlanTerms`] holds
//! all that differs between plans, so that drivers need no match over them.

use timeplane_model::{Duration, HostId, Time};
use timeplane_protocol::{HostConfig, Reporting};
use timeplane_scenario::{ControlSpec, SignalSpec};

/// What a driver must know to run the agents of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanTerms {
    /// One way between a controller and a host, besides the time on ports.
    pub control_latency: Duration,
    /// Path of control messages.
    pub control: ControlSpec,
    /// One way between planners.
    pub peer_latency: Duration,
    /// Probability that a message is lost; 0 to 1.
    pub control_loss: f64,
    /// Accuracy of the hosts' clocks.
    pub clocks: ClockTerms,
    /// See [`HostConfig::fallback`].
    pub fallback: Duration,
    /// When hosts report besides.
    pub reporting: Reporting,
    /// See [`HostConfig::signals`].
    pub signal_classes: Option<u16>,
    /// How many classes an encoding of signals must have at least; 0 without signals.
    pub least_classes: u32,
    /// How signals travel; unused by plans that send none.
    pub signals: SignalSpec,
    /// Controllers that plan, or take over when another one fails; at least 1.
    pub planners: u32,
    /// Controllers between the planners and the hosts.
    pub relays: Option<RelayTerms>,
    /// How long after its end a slot may still be in use. `None` if the controller announces no
    /// slots.
    pub slot_slack: Option<Duration>,
    /// Gates open ahead of their slots, by up to the slack.
    pub opens_early: bool,
    /// Slots run at the rates of the planned fabric, below those of the interfaces.
    pub shares_links: bool,
    /// Where the controller's knowledge of demand comes from.
    pub demand: DemandSource,
    /// Changes of a host's queues that its agent is notified of.
    pub watch: QueueWatch,
    /// What a record of grants contains; `None` if slots are recorded anyway or nothing is granted.
    pub grants: Option<GrantRecord>,
}

impl PlanTerms {
    /// Terms of a plan with one controller, reliable instant messages and perfect clocks.
    pub(crate) fn new(control: ControlSpec, control_latency: Duration, fallback: Duration) -> Self {
        Self {
            control_latency,
            control,
            peer_latency: control_latency,
            control_loss: 0.0,
            clocks: ClockTerms::default(),
            fallback,
            reporting: Reporting::default(),
            signal_classes: None,
            least_classes: 0,
            signals: SignalSpec::default(),
            planners: 1,
            relays: None,
            slot_slack: None,
            opens_early: false,
            shares_links: false,
            demand: DemandSource::Queues,
            watch: QueueWatch::Never,
            grants: None,
        }
    }

    /// The configuration of a host's agent that starts at the clock's zero.
    pub fn host(&self, host: HostId) -> HostConfig {
        HostConfig {
            host,
            epoch: 0,
            start: Time::ZERO,
            fallback: self.fallback,
            reporting: self.reporting,
            signals: self.signal_classes,
        }
    }
}

/// Accuracy of clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockTerms {
    /// Bound of the offset right after a clock was set, either way.
    pub error: Duration,
    /// Bound of the drift, in parts per million, either way.
    pub drift_ppm: f64,
    /// How often beacons set the clocks; `None` if only at the start.
    pub resync: Option<Duration>,
    /// Bound of the constant by which a host's clock is late besides.
    pub phase: Duration,
}

/// Controllers that are each in charge of a part of the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelayTerms {
    /// How many there are.
    pub count: u32,
    /// One way between a relay and a planner.
    pub latency: Duration,
    /// Probability that a message between them is lost; 0 to 1.
    pub loss: f64,
    /// Bound of the offset of a relay's clock, either way.
    pub clock_error: Duration,
}

/// Where the controller's knowledge of demand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemandSource {
    /// Hosts report the queues of their interfaces.
    Queues,
    /// Hosts report what their sockets hold.
    Sockets,
    /// An oracle reports all queues whenever the controller plans.
    Oracle,
}

/// Changes of a host's queues that its agent is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueWatch {
    /// None: the agent reports when the controller asks.
    Never,
    /// A packet or flow arrives.
    Arrivals,
    /// A queue fills from empty, or empties.
    Transitions,
    /// A packet or flow arrives, or a queue empties.
    Everything,
}

/// What a record of grants contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantRecord {
    /// Rates of pairs, as they change.
    Rates,
    /// Timeslots of this length.
    Timeslots(Duration),
}
