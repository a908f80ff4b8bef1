//! The agents of a planned control in virtual time: the manager, one agent per host, and the control network between them.

use crate::calendar::{Key, Phase};
use crate::endpoints::Endpoints;
use crate::network::Network;
use crate::nic::Window;
use crate::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Fabric, HostId, Medium, Time};
use timeplane_protocol::{
    Address, Agent, Event, HostAgent, HostConfig, Input, Message, Opening, Output, SlotManager, SlotManagerConfig,
};
use timeplane_results::{ControlRow, Recorder, SlotRow};
use timeplane_scenario::SlotsSpec;
use timeplane_schedule::{Schedulers, SlotParameters, UnknownScheduler};
use timeplane_workload::Streams;

/// Messages of one sender.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    messages: u64,
    bytes: u64,
    lost: u64,
    late: u64,
}

/// A slot that was planned and may still be going on.
#[derive(Debug)]
struct Planned {
    round: u64,
    index: u32,
    start: Time,
    open: Duration,
    gap: Duration,
    pairs: Vec<(HostId, HostId)>,
}

/// Manager and host agents.
pub struct Slots {
    manager: SlotManager,
    hosts: Vec<HostAgent>,
    /// How much each host's clock is ahead of the truth; the manager's is the last.
    ahead: Vec<Duration>,
    /// When each agent's pending event fires.
    armed: Vec<SimTime>,
    latency: Duration,
    loss: f64,
    losses: Xoshiro256PlusPlus,
    /// Under way, by arrival, receiver, sender and number.
    messages: BTreeMap<(SimTime, u32, u32, u64), Message>,
    number: u64,
    sent: Vec<Sent>,
    planned: VecDeque<Planned>,
    /// Wire bytes sent in windows, by begin on the host's clock, source and destination.
    used: BTreeMap<(Time, u32, u32), u64>,
    rates: Vec<timeplane_model::Rate>,
    /// The first plan that the manager had to refuse.
    pub fault: Option<String>,
    out: Vec<Output>,
}

