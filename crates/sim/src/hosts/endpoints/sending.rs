//! What senders put on the wire: packets that interfaces ask for, and segments that TCP hands over.
//!
//! Datagrams and raw frames wait at their source until an interface asks for one. TCP sends as soon
//! as it may, or when it is its turn. Senders do not know when a packet arrives; acknowledgements
//! and reports tell them.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{
    DATAGRAM_HEADER, Endpoints, Offer, PacketEvent, Service, Timers, Transport, Wire, path_hash,
};
use crate::hosts::flow::{Flow, FlowKey, ReceiverTransport, Segmentation, SenderTransport};
use crate::network::link::LinkState;
use crate::network::packet::{NO_OPTIONS, Packet, flags};
use timeplane_model::Duration;
use timeplane_transport::{Sendable, Sender};

/// A data packet of a flow on the flow's path.
#[inline(always)]
pub(super) fn data_packet(key: FlowKey, flow: &Flow, hash: u32, bytes: u32, seq: u64, flags: u16) -> Packet {
    Packet {
        flow: key,
        destination: flow.destination,
        hash,
        bytes,
        seq,
        options: NO_OPTIONS,
        path: 0,
        flags: flags | u16::from(flow.sender.class) << flags::CLASS_SHIFT,
        ahead: flow.sender.ahead,
    }
}

impl Endpoints {
    /// The next packet of a flow, of at most `largest` bytes without framing, whose transmission
    /// starts at `at`. `None` if the flow holds no bytes, or if its next packet is larger and
    /// cannot be divided.
    pub fn next_packet(&mut self, at: SimTime, key: FlowKey, largest: u32) -> Option<Packet> {
        self.take_packet(at, key, largest).map(|p| p.0)
    }

    /// As [`next_packet`](Self::next_packet), and whether the flow now holds no more.
    #[inline(always)]
    pub(crate) fn take_packet(&mut self, at: SimTime, key: FlowKey, largest: u32) -> Option<(Packet, bool)> {
        let config = &self.config;
        let flow = self.flows.get_mut(key);
        let (seq, bytes, flags, last) = match &mut flow.sender.transport {
            SenderTransport::Datagrams { unsent, segmentation, fragment } => {
                if *unsent == 0 {
                    return None;
                }
                let payload = next_payload(segmentation, *unsent, fragment, largest, config.fragments)?;
                let seq = flow.bytes - *unsent;
                *unsent -= u64::from(payload);
                (seq, payload + DATAGRAM_HEADER, 0, *unsent == 0)
            }
            SenderTransport::Raw(sender) => {
                let Transport::Raw { header, .. } = config.transport else { unreachable!("a raw flow") };
                let most = largest.min(config.mtu).checked_sub(header)?;
                let frame = sender.next_frame(at.on_perfect_clock(), most)?;
                let again = if frame.retransmission { flags::RETRANSMISSION } else { 0 };
                (frame.offset, frame.len + header, again, sender.backlog() == 0)
            }
            SenderTransport::Tcp(_) | SenderTransport::Ndp(..) => {
                unreachable!("TCP and NDP hand their packets over by themselves")
            }
        };
        flow.in_flight += 1;
        flow.sent += 1;
        let hash = path_hash(flow.sender.hash, flow.sent, config.per_packet);
        let packet = data_packet(key, flow, hash, bytes, seq, flags);
        self.ledger.sent(bytes);
        Some((packet, last))
    }

    /// Whether a packet that does not fit is divided.
    pub(crate) fn cuts(&self) -> bool {
        !matches!(self.config.transport, Transport::Datagrams) || self.config.fragments
    }

    /// The next packet of a flow that holds bytes, and how many like it come next, without the
    /// flow's last one. `None` if that depends on what happens meanwhile.
    pub(crate) fn alike(&self, key: FlowKey) -> Option<(Packet, u64)> {
        let config = &self.config;
        let flow = self.flows.get(key);
        let (seq, payload, count) =
            match (&flow.sender.transport, flow.receiver.end.as_deref().map(|end| &end.transport)) {
                (SenderTransport::Datagrams { unsent, segmentation: Segmentation::Even(each), fragment: 0 }, _) => {
                    (flow.bytes - unsent, *each, unsent.saturating_sub(1) / u64::from(*each))
                }
                // The receiver has all that was sent.
                (SenderTransport::Raw(sender), Some(ReceiverTransport::Raw(receiver)))
                    if flow.in_flight == 0 && receiver.is_next(sender.next_offset()) =>
                {
                    let payload = config.mtu.checked_sub(config.transport.header())?;
                    (sender.next_offset(), payload, sender.frames_alike(payload))
                }
                _ => return None,
            };
        if config.per_packet {
            return None;
        }
        let bytes = payload + config.transport.header();
        Some((data_packet(key, flow, flow.sender.hash, bytes, seq, 0), count))
    }

