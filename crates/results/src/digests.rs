//! Digests of a run's files, by which damage is noticed.
//!
//! ```text
//! {
//!   ...                                       the numbers of the summary
//!   "run": "2f1c...",                         the key of the run
//!   "files": {
//!     "flows.parquet": { "bytes": 4711, "blake3": "9e1d..." },
//!     ...
//!   },
//!   "digest": "77ab..."
//! }
//! ```
//!
//! `summary.json` names every other file of the run, with its length and its BLAKE3 digest. Its own
//! digest is that of its bytes without the last field: the file with the field's line, and the
//! comma before it, taken out. So every flipped bit, edited number and missing file is noticed. A
//! digest is no signature: whoever can write the files can also write their digests.

use crate::error::ResultsError;
use crate::store::SUMMARY;
use crate::summary::RunSummary;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Before and after the digest of a summary, which ends the file.
const BEFORE: &str = ",\n  \"digest\": \"";
const AFTER: &str = "\"\n}\n";
/// How the file ends without its digest.
const END: &str = "\n}\n";
/// Hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// Length and digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileDigest {
    bytes: u64,
    blake3: String,
}

impl FileDigest {
    pub fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, blake3: blake3::hash(bytes).to_hex().to_string() }
    }

    fn of_file(path: &Path) -> io::Result<Self> {
        let mut hash = blake3::Hasher::new();
        hash.update_reader(File::open(path)?)?;
        Ok(Self { bytes: hash.count(), blake3: hash.finalize().to_hex().to_string() })
    }

    /// How a file with this digest differs from the `expected` one; `None` if it does not.
    pub fn differs(&self, expected: &Self) -> Option<String> {
        if self.bytes != expected.bytes {
            return Some(format!("it has {} bytes: expected {}, as {SUMMARY} says", self.bytes, expected.bytes));
        }
        let (found, wanted) = (self.short(), expected.short());
        (self != expected).then(|| format!("its digest is {found}: expected {wanted}, as {SUMMARY} says"))
    }

    /// Enough digits to tell digests apart in a message.
    fn short(&self) -> &str {
        self.blake3.get(..16).unwrap_or(&self.blake3)
    }
}

/// The digests of a run's files, by name.
pub(crate) type Files = BTreeMap<String, FileDigest>;

/// What `summary.json` has besides the numbers of the run.
#[derive(Debug, Default, Deserialize, Serialize)]
struct About {
    /// The key of the run; empty in layouts without digests.
    #[serde(default)]
    run: String,
    #[serde(default)]
    files: Files,
}

/// The text of `summary.json`.
pub(crate) fn seal(summary: &RunSummary, run: &str, files: Files) -> Vec<u8> {
    #[derive(Serialize)]
    struct Whole<'a> {
        #[serde(flatten)]
        summary: &'a RunSummary,
        #[serde(flatten)]
        about: About,
    }
    let whole = Whole { summary, about: About { run: run.to_owned(), files } };
    let mut text = serde_json::to_vec_pretty(&whole).expect("string keys and finite numbers");
    text.push(b'\n');
    let digest = blake3::hash(&text).to_hex();
    text.truncate(text.len() - END.len());
    text.extend([BEFORE, digest.as_str(), AFTER].concat().bytes());
    text
}

/// A summary as it is stored.
pub(crate) struct Sealed {
    pub summary: RunSummary,
    pub run: String,
    pub files: Files,
    /// Whether the file has a digest.
    pub digest: bool,
}

/// Takes `summary.json` apart and checks its digest, if it has one. The error is part of a
/// sentence.
pub(crate) fn unseal(text: &[u8]) -> Result<Sealed, String> {
    let tail = text.len().checked_sub(BEFORE.len() + DIGITS + AFTER.len());
    let parts = tail.and_then(|at| {
        let (body, tail) = text.split_at(at);
        Some((body, tail.strip_prefix(BEFORE.as_bytes())?.strip_suffix(AFTER.as_bytes())?))
    });
    if let Some((body, stated)) = parts {
        let found = blake3::Hasher::new().update(body).update(END.as_bytes()).finalize().to_hex();
        if found.as_bytes() != stated {
            let stated = String::from_utf8_lossy(&stated[..16]);
            return Err(format!("its digest is {}: expected {stated}, as its last line says", &found[..16]));
        }
    }
    let summary = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    let About { run, files } = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    Ok(Sealed { summary, run, files, digest: parts.is_some() })
}

