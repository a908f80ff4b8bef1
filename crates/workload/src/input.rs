//! Input files: found next to the scenario or bundled, and read once.
//!
//! Their names and hashes are recorded in the results.

use crate::bundled::{BUNDLED, BundledKind};
use crate::error::WorkloadError;
use crate::source::InputFile;
use std::borrow::Cow;
use std::path::Path;
use timeplane_model::nearest;

/// Content and name of a file.
pub(crate) struct Input {
    /// Name for messages.
    pub file: String,
    pub bytes: Cow<'static, [u8]>,
}

impl Input {
    /// Opens the file `name`: a bundled one of this kind if there is one of that name, otherwise
    /// the file next to the scenario.
    ///
    /// A name with a path separator (`./websearch`) never is a bundled one.
    pub(crate) fn open(
        key: &'static str,
        name: &str,
        base: &Path,
        kind: Option<BundledKind>,
    ) -> Result<Self, WorkloadError> {
        let fitting = || BUNDLED.iter().filter(|b| Some(b.kind) == kind);
        if let Some(b) = fitting().find(|b| b.name == name) {
            return Ok(Self { file: format!("{} (bundled)", b.file), bytes: Cow::Borrowed(b.text.as_bytes()) });
        }
        let path = base.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Self { file: path.display().to_string(), bytes: Cow::Owned(bytes) }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && kind.is_some() => {
                let nearest = nearest(name, fitting().map(|b| b.name));
                let bundled: Vec<_> = fitting().map(|b| b.name).collect();
                Err(WorkloadError::Missing { key, name: name.to_owned(), path, nearest, bundled: bundled.join(", ") })
            }
            Err(source) => Err(WorkloadError::Read { path, source }),
        }
    }

    /// Name and hash of the file, for the manifest.
    pub(crate) fn record(&self) -> InputFile {
        InputFile { file: self.file.clone(), blake3: blake3::hash(&self.bytes).to_hex().to_string() }
    }

    /// Its content as text.
    pub(crate) fn text(&self) -> Result<&str, WorkloadError> {
        let text = std::str::from_utf8(&self.bytes).map_err(|e| WorkloadError::Line {
            file: self.file.clone(),
            line: 1 + self.bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count() as u64,
            found: "bytes that are no UTF-8 text".to_owned(),
            allowed: "the file must be plain text".to_owned(),
        })?;
        Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    pub(crate) fn line_error(&self, line: u64, found: impl Into<String>, allowed: impl Into<String>) -> WorkloadError {
        WorkloadError::Line { file: self.file.clone(), line, found: found.into(), allowed: allowed.into() }
    }

    pub(crate) fn cell_error(
        &self,
        line: u64,
        column: &'static str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> WorkloadError {
        WorkloadError::Cell { file: self.file.clone(), line, column, found: found.into(), allowed: allowed.into() }
    }

    pub(crate) fn file_error(&self, found: impl Into<String>, allowed: impl Into<String>) -> WorkloadError {
        WorkloadError::File { file: self.file.clone(), found: found.into(), allowed: allowed.into() }
    }
}
