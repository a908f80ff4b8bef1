//! The controller of flyways: backlogs of racks in, links and the traffic that uses them out.
//!
//! A rack reports its backlog for each other rack. It hears of all its links, with start and end,
//! and of the shares of its traffic that use links of any rack. A new link starts when every rack
//! can have received the plan and its beams are pointed. A rack that misses a message keeps its
//! links until their lease ends.

use crate::agent::{Address, Agent, Event, Input, Output};
use crate::host::Reporting;
use crate::inbox::{Inbox, ReportCounters};
use crate::message::{BacklogReport, Message, RackFlyways, RackLink, RackShare};
use std::collections::VecDeque;
use timeplane_model::{Backlog, Duration, HostId, Round, Time};
use timeplane_schedule::flyways::{FlywayError, FlywayPlan, FlywayPlanner, LinkSet, Measured, Phases, Traffic, Wired};

/// Configuration of a [`FlywayController`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlywayControllerConfig {
    /// Counts the controller's starts.
    pub epoch: u32,
    /// The shortest time between two plans.
    pub every: Duration,
    /// How long a plan takes to compute.
    pub compute_time: Duration,
    /// The longest latency of a message. No new link starts before all racks can have heard of it.
    pub latency: Duration,
    /// How long both ends steer or train their beams after that.
    pub setup: Duration,
    /// How long racks keep links and shares without a message of the controller. It must exceed
    /// twice the compute time and the latency, so that leases can be renewed.
    pub lease: Duration,
    /// How long a round takes in which racks without links measure patterns; only racks that have
    /// measured each other get a link. `None`: all patterns are known.
    pub measure_every: Option<Duration>,
}

impl FlywayControllerConfig {
    /// What racks report: changes only.
    pub fn reporting(&self) -> Reporting {
        Reporting { on_change: true, ..Reporting::default() }
    }
}

/// Counts since a controller's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlywayControllerCounters {
    /// Plans made.
    pub plans: u64,
    /// Messages sent.
    pub messages: u64,
    /// New links.
    pub begun: u64,
    /// Plans that failed because the reported bytes overflow, or because an own policy failed.
    pub failed: u64,
}

/// What the controller knows of one rack.
#[derive(Clone, Debug, Default)]
struct Row {
    waiting: Backlog,
    /// The newest message and the end of its lease.
    links: Vec<RackLink>,
    shares: Vec<RackShare>,
    lease: Option<Time>,
}

/// Plans flyways for the backlog of racks and keeps them up while they help.
///
/// Racks report their backlog for each other rack, as hosts do. Reports and answers are complete
/// states. The controller informs a rack of changes, before its lease ends, and when it reports
/// what is known already. A rack that misses a message keeps its links, and may disturb others,
/// until the lease ends; shorter leases cost more messages.
#[derive(Clone)]
pub struct FlywayController<L> {
    config: FlywayControllerConfig,
    phases: Phases<Measured<L>>,
    /// The first input, from which on racks measure.
    begin: Option<Time>,
    inbox: Inbox,
    rows: Vec<Row>,
    round: Round,
    /// Something has changed since the last plan.
    dirty: bool,
    again: Vec<bool>,
    /// The earliest time of the next plan.
    next: Time,
    computing: VecDeque<(Time, Vec<(HostId, RackFlyways)>)>,
    counters: FlywayControllerCounters,
}

impl<L: LinkSet + Clone> FlywayController<L> {
    /// A controller that knows of no demand. `none` has no links up; its hosts are the racks, by
    /// number.
    ///
    /// # Errors
    ///
    /// If tree and links differ in size, a wire has no rate, links are up, or the setup time is
    /// negative.
    pub fn new(
        config: FlywayControllerConfig,
        controller: FlywayPlanner,
        wired: Wired,
        none: L,
    ) -> Result<Self, FlywayError> {
        let racks = wired.racks;
        let setup = config.latency + config.setup;
        let none = if config.measure_every.is_some() { Measured::none(none) } else { Measured::all(none) };
        let mut phases = Phases::new(controller, wired, none, setup);
        // An empty plan shows whether planning is possible at all.
        phases.next(&Traffic::new(racks, vec![0; racks * racks])?)?;
        Ok(Self {
            phases,
            begin: None,
            inbox: Inbox::new(racks as u32),
            rows: vec![Row::default(); racks],
            round: Round(0),
            dirty: false,
            again: vec![false; racks],
            next: Time::from_ps(i64::MIN / 2),
            computing: VecDeque::new(),
            counters: FlywayControllerCounters::default(),
            config,
        })
    }

    /// Counts since the start.
    pub fn counters(&self) -> &FlywayControllerCounters {
        &self.counters
    }

    /// Counts of received inputs since the start.
    pub fn heard(&self) -> &ReportCounters {
        self.inbox.counters()
    }

    fn report(&mut self, from: Address, report: BacklogReport) {
        let Some(rack) = self.inbox.take(from, &report) else { return };
        let row = &mut self.rows[rack.index()];
        // A report of known demand means that the rack may have missed the answer.
        self.again[rack.index()] |= row.waiting == report.backlog;
        self.dirty |= row.waiting != report.backlog || row.lease.is_some();
        row.waiting = report.backlog;
    }

    /// When leases are renewed: halfway through.
    fn renewal(&self) -> Option<Time> {
        let lease = self.rows.iter().filter_map(|row| row.lease).min()?;
        Some(lease - self.config.lease / 2)
    }

