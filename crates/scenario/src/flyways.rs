//! The `[scheme.NAME.plan.flyways]` table: 60 GHz links between racks, set up where the wires are short.

use crate::{AccessSpec, AckWay, AirQueue, AntennaName, MacName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// A controller that hears what racks have to send, and points radios on top of them at each other (Halperin et al., SIGCOMM 2011).
///
/// Each host is a rack and has a switch of its own, on which its radios stand. Racks report the bytes of their flows that have not been
/// acknowledged; links and shares of the traffic come back, with a lease. Shares are of flows, so that none is torn apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlywaysSpec {
    /// Which link is added next.
    pub policy: FlywayPolicy,
    /// Antennas of all radios.
    pub antenna: AntennaName,
    /// Radios on each rack.
    pub radios: u32,
    /// Channels in use, 3 as in the source; those of 802.11ad are 4. Radios of one rack use different ones.
    pub channels: u32,
    /// Where racks stand, in metres, by host; at the first places of the source's layout of 160 racks where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions_m: Option<Vec<[f64; 2]>>,
    /// Constants of medium access.
    pub mac: MacName,
    /// Who of a link sends when. Links are planned not to disturb each other, so that no access needs carrier sense.
    pub access: AccessSpec,
    /// How often a packet is sent again at most.
    pub retries: u32,
    /// The queue of each radio. Missing: it takes what comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<AirQueue>,
    /// Where TCP's acknowledgements go.
    pub acknowledgements: AckWay,
    /// From one plan to the next, at least.
    pub every: Duration,
    /// How often racks report.
    pub report_every: Duration,
    /// One way between controller and racks.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// How long a plan takes.
    pub compute_time: Duration,
    /// How long links and shares hold without a word of the controller.
    pub lease: Duration,
    /// How the beams of a new link find each other. Missing: the wires tell them, and they steer within 100 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointing: Option<PointingSpec>,
}

/// Which link is added next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlywayPolicy {
    /// Of all feasible links the one that takes most traffic off the busiest wire, the traffic of others included.
    #[default]
    Greedy,
    /// For the pair of racks that would finish last; the link also carries what others send to one of them, one hop on.
    Transit,
    /// For the pair of racks that would finish last, and for nobody else.
    Straggler,
}

impl FlywayPolicy {
    /// Its name among the policies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Greedy => "greedy",
            Self::Transit => "transit",
            Self::Straggler => "straggler",
        }
    }
}

/// How the beams of a new link find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PointingSpec {
    /// By sector sweeps of both ends over the air: nobody knows anything.
    Trained {
        /// Sectors of each end.
        sectors: u32,
    },
    /// The wires tell both ends which pattern points at the other: they only steer.
    Coordinated {
        /// How long that takes.
        steering: Duration,
    },
}

impl Default for FlywaysSpec {
    fn default() -> Self {
        Self {
            policy: FlywayPolicy::default(),
            antenna: AntennaName::NarrowBeam,
            radios: 1,
            channels: 3,
            positions_m: None,
            mac: MacName::FlywaysDraft,
            access: AccessSpec::Token,
            retries: 7,
            queue: None,
            acknowledgements: AckWay::Wire,
            every: Duration::from_ms(10),
            report_every: Duration::from_ms(5),
            control_latency: Duration::from_us(50),
            control_loss: 0.0,
            compute_time: Duration::from_ms(1),
            lease: Duration::from_ms(100),
            pointing: None,
        }
    }
}

impl FlywaysSpec {
    /// How the beams of a new link find each other.
    pub fn pointing(&self) -> PointingSpec {
        self.pointing.unwrap_or(PointingSpec::Coordinated { steering: Duration::from_us(100) })
    }
}
