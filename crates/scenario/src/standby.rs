//! A second controller of slots, which takes over where the first one is lost.

use crate::scheme::TdmaSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// A second controller of slots. It hears what hosts report, and leads once it has heard nothing of the first one for a while; one that returns
/// follows it. Messages between the two are lost as all control messages are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StandbySpec {
    /// It takes over after so long without a heartbeat, of which there is one per round; missing: after two rounds and two messages, so that one
    /// heartbeat may be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takeover: Option<Duration>,
    /// One way between the two controllers; missing: `control_latency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
}

/// What clocks and drivers round, once per message.
pub(crate) const MARGIN: Duration = Duration::from_us(1);

impl TdmaSpec {
    /// From one heartbeat of a controller to the next one, at most: a full round, or longer where planning takes longer.
    fn heartbeat_every(&self) -> Duration {
        let round = (self.slot + self.guard) * i64::from(self.round_slots);
        if round < self.compute_time { self.compute_time } else { round }
    }

    /// One way between controllers.
    pub fn peer_latency(&self) -> Duration {
        self.standby.and_then(|s| s.latency).unwrap_or(self.control_latency)
    }

    /// The shortest [`StandbySpec::takeover`] with which a controller that is well is not deposed while no message is lost: a round, and the time that
    /// its first reports and a heartbeat take.
    pub fn least_takeover(&self) -> Duration {
        self.heartbeat_every() + self.control_way() + self.peer_latency() + self.clock_bound() * 2 + MARGIN
    }

    /// After how long without a heartbeat the second controller takes over: as given, or else such that one of them may be lost.
    pub fn takeover(&self) -> Duration {
        let given = self.standby.and_then(|s| s.takeover);
        given.unwrap_or_else(|| self.least_takeover() * 2)
    }
}
