//! The `timeplane-live` command, which `timeplane live` starts.

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use timeplane_live::daemons::{self, Failure};
use timeplane_live::doctor::{DoctorArgs, doctor};
use timeplane_live::keys::KeysCommand;
use timeplane_live::lab::command::{LabArgs, lab};
use timeplane_live::observer::Observer;
use timeplane_live::proxy::command::{ProxyArgs, proxy};
use timeplane_live::service::Stop;
use timeplane_protocol::wire::MacAddress;

/// Runs planned controls on real Linux hosts.
#[derive(Debug, Parser)]
#[command(name = "timeplane live", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a scenario in a lab: hosts and a switch as network namespaces, with the daemons that real hosts have
    Lab(LabArgs),
    /// Runs a scenario of a TCP proxy in a lab: kernel TCP over an emulated radio link, alone and with its windows steered
    Proxy(ProxyArgs),
    /// Runs a fabric manager, as its configuration says, until it is told to end
    Manager {
        /// The configuration, a TOML file
        file: PathBuf,
    },
    /// Runs the agent of this host, as its configuration says, until it is told to end
    Agent {
        /// The configuration, a TOML file
        file: PathBuf,
    },
    /// Makes keys and certificates: an authority, and one of each for managers and hosts
    Keys {
        #[command(subcommand)]
        what: KeysCommand,
    },
    /// Watches a switch's ports and says who sends outside of its slots, until it is told to end
    Observe {
        /// The ports towards hosts
        #[arg(required = true)]
        interfaces: Vec<String>,
        /// The address of the manager that signals come from
        #[arg(long, value_name = "MAC")]
        manager: MacAddress,
        /// How often it reports, in seconds
        #[arg(long, default_value_t = 10)]
        every: u64,
        /// Prints JSON, a line each time
        #[arg(long)]
        json: bool,
    },
    /// Tries what the other commands need on this machine, and says what is missing
    Doctor(DoctorArgs),
    /// Takes away the gate that an agent has left at an interface: everything passes
    Release {
        /// The interface
        interface: String,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).init();
    match run(cli.command) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e}");
            let mut cause = e.source();
            while let Some(c) = cause {
                eprintln!("  because: {c}");
                cause = c.source();
            }
            ExitCode::from(1)
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Lab(args) => return Ok(ExitCode::from(lab(&args))),
        Command::Proxy(args) => return Ok(ExitCode::from(proxy(&args))),
        Command::Doctor(args) => return Ok(ExitCode::from(doctor(&args)?)),
        Command::Manager { file } => daemons::manager(&file, &Stop::on_signals()?)?,
        Command::Agent { file } => daemons::agent(&file, &Stop::on_signals()?)?,
        Command::Keys { what } => println!("{}", what.run()?),
        Command::Observe { interfaces, manager, every, json } => {
            let observer = Observer::attach(&interfaces, manager)?;
            let stop = Stop::on_signals()?;
            loop {
                let over = stop.wait(std::time::Duration::from_secs(every.max(1)));
                let report = observer.report()?;
                if json {
                    println!("{}", serde_json::to_string(&report)?)
                } else {
                    println!("{report}")
                }
                if over {
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
        Command::Release { interface } => daemons::release(&interface)?,
    }
    Ok(ExitCode::SUCCESS)
}
