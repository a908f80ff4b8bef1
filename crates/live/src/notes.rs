//! Notes on the demand channel: what controllers and hosts exchange besides the protocol's
//! messages.
//!
//! They are JSON: greetings, the hosts that have joined, and counters for the page.

use crate::controller::HostPlan;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use timeplane_protocol::wire::SignalKey;

/// What a host says when it joins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Its number in the scenario.
    pub host: u32,
    /// Counts the starts of its agent.
    pub epoch: u32,
    /// Of the interface that slots are for.
    pub mac: String,
    /// Its IPv4 address, where it has one: signals in datagrams go there.
    #[serde(default)]
    pub ip: Option<Ipv4Addr>,
    /// With which its signals are sealed, in hexadecimal digits.
    pub key: String,
}

/// What a controller tells a host that has joined, and again whenever it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// How many hosts there are.
    pub hosts: u32,
    /// Those that have joined, and their addresses.
    pub joined: Vec<(u32, String)>,
    /// See [`HostPlan`].
    pub fallback_ps: i64,
    /// Reports go flow by flow.
    pub bursts: bool,
    /// Reports are sent on change.
    pub on_change: bool,
    /// Reports are sent after grants.
    pub after_grants: bool,
    /// Classes below are destinations.
    pub signals: Option<u16>,
    /// Of the hosts' links.
    pub rate_bps: u64,
    /// How often agents tell what they [count](Counts), in milliseconds; 0: they do not, as the
    /// controller has no page that shows it.
    #[serde(default)]
    pub counts_every_ms: u32,
}

/// What an agent has counted since its start, for the controller's page. See
/// [`AgentCounters`](crate::agent::AgentCounters).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Which start of the agent.
    pub epoch: u32,
    /// Bytes of frames that left, on the wire.
    pub wire_bytes: u64,
    /// Of them, those that left over circuits.
    pub circuit_wire_bytes: u64,
    /// Grants, and rates, that came too late.
    pub late: u64,
    /// Frames that came to the gate too late, and are sent again.
    pub too_late: u64,
}

impl Welcome {
    pub(crate) fn new(plan: &HostPlan, joined: Vec<(u32, String)>, counts_every_ms: u32) -> Self {
        let r = plan.reporting;
        Self {
            hosts: plan.hosts,
            joined,
            fallback_ps: plan.fallback.as_ps(),
            bursts: r.bursts,
            on_change: r.on_change,
            after_grants: r.after_grants,
            signals: plan.signals,
            rate_bps: plan.rate.as_bps(),
            counts_every_ms,
        }
    }
}

/// A note on the demand channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Host to controller.
    Hello(Hello),
    /// Host to controller, where that wants it.
    Counts(Counts),
    /// Controller to host.
    Welcome(Welcome),
    /// The other one will not talk to this one.
    Refused(String),
}

/// 32 hexadecimal digits.
pub(crate) fn key_of(digits: &str) -> Option<SignalKey> {
    let mut key = [0; 16];
    if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(SignalKey(key))
}

/// A key as 32 hexadecimal digits.
pub(crate) fn digits_of(key: &SignalKey) -> String {
    key.0.iter().map(|b| format!("{b:02x}")).collect()
}
