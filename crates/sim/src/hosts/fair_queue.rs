//! A host's interface that serves flows in turn, and acknowledgements before them.
//!
//! It models Linux' `fq` queue discipline with TCP small queues: a flow hands over a segment when
//! it is its turn, so that neither short flows nor acknowledgements wait behind a window of another
//! flow. Turns follow deficit round robin (Shreedhar and Varghese, SIGCOMM 1995). A flow that joins
//! goes before others until it has used up its credit, as in `fq`.
//!
//! It differs from Linux in three points. Nothing of a flow waits here, where TCP small queues
//! allow a millisecond of the flow's rate. Acknowledgements always go first; in Linux they have
//! turns as any flow, which come at once as long as they are few. A flow without segments keeps its
//! credit for good, where Linux renews it after 40 ms.

use crate::engine::time::SimTime;
use crate::hosts::flow::FlowKey;
use crate::hosts::nic::STOPPED;
use crate::network::packet::Packet;
use std::collections::VecDeque;

/// Packets of the MTU that a turn is worth, and that a flow may send before others when it starts:
/// `quantum` and `initial_quantum` of `fq`.
const TURN: u64 = 2;
const FIRST_TURN: u64 = 10;

/// A flow that waits for its turn.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    flow: FlowKey,
    class: u8,
    /// Bytes that it may send before its turn is over.
    credit: i64,
}

/// What leaves next.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    /// A packet that was handed over.
    Packet(Packet),
    /// This flow may hand over a segment.
    Flow(FlowKey),
}

/// The interface of one host.
#[derive(Debug)]
pub struct FairQueue {
    /// Acknowledgements, first come, first served.
    packets: VecDeque<Packet>,
    /// Flows with credit that have just joined.
    new: VecDeque<Waiting>,
    /// All other flows, in the order of their turns.
    old: VecDeque<Waiting>,
    /// The flow whose turn it is: whether it is among the new ones, and its place there.
    turn: (bool, usize),
    /// Bytes in a turn.
    quantum: i64,
    /// Bytes that a flow may send when it starts.
    first: i64,
    /// Classes that the network has paused, one bit each.
    paused: u8,
    /// When an event serves it next; later pending events are stale.
    pub armed: SimTime,
}

impl FairQueue {
    /// An empty interface for packets of at most `mtu` bytes. A turn is worth at least `burst`
    /// bytes.
    pub fn new(mtu: u32, burst: u64) -> Self {
        let bytes = |packets: u64| i64::try_from((packets * u64::from(mtu)).max(burst)).unwrap_or(i64::MAX);
        Self {
            packets: VecDeque::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            turn: (false, 0),
            quantum: bytes(TURN),
            first: bytes(FIRST_TURN),
            paused: 0,
            armed: SimTime::MAX,
        }
    }

    /// A packet joins.
    pub fn push_packet(&mut self, packet: Packet) {
        self.packets.push_back(packet);
    }

    /// A flow joins that is not here, with the credit that it [left](Self::leaves) with; `None` if
    /// it was never here.
    pub fn push_flow(&mut self, flow: FlowKey, class: u8, credit: Option<i64>) {
        self.new.push_back(Waiting { flow, class, credit: credit.unwrap_or(self.first) });
    }

    /// What leaves next. A packet is removed; a flow stays until it has [sent](Self::sent) its
    /// segment or [leaves](Self::leaves).
    pub fn next_turn(&mut self) -> Option<Turn> {
        if let Some(i) = self.packets.iter().position(|p| self.paused & 1 << (p.class() & 7) == 0) {
            return self.packets.remove(i).map(Turn::Packet);
        }
        let paused = self.paused;
        let may_send = |w: &Waiting| paused & 1 << (w.class & 7) == 0;
        loop {
            self.turn = match self.new.iter().position(may_send) {
                Some(place) => (true, place),
                None => (false, self.old.iter().position(may_send)?),
            };
            let (queue, place) = self.turn();
            if queue[place].credit > 0 {
                return Some(Turn::Flow(queue[place].flow));
            }
            // Who has no credit receives some for the next turn.
            let mut waiting = queue.remove(place)?;
            waiting.credit += self.quantum;
            self.old.push_back(waiting);
        }
    }

    /// Where the flow is whose turn it is.
    fn turn(&mut self) -> (&mut VecDeque<Waiting>, usize) {
        let (new, place) = self.turn;
        (if new { &mut self.new } else { &mut self.old }, place)
    }

    /// The flow whose turn it is has sent this many bytes.
    pub fn sent(&mut self, wire: u32) {
        let (queue, place) = self.turn();
        queue[place].credit -= i64::from(wire);
    }

    /// The flow whose turn it is has no more segments. Returns its credit.
    pub fn leaves(&mut self) -> i64 {
        let (queue, place) = self.turn();
        queue.remove(place).map_or(0, |w| w.credit)
    }

    /// A flow leaves out of its turn.
    pub fn withdraw(&mut self, flow: FlowKey) {
        self.new.retain(|w| w.flow != flow);
        self.old.retain(|w| w.flow != flow);
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.new.is_empty() && self.old.is_empty()
    }

