//! Controllers of slots that replace each other.

use crate::agent::{Address, Agent, Input, Output};
use crate::message::{Heartbeat, Message, Report};
use crate::slots::{SlotController, SlotControllerConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, LinkId, Rate, Time};
use timeplane_schedule::Scheduler;

/// Makes the scheduler of a controller that begins.
pub type MakeScheduler = Box<dyn Fn() -> Box<dyn Scheduler> + Send>;

/// Who of several controllers leads when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Succession {
    /// One that has heard of no other for so long leads. Longer than two rounds and a message, or the loss of one heartbeat deposes a
    /// controller that is well.
    pub takeover: Duration,
    /// How many controllers there are, at least 1.
    pub controllers: u32,
    /// Which of them this is, from 0, below `controllers`. Its epochs leave this rest when divided by `controllers`, so that no two controllers ever lead with
    /// the same one.
    pub place: u32,
}

impl Succession {
    /// The first epoch of this controller that is no lower than `least`.
    fn epoch(&self, least: u32) -> u32 {
        let controllers = self.controllers.max(1);
        let ahead = (self.place % controllers + controllers - least % controllers) % controllers;
        least.saturating_add(ahead)
    }
}

/// One of several controllers of slots for the same hosts, of which one leads.
///
/// The one that leads is a [`SlotController`] and sends a [`Heartbeat`] to its peers with every round. One that has heard none for
/// [`takeover`](Succession::takeover) leads from then on, with a higher epoch, so that hosts drop what the predecessor granted as soon as they
/// hear of it; and it grants nothing before [`memory`](SlotControllerConfig::memory) is over, so that all that the predecessor granted, or opened by
/// a signal, is over even at hosts that have heard nothing. So nobody sends in a foreign slot, and nobody is muted for longer than `takeover`,
/// `memory`, and the time from a report to its slot.
///
/// One that leads and hears of a higher epoch follows from then on, whether a peer says so, as after it was cut off from the others for a while, or a
/// host in its [report](Report::obeys). Two that are cut off from each other both lead only for as long as neither hears from a host that has
/// heard of the newer one; hosts that have obey it alone. That is over when the newer one may grant, unless all of its messages of that
/// time to some host are lost.
pub struct Standby {
    config: SlotControllerConfig,
    succession: Succession,
    make: MakeScheduler,
    fabric: Arc<Fabric>,
    /// Links that are known to carry nothing, for the controller that it will be.
    dead: Vec<LinkId>,
    /// Rates of links by the time from which on they have them, what has begun as one entry.
    rates: BTreeMap<Time, BTreeMap<LinkId, Rate>>,
    /// The highest epoch of a controller known, its own or another's.
    epoch: u32,
    /// When it was heard of last.
    heard: Time,
    leading: Option<SlotController>,
    takeovers: u64,
}

impl Standby {
    /// A controller that follows: it leads once it has heard of no other for [`takeover`](Succession::takeover) from the configuration's start on.
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

    /// The controller, where it leads.
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

    /// Keeps what it has to know of rates once it leads.
    fn remember_rates(&mut self, now: Time, from: Time, rates: &[(LinkId, Rate)]) {
        self.rates.entry(from).or_default().extend(rates.iter().copied());
        while let Some(second) = self.rates.keys().nth(1).copied().filter(|second| *second <= now) {
            let (_, mut first) = self.rates.pop_first().expect("there are two");
            let newer = self.rates.entry(second).or_default();
            first.append(newer);
            *newer = first;
        }
    }

    /// A peer is there.
    fn hear(&mut self, now: Time, beat: Heartbeat) {
        if self.leading.is_some() {
            return self.yield_to(now, beat.epoch);
        }
        if beat.epoch >= self.epoch {
            self.epoch = beat.epoch;
            self.heard = now;
        }
    }

    /// A host obeys a controller: no proof that this is still there, but it was.
    fn hear_of(&mut self, now: Time, report: &Report) {
        match self.leading {
            Some(_) => self.yield_to(now, report.obeys),
            None => self.epoch = self.epoch.max(report.obeys),
        }
    }

    /// Follows, where the other's epoch is higher than its own.
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
            // Reports are for the controller that leads; the next ones come before the first round is planned.
            None => {}
        }
    }
}
