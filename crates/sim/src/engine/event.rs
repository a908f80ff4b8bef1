//! Kinds of events, and the order of those that happen at one instant.
//!
//! Events order by time, phase, element and detail. Nothing depends on the order in which they were
//! scheduled, so engines that schedule differently still handle events in the same order. This
//! module names the events; it does not handle them.

use crate::engine::time::SimTime;

/// What happens first among the events of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Links, circuits, beams and pauses change.
    Retune = 0,
    /// A packet arrives over a link; the element is the link.
    Arrive = 1,
    /// A packet has spent its time within a host; the element is the link of the host.
    Pass = 2,
    /// A flow starts.
    Start = 3,
    /// Agents act: a message arrives, a deadline passes, a gate opens. The element is the node.
    Open = 4,
    /// An interface is free for its next packet; the element is its host or port.
    Send = 5,
    /// A transport's deadline passes; the element is the flow's number.
    Timer = 6,
    /// State is sampled.
    Sample = 7,
}

impl Phase {
    pub(super) const ALL: [Self; 8] =
        [Self::Retune, Self::Arrive, Self::Pass, Self::Start, Self::Open, Self::Send, Self::Timer, Self::Sample];
}

/// What an event of the calendar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A PFC frame takes effect: the sender on `link` pauses these priorities, one bit each.
    Pause {
        /// The link whose sender obeys.
        link: u32,
        /// The paused priorities.
        priorities: u8,
    },
    /// The first packet in flight on `link` arrives.
    Arrival {
        /// The number of the link in the network.
        link: u32,
    },
    /// The first packet within a host goes on: to the switch at the end of this link, or to the
    /// host's transport.
    PassHost {
        /// The link on which the host sends or receives.
        link: u32,
    },
    /// An agent's deadline passes.
    AgentDue {
        /// A host, or a controller behind all hosts.
        node: u32,
    },
    /// The agent of a host hears that its queues have changed.
    QueuesChanged {
        /// The host that the agent runs on.
        host: u32,
    },
    /// A timeslot starts for hosts that act in step. All agents have acted by then.
    Timeslot,
    /// An interface may be free.
    Serve {
        /// A host, or a switch port: the number of hosts plus that of its link.
        sender: u32,
    },
    /// A rack multiplexer may send on `link`.
    Multiplexer {
        /// The link to the host.
        link: u32,
    },
    /// The wireless medium continues.
    Air,
    /// Flyways go up or down.
    Flyways,
    /// A host may send a packet that its rack has granted.
    Granted {
        /// The host whose link carries it.
        host: u32,
    },
    /// A flow's timer fires.
    Timer {
        /// The number of the flow, which outlives its key.
        flow: u32,
        /// Its [`FlowKey`](crate::hosts::flow::FlowKey).
        key: u32,
    },
}

impl EventKind {
    /// The key that gives the event its place among those of its instant.
    ///
    /// # Panics
    /// In debug builds where a flow's key exceeds 28 bits.
    #[inline]
    pub const fn key(self) -> Key {
        match self {
            Self::Pause { link, priorities } => Key::new(Phase::Retune, link, priorities as u32),
            Self::Arrival { link } => Key::new(Phase::Arrive, link, 0),
            Self::PassHost { link } => Key::new(Phase::Pass, link, 0),
            Self::AgentDue { node } => Key::new(Phase::Open, node, 0),
            Self::QueuesChanged { host } => Key::new(Phase::Open, host, 1),
            Self::Timeslot => Key::new(Phase::Open, u32::MAX, 2),
            Self::Serve { sender } => Key::new(Phase::Send, sender, 0),
            Self::Multiplexer { link } => Key::new(Phase::Send, link, 1),
            Self::Air => Key::new(Phase::Send, 0, 2),
            Self::Flyways => Key::new(Phase::Send, 0, 3),
            Self::Granted { host } => Key::new(Phase::Send, host, 4),
            Self::Timer { flow, key } => Key::new(Phase::Timer, flow, key),
        }
    }
}

/// An event of the engine's own queues: flows to start, messages, samples. It never enters the
/// calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutsideEvent {
    /// Something fails or returns, a rate changes, or a device changes its access point.
    Change,
    /// A slice of rotor switches begins.
    Slice,
    /// A flow starts.
    FlowStart,
    /// A message between agents arrives.
    Message,
    /// A repair report arrives at its sender.
    RepairReport,
    /// The proxy or an access point acts.
    Proxy,
    /// The queues of all links are sampled.
    SampleQueues,
    /// The bytes that hosts received are sampled.
    SampleReceived,
    /// The state of TCP senders is sampled.
    SampleTcp,
}

