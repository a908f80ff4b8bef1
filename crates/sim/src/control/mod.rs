//! The agents of a planned control in virtual time: the controller, one agent per host, and the control network between them.

mod clocks;
pub(crate) mod proxies;
mod signals;

use crate::circuit::switch::CIRCUIT;
use crate::control::clocks::Clock;
use crate::control::signals::Signals;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::hosts::nic::GateOpening;
use crate::network::{Changes, Controller, Network};
use crate::record::grants::Grants;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::{BTreeMap, VecDeque};
use timeplane_assembly::{AssemblyError, DemandSource, GrantRecord, PlanAgents, Role, Start};
use timeplane_model::{Bytes, Class, Duration, HostId, LinkId, Medium, Rate, Time};
use timeplane_protocol::{Address, Agent, Event, HostAgent, Input, Message, Opening, Output, Report};
use timeplane_results::{ControlRow, Recorder, SlotRow};
use timeplane_schedule::Schedulers;
use timeplane_workload::Streams;

/// Messages of one sender.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    messages: u64,
    bytes: u64,
    lost: u64,
    late: u64,
}

/// What happens at a node.
#[derive(Debug)]
enum Delivery {
    /// A message comes in.
    Message(Message),
    /// A gate opens, its interface's reaction time after the signal; when a frame that has come meanwhile closes it again.
    Open(Opening, SimTime),
    /// A beacon sets a host's clock.
    Beacon,
}

/// A slot that was planned and may still be going on.
#[derive(Debug)]
struct Planned {
    round: u64,
    index: u32,
    start: Time,
    open: Duration,
    gap: Duration,
    pairs: Vec<(HostId, HostId)>,
}

/// Controller and host agents.
pub struct Controllers {
    /// The controller, the one that stands by, and relays.
    controllers: Vec<Box<dyn Agent + Send>>,
    hosts: Vec<HostAgent>,
    /// Clocks of hosts, then those of controllers: right, and those of relays as far as they agree with these.
    clocks: Vec<Clock>,
    /// How often beacons set the hosts' clocks, and by how much these are off then at most.
    resync: Option<(Duration, Duration)>,
    beacons: Xoshiro256PlusPlus,
    /// When each agent's pending event fires.
    armed: Vec<SimTime>,
    /// When each host's agent is told next that its queues have changed.
    telling: Vec<SimTime>,
    latency: Duration,
    /// Between controllers.
    peer_latency: Duration,
    /// Between a relay and the others.
    relay: RelayLink,
    /// Per host, which relay is in charge of it; empty without relays.
    parts: Vec<u32>,
    /// Controllers that plan, or may.
    planners: u32,
    loss: f64,
    losses: Xoshiro256PlusPlus,
    /// Under way, by arrival, receiver, sender and number.
    messages: BTreeMap<(SimTime, u32, u32, u64), Delivery>,
    number: u64,
    signals: Signals,
    sent: Vec<Sent>,
    /// Frames that open and close gates.
    frames: Sent,
    /// What controllers say to each other.
    peers: Sent,
    /// Whether transmissions are written down one by one, and for how long after its end a slot may still be used.
    slots: Option<Duration>,
    planned: VecDeque<Planned>,
    /// Wire bytes sent in windows, by begin on the host's clock, source and destination.
    used: BTreeMap<(Time, u32, u32), u64>,
    line: Vec<Rate>,
    /// What is written down of rates and timeslots.
    grants: Option<Grants>,
    /// Agents that are down: nobody calls them, and messages to them are lost.
    down: Vec<bool>,
    /// Each controller's successors, first to last, one for each time that it returns.
    successors: Vec<VecDeque<Box<dyn Agent + Send>>>,
    /// Links that are known to carry nothing.
    dead: Vec<LinkId>,
    /// Hosts report what their sockets hold, not their queues.
    by_sockets: bool,
    /// Whether the controller knows what waits without being told.
    oracle: bool,
    /// Rates that are known, by the time from which on links have them; what has begun by the last word is one entry.
    rates: Vec<(SimTime, Vec<(LinkId, Rate)>)>,
    /// Gates open before their slots begin, by the time that light takes.
    ahead_of_light: bool,
    /// Slots run at that rate, not at that of the interface: the rest is for short flows.
    shared: bool,
    /// The first plan that the controller had to refuse.
    pub fault: Option<String>,
    out: Vec<Output>,
}