impl Slots {
    /// Agents that have not begun.
    ///
    /// # Errors
    /// Where no scheduler has that name.
    pub fn new(
        spec: &SlotsSpec,
        fabric: &Arc<Fabric>,
        schedulers: &Schedulers,
        streams: &Streams,
    ) -> Result<Self, UnknownScheduler> {
        let slots = SlotParameters { open: spec.slot, gap: spec.guard, slots: spec.round_slots };
        let scheduler = schedulers.build(&spec.scheduler, &slots)?;
        let mut config = SlotManagerConfig::new(slots);
        config.control_latency = spec.control_latency;
        config.compute_time = spec.compute_time;
        config.clock_error = spec.clock_error;
        let count = fabric.hosts();
        let host = |h| HostConfig { host: HostId(h), epoch: 0, start: config.start, fallback: config.fallback() };
        let error = |h: u32| {
            let mut stream = streams.fast("host", u64::from(h), "clock error");
            let uniform = (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            spec.clock_error.scale(2.0 * uniform - 1.0)
        };
        let ahead = (0..count).map(error).chain([Duration::ZERO]).collect();
        Ok(Self {
            hosts: (0..count).map(|h| HostAgent::new(host(h))).collect(),
            ahead,
            armed: vec![SimTime::MAX; count as usize + 1],
            latency: spec.control_latency,
            loss: spec.control_loss,
            losses: streams.fast("control", 0, "loss"),
            messages: BTreeMap::new(),
            number: 0,
            sent: vec![Sent::default(); count as usize + 1],
            planned: VecDeque::new(),
            used: BTreeMap::new(),
            rates: (0..count).map(|h| fabric.link(fabric.uplink(HostId(h))).spec.rate).collect(),
            fault: None,
            out: Vec::new(),
            manager: SlotManager::new(config, scheduler, Arc::clone(fabric)),
        })
    }

    fn manager_node(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// All agents wait for their first deadlines.
    pub fn begin(&mut self, network: &mut Network) {
        for node in 0..=self.manager_node() {
            self.arm(SimTime::ZERO, node, network);
        }
    }

    /// When the next control message arrives.
    pub fn next_message(&self) -> Option<SimTime> {
        self.messages.first_key_value().map(|(k, _)| k.0)
    }

    /// The first control message arrives.
    pub fn deliver(&mut self, at: SimTime, network: &mut Network, ends: &mut Endpoints) {
        let Some(((_, to, from, _), message)) = self.messages.pop_first() else { return };
        let from = if from == self.manager_node() { Address::Controller } else { Address::Host(HostId(from)) };
        self.tell(at, to, Input::Message { from, message }, network, ends);
    }

    /// An agent's deadline passes; a stale event is told by its time.
    pub fn due(&mut self, at: SimTime, node: u32, network: &mut Network, ends: &mut Endpoints) {
        if self.armed[node as usize] == at {
            self.armed[node as usize] = SimTime::MAX;
            self.tell(at, node, Input::Due, network, ends);
        }
    }

    fn agent(&mut self, node: u32) -> &mut dyn Agent {
        match self.hosts.get_mut(node as usize) {
            Some(host) => host,
            None => &mut self.manager,
        }
    }

    /// Gives an agent an input and carries its outputs out.
    fn tell(&mut self, at: SimTime, node: u32, input: Input, network: &mut Network, ends: &mut Endpoints) {
        let now = at.on_clock(self.ahead[node as usize]);
        let mut input = Some(input);
        while let Some(next) = input.take() {
            let mut out = std::mem::take(&mut self.out);
            self.agent(node).handle(now, next, &mut out);
            for output in out.drain(..) {
                match output {
                    Output::ReadBacklog => input = Some(Input::Backlog(network.backlog(node, ends))),
                    Output::Send { to, message } => self.send(at, node, to, message),
                    Output::Open(opening) => self.open(at, node, &opening, network),
                    Output::Log(event) => self.log(at, node, event, network, ends),
                }
            }
            self.out = out;
        }
        self.arm(at, node, network);
    }

    /// Keeps one event pending for an agent's deadline.
    fn arm(&mut self, at: SimTime, node: u32, network: &mut Network) {
        let Some(deadline) = self.agent(node).deadline() else { return };
        let due = SimTime::of_clock(deadline, self.ahead[node as usize]).max(at);
        if due < self.armed[node as usize] {
            self.armed[node as usize] = due;
            network.calendar.push(due, Key::new(Phase::Open, node, 0));
        }
    }

    fn send(&mut self, at: SimTime, from: u32, to: Address, message: Message) {
        let to = match to {
            Address::Controller => self.manager_node(),
            Address::Host(h) => h.0,
        };
        let sent = &mut self.sent[from as usize];
        sent.messages += 1;
        sent.bytes += u64::from(message.wire_bytes());
        let uniform = (self.losses.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if uniform < self.loss {
            sent.lost += 1;
            return;
        }
        self.number += 1;
        self.messages.insert((at + self.latency, to, from, self.number), message);
    }

    fn open(&mut self, at: SimTime, host: u32, opening: &Opening, network: &mut Network) {
        let until = SimTime::of_clock(opening.until, self.ahead[host as usize]);
        let path = match opening.medium {
            Medium::Path(tag) => tag.0 + 1,
            Medium::Fabric | Medium::Link(_) => 0,
        };
        let window = Window {
            destination: opening.destination.0,
            from: at,
            until,
            opened: opening.from,
            rate: opening.rate,
            most: opening.bytes.map_or(u64::MAX, Bytes::get),
            path,
            sent: 0,
        };
        let ended = network.open(at, host, window);
        self.book(host, &ended);
    }

    fn book(&mut self, host: u32, ended: &[Window]) {
        for w in ended {
            *self.used.entry((w.opened, host, w.destination)).or_default() += w.sent;
        }
    }

    fn log(&mut self, at: SimTime, node: u32, event: Event, network: &mut Network, ends: &mut Endpoints) {
        match event {
            Event::SlotPlanned { round, index, start, open, gap, pairs } => {
                self.planned.push_back(Planned { round: round.0, index, start, open, gap, pairs });
            }
            Event::RoundPlanned { .. } => self.write(Some(at), network, &mut ends.ledger.recorder),
            Event::PlanRefused { round, fault } => {
                self.fault.get_or_insert_with(|| format!("the plan of round {} was refused: {fault}", round.0));
            }
            Event::GrantsLost { .. } => self.sent[node as usize].late += 1,
        }
    }

    /// Writes down slots that have ended at `at`, or all.
    fn write(&mut self, at: Option<SimTime>, network: &mut Network, recorder: &mut Recorder) {
        for host in 0..self.manager_node() {
            let ended = network.expire(at.unwrap_or(SimTime::MAX), host);
            self.book(host, &ended);
        }
        let slack = self.manager.config().clock_error * 2;
        while let Some(first) = self.planned.front() {
            if at.is_some_and(|at| first.start + first.open + slack > at.on_clock(Duration::ZERO)) {
                break;
            }
            let slot = self.planned.pop_front().expect("it is there");
            for (source, destination) in slot.pairs {
                recorder.slot(&SlotRow {
                    round: slot.round,
                    slot: slot.index,
                    start_ps: slot.start.as_ps(),
                    open_ps: slot.open.as_ps(),
                    gap_ps: slot.gap.as_ps(),
                    source: source.0,
                    destination: destination.0,
                    granted_bytes: self.rates[source.index()].bytes_in(slot.open).get(),
                    sent_bytes: self.used.remove(&(slot.start, source.0, destination.0)).unwrap_or(0),
                });
            }
        }
    }

    /// Writes what is left, and gives the counts of control messages.
    pub fn close(&mut self, network: &mut Network, recorder: &mut Recorder) -> Vec<ControlRow> {
        self.write(None, network, recorder);
        let manager = self.manager_node();
        let row = |node: u32, s: &Sent| ControlRow {
            kind: if node == manager { "grants" } else { "report" },
            sender: (node != manager).then_some(node),
            messages: s.messages,
            bytes: s.bytes,
            lost: s.lost,
            // A host counts grants that came late to it; the message was the manager's.
            late: 0,
        };
        let mut rows: Vec<ControlRow> = self.sent.iter().enumerate().map(|(n, s)| row(n as u32, s)).collect();
        let late = self.sent.iter().map(|s| s.late).sum();
        rows.iter_mut().filter(|r| r.sender.is_none()).for_each(|r| r.late = late);
        rows
    }
}
