//! Pending events in a calendar queue that adapts the length of its days (Brown, CACM 31(10), 1988).
//!
//! Events order by `(time, phase, element)`, never by insertion, so that engines which schedule differently order alike. The
//! calendar is a ring of days, each an unordered chain of events; a day is sorted as a whole when it opens. A bitmap finds the next
//! day with events, and events beyond the ring wait in a heap. While days are shorter than the shortest hop, hardly an event falls into
//! the open one. The days' length follows the number of events found in them. How it adapts changes no order.

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
    const ALL: [Self; 7] = [Self::Retune, Self::Arrive, Self::Start, Self::Open, Self::Send, Self::Timer, Self::Sample];
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: SimTime,
    /// What.
    pub key: Key,
}

impl Event {
    /// One number to compare, without a branch; no time is negative.
    #[inline]
    const fn order(self) -> u128 {
        (self.at.0 as u128) << 64 | self.key.0 as u128
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// After all others.
const NEVER: Event = Event { at: SimTime::MAX, key: Key::LAST };
/// The end of a chain.
const NONE: u32 = u32::MAX;

/// An event in the chain of its day, or a free place.
#[derive(Clone, Copy)]
struct Node {
    key: Key,
    /// Picoseconds after the day's begin.
    offset: u32,
    next: u32,
}

/// Events of a day that the calendar aims at: enough to share the cost of opening it, and soon sorted.
const WANTED: u32 = 4;
/// No day is longer than `2^LONGEST` ps, so that 32 bits hold a time within it.
const LONGEST: u32 = 32;
/// No day is shorter than `2^SHORTEST` ps.
const SHORTEST: u32 = 8;
impl Node {
    #[inline]
    const fn event(&self, begin: i64) -> Event {
        Event { at: SimTime(begin + self.offset as i64), key: self.key }
    }
}

const SMALLEST: usize = 256;
const LARGEST: usize = 1 << 18;
/// So many events left today are few: another one is put among them, otherwise into the heap.
const FEW: usize = 48;

/// The queue of pending events.
pub struct Calendar {
    /// Per day of the ring the first node of its chain.
    days: Vec<u32>,
    /// One bit per day: whether it has events.
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    /// The first free node.
    free: u32,
    /// The events of the open day in order, taken up to `next`.
    today: Vec<Event>,
    next: usize,
    /// A day lasts `2^shift` ps.
    shift: u32,
    /// The open day, counted from time zero: chains hold later days only.
    day: i64,
    /// Events beyond the ring, and those that came into a crowded day while it was open.
    far: BinaryHeap<Reverse<Event>>,
    /// The first of them, or `NEVER`.
    far_first: Event,
    /// Events in chains.
    chained: usize,
    /// What the days are adapted to, since the last look: days opened, events found in them, events put into an
    /// open day, and into the heap.
    opened: u32,
    found: u32,
    inserted: u32,
    deferred: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            days: vec![NONE; SMALLEST],
            occupied: vec![0; SMALLEST / 64],
            nodes: Vec::new(),
            free: NONE,
            today: Vec::new(),
            next: 0,
            shift: 18,
            day: -1,
            far: BinaryHeap::new(),
            far_first: NEVER,
            chained: 0,
            opened: 0,
            found: 0,
            inserted: 0,
            deferred: 0,
        }
    }
}

impl Calendar {
    /// How many events are pending.
    pub fn len(&self) -> usize {
        self.chained + self.today.len() - self.next + self.far.len()
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
        let ahead = (day - self.day) as u64;
        let mask = self.days.len() - 1;
        if ahead.wrapping_sub(1) < mask as u64 {
            let d = day as usize & mask;
            let node = Node { key, offset: (at.0 - (day << self.shift)) as u32, next: self.days[d] };
            let mut id = self.free;
            if let Some(place) = self.nodes.get_mut(id as usize) {
                self.free = place.next;
                *place = node;
            } else {
                id = self.nodes.len() as u32;
                self.nodes.push(node);
            }
            self.days[d] = id;
            self.occupied[d >> 6] |= 1 << (d & 63);
            self.chained += 1;
        } else {
            self.push_beside(event);
        }
    }

