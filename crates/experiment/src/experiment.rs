//! All runs of a scenario: points x schemes x seeds, on all cores, kept as they complete.

use crate::air::{AirError, read_beams};
use crate::engine::Pulse;
use crate::run::{RunError, RunSpec, simulate};
use crate::sweep::{Shard, Sweep, Until};
use indexmap::IndexMap;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::{Duration as Wall, Instant};
use timeplane_model::Fabric;
use timeplane_results::{
    Bound, Comparison, ManifestRun, PartialRun, Recorder, ResultsError, RunSummary, Store, place, run_key,
};
use timeplane_scenario::{Loaded, Point, Scenario, ScenarioError};
use timeplane_schedule::Schedulers;
use timeplane_workload::{Question, Source, WorkloadError, comparison_bounds, manifest, question, questions};

pub use timeplane_workload::VERSION;

/// Runs that are kept together at most; as many wait meanwhile. So twice as much of a batch may be run again after it was killed.
const UNKEPT: usize = 64;
/// For how long finished runs wait for others that are kept with them, while more are to come.
const GATHER: Wall = Wall::from_millis(250);

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs at a time.
    pub jobs: usize,
    /// Folder that holds the folders of results.
    pub results: PathBuf,
    /// Ends a point before its last seed.
    pub until: Option<Until>,
    /// Only a share of all runs; other processes run the others at the same time, into the same folder.
    pub shard: Option<Shard>,
}

impl Options {
    /// All runs, into folders of this one.
    pub fn new(jobs: usize, results: impl Into<PathBuf>) -> Self {
        Self { jobs, results: results.into(), until: None, shard: None }
    }
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
    /// Schemes side by side, over what is complete.
    pub comparison: Comparison,
    /// Complete runs that count, under the names of this scenario.
    pub summaries: Vec<RunSummary>,
    /// Complete runs.
    pub runs: usize,
    /// Of them, complete before.
    pub cached: usize,
    /// Runs that turned out not to be needed.
    pub unneeded: usize,
    /// Runs that others have to complete.
    pub missing: usize,
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
    #[error("scheme `{scheme}`, seed {seed}: {source}")]
    Run {
        /// Which scheme.
        scheme: String,
        /// Which seed.
        seed: u64,
        /// Why.
        source: RunError,
    },
    /// A worker that would answer something else.
    #[error(
        "scheme `{scheme}`, seed {seed}: here it is another run than where it was planned: a file that the scenario names differs, or the \
         version of timeplane"
    )]
    Other {
        /// Which scheme.
        scheme: String,
        /// Which seed.
        seed: u64,
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
    /// Which scheme.
    pub scheme: String,
    /// Which seed.
    pub seed: u64,
    /// Names its folder; the same for the same question.
    pub key: String,
    /// Whether it is complete already.
    pub complete: bool,
}

impl Planned {
    /// As the manifest has it.
    pub fn listed(&self) -> ManifestRun {
        let Self { key, scheme, values, seed, .. } = self.clone();
        ManifestRun { key, scheme, point: values, seed }
    }
}

/// All runs of a scenario, in the order of tables: points, schemes, seeds. Nothing is created.
///
/// # Errors
/// Where a sweep names what does not exist.
pub fn plan(loaded: &Loaded, options: &Options) -> Result<Vec<Planned>, ScenarioError> {
    let runs = options.results.join(loaded.name()).join("runs");
    let planned = |q: Question| {
        let ManifestRun { key, scheme, point: values, seed } = q.run();
        let complete = runs.join(&key).is_dir();
        Planned { point: q.point, values, scheme, seed, key, complete }
    };
    Ok(questions(loaded)?.into_iter().map(planned).collect())
}

/// A point, ready to be run.
pub struct Prepared {
    /// Its scenario.
    pub point: Point,
    /// Its fabric, which its workload is made for; schemes may have their own.
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
    loaded.points()?.into_iter().map(|point| prepare_point(point, &loaded.base)).collect()
}

