//! The control plane of a plan in virtual time: agents, their clocks, and messages between them.
//!
//! [`Controllers`] gives agents their inputs and carries out their outputs. Its parts own the state
//! of one subject each: [`nodes`] numbers agents, [`agents`] has them with their deadlines and
//! failures, [`clocks`] tells each of them the time, [`channel`] carries messages and has them
//! [`in_flight`], [`gates`] opens gates and writes tables, [`link_news`] keeps what returning
//! controllers must know. [`in_step`] has the timeslots of hosts that act in step. The proxy of
//! schemes without a plan is in [`proxies`].

mod agents;
mod channel;
mod clocks;
mod gates;
mod in_flight;
mod in_step;
mod link_news;
mod nodes;
pub(crate) mod ports;
pub(crate) mod proxies;
mod signals;
mod slots;

use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::{Changes, Controller, Network};
use agents::Agents;
use channel::{Channel, Delivery};
use clocks::Clocks;
use gates::{Gates, Trigger};
use in_step::InStep;
use link_news::LinkNews;
use nodes::Nodes;
use slots::PlannedSlot;
use timeplane_assembly::{AssemblyError, DemandSource, GrantRecord, PlanAgents, Role, Start};
use timeplane_model::{Backlog, Duration, HostId};
use timeplane_protocol::{
    Address, BacklogReport, Detail, Event, GrantBatch, Input, Message, Opening, Output, Timeslot,
};
use timeplane_results::{ControlRow, Recorder, SignalRow};
use timeplane_schedule::Algorithms;
use timeplane_workload::Streams;

/// The agents of a plan at work.
pub struct Controllers {
    nodes: Nodes,
    agents: Agents,
    clocks: Clocks,
    channel: Channel,
    gates: Gates,
    link_news: LinkNews,
    /// The timeslots of hosts that act in step; `None` where each acts by itself.
    in_step: Option<Box<InStep>>,
    /// Whether the plan lets hosts act in step.
    may_act_in_step: bool,
    demand: DemandSource,
    /// The detail in which the oracle reports.
    detail: Detail,
    /// The first plan that a controller refused.
    pub fault: Option<String>,
    /// Whether arrivals of signals are written to a table.
    pub records_signals: bool,
    /// Kept to be used again.
    outputs: Vec<Output>,
}

impl Controllers {
    /// Builds agents that have not started.
    ///
    /// # Errors
    /// If the plan names an unknown scheduler, or does not suit the fabric.
    pub fn new(plan: &dyn PlanAgents, algorithms: &Algorithms, streams: &Streams) -> Result<Self, AssemblyError> {
        let (fabric, terms) = (plan.fabric(), plan.terms());
        let nodes = Nodes::new(fabric, &terms);
        Ok(Self {
            agents: Agents::new(plan, &terms, &nodes, algorithms)?,
            clocks: Clocks::new(&nodes, &terms, streams),
            channel: Channel::new(fabric, &terms, &nodes, streams),
            gates: Gates::new(fabric, &terms),
            nodes,
            link_news: LinkNews::default(),
            in_step: None,
            may_act_in_step: in_step::is_possible(&terms),
            demand: terms.demand,
            detail: terms.reporting.detail,
            fault: None,
            records_signals: false,
            outputs: Vec::new(),
        })
    }

    /// All controllers of this plan.
    pub fn controllers(&self) -> Vec<Controller> {
        self.nodes.controllers()
    }

    /// Lets hosts use their timeslots in step, where the plan, the network and the records allow
    /// it. Returns whether they do. Called before the run. Changes no result.
    pub fn act_in_step(&mut self, network: &Network) -> bool {
        if self.may_act_in_step && !self.gates.records_grants() && network.is_steady() {
            self.in_step = Some(Box::new(InStep::new(self.nodes.leader(), self.channel.latency())));
        }
        self.in_step.is_some()
    }

    /// Lets each host act by itself.
    pub fn act_alone(&mut self) {
        self.in_step = None;
    }

