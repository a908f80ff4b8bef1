//! A colouring that follows its edges one by one.

use super::table::Table;

/// A proper edge colouring of a bipartite multigraph whose edges come and go.
///
/// M. C. Paull, "Reswitching of connection networks" (Bell System Technical Journal, 1962): a Clos network with as many middle
/// switches as an outer one has inputs is rearrangeably non-blocking, and a new circuit disturbs fewer others than there are
/// outer switches on the smaller side. Edges are circuits, colours middle switches.
///
/// An insertion takes time in proportion to colours / 64 and to what it moves, a removal constant time. Memory: a word of 32 bits per
/// vertex and colour. The same calls give the same colours.
#[derive(Clone, Debug)]
pub struct Paull {
    left: usize,
    right: usize,
    colours: usize,
    table: Table,
    /// By edge; those not in use are in `unused`.
    ends: Vec<(u32, u32)>,
    colour: Vec<u16>,
    unused: Vec<u32>,
    len: usize,
}

/// A new edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Its name, until it is removed; names are small numbers and used again.
    pub edge: u32,
    /// Its colour, until a later insertion moves it.
    pub colour: u16,
    /// How many other edges got another colour for it: fewer than the smaller side has vertices.
    pub moved: usize,
}

/// The colour of a name that no edge has.
const UNUSED: u16 = u16::MAX;

impl Paull {
    /// No edges yet, between `left` and `right` vertices.
    ///
    /// # Panics
    /// Where there are more than 65 535 colours.
    pub fn new(left: usize, right: usize, colours: usize) -> Self {
        assert!(colours <= usize::from(u16::MAX), "{colours} colours");
        let mut table = Table::default();
        table.reset(left, right, colours);
        Self { left, right, colours, table, ends: Vec::new(), colour: Vec::new(), unused: Vec::new(), len: 0 }
    }

    /// Adds an edge from left vertex `u` to right vertex `v`; there may be several. `None`, and nothing changes, where one of
    /// them has as many edges as there are colours.
    ///
    /// # Panics
    /// Where a vertex does not exist.
    pub fn insert(&mut self, u: usize, v: usize) -> Option<Inserted> {
        assert!(u < self.left && v < self.right, "no vertices {u}, {v} among {} and {}", self.left, self.right);
        let edge = self.unused.pop().unwrap_or_else(|| {
            self.ends.push((0, 0));
            self.colour.push(UNUSED);
            self.ends.len() as u32 - 1
        });
        self.ends[edge as usize] = (u as u32, v as u32);
        let Some(colour) = self.table.insert(edge as usize, &self.ends, &mut self.colour) else {
            self.unused.push(edge);
            return None;
        };
        self.len += 1;
        Some(Inserted { edge, colour, moved: self.table.moved().len() })
    }

    /// Removes an edge; no other one moves. Whether it existed.
    pub fn remove(&mut self, edge: u32) -> bool {
        let Some(colour) = self.colour(edge) else { return false };
        self.table.lift(self.ends[edge as usize], colour);
        self.colour[edge as usize] = UNUSED;
        self.unused.push(edge);
        self.len -= 1;
        true
    }

    /// An edge's colour now; `None` where there is no such edge.
    pub fn colour(&self, edge: u32) -> Option<u16> {
        self.colour.get(edge as usize).copied().filter(|&c| c != UNUSED)
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
        self.table.reset(self.left, self.right, self.colours);
        self.ends.clear();
        self.colour.clear();
        self.unused.clear();
        self.len = 0;
    }
}