/// Between a relay and controllers that plan.
#[derive(Clone, Copy, Debug, Default)]
struct RelayLink {
    latency: Duration,
    loss: f64,
}

impl Controllers {
    /// Agents that have not begun.
    ///
    /// # Errors
    /// Where no scheduler has that name, or the fabric does not suit the plan.
    pub fn new(plan: &dyn PlanAgents, schedulers: &Schedulers, streams: &Streams) -> Result<Self, AssemblyError> {
        let (fabric, terms) = (plan.fabric(), plan.terms());
        let count = fabric.hosts();
        let relays = terms.relays.map_or(0, |r| r.count);
        let roles = (0..terms.planners).map(Role::Planner).chain((0..relays).map(Role::Relay));
        let controllers: Vec<_> =
            roles.map(|role| plan.controller(role, Start::FIRST, schedulers)).collect::<Result<_, _>>()?;
        let clock = |h: u32| {
            let one = |purpose| either_way(&mut streams.fast("host", u64::from(h), purpose));
            let drift = if terms.clocks.drift_ppm > 0.0 { one("clock drift") * terms.clocks.drift_ppm } else { 0.0 };
            Clock::new(terms.clocks.error.scale(one("clock error")), drift)
        };
        let relay_clock = |number: u32| {
            let one = either_way(&mut streams.fast("deputy", u64::from(number), "clock error"));
            Clock::new(terms.relays.map_or(Duration::ZERO, |r| r.clock_error.scale(one)), 0.0)
        };
        let planner_clocks = (0..terms.planners).map(|_| Clock::new(Duration::ZERO, 0.0));
        let nodes = count as usize + controllers.len();
        let clocks = (0..count).map(clock).chain(planner_clocks).chain((0..relays).map(relay_clock)).collect();
        Ok(Self {
            hosts: (0..count).map(|h| HostAgent::new(terms.host(HostId(h)))).collect(),
            clocks,
            resync: terms.clocks.resync.map(|every| (every, terms.clocks.error)),
            beacons: streams.fast("control", 0, "beacons"),
            armed: vec![SimTime::MAX; nodes],
            telling: vec![SimTime::MAX; count as usize],
            latency: terms.control_latency,
            peer_latency: terms.peer_latency,
            relay: terms.relays.map_or_else(RelayLink::default, |r| RelayLink { latency: r.latency, loss: r.loss }),
            parts: terms.relays.map_or_else(Vec::new, |r| fabric.parts(r.count)),
            planners: terms.planners,
            loss: terms.control_loss,
            losses: streams.fast("control", 0, "loss"),
            messages: BTreeMap::new(),
            number: 0,
            signals: Signals::new(terms.signals, fabric, relays, streams),
            sent: vec![Sent::default(); nodes],
            frames: Sent::default(),
            peers: Sent::default(),
            slots: terms.slot_slack,
            planned: VecDeque::new(),
            used: BTreeMap::new(),
            by_sockets: terms.demand == DemandSource::Sockets,
            oracle: terms.demand == DemandSource::Oracle,
            ahead_of_light: terms.opens_early,
            shared: terms.shares_links,
            line: (0..count).map(|h| fabric.link(fabric.uplink(HostId(h))).spec.rate).collect(),
            grants: None,
            down: vec![false; nodes],
            successors: controllers.iter().map(|_| VecDeque::new()).collect(),
            dead: Vec::new(),
            rates: Vec::new(),
            fault: None,
            out: Vec::new(),
            controllers,
        })
    }

    /// All controllers of this plan.
    pub fn controllers(&self) -> Vec<Controller> {
        let planners = [Controller::First, Controller::Standby].into_iter().take(self.planners as usize);
        let relays = self.controllers.len() as u32 - self.planners;
        planners.chain((0..relays).map(Controller::Relay)).collect()
    }