    /// Packets that are [alike](Self::alike) leave and arrive: the first one at `first`, each
    /// further one another `line` later.
    pub(crate) fn carry_alike(&mut self, key: FlowKey, first: SimTime, line: Duration, count: u64, packet: &Packet) {
        let flow = self.flows.get_mut(key);
        let payload = packet.bytes - self.config.transport.header();
        let bytes = count * u64::from(payload);
        match (&mut flow.sender.transport, flow.receiver.end.as_deref_mut().map(|end| &mut end.transport)) {
            (SenderTransport::Datagrams { unsent, .. }, _) => *unsent -= bytes,
            (SenderTransport::Raw(sender), Some(ReceiverTransport::Raw(receiver))) => {
                let offset = sender.next_frames(payload, count);
                receiver.on_frames(offset, bytes);
            }
            _ => unreachable!("TCP hands its segments over by itself"),
        }
        flow.sent += count as u32;
        flow.receiver.received += bytes;
        let at = |i: u64| first + line * i as i64;
        flow.receiver.last = flow.receiver.last.max(at(count - 1).as_ps());
        self.ledger.carried(first, line, count, packet, payload);
        if let Some(log) = &mut self.log {
            let number = flow.number;
            log.extend((0..count).map(|i| PacketEvent {
                at: at(i),
                flow: number,
                seq: packet.seq + i * u64::from(payload),
                bytes: packet.bytes,
                flags: packet.flags,
                lost: false,
            }));
        }
    }

    /// Packets that a flow still holds, and their wire bytes on `link`, as if divided by the MTU.
    pub fn unsent(&self, key: FlowKey, link: &LinkState) -> (u64, u64) {
        let header = self.config.transport.header();
        let most = u64::from(self.config.mtu - header);
        let unsent = self.flows.get(key).sender.unsent();
        let rest = (unsent % most) as u32;
        let tail = if rest > 0 { u64::from(link.wire(rest + header)) } else { 0 };
        (unsent.div_ceil(most), unsent / most * u64::from(link.wire(self.config.mtu)) + tail)
    }

    /// As [`unsent`](Self::unsent), with the sizes that the packets will have.
    pub fn unsent_exact(&self, key: FlowKey, link: &LinkState) -> (u64, u64) {
        let SenderTransport::Datagrams { unsent, segmentation, fragment } = &self.flows.get(key).sender.transport
        else {
            return self.unsent(key, link);
        };
        let (mut left, mut packets, mut bytes) = (*unsent, 0, 0);
        let mut add = |payload: u32, count: u64| {
            packets += count;
            bytes += count * u64::from(link.wire(payload + DATAGRAM_HEADER));
            left -= count * u64::from(payload);
            left
        };
        let mut rest = if *fragment > 0 { add(*fragment, 1) } else { *unsent };
        match segmentation {
            Segmentation::Even(each) => {
                rest = add(*each, rest / u64::from(*each));
                add(rest as u32, u64::from(rest > 0));
            }
            Segmentation::Random(sizer) => {
                let mut sizer = **sizer;
                while rest > 0 {
                    rest = add(sizer.next(rest), 1);
                }
            }
        }
        (packets, bytes)
    }

    /// An interface took the last packet of a flow, so its timer may start.
    #[inline]
    pub fn sent_all(&mut self, key: FlowKey, timers: &mut impl Timers) {
        self.rearm(key, timers);
    }

    /// Sends the segments that a TCP sender may send now, or asks for the flow's turn.
    pub(super) fn pump(&mut self, at: SimTime, key: FlowKey, wire: &mut impl Wire) {
        let source = self.flows.get(key).sender.source;
        match wire.service(source) {
            Service::AtOnce => {
                while let Some(packet) = self.next_segment(at, key, None) {
                    wire.transmit(at, source, packet);
                }
            }
            Service::InTurn => self.ask_for_turn(at, key, wire),
            Service::BehindGates => self.ask_at_gate(at, key, wire),
        }
        self.rearm(key, wire);
    }

