//! Runs a scenario in another thread, without the interpreter's lock. The main thread checks for
//! signals meanwhile.

use crate::error;
use crate::own::{self, Failures, Registered};
use crate::results::{Comparison, Results};
use crate::scenario::Loaded;
use crate::sweep;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use timeplane_experiment::{Options, PlannedRun, Progress};
use timeplane_model::printable;
use timeplane_results::Store;
use timeplane_sim::{SimulationError, Simulator};

/// The interval at which signals are checked.
const LOOK: Duration = Duration::from_millis(50);

/// The progress of all runs.
#[derive(Default)]
struct State {
    /// The seconds that are left.
    left: Option<f64>,
    /// The events of each run so far.
    events: Vec<u64>,
    done: usize,
    cached: usize,
    /// What is still to be told to the user.
    notes: Vec<String>,
}

impl State {
    fn on(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Started { .. } => {}
            Progress::LeftOut(line) | Progress::Note(line) => self.notes.push(line.to_owned()),
            Progress::Left { seconds } => self.left = Some(seconds),
            Progress::Tick { run, events, .. } => {
                self.events[run] = self.events[run].max(events);
            }
            Progress::Finished { run, cached, events } => {
                self.events[run] = events;
                self.done += 1;
                self.cached += usize::from(cached);
            }
        }
    }
}

/// Removes completed runs that depend on Python code, which is not part of their keys, so that they
/// are repeated. That includes runs that a killed process has finished but not put in place.
fn forget(
    loaded: &timeplane_scenario::Loaded,
    planned: &[PlannedRun],
    options: &Options,
) -> Result<(), SimulationError> {
    let points = loaded.points()?;
    let is_own = |p: &&PlannedRun| {
        let scheme = points[p.point].scenario.scheme.get(&p.scheme);
        scheme.is_some_and(|s| s.own_algorithms().next().is_some())
    };
    let stale: Vec<&PlannedRun> = planned.iter().filter(is_own).collect();
    if stale.is_empty() || !options.results.join(loaded.name()).exists() {
        return Ok(());
    }
    let store = Store::open(&options.results, &loaded.name())?;
    Ok(stale.iter().try_for_each(|p| store.remove(&p.key))?)
}

/// Warns the user. A filter may make an error of it.
pub(crate) fn warn(py: Python<'_>, note: &str) -> PyResult<()> {
    let note = CString::new(&*printable(note)).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, 2)
}

/// Runs everything that is missing in `root` and compares the completed runs.
///
/// `until` ends a point early, such as `fct_mean=5%`. `progress` is called about ten times a second
/// with (completed runs, of them complete before, all runs, events, seconds left). The results hold
/// a reference to `keep`.
#[pyfunction]
#[pyo3(signature = (loaded, jobs, root, progress, registered, keep, until=None))]
#[allow(clippy::too_many_arguments, reason = "one call from Python, where each has a name")]
pub(crate) fn run(
    py: Python<'_>,
    loaded: &Loaded,
    jobs: usize,
    root: PathBuf,
    progress: Option<Bound<'_, PyAny>>,
    registered: Registered,
    keep: Option<Py<PyAny>>,
    until: Option<&str>,
) -> PyResult<(Results, Comparison)> {
    let loaded = &loaded.0;
    let until = sweep::until(until)?;
    let options = Options { until, ..Options::new(jobs, root) };
    let failures = Arc::new(Failures::default());
    let known = own::algorithms(&registered, py, &failures);
    let simulator = Simulator::new(known.clone());
    let planned = py.detach(|| timeplane_experiment::plan(&simulator, loaded, &options));
    let planned = planned.map_err(|e| failures.error(py, &e))?;
    if registered.values().any(|named| !named.is_empty()) {
        py.detach(|| forget(loaded, &planned, &options)).map_err(|e| error::batch(py, &e))?;
    }
    let (cancel, total) = (AtomicBool::new(false), planned.len());
    let state = State { events: vec![0; total], ..State::default() };
    let state = Mutex::new(state);
    let tell = |progress: &Bound<'_, PyAny>| {
        let (done, cached, events, left) = {
            let s = state.lock().expect("no panic");
            (s.done, s.cached, s.events.iter().sum::<u64>(), s.left.filter(|_| s.done < total))
        };
        progress.call1((done, cached, total, events, left)).map(drop)
    };
    let waiting = std::thread::current();
    let (outcome, stopped) = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let observer = |p: Progress<'_>| state.lock().expect("no panic").on(p);
            let outcome = timeplane_experiment::run(Simulator::new(known), loaded, &options, &cancel, &observer);
            waiting.unpark();
            outcome
        });
        let mut stopped = None;
        let mut told = Instant::now();
        while !worker.is_finished() {
            py.detach(|| std::thread::park_timeout(LOOK));
            if stopped.is_some() {
                continue;
            }
            let mut look = || {
                py.check_signals()?;
                let notes = std::mem::take(&mut state.lock().expect("no panic").notes);
                notes.iter().try_for_each(|note| warn(py, note))?;
                if let Some(progress) = progress.as_ref().filter(|_| told.elapsed() >= 2 * LOOK) {
                    told = Instant::now();
                    tell(progress)?;
                }
                Ok(())
            };
            stopped = look().err();
            if stopped.is_some() {
                cancel.store(true, Ordering::Relaxed);
            }
        }
        let outcome = py.detach(|| worker.join());
        // Notes of the last moments.
        let notes = std::mem::take(&mut state.lock().expect("no panic").notes);
        let told = notes.iter().try_for_each(|note| warn(py, note));
        (outcome, stopped.or_else(|| told.err()))
    });
    if let Some(error) = stopped {
        return Err(error);
    }
    let outcome =
        outcome.map_err(|_| error::failed(py, "the simulator panicked; this is a mistake of it", None, None))?;
    let outcome = outcome.map_err(|e: SimulationError| failures.error(py, &e))?;
    if let Some(progress) = &progress {
        tell(progress)?;
    }
    let results = Results::read(&outcome.directory, &outcome.checked, keep).map_err(|e| error::results(py, &e))?;
    Ok((results, Comparison(outcome.comparison)))
}
