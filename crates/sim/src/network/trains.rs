//! Packets that have their way to themselves move as one: a train.
//!
//! Where a plan of slots keeps senders apart, the packets of an open gate leave back to back, and find every link of their way free: each takes the
//! path of the first, later by the line time of those before it. So all that they do is booked when the first one leaves, for the price
//! of one packet, and to the picosecond what it would be packet by packet.
//!
//! That nobody comes between is the plan's promise, and it is not taken on trust: whoever joins a link before the last packet of a train
//! would have done, or changes the gate or the flow of one that has not left, has it [disturbed](Network::is_disturbed). The run is then
//! worth nothing, and is done again packet by packet. (Lookahead with a check, as in optimistic simulation, but without states to go back to: a plan
//! either keeps its promise or does not, mostly from the first slots on.)

use super::Network;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::hosts::nic::{Train, Window};
use crate::network::packet::{LAST, Packet};
use timeplane_model::{Duration, LinkId};

/// What trains need to know.
#[derive(Debug)]
pub(crate) struct Exclusive {
    /// Per link, when the last packet of the last train joined it, or will.
    joined: Vec<SimTime>,
    /// Somebody came between.
    disturbed: bool,
    /// Links of the way that is looked at: when the first packet joins them, and when it departs.
    path: Vec<(u32, SimTime, SimTime)>,
    trains: u64,
}

impl Exclusive {
    /// A packet joins a link at `ready`.
    #[inline]
    pub fn joins(&mut self, link: u32, ready: SimTime) {
        self.disturbed |= ready <= self.joined[link as usize];
    }
}

impl Network {
    /// Lets packets of gates move as trains; before the run begins. Not for networks where what happens to a packet depends on chance, or on time alone.
    pub fn allow_trains(&mut self) {
        let joined = vec![SimTime(i64::MIN); self.links.len()];
        self.exclusive = Some(Box::new(Exclusive { joined, disturbed: false, path: Vec::new(), trains: 0 }));
    }

    /// Moves every packet by itself; before the run begins.
    pub fn forbid_trains(&mut self) {
        self.exclusive = None;
    }

    /// Trains that have left.
    pub fn trains(&self) -> u64 {
        self.exclusive.as_ref().map_or(0, |e| e.trains)
    }

    /// Whether something has come between a train's packets, so that what has been booked is wrong.
    pub fn is_disturbed(&self) -> bool {
        self.exclusive.as_ref().is_some_and(|e| e.disturbed)
    }

    /// From `at` on, a host's interface may do other than was thought.
    pub(crate) fn disturb(&mut self, at: SimTime, host: u32) {
        if let (Some(exclusive), Some(nics)) = (&mut self.exclusive, &self.nics) {
            exclusive.disturbed |= nics[host as usize].train().is_some_and(|train| at <= train.last());
        }
    }

    /// Sends what may leave a host's interface back to back from `now` on, where that is more than one packet and each has its way to itself. False where
    /// nothing was sent.
    pub(crate) fn send_train(&mut self, now: SimTime, host: u32, ends: &mut Endpoints) -> bool {
        let Some(mut exclusive) = self.exclusive.take() else { return false };
        let sent = self.try_train(now, host, &mut exclusive, ends).is_some();
        exclusive.trains += u64::from(sent);
        self.exclusive = Some(exclusive);
        sent
    }

    fn try_train(&mut self, now: SimTime, host: u32, exclusive: &mut Exclusive, ends: &mut Endpoints) -> Option<()> {
        let uplink = self.uplinks[host as usize];
        let nic = &mut self.nics.as_mut()?[host as usize];
        let (window, slot) = nic.alone(now)?;
        let (mut packet, most) = ends.alike(slot)?;
        window.route(&mut packet);
        let link = &self.links[uplink as usize];
        let wire = link.wire(packet.bytes);
        let line = Duration::from_ps(link.line_time(wire));
        let count = most.min(fitting(window, now, wire, line));
        if count < 2 || !link.is_idle() {
            return None;
        }
        // Another one like them would not have fitted, and none of another size is next.
        let is_last = count < most && !ends.cuts() && window.certain >= window.until;
        let train = Train { queue: window.queue, first: now, line, count, wire };
        let behind = line * (count - 1) as i64;
        let arrival = self.path(now, uplink, line, &packet, &mut exclusive.path)?;
        if arrival + behind > self.stop {
            return None;
        }

        // From here on it has happened.
        for &(link, ready, departure) in &exclusive.path {
            let state = &mut self.links[link as usize];
            state.book(ready, departure, behind, count, state.wire(packet.bytes));
            exclusive.joined[link as usize] = ready + behind;
            if let Some(collisions) = self.collisions.as_mut().filter(|_| link != uplink) {
                collisions.departs(link, host, departure + behind);
            }
        }
        self.hops += count * exclusive.path.len() as u64;
        if let Some(latencies) = &mut self.latencies {
            latencies.train(now, line, count, arrival);
        }
        ends.carry_alike(slot, arrival, line, count, &packet);
        self.nics.as_mut()?[host as usize].book(train);
        if !is_last {
            self.serve_at(self.links[uplink as usize].free_at(), host);
        }
        Some(())
    }

