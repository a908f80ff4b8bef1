//! A relay between some of the hosts and the TDMA controller, for networks with too many hosts for one.
//!
//! One controller plans, because all slots have to belong to one plan. Controllers that each
//! computed the plan would have to agree on their input in every round, to the last message. A
//! relay gathers the reports of its hosts, passes on their grants, and sends their signals by its
//! own clock, which guards have to cover. It keeps nothing that could be missed: a message lost
//! between controllers costs its hosts the slots of one round.

use crate::agent::{Address, Agent, Input, Output};
use crate::inbox::{Inbox, ReportCounters};
use crate::message::{Gathered, Grants, Message, Part, Report};
use crate::signaller::{SignalConfig, Signaller};
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, Grant, HostId, Medium, Round, Time, Transmission, Trigger};

/// What a [`Relay`] is told at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayConfig {
    /// Which of the relays it is, from 0.
    pub number: u32,
    /// How many there are, as [`SlotControllerConfig::relays`](crate::SlotControllerConfig::relays).
    pub relays: u32,
    /// Counts its starts.
    pub epoch: u32,
    /// The longest that a message to or from one of its hosts takes one way.
    pub control_latency: Duration,
    /// Reports go on so long after the first of them has come, all in one message: by how much those that the hosts send at once can come apart.
    pub gather: Duration,
    /// As [`SlotControllerConfig::signals`](crate::SlotControllerConfig::signals); the skew is that of this relay's own frames.
    pub signals: Option<SignalConfig>,
}

/// What a relay has counted since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounters {
    /// Rounds passed on.
    pub rounds: u64,
    /// Messages of rounds known already, or of an older controller.
    pub stale: u64,
    /// Messages that no controller could mean: about foreign hosts, or without times.
    pub malformed: u64,
    /// Senders of a slot that were left out, as a host had more grants by signal in a round than there are classes for.
    pub left_out: u64,
}

/// In charge of one [part](Fabric::parts) of the hosts: it gathers their reports, passes on their grants, and sends their frames.
///
/// Of the controllers of a fabric only one plans, and the others do what it says. Several that plan alike from the same demand would need the same
/// input to the last message, or they would plan different slots; that is agreement in every round, and as slow as one controller and two more
/// messages. Here a message that is lost between controllers loses its part the slots of a round, or a round's news of its demand, and nobody is ever
/// in a foreign slot: all slots are of one plan.
///
/// What is shared is what grows with the hosts: messages from and to them, and above all the frames, which leave one after the other. By
/// [signals](RelayConfig::signals), each relay opens and closes by its own clock, so that a guard has to cover what two of these differ by. By the
/// hosts' clocks it only passes on.
///
/// A round that comes late is executed as far as it is not over. A relay keeps nothing that hosts or controller could miss, so that one that starts anew
/// goes on with the next round.
pub struct Relay {
    config: RelayConfig,
    fabric: Arc<Fabric>,
    /// Its hosts, in order.
    hosts: Vec<HostId>,
    inbox: Inbox,
    /// What came and has not gone on, by host.
    reports: BTreeMap<HostId, Report>,
    /// When it goes on.
    pass_on: Option<Time>,
    sequence: u64,
    /// The newest round: the controller's epoch and its number.
    newest: Option<(u32, Round)>,
    signaller: Option<Signaller>,
    counters: RelayCounters,
}

impl Relay {
    /// One that has heard of nobody.
    pub fn new(config: RelayConfig, fabric: Arc<Fabric>) -> Self {
        let parts = fabric.parts(config.relays);
        let hosts = (0..fabric.hosts()).map(HostId).filter(|h| parts[h.index()] == config.number).collect();
        Self {
            config,
            hosts,
            inbox: Inbox::new(fabric.hosts()),
            reports: BTreeMap::new(),
            pass_on: None,
            sequence: 0,
            newest: None,
            signaller: None,
            counters: RelayCounters::default(),
            fabric,
        }
    }

    /// The hosts that it is in charge of, in order.
    pub fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// What it has counted.
    pub fn counters(&self) -> &RelayCounters {
        &self.counters
    }

    /// What came in from hosts.
    pub fn heard(&self) -> &ReportCounters {
        self.inbox.counters()
    }

    fn has(&self, host: HostId) -> bool {
        self.hosts.binary_search(&host).is_ok()
    }

