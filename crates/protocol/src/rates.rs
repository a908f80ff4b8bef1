//! The controller of rates: it gives each pair with demand a rate.
//!
//! This is the asynchronous scheme (ASY) of the comparison of central controls. With
//! [`RateNormalizer::Proportional`](timeplane_schedule::RateNormalizer::Proportional) it is the
//! allocator of Flowtune (Perry, Balakrishnan, Shah, NSDI 2017).

use crate::agent::{Address, Agent, Event, Input, Output};
use crate::host::Reporting;
use crate::inbox::{Inbox, ReportCounters};
use crate::live::Live;
use crate::message::{BacklogReport, Message, Rates};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use timeplane_model::{Bytes, Class, ClosError, Duration, Fabric, HostId, Rate, Round, Time};
use timeplane_schedule::rates::Offered;
use timeplane_schedule::{RateAllocator, RateRule};

/// Estimator of the rate that a pair requests, which is at most the rate of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateEstimator {
    /// The rate of the link while the pair has a backlog.
    #[schemars(extend(
        "x-source" = "ASY, German Sviridov et al., Globecom 2018",
        "x-departures" = "the paper leaves the estimate open"
    ))]
    #[default]
    Backlogged,
    /// The rate that sends the whole backlog within this time.
    #[schemars(extend(
        "x-source" = "ASY, German Sviridov et al., Globecom 2018",
        "x-departures" = "the paper leaves the estimate open"
    ))]
    Horizon(Duration),
    /// The arrival rate, averaged over this time, plus the rate that sends the backlog within it.
    #[schemars(extend(
        "x-source" = "ASY, German Sviridov et al., Globecom 2018",
        "x-departures" = "the paper leaves the estimate open"
    ))]
    Arrivals(Duration),
}

/// Configuration of a [`RateController`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateControllerConfig {
    /// Counts the controller's starts.
    pub epoch: u32,
    /// How requested rates are estimated.
    pub estimator: RateEstimator,
    /// The shortest time between two computations.
    pub every: Duration,
    /// How long a computation takes.
    pub compute_time: Duration,
    /// How long hosts keep their rates without a message of the controller.
    pub lease: Duration,
    /// A host is informed if a rate starts, ends, or moves by more than this share of it, in
    /// millionths; 0 reports every change.
    pub threshold_ppm: u32,
    /// A host reports this long after its last report or message at the latest.
    pub fallback: Duration,
}

impl RateControllerConfig {
    /// What hosts report: changes only.
    pub fn reporting(&self) -> Reporting {
        Reporting { on_change: true, ..Reporting::default() }
    }
}

/// Counts since a controller's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateControllerCounters {
    /// Computations made.
    pub computations: u64,
    /// Messages of rates sent.
    pub messages: u64,
}

/// What the controller knows of a pair.
#[derive(Clone, Copy, Debug)]
struct Pair {
    destination: u32,
    waiting: Bytes,
    /// All bytes that ever arrived, when that was reported, and the average in bytes per second.
    arrived: Bytes,
    told: Time,
    average: f64,
}

/// What the controller knows of one host.
#[derive(Debug, Default)]
struct Row {
    /// In the order of destinations.
    pairs: Vec<Pair>,
    /// The rates of the newest message.
    rates: Vec<(HostId, Class, Rate)>,
    /// The end of their lease.
    lease: Option<Time>,
}

/// Gives each pair with demand a rate.
///
/// Pairs whose route is known to be [down](Input::Down) get none. Reports and rates are complete
/// states. A host that reports what is known already has missed the answer and gets it again.
#[derive(Debug)]
pub struct RateController {
    config: RateControllerConfig,
    allocator: RateAllocator,
    live: Live,
    inbox: Inbox,
    rows: Vec<Row>,
    line: Vec<Rate>,
    round: Round,
    /// Something has changed since the last computation.
    dirty: bool,
    /// Hosts to inform again.
    again: Vec<bool>,
    /// The earliest time of the next computation.
    next: Time,
    computing: VecDeque<(Time, Vec<(HostId, Rates)>)>,
    offered: Vec<Offered>,
    given: Vec<f64>,
    /// Buffers for a host's former pairs, and for its new rates.
    old: Vec<Pair>,
    fresh: Vec<(HostId, Class, Rate)>,
    counters: RateControllerCounters,
}

