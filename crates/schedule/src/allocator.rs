//! Fastpass's timeslot allocator, which gives slots to pairs of nodes one batch at a time.
//!
//! A batch has up to 64 slots. [`Allocator`] holds the demand of all pairs between batches.

/// The right of a pair of nodes to send in one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Allocation {
    /// Slot of the batch, from 0.
    pub slot: u16,
    /// The sending node.
    pub source: u16,
    /// The receiving node.
    pub destination: u16,
}

/// A pair with slots left to allocate.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    source: u16,
    destination: u16,
    left: u32,
}

/// The state of a pair. While the pair waits: [`WAITS`] plus the slots requested since it began to
/// wait (the rest of its demand is in its [`Waiting`]). Otherwise: the number of the batch after
/// its last service. A record is one word because records are looked up at random.
type Record = u32;

const WAITS: Record = 1 << 31;
/// Pairs that were not served for this many batches count as never served.
const AGES: usize = 64;

/// The pipelined timeslot allocator of Fastpass (Perry et al., SIGCOMM 2014, section 3): a greedy
/// maximal matching in every slot, least recently served pairs first.
///
/// The slots of a batch are bits of a word, one word per source and one per destination: free
/// slots. A pair gets the lowest bit that both words have, so that a visit to a pair looks at all
/// slots of the batch at once. Pairs are visited in rounds, in the order of their last service: a
/// pair that wants more than it got comes again in the next round.
///
/// - **Maximal.** A pair is given up for a batch only when no slot is free at both its ends, and
///   slots are not freed again. After a batch, no waiting pair has a slot that is free at both its
///   ends.
/// - **Valid.** Each node sends to at most one and receives from at most one in a slot.
/// - **No starvation.** A pair that is served in a round goes behind all pairs not served since. A
///   pair that asks again after an idle time is as old as its last service, counted in batches. So
///   waiting pairs share contended nodes evenly (max-min).
///
/// Demand is counted in slots. A request adds to the demand, so a protocol that carries totals,
/// such as Fastpass's, requests the difference. Memory: 4 bytes for each pair of nodes. Nothing is
/// allocated once buffers have reached their largest size. The same calls give the same slots.
#[derive(Clone, Debug)]
pub struct Allocator {
    nodes: usize,
    slots: u32,
    /// Numbers batches, from 1.
    batch: u32,
    /// Bits of free slots, by sending node.
    sources: Vec<u64>,
    destinations: Vec<u64>,
    /// State by pair, row by row.
    records: Vec<Record>,
    /// Pairs left over, least recently served first. `ends` holds where each age ends in it,
    /// counted from the oldest; ages are in batches, the last one for all older pairs.
    waiting: Vec<Waiting>,
    ends: [usize; AGES],
    /// Pairs that asked since the last batch, by age.
    fresh: Vec<Vec<Waiting>>,
    /// Pairs to visit in the next round; pairs given up for this batch.
    again: Vec<Waiting>,
    given_up: Vec<Waiting>,
    /// Pairs whose demand at the time of their visit is fully served.
    done: Vec<(u16, u16)>,
    allocations: Vec<Allocation>,
}

impl Allocator {
    /// An allocator without demand among `nodes` nodes, with batches of 1 to 64 slots. Larger
    /// batches take less time per slot; smaller ones serve new demand earlier.
    ///
    /// # Panics
    /// Panics if there are more than 65 535 nodes, or if `slots` is not in 1..=64.
    pub fn new(nodes: usize, slots: u32) -> Self {
        assert!(nodes <= usize::from(u16::MAX) && (1..=64).contains(&slots), "{nodes} nodes, {slots} slots");
        Self {
            nodes,
            slots,
            batch: 1,
            sources: vec![0; nodes],
            destinations: vec![0; nodes],
            records: vec![0; nodes * nodes],
            waiting: Vec::new(),
            ends: [0; AGES],
            fresh: vec![Vec::new(); AGES],
            again: Vec::new(),
            given_up: Vec::new(),
            done: Vec::new(),
            // One entry more than needed: `put` writes before it knows whether the entry counts.
            allocations: vec![Allocation { slot: 0, source: 0, destination: 0 }; nodes * slots as usize + 1],
        }
    }

