//! Control messages in band: frames on the fabric's links that go before all data.
//!
//! On each link, a control frame goes ahead of all data frames whose transmission has not started.
//! Switches always have room for it and never mark it. Bit errors and failures lose it like any
//! frame. It belongs to no flow: it has a tally of its own beside that of packets, and links count
//! it.

use crate::control::ports::Ports;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::BACKGROUND;
use crate::hosts::flow::NONE;
use crate::network::Network;
use crate::network::packet::{NO_OPTIONS, Packet, UNKNOWN, flags};
use timeplane_scenario::ControlSpec;

/// The class of control frames. No plan gives it to data.
const CLASS: u8 = BACKGROUND - 1;

impl Packet {
    /// A frame of the control message with this number; `bytes` are without framing.
    fn control(destination: u32, hash: u32, bytes: u32, number: u64) -> Self {
        Self {
            flow: NONE,
            destination,
            hash,
            bytes,
            seq: number,
            options: NO_OPTIONS,
            path: 0,
            flags: u16::from(CLASS) << flags::CLASS_SHIFT,
            ahead: UNKNOWN,
        }
    }

    /// The number of the control message that it is a frame of, if it is one.
    #[inline]
    pub(crate) fn control_message(&self) -> Option<u64> {
        (self.class() == CLASS).then_some(self.seq)
    }
}

impl Network {
    /// Sets how control messages travel; without this they take no time besides their latency.
    /// Called before the run. In band, last hops must be events.
    pub fn carry_control(&mut self, control: ControlSpec) {
        self.ports = Ports::new(control, self.wires.hosts);
        if control.in_band().is_some() {
            debug_assert!(!self.passive, "a control frame may overtake a packet on its last hop");
            self.repairs.is_in_band = true;
            self.inspects = true;
            self.detours = true;
        }
    }

    /// A host sends a frame of a control message, of `wire` bytes on an Ethernet.
    pub fn send_control(&mut self, at: SimTime, [from, to]: [u32; 2], wire: u32, number: u64) {
        let link = self.wires.uplinks[from as usize];
        // All messages of a pair take one path, so they stay in order.
        let packet = Packet::control(to, from, wire.saturating_sub(38), number);
        let id = self.wires.packets.insert(packet);
        self.meters.control_frames[0] += 1;
        self.overtake(at, link, id);
    }

    /// A switch sends a control frame on. False for any other packet.
    pub(super) fn carries_control(&mut self, at: SimTime, node: u32, id: u32) -> bool {
        let packet = self.wires.packets.get(id);
        let Some(number) = packet.control_message() else { return false };
        match self.wires.route(node - self.wires.hosts, packet) {
            Ok(out) => {
                let ready = at + self.wires.latency(node);
                self.overtake(ready, out, id);
            }
            Err(_) => {
                self.wires.packets.remove(id);
                self.meters.lose_control(number);
            }
        }
        true
    }

    fn overtake(&mut self, ready: SimTime, link: u32, id: u32) {
        if self.wires.overtake(self.failures.as_deref(), link, ready, id).is_err() {
            let packet = self.wires.packets.remove(id);
            packet.control_message().into_iter().for_each(|number| self.meters.lose_control(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::time::SimTime;
    use crate::network::packet::Packet;
    use crate::network::wires::Wires;
    use std::sync::Arc;
    use timeplane_model::{Duration, Fabric, Framing, LinkSpec, NodeId, Rate, Switch};
    use timeplane_workload::Streams;

    fn at(ns: i64) -> SimTime {
        SimTime::ZERO + Duration::from_ns(ns)
    }

    /// Two hosts on a switch, with links of 8 Gb/s, where a byte takes 1 ns, and 1 us.
    fn wires() -> Wires {
        let spec = LinkSpec {
            rate: Rate::gbps(8),
            propagation: Duration::from_us(1),
            framing: Framing::Ethernet,
            bit_error: 0.0,
        };
        let wires = [(NodeId(0), NodeId(2), spec), (NodeId(1), NodeId(2), spec)];
        let fabric = Fabric::new(2, vec![Switch::default()], &wires).expect("a fabric");
        Wires::new(Arc::new(fabric), &Streams::new(1))
    }

    /// A frame of data of 1000 B on the wire, ready at `ns`.
    fn data(wires: &mut Wires, ns: i64) {
        let packet = Packet { flags: 0, ..Packet::control(1, 0, 962, 0) };
        let id = wires.packets.insert(packet);
        let arrival = wires.links[0].join(at(ns), 962).1;
        wires.fly(0, arrival, id);
    }

    fn control(wires: &mut Wires, ns: i64, number: u64) {
        let id = wires.packets.insert(Packet::control(1, 0, 62, number));
        wires.overtake(None, 0, at(ns), id).expect("a link that is up");
    }

    /// All that is in flight on the link: the number of a message, and when it arrives.
    fn order(wires: &Wires) -> Vec<(Option<u64>, SimTime)> {
        let of = |id: u32| (wires.packets.get(id).control_message(), wires.packets.arrival(id));
        wires.links[0].in_flight(&wires.packets).map(of).collect()
    }

    #[test]
    fn a_frame_waits_for_what_has_begun_and_goes_before_the_rest() {
        let mut wires = wires();
        (0..3).for_each(|_| data(&mut wires, 0));
        // The second frame of data has begun at 1000 ns. The control frame takes 100 ns.
        control(&mut wires, 1_100, 7);
        let expected = [(None, at(2_000)), (None, at(3_000)), (Some(7), at(3_100)), (None, at(4_100))];
        assert_eq!(order(&wires), expected);
        assert_eq!(wires.links[0].free_at(), at(3_100));
        // Another one goes behind the first and before data.
        control(&mut wires, 1_200, 8);
        assert_eq!(order(&wires)[2..], [(Some(7), at(3_100)), (Some(8), at(3_200)), (None, at(4_200))]);
        assert_eq!((wires.links[0].sent_packets, wires.links[0].sent_bytes), (5, 3_200));
    }

    #[test]
    fn the_first_to_arrive_may_change() {
        let mut wires = wires();
        // What comes through a switch joins a link before it is ready.
        data(&mut wires, 500);
        control(&mut wires, 100, 7);
        assert_eq!(order(&wires), [(Some(7), at(1_200)), (None, at(2_500))], "there is time for both");
        control(&mut wires, 450, 8);
        assert_eq!(order(&wires), [(Some(7), at(1_200)), (Some(8), at(1_550)), (None, at(2_550))]);
    }

    #[test]
    fn an_idle_link_sends_at_once() {
        let mut wires = wires();
        control(&mut wires, 300, 7);
        assert_eq!(order(&wires), [(Some(7), at(1_400))]);
        data(&mut wires, 0);
        assert_eq!(order(&wires)[1], (None, at(2_400)));
    }
}
