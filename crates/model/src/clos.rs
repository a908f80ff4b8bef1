//! Fabrics as Clos networks: leaf-spines, trees and fat trees.
//!
//! Fast links stand for parallel unit links.

use crate::fabric::{Candidates, Fabric};
use crate::ids::{HostId, LinkId, NodeId};
use crate::units::Rate;

/// The fabric is not a Clos network of unit links.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClosError {
    /// Links of hosts have different rates.
    #[error(
        "host {host}'s link runs at {found}, host 0's at {unit}: timeslots and rates count in units of one host's link"
    )]
    Hosts {
        /// Number of the host.
        host: u32,
        /// Rate of its link.
        found: Rate,
        /// Rate of the first host's link.
        unit: Rate,
    },
    /// A link between switches is slower than a host's, or differs from its peers.
    #[error("link {} between switches runs at {found}: all of a layer must be the same whole multiple of the hosts' {unit}, so that they stand for parallel unit links", link.0)]
    Units {
        /// Number of the link.
        link: LinkId,
        /// Rate of the link.
        found: Rate,
        /// Rate of a host's link.
        unit: Rate,
    },
    /// The fabric is not a Clos network of two or three layers.
    #[error("switch {} has {found} equal next hops where its peers have {expected}: timeslots and rates need one switch, a leaf-spine, a tree or a fat tree", switch.0)]
    Shape {
        /// Switch with an unexpected number of next hops.
        switch: NodeId,
        /// Number of its next hops.
        found: usize,
        /// Number of next hops of its peers.
        expected: usize,
    },
    /// A switch has more next hops than a path's two bytes can name.
    #[error("switch {} has {found} equal next hops, a path names one of 255 at most", switch.0)]
    Wide {
        /// Node of the switch.
        switch: NodeId,
        /// Number of its next hops.
        found: usize,
    },
    /// The layer above a pod has less capacity than the pod.
    #[error(
        "a pod of {edges} switches can bring {below} packets a slot to each of its upper switches, which send on {above}: only the lowest layer may be oversubscribed"
    )]
    Core {
        /// Number of lower switches of a pod.
        edges: u32,
        /// Number of unit links into an upper switch of a pod.
        below: u32,
        /// Number of unit links out of an upper switch of a pod.
        above: u32,
    },
}

/// Choices of a layer, and the unit links behind each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// Number of equal next hops.
    pub choices: u32,
    /// Rate of the link to each choice, in multiples of a host's link.
    pub units: u32,
}

/// A fabric as a Clos network of two or three layers, in units of a host's link.
#[derive(Clone, Debug)]
pub struct Clos {
    edge: Vec<u32>,
    edges: usize,
    pod: Vec<u32>,
    pods: usize,
    first: Layer,
    second: Layer,
}

impl Clos {
    /// The Clos network of a fabric.
    ///
    /// # Errors
    /// If it is not one, or its links are not whole multiples of unit links.
    pub fn of(fabric: &Fabric) -> Result<Self, ClosError> {
        let unit = fabric.link(fabric.uplink(HostId(0))).spec.rate;
        let mut switches: Vec<(NodeId, HostId)> = Vec::new();
        let mut edge = Vec::with_capacity(fabric.hosts() as usize);
        for h in (0..fabric.hosts()).map(HostId) {
            let link = fabric.link(fabric.uplink(h));
            if link.spec.rate != unit {
                return Err(ClosError::Hosts { host: h.0, found: link.spec.rate, unit });
            }
            let known = switches.iter().rposition(|s| s.0 == link.to);
            edge.push(known.unwrap_or(switches.len()) as u32);
            if known.is_none() {
                switches.push((link.to, h));
            }
        }
        let pod = (0..switches.len() as u32).collect();
        let (first, second) = (Layer::default(), Layer::default());
        let mut clos = Self { edge, edges: switches.len(), pod, pods: 0, first, second };
        // Two hosts that a wire joins have no switch, whatever else the fabric has.
        if switches[0].0.0 >= fabric.hosts() {
            clos.layers(fabric, &switches)?;
        } else {
            clos.first = Layer { choices: 1, units: 1 };
        }
        let mut pods: Vec<u32> = clos.pod.clone();
        pods.sort_unstable();
        pods.dedup();
        clos.pods = pods.len();
        for pod in &mut clos.pod {
            *pod = pods.binary_search(pod).expect("it is one of them") as u32;
        }
        if clos.second.choices > 1 {
            let largest = (0..clos.pods as u32).map(|p| clos.pod.iter().filter(|x| **x == p).count()).max();
            let (edges, above) = (largest.unwrap_or(0) as u32, clos.second.choices * clos.second.units);
            let below = edges * clos.first.units;
            if below > above {
                return Err(ClosError::Core { edges, below, above });
            }
        }
        Ok(clos)
    }

