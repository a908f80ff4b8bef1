//! The `[fabric]` table: topology, links, switches and air links between the hosts.
//! [`FabricSpec::build`] makes a [`Fabric`] of the model from it.

use crate::RadioSpec;
use crate::rotor::RotorSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use timeplane_model::{Bytes, Duration, Fabric, FabricError, Framing, Hybrid, LinkSpec, NodeId, Rate, Switch};
use timeplane_schedule::circuits::Retune;

/// Maximum number of hosts of a fabric.
pub const MOST_HOSTS: u32 = 131_072;
/// Maximum number of switches of a fabric. Routes are stored per pair of switches, 128 MB at this
/// bound.
pub const MOST_SWITCHES: u32 = 4_096;
/// Maximum number of wires of a fabric.
pub const MOST_WIRES: u32 = 1_048_576;

/// Network between the hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FabricSpec {
    /// Shape of the network.
    pub topology: Topology,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Rate of links between switches; default: the rate of the hosts' links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of each link.
    #[serde(default = "one_us")]
    pub propagation: Duration,
    /// Bytes that the link layer adds to a packet.
    #[serde(default)]
    pub framing: Framing,
    /// Size of the largest packet: an IP packet or the payload of a raw frame.
    #[serde(default = "mtu")]
    pub mtu: Bytes,
    /// Probability of a bit error on a link.
    #[serde(default)]
    pub bit_error: f64,
    /// Parameters of all switches.
    #[serde(default)]
    pub switch: Switch,
    /// Radios and the air links between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioSpec>,
}

const fn one_us() -> Duration {
    Duration::from_us(1)
}
const fn three() -> u32 {
    3
}
const fn mtu() -> Bytes {
    Bytes::new(1500)
}

/// Shape of a fabric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[strum(serialize_all = "snake_case")]
pub enum Topology {
    /// All hosts under one switch.
    SingleSwitch {
        /// Number of hosts.
        hosts: u32,
    },
    /// Every leaf connected to every spine.
    LeafSpine {
        /// Number of leaf switches.
        leaves: u32,
        /// Hosts under each leaf.
        hosts_per_leaf: u32,
        /// Number of spine switches.
        spines: u32,
    },
    /// Edge switches under one root.
    Tree {
        /// Number of edge switches.
        edges: u32,
        /// Hosts under each edge switch.
        hosts_per_edge: u32,
    },
    /// The k-ary fat tree (Al-Fares et al., SIGCOMM 2008): k³/4 hosts. With more hosts under each
    /// edge switch, an oversubscribed folded Clos network.
    FatTree {
        /// Ports of a switch; even.
        k: u32,
        /// Hosts under each edge switch, whose other ports lead up; default: k/2, which
        /// oversubscribes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts_per_edge: Option<u32>,
    },
    /// Racks joined directly by a random regular graph, a static expander (Jellyfish, NSDI 2012).
    /// Packets take shortest paths.
    Expander {
        /// Number of hosts; the last rack may have fewer than others.
        hosts: u32,
        /// Hosts in each rack.
        hosts_per_rack: u32,
        /// Wires from each rack to other racks.
        uplinks: u32,
        /// Seed of the graph, which does not follow that of the run.
        #[serde(default)]
        seed: u64,
    },
    /// Racks that a packet switch and a circuit switch connect (REACToR, NSDI 2014).
    Hybrid(HybridSpec),
    /// Racks that rotor switches join in turn (RotorNet, SIGCOMM 2017).
    Rotor(RotorSpec),
    /// Any graph, written out.
    Graph {
        /// Number of hosts; they are nodes 0 to `hosts` - 1.
        hosts: u32,
        /// Number of switches; they are the nodes after the hosts.
        switches: u32,
        /// Wires of the graph.
        links: Vec<GraphLink>,
    },
}

/// Racks under a packet switch and a circuit switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HybridSpec {
    /// Number of top-of-rack switches; at least 2, because a circuit joins two racks.
    pub tors: u32,
    /// Hosts under each.
    pub hosts_per_tor: u32,
    /// Wires from each rack to the packet switch; default: the number of hosts in the rack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_uplinks: Option<u32>,
    /// Wires from each rack to the circuit switch; default: the number of hosts in the rack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_uplinks: Option<u32>,
    /// Rate of a wire to the packet switch.
    pub packet_rate: Rate,
    /// Ports that go dark when the configuration of the circuit switch changes.
    #[serde(default)]
    pub retune: Retune,
    /// Time that they are dark.
    #[serde(default)]
    pub dark: DarkTime,
    /// Frames of the MTU that a rack switch buffers for a host, per input: a wire from the circuit
    /// switch or the packet switch, or another host. REACToR buffers one frame (section 3.2). One
    /// frame suffices unless a host sends packets alongside its own circuit, whose traffic then
    /// arrives unevenly.
    #[serde(default = "three")]
    pub multiplexer_frames: u32,
}

