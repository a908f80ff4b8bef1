//! The controller of a fabric as a daemon: an agent of `timeplane-protocol` with a clock, an
//! interface and a demand channel.
//!
//! Hosts join over the demand channel, report their backlog, and learn which hosts they can reach.
//! Signals leave by raw socket. A controller that wakes late shifts its whole schedule by the time
//! that it overslept, so that the guard between two slots is never shorter than planned
//! ([`Slipping`]).

mod circuits;
mod joining;
mod losses;
mod plan;
mod signals;

use crate::channel::{Client, Event as ChannelEvent, PeerId, Record, Server};
use crate::clock;
use crate::counters::shared_counters;
use crate::notes::{Asked, Note, Told};
use crate::seldom::Seldom;
use crate::service::{Pulse, Stop};
use crate::slipping::Slipping;
use crate::starts::Starts;
use crate::timed::{self, Inbox};
use crate::tuner::{CircuitError, Tuner};
use crate::watch::{Planned, Watch};
use joining::Hellos;
use losses::Losses;
pub use plan::{HostPlan, Plan};
pub use signals::SignalInterface;
use signals::{SignalTarget, Signals};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use timeplane_model::{Duration, HostId, Time};
use timeplane_protocol::wire::{Control, HostSecret, MacAddress, SignalEncoding, SignalKey};
use timeplane_protocol::{Address, Agent, BacklogReport, Event, Input, KnownEpochs, Message, Output};

/// Why a controller cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The plan is impossible.
    #[error(transparent)]
    Plan(#[from] crate::daemons::Failure),
    /// A socket or a system call failed.
    #[error("{what}: {source}")]
    Io {
        /// The failed operation.
        what: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// The circuit switch cannot be opened or set.
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
    /// Position among several controllers, from 0.
    pub place: u32,
    /// Whether grants of an earlier start may still be in force.
    pub after_restart: bool,
    /// Whether to ask for real-time priority.
    pub real_time: bool,
    /// The folder in which the circuit switch is pinned, for plans of circuits.
    pub circuits: Option<PathBuf>,
    /// Share of grants and rates to drop on purpose, 0 to 1. For labs.
    pub control_loss: f64,
    /// Whether hosts seal the frames between them. Others are refused.
    pub seals: bool,
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
        /// Signals that the interface refused.
        signals_lost,
        /// Grants and rates sent, including lost ones.
        grants,
        /// Bytes of these messages, as `Message::wire_bytes` counts them.
        grant_bytes,
        /// Grants and rates that were dropped on purpose, for labs.
        grants_lost,
        /// How often the circuit switch was set.
        retunes,
        /// How often setting the circuit switch failed.
        retunes_failed,
        /// Reports received.
        reports,
        /// Messages of other controllers.
        heard_of_peers,
        /// Hosts that joined, including those that rejoined.
        joined,
        /// Hosts that left.
        left,
        /// Invalid notes and names, and reports with impossible epochs.
        refused,
        /// Greetings of hosts beyond what a host may send; they are refused too.
        hellos_too_often,
        /// How often the schedule slipped.
        slips,
        /// Total time that the schedule slipped, in nanoseconds.
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
    /// Hosts that have left, and when by [`clock::now`]. Their slots go to other hosts.
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
    /// The same as JSON, for the status page.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "hosts": self.joined() })
    }
}

/// A host that has joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Host {
    peer: PeerId,
    mac: MacAddress,
    ip: Option<Ipv4Addr>,
    /// The longest packet that its interface receives.
    mtu: Option<u32>,
    key: SignalKey,
    /// For the keys of frames to it, if hosts seal them.
    secret: Option<HostSecret>,
    /// Epoch of its agent, and sequence number of that agent's newest report.
    epoch: u32,
    sequence: u64,
}

impl Host {
    /// Checks the epochs in a report of this host.
    fn check(&self, report: &BacklogReport, epochs: &KnownEpochs) -> Result<(), String> {
        if report.epoch != self.epoch {
            return Err(format!("a report of epoch {}: expected {}, as in its hello", report.epoch, self.epoch));
        }
        if epochs.is_impossible(report.obeys) {
            return Err(format!("a report that obeys epoch {}: no controller can have it", report.obeys));
        }
        Ok(())
    }

