//! A world in virtual time for agents: inaccurate clocks, late, lost or doubled messages, queues of
//! frames.
//!
//! There is no fabric: frames that are sent arrive. The record of openings shows whether they could
//! have collided.

#![allow(dead_code)]

pub mod wire;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use timeplane_model::{Backlog, Bytes, Duration, Fabric, Framing, HostId, LinkSpec, Rate, Switch, Time, mix64};
use timeplane_protocol::{
    Address, Agent, Event, HostAgent, HostConfig, HostCounters, Input, MakeScheduler, Message, Opening, Output, Relay,
    RelayConfig, Reporting, SlotController, SlotControllerConfig, Standby, Succession,
};
use timeplane_schedule::{SlotParameters, WeightedRoundRobin};

pub const RATE: Rate = Rate::gbps(10);
/// Wire bytes of a jumbo frame.
pub const FRAME: u64 = 9038;
pub const OPEN: Duration = Duration::from_us(300);
pub const GUARD: Duration = Duration::from_us(15);
/// Interval at which buffers are checked.
const TICK: Duration = Duration::from_us(5);
/// Bytes of whole frames that a slot carries.
pub const SLOT_BYTES: u64 = 41 * FRAME;

pub fn parameters() -> SlotParameters {
    SlotParameters { open: OPEN, guard: GUARD, slots: 32, frame: Bytes::ZERO }
}

pub fn one_switch(hosts: u32) -> Arc<Fabric> {
    let link = LinkSpec { rate: RATE, propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
    Arc::new(Fabric::single_switch(hosts, Switch::default(), link).unwrap())
}

/// A clock with an offset from true time and a drift in parts per million.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    pub offset: Duration,
    pub ppm: i64,
}

impl Clock {
    pub fn read(&self, truth: i64) -> Time {
        Time::from_ps(truth + self.offset.as_ps() + (i128::from(truth) * i128::from(self.ppm) / 1_000_000) as i64)
    }
    /// The first true time at which it shows `time` or later.
    pub fn truth(&self, time: Time) -> i64 {
        let elapsed = time.as_ps() - self.offset.as_ps();
        let mut guess = (i128::from(elapsed) * 1_000_000 / (1_000_000 + i128::from(self.ppm))) as i64 - 2;
        while self.read(guess) < time {
            guess += 1;
        }
        guess
    }
}

/// Impairments of messages by the control network.
#[derive(Clone, Copy)]
pub struct Network {
    /// Maximum latency one way; the minimum is half of it.
    pub latency: Duration,
    /// Number of messages out of 1000 that are lost, and that arrive twice.
    pub lost: u64,
    pub doubled: u64,
}

/// An opening in true time.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    pub source: u32,
    pub destination: u32,
    pub from: i64,
    pub until: i64,
    pub bytes: u64,
}

pub struct Host {
    pub agent: HostAgent,
    pub clock: Clock,
    pub queues: BTreeMap<u32, u64>,
    /// Size of the receive buffer, its content, and the rate at which the application reads.
    pub buffer: Option<(u64, u64, Rate)>,
    /// Openings that are not over: the opening, the earliest start of its next frame, bytes sent,
    /// index in the record.
    open: Vec<(Opening, Time, u64, usize)>,
    drained: i64,
}

pub struct World {
    pub now: i64,
    pub hosts: Vec<Host>,
    pub controller: Box<dyn Agent>,
    pub controller_clock: Clock,
    /// Another controller, whose clock is accurate; it also hears what hosts tell the controller.
    pub standby: Option<Box<dyn Agent>>,
    pub network: Network,
    pub sendings: Vec<Sending>,
    pub events: Vec<Event>,
    pub messages: u64,
    pub message_bytes: u64,
    pub most_buffered: u64,
    pub fabric: Arc<Fabric>,
    pub config: SlotControllerConfig,
    /// The controller is no longer called.
    pub dead: bool,
    /// Controllers do not hear each other.
    pub cut_off: bool,
    /// If set, the first controller reaches these hosts only, and the second one the others.
    pub reached_by_first: Option<std::ops::Range<u32>>,
    /// The controller hears nothing but is heard.
    pub deaf: bool,
    /// Relays with their clocks, each in charge of a part of the hosts.
    pub relays: Vec<(Relay, Clock)>,
    /// Number of lost messages between controllers, out of 1000.
    pub lost_between: u64,
    mail: BinaryHeap<Reverse<(i64, u64)>>,
    letters: BTreeMap<u64, (Address, Address, Message)>,
    dice: u64,
}

