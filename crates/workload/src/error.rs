//! What keeps a workload from being loaded.

use std::io;
use std::path::PathBuf;

/// Why a workload cannot be loaded or a flow list not be written: which file, where in it, what was
/// found and what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A key of the scenario has a value that does not fit.
    #[error("{key} is {found}: {allowed}")]
    Value {
        /// The key in the scenario, dotted.
        key: &'static str,
        /// Its value.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A file is neither beside the scenario nor bundled.
    #[error("{key}: there is no file {} and no bundled one named `{name}`{}; bundled: {bundled}", path.display(),
        nearest.as_ref().map(|n| format!(" (is `{n}` meant?)")).unwrap_or_default())]
    Missing {
        /// The key in the scenario, dotted.
        key: &'static str,
        /// What the scenario names.
        name: String,
        /// Where a file was looked for.
        path: PathBuf,
        /// The bundled name that is most like it, where one is.
        nearest: Option<String>,
        /// All bundled names that fit here.
        bundled: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file as a whole is not what it must be.
    #[error("{file}: {found}: {allowed}")]
    File {
        /// The file.
        file: String,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A line (in Parquet: a row, counted from 1) is not what it must be.
    #[error("{file}:{line}: {found}: {allowed}")]
    Line {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// A cell of a table is not what it must be.
    #[error("{file}:{line}: column `{column}` is `{found}`: {allowed}")]
    Cell {
        /// The file.
        file: String,
        /// The line (in Parquet: the row), counted from 1.
        line: u64,
        /// The column's name.
        column: &'static str,
        /// What was found.
        found: String,
        /// What is allowed.
        allowed: String,
    },
}

/// At most 60 characters of what was found, so that a message stays a line.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Bytes of a file as text for a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    shorten(&String::from_utf8_lossy(&bytes[..bytes.len().min(300)]))
}
