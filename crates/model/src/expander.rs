//! Expanders: racks joined by a random regular graph.
//!
//! The same seed gives the same graph on every machine.

use crate::fabric::{Fabric, FabricError, LinkSpec, Switch};
use crate::hash::mix64;
use crate::ids::NodeId;

/// Graphs that are drawn before one that is not connected is an error.
const DRAWS: u64 = 100;
/// Limit of racks x racks x uplinks, to which the time and the memory for routes are proportional:
/// 20 s and 1 GB at most.
const MOST_ROUTES: u64 = 1 << 29;

impl Fabric {
    /// Racks of `per_rack` hosts with `uplinks` wires each to other racks, by a random regular
    /// graph (Jellyfish: Ankit Singla et al., "Jellyfish: networking data centers randomly", NSDI
    /// 2012; Opera's static expander).
    ///
    /// Two racks have at most one wire. The seed alone determines the graph. Nodes are hosts,
    /// racks; the last rack may have fewer hosts than others. Wires are those of hosts in order,
    /// then those of racks by their lower and their higher rack.
    ///
    /// # Errors
    /// If a dimension is zero or too large, if the racks are too few for the uplinks or the wires
    /// would have an odd number of ends, or if no graph that was drawn is connected.
    pub fn expander(
        hosts: u32,
        per_rack: u32,
        uplinks: u32,
        seed: u64,
        switch: Switch,
        link: LinkSpec,
        uplink: LinkSpec,
    ) -> Result<Self, FabricError> {
        let racks = expander_racks(hosts, per_rack, uplinks)?;
        let mut built = Err(FabricError::TooFewHosts { hosts });
        for draw in 0..DRAWS {
            let rack = |r: u32| NodeId(hosts + r);
            let mut wires: Vec<_> = (0..hosts).map(|h| (NodeId(h), rack(h / per_rack), link)).collect();
            let graph = regular_graph(racks, uplinks, mix64(seed.wrapping_add(draw)));
            wires.extend(graph.into_iter().map(|(a, b)| (rack(a), rack(b), uplink)));
            built = Self::new(hosts, vec![switch; racks as usize], &wires);
            if !matches!(built, Err(FabricError::Disconnected { .. })) {
                break;
            }
        }
        built
    }
}

/// The number of racks of an expander, or why no regular graph has such dimensions.
fn expander_racks(hosts: u32, per_rack: u32, uplinks: u32) -> Result<u32, FabricError> {
    for (what, found) in [("hosts", hosts), ("hosts_per_rack", per_rack), ("uplinks", uplinks)] {
        if found == 0 {
            return Err(FabricError::Dimension { what, found: 0, allowed: "at least 1" });
        }
    }
    let racks = hosts.div_ceil(per_rack);
    let wrong = |allowed| Err(FabricError::Dimension { what: "uplinks", found: uplinks.into(), allowed });
    if uplinks >= racks {
        return wrong("less than the number of racks, as two racks have one wire at most");
    }
    if racks % 2 == 1 && uplinks % 2 == 1 {
        return wrong("even, as the number of racks is odd and a wire has two ends");
    }
    if u64::from(racks).pow(2) * u64::from(uplinks) > MOST_ROUTES {
        return wrong("fewer, as the square of the number of racks times the uplinks is 2^29 at most");
    }
    if uplinks == 1 && racks > 2 {
        return wrong("at least 2, as pairs of racks reach no others");
    }
    Ok(racks)
}

/// A random graph without loops and double edges in which each vertex has `degree` edges, sorted.
///
/// Free ends are joined at random as long as that is allowed (Angelika Steger and Nicholas Wormald,
/// "Generating random regular graphs quickly", 1999). Ends that are left take the places of ends of
/// random edges, as in Jellyfish. Of a dense graph, what it leaves out is drawn. The degree is less
/// than the number of vertices, and their product is even.
fn regular_graph(vertices: u32, degree: u32, seed: u64) -> Vec<(u32, u32)> {
    let mut state = seed;
    let mut below = |n: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mix64(state)) * n as u128) >> 64) as usize
    };
    let drawn = degree.min(vertices - 1 - degree);
    loop {
        let mut graph = Graph::new(vertices);
        let ends = graph.join(drawn, &mut below);
        if ends.chunks_exact(2).all(|pair| graph.switch(pair[0], pair[1], &mut below)) {
            let pairs = (0..vertices).flat_map(|a| (a + 1..vertices).map(move |b| (a, b)));
            return pairs.filter(|&(a, b)| graph.has(a, b) == (drawn == degree)).collect();
        }
    }
}

/// The edges of a graph, as a list and as a matrix.
struct Graph {
    vertices: u32,
    edges: Vec<(u32, u32)>,
    matrix: Vec<bool>,
}

impl Graph {
    fn new(vertices: u32) -> Self {
        Self { vertices, edges: Vec::new(), matrix: vec![false; vertices as usize * vertices as usize] }
    }

    fn has(&self, a: u32, b: u32) -> bool {
        self.matrix[a as usize * self.vertices as usize + b as usize]
    }

    fn set(&mut self, a: u32, b: u32, is_edge: bool) {
        for (a, b) in [(a, b), (b, a)] {
            self.matrix[a as usize * self.vertices as usize + b as usize] = is_edge;
        }
    }

