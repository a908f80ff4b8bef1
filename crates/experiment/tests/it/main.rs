//! Integration tests of `timeplane-experiment`, in one binary.

#[path = "../../../results/tests/it/common/mod.rs"]
mod common;
mod checks;
mod comparison;
mod context;
