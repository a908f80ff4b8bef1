//! Messages in flight between agents, and what else happens at an agent at a set time.
//!
//! Messages take a latency that depends on the hop, and get lost with a probability. PFC frames
//! leave one after the other through a controller's interfaces ([`Signals`]). All that is in flight
//! is delivered in the order of time, recipient, sender and number.

use super::nodes::{Hop, Nodes};
use super::signals::Signals;
use crate::engine::time::SimTime;
use crate::record::capture::Capture;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;
use timeplane_assembly::PlanTerms;
use timeplane_model::{Class, Duration, Fabric, HostId};
use timeplane_protocol::{Message, Opening};
use timeplane_results::ControlRow;
use timeplane_workload::Streams;

/// What happens at an agent.
#[derive(Debug)]
pub enum Delivery {
    /// A message arrives.
    Message(Message),
    /// A gate opens, one reaction time after its signal. The time is when a later signal closes it.
    Open(Opening, SimTime),
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
}

impl Counters {
    fn row(&self, kind: &'static str, sender: Option<u32>) -> ControlRow {
        let Self { messages, bytes, lost, .. } = *self;
        ControlRow { kind, sender, messages, bytes, lost, late: 0 }
    }
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
    /// By time of arrival, recipient, sender and number.
    in_flight: BTreeMap<(SimTime, u32, u32, u64), Delivery>,
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
            in_flight: BTreeMap::new(),
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
        let number = self.next_number();
        self.in_flight.insert((at, node, node, number), delivery);
    }

    /// When the next delivery is due.
    pub fn next(&self) -> Option<SimTime> {
        self.in_flight.first_key_value().map(|(key, _)| key.0)
    }

    /// Takes out the next delivery, with its sender and its recipient.
    pub fn pop(&mut self) -> Option<(u32, u32, Delivery)> {
        self.in_flight.pop_first().map(|((_, to, from, _), delivery)| (from, to, delivery))
    }

    fn counters(&mut self, from: u32, hop: Hop) -> &mut Counters {
        if hop == Hop::ToHost { &mut self.sent[from as usize] } else { &mut self.between_controllers }
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
    pub fn send(
        &mut self,
        at: SimTime,
        (from, to): (u32, u32),
        hop: Hop,
        message: Message,
        capture: Option<&mut Capture>,
    ) {
        let path = match hop {
            Hop::ToHost => self.to_hosts,
            Hop::Relay => self.relays,
            Hop::Peers => self.peers,
        };
        let is_frame = matches!(message, Message::Pfc(_));
        let uniform = (self.losses.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let is_lost = uniform < path.loss;
        let counters = if is_frame { &mut self.frames } else { self.counters(from, hop) };
        counters.messages += 1;
        counters.bytes += u64::from(message.wire_bytes());
        counters.lost += u64::from(is_lost);
        let departure = if is_frame && !is_lost { self.signals.departure(at, to) } else { at };
        if let Some(capture) = capture {
            capture.said(departure, from, to, &message, is_lost);
        }
        if !is_lost {
            let key = (departure + path.latency, to, from, self.next_number());
            self.in_flight.insert(key, Delivery::Message(message));
        }
    }

    /// Closes gates of a queue at `at` that have yet to open.
    pub fn close_pending(&mut self, at: SimTime, host: u32, queue: (HostId, Class)) {
        for (&(_, node, ..), delivery) in &mut self.in_flight {
            if let Delivery::Open(opening, closes) = delivery
                && node == host
                && (opening.destination, opening.class) == queue
            {
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
