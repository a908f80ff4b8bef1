//! The rates of an interface's queues, as leaky buckets, and which of them may send next.
//!
//! A plan may give every queue a rate, and most queues are empty. Those with a backlog are
//! therefore in a heap, by the time from which they may send, and those that owe in the order in
//! which they have paid. All others are touched only when their rates change.

use crate::engine::time::SimTime;
use crate::hosts::nic::opening::take_path;
use crate::hosts::nic::{GateOpening, QueueId};
use crate::network::packet::Packet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use timeplane_model::{Bytes, Duration, Rate};

/// A queue, and whether its rate came by a signal.
type Key = (QueueId, bool);

/// The new rate of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateUpdate {
    /// Destination and class of its packets.
    pub queue: QueueId,
    /// Zero removes the rate.
    pub rate: Rate,
    /// No bit may leave at or after this.
    pub until: SimTime,
}

/// The rate of a queue, as a leaky bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub(super) queue: QueueId,
    by_signal: bool,
    /// Whether its queue has a backlog.
    filled: bool,
    /// Whether the heap has it at its time.
    listed: bool,
    /// Whether its queue is empty and its last packet not yet paid for. It still takes its share
    /// then.
    owes: bool,
    path: u16,
    rate: Rate,
    from: SimTime,
    pub(super) until: SimTime,
    /// No frame starts at or after this.
    closes: SimTime,
    /// When it allows the next packet.
    eligible: SimTime,
}

impl Bucket {
    /// The bucket of an opening with a rate.
    pub(super) fn of(opening: &GateOpening, rate: Rate) -> Self {
        let GateOpening { queue, from, until, closes, by_signal, path, eligible, .. } = *opening;
        let (filled, listed, owes) = (false, false, false);
        Self { queue, by_signal, filled, listed, owes, path, rate, from, until, closes, eligible }
    }

    /// The bucket of a rate that comes now, by the clock.
    pub(super) fn by_clock(now: SimTime, update: RateUpdate) -> Self {
        let RateUpdate { queue, rate, until } = update;
        Self {
            queue,
            by_signal: false,
            filled: false,
            listed: false,
            owes: false,
            path: 0,
            rate,
            from: now,
            until,
            closes: SimTime::MAX,
            eligible: now,
        }
    }

    /// Gives a packet the path of the opening that brought the rate.
    pub(super) fn route(&self, packet: &mut Packet) {
        take_path(self.path, packet);
    }

    fn key(&self) -> Key {
        (self.queue, self.by_signal)
    }

    fn is_over(&self, now: SimTime) -> bool {
        self.until <= now || self.closes <= now
    }

    /// Whether its queue has a backlog of a class that is not paused.
    fn may_send(&self, now: SimTime, paused: u8) -> bool {
        self.filled && paused & 1 << (self.queue.1 & 7) == 0 && !self.is_over(now)
    }

    /// Its debt, in bits times 10^12.
    pub(super) fn owed_bits(&self, now: SimTime) -> u128 {
        (self.eligible - now).as_ps().max(0) as u128 * u128::from(self.rate.as_bps())
    }

    /// This bucket in the place of an old one: what that still holds drains at the new rate. `None`
    /// if it has no rate.
    fn replaces(mut self, now: SimTime, old: Option<&Self>, has_backlog: impl Fn(QueueId) -> bool) -> Option<Self> {
        let Some(old) = old else {
            self.filled = self.rate > Rate::ZERO && has_backlog(self.queue);
            return (self.rate > Rate::ZERO).then_some(self);
        };
        (self.owes, self.filled) = (old.owes, old.filled);
        if old.eligible > now {
            // A rate of zero would never pay the debt, so it becomes 1 b/s.
            self.rate = self.rate.max(Rate::bps(1));
            let (owed, rate) = (old.owed_bits(now), self.rate.as_bps());
            // Dividing 64 bits is much faster.
            let wait = u64::try_from(owed).map_or_else(|_| owed.div_ceil(rate.into()), |o| o.div_ceil(rate).into());
            self.eligible = now + Duration::from_ps(i64::try_from(wait).unwrap_or(i64::MAX / 4));
        } else if self.rate == Rate::ZERO {
            return None;
        } else {
            // A packet that is overdue stays overdue by the bits that it could have sent, not by
            // more at a higher rate.
            let overdue = (now - old.eligible).as_ps().unsigned_abs();
            let (before, rate) = (old.rate.as_bps(), self.rate.as_bps());
            let since = if rate <= before { overdue } else { part(overdue, before, rate) };
            self.eligible = now - Duration::from_ps(since as i64);
        }
        Some(self)
    }
}

