//! The queues that an allocator of timeslots knows of, and the order of their turns.
//!
//! A turn that is over, because its queue has another rank by now or is empty, stays in the order
//! until many are over. New turns wait apart and are merged before the next slot. A slot walks
//! through nearly the whole order anyway, so this costs less than an ordered set, which moves each
//! queue at once. The walk reads pairs alone; ranks stand apart.
//!
//! An own order is asked before each slot, and all turns are new then.

use super::{Order, SlotMetric, Waiting};
use crate::OwnError;
use std::collections::VecDeque;
use timeplane_model::{Burst, Bytes, Class, HostId, Time, mix64};

/// Packets of a queue, in the order in which they leave: arrival time, number of packets, bytes.
pub(super) type Bursts = VecDeque<(Time, u32, u64)>;

/// Rank of a queue among all: class first, then the metric. Ties are broken by a hash, so that no
/// host is permanently ahead of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// The class above the metric, so that one comparison mostly decides.
    first: u128,
    tie: u64,
    /// The source above the destination.
    pair: u64,
}

impl Rank {
    fn new(class: u8, metric: i64, source: u32, destination: u32) -> Self {
        let pair = u64::from(source) << 32 | u64::from(destination);
        // Negative metrics come first.
        let first = u128::from(class) << 64 | u128::from(metric as u64 ^ 1 << 63);
        Self { first, tie: mix64(pair ^ mix64(metric as u64)), pair }
    }

    fn metric(&self) -> i64 {
        (self.first as u64 ^ 1 << 63) as i64
    }
}

/// A queue's turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The number of the queue.
    queue: u32,
    /// It is over once the queue has another version.
    version: u32,
}

/// Known packets of one pair and class.
#[derive(Debug)]
struct Queue {
    source: u32,
    destination: u32,
    class: u8,
    bursts: Bursts,
    /// When the first packet became first.
    first_since: Time,
    /// The metric of its turn; `None` for a queue that is new, or not in use.
    metric: Option<i64>,
}

impl Queue {
    /// What an own order sees of a queue that is not empty.
    fn waiting(&self) -> Waiting {
        let &(arrived, _, flow) = self.bursts.front().expect("a queue that is kept is not empty");
        Waiting {
            source: HostId(self.source),
            destination: HostId(self.destination),
            class: Class(self.class),
            arrived,
            first_since: self.first_since,
            flow_bytes: Bytes::new(flow),
            bytes: Bytes::new(self.bursts.iter().map(|b| b.2).sum()),
            packets: self.bursts.iter().map(|b| u64::from(b.1)).sum(),
        }
    }
}

/// All queues that are not empty, and their order.
#[derive(Debug)]
pub(super) struct Queues {
    by: Order,
    /// By source, destination, class and number of its queues, in this order.
    of: Vec<Vec<(u32, u8, u32)>>,
    queues: Vec<Queue>,
    /// By queue. A version ends with the queue's rank.
    versions: Vec<u32>,
    /// Numbers that are not in use.
    free: Vec<u32>,
    /// Sources with a queue.
    sources: usize,
    /// Turns in the order of ranks.
    order: Vec<Turn>,
    /// In the same order, sources and destinations.
    pairs: Vec<[u32; 2]>,
    /// In the same order, ranks.
    ranks: Vec<Rank>,
    /// How many of them are over, at most.
    over: usize,
    /// Turns that are not in the order yet.
    fresh: Vec<(Rank, Turn)>,
    /// What an own order is asked for, and its answer.
    waiting: Vec<Waiting>,
    keys: Vec<i64>,
}

