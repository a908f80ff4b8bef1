//! The `timeplane-live` command, which `timeplane live` starts.

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use timeplane_live::bpf::PINS;
use timeplane_live::circuit_switch::{CircuitSwitch, Darkens};
use timeplane_live::daemons::{self, Failure};
use timeplane_live::doctor::{DoctorArgs, doctor};
use timeplane_live::keys::KeysCommand;
use timeplane_live::lab::command::{LabArgs, lab};
use timeplane_live::observer::Observer;
use timeplane_live::proxy::command::{ProxyArgs, proxy};
use timeplane_live::service::{self, Stop};
use timeplane_model::Duration;
use timeplane_protocol::wire::MacAddress;

/// Runs planned schemes on real Linux hosts.
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
    /// Runs a fabric controller, as its configuration says, until it is told to end
    Controller {
        /// The configuration, a TOML file
        file: PathBuf,
    },
    /// Runs the agent of this host, as its configuration says, until it is told to end
    Agent {
        /// The configuration, a TOML file
        file: PathBuf,
    },
    /// Makes keys and certificates: an authority, and one of each for controllers and hosts
    Keys {
        #[command(subcommand)]
        what: KeysCommand,
    },
    /// Watches a switch's ports and says who sends outside of its slots, until it is told to end
    Observe {
        /// The ports towards hosts
        #[arg(required = true)]
        interfaces: Vec<String>,
        /// The address of the controller that signals come from
        #[arg(long, value_name = "MAC")]
        controller: MacAddress,
        /// How often it reports, in seconds
        #[arg(long, default_value_t = 10)]
        every: u64,
        /// Prints JSON, a line each time
        #[arg(long)]
        json: bool,
    },
    /// Tries what the other commands need on this machine, and says what is missing
    Doctor(DoctorArgs),
    /// Makes a circuit switch of interfaces, which a controller on this machine sets, until it is told to end; then it says what it has counted
    CircuitSwitch {
        /// The ports towards hosts, in the order of hosts' numbers
        #[arg(required = true)]
        interfaces: Vec<String>,
        /// What a controller's file names as `circuits`: the last part of /run/timeplane/bpf/NAME
        #[arg(long, default_value = "circuits")]
        name: String,
        /// For how long ports are dark that are retuned
        #[arg(long, value_name = "TIME", default_value = "0 s")]
        dark: Duration,
        /// Only ports that get another output are dark then, instead of all
        #[arg(long)]
        moved: bool,
    },
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
        Command::Controller { file } => daemons::controller(&file, &Stop::on_signals()?)?,
        Command::Agent { file } => daemons::agent(&file, &Stop::on_signals()?)?,
        Command::Keys { what } => println!("{}", what.run()?),
        Command::Observe { interfaces, controller, every, json } => {
            let observer = Observer::attach(&interfaces, controller)?;
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
        Command::CircuitSwitch { interfaces, name, dark, moved } => {
            let darkens = if moved { Darkens::Moved } else { Darkens::All };
            let mut switch = CircuitSwitch::attach(&interfaces, dark, darkens)?;
            let folder = switch.pin(Path::new(PINS), &name)?;
            let stop = Stop::on_signals()?;
            service::ready(&format!("a circuit switch of {} ports in {}", interfaces.len(), folder.display()));
            while !stop.wait(std::time::Duration::from_secs(3600)) {}
            for (interface, counted) in interfaces.iter().zip(switch.counters()?) {
                println!("{interface} {}", serde_json::to_string(&counted)?);
            }
        }
        Command::Release { interface } => daemons::release(&interface)?,
    }
    Ok(ExitCode::SUCCESS)
}
