//! Errors that leave an experiment without an outcome. Each has the exit code of the command that
//! ends with it.

use crate::exit::ExitCode;
use timeplane_model::FabricError;
use timeplane_results::ResultsError;
use timeplane_scenario::ScenarioError;
use timeplane_workload::WorkloadError;

/// Why an experiment has no outcome. Completed runs are kept. `E` is the driver's error.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError<E: std::error::Error + 'static> {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Its workload is invalid.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// Its fabric is invalid.
    #[error("fabric: {0}")]
    Fabric(#[from] FabricError),
    /// The driver does not support the scenario.
    #[error(transparent)]
    Rejected(E),
    /// Results cannot be read or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A run failed.
    #[error("scheme `{scheme}`, seed {seed}: {source}")]
    Run {
        /// The scheme of the failed run.
        scheme: String,
        /// The seed of the failed run.
        seed: u64,
        /// The driver's error.
        source: E,
    },
    /// A panic ended a run. Other runs continue, and are kept.
    #[error(
        "scenario `{scenario}`, scheme `{scheme}`, seed {seed}: a fault in timeplane ended the run: {message}; other \
         runs are kept"
    )]
    Fault {
        /// The scenario's name.
        scenario: String,
        /// The scheme of the run.
        scheme: String,
        /// The seed of the run.
        seed: u64,
        /// The message of the panic.
        message: String,
    },
    /// A remote worker has other files or another version than the process that planned the run.
    #[error(
        "scheme `{scheme}`, seed {seed}: this worker would run something else than planned: expected the same files that \
         the scenario names, and the same version of timeplane"
    )]
    Different {
        /// The scheme of the planned run.
        scheme: String,
        /// The seed of the planned run.
        seed: u64,
    },
    /// The threads cannot be started.
    #[error("cannot start {jobs} threads: {reason}")]
    Threads {
        /// The requested number.
        jobs: usize,
        /// The system's message.
        reason: String,
    },
}

impl<E: std::error::Error + 'static> ExperimentError<E> {
    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Scenario(_) | Self::Workload(_) | Self::Fabric(_) | Self::Rejected(_) => ExitCode::Configuration,
            Self::Results(_)
            | Self::Run { .. }
            | Self::Fault { .. }
            | Self::Different { .. }
            | Self::Threads { .. } => ExitCode::Failed,
        }
    }
}
