//! Timeslot allocation for single packets: a greedy maximal matching of waiting pairs, with a path
//! for each.
//!
//! Each pair of the matching gets one packet per slot, as in Fastpass (Perry et al., SIGCOMM 2014).
//! Pairs are taken in the order of a [`SlotMetric`], or in an own one ([`SlotOrder`]). A pair is
//! matched if neither end is taken yet and the switches above both ends have unit links left. A
//! greedy maximal matching carries at least half as much as the best one.

mod queues;

use crate::OwnError;
use crate::paths::{ClosPaths, PathColoring};
use queues::{Bursts, Queues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::{Burst, Bytes, Class, ClosError, Duration, Fabric, HostId, Named, PathTag, Time};

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

/// What an own order of timeslots is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeslotParameters {
    /// From the start of a slot to the start of the next.
    pub slot: Duration,
    /// Wire bytes that fit into a slot.
    pub bytes: Bytes,
    /// Slots that are allocated together.
    pub batch: u32,
}

/// The known backlog of a pair in one class, as an own order sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The sending host.
    pub source: HostId,
    /// The receiving host.
    pub destination: HostId,
    /// Traffic class. Lower classes go first under any order.
    pub class: Class,
    /// When the first packet arrived.
    pub arrived: Time,
    /// When the first packet became first.
    pub first_since: Time,
    /// Wire bytes that are left of the first flow.
    pub flow_bytes: Bytes,
    /// Wire bytes of all flows.
    pub bytes: Bytes,
    /// Packets of all flows.
    pub packets: u64,
}

/// An own order in which pairs are matched.
pub trait SlotOrder: Send {
    /// Decides in which order the pairs `waiting` are matched in the slot that starts at `start`.
    /// `waiting` is sorted by source, destination and class. `keys`, which is empty, gets a number
    /// for each. Within a class the lowest goes first; a hash breaks ties.
    ///
    /// # Errors
    /// Fails if it has no order. The plan, and the run with it, then end.
    fn keys(&mut self, start: Time, waiting: &[Waiting], keys: &mut Vec<i64>) -> Result<(), OwnError>;
}

/// The order in which an allocator matches pairs.
pub enum Order {
    /// One of this crate.
    BuiltIn(SlotMetric),
    /// One of a program.
    Own(Box<dyn SlotOrder>),
}

impl From<SlotMetric> for Order {
    fn from(metric: SlotMetric) -> Self {
        Self::BuiltIn(metric)
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(metric) => metric.fmt(f),
            Self::Own(_) => f.write_str("Own"),
        }
    }
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

