//! Both ends of every flow: what hosts put on the wire, and what they do with what comes in.
//!
//! The network is behind the [`Wire`] trait, so that the engine and the reference engine of the tests drive the very same ends.

use crate::engine::time::SimTime;
use crate::hosts::flow::{Back, Cut, Flow, Flows, NONE, State, UNARMED};
use crate::network::link::LinkState;
use crate::network::packet::{NO_SACK, Packet, UNKNOWN, flags};
use crate::network::routes::ahead;
use crate::record::ledger::Ledger;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use timeplane_model::{Backlog, Bytes, Duration, Fabric, HostId, Time, flow_hash, mix64};
use timeplane_scenario::PacketMix;
use timeplane_transport::{
    Ack, Arrival, HEADER_BYTES, RawConfig, RawReceiver, RawSender, Receiver, Report, SackBlocks, Sender, Steering,
    TcpConfig,
};
use timeplane_workload::{FlowArrival, IdealPath, PacketSizer};

/// Bytes of the headers of a datagram: IPv4 (20) and UDP (8).
pub const DATAGRAM_HEADER: u32 = 28;

/// What carries flows, resolved for the fabric.
#[derive(Clone, Copy, Debug)]
pub enum Carrier {
    /// Open-loop datagrams.
    Datagrams,
    /// Raw frames with repair: bytes of a frame's own header, and timers.
    Raw {
        /// Bytes of each frame's payload that name its flow and offset.
        header: u32,
        /// Timers of the repair.
        config: RawConfig,
    },
    /// TCP.
    Tcp(TcpConfig),
}

impl Carrier {
    /// Bytes of a packet that are not the application's.
    pub fn header(&self) -> u32 {
        match self {
            Self::Datagrams => DATAGRAM_HEADER,
            Self::Raw { header, .. } => *header,
            Self::Tcp(_) => HEADER_BYTES,
        }
    }
}

/// What the ends ask of the network and the engine.
pub trait Wire {
    /// Hands a packet to a host's interface.
    fn transmit(&mut self, now: SimTime, host: u32, packet: Packet);
    /// Asks for [`Endpoints::timer`] at `at`.
    fn arm(&mut self, at: SimTime, number: u32, slot: u32);
    /// Carries a receiver's report back to the sender, beside the network: from the one host to the other.
    fn report(&mut self, now: SimTime, ends: [u32; 2], number: u32, slot: u32, report: Report);
}

/// What a flow does when it begins or has something to repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing that the network has to know.
    Nothing,
    /// The flow at this slot of this host holds bytes for this destination, to be asked for packet by packet.
    Queue {
        /// The sending host.
        host: u32,
        /// To whom.
        destination: u32,
        /// The flow.
        slot: u32,
    },
    /// The flow at this slot has nothing left to send, but its host's queue for this destination still refers to it.
    Withdraw {
        /// The sending host.
        host: u32,
        /// To whom.
        destination: u32,
        /// The flow.
        slot: u32,
    },
}

/// The traffic class of flows that wait for no slot.
pub const BACKGROUND: u8 = u8::MAX;

/// What all ends share.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What carries flows.
    pub carrier: Carrier,
    /// How datagrams are cut.
    pub packets: PacketMix,
    /// Largest packet.
    pub mtu: u32,
    /// Salt of the ECMP hash.
    pub salt: u64,
    /// Each packet takes its own path.
    pub per_packet: bool,
    /// Routes may change while a flow lasts: its packets are looked up at each switch.
    pub routes_change: bool,
    /// Seed of the packet sizes.
    pub packet_seed: u64,
    /// Whether a datagram may be cut where only a part of it fits.
    pub fragments: bool,
    /// The class of TCP's acknowledgements; `None` is that of their flow.
    pub acknowledgements: Option<u8>,
    /// Flows of at most this size are of the class [`BACKGROUND`].
    pub background: Option<Bytes>,
    /// Largest flows of the classes 0, 1, ...; larger ones are of the class after the last.
    pub classes: Vec<Bytes>,
    /// The measured window.
    pub measured: core::ops::Range<SimTime>,
    /// When the run ends at the latest.
    pub stop: SimTime,
}

/// When a flow is over for those who wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// Nobody waits.
    Nothing,
    /// When its sender knows that all has arrived, and nothing of it is under way.
    SenderKnows,
    /// When its receiver has all.
    Received,
}

/// A flow that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    /// Its number.
    pub flow: u32,
    /// Its sender.
    pub host: u32,
    /// When the last byte came, which may be later than now.
    pub at: SimTime,
}

