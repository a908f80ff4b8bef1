//! Captures: the frames of a run as a tap on hosts, links and controllers would see them.
//!
//! A capture does not change a run. It notes a packet when it lands: when its first bit left, over
//! which link, and its fate. It thus shows what the run did, not what was planned. Packets of a
//! [train](crate::network::Network::allow_trains) would be invisible, so runs with a capture do not
//! use trains; results are the same.
//!
//! - A frame that a host or a link sends has the time of its first bit. A frame that a host
//!   receives has the time of its last bit.
//! - Messages of agents travel alongside the network, and have an interface of their own in the
//!   file.
//! - Files count nanoseconds. The comment of each frame has the picosecond, the flow, the slot and
//!   the round.

mod frames;
pub(crate) mod taps;

pub use frames::ports;

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{AckOptions, Transport};
use crate::hosts::flow::Flow;
use crate::hosts::nic::GateOpening;
use crate::network::packet::{Packet, flags};
use frames::{Captured, controller, host_agent, proxy, repair, switch_mac, whole};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt::Write;
use std::path::Path;
use timeplane_model::{Fabric, HostId, LinkId, Time};
use timeplane_protocol::wire::{Control, Endpoint, PfcFrame, Quanta, UdpFrame};
use timeplane_protocol::{Message, Steer};
use timeplane_results::ResultsError;
use timeplane_results::pcapng::{Direction, Frame, Interface, PcapngFile};
use timeplane_scenario::CapturePoint;
use timeplane_transport::RepairReport;

/// An interface of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: usize,
    interface: u32,
}

/// A gate that was opened.
#[derive(Clone, Copy, Debug)]
struct Gate {
    from: SimTime,
    until: SimTime,
    opened: Time,
    /// Round and slot of a TDMA plan.
    slot: Option<(u64, u32)>,
}

/// A frame that waits for earlier ones.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    at: SimTime,
    sequence: u64,
    place: Place,
    /// Whether it was received. `None` on a link, which has one direction.
    incoming: Option<bool>,
    length: u32,
    bytes: Vec<u8>,
    comment: String,
}

/// A packet to write.
pub(crate) struct Seen<'a> {
    pub packet: &'a Packet,
    /// Its number.
    pub id: u32,
    pub flow: &'a Flow,
    pub options: AckOptions,
    pub transport: &'a Transport,
    /// The link that it took, when its first bit left, and when its last bit arrived at the other
    /// end.
    pub link: u32,
    pub left: SimTime,
    pub landed: SimTime,
    /// The host that sends on the link, or `u32::MAX`.
    pub by_host: u32,
    /// The node at the end of the link.
    pub to: u32,
}

/// All captures of a run.
pub struct Capture {
    files: Vec<PcapngFile>,
    /// The places of frames that leave over a link.
    links: BTreeMap<u32, Vec<(Place, Option<bool>)>>,
    /// The place of frames that a host receives.
    hosts: BTreeMap<u32, Place>,
    /// The place of messages of a host or a controller, by node.
    agents: BTreeMap<u32, Place>,
    controllers_from: u32,
    /// Whether gates are in front of hosts' queues.
    gated: bool,
    /// Gates by host, destination and class, in the order of their openings.
    gates: BTreeMap<(u32, u32, u8), VecDeque<Gate>>,
    /// Round and number of slots by start, source and destination, while gates may open for them.
    slots: BTreeMap<(Time, u32, u32), (u64, u32)>,
    /// By packet number, the gate through which it left.
    through: Vec<Option<Gate>>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    sequence: u64,
}

