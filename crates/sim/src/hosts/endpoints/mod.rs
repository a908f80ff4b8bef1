//! Both ends of every flow: hosts put its packets on the wire and process arrivals.
//!
//! The network is behind the [`Wire`] trait, so the engine and the tests' reference engine drive
//! the same code. [`sending`] works on the senders of flows, [`receiving`] on
//! their receivers.

mod ndp;
mod options;
mod queue;
mod receiving;
mod sending;

pub use ndp::SprayedPaths;
pub(crate) use ndp::{NACK, PULL};
pub use queue::FlowQueue;
pub use sending::HandedOver;

use crate::engine::time::SimTime;
use crate::hosts::endpoints::ndp::HostPulls;
pub(crate) use crate::hosts::endpoints::options::AckOptions;
use crate::hosts::endpoints::options::Options;
use crate::hosts::flow::{
    Flow, FlowKey, Flows, NONE, ReceiverEnd, ReceiverSide, ReceiverTransport, ReturnPath, Segmentation, SenderSide,
    SenderTransport, UNARMED,
};
use crate::network::packet::{Ahead, Packet, UNKNOWN, flags};
use crate::network::routes::ahead;
use crate::record::ledger::Ledger;
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{Backlog, Bytes, Duration, Fabric, HostId, Time, flow_hash, mix64};
use timeplane_scenario::{BulkSpec, PacketMix};
use timeplane_transport::ndp::{NDP_HEADER, NdpConfig, Spray};
use timeplane_transport::{RawConfig, RawReceiver, RawSender, Receiver, RepairReport, Sender, Steering, TcpConfig};
use timeplane_workload::{FlowArrival, IdealPath, PacketSizer};

/// Bytes of a datagram's headers: IPv4 (20) and UDP (8).
pub const DATAGRAM_HEADER: u32 = 28;

/// The transport of all flows, resolved for the fabric.
#[derive(Clone, Copy, Debug)]
pub enum Transport {
    /// Open-loop datagrams.
    Datagrams,
    /// Raw frames with repair.
    Raw {
        /// Bytes of each frame's payload that name its flow and offset.
        header: u32,
        /// Timers of the repair.
        config: RawConfig,
    },
    /// A congestion-controlled byte stream.
    Tcp(TcpConfig),
    /// NDP: receivers pull packets.
    Ndp {
        /// Packets, window and timeout.
        config: NdpConfig,
        /// Choice of the path of each packet.
        spray: Spray,
    },
}

impl Transport {
    /// Bytes of a packet that are not the application's.
    pub fn header(&self) -> u32 {
        match self {
            Self::Datagrams => DATAGRAM_HEADER,
            Self::Raw { header, .. } => *header,
            Self::Tcp(config) => config.header_bytes(),
            Self::Ndp { .. } => NDP_HEADER,
        }
    }
}

/// The timers of flows.
pub trait Timers {
    /// Asks for [`Endpoints::timer`] at `at`.
    fn arm(&mut self, at: SimTime, flow: u32, key: FlowKey);
}

/// How a host's interface takes the segments of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// As soon as flows may send them.
    AtOnce,
    /// It asks flows in turn.
    InTurn,
    /// It asks flows in turn, while their gates are open, and tells a plan what they could send.
    BehindGates,
}

/// A flow that asks for its turn at its host's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The sending host.
    pub host: u32,
    /// The receiving host.
    pub destination: u32,
    /// Its key at the endpoints.
    pub flow: FlowKey,
    /// Names the queue, with the destination.
    pub class: u8,
    /// The credit that it left with when it was there last.
    pub credit: Option<i64>,
}

impl Offer {
    fn of(key: FlowKey, flow: &Flow) -> Self {
        let SenderSide { source, class, .. } = flow.sender;
        let credit = flow.receiver.end.as_ref().and_then(|end| end.credit);
        Self { host: source, destination: flow.destination, flow: key, class, credit }
    }
}

