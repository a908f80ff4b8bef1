//! Ports of switches that cut packets down to their headers, as NDP needs them (Handley et al.,
//! SIGCOMM 2017, section 3.1).
//!
//! A port has a short queue for data and a longer one for all that has no payload: headers,
//! acknowledgements and pulls. Data that finds its queue full is trimmed, or the last packet of
//! that queue is in its place. The choice follows from a hash of the packet, so that no flow is
//! always the unlucky one. A header that finds its queue full is lost. While both queues hold
//! packets, [`HEADERS_PER_DATA`] headers leave for each packet of data. Data of other transports,
//! as bulk over rotor switches, waits without a bound until both are empty.
//!
//! A port that is free takes a packet without an event. Otherwise the packet waits until its switch
//! has passed it on, and joins a queue before the port next sends: between two departures, nothing
//! leaves a queue, so it finds what it would have found when it was ready.

use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::Network;
use crate::network::link::LinkState;
use crate::network::meters::{Loss, Meters};
use crate::network::packet::Packet;
use crate::network::wires::Wires;
use std::collections::VecDeque;
use timeplane_model::{Duration, mix64};
use timeplane_transport::ndp::HEADERS_PER_DATA;

/// The queues of a port that trims packets.
#[derive(Clone, Copy, Debug)]
pub struct Trimming {
    /// Packets of data that wait.
    pub queue: u32,
    /// Packets without payload that wait.
    pub headers: u32,
    /// Bytes of a header, without framing.
    pub header: u32,
}

/// Whether a packet that finds a full queue of data takes the place of its last packet, which is
/// trimmed then. Otherwise it is trimmed itself.
pub(crate) fn spares(packet: &Packet, link: u32) -> bool {
    mix64(mix64(packet.seq) ^ u64::from(packet.hash) << 32 ^ u64::from(link)) & 1 == 1
}

/// All ports of switches, by link.
pub(crate) struct TrimmingPorts {
    is: Trimming,
    ports: Vec<Port>,
}

/// The sending end of a switch on a link.
struct Port {
    /// Packets that the switch passes on, and when they are ready.
    coming: VecDeque<(SimTime, u32)>,
    data: VecDeque<u32>,
    headers: VecDeque<u32>,
    /// Data that may not be trimmed.
    others: VecDeque<u32>,
    /// Headers that left since the last packet of data, while data waited.
    in_row: u32,
    /// The line time of both queues, in ps.
    line: i64,
    /// When it is served next.
    armed: SimTime,
}

impl Default for Port {
    fn default() -> Self {
        let (coming, data, headers, others) = Default::default();
        Self { coming, data, headers, others, in_row: 0, line: 0, armed: SimTime::MAX }
    }
}

impl TrimmingPorts {
    fn new(is: Trimming, links: usize) -> Self {
        Self { is, ports: (0..links).map(|_| Port::default()).collect() }
    }

    /// Packets that wait at a port and that its link has not accepted, and their wire bytes.
    pub fn waiting(&self, wires: &Wires, link: u32) -> (u64, u64) {
        let Some(port) = self.ports.get(link as usize) else { return (0, 0) };
        let wire = |id| u64::from(wires.links[link as usize].wire(wires.packets.get(id).bytes));
        port.packets().fold((0, 0), |(packets, bytes), id| (packets + 1, bytes + wire(id)))
    }

    /// Packets that wait at ports.
    pub fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.ports.iter().flat_map(Port::packets)
    }

    /// Lets the packets that are ready join the queues of a port; returns those that are lost.
    fn admit(&mut self, wires: &mut Wires, meters: &mut Meters, now: SimTime, link: u32) -> Vec<u32> {
        let port = &mut self.ports[link as usize];
        let mut lost = Vec::new();
        while let Some(&(ready, id)) = port.coming.front().filter(|c| c.0 <= now) {
            port.coming.pop_front();
            let state = &mut wires.links[link as usize];
            let line = |state: &LinkState, packet: &Packet| state.line_time(state.wire(packet.bytes));
            let mut header = Some(id);
            if wires.packets.get(id).may_be_trimmed() {
                header = None;
                port.line += line(state, wires.packets.get(id));
                port.data.push_back(id);
                if port.data.len() > self.is.queue as usize {
                    let cut = port.cut_out(wires.packets.get(id), link);
                    let packet = wires.packets.get_mut(cut);
                    port.line -= line(state, packet);
                    meters.trimmed(link, packet.trim(self.is.header));
                    header = Some(cut);
                }
            }
            if let Some(other) = header.filter(|&id| wires.packets.get(id).is_whole_data()) {
                port.line += line(state, wires.packets.get(other));
                port.others.push_back(other);
                header = None;
            }
            if let Some(header) = header {
                if port.headers.len() >= self.is.headers as usize {
                    lost.push(header);
                } else {
                    port.line += line(state, wires.packets.get(header));
                    port.headers.push_back(header);
                }
            }
            state.note_queue(state.backlog(ready) + Duration::from_ps(port.line));
        }
        lost
    }
}

