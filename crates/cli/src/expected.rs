//! How long all runs of a scenario will take, from trials: the beginnings of some runs.
//!
//! Schemes differ by factors of a hundred, and so do points of a sweep. So each scheme is tried at
//! the first, the middle and the last point, and what it takes for a data frame is taken to be the
//! same at the others.

use crate::fail::Failure;
use crate::output;
use crate::preview::{Sources, frames_of_run};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use timeplane_experiment::{Extent, PlannedRun, Pulse};
use timeplane_model::Bytes;
use timeplane_results::Recorder;
use timeplane_scenario::{Loaded, Point};
use timeplane_schedule::Algorithms;
use timeplane_sim::memory;
use timeplane_sim::run::{RunError, RunSpec, simulate};

/// The longest time of all trials.
const TRIALS: Duration = Duration::from_secs(3);
/// How often it is looked whether a trial is over.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// A trial that has come less far tells nothing.
const TELLING: f64 = 0.002;
/// Runs that need more memory are not tried.
const MOST_MEMORY: Bytes = Bytes::mb(1000);

/// What a scheme takes, from its trials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cost {
    seconds: f64,
    frames: f64,
}

/// Why no time is expected.
#[derive(Clone, Debug, PartialEq)]
enum Unknown {
    Large(Bytes),
    Slow(String),
    Failed(String),
}

/// The line of a preview that says how long all runs take; empty if none is missing.
pub fn expected(
    loaded: &Loaded,
    points: &[Point],
    planned: &[PlannedRun],
    jobs: usize,
    cancel: &AtomicBool,
) -> Result<String, Failure> {
    let missing: Vec<&PlannedRun> = planned.iter().filter(|run| !run.complete).collect();
    if missing.is_empty() {
        return Ok(String::new());
    }
    let mut sources = Sources::default();
    let mut frames = Vec::new();
    for point in points {
        let both = sources.of(&point.scenario, loaded)?;
        // Where the number of frames is unknown, all points count the same.
        frames.push(frames_of_run(&point.scenario, &both.0, &both.1).max(1.0));
    }
    let costs = match tried(loaded, points, &missing, &frames, &mut sources, cancel)? {
        Ok(costs) => costs,
        Err(Unknown::Large(bytes)) => return Ok(format!("unknown: a trial would need {}", memory::in_gb(bytes))),
        Err(Unknown::Slow(scheme)) => return Ok(format!("unknown: the trial of {scheme} did not come far enough")),
        Err(Unknown::Failed(why)) => return Ok(format!("unknown: a trial failed: {why}")),
    };
    let runs = missing.iter().map(|run| (run.scheme.as_str(), frames[run.point]));
    let seconds = total(runs, &costs, jobs);
    let at_once = jobs.min(missing.len());
    let with = if at_once > 1 { format!(", {at_once} runs at a time") } else { String::new() };
    Ok(format!("about {} on this machine{with}", rounded(seconds)))
}

/// The cost of each scheme.
fn tried<'a>(
    loaded: &Loaded,
    points: &[Point],
    missing: &[&'a PlannedRun],
    frames: &[f64],
    sources: &mut Sources,
    cancel: &AtomicBool,
) -> Result<Result<BTreeMap<&'a str, Cost>, Unknown>, Failure> {
    let trials = chosen(missing);
    let longest = TRIALS / trials.len().max(1) as u32;
    let mut costs = BTreeMap::<&str, Cost>::new();
    for run in trials {
        let scenario = &points[run.point].scenario;
        let Some(scheme) = scenario.scheme.get(&run.scheme) else { continue };
        let both = sources.of(scenario, loaded)?;
        let (fabric, source) = &*both;
        let needed = memory::least(scenario, scheme, fabric, source);
        if needed > MOST_MEMORY {
            return Ok(Err(Unknown::Large(needed)));
        }
        let point = run.values.clone();
        let spec = RunSpec { scenario, scheme: &run.scheme, point, seed: run.seed, base: &loaded.base };
        let extent = Extent::new(scenario, source);
        let algorithms = Algorithms::built_in();
        let work = |pulse: &Pulse| simulate(&spec, fabric, source, &algorithms, Recorder::discard(), pulse).map(drop);
        match trial(longest, cancel, &extent, work) {
            _ if cancel.load(Ordering::Relaxed) => return Ok(Ok(costs)),
            Err(e) => return Ok(Err(Unknown::Failed(e.to_string()))),
            Ok(None) => return Ok(Err(Unknown::Slow(run.label()))),
            Ok(Some(seconds)) => {
                let cost = costs.entry(&run.scheme).or_default();
                cost.seconds += seconds;
                cost.frames += frames[run.point];
            }
        }
    }
    Ok(Ok(costs))
}

/// The runs that are tried: of each scheme one at the first, the middle and the last of its points.
fn chosen<'a>(missing: &[&'a PlannedRun]) -> Vec<&'a PlannedRun> {
    let mut of_scheme = BTreeMap::<&str, BTreeMap<usize, &PlannedRun>>::new();
    for run in missing {
        of_scheme.entry(&run.scheme).or_default().entry(run.point).or_insert(run);
    }
    let mut all = Vec::new();
    for runs in of_scheme.into_values() {
        let runs: Vec<_> = runs.into_values().collect();
        let mut places = vec![0, runs.len() / 2, runs.len() - 1];
        places.dedup();
        all.extend(places.into_iter().map(|place| runs[place]));
    }
    all
}

