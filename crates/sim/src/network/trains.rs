//! Packets that have their path to themselves move as one: a train.
//!
//! Where a TDMA plan keeps senders apart, the packets of an open gate leave back to back and find
//! every link of their path free. Each follows the first one, later by the line time of those
//! before it. So the whole train is booked when its first packet leaves, for the cost of one
//! packet, and each arrival is exact to the picosecond.
//!
//! The plan guarantees exclusive use of the path, and this module checks it. A packet that joins a
//! link before the last packet of a train has joined it disturbs the train. So does a change of the
//! gate or the flow before the last packet has left, and a packet whose room in a shared buffer
//! depends on what trains hold. A disturbed run counts for nothing and is repeated packet by
//! packet. This is speculative lookahead without rollback: a plan that breaks its guarantee mostly
//! does so in its first slots.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::hosts::interfaces::Interfaces;
use crate::hosts::nic::{GateOpening, Train};
use crate::network::meters::Meters;
use crate::network::packet::{LAST, Packet};
use crate::network::wires::Wires;
use timeplane_model::{Duration, LinkId};

/// The state of trains.
#[derive(Debug)]
pub(crate) struct Trains {
    /// By link, when the last packet of the last train joins it.
    joined: Vec<SimTime>,
    disturbed: bool,
    /// The links of the path under test: when the first packet joins them, and when it departs.
    path: Vec<(u32, SimTime, SimTime)>,
    sent: u64,
    /// The end of the run.
    stop: SimTime,
}

impl Trains {
    pub fn new(links: usize, stop: SimTime) -> Self {
        Self { joined: vec![SimTime(i64::MIN); links], disturbed: false, path: Vec::new(), sent: 0, stop }
    }

    /// Trains that have left.
    #[cfg(test)]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether something came between the packets of a train, so that its bookings are wrong.
    pub fn is_disturbed(&self) -> bool {
        self.disturbed
    }

    /// A packet joins a link at `ready`.
    #[inline]
    pub fn joins(&mut self, link: u32, ready: SimTime) {
        self.disturbed |= ready <= self.joined[link as usize];
    }

    /// From `at` on, a host's interface may do other than was booked.
    pub fn disturb(&mut self, interfaces: &Interfaces, at: SimTime, host: u32) {
        let nic = interfaces.nics.as_ref().map(|nics| &nics[host as usize]);
        self.disturbed |= nic.and_then(|nic| nic.train()).is_some_and(|train| at <= train.last());
    }

    /// Sends the packets that may leave a host back to back from `now` on, if there is more than
    /// one and each has its path to itself. `None` if nothing was sent.
    pub fn send(
        &mut self,
        wires: &mut Wires,
        interfaces: &mut Interfaces,
        meters: &mut Meters,
        now: SimTime,
        host: u32,
        ends: &mut Endpoints,
    ) -> Option<()> {
        let uplink = wires.uplinks[host as usize];
        let nic = &mut interfaces.nics.as_mut()?[host as usize];
        let (opening, key) = nic.alone(now)?;
        let (mut packet, most) = ends.alike(key)?;
        opening.route(&mut packet);
        let link = &wires.links[uplink as usize];
        let wire = link.wire(packet.bytes);
        let line = Duration::from_ps(link.line_time(wire));
        let count = most.min(fitting(opening, now, wire, line));
        if count < 2 || !link.is_idle() {
            return None;
        }
        // No further packet like these fits, and no packet of another size is next.
        let is_last = count < most && !ends.cuts() && opening.certain >= opening.until;
        let train = Train { queue: opening.queue, first: now, line, count, wire };
        let behind = line * (count - 1) as i64;
        let arrival = self.find_path(wires, now, uplink, line, &packet)?;
        if arrival + behind > self.stop {
            return None;
        }

        // From here on the train leaves.
        self.sent += 1;
        for &(link, ready, departure) in &self.path {
            let state = &mut wires.links[link as usize];
            let wire = state.wire(packet.bytes);
            state.book(ready, departure, behind, count, wire);
            self.joined[link as usize] = ready + behind;
            if let Some((shared, _)) = wires.shared_buffer(link) {
                shared.book(link, ready + behind, wire);
            }
            if let Some(collisions) = meters.collisions.as_mut().filter(|_| link != uplink) {
                collisions.departs(link, host, departure + behind);
            }
        }
        meters.hops += count * self.path.len() as u64;
        if let Some(latencies) = &mut meters.latencies {
            let switched = wires.links[uplink as usize].arrival(now + line, wire);
            latencies.train(now, switched, line, count, arrival);
        }
        ends.carry_alike(key, arrival, line, count, &packet);
        interfaces.nics.as_mut()?[host as usize].book(train);
        if !is_last {
            let free = wires.links[uplink as usize].free_at();
            interfaces.serve_at(wires, free, host);
        }
        Some(())
    }

