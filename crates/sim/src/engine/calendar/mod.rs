//! Pending events in a calendar queue that adapts the length of its days (Brown, CACM 31(10),
//! 1988).
//!
//! The calendar is a ring of days. A day holds unordered events in one cache line, or in several,
//! and is sorted as a whole when it opens. A bitmap finds the next day with events. Events beyond
//! the ring wait in a heap. While days are shorter than the shortest hop, hardly any event falls
//! into the open day. The length of days follows the number of events found in them, and never
//! changes the order of events.
//!
//! Most events are arrivals over links. Such an event is a link and a time, in eight bytes. The
//! calendar does not know what other events mean.
//!
//! Where hosts act in step, as under a plan, many events of a phase happen at one instant, and they
//! are mostly pushed in order. They form a run: only its first event has an entry, and the others
//! are a list behind it, so that nothing sorts them.

#[cfg(test)]
mod tests;

use crate::engine::event::{Event, EventKind, Key, Phase};
use crate::engine::time::SimTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No block, or no place.
const NONE: u32 = u32::MAX;

/// Events of a block.
const ROOM: usize = 7;
/// Marks an entry that is not an arrival; the other bits are its place in `others`.
const OTHER: u32 = 1 << 31;
/// An entry after all others.
const NOTHING: u64 = u64::MAX;

/// Up to seven events of a day in one cache line, and a link to the others.
///
/// An entry is one number to compare. Its upper half is the lower half of the time, in which no day
/// has a carry. Its lower half is a link, or [`OTHER`] and a place; these come after all links, as
/// their phases do. Unused entries are [`NOTHING`].
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Block {
    entries: [u64; ROOM],
    count: u32,
    /// The block with the rest of a crowded day, or `NONE`.
    more: u32,
}

impl Block {
    const EMPTY: Self = Self { entries: [NOTHING; ROOM], count: 0, more: NONE };
}

#[inline]
const fn entry(at: SimTime, what: u32) -> u64 {
    (at.0 as u64) << 32 | what as u64
}

/// An event that is not an arrival.
#[derive(Clone, Copy)]
struct Other {
    key: Key,
    /// The place of the next event of its run, or `NONE`.
    after: u32,
}

/// The last event of a run that further events may join.
#[derive(Clone, Copy)]
struct Tail {
    at: SimTime,
    /// Its place in `others`, or `NONE`.
    place: u32,
}

/// Runs that may grow at the same time. They are found by phase and time; where two share a place,
/// the older one grows no further.
const TAILS: usize = 8;

#[inline]
fn key(others: &[Other], what: u32) -> Key {
    if what & OTHER == 0 { EventKind::Arrival { link: what }.key() } else { others[(what & !OTHER) as usize].key }
}

