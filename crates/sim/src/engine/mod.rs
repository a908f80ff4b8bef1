//! The event loop: single-threaded, deterministic, ordered by `(time, phase, element)` alone.
//!
//! - A hop is one event, the arrival: the departure of a packet is known when it joins a link. A
//!   link has one pending event, for its first packet in flight.
//! - The last hop has no event where its arrival makes the host neither send nor wait. This holds
//!   for all transports but TCP.
//! - Outside events (flow arrivals, control messages, repair reports, samples) are merged with the
//!   calendar, not pushed into it. Timers are lazy: a deadline that moved is scheduled again when
//!   the old one fires.
//! - As a day of the calendar opens, the records that it needs are read early, so that large
//!   networks do not wait for memory. Links, packets and what a receiver needs of a flow are a
//!   cache line each.
//! - The hot loop is a function of its own. Rare events, such as failures, take no registers from
//!   it.
//!
//! Slots are half-open. A flow that arrives with a packet sees it. A gate that opens at an instant
//! is seen by the interface that serves at the same instant.

pub mod calendar;
pub mod event;
mod steps;
pub(crate) mod time;

use crate::air::switches;
use crate::control::Controllers;
use crate::control::proxies::Proxies;
use crate::engine::event::{Event, EventKind, Key, OutsideEvent, Phase};
use crate::engine::steps::Release;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::{Endpoints, HostAction, NotifyWhen};
use crate::hosts::flow::SenderTransport;
use crate::network::Network;
use crate::network::repair_reports::{ArrivedReport, RepairReports};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
pub use timeplane_experiment::Pulse;
use timeplane_model::{Duration, HostId};
use timeplane_results::{CollectiveRow, QueueRow, ReceivedRow, StepRow, TcpRow};
use timeplane_workload::{FlowArrival, Steps};

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing was left to do, or the end of the run was reached.
    Complete,
    /// The caller asked for it, a plan was refused, or results could not be written.
    Cancelled,
    /// A plan did not keep its senders apart, so packets cannot move as
    /// [trains](Network::allow_trains). The run counts for nothing.
    Disturbed,
}

/// Why the loop stops taking events from the calendar.
enum Paused {
    /// The calendar holds nothing more before the bound.
    Nothing,
    /// An event outside the calendar may have come nearer.
    News,
    /// The caller wants to hear of the progress.
    Long,
    Done,
}

/// Events between two reports of progress to the caller.
const LONG: u32 = 1 << 16;

/// A run in progress.
pub struct Engine<'a> {
    /// The network with everything in flight.
    pub network: Network,
    /// Both ends of every flow.
    pub ends: Endpoints,
    /// The agents of the plan.
    pub control: Option<Controllers>,
    /// The proxy, and by host the switch above it.
    pub proxies: Option<Box<Proxies>>,
    switches: Vec<u32>,
    arrivals: std::iter::Peekable<Box<dyn Iterator<Item = FlowArrival> + Send + 'a>>,
    /// Flows of which each waits for the one before it.
    turns: Option<Turns>,
    /// Flows that wait for other flows and computations.
    steps: Option<Box<Release<'a>>>,
    /// No flow arrives from here on.
    arrivals_end: SimTime,
    stop: SimTime,
    sample_every: Option<Duration>,
    next_sample: SimTime,
    /// How often received bytes are sampled, when next, and what each host had received at the last
    /// sample.
    received_every: Option<Duration>,
    next_received: SimTime,
    received: Vec<u64>,
    /// How often TCP senders are sampled, and when next.
    tcp_every: Option<Duration>,
    next_tcp: SimTime,
    /// Events handled so far.
    pub events: u64,
    /// The time of the last event.
    pub now: SimTime,
    /// When the last event happened that comes after the messages of its instant.
    heard: SimTime,
    /// Whether the run ends with its last flow, even where agents still wait for something.
    until_done: bool,
}

/// Flows of which each host sends one at a time.
struct Turns {
    /// By host, first to last.
    waiting: Vec<VecDeque<FlowArrival>>,
    /// When hosts without a flow start their next one.
    next: BTreeSet<(SimTime, u32)>,
}

