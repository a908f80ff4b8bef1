//! Gates that open and close by control frames instead of by clocks: the `signals` of plans of
//! slots and circuits, and the guard time that they need.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, CUT_THROUGH_HEADER, Duration, Fabric, Forwarding, HostId, Link, Rate};

/// PFC frames that open and close the hosts' gates: how they are sent, and how fast hosts react.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignalSpec {
    /// Time from a frame's arrival at a host until it takes effect.
    pub reaction: Reaction,
    /// Minimum time between two control frames of one interface: the cost of sending one.
    pub frame_gap: Duration,
    /// Number of interfaces of the controller.
    pub interfaces: Interfaces,
    /// Longest time that a frame opens a gate without another frame. A pause time of IEEE 802.3x is
    /// at most 65,535 quanta of 512 bits, or 3.36 ms at 10 Gb/s.
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

/// Bytes of a control frame on the wire: the smallest Ethernet frame with preamble and interframe
/// gap.
const FRAME: Bytes = Bytes::new(84);

impl SignalSpec {
    /// The number of the interface that reaches each host. Each of `controllers` relays has its own
    /// interfaces for its [part](Fabric::parts) of the hosts; 0 and 1 stand for a single
    /// controller.
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

    /// Line time of a control frame. The controller's interfaces are as fast as the hosts'.
    pub fn frame_time(&self, fabric: &Fabric) -> Duration {
        fabric.link(fabric.uplink(HostId(0))).spec.rate.time_for(FRAME)
    }

    /// Time between the first and the last frame of one controller that open a slot in which all
    /// hosts send. `controllers` is the number of relays; 0 and 1 stand for a single controller.
    pub fn skew(&self, fabric: &Fabric, controllers: u32) -> Duration {
        let of = self.interfaces_of(fabric, controllers);
        let interfaces = of.iter().max().map_or(0, |most| most + 1);
        let most = (0..interfaces).map(|i| of.iter().filter(|&&o| o == i).count()).max().unwrap_or(0);
        (self.frame_time(fabric) + self.frame_gap) * (most as i64 - 1).max(0)
    }

    /// Minimum guard time with which no packets of two slots meet, for frames of `frame` bytes on
    /// the wire:
    ///
    /// `skew + off_most - on_least + frame time + (hops - 2) x (store time + propagation + switch
    /// latency)`
    ///
    /// The store time is the frame time, or with `cut_through` that of the 64 B that a switch reads
    /// first. If links differ in rate, the frame then also ends later on a slow link than on the
    /// fastest one.
    ///
    /// The last sender stops when it has received the last closing frame, reacted as slowly as
    /// possible and finished its current frame. The next sender starts as soon as it has received
    /// the first opening frame and reacted as fast as possible. Packets on the fabric's longest
    /// path arrive later than those across a single switch.
    ///
    /// A slot may start with a frame that is shorter than the last one of the slot before, for
    /// example if a flow ends. It passes a switch that stores it faster, so the guard time has to
    /// be longer by the difference, at most one frame.
    ///
    /// With several controllers this assumes equal clocks; see
    /// [`TdmaSpec::least_guard`](crate::TdmaSpec::least_guard).
    pub fn least_guard(&self, fabric: &Fabric, frame: Bytes, controllers: u32) -> Duration {
        let times = self.reaction.times();
        let line = |rate: Rate| rate.time_for(frame);
        let fastest = fabric.links().iter().map(|l| line(l.spec.rate)).min().unwrap_or_default();
        let header = frame.min(Bytes::new(CUT_THROUGH_HEADER.into()));
        let store = |l: &Link| {
            let mut switches = [l.from, l.to].into_iter().filter_map(|n| fabric.switch(n));
            match switches.all(|s| s.forwarding == Forwarding::CutThrough) {
                true => l.spec.rate.time_for(header) + line(l.spec.rate) - fastest,
                false => line(l.spec.rate),
            }
        };
        let hop = |l: &Link| {
            let latency = fabric.switch(l.from).map_or(Duration::ZERO, |s| s.latency);
            store(l) + l.spec.propagation + latency
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

/// Number of links of the longest shortest path between hosts; an upper bound if many switches have
/// hosts.
pub(crate) fn longest_path(fabric: &Fabric) -> usize {
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
        // The path through the first switch bounds the distance of any two switches.
        return edges.first().map_or(2, |e| 2 * from(e.1) - 2);
    }
    edges.iter().map(|e| from(e.1)).max().unwrap_or(2)
}

/// Interfaces of the controller. Control frames of one interface are sent one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interfaces {
    /// One interface.
    #[default]
    One,
    /// One interface for each switch with hosts.
    PerEdgeSwitch,
}

/// Time until a host reacts to a control frame. A frame that is being sent always finishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// No delay.
    Immediate,
    /// An interface that implements 802.3x in hardware: 2 to 6 us (Practical TDMA, figure 1).
    #[default]
    Interface,
    /// A program that parses PFC frames and opens queues: 147.5 to 152.5 us. Practical TDMA
    /// (section 3.2.4) has averages of 100 to 200 us for most frame sizes with a low variation; the
    /// spread is that of a host's interface there, about 5 us. For another one, give `times`.
    UserSpace,
    /// The interface of REACToR's hosts (section 4.2). No frame starts later than 1,014 ns after
    /// the control frame, so one more frame may follow the current one. Sending resumes after 1.2
    /// to 1.3 us.
    #[serde(rename = "intel_82599")]
    Intel82599,
    /// Measured times.
    Times(ReactionTimes),
}

/// Time from a control frame's arrival until it takes effect; uniform between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReactionTimes {
    /// Minimum time until no more frames start.
    pub off_least: Duration,
    /// Maximum time until no more frames start.
    pub off_most: Duration,
    /// Minimum time until frames start again.
    pub on_least: Duration,
    /// Maximum time until frames start again.
    pub on_most: Duration,
}

impl Reaction {
    /// The bounds of the reaction times.
    pub const fn times(self) -> ReactionTimes {
        match self {
            Self::Times(times) => times,
            Self::Immediate => even(Duration::ZERO, Duration::ZERO),
            Self::Interface => even(Duration::from_us(2), Duration::from_us(6)),
            Self::UserSpace => even(Duration::from_ns(147_500), Duration::from_ns(152_500)),
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
