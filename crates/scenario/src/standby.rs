//! The `standby` table of a TDMA plan: a second controller, which takes over if the first one
//! fails. Derives its timers from the plan.

use crate::scheme::TdmaSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Duration, Fabric};

/// A second TDMA controller. It receives the hosts' reports and leads once it has not heard from
/// the first one for a while, unless most hosts still learn of new rounds. A controller that
/// recovers follows it, and so does one that hears fewer than half of the hosts. Messages between
/// the two can be lost, as all control messages can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StandbySpec {
    /// Time without a heartbeat after which it takes over; heartbeats are sent twice per round.
    /// Default and minimum: a round, and the time of its first reports and a heartbeat, so that one
    /// heartbeat may be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takeover: Option<Duration>,
    /// One-way latency between the two controllers; default: `control_latency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
}

/// Rounding errors of clocks and drivers, per message.
pub(crate) const MARGIN: Duration = Duration::from_us(1);

impl TdmaSpec {
    /// Longest time between two rounds: a full round, or longer if planning takes longer.
    fn longest_round(&self) -> Duration {
        let round = (self.slot + self.guard) * i64::from(self.round_slots);
        if round < self.compute_time { self.compute_time } else { round }
    }

    /// One-way latency between the controllers.
    pub fn peer_latency(&self) -> Duration {
        self.standby.and_then(|s| s.latency).unwrap_or(self.control_latency)
    }

    /// Minimum [`StandbySpec::takeover`]: hosts tell of each round in that time, and one of two
    /// heartbeats may be lost.
    pub fn least_takeover(&self, fabric: &Fabric, mtu: u32) -> Duration {
        // A heartbeat waits behind reports that both controllers get.
        let heartbeat = self.peer_latency() + self.transfer(fabric, mtu);
        self.longest_round() + self.control_way(fabric, mtu) + heartbeat + self.clock_bound() * 2 + MARGIN
    }

    /// Time without a heartbeat after which the second controller takes over, with the default
    /// filled in.
    pub fn takeover(&self, fabric: &Fabric, mtu: u32) -> Duration {
        let given = self.standby.and_then(|s| s.takeover);
        given.unwrap_or_else(|| self.least_takeover(fabric, mtu))
    }
}