impl Turns {
    fn new(hosts: u32, arrivals: impl Iterator<Item = FlowArrival>) -> Self {
        let mut turns = Self { waiting: vec![VecDeque::new(); hosts as usize], next: BTreeSet::new() };
        arrivals.for_each(|a| turns.waiting[a.source.index()].push_back(a));
        (0..hosts).for_each(|host| turns.over(SimTime::ZERO, host));
        turns
    }

    /// A host has no flow under way.
    fn over(&mut self, at: SimTime, host: u32) {
        if let Some(arrival) = self.waiting[host as usize].front() {
            self.next.insert((at.max(SimTime::ZERO + arrival.at), host));
        }
    }

    /// Takes the next flow.
    fn take(&mut self) -> Option<FlowArrival> {
        let (_, host) = self.next.pop_first()?;
        self.waiting[host as usize].pop_front()
    }
}

impl<'a> Engine<'a> {
    /// A run that has not started.
    pub fn new(
        network: Network,
        ends: Endpoints,
        control: Option<Controllers>,
        arrivals: Box<dyn Iterator<Item = FlowArrival> + Send + 'a>,
        arrivals_end: SimTime,
        sample_every: Option<Duration>,
    ) -> Self {
        let stop = ends.config().stop;
        Self {
            network,
            ends,
            control,
            proxies: None,
            switches: Vec::new(),
            arrivals: arrivals.peekable(),
            turns: None,
            steps: None,
            arrivals_end,
            stop,
            sample_every,
            next_sample: SimTime::ZERO,
            received_every: None,
            next_received: SimTime::MAX,
            received: Vec::new(),
            tcp_every: None,
            next_tcp: SimTime::MAX,
            events: 0,
            now: SimTime::ZERO,
            heard: SimTime(-1),
            until_done: stop == SimTime::MAX,
        }
    }

    /// Makes each flow of a host wait for the one before it. Called before the run. Last hops must
    /// be events, and arrivals must end.
    pub fn take_turns(&mut self) {
        self.turns = Some(Turns::new(self.network.fabric().hosts(), &mut self.arrivals));
        self.ends.notify = NotifyWhen::SenderKnows;
    }

    /// Starts flows when all that they wait for has been received, in place of the arrivals. Called
    /// before the run.
    pub fn follow(&mut self, steps: &'a Steps) {
        self.steps = Some(Box::new(Release::new(steps)));
        self.ends.notify = NotifyWhen::Received;
    }

    /// The rows of steps and their collectives, once the run is over.
    pub fn step_rows(&mut self) -> (Vec<StepRow>, Vec<CollectiveRow>) {
        self.steps.take().map(|s| s.rows()).unwrap_or_default()
    }

    /// Records the bytes that each host receives in every interval. Called before the run. Last
    /// hops must be events.
    pub fn record_received(&mut self, every: Option<Duration>) {
        self.received_every = every;
        self.next_received = every.map_or(SimTime::MAX, |every| SimTime::ZERO + every);
        self.received = vec![0; self.network.fabric().hosts() as usize];
    }

    /// Lets a proxy steer senders. Called before the run.
    pub fn steer_by(&mut self, proxies: Proxies) {
        self.switches = switches(self.network.fabric());
        self.proxies = Some(Box::new(proxies));
    }

    /// Records the state of TCP senders at every interval. Called before the run.
    pub fn record_tcp(&mut self, every: Option<Duration>) {
        self.tcp_every = every;
        self.next_tcp = every.map_or(SimTime::MAX, |every| SimTime::ZERO + every);
        self.ends.longest_rtts = every.map(|_| BTreeMap::new());
    }

    /// Runs to the end, until `pulse.cancel` is set, or until a plan is refused.
    pub fn run(&mut self, pulse: &Pulse) -> Ended {
        let ended = self.run_on(pulse);
        if ended == Ended::Complete {
            self.network.forward_until(self.stop, &mut self.ends);
            self.now = self.now.max(self.network.last_ahead());
        }
        if self.network.is_disturbed() { Ended::Disturbed } else { ended }
    }

