//! Interfaces that are free or have new rates: which packet leaves, and when they are served again.
//!
//! A plain interface is not served: its packets are on its link already.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{Endpoints, Timers};
use crate::hosts::fair_queue::Turn;
use crate::hosts::nic::{RateUpdate, Served};
use crate::network::Network;
use crate::network::packet::Packet;

impl Timers for Network {
    #[inline]
    fn arm(&mut self, at: SimTime, number: u32, key: u32) {
        self.wires.calendar.arm(at, number, key);
    }
}

impl Network {
    /// Replaces rates of a host's queues, in the order of queues.
    pub fn pace(&mut self, now: SimTime, host: u32, updates: impl Iterator<Item = RateUpdate>) {
        self.disturb(now, host);
        self.interfaces.pace(&mut self.wires, now, host, updates);
    }

    /// An interface that serves flows in turn may be free.
    #[inline(never)]
    fn serve_in_turn(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) {
        let uplink = self.wires.uplinks[host as usize];
        let mut free = self.wires.links[uplink as usize].free_at();
        if free <= now {
            let Some(packet) = self.next_turn(now, host, uplink, ends) else { return };
            free = self.send(uplink, now, packet);
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
        let Some(nics) = &mut self.interfaces.nics else { return };
        let (nic, link) = (&mut nics[host as usize], &self.wires.links[uplink as usize]);
        match nic.serve(now, link, link.rate(), ends, &mut self.wires.calendar) {
            Served::Packet { packet, emptied, last } => {
                let departure = self.send(uplink, now, packet);
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
            Served::Idle => {}
        }
        let drained = self.interfaces.nics.as_mut().is_some_and(|nics| nics[host as usize].take_drained());
        self.interfaces.note_departure(host, drained, &mut self.news);
    }
}
