//! Why the command ends without an answer, and how that is told.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use serde_json::json;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal};
use timeplane_experiment::{ExitCode, ExperimentError};
use timeplane_scenario::{Issue, Location, ScenarioError};
use timeplane_sim::SimulationError;

/// Why the command ends without an answer.
#[derive(Debug)]
pub enum Failure {
    /// Something is wrong with the scenario.
    Scenario(Box<ScenarioError>),
    /// Anything else: an exit code and what to say.
    Said(ExitCode, String),
    /// Everything has been said already.
    Silent(ExitCode),
}

impl From<ScenarioError> for Failure {
    fn from(e: ScenarioError) -> Self {
        Self::Scenario(Box::new(e))
    }
}

impl From<SimulationError> for Failure {
    fn from(e: SimulationError) -> Self {
        match e {
            ExperimentError::Scenario(e) => e.into(),
            e => Self::Said(e.exit_code(), e.to_string()),
        }
    }
}

impl Failure {
    /// The scenario or the command line is wrong.
    pub fn configuration(what: impl Display) -> Self {
        Self::Said(ExitCode::Configuration, what.to_string())
    }
    /// What should have happened did not.
    pub fn failed(what: impl Display) -> Self {
        Self::Said(ExitCode::Failed, what.to_string())
    }
    /// Says on stderr what went wrong, and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Scenario(e) => {
                issues(e.issues(), &e, "error");
                ExitCode::Configuration
            }
            Self::Said(code, what) => {
                eprintln!("error: {what}");
                code
            }
            Self::Silent(code) => code,
        }
    }
}

/// Prints warnings.
pub fn warnings(warnings: &[Issue]) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}

/// Prints issues: with the piece of the file on a terminal, in lines otherwise.
fn issues(issues: &[Issue], error: &ScenarioError, severity: &str) {
    let on_terminal = io::stderr().is_terminal();
    for issue in issues {
        match &issue.location {
            Some(location) if on_terminal && location.line.is_some() => {
                eprintln!("{}", fancy(issue, location, error).trim_end());
            }
            _ => {
                eprintln!("{severity}: {issue}");
                if let Some(help) = &issue.help {
                    eprintln!("  help: {help}");
                }
            }
        }
    }
}

fn fancy(issue: &Issue, location: &Location, error: &ScenarioError) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let theme = if plain { GraphicalTheme::unicode_nocolor() } else { GraphicalTheme::unicode() };
    let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false);
    let source = &error.sources()[location.source];
    let shown = Shown { issue, location, source: NamedSource::new(&source.name, source.text.clone()) };
    let mut text = String::new();
    match handler.render_report(&mut text, &shown) {
        Ok(()) => text,
        Err(fmt::Error) => format!("error: {issue}\n"),
    }
}

/// An issue as miette wants it. Its first line says file, line and column, as editors look for them.
#[derive(Debug)]
struct Shown<'a> {
    issue: &'a Issue,
    location: &'a Location,
    source: NamedSource<String>,
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.issue.fmt(f)
    }
}
impl std::error::Error for Shown<'_> {}
impl Diagnostic for Shown<'_> {
    fn help<'b>(&'b self) -> Option<Box<dyn Display + 'b>> {
        self.issue.help.as_ref().map(|help| Box::new(help) as Box<dyn Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some("here".to_owned()), self.location.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// Issues for programs.
pub fn as_json(issues: &[Issue]) -> serde_json::Value {
    let issue = |i: &Issue| {
        json!({
            "key": i.key,
            "message": i.problem.to_string(),
            "help": i.help,
            "file": i.location.as_ref().map(|l| &l.name),
            "line": i.location.as_ref().and_then(|l| l.line),
            "column": i.location.as_ref().and_then(|l| l.column),
        })
    };
    issues.iter().map(issue).collect()
}
