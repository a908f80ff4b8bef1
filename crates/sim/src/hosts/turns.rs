//! Turns of flows: who of those that wait for one link or one gate hands over the next packet.
//!
//! They follow deficit round robin (Shreedhar and Varghese, SIGCOMM 1995). A flow that joins goes
//! before others until it has used up its credit, as in Linux' `fq` queue discipline. This module
//! does not know what flows hold, nor where their packets go.

use crate::engine::time::SimTime;
use crate::hosts::flow::FlowKey;
use std::collections::VecDeque;

/// Packets of the MTU that a turn is worth, and that a flow may send before others when it starts:
/// `quantum` and `initial_quantum` of `fq`.
const TURN: u64 = 2;
const FIRST_TURN: u64 = 10;

/// How much flows may send in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quanta {
    /// Bytes in a turn.
    turn: i64,
    /// Bytes that a flow may send when it starts.
    first: i64,
}

impl Quanta {
    /// No turns: who comes first sends all that it has.
    pub const WHOLE: Self = Self { turn: i64::MAX, first: i64::MAX };

    /// Turns for packets of at most `mtu` bytes, of at least `burst` bytes.
    pub fn new(mtu: u32, burst: u64) -> Self {
        let bytes = |packets: u64| i64::try_from((packets * u64::from(mtu)).max(burst)).unwrap_or(i64::MAX);
        Self { turn: bytes(TURN), first: bytes(FIRST_TURN) }
    }
}

/// A flow that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Its key at the endpoints.
    pub flow: FlowKey,
    /// Decides which pauses stop it.
    pub class: u8,
    /// When it joined.
    pub since: SimTime,
    /// Bytes that it may send before its turn is over.
    credit: i64,
}

/// Flows that take turns.
#[derive(Debug)]
pub struct Turns {
    /// Flows with credit that have just joined.
    new: VecDeque<Waiting>,
    /// All other flows, in the order of their turns.
    old: VecDeque<Waiting>,
    /// The flow whose turn it is: whether it is among the new ones, and its place there.
    turn: (bool, usize),
    quanta: Quanta,
}

impl Turns {
    /// No flows yet.
    pub fn new(quanta: Quanta) -> Self {
        Self { new: VecDeque::new(), old: VecDeque::new(), turn: (false, 0), quanta }
    }

    /// A flow joins that is not here, with the credit that it [left](Self::leaves) with; `None` if
    /// it was never here.
    pub fn join(&mut self, since: SimTime, flow: FlowKey, class: u8, credit: Option<i64>) {
        self.new.push_back(Waiting { flow, class, since, credit: credit.unwrap_or(self.quanta.first) });
    }

