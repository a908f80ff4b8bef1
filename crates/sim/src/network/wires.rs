//! Links with the packets on them, the calendar of their arrivals, and the routes over them.
//!
//! Wires know how packets join a link and when they arrive. They know neither hosts'
//! queues nor flows. The features of failures and rate changes tell links that they can fail or
//! change their rates.

use crate::engine::calendar::Calendar;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::{Endpoints, FlowQueue, Timers};
use crate::hosts::flow::FlowKey;
use crate::network::failures::Failures;
use crate::network::input_buffer::InputBuffers;
use crate::network::link::{Full, Kinds, LinkState};
use crate::network::meters::Loss;
use crate::network::packet::{LAST, Packet, Packets, flags};
use crate::network::rate_changes::RateChanges;
use crate::network::routes::Routes;
use crate::network::shared_buffer::SharedBuffer;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, HostId, Link, LinkId, LinkSpec, NodeId, PathTag};
use timeplane_workload::Streams;

/// The state of a switch itself.
#[derive(Debug)]
pub(crate) struct SwitchState {
    pub latency: Duration,
    pub shared: Option<Box<SharedBuffer>>,
}

impl Timers for Calendar {
    #[inline]
    fn arm(&mut self, at: SimTime, flow: u32, key: FlowKey) {
        self.push(at, EventKind::Timer { flow, key }.key());
    }
}

/// Networks with more links do not fit into the nearer caches.
const LARGE: usize = 1 << 12;

/// Links, packets, calendar and routes.
pub struct Wires {
    /// Pending events.
    pub calendar: Calendar,
    /// By link number: the fabric's, then those that were added.
    pub links: Vec<LinkState>,
    /// Packets under way.
    pub packets: Packets,
    pub(crate) fabric: Arc<Fabric>,
    pub(crate) hosts: u32,
    /// By host.
    pub(crate) uplinks: Vec<u32>,
    pub(crate) switches: Vec<SwitchState>,
    /// Those of switches that buffer at their inputs.
    pub(crate) input_buffers: Option<Box<InputBuffers>>,
    /// Routes without the links that switches know to be dead.
    routes: Routes,
    /// The nodes at both ends of each link that was added to the fabric's.
    added: Vec<(u32, u32)>,
    /// By link, a stream of bit errors where it has any.
    errors: Vec<Option<Xoshiro256PlusPlus>>,
    /// Whether a shared buffer is [uncertain](SharedBuffer::is_uncertain).
    pub(crate) uncertain: bool,
    /// Whether a new day of the calendar prefetches what its arrivals need. Changes no result.
    pub large: bool,
}

/// Features that links ask when a packet joins that is not on the fast path.
#[derive(Default)]
pub(crate) struct LinkChanges<'a> {
    pub failures: Option<&'a Failures>,
    pub rates: Option<&'a mut RateChanges>,
}

fn idle_links(fabric: &Fabric, watched: bool) -> Vec<LinkState> {
    let mut kinds = Kinds::new(watched);
    fabric.links().iter().map(|link| kinds.link(link, fabric.switch(link.from), fabric.switch(link.to))).collect()
}

impl Wires {
    pub(crate) fn new(fabric: Arc<Fabric>, streams: &Streams) -> Self {
        let hosts = fabric.hosts();
        let links = idle_links(&fabric, false);
        let bit_errors = |i: usize| streams.fast("link", i as u64, "bit errors");
        let specs = fabric.links().iter().enumerate();
        let errors = specs.map(|(i, link)| (link.spec.bit_error > 0.0).then(|| bit_errors(i))).collect();
        let switches = (hosts..fabric.nodes().len() as u32)
            .map(|n| {
                let switch = fabric.switch(NodeId(n)).expect("switches follow hosts");
                let ports = || (0..links.len() as u32).filter(|&l| fabric.link(LinkId(l)).from.0 == n).collect();
                SwitchState { latency: switch.latency, shared: SharedBuffer::of(switch, ports).map(Box::new) }
            })
            .collect();
        Self {
            calendar: Calendar::default(),
            large: links.len() > LARGE,
            links,
            packets: Packets::default(),
            hosts,
            uplinks: (0..hosts).map(|h| fabric.uplink(HostId(h)).0).collect(),
            switches,
            input_buffers: InputBuffers::new(&fabric).map(Box::new),
            routes: Routes::new(&fabric),
            added: Vec::new(),
            errors,
            uncertain: false,
            fabric,
        }
    }

