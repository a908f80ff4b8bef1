//! A host's interface with a queue for each destination, behind gates.
//!
//! It is used where something decides which queue sends next: the gates of a plan, a round robin,
//! or bursts of segmentation offload. A plain interface is first come, first served, and its
//! packets go straight to the link. An interface does not know the network behind its link.
//!
//! Within a queue, flows send first come, first served, or take [turns](crate::hosts::turns) as
//! with `fq` of Linux. TCP then hands over a segment when its queue is served and it is the flow's
//! turn, so that no window waits here.

mod backlog;
mod buckets;
mod opening;
mod queue;

pub use buckets::{Bucket, RateUpdate};
use opening::take_path;
pub use opening::{GateOpening, Train};

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{BACKGROUND, Endpoints, Offer, Timers};
use crate::hosts::flow::FlowKey;
use crate::hosts::pauses::Held;
use crate::hosts::turns::Quanta;
use crate::network::link::LinkState;
use crate::network::packet::Packet;
use buckets::Buckets;
use queue::{Flows, Queue, take_turn};
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;
use timeplane_model::{Bytes, Rate};
use timeplane_scenario::{Discipline, Nic as NicSpec};

/// A queue of an interface: destination and class.
pub type QueueId = (u32, u8);

/// [`Nic::armed`] of an interface that may not send at all, so that it is never served.
pub(super) const STOPPED: SimTime = SimTime(i64::MIN);

/// A queued interface.
#[derive(Debug)]
pub struct Nic {
    spec: NicSpec,
    gated: bool,
    /// The turns of flows within a queue, where these do not send first come, first served.
    turns: Option<Quanta>,
    /// Whether flows of a queue that do not take turns send in the order of what they hold.
    shortest_first: bool,
    queues: BTreeMap<QueueId, Queue>,
    /// Queues in the order in which their first packet or flow came, where that decides. Entries
    /// that no longer hold are passed over.
    order: BinaryHeap<Reverse<(SimTime, QueueId)>>,
    openings: Vec<GateOpening>,
    /// Rates of queues that hold until they are replaced.
    rates: Buckets,
    /// The last train that has left or is leaving.
    train: Option<Train>,
    /// Classes that the network has paused, one bit each.
    paused: u8,
    /// Packets that may not start, by the host's own pauses. Nothing is held behind gates.
    pub held: Held,
    /// When an event serves it next; later pending events are stale.
    pub armed: SimTime,
    /// The queue of the current burst, and the remaining bytes of the burst.
    burst: Option<(QueueId, u64)>,
    /// The queue after which the round robin continues.
    last: QueueId,
    /// Whether, since this was last asked, an empty queue has paid for its last packet, or a queue
    /// has become empty without sending one.
    drained: bool,
    /// The rate that all queues of the class [`BACKGROUND`] share, outside of gates, and when they
    /// may send next.
    background: Option<(Rate, SimTime)>,
    /// The class that is left out of backlog reports, because it waits for no plan.
    unreported: Option<u8>,
    /// Wire bytes that were ever queued, by destination, where the controller asks for them.
    arrived: Option<BTreeMap<u32, u64>>,
}

/// What an interface did when it was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It sends a packet.
    Packet {
        /// It leaves now, by the path of its opening.
        packet: Packet,
        /// The flow that handed over its last byte with it.
        emptied: Option<FlowKey>,
        /// Whether its queue is now empty, and has no rate to pay for the packet with.
        last: bool,
    },
    /// Nothing may be sent before this time, unless a packet comes or a gate opens.
    Wait(SimTime),
    /// Nothing may be sent until a packet comes or a gate opens.
    Idle,
}

/// A packet that a queue hands over.
struct Taken {
    packet: Packet,
    /// The flow that handed over its last byte with it.
    emptied: Option<FlowKey>,
    /// Whether its queue is now empty.
    last: bool,
}

