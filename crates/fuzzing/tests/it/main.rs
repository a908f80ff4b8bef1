//! Fuzzes the parsers of scenarios, traces and results.
//!
//! `cargo test -p timeplane-fuzzing` tries the corpus, valid inputs and some changed ones, always
//! the same. `--help` says how to try more.

mod broken;
mod files;
mod parquet;
mod python;
mod results;
#[path = "../../../results/tests/it/common/mod.rs"]
mod rows;
mod scenarios;
mod seeds;
mod traces;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus"));
    let all = [scenarios::TARGETS, traces::TARGETS, results::TARGETS];
    let mut all = all.concat();
    if std::env::args().any(|argument| argument == "--child") {
        return timeplane_fuzzing::run(&[&all[..], python::TARGETS, broken::TARGETS].concat(), corpus);
    }
    if std::env::args().len() == 1
        && let Err(why) = broken::is_found()
    {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    match python::interpreter() {
        Some(_) => all.extend(python::TARGETS),
        None => eprintln!(
            "python: not tried: there is no .venv/bin/python that has the package, and TIMEPLANE_PYTHON names none"
        ),
    }
    timeplane_fuzzing::run(&all, corpus)
}
