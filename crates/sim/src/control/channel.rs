//! Messages in flight between agents, and what else happens at an agent at a set time.
//!
//! Messages take a latency that depends on the hop, and get lost with a probability. Besides, they
//! take time on the ports of the control network, or travel as frames over the fabric's links
//! ([`InBand`]). PFC frames leave one after the other through a controller's interfaces
//! ([`Signals`]) and take no other ports. All that is in flight is delivered in the order of time,
//! recipient, sender and number.

use super::in_flight::InFlight;
use super::nodes::{Hop, Nodes};
use super::signals::Signals;
use crate::engine::time::SimTime;
use crate::network::Network;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;
use timeplane_assembly::PlanTerms;
use timeplane_model::{Class, Duration, Fabric, HostId};
use timeplane_protocol::{Message, Opening};
use timeplane_results::ControlRow;
use timeplane_workload::Streams;

/// What happens at an agent. A message is given by its place among those in flight, as deliveries
/// are moved often.
#[derive(Debug)]
pub enum Delivery {
    /// A message arrives.
    Message(u32),
    /// A message reaches the port of its recipient.
    AtPort {
        /// It goes to an agent once the port is through with it.
        message: u32,
        /// Its bytes on the wire.
        bytes: u32,
        /// When it would have arrived without ports.
        soonest: SimTime,
    },
    /// A gate opens, one reaction time after its signal. The time is when a later signal closes it.
    Open(Box<(Opening, SimTime)>),
    /// A beacon sets the host's clock.
    Beacon,
}

/// Counts of messages.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    messages: u64,
    bytes: u64,
    lost: u64,
    late: u64,
    /// The longest time on ports or links, besides the latency.
    longest: Duration,
}

impl Counters {
    fn row(&self, kind: &'static str, sender: Option<u32>) -> ControlRow {
        let Self { messages, bytes, lost, .. } = *self;
        ControlRow { kind, sender, messages, bytes, lost, late: 0, max_transfer_ps: self.longest.as_ps() }
    }
}

/// Messages on the fabric's links, as frames that go before all data.
struct InBand {
    /// The host that also runs the controller.
    controller: u32,
    /// By number of the message.
    under_way: BTreeMap<u64, UnderWay>,
}

/// A message of which frames have not arrived.
struct UnderWay {
    sent: SimTime,
    ends: (u32, u32),
    frames: u32,
    message: Message,
}

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    latency: Duration,
    loss: f64,
}

/// The control network.
pub struct Channel {
    pub signals: Signals,
    to_hosts: Path,
    relays: Path,
    peers: Path,
    losses: Xoshiro256PlusPlus,
    in_band: Option<InBand>,
    in_flight: InFlight,
    /// The messages of deliveries, and free places among them.
    messages: Vec<Option<Message>>,
    free: Vec<u32>,
    /// Agents from this number on are controllers.
    controllers: u32,
    number: u64,
    /// By sender.
    sent: Vec<Counters>,
    /// PFC frames of all controllers.
    frames: Counters,
    /// Messages between controllers.
    between_controllers: Counters,
}

impl Channel {
    pub fn new(fabric: &Fabric, terms: &PlanTerms, nodes: &Nodes, streams: &Streams) -> Self {
        let loss = terms.control_loss;
        Self {
            signals: Signals::new(terms.signals, fabric, terms.relays.map_or(0, |r| r.count), streams),
            to_hosts: Path { latency: terms.control_latency, loss },
            relays: terms.relays.map_or_else(Path::default, |r| Path { latency: r.latency, loss: r.loss }),
            peers: Path { latency: terms.peer_latency, loss },
            losses: streams.fast("control", 0, "loss"),
            in_band: terms.control.in_band().map(|h| InBand { controller: h.0, under_way: BTreeMap::new() }),
            in_flight: InFlight::default(),
            messages: Vec::new(),
            free: Vec::new(),
            controllers: nodes.leader(),
            number: 0,
            sent: vec![Counters::default(); nodes.count()],
            frames: Counters::default(),
            between_controllers: Counters::default(),
        }
    }

