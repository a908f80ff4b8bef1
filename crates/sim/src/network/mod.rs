//! The packet network: how packets hop from link to link.
//!
//! A [`Network`] owns wires, interfaces, meters and the state of each feature. This module moves
//! packets and calls a feature where a packet meets it; a feature receives the parts that it needs
//! and nothing else. The path of an ordinary packet asks two questions about features: is there
//! something that looks at every packet, and is there another way than by wire?

mod captures;
mod changes;
mod control_frames;
pub(crate) mod failures;
mod host_latency;
mod input_buffer;
pub mod link;
mod lookahead;
pub(crate) mod meters;
mod news;
pub mod packet;
mod pfc;
mod radio;
pub(crate) mod rate_changes;
pub(crate) mod repair_reports;
mod rotor;
pub(crate) mod routes;
mod serve;
mod setup;
mod shared_buffer;
mod trains;
pub(crate) mod trimming;
pub(crate) mod wires;

pub use crate::air::handover::access::NewAccess;
pub use crate::hosts::interfaces::{InterfaceForm, Interfaces};
pub use failures::{Changes, Controller};
pub use meters::{Loss, Meters};
pub use news::News;
pub use trimming::Trimming;
pub use wires::Wires;

use crate::air::flyways::links::{FLOWN, FlywayLinks, VIA};
use crate::air::handover::access::Handovers;
use crate::air::links::AirLinks;
use crate::air::medium::Outcome;
use crate::circuit::hybrid::{Hybrid, Multiplexed};
use crate::circuit::switch::CIRCUIT;
use crate::control::ports::Ports;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::{BACKGROUND, Endpoints, HostAction, Offer, Service, Wire};
use crate::hosts::flow::NONE;
use crate::hosts::interfaces::QueuedFlow;
use crate::hosts::nic::{GateOpening, QueueId};
use crate::network::failures::Failures;
use crate::network::host_latency::HostLines;
use crate::network::lookahead::Lookahead;
use crate::network::packet::{LAST, Packet, flags};
use crate::network::pfc::PfcSwitches;
use crate::network::rate_changes::RateChanges;
use crate::network::repair_reports::RepairReports;
use crate::network::trains::Trains;
use crate::network::trimming::TrimmingPorts;
use crate::network::wires::LinkChanges;
use crate::record::capture::Capture;
use crate::rotor::Rotor;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, HostId, LinkId, Matching};
use timeplane_transport::RepairReport;
use timeplane_workload::Streams;

/// Links, switches and interfaces, with the features of a run.
pub struct Network {
    /// Links, packets, calendar and routes.
    pub wires: Wires,
    /// The interfaces of hosts.
    pub interfaces: Interfaces,
    /// Counters.
    pub meters: Meters,
    /// What the engine has to look at.
    pub news: News,
    failures: Option<Box<Failures>>,
    rate_changes: Option<Box<RateChanges>>,
    pfc: Option<Box<PfcSwitches>>,
    trimming: Option<Box<TrimmingPorts>>,
    trains: Option<Box<Trains>>,
    /// Packets that move ahead of the calendar.
    lookahead: Option<Box<Lookahead>>,
    hybrid: Option<Box<Hybrid>>,
    pub(crate) rotor: Option<Box<Rotor>>,
    air: Option<Box<AirLinks>>,
    handovers: Option<Box<Handovers>>,
    flyways: Option<Box<FlywayLinks>>,
    host_lines: Option<Box<HostLines>>,
    pub(crate) capture: Option<Box<Capture>>,
    repairs: RepairReports,
    /// The ports of the control network.
    pub(crate) ports: Option<Ports>,
    /// What became of packets in the air, kept to be used again.
    outcomes: Vec<Outcome>,
    /// Whether a feature looks at every packet that arrives: captures, receive buffers, latencies
    /// or the hosts' own time.
    inspects: bool,
    /// Whether packets do more than to cross wires: circuits, air, or the hosts' own time.
    detours: bool,
    /// Whether the last hop of a packet takes no event, because hosts only receive.
    passive: bool,
    /// The largest packet, where grants count packets.
    mtu: u32,
    /// The end of the run.
    stop: SimTime,
}

