//! The controller of TDMA: it plans rounds of slots from reports and grants them ahead of time.
//!
//! Each round is planned while the one before runs, see [`SlotController`].

use crate::agent::{Address, Agent, Event, Input, Output, PlanFault};
use crate::inbox::{Inbox, ReportCounters};
use crate::message::{BacklogReport, Gathered, Grants, Heartbeat, Message, Part, size};
use crate::signaller::{SignalConfig, Signaller};
use std::collections::VecDeque;
use std::sync::Arc;
use timeplane_model::{
    Backlog, BacklogEntry, Bytes, Demand, Duration, Fabric, Grant, HostId, LinkId, Medium, Plan, Rate, Round, Schedule,
    ScheduleEntry, Time, Transmission, Trigger,
};
use timeplane_schedule::{Scheduler, SlotParameters, Standing};

/// Configuration of a [`SlotController`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotControllerConfig {
    /// Counts the controller's starts: hosts drop grants of a lower epoch.
    pub epoch: u32,
    /// When planning starts. Hosts that start at the same time send their first reports then.
    pub start: Time,
    /// Slots of a round. The guard must cover the differences of two hosts' clocks and of two
    /// paths' delays.
    pub slots: SlotParameters,
    /// The longest latency of a message, from call to call.
    pub control_latency: Duration,
    /// How long the scheduler computes; grants are sent that long after planning starts.
    pub compute_time: Duration,
    /// Bound of the error of each clock, either way. Two clocks differ by up to twice as much.
    pub clock_error: Duration,
    /// Added to every wait for a message, for the rounding of drivers and clocks.
    pub margin: Duration,
    /// How often an idle network is asked for reports: one whose hosts all obey this controller and
    /// have empty queues. Another round without slots is as long, but not longer than a full one.
    /// If it is longer than a slot with its guard, a report of a backlog ends it, and so does a
    /// report of a host that obeys another controller.
    pub idle: Duration,
    /// Nothing is granted for this long after the start, or until all hosts have told that they
    /// obey this controller. After a restart it is [`memory`](Self::memory), so that grants of the
    /// predecessor have ended at all hosts.
    pub quiet: Duration,
    /// PFC frames open and close gates at the start and the end of each slot, instead of hosts'
    /// clocks.
    pub signals: Option<SignalConfig>,
    /// Hosts have receive buffers. Nothing is planned for a host that has not reported its room.
    pub receive_buffers: bool,
    /// Sends a heartbeat to its [peers](Address::Peer) with every round.
    pub heartbeats: bool,
    /// The number of [relays](crate::Relay), each in charge of one [part](Fabric::parts) of the
    /// hosts; 0 without relays. All messages go through relays, and the [control
    /// latency](Self::control_latency) is that of the whole way.
    pub relays: u32,
    /// Bound of the error of a relay's clock, either way.
    pub relay_error: Duration,
    /// Rates that grants pass on their way; `None` if they take no time.
    pub ports: Option<ControlPorts>,
}

/// Rates that the messages of a round pass, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPorts {
    /// Rate of what all messages pass.
    pub all: Rate,
    /// Rate of what only those of one host pass.
    pub each: Rate,
    /// The time on ports that the [control latency](SlotControllerConfig::control_latency)
    /// includes. A round whose messages take longer starts later.
    pub included: Duration,
}

