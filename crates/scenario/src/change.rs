//! The `[[change]]` tables: wires whose rate changes during the run. Each table names wires, the
//! time of the first change, and the rates in order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Duration, Fabric, LinkId, NodeId, Rate};

/// Wires whose rate changes at given times in every run, in both directions.
///
/// A packet that is being sent finishes at its old rate; packets that wait are sent at the new
/// rate. No packet is lost. Buffers keep their bytes and measure delay at the current rate. If
/// several tables change one wire, the last change holds; of changes at the same time, the one that
/// is last in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Wires that change.
    pub wires: Wires,
    /// Time of the first rate, from the start of the run.
    pub at: Duration,
    /// Rates in order. None may exceed the rate in the fabric, so that ideal times and bounds hold.
    pub rates: Vec<Rate>,
    /// Time from one rate to the next; after the last rate the first follows again, for the whole
    /// run. Default: one rate that lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// Time by which the TDMA controller knows of each change in advance. Slots then end before the
    /// change and continue after it, at the rates of their time. At 0 the controller learns of the
    /// change when it happens, and slots that are already granted stay as they are.
    #[serde(default)]
    pub notice: Duration,
}

/// Wires that change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Wires {
    /// One wire, by its number, as in `failure`.
    Wire(u32),
    /// All wires between two nodes. Hosts are nodes from 0, switches follow.
    Between([u32; 2]),
    /// All wires of the fabric.
    All,
}

impl Wires {
    /// The links of the wires, two for each, by number.
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
