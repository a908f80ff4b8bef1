//! The agent of a host: what programs want to send waits in queues, leaves in raw Ethernet frames while a gate is open, and is repaired where
//! frames are lost.

mod api;
mod daemon;
mod pace;
mod shown;
pub mod streams;
pub mod tun;

pub use api::{Api, Shared};
pub use daemon::{AgentConfig, AgentError, LiveAgent, ip_of, mac_of, new_key};
pub use pace::Pace;
pub use shown::{AgentCounters, Snapshot};
pub use streams::*;