impl World {
    pub fn new(hosts: u32, config: SlotControllerConfig) -> Self {
        let fabric = one_switch(hosts);
        let controller = Box::new(controller(config, &fabric));
        let hosts = (0..hosts)
            .map(|h| Host {
                agent: HostAgent::new(host_config(h, fabric.hosts(), 0, config.start, &config)),
                clock: Clock::default(),
                queues: BTreeMap::new(),
                buffer: None,
                open: Vec::new(),
                drained: 0,
            })
            .collect();
        Self {
            now: 0,
            hosts,
            controller,
            controller_clock: Clock::default(),
            standby: None,
            network: Network { latency: config.control_latency, lost: 0, doubled: 0 },
            sendings: Vec::new(),
            events: Vec::new(),
            messages: 0,
            message_bytes: 0,
            most_buffered: 0,
            fabric,
            config,
            dead: false,
            cut_off: false,
            reached_by_first: None,
            deaf: false,
            relays: Vec::new(),
            lost_between: 0,
            mail: BinaryHeap::new(),
            letters: BTreeMap::new(),
            dice: 0,
        }
    }

    pub fn all_to_all(&mut self, bytes: u64) {
        for i in 0..self.hosts.len() as u32 {
            for j in (0..self.hosts.len() as u32).filter(|&j| j != i) {
                self.hosts[i as usize].queues.insert(j, bytes);
            }
            self.call(Address::Host(HostId(i)), Input::Changed, &mut Vec::new());
        }
    }

    pub fn waiting(&self) -> u64 {
        self.hosts.iter().flat_map(|h| h.queues.values()).sum()
    }

    pub fn restart_host(&mut self, host: u32, epoch: u32) {
        let start = self.hosts[host as usize].clock.read(self.now);
        self.hosts[host as usize].agent =
            HostAgent::new(host_config(host, self.fabric.hosts(), epoch, start, &self.config));
    }

    /// Installs two controllers, of which the first leads.
    pub fn two_controllers(&mut self, takeover: Duration) {
        let config = self.config;
        let first = Succession { takeover, controllers: 2, place: 0 };
        self.controller = Box::new(Standby::leading(config, first, scheduler(config.slots), Arc::clone(&self.fabric)));
        self.standby = Some(self.follower(takeover, 1));
    }

    /// The first or second of two controllers, which follows from now on.
    pub fn follower(&self, takeover: Duration, place: u32) -> Box<dyn Agent> {
        let config = SlotControllerConfig { start: Time::from_ps(self.now), ..self.config };
        let succession = Succession { takeover, controllers: 2, place };
        Box::new(Standby::new(config, succession, scheduler(config.slots), Arc::clone(&self.fabric)))
    }

    /// Installs `count` relays between the controller and the hosts, whose clocks are off by up to
    /// `error`. The configured latency must be a little more than twice that of a message.
    pub fn relays(&mut self, count: u32, latency: Duration, error: Duration) {
        self.config = SlotControllerConfig { relays: count, relay_error: error, ..self.config };
        self.network.latency = latency;
        self.controller = Box::new(controller(self.config, &self.fabric));
        let relay = |number| {
            let offset = match number % 3 {
                0 => error,
                1 => Duration::ZERO - error,
                _ => error / 3,
            };
            (self.relay(number, 0), Clock { offset, ppm: 0 })
        };
        self.relays = (0..count).map(relay).collect();
    }

    /// A relay without any state.
    pub fn relay(&self, number: u32, epoch: u32) -> Relay {
        let control_latency = self.network.latency;
        let config = RelayConfig {
            number,
            relays: self.config.relays,
            epoch,
            control_latency,
            // Messages that are sent together arrive within half of it.
            gather: control_latency / 2 + self.config.clock_error * 2,
            signals: self.config.signals,
        };
        Relay::new(config, Arc::clone(&self.fabric))
    }

