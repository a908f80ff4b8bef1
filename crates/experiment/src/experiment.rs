//! An experiment: all runs of a scenario and the folder of their results. It prepares points, runs
//! what is missing, and compares what is complete.

use crate::comparison::{Comparison, ComparisonOptions, Context};
use crate::driver::{Driver, Prepared, Progress, Pulse, Watch};
use crate::error::ExperimentError;
use crate::extent::Extent;
use crate::manifest::{PROGRAM, comparison_bounds, manifest};
use crate::planned::{PlannedRun, RunInputs, all_inputs, inputs_of, seeds};
use crate::sweep::{Shard, Sweep, Until};
use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration as Wall;
use timeplane_results::{
    Bound, CheckedRuns, Manifest, ManifestRun, PartialRun, ResultsError, RunKeys, RunSummary, Store, place, run_key,
};
use timeplane_scenario::{Loaded, Point};
use timeplane_workload::Source;

/// How to run an experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of runs at the same time.
    pub jobs: usize,
    /// The folder that holds the results folders.
    pub results: PathBuf,
    /// Ends a point before its last seed.
    pub until: Option<Until>,
    /// Restricts the experiment to a share of all runs. Other processes run the other shares at the
    /// same time, into the same folder.
    pub shard: Option<Shard>,
}

impl Options {
    /// All runs, `jobs` at the same time.
    pub fn new(jobs: usize, results: impl Into<PathBuf>) -> Self {
        Self { jobs, results: results.into(), until: None, shard: None }
    }
}

/// The result of an experiment.
#[derive(Debug)]
pub struct Outcome {
    /// The results folder.
    pub directory: PathBuf,
    /// The comparison of the completed runs.
    pub comparison: Comparison,
    /// The summaries of the completed runs that count, under the names of this scenario.
    pub summaries: Vec<RunSummary>,
    /// The completed runs that count, in the order of `summaries`.
    pub complete: Vec<PlannedRun>,
    /// The number of completed runs.
    pub runs: usize,
    /// How many of them were complete before.
    pub cached: usize,
    /// Runs that turned out not to be needed.
    pub unneeded: usize,
    /// Runs that other shares have to complete.
    pub missing: usize,
    /// Whether it was interrupted before all runs were complete.
    pub interrupted: bool,
    /// The runs whose files need no further check before they are read.
    pub checked: CheckedRuns,
}

impl Outcome {
    /// The folder of a completed run.
    pub fn run_dir(&self, run: &PlannedRun) -> PathBuf {
        self.directory.join("runs").join(&run.key)
    }
}

/// The files of a run: names and contents.
pub type Files = Vec<(String, Vec<u8>)>;

/// A point and what the driver adds to it.
pub(crate) type Ready<D> = (Prepared, <D as Driver>::Setup);

/// The error of an experiment with a driver.
pub(crate) type Error<D> = ExperimentError<<D as Driver>::Error>;

/// Lists the runs of a scenario in the order of tables: points, schemes, seeds. Creates nothing.
/// Does not ask the driver which runs it supports.
///
/// # Errors
/// If a sweep names a key that does not exist.
pub fn plan<D: Driver>(driver: &D, loaded: &Loaded, options: &Options) -> Result<Vec<PlannedRun>, Error<D>> {
    let runs = options.results.join(format!("{}{}", loaded.name(), driver.suffix())).join("runs");
    // Without this folder no run is complete, and none needs to be looked for.
    let any_complete = runs.is_dir();
    let mut all = Vec::new();
    for RunInputs { point, values, scheme, mut json } in all_inputs(loaded)? {
        if let Some((name, settings)) = driver.settings() {
            json[name] = settings;
        }
        let keys = RunKeys::new(&json, PROGRAM);
        all.extend(seeds(loaded).map(|seed| {
            let key = keys.of(seed);
            let complete = any_complete && runs.join(&key).is_dir();
            PlannedRun { point, values: values.clone(), scheme: scheme.clone(), seed, key, complete }
        }));
    }
    Ok(all)
}

