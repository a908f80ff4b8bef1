//! Statistics of runs: percentiles, fairness, intervals, paired differences, equivalence.
//!
//! Intervals are Student's t intervals over independent values, which the seeds of a run set are. Values within
//! one run are not independent: [`batch_means`] is for them.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence level of intervals, unless said otherwise.
pub const LEVEL: f64 = 0.95;
/// The margin of "no difference", relative to the baseline, unless said otherwise.
pub const MARGIN: f64 = 0.1;

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The `p`-th percentile (`0 <= p <= 100`) of values in ascending order; `None` of nothing.
///
/// Linear interpolation between the two values next to position `(n - 1) p / 100`, counted from 0: the default of numpy, pandas
/// and R (type 7).
///
/// # Panics
/// Where `p` is not in `0..=100`.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    assert!((0.0..=100.0).contains(&p), "percentile {p} is not in 0..=100");
    debug_assert!(sorted.is_sorted(), "percentiles need values in ascending order");
    let last = sorted.len().checked_sub(1)?;
    let position = last as f64 * p / 100.0;
    let below = position.floor() as usize;
    let (a, b) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(a + (b - a) * (position - below as f64))
}

/// Jain's index of fairness, `(sum x)^2 / (n sum x^2)`: 1 where all are equal, `1/n` where one has all (Jain, Chiu and
/// Hawe, DEC-TR-301, 1984). `None` of nothing, and where all are 0.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// A mean and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half of the interval's width; `None` of a single value, of which nothing is known.
    pub half_width: Option<f64>,
    /// How many values it comes from.
    pub count: u64,
}

impl Interval {
    /// The interval that contains the true mean with probability `level`, for independent values that are about
    /// normally distributed; `None` of nothing.
    ///
    /// # Panics
    /// Where `level` is not between 0 and 1.
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
    /// Whether all of the interval is on one side of zero: a difference that is more than chance.
    pub fn excludes_zero(&self) -> bool {
        self.half_width.is_some_and(|h| self.mean.abs() > h)
    }
}

/// `s / sqrt(n)`; `None` under two values.
fn standard_error(values: &[f64], mean: f64) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some((squares / (n - 1) as f64 / n as f64).sqrt())
}

fn student(freedom: usize) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom as f64).expect("at least one degree of freedom")
}

/// The `p`-quantile of Student's t distribution.
///
/// By bisection of the distribution function: statrs's own inverse is off by 2 % at `p = 0.8` with two degrees of freedom.
///
/// # Panics
/// Where `p` is not between 0 and 1, or `freedom` is 0.
pub fn t_quantile(p: f64, freedom: usize) -> f64 {
    assert!(p > 0.0 && p < 1.0, "probability {p} is not between 0 and 1");
    if p < 0.5 {
        return -t_quantile(1.0 - p, freedom);
    }
    let t = student(freedom);
    let (mut low, mut high) = (0.0, 1.0);
    while t.cdf(high) < p {
        (low, high) = (high, high * 2.0);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if t.cdf(middle) < p { low = middle } else { high = middle }
    }
}

/// A difference between two controls that saw the same arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// `value - baseline`, seed by seed.
    pub absolute: Interval,
    /// `value / baseline - 1`, seed by seed; `None` where a baseline is 0.
    pub relative: Option<Interval>,
}

/// The difference of `values` to `baseline`, paired by position (the same seed, and so the same arrivals): what the arrivals
/// do to both cancels out. `None` of nothing.
///
/// # Panics
/// Where the lengths differ.
pub fn paired(values: &[f64], baseline: &[f64], level: f64) -> Option<Paired> {
    assert_eq!(values.len(), baseline.len(), "paired values come in pairs");
    let differences: Vec<f64> = values.iter().zip(baseline).map(|(x, b)| x - b).collect();
    let absolute = Interval::of(&differences, level)?;
    let relative = relative_differences(values, baseline).and_then(|d| Interval::of(&d, level));
    Some(Paired { absolute, relative })
}

fn relative_differences(values: &[f64], baseline: &[f64]) -> Option<Vec<f64>> {
    values.iter().zip(baseline).map(|(x, b)| (*b != 0.0).then(|| x / b - 1.0)).collect()
}

/// Answer of an equivalence test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Equivalence {
    /// The larger of the two one-sided p-values.
    pub p_value: f64,
    /// The margin that was asked for, relative to the baseline.
    pub margin: f64,
    /// Whether the relative difference is within the margin, at `1 - level`.
    pub equivalent: bool,
}

/// Whether `values` differ from `baseline` by less than `margin`, relative to the baseline: two one-sided paired t-tests
/// (Schuirmann, J. Pharmacokinet. Biopharm. 15(6), 1987). Not finding a difference is no proof that there is
/// none; this is.
///
/// `None` under two pairs, and where a baseline is 0.
///
/// # Panics
/// Where the lengths differ, or `margin` is not positive.
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
        student(differences.len() - 1).cdf((mean.abs() - margin) / error)
    };
    Some(Equivalence { p_value, margin, equivalent: p_value < 1.0 - level })
}

/// An interval for the mean of a series from one run, whose neighbours resemble each other: the series is cut into
/// `batches` parts of equal length, whose means are nearly independent where the parts are long. Values at the beginning that fill no
/// whole part are left out. `None` under two batches, or where the series is shorter than that.
pub fn batch_means(series: &[f64], batches: usize, level: f64) -> Option<Interval> {
    let length = series.len().checked_div(batches)?;
    if batches < 2 || length == 0 {
        return None;
    }
    let rest = series.len() - length * batches;
    let means: Vec<f64> = series[rest..].chunks_exact(length).filter_map(mean).collect();
    Interval::of(&means, level)
}