impl Capture {
    /// Captures of these points, as files in a folder. `ends` gives the nodes at the ends of a
    /// link.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub(crate) fn create(
        folder: &Path,
        points: impl Iterator<Item = CapturePoint>,
        fabric: &Fabric,
        gated: bool,
        ends: impl Fn(u32) -> (u32, u32),
    ) -> Result<Self, ResultsError> {
        let mut capture = Self {
            files: Vec::new(),
            links: BTreeMap::new(),
            hosts: BTreeMap::new(),
            agents: BTreeMap::new(),
            controllers_from: fabric.hosts(),
            gated,
            gates: BTreeMap::new(),
            slots: BTreeMap::new(),
            through: Vec::new(),
            waiting: BinaryHeap::new(),
            sequence: 0,
        };
        let name = |node: u32| {
            if node < fabric.hosts() { format!("host {node}") } else { format!("switch {}", node - fabric.hosts()) }
        };
        for point in points {
            let number = capture.files.len();
            let mut file = PcapngFile::create(&folder.join(point.file_name()))?;
            let mut add = |name: &str, description: &str, bps| {
                let interface = file.interface(&Interface { name, description, bps })?;
                Ok::<_, ResultsError>(Place { file: number, interface })
            };
            match point {
                CapturePoint::Host(h) => {
                    let uplink = fabric.uplink(HostId(h));
                    let rate = fabric.link(uplink).spec.rate.as_bps();
                    let place = add(&format!("host{h}"), &format!("host {h}, packets"), Some(rate))?;
                    capture.links.entry(uplink.0).or_default().push((place, Some(false)));
                    capture.hosts.insert(h, place);
                    let about = format!("host {h}, messages of its agent, which travel beside the network");
                    capture.agents.insert(h, add(&format!("host{h}-agent"), &about, None)?);
                }
                CapturePoint::Link(l) => {
                    let (from, to) = ends(l);
                    let wire = (l as usize) < fabric.links().len();
                    let rate = wire.then(|| fabric.link(LinkId(l)).spec.rate.as_bps());
                    let about = format!("link {l}, from {} to {}", name(from), name(to));
                    capture.links.entry(l).or_default().push((add(&format!("link{l}"), &about, rate)?, None));
                }
                CapturePoint::Controller(m) => {
                    let about = format!("controller {m}, all its messages");
                    capture.agents.insert(fabric.hosts() + m, add(&format!("controller{m}"), &about, None)?);
                }
            }
            capture.files.push(file);
        }
        Ok(capture)
    }

    /// Links whose frames are all captured.
    pub(crate) fn links(&self) -> impl Iterator<Item = u32> + '_ {
        self.links.keys().copied()
    }

    /// A slot is planned.
    pub(crate) fn planned(&mut self, round: u64, index: u32, start: Time, pairs: &[(HostId, HostId)]) {
        for (source, destination) in pairs {
            self.slots.insert((start, source.0, destination.0), (round, index));
        }
    }

    /// No gate will open for a slot any more.
    pub(crate) fn is_over(&mut self, start: Time, pairs: &[(HostId, HostId)]) {
        for (source, destination) in pairs {
            self.slots.remove(&(start, source.0, destination.0));
        }
    }

    /// A gate of a host opens.
    pub(crate) fn opened(&mut self, host: u32, opening: &GateOpening) {
        let (destination, class) = opening.queue;
        let slot = self.slots.get(&(opening.opened, host, destination)).copied();
        let gate = Gate { from: opening.from, until: opening.until, opened: opening.opened, slot };
        self.gates.entry((host, destination, class)).or_default().push_back(gate);
    }

    /// A packet has landed, or was lost after it left the sending end of its link.
    pub(crate) fn landed(&mut self, seen: &Seen<'_>) {
        if seen.by_host != u32::MAX {
            let gate = self.gate(seen.by_host, seen.packet, seen.left);
            let at_least = seen.id as usize + 1;
            if self.through.len() < at_least {
                self.through.resize(at_least, None);
            }
            self.through[seen.id as usize] = gate;
        }
        let leaves = self.links.get(&seen.link).cloned().unwrap_or_default();
        let comes = self.hosts.get(&seen.to).copied().filter(|_| seen.packet.flags & flags::CORRUPT == 0);
        if leaves.is_empty() && comes.is_none() {
            return;
        }
        let gate = self.through.get(seen.id as usize).copied().flatten();
        let frame = || frames::frame(seen.packet, seen.flow, &seen.options, seen.transport, self.gated);
        let out: Vec<(Place, Option<bool>, SimTime, Captured)> = leaves
            .into_iter()
            .map(|(place, incoming)| (place, incoming, seen.left, frame()))
            .chain(comes.map(|place| (place, Some(true), seen.landed, frame())))
            .collect();
        for (place, incoming, at, frame) in out {
            let comment = about(seen, gate, at);
            self.add(place, incoming, at, frame, comment);
        }
    }

    /// The gate through which a packet of a host left at `at`. Forgets gates that ended before.
    /// Packets of a queue land in the order in which they leave.
    fn gate(&mut self, host: u32, packet: &Packet, at: SimTime) -> Option<Gate> {
        let gates = self.gates.get_mut(&(host, packet.destination, packet.class()))?;
        while gates.get(1).is_some_and(|second| second.from <= at) {
            gates.pop_front();
        }
        gates.front().copied().filter(|gate| gate.from <= at && at < gate.until)
    }

    /// An agent sends a message.
    pub(crate) fn said(&mut self, at: SimTime, from: u32, to: u32, message: &Message, lost: bool) {
        if let Some(place) = self.agents.get(&from).copied() {
            self.message(place, false, at, (from, to), message, if lost { ", lost" } else { "" });
        }
    }

    /// An agent receives a message.
    pub(crate) fn heard(&mut self, at: SimTime, from: u32, to: u32, message: &Message) {
        if let Some(place) = self.agents.get(&to).copied() {
            self.message(place, true, at, (from, to), message, "");
        }
    }

    fn message(&mut self, place: Place, incoming: bool, at: SimTime, nodes: (u32, u32), message: &Message, note: &str) {
        let (from, to) = (self.agent(nodes.0), self.agent(nodes.1));
        let about = format!("{}{note}, {} ps", what(message), at.as_ps());
        if let Message::Pfc(signal) = message {
            let frame = signal.encode(from.mac, to.mac).expect("a class of a controller has 11 bits");
            return self.add(place, Some(incoming), at, whole(frame.to_vec()), about);
        }
        self.datagrams(place, incoming, at, (from, to), &Control::Message(message.clone()), &about);
    }

    fn datagrams(
        &mut self,
        place: Place,
        incoming: bool,
        at: SimTime,
        (source, destination): (Endpoint, Endpoint),
        control: &Control,
        about: &str,
    ) {
        for payload in control.encode().expect("what agents say can be said in bytes") {
            let frame = UdpFrame { source, destination, payload }.encode().expect("a datagram of ours fits a frame");
            self.add(place, Some(incoming), at, whole(frame), about.to_owned());
        }
    }

    fn agent(&self, node: u32) -> Endpoint {
        match node.checked_sub(self.controllers_from) {
            None => host_agent(node),
            Some(number) => controller(number),
        }
    }

    /// A proxy sets the congestion window of a TCP sender.
    pub(crate) fn steered(&mut self, at: SimTime, host: u32, steer: &Steer) {
        if let Some(place) = self.agents.get(&host).copied() {
            let about = format!("flow {}: window {} B, {} ps", steer.flow.0, steer.window.get(), at.as_ps());
            self.datagrams(place, true, at, (proxy(), host_agent(host)), &Control::Steer(*steer), &about);
        }
    }

    /// A receiver of raw frames sends a repair report, or its sender receives it.
    pub(crate) fn repair(
        &mut self,
        at: SimTime,
        incoming: bool,
        [from, to]: [u32; 2],
        flow: u32,
        report: &RepairReport,
    ) {
        if let Some(place) = self.agents.get(if incoming { &to } else { &from }).copied() {
            let frame = repair(from, to, flow, report);
            let gaps = report.missing.len();
            let about = format!("flow {flow}: has {} B, {gaps} gaps, {} ps", report.contiguous, at.as_ps());
            self.add(place, Some(incoming), at, frame, about);
        }
    }

    /// A switch pauses priorities, one bit each, at the sender on the other direction of a link.
    /// `nodes` are the ends of the link that the frame takes.
    pub(crate) fn paused(&mut self, sent: SimTime, lands: SimTime, link: u32, nodes: (u32, u32), paused: u8) {
        let times = core::array::from_fn(|p| Some(if paused >> p & 1 == 1 { Quanta::MAX } else { Quanta::ZERO }));
        let source = switch_mac(nodes.0);
        let frame = || whole(PfcFrame::new(source, times).encode().to_vec());
        let about = |at: SimTime| format!("pauses priorities {paused:#010b}, {} ps", at.as_ps());
        for (place, incoming) in self.links.get(&link).cloned().unwrap_or_default() {
            self.add(place, incoming, sent, frame(), about(sent));
        }
        if let Some(place) = self.hosts.get(&nodes.1).copied() {
            self.add(place, Some(true), lands, frame(), about(lands));
        }
    }

    fn add(&mut self, place: Place, incoming: Option<bool>, at: SimTime, frame: Captured, comment: String) {
        self.sequence += 1;
        let Captured { bytes, length } = frame;
        self.waiting.push(Reverse(Waiting { at, sequence: self.sequence, place, incoming, length, bytes, comment }));
    }

    /// Writes all frames before `before`; no earlier frame can come.
    pub(crate) fn write(&mut self, before: SimTime) {
        while self.waiting.peek().is_some_and(|first| first.0.at < before) {
            let Some(Reverse(first)) = self.waiting.pop() else { return };
            self.files[first.place.file].frame(&Frame {
                interface: first.place.interface,
                at_ns: (first.at.as_ps().max(0) / 1000) as u64,
                bytes: &first.bytes,
                length: first.length,
                direction: first.incoming.map(|incoming| if incoming { Direction::In } else { Direction::Out }),
                comment: &first.comment,
            });
        }
    }

    /// Writes the rest.
    ///
    /// # Errors
    ///
    /// The first error of a file.
    pub(crate) fn finish(mut self) -> Result<(), ResultsError> {
        self.write(SimTime::MAX);
        self.files.into_iter().try_for_each(PcapngFile::finish)
    }
}

