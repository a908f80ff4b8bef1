//! The commands of `timeplane-live`, which need no scenario.
//!
//! `timeplane-lab` has them too, besides its own.

use crate::acks::AckRedirect;
use crate::calibrate::CalibrateArgs;
use crate::daemons::{self, Failure};
use crate::doctor::{self, DoctorArgs};
use crate::init::InitArgs;
use crate::keys::KeysCommand;
use crate::observer::Observer;
use crate::proxy::{self, ProxyArgs};
use crate::release::release_all;
use crate::service::Stop;
use clap::Subcommand;
use serde::Serialize;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use timeplane_model::printable;
use timeplane_protocol::wire::MacAddress;

/// A command that needs no scenario.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the proxy of a real edge: split TCP connections and set their windows by an access
    /// point's reports
    Proxy(ProxyArgs),
    /// Run the agent of this host until it is told to stop
    Agent {
        /// Its configuration, a TOML file
        file: PathBuf,
    },
    /// Write configurations and keys for hosts and controllers, into a folder for each machine
    ///
    /// The new folder has `authority`, which issues certificates and stays where it is, and a
    /// folder for each machine, whose content belongs in /etc/timeplane there.
    Init(InitArgs),
    /// Make keys and certificates: an authority, and one of each for controllers and hosts
    Keys {
        /// Whose keys
        #[command(subcommand)]
        what: KeysCommand,
    },
    /// Watch a switch's ports and report hosts that send outside their slots, until told to stop
    Observe {
        /// The ports towards hosts
        #[arg(required = true)]
        interfaces: Vec<String>,
        /// MAC address of the controller that sends the signals
        #[arg(long, value_name = "MAC")]
        controller: MacAddress,
        /// Seconds between reports
        #[arg(long, default_value_t = 10)]
        every: u64,
        /// Print one line of JSON per report
        #[arg(long)]
        json: bool,
    },
    /// Send TCP's acknowledgements by another interface than data, until told to stop
    Acknowledgements {
        /// The interface by which they would leave
        from: String,
        /// The interface by which they leave instead
        to: String,
        /// MAC address of the next hop there [default: as at FROM]
        #[arg(long, value_name = "MAC")]
        next_hop: Option<MacAddress>,
        /// Seconds between reports
        #[arg(long, default_value_t = 10)]
        every: u64,
        /// Print one line of JSON per report
        #[arg(long)]
        json: bool,
    },
    /// Check which features work on this machine
    Doctor(DoctorArgs),
    /// Measure how late this machine wakes up, sends, receives and answers, and write a preset of
    /// host latencies for scenarios
    Calibrate(CalibrateArgs),
    /// Remove the gate that an agent left at an interface; all traffic passes again
    Release {
        /// Name of the gated interface
        #[arg(required_unless_present = "all")]
        interface: Option<String>,
        /// Remove all gates of ended agents, in all network namespaces of this machine
        #[arg(long, conflicts_with = "interface")]
        all: bool,
    },
}

impl Command {
    /// Runs the command; returns its exit code.
    ///
    /// # Errors
    /// With an explanation for the user.
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Proxy(args) => return Ok(ExitCode::from(proxy::proxy(&args))),
            Self::Doctor(args) => return Ok(ExitCode::from(args.print(&doctor::examine())?)),
            Self::Calibrate(args) => print!("{}", args.run()?),
            Self::Agent { file } => daemons::agent(&file, &Stop::on_signals()?)?,
            Self::Init(args) => print!("{}", args.run()?),
            Self::Keys { what } => print!("{}", what.run()?),
            Self::Observe { interfaces, controller, every, json } => {
                let observer = Observer::attach(&interfaces, controller)?;
                report(every, json, || Ok(observer.report()?))?
            }
            Self::Acknowledgements { from, to, next_hop, every, json } => {
                let redirect = AckRedirect::attach(&from, &to, next_hop)?;
                report(every, json, || Ok(redirect.counters()?))?
            }
            Self::Release { interface: Some(interface), .. } => daemons::release(&interface)?,
            Self::Release { interface: None, .. } => {
                let pins = Path::new(crate::bpf::PINS);
                for gate in release_all(pins, &pins.with_file_name("locks"))? {
                    println!("released {gate}");
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a report at intervals, and a last one when told to stop.
fn report<R: Display + Serialize>(
    every: u64,
    json: bool,
    read: impl Fn() -> Result<R, Failure>,
) -> Result<(), Failure> {
    let stop = Stop::on_signals()?;
    loop {
        let over = stop.wait(std::time::Duration::from_secs(every.max(1)));
        let report = read()?;
        if json {
            println!("{}", serde_json::to_string(&report)?)
        } else {
            println!("{report}")
        }
        if over {
            return Ok(());
        }
    }
}

/// Prints an error and its causes on stderr; returns the exit code of a command.
pub fn exit_code(result: Result<ExitCode, Failure>) -> ExitCode {
    result.unwrap_or_else(|e| {
        // Errors quote files and peers.
        eprintln!("error: {}", printable(&e.to_string()));
        let mut cause = e.source();
        while let Some(c) = cause {
            eprintln!("  because: {}", printable(&c.to_string()));
            cause = c.source();
        }
        ExitCode::from(1)
    })
}
