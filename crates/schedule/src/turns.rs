//! Turns of pairs: who is due when, which schedulers of slots have in common.
//!
//! Every pair has a due slot; served, it is due a period later: what the busiest of its links still has to do over what the pair has, so that shares
//! are in proportion to demand, but at most [`LONGEST_WAIT`] times the pairs at that link.

use std::iter::Peekable;
use std::slice::Iter;

/// Due slots and periods count in these parts of a slot.
const PARTS: u64 = 256;
/// A pair's period is at most so many times as long as in a round robin without weights.
pub(crate) const LONGEST_WAIT: u64 = 4;

/// What a scheduler keeps from plan to plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Slots planned so far: the clock of due slots.
    pub(crate) now: u64,
    /// Due slots of pairs that waited at the last plan, by pair.
    due: Vec<(u32, u32, u64)>,
}

impl Memory {
    /// What is known of pairs, for who asks in their order.
    pub(crate) fn known(&self) -> Known<'_> {
        Known(self.due.iter().peekable())
    }
    /// Keeps due slots of pairs, which come in their order.
    pub(crate) fn keep<'a>(&mut self, pairs: impl Iterator<Item = (u32, u32, &'a Turn)>) {
        self.due = pairs.map(|(source, destination, turn)| (source, destination, turn.due)).collect();
    }
}

/// See [`Memory::known`].
pub(crate) struct Known<'a>(Peekable<Iter<'a, (u32, u32, u64)>>);

impl Known<'_> {
    /// The turn of a pair with so many wire bytes to send, of which a slot carries so many.
    pub(crate) fn turn(&mut self, source: u32, destination: u32, hosts: u32, [left, carries]: [u64; 2]) -> Turn {
        while self.0.next_if(|k| (k.0, k.1) < (source, destination)).is_some() {}
        let due = self.0.next_if(|k| (k.0, k.1) == (source, destination)).map_or(u64::MAX, |k| k.2);
        let diagonal = (destination + hosts - source) % hosts * hosts + source;
        Turn { left, carries, due, period: 0, longest: 0, diagonal }
    }
}

/// When a pair with something to send is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Wire bytes left.
    pub(crate) left: u64,
    /// Wire bytes that a slot carries; not zero.
    pub(crate) carries: u64,
    /// Its due slot, in parts.
    pub(crate) due: u64,
    period: u64,
    /// How far ahead its due slot may be.
    longest: u64,
    /// Orders pairs that are due alike: diagonals of the demand matrix, each of which is a matching.
    pub(crate) diagonal: u32,
}

impl Turn {
    /// Slots left.
    pub(crate) fn slots(&self) -> u64 {
        self.left.div_ceil(self.carries)
    }
    /// Whether a receiver with room for so many bytes can take enough of what is left.
    pub(crate) fn has_room(&self, room: u64) -> bool {
        room > 0 && room >= self.left.min(self.carries / 8)
    }
    /// Gives it a period, and a due slot that is no further away: its busiest link has `load` slots to do, and so many `pairs` at the most cross
    /// one of its links.
    pub(crate) fn enter(&mut self, now: u64, load: u64, pairs: u64) {
        self.longest = LONGEST_WAIT * pairs * PARTS;
        let period = u128::from(load) * u128::from(PARTS) / u128::from(self.slots());
        self.period = period.min(self.longest.into()) as u64;
        self.due = self.due.min(now * PARTS + self.period);
    }
    /// It sends so much; how many slots fewer are left. `now` is the number of the next slot.
    pub(crate) fn served(&mut self, now: u64, bytes: u64) -> u64 {
        let before = self.slots();
        self.left -= bytes;
        // In step with its period, but what it was late or early does not add up.
        self.due = (self.due + self.period).clamp(now * PARTS, now * PARTS + self.longest);
        before - self.slots()
    }
}

/// Takes pairs that were served out of an order, and puts those in that are to be served again. `merged` is memory for it.
pub(crate) fn reorder<E: Copy + Ord>(
    order: &mut Vec<E>,
    merged: &mut Vec<E>,
    mut again: Vec<E>,
    served: impl Fn(&E) -> bool,
) {
    again.sort_unstable();
    let mut again = again.into_iter().peekable();
    merged.clear();
    for &entry in order.iter().filter(|e| !served(e)) {
        while let Some(earlier) = again.next_if(|a| *a < entry) {
            merged.push(earlier);
        }
        merged.push(entry);
    }
    merged.extend(again);
    std::mem::swap(order, merged);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_back_in_proportion_and_are_remembered() {
        let mut memory = Memory::default();
        // 10 slots and a bit of 100 bytes, from host 1 to host 0 of four: diagonal 3.
        let mut turn = memory.known().turn(1, 0, 4, [1001, 100]);
        assert_eq!((turn.slots(), turn.due, turn.diagonal), (11, u64::MAX, 13));
        assert!(turn.has_room(12) && !turn.has_room(11) && !turn.has_room(0));
        // Its busiest link has 22 slots to do: every other slot is this pair's.
        turn.enter(0, 22, 3);
        assert_eq!(turn.due, 2 * PARTS);
        assert_eq!(turn.served(1, 100), 1);
        assert_eq!(turn.due, 4 * PARTS);
        // Served late it is not due twice at once; the last byte is a slot.
        assert_eq!(turn.served(40, 900), 9);
        assert_eq!((turn.due, turn.slots()), (40 * PARTS, 1));
        let other = Turn { due: 7, ..turn };
        memory.keep([(0, 3, &other), (1, 0, &turn)].into_iter());
        let mut known = memory.known();
        let due: Vec<u64> = [(0, 1), (0, 3), (1, 0), (2, 0)].map(|(i, j)| known.turn(i, j, 4, [1, 1]).due).into();
        assert_eq!(due, [u64::MAX, 7, 40 * PARTS, u64::MAX]);
        // Few bytes at a busy link wait no longer than four round robins.
        let mut small = memory.known().turn(2, 0, 4, [1, 100]);
        small.enter(100, 1_000_000, 3);
        assert_eq!(small.due, (100 + LONGEST_WAIT * 3) * PARTS);
    }

    #[test]
    fn an_order_is_kept() {
        let (mut order, mut merged) = (vec![1, 3, 5, 7, 9], vec![0]);
        reorder(&mut order, &mut merged, vec![8, 2, 12], |e| [1, 7].contains(e));
        assert_eq!(order, [2, 3, 5, 8, 9, 12]);
    }
}
