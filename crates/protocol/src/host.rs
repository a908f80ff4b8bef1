//! The agent of a host: it reports the backlog and opens gates as granted.
//!
//! Grants of a round come ahead of time and name the time of the next report. If messages stop, the
//! agent reports at intervals, and every gate closes by itself.

use crate::agent::{Address, Agent, Event, Input, Opening, Output, RateChange};
use crate::gates::{Gates, Refused};
use crate::message::{BacklogReport, Grants, Message, Pfc, Rates, short_round};
use crate::signalled::Signalled;
use timeplane_model::{Backlog, Class, Duration, HostId, Rate, Round, Time};

/// Configuration of a [`HostAgent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// The host's number in the fabric.
    pub host: HostId,
    /// Counts the agent's starts: reports of a higher epoch are newer.
    pub epoch: u32,
    /// When the first report is due.
    pub start: Time,
    /// The agent reports this long after its last report or message of the controller at the
    /// latest, so that a lost message strands no queue; [longer](Reporting::after_idle) with empty
    /// queues. It must be longer than a round, see
    /// [`SlotControllerConfig::fallback`](crate::SlotControllerConfig::fallback).
    pub fallback: Duration,
    /// When else the agent reports, and what.
    pub reporting: Reporting,
    /// Set if PFC frames open gates: classes below this number are destinations, other ones come
    /// with [grants](timeplane_model::Trigger::Signal). The host's clock then need not agree with
    /// any other, because times in a message count from its arrival.
    pub signals: Option<u16>,
}

/// The detail of a backlog, besides bytes by destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// None.
    #[default]
    Destinations,
    /// Flow by flow, see [`Backlog::bursts`].
    Bursts,
    /// Coflow by coflow, see [`Backlog::coflows`].
    Coflows,
}

/// What a controller wants hosts to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reporting {
    /// The detail of the backlog.
    pub detail: Detail,
    /// Immediate reports of [changed](Input::Changed) queues.
    pub on_change: bool,
    /// Set if the controller asks an idle network seldom. After a report of an empty backlog, the
    /// agent then reports changed queues at once, and its fallback is longer by this time.
    pub after_idle: Option<Duration>,
    /// A report when a queue's last grant ends, since the controller does not know how much was
    /// used.
    pub after_grants: bool,
}

/// Counts since a host agent's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Reports sent.
    pub reports: u64,
    /// Reports sent because of the fallback.
    pub fallbacks: u64,
    /// Grants accepted.
    pub accepted: u64,
    /// Grants executed by opening a gate.
    pub executed: u64,
    /// Grants that arrived after their schedule took effect.
    pub late: u64,
    /// Grants that a gate refused: empty, overlapping, or without a time.
    pub refused: u64,
    /// Grants that ended before the driver called.
    pub missed: u64,
    /// Grants of a replaced controller, dropped before they started.
    pub withdrawn: u64,
    /// Messages of known rounds or of an older controller.
    pub stale: u64,
    /// PFC frames obeyed.
    pub signals: u64,
}

