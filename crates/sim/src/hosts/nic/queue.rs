//! The queue of an interface for one destination and class: packets, and flows that hold bytes.
//!
//! Flows hand over their packets first come, first served, or in turn. A queue does not know when
//! it may send.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{Endpoints, HandedOver, Timers};
use crate::hosts::flow::FlowKey;
use crate::hosts::pauses::Held;
use crate::hosts::turns::{Quanta, Turns, Waiting};
use crate::network::link::LinkState;
use crate::network::packet::Packet;
use std::collections::VecDeque;

/// The backlog for one destination.
#[derive(Debug)]
pub(super) struct Queue {
    /// Packets that were handed over, with the times at which they came. They go before flows.
    pub packets: VecDeque<(SimTime, Packet)>,
    /// Flows that hold bytes.
    pub flows: Flows,
    /// The place in the interface's order that was last noted, see [`since`](Self::since).
    pub listed: Option<SimTime>,
}

/// Flows in a queue.
#[derive(Debug)]
pub(super) enum Flows {
    /// First come, first served, with the times at which they came.
    InOrder(VecDeque<(SimTime, FlowKey)>),
    /// In turn, by their credits.
    InTurn(Box<Turns>),
}

impl Queue {
    /// An empty queue, in which flows have turns of these sizes, or come first come, first served.
    pub fn new(turns: Option<Quanta>) -> Self {
        let flows = match turns {
            None => Flows::InOrder(VecDeque::new()),
            Some(quanta) => Flows::InTurn(Box::new(Turns::new(quanta))),
        };
        Self { packets: VecDeque::new(), flows, listed: None }
    }

    pub fn len(&self) -> usize {
        let flows = match &self.flows {
            Flows::InOrder(flows) => flows.len(),
            Flows::InTurn(turns) => turns.len(),
        };
        self.packets.len() + flows
    }

    pub fn is_empty(&self) -> bool {
        let no_flows = match &self.flows {
            Flows::InOrder(flows) => flows.is_empty(),
            Flows::InTurn(turns) => turns.is_empty(),
        };
        self.packets.is_empty() && no_flows
    }

    /// When its first packet or flow came.
    pub fn since(&self) -> Option<SimTime> {
        let packet = self.packets.front().map(|p| p.0);
        let flow = match &self.flows {
            Flows::InOrder(flows) => flows.front().map(|f| f.0),
            Flows::InTurn(turns) => turns.iter().map(|w| w.since).min(),
        };
        match (packet, flow) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// As [`since`](Self::since), of packets and flows that are not held.
    pub fn since_besides(&self, held: Held) -> Option<SimTime> {
        if !held.any() {
            return self.since();
        }
        let packet = self.packets.iter().find(|p| !held.stops(&p.1)).map(|p| p.0);
        let flow = self.flows().map(|f| f.0).min().filter(|_| !held.data);
        packet.into_iter().chain(flow).min()
    }

    /// All flows with the times at which they came, in the order in which they send next.
    pub fn flows(&self) -> impl Iterator<Item = (SimTime, FlowKey)> + '_ {
        let (in_order, in_turn) = match &self.flows {
            Flows::InOrder(flows) => (Some(flows.iter().copied()), None),
            Flows::InTurn(turns) => (None, Some(turns.iter().map(|w| (w.since, w.flow)))),
        };
        in_order.into_iter().flatten().chain(in_turn.into_iter().flatten())
    }

    /// The flow that sends until it holds no more, if no packet goes before.
    pub fn only(&self) -> Option<FlowKey> {
        match &self.flows {
            Flows::InOrder(flows) if self.packets.is_empty() => flows.front().map(|f| f.1),
            _ => None,
        }
    }

    /// Adds a flow that is not here. `credit` is what it [left](Turns::leaves) with.
    pub fn push(&mut self, since: SimTime, flow: FlowKey, class: u8, credit: Option<i64>) {
        match &mut self.flows {
            Flows::InOrder(flows) => flows.push_back((since, flow)),
            Flows::InTurn(turns) => turns.join(since, flow, class, credit),
        }
    }

    /// Adds a flow that is not here behind those that hold no more than it; flows in turn keep to
    /// their turns. Only the first flow sends, so the others' order stays right.
    pub fn push_in_order(&mut self, since: SimTime, flow: FlowKey, holds: impl Fn(FlowKey) -> u64) {
        match &mut self.flows {
            Flows::InOrder(flows) => {
                let own = holds(flow);
                let place = flows.partition_point(|f| holds(f.1) <= own);
                flows.insert(place, (since, flow));
            }
            Flows::InTurn(turns) => turns.join(since, flow, 0, None),
        }
    }

    /// Removes a flow. Returns the credit that it leaves with, if it had turns.
    pub fn withdraw(&mut self, flow: FlowKey) -> Option<i64> {
        match &mut self.flows {
            Flows::InOrder(flows) => {
                flows.retain(|f| f.1 != flow);
                None
            }
            Flows::InTurn(turns) => turns.withdraw(flow),
        }
    }
}

/// The packet of the flow whose turn it is, of at most `largest` bytes without framing. `None` if
/// that is larger, or if no flow has one.
///
/// A flow whose packet does not fit keeps its turn.
pub(super) fn take_turn(
    turns: &mut Turns,
    now: SimTime,
    largest: u32,
    link: &LinkState,
    ends: &mut Endpoints,
    timers: &mut impl Timers,
) -> Option<Packet> {
    loop {
        let Waiting { flow, since, .. } = turns.next_turn(0)?;
        match ends.take_late_turn(now, flow, since, largest, timers) {
            HandedOver::Packet { packet, more } => {
                turns.sent(link.wire(packet.bytes));
                if !more {
                    ends.turn_is_over(flow, turns.leaves());
                }
                return Some(packet);
            }
            HandedOver::TooLarge => return None,
            HandedOver::Nothing => ends.turn_is_over(flow, turns.leaves()),
        }
    }
}
