//! The command `timeplane live lab`: its arguments, and which lab runs a scenario.
//!
//! A scenario with radio links runs in the lab of the proxy, one with a rotor switch in the lab of
//! racks, any other in the lab of daemons.

use super::report::line;
use super::run::{self, Options};
use crate::answers::Outcome;
use crate::arguments::ScenarioArgs;
use crate::{proxy, rotor};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use timeplane_experiment::{ExitCode, PlannedRun, say};
use timeplane_live::config::encoding_named;
use timeplane_live::gate::SafeState;
use timeplane_model::Duration;
use timeplane_protocol::wire::SignalEncoding;
use timeplane_scenario::Topology;

/// Arguments of `lab`.
#[derive(Clone, Debug, Args)]
pub struct LabArgs {
    /// The scenario, a TOML file
    file: PathBuf,
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// How signals travel: experimental, mac_control, pfc, udp, plain_pfc_insecure
    #[arg(long, default_value = "experimental", value_parser = encoding_named)]
    encoding: SignalEncoding,
    /// How long agents trust a controller that is silent
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    lease: Duration,
    /// State of a gate after its lease
    #[arg(long, value_enum, default_value = "closed")]
    safe: Safe,
    /// Do not use real-time priority
    #[arg(long)]
    no_real_time: bool,
    /// Show the controller's page at this port, 0 for any free one; the first run starts when a
    /// browser opens it
    #[arg(long, value_name = "PORT")]
    page: Option<u16>,
    /// Keep configurations and logs of the daemons, and print their folder
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Safe {
    Closed,
    Open,
}

/// Runs a scenario in the lab that fits it and prints the comparison; returns the exit code.
pub fn lab(args: &LabArgs) -> ExitCode {
    let loaded = match args.scenario.load(&args.file) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    if loaded.scenario.fabric.radio.is_some() {
        return proxy::command::proxy(&args.scenario, &loaded);
    }
    if let Topology::Rotor(_) = loaded.scenario.fabric.topology {
        return rotor::command::rotor(&args.scenario, &loaded, !args.no_real_time);
    }
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(e) => {
            say!("error: cannot find the file of this program: {e}");
            return ExitCode::Failed;
        }
    };
    let options = Options {
        program,
        results: args.scenario.results.clone(),
        name: args.scenario.lab_name(&loaded),
        schemes: args.scenario.scheme.clone(),
        encoding: args.encoding,
        lease: args.lease,
        safe: match args.safe {
            Safe::Closed => SafeState::Closed,
            Safe::Open => SafeState::Open,
        },
        real_time: !args.no_real_time,
        keep: args.keep,
        page: args.page,
    };
    let lines = |outcome: &Outcome| {
        let line = |(run, live): &(PlannedRun, _)| format!("{}: {}\n", run.label(), line(live));
        outcome.live.iter().map(line).collect()
    };
    // The files have the counters of the daemons.
    let long = ["agents", "controllers", "observer", "circuits"];
    args.scenario.answer(&loaded, |cancel, tell| run::run(&loaded, &options, cancel, tell), &lines, &long)
}
