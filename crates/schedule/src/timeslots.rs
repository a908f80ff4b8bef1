//! Timeslot allocation for single packets: a greedy maximal matching of waiting pairs, with a path
//! for each.
//!
//! Each pair of the matching gets one packet per slot, as in Fastpass (Perry et al., SIGCOMM 2014).
//! Pairs are taken in the order of a [`SlotMetric`]. A pair is matched if neither end is taken yet
//! and the switches above both ends have unit links left. A greedy maximal matching carries at
//! least half as much as the best one.

use crate::paths::{ClosPaths, PathColoring};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::{Burst, Bytes, Class, ClosError, Duration, Fabric, HostId, Named, PathTag, Time, mix64};

/// Order in which pairs are matched; within a pair the oldest packet always goes first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    VariantArray,
    IntoStaticStr,
    EnumMessage,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SlotMetric {
    /// Oldest cell first: the pair whose first packet has waited longest.
    #[schemars(extend(
        "x-source" = "SYN, German Sviridov et al., Globecom 2018",
        "x-departures" = "classes go first; a hash breaks ties"
    ))]
    Ocf,
    /// Shortest remaining job first: the pair whose first flow has the fewest bytes left.
    #[schemars(extend(
        "x-source" = "SYN, German Sviridov et al., Globecom 2018",
        "x-departures" = "classes go first; a hash breaks ties"
    ))]
    Srjf,
    /// Max-min fairness: the pair whose first packet has been first for longest.
    #[schemars(extend(
        "x-source" = "SYN, German Sviridov et al., Globecom 2018",
        "x-departures" = "classes go first; a hash breaks ties"
    ))]
    #[default]
    Mmf,
}

impl Named for SlotMetric {
    const KIND: &'static str = "order of timeslots";
}

/// What may fill a timeslot, which is as long as one frame of the largest size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotFill {
    /// One packet, however small.
    #[default]
    Packet,
    /// As many whole packets of the pair as fit.
    Packets,
    /// As many packets as fit, and a part of the next one.
    Fragments,
}

/// The right of one packet to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSlot {
    /// The sending host.
    pub source: HostId,
    /// The receiving host.
    pub destination: HostId,
    /// Traffic class of the queue that sends.
    pub class: Class,
    /// Path of the packet; `None` if there is only one.
    pub path: Option<PathTag>,
}

/// Rank of a pair among all: class first, then the metric. Ties are broken by a hash, so that no
/// host is permanently ahead of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    class: u8,
    metric: i64,
    tie: u64,
    source: u32,
    destination: u32,
}

/// Known packets of one queue.
#[derive(Debug, Default)]
struct Queue {
    /// Bursts in the order in which they leave: arrival time, number of packets, bytes.
    bursts: VecDeque<(Time, u32, u64)>,
    /// When the first packet became first.
    first_since: Time,
}

/// The backlog of every host, and the order of allocation.
#[derive(Debug)]
pub struct TimeslotAllocator {
    metric: SlotMetric,
    fill: SlotFill,
    /// Wire bytes that fit into a slot.
    slot_bytes: u64,
    paths: ClosPaths,
    /// By source, its queues that are not empty.
    queues: Vec<BTreeMap<(u32, u8), Queue>>,
    order: BTreeSet<Rank>,
    /// By host: the last slot in which it was taken as a source, and as a destination. Slot numbers
    /// make clearing unnecessary.
    taken: Vec<[u64; 2]>,
    /// By switch with hosts: packets that leave and enter it in the slot.
    crossing: Vec<[u32; 2]>,
    stamp: u64,
    chosen: Vec<Rank>,
    pairs: Vec<(HostId, HostId)>,
    tags: Vec<Option<PathTag>>,
}

impl TimeslotAllocator {
    /// Creates an allocator without backlog, for slots of `slot_bytes` on the wire.
    ///
    /// # Errors
    /// Fails if colors cannot tell the paths of the fabric apart, see [`ClosPaths::new`].
    pub fn new(
        fabric: &Fabric,
        metric: SlotMetric,
        coloring: PathColoring,
        fill: SlotFill,
        slot_bytes: Bytes,
    ) -> Result<Self, ClosError> {
        let paths = ClosPaths::new(fabric, coloring)?;
        let hosts = fabric.hosts() as usize;
        Ok(Self {
            metric,
            fill,
            slot_bytes: slot_bytes.get(),
            queues: (0..hosts).map(|_| BTreeMap::new()).collect(),
            order: BTreeSet::new(),
            taken: vec![[0; 2]; hosts],
            crossing: vec![[0; 2]; paths.clos().edges()],
            stamp: 0,
            chosen: Vec::new(),
            pairs: Vec::new(),
            tags: Vec::new(),
            paths,
        })
    }