    fn run_on(&mut self, pulse: &Pulse) -> Ended {
        if let Some(control) = &mut self.control {
            control.begin(&mut self.network);
        }
        let mut told = self.events;
        loop {
            self.network.write_capture(self.now);
            let bound = self.next_outside().map_or(Event::NEVER, |next| next.0);
            match self.run_before(bound) {
                Paused::Nothing => {}
                Paused::News => {
                    self.tell_changes();
                    // In some runs every other event is news.
                    if self.events - told >= u64::from(LONG) {
                        told = self.events;
                        if self.tell(pulse) {
                            return Ended::Cancelled;
                        }
                    }
                    continue;
                }
                Paused::Long if self.tell(pulse) => return Ended::Cancelled,
                Paused::Long => continue,
                Paused::Done => return Ended::Complete,
            }
            // A sample is due only while the calendar holds events: ask again.
            let outside = self.next_outside();
            let due = outside.filter(|next| next.0.at <= self.stop);
            let Some((event, kind)) = due.filter(|next| !self.is_done(next.0.at)) else {
                if self.stop < SimTime::MAX && (outside.is_some() || !self.network.wires.calendar.is_empty()) {
                    self.now = self.stop;
                }
                return Ended::Complete;
            };
            self.now = event.at;
            self.events += 1;
            self.note_messages(event);
            self.handle_outside(event.at, kind);
            self.tell_changes();
            if self.tell(pulse) {
                return Ended::Cancelled;
            }
            if self.network.is_disturbed() {
                return Ended::Disturbed;
            }
        }
    }

    /// Handles the events of the calendar before `outside`.
    ///
    /// This is a function of its own, so that rare work takes no registers from it.
    #[inline(never)]
    fn run_before(&mut self, outside: Event) -> Paused {
        let bound = outside.min(Event { at: self.stop, key: Key::LAST });
        for _ in 0..LONG {
            if let Some((at, link)) = self.network.next_arrival(bound.at, &self.ends) {
                self.now = at;
                self.events += 1;
                self.network.arrive(at, link, &mut self.ends);
                // Most arrivals bring no outside event nearer.
                if !self.network.news.pending && self.ends.finished.is_empty() {
                    continue;
                }
            } else {
                let Some(event) = self.network.wires.calendar.pop_other(bound) else { return Paused::Nothing };
                // Timers of finished flows, and agents that continue to ask, do not keep a run
                // alive.
                if matches!(event.key.phase(), Phase::Timer | Phase::Open) && self.is_done(event.at) {
                    return Paused::Done;
                }
                if !self.handle(event) && !self.network.news.pending && self.ends.finished.is_empty() {
                    continue;
                }
            }
            self.network.news.pending = false;
            return Paused::News;
        }
        Paused::Long
    }

    /// Messages of the event's instant have been delivered, if it comes after them.
    #[inline]
    fn note_messages(&mut self, event: Event) {
        if event >= OutsideEvent::Message.at(event.at) {
            self.heard = event.at;
        }
    }

    /// The time by which all messages that arrived have been delivered, once the run is over.
    pub fn heard_until(&self) -> SimTime {
        let before = SimTime(self.now.0 - 1);
        if self.now == self.stop { self.now } else { self.heard.max(before) }
    }

    /// Whether every flow is over at `at` in a run that ends with its flows. Called after all
    /// arrivals of that instant.
    fn is_done(&mut self, at: SimTime) -> bool {
        if self.until_done && self.network.looks_ahead() && self.next_arrival().is_none() {
            self.network.forward_until(at, &mut self.ends);
        }
        self.until_done && self.ends.flows.is_empty() && self.next_arrival().is_none()
    }

    fn tell(&self, pulse: &Pulse) -> bool {
        pulse.events.store(self.events, Ordering::Relaxed);
        pulse.now_ps.store(self.now.as_ps() as u64, Ordering::Relaxed);
        pulse.bytes.store(self.ends.ledger.new_bytes, Ordering::Relaxed);
        let refused = self.control.as_ref().is_some_and(|control| control.fault.is_some());
        refused || pulse.cancel.load(Ordering::Relaxed) || self.ends.ledger.recorder.failed()
    }

