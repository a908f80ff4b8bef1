//! Integration tests of `timeplane-radio`, in one binary.

mod airtimes;
mod antennas;
mod codewords;
mod feasibility;
mod layouts;
mod link_traces;
mod reflections;
mod traces;
