//! A scenario in the proxy's lab: all its schemes, every point and seed, one after the other, with the results of a simulation.

use super::experiment::{Experiment, ExperimentError};
use super::lab::{LabError, LabScheme};
use super::tables::{Done, RecordError, live_json};
use crate::answers::{Asker, Outcome, Progress};
use crate::fabric::FabricError;
use crate::left_over;
use std::path::PathBuf;
use std::sync::Arc;
use timeplane_experiment::{Question, questions};
use timeplane_live::proxy::Actuator;
use timeplane_model::{Duration, Fabric, nearest};
use timeplane_results::{Recorder, ResultsError, Store};
use timeplane_scenario::{Loaded, Point, ScenarioError};
use timeplane_workload::{FlowArrival, Source, WorkloadError};

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder in which the folder `NAME-live` is made.
    pub results: PathBuf,
    /// Of the lab: its namespaces begin with it. 1 to 32 lower-case letters and digits, the first a letter.
    pub name: String,
    /// Only these schemes; empty: all.
    pub schemes: Vec<String>,
    /// How windows are set.
    pub actuator: Arc<Actuator>,
}

/// Why there is no outcome. Runs that are complete stay.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It is no experiment of this lab.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// There is no such scheme.
    #[error("there is no scheme `{name}`{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Scheme {
        /// As it was named.
        name: String,
        /// The one that may be meant.
        nearest: Option<String>,
    },
    /// What is sent is not what this lab sends.
    #[error(
        "workload: {found}; the proxy's lab has one flow, which begins at once and lasts longer than `window.measure` ({measure})"
    )]
    Flow {
        /// What it is.
        found: String,
        /// How long the lab's server sends.
        measure: Duration,
    },
    /// The workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The fabric.
    #[error("fabric: {0}")]
    Fabric(#[from] timeplane_model::FabricError),
    /// The name, or what another lab has left.
    #[error(transparent)]
    Lab(#[from] FabricError),
    /// The results.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A run.
    #[error("scheme `{scheme}`, seed {seed}: {source}")]
    Run {
        /// Which scheme.
        scheme: String,
        /// Which seed.
        seed: u64,
        /// Why.
        source: OneError,
    },
}

impl RunError {
    /// Whether nothing was run, because of what was asked.
    pub fn is_configuration(&self) -> bool {
        !matches!(self, Self::Results(_) | Self::Run { .. } | Self::Lab(_))
    }
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum OneError {
    /// The lab.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// What happened.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The results.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A point, ready to be run.
struct Prepared {
    point: Point,
    fabric: Fabric,
    source: Source,
    experiments: Vec<Experiment>,
}

/// Runs what is missing, and compares what is complete.
///
/// # Errors
/// Where the scenario asks for what the lab has not, results cannot be written, or a run fails. Complete runs stay in any case.
pub fn run(
    loaded: &Loaded,
    options: &Options,
    cancel: &dyn Fn() -> bool,
    told: &dyn Fn(Progress<'_>),
) -> Result<Outcome, RunError> {
    let known = || loaded.scenario.scheme.keys().map(String::as_str);
    if let Some(name) = options.schemes.iter().find(|c| !loaded.scenario.scheme.contains_key(*c)) {
        return Err(RunError::Scheme { name: name.clone(), nearest: nearest(name, known()) });
    }
    let prepared = prepare(loaded, &options.name)?;
    let mut questions = questions(loaded)?;
    questions.retain(|q| options.schemes.is_empty() || options.schemes.contains(&q.scheme));
    for question in &mut questions {
        question.json["live"] = serde_json::json!({ "actuator": options.actuator.name() });
    }
    let flows = questions.iter().map(|q| flow(&prepared[q.point], q.seed)).collect::<Result<Vec<_>, _>>()?;
    // Until the end: the name is this process's.
    let _lock = left_over::begin(&options.name, |rest| matches!(rest, "s" | "e" | "d"))?;
    let points = prepared.iter().map(|p| (&p.point, &p.fabric, &p.source));
    let asked: Vec<&Question> = questions.iter().collect();
    Asker { loaded, results: &options.results, records: &["rtt"], cancel, told }.ask(
        &asked,
        points,
        |number, store, run| {
            let question = &questions[number];
            let done = once(&prepared[question.point], question, flows[number], &run.key, options, store, cancel, told);
            done.map_err(|source| RunError::Run { scheme: question.scheme.clone(), seed: question.seed, source })
        },
    )
}

fn prepare(loaded: &Loaded, name: &str) -> Result<Vec<Prepared>, RunError> {
    let each = loaded.points()?.into_iter().map(|point| {
        let experiments = Experiment::all(&point.scenario, &loaded.base, &format!("{name}-"))?;
        let fabric = point.scenario.fabric.build()?;
        let source = Source::load(&point.scenario.workload, &loaded.base, &fabric, point.scenario.fabric.mtu)?;
        Ok(Prepared { point, fabric, source, experiments })
    });
    each.collect()
}

/// The flow that the server's stream stands for.
fn flow(prepared: &Prepared, seed: u64) -> Result<FlowArrival, RunError> {
    let lab = &prepared.experiments[0].lab;
    let wrong = |found: String| RunError::Flow { found, measure: lab.duration };
    let mut arrivals = prepared.source.arrivals(seed);
    let (Some(flow), None) = (arrivals.next(), arrivals.next()) else {
        return Err(wrong("there are more flows than one, or none".to_owned()));
    };
    let most = lab.trace.capacity(Duration::ZERO, lab.duration);
    if flow.at > Duration::ZERO {
        return Err(wrong(format!("its flow begins at {}", flow.at)));
    }
    if flow.bytes < most {
        return Err(wrong(format!("its flow has {}, and the link carries {most} in that time", flow.bytes)));
    }
    Ok(flow)
}

/// Runs one, and keeps it; whether it is complete.
#[expect(clippy::too_many_arguments, reason = "what a run is, and who is told")]
fn once(
    prepared: &Prepared,
    question: &Question,
    flow: FlowArrival,
    key: &str,
    options: &Options,
    store: &Store,
    cancel: &dyn Fn() -> bool,
    told: &dyn Fn(Progress<'_>),
) -> Result<bool, OneError> {
    let experiment = prepared.experiments.iter().find(|e| e.name == question.scheme);
    let experiment = experiment.expect("there is one for each scheme of the scenario");
    let mut lab = experiment.lab.clone();
    lab.seed = question.seed;
    let figures = lab.run_while(&experiment.scheme, &options.actuator, &|share| {
        told(Progress::Share(share));
        !cancel()
    })?;
    let Some(figures) = figures else { return Ok(false) };
    let partial = store.begin(key)?;
    let recorder = Recorder::files(partial.dir())?;
    let scenario = &prepared.point.scenario;
    let done = Done { scenario, fabric: &prepared.fabric, question, flow, lab: &lab, figures: &figures };
    let summary = done.record(recorder)?;
    let policy = match &experiment.scheme {
        LabScheme::Kernel(name) => name,
        LabScheme::Proxy(policy) => policy.name(),
    };
    let live = live_json(policy, options.actuator.name(), &lab, &figures);
    let path = partial.dir().join("live.json");
    std::fs::write(&path, format!("{live:#}\n")).map_err(|source| OneError::File { path, source })?;
    partial.commit(&summary)?;
    Ok(true)
}
