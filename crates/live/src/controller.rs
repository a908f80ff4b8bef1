//! The controller of a fabric as a daemon: an agent of `timeplane-protocol` with a clock, an
//! interface and a demand channel.
//!
//! Hosts join over the demand channel, report their backlog, and learn which hosts they can reach.
//! Signals leave by raw socket. A controller that wakes late shifts its whole schedule by the time
//! that it overslept, so that the guard between two slots is never shorter than planned
//! ([`Slipping`]).

mod circuits;
mod losses;
mod plan;
mod signals;

use crate::channel::{Client, Event as Word, PeerId, Record, Server};
use crate::clock;
use crate::counters::shared_counters;
use crate::notes::{Note, Welcome, key_of};
use crate::service::{Pulse, Stop};
use crate::slipping::Slipping;
use crate::timed::{self, Inbox};
use crate::tuner::{CircuitError, Tuner};
use crate::watch::{Planned, Watch};
use losses::Losses;
pub use plan::{HostPlan, Plan};
pub use signals::SignalInterface;
use signals::{Ear, Signals};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use timeplane_model::{Backlog, Duration, HostId, LinkId, Time};
use timeplane_protocol::wire::{Control, MacAddress, SignalEncoding, SignalKey};
use timeplane_protocol::{Address, Agent, BacklogReport, Event, Input, Message, Output};

/// Why a controller cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The plan is impossible.
    #[error(transparent)]
    Plan(#[from] crate::daemons::Failure),
    /// A socket.
    #[error("{what}: {source}")]
    Io {
        /// The failed operation.
        what: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// The circuit switch.
    #[error(transparent)]
    Circuits(#[from] CircuitError),
    /// The plan needs a circuit switch, and the configuration names none.
    #[error("scheme `{scheme}` plans circuits: expected the folder of a pinned circuit switch in `circuits`")]
    NoCircuits {
        /// Name of the scheme that plans circuits.
        scheme: String,
    },
    /// The circuit switch does not fit the scenario.
    #[error("the circuit switch has {ports} ports: expected {hosts}, one for each host of the scenario")]
    Ports {
        /// Number of ports.
        ports: usize,
        /// Hosts of the scenario.
        hosts: u32,
    },
}

/// Configuration of a controller.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// Interfaces for signals, at least one.
    pub interfaces: Vec<SignalInterface>,
    /// Encoding of signals.
    pub encoding: SignalEncoding,
    /// Number of this start, higher than that of any start before.
    pub epoch: u32,
    /// Its position among several controllers, from 0.
    pub place: u32,
    /// Whether grants of an earlier start may still be in force.
    pub after_restart: bool,
    /// Whether to ask for real-time priority.
    pub real_time: bool,
    /// The folder in which the circuit switch is pinned, for plans of circuits.
    pub circuits: Option<PathBuf>,
    /// Share of grants and rates to drop on purpose, 0 to 1. For labs.
    pub control_loss: f64,
}

shared_counters! {
    /// Counters of a controller, readable from other threads.
    ControllerCounters {
        /// Rounds planned.
        rounds,
        /// Slots planned.
        slots,
        /// Plans that could not be granted.
        refused_plans,
        /// Signals sent.
        signals,
        /// Signals that the interface did not take.
        signals_lost,
        /// Grants and rates sent, with those lost.
        grants,
        /// Their bytes, as `Message::wire_bytes` counts them.
        grant_bytes,
        /// Of them, those that were lost, as a lab wants some to be.
        grants_lost,
        /// How often the circuit switch was set.
        retunes,
        /// How often it could not be.
        retunes_failed,
        /// Reports that came in.
        reports,
        /// What other controllers have said.
        heard_of_peers,
        /// Hosts that joined, with those that came again.
        joined,
        /// Hosts that left.
        left,
        /// Notes and names that no host could mean.
        refused,
        /// How often the schedule slipped.
        slips,
        /// By how much altogether, in nanoseconds.
        slipped_ns,
    }
}

/// The connection that an event came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A peer that connected to this controller.
    Server,
    /// Another controller that this one connected to.
    Client,
}

