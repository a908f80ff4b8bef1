//! A distribution in five numbers. Values that are not known yet, such as completion times of flows
//! that did not finish, are censored: each is known to be at least some number.

use crate::stats::percentile;
use serde::{Deserialize, Serialize};

/// A distribution in five numbers. See [`percentile`](crate::stats::percentile).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
    /// Which of the numbers are lower bounds; the others are exact.
    #[serde(default, skip_serializing_if = "LowerBounds::is_none")]
    pub lower_bounds: LowerBounds,
}

/// Which numbers of a [`Distribution`] are lower bounds of the true ones, because they depend on
/// censored values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowerBounds {
    /// Whether the mean is a lower bound: it is if any value is censored.
    pub mean: bool,
    /// Whether the median is a lower bound.
    pub p50: bool,
    /// Whether the 95th percentile is a lower bound.
    pub p95: bool,
    /// Whether the 99th percentile is a lower bound.
    pub p99: bool,
    /// Whether the largest value is a lower bound: it is if any value is censored.
    pub max: bool,
}

impl LowerBounds {
    /// Whether all numbers are exact.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The names of the numbers that are lower bounds.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let Self { mean, p50, p95, p99, max } = self;
        let all = [("mean", mean), ("p50", p50), ("p95", p95), ("p99", p99), ("max", max)];
        all.into_iter().filter_map(|(name, is_bound)| is_bound.then_some(name))
    }
}

impl Distribution {
    /// The distribution of values in any order; `None` without values. The order does not change a
    /// bit of the result.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let at = |p| percentile(&values, p);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let lower_bounds = LowerBounds::default();
        Some(Self { mean, p50: at(50.0)?, p95: at(95.0)?, p99: at(99.0)?, max: at(100.0)?, lower_bounds })
    }

    /// The distribution of `known` values and of others, of which only a lower bound is in
    /// `at_least`; `None` without values.
    ///
    /// A censored value counts with its lower bound, so no number exceeds the true one. An order
    /// statistic is exact if it would be the same with all censored values at infinity. That is so
    /// below the smallest lower bound.
    pub fn censored(mut known: Vec<f64>, at_least: Vec<f64>) -> Option<Self> {
        if at_least.is_empty() {
            return Self::of(known);
        }
        known.sort_unstable_by(f64::total_cmp);
        let mut all = [known.as_slice(), &at_least].concat();
        all.sort_unstable_by(f64::total_cmp);
        let is_exact = |rank: usize| known.get(rank) == Some(&all[rank]);
        let is_bound = |p: f64| {
            let position = (all.len() - 1) as f64 * p / 100.0;
            let below = position.floor();
            !is_exact(below as usize) || (position > below && !is_exact(below as usize + 1))
        };
        let (p50, p95, p99) = (is_bound(50.0), is_bound(95.0), is_bound(99.0));
        let lower_bounds = LowerBounds { mean: true, p50, p95, p99, max: true };
        Some(Self { lower_bounds, ..Self::of(all)? })
    }

    /// The [`censored`](Self::censored) distribution of integers, whose sum is exact.
    pub(crate) fn of_ps(known: Vec<i64>, at_least: Vec<i64>) -> Option<Self> {
        let sum: i128 = known.iter().chain(&at_least).map(|&v| i128::from(v)).sum();
        let mean = sum as f64 / (known.len() + at_least.len()) as f64;
        let real = |values: Vec<i64>| values.into_iter().map(|v| v as f64).collect();
        Some(Self { mean, ..Self::censored(real(known), real(at_least))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The numbers and whether each is a lower bound.
    fn parts(d: Distribution) -> [(f64, bool); 5] {
        let b = d.lower_bounds;
        [(d.mean, b.mean), (d.p50, b.p50), (d.p95, b.p95), (d.p99, b.p99), (d.max, b.max)]
    }

    #[test]
    fn order_statistics_below_the_censoring_point_are_exact() {
        // 1 to 96 are known, four values are at least 97: ranks 0 to 95 of 100 are exact. The 95th
        // percentile lies between ranks 94 and 95, the 99th between 98 and 99.
        let known: Vec<f64> = (1..=96).map(f64::from).collect();
        let found = Distribution::censored(known.clone(), vec![97.0; 4]).unwrap();
        let bounds = LowerBounds { mean: true, p99: true, max: true, ..LowerBounds::default() };
        assert_eq!(found.lower_bounds, bounds);
        assert_eq!((found.p50, found.p99, found.max), (50.5, 97.0, 97.0));
        assert!((found.p95 - 95.05).abs() < 1e-12, "{}", found.p95);
        assert!((found.mean - (96.0 * 97.0 / 2.0 + 4.0 * 97.0) / 100.0).abs() < 1e-12);
        assert_eq!(bounds.names().collect::<Vec<_>>(), ["mean", "p99", "max"]);
        // A value that may be anything from 10 on makes all numbers above it lower bounds.
        let found = Distribution::censored(known, vec![10.0]).unwrap();
        assert!(found.lower_bounds.p50 && found.p50 < 49.5, "{found:?}");
    }

    #[test]
    fn without_censored_values_nothing_changes() {
        let values = vec![3.0, 1.0, 2.0];
        let found = Distribution::censored(values.clone(), Vec::new());
        assert_eq!(found, Distribution::of(values));
        assert!(!serde_json::to_string(&found).unwrap().contains("lower_bounds"));
        assert_eq!(Distribution::censored(Vec::new(), Vec::new()), None);
        let none = Distribution::censored(Vec::new(), vec![7.0, 7.0]).unwrap();
        assert_eq!(parts(none), [(7.0, true); 5]);
    }

    proptest! {
        /// Whatever the censored values turn out to be, numbers are lower bounds or exact.
        #[test]
        fn true_numbers_are_as_said(known in proptest::collection::vec(0u32..50, 0..40),
                                    censored in proptest::collection::vec((0u32..50, 0u32..50), 1..10)) {
            let real = |v: &[u32]| v.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
            let at_least: Vec<u32> = censored.iter().map(|c| c.0).collect();
            let mut truth = known.clone();
            truth.extend(censored.iter().map(|(least, more)| least + more));
            let found = parts(Distribution::censored(real(&known), real(&at_least)).unwrap());
            for ((value, is_bound), (exact, _)) in found.into_iter().zip(parts(Distribution::of(real(&truth)).unwrap())) {
                prop_assert!(value <= exact + 1e-9);
                prop_assert!(is_bound || (value - exact).abs() < 1e-9, "{value} is not {exact}");
            }
        }
    }
}
