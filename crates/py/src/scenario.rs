//! Scenarios that were read and checked: from a TOML file or from JSON, with overrides and sweeps.
//! Problems become exceptions with the location of each value.

use crate::error;
use crate::own::{self, Registered};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// The use of an algorithm that is not built in: the dotted key, the scheme, the plan, the name,
/// and the parameters as JSON text.
type OwnUse = (String, String, &'static str, String, String);

/// A scenario with the locations of its values.
#[pyclass(frozen, module = "timeplane._core")]
pub(crate) struct Loaded(pub timeplane_scenario::Loaded);

#[pymethods]
impl Loaded {
    /// Reads a TOML file. An override is a dotted key with one value, or several values to sweep.
    #[staticmethod]
    #[pyo3(signature = (path, overrides=vec![]))]
    fn from_file(py: Python<'_>, path: PathBuf, overrides: Vec<(String, Vec<String>)>) -> PyResult<Self> {
        let loaded = timeplane_scenario::Loaded::from_file(path, &overrides);
        loaded.map(Self).map_err(|e| error::scenario(py, &e))
    }

    /// Takes a scenario as JSON text. File names in it are relative to the folder `base`.
    #[staticmethod]
    #[pyo3(signature = (text, base, overrides=vec![]))]
    fn from_json(py: Python<'_>, text: &str, base: PathBuf, overrides: Vec<(String, Vec<String>)>) -> PyResult<Self> {
        let value = serde_json::from_str(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let loaded = timeplane_scenario::Loaded::from_json(&value, base, &overrides);
        loaded.map(Self).map_err(|e| error::scenario(py, &e))
    }

    /// The scenario as canonical JSON text, with defaults.
    fn to_json(&self) -> String {
        self.0.scenario.to_json().to_string()
    }

    /// Uses of algorithms that are not built in: the dotted key, the scheme, the plan, the name and
    /// the parameters as JSON text. The points of a sweep may have several.
    fn own_algorithms(&self, py: Python<'_>) -> PyResult<Vec<OwnUse>> {
        let points = py.detach(|| self.0.points()).map_err(|e| error::scenario(py, &e))?;
        let mut all = Vec::new();
        for (scheme, of) in points.iter().flat_map(|point| &point.scenario.scheme) {
            for (key, plan, own) in of.own_algorithms() {
                let values = serde_json::to_string(&own.parameters).expect("parameters are JSON");
                let one = (format!("scheme.{scheme}.{key}"), scheme.clone(), plan, own.name.clone(), values);
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        Ok(all)
    }

    /// Name of the results folder.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// The folder that file names in the scenario are relative to.
    #[getter]
    fn base(&self) -> PathBuf {
        self.0.base.clone()
    }

    /// Checks the scenario and the files that it names; returns warnings. `registered` are own
    /// algorithms.
    fn validate(&self, py: Python<'_>, registered: Registered) -> PyResult<Vec<Py<PyAny>>> {
        let failures = Arc::default();
        let algorithms = own::algorithms(&registered, py, &failures);
        let warnings = py.detach(|| {
            let warnings = self.0.validate(&algorithms)?;
            timeplane_experiment::prepare(&timeplane_sim::Simulator::new(algorithms), &self.0)?;
            Ok(warnings)
        });
        match warnings {
            Ok(warnings) => warnings.iter().map(|w| error::issue(py, w)).collect(),
            Err(e) => Err(failures.error(py, &e)),
        }
    }
}

/// The JSON Schema of scenarios, as text.
#[pyfunction]
pub(crate) fn schema() -> String {
    serde_json::to_string_pretty(&timeplane_scenario::schema()).expect("a schema is JSON")
}
