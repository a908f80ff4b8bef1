//! One bottleneck in virtual time, which drives the senders and receivers of a few flows.
//!
//! Data passes impairments (loss, duplication, jitter that reorders), a FIFO queue with a limit and
//! a marking threshold, a transmitter and a propagation delay. Acknowledgements pass impairments
//! and the same delay. After each step it checks what every driver relies on: deadlines lie ahead,
//! no flow waits without a reason, and the receiver's counts match what has arrived.
#![allow(dead_code)] // Each test file uses a part of it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use timeplane_model::{Bytes, Duration, Rate, Time};
use timeplane_transport::{Ack, Arrival, Receiver, Segment, Sender, Steering, TcpConfig};

/// Properties of the path. The default is 1 ms each way without impairments.
#[derive(Clone, Debug)]
pub struct PathConfig {
    /// Rate of the bottleneck; `None` transmits instantly.
    pub rate: Option<Rate>,
    pub propagation: Duration,
    /// Maximum bytes in the queue and in transmission when a packet arrives.
    pub queue_limit: u64,
    /// Bytes in the queue above which an arriving ECN-capable packet is marked.
    pub mark_above: u64,
    /// Probabilities for data and acknowledgements; `ack_loss` is for acknowledgements only.
    pub loss: f64,
    pub ack_loss: f64,
    pub duplication: f64,
    /// Additional delay, uniform up to this; it reorders packets.
    pub jitter: Duration,
    /// Additional delay of acknowledgements only. If it is about a packet's transmission time, it
    /// breaks the lockstep in which a full queue always drops the same flow's packets (Floyd,
    /// Jacobson: On traffic phase effects, 1992).
    pub ack_jitter: Duration,
    /// Transmissions of data segments to drop (the first is number 0), and of SYNs, SYN-ACKs and so
    /// on.
    pub drop_data: BTreeSet<u64>,
    pub drop_control: BTreeSet<u64>,
    pub seed: u64,
}

impl PathConfig {
    /// A path of 100 Mb/s that loses, delays and duplicates segments, and loses acknowledgements.
    pub fn harsh(loss: f64, jitter_us: i64, seed: u64) -> Self {
        let (rate, jitter) = (Some(Rate::mbps(100)), Duration::from_us(jitter_us));
        Self { rate, loss, ack_loss: loss, duplication: loss, jitter, seed, ..Self::default() }
    }
}

impl Default for PathConfig {
    fn default() -> Self {
        Self {
            rate: None,
            propagation: Duration::from_ms(1),
            queue_limit: u64::MAX,
            mark_above: u64::MAX,
            loss: 0.0,
            ack_loss: 0.0,
            duplication: 0.0,
            jitter: Duration::ZERO,
            ack_jitter: Duration::ZERO,
            drop_data: BTreeSet::new(),
            drop_control: BTreeSet::new(),
            seed: 1,
        }
    }
}

/// An event that a test may check.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Sent(Segment),
    Dropped(Segment),
    Acknowledged(Ack),
    TimedOut,
}

#[derive(Clone, Copy, Debug)]
enum Packet {
    Data(Arrival),
    Ack(Ack),
    Start,
}

pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    pub bytes: u64,
    pub finished: Option<Time>,
    /// One entry per byte, if the flow is short enough to be checked byte by byte.
    arrived: Vec<bool>,
    prefix: usize,
    unique: u64,
    /// Bytes that the application has given it, and the flow that gets what this one's receiver
    /// has.
    limit: u64,
    relay_to: Option<usize>,
}

pub struct Path {
    pub now: Time,
    pub flows: Vec<Flow>,
    config: PathConfig,
    rng: Xoshiro256PlusPlus,
    /// Ordered by time, then by number.
    heap: BinaryHeap<Reverse<(Time, u64)>>,
    /// Content of the events; entries are reused.
    packets: Vec<(usize, Packet)>,
    free: Vec<usize>,
    number: u64,
    busy_until: Time,
    data_sent: u64,
    control_sent: u64,
    pub dropped: u64,
    pub marked: u64,
    /// Queue as found by each data packet: sum, count, largest.
    pub queue_seen: (u128, u64, u64),
}

/// Number of bits of a heap entry's number that locate the packet.
const SLOT_BITS: u32 = 24;

impl Path {
    pub fn new(config: PathConfig) -> Self {
        Self {
            now: Time::ZERO,
            flows: Vec::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(config.seed),
            config,
            heap: BinaryHeap::new(),
            packets: Vec::new(),
            free: Vec::new(),
            number: 0,
            busy_until: Time::ZERO,
            data_sent: 0,
            control_sent: 0,
            dropped: 0,
            marked: 0,
            queue_seen: (0, 0, 0),
        }
    }

    /// A path with one flow.
    pub fn with_flow(config: PathConfig, tcp: &TcpConfig, bytes: u64) -> Self {
        let mut path = Self::new(config);
        path.add(tcp, bytes, Time::ZERO);
        path
    }

