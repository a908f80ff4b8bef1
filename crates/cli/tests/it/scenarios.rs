//! Every file of `scenarios/` runs: the large one is checked and planned only. Those of
//! `benches/costs` are valid and in the table.

use std::path::{Path, PathBuf};
use std::process::Command;

fn timeplane(arguments: &[&str]) -> (bool, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_timeplane")).args(arguments).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (out.status.success(), text(out.stdout), text(out.stderr))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scenarios(folder: &str) -> Vec<PathBuf> {
    let folder = root().join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    files
}

#[test]
fn every_scenario_runs() {
    let results = std::env::temp_dir().join(format!("timeplane-scenarios-{}", std::process::id()));
    for file in scenarios("scenarios") {
        let path = file.to_str().unwrap();
        let (ok, _, err) = timeplane(&["validate", path]);
        assert!(ok, "{path}: {err}");
        let large = path.ends_with("-large.toml");
        let mut arguments = vec!["run", path, "--seeds", "1", "--quiet", "--results", results.to_str().unwrap()];
        if large {
            arguments.push("--dry-run");
        }
        let (ok, out, err) = timeplane(&arguments);
        assert!(ok, "{path}: {err}");
        assert!(large || out.contains("measured flows"), "{path} prints no table:\n{out}");
    }
    std::fs::remove_dir_all(results).unwrap();
}

#[test]
fn every_scenario_whose_cost_is_counted_is_valid() {
    let table = std::fs::read_to_string(root().join("benches/costs.csv")).unwrap();
    let rows: Vec<&str> = table.lines().skip(1).filter_map(|row| row.split(',').next()).collect();
    let files = scenarios("benches/costs");
    assert_eq!(files.iter().map(|f| f.file_stem().unwrap().to_str().unwrap()).collect::<Vec<_>>(), rows);
    for file in files {
        let path = file.to_str().unwrap();
        let (ok, _, err) = timeplane(&["validate", path, "--set", "seeds=1"]);
        assert!(ok, "{path}: {err}");
    }
}
