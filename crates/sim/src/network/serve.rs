//! Interfaces and ports of switches that are free or have new rates: which packet leaves, and when
//! they are served again.
//!
//! A plain interface is not served: its packets are on its link already.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{Endpoints, Timers};
use crate::hosts::fair_queue::Turn;
use crate::hosts::nic::{QueueId, RateUpdate, Served};
use crate::network::Network;
use crate::network::meters::Loss;
use crate::network::packet::Packet;
use crate::network::pfc::PortServed;
use timeplane_model::LinkId;

impl Timers for Network {
    #[inline]
    fn arm(&mut self, at: SimTime, number: u32, key: u32) {
        self.wires.calendar.arm(at, number, key);
    }
}

impl Network {
    /// Replaces rates of a host's queues, in the order of queues.
    pub fn pace(&mut self, now: SimTime, host: u32, updates: impl ExactSizeIterator<Item = RateUpdate> + Clone) {
        self.disturb(now, host);
        self.interfaces.pace(&mut self.wires, now, host, updates);
    }

    /// An interface that serves flows in turn may be free.
    #[inline(never)]
    fn serve_in_turn(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) {
        let uplink = self.wires.uplinks[host as usize];
        let mut free = self.wires.links[uplink as usize].free_at();
        if free <= now {
            let paused_until = self.interfaces.obey_pauses(now, host);
            free = match self.next_turn(now, host, uplink, ends) {
                Some(packet) => self.send(uplink, now, packet),
                None => paused_until,
            };
        }
        if self.interfaces.fair.as_ref().is_some_and(|fair| !fair[host as usize].is_empty()) {
            self.interfaces.serve_at(&mut self.wires, free, host);
        }
    }

    /// The packet that a host's interface sends next.
    fn next_turn(&mut self, now: SimTime, host: u32, uplink: u32, ends: &mut Endpoints) -> Option<Packet> {
        loop {
            let queue = &mut self.interfaces.fair.as_mut()?[host as usize];
            let flow = match queue.next_turn()? {
                Turn::Packet(packet) => return Some(packet),
                Turn::Flow(waiting) => waiting.flow,
            };
            let taken = ends.take_turn(now, flow, self);
            let queue = &mut self.interfaces.fair.as_mut()?[host as usize];
            if let Some((packet, _)) = &taken {
                queue.flows.sent(self.wires.links[uplink as usize].wire(packet.bytes));
            }
            if taken.is_none_or(|(_, more)| !more) {
                ends.turn_is_over(flow, queue.flows.leaves());
            }
            if let Some((packet, _)) = taken {
                return Some(packet);
            }
        }
    }

    /// A queued or fair interface may be free.
    pub fn serve(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) {
        if let Some(fair) = &mut self.interfaces.fair {
            let queue = &mut fair[host as usize];
            if queue.armed == now {
                queue.armed = SimTime::MAX;
                self.serve_in_turn(now, host, ends);
            }
            return;
        }
        let Some(nics) = &mut self.interfaces.nics else { return };
        let nic = &mut nics[host as usize];
        if nic.armed != now {
            return;
        }
        nic.armed = SimTime::MAX;
        let uplink = self.wires.uplinks[host as usize];
        if self.wires.links[uplink as usize].free_at() > now {
            return self.interfaces.wake(&mut self.wires, now, host);
        }
        if let Some(trains) = &mut self.trains
            && trains.send(&mut self.wires, &mut self.interfaces, &mut self.meters, now, host, ends).is_some()
        {
            return;
        }
        let paused_until = self.interfaces.obey_pauses(now, host);
        let Some(nics) = &mut self.interfaces.nics else { return };
        let (nic, link) = (&mut nics[host as usize], &self.wires.links[uplink as usize]);
        match nic.serve(now, link, link.rate(), ends, &mut self.wires.calendar) {
            Served::Packet { packet, emptied, last } => {
                let departure = self.send_from_queue(uplink, now, packet);
                if let Some(key) = emptied {
                    ends.sent_all(key, self);
                }
                self.interfaces.note_departure(host, last, &mut self.news);
                let nic = &self.interfaces.nics.as_ref().expect("still there")[host as usize];
                let again = if nic.is_empty() { nic.next_drain().map(|d| d.max(departure)) } else { Some(departure) };
                if let Some(at) = again {
                    self.interfaces.serve_at(&mut self.wires, at, host);
                }
            }
            Served::Wait(until) => self.interfaces.serve_at(&mut self.wires, until, host),
            // Without pauses, this is never.
            Served::Idle if !nic.is_empty() => self.interfaces.serve_at(&mut self.wires, paused_until, host),
            Served::Idle => {}
        }
        let drained = self.interfaces.nics.as_mut().is_some_and(|nics| nics[host as usize].take_drained());
        self.interfaces.note_departure(host, drained, &mut self.news);
    }
}

