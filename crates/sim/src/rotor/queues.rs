//! Queues of racks: one for each circuit of a cycle and class, at each uplink.
//!
//! A queue is a chain through the packets themselves, so it allocates nothing. A packet remembers
//! what it hands on to its next rack in its `ahead`, which has no other use here.

use crate::engine::time::SimTime;
use crate::network::packet::{LAST, Packets};
use crate::rotor::cycle::Cycle;

/// Classes of packets, those that go first first.
pub(crate) const CLASSES: usize = 3;
/// Queues for each circuit: those of the classes, and [`LATER`].
const QUEUES: usize = CLASSES + 1;
/// What has no payload, where switches trim.
pub(crate) const HEADERS: usize = 0;
/// All that is not bulk.
pub(crate) const DATA: usize = 1;
pub(crate) const BULK: usize = 2;
/// Bulk that comes while its circuit is open, and waits until it is again.
pub(crate) const LATER: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
    /// Wire bytes, and the number of packets.
    wire: u64,
    packets: u64,
}

const EMPTY: Queue = Queue { head: LAST, tail: LAST, wire: 0, packets: 0 };

/// The queues of all uplinks of all racks.
pub(crate) struct Queues {
    /// By rack, uplink, hold and class.
    queues: Vec<Queue>,
    /// By uplink, the place of its first queue in those of a rack; at last, their number.
    first: Vec<usize>,
    /// By rack and uplink, when an event serves it next.
    armed: Vec<SimTime>,
    /// By rack and uplink, the wire bytes that wait and the most that ever did.
    waits: Vec<(u64, u64)>,
    /// Packets that wait.
    pub packets: u64,
}

/// A queue of an uplink: its rack, uplink, hold and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueId {
    pub rack: u32,
    pub uplink: u32,
    pub hold: u32,
    pub class: usize,
}

impl Queues {
    /// Bytes that the queues of a cycle take.
    pub fn bytes(racks: u32, holds: &[u32]) -> u64 {
        let per_rack: u64 = holds.iter().map(|&h| u64::from(h)).sum();
        u64::from(racks) * per_rack * (QUEUES * size_of::<Queue>()) as u64
    }

    pub fn new(cycle: &Cycle) -> Self {
        let racks = cycle.schedule().racks() as usize;
        let mut first = vec![0];
        first.extend(cycle.holds().iter().scan(0, |sum, &holds| {
            *sum += holds as usize * QUEUES;
            Some(*sum)
        }));
        let per_rack = first[first.len() - 1];
        Self {
            queues: vec![EMPTY; racks * per_rack],
            armed: vec![SimTime::MAX; racks * cycle.holds().len()],
            waits: vec![(0, 0); racks * cycle.holds().len()],
            first,
            packets: 0,
        }
    }

    #[inline]
    fn place(&self, id: QueueId) -> usize {
        let per_rack = self.first[self.first.len() - 1];
        id.rack as usize * per_rack + self.first[id.uplink as usize] + id.hold as usize * QUEUES + id.class
    }

    #[inline]
    fn port(&self, rack: u32, uplink: u32) -> usize {
        rack as usize * (self.first.len() - 1) + uplink as usize
    }

    /// When an event serves an uplink next.
    #[inline]
    pub fn armed(&mut self, rack: u32, uplink: u32) -> &mut SimTime {
        let port = self.port(rack, uplink);
        &mut self.armed[port]
    }

    /// The most wire bytes that ever waited at an uplink.
    pub fn longest(&self, rack: u32, uplink: u32) -> u64 {
        self.waits[self.port(rack, uplink)].1
    }

    /// Wire bytes that go before a packet of this class, or with it.
    pub fn ahead_of(&self, id: QueueId) -> u64 {
        let last = self.place(id);
        self.queues[last - id.class..=last].iter().map(|queue| queue.wire).sum()
    }

    /// Packets of a queue.
    pub fn len(&self, id: QueueId) -> u64 {
        self.queues[self.place(id)].packets
    }

    /// Whether no packet waits for a circuit.
    #[inline]
    pub fn is_empty(&self, rack: u32, uplink: u32, hold: u32) -> bool {
        let place = self.place(QueueId { rack, uplink, hold, class: 0 });
        self.queues[place..place + CLASSES].iter().all(|q| q.head == LAST)
    }

