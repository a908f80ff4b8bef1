//! Packets of a network of rotor switches: from hosts to racks, and from rack to rack.
//!
//! A packet that crosses a rotor switch has one event, when it is at its next rack. Slices are
//! prepared only while something waits for one.

use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::{DATAGRAM_HEADER, Endpoints};
use crate::network::link::LinkState;
use crate::network::packet::{LAST, Packet, flags};
use crate::network::{Loss, Network};
use crate::rotor::Rotor;
use crate::rotor::grants::{Granted, GrantedPacket, Lines};
use crate::rotor::service::Next;
use timeplane_model::{Duration, LinkId};

impl Network {
    /// Adds rotor switches, and racks with queues for their circuits.
    pub(crate) fn add_rotors(&mut self, rotor: Rotor, mtu: u32) {
        let fabric = &self.wires.fabric;
        let (hosts, first) = (self.wires.hosts, self.wires.fabric.rotors());
        debug_assert!(first > 0, "a fabric of rotor switches");
        let latency = self.wires.latency(hosts);
        let light = fabric.links()[2 * hosts as usize].spec.propagation;
        // A rack's latency is a part of the links that end there, and the second wire through a
        // rotor switch is a part of the first.
        let (of_hosts, of_racks) = self.wires.links.split_at_mut(2 * hosts as usize);
        LinkState::lengthen(of_hosts.iter_mut().step_by(2), latency);
        LinkState::lengthen(of_racks.iter_mut().step_by(2), light + latency);
        self.wires.switches.iter_mut().for_each(|s| s.latency = Duration::ZERO);
        self.rotor = Some(Box::new(rotor));
        self.detours = true;
        self.mtu = mtu;
    }

    /// Takes a packet that comes to a rack, from a host or over a rotor switch.
    #[inline(never)]
    pub(super) fn comes_to_rack(&mut self, at: SimTime, link: u32, to: u32, id: u32, ends: &mut Endpoints) {
        let Some(rotor) = &mut self.rotor else { return };
        let node = if rotor.is_rotor(to) {
            match rotor.land(&mut self.wires, self.failures.as_deref(), at, link, id) {
                Ok(node) => node,
                Err((lost_on, reason)) => return self.lose_passing(lost_on, id, reason, ends),
            }
        } else {
            to
        };
        let packet = self.wires.packets.get_mut(id);
        if packet.flags & flags::CORRUPT != 0 {
            return self.lose_passing(link, id, None, ends);
        }
        if node != to
            && !rotor.is_home(node, packet.destination)
            && let Some(down) = rotor.relays_at_host(&self.wires.links, node, packet)
        {
            packet.ahead = [down, LAST, LAST, LAST];
            return self.forward_beside_detours(at, link, node, id, ends);
        }
        self.rack_takes(at, link, node, id, ends);
    }

    /// Whether a packet at a host is one that the host relays, and stores it then.
    #[inline(never)]
    pub(super) fn stores_relayed(&mut self, at: SimTime, host: u32, id: u32) -> bool {
        let Some(rotor) = &mut self.rotor else { return false };
        let packet = self.wires.packets.get(id);
        if packet.destination == host || packet.flags & flags::CORRUPT != 0 {
            return false;
        }
        rotor.store(host, id, packet.destination);
        self.news.pending |= rotor.expect_slice(at);
        true
    }

    /// A host has a packet: if its link sends a void packet, it is busy until that has left.
    #[inline(always)]
    pub(super) fn end_void(&mut self, now: SimTime, host: u32) {
        if self.detours {
            self.end_void_of(now, host);
        }
    }

    #[inline(never)]
    fn end_void_of(&mut self, now: SimTime, host: u32) {
        let Some(grants) = self.rotor.as_ref().and_then(|r| r.grants.as_ref()) else { return };
        let Some((since, due)) = grants.voids_at(host, now) else { return };
        let link = &mut self.wires.links[self.wires.uplinks[host as usize] as usize];
        let begin = link.free_at().max(since);
        if begin >= now {
            return;
        }
        let line = link.line_time(link.wire(self.mtu));
        let sent = (now - begin).as_ps().unsigned_abs().div_ceil(line.unsigned_abs()) as i64;
        // The void packet before a granted packet is as short as it has to be.
        link.free_from(SimTime(begin.0 + sent * line).min(due));
    }