impl Port {
    fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.data.iter().chain(&self.headers).chain(&self.others).copied().chain(self.coming.iter().map(|c| c.1))
    }

    fn queues_are_empty(&self) -> bool {
        self.data.is_empty() && self.headers.is_empty() && self.others.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.queues_are_empty() && self.coming.is_empty()
    }

    /// Takes out of an overfull data queue the packet to be trimmed: the last one, which has just
    /// come, or the one before it.
    fn cut_out(&mut self, last: &Packet, link: u32) -> u32 {
        let back = usize::from(spares(last, link)).min(self.data.len() - 1);
        self.data.remove(self.data.len() - 1 - back).expect("the queue is overfull")
    }

    /// Takes the packet that leaves next.
    fn next(&mut self) -> Option<u32> {
        let data_waits = !self.data.is_empty();
        if data_waits && (self.headers.is_empty() || self.in_row >= HEADERS_PER_DATA) {
            self.in_row = 0;
            return self.data.pop_front();
        }
        self.in_row = if data_waits { self.in_row + 1 } else { 0 };
        self.headers.pop_front().or_else(|| self.others.pop_front())
    }

    /// Serves the port at `at`, unless it is served earlier.
    fn arm(&mut self, wires: &mut Wires, at: SimTime, link: u32) {
        if at < self.armed {
            self.armed = at;
            wires.calendar.push(at, EventKind::Serve { sender: wires.hosts + link }.key());
        }
    }
}

impl Network {
    /// Lets all ports of switches trim packets, in place of their own queues. Called before the
    /// run, on a network whose switches store whole packets and neither pause nor buffer at inputs.
    pub fn trim(&mut self, is: Trimming) {
        let Wires { fabric, links, hosts, .. } = &mut self.wires;
        let by_switch = links.iter_mut().zip(fabric.links()).filter(|(_, link)| link.from.0 >= *hosts);
        LinkState::trim_before(by_switch.map(|(state, _)| state));
        if let Some(rotor) = &mut self.rotor {
            rotor.trimming = Some(is);
        }
        self.trimming = Some(Box::new(TrimmingPorts::new(is, fabric.links().len())));
        // Departures follow from what comes later.
        self.passive = false;
    }

    /// A packet that is ready at `ready` joins a port that trims.
    pub(super) fn join_trimming(&mut self, ready: SimTime, link: u32, id: u32, ends: &mut Endpoints) {
        if self.wires.links[link as usize].is_down() {
            return self.lose_passing(link, id, Some(self.down_reason(link)), ends);
        }
        let Some(trimming) = &mut self.trimming else { return };
        let port = &mut trimming.ports[link as usize];
        let free = self.wires.links[link as usize].free_at();
        if port.is_empty() && free <= ready {
            return self.send_from_port(ready, link, id);
        }
        port.coming.push_back((ready, id));
        port.arm(&mut self.wires, ready.max(free), link);
    }

    /// A port that trims may be free.
    pub(super) fn serve_trimming(&mut self, now: SimTime, link: u32, ends: &mut Endpoints) {
        let Some(trimming) = &mut self.trimming else { return };
        let port = &mut trimming.ports[link as usize];
        if port.armed != now {
            return;
        }
        port.armed = SimTime::MAX;
        debug_assert!(self.wires.links[link as usize].free_at() <= now, "only the port sends on its link");
        let lost = trimming.admit(&mut self.wires, &mut self.meters, now, link);
        let port = &mut trimming.ports[link as usize];
        if let Some(id) = port.next() {
            let state = &self.wires.links[link as usize];
            port.line -= state.line_time(state.wire(self.wires.packets.get(id).bytes));
            self.send_from_port(now, link, id);
        }
        self.rearm_trimming(link);
        for id in lost {
            self.lose_passing(link, id, Some(Loss::BufferFull), ends);
        }
    }

    /// Schedules the next service of a port where packets wait.
    fn rearm_trimming(&mut self, link: u32) {
        let Some(trimming) = &mut self.trimming else { return };
        let port = &mut trimming.ports[link as usize];
        let free = self.wires.links[link as usize].free_at();
        let at = match port.coming.front() {
            _ if !port.queues_are_empty() => free,
            Some(&(ready, _)) => ready.max(free),
            None => return,
        };
        port.arm(&mut self.wires, at, link);
    }

    /// Puts a packet on the free link of a port.
    fn send_from_port(&mut self, at: SimTime, link: u32, id: u32) {
        let (_, arrival) = self.join(link, at, at, id).expect("a port that is free takes a packet");
        self.wires.fly(link, arrival, id);
    }

