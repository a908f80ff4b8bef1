//! Paull's algorithm: a coloring that follows its edges as they are added and removed.
//!
//! It recolors few other edges for each new one.

use super::table::Table;

/// A proper edge coloring of a bipartite multigraph whose edges are added and removed one by one.
///
/// M. C. Paull, "Reswitching of connection networks" (Bell System Technical Journal, 1962). A Clos
/// network with as many middle switches as an outer switch has inputs is rearrangeably
/// non-blocking. A new circuit moves fewer others than there are outer switches on the smaller
/// side. Here edges are circuits and colors are middle switches.
///
/// An insertion takes time in proportion to colors / 64 plus the number of moved edges; a removal
/// takes constant time. Memory: 4 bytes per vertex and color. The same calls give the same colors.
#[derive(Clone, Debug)]
pub struct Paull {
    left: usize,
    right: usize,
    colors: usize,
    table: Table,
    /// End points by edge; numbers of removed edges are in `unused`.
    ends: Vec<(u32, u32)>,
    color: Vec<u16>,
    unused: Vec<u32>,
    len: usize,
}

/// Result of inserting an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Number of the edge until its removal. Numbers are small and are reused.
    pub edge: u32,
    /// Color of the edge, until a later insertion changes it.
    pub color: u16,
    /// Number of other edges that changed color: less than the number of vertices on the smaller
    /// side.
    pub moved: usize,
}

/// The color of an unused edge number.
const UNUSED: u16 = u16::MAX;

impl Paull {
    /// An empty coloring between `left` and `right` vertices.
    ///
    /// # Panics
    /// Panics if there are more than 65 535 colors.
    pub fn new(left: usize, right: usize, colors: usize) -> Self {
        assert!(colors <= usize::from(u16::MAX), "{colors} colors");
        let mut table = Table::default();
        table.reset(left, right, colors);
        Self { left, right, colors, table, ends: Vec::new(), color: Vec::new(), unused: Vec::new(), len: 0 }
    }

    /// Adds an edge from left vertex `u` to right vertex `v`; parallel edges are allowed. Returns
    /// `None`, and changes nothing, if one of the vertices has as many edges as there are colors.
    ///
    /// # Panics
    /// Panics if a vertex does not exist.
    pub fn insert(&mut self, u: usize, v: usize) -> Option<Inserted> {
        assert!(u < self.left && v < self.right, "no vertices {u}, {v} among {} and {}", self.left, self.right);
        let edge = self.unused.pop().unwrap_or_else(|| {
            self.ends.push((0, 0));
            self.color.push(UNUSED);
            self.ends.len() as u32 - 1
        });
        self.ends[edge as usize] = (u as u32, v as u32);
        let Some(color) = self.table.insert(edge as usize, &self.ends, &mut self.color) else {
            self.unused.push(edge);
            return None;
        };
        self.len += 1;
        Some(Inserted { edge, color, moved: self.table.moved().len() })
    }

    /// Removes an edge without recoloring others. Returns whether the edge existed.
    pub fn remove(&mut self, edge: u32) -> bool {
        let Some(color) = self.color(edge) else { return false };
        self.table.lift(self.ends[edge as usize], color);
        self.color[edge as usize] = UNUSED;
        self.unused.push(edge);
        self.len -= 1;
        true
    }

    /// The current color of an edge; `None` if there is no such edge.
    pub fn color(&self, edge: u32) -> Option<u16> {
        self.color.get(edge as usize).copied().filter(|&c| c != UNUSED)
    }

    /// The edges that the last insertion recolored.
    pub fn moved(&self) -> &[u32] {
        self.table.moved()
    }

    /// Number of edges.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no edges.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all edges.
    pub fn clear(&mut self) {
        self.table.reset(self.left, self.right, self.colors);
        self.ends.clear();
        self.color.clear();
        self.unused.clear();
        self.len = 0;
    }
}
