//! Colors all edges at once by Euler splits.

use super::halving::Halving;
use super::table::Table;

/// Not on a trail yet.
const UNSEEN: u8 = 2;
/// Up to this degree, coloring edge by edge is faster: free colors of a vertex fit a word, and paths are short.
const ONE_BY_ONE: usize = 64;
/// Taken out of a split.
const REST: u8 = 3;

/// Colors all edges of a bipartite multigraph at once, by halving it again and again.
///
/// **Halving.** At every vertex, edges are paired as they come; pairs string edges into trails, the edges of a trail go to the
/// two halves alternately (closed trails have even length, as the graph is bipartite). So each half gets half of every vertex's
/// edges, rounded up or down. It takes one pass over the edges and one along the trails: no adjacency lists, no dummy edges.
/// Later halvings treat all parts at once.
///
/// **Any degree** D (after H. N. Gabow, "Using Euler partitions to edge color bipartite multigraphs", 1976): halve into
/// parts of degree a and b, a + b = D; color the first recursively, add as many of its colors to the second as
/// make its degree a power of two, and color that by halving alone. With D odd, the vertices of degree D are to get the smaller half
/// in the first part. Trails that begin at them are laid so; one that joins two on the same side can not be, and
/// loses its last edge. Those few edges come last, by alternating paths (as in [`Paull`](super::Paull)).
///
/// Up to degree 64 that is slower than to color all edges one after the other by such paths, which is done then: O(V) per
/// edge at worst, but few edges need a path, and those are short. Above, it is O(E log D) for E edges, plus O(V) per edge left
/// out, of which there are at most V/2 per odd degree met.
///
/// Time and memory also grow with V x D, as vertices have slots for all colors: little where most have about the largest degree.
///
/// Buffers are kept: no allocation once calls have been as large as they get. The same edges in the same order get the same colors.
#[derive(Clone, Debug, Default)]
pub struct EulerSplit {
    halving: Halving,
    trails: Trails,
    /// Edges to split, or colored so far; those of second halves, outermost first; those left out.
    order: Vec<u32>,
    second: Vec<u32>,
    rest: Vec<u32>,
    /// The splits on the way down.
    levels: Vec<Level>,
    /// A part that is colored by halving alone: its edges, their ends and classes.
    part: Vec<u32>,
    ends: Vec<(u32, u32)>,
    class: Vec<u16>,
    table: Table,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    /// In [`EulerSplit::second`], where its second half ends.
    end: usize,
    /// Colors of the halves.
    first: usize,
    second: usize,
}

impl EulerSplit {
    /// With empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Properly colors `edges`, (left, right) vertices each below `left` and `right`, with the fewest colors: the largest
    /// degree, which is returned. `out` is filled with a color for every edge.
    ///
    /// # Panics
    /// Where an edge names a vertex that does not exist, or a degree is above 32 768.
    pub fn color(&mut self, left: usize, right: usize, edges: &[(u32, u32)], out: &mut Vec<u16>) -> usize {
        check(left, right, edges);
        let degree = self.trails.count_degrees(left, right, edges);
        assert!(degree <= 1 << 15, "degree {degree}");
        out.clear();
        out.resize(edges.len(), 0);
        if degree <= ONE_BY_ONE {
            self.order.clear();
            self.rest.clear();
            self.rest.extend(0..edges.len() as u32);
            self.color_rest(left, right, edges, degree, out);
            return degree;
        }
        if degree.is_power_of_two() {
            self.halving.classes(left, right, edges, degree.trailing_zeros(), out);
            return degree;
        }
        self.split_down(left, right, edges, degree);
        self.color_up(left, right, edges, out);
        self.color_rest(left, right, edges, degree, out);
        degree
    }

    /// Spreads `edges` evenly over `colors`, a power of two, by halving alone: a vertex of degree d has at least d / `colors`
    /// edges of each rounded down, and at most that rounded up. So the coloring is proper if no degree is above `colors`. `out` is
    /// filled with a color for every edge.
    ///
    /// This is how Fastpass (Perry et al., SIGCOMM 2014, section 4) chooses paths: with hosts of one rack over four paths of equal
    /// rate, each path gets a quarter of every rack's packets.
    ///
    /// # Panics
    /// Where an edge names a vertex that does not exist, or `colors` is not a power of two up to 32 768.
    pub fn color_within(&mut self, left: usize, right: usize, edges: &[(u32, u32)], colors: usize, out: &mut Vec<u16>) {
        assert!(colors.is_power_of_two() && colors <= 1 << 15, "{colors} colors");
        self.halving.classes(left, right, edges, colors.trailing_zeros(), out);
    }

    /// Splits until the first half's degree is a power of two; halves are ranges of `order` afterwards.
    fn split_down(&mut self, left: usize, right: usize, edges: &[(u32, u32)], mut degree: usize) {
        self.order.clear();
        self.order.extend(0..edges.len() as u32);
        self.rest.clear();
        self.levels.clear();
        while !degree.is_power_of_two() {
            self.ends.clear();
            self.ends.extend(self.order.iter().map(|&e| edges[e as usize]));
            self.trails.halve_by_degree(left, right, &self.ends, degree);
            let (first, second) = (degree / 2, degree.div_ceil(2));
            let mut kept = 0;
            for i in 0..self.order.len() {
                let e = self.order[i];
                match self.trails.half[i] {
                    0 => {
                        self.order[kept] = e;
                        kept += 1;
                    }
                    1 => self.second.push(e),
                    _ => self.rest.push(e),
                }
            }
            self.order.truncate(kept);
            self.levels.push(Level { end: self.second.len(), first, second });
            degree = first;
        }
    }

