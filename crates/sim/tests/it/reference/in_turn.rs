//! Hosts that serve flows in turn, written to be obviously right.

use super::{Flying, Reference, What};
use timeplane_model::{HostId, LinkId};
use timeplane_sim::SimTime;
use timeplane_sim::hosts::endpoints::Endpoints;
use timeplane_sim::network::packet::Packet;

/// A flow that waits for its turn at a host.
pub(super) struct InTurn {
    pub key: u32,
    pub destination: u32,
    pub class: u8,
    /// When it joined.
    pub since: i64,
    pub credit: i64,
    /// It has credit since it joined.
    pub new: bool,
}

impl Reference {
    /// Whether a link's sender is a host that serves flows in turn or behind gates.
    pub(super) fn in_turn(&self, link: u32) -> bool {
        (self.fair || self.gates.is_some()) && self.fabric.link(LinkId(link)).from.0 < self.fabric.hosts()
    }

    /// A free host sends: acknowledgements, then flows that have just joined, then the other flows.
    /// Who has used up two packets of the MTU waits for another turn.
    pub(super) fn serve_in_turn(&mut self, host: u32, ends: &mut Endpoints) {
        let (now, link) = (self.now, self.fabric.uplink(HostId(host)).0);
        if self.ports[link as usize].departure.is_some_and(|d| d > now) || self.link_down(link).is_some() {
            return;
        }
        self.ports[link as usize].departure = None;
        let packet = loop {
            let port = &mut self.ports[link as usize];
            let may = |class: u8| port.obeys & 1 << class == 0;
            if let Some(i) = port.queue.iter().position(|w| may(w.packet.class())) {
                break port.queue.remove(i).unwrap().packet;
            }
            let first = port.turns.iter().position(|t| t.new && may(t.class));
            let Some(first) = first.or_else(|| port.turns.iter().position(|t| may(t.class))) else { return };
            let mut turn = port.turns.remove(first);
            if turn.credit <= 0 {
                port.turns.push(InTurn { new: false, credit: turn.credit + 3_000, ..turn });
            } else if let Some((packet, more)) = ends.take_turn(SimTime::from_ps(now), turn.key, self) {
                turn.credit -= i64::from(self.fabric.link(LinkId(link)).spec.framing.wire(packet.bytes));
                if more {
                    self.ports[link as usize].turns.insert(first, turn);
                } else {
                    ends.turn_is_over(turn.key, turn.credit);
                }
                break packet;
            } else {
                ends.turn_is_over(turn.key, turn.credit);
            }
        };
        self.leave(link, packet, ends);
    }

    /// A packet leaves a free host.
    pub(super) fn leave(&mut self, link: u32, mut packet: Packet, ends: &mut Endpoints) {
        let now = self.now;
        self.corrupt(link, &mut packet);
        let spec = self.fabric.link(LinkId(link)).spec;
        let wire = spec.framing.wire(packet.bytes);
        let departure = now + self.line(link, wire);
        let whole = departure + spec.propagation.as_ps();
        let id = self.numbered();
        let flying = Flying { packet, wire, id, departure, first: whole - self.line(link, wire) };
        let port = &mut self.ports[link as usize];
        port.departure = Some(departure);
        port.leaving = None;
        port.flying.push_back(flying);
        self.at(whole - self.lag(link, wire), What::Arrive(link, id));
        self.begin(link, ends);
    }
}
