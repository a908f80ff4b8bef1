//! Problems of a scenario and their locations. Validation collects all of them before it returns;
//! one that was read from a text has a file, a line and a column.

use crate::document::Origin;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use timeplane_model::{FabricError, UnitError, printable_line};

/// A text that values come from: a scenario file, or one `--set`.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The path of the file as given, or `--set KEY`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Whether it is a `--set` of the command line or of Python, which has no line numbers.
    pub is_override: bool,
}

/// A location in a [`Source`].
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The file, or `--set KEY=VALUE`.
    pub name: String,
    /// Index in [`ScenarioError::sources`].
    pub source: usize,
    /// Range of bytes in the source.
    pub span: Range<usize>,
    /// Line, from 1; `None` for a `--set`.
    pub line: Option<usize>,
    /// Column in characters, from 1; `None` for a `--set`.
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
        f.write_str(&printable_line(&self.name))?;
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, ":{line}:{column}"),
            _ => Ok(()),
        }
    }
}

/// What is wrong with a value, a key or a file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Unreadable(String),
    /// The text is not TOML.
    #[error("invalid TOML: {0}")]
    Syntax(String),
    /// A key that does not exist.
    #[error("unknown key `{found}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownKey {
        /// The key.
        found: String,
        /// The most similar key, if any.
        nearest: Option<String>,
        /// All keys that exist.
        allowed: Vec<String>,
    },
    /// An unknown name of an alternative, a scheduler or a scheme.
    #[error("unknown {what} `{found}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownName {
        /// Kind of the name.
        what: &'static str,
        /// The name.
        found: String,
        /// The most similar name, if any.
        nearest: Option<String>,
        /// All names that exist.
        allowed: Vec<String>,
    },
    /// A required key is missing.
    #[error("missing key `{key}`")]
    MissingKey {
        /// The last part of its dotted name.
        key: String,
        /// Its description.
        meaning: String,
    },
    /// A value of another type.
    #[error("{found}: expected {expected}")]
    Type {
        /// The accepted types, as part of a sentence.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A quantity without a valid unit.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// A value out of bounds.
    #[error("{found} is out of range: expected {allowed}")]
    Value {
        /// The value as text.
        found: String,
        /// The bounds, as part of a sentence.
        allowed: String,
    },
    /// Wires that do not form a fabric.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// Values that contradict each other.
    #[error("{0}")]
    Conflict(String),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |n| format!(", did you mean `{n}`?"))
}

/// One problem: an error or a warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// The dotted key of the value; empty for the whole document.
    pub key: String,
    /// What is wrong.
    pub problem: Problem,
    /// How to fix it.
    pub help: Option<String>,
    /// Location of the value; `None` if the scenario was not read from a text.
    pub location: Option<Location>,
}

impl fmt::Display for Issue {
    /// Formats as `file:line:column: key: problem`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        let named = self.location.as_ref().is_some_and(|l| l.line.is_none() && l.name.contains(&self.key));
        if !self.key.is_empty() && !named {
            write!(f, "{}: ", printable_line(&self.key))?;
        }
        write!(f, "{}", self.problem)
    }
}

/// All errors of a scenario, at least one, in the order of the file if it is known.
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
    /// The errors.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }
    /// The texts that locations refer to.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }
}