/// What the ends ask of the network and the engine.
pub trait Wire: Timers {
    /// Hands a packet to a host's interface.
    fn transmit(&mut self, now: SimTime, host: u32, packet: Packet);
    /// How a host's interface takes segments now.
    fn service(&self, _host: u32) -> Service {
        Service::AtOnce
    }
    /// A flow has segments for an interface that serves flows in turn, and is not there.
    fn offer(&mut self, _now: SimTime, _offer: &Offer) {}
    /// A flow that waits behind a gate of this host may have more segments.
    fn grow(&mut self, _now: SimTime, _host: u32) {}
    /// A flow that waits behind a gate has no segments any more. Returns its credit.
    fn retract(&mut self, _now: SimTime, _offer: &Offer) -> Option<i64> {
        None
    }
    /// Carries a receiver's report to the sender, alongside the network: from the one host to the
    /// other.
    fn report(&mut self, now: SimTime, hosts: [u32; 2], flow: u32, key: FlowKey, report: RepairReport);
}

/// What a host has to do for a flow that starts or has something to repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAction {
    /// The transport acts by itself.
    Nothing,
    /// Ask the flow for its bytes, packet by packet.
    Queue {
        /// The sending host.
        host: u32,
        /// The receiving host.
        destination: u32,
        /// The flow.
        key: FlowKey,
    },
    /// Stop asking the flow: it has nothing left to send, and a queue still refers to it.
    Withdraw {
        /// The sending host.
        host: u32,
        /// The receiving host.
        destination: u32,
        /// The flow.
        key: FlowKey,
    },
}

/// The traffic class of flows that wait for no slot.
pub const BACKGROUND: u8 = u8::MAX;

/// What all ends have in common.
#[derive(Clone, Debug)]
pub struct Config {
    /// The transport of all flows.
    pub transport: Transport,
    /// Sizes of datagrams.
    pub packets: PacketMix,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// Salt of the ECMP hash.
    pub salt: u64,
    /// Whether each packet takes a path of its own.
    pub per_packet: bool,
    /// Whether routes may change while a flow lasts; switches then look up each packet.
    pub routes_change: bool,
    /// Seed of the packet sizes.
    pub packet_seed: u64,
    /// Whether a datagram may be fragmented if only a part of it fits.
    pub fragments: bool,
    /// The class of TCP's acknowledgements; that of their flow where `None`.
    pub acknowledgements: Option<u8>,
    /// Flows of at most this size have the class [`BACKGROUND`].
    pub background: Option<Bytes>,
    /// Largest flows of the classes 0, 1, ...; larger ones have the class after the last.
    pub classes: Vec<Bytes>,
    /// Flows that wait for grants of their racks, whatever the transport of others.
    pub granted: Option<GrantedFlows>,
    /// The measurement.
    pub measured: core::ops::Range<SimTime>,
    /// When the run ends at the latest.
    pub stop: SimTime,
}

/// Flows from rack to rack that are datagrams and wait for grants.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantedFlows {
    /// Flows of this bulk; all flows if there is none.
    pub bulk: Option<BulkSpec>,
    /// Hosts in each rack.
    pub per_rack: u32,
}

impl GrantedFlows {
    /// Whether a flow is one of them.
    pub fn has(&self, source: u32, destination: u32, bytes: u64) -> bool {
        self.bulk.as_ref().is_none_or(|bulk| bulk.has(bytes, 0))
            && source / self.per_rack != destination / self.per_rack
    }
}

/// When the engine hears that a flow is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifyWhen {
    /// No flow waits for another one.
    Never,
    /// When the sender knows that all bytes have arrived, and nothing of the flow is under way.
    SenderKnows,
    /// When the receiver has all bytes.
    Received,
}

/// A flow that the engine learns of, as flows wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedFlow {
    /// Its number.
    pub flow: u32,
    /// Its sender.
    pub host: u32,
    /// When its last byte arrived, which may be later than now.
    pub at: SimTime,
}