impl SlotControllerConfig {
    /// A controller that starts at its clock's zero, with 20 us control latency, 100 us compute
    /// time, perfect clocks, 1 us margin, and idle rounds of one slot.
    pub fn new(slots: SlotParameters) -> Self {
        Self {
            epoch: 0,
            start: Time::ZERO,
            slots,
            control_latency: Duration::from_us(20),
            compute_time: Duration::from_us(100),
            clock_error: Duration::ZERO,
            margin: Duration::from_us(1),
            idle: slots.period(),
            quiet: Duration::ZERO,
            signals: None,
            receive_buffers: false,
            heartbeats: false,
            relays: 0,
            relay_error: Duration::ZERO,
            ports: None,
        }
    }
    /// How much longer than reckoned the grants of these entries take on their way.
    fn excess(&self, entries: &[ScheduleEntry], hosts: u32) -> Duration {
        let Some(ports) = self.ports else { return Duration::ZERO };
        let mut grants = vec![0u64; hosts as usize];
        for t in entries.iter().flat_map(|e| e.slot.transmissions()) {
            grants[t.source.index()] += 1;
        }
        // A grant may have a rate and a limit.
        let grant = size::GRANT + size::RATE + size::LIMIT + size::long(self.slots.open);
        // Relays get the host of each grant, and pass grants on once more.
        let (bytes, ways) = if self.relays > 0 { (grant + size::HOST, 2) } else { (grant, 1) };
        let sizes = grants.iter().map(|&n| Message::most_of_grants(n, bytes));
        let (all, longest) = sizes.fold((Bytes::ZERO, Bytes::ZERO), |(sum, most), b| (sum + b, most.max(b)));
        let takes = ports.all.time_for(all) + ports.each.time_for(longest);
        (takes * ways - ports.included).max(Duration::ZERO)
    }
    /// The time from sending a message, by the sender's clock, until it has arrived in any case, by
    /// the recipient's.
    pub fn message_time(&self) -> Duration {
        self.control_latency + self.clock_error * 2 + self.margin
    }
    /// The time from the start of planning until a round can start.
    pub fn lead(&self) -> Duration {
        self.compute_time + self.message_time()
    }
    /// A fallback for [`HostConfig`](crate::HostConfig) that does nothing unless a message is lost:
    /// two rounds and two messages.
    pub fn fallback(&self) -> Duration {
        self.memory() + self.message_time() * 2
    }
    /// How much longer than a full round an idle network may wait until it is asked.
    pub fn idle_longer(&self) -> Duration {
        (self.idle - self.slots.round()).max(Duration::ZERO)
    }
    /// How far ahead grants reach: the current round and the planned one.
    pub fn memory(&self) -> Duration {
        let round = self.slots.round();
        let held = self.signals.map_or(Duration::ZERO, |s| s.hold + s.slack + self.message_time());
        (round + self.lead()) * 2 + held
    }
    /// The value for [`HostConfig::signals`](crate::HostConfig::signals) with this number of hosts.
    pub fn host_signals(&self, hosts: u32) -> Option<u16> {
        self.signals.map(|_| crate::numbering::destinations(hosts))
    }
}

/// Counts since a controller's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerCounters {
    /// Rounds planned, including empty ones.
    pub rounds: u64,
    /// Empty rounds.
    pub idle_rounds: u64,
    /// Slots planned.
    pub slots: u64,
    /// Grants sent.
    pub grants: u64,
    /// Plans refused.
    pub refused: u64,
    /// Transmissions left out because a host had more grants by signal in a round than there are
    /// classes.
    pub left_out: u64,
}