    /// Adds an event of the open day, or beyond the ring.
    #[inline(never)]
    fn push_beside(&mut self, event: Event) {
        let left = &self.today[self.next..];
        if event.at.0 >> self.shift <= self.day && left.len() < FEW {
            let place = self.next + left.iter().rposition(|e| *e < event).map_or(0, |i| i + 1);
            self.today.insert(place, event);
            self.inserted += 1;
        } else {
            self.far_first = self.far_first.min(event);
            self.far.push(Reverse(event));
            self.deferred += 1;
        }
    }

    /// Takes the first event, if it comes before `bound`.
    #[inline]
    pub fn pop_before(&mut self, bound: Event) -> Option<Event> {
        self.pop_before_and(bound, |_| ())
    }

    /// The same; where a day opens for it, `opened` is shown the day's events, in order.
    #[inline]
    pub fn pop_before_and(&mut self, bound: Event, opened: impl FnOnce(&[Event])) -> Option<Event> {
        let mut first = self.today.get(self.next).copied();
        if first.is_none() && self.chained > 0 {
            first = self.open(bound.min(self.far_first));
            opened(&self.today[self.next..]);
        }
        let first = first.unwrap_or(NEVER);
        if self.far_first < first {
            return self.pop_far(bound);
        }
        if first >= bound {
            return None;
        }
        self.next += 1;
        Some(first)
    }

    #[inline(never)]
    fn pop_far(&mut self, bound: Event) -> Option<Event> {
        if self.far_first >= bound {
            return None;
        }
        let Reverse(event) = self.far.pop()?;
        self.far_first = self.far.peek().map_or(NEVER, |r| r.0);
        // The ring turns; the event's own day is not open yet.
        self.day = self.day.max((event.at.0 >> self.shift) - 1);
        Some(event)
    }

    /// The first event, without taking it.
    pub fn peek(&self) -> Option<Event> {
        let mut first = self.far_first;
        if let Some(&today) = self.today.get(self.next) {
            first = first.min(today);
        } else if self.chained > 0 {
            let (d, day) = self.next_occupied();
            let mut node = self.days[d];
            while let Some(n) = self.nodes.get(node as usize) {
                first = first.min(n.event(day << self.shift));
                node = n.next;
            }
        }
        (first != NEVER).then_some(first)
    }

    /// The next day with a chain, as a place of the ring and counted from time zero; there is one.
    #[inline]
    fn next_occupied(&self) -> (usize, i64) {
        let mask = self.days.len() - 1;
        let open = self.day as usize & mask;
        let words = self.occupied.len();
        let mut w = open >> 6;
        let mut bits = self.occupied[w] & (!0 << (open & 63));
        while bits == 0 {
            w = if w + 1 == words { 0 } else { w + 1 };
            bits = self.occupied[w];
        }
        let d = (w << 6) + bits.trailing_zeros() as usize;
        (d, self.day + (d.wrapping_sub(open) & mask) as i64)
    }

    /// Opens the next day, unless it begins after `bound`, and gives its first event.
    #[inline(never)]
    fn open(&mut self, bound: Event) -> Option<Event> {
        if self.opened == 1 << 10 {
            self.adapt();
            if self.chained == 0 {
                return None;
            }
        }
        let (d, day) = self.next_occupied();
        if day << self.shift > bound.at.0 {
            return None;
        }
        self.day = day;
        self.today.clear();
        self.next = 0;
        self.occupied[d >> 6] &= !(1 << (d & 63));
        let mut id = core::mem::replace(&mut self.days[d], NONE);
        let begin = day << self.shift;
        while let Some(node) = self.nodes.get_mut(id as usize) {
            self.today.push(node.event(begin));
            let next = core::mem::replace(&mut node.next, self.free);
            self.free = id;
            id = next;
        }
        self.chained -= self.today.len();
        self.today.sort_unstable();
        self.opened += 1;
        self.found += self.today.len() as u32;
        self.today.first().copied()
    }

