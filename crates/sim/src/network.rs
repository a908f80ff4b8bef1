//! The packet fabric: links, switches, and the interface of every host, driven by one calendar.

use crate::calendar::{Calendar, Event, Key, Phase};
use crate::endpoints::{Endpoints, Then, Trains, Wire};
use crate::flow::NONE;
use crate::latency::Latencies;
use crate::link::LinkState;
use crate::nic::{Nic, Served, Window};
use crate::packet::{Packet, Packets, flags};
use crate::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{
    Backlog, Buffer, Candidates, Duration, Fabric, Forwarding, HostId, LinkId, NodeId, PathTag, ecmp_index,
};
use timeplane_scenario::Nic as NicSpec;
use timeplane_transport::Report;
use timeplane_workload::Streams;

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// The output queue could not take it.
    BufferFull,
    /// A bit was wrong on arrival.
    BitError,
}

impl Loss {
    /// As in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer_full",
            Self::BitError => "bit_error",
        }
    }
}

/// One switch's shared memory and its forwarding.
#[derive(Debug)]
struct SwitchState {
    latency: Duration,
    shared: Option<Shared>,
}

/// A memory that all ports of a switch share by dynamic thresholds.
#[derive(Debug)]
struct Shared {
    memory: f64,
    alpha: f64,
    ports: Vec<u32>,
    /// At least what is in use: the exact value of some earlier moment and all that came since. While even this leaves
    /// room, nobody has to ask the ports.
    at_most: f64,
    /// Behind cut-through a port may wait for the rest of a packet, so that its line time grows by more than the packet: ask always.
    always_ask: bool,
}

/// Which changes of a host's queues its agent is told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// None.
    #[default]
    Nothing,
    /// A flow or a packet came.
    Arrivals,
    /// A queue began to wait, or ran empty.
    Transitions,
    /// Both.
    Everything,
}

/// What left a host by one train step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Sent,
    Empty,
}

/// Links, switches and interfaces.
pub struct Network {
    fabric: Arc<Fabric>,
    /// Pending events.
    pub calendar: Calendar,
    /// By link number.
    pub links: Vec<LinkState>,
    switches: Vec<SwitchState>,
    /// Packets under way.
    pub packets: Packets,
    hosts: u32,
    routes: Routes,
    uplinks: Vec<u32>,
    trains: Vec<Trains>,
    /// Interfaces with queues, where something decides among them.
    nics: Option<Vec<Nic>>,
    /// Streams of bit errors, one per link that has any.
    errors: Vec<Option<Xoshiro256PlusPlus>>,
    /// Packets and bytes lost, by link and reason.
    pub losses: BTreeMap<(u32, Loss), (u64, u64)>,
    /// Packets that crossed a link.
    pub hops: u64,
    /// Last hops without an event, ends when its packets have arrived.
    passive: bool,
    /// Packets whose arrival was booked ahead and lies after the end: packets and bytes.
    pub beyond: (u64, u64),
    stop: SimTime,
    report_latency: Duration,
    /// Which changes of a host's queues an agent is told of.
    pub watch: Watch,
    /// How long packets are on their way, where that is recorded.
    pub latencies: Option<Latencies>,
    /// Hosts whose queues have changed since they were taken out last.
    pub changed: Vec<u32>,
    /// Reports of raw receivers under way, by arrival, flow and sequence.
    pub reports: BTreeMap<(SimTime, u32, u32), (u32, Report)>,
    report_sequence: u32,
    /// Reports sent, and their bytes.
    pub reported: (u64, u64),
}

/// Bytes of a repair report on the wire: as a datagram of 12 B and 16 B for each gap.
fn report_bytes(report: &Report) -> u64 {
    let payload = 28 + 12 + 16 * report.missing.len() as u64;
    (payload + 38).max(84)
}

