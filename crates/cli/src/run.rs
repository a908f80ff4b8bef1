//! `run`: every scheme of a scenario, every point, every seed.

use crate::fail::{self, Failure};
use crate::preview::{check, dry_run};
use crate::progress::Display;
use crate::{RunArgs, output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use timeplane_experiment::{ExitCode, Options, Progress, Shard, Until, checks};
use timeplane_scenario::Loaded;
use timeplane_sim::Simulator;

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    run_some(args, None, None)
}

/// The same with fewer runs: seeds until a metric is known well enough, or a share of all.
pub fn run_some(args: &RunArgs, until: Option<Until>, shard: Option<Shard>) -> Result<(), Failure> {
    let mut overrides = args.scenario.set.clone();
    overrides.extend(args.seeds.map(|n| ("seeds".to_owned(), vec![n.to_string()])));
    let loaded = Loaded::from_file(&args.scenario.file, &overrides)?;
    let (points, warnings) = check(&loaded)?;
    if !args.quiet {
        fail::warnings(&warnings);
    }
    let driver = Simulator::default();
    let jobs = args.jobs.map(|n| n as usize).or_else(|| std::thread::available_parallelism().ok().map(usize::from));
    let options = Options { until, shard, ..Options::new(jobs.unwrap_or(1), &args.results) };
    if args.dry_run {
        return output::text(&dry_run(&loaded, &points, &timeplane_experiment::plan(&driver, &loaded, &options)?)?);
    }
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancel);
    // A second interrupt does not wait for runs to notice. Where a handler is there already (Python's), it stays.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(ExitCode::Interrupted.into());
        }
    });
    let total = points.len() * loaded.scenario.scheme.len() * loaded.scenario.seeds as usize;
    let display = Display::new(total, args.quiet);
    let outcome = timeplane_experiment::run(driver, &loaded, &options, &cancel, &|p: Progress<'_>| display.on(p));
    display.end();
    let outcome = outcome?;
    // What an interrupt left, or a share, says nothing about what had to come out.
    let checked = if outcome.interrupted || outcome.missing > 0 || loaded.scenario.check.is_empty() {
        Vec::new()
    } else {
        let metrics = checks::validate(&loaded).map_err(Failure::configuration)?;
        checks::evaluate(&loaded, &metrics, &outcome.summaries, outcome.comparison.bounds())
    };
    if args.json {
        let mut json = outcome.comparison.to_json();
        json["directory"] = outcome.directory.display().to_string().into();
        json["runs"] = outcome.runs.into();
        json["cached"] = outcome.cached.into();
        json["unneeded"] = outcome.unneeded.into();
        json["missing"] = outcome.missing.into();
        json["checks"] = checks::to_json(&checked);
        json["interrupted"] = outcome.interrupted.into();
        output::json(&json)?;
    } else {
        if let Some(description) = &loaded.scenario.description {
            output::text(&format!("{}\n\n", description.trim()))?;
        }
        output::text(&outcome.comparison.to_text(output::width()))?;
        if !checked.is_empty() {
            output::text(&checks::to_text(&checked))?;
        }
    }
    if outcome.interrupted {
        eprintln!(
            "interrupted: {} of {total} runs are complete and stay in {}; the same command goes on from there",
            outcome.runs,
            outcome.directory.display()
        );
        return Err(Failure::Silent(ExitCode::Interrupted));
    }
    if !args.quiet {
        let (events, seconds) = display.total();
        let runs = output::count(outcome.runs as u64, "run");
        let place = outcome.directory.display();
        if outcome.cached == outcome.runs {
            eprintln!("{runs}, complete before; results in {place}");
        } else {
            let speed = output::rough(events as f64 / seconds.max(1e-3));
            eprintln!(
                "{runs} ({} complete before) in {seconds:.1} s, {speed} events/s; results in {place}",
                outcome.cached
            );
        }
        if let Some(until) = until.filter(|_| outcome.unneeded > 0) {
            let fewer = output::count(outcome.unneeded as u64, "run");
            let within = 100.0 * until.within;
            eprintln!(
                "{fewer} not needed: at every point, {} is known to {within} % or all seeds were run",
                until.metric.name()
            );
        }
        if outcome.missing > 0 {
            let others = output::count(outcome.missing as u64, "run");
            eprintln!(
                "{others} of other shares missing; when all are there, the same command without --shard makes the tables"
            );
        }
    }
    if checks::all_met(&checked) { Ok(()) } else { Err(Failure::Silent(ExitCode::CheckFailed)) }
}
