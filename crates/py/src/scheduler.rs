//! Schedulers written in Python: a function or a class that turns a demand matrix into matchings
//! and durations. An exception ends the batch with a `RunError`.

use crate::error;
use numpy::prelude::*;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use timeplane_model::{
    Class, Demand, Duration, Fabric, HostId, Matching, Plan, Rate, RateMatrix, ScheduleEntry, Slot, Transmission,
};
use timeplane_schedule::{Scheduler, SchedulerFactory, Standing};

/// Maximum number of consecutive empty plans while hosts have a backlog; more would never end the
/// run.
const MOST_IDLE: u32 = 10_000;

/// Slot parameters of the scenario; the constructor of a scheduler class gets them.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct SlotParameters(timeplane_schedule::SlotParameters);

#[pymethods]
impl SlotParameters {
    /// Time for which the gates of a slot are open, in seconds.
    #[getter]
    fn slot(&self) -> f64 {
        self.0.open.as_secs_f64()
    }
    /// Time between the end of a slot and the start of the next, in seconds.
    #[getter]
    fn guard(&self) -> f64 {
        self.0.guard.as_secs_f64()
    }
    /// Maximum number of slots in a round.
    #[getter]
    fn round_slots(&self) -> u32 {
        self.0.slots
    }
    /// Size of the largest frame in wire bytes. Frames are not cut, so a smaller grant may be of no
    /// use.
    #[getter]
    fn frame_bytes(&self) -> u64 {
        self.0.frame.get()
    }
    fn __repr__(&self) -> String {
        let (slot, guard, slots, frame) = (self.slot(), self.guard(), self.round_slots(), self.frame_bytes());
        format!("SlotParameters(slot={slot}, guard={guard}, round_slots={slots}, frame_bytes={frame})")
    }
}

/// The first failure of a scheduler, which ends the batch.
#[derive(Default)]
pub(crate) struct Failure {
    error: Mutex<Option<PyErr>>,
    failed: AtomicBool,
}

impl Failure {
    fn set(&self, error: PyErr) {
        self.error.lock().expect("no panic").get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }
    pub fn is_set(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().expect("no panic").take()
    }
}

struct PythonScheduler {
    name: String,
    parameters: timeplane_schedule::SlotParameters,
    /// Called with the demand; `None` if the class could not be instantiated.
    call: Option<Py<PyAny>>,
    idle: u32,
    failure: Arc<Failure>,
}

/// A factory for `scheduler`. A class is instantiated once per run; any other callable is used as
/// it is.
pub(crate) fn factory(name: String, scheduler: Py<PyAny>, failure: Arc<Failure>) -> SchedulerFactory {
    Arc::new(move |&parameters| {
        let call = Python::attach(|py| {
            let scheduler = scheduler.bind(py);
            if !scheduler.is_instance_of::<PyType>() {
                return Some(scheduler.clone().unbind());
            }
            let made = scheduler.call1((SlotParameters(parameters),));
            made.map(Bound::unbind).map_err(|e| failure.set(stopped(py, &name, "could not be made", e))).ok()
        });
        Box::new(PythonScheduler { name: name.clone(), parameters, call, idle: 0, failure: Arc::clone(&failure) })
    })
}

/// A `RunError` with `cause` as its cause.
fn stopped(py: Python<'_>, name: &str, what: &str, cause: PyErr) -> PyErr {
    let error = error::failed(py, &format!("scheduler `{name}` {what}: {cause}"), None, None);
    error.set_cause(py, Some(cause));
    error
}

fn invalid(what: impl Display) -> PyErr {
    PyValueError::new_err(what.to_string())
}

impl Scheduler for PythonScheduler {
    fn plan(&mut self, demand: &Demand, fabric: &Fabric, standing: &Standing) -> Plan {
        // The slot controller rejects a plan of rates, so that a run whose scheduler has failed
        // never counts as complete.
        let hosts = fabric.hosts() as usize;
        let refused = || Plan::Rates(RateMatrix::new(vec![Rate::ZERO; hosts * hosts], fabric).expect("no rate at all"));
        let Some(call) = self.call.as_ref().filter(|_| !self.failure.is_set()) else { return refused() };
        let entries = Python::attach(|py| {
            let entries = entries(call.bind(py), demand, fabric, &self.parameters);
            entries.map_err(|e| stopped(py, &self.name, &format!("failed in round {}", standing.round.0), e))
        });
        self.idle = match &entries {
            Ok(entries) if entries.is_empty() && !demand.is_empty() => self.idle + 1,
            _ => 0,
        };
        match entries {
            Ok(_) if self.idle > MOST_IDLE => {
                let total = demand.total();
                let text = format!("planned nothing in {MOST_IDLE} rounds, while {total} wait");
                let error =
                    Python::attach(|py| error::failed(py, &format!("scheduler `{}` {text}", self.name), None, None));
                self.failure.set(error);
                refused()
            }
            Ok(entries) => Plan::Slots(entries),
            Err(error) => {
                self.failure.set(error);
                refused()
            }
        }
    }
}