/// Both ends of every flow.
pub struct Endpoints {
    fabric: Arc<Fabric>,
    config: Config,
    /// Flows in progress.
    pub flows: Flows,
    /// Options of acknowledgements under way.
    options: Options,
    /// By host, the pulls that it owes; empty without NDP.
    pulls: Vec<HostPulls>,
    /// The second half of each split connection by its first half, until the first half has
    /// arrived.
    relays: BTreeMap<FlowKey, FlowKey>,
    arrived: u32,
    /// The fabric of ideal completion times.
    ideals: Arc<Fabric>,
    /// The path of the flow that started last.
    path: IdealPath,
    /// Counts and tables.
    pub ledger: Ledger,
    /// Flows that finished since the engine looked, as [`notify`](Self::notify) asks.
    pub finished: Vec<FinishedFlow>,
    /// Which finished flows the engine learns of.
    pub notify: NotifyWhen,
    /// Longest round-trip times since the last sample, by flow, where TCP is sampled.
    pub longest_rtts: Option<BTreeMap<u32, Duration>>,
    /// Shortest round-trip times of flows whose senders are steered, by flow.
    least_rtts: BTreeMap<u32, Option<Duration>>,
    /// The fate of every packet, where a test asks for it.
    pub log: Option<Vec<PacketEvent>>,
}

impl Endpoints {
    /// Ends without flows.
    pub fn new(fabric: Arc<Fabric>, config: Config, ledger: Ledger) -> Self {
        Self {
            ideals: Arc::clone(&fabric),
            pulls: HostPulls::of_hosts(&fabric, &config),
            fabric,
            config,
            flows: Flows::default(),
            options: Options::default(),
            relays: BTreeMap::new(),
            arrived: 0,
            path: IdealPath::default(),
            ledger,
            finished: Vec::new(),
            notify: NotifyWhen::Never,
            longest_rtts: None,
            least_rtts: BTreeMap::new(),
            log: None,
        }
    }

    /// Takes ideal completion times from another fabric with the same hosts. Packets keep their
    /// sizes.
    pub fn ideals_of(&mut self, fabric: Arc<Fabric>) {
        self.ideals = fabric;
    }

    /// What all ends have in common.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether arrivals at a host never make it send or wait at that instant. A last hop then needs
    /// no event.
    pub fn is_passive(&self) -> bool {
        !matches!(self.config.transport, Transport::Tcp(_) | Transport::Ndp { .. })
    }

    /// The class of a flow of this size.
    fn class(&self, bytes: Bytes) -> u8 {
        if self.config.background.is_some_and(|below| bytes <= below) {
            return BACKGROUND;
        }
        self.config.classes.partition_point(|most| *most < bytes) as u8
    }

    /// The options of a packet, none if it is data.
    pub(crate) fn options(&self, packet: &Packet) -> AckOptions {
        if packet.flags & flags::ACK == 0 { AckOptions::default() } else { self.options.get(packet.options) }
    }

    /// The host that sent a packet.
    pub fn sender(&self, packet: &Packet) -> u32 {
        let flow = self.flows.get(packet.flow);
        if packet.destination == flow.destination { flow.sender.source } else { flow.destination }
    }

    /// What the sockets of a host hold: bytes that are not acknowledged, or not sent where nothing
    /// acknowledges.
    pub fn demand(&self, host: u32) -> Backlog {
        Backlog::of_bytes(self.flows.iter().filter(|(_, f)| f.sender.source == host).map(|(_, flow)| {
            let left = match &flow.sender.transport {
                SenderTransport::Datagrams { unsent, .. } => *unsent,
                SenderTransport::Raw(_) => flow.bytes - flow.receiver.received,
                SenderTransport::Tcp(sender) => flow.bytes - sender.acknowledged(),
                SenderTransport::Ndp(sender, _) => flow.bytes - sender.acknowledged(),
            };
            (HostId(flow.destination), Bytes::new(left))
        }))
    }

    /// The number of flows that have started, which is the number of the next one.
    pub fn started(&self) -> u32 {
        self.arrived
    }

    /// A flow starts.
    pub fn start(&mut self, now: SimTime, arrival: &FlowArrival, wire: &mut impl Wire) -> HostAction {
        self.begin(now, arrival, u64::MAX, wire).1
    }