/// Reports a host's backlog and opens its gates as granted.
///
/// The next report is due when the last [`Grants`] said. Without that, the agent reports after
/// every [`fallback`](HostConfig::fallback). It reports an unasked [`Input::Backlog`] at once, and
/// changes if the controller [wants](Reporting) to hear of them.
#[derive(Clone, Debug)]
pub struct HostAgent {
    config: HostConfig,
    sequence: u64,
    report_at: Time,
    /// Whether the controller named that time.
    asked: bool,
    /// Epoch and round of the newest grants.
    newest: Option<(u32, Round)>,
    /// Epoch and round of the newest rates.
    newest_rates: Option<(u32, Round)>,
    /// Whether the last report was of an empty backlog.
    idle: bool,
    gates: Gates,
    /// The newest rates, in the order of queues.
    rates: Vec<(HostId, Class, Rate)>,
    /// When each of them ends.
    ends: Vec<Time>,
    /// A buffer for ends.
    old_ends: Vec<Time>,
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
            idle: true,
            gates: Gates::new(),
            rates: Vec::new(),
            ends: Vec::new(),
            old_ends: Vec::new(),
            signalled: Signalled::default(),
            counters: HostCounters::default(),
        }
    }

    /// Counts since the start.
    pub fn counters(&self) -> &HostCounters {
        &self.counters
    }

    fn report(&mut self, now: Time, mut backlog: Backlog, out: &mut Vec<Output>) {
        // With flows, the estimates by destination are dropped: sums replace them.
        if !backlog.bursts.is_empty() {
            let room = backlog.room;
            backlog = Backlog::of_bursts(backlog.bursts);
            backlog.room = room;
        }
        self.idle = backlog.is_empty();
        self.report_at = self.report_at.min(self.unasked(now));
        let obeys = self.controller();
        let heard = self.newest.filter(|(epoch, _)| *epoch == obeys).map_or(0, |(_, round)| short_round(round));
        let (epoch, sequence) = (self.config.epoch, self.sequence);
        let report = BacklogReport { epoch, sequence, taken_at: now, obeys, heard, backlog };
        self.sequence += 1;
        self.counters.reports += 1;
        out.push(Output::Send { to: Address::Controller, message: Message::Report(Box::new(report)) });
    }

    /// The highest epoch of a controller known.
    fn controller(&self) -> u32 {
        let told = [self.newest, self.newest_rates].into_iter().flatten().map(|(epoch, _)| epoch).max();
        told.max(self.signalled.epoch()).unwrap_or(0)
    }

    /// Whether a change of the queues is to be reported at once.
    fn wants_to_report(&self) -> bool {
        let Reporting { on_change, after_idle, .. } = self.config.reporting;
        on_change || after_idle.is_some() && self.idle
    }

    /// When it reports without being asked.
    fn unasked(&self, now: Time) -> Time {
        let longer = self.config.reporting.after_idle.filter(|_| self.idle).unwrap_or_default();
        // A controller's message has both.
        now.saturating_add(self.config.fallback).saturating_add(longer)
    }

    fn read(&self) -> Output {
        Output::ReadBacklog(self.config.reporting.detail)
    }

    fn due(&mut self, now: Time, out: &mut Vec<Output>) {
        if self.report_at <= now {
            self.counters.fallbacks += u64::from(!self.asked);
            self.asked = false;
            self.report_at = self.unasked(now);
            out.push(self.read());
        }
        while let Some(opening) = self.start_next(now) {
            out.push(Output::Open(opening));
        }
    }

    /// Starts the next grant whose time has come.
    fn start_next(&mut self, now: Time) -> Option<Opening> {
        let opening = self.gates.advance(now, &mut self.counters.missed)?;
        self.counters.executed += 1;
        if self.config.reporting.after_grants && !self.gates.is_granted(opening.destination, opening.class) {
            self.asked |= opening.until < self.report_at;
            self.report_at = self.report_at.min(opening.until);
        }
        Some(opening)
    }

    /// When the next grant by time starts.
    pub fn next_grant(&self) -> Option<Time> {
        self.gates.due()
    }

    /// Whether a report is due.
    pub fn is_to_report(&self, now: Time) -> bool {
        self.report_at <= now
    }

    /// The next opening that is due, where [no report is](Self::is_to_report). Called until it
    /// returns `None`, it does what [`Input::Due`] does, without a list of outputs.
    pub fn next_opening(&mut self, now: Time) -> Option<Opening> {
        debug_assert!(!self.is_to_report(now), "a report goes first");
        self.start_next(now)
    }

    /// Replaces all rates of this host.
    fn rates(&mut self, now: Time, message: Rates, out: &mut Vec<Output>) {
        let this = (message.epoch, message.round);
        if self.newest_rates.is_some_and(|newest| newest >= this) {
            self.counters.stale += 1;
            return;
        }
        self.newest_rates = Some(this);
        // If grants name the time of reports, rates do not change it.
        if self.newest.is_none() {
            self.report_at = self.unasked(now);
            self.asked = true;
        }
        if message.lease <= now {
            self.counters.late += message.rates.len() as u64;
            return;
        }
        // Both lists are in the order of queues.
        let old = std::mem::replace(&mut self.rates, message.rates);
        let ends = std::mem::replace(&mut self.ends, std::mem::take(&mut self.old_ends));
        self.ends.clear();
        let mut changes = Vec::with_capacity(self.rates.len());
        let change = |(destination, class), rate, until| RateChange { destination, class, rate, until };
        let mut old = old.iter().zip(&ends).map(|(&(d, c, rate), &until)| ((d, c), rate, until)).peekable();
        // A lease is renewed only after half of its time.
        let half = (message.lease - now) / 2;
        for &(destination, class, rate) in &self.rates {
            let key = (destination, class);
            while let Some((gone, _, until)) = old.next_if(|o| o.0 < key) {
                if until > now {
                    changes.push(change(gone, Rate::ZERO, until));
                }
            }
            let known = old.next_if(|o| o.0 == key);
            let holds = known.filter(|k| k.1 == rate && k.2 > now && k.2 - now > half);
            if holds.is_none() {
                self.counters.accepted += 1;
                self.counters.executed += 1;
                changes.push(change(key, rate, message.lease));
            }
            self.ends.push(holds.map_or(message.lease, |h| h.2));
        }
        changes.extend(old.filter(|o| o.2 > now).map(|(gone, _, until)| change(gone, Rate::ZERO, until)));
        self.old_ends = ends;
        if !changes.is_empty() {
            out.push(Output::Rates(changes));
        }
    }

    /// Closes what is open and opens the queues of the frame's class.
    fn pfc(&mut self, now: Time, pfc: Pfc, out: &mut Vec<Output>) {
        // A replaced controller opens nothing, even before the first frame of its successor.
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

    /// Hears of timeslots that the driver keeps, in a [batch](crate::GrantBatch) that is newer than
    /// all before, from a controller that was not replaced. Returns whether they may be used: the
    /// driver then opens each gate when its slot starts, and no grant is kept here. Equals a
    /// message of [`Grants`] otherwise.
    pub fn hear_timeslots(&mut self, now: Time, round: (u32, Round), effective: Time, timeslots: u32) -> bool {
        debug_assert!(self.newest.is_none_or(|newest| newest < round && newest.0 == round.0) && self.gates.is_idle());
        self.newest = Some(round);
        self.report_at = self.unasked(now);
        self.asked = true;
        let in_time = effective >= now;
        let counter = if in_time { &mut self.counters.accepted } else { &mut self.counters.late };
        *counter += u64::from(timeslots);
        in_time
    }

    /// The driver has opened a gate for a timeslot that it [keeps](Self::hear_timeslots).
    pub fn used_timeslot(&mut self) {
        self.counters.executed += 1;
    }

    fn grants(&mut self, now: Time, mut message: Grants, out: &mut Vec<Output>) {
        let this = (message.epoch, message.round);
        if self.newest.is_some_and(|newest| newest >= this) {
            self.counters.stale += 1;
            return;
        }
        let replaced = self.newest.is_some_and(|(epoch, _)| epoch < message.epoch);
        if replaced {
            self.counters.withdrawn += self.gates.withdraw();
        }
        self.newest = Some(this);
        if self.config.signals.is_some() {
            let late = now - message.effective;
            message.report_at = message.report_at.saturating_add(late);
            self.counters.accepted += self.signalled.learn(now, late, &message.grants);
            message.grants.clear();
        }
        // A report after the fallback would be useless. A new controller waits until all hosts have
        // told that they obey it.
        let report_at = if replaced { now } else { message.report_at };
        self.report_at = report_at.min(self.unasked(now));
        self.asked = true;

        let mut lost = 0;
        if message.effective < now {
            lost = message.grants.len() as u32;
            self.counters.late += u64::from(lost);
        } else {
            for grant in &message.grants {
                match self.gates.accept(now, grant) {
                    Ok(()) => self.counters.accepted += 1,
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
        // Inputs that are due at once need no other call.
        self.due(now, out);
    }
}

impl Agent for HostAgent {
    fn deadline(&self) -> Option<Time> {
        Some(self.gates.due().map_or(self.report_at, |due| due.min(self.report_at)))
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Due => self.due(now, out),
            Input::Message { message: Message::Grants(grants), from: Address::Controller } => {
                self.grants(now, grants, out);
            }
            Input::Message { message: Message::Rates(rates), from: Address::Controller } => {
                self.rates(now, rates, out);
            }
            Input::Message { message: Message::Pfc(pfc), from: Address::Controller } => self.pfc(now, pfc, out),
            Input::Changed if self.wants_to_report() => out.push(self.read()),
            Input::Changed | Input::Down(_) | Input::Rates(..) => {}
            // Hosts accept messages of their controller only.
            Input::Message { .. } => self.counters.stale += 1,
            Input::Backlog(backlog) => self.report(now, backlog, out),
        }
    }
}