    /// Replaces the backlog at `source` by what the source reported at `now`. A known queue keeps
    /// its turn.
    pub fn set(&mut self, source: HostId, now: Time, bursts: impl IntoIterator<Item = Burst>) {
        let mut old = std::mem::take(&mut self.queues[source.index()]);
        let mut new: BTreeMap<(u32, u8), Queue> = BTreeMap::new();
        for b in bursts.into_iter().filter(|b| b.packets > 0) {
            let queue = new.entry((b.destination.0, b.class.0)).or_default();
            queue.bursts.push_back((b.arrived, b.packets, b.bytes.get()));
        }
        for (&key, queue) in &mut new {
            let known = old.remove(&key);
            queue.first_since = known.as_ref().map_or(now, |k| k.first_since);
            let rank = self.rank(source.0, key, queue);
            if let Some(known) = known {
                let was = self.rank(source.0, key, &known);
                if was == rank {
                    continue;
                }
                self.order.remove(&was);
            }
            self.order.insert(rank);
        }
        for (key, gone) in old {
            let rank = self.rank(source.0, key, &gone);
            self.order.remove(&rank);
        }
        self.queues[source.index()] = new;
    }

    /// Removes the backlog of all pairs (source, destination) for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(HostId, HostId) -> bool) {
        for source in 0..self.queues.len() {
            let from = HostId(source as u32);
            let gone = self.queues[source].keys().copied().filter(|key| !keep(from, HostId(key.0)));
            for key in gone.collect::<Vec<_>>() {
                let Some(queue) = self.queues[source].remove(&key) else { continue };
                let rank = self.rank(from.0, key, &queue);
                self.order.remove(&rank);
            }
        }
    }

    /// Whether there is no backlog.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn rank(&self, source: u32, (destination, class): (u32, u8), queue: &Queue) -> Rank {
        let &(arrived, _, bytes) = queue.bursts.front().expect("a queue that is kept is not empty");
        let metric = match self.metric {
            SlotMetric::Ocf => arrived.as_ps(),
            SlotMetric::Srjf => bytes as i64,
            SlotMetric::Mmf => queue.first_since.as_ps(),
        };
        let pair = u64::from(source) << 32 | u64::from(destination);
        Rank { class, metric, tie: mix64(pair ^ mix64(metric as u64)), source, destination }
    }

    /// Allocates the slot that starts at `start`: a maximal matching with its paths.
    pub fn allocate(&mut self, start: Time, out: &mut Vec<PacketSlot>) {
        self.stamp += 1;
        self.chosen.clear();
        self.crossing.fill([0; 2]);
        let capacity = self.paths.clos().capacity();
        let mut left = self.queues.iter().filter(|q| !q.is_empty()).count();
        for rank in &self.order {
            let (s, d) = (rank.source as usize, rank.destination as usize);
            if self.taken[s][0] == self.stamp || self.taken[d][1] == self.stamp {
                continue;
            }
            let (from, to) =
                (self.paths.clos().edge(HostId(rank.source)), self.paths.clos().edge(HostId(rank.destination)));
            if from != to {
                if self.crossing[from as usize][0] == capacity || self.crossing[to as usize][1] == capacity {
                    continue;
                }
                self.crossing[from as usize][0] += 1;
                self.crossing[to as usize][1] += 1;
            }
            self.taken[s][0] = self.stamp;
            self.taken[d][1] = self.stamp;
            self.chosen.push(*rank);
            left -= 1;
            if left == 0 {
                break;
            }
        }
        self.pairs.clear();
        self.pairs.extend(self.chosen.iter().map(|r| (HostId(r.source), HostId(r.destination))));
        self.paths.assign(&self.pairs, &mut self.tags);
        for i in 0..self.chosen.len() {
            let rank = self.chosen[i];
            // The pair's next packet becomes first only after this slot, behind all that arrived by
            // then.
            self.take(&rank, start + Duration::from_ps(1));
            let (source, destination) = self.pairs[i];
            out.push(PacketSlot { source, destination, class: Class(rank.class), path: self.tags[i] });
        }
    }

    /// Subtracts what one slot carries from a queue because it is granted already; the queue keeps
    /// its turn.
    pub fn discount(&mut self, source: HostId, destination: HostId, class: Class) {
        let key = (destination.0, class.0);
        let Some(queue) = self.queues[source.index()].get(&key) else { return };
        let (rank, since) = (self.rank(source.0, key, queue), queue.first_since);
        self.take(&rank, since);
    }

    /// Subtracts what one slot carries from a queue, whose next packet is first since `since`.
    fn take(&mut self, rank: &Rank, since: Time) {
        self.order.remove(rank);
        let key = (rank.destination, rank.class);
        let mut queue = self.queues[rank.source as usize].remove(&key).expect("what is in the order waits");
        let mut room = self.slot_bytes;
        let mut first = true;
        while let Some((_, packets, bytes)) = queue.bursts.front_mut() {
            // Assumes equal packets within a burst; if they differ, the host's next report corrects
            // it.
            let each = bytes.div_ceil(u64::from(*packets));
            let cut = self.fill == SlotFill::Fragments && each > room;
            if !first && !cut && each > room {
                break;
            }
            *bytes -= each.min(room).min(*bytes);
            *packets -= u32::from(!cut);
            room = room.saturating_sub(each);
            first = false;
            if *packets == 0 || *bytes == 0 {
                queue.bursts.pop_front();
            }
            if room == 0 || self.fill == SlotFill::Packet {
                break;
            }
        }
        if queue.bursts.is_empty() {
            return;
        }
        queue.first_since = since;
        self.order.insert(self.rank(rank.source, key, &queue));
        self.queues[rank.source as usize].insert(key, queue);
    }
}