    /// Finds the layers by walking from every switch with hosts to every other.
    fn layers(&mut self, fabric: &Fabric, switches: &[(NodeId, HostId)]) -> Result<(), ClosError> {
        let unit = fabric.link(fabric.uplink(HostId(0))).spec.rate;
        let units = |link: LinkId, layer: &mut Layer| {
            let found = fabric.link(link).spec.rate;
            let f = (found.as_bps() / unit.as_bps()) as u32;
            if f == 0 || !found.as_bps().is_multiple_of(unit.as_bps()) || (layer.units != 0 && layer.units != f) {
                return Err(ClosError::Units { link, found, unit });
            }
            layer.units = f;
            Ok(())
        };
        let choose = |at: NodeId, found: usize, layer: &mut Layer| {
            if found > 255 {
                return Err(ClosError::Wide { switch: at, found });
            }
            if layer.choices != 0 && layer.choices != found as u32 {
                return Err(ClosError::Shape { switch: at, found, expected: layer.choices as usize });
            }
            layer.choices = found as u32;
            Ok(())
        };
        let (mut first, mut second) = (Layer::default(), Layer::default());
        for (s, &(from, home)) in switches.iter().enumerate() {
            for (g, &(at_g, to)) in switches.iter().enumerate().filter(|(g, _)| *g != s) {
                let set = next_hops(fabric, from, to);
                choose(from, set.len(), &mut first)?;
                let mut same_pod = true;
                for &link in set {
                    units(link, &mut first)?;
                    let upper = fabric.link(link).to;
                    let mut down = next_hops(fabric, upper, to);
                    if down.is_empty() {
                        // Hosts are joined to the upper switch.
                        return Err(ClosError::Shape { switch: upper, found: 0, expected: 1 });
                    }
                    if fabric.link(down[0]).to != at_g {
                        same_pod = false;
                        choose(upper, down.len(), &mut second)?;
                        for &l in down {
                            units(l, &mut second)?;
                        }
                        let core = fabric.link(down[0]).to;
                        down = next_hops(fabric, next_hop(fabric, core, to)?, to);
                    }
                    // The wire down is one of the destination's wires up, so its colors count on
                    // both.
                    let both = match down {
                        [one] => {
                            fabric.link(*one).to == at_g && next_hops(fabric, at_g, home).contains(&LinkId(one.0 ^ 1))
                        }
                        _ => false,
                    };
                    if !both {
                        return Err(ClosError::Shape { switch: upper, found: down.len(), expected: 1 });
                    }
                }
                if same_pod {
                    let pod = self.pod[s].min(self.pod[g]);
                    (self.pod[s], self.pod[g]) = (pod, pod);
                }
            }
        }
        (self.first, self.second) = (first, second);
        Ok(())
    }

    /// Index of a host's switch among switches with hosts.
    pub fn edge(&self, host: HostId) -> u32 {
        self.edge[host.index()]
    }
    /// Number of switches with hosts.
    pub fn edges(&self) -> usize {
        self.edges
    }
    /// Pod of a switch with hosts, from 0. Within a pod there is only the first choice.
    pub fn pod(&self, edge: u32) -> u32 {
        self.pod[edge as usize]
    }
    /// Number of pods.
    pub fn pods(&self) -> usize {
        self.pods
    }
    /// The choice at a switch with hosts.
    pub fn first(&self) -> Layer {
        self.first
    }
    /// The choice at an upper switch; no choices with two layers.
    pub fn second(&self) -> Layer {
        self.second
    }
    /// Unit links that leave, and that enter, each switch with hosts from above.
    pub fn capacity(&self) -> u32 {
        self.first.choices * self.first.units
    }
}

