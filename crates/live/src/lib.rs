//! Daemons for real Linux hosts: agents, controllers, gates in the kernel, and a proxy for kernel
//! TCP.
//!
//! The agents are those of `timeplane-protocol`, which the simulator drives too. Nothing here knows
//! of scenarios, labs or terminals. The daemons need Linux 6.6 or newer and the capabilities
//! NET_ADMIN, NET_RAW, BPF and PERFMON.

pub mod acks;
pub mod agent;
pub mod bpf;
pub mod calibrate;
pub mod channel;
pub mod client;
pub mod clock;
pub mod commands;
pub mod config;
pub mod controller;
mod counters;
pub mod daemons;
pub mod doctor;
pub mod gate;
pub mod init;
pub mod keys;
pub mod lateness;
mod lock;
pub mod netns;
pub mod notes;
pub mod observer;
pub mod packet_socket;
pub mod plain;
pub mod proxy;
pub mod release;
#[cfg(test)]
mod scratch;
mod seldom;
pub mod service;
pub mod slipping;
pub mod starts;
pub mod status;
pub mod tcx;
pub mod thread;
pub mod timed;
mod tokens;
pub mod tuner;
pub mod watch;
