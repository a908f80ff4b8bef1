//! All runs of a scenario, whichever driver runs them.
//!
//! A scenario asks for one run for each combination of sweep point, scheme and seed. A [`Driver`]
//! runs one of them: the simulator in virtual time, or a lab in namespaces of this machine.
//! Everything else is the same for all drivers and stands here:
//!
//! - [`PlannedRun`]: the runs and their keys. A run with a known key is never repeated.
//! - [`Experiment`]: prepares points, runs what is missing, stores and compares the results.
//! - [`Costs`]: which run is next, in which batches runs go elsewhere, and how long all still take.
//! - [`Until`] and [`Shard`]: reduce a sweep to the seeds that are needed, or to a share.
//! - [`checks`]: evaluates the `[[check]]` tables of a scenario.
//! - [`Comparison`]: schemes side by side, as text, JSON or CSV.
//! - [`Answer`]: what a command prints of an outcome.
//! - [`ExitCode`]: the exit codes of every command that runs a scenario.
//! - [`say!`]: a message to the user.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod answer;
pub mod checks;
mod comparison;
mod costs;
mod driver;
mod error;
mod exit;
mod experiment;
mod extent;
mod machine;
mod manifest;
#[expect(clippy::disallowed_methods, reason = "it runs several runs at once and waits for them")]
mod parallel;
mod planned;
mod say;
mod sweep;

pub use answer::Answer;
pub use comparison::{Cell, Comparison, ComparisonOptions, Context, Line, SharedTraffic, UNFINISHED_SHARE};
pub use costs::Costs;
pub use driver::{Driver, Prepared, Progress, Pulse, Watch};
pub use error::ExperimentError;
pub use exit::ExitCode;
pub use experiment::{Experiment, Files, Options, Outcome, plan, prepare, run_remote};
pub use extent::Extent;
pub use machine::free_memory;
pub use manifest::VERSION;
pub use parallel::run;
pub use planned::PlannedRun;
pub use sweep::{Shard, Sweep, Until};
pub use timeplane_model::printable;
