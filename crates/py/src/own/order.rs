//! Orders of timeslots written in Python: a key for each waiting pair.
//!
//! Keys are integers as they are, or floats by an order-preserving map to integers.

use super::{Callable, Own, array, invalid};
use numpy::{PyArray1, PyReadonlyArray1, prelude::*};
use pyo3::prelude::*;
use timeplane_model::Time;
use timeplane_schedule::{OwnError, Registry, SlotOrder, Waiting};

/// Timeslots of the scenario; the constructor of a class that orders pairs gets them.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct TimeslotParameters(timeplane_schedule::TimeslotParameters);

#[pymethods]
impl TimeslotParameters {
    /// Time from the start of a slot to the start of the next, in seconds.
    #[getter]
    fn slot(&self) -> f64 {
        self.0.slot.as_secs_f64()
    }
    /// Wire bytes that fit into a slot.
    #[getter]
    fn slot_bytes(&self) -> u64 {
        self.0.bytes.get()
    }
    /// Number of slots that are allocated together.
    #[getter]
    fn batch(&self) -> u32 {
        self.0.batch
    }
    fn __repr__(&self) -> String {
        let (slot, bytes, batch) = (self.slot(), self.slot_bytes(), self.batch());
        format!("TimeslotParameters(slot={slot}, slot_bytes={bytes}, batch={batch})")
    }
}

/// The pairs that wait for a timeslot, as arrays of int64 with one element for each pair and class.
/// They are sorted by source, destination and class. Times are picoseconds of the controller's
/// clock.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct WaitingPairs {
    /// Start of the timeslot in picoseconds.
    #[pyo3(get)]
    start_ps: i64,
    /// Sending host.
    #[pyo3(get)]
    source: Py<PyArray1<i64>>,
    /// Receiving host.
    #[pyo3(get)]
    destination: Py<PyArray1<i64>>,
    /// Traffic class. Lower classes go first, whatever the keys.
    #[pyo3(get)]
    traffic_class: Py<PyArray1<i64>>,
    /// Arrival of the first packet.
    #[pyo3(get)]
    arrived_ps: Py<PyArray1<i64>>,
    /// Time since which the first packet is first: its arrival, or the pair's last timeslot.
    #[pyo3(get)]
    first_since_ps: Py<PyArray1<i64>>,
    /// Wire bytes that are left of the pair's first flow.
    #[pyo3(get)]
    flow_bytes: Py<PyArray1<i64>>,
    /// Wire bytes of all flows of the pair.
    #[pyo3(get)]
    bytes: Py<PyArray1<i64>>,
    /// Packets of all flows of the pair.
    #[pyo3(get)]
    packets: Py<PyArray1<i64>>,
}

#[pymethods]
impl WaitingPairs {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.source.bind(py).len()
    }
}

impl WaitingPairs {
    fn new(py: Python<'_>, start: Time, waiting: &[Waiting]) -> Self {
        let column = |of: &dyn Fn(&Waiting) -> i64| PyArray1::from_iter(py, waiting.iter().map(of)).unbind();
        Self {
            start_ps: start.as_ps(),
            source: column(&|w| w.source.0.into()),
            destination: column(&|w| w.destination.0.into()),
            traffic_class: column(&|w| w.class.0.into()),
            arrived_ps: column(&|w| w.arrived.as_ps()),
            first_since_ps: column(&|w| w.first_since.as_ps()),
            flow_bytes: column(&|w| w.flow_bytes.get() as i64),
            bytes: column(&|w| w.bytes.get() as i64),
            packets: column(&|w| w.packets as i64),
        }
    }
}

pub(super) fn register(
    all: &mut Registry<timeplane_schedule::TimeslotParameters, Box<dyn SlotOrder>>,
    name: &str,
    own: Own,
) {
    all.register(name, move |&parameters, values| {
        Ok(Box::new(PythonOrder(own.make(TimeslotParameters(parameters), values)?)))
    });
}

struct PythonOrder(Callable);

impl SlotOrder for PythonOrder {
    fn keys(&mut self, start: Time, waiting: &[Waiting], keys: &mut Vec<i64>) -> Result<(), OwnError> {
        if waiting.is_empty() {
            return Ok(());
        }
        self.0.ask(|call| {
            let answer = call.call1((WaitingPairs::new(call.py(), start, waiting),))?;
            read_keys(&answer, keys)?;
            if keys.len() != waiting.len() {
                return Err(invalid(format!("{} keys for {} pairs", keys.len(), waiting.len())));
            }
            Ok(())
        })
    }
}

fn read_keys(answer: &Bound<'_, PyAny>, keys: &mut Vec<i64>) -> PyResult<()> {
    let (array, kind) = array(answer, "an array of keys")?;
    match kind {
        'i' | 'u' | 'b' => {
            let integers: PyReadonlyArray1<'_, i64> = array.call_method1("astype", ("int64",))?.extract()?;
            keys.extend(integers.as_array().iter());
        }
        'f' => {
            let floats: PyReadonlyArray1<'_, f64> = array.call_method1("astype", ("float64",))?.extract()?;
            let floats = floats.as_array();
            if let Some(pair) = floats.iter().position(|key| key.is_nan()) {
                return Err(invalid(format!("the key of pair {pair} is not a number")));
            }
            keys.extend(floats.iter().map(|&key| in_order(key)));
        }
        _ => return Err(invalid(format!("keys are numbers, not {}", array.getattr("dtype")?))),
    }
    Ok(())
}

/// An integer that compares with those of other numbers as the number does.
fn in_order(key: f64) -> i64 {
    // Adding zero turns -0 into 0. Negative numbers have their other bits flipped.
    let bits = (key + 0.0).to_bits() as i64;
    if bits < 0 { bits ^ i64::MAX } else { bits }
}
