//! The comparison of schemes, side by side at each sweep point: means over seeds, paired
//! differences from a baseline, equivalence tests and bounds.

mod context;
mod export;
mod notes;
mod text;

pub use context::{Context, SharedTraffic};
use indexmap::{IndexMap, IndexSet};
use std::collections::BTreeMap;
use timeplane_results::stats::{Equivalence, Interval, LEVEL, MARGIN, Paired, equivalence, holm, paired};
use timeplane_results::{Bound, Counts, Metric, RunSummary, WindowSummary};

/// The largest share of a line's flows (coflows) that may be unfinished for differences to be
/// tested, on either side: one in a thousand. Unfinished flows are the slowest, and beyond this
/// share they decide a mean.
pub const UNFINISHED_SHARE: f64 = 0.001;

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonOptions {
    /// The scheme that others are compared with; `None`: that of the first run.
    pub baseline: Option<String>,
    /// The columns; empty: [`Metric::usual`].
    pub metrics: Vec<Metric>,
    /// The confidence level of the intervals, by default 0.95.
    pub level: f64,
    /// The margin of equivalence relative to the baseline, by default 0.1.
    pub margin: f64,
    /// Theoretical bounds.
    pub bounds: Vec<Bound>,
    /// Facts of the scenarios.
    pub context: Context,
}

impl Default for ComparisonOptions {
    fn default() -> Self {
        Self {
            baseline: None,
            metrics: Vec::new(),
            level: LEVEL,
            margin: MARGIN,
            bounds: Vec::new(),
            context: Context::default(),
        }
    }
}

/// One metric of one scheme at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The compared metric.
    pub metric: Metric,
    /// The mean over seeds; `None` if no run has a value.
    pub value: Option<Interval>,
    /// Whether the mean is a lower bound of the true one, because flows or coflows of a run did not
    /// finish.
    pub lower_bound: bool,
    /// The difference from the baseline over common seeds; `None` for the baseline.
    pub difference: Option<Paired>,
    /// Whether flows or coflows that the metric is over did not finish, in this line or in that of
    /// the baseline.
    pub unfinished: bool,
    /// Whether the difference is not tested: the share of unfinished flows or coflows is above
    /// [`UNFINISHED_SHARE`] on either side, or a percentile is a lower bound.
    pub untested: bool,
    /// The test whether it equals the baseline within the margin; `None` if it is not tested.
    pub equivalence: Option<Equivalence>,
    /// The p-value of the difference, corrected for all tests of the comparison
    /// ([`holm`](timeplane_results::stats::holm)); `None` if it is not tested.
    pub corrected_p_value: Option<f64>,
    /// Whether the difference is significant after that correction; `None` if it is not tested.
    pub significant: Option<bool>,
    /// The bound at this point.
    pub bound: Option<f64>,
}

/// One scheme at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The sweep point.
    pub point: IndexMap<String, String>,
    /// Its name in the scenario.
    pub scheme: String,
    /// The seeds of complete runs, in ascending order.
    pub seeds: Vec<u64>,
    /// Flows, summed over seeds.
    pub flows: Counts,
    /// Coflows, summed over seeds.
    pub coflows: Counts,
    /// One cell for each metric, in the order of the columns.
    pub cells: Vec<Cell>,
}

/// Schemes side by side. Points and schemes are in the order in which they first appear in the
/// runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    lines: Vec<Line>,
    metrics: Vec<Metric>,
    keys: Vec<String>,
    baseline: String,
    level: f64,
    margin: f64,
    bounds: Vec<Bound>,
    context: Context,
    windows: Vec<WindowSummary>,
    seeds: usize,
    /// The number of tested differences.
    tests: usize,
}

/// The runs of a scheme at a point, by seed.
type Seeds<'a> = BTreeMap<u64, &'a RunSummary>;

fn total(runs: &Seeds<'_>, counts: impl Fn(&RunSummary) -> Counts) -> Counts {
    runs.values().map(|r| counts(r)).fold(Counts::default(), |a, b| Counts {
        // A summary without a digest may have any numbers.
        arrived: a.arrived.saturating_add(b.arrived),
        measured: a.measured.saturating_add(b.measured),
        finished: a.finished.saturating_add(b.finished),
        unfinished: a.unfinished.saturating_add(b.unfinished),
    })
}

/// Corrects the p-values of all tested differences for their number, which it returns.
fn correct(lines: &mut [Line], level: f64) -> usize {
    let p_value = |cell: &Cell| cell.difference.filter(|_| !cell.untested)?.p_value;
    let cells = lines.iter_mut().flat_map(|line| &mut line.cells);
    let (tested, p_values): (Vec<&mut Cell>, Vec<f64>) =
        cells.filter_map(|cell| p_value(cell).map(|p| (cell, p))).unzip();
    for (cell, p) in tested.into_iter().zip(holm(&p_values)) {
        cell.corrected_p_value = Some(p);
        cell.significant = Some(p < 1.0 - level);
    }
    p_values.len()
}

