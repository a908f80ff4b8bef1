//! Tables as Arrow streams. They are read from Parquet one row group at a time; the first columns
//! are run, scheme, point and seed.

use crate::error;
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray,
    UInt64Array,
};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::ArrowError;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use numpy::PyArray1;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use timeplane_model::printable_line;
use timeplane_results::{TableFile, TableRows, guarded, swept_numbers};

/// Rows that a notebook shows.
const SHOWN: usize = 10;

/// A column that names the run of a row: one value per run.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    field: Field,
    /// One row per run.
    values: ArrayRef,
}

impl Label {
    /// Texts, as a dictionary that all batches share.
    pub fn text(name: &str, values: &[Option<&str>]) -> Self {
        let mut words: Vec<&str> = Vec::new();
        let keys: Int32Array = values
            .iter()
            .map(|value| {
                value.map(|value| {
                    let known = words.iter().position(|w| *w == value);
                    known.unwrap_or_else(|| {
                        words.push(value);
                        words.len() - 1
                    }) as i32
                })
            })
            .collect();
        let values = DictionaryArray::new(keys, Arc::new(StringArray::from(words)));
        Self::new(name, Arc::new(values))
    }

    /// Numbers if all values are numbers, otherwise texts.
    pub fn point(name: &str, values: &[Option<&str>]) -> Self {
        match swept_numbers(values) {
            Some(numbers) => Self::new(name, numbers),
            None => Self::text(name, values),
        }
    }

    pub fn number(name: &str, values: Vec<u64>) -> Self {
        Self::new(name, Arc::new(UInt64Array::from(values)))
    }

    fn new(name: &str, values: ArrayRef) -> Self {
        Self { field: Field::new(name, values.data_type().clone(), true), values }
    }

    pub fn field(&self) -> &Field {
        &self.field
    }

    pub fn values(&self) -> &ArrayRef {
        &self.values
    }

    /// The value of one run, `rows` times.
    fn repeat(&self, run: usize, rows: usize) -> Result<ArrayRef, ArrowError> {
        let run = run as u32;
        arrow_select::take::take(&self.values, &arrow_array::UInt32Array::from_value(run, rows), None)
    }
}

/// Rows of one run, in a file.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub path: PathBuf,
    /// Its row among the labels.
    pub run: usize,
}

#[derive(Clone, Debug)]
enum Rows {
    Files { parts: Arc<Vec<Part>>, labels: Arc<Vec<Label>> },
    Memory(RecordBatch),
}

/// A table of results, as columns.
///
/// polars, pandas, pyarrow and DuckDB accept it directly (`polars.DataFrame(table)`). Rows are read
/// when they are needed. Times are in picoseconds; other columns have their unit in their name.
#[pyclass(frozen, module = "timeplane")]
pub(crate) struct Table {
    name: String,
    schema: SchemaRef,
    rows: Rows,
    /// Keeps a temporary folder alive while the table is used.
    keep: Option<Arc<Py<PyAny>>>,
}

impl Table {
    /// The tables of some runs, one after the other. `schema` is that of the files.
    pub fn files(
        name: &str,
        schema: &Schema,
        parts: Vec<Part>,
        labels: Arc<Vec<Label>>,
        keep: Option<Arc<Py<PyAny>>>,
    ) -> Self {
        let fields: Vec<Field> =
            labels.iter().map(|l| l.field.clone()).chain(schema.fields().iter().map(|f| f.as_ref().clone())).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        Self { name: name.to_owned(), schema, rows: Rows::Files { parts: Arc::new(parts), labels }, keep }
    }

    pub fn memory(name: &str, batch: RecordBatch) -> Self {
        Self { name: name.to_owned(), schema: batch.schema(), rows: Rows::Memory(batch), keep: None }
    }

    /// All rows, of these columns or of all.
    fn reader(&self, column: Option<usize>) -> Box<dyn RecordBatchReader + Send> {
        let project = |schema: &SchemaRef| match column {
            Some(c) => Arc::new(Schema::new(vec![schema.field(c).clone()])),
            None => Arc::clone(schema),
        };
        match &self.rows {
            Rows::Memory(batch) => {
                let batch = column.map_or_else(|| Ok(batch.clone()), |c| batch.project(&[c]));
                Box::new(RecordBatchIterator::new([batch], project(&self.schema)))
            }
            Rows::Files { parts, labels } => Box::new(Chain {
                schema: project(&self.schema),
                parts: Arc::clone(parts),
                labels: Arc::clone(labels),
                column,
                next: 0,
                current: None,
                _keep: self.keep.clone(),
            }),
        }
    }

