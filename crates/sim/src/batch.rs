//! All runs of a scenario: points x controls x seeds, on all cores, kept as they complete.

use crate::air::{AirError, read_beams};
use crate::engine::Pulse;
use crate::run::{RunError, RunSpec, simulate};
use indexmap::IndexMap;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration as Wall;
use timeplane_model::Fabric;
use timeplane_results::{
    Bound, Comparison, FORMAT, Manifest, ManifestRun, Metric, Recorder, ResultsError, Store, run_key,
};
use timeplane_scenario::{Loaded, Point, Scenario, ScenarioError};
use timeplane_schedule::Schedulers;
use timeplane_workload::{Question, Source, WorkloadError, mean_bounds, questions, seeds, values};

/// Version of the program, part of every run's key.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs at a time.
    pub jobs: usize,
    /// Folder that holds the folders of results.
    pub results: PathBuf,
}

/// What happens, for a progress bar.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// A run begins.
    Started {
        /// Its place in the plan.
        run: usize,
    },
    /// A run goes on; comes a few times a second.
    Tick {
        /// Its place in the plan.
        run: usize,
        /// How much of it is done, 0 to 1.
        fraction: f64,
        /// Events handled so far.
        events: u64,
    },
    /// A run is complete.
    Finished {
        /// Its place in the plan.
        run: usize,
        /// It was complete before.
        cached: bool,
        /// Events handled.
        events: u64,
    },
}

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    /// The folder of results.
    pub directory: PathBuf,
    /// Controls side by side, over what is complete.
    pub comparison: Comparison,
    /// Complete runs.
    pub runs: usize,
    /// Of them, complete before.
    pub cached: usize,
    /// It was told to end before all were complete.
    pub interrupted: bool,
}

/// Why there is no outcome. Runs that are complete stay.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Its workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// Its fabric.
    #[error("fabric: {0}")]
    Fabric(#[from] timeplane_model::FabricError),
    /// Its radios.
    #[error(transparent)]
    Air(Box<AirError>),
    /// The results.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A run.
    #[error("control `{control}`, seed {seed}: {source}")]
    Run {
        /// Which control.
        control: String,
        /// Which seed.
        seed: u64,
        /// Why.
        source: RunError,
    },
    /// The threads.
    #[error("no threads for {jobs} jobs: {reason}")]
    Threads {
        /// How many were asked for.
        jobs: usize,
        /// Why.
        reason: String,
    },
}

impl From<AirError> for BatchError {
    fn from(e: AirError) -> Self {
        Self::Air(Box::new(e))
    }
}

/// One run of a batch.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Which point, counted from 0.
    pub point: usize,
    /// Its values, as text.
    pub values: IndexMap<String, String>,
    /// Which control.
    pub control: String,
    /// Which seed.
    pub seed: u64,
    /// Names its folder; the same for the same question.
    pub key: String,
    /// Whether it is complete already.
    pub complete: bool,
}

/// All runs of a scenario, in the order of tables: points, controls, seeds. Nothing is created.
///
/// # Errors
/// Where a sweep names what does not exist.
pub fn plan(loaded: &Loaded, options: &Options) -> Result<Vec<Planned>, ScenarioError> {
    let runs = options.results.join(loaded.name()).join("runs");
    let planned = |q: Question| {
        let key = run_key(&q.json, q.seed, VERSION);
        let complete = runs.join(&key).is_dir();
        Planned { point: q.point, values: q.values, control: q.control, seed: q.seed, key, complete }
    };
    Ok(questions(loaded)?.into_iter().map(planned).collect())
}

/// A point, ready to be run.
pub struct Prepared {
    /// Its scenario.
    pub point: Point,
    /// Its fabric, which its workload is made for; controls may have their own.
    pub fabric: Arc<Fabric>,
    /// Its workload, files read.
    pub source: Source,
    /// Flows of a run where that is known.
    pub flows: Option<u64>,
    /// Where files that its fabrics name are looked up.
    pub base: PathBuf,
}

