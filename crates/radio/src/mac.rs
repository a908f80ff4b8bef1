//! Medium access: interframe spaces, back-off, acknowledgments and aggregation.
//!
//! Two named sets of parameters exist: the flyways draft and IEEE 802.11ad-2012.

use crate::airtime::{MAX_PPDU_TIME, MAX_PSDU, PhyTiming};
use crate::mcs::Mcs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::{Bytes, Duration, Named};

/// Most MPDUs of a block acknowledgment of 802.11ad.
pub const BLOCK_ACK_WINDOW: u32 = 64;

/// How packets share a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Octets per IP packet besides the packet: LLC, and the header, checksum and delimiter of the
    /// subframe or MPDU.
    pub per_packet: Bytes,
    /// A packet's size in the frame is a multiple of this.
    pub align: u64,
    /// Additional octets per frame.
    pub per_frame: Bytes,
    /// Most octets of a PSDU.
    pub max_psdu: Bytes,
    /// Most packets of a frame, if limited.
    pub max_packets: Option<u32>,
    /// Longest frame, if limited.
    pub max_time: Option<Duration>,
    /// Whether each packet has its own checksum, so that a block acknowledgment can request single
    /// packets.
    pub packets_are_checked: bool,
}

/// A receiver's response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Octets of the response.
    pub psdu: Bytes,
    /// Rate of the response.
    pub mcs: Mcs,
}

/// Constants of a medium access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacParameters {
    /// Durations of frames.
    pub timing: PhyTiming,
    /// Time between a frame and its response.
    pub sifs: Duration,
    /// Unit of the back-off.
    pub slot: Duration,
    /// Time between frames of a sender without responses in between.
    pub rifs: Duration,
    /// Time between frames of a sweep.
    pub sbifs: Duration,
    /// Time between parts of a beam training.
    pub mbifs: Duration,
    /// Time between sweeps of several antennas.
    pub lbifs: Duration,
    /// The first back-off is drawn from 0 to this.
    pub cw_min: u32,
    /// Back-offs are drawn from 0 to at most this.
    pub cw_max: u32,
    /// Idle slots after SIFS before the back-off counts (best effort).
    pub aifsn: u32,
    /// Response to a data frame.
    pub response: Response,
    /// Aggregation of packets in a frame.
    pub aggregation: Aggregation,
    /// Application bytes per TCP segment in the source's runs.
    pub segment: Bytes,
}

/// Set of constants of medium access.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    VariantArray,
    IntoStaticStr,
    EnumMessage,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MacName {
    /// The draft of the flyways simulator: SIFS 1 us, slots of 3 us, frames of 66,500 B of payload.
    #[serde(rename = "flyways-draft")]
    #[strum(serialize = "flyways-draft")]
    FlywaysDraft,
    /// IEEE 802.11ad-2012: SIFS 3 us, slots of 5 us, A-MPDUs of at most 262,143 B and 2 ms.
    #[default]
    #[serde(rename = "11ad-2012")]
    #[strum(serialize = "11ad-2012")]
    Ieee80211ad2012,
}

impl MacName {
    /// The constants.
    pub const fn parameters(self) -> &'static MacParameters {
        match self {
            Self::FlywaysDraft => &FLYWAYS_DRAFT,
            Self::Ieee80211ad2012 => &IEEE_802_11AD_2012,
        }
    }
}

impl Named for MacName {
    const KIND: &'static str = "MAC";
}

/// The draft that flyways' simulator followed (SIGCOMM 2011, appendix B, and public copies of the
/// authors' code).
///
/// A frame is one MPDU with an A-MSDU of 10 kB segments, without the standard's limits: 66,942
/// octets are the burst of 66,500 B of TCP payload with headers. An ACK of 14 octets at MCS 13
/// answers it. AIFS is 10 us. Times are whole nanoseconds.
pub const FLYWAYS_DRAFT: MacParameters = MacParameters {
    timing: PhyTiming::WHOLE_NANOSECONDS,
    sifs: Duration::from_us(1),
    slot: Duration::from_us(3),
    rifs: Duration::from_us(1),
    sbifs: Duration::from_us(1),
    mbifs: Duration::from_us(9),
    lbifs: Duration::from_us(18),
    cw_min: 3,
    cw_max: 1023,
    aifsn: 3,
    response: Response { psdu: Bytes::new(14), mcs: Mcs::constant(13) },
    aggregation: Aggregation {
        // LLC 8, subframe 14.
        per_packet: Bytes::new(22),
        align: 1,
        // MAC 26, FCS 4.
        per_frame: Bytes::new(30),
        max_psdu: Bytes::new(66_943),
        max_packets: None,
        max_time: None,
        packets_are_checked: false,
    },
    segment: Bytes::new(10_000),
};

