//! Integration tests of `timeplane-workload`, in one binary.

mod collectives;
mod common;
mod errors;
mod malformed;
mod poisson;
mod traces;
