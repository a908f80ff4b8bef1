//! Sets a circuit switch, from the process that made it or from another one of the machine.
//!
//! The two share the switch's pinned maps.

use crate::bpf::BpfError;
use crate::clock;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::io;
use std::path::{Path, PathBuf};
use timeplane_model::{Duration, Matching, Time};

/// Largest number of ports of a switch.
pub const MOST_PORTS: usize = 1024;

/// Which ports are dark while the switch is retuned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Darkens {
    /// Only inputs that get another output. Unchanged circuits continue.
    #[default]
    Moved,
    /// Every port, including those of unchanged circuits.
    All,
}

/// Why a switch cannot be used or set.
#[derive(Debug, thiserror::Error)]
pub enum CircuitError {
    /// The program or its maps failed.
    #[error("the circuit switch's BPF program: {0}")]
    Bpf(#[from] libbpf_rs::Error),
    /// An interface cannot be used.
    #[error("the circuit switch at {interface}: {source}")]
    Attach {
        /// Name of the interface.
        interface: String,
        /// The system's message.
        source: io::Error,
    },
    /// There are no ports, too many, or one is named twice.
    #[error("interfaces of a circuit switch: found {0}, expected 1 to {MOST_PORTS}, each once")]
    Interfaces(String),
    /// The number of outputs is not the number of ports.
    #[error("{found} outputs: expected {ports}, one for each port of the circuit switch")]
    Outputs {
        /// Number of outputs.
        found: usize,
        /// Number of ports.
        ports: usize,
    },
    /// An output does not exist, or is given to two inputs.
    #[error("output {0} is not a port, or is used by two inputs")]
    Output(usize),
    /// No switch is pinned in the folder.
    #[error("there is no circuit switch in {}: {source}", folder.display())]
    Missing {
        /// Path of the folder.
        folder: PathBuf,
        /// The message of libbpf.
        source: libbpf_rs::Error,
    },
}

/// Value for an input without an output, as in `bpf/circuit.bpf.c`.
pub const UNCONNECTED: u64 = u32::MAX as u64;
/// Names of the pinned maps.
const CIRCUITS: &str = "circuits";
const SETTINGS: &str = "settings";

/// Settings of a switch, as in `bpf/circuit.bpf.c`.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    least_ns: u64,
    most_ns: u64,
    all: u64,
    ports: u64,
}

impl Settings {
    /// Settings of a switch whose dark times are from `least` to `most`.
    pub fn new(least: Duration, most: Duration, darkens: Darkens, ports: usize) -> Self {
        let ns = |d: Duration| (d.as_ps() / 1000).max(0) as u64;
        let least_ns = ns(least);
        Self { least_ns, most_ns: ns(most).max(least_ns), all: u64::from(darkens == Darkens::All), ports: ports as u64 }
    }
    /// Which ports a retune darkens.
    pub fn darkens(&self) -> Darkens {
        if self.all == 0 { Darkens::Moved } else { Darkens::All }
    }
    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.ports as usize
    }
}

/// Connects the ports of a circuit switch.
#[derive(Debug)]
pub struct Tuner {
    circuits: MapHandle,
    settings: MapHandle,
    draws: Xoshiro256PlusPlus,
}

impl Tuner {
    fn new(circuits: MapHandle, settings: MapHandle) -> Self {
        Self { circuits, settings, draws: Xoshiro256PlusPlus::seed_from_u64(clock::monotonic_ns()) }
    }

    /// The tuner of a new switch with these maps.
    ///
    /// # Errors
    /// If the system refuses the settings.
    pub fn first(circuits: MapHandle, settings: MapHandle, first: Settings) -> Result<Self, CircuitError> {
        let tuner = Self::new(circuits, settings);
        tuner.write_settings(&first)?;
        Ok(tuner)
    }

    /// The tuner of a switch that is pinned in this folder. Use one tuner at a time: concurrent
    /// retunes result in a mixture of both.
    ///
    /// # Errors
    /// If no switch is pinned there, or the process lacks permission.
    pub fn open(folder: &Path) -> Result<Self, CircuitError> {
        let map = |name| {
            let missing = |source| CircuitError::Missing { folder: folder.to_owned(), source };
            MapHandle::from_pinned_path(folder.join(name)).map_err(missing)
        };
        Ok(Self::new(map(CIRCUITS)?, map(SETTINGS)?))
    }

    /// Pins the maps in this folder of a BPF file system.
    ///
    /// # Errors
    /// If a map cannot be pinned.
    pub fn pin(&mut self, folder: &Path) -> Result<(), BpfError> {
        let refused = || BpfError::refused(format!("pinning a circuit switch in {}", folder.display()));
        self.circuits.pin(folder.join(CIRCUITS)).map_err(refused())?;
        self.settings.pin(folder.join(SETTINGS)).map_err(refused())
    }

