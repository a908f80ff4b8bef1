//! A fault of the program in one run: the command ends with an error, and other runs are kept.

use crate::common::{folder, load};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use timeplane_experiment::{Driver, ExitCode, Experiment, ExperimentError, Options, PlannedRun, Prepared, Watch, run};
use timeplane_results::RunSummary;
use timeplane_scenario::Loaded;
use timeplane_sim::Simulator;
use timeplane_sim::run::RunError;

const SCENARIO: &str = r#"
    name = "faults"
    seeds = 4
    [fabric]
    topology.single_switch = { hosts = 4 }
    rate = "10 Gb/s"
    [workload.shuffle]
    bytes = "100 kB"
    [scheme.cubic]
    transport.tcp = {}
    [scheme.datagrams]
    transport.datagrams = {}
"#;

/// A simulator that panics in seed 2 of `cubic` unless it is mended.
struct Faulty {
    simulator: Simulator,
    mended: bool,
    ran: Mutex<Vec<String>>,
}

impl Faulty {
    fn new(mended: bool) -> Self {
        Self { simulator: Simulator::default(), mended, ran: Mutex::new(Vec::new()) }
    }
}

impl Driver for Faulty {
    type Setup = ();
    type Error = RunError;

    fn prepare(&self, loaded: &Loaded, point: &Prepared) -> Result<(), RunError> {
        self.simulator.prepare(loaded, point)
    }

    fn run(
        &self,
        point: &(Prepared, ()),
        run: &PlannedRun,
        folder: &Path,
        watch: &Watch<'_>,
    ) -> Result<Option<RunSummary>, RunError> {
        self.ran.lock().unwrap().push(run.label());
        assert!(self.mended || run.scheme != "cubic" || run.seed != 2, "time {} overflows", 7);
        self.simulator.run(point, run, folder, watch)
    }
}

const MESSAGE: &str = "scenario `faults`, scheme `cubic`, seed 2: a fault in timeplane ended the run: time 7 overflows; other \
     runs are kept";

#[test]
fn a_run_that_panics_ends_alone() {
    for jobs in [1, 3] {
        let results = folder().join(format!("faults-{jobs}"));
        let _ = std::fs::remove_dir_all(&results);
        let options = Options::new(jobs, &results);
        let none = AtomicBool::new(false);
        let error = run(Faulty::new(false), &load(SCENARIO), &options, &none, &|_| {}).unwrap_err();
        assert_eq!(error.to_string(), MESSAGE);
        assert!(matches!(error, ExperimentError::Fault { seed: 2, .. }));
        assert_eq!(error.exit_code(), ExitCode::Failed);
        // The other seven are there: only the missing run is run when the fault is mended.
        let mut experiment = Experiment::open(Faulty::new(true), &load(SCENARIO), &options, &|_| {}).unwrap();
        let outcome = experiment.run_parallel(jobs, &none, &|_| {}).unwrap();
        assert_eq!((outcome.runs, outcome.cached), (8, 7));
        assert_eq!(*experiment.driver().ran.lock().unwrap(), ["cubic, seed 2"]);
    }
}

#[test]
fn in_turn_the_runs_before_are_kept() {
    let results = folder().join("faults-in-turn");
    let _ = std::fs::remove_dir_all(&results);
    let options = Options::new(1, &results);
    let mut experiment = Experiment::open(Faulty::new(false), &load(SCENARIO), &options, &|_| {}).unwrap();
    let error = experiment.run_in_turn(&|| false, &|_| {}).unwrap_err();
    assert_eq!(error.to_string(), MESSAGE);
    drop(experiment);
    let mut experiment = Experiment::open(Faulty::new(true), &load(SCENARIO), &options, &|_| {}).unwrap();
    let outcome = experiment.run_in_turn(&|| false, &|_| {}).unwrap();
    assert_eq!((outcome.runs, outcome.cached), (8, 1));
}