impl Network {
    /// An idle network.
    pub fn new(
        fabric: Arc<Fabric>,
        streams: &Streams,
        passive: bool,
        stop: SimTime,
        report_latency: Duration,
        interfaces: InterfaceForm,
    ) -> Self {
        let hosts = fabric.hosts();
        let wires = Wires::new(fabric, streams);
        Self {
            passive,
            wires,
            interfaces: Interfaces::new(hosts, interfaces),
            meters: Meters::default(),
            news: News::default(),
            failures: None,
            rate_changes: None,
            pfc: None,
            trimming: None,
            trains: None,
            lookahead: None,
            hybrid: None,
            rotor: None,
            mtu: 0,
            air: None,
            handovers: None,
            flyways: None,
            host_lines: None,
            capture: None,
            repairs: RepairReports::new(report_latency),
            ports: None,
            outcomes: Vec::new(),
            inspects: false,
            detours: false,
            stop,
        }
    }
}

/// Sending hosts.
impl Network {
    /// A flow at `host` holds bytes: they leave first come, first served.
    pub fn queue_flow(&mut self, now: SimTime, host: u32, key: u32, ends: &mut Endpoints) {
        if self.wires.uplink(host).is_down()
            && let Some(failures) = &mut self.failures
        {
            return failures.held_mut(host).flows.push(key, now);
        }
        self.end_void(now, host);
        self.interfaces.push_flow(host, key, now);
        self.refill(now, host, ends);
    }

    /// Puts packets of waiting flows on a host's link while it is idle, or free at `now`.
    ///
    /// The departure of a packet does not depend on when this is called, only on the flows before
    /// it.
    #[inline(never)]
    pub fn refill(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) {
        let link = self.wires.uplinks[host as usize];
        while self.takes_more(link, now) && self.step(host, link, ends) {}
    }

    #[inline(always)]
    fn takes_more(&self, link: u32, now: SimTime) -> bool {
        let link = &self.wires.links[link as usize];
        link.is_idle() || link.free_at() <= now
    }

    /// Sends the first packet that waits for a host's link. `false` if none does.
    #[inline(always)]
    fn step(&mut self, host: u32, link: u32, ends: &mut Endpoints) -> bool {
        let Some((key, since)) = self.interfaces.flow_queues[host as usize].front() else { return false };
        let begin = since.max(self.wires.links[link as usize].free_at());
        let Some((packet, last)) = ends.take_packet(begin, key, u32::MAX) else {
            self.interfaces.pop_flow(host);
            return true;
        };
        if last {
            self.interfaces.pop_flow(host);
            ends.sent_all(key, self);
        }
        self.send(link, since, packet);
        true
    }

    /// A flow holds bytes for a queue of its host, or has none any more.
    pub fn hold(&mut self, now: SimTime, action: HostAction, ends: &mut Endpoints) {
        match action {
            HostAction::Nothing => {}
            HostAction::Queue { host, destination, key } if self.keeps_flow(now, host, destination, key, ends) => {}
            HostAction::Queue { host, key, .. } if self.interfaces.is_plain() => self.queue_flow(now, host, key, ends),
            HostAction::Queue { host, destination, key } => {
                let flow = QueuedFlow { host, destination, key };
                if self.interfaces.fair.is_some() {
                    let sender = &mut ends.flows.get_mut(key).sender;
                    if !std::mem::replace(&mut sender.queued, true) {
                        let offer = Offer { host, destination, flow: key, class: sender.class, credit: None };
                        self.interfaces.offer(&mut self.wires, &mut self.news, now, &offer);
                    }
                    return;
                }
                self.interfaces.queue_flow(&mut self.wires, &mut self.news, now, flow, ends);
            }
            HostAction::Withdraw { host, destination, key } => {
                self.disturb(now, host);
                if let Some(nics) = &mut self.interfaces.nics {
                    let empty = nics[host as usize].withdraw(destination, key, ends);
                    self.interfaces.note_departure(host, empty, &mut self.news);
                } else if let Some(fair) = &mut self.interfaces.fair {
                    fair[host as usize].flows.withdraw(key);
                    ends.unqueued(key);
                }
            }
        }
    }

    /// From `now` on, a host's interface may do other than was booked.
    fn disturb(&mut self, now: SimTime, host: u32) {
        if let Some(trains) = &mut self.trains {
            trains.disturb(&self.interfaces, now, host);
        }
    }

    /// A gate of a host opens. Adds the openings that have ended to `ended`, which is empty.
    pub fn open(&mut self, now: SimTime, host: u32, opening: GateOpening, ended: &mut Vec<GateOpening>) {
        self.disturb(now, host);
        if self.interfaces.nics.is_some()
            && let Some(capture) = &mut self.capture
        {
            capture.opened(host, &opening);
        }
        self.interfaces.open(&mut self.wires, now, host, opening, ended);
    }

