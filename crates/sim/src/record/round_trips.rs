//! Round-trip times of TCP by what they are measured on.
//!
//! A segment, an acknowledgement of new data, and a delivery in order are three answers to what the
//! round-trip time of a lossy path is. They agree where nothing is lost.

use crate::engine::time::SimTime;
use crate::record::latency::Histogram;
use std::collections::{BTreeMap, VecDeque};
use timeplane_model::Duration;
use timeplane_results::{Recorder, RoundTripsRow};

/// What a round-trip time is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A segment that was sent once, until an acknowledgement tells of it.
    Segment,
    /// An acknowledgement of new data, since its oldest segment was sent, if it was sent once.
    Acknowledgement,
    /// A segment, since it was first sent until the receiver has all bytes up to its end.
    Delivery,
}

const NAMES: [&str; 3] = ["segment", "acknowledgement", "delivery"];

/// Round-trip times of the interval, and segments that are not delivered yet.
#[derive(Debug, Default)]
pub struct RoundTrips {
    times: [Histogram; 3],
    /// By flow: ends of segments, and when they were first sent.
    under_way: BTreeMap<u32, VecDeque<(u64, SimTime)>>,
}

impl RoundTrips {
    /// Adds a time.
    pub fn add(&mut self, reading: Reading, time: Duration) {
        self.times[reading as usize].add(time, 1);
    }

    /// A segment that ends before the byte `end` is sent for the first time.
    pub fn sent(&mut self, at: SimTime, flow: u32, end: u64) {
        self.under_way.entry(flow).or_default().push_back((end, at));
    }

    /// The receiver of a flow has all bytes below `end`. Counts deliveries if `counts`.
    pub fn delivered(&mut self, at: SimTime, flow: u32, end: u64, counts: bool) {
        let Some(under_way) = self.under_way.get_mut(&flow) else { return };
        while let Some(&(_, sent)) = under_way.front().filter(|(of, _)| *of <= end) {
            under_way.pop_front();
            if counts {
                self.times[Reading::Delivery as usize].add(at - sent, 1);
            }
        }
    }

    /// A flow is over.
    pub fn ended(&mut self, flow: u32) {
        self.under_way.remove(&flow);
    }

    /// Writes the times since the last call, as an interval that ends now.
    pub fn write(&mut self, at: SimTime, recorder: &mut Recorder) {
        for (reading, times) in NAMES.iter().zip(&mut self.times) {
            for (rtt, packets) in std::mem::take(times).bins() {
                recorder.round_trips(&RoundTripsRow { time_ps: at.as_ps(), reading, rtt_ps: rtt.as_ps(), packets });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_behind_a_lost_one_is_delivered_with_it() {
        let at = |ms| SimTime::ZERO + Duration::from_ms(ms);
        let mut trips = RoundTrips::default();
        for i in 1..=4 {
            trips.sent(at(i), 7, 1_000 * i as u64);
        }
        trips.sent(at(9), 8, 1_000);
        trips.delivered(at(11), 7, 1_000, true);
        // The second segment was lost, so its repetition delivers three.
        trips.delivered(at(12), 7, 1_000, true);
        trips.delivered(at(32), 7, 4_000, true);
        let times: Vec<(Duration, u64)> = trips.times[Reading::Delivery as usize].bins().collect();
        let binned = |ms: i64| times.iter().filter(|(t, _)| *t <= Duration::from_ms(ms)).map(|t| t.1).sum::<u64>();
        assert_eq!([9, 10, 27, 28, 29, 30].map(binned), [0, 1, 1, 2, 3, 4]);
        trips.delivered(at(40), 8, 1_000, false);
        trips.ended(7);
        assert_eq!(trips.times[Reading::Delivery as usize].bins().map(|b| b.1).sum::<u64>(), 4);
        assert!(!trips.under_way.contains_key(&7) && trips.under_way[&8].is_empty());
    }
}
