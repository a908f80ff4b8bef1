//! The queues that an allocator of timeslots knows of, and the order of their turns.
//!
//! A turn that is over, because its queue has another rank by now or is empty, stays in the order
//! until the next walk. New turns wait apart and are merged then. A slot walks through nearly the
//! whole order anyway, so this costs less than an ordered set, which moves each queue at once.

use super::SlotMetric;
use std::collections::VecDeque;
use timeplane_model::{Burst, Class, HostId, Time, mix64};

/// Packets of a queue, in the order in which they leave: arrival time, number of packets, bytes.
pub(super) type Bursts = VecDeque<(Time, u32, u64)>;

/// Rank of a queue among all: class first, then the metric. Ties are broken by a hash, so that no
/// host is permanently ahead of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub class: u8,
    metric: i64,
    tie: u64,
    pub source: u32,
    pub destination: u32,
}

/// A rank that a queue has or had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub rank: Rank,
    /// The number of the queue.
    pub queue: u32,
    /// It is over once the queue has another version.
    version: u32,
}

/// What a turn in the order comes to.
pub(super) enum Choice {
    /// The queue sends; its turn is over.
    Now,
    /// The same, and no other queue may send.
    NowAndEnd,
    /// The queue keeps its turn.
    Later,
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
    /// Its place in the order; `None` for a queue that is new, or not in use.
    rank: Option<Rank>,
}

/// All queues that are not empty, and their order.
#[derive(Debug)]
pub(super) struct Queues {
    metric: SlotMetric,
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
    /// Turns that are not in the order yet.
    fresh: Vec<Turn>,
    /// Kept to be used again.
    merged: Vec<Turn>,
}

impl Queues {
    pub fn new(hosts: usize, metric: SlotMetric) -> Self {
        Self {
            metric,
            of: vec![Vec::new(); hosts],
            queues: Vec::new(),
            versions: Vec::new(),
            free: Vec::new(),
            sources: 0,
            order: Vec::new(),
            fresh: Vec::new(),
            merged: Vec::new(),
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
            if queue.rank.is_none() {
                queue.first_since = now;
            }
            let (had, rank) = (queue.rank, self.rank(number));
            if had != Some(rank) {
                self.place(number, rank);
            }
            true
        });
        self.sources += usize::from(!of.is_empty());
        self.of[source.index()] = of;
        self.drop_over();
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

    /// Offers turns in the order of ranks, until no other queue may send.
    pub fn walk(&mut self, mut choose: impl FnMut(&Turn) -> Choice) {
        self.fresh.sort_unstable_by_key(|t| t.rank);
        self.merged.clear();
        let (mut order, mut fresh) = (self.order.iter().peekable(), self.fresh.iter().peekable());
        let mut ended = false;
        loop {
            let turn = match (order.peek(), fresh.peek()) {
                (Some(a), Some(b)) if b.rank < a.rank => fresh.next(),
                (None, _) => fresh.next(),
                _ => order.next(),
            };
            let Some(turn) = turn else { break };
            if self.versions[turn.queue as usize] != turn.version {
                continue;
            }
            if !ended {
                match choose(turn) {
                    Choice::Later => {}
                    Choice::Now => continue,
                    Choice::NowAndEnd => {
                        ended = true;
                        continue;
                    }
                }
            }
            self.merged.push(*turn);
        }
        self.fresh.clear();
        std::mem::swap(&mut self.order, &mut self.merged);
    }

    /// A new queue without packets.
    fn add(&mut self, source: u32, (destination, class): (u32, u8)) -> u32 {
        let (first_since, rank) = (Time::ZERO, None);
        if let Some(number) = self.free.pop() {
            let bursts = std::mem::take(&mut self.queues[number as usize].bursts);
            self.queues[number as usize] = Queue { source, destination, class, bursts, first_since, rank };
            return number;
        }
        self.queues.push(Queue { source, destination, class, bursts: Bursts::new(), first_since, rank });
        self.versions.push(0);
        self.versions.len() as u32 - 1
    }

    /// Frees the number of a queue.
    fn release(&mut self, number: u32) {
        let queue = &mut self.queues[number as usize];
        queue.bursts.clear();
        queue.rank = None;
        self.versions[number as usize] = self.versions[number as usize].wrapping_add(1);
        self.free.push(number);
    }

    /// The rank that a queue is due.
    fn rank(&self, number: u32) -> Rank {
        let queue = &self.queues[number as usize];
        let &(arrived, _, bytes) = queue.bursts.front().expect("a queue that is kept is not empty");
        let metric = match self.metric {
            SlotMetric::Ocf => arrived.as_ps(),
            SlotMetric::Srjf => bytes as i64,
            SlotMetric::Mmf => queue.first_since.as_ps(),
        };
        let &Queue { class, source, destination, .. } = queue;
        let pair = u64::from(source) << 32 | u64::from(destination);
        Rank { class, metric, tie: mix64(pair ^ mix64(metric as u64)), source, destination }
    }

    /// Gives a queue a turn in place of the one that it had.
    fn place(&mut self, number: u32, rank: Rank) {
        self.queues[number as usize].rank = Some(rank);
        let version = &mut self.versions[number as usize];
        *version = version.wrapping_add(1);
        self.fresh.push(Turn { rank, queue: number, version: *version });
    }

    /// Bounds the turns that are over where many reports come between two slots.
    fn drop_over(&mut self) {
        let kept = self.queues.len() - self.free.len();
        if self.fresh.len() > 64 + 4 * kept {
            self.walk(|_| Choice::Later);
        }
    }
}