    /// The way of the first packet of a train: its arrival, if it and those that follow at each `line` find all links free.
    fn path(
        &self,
        now: SimTime,
        uplink: u32,
        line: Duration,
        packet: &Packet,
        path: &mut Vec<(u32, SimTime, SimTime)>,
    ) -> Option<SimTime> {
        path.clear();
        let (mut link, mut ready, mut whole, mut ahead) = (uplink, now, now, packet.ahead.iter());
        loop {
            let state = &self.links[link as usize];
            let wire = state.wire(packet.bytes);
            let departure = state.departs_alone(ready, whole, wire).filter(|d| *d - ready <= line)?;
            path.push((link, ready, departure));
            let arrival = state.arrival(departure, wire);
            if state.to < self.hosts {
                return Some(arrival);
            }
            let switch = state.to - self.hosts;
            ready = arrival + self.switches[switch as usize].latency;
            whole = ready + state.tail_lag(wire);
            let known = ahead.next().copied().filter(|out| *out != LAST);
            link = known.map_or_else(|| self.route(switch, packet, link).ok(), Some)?;
            debug_assert!(self.fabric.link(LinkId(link)).from.0 == switch + self.hosts);
        }
    }
}

/// How many packets of `wire` bytes, `line` each, fit into what is left of a window.
fn fitting(window: &Window, now: SimTime, wire: u32, line: Duration) -> u64 {
    let until = window.until.min(window.closes).min(window.certain);
    let time = ((until - now).as_ps() / line.as_ps().max(1)).max(0) as u64;
    time.min(u64::from(window.most_packets)).min((window.most - window.sent) / u64::from(wire))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::endpoints;
    use crate::hosts::endpoints::Carrier;
    use std::sync::Arc;
    use timeplane_model::{Bytes, Fabric, Framing, HostId, LinkSpec, Rate, Switch};
    use timeplane_results::Recorder;
    use timeplane_scenario::Nic;
    use timeplane_workload::{FlowArrival, Streams};

    /// Trains of a host that is granted 100 us at 10 Gb/s, to a host behind another switch.
    fn trains(between: Rate) -> u64 {
        let spec =
            |rate| LinkSpec { rate, propagation: Duration::from_us(1), framing: Framing::Ethernet, bit_error: 0.0 };
        let fabric = Fabric::leaf_spine(2, 1, 1, Switch::default(), spec(Rate::gbps(10)), spec(between));
        let fabric = Arc::new(fabric.expect("dimensions above zero"));
        let mut ends = endpoints(&fabric, Carrier::Datagrams, 1500, 0, Recorder::discard());
        let nic = Some((Nic::default(), true));
        let mut network = Network::new(Arc::clone(&fabric), &Streams::new(1), true, SimTime::MAX, Duration::ZERO, nic);
        network.count_collisions();
        network.allow_trains();
        let flow = FlowArrival {
            at: Duration::ZERO,
            source: HostId(0),
            destination: HostId(1),
            bytes: Bytes::mb(1),
            coflow: None,
        };
        let then = ends.start(SimTime::ZERO, &flow, &mut network);
        network.hold(SimTime::ZERO, then, &mut ends);
        network.open(SimTime::ZERO, 0, Window::slot((1, 0), SimTime::ZERO, SimTime::ZERO + Duration::from_us(100)));
        network.serve(SimTime::ZERO, 0, &mut ends);
        network.trains()
    }

    /// Behind a slower link packets wait for each other: none of them has the path of the first.
    #[test]
    fn a_slower_link_on_the_way_takes_no_train() {
        assert_eq!(trains(Rate::gbps(10)), 1);
        assert_eq!(trains(Rate::gbps(40)), 1);
        assert_eq!(trains(Rate::gbps(4)), 0);
    }
}
