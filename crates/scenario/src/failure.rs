//! The `[[failure]]` tables: elements that fail and return.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// An element that fails at a given time, in every run.
///
/// What is on it, in it or queued for it is lost then, and what comes to it until it returns; nothing else is. It returns empty.
/// Failures of the same element may overlap: it works while none of them lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What fails.
    pub element: Element,
    /// When, from the run's begin.
    pub at: Duration,
    /// When it works again; missing: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
    /// How much later the others know, that it failed as well as that it returned: switches choose other paths, and controllers
    /// plan without it: what has no way gets no slots and no rates.
    #[serde(default = "one_ms")]
    pub detection: Duration,
}

const fn one_ms() -> Duration {
    Duration::from_ms(1)
}

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Element {
    /// A wire, both ways, by its number from 0: hosts' wires first, in the order of hosts, then those between switches, switch by switch
    /// from its lower end (in a fat tree pod by pod); those of a graph in the order written. Wire `k` is links `2k` and `2k + 1` of the
    /// results.
    Wire(u32),
    /// All wires between two nodes. Hosts are nodes from 0, switches follow.
    Between([u32; 2]),
    /// A switch by its number from 0, those nearest to the hosts first: with all that it holds, and not its wires.
    Switch(u32),
    /// A host: it sends nothing, receives nothing and hears of no grants. Datagrams and raw frames that its flows have to send wait, TCP's
    /// segments are lost.
    Host(u32),
    /// The controller of a plan. It starts anew when it returns, and grants nothing before its predecessor's grants are over; where there is a
    /// standby (`plan.tdma.standby`), it returns as one that follows.
    Controller,
    /// The second controller of a plan of slots. It returns as one that follows, or leads where it hears of no other.
    Standby,
    /// One of several controllers of a plan of slots (`plan.tdma.controllers`), from 0: its part of the hosts has no slots while it is away. As it keeps
    /// nothing that anybody could miss, another machine may be what returns in its place.
    Relay(u32),
}