    fn signal_target(&self) -> SignalTarget {
        SignalTarget { mac: self.mac, ip: self.ip, key: self.key }
    }
}

/// Receives every event of the controller's agent.
pub type SlotLog = Box<dyn FnMut(&Event) + Send>;

/// A running controller. The thread that calls [`run`](Self::run) does everything that is timed.
pub struct Controller {
    config: ControllerConfig,
    agent: Box<dyn Agent + Send>,
    plan: Box<dyn Plan>,
    host_plan: HostPlan,
    signals: Signals,
    clock: Slipping,
    /// The circuit switch of a plan of circuits.
    tuner: Option<Tuner>,
    losses: Losses,
    inbox: Arc<Inbox<(Origin, ChannelEvent)>>,
    server: Server,
    /// Connections to controllers before this one.
    clients: Vec<Client>,
    pulse: Pulse,
    state: Arc<ControllerState>,
    hosts: BTreeMap<HostId, Host>,
    /// Epochs of all hosts that have ever joined.
    newest: BTreeMap<HostId, u32>,
    /// Whether hosts have joined or left since all were told.
    hosts_changed: bool,
    hellos: Hellos,
    /// Connected controllers.
    peers: Vec<PeerId>,
    /// The epoch of this controller's agent, unless that is one of several and chooses it.
    own: u32,
    /// When hosts may raise the epoch again.
    outbid_at: Time,
    /// Keeps epochs beyond this start.
    pub starts: Option<Starts>,
    /// Against impossible epochs that hosts tell.
    epochs: KnownEpochs,
    /// Names of connected peers that have not said hello yet.
    names: BTreeMap<PeerId, String>,
    counters: Arc<ControllerCounters>,
    /// Limits of log lines about refused messages, and about hosts that join or leave.
    refusals: Seldom,
    arrivals: Seldom,
    /// And about controllers that replace each other.
    succession: Seldom,
    out: Vec<Output>,
    /// Log of planned slots.
    pub log: Option<SlotLog>,
    /// Data of the status page, if there is one.
    watch: Option<Arc<Watch>>,
}

/// How often agents report their counters if a page shows them.
const COUNTS_EVERY_MS: u32 = 1000;

