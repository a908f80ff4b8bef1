//! Statistics of runs: percentiles, fairness, intervals, paired differences, tests, equivalence.
//!
//! Intervals are Student's t intervals over independent values, such as those of several seeds.
//! Values within one run are not independent: use [`batch_means`] for them.

use serde::{Deserialize, Serialize};

use crate::student::{below, quantile};

/// The default confidence level of intervals.
pub const LEVEL: f64 = 0.95;
/// The default margin of equivalence, relative to the baseline.
pub const MARGIN: f64 = 0.1;

/// The arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The `p`-th percentile (`0 <= p <= 100`) of values in ascending order; `None` without values.
///
/// Linear interpolation between the two values next to position `(n - 1) p / 100`, counted from 0:
/// the default of numpy, pandas and R (type 7).
///
/// # Panics
/// If `p` is not in `0..=100`.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    assert!((0.0..=100.0).contains(&p), "percentile {p} is not in 0..=100");
    debug_assert!(sorted.is_sorted(), "percentiles need values in ascending order");
    let last = sorted.len().checked_sub(1)?;
    let position = last as f64 * p / 100.0;
    let below = position.floor() as usize;
    let (a, b) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(a + (b - a) * (position - below as f64))
}

/// Jain's index of fairness, `(sum x)^2 / (n sum x^2)`: 1 if all are equal, `1/n` if one has
/// all (Jain, Chiu and Hawe, DEC-TR-301, 1984). `None` without values or if all are 0.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// A mean and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The arithmetic mean of the values.
    pub mean: f64,
    /// Half of the interval's width; `None` with a single value.
    pub half_width: Option<f64>,
    /// The number of values.
    pub count: u64,
}

impl Interval {
    /// The interval that contains the true mean with probability `level`, for independent values
    /// that are about normally distributed; `None` without values.
    ///
    /// # Panics
    /// If `level` is not between 0 and 1.
    pub fn of(values: &[f64], level: f64) -> Option<Self> {
        let mean = mean(values)?;
        let half_width = standard_error(values, mean)
            .map(|error| if error == 0.0 { 0.0 } else { t_quantile(0.5 + level / 2.0, values.len() - 1) * error });
        Some(Self { mean, half_width, count: values.len() as u64 })
    }
    /// The lower end.
    pub fn low(&self) -> Option<f64> {
        self.half_width.map(|h| self.mean - h)
    }
    /// The upper end.
    pub fn high(&self) -> Option<f64> {
        self.half_width.map(|h| self.mean + h)
    }
    /// Whether the whole interval is on one side of zero: a significant difference.
    pub fn excludes_zero(&self) -> bool {
        self.half_width.is_some_and(|h| self.mean.abs() > h)
    }
}

/// `s / sqrt(n)`; `None` with fewer than two values.
fn standard_error(values: &[f64], mean: f64) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some((squares / (n - 1) as f64 / n as f64).sqrt())
}

/// The `p`-quantile of Student's t distribution.
///
/// # Panics
/// If `p` is not between 0 and 1, or `freedom` is 0.
pub fn t_quantile(p: f64, freedom: usize) -> f64 {
    assert!(p > 0.0 && p < 1.0, "probability {p} is not between 0 and 1");
    quantile(p, freedom)
}

/// A difference between two schemes with the same traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// `value - baseline`, paired by seed.
    pub absolute: Interval,
    /// `value / baseline - 1`, paired by seed; `None` if a baseline is 0.
    pub relative: Option<Interval>,
    /// The [p-value](p_value) of the relative difference or, without one, of the absolute one;
    /// `None` with a single pair.
    pub p_value: Option<f64>,
}

/// The difference of `values` from `baseline`, paired by position. Pairs have the same seed and so
/// the same traffic, whose influence on both cancels out. `None` without values.
///
/// # Panics
/// If the lengths differ.
pub fn paired(values: &[f64], baseline: &[f64], level: f64) -> Option<Paired> {
    assert_eq!(values.len(), baseline.len(), "paired values come in pairs");
    let differences: Vec<f64> = values.iter().zip(baseline).map(|(x, b)| x - b).collect();
    let absolute = Interval::of(&differences, level)?;
    let relative = relative_differences(values, baseline);
    let p_value = p_value(relative.as_ref().unwrap_or(&differences));
    let relative = relative.and_then(|d| Interval::of(&d, level));
    Some(Paired { absolute, relative, p_value })
}