/// Plans rounds of slots from the hosts' reports and grants them ahead of time.
///
/// Rounds are pipelined: each is planned while the one before runs. Before round k+1, which starts
/// at E, this happens in order:
///
/// ```text
///  E - lead - message time    hosts take their reports (requested with round k's grants)
///  E - lead                   planning starts, with the newest report of every host
///  E - message time           grants are sent (compute time later), one message to every host
///  E                          the first slot opens, by the hosts' clocks
/// ```
///
/// Demand that was reported and that granted slots will serve is not planned again. If a round is
/// shorter than the lead, reports are older, but nothing waits for them. If it is shorter than the
/// compute time, rounds follow each other as fast as they are computed. A host without a new report
/// is planned by its last one. Lost grants cost their slots only: the bytes show in the next
/// report.
///
/// With [signals](SlotControllerConfig::signals) only the controller's clock matters. Each slot
/// starts and ends with a frame to each of its senders. Messages of a round carry only what frames
/// cannot: paths, rates and limits. The time of the next report counts from the arrival of the
/// message. The age of a report is estimated from the latency.
///
/// If [rates](Input::Rates) change at a known time, no slot lasts beyond it. Slots that would are
/// left out, and their demand stays for the next round. If no slot fits before the change, the
/// round starts with it. Every slot is planned at the rates of its time. Late news changes no
/// grants.
///
/// A round without demand has no slots. It only asks for reports, every
/// [`idle`](SlotControllerConfig::idle).
pub struct SlotController {
    config: SlotControllerConfig,
    fabric: Arc<Fabric>,
    /// The working part of the fabric, which plans use.
    usable: Arc<Fabric>,
    /// Links that are down.
    dead: Vec<LinkId>,
    /// Future rates of links, in the order of time.
    coming: VecDeque<(Time, Vec<(LinkId, Rate)>)>,
    scheduler: Box<dyn Scheduler>,
    inbox: Inbox,
    /// The newest report of every host.
    reports: Vec<Option<BacklogReport>>,
    /// Granted transmissions that not all reports reflect yet, in the order of starts.
    granted: VecDeque<GrantedSlot>,
    standing: Standing,
    /// When the last granted slot ends, with its guard.
    busy_until: Time,
    plan_at: Time,
    /// If the last round is without slots: from when on a report of a backlog ends it.
    idle_until: Option<Time>,
    /// Messages of a planned round, and when its computation ends.
    computed: Option<(Time, Vec<Grants>)>,
    signaller: Option<Signaller>,
    /// The relay in charge of each host; empty without relays.
    parts: Vec<u32>,
    counters: ControllerCounters,
}

#[derive(Clone, Copy, Debug)]
struct GrantedSlot {
    source: HostId,
    destination: HostId,
    start: Time,
    end: Time,
    rate: Rate,
    bytes: Bytes,
}

impl GrantedSlot {
    /// The bytes that it carries after `time`.
    fn bytes_after(&self, time: Time) -> Bytes {
        if time >= self.end {
            return Bytes::ZERO;
        }
        self.rate.bytes_in(self.end - self.start.max(time)).min(self.bytes)
    }
}

impl SlotController {
    /// A controller without reports.
    ///
    /// # Panics
    ///
    /// If a duration of the configuration is negative, or the length of a slot or of an idle round
    /// is not positive.
    pub fn new(config: SlotControllerConfig, scheduler: Box<dyn Scheduler>, fabric: Arc<Fabric>) -> Self {
        let c = &config;
        assert!(c.slots.open > Duration::ZERO && c.idle > Duration::ZERO && c.slots.slots > 0, "{c:?}");
        let others =
            [c.slots.guard, c.control_latency, c.compute_time, c.clock_error, c.margin, c.quiet, c.relay_error];
        assert!(others.iter().all(|d| !d.is_negative()), "{c:?}");
        Self {
            plan_at: c.start.saturating_add(c.message_time()),
            busy_until: c.start,
            idle_until: None,
            inbox: Inbox::new(fabric.hosts()),
            reports: vec![None; fabric.hosts() as usize],
            granted: VecDeque::new(),
            standing: Standing::default(),
            computed: None,
            signaller: c.signals.filter(|_| c.relays == 0).map(|s| Signaller::new(s, c.epoch, 0, &fabric)),
            parts: if c.relays > 0 { fabric.parts(c.relays) } else { Vec::new() },
            counters: ControllerCounters::default(),
            config,
            usable: Arc::clone(&fabric),
            dead: Vec::new(),
            coming: VecDeque::new(),
            fabric,
            scheduler,
        }
    }

    /// The configuration that it started with.
    pub fn config(&self) -> &SlotControllerConfig {
        &self.config
    }

    /// Counts since the start.
    pub fn counters(&self) -> &ControllerCounters {
        &self.counters
    }

    /// Counts of received inputs since the start.
    pub fn heard(&self) -> &ReportCounters {
        self.inbox.counters()
    }

    /// Ends the silence after a start early if all hosts have told that they obey this controller.
    /// Slots that were open when they heard of it may still go on.
    fn end_silence(&mut self, now: Time) {
        let c = &self.config;
        let until = c.start.saturating_add(c.quiet);
        let open = c.slots.period() + c.signals.map_or(Duration::ZERO, |s| s.slack) + c.message_time();
        let from = now.saturating_add(open);
        let obeys = |report: &Option<BacklogReport>| report.as_ref().is_some_and(|r| r.obeys == c.epoch);
        if from < until && self.reports.iter().all(obeys) {
            // Another round without slots would only delay the first one with slots.
            self.plan_at = (from - c.lead()).max(now);
            self.config.quiet = from - self.config.start;
        }
    }

