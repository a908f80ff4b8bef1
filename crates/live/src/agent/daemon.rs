//! The agent of a host as a daemon: connects a [`HostAgent`] to a clock, an interface, a gate in
//! the kernel, and the streams of programs.
//!
//! One thread does everything that is timed. Signals are received twice: the kernel's program obeys
//! them at once, and the agent reads them to learn which destination is open. The gate refuses a
//! frame that comes too late, and the agent sends it in a later slot. A late agent thus wastes its
//! own slot and disturbs no other host.

mod absence;
mod batch;
mod clocks;
mod joining;
mod link;
mod opening;
mod sending;
mod setup;
mod timeslots;

pub use link::{ip_of, mac_of, usable_mtu};
pub use setup::{AgentConfig, AgentError, random_bytes};

use super::pace::Pace;
use super::presence::Presence;
use super::refusals::Refusals;
use super::shown::{AgentCounters, Snapshot};
use super::{Attention, Locked, Shared};
use crate::channel::{Client, Event as ChannelEvent, Record};
use crate::clock;
use crate::gate::{Gate, GateConfig};
use crate::notes::{Counts, Note, Welcome};
use crate::packet_socket::{BATCH, Frames, PacketSocket, Stop};
use crate::seldom::Seldom;
use crate::service::{self, Pulse};
use crate::timed::{self, Inbox, Readable};
use crate::tokens::{Allowance, Tokens};
use batch::Batch;
use clocks::Clocks;
use link::Interface;
use opening::OpenQueue;
use setup::sockets;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use timeplane_model::{Duration, HostId, Rate, Time};
use timeplane_protocol::wire::{Control, Heard, PORT, SignalEncoding};
use timeplane_protocol::{Address, Agent, Grants, HostAgent, HostCounters, Input, Message, Output, Pfc, Rates};

type OnPacket = Box<dyn FnMut(&[u8]) + Send>;
type OnJoined = Box<dyn FnMut(usize) + Send>;
type OnMtu = Box<dyn FnMut(u32) + Send>;

/// A running agent.
pub struct LiveAgent {
    config: AgentConfig,
    gate: Gate,
    control: Vec<PacketSocket>,
    /// A socket that is never read. With signals in datagrams, it keeps the kernel from answering
    /// each one with "port unreachable".
    _port: Option<UdpSocket>,
    data: PacketSocket,
    shared: Arc<Shared>,
    /// State of the streams when the controllers last heard of new backlog.
    attention: Attention,
    inbox: Arc<Inbox<(usize, ChannelEvent)>>,
    controllers: Vec<Client>,
    /// Called with the number of joined hosts whenever a controller reports it.
    on_joined: Option<OnJoined>,
    /// Called with the largest packet that frames carry whenever it changes.
    on_mtu: Option<OnMtu>,
    interface: Interface,
    /// Limit of log lines about controllers and the gate.
    troubles: Seldom,
    /// The protocol's agent; `None` until a controller has sent its configuration.
    agent: Option<HostAgent>,
    welcome: Option<Welcome>,
    /// Which hosts are there, by what controllers say.
    presence: Presence,
    /// Controllers that refuse this host, by place.
    refused: BTreeMap<usize, joining::Refused>,
    /// Limit of reports of changed queues, and whether one waits for it.
    reports: Tokens,
    changed: bool,
    open: Vec<OpenQueue>,
    /// Pace of the host's link.
    link: Pace,
    /// When the last message or signal of a controller arrived.
    heard: Time,
    /// When a message last renewed the gate's lease.
    renewed: Time,
    /// Number of plain PFC frames received, which serves as their sequence number.
    plain: u64,
    ruling: u32,
    /// A newer epoch of this host, which a controller knows.
    outranked: Option<u32>,
    clocks: Clocks,
    counters: Arc<AgentCounters>,
    out: Vec<Output>,
    received: Frames,
    signals: Frames,
    batch: Batch,
    repairs: Vec<Vec<u8>>,
    packets: Option<OnPacket>,
    pulse: Pulse,
    /// When the snapshot was last renewed.
    shown_at: Time,
    /// When the controllers were last sent the counters.
    told_at: Time,
    /// Which refused frames were logged.
    refusals: Refusals,
}

/// How often changed queues are reported, which programs may change much more often. Controllers
/// read up to [`messages`](crate::channel::Timing::messages) of a host.
const REPORTS: Allowance = Allowance { per_second: 2000, burst: 100 };
/// Places of the descriptors that the loop waits for: messages of controllers, frames of data, work
/// of programs, and from [`CONTROL`] on the sockets of signals.
const INBOX: usize = 0;
const DATA: usize = 1;
const WAKE: usize = 2;
const CONTROL: usize = 3;