    /// One way between a controller and a host.
    pub fn latency(&self) -> Duration {
        self.to_hosts.latency
    }

    /// A number above all that were used before.
    pub fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Schedules something at an agent without a message.
    pub fn schedule(&mut self, at: SimTime, node: u32, delivery: Delivery) {
        self.fly(at, (node, node), delivery);
    }

    /// When the next delivery is due.
    pub fn next(&self) -> Option<SimTime> {
        self.in_flight.next()
    }

    /// Takes out the next delivery, with its sender and its recipient.
    pub fn pop(&mut self) -> Option<(u32, u32, Delivery)> {
        self.in_flight.pop().map(|((_, to, from, _), delivery)| (from, to, delivery))
    }

    /// Takes out the message of a delivery.
    ///
    /// # Panics
    /// If it was taken before.
    pub fn take(&mut self, message: u32) -> Message {
        self.free.push(message);
        self.messages[message as usize].take().expect("a message is delivered once")
    }

    /// Keeps a message until its delivery, and returns its place.
    fn keep(&mut self, message: Message) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.messages[place as usize] = Some(message);
                place
            }
            None => {
                self.messages.push(Some(message));
                self.messages.len() as u32 - 1
            }
        }
    }

    /// Something will happen at an agent.
    fn fly(&mut self, at: SimTime, (from, to): (u32, u32), delivery: Delivery) {
        let number = self.next_number();
        self.arrive(at, (from, to), number, delivery);
    }

    fn arrive(&mut self, at: SimTime, (from, to): (u32, u32), number: u64, delivery: Delivery) {
        let to_controller = usize::from(to >= self.controllers);
        let queue = match delivery {
            Delivery::Message(_) => Some(to_controller),
            Delivery::AtPort { .. } => Some(2 + to_controller),
            Delivery::Open(..) | Delivery::Beacon => None,
        };
        self.in_flight.insert(queue, (at, to, from, number), delivery);
    }

    /// A message has come to the port of its recipient, and arrives at this time.
    pub fn receive(&mut self, arrives: SimTime, (from, to): (u32, u32), hop: Hop, message: u32, soonest: SimTime) {
        let counters = self.counters(from, hop);
        counters.longest = counters.longest.max(arrives - soonest);
        self.fly(arrives, (from, to), Delivery::Message(message));
    }

    fn counters(&mut self, from: u32, hop: Hop) -> &mut Counters {
        if hop == Hop::ToHost { &mut self.sent[from as usize] } else { &mut self.between_controllers }
    }

    /// Counts messages of grants that a controller sends without this channel.
    pub fn count_grants(&mut self, from: u32, messages: u64, bytes: u64) {
        let counters = &mut self.sent[from as usize];
        counters.messages += messages;
        counters.bytes += bytes;
    }

    /// Notes how long such a message took on ports.
    pub fn note_transfer(&mut self, from: u32, time: Duration) {
        let longest = &mut self.sent[from as usize].longest;
        *longest = time.max(*longest);
    }

    /// Counts a message whose recipient is down.
    pub fn lose(&mut self, from: u32, hop: Hop) {
        self.counters(from, hop).lost += 1;
    }

    /// Counts grants that came too late to a host.
    pub fn count_late(&mut self, host: u32) {
        self.sent[host as usize].late += 1;
    }

    /// Sends a message to an agent.
    pub fn send(&mut self, at: SimTime, ends: (u32, u32), hop: Hop, message: Message, network: &mut Network) {
        let (from, to) = ends;
        let path = match hop {
            Hop::ToHost => self.to_hosts,
            Hop::Relay => self.relays,
            Hop::Peers => self.peers,
        };
        let is_frame = matches!(message, Message::Pfc(_));
        let bytes = message.wire_bytes();
        let uniform = (self.losses.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let is_lost = uniform < path.loss;
        let departure = if is_frame && !is_lost { self.signals.departure(at, to) } else { at };
        let in_band = if is_frame { None } else { self.in_band.as_ref().map(|b| b.controller) };
        let at_port = network.ports.as_mut().filter(|_| !is_frame);
        let has_port = at_port.is_some();
        // A lost message has left all the same.
        let departure = at_port.map_or(departure, |ports| ports.leave(at, from, bytes));
        let counters = if is_frame { &mut self.frames } else { self.counters(from, hop) };
        counters.messages += 1;
        counters.bytes += u64::from(bytes);
        counters.lost += u64::from(is_lost);
        if let Some(capture) = network.capture.as_deref_mut() {
            capture.said(departure, from, to, &message, is_lost);
        }
        if is_lost {
            return;
        }
        let number = self.next_number();
        let place = |node: u32, controller: u32| if node < network.wires.hosts { node } else { controller };
        let hosts = in_band.map(|controller| [place(from, controller), place(to, controller)]);
        match hosts.filter(|[from, to]| from != to) {
            Some(hosts) => {
                let mut frames = Vec::new();
                message.each_frame(|frame| frames.push(frame));
                let under_way = UnderWay { sent: at, ends, frames: frames.len() as u32, message };
                self.in_band.as_mut().expect("it is there").under_way.insert(number, under_way);
                frames.into_iter().for_each(|frame| network.send_control(at, hosts, frame, number));
            }
            // The controller's own host needs no link.
            None => {
                let message = self.keep(message);
                let delivery = if has_port {
                    Delivery::AtPort { message, bytes, soonest: at + path.latency }
                } else {
                    Delivery::Message(message)
                };
                self.arrive(departure + path.latency, ends, number, delivery);
            }
        }
    }

    /// A frame of a message arrives in band, or was lost.
    pub fn frame(&mut self, at: SimTime, number: u64, lost: bool) {
        let Some(in_band) = &mut self.in_band else { return };
        let Some(message) = in_band.under_way.get_mut(&number) else { return };
        message.frames -= 1;
        if message.frames > 0 && !lost {
            return;
        }
        let Some(UnderWay { sent, ends: (from, to), message, .. }) = in_band.under_way.remove(&number) else { return };
        let counters = self.counters(from, Hop::ToHost);
        if lost {
            counters.lost += 1;
        } else {
            counters.longest = counters.longest.max(at - sent);
            let message = self.keep(message);
            self.arrive(at + self.to_hosts.latency, (from, to), number, Delivery::Message(message));
        }
    }

    /// Closes gates of a queue at `at` that have yet to open.
    pub fn close_pending(&mut self, at: SimTime, host: u32, queue: (HostId, Class)) {
        for (&(_, node, ..), delivery) in self.in_flight.iter_mut() {
            let Delivery::Open(opens) = delivery else { continue };
            let (opening, closes) = &mut **opens;
            if node == host && (opening.destination, opening.class) == queue {
                *closes = at.min(*closes);
            }
        }
    }

    /// Rows of the table of control messages.
    ///
    /// Hosts count late grants; their row is that of the leader, which sent them.
    pub fn rows(&self, nodes: &Nodes) -> Vec<ControlRow> {
        let leader = nodes.leader();
        let row = |(node, counters): (u32, &Counters)| match nodes.position(node) {
            Some(_) => counters.row("grants", None),
            None => counters.row("report", Some(node)),
        };
        let mut rows: Vec<ControlRow> = (0..).zip(&self.sent).map(row).collect();
        rows[leader as usize].late = self.sent.iter().map(|s| s.late).sum();
        if self.frames.messages > 0 {
            rows.push(self.frames.row("pfc", None));
        }
        if self.between_controllers.messages > 0 {
            rows.push(self.between_controllers.row("peers", None));
        }
        rows
    }
}