/// Timeslots.
impl Network {
    /// Reads what these hosts need to send from these queues, so that they do not wait for memory
    /// one after the other.
    pub fn read_early(&self, hosts: impl Iterator<Item = (u32, QueueId)>, ends: &Endpoints) {
        let Some(nics) = &self.interfaces.nics else { return };
        let first = |(host, queue): (u32, QueueId)| nics[host as usize].first_flow(queue);
        let read = hosts.filter_map(first).fold(0, |read, flow| read ^ ends.flows.read_early(flow));
        core::hint::black_box(read);
    }

    /// Sends the next packet of a host's queue by this path, in a timeslot that starts now and ends
    /// at `until`. `false` if that cannot be said before other events of this instant, or if
    /// nothing was sent: a gate has to open.
    ///
    /// Called after all agents have acted, and before an interface is served.
    pub fn send_in_timeslot(
        &mut self,
        now: SimTime,
        host: u32,
        queue: QueueId,
        path: u16,
        until: SimTime,
        ends: &mut Endpoints,
    ) -> bool {
        let uplink = self.wires.uplinks[host as usize];
        let link = &self.wires.links[uplink as usize];
        let Some(nics) = &mut self.interfaces.nics else { return false };
        if link.free_at() > now {
            return false;
        }
        let taken = nics[host as usize].take_in_timeslot(now, queue, path, until, link, ends, &mut self.wires.calendar);
        let Some((packet, emptied, last)) = taken else { return false };
        // No gate is open: a pending event would find nothing to send, and might end the run late.
        nics[host as usize].armed = SimTime::MAX;
        self.send_from_queue(uplink, now, packet);
        if let Some(key) = emptied {
            ends.sent_all(key, self);
        }
        self.interfaces.note_departure(host, last, &mut self.news);
        true
    }
}

/// Ports of switches that choose their next packet.
impl Network {
    /// A packet joins the queue of a port that can be paused, unless its input has no room.
    #[inline(never)]
    pub(super) fn enqueue(&mut self, at: SimTime, ready: SimTime, links: [u32; 2], id: u32, ends: &mut Endpoints) {
        let Some(pfc) = &mut self.pfc else { return };
        if !pfc.enqueue(&mut self.wires, at, ready, links, id) {
            self.lose_passing(links[0], id, Some(Loss::InputFull), ends);
        }
    }

    /// A switch's port that chooses its next packet may be free.
    pub fn serve_port(&mut self, now: SimTime, link: u32, ends: &mut Endpoints) {
        if self.serves_uplink(now, link, ends) {
            return;
        }
        if self.wires.links[link as usize].trims() {
            return self.serve_trimming(now, link, ends);
        }
        if self.wires.links[link as usize].is_by_input() {
            if let Some((id, arrival)) = self.wires.serve_by_input(now, link) {
                let last = self.wires.links[link as usize].to < self.wires.hosts;
                self.fly(arrival, link, last, id, ends);
            }
            return;
        }
        let Some(pfc) = &mut self.pfc else { return };
        match pfc.serve(&mut self.wires, now, link) {
            PortServed::Idle => {}
            PortServed::Pause { sent, priorities } => {
                if let Some(capture) = &mut self.capture {
                    let is = self.wires.fabric.link(LinkId(link));
                    capture.paused(now, sent + is.spec.propagation, link, (is.from.0, is.to.0), priorities);
                }
            }
            PortServed::Packet(id) => {
                let (departure, arrival) = self.join(link, now, now, id).expect("a port that is free takes a packet");
                self.wires.fly(link, arrival, id);
                if let Some(pfc) = &mut self.pfc {
                    pfc.arm(&mut self.wires, departure, link);
                }
            }
        }
    }

    /// A PFC frame takes effect: the sender on this link starts no packets of these priorities.
    pub fn obey(&mut self, now: SimTime, link: u32, priorities: u8) {
        let from = self.wires.fabric.link(LinkId(link)).from.0;
        if from < self.wires.hosts {
            if let Some(nics) = &mut self.interfaces.nics {
                nics[from as usize].pause(priorities);
            } else if let Some(fair) = &mut self.interfaces.fair {
                fair[from as usize].pause(priorities);
            }
            self.interfaces.wake(&mut self.wires, now, from);
        } else if let Some(pfc) = &mut self.pfc {
            pfc.pause(&mut self.wires, now, link, priorities);
        }
    }
}
