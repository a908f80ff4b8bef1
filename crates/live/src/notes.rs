//! What managers and hosts say to each other on the demand channel beside the messages of the protocol.

use crate::plan::HostPlan;
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

/// What a manager tells a host that has joined, and again whenever it changes.
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
}

impl Welcome {
    pub(crate) fn new(plan: &HostPlan, joined: Vec<(u32, String)>) -> Self {
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
        }
    }
}

/// A note on the demand channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Host to manager.
    Hello(Hello),
    /// Manager to host.
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
