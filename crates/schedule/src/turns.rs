//! Due slots of pairs, which the schedulers of slots share.
//!
//! Every pair has a due slot. When it is served, it is due again one period later. The period is
//! the remaining load of its busiest link over the remaining demand of the pair, so that shares are
//! in proportion to demand. It is at most [`LONGEST_WAIT`] times the number of pairs at that link.

use std::iter::Peekable;
use std::slice::Iter;

/// Number of parts of a slot in which due slots and periods are counted.
const PARTS: u64 = 256;
/// The longest period of a pair, as a multiple of its period in a round robin without weights.
pub(crate) const LONGEST_WAIT: u64 = 4;

/// State that a scheduler keeps from plan to plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Number of slots planned so far: the clock of due slots.
    pub(crate) now: u64,
    /// Due slots of pairs that waited at the last plan, sorted by pair.
    due: Vec<(u32, u32, u64)>,
}

impl Memory {
    /// The known due slots, for lookups in the order of pairs.
    pub(crate) fn known(&self) -> Known<'_> {
        Known(self.due.iter().peekable())
    }
    /// Stores the due slots of pairs, given in the order of pairs.
    pub(crate) fn keep<'a>(&mut self, pairs: impl Iterator<Item = (u32, u32, &'a Turn)>) {
        self.due = pairs.map(|(source, destination, turn)| (source, destination, turn.due)).collect();
    }
}

/// Known due slots, see [`Memory::known`].
pub(crate) struct Known<'a>(Peekable<Iter<'a, (u32, u32, u64)>>);

impl Known<'_> {
    /// The turn of a pair with `left` wire bytes to send, of which a slot carries `carries`.
    pub(crate) fn turn(&mut self, source: u32, destination: u32, hosts: u32, [left, carries]: [u64; 2]) -> Turn {
        while self.0.next_if(|k| (k.0, k.1) < (source, destination)).is_some() {}
        let due = self.0.next_if(|k| (k.0, k.1) == (source, destination)).map_or(u64::MAX, |k| k.2);
        let diagonal = (destination + hosts - source) % hosts * hosts + source;
        Turn { left, carries, due, period: 0, longest: 0, diagonal }
    }
}

/// The due slot of a pair with demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Wire bytes left.
    pub(crate) left: u64,
    /// Wire bytes that a slot carries; not zero.
    pub(crate) carries: u64,
    /// Due slot of the pair, in parts of a slot.
    pub(crate) due: u64,
    period: u64,
    /// Maximum distance of the due slot from now, in parts of a slot.
    longest: u64,
    /// Order among pairs with equal due slots: diagonals of the demand matrix, each of which is a
    /// matching.
    pub(crate) diagonal: u32,
}

impl Turn {
    /// Number of slots still needed.
    pub(crate) fn slots(&self) -> u64 {
        self.left.div_ceil(self.carries)
    }
    /// Whether a receiver with `room` bytes can take enough of the rest.
    pub(crate) fn has_room(&self, room: u64) -> bool {
        room > 0 && room >= self.left.min(self.carries / 8)
    }
    /// Sets the period, and a due slot no further away than that. Its busiest link needs `load`
    /// slots, and at most `pairs` pairs cross one of its links.
    pub(crate) fn enter(&mut self, now: u64, load: u64, pairs: u64) {
        self.longest = LONGEST_WAIT * pairs * PARTS;
        let period = u128::from(load) * u128::from(PARTS) / u128::from(self.slots());
        self.period = period.min(self.longest.into()) as u64;
        self.due = self.due.min(now * PARTS + self.period);
    }
    /// Subtracts `bytes` that are served. Returns by how many slots the rest shrinks. `now` is the
    /// number of the next slot.
    pub(crate) fn served(&mut self, now: u64, bytes: u64) -> u64 {
        let before = self.slots();
        self.left -= bytes;
        // Stays in step with the period, but lateness and earliness do not accumulate.
        self.due = (self.due + self.period).clamp(now * PARTS, now * PARTS + self.longest);
        before - self.slots()
    }
}