    fn traffic(&self) -> Result<Traffic, FlywayError> {
        let n = self.rows.len();
        let mut bytes = vec![0; n * n];
        for (from, row) in self.rows.iter().enumerate() {
            for entry in row.waiting.entries() {
                bytes[from * n + entry.destination.index()] = entry.bytes.get();
            }
        }
        Traffic::new(n, bytes)
    }

    /// Racks have measured since the last plan, while its links were up. The results take the
    /// latency of a message.
    fn measure(&mut self, now: Time) {
        let (Some(every), Some(begin)) = (self.config.measure_every, self.begin) else { return };
        let (links, up) = self.phases.links_mut();
        let complete = (now - self.config.latency - begin).as_ps().div_euclid(every.as_ps());
        for _ in (links.rounds() as i64)..complete {
            links.measure(up);
        }
    }

    fn compute(&mut self, now: Time, out: &mut Vec<Output>) {
        self.measure(now);
        let c = self.config;
        self.dirty = false;
        self.next = now + c.every;
        let planned = self.traffic().and_then(|traffic| self.phases.next(&traffic));
        let phase = match planned {
            Ok(phase) => phase,
            Err(fault) => {
                if let FlywayError::Own(fault) = fault {
                    out.push(Output::Log(Event::PlanRefused { round: Round(self.round.0 + 1), fault: fault.into() }));
                }
                self.counters.failed += 1;
                return;
            }
        };
        self.counters.plans += 1;
        self.counters.begun += phase.begun as u64;
        self.round = Round(self.round.0 + 1);
        let sent = now + c.compute_time;
        let lease = sent + c.lease;
        let mut messages = Vec::new();
        for rack in 0..self.rows.len() {
            let (links, shares) = (self.links_of(&phase.plan, rack, sent), shares_of(&phase.plan, rack));
            let row = &mut self.rows[rack];
            let again = std::mem::take(&mut self.again[rack]);
            let nothing = links.is_empty() && shares.is_empty();
            let ending = row.lease.is_some_and(|l| l - now <= c.lease / 2);
            if (row.lease.is_none() && nothing) || !(again || ending || row.links != links || row.shares != shares) {
                continue;
            }
            row.links.clone_from(&links);
            row.shares.clone_from(&shares);
            // A rack without links needs no lease.
            row.lease = (!nothing).then_some(lease);
            let told = RackFlyways { epoch: c.epoch, round: self.round, lease, links, shares };
            messages.push((HostId(rack as u32), told));
        }
        self.counters.messages += messages.len() as u64;
        self.computing.push_back((sent, messages));
    }

    /// The links of a rack. A link that stays keeps its start.
    fn links_of(&self, plan: &FlywayPlan, rack: usize, sent: Time) -> Vec<RackLink> {
        let of = |(link, setup): &(timeplane_schedule::flyways::Link, Duration)| {
            let peer = HostId(link.other(rack)? as u32);
            let before = self.rows[rack].links.iter().find(|l| l.peer == peer);
            let up = before.filter(|_| *setup == Duration::ZERO).map_or(sent + *setup, |l| l.up);
            Some(RackLink { peer, channel: link.channel as u32, rate: link.rate, up })
        };
        let mut links: Vec<RackLink> = plan.links.iter().filter_map(of).collect();
        links.sort_by_key(|l| (l.peer, l.channel));
        links
    }
}

/// The shares of a rack's traffic by link, including links of other racks.
fn shares_of(plan: &FlywayPlan, rack: usize) -> Vec<RackShare> {
    let of = |route: &timeplane_schedule::flyways::Route| {
        let link = plan.links[route.link].0;
        let (start, end) = match link.other(route.from) {
            Some(end) => (route.from, end),
            None => (link.other(route.to)?, route.to),
        };
        // Rounded down, so that the shares of a destination never exceed the whole.
        let ppm = (route.share * 1e6) as u32;
        let (destination, channel) = (HostId(route.to as u32), link.channel as u32);
        Some(RackShare { destination, start: HostId(start as u32), end: HostId(end as u32), channel, ppm })
    };
    let own = plan.routes.iter().filter(|route| route.from == rack);
    let mut shares: Vec<RackShare> = own.filter_map(of).filter(|s| s.ppm > 0).collect();
    shares.sort_by_key(RackShare::place);
    shares
}

impl<L: LinkSet + Clone> Agent for FlywayController<L> {
    fn deadline(&self) -> Option<Time> {
        let sending = self.computing.front().map(|c| c.0);
        let planning = self.dirty.then_some(self.next).into_iter().chain(self.renewal()).min();
        sending.into_iter().chain(planning.map(|at| at.max(self.next))).min()
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        self.begin.get_or_insert(now);
        match input {
            Input::Due => {}
            Input::Message { from, message: Message::Report(report) } => return self.report(from, *report),
            // The tree's wires and their rates are fixed.
            Input::Down(_) | Input::Rates(..) => return,
            Input::Message { .. } | Input::Backlog(_) | Input::Changed => {
                self.inbox.malformed();
                return;
            }
        }
        // Reports alone start no plan: all that arrive at the deadline count.
        if self.next <= now && (self.dirty || self.renewal().is_some_and(|at| at <= now)) {
            self.compute(now, out);
        }
        while self.computing.front().is_some_and(|c| c.0 <= now) {
            let (_, messages) = self.computing.pop_front().expect("it is there");
            for (rack, told) in messages {
                out.push(Output::Send { to: Address::Host(rack), message: Message::Flyways(told) });
            }
        }
    }
}
