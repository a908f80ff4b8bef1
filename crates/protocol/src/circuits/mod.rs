//! The controller of circuits, after REACToR.
//!
//! It takes reports, sends a schedule for the circuit switch every period, and gates hosts by PFC
//! frames. See He Liu et al., "Circuit Switching Under the Radar with REACToR", NSDI 2014, sections
//! 3 and 4.

mod packets;
mod period;

use crate::agent::{Address, Agent, ClassFault, Event, Input, Output, Side};
use crate::inbox::{Inbox, ReportCounters};
use crate::message::{BacklogReport, Grants, Message, Pfc, Rates};
use crate::numbering::circuit_class;
use packets::PacketRates;
use period::Period;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use timeplane_model::{
    Backlog, BacklogEntry, Bytes, Class, CoflowBacklog, Demand, Duration, Grant, HostId, LinkId, Matching, Medium,
    Rate, Round, Time, Trigger,
};
use timeplane_schedule::circuits::{CircuitParameters, CircuitScheduler, Configuration, Retune, Uptime};

/// Configuration of a [`CircuitController`].
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitControllerConfig {
    /// Counts the controller's starts.
    pub epoch: u32,
    /// When planning starts.
    pub start: Time,
    /// Parameters of schedules; their window is the period.
    pub circuits: CircuitParameters,
    /// Rate of a host's link. Circuits and packets together stay within it.
    pub line: Rate,
    /// Rate of a circuit. Schedules use [`CircuitParameters::circuit`], the part of a host's link
    /// that packets leave.
    pub circuit: Rate,
    /// Circuits leave room for the packet switch (section 3.4). Otherwise racks drop frames.
    pub limits: bool,
    /// The share of the packet switch for acknowledgements, which then never use circuits. At zero
    /// they stay with the data.
    pub acknowledgements: f64,
    /// The share of the rest of the packet switch for pairs without reported demand.
    pub unreported: f64,
    /// The link of each host.
    pub links: Vec<LinkId>,
    /// The rack of each host. Pairs in one rack need no circuit.
    pub racks: Vec<u32>,
    /// The links of each rack to the circuit switch, one for each circuit in either direction.
    pub circuit_uplinks: Vec<Vec<LinkId>>,
    /// The links of each rack to the packet switch.
    pub packet_uplinks: Vec<Vec<LinkId>>,
    /// The longest latency of a message, from call to call.
    pub control_latency: Duration,
    /// How long the scheduler computes.
    pub compute_time: Duration,
    /// The time from sending pause frames until the circuits are empty: latency, reaction, and
    /// frames that have started.
    pub stop: Duration,
    /// The time from sending a frame that opens a gate until light can first reach the circuit
    /// switch.
    pub open_lead: Duration,
    /// Added to every wait for a message.
    pub margin: Duration,
}

impl CircuitControllerConfig {
    /// Parameters of schedules without the share of acknowledgements.
    pub fn parameters(&self) -> CircuitParameters {
        let data = self.circuits.packet.as_bps() as f64 * (1.0 - self.acknowledgements);
        CircuitParameters { packet: Rate::bps(data as u64), ..self.circuits }
    }
    /// The time from sending a message until it has arrived in any case.
    pub fn message_time(&self) -> Duration {
        self.control_latency + self.margin
    }
    /// The time from the requested time of reports until they have arrived in any case. Hosts count
    /// from the arrival of the request, so both messages count.
    pub fn report_time(&self) -> Duration {
        self.message_time() + self.control_latency
    }
    /// The time from the start of planning until a period can start.
    pub fn lead(&self) -> Duration {
        self.compute_time + self.message_time() + self.open_lead + self.margin
    }
    /// The host's link to the circuit switch, by its place in the rack. The switch may use another
    /// free link of the rack.
    fn uplink(&self, host: HostId) -> LinkId {
        let rack = self.racks[host.index()];
        let place = self.racks[..host.index()].iter().filter(|&&r| r == rack).count();
        let links = &self.circuit_uplinks[rack as usize];
        links[place % links.len()]
    }
    /// The rate in bit/s that circuits leave of a host's link for this share of the packet switch.
    fn reserved(&self, share: f64) -> u64 {
        if self.limits { (self.circuits.packet.as_bps() as f64 * share).ceil() as u64 } else { 0 }
    }
    /// The value for [`HostConfig::signals`](crate::HostConfig::signals): classes of circuits come
    /// with grants, the ones below are destinations of packets.
    pub fn host_signals(&self) -> u16 {
        self.racks.len() as u16
    }
    /// A fallback for [`HostConfig`](crate::HostConfig): two periods.
    pub fn fallback(&self) -> Duration {
        (self.circuits.window + self.lead()) * 2
    }
}