impl Network {
    /// An idle network.
    pub fn new(
        fabric: Arc<Fabric>,
        streams: &Streams,
        passive: bool,
        stop: SimTime,
        report_latency: Duration,
        nic: Option<(NicSpec, bool)>,
    ) -> Self {
        let hosts = fabric.hosts();
        let links: Vec<LinkState> = fabric
            .links()
            .iter()
            .map(|link| LinkState::new(link, fabric.switch(link.from), fabric.switch(link.to)))
            .collect();
        let errors = fabric
            .links()
            .iter()
            .enumerate()
            .map(|(i, link)| (link.spec.bit_error > 0.0).then(|| streams.fast("link", i as u64, "bit errors")));
        let errors = errors.collect();
        let uplinks: Vec<u32> = (0..hosts).map(|h| fabric.uplink(HostId(h)).0).collect();
        let switches = (hosts..fabric.nodes().len() as u32)
            .map(|n| {
                let s = fabric.switch(NodeId(n)).expect("switches follow hosts");
                let ports = || (0..links.len() as u32).filter(|&l| fabric.link(LinkId(l)).from.0 == n).collect();
                let shared = match s.buffer {
                    Buffer::Shared { memory, alpha } => Some(Shared {
                        memory: memory.get() as f64,
                        alpha,
                        ports: ports(),
                        at_most: 0.0,
                        always_ask: s.forwarding == Forwarding::CutThrough,
                    }),
                    _ => None,
                };
                SwitchState { latency: s.latency, shared }
            })
            .collect();
        Self {
            calendar: Calendar::default(),
            links,
            switches,
            packets: Packets::default(),
            hosts,
            routes: Routes::new(&fabric),
            uplinks,
            trains: (0..hosts).map(|_| Trains::default()).collect(),
            nics: nic.map(|(spec, gated)| (0..hosts).map(|_| Nic::new(spec, gated)).collect()),
            errors,
            losses: BTreeMap::new(),
            hops: 0,
            passive,
            beyond: (0, 0),
            stop,
            report_latency,
            watch: Watch::Nothing,
            latencies: None,
            changed: Vec::new(),
            reports: BTreeMap::new(),
            report_sequence: 0,
            reported: (0, 0),
            fabric,
        }
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// A flow at `host` holds bytes: they leave first come, first served.
    pub fn train(&mut self, now: SimTime, host: u32, slot: u32, ends: &mut Endpoints) {
        self.trains[host as usize].push(slot, now);
        self.refill(now, host, ends);
    }

    /// Puts packets of waiting flows on a host's link while it is idle, or free at `now`.
    ///
    /// First come, first served, a packet's departure does not depend on when this is called, only on the flows before it.
    pub fn refill(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) {
        let link = self.uplinks[host as usize] as usize;
        while self.links[link].is_idle() || self.links[link].free_at() <= now {
            if self.step(host, link, ends) == Step::Empty {
                break;
            }
        }
    }

    #[inline]
    fn step(&mut self, host: u32, link: usize, ends: &mut Endpoints) -> Step {
        let Some((slot, since)) = self.trains[host as usize].front() else { return Step::Empty };
        let begin = since.max(self.links[link].free_at());
        let Some(packet) = ends.next_packet(begin, slot, u32::MAX) else {
            self.trains[host as usize].pop();
            return Step::Sent;
        };
        if ends.flows.get(slot).unsent() == 0 {
            self.trains[host as usize].pop();
            ends.sent_all(slot, self);
        }
        self.send(link as u32, since, packet);
        Step::Sent
    }

    /// Packets and their wire bytes that wait at a host's interface, beside what its link has taken.
    pub fn waiting(&self, host: u32, ends: &Endpoints) -> (u64, u64) {
        let link = &self.links[self.uplinks[host as usize] as usize];
        let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
        match &self.nics {
            None => self.trains[host as usize].iter().map(|slot| ends.unsent(slot, link)).fold((0, 0), add),
            Some(nics) => nics[host as usize].waiting(link, ends).map(|w| w.1).fold((0, 0), add),
        }
    }

    /// The fabric, to keep.
    pub fn fabric_shared(&self) -> Arc<Fabric> {
        Arc::clone(&self.fabric)
    }

    /// Packets and their bytes (without framing) that were sent and have not arrived.
    pub fn in_flight(&self) -> (u64, u64) {
        let (mut packets, mut bytes) = self.beyond;
        let mut add = |n: u64, b: u64| {
            packets += n;
            bytes += b;
        };
        for link in &self.links {
            for id in link.in_flight(&self.packets) {
                add(1, u64::from(self.packets.get(id).bytes));
            }
        }
        for nic in self.nics.iter().flatten() {
            for packet in nic.packets() {
                add(1, u64::from(packet.bytes));
            }
        }
        (packets, bytes)
    }

    /// A flow holds bytes for a queue of its host, or has none any more.
    pub fn hold(&mut self, now: SimTime, then: Then, ends: &mut Endpoints) {
        match (then, &mut self.nics) {
            (Then::Nothing, _) | (Then::Withdraw { .. }, None) => {}
            (Then::Queue { host, slot, .. }, None) => self.train(now, host, slot, ends),
            (Then::Queue { host, destination, slot }, Some(nics)) => {
                let link = &self.links[self.uplinks[host as usize] as usize];
                let was_empty = nics[host as usize].push_flow(now, destination, slot, link, ends);
                self.note_arrival(host, was_empty);
                self.wake(now, host);
            }
            (Then::Withdraw { host, destination, slot }, Some(nics)) => {
                let empty = nics[host as usize].withdraw(destination, slot, ends);
                self.note_departure(host, empty);
            }
        }
    }

    fn note_arrival(&mut self, host: u32, was_empty: bool) {
        let told = match self.watch {
            Watch::Nothing => false,
            Watch::Arrivals | Watch::Everything => true,
            Watch::Transitions => was_empty,
        };
        if told {
            self.changed.push(host);
        }
    }

    fn note_departure(&mut self, host: u32, empty: bool) {
        if empty && matches!(self.watch, Watch::Transitions | Watch::Everything) {
            self.changed.push(host);
        }
    }

    /// Has a queued interface served as soon as its link is free.
    fn wake(&mut self, now: SimTime, host: u32) {
        let free = self.links[self.uplinks[host as usize] as usize].free_at();
        self.serve_at(now.max(free), host);
    }

    /// Has a queued interface served at `at`, unless it is earlier; another event that is still pending for it becomes stale.
    fn serve_at(&mut self, at: SimTime, host: u32) {
        if let Some(nics) = &mut self.nics {
            let nic = &mut nics[host as usize];
            if at < nic.armed {
                nic.armed = at;
                self.calendar.push(at, Key::new(Phase::Send, host, 0));
            }
        }
    }

    /// A gate of a host opens; windows that have ended are given back.
    pub fn open(&mut self, now: SimTime, host: u32, window: Window) -> Vec<Window> {
        let Some(nics) = &mut self.nics else { return Vec::new() };
        let ended = nics[host as usize].open(now, window);
        self.wake(now, host);
        ended
    }

    /// Takes out the windows of a host that have ended at `now`.
    pub fn expire(&mut self, now: SimTime, host: u32) -> Vec<Window> {
        self.nics.as_mut().map_or_else(Vec::new, |nics| nics[host as usize].expire(now))
    }

    /// What waits at a host, per destination, and flow by flow where `bursts`; its clock is `ahead` of the truth.
    pub fn backlog(&self, host: u32, ahead: Duration, bursts: bool, ends: &Endpoints) -> Backlog {
        let link = &self.links[self.uplinks[host as usize] as usize];
        let of = |nics: &Vec<Nic>| nics[host as usize].backlog(link, ahead, bursts, ends);
        self.nics.as_ref().map_or_else(Backlog::default, of)
    }

    /// Has all interfaces count what arrives.
    pub fn count_arrivals(&mut self) {
        self.nics.iter_mut().flatten().for_each(Nic::count_arrivals);
    }

    /// A queued interface may be free.
    pub fn serve(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) {
        let Some(nics) = &mut self.nics else { return };
        let nic = &mut nics[host as usize];
        if nic.armed != now {
            return;
        }
        nic.armed = SimTime::MAX;
        let uplink = self.uplinks[host as usize];
        let link = &self.links[uplink as usize];
        if link.free_at() > now {
            return self.wake(now, host);
        }
        let rate = self.fabric.link(LinkId(uplink)).spec.rate;
        match nic.serve(now, link, rate, ends) {
            Served::Packet { packet, emptied, last } => {
                let departure = self.send(uplink, now, packet);
                if let Some(slot) = emptied {
                    ends.sent_all(slot, self);
                }
                self.note_departure(host, last);
                let nics = self.nics.as_ref().expect("still there");
                if !nics[host as usize].is_empty() {
                    self.serve_at(departure, host);
                }
            }
            Served::Wait(until) => self.serve_at(until, host),
            Served::Idle => {}
        }
    }

    /// Puts a packet on a link that has no bound, ready at `ready`.
    #[inline]
    pub fn send(&mut self, link: u32, ready: SimTime, packet: Packet) -> SimTime {
        let state = &mut self.links[link as usize];
        let wire = state.wire(packet.bytes);
        let sending = state.accept(ready, ready, wire, i64::MAX).expect("a host's queue has no bound");
        let mut packet = packet;
        if let Some(survival) = state.survival(wire) {
            corrupt(&mut self.errors[link as usize], survival, &mut packet);
        }
        let id = self.packets.insert(packet);
        let state = &mut self.links[link as usize];
        if let Some(latencies) = &mut self.latencies {
            latencies.begin(id, SimTime(sending.departure.0 - state.line_time(wire)));
        }
        if state.fly(sending.departure, id, &mut self.packets) {
            self.calendar.push(state.arrival(sending.departure, wire), Key::new(Phase::Arrive, link, 0));
        }
        sending.departure
    }

    /// Takes the first pending event, if it comes before `bound`.
    ///
    /// Where a day of the calendar opens, what its events need is read at once, one read not waiting for another: in a large
    /// network most of it is far from the processor.
    #[inline]
    pub fn next_event(&mut self, bound: Event) -> Option<Event> {
        let (links, packets) = (&self.links, &self.packets);
        self.calendar.pop_before_and(bound, |day| {
            let mut read = 0;
            for event in day.iter().filter(|e| e.key.phase() == Phase::Arrive) {
                read ^= packets.next(links[event.key.element() as usize].first());
            }
            core::hint::black_box(read);
        })
    }

    /// The first packet in flight on `link` arrives.
    #[inline]
    pub fn arrive(&mut self, at: SimTime, link: u32, ends: &mut Endpoints) {
        let state = &mut self.links[link as usize];
        let (id, next) = state.land(&self.packets);
        let (to, host) = (state.to, state.host);
        if let Some(next) = next {
            self.calendar.push(next, Key::new(Phase::Arrive, link, 0));
        }
        if host != NONE && self.trains[host as usize].front().is_some() {
            self.refill(at, host, ends);
        }
        self.hops += 1;
        if to < self.hosts {
            if let Some(latencies) = &mut self.latencies {
                latencies.end(id, at);
            }
            let packet = self.packets.remove(id);
            if packet.flags & flags::CORRUPT != 0 {
                self.lose(link, Loss::BitError, packet, ends);
            } else {
                ends.receive(at, packet, self);
            }
        } else {
            let state = &self.links[link as usize];
            let lag = state.tail_lag(state.wire(self.packets.get(id).bytes));
            self.forward(at, at + lag, link, NodeId(to), id, ends);
        }
    }

    /// A switch sends a packet on that it may act on at `at` and has wholly at `whole`.
    #[inline]
    fn forward(&mut self, at: SimTime, whole: SimTime, from: u32, node: NodeId, id: u32, ends: &mut Endpoints) {
        let packet = self.packets.get_mut(id);
        if packet.flags & flags::CORRUPT != 0 {
            let packet = self.packets.remove(id);
            return self.lose(from, Loss::BitError, packet, ends);
        }
        let destination = HostId(packet.destination);
        let out = if packet.path == 0 {
            self.routes.next(node.0 - self.hosts, packet.destination, packet.hash)
        } else {
            self.fabric.tagged_link(node, destination, PathTag(packet.path - 1))
        };
        let switch = &mut self.switches[(node.0 - self.hosts) as usize];
        let (ready, whole) = (at + switch.latency, whole + switch.latency);
        let bytes = packet.bytes;
        let wire = self.links[out.index()].wire(bytes);
        let room = if self.links[out.index()].is_shared() {
            let shared = switch.shared.as_mut().expect("a shared memory");
            shared.room(ready, out.0, wire, &self.links)
        } else {
            i64::MAX
        };
        let link = &mut self.links[out.index()];
        let Ok(sending) = link.accept(ready, whole, wire, room) else {
            let packet = self.packets.remove(id);
            return self.lose(out.0, Loss::BufferFull, packet, ends);
        };
        if sending.mark && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
        }
        if let Some(survival) = link.survival(wire) {
            corrupt(&mut self.errors[out.index()], survival, packet);
        }
        if self.passive && link.to == destination.0 {
            let arrival = link.arrival(sending.departure, wire);
            if let Some(latencies) = self.latencies.as_mut().filter(|_| arrival <= self.stop) {
                latencies.end(id, arrival);
            }
            let packet = self.packets.remove(id);
            self.passive_arrival(arrival, out.0, packet, ends);
        } else if link.fly(sending.departure, id, &mut self.packets) {
            self.calendar.push(link.arrival(sending.departure, wire), Key::new(Phase::Arrive, out.0, 0));
        }
    }