impl Controller {
    /// Creates a controller of `plan` in the network namespace of this thread. `server` connects it
    /// to hosts and controllers, `clients` to other controllers. All their events arrive in
    /// `inbox`.
    ///
    /// # Errors
    /// If the interface cannot be used, or the plan is impossible.
    pub fn new(
        config: ControllerConfig,
        plan: Box<dyn Plan>,
        server: Server,
        clients: Vec<Client>,
        inbox: Arc<Inbox<(Origin, ChannelEvent)>>,
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
            newest: BTreeMap::new(),
            own: config.epoch,
            outbid_at: Time::ZERO,
            starts: None,
            hosts_changed: false,
            hellos: Hellos::default(),
            peers: Vec::new(),
            epochs: KnownEpochs::new(config.epoch),
            names: BTreeMap::new(),
            counters,
            refusals: Seldom::default(),
            arrivals: Seldom::default(),
            succession: Seldom::default(),
            out: Vec::new(),
            log: None,
            watch: None,
            config,
            plan,
        };
        controller.tell_links();
        Ok(controller)
    }

    /// Shows its plans on a page. Reports of hosts reach the page by [`Watch::hear`], without the
    /// controller.
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

    /// The state that the status page shows.
    pub fn state(&self) -> Arc<ControllerState> {
        Arc::clone(&self.state)
    }

    /// Runs until `stop` is set, and then closes all open slots. Without a controller, the leases
    /// of the hosts decide what they do.
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
            for (origin, event) in self.inbox.drain() {
                match origin {
                    Origin::Server => self.hear(event),
                    Origin::Client => self.hear_peer(event),
                }
            }
            self.tell_hosts();
            let real = clock::now();
            let deadline = self.agent.deadline();
            if let Some(deadline) = deadline.filter(|d| *d <= self.clock.read(real)) {
                let now = self.clock.wake(real, deadline);
                self.tell(now, Input::Due);
                if self.tuner.is_some() {
                    // Circuits do not wait for this thread: work that ended late because the thread
                    // was not scheduled counts as slipped too.
                    self.clock.wake(clock::now(), deadline);
                }
                let (slipped, slips) = self.clock.slipped();
                self.counters.slips.store(slips, Relaxed);
                self.counters.slipped_ns.store(slipped.as_ps() as u64 / 1000, Relaxed);
                continue;
            }
            // Wakes regularly to read the stop flag.
            let most = real.saturating_add(Duration::from_ms(50));
            let until = deadline.map_or(most, |d| self.clock.real(d).min(most));
            timed::wait(until, &[std::os::fd::AsFd::as_fd(&*self.inbox)]).map_err(failed)?;
        }
        self.signals.close_all(|host| self.hosts.get(&host).map(Host::signal_target));
        Ok(())
    }

    fn tell(&mut self, now: Time, input: Input) {
        let mut out = std::mem::take(&mut self.out);
        self.agent.handle(now, input, &mut out);
        for output in out.drain(..) {
            match output {
                Output::Send { to: Address::Host(host), message: Message::Pfc(pfc) } => {
                    self.signals.say(host, &pfc, self.hosts.get(&host).map(Host::signal_target));
                }
                Output::Send { to, message } => self.send(to, message),
                Output::Grants(batch) => {
                    batch.messages().for_each(|(host, message)| self.send(Address::Host(host), message));
                }
                Output::Log(event) => self.written(&event),
                Output::Retune(matching) => {
                    // Hosts that must be silent by then are told first.
                    self.signals.flush();
                    circuits::retune(&mut self.tuner, &matching, &self.counters);
                }
                // Only hosts have these outputs: a controller has no queues.
                Output::ReadBacklog(_) | Output::Open(_) | Output::Rates(_) | Output::Close { .. } => {}
            }
        }
        self.out = out;
        self.signals.flush();
    }

    fn send(&mut self, to: Address, message: Message) {
        let bytes = message.wire_bytes();
        if let Message::Heartbeat(beat) = &message {
            self.epochs.hear(beat.epoch);
        }
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
                // A disconnected controller gets the next heartbeat.
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
            Event::UnheardLeader { epoch } => self.succession.say(clock::now(), |more| {
                tracing::warn!(
                    "hosts obey a controller of epoch {epoch} that this one does not hear: does each know the other in \
                     `peers`, and can they connect?{more}"
                );
            }),
            Event::NoEpoch { after } => self.succession.say(clock::now(), |more| {
                tracing::error!("cannot lead: no epoch is left after {after}{more}");
            }),
            Event::FewHosts { heard, of } => self.succession.say(clock::now(), |more| {
                tracing::warn!("only {heard} of {of} hosts are heard: another controller may lead the others{more}");
            }),
            Event::GrantsLost { .. } => {}
        }
        if let (Some(watch), Event::SlotPlanned { round, index, start, open, guard, pairs }) = (&self.watch, event) {
            let (start, pairs) = (self.clock.real(*start), || pairs.clone());
            watch.slot(|| Planned { round: *round, index: *index, start, open: *open, guard: *guard, pairs: pairs() });
        }
        let Some(log) = &mut self.log else { return };
        match event {
            // In the machine's clock, which others on this machine read too.
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

    fn hear(&mut self, event: ChannelEvent) {
        match event {
            ChannelEvent::Joined { peer, name } => {
                if name.starts_with("controller-") {
                    self.peers.push(peer);
                }
                self.names.insert(peer, name);
            }
            ChannelEvent::Note { peer, note } => {
                if let Err(why) = self.note(peer, note) {
                    self.counters.refused.fetch_add(1, Relaxed);
                    self.refusals.say(clock::now(), |more| tracing::warn!("refused: {why}{more}"));
                    self.note_to(peer, &Note::Refused(why));
                }
            }
            ChannelEvent::Control { peer, control: Control::Message(message), .. } => {
                let host = self.hosts.iter().find(|(_, h)| h.peer == peer).map(|(h, _)| Address::Host(*h));
                let from = host.or_else(|| self.peers.contains(&peer).then_some(Address::Peer));
                let Some(from) = from else {
                    self.counters.refused.fetch_add(1, Relaxed);
                    return;
                };
                self.counters.heard_of_peers.fetch_add(u64::from(from == Address::Peer), Relaxed);
                match &message {
                    Message::Report(report) => {
                        self.counters.reports.fetch_add(1, Relaxed);
                        if let Some((&number, host)) = self.hosts.iter_mut().find(|(_, h)| h.peer == peer) {
                            if let Err(why) = host.check(report, &self.epochs) {
                                self.counters.refused.fetch_add(1, Relaxed);
                                self.refusals.say(clock::now(), |more| {
                                    tracing::error!("closing the channel of host {}: {why}{more}", number.0);
                                });
                                self.server.close(peer);
                                // Now, as more reports may have arrived already.
                                self.leave(number);
                                return;
                            }
                            host.sequence = host.sequence.max(report.sequence);
                        }
                        self.outbid(report.obeys);
                    }
                    Message::Heartbeat(beat) if from == Address::Peer => self.epochs.hear(beat.epoch),
                    _ => {}
                }
                let now = self.clock.read(clock::now());
                self.tell(now, Input::Message { from, message });
            }
            ChannelEvent::Control { .. } => drop(self.counters.refused.fetch_add(1, Relaxed)),
            ChannelEvent::Left { peer, .. } => {
                self.names.remove(&peer);
                self.peers.retain(|p| *p != peer);
                let gone: Vec<HostId> = self.hosts.iter().filter(|(_, h)| h.peer == peer).map(|(h, _)| *h).collect();
                for host in gone {
                    self.leave(host);
                }
            }
        }
    }

    /// Takes a higher epoch if hosts obey one above this controller's: one of its own earlier
    /// starts, whose number was lost. Several controllers find their epochs by themselves.
    fn outbid(&mut self, told: u32) {
        let now = clock::now();
        if told <= self.own || self.plan.has_standby() || !self.epochs.believes(told) || now < self.outbid_at {
            return;
        }
        // A host that invents epochs disturbs no more than once in this time.
        self.outbid_at = now.saturating_add(Duration::from_secs(10));
        let kept = self.starts.as_ref().map_or(Ok(told.saturating_add(1)), |starts| starts.above(told));
        let start = self.clock.read(now);
        let agent = kept
            .map_err(Into::into)
            .and_then(|epoch| self.plan.agent(epoch, start, self.config.place, true).map(|agent| (epoch, agent)));
        match agent {
            Ok((epoch, agent)) => {
                tracing::warn!(
                    "hosts obey epoch {told}, above {} of this controller: starting again with {epoch}",
                    self.own
                );
                (self.own, self.agent) = (epoch, agent);
                self.tell_links();
            }
            Err(e) => tracing::error!("hosts obey epoch {told}, above {} of this controller: {e}", self.own),
        }
    }

    fn hear_peer(&mut self, event: ChannelEvent) {
        if let ChannelEvent::Control { control: Control::Message(message), .. } = event {
            self.counters.heard_of_peers.fetch_add(1, Relaxed);
            if let Message::Heartbeat(beat) = &message {
                self.epochs.hear(beat.epoch);
            }
            let now = self.clock.read(clock::now());
            self.tell(now, Input::Message { from: Address::Peer, message });
        }
    }

    fn note(&mut self, peer: PeerId, note: serde_json::Value) -> Result<(), String> {
        let hello = match serde_json::from_value(note).map_err(|e| e.to_string())? {
            Note::Hello(hello) => hello,
            // For the page, if there is one.
            Note::Counts(_) => return Ok(()),
            Note::Ask(Asked { asked }) => {
                let told = Told { asked, told: clock::monotonic_ns(), epoch: self.signals.epoch() };
                self.note_to(peer, &Note::Told(told));
                return Ok(());
            }
            Note::Welcome(_) | Note::Told(_) | Note::Epoch(_) | Note::Refused(_) => {
                return Err("unexpected note: expected hello, counts or a question".to_owned());
            }
        };
        self.hello(peer, hello)
    }

    fn note_to(&self, peer: PeerId, note: &Note) {
        let Ok(note) = serde_json::to_value(note) else { return };
        // A host that has left says hello when it rejoins.
        let _ = self.server.send(peer, Record::Note(note));
    }

    /// A host that has left gets the list when it rejoins.
    fn to(&self, peer: PeerId, control: Control) {
        let sent_at = self.clock.read(clock::now());
        if let Err(e) = self.server.send(peer, Record::Control { sent_at, control }) {
            tracing::debug!("not sent: {e}");
        }
    }
}