/// The backlog of every host, and the order of allocation.
#[derive(Debug)]
pub struct TimeslotAllocator {
    fill: SlotFill,
    /// Wire bytes that fit into a slot.
    slot_bytes: u64,
    paths: ClosPaths,
    queues: Queues,
    /// By host: 1 where it is taken as a source, and as a destination.
    taken: Vec<[u8; 2]>,
    /// By switch with hosts: packets that leave and enter it in the slot.
    crossing: Vec<[u32; 2]>,
    /// Numbers of the queues that send in the slot, and their pairs.
    chosen: Vec<u32>,
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
        order: impl Into<Order>,
        coloring: PathColoring,
        fill: SlotFill,
        slot_bytes: Bytes,
    ) -> Result<Self, ClosError> {
        let paths = ClosPaths::new(fabric, coloring)?;
        let hosts = fabric.hosts() as usize;
        Ok(Self {
            fill,
            slot_bytes: slot_bytes.get(),
            queues: Queues::new(hosts, order.into()),
            taken: vec![[0; 2]; hosts],
            crossing: vec![[0; 2]; paths.clos().edges()],
            chosen: Vec::new(),
            pairs: Vec::new(),
            tags: Vec::new(),
            paths,
        })
    }

    /// Replaces the backlog at `source` by what the source reported at `now`. A known queue keeps
    /// its turn.
    pub fn set(&mut self, source: HostId, now: Time, bursts: impl IntoIterator<Item = Burst>) {
        self.queues.set(source, now, bursts);
    }

    /// Removes the backlog of all pairs (source, destination) for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(HostId, HostId) -> bool) {
        self.queues.retain(keep);
    }

    /// Whether there is no backlog.
    pub fn is_empty(&self) -> bool {
        self.queues.sources() == 0
    }

    /// Allocates the slot that starts at `start`: a maximal matching with its paths.
    ///
    /// # Errors
    /// Fails if an own order does. Nothing is allocated then.
    pub fn allocate(&mut self, start: Time, out: &mut Vec<PacketSlot>) -> Result<(), OwnError> {
        self.taken.fill([0; 2]);
        self.chosen.clear();
        self.pairs.clear();
        self.crossing.fill([0; 2]);
        let clos = self.paths.clos();
        let capacity = clos.capacity();
        let mut left = self.queues.sources();
        self.queues.arrange(start)?;
        let mut begin = 0;
        'all: while begin < self.queues.pairs().len() {
            let mut free = self.free_from(begin);
            while free != 0 {
                let place = begin + free.trailing_zeros() as usize;
                free &= free - 1;
                let pair = self.queues.pairs()[place];
                let [s, d] = pair.map(|host| host as usize);
                // An earlier one of the block may have taken an end.
                if self.taken[s][0] | self.taken[d][1] != 0 {
                    continue;
                }
                let [from, to] = pair.map(|host| clos.edge(HostId(host)) as usize);
                let crosses = from != to;
                if crosses && (self.crossing[from][0] == capacity || self.crossing[to][1] == capacity) {
                    continue;
                }
                let Some(queue) = self.queues.end(place) else { continue };
                self.crossing[from][0] += u32::from(crosses);
                self.crossing[to][1] += u32::from(crosses);
                self.taken[s][0] = 1;
                self.taken[d][1] = 1;
                self.chosen.push(queue);
                self.pairs.push(pair.map(HostId).into());
                left -= 1;
                if left == 0 {
                    break 'all;
                }
            }
            begin += BLOCK;
        }
        self.paths.assign(&self.pairs, &mut self.tags);
        for ((&queue, &(source, destination)), &path) in self.chosen.iter().zip(&self.pairs).zip(&self.tags) {
            // The pair's next packet becomes first only after this slot, behind all that arrived by
            // then.
            let since = start + Duration::from_ps(1);
            let class = self.queues.class(queue);
            self.queues.take(queue, Some(since), |bursts| carry(bursts, self.slot_bytes, self.fill));
            out.push(PacketSlot { source, destination, class, path });
        }
        Ok(())
    }

    /// Bits of the turns of a block whose ends are both free. Which these are is as good as random
    /// near the start of the order, so no branch asks.
    #[inline]
    fn free_from(&self, begin: usize) -> u32 {
        let pairs = &self.queues.pairs()[begin..];
        let mut free = 0;
        for (bit, &[s, d]) in (0..BLOCK as u32).zip(pairs) {
            let taken = self.taken[s as usize][0] | self.taken[d as usize][1];
            free |= u32::from(taken ^ 1) << bit;
        }
        free
    }

    /// Subtracts what one slot carries from a queue because it is granted already; the queue keeps
    /// its turn.
    pub fn discount(&mut self, source: HostId, destination: HostId, class: Class) {
        if let Some(queue) = self.queues.find(source, destination, class) {
            self.queues.take(queue, None, |bursts| carry(bursts, self.slot_bytes, self.fill));
        }
    }
}

/// Turns that are looked at together.
const BLOCK: usize = 32;

/// Subtracts what one slot of `room` bytes carries.
fn carry(bursts: &mut Bursts, mut room: u64, fill: SlotFill) {
    let mut first = true;
    while let Some((_, packets, bytes)) = bursts.front_mut() {
        // Assumes equal packets within a burst; if they differ, the host's next report corrects it.
        let each = bytes.div_ceil(u64::from(*packets));
        let cut = fill == SlotFill::Fragments && each > room;
        if !first && !cut && each > room {
            break;
        }
        *bytes -= each.min(room).min(*bytes);
        *packets -= u32::from(!cut);
        room = room.saturating_sub(each);
        first = false;
        if *packets == 0 || *bytes == 0 {
            bursts.pop_front();
        }
        if room == 0 || fill == SlotFill::Packet {
            break;
        }
    }
}