    /// Colors the innermost first half, then adds the second halves from the innermost outwards.
    fn color_up(&mut self, left: usize, right: usize, edges: &[(u32, u32)], out: &mut [u16]) {
        let innermost = self.levels.last().expect("a degree that is no power of two is split").first;
        self.part.clear();
        self.part.extend_from_slice(&self.order);
        self.halve_part(left, right, edges, innermost, 0, out);
        while let Some(level) = self.levels.pop() {
            // Colors of the first half that make the second one's number a power of two.
            let all = level.second.next_power_of_two();
            let keep = level.first - (all - level.second);
            self.part.clear();
            self.part.extend(self.order.iter().filter(|&&e| usize::from(out[e as usize]) >= keep));
            let begin = self.levels.last().map_or(0, |l| l.end);
            self.part.extend_from_slice(&self.second[begin..level.end]);
            self.order.extend(self.second.drain(begin..));
            self.halve_part(left, right, edges, all, keep, out);
        }
    }

    /// Colors the edges of `part` with `colors`, a power of two, from color `base` on.
    fn halve_part(
        &mut self,
        left: usize,
        right: usize,
        edges: &[(u32, u32)],
        colors: usize,
        base: usize,
        out: &mut [u16],
    ) {
        self.ends.clear();
        self.ends.extend(self.part.iter().map(|&e| edges[e as usize]));
        self.halving.classes(left, right, &self.ends, colors.trailing_zeros(), &mut self.class);
        for (&e, &class) in self.part.iter().zip(&self.class) {
            out[e as usize] = base as u16 + class;
        }
    }

    /// Colors the edges that splits left out.
    fn color_rest(&mut self, left: usize, right: usize, edges: &[(u32, u32)], degree: usize, out: &mut [u16]) {
        if self.rest.is_empty() {
            return;
        }
        self.table.reset(left, right, degree);
        for &e in &self.order {
            self.table.place(e as usize, edges[e as usize], out[e as usize]);
        }
        for &e in &self.rest {
            self.table.insert(e as usize, edges, out).expect("no vertex has more edges than there are colors");
        }
    }
}

fn check(left: usize, right: usize, edges: &[(u32, u32)]) {
    let outside = edges.iter().fold(false, |bad, &(u, v)| bad | (u as usize >= left) | (v as usize >= right));
    assert!(!outside, "an edge names a vertex that does not exist: there are {left} and {right}");
    assert!(edges.len() < u32::MAX as usize / 2, "{} edges", edges.len());
}

/// Halves a graph with a wish for some vertices; buffers of one halving.
#[derive(Clone, Debug, Default)]
struct Trails {
    /// Per vertex (left ones first), the edge that has no partner there yet.
    single: Vec<u32>,
    /// Per edge, its partners at the left and the right end; its own number after the last edge's is nobody.
    partner: Vec<[u32; 2]>,
    /// Per edge, 0 or 1, [`UNSEEN`] before; [`REST`].
    half: Vec<u8>,
    /// Per vertex.
    degree: Vec<u32>,
}

impl Trails {
    /// Counts all degrees; returns the largest.
    fn count_degrees(&mut self, left: usize, right: usize, ends: &[(u32, u32)]) -> usize {
        self.degree.clear();
        self.degree.resize(left + right, 0);
        for &(u, v) in ends {
            self.degree[u as usize] += 1;
            self.degree[left + v as usize] += 1;
        }
        self.degree.iter().copied().max().unwrap_or(0) as usize
    }

    /// Halves a graph of at most `degree`; vertices of just that degree, if it is odd, have less in the first half.
    fn halve_by_degree(&mut self, left: usize, right: usize, ends: &[(u32, u32)], degree: usize) {
        self.pair(left, right, ends);
        if degree % 2 == 1 {
            self.count_degrees(left, right, ends);
            for vertex in 0..left + right {
                if self.degree[vertex] as usize != degree {
                    continue;
                }
                let e = self.single[vertex] as usize;
                if self.half[e] != UNSEEN {
                    // The end of another one's trail: in the first half, if that began on this side.
                    if self.half[e] == 0 {
                        self.half[e] = REST;
                    }
                    continue;
                }
                self.half[e] = 1;
                self.walk(e, usize::from(vertex < left));
            }
        }
        for e in 0..ends.len() {
            if self.half[e] == UNSEEN {
                self.half[e] = 0;
                self.walk(e, 0);
                self.walk(e, 1);
            }
        }
    }

    /// Pairs edges at all vertices.
    fn pair(&mut self, left: usize, right: usize, ends: &[(u32, u32)]) {
        let nobody = ends.len() as u32;
        self.single.clear();
        self.single.resize(left + right, nobody);
        self.partner.clear();
        self.partner.resize(ends.len() + 1, [nobody; 2]);
        self.half.clear();
        self.half.resize(ends.len() + 1, UNSEEN);
        // Trails end where they were before, and at nobody.
        self.half[ends.len()] = 0;
        for (e, &(u, v)) in ends.iter().enumerate() {
            for (side, vertex) in [u as usize, left + v as usize].into_iter().enumerate() {
                // Without a branch: whether a partner waits is as good as random.
                let waits = &mut self.single[vertex];
                let with = *waits;
                *waits = if with == nobody { e as u32 } else { nobody };
                self.partner[e][side] = with;
                self.partner[with as usize][side] = e as u32;
            }
        }
    }

    /// Along a trail from edge `e`, over its end on `side` first, until nobody follows or who does was there before.
    fn walk(&mut self, mut e: usize, side: usize) {
        let mut half = self.half[e];
        let mut side = side;
        loop {
            e = self.partner[e][side] as usize;
            if self.half[e] != UNSEEN {
                return;
            }
            half ^= 1;
            side ^= 1;
            self.half[e] = half;
        }
    }
}