/// Builds fabrics and reads workloads: everything that can be refused before anything runs.
///
/// # Errors
/// Where a fabric or a workload is refused.
pub fn prepare(loaded: &Loaded) -> Result<Vec<Prepared>, BatchError> {
    loaded
        .points()?
        .into_iter()
        .map(|point| {
            let fabric = Arc::new(point.scenario.fabric.build()?);
            let source = Source::load(&point.scenario.workload, &loaded.base, &fabric, point.scenario.fabric.mtu)?;
            let flows = (!source.is_endless()).then(|| source.facts().flows.unwrap_or(0));
            read_courses(&point.scenario, &loaded.base)?;
            Ok(Prepared { point, fabric, source, flows, base: loaded.base.clone() })
        })
        .collect()
}

/// Reads the files that courses of air links name, so that what is wrong with them is said before anything runs.
fn read_courses(scenario: &Scenario, base: &Path) -> Result<(), AirError> {
    let seen = scenario.control.keys().filter_map(|name| scenario.seen_by(name));
    let links = seen.flat_map(|s| s.fabric.radio.clone().into_iter().flat_map(|r| r.link));
    for course in links.filter_map(|l| l.course) {
        if let Some(file) = &course.beams {
            read_beams(file, base)?;
        }
    }
    Ok(())
}

/// Runs what is missing, and compares what is complete.
///
/// # Errors
/// Where the scenario or its workload is refused, results cannot be written, or a run fails. Complete runs stay in any case.
pub fn run(
    loaded: &Loaded,
    schedulers: &Schedulers,
    options: &Options,
    cancel: &AtomicBool,
    observer: &(dyn Fn(Progress) + Sync),
) -> Result<Outcome, BatchError> {
    let prepared = prepare(loaded)?;
    let planned = plan(loaded, options)?;
    let store = Store::open(&options.results, &loaded.name())?;
    let complete: Vec<bool> = planned.iter().map(|p| store.is_complete(&p.key)).collect();
    let bounds = all_bounds(&prepared, loaded);
    store.write_manifest(&manifest(loaded, &planned, &bounds))?;
    for (run, done) in complete.iter().enumerate() {
        if *done {
            observer(Progress::Finished { run, cached: true, events: 0 });
        }
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs.max(1))
        .build()
        .map_err(|e| BatchError::Threads { jobs: options.jobs, reason: e.to_string() })?;
    let pulses: Vec<Pulse> = planned.iter().map(|_| Pulse::default()).collect();
    let active: Vec<AtomicBool> = planned.iter().map(|_| AtomicBool::new(false)).collect();
    let failure: Mutex<Option<BatchError>> = Mutex::new(None);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&prepared, &planned, &pulses, &active, cancel, &over, observer));
        pool.install(|| {
            // A sweep over one control leaves the others' questions the same: each is asked once.
            let mut asked = std::collections::BTreeSet::new();
            let missing: Vec<usize> =
                (0..planned.len()).filter(|&r| !complete[r] && asked.insert(&planned[r].key)).collect();
            missing.par_iter().with_max_len(1).for_each(|&r| {
                if cancel.load(Ordering::Relaxed) || failure.lock().expect("no panic").is_some() {
                    return;
                }
                observer(Progress::Started { run: r });
                active[r].store(true, Ordering::Relaxed);
                let result = one(&prepared[planned[r].point], &planned[r], schedulers, &store, &pulses[r]);
                active[r].store(false, Ordering::Relaxed);
                match result {
                    Ok(events) => observer(Progress::Finished { run: r, cached: false, events }),
                    Err(RunError::Cancelled) => {}
                    Err(source) => {
                        let Planned { control, seed, .. } = planned[r].clone();
                        failure.lock().expect("no panic").get_or_insert(BatchError::Run { control, seed, source });
                        // The others end soon; what they did not complete is run again next time.
                        pulses.iter().for_each(|p| p.cancel.store(true, Ordering::Relaxed));
                    }
                }
            });
        });
        over.store(true, Ordering::Relaxed);
    });
    if let Some(error) = failure.into_inner().expect("no panic") {
        return Err(error);
    }
    let keys: Vec<String> = planned.iter().map(|p| p.key.clone()).collect();
    let mut summaries = store.combine(&keys)?;
    // A run is kept under what it depends on; the names are those of this scenario.
    let done: Vec<&Planned> = planned.iter().filter(|p| store.is_complete(&p.key)).collect();
    for (summary, run) in summaries.iter_mut().zip(&done) {
        summary.control.clone_from(&run.control);
        summary.point.clone_from(&run.values);
    }
    let comparison = timeplane_results::Options { bounds, ..Default::default() };
    Ok(Outcome {
        directory: store.dir().to_owned(),
        comparison: Comparison::new(&summaries, &comparison),
        runs: done.len(),
        cached: complete.iter().filter(|c| **c).count(),
        interrupted: done.len() < planned.len(),
    })
}

