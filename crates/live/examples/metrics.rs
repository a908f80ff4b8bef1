//! Prints `/metrics` of a daemon before it has counted anything: `metrics controller` or `metrics
//! agent`.
//!
//! The documentation's page of metrics is generated from it.

use std::process::ExitCode;
use std::sync::Arc;
use timeplane_live::agent::AgentCounters;
use timeplane_live::channel::Counters;
use timeplane_live::controller::ControllerCounters;
use timeplane_live::status::{of_agent, of_controller};

fn main() -> ExitCode {
    let metrics = match std::env::args().nth(1).as_deref() {
        Some("controller") => of_controller(&Arc::new(ControllerCounters::default()), &Counters::default, || 0),
        Some("agent") => of_agent(&Arc::new(AgentCounters::default())),
        _ => {
            eprintln!("usage: metrics controller|agent");
            return ExitCode::from(2);
        }
    };
    print!("{}", metrics.text());
    ExitCode::SUCCESS
}