impl OutsideEvent {
    /// The event at `at`, to compare with those of the calendar.
    pub(crate) const fn at(self, at: SimTime) -> Event {
        let key = match self {
            Self::Change => Key::new(Phase::Retune, 0, 0),
            Self::Slice => Key::new(Phase::Retune, 0, 1),
            Self::FlowStart => Key::new(Phase::Start, 0, 0),
            Self::Message => Key::new(Phase::Open, 0, 0),
            Self::RepairReport => Key::new(Phase::Open, 0, 1),
            Self::Proxy => Key::new(Phase::Open, 0, 2),
            Self::SampleQueues => Key::new(Phase::Sample, 0, 0),
            Self::SampleReceived => Key::new(Phase::Sample, 0, 1),
            Self::SampleTcp => Key::new(Phase::Sample, 0, 2),
        };
        Event { at, key }
    }
}

/// A phase, its element and a detail, packed into one number that orders events of one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

const DETAIL_BITS: u32 = 28;

impl Key {
    /// Before all others.
    pub const FIRST: Self = Self(0);
    /// After all others.
    pub const LAST: Self = Self(u64::MAX);

    #[inline]
    pub(super) const fn new(phase: Phase, element: u32, detail: u32) -> Self {
        debug_assert!(detail < 1 << DETAIL_BITS);
        Self((phase as u64) << 60 | (element as u64) << DETAIL_BITS | detail as u64)
    }
    /// What it orders by first.
    #[inline]
    pub fn phase(self) -> Phase {
        Phase::ALL[(self.0 >> 60) as usize]
    }
    /// What it orders by within its phase, such as a link or a host.
    #[inline]
    pub const fn element(self) -> u32 {
        (self.0 >> DETAIL_BITS) as u32
    }
    #[inline]
    pub(super) const fn detail(self) -> u32 {
        self.0 as u32 & ((1 << DETAIL_BITS) - 1)
    }

    /// The kind of an event that the calendar gave.
    ///
    /// # Panics
    /// For keys that no [`EventKind`] has.
    pub fn kind(self) -> EventKind {
        let element = self.element();
        match (self.phase(), self.detail()) {
            (Phase::Retune, priorities) => EventKind::Pause { link: element, priorities: priorities as u8 },
            (Phase::Arrive, _) => EventKind::Arrival { link: element },
            (Phase::Pass, _) => EventKind::PassHost { link: element },
            (Phase::Open, 0) => EventKind::AgentDue { node: element },
            (Phase::Open, 1) => EventKind::QueuesChanged { host: element },
            (Phase::Open, _) => EventKind::Timeslot,
            (Phase::Send, 0) => EventKind::Serve { sender: element },
            (Phase::Send, 1) => EventKind::Multiplexer { link: element },
            (Phase::Send, 2) => EventKind::Air,
            (Phase::Send, 3) => EventKind::Flyways,
            (Phase::Send, _) => EventKind::Granted { host: element },
            (Phase::Timer, key) => EventKind::Timer { flow: element, key },
            (Phase::Start | Phase::Sample, _) => unreachable!("{self:?} never enters the calendar"),
        }
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?} {}/{}", self.phase(), self.element(), self.detail())
    }
}

/// A scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happens.
    pub at: SimTime,
    /// What it is, and its order at that instant.
    pub key: Key,
}

impl Event {
    /// After all others.
    pub const NEVER: Self = Self { at: SimTime::MAX, key: Key::LAST };

    /// One number, so that comparing takes no branch; no time is negative.
    #[inline]
    const fn order(self) -> u128 {
        (self.at.0 as u128) << 64 | self.key.0 as u128
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_what_they_are_given() {
        let k = Key::new(Phase::Timer, u32::MAX, (1 << 28) - 1);
        assert_eq!((k.phase(), k.element(), k.detail()), (Phase::Timer, u32::MAX, (1 << 28) - 1));
        assert!(Key::new(Phase::Arrive, u32::MAX, 9) < Key::new(Phase::Start, 0, 0));
    }

    #[test]
    fn kinds_survive_their_keys() {
        for kind in [
            EventKind::Pause { link: 7, priorities: 0x81 },
            EventKind::Arrival { link: u32::MAX },
            EventKind::PassHost { link: 5 },
            EventKind::AgentDue { node: 3 },
            EventKind::QueuesChanged { host: 3 },
            EventKind::Timeslot,
            EventKind::Serve { sender: 9 },
            EventKind::Multiplexer { link: 9 },
            EventKind::Air,
            EventKind::Flyways,
            EventKind::Granted { host: 9 },
            EventKind::Timer { flow: u32::MAX, key: 5 },
        ] {
            assert_eq!(kind.key().kind(), kind);
        }
    }
}
