//! Common topologies as nodes and wires.
//!
//! Each function documents the order of its nodes and wires.

use crate::fabric::{Fabric, FabricError, LinkSpec, Switch};
use crate::ids::NodeId;

fn at_least_one(what: &'static str, found: u32) -> Result<(), FabricError> {
    if found == 0 {
        return Err(FabricError::Dimension { what, found: 0, allowed: "at least 1" });
    }
    Ok(())
}

impl Fabric {
    /// All hosts below one switch.
    ///
    /// # Errors
    /// If there are fewer than two hosts.
    pub fn single_switch(hosts: u32, switch: Switch, link: LinkSpec) -> Result<Self, FabricError> {
        let wires: Vec<_> = (0..hosts).map(|h| (NodeId(h), NodeId(hosts), link)).collect();
        Self::new(hosts, vec![switch], &wires)
    }

    /// `leaves` switches with `per_leaf` hosts each, all joined to each of `spines` switches.
    ///
    /// Nodes are hosts, leaves, spines. Wires are those of hosts in order, then leaf by leaf to
    /// each spine.
    ///
    /// # Errors
    /// If a dimension is zero.
    pub fn leaf_spine(
        leaves: u32,
        per_leaf: u32,
        spines: u32,
        switch: Switch,
        link: LinkSpec,
        uplink: LinkSpec,
    ) -> Result<Self, FabricError> {
        at_least_one("leaves", leaves)?;
        at_least_one("hosts_per_leaf", per_leaf)?;
        at_least_one("spines", spines)?;
        let hosts = leaves * per_leaf;
        let mut wires = Vec::with_capacity((hosts + leaves * spines) as usize);
        wires.extend((0..hosts).map(|h| (NodeId(h), NodeId(hosts + h / per_leaf), link)));
        for leaf in 0..leaves {
            wires.extend((0..spines).map(|s| (NodeId(hosts + leaf), NodeId(hosts + leaves + s), uplink)));
        }
        Self::new(hosts, vec![switch; (leaves + spines) as usize], &wires)
    }

    /// `edges` switches with `per_edge` hosts each, below one root.
    ///
    /// # Errors
    /// If a dimension is zero.
    pub fn tree(
        edges: u32,
        per_edge: u32,
        switch: Switch,
        link: LinkSpec,
        uplink: LinkSpec,
    ) -> Result<Self, FabricError> {
        at_least_one("edges", edges)?;
        at_least_one("hosts_per_edge", per_edge)?;
        Self::leaf_spine(edges, per_edge, 1, switch, link, uplink)
    }

    /// The k-ary fat tree (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008): `k` pods of k/2 edge and k/2
    /// aggregation switches, (k/2)² cores, k³/4 hosts.
    ///
    /// Nodes are hosts, edges, aggregations, cores. Aggregation `a` of a pod is joined to cores `a
    /// k/2 .. (a + 1) k/2`.
    ///
    /// # Errors
    /// If `k` is zero or odd.
    pub fn fat_tree(k: u32, switch: Switch, link: LinkSpec, uplink: LinkSpec) -> Result<Self, FabricError> {
        Self::folded_clos(k, k / 2, switch, link, uplink)
    }

