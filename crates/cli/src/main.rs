//! The `timeplane` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(timeplane_cli::main(std::env::args_os()))
}