/// `whole * a / b`, rounded down, where a is less than b.
fn part(whole: u64, a: u64, b: u64) -> u64 {
    if let Some(product) = whole.checked_mul(a) {
        return product / b;
    }
    // Dividing 128 bits takes much longer than dividing 64 bits twice.
    let rest = (whole % b).checked_mul(a).map(|product| product / b);
    rest.map_or_else(|| (u128::from(whole) * u128::from(a) / u128::from(b)) as u64, |rest| whole / b * a + rest)
}

/// All rates of an interface.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// In the order of queues. A queue has at most one that a signal opened, and one other.
    all: Vec<Bucket>,
    /// The first time at which a bucket may send, and its place in `all`. All buckets of queues
    /// with a backlog are here until they are over. Entries that no longer hold leave late.
    ready: BinaryHeap<Reverse<(SimTime, u32)>>,
    /// Buckets that owe, in the order of the times when they have paid. They are few.
    owing: Vec<(SimTime, Key)>,
    /// Packets for which a bucket that comes too late keeps its credit, besides the one that it
    /// sends.
    pub kept: u32,
}

impl Buckets {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn find(&self, key: Key) -> Result<usize, usize> {
        self.all.binary_search_by_key(&key, Bucket::key)
    }

    fn get(&self, key: Key) -> Option<&Bucket> {
        self.find(key).ok().map(|i| &self.all[i])
    }

    /// Replaces a rate. What its bucket still holds drains at the new rate.
    pub fn pace(&mut self, now: SimTime, new: Bucket, has_backlog: impl Fn(QueueId) -> bool) {
        let key = new.key();
        let at = self.find(key);
        let old = at.ok().map(|i| self.all[i]);
        if let Some(old) = old.filter(|old| old.owes) {
            self.owes_no_more((old.eligible, key));
        }
        let replaced = new.replaces(now, old.as_ref(), has_backlog);
        match (at, replaced) {
            (Ok(i), Some(new)) => {
                self.all[i] = new;
                self.list(i);
            }
            (Err(i), Some(new)) => {
                self.all.insert(i, new);
                self.list_all();
            }
            (Ok(i), None) => {
                self.all.remove(i);
                self.list_all();
            }
            (Err(_), None) => {}
        }
        if let Some(new) = replaced.filter(|new| new.owes) {
            self.owes((new.eligible, key));
        }
    }

    /// A bucket owes until this time.
    fn owes(&mut self, debt: (SimTime, Key)) {
        if let Err(at) = self.owing.binary_search(&debt) {
            self.owing.insert(at, debt);
        }
    }

    fn owes_no_more(&mut self, debt: (SimTime, Key)) {
        if let Ok(at) = self.owing.binary_search(&debt) {
            self.owing.remove(at);
        }
    }

    /// Replaces the rates of many queues by the clock, in the order of queues. `spare` is a buffer.
    pub fn pace_all(
        &mut self,
        now: SimTime,
        mut updates: impl Iterator<Item = RateUpdate> + Clone,
        has_backlog: impl Fn(QueueId) -> bool,
        spare: &mut Vec<Bucket>,
    ) {
        // Mostly every queue keeps its place.
        let mut place = 0;
        loop {
            let these = updates.clone();
            let Some(update) = updates.next() else { break };
            let new = Bucket::by_clock(now, update);
            while self.all.get(place).is_some_and(|old| old.key() < new.key()) {
                place += 1;
            }
            let old = self.all.get_mut(place).filter(|old| old.key() == new.key());
            match (new.replaces(now, old.as_deref(), &has_backlog), old) {
                (Some(new), Some(old)) => *old = new,
                (None, None) => {}
                (Some(_), None) | (None, Some(_)) => {
                    self.insert_all(now, these, place, &has_backlog, spare);
                    break;
                }
            }
        }
        debug_assert!(self.all.is_sorted_by(|a, b| a.key() < b.key()), "rates come in the order of queues");
        self.list_all();
        let mut owing = std::mem::take(&mut self.owing);
        owing.retain_mut(|(at, key)| {
            let bucket = self.get(*key);
            *at = bucket.map_or(*at, |bucket| bucket.eligible);
            bucket.is_some()
        });
        owing.sort_unstable();
        self.owing = owing;
    }