    /// Loses the packets that wait at a port if its link is down.
    pub(super) fn drain_trimming(&mut self, link: u32, ends: &mut Endpoints) {
        let Some(trimming) = self.trimming.as_mut().filter(|_| self.wires.links[link as usize].is_down()) else {
            return;
        };
        let port = std::mem::take(&mut trimming.ports[link as usize]);
        let reason = self.down_reason(link);
        for id in port.packets() {
            self.lose_passing(link, id, Some(reason), ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::packet::{NO_OPTIONS, UNKNOWN, flags};
    use std::sync::Arc;
    use timeplane_model::{Fabric, Framing, LinkSpec, NodeId, Rate, Switch};
    use timeplane_workload::Streams;

    /// The link from the switch to host 0.
    const LINK: u32 = 1;

    /// Two hosts on a switch, with links of 8 Gb/s, where a byte takes 1 ns.
    fn wires() -> Wires {
        let spec =
            LinkSpec { rate: Rate::gbps(8), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
        let wires = [(NodeId(0), NodeId(2), spec), (NodeId(1), NodeId(2), spec)];
        let fabric = Fabric::new(2, vec![Switch::default()], &wires).expect("a fabric");
        Wires::new(Arc::new(fabric), &Streams::new(1))
    }

    /// A packet that comes to the port at time zero.
    fn come(ports: &mut TrimmingPorts, wires: &mut Wires, bytes: u32, hash: u32, flags: u16) -> u32 {
        let (options, ahead) = (NO_OPTIONS, UNKNOWN);
        let id = wires.packets.insert(Packet {
            flow: 0,
            destination: 0,
            hash,
            bytes,
            seq: 0,
            options,
            path: 0,
            flags,
            ahead,
        });
        ports.ports[LINK as usize].coming.push_back((SimTime::ZERO, id));
        id
    }

    #[test]
    fn what_finds_a_full_queue_is_trimmed_and_headers_have_a_bound() {
        let (mut wires, mut meters) = (wires(), Meters::default());
        let mut ports = TrimmingPorts::new(Trimming { queue: 2, headers: 3, header: 46 }, 4);
        let ids: Vec<u32> = (0..6).map(|i| come(&mut ports, &mut wires, 1_000, i, flags::ECT)).collect();
        let lost = ports.admit(&mut wires, &mut meters, SimTime::ZERO, LINK);
        // Four of six are trimmed, and one header finds no room.
        assert_eq!((lost.len(), meters.losses[&(LINK, Loss::Trimmed)]), (1, (4, 4 * 954)));
        assert_eq!(ports.waiting(&wires, LINK), (5, 2 * 1_038 + 3 * 84));
        let bytes = |id: &u32| wires.packets.get(*id).bytes;
        assert_eq!((ids.iter().map(bytes).sum::<u32>(), bytes(&lost[0])), (2 * 1_000 + 4 * 46, 46));
        // The first packet stays: only the last one in the queue is trimmed in place of another.
        assert_eq!(bytes(&ids[0]), 1_000);
        assert_eq!(ports.ports[LINK as usize].line, 1_000 * (2 * 1_038 + 3 * 84));
    }

    #[test]
    fn both_the_last_and_the_new_packet_may_be_trimmed() {
        let trimmed_last = |hash| {
            let (mut wires, mut meters) = (wires(), Meters::default());
            let mut ports = TrimmingPorts::new(Trimming { queue: 1, headers: 3, header: 46 }, 4);
            let last = come(&mut ports, &mut wires, 1_000, 0, flags::ECT);
            let new = come(&mut ports, &mut wires, 1_000, hash, flags::ECT);
            ports.admit(&mut wires, &mut meters, SimTime::ZERO, LINK);
            let [last, new] = [last, new].map(|id| wires.packets.get(id).bytes == 46);
            assert!(last != new, "one of them");
            last
        };
        let count = (0..1_000).filter(|&hash| trimmed_last(hash)).count();
        assert!((430..570).contains(&count), "{count} of 1000");
    }

    #[test]
    fn ten_headers_leave_for_each_packet_of_data() {
        let (mut wires, mut meters) = (wires(), Meters::default());
        let mut ports = TrimmingPorts::new(Trimming { queue: 8, headers: 100, header: 46 }, 4);
        for i in 0..3 {
            come(&mut ports, &mut wires, 1_000, i, flags::ECT);
        }
        for i in 0..25 {
            come(&mut ports, &mut wires, 46, i, flags::ACK);
        }
        assert!(ports.admit(&mut wires, &mut meters, SimTime::ZERO, LINK).is_empty());
        let port = &mut ports.ports[LINK as usize];
        let order: Vec<bool> =
            std::iter::from_fn(|| port.next()).map(|id| wires.packets.get(id).may_be_trimmed()).collect();
        let data: Vec<usize> = (0..order.len()).filter(|&i| order[i]).collect();
        assert_eq!((order.len(), data), (28, vec![10, 21, 27]));
    }
}