fn prepare_point(point: Point, base: &Path) -> Result<Prepared, BatchError> {
    let fabric = Arc::new(point.scenario.fabric.build()?);
    let source = Source::load(&point.scenario.workload, base, &fabric, point.scenario.fabric.mtu)?;
    let flows = (!source.is_endless()).then(|| source.facts().flows.unwrap_or(0));
    read_traces(&point.scenario, base)?;
    Ok(Prepared { point, fabric, source, flows, base: base.to_owned() })
}

/// Reads the files that link traces of air links name, so that what is wrong with them is said before anything runs.
fn read_traces(scenario: &Scenario, base: &Path) -> Result<(), AirError> {
    let seen = scenario.scheme.keys().filter_map(|name| scenario.seen_by(name));
    let links = seen.flat_map(|s| s.fabric.radio.clone().into_iter().flat_map(|r| r.link));
    for trace in links.filter_map(|l| l.trace) {
        if let Some(file) = &trace.beams {
            read_beams(file, base)?;
        }
    }
    Ok(())
}

/// The files of a run, by name.
pub type Files = Vec<(String, Vec<u8>)>;

/// All runs of a scenario and the folder that keeps them, whoever runs them.
pub struct Batch {
    prepared: Vec<Prepared>,
    sweep: Sweep,
    store: Store,
    /// Complete at the begin.
    cached: Vec<bool>,
    alone: bool,
    /// Of all planned runs.
    bounds: Vec<Bound>,
}

impl Batch {
    /// Opens the folder, and says in its manifest what is asked.
    ///
    /// # Errors
    /// Where the scenario or its workload is refused, or results cannot be written.
    pub fn open(loaded: &Loaded, options: &Options) -> Result<Self, BatchError> {
        let prepared = prepare(loaded)?;
        let planned = plan(loaded, options)?;
        let alone = options.shard.is_none();
        let open = if alone { Store::open } else { Store::open_shared };
        let store = open(&options.results, &loaded.name())?;
        let cached = planned.iter().map(|p| store.is_complete(&p.key)).collect();
        let listed = planned.iter().map(Planned::listed).collect();
        let sweep = Sweep::new(planned, options.until, options.shard);
        let mut batch = Self { sweep, prepared, store, cached, alone, bounds: Vec::new() };
        batch.bounds = batch.bounds_of(&(0..batch.planned().len()).collect::<Vec<_>>());
        batch.store.write_manifest(&manifest(loaded, &loaded.name(), listed, &batch.bounds))?;
        Ok(batch)
    }

    /// All runs, in the order of tables.
    pub fn planned(&self) -> &[Planned] {
        self.sweep.planned()
    }

    /// See [`Sweep::wanted`].
    ///
    /// # Errors
    /// Where a complete run cannot be read.
    pub fn wanted(&mut self, at_once: usize) -> Result<Vec<usize>, ResultsError> {
        self.sweep.wanted(&self.store, at_once)
    }

    /// Keeps runs that somebody else has run: by number, their files by name. All of them, or none that is not whole.
    ///
    /// # Errors
    /// Where they are no runs, or cannot be written.
    pub fn adopt(&self, runs: &[(usize, Files)]) -> Result<(), ResultsError> {
        let begun = runs.iter().map(|(run, files)| {
            let partial = self.store.begin(&self.planned()[*run].key)?;
            partial.adopt(files)?;
            Ok(partial)
        });
        place(begun.collect::<Result<_, ResultsError>>()?)
    }

    /// What theory says of the points of these runs, for their seeds.
    fn bounds_of(&self, runs: &[usize]) -> Vec<Bound> {
        let all = self.planned();
        let points = self.prepared.iter().enumerate().map(|(p, point)| {
            let seeds: BTreeSet<u64> = runs.iter().filter(|&&r| all[r].point == p).map(|&r| all[r].seed).collect();
            (&point.point, &*point.fabric, &point.source, seeds)
        });
        comparison_bounds(points)
    }