    fn next_arrival(&mut self) -> Option<SimTime> {
        let at = match (&self.steps, &self.turns) {
            (Some(steps), _) => steps.next()?,
            (None, Some(turns)) => turns.next.first()?.0,
            (None, None) => SimTime::ZERO + self.arrivals.peek()?.at,
        };
        (at < self.arrivals_end).then_some(at)
    }

    /// The first event that is not in the calendar.
    fn next_outside(&mut self) -> Option<(Event, OutsideEvent)> {
        use OutsideEvent::{
            Change, FlowStart, Message, Proxy, RepairReport, SampleQueues, SampleReceived, SampleTcp, Slice,
        };
        let mut first: Option<(Event, OutsideEvent)> = None;
        let mut consider = |at: Option<SimTime>, kind: OutsideEvent| {
            if let Some(event) = at.map(|at| kind.at(at))
                && first.is_none_or(|f| event < f.0)
            {
                first = Some((event, kind));
            }
            first.is_some()
        };
        consider(self.next_arrival(), FlowStart);
        consider(self.network.next_change(), Change);
        consider(self.network.next_slice(), Slice);
        consider(self.network.next_report(), RepairReport);
        consider(self.control.as_ref().and_then(Controllers::next_message), Message);
        let some = consider(self.proxies.as_ref().and_then(|p| p.deadline()), Proxy);
        // Samples, handovers and changes of rates do not keep a run alive.
        if some || !self.network.wires.calendar.is_empty() {
            consider(self.network.next_handover(), Change);
            consider(self.network.next_rate(), Change);
            consider(self.sample_every.map(|_| self.next_sample), SampleQueues);
            consider(self.received_every.map(|_| self.next_received), SampleReceived);
            consider(self.tcp_every.map(|_| self.next_tcp), SampleTcp);
        }
        first
    }

    /// Handles an event that is more than an arrival in order. True where an outside event may have
    /// come nearer.
    #[inline(never)]
    fn handle(&mut self, event: Event) -> bool {
        self.now = event.at;
        self.events += 1;
        self.note_messages(event);
        let (now, network, ends) = (event.at, &mut self.network, &mut self.ends);
        match event.key.kind() {
            EventKind::Arrival { link } => {
                network.arrive(now, link, ends);
                return network.news.pending;
            }
            EventKind::PassHost { link } => {
                network.pass_host(now, link, ends);
                return network.news.pending;
            }
            EventKind::Timer { flow, key } => {
                let action = ends.timer(now, flow, key, network);
                network.hold(now, action, ends);
                return true;
            }
            EventKind::AgentDue { node } => {
                let control = self.control.as_mut().expect("only a plan has agents");
                let before = control.next_message();
                control.due(now, node, network, ends);
                return control.next_message() != before || !network.meters.lost_control.is_empty();
            }
            EventKind::QueuesChanged { host } => {
                let control = self.control.as_mut().expect("only a plan has agents");
                let before = control.next_message();
                control.tell_change(now, host, network, ends);
                return control.next_message() != before || !network.meters.lost_control.is_empty();
            }
            EventKind::Timeslot => {
                self.control.as_mut().expect("only a plan has timeslots").start_timeslot(now, network, ends);
            }
            EventKind::Multiplexer { link } => network.serve_multiplexer(now, link),
            EventKind::Air => network.serve_air(now, ends),
            EventKind::Flyways => network.update_flyways(now, ends),
            EventKind::Granted { host } => network.serve_granted(now, host, ends),
            EventKind::Serve { sender } => match sender.checked_sub(network.fabric().hosts()) {
                None => network.serve(now, sender, ends),
                Some(link) => network.serve_port(now, link, ends),
            },
            EventKind::Pause { link, priorities } => network.obey(now, link, priorities),
        }
        false
    }

    /// Notifies agents of queue changes and counts packets that interfaces refused.
    #[inline]
    fn tell_changes(&mut self) {
        if !self.ends.finished.is_empty() {
            self.go_on();
        }
        self.network.lose_refused(&mut self.ends);
        if !self.network.news.control.is_empty() || !self.network.meters.lost_control.is_empty() {
            self.tell_control_frames();
        }
        while let Some(host) = self.network.news.changed.pop() {
            if let Some(control) = &mut self.control {
                control.changed(self.now, host, &mut self.network);
            }
        }
    }

