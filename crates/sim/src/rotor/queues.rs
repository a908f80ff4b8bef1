//! Queues of racks: one for each circuit of a cycle and class, at each uplink.
//!
//! A queue is a chain through the packets themselves, so it allocates nothing. A packet remembers
//! what it hands on to its next rack in its `ahead`, which has no other use here.

use crate::engine::time::SimTime;
use crate::network::packet::{LAST, Packets};
use crate::rotor::cycle::Cycle;
use timeplane_transport::ndp::HEADERS_PER_DATA;

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

#[derive(Clone, Copy, Debug)]
struct Port {
    /// When an event serves it next.
    armed: SimTime,
    /// Wire bytes that wait, and the most that ever did.
    waits: u64,
    longest: u64,
    /// Headers that left since the last packet of data, while data waited.
    in_row: u32,
}

/// The queues of all uplinks of all racks.
pub(crate) struct Queues {
    /// By rack, uplink, hold and class.
    queues: Vec<Queue>,
    /// By uplink, the place of its first queue in those of a rack; at last, their number.
    first: Vec<usize>,
    /// By rack and uplink.
    ports: Vec<Port>,
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
            ports: vec![Port { armed: SimTime::MAX, waits: 0, longest: 0, in_row: 0 }; racks * cycle.holds().len()],
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
        &mut self.ports[port].armed
    }

    /// The most wire bytes that ever waited at an uplink.
    pub fn longest(&self, rack: u32, uplink: u32) -> u64 {
        self.ports[self.port(rack, uplink)].longest
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
        self.wait(id, i64::from(wire));
    }

    /// Counts wire bytes that begin to wait at an uplink, or that no longer do.
    #[inline]
    fn wait(&mut self, id: QueueId, wire: i64) {
        let port = self.port(id.rack, id.uplink);
        let port = &mut self.ports[port];
        port.waits = port.waits.checked_add_signed(wire).expect("the bytes that wait");
        port.longest = port.longest.max(port.waits);
    }

    /// The last packet of a queue that has one.
    pub fn last(&self, id: QueueId) -> u32 {
        self.queues[self.place(id)].tail
    }

    /// Puts a packet in the place of the last one of a queue. Bytes on the wire are those of the
    /// new one and of the last one.
    pub fn replace_last(&mut self, id: QueueId, packet: u32, wire: [u32; 2], packets: &mut Packets) {
        let place = self.place(id);
        let queue = self.queues[place];
        packets.end(packet);
        let before = chain(queue, packets).find(|&before| packets.next(before) == queue.tail);
        match before {
            Some(before) => packets.append(before, packet),
            None => self.queues[place].head = packet,
        }
        let more = i64::from(wire[0]) - i64::from(wire[1]);
        let new = &mut self.queues[place];
        new.tail = packet;
        new.wire = new.wire.checked_add_signed(more).expect("the bytes of the queue");
        self.wait(id, more);
    }

    /// The packet that leaves next, with its queue: the first one of the first class that has one.
    /// While headers and data wait, [`HEADERS_PER_DATA`] headers leave for each packet of data.
    #[inline]
    pub fn first(&self, rack: u32, uplink: u32, hold: u32) -> Option<(u32, QueueId)> {
        let first = self.place(QueueId { rack, uplink, hold, class: 0 });
        let heads = |class: usize| self.queues[first + class].head;
        let is_turn_of_data = || self.ports[self.port(rack, uplink)].in_row >= HEADERS_PER_DATA;
        let class = if heads(DATA) != LAST && (heads(HEADERS) == LAST || is_turn_of_data()) {
            DATA
        } else {
            (0..CLASSES).find(|&class| heads(class) != LAST)?
        };
        Some((heads(class), QueueId { rack, uplink, hold, class }))
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
        self.wait(id, -i64::from(wire));
        let data_waits = id.class == HEADERS && self.queues[place + DATA - HEADERS].head != LAST;
        let port = self.port(id.rack, id.uplink);
        let in_row = &mut self.ports[port].in_row;
        *in_row = if data_waits { *in_row + 1 } else { 0 };
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
        self.wait(id, -(queue.wire as i64));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::packet::{NO_OPTIONS, Packet};

    const DATA_QUEUE: QueueId = QueueId { rack: 0, uplink: 0, hold: 0, class: DATA };
    const HEADER_QUEUE: QueueId = QueueId { class: HEADERS, ..DATA_QUEUE };

    /// The queues of one circuit.
    fn queues() -> Queues {
        let port = Port { armed: SimTime::MAX, waits: 0, longest: 0, in_row: 0 };
        Queues { queues: vec![EMPTY; QUEUES], first: vec![0, QUEUES], ports: vec![port], packets: 0 }
    }

    fn packet(packets: &mut Packets, bytes: u32) -> u32 {
        let (options, ahead) = (NO_OPTIONS, [LAST; 4]);
        packets.insert(Packet { flow: 0, destination: 0, hash: 0, bytes, seq: 0, options, path: 0, flags: 0, ahead })
    }

    #[test]
    fn ten_headers_leave_for_each_packet_of_data() {
        let (mut queues, mut packets) = (queues(), Packets::default());
        for (id, bytes, count) in [(DATA_QUEUE, 1_500, 3), (HEADER_QUEUE, 64, 25)] {
            (0..count).for_each(|_| queues.push(id, packet(&mut packets, bytes), bytes, &mut packets));
        }
        let mut order = Vec::new();
        while let Some((first, id)) = queues.first(0, 0, 0) {
            queues.pop(id, packets.get(first).bytes, &packets);
            order.push(id.class);
        }
        let data: Vec<usize> = (0..order.len()).filter(|&i| order[i] == DATA).collect();
        assert_eq!((order.len(), data), (28, vec![10, 21, 27]));
        assert_eq!((queues.packets, queues.waiting(0, 0)), (0, (0, 0)));
    }

    #[test]
    fn a_packet_takes_the_place_of_the_last_one() {
        for before in 0..3 {
            let (mut queues, mut packets) = (queues(), Packets::default());
            let mut ids: Vec<u32> = (0..=before).map(|_| packet(&mut packets, 1_500)).collect();
            ids.iter().for_each(|&id| queues.push(DATA_QUEUE, id, 1_500, &mut packets));
            let new = packet(&mut packets, 700);
            assert_eq!(queues.last(DATA_QUEUE), ids[before]);
            queues.replace_last(DATA_QUEUE, new, [700, 1_500], &mut packets);
            ids[before] = new;
            assert_eq!(queues.chain(DATA_QUEUE, &packets).collect::<Vec<_>>(), ids);
            assert_eq!(queues.waiting(0, 0), (before as u64 + 1, 700 + 1_500 * before as u64));
            assert_eq!(queues.longest(0, 0), 1_500 * (before as u64 + 1));
        }
    }
}
