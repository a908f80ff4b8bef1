//! A host's interface that serves flows in turn or packets in their order, and acknowledgements
//! before them.
//!
//! It models Linux' `fq` queue discipline with TCP small queues: a flow hands over a segment when
//! it is its [turn](crate::hosts::turns), so that neither short flows nor acknowledgements wait
//! behind a window of another flow. Behind the gates of a plan, the queues of a
//! [`Nic`](crate::hosts::nic::Nic) do the same, each for itself.
//!
//! It differs from Linux in three points. Nothing of a flow waits here, where TCP small queues
//! allow a millisecond of the flow's rate. Behind gates, where flows wait for long, senders count
//! that as outstanding ([`Sender::waits`](timeplane_transport::Sender::waits)). Acknowledgements
//! always go first; in Linux they have turns as any flow, which come at once as long as they are
//! few. A flow without segments keeps its credit for good, where Linux renews it after 40 ms.

use crate::engine::time::SimTime;
use crate::hosts::nic::STOPPED;
use crate::hosts::pauses::Held;
use crate::hosts::turns::{Quanta, Turns, Waiting, take};
use crate::network::packet::{Packet, flags};
use std::collections::VecDeque;

/// What leaves next.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    /// A packet that was handed over.
    Packet(Packet),
    /// This flow may hand over a segment.
    Flow(Waiting),
}

/// Ranks of packets that were handed over.
const RANKS: usize = 3;

/// What has no payload, retransmissions and other data, in the order in which they leave.
fn rank(packet: &Packet) -> usize {
    match packet.flags & (flags::ACK | flags::SYN | flags::RETRANSMISSION) {
        0 => 2,
        flags::RETRANSMISSION => 1,
        _ => 0,
    }
}

/// The interface of one host.
#[derive(Debug)]
pub struct FairQueue {
    /// Packets that were handed over: by [`rank`], and first come, first served within one.
    packets: [VecDeque<Packet>; RANKS],
    /// Whether flows hand over all that they may send, without turns.
    pub at_once: bool,
    /// Flows that wait for their turns.
    pub flows: Turns,
    /// Classes that the network has paused, one bit each.
    paused: u8,
    /// Packets that may not start, by the host's own pauses.
    pub held: Held,
    /// When an event serves it next; later pending events are stale.
    pub armed: SimTime,
}

impl FairQueue {
    /// An empty interface with these turns.
    pub fn new(quanta: Quanta) -> Self {
        Self {
            packets: Default::default(),
            at_once: quanta == Quanta::WHOLE,
            flows: Turns::new(quanta),
            paused: 0,
            held: Held::default(),
            armed: SimTime::MAX,
        }
    }

    /// A packet joins.
    pub fn push_packet(&mut self, packet: Packet) {
        self.packets[rank(&packet)].push_back(packet);
    }

    /// What leaves next. A packet is removed; a flow stays until it has sent its segment or leaves.
    pub fn next_turn(&mut self) -> Option<Turn> {
        let may_send = |p: &Packet| self.paused & 1 << (p.class() & 7) == 0 && !self.held.stops(p);
        for queue in self.packets.iter_mut().filter(|queue| !queue.is_empty()) {
            if let Some(i) = queue.iter().position(may_send) {
                return take(queue, i).map(Turn::Packet);
            }
        }
        if self.held.data {
            return None;
        }
        self.flows.next_turn(self.paused).map(Turn::Flow)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.iter().all(VecDeque::is_empty) && self.flows.is_empty()
    }