impl Queues {
    pub fn new(hosts: usize, by: Order) -> Self {
        Self {
            by,
            of: vec![Vec::new(); hosts],
            queues: Vec::new(),
            versions: Vec::new(),
            free: Vec::new(),
            sources: 0,
            order: Vec::new(),
            pairs: Vec::new(),
            ranks: Vec::new(),
            over: 0,
            fresh: Vec::new(),
            waiting: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// How many sources have a queue.
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// The number of a queue that is not empty.
    pub fn find(&self, source: HostId, destination: HostId, class: Class) -> Option<u32> {
        let of = &self.of[source.index()];
        let at = of.binary_search_by_key(&(destination.0, class.0), |q| (q.0, q.1)).ok()?;
        Some(of[at].2)
    }

    /// Replaces the queues of a source. Known ones keep the time since which their first packet is
    /// first; for others it is `now`.
    pub fn set(&mut self, source: HostId, now: Time, bursts: impl IntoIterator<Item = Burst>) {
        let mut of = std::mem::take(&mut self.of[source.index()]);
        self.sources -= usize::from(!of.is_empty());
        of.iter().for_each(|q| self.queues[q.2 as usize].bursts.clear());
        // Reports mostly come in the order of queues.
        let mut last = 0;
        for b in bursts.into_iter().filter(|b| b.packets > 0) {
            let key = (b.destination.0, b.class.0);
            if of.get(last).is_none_or(|q| (q.0, q.1) != key) {
                last = of.binary_search_by_key(&key, |q| (q.0, q.1)).unwrap_or_else(|at| {
                    of.insert(at, (key.0, key.1, self.add(source.0, key)));
                    at
                });
            }
            self.queues[of[last].2 as usize].bursts.push_back((b.arrived, b.packets, b.bytes.get()));
        }
        of.retain(|&(.., number)| {
            let queue = &mut self.queues[number as usize];
            if queue.bursts.is_empty() {
                self.release(number);
                return false;
            }
            if queue.metric.is_none() {
                queue.first_since = now;
            }
            let (had, rank) = (queue.metric, self.rank(number));
            if had != Some(rank.metric()) {
                self.place(number, rank);
            }
            true
        });
        self.sources += usize::from(!of.is_empty());
        self.of[source.index()] = of;
        self.bound_fresh();
    }

    /// Removes the queues of all pairs (source, destination) for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(HostId, HostId) -> bool) {
        for source in 0..self.of.len() {
            let mut of = std::mem::take(&mut self.of[source]);
            self.sources -= usize::from(!of.is_empty());
            of.retain(|&(destination, _, number)| {
                let keeps = keep(HostId(source as u32), HostId(destination));
                if !keeps {
                    self.release(number);
                }
                keeps
            });
            self.sources += usize::from(!of.is_empty());
            self.of[source] = of;
        }
    }

    /// Subtracts packets from a queue. What is left then is first since `since`, or as long as
    /// before.
    pub fn take(&mut self, number: u32, since: Option<Time>, subtract: impl FnOnce(&mut Bursts)) {
        let queue = &mut self.queues[number as usize];
        subtract(&mut queue.bursts);
        if !queue.bursts.is_empty() {
            queue.first_since = since.unwrap_or(queue.first_since);
            // Its turn may have been taken, even where the next one has the same rank.
            return self.place(number, self.rank(number));
        }
        let (source, key) = (queue.source as usize, (queue.destination, queue.class));
        let of = &mut self.of[source];
        if let Ok(at) = of.binary_search_by_key(&key, |q| (q.0, q.1)) {
            of.remove(at);
            self.sources -= usize::from(of.is_empty());
        }
        self.release(number);
    }

    /// Puts all turns in the order of their ranks, for the slot that starts at `start`.
    pub fn arrange(&mut self, start: Time) -> Result<(), OwnError> {
        self.ask(start)?;
        self.merge();
        Ok(())
    }

    /// Gives all queues new turns by an own order, if there is one.
    fn ask(&mut self, start: Time) -> Result<(), OwnError> {
        let Order::Own(order) = &mut self.by else { return Ok(()) };
        let Self { waiting, keys, of, queues, .. } = self;
        waiting.clear();
        keys.clear();
        let numbers = || of.iter().flatten().map(|&(.., number)| number);
        waiting.extend(numbers().map(|number| queues[number as usize].waiting()));
        order.keys(start, waiting, keys)?;
        if keys.len() != waiting.len() {
            return Err(OwnError::Failed(format!("{} keys for {} pairs", keys.len(), waiting.len())));
        }
        self.order.clear();
        self.pairs.clear();
        self.ranks.clear();
        self.fresh.clear();
        for (number, &key) in numbers().zip(&*keys) {
            let queue = &mut queues[number as usize];
            queue.metric = Some(key);
            let version = &mut self.versions[number as usize];
            *version = version.wrapping_add(1);
            let rank = Rank::new(queue.class, key, queue.source, queue.destination);
            self.fresh.push((rank, Turn { queue: number, version: *version }));
        }
        self.over = 0;
        Ok(())
    }

    /// Source and destination of each turn, in the order of ranks.
    #[inline]
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    /// Ends the turn at this place of the order, for its queue to send. `None` if it was over
    /// already.
    #[inline]
    pub fn end(&mut self, place: usize) -> Option<u32> {
        let Turn { queue, version } = self.order[place];
        let now = &mut self.versions[queue as usize];
        let is_on = *now == version;
        *now = now.wrapping_add(u32::from(is_on));
        is_on.then_some(queue)
    }

    /// The class of a queue.
    pub fn class(&self, number: u32) -> Class {
        Class(self.queues[number as usize].class)
    }

    /// Puts fresh turns into the order. They mostly belong near its end.
    fn merge(&mut self) {
        let Self { order, pairs, ranks, fresh, versions, .. } = self;
        fresh.retain(|(_, turn)| versions[turn.queue as usize] == turn.version);
        fresh.sort_unstable_by_key(|f| f.0);
        let (mut old, mut end) = (order.len(), order.len() + fresh.len());
        if let Some(&(rank, turn)) = fresh.last() {
            order.resize(end, turn);
            pairs.resize(end, [0; 2]);
            ranks.resize(end, rank);
        }
        while let Some(&(rank, turn)) = fresh.last() {
            end -= 1;
            if old > 0 && ranks[old - 1] > rank {
                old -= 1;
                (order[end], pairs[end], ranks[end]) = (order[old], pairs[old], ranks[old]);
            } else {
                (order[end], pairs[end], ranks[end]) = (turn, [(rank.pair >> 32) as u32, rank.pair as u32], rank);
                fresh.pop();
            }
        }
        if self.over > 64 + self.order.len() / 4 {
            self.drop_over();
        }
    }

    /// Removes the turns that are over.
    fn drop_over(&mut self) {
        let mut kept = 0;
        for place in 0..self.order.len() {
            let turn = self.order[place];
            if self.versions[turn.queue as usize] == turn.version {
                (self.order[kept], self.pairs[kept], self.ranks[kept]) = (turn, self.pairs[place], self.ranks[place]);
                kept += 1;
            }
        }
        self.order.truncate(kept);
        self.pairs.truncate(kept);
        self.ranks.truncate(kept);
        self.over = 0;
    }

    /// A new queue without packets.
    fn add(&mut self, source: u32, (destination, class): (u32, u8)) -> u32 {
        let (first_since, metric) = (Time::ZERO, None);
        if let Some(number) = self.free.pop() {
            let bursts = std::mem::take(&mut self.queues[number as usize].bursts);
            self.queues[number as usize] = Queue { source, destination, class, bursts, first_since, metric };
            return number;
        }
        self.queues.push(Queue { source, destination, class, bursts: Bursts::new(), first_since, metric });
        self.versions.push(0);
        self.versions.len() as u32 - 1
    }

    /// Frees the number of a queue.
    fn release(&mut self, number: u32) {
        let queue = &mut self.queues[number as usize];
        queue.bursts.clear();
        self.over += usize::from(queue.metric.take().is_some());
        self.versions[number as usize] = self.versions[number as usize].wrapping_add(1);
        self.free.push(number);
    }

    /// The rank that a queue is due.
    fn rank(&self, number: u32) -> Rank {
        let queue = &self.queues[number as usize];
        let &(arrived, _, bytes) = queue.bursts.front().expect("a queue that is kept is not empty");
        let metric = match self.by {
            Order::BuiltIn(SlotMetric::Ocf) => arrived.as_ps(),
            Order::BuiltIn(SlotMetric::Srjf) => bytes as i64,
            Order::BuiltIn(SlotMetric::Mmf) => queue.first_since.as_ps(),
            // The order decides before the next slot.
            Order::Own(_) => 0,
        };
        let &Queue { class, source, destination, .. } = queue;
        Rank::new(class, metric, source, destination)
    }

    /// Gives a queue a turn in place of the one that it had.
    fn place(&mut self, number: u32, rank: Rank) {
        let had = self.queues[number as usize].metric.replace(rank.metric());
        self.over += usize::from(had.is_some());
        let version = &mut self.versions[number as usize];
        *version = version.wrapping_add(1);
        self.fresh.push((rank, Turn { queue: number, version: *version }));
    }

    /// Bounds the fresh turns that are over where many reports come between two slots.
    fn bound_fresh(&mut self) {
        let kept = self.queues.len() - self.free.len();
        if self.fresh.len() > 64 + 4 * kept {
            self.merge();
        }
    }
}
