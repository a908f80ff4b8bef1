//! Complete runs survive any end of the process.

use crate::common::{Scratch, flow, summary};
use indexmap::IndexMap;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use timeplane_results::{
    Bound, FORMAT, Manifest, ManifestRun, Metric, Recorder, ResultsError, RunKeys, Store, place, run_key,
};

const DONE: &str = "00000000000000aa";
const HALF: &str = "00000000000000bb";

fn run(store: &Store, key: &str, seed: u64) {
    let partial = store.begin(key).unwrap();
    let mut recorder = Recorder::files(partial.dir()).unwrap();
    recorder.flow(&flow(1));
    recorder.finish().unwrap();
    partial.commit(&summary("tcp", &[("workload.poisson.load", "0.5")], seed, 1.0 / 3.0)).unwrap();
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_is_complete_or_not_there() {
    let scratch = Scratch::new("store");
    let store = Store::open(scratch.path(), "study").unwrap();
    assert!(!store.is_complete(DONE));
    assert!(store.summary(DONE).unwrap_err().to_string().contains("summary.json"));
    run(&store, DONE, 1);
    assert!(store.is_complete(DONE));
    assert_eq!(store.summary(DONE).unwrap(), summary("tcp", &[("workload.poisson.load", "0.5")], 1, 1.0 / 3.0));
    assert_eq!(
        names(&store.run_dir(DONE)),
        [
            "air.parquet",
            "coflows.parquet",
            "collectives.parquet",
            "control.parquet",
            "drops.parquet",
            "flows.parquet",
            "latency.parquet",
            "links.parquet",
            "queues.parquet",
            "rates.parquet",
            "received.parquet",
            "round_trips.parquet",
            "rtt.parquet",
            "signals.parquet",
            "slots.parquet",
            "steps.parquet",
            "summary.json",
            "tcp.parquet",
        ]
    );
    // A run that fails leaves nothing, and the same run twice is no error.
    drop(store.begin(HALF).unwrap());
    run(&store, DONE, 1);
    assert_eq!(names(&store.dir().join("runs")), [DONE]);
    let twice = [store.begin(HALF).unwrap(), store.begin(HALF).unwrap()];
    for (run, seed) in twice.into_iter().zip(5..) {
        run.commit(&summary("tcp", &[], seed, 1.0)).unwrap();
    }
    assert_eq!(store.summary(HALF).unwrap().seed, 5);
    assert_eq!(names(&store.dir().join("runs")), [DONE, HALF]);
    store.remove(HALF).unwrap();
    store.remove(DONE).unwrap();
    store.remove(DONE).unwrap();
    assert_eq!(names(&store.dir().join("runs")), [""; 0]);
}

#[test]
fn runs_are_put_in_their_places_together() {
    let scratch = Scratch::new("together");
    let store = Store::open(scratch.path(), "study").unwrap();
    run(&store, DONE, 1);
    place(Vec::new()).unwrap();
    let begun = [(DONE, 2), (HALF, 3), (HALF, 4)].map(|(key, seed)| {
        let partial = store.begin(key).unwrap();
        partial.finish(&summary("tcp", &[], seed, 1.0)).unwrap();
        assert_eq!(partial.files().unwrap()[0].0, "summary.json");
        partial
    });
    assert!(!store.is_complete(HALF), "finished is not in its place");
    place(begun.into()).unwrap();
    assert_eq!([DONE, HALF].map(|key| store.summary(key).unwrap().seed), [1, 3], "the first one stays");
    assert_eq!(names(&store.dir().join("runs")), [DONE, HALF], "nothing is left of the others");
    // One whose folder is gone is an error, and those with it are no complete runs.
    let gone = ["00000000000000cc", "00000000000000dd"].map(|key| store.begin(key).unwrap());
    fs::remove_dir_all(gone[0].dir()).unwrap();
    place(gone.into()).unwrap_err();
    assert_eq!(names(&store.dir().join("runs")), [DONE, HALF]);
}

#[test]
fn a_summary_comes_back_bit_by_bit() {
    let scratch = Scratch::new("bits");
    let store = Store::open(scratch.path(), "study").unwrap();
    for seed in 0..50 {
        let written = summary("tcp", &[], seed, 0.1 + 1.0 / (3.0 + seed as f64));
        let key = run_key(&json!({}), seed, "0.1.0");
        store.begin(&key).unwrap().commit(&written).unwrap();
        assert_eq!(store.summary(&key).unwrap(), written);
    }
}

#[test]
fn foreign_folders_are_left_alone() {
    let scratch = Scratch::new("foreign");
    let photos = scratch.path().join("photos");
    fs::create_dir(&photos).unwrap();
    for name in ["b.jpg", "a.jpg", "d.jpg", "c.jpg", "e.jpg"] {
        fs::write(photos.join(name), "x").unwrap();
    }
    let error = Store::open(scratch.path(), "photos").unwrap_err().to_string();
    assert!(error.contains("photos is not a results folder: it contains a.jpg, b.jpg, c.jpg and 2 more"), "{error}");
    assert_eq!(names(&photos).len(), 5);

    fs::write(scratch.path().join("file"), "x").unwrap();
    let error = Store::open(scratch.path(), "file").unwrap_err();
    assert!(matches!(error, ResultsError::NotOurs { .. }), "{error}");

    for name in ["", "..", ".hidden", "a/b", "a\\b", "a\nb"] {
        assert!(matches!(Store::open(scratch.path(), name), Err(ResultsError::Name { .. })), "{name:?}");
    }
    // An empty folder is as good as none.
    fs::create_dir(scratch.path().join("empty")).unwrap();
    Store::open(scratch.path(), "empty").unwrap();
}

#[test]
fn another_layout_is_refused() {
    let scratch = Scratch::new("layout");
    drop(Store::open(scratch.path(), "study").unwrap());
    let marker = scratch.path().join("study/.timeplane-results");
    fs::write(&marker, "timeplane results, layout 99\n").unwrap();
    let error = Store::open(scratch.path(), "study").unwrap_err().to_string();
    assert!(error.contains("has results of layout 99: expected layout 4"), "{error}");
    // Killed between creating and writing the marker.
    fs::write(&marker, "").unwrap();
    Store::open(scratch.path(), "study").unwrap();
}

#[test]
fn only_leftovers_are_cleaned_away() {
    let scratch = Scratch::new("clean");
    let store = Store::open(scratch.path(), "study").unwrap();
    run(&store, DONE, 1);
    let runs = store.dir().join("runs");
    drop(store);
    let kept = [".partial-notes", ".partial-zzzzzzzzzzzzzzzz-1", "mine"];
    for name in kept.iter().copied().chain([&*format!(".partial-{HALF}-1.0"), &*format!(".partial-{HALF}-4000000.3")]) {
        fs::create_dir(runs.join(name)).unwrap();
        fs::write(runs.join(name).join("flows.parquet"), "half").unwrap();
    }
    let dir = scratch.path().join("study");
    let gone = gone();
    let strangers = ["notes.12.tmp", "summary.csv.tmp"];
    let alive = format!("report.html.{}.tmp", std::process::id());
    let left = [format!("manifest.json.{gone}-ThreadId(1).tmp"), format!("report.html.{gone}.tmp")];
    // A process that holds the lock is the only one to write tables, even if its number is used
    // again.
    let again = format!("summary.parquet.{}-ThreadId(7).tmp", std::process::id());
    for name in strangers.iter().copied().chain([&*alive, &*left[0], &*left[1], &*again]) {
        fs::write(dir.join(name), "half").unwrap();
    }
    let store = Store::open(scratch.path(), "study").unwrap();
    let mut expected = kept.map(str::to_owned).to_vec();
    expected.push(DONE.to_owned());
    expected.sort();
    assert_eq!(names(&runs), expected);
    assert!(store.is_complete(DONE));
    let mut expected = [".timeplane-results", strangers[0], strangers[1], &alive, "runs"].map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(names(&dir), expected);
}

/// The number of a process that is gone.
fn gone() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn finished_runs_of_a_killed_process_are_put_in_place() {
    let scratch = Scratch::new("finished");
    let keys: Vec<String> = (0..5).map(|i| format!("00000000000000a{i}")).collect();
    let store = Store::open(scratch.path(), "study").unwrap();
    let begun: Vec<_> = (keys.iter().zip(1..))
        .map(|(key, seed)| {
            let partial = store.begin(key).unwrap();
            let mut recorder = Recorder::files(partial.dir()).unwrap();
            recorder.flow(&flow(seed));
            recorder.finish().unwrap();
            partial.finish(&summary("tcp", &[], seed.into(), 1.0)).unwrap();
            partial
        })
        .collect();
    let runs = store.dir().join("runs");
    // As a killed process leaves them: one that is whole twice, one torn, and one damaged.
    let file = |at: usize, name: &str| begun[at].dir().join(name);
    fs::write(file(1, "summary.json"), &fs::read(file(1, "summary.json")).unwrap()[..100]).unwrap();
    fs::write(file(2, "flows.parquet"), "half").unwrap();
    fs::write(file(3, "tcp.parquet"), &fs::read(file(3, "tcp.parquet")).unwrap()[1..]).unwrap();
    begun.into_iter().for_each(std::mem::forget);
    drop(store);
    let store = Store::open(scratch.path(), "study").unwrap();
    assert_eq!(names(&runs), [keys[0].clone(), keys[4].clone()]);
    for (at, seed) in [(0, 1), (4, 5)] {
        assert!(store.is_complete(&keys[at]));
        assert_eq!(store.summary(&keys[at]).unwrap(), summary("tcp", &[], seed, 1.0));
    }
}

/// The other process of `a_killed_process_leaves_complete_runs_only`.
#[test]
#[ignore = "run by another test"]
fn child() {
    let Ok(root) = std::env::var("TIMEPLANE_TEST_ROOT") else { return };
    let store = Store::open(Path::new(&root), "study").unwrap();
    run(&store, DONE, 1);
    let partial = store.begin(HALF).unwrap();
    let mut recorder = Recorder::files(partial.dir()).unwrap();
    recorder.flow(&flow(1));
    println!("\nhalfway");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_killed_process_leaves_complete_runs_only() {
    let scratch = Scratch::new("killed");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::child", "--ignored", "--nocapture"])
        .env("TIMEPLANE_TEST_ROOT", scratch.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "halfway"));

    let error = Store::open(scratch.path(), "study").unwrap_err();
    let expected = format!("is in use by another run (process {})", child.id());
    assert!(error.to_string().contains(&expected), "{error}");

    child.kill().unwrap();
    child.wait().unwrap();
    let runs = scratch.path().join("study/runs");
    assert_eq!(names(&runs), [format!(".partial-{HALF}-{}.0", child.id()), DONE.to_owned()]);
    let store = Store::open(scratch.path(), "study").unwrap();
    assert_eq!(names(&runs), [DONE]);
    assert!(store.is_complete(DONE) && !store.is_complete(HALF));
    run(&store, HALF, 2);
    assert!(store.is_complete(HALF));
}

#[test]
fn a_store_is_held_by_one() {
    let scratch = Scratch::new("held");
    let store = Store::open(scratch.path(), "study").unwrap();
    assert!(matches!(Store::open(scratch.path(), "study"), Err(ResultsError::Busy { .. })));
    Store::open(scratch.path(), "other").unwrap();
    drop(store);
    Store::open(scratch.path(), "study").unwrap();
}

#[test]
fn a_lock_may_outlive_its_process_for_a_moment() {
    let scratch = Scratch::new("outlives");
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    drop(Store::open(scratch.path(), "study").unwrap());
    let path = scratch.path().join("study/.timeplane-results");
    let marker = fs::read_to_string(&path).unwrap().replace(&std::process::id().to_string(), &gone.id().to_string());
    let held = fs::File::open(&path).unwrap();
    let open_while_held = |marker: &str| {
        held.lock().unwrap();
        fs::write(&path, marker).unwrap();
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| Store::open(scratch.path(), "study").map(drop));
            std::thread::sleep(std::time::Duration::from_millis(100));
            held.unlock().unwrap();
            opened.join().unwrap()
        })
    };
    open_while_held(&marker).unwrap();
    // The layout is checked after a wait, too.
    let other = open_while_held(&marker.replace("layout ", "layout 9"));
    assert!(matches!(other, Err(ResultsError::Format { .. })), "{other:?}");
}