    /// Number of slots in a batch.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Adds `slots` to the demand of a pair.
    ///
    /// # Panics
    /// Panics if a node does not exist, or if 2^31 or more slots are requested for a pair while it
    /// waits.
    #[inline]
    pub fn request(&mut self, source: u16, destination: u16, slots: u32) {
        let (s, d) = (usize::from(source), usize::from(destination));
        assert!(s < self.nodes && d < self.nodes, "no nodes {s}, {d} among {}", self.nodes);
        if slots == 0 {
            return;
        }
        let record = &mut self.records[s * self.nodes + d];
        if *record & WAITS != 0 {
            let more = (*record & !WAITS).checked_add(slots).filter(|&more| more < WAITS);
            *record = WAITS | more.expect("what is asked for a waiting pair fits 31 bits");
        } else {
            // A pair that was never served is oldest.
            let age = if *record == 0 { AGES } else { (self.batch - *record) as usize };
            *record = WAITS;
            self.fresh[age.min(AGES - 1)].push(Waiting { source, destination, left: slots });
        }
    }

    /// Drops all demand of a source, for example when its host restarts. Its waiting pairs count as
    /// never served.
    pub fn forget(&mut self, source: u16) {
        let row = usize::from(source) * self.nodes;
        for record in &mut self.records[row..row + self.nodes] {
            if *record & WAITS != 0 {
                *record = 0;
            }
        }
        let mut begin = 0;
        let mut kept = 0;
        for end in self.ends.iter_mut().rev() {
            for i in begin..*end {
                if self.waiting[i].source != source {
                    self.waiting[kept] = self.waiting[i];
                    kept += 1;
                }
            }
            begin = *end;
            *end = kept;
        }
        self.waiting.truncate(kept);
        for fresh in &mut self.fresh {
            fresh.retain(|w| w.source != source);
        }
    }

    /// Waiting pairs with the number of slots they still want, in no particular order.
    pub fn waiting(&self) -> impl Iterator<Item = (u16, u16, u64)> + '_ {
        self.waiting.iter().chain(self.fresh.iter().flatten()).map(|w| {
            let more = self.records[usize::from(w.source) * self.nodes + usize::from(w.destination)] & !WAITS;
            (w.source, w.destination, u64::from(w.left) + u64::from(more))
        })
    }

    /// Shifts batch numbers down before they overflow; ages stay the same.
    fn renumber(&mut self) {
        if self.batch < WAITS - 1 {
            return;
        }
        let shift = self.batch - AGES as u32;
        self.batch -= shift;
        for record in self.records.iter_mut().filter(|r| **r & WAITS == 0) {
            *record = record.saturating_sub(shift);
        }
    }

    /// Allocates the next batch of slots and subtracts it from the demand. Replaces the contents of
    /// `out`; allocations come in the order in which they were made, not by slot.
    pub fn allocate_batch(&mut self, out: &mut Vec<Allocation>) {
        let all = u64::MAX >> (64 - self.slots);
        self.sources.fill(all);
        self.destinations.fill(all);
        self.renumber();
        self.batch += 1;
        // A pair is given up at most once, and done at most twice (if it requested more).
        let most = self.waiting.len() + self.fresh.iter().map(Vec::len).sum::<usize>() + 1;
        let none = Waiting { source: 0, destination: 0, left: 0 };
        self.again.resize(most, none);
        self.given_up.resize(most, none);
        self.done.resize(2 * most, (0, 0));
        let mut table = Table {
            sources: &mut self.sources,
            destinations: &mut self.destinations,
            again: (&mut self.again, 0),
            given_up: (&mut self.given_up, 0),
            done: (&mut self.done, 0),
            allocations: (&mut self.allocations, 0),
        };
        let mut begin = 0;
        let mut unserved = [0; AGES];
        for age in (0..AGES).rev() {
            for pairs in [&self.waiting[begin..self.ends[age]], &self.fresh[age]] {
                for &pair in pairs {
                    table.visit(pair);
                }
            }
            self.fresh[age].clear();
            begin = self.ends[age];
            unserved[age] = table.given_up.1;
        }
        while table.again.1 > 0 {
            // `visit` writes behind the place that is read.
            for i in 0..core::mem::take(&mut table.again.1) {
                table.visit(table.again.0[i]);
            }
        }
        // Last come pairs that requested more while they waited. Looking for them earlier would
        // stall on memory each time.
        let mut i = 0;
        while i < table.done.1 {
            let (source, destination) = table.done.0[i];
            i += 1;
            let record = &mut self.records[usize::from(source) * self.nodes + usize::from(destination)];
            let more = *record & !WAITS;
            if more == 0 {
                *record = self.batch;
                continue;
            }
            *record = WAITS;
            table.visit(Waiting { source, destination, left: more });
            while core::mem::take(&mut table.again.1) > 0 {
                table.visit(table.again.0[0]);
            }
        }
        out.clear();
        let (allocations, given_up) = (table.allocations.1, table.given_up.1);
        out.extend_from_slice(&self.allocations[..allocations]);
        core::mem::swap(&mut self.waiting, &mut self.given_up);
        self.waiting.truncate(given_up);
        // A pair that was not served is a batch older; a served one has age 0.
        self.ends[0] = self.waiting.len();
        self.ends[1..].copy_from_slice(&unserved[..AGES - 1]);
    }
}

