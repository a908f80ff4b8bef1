//! The `[[failure]]` tables: elements that fail and recover at given times. An element is a wire, a
//! switch, a host, a controller or a relay.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// An element that fails at a given time in every run.
///
/// Packets on it, in it or queued for it are lost, and so are packets that reach it until it
/// recovers. It recovers empty. Failures of the same element may overlap; it works while none of
/// them lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Element that fails.
    pub element: Element,
    /// Time of the failure, from the start of the run.
    pub at: Duration,
    /// Time of the recovery; default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
    /// Delay until the rest of the network knows of the failure, and of the recovery. Switches then
    /// choose other paths, and controllers replan; pairs without a path get no slots and no rates.
    #[serde(default = "one_ms")]
    pub detection: Duration,
}

const fn one_ms() -> Duration {
    Duration::from_ms(1)
}

/// Element that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Element {
    /// A wire, in both directions, by its number from 0. Wires of hosts come first, in the order of
    /// the hosts. Wires between switches follow, switch by switch from the lower end (in a fat tree
    /// pod by pod); wires of a graph follow in the order of the file. Wire `k` is links `2k` and
    /// `2k + 1` in the results.
    Wire(u32),
    /// All wires between two nodes. Hosts are nodes from 0, switches follow.
    Between([u32; 2]),
    /// A switch with all that it buffers, but not its wires, by its number from 0; switches nearest
    /// to the hosts come first.
    Switch(u32),
    /// A host: it sends and receives nothing, grants included. Datagrams and raw frames of its
    /// flows wait; TCP segments are lost.
    Host(u32),
    /// The controller of a plan. It recovers without state and grants nothing before its
    /// predecessor's grants have ended. With a standby (`plan.tdma.standby`), it recovers as a
    /// follower.
    Controller,
    /// The standby controller of a TDMA plan. It recovers as a follower, or leads if it hears no
    /// other controller.
    Standby,
    /// A relay of a TDMA plan (`plan.tdma.controllers`), by its number from 0. Its hosts get no
    /// slots while it is down. It keeps no state, so another machine may take its place.
    Relay(u32),
}
