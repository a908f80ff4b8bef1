//! `completion` and `man`: what shells and readers know of the command line, from its definition.

use crate::fail::Failure;
use crate::output;
use clap::Command;
use clap_complete::Shell;
use std::fs;
use std::path::Path;

/// Prints the script of a shell.
pub fn completion(mut command: Command, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "timeplane", &mut script);
    output::text(&String::from_utf8_lossy(&script))
}

/// Writes `timeplane.1` and a page for each command that is not hidden.
pub fn pages(command: Command, folder: &Path) -> Result<(), Failure> {
    let failed = |e| Failure::failed(format!("{}: manual pages cannot be written: {e}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command, folder).map_err(failed)
}
