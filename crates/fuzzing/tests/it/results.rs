//! Stored results: manifest, summaries and tables, by all Rust readers.
//!
//! The readers are called below the checks of a whole folder, so that a file that such a check
//! would refuse still reaches its parser.

use crate::files::said;
use crate::{parquet, rows, seeds};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use timeplane_experiment::{Comparison, ComparisonOptions, Context, Options};
use timeplane_fuzzing::{Check, Fault, Format, Outcome, Subject, Target, put};
use timeplane_model::Duration;
use timeplane_report::ReportPage;
use timeplane_results::timeline::{TimelineRun, write_timeline};
use timeplane_results::{
    AirRow, CheckedRuns, CoflowRow, CollectiveRow, Columns, CompleteRun, ControlRow, DropRow, FlowRow, Folder,
    LatencyRow, LinkRow, QueueRow, RateRow, ReceivedRow, Recorder, ResultsError, RoundTripsRow, Row, RttRow,
    RunSummary, SignalRow, SlotRow, StepRow, TcpRow,
};
use timeplane_scenario::Loaded;
use timeplane_sim::Simulator;

const MEMORY: u64 = 2 << 30;

pub const TARGETS: &[Target] = &[
    Target { name: "manifest", format: Format::Text, ordinary: 150, memory: MEMORY, prepare: manifest },
    Target { name: "summary", format: Format::Text, ordinary: 150, memory: MEMORY, prepare: summary },
    Target { name: "tables", format: Format::Bytes, ordinary: 1000, memory: MEMORY, prepare: tables },
    Target { name: "timeline", format: Format::Bytes, ordinary: 300, memory: MEMORY, prepare: timeline },
    Target { name: "page", format: Format::Bytes, ordinary: 60, memory: MEMORY, prepare: page },
];

/// Runs a small scenario and returns its results folder.
pub fn simulated(folder: &Path) -> PathBuf {
    seeds::copy_inputs(folder);
    let text = "name = \"small\"\n".to_owned() + &seeds::recorded();
    let loaded = Loaded::from_str(&text, "small.toml", folder, &[]).unwrap_or_else(|e| panic!("{e}"));
    let options = Options::new(1, folder.join("results"));
    let run = timeplane_experiment::run(Simulator::default(), &loaded, &options, &AtomicBool::new(false), &|_| {});
    run.unwrap_or_else(|e| panic!("{e}")).directory
}

/// A folder with tables of all kinds, of some rows each.
pub fn recorded(folder: &Path) -> PathBuf {
    let tables = folder.join("recorded");
    let written = std::fs::create_dir_all(&tables).map_err(|e| e.to_string()).and_then(|()| {
        let mut recorder = Recorder::files(&tables).map_err(|e| e.to_string())?;
        rows::record(&mut recorder, 30);
        recorder.finish().map(drop).map_err(|e| e.to_string())
    });
    written.unwrap_or_else(|e| panic!("{}: {e}", tables.display()));
    tables
}

/// So many inputs of a process get all steps: these include the corpus.
const ALL_STEPS: u64 = 500;

/// Whether the whole folder is read and shown for an input. That takes much longer than parsing the
/// input: in long runs it is done for one in 16 inputs, and a page is made for one in 256. `number`
/// counts the inputs of this process.
fn is_whole(number: u64) -> bool {
    number <= ALL_STEPS || number.is_multiple_of(16)
}

/// Everything that commands show of folders, apart from their tables.
fn shown(folders: &mut [Folder], number: u64) -> usize {
    Folder::tell_apart(folders);
    let summaries: Vec<RunSummary> = folders.iter().flat_map(|f| &f.runs).map(|r| r.summary.clone()).collect();
    let options = ComparisonOptions {
        bounds: Folder::bounds(folders),
        context: Context::of_folders(folders),
        ..ComparisonOptions::default()
    };
    // A folder without runs has no page.
    let page = if number <= ALL_STEPS || number.is_multiple_of(256) {
        ReportPage::new(folders, 20).map_or(0, |page| page.html.len())
    } else {
        0
    };
    let comparison = Comparison::new(&summaries, &options);
    page + comparison.to_text(80).len() + comparison.to_json().to_string().len() + comparison.to_csv().len()
}

