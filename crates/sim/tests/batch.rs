//! A batch gives the same bytes in every file, however many runs go on at a time, and asks nothing twice.

mod common;

use common::{folder, load};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use timeplane_schedule::Schedulers;
use timeplane_sim::batch::{Options, Outcome, run};

const SCENARIO: &str = r#"
    name = "batch"
    seeds = 3
    [fabric]
    topology.leaf_spine = { leaves = 2, hosts_per_leaf = 4, spines = 2 }
    rate = "10 Gb/s"
    bit_error = 1e-8
    switch = { buffer.shared = { memory = "200 kB", alpha = 1.0 }, ecn = "30 kB" }
    [workload.poisson]
    load = 0.5
    sizes.exponential = "50 kB"
    [window]
    warmup = "100 us"
    measure = "2 ms"
    [record]
    queues_every = "20 us"
    [control.cubic]
    transport.tcp = { min_rto = "2 ms" }
    [control.datagrams]
    transport.datagrams = {}
    ecmp = "packet"
    [control.slots]
    transport.tcp = { congestion = "dctcp", min_rto = "2 ms" }
    plan.slots = { slot = "50 us", guard = "5 us", control_loss = 0.02 }
    [sweep]
    "workload.poisson.load" = [0.2, 0.6]
"#;

/// Every file under a folder, by its path there.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

fn batch(name: &str, jobs: usize) -> Outcome {
    let options = Options { jobs, results: folder().join("batch").join(name) };
    run(&load(SCENARIO), &Schedulers::built_in(), &options, &AtomicBool::new(false), &|_| {}).unwrap()
}

#[test]
fn one_at_a_time_or_two_is_the_same() {
    let _ = std::fs::remove_dir_all(folder().join("batch"));
    let (one, two) = (batch("one", 1), batch("two", 2));
    assert_eq!((one.runs, one.cached, two.runs, two.cached), (18, 0, 18, 0));
    let (a, b) = (files(&one.directory), files(&two.directory));
    // Seven tables and a summary for each of 18 runs, and the folder's own files.
    assert!(a.len() >= 18 * 8 + 4, "{}", a.len());
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (path, bytes) in &a {
        assert!(*bytes == b[path], "{} differs", path.display());
    }
    // Once more: nothing is run, nothing is changed.
    let again = batch("one", 2);
    assert_eq!((again.runs, again.cached), (18, 18));
    assert_eq!(again.comparison.to_json(), one.comparison.to_json());
    assert_eq!(files(&again.directory), a);
}