/// Builds the fabrics and reads the files of all points: everything that can be rejected before
/// anything runs.
///
/// # Errors
/// If a fabric or workload is invalid, or the driver rejects a point.
pub fn prepare<D: Driver>(driver: &D, loaded: &Loaded) -> Result<Vec<Ready<D>>, Error<D>> {
    loaded.points()?.into_iter().map(|point| prepare_point(driver, loaded, point)).collect()
}

fn prepare_point<D: Driver>(driver: &D, loaded: &Loaded, point: Point) -> Result<Ready<D>, Error<D>> {
    let fabric = Arc::new(point.scenario.fabric.build()?);
    let source = Source::load(&point.scenario.workload, &loaded.base, &fabric, point.scenario.fabric.mtu)?;
    let prepared = Prepared { name: loaded.name(), point, fabric, source, base: loaded.base.clone() };
    let setup = driver.prepare(loaded, &prepared).map_err(ExperimentError::Rejected)?;
    Ok((prepared, setup))
}

/// All runs of a scenario and the folder of their results.
pub struct Experiment<D: Driver> {
    pub(crate) driver: D,
    points: Vec<Ready<D>>,
    sweep: Sweep,
    store: Store,
    /// The manifest, without runs and bounds.
    about: Manifest,
    /// By run: whether it was complete at the start.
    cached: Vec<bool>,
    alone: bool,
    /// The bounds over all planned runs.
    bounds: Vec<Bound>,
}

