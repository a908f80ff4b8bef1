//! Halving a bipartite multigraph again and again, all parts at once.

/// A pair that no walk has come to.
const UNSEEN: u8 = 2;

/// Spreads edges over a power of two of classes; buffers are kept.
///
/// Edges lie in slots, so that partners at their left ends are neighbors, slots 2 p and 2 p + 1. Only partners at right ends
/// are written down. A walk then goes over two edges per step: in by one of a pair, out by the other one, on by its partner
/// at the right. It puts the edge it comes in by into half 0, the other one into half 1.
///
/// A left vertex has blocks of 2^times slots; slots without an edge belong to a vertex of their own at the right. After t halvings
/// each aligned group of 2^t slots holds one slot of each class, in order of class. For the next halving two such groups are
/// interleaved.
///
/// Where a vertex has an odd number of edges in a class, one is left over there. Those are partners of each other, whatever
/// their vertices: that binds nobody else, and every walk is closed, so that there are few of them. (A processor that
/// mispredicts the end of a walk loses the time of several steps.)
#[derive(Clone, Debug, Default)]
pub(super) struct Halving {
    /// Per slot, the edge in the upper half and its right vertex in the lower; and those after this halving. Block 0 is nobody's.
    slots: Vec<u64>,
    next: Vec<u64>,
    /// Per left vertex, its next slot; at a block's begin, none.
    at: Vec<u32>,
    /// Per right vertex and class, the slot that has no partner there yet, or 0.
    single: Vec<u32>,
    /// Per slot, its partner at the right with the lowest bit flipped: where the walk goes out again.
    onward: Vec<u32>,
    /// Per pair of slots, which of the two is in half 0.
    first: Vec<u8>,
}

impl Halving {
    /// Halves `times` times, at most 15, and writes every edge's class, from 0 to 2^times - 1.
    ///
    /// # Panics
    /// Where an edge names a vertex that does not exist.
    pub(super) fn classes(&mut self, left: usize, right: usize, ends: &[(u32, u32)], times: u32, class: &mut Vec<u16>) {
        class.clear();
        // One more, for slots without an edge.
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

    /// Puts the edges into slots, with partners for the first halving.
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

    /// Orders slots for the halving after halving `time` of `times`, with their partners.
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

/// Makes a slot the partner of the one that waits, or lets it wait. Without a branch: which of both is as good as random.
#[inline(always)]
fn meet(waits: &mut u32, onward: &mut [u32], slot: u32) {
    let with = *waits;
    *waits = if with == 0 { slot } else { 0 };
    onward[slot as usize] = with ^ 1;
    onward[with as usize] = slot ^ 1;
}

/// Makes the slots that are not 0 partners of each other.
fn meet_all(slots: impl Iterator<Item = u32>, onward: &mut [u32]) {
    let mut waits = 0;
    for slot in slots {
        onward[slot as usize] = waits ^ 1;
        onward[waits as usize] = slot ^ 1;
        waits = if slot != 0 && waits != 0 { 0 } else { slot | waits };
    }
}
