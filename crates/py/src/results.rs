//! A results folder, read-only: its runs, tables and comparison. Reading takes no lock, so a folder
//! can be read while a batch writes to it.

use crate::error;
use crate::table::{Label, Part, Table};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use indexmap::{IndexMap, IndexSet};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use timeplane_experiment::{ComparisonOptions, Context};
use timeplane_model::printable;
use timeplane_results::{
    CheckedRuns, CompleteRun, Folder, Manifest, Metric, ResultsError, RunSummary, summary_batch, tables,
};

/// The completed runs of a results folder.
#[pyclass(frozen, module = "timeplane._core")]
pub(crate) struct Results {
    directory: PathBuf,
    manifest: Manifest,
    runs: Vec<CompleteRun>,
    labels: Arc<Vec<Label>>,
    keep: Option<Arc<Py<PyAny>>>,
}

impl Results {
    /// Reads the completed runs without locking the folder. Files of `checked` runs are not checked
    /// again.
    pub fn read(directory: &Path, checked: &CheckedRuns, keep: Option<Py<PyAny>>) -> Result<Self, ResultsError> {
        let Folder { manifest, runs, .. } = Folder::read_checked(directory, checked)?;
        let labels = Arc::new(labels(&runs));
        Ok(Self { directory: directory.to_owned(), manifest, runs, labels, keep: keep.map(Arc::new) })
    }

    fn summaries(&self) -> Vec<RunSummary> {
        self.runs.iter().map(|r| r.summary.clone()).collect()
    }
}

/// The columns that name the run: run, scheme, swept keys, seed.
fn labels(runs: &[CompleteRun]) -> Vec<Label> {
    fn column<'a>(runs: &'a [CompleteRun], get: impl Fn(&'a CompleteRun) -> &'a str) -> Vec<Option<&'a str>> {
        runs.iter().map(|r| Some(get(r))).collect()
    }
    let mut labels = vec![
        Label::text("run", &column(runs, |r| &r.about.key)),
        Label::text("scheme", &column(runs, |r| &r.about.scheme)),
    ];
    let keys: IndexSet<&String> = runs.iter().flat_map(|r| r.about.point.keys()).collect();
    for key in keys {
        let values: Vec<Option<&str>> = runs.iter().map(|r| r.about.point.get(key).map(String::as_str)).collect();
        labels.push(Label::point(key, &values));
    }
    labels.push(Label::number("seed", runs.iter().map(|r| r.about.seed).collect()));
    labels
}

#[pymethods]
impl Results {
    /// Opens a folder. The results hold a reference to `keep`.
    #[staticmethod]
    #[pyo3(signature = (directory, keep=None))]
    fn open(py: Python<'_>, directory: PathBuf, keep: Option<Py<PyAny>>) -> PyResult<Self> {
        // Files are read and hashed: other threads of Python go on.
        py.detach(|| Self::read(&directory, &CheckedRuns::default(), keep)).map_err(|e| error::results(py, &e))
    }

    /// The folder.
    #[getter]
    fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// The name in the manifest.
    #[getter]
    fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The manifest, as JSON text.
    fn manifest(&self) -> String {
        serde_json::to_string(&self.manifest).expect("a manifest is JSON")
    }

    /// Key, scheme, point and seed of every completed run.
    fn runs(&self) -> Vec<(&str, &str, &IndexMap<String, String>, u64)> {
        self.runs
            .iter()
            .map(|r| (r.about.key.as_str(), r.about.scheme.as_str(), &r.about.point, r.about.seed))
            .collect()
    }

    /// The number of runs in the manifest, complete or not.
    #[getter]
    fn planned(&self) -> usize {
        self.manifest.runs.len()
    }

    /// A table of all completed runs, or of one by its number.
    #[pyo3(signature = (name, run=None))]
    fn table(&self, name: &str, run: Option<usize>) -> PyResult<Table> {
        let all = tables::all();
        let Some((name, schema)) = all.iter().find(|(n, _)| *n == name) else {
            let names: Vec<&str> = all.iter().map(|(n, _)| *n).collect();
            return Err(PyKeyError::new_err(format!("there is no table `{name}`; there are {}", names.join(", "))));
        };
        let part = |run: usize| Part { path: self.runs[run].directory.join(name).with_extension("parquet"), run };
        let parts = match run {
            Some(run) if run >= self.runs.len() => return Err(PyIndexError::new_err(run)),
            Some(run) => vec![part(run)],
            None => (0..self.runs.len()).map(part).collect(),
        };
        Ok(Table::files(name, schema, parts, Arc::clone(&self.labels), self.keep.clone()))
    }

    /// The summary: one row per run.
    fn summary(&self) -> PyResult<Table> {
        let batch = summary_batch(self.runs.iter().map(|r| (r.about.key.as_str(), &r.summary)));
        // The columns in front are those of the other tables, so that tables can be joined.
        let count = self.labels.len();
        let (old, batch_schema) = (batch.columns(), batch.schema());
        let fields: Vec<Field> = self.labels.iter().map(|l| l.field().clone()).collect();
        let fields = fields.into_iter().chain(batch_schema.fields()[count..].iter().map(|f| f.as_ref().clone()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let columns: Vec<ArrayRef> =
            self.labels.iter().map(|l| Arc::clone(l.values())).chain(old[count..].iter().cloned()).collect();
        let batch = RecordBatch::try_new(schema, columns).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(Table::memory("summary", batch))
    }

    /// Compares the schemes.
    #[pyo3(signature = (baseline=None, metrics=vec![]))]
    fn compare(&self, baseline: Option<String>, metrics: Vec<String>) -> PyResult<Comparison> {
        if let Some(name) = &baseline
            && !self.manifest.runs.iter().any(|r| r.scheme == *name)
        {
            return Err(PyKeyError::new_err(format!("there is no scheme `{name}`")));
        }
        let metric = |name: &String| {
            Metric::named(name).ok_or_else(|| {
                let all: Vec<&str> = Metric::ALL.iter().map(|m| m.name()).collect();
                PyKeyError::new_err(format!("there is no metric `{name}`; there are {}", all.join(", ")))
            })
        };
        let metrics = metrics.iter().map(metric).collect::<PyResult<_>>()?;
        let bounds = self.manifest.bounds.clone();
        let mut context = Context::default();
        context.add(&self.manifest.scenario, self.runs.iter().map(|run| (run.scheme.as_str(), &run.summary)));
        let options = ComparisonOptions { baseline, metrics, bounds, context, ..Default::default() };
        Ok(Comparison(timeplane_experiment::Comparison::new(&self.summaries(), &options)))
    }
}

/// The comparison of schemes.
#[pyclass(frozen, module = "timeplane._core")]
pub(crate) struct Comparison(pub timeplane_experiment::Comparison);

#[pymethods]
impl Comparison {
    /// The comparison as text for a terminal of `width` columns.
    fn text(&self, width: usize) -> String {
        printable(&self.0.to_text(width)).into_owned()
    }
    /// Everything, as JSON text.
    fn json(&self) -> String {
        self.0.to_json().to_string()
    }
    /// One row per point, scheme and metric.
    fn csv(&self) -> String {
        self.0.to_csv()
    }
    /// Labels of the metrics by name, in the order of columns.
    fn labels(&self) -> IndexMap<&str, &str> {
        let cells = self.0.lines().first().map_or(&[][..], |line| &line.cells);
        cells.iter().map(|c| (c.metric.name(), c.metric.label())).collect()
    }
}
