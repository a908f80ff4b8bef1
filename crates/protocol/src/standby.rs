//! Controllers of slots that replace each other.
//!
//! One of them leads and the others follow; epochs decide between two that both lead.

use crate::agent::{Address, Agent, Event, Input, Output};
use crate::epochs::KnownEpochs;
use crate::message::{BacklogReport, Heartbeat, Message, short_round};
use crate::slots::{SlotController, SlotControllerConfig};
use crate::witnesses::Witnesses;
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, HostId, LinkId, Rate, Round, Time};
use timeplane_schedule::Scheduler;

/// Builds the scheduler of a controller that takes the lead.
pub type MakeScheduler = Box<dyn Fn() -> Box<dyn Scheduler> + Send>;

/// The rules of succession among several controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Succession {
    /// A follower that has heard no leader for this long takes the lead. If it is shorter than two
    /// rounds and a message, the loss of one heartbeat deposes a healthy controller.
    pub takeover: Duration,
    /// The number of controllers, at least 1.
    pub controllers: u32,
    /// The position of this controller, below `controllers`. Its epochs have this remainder when
    /// divided by `controllers`, so that no two controllers ever lead with the same one.
    pub place: u32,
}

impl Succession {
    /// The first epoch of this controller at or above `least`; `None` if there is none left.
    fn epoch(&self, least: u32) -> Option<u32> {
        let controllers = self.controllers.max(1);
        let ahead = (self.place % controllers + controllers - least % controllers) % controllers;
        least.checked_add(ahead)
    }
}

/// One of several controllers of slots for the same hosts.
///
/// The leader is a [`SlotController`] and sends a [`Heartbeat`] to its peers with every round, and
/// twice in the time of a full one. A follower that hears none for
/// [`takeover`](Succession::takeover) leads with a higher epoch, and tells the hosts at once. They
/// drop grants of the predecessor, and report that they obey the new one. It grants nothing before
/// all hosts have told so, and the slots have ended that were open then. If a host stays silent, it
/// waits until all grants and signals of the
/// predecessor have ended even at hosts that have heard nothing. So no host sends in the slot of
/// another one.
///
/// A leader follows as soon as it hears of a higher epoch, from a peer after a partition, or from
/// the [report](BacklogReport::obeys) of a host. An epoch in a report that no controller can have
/// changes nothing ([`KnownEpochs`]).
///
/// Controllers that do not hear each other agree by the majority of the hosts. Each host obeys one
/// controller, and tells all of them the newest round that it [knows](BacklogReport::heard). So a
/// follower does not take over while most hosts learn of new rounds. It takes over only if it hears
/// more than half of the hosts that it has heard since its start, and a leader that hears fewer
/// than half of them follows. So at most one of two controllers plans, even if each reaches other
/// hosts.
///
/// While all queues are empty, a leader [asks seldom](SlotControllerConfig::idle), and hosts tell
/// less. A follower waits for that much longer, or for takeover from the first report of new data.
pub struct Standby {
    config: SlotControllerConfig,
    succession: Succession,
    make: MakeScheduler,
    fabric: Arc<Fabric>,
    /// Links that are down, for the time of leading.
    dead: Vec<LinkId>,
    /// Rates of links by the time of the change. Past changes are one entry.
    rates: BTreeMap<Time, BTreeMap<LinkId, Rate>>,
    /// The highest known epoch of a controller, its own or another's.
    epoch: u32,
    /// Against impossible epochs in reports of hosts.
    known: KnownEpochs,
    /// What hosts tell of controllers.
    witnesses: Witnesses,
    /// When the leader was heard last, by itself or through hosts.
    heard: Time,
    /// Since when it waits for the leader.
    waits: Time,
    /// When hosts had data again after an idle time.
    woken: Time,
    /// How often an idle network has to be asked until its hosts prove that nobody leads.
    proofs: i64,
    /// When it looks again whether it may lead.
    look_at: Time,
    /// As a leader: the round of the last heartbeat, and when the next one is due.
    beat: (Round, Time),
    /// What was logged last, so that nothing is logged twice in a row.
    logged: Option<Event>,
    leading: Option<SlotController>,
    takeovers: u64,
}

