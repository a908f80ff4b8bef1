//! A host's interface with a queue for each destination, behind gates.
//!
//! It is used where something decides which queue sends next: the gates of a plan, a round robin,
//! or bursts of segmentation offload. A plain interface is first come, first served, and its
//! packets go straight to the link. An interface does not know the network behind its link.

mod opening;

pub use opening::{GateOpening, Train};

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{BACKGROUND, Endpoints};
use crate::hosts::flow::{FlowKey, NONE};
use crate::network::link::LinkState;
use crate::network::packet::Packet;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use timeplane_model::{Backlog, BacklogEntry, Burst, Bytes, Class, CoflowBacklog, CoflowId, Duration, HostId, Rate};
use timeplane_protocol::Detail;
use timeplane_scenario::{Discipline, Nic as NicSpec};

/// A queue of an interface: destination and class.
pub type QueueId = (u32, u8);

/// [`Nic::armed`] of an interface that may not send at all, so that it is never served.
pub(super) const STOPPED: SimTime = SimTime(i64::MIN);

/// The backlog for one destination.
#[derive(Debug, Default)]
struct Queue {
    /// Packets that TCP handed over, with the times at which they came.
    packets: VecDeque<(SimTime, Packet)>,
    /// Flows that hold bytes, with the times at which they came.
    flows: VecDeque<(SimTime, FlowKey)>,
}

