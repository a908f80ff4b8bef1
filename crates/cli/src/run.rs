//! `run`: every scheme of a scenario at every point with every seed, in the simulator. `sweep` is
//! the same with fewer runs.

use crate::expected::expected;
use crate::fail::{self, Failure};
use crate::preview::{check, dry_run};
use crate::progress::Display;
use crate::{RunArgs, output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use timeplane_experiment::{Answer, ExitCode, Options, Outcome, Progress, Shard, Until, say};
use timeplane_sim::Simulator;

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    run_some(args, None, None)
}

/// Runs until a metric is known well enough, or a share of all runs.
pub fn run_some(args: &RunArgs, until: Option<Until>, shard: Option<Shard>) -> Result<(), Failure> {
    let seeds: Vec<_> = args.seeds.map(|n| ("seeds".to_owned(), vec![n.to_string()])).into_iter().collect();
    let loaded = args.scenario.load_with(&seeds)?;
    let (points, warnings) = check(&loaded)?;
    if !args.quiet {
        fail::warnings(&warnings);
    }
    let driver = Simulator::default();
    let jobs = args.jobs.map(|n| n as usize).or_else(|| std::thread::available_parallelism().ok().map(usize::from));
    let options = Options { until, shard, ..Options::new(jobs.unwrap_or(1), &args.results) };
    if args.dry_run {
        let planned = timeplane_experiment::plan(&driver, &loaded, &options)?;
        output::text(&dry_run(&loaded, &points, &planned)?)?;
        if !args.quiet {
            let cancel = cancelled_by_interrupt();
            let time = expected(&loaded, &points, &planned, options.jobs, &cancel)?;
            if cancel.load(Ordering::Relaxed) {
                return Err(Failure::Silent(ExitCode::Interrupted));
            }
            if !time.is_empty() {
                say!("time      {time}");
            }
        }
        return Ok(());
    }
    let cancel = cancelled_by_interrupt();
    let total = points.len() * loaded.scenario.scheme.len() * loaded.scenario.seeds as usize;
    let display = Display::new(total, args.quiet);
    let tell = |p: Progress<'_>| display.on(p);
    let outcome = timeplane_experiment::run(driver, &loaded, &options, &cancel, &tell);
    display.end();
    let outcome = outcome?;
    let answer = Answer::new(&loaded, &outcome).map_err(Failure::configuration)?;
    if args.json {
        output::json(&answer.to_json())?;
    } else {
        output::text(&answer.to_text(output::width(), ""))?;
    }
    if let Some(interruption) = answer.interruption() {
        say!("{interruption}");
    } else if !args.quiet {
        summarize(&outcome, &display, until);
    }
    match answer.exit_code() {
        ExitCode::Ok => Ok(()),
        code => Err(Failure::Silent(code)),
    }
}

/// A flag that the first interrupt sets. The second interrupt ends the process at once.
fn cancelled_by_interrupt() -> Arc<AtomicBool> {
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancel);
    // Fails if there is a handler already, as in Python; that one stays.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(ExitCode::Interrupted.into());
        }
    });
    cancel
}

/// Prints on stderr how many runs there are and where their results are.
fn summarize(outcome: &Outcome, display: &Display, until: Option<Until>) {
    let (events, seconds) = display.total();
    let runs = output::count(outcome.runs as u64, "run");
    let place = outcome.directory.display();
    if outcome.cached == outcome.runs {
        say!("{runs}, complete before; results in {place}");
    } else {
        let speed = output::rough(events as f64 / seconds.max(1e-3));
        let cached = outcome.cached;
        say!("{runs} ({cached} complete before) in {seconds:.1} s, {speed} events/s; results in {place}");
    }
    if let Some(until) = until.filter(|_| outcome.unneeded > 0) {
        let fewer = output::count(outcome.unneeded as u64, "run");
        let (metric, within) = (until.metric.name(), 100.0 * until.within);
        say!("{fewer} not needed: at every point, {metric} is known to {within} % or all seeds were run");
    }
    if outcome.missing > 0 {
        let others = output::count(outcome.missing as u64, "run");
        say!(
            "{others} of other shares missing: when all shares are complete, run the same command without --shard to \
             write the tables"
        );
    }
}