    fn rack_takes(&mut self, at: SimTime, from: u32, node: u32, id: u32, ends: &mut Endpoints) {
        let Some(rotor) = &mut self.rotor else { return };
        let packet = self.wires.packets.get_mut(id);
        if rotor.is_home(node, packet.destination) {
            let down = self.wires.uplinks[packet.destination as usize] ^ 1;
            packet.ahead = [down, LAST, LAST, LAST];
            return self.forward_beside_detours(at, from, node, id, ends);
        }
        let size = ends.flows.get(packet.flow).bytes;
        match rotor.admit(&mut self.wires, &mut self.meters, at, [node, id], size) {
            Ok(link) => {
                self.news.pending |= rotor.expect_slice(at);
                if rotor.wake(&mut self.wires, at, link) {
                    self.serve_uplink(at, link, ends);
                }
            }
            Err((id, reason)) => self.lose_passing(from, id, Some(reason), ends),
        }
    }

    /// An uplink of a rack may be free.
    pub(super) fn serve_uplink(&mut self, now: SimTime, link: u32, ends: &mut Endpoints) {
        loop {
            let Some(rotor) = &mut self.rotor else { return };
            let (id, has_more) = match rotor.next(&mut self.wires, now, link) {
                Next::Packet(id, has_more) => (id, has_more),
                Next::Wait(until) => return rotor.arm(&mut self.wires, until, link),
                Next::Nothing => return,
            };
            let bytes = self.wires.packets.get(id).bytes;
            let joined = if self.wires.links[link as usize].is_plain() {
                Ok(self.wires.links[link as usize].join(now, bytes))
            } else {
                self.join(link, now, now, id)
            };
            match joined {
                Ok((departure, arrival)) => {
                    self.wires.fly(link, arrival, id);
                    if let Some(rotor) = self.rotor.as_mut().filter(|_| has_more) {
                        rotor.arm(&mut self.wires, departure, link);
                    }
                    return;
                }
                // Its wire or its rack is down: the next packet is lost too.
                Err(reason) => self.lose_passing(link, id, Some(reason), ends),
            }
        }
    }

    /// Whether a link is an uplink of a rack, and serves it if its event is not stale.
    pub(super) fn serves_uplink(&mut self, now: SimTime, link: u32, ends: &mut Endpoints) -> bool {
        let Some(rotor) = self.rotor.as_mut().filter(|r| r.is_uplink(link)) else { return false };
        if rotor.is_due(now, link) {
            self.serve_uplink(now, link, ends);
        }
        true
    }

    /// When the next slice has to be prepared.
    pub(crate) fn next_slice(&self) -> Option<SimTime> {
        self.rotor.as_ref().and_then(|r| r.next_slice())
    }

    /// A slice begins: late packets, new grants, and circuits for which packets wait.
    pub(crate) fn begin_slice(&mut self, at: SimTime, ends: &mut Endpoints) {
        let Some(rotor) = &mut self.rotor else { return };
        let slice = rotor.cycle.slice_at(at);
        for (node, link, id) in rotor.take_late(&mut self.wires, slice) {
            let Some(rotor) = &mut self.rotor else { return };
            if rotor.reroutes(&mut self.wires, link, id) {
                self.rack_takes(at, link, node, id, ends);
            } else {
                self.lose_passing(link, id, Some(Loss::Late), ends);
            }
        }
        self.plan_slice(at, slice);
        let Some(rotor) = &mut self.rotor else { return };
        for link in rotor.opening(slice) {
            let Some(rotor) = &mut self.rotor else { return };
            if rotor.wake(&mut self.wires, at, link) {
                self.serve_uplink(at, link, ends);
            }
        }
        if let Some(rotor) = &mut self.rotor {
            rotor.slice_is_over(slice);
        }
    }

    /// Grants the circuits that begin with a slice.
    fn plan_slice(&mut self, at: SimTime, slice: i64) {
        let Some(rotor) = &mut self.rotor else { return };
        let hosts = self.wires.hosts;
        let line = |link: u32| {
            let link = &self.wires.links[link as usize];
            Duration::from_ps(link.line_time(link.wire(self.mtu)))
        };
        let way = self.wires.links[0].arrival(SimTime::ZERO, 0) - SimTime::ZERO;
        let lines = Lines { host: line(0), uplink: line(2 * hosts), way };
        let lost = !self.meters.losses.is_empty();
        for host in rotor.plan(slice, lines, &self.wires.packets, lost) {
            self.arm_granted(at, host);
        }
    }

