//! Latencies as the observer's BPF programs count them.
//!
//! Buckets grow exponentially, eight for each power of two.

use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// A histogram of latencies in buckets of an eighth of a power of two. Values read from it are up
/// to 12.5 % too high.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

/// Summary of a histogram. Each value is the upper bound of its bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Number of latencies.
    pub count: u64,
    /// The median, in microseconds. Like the others it is `null` without latencies.
    pub p50_us: Option<f64>,
    /// The 99th percentile.
    pub p99_us: Option<f64>,
    /// The longest.
    pub max_us: Option<f64>,
}

impl Histogram {
    /// How many buckets there are: one for each nanosecond below 8, then eight for every power of
    /// two below 2^40 ns. The last also has what is longer.
    pub const BUCKETS: usize = 304;

    /// An empty histogram.
    pub fn new() -> Self {
        Self { counts: vec![0; Self::BUCKETS] }
    }
    /// The sum of the counts of several CPUs, each by bucket.
    pub(super) fn add(&mut self, bucket: usize, count: u64) {
        self.counts[bucket.min(Self::BUCKETS - 1)] += count;
    }
    /// Counts a latency.
    pub fn record(&mut self, latency: Duration) {
        self.add(bucket(latency.as_ps().max(0) as u64 / 1000), 1);
    }
    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
    /// The quantile of `share`; `None` without latencies.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((self.count() as f64 * share).ceil() as u64).clamp(1, self.count().max(1));
        let mut below = 0;
        let found = self.counts.iter().position(|c| {
            below += c;
            below >= rank
        })?;
        Some(Duration::from_ns(longest(found) as i64))
    }
    /// The summary of the histogram.
    pub fn latency(&self) -> Latency {
        let us = |share| self.quantile(share).map(|d| d.as_ps() as f64 / 1e6);
        Latency { count: self.count(), p50_us: us(0.5), p99_us: us(0.99), max_us: us(1.0) }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// As `bucket` in `bpf/observer.bpf.c`.
fn bucket(ns: u64) -> usize {
    if ns < 8 {
        return ns as usize;
    }
    let top = ns.ilog2() as usize;
    ((top - 2) * 8 + (ns >> (top - 3) & 7) as usize).min(Histogram::BUCKETS - 1)
}

/// Upper bound of a bucket, in nanoseconds.
fn longest(bucket: usize) -> u64 {
    if bucket < 8 {
        return bucket as u64;
    }
    let shift = bucket / 8 - 1;
    ((9 + bucket as u64 % 8) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous() {
        let mut next = 0;
        for index in 0..Histogram::BUCKETS {
            let last = longest(index);
            assert!(last >= next && last - next <= next / 8, "bucket {index}: {next} to {last}");
            assert_eq!((bucket(next), bucket(last)), (index, index));
            next = last + 1;
        }
        assert_eq!(next, 1 << 40);
        assert_eq!(bucket(u64::MAX), Histogram::BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_what_was_counted() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.latency(), Latency { count: 0, p50_us: None, p99_us: None, max_us: None });
        for us in 1..=100 {
            histogram.record(Duration::from_us(us));
        }
        for (share, us) in [(0.0, 1.0), (0.5, 50.0), (0.99, 99.0), (1.0, 100.0)] {
            let found = histogram.quantile(share).unwrap().as_ps() as f64 / 1e6;
            assert!((us..=us * 1.125).contains(&found), "{share}: {found} us");
        }
        histogram.record(Duration::from_us(-1));
        assert_eq!((histogram.count(), histogram.quantile(0.0)), (101, Some(Duration::from_ps(0))));
    }
}
