//! The `[fabric.radio]` table: air links between switches, in place of wires or beside them.

mod cells;

pub use cells::{HandoverSpec, Interference, QueuedSpec};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, HostId, LinkId, NodeId};
use timeplane_radio::{
    Db, Dbm, FLYWAYS_DRAFT, IEEE_802_11AD_2012, LinkParameters, LinkTraceRules, MacParameters, Testbed,
};

use crate::FabricSpec;

/// Radios on top of racks, or in devices, and the air links between them.
///
/// Air links join switches. A host with a radio of its own is a switch with one host under it, and a wire between them that is faster than both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioSpec {
    /// Constants of medium access: gaps, back-off, aggregation, answers.
    #[serde(default)]
    pub mac: MacName,
    /// Who sends when.
    #[serde(default)]
    pub access: AccessSpec,
    /// How often a packet is sent again at most; 0 turns retransmission off.
    #[serde(default = "seven")]
    pub retries: u32,
    /// Where TCP's acknowledgements go that would take an air link beside the wires.
    #[serde(default)]
    pub acknowledgements: AckWay,
    /// Antennas at both ends of a link whose `distance_m` is given, pointed at each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antenna: Option<AntennaName>,
    /// What a radio takes for a busy channel, dBm. -68 is the sensitivity of MCS 1, which has the preamble of all frames of data.
    #[serde(default = "senses")]
    pub senses_dbm: f64,
    /// The queue of each air link, one for each direction. Missing: it takes what comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<AirQueue>,
    /// How devices with links to several access points go from one to another. Missing: such links are equal paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverSpec>,
    /// Who disturbs whom, where links follow a link trace. Pairs that are not named do not hear each other.
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

/// What becomes of packets that wait for an air link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AirQueue {
    /// What does not fit is lost.
    DropTail {
        /// Packets that it holds; as many as come where it is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packets: Option<u32>,
    },
    /// Packets that find so many others are marked, as DCTCP asks for.
    Ecn {
        /// From how many on.
        mark_at: u32,
        /// Packets that it holds; as many as come where it is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packets: Option<u32>,
    },
    /// Controlled delay (RFC 8289).
    #[serde(rename = "codel")]
    CoDel {
        /// An acceptable wait.
        #[serde(default = "five_ms")]
        target: Duration,
        /// About the longest round trip of what passes.
        #[serde(default = "hundred_ms")]
        interval: Duration,
        /// Packets that can be are marked where others are lost.
        #[serde(default)]
        ecn: bool,
        /// Packets that it holds; as many as come where it is missing.
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

/// What a scheme's radios have other than the scenario's. What is missing is as there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OwnRadio {
    /// Constants of medium access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacName>,
    /// Who sends when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessSpec>,
    /// How often a packet is sent again at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Where TCP's acknowledgements go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledgements: Option<AckWay>,
    /// Antennas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub antenna: Option<AntennaName>,
    /// What a radio takes for a busy channel, dBm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub senses_dbm: Option<f64>,
    /// The queue of each air link, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<AirQueue>,
    /// How devices go from one access point to another, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverSpec>,
    /// Who disturbs whom, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference: Option<Vec<Interference>>,
    /// The air links, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Vec<RadioLink>>,
}

impl OwnRadio {
    /// The radios of the scheme, where the scenario has `base`.
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
            access: AccessSpec::default(),
            retries: seven(),
            acknowledgements: AckWay::default(),
            antenna: None,
            senses_dbm: senses(),
            queue: None,
            handover: None,
            interference: Vec::new(),
            link: Vec::new(),
        }
    }
}

/// A named set of constants of medium access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MacName {
    /// The draft that flyways' simulator followed: SIFS 1 us, slots of 3 us, frames of 66,500 B of payload.
    #[serde(rename = "flyways-draft")]
    FlywaysDraft,
    /// IEEE 802.11ad-2012: SIFS 3 us, slots of 5 us, A-MPDUs of at most 262,143 B and 2 ms.
    #[default]
    #[serde(rename = "11ad-2012")]
    Ieee80211ad2012,
}

impl MacName {
    /// Its constants.
    pub const fn parameters(self) -> MacParameters {
        match self {
            Self::FlywaysDraft => FLYWAYS_DRAFT,
            Self::Ieee80211ad2012 => IEEE_802_11AD_2012,
        }
    }
}

/// Who sends when on the air.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessSpec {
    /// Carrier sense and back-off (DCF), with the collisions that they have.
    #[default]
    Dcf,
    /// The same where nobody collides, and frames of nothing but acknowledgements go first, without back-off. No protocol does that: it is what
    /// published figures without collisions assume.
    DcfWithoutCollisions,
    /// AIFS and no back-off: for links that carry data one way.
    NoBackoff,
    /// Both ends of a link pass a token with their answers: for links that carry data both ways.
    Token,
    /// Each link is its own: no carrier sense, no answers, one frame a packet.
    Planned,
}

/// Where TCP's acknowledgements go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AckWay {
    /// As data do.
    #[default]
    Air,
    /// By the wires, where there are any.
    Wire,
}

/// A measured antenna.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AntennaName {
    /// The horn with the narrow beam of flyways' measurements.
    NarrowBeam,
    /// The horn with the wide beam.
    WideBeam,
    /// The pattern of Geo-fencing.
    #[serde(rename = "geofencing")]
    GeoFencing,
}

impl AntennaName {
    /// As the bundled tables name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NarrowBeam => "narrow_beam",
            Self::WideBeam => "wide_beam",
            Self::GeoFencing => "geofencing",
        }
    }
}