/// The folder of the first run of results.
pub fn first_run(folder: &Path) -> PathBuf {
    let first = seeds::entries(&folder.join("runs")).into_iter().next();
    first.unwrap_or_else(|| panic!("no runs in {}", folder.display()))
}

fn manifest(folder: &Path) -> Subject {
    let results = simulated(folder);
    let path = results.join("manifest.json");
    let seed = seeds::read(&path);
    // The digests of tables, which do not change, are computed once.
    let checked = CheckedRuns::default();
    let mut known = Folder::read_checked(&results, &checked).unwrap_or_else(|e| panic!("{e}"));
    let mut number = 0;
    let check = move |input: &[u8]| {
        number += 1;
        let read = is_whole(number).then(|| {
            put(&path, input);
            Folder::read_checked(&results, &checked)
        });
        // A check of the folder may refuse it. What the manifest says is tried nevertheless.
        let value = match serde_json::from_slice::<serde_json::Value>(input) {
            Ok(value) => value,
            Err(e) => return Ok(Outcome::Refused(said(e))),
        };
        let manifest = match serde_json::from_value(value) {
            Ok(manifest) => manifest,
            Err(e) => return Ok(Outcome::Parsed(said(e))),
        };
        if let Some(read) = read {
            known.manifest = manifest;
            let mut folders = [read.unwrap_or_else(|_| known.clone()), known.clone()];
            shown(&mut folders, number);
        }
        Ok(Outcome::Accepted)
    };
    Subject { seeds: vec![seed], words: json_words(), check: Box::new(check) }
}

fn json_words() -> Vec<String> {
    let words = ["null", "1e308", "-1e308", "\"0 s\"", "{}", "[]", "\"scheme\"", "\"dark\"", "\"poisson\"", "\"tcp\""];
    words.map(str::to_owned).to_vec()
}

fn summary(folder: &Path) -> Subject {
    let results = simulated(folder);
    let checked = CheckedRuns::default();
    let known = Folder::read_checked(&results, &checked).unwrap_or_else(|e| panic!("{e}"));
    let path = first_run(&results).join("summary.json");
    let seed = seeds::read(&path);
    let mut number = 0;
    let check = move |input: &[u8]| {
        number += 1;
        let whole = is_whole(number);
        if whole {
            put(&path, input);
            // A check of the folder may refuse it. What the summary says is tried nevertheless.
            let _ = Folder::read_checked(&results, &checked);
        }
        let summary: RunSummary = match serde_json::from_slice(input) {
            Ok(summary) => summary,
            Err(e) if e.is_data() => return Ok(Outcome::Parsed(said(e))),
            Err(e) => return Ok(Outcome::Refused(said(e))),
        };
        if !whole {
            return Ok(Outcome::Accepted);
        }
        let mut folder = known.clone();
        folder.runs.iter_mut().take(1).for_each(|run| run.summary = summary.clone());
        shown(&mut [folder], number);
        Ok(Outcome::Accepted)
    };
    Subject { seeds: vec![seed], words: json_words(), check: Box::new(check) }
}

/// Reads a table in all ways.
fn read_table<R: Row>(run: &CompleteRun) -> Result<(), ResultsError> {
    Columns::count::<R>(run)?;
    let schema = R::schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    Columns::read::<R>(run, &names[..1], Some(2))?;
    let Some(columns) = Columns::read::<R>(run, &names, None)? else { return Ok(()) };
    for field in schema.fields() {
        if matches!(field.data_type(), arrow_schema::DataType::Dictionary(..)) {
            columns.words(field.name());
        } else {
            columns.numbers(field.name());
        }
    }
    Ok(())
}

type Reader = fn(&CompleteRun) -> Result<(), ResultsError>;

macro_rules! readers {
    ($($row:ident),+ $(,)?) => { &[$(($row::TABLE, read_table::<$row> as Reader)),+] };
}

