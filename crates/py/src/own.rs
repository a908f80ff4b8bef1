//! Algorithms written in Python: functions or classes that plan with numpy arrays, one kind for
//! each plan.
//!
//! Answers are checked here or by the planner that asks. An exception or an invalid answer ends the
//! batch with a `RunError`, whose cause is the exception.

mod circuits;
mod flyways;
mod order;
mod rates;
mod routing;
mod tdma;

pub(crate) use circuits::CircuitParameters;
pub(crate) use flyways::{BusyWire, FlywayParameters};
pub(crate) use order::{TimeslotParameters, WaitingPairs};
pub(crate) use rates::{RateFlows, RateParameters};
pub(crate) use routing::RoutingParameters;
pub(crate) use tdma::SlotParameters;

use crate::error;
use numpy::ndarray::Array2;
use numpy::{PyArray2, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex};
use timeplane_experiment::ExperimentError;
use timeplane_model::{Demand, Duration, HostId, Matching};
use timeplane_schedule::{Algorithms, OwnError, Parameters};
use timeplane_sim::SimulationError;

/// Maximum number of consecutive plans that serve nobody while hosts have a backlog; more would
/// never end the run.
const MOST_IDLE: u32 = 10_000;

/// Registered objects by the key of their plan and by name.
pub(crate) type Registered = BTreeMap<String, BTreeMap<String, Py<PyAny>>>;

/// The built-in algorithms and those of Python.
pub(crate) fn algorithms(registered: &Registered, py: Python<'_>, failures: &Arc<Failures>) -> Algorithms {
    let mut all = Algorithms::built_in();
    for (plan, named) in registered {
        for (name, object) in named {
            let own = |kind: &str| Own {
                what: format!("{kind} `{name}`"),
                object: object.clone_ref(py),
                failures: Arc::clone(failures),
            };
            match plan.as_str() {
                "tdma" => {
                    let own = own(all.tdma.kind());
                    tdma::register(&mut all.tdma, name, own);
                }
                "circuits" => {
                    let own = own(all.circuits.kind());
                    circuits::register(&mut all.circuits, name, own);
                }
                "timeslots" => {
                    let own = own(all.orders.kind());
                    order::register(&mut all.orders, name, own);
                }
                "rates" => {
                    let own = own(all.rates.kind());
                    rates::register(&mut all.rates, name, own);
                }
                "flyways" => {
                    let own = own(all.flyways.kind());
                    flyways::register(&mut all.flyways, name, own);
                }
                "rotor" => {
                    let own = own(all.routings.kind());
                    routing::register(&mut all.routings, name, own);
                }
                _ => unreachable!("a plan of timeplane._schedulers"),
            }
        }
    }
    all
}

/// What went wrong in Python: the texts of errors, with the exceptions behind them.
#[derive(Default)]
pub(crate) struct Failures(Mutex<Vec<(String, PyErr)>>);

impl Failures {
    /// A `RunError` for a batch that failed. If Python's code is the reason, its exception is the
    /// cause.
    pub fn error(&self, py: Python<'_>, batch: &SimulationError) -> PyErr {
        let error = error::batch(py, batch);
        if let ExperimentError::Run { source, .. } | ExperimentError::Rejected(source) = batch {
            let text = source.to_string();
            let mut all = self.0.lock().expect("no panic");
            if let Some(found) = all.iter().position(|(part, _)| text.contains(part)) {
                error.set_cause(py, Some(all.swap_remove(found).1));
            }
        }
        error
    }

    fn add(&self, text: String, cause: PyErr) -> OwnError {
        self.0.lock().expect("no panic").push((text.clone(), cause));
        OwnError::Failed(text)
    }
}

/// A registered function or class.
struct Own {
    /// What messages call it: its kind and its name.
    what: String,
    object: Py<PyAny>,
    failures: Arc<Failures>,
}