    /// Adds a packet at the end of a queue.
    #[inline]
    pub fn push(&mut self, id: QueueId, packet: u32, wire: u32, packets: &mut Packets) {
        let place = self.place(id);
        let queue = &mut self.queues[place];
        packets.end(packet);
        if queue.head == LAST {
            queue.head = packet;
        } else {
            packets.append(queue.tail, packet);
        }
        queue.tail = packet;
        queue.wire += u64::from(wire);
        queue.packets += 1;
        self.packets += 1;
        let port = self.port(id.rack, id.uplink);
        let (waits, most) = &mut self.waits[port];
        *waits += u64::from(wire);
        *most = (*most).max(*waits);
    }

    /// The first packet of the first class that has one, with its class.
    #[inline]
    pub fn first(&self, rack: u32, uplink: u32, hold: u32) -> Option<(u32, QueueId)> {
        let first = self.place(QueueId { rack, uplink, hold, class: 0 });
        let class = self.queues[first..first + CLASSES].iter().position(|queue| queue.head != LAST)?;
        Some((self.queues[first + class].head, QueueId { rack, uplink, hold, class }))
    }

    /// Removes the first packet of a queue, of these wire bytes.
    #[inline]
    pub fn pop(&mut self, id: QueueId, wire: u32, packets: &Packets) {
        let place = self.place(id);
        let queue = &mut self.queues[place];
        queue.head = packets.next(queue.head);
        queue.wire -= u64::from(wire);
        queue.packets -= 1;
        self.packets -= 1;
        let port = self.port(id.rack, id.uplink);
        self.waits[port].0 -= u64::from(wire);
    }

    /// A circuit has ended: what came too late for it goes with the next one, behind other bulk.
    pub fn keep_later(&mut self, rack: u32, uplink: u32, hold: u32, packets: &mut Packets) {
        let [later, bulk] = [LATER, BULK].map(|class| self.place(QueueId { rack, uplink, hold, class }));
        let from = std::mem::replace(&mut self.queues[later], EMPTY);
        if from.head == LAST {
            return;
        }
        let to = &mut self.queues[bulk];
        if to.head == LAST {
            to.head = from.head;
        } else {
            packets.append(to.tail, from.head);
        }
        to.tail = from.tail;
        to.wire += from.wire;
        to.packets += from.packets;
    }

    /// Removes all packets of a queue, first to last.
    pub fn drain(&mut self, id: QueueId, packets: &Packets) -> Vec<u32> {
        let place = self.place(id);
        let queue = std::mem::replace(&mut self.queues[place], EMPTY);
        self.packets -= queue.packets;
        let port = self.port(id.rack, id.uplink);
        self.waits[port].0 -= queue.wire;
        chain(queue, packets).collect()
    }

    /// The packets of a queue, first to last.
    pub fn chain<'a>(&self, id: QueueId, packets: &'a Packets) -> impl Iterator<Item = u32> + use<'a> {
        chain(self.queues[self.place(id)], packets)
    }

    /// All queues of an uplink.
    pub fn of(&self, rack: u32, uplink: u32) -> impl Iterator<Item = QueueId> + use<> {
        let holds = (self.first[uplink as usize + 1] - self.first[uplink as usize]) / QUEUES;
        (0..holds as u32).flat_map(move |hold| (0..QUEUES).map(move |class| QueueId { rack, uplink, hold, class }))
    }

    /// Packets and wire bytes that wait at an uplink.
    pub fn waiting(&self, rack: u32, uplink: u32) -> (u64, u64) {
        let queues = self.of(rack, uplink).map(|id| self.queues[self.place(id)]);
        queues.fold((0, 0), |sum, q| (sum.0 + q.packets, sum.1 + q.wire))
    }

    /// All packets that wait.
    pub fn packets<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = u32> + 'a {
        self.queues.iter().flat_map(|&queue| chain(queue, packets))
    }
}

fn chain(queue: Queue, packets: &Packets) -> impl Iterator<Item = u32> + '_ {
    let some = |id: u32| (id != LAST).then_some(id);
    std::iter::successors(some(queue.head), move |&id| some(packets.next(id)))
}