    /// Replaces the rates of queues that come behind the first `kept` buckets.
    fn insert_all(
        &mut self,
        now: SimTime,
        updates: impl Iterator<Item = RateUpdate>,
        mut kept: usize,
        has_backlog: impl Fn(QueueId) -> bool,
        spare: &mut Vec<Bucket>,
    ) {
        spare.clear();
        spare.extend_from_slice(&self.all[..kept]);
        for update in updates {
            let new = Bucket::by_clock(now, update);
            let key = new.key();
            let begin = kept;
            while self.all.get(kept).is_some_and(|old| old.key() < key) {
                kept += 1;
            }
            spare.extend_from_slice(&self.all[begin..kept]);
            let old = self.all.get(kept).filter(|old| old.key() == key);
            kept += usize::from(old.is_some());
            spare.extend(new.replaces(now, old, &has_backlog));
        }
        spare.extend_from_slice(&self.all[kept..]);
        std::mem::swap(&mut self.all, spare);
    }

    /// Whether [`pace_all`](Self::pace_all) takes less time than `updates` calls of
    /// [`pace`](Self::pace).
    pub fn are_many(&self, updates: usize) -> bool {
        8 * updates >= self.all.len()
    }

    /// Puts a bucket with a backlog into the heap.
    fn list(&mut self, at: usize) {
        let bucket = &mut self.all[at];
        if !bucket.filled || std::mem::replace(&mut bucket.listed, true) {
            return;
        }
        self.ready.push(Reverse((bucket.eligible, at as u32)));
        if self.ready.len() > 2 * self.all.len() + 16 {
            self.list_all();
        }
    }

    /// Makes the heap anew.
    fn list_all(&mut self) {
        let mut ready = std::mem::take(&mut self.ready).into_vec();
        ready.clear();
        for (at, bucket) in (0..).zip(&mut self.all) {
            bucket.listed = bucket.filled;
            if bucket.filled {
                ready.push(Reverse((bucket.eligible, at)));
            }
        }
        self.ready = ready.into();
    }

    fn of_queue(&self, queue: QueueId) -> std::ops::Range<usize> {
        let first = self.all.partition_point(|b| b.queue < queue);
        first..first + self.all[first..].iter().take_while(|b| b.queue == queue).count()
    }

    /// A queue has a backlog now.
    pub fn fill(&mut self, queue: QueueId) {
        for at in self.of_queue(queue) {
            self.all[at].filled = true;
            self.list(at);
        }
    }

    /// A queue has no backlog any more.
    pub fn empty(&mut self, queue: QueueId) {
        let of = self.of_queue(queue);
        self.all[of].iter_mut().for_each(|bucket| bucket.filled = false);
    }

    /// Starts no more frames of a queue whose rate came by a signal, from `at` on.
    pub fn close(&mut self, at: SimTime, queue: QueueId) {
        if let Ok(i) = self.find((queue, true)) {
            let bucket = &mut self.all[i];
            if bucket.from <= at {
                bucket.closes = bucket.closes.min(at);
            }
        }
    }

    /// Buckets of empty queues that have paid by `now` owe nothing any more. Returns whether there
    /// were any.
    pub fn settle(&mut self, now: SimTime) -> bool {
        let mut any = false;
        let due = self.owing.iter().take_while(|(at, _)| *at <= now).count();
        for place in (0..due).rev() {
            let Ok(i) = self.find(self.owing[place].1) else { continue };
            if !self.all[i].filled && !self.all[i].is_over(now) {
                self.all[i].owes = false;
                self.owing.remove(place);
                any = true;
            }
        }
        any
    }

    /// The first time in the heap at which a bucket may send, and its place.
    fn first(&mut self, now: SimTime) -> Option<(SimTime, usize)> {
        loop {
            let &Reverse((time, at)) = self.ready.peek()?;
            let bucket = &mut self.all[at as usize];
            let is_here = bucket.eligible == time;
            if is_here && bucket.filled && !bucket.is_over(now) {
                return Some((time, at as usize));
            }
            bucket.listed &= !is_here;
            self.ready.pop();
        }
    }

    /// The first bucket that may send at one of these times, where a paused class is in the way or
    /// the first one of all cannot send.
    fn search(&self, now: SimTime, paused: u8, times: impl Fn(SimTime) -> bool) -> Option<(SimTime, usize)> {
        let all = self.ready.iter().map(|&Reverse((time, at))| (time, at as usize));
        let here = |(time, at): &(SimTime, usize)| self.all[*at].eligible == *time;
        all.filter(|(time, at)| times(*time) && self.all[*at].may_send(now, paused)).filter(here).min()
    }

