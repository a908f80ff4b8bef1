//! Integration tests of `timeplane-cli`, in one binary.

mod cmd;
mod interrupt;
mod live;
mod new;
mod piped;
mod report;
mod resume;
mod scenarios;
mod terminal;