    /// Fits the days' length to the events found in them, and the ring to how far events lie ahead.
    #[cold]
    #[inline(never)]
    fn adapt(&mut self) {
        let events = self.found + self.inserted;
        let (mut shift, mut size) = (self.shift, self.days.len());
        if self.deferred > events / 8 {
            if size < LARGEST {
                size *= 2;
            } else {
                shift += 1;
            }
        } else if events > self.opened * WANTED * 2 || self.inserted > self.found {
            let factor = (events / (self.opened * WANTED)).max(2).ilog2();
            shift = shift.saturating_sub(factor).max(SHORTEST);
            size = (size << (self.shift - shift)).min(LARGEST);
        } else if events < self.opened * WANTED / 2 {
            shift += 1;
            size = (size / 2).max(SMALLEST);
        }
        if (shift, size) != (self.shift, self.days.len()) && shift <= LONGEST {
            self.rebuild(shift, size);
        }
        (self.opened, self.found, self.inserted, self.deferred) = (0, 0, 0, 0);
    }

    fn rebuild(&mut self, shift: u32, size: usize) {
        let mut events: Vec<Event> = core::mem::take(&mut self.far).into_iter().map(|r| r.0).collect();
        debug_assert_eq!(self.next, self.today.len(), "only between days");
        let mask = self.days.len() as i64 - 1;
        for day in self.day..=self.day + mask {
            let mut id = self.days[(day & mask) as usize];
            while let Some(node) = self.nodes.get(id as usize) {
                events.push(node.event(day << self.shift));
                id = node.next;
            }
        }
        // No event is left before the open day's begin.
        self.day = ((self.day << self.shift) >> shift) - 1;
        self.shift = shift;
        self.days.clear();
        self.days.resize(size, NONE);
        self.occupied.clear();
        self.occupied.resize(size / 64, 0);
        self.nodes.clear();
        self.free = NONE;
        self.today.clear();
        self.next = 0;
        self.far_first = NEVER;
        self.chained = 0;
        for e in events {
            self.push(e.at, e.key);
        }
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

    #[test]
    fn pops_like_a_heap_as_links_use_it() {
        // Each event brings the next of its link; some links wait long; a bound stops the loop now and then.
        let (mut calendar, mut heap) = (Calendar::default(), BinaryHeap::new());
        let mut x = 3u64;
        let mut draw = |below: i64| {
            x = timeplane_model::mix64(x.wrapping_add(0x9e37_79b9_7f4a_7c15));
            (x >> 20) as i64 % below
        };
        let push = |c: &mut Calendar, h: &mut BinaryHeap<_>, at: i64, link| {
            let event = Event { at: SimTime(at), key: Key::new(Phase::Arrive, link, 0) };
            c.push(event.at, event.key);
            h.push(Reverse(event));
        };
        for link in 0..300 {
            push(&mut calendar, &mut heap, draw(2_000_000), link);
        }
        for i in 0..300_000 {
            let Reverse(expected) = heap.pop().unwrap();
            if draw(8) == 0 {
                assert_eq!(calendar.peek(), Some(expected));
                assert_eq!(calendar.pop_before(expected), None);
            }
            assert_eq!(calendar.pop_before(END), Some(expected), "step {i}");
            let scale = [1, 100, 1, 10_000][i / 75_000];
            let ahead = if draw(50) == 0 { draw(1_000_000_000) } else { 1_000 + draw(12_000) * scale };
            push(&mut calendar, &mut heap, expected.at.0 + ahead, expected.key.element());
        }
    }
}
