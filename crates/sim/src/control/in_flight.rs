//! What is in flight to agents, in the order of time, recipient, sender and number.
//!
//! Latencies are constant, so most of it is sent in the order in which it arrives. That goes into
//! queues, one for each kind and direction; only the rest needs an ordered map.

use super::channel::Delivery;
use crate::engine::time::SimTime;
use std::collections::{BTreeMap, VecDeque};

/// Time of arrival, recipient, sender and number.
pub type Place = (SimTime, u32, u32, u64);

const QUEUES: usize = 4;

/// Everything in flight.
#[derive(Default)]
pub struct InFlight {
    queues: [VecDeque<(Place, Delivery)>; QUEUES],
    /// What came out of order.
    others: BTreeMap<Place, Delivery>,
    /// The place of the next one, and where it waits.
    first: Option<(Place, Lane)>,
}

/// Where something waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    Queue(usize),
    Others,
}

impl InFlight {
    /// Adds something. What has the same `queue` mostly comes in order.
    pub fn insert(&mut self, queue: Option<usize>, place: Place, delivery: Delivery) {
        let in_order = queue.filter(|&q| self.queues[q].back().is_none_or(|last| last.0 < place));
        let lane = if let Some(queue) = in_order {
            self.queues[queue].push_back((place, delivery));
            Lane::Queue(queue)
        } else {
            self.others.insert(place, delivery);
            Lane::Others
        };
        if self.first.is_none_or(|first| place < first.0) {
            self.first = Some((place, lane));
        }
    }

    /// When the next one arrives.
    pub fn next(&self) -> Option<SimTime> {
        self.first.map(|first| first.0.0)
    }

    /// Takes out the next one.
    pub fn pop(&mut self) -> Option<(Place, Delivery)> {
        let (_, lane) = self.first?;
        let taken = match lane {
            Lane::Queue(queue) => self.queues[queue].pop_front(),
            Lane::Others => self.others.pop_first(),
        };
        let heads = (0..QUEUES).filter_map(|q| Some((self.queues[q].front()?.0, Lane::Queue(q))));
        let other = self.others.first_key_value().map(|(place, _)| (*place, Lane::Others));
        self.first = heads.chain(other).min_by_key(|head| head.0);
        taken
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
            steps in proptest::collection::vec((proptest::option::of(0..QUEUES), 0i64..20, 0u32..4, any::<bool>()), 0..200),
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