/// The seconds of a whole run: it is run for `longest` and goes on like this, or it ends before.
/// `None` if it has not come far enough to tell.
#[expect(clippy::disallowed_methods, reason = "the trial is ended from another thread")]
fn trial(
    longest: Duration,
    cancel: &AtomicBool,
    extent: &Extent,
    work: impl FnOnce(&Pulse) -> Result<(), RunError> + Send,
) -> Result<Option<f64>, RunError> {
    let pulse = Pulse::default();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| (work(&pulse), begun.elapsed()));
        while !worker.is_finished() && begun.elapsed() < longest && !cancel.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
        }
        pulse.cancel.store(true, Ordering::Relaxed);
        let (ended, took) = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match ended {
            Ok(()) => Ok(Some(took.as_secs_f64())),
            Err(RunError::Cancelled) => {
                let share = extent.share(&pulse).filter(|&share| share >= TELLING);
                Ok(share.map(|share| took.as_secs_f64() / share))
            }
            Err(e) => Err(e),
        }
    })
}

/// The seconds of all runs, `jobs` at a time: their schemes and frames.
fn total<'a>(runs: impl Iterator<Item = (&'a str, f64)>, costs: &BTreeMap<&str, Cost>, jobs: usize) -> f64 {
    let (mut work, mut longest) = (0.0, 0.0f64);
    for (scheme, frames) in runs {
        let cost = costs.get(scheme).copied().unwrap_or_default();
        let seconds = if cost.frames > 0.0 { cost.seconds / cost.frames * frames } else { 0.0 };
        work += seconds;
        longest = longest.max(seconds);
    }
    longest.max(work / jobs.max(1) as f64)
}

/// A time as a person would say it, with one digit: trials tell no more.
fn rounded(seconds: f64) -> String {
    let one_digit = |n: f64| {
        let unit = 10f64.powf(n.log10().floor().max(0.0));
        ((n / unit).round() * unit) as u64
    };
    match seconds {
        s if s < 1.0 => "1 s".to_owned(),
        s if s < 60.0 => format!("{} s", one_digit(s)),
        s if s < 3600.0 => format!("{} min", one_digit(s / 60.0)),
        s if s < 86_400.0 => output::count(one_digit(s / 3600.0), "hour"),
        s => output::count(one_digit(s / 86_400.0), "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;

    fn run(point: usize, scheme: &str, seed: u64) -> PlannedRun {
        PlannedRun { point, values: IndexMap::new(), scheme: scheme.into(), seed, key: String::new(), complete: false }
    }

    #[test]
    fn each_scheme_is_tried_at_three_points() {
        let all: Vec<PlannedRun> =
            (0..5).flat_map(|p| ["a", "b"].map(|s| [run(p, s, 1), run(p, s, 2)])).flatten().collect();
        let of = |runs: &[&PlannedRun]| -> Vec<(usize, String, u64)> {
            chosen(runs).iter().map(|r| (r.point, r.scheme.clone(), r.seed)).collect()
        };
        let six: Vec<_> = ["a", "b"].iter().flat_map(|s| [0, 2, 4].map(|p| (p, (*s).to_owned(), 1))).collect();
        assert_eq!(of(&all.iter().collect::<Vec<_>>()), six);
        // What is complete already is not tried.
        assert_eq!(of(&[&all[2], &all[3], &all[7]]), [(0, "b".to_owned(), 1), (1, "b".to_owned(), 2)]);
    }

    #[test]
    fn a_total_counts_frames_and_the_longest_run() {
        let costs = BTreeMap::from([
            ("cheap", Cost { seconds: 1.0, frames: 1000.0 }),
            ("dear", Cost { seconds: 30.0, frames: 3000.0 }),
        ]);
        let runs = [("cheap", 1000.0), ("dear", 1000.0), ("dear", 2000.0)];
        assert_eq!(total(runs.into_iter(), &costs, 1), 31.0);
        assert_eq!(total(runs.into_iter(), &costs, 2), 20.0, "one run takes 20 s");
    }

    /// A run that a trial ends after a fifth takes five times as long as its trial.
    #[test]
    fn a_trial_that_is_ended_tells_the_rest() {
        let scenario = "[fabric]\ntopology.single_switch.hosts = 2\nrate = \"1 Gb/s\"\n\
            [workload.shuffle]\nbytes = \"1 MB\"\n[scheme.a]\ntransport.tcp = {}\n";
        let loaded = Loaded::from_str(scenario, "a.toml", std::path::Path::new("."), &[]).unwrap();
        let point = loaded.points().unwrap().remove(0);
        let both = Sources::default().of(&point.scenario, &loaded).unwrap();
        let extent = Extent::new(&point.scenario, &both.1);
        let bytes = both.1.facts().bytes.unwrap();
        let ended = |share: u64| {
            move |pulse: &Pulse| {
                pulse.events.store(1, Ordering::Relaxed);
                pulse.bytes.store(bytes * share / 1000, Ordering::Relaxed);
                while !pulse.cancel.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                Err(RunError::Cancelled)
            }
        };
        let never = AtomicBool::new(false);
        let seconds = trial(Duration::from_millis(20), &never, &extent, ended(200)).unwrap().unwrap();
        assert!(seconds >= 0.1, "{seconds}");
        let short = Duration::from_millis(1);
        assert_eq!(trial(short, &never, &extent, ended(1)).unwrap(), None, "it has not come far enough");
        assert!(trial(short, &never, &extent, |_| Ok(())).unwrap().is_some());
    }

    #[test]
    fn times_have_one_digit() {
        let all = [0.01, 4.4, 37.0, 61.0, 1400.0, 7000.0, 40_000.0, 100_000.0, 2_000_000.0].map(rounded);
        assert_eq!(all, ["1 s", "4 s", "40 s", "1 min", "20 min", "2 hours", "10 hours", "1 day", "20 days"]);
    }
}