impl RateController {
    /// A controller that knows of no demand, and computes granted rates from requested ones by this
    /// rule.
    ///
    /// # Errors
    ///
    /// If the fabric's links are not multiples of a unit link.
    pub fn new(
        config: RateControllerConfig,
        rule: impl Into<RateRule>,
        fabric: &Arc<Fabric>,
    ) -> Result<Self, ClosError> {
        let hosts = fabric.hosts();
        Ok(Self {
            allocator: RateAllocator::new(fabric, rule)?,
            live: Live::new(Arc::clone(fabric)),
            inbox: Inbox::new(hosts),
            rows: (0..hosts).map(|_| Row::default()).collect(),
            line: (0..hosts).map(|h| fabric.link(fabric.uplink(HostId(h))).spec.rate).collect(),
            round: Round(0),
            dirty: false,
            again: vec![false; hosts as usize],
            next: Time::from_ps(i64::MIN / 2),
            computing: VecDeque::new(),
            offered: Vec::new(),
            given: Vec::new(),
            old: Vec::new(),
            fresh: Vec::new(),
            counters: RateControllerCounters::default(),
            config,
        })
    }

    /// Counts since the start.
    pub fn counters(&self) -> &RateControllerCounters {
        &self.counters
    }

    /// Counts of received inputs since the start.
    pub fn heard(&self) -> &ReportCounters {
        self.inbox.counters()
    }

    fn report(&mut self, now: Time, from: Address, report: &BacklogReport) {
        let Some(host) = self.inbox.take(from, report) else { return };
        let estimator = self.config.estimator;
        let row = &mut self.rows[host.index()];
        self.old.clear();
        std::mem::swap(&mut self.old, &mut row.pairs);
        let mut changed = false;
        // Both lists are in the order of destinations.
        let mut old = self.old.iter().peekable();
        let leave = |pairs: &mut Vec<Pair>, gone: &Pair| {
            // Arrivals count until their average has decayed.
            if let RateEstimator::Arrivals(constant) = estimator
                && now - gone.told < constant * 8
            {
                let average = decayed(gone.average, now - gone.told, constant);
                pairs.push(Pair { waiting: Bytes::ZERO, told: now, average, ..*gone });
            }
            gone.waiting > Bytes::ZERO
        };
        for e in report.backlog.entries() {
            let destination = e.destination.0;
            while let Some(pair) = old.next_if(|o| o.destination < destination) {
                changed |= leave(&mut row.pairs, pair);
            }
            let known = old.next_if(|o| o.destination == destination);
            changed |= known.is_none_or(|k| k.waiting == Bytes::ZERO || estimator != RateEstimator::Backlogged);
            let arrived = e.arrived.unwrap_or(e.bytes);
            let mut pair = Pair { destination, waiting: e.bytes, arrived, told: now, average: 0.0 };
            if let RateEstimator::Arrivals(constant) = estimator {
                let (since, before, average) =
                    known.map_or((constant, Bytes::ZERO, 0.0), |k| (now - k.told, k.arrived, k.average));
                pair.average = decayed(average, since, constant)
                    + pair.arrived.saturating_sub(before).get() as f64 / constant.as_secs_f64();
            }
            row.pairs.push(pair);
        }
        for pair in old {
            changed |= leave(&mut row.pairs, pair);
        }
        if changed {
            self.dirty = true;
        } else if !row.rates.is_empty() || !row.pairs.is_empty() {
            // A report of known demand means that the host may have missed its rates.
            self.again[host.index()] = true;
            self.dirty = true;
        }
    }

    /// What each pair with demand and a route requests, in the order of hosts.
    fn offer(&mut self, now: Time) {
        let c = self.config;
        self.offered.clear();
        for (source, row) in self.rows.iter().enumerate() {
            let line = self.line[source].as_bps() as f64 / 8.0;
            let waits = row.pairs.iter().filter(|p| p.waiting > Bytes::ZERO);
            // Demand without a route waits for one.
            let has_route = |d: u32| self.live.reaches(HostId(source as u32), HostId(d));
            for pair in waits.filter(|p| has_route(p.destination)) {
                let within = |horizon: Duration| pair.waiting.get() as f64 / horizon.as_secs_f64();
                let asked = match c.estimator {
                    RateEstimator::Backlogged => line,
                    RateEstimator::Horizon(horizon) => within(horizon),
                    RateEstimator::Arrivals(constant) => {
                        decayed(pair.average, now - pair.told, constant) + within(constant)
                    }
                };
                let (source, destination) = (source as u32, pair.destination);
                self.offered.push(Offered { source, destination, rate: (asked / line).min(1.0) });
            }
        }
    }

