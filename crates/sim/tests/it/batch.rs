//! A batch writes the same bytes in every file for any number of parallel runs, and repeats no run.
//!
//! Shards, stopping rules and interrupted batches are compared with one full batch.

use crate::common::{folder, load};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use timeplane_experiment::{Experiment, Options, Outcome, PlannedRun, Shard, Sweep, Until, plan, run, run_remote};
use timeplane_results::stats::Interval;
use timeplane_results::{Metric, RunSummary, Store};
use timeplane_scenario::Loaded;
use timeplane_sim::Simulator;

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
    [scheme.cubic]
    transport.tcp = { min_rto = "2 ms" }
    [scheme.datagrams]
    transport.datagrams = {}
    ecmp = "packet"
    [scheme.slots]
    transport.tcp = { congestion = "dctcp", min_rto = "2 ms" }
    plan.tdma = { slot = "50 us", guard = "5 us", control_loss = 0.02 }
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
    let options = Options::new(jobs, folder().join("batch").join(name));
    run(Simulator::default(), &load(SCENARIO), &options, &AtomicBool::new(false), &|_| {}).unwrap()
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
    // A second time nothing runs and nothing changes.
    let again = batch("one", 2);
    assert_eq!((again.runs, again.cached), (18, 18));
    assert_eq!(again.comparison.to_json(), one.comparison.to_json());
    assert_eq!(files(&again.directory), a);
}

/// The files of runs alone. The folder's own files name the process that wrote last.
fn of_runs(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(folder).into_iter().filter(|(path, _)| !path.starts_with(".timeplane-results")).collect()
}

#[test]
fn shares_at_the_same_time_leave_what_one_run_leaves() {
    let root = folder().join("shares");
    let _ = std::fs::remove_dir_all(&root);
    let never = AtomicBool::new(false);
    let go = |options: &Options| run(Simulator::default(), &load(SCENARIO), options, &never, &|_| {}).unwrap();
    let share = |number| {
        let shard = Some(Shard { number, of: 3 });
        go(&Options { shard, ..Options::new(1, root.join("shared")) })
    };
    let shares: Vec<Outcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=3).map(|n| scope.spawn(move || share(n))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(shares.iter().all(|s| !s.interrupted && s.runs + s.missing == 18 && s.runs >= 6));
    assert!(!shares[0].directory.join("summary.csv").exists(), "a share makes no tables");
    let gathered = go(&Options::new(2, root.join("shared")));
    assert_eq!((gathered.runs, gathered.cached), (18, 18), "nothing is left to run");
    let whole = go(&Options::new(2, root.join("whole")));
    assert_eq!(of_runs(&gathered.directory), of_runs(&whole.directory));
}

#[test]
fn runs_of_elsewhere_are_the_same_bytes() {
    let root = folder().join("elsewhere");
    let _ = std::fs::remove_dir_all(&root);
    let loaded = load(SCENARIO);
    let mut here =
        Experiment::open(Simulator::default(), &loaded, &Options::new(1, root.join("gathered")), &|_| {}).unwrap();
    let points = loaded.points().unwrap();
    let mut wanted = here.wanted(1).unwrap();
    assert_eq!(wanted.len(), 18);
    wanted.reverse();
    let mut came = Vec::new();
    for place in wanted {
        let planned = here.planned()[place].clone();
        // Only the scenario of one point is sent.
        let alone = Loaded::from_json(&points[planned.point].scenario.to_json(), &loaded.base, &[]).unwrap();
        let worker = root.join(format!("worker-{place}"));
        let files = run_remote(&Simulator::default(), &alone, &planned, &worker).unwrap();
        let other = PlannedRun { key: "0123456789abcdef".into(), ..planned.clone() };
        let refused = run_remote(&Simulator::default(), &alone, &other, &worker).unwrap_err();
        assert!(refused.to_string().contains("something else than planned"), "{refused}");
        let torn: Vec<_> = files.iter().filter(|f| f.0 != "summary.json").cloned().collect();
        assert!(here.adopt(&[(place, torn)]).is_err(), "a run without a summary is none");
        let outside: Vec<_> = files.iter().cloned().chain([("../x".to_owned(), vec![])]).collect();
        assert!(here.adopt(&[(place, outside)]).is_err(), "files stay in their folder");
        assert!(!worker.join("run/runs").join(&planned.key).exists(), "what travelled is not kept");
        came.push((place, files));
    }
    // One alone, and several at once.
    let several = came.split_off(1);
    here.adopt(&came).unwrap();
    assert_eq!(here.wanted(1).unwrap().len(), 17);
    here.adopt(&several).unwrap();
    assert_eq!(here.wanted(1).unwrap(), Vec::<usize>::new());
    let gathered = here.conclude(true).unwrap();
    let never = AtomicBool::new(false);
    let whole = run(Simulator::default(), &loaded, &Options::new(2, root.join("whole")), &never, &|_| {}).unwrap();
    assert_eq!(of_runs(&gathered.directory), of_runs(&whole.directory));
}

