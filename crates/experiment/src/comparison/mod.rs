//! The comparison of a scenario's schemes, side by side at each sweep point.

mod export;
mod text;

use indexmap::{IndexMap, IndexSet};
use std::collections::BTreeMap;
use timeplane_results::stats::{Equivalence, Interval, LEVEL, MARGIN, Paired, equivalence, paired};
use timeplane_results::{Bound, Counts, Metric, RunSummary, WindowSummary};

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonOptions {
    /// The scheme that differences are to; `None`: the one of the first run.
    pub baseline: Option<String>,
    /// Columns; empty: [`Metric::usual`].
    pub metrics: Vec<Metric>,
    /// Confidence level of the intervals; 0.95.
    pub level: f64,
    /// Margin of equivalence, relative to the baseline; 0.1.
    pub margin: f64,
    /// Bounds from theory.
    pub bounds: Vec<Bound>,
}

impl Default for ComparisonOptions {
    fn default() -> Self {
        Self { baseline: None, metrics: Vec::new(), level: LEVEL, margin: MARGIN, bounds: Vec::new() }
    }
}

/// One metric of one scheme at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The metric.
    pub metric: Metric,
    /// Its mean over seeds; `None` where no run has a value.
    pub value: Option<Interval>,
    /// The difference to the baseline over the seeds that both have; `None` for the baseline itself.
    pub difference: Option<Paired>,
    /// Whether it is the same as the baseline's within the margin.
    pub equivalence: Option<Equivalence>,
    /// The bound at this point, where there is one.
    pub bound: Option<f64>,
}

/// One scheme at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The sweep point.
    pub point: IndexMap<String, String>,
    /// The scheme.
    pub scheme: String,
    /// The seeds that were run, in ascending order; empty where no run is complete.
    pub seeds: Vec<u64>,
    /// Flows of all seeds together.
    pub flows: Counts,
    /// Coflows of all seeds together.
    pub coflows: Counts,
    /// By metric, in the order of the columns.
    pub cells: Vec<Cell>,
}

/// Schemes side by side. Lines are ordered as points and schemes first appear among the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    lines: Vec<Line>,
    metrics: Vec<Metric>,
    keys: Vec<String>,
    baseline: String,
    level: f64,
    margin: f64,
    bounds: Vec<Bound>,
    windows: Vec<WindowSummary>,
    seeds: usize,
}

fn total(runs: &BTreeMap<u64, &RunSummary>, counts: fn(&RunSummary) -> Counts) -> Counts {
    runs.values().map(|r| counts(r)).fold(Counts::default(), |a, b| Counts {
        arrived: a.arrived + b.arrived,
        measured: a.measured + b.measured,
        finished: a.finished + b.finished,
        unfinished: a.unfinished + b.unfinished,
    })
}

impl Comparison {
    /// Compares runs. Of several runs with the same point, scheme and seed, the last counts.
    pub fn new(runs: &[RunSummary], options: &ComparisonOptions) -> Self {
        type Group<'a> = (Vec<(&'a String, &'a String)>, &'a str);
        let mut groups: IndexMap<Group<'_>, BTreeMap<u64, &RunSummary>> = IndexMap::new();
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
                    let values: Vec<f64> = mine.values().filter_map(|r| metric.value(r)).collect();
                    let pairs = mine
                        .iter()
                        .filter(|_| scheme != baseline)
                        .filter_map(|(seed, run)| Some((metric.value(run)?, metric.value(base.get(seed)?)?)));
                    let (own, theirs): (Vec<f64>, Vec<f64>) = pairs.unzip();
                    let bounds = options.bounds.iter().filter(|b| b.metric == metric);
                    let mut bounds =
                        bounds.flat_map(|b| &b.values).filter(|(at, _)| *at == point).map(|(_, value)| *value);
                    // Of several questions, each with a bound of its own, none is this line's for certain.
                    let bound = bounds.next().filter(|first| bounds.all(|other| other == *first));
                    Cell {
                        metric,
                        value: Interval::of(&values, options.level),
                        difference: paired(&own, &theirs, options.level),
                        equivalence: equivalence(&own, &theirs, options.margin, options.level),
                        bound,
                    }
                };
                let cells = metrics.iter().map(cell).collect();
                let (flows, coflows) = (total(mine, |r| r.flows), total(mine, |r| r.coflows));
                let seeds = mine.keys().copied().collect();
                lines.push(Line { point, scheme: scheme.to_owned(), seeds, flows, coflows, cells });
            }
        }
        Self {
            lines,
            metrics,
            keys: keys.into_iter().cloned().collect(),
            baseline: baseline.to_owned(),
            level: options.level,
            margin: options.margin,
            bounds: options.bounds.clone(),
            windows: windows.into_values().collect(),
            seeds: all_seeds.len(),
        }
    }

    /// All lines: every scheme at every point, also where no run is complete.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The scheme that differences are to.
    pub fn baseline(&self) -> &str {
        &self.baseline
    }

    /// The bounds from theory that it was made with.
    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }
}

impl Cell {
    /// Whether the interval of the difference (the relative one, where there is one) excludes 0; `None` where there is no interval.
    pub fn is_beyond_chance(&self) -> Option<bool> {
        let difference = self.difference?;
        let shown = difference.relative.unwrap_or(difference.absolute);
        shown.half_width.map(|_| shown.excludes_zero())
    }
}