    /// Joins `degree` ends of each vertex in random pairs. Returns those that are left, of which no
    /// pair was allowed for a while.
    fn join(&mut self, degree: u32, below: &mut impl FnMut(usize) -> usize) -> Vec<u32> {
        let mut ends: Vec<u32> = (0..self.vertices).flat_map(|v| (0..degree).map(move |_| v)).collect();
        let mut idle = 0;
        while !ends.is_empty() && idle < 50 {
            for i in (1..ends.len()).rev() {
                ends.swap(i, below(i + 1));
            }
            let mut left = Vec::new();
            for pair in ends.chunks_exact(2) {
                let (a, b) = (pair[0], pair[1]);
                if a == b || self.has(a, b) {
                    left.extend([a, b]);
                } else {
                    self.set(a, b, true);
                    self.edges.push((a, b));
                }
            }
            idle = if left.len() < ends.len() { 0 } else { idle + 1 };
            ends = left;
        }
        ends
    }

    /// Replaces a random edge c d by a c and b d. Whether there was one that allows it.
    fn switch(&mut self, a: u32, b: u32, below: &mut impl FnMut(usize) -> usize) -> bool {
        for _ in 0..100 * self.edges.len() {
            let place = below(2 * self.edges.len());
            let (c, d) = self.edges[place / 2];
            let (c, d) = if place.is_multiple_of(2) { (c, d) } else { (d, c) };
            if a == c || b == d || self.has(a, c) || self.has(b, d) {
                continue;
            }
            self.set(c, d, false);
            self.set(a, c, true);
            self.set(b, d, true);
            self.edges[place / 2] = (a, c);
            self.edges.push((b, d));
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Framing;
    use crate::ids::HostId;
    use crate::units::{Duration, Rate};

    fn build(hosts: u32, per_rack: u32, uplinks: u32, seed: u64) -> Result<Fabric, FabricError> {
        let link =
            LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
        Fabric::expander(hosts, per_rack, uplinks, seed, Switch::default(), link, link)
    }

    #[test]
    fn graphs_are_regular_and_follow_their_seeds() {
        for vertices in 2..24 {
            for degree in (0..vertices).filter(|d| vertices * d % 2 == 0) {
                let edges = regular_graph(vertices, degree, 7);
                let ends = |v| edges.iter().filter(|e| e.0 == v || e.1 == v).count() as u32;
                assert!((0..vertices).all(|v| ends(v) == degree), "{vertices} vertices of degree {degree}");
                assert!(edges.windows(2).all(|e| e[0] < e[1]) && edges.iter().all(|e| e.0 < e.1));
            }
        }
        // Random pairs alone would hardly ever make this one.
        assert_eq!(regular_graph(600, 200, 3).len(), 600 * 200 / 2);
        assert_eq!(regular_graph(30, 4, 1), regular_graph(30, 4, 1));
        assert_ne!(regular_graph(30, 4, 1), regular_graph(30, 4, 2));
    }

    /// Edges are uniform: each of the pairs is in 4 of 9 graphs, with a deviation of 3.5 %.
    #[test]
    fn no_pair_is_preferred() {
        let mut count = [[0u32; 10]; 10];
        for seed in 0..2_000 {
            for (a, b) in regular_graph(10, 4, mix64(seed)) {
                count[a as usize][b as usize] += 1;
            }
        }
        for (a, row) in count.iter().enumerate() {
            for n in &row[a + 1..] {
                assert!((755..=1_023).contains(n), "{n} of 2000, expected 889 +- 6 * 22.2");
            }
        }
    }

    /// The static expander of Opera's evaluation. In 60 graphs of networkx's `random_regular_graph`
    /// with 130 vertices of degree 7, the mean distance was 2.674 to 2.713.
    #[test]
    fn racks_are_few_hops_apart() {
        for seed in 0..5 {
            let fabric = build(648, 5, 7, seed).unwrap();
            assert_eq!((fabric.hosts(), fabric.switches(), fabric.links().len()), (648, 130, 2 * (648 + 130 * 7 / 2)));
            // The last rack has the three hosts that are left.
            assert_eq!(fabric.links_of(NodeId(648 + 129)).len(), 2 * (3 + 7));
            let mut hops = 0;
            for (a, b) in (0..130).flat_map(|a| (0..130).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                hops += fabric.path(HostId(5 * a), HostId(5 * b), 0).len() - 2;
            }
            let mean = hops as f64 / (130.0 * 129.0);
            assert!((2.66..2.73).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn what_has_no_regular_graph_is_refused() {
        for (hosts, per_rack, uplinks) in [(8, 2, 4), (10, 2, 3), (8, 2, 1), (8, 0, 2), (8, 2, 0), (0, 2, 2)] {
            let found = build(hosts, per_rack, uplinks, 0);
            assert!(matches!(found, Err(FabricError::Dimension { .. })), "{hosts} {per_rack} {uplinks}: {found:?}");
        }
        assert!(matches!(build(4096, 1, 33, 0), Err(FabricError::Dimension { what: "uplinks", .. })));
        // Some of the graphs are two rings of four racks; others are drawn instead.
        assert!((0..20).all(|seed| build(8, 1, 2, seed).is_ok()));
    }
}
