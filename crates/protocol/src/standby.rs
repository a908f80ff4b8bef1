//! Controllers of slots that replace each other.
//!
//! One of them leads and the others follow; epochs decide between two that both lead.

use crate::agent::{Address, Agent, Input, Output};
use crate::epochs::KnownEpochs;
use crate::message::{BacklogReport, Heartbeat, Message};
use crate::slots::{SlotController, SlotControllerConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, LinkId, Rate, Time};
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
    /// The first epoch of this controller at or above `least`.
    fn epoch(&self, least: u32) -> u32 {
        let controllers = self.controllers.max(1);
        let ahead = (self.place % controllers + controllers - least % controllers) % controllers;
        least.saturating_add(ahead)
    }
}

/// One of several controllers of slots for the same hosts.
///
/// The leader is a [`SlotController`] and sends a [`Heartbeat`] to its peers with every round. A
/// follower that hears none for [`takeover`](Succession::takeover) leads with a higher epoch. Hosts
/// drop grants of the predecessor when they hear of it. The new leader grants nothing before
/// [`memory`](SlotControllerConfig::memory) has passed, when all grants and signals of the
/// predecessor have ended even at hosts that have heard nothing. So no host sends in the slot of
/// another one, and none is muted for longer than `takeover`, `memory`, and the time from a report
/// to its slot.
///
/// A leader follows as soon as it hears of a higher epoch, from a peer after a partition, or from
/// the [report](BacklogReport::obeys) of a host. Two controllers without contact both lead until
/// one of them hears from a host that obeys the newer one. This ends before the newer one may
/// grant, unless all of its messages to some host are lost. An epoch in a report that no controller
/// can have changes nothing ([`KnownEpochs`]).
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
    /// When the leader was heard last.
    heard: Time,
    leading: Option<SlotController>,
    takeovers: u64,
}

impl Standby {
    /// A follower. It leads once it has heard no other controller for
    /// [`takeover`](Succession::takeover) from its start on.
    pub fn new(config: SlotControllerConfig, succession: Succession, make: MakeScheduler, fabric: Arc<Fabric>) -> Self {
        let config = SlotControllerConfig { heartbeats: true, ..config };
        let (epoch, heard) = (config.epoch, config.start);
        Self {
            config,
            succession,
            make,
            fabric,
            dead: Vec::new(),
            rates: BTreeMap::new(),
            epoch,
            known: KnownEpochs::new(epoch),
            heard,
            leading: None,
            takeovers: 0,
        }
    }

    /// A controller that leads from its start on.
    pub fn leading(
        config: SlotControllerConfig,
        succession: Succession,
        make: MakeScheduler,
        fabric: Arc<Fabric>,
    ) -> Self {
        let mut standby = Self::new(config, succession, make, fabric);
        standby.epoch = succession.epoch(config.epoch);
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
        let config = SlotControllerConfig { epoch: self.epoch, start, quiet, ..self.config };
        self.leading = Some(SlotController::new(config, (self.make)(), Arc::clone(&self.fabric)));
    }

    fn take_over(&mut self, now: Time, out: &mut Vec<Output>) {
        self.epoch = self.succession.epoch(self.epoch.saturating_add(1));
        self.takeovers += 1;
        self.lead(now, self.config.memory());
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
            return self.yield_to(now, beat.epoch);
        }
        if beat.epoch >= self.epoch {
            self.epoch = beat.epoch;
            self.heard = now;
        }
    }

    /// A host obeys a controller, which has led but may be lost by now.
    fn hear_of(&mut self, now: Time, report: &BacklogReport) {
        if !self.known.believes(report.obeys) {
            return;
        }
        match self.leading {
            Some(_) => self.yield_to(now, report.obeys),
            None => self.epoch = self.epoch.max(report.obeys),
        }
    }

    /// Follows if the other epoch is higher than its own.
    fn yield_to(&mut self, now: Time, epoch: u32) {
        if epoch > self.epoch {
            self.leading = None;
            self.epoch = epoch;
            self.heard = now;
        }
    }
}

impl Agent for Standby {
    fn deadline(&self) -> Option<Time> {
        match &self.leading {
            Some(controller) => controller.deadline(),
            None => Some(self.heard.saturating_add(self.succession.takeover)),
        }
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match &input {
            Input::Message { from: Address::Peer, message: Message::Heartbeat(beat) } => return self.hear(now, *beat),
            Input::Message { from: Address::Host(h), message: Message::Report(report) }
                if h.0 < self.fabric.hosts() =>
            {
                self.hear_of(now, report);
            }
            Input::Message { from: Address::Relay(_), message: Message::Gathered(gathered) } => {
                gathered.reports.iter().for_each(|(_, report)| self.hear_of(now, report));
            }
            Input::Down(links) => self.dead.clone_from(links),
            Input::Rates(from, rates) => self.remember_rates(now, *from, rates),
            _ => {}
        }
        let silent = self.heard.saturating_add(self.succession.takeover) <= now;
        match &mut self.leading {
            Some(controller) => controller.handle(now, input, out),
            None if input == Input::Due && silent => self.take_over(now, out),
            // The leader alone uses reports. The next ones come before the first round of a new
            // leader.
            None => {}
        }
    }
}