/// Length and digest of each file in a run's folder, without the summary.
pub(crate) fn of_files(dir: &Path) -> Result<Files, ResultsError> {
    let error = |e| ResultsError::io("read", dir, e);
    let mut files = Files::new();
    for entry in fs::read_dir(dir).map_err(error)? {
        let path = entry.map_err(error)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name != SUMMARY {
            files.insert(name, FileDigest::of_file(&path).map_err(|e| ResultsError::io("read", &path, e))?);
        }
    }
    Ok(files)
}

/// Reads the summary of the run `key` in a folder, and checks the digest of the summary. Runs of
/// layouts without digests have none if `required` is false.
pub(crate) fn read_summary(dir: &Path, key: &str, required: bool) -> Result<Sealed, ResultsError> {
    let path = dir.join(SUMMARY);
    let damaged = |reason: String| ResultsError::BrokenRun { path: path.clone(), reason };
    let text = match fs::read(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound && dir.is_dir() => {
            return Err(damaged("it is missing".to_owned()));
        }
        text => text.map_err(|e| ResultsError::io("read", &path, e))?,
    };
    let sealed = unseal(&text).map_err(damaged)?;
    if required && !sealed.digest {
        return Err(damaged("it has no digest: expected one in its last line".to_owned()));
    }
    if sealed.digest && sealed.run != key {
        return Err(damaged(format!("it is the summary of the run {}: expected that of {key}", sealed.run)));
    }
    Ok(sealed)
}

/// Reads the summary of the run `key` in a folder, and checks the digests of all its files. Files
/// that the summary does not name are not of the run.
pub(crate) fn verify(dir: &Path, key: &str, required: bool) -> Result<RunSummary, ResultsError> {
    let sealed = read_summary(dir, key, required)?;
    for (name, expected) in &sealed.files {
        let path = dir.join(name);
        let damaged = |reason: String| ResultsError::BrokenRun { path: path.clone(), reason };
        // Its length is known without reading it.
        let length = match fs::metadata(&path) {
            Ok(about) if !about.is_file() => return Err(damaged("it is not a file".to_owned())),
            Ok(about) => about.len(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(damaged("it is missing".to_owned())),
            Err(e) => return Err(ResultsError::io("read", &path, e)),
        };
        let found = if length == expected.bytes {
            FileDigest::of_file(&path).map_err(|e| ResultsError::io("read", &path, e))?
        } else {
            FileDigest { bytes: length, blake3: String::new() }
        };
        if let Some(reason) = found.differs(expected) {
            return Err(damaged(reason));
        }
    }
    Ok(sealed.summary)
}

/// Runs of a results folder whose files this process has checked or written: their digests are not
/// computed again. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct CheckedRuns(Arc<Mutex<BTreeSet<String>>>);

impl CheckedRuns {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    pub(crate) fn add(&self, key: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
    }

    pub(crate) fn remove(&self, key: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Reads the summary of a run, and checks its files unless they have been checked before.
    pub(crate) fn verify(&self, dir: &Path, key: &str, required: bool) -> Result<RunSummary, ResultsError> {
        if self.has(key) {
            return Ok(read_summary(dir, key, required)?.summary);
        }
        let summary = verify(dir, key, required)?;
        self.add(key);
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{RunFacts, Summarizer};

    #[test]
    fn every_changed_byte_of_a_summary_is_noticed() {
        let summary = Summarizer::new().finish(RunFacts { scheme: "tcp".into(), seed: 3, ..RunFacts::default() });
        let files = Files::from([("flows.parquet".to_owned(), FileDigest::of(b"rows"))]);
        let text = seal(&summary, "00000000000000aa", files.clone());
        let read = unseal(&text).unwrap();
        assert_eq!((&read.summary, &*read.run, &read.files), (&summary, "00000000000000aa", &files));
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut damaged = text.clone();
                damaged[at] ^= 1 << bit;
                // A flip around the digest makes a file that has none, which readers refuse.
                assert!(unseal(&damaged).is_ok_and(|s| s.digest).eq(&false), "byte {at}, bit {bit}");
            }
        }
        // What the module's text says.
        let whole = String::from_utf8(text).unwrap();
        let (body, digest) = whole.rsplit_once(",\n  \"digest\": \"").unwrap();
        assert_eq!(digest, format!("{}\"\n}}\n", blake3::hash(format!("{body}\n}}\n").as_bytes()).to_hex()));
    }
}
