//! How long packets spend in the network: from their first bit on the host's link to their last bit at the destination.
//!
//! A histogram of 64 bins an octave: a bin is told by its lower end, at most 1.6 % below what fell into it.

use crate::engine::time::{SimTime, evenly_within};
use std::collections::BTreeMap;
use timeplane_model::Duration;
use timeplane_results::Distribution;

/// Linear bins of an octave, as a power of two.
const SUB_BITS: u32 = 6;

/// Times of packets on their way, and the histogram of those that have arrived.
#[derive(Debug)]
pub struct Latencies {
    /// When a packet's first bit left, by its number.
    begun: Vec<SimTime>,
    /// Those that left in this window count.
    window: core::ops::Range<SimTime>,
    arrived: Histogram,
}

/// How often which time was measured.
#[derive(Debug, Default)]
pub struct Histogram {
    bins: BTreeMap<u32, u64>,
    sum: u128,
}

impl Histogram {
    /// A time was measured, so often.
    pub fn add(&mut self, time: Duration, count: u64) {
        let time = time.as_ps().max(0) as u64;
        *self.bins.entry(bin(time)).or_default() += count;
        self.sum += u128::from(time) * u128::from(count);
    }

    /// Lower ends of the bins that are not empty, and how many are in each.
    pub fn bins(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.bins.iter().map(|(&b, &n)| (Duration::from_ps(lower(b) as i64), n))
    }

    /// The bin that this share of all measurements is in or below, by its lower end in ps; none without a measurement.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let count: u64 = self.bins.values().sum();
        let mut before = 0;
        let found = self.bins.iter().find(|(_, n)| {
            before += **n;
            before as f64 >= share * count as f64
        });
        found.map(|(&b, _)| lower(b) as f64)
    }

    /// In five numbers: the mean is exact, the others are bins.
    pub fn distribution(&self) -> Option<Distribution> {
        let count: u64 = self.bins.values().sum();
        let (&last, _) = self.bins.last_key_value()?;
        let at = |share| self.percentile(share).expect("there are measurements");
        let mean = self.sum as f64 / count as f64;
        Some(Distribution { mean, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: lower(last) as f64 })
    }
}

impl Latencies {
    /// Of packets that leave their host in `window`.
    pub fn new(window: core::ops::Range<SimTime>) -> Self {
        Self { begun: Vec::new(), window, arrived: Histogram::default() }
    }

    /// A packet's first bit leaves its host.
    pub fn begin(&mut self, packet: u32, at: SimTime) {
        let at_least = packet as usize + 1;
        if self.begun.len() < at_least {
            self.begun.resize(at_least, SimTime::MAX);
        }
        self.begun[packet as usize] = at;
    }

    /// The first of `count` packets leaves at `first`, each further one after another `line`; the first one arrives at `arrival`, and all take as long.
    pub fn train(&mut self, first: SimTime, line: Duration, count: u64, arrival: SimTime) {
        let counted = evenly_within(&self.window, first, line, count);
        if counted > 0 {
            self.arrived.add(arrival - first, counted);
        }
    }

    /// Its last bit arrives.
    pub fn end(&mut self, packet: u32, at: SimTime) {
        let begun = self.begun[packet as usize];
        if self.window.contains(&begun) {
            self.arrived.add(at - begun, 1);
        }
    }

    /// Those that have arrived.
    pub fn histogram(&self) -> &Histogram {
        &self.arrived
    }
}

fn bin(value: u64) -> u32 {
    let octave = (u64::BITS - value.leading_zeros()).saturating_sub(SUB_BITS + 1);
    (octave << SUB_BITS) + (value >> octave) as u32
}

fn lower(bin: u32) -> u64 {
    // The leading one of a value above the first octave is in its bin's number, too.
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
    fn what_left_in_the_window_counts() {
        let t = SimTime::from_ps;
        let mut l = Latencies::new(t(10)..t(20));
        for (packet, begin, end) in [(0, 9, 99), (1, 10, 40), (7, 19, 29), (0, 15, 35)] {
            l.begin(packet, t(begin));
            l.end(packet, t(end));
        }
        let d = l.histogram().distribution().unwrap();
        assert_eq!((d.mean, d.p50, d.max), (20.0, 20.0, 30.0));
        assert_eq!(l.histogram().bins().map(|h| h.1).sum::<u64>(), 3);
    }
}
