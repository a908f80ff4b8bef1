//! `timeplane live`: starts `timeplane-lab` or `timeplane-live`. They are separate programs because
//! only they need Linux, clang and libelf.

use crate::LiveArgs;
use crate::fail::Failure;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program with all commands, and the one with the daemons only.
const PROGRAMS: [&str; 2] = ["timeplane-lab", "timeplane-live"];

/// The first of the programs that lies next to this one or in `PATH`.
pub fn program() -> PathBuf {
    let own = std::env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = own.into_iter().chain(std::env::split_paths(&path)).collect();
    let found = |program: &str| folders.iter().map(|f| f.join(program)).find(|file| file.is_file());
    PROGRAMS.iter().find_map(|program| found(program)).unwrap_or_else(|| PathBuf::from(PROGRAMS[0]))
}

/// Replaces this process by the program.
pub fn live(args: &LiveArgs) -> Result<(), Failure> {
    let program = program();
    match exec(Command::new(&program).args(&args.arguments)) {
        e if e.kind() == io::ErrorKind::NotFound => Err(Failure::configuration(
            "neither `timeplane-lab` nor `timeplane-live` is next to this program or in PATH: run \
             `bash install.sh && cargo install --path crates/lab` in a clone of timeplane, on Linux",
        )),
        e => Err(Failure::failed(format!("{}: {e}", program.display()))),
    }
}

/// Returns only if the program cannot be started.
#[cfg(unix)]
fn exec(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

/// The programs need Linux.
#[cfg(not(unix))]
fn exec(_: &mut Command) -> io::Error {
    io::ErrorKind::NotFound.into()
}
