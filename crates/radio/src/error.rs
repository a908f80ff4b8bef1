//! Errors in files, with their place.
//!
//! Messages have the form `<place>: <found>: <expected>`.

/// An error in a file: its place, what was found and what is expected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file as a whole is invalid.
    #[error("{file}: {found}: {allowed}")]
    File {
        /// Name of the file.
        file: String,
        /// Text or value in the file.
        found: String,
        /// Description of valid content.
        allowed: String,
    },
    /// A line is invalid.
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
        /// Number of the line, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// Text or value in the cell.
        found: String,
        /// Description of valid cells.
        allowed: String,
    },
}

impl InputError {
    pub(crate) fn file(file: &str, found: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self::File { file: file.to_owned(), found: found.into(), allowed: allowed.into() }
    }
    pub(crate) fn line(file: &str, line: u64, found: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self::Line { file: file.to_owned(), line, found: found.into(), allowed: allowed.into() }
    }
}

/// A number for a message.
pub(crate) fn shown(x: f64) -> String {
    shorten(&x.to_string())
}

/// The first 60 characters of `text`, to keep a message on one line.
pub(crate) fn shorten(text: &str) -> String {
    let text = text.trim();
    let line: String = text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(60).is_some() { line + "…" } else { line }
}