    fn collect(&self, py: Python<'_>, column: Option<usize>) -> PyResult<Vec<RecordBatch>> {
        let mut reader = self.reader(column);
        py.detach(|| (&mut reader).collect::<Result<Vec<_>, _>>()).map_err(|e| self.broken(py, &e))
    }

    fn broken(&self, py: Python<'_>, e: &ArrowError) -> PyErr {
        error::failed(py, &format!("cannot read the table {}: {e}", self.name), None, None)
    }

    /// The first rows as texts; missing values are empty.
    fn first(&self, most: usize) -> Result<Vec<Vec<String>>, ArrowError> {
        let mut rows = Vec::new();
        for batch in self.reader(None) {
            let batch = batch?;
            let options = FormatOptions::default();
            let columns = batch.columns().iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let take = batch.num_rows().min(most - rows.len());
            rows.extend((0..take).map(|row| columns.iter().map(|c| c.value(row).to_string()).collect()));
            if rows.len() == most {
                break;
            }
        }
        Ok(rows)
    }

    fn count(&self) -> Result<usize, ArrowError> {
        match &self.rows {
            Rows::Memory(batch) => Ok(batch.num_rows()),
            Rows::Files { parts, .. } => parts.iter().try_fold(0, |sum, part| Ok(sum + open(part)?.rows() as usize)),
        }
    }
}

fn open(part: &Part) -> Result<TableFile, ArrowError> {
    let opened = TableFile::open(&part.path);
    opened.map_err(|e| ArrowError::IoError(format!("{}: {e}", part.path.display()), e))?.map_err(|e| broken(part, e))
}

fn broken(part: &Part, reason: impl Display) -> ArrowError {
    ArrowError::ParquetError(format!("{}: {reason}", part.path.display()))
}

/// The files of several runs as one stream.
struct Chain {
    schema: SchemaRef,
    parts: Arc<Vec<Part>>,
    labels: Arc<Vec<Label>>,
    /// The only column to read.
    column: Option<usize>,
    next: usize,
    current: Option<TableRows>,
    _keep: Option<Arc<Py<PyAny>>>,
}

impl Chain {
    /// The rows of a part, of the columns that are not labels. They have the order of the file.
    fn open(&self, part: &Part) -> Result<TableRows, ArrowError> {
        let file = open(part)?;
        let labels = if self.column.is_none() { self.labels.len() } else { 0 };
        let is_label = self.column.is_some_and(|c| c < self.labels.len());
        let fields = if is_label { &[][..] } else { &self.schema.fields()[labels..] };
        let names: Vec<&str> = fields.iter().map(|f| f.name().as_str()).collect();
        let places = file.places(&self.schema, &names).map_err(|e| broken(part, e))?;
        if !places.is_sorted() {
            return Err(broken(part, "its columns are in another order than this version's"));
        }
        file.read(&places, None).map_err(|e| broken(part, e))
    }

    fn label(&self, batch: &RecordBatch, run: usize) -> Result<RecordBatch, ArrowError> {
        let rows = batch.num_rows();
        let wanted = |i: &usize| self.column.is_none_or(|c| c == *i);
        let labels = (0..self.labels.len()).filter(wanted).map(|i| self.labels[i].repeat(run, rows));
        let mut columns = labels.collect::<Result<Vec<_>, _>>()?;
        columns.extend(batch.columns().iter().cloned());
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }

    fn step(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let parts = Arc::clone(&self.parts);
        loop {
            if let Some(rows) = &mut self.current {
                let part = &parts[self.next - 1];
                match rows.next() {
                    Some(batch) => {
                        let batch = batch.map_err(|e| broken(part, e))?;
                        return self.label(&batch, part.run).map(Some).map_err(|e| broken(part, e));
                    }
                    None => self.current = None,
                }
            }
            let Some(part) = parts.get(self.next) else { return Ok(None) };
            self.next += 1;
            self.current = Some(self.open(part)?);
        }
    }
}