    pub fn restart_controller(&mut self, epoch: u32) {
        let start = self.controller_clock.read(self.now);
        let config = SlotControllerConfig { epoch, start, quiet: self.config.memory(), ..self.config };
        self.controller = Box::new(controller(config, &self.fabric));
        self.dead = false;
    }

    /// Runs until `until`, or until `stop` returns true at some step.
    pub fn run(&mut self, until: Duration, mut stop: impl FnMut(&World) -> bool) {
        let until = until.as_ps();
        let mut out = Vec::new();
        while !stop(self) {
            let deadline = self.controller.deadline().filter(|_| !self.dead);
            let mut next = deadline.map_or(i64::MAX, |d| self.controller_clock.truth(d));
            let mut who = Address::Controller;
            if let Some(due) = self.standby.as_ref().and_then(|s| s.deadline()).map(|d| d.as_ps())
                && due < next
            {
                (next, who) = (due, Address::Peer);
            }
            for (d, (relay, clock)) in self.relays.iter().enumerate() {
                let due = relay.deadline().map_or(i64::MAX, |d| clock.truth(d));
                if due < next {
                    (next, who) = (due, Address::Relay(d as u32));
                }
            }
            for (h, host) in self.hosts.iter().enumerate() {
                let due = host.agent.deadline().map_or(i64::MAX, |d| host.clock.truth(d));
                if due < next {
                    (next, who) = (due, Address::Host(HostId(h as u32)));
                }
            }
            let mail = self.mail.peek().map_or(i64::MAX, |m| m.0.0);
            if self.hosts.iter().any(|h| h.buffer.is_some()) {
                // Buffers fill and drain at the same time, so both are checked often.
                while self.now + TICK.as_ps() < next.min(mail).min(until) {
                    self.now += TICK.as_ps();
                    (0..self.hosts.len()).for_each(|h| self.drain(h));
                }
            }
            if next.min(mail) > until {
                self.now = until;
                break;
            }
            let (to, input) = if mail <= next {
                let Reverse((at, letter)) = self.mail.pop().unwrap();
                self.now = at.max(self.now);
                let (from, to, message) = self.letters.remove(&letter).unwrap();
                // A host cannot tell one controller from the other; controllers can.
                let from = match (from, to) {
                    (Address::Peer | Address::Relay(_), Address::Host(_)) => Address::Controller,
                    (Address::Peer, Address::Relay(_)) => Address::Controller,
                    (Address::Controller, Address::Peer) => Address::Peer,
                    _ => from,
                };
                (to, Input::Message { from, message })
            } else {
                self.now = next.max(self.now);
                (who, Input::Due)
            };
            self.call(to, input, &mut out);
        }
        for h in 0..self.hosts.len() {
            self.drain(h);
        }
    }

    /// Runs until all queues are empty. Returns the time at which they were.
    pub fn run_until_empty(&mut self, limit: Duration) -> Duration {
        let mut steps = 0;
        self.run(limit, |w| {
            steps += 1;
            steps % 64 == 0 && w.waiting() == 0
        });
        // Only the current openings are left to send.
        assert_eq!(self.finish(), 0, "{} B wait after {limit}", self.waiting());
        Duration::from_ps(self.sendings.iter().filter(|s| s.bytes > 0).map(|s| s.until).max().unwrap_or(0))
    }

    /// Lets openings end. Returns the bytes that still wait.
    fn finish(&mut self) -> u64 {
        self.now += OPEN.as_ps();
        for h in 0..self.hosts.len() {
            self.drain(h);
        }
        self.waiting()
    }