    /// The flow whose turn it is among those of classes that are not `paused`, one bit each. It
    /// stays until it has [sent](Self::sent) its packet or [leaves](Self::leaves).
    pub fn next_turn(&mut self, paused: u8) -> Option<Waiting> {
        let may_send = |w: &Waiting| paused & 1 << (w.class & 7) == 0;
        // Mostly nothing is paused.
        let first = |queue: &VecDeque<Waiting>| match queue.front() {
            Some(front) if may_send(front) => Some(0),
            front => front.and_then(|_| queue.iter().position(may_send)),
        };
        loop {
            self.turn = match first(&self.new) {
                Some(place) => (true, place),
                None => (false, first(&self.old)?),
            };
            let (queue, place) = self.turn();
            if queue[place].credit > 0 {
                return Some(queue[place]);
            }
            // Who has no credit receives some for the next turn.
            let mut waiting = take(queue, place)?;
            waiting.credit += self.quanta.turn;
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

    /// The flow whose turn it is has no more packets. Returns its credit.
    pub fn leaves(&mut self) -> i64 {
        let (queue, place) = self.turn();
        take(queue, place).map_or(0, |w| w.credit)
    }

    /// A flow leaves out of its turn. Returns its credit, if it was here.
    pub fn withdraw(&mut self, flow: FlowKey) -> Option<i64> {
        let of = |queue: &mut VecDeque<Waiting>| {
            let place = queue.iter().position(|w| w.flow == flow)?;
            queue.remove(place).map(|w| w.credit)
        };
        of(&mut self.new).or_else(|| of(&mut self.old))
    }

    /// Whether no flow waits.
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    /// The number of flows that wait.
    pub fn len(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// All flows that wait, new ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.new.iter().chain(&self.old)
    }

    /// Removes and returns all flows.
    pub fn take(&mut self) -> impl Iterator<Item = FlowKey> + '_ {
        self.new.drain(..).chain(self.old.drain(..)).map(|w| w.flow)
    }
}

/// Removes what is mostly the first one.
#[inline]
pub(super) fn take<T>(queue: &mut VecDeque<T>, place: usize) -> Option<T> {
    if place == 0 { queue.pop_front() } else { queue.remove(place) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const MTU: u32 = 1_500;

    fn flows(burst: u64, credits: &[(FlowKey, Option<i64>)]) -> Turns {
        let mut turns = Turns::new(Quanta::new(MTU, burst));
        credits.iter().for_each(|&(flow, credit)| turns.join(SimTime::ZERO, flow, 0, credit));
        turns
    }

    /// Sends packets of the given sizes while the flows have any, and returns whose they were.
    fn serve(turns: &mut Turns, left: &mut BTreeMap<u32, Vec<u32>>, packets: usize) -> Vec<u32> {
        let mut order = Vec::new();
        while order.len() < packets
            && let Some(Waiting { flow, .. }) = turns.next_turn(0)
        {
            let sizes = left.get_mut(&flow).expect("a flow that joined");
            turns.sent(sizes.pop().expect("a flow without packets leaves"));
            if sizes.is_empty() {
                turns.leaves();
            }
            order.push(flow);
        }
        order
    }

    #[test]
    fn long_flows_share_bytes_evenly_whatever_their_packets() {
        let mut turns = flows(0, &[(1, None), (2, None), (3, None)]);
        let mut left = BTreeMap::from([(1, vec![1_500; 4_000]), (2, vec![100; 60_000]), (3, vec![700; 9_000])]);
        let sizes = [0, 1_500, 100, 700];
        let mut sent = [0_i64; 4];
        for flow in serve(&mut turns, &mut left, 50_000) {
            sent[flow as usize] += sizes[flow as usize];
        }
        // Whoever has a turn is never ahead by more than a turn, the first turn and a packet.
        let bound = 2 * 1_500 + 15_000 + 1_500;
        let (least, most) = (sent[1..].iter().min().unwrap(), sent[1..].iter().max().unwrap());
        assert!(most - least <= bound && *least > 4_000_000, "{sent:?}");
    }

    #[test]
    fn who_comes_back_without_credit_has_to_wait() {
        let mut turns = flows(0, &[(1, Some(1)), (2, Some(-100)), (3, Some(1))]);
        let mut left = BTreeMap::from([(1, vec![1_500]), (2, vec![1_500]), (3, vec![1_500])]);
        assert_eq!(serve(&mut turns, &mut left, 9), [1, 3, 2]);
    }

    #[test]
    fn a_burst_is_sent_in_one_turn() {
        let mut turns = flows(45_000, &[(1, None), (2, None)]);
        let mut left = BTreeMap::from([(1, vec![1_500; 90]), (2, vec![1_500; 90])]);
        let order = serve(&mut turns, &mut left, 120);
        assert!(order.chunks(30).all(|turn| turn.iter().all(|flow| flow == &turn[0])), "{order:?}");
    }

    #[test]
    fn who_leaves_out_of_turn_takes_the_credit_along() {
        let mut turns = flows(0, &[(1, None), (2, Some(7)), (3, Some(-20_000))]);
        let mut left = BTreeMap::from([(1, vec![1_500; 9]), (2, vec![1_500; 9]), (3, vec![1_500; 9])]);
        assert_eq!(serve(&mut turns, &mut left, 3), [1, 1, 1]);
        assert_eq!([1, 2, 3, 4].map(|flow| turns.withdraw(flow)), [Some(10_500), Some(7), Some(-20_000), None]);
        assert!(turns.is_empty() && turns.next_turn(0).is_none());
    }
}