    /// A split connection starts: two TCP flows, of which the second sends what the first has
    /// delivered in order. Both start now and appear in all tables. The completion time of the
    /// second is that of both.
    ///
    /// # Panics
    /// Unless the transport is TCP, and the second flow starts where the first one ends and is as
    /// long.
    pub fn start_split(&mut self, now: SimTime, first: &FlowArrival, second: &FlowArrival, wire: &mut impl Wire) {
        assert!(matches!(self.config.transport, Transport::Tcp(_)), "only TCP is split");
        assert!(first.destination == second.source && first.bytes == second.bytes, "not the halves of a connection");
        let to = self.begin(now, second, 0, wire).0;
        // Before the first byte can arrive.
        let from = self.begin(now, first, u64::MAX, wire).0;
        self.flows.get_mut(from).sender.measured = false;
        self.relays.insert(from, to);
    }

    /// Keeps the shortest round trip of a TCP flow from now on.
    pub fn watch_round_trips(&mut self, number: u32) {
        let Some(key) = self.flows.key_of(number) else { return };
        if let SenderTransport::Tcp(sender) = &mut self.flows.get_mut(key).sender.transport {
            sender.keep_samples();
            self.least_rtts.insert(number, None);
        }
    }

    /// The shortest round trip of a flow that is [watched](Self::watch_round_trips), `Some(None)`
    /// before its first one. `None` once the flow is over.
    pub fn least_round_trip(&self, number: u32) -> Option<Option<Duration>> {
        self.least_rtts.get(&number).copied()
    }

    /// Sets the congestion window of a TCP sender from outside, as [`Sender::steer`] does, or
    /// returns it to its own congestion control. It sends at once what the window then allows.
    /// Returns `false` if no such TCP flow is in progress.
    pub fn steer(&mut self, at: SimTime, number: u32, steering: Option<Steering>, wire: &mut impl Wire) -> bool {
        let Some(key) = self.flows.key_of(number) else { return false };
        let SenderTransport::Tcp(sender) = &mut self.flows.get_mut(key).sender.transport else { return false };
        match steering {
            Some(steering) => sender.steer(at.on_perfect_clock(), steering),
            None => sender.unsteer(at.on_perfect_clock()),
        }
        self.pump(at, key, wire);
        true
    }

    /// A flow starts of which `limit` bytes exist.
    fn begin(
        &mut self,
        now: SimTime,
        arrival: &FlowArrival,
        limit: u64,
        wire: &mut impl Wire,
    ) -> (FlowKey, HostAction) {
        let number = self.arrived;
        self.arrived += 1;
        let (source, destination) = (arrival.source.0, arrival.destination.0);
        let hash = flow_hash(source, destination, u64::from(number), self.config.salt);
        let bytes = arrival.bytes.get();
        let (sender, receiver) = self.transports(number, arrival);
        let end = receiver
            .map(|transport| Box::new(ReceiverEnd { transport, armed: UNARMED, credit: None, acknowledged: None }));
        let ahead = self.ahead(source, destination, hash);
        let ideal = self.ideal(source, destination, hash, number, bytes);
        let class = self.class(arrival.bytes);
        let flow = Flow {
            receiver: ReceiverSide { end, received: 0, last: now.as_ps() },
            bytes,
            start: now.as_ps(),
            ideal: ideal.as_ps(),
            in_flight: 0,
            sent: 0,
            number,
            destination,
            sender: SenderSide {
                transport: sender,
                ahead,
                hash,
                source,
                class,
                queued: false,
                measured: self.config.measured.contains(&now),
                coflow: arrival.coflow.map_or(NONE, |c| c.0),
            },
        };
        self.ledger.arrived(&flow);
        let key = self.flows.insert(flow);
        let transport = &mut self.flows.get_mut(key).sender.transport;
        if let SenderTransport::Tcp(sender) = transport {
            if self.ledger.records_round_trips() || self.longest_rtts.is_some() {
                sender.keep_samples();
            }
            sender.limit_to(limit);
            sender.start(now.on_perfect_clock());
            self.pump(now, key, wire);
            (key, HostAction::Nothing)
        } else if let SenderTransport::Ndp(..) = transport {
            self.pump_ndp(now, key, wire);
            (key, HostAction::Nothing)
        } else {
            (key, HostAction::Queue { host: source, destination, key })
        }
    }

    /// The links that packets of a flow take, where they never change.
    fn ahead(&self, from: u32, to: u32, hash: u32) -> Ahead {
        if self.config.per_packet || self.config.routes_change {
            UNKNOWN
        } else {
            ahead(&self.fabric, HostId(from), HostId(to), hash)
        }
    }