impl Nic {
    /// An empty interface. A gated one sends only while a gate is open. Flows of a queue send first
    /// come, first served, or take `turns`.
    pub fn new(spec: NicSpec, gated: bool, turns: Option<Quanta>) -> Self {
        Self {
            spec,
            gated,
            turns,
            shortest_first: false,
            queues: BTreeMap::new(),
            order: BinaryHeap::new(),
            openings: vec![],
            rates: Buckets::default(),
            train: None,
            paused: 0,
            held: Held::default(),
            armed: SimTime::MAX,
            burst: None,
            last: (u32::MAX, u8::MAX),
            drained: false,
            background: None,
            unreported: None,
            arrived: None,
        }
    }

    /// Sends flows of the class [`BACKGROUND`] without gates, at this rate.
    pub fn set_background(&mut self, rate: Rate) {
        self.background = Some((rate, SimTime::ZERO));
        self.unreported = Some(BACKGROUND);
    }

    /// Leaves the backlog of a class out of reports.
    pub fn leave_unreported(&mut self, class: u8) {
        self.unreported = Some(class);
    }

    /// Lets flows of a queue that hold their bytes send in the order of what they hold.
    pub fn shortest_first(&mut self) {
        self.shortest_first = true;
    }

    /// Gives the buckets of rates a depth of this many packets; at least 1.
    pub fn deepen(&mut self, packets: u32) {
        self.rates.kept = packets - 1;
    }

    /// Counts the bytes that arrive from now on.
    pub fn count_arrivals(&mut self) {
        self.arrived = Some(BTreeMap::new());
    }

    fn arrives(&mut self, destination: u32, wire: u64) {
        if let Some(arrived) = &mut self.arrived {
            *arrived.entry(destination).or_default() += wire;
        }
    }

    /// A packet joins its queue. Whether the queue was empty.
    pub fn push_packet(&mut self, now: SimTime, packet: Packet, link: &LinkState) -> bool {
        self.arrives(packet.destination, u64::from(link.wire(packet.bytes)));
        let queue = self.queue((packet.destination, packet.class()));
        queue.packets.push_back((now, packet));
        let alone = queue.len() == 1;
        self.list((packet.destination, packet.class()));
        alone
    }

    fn queue(&mut self, id: QueueId) -> &mut Queue {
        match self.queues.entry(id) {
            Entry::Occupied(queue) => queue.into_mut(),
            Entry::Vacant(place) => {
                self.rates.fill(id);
                place.insert(Queue::new(self.turns))
            }
        }
    }

    /// Puts a queue in its place of the order, where first come is first served.
    fn list(&mut self, id: QueueId) {
        if self.gated || self.discipline() != Discipline::Fifo {
            return;
        }
        let Some(queue) = self.queues.get_mut(&id) else { return };
        let since = queue.since();
        if since != queue.listed {
            queue.listed = since;
            self.order.extend(since.map(|since| Reverse((since, id))));
        }
    }

    fn discipline(&self) -> Discipline {
        self.spec.discipline.unwrap_or_default()
    }

    /// Removes an empty queue.
    fn drop_queue(&mut self, id: QueueId) {
        self.queues.remove(&id);
        self.rates.empty(id);
    }

    /// A flow holds bytes for a destination; nothing changes where it is queued already. Whether
    /// the queue was empty.
    pub fn push_flow(
        &mut self,
        now: SimTime,
        destination: u32,
        key: FlowKey,
        link: &LinkState,
        ends: &mut Endpoints,
    ) -> bool {
        let flow = ends.flows.get_mut(key);
        let class = flow.sender.class;
        if std::mem::replace(&mut flow.sender.queued, true) {
            return false;
        }
        let holds = |key| ends.unsent(key, link).1;
        self.arrives(destination, holds(key));
        let shortest_first = self.shortest_first;
        let queue = self.queue((destination, class));
        if shortest_first {
            queue.push_in_order(now, key, holds);
        } else {
            queue.push(now, key, class, None);
        }
        let alone = queue.len() == 1;
        self.list((destination, class));
        alone
    }

    /// A TCP flow that is not here asks for its turn. Whether the queue was empty.
    pub fn push_offer(&mut self, now: SimTime, offer: &Offer) -> bool {
        let queue = self.queue((offer.destination, offer.class));
        queue.push(now, offer.flow, offer.class, offer.credit);
        let alone = queue.len() == 1;
        self.list((offer.destination, offer.class));
        alone
    }

