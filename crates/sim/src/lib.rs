//! The packet-level simulator: virtual time for the agents of `protocol`, and the network between them.
//!
//! One run is single-threaded and deterministic: the same scenario, control and seed give the same bytes on any machine.
//! Independent runs share nothing but their workload's parsed files.

pub mod air;
pub mod batch;
pub mod bench;
pub mod calendar;
pub mod capture;
mod circuits;
mod clocks;
pub mod collisions;
mod control;
pub mod discipline;
pub mod endpoints;
pub mod engine;
pub mod flow;
mod flyways;
mod grants;
pub mod latency;
pub mod ledger;
pub mod link;
pub mod medium;
mod multiplexer;
pub mod network;
pub mod nic;
pub mod packet;
mod proxies;
pub mod receive;
mod routes;
pub mod run;
mod signals;
mod steps;
pub mod sweep;
mod time;

pub use time::SimTime;
