//! The packet-level simulator: virtual time for the agents of `protocol`, and the network between
//! them.
//!
//! A run is single-threaded and deterministic: the same scenario, scheme and seed give the same
//! bytes on any machine. Independent runs share only the parsed files of their workload.

pub mod air;
pub mod bench;
mod circuit;
mod control;
mod driver;
pub mod engine;
pub mod hosts;
pub mod network;
pub mod record;
pub mod run;

pub use driver::{SimulationError, Simulator};
pub use engine::time::SimTime;