    /// A folded Clos network of three layers of switches with `k` ports: a fat tree whose edge
    /// switches have `per_edge` hosts, which is oversubscribed `per_edge` : `k` - `per_edge`.
    ///
    /// Each of `k` pods has k/2 edge and `k` - `per_edge` aggregation switches. Nodes are hosts,
    /// edges, aggregations, cores. Aggregation `a` of a pod is joined to cores `a k/2 .. (a + 1)
    /// k/2`.
    ///
    /// # Errors
    /// If `k` is zero or odd, or if the hosts leave no port of an edge switch.
    pub fn folded_clos(
        k: u32,
        per_edge: u32,
        switch: Switch,
        link: LinkSpec,
        uplink: LinkSpec,
    ) -> Result<Self, FabricError> {
        if k == 0 || k % 2 == 1 {
            return Err(FabricError::Dimension { what: "k", found: k.into(), allowed: "even and at least 2" });
        }
        if !(1..k).contains(&per_edge) {
            let allowed = "at least 1 and less than k";
            return Err(FabricError::Dimension { what: "hosts_per_edge", found: per_edge.into(), allowed });
        }
        let (half, up) = (k / 2, k - per_edge);
        let hosts = k * half * per_edge;
        let (edges, aggregations, cores) = (k * half, k * up, up * half);
        let edge = |pod: u32, e: u32| NodeId(hosts + pod * half + e);
        let aggregation = |pod: u32, a: u32| NodeId(hosts + edges + pod * up + a);
        let core = |c: u32| NodeId(hosts + edges + aggregations + c);
        let mut wires: Vec<_> = (0..hosts).map(|h| (NodeId(h), NodeId(hosts + h / per_edge), link)).collect();
        for pod in 0..k {
            for e in 0..half {
                wires.extend((0..up).map(|a| (edge(pod, e), aggregation(pod, a), uplink)));
            }
            for a in 0..up {
                wires.extend((0..half).map(|c| (aggregation(pod, a), core(a * half + c), uplink)));
            }
        }
        Self::new(hosts, vec![switch; (edges + aggregations + cores) as usize], &wires)
    }
}

#[cfg(test)]
mod tests {
    use crate::fabric::{Candidates, Fabric, Framing, LinkSpec, Switch};
    use crate::ids::{HostId, NodeId};
    use crate::units::{Duration, Rate};
    use petgraph::algo::dijkstra;
    use petgraph::graph::{DiGraph, NodeIndex};

    const LINK: LinkSpec =
        LinkSpec { rate: Rate::gbps(1), propagation: Duration::from_us(1), framing: Framing::Ethernet, bit_error: 0.0 };

    /// Every candidate link lies on a shortest path, and every shortest path's first link is a
    /// candidate.
    fn routes_are_all_shortest_paths(fabric: &Fabric) {
        let mut graph = DiGraph::<(), ()>::new();
        for _ in fabric.nodes() {
            graph.add_node(());
        }
        let alive = |&(l, _): &(usize, &crate::fabric::Link)| !fabric.is_dead(crate::ids::LinkId(l as u32));
        for (_, l) in fabric.links().iter().enumerate().filter(alive) {
            // Reversed, so that one search from a host gives all distances to it.
            graph.add_edge(NodeIndex::new(l.to.index()), NodeIndex::new(l.from.index()), ());
        }
        for to in (0..fabric.hosts()).map(HostId) {
            // Distance from its switch, which all hosts of that switch share.
            let over = fabric.link(fabric.uplink(to)).to;
            let distance = dijkstra(&graph, NodeIndex::new(over.index()), None, |_| 1u32);
            let far = |node: NodeId| distance.get(&NodeIndex::new(node.index())).copied();
            for s in fabric.hosts()..fabric.nodes().len() as u32 {
                let at = NodeId(s);
                if at == over {
                    let last = Candidates::Host(fabric.downlink(to));
                    let dead = fabric.is_dead(fabric.downlink(to));
                    assert_eq!(fabric.candidates(at, to), if dead { Candidates::Set(&[]) } else { last });
                    continue;
                }
                let expected: Vec<_> = (0..fabric.links().len() as u32)
                    .map(crate::ids::LinkId)
                    .filter(|&l| {
                        let link = fabric.link(l);
                        // Other hosts do not forward.
                        let through = link.to.0 >= fabric.hosts() && !fabric.is_dead(l);
                        link.from == at && through && far(at).is_some_and(|here| far(link.to) == Some(here - 1))
                    })
                    .collect();
                assert_eq!(fabric.candidates(at, to), Candidates::Set(&expected), "{at:?} -> {to:?}");
            }
            for from in (0..fabric.hosts()).map(HostId).filter(|f| *f != to) {
                let first = fabric.link(fabric.uplink(from)).to;
                let ends = [fabric.uplink(from), fabric.downlink(to)].iter().all(|l| !fabric.is_dead(*l));
                assert_eq!(fabric.reaches(from, to), ends && far(first).is_some());
            }
        }
    }

