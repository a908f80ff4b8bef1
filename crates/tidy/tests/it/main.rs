//! Applies the rules of `timeplane-tidy` to this repository.
//!
//! `TIDY=shrink cargo test -p timeplane-tidy` removes the exceptions that are not needed any more.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use timeplane_tidy::{exceptions, graph, text};

/// Written by others: text of libraries, and data.
const FOREIGN: [&str; 5] =
    ["viewer/vendor/", "data/", "crates/live/tests/corpus/", "crates/fuzzing/tests/corpus/", "benches/peers/"];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn output(command: &mut Command) -> String {
    let out = command.current_dir(root()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn files_and_crates_conform_or_are_listed() {
    let list = root().join("crates/tidy/exceptions.txt");
    let listed_text = std::fs::read_to_string(&list).unwrap();
    let listed = exceptions::parse(&listed_text);
    let mut found = BTreeSet::new();
    let mut messages = vec![];
    let mut add = |rule: &str, place: String, message: String| {
        let exception = (rule.to_owned(), place);
        if !listed.contains(&exception) {
            messages.push(message);
        }
        found.insert(exception);
    };
    check_files(&mut add);
    check_crates(&mut add);
    let stale = exceptions::stale(&listed, &found);
    if std::env::var("TIDY").is_ok_and(|v| v == "shrink") {
        std::fs::write(&list, exceptions::shrink(&listed_text, &stale)).unwrap();
    } else {
        messages.extend(stale.iter().map(|(rule, place)| {
            format!("{place} conforms to {rule}: remove it from crates/tidy/exceptions.txt (TIDY=shrink does)")
        }));
    }
    assert!(messages.is_empty(), "\n{}\n", messages.join("\n"));
}

fn check_files(add: &mut impl FnMut(&str, String, String)) {
    let files = output(Command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]));
    for path in files.lines().filter(|path| !FOREIGN.iter().any(|folder| path.starts_with(folder))) {
        // A file may be binary, or deleted and still in the index.
        let Ok(content) = std::fs::read_to_string(root().join(path)) else { continue };
        for text::Finding { rule, line, message } in text::check(path, &content) {
            add(rule, path.to_owned(), format!("{path}:{line}: {rule}: {message}"));
        }
    }
}

fn check_crates(add: &mut impl FnMut(&str, String, String)) {
    let mut cargo = Command::new(env!("CARGO"));
    let text = output(cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]));
    let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    let short = |package: &serde_json::Value| package["name"].as_str()?.strip_prefix("timeplane-").map(str::to_owned);
    for package in metadata["packages"].as_array().unwrap() {
        let Some(from) = short(package) else { continue };
        let dependencies = package["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"] != "dev");
        for to in dependencies.filter_map(short) {
            for (_, message) in graph::violations(&[(&from, &to)]) {
                add("crate-arrow", format!("{from} {to}"), message);
            }
        }
    }
}

/// A test with another name would never run: `tests.sh` names those that it runs.
#[test]
fn every_test_is_one_that_the_test_command_runs() {
    let mut cargo = Command::new(env!("CARGO"));
    let text = output(cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]));
    let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    let targets = metadata["packages"].as_array().unwrap().iter().flat_map(|p| p["targets"].as_array().unwrap());
    let tests = targets.filter(|t| t["kind"] == serde_json::json!(["test"]));
    let names: BTreeSet<&str> = tests.map(|t| t["name"].as_str().unwrap()).collect();
    let command = std::fs::read_to_string(root().join("tests.sh")).unwrap();
    let run: BTreeSet<&str> = command.split("--test ").skip(1).filter_map(|t| t.split([' ', '\n']).next()).collect();
    assert_eq!(names, run);
}
