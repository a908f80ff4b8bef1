//! Errors of the command: how they are printed, and with which exit code it ends. Errors go to
//! stderr, with an excerpt of the scenario on a terminal and as single lines elsewhere.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use serde_json::json;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use timeplane_experiment::checks::Refusal;
use timeplane_experiment::{ExitCode, ExperimentError, say};
use timeplane_model::{printable, printable_line};
use timeplane_scenario::{Issue, Location, ScenarioError};
use timeplane_sim::SimulationError;

/// Why the command ends without an answer.
#[derive(Debug)]
pub enum Failure {
    /// The scenario is invalid.
    Scenario(Box<ScenarioError>),
    /// Any other error: exit code and message.
    Message(ExitCode, String),
    /// The message has been printed already.
    Silent(ExitCode),
}

impl From<ScenarioError> for Failure {
    fn from(e: ScenarioError) -> Self {
        Self::Scenario(Box::new(e))
    }
}

impl From<Refusal> for Failure {
    fn from(e: Refusal) -> Self {
        match e {
            Refusal::Scenario(e) => e.into(),
            Refusal::Check(e) => Self::configuration(e),
        }
    }
}

impl From<SimulationError> for Failure {
    fn from(e: SimulationError) -> Self {
        match e {
            ExperimentError::Scenario(e) => e.into(),
            e => Self::Message(e.exit_code(), e.to_string()),
        }
    }
}

impl Failure {
    /// An invalid scenario or command line.
    pub fn configuration(what: impl Display) -> Self {
        Self::Message(ExitCode::Configuration, what.to_string())
    }
    /// A failed run, or output that cannot be written.
    pub fn failed(what: impl Display) -> Self {
        Self::Message(ExitCode::Failed, what.to_string())
    }
    /// Prints the error on stderr and returns the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Scenario(e) => {
                issues(e.issues(), &e, "error");
                ExitCode::Configuration
            }
            Self::Message(code, what) => {
                say!("error: {what}");
                code
            }
            Self::Silent(code) => code,
        }
    }
}

pub fn warnings(warnings: &[Issue]) {
    for warning in warnings {
        say!("warning: {warning}");
    }
}

/// Prints issues: with an excerpt of the file on a terminal, in lines elsewhere.
fn issues(issues: &[Issue], error: &ScenarioError, severity: &str) {
    let on_terminal = io::stderr().is_terminal();
    for issue in issues {
        match &issue.location {
            Some(location) if on_terminal && location.line.is_some() => {
                // Its colors are escape sequences; what it quotes has none.
                drop(writeln!(io::stderr(), "{}", fancy(issue, location, error).trim_end()));
            }
            _ => {
                say!("{severity}: {issue}");
                if let Some(help) = &issue.help {
                    say!("  help: {help}");
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
    let text = printable(&source.text).into_owned();
    // Escaped characters are longer, and the place moves.
    let moved = |at: usize| source.text.get(..at).map_or(text.len(), |before| printable(before).len());
    let span = moved(location.span.start)..moved(location.span.end);
    let shown = Shown { issue, span, source: NamedSource::new(printable_line(&source.name), text) };
    let mut text = String::new();
    match handler.render_report(&mut text, &shown) {
        Ok(()) => text,
        Err(fmt::Error) => format!("error: {}\n", printable(&issue.to_string())),
    }
}

/// An issue for miette. Its first line has file, line and column in the form that editors
/// recognize.
#[derive(Debug)]
struct Shown<'a> {
    issue: &'a Issue,
    span: Range<usize>,
    source: NamedSource<String>,
}

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.issue.to_string()))
    }
}
impl std::error::Error for Shown<'_> {}
impl Diagnostic for Shown<'_> {
    fn help<'b>(&'b self) -> Option<Box<dyn Display + 'b>> {
        self.issue.help.as_ref().map(|help| Box::new(printable(help).into_owned()) as Box<dyn Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some("here".to_owned()), self.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// Issues as JSON.
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
