//! What the commands that answer a scenario's questions have in common: arguments, progress, the answer, and the exit code.

use crate::answers::{Outcome, Progress};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration as Wait;
use timeplane_experiment::checks;
use timeplane_live::service::Stop;
use timeplane_results::Metric;
use timeplane_scenario::{Loaded, ScenarioError, split_override};

/// Exit codes, as those of `timeplane`.
pub mod exit {
    /// All is well.
    pub const OK: u8 = 0;
    /// A run failed.
    pub const FAILED: u8 = 1;
    /// The scenario or the command line is wrong; nothing was run.
    pub const CONFIGURATION: u8 = 2;
    /// All ran, and something that had to hold does not.
    pub const CHECK: u8 = 3;
    /// Interrupted; complete runs are kept.
    pub const INTERRUPTED: u8 = 130;
}

/// What is run of a scenario, and where results go.
#[derive(Clone, Debug, Args)]
pub struct ScenarioArgs {
    /// Changes a value; several values are tried one after the other, several keys make a grid
    #[arg(long, value_name = "KEY=VALUE,..", value_parser = split_override)]
    set: Vec<(String, Vec<String>)>,
    /// How many seeds, instead of the scenario's own number
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Only these schemes [default: all that can run on real hosts]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub scheme: Vec<String>,
    /// Of the namespaces: what their names begin with [default: the scenario's name]
    #[arg(long)]
    name: Option<String>,
    /// Folder in which results/NAME-live is made
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// Prints the comparison as JSON
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// What people read of the runs' `live.json`, after the comparison.
pub type Lines<'a> = &'a dyn Fn(&Outcome) -> String;

impl ScenarioArgs {
    /// Reads the scenario with the changes asked for.
    ///
    /// # Errors
    /// With the exit code, once the error has been printed.
    pub fn load(&self, file: &Path) -> Result<Loaded, u8> {
        let mut overrides = self.set.clone();
        overrides.extend(self.seeds.map(|n| ("seeds".to_owned(), vec![n.to_string()])));
        Loaded::from_file(file, &overrides).map_err(|e| wrong_scenario(&e))
    }