    /// Writes grants to tables from now on.
    pub fn record_grants(&mut self, record: GrantRecord) {
        self.gates.record_grants(record);
    }

    /// Builds a successor for each return of a controller.
    ///
    /// # Errors
    /// As [`Controllers::new`].
    pub fn restart_at(
        &mut self,
        controller: Controller,
        times: &[SimTime],
        plan: &dyn PlanAgents,
        algorithms: &Algorithms,
    ) -> Result<(), AssemblyError> {
        let position = self.nodes.find(controller).and_then(|node| self.nodes.position(node));
        let Some(position) = position else { return Ok(()) };
        let role = match controller {
            Controller::First => Role::Planner(0),
            Controller::Standby => Role::Planner(1),
            Controller::Relay(number) => Role::Relay(number),
        };
        for (epoch, at) in (1..).zip(times) {
            let start = Start { epoch, at: at.on_perfect_clock(), after_restart: true };
            self.agents.push_successor(position, plan.controller(role, start, algorithms)?);
        }
        Ok(())
    }

    /// Schedules the first deadlines and beacons.
    pub fn begin(&mut self, network: &mut Network) {
        if let Some(ports) = &mut network.ports {
            ports.add_controllers(self.nodes.count());
        }
        for node in 0..self.nodes.count() as u32 {
            self.arm(SimTime::ZERO, node, network);
        }
        if let Some(interval) = self.clocks.beacon_interval() {
            for host in self.nodes.hosts() {
                self.channel.schedule(SimTime::ZERO + interval, host, Delivery::Beacon);
            }
        }
    }

    /// Agents fail and return, and planners hear of links.
    pub fn fail(&mut self, at: SimTime, changes: &Changes, network: &mut Network, ends: &mut Endpoints) {
        // A scheme may lack a controller that fails in another one.
        let controllers = changes.controllers.iter().filter_map(|&(c, works)| Some((self.nodes.find(c)?, works)));
        let nodes: Vec<(u32, bool)> = changes.hosts.iter().copied().chain(controllers).collect();
        for (node, works) in nodes {
            self.agents.set_down(node, !works);
            if !works {
                continue;
            }
            if self.nodes.position(node).is_some() {
                for input in self.link_news.inputs() {
                    self.handle(at, node, input, network, ends);
                }
            } else {
                self.changed(at, node, network);
            }
            // Deadlines that passed in the meantime are due at once.
            self.arm(at, node, network);
        }
        if let Some(dead) = &changes.dead {
            self.link_news.set_dead(dead);
            self.tell_planners(at, &Input::Down(dead.clone()), network, ends);
        }
        for (from, rates) in &changes.rates {
            self.link_news.add_rates(at, *from, rates);
            self.tell_planners(at, &Input::Rates(from.on_perfect_clock(), rates.clone()), network, ends);
        }
    }

    fn tell_planners(&mut self, at: SimTime, input: &Input, network: &mut Network, ends: &mut Endpoints) {
        for node in self.nodes.planners() {
            self.handle(at, node, input.clone(), network, ends);
        }
    }

    /// A frame of a message arrives in band, or was lost.
    pub fn frame(&mut self, at: SimTime, number: u64, lost: bool) {
        self.channel.frame(at, number, lost);
    }

    /// When the next message arrives.
    pub fn next_message(&self) -> Option<SimTime> {
        self.channel.next()
    }

