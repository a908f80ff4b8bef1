//! Runs the missing runs of a scenario on all cores, the longest first. A commit thread makes
//! finished runs durable in groups.

use crate::costs::Costs;
use crate::driver::{Driver, Progress, Pulse};
use crate::error::ExperimentError;
use crate::experiment::{Ending, Error, Experiment, LOOK_EVERY, Options, Outcome};
use crate::extent::Extent;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration as Wall, Instant};
use timeplane_results::{PartialRun, ResultsError, place};
use timeplane_scenario::Loaded;

/// The largest group of runs that are made durable together. As many finished runs may wait for
/// them. If the process is killed, the next one puts them in place; if the machine stops, they may
/// be lost.
const GROUP: usize = 64;
/// How long a finished run waits for others of its group.
const GATHER: Wall = Wall::from_millis(250);
/// How often the remaining time is told.
const TELL_EVERY: Wall = Wall::from_millis(500);

/// Runs what is missing of a scenario, `options.jobs` runs at the same time, and compares the
/// completed runs.
///
/// # Errors
/// If the scenario or its workload is invalid, the driver rejects it, results cannot be written, or
/// a run fails. Completed runs are kept.
pub fn run<D>(
    driver: D,
    loaded: &Loaded,
    options: &Options,
    cancel: &AtomicBool,
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Outcome, Error<D>>
where
    D: Driver + Sync,
    D::Setup: Sync,
{
    Experiment::open(driver, loaded, options, tell)?.run_parallel(options.jobs, cancel, tell)
}

impl<D> Experiment<D>
where
    D: Driver + Sync,
    D::Setup: Sync,
{
    /// Runs what is missing, `jobs` runs at the same time, and compares the completed runs.
    ///
    /// # Errors
    /// If results cannot be written, or a run fails. Completed runs are kept.
    pub fn run_parallel(
        &mut self,
        jobs: usize,
        cancel: &AtomicBool,
        tell: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Outcome, Error<D>> {
        self.tell_cached(tell);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs.max(1))
            .build()
            .map_err(|e| ExperimentError::Threads { jobs, reason: e.to_string() })?;
        let costs = Mutex::new(Costs::new(self.planned()));
        let begun = Instant::now();
        let over = loop {
            let wanted = self.wanted(jobs)?;
            if wanted.is_empty() {
                break true;
            }
            Wave::new(self, &wanted, (&costs, begun), cancel, tell).run(&pool)?;
            if cancel.load(Ordering::Relaxed) {
                // The last wanted run may be complete nevertheless.
                break self.wanted(jobs)?.is_empty();
            }
        };
        self.conclude(over)
    }
}

/// Runs that are in progress at the same time.
struct Wave<'a, D: Driver> {
    experiment: &'a Experiment<D>,
    runs: BTreeMap<usize, Running>,
    costs: &'a Mutex<Costs>,
    /// When times of costs begin.
    begun: Instant,
    cancel: &'a AtomicBool,
    tell: &'a (dyn Fn(Progress<'_>) + Sync),
    /// The first error.
    failure: Mutex<Option<Error<D>>>,
    /// The error of the first run that panicked. The other runs continue.
    fault: Mutex<Option<Error<D>>>,
}

struct Running {
    pulse: Pulse,
    extent: Extent,
    active: AtomicBool,
}

/// A finished run: its number, files and events.
type Finished = (usize, PartialRun, u64);

