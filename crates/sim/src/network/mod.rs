//! The packet fabric: links, switches, and the interface of every host, driven by one calendar.

pub(crate) mod failures;
pub mod link;
pub mod packet;
mod pfc;
mod rate_changes;
pub(crate) mod routes;
mod trains;

use crate::air::carrying::AirState;
use crate::air::flyways::carrying::{FLOWN, VIA};
pub use crate::air::handover::access::NewAccess;
use crate::air::medium::Outcome;
use crate::circuit::hybrid::HybridState;
use crate::circuit::multiplexer::Multiplexer;
use crate::circuit::switch::CIRCUIT;
use crate::engine::calendar::Calendar;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::{BACKGROUND, Endpoints, FlowQueue, Then, Wire};
use crate::hosts::flow::NONE;
use crate::hosts::nic::{Nic, QueueId, Served, Window};
use crate::hosts::receive::ReceiveBuffer;
use crate::network::link::{Full, Kinds, LinkState};
use crate::network::packet::{LAST, Packet, Packets, flags};
use crate::network::routes::Routes;
use crate::record::capture::Capture;
use crate::record::collisions::Collisions;
use crate::record::latency::Latencies;
use failures::Outages;
pub use failures::{Changes, Controller};
use pfc::Lossless;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use rate_changes::Retiming;
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{
    Backlog, Buffer, Candidates, Duration, Fabric, Forwarding, HostId, LinkId, NodeId, PathTag, Rate,
};
use timeplane_scenario::Nic as NicSpec;
use timeplane_transport::Report;
use timeplane_workload::Streams;
use trains::Exclusive;

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// The output queue could not take it.
    BufferFull,
    /// A bit was wrong on arrival.
    BitError,
    /// No circuit led where it was to go, or one did not stay for all of it.
    CircuitDark,
    /// A rack's multiplexer held a frame of its input already.
    MultiplexerFull,
    /// It was on a wire that failed or queued for it, or came to it while it was down.
    LinkDown,
    /// It was in a switch that failed, or came to it while it was down.
    SwitchDown,
    /// It was in a host that failed, or came to it or was to leave it while it was down.
    HostDown,
    /// A switch knows no way to its destination.
    NoRoute,
    /// A switch with priority flow control had no room for what came in.
    InputFull,
    /// The receiving host's buffer could not take it.
    ReceiveBuffer,
    /// It was wrong on the air as often as it was sent.
    Air,
    /// Its queue's discipline chose it, so that the others need not wait so long.
    Shed,
    /// It waited at an access point that its device has left.
    Handover,
}

impl Loss {
    /// As in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer_full",
            Self::BitError => "bit_error",
            Self::CircuitDark => "circuit_dark",
            Self::MultiplexerFull => "multiplexer_full",
            Self::LinkDown => "link_down",
            Self::SwitchDown => "switch_down",
            Self::HostDown => "host_down",
            Self::NoRoute => "no_route",
            Self::InputFull => "input_full",
            Self::ReceiveBuffer => "receive_buffer",
            Self::Air => "air",
            Self::Shed => "aqm",
            Self::Handover => "handover",
        }
    }
}

/// One switch's shared memory and its forwarding.
#[derive(Debug)]
pub(crate) struct SwitchState {
    pub(crate) latency: Duration,
    pub(crate) shared: Option<Box<Shared>>,
}