/// The state that a visit to a pair needs: free slots, and lists with their filled lengths.
struct Table<'a> {
    sources: &'a mut [u64],
    destinations: &'a mut [u64],
    again: (&'a mut [Waiting], usize),
    given_up: (&'a mut [Waiting], usize),
    done: (&'a mut [(u16, u16)], usize),
    allocations: (&'a mut [Allocation], usize),
}

impl Table<'_> {
    /// Gives a pair its first free slot, if there is one, and moves the pair to the matching list.
    ///
    /// Writes to all lists and then extends only the right one, because branches here would be
    /// mispredicted more often than not.
    #[inline(always)]
    fn visit(&mut self, pair: Waiting) {
        let Waiting { source, destination, left } = pair;
        let at_source = &mut self.sources[usize::from(source)];
        let at_destination = &mut self.destinations[usize::from(destination)];
        let free = *at_source & *at_destination;
        let bit = free & free.wrapping_neg();
        *at_source ^= bit;
        *at_destination ^= bit;
        let (served, last) = (free != 0, left == 1);
        put(&mut self.allocations, Allocation { slot: free.trailing_zeros() as u16, source, destination }, served);
        put(&mut self.given_up, pair, !served);
        put(&mut self.done, (source, destination), served & last);
        put(&mut self.again, Waiting { left: left - 1, ..pair }, served & !last);
    }
}

/// Writes behind the end of a list; extends the list only if `counts` is true.
#[inline(always)]
fn put<T>((list, len): &mut (&mut [T], usize), value: T, counts: bool) {
    list[*len] = value;
    *len += usize::from(counts);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_outlive_the_numbers_of_batches() {
        let mut allocator = Allocator::new(4, 1);
        let mut out = Vec::new();
        allocator.batch = WAITS - 3;
        let mut serve = |sources: &[u16]| {
            sources.iter().for_each(|&s| allocator.request(s, 3, 1));
            allocator.allocate_batch(&mut out);
            (out[0].source, allocator.batch)
        };
        assert_eq!(serve(&[0]), (0, WAITS - 2));
        assert_eq!(serve(&[1]), (1, WAITS - 1));
        assert_eq!(serve(&[1]), (1, AGES as u32 + 1));
        // Never served, long ago, lately.
        assert_eq!([serve(&[1, 0, 2]).0, serve(&[]).0, serve(&[]).0], [2, 0, 1]);
    }
}