/// The readers of all tables.
const READERS: &[(&str, Reader)] = readers![
    FlowRow,
    CoflowRow,
    StepRow,
    CollectiveRow,
    QueueRow,
    ReceivedRow,
    TcpRow,
    AirRow,
    RttRow,
    RoundTripsRow,
    DropRow,
    ControlRow,
    SignalRow,
    RateRow,
    SlotRow,
    LatencyRow,
    LinkRow,
];

/// The names of the tables that inputs choose from by their first byte.
pub fn names() -> Vec<&'static str> {
    READERS.iter().map(|r| r.0).collect()
}

/// Inputs for these tables: the number of the table, and a file.
pub fn inputs(folder: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    let forms = |(number, name): (u8, &&str)| {
        let path = folder.join(name).with_extension("parquet");
        parquet::forms_of(&path).into_iter().map(move |file| [&[number][..], &file].concat())
    };
    (0..).zip(names).flat_map(forms).collect()
}

/// A target whose inputs replace one table of a run. Others are as they were recorded.
fn of_table(
    folder: &Path,
    names: Vec<&'static str>,
    mut read: impl FnMut(usize) -> Result<(), String> + 'static,
) -> Subject {
    let tables = recorded(folder);
    let seeds = inputs(&tables, &names);
    let path = |name: &str| tables.join(name).with_extension("parquet");
    let files: Vec<(PathBuf, Vec<u8>)> = names.iter().map(|n| (path(n), seeds::read(&path(n)))).collect();
    let mut changed = 0;
    let check: Check = Box::new(move |input: &[u8]| -> Result<Outcome, Fault> {
        // Restored here, because a panic may have ended the last check.
        put(&files[changed].0, &files[changed].1);
        let Some((number, content)) = input.split_first() else { return Ok(Outcome::Refused("empty".to_owned())) };
        let number = usize::from(*number) % files.len();
        changed = number;
        let path = &files[number].0;
        put(path, content);
        Ok(match read(number) {
            Ok(()) => Outcome::Accepted,
            Err(e) if parquet::is_refused(path) => Outcome::Refused(e),
            Err(e) => Outcome::Parsed(e),
        })
    });
    Subject { seeds, words: Vec::new(), check }
}

/// A run with these tables.
fn run_of(folder: &Path) -> (Folder, CompleteRun) {
    let results = simulated(folder);
    let mut known = Folder::read(&results).unwrap_or_else(|e| panic!("{e}"));
    let mut run = known.runs.remove(0);
    run.directory = folder.join("recorded");
    (known, run)
}

fn tables(folder: &Path) -> Subject {
    let (_, run) = run_of(folder);
    of_table(folder, names(), move |table| READERS[table].1(&run).map_err(said))
}

fn timeline(folder: &Path) -> Subject {
    let run = TimelineRun {
        folder: folder.join("recorded"),
        name: "slots, seed 1".to_owned(),
        circuits: true,
        queues_every: Some(Duration::from_us(10)),
        tcp_every: Some(Duration::from_us(10)),
        end: Duration::from_ms(1),
    };
    let both = [TimelineRun { circuits: false, queues_every: None, ..run.clone() }, run];
    let output = folder.join("timeline");
    let names = vec![SlotRow::TABLE, AirRow::TABLE, LinkRow::TABLE, QueueRow::TABLE, TcpRow::TABLE];
    of_table(folder, names, move |_| write_timeline(&output, &both).map(drop).map_err(said))
}

fn page(folder: &Path) -> Subject {
    let (mut known, run) = run_of(folder);
    known.runs = vec![run];
    let folders = [known];
    let names = vec![
        FlowRow::TABLE,
        CoflowRow::TABLE,
        SlotRow::TABLE,
        LinkRow::TABLE,
        QueueRow::TABLE,
        DropRow::TABLE,
        AirRow::TABLE,
        RttRow::TABLE,
        LatencyRow::TABLE,
    ];
    of_table(folder, names, move |_| ReportPage::new(&folders, 20).map(drop).map_err(said))
}
