//! `completion` and `man`: completion scripts and manual pages, generated from the definition of
//! the command line.

use crate::fail::Failure;
use crate::output;
use clap::Command;
use clap_complete::Shell;
use std::fs;
use std::path::Path;

pub fn completion(mut command: Command, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "timeplane", &mut script);
    output::data(&String::from_utf8_lossy(&script))
}

/// Writes `timeplane.1` and a page for each visible command.
pub fn pages(command: Command, folder: &Path) -> Result<(), Failure> {
    let failed = |e| Failure::failed(format!("cannot write manual pages to {}: {e}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command, folder).map_err(failed)
}