    #[test]
    fn routes_avoid_what_is_dead() {
        let sw = Switch::default();
        for fabric in [
            Fabric::fat_tree(4, sw, LINK, LINK).unwrap(),
            Fabric::leaf_spine(4, 3, 2, sw, LINK, LINK).unwrap(),
            Fabric::tree(3, 2, sw, LINK, LINK).unwrap(),
        ] {
            let mut state = 7u64;
            let mut draw = |below: usize| {
                state = crate::hash::mix64(state + 1);
                state as usize % below
            };
            for count in 0..12 {
                let mut dead: Vec<_> =
                    (0..count).map(|_| crate::ids::LinkId(draw(fabric.links().len()) as u32)).collect();
                if count % 3 == 2 {
                    let switch = fabric.hosts() + draw(fabric.switches()) as u32;
                    dead.extend(fabric.links_of(NodeId(switch)));
                }
                let left = fabric.without(dead.iter().copied());
                assert!(dead.iter().all(|l| left.is_dead(*l) && left.is_dead(crate::ids::LinkId(l.0 ^ 1))));
                routes_are_all_shortest_paths(&left);
                // Restored links are as before.
                let whole = left.without([]);
                for (a, b) in (0..fabric.hosts()).flat_map(|a| (0..a).map(move |b| (HostId(a), HostId(b)))) {
                    assert_eq!(whole.path(a, b, 5 * a.0), fabric.path(a, b, 5 * a.0));
                }
            }
        }
        // This is the only spine's only link to a leaf: the leaf's hosts reach each other, and no
        // other hosts.
        let tree = Fabric::tree(2, 2, sw, LINK, LINK).unwrap().without([crate::ids::LinkId(8)]);
        let reaches = |a, b| tree.reaches(HostId(a), HostId(b));
        assert!(reaches(0, 1) && reaches(2, 3) && !reaches(0, 2) && !reaches(3, 1));
    }

    #[test]
    fn usual_fabrics_have_their_sizes_and_routes() {
        let sw = Switch::default();
        let fat = Fabric::fat_tree(4, sw, LINK, LINK).unwrap();
        assert_eq!((fat.hosts(), fat.switches(), fat.links().len()), (16, 20, 2 * 48));
        let leaf_spine = Fabric::leaf_spine(4, 3, 2, sw, LINK, LINK).unwrap();
        assert_eq!((leaf_spine.hosts(), leaf_spine.switches()), (12, 6));
        let clos = |k, per_edge| Fabric::folded_clos(k, per_edge, sw, LINK, LINK);
        // Opera's folded Clos, three hosts for each uplink of their switches.
        let opera = clos(12, 9).unwrap();
        assert_eq!((opera.hosts(), opera.switches()), (648, 72 + 36 + 18));
        assert!((648 + 72 + 36..648 + 126).all(|core| opera.links_of(NodeId(core)).len() == 2 * 12));
        for fabric in [
            fat,
            leaf_spine,
            Fabric::tree(3, 2, sw, LINK, LINK).unwrap(),
            Fabric::single_switch(5, sw, LINK).unwrap(),
            clos(4, 3).unwrap(),
            clos(4, 1).unwrap(),
            Fabric::expander(13, 2, 4, 3, sw, LINK, LINK).unwrap(),
        ] {
            routes_are_all_shortest_paths(&fabric);
        }
        assert!(clos(4, 0).is_err() && clos(4, 4).is_err() && clos(0, 0).is_err());
        assert!(Fabric::fat_tree(3, sw, LINK, LINK).is_err());
        assert!(Fabric::leaf_spine(0, 3, 2, sw, LINK, LINK).is_err());
    }

    #[test]
    fn even_splitting_loads_links_as_arithmetic_says() {
        // Two leaves of two hosts, two spines: 1 Gb/s of wire bytes from every host to a host of
        // the other leaf.
        let f = Fabric::leaf_spine(2, 2, 2, Switch::default(), LINK, LINK).unwrap();
        let pairs = [(0, 2), (1, 3), (2, 0), (3, 1)].map(|(a, b)| (HostId(a), HostId(b), 125e6));
        let u = f.utilization(pairs);
        assert!(u.seconds().iter().all(|&s| (s - 1.0).abs() < 1e-12), "{u:?}");
    }
}
