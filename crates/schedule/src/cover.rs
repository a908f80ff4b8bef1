//! Matchings of a bipartite graph that cover wanted nodes.
//!
//! If all demand is counted in slots, the nodes with the most slots left are critical: a slot that
//! leaves one of them idle makes the schedule longer. By Koenig's theorem, every slot has a
//! matching that covers all critical nodes (each color of a minimum edge coloring is one). It is
//! found from any matching by alternating paths, from an idle wanted node to a free node or to a
//! node that is not wanted.

/// A bipartite graph and a selection of its edges. The selection covers each node up to its
/// capacity and uses each edge up to its limit.
pub(crate) struct Cover {
    ends: Vec<[u32; 2]>,
    /// The edges at node `v` are `edges[first[v]..first[v + 1]]`.
    first: Vec<u32>,
    edges: Vec<u32>,
    capacity: Vec<u32>,
    /// By node, how many more of its edges may be chosen.
    spare: Vec<u32>,
    wanted: Vec<u32>,
    limit: Vec<u32>,
    times: Vec<u32>,
    /// By node, its chosen edges.
    chosen: Vec<Vec<u32>>,
    /// By node, the last search that reached it and the edge by which it did.
    seen: Vec<(u32, u32)>,
    search: u32,
    queue: Vec<u32>,
}

/// The end of an alternating path.
enum Path {
    /// A node with spare capacity: the selection gains an edge.
    ToFree,
    /// A node that is covered more often than wanted: the number of chosen edges stays the same.
    ToUnwanted,
}

impl Cover {
    /// A graph of nodes with these capacities. An edge is given by its two ends.
    pub(crate) fn new(capacity: Vec<u32>, ends: Vec<[u32; 2]>) -> Self {
        let nodes = capacity.len();
        let mut first = vec![0u32; nodes + 1];
        for v in ends.iter().flatten() {
            first[*v as usize + 1] += 1;
        }
        for v in 0..nodes {
            first[v + 1] += first[v];
        }
        let mut at = first.clone();
        let mut edges = vec![0u32; 2 * ends.len()];
        for (e, both) in ends.iter().enumerate() {
            for v in both {
                edges[at[*v as usize] as usize] = e as u32;
                at[*v as usize] += 1;
            }
        }
        Self {
            first,
            edges,
            spare: capacity.clone(),
            capacity,
            wanted: vec![0; nodes],
            limit: vec![1; ends.len()],
            times: vec![0; ends.len()],
            ends,
            chosen: vec![Vec::new(); nodes],
            seen: vec![(0, 0); nodes],
            search: 0,
            queue: Vec::new(),
        }
    }

    /// Clears the selection, the nodes taken out and the wanted counts; limits stay.
    pub(crate) fn reset(&mut self) {
        for chosen in &mut self.chosen {
            for e in chosen.drain(..) {
                self.times[e as usize] = 0;
            }
        }
        self.spare.copy_from_slice(&self.capacity);
        self.wanted.fill(0);
    }

    /// Sets how often an edge may be chosen.
    pub(crate) fn limit(&mut self, edge: usize, limit: u32) {
        self.limit[edge] = limit;
    }

    /// Sets how often a node should be covered, at most its capacity.
    pub(crate) fn want(&mut self, node: usize, times: u32) {
        self.wanted[node] = times.min(self.spare[node]);
    }

    /// Whether a node is covered less often than its capacity allows.
    pub(crate) fn spare(&self, node: u32) -> bool {
        self.spare[node as usize] > 0
    }

    /// Whether both ends of an edge have capacity to spare.
    pub(crate) fn both_spare(&self, edge: usize) -> bool {
        let [a, b] = self.ends[edge];
        self.spare(a) && self.spare(b)
    }

    /// Chosen edges at a node.
    pub(crate) fn chosen(&self, node: usize) -> &[u32] {
        &self.chosen[node]
    }

