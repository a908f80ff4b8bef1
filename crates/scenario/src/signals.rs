//! How gates are told by control frames instead of by clocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// PFC frames that open and close the hosts' gates: how they are sent, and how fast hosts obey.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignalSpec {
    /// From a frame's arrival at a host until it is obeyed.
    pub reaction: Reaction,
    /// From the end of one control frame to the begin of the next one of the same interface, at least: what it costs to hand it over.
    pub frame_gap: Duration,
    /// Through how many interfaces the controller sends.
    pub interfaces: Interfaces,
    /// For how long a frame opens a gate at most, unless another one comes. A pause time of IEEE 802.3x is at most 65,535 quanta of 512 bits:
    /// 3.36 ms at 10 Gb/s.
    pub hold: Duration,
}

impl Default for SignalSpec {
    fn default() -> Self {
        Self {
            reaction: Reaction::default(),
            frame_gap: Duration::ZERO,
            interfaces: Interfaces::default(),
            hold: Duration::from_us(3_355),
        }
    }
}

/// Through how many interfaces control frames go out; those of one interface leave one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interfaces {
    /// One.
    #[default]
    One,
    /// One for each switch with hosts.
    PerEdgeSwitch,
}

/// How fast a host obeys a control frame. A frame that is being sent is always finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// At once.
    Immediate,
    /// An interface that obeys 802.3x by itself: 2 to 6 us (Practical TDMA, figure 1).
    #[default]
    Interface,
    /// A program that parses PFC and opens queues: 100 to 200 us (Practical TDMA, section 3).
    UserSpace,
    /// The interface of REACToR's hosts (section 4.2): no frame is begun 1,014 ns after the control frame, so that one more may leave than was
    /// being sent; on after 1.2 to 1.3 us.
    #[serde(rename = "intel_82599")]
    Intel82599,
    /// As measured.
    Times(ReactionTimes),
}

/// From a control frame's arrival until it is obeyed: evenly between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReactionTimes {
    /// No frame is begun any more: at the earliest.
    pub off_least: Duration,
    /// At the latest.
    pub off_most: Duration,
    /// Frames may begin: at the earliest.
    pub on_least: Duration,
    /// At the latest.
    pub on_most: Duration,
}

impl Reaction {
    /// The times.
    pub const fn times(self) -> ReactionTimes {
        match self {
            Self::Times(times) => times,
            Self::Immediate => even(Duration::ZERO, Duration::ZERO),
            Self::Interface => even(Duration::from_us(2), Duration::from_us(6)),
            Self::UserSpace => even(Duration::from_us(100), Duration::from_us(200)),
            Self::Intel82599 => ReactionTimes {
                off_least: Duration::from_ns(1_014),
                off_most: Duration::from_ns(1_014),
                on_least: Duration::from_ns(1_200),
                on_most: Duration::from_ns(1_300),
            },
        }
    }
}

const fn even(least: Duration, most: Duration) -> ReactionTimes {
    ReactionTimes { off_least: least, off_most: most, on_least: least, on_most: most }
}
