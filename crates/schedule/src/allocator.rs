//! Timeslots for pairs of nodes, a batch of them at a time.

/// A pair may send in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Allocation {
    /// Which slot of the batch, from 0.
    pub slot: u16,
    /// Who sends.
    pub source: u16,
    /// To whom.
    pub destination: u16,
}

/// A pair with slots left to allocate.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    source: u16,
    destination: u16,
    left: u32,
}

/// What is kept of every pair, waiting or not.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Slots asked for since it was last looked at; the rest is in its [`Waiting`].
    new: u32,
    /// While it waits, [`WAITS`]; else the batch after its last service.
    state: u32,
}

const WAITS: u32 = u32::MAX;
/// Pairs that were not served for so many batches, or never, are alike.
const AGES: usize = 64;

/// The pipelined timeslot allocator of Fastpass (Perry et al., SIGCOMM 2014, section 3): a greedy maximal matching in every slot,
/// least recently served pairs first.
///
/// The slots of a batch are bits of a word, one word per source and one per destination: free slots. A pair's first slot is the
/// lowest bit that both words have, and a visit to a pair serves any slot of the batch. Pairs are visited in the order of
/// their last service; a pair that gets slot k and wants more comes again after the pairs whose last slot is before k.
///
/// - **Maximal.** A pair is given up for a batch only when no slot is free at both its ends, and slots are not freed again. So after
///   a batch no pair that still waits has both ends free in any slot.
/// - **Valid.** Each node sends to at most one and receives from at most one in a slot.
/// - **Nobody waits for ever.** Who is served goes behind all who were not; who asks again after an idle time is as old as its last
///   service, counted in batches.
///
/// Demand is counted in slots. A request adds to it: a protocol that carries totals, as Fastpass's does, asks for the difference.
/// Memory: 8 bytes for each pair of nodes. No allocation once buffers are as large as they get. The same calls give the same slots.
#[derive(Clone, Debug)]
pub struct Allocator {
    nodes: usize,
    slots: u32,
    /// Numbers batches, from 1.
    batch: u32,
    /// Free slots.
    sources: Vec<u64>,
    destinations: Vec<u64>,
    /// By pair.
    records: Vec<Record>,
    /// Pairs left over, least recently served first; per age (in batches, the last one for all older), where it ends from the
    /// oldest on.
    waiting: Vec<Waiting>,
    ends: [usize; AGES],
    /// Pairs that asked since the last batch, by age.
    fresh: Vec<Vec<Waiting>>,
    /// By the slot of this batch that served them last.
    served: Vec<Vec<Waiting>>,
    next: Vec<Waiting>,
}

impl Allocator {
    /// No demand among `nodes` nodes; batches of `slots` slots, 64 at most. More slots in a batch are faster; fewer let new
    /// demand in earlier.
    ///
    /// # Panics
    /// Where there are more than 65 535 nodes, or `slots` is not 1 to 64.
    pub fn new(nodes: usize, slots: u32) -> Self {
        assert!(nodes <= usize::from(u16::MAX) && (1..=64).contains(&slots), "{nodes} nodes, {slots} slots");
        Self {
            nodes,
            slots,
            batch: 1,
            sources: vec![0; nodes],
            destinations: vec![0; nodes],
            records: vec![Record::default(); nodes * nodes],
            waiting: Vec::new(),
            ends: [0; AGES],
            fresh: vec![Vec::new(); AGES],
            served: vec![Vec::new(); slots as usize],
            next: Vec::new(),
        }
    }

    /// Slots of a batch.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Adds `slots` to what a pair wants.
    ///
    /// # Panics
    /// Where a node does not exist, or a pair would want more than 2^32 - 1 slots at once.
    pub fn request(&mut self, source: u16, destination: u16, slots: u32) {
        let (s, d) = (usize::from(source), usize::from(destination));
        assert!(s < self.nodes && d < self.nodes, "no nodes {s}, {d} among {}", self.nodes);
        if slots == 0 {
            return;
        }
        let record = &mut self.records[s * self.nodes + d];
        if record.state == WAITS {
            record.new = record.new.checked_add(slots).expect("a pair's demand fits 32 bits");
        } else {
            let age = (self.batch - record.state) as usize;
            record.state = WAITS;
            // Never served is oldest.
            let age = if age == self.batch as usize { AGES - 1 } else { age.min(AGES - 1) };
            self.fresh[age].push(Waiting { source, destination, left: slots });
        }
    }