/// Counts since a controller's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CircuitControllerCounters {
    /// Periods planned.
    pub periods: u64,
    /// Configurations planned.
    pub configurations: u64,
    /// Pairs left out because their rack had no circuit left.
    pub crowded: u64,
    /// Plans refused.
    pub refused: u64,
}

/// Circuits leave this share of the packet switch's rate beyond the rate itself. Both come in whole
/// frames, and at exactly the line rate a queue would never drain.
pub const SLACK: f64 = 0.02;

/// The class of acknowledgements that have a [share](CircuitControllerConfig::acknowledgements) of
/// the packet switch. Hosts do not report its backlog.
pub const ACKNOWLEDGEMENTS: Class = Class(1);

const SIDES: [Side; 2] = [Side::Sends, Side::Receives];

/// Something to do at a set time.
#[derive(Clone, Debug)]
enum Action {
    /// Pauses hosts.
    Pause(Vec<HostId>),
    /// Sets the circuit switch.
    Retune(Matching),
    /// Opens a host's gate of a class for this long.
    Open(HostId, u16, Duration),
    /// Sends schedules.
    Schedules(Vec<Grants>),
    /// Sends the rates beside circuits, which start the period.
    Heartbeat(Vec<Rates>),
}

/// A promised transmission that not all reports reflect yet.
#[derive(Clone, Copy, Debug)]
struct Promise {
    source: HostId,
    destination: HostId,
    start: Time,
    end: Time,
    rate: Rate,
}

/// Plans the circuit switch period by period.
///
/// Before and in period k, which starts at T, this happens in order:
///
/// ```text
///  T - lead - report time     hosts take their reports (requested with the schedule before)
///  T - lead                   planning starts, with the newest report of every host
///  compute time later         schedules are sent: which class uses which circuit, at which rate
///  T                          rates beside the circuits start: the heartbeat
///  for each configuration     pause frames; the switch is set once the circuits are empty;
///                             frames open gates for the time when circuits are lit
/// ```
///
/// Every rule of section 3.3 holds by construction and is checked before anything is sent. A host
/// has at most one circuit. A pair with a circuit has no rate of packets in the same period. Rates
/// of packets stay within the packet switch, and together with circuits within the host's link.
pub struct CircuitController {
    config: CircuitControllerConfig,
    scheduler: Box<dyn CircuitScheduler>,
    inbox: Inbox,
    reports: Vec<Option<BacklogReport>>,
    promised: VecDeque<Promise>,
    standing: Option<Matching>,
    round: Round,
    begins: Time,
    plan_at: Time,
    actions: BTreeMap<(Time, u64), Action>,
    number: u64,
    signals: u64,
    /// Wires that are down.
    dead: BTreeSet<u32>,
    /// Rates of packets in the last period, and buffers to compute the next ones.
    packets: PacketRates,
    counters: CircuitControllerCounters,
}

impl CircuitController {
    /// A controller without reports.
    pub fn new(config: CircuitControllerConfig, scheduler: Box<dyn CircuitScheduler>) -> Self {
        let hosts = config.racks.len() as u32;
        let plan_at = config.start + config.report_time();
        Self {
            begins: plan_at + config.lead(),
            plan_at,
            inbox: Inbox::new(hosts),
            reports: vec![None; hosts as usize],
            promised: VecDeque::new(),
            standing: None,
            round: Round(0),
            actions: BTreeMap::new(),
            number: 0,
            signals: 0,
            dead: BTreeSet::new(),
            packets: PacketRates::default(),
            counters: CircuitControllerCounters::default(),
            config,
            scheduler,
        }
    }

