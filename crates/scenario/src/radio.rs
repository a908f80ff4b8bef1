//! The `[fabric.radio]` table: air links between switches, instead of wires or in addition to them.
//! The crate `radio` computes their rates and losses.

mod cells;
mod rates;

pub use cells::{HandoverSpec, Interference, QueuedSpec};
pub use rates::NoRate;
pub(crate) use rates::{LONGEST_LINK, RATE_FACTORS, SIGNALS};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, HostId, LinkId, NodeId};
use timeplane_radio::{AckPath, AntennaName, Db, Dbm, LinkParameters, LinkTraceRules, MacName, RoomName, Testbed};

use crate::FabricSpec;

/// Radios on racks or in devices, and the air links between them.
///
/// Air links connect switches. To model a host with its own radio, put one host under a switch and
/// connect them by a wire that is faster than both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioSpec {
    /// Constants of medium access: interframe spaces, back-off, aggregation, responses.
    #[serde(default)]
    pub mac: MacName,
    /// Medium access.
    #[serde(default)]
    pub access: Access,
    /// Maximum number of retransmissions of a packet; 0 turns retransmission off.
    #[serde(default = "seven")]
    pub retries: u32,
    /// Path of TCP acknowledgements that would use an air link alongside wires.
    #[serde(default)]
    pub acknowledgements: AckPath,
    /// Antennas at both ends of links with `distance_m`, pointed at each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antenna: Option<AntennaName>,
    /// Received power in dBm from which a radio considers the channel busy. -68 dBm is the
    /// sensitivity of MCS 1, which the preamble of every data frame uses.
    #[serde(default = "senses")]
    pub senses_dbm: f64,
    /// Queue of each air link, one for each direction; default: unlimited. It belongs to the switch
    /// that sends, so TCP small queues of hosts do not bound it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<AirQueue>,
    /// Handover of devices with links to several access points; default: such links are paths of
    /// equal cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverSpec>,
    /// Interference between links with link traces. Pairs that are not listed do not interfere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interference: Vec<Interference>,
    /// The air links.
    pub link: Vec<RadioLink>,
}

const fn seven() -> u32 {
    7
}
const fn senses() -> f64 {
    -68.0
}

/// Queue in front of an air link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AirQueue {
    /// Packets that do not fit are lost.
    DropTail {
        /// Capacity in packets; default: unlimited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packets: Option<u32>,
    },
    /// Packets that find a long queue are marked, as DCTCP requires.
    Ecn {
        /// Queue length in packets from which arriving packets are marked.
        mark_at: u32,
        /// Capacity in packets; default: unlimited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packets: Option<u32>,
    },
    /// Controlled delay (RFC 8289).
    #[serde(rename = "codel")]
    CoDel {
        /// Acceptable queuing delay.
        #[serde(default = "five_ms")]
        target: Duration,
        /// Approximate longest round trip of the traffic.
        #[serde(default = "hundred_ms")]
        interval: Duration,
        /// Mark packets that support it instead of dropping them.
        #[serde(default)]
        ecn: bool,
        /// Capacity in packets; default: unlimited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packets: Option<u32>,
    },
}

const fn five_ms() -> Duration {
    Duration::from_ms(5)
}
const fn hundred_ms() -> Duration {
    Duration::from_ms(100)
}

/// Differences of a scheme's radios from `[fabric.radio]`; keys that are absent keep the value
/// there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OwnRadio {
    /// Constants of medium access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacName>,
    /// Medium access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Maximum number of retransmissions of a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Path of TCP acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledgements: Option<AckPath>,
    /// Antennas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub antenna: Option<AntennaName>,
    /// Received power in dBm from which a radio considers the channel busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub senses_dbm: Option<f64>,
    /// Queue of each air link; replaces the whole table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<AirQueue>,
    /// Handover; replaces the whole table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverSpec>,
    /// Interference; replaces the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference: Option<Vec<Interference>>,
    /// Air links; replaces the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Vec<RadioLink>>,
}

impl OwnRadio {
    /// The radios of the scheme if the scenario has `base`.
    pub fn over(&self, base: Option<&RadioSpec>) -> RadioSpec {
        let base = base.cloned().unwrap_or_default();
        RadioSpec {
            mac: self.mac.unwrap_or(base.mac),
            access: self.access.unwrap_or(base.access),
            retries: self.retries.unwrap_or(base.retries),
            acknowledgements: self.acknowledgements.unwrap_or(base.acknowledgements),
            antenna: self.antenna.or(base.antenna),
            senses_dbm: self.senses_dbm.unwrap_or(base.senses_dbm),
            queue: self.queue.or(base.queue),
            handover: self.handover.or(base.handover),
            interference: self.interference.clone().unwrap_or(base.interference),
            link: self.link.clone().unwrap_or(base.link),
        }
    }
}

impl Default for RadioSpec {
    fn default() -> Self {
        Self {
            mac: MacName::default(),
            access: Access::default(),
            retries: seven(),
            acknowledgements: AckPath::default(),
            antenna: None,
            senses_dbm: senses(),
            queue: None,
            handover: None,
            interference: Vec::new(),
            link: Vec::new(),
        }
    }
}

/// Medium access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Carrier sense and back-off with collisions (DCF).
    #[default]
    Dcf,
    /// DCF without collisions; frames that only carry acknowledgements go first, without back-off.
    /// No protocol does this, but published figures without collisions assume it.
    DcfWithoutCollisions,
    /// AIFS without back-off, for links that carry data in one direction.
    NoBackoff,
    /// Both ends of a link pass a token with their responses, for links that carry data in both
    /// directions.
    Token,
    /// Links are independent: no carrier sense, no responses, one packet per frame.
    Planned,
}