/// The comment of a packet: its flow, its content, its slot and the picosecond.
fn about(seen: &Seen<'_>, gate: Option<Gate>, at: SimTime) -> String {
    let Seen { packet, flow, transport, .. } = seen;
    let is = |bit: u16| packet.flags & bit != 0;
    let payload = u64::from(packet.bytes.saturating_sub(transport.header()));
    let mut text = format!("flow {}: ", flow.number);
    // Writing to a string never fails.
    let _ = match (is(flags::ACK), is(flags::SYN)) {
        (true, true) => write!(text, "accepts the connection"),
        (true, false) => write!(text, "acknowledges {} of {} B", packet.seq, flow.bytes),
        (false, true) => write!(text, "opens the connection"),
        (false, false) => write!(text, "bytes {} to {} of {} B", packet.seq, packet.seq + payload, flow.bytes),
    };
    if is(flags::RETRANSMISSION) {
        text += ", sent again";
    }
    let _ = match gate {
        Some(Gate { slot: Some((round, slot)), .. }) => write!(text, ", round {round} slot {slot}"),
        Some(Gate { opened, .. }) => write!(text, ", gate of {} ps", opened.as_ps()),
        None => Ok(()),
    };
    if is(flags::CORRUPT) {
        text += ", lost on arrival";
    }
    let _ = write!(text, ", {} ps", at.as_ps());
    text
}

/// The comment of a message.
fn what(message: &Message) -> String {
    match message {
        Message::Report(r) => {
            let bytes: u64 = r.backlog.entries().iter().map(|e| e.bytes.get()).sum();
            format!("report {}: {bytes} B wait", r.sequence)
        }
        Message::Grants(g) => format!("round {}: {} grants", g.round.0, g.grants.len()),
        Message::Rates(r) => format!("round {}: {} rates", r.round.0, r.rates.len()),
        Message::Pfc(p) => match p.open {
            Some(class) => format!("signal {}: class {class} may send", p.sequence),
            None => format!("signal {}: nobody may send", p.sequence),
        },
        Message::Flyways(f) => format!("round {}: {} flyways, {} shares", f.round.0, f.links.len(), f.shares.len()),
        Message::Heartbeat(h) => format!("controller {} leads", h.epoch),
        Message::Part(p) => format!("round {}: {} grants for a relay's hosts", p.round.0, p.grants.len()),
        Message::Gathered(g) => format!("gathered {}: {} reports", g.sequence, g.reports.len()),
    }
}
