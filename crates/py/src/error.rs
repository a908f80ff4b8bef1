//! Converts errors in Rust to the exception classes of `timeplane._errors`. No other module creates
//! them.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use timeplane_experiment::ExperimentError;
use timeplane_model::{FabricError, printable, printable_line};
use timeplane_results::ResultsError;
use timeplane_scenario::{Issue, ScenarioError};
use timeplane_sim::SimulationError;
use timeplane_workload::WorkloadError;

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("timeplane._errors")?.getattr(name)
}

/// Makes an exception of a class of `timeplane._errors`. If that fails, returns the error of the
/// attempt.
fn make(py: Python<'_>, name: &str, fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>, text: &str) -> PyErr {
    let built = class(py, name).and_then(|class| {
        let keywords = PyDict::new(py);
        fill(&keywords)?;
        // Python prints it to a terminal.
        class.call((printable(text),), Some(&keywords))
    });
    built.map_or_else(|e| e, PyErr::from_value)
}

/// A problem of a scenario as a `timeplane.Issue`.
pub(crate) fn issue(py: Python<'_>, issue: &Issue) -> PyResult<Py<PyAny>> {
    let place = issue.location.as_ref();
    let fields = (
        printable_line(&issue.key),
        printable(&issue.problem.to_string()).into_owned(),
        issue.help.as_deref().map(printable),
        place.map(|l| printable_line(&l.name)),
        place.and_then(|l| l.line),
        place.and_then(|l| l.column),
    );
    Ok(class(py, "Issue")?.call1(fields)?.unbind())
}

pub(crate) fn scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let fill = |keywords: &Bound<'_, PyDict>| {
        let issues: Vec<Py<PyAny>> = error.issues().iter().map(|i| issue(py, i)).collect::<PyResult<_>>()?;
        keywords.set_item("issues", issues)
    };
    make(py, "ScenarioError", fill, &error.to_string())
}

/// Makes a `ScenarioError` with one issue whose cause is outside of the scenario's text.
fn refused(py: Python<'_>, key: &str, text: &str, file: Option<&str>, line: Option<u64>) -> PyErr {
    let fill = |keywords: &Bound<'_, PyDict>| {
        let issue = class(py, "Issue")?.call1((key, text, None::<&str>, file, line, None::<u64>))?;
        keywords.set_item("issues", vec![issue])
    };
    make(py, "ScenarioError", fill, text)
}

fn workload(py: Python<'_>, error: &WorkloadError) -> PyErr {
    let text = error.to_string();
    match error {
        WorkloadError::Value { key, .. } | WorkloadError::Missing { key, .. } => refused(py, key, &text, None, None),
        WorkloadError::File { file, .. } => refused(py, "workload", &text, Some(file), None),
        WorkloadError::Line { file, line, .. } | WorkloadError::Cell { file, line, .. } => {
            refused(py, "workload", &text, Some(file), Some(*line))
        }
        _ => refused(py, "workload", &text, None, None),
    }
}

fn fabric(py: Python<'_>, error: &FabricError) -> PyErr {
    refused(py, "fabric", &format!("fabric: {error}"), None, None)
}

/// Makes a `RunError` for a failed run or unreadable results.
pub(crate) fn failed(py: Python<'_>, text: &str, scheme: Option<&str>, seed: Option<u64>) -> PyErr {
    let fill = |keywords: &Bound<'_, PyDict>| {
        keywords.set_item("scheme", scheme)?;
        keywords.set_item("seed", seed)
    };
    make(py, "RunError", fill, text)
}

pub(crate) fn results(py: Python<'_>, error: &ResultsError) -> PyErr {
    failed(py, &error.to_string(), None, None)
}

pub(crate) fn batch(py: Python<'_>, error: &SimulationError) -> PyErr {
    match error {
        ExperimentError::Scenario(e) => scenario(py, e),
        ExperimentError::Workload(e) => workload(py, e),
        ExperimentError::Fabric(e) => fabric(py, e),
        ExperimentError::Results(e) => results(py, e),
        ExperimentError::Run { scheme, seed, .. } | ExperimentError::Fault { scheme, seed, .. } => {
            failed(py, &error.to_string(), Some(scheme), Some(*seed))
        }
        _ => failed(py, &error.to_string(), None, None),
    }
}
