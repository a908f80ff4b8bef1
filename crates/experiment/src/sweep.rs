//! Which runs of a batch are wanted: all, a share of them, or no more seeds than it takes.

use crate::planned::PlannedRun;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use timeplane_model::nearest;
use timeplane_results::stats::Interval;
use timeplane_results::{Metric, ResultsError, Store};

/// Ends a point when a metric is known well enough: when, for each of its schemes, the 95 % interval of the mean over the first seeds reaches no
/// further than `within` to either side, relative to the mean.
///
/// Seeds are looked at in order, and the first number of them that is enough counts, whichever run was complete first: the same runs make the table
/// on any number of processors. Looking again and again makes the intervals a little too narrow: at [`LEAST`](Self::LEAST) seeds, a `within` of 5 % is
/// met by chance more often than one in twenty times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// What has to be known.
    pub metric: Metric,
    /// How well: half of the interval over the mean, above 0.
    pub within: f64,
}

impl Until {
    /// Fewer seeds are never enough.
    pub const LEAST: usize = 3;
}

impl FromStr for Until {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let advice = || format!("`{text}` is no METRIC=PERCENT, as fct_mean=5%");
        let (name, share) = text.split_once('=').ok_or_else(advice)?;
        let unknown = || {
            let names = || Metric::ALL.iter().map(|m| m.name());
            let near = nearest(name.trim(), names()).map_or(String::new(), |n| format!(", did you mean `{n}`?"));
            format!("no metric is called `{name}`{near}; there are: {}", names().collect::<Vec<_>>().join(", "))
        };
        let metric = Metric::named(name.trim()).ok_or_else(unknown)?;
        let percent: f64 = share.trim().trim_end_matches('%').trim_end().parse().map_err(|_| advice())?;
        let in_range = percent > 0.0 && percent.is_finite();
        in_range
            .then_some(Self { metric, within: percent / 100.0 })
            .ok_or_else(|| format!("{percent} % is not above 0"))
    }
}

/// One of several shares of a batch, for machines that do not talk with each other: every so many-th run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 1.
    pub number: u32,
    /// Of how many.
    pub of: u32,
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        let (number, of) = parsed.ok_or_else(|| format!("`{text}` is no I/N, as 2/8"))?;
        let in_range = (1..=of).contains(&number);
        in_range.then_some(Self { number, of }).ok_or_else(|| format!("shares of {of} are 1/{of} to {of}/{of}"))
    }
}

/// The runs of a batch, and which of them are wanted.
#[derive(Debug)]
pub struct Sweep {
    planned: Vec<PlannedRun>,
    until: Option<Until>,
    shard: Option<Shard>,
    /// By point, then scheme: runs in the order of seeds.
    points: Vec<Vec<Vec<usize>>>,
    /// By point: so many seeds are not enough but perhaps, and whether that is known.
    seeds: Vec<(usize, bool)>,
    values: BTreeMap<usize, Option<f64>>,
}

impl Sweep {
    /// All of `planned`, which come in the order of points, schemes, seeds.
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

    /// All runs, also those that may turn out not to be wanted.
    pub fn planned(&self) -> &[PlannedRun] {
        &self.planned
    }

    /// The runs that are missing and known to be wanted, each question once; where seeds are looked at in order, about `at_once` of them, some of
    /// which may not count in the end. None are left where the sweep is over.
    ///
    /// # Errors
    /// Where a complete run cannot be read.
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

    /// The runs that count, as far as that is known, in the order of tables.
    pub fn counting(&self) -> Vec<usize> {
        let of_point = |(schemes, &(seeds, _)): (&Vec<Vec<usize>>, &(usize, bool))| {
            schemes.iter().flat_map(move |runs| runs.iter().take(seeds).copied()).collect::<Vec<_>>()
        };
        self.points.iter().zip(&self.seeds).flat_map(of_point).collect()
    }

    /// Goes through the seeds of a point for which all runs are complete, until they are enough.
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
    fn what_a_user_writes() {
        let until: Until = "fct_mean=5%".parse().unwrap();
        assert_eq!((until.metric, until.within), (Metric::FctMean, 0.05));
        assert_eq!("completion = 2.5 %".parse::<Until>().unwrap().within, 0.025);
        for (text, says) in [("fct_mean", "METRIC=PERCENT"), ("fct_maen=5", "there are:"), ("fct_mean=0%", "above 0")] {
            let error = text.parse::<Until>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!("2/8".parse::<Shard>().unwrap(), Shard { number: 2, of: 8 });
        for text in ["0/8", "9/8", "2", "a/b", "1/0"] {
            text.parse::<Shard>().unwrap_err();
        }
    }
}
