//! A host's side: reports go out, grants come in, gates open.

use crate::agent::{Address, Agent, Event, Input, Opening, Output};
use crate::gate::{Gate, Refused};
use crate::message::{Grants, Message, Pfc, Rates, Report};
use crate::signalled::Signalled;
use std::collections::{BTreeMap, BTreeSet};
use timeplane_model::{Backlog, Class, Duration, HostId, Medium, Rate, Round, Time};

/// What a host's agent is told at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Which host it is.
    pub host: HostId,
    /// Counts its starts: a restarted agent has a higher one, so that its reports are newer.
    pub epoch: u32,
    /// When it reports first.
    pub start: Time,
    /// It reports at the latest this long after it last reported or heard of the controller: a lost message strands no queue. Longer than a round, see
    /// [`SlotControllerConfig::fallback`](crate::SlotControllerConfig::fallback).
    pub fallback: Duration,
    /// When it reports besides, and what.
    pub reporting: Reporting,
    /// Where PFC frames open its gates: classes below this number are destinations, others come with [grants](timeplane_model::Trigger::Signal).
    /// Its clock need agree with nobody's then: times that the controller names count from when their message was sent and came in.
    pub signals: Option<u16>,
}

/// What the controller of a host wants to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reporting {
    /// Flow by flow, see [`Backlog::bursts`].
    pub bursts: bool,
    /// At once when told that its queues have [changed](Input::Changed).
    pub on_change: bool,
    /// When a queue's last grant ends: the controller does not know how much of it was used.
    pub after_grants: bool,
}

/// What a host's agent has counted since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Reports sent.
    pub reports: u64,
    /// Of them, those that nobody asked for in time.
    pub fallbacks: u64,
    /// Grants accepted.
    pub accepted: u64,
    /// Grants executed: gates opened.
    pub executed: u64,
    /// Grants that came after their schedule was in effect.
    pub late: u64,
    /// Grants that no gate could take: empty, overlapping, without a time.
    pub refused: u64,
    /// Grants that were over before the driver called.
    pub missed: u64,
    /// Grants of a replaced controller, dropped before they began.
    pub withdrawn: u64,
    /// Messages of rounds known already, or of an older controller.
    pub stale: u64,
    /// PFC frames obeyed.
    pub signals: u64,
}

/// Reports a host's backlog when told, and opens its gates as granted.
///
/// A report is sent at the time that the last [`Grants`] named. Without such a word it is sent after
/// [`fallback`](HostConfig::fallback), again and again. An unasked [`Input::Backlog`] is reported at once, and so are changes where
/// the controller [wants](Reporting) to hear of them.
#[derive(Clone, Debug)]
pub struct HostAgent {
    config: HostConfig,
    sequence: u64,
    report_at: Time,
    /// Whether the controller named that time.
    asked: bool,
    /// The newest grants: epoch and round.
    newest: Option<(u32, Round)>,
    /// The newest rates.
    newest_rates: Option<(u32, Round)>,
    /// Gates that hold a grant.
    gates: BTreeMap<(HostId, Class), Gate>,
    /// When each gate opens next, where it does.
    opens: BTreeSet<(Time, (HostId, Class))>,
    /// Rates in force and until when, in the order of queues.
    rates: Vec<((HostId, Class), Rate, Time)>,
    signalled: Signalled,
    counters: HostCounters,
}

