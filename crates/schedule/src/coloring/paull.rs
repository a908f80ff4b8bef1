//! A coloring that follows its edges one by one.

use super::table::Table;

/// A proper edge coloring of a bipartite multigraph whose edges come and go.
///
/// M. C. Paull, "Reswitching of connection networks" (Bell System Technical Journal, 1962): a Clos network with as many middle
/// switches as an outer one has inputs is rearrangeably non-blocking, and a new circuit disturbs fewer others than there are
/// outer switches on the smaller side. Edges are circuits, colors middle switches.
///
/// An insertion takes time in proportion to colors / 64 and to what it moves, a removal constant time. Memory: a word of 32 bits per
/// vertex and color. The same calls give the same colors.
#[derive(Clone, Debug)]
pub struct Paull {
    left: usize,
    right: usize,
    colors: usize,
    table: Table,
    /// By edge; those not in use are in `unused`.
    ends: Vec<(u32, u32)>,
    color: Vec<u16>,
    unused: Vec<u32>,
    len: usize,
}

/// A new edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Its name, until it is removed; names are small numbers and used again.
    pub edge: u32,
    /// Its color, until a later insertion moves it.
    pub color: u16,
    /// How many other edges got another color for it: fewer than the smaller side has vertices.
    pub moved: usize,
}

/// The color of a name that no edge has.
const UNUSED: u16 = u16::MAX;

impl Paull {
    /// No edges yet, between `left` and `right` vertices.
    ///
    /// # Panics
    /// Where there are more than 65 535 colors.
    pub fn new(left: usize, right: usize, colors: usize) -> Self {
        assert!(colors <= usize::from(u16::MAX), "{colors} colors");
        let mut table = Table::default();
        table.reset(left, right, colors);
        Self { left, right, colors, table, ends: Vec::new(), color: Vec::new(), unused: Vec::new(), len: 0 }
    }

    /// Adds an edge from left vertex `u` to right vertex `v`; there may be several. `None`, and nothing changes, where one of
    /// them has as many edges as there are colors.
    ///
    /// # Panics
    /// Where a vertex does not exist.
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

    /// Removes an edge; no other one moves. Whether it existed.
    pub fn remove(&mut self, edge: u32) -> bool {
        let Some(color) = self.color(edge) else { return false };
        self.table.lift(self.ends[edge as usize], color);
        self.color[edge as usize] = UNUSED;
        self.unused.push(edge);
        self.len -= 1;
        true
    }

    /// An edge's color now; `None` where there is no such edge.
    pub fn color(&self, edge: u32) -> Option<u16> {
        self.color.get(edge as usize).copied().filter(|&c| c != UNUSED)
    }

    /// The edges that the last insertion moved.
    pub fn moved(&self) -> &[u32] {
        self.table.moved()
    }

    /// How many edges there are.
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