    /// Removes a flow from the queue of a destination. Whether the queue is empty now.
    pub fn withdraw(&mut self, destination: u32, key: FlowKey, ends: &mut Endpoints) -> bool {
        let id = (destination, ends.flows.get(key).sender.class);
        ends.unqueued(key);
        self.remove(id, key).1
    }

    /// Removes a flow from a queue: the credit that it leaves with if it had turns, and whether the
    /// queue is empty now.
    pub fn remove(&mut self, id: QueueId, key: FlowKey) -> (Option<i64>, bool) {
        let Some(queue) = self.queues.get_mut(&id) else { return (None, false) };
        let credit = queue.withdraw(key);
        let empty = queue.is_empty();
        if empty {
            self.drop_queue(id);
        }
        self.list(id);
        (credit, empty)
    }

    /// A gate opens. Adds the openings that have ended to `ended`, which is empty.
    pub fn open(&mut self, now: SimTime, opening: GateOpening, ended: &mut Vec<GateOpening>) {
        if let Some(rate) = opening.rate.filter(|_| !opening.paced) {
            self.rates.pace(now, Bucket::of(&opening, rate), |queue| self.queues.contains_key(&queue));
            return;
        }
        self.expire(now, ended);
        // A repeated grant for the same queue and time changes nothing.
        if self.openings.iter().any(|w| (w.queue, w.from) == (opening.queue, opening.from)) {
            return;
        }
        // A repeated signal prolongs the opening that it made.
        let same = |w: &&mut GateOpening| w.is_open(now) && (w.queue, w.path) == (opening.queue, opening.path);
        if opening.by_signal
            && let Some(w) = self.openings.iter_mut().find(same)
        {
            w.until = w.until.max(opening.until);
            w.rate = opening.rate;
            if w.opened != opening.opened {
                // The opening continues for another slot: the bytes sent so far count for the slot
                // before.
                ended.push(*w);
                w.most = w.most.saturating_sub(w.sent);
                w.sent = 0;
                w.opened = opening.opened;
            }
            w.most = w.most.saturating_add(opening.most);
            return;
        }
        self.openings.push(opening);
        ended.sort_unstable_by_key(|w| (w.from, w.queue));
    }

    /// Replaces the rates of queues by the clock, in their order. `spare` is a buffer.
    pub fn pace(
        &mut self,
        now: SimTime,
        updates: impl ExactSizeIterator<Item = RateUpdate> + Clone,
        spare: &mut Vec<Bucket>,
    ) {
        let has_backlog = |queue| self.queues.contains_key(&queue);
        if self.rates.are_many(updates.len()) {
            return self.rates.pace_all(now, updates, has_backlog, spare);
        }
        for update in updates {
            self.rates.pace(now, Bucket::by_clock(now, update), has_backlog);
        }
    }

    /// Starts no more frames of a queue from `at` on, in its current openings.
    pub fn close(&mut self, at: SimTime, queue: QueueId) {
        let openings = self.openings.iter_mut();
        for opening in openings.filter(|w| w.by_signal && w.queue == queue && w.from <= at) {
            opening.closes = opening.closes.min(at);
        }
        self.rates.close(at, queue);
    }

    /// Moves the openings that have ended at `now` to `ended`.
    pub fn expire(&mut self, now: SimTime, ended: &mut Vec<GateOpening>) {
        self.openings.retain(|w| {
            let over = w.is_over(now);
            if over {
                ended.push(*w);
            }
            !over
        });
    }

    /// The opening and the flow that alone may send from `now` until the opening ends.
    pub fn alone(&self, now: SimTime) -> Option<(&GateOpening, u32)> {
        if !self.gated || self.background.is_some() || !self.rates.is_empty() || self.paused != 0 {
            return None;
        }
        let mut openings = self.openings.iter().filter(|w| !w.is_over(now));
        let opening = openings.next().filter(|w| w.is_open(now) && w.rate.is_none())?;
        let queue = self.queues.get(&opening.queue).filter(|_| openings.next().is_none())?;
        Some((opening, queue.only()?))
    }

    /// The flow of a queue that sends next, if that is certain.
    pub fn first_flow(&self, queue: QueueId) -> Option<FlowKey> {
        self.queues.get(&queue)?.only()
    }

