//! Fuzzes parsers: changes valid inputs at random, tries them in a child process, and reports what
//! panics, hangs or aborts.
//!
//! A [`Target`] is one parser with valid inputs. The child tries inputs in a loop and writes each
//! one to a file before it tries it. The parent watches: where the child ends or does not go on,
//! the input in that file is the cause, and another child continues. What was found is shrunk and
//! kept in a corpus, which every run tries first.
//!
//! - [`run`]: the command line of a test binary without libtest's harness.
//! - [`fuzz`]: one target, in children that this binary is for them.
//! - [`Outcome`]: how far a parser came with an input. Inputs with a new outcome are changed
//!   further, so that later checks of a parser are reached.

mod changes;
mod child;
mod command;
mod corpus;
mod digest;
mod numbers;
mod pool;
mod scratch;
mod shrink;
mod table;
mod target;
mod tokens;
mod watch;

pub use command::run;
pub use scratch::{put, scratch_root};
pub use target::{Check, Fault, Format, Outcome, Subject, Target};
pub use watch::{Amount, Limits, Tally, fuzz};
