//! The simulator as the driver of an experiment.
//!
//! An experiment knows which runs there are; the driver prepares and simulates one of them.

use crate::air::{AirError, read_beams};
use crate::memory;
use crate::rotor::Rotor;
use crate::run::{RunError, RunSpec, simulate};
use std::path::Path;
use timeplane_experiment::{Driver, ExperimentError, PlannedRun, Prepared, Progress, Watch, free_memory};
use timeplane_results::{Recorder, RunSummary};
use timeplane_scenario::{Loaded, Scenario, Topology};
use timeplane_schedule::Algorithms;
use timeplane_schedule::rotor::routing::Routings;

/// The reason why an experiment in the simulator has no outcome.
pub type SimulationError = ExperimentError<RunError>;

/// Runs scenarios in virtual time.
pub struct Simulator {
    algorithms: Algorithms,
}

impl Simulator {
    /// A simulator whose plans can name these algorithms.
    pub fn new(algorithms: Algorithms) -> Self {
        Self { algorithms }
    }
}

impl Default for Simulator {
    /// With the built-in algorithms.
    fn default() -> Self {
        Self::new(Algorithms::built_in())
    }
}

impl Driver for Simulator {
    type Setup = ();
    type Error = RunError;

    fn prepare(&self, loaded: &Loaded, point: &Prepared) -> Result<(), RunError> {
        check_rotors(&point.point.scenario, &self.algorithms.routings, &loaded.base)?;
        Ok(read_traces(&point.point.scenario, &loaded.base)?)
    }

    fn select(
        &self,
        _loaded: &Loaded,
        points: &[(Prepared, ())],
        runs: Vec<PlannedRun>,
        tell: &dyn Fn(Progress<'_>),
    ) -> Result<Vec<PlannedRun>, RunError> {
        if let Some(warning) = free_memory().and_then(|free| memory::warning(points, &runs, free)) {
            tell(Progress::Note(&warning));
        }
        Ok(runs)
    }

    fn run(
        &self,
        (point, ()): &(Prepared, ()),
        run: &PlannedRun,
        folder: &Path,
        watch: &Watch<'_>,
    ) -> Result<Option<RunSummary>, RunError> {
        let spec = RunSpec {
            scenario: &point.point.scenario,
            scheme: &run.scheme,
            point: run.values.clone(),
            seed: run.seed,
            base: &point.base,
        };
        let recorder = Recorder::files(folder)?;
        match simulate(&spec, &point.fabric, &point.source, &self.algorithms, recorder, watch.pulse()) {
            Ok((summary, _)) => Ok(Some(summary)),
            Err(RunError::Cancelled) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Reads schedules of rotor switches and computes the tables of their routings, so that impossible
/// ones are rejected before anything runs.
fn check_rotors(scenario: &Scenario, own: &Routings, base: &Path) -> Result<(), RunError> {
    for (name, scheme) in &scenario.scheme {
        let Some(seen) = scenario.seen_by(name) else { continue };
        if let (Topology::Rotor(spec), Some(routing)) = (&seen.fabric.topology, &scheme.rotor) {
            Rotor::new(&seen.fabric.build()?, spec, &seen.fabric, routing, own, base)?;
        }
    }
    Ok(())
}

/// Reads the files of air links' traces, so that invalid ones are rejected before anything runs.
fn read_traces(scenario: &Scenario, base: &Path) -> Result<(), AirError> {
    let seen = scenario.scheme.keys().filter_map(|name| scenario.seen_by(name));
    let links = seen.flat_map(|s| s.fabric.radio.clone().into_iter().flat_map(|r| r.link));
    for trace in links.filter_map(|l| l.trace) {
        if let Some(file) = &trace.beams {
            read_beams(file, base)?;
        }
    }
    Ok(())
}
