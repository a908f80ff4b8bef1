//! Hosts behind gates that open by the clock, written to be obviously right.
//!
//! A gate lets a host send to one destination: in slots that come back, or at a rate. Within a
//! queue packets go first, then flows, first come, first served or in turn.

use super::{Reference, What};
use std::collections::BTreeMap;
use timeplane_model::{Bytes, Duration, HostId, Rate};
use timeplane_sim::SimTime;
use timeplane_sim::hosts::endpoints::{Endpoints, HandedOver};
use timeplane_sim::network::packet::Packet;

/// When a host may send to a destination; times in ps.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    pub host: u32,
    pub destination: u32,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Slots start at `from` and then at intervals of `every`. The gate is open for a time of
    /// `open` in each, for at most this many packets and bytes.
    Slots { from: i64, open: i64, every: i64, packets: u32, bytes: u64 },
    /// At a rate, from then on.
    Rate(i64, Rate),
}

/// The gates of all hosts.
pub struct Gates {
    pub gates: Vec<Gate>,
    /// What slots have carried, by gate and number of the slot: packets and bytes.
    used: BTreeMap<(usize, i64), (u32, u64)>,
    /// By gate with a rate, when it lets the next packet go.
    eligible: BTreeMap<usize, i64>,
}

impl Gates {
    pub fn new(gates: Vec<Gate>) -> Self {
        Self { gates, used: BTreeMap::new(), eligible: BTreeMap::new() }
    }
}

impl Reference {
    pub(super) fn arm_gates(&mut self) {
        let gates = self.gates.as_ref().map_or_else(Vec::new, |g| g.gates.clone());
        for (i, gate) in gates.iter().enumerate() {
            let (Kind::Slots { from, .. } | Kind::Rate(from, _)) = gate.kind;
            self.at(from, What::Gate(i as u32));
        }
    }

    /// A gate opens; slots come back while flows are under way.
    pub(super) fn gate_opens(&mut self, gate: u32, ends: &Endpoints, flows: usize) {
        let Some(gates) = &mut self.gates else { return };
        let Gate { host, kind, .. } = gates.gates[gate as usize];
        match kind {
            Kind::Slots { every, .. } if !ends.flows.is_empty() || (ends.started() as usize) < flows => {
                assert!(self.now < 100_000_000_000_000, "flows end");
                self.at(self.now + every, What::Gate(gate));
            }
            Kind::Slots { .. } => {}
            Kind::Rate(from, _) => drop(gates.eligible.insert(gate as usize, from)),
        }
        self.at(self.now, What::Send(host));
    }

    /// A free host sends: of the open slots the one that ends first and holds a packet that fits;
    /// otherwise the rate that has waited longest.
    pub(super) fn serve_gates(&mut self, host: u32, ends: &mut Endpoints) {
        let (now, link) = (self.now, self.fabric.uplink(HostId(host)).0);
        if self.ports[link as usize].departure.is_some_and(|d| d > now) {
            return;
        }
        self.ports[link as usize].departure = None;
        let gates = self.gates.as_ref().unwrap();
        let (mut slots, mut rates) = (Vec::new(), Vec::new());
        for (i, gate) in gates.gates.iter().enumerate().filter(|(_, g)| g.host == host) {
            match gate.kind {
                Kind::Slots { from, open, every, packets, bytes } if now >= from => {
                    let slot = (now - from) / every;
                    let until = from + slot * every + open;
                    let used = gates.used.get(&(i, slot)).copied().unwrap_or_default();
                    if now < until && used.0 < packets {
                        slots.push((until, gate.destination, i, slot, bytes - used.1));
                    }
                }
                Kind::Slots { .. } => {}
                Kind::Rate(_, rate) => {
                    let eligible = gates.eligible.get(&i).copied();
                    rates.extend(eligible.map(|e| (e, gate.destination, i, rate)));
                }
            }
        }
        slots.sort_unstable();
        rates.sort_unstable();
        let framing = self.fabric.link(timeplane_model::LinkId(link)).spec.framing;
        for (until, destination, i, slot, bytes) in slots {
            let room = self.rate(link).bytes_in(Duration::from_ps(until - now)).get().min(bytes);
            let most = u32::try_from(room).unwrap_or(u32::MAX).saturating_sub(framing.overhead());
            let largest = if room < u64::from(framing.minimum()) { 0 } else { most };
            if let Some(packet) = self.next_to(link, destination, largest, ends) {
                let used = self.gates.as_mut().unwrap().used.entry((i, slot)).or_default();
                *used = (used.0 + 1, used.1 + u64::from(framing.wire(packet.bytes)));
                return self.leave(link, packet, ends);
            }
        }
        for (eligible, destination, i, rate) in rates {
            if eligible > now {
                return self.at(eligible, What::Send(host));
            }
            if let Some(packet) = self.next_to(link, destination, u32::MAX, ends) {
                // A packet that waited for another one catches up, by no more than itself.
                let line = rate.time_for(Bytes::new(u64::from(framing.wire(packet.bytes)))).as_ps();
                let since = if now - eligible < line { eligible } else { now };
                self.gates.as_mut().unwrap().eligible.insert(i, since + line);
                return self.leave(link, packet, ends);
            }
        }
    }

    /// The next packet for a destination, of at most `largest` bytes without framing.
    fn next_to(&mut self, link: u32, destination: u32, largest: u32, ends: &mut Endpoints) -> Option<Packet> {
        let now = SimTime::from_ps(self.now);
        let port = &mut self.ports[link as usize];
        if let Some(first) = port.queue.iter().position(|w| w.packet.destination == destination) {
            let fits = port.queue[first].packet.bytes <= largest;
            return if fits { port.queue.remove(first).map(|w| w.packet) } else { None };
        }
        if let Some(first) = port.flows.iter().position(|f| ends.flows.get(f.0).destination == destination) {
            let key = port.flows[first].0;
            let packet = ends.next_packet(now, key, largest)?;
            if ends.flows.get(key).sender.unsent() == 0 {
                port.flows.remove(first);
            }
            return Some(packet);
        }
        loop {
            let turns = &mut self.ports[link as usize].turns;
            let first = turns.iter().position(|t| t.new && t.destination == destination);
            let first = first.or_else(|| turns.iter().position(|t| t.destination == destination))?;
            let mut turn = turns.remove(first);
            if turn.credit <= 0 {
                turn.credit += 3_000;
                turn.new = false;
                turns.push(turn);
                continue;
            }
            match ends.take_late_turn(now, turn.key, SimTime::from_ps(turn.since), largest, self) {
                HandedOver::Packet { packet, more } => {
                    let spec = self.fabric.link(timeplane_model::LinkId(link)).spec;
                    turn.credit -= i64::from(spec.framing.wire(packet.bytes));
                    if more {
                        self.ports[link as usize].turns.insert(first, turn);
                    } else {
                        ends.turn_is_over(turn.key, turn.credit);
                    }
                    return Some(packet);
                }
                HandedOver::TooLarge => {
                    self.ports[link as usize].turns.insert(first, turn);
                    return None;
                }
                HandedOver::Nothing => panic!("a flow without segments has left its gate"),
            }
        }
    }
}