/// Both ends of every flow.
pub struct Endpoints {
    fabric: Arc<Fabric>,
    setting: Setting,
    /// Flows in progress.
    pub flows: Flows,
    /// SACK blocks under way.
    sacks: Vec<SackBlocks>,
    free_sacks: Vec<u32>,
    /// By the slot of a split connection's first half, that of its second, until the first half's receiver has all.
    relays: BTreeMap<u32, u32>,
    arrived: u32,
    /// Where ideal completion times are those of.
    ideals: Arc<Fabric>,
    /// That of the flow that began last.
    path: IdealPath,
    /// What happened.
    pub ledger: Ledger,
    /// Flows that are over, as [`tells`](Self::tells) has it, since the engine looked.
    pub over: Vec<Over>,
    /// What somebody waits for.
    pub tells: Tells,
    /// Longest round-trip times since the last look, by flow, where somebody looks at TCP's senders.
    pub longest_rtts: Option<BTreeMap<u32, Duration>>,
    /// The least round trip of flows whose senders are steered, once there is one.
    least_rtts: BTreeMap<u32, Option<Duration>>,
    /// Every packet's end, where somebody wants to know.
    pub log: Option<Vec<PacketEvent>>,
}

impl Endpoints {
    /// No flows yet.
    pub fn new(fabric: Arc<Fabric>, setting: Setting, ledger: Ledger) -> Self {
        Self {
            ideals: Arc::clone(&fabric),
            fabric,
            setting,
            flows: Flows::default(),
            sacks: vec![],
            free_sacks: vec![],
            relays: BTreeMap::new(),
            arrived: 0,
            path: IdealPath::default(),
            ledger,
            over: Vec::new(),
            tells: Tells::Nothing,
            longest_rtts: None,
            least_rtts: BTreeMap::new(),
            log: None,
        }
    }

    /// Ideal completion times from here on are those of this fabric, of the same hosts, with the packets as they are cut for their own one.
    pub fn ideals_of(&mut self, fabric: Arc<Fabric>) {
        self.ideals = fabric;
    }

    /// What all ends share.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Whether what arrives at a host makes it send or wait for nothing at that instant, so that a last hop needs no event.
    pub fn is_passive(&self) -> bool {
        !matches!(self.setting.carrier, Carrier::Tcp(_))
    }

    /// The class of a flow of this size.
    fn class(&self, bytes: Bytes) -> u8 {
        if self.setting.background.is_some_and(|below| bytes <= below) {
            return BACKGROUND;
        }
        self.setting.classes.partition_point(|most| *most < bytes) as u8
    }

    /// The SACK blocks of a packet.
    pub(crate) fn sacks(&self, packet: &Packet) -> SackBlocks {
        if packet.sack == NO_SACK { SackBlocks::NONE } else { self.sacks[packet.sack as usize] }
    }

    /// The host that a packet comes from.
    pub fn sender(&self, packet: &Packet) -> u32 {
        let flow = self.flows.get(packet.flow);
        if packet.destination == flow.destination { flow.source } else { flow.destination }
    }

    /// What a host has to send, as its sockets know it: bytes of flows that have not been acknowledged, or where nothing acknowledges, sent.
    pub fn demand(&self, host: u32) -> Backlog {
        Backlog::of_bytes(self.flows.iter().filter(|(_, f)| f.source == host).map(|(_, flow)| {
            let left = match &flow.state {
                State::Datagrams { unsent, .. } => *unsent,
                State::Raw(_) => flow.bytes - flow.received,
                State::Tcp(ends) => flow.bytes - ends.0.acknowledged(),
            };
            (HostId(flow.destination), Bytes::new(left))
        }))
    }

    /// How many flows have begun: the number of the next one.
    pub fn begun(&self) -> u32 {
        self.arrived
    }

    /// A flow begins.
    pub fn start(&mut self, now: SimTime, arrival: &FlowArrival, wire: &mut impl Wire) -> Then {
        self.begin(now, arrival, u64::MAX, wire).1
    }

    /// A split connection begins: two flows of TCP, of which the second sends what the first one's receiver has in order, as it comes. Both
    /// begin now, and each is a flow of its own in all tables: the second one's time is that of both.
    ///
    /// # Panics
    /// Unless the carrier is TCP, and the second flow begins where the first one ends and is as long.
    pub fn start_split(&mut self, now: SimTime, first: &FlowArrival, second: &FlowArrival, wire: &mut impl Wire) {
        assert!(matches!(self.setting.carrier, Carrier::Tcp(_)), "only TCP is split");
        assert!(first.destination == second.source && first.bytes == second.bytes, "not the halves of a connection");
        let to = self.begin(now, second, 0, wire).0;
        // Before the first byte can arrive.
        let from = self.begin(now, first, u64::MAX, wire).0;
        self.flows.get_mut(from).measured = false;
        self.relays.insert(from, to);
    }