    /// Has the grants of a plan of rates or timeslots written down.
    pub fn record_grants(&mut self, what: GrantRecord) {
        self.grants = Some(match what {
            GrantRecord::Rates => Grants::Rates(BTreeMap::new()),
            GrantRecord::Timeslots(length) => Grants::Timeslots(length),
        });
    }

    /// A controller's place among those of this plan, where it has it.
    fn place(&self, controller: Controller) -> Option<usize> {
        let planners = self.planners as usize;
        match controller {
            Controller::First => Some(0),
            Controller::Standby => Some(1).filter(|_| planners > 1),
            Controller::Relay(d) => Some(planners + d as usize).filter(|p| *p < self.controllers.len()),
        }
    }

    /// A controller will return at these times, as a new one that knows nothing.
    ///
    /// # Errors
    /// As [`Controllers::new`].
    pub fn restart_at(
        &mut self,
        controller: Controller,
        times: &[SimTime],
        plan: &dyn PlanAgents,
        schedulers: &Schedulers,
    ) -> Result<(), AssemblyError> {
        let Some(place) = self.place(controller) else { return Ok(()) };
        let role = match controller {
            Controller::First => Role::Planner(0),
            Controller::Standby => Role::Planner(1),
            Controller::Relay(number) => Role::Relay(number),
        };
        for (epoch, at) in (1..).zip(times) {
            let start = Start { epoch, at: at.on_perfect_clock(), after_restart: true };
            self.successors[place].push_back(plan.controller(role, start, schedulers)?);
        }
        Ok(())
    }

    /// Agents fail and return, and the controller hears of links.
    pub fn fail(&mut self, at: SimTime, changes: &Changes, network: &mut Network, ends: &mut Endpoints) {
        let controller = self.controller_node();
        // A failure may be that of a controller that only another control has.
        let controllers =
            changes.controllers.iter().filter_map(|&(m, works)| Some((controller + self.place(m)? as u32, works)));
        let nodes: Vec<(u32, bool)> = changes.hosts.iter().copied().chain(controllers).collect();
        for (node, works) in nodes {
            self.down[node as usize] = !works;
            self.armed[node as usize] = SimTime::MAX;
            if !works {
                continue;
            }
            if let Some(m) = node.checked_sub(controller) {
                let successor = self.successors[m as usize].pop_front();
                self.controllers[m as usize] = successor.expect("one for each time that it returns");
                if !self.dead.is_empty() {
                    self.tell(at, node, Input::Down(self.dead.clone()), network, ends);
                }
                for (from, rates) in self.rates.clone() {
                    self.tell(at, node, Input::Rates(from.on_perfect_clock(), rates), network, ends);
                }
            } else {
                self.changed(at, node, network);
            }
            // What it has slept through is due at once.
            self.arm(at, node, network);
        }
        if let Some(dead) = &changes.dead {
            self.dead.clone_from(dead);
            for node in controller..controller + self.planners {
                self.tell(at, node, Input::Down(dead.clone()), network, ends);
            }
        }
        for (from, rates) in &changes.rates {
            self.remember_rates(at, *from, rates);
            for node in controller..controller + self.planners {
                self.tell(at, node, Input::Rates(from.on_perfect_clock(), rates.clone()), network, ends);
            }
        }
    }

    /// Keeps what a controller that returns has to know of rates.
    fn remember_rates(&mut self, at: SimTime, from: SimTime, rates: &[(LinkId, Rate)]) {
        let begun = self.rates.partition_point(|r| r.0 <= at);
        let now: BTreeMap<LinkId, Rate> = self.rates.drain(..begun).flat_map(|r| r.1).collect();
        if !now.is_empty() {
            self.rates.insert(0, (SimTime::ZERO, now.into_iter().collect()));
        }
        let place = self.rates.partition_point(|r| r.0 <= from);
        self.rates.insert(place, (from, rates.to_vec()));
    }

