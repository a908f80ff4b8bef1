//! Flows in progress: a record for the sender, one for the receiver, and the books of both.
//!
//! A flow has a number for the run, and a key while it is in progress. The key is used again once
//! nothing of the flow is left in the network. Flows do not know hosts or links beyond their
//! numbers.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{SprayedPaths, Timers};
use crate::network::packet::Ahead;
use timeplane_model::Time;
use timeplane_transport::ndp::{NdpReceiver, NdpSender};
use timeplane_transport::{RawReceiver, RawSender, Receiver, Sender};
use timeplane_workload::PacketSizer;

/// The place of a flow in the table of [`Flows`].
pub type FlowKey = u32;

/// No coflow, no host.
pub const NONE: u32 = u32::MAX;
/// [`ReceiverEnd::armed`] of a flow without a pending timer.
pub const UNARMED: i64 = i64::MAX;

/// A flow in progress, in two cache lines: the first one serves arrivals, the second one
/// departures.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow {
    /// The receiving end.
    pub receiver: ReceiverSide,
    /// Application bytes to carry.
    pub bytes: u64,
    /// When it arrived at the sender, in ps.
    pub start: i64,
    /// Its completion time in an empty network, in ps.
    pub ideal: i64,
    /// Packets and reports under way, in both directions.
    pub in_flight: u32,
    /// Packets sent, in both directions.
    pub sent: u32,
    /// Its number, in the order of arrival.
    pub number: u32,
    /// The receiving host.
    pub destination: u32,
    /// The sending end.
    pub sender: SenderSide,
}

/// The sending end of a flow, in a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
pub struct SenderSide {
    /// The transport's sender.
    pub transport: SenderTransport,
    /// The links of packets towards the destination.
    pub ahead: Ahead,
    /// ECMP hash of packets towards the destination.
    pub hash: u32,
    /// The sending host.
    pub source: u32,
    /// Traffic class: 0 goes first.
    pub class: u8,
    /// Whether a queue of the host's interface refers to the flow.
    pub queued: bool,
    /// Whether the flow started within the measurement.
    pub measured: bool,
    /// The flow's coflow, or `NONE`.
    pub coflow: u32,
}

/// The receiving end of a flow.
#[derive(Debug)]
pub struct ReceiverSide {
    /// The transport's receiver and timer; datagrams have none.
    pub end: Option<Box<ReceiverEnd>>,
    /// Application bytes that arrived, each once.
    pub received: u64,
    /// When the latest new byte arrived, in ps.
    pub last: i64,
}

/// A receiver, with what the flow has beside both ends and few packets need.
#[derive(Debug)]
pub struct ReceiverEnd {
    /// The transport's receiver.
    pub transport: ReceiverTransport,
    /// When the pending timer of either end fires, or `UNARMED`.
    pub armed: i64,
    /// What was left of its credit when it last left the [turns](crate::hosts::turns) of its host.
    pub credit: Option<i64>,
    /// When the sender learned that all bytes have arrived, in ps.
    pub acknowledged: Option<i64>,
}

impl ReceiverEnd {
    /// The receiver's deadline, or [`Time::MAX`].
    #[inline]
    pub fn deadline(&self) -> Time {
        let deadline = match &self.transport {
            ReceiverTransport::Raw(receiver) => receiver.deadline(),
            ReceiverTransport::Tcp(receiver, _) => receiver.deadline(),
            ReceiverTransport::Ndp(receiver, _) => receiver.deadline(),
        };
        deadline.unwrap_or(Time::MAX)
    }

    /// Has the flow's timer fire at `at`, unless it fires earlier.
    #[inline]
    pub fn arm(&mut self, at: Time, number: u32, key: FlowKey, timers: &mut impl Timers) {
        if at.as_ps() < self.armed {
            self.armed = at.as_ps();
            timers.arm(SimTime::from_ps(at.as_ps()), number, key);
        }
    }
}

/// The sender of a flow's transport.
#[derive(Debug)]
pub enum SenderTransport {
    /// Open-loop datagrams.
    Datagrams {
        /// Application bytes to be sent.
        unsent: u64,
        /// Sizes of the packets.
        segmentation: Segmentation,
        /// The rest of a packet that was fragmented, in bytes of payload.
        fragment: u32,
    },
    /// Raw frames with repair.
    Raw(Box<RawSender>),
    /// A TCP sender with its congestion control.
    Tcp(Box<Sender>),
    /// An NDP sender, and the paths of its packets.
    Ndp(Box<NdpSender>, SprayedPaths),
}

/// The receiver of a flow's transport.
#[derive(Debug)]
pub enum ReceiverTransport {
    /// Raw frames with repair.
    Raw(RawReceiver),
    /// TCP, and the path of its acknowledgements.
    Tcp(Receiver, ReturnPath),
    /// NDP, and the paths of its answers and pulls.
    Ndp(NdpReceiver, SprayedPaths),
}