    /// The path of the first packet of a train: its arrival, if it and those that follow at each
    /// `line` find all links free.
    fn find_path(
        &mut self,
        wires: &mut Wires,
        now: SimTime,
        uplink: u32,
        line: Duration,
        packet: &Packet,
    ) -> Option<SimTime> {
        self.path.clear();
        let (mut link, mut ready, mut whole, mut ahead) = (uplink, now, now, packet.ahead.iter());
        loop {
            let state = &wires.links[link as usize];
            let wire = state.wire(packet.bytes);
            let departure = state.departs_alone(ready, whole, wire).filter(|d| *d - ready <= line)?;
            self.path.push((link, ready, departure));
            let arrival = state.arrival(departure, wire);
            if state.to < wires.hosts {
                return Some(arrival);
            }
            let (switch, latency) = (state.to - wires.hosts, wires.latency(state.to));
            ready = arrival + latency;
            whole = ready + state.tail_lag(wire);
            let known = ahead.next().copied().filter(|out| *out != LAST);
            let from = link;
            link = known.map_or_else(|| wires.route(switch, packet).ok(), Some)?;
            if let Some(inputs) = &wires.input_buffers
                && !inputs.takes_train(&wires.links, [from, link], arrival, latency, wire)
            {
                return None;
            }
            if let Some((shared, links)) = wires.shared_buffer(link)
                && !shared.takes_train(now, links[link as usize].wire(packet.bytes), links)
            {
                return None;
            }
            debug_assert!(wires.fabric.link(LinkId(link)).from.0 == switch + wires.hosts);
        }
    }
}

/// Number of packets of `wire` bytes, `line` each, that fit into the rest of an opening.
fn fitting(opening: &GateOpening, now: SimTime, wire: u32, line: Duration) -> u64 {
    let until = opening.until.min(opening.closes).min(opening.certain);
    let time = ((until - now).as_ps() / line.as_ps().max(1)).max(0) as u64;
    time.min(u64::from(opening.most_packets)).min((opening.most - opening.sent) / u64::from(wire))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::endpoints;
    use crate::hosts::endpoints::Transport;
    use crate::network::{InterfaceForm, Network};
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
        let mut ends = endpoints(&fabric, Transport::Datagrams, 1500, 0, Recorder::discard());
        let nic = InterfaceForm::Queued { spec: Nic::default(), gated: true, turns: None };
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
        let action = ends.start(SimTime::ZERO, &flow, &mut network);
        network.hold(SimTime::ZERO, action, &mut ends);
        network.open(
            SimTime::ZERO,
            0,
            GateOpening::slot((1, 0), SimTime::ZERO, SimTime::ZERO + Duration::from_us(100)),
            &mut Vec::new(),
        );
        network.serve(SimTime::ZERO, 0, &mut ends);
        network.trains.as_ref().map_or(0, |t| t.sent())
    }

    /// Behind a slower link packets wait for each other: none of them has the timing of the first.
    #[test]
    fn a_slower_link_on_the_way_takes_no_train() {
        assert_eq!(trains(Rate::gbps(10)), 1);
        assert_eq!(trains(Rate::gbps(40)), 1);
        assert_eq!(trains(Rate::gbps(4)), 0);
    }
}