/// The place in `tails` of the run of a phase at an instant.
#[inline]
const fn tail_of(at: SimTime, phase: Phase) -> usize {
    let hash = (at.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
    hash as usize | (phase as usize & 1) << 2
}

/// The time of an entry of the day that starts at `begin`.
#[inline]
const fn time(begin: i64, entry: u64) -> SimTime {
    SimTime(begin >> 32 << 32 | (entry >> 32) as i64)
}

/// The number of events that a day should hold: enough to share the cost of opening it, and hardly
/// ever more than a block.
const WANTED: u32 = 3;
/// No day is longer than `2^LONGEST` ps, so that 32 bits distinguish the times within it.
const LONGEST: u32 = 32;
/// No day is shorter than `2^SHORTEST` ps.
const SHORTEST: u32 = 8;
const SMALLEST: usize = 64;
const LARGEST: usize = 1 << 15;
/// Up to this many events left today, a new event is put among them; otherwise into the heap.
const FEW: usize = 48;

/// The queue of pending events.
pub struct Calendar {
    days: Vec<Block>,
    /// One bit for each day that has events.
    occupied: Vec<u64>,
    /// Further blocks of crowded days, and the first free one.
    blocks: Vec<Block>,
    free_block: u32,
    /// Events that are not arrivals, and free places among them.
    others: Vec<Other>,
    free_others: Vec<u32>,
    tails: [Tail; TAILS],
    /// The entries of the open day in order, taken up to `next`; `NOTHING` at `end`.
    today: Vec<u64>,
    next: usize,
    end: usize,
    /// The end of the entries of the first instant, which are in the order of their events too.
    /// Invalid unless beyond `next`.
    sorted: usize,
    /// The start of the open day, in ps.
    begin: i64,
    /// A day lasts `2^shift` ps.
    shift: u32,
    /// The open day, counted from time zero. The ring holds later days only.
    day: i64,
    /// Events beyond the ring, and events that came into a crowded day while it was open.
    far: BinaryHeap<Reverse<Event>>,
    /// The first of them, or `Event::NEVER`.
    far_first: Event,
    /// What the days adapt to, since the last adaptation: days opened, events found in them, events
    /// put into an open day, events put into the heap.
    opened: u32,
    found: u32,
    inserted: u32,
    deferred: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            days: vec![Block::EMPTY; SMALLEST],
            occupied: vec![0; SMALLEST / 64],
            blocks: Vec::new(),
            free_block: NONE,
            others: Vec::new(),
            free_others: Vec::new(),
            tails: [Tail { at: SimTime::ZERO, place: NONE }; TAILS],
            today: vec![NOTHING; ROOM + 1],
            next: 0,
            end: 0,
            sorted: 0,
            begin: 0,
            shift: 18,
            day: -1,
            far: BinaryHeap::new(),
            far_first: Event::NEVER,
            opened: 0,
            found: 0,
            inserted: 0,
            deferred: 0,
        }
    }
}

