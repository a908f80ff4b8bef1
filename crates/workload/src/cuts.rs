//! Cuts: sets of hosts with few wires to the rest of the fabric.
//!
//! They bound completion times where single links cannot, because paths can be chosen.

use std::collections::{BTreeMap, BTreeSet};
use timeplane_model::{Fabric, HostId, NodeId};

/// A set of hosts and the wires around it. All traffic out of the set and into it crosses these
/// wires, on whatever path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricCut {
    /// Hosts inside the cut, in ascending order.
    pub hosts: Vec<HostId>,
    /// Total rate of the wires that lead out, in bit/s.
    pub out_bps: u64,
    /// Total rate of the wires that lead in, in bit/s.
    pub in_bps: u64,
    /// Smallest number of bytes that one of these wires adds to a packet.
    pub overhead: u64,
    /// Smallest number of bytes that a packet occupies on one of these wires.
    pub minimum: u64,
}

/// The cuts of a fabric: around the hosts of every switch, then of every part of the fabric that
/// switches one level higher connect, and so on up. A leaf-spine fabric has cuts around racks, a
/// fat tree around racks and pods. There is no cut around all hosts.
pub fn cuts(fabric: &Fabric) -> Vec<FabricCut> {
    let height = heights(fabric);
    let hosts = fabric.hosts() as usize;
    let top = height[hosts..].iter().copied().max().unwrap_or(0);
    let mut found = BTreeSet::new();
    let mut all = Vec::new();
    for level in 1..=top {
        // Parts that are connected below this height.
        let mut part: Vec<usize> = (0..height.len()).collect();
        for link in fabric.links() {
            let (a, b) = (link.from.index(), link.to.index());
            if height[a].max(height[b]) <= level {
                let (a, b) = (root(&mut part, a), root(&mut part, b));
                part[a.max(b)] = a.min(b);
            }
        }
        let mut inside: BTreeMap<usize, Vec<HostId>> = BTreeMap::new();
        for host in (0..fabric.hosts()).map(HostId) {
            inside.entry(root(&mut part, host.index())).or_default().push(host);
        }
        for (of, hosts) in inside {
            // A cut needs hosts outside. A single switch on the way up gives the same cut again.
            if hosts.len() < fabric.hosts() as usize && found.insert(hosts.clone()) {
                let is_in = |node: NodeId, part: &mut Vec<usize>| root(part, node.index()) == of;
                let mut cut = FabricCut { hosts, out_bps: 0, in_bps: 0, overhead: u64::MAX, minimum: u64::MAX };
                for link in fabric.links() {
                    let ends = (is_in(link.from, &mut part), is_in(link.to, &mut part));
                    match ends {
                        (true, false) => cut.out_bps = cut.out_bps.saturating_add(link.spec.rate.as_bps()),
                        (false, true) => cut.in_bps = cut.in_bps.saturating_add(link.spec.rate.as_bps()),
                        _ => continue,
                    }
                    cut.overhead = cut.overhead.min(link.spec.framing.overhead().into());
                    cut.minimum = cut.minimum.min(link.spec.framing.minimum().into());
                }
                all.push(cut);
            }
        }
    }
    all
}

/// Number of links from each node to the nearest host.
fn heights(fabric: &Fabric) -> Vec<u32> {
    let nodes = fabric.nodes().len();
    let mut beside = vec![Vec::new(); nodes];
    for link in fabric.links() {
        beside[link.from.index()].push(link.to.index());
    }
    let mut height: Vec<u32> = (0..nodes).map(|n| if n < fabric.hosts() as usize { 0 } else { u32::MAX }).collect();
    let mut next: Vec<usize> = (0..fabric.hosts() as usize).collect();
    let mut at = 0;
    while !next.is_empty() {
        at += 1;
        let reached: BTreeSet<usize> = next.iter().flat_map(|&n| &beside[n]).copied().collect();
        next = reached.into_iter().filter(|&n| height[n] == u32::MAX).collect();
        next.iter().for_each(|&n| height[n] = at);
    }
    height
}

/// The representative of a node's part.
fn root(part: &mut [usize], mut node: usize) -> usize {
    while part[node] != node {
        part[node] = part[part[node]];
        node = part[node];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Duration, Framing, LinkSpec, Rate, Switch};

    fn link(gbps: u64) -> LinkSpec {
        LinkSpec { rate: Rate::gbps(gbps), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 }
    }

    /// Hosts of each cut, and the rates out of it and into it in Gb/s.
    fn shown(fabric: &Fabric) -> Vec<(Vec<u32>, u64, u64)> {
        let gbps = |bps: u64| bps / 1_000_000_000;
        let of = |c: &FabricCut| (c.hosts.iter().map(|h| h.0).collect(), gbps(c.out_bps), gbps(c.in_bps));
        cuts(fabric).iter().map(of).collect()
    }

    #[test]
    fn racks_and_pods_are_cut_off() {
        let one = Fabric::single_switch(3, Switch::default(), link(10)).unwrap();
        assert_eq!(shown(&one), []);
        let leaves = Fabric::leaf_spine(2, 2, 3, Switch::default(), link(10), link(4)).unwrap();
        assert_eq!(shown(&leaves), [(vec![0, 1], 12, 12), (vec![2, 3], 12, 12)]);
        let cut = &cuts(&leaves)[0];
        let framing = link(4).framing;
        assert_eq!((cut.overhead, cut.minimum), (framing.overhead().into(), framing.minimum().into()));
        // Four pods of two edge switches with two hosts each. Two wires of 3 Gb/s lead out of an
        // edge switch, four out of a pod.
        let tree = shown(&Fabric::fat_tree(4, Switch::default(), link(10), link(3)).unwrap());
        let (racks, pods) = tree.split_at(8);
        assert!(racks.iter().all(|c| c.0.len() == 2 && (c.1, c.2) == (6, 6)), "{racks:?}");
        assert!(pods.len() == 4 && pods.iter().all(|c| c.0.len() == 4 && (c.1, c.2) == (12, 12)), "{pods:?}");
    }
}
