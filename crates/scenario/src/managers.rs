//! Several managers of slots: one plans, and each is in charge of a part of the hosts.

use crate::control::SlotsSpec;
use crate::standby::MARGIN;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, Fabric};

/// Deputies of the manager that plans, for more hosts than one manager can talk to.
///
/// Each is in charge of the hosts below some switches: hosts in the order of their switches are cut into parts of the same size to one. It gathers
/// their reports, passes on their grants, and with `signals` sends their frames at times of its own clock, through interfaces of its own. All slots
/// are of the one plan, so that a message that is lost between managers costs slots of a part, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManagersSpec {
    /// How many deputies there are; no more than hosts.
    pub count: u32,
    /// Their clocks are off by up to so much either way. With `signals`, a guard has to cover twice as much more.
    #[serde(default)]
    pub clock_error: Duration,
    /// One way between a deputy and the manager that plans; missing: `control_latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Probability that a message between a deputy and the manager that plans is lost; missing: `control_loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

impl SlotsSpec {
    /// Deputies of the manager; 0 where there are none.
    pub fn deputies(&self) -> u32 {
        self.managers.map_or(0, |m| m.count)
    }

    /// By how much a deputy's clock may be off, either way.
    pub fn deputy_error(&self) -> Duration {
        self.managers.map_or(Duration::ZERO, |m| m.clock_error)
    }

    /// One way between a deputy and the manager that plans.
    pub fn deputy_latency(&self) -> Duration {
        self.managers.and_then(|m| m.latency).unwrap_or(self.control_latency)
    }

    /// How long a deputy waits for more reports once it has the first one: what those that are sent at once can come apart.
    pub fn gather(&self) -> Duration {
        // By signals, hosts report after a time from a message, whatever their clocks show.
        let clocks = if self.signals.is_some() { Duration::ZERO } else { self.clock_bound() * 2 };
        clocks + MARGIN
    }

    /// One way between the manager that plans and a host, through a deputy where there are some.
    pub fn control_way(&self) -> Duration {
        match self.managers {
            None => self.control_latency,
            Some(m) => self.control_latency + self.deputy_latency() + self.gather() + m.clock_error * 2,
        }
    }

    /// With `signals`: from the first to the last of the frames that open a slot in which all hosts send, those of one manager.
    pub fn skew(&self, fabric: &Fabric) -> Option<Duration> {
        self.signals.map(|s| s.skew(fabric, self.deputies()))
    }

    /// With `signals`: the shortest guard with which no packet of a slot ever meets one of the slot before: that of
    /// [`SignalSpec::least_guard`](crate::SignalSpec::least_guard), and twice the clock error of managers, as one may open early what another one
    /// closes late.
    pub fn least_guard(&self, fabric: &Fabric, frame: Bytes) -> Option<Duration> {
        self.signals.map(|s| s.least_guard(fabric, frame, self.deputies()) + self.deputy_error() * 2)
    }
}