    /// Books an arrival that nothing else waits for, ahead of its time.
    #[inline]
    fn passive_arrival(&mut self, at: SimTime, link: u32, packet: Packet, ends: &mut Endpoints) {
        if at > self.stop {
            // Still in flight when the run ends.
            self.beyond.0 += 1;
            self.beyond.1 += u64::from(packet.bytes);
            return;
        }
        self.hops += 1;
        if packet.flags & flags::CORRUPT != 0 {
            self.lose(link, Loss::BitError, packet, ends);
        } else {
            ends.receive(at, packet, self);
        }
    }

    fn lose(&mut self, link: u32, reason: Loss, packet: Packet, ends: &mut Endpoints) {
        let count = self.losses.entry((link, reason)).or_default();
        count.0 += 1;
        count.1 += u64::from(packet.bytes);
        ends.lost(packet);
    }
}

impl Shared {
    /// Line time that port `out` may hold with this packet: what dynamic thresholds leave it.
    fn room(&mut self, ready: SimTime, out: u32, wire: u32, links: &[LinkState]) -> i64 {
        let own = links[out as usize].backlog_bytes(ready) as f64;
        let wire = f64::from(wire);
        let fits = |used: f64| own + wire <= self.alpha * (self.memory - used) && used + wire <= self.memory;
        if self.always_ask || !fits(self.at_most) {
            self.at_most = self.ports.iter().map(|&l| links[l as usize].backlog_bytes(ready) as f64).sum();
            if !fits(self.at_most) {
                return -1;
            }
        }
        self.at_most += wire;
        i64::MAX
    }
}

