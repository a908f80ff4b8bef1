//! Small runs of each kind have the tables that they always had, on every machine.
//!
//! `golden/digests.txt` has a line for each table of each run of `golden/*.toml`. A digest covers
//! the columns and the values, not the bytes of a Parquet file, which another version of the
//! library may write differently. To renew the list: `INSTA_UPDATE=always cargo test -p
//! timeplane-sim digests`.

use crate::common::{Ran, load_from, run_loaded};
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use timeplane_experiment::{Comparison, ComparisonOptions};
use timeplane_results::Table;

/// Values and digests by run and table.
type Lines = BTreeMap<(String, String), String>;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn short(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Adds a batch as text, a row on a line.
fn add(text: &mut String, batch: &RecordBatch) {
    let options = FormatOptions::default().with_null("null");
    let column = |array| ArrayFormatter::try_new(array, &options).expect("a column that can be shown");
    let columns: Vec<_> = batch.columns().iter().map(|c| column(c.as_ref())).collect();
    for row in 0..batch.num_rows() {
        columns.iter().for_each(|c| write!(text, "{},", c.value(row)).expect("a string takes all"));
        text.push('\n');
    }
}

fn table(table: &Table) -> String {
    let mut text = String::new();
    for field in table.schema.fields() {
        write!(text, "{} {},", field.name(), field.data_type()).expect("a string takes all");
    }
    text.push('\n');
    table.batches.iter().for_each(|batch| add(&mut text, batch));
    format!("{:>7} rows {}", table.rows, short(&text))
}

fn digests_of(name: &str, ran: &Ran) -> Lines {
    let tables = ran.tables.iter().filter(|t| t.rows > 0);
    let mut lines: Lines = tables.map(|t| ((name.to_owned(), t.name.to_owned()), table(t))).collect();
    let summary = serde_json::to_string(&ran.summary).expect("a summary is JSON");
    lines.insert((name.to_owned(), "summary".to_owned()), short(&summary));
    lines
}

/// The tables of each scheme of a scenario with seed 1, and its comparison over three seeds.
fn digests(file: &Path) -> Lines {
    let name = file.file_stem().expect("a file").to_str().expect("text");
    let loaded = load_from(file);
    let schemes: Vec<&String> = loaded.scenario.scheme.keys().collect();
    let runs: Vec<(&String, u64)> = schemes.iter().flat_map(|&s| (1..=3).map(move |seed| (s, seed))).collect();
    let ran: Vec<Ran> = runs.par_iter().map(|&(scheme, seed)| run_loaded(&loaded, scheme, seed)).collect();
    let mut lines = Lines::new();
    for (&(scheme, seed), ran) in runs.iter().zip(&ran) {
        if seed == 1 {
            lines.extend(digests_of(&format!("{name}.{scheme}"), ran));
        }
    }
    let summaries: Vec<_> = ran.into_iter().map(|r| r.summary).collect();
    let comparison = Comparison::new(&summaries, &ComparisonOptions::default());
    lines.insert((name.to_owned(), "comparison".to_owned()), short(&comparison.to_json().to_string()));
    lines
}

fn parsed(text: &str) -> Lines {
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let line = |l: &str| {
        let mut words = l.split_whitespace().map(str::to_owned);
        let key = (words.next()?, words.next()?);
        Some((key, words.collect::<Vec<_>>().join(" ")))
    };
    lines.filter_map(line).collect()
}

#[test]
fn tables_are_those_of_the_list() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(golden()).expect("a folder").map(|e| e.expect("a file").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    assert!(files.len() >= 10, "{files:?}");
    let found: Lines = files.par_iter().flat_map_iter(|f| digests(f)).collect();
    let mut text = "# Rows and digests of the tables of golden/*.toml, made by tests/it/digests.rs.\n".to_owned();
    for ((run, table), value) in &found {
        writeln!(text, "{run:<24} {table:<12} {value}").expect("a string takes all");
    }
    let path = golden().join("digests.txt");
    if std::env::var("INSTA_UPDATE").is_ok_and(|v| v == "always") {
        std::fs::write(path, text).expect("a folder that can be written to");
        return;
    }
    let expected = parsed(&std::fs::read_to_string(path).expect("the list"));
    let found = parsed(&text);
    let none = "none".to_owned();
    let mut differ = String::new();
    for key @ (run, table) in expected.keys().chain(found.keys().filter(|k| !expected.contains_key(k))) {
        let (old, new) = (expected.get(key).unwrap_or(&none), found.get(key).unwrap_or(&none));
        if old != new {
            writeln!(differ, "  {run}, table {table}: {old} expected, {new} found").expect("a string takes all");
        }
    }
    assert!(
        differ.is_empty(),
        "these tables differ from tests/golden/digests.txt:\n{differ}If results change on purpose, renew the list: \
         `INSTA_UPDATE=always cargo test -p timeplane-sim digests`. If not, this machine or this change gives other \
         numbers: run `timeplane run crates/sim/tests/golden/NAME.toml` here and there, and compare the tables."
    );
}