    /// The next segment of a TCP flow that may be sent now. Behind a gate it has waited `since`.
    #[inline(always)]
    fn next_segment(&mut self, at: SimTime, key: FlowKey, since: Option<SimTime>) -> Option<Packet> {
        let flow = self.flows.get_mut(key);
        let SenderTransport::Tcp(sender) = &mut flow.sender.transport else { unreachable!("a TCP flow") };
        let now = at.on_perfect_clock();
        let segment = match since {
            None => sender.poll(now),
            Some(since) => sender.poll_late(now, since.on_perfect_clock()),
        }?;
        let bit = |set: bool, bit: u16| if set { bit } else { 0 };
        flow.in_flight += 1;
        flow.sent += 1;
        let flags = bit(segment.syn, flags::SYN)
            | bit(segment.cwr, flags::CWR)
            | bit(segment.ect, flags::ECT)
            | bit(segment.retransmission, flags::RETRANSMISSION);
        let hash = path_hash(flow.sender.hash, flow.sent, self.config.per_packet);
        let mut packet = data_packet(key, flow, hash, segment.wire_bytes(), segment.seq, flags);
        if let Some(timestamp) = segment.timestamp {
            packet.options = timestamp;
        }
        if let Some(round_trips) = self.ledger.round_trips.as_mut().filter(|_| !segment.retransmission && !segment.syn)
        {
            round_trips.sent(at, flow.number, segment.seq + u64::from(segment.len));
        }
        self.ledger.sent(packet.bytes);
        Some(packet)
    }
}

/// What a flow hands over in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandedOver {
    /// A packet, which leaves now.
    Packet {
        /// Its bytes are without framing.
        packet: Packet,
        /// Whether the flow has more.
        more: bool,
    },
    /// Its next packet is larger than what may leave.
    TooLarge,
    /// It has nothing to send any more.
    Nothing,
}

/// Interfaces that serve flows in turn.
impl Endpoints {
    fn ask_for_turn(&mut self, at: SimTime, key: FlowKey, wire: &mut impl Wire) {
        let flow = self.flows.get_mut(key);
        let SenderTransport::Tcp(sender) = &mut flow.sender.transport else { unreachable!("a TCP flow") };
        if !flow.sender.queued && sender.has_segment(at.on_perfect_clock()) {
            flow.sender.queued = true;
            wire.offer(at, &Offer::of(key, flow));
        }
    }

    /// As [`ask_for_turn`](Self::ask_for_turn), where a plan hears of all that waits. A flow
    /// without segments leaves at once: it may be long until its gate opens.
    fn ask_at_gate(&mut self, at: SimTime, key: FlowKey, wire: &mut impl Wire) {
        let flow = self.flows.get_mut(key);
        let SenderTransport::Tcp(sender) = &mut flow.sender.transport else { unreachable!("a TCP flow") };
        match (flow.sender.queued, sender.waits(at.on_perfect_clock())) {
            (false, true) => {
                flow.sender.queued = true;
                wire.offer(at, &Offer::of(key, flow));
            }
            (true, true) => wire.grow(at, flow.sender.source),
            (true, false) => self.leave_gate(at, key, wire),
            (false, false) => {}
        }
    }

    /// A TCP flow that waits behind a gate has no segments. Elsewhere it waits for its turn.
    pub(super) fn leave_gate(&mut self, at: SimTime, key: FlowKey, wire: &mut impl Wire) {
        let flow = self.flows.get_mut(key);
        if wire.service(flow.sender.source) != Service::BehindGates {
            return;
        }
        flow.sender.queued = false;
        let credit = wire.retract(at, &Offer::of(key, flow));
        if let Some(end) = flow.receiver.end.as_mut().filter(|_| credit.is_some()) {
            end.credit = credit;
        }
    }

    /// It is the turn of a flow, whose packet would leave at `at`. Returns the packet, if there
    /// still is one, and whether the flow has more.
    pub fn take_turn(&mut self, at: SimTime, key: FlowKey, timers: &mut impl Timers) -> Option<(Packet, bool)> {
        let taken = if matches!(self.config.transport, Transport::Tcp(_)) {
            self.next_segment(at, key, None).map(|packet| {
                let more = self.tcp(key).is_some_and(|sender| sender.has_segment(at.on_perfect_clock()));
                (packet, more)
            })
        } else if matches!(self.config.transport, Transport::Ndp { .. }) {
            self.take_ndp_turn(at, key)
        } else {
            self.take_packet(at, key, u32::MAX).map(|(packet, last)| (packet, !last))
        };
        self.rearm(key, timers);
        taken
    }

