//! Flows in progress. A flow's slot is used again once nothing of it is left in the network.

use crate::network::packet::Ahead;
use timeplane_transport::{RawReceiver, RawSender, Receiver, Sender};
use timeplane_workload::PacketSizer;

/// No coflow, no timer, no index.
pub const NONE: u32 = u32::MAX;
/// [`Flow::armed`] of a flow without a pending timer.
pub const UNARMED: i64 = i64::MAX;

/// A flow in progress, both ends of it. What its receiver needs of it comes first, in one cache line, what its sender needs
/// beside that and the rest in another.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow {
    /// Its transport.
    pub state: State,
    /// Application bytes that arrived, each once.
    pub received: u64,
    /// When the latest new byte arrived at the receiver, in ps.
    pub last: i64,
    /// Packets and reports of it that are under way.
    pub in_flight: u32,
    /// Packets sent, both ways.
    pub sent: u32,
    /// Its number in the order of arrival.
    pub number: u32,
    /// To whom.
    pub destination: u32,
    /// ECMP hash towards the destination.
    pub hash: u32,
    /// Whether a queue of its host's interface refers to it.
    pub queued: bool,
    /// Its traffic class: 0 goes first.
    pub class: u8,
    /// Whether it counts.
    pub measured: bool,
    /// The links of packets towards the destination.
    pub ahead: Ahead,
    /// Application bytes to carry.
    pub bytes: u64,
    /// When it arrived at the sender, in ps.
    pub start: i64,
    /// How long it takes in a network that is empty otherwise, in ps.
    pub ideal: i64,
    /// When its pending timer fires, or `UNARMED`.
    pub armed: i64,
    /// Who sends.
    pub source: u32,
    /// Its coflow, or `NONE`.
    pub coflow: u32,
}

/// How what comes back finds its way.
#[derive(Clone, Copy, Debug)]
pub struct Back {
    /// ECMP hash.
    pub hash: u32,
    /// Its links.
    pub ahead: Ahead,
}

/// Both ends of a flow's transport.
#[derive(Debug)]
pub enum State {
    /// Open-loop datagrams: what is not yet sent, and how it is cut.
    Datagrams {
        /// Application bytes to be sent.
        unsent: u64,
        /// Sizes of the packets.
        cut: Cut,
        /// What is left of a packet that was cut once more, in bytes of payload.
        fragment: u32,
    },
    /// Raw frames with repair.
    Raw(Box<(RawSender, RawReceiver)>),
    /// TCP.
    Tcp(Box<(Sender, Receiver, Back)>),
}

/// How a flow of datagrams is cut into packets.
#[derive(Debug)]
pub enum Cut {
    /// Into so much payload each, and the rest.
    Even(u32),
    /// Into drawn sizes.
    Random(Box<PacketSizer>),
}

impl Flow {
    /// Application bytes that its sender would send now if it could: what its source still holds.
    pub fn unsent(&self) -> u64 {
        match &self.state {
            State::Datagrams { unsent, .. } => *unsent,
            State::Raw(ends) => ends.0.backlog(),
            State::Tcp(_) => 0,
        }
    }
    /// Whether neither end has anything left to do, once nothing is in flight.
    pub fn is_over(&self) -> bool {
        match &self.state {
            State::Datagrams { unsent, .. } => *unsent == 0,
            State::Raw(ends) => ends.0.is_done(),
            State::Tcp(ends) => ends.0.is_done(),
        }
    }
}

// Two lines each.
const _: () = assert!(size_of::<Option<Flow>>() == 128);

/// Flows by slot.
#[derive(Debug, Default)]
pub struct Flows {
    slots: Vec<Option<Flow>>,
    free: Vec<u32>,
}

impl Flows {
    /// Keeps a flow.
    pub fn insert(&mut self, flow: Flow) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(flow);
            slot
        } else {
            self.slots.push(Some(flow));
            (self.slots.len() - 1) as u32
        }
    }
    /// The flow at a slot.
    ///
    /// # Panics
    /// Where there is none: what refers to a flow keeps it alive.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Flow {
        self.slots[slot as usize].as_mut().expect("a flow in progress")
    }
    /// The flow at a slot.
    ///
    /// # Panics
    /// Where there is none.
    pub fn get(&self, slot: u32) -> &Flow {
        self.slots[slot as usize].as_ref().expect("a flow in progress")
    }
    /// Something of the flow at a slot, so that it is near when it is needed.
    #[inline]
    pub(crate) fn read_early(&self, slot: u32) -> u32 {
        self.slots[slot as usize].as_ref().map_or(0, |flow| flow.in_flight ^ flow.ahead[0])
    }
    /// The flow at a slot, if it is still this one.
    pub fn find(&mut self, slot: u32, number: u32) -> Option<&mut Flow> {
        self.slots[slot as usize].as_mut().filter(|f| f.number == number)
    }
    /// Where the flow of this number is, if it is in progress. Looks through all.
    pub fn slot_of(&self, number: u32) -> Option<u32> {
        let found = self.slots.iter().position(|f| f.as_ref().is_some_and(|f| f.number == number))?;
        u32::try_from(found).ok()
    }
    /// Takes a flow out.
    pub fn remove(&mut self, slot: u32) -> Flow {
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a flow in progress")
    }
    /// Takes all out, by number.
    pub fn drain(&mut self) -> Vec<Flow> {
        let mut all: Vec<Flow> = self.slots.iter_mut().filter_map(Option::take).collect();
        all.sort_unstable_by_key(|f| f.number);
        self.slots.clear();
        self.free.clear();
        all
    }
    /// All in progress with their slots, in an order that depends on nothing but what has happened.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Flow)> {
        self.slots.iter().zip(0..).filter_map(|(f, slot)| Some((slot, f.as_ref()?)))
    }
    /// How many are in progress.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
