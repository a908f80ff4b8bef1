//! A host's interface with a queue per destination behind gates.
//!
//! It is used where something decides which queue sends next: a plan's gates, a round robin, or bursts of segmentation offload. A plain
//! first-come interface needs none of it, its packets go straight to the link.

use crate::endpoints::Endpoints;
use crate::link::LinkState;
use crate::packet::{Packet, UNKNOWN};
use crate::time::SimTime;
use std::collections::{BTreeMap, VecDeque};
use timeplane_model::{Backlog, Bytes, HostId, Rate, Time};
use timeplane_scenario::{Discipline, Nic as NicSpec};

/// When a queue may send: an executed grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Which queue.
    pub destination: u32,
    /// From here.
    pub from: SimTime,
    /// No bit may leave at or after this.
    pub until: SimTime,
    /// How fast, where it is not line rate.
    pub rate: Option<Rate>,
    /// Path tag plus one, or 0.
    pub path: u16,
    /// When the host's own clock said that it opens: names it in the table of slots.
    pub opened: Time,
    /// The most wire bytes that may be sent in it.
    pub most: u64,
    /// Wire bytes sent in it.
    pub sent: u64,
}

/// What waits for one destination.
#[derive(Debug, Default)]
struct Queue {
    /// Packets handed over by TCP, with the time they came.
    packets: VecDeque<(SimTime, Packet)>,
    /// Flows that hold bytes, with the time they came.
    flows: VecDeque<(SimTime, u32)>,
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
    queues: BTreeMap<u32, Queue>,
    windows: Vec<Window>,
    /// Whether an event will serve it.
    pub pending: bool,
    /// Queue of the burst that is being sent, and what is left of it in bytes.
    burst: Option<(u32, u64)>,
    /// Where the round robin goes on: after this destination.
    last: u32,
}

/// What an interface did when it was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It sends this packet; it wants to be served again no earlier than `not_before`.
    Packet {
        /// What it sends.
        packet: Packet,
        /// A rate limit's next packet.
        not_before: SimTime,
        /// The flow that has now handed over its last byte.
        emptied: Option<u32>,
    },
    /// Nothing may be sent now. Woken by a new packet or window.
    Idle,
}

impl Nic {
    /// An empty interface. A gated one sends only in windows.
    pub fn new(spec: NicSpec, gated: bool) -> Self {
        Self { spec, gated, queues: BTreeMap::new(), windows: vec![], pending: false, burst: None, last: u32::MAX }
    }

    /// A packet joins its destination's queue.
    pub fn push_packet(&mut self, now: SimTime, packet: Packet) {
        self.queues.entry(packet.destination).or_default().packets.push_back((now, packet));
    }

    /// A flow holds bytes for a destination; nothing changes where it is queued already.
    pub fn push_flow(&mut self, now: SimTime, destination: u32, slot: u32, ends: &mut Endpoints) {
        let flow = ends.flows.get_mut(slot);
        if !std::mem::replace(&mut flow.queued, true) {
            self.queues.entry(destination).or_default().flows.push_back((now, slot));
        }
    }

    /// Takes a flow out of a destination's queue.
    pub fn withdraw(&mut self, destination: u32, slot: u32, ends: &mut Endpoints) {
        if let Some(queue) = self.queues.get_mut(&destination) {
            queue.flows.retain(|f| f.1 != slot);
            if queue.packets.is_empty() && queue.flows.is_empty() {
                self.queues.remove(&destination);
            }
        }
        ends.unqueued(slot);
    }

    /// A gate opens. Windows that have ended are given back.
    pub fn open(&mut self, now: SimTime, window: Window) -> Vec<Window> {
        let mut ended = self.expire(now);
        // The same queue, medium and time twice is one window: a repeated grant changes nothing.
        if self.windows.iter().any(|w| (w.destination, w.from) == (window.destination, window.from)) {
            return ended;
        }
        self.windows.push(window);
        ended.sort_unstable_by_key(|w| (w.from, w.destination));
        ended
    }

    /// Takes out windows that have ended at `now`.
    pub fn expire(&mut self, now: SimTime) -> Vec<Window> {
        let mut ended = Vec::new();
        self.windows.retain(|w| {
            let over = w.until <= now;
            if over {
                ended.push(*w);
            }
            !over
        });
        ended
    }

    /// Wire bytes waiting, per destination.
    pub fn backlog(&self, link: &LinkState, ends: &Endpoints) -> Backlog {
        Backlog::of_bytes(self.waiting(link, ends).map(|(d, (_, bytes))| (HostId(d), Bytes::new(bytes))))
    }