    /// Counts since the start.
    pub fn counters(&self) -> &CircuitControllerCounters {
        &self.counters
    }

    /// Counts of received inputs since the start.
    pub fn heard(&self) -> &ReportCounters {
        self.inbox.counters()
    }

    fn report(&mut self, now: Time, from: Address, mut report: BacklogReport) {
        let Some(host) = self.inbox.take(from, &report) else { return };
        report.taken_at = report.taken_at.min(now);
        self.reports[host.index()] = Some(report);
    }

    fn at(&mut self, time: Time, action: Action) {
        self.number += 1;
        self.actions.insert((time, self.number), action);
    }

    /// The expected backlog at the start of the period.
    fn demand(&mut self) -> Demand {
        let taken = |h: HostId| self.reports[h.index()].as_ref().map(|r| r.taken_at);
        self.promised.retain(|p| taken(p.source).is_some_and(|t| t < p.end));
        let mut served: BTreeMap<(HostId, HostId), Bytes> = BTreeMap::new();
        for p in &self.promised {
            let from = p.start.max(taken(p.source).expect("kept only then"));
            *served.entry((p.source, p.destination)).or_default() += p.rate.bytes_in(p.end - from);
        }
        let mut demand = Demand::none(self.config.racks.len() as u32);
        for (h, report) in self.reports.iter().enumerate() {
            let Some(report) = report else { continue };
            let source = HostId(h as u32);
            let by_then = |to: HostId| served.get(&(source, to)).copied().unwrap_or_default();
            let left = |e: &BacklogEntry| BacklogEntry { bytes: e.bytes.saturating_sub(by_then(e.destination)), ..*e };
            let row = Backlog::new(report.backlog.entries().iter().map(left).collect());
            // Hosts send flows in the order of arrival, and coflows are numbered in that order.
            let mut last = None;
            let mut sent = Bytes::ZERO;
            let left = |part: &CoflowBacklog| {
                if last.replace(part.destination) != Some(part.destination) {
                    sent = by_then(part.destination);
                }
                let bytes = part.bytes.saturating_sub(sent);
                sent = sent.saturating_sub(part.bytes);
                CoflowBacklog { bytes, ..*part }
            };
            let parts = report.backlog.coflows().iter().map(left).collect();
            demand.set_row(source, row.with_coflows(parts));
        }
        demand
    }

    fn plan(&mut self, now: Time, out: &mut Vec<Output>) {
        self.round = Round(self.round.0 + 1);
        let (round, begins) = (self.round, self.begins.max(now + self.config.lead()));
        let c = &self.config;
        let end = begins + c.circuits.window;
        self.begins = end;
        self.plan_at = end - c.lead();
        let report_at = self.plan_at - c.report_time();
        let computed = now + c.compute_time;
        let heartbeat_at = begins - c.message_time();
        let mut demand = self.demand();
        if !self.dead.is_empty() {
            demand = self.reachable(&demand);
        }
        let mut packets = std::mem::take(&mut self.packets);
        let period = self.schedule(&demand, &mut packets).unwrap_or_else(|e| {
            self.counters.refused += 1;
            out.push(Output::Log(Event::PlanRefused { round, fault: e.into() }));
            self.set_packet_rates(&mut packets, &demand, &[]);
            Period { plan: Vec::new(), ups: Vec::new(), limits: self.limits(&packets) }
        });
        if let Err(fault) = self.check(&period.ups, &packets, &period.limits) {
            self.packets = packets;
            self.counters.refused += 1;
            out.push(Output::Log(Event::PlanRefused { round, fault: fault.into() }));
            return;
        }
        self.scheduler.remember(&period.ups);
        self.counters.periods += 1;
        self.counters.configurations += period.plan.len() as u64;
        let slots = period.plan.len() as u32;
        out.push(Output::Log(Event::RoundPlanned { round, effective: begins, demand: demand.total(), slots }));
        for (source, row) in (0..).map(HostId).zip(demand.rows()) {
            for destination in row.entries().iter().map(|e| e.destination) {
                let rate = packets.get(source, destination);
                if rate > Rate::ZERO {
                    self.promised.push_back(Promise { source, destination, start: begins, end, rate });
                }
            }
        }
        self.announce(round, begins, report_at, computed, &period);
        self.heartbeat(round, begins, heartbeat_at.max(computed), &packets);
        self.act(round, begins, &period, out);
        self.packets = packets;
    }

