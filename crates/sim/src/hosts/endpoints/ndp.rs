//! NDP at both ends: packets and their paths, answers, and the pulls of each host.
//!
//! The state machines are those of [`timeplane_transport::ndp`]; this carries what they say. The
//! pacer of a host has a timer of its own, with no flow's number and the host as its key.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::sending::data_packet;
use crate::hosts::endpoints::{Config, Endpoints, HostAction, Offer, Service, Transport, Wire, path_hash};
use crate::hosts::flow::{FlowKey, NONE, ReceiverTransport, SenderTransport};
use crate::network::packet::{NO_OPTIONS, Packet, UNKNOWN, flags};
use timeplane_model::{Bytes, Candidates, Duration, Fabric, HostId, PathTag, flow_hash};
use timeplane_transport::ndp::{
    NDP_HEADER, NdpAnswer, NdpConfig, NdpReceiver, NdpSender, PullPacer, Spray, path_in_turn,
};
use timeplane_workload::FlowArrival;

/// Answers to data that was cut: the mark comes back.
pub(crate) const NACK: u16 = flags::ACK | flags::ECE;
/// Pulls.
pub(crate) const PULL: u16 = flags::ACK | flags::CWR;

/// The paths of the packets that one host sends for a flow.
#[derive(Clone, Copy, Debug)]
pub struct SprayedPaths {
    hash: u32,
    /// The numbers of choices at switches with hosts and at others; zeros where hashes choose.
    choices: [u8; 2],
}

impl SprayedPaths {
    fn new(fabric: &Fabric, spray: Spray, [from, to]: [u32; 2], hash: u32) -> Self {
        let choices = match spray {
            // Racks under rotor switches choose by the hash.
            Spray::Permutation if fabric.rotors() > 0 => [0, 0],
            Spray::Permutation => choices(fabric, HostId(from), HostId(to)),
            Spray::Hash => [0, 0],
        };
        Self { hash, choices }
    }

    /// The hash and the path of the packet with this number.
    fn of(&self, number: u32) -> (u32, u16) {
        let [first, second] = self.choices.map(u32::from);
        let hash = path_hash(self.hash, number, true);
        if first == 0 {
            return (hash, 0);
        }
        let path = path_in_turn(self.hash, number, first * second);
        (hash, 1 + PathTag::new((path % first) as u8, (path / first) as u8).0)
    }
}

/// The numbers of equal links that a packet finds at switches with hosts and at others, at most
/// 255 each; at least 1.
fn choices(fabric: &Fabric, from: HostId, to: HostId) -> [u8; 2] {
    let mut choices = [1, 1];
    let mut at = fabric.link(fabric.uplink(from)).to;
    while at != to.node() {
        let Candidates::Set(set) = fabric.candidates(at, to) else { break };
        let Some(&link) = set.first() else { break };
        let of = &mut choices[usize::from(!fabric.has_hosts(at))];
        *of = (*of).max(u8::try_from(set.len()).unwrap_or(u8::MAX));
        at = fabric.link(link).to;
    }
    choices
}

/// The pulls of a host.
pub(super) struct HostPulls {
    pacer: PullPacer<FlowKey>,
    /// When its pending timer fires, or `MAX`.
    armed: SimTime,
}

impl HostPulls {
    /// Those of all hosts; none without NDP.
    pub(super) fn of_hosts(fabric: &Fabric, config: &Config) -> Vec<Self> {
        if !matches!(config.transport, Transport::Ndp { .. }) {
            return Vec::new();
        }
        let interval = |host| -> Duration {
            let spec = fabric.link(fabric.downlink(HostId(host))).spec;
            spec.rate.time_for(Bytes::new(u64::from(spec.framing.wire(config.mtu))))
        };
        (0..fabric.hosts()).map(|h| Self { pacer: PullPacer::new(interval(h)), armed: SimTime::MAX }).collect()
    }
}