impl<D: Driver> Experiment<D> {
    /// Prepares all points, opens the results folder and writes its manifest.
    ///
    /// # Errors
    /// If the scenario or its workload is invalid, the driver rejects it, or results cannot be
    /// written.
    pub fn open(driver: D, loaded: &Loaded, options: &Options, tell: &dyn Fn(Progress<'_>)) -> Result<Self, Error<D>> {
        let points = prepare(&driver, loaded)?;
        let planned = plan(&driver, loaded, options)?;
        let mut planned = driver.select(loaded, &points, planned, tell).map_err(ExperimentError::Rejected)?;
        let alone = options.shard.is_none();
        let name = format!("{}{}", loaded.name(), driver.suffix());
        let open = if alone { Store::open } else { Store::open_shared };
        let store = open(&options.results, &name)?;
        let keys: Vec<&str> = planned.iter().map(|p| p.key.as_str()).collect();
        let mut damaged = BTreeSet::new();
        let cached: Vec<bool> = (keys.iter().zip(store.check_all(&keys)))
            .map(|(key, found)| {
                found.unwrap_or_else(|e| {
                    if damaged.insert(*key) {
                        tell(Progress::Note(&format!("run {key} is run again: {}", e.damage())));
                    }
                    false
                })
            })
            .collect();
        // A killed process may have finished more than it has put in place.
        planned.iter_mut().zip(&cached).for_each(|(p, &complete)| p.complete = complete);
        let listed = planned.iter().map(PlannedRun::listed).collect();
        let sweep = Sweep::new(planned, options.until, options.shard);
        let about = manifest(loaded, &name);
        let mut experiment = Self { driver, points, sweep, store, about, cached, alone, bounds: Vec::new() };
        experiment.bounds = experiment.bounds_of(&(0..experiment.planned().len()).collect::<Vec<_>>());
        experiment.write_manifest(listed, &experiment.bounds)?;
        Ok(experiment)
    }

    /// The driver that [`open`](Self::open) was given.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// All runs, in the order of tables.
    pub fn planned(&self) -> &[PlannedRun] {
        self.sweep.planned()
    }

    /// The numbers of the missing runs to run next. See [`Sweep::wanted`].
    ///
    /// # Errors
    /// If a completed run cannot be read.
    pub fn wanted(&mut self, at_once: usize) -> Result<Vec<usize>, ResultsError> {
        self.sweep.wanted(&self.store, at_once)
    }

    /// Stores runs that a remote worker has run: numbers and files. Stores all of them or, if one
    /// is incomplete, none.
    ///
    /// # Errors
    /// If a run is invalid, or cannot be written.
    pub fn adopt(&self, runs: &[(usize, Files)]) -> Result<(), ResultsError> {
        let begun = runs.iter().map(|(run, files)| {
            let partial = self.store.begin(&self.planned()[*run].key)?;
            partial.adopt(files)?;
            Ok(partial)
        });
        place(begun.collect::<Result<_, ResultsError>>()?)
    }

    /// Runs what is missing, one run after the other on the calling thread, and compares the
    /// completed runs.
    ///
    /// # Errors
    /// If results cannot be written or a run fails. Completed runs are kept.
    pub fn run_in_turn(
        &mut self,
        cancel: &(dyn Fn() -> bool + Sync),
        tell: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Outcome, Error<D>> {
        self.tell_cached(tell);
        let over = loop {
            let wanted = self.wanted(1)?;
            let Some(&run) = wanted.first() else { break true };
            if cancel() {
                break false;
            }
            tell(Progress::Started { run, label: &self.planned()[run].label() });
            match self.one_watched(run, cancel, tell)? {
                Some((partial, events)) => {
                    place(vec![partial])?;
                    tell(Progress::Finished { run, cached: false, events });
                }
                None => break false,
            }
        };
        self.conclude(over)
    }

    /// Runs one run on this thread while another one passes on `cancel` and reports progress.
    #[expect(clippy::disallowed_methods, reason = "a thread watches the run")]
    fn one_watched(
        &self,
        run: usize,
        cancel: &(dyn Fn() -> bool + Sync),
        tell: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Option<(PartialRun, u64)>, Error<D>> {
        let (pulse, over) = (Pulse::default(), AtomicBool::new(false));
        let extent = self.extent(run);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    extent.look(run, &pulse, cancel(), tell);
                    std::thread::park_timeout(LOOK_EVERY);
                }
            });
            let _ending = Ending { over: &over, watcher: watcher.thread() };
            self.one(run, &pulse, tell)
        })
    }

    /// Runs one run, whose files are finished then but not yet in their place, and returns its
    /// number of events. `None` if it was cancelled.
    pub(crate) fn one(
        &self,
        run: usize,
        pulse: &Pulse,
        tell: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Option<(PartialRun, u64)>, Error<D>> {
        let planned = &self.planned()[run];
        let watch = Watch { run, pulse, tell };
        run_into(&self.driver, &self.points[planned.point], planned, &self.store, &watch)
    }

    /// Reports the runs that were complete at the start.
    pub(crate) fn tell_cached(&self, tell: &(dyn Fn(Progress<'_>) + Sync)) {
        for (run, _) in self.cached.iter().enumerate().filter(|(_, done)| **done) {
            tell(Progress::Finished { run, cached: true, events: 0 });
        }
    }

    /// How far a run goes.
    pub(crate) fn extent(&self, run: usize) -> Extent {
        let (point, _) = &self.points[self.planned()[run].point];
        Extent::new(&point.point.scenario, &point.source)
    }

    /// The bounds of the points of these runs, over their seeds.
    fn bounds_of(&self, runs: &[usize]) -> Vec<Bound> {
        let all = self.planned();
        let points = self.points.iter().enumerate().map(|(p, (point, _))| {
            let seeds: BTreeSet<u64> = runs.iter().filter(|&&r| all[r].point == p).map(|&r| all[r].seed).collect();
            (&point.point, &*point.fabric, &point.source, seeds)
        });
        comparison_bounds(points)
    }

    fn write_manifest(&self, runs: Vec<ManifestRun>, bounds: &[Bound]) -> Result<(), ResultsError> {
        self.store.write_manifest(&Manifest { runs, bounds: bounds.to_vec(), ..self.about.clone() })
    }

    /// Compares the completed runs. `over` says that no more runs are wanted.
    ///
    /// # Errors
    /// If results cannot be read or written.
    pub fn conclude(&mut self, over: bool) -> Result<Outcome, Error<D>> {
        let counting = self.sweep.counting();
        let all = self.planned();
        let listed: Vec<ManifestRun> = counting.iter().map(|&r| all[r].listed()).collect();
        let fewer = listed.len() < all.len();
        let bounds = if fewer { self.bounds_of(&counting) } else { self.bounds.clone() };
        if over && self.alone && fewer {
            self.write_manifest(listed.clone(), &bounds)?;
        }
        // Other shares may be writing the same tables.
        let summaries = if self.alone { self.store.combine(&listed)? } else { self.store.answers(&listed)? };
        let complete = counting.iter().map(|&r| &all[r]).filter(|run| self.store.is_complete(&run.key));
        let mut context = Context::default();
        context.add(&self.about.scenario, summaries.iter().map(|run| (run.scheme.as_str(), run)));
        let options = ComparisonOptions { bounds, context, ..Default::default() };
        Ok(Outcome {
            directory: self.store.dir().to_owned(),
            comparison: Comparison::new(&summaries, &options),
            complete: complete.cloned().collect(),
            runs: summaries.len(),
            cached: counting.iter().filter(|&&r| self.cached[r]).count(),
            unneeded: if over { all.len() - listed.len() } else { 0 },
            missing: listed.len() - summaries.len(),
            interrupted: !over,
            summaries,
            checked: self.store.checked(),
        })
    }
}

/// How often progress is reported and cancelling is noticed.
pub(crate) const LOOK_EVERY: Wall = Wall::from_millis(50);

/// Ends a watching thread when it is dropped, also by a panic.
pub(crate) struct Ending<'a> {
    pub(crate) over: &'a AtomicBool,
    pub(crate) watcher: &'a Thread,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.watcher.unpark();
    }
}

