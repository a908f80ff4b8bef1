//! The `timeplane` binary: passes the arguments to the library and returns its exit code. The
//! library holds the commands, so that the Python package can offer them, too.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(timeplane_cli::main(std::env::args_os()))
}
