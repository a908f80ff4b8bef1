//! The questions of a scenario answered on Linux, one after the other, with the results of a simulation: in `results/NAME-live`, what is complete is
//! not run again, and beside each run's tables `live.json` has what only this world knows.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use timeplane_experiment::{Comparison, ComparisonOptions, Question, comparison_bounds, manifest, seeds};
use timeplane_model::Fabric;
use timeplane_results::{Manifest, ManifestRun, ResultsError, RunSummary, Store};
use timeplane_scenario::{Loaded, Point};
use timeplane_workload::Source;

/// What happens, for people who wait.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// What cannot be done on real hosts is left out: a scheme, or a table of a simulation.
    LeftOut(&'a str),
    /// A run begins.
    Started(&'a Question),
    /// So much of it is done, 0 to 1.
    Share(f64),
    /// A run is complete; whether it was before.
    Finished {
        /// It was complete before.
        cached: bool,
    },
    /// A line for people.
    Said(&'a str),
    /// The daemons' folder stays here.
    Kept(&'a Path),
}

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    /// The folder of results.
    pub directory: PathBuf,
    /// Schemes side by side, over what is complete.
    pub comparison: Comparison,
    /// The complete runs.
    pub answers: Vec<RunSummary>,
    /// `live.json` of each complete run, with what was asked.
    pub live: Vec<(Question, Value)>,
    /// All runs.
    pub planned: usize,
    /// Complete ones.
    pub runs: usize,
    /// Of them, complete before.
    pub cached: usize,
}

/// Who asks, and where answers are kept.
pub(crate) struct Asker<'a> {
    /// The scenario.
    pub loaded: &'a Loaded,
    /// Folder in which the folder `NAME-live` is made.
    pub results: &'a Path,
    /// What of `record` there are tables of, by its key.
    pub records: &'a [&'a str],
    /// Whether it is to end.
    pub cancel: &'a dyn Fn() -> bool,
    /// Is told how it goes.
    pub told: &'a dyn Fn(Progress<'_>),
}

impl Asker<'_> {
    /// Has `once` run what is missing, and compares what is complete. `once` gets the number of a question, and where to keep its answer; it says
    /// whether there is one. Points come with their fabrics and workloads.
    ///
    /// # Errors
    /// Those of `once`, and where results cannot be written. Complete runs stay in any case.
    pub fn ask<'p, E: From<ResultsError>>(
        &self,
        questions: &[&Question],
        points: impl Iterator<Item = (&'p Point, &'p Fabric, &'p Source)> + Clone,
        mut once: impl FnMut(usize, &Store, &ManifestRun) -> Result<bool, E>,
    ) -> Result<Outcome, E> {
        let left_out: BTreeSet<String> = points.clone().flat_map(|(point, ..)| self.not_recorded(point)).collect();
        for key in left_out {
            (self.told)(Progress::LeftOut(&format!("record.{key}: only a simulation has it")));
        }
        let name = format!("{}-live", self.loaded.name());
        let store = Store::open(self.results, &name)?;
        let listed: Vec<ManifestRun> = questions.iter().map(|q| q.run()).collect();
        let bounds =
            comparison_bounds(points.map(|(point, fabric, source)| (point, fabric, source, seeds(self.loaded))));
        store.write_manifest(&Manifest {
            runs: listed.clone(),
            bounds: bounds.clone(),
            ..manifest(self.loaded, &name)
        })?;
        let mut cached = 0;
        for (number, (question, run)) in questions.iter().zip(&listed).enumerate() {
            if store.is_complete(&run.key) {
                cached += 1;
                (self.told)(Progress::Finished { cached: true });
                continue;
            }
            if (self.cancel)() {
                break;
            }
            (self.told)(Progress::Started(question));
            if once(number, &store, run)? {
                (self.told)(Progress::Finished { cached: false });
            }
        }
        let answers = store.combine(&listed)?;
        let mut live = Vec::new();
        for (question, run) in questions.iter().zip(&listed).filter(|(_, run)| store.is_complete(&run.key)) {
            let text = std::fs::read_to_string(store.run_dir(&run.key).join("live.json")).unwrap_or_default();
            live.push(((*question).clone(), serde_json::from_str(&text).unwrap_or_default()));
        }
        let options = ComparisonOptions { bounds, ..Default::default() };
        Ok(Outcome {
            directory: store.dir().to_owned(),
            comparison: Comparison::new(&answers, &options),
            live,
            planned: questions.len(),
            runs: answers.len(),
            answers,
            cached,
        })
    }

    /// What a point's scenario wants recorded, and is not.
    fn not_recorded(&self, point: &Point) -> Vec<String> {
        let asked = match serde_json::to_value(&point.scenario.record) {
            Ok(Value::Object(keys)) => keys,
            _ => return Vec::new(),
        };
        let asked = asked.into_iter().filter(|(_, value)| *value != Value::Bool(false)).map(|(key, _)| key);
        asked.filter(|key| !self.records.contains(&key.as_str())).collect()
    }
}
