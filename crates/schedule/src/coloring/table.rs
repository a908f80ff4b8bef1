//! A table of edges by vertex and color, and recoloring along alternating paths.
//!
//! Both coloring algorithms insert single edges with it.

/// No edge.
const NONE: u32 = u32::MAX;

/// A partial proper coloring. Left vertices are numbered first. The caller keeps the end points and
/// colors of edges.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    left: usize,
    colors: usize,
    /// Number of words per vertex in `free`.
    words: usize,
    /// `at[vertex * colors + color]` is the edge of that color at that vertex.
    at: Vec<u32>,
    /// Bit sets of the colors of which a vertex has no edge.
    free: Vec<u64>,
    /// Edges of the path that was recolored last, and of the alternative path.
    moved: Vec<u32>,
    other: Vec<u32>,
}

impl Table {
    /// Removes all edges and sets the size.
    pub(super) fn reset(&mut self, left: usize, right: usize, colors: usize) {
        let vertices = left + right;
        self.left = left;
        self.colors = colors;
        self.words = colors.div_ceil(64);
        self.at.clear();
        self.at.resize(vertices * colors, NONE);
        self.free.clear();
        for _ in 0..vertices {
            self.free.extend((0..self.words).map(|w| match colors - 64 * w {
                bits @ 0..64 => (1 << bits) - 1,
                _ => u64::MAX,
            }));
        }
        self.moved.clear();
    }

    /// Gives an edge a color that is free at both its ends.
    pub(super) fn place(&mut self, edge: usize, (u, v): (u32, u32), color: u16) {
        for vertex in [u as usize, self.left + v as usize] {
            debug_assert_eq!(self.at[vertex * self.colors + color as usize], NONE);
            self.at[vertex * self.colors + color as usize] = edge as u32;
            self.toggle_free(vertex, color);
        }
    }

    /// Removes the color of an edge.
    pub(super) fn lift(&mut self, (u, v): (u32, u32), color: u16) {
        for vertex in [u as usize, self.left + v as usize] {
            self.at[vertex * self.colors + color as usize] = NONE;
            self.toggle_free(vertex, color);
        }
    }

    /// Edges that the last call of [`insert`](Self::insert) recolored, along their path.
    pub(super) fn moved(&self) -> &[u32] {
        &self.moved
    }

    /// Colors an edge, and recolors others if necessary. Returns `None` if an end has edges of all
    /// colors.
    ///
    /// If no color is free at both ends, let a be a color free at the left end and b one free at
    /// the right end. The path of alternately b and a edges from the left end and that of a and b
    /// edges from the right end do not meet: a meeting would close a cycle of odd length. Either
    /// path may be recolored; the shorter one is. Each path has at most one vertex more on its own
    /// side than on the other. So the shorter one has fewer edges than the smaller side has
    /// vertices.
    pub(super) fn insert(&mut self, edge: usize, ends: &[(u32, u32)], colors: &mut [u16]) -> Option<u16> {
        self.moved.clear();
        let (u, v) = ends[edge];
        let (x, y) = (u as usize, self.left + v as usize);
        let color = match self.free_at_both(x, y) {
            Some(color) => color,
            None => {
                let (a, b) = (self.free_at(x)?, self.free_at(y)?);
                self.make_room(x, y, a, b, ends, colors)
            }
        };
        self.place(edge, ends[edge], color);
        colors[edge] = color;
        Some(color)
    }

    /// Recolors one of two paths. The path from `y` makes room for `a`, the path from `x` for `b`.
    fn make_room(&mut self, x: usize, y: usize, a: u16, b: u16, ends: &[(u32, u32)], colors: &mut [u16]) -> u16 {
        self.other.clear();
        // `moved` is the path from `y`, `other` the path from `x`; both grow at the same pace.
        let (mut p, mut q) = (y, x);
        let (mut of_p, mut of_q) = (a, b);
        loop {
            let e = self.at[p * self.colors + of_p as usize];
            if e == NONE {
                self.recolor(y, a, b, colors, ends);
                return a;
            }
            self.moved.push(e);
            p = self.across(ends[e as usize], p);
            of_p ^= a ^ b;
            let e = self.at[q * self.colors + of_q as usize];
            if e == NONE {
                core::mem::swap(&mut self.moved, &mut self.other);
                self.recolor(x, a, b, colors, ends);
                return b;
            }
            self.other.push(e);
            q = self.across(ends[e as usize], q);
            of_q ^= a ^ b;
        }
    }

    /// Exchanges colors `a` and `b` on the whole path `moved` from a vertex.
    fn recolor(&mut self, from: usize, a: u16, b: u16, colors: &mut [u16], ends: &[(u32, u32)]) {
        let mut vertex = from;
        self.exchange(vertex, a, b);
        for i in 0..self.moved.len() {
            let e = self.moved[i] as usize;
            colors[e] ^= a ^ b;
            vertex = self.across(ends[e], vertex);
            self.exchange(vertex, a, b);
        }
        // Both ends of the path had one of the two colors. If the path is empty, `from` is toggled
        // twice.
        for end in [from, vertex] {
            self.toggle_free(end, a);
            self.toggle_free(end, b);
        }
    }

    fn exchange(&mut self, vertex: usize, a: u16, b: u16) {
        let row = vertex * self.colors;
        self.at.swap(row + a as usize, row + b as usize);
    }

    fn across(&self, (u, v): (u32, u32), from: usize) -> usize {
        if from < self.left { self.left + v as usize } else { u as usize }
    }

    fn toggle_free(&mut self, vertex: usize, color: u16) {
        self.free[vertex * self.words + color as usize / 64] ^= 1 << (color % 64);
    }

    fn free_at(&self, vertex: usize) -> Option<u16> {
        self.free_at_both(vertex, vertex)
    }

    /// The first color that both vertices have no edge of.
    fn free_at_both(&self, x: usize, y: usize) -> Option<u16> {
        let row = |vertex: usize| &self.free[vertex * self.words..][..self.words];
        let common = row(x).iter().zip(row(y)).map(|(a, b)| a & b);
        common.enumerate().find(|&(_, both)| both != 0).map(|(w, both)| (64 * w) as u16 + both.trailing_zeros() as u16)
    }
}