    /// The network accepts no packets of these classes, one bit each, and packets of all others.
    pub fn pause(&mut self, classes: u8) {
        self.paused = classes;
    }

    /// The link or the host has failed: sends nothing, and returns the packets that wait. Flows
    /// stay.
    pub fn stop(&mut self) -> VecDeque<Packet> {
        self.armed = STOPPED;
        std::mem::take(&mut self.packets)
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
        self.packets.iter()
    }

    /// Removes and returns all flows.
    pub fn take_flows(&mut self) -> Vec<FlowKey> {
        self.new.drain(..).chain(self.old.drain(..)).map(|w| w.flow).collect()
    }

    /// Flows that wait.
    pub fn flows(&self) -> impl Iterator<Item = FlowKey> + '_ {
        self.new.iter().chain(&self.old).map(|w| w.flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::packet::{NO_OPTIONS, UNKNOWN, flags};
    use std::collections::BTreeMap;

    const MTU: u32 = 1_500;

    fn acknowledgement(flow: u32, class: u16) -> Packet {
        let flags = flags::ACK | class << flags::CLASS_SHIFT;
        Packet { flow, destination: 0, hash: 0, bytes: 40, seq: 0, options: NO_OPTIONS, path: 0, flags, ahead: UNKNOWN }
    }

    /// Sends packets of the given sizes while the flows have any, and returns whose they were.
    fn serve(queue: &mut FairQueue, left: &mut BTreeMap<u32, Vec<u32>>, packets: usize) -> Vec<u32> {
        let mut order = Vec::new();
        while order.len() < packets {
            match queue.next_turn() {
                None => break,
                Some(Turn::Packet(packet)) => order.push(packet.flow),
                Some(Turn::Flow(flow)) => {
                    let sizes = left.get_mut(&flow).expect("a flow that joined");
                    queue.sent(sizes.pop().expect("a flow without packets leaves"));
                    if sizes.is_empty() {
                        queue.leaves();
                    }
                    order.push(flow);
                }
            }
        }
        order
    }

    #[test]
    fn acknowledgements_and_short_flows_do_not_wait_behind_long_ones() {
        let mut queue = FairQueue::new(MTU, 0);
        let mut left = BTreeMap::from([(1, vec![MTU; 100])]);
        queue.push_flow(1, 0, None);
        assert_eq!(serve(&mut queue, &mut left, 30), [1; 30]);
        queue.push_packet(acknowledgement(8, 0));
        left.insert(2, vec![MTU; 3]);
        queue.push_flow(2, 0, None);
        queue.push_packet(acknowledgement(9, 0));
        assert_eq!(serve(&mut queue, &mut left, 6), [8, 9, 2, 2, 2, 1]);
    }

    #[test]
    fn long_flows_share_bytes_evenly_whatever_their_packets() {
        let mut queue = FairQueue::new(MTU, 0);
        let mut left = BTreeMap::from([(1, vec![1_500; 4_000]), (2, vec![100; 60_000]), (3, vec![700; 9_000])]);
        let sizes = [0, 1_500, 100, 700];
        (1..=3).for_each(|flow| queue.push_flow(flow, 0, None));
        let mut sent = [0_i64; 4];
        for flow in serve(&mut queue, &mut left, 50_000) {
            sent[flow as usize] += sizes[flow as usize];
        }
        // Whoever has a turn is never ahead by more than a turn, the first turn and a packet.
        let bound = 2 * 1_500 + 15_000 + 1_500;
        let (least, most) = (sent[1..].iter().min().unwrap(), sent[1..].iter().max().unwrap());
        assert!(most - least <= bound && *least > 4_000_000, "{sent:?}");
    }

    #[test]
    fn who_comes_back_without_credit_has_to_wait() {
        let mut queue = FairQueue::new(MTU, 0);
        queue.push_flow(1, 0, Some(1));
        queue.push_flow(2, 0, Some(-100));
        queue.push_flow(3, 0, Some(1));
        let mut left = BTreeMap::from([(1, vec![1_500]), (2, vec![1_500]), (3, vec![1_500])]);
        assert_eq!(serve(&mut queue, &mut left, 9), [1, 3, 2]);
    }

    #[test]
    fn a_burst_is_sent_in_one_turn() {
        let mut queue = FairQueue::new(MTU, 45_000);
        let mut left = BTreeMap::from([(1, vec![1_500; 90]), (2, vec![1_500; 90])]);
        (1..=2).for_each(|flow| queue.push_flow(flow, 0, None));
        let order = serve(&mut queue, &mut left, 120);
        assert!(order.chunks(30).all(|turn| turn.iter().all(|flow| flow == &turn[0])), "{order:?}");
    }

    #[test]
    fn who_is_paused_keeps_nobody_waiting() {
        let mut queue = FairQueue::new(MTU, 0);
        let mut left = BTreeMap::from([(1, vec![1_500; 20]), (2, vec![1_500; 20])]);
        queue.push_flow(1, 0, None);
        queue.push_flow(2, 1, None);
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