    pub fn add(&mut self, tcp: &TcpConfig, bytes: u64, start: Time) {
        let arrived = if bytes <= 1_000_000 { vec![false; bytes as usize] } else { Vec::new() };
        self.flows.push(Flow {
            sender: Sender::new(tcp, bytes),
            receiver: Receiver::new(tcp, bytes),
            bytes,
            finished: None,
            arrived,
            prefix: 0,
            unique: 0,
            limit: bytes,
            relay_to: None,
        });
        self.push(start, self.flows.len() - 1, Packet::Start);
    }

    /// Changes the rate. Packets in the queue leave at the old rate.
    pub fn set_rate(&mut self, rate: Rate) {
        self.config.rate = Some(rate);
    }

    pub fn set_loss(&mut self, loss: f64) {
        self.config.loss = loss;
        self.config.ack_loss = loss;
    }

    /// Steers a flow now, or returns it to its own control.
    pub fn steer(&mut self, flow: usize, steering: Option<Steering>) {
        match steering {
            Some(steering) => self.flows[flow].sender.steer(self.now, steering),
            None => self.flows[flow].sender.unsteer(self.now),
        }
        self.pump(flow, &mut |_, _, _, _| {});
    }

    /// Sets the number of bytes that the application has so far.
    pub fn limit(&mut self, flow: usize, bytes: u64) {
        self.flows[flow].limit = bytes;
        self.flows[flow].sender.limit_to(bytes);
        self.pump(flow, &mut |_, _, _, _| {});
    }

    /// Makes one flow send what the other has delivered: a split connection.
    pub fn relay(&mut self, from: usize, to: usize) {
        self.flows[from].relay_to = Some(to);
        self.limit(to, 0);
    }

