//! Greedy matchings by priority, for one slot or several.
//!
//! The caller chooses the order of priority.

use crate::Allocation;

/// Makes greedy maximal matchings for up to 64 slots at once, in the caller's order of priority.
///
/// Each pair in turn gets the first slots that are free at both its ends, as many as it wants. So a
/// pair loses a slot only to pairs before it, and every slot is a maximal matching of the remaining
/// demand, with at least half as many pairs as any other matching. With one slot and pairs by
/// decreasing weight, the matching has at least half the highest weight (Avis, "A survey of
/// heuristics for the weighted matching problem", 1983).
///
/// Oldest first or fewest bytes left first are such orders. [`Allocator`](crate::Allocator) keeps
/// its own order, least recently served first, and is faster.
#[derive(Clone, Debug)]
pub struct Greedy {
    slots: u32,
    sources: Vec<u64>,
    destinations: Vec<u64>,
}

impl Greedy {
    /// Creates the buffers for `nodes` nodes and 1 to 64 slots at once.
    ///
    /// # Panics
    /// Panics if there are more than 65 535 nodes, or if `slots` is not in 1..=64.
    pub fn new(nodes: usize, slots: u32) -> Self {
        assert!(nodes <= usize::from(u16::MAX) && (1..=64).contains(&slots), "{nodes} nodes, {slots} slots");
        Self { slots, sources: vec![0; nodes], destinations: vec![0; nodes] }
    }

    /// Allocates slots to pairs (source, destination, slots wanted), which come in order of
    /// priority. Replaces the contents of `out`; allocations come in the order of pairs, and each
    /// pair's slots in ascending order.
    ///
    /// Takes O(pairs + allocations).
    ///
    /// # Panics
    /// Panics if a node does not exist.
    pub fn allocate(&mut self, pairs: impl IntoIterator<Item = (u16, u16, u32)>, out: &mut Vec<Allocation>) {
        out.clear();
        let all = u64::MAX >> (64 - self.slots);
        self.sources.fill(all);
        self.destinations.fill(all);
        for (source, destination, wanted) in pairs {
            let at_source = &mut self.sources[usize::from(source)];
            let at_destination = &mut self.destinations[usize::from(destination)];
            let mut free = *at_source & *at_destination;
            for _ in 0..wanted.min(free.count_ones()) {
                let bit = free & free.wrapping_neg();
                free ^= bit;
                *at_source ^= bit;
                *at_destination ^= bit;
                out.push(Allocation { slot: bit.trailing_zeros() as u16, source, destination });
            }
        }
    }
}