    /// Removes pairs whose rack has no circuit left, those with the least demand first.
    fn fit(&mut self, demand: &Demand, mut plan: Vec<Configuration>) -> Vec<Configuration> {
        let racks = &self.config.racks;
        let wires: Vec<u32> = self.config.circuit_uplinks.iter().map(|w| self.alive(w)).collect();
        for configuration in &mut plan {
            let mut pairs: Vec<(Bytes, HostId, HostId)> =
                configuration.matching.pairs().map(|(i, j)| (demand.row(i).bytes(j), i, j)).collect();
            pairs.sort_by_key(|p| (std::cmp::Reverse(p.0), p.1));
            let (mut outs, mut ins) = (vec![0u32; wires.len()], vec![0u32; wires.len()]);
            let mut outputs = vec![None; racks.len()];
            for (_, i, j) in pairs {
                let (a, b) = (racks[i.index()] as usize, racks[j.index()] as usize);
                if a != b {
                    if outs[a] >= wires[a] || ins[b] >= wires[b] {
                        self.counters.crowded += 1;
                        continue;
                    }
                    outs[a] += 1;
                    ins[b] += 1;
                }
                outputs[i.index()] = Some(j);
            }
            configuration.matching = Matching::new(outputs).expect("a part of a matching is one");
        }
        plan
    }

    fn works(&self, link: LinkId) -> bool {
        !self.dead.contains(&(link.0 / 2))
    }

    /// How many of these links may work.
    fn alive(&self, links: &[LinkId]) -> u32 {
        links.iter().filter(|l| self.works(**l)).count() as u32
    }

    /// Whether circuits can reach a host.
    fn has_circuits(&self, host: HostId) -> bool {
        let rack = self.config.racks[host.index()] as usize;
        self.works(self.config.links[host.index()]) && self.alive(&self.config.circuit_uplinks[rack]) > 0
    }

    /// Whether packets can go from one host to the other.
    fn has_packets(&self, from: HostId, to: HostId) -> bool {
        let c = &self.config;
        let [a, b] = [from, to].map(|h| c.racks[h.index()] as usize);
        let up = |rack: usize| self.alive(&c.packet_uplinks[rack]) > 0;
        [from, to].iter().all(|h| self.works(c.links[h.index()])) && (a == b || up(a) && up(b))
    }

    /// The demand of pairs that some network connects.
    fn reachable(&self, demand: &Demand) -> Demand {
        let mut left = Demand::none(demand.hosts());
        for source in (0..demand.hosts()).map(HostId) {
            let joined = |e: &&BacklogEntry| {
                let circuits = self.has_circuits(source) && self.has_circuits(e.destination);
                circuits || self.has_packets(source, e.destination)
            };
            let row = demand.row(source);
            let entries = row.entries().iter().filter(joined).copied();
            // Parts without an entry are dropped.
            left.set_row(source, Backlog::new(entries.collect()).with_coflows(row.coflows().to_vec()));
        }
        left
    }

    /// Extends the last configuration to the end of the period, for demand that arrives later.
    fn extend(&self, mut plan: Vec<Configuration>) -> Vec<Configuration> {
        let length = plan.iter().fold(Duration::ZERO, |sum, c| sum + c.length());
        if let Some(last) = plan.last_mut()
            && length < self.config.circuits.window
        {
            last.open += self.config.circuits.window - length;
        }
        plan
    }