    fn report(&mut self, now: Time, from: Address, mut report: BacklogReport) {
        let Some(host) = self.inbox.take(from, &report) else { return };
        if self.config.signals.is_some() && self.parts.is_empty() {
            // The host's clock may be wrong. The report is at least this old if its message was not
            // the slowest.
            report.taken_at = now - self.config.control_latency;
        }
        if self.config.signals.is_some() {
            // The relay has set the time by its own clock.
            report.taken_at = report.taken_at.saturating_add(self.config.relay_error * -2);
        }
        // A clock that is far ahead must not hide granted demand.
        report.taken_at = report.taken_at.min(now + self.config.clock_error * 2);
        let is_idle = report.backlog.is_empty() && report.obeys == self.config.epoch;
        if let Some(until) = self.idle_until.filter(|_| !is_idle) {
            self.plan_at = self.plan_at.min(until.max(now));
        }
        self.reports[host.index()] = Some(report);
        self.end_silence(now);
    }

    /// Takes the reports that a relay has gathered.
    fn gathered(&mut self, now: Time, from: Address, gathered: Gathered) {
        for (host, report) in gathered.reports {
            let in_charge = self.parts.get(host.index()).copied().map(Address::Relay);
            if in_charge == Some(from) {
                self.report(now, Address::Host(host), report);
            } else {
                self.inbox.malformed();
            }
        }
    }

    /// The expected backlog at the start of a round that follows everything granted.
    fn demand(&mut self) -> Demand {
        let hosts = self.fabric.hosts() as usize;
        // Bytes in flight to a receiver that reports are not yet in its room.
        let margin = self.config.message_time();
        let reports = &self.reports;
        let taken = |h: HostId| reports[h.index()].as_ref().map(|r| r.taken_at);
        let bounded = |h: HostId| reports[h.index()].as_ref().is_some_and(|r| r.backlog.room.is_some());
        self.granted.retain(|w| {
            taken(w.source).is_some_and(|t| t < w.end)
                || (bounded(w.destination) && taken(w.destination).is_some_and(|t| t - margin < w.end))
        });

        let mut room_used = vec![Bytes::ZERO; hosts];
        for w in &self.granted {
            if let Some(t) = taken(w.destination).filter(|_| bounded(w.destination)) {
                room_used[w.destination.index()] += w.bytes_after(t - margin);
            }
        }

        let mut demand = Demand::none(hosts as u32);
        let (first, by_source) = by_source(hosts, &self.granted);
        // By destination, what the host's grants will serve.
        let mut served = vec![Bytes::ZERO; hosts];
        for (h, report) in reports.iter().enumerate() {
            let host = h as u32;
            let Some(report) = report else {
                if self.config.receive_buffers {
                    let mut row = Backlog::default();
                    row.room = Some(Bytes::ZERO);
                    demand.set_row(HostId(host), row);
                }
                continue;
            };
            let granted = by_source[first[h]..first[h + 1]].iter().map(|&w| &self.granted[w as usize]);
            for w in granted.clone() {
                served[w.destination.index()] += w.bytes_after(report.taken_at);
            }
            let left =
                |e: &BacklogEntry| BacklogEntry { bytes: e.bytes.saturating_sub(served[e.destination.index()]), ..*e };
            // Demand without a route waits for one.
            let has_route = |e: &&BacklogEntry| self.usable.reaches(HostId(host), e.destination);
            let mut row = Backlog::new(report.backlog.entries().iter().filter(has_route).map(left).collect());
            row.room = report.backlog.room.map(|r| r.saturating_sub(room_used[h]));
            demand.set_row(HostId(host), row);
            for w in granted {
                served[w.destination.index()] = Bytes::ZERO;
            }
        }
        demand
    }