    /// Control frames have arrived in band, or were lost.
    #[inline(never)]
    fn tell_control_frames(&mut self) {
        let arrived = std::mem::take(&mut self.network.news.control);
        let lost = std::mem::take(&mut self.network.meters.lost_control);
        let all = arrived.into_iter().map(|n| (n, false)).chain(lost.into_iter().map(|n| (n, true)));
        for (number, lost) in all {
            if number >= RepairReports::FIRST {
                self.network.repair_frame(self.now, number, lost);
            } else if let Some(control) = &mut self.control {
                control.frame(self.now, number, lost);
            }
        }
    }

    /// Finished flows let others start.
    #[cold]
    fn go_on(&mut self) {
        for finished in std::mem::take(&mut self.ends.finished) {
            if let Some(steps) = &mut self.steps {
                steps.received(finished.flow, finished.at);
            }
            if let Some(turns) = &mut self.turns {
                turns.over(self.now, finished.host);
            }
        }
    }

    fn handle_outside(&mut self, at: SimTime, kind: OutsideEvent) {
        match kind {
            OutsideEvent::Slice => self.network.begin_slice(at, &mut self.ends),
            OutsideEvent::Change => {
                for access in self.network.hand_over(at, &mut self.ends) {
                    if let Some(proxies) = &mut self.proxies {
                        proxies.hands_over(at, access);
                    }
                }
                let changes = self.network.change(at, &mut self.ends);
                if let Some(control) = &mut self.control {
                    control.fail(at, &changes, &mut self.network, &mut self.ends);
                }
            }
            OutsideEvent::FlowStart => self.start_flow(at),
            OutsideEvent::Message => {
                let control = self.control.as_mut().expect("its message");
                control.deliver(at, &mut self.network, &mut self.ends);
                // No message has a consequence that comes before the others of its instant.
                while control.next_message() == Some(at) {
                    self.events += 1;
                    control.deliver(at, &mut self.network, &mut self.ends);
                }
            }
            OutsideEvent::Proxy => {
                let proxies = self.proxies.as_mut().expect("its event");
                proxies.due(at, &mut self.network, &mut self.ends);
            }
            OutsideEvent::RepairReport => self.deliver_report(at),
            OutsideEvent::SampleQueues => self.sample(at),
            OutsideEvent::SampleReceived => self.sample_received(at),
            OutsideEvent::SampleTcp => self.sample_tcp(at),
        }
    }

    fn start_flow(&mut self, at: SimTime) {
        let next = match (&mut self.steps, &mut self.turns) {
            (Some(steps), _) => match steps.take() {
                // A computation ended.
                None => return,
                flow => flow,
            },
            (None, Some(turns)) => turns.take(),
            (None, None) => self.arrivals.next(),
        };
        let arrival = next.expect("it was there");
        if self.proxies.is_some() {
            return self.start_steered(at, &arrival);
        }
        let action = self.ends.start(at, &arrival, &mut self.network);
        if action != HostAction::Nothing {
            self.network.hold(at, action, &mut self.ends);
        }
    }

    /// The next repair report arrives, unless its sender is down.
    fn deliver_report(&mut self, now: SimTime) {
        let Some(ArrivedReport { at, flow, key, report }) = self.network.pop_report(now) else { return };
        let down = self.ends.flows.find(key, flow).is_some_and(|f| self.network.is_host_down(f.sender.source));
        match report.filter(|_| !down) {
            Some(report) => {
                if let Some(capture) = &mut self.network.capture
                    && let Some(of) = self.ends.flows.find(key, flow)
                {
                    capture.repair(at, true, [of.destination, of.sender.source], flow, &report);
                }
                let action = self.ends.report(at, flow, key, &report, &mut self.network);
                self.network.hold(at, action, &mut self.ends);
            }
            None => self.ends.report_lost(flow, key),
        }
    }

