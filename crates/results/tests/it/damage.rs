//! Damaged files: digests notice every change of a finished run, and tables without digests are
//! read without a panic.

use crate::common::{Scratch, flow, record, summary};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use timeplane_model::Duration;
use timeplane_results::timeline::{TimelineRun, write_timeline};
use timeplane_results::{
    Columns, DropRow, FORMAT, FlowRow, Folder, Manifest, ManifestRun, Recorder, ResultsError, Row, SlotRow, Store,
    TableFile, place,
};

const KEY: &str = "00000000000000aa";

fn manifest(format: u32) -> Manifest {
    let run = ManifestRun { key: KEY.into(), scheme: "tcp".into(), point: Default::default(), seed: 1 };
    Manifest {
        format,
        name: "study".into(),
        version: "0.1.0".into(),
        program: String::new(),
        commit: None,
        source: None,
        set: Vec::new(),
        scenario: json!({}),
        bounds: Vec::new(),
        seeds: vec![1],
        runs: vec![run],
    }
}

/// Writes one run with these flows, and the manifest.
fn write(store: &Store, flows: u32) {
    let partial = store.begin(KEY).unwrap();
    let mut recorder = Recorder::files(partial.dir()).unwrap();
    record(&mut recorder, flows);
    recorder.finish().unwrap();
    partial.commit(&summary("tcp", &[], 1, 1.0)).unwrap();
    store.write_manifest(&manifest(FORMAT)).unwrap();
}

/// The results of layout 3 that are like those of a store: without digests.
fn without_digests(store: &Store) {
    let path = store.run_dir(KEY).join("summary.json");
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for field in ["run", "files", "digest"] {
        assert!(json.as_object_mut().unwrap().shift_remove(field).is_some(), "{field}");
    }
    fs::write(&path, format!("{json:#}\n")).unwrap();
    store.write_manifest(&manifest(3)).unwrap();
    fs::write(store.dir().join(".timeplane-results"), "timeplane results, layout 3\n").unwrap();
}

fn opened(scratch: &Scratch) -> Store {
    Store::open(scratch.path(), "study").unwrap()
}

#[test]
fn every_change_of_a_finished_run_is_noticed() {
    let scratch = Scratch::new("changes");
    let store = opened(&scratch);
    write(&store, 3);
    let (dir, folder) = (store.run_dir(KEY), store.dir().to_owned());
    assert_eq!(Folder::read(&folder).unwrap().runs.len(), 1);
    drop(store);
    let mut tried = 0;
    let mut changed = |name: &str, change: &dyn Fn(&Path), why: &str| {
        let path = dir.join(name);
        let before = fs::read(&path).unwrap();
        change(&path);
        let error = Folder::read(&folder).unwrap_err();
        assert!(matches!(&error, ResultsError::BrokenRun { .. }), "{name}: {error}");
        let text = error.to_string();
        let command = format!("`timeplane run study.toml --results {}`", scratch.path().display());
        assert!(text.contains(name) && text.contains(why) && text.contains(&command), "{text}");
        // `Store::check` is asked less often: opening a store takes longer.
        if tried % 50 == 0 {
            let store = opened(&scratch);
            assert_eq!(store.check(KEY).unwrap_err().damage(), error.damage());
            assert!(!store.is_complete(KEY) && store.summary(KEY).is_err());
        }
        tried += 1;
        fs::write(&path, before).unwrap();
    };
    for (name, every) in [("summary.json", 7), ("flows.parquet", 7), ("slots.parquet", 31)] {
        for at in (0..fs::read(dir.join(name)).unwrap().len()).step_by(every) {
            let flip = |path: &Path| {
                let mut bytes = fs::read(path).unwrap();
                bytes[at] ^= 1 << (at % 8);
                fs::write(path, bytes).unwrap();
            };
            changed(name, &flip, ": ");
        }
    }
    for name in ["summary.json", "flows.parquet", "tcp.parquet"] {
        changed(name, &|path| fs::remove_file(path).unwrap(), "it is missing");
        changed(name, &|path| fs::write(path, "").unwrap(), ": ");
    }
    let longer = |path: &Path| fs::write(path, [fs::read(path).unwrap(), b"x".to_vec()].concat()).unwrap();
    changed("flows.parquet", &longer, " bytes: expected ");
    // An edit that leaves the file's length as it is.
    let edit = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replace("\"seed\": 1", "\"seed\": 2")).unwrap();
    };
    changed("summary.json", &edit, "its digest is ");
    assert!(tried > 500, "{tried}");
    assert_eq!(Folder::read(&folder).unwrap().runs.len(), 1, "all is as it was");
}