    /// Makes the links of switches ones on which packets that meet are counted.
    pub(crate) fn watch_meetings(&mut self) {
        self.links = idle_links(&self.fabric, true);
    }

    /// Adds a link that no host sends on, and returns its number.
    pub(crate) fn add_link(&mut self, from: u32, to: u32, spec: LinkSpec) -> u32 {
        let mut state = LinkState::new(&Link { from: NodeId(from), to: NodeId(to), spec }, None, None);
        state.host = u32::MAX;
        self.links.push(state);
        self.added.push((from, to));
        self.errors.push(None);
        (self.links.len() - 1) as u32
    }

    /// Points a link that was added elsewhere.
    pub(crate) fn point(&mut self, link: u32, from: u32, to: u32) {
        self.links[link as usize].to = to;
        self.added[link as usize - self.fabric.links().len()] = (from, to);
    }

    /// The nodes that send and receive on a link.
    pub fn ends_of(&self, link: u32) -> (u32, u32) {
        match (link as usize).checked_sub(self.fabric.links().len()) {
            Some(added) => self.added[added],
            None => {
                let link = self.fabric.link(LinkId(link));
                (link.from.0, link.to.0)
            }
        }
    }

    /// The link of a host's interface.
    #[inline]
    pub(crate) fn uplink(&self, host: u32) -> &LinkState {
        &self.links[self.uplinks[host as usize] as usize]
    }

    /// The latency of the switch at `node`.
    #[inline]
    pub(crate) fn latency(&self, node: u32) -> Duration {
        self.switches[(node - self.hosts) as usize].latency
    }

    /// The buffer that the sending end of a link shares with other ports, if any, and all links.
    #[inline]
    pub(crate) fn shared_buffer(&mut self, link: u32) -> Option<(&mut SharedBuffer, &[LinkState])> {
        if !self.links[link as usize].is_shared() {
            return None;
        }
        let switch = self.fabric.link(LinkId(link)).from.0 - self.hosts;
        let shared = self.switches[switch as usize].shared.as_deref_mut().expect("a shared buffer");
        Some((shared, &self.links))
    }

    /// Routes around these links from now on.
    pub(crate) fn avoid(&mut self, dead: &[LinkId]) {
        self.routes = if dead.is_empty() {
            Routes::new(&self.fabric)
        } else {
            Routes::new(&self.fabric.without(dead.iter().copied()))
        };
    }

    /// The next link towards a host for packets with this hash.
    #[inline]
    pub(crate) fn route_to(&self, switch: u32, destination: u32, hash: u32) -> Result<u32, Loss> {
        let out = self.routes.next(switch, destination, hash);
        if out == LAST { Err(Loss::NoRoute) } else { Ok(out) }
    }

    /// The next link of a packet, by its path tag or its hash.
    #[inline]
    pub(crate) fn route(&self, switch: u32, packet: &Packet) -> Result<u32, Loss> {
        let out = match packet.path.checked_sub(1) {
            None => self.routes.next(switch, packet.destination, packet.hash),
            Some(tag) => self.routes.tagged(switch, packet.destination, PathTag(tag)),
        };
        if out == LAST { Err(Loss::NoRoute) } else { Ok(out) }
    }

    /// Puts a packet into flight.
    #[inline(always)]
    pub(crate) fn fly(&mut self, link: u32, arrival: SimTime, id: u32) {
        if self.links[link as usize].fly(arrival, id, &mut self.packets) {
            self.calendar.push_arrival(arrival, link);
        }
    }