    /// Packets and their wire bytes that wait, per destination.
    pub fn waiting(&self, link: &LinkState, ends: &Endpoints) -> impl Iterator<Item = (u32, (u64, u64))> {
        self.queues.iter().map(|(&d, q)| {
            let packets = q.packets.iter().map(|(_, p)| (1, u64::from(link.wire(p.bytes))));
            let flows = q.flows.iter().map(|f| ends.unsent(f.1, link));
            (d, packets.chain(flows).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)))
        })
    }

    /// Whether anything waits.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// The interface is free at `now`: what does it send?
    pub fn serve(&mut self, now: SimTime, link: &LinkState, rate: Rate, ends: &mut Endpoints) -> Served {
        if self.gated {
            let mut best: Option<usize> = None;
            for (i, w) in self.windows.iter().enumerate() {
                let open = w.from <= now && now < w.until && self.queues.contains_key(&w.destination);
                let earlier =
                    |b: usize| (self.windows[b].until, self.windows[b].destination) <= (w.until, w.destination);
                if open && !best.is_some_and(earlier) {
                    best = Some(i);
                }
            }
            let Some(i) = best else { return Served::Idle };
            let w = self.windows[i];
            let room = rate.bytes_in(w.until - now).get().min(w.most - w.sent);
            let largest = link.payload_within(room);
            let Some((mut packet, emptied)) = self.take(now, w.destination, largest, ends) else { return Served::Idle };
            if w.path != 0 {
                packet.path = w.path;
                packet.ahead = UNKNOWN;
            }
            let wire = link.wire(packet.bytes);
            self.windows[i].sent += u64::from(wire);
            let not_before = w.rate.map_or(now, |r| now + r.time_for(Bytes::new(u64::from(wire))));
            return Served::Packet { packet, not_before, emptied };
        }
        let Some(destination) = self.choose() else { return Served::Idle };
        let Some((packet, emptied)) = self.take(now, destination, u32::MAX, ends) else { return Served::Idle };
        let spent = u64::from(packet.bytes);
        let left = self.burst.map_or(self.spec.burst.get(), |b| b.1).saturating_sub(spent);
        let more = self.queues.contains_key(&destination);
        self.burst = (left > 0 && more).then_some((destination, left));
        self.last = destination;
        Served::Packet { packet, not_before: now, emptied }
    }

    /// The queue to serve where no gate decides.
    fn choose(&mut self) -> Option<u32> {
        // What was withdrawn has no burst to finish.
        self.burst = self.burst.filter(|b| self.queues.contains_key(&b.0));
        if let Some((destination, _)) = self.burst {
            return Some(destination);
        }
        match self.spec.discipline {
            Discipline::Fifo => self.queues.iter().filter_map(|(&d, q)| Some((q.since()?, d))).min().map(|x| x.1),
            Discipline::RoundRobin => {
                let after = self.queues.range(self.last.wrapping_add(1)..).next();
                after.or_else(|| self.queues.iter().next()).map(|(&d, _)| d)
            }
        }
    }

    /// Takes the next packet for a destination, of at most `largest` bytes.
    fn take(
        &mut self,
        now: SimTime,
        destination: u32,
        largest: u32,
        ends: &mut Endpoints,
    ) -> Option<(Packet, Option<u32>)> {
        let queue = self.queues.get_mut(&destination)?;
        let mut emptied = None;
        let packet = if let Some((_, packet)) = queue.packets.front() {
            if packet.bytes > largest {
                return None;
            }
            queue.packets.pop_front().map(|p| p.1)
        } else {
            let (_, slot) = *queue.flows.front()?;
            let packet = ends.next_packet(now, slot, largest)?;
            if ends.flows.get(slot).unsent() == 0 {
                queue.flows.pop_front();
                ends.unqueued(slot);
                emptied = Some(slot);
            }
            Some(packet)
        };
        if queue.packets.is_empty() && queue.flows.is_empty() {
            self.queues.remove(&destination);
        }
        packet.map(|p| (p, emptied))
    }

    /// Packets that wait here.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.queues.values().flat_map(|q| q.packets.iter().map(|p| &p.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints::{Carrier, Setting, Then, Wire};
    use crate::ledger::Ledger;
    use std::sync::Arc;
    use timeplane_model::{Duration, Fabric, LinkSpec, Switch};
    use timeplane_results::Recorder;
    use timeplane_scenario::PacketMix;
    use timeplane_transport::{RawConfig, Report};
    use timeplane_workload::FlowArrival;

    struct Nothing;

    impl Wire for Nothing {
        fn transmit(&mut self, _: SimTime, _: u32, _: Packet) {}
        fn arm(&mut self, _: SimTime, _: u32, _: u32) {}
        fn report(&mut self, _: SimTime, _: u32, _: u32, _: u32, _: Report) {}
    }

    #[test]
    fn a_withdrawn_burst_lets_others_go_on() {
        let (rate, framing) = (Rate::gbps(10), timeplane_model::Framing::Ethernet);
        let spec = LinkSpec { rate, propagation: Duration::ZERO, framing, bit_error: 0.0 };
        let fabric = Arc::new(Fabric::single_switch(3, Switch::default(), spec).unwrap());
        let all = SimTime::ZERO..SimTime::MAX;
        let setting = Setting {
            carrier: Carrier::Raw { header: 16, config: RawConfig::default() },
            packets: PacketMix::Mtu,
            mtu: 1500,
            salt: 0,
            per_packet: false,
            packet_seed: 0,
            measured: all.clone(),
            stop: SimTime::MAX,
        };
        let mut ends = Endpoints::new(Arc::clone(&fabric), setting, Ledger::new(3, all, Recorder::discard()));
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
            let then = ends.start(SimTime::ZERO, &arrival, &mut Nothing);
            let Then::Queue { slot, .. } = then else { panic!("{then:?}") };
            nic.push_flow(SimTime::ZERO, destination, slot, &mut ends);
            first.get_or_insert(slot);
        }
        let mut next = || match nic.serve(SimTime::ZERO, &link, rate, &mut ends) {
            Served::Packet { packet, .. } => Some(packet.destination),
            Served::Idle => None,
        };
        assert_eq!((next(), next()), (Some(1), Some(1)));
        nic.withdraw(1, first.unwrap(), &mut ends);
        let after = nic.serve(SimTime::ZERO, &link, rate, &mut ends);
        assert!(matches!(after, Served::Packet { packet: Packet { destination: 2, .. }, .. }), "{after:?}");
    }
}