    /// Serves the grants of a host at `at`, unless an event does it earlier.
    fn arm_granted(&mut self, at: SimTime, host: u32) {
        let Some(grants) = self.rotor.as_mut().and_then(|r| r.grants.as_mut()) else { return };
        let armed = grants.armed(host);
        if at < *armed {
            *armed = at;
            self.wires.calendar.push(at, EventKind::Granted { host }.key());
        }
    }

    /// A host may send a granted packet. Other packets of the host go first.
    pub(crate) fn serve_granted(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) {
        let Some(grants) = self.rotor.as_mut().and_then(|r| r.grants.as_mut()) else { return };
        if *grants.armed(host) != now {
            return;
        }
        *grants.armed(host) = SimTime::MAX;
        if self.interfaces.is_plain() {
            self.refill(now, host, ends);
        }
        let link = self.wires.uplinks[host as usize];
        let state = &self.wires.links[link as usize];
        if state.is_down() {
            // The next slice asks again.
            return;
        }
        if state.free_at() > now {
            let free = state.free_at();
            return self.arm_granted(free, host);
        }
        let line = Duration::from_ps(state.line_time(state.wire(self.mtu)));
        let Some(rotor) = &mut self.rotor else { return };
        match rotor.next_granted(host, now, line) {
            None => {}
            Some(Err(due)) => self.arm_granted(due, host),
            Some(Ok(granted)) => {
                let departure = self.send_granted(now, host, granted, ends);
                self.arm_granted(departure, host);
            }
        }
    }

    fn send_granted(&mut self, now: SimTime, host: u32, granted: Granted, ends: &mut Endpoints) -> SimTime {
        let Granted { packet, uplink, hold } = granted;
        let link = self.wires.uplinks[host as usize];
        let (path, ahead) = (uplink as u16 + 1, [LAST, hold, LAST, LAST]);
        let (flow, destination) = match packet {
            GrantedPacket::Of { flow, destination } => (flow, destination),
            GrantedPacket::Relayed(id) => {
                let packet = self.wires.packets.get_mut(id);
                (packet.path, packet.ahead) = (path, ahead);
                return self.send_relayed(link, now, id, ends);
            }
        };
        let (packet, last) = ends.take_packet(now, flow, u32::MAX).expect("a granted flow holds packets");
        if last {
            if let Some(grants) = self.rotor.as_mut().and_then(|r| r.grants.as_mut()) {
                grants.flow_is_sent(host, destination);
            }
            ends.sent_all(flow, self);
        }
        self.send(link, now, Packet { path, ahead, ..packet })
    }

    /// A host sends a packet that it has relayed: when it departs.
    fn send_relayed(&mut self, link: u32, now: SimTime, id: u32, ends: &mut Endpoints) -> SimTime {
        match self.join(link, now, now, id) {
            Ok((departure, arrival)) => {
                self.wires.fly(link, arrival, id);
                departure
            }
            Err(reason) => {
                self.lose_passing(link, id, Some(reason), ends);
                now
            }
        }
    }

    /// Keeps a flow that waits for grants at its host. False if it sends at once.
    pub(super) fn keeps_flow(&mut self, now: SimTime, host: u32, destination: u32, key: u32, ends: &Endpoints) -> bool {
        let Some(rotor) = &mut self.rotor else { return false };
        let flow = ends.flows.get(key);
        if !ends.config().granted.as_ref().is_some_and(|g| g.has(host, destination, flow.bytes)) {
            return false;
        }
        let packets = flow.sender.unsent().div_ceil(u64::from(self.mtu - DATAGRAM_HEADER));
        rotor.keep_flow(host, destination, key, packets);
        self.news.pending |= rotor.expect_slice(now);
        true
    }

    /// Loses what a rack that fails holds for an uplink.
    pub(super) fn drain_uplink(&mut self, link: u32, ends: &mut Endpoints) {
        let from = self.wires.fabric.link(LinkId(link)).from.0;
        let Some(rotor) = self.rotor.as_mut().filter(|_| self.wires.links[link as usize].is_down()) else { return };
        if self.failures.as_ref().is_some_and(|f| !f.is_down(super::failures::Part::Node(from))) {
            return;
        }
        for id in rotor.drain(&mut self.wires, link) {
            self.lose_passing(link, id, Some(self.down_reason(link)), ends);
        }
    }

    /// Packets that were late for their circuits over an uplink, and not lost.
    pub(crate) fn late(&self, link: u32) -> u64 {
        self.rotor.as_ref().map_or(0, |r| r.late_packets(link))
    }
}
