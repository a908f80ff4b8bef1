//! The overhead of a sweep of short runs: `sweep [RUNS [ROUNDS [JOBS]]]`, by default 1000 runs,
//! three rounds and two jobs.
//!
//! A round has the same runs twice. First they are a sweep (`timeplane_experiment::run`: keys,
//! folders, durable files, the table of all runs), then they run alone (`simulate`, with the files
//! that a run itself writes). Other load on the machine affects both. The round with the median
//! ratio counts. Results are on the disk of `TMPDIR`; a folder in memory shows the overhead without
//! a disk. Before each measurement the example waits for other writers to the disk.

use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use timeplane_experiment::{Options, PlannedRun, Prepared, Pulse};
use timeplane_results::Recorder;
use timeplane_scenario::Loaded;
use timeplane_schedule::Algorithms;
use timeplane_sim::Simulator;
use timeplane_sim::run::{RunSpec, simulate};

/// Two schemes, with about 20,000 packets per run.
const SCENARIO: &str = r#"
name = "short"
fabric = { topology.single_switch.hosts = 16, rate = "10 Gb/s", propagation = "1 us" }
workload.poisson = { load = 0.5, sizes.exponential = "20 kB" }
window = { warmup = "1 ms", measure = "10 ms" }
scheme.cubic.transport.tcp.min_rto = "2 ms"
scheme.slots = { transport.raw = {}, plan.tdma = { slot = "50 us", guard = "5 us" } }
"#;

/// Wall-clock seconds, and CPU seconds of all threads.
#[derive(Clone, Copy)]
struct Took {
    wall: f64,
    cpu: f64,
}

fn took(what: impl FnOnce()) -> Took {
    let cpu = || {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
    };
    let (wall, before) = (Instant::now(), cpu());
    what();
    Took { wall: wall.elapsed().as_secs_f64(), cpu: cpu() - before }
}

/// The runs without the overhead of a sweep.
fn alone(planned: &[PlannedRun], prepared: &Prepared, root: &Path, pool: &rayon::ThreadPool) {
    let algorithms = Algorithms::built_in();
    let one = |run: &PlannedRun| {
        let folder = root.join(&run.key);
        std::fs::create_dir_all(&folder).expect("a folder");
        let (scenario, point, base) = (&prepared.point.scenario, run.values.clone(), Path::new("."));
        let spec = RunSpec { scenario, scheme: &run.scheme, point, seed: run.seed, base };
        let recorder = Recorder::files(&folder).expect("files");
        simulate(&spec, &prepared.fabric, &prepared.source, &algorithms, recorder, &Pulse::default()).expect("a run");
    };
    pool.install(|| planned.par_iter().with_max_len(1).for_each(one));
}

fn main() {
    let number = |n, or| std::env::args().nth(n).map_or(or, |a| a.parse::<usize>().expect("a number"));
    let (runs, rounds, jobs) = (number(1, 1000), number(2, 3), number(3, 2));
    let seeds = [("seeds".to_owned(), vec![(runs / 2).to_string()])];
    let loaded = Loaded::from_str(SCENARIO, "short", ".", &seeds).expect("a scenario");
    let root = std::env::temp_dir().join(format!("timeplane-sweep-{}", std::process::id()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().expect("threads");
    let prepared = timeplane_experiment::prepare(&Simulator::default(), &loaded).expect("a workload");
    let mut measured: Vec<(f64, Took, Took)> = Vec::new();
    for _ in 0..rounds {
        let options = Options::new(jobs, root.join("sweep"));
        let planned = timeplane_experiment::plan(&Simulator::default(), &loaded, &options).expect("a plan");
        let never = AtomicBool::new(false);
        let all = took(|| {
            let outcome =
                timeplane_experiment::run(Simulator::default(), &loaded, &options, &never, &|_| {}).expect("runs");
            assert_eq!((outcome.runs, outcome.cached), (planned.len(), 0));
        });
        let own = took(|| alone(&planned, &prepared[0].0, &root.join("alone"), &pool));
        let lost = 1.0 - own.wall / all.wall;
        println!(
            "sweep {:.2} s ({:.2} CPU s), runs alone {:.2} s ({:.2} CPU s): {:.1} % lost, {:+.1} % CPU",
            all.wall,
            all.cpu,
            own.wall,
            own.cpu,
            100.0 * lost,
            100.0 * (all.cpu / own.cpu - 1.0)
        );
        measured.push((lost, all, own));
        std::fs::remove_dir_all(&root).expect("our folder");
    }
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((lost, all, own)) = measured.get(rounds / 2) {
        let each = 1e3 * own.cpu / runs as f64;
        println!(
            "{runs} runs of {each:.1} CPU ms on {jobs} threads: {:.1} % of the sweep lost to its organization, {:+.1} % CPU",
            100.0 * lost,
            100.0 * (all.cpu / own.cpu - 1.0)
        );
    }
}