    /// Forgets all demand of a source, as when its host starts anew.
    pub fn forget(&mut self, source: u16) {
        let row = usize::from(source) * self.nodes;
        for record in &mut self.records[row..row + self.nodes] {
            *record = Record { new: 0, state: if record.state == WAITS { 0 } else { record.state } };
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

    /// Pairs that wait, with the slots they still want; in no order of meaning.
    pub fn waiting(&self) -> impl Iterator<Item = (u16, u16, u64)> + '_ {
        self.waiting.iter().chain(self.fresh.iter().flatten()).map(|w| {
            let new = self.records[usize::from(w.source) * self.nodes + usize::from(w.destination)].new;
            (w.source, w.destination, u64::from(w.left) + u64::from(new))
        })
    }

    /// Keeps the numbers of batches small; ages stay.
    fn renumber(&mut self) {
        if self.batch < 1 << 31 {
            return;
        }
        let shift = self.batch - AGES as u32;
        self.batch -= shift;
        for record in self.records.iter_mut().filter(|r| r.state != WAITS) {
            record.state = record.state.saturating_sub(shift);
        }
    }

    /// Allocates the next batch of slots and takes it off the demand. `out` is emptied first; what is in it comes in the order of
    /// allocation, not by slot.
    pub fn allocate_batch(&mut self, out: &mut Vec<Allocation>) {
        out.clear();
        // There can not be more, so that nothing below grows.
        out.reserve(self.nodes * self.slots as usize);
        let all = u64::MAX >> (64 - self.slots);
        self.sources.fill(all);
        self.destinations.fill(all);
        self.renumber();
        self.batch += 1;
        let mut table = Table {
            nodes: self.nodes,
            batch: self.batch,
            sources: &mut self.sources,
            destinations: &mut self.destinations,
            records: &mut self.records,
            next: &mut self.next,
            out,
        };
        let mut begin = 0;
        let mut unserved = [0; AGES];
        for age in (0..AGES).rev() {
            let fresh = &mut self.fresh[age];
            for &pair in self.waiting[begin..self.ends[age]].iter().chain(fresh.iter()) {
                if let Some((slot, pair)) = table.visit(pair) {
                    self.served[slot].push(pair);
                }
            }
            fresh.clear();
            begin = self.ends[age];
            unserved[age] = table.next.len();
        }
        for k in 0..self.served.len() {
            // Those that get an earlier slot are still last served in k.
            let mut of_k = core::mem::take(&mut self.served[k]);
            let mut i = 0;
            while let Some(&pair) = of_k.get(i) {
                i += 1;
                if let Some((slot, pair)) = table.visit(pair) {
                    let later = if slot > k { &mut self.served[slot] } else { &mut of_k };
                    later.push(pair);
                }
            }
            of_k.clear();
            self.served[k] = of_k;
        }
        core::mem::swap(&mut self.waiting, &mut self.next);
        self.next.clear();
        // Who was not served is a batch older; who was, is of age 0.
        self.ends[0] = self.waiting.len();
        self.ends[1..].copy_from_slice(&unserved[..AGES - 1]);
    }
}

/// What a visit to a pair needs.
struct Table<'a> {
    nodes: usize,
    batch: u32,
    sources: &'a mut [u64],
    destinations: &'a mut [u64],
    records: &'a mut [Record],
    next: &'a mut Vec<Waiting>,
    out: &'a mut Vec<Allocation>,
}

impl Table<'_> {
    /// Gives a pair its first free slot; the pair comes back with it if it wants more.
    #[inline(always)]
    fn visit(&mut self, mut pair: Waiting) -> Option<(usize, Waiting)> {
        let source = &mut self.sources[usize::from(pair.source)];
        let destination = &mut self.destinations[usize::from(pair.destination)];
        let free = *source & *destination;
        if free == 0 {
            self.next.push(pair);
            return None;
        }
        let slot = free.trailing_zeros();
        let bit = free & free.wrapping_neg();
        *source ^= bit;
        *destination ^= bit;
        self.out.push(Allocation { slot: slot as u16, source: pair.source, destination: pair.destination });
        pair.left -= 1;
        if pair.left == 0 {
            let record = &mut self.records[usize::from(pair.source) * self.nodes + usize::from(pair.destination)];
            if record.new == 0 {
                record.state = self.batch;
                return None;
            }
            pair.left = core::mem::take(&mut record.new);
        }
        Some((slot as usize, pair))
    }
}
