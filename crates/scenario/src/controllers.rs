//! Several controllers of slots: one plans, and each is in charge of a part of the hosts.

use crate::scheme::TdmaSpec;
use crate::standby::MARGIN;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, Fabric};

/// Relays of the controller that plans, for more hosts than one controller can talk to.
///
/// Each is in charge of the hosts below some switches: hosts in the order of their switches are cut into parts of the same size to one. It gathers
/// their reports, passes on their grants, and with `signals` sends their frames at times of its own clock, through interfaces of its own. All slots
/// are of the one plan, so that a message that is lost between controllers costs slots of a part, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllersSpec {
    /// How many relays there are; no more than hosts.
    pub count: u32,
    /// Their clocks are off by up to so much either way. With `signals`, a guard has to cover twice as much more.
    #[serde(default)]
    pub clock_error: Duration,
    /// One way between a relay and the controller that plans; missing: `control_latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Probability that a message between a relay and the controller that plans is lost; missing: `control_loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

impl TdmaSpec {
    /// Relays of the controller; 0 where there are none.
    pub fn relays(&self) -> u32 {
        self.controllers.map_or(0, |m| m.count)
    }

    /// By how much a relay's clock may be off, either way.
    pub fn relay_error(&self) -> Duration {
        self.controllers.map_or(Duration::ZERO, |m| m.clock_error)
    }

    /// One way between a relay and the controller that plans.
    pub fn relay_latency(&self) -> Duration {
        self.controllers.and_then(|m| m.latency).unwrap_or(self.control_latency)
    }

    /// How long a relay waits for more reports once it has the first one: what those that are sent at once can come apart.
    pub fn gather(&self) -> Duration {
        // By signals, hosts report after a time from a message, whatever their clocks show.
        let clocks = if self.signals.is_some() { Duration::ZERO } else { self.clock_bound() * 2 };
        clocks + MARGIN
    }

    /// One way between the controller that plans and a host, through a relay where there are some.
    pub fn control_way(&self) -> Duration {
        match self.controllers {
            None => self.control_latency,
            Some(m) => self.control_latency + self.relay_latency() + self.gather() + m.clock_error * 2,
        }
    }

    /// With `signals`: from the first to the last of the frames that open a slot in which all hosts send, those of one controller.
    pub fn skew(&self, fabric: &Fabric) -> Option<Duration> {
        self.signals.map(|s| s.skew(fabric, self.relays()))
    }

    /// With `signals`: the shortest guard with which no packet of a slot ever meets one of the slot before: that of
    /// [`SignalSpec::least_guard`](crate::SignalSpec::least_guard), and twice the clock error of controllers, as one may open early what another one
    /// closes late.
    pub fn least_guard(&self, fabric: &Fabric, frame: Bytes) -> Option<Duration> {
        self.signals.map(|s| s.least_guard(fabric, frame, self.relays()) + self.relay_error() * 2)
    }
}
