//! Coloring of all edges of a bipartite multigraph at once, by Euler splits.
//!
//! Small degrees are colored edge by edge, because that is faster there.

use super::halving::Halving;
use super::table::Table;

/// The edge is on no trail yet.
const UNSEEN: u8 = 2;
/// Up to this degree, coloring edge by edge is faster: the free colors of a vertex fit into a word,
/// and paths are short.
const ONE_BY_ONE: usize = 64;
/// The edge was taken out of a split.
const REST: u8 = 3;

/// Colors all edges of a bipartite multigraph at once, by repeated halving.
///
/// **Halving.** At every vertex, edges are paired in input order. Pairs string edges into trails,
/// and the edges of a trail go to the two halves alternately. (Closed trails have even length
/// because the graph is bipartite.) So each half gets half of every vertex's edges, rounded up or
/// down. It takes one pass over the edges and one along the trails, without adjacency lists or
/// dummy edges. Later halvings treat all parts at once.
///
/// **Any degree** D (after H. N. Gabow, "Using Euler partitions to edge color bipartite
/// multigraphs", 1976). Halve into parts of degree a and b, a + b = D, and color the first part
/// recursively. Add as many of its colors to the second part as make its degree a power of two, and
/// color that by halving alone. If D is odd, the vertices of degree D must get the smaller half in
/// the first part, so trails that start at them are laid that way. A trail that joins two such
/// vertices on the same side cannot be, and loses its last edge. Those few edges are colored last,
/// by alternating paths (as in [`Paull`](super::Paull)).
///
/// Up to degree 64, coloring all edges one after the other by such paths is faster, and is done. It
/// takes O(V) per edge at worst, but few edges need a path, and paths are short. Above degree 64,
/// coloring takes O(E log D) for E edges, plus O(V) per edge left out, of which there are at most
/// V/2 per odd degree on the way down.
///
/// Time and memory also grow with V x D, because vertices have entries for all colors. That is
/// little if most vertices have about the largest degree.
///
/// Buffers are kept: nothing is allocated once they have reached their largest size. The same edges
/// in the same order get the same colors.
#[derive(Clone, Debug, Default)]
pub struct EulerSplit {
    halving: Halving,
    trails: Trails,
    /// Edges to split, later edges colored so far; then edges of second halves, outermost first;
    /// then edges left out.
    order: Vec<u32>,
    second: Vec<u32>,
    rest: Vec<u32>,
    /// The splits on the way down.
    levels: Vec<Level>,
    /// A part that is colored by halving alone: its edges, their end points and their classes.
    part: Vec<u32>,
    ends: Vec<(u32, u32)>,
    class: Vec<u16>,
    table: Table,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    /// End of the second half in [`EulerSplit::second`].
    end: usize,
    /// Number of colors of the two halves.
    first: usize,
    second: usize,
}

impl EulerSplit {
    /// Creates the coloring with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Properly colors `edges` with the fewest colors. Edges are pairs of a left and a right
    /// vertex, numbered below `left` and `right`. Returns the largest degree, which is the number
    /// of colors. Writes a color for every edge to `out`.
    ///
    /// # Panics
    /// Panics if an edge names a vertex that does not exist, or if a degree exceeds 32 768.
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

    /// Spreads `edges` evenly over `colors`, a power of two, by halving alone. Of the d edges of a
    /// vertex, each color gets d / `colors`, rounded up or down. So the coloring is proper if no
    /// degree exceeds `colors`. Writes a color for every edge to `out`.
    ///
    /// Fastpass (Perry et al., SIGCOMM 2014, section 4) chooses paths in this way. With hosts of
    /// one rack over four paths of equal rate, each path gets a quarter of every rack's packets.
    ///
    /// # Panics
    /// Panics if an edge names a vertex that does not exist, or if `colors` is not a power of two
    /// up to 32 768.
    pub fn color_within(&mut self, left: usize, right: usize, edges: &[(u32, u32)], colors: usize, out: &mut Vec<u16>) {
        assert!(colors.is_power_of_two() && colors <= 1 << 15, "{colors} colors");
        self.halving.classes(left, right, edges, colors.trailing_zeros(), out);
    }

    /// Splits until the first half's degree is a power of two. Halves are ranges of `order`
    /// afterwards.
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
            // The number of colors kept back, so that the others and those of the second half make
            // a power of two.
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

/// Halves a graph with control over some vertices' shares; holds the buffers of one halving.
#[derive(Clone, Debug, Default)]
struct Trails {
    /// By vertex, left ones first: the edge that has no partner there yet.
    single: Vec<u32>,
    /// By edge, its partners at the left and right end; the number of edges stands for no partner.
    partner: Vec<[u32; 2]>,
    /// By edge: half 0 or 1, [`UNSEEN`] before that, or [`REST`].
    half: Vec<u8>,
    /// Number of edges by vertex.
    degree: Vec<u32>,
}

impl Trails {
    /// Counts all degrees and returns the largest.
    fn count_degrees(&mut self, left: usize, right: usize, ends: &[(u32, u32)]) -> usize {
        self.degree.clear();
        self.degree.resize(left + right, 0);
        for &(u, v) in ends {
            self.degree[u as usize] += 1;
            self.degree[left + v as usize] += 1;
        }
        self.degree.iter().copied().max().unwrap_or(0) as usize
    }

    /// Halves a graph of at most `degree`. If `degree` is odd, vertices of that degree have fewer
    /// edges in the first half.
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
                    // The end of another vertex's trail, in the first half if that vertex is on
                    // this side.
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
        // The entry for no partner counts as seen, so that walks end there, too.
        self.half[ends.len()] = 0;
        for (e, &(u, v)) in ends.iter().enumerate() {
            for (side, vertex) in [u as usize, left + v as usize].into_iter().enumerate() {
                // Written without a branch, because whether a partner waits is as good as random.
                let waits = &mut self.single[vertex];
                let with = *waits;
                *waits = if with == nobody { e as u32 } else { nobody };
                self.partner[e][side] = with;
                self.partner[with as usize][side] = e as u32;
            }
        }
    }

    /// Follows a trail from edge `e`, over its end on `side` first, up to its end or to an edge
    /// that was seen before.
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