/// Draws whether a bit of the frame is wrong.
fn corrupt(stream: &mut Option<Xoshiro256PlusPlus>, survival: f64, packet: &mut Packet) {
    let stream = stream.as_mut().expect("a link with errors has a stream");
    // 53 random bits, uniform in [0, 1).
    let uniform = (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    if uniform >= survival {
        packet.flags |= flags::CORRUPT;
    }
}

/// The fabric's routes, as the event loop wants them: two loads for a single path.
#[derive(Debug)]
struct Routes {
    hosts: u32,
    /// Per host: its switch, and the link that ends at it.
    attached: Vec<(u32, u32)>,
    switches: u32,
    /// Per switch and destination switch: a link, or `MANY` and an index into `many`.
    table: Vec<u32>,
    many: Vec<Box<[LinkId]>>,
}

const MANY: u32 = 1 << 31;

impl Routes {
    fn new(fabric: &Fabric) -> Self {
        let hosts = fabric.hosts();
        let switches = fabric.switches() as u32;
        let over = |h: u32| fabric.link(fabric.uplink(HostId(h))).to.0.saturating_sub(hosts);
        let attached: Vec<_> = (0..hosts).map(|h| (over(h), fabric.downlink(HostId(h)).0)).collect();
        let mut table = vec![u32::MAX; (switches * switches) as usize];
        let mut many: Vec<Box<[LinkId]>> = Vec::new();
        let mut seen = vec![false; switches as usize];
        for h in 0..hosts {
            let g = attached[h as usize].0;
            if switches == 0 || std::mem::replace(&mut seen[g as usize], true) {
                continue;
            }
            for s in 0..switches {
                table[(s * switches + g) as usize] = match fabric.candidates(NodeId(hosts + s), HostId(h)) {
                    Candidates::Host(_) => u32::MAX,
                    Candidates::Set([one]) => one.0,
                    Candidates::Set(set) => {
                        if many.last().is_none_or(|last| **last != *set) {
                            many.push(set.into());
                        }
                        MANY | (many.len() - 1) as u32
                    }
                };
            }
        }
        Self { hosts, attached, switches, table, many }
    }

    #[inline]
    fn next(&self, switch: u32, destination: u32, hash: u32) -> LinkId {
        let (over, link) = self.attached[destination as usize];
        if over == switch {
            return LinkId(link);
        }
        let route = self.table[(switch * self.switches + over) as usize];
        if route & MANY == 0 {
            return LinkId(route);
        }
        let set = &self.many[(route & !MANY) as usize];
        set[ecmp_index(hash, self.hosts + switch, set.len() as u32) as usize]
    }
}

impl Wire for Network {
    #[inline]
    fn transmit(&mut self, now: SimTime, host: u32, packet: Packet) {
        if let Some(nics) = &mut self.nics {
            let link = &self.links[self.uplinks[host as usize] as usize];
            let was_empty = nics[host as usize].push_packet(now, packet, link);
            self.note_arrival(host, was_empty);
            return self.wake(now, host);
        }
        let link = self.uplinks[host as usize];
        self.send(link, now, packet);
    }

    #[inline]
    fn arm(&mut self, at: SimTime, number: u32, slot: u32) {
        self.calendar.push(at, Key::new(Phase::Timer, number, slot));
    }

    fn report(&mut self, now: SimTime, _from: u32, number: u32, slot: u32, report: Report) {
        self.reported.0 += 1;
        self.reported.1 += report_bytes(&report);
        self.report_sequence += 1;
        self.reports.insert((now + self.report_latency, number, self.report_sequence), (slot, report));
    }
}