/// Calls the scheduler and converts what it returns to slots.
fn entries(
    call: &Bound<'_, PyAny>,
    demand: &Demand,
    fabric: &Fabric,
    parameters: &timeplane_schedule::SlotParameters,
) -> PyResult<Vec<ScheduleEntry>> {
    let py = call.py();
    let hosts = fabric.hosts() as usize;
    let mut bytes = vec![0.0; hosts * hosts];
    for (source, row) in demand.rows().iter().enumerate() {
        for entry in row.entries() {
            bytes[source * hosts + entry.destination.index()] = entry.bytes.get() as f64;
        }
    }
    let matrix = PyArray1::from_vec(py, bytes).reshape([hosts, hosts])?;
    let answer = call.call1((matrix,))?;
    let wrong = || PyTypeError::new_err("it has to return a tuple (matchings, durations)");
    let answer = answer.cast::<PyTuple>().map_err(|_| wrong())?;
    if answer.len() != 2 {
        return Err(wrong());
    }
    let (matchings, durations) = (answer.get_item(0)?, answer.get_item(1)?);
    let mut slots = Vec::new();
    for (k, matching) in matchings.try_iter()?.enumerate() {
        let outputs = outputs(&matching?, hosts).map_err(|e| at(py, k, e))?;
        let matching = Matching::new(outputs).map_err(|e| invalid(format!("slot {k}: {e}")))?;
        slots.push(matching);
    }
    if slots.len() > parameters.slots as usize {
        let text = format!("{} slots, but a round has at most {} (round_slots)", slots.len(), parameters.slots);
        return Err(invalid(text));
    }
    let opens = opens(&durations, slots.len(), parameters.open)?;
    let entry = |(k, (matching, open)): (usize, (Matching, Duration))| {
        let transmissions = matching.pairs().map(|(s, d)| transmission(fabric, s, d)).collect();
        let slot = Slot::new(transmissions, open, fabric).map_err(|e| invalid(format!("slot {k}: {e}")))?;
        Ok(ScheduleEntry { slot, guard: parameters.guard })
    };
    slots.into_iter().zip(opens).enumerate().map(entry).collect()
}

/// The exception with the slot's number in front, if it is a `ValueError` or a `TypeError`.
fn at(py: Python<'_>, k: usize, e: PyErr) -> PyErr {
    let ours = e.is_instance_of::<PyValueError>(py) || e.is_instance_of::<PyTypeError>(py);
    if ours { invalid(format!("slot {k}: {}", e.value(py))) } else { e }
}

/// The destination of each source, from an array of integers; -1 is none.
fn outputs(array: &Bound<'_, PyAny>, hosts: usize) -> PyResult<Vec<Option<HostId>>> {
    let py = array.py();
    let array = py.import("numpy")?.call_method1("asarray", (array,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if !matches!(kind.as_str(), "i" | "u") {
        let text = format!("a matching is an array of integers, not of {}", array.getattr("dtype")?);
        return Err(invalid(text));
    }
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    if shape != [hosts] {
        return Err(invalid(format!(
            "a matching has one number for each of {hosts} hosts, this one has shape {shape:?}"
        )));
    }
    let array: PyReadonlyArray1<'_, i64> = array.call_method1("astype", ("int64",))?.extract()?;
    let host = |(source, &to): (usize, &i64)| match to {
        -1 => Ok(None),
        _ => u32::try_from(to).map(|to| Some(HostId(to))).map_err(|_| {
            invalid(format!("host {source} sends to host {to}, but the hosts are 0 to {}, and -1 is nobody", hosts - 1))
        }),
    };
    array.as_array().iter().enumerate().map(host).collect()
}

/// The time for which each slot is open, from one duration for all slots or one for each; `None`
/// stands for the scenario's.
fn opens(durations: &Bound<'_, PyAny>, slots: usize, usual: Duration) -> PyResult<Vec<Duration>> {
    if durations.is_none() {
        return Ok(vec![usual; slots]);
    }
    let single = durations.is_instance_of::<PyString>() || durations.hasattr("total_seconds")?;
    if single || durations.extract::<f64>().is_ok() {
        return Ok(vec![duration(durations)?; slots]);
    }
    let opens: Vec<Duration> = durations.try_iter()?.map(|d| duration(&d?)).collect::<PyResult<_>>()?;
    if opens.len() != slots {
        return Err(invalid(format!("{slots} matchings and {} durations", opens.len())));
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
        return Err(invalid(format!("a slot is open for {seconds} s: it must be positive")));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A transmission at the rate of the slowest link that it crosses for certain.
fn transmission(fabric: &Fabric, source: HostId, destination: HostId) -> Transmission {
    let line = fabric.link(fabric.uplink(source)).spec.rate;
    let path = if fabric.is_single_path(source, destination) {
        fabric.path(source, destination, 0)
    } else {
        vec![fabric.uplink(source), fabric.downlink(destination)]
    };
    let slowest = path.into_iter().map(|l| fabric.link(l).spec.rate).min().unwrap_or(line);
    let rate = (slowest < line).then_some(slowest);
    Transmission { source, destination, class: Class(0), path: None, rate, bytes: None }
}