    /// Recomputes the working part of the fabric.
    fn build_usable(&mut self) {
        let whole = self.dead.is_empty();
        self.usable =
            if whole { Arc::clone(&self.fabric) } else { Arc::new(self.fabric.without(self.dead.iter().copied())) };
    }

    /// Notes rates that links have from a time on.
    fn expect_rates(&mut self, from: Time, rates: Vec<(LinkId, Rate)>) {
        // Rates of unknown links are dropped.
        let links = self.fabric.links().len();
        let rates = rates.into_iter().filter(|r| r.0.index() < links && r.1 > Rate::ZERO).collect();
        let place = self.coming.partition_point(|c| c.0 <= from);
        self.coming.insert(place, (from, rates));
    }

    /// The first time at or after `soonest` at which a round can start at its rates, and the time
    /// of the next change.
    fn at_its_rates(&mut self, soonest: Time) -> (Time, Option<Time>) {
        let mut effective = soonest;
        let slot = self.config.slots.period() + self.lag();
        let mut changed = false;
        while let Some(&(from, _)) = self.coming.front() {
            if from > effective && effective.saturating_add(slot) <= from {
                break;
            }
            effective = effective.max(from);
            let Some((_, rates)) = self.coming.pop_front() else { break };
            self.fabric = Arc::new(self.fabric.with_rates(rates));
            changed = true;
        }
        if changed {
            self.build_usable();
        }
        (effective, self.coming.front().map(|c| c.0))
    }

    /// How long after a slot's end a gate closes that a signal opened.
    fn lag(&self) -> Duration {
        self.config.signals.map_or(Duration::ZERO, |s| s.delay)
    }

    /// Plans the next round. Its messages are sent when the computation ends.
    fn plan(&mut self, now: Time, out: &mut Vec<Output>) {
        let c = self.config;
        let round = Round(self.standing.round.0 + 1);
        self.standing.round = round;
        let (effective, change) = self.at_its_rates(self.busy_until.max(now + c.lead()));
        let demand = self.demand();
        let entries = if effective < c.start.saturating_add(c.quiet) {
            Ok(Vec::new())
        } else {
            let plan = self.scheduler.plan(&demand, &self.usable, &self.standing);
            match (self.scheduler.failure(), plan) {
                (Some(failure), _) => Err(failure.into()),
                (None, Plan::Slots(entries)) => self.checked(entries),
                (None, Plan::Rates(_)) => Err(PlanFault::Rates),
            }
        };
        let entries = entries.unwrap_or_else(|fault| {
            self.counters.refused += 1;
            out.push(Output::Log(Event::PlanRefused { round, fault }));
            Vec::new()
        });
        let later = c.excess(&entries, self.fabric.hosts());
        // A round with more grants than the latency includes starts later, so that none comes late.
        let effective = if effective < now + c.lead() + later { now + c.lead() + later } else { effective };
        let mut schedule = Schedule { round, effective, entries };
        if let Some(change) = change {
            let lag = self.lag();
            let before = |(entry, end): (&ScheduleEntry, Time)| end + entry.guard + lag <= change;
            let ends = schedule.timed().map(|t| t.1);
            let fit = schedule.entries.iter().zip(ends).take_while(|&e| before(e)).count();
            schedule.entries.truncate(fit);
        }
        self.counters.rounds += 1;
        self.counters.idle_rounds += u64::from(schedule.entries.is_empty());
        self.counters.slots += schedule.entries.len() as u64;
        let slots = schedule.entries.len() as u32;
        out.push(Output::Log(Event::RoundPlanned { round, effective, demand: demand.total(), slots }));

        let soonest = if schedule.entries.is_empty() {
            let least = now + c.idle.min(c.slots.period()).max(c.compute_time);
            self.idle_until = Some(least.max(self.busy_until - c.lead()));
            // Hosts that have not reported an empty queue say nothing of new data.
            let is_idle = |r: &BacklogReport| r.backlog.is_empty() && r.obeys == c.epoch;
            let idle = if self.reports.iter().flatten().all(is_idle) { c.idle } else { c.idle.min(c.slots.round()) };
            now + idle.max(c.compute_time)
        } else {
            self.idle_until = None;
            self.busy_until = effective + schedule.length();
            now + c.compute_time
        };
        self.plan_at = (self.busy_until - c.lead()).max(soonest);
        // With signals, the time counts from the arrival of the message, not from its sending.
        let ways = if c.signals.is_some() { 2 } else { 1 };
        let report_at = self.plan_at - c.message_time() * ways;
        let grants = self.grant(&schedule, report_at, out);
        self.computed = Some((now + c.compute_time, grants));
        if let Some(last) = schedule.entries.into_iter().next_back() {
            self.standing.last = Some(last.slot);
        }
    }