    /// Carries out the next delivery.
    pub fn deliver(&mut self, at: SimTime, network: &mut Network, ends: &mut Endpoints) {
        let Some((from, to, delivery)) = self.channel.pop() else { return };
        let message = match delivery {
            Delivery::AtPort { message, bytes, soonest } => {
                let arrives = network.ports.as_mut().map_or(at, |ports| ports.arrive(at, to, bytes));
                return self.channel.receive(arrives, (from, to), self.nodes.hop(from, to), message, soonest);
            }
            Delivery::Message(message) => {
                let message = self.channel.take(message);
                if self.agents.is_down(to) {
                    return self.channel.lose(from, self.nodes.hop(from, to));
                }
                message
            }
            Delivery::Open(_) | Delivery::Beacon if self.agents.is_down(to) => return,
            Delivery::Open(opens) => {
                let (opening, closes) = *opens;
                let delay = self.channel.latency() + self.channel.signals.least_until_off();
                return self.open(at, to, &opening, Trigger::Signal { closes, delay }, network, ends);
            }
            Delivery::Beacon => return self.set_clock(at, to, network),
        };
        if let Some(capture) = &mut network.capture {
            capture.heard(at, from, to, &message);
        }
        if let Message::Flyways(told) = message {
            return network.tell_rack(at, to, told, ends);
        }
        let from = self.nodes.address(from, to);
        self.handle(at, to, Input::Message { from, message }, network, ends);
    }

    /// A beacon sets a host's clock.
    fn set_clock(&mut self, at: SimTime, host: u32, network: &mut Network) {
        let Some(interval) = self.clocks.beacon_interval() else { return };
        self.clocks.set(at, host);
        self.agents.disarm(host);
        self.arm(at, host, network);
        self.channel.schedule(at + interval, host, Delivery::Beacon);
    }

    /// An agent's deadline passes, unless the event is stale.
    pub fn due(&mut self, at: SimTime, node: u32, network: &mut Network, ends: &mut Endpoints) {
        if self.agents.take_due(at, node) {
            if let Some(in_step) = self.in_step.as_mut().filter(|_| self.nodes.position(node).is_none()) {
                in_step.hear(at, node, &mut self.agents, &mut self.channel, network);
            }
            if self.demand == DemandSource::Oracle && node == self.nodes.leader() {
                self.tell_demand(at, network, ends);
            }
            if !self.start_openings(at, node, network, ends) {
                self.handle(at, node, Input::Due, network, ends);
            }
        }
    }

    /// Opens the gates of a host that are due. `false` if its agent has more to do, or `node` is no
    /// host.
    fn start_openings(&mut self, at: SimTime, node: u32, network: &mut Network, ends: &mut Endpoints) -> bool {
        let now = self.clocks.of(node).read(at);
        if self.agents.is_down(node) || self.agents.host(node).is_none_or(|host| host.is_to_report(now)) {
            return false;
        }
        while let Some(opening) = self.agents.host(node).and_then(|host| host.next_opening(now)) {
            self.open(at, node, &opening, Trigger::Clock, network, ends);
        }
        self.arm(at, node, network);
        true
    }

    /// A timeslot starts for hosts that act in step.
    pub fn start_timeslot(&mut self, at: SimTime, network: &mut Network, ends: &mut Endpoints) {
        let Some(mut in_step) = self.in_step.take() else { return };
        network.move_ahead(at, ends);
        if let Some(slot) = in_step.start(at) {
            let queue_of = |timeslot: &Timeslot| (timeslot.destination.0, timeslot.class.0);
            network.read_early(slot.uses.iter().map(|t| (t.host.0, queue_of(t))), ends);
            for timeslot in &slot.uses {
                let host = timeslot.host.0;
                in_step.hear(at, host, &mut self.agents, &mut self.channel, network);
                if !in_step.knows(host, &slot) {
                    continue;
                }
                self.agents.host(host).expect("an agent of a host").used_timeslot();
                let queue = queue_of(timeslot);
                let path = timeslot.path.map_or(0, |tag| tag.0 + 1);
                if !network.send_in_timeslot(at, host, queue, path, slot.until, ends) {
                    self.open(at, host, &slot.opening(timeslot), Trigger::Clock, network, ends);
                }
            }
            in_step.started(slot);
        }
        self.in_step = Some(in_step);
        self.await_timeslot(network);
    }

    /// Keeps one event pending for the next timeslot of hosts that act in step.
    fn await_timeslot(&self, network: &mut Network) {
        if let Some(start) = self.in_step.as_ref().and_then(|i| i.next_start()) {
            network.wires.calendar.push(start, EventKind::Timeslot.key());
        }
    }

