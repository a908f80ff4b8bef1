//! `timeplane live lab`.

use super::report::line;
use super::run::{self, Options, Outcome, Progress, RunError};
use crate::config::encoding_named;
use crate::gate::SafeState;
use crate::service::Stop;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration as Wait;
use timeplane_model::Duration;
use timeplane_protocol::wire::SignalEncoding;
use timeplane_scenario::{Loaded, split_override};

/// Arguments of `lab`.
#[derive(Clone, Debug, Args)]
pub struct LabArgs {
    /// The scenario, a TOML file
    file: PathBuf,
    /// Changes a value; several values are tried one after the other, several keys make a grid
    #[arg(long, value_name = "KEY=VALUE,..", value_parser = split_override)]
    set: Vec<(String, Vec<String>)>,
    /// How many seeds, instead of the scenario's own number
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Only these controls [default: all that can run on real hosts]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    control: Vec<String>,
    /// How signals travel: experimental, mac_control, pfc, udp, plain_pfc_insecure
    #[arg(long, default_value = "experimental", value_parser = encoding_named)]
    encoding: SignalEncoding,
    /// For how long agents believe a manager that is not heard of
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    lease: Duration,
    /// What gates are after that
    #[arg(long, value_enum, default_value = "closed")]
    safe: Safe,
    /// Without real-time priority
    #[arg(long)]
    no_real_time: bool,
    /// Of the lab's namespaces [default: the scenario's]
    #[arg(long)]
    name: Option<String>,
    /// Folder in which results/NAME-live is made
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// Keeps configurations and logs of the daemons, and says where
    #[arg(long)]
    keep: bool,
    /// Prints the comparison as JSON
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Safe {
    Closed,
    Open,
}

/// Exit codes, as those of `timeplane`.
mod exit {
    pub const OK: u8 = 0;
    pub const FAILED: u8 = 1;
    pub const CONFIGURATION: u8 = 2;
    pub const INTERRUPTED: u8 = 130;
}

/// Runs it: answers on stdout, everything else on stderr; its exit code.
pub fn lab(args: &LabArgs) -> u8 {
    let mut overrides = args.set.clone();
    overrides.extend(args.seeds.map(|n| ("seeds".to_owned(), vec![n.to_string()])));
    let (loaded, stop) = match (Loaded::from_file(&args.file, &overrides), Stop::on_signals()) {
        (Ok(loaded), Ok(stop)) => (loaded, stop),
        (Err(e), _) => return refused(&RunError::Scenario(e)),
        (_, Err(e)) => {
            eprintln!("error: {e}");
            return exit::FAILED;
        }
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(e) => {
            eprintln!("error: this program does not know where it is: {e}");
            return exit::FAILED;
        }
    };
    let options = Options {
        program,
        results: args.results.clone(),
        name: args.name.clone().unwrap_or_else(|| name_of(&loaded.name())),
        controls: args.control.clone(),
        encoding: args.encoding,
        lease: args.lease,
        safe: match args.safe {
            Safe::Closed => SafeState::Closed,
            Safe::Open => SafeState::Open,
        },
        real_time: !args.no_real_time,
        keep: args.keep,
    };
    if !loaded.scenario.check.is_empty() {
        eprintln!("the scenario's checks are for simulations: they are not looked at here");
    }
    let bar = bar(args.quiet);
    let told = |progress: Progress<'_>| match progress {
        Progress::LeftOut(why) => bar.suspend(|| eprintln!("left out: {why}")),
        Progress::Started(q) => {
            let point: Vec<String> = q.values.iter().map(|(k, v)| format!("{k} = {v}, ")).collect();
            let what = format!("{}{}, seed {}", point.concat(), q.control, q.seed);
            if bar.is_hidden() && !args.quiet {
                eprintln!("{what}");
            }
            bar.set_position(0);
            bar.set_message(what);
        }
        Progress::Share(share) => bar.set_position((share * 1000.0) as u64),
        Progress::Finished { .. } => bar.set_position(0),
        Progress::Kept(folder) => bar.suspend(|| eprintln!("kept: {}", folder.display())),
    };
    let outcome = run::run(&loaded, &options, &|| stop.is_set(), &told);
    bar.finish_and_clear();
    match outcome {
        Ok(outcome) => answer(args, &loaded, &outcome, stop.is_set()),
        Err(_) if stop.is_set() => {
            eprintln!("interrupted");
            exit::INTERRUPTED
        }
        Err(e) => refused(&e),
    }
}

fn refused(e: &RunError) -> u8 {
    match e {
        RunError::Scenario(e) => {
            for issue in e.issues() {
                eprintln!("error: {issue}");
                if let Some(help) = &issue.help {
                    eprintln!("  help: {help}");
                }
            }
        }
        e => eprintln!("error: {e}"),
    }
    if e.is_configuration() { exit::CONFIGURATION } else { exit::FAILED }
}

fn answer(args: &LabArgs, loaded: &Loaded, outcome: &Outcome, interrupted: bool) -> u8 {
    let missing = outcome.runs < outcome.planned;
    let text = if args.json {
        let mut json = outcome.comparison.to_json();
        json["directory"] = outcome.directory.display().to_string().into();
        json["runs"] = outcome.runs.into();
        json["cached"] = outcome.cached.into();
        json["interrupted"] = missing.into();
        let live = outcome.live.iter().map(|(q, live)| {
            let mut live = live.clone();
            // What daemons have counted is in the files.
            for long in ["agents", "managers", "observer", "circuits"] {
                let _ = live.as_object_mut().map(|l| l.shift_remove(long));
            }
            json!({ "point": q.values, "control": q.control, "seed": q.seed, "live": live })
        });
        json["live"] = live.collect();
        format!("{json:#}\n")
    } else {
        let about = loaded.scenario.description.as_ref().map(|d| format!("{}\n\n", d.trim()));
        let mut text = about.unwrap_or_default() + &outcome.comparison.to_text(width());
        for (q, live) in &outcome.live {
            let point: Vec<String> = q.values.values().map(|v| format!("{v}, ")).collect();
            text += &format!("{}{}, seed {}: {}\n", point.concat(), q.control, q.seed, line(live));
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
    if !args.quiet {
        eprintln!("{} runs, {} complete before; results in {place}", outcome.runs, outcome.cached);
    }
    exit::OK
}

/// What namespaces of a scenario's lab begin with: its letters and digits.
fn name_of(scenario: &str) -> String {
    let plain =
        scenario.chars().map(|c| c.to_ascii_lowercase()).filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    format!("tp{}", plain.take(24).collect::<String>())
}

/// Columns of the terminal; 120 where there is none.
fn width() -> usize {
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