    /// Keeps the least round trip of a flow of TCP from now on.
    pub fn watch_round_trips(&mut self, number: u32) {
        let Some(slot) = self.flows.slot_of(number) else { return };
        if let State::Tcp(ends) = &mut self.flows.get_mut(slot).state {
            ends.0.keep_samples();
            self.least_rtts.insert(number, None);
        }
    }

    /// The least round trip of a flow that is [watched](Self::watch_round_trips), `Some(None)` before its first one; none of one that is over.
    pub fn least_round_trip(&self, number: u32) -> Option<Option<Duration>> {
        self.least_rtts.get(&number).copied()
    }

    /// Sets the window of a TCP flow's sender from outside, as [`Sender::steer`] has it, or gives it back its own scheme; it sends at once what it
    /// then may. `false` where no such flow of TCP is in progress.
    pub fn steer(&mut self, at: SimTime, number: u32, steering: Option<Steering>, wire: &mut impl Wire) -> bool {
        let Some(slot) = self.flows.slot_of(number) else { return false };
        let State::Tcp(ends) = &mut self.flows.get_mut(slot).state else { return false };
        match steering {
            Some(steering) => ends.0.steer(at.on_perfect_clock(), steering),
            None => ends.0.unsteer(at.on_perfect_clock()),
        }
        self.pump(at, slot, wire);
        true
    }

    /// The first half of a split connection has `delivered` bytes in order.
    fn relay(&mut self, at: SimTime, slot: u32, delivered: u64, wire: &mut impl Wire) {
        let Some(&to) = self.relays.get(&slot) else { return };
        let flow = self.flows.get_mut(to);
        let State::Tcp(ends) = &mut flow.state else { unreachable!("the half of a TCP connection") };
        ends.0.limit_to(delivered);
        if delivered == flow.bytes {
            self.relays.remove(&slot);
        }
        self.pump(at, to, wire);
    }

    /// A flow begins of which `limit` bytes exist, and has this slot.
    fn begin(&mut self, now: SimTime, arrival: &FlowArrival, limit: u64, wire: &mut impl Wire) -> (u32, Then) {
        let number = self.arrived;
        self.arrived += 1;
        let (source, destination) = (arrival.source.0, arrival.destination.0);
        let (label, salt) = (u64::from(number), self.setting.salt);
        let hash = flow_hash(source, destination, label, salt);
        let bytes = arrival.bytes.get();
        let packet_seed = mix64(self.setting.packet_seed ^ label);
        let ahead = |from, to, hash| {
            if self.setting.per_packet || self.setting.routes_change {
                UNKNOWN
            } else {
                ahead(&self.fabric, HostId(from), HostId(to), hash)
            }
        };
        let state = match &self.setting.carrier {
            Carrier::Datagrams => State::Datagrams { unsent: bytes, cut: self.cut(packet_seed), fragment: 0 },
            Carrier::Raw { config, .. } => {
                State::Raw(Box::new((RawSender::new(config, bytes), RawReceiver::new(config, bytes))))
            }
            Carrier::Tcp(config) => {
                let hash = flow_hash(destination, source, label, salt);
                let back = Back { hash, ahead: ahead(destination, source, hash) };
                State::Tcp(Box::new((Sender::new(config, bytes), Receiver::new(config, bytes), back)))
            }
        };
        let ahead = ahead(source, destination, hash);
        let ideal = self.ideal(source, destination, hash, bytes, packet_seed);
        let flow = Flow {
            number,
            source,
            destination,
            coflow: arrival.coflow.map_or(NONE, |c| c.0),
            hash,
            ahead,
            in_flight: 0,
            sent: 0,
            bytes,
            received: 0,
            start: now.as_ps(),
            last: now.as_ps(),
            ideal: ideal.as_ps(),
            armed: UNARMED,
            queued: false,
            class: self.class(arrival.bytes),
            measured: self.setting.measured.contains(&now),
            state,
        };
        self.ledger.arrived(&flow);
        let slot = self.flows.insert(flow);
        if let State::Tcp(ends) = &mut self.flows.get_mut(slot).state {
            if self.ledger.rtts.is_some() || self.longest_rtts.is_some() {
                ends.0.keep_samples();
            }
            ends.0.limit_to(limit);
            ends.0.start(now.on_perfect_clock());
            self.pump(now, slot, wire);
            (slot, Then::Nothing)
        } else {
            (slot, Then::Queue { host: source, destination, slot })
        }
    }

    fn sizer(&self, seed: u64) -> PacketSizer {
        PacketSizer::new(&self.setting.packets, Bytes::new(u64::from(self.setting.mtu)), DATAGRAM_HEADER, seed)
    }

