//! The path of packets through a hybrid fabric: the circuit switch, and the multiplexers of racks.
//!
//! This module decides where a packet leaves the circuit switch and which packet a rack sends next
//! to a host. Which circuits are set is decided by a controller.

use crate::circuit::multiplexer::{Class, Multiplexer};
use crate::circuit::switch::Circuits;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::network::failures::Failures;
use crate::network::meters::Loss;
use crate::network::packet::{LAST, flags};
use crate::network::wires::Wires;
use timeplane_model::{Duration, HostId, LinkId, Matching};

/// What a hybrid fabric has besides packet switches.
#[derive(Debug)]
pub(crate) struct Hybrid {
    circuits: Circuits,
    /// By host.
    multiplexers: Vec<Multiplexer>,
    /// Wire bytes that each input of a multiplexer holds at most.
    most: u32,
    /// Wire bytes of the largest frame.
    pub largest: u32,
    packet_switch: u32,
    /// The node of the circuit switch.
    pub circuit_switch: u32,
}

/// What a multiplexer does with a packet that comes.
pub(crate) enum Multiplexed {
    /// Sends it at once.
    Send,
    /// Holds it.
    Hold,
    /// Has no room for it.
    Full,
}

impl Hybrid {
    /// A circuit switch, and multiplexers that hold up to `frames` frames of `largest` wire bytes
    /// of each input. `None` if the fabric has no circuit switch.
    pub fn new(wires: &Wires, circuits: Circuits, frames: u32, largest: u32) -> Option<Self> {
        let switch = wires.fabric.circuit_switch()?;
        Some(Self {
            circuits,
            multiplexers: (0..wires.hosts).map(|_| Multiplexer::default()).collect(),
            most: frames * largest,
            largest,
            packet_switch: switch.0 - 1,
            circuit_switch: switch.0,
        })
    }

    /// The circuit switch changes to this matching of hosts.
    pub fn retune(&mut self, now: SimTime, matching: &Matching) {
        self.circuits.retune(now, matching);
    }

    /// Sets up no circuits over these links.
    pub fn avoid(&mut self, dead: &[LinkId]) {
        self.circuits.avoid(dead);
    }

    /// The link of the circuit from one host to another, or why there is none.
    pub fn uplink(&self, source: HostId, to: HostId) -> Result<u32, Loss> {
        self.circuits.uplink(source, to).map(|l| l.0).ok_or(Loss::CircuitDark)
    }

    /// The last bit of a packet comes to the circuit switch, and leaves it at the same time.
    ///
    /// # Errors
    /// The link that loses it and the reason, `None` if the packet is corrupt.
    pub fn cross(
        &self,
        wires: &mut Wires,
        failures: Option<&Failures>,
        at: SimTime,
        from: u32,
        id: u32,
    ) -> Result<(), (u32, Option<Loss>)> {
        let packet = wires.packets.get(id);
        let (bytes, destination) = (packet.bytes, HostId(packet.destination));
        let corrupt = packet.flags & flags::CORRUPT != 0;
        let state = &wires.links[from as usize];
        let line = Duration::from_ps(state.line_time(state.wire(bytes)));
        let out = self.circuits.cross(at, from, line);
        // Light that comes to a rack other than the packet's ends there.
        let down = wires.fabric.downlink(destination);
        let out = out.filter(|&out| wires.fabric.link(out).to == wires.fabric.link(down).from);
        if corrupt {
            return Err((from, None));
        }
        let Some(out) = out else { return Err((from, Some(Loss::CircuitDark))) };
        if wires.links[out.index()].is_down() {
            let reason = failures.map_or(Loss::LinkDown, |f| f.down_reason(wires, out.0));
            return Err((out.0, Some(reason)));
        }
        wires.packets.get_mut(id).ahead = [down.0, LAST, LAST, LAST];
        // A rack takes a frame from the circuit bit by bit, as if all frames were as long as the
        // largest. A short frame therefore does not overtake.
        let state = &wires.links[from as usize];
        let shorter = Duration::from_ps(state.line_time(self.largest) - state.line_time(state.wire(bytes)));
        let arrival = wires.links[out.index()].pass(at, bytes) + shorter;
        if wires.links[out.index()].leads_down()
            && let Some(failures) = failures
        {
            failures.doom_if_early(wires, out.0, arrival, id);
        }
        wires.fly(out.0, arrival, id);
        Ok(())
    }

    /// A packet comes to the port of a rack towards its host.
    pub fn multiplex(&mut self, wires: &mut Wires, at: SimTime, [from, out]: [u32; 2], id: u32) -> Multiplexed {
        let packets = wires.fabric.link(LinkId(from)).from.0 == self.packet_switch;
        let class = if packets { Class::Packets } else { Class::Circuit };
        let link = &wires.links[out as usize];
        let (free_at, wire) = (link.free_at(), link.wire(wires.packets.get(id).bytes));
        // A frame from a circuit comes as fast as the link sends. Only the part that comes before
        // the link is free has to be held.
        let until_free = link.backlog_bytes(at).min(u64::from(wire)) as u32;
        let wire = if packets { wire } else { until_free };
        let multiplexer = &mut self.multiplexers[link.to as usize];
        let waits = !multiplexer.is_empty();
        if !waits && free_at <= at {
            return Multiplexed::Send;
        }
        if !multiplexer.hold(class, from, id, wire, self.most) {
            return Multiplexed::Full;
        }
        if !waits {
            wires.calendar.push(free_at, EventKind::Multiplexer { link: out }.key());
        }
        Multiplexed::Hold
    }

    /// The link from a rack to a host is free: the packet that it sends next, and whether more
    /// wait.
    pub fn next(&mut self, wires: &Wires, at: SimTime, out: u32) -> Option<(u32, bool)> {
        let link = &wires.links[out as usize];
        if link.free_at() > at {
            // The packets of this event were lost with their rack; later ones have an event of
            // their own.
            return None;
        }
        let multiplexer = &mut self.multiplexers[link.to as usize];
        let id = multiplexer.next();
        (id != LAST).then(|| (id, !multiplexer.is_empty()))
    }

    /// Takes all packets that wait for a node, if that is a host.
    pub fn drain(&mut self, node: u32) -> Vec<u32> {
        self.multiplexers.get_mut(node as usize).map(Multiplexer::drain).unwrap_or_default()
    }

    /// Packets that wait in multiplexers.
    pub fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.multiplexers.iter().flat_map(Multiplexer::packets)
    }
}
