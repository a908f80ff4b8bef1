//! The `timeplane-lab` program: labs and controllers, which need a scenario, and all commands of
//! `timeplane-live`.

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use timeplane_lab::checked;
use timeplane_lab::circuit_switch::CircuitSwitch;
use timeplane_lab::command::{LabArgs, lab};
use timeplane_lab::plan::LivePlan;
use timeplane_lab::trials;
use timeplane_live::bpf::PINS;
use timeplane_live::commands::{self, exit_code};
use timeplane_live::controller::Plan;
use timeplane_live::daemons::{self, Failure};
use timeplane_live::service::{self, Stop};
use timeplane_live::tuner::Darkens;
use timeplane_model::Duration;

/// Run planned networks on real Linux hosts, or in a lab of namespaces on this machine
#[derive(Debug, Parser)]
#[command(name = "timeplane live", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario in a lab of network namespaces, with the daemons and kernel TCP of real hosts
    Lab(LabArgs),
    /// Run a fabric controller until it is told to stop
    Controller {
        /// Its configuration, a TOML file that names a scenario
        file: PathBuf,
    },
    /// Make a circuit switch of interfaces, for a controller on this machine, until told to stop;
    /// then print its counters
    CircuitSwitch {
        /// The ports towards hosts, in the order of hosts' numbers
        #[arg(required = true)]
        interfaces: Vec<String>,
        /// Name for a controller's file (`circuits`): the last part of /run/timeplane/bpf/NAME
        #[arg(long, default_value = "circuits")]
        name: String,
        /// How long ports stay dark while they are retuned
        #[arg(long, value_name = "TIME", default_value = "0 s")]
        dark: Duration,
        /// Darken only ports whose output changes, instead of all
        #[arg(long)]
        moved: bool,
    },
    #[command(flatten)]
    Host(commands::Command),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A message that does not fit onto a full disk is lost. It must not end the daemon.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).log_internal_errors(false).init();
    exit_code(run(cli.command))
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Lab(args) => return Ok(ExitCode::from(u8::from(lab(&args)))),
        Command::Controller { file } => daemons::controller(&file, &Stop::on_signals()?, read_plan)?,
        Command::CircuitSwitch { interfaces, name, dark, moved } => {
            circuit_switch(&interfaces, &name, dark, if moved { Darkens::Moved } else { Darkens::All })?;
        }
        Command::Host(commands::Command::Doctor(args)) => return Ok(ExitCode::from(args.print(&trials::examine())?)),
        Command::Host(commands::Command::Init(args)) => {
            let (_, plan) = read_plan(&args.scenario, &args.scheme)?;
            args.check_hosts(plan.fabric().hosts())?;
            return commands::Command::Init(args).run();
        }
        Command::Host(command) => return command.run(),
    }
    Ok(ExitCode::SUCCESS)
}

fn read_plan(scenario: &Path, scheme: &str) -> Result<(String, Box<dyn Plan>), Failure> {
    let (loaded, warnings) = checked::for_controller(scenario)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let plan = LivePlan::new(&loaded.scenario, scheme)?;
    Ok((loaded.name(), Box::new(plan)))
}

fn circuit_switch(interfaces: &[String], name: &str, dark: Duration, darkens: Darkens) -> Result<(), Failure> {
    let mut switch = CircuitSwitch::attach(interfaces, dark, darkens)?;
    let folder = switch.pin(Path::new(PINS), name)?;
    let stop = Stop::on_signals()?;
    service::ready(&format!("a circuit switch of {} ports in {}", interfaces.len(), folder.display()));
    while !stop.wait(std::time::Duration::from_secs(3600)) {}
    for (interface, counted) in interfaces.iter().zip(switch.counters()?) {
        println!("{interface} {}", serde_json::to_string(&counted)?);
    }
    Ok(())
}