/// The public state of a controller.
#[derive(Debug, Default)]
pub struct ControllerState(Mutex<Known>);

/// Hosts that have joined, and hosts that have left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Hosts that have joined, with their MAC addresses.
    pub joined: BTreeMap<u32, String>,
    /// Those that were there and are gone, and when they went by [`clock::now`]: their slots are
    /// others'.
    pub left: BTreeMap<u32, Time>,
}

impl ControllerState {
    /// Hosts that have joined, with their addresses.
    pub fn joined(&self) -> BTreeMap<u32, String> {
        self.known().joined
    }
    /// Hosts that have joined, and hosts that have left.
    pub fn known(&self) -> Known {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// The same for the status page.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "hosts": self.joined() })
    }
}

/// A host that has joined.
#[derive(Clone, Copy, Debug)]
struct Host {
    peer: PeerId,
    mac: MacAddress,
    ip: Option<Ipv4Addr>,
    key: SignalKey,
    /// Of its agent, and of that agent's newest report.
    epoch: u32,
    sequence: u64,
}

impl Host {
    fn ear(&self) -> Ear {
        Ear { mac: self.mac, ip: self.ip, key: self.key }
    }
}

/// Receives every event of the controller's agent.
pub type SlotLog = Box<dyn FnMut(&Event) + Send>;

/// A controller at work. Everything that is timed happens on the thread that calls
/// [`run`](Self::run).
pub struct Controller {
    config: ControllerConfig,
    agent: Box<dyn Agent + Send>,
    plan: Box<dyn Plan>,
    host_plan: HostPlan,
    signals: Signals,
    clock: Slipping,
    /// Of a plan of circuits.
    tuner: Option<Tuner>,
    losses: Losses,
    inbox: Arc<Inbox<(Origin, Word)>>,
    server: Server,
    /// Connections to controllers before this one.
    clients: Vec<Client>,
    pulse: Pulse,
    state: Arc<ControllerState>,
    hosts: BTreeMap<HostId, Host>,
    /// Connected controllers.
    peers: Vec<PeerId>,
    /// Names of those that have joined as nothing yet.
    names: BTreeMap<PeerId, String>,
    counters: Arc<ControllerCounters>,
    out: Vec<Output>,
    /// Where slots are written down as they are planned.
    pub log: Option<SlotLog>,
    /// Who shows them on a page.
    watch: Option<Arc<Watch>>,
}

/// How often agents report their counters if a page shows them.
const COUNTS_EVERY_MS: u32 = 1000;

impl Controller {
    /// A controller of `plan` that talks over `server`, and over `clients` to other controllers,
    /// whose events all come to `inbox`, in the network namespace of this thread.
    ///
    /// # Errors
    /// If the interface cannot be used, or the plan is impossible.
    pub fn new(
        config: ControllerConfig,
        plan: Box<dyn Plan>,
        server: Server,
        clients: Vec<Client>,
        inbox: Arc<Inbox<(Origin, Word)>>,
    ) -> Result<Self, ControllerError> {
        let start = clock::now();
        let agent = plan.agent(config.epoch, start, config.place, config.after_restart)?;
        let host_plan = plan.host(config.encoding)?;
        let counters: Arc<ControllerCounters> = Arc::default();
        let signals = Signals::new(&config.interfaces, config.encoding, Arc::clone(&counters))?;
        let mut controller = Self {
            clock: Slipping::new(plan.tolerance()),
            tuner: circuits::tuner(&*plan, config.circuits.as_deref())?,
            losses: Losses::new(config.control_loss),
            agent,
            host_plan,
            signals,
            inbox,
            server,
            clients,
            pulse: Pulse::new(),
            state: Arc::default(),
            hosts: BTreeMap::new(),
            peers: Vec::new(),
            names: BTreeMap::new(),
            counters,
            out: Vec::new(),
            log: None,
            watch: None,
            config,
            plan,
        };
        controller.tell_links();
        Ok(controller)
    }