    /// A train leaves through the open gate.
    pub fn book(&mut self, train: Train) {
        let open = |w: &&mut GateOpening| w.queue == train.queue && w.is_open(train.first);
        if let Some(opening) = self.openings.iter_mut().find(open) {
            opening.sent += train.count * u64::from(train.wire);
            opening.most_packets = opening.most_packets.saturating_sub(u32::try_from(train.count).unwrap_or(u32::MAX));
        }
        self.train = Some(train);
    }

    /// The last train that has left or is leaving.
    pub fn train(&self) -> Option<&Train> {
        self.train.as_ref()
    }

    /// Whether no queue has a backlog.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Serves the interface, which is free at `now`. TCP flows set their timers.
    pub fn serve(
        &mut self,
        now: SimTime,
        link: &LinkState,
        rate: Rate,
        ends: &mut Endpoints,
        timers: &mut impl Timers,
    ) -> Served {
        if self.gated {
            return self.serve_gated(now, link, rate, ends, timers);
        }
        let Some(queue) = self.choose() else { return Served::Idle };
        let Some(Taken { packet, emptied, last }) = self.take(now, queue, u32::MAX, link, ends, timers) else {
            return Served::Idle;
        };
        let spent = u64::from(packet.bytes);
        let left = self.burst.map_or(self.spec.burst.get(), |b| b.1).saturating_sub(spent);
        self.burst = (left > 0 && !last).then_some((queue, left));
        self.last = queue;
        Served::Packet { packet, emptied, last }
    }

    /// Serves the queue with an open gate whose opening ends first and holds its next packet.
    /// Otherwise serves the queue whose rate has waited longest.
    fn serve_gated(
        &mut self,
        now: SimTime,
        link: &LinkState,
        rate: Rate,
        ends: &mut Endpoints,
        timers: &mut impl Timers,
    ) -> Served {
        let (background, outside) = self.serve_background(now, link, ends, timers);
        if let Some(served) = background {
            return served;
        }
        // The last opening in which the next packet does not fit.
        let mut after = None;
        loop {
            let best = self.openings.iter().enumerate().filter(|(_, w)| {
                w.is_open(now)
                    && w.eligible <= now
                    && w.most_packets > 0
                    && after.is_none_or(|a| (w.until, w.queue) > a)
                    && self.may_send(w.queue)
                    && self.queues.contains_key(&w.queue)
            });
            let Some((i, w)) = best.min_by_key(|(_, w)| (w.until, w.queue)) else { break };
            after = Some((w.until, w.queue));
            let room = rate.bytes_in(w.until - now).get().min(w.most - w.sent);
            let (queue, largest) = (w.queue, link.payload_within(room));
            let Some(Taken { mut packet, emptied, last }) = self.take(now, queue, largest, link, ends, timers) else {
                continue;
            };
            let opening = &mut self.openings[i];
            opening.route(&mut packet);
            let wire = u64::from(link.wire(packet.bytes));
            opening.sent += wire;
            if let Some(rate) = opening.rate {
                // As below: a packet that had to wait for another one catches up.
                let line = rate.time_for(Bytes::new(wire));
                let since = if now - opening.eligible < line { opening.eligible } else { now };
                opening.eligible = since + line;
            }
            opening.most_packets = opening.most_packets.saturating_sub(1);
            return Served::Packet { packet, emptied, last };
        }
        // Slots whose rate allows nothing yet.
        let paced = self.openings.iter().filter(|w| w.is_open(now) && w.eligible > now && w.eligible < w.until);
        let waiting = paced.filter(|w| self.queues.contains_key(&w.queue));
        let wait = waiting.map(|w| w.eligible).min().unwrap_or(SimTime::MAX).min(outside);
        self.drained |= self.rates.settle(now);
        if let Some(bucket) = self.rates.next(now, self.paused) {
            let largest = link.payload_within(rate.bytes_in(bucket.until - now).get());
            let queues = self.queues.len();
            if let Some(Taken { mut packet, emptied, last }) = self.take(now, bucket.queue, largest, link, ends, timers)
            {
                bucket.route(&mut packet);
                let wire = Bytes::new(u64::from(link.wire(packet.bytes)));
                self.rates.sent(now, &bucket, wire, last);
                return Served::Packet { packet, emptied, last: false };
            }
            if self.queues.len() < queues {
                // Flows of that queue had nothing to send any more.
                return self.serve_gated(now, link, rate, ends, timers);
            }
        }
        let wait = self.rates.next_time(now, wait, self.paused);
        if wait == SimTime::MAX { Served::Idle } else { Served::Wait(wait) }
    }

