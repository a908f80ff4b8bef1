//! The driver of the proxy's lab: every run of kernel TCP over an emulated radio link.
//!
//! A run sends one flow, alone or through the proxy. Tables and checks are those of a simulation;
//! `live.json` has what only a lab can tell.

use super::experiment::{Experiment as LabExperiment, ExperimentError};
use super::lab::{LabScheme, ProxyLabError};
use super::tables::{CompletedRun, RecordError, live_json};
use crate::answers::{LabError, Outcome, complete, unrecorded};
use crate::left_over;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use timeplane_experiment::{Driver, Experiment, PlannedRun, Prepared, Progress, Watch};
use timeplane_live::proxy::Actuator;
use timeplane_model::{Duration, nearest};
use timeplane_results::{Recorder, ResultsError, RunSummary};
use timeplane_scenario::Loaded;
use timeplane_workload::FlowArrival;

/// How to run the schemes of a scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder in which the folder `NAME-live` is made.
    pub results: PathBuf,
    /// Prefix of the namespaces' names: 1 to 32 lower-case letters and digits, the first a letter.
    pub name: String,
    /// Run only these schemes; empty for all.
    pub schemes: Vec<String>,
    /// How windows are set.
    pub actuator: Arc<Actuator>,
}

/// Why the lab rejects a scenario, or why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lab does not support the scenario.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The scheme does not exist.
    #[error("unknown scheme `{name}`{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Scheme {
        /// The unknown name.
        name: String,
        /// A scheme with a similar name.
        nearest: Option<String>,
    },
    /// The lab cannot send this workload.
    #[error(
        "workload: {found}: expected one flow that starts at 0 s and lasts longer than `window.measure` ({measure})"
    )]
    Flow {
        /// Description of the workload.
        found: String,
        /// How long the lab's server sends.
        measure: Duration,
    },
    /// The namespaces or sockets cannot be created.
    #[error(transparent)]
    Lab(#[from] ProxyLabError),
    /// The run cannot be recorded, as bytes are missing or wrong.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The results cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A file of the run cannot be written.
    #[error("{path}: {source}")]
    File {
        /// Path of that file.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
}

/// Runs what is missing, and compares the completed runs.
///
/// # Errors
/// If the lab does not support the scenario, results cannot be written, or a run fails. Completed
/// runs are kept.
pub fn run(
    loaded: &Loaded,
    options: &Options,
    cancel: &(dyn Fn() -> bool + Sync),
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Outcome, LabError<RunError>> {
    let settings = timeplane_experiment::Options::new(1, &options.results);
    let mut experiment = Experiment::open(TcpLab { options }, loaded, &settings, &tell)?;
    // The name belongs to this process until the last run has ended.
    let _lock = left_over::begin(&options.name, |rest| matches!(rest, "s" | "e" | "d"))?;
    Ok(complete(experiment.run_in_turn(cancel, tell)?))
}

/// Runs the schemes of a scenario with kernel TCP over an emulated link.
struct TcpLab<'a> {
    options: &'a Options,
}

impl Driver for TcpLab<'_> {
    /// One experiment for each scheme of the point.
    type Setup = Vec<LabExperiment>;
    type Error = RunError;

    fn suffix(&self) -> &'static str {
        "-live"
    }

    fn settings(&self) -> Option<(&'static str, Value)> {
        Some(("live", json!({ "actuator": self.options.actuator.name() })))
    }

    fn prepare(&self, loaded: &Loaded, point: &Prepared) -> Result<Vec<LabExperiment>, RunError> {
        let known = || loaded.scenario.scheme.keys().map(String::as_str);
        if let Some(name) = self.options.schemes.iter().find(|s| !loaded.scenario.scheme.contains_key(*s)) {
            return Err(RunError::Scheme { name: name.clone(), nearest: nearest(name, known()) });
        }
        let prefix = format!("{}-", self.options.name);
        Ok(LabExperiment::all(&point.point.scenario, &loaded.base, &prefix)?)
    }

    fn select(
        &self,
        _: &Loaded,
        points: &[(Prepared, Self::Setup)],
        mut runs: Vec<PlannedRun>,
        tell: &dyn Fn(Progress<'_>),
    ) -> Result<Vec<PlannedRun>, RunError> {
        unrecorded(points.iter().map(|(point, _)| &point.point), &["rtt"], tell);
        runs.retain(|run| self.options.schemes.is_empty() || self.options.schemes.contains(&run.scheme));
        runs.iter().try_for_each(|run| flow(&points[run.point], run.seed).map(drop))?;
        Ok(runs)
    }

    fn run(
        &self,
        point: &(Prepared, Self::Setup),
        run: &PlannedRun,
        results: &Path,
        watch: &Watch<'_>,
    ) -> Result<Option<RunSummary>, RunError> {
        let flow = flow(point, run.seed)?;
        let (prepared, experiments) = point;
        let experiment = experiments.iter().find(|e| e.name == run.scheme);
        let experiment = experiment.expect("there is one for each scheme of the scenario");
        let mut lab = experiment.lab.clone();
        lab.seed = run.seed;
        let actuator = &self.options.actuator;
        let figures = lab.run_while(&experiment.scheme, actuator, &|share| {
            watch.fraction(share);
            !watch.is_cancelled()
        })?;
        let Some(figures) = figures else { return Ok(None) };
        let scenario = &prepared.point.scenario;
        let done = CompletedRun { scenario, fabric: &prepared.fabric, run, flow, lab: &lab, figures: &figures };
        let summary = done.record(Recorder::files(results)?)?;
        let policy = match &experiment.scheme {
            LabScheme::Kernel(name) => name,
            LabScheme::Proxy(policy) => policy.name(),
        };
        let live = live_json(policy, actuator.name(), &lab, &figures);
        let path = results.join("live.json");
        std::fs::write(&path, format!("{live:#}\n")).map_err(|source| RunError::File { path, source })?;
        Ok(Some(summary))
    }
}

/// The flow that the server's stream stands for.
fn flow((point, experiments): &(Prepared, Vec<LabExperiment>), seed: u64) -> Result<FlowArrival, RunError> {
    let lab = &experiments[0].lab;
    let wrong = |found: String| RunError::Flow { found, measure: lab.duration };
    let mut arrivals = point.source.arrivals(seed);
    let (Some(flow), None) = (arrivals.next(), arrivals.next()) else {
        return Err(wrong("it has no flow, or more than one".to_owned()));
    };
    let most = lab.trace.capacity(Duration::ZERO, lab.duration);
    if flow.at > Duration::ZERO {
        return Err(wrong(format!("its flow starts at {}", flow.at)));
    }
    if flow.bytes < most {
        return Err(wrong(format!("its flow has {}, and the link carries {most} in that time", flow.bytes)));
    }
    Ok(flow)
}