    fn call(&mut self, who: Address, input: Input, out: &mut Vec<Output>) {
        out.clear();
        match who {
            Address::Controller if self.dead => {}
            Address::Relay(d) => {
                let (relay, clock) = &mut self.relays[d as usize];
                relay.handle(clock.read(self.now), input, out);
            }
            Address::Peer => {
                let now = Time::from_ps(self.now);
                if let Some(standby) = &mut self.standby {
                    standby.handle(now, input, out);
                }
            }
            Address::Controller => {
                let now = self.controller_clock.read(self.now);
                self.controller.handle(now, input, out);
            }
            Address::Host(h) => {
                self.drain(h.index());
                let host = &mut self.hosts[h.index()];
                let now = host.clock.read(self.now);
                host.agent.handle(now, input, out);
                if out.iter().any(|o| matches!(o, Output::ReadBacklog(_))) {
                    let mut row = Backlog::of_bytes(host.queues.iter().map(|(&j, &b)| (HostId(j), Bytes::new(b))));
                    row.room = host.buffer.map(|(size, used, _)| Bytes::new(size - used));
                    host.agent.handle(now, Input::Backlog(row), out);
                }
            }
        }
        for output in out.drain(..) {
            match output {
                // A peer's peer is the controller.
                Output::Send { to: Address::Peer, message } if who == Address::Peer => {
                    self.send(who, Address::Controller, message);
                }
                // Hosts know one controller: the relay in charge of them.
                Output::Send { to: Address::Controller, message }
                    if matches!(who, Address::Host(_)) && !self.relays.is_empty() =>
                {
                    let Address::Host(h) = who else { continue };
                    let of = self.fabric.parts(self.config.relays)[h.index()];
                    self.send(who, Address::Relay(of), message);
                }
                Output::Send { to, message } => {
                    if to == Address::Controller && self.standby.is_some() {
                        self.send(who, Address::Peer, message.clone());
                    }
                    self.send(who, to, message);
                }
                Output::ReadBacklog(_) => {}
                Output::Retune(_) | Output::Rates(_) | Output::Grants(_) => {
                    panic!("nothing here has circuits, rates or timeslots")
                }
                Output::Log(event) => self.events.push(event),
                Output::Open(opening) => {
                    let Address::Host(h) = who else { panic!("the controller has no gate") };
                    let clock = self.hosts[h.index()].clock;
                    let now = clock.read(self.now);
                    let same = |o: &Opening| (o.destination, o.class) == (opening.destination, opening.class);
                    let open = &mut self.hosts[h.index()].open;
                    // A signal for an open queue extends the opening.
                    if let Some(o) = open.iter_mut().find(|o| same(&o.0) && o.0.until > now) {
                        o.0.until = o.0.until.max(opening.until);
                        self.sendings[o.3].until = clock.truth(o.0.until);
                        continue;
                    }
                    let sending = Sending {
                        source: h.0,
                        destination: opening.destination.0,
                        from: clock.truth(opening.from),
                        until: clock.truth(opening.until),
                        bytes: 0,
                    };
                    self.hosts[h.index()].open.push((opening, opening.from, 0, self.sendings.len()));
                    self.sendings.push(sending);
                }
                Output::Close { destination, class } => {
                    let Address::Host(h) = who else { panic!("the controller has no gate") };
                    let truth = self.now;
                    let now = self.hosts[h.index()].clock.read(truth);
                    let open = &mut self.hosts[h.index()].open;
                    for (opening, ..) in
                        open.iter_mut().filter(|o| (o.0.destination, o.0.class) == (destination, class))
                    {
                        opening.until = opening.until.min(now);
                    }
                    for sending in
                        self.sendings.iter_mut().filter(|s| (s.source, s.destination) == (h.0, destination.0))
                    {
                        sending.until = sending.until.min(truth);
                    }
                }
            }
        }
    }

    fn send(&mut self, from: Address, to: Address, message: Message) {
        self.messages += 1;
        self.message_bytes += u64::from(message.wire_bytes());
        let read = wire::over_the_wire(&message);
        assert_eq!(read, message);
        let between = |a, b| matches!((a, b), (Address::Controller, Address::Peer));
        if (self.deaf && to == Address::Controller) || self.cut_off && (between(from, to) || between(to, from)) {
            return;
        }
        if let (Some(first), Address::Host(h), other) | (Some(first), other, Address::Host(h)) =
            (&self.reached_by_first, from, to)
            && (other == Address::Controller) != first.contains(&h.0)
        {
            return;
        }
        let is_controller = |a| !matches!(a, Address::Host(_));
        if is_controller(from) && is_controller(to) && self.roll() % 1000 < self.lost_between {
            return;
        }
        let mut copies = 1;
        if self.roll() % 1000 < self.network.lost {
            copies = 0;
        } else if self.roll() % 1000 < self.network.doubled {
            copies = 2;
        }
        for _ in 0..copies {
            let half = self.network.latency.as_ps() / 2;
            let letter = self.roll();
            let arrives = self.now + half + (letter % (half as u64 + 1)) as i64;
            self.mail.push(Reverse((arrives, letter)));
            self.letters.insert(letter, (from, to, message.clone()));
        }
    }

