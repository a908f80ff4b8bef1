//! Errors of reports: unreadable results, no completed run, or a page that cannot be written. The
//! command `report` prints them.

use std::io;
use std::path::PathBuf;
use timeplane_results::ResultsError;

/// Why a page cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Results cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// No folder has a completed run.
    #[error("there is nothing to report: no run of {folders} is complete. Run the scenario with `timeplane run` first")]
    Nothing {
        /// Their names, joined by "and".
        folders: String,
    },
    /// Results without digests have numbers that no run can have.
    #[error("results without digests: {reason}. Run the scenario again")]
    Damaged {
        /// What was found, as part of a sentence.
        reason: String,
    },
    /// The page cannot be written.
    #[error("cannot write {}: {source}. A previous page is unchanged", path.display())]
    Write {
        /// Path of the page.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
}