impl Own {
    /// Makes what is called with inputs: an instance of a class, or a function with its parameters.
    fn make<P>(&self, parameters: P, own: &Parameters) -> Result<Callable, OwnError>
    where
        P: for<'py> IntoPyObject<'py>,
    {
        let text = serde_json::to_string(own).expect("parameters are JSON");
        Python::attach(|py| {
            let made = || {
                let own = py.import("json")?.call_method1("loads", (text,))?;
                py.import("timeplane._schedulers")?.call_method1("_made", (&self.object, parameters, own))
            };
            let (what, failures) = (self.what.clone(), Arc::clone(&self.failures));
            match made() {
                Ok(object) => Ok(Callable { what, object: object.unbind(), failures, idle: 0 }),
                Err(e) => Err(failures.add(format!("{what} could not be made: {e}"), e)),
            }
        })
    }
}

/// An own algorithm in a run.
struct Callable {
    what: String,
    object: Py<PyAny>,
    failures: Arc<Failures>,
    /// Consecutive plans that served nobody.
    idle: u32,
}

impl Callable {
    /// Asks for an answer. `ask` calls the object and checks what it returns.
    fn ask<A>(&self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<A>) -> Result<A, OwnError> {
        Python::attach(|py| {
            ask(self.object.bind(py)).map_err(|e| self.failures.add(format!("{} failed: {e}", self.what), e))
        })
    }

    /// An attribute that is true or false; false if there is none.
    fn flag(&self, name: &str) -> Result<bool, OwnError> {
        self.ask(|object| if object.hasattr(name)? { object.getattr(name)?.is_truthy() } else { Ok(false) })
    }

    /// Counts plans that serve nobody while hosts have a backlog. Too many in a row are a failure.
    fn count(&mut self, is_idle: bool, backlog: impl Display) -> Result<(), OwnError> {
        self.idle = if is_idle { self.idle + 1 } else { 0 };
        if self.idle <= MOST_IDLE {
            return Ok(());
        }
        let text = format!("{} served nobody in {MOST_IDLE} plans, while {backlog} wait", self.what);
        Err(OwnError::Failed(text))
    }
}

fn invalid(what: impl Display) -> PyErr {
    PyValueError::new_err(what.to_string())
}

/// The exception with `place` in front, if it is a `ValueError` or a `TypeError`.
fn at(py: Python<'_>, place: impl Display, e: PyErr) -> PyErr {
    let ours = e.is_instance_of::<PyValueError>(py) || e.is_instance_of::<PyTypeError>(py);
    if ours { invalid(format!("{place}: {}", e.value(py))) } else { e }
}

/// A matrix of bytes: rows are senders.
fn demand_matrix<'py>(py: Python<'py>, demand: &Demand) -> Bound<'py, PyArray2<f64>> {
    let hosts = demand.hosts() as usize;
    let mut bytes = Array2::zeros((hosts, hosts));
    for (source, row) in demand.rows().iter().enumerate() {
        for entry in row.entries() {
            bytes[[source, entry.destination.index()]] = entry.bytes.get() as f64;
        }
    }
    PyArray2::from_owned_array(py, bytes)
}

/// Whether a matching serves a pair with demand.
fn serves(matching: &Matching, demand: &Demand) -> bool {
    matching.pairs().any(|(source, destination)| demand.row(source).bytes(destination).get() > 0)
}

/// The two parts of an answer of matchings and durations.
fn matchings_and_durations<'py>(
    answer: &Bound<'py, PyAny>,
    hosts: usize,
    each: &str,
) -> PyResult<(Vec<Matching>, Bound<'py, PyAny>)> {
    let wrong = || PyTypeError::new_err("it has to return a tuple (matchings, durations)");
    let answer = answer.cast::<PyTuple>().map_err(|_| wrong())?;
    if answer.len() != 2 {
        return Err(wrong());
    }
    let mut matchings = Vec::new();
    for (k, matching) in answer.get_item(0)?.try_iter()?.enumerate() {
        let place = || format!("{each} {k}");
        let outputs = outputs(&matching?, hosts).map_err(|e| at(answer.py(), place(), e))?;
        matchings.push(Matching::new(outputs).map_err(|e| invalid(format!("{}: {e}", place())))?);
    }
    Ok((matchings, answer.get_item(1)?))
}

