//! Integration tests of `timeplane-experiment`, in one binary.

mod checks;
#[path = "../../../results/tests/it/common/mod.rs"]
mod common;
mod comparison;
mod context;
