//! The `[[change]]` tables: wires whose rate changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Duration, Fabric, LinkId, NodeId, Rate};

/// Wires whose rate changes at given times, in every run, both ways alike.
///
/// A packet whose first bit has left ends at the rate at which it began; all that wait are sent at the new one. Nothing is lost by it. Buffers
/// keep their bytes, and count what waits by the time that it takes at the rate of the moment. Where several tables change one wire, the last
/// change holds, of those at one instant that of the table written last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Which wires.
    pub wires: Wires,
    /// When the first of the rates holds, from the run's begin.
    pub at: Duration,
    /// Rates, one after the other; none above what the fabric gives the wire, so that ideals and bounds hold.
    pub rates: Vec<Rate>,
    /// From one rate to the next; after the last the first comes again, as long as anything goes on. Missing: one rate, for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// How long before each change the controller of slots knows of it: its slots end before, and go on after, at the rates of their time. At 0
    /// it hears when it happens, and slots that are granted by then go on as they are.
    #[serde(default)]
    pub notice: Duration,
}

/// Which wires change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Wires {
    /// One, by its number, as for `failure`.
    Wire(u32),
    /// All between two nodes. Hosts are nodes from 0, switches follow.
    Between([u32; 2]),
    /// All wires of the fabric.
    All,
}

impl Wires {
    /// Their links, two for each wire, by number.
    pub fn links(&self, fabric: &Fabric) -> Vec<LinkId> {
        let all = 0..fabric.links().len() as u32;
        match *self {
            Self::All => all.map(LinkId).collect(),
            Self::Wire(wire) => all.filter(|l| l / 2 == wire).map(LinkId).collect(),
            Self::Between([a, b]) => {
                let ends = |l: LinkId| (fabric.link(l).from, fabric.link(l).to);
                let (one, other) = ((NodeId(a), NodeId(b)), (NodeId(b), NodeId(a)));
                all.map(LinkId).filter(|&l| ends(l) == one || ends(l) == other).collect()
            }
        }
    }
}
