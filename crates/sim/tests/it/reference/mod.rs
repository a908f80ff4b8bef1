//! A second engine, written to be obviously right and slow: a binary heap, a queue of packets at
//! every port, and two events per hop (the last bit leaves; the packet arrives).
//!
//! It asks the list of failures each time whether something works, and the list of changes which
//! rate a link has. It shares the hosts' endpoints with the engine under test, and nothing of the
//! network.

mod by_input;
mod gates;
mod host_lines;
mod in_turn;
mod pfc;

pub use gates::{Gate, Gates, Kind};

use by_input::ByInput;
use host_lines::HostLine;
use in_turn::InTurn;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use timeplane_model::{Buffer, Bytes, Candidates, Duration, Fabric, Forwarding, HostId, LinkId, NodeId, Rate};
use timeplane_scenario::{Change, Element, Failure, Wires};
use timeplane_sim::SimTime;
use timeplane_sim::hosts::endpoints::{Endpoints, HostAction, Offer, Service, Timers, Wire};
use timeplane_sim::network::packet::{Packet, flags};
use timeplane_transport::RepairReport;
use timeplane_workload::{FlowArrival, Streams};

/// Events, in the order within one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Something fails or returns, or becomes known.
    Change,
    /// A PFC frame takes effect: the sender on a link pauses these priorities.
    Obey(u32, u8),
    /// The last bit of the packet on a link leaves.
    Depart(u32, u32),
    /// A packet may be acted on at the far end of a link.
    Arrive(u32, u32),
    /// A packet that came over this link, with this number, has passed the switch and joins an
    /// output queue.
    Join(u32, u32, u32),
    /// A packet has spent its time within a host, at the end of a link.
    Pass(u32, u32),
    Start(u32),
    Report(u32, u32),
    /// A gate opens.
    Gate(u32),
    /// With PFC, a host or the port of a link behind all hosts may be free. A host that serves
    /// flows in turn or behind gates may be free.
    Send(u32),
    Timer(u32, u32),
}

struct Waiting {
    packet: Packet,
    wire: u32,
    whole: i64,
    since: i64,
    held: Option<Held>,
}

/// The room that a packet takes at an input: its link, its priority, and wire bytes.
type Held = (u32, u8, u32);

/// A packet in a switch: when it is complete, and its number.
type Passing = (Packet, i64, u32);

struct Flying {
    packet: Packet,
    wire: u32,
    id: u32,
    departure: i64,
    /// When its first bit arrives at the far end.
    first: i64,
}

#[derive(Default)]
struct Port {
    queue: VecDeque<Waiting>,
    /// When the last bit of the current packet leaves.
    departure: Option<i64>,
    /// Flows that a host's interface asks for packets, with the times at which they came.
    flows: VecDeque<(u32, i64)>,
    /// Flows that a host serves in turn.
    turns: Vec<InTurn>,
    /// With PFC: the packet that leaves, the priorities that may not send, the bytes held by
    /// priority of the link's input, the priorities to pause, and those that the sender knows of.
    leaving: Option<Held>,
    /// With memories of inputs: what waits by input, and the bytes held of the link's input.
    by_input: ByInput,
    stored: u64,
    obeys: u8,
    held: [u64; 8],
    asked: u8,
    told: u8,
    /// Which of the expected departures is still valid.
    generation: u32,
    /// Packets that are being sent or are on the wire.
    flying: VecDeque<Flying>,
    errors: Option<Xoshiro256PlusPlus>,
}

