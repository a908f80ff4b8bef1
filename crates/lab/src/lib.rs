//! Labs: a scenario's network on one machine, of namespaces and the daemons of `timeplane-live`.
//!
//! [`run`] answers a scenario whose schemes plan slots, rates or circuits; [`proxy`] one whose
//! schemes are kernel TCP over an emulated radio link; [`rotor`] one with a rotor switch. Labs need
//! Linux 6.6 or newer and root.

pub mod answers;
pub mod arguments;
pub mod attacks;
pub mod bed;
pub mod bpf;
pub mod captures;
pub mod checked;
pub mod circuit_switch;
pub mod circuits;
pub mod command;
pub mod delay;
pub mod disturbance;
pub mod fabric;
pub mod failures;
pub mod faults;
mod flows;
pub mod hosts;
pub mod lag;
pub(crate) mod left_over;
pub mod links;
pub mod load;
pub mod loss;
mod metrics;
pub mod page;
pub mod plan;
pub mod proxy;
pub mod report;
pub mod rotor;
pub mod run;
pub mod tables;
pub mod traffic;
pub mod trials;
pub mod unmodified;
pub mod workload;
