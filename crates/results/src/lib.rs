//! Results of runs: tables, summaries, statistics, and the folder that holds them.
//!
//! - [`tables`]: the columns of every table, each declared once.
//! - [`Recorder`]: takes rows during a run and writes them as Parquet, keeps them as Arrow batches,
//!   or drops them.
//! - [`Summarizer`] and [`RunSummary`]: one run in a few numbers, the same on every machine.
//! - [`Store`]: the folder `results/NAME/`, which keeps completed runs, so that only missing runs
//!   have to be run.
//! - [`Folder`] and [`Columns`]: read the completed runs of a folder and their tables.
//! - [`TableFile`]: reads one table, which may be damaged.
//! - [`stats`]: percentiles, intervals, paired differences, equivalence.
//! - [`Metric`]: the numbers of a run by which schemes are compared.
//! - [`pcapng`] and [`timeline`]: write frames for Wireshark and timelines for Perfetto.
//!
//! All files depend on the rows only: they hold no wall-clock time and no host name, and never
//! follow the order of a hash map.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[expect(clippy::disallowed_methods, reason = "it reads results")]
mod digests;
mod distribution;
mod error;
mod footer;
mod guard;
mod human;
#[expect(clippy::disallowed_methods, reason = "it tidies results")]
mod leftovers;
mod metric;
mod page_headers;
pub mod pcapng;
mod perfetto;
#[expect(clippy::disallowed_methods, reason = "it reads results")]
mod reader;
mod recorder;
pub mod stats;
#[expect(clippy::disallowed_methods, reason = "it keeps results")]
mod store;
mod student;
mod summary;
mod table_file;
pub mod tables;
mod thrift;
pub mod timeline;

pub use digests::CheckedRuns;
pub use distribution::{Distribution, LowerBounds};
pub use error::ResultsError;
pub use guard::guarded;
pub use human::{Quantity, show_relative};
pub use metric::{Bound, Metric, Scope};
pub use reader::{Columns, CompleteRun, Folder};
pub use recorder::{ROW_GROUP_ROWS, Recorder, Table, Tables};
pub use store::{FORMAT, Manifest, ManifestRun, PartialRun, RunKeys, Store, place, run_key};
pub use summary::{
    ControlTotals, Counts, RunFacts, RunSummary, Summarizer, Tally, WindowSummary, summary_batch, swept_numbers,
};
pub use table_file::{TableFile, TableRows, check_footer, check_pages};
pub use tables::{
    AirRow, CoflowRow, CollectiveRow, ControlRow, DropRow, FlowRow, LatencyRow, LinkRow, QueueRow, RateRow,
    ReceivedRow, RoundTripsRow, Row, RttRow, SignalRow, SlotRow, StepRow, TcpRow,
};