    /// A gate of a host closes at `at`.
    pub fn close(&mut self, at: SimTime, host: u32, queue: QueueId) {
        self.disturb(at, host);
        self.interfaces.close(at, host, queue);
    }

    /// Moves the openings of a host that ended by `now` to `ended`.
    pub fn expire(&mut self, now: SimTime, host: u32, ended: &mut Vec<GateOpening>) {
        self.interfaces.expire(now, host, ended);
    }

    /// Puts a packet on a host's link, ready at `ready`: when it departs.
    #[inline(always)]
    pub fn send(&mut self, link: u32, ready: SimTime, packet: Packet) -> SimTime {
        let bytes = packet.bytes;
        let id = self.wires.packets.insert(packet);
        let state = &mut self.wires.links[link as usize];
        let (departure, arrival) = if state.is_plain() {
            let (departure, arrival) = state.join(ready, bytes);
            if self.meters.latencies.is_none() {
                if state.fly(arrival, id, &mut self.wires.packets) {
                    self.wires.calendar.push_arrival(arrival, link);
                }
                return departure;
            }
            (departure, arrival)
        } else {
            match self.send_special(link, ready, id) {
                Some(joined) => joined,
                None => return ready,
            }
        };
        if let Some(latencies) = &mut self.meters.latencies {
            let state = &self.wires.links[link as usize];
            latencies.begin(id, SimTime(departure.0 - state.line_time(state.wire(bytes))), arrival);
        }
        self.wires.fly(link, arrival, id);
        departure
    }

    /// Puts a packet on a host's link that is not plain: its departure and its arrival, unless it
    /// is down.
    #[inline(never)]
    fn send_special(&mut self, link: u32, ready: SimTime, id: u32) -> Option<(SimTime, SimTime)> {
        let joined = self.join(link, ready, ready, id);
        if joined.is_err() {
            // The queue of a host has no bound, so the link is down.
            let packet = self.wires.packets.remove(id);
            self.refuse(link, packet);
        }
        joined.ok()
    }

    /// Lets a packet join a link that is not plain: its departure and its arrival, or why it is
    /// lost.
    fn join(&mut self, link: u32, ready: SimTime, whole: SimTime, id: u32) -> Result<(SimTime, SimTime), Loss> {
        let changes = LinkChanges { failures: self.failures.as_deref(), rates: self.rate_changes.as_deref_mut() };
        self.wires.join_special(changes, link, ready, whole, id)
    }
}

/// Switches: where packets go next.
impl Network {
    /// Takes the first arrival that comes before all other events and before `bound`: when, and
    /// over which link.
    #[inline(always)]
    pub fn next_arrival(&mut self, bound: SimTime, ends: &Endpoints) -> Option<(SimTime, u32)> {
        self.wires.next_arrival(bound, &self.interfaces.flow_queues, ends)
    }

    /// The first packet in flight on `link` arrives.
    #[inline(always)]
    pub fn arrive(&mut self, at: SimTime, link: u32, ends: &mut Endpoints) {
        let state = &mut self.wires.links[link as usize];
        let (id, next) = state.land(&self.wires.packets);
        let (to, host) = (state.to, state.host);
        let takes_more = next == LAST || state.free_at() <= at;
        if next != LAST {
            self.wires.calendar.push_arrival(self.wires.packets.arrival(next), link);
        }
        if self.inspects {
            let packet = *self.wires.packets.get(id);
            self.capture_landing(at, link, id, &packet, ends);
        }
        // Mostly the link takes one packet more; the loop for more is elsewhere.
        if host != NONE
            && takes_more
            && self.interfaces.queued_flows > 0
            && self.step(host, link, ends)
            && self.wires.links[link as usize].free_at() <= at
        {
            self.refill(at, host, ends);
        }
        self.meters.hops += 1;
        if to < self.wires.hosts {
            if self.detours && self.stores_relayed(at, to, id) {
                return;
            }
            let packet = self.wires.packets.remove(id);
            if packet.flags & flags::CORRUPT != 0 {
                self.lose_arriving(link, packet, ends);
            } else if !self.inspects || self.receives(at, link, id, packet, ends) {
                ends.receive(at, packet, self);
            }
        } else if !self.detours || !self.crosses(at, link, to, id, ends) {
            self.forward(at, link, to, id, ends);
        }
    }