/// An air link between two switches, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioLink {
    /// The two switches, numbered after the hosts.
    pub nodes: [u32; 2],
    /// Share of the flows between hosts under the two ends that the link carries, from 0 to 1.
    /// Default: the link replaces the wire between the two switches, which has to exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Channel. Channels do not interfere; links of one node on one channel share a radio.
    #[serde(default)]
    pub channel: u32,
    /// MCS of data frames, 0 to 31 of 802.11ad; default: the fastest that the signal supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u8>,
    /// Received power at both ends in dBm, after all margins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_dbm: Option<f64>,
    /// Distance of the ends in meters. The received power follows from 10 mW, the antennas and a
    /// margin of 3 dB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance_m: Option<f64>,
    /// Rate over time that follows from a channel of 500 MHz; requires `access = "planned"`. The
    /// first node is the access point, which selects the rate. Links of one access point on one
    /// channel take turns, packet by packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<LinkTraceSpec>,
}

/// Rate of a link over time, derived from the power of its beams (Drago et al., MASS 2019, section
/// III).
///
/// The access point selects the pair of beams with the highest power, and the fastest MCS from 1 to
/// 12 that meets the target packet error rate. Losses follow the channel until the next selection.
/// Both directions have the same rate. A link trace repeats after its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTraceSpec {
    /// One of the two rooms of the proxy's measurements, in which a person or a trolley moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomName>,
    /// File with received power by pair of beams and time, instead of a room: columns `time_s`,
    /// `tx_deg`, `rx_deg`, `power_dbm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beams: Option<String>,
    /// Received power in dBm in room B without an obstacle; room A has the same transmit power.
    #[serde(default = "room_level")]
    pub level_dbm: f64,
    /// Draw a different walk for each run: speed and start vary by a tenth, the crossing point by a
    /// tenth of the link's length.
    #[serde(default)]
    pub varied: bool,
    /// Loss in dB in the middle of the obstacle's shadow, in addition to diffraction at its edges.
    /// Default: that of the room, 15 dB in A and 27 dB in B. A file already includes shadows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_loss_db: Option<f64>,
    /// Target packet error rate.
    #[serde(default = "one_percent")]
    pub target: f64,
    /// Packet size that the target refers to.
    #[serde(default = "proxy_packet")]
    pub packet: Bytes,
    /// Implementation and demodulation loss in dB between the SNR and the decoder.
    #[serde(default = "proxy_loss")]
    pub loss_db: f64,
    /// Interval at which the channel is sampled.
    #[serde(default = "one_ms")]
    pub every: Duration,
    /// Interval at which beams and rate are selected.
    #[serde(default = "ten_ms")]
    pub select_every: Duration,
    /// Treatment of packets while no rate meets the target.
    #[serde(default)]
    pub in_outage: InOutage,
    /// Factor for all rates, 0.001 to 1. Use 0.25 to run the same link trace on Linux, whose
    /// emulated links support up to 500 Mb/s.
    #[serde(default = "all_of_it")]
    pub rate_factor: f64,
}

impl LinkTraceSpec {
    /// Parameters of rates and losses.
    pub fn parameters(&self) -> LinkParameters {
        LinkParameters {
            packet: self.packet,
            target: self.target,
            loss: Db::new(self.loss_db),
            rate_factor: self.rate_factor,
            ..LinkParameters::default()
        }
    }
    /// Intervals of sampling and selection.
    pub fn rules(&self) -> LinkTraceRules {
        LinkTraceRules { every: self.every, select_every: self.select_every }
    }
    /// The room with its obstacle; `None` if a file gives the received power.
    pub fn testbed(&self) -> Option<Testbed> {
        if self.beams.is_some() {
            return None;
        }
        let level = Dbm::new(self.level_dbm);
        let mut testbed = self.room.unwrap_or(RoomName::B).testbed(level);
        testbed.extra = self.body_loss_db.map_or(testbed.extra, Db::new);
        Some(testbed)
    }
}

const fn all_of_it() -> f64 {
    1.0
}

/// Behavior of an access point in an outage, which the paper leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InOutage {
    /// It pauses and keeps its queue.
    #[default]
    Hold,
    /// It continues at the slowest rate, and all packets are lost.
    Lose,
}

const fn room_level() -> f64 {
    -66.0
}
const fn one_percent() -> f64 {
    0.01
}
const fn proxy_packet() -> Bytes {
    Bytes::new(8_140)
}
const fn proxy_loss() -> f64 {
    6.5
}
const fn one_ms() -> Duration {
    Duration::from_ms(1)
}
const fn ten_ms() -> Duration {
    Duration::from_ms(10)
}

impl RadioSpec {
    /// The switch of a host.
    pub fn switch_of(fabric: &timeplane_model::Fabric, host: u32) -> NodeId {
        fabric.link(fabric.uplink(HostId(host))).to
    }

    /// The wire that a link replaces, from its first to its second node; `None` if the link is in
    /// addition to the wires.
    pub fn wire(link: &RadioLink, fabric: &timeplane_model::Fabric) -> Option<LinkId> {
        if link.share.is_some() {
            return None;
        }
        let [a, b] = link.nodes.map(NodeId);
        let found = fabric.links().iter().position(|l| (l.from, l.to) == (a, b));
        found.map(|l| LinkId(l as u32))
    }

    /// Propagation delay: from the distance if it is given, else that of the fabric's wires.
    pub fn propagation(link: &RadioLink, fabric: &FabricSpec) -> Duration {
        link.distance_m.map_or(fabric.propagation, |d| Duration::from_secs_f64(d / timeplane_radio::SPEED_OF_LIGHT))
    }
}