    /// Sends the messages of a batch.
    fn grant(&mut self, at: SimTime, from: u32, batch: &GrantBatch, network: &mut Network) {
        let Some(in_step) = &mut self.in_step else {
            for (host, message) in batch.messages() {
                self.send(at, from, Address::Host(host), message, network);
            }
            return;
        };
        let awaits = in_step.next_start().is_some();
        in_step.send(at, batch, &mut self.channel, network);
        if !awaits {
            self.await_timeslot(network);
        }
    }

    /// The oracle reports the queues of all hosts to the leader. Its reports are newer than any
    /// that hosts send.
    fn tell_demand(&mut self, at: SimTime, network: &Network, ends: &Endpoints) {
        let leader = self.nodes.leader();
        let now = self.clocks.of(leader).read(at);
        for host in self.nodes.hosts() {
            if self.agents.is_down(host) {
                continue;
            }
            let backlog = network.backlog(at, host, Duration::ZERO, self.detail, ends);
            let sequence = self.channel.next_number();
            let report = BacklogReport { epoch: u32::MAX, sequence, taken_at: now, obeys: 0, heard: 0, backlog };
            let (from, message) = (Address::Host(HostId(host)), Message::Report(Box::new(report)));
            self.agents.get(leader).handle(now, Input::Message { from, message }, &mut self.outputs);
        }
        debug_assert!(self.outputs.is_empty(), "a report alone asks for nothing");
    }

    /// Schedules word of changed queues to a host's agent, once for all changes at `at`.
    pub fn changed(&mut self, at: SimTime, host: u32, network: &mut Network) {
        if self.agents.notify(at, host) {
            network.wires.calendar.push(at, EventKind::QueuesChanged { host }.key());
        }
    }

    /// Tells a host's agent that its queues have changed.
    pub fn tell_change(&mut self, at: SimTime, host: u32, network: &mut Network, ends: &mut Endpoints) {
        self.agents.end_notice(host);
        self.handle(at, host, Input::Changed, network, ends);
    }

    /// Gives an agent an input and carries out its outputs.
    fn handle(&mut self, at: SimTime, node: u32, input: Input, network: &mut Network, ends: &mut Endpoints) {
        if self.agents.is_down(node) {
            return;
        }
        let mut backlog = self.feed(at, node, input, network, ends);
        while let Some(read) = backlog {
            backlog = self.feed(at, node, Input::Backlog(read), network, ends);
        }
        self.arm(at, node, network);
    }

    /// Gives an agent that is up an input and carries out its outputs. Returns the backlog that it
    /// asks for.
    fn feed(
        &mut self,
        at: SimTime,
        node: u32,
        input: Input,
        network: &mut Network,
        ends: &mut Endpoints,
    ) -> Option<Backlog> {
        let by_signal = matches!(input, Input::Message { message: Message::Pfc(_), .. });
        let mut outputs = std::mem::take(&mut self.outputs);
        let now = self.clocks.of(node).read(at);
        self.agents.get(node).handle(now, input, &mut outputs);
        let mut backlog = None;
        for output in outputs.drain(..) {
            match output {
                Output::ReadBacklog(detail) => backlog = Some(self.backlog(at, node, detail, network, ends)),
                Output::Send { to, message } => self.send(at, node, to, message, network),
                Output::Grants(batch) => self.grant(at, node, &batch, network),
                Output::Open(opening) if by_signal => {
                    let opens = self.channel.signals.on(at, node);
                    self.record_signal(at, node, opening.destination, true, opens, ends);
                    self.channel.schedule(opens, node, Delivery::Open(Box::new((opening, SimTime::MAX))));
                }
                Output::Open(opening) => self.open(at, node, &opening, Trigger::Clock, network, ends),
                Output::Rates(changes) if self.gates.set_rates(at, node, &changes, &self.clocks, network) => {}
                Output::Rates(changes) => {
                    for opening in changes.iter().map(|change| change.opening(now)) {
                        self.open(at, node, &opening, Trigger::Clock, network, ends);
                    }
                }
                Output::Close { destination, class } => {
                    let closes = self.channel.signals.off(at, node);
                    self.record_signal(at, node, destination, false, closes, ends);
                    self.channel.close_pending(closes, node, (destination, class));
                    network.close(closes, node, (destination.0, class.0));
                }
                Output::Retune(matching) => network.retune(at, &matching),
                Output::Log(event) => self.log(at, node, event, network, ends),
            }
        }
        self.outputs = outputs;
        backlog
    }