    fn checked(&self, entries: Vec<ScheduleEntry>) -> Result<Vec<ScheduleEntry>, PlanFault> {
        let most = self.config.slots.slots;
        if entries.len() > most as usize {
            return Err(PlanFault::TooLong { slots: entries.len() as u32, most });
        }
        match entries.iter().position(|e| e.guard.is_negative()) {
            Some(index) => Err(PlanFault::Guard { index: index as u32 }),
            None => Ok(entries),
        }
    }

    fn send_grants(&self, now: Time, messages: Vec<Grants>, out: &mut Vec<Output>) {
        for (h, mut grants) in messages.into_iter().enumerate() {
            if self.signaller.is_some() {
                // Times of the message count from now.
                grants.effective = now;
            }
            let to = Address::Host(HostId(h as u32));
            out.push(Output::Send { to, message: Message::Grants(grants) });
        }
    }

    /// Sends one message to each relay.
    fn send_parts(&self, messages: Vec<Grants>, out: &mut Vec<Output>) {
        let Some(&Grants { epoch, round, effective, report_at, .. }) = messages.first() else { return };
        let empty = Part { epoch, round, effective, report_at, grants: Vec::new() };
        let mut parts = vec![empty; self.config.relays as usize];
        for (h, message) in messages.into_iter().enumerate() {
            let grants = message.grants.into_iter().map(|g| (HostId(h as u32), g));
            parts[self.parts[h] as usize].grants.extend(grants);
        }
        for (relay, part) in parts.into_iter().enumerate() {
            out.push(Output::Send { to: Address::Relay(relay as u32), message: Message::Part(part) });
        }
    }

    /// Each host's part of a schedule.
    fn grant(&mut self, schedule: &Schedule, report_at: Time, out: &mut Vec<Output>) -> Vec<Grants> {
        let Schedule { round, effective, .. } = *schedule;
        let epoch = self.config.epoch;
        let empty = Grants { epoch, round, effective, grants: Vec::new(), report_at };
        let mut messages = vec![empty; self.fabric.hosts() as usize];
        let delay = self.config.signals.map_or(Duration::ZERO, |s| s.delay);
        if let (Some(signaller), Some(signals)) = (&mut self.signaller, self.config.signals) {
            let lease = effective + schedule.length() + signals.slack + self.config.message_time();
            let (fabric, reports) = (&self.fabric, &self.reports);
            let limit = |t: &Transmission, open| limit(reports, fabric, t, open);
            let slots = schedule.timed().map(|(start, end, slot)| (start, end, slot.transmissions().to_vec()));
            self.counters.left_out += signaller.take(slots, lease, limit, &mut messages);
        }
        for (index, ((start, end, slot), entry)) in schedule.timed().zip(&schedule.entries).enumerate() {
            for t in slot.transmissions() {
                // Frames of relays hold gates open for longer than slots, as the controller's own
                // do.
                let by_relay = self.config.signals.is_some() && !self.parts.is_empty();
                let most = || limit(&self.reports, &self.fabric, t, end - start).filter(|_| by_relay);
                let grant = Grant {
                    destination: t.destination,
                    class: t.class,
                    medium: t.path.map_or(Medium::Fabric, Medium::Path),
                    rate: t.rate,
                    bytes: t.bytes.or_else(most),
                    packets: None,
                    start: Trigger::At(start),
                    end: Trigger::At(end),
                    lease: end,
                };
                if self.signaller.is_none() {
                    let grants = &mut messages[t.source.index()].grants;
                    if grants.is_empty() {
                        // A host mostly sends in one slot after the other.
                        grants.reserve_exact((schedule.entries.len() - index).min(64));
                    }
                    grants.push(grant);
                }
                self.counters.grants += 1;
                let rate = rate_of(t, &self.fabric);
                let bytes = t.bytes.unwrap_or(Bytes::new(u64::MAX));
                let Transmission { source, destination, .. } = *t;
                let (start, end) = (start + delay, end + delay);
                self.granted.push_back(GrantedSlot { source, destination, start, end, rate, bytes });
            }
            let pairs = slot.transmissions().iter().map(|t| (t.source, t.destination)).collect();
            let (open, guard) = (slot.open(), entry.guard);
            out.push(Output::Log(Event::SlotPlanned { round, index: index as u32, start, open, guard, pairs }));
        }
        messages
    }
}

