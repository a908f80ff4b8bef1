//! The packet-level simulator: virtual time for the agents of `protocol`, and the network between
//! them.
//!
//! A run is single-threaded and deterministic: the same scenario, scheme and seed give the same
//! bytes on any machine. Independent runs share only the parsed files of their workload.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod air;
#[expect(clippy::disallowed_methods, reason = "it measures this machine")]
pub mod bench;
mod circuit;
pub mod control;
mod driver;
pub mod engine;
pub mod hosts;
pub mod memory;
pub mod network;
pub mod record;
mod rotor;
pub mod run;

pub use driver::{SimulationError, Simulator};
pub use engine::time::SimTime;
pub use rotor::RotorSetupError;
