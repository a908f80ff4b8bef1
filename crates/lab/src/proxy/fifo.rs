//! The queue of an emulated link, computed instead of stored.
//!
//! It knows when each packet leaves as soon as the packet arrives.

use super::rate_trace::{RateTrace, Work};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration};

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of IP packets, headers included.
    pub bytes: u64,
}

impl Count {
    /// Counts one more packet.
    pub fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

impl std::ops::Add for Count {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self { packets: self.packets + o.packets, bytes: self.bytes + o.bytes }
    }
}

/// Outcome of a packet that arrives at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is delivered; its last bit leaves at this time.
    Departs(Duration),
    /// The packet is lost in the air; its last bit leaves at this time.
    Lost(Duration),
    /// The packet is dropped, as the queue is full.
    NoRoom,
    /// The packet waits forever, as the link's rate stays zero.
    Stays,
}

/// A first-come first-served queue in front of a link that follows a link trace: `departure =
/// max(now, free_at) + bytes / rate`, at the rates in force. Times are the link trace's.
///
/// The packet in transmission occupies the queue until its last bit has left.
#[derive(Debug)]
pub struct Fifo {
    trace: Arc<RateTrace>,
    /// Size of the queue, in bytes.
    limit: Bytes,
    /// When the link is free again; `None` for never.
    free_at: Option<Duration>,
    /// Work that the link can do for the next packet in the last picosecond of this one, if the
    /// next one waits already. It compensates for the rounding of departures.
    ahead: Work,
    /// Departure times of queued packets, and their bytes.
    waiting: VecDeque<(Option<Duration>, u32)>,
    held: u64,
    chance: Xoshiro256PlusPlus,
}

impl Fifo {
    /// An empty queue. `seed` is the seed of losses in the air.
    pub fn new(trace: Arc<RateTrace>, limit: Bytes, seed: u64) -> Self {
        let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self {
            trace,
            limit,
            free_at: Some(Duration::ZERO),
            ahead: Work::default(),
            waiting: VecDeque::new(),
            held: 0,
            chance,
        }
    }

    /// Handles the arrival of a packet. Times must not decrease.
    pub fn offer(&mut self, now: Duration, bytes: u32) -> Fate {
        self.forget(now);
        if self.held + u64::from(bytes) > self.limit.get() {
            return Fate::NoRoom;
        }
        let size = Bytes::new(u64::from(bytes));
        let start = self.free_at.map(|free| free.max(now));
        if self.free_at.is_some_and(|free| free <= now) {
            self.ahead = Work::default();
        }
        let carried = start.and_then(|start| self.trace.carry(start, Work::of(size).less(self.ahead)));
        self.free_at = carried.map(|(end, _)| end);
        self.ahead = carried.map_or(Work::default(), |(_, ahead)| ahead);
        self.waiting.push_back((self.free_at, bytes));
        self.held += u64::from(bytes);
        let (Some(start), Some(end)) = (start, self.free_at) else { return Fate::Stays };
        let loss = self.trace.loss(start, size);
        let uniform = (self.chance.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if uniform < loss { Fate::Lost(end) } else { Fate::Departs(end) }
    }

    /// Queued packets, including the one in transmission.
    pub fn waiting(&mut self, now: Duration) -> Count {
        self.forget(now);
        Count { packets: self.waiting.len() as u64, bytes: self.held }
    }

    fn forget(&mut self, now: Duration) {
        while let Some(&(Some(end), bytes)) = self.waiting.front()
            && end <= now
        {
            self.waiting.pop_front();
            self.held -= u64::from(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use timeplane_model::Rate;

    fn fifo(steps: &[(Duration, Rate)], limit: u64) -> Fifo {
        Fifo::new(Arc::new(RateTrace::steps(steps).unwrap()), Bytes::new(limit), 1)
    }

    #[test]
    fn the_queue_holds_its_limit_and_not_a_byte_more() {
        // A packet takes 1 ms.
        let mut fifo = fifo(&[(Duration::from_secs(1), Rate::mbps(12))], 4_500);
        let now = Duration::from_ms(5);
        for i in 1..=3 {
            assert_eq!(fifo.offer(now, 1500), Fate::Departs(Duration::from_ms(5 + i)));
        }
        assert_eq!(fifo.offer(now, 1), Fate::NoRoom);
        assert_eq!(fifo.waiting(Duration::from_ms(6)), Count { packets: 2, bytes: 3000 });
        assert_eq!(fifo.offer(Duration::from_ms(6), 1500), Fate::Departs(Duration::from_ms(9)));
        assert_eq!(fifo.waiting(Duration::from_ms(9)), Count::default());
    }

    #[test]
    fn what_waits_for_a_silent_link_stays() {
        let mut fifo = fifo(&[(Duration::from_ms(1), Rate::mbps(12)), (Duration::from_ms(1), Rate::ZERO)], 4_000);
        assert_eq!(fifo.offer(Duration::ZERO, 1500), Fate::Departs(Duration::from_ms(1)));
        assert_eq!(fifo.offer(Duration::ZERO, 1500), Fate::Stays);
        assert_eq!(fifo.offer(Duration::from_secs(9), 1500), Fate::Stays);
        assert_eq!(fifo.waiting(Duration::from_secs(9)), Count { packets: 2, bytes: 3000 });
        assert_eq!(fifo.offer(Duration::from_secs(9), 1500), Fate::NoRoom);
    }

    proptest! {
        /// Compares with the closed formula: a packet leaves when the link trace has carried all
        /// packets of its busy period up to it.
        #[test]
        fn departures_are_those_of_a_queue_first_come_first_served(
            steps in prop::collection::vec((1_i64..40, 0_u64..100), 1..12),
            packets in prop::collection::vec((0_i64..3_000, 40_u32..1_501), 1..200),
        ) {
            let mut steps: Vec<_> = steps.into_iter().map(|(t, r)| (Duration::from_ms(t), Rate::mbps(r))).collect();
            // It goes on in the end.
            steps.push((Duration::from_ms(1), Rate::mbps(10)));
            let trace = RateTrace::steps(&steps).unwrap();
            let mut fifo = fifo(&steps, u64::MAX);
            let (mut now, mut begin, mut sum, mut free) = (Duration::ZERO, Duration::ZERO, 0, Duration::ZERO);
            for (pause, bytes) in packets {
                now += Duration::from_us(pause);
                if now >= free {
                    (begin, sum) = (now, 0);
                }
                sum += u64::from(bytes);
                let Fate::Departs(at) = fifo.offer(now, bytes) else { panic!("nothing else can happen") };
                let expected = trace.finish(begin, Bytes::new(sum)).unwrap();
                prop_assert_eq!(at, expected);
                free = at;
            }
        }
    }
}
