//! Writes rows to tables: Parquet files, Arrow batches in memory, or nothing. The same rows give
//! the same bytes.

use crate::error::ResultsError;
use crate::tables::{
    AirRow, CoflowRow, CollectiveRow, ControlRow, DropRow, FlowRow, LatencyRow, LinkRow, QueueRow, RateRow,
    ReceivedRow, RoundTripsRow, Row, RttRow, SignalRow, SlotRow, StepRow, TcpRow,
};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Rows of a Parquet row group and of an Arrow batch; the last one of a table has fewer.
pub const ROW_GROUP_ROWS: usize = 65_536;

/// Properties that make a file a function of its rows.
pub(crate) fn writer_properties(schema: &Schema) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by("timeplane".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
    for field in schema.fields() {
        // Times, byte counts and numbers hardly ever repeat: differences are short, a dictionary is
        // not.
        if field.data_type().is_integer() {
            let column = ColumnPath::from(field.name().as_str());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

enum Sink {
    Discard,
    Memory(Vec<RecordBatch>),
    File(PathBuf, Box<ArrowWriter<File>>),
}

/// The rows of a table that are not yet written, and their destination.
struct Buffer<R> {
    rows: Vec<R>,
    written: u64,
    sink: Sink,
}

impl<R: Row> Buffer<R> {
    const fn new(sink: Sink) -> Self {
        Self { rows: Vec::new(), written: 0, sink }
    }

    fn create(dir: &Path) -> Result<Self, ResultsError> {
        let path = dir.join(R::TABLE).with_extension("parquet");
        let file = File::create(&path).map_err(|e| ResultsError::io("create", &path, e))?;
        let schema = R::schema();
        let properties = writer_properties(&schema);
        let writer =
            ArrowWriter::try_new(file, schema, Some(properties)).map_err(|e| ResultsError::parquet(&path, e))?;
        Ok(Self::new(Sink::File(path, Box::new(writer))))
    }

    #[inline]
    fn push(&mut self, row: &R, error: &mut Option<ResultsError>) {
        if matches!(self.sink, Sink::Discard) {
            return;
        }
        self.rows.push(*row);
        if self.rows.len() == ROW_GROUP_ROWS {
            self.write(error);
        }
    }

    /// Writes the buffered rows as one row group. After an error this table takes no more rows.
    #[cold]
    fn write(&mut self, error: &mut Option<ResultsError>) {
        self.written += self.rows.len() as u64;
        match &mut self.sink {
            Sink::Discard => {}
            Sink::Memory(batches) => batches.push(R::batch(&self.rows)),
            Sink::File(path, writer) => {
                let written = writer.write(&R::batch(&self.rows)).and_then(|()| writer.flush());
                if let Err(e) = written {
                    error.get_or_insert(ResultsError::parquet(path, e));
                    self.sink = Sink::Discard;
                }
            }
        }
        self.rows.clear();
    }

    fn finish(mut self, error: &mut Option<ResultsError>) -> Table {
        if !self.rows.is_empty() {
            self.write(error);
        }
        let mut table =
            Table { name: R::TABLE, rows: self.written, schema: R::schema(), batches: Vec::new(), path: None };
        match self.sink {
            Sink::Discard => {}
            Sink::Memory(batches) => table.batches = batches,
            Sink::File(path, writer) => {
                if let Err(e) = writer.close() {
                    error.get_or_insert(ResultsError::parquet(&path, e));
                }
                table.path = Some(path);
            }
        }
        table
    }
}

macro_rules! recorder {
    ($($(#[doc = $doc:literal])+ $name:ident($row:ty) -> $table:ident;)+) => {
        /// Records the rows of one run.
        ///
        /// Rows are written in groups of [`ROW_GROUP_ROWS`], so that a run of any length needs
        /// about 6 MB of memory per table. Recording returns no errors: the first one is
        /// remembered, [`failed`](Self::failed) reports it and [`finish`](Self::finish) returns it.
        /// The files are complete only after `finish`. They depend only on the rows and their
        /// order.
        pub struct Recorder {
            $($table: Buffer<$row>,)+
            error: Option<ResultsError>,
        }

        impl Recorder {
            /// Discards all rows.
            pub const fn discard() -> Self {
                Self { $($table: Buffer::new(Sink::Discard),)+ error: None }
            }

            /// Keeps all rows in memory; `finish` returns them as Arrow batches.
            pub const fn memory() -> Self {
                Self { $($table: Buffer::new(Sink::Memory(Vec::new())),)+ error: None }
            }

            /// Writes one Parquet file per table to the existing folder `dir`: `flows.parquet`,
            /// `coflows.parquet`, ... A table without rows has a file without rows. Existing files
            /// are replaced.
            ///
            /// # Errors
            /// If a file cannot be created.
            pub fn files(dir: &Path) -> Result<Self, ResultsError> {
                Ok(Self { $($table: Buffer::create(dir)?,)+ error: None })
            }

            $(
                $(#[doc = $doc])+
                #[inline]
                pub fn $name(&mut self, row: &$row) {
                    self.$table.push(row, &mut self.error);
                }
            )+

            /// Writes the remaining rows and closes the files.
            ///
            /// # Errors
            /// The first error of the run. The files are incomplete then.
            pub fn finish(self) -> Result<Tables, ResultsError> {
                let mut error = self.error;
                let tables = vec![$(self.$table.finish(&mut error),)+];
                match error {
                    Some(error) => Err(error),
                    None => Ok(Tables { tables }),
                }
            }
        }
    };
}

recorder! {
    /// Records a flow.
    flow(FlowRow) -> flows;
    /// Records a coflow.
    coflow(CoflowRow) -> coflows;
    /// Records a step.
    step(StepRow) -> steps;
    /// Records a collective.
    collective(CollectiveRow) -> collectives;
    /// Records a sample of a queue.
    queue(QueueRow) -> queues;
    /// Records what a host has received since the previous sample.
    received(ReceivedRow) -> received;
    /// Records a sample of a TCP sender.
    tcp(TcpRow) -> tcp;
    /// Records the new state of an air link.
    air(AirRow) -> air;
    /// Records the drops of a link for one reason.
    drop(DropRow) -> drops;
    /// Records the control messages of a kind and sender.
    control(ControlRow) -> control;
    /// Records a planned transmission.
    slot(SlotRow) -> slots;
    /// Records the new rate of a pair.
    rate(RateRow) -> rates;
    /// Records what a control frame does to a gate.
    signal(SignalRow) -> signals;
    /// Records the counters of a link.
    link(LinkRow) -> links;
    /// Records packets of one latency.
    latency(LatencyRow) -> latency;
    /// Records segments of one round-trip time.
    rtt(RttRow) -> rtt;
    /// Records measurements of one round-trip time by one reading.
    round_trips(RoundTripsRow) -> round_trips;
}

impl Recorder {
    /// Starts again: discards all rows and empties the files.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn again(self) -> Result<Self, ResultsError> {
        match self.flows.sink {
            Sink::Discard => Ok(Self::discard()),
            Sink::Memory(_) => Ok(Self::memory()),
            Sink::File(path, _) => Self::files(path.parent().unwrap_or(Path::new("."))),
        }
    }

    /// The folder that tables are written to, if any.
    pub fn folder(&self) -> Option<&Path> {
        match &self.flows.sink {
            Sink::File(path, _) => path.parent(),
            Sink::Discard | Sink::Memory(_) => None,
        }
    }

    /// Whether a row group could not be written. The run should end soon: [`finish`](Self::finish)
    /// returns the error.
    #[inline]
    pub const fn failed(&self) -> bool {
        self.error.is_some()
    }
}

/// One table of a finished run.
#[derive(Clone, Debug)]
pub struct Table {
    /// As in [`crate::tables`]: `flows`, `coflows`, `queues`, ...
    pub name: &'static str,
    /// The number of rows; 0 if they were discarded.
    pub rows: u64,
    /// Columns.
    pub schema: SchemaRef,
    /// The rows, if they were kept in memory.
    pub batches: Vec<RecordBatch>,
    /// The file, if they were written.
    pub path: Option<PathBuf>,
}

/// All tables of a finished run.
#[derive(Clone, Debug)]
pub struct Tables {
    tables: Vec<Table>,
}

impl Tables {
    /// The table of this name.
    pub fn get(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name == name)
    }
    /// All tables, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter()
    }
}