/// The two-sided p-value of Student's t-test that the mean of `values` is 0: below `1 - level`
/// exactly if the [`Interval`] excludes 0. `None` with fewer than two values.
pub fn p_value(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let error = standard_error(values, mean)?;
    if error == 0.0 {
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    Some(2.0 * below(-(mean / error).abs(), values.len() - 1))
}

/// Corrects the p-values of several tests, so that with probability `1 - a` no test of a true null
/// hypothesis has a corrected p-value below `a` (S. Holm, A Simple Sequentially Rejective Multiple
/// Test Procedure, Scandinavian Journal of Statistics 6(2), 1979). In the order of `p_values`.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut most = 0.0f64;
    for (rank, &test) in order.iter().enumerate() {
        most = most.max(p_values[test] * (p_values.len() - rank) as f64).min(1.0);
        corrected[test] = most;
    }
    corrected
}

fn relative_differences(values: &[f64], baseline: &[f64]) -> Option<Vec<f64>> {
    values.iter().zip(baseline).map(|(x, b)| (*b != 0.0).then(|| x / b - 1.0)).collect()
}

/// The result of an equivalence test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Equivalence {
    /// The larger of the two one-sided p-values.
    pub p_value: f64,
    /// The margin, relative to the baseline.
    pub margin: f64,
    /// Whether the relative difference is within the margin, at `1 - level`.
    pub equivalent: bool,
}

/// Whether `values` differ from `baseline` by less than `margin`, relative to the baseline: two
/// one-sided paired t-tests (Schuirmann, J. Pharmacokinet. Biopharm. 15(6), 1987). A
/// difference that is not significant does not prove equivalence; this test does.
///
/// `None` with fewer than two pairs, or if a baseline is 0.
///
/// # Panics
/// If the lengths differ, or `margin` is not positive.
pub fn equivalence(values: &[f64], baseline: &[f64], margin: f64, level: f64) -> Option<Equivalence> {
    assert_eq!(values.len(), baseline.len(), "paired values come in pairs");
    assert!(margin > 0.0, "a margin of equivalence is positive, not {margin}");
    let differences = relative_differences(values, baseline)?;
    let mean = mean(&differences)?;
    let error = standard_error(&differences, mean)?;
    let p_value = if error == 0.0 {
        if mean.abs() < margin { 0.0 } else { 1.0 }
    } else {
        // The nearer edge of the margin decides.
        below((mean.abs() - margin) / error, differences.len() - 1)
    };
    Some(Equivalence { p_value, margin, equivalent: p_value < 1.0 - level })
}