/// The destination of each source, from an array of integers; -1 is none.
fn outputs(array: &Bound<'_, PyAny>, hosts: usize) -> PyResult<Vec<Option<HostId>>> {
    let array = integers(array, "a matching")?;
    let array = array.as_array();
    if array.len() != hosts {
        let shape = array.shape();
        return Err(invalid(format!(
            "a matching has one number for each of {hosts} hosts, this one has shape {shape:?}"
        )));
    }
    let host = |(source, &to): (usize, &i64)| match to {
        -1 => Ok(None),
        _ => u32::try_from(to).map(|to| Some(HostId(to))).map_err(|_| {
            invalid(format!("host {source} sends to host {to}, but the hosts are 0 to {}, and -1 is nobody", hosts - 1))
        }),
    };
    array.iter().enumerate().map(host).collect()
}

/// An array of one dimension, with the kind of its elements: `i`, `u`, `f` and so on.
fn array<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<(Bound<'py, PyAny>, char)> {
    let array = value.py().import("numpy")?.call_method1("asarray", (value,))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    if shape.len() != 1 {
        return Err(invalid(format!("{what} has one dimension, this one has shape {shape:?}")));
    }
    let kind = array.getattr("dtype")?.getattr("kind")?.extract()?;
    Ok((array, kind))
}

/// An array of integers of one dimension. An empty list is one, too.
fn integers<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<PyReadonlyArray1<'py, i64>> {
    let (array, kind) = array(value, what)?;
    if !matches!(kind, 'i' | 'u') && array.len()? > 0 {
        return Err(invalid(format!("{what} is an array of integers, not of {}", array.getattr("dtype")?)));
    }
    array.call_method1("astype", ("int64",))?.extract()
}

/// An array of numbers of one dimension.
fn numbers<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<PyReadonlyArray1<'py, f64>> {
    let (array, kind) = array(value, what)?;
    if !matches!(kind, 'i' | 'u' | 'f') {
        return Err(invalid(format!("{what} is an array of numbers, not of {}", array.getattr("dtype")?)));
    }
    array.call_method1("astype", ("float64",))?.extract()
}

/// The time for which each of `count` matchings is open, from one duration for all or one for each;
/// `None` stands for the usual one, if there is one.
fn opens(durations: &Bound<'_, PyAny>, count: usize, usual: Option<Duration>) -> PyResult<Vec<Duration>> {
    if let Some(usual) = usual.filter(|_| durations.is_none()) {
        return Ok(vec![usual; count]);
    }
    let single = durations.is_instance_of::<PyString>() || durations.hasattr("total_seconds")?;
    if single || durations.extract::<f64>().is_ok() {
        return Ok(vec![duration(durations)?; count]);
    }
    let opens: Vec<Duration> = durations.try_iter()?.map(|d| duration(&d?)).collect::<PyResult<_>>()?;
    if opens.len() != count {
        return Err(invalid(format!("{count} matchings and {} durations", opens.len())));
    }
    Ok(opens)
}

fn duration(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    if let Ok(text) = value.extract::<String>() {
        return text.parse().map_err(invalid);
    }
    let seconds = if value.hasattr("total_seconds")? { &value.call_method0("total_seconds")? } else { value };
    let seconds: f64 = seconds.extract().map_err(|_| {
        let kind = value.get_type().name().map_or_else(|_| "this".to_owned(), |n| n.to_string());
        invalid(format!("a duration is seconds, a text such as \"300 us\" or a timedelta, not {kind}"))
    })?;
    if !(seconds.is_finite() && seconds > 0.0 && seconds < 1e6) {
        return Err(invalid(format!("a matching is open for {seconds} s: it must be positive")));
    }
    Ok(Duration::from_secs_f64(seconds))
}