    fn push(&mut self, at: Time, flow: usize, packet: Packet) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.packets.push((0, Packet::Start));
            self.packets.len() - 1
        });
        assert!(slot < 1 << SLOT_BITS);
        self.packets[slot] = (flow, packet);
        self.heap.push(Reverse((at, self.number << SLOT_BITS | slot as u64)));
        self.number += 1;
    }

    fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.rng.random::<f64>() < p
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        match most.as_ps() {
            0 => Duration::ZERO,
            most => Duration::from_ps(self.rng.random_range(0..=most)),
        }
    }

    fn transmit(&mut self, flow: usize, segment: &Segment, log: &mut impl FnMut(Time, usize, &Sender, Event)) {
        let scripted = if segment.syn {
            self.control_sent += 1;
            self.config.drop_control.contains(&(self.control_sent - 1))
        } else {
            self.data_sent += 1;
            self.config.drop_data.contains(&(self.data_sent - 1))
        };
        let queued = self.queue();
        let size = u64::from(segment.wire_bytes());
        if scripted || queued.saturating_add(size) > self.config.queue_limit || self.chance(self.config.loss) {
            self.dropped += 1;
            log(self.now, flow, &self.flows[flow].sender, Event::Dropped(*segment));
            return;
        }
        log(self.now, flow, &self.flows[flow].sender, Event::Sent(*segment));
        let ce = segment.ect && queued > self.config.mark_above;
        self.marked += u64::from(ce);
        let (sum, count, most) = self.queue_seen;
        self.queue_seen = (sum + u128::from(queued), count + 1, most.max(queued));
        let mut at = self.now;
        if let Some(rate) = self.config.rate {
            self.busy_until = self.busy_until.max(self.now) + rate.time_for(Bytes::new(size));
            at = self.busy_until;
        }
        let copies = 1 + u32::from(self.chance(self.config.duplication));
        for _ in 0..copies {
            let jitter = self.up_to(self.config.jitter);
            self.push(at + self.config.propagation + jitter, flow, Packet::Data(segment.arrival(ce)));
        }
    }

    /// Bytes in the queue and in transmission now.
    pub fn queue(&self) -> u64 {
        self.config.rate.map_or(0, |rate| rate.bytes_in(self.busy_until - self.now).get())
    }

    fn transmit_ack(&mut self, flow: usize, ack: Ack) {
        if ack.syn {
            self.control_sent += 1;
            if self.config.drop_control.contains(&(self.control_sent - 1)) {
                return;
            }
        }
        if self.chance(self.config.ack_loss) {
            return;
        }
        let copies = 1 + u32::from(self.chance(self.config.duplication));
        for _ in 0..copies {
            let jitter = self.up_to(self.config.jitter + self.config.ack_jitter);
            self.push(self.now + self.config.propagation + jitter, flow, Packet::Ack(ack));
        }
    }

    /// Runs until all flows are done, and panics if that takes longer than `limit`.
    pub fn run(&mut self, limit: Duration) {
        self.run_logged(limit, |_, _, _, _| {});
        assert!(self.flows.iter().all(|f| f.finished.is_some()), "not done at {:?}", self.now);
    }

    /// Runs until `limit`, or all flows are done.
    pub fn run_logged(&mut self, limit: Duration, mut log: impl FnMut(Time, usize, &Sender, Event)) {
        let end = Time::ZERO + limit;
        while self.flows.iter().any(|f| f.finished.is_none()) {
            let arrival = self.heap.peek().map(|&Reverse((at, _))| at);
            let timer = self.timer();
            let at = match (arrival, timer) {
                (Some(a), Some((t, _))) => a.min(t),
                (Some(a), None) => a,
                (None, Some((t, _))) => t,
                (None, None) if self.flows.iter().all(|f| f.finished.is_some() || f.may_wait()) => {
                    self.now = end;
                    return;
                }
                (None, None) => panic!("a flow waits for nothing at {:?}", self.now),
            };
            if at > end {
                self.now = end;
                return;
            }
            assert!(at >= self.now, "time runs backwards: {at:?} after {:?}", self.now);
            self.now = at;
            if arrival == Some(at) {
                let Some(Reverse((_, number))) = self.heap.pop() else { unreachable!() };
                let slot = (number & ((1 << SLOT_BITS) - 1)) as usize;
                self.free.push(slot);
                let (flow, packet) = self.packets[slot];
                self.arrive(flow, packet, &mut log);
            } else if let Some((_, flow)) = timer {
                self.expire(flow, &mut log);
            }
        }
    }

    /// The earliest deadline and its flow.
    fn timer(&self) -> Option<(Time, usize)> {
        let deadlines = self.flows.iter().enumerate().filter(|(_, f)| f.finished.is_none()).filter_map(|(i, f)| {
            [f.sender.deadline(), f.receiver.deadline()].into_iter().flatten().min().map(|at| (at, i))
        });
        deadlines.min()
    }

    fn arrive(&mut self, flow: usize, packet: Packet, log: &mut impl FnMut(Time, usize, &Sender, Event)) {
        let now = self.now;
        let f = &mut self.flows[flow];
        match packet {
            Packet::Start => f.sender.start(now),
            Packet::Data(arrival) => {
                f.take(&arrival);
                let ack = f.receiver.on_segment(now, &arrival);
                f.check_delivery();
                let (received, relay_to) = (f.receiver.received(), f.relay_to);
                if let Some(ack) = ack {
                    self.transmit_ack(flow, ack);
                }
                if let Some(to) = relay_to {
                    self.flows[to].limit = received;
                    self.flows[to].sender.limit_to(received);
                    self.pump(to, log);
                }
                return;
            }
            Packet::Ack(ack) => {
                f.sender.on_ack(now, &ack);
                log(now, flow, &f.sender, Event::Acknowledged(ack));
            }
        }
        self.pump(flow, log);
    }

    fn expire(&mut self, flow: usize, log: &mut impl FnMut(Time, usize, &Sender, Event)) {
        let now = self.now;
        let f = &mut self.flows[flow];
        if f.receiver.deadline().is_some_and(|at| at <= now) {
            let ack = f.receiver.on_timeout(now).expect("an acknowledgement was due");
            self.transmit_ack(flow, ack);
            return;
        }
        let before = f.sender.timeouts();
        f.sender.on_timeout(now);
        if f.sender.timeouts() > before {
            log(now, flow, &f.sender, Event::TimedOut);
        }
        self.pump(flow, log);
        assert!(self.flows[flow].sender.deadline().is_none_or(|at| at > now), "the deadline stays at {now:?}");
    }

    fn pump(&mut self, flow: usize, log: &mut impl FnMut(Time, usize, &Sender, Event)) {
        while let Some(segment) = self.flows[flow].sender.poll(self.now) {
            assert!(segment.syn || segment.len > 0, "an empty segment");
            self.transmit(flow, &segment, log);
        }
        let now = self.now;
        let f = &mut self.flows[flow];
        // An acknowledgement may arrive at the very time of a timeout, which is then still due.
        assert!(f.sender.deadline().is_none_or(|at| at >= now), "a deadline in the past at {now:?}");
        if f.sender.is_done() {
            assert!(f.receiver.is_complete());
            assert_eq!(f.sender.in_flight(), 0);
            f.finished.get_or_insert(now);
        } else {
            assert!(f.sender.deadline().is_some() || f.may_wait(), "nothing will wake the sender at {now:?}");
        }
    }
}

impl Flow {
    /// Whether the flow may rest until it is steered or gets more bytes.
    fn may_wait(&self) -> bool {
        let sent = self.bytes - self.sender.unsent();
        self.sender.cwnd() == 0 || (self.sender.acknowledged() == sent && self.limit < self.bytes)
    }

    fn take(&mut self, arrival: &Arrival) {
        if self.arrived.is_empty() {
            return;
        }
        let start = arrival.seq as usize;
        for byte in &mut self.arrived[start..start + arrival.len as usize] {
            self.unique += u64::from(!*byte);
            *byte = true;
        }
        while self.arrived.get(self.prefix) == Some(&true) {
            self.prefix += 1;
        }
    }

    /// Checks that every byte that has arrived is delivered once and in order.
    fn check_delivery(&self) {
        if !self.arrived.is_empty() {
            assert_eq!(self.receiver.received(), self.prefix as u64);
            assert_eq!(self.receiver.delivered_unique(), self.unique);
        }
    }
}
