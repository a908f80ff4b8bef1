//! Repeated halving of a bipartite multigraph, all parts at once.
//!
//! Euler splits color with it wherever the number of colors is a power of two.

/// A pair of slots that no walk has reached.
const UNSEEN: u8 = 2;

/// Spreads edges over a power of two of classes; keeps its buffers.
///
/// Edges lie in slots, and partners at the left end are neighbors: slots 2 p and 2 p + 1. Only
/// partners at the right end are stored. A walk covers two edges per step: it enters a pair by one
/// edge and leaves it by the other, whose right partner is in the next pair. It puts the edge that
/// it entered by into half 0 and the other one into half 1.
///
/// A left vertex has blocks of 2^times slots. Slots without an edge belong to an extra vertex at
/// the right. After t halvings each aligned group of 2^t slots holds one slot of each class, in
/// order of class. The next halving interleaves two such groups.
///
/// If a vertex has an odd number of edges in a class, one edge is left over there. Leftover
/// edges become partners of each other, whatever their vertices are. This constrains no other edge,
/// and it makes every walk closed, so that there are few walks. (Each mispredicted end of a walk
/// costs the time of several steps.)
#[derive(Clone, Debug, Default)]
pub(super) struct Halving {
    /// By slot, the edge in the upper half of the word and its right vertex in the lower; then the
    /// same for the next halving. Block 0 belongs to no vertex.
    slots: Vec<u64>,
    next: Vec<u64>,
    /// By left vertex, its next slot; at the start of a block, the vertex has none.
    at: Vec<u32>,
    /// By right vertex and class, the slot that has no partner there yet, or 0.
    single: Vec<u32>,
    /// By slot, its right partner with the lowest bit flipped: the slot by which the walk leaves.
    onward: Vec<u32>,
    /// By pair of slots, which of the two is in half 0.
    first: Vec<u8>,
}

impl Halving {
    /// Halves `times` times, at most 15, and writes every edge's class, from 0 to 2^times - 1.
    ///
    /// # Panics
    /// Panics if an edge names a vertex that does not exist.
    pub(super) fn classes(&mut self, left: usize, right: usize, ends: &[(u32, u32)], times: u32, class: &mut Vec<u16>) {
        class.clear();
        // One more entry, for slots without an edge.
        class.resize(ends.len() + 1, 0);
        if times > 0 {
            self.place(left, right, ends, times);
            for time in 0..times {
                self.walk();
                if time + 1 < times {
                    self.interleave(right, time, times);
                }
            }
            let mask = (1u32 << times) - 1;
            for (pair, (slots, &first)) in (0u32..).zip(self.slots.chunks_exact(2).zip(&self.first)) {
                let of = ((2 * pair) & mask) | u32::from(first);
                class[(slots[0] >> 32) as usize] = of as u16;
                class[(slots[1] >> 32) as usize] = (of ^ 1) as u16;
            }
        }
        class.truncate(ends.len());
    }

    /// Puts the edges into slots, and finds partners for the first halving.
    fn place(&mut self, left: usize, right: usize, ends: &[(u32, u32)], times: u32) {
        let block = 1u32 << times;
        let none = ((ends.len() as u64) << 32) | right as u64;
        // A vertex fills all its blocks but one.
        let most = ends.len() + (left.min(ends.len()) + 1) * block as usize;
        self.slots.clear();
        self.slots.resize(most, none);
        self.at.clear();
        self.at.resize(left, 0);
        self.single.clear();
        self.single.resize(right, 0);
        self.onward.clear();
        self.onward.resize(most, 0);
        let (at, single, onward) = (&mut self.at[..], &mut self.single[..], &mut self.onward[..]);
        let slots = &mut self.slots[..];
        let mut unused = block;
        for (edge, &(u, v)) in (0u64..).zip(ends) {
            assert!((u as usize) < at.len() && (v as usize) < single.len(), "an edge to a vertex that does not exist");
            let mut slot = at[u as usize];
            if slot & (block - 1) == 0 {
                slot = unused;
                unused += block;
            }
            at[u as usize] = slot + 1;
            slots[slot as usize] = (edge << 32) | u64::from(v);
            meet(&mut single[v as usize], onward, slot);
        }
        // An odd number of edges at the left leaves half a pair.
        let halves = at.iter().map(|&slot| if slot & 1 == 1 { slot } else { 0 });
        meet_all(single.iter().copied().chain(halves), onward);
        self.slots.truncate(unused as usize);
    }

    /// Follows all walks.
    fn walk(&mut self) {
        let pairs = self.slots.len() / 2;
        self.first.clear();
        self.first.resize(pairs, UNSEEN);
        self.first[0] = 0;
        let (first, onward) = (&mut self.first[..], &self.onward[..]);
        for pair in 1..pairs {
            if first[pair] != UNSEEN {
                continue;
            }
            first[pair] = 0;
            let mut out = 2 * pair as u32 + 1;
            loop {
                out = onward[out as usize];
                let first = &mut first[out as usize / 2];
                if *first != UNSEEN {
                    break;
                }
                *first = ((out & 1) ^ 1) as u8;
            }
        }
    }

    /// Orders slots for the halving after number `time` of `times`, and finds their partners.
    fn interleave(&mut self, right: usize, time: u32, times: u32) {
        let (classes, before) = (1u32 << time, 1usize << (times - 1));
        self.next.clear();
        self.next.resize(self.slots.len(), self.slots[0]);
        self.single.clear();
        self.single.resize((right + 1) << (time + 1), 0);
        let (next, single, onward) = (&mut self.next[..], &mut self.single[..], &mut self.onward[..]);
        let pairs = self.slots.chunks_exact(2).zip(&self.first).skip(before);
        for (pair, (slots, &first)) in (before as u32..).zip(pairs) {
            let (group, class) = (pair >> time, pair & (classes - 1));
            let to = (group >> 1) * (4 * classes) + 4 * class + (group & 1);
            let exchange = (slots[0] ^ slots[1]) & u64::from(first).wrapping_neg();
            for (half, slot) in [slots[0] ^ exchange, slots[1] ^ exchange].into_iter().enumerate() {
                let at = to + 2 * half as u32;
                next[at as usize] = slot;
                let key = ((slot as u32 as usize) << (time + 1)) + 2 * class as usize + half;
                meet(&mut single[key], onward, at);
            }
        }
        meet_all(single.iter().copied(), onward);
        core::mem::swap(&mut self.slots, &mut self.next);
    }
}

/// Makes a slot the partner of the waiting one, or lets it wait. Written without a branch, because
/// which of the two happens is as good as random.
#[inline(always)]
fn meet(waits: &mut u32, onward: &mut [u32], slot: u32) {
    let with = *waits;
    *waits = if with == 0 { slot } else { 0 };
    onward[slot as usize] = with ^ 1;
    onward[with as usize] = slot ^ 1;
}

/// Pairs up the slots that are not 0.
fn meet_all(slots: impl Iterator<Item = u32>, onward: &mut [u32]) {
    let mut waits = 0;
    for slot in slots {
        onward[slot as usize] = waits ^ 1;
        onward[waits as usize] = slot ^ 1;
        waits = if slot != 0 && waits != 0 { 0 } else { slot | waits };
    }
}
