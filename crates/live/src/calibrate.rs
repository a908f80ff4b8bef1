//! `timeplane live calibrate`: measures how long this machine takes for what daemons do, and writes
//! a preset of host latencies for scenarios.
//!
//! [`measure`] needs a [`Bench`]: a [machine](machine::Machine), or a virtual one in tests. It
//! repeats every measurement, as the load of a machine changes from second to second.

pub mod machine;
pub mod measure;
pub mod preset;

use crate::daemons::Failure;
use clap::Args;
use machine::{Machine, MachineConfig};
pub use measure::{Bench, Crossing, Latencies, Quantiles, Spread, measure};
use std::path::PathBuf;

/// Arguments of `calibrate`.
#[derive(Clone, Debug, Args)]
pub struct CalibrateArgs {
    /// The preset to write [default: only print the latencies]
    file: Option<PathBuf>,
    /// Send frames at this interface too, to its own address, and count their times there as
    /// sending times [default: only between two namespaces that are removed again]
    #[arg(long)]
    interface: Option<String>,
    /// How often everything is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=100))]
    repeat: u32,
    /// Latencies of each kind in a repetition
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    samples: u32,
    /// Ask for no real-time priority, as daemons with `real_time = false`
    #[arg(long)]
    no_real_time: bool,
}

impl CalibrateArgs {
    /// Measures, writes the preset, and returns the table of latencies.
    ///
    /// # Errors
    /// If namespaces, sockets or the file cannot be made.
    pub fn run(&self) -> Result<String, Failure> {
        let config = MachineConfig { real_time: !self.no_real_time, interface: self.interface.clone() };
        let latencies = Machine::enter(&config, |machine| measure(machine, self.repeat, self.samples))??;
        let table = latencies.table();
        if let Some(file) = &self.file {
            let text = preset::text(&latencies, &preset::About::this_machine(&config));
            std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        }
        Ok(table)
    }
}
