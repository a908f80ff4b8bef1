//! How gates are told by control frames instead of by clocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, Fabric, HostId, Link, Rate};

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

/// Bytes of a control frame on the wire: the smallest Ethernet frame with preamble and gap.
const FRAME: Bytes = Bytes::new(84);

impl SignalSpec {
    /// Per host, the number of the interface that reaches it, where so many controllers are in charge of [parts](Fabric::parts) of the hosts: each has
    /// interfaces of its own. One controller is 0 or 1.
    pub fn interfaces_of(&self, fabric: &Fabric, controllers: u32) -> Vec<u32> {
        let mut switches = Vec::new();
        let parts = fabric.parts(controllers);
        let of = |h: u32| {
            let switch = match self.interfaces {
                Interfaces::One => 0,
                Interfaces::PerEdgeSwitch => fabric.link(fabric.uplink(HostId(h))).to.0,
            };
            let switch = (parts[h as usize], switch);
            let known = switches.iter().position(|&s| s == switch);
            known.unwrap_or_else(|| {
                switches.push(switch);
                switches.len() - 1
            }) as u32
        };
        (0..fabric.hosts()).map(of).collect()
    }

    /// Line time of a control frame. The controller's interfaces are as fast as the hosts.
    pub fn frame_time(&self, fabric: &Fabric) -> Duration {
        fabric.link(fabric.uplink(HostId(0))).spec.rate.time_for(FRAME)
    }

    /// From the first to the last of the frames of one controller that open a slot in which all hosts send; of `controllers`, 0 or 1 where there is one.
    pub fn skew(&self, fabric: &Fabric, controllers: u32) -> Duration {
        let of = self.interfaces_of(fabric, controllers);
        let interfaces = of.iter().max().map_or(0, |most| most + 1);
        let most = (0..interfaces).map(|i| of.iter().filter(|&&o| o == i).count()).max().unwrap_or(0);
        (self.frame_time(fabric) + self.frame_gap) * (most as i64 - 1).max(0)
    }

    /// The shortest guard with which no packet of a slot ever meets one of the slot before, where frames are of `frame` bytes on the wire:
    ///
    /// `skew + off_most - on_least + frame time + (hops - 2) x (frame time + propagation + switch latency)`
    ///
    /// A sender stops at the latest when the last of the closing frames comes in and the slowest reaction is over, and then still finishes
    /// the frame that it has begun; another one begins at the earliest with the first of the opening frames and the quickest reaction.
    /// What comes over the fabric's longest path arrives later than what comes over a single switch.
    ///
    /// Slots may begin with a frame that is shorter than the last one of the slot before, as where a flow ends: it is through a switch earlier.
    /// With such frames, the guard has to be longer by the difference, at most a frame.
    ///
    /// Where there are several controllers, 0 or 1 is one, this is for clocks that agree; see [`TdmaSpec::least_guard`](crate::TdmaSpec::least_guard).
    pub fn least_guard(&self, fabric: &Fabric, frame: Bytes, controllers: u32) -> Duration {
        let times = self.reaction.times();
        let line = |rate: Rate| rate.time_for(frame);
        let hop = |l: &Link| {
            let latency = fabric.switch(l.from).map_or(Duration::ZERO, |s| s.latency);
            line(l.spec.rate) + l.spec.propagation + latency
        };
        let slowest = fabric.links().iter().map(hop).max().unwrap_or(Duration::ZERO);
        let in_progress = (0..fabric.hosts())
            .map(|h| line(fabric.link(fabric.uplink(HostId(h))).spec.rate))
            .max()
            .unwrap_or_default();
        let further = longest_path(fabric) as i64 - 2;
        self.skew(fabric, controllers) + times.off_most - times.on_least + in_progress + slowest * further
    }
}

/// Links of the longest of all shortest paths between hosts, or an upper bound where there are many switches with hosts.
fn longest_path(fabric: &Fabric) -> usize {
    let mut edges: Vec<(u32, HostId)> = Vec::new();
    for host in (0..fabric.hosts()).map(HostId) {
        let switch = fabric.link(fabric.uplink(host)).to.0;
        if !edges.iter().any(|e| e.0 == switch) {
            edges.push((switch, host));
        }
    }
    let from = |one: HostId| {
        let others = edges.iter().filter(move |other| other.1 != one);
        others.map(|other| fabric.path(one, other.1, 0).len()).max().unwrap_or(2)
    };
    if edges.len() > 256 {
        // No two switches are further apart than by way of the first one.
        return edges.first().map_or(2, |e| 2 * from(e.1) - 2);
    }
    edges.iter().map(|e| from(e.1)).max().unwrap_or(2)
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
