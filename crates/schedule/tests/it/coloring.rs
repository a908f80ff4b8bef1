//! Tests that colorings are proper, use the fewest colors, and recolor few edges.

use proptest::prelude::*;
use timeplane_model::mix64;
use timeplane_schedule::coloring::{EulerSplit, Paull};

/// A bipartite multigraph.
#[derive(Clone, Debug)]
struct Graph {
    left: usize,
    right: usize,
    edges: Vec<(u32, u32)>,
}

impl Graph {
    fn degree(&self) -> usize {
        self.degrees(|_| true).into_iter().max().unwrap_or(0)
    }
    /// Degrees in the chosen edges; left vertices, then right ones.
    fn degrees(&self, chosen: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut degrees = vec![0; self.left + self.right];
        for (_, &(u, v)) in self.edges.iter().enumerate().filter(|&(e, _)| chosen(e)) {
            degrees[u as usize] += 1;
            degrees[self.left + v as usize] += 1;
        }
        degrees
    }
    fn assert_proper(&self, colors: &[u16], number: usize) {
        assert_eq!(colors.len(), self.edges.len());
        assert!(colors.iter().all(|&c| usize::from(c) < number), "colors beyond {number}");
        for c in 0..number {
            let degrees = self.degrees(|e| usize::from(colors[e]) == c);
            assert!(degrees.iter().all(|&d| d <= 1), "color {c} of {number} meets itself in {self:?}");
        }
    }
}

fn graphs() -> impl Strategy<Value = Graph> {
    (1usize..12, 1usize..12, 0usize..500).prop_flat_map(|(left, right, edges)| {
        prop::collection::vec((0..left as u32, 0..right as u32), edges).prop_map(move |edges| Graph {
            left,
            right,
            edges,
        })
    })
}

/// A graph with equal degrees: a sum of permutations.
fn regular(n: usize, degree: usize, seed: u64) -> Graph {
    let mut edges = Vec::new();
    for d in 0..degree {
        let mut to: Vec<u32> = (0..n as u32).collect();
        to.sort_by_key(|&v| mix64(seed << 32 ^ (d as u64) << 16 ^ u64::from(v)));
        edges.extend(to.into_iter().enumerate().map(|(u, v)| (u as u32, v)));
    }
    edges.sort_by_key(|&(u, v)| mix64(u64::from(u) << 20 ^ u64::from(v) ^ seed));
    Graph { left: n, right: n, edges }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn euler_colors_with_the_largest_degree(graphs in prop::collection::vec(graphs(), 1..4)) {
        // One value colors several graphs, to show that buffers carry nothing over.
        let (mut euler, mut out) = (EulerSplit::new(), vec![7; 3]);
        for graph in graphs {
            let number = euler.color(graph.left, graph.right, &graph.edges, &mut out);
            prop_assert_eq!(number, graph.degree());
            graph.assert_proper(&out, number);
        }
    }

    #[test]
    fn euler_colors_regular_graphs(n in 1usize..16, degree in 1usize..150, seed: u64) {
        let graph = regular(n, degree, seed);
        let mut out = vec![];
        prop_assert_eq!(EulerSplit::new().color(n, n, &graph.edges, &mut out), degree);
        graph.assert_proper(&out, degree);
    }

    #[test]
    fn halving_spreads_every_vertex_evenly(graph in graphs(), bits in 0u32..6) {
        let colors = 1 << bits;
        let mut out = vec![];
        EulerSplit::new().color_within(graph.left, graph.right, &graph.edges, colors, &mut out);
        let all = graph.degrees(|_| true);
        for c in 0..colors {
            for (&d, &of) in all.iter().zip(&graph.degrees(|e| usize::from(out[e]) == c)) {
                prop_assert!((d / colors..=d.div_ceil(colors)).contains(&of), "{} of {} in {} parts", of, d, colors);
            }
        }
    }

    /// Edges are added and removed at random; a graph of full degree has no spare color.
    #[test]
    fn paull_moves_few(left in 1usize..10, right in 1usize..10, colors in 1usize..8, dice in prop::collection::vec(any::<u64>(), 0..400)) {
        let mut paull = Paull::new(left, right, colors);
        let mut there: Vec<(u32, u32, u32)> = vec![];
        let (mut at_left, mut at_right) = (vec![0; left], vec![0; right]);
        for d in dice {
            let (u, v) = ((d >> 8) as usize % left, (d >> 32) as usize % right);
            if d % 4 == 0 && !there.is_empty() {
                let (edge, u, v) = there.swap_remove((d >> 8) as usize % there.len());
                prop_assert!(paull.remove(edge) && !paull.remove(edge) && paull.color(edge).is_none());
                at_left[u as usize] -= 1;
                at_right[v as usize] -= 1;
            } else {
                let before: Vec<_> = there.iter().map(|&(e, _, _)| (e, paull.color(e))).collect();
                match paull.insert(u, v) {
                    None => prop_assert!(at_left[u] == colors || at_right[v] == colors),
                    Some(new) => {
                        prop_assert!(new.moved < left.min(right), "{} of {} x {}", new.moved, left, right);
                        let moved: Vec<u32> = before.iter().filter(|b| paull.color(b.0) != b.1).map(|b| b.0).collect();
                        let mut told = paull.moved().to_vec();
                        told.sort_unstable();
                        let mut moved_sorted = moved.clone();
                        moved_sorted.sort_unstable();
                        prop_assert_eq!(told.len(), new.moved);
                        prop_assert_eq!(told, moved_sorted);
                        prop_assert_eq!(paull.color(new.edge), Some(new.color));
                        there.push((new.edge, u as u32, v as u32));
                        at_left[u] += 1;
                        at_right[v] += 1;
                    }
                }
            }
            prop_assert_eq!(paull.len(), there.len());
            let graph = Graph { left, right, edges: there.iter().map(|&(_, u, v)| (u, v)).collect() };
            let now: Vec<u16> = there.iter().map(|&(e, _, _)| paull.color(e).unwrap()).collect();
            graph.assert_proper(&now, colors);
        }
        paull.clear();
        prop_assert!(paull.is_empty() && paull.insert(0, 0).is_some());
    }
}

#[test]
fn paull_fills_a_clos_network() {
    // Every vertex gets as many edges as there are colors: the hardest case, with long paths.
    for (n, colors) in [(4, 30), (32, 32), (100, 3)] {
        let (mut paull, mut longest) = (Paull::new(n, n, colors), 0);
        for (u, v) in regular(n, colors, 5).edges {
            longest = longest.max(paull.insert(u as usize, v as usize).unwrap().moved);
        }
        assert!((1..n).contains(&longest), "{longest} moved among {n}");
        assert_eq!(paull.len(), n * colors);
        assert!((0..n).all(|v| paull.insert(v, (v * 7 + 1) % n).is_none()));
    }
}

#[test]
fn empty_graphs_need_no_color() {
    let mut out = vec![1, 2];
    assert_eq!(EulerSplit::new().color(0, 0, &[], &mut out), 0);
    assert_eq!(EulerSplit::new().color(3, 2, &[], &mut out), 0);
    EulerSplit::new().color_within(3, 2, &[], 4, &mut out);
    assert!(out.is_empty());
}

#[test]
#[should_panic(expected = "does not exist")]
fn a_vertex_that_does_not_exist_is_refused() {
    EulerSplit::new().color(2, 2, &[(0, 2)], &mut vec![]);
}