#[test]
fn the_folder_of_another_run_is_noticed() {
    let scratch = Scratch::new("another");
    let store = opened(&scratch);
    write(&store, 3);
    let other = "00000000000000bb";
    fs::create_dir(store.run_dir(other)).unwrap();
    for entry in fs::read_dir(store.run_dir(KEY)).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), store.run_dir(other).join(entry.file_name())).unwrap();
    }
    let error = store.check(other).unwrap_err().to_string();
    assert!(
        error.contains("it is the summary of the run 00000000000000aa: expected that of 00000000000000bb"),
        "{error}"
    );
}

#[test]
fn a_damaged_run_is_replaced_by_the_same_bytes() {
    let scratch = Scratch::new("replaced");
    let bytes = |store: &Store| {
        let names = fs::read_dir(store.run_dir(KEY)).unwrap().map(|e| e.unwrap().path());
        let mut files: Vec<(PathBuf, Vec<u8>)> = names.map(|p| (p.clone(), fs::read(p).unwrap())).collect();
        files.sort();
        files
    };
    let store = opened(&scratch);
    write(&store, 3);
    let undisturbed = bytes(&store);
    drop(store);
    for name in ["flows.parquet", "summary.json"] {
        // Another process has written the run: nothing is known of it.
        let store = opened(&scratch);
        fs::remove_file(store.run_dir(KEY).join(name)).unwrap();
        assert!(!store.is_complete(KEY));
        write(&store, 3);
        assert!(store.is_complete(KEY));
        assert_eq!(bytes(&store), undisturbed);
        let runs = fs::read_dir(store.dir().join("runs")).unwrap();
        assert_eq!(runs.map(|e| e.unwrap().file_name()).collect::<Vec<_>>(), [KEY], "nothing else is left");
    }
}

/// Names of files with their contents.
type Files = Vec<(String, Vec<u8>)>;

#[test]
fn what_comes_from_a_worker_is_checked() {
    let scratch = Scratch::new("adopted");
    let store = opened(&scratch);
    let made = store.begin(KEY).unwrap();
    let mut recorder = Recorder::files(made.dir()).unwrap();
    recorder.flow(&flow(1));
    recorder.finish().unwrap();
    made.finish(&summary("tcp", &[], 1, 1.0)).unwrap();
    let files = made.files().unwrap();
    drop(made);
    let refused = |change: &dyn Fn(&mut Files)| {
        let mut files = files.clone();
        change(&mut files);
        let error = store.begin(KEY).unwrap().adopt(&files).unwrap_err().to_string();
        assert!(!store.is_complete(KEY));
        error
    };
    let of = |files: &[(String, Vec<u8>)], name: &str| files.iter().position(|f| f.0 == name).unwrap();
    let error = refused(&|files| {
        let at = of(files, "flows.parquet");
        files[at].1[100] ^= 1;
    });
    assert!(error.contains("its flows.parquet: its digest is "), "{error}");
    let error = refused(&|files| drop(files.remove(of(files, "tcp.parquet"))));
    assert!(error.contains("its tcp.parquet: it did not come"), "{error}");
    let error = refused(&|files| files.push(("more.txt".into(), Vec::new())));
    assert!(error.contains("`more.txt` is no file of the run"), "{error}");
    let error = store.begin("00000000000000bb").unwrap().adopt(&files).unwrap_err().to_string();
    assert!(error.contains("the run 00000000000000bb"), "{error}");
    let partial = store.begin(KEY).unwrap();
    partial.adopt(&files).unwrap();
    place(vec![partial]).unwrap();
    assert!(store.is_complete(KEY));
}

