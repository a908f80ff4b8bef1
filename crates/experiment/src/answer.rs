//! The answer of a command that ran a scenario: comparison, checks and exit code. The simulator and
//! the lab print the same text and JSON.

use crate::checks::{self, CheckError, Checked};
use crate::exit::ExitCode;
use crate::experiment::Outcome;
use serde_json::Value;
use timeplane_scenario::Loaded;

/// An outcome and the scenario's checks, ready to be printed.
pub struct Answer<'a> {
    description: Option<&'a str>,
    outcome: &'a Outcome,
    checked: Vec<Checked>,
    /// Checks that cannot be evaluated: each with its key and the missing scheme.
    pub not_checked: Vec<String>,
}

impl<'a> Answer<'a> {
    /// Evaluates the checks. If runs are missing, no check is evaluated.
    ///
    /// # Errors
    /// If a check is invalid.
    pub fn new(loaded: &'a Loaded, outcome: &'a Outcome) -> Result<Self, CheckError> {
        let metrics = checks::validate(loaded)?;
        let description = loaded.scenario.description.as_deref().map(str::trim);
        let mut answer = Self { description, outcome, checked: Vec::new(), not_checked: Vec::new() };
        if !outcome.interrupted && outcome.missing == 0 && !metrics.is_empty() {
            answer.not_checked = checks::left_out(loaded, &outcome.summaries);
            answer.checked = checks::evaluate(loaded, &metrics, &outcome.summaries, outcome.comparison.bounds());
        }
        Ok(answer)
    }

    /// Everything for programs.
    pub fn to_json(&self) -> Value {
        let outcome = self.outcome;
        let mut json = outcome.comparison.to_json();
        json["directory"] = outcome.directory.display().to_string().into();
        json["runs"] = outcome.runs.into();
        json["cached"] = outcome.cached.into();
        json["unneeded"] = outcome.unneeded.into();
        json["missing"] = outcome.missing.into();
        json["checks"] = checks::to_json(&self.checked);
        json["interrupted"] = outcome.interrupted.into();
        json
    }

    /// The scenario's description, the comparison in `width` columns, the driver's `lines` and the
    /// checks.
    pub fn to_text(&self, width: usize, lines: &str) -> String {
        let description = self.description.map(|d| format!("{d}\n\n")).unwrap_or_default();
        let checks = if self.checked.is_empty() { String::new() } else { checks::to_text(&self.checked) };
        format!("{description}{}{lines}{checks}", self.outcome.comparison.to_text(width))
    }

    /// The message to the user after an interrupt.
    pub fn interruption(&self) -> Option<String> {
        let Outcome { interrupted, runs, missing, unneeded, directory, .. } = self.outcome;
        interrupted.then(|| {
            format!(
                "interrupted: {runs} of {} runs are complete and stay in {}; run the same command again to continue",
                runs + missing + unneeded,
                directory.display()
            )
        })
    }

    /// The exit code of the command.
    pub fn exit_code(&self) -> ExitCode {
        if self.outcome.interrupted {
            ExitCode::Interrupted
        } else if checks::all_met(&self.checked) {
            ExitCode::Ok
        } else {
            ExitCode::CheckFailed
        }
    }
}
