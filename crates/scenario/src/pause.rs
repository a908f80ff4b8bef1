//! The `[[pause]]` tables: hosts that pause data or acknowledgements at given times, as a schedule
//! of circuits does that stops traffic at the hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// Hosts that start no packets of a kind during given times, in every run.
///
/// Packets wait in the hosts' interfaces; none is lost, and a frame that has begun finishes.
/// Packets of the other kind pass those that wait. If several tables pause a host, it waits for
/// all of them. Ideal times know no pauses. Source of the experiment: REACToR (NSDI 2014),
/// figure 6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Hosts that pause, by their numbers from 0; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<u32>>,
    /// Packets that wait.
    pub what: PausedPackets,
    /// Start of the first pause, from the start of the run; default: 0.
    #[serde(default)]
    pub at: Duration,
    /// Length of a pause.
    pub closed: Duration,
    /// Time from the end of a pause to the start of the next one, at least 1 us; then pauses repeat
    /// for the whole run. Default: one pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Duration>,
}

/// Packets that a host can pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PausedPackets {
    /// Datagrams, and all segments of TCP with payload or SYN from the sender of a flow.
    Data,
    /// Acknowledgements of TCP.
    Acknowledgements,
    /// All packets.
    Both,
}
