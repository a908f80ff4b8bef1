//! Hosts and a switch on one machine: namespaces, joined as a scenario's fabric is.

pub mod circuits;
pub mod command;
pub mod fabric;
pub mod failures;
pub mod hosts;
pub(crate) mod left_over;
pub mod links;
pub mod loss;
mod metrics;
pub mod page;
pub mod report;
pub mod run;
pub mod tables;
pub mod workload;
