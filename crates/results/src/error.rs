//! Errors of reading and writing results folders and their tables. Each message says what was found
//! and what to do about it.

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
    /// Any other error of the file system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted operation: "create", "write", ...
        action: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A Parquet file cannot be written, for a reason other than the file system.
    #[error("cannot write the table {}: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The library's error.
        reason: String,
    },
    /// The results folder exists and holds other files.
    #[error(
        "{} is not a results folder: it contains {found}. Choose another name for the results, or move it away",
        path.display()
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// A file in it that is not part of results.
        found: String,
    },
    /// Another process has locked the folder for writing.
    #[error(
        "{} is in use by another run{holder}. Wait until it is done, or choose another name for the results",
        path.display()
    )]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The other process, if it is known: " (process 123)".
        holder: String,
    },
    /// The folder was written by a version with another layout.
    #[error(
        "{} has results of layout {found}: expected layout {known}. Use the version of timeplane that wrote \
         them, or choose another name", path.display()
    )]
    Format {
        /// The folder.
        path: PathBuf,
        /// Number of the folder's layout.
        found: String,
        /// Number of this version's layout.
        known: u32,
    },
    /// A file is not valid.
    #[error("cannot read {}: {reason}. Remove it to write it again", path.display())]
    Broken {
        /// The file, or the folder of a run.
        path: PathBuf,
        /// The cause, as part of a sentence.
        reason: String,
    },
    /// The folder has no manifest, or does not exist.
    #[error("{} is not a results folder: it has no manifest.json", path.display())]
    NoResults {
        /// The folder.
        path: PathBuf,
    },
    /// A file of a complete run is damaged: missing, truncated, or changed after the run.
    #[error(
        "damaged run: {}: {reason}. To make it anew, run the scenario again: {}", path.display(), command(path)
    )]
    BrokenRun {
        /// The file, in the folder of its run.
        path: PathBuf,
        /// The cause, as part of a sentence.
        reason: String,
    },
    /// A table has other columns than in this version.
    #[error("{}: {reason}. Use the version that wrote it, or run the scenario again", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column, its type in the file and its declared type.
        reason: String,
    },
    /// The name of a scenario is not the name of a folder.
    #[error(
        "invalid name of a results folder `{name}`: expected letters, digits, `.`, `_` and `-`, not starting with `.`"
    )]
    Name {
        /// The invalid name.
        name: String,
    },
}

/// The command that repeats a damaged run, by a file of it: `ROOT/NAME/runs/KEY/FILE`.
fn command(file: &Path) -> String {
    let name = file.ancestors().nth(3).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let root = file.ancestors().nth(4).filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Results of a lab have its suffix; scenarios are named after their files.
    let (command, name) = match name.strip_suffix("-live") {
        Some(name) => ("timeplane live lab", name),
        None => ("timeplane run", &*name),
    };
    format!("`{command} {name}.toml --results {}`", root.display())
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

    /// The file of a damaged run and what is wrong with it; the whole message of any other error.
    pub fn damage(&self) -> String {
        match self {
            Self::BrokenRun { path, reason } => format!("{}: {reason}", path.display()),
            other => other.to_string(),
        }
    }

    /// Whether the cause is a full disk or quota. If so, no later run of the same command can
    /// succeed.
    pub const fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull { .. })
    }
}