/// Runs one scheme with one seed for an [`Experiment`] of another process, and returns its files.
/// `loaded` is the scenario of the run's point, without a sweep. Temporary files go to the folder
/// `root`.
///
/// # Errors
/// If the scenario is invalid, the run has another key than planned, or it fails.
pub fn run_remote<D: Driver>(driver: &D, loaded: &Loaded, run: &PlannedRun, root: &Path) -> Result<Files, Error<D>> {
    let different = || ExperimentError::Different { scheme: run.scheme.clone(), seed: run.seed };
    let point = loaded.points()?.into_iter().next().ok_or_else(different)?;
    let ready = prepare_point(driver, loaded, point)?;
    let inputs = inputs_of(&ready.0.point, &run.scheme, run.seed, &loaded.base);
    if inputs.is_none_or(|json| run_key(&json, run.seed, PROGRAM) != run.key) {
        return Err(different());
    }
    let store = Store::open(root, "run")?;
    let watch = Watch { run: 0, pulse: &Pulse::default(), tell: &|_| {} };
    // The files are sent elsewhere and need not be durable here.
    let (partial, _) = run_into(driver, &ready, run, &store, &watch)?.ok_or_else(different)?;
    Ok(partial.files()?)
}

/// Runs one run. A panic of the driver ends this run only.
fn run_into<D: Driver>(
    driver: &D,
    point: &Ready<D>,
    run: &PlannedRun,
    store: &Store,
    watch: &Watch<'_>,
) -> Result<Option<(PartialRun, u64)>, Error<D>> {
    let partial = store.begin(&run.key)?;
    let failed = |source| ExperimentError::Run { scheme: run.scheme.clone(), seed: run.seed, source };
    // A driver keeps no state between runs: nothing half done is seen after a panic.
    let ended = catch_unwind(AssertUnwindSafe(|| driver.run(point, run, partial.dir(), watch)));
    let ended = ended.map_err(|panic| ExperimentError::Fault {
        scenario: point.0.name.clone(),
        scheme: run.scheme.clone(),
        seed: run.seed,
        message: message_of(&*panic).to_owned(),
    })?;
    let Some(summary) = ended.map_err(failed)? else { return Ok(None) };
    partial.finish(&summary)?;
    Ok(Some((partial, summary.events)))
}

/// The text that a panic was given.
fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}