impl LiveAgent {
    /// Creates an agent in the network namespace of this thread, and attaches its gate, closed. The
    /// caller connects to the controllers; their events arrive in `inbox` with the controller's
    /// place.
    ///
    /// # Errors
    /// If the interface cannot be used.
    pub fn new(
        config: AgentConfig,
        shared: Arc<Shared>,
        controllers: Vec<Client>,
        inbox: Arc<Inbox<(usize, ChannelEvent)>>,
    ) -> Result<Self, AgentError> {
        let index = crate::bpf::interface_index(&config.gate.interface)?;
        let (control, data) = sockets(&config.gate)?;
        let in_datagrams = config.gate.encodings.contains(&SignalEncoding::Udp);
        let port = in_datagrams.then(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))).transpose();
        let port = port.map_err(AgentError::io(&format!("UDP port {PORT}")))?;
        let gate = Gate::attach(&config.gate)?;
        let (mtu, attention) = {
            let streams = shared.lock();
            (streams.config().mtu, streams.attention())
        };
        Ok(Self {
            interface: Interface::new(index, mtu),
            troubles: Seldom::default(),
            on_mtu: None,
            gate,
            control,
            _port: port,
            data,
            attention,
            shared,
            inbox,
            controllers,
            on_joined: None,
            agent: None,
            welcome: None,
            presence: Presence::default(),
            refused: BTreeMap::new(),
            reports: Tokens::new(REPORTS),
            changed: false,
            open: Vec::new(),
            link: Pace::new(clock::now(), Rate::gbps(400)),
            heard: Time::ZERO,
            renewed: Time::ZERO,
            plain: 0,
            ruling: 0,
            outranked: None,
            clocks: Clocks::default(),
            counters: Arc::default(),
            out: Vec::new(),
            received: Frames::new(1514),
            signals: Frames::new(1514),
            batch: Batch::new(),
            repairs: Vec::new(),
            packets: None,
            pulse: Pulse::new(),
            shown_at: Time::ZERO,
            told_at: Time::ZERO,
            refusals: Refusals::default(),
            config,
        })
    }

    /// Sets the function that receives incoming IP packets.
    pub fn on_packet(&mut self, packets: impl FnMut(&[u8]) + Send + 'static) {
        self.packets = Some(Box::new(packets));
    }

    /// Sets the function that is called with the number of joined hosts whenever a controller
    /// reports it.
    pub fn on_joined(&mut self, told: impl FnMut(usize) + Send + 'static) {
        self.on_joined = Some(Box::new(told));
    }

    /// Sets the function that is called with the largest IP packet that frames carry, in bytes,
    /// whenever the interface's MTU changes it.
    pub fn on_mtu(&mut self, told: impl FnMut(u32) + Send + 'static) {
        self.on_mtu = Some(Box::new(told));
    }

    /// Counters of this start.
    pub fn counters(&self) -> Arc<AgentCounters> {
        Arc::clone(&self.counters)
    }

    /// A pulse that beats with every iteration of the loop.
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// The agent's public state and counters. [`Shared::shown`] has a copy, which is at most 0.2 s
    /// old while the agent runs.
    pub fn snapshot(&self) -> Snapshot {
        let named = |(name, value): (&'static str, u64)| (name.to_owned(), value);
        let streams = *Self::streams(&self.shared).counters();
        self.counters.take_refused(&streams);
        Snapshot {
            host: self.config.host.0,
            epoch: self.config.epoch,
            joined: self.welcome.iter().flat_map(|w| w.joined.iter().map(|j| j.host)).collect(),
            agent: self.counters.iter().map(named).collect(),
            gate: self.gate.counters(),
            streams: serde_json::to_value(streams).unwrap_or_default(),
        }
    }

    fn publish(&mut self) {
        let now = clock::now();
        if now - self.shown_at > Duration::from_ms(200) {
            self.shown_at = now;
            let streams = *Self::streams(&self.shared).counters();
            if let Some(news) = self.refusals.news(now, &streams) {
                tracing::warn!("{news}");
            }
            let shown = self.snapshot();
            *self.shared.shown.lock().unwrap_or_else(PoisonError::into_inner) =
                serde_json::to_value(&shown).unwrap_or_default();
        }
        self.tell_counts(now);
    }

    /// Sends counters to the controllers if one of them has a page that shows them.
    fn tell_counts(&mut self, now: Time) {
        let every = self.welcome.as_ref().map_or(0, |w| w.counts_every_ms);
        if every == 0 || now - self.told_at < Duration::from_ms(every.into()) {
            return;
        }
        self.told_at = now;
        let counters = &self.counters;
        let counts = Counts {
            epoch: self.config.epoch,
            wire_bytes: counters.wire_bytes.load(Relaxed),
            circuit_wire_bytes: counters.circuit_wire_bytes.load(Relaxed),
            late: counters.late.load(Relaxed),
            too_late: counters.too_late.load(Relaxed),
        };
        let Ok(note) = serde_json::to_value(Note::Counts(counts)) else { return };
        for controller in &self.controllers {
            // A disconnected controller needs none.
            let _ = controller.send(Record::Note(note.clone()));
        }
    }

    /// The gate in the kernel.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Counters of the [`HostAgent`], once a controller has configured it.
    pub fn host_counters(&self) -> Option<HostCounters> {
        self.agent.as_ref().map(|a| *a.counters())
    }

    fn streams(shared: &Shared) -> Locked<'_> {
        shared.lock()
    }

    /// Runs until `stop` is set.
    ///
    /// An interface that is down or removed only makes frames wait.
    ///
    /// # Errors
    /// If the system fails, or the interface is back with another address.
    pub fn run(&mut self, stop: &service::Stop) -> Result<(), AgentError> {
        if self.config.real_time && !timed::real_time() {
            tracing::warn!("no real-time priority (CAP_SYS_NICE): slots may start late");
        }
        let io = AgentError::io;
        let mut readable = Readable::ANY;
        while !stop.is_set() {
            self.pulse.beat();
            self.publish();
            self.look_at_interface()?;
            if let Err(e) = self.hear_signals(readable)
                && !self.survives(&e)
            {
                return Err(io("receiving signals")(e));
            }
            if readable.has(INBOX) {
                let mut events = self.inbox.drain();
                while let Some((controller, event)) = events.pop_front() {
                    // Rates are totals: a late agent needs the newest ones only.
                    let newer = |(from, later): &(usize, ChannelEvent)| *from == controller && is_rates(later);
                    if !(is_rates(&event) && events.iter().any(newer)) {
                        self.hear(controller, event);
                    }
                }
            }
            if let Some(known) = self.outranked {
                return Err(AgentError::Outranked { known });
            }
            self.end_absent();
            self.greet_again();
            self.ask_clocks();
            if readable.has(DATA)
                && let Err(e) = self.receive()
                && !self.survives(&e)
            {
                return Err(io("receiving")(e));
            }
            self.changed |= readable.has(WAKE) && self.shared.wake.read().is_ok() && self.has_new_backlog();
            let now = clock::now();
            if self.changed && self.reports.take(now) {
                self.changed = false;
                self.tell(Input::Changed, None);
            }
            if self.agent.as_ref().and_then(|a| a.deadline()).is_some_and(|d| d <= now) {
                self.tell(Input::Due, None);
            }
            self.repair().map_err(io("sending repairs"))?;
            let next = self.send().map_err(io("sending"))?;
            let now = clock::now();
            let streams = Self::streams(&self.shared).deadline();
            let agent = self.agent.as_ref().and_then(|a| a.deadline());
            let most = now.saturating_add(Duration::from_ms(50));
            let slot = self.next_timeslot().map(|slot| slot.saturating_add(timeslots::SPIN * -1));
            let changed = self.changed.then(|| self.reports.ready());
            let until = [streams, agent, next, slot, changed].into_iter().flatten().fold(most, Time::min);
            let mut awaited = vec![self.inbox.as_fd(), self.data.as_fd(), self.shared.wake.as_fd()];
            awaited.extend(self.control.iter().map(AsFd::as_fd));
            readable = timed::wait(until, &awaited).map_err(io("waiting"))?;
            if let Some(slot) = self.next_timeslot() {
                timed::spin(slot, timeslots::SPIN);
            }
        }
        Ok(())
    }

    fn hear_signals(&mut self, readable: Readable) -> std::io::Result<()> {
        let mut frames = std::mem::take(&mut self.signals);
        let mut heard = Ok(());
        for socket in (0..self.control.len()).filter(|&socket| readable.has(CONTROL + socket)) {
            loop {
                match self.control[socket].receive_batch(&mut frames) {
                    Ok(count) => {
                        frames.iter().for_each(|frame| self.signal(frame));
                        // The next wait tells if more has come.
                        if count < BATCH {
                            break;
                        }
                    }
                    Err(e) => {
                        heard = Err(e);
                        break;
                    }
                }
            }
        }
        self.signals = frames;
        heard
    }

    fn signal(&mut self, frame: &[u8]) {
        let GateConfig { mac, key, ref encodings, max_hold, .. } = self.config.gate;
        let heard = if frame.get(12..14) == Some(&ETHER_TYPE_IPV4.to_be_bytes()) {
            let datagram = timeplane_protocol::wire::UdpFrame::parse(frame);
            let to_us = datagram.ok().filter(|d| d.destination.port == PORT);
            // The socket receives all other IP packets as well.
            let Some(datagram) = to_us else { return };
            Pfc::unseal_content(&datagram.payload, &key).map(Heard::Sealed)
        } else {
            Pfc::unseal(frame, mac, &key)
        };
        let pfc = match heard {
            Ok(Heard::Sealed(pfc)) => pfc,
            Ok(Heard::Plain(open)) if encodings.contains(&SignalEncoding::PlainPfc) => {
                self.plain += 1;
                Pfc { epoch: self.ruling, sequence: self.plain, open, hold: max_hold }
            }
            Ok(Heard::Plain(_)) | Err(_) => {
                self.counters.refused_signals.fetch_add(1, Relaxed);
                return;
            }
        };
        self.heard = clock::now();
        let message = Message::Pfc(pfc);
        self.tell(Input::Message { from: Address::Controller, message }, pfc.open);
    }

    fn hear(&mut self, controller: usize, event: ChannelEvent) {
        match event {
            ChannelEvent::Joined { .. } => {
                self.counters.joined.fetch_add(1, Relaxed);
                self.clocks.forget(controller);
                self.refused.remove(&controller);
                self.greet(controller);
            }
            ChannelEvent::Note { note, .. } => match serde_json::from_value(note) {
                Ok(Note::Welcome(welcome)) => {
                    self.refused.remove(&controller);
                    self.presence.told(
                        clock::now(),
                        controller,
                        welcome.joined.iter().map(|joined| HostId(joined.host)),
                    );
                    self.welcome(controller, welcome);
                }
                Ok(Note::Refused(why)) => self.refused(controller, why),
                Ok(Note::Epoch(known)) => {
                    self.outranked = self.outranked.max(Some(known).filter(|known| *known >= self.config.epoch));
                }
                Ok(Note::Told(told)) => self.told_clock(controller, told),
                Ok(Note::Hello(_) | Note::Counts(_) | Note::Ask(_)) | Err(_) => {
                    self.counters.malformed.fetch_add(1, Relaxed);
                }
            },
            ChannelEvent::Control { sent_at, control: Control::Message(mut message), .. } => {
                let now = clock::now();
                self.heard = now;
                // Messages may be many more than a lease needs.
                if now - self.renewed > self.config.gate.lease / RENEWALS {
                    self.renewed = now;
                    if let Err(e) = self.gate.renew(self.config.gate.lease) {
                        self.troubles.say(clock::now(), |more| tracing::warn!("{e}{more}"));
                    }
                }
                if let Message::Grants(Grants { epoch, .. }) | Message::Rates(Rates { epoch, .. }) = &message {
                    self.plans_in(controller, *epoch);
                }
                // The two clocks are not synchronized: the lease's length by the sender's clock
                // counts from the arrival by the receiver's.
                if let Message::Grants(grants) = &mut message
                    && !self.takes_grants(controller, grants)
                {
                    return;
                }
                if let Message::Rates(rates) = &mut message {
                    rates.lease = now.saturating_add(rates.lease - sent_at);
                }
                self.tell(Input::Message { from: Address::Controller, message }, None);
            }
            ChannelEvent::Control { .. } => drop(self.counters.malformed.fetch_add(1, Relaxed)),
            ChannelEvent::Left { .. } => {
                self.presence.lost(clock::now(), controller);
                self.troubles.say(clock::now(), |more| {
                    tracing::warn!("lost the connection to controller {controller}{more}");
                });
            }
        }
    }

    /// Whether a destination has got backlog since the last call. Programs also wake the loop for
    /// earlier deadlines, for example when they read.
    fn has_new_backlog(&mut self) -> bool {
        let streams = Self::streams(&self.shared);
        let has = streams.has_new_backlog(self.attention);
        self.attention = streams.attention();
        has
    }

    /// Passes an input to the agent and carries out its outputs. `class` is the class that a signal
    /// opens.
    fn tell(&mut self, input: Input, class: Option<u16>) {
        let Some(mut agent) = self.agent.take() else { return };
        let mut next = Some(input);
        while let Some(input) = next.take() {
            let now = clock::now();
            let mut out = std::mem::take(&mut self.out);
            agent.handle(now, input, &mut out);
            for output in out.drain(..) {
                match output {
                    Output::ReadBacklog(detail) => {
                        let waiting = Self::streams(&self.shared).backlog();
                        next = Some(Input::Backlog(timeslots::backlog(now, detail, waiting)));
                    }
                    Output::Send { message, .. } => {
                        self.counters.reports.fetch_add(1, Relaxed);
                        self.counters.report_bytes.fetch_add(message.wire_bytes().into(), Relaxed);
                        self.send_report(now, &message);
                    }
                    Output::Open(opening) => self.opened(now, &opening, class),
                    Output::Rates(changes) => {
                        for change in changes {
                            self.opened(now, &change.opening(now), class);
                        }
                    }
                    Output::Close { destination, .. } => self.closed(now, destination),
                    Output::Retune(_) | Output::Grants(_) | Output::Log(_) => {}
                }
            }
            self.out = out;
        }
        let counters = agent.counters();
        self.counters.signals.store(counters.signals, Relaxed);
        self.counters.stale.store(counters.stale, Relaxed);
        self.counters.late.store(counters.late, Relaxed);
        self.counters.timeslots.store(counters.executed, Relaxed);
        self.counters.timeslots_missed.store(counters.missed + counters.refused, Relaxed);
        self.agent = Some(agent);
    }

    /// Sends a report to all controllers. A disconnected one needs none.
    fn send_report(&self, now: Time, message: &Message) {
        let Message::Report(report) = message else { return };
        for (place, controller) in self.controllers.iter().enumerate() {
            let Some(report) = self.report_for(place, (**report).clone()) else { continue };
            let control = Control::Message(Message::Report(Box::new(report)));
            let _ = controller.send(Record::Control { sent_at: now, control });
        }
    }

    fn repair(&mut self) -> std::io::Result<()> {
        let now = clock::now();
        let mut streams = Self::streams(&self.shared);
        if streams.deadline().is_none_or(|d| d > now) {
            return Ok(());
        }
        streams.due(now, &mut self.repairs);
        drop(streams);
        // A lost repair report is sent again later.
        let batch = self.data.send_batch(&self.repairs)?;
        let sent = batch.sent;
        if let Some(stop @ (Stop::TooLong | Stop::Down | Stop::Gone)) = batch.stop {
            self.hindered(stop);
        }
        self.counters.repairs.fetch_add(sent as u64, Relaxed);
        self.counters.sent_bytes.fetch_add(packet_bytes(&self.repairs[..sent]), Relaxed);
        self.repairs.clear();
        Ok(())
    }

    fn receive(&mut self) -> std::io::Result<()> {
        // Not longer: signals must not wait behind data.
        for _ in 0..4 {
            let count = self.data.receive_batch(&mut self.received)?;
            let now = clock::now();
            let mut streams = Self::streams(&self.shared);
            for frame in self.received.iter() {
                self.counters.received.fetch_add(1, Relaxed);
                self.counters.received_bytes.fetch_add(frame.len().saturating_sub(14) as u64, Relaxed);
                match streams.received(now, frame) {
                    Ok(Some((_, packet))) => {
                        if let Some(packets) = &mut self.packets {
                            packets(packet);
                        }
                    }
                    Ok(None) => {}
                    Err(_) => drop(self.counters.malformed.fetch_add(1, Relaxed)),
                }
            }
            drop(streams);
            // The next wait tells if more has come.
            if count < BATCH {
                return Ok(());
            }
        }
        self.counters.overrun.fetch_add(u64::from(self.data.lost()?), Relaxed);
        Ok(())
    }
}

const ETHER_TYPE_IPV4: u16 = 0x0800;

/// How often messages of controllers renew a lease during its length.
const RENEWALS: i64 = 16;

/// Whether an event brings new rates.
fn is_rates(event: &ChannelEvent) -> bool {
    matches!(event, ChannelEvent::Control { control: Control::Message(Message::Rates(_)), .. })
}

/// Bytes on the wire of a frame, with preamble, FCS and inter-frame gap; at least 84.
fn wire_bytes(frame: usize) -> u64 {
    (frame as u64 + 24).max(84)
}

/// Bytes of frames without Ethernet's header.
fn packet_bytes(frames: &[Vec<u8>]) -> u64 {
    frames.iter().map(|f| f.len().saturating_sub(14) as u64).sum()
}
