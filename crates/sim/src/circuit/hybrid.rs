//! The way of packets through a hybrid fabric: the circuit switch, and the racks' multiplexers.

use crate::circuit::multiplexer::{Class, Multiplexer};
use crate::circuit::switch::Circuits;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::packet::{LAST, flags};
use crate::network::{Loss, Network};
use timeplane_model::{Duration, HostId, LinkId, Matching};

/// What a hybrid fabric has beside packet switches.
#[derive(Debug)]
pub(crate) struct HybridState {
    pub(crate) circuits: Circuits,
    /// By host.
    pub(crate) multiplexers: Vec<Multiplexer>,
    /// Wire bytes that each input of a multiplexer holds.
    pub(crate) most: u32,
    /// Wire bytes of the largest frame.
    pub(crate) largest: u32,
    /// The packet switch.
    pub(crate) packet_switch: u32,
}

impl Network {
    /// Adds the circuit switch of a hybrid fabric, and multiplexers that hold so many frames of `largest` wire bytes of each input.
    pub fn add_circuits(&mut self, circuits: Circuits, frames: u32, largest: u32) {
        let Some(switch) = self.fabric.circuit_switch() else { return };
        self.circuit_switch = switch.0;
        let multiplexers = (0..self.hosts).map(|_| Multiplexer::default()).collect();
        self.hybrid = Some(Box::new(HybridState {
            circuits,
            multiplexers,
            most: frames * largest,
            largest,
            packet_switch: switch.0 - 1,
        }));
    }

    /// The circuit switch changes to this matching of hosts.
    pub fn retune(&mut self, now: SimTime, matching: &Matching) {
        if let Some(hybrid) = &mut self.hybrid {
            hybrid.circuits.retune(now, matching);
        }
    }

    /// A packet's last bit comes to the circuit switch, and leaves it at the same time or is lost.
    #[inline(never)]
    pub(crate) fn cross(&mut self, at: SimTime, from: u32, id: u32, ends: &mut Endpoints) {
        let hybrid = self.hybrid.as_ref().expect("only then is there a circuit switch");
        let packet = self.packets.get(id);
        let (bytes, destination) = (packet.bytes, HostId(packet.destination));
        let corrupt = packet.flags & flags::CORRUPT != 0;
        let state = &self.links[from as usize];
        let line = Duration::from_ps(state.line_time(state.wire(bytes)));
        let out = hybrid.circuits.cross(at, from, line);
        // Light that comes to another rack than it was meant for ends there.
        let down = self.fabric.downlink(destination);
        let out = out.filter(|&out| self.fabric.link(out).to == self.fabric.link(down).from);
        if corrupt {
            return self.lose_passing(from, id, None, ends);
        }
        let Some(out) = out else { return self.lose_passing(from, id, Some(Loss::CircuitDark), ends) };
        if self.links[out.index()].is_down() {
            return self.lose_passing(out.0, id, Some(self.down_reason(out.0)), ends);
        }
        self.packets.get_mut(id).ahead = [down.0, LAST, LAST, LAST];
        // A rack takes a frame from the circuit as it comes, bit by bit: as if all were as long as the largest, so that a short one
        // does not come before its turn.
        let state = &self.links[from as usize];
        let shorter = Duration::from_ps(state.line_time(hybrid.largest) - state.line_time(state.wire(bytes)));
        let arrival = self.links[out.index()].pass(at, bytes) + shorter;
        if self.links[out.index()].leads_down() {
            self.doom_if_early(out.0, arrival, id);
        }
        self.fly(out.0, arrival, id);
    }

    /// A packet comes to the port of a hybrid rack towards its host. The rack's latency is added behind the port: it is the same for all.
    #[inline(never)]
    pub(crate) fn multiplex(&mut self, at: SimTime, from: u32, out: u32, id: u32, ends: &mut Endpoints) {
        if self.links[out as usize].is_down() {
            return self.lose_passing(out, id, Some(self.down_reason(out)), ends);
        }
        let hybrid = self.hybrid.as_mut().expect("only then is there a multiplexer");
        let packets = self.fabric.link(LinkId(from)).from.0 == hybrid.packet_switch;
        let class = if packets { Class::Packets } else { Class::Circuit };
        let link = &self.links[out as usize];
        let (free_at, wire) = (link.free_at(), link.wire(self.packets.get(id).bytes));
        // Of a frame that comes by a circuit only what comes before the link is free has to be held: it comes as fast as the link sends.
        let until_free = link.backlog_bytes(at).min(u64::from(wire)) as u32;
        let wire = if packets { wire } else { until_free };
        let multiplexer = &mut hybrid.multiplexers[link.to as usize];
        let waits = !multiplexer.is_empty();
        if !waits && free_at <= at {
            self.multiplexed(at, out, id);
        } else if !multiplexer.hold(class, from, id, wire, hybrid.most) {
            let packet = self.packets.remove(id);
            self.lose(out, Loss::MultiplexerFull, packet, ends);
        } else if !waits {
            self.calendar.push(free_at, EventKind::Multiplexer { link: out }.key());
        }
    }

    /// Sends a packet from a rack to its host.
    pub(crate) fn multiplexed(&mut self, at: SimTime, out: u32, id: u32) {
        let switch = self.fabric.link(LinkId(out)).from.0 - self.hosts;
        let latency = self.switches[switch as usize].latency;
        let bytes = self.packets.get(id).bytes;
        let arrival = if self.links[out as usize].is_plain() {
            self.links[out as usize].join(at, bytes).1
        } else {
            self.join_special(out, at, at, id).expect("a free link takes a packet").1
        };
        self.fly(out, arrival + latency, id);
    }

    /// The link from a rack to a host is free: what waited goes on.
    #[inline(never)]
    pub fn serve_multiplexer(&mut self, at: SimTime, out: u32) {
        let host = self.links[out as usize].to;
        let Some(hybrid) = &mut self.hybrid else { return };
        if self.links[out as usize].free_at() > at {
            // What this was for is lost with its rack; what came since has an event of its own.
            return;
        }
        let id = hybrid.multiplexers[host as usize].next();
        let more = !hybrid.multiplexers[host as usize].is_empty();
        if id == LAST {
            return;
        }
        self.multiplexed(at, out, id);
        if more {
            self.calendar.push(self.links[out as usize].free_at(), EventKind::Multiplexer { link: out }.key());
        }
    }
}
