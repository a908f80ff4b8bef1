//! Reads a scenario and checks it as `timeplane run` does, for labs and for controllers.
//!
//! A scenario that a simulation refuses thus never reaches real hosts.

use std::path::Path;
use timeplane_experiment::checks::{self, Refusal};
use timeplane_scenario::{Issue, Loaded};
use timeplane_schedule::Algorithms;

/// A scenario that makes sense, with the changes in `overrides`, and its warnings.
///
/// # Errors
/// If the file cannot be read, or `timeplane run` would refuse the scenario.
pub fn load(file: &Path, overrides: &[(String, Vec<String>)]) -> Result<(Loaded, Vec<Issue>), Refusal> {
    let loaded = Loaded::from_file(file, overrides)?;
    let warnings = check(&loaded)?;
    Ok((loaded, warnings))
}

/// A scenario for a controller, and its warnings. A controller serves the programs of its hosts and
/// not the scenario's workload, so wrong values and missing files of the workload are warnings.
///
/// # Errors
/// As [`load`], apart from the workload.
pub fn for_controller(file: &Path) -> Result<(Loaded, Vec<Issue>), Refusal> {
    let loaded = Loaded::from_file(file, &[])?;
    let warnings = match check(&loaded) {
        Err(Refusal::Scenario(e)) if e.issues().iter().all(|i| i.key.starts_with("workload")) => e.issues().to_vec(),
        checked => checked?,
    };
    Ok((loaded, warnings))
}

fn check(loaded: &Loaded) -> Result<Vec<Issue>, Refusal> {
    checks::scenario(loaded, &Algorithms::built_in())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn bundled(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
    }

    fn refused(key: &str, value: &str) -> String {
        match load(&bundled("lab.toml"), &[(key.to_owned(), vec![value.to_owned()])]) {
            Ok(_) => panic!("{key} = {value} is accepted"),
            Err(e) => e.to_string(),
        }
    }

    /// What the controller says of the scenario with another line for one of its lines.
    fn controller(line: &str, other: &str) -> Result<Vec<String>, String> {
        let text = std::fs::read_to_string(bundled("lab.toml")).unwrap();
        assert!(text.contains(line), "{line}");
        let file = std::env::temp_dir().join(format!("tp-checked-{}.toml", std::process::id()));
        std::fs::write(&file, text.replacen(line, other, 1)).unwrap();
        let checked = for_controller(&file);
        std::fs::remove_file(&file).unwrap();
        checked.map(|(_, warnings)| warnings.iter().map(Issue::to_string).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn slots_that_a_simulation_refuses_are_refused() {
        // At 50 Mb/s a frame of the MTU takes 246 us.
        let why = refused("scheme.slots.plan.tdma.slot", "\"100 us\"");
        assert!(why.contains("plan.tdma.slot") && why.contains("time of a frame"), "{why}");
        let why = refused("scheme.slots.plan.tdma.round_slots", "0");
        assert!(why.contains("round_slots") && why.contains("1 to 65536"), "{why}");
    }

    #[test]
    fn a_controller_refuses_the_same_but_for_the_workload() {
        // A frame in transmission makes no difference in a lab, whose virtual links have none.
        let warnings = controller("slot = \"2 ms\"", "slot = \"2 ms\"").unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains("plan.tdma.guard"), "{warnings:?}");
        let why = controller("slot = \"2 ms\"", "slot = \"100 us\"").unwrap_err();
        assert!(why.contains("plan.tdma.slot") && why.contains("time of a frame"), "{why}");
        // The flows of a simulation are in a file that a controller's machine need not have.
        let flows = "[workload.flows]\nfile = \"elsewhere.csv\"";
        let warnings = controller("[workload.shuffle]\nbytes = \"600 kB\"", flows).unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains("elsewhere.csv"), "{warnings:?}");
    }

    #[test]
    fn scenarios_of_labs_are_accepted() {
        for name in ["lab.toml", "lab_circuits.toml", "proxy_live.toml"] {
            load(&bundled(name), &[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}