    /// Takes the packet that leaves in a timeslot from `now` until `until`, if the timeslot alone
    /// decides what is sent until the packet has left: the packet, the flow that it has emptied,
    /// and whether its queue is empty. No gate is open or will open by itself.
    #[expect(clippy::too_many_arguments, reason = "the parts that a packet's departure touches, each by itself")]
    pub fn take_in_timeslot(
        &mut self,
        now: SimTime,
        queue: QueueId,
        path: u16,
        until: SimTime,
        link: &LinkState,
        ends: &mut Endpoints,
        timers: &mut impl Timers,
    ) -> Option<(Packet, Option<FlowKey>, bool)> {
        let free = self.paused == 0 && !self.held.any() && self.rates.is_empty() && self.background.is_none();
        if !free || self.is_stopped() || self.openings.iter().any(|w| !w.is_over(now)) {
            return None;
        }
        let largest = link.payload_within(link.rate().bytes_in(until - now).get());
        let Taken { mut packet, emptied, last } = self.take(now, queue, largest, link, ends, timers)?;
        take_path(path, &mut packet);
        Some((packet, emptied, last))
    }

    /// Serves the background queues outside of all gates: the packet, or when one may be sent.
    fn serve_background(
        &mut self,
        now: SimTime,
        link: &LinkState,
        ends: &mut Endpoints,
        timers: &mut impl Timers,
    ) -> (Option<Served>, SimTime) {
        let Some((rate, eligible)) = self.background else { return (None, SimTime::MAX) };
        let Some(id) = self.next_background() else { return (None, SimTime::MAX) };
        if eligible > now {
            return (None, eligible);
        }
        let Some(Taken { packet, emptied, last }) = self.take(now, id, u32::MAX, link, ends, timers) else {
            return (None, SimTime::MAX);
        };
        self.last = id;
        let wire = Bytes::new(u64::from(link.wire(packet.bytes)));
        self.background = Some((rate, now + rate.time_for(wire)));
        (Some(Served::Packet { packet, emptied, last }), SimTime::MAX)
    }

    /// The background queue that sends next: first come, first served. Where flows take turns, so
    /// do destinations, packet by packet, and acknowledgements go first.
    fn next_background(&self) -> Option<QueueId> {
        let queues = || self.queues.iter().filter(|(id, _)| id.1 == BACKGROUND);
        if self.turns.is_none() {
            return queues().filter_map(|(id, q)| Some((q.since()?, *id))).min().map(|q| q.1);
        }
        let packets = queues().filter_map(|(id, q)| Some((q.packets.front()?.0, *id))).min();
        let next = || queues().map(|(&id, _)| id).min_by_key(|&id| (id <= self.last, id));
        packets.map(|q| q.1).or_else(next)
    }

    /// Whether a queue has drained since this was last asked: it is empty, and owes nothing.
    pub fn take_drained(&mut self) -> bool {
        std::mem::take(&mut self.drained)
    }

    /// When an empty queue with a rate will have paid for its last packet.
    pub fn next_drain(&self) -> Option<SimTime> {
        self.rates.next_drain()
    }