    /// How often an edge is chosen.
    pub(crate) fn times(&self, edge: usize) -> u32 {
        self.times[edge]
    }

    /// Uses a node once for something outside this graph.
    pub(crate) fn take_out(&mut self, node: u32) {
        let v = node as usize;
        self.spare[v] = self.spare[v].saturating_sub(1);
        self.wanted[v] = self.wanted[v].saturating_sub(1);
    }

    /// Chooses an edge once more, if its limit and both ends allow it. Returns whether they do.
    pub(crate) fn choose(&mut self, edge: usize) -> bool {
        if !self.both_spare(edge) || self.times[edge] >= self.limit[edge] {
            return false;
        }
        self.add(edge as u32);
        true
    }

    fn add(&mut self, edge: u32) {
        self.times[edge as usize] += 1;
        for v in self.ends[edge as usize] {
            self.chosen[v as usize].push(edge);
            // An alternating path fills a full node before it frees it, so the count may wrap.
            self.spare[v as usize] = self.spare[v as usize].wrapping_sub(1);
        }
    }

    fn remove(&mut self, edge: u32) {
        self.times[edge as usize] -= 1;
        for v in self.ends[edge as usize] {
            let at = &mut self.chosen[v as usize];
            let i = at.iter().position(|&e| e == edge).expect("a chosen edge is at both its ends");
            at.swap_remove(i);
            self.spare[v as usize] = self.spare[v as usize].wrapping_add(1);
        }
    }

    /// Covers all wanted nodes as far as possible. Returns whether another node lost an edge for
    /// that, so that more edges may fit.
    pub(crate) fn cover(&mut self) -> bool {
        let mut given_up = false;
        for v in 0..self.wanted.len() {
            while (self.chosen[v].len() as u32) < self.wanted[v] {
                match self.augment(v as u32) {
                    Some(Path::ToFree) => {}
                    Some(Path::ToUnwanted) => given_up = true,
                    None => break,
                }
            }
        }
        given_up
    }

    /// Covers `from` once more by an alternating path (breadth first), without uncovering a wanted
    /// node.
    fn augment(&mut self, from: u32) -> Option<Path> {
        self.search += 1;
        self.queue.clear();
        self.queue.push(from);
        self.seen[from as usize] = (self.search, u32::MAX);
        let mut head = 0;
        while head < self.queue.len() {
            let x = self.queue[head];
            head += 1;
            for i in self.first[x as usize]..self.first[x as usize + 1] {
                let e = self.edges[i as usize];
                if self.times[e as usize] >= self.limit[e as usize] {
                    continue;
                }
                let v = self.other(e, x);
                if self.seen[v as usize].0 == self.search {
                    continue;
                }
                self.seen[v as usize] = (self.search, e);
                if self.spare(v) {
                    self.flip(from, v, true);
                    return Some(Path::ToFree);
                }
                for k in 0..self.chosen[v as usize].len() {
                    let f = self.chosen[v as usize][k];
                    let y = self.other(f, v);
                    if self.seen[y as usize].0 == self.search {
                        continue;
                    }
                    self.seen[y as usize] = (self.search, f);
                    if self.chosen[y as usize].len() as u32 > self.wanted[y as usize] {
                        self.flip(from, y, false);
                        return Some(Path::ToUnwanted);
                    }
                    self.queue.push(y);
                }
            }
        }
        None
    }

    fn other(&self, edge: u32, end: u32) -> u32 {
        let [a, b] = self.ends[edge as usize];
        a ^ b ^ end
    }

    /// Swaps chosen and unchosen edges on the path from `from` to `to`. `added` tells whether the
    /// last edge is to be chosen or removed.
    fn flip(&mut self, from: u32, to: u32, mut added: bool) {
        let mut at = to;
        while at != from {
            let e = self.seen[at as usize].1;
            if added {
                self.add(e)
            } else {
                self.remove(e)
            }
            added = !added;
            at = self.other(e, at);
        }
    }
}
