//! Errors of results, each with what to do about it.

use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};

/// Why results cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The disk is full, or a quota is used up.
    #[error(
        "no space left to write {}. Completed runs are kept: free some space and run the same command again to \
         continue", path.display()
    )]
    DiskFull {
        /// What was being written.
        path: PathBuf,
    },
    /// Any other failure of the file system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "create", "write", ...
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A Parquet file that cannot be written, for a reason other than the file system.
    #[error("cannot write the table {}: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What the library says.
        reason: String,
    },
    /// The folder of results exists and holds something else.
    #[error(
        "{} is not a results folder: it contains {found}. Choose another name for the results, or move it away",
        path.display()
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        found: String,
    },
    /// Another process writes to the same folder.
    #[error(
        "{} is in use by another run{holder}. Wait until it is done, or choose another name for the results",
        path.display()
    )]
    Busy {
        /// The folder.
        path: PathBuf,
        /// Who, where that is known: " (process 123)".
        holder: String,
    },
    /// Written by a version with another layout.
    #[error(
        "{} has results of layout {found}: expected layout {known}. Use the version of timeplane that wrote \
         them, or choose another name", path.display()
    )]
    Format {
        /// The folder.
        path: PathBuf,
        /// Its layout.
        found: String,
        /// Ours.
        known: u32,
    },
    /// A file that cannot be understood.
    #[error("cannot read {}: {reason}. Remove it to write it again", path.display())]
    Broken {
        /// The file, or the folder of a run.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A folder without a manifest, or none at all.
    #[error("{} is not a results folder: it has no manifest.json", path.display())]
    NoResults {
        /// The folder.
        path: PathBuf,
    },
    /// A file of a complete run that cannot be understood: cut off, or changed since.
    #[error(
        "cannot read {}: {reason}. Remove the folder {} and run the same command again to repeat this run",
        path.display(), path.parent().unwrap_or(path).display()
    )]
    BrokenRun {
        /// The file, in the folder of its run.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A table with other columns than this version knows.
    #[error("{}: {reason}. Use the version that wrote it, or run the scenario again", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// Which column, its type here and as declared.
        reason: String,
    },
    /// A name that is not one folder.
    #[error(
        "invalid name of a results folder `{name}`: expected letters, digits, `.`, `_` and `-`, not starting with `.`"
    )]
    Name {
        /// What was found.
        name: String,
    },
}

impl ResultsError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path: path.to_owned() },
            _ => Self::Io { action, path: path.to_owned(), source },
        }
    }

    pub(crate) fn parquet(path: &Path, error: ParquetError) -> Self {
        if let ParquetError::External(inner) = error {
            return match inner.downcast::<io::Error>() {
                Ok(source) => Self::io("write", path, *source),
                Err(other) => Self::Table { path: path.to_owned(), reason: other.to_string() },
            };
        }
        Self::Table { path: path.to_owned(), reason: error.to_string() }
    }

    /// Whether the cause is a full disk or quota: no later run of the same command can succeed
    /// either.
    pub const fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull { .. })
    }
}