    /// A packet arrives whole at a host. False where the receive buffer has no room and it is lost,
    /// and where its host takes it later.
    #[inline(never)]
    fn receives(&mut self, at: SimTime, link: u32, id: u32, packet: Packet, ends: &mut Endpoints) -> bool {
        if let Some(number) = packet.control_message() {
            self.meters.control_frames[1] += 1;
            self.news.control.push(number);
            self.news.pending = true;
            return false;
        }
        if let Some(buffer) = self.interfaces.receive.get_mut(packet.destination as usize)
            && !buffer.take(at, self.wires.links[link as usize].wire(packet.bytes))
        {
            self.meters.lose(link, Loss::ReceiveBuffer, packet, ends);
            return false;
        }
        self.meters.note_latency(id, at);
        if self.host_lines.is_none() {
            return true;
        }
        let id = self.wires.packets.insert(packet);
        let waits = self.waits_in_host(at, link, id);
        if !waits {
            self.wires.packets.remove(id);
        }
        !waits
    }

    /// Takes a packet over a circuit switch or to a rack of rotor switches, or lets it
    /// wait in the host that sends it. False where `to` is another switch and it goes on.
    #[inline(never)]
    fn crosses(&mut self, at: SimTime, link: u32, to: u32, id: u32, ends: &mut Endpoints) -> bool {
        if self.waits_in_host(at, link, id) {
            return true;
        }
        if self.rotor.is_some() {
            self.comes_to_rack(at, link, to, id, ends);
            return true;
        }
        let Some(hybrid) = self.hybrid.as_ref().filter(|h| h.circuit_switch == to) else { return false };
        if let Err((lost_on, reason)) = hybrid.cross(&mut self.wires, self.failures.as_deref(), at, link, id) {
            self.lose_passing(lost_on, id, reason, ends);
        }
        true
    }

    /// A switch that may act on a packet from `at` on sends it on.
    #[inline(always)]
    fn forward(&mut self, at: SimTime, from: u32, node: u32, id: u32, ends: &mut Endpoints) {
        if self.wires.packets.get(id).flags & flags::CORRUPT != 0 {
            return self.lose_passing(from, id, None, ends);
        }
        if self.detours {
            if !self.carries_control(at, node, id) && !self.takes_off(at, node, id, ends) {
                self.forward_beside_detours(at, from, node, id, ends);
            }
            return;
        }
        self.forward_by_wire::<false>(at, from, node, id, ends);
    }

    /// A switch sends a packet on over wires in a network that has other ways too.
    #[inline(never)]
    fn forward_beside_detours(&mut self, at: SimTime, from: u32, node: u32, id: u32, ends: &mut Endpoints) {
        self.forward_by_wire::<true>(at, from, node, id, ends);
    }

    /// A switch sends a packet on over wires, or over air links in their place.
    #[inline(always)]
    fn forward_by_wire<const DETOURS: bool>(
        &mut self,
        at: SimTime,
        from: u32,
        node: u32,
        id: u32,
        ends: &mut Endpoints,
    ) {
        let packet = self.wires.packets.get_mut(id);
        let (destination, bytes) = (packet.destination, packet.bytes);
        let number = node - self.wires.hosts;
        let [out, ahead @ ..] = packet.ahead;
        let out = if out == LAST {
            match self.route(number, id, from) {
                Ok(out) => out,
                Err(reason) => return self.lose_passing(from, id, Some(reason), ends),
            }
        } else {
            packet.ahead[..ahead.len()].copy_from_slice(&ahead);
            packet.ahead[ahead.len()] = LAST;
            out
        };
        let ready = at + self.wires.switches[number as usize].latency;
        let link = &mut self.wires.links[out as usize];
        let last = link.to == destination;
        if DETOURS && last && self.hybrid.is_some() {
            return self.multiplex(at, from, out, id, ends);
        }
        let arrival = if link.is_plain() {
            let arrival = link.join(ready, bytes).1;
            if !(self.passive && last) {
                if link.fly(arrival, id, &mut self.wires.packets) {
                    self.wires.calendar.push_arrival(arrival, out);
                }
                return;
            }
            arrival
        } else if link.only_queues() && self.trains.is_none() {
            match self.wires.join_queue(number, out, ready, id) {
                Some(arrival) => arrival,
                None => return self.lose_passing(out, id, Some(Loss::BufferFull), ends),
            }
        } else {
            match self.forward_special(at, ready, [from, out], id, ends) {
                Some(arrival) => arrival,
                None => return,
            }
        };
        self.fly(arrival, out, last, id, ends);
    }