    /// Whether the packets of a flow are all alike, but for the last.
    fn is_even(&self) -> bool {
        matches!(self.setting.packets, PacketMix::Mtu | PacketMix::Fixed(_) | PacketMix::Single)
    }

    fn cut(&self, seed: u64) -> Cut {
        let mut sizer = self.sizer(seed);
        if self.is_even() { Cut::Even(sizer.next(u64::MAX)) } else { Cut::Random(Box::new(sizer)) }
    }

    /// The flow's completion time in an empty network.
    fn ideal(&mut self, source: u32, destination: u32, hash: u32, bytes: u64, packet_seed: u64) -> Duration {
        let mut sizer = self.sizer(packet_seed);
        let path = &mut self.path;
        path.find(&self.ideals, HostId(source), HostId(destination), hash);
        let header = self.setting.carrier.header();
        let random = matches!(self.setting.carrier, Carrier::Datagrams) && self.setting.packets != PacketMix::Mtu;
        if random {
            let mut left = bytes;
            return path.completion(std::iter::from_fn(|| {
                (left > 0).then(|| {
                    let payload = sizer.next(left);
                    left -= u64::from(payload);
                    (payload + header, 1)
                })
            }));
        }
        let most = u64::from(self.setting.mtu - header);
        let rest = bytes % most;
        let runs = [(self.setting.mtu, bytes / most), (rest as u32 + header, u64::from(rest > 0))];
        path.completion(runs)
    }

    /// The next packet of a flow that holds bytes, of at most `largest` bytes (its framing not included); `at` is when it
    /// begins to leave. `None` where it holds none, or where the next one is larger and cannot be cut.
    pub fn next_packet(&mut self, at: SimTime, slot: u32, largest: u32) -> Option<Packet> {
        self.take_packet(at, slot, largest).map(|p| p.0)
    }

    /// The same, and whether the flow now holds no more.
    #[inline(always)]
    pub(crate) fn take_packet(&mut self, at: SimTime, slot: u32, largest: u32) -> Option<(Packet, bool)> {
        let setting = &self.setting;
        let flow = self.flows.get_mut(slot);
        let (seq, bytes, flags, last) = match &mut flow.state {
            State::Datagrams { unsent, cut, fragment } => {
                if *unsent == 0 {
                    return None;
                }
                let fits = |payload: u32| payload.saturating_add(DATAGRAM_HEADER) <= largest;
                let payload = match cut {
                    Cut::Even(each) if *fragment == 0 => {
                        let payload = u64::from(*each).min(*unsent) as u32;
                        if fits(payload) { payload } else { part(payload, largest, setting.fragments, fragment)? }
                    }
                    Cut::Random(sizer) if *fragment == 0 => {
                        // A sizer's state moves with each draw: ask a copy first.
                        let mut drawn = **sizer;
                        let payload = drawn.next(*unsent);
                        let payload =
                            if fits(payload) { payload } else { part(payload, largest, setting.fragments, fragment)? };
                        **sizer = drawn;
                        payload
                    }
                    _ if fits(*fragment) => std::mem::take(fragment),
                    _ => part(*fragment, largest, setting.fragments, fragment)?,
                };
                let seq = flow.bytes - *unsent;
                *unsent -= u64::from(payload);
                (seq, payload + DATAGRAM_HEADER, 0, *unsent == 0)
            }
            State::Raw(ends) => {
                let Carrier::Raw { header, .. } = setting.carrier else { unreachable!("a raw flow is carried raw") };
                let most = largest.min(setting.mtu).checked_sub(header)?;
                let frame = ends.0.next_frame(at.on_perfect_clock(), most)?;
                let again = if frame.retransmission { flags::RETRANSMISSION } else { 0 };
                (frame.offset, frame.len + header, again, ends.0.backlog() == 0)
            }
            State::Tcp(_) => unreachable!("TCP hands its segments over by itself"),
        };
        flow.in_flight += 1;
        flow.sent += 1;
        let hash = path_hash(flow.hash, flow.sent, setting.per_packet);
        let packet = Packet {
            flow: slot,
            destination: flow.destination,
            hash,
            bytes,
            seq,
            sack: NO_SACK,
            path: 0,
            flags: flags | u16::from(flow.class) << flags::CLASS_SHIFT,
            ahead: flow.ahead,
        };
        self.ledger.sent(bytes);
        Some((packet, last))
    }

    /// Whether a packet that does not fit is cut to what does.
    pub(crate) fn cuts(&self) -> bool {
        !matches!(self.setting.carrier, Carrier::Datagrams) || self.setting.fragments
    }