pub struct Reference {
    fabric: Arc<Fabric>,
    heap: BinaryHeap<Reverse<(i64, What)>>,
    now: i64,
    ports: Vec<Port>,
    joining: BTreeMap<(u32, u32), VecDeque<Passing>>,
    /// The next number of a packet on a wire or in a switch.
    number: u32,
    failures: Vec<Failure>,
    changes: Vec<Change>,
    /// The fabric as switches know it.
    view: Fabric,
    /// The MTU, where switches have PFC.
    pfc: Option<u32>,
    /// Whether hosts serve flows in turn.
    pub fair: bool,
    /// When hosts may send, if gates decide.
    pub gates: Option<Gates>,
    /// The hosts' own time, by link.
    host_lines: BTreeMap<u32, HostLine>,
    /// Packets that hosts handed over while they could not send.
    refused: Vec<(u32, &'static str, Packet)>,
    reports: BTreeMap<(u32, u32), (u32, RepairReport)>,
    report_sequence: u32,
    report_latency: Duration,
    pub losses: BTreeMap<(u32, &'static str), u64>,
    pub hops: u64,
}

impl Reference {
    pub fn new(fabric: Arc<Fabric>, streams: &Streams, report_latency: Duration) -> Self {
        let ports = fabric.links().iter().enumerate().map(|(l, link)| Port {
            errors: (link.spec.bit_error > 0.0).then(|| streams.fast("link", l as u64, "bit errors")),
            ..Port::default()
        });
        Self {
            heap: BinaryHeap::new(),
            now: 0,
            ports: ports.collect(),
            joining: BTreeMap::new(),
            number: 0,
            failures: Vec::new(),
            changes: Vec::new(),
            view: (*fabric).clone(),
            pfc: None,
            fair: false,
            gates: None,
            host_lines: BTreeMap::new(),
            refused: Vec::new(),
            reports: BTreeMap::new(),
            report_sequence: 0,
            report_latency,
            losses: BTreeMap::new(),
            hops: 0,
            fabric,
        }
    }

    pub fn fail(&mut self, failures: &[Failure]) {
        self.failures = failures.to_vec();
        let times = failures.iter().flat_map(|f| {
            let until = f.until.map(|u| [u, u + f.detection]);
            [f.at, f.at + f.detection].into_iter().chain(until.into_iter().flatten())
        });
        let times: BTreeSet<i64> = times.map(|t| t.as_ps()).collect();
        times.into_iter().for_each(|t| self.at(t, What::Change));
    }

    pub fn change_rates(&mut self, changes: &[Change]) {
        self.changes = changes.to_vec();
    }

    /// The current rate of a link: the latest change, and of simultaneous changes the one that was
    /// written last.
    fn rate(&self, link: u32) -> Rate {
        let at = self.fabric.link(LinkId(link));
        let of = |wires: Wires| match wires {
            Wires::All => true,
            Wires::Wire(w) => link / 2 == w,
            Wires::Between([a, b]) => [(a, b), (b, a)].contains(&(at.from.0, at.to.0)),
        };
        let now = |c: &Change| {
            let since = self.now - c.at.as_ps();
            let turn = if since < 0 { None } else { Some(c.every.map_or(0, |e| since / e.as_ps())) };
            turn.map(|t| (c.at.as_ps() + t * c.every.map_or(0, Duration::as_ps), c.rates[t as usize % c.rates.len()]))
        };
        let changes = self.changes.iter().filter(|c| of(c.wires)).filter_map(now);
        // Among equal times the last one wins.
        changes.max_by_key(|c| c.0).map_or(at.spec.rate, |c| c.1)
    }

    pub fn run(&mut self, ends: &mut Endpoints, arrivals: &[FlowArrival]) {
        for (i, a) in arrivals.iter().enumerate() {
            self.at(a.at.as_ps(), What::Start(i as u32));
        }
        self.arm_gates();
        while let Some(Reverse((at, what))) = self.heap.pop() {
            assert!(at >= self.now, "time runs backwards");
            self.now = at;
            let now = SimTime::from_ps(at);
            match what {
                What::Start(i) => {
                    let action = ends.start(now, &arrivals[i as usize], self);
                    self.hold(action, ends);
                }
                What::Change => self.change(ends),
                What::Obey(link, priorities) => {
                    self.ports[link as usize].obeys = priorities;
                    self.begin(link, ends);
                }
                What::Send(host) if self.gates.is_some() && host < self.fabric.hosts() => self.serve_gates(host, ends),
                What::Send(host) if self.fair && host < self.fabric.hosts() => self.serve_in_turn(host, ends),
                What::Gate(gate) => self.gate_opens(gate, ends, arrivals.len()),
                What::Send(key) if self.has_memories() => self.serve_by_input(key - self.fabric.hosts()),
                What::Send(key) => {
                    let uplink = |h| self.fabric.uplink(HostId(h)).0;
                    self.serve(key.checked_sub(self.fabric.hosts()).unwrap_or_else(|| uplink(key)), ends);
                }
                What::Depart(link, generation) => {
                    if self.ports[link as usize].generation == generation {
                        self.ports[link as usize].departure = None;
                        if self.is_by_input(link) { self.left(link) } else { self.next(link, ends) }
                    }
                }
                What::Arrive(link, id) => self.arrive(link, id, ends),
                What::Pass(link, id) => self.pass(link, id, ends),
                What::Join(from, id, out) => {
                    let waiting = self.joining.get_mut(&(from, out)).unwrap();
                    if waiting.front().is_some_and(|w| w.2 == id) {
                        let (packet, whole, _) = waiting.pop_front().unwrap();
                        let from = from % self.ports.len() as u32;
                        let wire = self.fabric.link(LinkId(from)).spec.framing.wire(packet.bytes);
                        let held = (self.pfc.is_some() || self.has_memories()).then(|| (from, packet.class(), wire));
                        self.join(out, packet, whole, held, ends);
                    }
                }
                What::Timer(flow, key) => {
                    let action = ends.timer(now, flow, key, self);
                    self.hold(action, ends);
                }
                What::Report(flow, sequence) => {
                    let (key, report) = self.reports.remove(&(flow, sequence)).unwrap();
                    let action = ends.report(now, flow, key, &report, self);
                    self.hold(action, ends);
                }
            }
            for (link, reason, packet) in std::mem::take(&mut self.refused) {
                self.lose(link, reason, packet, ends);
            }
        }
    }

    /// Whether an element is one of these wires or nodes.
    fn is(&self, element: Element, part: Result<u32, u32>) -> bool {
        let node = |n: u32| self.fabric.hosts() + n;
        match (element, part) {
            (Element::Wire(w), Ok(wire)) => w == wire,
            (Element::Between([a, b]), Ok(wire)) => {
                let link = self.fabric.link(LinkId(2 * wire));
                [(a, b), (b, a)].contains(&(link.from.0, link.to.0))
            }
            (Element::Switch(s), Err(n)) => node(s) == n,
            (Element::Host(h), Err(n)) => h == n,
            _ => false,
        }
    }

    /// Whether a wire (`Ok`) or a node (`Err`) is down at some time in the closed interval, as seen
    /// with this delay.
    fn down(&self, part: Result<u32, u32>, from: i64, to: i64, detected: bool) -> bool {
        self.failures.iter().any(|f| {
            let later = if detected { f.detection.as_ps() } else { 0 };
            let until = f.until.map_or(i64::MAX, |u| u.as_ps() + later);
            self.is(f.element, part) && f.at.as_ps() + later <= to && from < until
        })
    }

    /// Why a link accepts nothing now.
    fn link_down(&self, link: u32) -> Option<&'static str> {
        let from = self.fabric.link(LinkId(link)).from.0;
        if self.down(Err(from), self.now, self.now, false) {
            return Some(if from < self.fabric.hosts() { "host_down" } else { "switch_down" });
        }
        self.down(Ok(link / 2), self.now, self.now, false).then_some("link_down")
    }

    fn change(&mut self, ends: &mut Endpoints) {
        let wires = 0..self.fabric.links().len() as u32 / 2;
        let parts: Vec<_> = wires.map(Ok).chain((0..self.fabric.nodes().len() as u32).map(Err)).collect();
        let at = |t: i64, part| self.down(part, t, t, false);
        let (before, now) = (self.now - 1, self.now);
        let fail: Vec<_> = parts.iter().copied().filter(|&p| !at(before, p) && at(now, p)).collect();
        for part in fail {
            for link in 0..self.fabric.links().len() as u32 {
                let from = self.fabric.link(LinkId(link)).from.0;
                match part {
                    Ok(wire) if link / 2 == wire => self.cut(link, true, "link_down", ends),
                    Err(node) if from == node => {
                        let why = if from < self.fabric.hosts() { "host_down" } else { "switch_down" };
                        self.cut(link, false, why, ends);
                    }
                    _ => {}
                }
            }
        }
        // TCP does not know that its host cannot send.
        for host in 0..self.fabric.hosts() {
            let uplink = self.fabric.uplink(HostId(host)).0;
            if !ends.is_passive() && self.link_down(uplink).is_some() {
                for waiting in std::mem::take(&mut self.ports[uplink as usize].turns) {
                    ends.interface_stopped(SimTime::from_ps(now), waiting.key, self);
                }
            }
        }
        // Packets and flows that waited at hosts continue.
        for host in (0..self.fabric.hosts()).map(HostId) {
            self.begin(self.fabric.uplink(host).0, ends);
        }
        let dead = parts.iter().filter(|&&p| self.down(p, now, now, true)).flat_map(|&p| match p {
            Ok(wire) => vec![LinkId(2 * wire)],
            Err(node) => self.fabric.links_of(NodeId(node)),
        });
        self.view = self.fabric.without(dead);
    }

    /// A port loses all packets that have not left it, and those on the wire where `all`.
    fn cut(&mut self, link: u32, all: bool, reason: &'static str, ends: &mut Endpoints) {
        let now = self.now;
        let port = &mut self.ports[link as usize];
        port.departure = None;
        port.generation += 1;
        let kept: VecDeque<Flying> = port.flying.drain(..).collect();
        let mut lost = Vec::new();
        for f in kept {
            if all || f.departure > now {
                lost.push(f.packet);
            } else {
                port.flying.push_back(f);
            }
        }
        lost.extend(port.queue.drain(..).map(|w| w.packet));
        for (_, waiting) in self.joining.iter_mut().filter(|((_, out), _)| *out == link) {
            lost.extend(waiting.drain(..).map(|w| w.0));
        }
        for packet in lost {
            self.lose(link, reason, packet, ends);
        }
    }

    /// A link that is free starts with its next packet.
    fn begin(&mut self, link: u32, ends: &mut Endpoints) {
        let departure = self.ports[link as usize].departure;
        let from = self.fabric.link(LinkId(link)).from.0;
        if self.pfc.is_some() || self.in_turn(link) {
            let key = if from < self.fabric.hosts() { from } else { self.fabric.hosts() + link };
            self.at(departure.map_or(self.now, |d| d.max(self.now)), What::Send(key));
        } else if departure.is_none() {
            self.next(link, ends);
        }
    }

    /// A free port sends its news, or the first packet of the first priority that may go. A host's
    /// interface takes the packet that came first.
    fn serve(&mut self, link: u32, ends: &mut Endpoints) {
        let (now, hosts) = (self.now, self.fabric.hosts());
        let at = *self.fabric.link(LinkId(link));
        if self.ports[link as usize].departure.is_some_and(|d| d > now) {
            return;
        }
        self.ports[link as usize].departure = None;
        if let Some((from, priority, wire)) = self.ports[link as usize].leaving.take() {
            let (_, resume_at, _) = self.bounds(from);
            let input = &mut self.ports[from as usize];
            input.held[usize::from(priority)] -= u64::from(wire);
            if input.held[usize::from(priority)] <= resume_at && input.asked & 1 << priority != 0 {
                input.asked &= !(1 << priority);
                self.begin(from ^ 1, ends);
            }
        }
        let input = &mut self.ports[link as usize ^ 1];
        if at.from.0 >= hosts && input.told != input.asked {
            input.told = input.asked;
            let told = input.told;
            let sent = now + self.line(link, 84);
            let reaction = self.fabric.switch(at.from).unwrap().pfc.unwrap().reaction;
            self.ports[link as usize].departure = Some(sent);
            self.at(sent + at.spec.propagation.as_ps() + reaction.as_ps(), What::Obey(link ^ 1, told));
            return self.begin(link, ends);
        }
        let port = &mut self.ports[link as usize];
        let may = |class: u8| port.obeys & 1 << class == 0;
        let by_host = at.from.0 < hosts;
        let order = |since, packet: &Packet| {
            if by_host { (since, packet.destination, packet.class()) } else { (0, 0, packet.class()) }
        };
        let waiting = port.queue.iter().enumerate().filter(|(_, w)| may(w.packet.class()));
        let first = waiting.min_by_key(|(i, w)| (order(w.since, &w.packet), *i)).map(|(i, _)| i);
        let flows = port.flows.iter().enumerate().map(|(i, &(key, since))| (i, since, ends.flows.get(key)));
        let flows = flows.filter(|(_, _, flow)| may(flow.sender.class));
        let first_flow =
            flows.min_by_key(|(i, since, flow)| (*since, flow.destination, flow.sender.class, *i)).map(|t| t.0);
        let w = if let Some(place) = first_flow {
            let (key, since) = port.flows[place];
            let mut packet = ends.next_packet(SimTime::from_ps(now), key, u32::MAX).unwrap();
            if ends.flows.get(key).sender.unsent() == 0 {
                self.ports[link as usize].flows.remove(place);
            }
            self.corrupt(link, &mut packet);
            Waiting { packet, wire: at.spec.framing.wire(packet.bytes), whole: 0, since, held: None }
        } else {
            let Some(first) = first else { return };
            let mut w = port.queue.remove(first).unwrap();
            self.corrupt(link, &mut w.packet);
            w
        };
        let departure = now + self.line(link, w.wire);
        let id = self.numbered();
        let arrival = departure + at.spec.propagation.as_ps();
        let port = &mut self.ports[link as usize];
        port.departure = Some(departure);
        port.leaving = w.held;
        port.flying.push_back(Flying { packet: w.packet, wire: w.wire, id, departure, first: now });
        self.at(arrival, What::Arrive(link, id));
        self.begin(link, ends);
    }

    fn at(&mut self, at: i64, what: What) {
        self.heap.push(Reverse((at, what)));
    }

    /// A flow joins its host's queue.
    fn hold(&mut self, action: HostAction, ends: &mut Endpoints) {
        if let HostAction::Queue { host, destination, key } = action {
            let link = self.fabric.uplink(HostId(host)).0;
            if self.fair {
                let sender = &mut ends.flows.get_mut(key).sender;
                sender.queued = true;
                let offer = Offer { host, destination, flow: key, class: sender.class, credit: None };
                return self.offer(SimTime::from_ps(self.now), &offer);
            }
            self.ports[link as usize].flows.push_back((key, self.now));
            self.begin(link, ends);
        }
        // Packets that the flow handed over by itself.
        for host in (0..self.fabric.hosts()).map(HostId) {
            self.begin(self.fabric.uplink(host).0, ends);
        }
    }

    fn line(&self, link: u32, wire: u32) -> i64 {
        self.rate(link).time_for(Bytes::new(u64::from(wire))).as_ps()
    }

    /// How long a link still sends.
    fn backlog(&self, link: u32) -> i64 {
        let port = &self.ports[link as usize];
        let mut free = port.departure.unwrap_or(self.now);
        for w in port.queue.iter().chain(port.by_input.all()) {
            free = (free + self.line(link, w.wire)).max(w.whole);
        }
        free - self.now
    }

    fn backlog_bytes(&self, link: u32) -> f64 {
        let bits = self.backlog(link) as u128 * u128::from(self.rate(link).as_bps());
        bits.div_ceil(8_000_000_000_000) as f64
    }

    fn join(&mut self, link: u32, mut packet: Packet, whole: i64, held: Option<Held>, ends: &mut Endpoints) {
        let spec = self.fabric.link(LinkId(link)).spec;
        let from = self.fabric.link(LinkId(link)).from;
        let wire = spec.framing.wire(packet.bytes);
        let rate = self.rate(link);
        if let Some(switch) = self.fabric.switch(from).copied() {
            let backlog = self.backlog(link);
            let fits = match switch.buffer {
                Buffer::Unbounded | Buffer::PerInput(_) => true,
                Buffer::PerPort(limit) => backlog + self.line(link, wire) <= rate.time_for(limit).as_ps(),
                Buffer::Shared { memory, alpha } => {
                    let ports = (0..self.ports.len() as u32).filter(|&l| self.fabric.link(LinkId(l)).from == from);
                    let used: f64 = ports.map(|l| self.backlog_bytes(l)).sum();
                    let memory = memory.get() as f64;
                    let own = self.backlog_bytes(link);
                    own + f64::from(wire) <= alpha * (memory - used) && used + f64::from(wire) <= memory
                }
            };
            if !fits {
                return self.lose(link, "buffer_full", packet, ends);
            }
            let marks = switch.ecn.is_some_and(|k| backlog >= rate.time_for(k).as_ps());
            if marks && packet.flags & flags::ECT != 0 {
                packet.flags |= flags::CE;
            }
        }
        if self.is_by_input(link) {
            return self.queue_by_input(link, Waiting { packet, wire, whole, since: 0, held });
        }
        // With PFC, bits go wrong when they are sent.
        if self.pfc.is_none() {
            self.corrupt(link, &mut packet);
        }
        self.ports[link as usize].queue.push_back(Waiting { packet, wire, whole, since: 0, held });
        self.begin(link, ends);
    }

    /// Draws whether a bit of a packet is wrong.
    fn corrupt(&mut self, link: u32, packet: &mut Packet) {
        let spec = self.fabric.link(LinkId(link)).spec;
        if let Some(stream) = &mut self.ports[link as usize].errors {
            let uniform = (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let wire = f64::from(spec.framing.wire(packet.bytes));
            if uniform >= libm::exp(8.0 * libm::log1p(-spec.bit_error) * wire) {
                packet.flags |= flags::CORRUPT;
            }
        }
    }

    /// A free link starts with the next packet.
    fn next(&mut self, link: u32, ends: &mut Endpoints) {
        if self.link_down(link).is_some() {
            return;
        }
        if let (true, Some(&(key, _))) =
            (self.ports[link as usize].queue.is_empty(), self.ports[link as usize].flows.front())
        {
            let mut packet = ends.next_packet(SimTime::from_ps(self.now), key, u32::MAX).unwrap();
            if ends.flows.get(key).sender.unsent() == 0 {
                self.ports[link as usize].flows.pop_front();
            }
            self.corrupt(link, &mut packet);
            let wire = self.fabric.link(LinkId(link)).spec.framing.wire(packet.bytes);
            self.ports[link as usize].queue.push_back(Waiting { packet, wire, whole: 0, since: 0, held: None });
        }
        let Some(w) = self.ports[link as usize].queue.pop_front() else { return };
        let departure = (self.now + self.line(link, w.wire)).max(w.whole);
        let whole = departure + self.fabric.link(LinkId(link)).spec.propagation.as_ps();
        let first = whole - self.line(link, w.wire);
        let id = self.numbered();
        let port = &mut self.ports[link as usize];
        port.departure = Some(departure);
        port.flying.push_back(Flying { packet: w.packet, wire: w.wire, id, departure, first });
        let generation = port.generation;
        self.at(departure, What::Depart(link, generation));
        self.at(whole - self.lag(link, w.wire), What::Arrive(link, id));
    }

    fn numbered(&mut self) -> u32 {
        self.number += 1;
        self.number
    }

    /// How much earlier than its last bit a packet may be acted on at the far end.
    fn lag(&self, link: u32, wire: u32) -> i64 {
        let to = self.fabric.switch(self.fabric.link(LinkId(link)).to);
        if to.is_some_and(|s| s.forwarding == Forwarding::CutThrough) {
            self.line(link, wire) - self.line(link, wire.min(64))
        } else {
            0
        }
    }

    fn arrive(&mut self, link: u32, id: u32, ends: &mut Endpoints) {
        let flying = &mut self.ports[link as usize].flying;
        if flying.front().is_none_or(|f| f.id != id) {
            return;
        }
        let Flying { packet, wire, first, .. } = flying.pop_front().unwrap();
        self.hops += 1;
        let to = self.fabric.link(LinkId(link)).to;
        if self.down(Err(to.0), first, self.now, false) {
            let why = if to.0 < self.fabric.hosts() { "host_down" } else { "switch_down" };
            return self.lose(link, why, packet, ends);
        }
        if !self.waits_in_host(link, packet, wire) {
            self.go_on([link; 2], packet, wire, ends);
        }
    }

    /// A packet has come over a link, and is not within a host. Those of one instant join their
    /// queues in the `order` of links, and after them those that were within a host.
    fn go_on(&mut self, [link, order]: [u32; 2], packet: Packet, wire: u32, ends: &mut Endpoints) {
        if packet.flags & flags::CORRUPT != 0 {
            return self.lose(link, "bit_error", packet, ends);
        }
        let to = self.fabric.link(LinkId(link)).to;
        let now = SimTime::from_ps(self.now);
        let Some(switch) = self.fabric.switch(to).copied() else {
            ends.receive(now, packet, self);
            return self.hold(HostAction::Nothing, ends);
        };
        let destination = HostId(packet.destination);
        if self.view.candidates(to, destination) == Candidates::Set(&[]) {
            return self.lose(link, "no_route", packet, ends);
        }
        let out = self.view.next_link(to, destination, packet.hash).0;
        if let Some(why) = self.link_down(out) {
            return self.lose(out, why, packet, ends);
        }
        if self.pfc.is_some() && !self.take(link, &packet, wire, ends) {
            return self.lose(link, "input_full", packet, ends);
        }
        if let Buffer::PerInput(memory) = switch.buffer
            && !self.store(link, wire, memory)
        {
            return self.lose(link, "input_full", packet, ends);
        }
        let id = self.numbered();
        let ready = self.now + switch.latency.as_ps();
        let whole = ready + self.lag(link, wire);
        self.joining.entry((order, out)).or_default().push_back((packet, whole, id));
        self.at(ready, What::Join(order, id, out));
    }

    fn lose(&mut self, link: u32, reason: &'static str, packet: Packet, ends: &mut Endpoints) {
        *self.losses.entry((link, reason)).or_default() += 1;
        ends.lost(packet);
    }
}

impl Timers for Reference {
    fn arm(&mut self, at: SimTime, number: u32, key: u32) {
        self.at(at.as_ps(), What::Timer(number, key));
    }
}

impl Wire for Reference {
    fn transmit(&mut self, now: SimTime, host: u32, packet: Packet) {
        let link = self.fabric.uplink(HostId(host)).0;
        let wire = self.fabric.link(LinkId(link)).spec.framing.wire(packet.bytes);
        assert_eq!(now.as_ps(), self.now);
        if let Some(why) = self.link_down(link) {
            return self.refused.push((link, why, packet));
        }
        let mut packet = packet;
        if self.pfc.is_none() && !self.in_turn(link) {
            self.corrupt(link, &mut packet);
        }
        self.ports[link as usize].queue.push_back(Waiting { packet, wire, whole: 0, since: self.now, held: None });
    }

    fn service(&self, host: u32) -> Service {
        match self.fair && self.link_down(self.fabric.uplink(HostId(host)).0).is_none() {
            false => Service::AtOnce,
            true if self.gates.is_some() => Service::BehindGates,
            true => Service::InTurn,
        }
    }

    fn offer(&mut self, now: SimTime, offer: &Offer) {
        let Offer { host, destination, flow, class, credit } = *offer;
        let link = self.fabric.uplink(HostId(host)).0;
        let (since, credit) = (now.as_ps(), credit.unwrap_or(15_000));
        self.ports[link as usize].turns.push(InTurn { key: flow, destination, class, since, credit, new: true });
        self.at(self.now, What::Send(host));
    }

    fn retract(&mut self, _now: SimTime, offer: &Offer) -> Option<i64> {
        let link = self.fabric.uplink(HostId(offer.host)).0;
        let turns = &mut self.ports[link as usize].turns;
        let place = turns.iter().position(|t| t.key == offer.flow)?;
        Some(turns.remove(place).credit)
    }

    fn report(&mut self, now: SimTime, _ends: [u32; 2], number: u32, key: u32, report: RepairReport) {
        self.report_sequence += 1;
        self.reports.insert((number, self.report_sequence), (key, report));
        self.at((now + self.report_latency).as_ps(), What::Report(number, self.report_sequence));
    }
}
