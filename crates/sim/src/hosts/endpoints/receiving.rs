//! What hosts do with packets that arrive: data at receivers, acknowledgements and reports at
//! senders.
//!
//! A receiver answers with acknowledgements (TCP) or repair reports (raw frames); datagrams are
//! only counted, and [`ndp`](super::ndp) is elsewhere. Receivers do not know what their senders hold.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{
    AckOptions, DATAGRAM_HEADER, Endpoints, FinishedFlow, HostAction, NotifyWhen, PacketEvent, Transport, Wire,
    path_hash,
};
use crate::hosts::flow::{FlowKey, ReceiverTransport, SenderTransport};
use crate::network::packet::{NO_OPTIONS, Packet, flags};
use crate::record::round_trips::Reading;
use timeplane_transport::{Ack, Arrival, RepairReport};

impl Endpoints {
    /// Whether arrivals are only counted, and no fate of a packet is noted.
    #[inline(always)]
    pub(crate) fn only_counts(&self) -> bool {
        matches!(self.config.transport, Transport::Datagrams) && self.log.is_none()
    }

    /// A datagram of a flow arrives at its destination, where arrivals are [only
    /// counted](Self::only_counts).
    #[inline(always)]
    pub(crate) fn count(&mut self, at: SimTime, key: FlowKey, destination: u32, bytes: u32) {
        self.ledger.delivered(bytes);
        self.flows.get_mut(key).in_flight -= 1;
        self.datagram(at, key, destination, bytes);
    }

    #[inline(always)]
    fn datagram(&mut self, at: SimTime, key: FlowKey, destination: u32, bytes: u32) {
        let payload = u64::from(bytes - DATAGRAM_HEADER);
        let flow = self.flows.get_mut(key);
        flow.receiver.received += payload;
        flow.receiver.last = flow.receiver.last.max(at.as_ps());
        let over = flow.is_over();
        self.ledger.received(at, destination, payload);
        if self.notify == NotifyWhen::Received {
            self.notify_received(key);
        }
        if over {
            self.finish(key);
        }
    }

    /// A packet arrives at its destination, its last bit at `at`.
    #[inline(always)]
    pub fn receive(&mut self, at: SimTime, packet: Packet, wire: &mut impl Wire) {
        self.ledger.delivered(packet.bytes);
        let flow = self.flows.get_mut(packet.flow);
        flow.in_flight -= 1;
        if let Some(log) = &mut self.log {
            let Packet { seq, bytes, flags, .. } = packet;
            log.push(PacketEvent { at, flow: flow.number, seq, bytes, flags, lost: false });
        }
        match flow.receiver.end.as_deref().map(|end| &end.transport) {
            None => self.datagram(at, packet.flow, packet.destination, packet.bytes),
            Some(ReceiverTransport::Raw(_)) => self.frame(at, &packet, wire),
            Some(ReceiverTransport::Tcp(..)) => self.segment(at, &packet, wire),
            Some(ReceiverTransport::Ndp(..)) => self.ndp_packet(at, &packet, wire),
        }
    }

    /// A datagram arrives ahead of the time of the run. Returns whether its flow is over, which the
    /// caller must then [end](Self::end): flows end in the order of events.
    #[inline]
    pub(crate) fn receive_ahead(&mut self, at: SimTime, packet: &Packet) -> bool {
        debug_assert!(self.notify == NotifyWhen::Never, "nothing reacts to an arrival");
        self.ledger.delivered(packet.bytes);
        let flow = self.flows.get_mut(packet.flow);
        debug_assert!(flow.receiver.end.is_none(), "a datagram");
        flow.in_flight -= 1;
        if let Some(log) = &mut self.log {
            let Packet { seq, bytes, flags, .. } = *packet;
            log.push(PacketEvent { at, flow: flow.number, seq, bytes, flags, lost: false });
        }
        let payload = u64::from(packet.bytes - DATAGRAM_HEADER);
        flow.receiver.received += payload;
        flow.receiver.last = flow.receiver.last.max(at.as_ps());
        let over = flow.is_over();
        self.ledger.received(at, packet.destination, payload);
        over
    }

    /// A flow ends, all of whose datagrams have been [received](Self::receive_ahead).
    pub(crate) fn end(&mut self, key: FlowKey) {
        self.finish(key);
    }