impl Endpoints {
    /// Both ends of a flow.
    pub(super) fn ndp_transports(
        &self,
        config: &NdpConfig,
        spray: Spray,
        number: u32,
        arrival: &FlowArrival,
    ) -> (SenderTransport, Option<ReceiverTransport>) {
        let (bytes, hosts) = (arrival.bytes.get(), [arrival.source.0, arrival.destination.0]);
        let paths = |[from, to]: [u32; 2]| {
            let hash = flow_hash(from, to, u64::from(number), self.config.salt);
            SprayedPaths::new(&self.fabric, spray, [from, to], hash)
        };
        let sender = SenderTransport::Ndp(Box::new(NdpSender::new(config, bytes)), paths(hosts));
        let receiver = ReceiverTransport::Ndp(NdpReceiver::new(config, bytes), paths([hosts[1], hosts[0]]));
        (sender, Some(receiver))
    }

    /// Sends the packets that a sender may send now, or asks for the flow's turn.
    pub(super) fn pump_ndp(&mut self, at: SimTime, key: FlowKey, wire: &mut impl Wire) {
        let flow = self.flows.get_mut(key);
        let source = flow.sender.source;
        if wire.service(source) == Service::AtOnce {
            while let Some(packet) = self.next_ndp_packet(at, key) {
                wire.transmit(at, source, packet);
            }
        } else if !flow.sender.queued && matches!(&flow.sender.transport, SenderTransport::Ndp(s, _) if s.has_packet())
        {
            flow.sender.queued = true;
            wire.offer(at, &Offer::of(key, flow));
        }
        self.rearm(key, wire);
    }

    /// It is the turn of a flow: its packet, if there still is one, and whether it has more.
    pub(super) fn take_ndp_turn(&mut self, at: SimTime, key: FlowKey) -> Option<(Packet, bool)> {
        let packet = self.next_ndp_packet(at, key)?;
        let more = matches!(&self.flows.get(key).sender.transport, SenderTransport::Ndp(s, _) if s.has_packet());
        Some((packet, more))
    }

    fn next_ndp_packet(&mut self, at: SimTime, key: FlowKey) -> Option<Packet> {
        let flow = self.flows.get_mut(key);
        let SenderTransport::Ndp(sender, paths) = &mut flow.sender.transport else { unreachable!("an NDP flow") };
        let number = sender.sent();
        let next = sender.poll(at.on_perfect_clock())?;
        let (hash, path) = paths.of(number);
        flow.in_flight += 1;
        flow.sent += 1;
        let again = if next.retransmission { flags::RETRANSMISSION } else { 0 };
        let packet = data_packet(key, flow, hash, next.len + NDP_HEADER, next.offset, flags::ECT | again);
        self.ledger.sent(packet.bytes);
        Some(Packet { path, ..packet })
    }

    /// A packet of an NDP flow arrives.
    #[inline(never)]
    pub(super) fn ndp_packet(&mut self, at: SimTime, packet: &Packet, wire: &mut impl Wire) {
        let (key, now) = (packet.flow, at.on_perfect_clock());
        if packet.flags & flags::ACK == 0 {
            self.ndp_data(at, packet, wire);
        } else {
            let flow = self.flows.get_mut(key);
            let SenderTransport::Ndp(sender, _) = &mut flow.sender.transport else { unreachable!("an NDP flow") };
            match packet.flags & (NACK | PULL) {
                PULL => sender.on_pull(now, packet.seq),
                NACK => sender.on_nack(now, packet.seq),
                _ => {
                    sender.on_ack(now, packet.seq);
                    flow.note_done(at);
                }
            }
            self.pump_ndp(at, key, wire);
        }
        self.settle(key);
    }