    /// The next packet of a flow that holds bytes, and how many come next that are like it, without the flow's last one. `None` where that depends on
    /// what happens meanwhile.
    pub(crate) fn alike(&self, slot: u32) -> Option<(Packet, u64)> {
        let setting = &self.setting;
        let flow = self.flows.get(slot);
        let (seq, payload, count) = match &flow.state {
            State::Datagrams { unsent, cut: Cut::Even(each), fragment: 0 } => {
                (flow.bytes - unsent, *each, unsent.saturating_sub(1) / u64::from(*each))
            }
            // The receiver has all that was sent.
            State::Raw(ends) if flow.in_flight == 0 && ends.1.is_next(ends.0.next_offset()) => {
                let payload = setting.mtu.checked_sub(setting.carrier.header())?;
                (ends.0.next_offset(), payload, ends.0.frames_alike(payload))
            }
            _ => return None,
        };
        if setting.per_packet {
            return None;
        }
        let packet = Packet {
            flow: slot,
            destination: flow.destination,
            hash: flow.hash,
            bytes: payload + setting.carrier.header(),
            seq,
            sack: NO_SACK,
            path: 0,
            flags: u16::from(flow.class) << flags::CLASS_SHIFT,
            ahead: flow.ahead,
        };
        Some((packet, count))
    }

