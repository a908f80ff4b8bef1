//! The `[scheme.NAME.plan.flyways]` table: 60 GHz links between racks where the wires are too slow
//! (Halperin et al., SIGCOMM 2011).

use crate::control::ControlSpec;
use crate::{Access, AirQueue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;
use timeplane_radio::{AckPath, AntennaName, MacName, Rows};
use timeplane_schedule::Algorithm;
use timeplane_schedule::flyways::FlywayPolicy;

/// A controller that points radios on racks at each other, depending on the racks' backlogs
/// (Halperin et al., SIGCOMM 2011).
///
/// Each host is a rack with its own switch, which carries its radios. Racks report the
/// unacknowledged bytes of their flows. The controller replies with links and shares of the
/// traffic, which expire after a lease. Shares consist of whole flows, so no flow is split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlywaysSpec {
    /// Policy that decides which link is added next.
    pub policy: Algorithm<FlywayPolicy>,
    /// Antennas of all radios.
    pub antenna: AntennaName,
    /// Radios on each rack.
    pub radios: u32,
    /// Number of channels; 3 in the source, 4 in 802.11ad. Radios of one rack use different
    /// channels.
    pub channels: u32,
    /// Positions of the racks in meters, in the order of the hosts; default: the first positions in
    /// the source's layout of 160 racks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions_m: Option<Vec<[f64; 2]>>,
    /// Racks in rows, instead of `positions_m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
    /// Constants of medium access.
    pub mac: MacName,
    /// Medium access. Planned links do not interfere with each other, so access does not need
    /// carrier sense.
    pub access: Access,
    /// Maximum number of retransmissions of a packet.
    pub retries: u32,
    /// Queue of each radio; default: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<AirQueue>,
    /// Path of TCP acknowledgements.
    pub acknowledgements: AckPath,
    /// Minimum time between two plans.
    pub every: Duration,
    /// Interval at which racks report.
    pub report_every: Duration,
    /// One-way latency between controller and racks.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// Path of the messages between controller and racks.
    pub control: ControlSpec,
    /// Time to compute a plan.
    pub compute_time: Duration,
    /// Time for which links and shares hold without a message from the controller.
    pub lease: Duration,
    /// Alignment of the beams of a new link; default: coordinated over the wires, within 100 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointing: Option<PointingSpec>,
    /// Interval at which each rack without a link measures its pattern towards another rack. Racks
    /// without a link measure each other if that disturbs no link; one that listens to a rack with
    /// a link measures its own pattern only. Two racks get a link when both of their patterns are
    /// measured. Default: all patterns are known from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_every: Option<Duration>,
}

/// Alignment of the beams of a new link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PointingSpec {
    /// Both ends sweep their sectors over the air, without prior knowledge.
    Trained {
        /// Sectors of each end.
        sectors: u32,
    },
    /// The wires tell both ends which patterns point at each other; the ends only steer.
    Coordinated {
        /// Time to steer.
        steering: Duration,
    },
}

impl Default for FlywaysSpec {
    fn default() -> Self {
        Self {
            policy: Algorithm::default(),
            antenna: AntennaName::NarrowBeam,
            radios: 1,
            channels: 3,
            positions_m: None,
            rows: None,
            mac: MacName::FlywaysDraft,
            access: Access::Token,
            retries: 7,
            queue: None,
            acknowledgements: AckPath::Wire,
            every: Duration::from_ms(10),
            report_every: Duration::from_ms(5),
            control_latency: Duration::from_us(50),
            control_loss: 0.0,
            control: ControlSpec::default(),
            compute_time: Duration::from_ms(1),
            lease: Duration::from_ms(100),
            pointing: None,
            measure_every: None,
        }
    }
}

impl FlywaysSpec {
    /// The middle (x, y) of each rack in meters, for this number of racks, if the scenario says
    /// where they stand.
    pub fn middles(&self, racks: u32) -> Option<Vec<(f64, f64)>> {
        let listed = self.positions_m.as_ref().map(|places| places.iter().map(|p| (p[0], p[1])).collect());
        listed.or_else(|| self.rows.map(|rows| rows.middles(racks)))
    }

    /// Alignment of the beams of a new link, with the default filled in.
    pub fn pointing(&self) -> PointingSpec {
        self.pointing.unwrap_or(PointingSpec::Coordinated { steering: Duration::from_us(100) })
    }
}
