//! What is wrong with a scenario, and where.

use crate::document::Origin;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use timeplane_model::{FabricError, UnitError};

/// A text that values come from: a scenario file, or one `--set`.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The file's path as it was given, or `--set KEY`.
    pub name: String,
    /// All of it.
    pub text: String,
    /// Whether it is a `--set` of the command line (or of Python), which has no lines.
    pub is_override: bool,
}

/// A place in a [`Source`].
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The file, or `--set KEY=VALUE`.
    pub name: String,
    /// Which of [`ScenarioError::sources`].
    pub source: usize,
    /// Bytes of the source.
    pub span: Range<usize>,
    /// From 1; missing for a `--set`.
    pub line: Option<usize>,
    /// In characters, from 1; missing for a `--set`.
    pub column: Option<usize>,
}

impl Location {
    pub(crate) fn new(origin: &Origin, sources: &[Source]) -> Option<Self> {
        let number = origin.source?;
        let source = sources.get(number)?;
        let (line, column, name) = if source.is_override {
            (None, None, format!("{}={}", source.name, source.text))
        } else {
            let before = source.text.get(..origin.span.start).unwrap_or(&source.text);
            let begin = before.rfind('\n').map_or(0, |i| i + 1);
            let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
            (Some(line), Some(before[begin..].chars().count() + 1), source.name.clone())
        };
        Some(Self { name, source: number, span: origin.span.clone(), line, column })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, ":{line}:{column}"),
            _ => Ok(()),
        }
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The text is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A key that does not exist here.
    #[error("unknown key `{found}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownKey {
        /// The key.
        found: String,
        /// The right one that looks most like it.
        nearest: Option<String>,
        /// All right ones.
        allowed: Vec<String>,
    },
    /// A name that stands for nothing: an alternative, a scheduler, a scheme.
    #[error("unknown {what} `{found}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownName {
        /// What it should name.
        what: &'static str,
        /// The name.
        found: String,
        /// The right one that looks most like it.
        nearest: Option<String>,
        /// All right ones.
        allowed: Vec<String>,
    },
    /// A key without which nothing can be run.
    #[error("the key `{key}` is missing")]
    MissingKey {
        /// The key.
        key: String,
        /// What it means.
        meaning: String,
    },
    /// A number where a text should be, and the like.
    #[error("expected {expected}, found {found}")]
    Type {
        /// What can stand here.
        expected: String,
        /// What stands here.
        found: String,
    },
    /// A quantity without a right unit.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// A value that makes no sense.
    #[error("{found} is out of bounds: {allowed}")]
    Value {
        /// The value.
        found: String,
        /// The bounds, as part of a sentence.
        allowed: String,
    },
    /// Wires that make no fabric.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// Values that do not go together.
    #[error("{0}")]
    Conflict(String),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |n| format!(", did you mean `{n}`?"))
}

/// One thing that is wrong (or, as a warning, doubtful).
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// The dotted key of the value; empty for the whole document.
    pub key: String,
    /// What is wrong.
    pub problem: Problem,
    /// What to do about it.
    pub help: Option<String>,
    /// Where it stands; missing for scenarios that were not read from a text.
    pub location: Option<Location>,
}

impl fmt::Display for Issue {
    /// `file:line:column: key: what is wrong`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        let named = self.location.as_ref().is_some_and(|l| l.line.is_none() && l.name.contains(&self.key));
        if !self.key.is_empty() && !named {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.problem)
    }
}

/// Everything that is wrong with a scenario, in the order of the file where that is known; at least one thing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", lines(.issues))]
pub struct ScenarioError {
    issues: Vec<Issue>,
    sources: Arc<[Source]>,
}

fn lines(issues: &[Issue]) -> String {
    let line = |issue: &Issue| match &issue.help {
        Some(help) => format!("{issue}\n  help: {help}"),
        None => issue.to_string(),
    };
    issues.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl ScenarioError {
    pub(crate) fn new(mut issues: Vec<Issue>, sources: Arc<[Source]>) -> Self {
        assert!(!issues.is_empty(), "an error without anything wrong");
        issues.sort_by_key(|i| i.location.as_ref().map(|l| (l.source, l.span.start)));
        Self { issues, sources }
    }
    /// What is wrong.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }
    /// The texts that locations point into.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }
}

/// The one of `allowed` that looks most like `found`, if any does.
pub fn nearest<'a>(found: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let plain = |s: &str| s.to_lowercase().replace('-', "_");
    let found = plain(found);
    let length = found.chars().count();
    allowed
        .into_iter()
        .map(|name| (strsim::osa_distance(&found, &plain(name)), name))
        .filter(|&(d, name)| (d <= 2.max(length / 3) && d < length) || (length >= 3 && plain(name).starts_with(&found)))
        .min_by_key(|&(d, _)| d)
        .map(|(_, name)| name.to_owned())
}
