//! Relays of a TDMA controller: one controller plans, and each relay is responsible for some of the
//! hosts.

use crate::scheme::TdmaSpec;
use crate::standby::MARGIN;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, Fabric};
use timeplane_protocol::{Message, size};

/// Relays of the planning controller, for more hosts than one controller can communicate with.
///
/// Hosts are divided into groups of equal size (up to one host), in the order of their switches.
/// Each relay gathers the reports of its group and forwards their grants. With `signals` it sends
/// their frames, timed by its own clock, through its own interfaces. All slots belong to one plan,
/// so a lost message between controllers only costs slots of one group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllersSpec {
    /// Number of relays; at most the number of hosts.
    pub count: u32,
    /// Maximum offset of a relay's clock, in either direction. With `signals`, the guard time has
    /// to be longer by twice this.
    #[serde(default)]
    pub clock_error: Duration,
    /// One-way latency between a relay and the planning controller; default: `control_latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Probability that a message between a relay and the planning controller is lost; default:
    /// `control_loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

impl TdmaSpec {
    /// Number of relays; 0 without `controllers`.
    pub fn relays(&self) -> u32 {
        self.controllers.map_or(0, |m| m.count)
    }

    /// Maximum offset of a relay's clock, in either direction.
    pub fn relay_error(&self) -> Duration {
        self.controllers.map_or(Duration::ZERO, |m| m.clock_error)
    }

    /// One-way latency between a relay and the planning controller.
    pub fn relay_latency(&self) -> Duration {
        self.controllers.and_then(|m| m.latency).unwrap_or(self.control_latency)
    }

    /// Time that a relay waits for more reports after the first one: the spread of reports that are
    /// sent at the same time.
    pub fn gather(&self, fabric: &Fabric, mtu: u32) -> Duration {
        // With signals, hosts report a fixed time after a message, whatever their clocks show. But
        // these messages leave one after the other.
        let clocks = if self.signals.is_some() { Duration::ZERO } else { self.clock_bound() * 2 };
        clocks + self.transfer(fabric, mtu) + MARGIN
    }

    /// Most wire bytes of a message of a round to or from one host: a grant for each slot, with a
    /// limit.
    pub fn grants(&self) -> Bytes {
        Message::most_of_grants(self.round_slots.into(), size::GRANT + size::LIMIT + size::long(self.slot))
    }

    /// Longest time that a message of a round spends on ports or, in band, on links between a host
    /// and the next controller.
    pub fn transfer(&self, fabric: &Fabric, mtu: u32) -> Duration {
        self.control.transfer(fabric, mtu, self.grants())
    }

    /// Longest time of a message between the planning controller and a host, through a relay if
    /// there are any.
    pub fn control_way(&self, fabric: &Fabric, mtu: u32) -> Duration {
        let transfer = self.transfer(fabric, mtu);
        match self.controllers {
            None => self.control_latency + transfer,
            Some(m) => {
                let ways = self.control_latency + self.relay_latency() + transfer * 2;
                ways + self.gather(fabric, mtu) + m.clock_error * 2
            }
        }
    }

    /// With `signals`: time between the first and the last frame of one controller that open a slot
    /// in which all hosts send.
    pub fn skew(&self, fabric: &Fabric) -> Option<Duration> {
        self.signals.map(|s| s.skew(fabric, self.relays()))
    }

    /// With `signals`: minimum guard time with which no packets of two slots meet. It is
    /// [`SignalSpec::least_guard`](crate::SignalSpec::least_guard) plus twice the clock error of
    /// relays, because one relay may open early what another closes late.
    pub fn least_guard(&self, fabric: &Fabric, frame: Bytes) -> Option<Duration> {
        self.signals.map(|s| s.least_guard(fabric, frame, self.relays()) + self.relay_error() * 2)
    }
}