    fn report(&mut self, now: Time, from: Address, mut report: Report) {
        let ours = matches!(from, Address::Host(h) if self.has(h));
        // Slots need no flows, and a controller's messages have no place for them.
        if !ours || !report.backlog.bursts.is_empty() {
            return self.inbox.malformed();
        }
        let Some(host) = self.inbox.take(from, &report) else { return };
        if self.config.signals.is_some() {
            // The host's clock says nothing. No later than this, where the message did not take longer than any may.
            report.taken_at = now - self.config.control_latency;
        }
        self.reports.insert(host, report);
        self.pass_on.get_or_insert(now.saturating_add(self.config.gather));
    }

    fn part(&mut self, now: Time, part: Part, out: &mut Vec<Output>) {
        let this = Some((part.epoch, part.round));
        if self.newest >= this {
            self.counters.stale += 1;
            return;
        }
        let timed = |g: &Grant| match (g.start, g.end) {
            (Trigger::At(start), Trigger::At(end)) => {
                end.as_ps().checked_sub(start.as_ps()).is_some_and(|open| open > 0)
            }
            _ => false,
        };
        if !part.grants.iter().all(|(h, g)| self.has(*h) && timed(g)) {
            self.counters.malformed += 1;
            return;
        }
        // What another controller has begun to open is not to be closed by this one's frames, but by its own hold: that one plans no more.
        if self.newest.map(|n| n.0) != this.map(|n| n.0) {
            // Frames that it sent before it was started anew have lower numbers.
            let first = now.as_ps().max(0) as u64;
            self.signaller = self.config.signals.map(|s| Signaller::new(s, part.epoch, first, &self.fabric));
        }
        self.newest = this;
        self.counters.rounds += 1;
        let Part { epoch, round, effective, report_at, grants } = part;
        let empty = Grants { epoch, round, effective, grants: Vec::new(), report_at };
        let mut messages = vec![empty; self.fabric.hosts() as usize];
        match (&mut self.signaller, self.config.signals) {
            (Some(signaller), Some(signals)) => {
                let mut slots: BTreeMap<(Time, Time), Vec<Transmission>> = BTreeMap::new();
                for (source, grant) in grants {
                    if let (Trigger::At(start), Trigger::At(end)) = (grant.start, grant.end) {
                        slots.entry((start, end)).or_default().push(transmission(source, &grant));
                    }
                }
                let last = slots.keys().map(|s| s.1).max().unwrap_or(effective);
                let lease = last.saturating_add(signals.slack + self.config.control_latency * 2);
                let slots = slots.into_iter().map(|((start, end), transmissions)| (start, end, transmissions));
                self.counters.left_out += signaller.take(slots, lease, |_, _| None, &mut messages);
                // Times count from now.
                messages.iter_mut().for_each(|m| m.effective = now);
            }
            _ => grants.into_iter().for_each(|(h, grant)| messages[h.index()].grants.push(grant)),
        }
        for &host in &self.hosts {
            let message = Message::Grants(std::mem::replace(
                &mut messages[host.index()],
                Grants { epoch, round, effective, grants: Vec::new(), report_at },
            ));
            out.push(Output::Send { to: Address::Host(host), message });
        }
        self.due(now, out);
    }

    fn due(&mut self, now: Time, out: &mut Vec<Output>) {
        if self.pass_on.take_if(|at| *at <= now).is_some() {
            let reports = std::mem::take(&mut self.reports).into_iter().collect();
            let message = Message::Gathered(Gathered { epoch: self.config.epoch, sequence: self.sequence, reports });
            self.sequence += 1;
            out.push(Output::Send { to: Address::Controller, message });
        }
        if let Some(signaller) = &mut self.signaller {
            signaller.send(now, out);
        }
    }
}

fn transmission(source: HostId, grant: &Grant) -> Transmission {
    let path = match grant.medium {
        Medium::Path(tag) => Some(tag),
        Medium::Fabric | Medium::Link(_) => None,
    };
    let Grant { destination, class, rate, bytes, .. } = *grant;
    Transmission { source, destination, class, path, rate, bytes }
}

impl Agent for Relay {
    fn deadline(&self) -> Option<Time> {
        let frames = self.signaller.as_ref().and_then(Signaller::due);
        [self.pass_on, frames].into_iter().flatten().min()
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Due => self.due(now, out),
            Input::Message { from, message: Message::Report(report) } => self.report(now, from, report),
            Input::Message { from: Address::Controller, message: Message::Part(part) } => self.part(now, part, out),
            // It plans nothing.
            Input::Down(_) | Input::Rates(..) => {}
            Input::Message { .. } | Input::Backlog(_) | Input::Changed => self.counters.malformed += 1,
        }
    }
}
