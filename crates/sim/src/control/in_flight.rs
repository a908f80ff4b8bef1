//! What is in flight to agents, in the order of time, recipient, sender and number.
//!
//! Latencies are constant, so most of it is sent in the order in which it arrives. That goes into
//! queues, one for each kind and direction; only what comes far out of order needs an ordered map.
//! The places of their first ones are kept, so that taking one moves nothing else.

use super::channel::Delivery;
use crate::engine::time::SimTime;
use std::collections::{BTreeMap, VecDeque};

/// Time of arrival, recipient, sender and number.
pub type Place = (SimTime, u32, u32, u64);

const QUEUES: usize = 4;
/// How many entries of a queue may be later than a new one that still joins the queue.
const NEAR: usize = 32;

/// The place of what never arrives: behind all others.
const NEVER: Place = (SimTime::MAX, u32::MAX, u32::MAX, u64::MAX);

/// Everything in flight.
pub struct InFlight {
    queues: [VecDeque<(Place, Delivery)>; QUEUES],
    /// What came far out of order.
    others: BTreeMap<Place, Delivery>,
    /// The place of the next one in each queue and, last, of the others.
    heads: [Place; QUEUES + 1],
    /// Number of the queue whose first message is delivered next.
    first: usize,
}

impl Default for InFlight {
    fn default() -> Self {
        Self { queues: Default::default(), others: BTreeMap::new(), heads: [NEVER; QUEUES + 1], first: 0 }
    }
}

impl InFlight {
    /// Adds something. What has the same `queue` mostly comes in order.
    pub fn insert(&mut self, queue: Option<usize>, place: Place, delivery: Delivery) {
        // A long message leaves its port after the short ones of other agents.
        let behind = |q: usize| self.queues[q].iter().rev().take(NEAR + 1).take_while(|later| place < later.0).count();
        let near = queue.map(|q| (q, behind(q))).filter(|near| near.1 <= NEAR);
        let lane = if let Some((queue, behind)) = near {
            let queued = &mut self.queues[queue];
            queued.insert(queued.len() - behind, (place, delivery));
            queue
        } else {
            self.others.insert(place, delivery);
            QUEUES
        };
        if place < self.heads[lane] {
            self.heads[lane] = place;
            if place < self.heads[self.first] {
                self.first = lane;
            }
        }
    }

    /// When the next one arrives.
    pub fn next(&self) -> Option<SimTime> {
        let place = &self.heads[self.first];
        (*place != NEVER).then_some(place.0)
    }

    /// Takes out the next one.
    pub fn pop(&mut self) -> Option<(Place, Delivery)> {
        let lane = self.first;
        let (taken, next) = match self.queues.get_mut(lane) {
            Some(queue) => (queue.pop_front()?, queue.front().map(|next| next.0)),
            None => (self.others.pop_first()?, self.others.first_key_value().map(|next| *next.0)),
        };
        self.heads[lane] = next.unwrap_or(NEVER);
        for other in 0..self.heads.len() {
            if self.heads[other] < self.heads[self.first] {
                self.first = other;
            }
        }
        Some(taken)
    }

    /// All of it, in no order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Place, &mut Delivery)> {
        let queued = self.queues.iter_mut().flatten().map(|(place, delivery)| (&*place, delivery));
        queued.chain(&mut self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_comes_in_the_order_of_its_place(
            steps in proptest::collection::vec((proptest::option::of(0..QUEUES), 0i64..200, 0u32..4, any::<bool>()), 0..300),
        ) {
            let (mut in_flight, mut sorted, mut now) = (InFlight::default(), BTreeMap::new(), 0);
            for (number, (queue, ahead, to, takes)) in (0..).zip(steps) {
                let place = (SimTime(now + ahead), to, to, number);
                in_flight.insert(queue, place, Delivery::Beacon);
                sorted.insert(place, ());
                if takes {
                    prop_assert_eq!(in_flight.next(), sorted.first_key_value().map(|p| p.0.0));
                    let taken = in_flight.pop().map(|p| p.0);
                    prop_assert_eq!(taken, sorted.pop_first().map(|p| p.0));
                    now = taken.map_or(now, |p| p.0.0);
                }
            }
            prop_assert_eq!(in_flight.iter_mut().count(), sorted.len());
            while let Some((place, _)) = in_flight.pop() {
                prop_assert_eq!(Some(place), sorted.pop_first().map(|p| p.0));
            }
            prop_assert!(sorted.is_empty() && in_flight.next().is_none());
        }
    }
}