    /// The bucket that has waited longest, if one of a class that is not paused may send now.
    pub fn next(&mut self, now: SimTime, paused: u8) -> Option<Bucket> {
        let (time, at) = self.first(now)?;
        if time > now {
            return None;
        }
        if self.all[at].may_send(now, paused) {
            return Some(self.all[at]);
        }
        self.search(now, paused, |time| time <= now).map(|(_, at)| self.all[at])
    }

    /// When the next bucket after `now` may send or has paid, at the latest `wait`.
    pub fn next_time(&mut self, now: SimTime, wait: SimTime, paused: u8) -> SimTime {
        let next = match self.first(now) {
            Some((time, at)) if time <= now || !self.all[at].may_send(now, paused) => {
                self.search(now, paused, |time| time > now)
            }
            first => first,
        };
        let mut later = self.owing.iter().skip_while(|(at, _)| *at <= now);
        let paid = later.find(|(_, key)| self.get(*key).is_some_and(|b| !b.filled && !b.is_over(now)));
        let earliest = |a: SimTime, b: Option<SimTime>| b.map_or(a, |b| a.min(b));
        earliest(earliest(wait, next.map(|next| next.0)), paid.map(|paid| paid.0))
    }

    /// A bucket pays for a packet of these bytes on the wire, which may be the `last` of its queue.
    pub fn sent(&mut self, now: SimTime, bucket: &Bucket, wire: Bytes, last: bool) {
        let key = bucket.key();
        // Mostly it is the first one.
        let first = self.ready.peek().map(|first| first.0.1 as usize);
        let found = first.filter(|&at| self.all[at].key() == key).or_else(|| self.find(key).ok());
        let Some(at) = found else { return };
        let bucket = &mut self.all[at];
        let owed = bucket.owes.then_some((bucket.eligible, key));
        // Where another packet was in the way, the bucket has drained meanwhile. It keeps the
        // credit for what it is late by, up to its depth.
        let line = bucket.rate.time_for(wire);
        let kept = Duration::from_ps(line.as_ps().saturating_mul(i64::from(self.kept)));
        let late = now - bucket.eligible;
        let since = if late < line + kept { bucket.eligible } else { now - kept };
        let before = std::mem::replace(&mut bucket.eligible, since + line);
        bucket.owes = last;
        bucket.listed &= before == bucket.eligible;
        let eligible = bucket.eligible;
        if let Some(debt) = owed {
            self.owes_no_more(debt);
        }
        if last {
            return self.owes((eligible, key));
        }
        match self.ready.peek_mut() {
            Some(mut first) if first.0 == (before, at as u32) => {
                first.0.0 = eligible;
                self.all[at].listed = true;
            }
            first => {
                drop(first);
                self.list(at);
            }
        }
    }

    /// Buckets that owe.
    pub fn owing(&self) -> impl Iterator<Item = &Bucket> {
        self.owing.iter().filter_map(|(_, key)| self.get(*key))
    }

