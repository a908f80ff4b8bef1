//! Folders of one run for its temporary files, in memory where the system has a place for that.
//!
//! A target writes a file for each input, which a disk would slow down.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder that scratch folders are in.
pub fn scratch_root() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// Replaces a file of a scratch folder.
///
/// # Panics
/// If it cannot be written: no input can be tried then.
pub fn put(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// A folder that is removed when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> io::Result<Self> {
        let path = scratch_root().join(format!("timeplane-fuzzing-{}-{name}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
