//! The `timeplane-live` program: the daemons of real hosts. `timeplane live` starts it. Controllers
//! and labs, which read scenarios, are in `timeplane-lab`.

use clap::Parser;
use std::process::ExitCode;
use timeplane_live::commands::{Command, exit_code};

/// Run planned networks on real Linux hosts
#[derive(Debug, Parser)]
#[command(name = "timeplane live", version, max_term_width = 100)]
#[command(after_help = "Controllers and labs read scenarios: they are commands of the program `timeplane-lab`.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A message that does not fit onto a full disk is lost. It must not end the daemon.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).log_internal_errors(false).init();
    exit_code(cli.command.run())
}