#[test]
fn seeds_end_when_enough_is_known_whoever_is_first() {
    let root = folder().join("until");
    let _ = std::fs::remove_dir_all(&root);
    // Slots take longer to start than this window lasts, so only long runs know anything of them.
    let (plain, rest) = SCENARIO.split_once("[scheme.slots]").unwrap();
    let text = format!("{plain}[sweep]{}", rest.split_once("[sweep]").unwrap().1).replace("seeds = 3", "seeds = 12");
    let loaded = load(&text.replace("measure = \"2 ms\"", "measure = \"500 us\""));
    let go = |name: &str, jobs, until: &str| {
        let until = Some(until.parse().unwrap());
        let options = Options { until, ..Options::new(jobs, root.join(name)) };
        run(Simulator::default(), &loaded, &options, &AtomicBool::new(false), &|_| {}).unwrap()
    };
    let one = go("one", 1, "goodput=30%");
    let many = go("many", 16, "goodput=30%");
    assert!(one.unneeded > 0 && one.runs + one.unneeded == 48 && one.missing == 0, "{}", one.unneeded);
    assert_eq!(one.comparison.to_json(), many.comparison.to_json());
    let table = |o: &Outcome| std::fs::read(o.directory.join("summary.csv")).unwrap();
    assert_eq!(table(&one), table(&many));
    // Each point has the least sufficient number of seeds: with one less, a scheme is not known.
    let spread = |runs: &[&RunSummary]| {
        let values: Vec<f64> = runs.iter().map(|r| Metric::Goodput.value(r).unwrap()).collect();
        let interval = Interval::of(&values, 0.95).unwrap();
        interval.half_width.unwrap() / interval.mean
    };
    for load in ["0.2", "0.6"] {
        let of = |scheme: &str| -> Vec<&RunSummary> {
            one.summaries.iter().filter(|s| s.scheme == scheme && s.point["workload.poisson.load"] == load).collect()
        };
        let (seeds, schemes) = (of("cubic").len(), ["cubic", "datagrams"]);
        assert!(seeds >= 3 && schemes.iter().all(|c| of(c).len() == seeds));
        assert!(seeds == 12 || schemes.iter().all(|c| spread(&of(c)) <= 0.3));
        assert!(seeds == 3 || schemes.iter().any(|c| spread(&of(c)[..seeds - 1]) > 0.3));
    }
    let strict = go("one", 2, "goodput=0.01%");
    assert_eq!((strict.runs, strict.unneeded), (48, 0), "where it is never known, all seeds are run");
}

fn planned(points: usize, schemes: usize, seeds: u64) -> Vec<PlannedRun> {
    let mut all = Vec::new();
    for point in 0..points {
        for scheme in 0..schemes {
            for seed in 0..seeds {
                let key = format!("{:016x}", (point * 100 + scheme) as u64 * 1000 + seed);
                let scheme = format!("c{scheme}");
                all.push(PlannedRun { point, values: IndexMap::new(), scheme, seed, key, complete: false });
            }
        }
    }
    all
}

/// A store without runs.
fn empty(name: &str) -> Store {
    let results = folder().join(format!("empty-{name}"));
    let _ = std::fs::remove_dir_all(&results);
    Store::open(&results, name).unwrap()
}

#[test]
fn shares_are_all_runs_each_once() {
    let store = empty("shares");
    let share = |number| {
        let mut sweep = Sweep::new(planned(3, 2, 5), None, Some(Shard { number, of: 4 }));
        sweep.wanted(&store, 2).unwrap()
    };
    let mut all: Vec<usize> = (1..=4).flat_map(share).collect();
    all.sort_unstable();
    assert_eq!(all, (0..30).collect::<Vec<_>>());
}

#[test]
fn the_first_seeds_are_wanted_first_and_a_few_ahead() {
    let store = empty("ahead");
    let until = Some(Until { metric: Metric::FctMean, within: 0.05 });
    let seeds = |at_once| {
        let mut sweep = Sweep::new(planned(1, 2, 9), until, None);
        let wanted = sweep.wanted(&store, at_once).unwrap();
        wanted.into_iter().map(|r| sweep.planned()[r].seed).collect::<Vec<_>>()
    };
    assert_eq!(seeds(1), [0, 1, 2, 0, 1, 2]);
    assert_eq!(seeds(6), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
}

/// A run with another schedule of rotor switches is another run, although the scenario names the
/// same file.
#[test]
fn a_changed_schedule_file_makes_other_runs() {
    let text = r#"
        name = "schedule"
        [fabric]
        rate = "10 Gb/s"
        [fabric.topology.rotor]
        racks = 2
        hosts_per_rack = 2
        switches = 1
        slice = "20 us"
        matchings.file = "batch-schedule.txt"
        [workload.shuffle]
        bytes = "1 kB"
        [scheme.direct]
        transport.datagrams = {}
        rotor.routing.direct = {}
    "#;
    let key = |schedule: &str| {
        std::fs::write(folder().join("batch-schedule.txt"), schedule).expect("a folder that can be written to");
        let options = Options::new(1, folder().join("batch-schedule"));
        let planned = plan(&Simulator::default(), &load(text), &options).unwrap_or_else(|e| panic!("{e}"));
        planned[0].key.clone()
    };
    let first = key("1 0\n-1 -1\n");
    assert_eq!(key("1 0\n-1 -1\n"), first);
    assert_ne!(key("1 0\n-1 -1\n-1 -1\n"), first);
}
