//! Integration tests of `timeplane-radio`, in one binary.

mod airtimes;
mod antennas;
mod codewords;
mod courses;
mod feasibility;
mod layouts;
mod reflections;
mod traces;