    /// As [`take_turn`](Self::take_turn), for a flow that has waited behind a gate since `since`.
    /// Its packet may have at most `largest` bytes without framing.
    pub fn take_late_turn(
        &mut self,
        at: SimTime,
        key: FlowKey,
        since: SimTime,
        largest: u32,
        timers: &mut impl Timers,
    ) -> HandedOver {
        let handed_over = if !matches!(self.config.transport, Transport::Tcp(_)) {
            match self.take_packet(at, key, largest) {
                Some((packet, last)) => HandedOver::Packet { packet, more: !last },
                None => HandedOver::TooLarge,
            }
        } else if largest < self.config.mtu && self.next_size(at, key).is_some_and(|next| next > largest) {
            HandedOver::TooLarge
        } else {
            let packet = self.next_segment(at, key, Some(since));
            let more = self.tcp(key).is_some_and(|sender| sender.waits(at.on_perfect_clock()));
            packet.map_or(HandedOver::Nothing, |packet| HandedOver::Packet { packet, more })
        };
        self.rearm(key, timers);
        handed_over
    }

    /// The sender of a TCP flow.
    fn tcp(&mut self, key: FlowKey) -> Option<&mut Sender> {
        match &mut self.flows.get_mut(key).sender.transport {
            SenderTransport::Tcp(sender) => Some(sender),
            _ => None,
        }
    }

    /// Bytes of the next packet of a TCP flow, without framing.
    fn next_size(&mut self, at: SimTime, key: FlowKey) -> Option<u32> {
        let header = self.config.transport.header();
        Some(self.tcp(key)?.next_len(at.on_perfect_clock())? + header)
    }

    /// Packets that a flow could hand over at `now` if its gate were open, and their wire bytes on
    /// `link`. It has waited there since `since`.
    pub fn backlog_of(&self, now: SimTime, since: SimTime, key: FlowKey, link: &LinkState) -> (u64, u64) {
        let SenderTransport::Tcp(sender) = &self.flows.get(key).sender.transport else {
            return self.unsent(key, link);
        };
        let Sendable { segments, bytes } = sender.sendable(now.on_perfect_clock(), since.on_perfect_clock());
        // At most one of the segments is not full.
        let header = self.config.transport.header();
        let most = u64::from(self.config.mtu - header);
        let last = bytes.saturating_sub(segments.saturating_sub(1) * most).min(most) as u32;
        let full = segments.saturating_sub(1) * u64::from(link.wire(self.config.mtu));
        (segments, if segments == 0 { 0 } else { full + u64::from(link.wire(last + header)) })
    }

    /// A flow has left the queue of its interface with this credit.
    pub fn turn_is_over(&mut self, key: FlowKey, credit: i64) {
        if let Some(end) = &mut self.flows.get_mut(key).receiver.end {
            end.credit = Some(credit);
        }
        self.unqueued(key);
    }

    /// The interface of a flow's host has stopped. TCP and NDP do not know, and send.
    pub fn interface_stopped(&mut self, at: SimTime, key: FlowKey, wire: &mut impl Wire) {
        self.flows.get_mut(key).sender.queued = false;
        match self.config.transport {
            Transport::Ndp { .. } => self.pump_ndp(at, key, wire),
            _ => self.pump(at, key, wire),
        }
        self.settle(key);
    }
}

/// The payload of the next datagram, of which at most `largest` bytes fit with its header.
#[inline(always)]
fn next_payload(
    segmentation: &mut Segmentation,
    unsent: u64,
    fragment: &mut u32,
    largest: u32,
    may_fragment: bool,
) -> Option<u32> {
    let fits = |payload: u32| payload.saturating_add(DATAGRAM_HEADER) <= largest;
    match segmentation {
        Segmentation::Even(each) if *fragment == 0 => {
            let payload = u64::from(*each).min(unsent) as u32;
            if fits(payload) { Some(payload) } else { part(payload, largest, may_fragment, fragment) }
        }
        Segmentation::Random(sizer) if *fragment == 0 => {
            // Each draw moves the state of a sizer: ask a copy first.
            let mut drawn = **sizer;
            let payload = drawn.next(unsent);
            let payload = if fits(payload) { payload } else { part(payload, largest, may_fragment, fragment)? };
            **sizer = drawn;
            Some(payload)
        }
        _ if fits(*fragment) => Some(std::mem::take(fragment)),
        _ => part(*fragment, largest, may_fragment, fragment),
    }
}

/// The part of a payload that fits, if it may be fragmented; the rest becomes the `fragment`.
fn part(payload: u32, largest: u32, may_fragment: bool, fragment: &mut u32) -> Option<u32> {
    let fits = largest.checked_sub(DATAGRAM_HEADER).filter(|&fits| may_fragment && fits > 0)?;
    *fragment = payload - fits;
    Some(fits)
}