impl Standby {
    /// A follower. It leads once it has heard no other controller for
    /// [`takeover`](Succession::takeover) and two rounds from its start on.
    pub fn new(config: SlotControllerConfig, succession: Succession, make: MakeScheduler, fabric: Arc<Fabric>) -> Self {
        let config = SlotControllerConfig { heartbeats: true, ..config };
        let (epoch, heard) = (config.epoch, config.start);
        let mut standby = Self {
            config,
            succession,
            make,
            fabric,
            dead: Vec::new(),
            rates: BTreeMap::new(),
            epoch,
            known: KnownEpochs::new(epoch),
            witnesses: Witnesses::default(),
            heard,
            waits: heard,
            woken: heard,
            proofs: 3,
            look_at: heard,
            beat: (Round(0), Time::MAX),
            logged: None,
            leading: None,
            takeovers: 0,
        };
        // Hosts may have told nothing yet, and a first report of each proves nothing.
        standby.waits = heard.saturating_add(standby.config.slots.round() * 2);
        standby.look_at = standby.waits.saturating_add(succession.takeover);
        standby
    }

    /// A controller that leads from its start on.
    ///
    /// # Panics
    ///
    /// If no epoch is left for it: epochs of a start are far below their end.
    pub fn leading(
        config: SlotControllerConfig,
        succession: Succession,
        make: MakeScheduler,
        fabric: Arc<Fabric>,
    ) -> Self {
        let mut standby = Self::new(config, succession, make, fabric);
        standby.epoch = succession.epoch(config.epoch).expect("an epoch is left for a first start");
        standby.lead(standby.config.start, standby.config.quiet);
        standby
    }

    /// The controller of slots while it leads.
    pub fn controller(&self) -> Option<&SlotController> {
        self.leading.as_ref()
    }

    /// How often it has taken over.
    pub fn takeovers(&self) -> u64 {
        self.takeovers
    }

    fn lead(&mut self, start: Time, quiet: Duration) {
        self.beat = (Round(0), Time::MAX);
        let config = SlotControllerConfig { epoch: self.epoch, start, quiet, ..self.config };
        self.leading = Some(SlotController::new(config, (self.make)(), Arc::clone(&self.fabric)));
    }

    fn take_over(&mut self, now: Time, out: &mut Vec<Output>) {
        let Some(epoch) = self.epoch.checked_add(1).and_then(|least| self.succession.epoch(least)) else {
            return self.log(Event::NoEpoch { after: self.epoch }, out);
        };
        self.epoch = epoch;
        self.takeovers += 1;
        // A predecessor that hears too few hosts may plan for that much longer.
        let longer = self.reports_within() + self.config.slots.round() - self.succession.takeover;
        let quiet = self.config.memory() + longer.max(Duration::ZERO);
        // Hosts hear of it at once: a first round does not wait for their reports.
        let before = self.config.message_time();
        self.lead(now - before, quiet + before);
        let Some(controller) = &mut self.leading else { return };
        if !self.dead.is_empty() {
            controller.handle(now, Input::Down(self.dead.clone()), out);
        }
        for (from, rates) in &self.rates {
            let rates = rates.iter().map(|(l, r)| (*l, *r)).collect();
            controller.handle(now, Input::Rates(*from, rates), out);
        }
    }

    /// Keeps rates of links for the time of leading.
    fn remember_rates(&mut self, now: Time, from: Time, rates: &[(LinkId, Rate)]) {
        self.rates.entry(from).or_default().extend(rates.iter().copied());
        while let Some(second) = self.rates.keys().nth(1).copied().filter(|second| *second <= now) {
            let (_, mut first) = self.rates.pop_first().expect("there are two");
            let newer = self.rates.entry(second).or_default();
            first.append(newer);
            *newer = first;
        }
    }

    /// A peer leads.
    fn hear(&mut self, now: Time, beat: Heartbeat) {
        self.known.hear(beat.epoch);
        if self.leading.is_some() {
            self.yield_to(now, beat.epoch);
        } else if beat.epoch >= self.epoch {
            self.epoch = beat.epoch;
            self.follow(now);
        }
        if self.leading.is_none() && beat.epoch == self.epoch {
            self.witnesses.heard_leader((beat.epoch, short_round(beat.round)));
            self.logged = None;
        }
    }

    /// A host obeys a controller, which has led but may be lost by now.
    fn hear_of(&mut self, now: Time, host: HostId, report: &BacklogReport) {
        if !self.known.believes(report.obeys) {
            return;
        }
        let idle = report.backlog.is_empty();
        if !idle && self.are_idle(now) {
            // A leader that lives plans now.
            self.woken = now;
            self.look_at = self.look_at.min(now.saturating_add(self.succession.takeover));
        }
        self.witnesses.hear(now, host, (report.obeys, report.heard), idle);
        match self.leading {
            Some(_) => self.yield_to(now, report.obeys),
            None => self.epoch = self.epoch.max(report.obeys),
        }
    }