impl<'a, D> Wave<'a, D>
where
    D: Driver + Sync,
    D::Setup: Sync,
{
    fn new(
        experiment: &'a Experiment<D>,
        wanted: &[usize],
        (costs, begun): (&'a Mutex<Costs>, Instant),
        cancel: &'a AtomicBool,
        tell: &'a (dyn Fn(Progress<'_>) + Sync),
    ) -> Self {
        costs.lock().expect("no panic").wait_for(wanted);
        let running = |&run: &usize| {
            let active = AtomicBool::new(false);
            (run, Running { pulse: Pulse::default(), extent: experiment.extent(run), active })
        };
        let runs = wanted.iter().map(running).collect();
        Self { experiment, runs, costs, begun, cancel, tell, failure: Mutex::new(None), fault: Mutex::new(None) }
    }

    fn run(self, pool: &rayon::ThreadPool) -> Result<(), Error<D>> {
        let over = AtomicBool::new(false);
        let (done, finished) = sync_channel(GROUP);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| self.watch(&over, pool.current_num_threads()));
            let _ending = Ending { over: &over, watcher: watcher.thread() };
            scope.spawn(|| {
                // Moved into this thread: if it ends early, senders get an error and do not block.
                let finished = finished;
                if let Err(e) = self.commit(&finished) {
                    self.fail(e.into());
                }
            });
            pool.broadcast(|_| {
                while let Some(run) = self.next() {
                    if let Some(result) = self.one(run) {
                        // An error means that the commit thread has failed and recorded why.
                        drop(done.send(result));
                    }
                }
            });
            drop(done);
        });
        let failure = self.failure.into_inner().expect("no panic");
        failure.or(self.fault.into_inner().expect("no panic")).map_or(Ok(()), Err)
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// The run to begin next, unless the wave is cancelled or has failed.
    fn next(&self) -> Option<usize> {
        if self.cancel.load(Ordering::Relaxed) || self.failure.lock().expect("no panic").is_some() {
            return None;
        }
        self.costs.lock().expect("no panic").next(self.seconds())
    }

    fn one(&self, run: usize) -> Option<Finished> {
        let Running { pulse, active, .. } = &self.runs[&run];
        (self.tell)(Progress::Started { run, label: &self.experiment.planned()[run].label() });
        active.store(true, Ordering::Relaxed);
        let result = self.experiment.one(run, pulse, self.tell);
        active.store(false, Ordering::Relaxed);
        let events = result.as_ref().ok().and_then(|of| of.as_ref()).map(|(_, events)| *events);
        self.costs.lock().expect("no panic").end(run, self.seconds(), events);
        match result {
            Ok(finished) => finished.map(|(partial, events)| (run, partial, events)),
            Err(error @ ExperimentError::Fault { .. }) => {
                self.fault.lock().expect("no panic").get_or_insert(error);
                None
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Records an error and stops the other runs; they are repeated next time.
    fn fail(&self, error: Error<D>) {
        self.failure.lock().expect("no panic").get_or_insert(error);
        self.runs.values().for_each(|r| r.pulse.cancel.store(true, Ordering::Relaxed));
    }

    /// Makes finished runs durable in groups: to sync each short run alone takes longer than to run
    /// it.
    fn commit(&self, finished: &Receiver<Finished>) -> Result<(), ResultsError> {
        while let Ok(first) = finished.recv() {
            let gathered_by = Instant::now() + GATHER;
            let mut all = vec![first];
            while all.len() < GROUP
                && let Ok(next) = finished.recv_timeout(gathered_by.saturating_duration_since(Instant::now()))
            {
                all.push(next);
            }
            let (told, runs): (Vec<_>, Vec<_>) =
                all.into_iter().map(|(run, partial, events)| ((run, events), partial)).unzip();
            place(runs)?;
            told.into_iter().for_each(|(run, events)| (self.tell)(Progress::Finished { run, cached: false, events }));
        }
        Ok(())
    }

    /// Reports the progress of active runs, and passes on that they are cancelled.
    fn watch(&self, over: &AtomicBool, jobs: usize) {
        let mut told = Instant::now();
        while !over.load(Ordering::Relaxed) {
            for (&run, running) in self.runs.iter().filter(|(_, r)| r.active.load(Ordering::Relaxed)) {
                let at = running.extent.look(run, &running.pulse, self.cancel.load(Ordering::Relaxed), self.tell);
                let now = self.seconds();
                at.into_iter().for_each(|fraction| self.costs.lock().expect("no panic").is_at(run, fraction, now));
            }
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                let left = self.costs.lock().expect("no panic").left(self.seconds(), jobs);
                left.into_iter().for_each(|seconds| (self.tell)(Progress::Left { seconds }));
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
    }
}