    /// The queue to serve where no gate decides.
    fn choose(&mut self) -> Option<QueueId> {
        // A withdrawn queue has no burst to finish.
        self.burst = self.burst.filter(|b| self.queues.contains_key(&b.0));
        let may_send = |q: &(&QueueId, &Queue)| {
            self.may_send(*q.0) && (!self.held.any() || q.1.since_besides(self.held).is_some())
        };
        let burst = self.burst.and_then(|b| self.queues.get_key_value(&b.0)).filter(may_send);
        if let Some((&queue, _)) = burst {
            return Some(queue);
        }
        match self.discipline() {
            Discipline::Fifo if self.paused == 0 && !self.held.any() => loop {
                let &Reverse((since, id)) = self.order.peek()?;
                if self.queues.get(&id).is_some_and(|queue| queue.since() == Some(since)) {
                    return Some(id);
                }
                self.order.pop();
            },
            Discipline::Fifo => {
                let queues = self.queues.iter().filter(may_send);
                queues.filter_map(|(&d, q)| Some((q.since_besides(self.held)?, d))).min().map(|x| x.1)
            }
            // Without gates, a fair queue is not a `Nic`, nor is one with control packets first.
            Discipline::FairQueue | Discipline::ControlFirst | Discipline::RoundRobin => {
                let after = self.queues.range((Bound::Excluded(self.last), Bound::Unbounded)).find(may_send);
                after.or_else(|| self.queues.iter().find(may_send)).map(|(&d, _)| d)
            }
        }
    }

    /// Takes the next packet of a queue, of at most `largest` bytes.
    fn take(
        &mut self,
        now: SimTime,
        id: QueueId,
        largest: u32,
        link: &LinkState,
        ends: &mut Endpoints,
        timers: &mut impl Timers,
    ) -> Option<Taken> {
        let queue = self.queues.get_mut(&id)?;
        let mut emptied = None;
        let first = queue.packets.iter().position(|p| !self.held.stops(&p.1));
        let packet = if let Some(first) = first {
            if queue.packets[first].1.bytes > largest {
                return None;
            }
            queue.packets.remove(first).map(|p| p.1)
        } else {
            match &mut queue.flows {
                Flows::InOrder(flows) => {
                    let (_, key) = *flows.front()?;
                    let (packet, holds_no_more) = ends.take_packet(now, key, largest)?;
                    if holds_no_more {
                        flows.pop_front();
                        ends.unqueued(key);
                        emptied = Some(key);
                    }
                    Some(packet)
                }
                Flows::InTurn(turns) => {
                    let packet = take_turn(turns, now, largest, link, ends, timers);
                    // Bytes of TCP arrive here when they leave, see `arrived_for`.
                    if let (Some(arrived), Some(packet)) = (&mut self.arrived, &packet)
                        && !ends.is_passive()
                    {
                        *arrived.entry(id.0).or_default() += u64::from(link.wire(packet.bytes));
                    }
                    packet
                }
            }
        };
        let last = queue.is_empty();
        if last {
            self.drop_queue(id);
            self.drained |= packet.is_none();
        }
        self.list(id);
        packet.map(|packet| Taken { packet, emptied, last })
    }

    /// The network accepts no packets of these classes, one bit each, and packets of all others.
    pub fn pause(&mut self, classes: u8) {
        self.paused = classes;
    }

    fn may_send(&self, queue: QueueId) -> bool {
        self.paused & 1 << (queue.1 & 7) == 0
    }

    /// The link or the host has failed: sends nothing, and returns the packets that wait. Flows
    /// stay.
    pub fn stop(&mut self) -> Vec<Packet> {
        self.armed = STOPPED;
        self.burst = None;
        let lost = self.queues.values_mut().flat_map(|q| q.packets.drain(..)).map(|p| p.1).collect();
        self.queues.retain(|&id, queue| {
            if queue.is_empty() {
                self.rates.empty(id);
            }
            !queue.is_empty()
        });
        let left: Vec<QueueId> = self.queues.keys().copied().collect();
        left.into_iter().for_each(|id| self.list(id));
        lost
    }

    /// Removes and returns all flows, with none of their packets left here.
    pub fn take_flows(&mut self) -> Vec<FlowKey> {
        self.queues.keys().for_each(|&id| self.rates.empty(id));
        std::mem::take(&mut self.queues)
            .into_values()
            .flat_map(|q| q.flows().map(|f| f.1).collect::<Vec<_>>())
            .collect()
    }

    /// Sends again.
    pub fn resume(&mut self) {
        self.armed = SimTime::MAX;
    }

    /// Whether it is stopped.
    pub fn is_stopped(&self) -> bool {
        self.armed == STOPPED
    }

    /// Packets in all queues.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.queues.values().flat_map(|q| q.packets.iter().map(|p| &p.1))
    }
}

#[cfg(test)]
mod tests;