    /// Compares what is complete. Where it is `over`, nothing is wanted any more.
    ///
    /// # Errors
    /// Where results cannot be read or written.
    pub fn conclude(&mut self, loaded: &Loaded, over: bool) -> Result<Outcome, BatchError> {
        let counting = self.sweep.counting();
        let all = self.planned();
        let listed: Vec<ManifestRun> = counting.iter().map(|&r| all[r].listed()).collect();
        let fewer = listed.len() < all.len();
        let bounds = if fewer { self.bounds_of(&counting) } else { self.bounds.clone() };
        if over && self.alone && fewer {
            self.store.write_manifest(&manifest(loaded, &loaded.name(), listed.clone(), &bounds))?;
        }
        // Others may be writing the same tables.
        let summaries = if self.alone { self.store.combine(&listed)? } else { self.store.answers(&listed)? };
        let comparison = timeplane_results::Options { bounds, ..Default::default() };
        Ok(Outcome {
            directory: self.store.dir().to_owned(),
            comparison: Comparison::new(&summaries, &comparison),
            runs: summaries.len(),
            cached: counting.iter().filter(|&&r| self.cached[r]).count(),
            unneeded: if over { all.len() - listed.len() } else { 0 },
            missing: listed.len() - summaries.len(),
            interrupted: !over,
            summaries,
        })
    }
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
    let mut batch = Batch::open(loaded, options)?;
    for (run, _) in batch.cached.iter().enumerate().filter(|(_, done)| **done) {
        observer(Progress::Finished { run, cached: true, events: 0 });
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs.max(1))
        .build()
        .map_err(|e| BatchError::Threads { jobs: options.jobs, reason: e.to_string() })?;
    let over = loop {
        let wanted = batch.wanted(options.jobs)?;
        if wanted.is_empty() {
            break true;
        }
        wave(&batch, &wanted, &pool, schedulers, cancel, observer)?;
        if cancel.load(Ordering::Relaxed) {
            // What was wanted may be complete all the same.
            break batch.wanted(options.jobs)?.is_empty();
        }
    };
    batch.conclude(loaded, over)
}

/// Runs some, as far as nobody cancels them.
fn wave(
    batch: &Batch,
    wanted: &[usize],
    pool: &rayon::ThreadPool,
    schedulers: &Schedulers,
    cancel: &AtomicBool,
    observer: &(dyn Fn(Progress) + Sync),
) -> Result<(), BatchError> {
    let (prepared, planned, store) = (&batch.prepared, batch.planned(), &batch.store);
    let pulses: Vec<Pulse> = wanted.iter().map(|_| Pulse::default()).collect();
    let active: Vec<AtomicBool> = wanted.iter().map(|_| AtomicBool::new(false)).collect();
    let failure: Mutex<Option<BatchError>> = Mutex::new(None);
    let fail = |error: BatchError| {
        failure.lock().expect("no panic").get_or_insert(error);
        // The others end soon; what they did not complete is run again next time.
        pulses.iter().for_each(|p| p.cancel.store(true, Ordering::Relaxed));
    };
    let over = AtomicBool::new(false);
    let (done, finished) = std::sync::mpsc::sync_channel(UNKEPT);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let about: Vec<(usize, &Prepared)> = wanted.iter().map(|&r| (r, &prepared[planned[r].point])).collect();
            watch(&about, &pulses, &active, cancel, &over, observer);
        });
        scope.spawn(|| {
            // Owned here: who has a run for a keeper that failed is told, and does not wait.
            let finished = finished;
            let kept = |run, events| observer(Progress::Finished { run, cached: false, events });
            if let Err(e) = keep(&finished, kept) {
                fail(e.into());
            }
        });
        pool.install(|| {
            wanted.par_iter().enumerate().with_max_len(1).for_each(|(i, &r)| {
                if cancel.load(Ordering::Relaxed) || failure.lock().expect("no panic").is_some() {
                    return;
                }
                observer(Progress::Started { run: r });
                active[i].store(true, Ordering::Relaxed);
                let result = one(&prepared[planned[r].point], &planned[r], schedulers, store, &pulses[i]);
                active[i].store(false, Ordering::Relaxed);
                match result {
                    // Where the keeper has ended, it has said why.
                    Ok((partial, events)) => drop(done.send((r, partial, events))),
                    Err(RunError::Cancelled) => {}
                    Err(source) => {
                        let Planned { scheme, seed, .. } = planned[r].clone();
                        fail(BatchError::Run { scheme, seed, source });
                    }
                }
            });
        });
        drop(done);
        over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
    });
    failure.into_inner().expect("no panic").map_or(Ok(()), Err)
}