    /// The number of the first controller.
    fn controller_node(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// All agents wait for their first deadlines.
    pub fn begin(&mut self, network: &mut Network) {
        for node in 0..self.down.len() as u32 {
            self.arm(SimTime::ZERO, node, network);
        }
        if let Some((every, _)) = self.resync {
            for host in 0..self.controller_node() {
                self.at(SimTime::ZERO + every, host, Delivery::Beacon);
            }
        }
    }

    /// Something is to happen at a node without a message from elsewhere.
    fn at(&mut self, at: SimTime, node: u32, delivery: Delivery) {
        self.number += 1;
        self.messages.insert((at, node, node, self.number), delivery);
    }

    /// A host's clock is set, as well as the beacon's way is known.
    fn beacon(&mut self, at: SimTime, host: u32, network: &mut Network) {
        let Some((every, error)) = self.resync else { return };
        let off = error.scale(either_way(&mut self.beacons));
        self.clocks[host as usize].set(at, off);
        self.armed[host as usize] = SimTime::MAX;
        self.arm(at, host, network);
        self.at(at + every, host, Delivery::Beacon);
    }

    /// When the next control message arrives.
    pub fn next_message(&self) -> Option<SimTime> {
        self.messages.first_key_value().map(|(k, _)| k.0)
    }

    /// The first control message arrives.
    pub fn deliver(&mut self, at: SimTime, network: &mut Network, ends: &mut Endpoints) {
        let Some(((_, to, from, _), delivery)) = self.messages.pop_first() else { return };
        if self.down[to as usize] {
            self.counted(from, to).lost += u64::from(matches!(delivery, Delivery::Message(_)));
            return;
        }
        let message = match delivery {
            Delivery::Message(message) => message,
            Delivery::Open(opening, closes) => return self.open(at, to, &opening, Some(closes), network, ends),
            Delivery::Beacon => return self.beacon(at, to, network),
        };
        if let Some(capture) = &mut network.capture {
            capture.heard(at, from, to, &message);
        }
        let controller = self.controller_node();
        if let Message::Flyways(told) = message {
            return network.tell_rack(at, to, told, ends);
        }
        let from = match (from < controller, to < controller) {
            (true, _) => Address::Host(HostId(from)),
            (false, true) => Address::Controller,
            (false, false) => match (self.relay_at(from), self.relay_at(to)) {
                (Some(relay), _) => Address::Relay(relay),
                (None, Some(_)) => Address::Controller,
                (None, None) => Address::Peer,
            },
        };
        self.tell(at, to, Input::Message { from, message }, network, ends);
    }

    /// An agent's deadline passes; a stale event is told by its time.
    pub fn due(&mut self, at: SimTime, node: u32, network: &mut Network, ends: &mut Endpoints) {
        if self.armed[node as usize] == at {
            self.armed[node as usize] = SimTime::MAX;
            if self.oracle && node == self.controller_node() {
                self.tell_demand(at, network, ends);
            }
            self.tell(at, node, Input::Due, network, ends);
        }
    }

    /// The oracle tells the controller what waits at every host at this moment, as reports that are newer than all that hosts send.
    fn tell_demand(&mut self, at: SimTime, network: &Network, ends: &Endpoints) {
        let now = self.clocks[self.controller_node() as usize].read(at);
        for host in (0..self.controller_node()).filter(|&h| !self.down[h as usize]) {
            let backlog = network.backlog(at, host, Duration::ZERO, false, ends);
            self.number += 1;
            let report = Report { epoch: u32::MAX, sequence: self.number, taken_at: now, obeys: 0, backlog };
            let (from, message) = (Address::Host(HostId(host)), Message::Report(report));
            self.controllers[0].handle(now, Input::Message { from, message }, &mut self.out);
        }
        debug_assert!(self.out.is_empty(), "a report alone asks for nothing");
    }

    /// The queues of a host have changed at `at`: its agent is told, once for all that happens at this instant.
    pub fn changed(&mut self, at: SimTime, host: u32, network: &mut Network) {
        if self.telling[host as usize] != at {
            self.telling[host as usize] = at;
            network.wires.calendar.push(at, EventKind::QueuesChanged { host }.key());
        }
    }

    /// Tells a host's agent that its queues have changed.
    pub fn tell_change(&mut self, at: SimTime, host: u32, network: &mut Network, ends: &mut Endpoints) {
        self.telling[host as usize] = SimTime::MAX;
        self.tell(at, host, Input::Changed, network, ends);
    }

    fn agent(&mut self, node: u32) -> &mut dyn Agent {
        let hosts = self.hosts.len();
        match self.hosts.get_mut(node as usize) {
            Some(host) => host,
            None => self.controllers[node as usize - hosts].as_mut(),
        }
    }

    /// Gives an agent an input and carries its outputs out.
    fn tell(&mut self, at: SimTime, node: u32, input: Input, network: &mut Network, ends: &mut Endpoints) {
        if self.down[node as usize] {
            return;
        }
        let now = self.clocks[node as usize].read(at);
        let by_signal = matches!(input, Input::Message { message: Message::Pfc(_), .. });
        let mut input = Some(input);
        while let Some(next) = input.take() {
            let mut out = std::mem::take(&mut self.out);
            self.agent(node).handle(now, next, &mut out);
            for output in out.drain(..) {
                match output {
                    Output::ReadBacklog { bursts } => {
                        let ahead = self.clocks[node as usize].ahead(at);
                        let backlog = match self.by_sockets {
                            true => ends.demand(node),
                            false => network.backlog(at, node, ahead, bursts, ends),
                        };
                        input = Some(Input::Backlog(backlog));
                    }
                    Output::Send { to, message } => self.send(at, node, to, message, network),
                    Output::Open(opening) if by_signal => {
                        let opens = self.signals.on(at, node);
                        self.at(opens, node, Delivery::Open(opening, SimTime::MAX));
                    }
                    Output::Open(opening) => self.open(at, node, &opening, None, network, ends),
                    Output::Close { destination, class } => {
                        let closes = self.signals.off(at, node);
                        self.close_pending(closes, node, (destination, class));
                        network.close(closes, node, (destination.0, class.0));
                    }
                    Output::Retune(matching) => network.retune(at, &matching),
                    Output::Log(event) => self.log(at, node, event, network, ends),
                }
            }
            self.out = out;
        }
        self.arm(at, node, network);
    }

    /// Gates that are yet to open close again at `at`.
    fn close_pending(&mut self, at: SimTime, host: u32, queue: (HostId, Class)) {
        for (&(_, node, ..), delivery) in &mut self.messages {
            if let Delivery::Open(opening, closes) = delivery
                && node == host
                && (opening.destination, opening.class) == queue
            {
                *closes = at.min(*closes);
            }
        }
    }

    /// Keeps one event pending for an agent's deadline.
    fn arm(&mut self, at: SimTime, node: u32, network: &mut Network) {
        let Some(deadline) = self.agent(node).deadline() else { return };
        let due = self.clocks[node as usize].truth(deadline).max(at);
        if due < self.armed[node as usize] {
            self.armed[node as usize] = due;
            network.wires.calendar.push(due, EventKind::AgentDue { node }.key());
        }
    }

    fn send(&mut self, at: SimTime, from: u32, to: Address, message: Message, network: &mut Network) {
        let first = self.controller_node();
        let planners = first..first + self.planners;
        match to {
            Address::Host(h) => self.post(at, from, h.0, message, network),
            Address::Relay(relay) => self.post(at, from, planners.end + relay, message, network),
            // A host knows of the one that is in charge of it.
            Address::Controller if from < first && !self.parts.is_empty() => {
                self.post(at, from, planners.end + self.parts[from as usize], message, network);
            }
            // All of them hear what hosts report, and each what another one says.
            Address::Controller | Address::Peer => {
                planners.filter(|&m| m != from).for_each(|m| self.post(at, from, m, message.clone(), network));
            }
        }
    }

    /// Which relay has this number.
    fn relay_at(&self, node: u32) -> Option<u32> {
        node.checked_sub(self.controller_node() + self.planners)
    }

    /// Where a message is counted that is no frame.
    fn counted(&mut self, from: u32, to: u32) -> &mut Sent {
        let between_controllers = from.min(to) >= self.controller_node();
        if between_controllers { &mut self.peers } else { &mut self.sent[from as usize] }
    }

    /// Sends a message to a node.
    fn post(&mut self, at: SimTime, from: u32, to: u32, message: Message, network: &mut Network) {
        let frame = matches!(message, Message::Pfc(_));
        let (latency, loss) = if from.min(to) < self.controller_node() {
            (self.latency, self.loss)
        } else if self.relay_at(from.max(to)).is_some() {
            (self.relay.latency, self.relay.loss)
        } else {
            (self.peer_latency, self.loss)
        };
        let sent = if frame { &mut self.frames } else { self.counted(from, to) };
        sent.messages += 1;
        sent.bytes += u64::from(message.wire_bytes());
        let uniform = (self.losses.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if uniform < loss {
            let sent = if frame { &mut self.frames } else { self.counted(from, to) };
            sent.lost += 1;
            if let Some(capture) = &mut network.capture {
                capture.said(at, from, to, &message, true);
            }
            return;
        }
        self.number += 1;
        let departure = if frame { self.signals.departure(at, to) } else { at };
        if let Some(capture) = &mut network.capture {
            capture.said(departure, from, to, &message, false);
        }
        self.messages.insert((departure + latency, to, from, self.number), Delivery::Message(message));
    }

    /// A gate opens; one that a signal opened may have to `close` already.
    fn open(
        &mut self,
        at: SimTime,
        host: u32,
        opening: &Opening,
        closes: Option<SimTime>,
        network: &mut Network,
        ends: &mut Endpoints,
    ) {
        let until = self.clocks[host as usize].truth(opening.until);
        let (by_signal, closes) = (closes.is_some(), closes.unwrap_or(SimTime::MAX));
        if closes <= at {
            return;
        }
        let planned = if by_signal { self.planned_at(at, host, opening.destination) } else { None };
        let opened = planned.map_or(if by_signal { at.on_perfect_clock() } else { opening.from }, |p| p.start);
        // The controller sends what closes it at the slot's end.
        let end = planned.map(|p| self.clocks[self.hosts.len()].truth(p.start + p.open));
        let signalled = end.map_or(at, |end| end + self.latency + self.signals.least_until_off());
        // A slot's rate carries no more in its time; its first packet leaves at once.
        let rate = opening.rate.or(self.shared.then(|| self.line[host as usize]));
        // Beside circuits, a rate without a signal holds until another one comes.
        let in_slot = self.slots.is_some() && (by_signal || !self.ahead_of_light);
        let most = rate.filter(|_| in_slot).map_or(u64::MAX, |rate| rate.bytes_in(until - at).get());
        let path = match opening.medium {
            Medium::Path(tag) => tag.0 + 1,
            Medium::Link(_) => CIRCUIT,
            Medium::Fabric => 0,
        };
        let window = GateOpening {
            queue: (opening.destination.0, opening.class.0),
            from: at,
            until,
            closes,
            certain: if by_signal { signalled } else { SimTime::MAX },
            by_signal,
            opened,
            rate,
            paced: in_slot,
            most: opening.bytes.map_or(u64::MAX, Bytes::get).min(most),
            most_packets: opening.packets.unwrap_or(u32::MAX),
            path,
            sent: 0,
            eligible: at,
            owes: false,
        };
        let ended = network.open(at, host, window);
        self.book(host, &ended);
        if let Some(grants) = &mut self.grants {
            let recorder = &mut ends.ledger.recorder;
            grants.opened(at, until, host, opening, recorder);
            grants.ended(host, self.line[host as usize], &ended, recorder);
        }
    }

    /// The slot that a frame has opened: the last one of the pair.
    fn planned_at(&self, at: SimTime, source: u32, destination: HostId) -> Option<&Planned> {
        let now = at.on_perfect_clock();
        let pair = (HostId(source), destination);
        // Gates of circuits open a little before these are lit.
        let soon = now + self.slots.unwrap_or_default();
        let by_then = if self.ahead_of_light { soon } else { now };
        self.planned.iter().rev().find(|p| p.start <= by_then && p.pairs.contains(&pair))
    }

    fn book(&mut self, host: u32, ended: &[GateOpening]) {
        if self.slots.is_some() {
            for w in ended {
                *self.used.entry((w.opened, host, w.queue.0)).or_default() += w.sent;
            }
        }
    }

    fn log(&mut self, at: SimTime, node: u32, event: Event, network: &mut Network, ends: &mut Endpoints) {
        match event {
            Event::SlotPlanned { round, index, start, open, gap, pairs } => {
                if let Some(capture) = &mut network.capture {
                    capture.planned(round.0, index, start, &pairs);
                }
                self.planned.push_back(Planned { round: round.0, index, start, open, gap, pairs });
            }
            Event::RoundPlanned { .. } => self.write(Some(at), network, &mut ends.ledger.recorder),
            Event::PlanRefused { round, fault } => {
                self.fault.get_or_insert_with(|| format!("the plan of round {} was refused: {fault}", round.0));
            }
            Event::GrantsLost { .. } => self.sent[node as usize].late += 1,
        }
    }

    /// Writes down slots that have ended at `at`, or all.
    fn write(&mut self, at: Option<SimTime>, network: &mut Network, recorder: &mut Recorder) {
        let Some(slack) = self.slots else { return };
        for host in 0..self.controller_node() {
            let ended = network.expire(at.unwrap_or(SimTime::MAX), host);
            self.book(host, &ended);
        }
        while let Some(first) = self.planned.front() {
            if at.is_some_and(|at| first.start + first.open + slack > at.on_perfect_clock()) {
                break;
            }
            let slot = self.planned.pop_front().expect("it is there");
            if let Some(capture) = &mut network.capture {
                capture.is_over(slot.start, &slot.pairs);
            }
            for (source, destination) in slot.pairs {
                recorder.slot(&SlotRow {
                    round: slot.round,
                    slot: slot.index,
                    start_ps: slot.start.as_ps(),
                    open_ps: slot.open.as_ps(),
                    gap_ps: slot.gap.as_ps(),
                    source: source.0,
                    destination: destination.0,
                    granted_bytes: self.line[source.index()].bytes_in(slot.open).get(),
                    sent_bytes: Some(self.used.remove(&(slot.start, source.0, destination.0)).unwrap_or(0)),
                });
            }
        }
    }

    /// Writes what is left, and gives the counts of control messages.
    pub fn close(&mut self, now: SimTime, network: &mut Network, recorder: &mut Recorder) -> Vec<ControlRow> {
        self.write(None, network, recorder);
        let hosts = self.controller_node();
        if let Some(grants) = &mut self.grants {
            grants.close(now, recorder);
            for host in 0..hosts {
                grants.ended(host, self.line[host as usize], &network.expire(SimTime::MAX, host), recorder);
            }
        }
        let controller = self.controller_node();
        let row = |node: u32, s: &Sent| ControlRow {
            kind: if node >= controller { "grants" } else { "report" },
            sender: (node < controller).then_some(node),
            messages: s.messages,
            bytes: s.bytes,
            lost: s.lost,
            // A host counts grants that came late to it; the message was the controller's.
            late: 0,
        };
        let mut rows: Vec<ControlRow> = self.sent.iter().enumerate().map(|(n, s)| row(n as u32, s)).collect();
        let late = self.sent.iter().map(|s| s.late).sum();
        rows[controller as usize].late = late;
        if self.frames.messages > 0 {
            rows.push(ControlRow { kind: "pfc", ..row(controller, &self.frames) });
        }
        if self.peers.messages > 0 {
            rows.push(ControlRow { kind: "peers", ..row(controller, &self.peers) });
        }
        rows
    }
}

/// Evenly from -1 to 1.
fn either_way(stream: &mut Xoshiro256PlusPlus) -> f64 {
    let uniform = (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    2.0 * uniform - 1.0
}