    /// Runs a scenario by `run` and prints the comparison on stdout; everything else goes to stderr.
    /// With `--json`, the fields `long` of `live.json` stay in the files. Returns the exit code.
    pub fn answer<E: std::fmt::Display>(
        &self,
        loaded: &Loaded,
        run: impl FnOnce(&Stop, &dyn Fn(Progress<'_>)) -> Result<Outcome, E>,
        refused: impl FnOnce(E) -> u8,
        lines: Lines<'_>,
        long: &[&str],
    ) -> u8 {
        let stop = match Stop::on_signals() {
            Ok(stop) => stop,
            Err(e) => {
                eprintln!("error: {e}");
                return exit::FAILED;
            }
        };
        let metrics = match checks::validate(loaded) {
            Ok(metrics) => metrics,
            Err(e) => {
                eprintln!("error: {e}");
                return exit::CONFIGURATION;
            }
        };
        let bar = bar(self.quiet);
        let told = |progress: Progress<'_>| self.told(&bar, progress);
        let outcome = run(&stop, &told);
        bar.finish_and_clear();
        match outcome {
            Ok(outcome) => self.say(loaded, &metrics, &outcome, stop.is_set(), lines, long),
            Err(_) if stop.is_set() => {
                eprintln!("interrupted");
                exit::INTERRUPTED
            }
            Err(e) => refused(e),
        }
    }

    /// What the lab's namespaces begin with.
    pub fn lab_name(&self, loaded: &Loaded) -> String {
        self.name.clone().unwrap_or_else(|| name_of(&loaded.name()))
    }

    fn told(&self, bar: &ProgressBar, progress: Progress<'_>) {
        match progress {
            Progress::LeftOut(why) => bar.suspend(|| eprintln!("left out: {why}")),
            Progress::Started(q) => {
                let point: Vec<String> = q.values.iter().map(|(k, v)| format!("{k} = {v}, ")).collect();
                let what = format!("{}{}, seed {}", point.concat(), q.scheme, q.seed);
                if bar.is_hidden() && !self.quiet {
                    eprintln!("{what}");
                }
                bar.set_position(0);
                bar.set_message(what);
            }
            Progress::Share(share) => bar.set_position((share * 1000.0) as u64),
            Progress::Finished { .. } => bar.set_position(0),
            Progress::Said(line) => bar.suspend(|| eprintln!("{line}")),
            Progress::Kept(folder) => bar.suspend(|| eprintln!("kept: {}", folder.display())),
        }
    }

    fn say(
        &self,
        loaded: &Loaded,
        metrics: &[Metric],
        outcome: &Outcome,
        interrupted: bool,
        lines: Lines<'_>,
        long: &[&str],
    ) -> u8 {
        let missing = outcome.runs < outcome.planned;
        // What an interrupt left says nothing about what had to come out.
        let checked = if missing {
            Vec::new()
        } else {
            for why in checks::left_out(loaded, &outcome.answers) {
                eprintln!("not checked: {why}");
            }
            checks::evaluate(loaded, metrics, &outcome.answers, outcome.comparison.bounds())
        };
        let text = if self.json {
            let mut json = outcome.comparison.to_json();
            json["directory"] = outcome.directory.display().to_string().into();
            json["runs"] = outcome.runs.into();
            json["cached"] = outcome.cached.into();
            json["checks"] = checks::to_json(&checked);
            json["interrupted"] = missing.into();
            let live = outcome.live.iter().map(|(q, live)| {
                let mut live = live.clone();
                for long in long {
                    let _ = live.as_object_mut().map(|l| l.shift_remove(*long));
                }
                json!({ "point": q.values, "scheme": q.scheme, "seed": q.seed, "live": live })
            });
            json["live"] = live.collect::<Value>();
            format!("{json:#}\n")
        } else {
            let about = loaded.scenario.description.as_ref().map(|d| format!("{}\n\n", d.trim()));
            let mut text = about.unwrap_or_default() + &outcome.comparison.to_text(width()) + &lines(outcome);
            if !checked.is_empty() {
                text += &checks::to_text(&checked);
            }
            text
        };
        let mut out = io::stdout().lock();
        if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
            && e.kind() != io::ErrorKind::BrokenPipe
        {
            eprintln!("error: cannot write the answer: {e}");
            return exit::FAILED;
        }
        let place = outcome.directory.display();
        if missing || interrupted {
            let (runs, planned) = (outcome.runs, outcome.planned);
            eprintln!(
                "interrupted: {runs} of {planned} runs are complete and stay in {place}; the same command goes on from there"
            );
            return exit::INTERRUPTED;
        }
        if !self.quiet {
            eprintln!("{} runs, {} complete before; results in {place}", outcome.runs, outcome.cached);
        }
        if checks::all_met(&checked) { exit::OK } else { exit::CHECK }
    }
}

/// Says on stderr what is wrong with a scenario.
pub fn wrong_scenario(e: &ScenarioError) -> u8 {
    for issue in e.issues() {
        eprintln!("error: {issue}");
        if let Some(help) = &issue.help {
            eprintln!("  help: {help}");
        }
    }
    exit::CONFIGURATION
}

/// A run as it is named in lines for people: `rate = 1 Gb/s, slots, seed 1`.
pub fn named(q: &timeplane_experiment::Question) -> String {
    let point: Vec<String> = q.values.values().map(|v| format!("{v}, ")).collect();
    format!("{}{}, seed {}", point.concat(), q.scheme, q.seed)
}

/// What namespaces of a scenario's lab begin with: its letters and digits.
fn name_of(scenario: &str) -> String {
    let plain =
        scenario.chars().map(|c| c.to_ascii_lowercase()).filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    format!("tp{}", plain.take(24).collect::<String>())
}

/// Columns of the terminal; 120 where there is none.
pub fn width() -> usize {
    let detected = comfy_table::Table::new().width().filter(|_| io::stdout().is_terminal());
    detected.map_or(120, usize::from)
}

fn bar(quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
    bar.set_style(ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}, {elapsed}").expect("a right template"));
    bar.enable_steady_tick(Wait::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_has_a_name_that_namespaces_can_have() {
        assert_eq!(name_of("Shuffle of 8, 50 Mb/s"), "tpshuffleof850mbs");
        assert!(name_of(&"x".repeat(99)).len() <= 32 && name_of("").starts_with("tp"));
    }
}
