//! Normalizers of rates written in Python: requested rates become rates that fit on all links.
//!
//! They are checked against the capacities of links.

use super::{Callable, Own, invalid, numbers};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, prelude::*};
use pyo3::prelude::*;
use timeplane_schedule::rates::Flows;
use timeplane_schedule::{Normalizer, OwnError, Registry};

/// Hosts and links of the fabric; the constructor of a normalizer class gets them.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct RateParameters {
    /// Number of hosts.
    #[pyo3(get)]
    hosts: u32,
    /// Capacity of each link, as a multiple of a host's link. Link ``h`` is the one on which host
    /// ``h`` sends, link ``hosts + h`` the one on which it receives. If switches are
    /// oversubscribed, what leaves each of them and then what enters each of them follows.
    #[pyo3(get)]
    capacity: Py<PyArray1<f64>>,
}

#[pymethods]
impl RateParameters {
    fn __repr__(&self, py: Python<'_>) -> String {
        format!("RateParameters(hosts={}, {} links)", self.hosts, self.capacity.bind(py).len())
    }
}

/// The pairs that request a rate.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct RateFlows {
    /// Sending host of each flow.
    #[pyo3(get)]
    source: Py<PyArray1<i64>>,
    /// Receiving host of each flow.
    #[pyo3(get)]
    destination: Py<PyArray1<i64>>,
    /// Requested rate of each flow, as a share of a host's link.
    #[pyo3(get)]
    demand: Py<PyArray1<f64>>,
    /// ``links[f]`` are the links of flow ``f``, first those of its source and its destination. The
    /// row of a flow that crosses fewer than another one is filled up with -1.
    #[pyo3(get)]
    links: Py<PyArray2<i64>>,
}

#[pymethods]
impl RateFlows {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.source.bind(py).len()
    }
}

impl RateFlows {
    fn new(py: Python<'_>, flows: &Flows, hosts: u32) -> Self {
        let all = || 0..flows.len();
        let most = all().map(|flow| flows.path(flow).len()).max().unwrap_or(2);
        let mut links = Array2::from_elem((flows.len(), most), -1);
        for flow in all() {
            for (place, &link) in flows.path(flow).iter().enumerate() {
                links[[flow, place]] = i64::from(link);
            }
        }
        let end = |flow: usize, place: usize| i64::from(flows.path(flow)[place]);
        Self {
            source: PyArray1::from_iter(py, all().map(|flow| end(flow, 0))).unbind(),
            destination: PyArray1::from_iter(py, all().map(|flow| end(flow, 1) - i64::from(hosts))).unbind(),
            demand: PyArray1::from_iter(py, all().map(|flow| flows.demand(flow))).unbind(),
            links: PyArray2::from_owned_array(py, links).unbind(),
        }
    }
}

pub(super) fn register(
    all: &mut Registry<timeplane_schedule::RateParameters, Box<dyn Normalizer>>,
    name: &str,
    own: Own,
) {
    all.register(name, move |parameters, values| {
        let given = Python::attach(|py| RateParameters {
            hosts: parameters.hosts,
            capacity: PyArray1::from_slice(py, &parameters.capacity).unbind(),
        });
        Ok(Box::new(PythonRates { call: own.make(given, values)?, parameters: parameters.clone() }))
    });
}

struct PythonRates {
    call: Callable,
    parameters: timeplane_schedule::RateParameters,
}

impl Normalizer for PythonRates {
    fn normalize(&mut self, flows: &Flows, given: &mut Vec<f64>) -> Result<(), OwnError> {
        if flows.is_empty() {
            return Ok(());
        }
        self.call.ask(|call| {
            let answer = call.call1((RateFlows::new(call.py(), flows, self.parameters.hosts),))?;
            given.extend(numbers(&answer, "an array of rates")?.as_array().iter());
            self.parameters.check(flows, given).map_err(invalid)
        })?;
        let is_idle = given.iter().all(|&rate| rate == 0.0);
        self.call.count(is_idle, format_args!("{} pairs", flows.len()))
    }
}
