//! Checks of the repository that no compiler makes: the text of its files, and which crate may use
//! which.
//!
//! [`text`] holds the rules for files, [`graph`] the layers of the crates, and [`exceptions`] the
//! list of files that a rule does not cover yet. `tests/it` applies them to this repository. A rule
//! is a function of a path and a text, so that its unit tests need no files.

pub mod exceptions;
pub mod graph;
pub mod text;