impl HostAgent {
    /// An agent that knows nothing and opens nothing.
    pub fn new(config: HostConfig) -> Self {
        Self {
            config,
            sequence: 0,
            report_at: config.start,
            asked: true,
            newest: None,
            newest_rates: None,
            gates: BTreeMap::new(),
            opens: BTreeSet::new(),
            rates: Vec::new(),
            signalled: Signalled::default(),
            counters: HostCounters::default(),
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> &HostCounters {
        &self.counters
    }

    /// The gate of a queue, if it holds a grant.
    pub fn gate(&self, destination: HostId, class: Class) -> Option<&Gate> {
        self.gates.get(&(destination, class))
    }

    fn report(&mut self, now: Time, mut backlog: Backlog, out: &mut Vec<Output>) {
        // What is said flow by flow is not said twice: estimates by destination give way to sums.
        if !backlog.bursts.is_empty() {
            let room = backlog.room;
            backlog = Backlog::of_bursts(backlog.bursts);
            backlog.room = room;
        }
        let obeys = self.controller();
        let report = Report { epoch: self.config.epoch, sequence: self.sequence, taken_at: now, obeys, backlog };
        self.sequence += 1;
        self.counters.reports += 1;
        out.push(Output::Send { to: Address::Controller, message: Message::Report(report) });
    }

    /// The highest epoch of a controller heard of.
    fn controller(&self) -> u32 {
        let told = [self.newest, self.newest_rates].into_iter().flatten().map(|(epoch, _)| epoch).max();
        told.max(self.signalled.epoch()).unwrap_or(0)
    }

    fn read(&self) -> Output {
        Output::ReadBacklog { bursts: self.config.reporting.bursts }
    }

    fn due(&mut self, now: Time, out: &mut Vec<Output>) {
        if self.report_at <= now {
            self.counters.fallbacks += u64::from(!self.asked);
            self.asked = false;
            self.report_at = now.saturating_add(self.config.fallback);
            out.push(self.read());
        }
        while let Some(&(time, queue)) = self.opens.first().filter(|(t, _)| *t <= now) {
            self.opens.remove(&(time, queue));
            let Some(gate) = self.gates.get_mut(&queue) else { continue };
            let (opening, missed) = gate.advance(now);
            self.counters.missed += u64::from(missed);
            self.counters.executed += u64::from(opening.is_some());
            match gate.due() {
                Some(next) => drop(self.opens.insert((next, queue))),
                None => {
                    if let Some(last) = opening.filter(|_| self.config.reporting.after_grants) {
                        self.asked |= last.until < self.report_at;
                        self.report_at = self.report_at.min(last.until);
                    }
                    if gate.is_empty() {
                        self.gates.remove(&queue);
                    }
                }
            }
            out.extend(opening.map(Output::Open));
        }
    }

    /// Takes all rates of this host, in place of those before.
    fn rates(&mut self, now: Time, message: &Rates, out: &mut Vec<Output>) {
        let this = (message.epoch, message.round);
        if self.newest_rates.is_some_and(|newest| newest >= this) {
            self.counters.stale += 1;
            return;
        }
        self.newest_rates = Some(this);
        // Who is told by grants when to report goes by these.
        if self.newest.is_none() {
            self.report_at = now.saturating_add(self.config.fallback);
            self.asked = true;
        }
        if message.lease <= now {
            self.counters.late += message.rates.len() as u64;
            return;
        }
        // Both are in the order of queues.
        let old = std::mem::take(&mut self.rates);
        let mut old = old.into_iter().filter(|r| r.2 > now).peekable();
        for &(destination, class, rate) in &message.rates {
            let key = (destination, class);
            while let Some((gone, _, until)) = old.next_if(|o| o.0 < key) {
                out.push(Self::open(gone, Rate::ZERO, now, until));
            }
            let known = old.next_if(|o| o.0 == key);
            // A lease that has more than half of its time left is not renewed.
            let holds = known.filter(|k| k.1 == rate && k.2 - now > (message.lease - now) / 2);
            if holds.is_none() {
                self.counters.accepted += 1;
                self.counters.executed += 1;
                out.push(Self::open(key, rate, now, message.lease));
            }
            self.rates.push((key, rate, holds.map_or(message.lease, |h| h.2)));
        }
        out.extend(old.map(|(gone, _, until)| Self::open(gone, Rate::ZERO, now, until)));
    }

    fn open((destination, class): (HostId, Class), rate: Rate, from: Time, until: Time) -> Output {
        let medium = Medium::Fabric;
        Output::Open(Opening { destination, class, medium, rate: Some(rate), bytes: None, packets: None, from, until })
    }

    /// Closes what is open, and opens what the frame names.
    fn pfc(&mut self, now: Time, pfc: Pfc, out: &mut Vec<Output>) {
        // One that has been replaced opens nothing, even where its successor has not sent a frame yet.
        let Some(destinations) = self.config.signals.filter(|_| pfc.epoch >= self.controller()) else {
            self.counters.stale += 1;
            return;
        };
        let Some(opened) = self.signalled.obey(now, pfc, self.config.host, destinations, out) else {
            self.counters.stale += 1;
            return;
        };
        self.counters.signals += 1;
        self.counters.executed += u64::from(opened);
    }

    fn grants(&mut self, now: Time, mut message: Grants, out: &mut Vec<Output>) {
        let this = (message.epoch, message.round);
        if self.newest.is_some_and(|newest| newest >= this) {
            self.counters.stale += 1;
            return;
        }
        if self.newest.is_some_and(|(epoch, _)| epoch < message.epoch) {
            self.counters.withdrawn += self.gates.values_mut().map(|g| u64::from(g.withdraw())).sum::<u64>();
            self.opens.clear();
        }
        self.newest = Some(this);
        if self.config.signals.is_some() {
            let late = now - message.effective;
            message.report_at = message.report_at.saturating_add(late);
            self.counters.accepted += self.signalled.learn(now, late, &message.grants);
            message.grants.clear();
        }
        // A report that would be later than the fallback is asked for in vain.
        self.report_at = message.report_at.min(now.saturating_add(self.config.fallback));
        self.asked = true;

        let mut lost = 0;
        if message.effective < now {
            lost = message.grants.len() as u32;
            self.counters.late += u64::from(lost);
        } else {
            for grant in message.grants {
                let queue = (grant.destination, grant.class);
                let gate = self.gates.entry(queue).or_default();
                let before = gate.due();
                match gate.accept(now, grant) {
                    Ok(()) => {
                        self.counters.accepted += 1;
                        let due = gate.due();
                        if due != before {
                            before.map(|t| self.opens.remove(&(t, queue)));
                            due.map(|t| self.opens.insert((t, queue)));
                        }
                    }
                    Err(refused) => {
                        lost += 1;
                        match refused {
                            Refused::Late { .. } => self.counters.late += 1,
                            Refused::NoTime | Refused::Empty | Refused::Overlap => self.counters.refused += 1,
                        }
                    }
                }
            }
        }
        if lost > 0 {
            out.push(Output::Log(Event::GrantsLost { round: message.round, grants: lost }));
        }
        // What is due at once need not wait for another call.
        self.due(now, out);
    }
}

impl Agent for HostAgent {
    fn deadline(&self) -> Option<Time> {
        Some(self.opens.first().map_or(self.report_at, |(t, _)| (*t).min(self.report_at)))
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Due => self.due(now, out),
            Input::Message { message: Message::Grants(grants), from: Address::Controller } => {
                self.grants(now, grants, out);
            }
            Input::Message { message: Message::Rates(rates), from: Address::Controller } => {
                self.rates(now, &rates, out)
            }
            Input::Message { message: Message::Pfc(pfc), from: Address::Controller } => self.pfc(now, pfc, out),
            Input::Changed if self.config.reporting.on_change => out.push(self.read()),
            Input::Changed | Input::Down(_) | Input::Rates(..) => {}
            // A host listens to its controller alone.
            Input::Message { .. } => self.counters.stale += 1,
            Input::Backlog(backlog) => self.report(now, backlog, out),
        }
    }
}