#[test]
fn threads_share_a_store() {
    const fn may_move<T: Send>() {}
    may_move::<Recorder>();
    let scratch = Scratch::new("threads");
    let store = Store::open(scratch.path(), "study").unwrap();
    let keys: Vec<String> = (0..16).map(|seed| run_key(&json!({}), seed, "0.1.0")).collect();
    std::thread::scope(|scope| {
        for (seed, key) in keys.iter().enumerate() {
            let store = &store;
            scope.spawn(move || run(store, key, seed as u64));
        }
    });
    assert!(keys.iter().all(|key| store.is_complete(key)));
}

#[test]
fn the_manifest_is_replaced_in_one_step() {
    let scratch = Scratch::new("manifest");
    let store = Store::open(scratch.path(), "study").unwrap();
    assert_eq!(store.manifest().unwrap(), None);
    let mut manifest = Manifest {
        format: FORMAT,
        name: "study".into(),
        version: "0.1.0".into(),
        program: String::new(),
        commit: None,
        source: Some("seed = 1\n".into()),
        set: vec![("seeds".into(), "2".into())],
        scenario: json!({ "b": 1, "a": [0.1, null] }),
        bounds: vec![Bound {
            label: "busiest link".into(),
            metric: Metric::Completion,
            values: vec![(Default::default(), 1.5)],
        }],
        seeds: vec![1, 2],
        runs: vec![ManifestRun { key: DONE.into(), scheme: "tcp".into(), point: Default::default(), seed: 1 }],
    };
    store.write_manifest(&manifest).unwrap();
    assert_eq!(store.manifest().unwrap().as_ref(), Some(&manifest));
    let bytes = fs::read(store.dir().join("manifest.json")).unwrap();
    store.write_manifest(&manifest).unwrap();
    assert_eq!(fs::read(store.dir().join("manifest.json")).unwrap(), bytes);
    manifest.seeds.push(3);
    store.write_manifest(&manifest).unwrap();
    assert_eq!(store.manifest().unwrap(), Some(manifest));
    assert_eq!(names(store.dir()), [".timeplane-results", "manifest.json", "runs"]);

    fs::write(store.dir().join("manifest.json"), "{").unwrap();
    let error = store.manifest().unwrap_err().to_string();
    assert!(error.contains("manifest.json: EOF"), "{error}");
}