    /// Both ends of a flow's transport.
    fn transports(&self, number: u32, arrival: &FlowArrival) -> (SenderTransport, Option<ReceiverTransport>) {
        let bytes = arrival.bytes.get();
        if self.config.granted.as_ref().is_some_and(|g| g.has(arrival.source.0, arrival.destination.0, bytes)) {
            let segmentation = self.segmentation(self.packet_seed(number));
            return (SenderTransport::Datagrams { unsent: bytes, segmentation, fragment: 0 }, None);
        }
        match &self.config.transport {
            Transport::Datagrams => {
                let segmentation = self.segmentation(self.packet_seed(number));
                (SenderTransport::Datagrams { unsent: bytes, segmentation, fragment: 0 }, None)
            }
            Transport::Raw { config, .. } => {
                let receiver = ReceiverTransport::Raw(RawReceiver::new(config, bytes));
                (SenderTransport::Raw(Box::new(RawSender::new(config, bytes))), Some(receiver))
            }
            Transport::Tcp(config) => {
                let (source, destination) = (arrival.source.0, arrival.destination.0);
                let hash = flow_hash(destination, source, u64::from(number), self.config.salt);
                let path = ReturnPath { hash, ahead: self.ahead(destination, source, hash) };
                let receiver = ReceiverTransport::Tcp(Receiver::new(config, bytes), path);
                (SenderTransport::Tcp(Box::new(Sender::new(config, bytes))), Some(receiver))
            }
            Transport::Ndp { config, spray } => self.ndp_transports(config, *spray, number, arrival),
        }
    }

    fn sizer(&self, seed: u64) -> PacketSizer {
        PacketSizer::new(&self.config.packets, Bytes::new(u64::from(self.config.mtu)), DATAGRAM_HEADER, seed)
    }

    fn segmentation(&self, seed: u64) -> Segmentation {
        let mut sizer = self.sizer(seed);
        match self.config.packets {
            PacketMix::Mtu | PacketMix::Fixed(_) | PacketMix::Single => Segmentation::Even(sizer.next(u64::MAX)),
            _ => Segmentation::Random(Box::new(sizer)),
        }
    }

    /// The seed of a flow's packet sizes.
    fn packet_seed(&self, number: u32) -> u64 {
        mix64(self.config.packet_seed ^ u64::from(number))
    }

    /// The flow's completion time in an empty network.
    fn ideal(&mut self, source: u32, destination: u32, hash: u32, number: u32, bytes: u64) -> Duration {
        let mut sizer = self.sizer(self.packet_seed(number));
        let path = &mut self.path;
        path.find(&self.ideals, HostId(source), HostId(destination), hash);
        let header = self.config.transport.header();
        let random = matches!(self.config.transport, Transport::Datagrams) && self.config.packets != PacketMix::Mtu;
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
        let most = u64::from(self.config.mtu - header);
        let rest = bytes % most;
        let runs = [(self.config.mtu, bytes / most), (rest as u32 + header, u64::from(rest > 0))];
        path.completion(runs)
    }

    /// A packet is lost. Its flow hears nothing, as in a real network.
    pub fn lost(&mut self, packet: Packet) {
        if packet.flags & flags::ACK != 0 {
            self.options.take(packet.options);
        }
        let flow = self.flows.get_mut(packet.flow);
        flow.in_flight -= 1;
        if let Some(log) = &mut self.log {
            let Packet { seq, bytes, flags, .. } = packet;
            log.push(PacketEvent { at: SimTime::ZERO, flow: flow.number, seq, bytes, flags, lost: true });
        }
        self.settle(packet.flow);
    }

