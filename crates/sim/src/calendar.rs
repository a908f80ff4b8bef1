//! Pending events in a calendar queue that adapts the length of its days (Brown, CACM 31(10), 1988).
//!
//! Events order by `(time, phase, element)`, never by insertion, so that engines which schedule differently order alike. The
//! calendar is a ring of days, each a cache line of at most four events; a bitmap finds the next day with events, and events beyond the ring
//! or over four a day wait in a heap. The day's length follows the mean distance of events, the ring's size their number. How it
//! adapts changes no order.

use crate::time::SimTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens first among events of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// A circuit or a beam changes.
    Retune = 0,
    /// A packet arrives over a link; the element is the link.
    Arrive = 1,
    /// A flow begins; the element is the flow's number.
    Start = 2,
    /// A control message arrives, or an agent's deadline passes; the element is the node. Gates open here.
    Open = 3,
    /// A host's interface is free for the next packet; the element is the host.
    Send = 4,
    /// A transport's deadline passes; the element is the flow's number.
    Timer = 5,
    /// Queues are sampled.
    Sample = 6,
}

impl Phase {
    const ALL: [Self; 7] =
        [Self::Retune, Self::Arrive, Self::Start, Self::Open, Self::Send, Self::Timer, Self::Sample];
}

/// A phase, its element, and a slot number that names the same element within the engine (it orders nothing new).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

const SLOT_BITS: u32 = 28;

impl Key {
    /// After all others.
    pub const LAST: Self = Self(u64::MAX);

    /// A key.
    ///
    /// # Panics
    /// Where `slot` exceeds 28 bits (debug builds).
    #[inline]
    pub const fn new(phase: Phase, element: u32, slot: u32) -> Self {
        debug_assert!(slot < 1 << SLOT_BITS);
        Self((phase as u64) << 60 | (element as u64) << SLOT_BITS | slot as u64)
    }
    /// Its phase.
    #[inline]
    pub fn phase(self) -> Phase {
        Phase::ALL[(self.0 >> 60) as usize]
    }
    /// Its element.
    #[inline]
    pub const fn element(self) -> u32 {
        (self.0 >> SLOT_BITS) as u32
    }
    /// Its slot.
    #[inline]
    pub const fn slot(self) -> u32 {
        self.0 as u32 & ((1 << SLOT_BITS) - 1)
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?} {}/{}", self.phase(), self.element(), self.slot())
    }
}

/// An event: when and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When.
    pub at: SimTime,
    /// What.
    pub key: Key,
}

/// After all others: an empty place.
const NEVER: Event = Event { at: SimTime::MAX, key: Key::LAST };
/// Events of a day, in one cache line and in no order: the first is found by looking at all. What does not fit waits in the heap.
const PLACES: usize = 4;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Day([Event; PLACES]);

impl Day {
    const EMPTY: Self = Self([NEVER; PLACES]);

    /// The first event and its place.
    #[inline]
    fn first(&self) -> (usize, Event) {
        let [a, b, c, d] = self.0;
        let (i, x) = if b < a { (1, b) } else { (0, a) };
        let (j, y) = if d < c { (3, d) } else { (2, c) };
        if y < x { (j, y) } else { (i, x) }
    }
}

const SMALLEST: usize = 256;
const LARGEST: usize = 1 << 18;

/// The queue of pending events.
pub struct Calendar {
    days: Vec<Day>,
    /// One bit per day: whether it has events.
    occupied: Vec<u64>,
    /// A day lasts `2^shift` ps.
    shift: u32,
    /// The day of the last event taken, counted from time zero; none earlier holds an event.
    day: i64,
    /// Events beyond the ring, and those that found their day full.
    far: BinaryHeap<Reverse<Event>>,
    /// The first of them, or `NEVER`.
    far_first: Event,
    /// Events in the ring.
    linked: usize,
    /// Events until the next look at the day's length.
    countdown: u32,
    /// Events taken since the last look, and when it was.
    served: u32,
    since: i64,
    /// Events that found their day full since the last look.
    crowded: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            days: vec![Day::EMPTY; SMALLEST],
            occupied: vec![0; SMALLEST / 64],
            shift: 18,
            day: 0,
            far: BinaryHeap::new(),
            far_first: NEVER,
            linked: 0,
            countdown: 256,
            served: 0,
            since: 0,
            crowded: 0,
        }
    }
}

