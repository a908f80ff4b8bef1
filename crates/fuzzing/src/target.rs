//! What is fuzzed: a parser, its valid inputs, and how far it came with one.
//!
//! A parser may refuse any input. It may not panic, hang, abort, or break a promise of its own.

use std::path::Path;

/// A parser and how to fuzz it.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name in the table, and that of its folder in the corpus.
    pub name: &'static str,
    /// The kind of its inputs.
    pub format: Format,
    /// The number of inputs that an ordinary run tries.
    pub ordinary: u64,
    /// The address space that a child may use, in bytes; 0 for no limit.
    pub memory: u64,
    /// Sets the parser up; the folder is for its files. Runs in the child.
    pub prepare: fn(&Path) -> Subject,
}

/// How inputs are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Byte by byte.
    Bytes,
    /// Also word by word and line by line.
    Text,
}

/// Tries one input.
pub type Check = Box<dyn FnMut(&[u8]) -> Result<Outcome, Fault>>;

/// A parser that is set up.
pub struct Subject {
    /// Valid inputs.
    pub seeds: Vec<Vec<u8>>,
    /// Words that get into inputs of text, such as keys and units.
    pub words: Vec<String>,
    /// The parser.
    pub check: Check,
}

/// How far a parser came with an input it did not fail at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first step refused it: it is not TOML, not Parquet, or lacks the header.
    Refused(String),
    /// It was understood, and a later step refused it.
    Parsed(String),
    /// It is valid.
    Accepted,
}

/// What a check found apart from panics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The parser broke a promise.
    Wrong(String),
    /// A program that the check started has ended abnormally.
    Aborted(String),
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}