/// Time that ports of a circuit switch are dark after a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DarkTime {
    /// Uniform from 9.16 us to 14.84 us, as REACToR measured the Mordia switch (section 4.1): mean
    /// 12 us, maximum 14.84 us.
    #[default]
    Mordia,
    /// A fixed time.
    Fixed(Duration),
    /// Uniform between two bounds.
    Between(RetuneTimes),
}

/// Bounds of the dark time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetuneTimes {
    /// Minimum.
    pub least: Duration,
    /// Maximum.
    pub most: Duration,
}

impl DarkTime {
    /// The bounds; equal if the time is fixed.
    pub const fn times(self) -> RetuneTimes {
        match self {
            Self::Mordia => RetuneTimes { least: Duration::from_ns(9_160), most: Duration::from_ns(14_840) },
            Self::Fixed(time) => RetuneTimes { least: time, most: time },
            Self::Between(times) => times,
        }
    }
}

impl HybridSpec {
    /// The dimensions, with defaults filled in.
    pub fn shape(&self) -> Hybrid {
        Hybrid {
            tors: self.tors,
            hosts_per_tor: self.hosts_per_tor,
            packet_uplinks: self.packet_uplinks.unwrap_or(self.hosts_per_tor),
            circuit_uplinks: self.circuit_uplinks.unwrap_or(self.hosts_per_tor),
        }
    }

    /// The packet switch's rate for one host; hosts of a rack with fewer wires than hosts share
    /// them.
    pub fn packet_share(&self) -> Rate {
        let (shape, hosts) = (self.shape(), u64::from(self.hosts_per_tor.max(1)));
        let wires = u64::from(shape.packet_uplinks).min(hosts);
        Rate::bps(self.packet_rate.as_bps().saturating_mul(wires) / hosts)
    }
}

/// One wire of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// The two nodes.
    pub nodes: [u32; 2],
    /// Rate, if it differs from the fabric's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay, if it differs from the fabric's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Duration>,
}

impl Topology {
    /// The key in a scenario.
    pub fn key(&self) -> &'static str {
        self.into()
    }

    /// Numbers of hosts, switches and wires, however large.
    fn sizes(&self) -> [u128; 3] {
        let n = u128::from;
        match *self {
            Self::SingleSwitch { hosts } => [n(hosts), 1, n(hosts)],
            Self::LeafSpine { leaves, hosts_per_leaf, spines } => {
                let hosts = n(leaves) * n(hosts_per_leaf);
                [hosts, n(leaves) + n(spines), hosts + n(leaves) * n(spines)]
            }
            Self::Tree { edges, hosts_per_edge } => {
                let hosts = n(edges) * n(hosts_per_edge);
                [hosts, n(edges) + 1, hosts + n(edges)]
            }
            Self::FatTree { k, hosts_per_edge } => {
                let per_edge = n(hosts_per_edge.unwrap_or(k / 2));
                let k = n(k);
                let (up, edges) = (k.saturating_sub(per_edge), k * (k / 2));
                let hosts = edges * per_edge;
                [hosts, edges + k * up + up * (k / 2), hosts + 2 * edges * up]
            }
            Self::Expander { hosts, hosts_per_rack, uplinks, .. } => {
                let racks = n(hosts).div_ceil(n(hosts_per_rack).max(1));
                [n(hosts), racks, n(hosts) + racks * n(uplinks) / 2]
            }
            Self::Hybrid(ref h) => {
                let Hybrid { tors, hosts_per_tor, packet_uplinks, circuit_uplinks } = h.shape();
                let hosts = n(tors) * n(hosts_per_tor);
                [hosts, n(tors) + 2, hosts + n(tors) * (n(packet_uplinks) + n(circuit_uplinks))]
            }
            Self::Rotor(ref r) => {
                let hosts = n(r.racks) * n(r.hosts_per_rack);
                [hosts, n(r.racks) + n(r.switches), hosts + n(r.racks) * n(r.switches)]
            }
            Self::Graph { hosts, switches, ref links } => [n(hosts), n(switches), links.len() as u128],
        }
    }
}

impl FabricSpec {
    /// Number of hosts, computed without building the fabric.
    pub fn hosts(&self) -> u128 {
        self.topology.sizes()[0]
    }
    /// Number of switches, computed without building the fabric.
    pub fn switches(&self) -> u128 {
        self.topology.sizes()[1]
    }
    /// Number of wires, computed without building the fabric.
    pub fn wires(&self) -> u128 {
        self.topology.sizes()[2]
    }

