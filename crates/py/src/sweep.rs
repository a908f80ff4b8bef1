//! Sweeps whose runs are distributed by Python, over Dask for example. The process that opened the
//! sweep writes the results; workers return files.

use crate::error;
use crate::results::{Comparison, Results};
use crate::run::warn;
use crate::scenario::Loaded;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use timeplane_experiment::{Costs, Experiment, Options, PlannedRun, Progress, Until};
use timeplane_sim::Simulator;

/// Parses a rule such as `fct_mean=5%`.
pub(crate) fn until(text: Option<&str>) -> PyResult<Option<Until>> {
    text.map(|t| t.parse().map_err(PyValueError::new_err)).transpose()
}

/// The files of a run, by name.
type Files<'py> = Vec<(String, Bound<'py, PyBytes>)>;

/// All runs of a scenario and their results folder.
#[pyclass(frozen, module = "timeplane._core")]
pub(crate) struct Sweep {
    /// `None` after `close`.
    experiment: Mutex<Option<Experiment<Simulator>>>,
    /// All runs. Read while another thread holds the experiment to make runs durable.
    planned: Vec<PlannedRun>,
    /// Times since some start are Python's.
    costs: Mutex<Costs>,
    /// The scenario of every point, as JSON.
    points: Vec<String>,
    base: PathBuf,
}

impl Sweep {
    fn costs(&self) -> MutexGuard<'_, Costs> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Experiment<Simulator>) -> T) -> PyResult<T> {
        let mut experiment = self.experiment.lock().unwrap_or_else(PoisonError::into_inner);
        experiment.as_mut().map(f).ok_or_else(|| PyValueError::new_err("the sweep is closed"))
    }
}

#[pymethods]
impl Sweep {
    /// Opens the folder `root/NAME`. `until` ends a point early, such as `fct_mean=5%`.
    #[new]
    fn open(py: Python<'_>, loaded: Py<Loaded>, root: PathBuf, until: Option<&str>) -> PyResult<Self> {
        let options = Options { until: self::until(until)?, ..Options::new(1, root) };
        let scenario = &loaded.get().0;
        let points = scenario.points().map_err(|e| error::scenario(py, &e))?;
        let points = points.iter().map(|p| p.scenario.to_json().to_string()).collect();
        let notes = Mutex::new(Vec::new());
        let tell = |progress: Progress<'_>| {
            if let Progress::Note(line) = progress {
                notes.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
            }
        };
        let experiment = py.detach(|| Experiment::open(Simulator::default(), scenario, &options, &tell));
        let experiment = experiment.map_err(|e| error::batch(py, &e))?;
        let notes = notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        notes.iter().try_for_each(|note| warn(py, note))?;
        let planned = experiment.planned().to_vec();
        let costs = Mutex::new(Costs::new(&planned));
        let base = scenario.base.clone();
        Ok(Self { experiment: Mutex::new(Some(experiment)), planned, costs, points, base })
    }

    /// The number of runs, including those that may turn out not to be needed.
    #[getter]
    fn total(&self) -> usize {
        self.planned.len()
    }

    /// The number of runs that were complete when the sweep was opened.
    #[getter]
    fn cached(&self) -> usize {
        self.planned.iter().filter(|p| p.complete).count()
    }

    /// Looks which missing runs to run next, and returns how many; 0 if the sweep is over.
    fn wave(&self, py: Python<'_>, at_once: usize) -> PyResult<usize> {
        let wanted = self.with(|b| b.wanted(at_once))?.map_err(|e| error::results(py, &e))?;
        self.costs().wait_for(&wanted);
        Ok(wanted.len())
    }

    /// Takes the runs of the wave that are to go to a worker together; none if all have gone.
    fn next_batch(&self, now: f64, workers: usize) -> Vec<usize> {
        self.costs().next_batch(now, workers)
    }

    /// A batch has come back, with the seconds that each run took.
    fn end_batch(&self, batch: Vec<(usize, f64)>, now: f64) {
        self.costs().end_batch(&batch, now);
    }

    /// How long the runs of the wave still take, in seconds; `None` if that is unknown.
    fn left(&self, now: f64, workers: usize) -> Option<f64> {
        self.costs().left(now, workers)
    }

    /// The arguments of [`run_elsewhere`] for a run.
    #[allow(clippy::type_complexity, reason = "one call's arguments")]
    fn task(&self, run: usize) -> (&str, PathBuf, String, Vec<(String, String)>, u64, String) {
        let run = self.planned[run].clone();
        let values = run.values.into_iter().collect();
        (&self.points[run.point], self.base.clone(), run.scheme, values, run.seed, run.key)
    }

    /// Stores runs: numbers and files.
    fn adopt(&self, py: Python<'_>, runs: Vec<(usize, timeplane_experiment::Files)>) -> PyResult<()> {
        py.detach(|| self.with(|b| b.adopt(&runs)))?.map_err(|e| error::results(py, &e))
    }

    /// Releases the folder, even if a traceback still refers to the sweep.
    fn close(&self) {
        self.experiment.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Compares the completed runs. `over` says that no more runs are wanted.
    fn conclude(&self, py: Python<'_>, over: bool, keep: Option<Py<PyAny>>) -> PyResult<(Results, Comparison)> {
        let outcome = py.detach(|| self.with(|e| e.conclude(over)))?.map_err(|e| error::batch(py, &e))?;
        let results = Results::read(&outcome.directory, &outcome.checked, keep).map_err(|e| error::results(py, &e))?;
        Ok((results, Comparison(outcome.comparison)))
    }
}

/// Runs one run of another process's sweep, as given by its `task`, and returns its files. `root`
/// is a folder for temporary files.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "a task, as it travels")]
pub(crate) fn run_elsewhere<'py>(
    py: Python<'py>,
    text: &str,
    base: PathBuf,
    scheme: String,
    values: Vec<(String, String)>,
    seed: u64,
    key: String,
    root: PathBuf,
) -> PyResult<Files<'py>> {
    let value = serde_json::from_str(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let loaded = timeplane_scenario::Loaded::from_json(&value, base, &[]).map_err(|e| error::scenario(py, &e))?;
    let run = PlannedRun { point: 0, values: values.into_iter().collect(), scheme, seed, key, complete: false };
    let files = py
        .detach(|| timeplane_experiment::run_remote(&Simulator::default(), &loaded, &run, &root))
        .map_err(|e| error::batch(py, &e))?;
    Ok(files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
}

/// Splits `KEY=VALUE,..` into the key and its values.
#[pyfunction]
pub(crate) fn split_override(text: &str) -> PyResult<(String, Vec<String>)> {
    timeplane_scenario::split_override(text).map_err(PyValueError::new_err)
}
