//! Arguments, progress and printed results that the commands for running a scenario in a lab share.
//!
//! Results go to stdout, everything else to stderr.

use crate::answers::{LabError, Outcome};
use crate::checked;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration as Wait;
use timeplane_experiment::checks::Refusal;
use timeplane_experiment::{Answer, ExitCode, ExperimentError, PlannedRun, Progress, say};
use timeplane_live::service::Stop;
use timeplane_model::{printable, printable_json};
use timeplane_scenario::{Loaded, ScenarioError, split_override};

/// Which runs of a scenario to run, and where results go.
#[derive(Clone, Debug, Args)]
pub struct ScenarioArgs {
    /// Change a value. Several values are tried one after the other; several keys make a grid
    #[arg(long, value_name = "KEY=VALUE,..", value_parser = split_override)]
    set: Vec<(String, Vec<String>)>,
    /// Number of seeds, instead of the scenario's
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Run only these schemes [default: all that can run on real hosts]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub scheme: Vec<String>,
    /// Prefix of the namespaces' names [default: the scenario's name]
    #[arg(long)]
    name: Option<String>,
    /// Folder for the folder NAME-live
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    /// Do not show progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Lines about the runs' `live.json` that are printed after the comparison.
pub type Lines<'a> = &'a dyn Fn(&Outcome) -> String;

impl ScenarioArgs {
    /// Reads the scenario, applies the changes of the arguments, checks it as `timeplane run` does,
    /// and prints warnings.
    ///
    /// # Errors
    /// Returns the exit code after printing the error.
    pub fn load(&self, file: &Path) -> Result<Loaded, ExitCode> {
        let mut overrides = self.set.clone();
        overrides.extend(self.seeds.map(|n| ("seeds".to_owned(), vec![n.to_string()])));
        let (loaded, warnings) = checked::load(file, &overrides).map_err(|e| match e {
            Refusal::Scenario(e) => wrong_scenario(&e),
            Refusal::Check(e) => configuration(&e),
        })?;
        for warning in warnings.iter().filter(|_| !self.quiet) {
            say!("warning: {warning}");
        }
        Ok(loaded)
    }

    /// Runs a scenario by `run` and prints the comparison. With `--json`, the fields `long` of
    /// `live.json` stay in the files. Returns the exit code.
    pub fn answer<E: std::error::Error + 'static>(
        &self,
        loaded: &Loaded,
        run: impl FnOnce(&(dyn Fn() -> bool + Sync), &(dyn Fn(Progress<'_>) + Sync)) -> Result<Outcome, LabError<E>>,
        lines: Lines<'_>,
        long: &[&str],
    ) -> ExitCode {
        let stop = match Stop::on_signals() {
            Ok(stop) => stop,
            Err(e) => {
                say!("error: {e}");
                return ExitCode::Failed;
            }
        };
        let bar = bar(self.quiet);
        let outcome = run(&|| stop.is_set(), &|progress| self.show(&bar, progress));
        bar.finish_and_clear();
        match outcome {
            Ok(outcome) => self.print(loaded, &outcome, lines, long),
            Err(_) if stop.is_set() => {
                say!("interrupted");
                ExitCode::Interrupted
            }
            Err(e) => {
                if let LabError::Experiment(e) = &e
                    && let ExperimentError::Scenario(e) = &**e
                {
                    return wrong_scenario(e);
                }
                say!("error: {e}");
                e.exit_code()
            }
        }
    }

    /// Prefix of the namespaces' names.
    pub fn lab_name(&self, loaded: &Loaded) -> String {
        self.name.clone().unwrap_or_else(|| name_of(&loaded.name()))
    }

    fn show(&self, bar: &ProgressBar, progress: Progress<'_>) {
        match progress {
            Progress::LeftOut(why) => bar.suspend(|| say!("left out: {why}")),
            Progress::Note(line) => bar.suspend(|| say!("{line}")),
            Progress::Started { label, .. } => {
                if bar.is_hidden() && !self.quiet {
                    say!("{label}");
                }
                bar.set_position(0);
                bar.set_message(label.to_owned());
            }
            Progress::Tick { fraction, .. } => bar.set_position((fraction * 1000.0) as u64),
            Progress::Finished { .. } => bar.set_position(0),
            Progress::Left { .. } => {}
        }
    }

    fn print(&self, loaded: &Loaded, outcome: &Outcome, lines: Lines<'_>, long: &[&str]) -> ExitCode {
        let answer = match Answer::new(loaded, outcome) {
            Ok(answer) => answer,
            Err(e) => return configuration(&e),
        };
        for why in &answer.not_checked {
            say!("not checked: {why}");
        }
        let text = if self.json {
            let mut json = answer.to_json();
            json["live"] = outcome.live.iter().map(|(run, live)| live_json(run, live, long)).collect();
            printable_json(&format!("{json:#}\n")).into_owned()
        } else {
            printable(&answer.to_text(width(), &lines(outcome))).into_owned()
        };
        let mut out = io::stdout().lock();
        if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
            && e.kind() != io::ErrorKind::BrokenPipe
        {
            say!("error: cannot write the results: {e}");
            return ExitCode::Failed;
        }
        if let Some(interruption) = answer.interruption() {
            say!("{interruption}");
        } else if !self.quiet {
            let (runs, cached, place) = (outcome.runs, outcome.cached, outcome.directory.display());
            say!("{runs} runs, {cached} complete before; results in {place}");
        }
        answer.exit_code()
    }
}

fn configuration(e: &dyn std::fmt::Display) -> ExitCode {
    say!("error: {e}");
    ExitCode::Configuration
}

/// A run and its `live.json` without the fields `long`.
fn live_json(run: &PlannedRun, live: &Value, long: &[&str]) -> Value {
    let mut live = live.clone();
    for field in long {
        let _ = live.as_object_mut().map(|l| l.shift_remove(*field));
    }
    json!({ "point": run.values, "scheme": run.scheme, "seed": run.seed, "live": live })
}

/// Prints the problems of a scenario.
fn wrong_scenario(e: &ScenarioError) -> ExitCode {
    for issue in e.issues() {
        say!("error: {issue}");
        if let Some(help) = &issue.help {
            say!("  help: {help}");
        }
    }
    ExitCode::Configuration
}

/// The default prefix of the namespaces' names: letters and digits of the scenario's name.
fn name_of(scenario: &str) -> String {
    let plain =
        scenario.chars().map(|c| c.to_ascii_lowercase()).filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    format!("tp{}", plain.take(24).collect::<String>())
}

/// Columns of the terminal; 120 without one.
pub fn width() -> usize {
    let detected = comfy_table::Table::new().width().filter(|_| io::stdout().is_terminal());
    detected.map_or(120, usize::from)
}

fn bar(quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
    bar.set_style(ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}, {elapsed}").expect("a valid template"));
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