    /// Builds the fabric. Wires that air links replace have the highest rates of these links and no
    /// framing; air links beside wires are not part of it.
    ///
    /// # Errors
    /// If a dimension is zero, odd or too large, or if wires do not connect all hosts.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        self.check_sizes()?;
        self.build_unchecked().map(|fabric| match &self.radio {
            Some(radio) => radio.in_place_of_wires(fabric),
            None => fabric,
        })
    }

    /// Reports what [`FabricSpec::build`] would reject; builds the fabric only if that is
    /// necessary.
    pub(crate) fn check_topology(&self) -> Result<(), FabricError> {
        self.check_sizes()?;
        let dimension = |what, found: u32| match found {
            0 => Err(FabricError::Dimension { what, found: 0, allowed: "at least 1" }),
            _ => Ok(()),
        };
        match self.topology {
            Topology::SingleSwitch { .. } => {}
            Topology::LeafSpine { leaves, hosts_per_leaf, spines } => {
                dimension("leaves", leaves)?;
                dimension("hosts_per_leaf", hosts_per_leaf)?;
                dimension("spines", spines)?;
            }
            Topology::Tree { edges, hosts_per_edge } => {
                dimension("edges", edges)?;
                dimension("hosts_per_edge", hosts_per_edge)?;
            }
            Topology::FatTree { k, .. } if k == 0 || k % 2 == 1 => {
                return Err(FabricError::Dimension { what: "k", found: k.into(), allowed: "even and at least 2" });
            }
            Topology::FatTree { k, hosts_per_edge: Some(found) } if !(1..k).contains(&found) => {
                let (what, allowed) = ("hosts_per_edge", "at least 1 and less than k");
                return Err(FabricError::Dimension { what, found: found.into(), allowed });
            }
            Topology::FatTree { .. } => {}
            Topology::Hybrid(ref h) => {
                let Hybrid { tors, hosts_per_tor, packet_uplinks, circuit_uplinks } = h.shape();
                if tors < 2 {
                    let found = tors.into();
                    return Err(FabricError::Dimension { what: "tors", found, allowed: "at least 2" });
                }
                dimension("hosts_per_tor", hosts_per_tor)?;
                dimension("packet_uplinks", packet_uplinks)?;
                dimension("circuit_uplinks", circuit_uplinks)?;
            }
            Topology::Rotor(ref r) => {
                if r.racks < 2 {
                    let found = r.racks.into();
                    return Err(FabricError::Dimension { what: "racks", found, allowed: "at least 2" });
                }
                dimension("hosts_per_rack", r.hosts_per_rack)?;
                dimension("switches", r.switches)?;
            }
            Topology::Expander { .. } | Topology::Graph { .. } => return self.build_unchecked().map(|_| ()),
        }
        if self.hosts() < 2 {
            return Err(FabricError::TooFewHosts { hosts: self.hosts() as u32 });
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), FabricError> {
        let bounds = [
            ("hosts", MOST_HOSTS, "at most 131,072"),
            ("switches", MOST_SWITCHES, "at most 4,096"),
            ("links", MOST_WIRES, "at most 1,048,576"),
        ];
        for (size, (what, most, allowed)) in self.topology.sizes().into_iter().zip(bounds) {
            if size > u128::from(most) {
                return Err(FabricError::Dimension { what, found: size.try_into().unwrap_or(u64::MAX), allowed });
            }
        }
        Ok(())
    }

    fn build_unchecked(&self) -> Result<Fabric, FabricError> {
        let link = LinkSpec {
            rate: self.rate,
            propagation: self.propagation,
            framing: self.framing,
            bit_error: self.bit_error,
        };
        let uplink = LinkSpec { rate: self.uplink_rate.unwrap_or(self.rate), ..link };
        match self.topology {
            Topology::SingleSwitch { hosts } => Fabric::single_switch(hosts, self.switch, link),
            Topology::LeafSpine { leaves, hosts_per_leaf, spines } => {
                Fabric::leaf_spine(leaves, hosts_per_leaf, spines, self.switch, link, uplink)
            }
            Topology::Tree { edges, hosts_per_edge } => Fabric::tree(edges, hosts_per_edge, self.switch, link, uplink),
            Topology::FatTree { k, hosts_per_edge } => {
                Fabric::folded_clos(k, hosts_per_edge.unwrap_or(k / 2), self.switch, link, uplink)
            }
            Topology::Expander { hosts, hosts_per_rack, uplinks, seed } => {
                Fabric::expander(hosts, hosts_per_rack, uplinks, seed, self.switch, link, uplink)
            }
            Topology::Hybrid(ref h) => {
                let packet = LinkSpec { rate: h.packet_rate, ..link };
                Fabric::hybrid(h.shape(), self.switch, link, packet, uplink)
            }
            Topology::Rotor(ref r) => Fabric::rotor(r.racks, r.hosts_per_rack, r.switches, self.switch, link, uplink),
            Topology::Graph { hosts, switches, ref links } => {
                let wire = |l: &GraphLink| {
                    let between_switches = l.nodes.iter().all(|&n| n >= hosts);
                    let usual = if between_switches { uplink } else { link };
                    let spec = LinkSpec {
                        rate: l.rate.unwrap_or(usual.rate),
                        propagation: l.propagation.unwrap_or(usual.propagation),
                        ..usual
                    };
                    (NodeId(l.nodes[0]), NodeId(l.nodes[1]), spec)
                };
                let wires: Vec<_> = links.iter().map(wire).collect();
                Fabric::new(hosts, vec![self.switch; switches as usize], &wires)
            }
        }
    }
}