/// The places of granted slots, source by source, and where each source's begin.
fn by_source(hosts: usize, granted: &VecDeque<GrantedSlot>) -> (Vec<usize>, Vec<u32>) {
    let mut first = vec![0; hosts + 1];
    for w in granted {
        first[w.source.index() + 1] += 1;
    }
    for h in 0..hosts {
        first[h + 1] += first[h];
    }
    let (mut next, mut places) = (first.clone(), vec![0; granted.len()]);
    for (w, place) in granted.iter().zip(0..) {
        let next = &mut next[w.source.index()];
        places[*next] = place;
        *next += 1;
    }
    (first, places)
}

/// The bytes that a transmission by signal may send, if its receiver's buffer is bounded.
fn limit(reports: &[Option<BacklogReport>], fabric: &Fabric, t: &Transmission, open: Duration) -> Option<Bytes> {
    let bounded = reports[t.destination.index()].as_ref().is_some_and(|r| r.backlog.room.is_some());
    bounded.then(|| rate_of(t, fabric).bytes_in(open))
}

/// The rate of a transmission.
fn rate_of(t: &Transmission, fabric: &Fabric) -> Rate {
    t.rate.unwrap_or_else(|| fabric.link(fabric.uplink(t.source)).spec.rate)
}

impl Agent for SlotController {
    fn deadline(&self) -> Option<Time> {
        // The next round is planned when the messages of this one have left, even if it is due.
        let next = self.computed.as_ref().map_or(self.plan_at, |(at, _)| *at);
        let frames = self.signaller.as_ref().and_then(Signaller::due);
        Some(frames.map_or(next, |frames| frames.min(next)))
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Due => {}
            // With relays, hosts send their reports to them.
            Input::Message { from, message: Message::Report(report) } if self.parts.is_empty() => {
                return self.report(now, from, *report);
            }
            Input::Message { from, message: Message::Gathered(gathered) } => return self.gathered(now, from, gathered),
            Input::Down(links) => {
                self.dead = links;
                return self.build_usable();
            }
            Input::Rates(from, rates) => return self.expect_rates(from, rates),
            Input::Message { .. } | Input::Backlog(_) | Input::Changed => {
                self.inbox.malformed();
                return;
            }
        }
        // Reports alone start no plan: all that arrive at the deadline count. A round is sent
        // before the next one is planned.
        loop {
            if let Some((_, messages)) = self.computed.take_if(|(at, _)| *at <= now) {
                if self.config.heartbeats {
                    let round = messages.first().map_or(Round(0), |m| m.round);
                    let message = Message::Heartbeat(Heartbeat { epoch: self.config.epoch, round });
                    out.push(Output::Send { to: Address::Peer, message });
                }
                if !self.parts.is_empty() {
                    self.send_parts(messages, out);
                } else {
                    self.send_grants(now, messages, out);
                }
            }
            if let Some(signaller) = &mut self.signaller {
                signaller.send(now, out);
            }
            if self.computed.is_some() || self.plan_at > now {
                return;
            }
            self.plan(now, out);
        }
    }
}

#[cfg(test)]
mod tests;