#[test]
fn the_table_of_runs_has_one_row_each_in_the_order_asked_for() {
    let scratch = Scratch::new("combine");
    let store = Store::open(scratch.path(), "study").unwrap();
    run(&store, DONE, 7);
    run(&store, HALF, 8);
    // The names are those of the given manifest.
    let listed = |key: &str, load: &str| ManifestRun {
        key: key.to_owned(),
        scheme: "dctcp".to_owned(),
        point: IndexMap::from([("workload.poisson.load".to_owned(), load.to_owned())]),
        seed: 8,
    };
    let keys = [listed(HALF, "0.50"), listed("00000000000000cc", "1"), listed(DONE, "0.2")];
    let runs = store.combine(&keys).unwrap();
    assert_eq!(store.answers(&keys).unwrap(), runs);
    assert_eq!(runs.iter().map(|r| r.seed).collect::<Vec<_>>(), [8, 7]);
    let csv = fs::read_to_string(store.dir().join("summary.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0].starts_with("run,scheme,workload.poisson.load,seed,arrived_flows,measured_flows,"),
        "{}",
        lines[0]
    );
    // A number, not the text of the manifest.
    assert!(lines[1].starts_with("00000000000000bb,dctcp,0.5,8,200,160,"), "{}", lines[1]);
    assert!(lines[0].ends_with(",events,dropped_queue_full_packets"));
    assert!(lines[1].ends_with(",123,2"));
    let parquet = fs::read(store.dir().join("summary.parquet")).unwrap();
    store.combine(&keys).unwrap();
    assert_eq!(fs::read(store.dir().join("summary.parquet")).unwrap(), parquet);
    assert_eq!(store.combine(&[]).unwrap().len(), 0);
}

#[test]
fn a_key_names_what_determines_a_run() {
    let scenario = json!({ "fabric": { "hosts": 8, "rate": "10 Gb/s" }, "scheme": ["a", 1.5, null, true] });
    let same = json!({ "scheme": ["a", 1.5, null, true], "fabric": { "rate": "10 Gb/s", "hosts": 8 } });
    let key = run_key(&scenario, 1, "0.1.0");
    // Results of earlier versions stay valid only as long as this does not change.
    assert_eq!(key, "f2e983fdea9ce8ef");
    assert_eq!(run_key(&same, 1, "0.1.0"), key);
    let other = json!({ "fabric": { "hosts": 9, "rate": "10 Gb/s" }, "scheme": ["a", 1.5, null, true] });
    for different in [run_key(&scenario, 2, "0.1.0"), run_key(&scenario, 1, "0.1.1"), run_key(&other, 1, "0.1.0")] {
        assert_ne!(different, key);
    }
}

#[test]
fn keys_of_many_seeds_are_those_of_each() {
    let mut scenario = json!({ "z": "seed", "seed": 5, "files": "\"0\"", "workload": { "seed": 7 } });
    let keys = RunKeys::new(&scenario, "0.1.0");
    for seed in [0, 5, 7, u64::MAX] {
        scenario["seed"] = seed.into();
        assert_eq!(keys.of(seed), run_key(&scenario, seed, "0.1.0"));
    }
}