    fn sample_received(&mut self, at: SimTime) {
        let ledger = &mut self.ends.ledger;
        for (host, (before, &now)) in self.received.iter_mut().zip(&ledger.received).enumerate() {
            let received_bytes = now - std::mem::replace(before, now);
            if received_bytes > 0 {
                ledger.recorder.received(&ReceivedRow { time_ps: at.as_ps(), host: host as u32, received_bytes });
            }
        }
        self.next_received = at + self.received_every.expect("only then is it sampled");
    }

    /// A flow starts that a proxy may steer or split.
    fn start_steered(&mut self, at: SimTime, arrival: &FlowArrival) {
        let Some(proxies) = &mut self.proxies else { return };
        let number = self.ends.started();
        let halves = proxies.split_at().map(HostId).filter(|&h| h != arrival.source && h != arrival.destination);
        let source = match halves {
            Some(host) => {
                let first = FlowArrival { destination: host, ..*arrival };
                let second = FlowArrival { source: host, ..*arrival };
                self.ends.start_split(at, &first, &second, &mut self.network);
                host
            }
            None => {
                let action = self.ends.start(at, arrival, &mut self.network);
                self.network.hold(at, action, &mut self.ends);
                arrival.source
            }
        };
        let switches = [source, arrival.destination].map(|h| self.switches[h.index()]);
        // The second half of a split connection starts before the first.
        proxies.flow_begins(at, number, switches, &self.network, &mut self.ends);
    }

    fn sample_tcp(&mut self, at: SimTime) {
        let mut longest = self.ends.longest_rtts.replace(BTreeMap::new()).unwrap_or_default();
        for (_, flow) in self.ends.flows.iter() {
            let SenderTransport::Tcp(sender) = &flow.sender.transport else { continue };
            self.ends.ledger.recorder.tcp(&TcpRow {
                time_ps: at.as_ps(),
                flow: flow.number,
                window_bytes: sender.cwnd(),
                in_flight_bytes: sender.in_flight(),
                acknowledged_bytes: sender.acknowledged(),
                smoothed_rtt_ps: sender.srtt().map(Duration::as_ps),
                longest_rtt_ps: longest.remove(&flow.number).map(Duration::as_ps),
                retransmissions: sender.retransmissions(),
                timeouts: sender.timeouts(),
            });
        }
        let ledger = &mut self.ends.ledger;
        if let Some(round_trips) = &mut ledger.round_trips {
            round_trips.write(at, &mut ledger.recorder);
        }
        self.next_tcp = at + self.tcp_every.expect("only then is it sampled");
    }

    fn sample(&mut self, at: SimTime) {
        let fabric_hosts = self.network.fabric().hosts();
        for host in 0..fabric_hosts {
            self.network.refill(at, host, &mut self.ends);
        }
        for link in 0..self.network.wires.links.len() as u32 {
            let from = self.network.ends_of(link).0;
            let state = &self.network.wires.links[link as usize];
            let mut queue_bytes = state.backlog_bytes(at);
            let mut queue_packets = state.backlog_packets(at, &self.network.wires.packets);
            let mut sending = state.sending_bytes(at, &self.network.wires.packets);
            if let Some((packets, bytes, _)) = self.network.air_queue(link) {
                queue_packets = packets as u32;
                queue_bytes = bytes;
                sending = 0;
            } else if from < fabric_hosts {
                let (packets, bytes) = self.network.waiting(from, &self.ends);
                queue_packets += packets as u32;
                queue_bytes += bytes;
            } else {
                let (packets, bytes) = self.network.port_waiting(link);
                queue_packets += packets as u32;
                queue_bytes += bytes;
            }
            if queue_bytes > 0 {
                // Behind cut-through, the header of the last packet may have arrived while its end
                // is still being sent.
                let queue_packets = queue_packets.max(1);
                let waiting_bytes = queue_bytes.saturating_sub(sending);
                let time_ps = at.as_ps();
                let row = QueueRow { time_ps, link, node: from, queue_bytes, queue_packets, waiting_bytes };
                self.ends.ledger.recorder.queue(&row);
            }
        }
        self.next_sample = at + self.sample_every.expect("only then is it sampled");
    }
}
