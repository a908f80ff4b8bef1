//! `timeplane live lab` for a scenario of rotor switches.
//!
//! After the comparison it prints a line for each run: hops, what came too late, and how late the
//! machine was.

use super::answers::{self, Options};
use crate::answers::Outcome;
use crate::arguments::ScenarioArgs;
use std::fmt::Write as _;
use timeplane_experiment::ExitCode;
use timeplane_scenario::Loaded;

/// Runs a scenario in the lab of rotor switches and prints the comparison; returns the exit code.
/// `real_time` says whether racks ask for real-time priority.
pub fn rotor(args: &ScenarioArgs, loaded: &Loaded, real_time: bool) -> ExitCode {
    let options =
        Options { results: args.results.clone(), name: args.lab_name(loaded), schemes: args.scheme.clone(), real_time };
    args.answer(loaded, |cancel, tell| answers::run(loaded, &options, cancel, tell), &lines, &["circuits"])
}

fn lines(outcome: &Outcome) -> String {
    let mut text = String::new();
    for (run, live) in &outcome.live {
        let count = |key: &str| live[key].as_u64().unwrap_or(0);
        let _ = writeln!(
            text,
            "{}: {:.2} hops; lost in the dark {}, at another rack {}; {} of {} wake-ups late, by {:.0} us at most",
            run.label(),
            live["mean_hops"].as_f64().unwrap_or(f64::NAN),
            count("dark"),
            count("misled"),
            count("late_wakes"),
            count("wakes"),
            live["longest_delay_us"].as_f64().unwrap_or(f64::NAN),
        );
    }
    text
}
