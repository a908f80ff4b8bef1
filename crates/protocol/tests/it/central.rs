//! Tests of timeslots and rates in virtual time: inaccurate clocks, late, lost or doubled messages,
//! and restarts of agents.

use crate::common::wire;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use timeplane_model::{
    Backlog, Burst, Bytes, Class, Duration, Fabric, Framing, HostId, LinkSpec, NodeId, Rate, Switch, Time, mix64,
};
use timeplane_protocol::{
    Address, Agent, BacklogReport, Detail, HostAgent, HostConfig, Input, Message, Opening, Output, RateController,
    RateControllerConfig, RateEstimator, Reporting, TimeslotController, TimeslotControllerConfig,
};
use timeplane_schedule::{PathColoring, RateNormalizer, SlotFill, SlotMetric};

const LINE: Rate = Rate::gbps(1);
const FRAME: u64 = 1538;
const SLOT: Duration = Duration::from_ns(12_304);
const US: Duration = Duration::from_us(1);

fn fabric(hosts: u32) -> Arc<Fabric> {
    let link = LinkSpec { rate: LINE, propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
    Arc::new(Fabric::single_switch(hosts, Switch::default(), link).unwrap())
}

fn timeslots(ahead: Duration) -> TimeslotControllerConfig {
    TimeslotControllerConfig {
        epoch: 0,
        start: Time::ZERO,
        slot: SLOT,
        slot_bytes: Bytes::new(FRAME),
        fill: SlotFill::Packet,
        coloring: PathColoring::EulerSplit,
        batch: 4,
        ahead,
        compute_time: US * 2,
        fallback: US * 500,
    }
}

fn rates() -> RateControllerConfig {
    RateControllerConfig {
        epoch: 0,
        estimator: RateEstimator::Backlogged,
        every: US * 10,
        compute_time: US * 2,
        lease: Duration::from_ms(5),
        threshold_ppm: 0,
        fallback: US * 500,
    }
}

struct Host {
    agent: HostAgent,
    /// Offset of its clock from true time.
    ahead: i64,
    /// Queued bytes by destination.
    queues: BTreeMap<u32, u64>,
    /// Rates in force: their end, and bytes per picosecond (as a fraction of 8e12 bit).
    rates: BTreeMap<u32, (i64, u64)>,
    fluid_at: i64,
}

struct World {
    now: i64,
    hosts: Vec<Host>,
    controller: Box<dyn Agent>,
    /// Whether the controller answers.
    alive: bool,
    latency: i64,
    /// Number of lost messages out of 1000.
    lost: u64,
    doubled: u64,
    mail: BinaryHeap<Reverse<(i64, u64)>>,
    letters: BTreeMap<u64, (Address, Address, Message)>,
    dice: u64,
    /// Start of the slot by the host's clock, source, destination; for slots with a packet.
    sent: Vec<(i64, u32, u32)>,
    wasted: u64,
}

impl World {
    fn new(hosts: u32, controller: Box<dyn Agent>, reporting: Reporting) -> Self {
        let host = |h| Host {
            agent: HostAgent::new(config(h, 0, 0, reporting)),
            ahead: 0,
            queues: BTreeMap::new(),
            rates: BTreeMap::new(),
            fluid_at: 0,
        };
        Self {
            now: 0,
            hosts: (0..hosts).map(host).collect(),
            controller,
            alive: true,
            latency: 5_000_000,
            lost: 0,
            doubled: 0,
            mail: BinaryHeap::new(),
            letters: BTreeMap::new(),
            dice: 1,
            sent: Vec::new(),
            wasted: 0,
        }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice += 1;
        mix64(self.dice) % sides
    }

    fn post(&mut self, from: Address, to: Address, message: &Message) {
        assert_eq!(wire::over_the_wire(message), *message);
        let copies = if self.roll(1000) < self.lost { 0 } else { 1 + u64::from(self.roll(1000) < self.doubled) };
        for _ in 0..copies {
            let number = self.letters.last_key_value().map_or(0, |l| l.0 + 1);
            // Half of the latency to all of it: messages overtake each other.
            let at = self.now + self.latency / 2 + self.roll(1 + self.latency as u64 / 2) as i64;
            self.mail.push(Reverse((at, number)));
            self.letters.insert(number, (from, to, message.clone()));
        }
    }

    fn clock(&self, h: usize) -> Time {
        Time::from_ps(self.now + self.hosts[h].ahead)
    }

    /// Sends by the rates in force until now.
    fn flow(&mut self, h: usize) {
        let (now, host) = (self.now, &mut self.hosts[h]);
        for (to, &(until, rate)) in &host.rates {
            let end = now.min(until - host.ahead);
            if let Some(queue) = host.queues.get_mut(to).filter(|_| end > host.fluid_at) {
                let bytes = (end - host.fluid_at) as u128 * u128::from(rate) / 8_000_000_000_000;
                *queue = queue.saturating_sub(bytes as u64);
            }
        }
        host.fluid_at = now;
    }

    fn backlog(&mut self, h: usize, bursts: bool) -> Backlog {
        self.flow(h);
        let clock = self.clock(h);
        let host = &mut self.hosts[h];
        host.queues.retain(|_, bytes| *bytes > 0);
        let mut backlog = Backlog::of_bytes(host.queues.iter().map(|(&d, &b)| (HostId(d), Bytes::new(b))));
        if bursts {
            let burst = |(&d, &b): (&u32, &u64)| Burst {
                destination: HostId(d),
                class: Class(0),
                arrived: clock,
                packets: (b / FRAME) as u32,
                bytes: Bytes::new(b),
            };
            backlog.bursts = host.queues.iter().map(burst).collect();
        }
        backlog
    }

    fn tell_host(&mut self, h: usize, input: Input) {
        let mut input = Some(input);
        while let Some(next) = input.take() {
            let mut out = Vec::new();
            let clock = self.clock(h);
            self.hosts[h].agent.handle(clock, next, &mut out);
            for output in out {
                match output {
                    Output::ReadBacklog(detail) => {
                        input = Some(Input::Backlog(self.backlog(h, detail == Detail::Bursts)));
                    }
                    Output::Send { to, message } => self.post(Address::Host(HostId(h as u32)), to, &message),
                    Output::Open(opening) => self.open(h, &opening),
                    Output::Rates(changes) => changes.iter().for_each(|c| self.open(h, &c.opening(clock))),
                    Output::Close { .. } | Output::Retune(_) => panic!("nothing here has circuits or opens by signals"),
                    Output::Grants(_) => panic!("a host grants nothing"),
                    Output::Log(_) => {}
                }
            }
        }
    }

    fn open(&mut self, h: usize, opening: &Opening) {
        self.flow(h);
        let to = opening.destination.0;
        if let Some(rate) = opening.rate {
            if rate == Rate::ZERO {
                self.hosts[h].rates.remove(&to);
            } else {
                self.hosts[h].rates.insert(to, (opening.until.as_ps(), rate.as_bps()));
            }
            return;
        }
        assert_eq!(opening.packets, Some(1));
        let slot = (opening.until - SLOT).as_ps();
        match self.hosts[h].queues.get_mut(&to).filter(|b| **b > 0) {
            Some(bytes) => {
                *bytes -= FRAME;
                self.sent.push((slot, h as u32, to));
            }
            None => self.wasted += 1,
        }
    }

    fn tell_controller(&mut self, input: Input) {
        if !self.alive {
            return;
        }
        let mut out = Vec::new();
        self.controller.handle(Time::from_ps(self.now), input, &mut out);
        for output in out {
            match output {
                Output::Send { to, message } => self.post(Address::Controller, to, &message),
                Output::Grants(batch) => {
                    for (host, message) in batch.messages() {
                        self.post(Address::Controller, Address::Host(host), &message);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, h: usize, to: u32, packets: u64) {
        self.flow(h);
        *self.hosts[h].queues.entry(to).or_default() += packets * FRAME;
        self.tell_host(h, Input::Changed);
    }

    fn step(&mut self) {
        let host = |h: usize| self.hosts[h].agent.deadline().map(|t| (t.as_ps() - self.hosts[h].ahead, 2, h as u64));
        let mut next = (0..self.hosts.len()).filter_map(host).min();
        let controller = self.controller.deadline().filter(|_| self.alive).map(|t| (t.as_ps(), 1, 0));
        let mail = self.mail.peek().map(|m| (m.0.0, 0, m.0.1));
        next = [next, controller, mail].into_iter().flatten().min();
        let (at, kind, which) = next.expect("hosts always report again");
        self.now = self.now.max(at);
        match kind {
            0 => {
                self.mail.pop();
                let (from, to, message) = self.letters.remove(&which).expect("it was sent");
                match to {
                    Address::Controller => self.tell_controller(Input::Message { from, message }),
                    Address::Host(h) => self.tell_host(h.index(), Input::Message { from, message }),
                    Address::Peer | Address::Relay(_) => panic!("these controllers have no peers"),
                }
            }
            1 => self.tell_controller(Input::Due),
            _ => {
                let h = which as usize;
                self.tell_host(h, Input::Due);
                // The driver reports queues that a rate has emptied.
                let before = self.hosts[h].queues.len();
                if self.backlog(h, false).entries().len() < before {
                    self.tell_host(h, Input::Changed);
                }
            }
        }
    }

    fn waiting(&mut self) -> u64 {
        (0..self.hosts.len()).for_each(|h| self.flow(h));
        self.hosts.iter().flat_map(|h| h.queues.values()).sum()
    }

    /// Runs until everything is sent. Returns the time that it took.
    fn run(&mut self, most: Duration) -> i64 {
        let begin = self.now;
        while self.waiting() > 0 {
            assert!(self.now - begin < most.as_ps(), "{} bytes wait for good", self.waiting());
            self.step();
        }
        self.now - begin
    }

    /// Checks that no slot uses a host twice on a side.
    fn exclusive(&self) {
        let (mut sources, mut destinations) = (BTreeSet::new(), BTreeSet::new());
        for &(slot, s, d) in &self.sent {
            assert!(sources.insert((slot, s)), "{s} sends twice in the slot at {slot}");
            assert!(destinations.insert((slot, d)), "{d} receives twice in the slot at {slot}");
        }
    }
}

fn config(host: u32, epoch: u32, start: i64, reporting: Reporting) -> HostConfig {
    HostConfig { host: HostId(host), epoch, start: Time::from_ps(start), fallback: US * 500, reporting, signals: None }
}

fn slots(hosts: u32, ahead: Duration) -> World {
    let config = timeslots(ahead);
    let controller = TimeslotController::new(config, SlotMetric::Mmf, &fabric(hosts)).unwrap();
    World::new(hosts, Box::new(controller), config.reporting())
}

fn all_to_all(world: &mut World, packets: u64) {
    let n = world.hosts.len();
    for h in 0..n {
        for d in (0..n as u32).filter(|d| *d != h as u32) {
            world.add(h, d, packets);
        }
    }
}

#[test]
fn every_packet_gets_one_slot() {
    let mut world = slots(6, US * 10);
    all_to_all(&mut world, 10);
    let took = world.run(Duration::from_ms(50));
    world.exclusive();
    assert_eq!((world.sent.len(), world.wasted), (6 * 5 * 10, 0));
    // At least 50 slots are needed; greedy matchings are near that.
    assert!(took < SLOT.as_ps() * 60, "{took}");
}

#[test]
fn loss_delay_and_doubles_cost_time_and_nothing_else() {
    for lost in [20, 200] {
        let mut world = slots(6, US * 10);
        (world.lost, world.doubled) = (lost, 100);
        all_to_all(&mut world, 20);
        let took = world.run(Duration::from_ms(400));
        world.exclusive();
        assert_eq!(world.sent.len(), 6 * 5 * 20);
        println!("{lost} of 1000 lost: {} slots of 100, {} unused", took / SLOT.as_ps(), world.wasted);
    }
}

#[test]
fn grants_that_come_late_are_asked_for_again() {
    // Configured for 2 us, the network takes 30: no grant is in time until it is faster again.
    let mut world = slots(3, US * 4);
    world.latency = 30_000_000;
    all_to_all(&mut world, 5);
    for _ in 0..2000 {
        world.step();
    }
    assert_eq!(world.sent.len(), 0);
    assert!((0..3).all(|h| world.hosts[h].agent.counters().late > 0));
    world.latency = 1_000_000;
    world.run(Duration::from_ms(20));
    world.exclusive();
    assert_eq!(world.sent.len(), 6 * 5);
}

#[test]
fn clocks_that_differ_keep_their_slots() {
    let mut world = slots(5, US * 20);
    for (h, ahead) in [(0, 4_000_000), (1, -6_000_000), (3, 1)] {
        world.hosts[h].ahead = ahead;
    }
    all_to_all(&mut world, 10);
    world.run(Duration::from_ms(50));
    // By their own clocks, slots are exclusive; in true time they differ by the clocks' error.
    world.exclusive();
    assert_eq!((world.sent.len(), world.wasted), (5 * 4 * 10, 0));
}

#[test]
fn restarts_strand_nothing() {
    let mut world = slots(5, US * 10);
    all_to_all(&mut world, 30);
    let reporting = timeslots(US).reporting();
    while world.sent.len() < 200 {
        world.step();
    }
    // A host forgets everything except its queues.
    let clock = world.clock(2).as_ps();
    world.hosts[2].agent = HostAgent::new(config(2, 1, clock, reporting));
    while world.sent.len() < 350 {
        world.step();
    }
    // The controller forgets everything, and starts where its predecessor's grants have ended.
    let horizon = US * 10 + SLOT * 4;
    let config = TimeslotControllerConfig { epoch: 1, start: Time::from_ps(world.now) + horizon, ..timeslots(US * 10) };
    world.controller = Box::new(TimeslotController::new(config, SlotMetric::Mmf, &fabric(5)).unwrap());
    world.run(Duration::from_ms(50));
    world.exclusive();
    assert_eq!(world.sent.len(), 5 * 4 * 30);
}

fn paced(hosts: u32) -> World {
    let controller = RateController::new(rates(), RateNormalizer::MaxMin, &fabric(hosts)).unwrap();
    World::new(hosts, Box::new(controller), rates().reporting())
}

/// Sums of what hosts may send and receive now, over the line rate.
fn load(world: &World) -> f64 {
    let n = world.hosts.len();
    let (mut rows, mut columns) = (vec![0.0; n], vec![0.0; n]);
    for (h, host) in world.hosts.iter().enumerate() {
        for (&to, &(until, rate)) in &host.rates {
            if until > world.now + host.ahead {
                rows[h] += rate as f64 / LINE.as_bps() as f64;
                columns[to as usize] += rate as f64 / LINE.as_bps() as f64;
            }
        }
    }
    rows.into_iter().chain(columns).fold(0.0, f64::max)
}

#[test]
fn rates_fill_links_and_never_more() {
    let mut world = paced(4);
    world.latency = 0;
    for h in 1..4 {
        world.add(h, 0, 100);
    }
    world.add(3, 1, 100);
    let mut most: f64 = 0.0;
    let begin = world.now;
    while world.waiting() > 0 {
        world.step();
        most = most.max(load(&world));
    }
    let took = world.now - begin;
    assert!(most > 0.99 && most <= 1.0, "{most}");
    // 300 packets to host 0; a host checks its queue only every 500 us here.
    let least = SLOT.as_ps() * 300;
    assert!((least..least + 1_500_000_000).contains(&took), "{took} of {least}");
}

#[test]
fn lost_rates_are_told_again() {
    let mut world = paced(4);
    (world.lost, world.doubled) = (200, 50);
    all_to_all(&mut world, 50);
    world.run(Duration::from_ms(200));
}

#[test]
fn a_silent_controller_leaves_no_gate_open() {
    let mut world = paced(3);
    world.add(1, 0, 100_000);
    for _ in 0..50 {
        world.step();
    }
    assert!(load(&world) > 0.9);
    world.alive = false;
    let last = world.now;
    while world.now < last + Duration::from_ms(10).as_ps() {
        world.step();
    }
    assert_eq!(load(&world), 0.0);
    let left = world.waiting();
    while world.now < last + Duration::from_ms(20).as_ps() {
        world.step();
    }
    assert_eq!(world.waiting(), left);
    // The controller returns with a higher epoch, and everything continues.
    let config = RateControllerConfig { epoch: 1, ..rates() };
    world.controller = Box::new(RateController::new(config, RateNormalizer::MaxMin, &fabric(3)).unwrap());
    world.alive = true;
    world.run(Duration::from_secs(2));
}

/// Demand without a route gets no slots and no rates once that is known, other demand is served,
/// and service resumes when a route returns.
#[test]
fn what_has_no_route_waits_until_there_is_one() {
    for mut world in [slots(4, US * 10), paced(4)] {
        all_to_all(&mut world, 100);
        let run_for = |world: &mut World, time: Duration| {
            let until = world.now + time.as_ps();
            while world.now < until {
                world.step();
            }
        };
        run_for(&mut world, US * 300);
        world.tell_controller(Input::Down(fabric(4).links_of(NodeId(3))));
        // Earlier grants are still used.
        run_for(&mut world, US * 200);
        let of_three = |world: &mut World| -> u64 {
            world.waiting();
            let pairs = world.hosts.iter().enumerate().flat_map(|(h, host)| host.queues.iter().map(move |q| (h, q)));
            pairs.filter(|(h, (d, _))| *h == 3 || **d == 3).map(|(_, (_, bytes))| *bytes).sum()
        };
        let before = of_three(&mut world);
        run_for(&mut world, Duration::from_ms(8));
        assert_eq!((of_three(&mut world), world.waiting()), (before, before));
        assert!(before > 400 * FRAME, "{before}");
        world.tell_controller(Input::Down(vec![]));
        let took = world.run(Duration::from_ms(20));
        // Three hosts each way take the longest reporting delay plus their packets' time.
        assert!(took < (US * 600 + SLOT * 2 * 300).as_ps(), "{took}");
        world.exclusive();
    }
}

#[test]
fn nonsense_is_counted_and_dropped() {
    let fabric = fabric(3);
    let mut timeslots = TimeslotController::new(timeslots(US), SlotMetric::Mmf, &fabric).unwrap();
    let mut rates = RateController::new(rates(), RateNormalizer::MaxMin, &fabric).unwrap();
    let report = |from: u32, epoch: u32, sequence: u64, to: u32| {
        let burst = Burst {
            destination: HostId(to),
            class: Class(0),
            arrived: Time::ZERO,
            packets: 1,
            bytes: Bytes::new(FRAME),
        };
        let mut backlog = Backlog::of_bytes([(HostId(to), Bytes::new(FRAME))]);
        backlog.bursts = vec![burst];
        let message = Message::Report(Box::new(BacklogReport {
            epoch,
            sequence,
            taken_at: Time::MAX,
            obeys: 0,
            heard: 0,
            backlog,
        }));
        Input::Message { from: Address::Host(HostId(from)), message }
    };
    let good = report(0, 0, 5, 1);
    let inputs = [
        report(0, 0, 0, 0),
        report(0, 0, 0, 3),
        report(9, 0, 0, 1),
        good.clone(),
        good,
        report(0, 0, 4, 1),
        report(0, 1, 0, 2),
        Input::Changed,
    ];
    for agent in [&mut timeslots as &mut dyn Agent, &mut rates] {
        let mut out = Vec::new();
        for input in inputs.clone() {
            agent.handle(Time::ZERO, input, &mut out);
        }
        assert!(out.is_empty(), "{out:?}");
    }
    for heard in [timeslots.heard(), rates.heard()] {
        assert_eq!((heard.malformed, heard.taken, heard.stale), (4, 2, 2));
    }
    // A host whose report is dated at the end of time has one packet and gets one slot, even if the
    // agent is not called at the slot's time: the packet is not granted again.
    let mut out = Vec::new();
    for k in 0..40 {
        timeslots.handle(Time::ZERO + US * k, Input::Due, &mut out);
    }
    timeslots.handle(Time::ZERO + US * 40, report(0, 1, 1, 2), &mut out);
    let messages = |output: &Output| match output {
        Output::Send { .. } => 1,
        Output::Grants(batch) => batch.messages().count(),
        _ => 0,
    };
    let grants = |out: &[Output]| out.iter().map(messages).sum::<usize>();
    assert_eq!(grants(&out), 1);
    assert_eq!(timeslots.counters().allocations, 1);
    // Two simultaneous reports cause one computation, and one host has a rate.
    let mut out = Vec::new();
    rates.handle(Time::ZERO, Input::Due, &mut out);
    rates.handle(Time::ZERO + US * 2, Input::Due, &mut out);
    assert_eq!((rates.counters().computations, rates.counters().messages, grants(&out)), (1, 1, 1));
}
