//! What happened in a run, and what it means.
//!
//! - [`tables`]: the columns of every table, each declared once.
//! - [`Recorder`]: takes rows as the run goes and writes them as Parquet, keeps them as Arrow
//!   batches, or drops them.
//! - [`Summarizer`] and [`RunSummary`]: one run in a few numbers, the same on any machine.
//! - [`Store`]: `results/NAME/`, where complete runs are kept and only missing ones have to be run.
//! - [`Folder`] and [`Columns`]: what is complete, and its tables, to be read.
//! - [`stats`]: percentiles, intervals, paired differences, equivalence.
//! - [`Metric`]: the numbers of a run that schemes are compared by.
//! - [`pcapng`] and [`timeline`]: what happened in the formats of Wireshark and Perfetto.
//!
//! Everything written is a function of the rows: no wall-clock time, no host name, no order of a
//! hash map.

mod error;
mod human;
mod metric;
pub mod pcapng;
mod perfetto;
mod reader;
mod recorder;
pub mod stats;
mod store;
mod summary;
pub mod tables;
pub mod timeline;

pub use error::ResultsError;
pub use human::{Quantity, show_relative};
pub use metric::{Bound, Metric, Scope};
pub use reader::{Columns, CompleteRun, Folder};
pub use recorder::{ROW_GROUP_ROWS, Recorder, Table, Tables};
pub use store::{FORMAT, Manifest, ManifestRun, PartialRun, Store, place, run_key};
pub use summary::{
    ControlTotals, Counts, Distribution, RunFacts, RunSummary, Summarizer, Tally, WindowSummary, summary_batch,
};
pub use tables::{
    AirRow, CoflowRow, CollectiveRow, ControlRow, DropRow, FlowRow, LatencyRow, LinkRow, QueueRow, RateRow,
    ReceivedRow, Row, RttRow, SlotRow, StepRow, TcpRow,
};
