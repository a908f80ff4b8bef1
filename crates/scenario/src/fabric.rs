//! The `[fabric]` table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, Framing, Rate, Switch};

/// Everything between hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricSpec {
    /// Its shape.
    pub topology: Topology,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Rate of links between switches; the hosts' rate where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of every link.
    #[serde(default = "one_us")]
    pub propagation: Duration,
    /// What the link layer adds to a packet.
    #[serde(default)]
    pub framing: Framing,
    /// The largest packet, as an IP packet or as the payload of a raw frame.
    #[serde(default = "mtu")]
    pub mtu: Bytes,
    /// Probability that a bit on a link is wrong.
    #[serde(default)]
    pub bit_error: f64,
    /// All switches.
    #[serde(default)]
    pub switch: Switch,
}

const fn one_us() -> Duration {
    Duration::from_us(1)
}
const fn mtu() -> Bytes {
    Bytes::new(1500)
}

/// A fabric's shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Topology {
    /// All hosts under one switch.
    SingleSwitch {
        /// How many hosts.
        hosts: u32,
    },
    /// Every leaf joined to every spine.
    LeafSpine {
        /// Leaf switches.
        leaves: u32,
        /// Hosts under each.
        hosts_per_leaf: u32,
        /// Spine switches.
        spines: u32,
    },
    /// Edge switches under one root.
    Tree {
        /// Edge switches.
        edges: u32,
        /// Hosts under each.
        hosts_per_edge: u32,
    },
    /// The k-ary fat tree (Al-Fares et al., SIGCOMM 2008): k³/4 hosts.
    FatTree {
        /// Ports of a switch; even.
        k: u32,
    },
    /// Any graph, written out.
    Graph {
        /// Hosts are nodes 0 to hosts - 1.
        hosts: u32,
        /// Switches follow.
        switches: u32,
        /// Its wires.
        links: Vec<GraphLink>,
    },
}

/// One wire of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// The two nodes.
    pub nodes: [u32; 2],
    /// Its rate, where it is not the fabric's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its propagation delay, where it is not the fabric's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Duration>,
}
