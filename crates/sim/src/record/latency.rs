//! Latencies of packets: from the first bit on the host's link, or the last bit at the first
//! switch, to the last bit at the destination.
//!
//! They are kept in a histogram with 64 bins per octave. A bin is named by its lower end, up to 1.6
//! % below its values.

use crate::engine::time::{SimTime, evenly_within};
use std::collections::BTreeMap;
use timeplane_model::Duration;
use timeplane_results::{Distribution, LowerBounds};
use timeplane_scenario::LatencyFrom;

/// The linear bins of an octave, as a power of two.
const SUB_BITS: u32 = 6;

/// When packets entered the network, and the histogram of those that arrived.
#[derive(Debug)]
pub struct Latencies {
    from: LatencyFrom,
    /// By packet number, when it entered.
    begun: Vec<SimTime>,
    /// Packets that enter in the measurement count.
    measurement: core::ops::Range<SimTime>,
    arrived: Histogram,
}

/// A histogram of times.
#[derive(Debug, Default)]
pub struct Histogram {
    bins: BTreeMap<u32, u64>,
    sum: u128,
}

impl Histogram {
    /// Adds a time `count` times.
    pub fn add(&mut self, time: Duration, count: u64) {
        let time = time.as_ps().max(0) as u64;
        *self.bins.entry(bin(time)).or_default() += count;
        self.sum += u128::from(time) * u128::from(count);
    }

    /// The lower ends of the bins that are not empty, and their counts.
    pub fn bins(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.bins.iter().map(|(&b, &n)| (Duration::from_ps(lower(b) as i64), n))
    }

    /// The lower end of the bin that holds this share of all values, in ps; `None` without a value.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let count: u64 = self.bins.values().sum();
        let mut before = 0;
        let found = self.bins.iter().find(|(_, n)| {
            before += **n;
            before as f64 >= share * count as f64
        });
        found.map(|(&b, _)| lower(b) as f64)
    }

    /// A summary: the mean is exact, the percentiles are bins.
    pub fn distribution(&self) -> Option<Distribution> {
        let count: u64 = self.bins.values().sum();
        let (&last, _) = self.bins.last_key_value()?;
        let at = |share| self.percentile(share).expect("there are measurements");
        let mean = self.sum as f64 / count as f64;
        let max = lower(last) as f64;
        let lower_bounds = LowerBounds::default();
        Some(Distribution { mean, p50: at(0.5), p95: at(0.95), p99: at(0.99), max, lower_bounds })
    }
}

impl Latencies {
    /// Latencies of packets that enter the network in `measurement`.
    pub fn new(from: LatencyFrom, measurement: core::ops::Range<SimTime>) -> Self {
        Self { from, begun: Vec::new(), measurement, arrived: Histogram::default() }
    }

    fn entry(&self, leaves: SimTime, switched: SimTime) -> SimTime {
        match self.from {
            LatencyFrom::Host => leaves,
            LatencyFrom::FirstSwitch => switched,
        }
    }

    /// The first bit of a packet leaves its host, and its last bit arrives at the first switch.
    pub fn begin(&mut self, packet: u32, leaves: SimTime, switched: SimTime) {
        let at = self.entry(leaves, switched);
        let at_least = packet as usize + 1;
        if self.begun.len() < at_least {
            self.begun.resize(at_least, SimTime::MAX);
        }
        self.begun[packet as usize] = at;
    }

    /// A packet that is in the network enters it later by this time.
    pub fn delay(&mut self, packet: u32, by: Duration) {
        let begun = &mut self.begun[packet as usize];
        *begun = *begun + by;
    }

    /// The first of `count` packets leaves at `leaves` and is at the first switch at `switched`;
    /// each further one leaves another `line` later. The first one arrives at `arrival`, and all
    /// take as long.
    pub fn train(&mut self, leaves: SimTime, switched: SimTime, line: Duration, count: u64, arrival: SimTime) {
        let first = self.entry(leaves, switched);
        let counted = evenly_within(&self.measurement, first, line, count);
        if counted > 0 {
            self.arrived.add(arrival - first, counted);
        }
    }

    /// The last bit of a packet arrives.
    pub fn end(&mut self, packet: u32, at: SimTime) {
        let begun = self.begun[packet as usize];
        if self.measurement.contains(&begun) {
            self.arrived.add(at - begun, 1);
        }
    }

    /// The latencies of packets that arrived.
    pub fn histogram(&self) -> &Histogram {
        &self.arrived
    }
}

fn bin(value: u64) -> u32 {
    let octave = (u64::BITS - value.leading_zeros()).saturating_sub(SUB_BITS + 1);
    (octave << SUB_BITS) + (value >> octave) as u32
}

fn lower(bin: u32) -> u64 {
    // The leading one of a value above the first octave is in its bin's number too.
    let octave = (bin >> SUB_BITS).saturating_sub(1);
    u64::from(bin - (octave << SUB_BITS)) << octave
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_narrow_and_in_order() {
        let mut last = 0;
        for value in (0..200).chain((1..40).map(|k| (1u64 << k) + 7)).chain((8..40).map(|k| (1u64 << k) - 1)) {
            let low = lower(bin(value));
            assert!(low <= value && value - low <= value / 64, "{value}: {low}");
        }
        for value in 0..5000 {
            assert!(bin(value) >= last && bin(value) <= last + 1, "{value}");
            last = bin(value);
        }
    }

    #[test]
    fn what_left_in_the_measurement_counts() {
        let t = SimTime::from_ps;
        for (from, behind) in [(LatencyFrom::Host, 0), (LatencyFrom::FirstSwitch, 4)] {
            let mut l = Latencies::new(from, t(10)..t(20));
            for (packet, begin, end) in [(0, 9, 99), (1, 10, 40), (7, 19, 29), (0, 15, 35)] {
                // The packet is whole at the switch four ps after it has begun to leave.
                l.begin(packet, t(begin - behind), t(begin - behind + 4));
                l.end(packet, t(end));
            }
            let d = l.histogram().distribution().unwrap();
            assert_eq!((d.mean, d.p50, d.max), (20.0, 20.0, 30.0));
            assert_eq!(l.histogram().bins().map(|h| h.1).sum::<u64>(), 3);
        }
    }
}