/// An air link between two switches, both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioLink {
    /// Its ends: switches, numbered after the hosts.
    pub nodes: [u32; 2],
    /// How much of what hosts under one end send to hosts under the other it takes, by flow, from 0 to 1. Missing: it takes the place of the
    /// wire between the two, and there has to be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Its channel. Channels do not disturb each other; links of one node on one channel share a radio.
    #[serde(default)]
    pub channel: u32,
    /// The rate of its frames of data: MCS 0 to 31 of 802.11ad. Missing: the fastest that bears the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u8>,
    /// What both ends receive of each other, dBm, after all margins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal_dbm: Option<f64>,
    /// How far its ends are from each other, in metres: the signal is what the antennas leave of 10 mW, less 3 dB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance_m: Option<f64>,
    /// Its rate follows what a channel of 500 MHz lets through, over time; with `access = "planned"`. Its first node is the
    /// access point, which chooses the rate; links of one access point on one channel take turns, a packet each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<LinkTraceSpec>,
}

/// How what a link carries comes from the power of its beams over time (Drago et al., MASS 2019, section III).
///
/// The access point takes the pair of beams with the most power and the fastest MCS from 1 to 12 that keeps the packet error rate at
/// its target; until it looks again, losses follow the channel. The link carries the same both ways. After its end a link trace begins again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTraceSpec {
    /// One of the two rooms of the proxy's measurements, in which somebody walks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomName>,
    /// A file of received power by pair of beams and time, in place of a room: columns `time_s`, `tx_deg`, `rx_deg`, `power_dbm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beams: Option<String>,
    /// What is received in room B with nobody in the way, dBm; A is as the same sender has it.
    #[serde(default = "room_level")]
    pub level_dbm: f64,
    /// Each run has a walk of its own: speed and begin within a tenth, the place where the line is crossed within a tenth of its length.
    #[serde(default)]
    pub varied: bool,
    /// What whoever walks takes off in the middle of its shadow beyond what passes its edges, dB. Missing: as the room has it, 15 dB in A and
    /// 27 dB in B. A file has its shadows in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_loss_db: Option<f64>,
    /// The packet error rate that a rate may have.
    #[serde(default = "one_percent")]
    pub target: f64,
    /// The packets that it is for.
    #[serde(default = "proxy_packet")]
    pub packet: Bytes,
    /// Implementation and demodulation loss between SNR and what the decoder has, dB.
    #[serde(default = "proxy_loss")]
    pub loss_db: f64,
    /// How often the channel is looked at.
    #[serde(default = "one_ms")]
    pub every: Duration,
    /// How often beams and rate are chosen.
    #[serde(default = "ten_ms")]
    pub select_every: Duration,
    /// What becomes of packets while no rate meets the target.
    #[serde(default)]
    pub in_outage: InOutage,
    /// All rates are this much of what the channel allows, 0.001 to 1: 0.25 where the same link trace is run on Linux, whose emulated
    /// links end at 500 Mb/s.
    #[serde(default = "all_of_it")]
    pub rate_factor: f64,
}

impl LinkTraceSpec {
    /// How rates and losses follow from levels.
    pub fn parameters(&self) -> LinkParameters {
        LinkParameters {
            packet: self.packet,
            target: self.target,
            loss: Db::new(self.loss_db),
            rate_factor: self.rate_factor,
            ..LinkParameters::default()
        }
    }
    /// How often somebody looks.
    pub fn rules(&self) -> LinkTraceRules {
        LinkTraceRules { every: self.every, select_every: self.select_every }
    }
    /// The room with who walks in it as the room has it; none where a file says what arrives.
    pub fn testbed(&self) -> Option<Testbed> {
        if self.beams.is_some() {
            return None;
        }
        let level = Dbm::new(self.level_dbm);
        let mut testbed = match self.room.unwrap_or(RoomName::B) {
            RoomName::A => Testbed::a(level),
            RoomName::B => Testbed::b(level),
        };
        testbed.extra = self.body_loss_db.map_or(testbed.extra, Db::new);
        Some(testbed)
    }
}

const fn all_of_it() -> f64 {
    1.0
}

/// What an access point does in an outage. The paper says nothing of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InOutage {
    /// It waits, and its queue with it.
    #[default]
    Hold,
    /// It goes on at the slowest rate, and all that it sends is lost.
    Lose,
}

/// A room of the proxy's measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoomName {
    /// Many reflectors; a trolley crosses.
    A,
    /// An aisle between partitions with no way round; a manikin crosses.
    B,
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
    /// The switch over a host.
    pub fn switch_of(fabric: &timeplane_model::Fabric, host: u32) -> NodeId {
        fabric.link(fabric.uplink(HostId(host))).to
    }

    /// The wire that a link takes the place of, in the direction from its first to its second node; none where it is beside the wires.
    pub fn wire(link: &RadioLink, fabric: &timeplane_model::Fabric) -> Option<LinkId> {
        if link.share.is_some() {
            return None;
        }
        let [a, b] = link.nodes.map(NodeId);
        let found = fabric.links().iter().position(|l| (l.from, l.to) == (a, b));
        found.map(|l| LinkId(l as u32))
    }

    /// Propagation of a link whose distance is known; that of the fabric's wires otherwise.
    pub fn propagation(link: &RadioLink, fabric: &FabricSpec) -> Duration {
        link.distance_m.map_or(fabric.propagation, |d| Duration::from_secs_f64(d / timeplane_radio::SPEED_OF_LIGHT))
    }
}