/// An interval for the mean of a series from one run, whose values are correlated. The series is
/// divided into `batches` of equal length. The means of long batches are nearly independent. Values
/// at the start that do not fill a batch are left out. `None` with fewer than two batches, or if
/// the series is shorter than that.
pub fn batch_means(series: &[f64], batches: usize, level: f64) -> Option<Interval> {
    let length = series.len().checked_div(batches)?;
    if batches < 2 || length == 0 {
        return None;
    }
    let rest = series.len() - length * batches;
    let means: Vec<f64> = series[rest..].chunks_exact(length).filter_map(mean).collect();
    Interval::of(&means, level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b}");
    }

    #[test]
    fn quantiles_of_t_are_those_of_scipy() {
        // [scipy.stats.t.ppf(p, n) for p in (0.8, 0.975, 0.9995)]
        let table = [
            (1, [1.3763819204711738, 12.706204736174694, 636.6192487687897]),
            (2, [1.0606601717798214, 4.302652729749462, 31.599054576445365]),
            (3, [0.9784723123633042, 3.1824463052837078, 12.923978636687961]),
            (4, [0.9409645772351816, 2.7764451051977934, 8.610301581379522]),
            (9, [0.8834038596855346, 2.262157162798205, 4.780912585931217]),
            (29, [0.8541919858818557, 2.045229642132703, 3.6594050194663748]),
            (99, [0.8452670319534972, 1.9842169515864174, 3.391528833363685]),
        ];
        for (freedom, quantiles) in table {
            for (p, quantile) in [0.8, 0.975, 0.9995].into_iter().zip(quantiles) {
                close(t_quantile(p, freedom), quantile, 1e-10);
            }
        }
    }

    const X: [f64; 5] = [12.1, 11.8, 12.6, 12.3, 11.9];
    const B: [f64; 5] = [13.0, 12.9, 13.3, 13.1, 12.8];

    #[test]
    fn intervals_and_paired_differences_are_those_of_scipy() {
        // stats.t.interval(0.95, 4, loc=np.mean(x), scale=stats.sem(x))
        let interval = Interval::of(&X, 0.95).unwrap();
        close(interval.low().unwrap(), 11.741505160765108, 1e-12);
        close(interval.high().unwrap(), 12.53849483923489, 1e-12);
        // stats.ttest_rel(x, b).confidence_interval(0.95)
        let paired = paired(&X, &B, 0.95).unwrap();
        close(paired.absolute.low().unwrap(), -1.064168533299198, 1e-12);
        close(paired.absolute.high().unwrap(), -0.6958314667008023, 1e-12);
        // d = x / b - 1; stats.t.interval(0.95, 4, loc=d.mean(), scale=stats.sem(d))
        let relative = paired.relative.unwrap();
        close(relative.low().unwrap(), -0.08276951871938687, 1e-12);
        close(relative.high().unwrap(), -0.0526364285996816, 1e-12);
        assert!(relative.excludes_zero());
    }

    #[test]
    fn p_values_are_those_of_the_t_distribution() {
        // By its closed form for 4 degrees of freedom, in 40 digits: with q = 1 + t^2 / 4, the
        // distribution is 1/2 + 3/8 t / sqrt(q) (1 - t^2 / (12 q)).
        close(paired(&X, &B, 0.95).unwrap().p_value.unwrap(), 2.373795362398131e-04, 1e-9);
        close(p_value(&X.map(|x| x - 12.0)).unwrap(), 3.845811476629864e-01, 1e-9);
        // Without a relative difference, that of the absolute one.
        assert_eq!(paired(&[1.0, 2.0], &[0.0, 1.0], 0.95).unwrap().p_value, Some(0.0));
        assert_eq!((p_value(&[0.0, 0.0]), p_value(&[1.0])), (Some(1.0), None));
    }

    #[test]
    fn holms_correction_is_that_worked_out_by_hand() {
        // 4 x 0.005, 3 x 0.01, 2 x 0.03, and 1 x 0.04, which is less than the one before.
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in corrected.into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
            close(found, expected, 1e-12);
        }
        assert_eq!(holm(&[0.7, 0.6]), [1.0, 1.0]);
        assert_eq!(holm(&[0.04]), [0.04]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    #[test]
    fn equivalence_is_that_of_two_t_tests() {
        // max(stats.ttest_1samp(d, -m, alternative="greater").pvalue, stats.ttest_1samp(d, m,
        // alternative="less").pvalue)
        for (margin, p_value, equivalent) in
            [(0.05, 0.9844930278138564, false), (0.1, 0.00199964951258923, true), (0.2, 8.39776331400161e-06, true)]
        {
            let found = equivalence(&X, &B, margin, 0.95).unwrap();
            close(found.p_value, p_value, 1e-9);
            assert_eq!(found.equivalent, equivalent);
        }
        assert_eq!(equivalence(&[1.0], &[1.0], 0.1, 0.95), None);
        assert_eq!(equivalence(&[1.0, 1.0], &[1.0, 0.0], 0.1, 0.95), None);
        assert!(equivalence(&[1.0, 2.0], &[1.0, 2.0], 0.1, 0.95).unwrap().equivalent);
        assert!(!equivalence(&[2.0, 4.0], &[1.0, 2.0], 0.1, 0.95).unwrap().equivalent);
    }

    #[test]
    fn percentiles_are_those_of_numpy() {
        let values = [1.0, 1.5, 2.6, 3.0, 4.0, 5.0, 9.0];
        // np.percentile(values, p)
        for (p, expected) in
            [(0.0, 1.0), (10.0, 1.3), (25.0, 2.05), (50.0, 3.0), (95.0, 7.8), (99.0, 8.76), (100.0, 9.0)]
        {
            close(percentile(&values, p).unwrap(), expected, 1e-12);
        }
        assert_eq!(percentile(&[7.0], 99.0), Some(7.0));
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn of_little_little_is_known() {
        assert_eq!(Interval::of(&[], 0.95), None);
        let one = Interval::of(&[3.0], 0.95).unwrap();
        assert_eq!((one.half_width, one.excludes_zero()), (None, false));
        assert_eq!(Interval::of(&[3.0, 3.0], 0.95).unwrap().half_width, Some(0.0));
        assert_eq!(paired(&[1.0, 2.0], &[0.0, 1.0], 0.95).unwrap().relative, None);
        assert_eq!(jain(&[0.0, 0.0]), None);
        close(jain(&[1.0, 1.0, 2.0]).unwrap(), 16.0 / 18.0, 1e-15);
    }

    #[test]
    fn batch_means_cover_what_resembles_its_neighbors() {
        // An autoregressive series, x' = 0.9 x + u, mean 0: an interval over single values is far
        // too short.
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let (mut covered, mut naive, runs) = (0, 0, 400);
        for _ in 0..runs {
            let mut x = 0.0;
            let series: Vec<f64> = (0..4000)
                .map(|_| {
                    x = 0.9 * x + uniform();
                    x
                })
                .collect();
            covered += u32::from(!batch_means(&series, 20, 0.95).unwrap().excludes_zero());
            naive += u32::from(!Interval::of(&series, 0.95).unwrap().excludes_zero());
        }
        let (covered, naive) = (f64::from(covered) / f64::from(runs), f64::from(naive) / f64::from(runs));
        assert!((0.92..0.98).contains(&covered), "{covered}");
        assert!(naive < 0.5, "{naive}");
        assert_eq!(batch_means(&[1.0, 2.0], 3, 0.95), None);
        assert_eq!(batch_means(&[1.0, 2.0], 0, 0.95), None);
        // The first value fills no part.
        assert_eq!(batch_means(&[99.0, 1.0, 3.0, 4.0, 6.0], 2, 0.95).unwrap().mean, 3.5);
    }

    proptest! {
        #[test]
        fn jain_is_between_one_nth_and_one(values in proptest::collection::vec(0.0..1e9, 1..50)) {
            if let Some(index) = jain(&values) {
                prop_assert!(index <= 1.0 + 1e-12 && index >= 1.0 / values.len() as f64 - 1e-12);
            }
        }

        #[test]
        fn percentiles_rise_and_stay_in_range(mut values in proptest::collection::vec(-1e9..1e9, 1..50),
                                              p in 0.0..100.0, q in 0.0..100.0) {
            values.sort_by(f64::total_cmp);
            let at = |p| percentile(&values, p).unwrap();
            prop_assert!(values[0] <= at(p) && at(p) <= values[values.len() - 1]);
            prop_assert!((p <= q) == (at(p) <= at(q)) || at(p) == at(q));
        }

        #[test]
        fn an_interval_moves_and_scales_with_its_values(values in proptest::collection::vec(-1e3f64..1e3, 2..20),
                                                        by in -1e3f64..1e3, factor in 0.1f64..10.0) {
            let before = Interval::of(&values, 0.95).unwrap();
            let moved: Vec<f64> = values.iter().map(|x| factor * x + by).collect();
            let after = Interval::of(&moved, 0.95).unwrap();
            prop_assert!((after.mean - (factor * before.mean + by)).abs() < 1e-8);
            let width = factor * before.half_width.unwrap();
            prop_assert!((after.half_width.unwrap() - width).abs() <= 1e-6 * width + 1e-6);
        }

        #[test]
        fn a_p_value_is_small_exactly_if_the_interval_excludes_zero(values in proptest::collection::vec(-1f64..3.0, 2..8)) {
            let p = p_value(&values).unwrap();
            // Rounding may decide at the very edge.
            prop_assume!((p - 0.05).abs() > 1e-6);
            prop_assert_eq!(p < 0.05, Interval::of(&values, 0.95).unwrap().excludes_zero());
        }

        #[test]
        fn common_arrivals_cancel_out(base in proptest::collection::vec(1.0f64..1e3, 2..20), factor in 0.5f64..2.0) {
            let values: Vec<f64> = base.iter().map(|b| b * factor).collect();
            let relative = paired(&values, &base, 0.95).unwrap().relative.unwrap();
            prop_assert!((relative.mean - (factor - 1.0)).abs() < 1e-12);
            prop_assert!(relative.half_width.unwrap() < 1e-9);
        }
    }
}
