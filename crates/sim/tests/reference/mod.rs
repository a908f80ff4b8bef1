//! A second engine, written to be obviously right and slow: a binary heap, a queue of packets at every port, and two events a
//! hop (the last bit leaves; the packet arrives). It shares the hosts' ends with the engine under test, and nothing of the network.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;
use timeplane_model::{Buffer, Bytes, Duration, Fabric, Forwarding, HostId, LinkId, NodeId};
use timeplane_sim::SimTime;
use timeplane_sim::endpoints::{Endpoints, Then, Wire};
use timeplane_sim::packet::{Packet, flags};
use timeplane_transport::Report;
use timeplane_workload::{FlowArrival, Streams};

/// In the order in which they happen at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The last bit of the packet that a link sends leaves.
    Depart(u32),
    /// A packet may be acted on at the far end of a link.
    Arrive(u32),
    /// A packet that came over this link has passed the switch and joins an output queue.
    Join(u32, u32),
    Start(u32),
    Report(u32, u32),
    Timer(u32, u32),
}

struct Waiting {
    packet: Packet,
    wire: u32,
    whole: i64,
}

#[derive(Default)]
struct Port {
    queue: VecDeque<Waiting>,
    /// When the last bit of the packet that is being sent leaves.
    departure: Option<i64>,
    /// Packets that are being sent or are on the wire.
    flying: VecDeque<(Packet, u32)>,
    errors: Option<Xoshiro256PlusPlus>,
}