    /// Lets a packet join a link of a switch that [only queues](LinkState::only_queues), when all of
    /// it is there: its arrival, or `None` where the queue has no room.
    #[inline(always)]
    pub(crate) fn join_queue(&mut self, switch: u32, link: u32, ready: SimTime, id: u32) -> Option<SimTime> {
        let packet = self.packets.get_mut(id);
        let state = &self.links[link as usize];
        let wire = state.wire(packet.bytes);
        let room = if state.is_shared() {
            let shared = self.switches[switch as usize].shared.as_mut().expect("a shared buffer");
            shared.room(ready, link, wire, &self.links)
        } else {
            i64::MAX
        };
        let state = &mut self.links[link as usize];
        let sending = state.accept(ready, ready, wire, room).ok()?;
        if sending.mark && packet.flags & flags::ECT != 0 {
            packet.flags |= flags::CE;
        }
        Some(state.arrival(sending.departure, wire))
    }

    /// Lets a packet join a link that is not plain: its departure and its arrival, or why it is
    /// lost.
    ///
    /// `whole` is when its last bit is there, later than `ready` only behind a cut-through switch.
    #[inline(never)]
    pub(crate) fn join_special(
        &mut self,
        changes: LinkChanges<'_>,
        link: u32,
        ready: SimTime,
        whole: SimTime,
        id: u32,
    ) -> Result<(SimTime, SimTime), Loss> {
        if self.links[link as usize].is_down() {
            return Err(changes.failures.map_or(Loss::LinkDown, |f| f.down_reason(self, link)));
        }
        let wire = self.links[link as usize].wire(self.packets.get(id).bytes);
        let mut room = i64::MAX;
        if let Some((shared, links)) = self.shared_buffer(link) {
            room = shared.room(ready, link, wire, links);
            let uncertain = shared.is_uncertain();
            self.uncertain |= uncertain;
        }
        let packet = self.packets.get_mut(id);
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
        if leads_down && let Some(failures) = changes.failures {
            failures.doom_if_early(self, link, arrival, id);
        }
        if changing && let Some(rates) = changes.rates {
            rates.note_sending(self, link, id, ready, sending.departure);
        }
        Ok((sending.departure, arrival))
    }

    /// Lets a control frame join a link before all data that has not begun.
    ///
    /// # Errors
    /// If the link is down.
    pub(crate) fn overtake(
        &mut self,
        failures: Option<&Failures>,
        link: u32,
        ready: SimTime,
        id: u32,
    ) -> Result<(), Loss> {
        let state = &mut self.links[link as usize];
        if state.is_down() {
            return Err(failures.map_or(Loss::LinkDown, |f| f.down_reason(self, link)));
        }
        let wire = state.wire(self.packets.get(id).bytes);
        if let Some(survival) = state.survival(wire) {
            corrupt(&mut self.errors[link as usize], survival, self.packets.get_mut(id));
        }
        let first = state.first();
        let due = (first != LAST).then(|| self.packets.arrival(first));
        let departure = state.overtake(ready, id, &mut self.packets);
        let arrival = state.arrival(departure, wire);
        let (leads_down, now_first) = (state.leads_down(), state.first());
        let now_due = self.packets.arrival(now_first);
        if due != Some(now_due) {
            if let Some(due) = due {
                self.calendar.remove_arrival(due, link);
            }
            self.calendar.push_arrival(now_due, link);
        }
        if leads_down && let Some(failures) = failures {
            failures.doom_if_early(self, link, arrival, id);
        }
        Ok(())
    }

    /// Takes the first arrival that comes before all other events and before `bound`: when, and
    /// over which link.
    #[inline(always)]
    pub(crate) fn next_arrival(
        &mut self,
        bound: SimTime,
        queues: &[FlowQueue],
        ends: &Endpoints,
    ) -> Option<(SimTime, u32)> {
        let (links, packets, large) = (&self.links, &self.packets, self.large);
        self.calendar.pop_arrival(bound, |calendar| {
            if large {
                prefetch(calendar, links, packets, queues, ends);
            }
        })
    }
}

/// Reads what the next arrivals need.
///
/// A large network is mostly far from the processor. When a day opens, this reads the links of the
/// day after the next, the packets of the next day, and what the packets of this day lead to. No
/// read then waits for another.
#[inline(never)]
fn prefetch(calendar: &Calendar, links: &[LinkState], packets: &Packets, flow_queues: &[FlowQueue], ends: &Endpoints) {
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
