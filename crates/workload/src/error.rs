//! Errors of loading a workload or writing a flow list.
//!
//! Every error names the key or file, the value that was found and what is allowed.

use std::io;
use std::path::PathBuf;

/// A reason why a workload cannot be loaded or a flow list cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The value of a scenario's key does not fit.
    #[error("{key} is {found}: {allowed}")]
    Value {
        /// Dotted key in the scenario.
        key: &'static str,
        /// The value in the scenario.
        found: String,
        /// Description of valid values.
        allowed: String,
    },
    /// A file is neither next to the scenario nor bundled.
    #[error("{key}: there is no file {} and no bundled one named `{name}`{}; bundled: {bundled}", path.display(),
        nearest.as_ref().map(|n| format!(" (is `{n}` meant?)")).unwrap_or_default())]
    Missing {
        /// Dotted key in the scenario.
        key: &'static str,
        /// Name in the scenario.
        name: String,
        /// Path where the file was looked for.
        path: PathBuf,
        /// The most similar bundled name, if there is one.
        nearest: Option<String>,
        /// All bundled names of this kind.
        bundled: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file as a whole is invalid.
    #[error("{file}: {found}: {allowed}")]
    File {
        /// Name of the file.
        file: String,
        /// Text or value in the file.
        found: String,
        /// Description of valid content.
        allowed: String,
    },
    /// A line (in Parquet: a row, counted from 1) is invalid.
    #[error("{file}:{line}: {found}: {allowed}")]
    Line {
        /// Name of the file.
        file: String,
        /// Number of the line, from 1.
        line: u64,
        /// Text or value in the line.
        found: String,
        /// Description of valid lines.
        allowed: String,
    },
    /// A cell of a table is invalid.
    #[error("{file}:{line}: column `{column}` is `{found}`: {allowed}")]
    Cell {
        /// Name of the file.
        file: String,
        /// Number of the line (in Parquet: of the row), from 1.
        line: u64,
        /// Name of the column.
        column: &'static str,
        /// Text or value in the cell.
        found: String,
        /// Description of valid cells.
        allowed: String,
    },
}

/// The first 60 characters of a text, so that a message stays on one line.
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
