//! A relay between some of the hosts and the TDMA controller, for networks with too many hosts for
//! one.
//!
//! One controller plans, because all slots have to belong to one plan. Controllers that each
//! computed the plan would have to agree on their input in every round, to the last message. A
//! relay gathers the reports of its hosts, passes on their grants, and sends their signals by its
//! own clock, which guards have to cover. It keeps nothing that could be missed: a message lost
//! between controllers costs its hosts the slots of one round.

use crate::agent::{Address, Agent, Input, Output};
use crate::inbox::{Inbox, ReportCounters};
use crate::message::{BacklogReport, Gathered, Grants, Message, Part};
use crate::signaller::{SignalConfig, Signaller};
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, Grant, HostId, Medium, Round, Time, Transmission, Trigger};

/// Configuration of a [`Relay`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayConfig {
    /// The number of this relay, from 0.
    pub number: u32,
    /// The number of all relays, see
    /// [`SlotControllerConfig::relays`](crate::SlotControllerConfig::relays).
    pub relays: u32,
    /// Counts the relay's starts.
    pub epoch: u32,
    /// The longest latency of a message to or from its hosts.
    pub control_latency: Duration,
    /// How long the relay waits for more reports after the first one: the largest delay between
    /// reports that hosts send at the same time.
    pub gather: Duration,
    /// See [`SlotControllerConfig::signals`](crate::SlotControllerConfig::signals); the skew is
    /// that of this relay's own frames.
    pub signals: Option<SignalConfig>,
}

/// Counts since a relay's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounters {
    /// Rounds passed on.
    pub rounds: u64,
    /// Messages of known rounds or of an older controller.
    pub stale: u64,
    /// Invalid messages: about foreign hosts, or without times.
    pub malformed: u64,
    /// Transmissions left out because a host had more grants by signal in a round than there are
    /// classes.
    pub left_out: u64,
}

/// In charge of one [part](Fabric::parts) of the hosts: gathers their reports, passes on their
/// grants, and sends their frames.
///
/// Relays share the load that grows with the hosts: messages to and from them, and above all
/// frames, which leave one after the other. With [signals](RelayConfig::signals) each relay opens
/// and closes gates by its own clock, so guards must cover the difference of two relays' clocks.
/// Without signals a relay only passes messages on.
///
/// A round that comes late is executed as far as it is not over. A relay that restarts continues
/// with the next round.
pub struct Relay {
    config: RelayConfig,
    fabric: Arc<Fabric>,
    /// Hosts of its part, in order.
    hosts: Vec<HostId>,
    inbox: Inbox,
    /// Reports that have not been sent on, by host.
    reports: BTreeMap<HostId, BacklogReport>,
    /// When they are sent on.
    pass_on: Option<Time>,
    sequence: u64,
    /// Epoch and number of the newest round.
    newest: Option<(u32, Round)>,
    signaller: Option<Signaller>,
    counters: RelayCounters,
}

impl Relay {
    /// A relay that has heard nothing.
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

    /// The hosts of its part, in order.
    pub fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// Counts since the start.
    pub fn counters(&self) -> &RelayCounters {
        &self.counters
    }

    /// Counts of received inputs since the start.
    pub fn heard(&self) -> &ReportCounters {
        self.inbox.counters()
    }

    fn has(&self, host: HostId) -> bool {
        self.hosts.binary_search(&host).is_ok()
    }

    fn report(&mut self, now: Time, from: Address, mut report: BacklogReport) {
        let ours = matches!(from, Address::Host(h) if self.has(h));
        // Slots need no flows, and messages between controllers do not carry them.
        if !ours || !report.backlog.bursts.is_empty() || !report.backlog.coflows().is_empty() {
            return self.inbox.malformed();
        }
        let Some(host) = self.inbox.take(from, &report) else { return };
        if self.config.signals.is_some() {
            // The host's clock may be wrong. The report is at least this old if its message was not
            // the slowest.
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
        // This controller's frames must not close what another one has started to open. Its own
        // hold closes it, as that controller plans no more.
        if self.newest.map(|n| n.0) != this.map(|n| n.0) {
            // Frames from before a restart have lower numbers.
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
            Input::Message { from, message: Message::Report(report) } => self.report(now, from, *report),
            Input::Message { from: Address::Controller, message: Message::Part(part) } => self.part(now, part, out),
            // Relays do not plan.
            Input::Down(_) | Input::Rates(..) => {}
            Input::Message { .. } | Input::Backlog(_) | Input::Changed => self.counters.malformed += 1,
        }
    }
}