impl Queue {
    fn since(&self) -> Option<SimTime> {
        let packet = self.packets.front().map(|p| p.0);
        let flow = self.flows.front().map(|f| f.0);
        match (packet, flow) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

/// A queued interface.
#[derive(Debug)]
pub struct Nic {
    spec: NicSpec,
    gated: bool,
    queues: BTreeMap<QueueId, Queue>,
    openings: Vec<GateOpening>,
    /// Windows with a rate, in the order of queues. A queue has at most one that a signal opened,
    /// and one other.
    rates: Vec<GateOpening>,
    /// The last train that has left or is leaving.
    train: Option<Train>,
    /// Classes that the network has paused, one bit each.
    paused: u8,
    /// When an event serves it next; later pending events are stale.
    pub armed: SimTime,
    /// The queue of the current burst, and the remaining bytes of the burst.
    burst: Option<(QueueId, u64)>,
    /// The queue after which the round robin continues.
    last: QueueId,
    /// Whether an empty queue has paid for its last packet since this was last asked.
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
    /// An empty interface. A gated one sends only while a gate is open.
    pub fn new(spec: NicSpec, gated: bool) -> Self {
        Self {
            spec,
            gated,
            queues: BTreeMap::new(),
            openings: vec![],
            rates: vec![],
            train: None,
            paused: 0,
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
        let queue = self.queues.entry((packet.destination, packet.class())).or_default();
        queue.packets.push_back((now, packet));
        queue.packets.len() + queue.flows.len() == 1
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
        self.arrives(destination, ends.unsent(key, link).1);
        let queue = self.queues.entry((destination, class)).or_default();
        queue.flows.push_back((now, key));
        queue.packets.len() + queue.flows.len() == 1
    }

    /// Removes a flow from the queue of a destination. Whether the queue is empty now.
    pub fn withdraw(&mut self, destination: u32, key: FlowKey, ends: &mut Endpoints) -> bool {
        let id = (destination, ends.flows.get(key).sender.class);
        ends.unqueued(key);
        let Some(queue) = self.queues.get_mut(&id) else { return false };
        queue.flows.retain(|f| f.1 != key);
        let empty = queue.packets.is_empty() && queue.flows.is_empty();
        if empty {
            self.queues.remove(&id);
        }
        empty
    }

    /// A gate opens. Returns the openings that have ended.
    pub fn open(&mut self, now: SimTime, opening: GateOpening) -> Vec<GateOpening> {
        if let Some(rate) = opening.rate.filter(|_| !opening.paced) {
            self.pace(now, opening, rate);
            return Vec::new();
        }
        let mut ended = self.expire(now);
        // A repeated grant for the same queue and time changes nothing.
        if self.openings.iter().any(|w| (w.queue, w.from) == (opening.queue, opening.from)) {
            return ended;
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
            return ended;
        }
        self.openings.push(opening);
        ended.sort_unstable_by_key(|w| (w.from, w.queue));
        ended
    }

    /// Replaces the rate of a queue. What its bucket still holds drains at the new rate.
    fn pace(&mut self, now: SimTime, mut opening: GateOpening, mut rate: Rate) {
        let at = self.rates.binary_search_by_key(&(opening.queue, opening.by_signal), |w| (w.queue, w.by_signal));
        if let Ok(i) = at {
            let old = &self.rates[i];
            opening.owes = old.owes;
            let owed = old.owed_bits(now);
            if owed > 0 {
                // A debt stays where there is no rate to pay it with: it is kept at 1 b/s.
                rate = rate.max(Rate::bps(1));
                opening.rate = Some(rate);
                let wait = owed.div_ceil(u128::from(rate.as_bps()));
                opening.eligible = now + Duration::from_ps(i64::try_from(wait).unwrap_or(i64::MAX / 4));
            } else if rate > Rate::ZERO {
                // A packet that is overdue stays overdue by the bits that it could have sent, not
                // by more at a higher rate.
                let overdue = (now - old.eligible).as_ps() as u128;
                let bits = overdue * u128::from(old.rate.map_or(0, Rate::as_bps));
                let since = (bits / u128::from(rate.as_bps())).min(overdue);
                opening.eligible = now - Duration::from_ps(since as i64);
            }
        }
        match at {
            Ok(i) if rate == Rate::ZERO => drop(self.rates.remove(i)),
            Ok(i) => self.rates[i] = opening,
            Err(_) if rate == Rate::ZERO => {}
            Err(i) => self.rates.insert(i, opening),
        }
    }

    /// Starts no more frames of a queue from `at` on, in its current openings.
    pub fn close(&mut self, at: SimTime, queue: QueueId) {
        let openings = self.openings.iter_mut().chain(&mut self.rates);
        for opening in openings.filter(|w| w.by_signal && w.queue == queue && w.from <= at) {
            opening.closes = opening.closes.min(at);
        }
    }

    /// Removes and returns the openings that have ended at `now`.
    pub fn expire(&mut self, now: SimTime) -> Vec<GateOpening> {
        let mut ended = Vec::new();
        self.openings.retain(|w| {
            let over = w.is_over(now);
            if over {
                ended.push(*w);
            }
            !over
        });
        ended
    }

    /// The backlog in wire bytes by destination, in this detail.
    pub fn backlog(
        &self,
        now: SimTime,
        link: &LinkState,
        ahead: Duration,
        detail: Detail,
        ends: &Endpoints,
    ) -> Backlog {
        let entry = |(destination, (_, bytes))| BacklogEntry {
            destination: HostId(destination),
            bytes: Bytes::new(bytes),
            arrived: self.arrived.as_ref().map(|a| Bytes::new(a.get(&destination).copied().unwrap_or(0))),
        };
        // Bytes that are sent and not paid for count as backlog, or their share would be given away
        // twice.
        let reported = |w: &&GateOpening| self.unreported != Some(w.queue.1);
        let owing = self.rates.iter().filter(|w| w.owes && !self.queues.contains_key(&w.queue)).filter(reported);
        let owed = owing.map(|w| (w.queue.0, (0, w.owed_bits(now).div_ceil(8_000_000_000_000) as u64)));
        let gated = self.queues.iter().filter(|(id, _)| self.unreported != Some(id.1));
        let waiting = gated.map(|(id, q)| {
            let (packets, bytes) = Self::held(q, link, ends);
            // Booked packets that have not left count as backlog.
            let booked = self.train.filter(|train| train.queue == *id).map_or((0, 0), |train| {
                let packets = train.waiting(now);
                (packets, packets * u64::from(train.wire))
            });
            (id.0, (packets + booked.0, bytes + booked.1))
        });
        let mut backlog = Backlog::new(waiting.chain(owed).map(entry).collect());
        match detail {
            Detail::Destinations => {}
            Detail::Bursts => backlog.bursts = self.bursts(link, ahead, ends),
            Detail::Coflows => backlog = backlog.with_coflows(self.coflows(link, ends)),
        }
        backlog
    }

    /// The backlog of the coflows of flows in progress.
    fn coflows(&self, link: &LinkState, ends: &Endpoints) -> Vec<CoflowBacklog> {
        let mut parts = Vec::new();
        for (&(destination, _), queue) in self.queues.iter().filter(|(id, _)| self.unreported != Some(id.1)) {
            let mut add = |key: FlowKey, bytes: u64| {
                let coflow = ends.flows.get(key).sender.coflow;
                if coflow != NONE {
                    let (destination, coflow) = (HostId(destination), CoflowId(coflow));
                    parts.push(CoflowBacklog { destination, coflow, bytes: Bytes::new(bytes) });
                }
            };
            queue.packets.iter().for_each(|(_, p)| add(p.flow, u64::from(link.wire(p.bytes))));
            queue.flows.iter().for_each(|&(_, key)| add(key, ends.unsent(key, link).1));
        }
        parts
    }

    /// The backlog flow by flow, in the order in which it will leave its queue.
    fn bursts(&self, link: &LinkState, ahead: Duration, ends: &Endpoints) -> Vec<Burst> {
        let mut bursts: Vec<Burst> = Vec::new();
        for (&(destination, class), queue) in &self.queues {
            let mut add = |since: SimTime, packets: u64, bytes: u64| {
                let burst = Burst {
                    destination: HostId(destination),
                    class: Class(class),
                    arrived: since.on_clock(ahead),
                    packets: packets as u32,
                    bytes: Bytes::new(bytes),
                };
                bursts.push(burst);
            };
            for (since, packet) in &queue.packets {
                add(*since, 1, u64::from(link.wire(packet.bytes)));
            }
            for &(since, key) in &queue.flows {
                let (packets, bytes) = ends.unsent_exact(key, link);
                add(since, packets, bytes);
            }
        }
        bursts
    }

    /// The backlog by destination, in packets and their wire bytes.
    pub fn waiting(&self, link: &LinkState, ends: &Endpoints) -> impl Iterator<Item = (u32, (u64, u64))> {
        self.queues.iter().map(|(&(d, _), q)| (d, Self::held(q, link, ends)))
    }

    /// The backlog of one queue, in packets and their wire bytes.
    fn held(queue: &Queue, link: &LinkState, ends: &Endpoints) -> (u64, u64) {
        let packets = queue.packets.iter().map(|(_, p)| (1, u64::from(link.wire(p.bytes))));
        let flows = queue.flows.iter().map(|f| ends.unsent(f.1, link));
        packets.chain(flows).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// The opening and the flow that alone may send from `now` until the opening ends.
    pub fn alone(&self, now: SimTime) -> Option<(&GateOpening, u32)> {
        if !self.gated || self.background.is_some() || !self.rates.is_empty() || self.paused != 0 {
            return None;
        }
        let mut openings = self.openings.iter().filter(|w| !w.is_over(now));
        let opening = openings.next().filter(|w| w.is_open(now) && w.rate.is_none())?;
        let queue = self.queues.get(&opening.queue).filter(|q| q.packets.is_empty() && openings.next().is_none())?;
        Some((opening, queue.flows.front()?.1))
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

    /// Serves the interface, which is free at `now`.
    pub fn serve(&mut self, now: SimTime, link: &LinkState, rate: Rate, ends: &mut Endpoints) -> Served {
        if self.gated {
            return self.serve_gated(now, link, rate, ends);
        }
        let Some(queue) = self.choose() else { return Served::Idle };
        let Some(Taken { packet, emptied, last }) = self.take(now, queue, u32::MAX, ends) else { return Served::Idle };
        let spent = u64::from(packet.bytes);
        let left = self.burst.map_or(self.spec.burst.get(), |b| b.1).saturating_sub(spent);
        self.burst = (left > 0 && !last).then_some((queue, left));
        self.last = queue;
        Served::Packet { packet, emptied, last }
    }

    /// Serves the queue with an open gate whose opening ends first and holds its next packet.
    /// Otherwise serves the queue whose rate has waited longest.
    fn serve_gated(&mut self, now: SimTime, link: &LinkState, rate: Rate, ends: &mut Endpoints) -> Served {
        let (background, outside) = self.serve_background(now, link, ends);
        if let Some(served) = background {
            return served;
        }
        // The last opening in which the next packet does not fit.
        let mut after = None;
        loop {
            let best = self.openings.iter().enumerate().filter(|(_, w)| {
                w.is_open(now)
                    && w.eligible <= now
                    && after.is_none_or(|a| (w.until, w.queue) > a)
                    && self.may_send(w.queue)
                    && self.queues.contains_key(&w.queue)
            });
            let Some((i, w)) = best.min_by_key(|(_, w)| (w.until, w.queue)) else { break };
            after = Some((w.until, w.queue));
            let room = if w.most_packets == 0 { 0 } else { rate.bytes_in(w.until - now).get().min(w.most - w.sent) };
            let (queue, largest) = (w.queue, link.payload_within(room));
            let Some(Taken { mut packet, emptied, last }) = self.take(now, queue, largest, ends) else { continue };
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
        let mut wait = waiting.map(|w| w.eligible).min().unwrap_or(SimTime::MAX).min(outside);
        let mut best: Option<(SimTime, usize)> = None;
        let paused = self.paused;
        for (i, w) in self.rates.iter_mut().enumerate() {
            let waits = self.queues.contains_key(&w.queue);
            if waits && paused & 1 << (w.queue.1 & 7) != 0 {
                continue;
            }
            if !waits && !w.owes || w.is_over(now) {
                continue;
            }
            if w.eligible > now {
                wait = wait.min(w.eligible);
            } else if !waits {
                w.owes = false;
                self.drained = true;
            } else if best.is_none_or(|b| w.eligible < b.0) {
                best = Some((w.eligible, i));
            }
        }
        let sent = best.and_then(|(_, i)| {
            let w = self.rates[i];
            let largest = link.payload_within(rate.bytes_in(w.until - now).get());
            let Taken { mut packet, emptied, last } = self.take(now, w.queue, largest, ends)?;
            w.route(&mut packet);
            // Where another packet was in the way, the bucket has drained meanwhile. It never holds
            // more than the credit of one packet.
            let line = w.rate?.time_for(Bytes::new(u64::from(link.wire(packet.bytes))));
            let since = if now - w.eligible < line { w.eligible } else { now };
            self.rates[i].eligible = since + line;
            self.rates[i].owes = last;
            Some(Served::Packet { packet, emptied, last: false })
        });
        sent.unwrap_or(if wait == SimTime::MAX { Served::Idle } else { Served::Wait(wait) })
    }

    /// Serves the background queues outside of all gates, first come, first served: the packet, or
    /// when one may be sent.
    fn serve_background(&mut self, now: SimTime, link: &LinkState, ends: &mut Endpoints) -> (Option<Served>, SimTime) {
        let Some((rate, eligible)) = self.background else { return (None, SimTime::MAX) };
        let queues = self.queues.iter().filter(|(id, _)| id.1 == BACKGROUND);
        let Some((_, id)) = queues.filter_map(|(id, q)| Some((q.since()?, *id))).min() else {
            return (None, SimTime::MAX);
        };
        if eligible > now {
            return (None, eligible);
        }
        let Some(Taken { packet, emptied, last }) = self.take(now, id, u32::MAX, ends) else {
            return (None, SimTime::MAX);
        };
        let wire = Bytes::new(u64::from(link.wire(packet.bytes)));
        self.background = Some((rate, now + rate.time_for(wire)));
        (Some(Served::Packet { packet, emptied, last }), SimTime::MAX)
    }

    /// Whether a queue has drained since this was last asked: it is empty, and paid for.
    pub fn take_drained(&mut self) -> bool {
        std::mem::take(&mut self.drained)
    }

    /// When an empty queue with a rate will have paid for its last packet.
    pub fn next_drain(&self) -> Option<SimTime> {
        self.rates.iter().filter(|w| w.owes).map(|w| w.eligible).min()
    }

    /// The queue to serve where no gate decides.
    fn choose(&mut self) -> Option<QueueId> {
        // A withdrawn queue has no burst to finish.
        self.burst = self.burst.filter(|b| self.queues.contains_key(&b.0));
        if let Some((queue, _)) = self.burst.filter(|b| self.may_send(b.0)) {
            return Some(queue);
        }
        let may_send = |q: &(&QueueId, &Queue)| self.may_send(*q.0);
        match self.spec.discipline.unwrap_or_default() {
            Discipline::Fifo => {
                let queues = self.queues.iter().filter(may_send);
                queues.filter_map(|(&d, q)| Some((q.since()?, d))).min().map(|x| x.1)
            }
            // A fair queue without gates is not a `Nic`, so it never comes here.
            Discipline::FairQueue | Discipline::RoundRobin => {
                let after = self.queues.range((Bound::Excluded(self.last), Bound::Unbounded)).find(may_send);
                after.or_else(|| self.queues.iter().find(may_send)).map(|(&d, _)| d)
            }
        }
    }

    /// Takes the next packet of a queue, of at most `largest` bytes.
    fn take(&mut self, now: SimTime, id: QueueId, largest: u32, ends: &mut Endpoints) -> Option<Taken> {
        let queue = self.queues.get_mut(&id)?;
        let mut emptied = None;
        let packet = if let Some((_, packet)) = queue.packets.front() {
            if packet.bytes > largest {
                return None;
            }
            queue.packets.pop_front().map(|p| p.1)
        } else {
            let (_, key) = *queue.flows.front()?;
            let (packet, holds_no_more) = ends.take_packet(now, key, largest)?;
            if holds_no_more {
                queue.flows.pop_front();
                ends.unqueued(key);
                emptied = Some(key);
            }
            Some(packet)
        };
        let last = queue.packets.is_empty() && queue.flows.is_empty();
        if last {
            self.queues.remove(&id);
        }
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
        self.queues.retain(|_, q| !q.flows.is_empty());
        lost
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
mod tests {
    use super::*;
    use crate::hosts::endpoints::{Config, HostAction, Transport, Wire};
    use crate::record::ledger::Ledger;
    use std::sync::Arc;
    use timeplane_model::{Duration, Fabric, LinkSpec, Switch};
    use timeplane_results::Recorder;
    use timeplane_scenario::PacketMix;
    use timeplane_transport::{RawConfig, RepairReport};
    use timeplane_workload::FlowArrival;

    struct Nothing;

    impl Wire for Nothing {
        fn transmit(&mut self, _: SimTime, _: u32, _: Packet) {}
        fn arm(&mut self, _: SimTime, _: u32, _: u32) {}
        fn report(&mut self, _: SimTime, _: [u32; 2], _: u32, _: u32, _: RepairReport) {}
    }

    #[test]
    fn a_withdrawn_burst_lets_others_go_on() {
        let (rate, framing) = (Rate::gbps(10), timeplane_model::Framing::Ethernet);
        let spec = LinkSpec { rate, propagation: Duration::ZERO, framing, bit_error: 0.0 };
        let fabric = Arc::new(Fabric::single_switch(3, Switch::default(), spec).unwrap());
        let all = SimTime::ZERO..SimTime::MAX;
        let config = Config {
            transport: Transport::Raw { header: 16, config: RawConfig::default() },
            packets: PacketMix::Mtu,
            mtu: 1500,
            salt: 0,
            per_packet: false,
            routes_change: false,
            packet_seed: 0,
            fragments: false,
            acknowledgements: None,
            background: None,
            classes: Vec::new(),
            measured: all.clone(),
            stop: SimTime::MAX,
        };
        let mut ends = Endpoints::new(Arc::clone(&fabric), config, Ledger::new(3, all, Recorder::discard()));
        let link = LinkState::new(fabric.link(fabric.uplink(HostId(0))), None, None);
        let mut nic = Nic::new(NicSpec { burst: Bytes::kb(64), ..NicSpec::default() }, false);
        let mut first = None;
        for destination in [1, 2] {
            let arrival = FlowArrival {
                at: Duration::ZERO,
                source: HostId(0),
                destination: HostId(destination),
                bytes: Bytes::kb(30),
                coflow: None,
            };
            let action = ends.start(SimTime::ZERO, &arrival, &mut Nothing);
            let HostAction::Queue { key, .. } = action else { panic!("{action:?}") };
            nic.push_flow(SimTime::ZERO, destination, key, &link, &mut ends);
            first.get_or_insert(key);
        }
        let mut next = || match nic.serve(SimTime::ZERO, &link, rate, &mut ends) {
            Served::Packet { packet, .. } => Some(packet.destination),
            Served::Wait(_) | Served::Idle => None,
        };
        assert_eq!((next(), next()), (Some(1), Some(1)));
        nic.withdraw(1, first.unwrap(), &mut ends);
        let after = nic.serve(SimTime::ZERO, &link, rate, &mut ends);
        assert!(matches!(after, Served::Packet { packet: Packet { destination: 2, .. }, .. }), "{after:?}");
    }
}
