//! Hosts: their interfaces with the queues in them, and the two ends of every flow.
//! Hosts do not know the network: they hand it packets and take packets from it.

pub mod discipline;
pub mod endpoints;
pub mod fair_queue;
pub mod flow;
pub mod interfaces;
pub mod nic;
pub mod pauses;
pub mod receive;
pub mod turns;
