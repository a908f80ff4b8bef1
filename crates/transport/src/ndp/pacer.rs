//! The pull queue of a host: which flow may pull next, and when.
//!
//! It has no clock. Flows are known by the driver's keys, and keep the number of pulls that they
//! owe themselves.

use std::collections::VecDeque;
use timeplane_model::{Duration, Time};

/// Paces the pulls of all flows that a host receives, and serves these flows round robin.
#[derive(Clone, Debug)]
pub struct PullPacer<K> {
    /// Flows that owe pulls, the next one first.
    turns: VecDeque<K>,
    interval: Duration,
    /// When the next pull may leave.
    free: Time,
}

impl<K: Copy + PartialEq> PullPacer<K> {
    /// An idle pacer with a pull each `interval`: the line time of a full packet on the host's
    /// link, so that the pulled packets arrive at line rate.
    pub fn new(interval: Duration) -> Self {
        Self { turns: VecDeque::new(), interval, free: Time::ZERO }
    }

    /// A flow owes a pull and is not in the queue.
    pub fn join(&mut self, flow: K) {
        debug_assert!(!self.turns.contains(&flow), "a flow has one turn at a time");
        self.turns.push_back(flow);
    }

    /// A flow owes no pull any more. Takes time linear in the number of flows.
    pub fn leave(&mut self, flow: K) {
        self.turns.retain(|f| *f != flow);
    }

    /// When to call [`next`](Self::next); `None` while no flow owes a pull. It may lie in the past.
    pub fn deadline(&self) -> Option<Time> {
        (!self.turns.is_empty()).then_some(self.free)
    }

    /// Removes the flow that sends a pull now; `None` before the deadline.
    pub fn next(&mut self, now: Time) -> Option<K> {
        if self.free > now {
            return None;
        }
        let flow = self.turns.pop_front()?;
        self.free = now.saturating_add(self.interval);
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: i64) -> Time {
        Time::ZERO.saturating_add(Duration::from_us(us))
    }

    #[test]
    fn pulls_are_paced_and_flows_take_turns() {
        let mut pacer = PullPacer::new(Duration::from_us(7));
        assert_eq!((pacer.deadline(), pacer.next(at(3))), (None, None));
        pacer.join('a');
        pacer.join('b');
        let mut sent = Vec::new();
        for us in 3..40 {
            if let Some(flow) = pacer.next(at(us)) {
                sent.push((us, flow));
                pacer.join(flow);
            }
        }
        assert_eq!(sent, [(3, 'a'), (10, 'b'), (17, 'a'), (24, 'b'), (31, 'a'), (38, 'b')]);
        pacer.leave('a');
        assert_eq!(pacer.deadline(), Some(at(45)));
        assert_eq!([pacer.next(at(44)), pacer.next(at(45)), pacer.next(at(90))], [None, Some('b'), None]);
    }

    #[test]
    fn an_idle_pacer_saves_no_turns() {
        let mut pacer = PullPacer::new(Duration::from_us(7));
        pacer.join(1);
        assert_eq!(pacer.next(at(100)), Some(1));
        pacer.join(1);
        assert_eq!((pacer.next(at(106)), pacer.next(at(107))), (None, Some(1)));
    }
}