    /// Shows what it plans on a page. What hosts say comes to the page by [`Watch::hear`], beside
    /// the controller.
    pub fn show(&mut self, watch: Arc<Watch>) {
        self.watch = Some(watch);
    }

    /// Counters of this start.
    pub fn counters(&self) -> Arc<ControllerCounters> {
        Arc::clone(&self.counters)
    }

    /// A pulse that beats with every iteration of the control loop.
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Its public state.
    pub fn state(&self) -> Arc<ControllerState> {
        Arc::clone(&self.state)
    }

    /// Runs until told to stop, and then closes what it has opened: what hosts do without a
    /// controller is up to their leases.
    ///
    /// # Errors
    /// If an interface or the system fails.
    pub fn run(&mut self, stop: &Stop) -> Result<(), ControllerError> {
        if self.config.real_time && !timed::real_time() {
            tracing::warn!("no real-time priority (CAP_SYS_NICE): signals may leave late");
        }
        let failed = |source| ControllerError::Io { what: "waiting".to_owned(), source };
        while !stop.is_set() {
            self.pulse.beat();
            for (origin, word) in self.inbox.drain() {
                match origin {
                    Origin::Server => self.hear(word),
                    Origin::Client => self.hear_peer(word),
                }
            }
            let real = clock::now();
            let deadline = self.agent.deadline();
            if let Some(deadline) = deadline.filter(|d| *d <= self.clock.read(real)) {
                let now = self.clock.wake(real, deadline);
                self.tell(now, Input::Due);
                if self.tuner.is_some() {
                    // Light does not wait: what was done late by a thread that was not scheduled
                    // counts like what was begun late.
                    self.clock.wake(clock::now(), deadline);
                }
                let (slipped, slips) = self.clock.slipped();
                self.counters.slips.store(slips, Relaxed);
                self.counters.slipped_ns.store(slipped.as_ps() as u64 / 1000, Relaxed);
                continue;
            }
            // Wakes now and then to read the stop flag.
            let most = real.saturating_add(Duration::from_ms(50));
            let until = deadline.map_or(most, |d| self.clock.real(d).min(most));
            timed::wait(until, &[std::os::fd::AsFd::as_fd(&*self.inbox)]).map_err(failed)?;
        }
        self.signals.close_all(|host| self.hosts.get(&host).map(Host::ear));
        Ok(())
    }

    fn tell(&mut self, now: Time, input: Input) {
        let mut out = std::mem::take(&mut self.out);
        self.agent.handle(now, input, &mut out);
        for output in out.drain(..) {
            match output {
                Output::Send { to: Address::Host(host), message: Message::Pfc(pfc) } => {
                    self.signals.say(host, &pfc, self.hosts.get(&host).map(Host::ear));
                }
                Output::Send { to, message } => self.send(to, message),
                Output::Log(event) => self.written(&event),
                Output::Retune(matching) => {
                    // Hosts that are to be silent by then are told before.
                    self.signals.flush();
                    circuits::retune(&mut self.tuner, &matching, &self.counters);
                }
                // Outputs of hosts only: a controller has no queues.
                Output::ReadBacklog { .. } | Output::Open(_) | Output::Close { .. } => {}
            }
        }
        self.out = out;
        self.signals.flush();
    }

    fn send(&mut self, to: Address, message: Message) {
        let bytes = message.wire_bytes();
        let control = Control::Message(message);
        match to {
            Address::Host(host) => {
                if let Some(of) = self.hosts.get(&host) {
                    self.counters.grants.fetch_add(1, Relaxed);
                    self.counters.grant_bytes.fetch_add(bytes.into(), Relaxed);
                    if self.losses.loses() {
                        self.counters.grants_lost.fetch_add(1, Relaxed);
                    } else {
                        self.to(of.peer, control);
                    }
                }
            }
            Address::Peer => {
                self.peers.iter().for_each(|&p| self.to(p, control.clone()));
                let sent_at = self.clock.read(clock::now());
                // One that is not there hears the next heartbeat.
                self.clients.iter().for_each(|c| drop(c.send(Record::Control { sent_at, control: control.clone() })));
            }
            Address::Controller | Address::Relay(_) => {}
        }
    }