/// The path of acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct ReturnPath {
    /// ECMP hash.
    pub hash: u32,
    /// The links.
    pub ahead: Ahead,
}

/// How a flow of datagrams is divided into packets.
#[derive(Debug)]
pub enum Segmentation {
    /// So much payload in each packet, and the rest in the last one.
    Even(u32),
    /// Random sizes.
    Random(Box<PacketSizer>),
}

impl SenderSide {
    /// Application bytes that the sender would send now if it could. Those of TCP wait for windows,
    /// those of NDP for pulls.
    pub fn unsent(&self) -> u64 {
        match &self.transport {
            SenderTransport::Datagrams { unsent, .. } => *unsent,
            SenderTransport::Raw(sender) => sender.backlog(),
            SenderTransport::Tcp(_) | SenderTransport::Ndp(..) => 0,
        }
    }

    /// Whether the sender is done: it has sent all bytes, and knows that they arrived if it can.
    pub fn is_done(&self) -> bool {
        match &self.transport {
            SenderTransport::Datagrams { unsent, .. } => *unsent == 0,
            SenderTransport::Raw(sender) => sender.is_done(),
            SenderTransport::Tcp(sender) => sender.is_done(),
            SenderTransport::Ndp(sender, _) => sender.is_done(),
        }
    }
}

impl Flow {
    /// Whether nothing of the flow is left: not in the network, not in a queue, not at its sender.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.in_flight == 0 && !self.sender.queued && self.sender.is_done()
    }

    /// The sender has heard of its receiver: notes when it is done.
    #[inline]
    pub fn note_done(&mut self, at: SimTime) {
        if self.sender.is_done()
            && let Some(end) = &mut self.receiver.end
        {
            end.acknowledged.get_or_insert(at.as_ps());
        }
    }
}

// Two cache lines, and what its receiver needs in the first one.
const _: () = assert!(size_of::<Option<Flow>>() == 128 && core::mem::offset_of!(Flow, sender) == 64);

/// Flows in progress, by key.
#[derive(Debug, Default)]
pub struct Flows {
    flows: Vec<Option<Flow>>,
    free: Vec<FlowKey>,
}

impl Flows {
    /// Adds a flow.
    pub fn insert(&mut self, flow: Flow) -> FlowKey {
        if let Some(key) = self.free.pop() {
            self.flows[key as usize] = Some(flow);
            key
        } else {
            self.flows.push(Some(flow));
            (self.flows.len() - 1) as FlowKey
        }
    }

    /// The flow with this key.
    ///
    /// # Panics
    /// Where there is none: whatever refers to a flow keeps it in progress.
    #[inline(always)]
    pub fn get_mut(&mut self, key: FlowKey) -> &mut Flow {
        self.flows[key as usize].as_mut().expect("a flow in progress")
    }

    /// The flow with this key.
    ///
    /// # Panics
    /// Where there is none.
    #[inline(always)]
    pub fn get(&self, key: FlowKey) -> &Flow {
        self.flows[key as usize].as_ref().expect("a flow in progress")
    }

    /// Reads something of a flow, so that it is in the cache when it is needed.
    #[inline]
    pub(crate) fn read_early(&self, key: FlowKey) -> u32 {
        self.flows.get(key as usize).and_then(Option::as_ref).map_or(0, |flow| flow.in_flight ^ flow.sender.ahead[0])
    }

    /// The flow with this key, if it still has this number.
    pub fn find(&mut self, key: FlowKey, number: u32) -> Option<&mut Flow> {
        self.flows[key as usize].as_mut().filter(|f| f.number == number)
    }

    /// The key of the flow with this number, if it is in progress. Searches all flows.
    pub fn key_of(&self, number: u32) -> Option<FlowKey> {
        let found = self.flows.iter().position(|f| f.as_ref().is_some_and(|f| f.number == number))?;
        FlowKey::try_from(found).ok()
    }

    /// Removes a flow.
    pub fn remove(&mut self, key: FlowKey) -> Flow {
        self.free.push(key);
        self.flows[key as usize].take().expect("a flow in progress")
    }

    /// Removes all flows, and returns them by number.
    pub fn drain(&mut self) -> Vec<Flow> {
        let mut all: Vec<_> = self.flows.drain(..).flatten().collect();
        all.sort_unstable_by_key(|f| f.number);
        self.free.clear();
        all
    }

    /// All flows in progress with their keys. The order depends only on what happened in the run.
    pub fn iter(&self) -> impl Iterator<Item = (FlowKey, &Flow)> {
        self.flows.iter().zip(0..).filter_map(|(f, key)| Some((key, f.as_ref()?)))
    }

    /// The number of flows in progress.
    pub fn len(&self) -> usize {
        self.flows.len() - self.free.len()
    }

    /// Whether no flow is in progress.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