    /// When the first bucket that owes has paid.
    pub fn next_drain(&self) -> Option<SimTime> {
        self.owing.first().map(|owed| owed.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The definition: all rates are searched for everything. The number is [`Buckets::kept`].
    #[derive(Default)]
    struct Simple(Vec<Bucket>, i64);

    impl Simple {
        fn pace(&mut self, now: SimTime, mut new: Bucket) {
            let at = self.0.binary_search_by_key(&new.key(), Bucket::key);
            if let Ok(i) = at {
                let old = &self.0[i];
                new.owes = old.owes;
                let owed = old.owed_bits(now);
                if owed > 0 {
                    new.rate = new.rate.max(Rate::bps(1));
                    let wait = owed.div_ceil(u128::from(new.rate.as_bps()));
                    new.eligible = now + Duration::from_ps(i64::try_from(wait).unwrap_or(i64::MAX / 4));
                } else if new.rate > Rate::ZERO {
                    let overdue = (now - old.eligible).as_ps() as u128;
                    let bits = overdue * u128::from(old.rate.as_bps());
                    let since = (bits / u128::from(new.rate.as_bps())).min(overdue);
                    new.eligible = now - Duration::from_ps(since as i64);
                }
            }
            match at {
                Ok(i) if new.rate == Rate::ZERO => drop(self.0.remove(i)),
                Ok(i) => self.0[i] = new,
                Err(_) if new.rate == Rate::ZERO => {}
                Err(i) => self.0.insert(i, new),
            }
        }

        fn close(&mut self, at: SimTime, queue: QueueId) {
            for bucket in self.0.iter_mut().filter(|b| b.by_signal && b.queue == queue && b.from <= at) {
                bucket.closes = bucket.closes.min(at);
            }
        }

        /// The bucket that sends next, when another one may send or has paid, and whether any has
        /// paid.
        fn next(
            &mut self,
            now: SimTime,
            mut wait: SimTime,
            paused: u8,
            has_backlog: impl Fn(QueueId) -> bool,
        ) -> (Option<usize>, SimTime, bool) {
            let mut best: Option<(SimTime, usize)> = None;
            let mut drained = false;
            for (i, bucket) in self.0.iter_mut().enumerate() {
                let waits = has_backlog(bucket.queue);
                if waits && paused & 1 << bucket.queue.1 != 0 || !waits && !bucket.owes || bucket.is_over(now) {
                    continue;
                }
                if bucket.eligible > now {
                    wait = wait.min(bucket.eligible);
                } else if !waits {
                    bucket.owes = false;
                    drained = true;
                } else if best.is_none_or(|b| bucket.eligible < b.0) {
                    best = Some((bucket.eligible, i));
                }
            }
            (best.map(|b| b.1), wait, drained)
        }

        fn sent(&mut self, now: SimTime, at: usize, wire: Bytes, last: bool) {
            let bucket = &mut self.0[at];
            let line = bucket.rate.time_for(wire);
            let late = now - bucket.eligible;
            let kept = if late < line * (self.1 + 1) { late } else { line * self.1 };
            bucket.eligible = now - kept + line;
            bucket.owes = last;
        }
    }

    proptest! {
        #[test]
        fn a_part_is_rounded_down_once(whole in any::<u64>(), a in any::<u64>(), b in 1..u64::MAX, shift in 0..64u32) {
            let (a, b) = ((a % b) >> shift, (b >> shift).max((a % b) >> shift).saturating_add(1));
            let expected = u128::from(whole) * u128::from(a) / u128::from(b);
            prop_assert_eq!(u128::from(part(whole, a, b)), expected);
        }
    }

    /// A bucket without what only the heap needs.
    fn plain(bucket: Bucket) -> Bucket {
        Bucket { filled: false, listed: false, ..bucket }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Pace { queue: QueueId, by_signal: bool, rate: Rate, until: i64 },
        PaceAll { at_once: bool, rates: Vec<(QueueId, Rate, i64)> },
        Fill(QueueId),
        Empty(QueueId),
        Pause(u8),
        Close(QueueId, i64),
        Serve { bytes: u64, last: bool, fits: bool },
    }

    fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
        let queue = || (0u32..6, 0u8..2);
        let rate =
            || prop_oneof![1 => Just(0u64), 4 => 1u64..4, 1 => Just(2_000_000)].prop_map(|r| Rate::bps(r * 500_000));
        let until = || prop_oneof![2 => 0i64..400, 3 => Just(1_000_000)];
        let step = prop_oneof![
            2 => (queue(), any::<bool>(), rate(), until())
                .prop_map(|(queue, by_signal, rate, until)| Step::Pace { queue, by_signal, rate, until }),
            2 => (any::<bool>(), prop::collection::vec((queue(), rate(), until()), 0..8)).prop_map(|(at_once, mut rates)| {
                rates.sort_by_key(|r| r.0);
                rates.dedup_by_key(|r| r.0);
                Step::PaceAll { at_once, rates }
            }),
            3 => queue().prop_map(Step::Fill),
            1 => queue().prop_map(Step::Empty),
            1 => (0u8..4).prop_map(Step::Pause),
            1 => (queue(), 0i64..300).prop_map(|(queue, after)| Step::Close(queue, after)),
            8 => (1u64..40, any::<bool>(), prop::bool::weighted(0.9))
                .prop_map(|(bytes, last, fits)| Step::Serve { bytes, last, fits }),
        ];
        prop::collection::vec((prop_oneof![1 => Just(0i64), 4 => 0i64..120], step), 0..80)
    }

    /// A bucket that others have delayed by some packets sends these at once, up to its depth.
    #[test]
    fn a_late_bucket_catches_up_within_its_depth() {
        let (wire, rate) = (Bytes::new(1000), Rate::mbps(8)); // a packet in 1 ms
        let packets = |n: i64| Duration::from_ms(n);
        for (depth, late, at_once) in [(1, 0, 1), (1, 3, 1), (2, 1, 2), (2, 5, 2), (4, 2, 3), (4, 9, 4)] {
            let mut buckets = Buckets { kept: depth - 1, ..Buckets::default() };
            let update = RateUpdate { queue: (0, 0), rate, until: SimTime::MAX };
            buckets.pace(SimTime::ZERO, Bucket::by_clock(SimTime::ZERO, update), |_| true);
            let now = SimTime::ZERO + packets(late);
            let mut sent = 0;
            while let Some(bucket) = buckets.next(now, 0) {
                buckets.sent(now, &bucket, wire, false);
                sent += 1;
            }
            assert_eq!(sent, at_once, "depth {depth}, {late} packets late");
            assert_eq!(buckets.next_time(now, SimTime::MAX, 0), now + packets(1), "then at the rate again");
        }
    }

    proptest! {
        /// Whatever happens, the same bucket sends next, and at the same time.
        #[test]
        fn the_next_bucket_is_that_of_a_search_of_all(steps in steps(), kept in 0u32..3) {
            let us = |n: i64| Duration::from_us(n);
            let (mut now, mut simple) = (SimTime::ZERO, Simple(Vec::new(), kept.into()));
            let mut buckets = Buckets { kept, ..Buckets::default() };
            let (mut queues, mut paused, mut spare) = (BTreeSet::new(), 0u8, Vec::new());
            for (wait, step) in steps {
                now = now + us(wait);
                match step {
                    Step::Pace { queue, by_signal, rate, until } => {
                        let update = RateUpdate { queue, rate, until: now + us(until) };
                        let new = Bucket { by_signal, ..Bucket::by_clock(now, update) };
                        simple.pace(now, new);
                        buckets.pace(now, new, |q| queues.contains(&q));
                    }
                    Step::PaceAll { at_once, rates } => {
                        let update = |(queue, rate, until)| RateUpdate { queue, rate, until: now + us(until) };
                        let updates: Vec<RateUpdate> = rates.into_iter().map(update).collect();
                        for update in &updates {
                            simple.pace(now, Bucket::by_clock(now, *update));
                            if !at_once {
                                buckets.pace(now, Bucket::by_clock(now, *update), |q| queues.contains(&q));
                            }
                        }
                        if at_once {
                            buckets.pace_all(now, updates.iter().copied(), |q| queues.contains(&q), &mut spare);
                        }
                    }
                    Step::Fill(queue) => {
                        if queues.insert(queue) {
                            buckets.fill(queue);
                        }
                    }
                    Step::Empty(queue) => {
                        if queues.remove(&queue) {
                            buckets.empty(queue);
                        }
                    }
                    Step::Pause(classes) => paused = classes,
                    Step::Close(queue, after) => {
                        simple.close(now + us(after), queue);
                        buckets.close(now + us(after), queue);
                    }
                    Step::Serve { bytes, last, fits } => {
                        let latest = now + us(5_000);
                        let (best, wait, drained) = simple.next(now, latest, paused, |q| queues.contains(&q));
                        prop_assert_eq!(buckets.settle(now), drained);
                        let next = buckets.next(now, paused);
                        prop_assert_eq!(next.map(plain), best.map(|i| simple.0[i]));
                        match (next, best) {
                            (Some(bucket), Some(i)) if fits => {
                                if last {
                                    queues.remove(&bucket.queue);
                                    buckets.empty(bucket.queue);
                                }
                                simple.sent(now, i, Bytes::new(bytes), last);
                                buckets.sent(now, &bucket, Bytes::new(bytes), last);
                            }
                            _ => prop_assert_eq!(buckets.next_time(now, latest, paused), wait),
                        }
                    }
                }
                let found: Vec<Bucket> = buckets.all.iter().map(|b| plain(*b)).collect();
                prop_assert_eq!(&found, &simple.0);
                prop_assert!(buckets.all.iter().all(|b| b.filled == queues.contains(&b.queue)));
                let owing: BTreeSet<_> = simple.0.iter().filter(|b| b.owes).map(|b| (b.eligible, b.key())).collect();
                let owing: Vec<_> = owing.into_iter().collect();
                prop_assert_eq!(&buckets.owing, &owing);
                prop_assert_eq!(buckets.next_drain(), owing.first().map(|o| o.0));
                prop_assert!(buckets.owing().all(|b| b.owes));
            }
        }
    }
}
