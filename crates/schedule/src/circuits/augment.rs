//! Perfect matchings in bipartite graphs by augmenting paths.
//!
//! A matching is kept from one graph to the next, because consecutive slices of a demand differ in
//! few edges.

use super::lines::NONE;

/// A bipartite graph with equal numbers of senders and receivers, and a matching in it.
///
/// Rows of the graph are words of bits, so that a step of the breadth-first search looks at 64
/// receivers at once. With up to a few hundred ports, finding a path takes about a microsecond.
/// When edges are removed, only the pairs that lost their edge are matched again. Paths are
/// therefore searched one by one, without the phases of Hopcroft and Karp, which pay off only when
/// many are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Augment {
    ports: usize,
    /// Number of words in a row.
    words: usize,
    edges: Vec<u64>,
    /// The receiver of each sender, and the sender of each receiver.
    output: Vec<u32>,
    input: Vec<u32>,
    /// Receivers without a partner.
    free: Vec<u64>,
    /// Receivers that the search has not seen yet.
    unseen: Vec<u64>,
    /// By receiver, the sender from which the search reached it.
    from: Vec<u32>,
    queue: Vec<u32>,
}

impl Augment {
    /// Removes all edges and the matching.
    pub(super) fn reset(&mut self, ports: usize) {
        self.ports = ports;
        self.words = ports.div_ceil(64);
        self.edges.clear();
        self.edges.resize(ports * self.words, 0);
        for table in [&mut self.output, &mut self.input, &mut self.from] {
            table.clear();
            table.resize(ports, NONE);
        }
        self.free.clear();
        self.free.extend((0..self.words).map(|w| match ports - 64 * w {
            bits @ 0..64 => (1 << bits) - 1,
            _ => u64::MAX,
        }));
        self.unseen.clone_from(&self.free);
    }

    /// Sets the edges of a sender to the receivers whose time is at least `least`. Edges of the
    /// matching must stay.
    pub(super) fn set_row(&mut self, i: usize, times: &[u64], least: u64) {
        for (word, times) in self.edges[i * self.words..][..self.words].iter_mut().zip(times.chunks(64)) {
            *word = times.iter().enumerate().fold(0, |bits, (b, &t)| bits | u64::from(t >= least) << b);
        }
    }

    /// Sets the edges of a sender to these receivers. Edges of the matching must stay.
    pub(super) fn set_edges<'a>(&mut self, i: usize, receivers: impl Iterator<Item = &'a u32>) {
        let row = &mut self.edges[i * self.words..][..self.words];
        row.fill(0);
        for &j in receivers {
            row[j as usize / 64] |= 1 << (j % 64);
        }
    }

    /// Removes an edge from the graph and from the matching.
    pub(super) fn forbid(&mut self, i: usize, j: usize) {
        self.edges[i * self.words + j / 64] &= !(1 << (j % 64));
        if self.output[i] == j as u32 {
            self.output[i] = NONE;
            self.input[j] = NONE;
            self.free[j / 64] |= 1 << (j % 64);
        }
    }

    /// Copies the matching of another graph with as many ports; the caller sets the edges
    /// afterwards.
    pub(super) fn copy_matching(&mut self, other: &Self) {
        self.output.clone_from(&other.output);
        self.input.clone_from(&other.input);
        self.free.clone_from(&other.free);
    }

    /// The receiver of each sender.
    pub(super) fn outputs(&self) -> &[u32] {
        &self.output
    }

    /// Completes the matching. Returns `false` if there is no perfect matching; the matching is
    /// then partial.
    pub(super) fn perfect(&mut self) -> bool {
        (0..self.ports).all(|i| self.output[i] != NONE || self.augment(i))
    }

    /// Adds a sender to the matching by the shortest augmenting path. Returns whether there is one.
    pub(super) fn augment(&mut self, start: usize) -> bool {
        self.queue.clear();
        self.queue.push(start as u32);
        for (unseen, w) in self.unseen.iter_mut().zip(0usize..) {
            *unseen = match self.ports - 64 * w {
                bits @ 0..64 => (1 << bits) - 1,
                _ => u64::MAX,
            };
        }
        let mut head = 0;
        while head < self.queue.len() {
            let i = self.queue[head];
            head += 1;
            for w in 0..self.words {
                let mut new = self.edges[i as usize * self.words + w] & self.unseen[w];
                let ends = new & self.free[w];
                if ends != 0 {
                    self.flip(start, i, 64 * w + ends.trailing_zeros() as usize);
                    return true;
                }
                self.unseen[w] &= !new;
                while new != 0 {
                    let j = 64 * w + new.trailing_zeros() as usize;
                    new &= new - 1;
                    self.from[j] = i;
                    self.queue.push(self.input[j]);
                }
            }
        }
        false
    }

    /// Swaps the edges on the path from `start` to the free receiver `end`, which was reached from
    /// sender `i`.
    fn flip(&mut self, start: usize, mut i: u32, end: usize) {
        self.free[end / 64] &= !(1 << (end % 64));
        let mut j = end as u32;
        loop {
            let before = self.output[i as usize];
            self.output[i as usize] = j;
            self.input[j as usize] = i;
            if i as usize == start {
                return;
            }
            j = before;
            i = self.from[j as usize];
        }
    }
}
