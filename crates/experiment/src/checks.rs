//! What is checked of a scenario before it runs, and its `[[check]]` tables: limits on metrics,
//! absolute, relative to another scheme, or relative to a bound.

use crate::comparison::{Comparison, ComparisonOptions, Line};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use timeplane_model::nearest;
use timeplane_results::{Bound, Metric, RunSummary, Scope};
use timeplane_scenario::{Algorithms, Check, Issue, Limit, Loaded, ScenarioError};

/// An invalid check: its place, what is wrong and what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CheckError(String);

/// One check at one point.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The number of the check in the scenario, from 0.
    number: usize,
    check: Check,
    metric: Metric,
    point: String,
    /// The mean or ratio; `None` if a run has no value.
    value: Option<f64>,
    /// Whether the value is a lower bound of the true one.
    lower_bound: bool,
    /// A scheme with more unfinished flows than the check allows.
    unfinished: Option<Unfinished>,
    met: bool,
}

/// A scheme with more unfinished flows or coflows than a check allows.
#[derive(Clone, Debug)]
struct Unfinished {
    scheme: String,
    /// `flows` or `coflows`.
    what: &'static str,
    unfinished: u64,
    measured: u64,
    allowed: u64,
}

impl Unfinished {
    /// `None` if a line has no more unfinished flows than allowed.
    fn find(check: &Check, metric: Metric, line: &Line) -> Option<Self> {
        let (what, counts) = match metric.scope() {
            Scope::Coflows => ("coflows", line.coflows),
            Scope::Flows | Scope::Run => ("flows", line.flows),
        };
        let (unfinished, measured) = (counts.unfinished, counts.measured);
        let allowed = check.unfinished_of(measured);
        let scheme = line.scheme.clone();
        (unfinished > allowed).then_some(Self { scheme, what, unfinished, measured, allowed })
    }

    /// `2 of 80 flows of cubic did not finish: expected none, see allow_unfinished`
    fn to_text(&self) -> String {
        let Self { scheme, what, unfinished, measured, allowed } = self;
        let expected = match allowed {
            0 => "expected none".to_owned(),
            n => format!("expected at most {n}"),
        };
        format!("{unfinished} of {measured} {what} of {scheme} did not finish: {expected}, see `allow_unfinished`")
    }
}

/// Why a scenario is refused before it runs.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Its values make no sense, alone or together.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// One of its checks makes no sense.
    #[error(transparent)]
    Check(#[from] CheckError),
}

/// Checks everything of a scenario that needs no run. Simulations, labs and controllers call it
/// before they start, so that they refuse the same scenarios. `algorithms` are those that plans may
/// use. Returns warnings.
///
/// # Errors
/// Everything that is wrong with its values, or the first wrong check.
pub fn scenario(loaded: &Loaded, algorithms: &Algorithms) -> Result<Vec<Issue>, Refusal> {
    let warnings = loaded.validate(algorithms)?;
    validate(loaded)?;
    Ok(warnings)
}

/// Validates the checks and returns their metrics, in order.
///
/// # Errors
/// If a metric does not exist, or a limit has another unit than its metric.
pub fn validate(loaded: &Loaded) -> Result<Vec<Metric>, CheckError> {
    let at = |i: usize, key: &str, message: String| {
        let key = format!("check.{i}.{key}");
        let place = loaded.locate(&key).map(|l| format!("{l}: ")).unwrap_or_default();
        CheckError(format!("{place}{key}: {message}"))
    };
    let mut metrics = Vec::new();
    for (i, check) in loaded.scenario.check.iter().enumerate() {
        let metric = Metric::named(&check.metric).ok_or_else(|| {
            let bare = |m: &Metric| m.name().trim_end_matches("_ps").trim_end_matches("_bps");
            let names = Metric::ALL.iter().map(bare).chain(Metric::ALL.iter().map(|m| m.name()));
            let near = nearest(&check.metric, names).map_or(String::new(), |n| format!(", did you mean `{n}`?"));
            at(
                i,
                "metric",
                format!("unknown metric `{}`{near}\n  help: `timeplane list results` shows all metrics", check.metric),
            )
        })?;
        for (key, limit) in [("at_most", check.at_most), ("at_least", check.at_least)] {
            let Some(limit) = limit.filter(|_| !check.is_relative()) else { continue };
            let example = match unit(metric) {
                "" => "a number without a unit",
                "_ps" => "a duration such as \"1.3 s\"",
                "_bps" => "a rate such as \"9 Gb/s\"",
                _ => "a size such as \"1 MB\"",
            };
            if limit.suffix() != unit(metric) {
                return Err(at(i, key, format!("found {limit}: {} expects {example}", metric.name())));
            }
        }
        metrics.push(metric);
    }
    Ok(metrics)
}

/// The suffix of a metric's name that states its unit.
fn unit(metric: Metric) -> &'static str {
    ["_ps", "_bps", "_bytes"].into_iter().find(|u| metric.name().ends_with(u)).unwrap_or("")
}

fn schemes(runs: &[RunSummary]) -> BTreeSet<&str> {
    runs.iter().map(|run| run.scheme.as_str()).collect()
}

/// A scheme that a check needs and that was not run.
fn absent<'c>(check: &'c Check, there: &BTreeSet<&str>) -> Option<&'c str> {
    let needed = [Some(&check.scheme), check.relative_to.as_ref()];
    needed.into_iter().flatten().map(String::as_str).find(|scheme| !there.contains(scheme))
}