/// Runs one, and keeps it.
fn one(
    prepared: &Prepared,
    planned: &Planned,
    schedulers: &Schedulers,
    store: &Store,
    pulse: &Pulse,
) -> Result<u64, RunError> {
    let partial = store.begin(&planned.key)?;
    let spec = RunSpec {
        scenario: &prepared.point.scenario,
        control: &planned.control,
        point: planned.values.clone(),
        seed: planned.seed,
        base: &prepared.base,
    };
    let recorder = Recorder::files(partial.dir())?;
    let (summary, _) = simulate(&spec, &prepared.fabric, &prepared.source, schedulers, recorder, pulse)?;
    partial.commit(&summary)?;
    Ok(summary.events)
}

/// Tells the observer how runs go on, and runs that they are cancelled.
fn watch(
    prepared: &[Prepared],
    planned: &[Planned],
    pulses: &[Pulse],
    active: &[AtomicBool],
    cancel: &AtomicBool,
    over: &AtomicBool,
    observer: &(dyn Fn(Progress) + Sync),
) {
    while !over.load(Ordering::Relaxed) {
        for (run, pulse) in pulses.iter().enumerate().filter(|(r, _)| active[*r].load(Ordering::Relaxed)) {
            if cancel.load(Ordering::Relaxed) {
                pulse.cancel.store(true, Ordering::Relaxed);
            }
            let point = &prepared[planned[run].point];
            let window = point.point.scenario.window;
            let fraction = match (point.flows, window.measure) {
                (Some(flows), None) => pulse.flows.load(Ordering::Relaxed) as f64 / flows.max(1) as f64,
                (_, measure) => {
                    let end = window.warmup + measure.unwrap_or_default() + window.drain.unwrap_or_default();
                    pulse.now_ps.load(Ordering::Relaxed) as f64 / end.as_ps().max(1) as f64
                }
            };
            let events = pulse.events.load(Ordering::Relaxed);
            observer(Progress::Tick { run, fraction: fraction.clamp(0.0, 1.0), events });
        }
        std::thread::park_timeout(Wall::from_millis(50));
    }
}

fn manifest(loaded: &Loaded, planned: &[Planned], bounds: &[Bound]) -> Manifest {
    Manifest {
        format: FORMAT,
        name: loaded.name(),
        version: VERSION.to_owned(),
        source: loaded.text().map(str::to_owned),
        set: loaded.overrides().map(|(key, values)| (key.to_owned(), values.to_owned())).collect(),
        scenario: loaded.scenario.to_json(),
        bounds: bounds.to_vec(),
        seeds: seeds(loaded).collect(),
        runs: planned
            .iter()
            .map(|p| ManifestRun {
                key: p.key.clone(),
                control: p.control.clone(),
                point: p.values.clone(),
                seed: p.seed,
            })
            .collect(),
    }
}

/// The bounds of every point whose workload ends, mean over seeds.
fn all_bounds(prepared: &[Prepared], loaded: &Loaded) -> Vec<Bound> {
    let (mut completion, mut cct) = (Vec::new(), Vec::new());
    for point in prepared {
        let mtu = point.point.scenario.fabric.mtu.get();
        let Some(bounds) = mean_bounds(&point.fabric, &point.source, seeds(loaded), mtu) else { continue };
        let values = values(&point.point);
        completion.push((values.clone(), bounds.completion_ps));
        cct.extend(bounds.cct_mean_ps.map(|mean| (values, mean)));
    }
    let bound = |label: &str, metric, values: Vec<_>| Bound { label: label.to_owned(), metric, values };
    let mut all = Vec::new();
    if !completion.is_empty() {
        all.push(bound("busiest link", Metric::Completion, completion));
    }
    if !cct.is_empty() {
        all.push(bound("each coflow alone", Metric::CctMean, cct));
    }
    all
}