/// Equal next hops of a switch towards a host of another switch.
fn next_hops(fabric: &Fabric, at: NodeId, to: HostId) -> &[LinkId] {
    match fabric.candidates(at, to) {
        Candidates::Set(set) => set,
        Candidates::Host(_) => &[],
    }
}

/// The only next node.
fn next_hop(fabric: &Fabric, at: NodeId, to: HostId) -> Result<NodeId, ClosError> {
    match next_hops(fabric, at, to) {
        [one] => Ok(fabric.link(*one).to),
        other => Err(ClosError::Shape { switch: at, found: other.len(), expected: 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Framing, LinkSpec, Switch};
    use crate::units::Duration;

    fn link(rate: Rate) -> LinkSpec {
        LinkSpec { rate, propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 }
    }
    const ONE: Rate = Rate::gbps(1);

    #[test]
    fn usual_fabrics_are_clos_networks() {
        let s = Switch::default();
        let of = |f: Result<Fabric, _>| Clos::of(&f.unwrap()).unwrap();
        let leaf_spine = of(Fabric::leaf_spine(4, 30, 3, s, link(ONE), link(Rate::gbps(10))));
        assert_eq!((leaf_spine.edges(), leaf_spine.pods(), leaf_spine.capacity()), (4, 1, 30));
        assert_eq!((leaf_spine.edge(HostId(29)), leaf_spine.edge(HostId(30))), (0, 1));
        let fat = of(Fabric::fat_tree(4, s, link(ONE), link(ONE)));
        assert_eq!((fat.edges(), fat.pods(), fat.capacity()), (8, 4, 2));
        assert_eq!((fat.second(), fat.pod(1), fat.pod(2)), (Layer { choices: 2, units: 1 }, 0, 1));
        let tree = of(Fabric::tree(3, 4, s, link(ONE), link(Rate::gbps(2))));
        assert_eq!((tree.capacity(), tree.second().choices), (2, 0));
        assert_eq!(of(Fabric::single_switch(5, s, link(ONE))).capacity(), 0);
        // Each of two hosts has the wire above it.
        let joined = of(Fabric::new(2, vec![], &[(NodeId(0), NodeId(1), link(ONE))]));
        assert_eq!((joined.edges(), joined.capacity()), (2, 1));
        let beside = of(Fabric::new(2, vec![s; 3], &[(NodeId(0), NodeId(1), link(ONE))]));
        assert_eq!((beside.edges(), beside.capacity()), (2, 1), "switches without wires change nothing");
    }

    #[test]
    fn what_has_no_unit_links_is_refused() {
        let s = Switch::default();
        let slow = Fabric::tree(2, 2, s, link(ONE), link(Rate::mbps(1500))).unwrap();
        assert!(matches!(Clos::of(&slow), Err(ClosError::Units { .. })));
        let n = NodeId;
        let wires = [(n(0), n(3), link(ONE)), (n(1), n(3), link(Rate::gbps(2))), (n(2), n(3), link(ONE))];
        let mixed = Fabric::new(3, vec![s], &wires).unwrap();
        assert!(matches!(Clos::of(&mixed), Err(ClosError::Hosts { host: 1, .. })));
        // Three switches in a row, with hosts at each: the middle one is a way through.
        let row = [
            (n(0), n(3), link(ONE)),
            (n(1), n(4), link(ONE)),
            (n(2), n(5), link(ONE)),
            (n(3), n(4), link(ONE)),
            (n(4), n(5), link(ONE)),
        ];
        let row = Fabric::new(3, vec![s; 3], &row).unwrap();
        assert!(matches!(Clos::of(&row), Err(ClosError::Shape { .. })));
    }
}