    /// Packets [alike](Self::alike) leave, and arrive: the first one at `first`, each further one after another `line`.
    pub(crate) fn carry_alike(&mut self, slot: u32, first: SimTime, line: Duration, count: u64, packet: &Packet) {
        let flow = self.flows.get_mut(slot);
        let payload = packet.bytes - self.setting.carrier.header();
        let bytes = count * u64::from(payload);
        match &mut flow.state {
            State::Datagrams { unsent, .. } => *unsent -= bytes,
            State::Raw(ends) => {
                let offset = ends.0.next_frames(payload, count);
                ends.1.on_frames(offset, bytes);
            }
            State::Tcp(_) => unreachable!("TCP hands its segments over by itself"),
        }
        flow.sent += count as u32;
        flow.received += bytes;
        let at = |i: u64| first + line * i as i64;
        flow.last = flow.last.max(at(count - 1).as_ps());
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

    /// Packets, and their wire bytes on `link`, that a flow still holds, as if cut by the MTU.
    pub fn unsent(&self, slot: u32, link: &LinkState) -> (u64, u64) {
        let header = self.setting.carrier.header();
        let most = u64::from(self.setting.mtu - header);
        let unsent = self.flows.get(slot).unsent();
        let rest = (unsent % most) as u32;
        let tail = if rest > 0 { u64::from(link.wire(rest + header)) } else { 0 };
        (unsent.div_ceil(most), unsent / most * u64::from(link.wire(self.setting.mtu)) + tail)
    }

    /// The same as [`unsent`](Self::unsent), as the packets will be cut.
    pub fn unsent_exact(&self, slot: u32, link: &LinkState) -> (u64, u64) {
        let State::Datagrams { unsent, cut, fragment } = &self.flows.get(slot).state else {
            return self.unsent(slot, link);
        };
        let (mut left, mut packets, mut bytes) = (*unsent, 0, 0);
        let mut add = |payload: u32, count: u64| {
            packets += count;
            bytes += count * u64::from(link.wire(payload + DATAGRAM_HEADER));
            left -= count * u64::from(payload);
            left
        };
        let mut rest = if *fragment > 0 { add(*fragment, 1) } else { *unsent };
        match cut {
            Cut::Even(each) => {
                rest = add(*each, rest / u64::from(*each));
                add(rest as u32, u64::from(rest > 0));
            }
            Cut::Random(sizer) => {
                let mut sizer = **sizer;
                while rest > 0 {
                    rest = add(sizer.next(rest), 1);
                }
            }
        }
        (packets, bytes)
    }

    /// After a raw sender's queue ran empty its timer may run: the engine calls this where it took the last packet.
    #[inline]
    pub fn sent_all(&mut self, slot: u32, wire: &mut impl Wire) {
        self.rearm(slot, wire);
    }

    /// A packet arrives at its destination, its last bit at `at`.
    #[inline(always)]
    pub fn receive(&mut self, at: SimTime, packet: Packet, wire: &mut impl Wire) -> Then {
        self.ledger.delivered(packet.bytes);
        let flow = self.flows.get_mut(packet.flow);
        flow.in_flight -= 1;
        if let Some(log) = &mut self.log {
            log.push(PacketEvent {
                at,
                flow: flow.number,
                seq: packet.seq,
                bytes: packet.bytes,
                flags: packet.flags,
                lost: false,
            });
        }
        match &mut flow.state {
            State::Datagrams { unsent, .. } => {
                let payload = u64::from(packet.bytes - DATAGRAM_HEADER);
                flow.received += payload;
                flow.last = flow.last.max(at.as_ps());
                self.ledger.received(at, packet.destination, payload);
                let over = flow.in_flight == 0 && *unsent == 0 && !flow.queued;
                if self.tells == Tells::Received {
                    self.told_received(packet.flow);
                }
                if over {
                    self.finish(packet.flow);
                }
            }
            State::Raw(_) => self.frame(at, &packet, wire),
            State::Tcp(_) => self.segment(at, packet, wire),
        }
        Then::Nothing
    }

    /// New bytes of a flow have come: whoever waits for it hears when they were the last.
    fn told_received(&mut self, slot: u32) {
        let flow = self.flows.get(slot);
        if self.tells == Tells::Received && flow.received == flow.bytes {
            self.over.push(Over { flow: flow.number, host: flow.source, at: SimTime::from_ps(flow.last) });
        }
    }

    #[inline(never)]
    fn frame(&mut self, at: SimTime, packet: &Packet, wire: &mut impl Wire) {
        let slot = packet.flow;
        let payload = packet.bytes - self.setting.carrier.header();
        let flow = self.flows.get_mut(slot);
        let State::Raw(ends) = &mut flow.state else { unreachable!("a raw flow") };
        let new = ends.1.on_frame(at.on_perfect_clock(), packet.seq, payload);
        if new > 0 {
            flow.received += new;
            flow.last = flow.last.max(at.as_ps());
            self.ledger.received(at, packet.destination, new);
            self.told_received(slot);
        }
        self.raw_reports(at, slot, wire);
        self.settle(slot);
    }

    #[inline(never)]
    fn segment(&mut self, at: SimTime, packet: Packet, wire: &mut impl Wire) {
        let now = at.on_perfect_clock();
        let slot = packet.flow;
        let flow = self.flows.get_mut(slot);
        let State::Tcp(ends) = &mut flow.state else { unreachable!("a TCP flow") };
        if packet.flags & flags::ACK != 0 {
            let sacks = if packet.sack == NO_SACK {
                SackBlocks::NONE
            } else {
                self.free_sacks.push(packet.sack);
                self.sacks[packet.sack as usize]
            };
            let ack = Ack {
                ack: packet.seq,
                sacks,
                ece: packet.flags & flags::ECE != 0,
                syn: packet.flags & flags::SYN != 0,
            };
            ends.0.on_ack(now, &ack);
            let is_first_half = self.relays.contains_key(&slot);
            for rtt in ends.0.take_samples() {
                if !is_first_half {
                    self.ledger.round_trip(at, rtt);
                }
                if let Some(least) = self.least_rtts.get_mut(&flow.number) {
                    *least = Some(least.map_or(rtt, |least| rtt.min(least)));
                }
                if let Some(longest) = &mut self.longest_rtts {
                    let longest = longest.entry(flow.number).or_default();
                    *longest = rtt.max(*longest);
                }
            }
            if ends.0.is_done() {
                self.settle(slot);
            } else {
                self.pump(at, slot, wire);
            }
        } else {
            let arrival = Arrival {
                seq: packet.seq,
                len: packet.bytes - HEADER_BYTES,
                syn: packet.flags & flags::SYN != 0,
                cwr: packet.flags & flags::CWR != 0,
                ce: packet.flags & flags::CE != 0,
            };
            let before = flow.received;
            let ack = ends.1.on_segment(now, &arrival);
            flow.received = ends.1.delivered_unique();
            let delivered = ends.1.received();
            if flow.received > before {
                flow.last = at.as_ps();
                // What a split connection's first half delivers is still under way.
                if !self.relays.contains_key(&slot) {
                    self.ledger.received(at, packet.destination, flow.received - before);
                }
                self.told_received(slot);
            }
            match ack {
                Some(ack) => self.acknowledge(at, slot, &ack, wire),
                None => self.rearm(slot, wire),
            }
            if !self.relays.is_empty() {
                self.relay(at, slot, delivered, wire);
            }
            self.settle(slot);
        }
    }

    /// Sends what the sender may send now.
    fn pump(&mut self, at: SimTime, slot: u32, wire: &mut impl Wire) {
        let per_packet = self.setting.per_packet;
        let flow = self.flows.get_mut(slot);
        let State::Tcp(ends) = &mut flow.state else { unreachable!("a TCP flow") };
        while let Some(segment) = ends.0.poll(at.on_perfect_clock()) {
            let bit = |set: bool, bit: u16| if set { bit } else { 0 };
            flow.in_flight += 1;
            flow.sent += 1;
            let packet = Packet {
                flow: slot,
                destination: flow.destination,
                hash: path_hash(flow.hash, flow.sent, per_packet),
                bytes: segment.len + HEADER_BYTES,
                seq: segment.seq,
                sack: NO_SACK,
                path: 0,
                flags: u16::from(flow.class) << flags::CLASS_SHIFT
                    | bit(segment.syn, flags::SYN)
                    | bit(segment.cwr, flags::CWR)
                    | bit(segment.ect, flags::ECT)
                    | bit(segment.retransmission, flags::RETRANSMISSION),
                ahead: flow.ahead,
            };
            self.ledger.sent(packet.bytes);
            wire.transmit(at, flow.source, packet);
        }
        self.rearm(slot, wire);
    }

    fn acknowledge(&mut self, at: SimTime, slot: u32, ack: &Ack, wire: &mut impl Wire) {
        let per_packet = self.setting.per_packet;
        let sack = if ack.sacks.is_empty() {
            NO_SACK
        } else if let Some(free) = self.free_sacks.pop() {
            self.sacks[free as usize] = ack.sacks;
            free
        } else {
            self.sacks.push(ack.sacks);
            (self.sacks.len() - 1) as u32
        };
        let apart = self.setting.acknowledgements;
        let flow = self.flows.get_mut(slot);
        flow.in_flight += 1;
        flow.sent += 1;
        let State::Tcp(tcp) = &flow.state else { unreachable!("a TCP flow") };
        let class = apart.unwrap_or(flow.class);
        let back = tcp.2;
        let packet = Packet {
            flow: slot,
            destination: flow.source,
            hash: path_hash(back.hash, flow.sent, per_packet),
            bytes: ack.wire_bytes(),
            seq: ack.ack,
            sack,
            path: 0,
            flags: u16::from(class) << flags::CLASS_SHIFT
                | flags::ACK
                | if ack.ece { flags::ECE } else { 0 }
                | if ack.syn { flags::SYN } else { 0 },
            ahead: back.ahead,
        };
        self.ledger.sent(packet.bytes);
        let host = flow.destination;
        self.rearm(slot, wire);
        wire.transmit(at, host, packet);
    }

    /// A packet is lost. Its flow learns of it as it would in the world: not at all.
    pub fn lost(&mut self, packet: Packet) {
        if packet.sack != NO_SACK {
            self.free_sacks.push(packet.sack);
        }
        let flow = self.flows.get_mut(packet.flow);
        flow.in_flight -= 1;
        if let Some(log) = &mut self.log {
            let Packet { seq, bytes, flags, .. } = packet;
            log.push(PacketEvent { at: SimTime::ZERO, flow: flow.number, seq, bytes, flags, lost: true });
        }
        self.settle(packet.flow);
    }

    /// A receiver's report has come to the sender.
    pub fn report(&mut self, at: SimTime, number: u32, slot: u32, report: &Report, wire: &mut impl Wire) -> Then {
        let Some(flow) = self.flows.find(slot, number) else { return Then::Nothing };
        flow.in_flight -= 1;
        let State::Raw(ends) = &mut flow.state else { unreachable!("only raw flows report") };
        ends.0.on_report(at.on_perfect_clock(), report);
        let (host, destination) = (flow.source, flow.destination);
        let then = if ends.0.backlog() > 0 {
            Then::Queue { host, destination, slot }
        } else if flow.queued {
            Then::Withdraw { host, destination, slot }
        } else {
            Then::Nothing
        };
        self.rearm(slot, wire);
        self.settle(slot);
        then
    }

    /// A receiver's report has not come to the sender.
    pub fn report_lost(&mut self, number: u32, slot: u32) {
        if let Some(flow) = self.flows.find(slot, number) {
            flow.in_flight -= 1;
            self.settle(slot);
        }
    }

    /// A flow's timer fires. Stale ones are told by their time.
    pub fn timer(&mut self, at: SimTime, number: u32, slot: u32, wire: &mut impl Wire) -> Then {
        let Some(flow) = self.flows.find(slot, number) else { return Then::Nothing };
        if flow.armed != at.as_ps() {
            return Then::Nothing;
        }
        flow.armed = UNARMED;
        let now = at.on_perfect_clock();
        let due = |deadline: Option<Time>| deadline.is_some_and(|d| d <= now);
        match &mut flow.state {
            State::Datagrams { .. } => Then::Nothing,
            State::Raw(ends) => {
                let mut then = Then::Nothing;
                if due(ends.0.deadline()) {
                    ends.0.on_timeout(now);
                    if ends.0.backlog() > 0 {
                        then = Then::Queue { host: flow.source, destination: flow.destination, slot };
                    }
                }
                self.raw_reports(at, slot, wire);
                then
            }
            State::Tcp(ends) => {
                let expired = due(ends.0.deadline());
                if expired {
                    ends.0.on_timeout(now);
                }
                let ack = if due(ends.1.deadline()) { ends.1.on_timeout(now) } else { None };
                if expired {
                    self.pump(at, slot, wire);
                }
                match ack {
                    Some(ack) => self.acknowledge(at, slot, &ack, wire),
                    None => self.rearm(slot, wire),
                }
                Then::Nothing
            }
        }
    }

    fn raw_reports(&mut self, at: SimTime, slot: u32, wire: &mut impl Wire) {
        let flow = self.flows.get_mut(slot);
        let State::Raw(ends) = &mut flow.state else { unreachable!("a raw flow") };
        if let Some(report) = ends.1.report(at.on_perfect_clock()) {
            flow.in_flight += 1;
            wire.report(at, [flow.destination, flow.source], flow.number, slot, report);
        }
        self.rearm(slot, wire);
    }

    /// Keeps one timer pending, no later than the earliest deadline of either end.
    fn rearm(&mut self, slot: u32, wire: &mut impl Wire) {
        let flow = self.flows.get_mut(slot);
        let (a, b) = match &flow.state {
            State::Datagrams { .. } => (None, None),
            State::Raw(ends) => (ends.0.deadline(), ends.1.deadline()),
            State::Tcp(ends) => (ends.0.deadline(), ends.1.deadline()),
        };
        let at = a.unwrap_or(Time::MAX).min(b.unwrap_or(Time::MAX));
        if at.as_ps() < flow.armed {
            flow.armed = at.as_ps();
            wire.arm(SimTime::from_ps(at.as_ps()), flow.number, slot);
        }
    }

    /// A queue of the flow's host refers to it no longer.
    pub fn unqueued(&mut self, slot: u32) {
        self.flows.get_mut(slot).queued = false;
        self.settle(slot);
    }

    /// Ends a flow of which nothing is left.
    fn settle(&mut self, slot: u32) {
        let flow = self.flows.get_mut(slot);
        if flow.in_flight == 0 && !flow.queued && flow.is_over() {
            self.finish(slot);
        }
    }

    #[inline(never)]
    fn finish(&mut self, slot: u32) {
        let flow = self.flows.remove(slot);
        self.least_rtts.remove(&flow.number);
        if self.tells == Tells::SenderKnows {
            self.over.push(Over { flow: flow.number, host: flow.source, at: SimTime::from_ps(flow.last) });
        }
        self.ledger.ended(&flow, self.setting.stop);
    }

    /// The run is over: what is in progress is unfinished.
    pub fn close(&mut self) {
        for flow in self.flows.drain() {
            self.ledger.ended(&flow, self.setting.stop);
        }
    }
}

fn path_hash(hash: u32, sent: u32, per_packet: bool) -> u32 {
    if per_packet { (mix64(u64::from(hash) << 32 | u64::from(sent)) >> 32) as u32 } else { hash }
}

/// Flows that hold bytes at one host, with the time they came: first come, first served.
#[derive(Debug, Default)]
pub struct FlowQueue {
    waiting: VecDeque<(u32, SimTime)>,
}

impl FlowQueue {
    /// A flow holds bytes.
    pub fn push(&mut self, slot: u32, since: SimTime) {
        self.waiting.push_back((slot, since));
    }
    /// The flow that sends now, and when it came.
    pub fn front(&self) -> Option<(u32, SimTime)> {
        self.waiting.front().copied()
    }
    /// It holds no more.
    pub fn pop(&mut self) {
        self.waiting.pop_front();
    }
    /// Others come behind.
    pub fn append(&mut self, mut others: Self) {
        self.waiting.append(&mut others.waiting);
    }
    /// All flows that hold bytes.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.waiting.iter().map(|w| w.0)
    }
}

/// The part of a payload that fits, where it may be cut; the rest becomes the `fragment`.
fn part(payload: u32, largest: u32, may_be_cut: bool, fragment: &mut u32) -> Option<u32> {
    let fits = largest.checked_sub(DATAGRAM_HEADER).filter(|&fits| may_be_cut && fits > 0)?;
    *fragment = payload - fits;
    Some(fits)
}

/// A packet that arrived at its destination, or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketEvent {
    /// Its last bit's arrival; the run's begin where it was lost.
    pub at: SimTime,
    /// Number of its flow.
    pub flow: u32,
    /// First byte, or acknowledgement number.
    pub seq: u64,
    /// Size without framing.
    pub bytes: u32,
    /// What it was.
    pub flags: u16,
    /// Whether it was lost.
    pub lost: bool,
}