    /// Puts a packet into flight on a switch's link, which is its `last` one or not.
    #[inline(always)]
    fn fly(&mut self, arrival: SimTime, out: u32, last: bool, id: u32, ends: &mut Endpoints) {
        if self.passive && last {
            self.passive_arrival(arrival, out, id, ends);
        } else {
            self.wires.fly(out, arrival, id);
        }
    }

    /// Sends a packet on over a link that is not plain: when it arrives, unless it is lost or
    /// waits.
    #[inline(never)]
    fn forward_special(
        &mut self,
        at: SimTime,
        ready: SimTime,
        [from, out]: [u32; 2],
        id: u32,
        ends: &mut Endpoints,
    ) -> Option<SimTime> {
        if self.wires.links[out as usize].trims() {
            self.join_trimming(ready, out, id, ends);
            return None;
        }
        if self.wires.links[out as usize].has_port() {
            self.enqueue(at, ready, [from, out], id, ends);
            return None;
        }
        if self.wires.links[out as usize].is_air() {
            self.offer_air(at, out, id, ends);
            return None;
        }
        if let Some(trains) = &mut self.trains {
            trains.joins(out, ready);
        }
        let came = &self.wires.links[from as usize];
        let packet = self.wires.packets.get(id);
        let whole = ready + came.tail_lag(came.wire(packet.bytes));
        // Packets outside of slots may meet any other.
        let in_slot = packet.class() != BACKGROUND;
        let source = self.meters.collisions.as_mut().filter(|_| in_slot).map(|collisions| {
            let source = ends.sender(packet);
            collisions.joins(out, source, ready);
            source
        });
        let joined = if self.wires.links[out as usize].is_by_input() {
            self.wires.join_by_input(at, ready, [from, out], id).map(|j| (j.drained, j.arrival)).map_err(|e| (from, e))
        } else {
            self.join(out, ready, whole, id).map(|(departure, a)| (departure, Some(a))).map_err(|e| (out, e))
        };
        match joined {
            Ok((departure, arrival)) => {
                if let (Some(collisions), Some(source)) = (&mut self.meters.collisions, source) {
                    collisions.departs(out, source, departure);
                }
                arrival
            }
            Err((lost_on, reason)) => {
                self.lose_passing(lost_on, id, Some(reason), ends);
                None
            }
        }
    }

    /// The link that a switch takes for a packet that came over `from` and knows no link ahead.
    #[inline(never)]
    fn route(&self, switch: u32, id: u32, from: u32) -> Result<u32, Loss> {
        let packet = self.wires.packets.get(id);
        if packet.path >= VIA && self.flyways.is_some() {
            // On its way to the rack from which it flies, or by wire to the end.
            let via = packet.path != FLOWN;
            let to = if via { u32::from(packet.path - VIA) } else { packet.destination };
            return self.wires.route_to(switch, to, packet.hash);
        }
        let to = HostId(packet.destination);
        if let Some(hybrid) = self.hybrid.as_ref().filter(|_| packet.path == CIRCUIT)
            && self.fabric().link(self.fabric().uplink(to)).to.0 != switch + self.wires.hosts
        {
            let source = HostId(self.fabric().link(LinkId(from)).from.0);
            return hybrid.uplink(source, to);
        }
        self.wires.route(switch, packet)
    }

    /// Books an arrival ahead of its time that nothing else waits for.
    #[inline(always)]
    fn passive_arrival(&mut self, at: SimTime, link: u32, id: u32, ends: &mut Endpoints) {
        let &Packet { flow, destination, bytes, flags, .. } = self.wires.packets.get(id);
        if self.inspects || flags & flags::CORRUPT != 0 || at > self.stop || !ends.only_counts() {
            return self.inspected_arrival(at, link, id, ends);
        }
        self.wires.packets.release(id);
        self.meters.hops += 1;
        ends.count(at, flow, destination, bytes);
    }

    /// Books an arrival that is more than a number.
    #[inline(never)]
    fn inspected_arrival(&mut self, at: SimTime, link: u32, id: u32, ends: &mut Endpoints) {
        let packet = self.wires.packets.remove(id);
        if self.inspects {
            self.capture_landing(at, link, id, &packet, ends);
        }
        if at > self.stop {
            // Still in flight when the run ends.
            self.meters.beyond.0 += 1;
            self.meters.beyond.1 += u64::from(packet.bytes);
            return;
        }
        self.meters.hops += 1;
        if packet.flags & flags::CORRUPT != 0 {
            self.meters.lose(link, Loss::BitError, packet, ends);
        } else {
            if self.inspects {
                self.meters.note_latency(id, at);
            }
            ends.receive(at, packet, self);
        }
    }