/// The checks that need a scheme that was not run. Labs do not support all schemes.
pub fn left_out(loaded: &Loaded, runs: &[RunSummary]) -> Vec<String> {
    let there = schemes(runs);
    let each = loaded.scenario.check.iter().enumerate();
    let why = each.filter_map(|(i, check)| Some((i, absent(check, &there)?)));
    why.map(|(i, scheme)| format!("check.{i}: scheme `{scheme}` was not run")).collect()
}

/// Evaluates the checks of a scenario at every point, except those [`left_out`]. `metrics` comes
/// from [`validate`].
pub fn evaluate(loaded: &Loaded, metrics: &[Metric], runs: &[RunSummary], bounds: &[Bound]) -> Vec<Checked> {
    let options = ComparisonOptions { metrics: metrics.to_vec(), bounds: bounds.to_vec(), ..Default::default() };
    let comparison = Comparison::new(runs, &options);
    let mut all = Vec::new();
    let there = schemes(runs);
    for (number, (check, &metric)) in loaded.scenario.check.iter().zip(metrics).enumerate() {
        if absent(check, &there).is_some() {
            continue;
        }
        for line in comparison.lines().iter().filter(|l| l.scheme == check.scheme) {
            let cell = &line.cells[number];
            // A mean over only some of the seeds does not count.
            let complete = |count: u64, seeds: usize| count == seeds as u64;
            let mean = cell.value.filter(|v| complete(v.count, line.seeds.len())).map(|v| v.mean);
            let is_other = |l: &&Line| check.relative_to.as_ref() == Some(&l.scheme) && l.point == line.point;
            let other = comparison.lines().iter().find(is_other);
            let value = if check.relative_to.is_some() {
                let theirs = other.and_then(|l| l.cells[number].value.filter(|v| complete(v.count, l.seeds.len())));
                mean.zip(theirs).map(|(own, theirs)| own / theirs.mean)
            } else if check.relative_to_bound {
                mean.zip(cell.bound).map(|(own, bound)| own / bound)
            } else {
                mean
            };
            let within = |v: f64| {
                check.at_most.is_none_or(|most| v <= most.value())
                    && check.at_least.is_none_or(|least| v >= least.value())
            };
            let point: Vec<String> = line.point.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let mut sides = [Some(line), other].into_iter().flatten();
            let unfinished = sides.find_map(|side| Unfinished::find(check, metric, side));
            let met = unfinished.is_none() && value.is_some_and(within);
            // A ratio to a lower bound is not bounded.
            let lower_bound = cell.lower_bound && !other.is_some_and(|l| l.cells[number].lower_bound);
            let (check, point) = (check.clone(), point.join(", "));
            all.push(Checked { number, check, metric, point, value, lower_bound, unfinished, met });
        }
    }
    all
}

/// The number of passed checks and a line for each failed one.
pub fn to_text(all: &[Checked]) -> String {
    let unmet: Vec<&Checked> = all.iter().filter(|c| !c.met).collect();
    let checks = if all.len() == 1 { "1 check".to_owned() } else { format!("{} checks", all.len()) };
    let mut text = match unmet.len() {
        0 => format!("{checks} passed.\n"),
        unmet => format!("{unmet} of {checks} failed:\n"),
    };
    for checked in unmet {
        text += &format!("  {}\n", checked.to_text());
    }
    text
}

/// Whether no check failed.
pub fn all_met(all: &[Checked]) -> bool {
    all.iter().all(|c| c.met)
}

/// The checks as JSON. Limits are ratios or in the unit of the metric's name.
pub fn to_json(all: &[Checked]) -> Value {
    let one = |c: &Checked| {
        json!({
            "check": c.number,
            "metric": c.metric.name(),
            "scheme": c.check.scheme,
            "point": c.point,
            "relative_to": c.check.relative_to,
            "relative_to_bound": c.check.relative_to_bound,
            "at_least": c.check.at_least.map(Limit::value),
            "at_most": c.check.at_most.map(Limit::value),
            "value": c.value,
            "lower_bound": c.lower_bound,
            "unfinished": c.unfinished.as_ref().map(|u| {
                json!({
                    "scheme": u.scheme,
                    "of": u.what,
                    "unfinished": u.unfinished,
                    "measured": u.measured,
                    "allowed": u.allowed,
                })
            }),
            "met": c.met,
        })
    };
    all.iter().map(one).collect()
}

impl Checked {
    /// `slots: completion is 1.02 times that of cubic, expected at most 1`
    fn to_text(&self) -> String {
        let Check { scheme, at_most, at_least, relative_to, .. } = &self.check;
        let at = if self.point.is_empty() { String::new() } else { format!(" at {}", self.point) };
        let number = |v: f64| if self.check.is_relative() { format!("{v:.3}") } else { self.metric.show(v) };
        let of = match relative_to {
            Some(other) => format!(" times that of {other}"),
            None if self.check.relative_to_bound => " times its bound".to_owned(),
            None => String::new(),
        };
        let at_least_is = if self.lower_bound { "is at least" } else { "is" };
        let is = match self.value {
            Some(value) => format!("{at_least_is} {}{of}", number(value)),
            None => "is unknown: a run has no value".to_owned(),
        };
        let limits = [at_least.map(|l| format!("at least {l}")), at_most.map(|l| format!("at most {l}"))];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        let unfinished = self.unfinished.as_ref().map_or(String::new(), |u| format!("; {}", u.to_text()));
        format!("{scheme}{at}: {} {is}, expected {}{unfinished}", self.metric.label(), limits.join(" and "))
    }
}