    fn written(&mut self, event: &Event) {
        match event {
            Event::RoundPlanned { .. } => drop(self.counters.rounds.fetch_add(1, Relaxed)),
            Event::SlotPlanned { .. } => drop(self.counters.slots.fetch_add(1, Relaxed)),
            Event::PlanRefused { round, fault } => {
                self.counters.refused_plans.fetch_add(1, Relaxed);
                tracing::error!("rejected the plan of round {}: {fault}", round.0);
            }
            Event::GrantsLost { .. } => {}
        }
        if let (Some(watch), Event::SlotPlanned { round, index, start, open, guard, pairs }) = (&self.watch, event) {
            let (start, pairs) = (self.clock.real(*start), || pairs.clone());
            watch.slot(|| Planned { round: *round, index: *index, start, open: *open, gap: *guard, pairs: pairs() });
        }
        let Some(log) = &mut self.log else { return };
        match event {
            // By the machine's clock, which others have as well.
            Event::SlotPlanned { round, index, start, open, guard, pairs } => log(&Event::SlotPlanned {
                round: *round,
                index: *index,
                start: self.clock.real(*start),
                open: *open,
                guard: *guard,
                pairs: pairs.clone(),
            }),
            event => log(event),
        }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Joined { peer, name } => {
                if name.starts_with("controller-") {
                    self.peers.push(peer);
                }
                self.names.insert(peer, name);
            }
            Word::Note { peer, note } => {
                if let Err(why) = self.note(peer, note) {
                    self.counters.refused.fetch_add(1, Relaxed);
                    tracing::warn!("refused: {why}");
                    self.note_to(peer, &Note::Refused(why));
                }
            }
            Word::Control { peer, control: Control::Message(message), .. } => {
                let host = self.hosts.iter().find(|(_, h)| h.peer == peer).map(|(h, _)| Address::Host(*h));
                let from = host.or_else(|| self.peers.contains(&peer).then_some(Address::Peer));
                let Some(from) = from else {
                    self.counters.refused.fetch_add(1, Relaxed);
                    return;
                };
                self.counters.heard_of_peers.fetch_add(u64::from(from == Address::Peer), Relaxed);
                if let Message::Report(report) = &message {
                    self.counters.reports.fetch_add(1, Relaxed);
                    if let Some(host) = self.hosts.values_mut().find(|h| h.peer == peer) {
                        host.sequence = host.sequence.max(report.sequence);
                    }
                }
                let now = self.clock.read(clock::now());
                self.tell(now, Input::Message { from, message });
            }
            Word::Control { .. } => drop(self.counters.refused.fetch_add(1, Relaxed)),
            Word::Left { peer, .. } => {
                self.names.remove(&peer);
                self.peers.retain(|p| *p != peer);
                let gone: Vec<HostId> = self.hosts.iter().filter(|(_, h)| h.peer == peer).map(|(h, _)| *h).collect();
                for host in gone {
                    self.leave(host);
                }
            }
        }
    }

    fn hear_peer(&mut self, word: Word) {
        if let Word::Control { control: Control::Message(message), .. } = word {
            self.counters.heard_of_peers.fetch_add(1, Relaxed);
            let now = self.clock.read(clock::now());
            self.tell(now, Input::Message { from: Address::Peer, message });
        }
    }

    fn note(&mut self, peer: PeerId, note: serde_json::Value) -> Result<(), String> {
        let hello = match serde_json::from_value(note).map_err(|e| e.to_string())? {
            Note::Hello(hello) => hello,
            // For the page, where there is one.
            Note::Counts(_) => return Ok(()),
            Note::Welcome(_) | Note::Refused(_) => return Err("unexpected note: expected hello or counts".to_owned()),
        };
        let name = self.names.get(&peer).cloned().unwrap_or_default();
        let host = HostId(hello.host);
        // A certificate speaks for its own host alone.
        if name != format!("host-{}", hello.host) {
            return Err(format!("the certificate of `{name}` is not valid for host {}", hello.host));
        }
        if hello.host >= self.host_plan.hosts {
            return Err(format!("unknown host {}: expected 0 to {}", hello.host, self.host_plan.hosts - 1));
        }
        let mac: MacAddress = hello.mac.parse().map_err(|e| format!("{e}"))?;
        let key = key_of(&hello.key).ok_or("invalid key: expected 32 hexadecimal digits")?;
        if self.hosts.get(&host).is_some_and(|before| before.epoch > hello.epoch) {
            return Err(format!("host {} has joined with a newer agent", hello.host));
        }
        if self.config.encoding == SignalEncoding::Udp && hello.ip.is_none() {
            return Err(format!("host {} has no IPv4 address, which signals in datagrams need", hello.host));
        }
        self.hosts.insert(host, Host { peer, mac, ip: hello.ip, key, epoch: hello.epoch, sequence: 0 });
        self.counters.joined.fetch_add(1, Relaxed);
        tracing::info!("host {} joined from {mac}", hello.host);
        self.tell_links();
        self.welcome();
        Ok(())
    }

    /// A host is gone: what it wanted to send is nobody's any more, and nobody sends to it.
    fn leave(&mut self, host: HostId) {
        let Some(left) = self.hosts.remove(&host) else { return };
        self.counters.left.fetch_add(1, Relaxed);
        tracing::warn!("host {} left", host.0);
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).left.insert(host.0, clock::now());
        let now = self.clock.read(clock::now());
        // Newer than all that has been heard of it. Where its agent lives and only the connection
        // was lost, what it says next but one is newer still.
        let sequence = left.sequence + 1;
        let report =
            BacklogReport { epoch: left.epoch, sequence, taken_at: now, obeys: 0, backlog: Backlog::default() };
        self.tell(now, Input::Message { from: Address::Host(host), message: Message::Report(report) });
        self.tell_links();
        self.welcome();
    }

    /// Reports the links of hosts that have not joined as down.
    fn tell_links(&mut self) {
        let fabric = self.plan.fabric();
        let missing: Vec<HostId> = (0..fabric.hosts()).map(HostId).filter(|h| !self.hosts.contains_key(h)).collect();
        let dead = |node| missing.iter().any(|h| h.node() == node);
        let links = fabric.links().iter().enumerate();
        let links = links.filter(|(_, l)| dead(l.from) || dead(l.to)).map(|(i, _)| LinkId(i as u32)).collect();
        let now = self.clock.read(clock::now());
        self.tell(now, Input::Down(links));
    }

    fn welcome(&mut self) {
        let joined: Vec<(u32, String)> = self.hosts.iter().map(|(h, of)| (h.0, of.mac.to_string())).collect();
        {
            let mut state = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.joined = joined.iter().cloned().collect();
            state.left.retain(|host, _| !self.hosts.contains_key(&HostId(*host)));
        }
        let counts_every_ms = if self.watch.is_some() { COUNTS_EVERY_MS } else { 0 };
        let welcome = Note::Welcome(Welcome::new(&self.host_plan, joined, counts_every_ms));
        for host in self.hosts.values() {
            self.note_to(host.peer, &welcome);
        }
    }

    fn note_to(&self, peer: PeerId, note: &Note) {
        let Ok(note) = serde_json::to_value(note) else { return };
        // A host that has left says hello when it is back.
        let _ = self.server.send(peer, Record::Note(note));
    }

    /// One that has left hears of it when it is back, by what is said then.
    fn to(&self, peer: PeerId, control: Control) {
        let sent_at = self.clock.read(clock::now());
        if let Err(e) = self.server.send(peer, Record::Control { sent_at, control }) {
            tracing::debug!("not sent: {e}");
        }
    }
}