    /// A switch loses a packet: for this reason, or because it is corrupt or the switch was down.
    #[inline(never)]
    fn lose_passing(&mut self, link: u32, id: u32, reason: Option<Loss>, ends: &mut Endpoints) {
        let packet = self.wires.packets.remove(id);
        match reason {
            Some(reason) => self.meters.lose(link, reason, packet, ends),
            None => self.lose_arriving(link, packet, ends),
        }
    }
}

/// Circuits.
impl Network {
    /// The circuit switch changes to this matching of hosts.
    pub fn retune(&mut self, now: SimTime, matching: &Matching) {
        if let Some(hybrid) = &mut self.hybrid {
            hybrid.retune(now, matching);
        }
    }

    /// A packet comes to the port of a hybrid rack towards its host. The rack's latency is added
    /// behind the port, as it is the same for all packets.
    #[inline(never)]
    fn multiplex(&mut self, at: SimTime, from: u32, out: u32, id: u32, ends: &mut Endpoints) {
        if self.wires.links[out as usize].is_down() {
            return self.lose_passing(out, id, Some(self.down_reason(out)), ends);
        }
        let Some(hybrid) = &mut self.hybrid else { return };
        match hybrid.multiplex(&mut self.wires, at, [from, out], id) {
            Multiplexed::Send => self.send_to_host(at, out, id),
            Multiplexed::Hold => {}
            Multiplexed::Full => self.lose_passing(out, id, Some(Loss::MultiplexerFull), ends),
        }
    }

    /// Sends a packet from a hybrid rack to its host.
    fn send_to_host(&mut self, at: SimTime, out: u32, id: u32) {
        let latency = self.wires.latency(self.wires.fabric.link(LinkId(out)).from.0);
        let bytes = self.wires.packets.get(id).bytes;
        let arrival = if self.wires.links[out as usize].is_plain() {
            self.wires.links[out as usize].join(at, bytes).1
        } else {
            self.join(out, at, at, id).expect("a free link takes a packet").1
        };
        self.wires.fly(out, arrival + latency, id);
    }

    /// The link from a hybrid rack to a host is free: the next packet leaves.
    #[inline(never)]
    pub fn serve_multiplexer(&mut self, at: SimTime, out: u32) {
        let Some((id, more)) = self.hybrid.as_mut().and_then(|h| h.next(&self.wires, at, out)) else { return };
        self.send_to_host(at, out, id);
        if more {
            let free = self.wires.links[out as usize].free_at();
            self.wires.calendar.push(free, EventKind::Multiplexer { link: out }.key());
        }
    }
}

impl Wire for Network {
    #[inline(always)]
    fn transmit(&mut self, now: SimTime, host: u32, packet: Packet) {
        let link = self.wires.uplinks[host as usize];
        self.end_void(now, host);
        if self.interfaces.is_plain() || self.interfaces.sends_at_once(&self.wires, now, host) {
            self.send(link, now, packet);
        } else if let Err(packet) = self.interfaces.queue_packet(&mut self.wires, &mut self.news, now, host, packet) {
            self.refuse(link, packet);
        }
    }

    #[inline(always)]
    fn service(&self, host: u32) -> Service {
        self.interfaces.service(host)
    }

    fn offer(&mut self, now: SimTime, offer: &Offer) {
        self.end_void(now, offer.host);
        self.interfaces.offer(&mut self.wires, &mut self.news, now, offer);
    }

    fn grow(&mut self, now: SimTime, host: u32) {
        self.interfaces.grow(&mut self.wires, &mut self.news, now, host);
    }

    fn retract(&mut self, now: SimTime, offer: &Offer) -> Option<i64> {
        self.interfaces.retract(&mut self.wires, &mut self.news, now, offer)
    }

    fn report(&mut self, now: SimTime, [from, to]: [u32; 2], number: u32, key: u32, report: RepairReport) {
        let report = (!self.is_host_down(from)).then_some(report);
        if let Some(report) = &report
            && let Some(capture) = &mut self.capture
        {
            capture.repair(now, false, [from, to], number, report);
        }
        self.news.pending = true;
        self.send_repair(now, [from, to], [number, key], report);
    }
}