    /// Checks the rules of section 3.3 and returns the first violation.
    fn check(&self, ups: &[Uptime], packets: &PacketRates, limits: &[Vec<Rate>; 2]) -> Result<(), ClassFault> {
        let c = &self.config;
        let hosts = c.racks.len();
        for (side, (sums, limits)) in SIDES.into_iter().zip(packets.sums().iter().zip(limits)) {
            for ((host, &rate), &circuit) in (0u32..).map(HostId).zip(sums).zip(limits) {
                if rate > c.circuits.packet {
                    return Err(ClassFault::Packets { host, side, rate, most: c.circuits.packet });
                }
                if c.limits && rate.as_bps() + circuit.as_bps() > c.line.as_bps() {
                    return Err(ClassFault::Line { host, side, packets: rate, circuit, line: c.line });
                }
            }
        }
        // In the order of starts, each circuit of a host must start after the one before has ended.
        let mut until = [vec![Duration::ZERO; hosts], vec![Duration::ZERO; hosts]];
        for &Uptime { source: source_host, destination, begin, end, .. } in ups {
            if packets.get(source_host, destination) > Rate::ZERO {
                return Err(ClassFault::Both { source_host, destination });
            }
            for (side, (until, host)) in SIDES.into_iter().zip(until.iter_mut().zip([source_host, destination])) {
                let until = &mut until[host.index()];
                if begin < *until {
                    return Err(ClassFault::Overlap { source_host, destination, side, begin, until: *until });
                }
                *until = end;
            }
        }
        Ok(())
    }

    /// Sends schedules: which class uses a circuit in this period, and at which rate.
    fn announce(&mut self, round: Round, begins: Time, report_at: Time, at: Time, period: &Period) {
        let c = &self.config;
        let lease = begins + c.circuits.window + c.margin * 2;
        // Times count from the sending of the message, so clocks need not agree.
        let empty = Grants { epoch: c.epoch, round, effective: at, grants: Vec::new(), report_at };
        let mut messages = vec![empty; c.racks.len()];
        for up in &period.ups {
            let grants = &mut messages[up.source.index()].grants;
            if grants.iter().all(|g| g.destination != up.destination) {
                grants.push(Grant {
                    destination: up.destination,
                    class: Class(0),
                    medium: Medium::Link(c.uplink(up.source)),
                    rate: Some(period.rate(up)),
                    bytes: None,
                    packets: None,
                    start: Trigger::Signal(u32::from(self.class(round, up.destination))),
                    end: Trigger::Never,
                    lease,
                });
            }
        }
        self.at(at, Action::Schedules(messages));
    }

    /// Sends the rates beside circuits for this period only, as the next circuits may leave no room
    /// for them. They come a little before the period, so that rates that stay are never
    /// interrupted. If the message is lost, the host's packets wait for the next one.
    fn heartbeat(&mut self, round: Round, begins: Time, at: Time, packets: &PacketRates) {
        let c = &self.config;
        let lease = begins + c.circuits.window + c.margin;
        let hosts = c.racks.len() as u32;
        let others = u64::from(hosts) - 1;
        let for_acks = Rate::bps((c.circuits.packet.as_bps() as f64 * c.acknowledgements) as u64 / others.max(1));
        let message = |source: HostId| {
            let has_rates = packets.sums()[0][source.index()] > Rate::ZERO;
            let each = usize::from(has_rates) + usize::from(for_acks > Rate::ZERO);
            let mut rates = Vec::with_capacity(each * others as usize);
            for (destination, &rate) in (0..).map(HostId).zip(packets.row(source)) {
                if rate > Rate::ZERO {
                    rates.push((destination, Class(0), rate));
                }
                if for_acks > Rate::ZERO && destination != source {
                    rates.push((destination, ACKNOWLEDGEMENTS, for_acks));
                }
            }
            Rates { epoch: c.epoch, round, lease, rates }
        };
        let messages = (0..hosts).map(HostId).map(message).collect();
        self.at(at, Action::Heartbeat(messages));
    }