    /// The timer of a flow fires, or that of the pulls of host `key` if there is no `number`. A
    /// stale one is known by its time.
    pub fn timer(&mut self, at: SimTime, number: u32, key: FlowKey, wire: &mut impl Wire) -> HostAction {
        if number == NONE {
            return self.pull_timer(at, key, wire);
        }
        let Some(flow) = self.flows.find(key, number) else { return HostAction::Nothing };
        let Some(end) = flow.receiver.end.as_mut().filter(|end| end.armed == at.as_ps()) else {
            return HostAction::Nothing;
        };
        end.armed = UNARMED;
        let now = at.on_perfect_clock();
        let due = |deadline: Option<Time>| deadline.is_some_and(|d| d <= now);
        match (&mut flow.sender.transport, &mut end.transport) {
            (SenderTransport::Raw(sender), _) => {
                let mut action = HostAction::Nothing;
                if due(sender.deadline()) {
                    sender.on_timeout(now);
                    if sender.backlog() > 0 {
                        action = HostAction::Queue { host: flow.sender.source, destination: flow.destination, key };
                    }
                }
                self.raw_reports(at, key, wire);
                action
            }
            (SenderTransport::Tcp(sender), ReceiverTransport::Tcp(receiver, _)) => {
                let expired = due(sender.deadline());
                if expired {
                    sender.on_timeout(now);
                }
                let ack = if due(receiver.deadline()) { receiver.on_timeout(now) } else { None };
                if expired {
                    self.pump(at, key, wire);
                }
                self.rearm(key, wire);
                if let Some(ack) = ack {
                    self.acknowledge(at, key, &ack, wire);
                }
                HostAction::Nothing
            }
            (SenderTransport::Ndp(..), _) => {
                self.ndp_timer(at, key, wire);
                HostAction::Nothing
            }
            _ => HostAction::Nothing,
        }
    }

    /// Keeps one timer pending, no later than the earlier deadline of the two ends.
    fn rearm(&mut self, key: FlowKey, timers: &mut impl Timers) {
        let flow = self.flows.get_mut(key);
        let Some(end) = &mut flow.receiver.end else { return };
        let sender = match &flow.sender.transport {
            SenderTransport::Datagrams { .. } => None,
            SenderTransport::Raw(sender) => sender.deadline(),
            SenderTransport::Tcp(sender) => sender.deadline(),
            SenderTransport::Ndp(sender, _) => sender.deadline(),
        };
        let at = sender.unwrap_or(Time::MAX).min(end.deadline());
        end.arm(at, flow.number, key, timers);
    }

    /// The same where only the receiver's deadline may have changed. The sender's is pending
    /// already, and its record is far away in memory.
    fn rearm_receiver(&mut self, key: FlowKey, timers: &mut impl Timers) {
        let flow = self.flows.get_mut(key);
        let number = flow.number;
        if let Some(end) = &mut flow.receiver.end {
            end.arm(end.deadline(), number, key, timers);
        }
    }

    /// No queue of the flow's host refers to it any more.
    pub fn unqueued(&mut self, key: FlowKey) {
        self.flows.get_mut(key).sender.queued = false;
        self.settle(key);
    }

    /// Ends a flow of which nothing is left.
    fn settle(&mut self, key: FlowKey) {
        if self.flows.get_mut(key).is_over() {
            self.finish(key);
        }
    }

    #[inline(never)]
    fn finish(&mut self, key: FlowKey) {
        let flow = self.flows.remove(key);
        self.least_rtts.remove(&flow.number);
        if self.notify == NotifyWhen::SenderKnows {
            let at = SimTime::from_ps(flow.receiver.last);
            self.finished.push(FinishedFlow { flow: flow.number, host: flow.sender.source, at });
        }
        self.ledger.ended(&flow, self.config.stop);
    }

    /// The run is over: flows in progress stay unfinished.
    pub fn close(&mut self) {
        for flow in self.flows.drain() {
            self.ledger.ended(&flow, self.config.stop);
        }
    }
}

/// The ECMP hash of a packet: that of its flow, or one of its own.
fn path_hash(hash: u32, sent: u32, per_packet: bool) -> u32 {
    if per_packet { (mix64(u64::from(hash) << 32 | u64::from(sent)) >> 32) as u32 } else { hash }
}

/// A packet that arrived at its destination, or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketEvent {
    /// The arrival of its last bit; zero if it was lost.
    pub at: SimTime,
    /// Number of its flow.
    pub flow: u32,
    /// First byte, or acknowledgement number.
    pub seq: u64,
    /// Size without framing.
    pub bytes: u32,
    /// Bits from [`flags`](crate::network::packet::flags).
    pub flags: u16,
    /// Whether it was lost.
    pub lost: bool,
}
