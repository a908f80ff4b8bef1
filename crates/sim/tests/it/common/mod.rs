//! Runs of a scenario's text, as a user would start them, and their tables as plain numbers.
//!
//! Files of tests are in one folder, so each test uses names of its own.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code)]

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_cast::cast;
use arrow_schema::DataType;
use indexmap::IndexMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use timeplane_results::{Recorder, RunSummary, Tables};
use timeplane_scenario::Loaded;
use timeplane_schedule::Algorithms;
use timeplane_sim::engine::Pulse;
use timeplane_sim::run::{RunError, RunSpec, simulate, simulate_by_packets};
use timeplane_workload::Source;

/// A run that has ended.
pub struct Ran {
    pub summary: RunSummary,
    pub tables: Tables,
}

impl Ran {
    /// A column with nulls.
    pub fn nullable(&self, table: &str, column: &str) -> Vec<Option<i64>> {
        let table = self.tables.get(table).expect("a table");
        let mut values = Vec::new();
        for batch in &table.batches {
            let array = cast(batch.column_by_name(column).expect("a column"), &DataType::Int64).expect("numbers");
            values.extend(array.as_primitive::<Int64Type>().iter());
        }
        values
    }

    /// A column of numbers.
    pub fn column(&self, table: &str, column: &str) -> Vec<i64> {
        self.nullable(table, column).into_iter().map(|v| v.expect("not null")).collect()
    }

    /// A column of strings.
    pub fn words(&self, table: &str, column: &str) -> Vec<String> {
        let table = self.tables.get(table).expect("a table");
        let mut values = Vec::new();
        for batch in &table.batches {
            let array = cast(batch.column_by_name(column).expect("a column"), &DataType::Utf8).expect("words");
            let array = array.as_string::<i32>();
            values.extend((0..array.len()).map(|i| array.value(i).to_owned()));
        }
        values
    }
}

/// Asserts that two runs have the same summary and the same rows in all tables, but for the amount
/// of work; returns how many times more events the second one has.
pub fn assert_same(what: &str, a: &Ran, b: &Ran) -> f64 {
    let summary = |ran: &Ran| {
        let mut summary = serde_json::to_value(&ran.summary).expect("a summary is JSON");
        summary.as_object_mut().expect("with keys").remove("events").expect("it counts events");
        format!("{summary:#}")
    };
    let names = |ran: &Ran| ran.tables.iter().map(|t| t.name).collect::<Vec<_>>();
    assert_eq!(names(a), names(b), "{what}");
    for (of, other) in a.tables.iter().zip(b.tables.iter()) {
        // The debug text of a table leaves out what is in the middle: values are compared.
        if of.rows == other.rows && of.batches == other.batches {
            continue;
        }
        let differ = of.batches.iter().zip(&other.batches).find(|(x, y)| x != y);
        let Some((x, y)) = differ else { panic!("{what}\n{}: {} and {} rows", of.name, of.rows, other.rows) };
        for (i, field) in x.schema().fields().iter().enumerate() {
            let row = (0..x.num_rows().min(y.num_rows())).find(|&r| x.column(i).slice(r, 1) != y.column(i).slice(r, 1));
            if let Some(r) = row {
                let (x, y) = (x.column(i).slice(r, 1), y.column(i).slice(r, 1));
                panic!("{what}\n{}: row {r} differs in {}: {x:?} and {y:?}", of.name, field.name());
            }
        }
        panic!("{what}\n{}: {} and {} rows", of.name, of.rows, other.rows);
    }
    assert_eq!(summary(a), summary(b), "{what}");
    b.summary.events as f64 / a.summary.events as f64
}

/// The folder of files that tests write for their scenarios.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// Writes a list of flows (start in ps, source, destination, bytes) for `workload.flows.file`.
pub fn flow_list(name: &str, flows: &[(i64, u32, u32, u64)]) {
    let mut text = "start_ps,source,destination,size_bytes\n".to_owned();
    for (start, source, destination, bytes) in flows {
        text += &format!("{start},{source},{destination},{bytes}\n");
    }
    std::fs::write(folder().join(name), text).expect("a folder that can be written to");
}

/// A scenario of one point.
pub fn load(text: &str) -> Loaded {
    match Loaded::from_str(text, "test", folder(), &[]) {
        Ok(loaded) => loaded,
        Err(e) => panic!("{e}\n{text}"),
    }
}

/// A scenario's file.
pub fn load_from(file: &Path) -> Loaded {
    Loaded::from_file(file, &[]).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Runs one scheme of a loaded scenario with one seed; tables in memory.
pub fn run_loaded(loaded: &Loaded, scheme: &str, seed: u64) -> Ran {
    simulated(loaded, scheme, seed, false, Recorder::memory(), &Algorithms::built_in())
        .unwrap_or_else(|e| panic!("{scheme}: {e}"))
}

/// Runs one scheme with one seed; tables in memory.
pub fn run(text: &str, scheme: &str, seed: u64) -> Ran {
    try_run(text, scheme, seed).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs one scheme with one seed.
pub fn try_run(text: &str, scheme: &str, seed: u64) -> Result<Ran, RunError> {
    run_as(text, scheme, seed, false)
}

/// Runs one scheme with one seed; tables and captures go to a new folder.
pub fn run_in(folder: &Path, text: &str, scheme: &str, seed: u64) -> RunSummary {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder that can be written to");
    let recorder = Recorder::files(folder).expect("files");
    run_with(text, scheme, seed, false, recorder).unwrap_or_else(|e| panic!("{e}\n{text}")).summary
}

/// Runs one scheme with one seed, each packet by itself.
pub fn run_by_packets(text: &str, scheme: &str, seed: u64) -> Ran {
    run_as(text, scheme, seed, true).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn run_as(text: &str, scheme: &str, seed: u64, by_packets: bool) -> Result<Ran, RunError> {
    run_with(text, scheme, seed, by_packets, Recorder::memory())
}

fn run_with(text: &str, scheme: &str, seed: u64, by_packets: bool, recorder: Recorder) -> Result<Ran, RunError> {
    simulated(&load(text), scheme, seed, by_packets, recorder, &Algorithms::built_in())
}

/// Runs one scheme with one seed, whose algorithms may be those of a test.
pub fn try_run_by(text: &str, scheme: &str, seed: u64, algorithms: &Algorithms) -> Result<Ran, RunError> {
    simulated(&load(text), scheme, seed, false, Recorder::memory(), algorithms)
}

fn simulated(
    loaded: &Loaded,
    scheme: &str,
    seed: u64,
    by_packets: bool,
    recorder: Recorder,
    algorithms: &Algorithms,
) -> Result<Ran, RunError> {
    let scenario = &loaded.scenario;
    let fabric = Arc::new(scenario.fabric.build().expect("a fabric"));
    let source = Source::load(&scenario.workload, &loaded.base, &fabric, scenario.fabric.mtu).expect("a workload");
    let spec = RunSpec { scenario, scheme, point: IndexMap::new(), seed, base: &loaded.base };
    let pulse = Pulse::default();
    let (summary, tables) = if by_packets {
        simulate_by_packets(&spec, &fabric, &source, algorithms, recorder, &pulse)?
    } else {
        simulate(&spec, &fabric, &source, algorithms, recorder, &pulse)?
    };
    Ok(Ran { summary, tables })
}
