//! Which runs of an experiment are wanted: all of them, a share, or as many seeds as a metric
//! needs.

use crate::planned::PlannedRun;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use timeplane_model::nearest;
use timeplane_results::stats::Interval;
use timeplane_results::{Metric, ResultsError, Store};

/// Ends a point when a metric is known well enough: when for each scheme the half-width of the 95 %
/// confidence interval over the first seeds is at most `within`, relative to the mean.
///
/// Seeds are added in order and the first sufficient number counts, whichever run completes first.
/// So the table has the same runs for any number of jobs. Repeated looks make the intervals
/// slightly too narrow: with [`LEAST`](Self::LEAST) seeds, chance meets a `within` of 5 % in more
/// than 5 % of cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// The metric whose mean has to be known.
    pub metric: Metric,
    /// The half-width of its interval relative to the mean, above 0.
    pub within: f64,
}

impl Until {
    /// The smallest number of seeds.
    pub const LEAST: usize = 3;
}

impl FromStr for Until {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let advice = || format!("invalid rule `{text}`: expected METRIC=PERCENT such as fct_mean=5%");
        let (name, share) = text.split_once('=').ok_or_else(advice)?;
        let unknown = || {
            let names = || Metric::ALL.iter().map(|m| m.name());
            let near = nearest(name.trim(), names()).map_or(String::new(), |n| format!(", did you mean `{n}`?"));
            format!("unknown metric `{name}`{near}: expected one of {}", names().collect::<Vec<_>>().join(", "))
        };
        let metric = Metric::named(name.trim()).ok_or_else(unknown)?;
        let percent: f64 = share.trim().trim_end_matches('%').trim_end().parse().map_err(|_| advice())?;
        let in_range = percent > 0.0 && percent.is_finite();
        in_range
            .then_some(Self { metric, within: percent / 100.0 })
            .ok_or_else(|| format!("found {percent} %: expected more than 0 %"))
    }
}

/// One of several shares of an experiment, for machines that do not communicate: every `of`-th run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// The number of shares.
    pub of: u32,
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        let (number, of) = parsed.ok_or_else(|| format!("invalid share `{text}`: expected I/N such as 2/8"))?;
        let in_range = (1..=of).contains(&number);
        in_range
            .then_some(Self { number, of })
            .ok_or_else(|| format!("invalid share `{text}`: expected 1/{of} to {of}/{of}"))
    }
}

/// The runs of an experiment and which of them are wanted.
#[derive(Debug)]
pub struct Sweep {
    planned: Vec<PlannedRun>,
    until: Option<Until>,
    shard: Option<Shard>,
    /// Runs in the order of seeds, by point and scheme.
    points: Vec<Vec<Vec<usize>>>,
    /// By point: the number of seeds considered so far, and whether it is final.
    seeds: Vec<(usize, bool)>,
    values: BTreeMap<usize, Option<f64>>,
}

impl Sweep {
    /// All `planned` runs, which are in the order of points, schemes, seeds.
    pub fn new(planned: Vec<PlannedRun>, until: Option<Until>, shard: Option<Shard>) -> Self {
        let mut grouped: Vec<IndexMap<&str, Vec<usize>>> = Vec::new();
        for (i, run) in planned.iter().enumerate() {
            grouped.resize_with(grouped.len().max(run.point + 1), IndexMap::new);
            grouped[run.point].entry(&run.scheme).or_default().push(i);
        }
        let points: Vec<Vec<Vec<usize>>> = grouped.into_iter().map(|p| p.into_values().collect()).collect();
        let count = |p: &Vec<Vec<usize>>| p.iter().map(Vec::len).min().unwrap_or(0);
        let seeds = points.iter().map(|p| (until.map_or(count(p), |_| Until::LEAST.min(count(p))), until.is_none()));
        Self { seeds: seeds.collect(), until, shard, points, values: BTreeMap::new(), planned }
    }

    /// All runs, including those that may turn out not to be needed.
    pub fn planned(&self) -> &[PlannedRun] {
        &self.planned
    }

    /// The missing runs to run next, each key once. If seeds are added in order, up to about
    /// `at_once` runs are started ahead and may not count in the end. Empty when the sweep is over.
    ///
    /// # Errors
    /// If a complete run cannot be read.
    pub fn wanted(&mut self, store: &Store, at_once: usize) -> Result<Vec<usize>, ResultsError> {
        for point in 0..self.points.len() {
            self.look(store, point)?;
        }
        let undecided: usize = (0..self.points.len()).filter(|&p| !self.seeds[p].1).map(|p| self.points[p].len()).sum();
        let ahead = at_once.checked_div(undecided).unwrap_or(0).saturating_sub(1);
        let mut asked = BTreeSet::new();
        let mut wanted = Vec::new();
        for (schemes, &(seeds, known)) in self.points.iter().zip(&self.seeds) {
            let most = if known { seeds } else { seeds + ahead };
            for &run in schemes.iter().flat_map(|runs| runs.iter().take(most)) {
                let mine = self.shard.is_none_or(|s| run as u32 % s.of == s.number - 1);
                let key = &self.planned[run].key;
                if mine && !store.is_complete(key) && asked.insert(key.clone()) {
                    wanted.push(run);
                }
            }
        }
        Ok(wanted)
    }

    /// The runs that count as far as is known, in the order of tables.
    pub fn counting(&self) -> Vec<usize> {
        let of_point = |(schemes, &(seeds, _)): (&Vec<Vec<usize>>, &(usize, bool))| {
            schemes.iter().flat_map(move |runs| runs.iter().take(seeds).copied()).collect::<Vec<_>>()
        };
        self.points.iter().zip(&self.seeds).flat_map(of_point).collect()
    }

    /// Adds seeds of a point whose runs are all complete until they are enough.
    fn look(&mut self, store: &Store, point: usize) -> Result<(), ResultsError> {
        let Some(until) = self.until else { return Ok(()) };
        let (mut seeds, mut known) = self.seeds[point];
        let all = self.points[point].iter().map(Vec::len).min().unwrap_or(0);
        while !known {
            let needed = self.points[point].iter().flat_map(|runs| &runs[..seeds]);
            if !needed.clone().all(|&r| store.is_complete(&self.planned[r].key)) {
                break;
            }
            for &run in needed {
                if let std::collections::btree_map::Entry::Vacant(place) = self.values.entry(run) {
                    place.insert(until.metric.value(&store.summary(&self.planned[run].key)?));
                }
            }
            let enough = self.points[point].iter().all(|runs| {
                let values: Option<Vec<f64>> = runs[..seeds].iter().map(|r| self.values[r]).collect();
                let interval = values.and_then(|v| Interval::of(&v, 0.95));
                interval.is_some_and(|i| i.half_width.is_some_and(|half| half <= until.within * i.mean.abs()))
            });
            known = enough || seeds == all;
            seeds += usize::from(!known);
        }
        self.seeds[point] = (seeds, known);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_shares_are_parsed() {
        let until: Until = "fct_mean=5%".parse().unwrap();
        assert_eq!((until.metric, until.within), (Metric::FctMean, 0.05));
        assert_eq!("completion = 2.5 %".parse::<Until>().unwrap().within, 0.025);
        for (text, says) in
            [("fct_mean", "METRIC=PERCENT"), ("fct_maen=5", "expected one of"), ("fct_mean=0%", "more than 0")]
        {
            let error = text.parse::<Until>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!("2/8".parse::<Shard>().unwrap(), Shard { number: 2, of: 8 });
        for text in ["0/8", "9/8", "2", "a/b", "1/0"] {
            text.parse::<Shard>().unwrap_err();
        }
    }
}