    fn compute(&mut self, now: Time, out: &mut Vec<Output>) {
        let c = self.config;
        self.dirty = false;
        self.next = now + c.every;
        self.counters.computations += 1;
        self.offer(now);
        self.round = Round(self.round.0 + 1);
        if let Err(fault) = self.allocator.allocate(&self.offered, &mut self.given) {
            out.push(Output::Log(Event::PlanRefused { round: self.round, fault: fault.into() }));
            return;
        }
        let lease = now + c.compute_time + c.lease;
        let mut messages = Vec::new();
        let mut at = 0;
        for (source, row) in self.rows.iter_mut().enumerate() {
            let first = at;
            at += self.offered[first..].iter().take_while(|o| o.source as usize == source).count();
            let line = self.line[source].as_bps() as f64;
            let rate =
                |(o, share): (&Offered, &f64)| (HostId(o.destination), Class(0), Rate::bps((line * share) as u64));
            let rates = self.offered[first..at].iter().zip(&self.given[first..at]).map(rate);
            self.fresh.clear();
            self.fresh.extend(rates.filter(|r| r.2 > Rate::ZERO));
            let again = std::mem::take(&mut self.again[source]);
            // Messages renew leases after half of their time.
            let ending = !self.fresh.is_empty() && row.lease.is_none_or(|l| l - now < c.lease / 2);
            if again || ending || moved(&row.rates, &self.fresh, c.threshold_ppm) {
                let rates = self.fresh.clone();
                std::mem::swap(&mut row.rates, &mut self.fresh);
                row.lease = Some(lease);
                messages.push((HostId(source as u32), Rates { epoch: c.epoch, round: self.round, lease, rates }));
            }
        }
        self.counters.messages += messages.len() as u64;
        self.computing.push_back((now + c.compute_time, messages));
    }
}

/// The decay of an average over `since` without arrivals: `(1 + x / 8)^-8` in place of `e^-x`, from
/// operations that give the same result on every machine.
fn decayed(average: f64, since: Duration, constant: Duration) -> f64 {
    let root = 1.0 + since.as_secs_f64() / constant.as_secs_f64() / 8.0;
    let square = root * root;
    let fourth = square * square;
    average / (fourth * fourth)
}

/// Whether the new rates differ enough to inform the host.
fn moved(old: &[(HostId, Class, Rate)], new: &[(HostId, Class, Rate)], threshold_ppm: u32) -> bool {
    if threshold_ppm == 0 {
        return old != new;
    }
    old.len() != new.len()
        || old.iter().zip(new).any(|(o, n)| {
            let apart = u128::from(o.2.as_bps().abs_diff(n.2.as_bps())) * 1_000_000;
            (o.0, o.1) != (n.0, n.1) || apart > u128::from(o.2.as_bps()) * u128::from(threshold_ppm)
        })
}

impl Agent for RateController {
    fn deadline(&self) -> Option<Time> {
        let sending = self.computing.front().map(|c| c.0);
        sending.into_iter().chain(self.dirty.then_some(self.next)).min()
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Due => {}
            Input::Message { from, message: Message::Report(report) } => return self.report(now, from, &report),
            Input::Down(links) => {
                self.live.set_down(links);
                self.dirty = true;
                return;
            }
            // Rates of links change under plans of slots only.
            Input::Rates(..) => return,
            Input::Message { .. } | Input::Backlog(_) | Input::Changed => {
                self.inbox.malformed();
                return;
            }
        }
        // Reports alone start no computation: all that arrive at the deadline count.
        if self.dirty && self.next <= now {
            self.compute(now, out);
        }
        while self.computing.front().is_some_and(|c| c.0 <= now) {
            let (_, messages) = self.computing.pop_front().expect("it is there");
            for (host, rates) in messages {
                out.push(Output::Send { to: Address::Host(host), message: Message::Rates(rates) });
            }
        }
    }
}