pub struct Reference {
    fabric: Arc<Fabric>,
    heap: BinaryHeap<Reverse<(i64, What)>>,
    now: i64,
    ports: Vec<Port>,
    joining: BTreeMap<(u32, u32), VecDeque<(Packet, i64)>>,
    reports: BTreeMap<(u32, u32), (u32, Report)>,
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
            reports: BTreeMap::new(),
            report_sequence: 0,
            report_latency,
            losses: BTreeMap::new(),
            hops: 0,
            fabric,
        }
    }

    pub fn run(&mut self, ends: &mut Endpoints, arrivals: &[FlowArrival]) {
        for (i, a) in arrivals.iter().enumerate() {
            self.at(a.at.as_ps(), What::Start(i as u32));
        }
        while let Some(Reverse((at, what))) = self.heap.pop() {
            assert!(at >= self.now, "time runs backwards");
            self.now = at;
            let now = SimTime::from_ps(at);
            match what {
                What::Start(i) => {
                    let then = ends.start(now, &arrivals[i as usize], self);
                    self.hold(then, ends);
                }
                What::Depart(link) => {
                    self.ports[link as usize].departure = None;
                    self.next(link);
                }
                What::Arrive(link) => self.arrive(link, ends),
                What::Join(from, out) => {
                    let (packet, whole) = self.joining.get_mut(&(from, out)).unwrap().pop_front().unwrap();
                    self.join(out, packet, whole, ends);
                }
                What::Timer(flow, slot) => {
                    let then = ends.timer(now, flow, slot, self);
                    self.hold(then, ends);
                }
                What::Report(flow, sequence) => {
                    let (slot, report) = self.reports.remove(&(flow, sequence)).unwrap();
                    let then = ends.report(now, flow, slot, &report, self);
                    self.hold(then, ends);
                }
            }
        }
    }

    fn at(&mut self, at: i64, what: What) {
        self.heap.push(Reverse((at, what)));
    }

    /// All packets of a flow join the host's queue at once.
    fn hold(&mut self, then: Then, ends: &mut Endpoints) {
        let Then::Queue { host, slot, .. } = then else { return };
        while let Some(packet) = ends.next_packet(SimTime::from_ps(self.now), slot, u32::MAX) {
            self.transmit(SimTime::from_ps(self.now), host, packet);
        }
    }

    fn line(&self, link: u32, wire: u32) -> i64 {
        self.fabric.link(LinkId(link)).spec.rate.time_for(Bytes::new(u64::from(wire))).as_ps()
    }

    /// How long a link still sends what it has.
    fn backlog(&self, link: u32) -> i64 {
        let port = &self.ports[link as usize];
        let mut free = port.departure.unwrap_or(self.now);
        for w in &port.queue {
            free = (free + self.line(link, w.wire)).max(w.whole);
        }
        free - self.now
    }

    fn backlog_bytes(&self, link: u32) -> f64 {
        let bits = self.backlog(link) as u128 * u128::from(self.fabric.link(LinkId(link)).spec.rate.as_bps());
        bits.div_ceil(8_000_000_000_000) as f64
    }

    fn join(&mut self, link: u32, mut packet: Packet, whole: i64, ends: &mut Endpoints) {
        let spec = self.fabric.link(LinkId(link)).spec;
        let from = self.fabric.link(LinkId(link)).from;
        let wire = spec.framing.wire(packet.bytes);
        if let Some(switch) = self.fabric.switch(from).copied() {
            let backlog = self.backlog(link);
            let fits = match switch.buffer {
                Buffer::Unbounded => true,
                Buffer::PerPort(limit) => backlog + self.line(link, wire) <= spec.rate.time_for(limit).as_ps(),
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
            let marks = switch.ecn.is_some_and(|k| backlog >= spec.rate.time_for(k).as_ps());
            if marks && packet.flags & flags::ECT != 0 {
                packet.flags |= flags::CE;
            }
        }
        if let Some(stream) = &mut self.ports[link as usize].errors {
            let uniform = (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            if uniform >= (8.0 * (-spec.bit_error).ln_1p() * f64::from(wire)).exp() {
                packet.flags |= flags::CORRUPT;
            }
        }
        self.ports[link as usize].queue.push_back(Waiting { packet, wire, whole });
        if self.ports[link as usize].departure.is_none() {
            self.next(link);
        }
    }

    /// A free link begins with the next packet.
    fn next(&mut self, link: u32) {
        let Some(w) = self.ports[link as usize].queue.pop_front() else { return };
        let departure = (self.now + self.line(link, w.wire)).max(w.whole);
        let port = &mut self.ports[link as usize];
        port.departure = Some(departure);
        port.flying.push_back((w.packet, w.wire));
        self.at(departure, What::Depart(link));
        let arrival = departure + self.fabric.link(LinkId(link)).spec.propagation.as_ps() - self.lag(link, w.wire);
        self.at(arrival, What::Arrive(link));
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

    fn arrive(&mut self, link: u32, ends: &mut Endpoints) {
        let (packet, wire) = self.ports[link as usize].flying.pop_front().unwrap();
        self.hops += 1;
        let to = self.fabric.link(LinkId(link)).to;
        if packet.flags & flags::CORRUPT != 0 {
            return self.lose(link, "bit_error", packet, ends);
        }
        let now = SimTime::from_ps(self.now);
        let Some(switch) = self.fabric.switch(to).copied() else {
            let then = ends.receive(now, packet, self);
            return self.hold(then, ends);
        };
        let out = self.fabric.next_link(NodeId(to.0), HostId(packet.destination), packet.hash).0;
        let ready = self.now + switch.latency.as_ps();
        let whole = ready + self.lag(link, wire);
        self.joining.entry((link, out)).or_default().push_back((packet, whole));
        self.at(ready, What::Join(link, out));
    }

    fn lose(&mut self, link: u32, reason: &'static str, packet: Packet, ends: &mut Endpoints) {
        *self.losses.entry((link, reason)).or_default() += 1;
        ends.lost(packet);
    }
}

impl Wire for Reference {
    fn transmit(&mut self, now: SimTime, host: u32, packet: Packet) {
        let link = self.fabric.uplink(HostId(host)).0;
        let wire = self.fabric.link(LinkId(link)).spec.framing.wire(packet.bytes);
        assert_eq!(now.as_ps(), self.now);
        let mut packet = packet;
        let spec = self.fabric.link(LinkId(link)).spec;
        if let Some(stream) = &mut self.ports[link as usize].errors {
            let uniform = (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            if uniform >= (8.0 * (-spec.bit_error).ln_1p() * f64::from(wire)).exp() {
                packet.flags |= flags::CORRUPT;
            }
        }
        self.ports[link as usize].queue.push_back(Waiting { packet, wire, whole: 0 });
        if self.ports[link as usize].departure.is_none() {
            self.next(link);
        }
    }

    fn arm(&mut self, at: SimTime, number: u32, slot: u32) {
        self.at(at.as_ps(), What::Timer(number, slot));
    }

    fn report(&mut self, now: SimTime, _from: u32, number: u32, slot: u32, report: Report) {
        self.report_sequence += 1;
        self.reports.insert((number, self.report_sequence), (slot, report));
        self.at((now + self.report_latency).as_ps(), What::Report(number, self.report_sequence));
    }
}
