//! Notes on the demand channel: what controllers and hosts exchange besides the protocol's
//! messages.
//!
//! They are JSON: greetings, the hosts that have joined, and counters for the page.

use crate::agent::PeerHost;
use crate::controller::HostPlan;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use timeplane_model::Duration;
use timeplane_protocol::Detail;
use timeplane_protocol::wire::{MacAddress, PairKey};

/// The greeting of a host that joins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Number of the host in the scenario.
    pub host: u32,
    /// Number of this start of its agent.
    pub epoch: u32,
    /// MAC address of the gated interface.
    pub mac: String,
    /// IPv4 address of that interface, if it has one, for signals in datagrams.
    #[serde(default)]
    pub ip: Option<Ipv4Addr>,
    /// Key for sealing its signals, in hexadecimal digits.
    pub key: String,
    /// Secret for the keys of frames to this host, in hexadecimal digits; none if hosts do not seal
    /// their frames.
    #[serde(default)]
    pub secret: Option<String>,
    /// The longest packet that its interface receives, in bytes without Ethernet's header. None if
    /// its agent does not tell.
    #[serde(default)]
    pub mtu: Option<u32>,
}

/// A host that has joined, as a controller describes it to another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JoinedHost {
    /// Number of the host in the scenario.
    pub host: u32,
    /// MAC address of its gated interface.
    pub mac: String,
    /// Number of this start of its agent.
    pub epoch: u32,
    /// Key of frames from the host that gets the note to this one, in hexadecimal digits; none if
    /// hosts do not seal their frames.
    #[serde(default)]
    pub key: Option<String>,
    /// The longest packet that its interface receives, in bytes without Ethernet's header.
    #[serde(default)]
    pub mtu: Option<u32>,
}

impl JoinedHost {
    /// What the streams of an agent need to know. `None` if a text cannot be read.
    pub(crate) fn peer(&self) -> Option<PeerHost> {
        let key = match &self.key {
            Some(digits) => Some(PairKey(bytes_of(digits)?)),
            None => None,
        };
        Some(PeerHost { mac: self.mac.parse::<MacAddress>().ok()?, epoch: self.epoch, key, mtu: self.mtu })
    }
}

/// A controller's message to joined hosts, sent again whenever it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// Number of hosts in the scenario.
    pub hosts: u32,
    /// Hosts that have joined.
    pub joined: Vec<JoinedHost>,
    /// See [`HostPlan`].
    pub fallback_ps: i64,
    /// Whether reports list bursts.
    pub bursts: bool,
    /// Whether hosts report on change.
    pub on_change: bool,
    /// How much longer an idle network waits to be asked; `None` if it is asked as often as
    /// another.
    #[serde(default)]
    pub after_idle_ps: Option<i64>,
    /// Whether hosts report after grants.
    pub after_grants: bool,
    /// Classes below this number are destinations; `None` if the plan sends no signals.
    pub signals: Option<u16>,
    /// How late a signal may open a gate; `None` if the plan sends no signals.
    #[serde(default)]
    pub late_after_ps: Option<i64>,
    /// Whether grants are timeslots, by the controller's clock.
    #[serde(default)]
    pub timeslots: bool,
    /// Rate of the hosts' links, in bits per second.
    pub rate_bps: u64,
    /// How often agents send their [counters](Counts), in milliseconds. 0 for never, if the
    /// controller has no page.
    #[serde(default)]
    pub counts_every_ms: u32,
}

/// Counters of an agent since its start, for the controller's page. See
/// [`AgentCounters`](crate::agent::AgentCounters).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of this start of the agent.
    pub epoch: u32,
    /// Bytes of sent frames on the wire.
    pub wire_bytes: u64,
    /// Bytes of these frames that took circuits.
    pub circuit_wire_bytes: u64,
    /// Grants and rates that arrived too late.
    pub late: u64,
    /// Frames that the gate refused as too late; they are sent again.
    pub too_late: u64,
}

/// A host's question about a controller's clock. Times are nanoseconds of a monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// When the host asked, by its clock.
    pub asked: u64,
}

/// A controller's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// When the host asked, by its clock.
    pub asked: u64,
    /// When the controller answered, by its clock.
    pub told: u64,
    /// Highest epoch of its signals; `None` if it has sent none.
    pub epoch: Option<u32>,
}

impl Welcome {
    pub(crate) fn new(plan: &HostPlan, joined: Vec<JoinedHost>, counts_every_ms: u32) -> Self {
        let r = plan.reporting;
        Self {
            hosts: plan.hosts,
            joined,
            fallback_ps: plan.fallback.as_ps(),
            bursts: r.detail == Detail::Bursts,
            on_change: r.on_change,
            after_idle_ps: r.after_idle.map(Duration::as_ps),
            after_grants: r.after_grants,
            signals: plan.signals,
            late_after_ps: plan.late_after.map(Duration::as_ps),
            timeslots: plan.timeslots,
            rate_bps: plan.rate.as_bps(),
            counts_every_ms,
        }
    }
}

/// A note on the demand channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Greeting of a host, to the controller.
    Hello(Hello),
    /// Counters of a host, to the controller if it asks for them.
    Counts(Counts),
    /// Question of a host about the controller's clock.
    Ask(Asked),
    /// Answer of the controller.
    Told(Told),
    /// Configuration and joined hosts, from the controller to a host.
    Welcome(Welcome),
    /// The highest epoch of a host that has left, from the controller to an older agent of it: the
    /// agent starts again with a newer one.
    Epoch(u32),
    /// The peer refuses to cooperate, for this reason.
    Refused(String),
}

/// Reads hexadecimal digits, two for each byte.
pub(crate) fn bytes_of<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Bytes as hexadecimal digits.
pub(crate) fn digits_of(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_they_are_written() {
        let bytes: [u8; 32] = std::array::from_fn(|i| (i * 9) as u8);
        let digits = digits_of(&bytes);
        assert_eq!((digits.len(), bytes_of(&digits)), (64, Some(bytes)));
        for wrong in ["", "0", "+1", "0g", "001", "\u{e9}"] {
            assert_eq!(bytes_of::<1>(wrong), None, "{wrong}");
        }
    }
}
