//! `live`: a program of its own, as it needs Linux, clang and libelf, and nothing else does.

use crate::LiveArgs;
use crate::fail::Failure;
use std::io;
use std::path::PathBuf;
use std::process::Command;

const PROGRAM: &str = "timeplane-live";

/// The program: beside this one, or of that name in `PATH`.
pub fn program() -> PathBuf {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|path| path.is_file());
    beside.unwrap_or_else(|| PathBuf::from(PROGRAM))
}

/// Becomes the program.
pub fn live(args: &LiveArgs) -> Result<(), Failure> {
    let program = program();
    match become_it(Command::new(&program).args(&args.arguments)) {
        e if e.kind() == io::ErrorKind::NotFound => Err(Failure::configuration(format!(
            "there is no `{PROGRAM}` beside this program or in PATH: `cargo install --path crates/live` in a clone of timeplane builds it, on \
             Linux, with clang and libelf, which `bash install.sh` gets"
        ))),
        e => Err(Failure::failed(format!("{}: {e}", program.display()))),
    }
}

/// Comes back only with an error.
#[cfg(unix)]
fn become_it(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

/// The program needs Linux.
#[cfg(not(unix))]
fn become_it(_: &mut Command) -> io::Error {
    io::ErrorKind::NotFound.into()
}