/// Runs one point's scheme with one seed, for somebody else's [`Batch`]: `loaded` is the scenario of the point, without a sweep, and `run` what was
/// planned. The folder `root` is for what it writes meanwhile.
///
/// # Errors
/// Where the scenario is refused, what it asks is not what was planned, or the run fails.
pub fn run_elsewhere(loaded: &Loaded, run: &Planned, root: &Path) -> Result<Files, BatchError> {
    let points = loaded.points()?;
    let point = points.into_iter().next().expect("a scenario without a sweep has one point");
    let prepared = prepare_point(point, &loaded.base)?;
    let asked = question(&prepared.point, &run.scheme, run.seed, &loaded.base);
    if asked.is_none_or(|json| run_key(&json, run.seed, VERSION) != run.key) {
        return Err(BatchError::Other { scheme: run.scheme.clone(), seed: run.seed });
    }
    let store = Store::open(root, "run")?;
    // What travels need not be durable here.
    let (partial, _) = one(&prepared, run, &Schedulers::built_in(), &store, &Pulse::default())
        .map_err(|source| BatchError::Run { scheme: run.scheme.clone(), seed: run.seed, source })?;
    Ok(partial.files()?)
}

/// Runs one; it is finished then, and not in its place. Gives its events, too.
fn one(
    prepared: &Prepared,
    planned: &Planned,
    schedulers: &Schedulers,
    store: &Store,
    pulse: &Pulse,
) -> Result<(PartialRun, u64), RunError> {
    let partial = store.begin(&planned.key)?;
    let spec = RunSpec {
        scenario: &prepared.point.scenario,
        scheme: &planned.scheme,
        point: planned.values.clone(),
        seed: planned.seed,
        base: &prepared.base,
    };
    let recorder = Recorder::files(partial.dir())?;
    let (summary, _) = simulate(&spec, &prepared.fabric, &prepared.source, schedulers, recorder, pulse)?;
    partial.finish(&summary)?;
    Ok((partial, summary.events))
}

/// Keeps what is finished, several runs at once: to ask the disk for each short run alone costs more than that run.
fn keep(finished: &Receiver<(usize, PartialRun, u64)>, kept: impl Fn(usize, u64)) -> Result<(), ResultsError> {
    while let Ok(first) = finished.recv() {
        let gathered_by = Instant::now() + GATHER;
        let mut all = vec![first];
        while all.len() < UNKEPT
            && let Ok(next) = finished.recv_timeout(gathered_by.saturating_duration_since(Instant::now()))
        {
            all.push(next);
        }
        let (told, runs): (Vec<_>, Vec<_>) =
            all.into_iter().map(|(run, partial, events)| ((run, events), partial)).unzip();
        place(runs)?;
        told.into_iter().for_each(|(run, events)| kept(run, events));
    }
    Ok(())
}

/// Tells the observer how runs go on, and runs that they are cancelled.
fn watch(
    runs: &[(usize, &Prepared)],
    pulses: &[Pulse],
    active: &[AtomicBool],
    cancel: &AtomicBool,
    over: &AtomicBool,
    observer: &(dyn Fn(Progress) + Sync),
) {
    while !over.load(Ordering::Relaxed) {
        let active = active.iter().map(|a| a.load(Ordering::Relaxed));
        for ((&(run, point), pulse), _) in runs.iter().zip(pulses).zip(active).filter(|(_, active)| *active) {
            if cancel.load(Ordering::Relaxed) {
                pulse.cancel.store(true, Ordering::Relaxed);
            }
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