impl Comparison {
    /// Compares runs. Of runs with the same point, scheme and seed, the last one counts.
    pub fn new(runs: &[RunSummary], options: &ComparisonOptions) -> Self {
        type Group<'a> = (Vec<(&'a String, &'a String)>, &'a str);
        let mut groups: IndexMap<Group<'_>, Seeds<'_>> = IndexMap::new();
        for run in runs {
            groups.entry((run.point.iter().collect(), &run.scheme)).or_default().insert(run.seed, run);
        }
        let points: IndexSet<&Vec<(&String, &String)>> = groups.keys().map(|(point, _)| point).collect();
        let schemes: IndexSet<&str> = runs.iter().map(|r| r.scheme.as_str()).collect();
        let keys: IndexSet<&String> = runs.iter().flat_map(|r| r.point.keys()).collect();
        let windows: IndexMap<(i64, Option<i64>, Option<i64>), WindowSummary> =
            runs.iter().map(|r| ((r.window.warmup_ps, r.window.measure_ps, r.window.drain_ps), r.window)).collect();
        let all_seeds: IndexSet<u64> = runs.iter().map(|r| r.seed).collect();
        let first = schemes.first().copied().unwrap_or_default();
        let baseline = options.baseline.as_deref().unwrap_or(first);
        let metrics = if options.metrics.is_empty() { Metric::usual(runs) } else { options.metrics.clone() };
        let mut lines = Vec::with_capacity(points.len() * schemes.len());
        for point in &points {
            let none = BTreeMap::new();
            let of = |scheme| groups.get(&((*point).clone(), scheme)).unwrap_or(&none);
            let base = of(baseline);
            for &scheme in &schemes {
                let mine = of(scheme);
                let point: IndexMap<String, String> =
                    point.iter().map(|(key, value)| ((*key).clone(), (*value).clone())).collect();
                let cell = |&metric: &Metric| {
                    let bounds = options.bounds.iter().filter(|b| b.metric == metric);
                    let mut bounds =
                        bounds.flat_map(|b| &b.values).filter(|(at, _)| *at == point).map(|(_, value)| *value);
                    // Folders of different scenarios may have different bounds for this line.
                    let bound = bounds.next().filter(|first| bounds.all(|other| other == *first));
                    Cell::new(metric, mine, Some(base).filter(|_| scheme != baseline), bound, options)
                };
                let cells = metrics.iter().map(cell).collect();
                let (flows, coflows) = (total(mine, |r| r.flows), total(mine, |r| r.coflows));
                let seeds = mine.keys().copied().collect();
                lines.push(Line { point, scheme: scheme.to_owned(), seeds, flows, coflows, cells });
            }
        }
        let tests = correct(&mut lines, options.level);
        Self {
            lines,
            metrics,
            keys: keys.into_iter().cloned().collect(),
            baseline: baseline.to_owned(),
            level: options.level,
            margin: options.margin,
            bounds: options.bounds.clone(),
            context: options.context.clone(),
            windows: windows.into_values().collect(),
            seeds: all_seeds.len(),
            tests,
        }
    }

    /// All lines: every scheme at every point, even if no run is complete.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The scheme that others are compared with.
    pub fn baseline(&self) -> &str {
        &self.baseline
    }

    /// The theoretical bounds.
    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }
}

impl Cell {
    /// Compares the runs of a scheme with those of the baseline, `None` for the baseline itself.
    fn new(
        metric: Metric,
        mine: &Seeds<'_>,
        baseline: Option<&Seeds<'_>>,
        bound: Option<f64>,
        options: &ComparisonOptions,
    ) -> Self {
        let values: Vec<f64> = mine.values().filter_map(|r| metric.value(r)).collect();
        let partner = |seed| baseline.and_then(|base| base.get(seed));
        let pairs = mine.iter().filter_map(|(seed, run)| Some((metric.value(run)?, metric.value(partner(seed)?)?)));
        let (own, theirs): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let difference = paired(&own, &theirs, options.level);
        let sides = [Some(mine), baseline.filter(|_| difference.is_some())];
        let sides = || sides.into_iter().flatten();
        let counts = |runs: &Seeds<'_>| total(runs, |r| metric.counts(r).unwrap_or_default());
        let is_bound = |runs: &Seeds<'_>| runs.values().any(|r| metric.is_lower_bound(r));
        let is_open = |runs: &Seeds<'_>| {
            counts(runs).unfinished_share() > UNFINISHED_SHARE || (is_bound(runs) && !metric.is_mean())
        };
        let untested = difference.is_some() && sides().any(is_open);
        let equivalence = if untested { None } else { equivalence(&own, &theirs, options.margin, options.level) };
        Self {
            metric,
            value: Interval::of(&values, options.level),
            lower_bound: is_bound(mine),
            difference,
            unfinished: sides().any(|runs| counts(runs).unfinished > 0),
            untested,
            equivalence,
            corrected_p_value: None,
            significant: None,
            bound,
        }
    }
}
