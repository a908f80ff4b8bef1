//! Temporary folders for tests.
//!
//! They are removed when dropped.

use std::path::{Path, PathBuf};

/// A folder for one test, removed when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// An empty folder.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tp-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder of its own");
        Self(path)
    }
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
