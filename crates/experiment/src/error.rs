//! Why an experiment has no outcome.

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
        /// Its scheme.
        scheme: String,
        /// Its seed.
        seed: u64,
        /// Why it failed.
        source: E,
    },
    /// A remote worker would run something else than what was planned.
    #[error(
        "scheme `{scheme}`, seed {seed}: this worker would run something else than planned: expected the same files that \
         the scenario names, and the same version of timeplane"
    )]
    Different {
        /// The scheme.
        scheme: String,
        /// The seed.
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
            Self::Results(_) | Self::Run { .. } | Self::Different { .. } | Self::Threads { .. } => ExitCode::Failed,
        }
    }
}
