//! Matchings by augmenting paths, kept from one graph to the next.

use super::lines::NONE;

/// A bipartite graph of as many senders as receivers, and a matching in it.
///
/// Rows of the graph are words of bits, so that a step of a breadth-first search looks at 64 receivers at once: with up to a few
/// hundred ports a path is found in a microsecond or so. When edges go, only what was matched by them is matched anew. That is
/// why this finds paths one by one, without the phases of Hopcroft and Karp, which pay where many are missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Augment {
    ports: usize,
    /// Words of a row.
    words: usize,
    edges: Vec<u64>,
    /// Per sender, its receiver; and the other way round.
    output: Vec<u32>,
    input: Vec<u32>,
    /// Receivers without a partner.
    free: Vec<u64>,
    /// Receivers that the search has not seen yet.
    unseen: Vec<u64>,
    /// Per receiver, the sender from which the search came.
    from: Vec<u32>,
    queue: Vec<u32>,
}

impl Augment {
    /// No edges, no matching.
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

    /// The edges of a sender: receivers whose time is at least `least`. Edges of the matching must stay.
    pub(super) fn set_row(&mut self, i: usize, times: &[u64], least: u64) {
        for (word, times) in self.edges[i * self.words..][..self.words].iter_mut().zip(times.chunks(64)) {
            *word = times.iter().enumerate().fold(0, |bits, (b, &t)| bits | u64::from(t >= least) << b);
        }
    }

    /// Removes an edge, from the matching too.
    pub(super) fn forbid(&mut self, i: usize, j: usize) {
        self.edges[i * self.words + j / 64] &= !(1 << (j % 64));
        if self.output[i] == j as u32 {
            self.output[i] = NONE;
            self.input[j] = NONE;
            self.free[j / 64] |= 1 << (j % 64);
        }
    }

    /// Takes over the matching of another graph of as many ports; its edges are to follow.
    pub(super) fn copy_matching(&mut self, other: &Self) {
        self.output.clone_from(&other.output);
        self.input.clone_from(&other.input);
        self.free.clone_from(&other.free);
    }

    /// Per sender, its receiver.
    pub(super) fn outputs(&self) -> &[u32] {
        &self.output
    }

    /// Makes the matching perfect. `false` where there is no perfect one: it is as large then as the search came.
    pub(super) fn perfect(&mut self) -> bool {
        (0..self.ports).all(|i| self.output[i] != NONE || self.augment(i))
    }

    /// Matches a sender too, by the shortest augmenting path; whether there is one.
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

    /// Swaps the edges on the path found from `start` to the free receiver `end`, which was seen from `i`.
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
