//! The results of a lab's experiment: those of every driver, and `live.json` of each run.
//!
//! They are in `results/NAME-live`. A completed run is not run again.

use crate::fabric::FabricError;
use crate::page::PageError;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Deref;
use timeplane_experiment::{self as experiment, ExitCode, ExperimentError, PlannedRun, Progress};
use timeplane_scenario::{Point, Record};

/// Why a lab has no outcome. Completed runs are kept.
#[derive(Debug, thiserror::Error)]
pub enum LabError<E: std::error::Error + 'static> {
    /// The scenario is rejected, or a run failed.
    #[error(transparent)]
    Experiment(Box<ExperimentError<E>>),
    /// The controllers' pages cannot be offered.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The lab's name is invalid or taken, or left-overs cannot be removed.
    #[error(transparent)]
    Name(#[from] FabricError),
}

impl<E: std::error::Error + 'static> From<ExperimentError<E>> for LabError<E> {
    fn from(error: ExperimentError<E>) -> Self {
        Self::Experiment(Box::new(error))
    }
}

impl<E: std::error::Error + 'static> LabError<E> {
    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Experiment(e) => e.exit_code(),
            Self::Page(_) | Self::Name(_) => ExitCode::Failed,
        }
    }
}

/// Results of an experiment in a lab.
#[derive(Debug)]
pub struct Outcome {
    outcome: experiment::Outcome,
    /// `live.json` of each completed run.
    pub live: Vec<(PlannedRun, Value)>,
}

impl Deref for Outcome {
    type Target = experiment::Outcome;

    fn deref(&self) -> &experiment::Outcome {
        &self.outcome
    }
}

/// Reads `live.json` of the completed runs.
pub(crate) fn complete(outcome: experiment::Outcome) -> Outcome {
    let live = |run: &PlannedRun| {
        let text = std::fs::read_to_string(outcome.run_dir(run).join("live.json")).unwrap_or_default();
        (run.clone(), serde_json::from_str(&text).unwrap_or_default())
    };
    let live = outcome.complete.iter().map(live).collect();
    Outcome { outcome, live }
}

/// Reports which keys of `record` ask for tables that a lab lacks; it has those of `recorded`.
pub(crate) fn unrecorded<'a>(points: impl Iterator<Item = &'a Point>, recorded: &[&str], tell: &dyn Fn(Progress<'_>)) {
    let usual = serde_json::to_value(Record::default()).unwrap_or_default();
    let asked = |point: &Point| match serde_json::to_value(&point.scenario.record) {
        Ok(Value::Object(keys)) => keys.into_iter().filter(|(k, v)| usual.get(k) != Some(v)).map(|(k, _)| k).collect(),
        _ => Vec::new(),
    };
    let missing: BTreeSet<String> = points.flat_map(asked).filter(|key| !recorded.contains(&key.as_str())).collect();
    for key in missing {
        tell(Progress::LeftOut(&format!("record.{key}: only a simulation has it")));
    }
}