    /// A signal that arrives at `at` opens or closes a gate of a host at `obeyed`.
    fn record_signal(&self, at: SimTime, host: u32, to: HostId, opens: bool, obeyed: SimTime, ends: &mut Endpoints) {
        if self.records_signals {
            let reaction_ps = (obeyed - at).as_ps();
            let row = SignalRow { time_ps: at.as_ps(), host, destination: to.0, opens, reaction_ps };
            ends.ledger.recorder.signal(&row);
        }
    }

    fn backlog(&self, at: SimTime, host: u32, detail: Detail, network: &Network, ends: &Endpoints) -> Backlog {
        match self.demand {
            DemandSource::Sockets => ends.demand(host),
            DemandSource::Queues | DemandSource::Oracle => {
                network.backlog(at, host, self.clocks.of(host).ahead(at), detail, ends)
            }
        }
    }

    /// Keeps one event pending for an agent's deadline.
    fn arm(&mut self, at: SimTime, node: u32, network: &mut Network) {
        if let Some(due) = self.agents.arm(at, node, &self.clocks) {
            network.wires.calendar.push(due, EventKind::AgentDue { node }.key());
        }
    }

    /// Sends a message to all agents that it is addressed to.
    fn send(&mut self, at: SimTime, from: u32, to: Address, message: Message, network: &mut Network) {
        let mut recipients = self.nodes.recipients(from, to).filter(|&node| node != from);
        // Mostly there is one, which gets the message without a copy.
        let Some(last) = recipients.next_back() else { return };
        for node in recipients {
            let hop = self.nodes.hop(from, node);
            self.channel.send(at, (from, node), hop, message.clone(), network);
        }
        self.channel.send(at, (from, last), self.nodes.hop(from, last), message, network);
    }

    fn open(
        &mut self,
        at: SimTime,
        host: u32,
        opening: &Opening,
        trigger: Trigger,
        network: &mut Network,
        ends: &mut Endpoints,
    ) {
        let recorder = &mut ends.ledger.recorder;
        self.gates.open(at, host, opening, trigger, &self.clocks, &self.nodes, network, recorder);
    }

    fn log(&mut self, at: SimTime, node: u32, event: Event, network: &mut Network, ends: &mut Endpoints) {
        match event {
            Event::SlotPlanned { round, index, start, open, guard, pairs } => {
                if let Some(capture) = &mut network.capture {
                    capture.planned(round.0, index, start, &pairs);
                }
                self.gates.plan(PlannedSlot { round: round.0, index, start, open, guard, pairs });
            }
            Event::RoundPlanned { .. } => self.gates.write_slots(Some(at), network, &mut ends.ledger.recorder),
            Event::PlanRefused { round, fault } => {
                self.fault.get_or_insert_with(|| format!("the plan of round {} was refused: {fault}", round.0));
            }
            Event::GrantsLost { .. } => self.channel.count_late(node),
            Event::UnheardLeader { .. } | Event::FewHosts { .. } | Event::NoEpoch { .. } => {}
        }
    }

    /// Writes slots and grants that are left, and returns the counts of messages. The last event
    /// was at `now`; messages were delivered until `heard`.
    pub fn close(
        &mut self,
        now: SimTime,
        heard: SimTime,
        network: &mut Network,
        recorder: &mut Recorder,
    ) -> Vec<ControlRow> {
        if let Some(in_step) = &mut self.in_step {
            in_step.hear_all(heard, &mut self.agents, &mut self.channel, network);
        }
        self.gates.close(now, network, recorder);
        self.channel.rows(&self.nodes)
    }
}