/// A memory that all ports of a switch share by dynamic thresholds.
#[derive(Debug)]
pub(crate) struct Shared {
    memory: f64,
    alpha: f64,
    ports: Vec<u32>,
    /// At least what is in use: the exact value of some earlier moment and all that came since. While even this leaves
    /// room, nobody has to ask the ports.
    pub(crate) at_most: f64,
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

/// More links than this do not fit into the nearer caches with all that belongs to them.
const LARGE: usize = 1 << 12;

/// Links, switches and interfaces.
pub struct Network {
    pub(crate) fabric: Arc<Fabric>,
    /// Pending events.
    pub calendar: Calendar,
    /// By link number.
    pub links: Vec<LinkState>,
    pub(crate) switches: Vec<SwitchState>,
    /// Packets under way.
    pub packets: Packets,
    pub(crate) hosts: u32,
    /// The fabric as far as switches know that it works, and its routes.
    pub(crate) routed: Arc<Fabric>,
    pub(crate) routes: Routes,
    /// What fails in this run.
    pub(crate) outages: Option<Box<Outages>>,
    /// What changes its rate in this run.
    pub(crate) retiming: Option<Box<Retiming>>,
    /// Ports that can be paused.
    pub(crate) lossless: Option<Box<Lossless>>,
    /// Where packets may move as trains.
    pub(crate) exclusive: Option<Box<Exclusive>>,
    /// Air links, and the ends of those beside the wires.
    pub(crate) air: Option<Box<AirState>>,
    pub(crate) beside: Vec<(u32, u32)>,
    /// By host the switch over it, where that has radios that a controller points.
    pub(crate) hosts_switch: Vec<u32>,
    pub(crate) air_outcomes: Vec<Outcome>,
    /// Packets that interfaces have refused since the engine looked: over which link and why.
    pub(crate) refused: Vec<(u32, Loss, Packet)>,
    pub(crate) uplinks: Vec<u32>,
    pub(crate) flow_queues: Vec<FlowQueue>,
    /// Flows in all of them.
    pub(crate) queued_flows: u32,
    /// Interfaces with queues, where something decides among them.
    pub(crate) nics: Option<Vec<Nic>>,
    /// Streams of bit errors, one per link that has any.
    pub(crate) errors: Vec<Option<Xoshiro256PlusPlus>>,
    /// Too many links for the nearer caches: what a day needs is read early, which changes nothing else.
    pub large: bool,
    /// Packets and bytes lost, by link and reason.
    pub losses: BTreeMap<(u32, Loss), (u64, u64)>,
    /// Packets that crossed a link.
    pub hops: u64,
    /// Last hops without an event, ends when its packets have arrived.
    pub(crate) passive: bool,
    /// Packets whose arrival was booked ahead and lies after the end: packets and bytes.
    pub beyond: (u64, u64),
    pub(crate) stop: SimTime,
    pub(crate) report_latency: Duration,
    /// Which changes of a host's queues an agent is told of.
    pub watch: Watch,
    /// Packets that meet, where a plan of slots keeps them apart.
    pub collisions: Option<Box<Collisions>>,
    /// Per host, where receive buffers have a bound.
    pub receive: Vec<ReceiveBuffer>,
    /// How long packets are on their way, where that is recorded.
    pub latencies: Option<Latencies>,
    /// Frames that are written down.
    pub(crate) capture: Option<Box<Capture>>,
    /// Hosts whose queues have changed since they were taken out last.
    pub changed: Vec<u32>,
    /// Reports of raw receivers under way, by arrival, flow and sequence.
    ///
    /// One that a host has sent which is down gets lost.
    pub reports: BTreeMap<(SimTime, u32, u32), (u32, Option<Report>)>,
    pub(crate) report_sequence: u32,
    /// The circuit switch and the racks' multiplexers, in a hybrid fabric.
    pub(crate) hybrid: Option<Box<HybridState>>,
    /// The circuit switch's node, or `NONE`.
    pub(crate) circuit_switch: u32,
    /// A report was sent, or the queues of a host have changed, since the engine looked.
    pub news: bool,
    /// Reports sent, and their bytes.
    pub reported: (u64, u64),
}

/// All links of a fabric, idle.
fn links(fabric: &Fabric, watched: bool) -> Vec<LinkState> {
    let mut kinds = Kinds::new(watched);
    fabric.links().iter().map(|link| kinds.link(link, fabric.switch(link.from), fabric.switch(link.to))).collect()
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
        let links = links(&fabric, false);
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
                    Buffer::Shared { memory, alpha } => Some(Box::new(Shared {
                        memory: memory.get() as f64,
                        alpha,
                        ports: ports(),
                        at_most: 0.0,
                        always_ask: s.forwarding == Forwarding::CutThrough,
                    })),
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
            routed: Arc::clone(&fabric),
            outages: None,
            retiming: None,
            lossless: None,
            exclusive: None,
            air: None,
            beside: Vec::new(),
            hosts_switch: Vec::new(),
            air_outcomes: Vec::new(),
            refused: Vec::new(),
            uplinks,
            queued_flows: 0,
            flow_queues: (0..hosts).map(|_| FlowQueue::default()).collect(),
            nics: nic.map(|(spec, gated)| (0..hosts).map(|_| Nic::new(spec, gated)).collect()),
            errors,
            large: fabric.links().len() > LARGE,
            losses: BTreeMap::new(),
            hops: 0,
            passive,
            beyond: (0, 0),
            stop,
            report_latency,
            watch: Watch::Nothing,
            collisions: None,
            receive: Vec::new(),
            latencies: None,
            capture: None,
            changed: Vec::new(),
            reports: BTreeMap::new(),
            report_sequence: 0,
            hybrid: None,
            circuit_switch: NONE,
            news: false,
            reported: (0, 0),
            fabric,
        }
    }

    /// Has packets counted that meet in switches; before the run begins.
    pub fn count_collisions(&mut self) {
        self.links = links(&self.fabric, true);
        self.mark_changing();
        self.collisions = Some(Box::new(Collisions::new(self.links.len())));
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// A flow at `host` holds bytes: they leave first come, first served.
    pub fn queue_flow(&mut self, now: SimTime, host: u32, slot: u32, ends: &mut Endpoints) {
        if self.hold_back(now, host, slot) {
            return;
        }
        self.flow_queues[host as usize].push(slot, now);
        self.queued_flows += 1;
        self.refill(now, host, ends);
    }

    /// Puts packets of waiting flows on a host's link while it is idle, or free at `now`.
    ///
    /// First come, first served, a packet's departure does not depend on when this is called, only on the flows before it.
    #[inline(never)]
    pub fn refill(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) {
        let link = self.uplinks[host as usize];
        while self.takes_more(link, now) && self.step(host, link, ends) {}
    }

    #[inline(always)]
    pub(crate) fn takes_more(&self, link: u32, now: SimTime) -> bool {
        let link = &self.links[link as usize];
        link.is_idle() || link.free_at() <= now
    }

    /// Sends the first packet that waits for a host's link. False where none does.
    #[inline(always)]
    pub(crate) fn step(&mut self, host: u32, link: u32, ends: &mut Endpoints) -> bool {
        let Some((slot, since)) = self.flow_queues[host as usize].front() else { return false };
        let begin = since.max(self.links[link as usize].free_at());
        let Some((packet, last)) = ends.take_packet(begin, slot, u32::MAX) else {
            self.dequeue_flow(host);
            return true;
        };
        if last {
            self.dequeue_flow(host);
            ends.sent_all(slot, self);
        }
        self.send(link, since, packet);
        true
    }

    pub(crate) fn dequeue_flow(&mut self, host: u32) {
        self.flow_queues[host as usize].pop();
        self.queued_flows -= 1;
    }

    /// Packets and their wire bytes that wait at a host's interface, beside what its link has taken.
    pub fn waiting(&self, host: u32, ends: &Endpoints) -> (u64, u64) {
        let link = &self.links[self.uplinks[host as usize] as usize];
        let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
        match &self.nics {
            None => {
                let flows = self.flow_queues[host as usize].iter().chain(self.held(host));
                flows.map(|slot| ends.unsent(slot, link)).fold((0, 0), add)
            }
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
        for id in self.port_packets() {
            add(1, u64::from(self.packets.get(id).bytes));
        }
        for id in self.air_packets() {
            add(1, u64::from(self.packets.get(id).bytes));
        }
        for packet in self.held_packets() {
            add(1, u64::from(packet.bytes));
        }
        for nic in self.nics.iter().flatten() {
            for packet in nic.packets() {
                add(1, u64::from(packet.bytes));
            }
        }
        for id in self.hybrid.iter().flat_map(|h| &h.multiplexers).flat_map(Multiplexer::packets) {
            add(1, u64::from(self.packets.get(id).bytes));
        }
        (packets, bytes)
    }

    /// A flow holds bytes for a queue of its host, or has none any more.
    pub fn hold(&mut self, now: SimTime, then: Then, ends: &mut Endpoints) {
        if let Then::Withdraw { host, .. } = then {
            self.disturb(now, host);
        }
        match (then, &mut self.nics) {
            (Then::Nothing, _) | (Then::Withdraw { .. }, None) => {}
            (Then::Queue { host, slot, .. }, None) => self.queue_flow(now, host, slot, ends),
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

    pub(crate) fn note_arrival(&mut self, host: u32, was_empty: bool) {
        let told = match self.watch {
            Watch::Nothing => false,
            Watch::Arrivals | Watch::Everything => true,
            Watch::Transitions => was_empty,
        };
        if told {
            self.changed.push(host);
            self.news = true;
        }
    }

    pub(crate) fn note_departure(&mut self, host: u32, empty: bool) {
        if empty && matches!(self.watch, Watch::Transitions | Watch::Everything) {
            self.changed.push(host);
            self.news = true;
        }
    }

    /// A packet joins a queue of its host.
    #[inline(never)]
    pub(crate) fn queue(&mut self, now: SimTime, host: u32, packet: Packet) {
        if let Some(nics) = &mut self.nics {
            let uplink = self.uplinks[host as usize];
            if nics[host as usize].is_stopped() {
                return self.refuse(uplink, packet);
            }
            let link = &self.links[uplink as usize];
            let was_empty = nics[host as usize].push_packet(now, packet, link);
            self.note_arrival(host, was_empty);
            self.wake(now, host);
        }
    }

    /// Has a queued interface served as soon as its link is free.
    pub(crate) fn wake(&mut self, now: SimTime, host: u32) {
        let free = self.links[self.uplinks[host as usize] as usize].free_at();
        self.serve_at(now.max(free), host);
    }

    /// Has a queued interface served at `at`, unless it is earlier; another event that is still pending for it becomes stale.
    pub(crate) fn serve_at(&mut self, at: SimTime, host: u32) {
        if let Some(nics) = &mut self.nics {
            let nic = &mut nics[host as usize];
            if at < nic.armed {
                nic.armed = at;
                self.calendar.push(at, EventKind::Serve { sender: host }.key());
            }
        }
    }

    /// A gate of a host opens; windows that have ended are given back.
    pub fn open(&mut self, now: SimTime, host: u32, window: Window) -> Vec<Window> {
        self.disturb(now, host);
        let Some(nics) = &mut self.nics else { return Vec::new() };
        if let Some(capture) = &mut self.capture {
            capture.opened(host, &window);
        }
        let ended = nics[host as usize].open(now, window);
        self.wake(now, host);
        ended
    }

    /// A gate of a host closes at `at`.
    pub fn close(&mut self, at: SimTime, host: u32, queue: QueueId) {
        self.disturb(at, host);
        if let Some(nics) = &mut self.nics {
            nics[host as usize].close(at, queue);
        }
    }

    /// Takes out the windows of a host that have ended at `now`.
    pub fn expire(&mut self, now: SimTime, host: u32) -> Vec<Window> {
        self.nics.as_mut().map_or_else(Vec::new, |nics| nics[host as usize].expire(now))
    }

    /// What waits at a host, per destination, and flow by flow where `bursts`; its clock is `ahead` of the truth.
    pub fn backlog(&self, now: SimTime, host: u32, ahead: Duration, bursts: bool, ends: &Endpoints) -> Backlog {
        let link = &self.links[self.uplinks[host as usize] as usize];
        let of = |nics: &Vec<Nic>| nics[host as usize].backlog(now, link, ahead, bursts, ends);
        let mut backlog = self.nics.as_ref().map_or_else(Backlog::default, of);
        backlog.room = self.receive.get(host as usize).map(|buffer| buffer.room(now));
        backlog
    }

    /// Has all interfaces send short flows outside of the gates, at this rate.
    pub fn set_background(&mut self, rate: Rate) {
        self.nics.iter_mut().flatten().for_each(|nic| nic.set_background(rate));
    }

    /// Has all interfaces leave what waits in a class out of their reports.
    pub fn leave_unreported(&mut self, class: u8) {
        self.nics.iter_mut().flatten().for_each(|nic| nic.leave_unreported(class));
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
        if self.links[uplink as usize].free_at() > now {
            return self.wake(now, host);
        }
        if self.send_train(now, host, ends) {
            return;
        }
        let Some(nics) = &mut self.nics else { return };
        let (nic, link) = (&mut nics[host as usize], &self.links[uplink as usize]);
        let rate = link.rate();
        match nic.serve(now, link, rate, ends) {
            Served::Packet { packet, emptied, last } => {
                let departure = self.send(uplink, now, packet);
                if let Some(slot) = emptied {
                    ends.sent_all(slot, self);
                }
                self.note_departure(host, last);
                let nic = &self.nics.as_ref().expect("still there")[host as usize];
                if !nic.is_empty() {
                    self.serve_at(departure, host);
                } else if let Some(drained) = nic.next_drain() {
                    self.serve_at(drained.max(departure), host);
                }
            }
            Served::Wait(until) => self.serve_at(until, host),
            Served::Idle => {}
        }
        let drained = self.nics.as_mut().is_some_and(|nics| nics[host as usize].take_drained());
        self.note_departure(host, drained);
    }

    /// Puts a packet on a link that has no bound, ready at `ready`.
    #[inline(always)]
    pub fn send(&mut self, link: u32, ready: SimTime, packet: Packet) -> SimTime {
        let bytes = packet.bytes;
        let id = self.packets.insert(packet);
        let state = &mut self.links[link as usize];
        let (departure, arrival) = if state.is_plain() {
            state.join(ready, bytes)
        } else {
            match self.send_special(link, ready, id) {
                Some(joined) => joined,
                None => return ready,
            }
        };
        if let Some(latencies) = &mut self.latencies {
            let state = &self.links[link as usize];
            latencies.begin(id, SimTime(departure.0 - state.line_time(state.wire(bytes))));
        }
        self.fly(link, arrival, id);
        departure
    }

    /// Puts a packet on a host's link that is no plain one: its departure and its arrival, unless the link is down.
    #[inline(never)]
    pub(crate) fn send_special(&mut self, link: u32, ready: SimTime, id: u32) -> Option<(SimTime, SimTime)> {
        let joined = self.join_special(link, ready, ready, id);
        if joined.is_err() {
            // A host's queue has no bound.
            let packet = self.packets.remove(id);
            self.refuse(link, packet);
        }
        joined.ok()
    }

    /// Puts a packet into flight.
    #[inline(always)]
    pub(crate) fn fly(&mut self, link: u32, arrival: SimTime, id: u32) {
        if self.links[link as usize].fly(arrival, id, &mut self.packets) {
            self.calendar.push_arrival(arrival, link);
        }
    }

    /// Lets a packet join a link that is no plain one, wholly there at `whole`: its departure and its arrival, or why it is lost.
    #[inline(never)]
    pub(crate) fn join_special(
        &mut self,
        link: u32,
        ready: SimTime,
        whole: SimTime,
        id: u32,
    ) -> Result<(SimTime, SimTime), Loss> {
        if self.links[link as usize].is_down() {
            return Err(self.down_reason(link));
        }
        let packet = self.packets.get_mut(id);
        let wire = self.links[link as usize].wire(packet.bytes);
        let room = if self.links[link as usize].is_shared() {
            let switch = self.fabric.link(LinkId(link)).from.0 - self.hosts;
            let shared = self.switches[switch as usize].shared.as_mut().expect("a shared memory");
            shared.room(ready, link, wire, &self.links)
        } else {
            i64::MAX
        };
        let state = &mut self.links[link as usize];
        let sending = state.accept(ready, whole, wire, room).map_err(|Full| Loss::BufferFull)?;
        if sending.mark && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
        }
        if let Some(survival) = state.survival(wire) {
            corrupt(&mut self.errors[link as usize], survival, packet);
        }
        let arrival = state.arrival(sending.departure, wire);
        let (leads_down, changing) = (state.leads_down(), state.is_changing());
        if leads_down {
            self.doom_if_early(link, arrival, id);
        }
        if changing {
            self.note_sending(link, id, ready, sending.departure);
        }
        Ok((sending.departure, arrival))
    }

    /// Takes the first arrival that comes before all else and before `bound`: when, and over which link.
    #[inline(always)]
    pub fn next_arrival(&mut self, bound: SimTime, ends: &Endpoints) -> Option<(SimTime, u32)> {
        let (links, packets, queues, large) = (&self.links, &self.packets, &self.flow_queues, self.large);
        self.calendar.pop_arrival(bound, |calendar| {
            if large {
                read_early(calendar, links, packets, queues, ends);
            }
        })
    }

    /// Whether the receiving host has room for a packet that has come over `link`.
    #[inline(always)]
    pub(crate) fn takes(&mut self, at: SimTime, link: u32, packet: &Packet) -> bool {
        if self.receive.is_empty() {
            return true;
        }
        let wire = self.links[link as usize].wire(packet.bytes);
        self.receive[packet.destination as usize].take(at, wire)
    }

    /// The first packet in flight on `link` arrives.
    #[inline(always)]
    pub fn arrive(&mut self, at: SimTime, link: u32, ends: &mut Endpoints) {
        let state = &mut self.links[link as usize];
        let (id, next) = state.land(&self.packets);
        let (to, host) = (state.to, state.host);
        if next != LAST {
            self.calendar.push_arrival(self.packets.arrival(next), link);
        }
        if self.capture.is_some() {
            let packet = *self.packets.get(id);
            self.capture_landing(at, link, id, &packet, ends);
        }
        // Mostly the link takes one packet more; a loop for the rest is elsewhere.
        if self.queued_flows > 0
            && host != NONE
            && self.takes_more(link, at)
            && self.step(host, link, ends)
            && self.links[link as usize].free_at() <= at
        {
            self.refill(at, host, ends);
        }
        self.hops += 1;
        if to < self.hosts {
            let packet = self.packets.remove(id);
            if packet.flags & flags::CORRUPT != 0 {
                self.lose_arriving(link, packet, ends);
            } else if !self.takes(at, link, &packet) {
                self.lose(link, Loss::ReceiveBuffer, packet, ends);
            } else {
                self.note_latency(id, at);
                ends.receive(at, packet, self);
            }
        } else if to == self.circuit_switch {
            self.cross(at, link, id, ends);
        } else {
            self.forward(at, link, NodeId(to), id, ends);
        }
    }

    /// A switch that may act on a packet from `at` on sends it on.
    #[inline(always)]
    pub(crate) fn forward(&mut self, at: SimTime, from: u32, node: NodeId, id: u32, ends: &mut Endpoints) {
        let packet = self.packets.get_mut(id);
        if packet.flags & flags::CORRUPT != 0 {
            return self.lose_passing(from, id, None, ends);
        }
        if self.air.is_some()
            && let Some(number) = self.flyway(at, node, id)
        {
            return self.take_off(at, number, id, ends);
        }
        self.forward_by_wire(at, from, node.0, id, ends);
    }

    /// The same over wires, or over air that is in their place.
    #[inline(always)]
    pub(crate) fn forward_by_wire(&mut self, at: SimTime, from: u32, node: u32, id: u32, ends: &mut Endpoints) {
        let packet = self.packets.get_mut(id);
        let (destination, bytes) = (packet.destination, packet.bytes);
        let number = node - self.hosts;
        let [out, ahead @ ..] = packet.ahead;
        let out = if out == LAST {
            match self.route(number, self.packets.get(id), from) {
                Ok(out) => out,
                Err(reason) => return self.lose_passing(from, id, Some(reason), ends),
            }
        } else {
            packet.ahead[..ahead.len()].copy_from_slice(&ahead);
            packet.ahead[ahead.len()] = LAST;
            out
        };
        let ready = at + self.switches[number as usize].latency;
        let link = &mut self.links[out as usize];
        let last = link.to == destination;
        if last && self.hybrid.is_some() {
            return self.multiplex(at, from, out, id, ends);
        }
        let arrival = if link.is_plain() {
            link.join(ready, bytes).1
        } else {
            match self.forward_special(at, ready, [from, out], id, ends) {
                Some(arrival) => arrival,
                None => return,
            }
        };
        if self.passive && last {
            let packet = self.packets.remove(id);
            self.passive_arrival(arrival, out, id, packet, ends);
        } else {
            self.fly(out, arrival, id);
        }
    }

    /// Sends a packet on over a link that is no plain one: when it arrives, unless it is lost or waits for a port that can be paused.
    #[inline(never)]
    pub(crate) fn forward_special(
        &mut self,
        at: SimTime,
        ready: SimTime,
        [from, out]: [u32; 2],
        id: u32,
        ends: &mut Endpoints,
    ) -> Option<SimTime> {
        if self.links[out as usize].has_port() {
            self.enqueue(at, ready, from, out, id, ends);
            return None;
        }
        if self.links[out as usize].is_air() {
            self.offer_air(at, out, id, ends);
            return None;
        }
        if let Some(exclusive) = &mut self.exclusive {
            exclusive.joins(out, ready);
        }
        let came = &self.links[from as usize];
        let packet = self.packets.get(id);
        let whole = ready + came.tail_lag(came.wire(packet.bytes));
        // What is outside of slots may meet whom it will.
        let in_slot = packet.class() != BACKGROUND;
        let source = self.collisions.as_mut().filter(|_| in_slot).map(|collisions| {
            let source = ends.sender(packet);
            collisions.joins(out, source, ready);
            source
        });
        match self.join_special(out, ready, whole, id) {
            Ok((departure, arrival)) => {
                if let (Some(collisions), Some(source)) = (&mut self.collisions, source) {
                    collisions.departs(out, source, departure);
                }
                Some(arrival)
            }
            Err(reason) => {
                self.lose_passing(out, id, Some(reason), ends);
                None
            }
        }
    }

    /// A switch loses a packet: for this reason, or as what was corrupt or came to it while it was down.
    #[inline(never)]
    pub(crate) fn lose_passing(&mut self, link: u32, id: u32, reason: Option<Loss>, ends: &mut Endpoints) {
        let packet = self.packets.remove(id);
        match reason {
            Some(reason) => self.lose(link, reason, packet, ends),
            None => self.lose_arriving(link, packet, ends),
        }
    }

    /// The link that a switch takes for a packet which does not know it and came over `from`, or why there is none.
    #[inline(never)]
    pub(crate) fn route(&self, switch: u32, packet: &Packet, from: u32) -> Result<u32, Loss> {
        // Numbers of racks are in paths only where racks have radios: elsewhere they are tags.
        let of_flyways = packet.path >= VIA && !self.hosts_switch.is_empty();
        if packet.path == 0 || of_flyways {
            // On its way to the rack from which it flies, or by wire after all.
            let first = of_flyways && packet.path != FLOWN;
            let to = if first { u32::from(packet.path - VIA) } else { packet.destination };
            let out = self.routes.next(switch, to, packet.hash);
            return if out == LAST { Err(Loss::NoRoute) } else { Ok(out) };
        }
        let (node, to) = (NodeId(switch + self.hosts), HostId(packet.destination));
        if let Some(hybrid) = self.hybrid.as_ref().filter(|_| packet.path == CIRCUIT)
            && self.fabric.link(self.fabric.uplink(to)).to != node
        {
            let source = HostId(self.fabric.link(LinkId(from)).from.0);
            return hybrid.circuits.uplink(source, to).map(|l| l.0).ok_or(Loss::CircuitDark);
        }
        if self.routed.candidates(node, to) == Candidates::Set(&[]) {
            return Err(Loss::NoRoute);
        }
        Ok(self.routed.tagged_link(node, to, PathTag(packet.path - 1)).0)
    }

    /// Books an arrival that nothing else waits for, ahead of its time.
    #[inline(always)]
    pub(crate) fn passive_arrival(&mut self, at: SimTime, link: u32, id: u32, packet: Packet, ends: &mut Endpoints) {
        if self.capture.is_some() {
            self.capture_landing(at, link, id, &packet, ends);
        }
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
            self.note_latency(id, at);
            ends.receive(at, packet, self);
        }
    }

    /// A packet, of this number until now, has arrived whole.
    #[inline(always)]
    pub(crate) fn note_latency(&mut self, id: u32, at: SimTime) {
        if let Some(latencies) = &mut self.latencies {
            latencies.end(id, at);
        }
    }

    pub(crate) fn lose(&mut self, link: u32, reason: Loss, packet: Packet, ends: &mut Endpoints) {
        let count = self.losses.entry((link, reason)).or_default();
        count.0 += 1;
        count.1 += u64::from(packet.bytes);
        ends.lost(packet);
    }
}

impl Shared {
    /// FlowQueue time that port `out` may hold with this packet: what dynamic thresholds leave it.
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

/// Reads what the next arrivals need. A large network is mostly far from the processor: where a day opens, the links of the day after
/// tomorrow are read, tomorrow's packets, and what today's lead to, so that none of these reads waits for another.
#[inline(never)]
fn read_early(
    calendar: &Calendar,
    links: &[LinkState],
    packets: &Packets,
    flow_queues: &[FlowQueue],
    ends: &Endpoints,
) {
    let arrivals = |days| calendar.arrivals_in(days).map(|l| &links[l as usize]);
    let queue = |link: &LinkState| flow_queues.get(link.host as usize).and_then(FlowQueue::front);
    let mut read = 0;
    for link in arrivals(2) {
        read ^= link.first();
    }
    for link in arrivals(1) {
        read ^= packets.get(link.first()).flow;
        read ^= queue(link).map_or(0, |t| t.0);
    }
    for link in arrivals(0) {
        let packet = packets.get(link.first());
        // Today's are known for certain. What follows on the same link, and where the packet goes:
        read ^= packets.try_get(packets.next(link.first())).map_or(0, |p| p.flow);
        read ^= links.get(packet.ahead[0] as usize).map_or(0, LinkState::first);
        read ^= ends.flows.read_early(packet.flow);
        read ^= queue(link).map_or(0, |t| ends.flows.read_early(t.0));
    }
    core::hint::black_box(read);
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

impl Wire for Network {
    #[inline(always)]
    fn transmit(&mut self, now: SimTime, host: u32, packet: Packet) {
        if self.nics.is_some() {
            return self.queue(now, host, packet);
        }
        let link = self.uplinks[host as usize];
        self.send(link, now, packet);
    }

    #[inline]
    fn arm(&mut self, at: SimTime, number: u32, slot: u32) {
        self.calendar.push(at, EventKind::Timer { flow: number, key: slot }.key());
    }

    fn report(&mut self, now: SimTime, [from, to]: [u32; 2], number: u32, slot: u32, report: Report) {
        let report = (!self.is_host_down(from)).then_some(report);
        if let Some(report) = &report {
            if let Some(capture) = &mut self.capture {
                capture.repair(now, false, [from, to], number, report);
            }
            self.reported.0 += 1;
            self.reported.1 += report_bytes(report);
        }
        self.report_sequence += 1;
        self.news = true;
        self.reports.insert((now + self.report_latency, number, self.report_sequence), (slot, report));
    }
}
