//! The corpus: one folder for each target, with a file for each input that a parser once failed at.
//!
//! A file's name is the hash of its content.

use crate::digest;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The inputs of a folder with their paths, by name. A missing folder is empty.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|e| Ok(e?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(|path| Ok((path.clone(), fs::read(&path)?))).collect()
}

/// Keeps an input and returns its path.
pub(crate) fn keep(folder: &Path, input: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{:016x}", digest::of(input)));
    fs::write(&path, input)?;
    Ok(path)
}