    /// Follows if the other epoch is higher than its own.
    fn yield_to(&mut self, now: Time, epoch: u32) {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.follow(now);
        }
    }

    /// A controller was heard, itself or through hosts.
    fn follow(&mut self, now: Time) {
        self.leading = None;
        (self.heard, self.waits, self.proofs) = (now, now, 1);
        self.look_at = now.saturating_add(self.succession.takeover);
        self.witnesses.renew();
    }

    /// A leader that has heard fewer than half of the hosts for this long follows.
    fn reports_within(&self) -> Duration {
        self.succession.takeover + self.config.slots.round() + self.config.idle_longer()
    }

    /// Whether a leader asks hosts seldom.
    fn are_idle(&self, now: Time) -> bool {
        self.witnesses.are_idle(now - self.reports_within())
    }

    /// When a follower may take over at the earliest.
    fn patient_until(&self, now: Time) -> Time {
        let takeover = self.succession.takeover;
        let idle = self.waits.saturating_add(takeover + self.config.idle_longer() * self.proofs);
        if self.are_idle(now) { idle } else { idle.min(self.waits.max(self.woken).saturating_add(takeover)) }
    }

    /// Looks whether a leader may go on, or a follower take over.
    fn look(&mut self, now: Time, out: &mut Vec<Output>) {
        self.look_at = now.saturating_add(self.config.slots.round() / 2);
        if self.leading.is_some() {
            let hosts = self.witnesses.heard(now - self.reports_within());
            if hosts.is_minority() {
                self.follow(now);
                self.log(Event::FewHosts { heard: hosts.lately, of: hosts.ever }, out);
            }
            return;
        }
        let patient_until = self.patient_until(now);
        if now < patient_until {
            self.look_at = patient_until;
            return;
        }
        if self.witnesses.see_a_leader(self.heard) {
            self.follow(now);
            self.log(Event::UnheardLeader { epoch: self.epoch }, out);
            return;
        }
        // Reports for a round are sent before its heartbeat.
        let hosts = self.witnesses.heard(self.heard - self.config.lead() - self.config.message_time());
        if hosts.is_majority() {
            self.logged = None;
            self.take_over(now, out);
            // Nobody has asked the hosts for a while. They have this long to report.
            self.look_at = now.saturating_add(self.reports_within());
        } else {
            self.log(Event::FewHosts { heard: hosts.lately, of: hosts.ever }, out);
        }
    }

    /// Hands an input to the leader's controller, and sends its heartbeats.
    fn control(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        let every = self.config.slots.round() / 2;
        let Some(controller) = &mut self.leading else { return };
        let first = out.len();
        controller.handle(now, input, out);
        let mut beats = out[first..].iter().filter_map(|output| match output {
            Output::Send { message: Message::Heartbeat(beat), .. } => Some(beat.round),
            _ => None,
        });
        if let Some(round) = beats.next_back() {
            self.beat = (round, now.saturating_add(every));
        } else if self.beat.1 <= now {
            let message = Message::Heartbeat(Heartbeat { epoch: self.epoch, round: self.beat.0 });
            out.push(Output::Send { to: Address::Peer, message });
            self.beat.1 = now.saturating_add(every);
        }
    }

    /// Writes an event, unless it is the last one of these again.
    fn log(&mut self, event: Event, out: &mut Vec<Output>) {
        if self.logged.as_ref() != Some(&event) {
            out.push(Output::Log(event.clone()));
            self.logged = Some(event);
        }
    }
}

impl Agent for Standby {
    fn deadline(&self) -> Option<Time> {
        match &self.leading {
            // It looks after the hosts whenever it plans.
            Some(controller) => controller.deadline().map(|at| at.min(self.beat.1)),
            None => Some(self.look_at),
        }
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match &input {
            Input::Message { from: Address::Peer, message: Message::Heartbeat(beat) } => return self.hear(now, *beat),
            Input::Message { from: Address::Host(h), message: Message::Report(report) }
                if h.0 < self.fabric.hosts() =>
            {
                self.hear_of(now, *h, report);
            }
            Input::Message { from: Address::Relay(_), message: Message::Gathered(gathered) } => {
                let hosts = self.fabric.hosts();
                let known = gathered.reports.iter().filter(|(h, _)| h.0 < hosts);
                known.for_each(|(host, report)| self.hear_of(now, *host, report));
            }
            Input::Down(links) => self.dead.clone_from(links),
            Input::Rates(from, rates) => self.remember_rates(now, *from, rates),
            _ => {}
        }
        if input == Input::Due && self.look_at <= now {
            let led = self.leading.is_some();
            self.look(now, out);
            if !led {
                return;
            }
        }
        // The leader alone uses reports. The next ones come before the first round of a new leader.
        self.control(now, input, out);
    }
}
