//! Readers get the recorded rows, and the same rows give the same bytes.

use crate::common::{Scratch, flow, record};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::path::Path;
use timeplane_results::{ROW_GROUP_ROWS, Recorder, Tables};

const NAMES: [&str; 17] = [
    "flows",
    "coflows",
    "steps",
    "collectives",
    "queues",
    "received",
    "tcp",
    "air",
    "drops",
    "control",
    "slots",
    "rates",
    "signals",
    "links",
    "latency",
    "rtt",
    "round_trips",
];
/// Two full row groups and a rest.
const FLOWS: u32 = 2 * ROW_GROUP_ROWS as u32 + 17;

fn read(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn write(dir: &Path, flows: u32) -> Tables {
    let mut recorder = Recorder::files(dir).unwrap();
    record(&mut recorder, flows);
    assert!(!recorder.failed());
    recorder.finish().unwrap()
}

#[test]
fn files_hold_what_memory_holds() {
    let scratch = Scratch::new("round-trip");
    let files = write(scratch.path(), FLOWS);
    let mut recorder = Recorder::memory();
    record(&mut recorder, FLOWS);
    let memory = recorder.finish().unwrap();
    assert_eq!(files.iter().map(|t| t.name).collect::<Vec<_>>(), NAMES);
    assert_eq!(timeplane_results::tables::all().iter().map(|(name, _)| *name).collect::<Vec<_>>(), NAMES);
    for (file, kept) in files.iter().zip(memory.iter()) {
        let rows = if file.name == "flows" { FLOWS.into() } else { 7 };
        assert_eq!((file.rows, kept.rows), (rows, rows), "{}", file.name);
        let found = read(file.path.as_ref().unwrap());
        assert_eq!(found.schema().fields(), kept.schema.fields(), "with the descriptions");
        assert_eq!(found, concat_batches(&found.schema(), &kept.batches).unwrap(), "{}", file.name);
    }
}

#[test]
fn rows_come_back_value_by_value() {
    let scratch = Scratch::new("values");
    let tables = write(scratch.path(), FLOWS);
    let flows = read(tables.get("flows").unwrap().path.as_ref().unwrap());
    let column = |name: &str| flows.column_by_name(name).unwrap().clone();
    for i in [0, 9, 65_535, 65_536, FLOWS - 1] {
        let (row, at) = (flow(i), i as usize);
        let u32_at = |name: &str| {
            let column = column(name);
            column.is_valid(at).then(|| column.as_primitive::<UInt32Type>().value(at))
        };
        let i64_at = |name: &str| {
            let column = column(name);
            column.is_valid(at).then(|| column.as_primitive::<Int64Type>().value(at))
        };
        assert_eq!(u32_at("flow"), Some(row.flow));
        assert_eq!(u32_at("coflow"), row.coflow);
        assert_eq!(u32_at("source"), Some(row.source));
        assert_eq!(i64_at("start_ps"), Some(row.start_ps));
        assert_eq!(i64_at("fct_ps"), row.fct_ps);
        assert_eq!(column("size_bytes").as_primitive::<UInt64Type>().value(at), row.size_bytes);
        assert_eq!(column("measured").as_boolean().value(at), row.measured);
    }
    let drops = read(tables.get("drops").unwrap().path.as_ref().unwrap());
    let reasons = arrow_cast::cast(drops.column_by_name("reason").unwrap(), &arrow_schema::DataType::Utf8).unwrap();
    assert_eq!(
        reasons.as_string::<i32>().iter().take(3).collect::<Vec<_>>(),
        [Some("queue full"), Some("bit error"), Some("queue full")]
    );
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let (one, two) = (Scratch::new("bytes-1"), Scratch::new("bytes-2"));
    write(one.path(), FLOWS);
    write(two.path(), FLOWS);
    for name in NAMES {
        let bytes = |scratch: &Scratch| fs::read(scratch.path().join(name).with_extension("parquet")).unwrap();
        assert!(bytes(&one) == bytes(&two), "{name}");
    }
    // The bytes of a small file must not change between versions of this program either: readers
    // and resumed runs rely on it. If a new version of the Parquet library changes them, the rows
    // stay the same; mention it in the changelog.
    let small = Scratch::new("bytes-3");
    write(small.path(), 100);
    let hash = |name: &str| {
        let bytes = fs::read(small.path().join(name).with_extension("parquet")).unwrap();
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    };
    insta::assert_snapshot!(NAMES.map(|name| format!("{name} {}", hash(name))).join("\n"));
}

#[test]
fn files_have_fixed_row_groups_and_no_rows_are_a_table_too() {
    let scratch = Scratch::new("groups");
    write(scratch.path(), FLOWS);
    let open = |name: &str| {
        let file = File::open(scratch.path().join(name)).unwrap();
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().metadata().clone()
    };
    let metadata = open("flows.parquet");
    let rows: Vec<i64> = metadata.row_groups().iter().map(|g| g.num_rows()).collect();
    assert_eq!(rows, [65_536, 65_536, 17]);
    assert_eq!(metadata.file_metadata().created_by(), Some("timeplane"));
    assert!(metadata.row_group(0).column(5).statistics().is_some());

    Recorder::files(scratch.path()).unwrap().finish().unwrap();
    assert_eq!(open("slots.parquet").num_row_groups(), 0);
    assert_eq!(read(&scratch.path().join("slots.parquet")).num_rows(), 0);
}

#[test]
fn discarded_rows_cost_nothing() {
    let mut recorder = Recorder::discard();
    record(&mut recorder, 10);
    let tables = recorder.finish().unwrap();
    assert!(tables.iter().all(|t| t.rows == 0 && t.batches.is_empty() && t.path.is_none()));
}

#[test]
fn a_missing_folder_is_named() {
    let error = Recorder::files(Path::new("/nowhere/at/all")).err().unwrap().to_string();
    assert!(error.starts_with("cannot create /nowhere/at/all/flows.parquet: "), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_run_and_is_said_plainly() {
    let scratch = Scratch::new("full");
    std::os::unix::fs::symlink("/dev/full", scratch.path().join("flows.parquet")).unwrap();
    let mut recorder = Recorder::files(scratch.path()).unwrap();
    let mut written = 0;
    while !recorder.failed() && written < 10 * ROW_GROUP_ROWS as u32 {
        recorder.flow(&flow(written));
        written += 1;
    }
    assert_eq!(written as usize, ROW_GROUP_ROWS, "the first row group that is written shows it");
    recorder.flow(&flow(0));
    let error = recorder.finish().unwrap_err();
    assert!(error.is_disk_full());
    let text = error.to_string();
    assert!(text.starts_with("no space left to write ") && text.contains("flows.parquet. Completed runs"), "{text}");

    // A file that is short enough shows it at the end.
    let mut recorder = Recorder::files(scratch.path()).unwrap();
    recorder.flow(&flow(0));
    assert!(!recorder.failed());
    assert!(recorder.finish().unwrap_err().is_disk_full());
}