    fn roll(&mut self) -> u64 {
        self.dice += 1;
        mix64(self.dice)
    }

    /// Sends the frames of a host that have started by now.
    fn drain(&mut self, h: usize) {
        let now = self.hosts[h].clock.read(self.now);
        let mut arrivals = Vec::new();
        let host = &mut self.hosts[h];
        if let Some((_, used, rate)) = &mut host.buffer {
            let taken = rate.bytes_in(Duration::from_ps(self.now - host.drained)).get();
            *used -= taken.min(*used);
        }
        host.drained = self.now;
        let Host { open, queues, .. } = host;
        for (opening, next, sent, record) in open.iter_mut() {
            let queue = queues.entry(opening.destination.0).or_default();
            let most = opening.bytes.map_or(u64::MAX, Bytes::get);
            while *next <= now && *queue > 0 {
                let frame = FRAME.min(*queue).min(most - *sent);
                let end = *next + RATE.time_for(Bytes::new(frame));
                // Frames can be cut to size here, as at the end of a flow.
                if frame == 0 || end > opening.until {
                    break;
                }
                *queue -= frame;
                *sent += frame;
                *next = end;
                self.sendings[*record].bytes = *sent;
                arrivals.push((opening.destination.index(), frame));
            }
        }
        open.retain(|(opening, ..)| opening.until > now);
        for (j, bytes) in arrivals {
            if let Some((_, used, _)) = &mut self.hosts[j].buffer {
                *used += bytes;
                self.most_buffered = self.most_buffered.max(*used);
            }
        }
    }

    /// Openings of two hosts towards one receiver that were open at the same time.
    pub fn overlaps(&self) -> Vec<(Sending, Sending)> {
        let mut overlaps = Vec::new();
        let mut by_receiver: BTreeMap<u32, Vec<Sending>> = BTreeMap::new();
        for s in &self.sendings {
            by_receiver.entry(s.destination).or_default().push(*s);
        }
        for mut list in by_receiver.into_values() {
            list.sort_by_key(|s| s.from);
            for (i, first) in list.iter().enumerate() {
                let during = list[i + 1..].iter().take_while(|s| s.from < first.until);
                overlaps.extend(during.filter(|s| s.source != first.source).map(|s| (*first, *s)));
            }
        }
        overlaps
    }

    /// Openings that sent nothing.
    pub fn wasted(&self) -> usize {
        self.sendings.iter().filter(|s| s.bytes == 0).count()
    }

    pub fn counted(&self, count: impl Fn(&HostCounters) -> u64) -> u64 {
        self.hosts.iter().map(|h| count(h.agent.counters())).sum()
    }
}

pub fn host_config(host: u32, hosts: u32, epoch: u32, start: Time, config: &SlotControllerConfig) -> HostConfig {
    HostConfig {
        host: HostId(host),
        epoch,
        start,
        fallback: config.fallback(),
        reporting: Reporting {
            after_idle: Some(config.idle_longer()).filter(|d| *d > Duration::ZERO),
            ..Reporting::default()
        },
        signals: config.host_signals(hosts),
    }
}

fn scheduler(slots: SlotParameters) -> MakeScheduler {
    Box::new(move || Box::new(WeightedRoundRobin::new(slots)))
}

pub fn controller(config: SlotControllerConfig, fabric: &Arc<Fabric>) -> SlotController {
    SlotController::new(config, Box::new(WeightedRoundRobin::new(config.slots)), Arc::clone(fabric))
}