    /// The settings of the switch.
    ///
    /// # Errors
    /// If the map cannot be read.
    pub fn settings(&self) -> Result<Settings, CircuitError> {
        let value = self.settings.lookup(&[0; 4], MapFlags::ANY)?.unwrap_or_default();
        let number =
            |at: usize| value.get(at..at + 8).map_or(0, |b| u64::from_ne_bytes(b.try_into().unwrap_or_default()));
        Ok(Settings { least_ns: number(0), most_ns: number(8), all: number(16), ports: number(24) })
    }

    /// Changes the settings of the switch.
    ///
    /// # Errors
    /// If the map cannot be written.
    pub fn write_settings(&self, s: &Settings) -> Result<(), CircuitError> {
        let value = [s.least_ns, s.most_ns, s.all, s.ports].map(u64::to_ne_bytes).concat();
        Ok(self.settings.update(&[0; 4], &value, MapFlags::ANY)?)
    }

    /// Number of ports of the switch.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn ports(&self) -> Result<usize, CircuitError> {
        Ok(self.settings()?.ports())
    }

    /// The output of each input, as it was last set.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn outputs(&self) -> Result<Vec<Option<usize>>, CircuitError> {
        let output = |port: usize| {
            let value = self.circuits.lookup(&(port as u32).to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
            let output = value.first_chunk().map_or(UNCONNECTED, |b| u64::from_ne_bytes(*b));
            Ok((output != UNCONNECTED).then_some(output as usize))
        };
        (0..self.ports()?).map(output).collect()
    }

    /// Connects each input (numbered by the order of interfaces) to this output, or to none. Ports
    /// that change, or all ([`Darkens`]), are dark from now on and are lit together at the returned
    /// time of the monotonic clock. A retune during another one restarts the dark time of its
    /// ports. One that changes nothing darkens no port.
    ///
    /// # Errors
    /// If the number of outputs is wrong, an output does not exist, or two inputs have the same
    /// output. Nothing has changed then.
    pub fn retune(&mut self, outputs: &[Option<usize>]) -> Result<Time, CircuitError> {
        let settings = self.settings()?;
        let ports = settings.ports();
        if outputs.len() != ports {
            return Err(CircuitError::Outputs { found: outputs.len(), ports });
        }
        let mut taken = vec![false; ports];
        for &output in outputs.iter().flatten() {
            if taken.get(output).is_none_or(|t| *t) {
                return Err(CircuitError::Output(output));
            }
            taken[output] = true;
        }
        let before = self.outputs()?;
        if before == outputs {
            return Ok(clock::now());
        }
        let code = |output: Option<usize>| output.map_or(UNCONNECTED, |o| o as u64);
        let all = settings.darkens() == Darkens::All;
        let concerned: Vec<usize> = (0..ports).filter(|&p| all || before[p] != outputs[p]).collect();
        // All are dark before the first one gets its new output, so that two inputs never have the
        // same output.
        for &port in &concerned {
            write(&self.circuits, port as u32, code(before[port]), u64::MAX)?;
        }
        let lit_at = clock::monotonic_ns().saturating_add(self.dark_ns(&settings));
        for &port in &concerned {
            write(&self.circuits, port as u32, code(outputs[port]), lit_at)?;
        }
        Ok(Time::from_ps(i64::try_from(lit_at).unwrap_or(i64::MAX).saturating_mul(1000)))
    }

    fn dark_ns(&mut self, settings: &Settings) -> u64 {
        let span = settings.most_ns - settings.least_ns.min(settings.most_ns);
        let drawn = if span == 0 { 0 } else { self.draws.next_u64() % (span + 1) };
        settings.least_ns + drawn
    }

    /// The same by a matching of hosts, which are the ports.
    ///
    /// # Errors
    /// As [`retune`](Self::retune).
    pub fn connect(&mut self, matching: &Matching) -> Result<Time, CircuitError> {
        let outputs: Vec<_> = matching.outputs().iter().map(|o| o.map(|o| o.index())).collect();
        self.retune(&outputs)
    }
}

/// Removes the pinned files of a switch from a folder.
pub fn remove(folder: &Path) {
    for name in [CIRCUITS, SETTINGS] {
        let _ = std::fs::remove_file(folder.join(name));
    }
}

/// Writes a circuit: the output before the time, in the order in which the program reads them.
pub fn write(circuits: &impl MapCore, port: u32, output: u64, lit_at: u64) -> Result<(), libbpf_rs::Error> {
    let value = [output.to_ne_bytes(), lit_at.to_ne_bytes()].concat();
    circuits.update(&port.to_ne_bytes(), &value, MapFlags::ANY)
}
