//! Scenarios that were read and checked.

use crate::error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use timeplane_schedule::Schedulers;

/// A scenario that was read, with the places of its values.
#[pyclass(frozen, module = "timeplane._core")]
pub(crate) struct Loaded(pub timeplane_scenario::Loaded);

#[pymethods]
impl Loaded {
    /// Reads a TOML file; every override is a dotted key and one value, or several that are swept.
    #[staticmethod]
    #[pyo3(signature = (path, overrides=vec![]))]
    fn from_file(py: Python<'_>, path: PathBuf, overrides: Vec<(String, Vec<String>)>) -> PyResult<Self> {
        let loaded = timeplane_scenario::Loaded::from_file(path, &overrides);
        loaded.map(Self).map_err(|e| error::scenario(py, &e))
    }

    /// Takes a scenario as JSON text; `base` is the folder in which files that it names are looked
    /// up.
    #[staticmethod]
    #[pyo3(signature = (text, base, overrides=vec![]))]
    fn from_json(py: Python<'_>, text: &str, base: PathBuf, overrides: Vec<(String, Vec<String>)>) -> PyResult<Self> {
        let value = serde_json::from_str(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let loaded = timeplane_scenario::Loaded::from_json(&value, base, &overrides);
        loaded.map(Self).map_err(|e| error::scenario(py, &e))
    }

    /// The scenario as JSON text in its canonical form, defaults written out.
    fn to_json(&self) -> String {
        self.0.scenario.to_json().to_string()
    }

    /// Name of the folder of its results.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// The folder in which files that it names are looked up.
    #[getter]
    fn base(&self) -> PathBuf {
        self.0.base.clone()
    }

    /// Checks everything, also what it names; gives what is doubtful. `schedulers` are known beside
    /// the built-in ones.
    fn validate(&self, py: Python<'_>, schedulers: Vec<String>) -> PyResult<Vec<Py<PyAny>>> {
        let warnings = py.detach(|| {
            let built_in = Schedulers::built_in();
            let names: Vec<&str> = built_in.names().chain(schedulers.iter().map(String::as_str)).collect();
            let warnings = self.0.validate(&names)?;
            timeplane_experiment::prepare(&timeplane_sim::Simulator::default(), &self.0)?;
            Ok(warnings)
        });
        match warnings {
            Ok(warnings) => warnings.iter().map(|w| error::issue(py, w)).collect(),
            Err(e) => Err(error::batch(py, &e)),
        }
    }
}

/// The JSON Schema of scenarios, as text.
#[pyfunction]
pub(crate) fn schema() -> String {
    serde_json::to_string_pretty(&timeplane_scenario::schema()).expect("a schema is JSON")
}