    /// Whether it would send any packet as soon as one comes: nothing waits or is paused.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.armed == SimTime::MAX && self.paused == 0 && self.is_empty()
    }

    /// The network accepts no packets of these classes, one bit each, and packets of all others.
    pub fn pause(&mut self, classes: u8) {
        self.paused = classes;
    }

    /// The link or the host has failed: sends nothing, and returns the packets that wait. Flows
    /// stay.
    pub fn stop(&mut self) -> VecDeque<Packet> {
        self.armed = STOPPED;
        std::mem::take(&mut self.packets).into_iter().flatten().collect()
    }

    /// Sends again.
    pub fn resume(&mut self) {
        self.armed = SimTime::MAX;
    }

    /// Whether it is stopped.
    pub fn is_stopped(&self) -> bool {
        self.armed == STOPPED
    }

    /// Packets that wait.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::packet::{NO_OPTIONS, UNKNOWN};
    use std::collections::BTreeMap;

    const MTU: u32 = 1_500;

    fn acknowledgement(flow: u32, class: u16) -> Packet {
        let flags = flags::ACK | class << flags::CLASS_SHIFT;
        Packet { flow, destination: 0, hash: 0, bytes: 40, seq: 0, options: NO_OPTIONS, path: 0, flags, ahead: UNKNOWN }
    }

    fn queue() -> FairQueue {
        FairQueue::new(Quanta::new(MTU, 0))
    }

    /// Sends packets of the given sizes while the flows have any, and returns whose they were.
    fn serve(queue: &mut FairQueue, left: &mut BTreeMap<u32, Vec<u32>>, packets: usize) -> Vec<u32> {
        let mut order = Vec::new();
        while order.len() < packets {
            match queue.next_turn() {
                None => break,
                Some(Turn::Packet(packet)) => order.push(packet.flow),
                Some(Turn::Flow(Waiting { flow, .. })) => {
                    let sizes = left.get_mut(&flow).expect("a flow that joined");
                    queue.flows.sent(sizes.pop().expect("a flow without packets leaves"));
                    if sizes.is_empty() {
                        queue.flows.leaves();
                    }
                    order.push(flow);
                }
            }
        }
        order
    }

    #[test]
    fn acknowledgements_and_short_flows_do_not_wait_behind_long_ones() {
        let mut queue = queue();
        let mut left = BTreeMap::from([(1, vec![MTU; 100])]);
        queue.flows.join(SimTime::ZERO, 1, 0, None);
        assert_eq!(serve(&mut queue, &mut left, 30), [1; 30]);
        queue.push_packet(acknowledgement(8, 0));
        left.insert(2, vec![MTU; 3]);
        queue.flows.join(SimTime::ZERO, 2, 0, None);
        queue.push_packet(acknowledgement(9, 0));
        assert_eq!(serve(&mut queue, &mut left, 6), [8, 9, 2, 2, 2, 1]);
    }

    #[test]
    fn without_turns_data_leaves_in_the_order_of_its_arrival() {
        let mut queue = FairQueue::new(Quanta::WHOLE);
        assert!(queue.at_once);
        let again = flags::RETRANSMISSION;
        for (flow, flags) in [(1, 0), (2, 0), (1, 0), (3, again), (8, flags::ACK), (9, flags::SYN | again)] {
            queue.push_packet(Packet { flags, ..acknowledgement(flow, 0) });
        }
        assert_eq!(serve(&mut queue, &mut BTreeMap::new(), 9), [8, 9, 3, 1, 2, 1]);
        assert!(queue.is_empty());
    }

    #[test]
    fn who_is_paused_keeps_nobody_waiting() {
        let mut queue = queue();
        let mut left = BTreeMap::from([(1, vec![1_500; 20]), (2, vec![1_500; 20])]);
        queue.flows.join(SimTime::ZERO, 1, 0, None);
        queue.flows.join(SimTime::ZERO, 2, 1, None);
        queue.push_packet(acknowledgement(7, 0));
        queue.push_packet(acknowledgement(8, 1));
        queue.pause(0b01);
        assert_eq!(serve(&mut queue, &mut left, 100), [vec![8], vec![2; 20]].concat());
        queue.pause(0b11);
        assert!(serve(&mut queue, &mut left, 100).is_empty() && !queue.is_empty());
        queue.pause(0);
        assert_eq!(serve(&mut queue, &mut left, 100), [vec![7], vec![1; 20]].concat());
        assert!(queue.is_empty());
    }
}