    /// Notes new bytes of a flow; notifies the engine of the last ones.
    pub(super) fn notify_received(&mut self, key: FlowKey) {
        let flow = self.flows.get(key);
        if self.notify == NotifyWhen::Received && flow.receiver.received == flow.bytes {
            let at = SimTime::from_ps(flow.receiver.last);
            self.finished.push(FinishedFlow { flow: flow.number, host: flow.sender.source, at });
        }
    }

    #[inline(never)]
    fn frame(&mut self, at: SimTime, packet: &Packet, wire: &mut impl Wire) {
        let key = packet.flow;
        let payload = packet.bytes - self.config.transport.header();
        let side = &mut self.flows.get_mut(key).receiver;
        let Some(ReceiverTransport::Raw(receiver)) = side.end.as_deref_mut().map(|end| &mut end.transport) else {
            unreachable!("a raw flow")
        };
        let new = receiver.on_frame(at.on_perfect_clock(), packet.seq, payload);
        if new > 0 {
            side.received += new;
            side.last = side.last.max(at.as_ps());
            self.ledger.received(at, packet.destination, new);
            self.notify_received(key);
        }
        self.raw_reports(at, key, wire);
        self.settle(key);
    }

    #[inline(never)]
    fn segment(&mut self, at: SimTime, packet: &Packet, wire: &mut impl Wire) {
        if packet.flags & flags::ACK != 0 {
            self.acknowledged(at, packet, wire);
        } else {
            self.data_segment(at, packet, wire);
        }
    }

    /// An acknowledgement arrives at a TCP sender.
    #[inline(always)]
    fn acknowledged(&mut self, at: SimTime, packet: &Packet, wire: &mut impl Wire) {
        let key = packet.flow;
        let flow = self.flows.get_mut(key);
        let SenderTransport::Tcp(sender) = &mut flow.sender.transport else { unreachable!("a TCP flow") };
        let has = |flag| packet.flags & flag != 0;
        let mut ack = Ack { ack: packet.seq, ece: has(flags::ECE), syn: has(flags::SYN), ..Ack::default() };
        if packet.options != NO_OPTIONS {
            let AckOptions { sacks, window, timestamp_echo } = self.options.take(packet.options);
            ack = Ack { sacks, window, timestamp_echo, ..ack };
        }
        sender.on_ack(at.on_perfect_clock(), &ack);
        let is_first_half = self.relays.contains_key(&key);
        for rtt in sender.take_samples() {
            if !is_first_half {
                self.ledger.round_trip(at, Reading::Segment, rtt);
            }
            if let Some(least) = self.least_rtts.get_mut(&flow.number) {
                *least = Some(least.map_or(rtt, |least| rtt.min(least)));
            }
            if let Some(longest) = &mut self.longest_rtts {
                let longest = longest.entry(flow.number).or_default();
                *longest = rtt.max(*longest);
            }
        }
        if let Some(rtt) = sender.take_acknowledgement_sample().filter(|_| !is_first_half) {
            self.ledger.round_trip(at, Reading::Acknowledgement, rtt);
        }
        if sender.is_done() {
            flow.note_done(at);
            if flow.sender.queued {
                self.leave_gate(at, key, wire);
            }
            self.settle(key);
        } else {
            self.pump(at, key, wire);
        }
    }

    /// A data segment arrives at a TCP receiver.
    #[inline(always)]
    fn data_segment(&mut self, at: SimTime, packet: &Packet, wire: &mut impl Wire) {
        let key = packet.flow;
        let header = self.config.transport.header();
        let flow = self.flows.get_mut(key);
        let (number, side) = (flow.number, &mut flow.receiver);
        let Some(ReceiverTransport::Tcp(receiver, _)) = side.end.as_deref_mut().map(|end| &mut end.transport) else {
            unreachable!("a TCP flow")
        };
        let arrival = Arrival {
            seq: packet.seq,
            len: packet.bytes - header,
            syn: packet.flags & flags::SYN != 0,
            cwr: packet.flags & flags::CWR != 0,
            ce: packet.flags & flags::CE != 0,
            timestamp: packet.timestamp(),
        };
        let before = side.received;
        let ack = receiver.on_segment(at.on_perfect_clock(), &arrival);
        let delivered = receiver.received();
        let new = receiver.delivered_unique() - before;
        side.received += new;
        if new > 0 {
            side.last = at.as_ps();
            // The bytes of a split connection's first half are still under way.
            let is_end = !self.relays.contains_key(&key);
            if is_end {
                self.ledger.received(at, packet.destination, new);
            }
            self.ledger.in_order(at, number, delivered, is_end);
            self.notify_received(key);
        }
        self.rearm_receiver(key, wire);
        if let Some(ack) = ack {
            self.acknowledge(at, key, &ack, wire);
        }
        if !self.relays.is_empty() {
            self.relay(at, key, delivered, wire);
        }
        self.settle(key);
    }