impl Calendar {
    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.linked + self.far.len()
    }
    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event, not before the last one taken.
    #[inline]
    pub fn push(&mut self, at: SimTime, key: Key) {
        let event = Event { at, key };
        let day = at.0 >> self.shift;
        debug_assert!(day >= self.day, "an event in the past");
        if ((day - self.day) as u64) < self.days.len() as u64 {
            let d = day as usize & (self.days.len() - 1);
            let places = &mut self.days[d].0;
            for place in places {
                if place.at == SimTime::MAX {
                    *place = event;
                    self.occupied[d >> 6] |= 1 << (d & 63);
                    self.linked += 1;
                    return;
                }
            }
            self.crowded += 1;
        }
        self.push_far(event);
    }

    #[inline(never)]
    fn push_far(&mut self, event: Event) {
        self.far_first = self.far_first.min(event);
        self.far.push(Reverse(event));
    }

    /// Takes the first event, if it comes before `bound`.
    #[inline]
    pub fn pop_before(&mut self, bound: Event) -> Option<Event> {
        let mut d = self.day as usize & (self.days.len() - 1);
        let (mut place, mut first) = self.days[d].first();
        if first.at == SimTime::MAX && self.linked > 0 {
            d = self.next_occupied(d);
            (place, first) = self.days[d].first();
        }
        if self.far_first < first {
            return self.pop_far(bound);
        }
        if first >= bound {
            return None;
        }
        self.day = first.at.0 >> self.shift;
        self.linked -= 1;
        let places = &mut self.days[d].0;
        places[place] = NEVER;
        if places.iter().all(|p| p.at == SimTime::MAX) {
            self.occupied[d >> 6] &= !(1 << (d & 63));
        }
        self.served += 1;
        self.countdown -= 1;
        if self.countdown == 0 {
            self.adapt();
        }
        Some(first)
    }

    #[inline(never)]
    fn pop_far(&mut self, bound: Event) -> Option<Event> {
        if self.far_first >= bound {
            return None;
        }
        let Reverse(event) = self.far.pop()?;
        self.far_first = self.far.peek().map_or(NEVER, |r| r.0);
        self.day = event.at.0 >> self.shift;
        Some(event)
    }

    /// The first event, without taking it.
    pub fn peek(&self) -> Option<Event> {
        let d = self.day as usize & (self.days.len() - 1);
        let mut first = self.days[d].first().1;
        if first.at == SimTime::MAX && self.linked > 0 {
            first = self.days[self.next_occupied(d)].first().1;
        }
        let first = first.min(self.far_first);
        (first != NEVER).then_some(first)
    }

    /// The next day of the ring with events, after place `d` and round to it; there is one.
    #[inline]
    fn next_occupied(&self, d: usize) -> usize {
        let words = self.occupied.len();
        let mut w = d >> 6;
        let mut bits = self.occupied[w] & (!0 << (d & 63));
        while bits == 0 {
            w = if w + 1 == words { 0 } else { w + 1 };
            bits = self.occupied[w];
        }
        (w << 6) + bits.trailing_zeros() as usize
    }

    /// Fits the day to the mean distance of events and the ring to their number.
    #[cold]
    #[inline(never)]
    fn adapt(&mut self) {
        let now = self.day << self.shift;
        let gap = (now - self.since) / i64::from(self.served.max(1));
        let size = (self.linked.max(SMALLEST / 4) * 4).next_power_of_two().clamp(SMALLEST, LARGEST);
        // Half an event a day: it rarely is crowded, and a bitmap skips empty days.
        let shift = (62 - gap.max(4).leading_zeros()).min(50);
        let misfit = shift.abs_diff(self.shift) > 1
            || size > self.days.len()
            || size * 8 < self.days.len()
            || (self.crowded > self.served / 16 && shift < self.shift);
        if misfit && self.served > 64 {
            let mut events: Vec<Event> = std::mem::take(&mut self.far).into_iter().map(|r| r.0).collect();
            events.extend(self.days.iter().flat_map(|d| d.0).filter(|e| *e != NEVER));
            // The new first day holds the same instant.
            self.day = now >> shift;
            self.shift = shift;
            self.days.clear();
            self.days.resize(size, Day::EMPTY);
            self.occupied.clear();
            self.occupied.resize(size / 64, 0);
            self.far_first = NEVER;
            self.linked = 0;
            for e in events {
                self.push(e.at, e.key);
            }
        }
        self.since = now;
        self.served = 0;
        self.crowded = 0;
        self.countdown = (self.linked as u32 * 4).clamp(1 << 12, 1 << 20);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const END: Event = Event { at: SimTime::MAX, key: Key(u64::MAX) };

    #[test]
    fn keys_hold_what_they_are_given() {
        let k = Key::new(Phase::Timer, u32::MAX, (1 << 28) - 1);
        assert_eq!((k.phase(), k.element(), k.slot()), (Phase::Timer, u32::MAX, (1 << 28) - 1));
        assert!(Key::new(Phase::Arrive, u32::MAX, 9) < Key::new(Phase::Start, 0, 0));
    }

    /// Operations on the calendar and on a binary heap side by side: pops, and pushes at or after the last pop.
    fn same_as_heap(steps: &[(u8, i64)], stretch: impl Fn(usize) -> i64) {
        let mut calendar = Calendar::default();
        let mut heap = BinaryHeap::new();
        let mut now = 0;
        for (i, &(op, ahead)) in steps.iter().enumerate() {
            if op % 3 == 0 {
                let expected = heap.pop().map(|Reverse(e): Reverse<Event>| e);
                assert_eq!(calendar.pop_before(END), expected, "step {i}");
                now = expected.map_or(now, |e| e.at.0);
            } else {
                let key = Key::new(Phase::ALL[usize::from(op) % 7], u32::from(op), i as u32);
                let at = SimTime(now + ahead * stretch(i));
                calendar.push(at, key);
                heap.push(Reverse(Event { at, key }));
            }
        }
        while let Some(Reverse(e)) = heap.pop() {
            assert_eq!(calendar.pop_before(END), Some(e));
        }
        assert!(calendar.is_empty() && calendar.pop_before(END).is_none());
    }

    proptest! {
        #[test]
        fn pops_like_a_heap(steps in prop::collection::vec((any::<u8>(), 0i64..5_000_000), 1..2_000)) {
            same_as_heap(&steps, |_| 1);
        }
    }

    #[test]
    fn pops_like_a_heap_while_time_scales_change() {
        // Long enough for several adaptations; distances between 1 ps and 1 s.
        let mut x = 7u64;
        let steps: Vec<(u8, i64)> = (0..400_000)
            .map(|i| {
                x = timeplane_model::mix64(x.wrapping_add(0x9e37_79b9_7f4a_7c15));
                // Thirds are pops: let the queue fill, then drain.
                let op = if (i / 50_000) % 2 == 1 { (x % 9) as u8 / 2 } else { (x % 251) as u8 };
                (op, (x >> 40) as i64)
            })
            .collect();
        same_as_heap(&steps, |i| [1, 1_000, 1, 60_000][i / 100_000]);
    }
}
