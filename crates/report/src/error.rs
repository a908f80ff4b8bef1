//! What can go wrong, in words for the person at the keyboard.

use std::io;
use std::path::PathBuf;
use timeplane_results::ResultsError;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The results.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// None of the folders has a complete run.
    #[error("there is nothing to report: no run of {folders} is complete. `timeplane run` goes on where it was")]
    Nothing {
        /// The folders.
        folders: String,
    },
    /// The page cannot be written.
    #[error("cannot write {}: {source}. What was there before is as it was", path.display())]
    Write {
        /// The page.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