#[test]
fn results_without_digests_are_read_and_run_again() {
    let scratch = Scratch::new("older");
    let store = opened(&scratch);
    write(&store, 3);
    let kept = fs::read(store.run_dir(KEY).join("summary.json")).unwrap();
    without_digests(&store);
    drop(store);
    let folder = Folder::read(&scratch.path().join("study")).unwrap();
    assert_eq!(folder.runs[0].summary, summary("tcp", &[], 1, 1.0));
    assert_eq!(Columns::count::<FlowRow>(&folder.runs[0]).unwrap(), 3);
    // Of a folder of this layout they are damaged.
    let store = opened(&scratch);
    let error = store.check(KEY).unwrap_err().to_string();
    assert!(error.contains("summary.json: it has no digest"), "{error}");
    write(&store, 3);
    assert_eq!(fs::read(store.run_dir(KEY).join("summary.json")).unwrap(), kept);
    let marker = fs::read_to_string(store.dir().join(".timeplane-results")).unwrap();
    assert!(marker.starts_with(&format!("timeplane results, layout {FORMAT}\n")), "{marker}");
}

/// Reads a table in every way, and draws the run.
fn read_all<R: Row>(folder: &Folder, out: &Path, draw: bool) -> [bool; 4] {
    let run = &folder.runs[0];
    let columns = R::schema();
    let names: Vec<&str> = columns.fields().iter().map(|f| f.name().as_str()).collect();
    let drawn = TimelineRun {
        folder: run.directory.clone(),
        name: "run".into(),
        circuits: false,
        queues_every: None,
        tcp_every: None,
        end: Duration::from_ms(1),
    };
    let path = run.directory.join(R::TABLE).with_extension("parquet");
    let rows = TableFile::open(&path).unwrap().and_then(|file| {
        let all: Vec<usize> = (0..file.schema().fields().len()).collect();
        file.read(&all, None)?.map(|batch| Ok(batch?.num_rows())).sum::<Result<usize, String>>()
    });
    [
        Columns::count::<R>(run).is_ok(),
        Columns::read::<R>(run, &names, Some(5)).is_ok(),
        rows.is_ok(),
        !draw || write_timeline(out, &[drawn]).is_ok(),
    ]
}

/// The other process of `no_flipped_byte_of_a_table_makes_a_panic`.
#[test]
#[ignore = "run by another test"]
fn flips() {
    fn flip<R: Row>(folder: &Folder, out: &Path) {
        let path = folder.runs[0].directory.join(R::TABLE).with_extension("parquet");
        let whole = fs::read(&path).unwrap();
        assert_eq!(read_all::<R>(folder, out, true), [true; 4]);
        let (mut refused, mut tried) = (0, 0);
        for at in 0..whole.len() {
            // Pages are before the metadata, whose texts are long.
            let in_page = at < whole.len() / 3;
            let draw = in_page || at % 16 == 0;
            for mask in [0xff, 1 << (at % 8), 0x80].into_iter().take(if in_page { 3 } else { 1 }) {
                let mut bytes = whole.clone();
                bytes[at] ^= mask;
                fs::write(&path, bytes).unwrap();
                tried += 1;
                refused += usize::from(read_all::<R>(folder, out, draw) != [true; 4]);
            }
        }
        for length in (0..whole.len()).step_by(13) {
            fs::write(&path, &whole[..length]).unwrap();
            assert_ne!(read_all::<R>(folder, out, false), [true; 4], "{length} bytes");
        }
        fs::write(&path, whole).unwrap();
        println!("\n{}: {refused} of {tried} flips refused", R::TABLE);
    }
    let Ok(root) = std::env::var("TIMEPLANE_TEST_ROOT") else { return };
    let root = Path::new(&root);
    let folder = Folder::read(&root.join("study")).unwrap();
    let out = root.join("timeline");
    flip::<FlowRow>(&folder, &out);
    flip::<SlotRow>(&folder, &out);
    flip::<DropRow>(&folder, &out);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    // A page may claim 2 GiB in a few bytes.
    assert!(peak.is_none_or(|kb| kb < 300_000), "{peak:?} kB");
    println!("all tried");
}

#[test]
fn no_flipped_byte_of_a_table_makes_a_panic() {
    let scratch = Scratch::new("flips");
    let store = opened(&scratch);
    write(&store, 40);
    without_digests(&store);
    drop(store);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "damage::flips", "--ignored", "--nocapture"])
        .env("TIMEPLANE_TEST_ROOT", scratch.path())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success() && out.contains("all tried"), "{out}{err}");
    assert!(!err.contains("panicked") && !out.contains("panicked"), "{out}{err}");
    println!("{out}");
}