/// IEEE 802.11ad-2012, as public descriptions cite it.
///
/// A frame is an A-MPDU, answered by a compressed block ACK of 32 octets at MCS 1 (3.38 us). A
/// block ACK covers [`BLOCK_ACK_WINDOW`] MPDUs. The number of packets is unlimited nevertheless: an
/// MPDU may hold an A-MSDU of up to 7935 octets, so that packets of 1500 B fill the longest frame.
/// Set `max_packets` for one packet per MPDU.
pub const IEEE_802_11AD_2012: MacParameters = MacParameters {
    timing: PhyTiming::STANDARD,
    sifs: Duration::from_us(3),
    slot: Duration::from_us(5),
    rifs: Duration::from_us(1),
    sbifs: Duration::from_us(1),
    mbifs: Duration::from_us(9),
    lbifs: Duration::from_us(18),
    cw_min: 15,
    cw_max: 1023,
    aifsn: 3,
    response: Response { psdu: Bytes::new(32), mcs: Mcs::constant(1) },
    aggregation: Aggregation {
        // LLC 8, MAC 26, FCS 4, delimiter 4.
        per_packet: Bytes::new(42),
        align: 4,
        per_frame: Bytes::ZERO,
        max_psdu: MAX_PSDU,
        max_packets: None,
        max_time: Some(MAX_PPDU_TIME),
        packets_are_checked: true,
    },
    segment: Bytes::new(1_460),
};

impl MacParameters {
    /// Idle time of the medium before a coordinator sends: SIFS and a slot.
    pub fn pifs(&self) -> Duration {
        self.sifs + self.slot
    }

    /// Idle time of the medium before a back-off counts: SIFS and AIFSN slots.
    pub fn aifs(&self) -> Duration {
        self.sifs + self.slot * i64::from(self.aifsn)
    }

    /// Largest back-off in slots after `failures` failed attempts: it doubles up to `cw_max`.
    pub fn contention_window(&self, failures: u32) -> u32 {
        let doubled = u64::from(self.cw_min) + 1;
        let doubled = doubled.checked_shl(failures.min(40)).unwrap_or(u64::MAX);
        u32::try_from(doubled - 1).unwrap_or(u32::MAX).min(self.cw_max)
    }

    /// Duration of a frame at a rate.
    pub fn airtime(&self, mcs: Mcs, psdu: Bytes) -> Duration {
        self.timing.airtime(mcs, psdu)
    }

    /// Duration of the response to a data frame.
    pub fn response_time(&self) -> Duration {
        self.airtime(self.response.mcs, self.response.psdu)
    }

    /// Duration of a data frame, SIFS and the response.
    pub fn exchange(&self, mcs: Mcs, psdu: Bytes) -> Duration {
        self.airtime(mcs, psdu) + self.sifs + self.response_time()
    }

    /// Octets of an IP packet in a frame.
    pub fn in_frame(&self, packet: Bytes) -> Bytes {
        let a = &self.aggregation;
        Bytes::new((packet.get() + a.per_packet.get()).next_multiple_of(a.align))
    }

    /// Size of the PSDU with these IP packets.
    pub fn psdu(&self, packets: impl IntoIterator<Item = Bytes>) -> Bytes {
        packets.into_iter().fold(self.aggregation.per_frame, |sum, p| sum + self.in_frame(p))
    }

    /// Number of these IP packets, in order, that fit into one frame at a rate; at least one.
    pub fn fill(&self, mcs: Mcs, packets: impl IntoIterator<Item = Bytes>) -> usize {
        let a = &self.aggregation;
        let mut psdu = a.per_frame;
        let fits = |psdu: Bytes, n: usize| {
            n == 1
                || psdu <= a.max_psdu
                    && a.max_packets.is_none_or(|m| n <= m as usize)
                    && a.max_time.is_none_or(|t| self.airtime(mcs, psdu) <= t)
        };
        let mut n = 0;
        for packet in packets {
            psdu += self.in_frame(packet);
            if !fits(psdu, n + 1) {
                break;
            }
            n += 1;
        }
        n
    }
}