/// Removes the `gone` served pairs from an order and inserts pairs that are to be served again.
///
/// Served pairs were mostly due first, and are mostly due last again. Both are few, so the entries
/// behind the last served one, and those between two new ones, move as blocks.
pub(crate) fn reorder<E: Copy + Ord>(order: &mut Vec<E>, gone: usize, mut again: Vec<E>, served: impl Fn(&E) -> bool) {
    let (mut kept, mut next) = (0, 0);
    while next - kept < gone && next < order.len() {
        let entry = order[next];
        order[kept] = entry;
        kept += usize::from(!served(&entry));
        next += 1;
    }
    order.copy_within(next.., kept);
    order.truncate(order.len() - (next - kept));
    again.sort_unstable();
    let (mut end, mut to) = (order.len(), order.len() + again.len());
    order.extend_from_slice(&again);
    for &entry in again.iter().rev() {
        let at = place(&order[..end], &entry);
        to -= end - at;
        order.copy_within(at..end, to);
        to -= 1;
        order[to] = entry;
        end = at;
    }
}

/// The place of an entry behind those of a sorted list that are not larger, searched from its end.
fn place<E: Ord>(entries: &[E], entry: &E) -> usize {
    let (mut end, mut step) = (entries.len(), 1);
    while step <= end && entries[end - step] > *entry {
        end -= step;
        step *= 2;
    }
    let begin = end.saturating_sub(step);
    begin + entries[begin..end].partition_point(|e| e <= entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn turns_come_back_in_proportion_and_are_remembered() {
        let mut memory = Memory::default();
        // 10 slots and one byte, with 100 bytes per slot, from host 1 to host 0 of four: diagonal
        // 3.
        let mut turn = memory.known().turn(1, 0, 4, [1001, 100]);
        assert_eq!((turn.slots(), turn.due, turn.diagonal), (11, u64::MAX, 13));
        assert!(turn.has_room(12) && !turn.has_room(11) && !turn.has_room(0));
        // The busiest link needs 22 slots, so every other slot is this pair's.
        turn.enter(0, 22, 3);
        assert_eq!(turn.due, 2 * PARTS);
        assert_eq!(turn.served(1, 100), 1);
        assert_eq!(turn.due, 4 * PARTS);
        // A pair that is served late is not due twice at once. The last byte takes a slot.
        assert_eq!(turn.served(40, 900), 9);
        assert_eq!((turn.due, turn.slots()), (40 * PARTS, 1));
        let other = Turn { due: 7, ..turn };
        memory.keep([(0, 3, &other), (1, 0, &turn)].into_iter());
        let mut known = memory.known();
        let due: Vec<u64> = [(0, 1), (0, 3), (1, 0), (2, 0)].map(|(i, j)| known.turn(i, j, 4, [1, 1]).due).into();
        assert_eq!(due, [u64::MAX, 7, 40 * PARTS, u64::MAX]);
        // A pair with few bytes at a busy link waits at most four round robins.
        let mut small = memory.known().turn(2, 0, 4, [1, 100]);
        small.enter(100, 1_000_000, 3);
        assert_eq!(small.due, (100 + LONGEST_WAIT * 3) * PARTS);
    }

    #[test]
    fn an_order_is_kept() {
        let mut order = vec![1, 3, 5, 7, 9];
        reorder(&mut order, 2, vec![8, 2, 12], |e| [1, 7].contains(e));
        assert_eq!(order, [2, 3, 5, 8, 9, 12]);
    }

    proptest! {
        #[test]
        fn an_order_is_that_of_a_sort(
            entries in proptest::collection::btree_map(0u16..200, (any::<bool>(), any::<bool>()), 0..150),
        ) {
            let of = |new: bool| entries.iter().filter(move |e| e.1.0 == new).map(|e| *e.0);
            let served = |e: &u16| entries[e].1;
            let (mut order, mut expected): (Vec<u16>, Vec<u16>) = (of(false).collect(), of(false).collect());
            let gone = order.iter().filter(|e| served(e)).count();
            reorder(&mut order, gone, of(true).rev().collect(), served);
            expected.retain(|e| !served(e));
            expected.extend(of(true));
            expected.sort_unstable();
            prop_assert_eq!(order, expected);
        }
    }
}