    /// The first half of a split connection has `delivered` bytes in order.
    fn relay(&mut self, at: SimTime, key: FlowKey, delivered: u64, wire: &mut impl Wire) {
        let Some(&to) = self.relays.get(&key) else { return };
        let flow = self.flows.get_mut(to);
        let SenderTransport::Tcp(sender) = &mut flow.sender.transport else { unreachable!("half a TCP connection") };
        sender.limit_to(delivered);
        if delivered == flow.bytes {
            self.relays.remove(&key);
        }
        self.pump(at, to, wire);
    }

    /// Sends an acknowledgement.
    pub(super) fn acknowledge(&mut self, at: SimTime, key: FlowKey, ack: &Ack, wire: &mut impl Wire) {
        let options = self.options.keep(ack);
        let flow = self.flows.get_mut(key);
        flow.in_flight += 1;
        flow.sent += 1;
        let Some(ReceiverTransport::Tcp(_, path)) = flow.receiver.end.as_deref().map(|end| &end.transport) else {
            unreachable!("a TCP flow")
        };
        let class = self.config.acknowledgements.unwrap_or(flow.sender.class);
        let packet = Packet {
            flow: key,
            destination: flow.sender.source,
            hash: path_hash(path.hash, flow.sent, self.config.per_packet),
            bytes: ack.wire_bytes(),
            seq: ack.ack,
            options,
            path: 0,
            flags: u16::from(class) << flags::CLASS_SHIFT
                | flags::ACK
                | if ack.ece { flags::ECE } else { 0 }
                | if ack.syn { flags::SYN } else { 0 },
            ahead: path.ahead,
        };
        self.ledger.sent(packet.bytes);
        wire.transmit(at, flow.destination, packet);
    }

    /// A raw receiver sends a report, if it has one to send.
    pub(super) fn raw_reports(&mut self, at: SimTime, key: FlowKey, wire: &mut impl Wire) {
        let flow = self.flows.get_mut(key);
        let Some(ReceiverTransport::Raw(receiver)) = flow.receiver.end.as_deref_mut().map(|end| &mut end.transport)
        else {
            unreachable!("a raw flow")
        };
        if let Some(report) = receiver.report(at.on_perfect_clock()) {
            flow.in_flight += 1;
            wire.report(at, [flow.destination, flow.sender.source], flow.number, key, report);
        }
        self.rearm(key, wire);
    }

    /// A receiver's report arrives at the sender.
    pub fn report(
        &mut self,
        at: SimTime,
        number: u32,
        key: FlowKey,
        report: &RepairReport,
        wire: &mut impl Wire,
    ) -> HostAction {
        let Some(flow) = self.flows.find(key, number) else { return HostAction::Nothing };
        flow.in_flight -= 1;
        let SenderTransport::Raw(sender) = &mut flow.sender.transport else { unreachable!("only raw flows report") };
        sender.on_report(at.on_perfect_clock(), report);
        let backlog = sender.backlog();
        flow.note_done(at);
        let (host, destination) = (flow.sender.source, flow.destination);
        let action = if backlog > 0 {
            HostAction::Queue { host, destination, key }
        } else if flow.sender.queued {
            HostAction::Withdraw { host, destination, key }
        } else {
            HostAction::Nothing
        };
        self.rearm(key, wire);
        self.settle(key);
        action
    }

    /// A receiver's report is lost.
    pub fn report_lost(&mut self, number: u32, key: FlowKey) {
        if let Some(flow) = self.flows.find(key, number) {
            flow.in_flight -= 1;
            self.settle(key);
        }
    }
}
