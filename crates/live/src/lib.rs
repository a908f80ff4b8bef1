//! The agents of `timeplane-protocol` on real Linux hosts: raw Ethernet, gates in the kernel, kernel TCP.
//!
//! Everything here needs Linux 6.6 or newer, and most of it the capabilities NET_ADMIN, NET_RAW, BPF and PERFMON.

pub mod acks;
pub mod agent;
pub mod answers;
pub mod bpf;
pub mod channel;
pub mod circuit_switch;
pub mod client;
pub mod clock;
pub mod command;
pub mod config;
pub mod controller;
mod counters;
pub mod daemons;
pub mod doctor;
pub mod gate;
pub mod keys;
pub mod lab;
pub mod netns;
pub mod notes;
pub mod observer;
pub mod packet_socket;
mod plain;
pub mod plan;
pub mod proxy;
#[cfg(test)]
mod scratch;
pub mod service;
pub mod slipping;
pub mod status;
pub mod tcx;
mod thread;
pub mod timed;
pub mod watch;