    /// Schedules the actions of the period.
    fn act(&mut self, round: Round, begins: Time, period: &Period, out: &mut Vec<Output>) {
        let all_stop = self.config.circuits.retune == Retune::AllStop;
        let (stop, open_lead) = (self.config.stop, self.config.open_lead);
        let mut now = begins;
        for (index, configuration) in period.plan.iter().enumerate() {
            let before = self.standing.replace(configuration.matching.clone());
            let new = self.standing.as_ref().expect("it was just set");
            if before.as_ref() != Some(new) {
                let moved: Vec<HostId> = before
                    .iter()
                    .flat_map(|b| b.pairs())
                    .filter(|(i, j)| all_stop || new.outputs()[i.index()] != Some(*j))
                    .map(|p| p.0)
                    .collect();
                let matching = new.clone();
                self.at(now, Action::Pause(moved));
                self.at(now + stop, Action::Retune(matching));
            }
            let (dark, open) = (configuration.dark, configuration.open);
            let pairs = configuration.matching.pairs().collect();
            out.push(Output::Log(Event::SlotPlanned {
                round,
                index: index as u32,
                start: now + dark,
                open,
                guard: Duration::ZERO,
                pairs,
            }));
            now += configuration.length();
        }
        for up in &period.ups {
            let rate = period.rate(up);
            let (start, end) = (begins + up.begin, begins + up.end);
            self.promised.push_back(Promise { source: up.source, destination: up.destination, start, end, rate });
            let class = self.class(round, up.destination);
            self.at(start - open_lead, Action::Open(up.source, class, up.end - up.begin + open_lead));
        }
    }

    /// The class of a circuit to a host.
    fn class(&self, round: Round, to: HostId) -> u16 {
        circuit_class(round, self.config.racks.len() as u32, to)
    }

    fn signal(&mut self, host: HostId, open: Option<u16>, hold: Duration, out: &mut Vec<Output>) {
        self.signals += 1;
        let pfc = Pfc { epoch: self.config.epoch, sequence: self.signals, open, hold };
        out.push(Output::Send { to: Address::Host(host), message: Message::Pfc(pfc) });
    }

    fn carry_out(&mut self, action: Action, out: &mut Vec<Output>) {
        let send = |h: usize, message| Output::Send { to: Address::Host(HostId(h as u32)), message };
        match action {
            Action::Pause(hosts) => {
                // Each configuration starts with another host, so that none is always last.
                let first = self.signals as usize % hosts.len().max(1);
                let (before, after) = hosts.split_at(first);
                let in_turn: Vec<HostId> = after.iter().chain(before).copied().collect();
                for host in in_turn {
                    self.signal(host, None, Duration::ZERO, out);
                }
            }
            Action::Retune(matching) => out.push(Output::Retune(matching)),
            Action::Open(host, class, hold) => self.signal(host, Some(class), hold, out),
            Action::Schedules(all) => {
                out.extend(all.into_iter().enumerate().map(|(h, g)| send(h, Message::Grants(g))));
            }
            Action::Heartbeat(all) => {
                out.extend(all.into_iter().enumerate().map(|(h, r)| send(h, Message::Rates(r))));
            }
        }
    }
}

impl Agent for CircuitController {
    fn deadline(&self) -> Option<Time> {
        let next = self.actions.first_key_value().map(|(k, _)| k.0);
        Some(next.map_or(self.plan_at, |t| t.min(self.plan_at)))
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Due => {}
            Input::Message { from, message: Message::Report(report) } => return self.report(now, from, *report),
            Input::Down(links) => {
                // One direction stands for the whole wire.
                let dead = links.iter().map(|l| l.0 / 2).collect();
                if self.dead != dead {
                    self.dead = dead;
                    // Other wires may connect the same hosts, so the switch must be set again.
                    self.standing = None;
                }
                return;
            }
            Input::Rates(..) => return,
            Input::Message { .. } | Input::Backlog(_) | Input::Changed => return self.inbox.malformed(),
        }
        loop {
            let due = self.actions.first_key_value().map(|(k, _)| k.0).filter(|t| *t <= now);
            if due.is_some_and(|t| t <= self.plan_at) {
                let (_, action) = self.actions.pop_first().expect("it is there");
                self.carry_out(action, out);
            } else if self.plan_at <= now {
                self.plan(now, out);
            } else if let Some((_, action)) = due.and_then(|_| self.actions.pop_first()) {
                self.carry_out(action, out);
            } else {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