impl Calendar {
    /// The number of pending events.
    pub fn len(&self) -> usize {
        let ahead =
            self.days.iter().flat_map(|&d| self.chain(d)).flat_map(|b| b.entries.into_iter().take(b.count as usize));
        let today = self.today[self.next..self.end].iter().copied();
        let runs: usize = ahead.chain(today).map(|e| self.run(e as u32).count()).sum();
        runs + self.far.len()
    }
    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.next == self.end && self.far.is_empty() && self.next_occupied().is_none()
    }

    /// Adds an event that is not before the last one taken.
    pub fn push(&mut self, at: SimTime, key: Key) {
        match key.phase() {
            Phase::Arrive => self.push_arrival(at, key.element()),
            // Entries cannot order events that come before arrivals.
            Phase::Retune => self.defer(Event { at, key }),
            phase => {
                let other = Other { key, after: NONE };
                let place = self.free_others.pop().unwrap_or(self.others.len() as u32);
                match self.others.get_mut(place as usize) {
                    Some(free) => *free = other,
                    None => self.others.push(other),
                }
                // Timers hardly ever coincide.
                if !matches!(phase, Phase::Open | Phase::Send) {
                    self.put(at, OTHER | place);
                    return;
                }
                let tail = &mut self.tails[tail_of(at, phase)];
                if tail.at == at
                    && let Some(last) = self.others.get_mut(tail.place as usize)
                    && last.key <= key
                {
                    last.after = place;
                    tail.place = place;
                } else {
                    let kept = self.put(at, OTHER | place);
                    self.tails[tail_of(at, phase)] = Tail { at, place: if kept { place } else { NONE } };
                }
            }
        }
    }

    /// Adds the arrival of a packet over a link, not before the last event taken.
    #[inline(always)]
    pub fn push_arrival(&mut self, at: SimTime, link: u32) {
        self.put(at, link);
    }

    /// Adds an entry. `false` if it waits in the heap, by its key alone.
    #[inline(always)]
    fn put(&mut self, at: SimTime, what: u32) -> bool {
        let day = at.0 >> self.shift;
        let mask = self.days.len() - 1;
        if ((day - self.day) as u64).wrapping_sub(1) >= mask as u64 {
            return self.put_beside(at, what);
        }
        let d = day as usize & mask;
        let entry = entry(at, what);
        self.occupied[d >> 6] |= 1 << (d & 63);
        let block = &mut self.days[d];
        if let Some(place) = block.entries.get_mut(block.count as usize) {
            *place = entry;
            block.count += 1;
        } else {
            self.put_crowded(d, entry);
        }
        true
    }

    /// Moves the full block of a day away and starts another one.
    #[inline(never)]
    fn put_crowded(&mut self, d: usize, entry: u64) {
        let full = self.days[d];
        let mut id = self.free_block;
        if let Some(block) = self.blocks.get_mut(id as usize) {
            self.free_block = block.more;
            *block = full;
        } else {
            id = self.blocks.len() as u32;
            self.blocks.push(full);
        }
        self.days[d] = Block { count: 1, more: id, ..Block::EMPTY };
        self.days[d].entries[0] = entry;
    }

    /// Adds an event of the open day, or beyond the ring. `false` if it waits in the heap.
    #[inline(never)]
    fn put_beside(&mut self, at: SimTime, what: u32) -> bool {
        let today = at.0 >> self.shift <= self.day;
        if today && self.end - self.next < FEW {
            let entry = entry(at, what);
            let place = self.place_today(entry);
            // Where all events happen at one instant, shorter days would not help.
            let alike = |p: usize| self.today.get(p).is_some_and(|e| e >> 32 == entry >> 32);
            self.inserted += u32::from(!alike(place) && !alike(place.wrapping_sub(1)));
            self.today.insert(place, entry);
            self.end += 1;
        } else {
            let key = self.take_key(what);
            self.defer(Event { at, key });
            // A longer ring would not help.
            self.deferred -= u32::from(today);
            return false;
        }
        true
    }

    /// The place of an entry among those of the open day.
    fn place_today(&mut self, entry: u64) -> usize {
        let in_order = |e: &u64| *e <= entry;
        let first = self.today[self.next];
        if self.next >= self.sorted || first >> 32 < entry >> 32 {
            let left = &self.today[self.next..self.end];
            return self.next + left.iter().position(|e| !in_order(e)).unwrap_or(left.len());
        }
        if first >> 32 > entry >> 32 {
            self.sorted = self.next;
            return self.next;
        }
        let event = self.event(self.begin, entry);
        let instant = &self.today[self.next..self.sorted];
        let place = self.next + instant.partition_point(|&e| self.event(self.begin, e) < event);
        self.sorted += 1;
        place
    }

    /// Removes an arrival that was added for this time. `false` if there is none.
    pub fn remove_arrival(&mut self, at: SimTime, link: u32) -> bool {
        let key = EventKind::Arrival { link }.key();
        let wanted = entry(at, link);
        let is_it = |begin: i64, e: u64| e == wanted && time(begin, e) == at;
        let left = &self.today[self.next..self.end];
        if let Some(place) = left.iter().position(|&e| is_it(self.begin, e)) {
            self.today.remove(self.next + place);
            self.today.push(NOTHING);
            self.end -= 1;
            self.sorted -= usize::from(self.next + place < self.sorted);
            return true;
        }
        let day = at.0 >> self.shift;
        let mask = self.days.len() - 1;
        let d = day as usize & mask;
        if ((day - self.day) as u64).wrapping_sub(1) < mask as u64 && self.remove_from_day(d, wanted) {
            return true;
        }
        let before = self.far.len();
        self.far.retain(|Reverse(e)| *e != Event { at, key });
        self.far_first = self.far.peek().map_or(Event::NEVER, |r| r.0);
        self.far.len() < before
    }

    /// Removes an entry from a day of the ring. The last entry of the day's first block takes its
    /// place.
    fn remove_from_day(&mut self, d: usize, wanted: u64) -> bool {
        let place = |b: &Block| b.entries[..b.count as usize].iter().position(|e| *e == wanted);
        let mut found = place(&self.days[d]).map(|p| (NONE, p));
        let mut more = self.days[d].more;
        while let (None, Some(block)) = (found, self.blocks.get(more as usize)) {
            found = place(block).map(|p| (more, p));
            more = block.more;
        }
        let Some((block, place)) = found else { return false };
        let first = &mut self.days[d];
        first.count -= 1;
        let last = core::mem::replace(&mut first.entries[first.count as usize], NOTHING);
        match self.blocks.get_mut(block as usize) {
            Some(block) => block.entries[place] = last,
            None if place < first.count as usize => first.entries[place] = last,
            None => {}
        }
        let first = self.days[d];
        if first.count == 0 {
            match self.blocks.get_mut(first.more as usize) {
                Some(next) => {
                    self.days[d] = *next;
                    next.more = self.free_block;
                    self.free_block = first.more;
                }
                None => {
                    self.days[d] = Block::EMPTY;
                    self.occupied[d >> 6] &= !(1 << (d & 63));
                }
            }
        }
        true
    }

    fn defer(&mut self, event: Event) {
        self.far_first = self.far_first.min(event);
        self.far.push(Reverse(event));
        self.deferred += 1;
    }

    /// The key of an entry that leaves the ring.
    #[inline]
    fn take_key(&mut self, what: u32) -> Key {
        if what & OTHER != 0 {
            self.free_others.push(what & !OTHER);
        }
        self.key(what)
    }

    #[inline]
    fn key(&self, what: u32) -> Key {
        key(&self.others, what)
    }

    #[inline]
    fn event(&self, begin: i64, entry: u64) -> Event {
        Event { at: time(begin, entry), key: self.key(entry as u32) }
    }

    /// Takes the first event if it comes before `bound`.
    pub fn pop_before(&mut self, bound: Event) -> Option<Event> {
        match self.pop_arrival(bound.at, |_| ()) {
            Some((at, link)) => Some(Event { at, key: Key::new(Phase::Arrive, link, 0) }),
            None => self.pop_other(bound),
        }
    }

    /// Takes the first event if it is an arrival, is first by its time alone, and comes before
    /// `bound`: when, and over which link. Calls `opened` where it opens a day for that.
    #[inline(always)]
    pub fn pop_arrival(&mut self, bound: SimTime, opened: impl FnOnce(&Self)) -> Option<(SimTime, u32)> {
        let mut entry = self.today[self.next];
        if entry == NOTHING {
            self.open(bound.min(self.far_first.at));
            opened(self);
            entry = self.today[self.next];
        }
        let at = time(self.begin, entry);
        // `NOTHING` has the bit too.
        let other = entry as u32 & OTHER != 0;
        if other || at >= bound || at >= self.far_first.at {
            return None;
        }
        self.next += 1;
        Some((at, entry as u32))
    }

    /// The links of the arrivals `days` days after the open one, as far as they are in the first
    /// block of that day.
    pub(crate) fn arrivals_in(&self, days: usize) -> impl Iterator<Item = u32> {
        let entries = if days == 0 {
            &self.today[self.next..self.end]
        } else {
            let block = &self.days[(self.day + days as i64) as usize & (self.days.len() - 1)];
            &block.entries[..block.count as usize]
        };
        entries.iter().map(|&e| e as u32).filter(|what| what & OTHER == 0)
    }

    /// Takes the first event if it comes before `bound`, where [`pop_arrival`](Self::pop_arrival)
    /// took none.
    #[inline(never)]
    pub fn pop_other(&mut self, bound: Event) -> Option<Event> {
        self.sort_first();
        let left = &self.today[self.next..self.end];
        let first = left.first().map_or(Event::NEVER, |&e| self.event(self.begin, e));
        if self.far_first < first {
            return self.pop_far(bound);
        }
        if first >= bound {
            return None;
        }
        self.take_first(first);
        Some(first)
    }

    /// Removes the first event of the open day. The next one of its run takes its place, among the
    /// sorted entries of the instant.
    #[inline]
    fn take_first(&mut self, event: Event) {
        let what = self.today[self.next] as u32;
        let Some(after) = self.others.get((what & !OTHER) as usize).filter(|_| what & OTHER != 0).map(|o| o.after)
        else {
            self.next += 1;
            return;
        };
        self.free_others.push(what & !OTHER);
        if after == NONE {
            self.next += 1;
            let tail = &mut self.tails[tail_of(event.at, event.key.phase())];
            if tail.place == what & !OTHER {
                tail.place = NONE;
            }
            return;
        }
        let (others, next) = (&self.others, key(&self.others, OTHER | after));
        let instant = &mut self.today[self.next..self.sorted];
        instant[0] = entry(event.at, OTHER | after);
        let before = instant[1..].iter().take_while(|&&e| key(others, e as u32) < next).count();
        instant[..=before].rotate_left(1);
    }

    /// The keys of the events that an entry stands for.
    fn run(&self, what: u32) -> impl Iterator<Item = Key> {
        let after = |&what: &u32| {
            let after = self.others.get((what & !OTHER) as usize).filter(|_| what & OTHER != 0)?.after;
            (after != NONE).then_some(OTHER | after)
        };
        std::iter::successors(Some(what), after).map(|what| self.key(what))
    }

    /// Puts the entries of the first instant into the order of their events. Until then, entries
    /// that are not arrivals are in the order of time only.
    fn sort_first(&mut self) {
        if self.next < self.sorted || self.next == self.end {
            return;
        }
        let time = self.today[self.next] >> 32;
        let count = self.today[self.next..self.end].iter().take_while(|&&e| e >> 32 == time).count();
        self.sorted = self.next + count;
        if count > 1 {
            let others = &self.others;
            self.today[self.next..self.sorted].sort_unstable_by_key(|&e| key(others, e as u32));
        }
    }

    fn first_today(&self) -> Option<Event> {
        let left = &self.today[self.next..self.end];
        let time = left.first()? >> 32;
        left.iter().take_while(|&&e| e >> 32 == time).map(|&e| self.event(self.begin, e)).min()
    }

    fn pop_far(&mut self, bound: Event) -> Option<Event> {
        if self.far_first >= bound {
            return None;
        }
        let Reverse(event) = self.far.pop()?;
        self.far_first = self.far.peek().map_or(Event::NEVER, |r| r.0);
        // The ring turns. The day of the event itself is not open yet.
        self.day = self.day.max((event.at.0 >> self.shift) - 1);
        Some(event)
    }

    /// The first event, which stays pending.
    pub fn peek(&self) -> Option<Event> {
        let mut first = self.far_first;
        if let Some(today) = self.first_today() {
            first = first.min(today);
        } else if let Some((d, day)) = self.next_occupied() {
            for block in self.chain(self.days[d]) {
                let entries = &block.entries[..block.count as usize];
                first = entries.iter().map(|&e| self.event(day << self.shift, e)).fold(first, Event::min);
            }
        }
        (first != Event::NEVER).then_some(first)
    }

    /// A block, and the blocks with the rest of its day.
    fn chain(&self, first: Block) -> impl Iterator<Item = Block> {
        std::iter::successors(Some(first), |b| self.blocks.get(b.more as usize).copied())
    }

    /// The next day with events: its place in the ring, and its number from time zero.
    #[inline]
    fn next_occupied(&self) -> Option<(usize, i64)> {
        let mask = self.days.len() - 1;
        let open = self.day as usize & mask;
        let words = self.occupied.len();
        let mut w = open >> 6;
        let mut bits = self.occupied[w] & (!0 << (open & 63));
        let mut looked = 0;
        while bits == 0 {
            if looked == words {
                return None;
            }
            looked += 1;
            w = if w + 1 == words { 0 } else { w + 1 };
            bits = self.occupied[w];
        }
        let d = (w << 6) + bits.trailing_zeros() as usize;
        Some((d, self.day + (d.wrapping_sub(open) & mask) as i64))
    }

    /// Opens the next day, unless it starts after `bound`.
    #[inline(never)]
    fn open(&mut self, bound: SimTime) {
        if self.opened == 1 << 10 {
            self.adapt();
        }
        let Some((d, day)) = self.next_occupied() else { return };
        if day << self.shift > bound.0 {
            return;
        }
        self.day = day;
        self.begin = day << self.shift;
        self.occupied[d >> 6] &= !(1 << (d & 63));
        let block = core::mem::replace(&mut self.days[d], Block::EMPTY);
        self.today.truncate(ROOM + 1);
        let today: &mut [u64; ROOM + 1] = self.today.first_chunk_mut().expect("never shorter");
        *today = in_order(&block.entries, block.count);
        self.next = 0;
        self.sorted = 0;
        self.end = block.count as usize;
        self.opened += 1;
        if block.more == NONE {
            self.found += block.count;
        } else {
            self.open_crowded(block.more);
        }
    }

    /// Adds the further blocks of a crowded day to the first one.
    #[inline(never)]
    fn open_crowded(&mut self, mut more: u32) {
        let first = self.end;
        self.today.truncate(self.end);
        while let Some(block) = self.blocks.get_mut(more as usize) {
            // Newer blocks come first, so this keeps the order of events backward.
            self.today.extend(block.entries[..block.count as usize].iter().rev());
            let next = core::mem::replace(&mut block.more, self.free_block);
            self.free_block = more;
            more = next;
        }
        self.end = self.today.len();
        // Events that come in order, as those of hosts that act in step, make long runs.
        self.today[..first].reverse();
        self.today.sort();
        // Events of one instant count once: no length of a day separates them.
        self.found += self.today.chunk_by(|a, b| a >> 32 == b >> 32).count() as u32;
        self.today.push(NOTHING);
    }

    /// Fits the length of days to the events found in them, and the ring to how far ahead events
    /// lie.
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
        debug_assert_eq!(self.next, self.end, "only between days");
        let mut events: Vec<Event> = core::mem::take(&mut self.far).into_iter().map(|r| r.0).collect();
        let mask = self.days.len() as i64 - 1;
        for day in self.day..=self.day + mask {
            for block in self.chain(self.days[(day & mask) as usize]) {
                let entries = &block.entries[..block.count as usize];
                for &entry in entries {
                    let at = time(day << self.shift, entry);
                    events.extend(self.run(entry as u32).map(|key| Event { at, key }));
                }
            }
        }
        *self = Self {
            days: vec![Block::EMPTY; size],
            occupied: vec![0; size / 64],
            // No event is left before the start of the open day.
            day: ((self.day << self.shift) >> shift) - 1,
            shift,
            ..Self::default()
        };
        for e in events {
            self.push(e.at, e.key);
        }
    }
}

/// The `count` entries of a block in order, and `NOTHING` behind them.
///
/// These are sorting networks (Knuth, The Art of Computer Programming 3, section 5.3.4), which
/// compare without branches.
#[inline]
fn in_order(entries: &[u64; ROOM], count: u32) -> [u64; ROOM + 1] {
    let [a, b, c, d, e, f, g] = *entries;
    let mut x = [a, b, c, d, e, f, g, NOTHING];
    let mut sort = |pairs: &[(usize, usize)]| {
        for &(i, j) in pairs {
            (x[i], x[j]) = (x[i].min(x[j]), x[i].max(x[j]));
        }
    };
    match count {
        0 | 1 => {}
        2 => sort(&[(0, 1)]),
        3 => sort(&[(0, 2), (0, 1), (1, 2)]),
        4 => sort(&[(0, 2), (1, 3), (0, 1), (2, 3), (1, 2)]),
        _ => sort(&[
            (0, 6),
            (2, 3),
            (4, 5),
            (0, 2),
            (1, 4),
            (3, 6),
            (0, 1),
            (2, 5),
            (3, 4),
            (1, 2),
            (4, 6),
            (2, 3),
            (4, 5),
            (1, 2),
            (3, 4),
            (5, 6),
        ]),
    }
    x
}
