//! The agent of a host: it reports the host's backlog, and sends frames when its gate is open.
//!
//! Programs reach it at a Unix socket ([`Api`]). The streams between hosts ([`Streams`]) retransmit
//! what is lost.

mod api;
mod daemon;
mod pace;
mod presence;
mod refusals;
mod shown;
pub mod streams;
mod too_long;
pub mod tun;

pub use api::{Api, Locked, Shared};
pub use daemon::{AgentConfig, AgentError, LiveAgent, ip_of, mac_of, random_bytes, usable_mtu};
pub use pace::Pace;
pub use shown::{AgentCounters, Snapshot};
pub use streams::*;