impl Iterator for Chain {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // C calls this through the Arrow stream, where a panic would abort Python.
        let step = guarded(|| Ok(self.step())).unwrap_or_else(|e| Err(ArrowError::ParquetError(e)));
        if step.is_err() {
            (self.next, self.current) = (self.parts.len(), None);
        }
        step.transpose()
    }
}

impl RecordBatchReader for Chain {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[pymethods]
impl Table {
    /// Its name: `flows`, `coflows`, ...
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Names of its columns, with their units.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|f| f.name().as_str()).collect()
    }

    /// The meaning of every column by name; empty for columns that name the run.
    #[getter]
    fn descriptions(&self) -> indexmap::IndexMap<&str, &str> {
        self.schema
            .fields()
            .iter()
            .map(|f| (f.name().as_str(), f.metadata().get("description").map_or("", String::as_str)))
            .collect()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.count()).map_err(|e| self.broken(py, &e))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let columns = self.columns().join(", ");
        Ok(printable_line(&format!("<table {}: {} rows of {columns}>", self.name, self.__len__(py)?)).into_owned())
    }

    /// The first rows, for a notebook.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = py.detach(|| self.first(SHOWN)).map_err(|e| self.broken(py, &e))?;
        let columns: Vec<(&str, &str)> = self.descriptions().into_iter().collect();
        py.import("timeplane._html")?.call_method1("table", (&self.name, self.__len__(py)?, columns, rows))
    }

    /// One column as a numpy array: integers, booleans, floats (`nan` where a value is missing) or
    /// texts as objects.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let Ok(index) = self.schema.index_of(column) else {
            let text =
                format!("the table {} has no column `{column}`; it has {}", self.name, self.columns().join(", "));
            return Err(PyKeyError::new_err(text));
        };
        let batches = self.collect(py, Some(index))?;
        let arrays: Vec<&ArrayRef> = batches.iter().map(|b| b.column(0)).collect();
        let missing = arrays.iter().any(|a| a.null_count() > 0);
        let data_type = self.schema.field(index).data_type().clone();
        let as_type = |to: &DataType| -> PyResult<Vec<ArrayRef>> {
            arrays.iter().map(|a| cast(a, to)).collect::<Result<_, _>>().map_err(|e| self.broken(py, &e))
        };
        macro_rules! numbers {
            ($type:ty) => {
                PyArray1::from_vec(
                    py,
                    arrays.iter().flat_map(|a| a.as_primitive::<$type>().values().iter().copied()).collect(),
                )
                .into_any()
            };
        }
        Ok(match data_type {
            DataType::UInt32 if !missing => numbers!(UInt32Type),
            DataType::UInt64 if !missing => numbers!(UInt64Type),
            DataType::Int64 if !missing => numbers!(Int64Type),
            DataType::Float64 if !missing => numbers!(Float64Type),
            DataType::Boolean => {
                let values: Vec<bool> =
                    arrays.iter().flat_map(|a| a.as_boolean().iter().map(|b| b.unwrap_or(false))).collect();
                PyArray1::from_vec(py, values).into_any()
            }
            DataType::UInt32 | DataType::UInt64 | DataType::Int64 | DataType::Float64 => {
                let arrays = as_type(&DataType::Float64)?;
                let values =
                    arrays.iter().flat_map(|a| a.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN)));
                PyArray1::from_vec(py, values.collect()).into_any()
            }
            _ => {
                let arrays = as_type(&DataType::Utf8)?;
                let values: Vec<Option<&str>> = arrays.iter().flat_map(|a| a.as_string::<i32>().iter()).collect();
                py.import("numpy")?.call_method1("array", (values, "object"))?
            }
        })
    }

    /// A stream of the Arrow C data interface, for other libraries.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the requested schema; the consumer then converts.
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(self.reader(None));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema of the Arrow C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(|e| PyValueError::new_err(e.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// As a polars data frame.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "polars", "polars")?.call_method1("DataFrame", (slf,))
    }

    /// As a pyarrow table.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pyarrow", "pandas")?.call_method1("table", (slf,))
    }

    /// As a pandas data frame, made by pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pandas", "pandas")?;
        Self::to_pyarrow(slf)?.call_method0("to_pandas")
    }
}

fn library<'py>(py: Python<'py>, name: &str, extra: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|e| {
        let text = format!("{name} is not installed: pip install 'timeplane[{extra}]'");
        let error = pyo3::exceptions::PyImportError::new_err(text);
        error.set_cause(py, Some(e));
        error
    })
}