    /// Data or its header arrives at a receiver.
    fn ndp_data(&mut self, at: SimTime, packet: &Packet, wire: &mut impl Wire) {
        let (key, host, now) = (packet.flow, packet.destination, at.on_perfect_clock());
        let side = &mut self.flows.get_mut(key).receiver;
        let Some(ReceiverTransport::Ndp(receiver, _)) = side.end.as_deref_mut().map(|end| &mut end.transport) else {
            unreachable!("an NDP flow")
        };
        let owed = receiver.owes_pulls();
        let arrival = if packet.flags & flags::CE != 0 {
            receiver.on_header(now, packet.seq)
        } else {
            receiver.on_data(now, packet.seq, packet.bytes - NDP_HEADER)
        };
        let owes = receiver.owes_pulls();
        if arrival.new > 0 {
            side.received += arrival.new;
            side.last = at.as_ps();
            self.ledger.received(at, host, arrival.new);
            self.notify_received(key);
        }
        match (owed, owes) {
            (false, true) => self.pulls[host as usize].pacer.join(key),
            (true, false) => self.pulls[host as usize].pacer.leave(key),
            _ => {}
        }
        let kind = if arrival.answer == NdpAnswer::Nack { NACK } else { flags::ACK };
        self.answer_ndp(at, key, kind, packet.seq, wire);
        if owes {
            self.pull(at, host, wire);
        }
        self.rearm(key, wire);
    }

    /// Sends an answer or a pull to the sender of a flow.
    fn answer_ndp(&mut self, at: SimTime, key: FlowKey, kind: u16, seq: u64, wire: &mut impl Wire) {
        let flow = self.flows.get_mut(key);
        let Some(ReceiverTransport::Ndp(receiver, paths)) = flow.receiver.end.as_deref_mut().map(|e| &mut e.transport)
        else {
            unreachable!("an NDP flow")
        };
        let (hash, path) = paths.of(receiver.count_sent());
        flow.in_flight += 1;
        flow.sent += 1;
        let packet = Packet {
            flow: key,
            destination: flow.sender.source,
            hash,
            bytes: NDP_HEADER,
            seq,
            options: NO_OPTIONS,
            path,
            flags: kind | u16::from(flow.sender.class) << flags::CLASS_SHIFT,
            ahead: UNKNOWN,
        };
        self.ledger.sent(packet.bytes);
        wire.transmit(at, flow.destination, packet);
    }

    /// A host sends the pulls that may leave now, and waits for the next one.
    fn pull(&mut self, at: SimTime, host: u32, wire: &mut impl Wire) {
        let now = at.on_perfect_clock();
        while let Some(key) = self.pulls[host as usize].pacer.next(now) {
            let end = self.flows.get_mut(key).receiver.end.as_deref_mut();
            let Some(ReceiverTransport::Ndp(receiver, _)) = end.map(|end| &mut end.transport) else {
                unreachable!("an NDP flow")
            };
            let counter = receiver.take_pull(now).expect("a flow in the queue owes a pull");
            if receiver.owes_pulls() {
                self.pulls[host as usize].pacer.join(key);
            }
            self.answer_ndp(at, key, PULL, counter, wire);
            self.rearm(key, wire);
        }
        let pulls = &mut self.pulls[host as usize];
        if let Some(deadline) = pulls.pacer.deadline() {
            let next = SimTime::from_ps(deadline.as_ps());
            if next < pulls.armed {
                pulls.armed = next;
                wire.arm(next, NONE, host);
            }
        }
    }

    /// The timer of a host's pulls fires. A stale one is known by its time.
    pub(super) fn pull_timer(&mut self, at: SimTime, host: u32, wire: &mut impl Wire) -> HostAction {
        if self.pulls[host as usize].armed == at {
            self.pulls[host as usize].armed = SimTime::MAX;
            self.pull(at, host, wire);
        }
        HostAction::Nothing
    }

    /// The timer of an NDP flow fires.
    pub(super) fn ndp_timer(&mut self, at: SimTime, key: FlowKey, wire: &mut impl Wire) {
        let now = at.on_perfect_clock();
        let flow = self.flows.get_mut(key);
        if let SenderTransport::Ndp(sender, _) = &mut flow.sender.transport {
            sender.on_timeout(now);
        }
        let end = flow.receiver.end.as_deref_mut().map(|end| &mut end.transport);
        let again = match end {
            Some(ReceiverTransport::Ndp(receiver, _)) => receiver.on_timeout(now),
            _ => None,
        };
        if let Some(counter) = again {
            self.answer_ndp(at, key, PULL, counter, wire);
        }
        self.pump_ndp(at, key, wire);
    }
}
