//! Tests of NDP over a network that cuts, loses and reorders whatever it likes.
//!
//! Several flows end at one host. Each packet takes a random time, so that packets of all kinds
//! overtake each other.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use timeplane_model::{Duration, Time};
use timeplane_transport::ndp::{NdpAnswer, NdpConfig, NdpReceiver, NdpSender, PullPacer};

#[derive(Clone, Copy, Debug)]
struct Trouble {
    /// The share of data that is cut, and the share of all packets that is lost.
    cut: f64,
    loss: f64,
    jitter_us: i64,
    seed: u64,
}

const CALM: Trouble = Trouble { cut: 0.0, loss: 0.0, jitter_us: 0, seed: 1 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data { offset: u64, len: u32 },
    Header { offset: u64 },
    Ack { offset: u64 },
    Nack { offset: u64 },
    Pull { counter: u64 },
}

/// A flow, with what an observer knows of it.
struct Observed {
    sender: NdpSender,
    receiver: NdpReceiver,
    /// How often each byte was handed to the application.
    delivered: Vec<u8>,
    /// Data and headers under way, and packets that were lost.
    in_flight: u64,
    lost: u64,
    finished: Option<Time>,
}

struct Net {
    config: NdpConfig,
    trouble: Trouble,
    rng: Xoshiro256PlusPlus,
    now: Time,
    flows: Vec<Observed>,
    pacer: PullPacer<usize>,
    packets: Vec<(usize, Kind)>,
    heap: BinaryHeap<Reverse<(Time, usize)>>,
    pulls: Vec<(Time, usize)>,
}

const DELAY: Duration = Duration::from_us(20);
const INTERVAL: Duration = Duration::from_us(3);

impl Net {
    fn new(config: NdpConfig, sizes: &[u64], trouble: Trouble) -> Self {
        let flow = |&bytes: &u64| Observed {
            sender: NdpSender::new(&config, bytes),
            receiver: NdpReceiver::new(&config, bytes),
            delivered: vec![0; bytes as usize],
            in_flight: 0,
            lost: 0,
            finished: None,
        };
        Self {
            config,
            trouble,
            rng: Xoshiro256PlusPlus::seed_from_u64(trouble.seed),
            now: Time::ZERO,
            flows: sizes.iter().map(flow).collect(),
            pacer: PullPacer::new(INTERVAL),
            packets: Vec::new(),
            heap: BinaryHeap::new(),
            pulls: Vec::new(),
        }
    }

    fn carry(&mut self, flow: usize, kind: Kind) {
        let lost = self.rng.random_bool(self.trouble.loss);
        let kind = match kind {
            Kind::Data { offset, .. } if self.rng.random_bool(self.trouble.cut) => Kind::Header { offset },
            kind => kind,
        };
        if matches!(kind, Kind::Data { .. } | Kind::Header { .. }) {
            let of = &mut self.flows[flow];
            of.in_flight += u64::from(!lost);
            of.lost += u64::from(lost);
        }
        if !lost {
            let jitter = self.rng.random_range(0..=self.trouble.jitter_us);
            let at = self.now.saturating_add(DELAY + Duration::from_us(jitter));
            self.heap.push(Reverse((at, self.packets.len())));
            self.packets.push((flow, kind));
        }
    }

    fn pump(&mut self, flow: usize) {
        while let Some(packet) = self.flows[flow].sender.poll(self.now) {
            self.carry(flow, Kind::Data { offset: packet.offset, len: packet.len });
            let Observed { sender, in_flight, .. } = &self.flows[flow];
            // Each pull stands for a packet that has left the network; only a timeout may be wrong.
            let allowed = u64::from(self.config.window) + u64::from(sender.timeouts());
            assert!(*in_flight <= allowed, "{in_flight} packets in flight, {allowed} allowed");
        }
    }

    fn arrive(&mut self, flow: usize, kind: Kind) {
        let of = &mut self.flows[flow];
        let owed = of.receiver.owes_pulls();
        let (offset, arrival) = match kind {
            Kind::Data { offset, len } => {
                let before = of.receiver.received();
                let arrival = of.receiver.on_data(self.now, offset, len);
                assert_eq!(of.receiver.received() - before, arrival.new);
                if arrival.new > 0 {
                    assert_eq!(arrival.new, u64::from(len), "packets never overlap in part");
                    of.delivered[offset as usize..][..len as usize].iter_mut().for_each(|b| *b += 1);
                }
                (offset, arrival)
            }
            Kind::Header { offset } => (offset, of.receiver.on_header(self.now, offset)),
            Kind::Ack { offset } => return of.sender.on_ack(self.now, offset),
            Kind::Nack { offset } => return of.sender.on_nack(self.now, offset),
            Kind::Pull { counter } => return of.sender.on_pull(self.now, counter),
        };
        of.in_flight -= 1;
        if of.receiver.is_complete() {
            of.finished.get_or_insert(self.now);
        }
        match (owed, of.receiver.owes_pulls()) {
            (false, true) => self.pacer.join(flow),
            (true, false) => self.pacer.leave(flow),
            _ => {}
        }
        self.carry(
            flow,
            match arrival.answer {
                NdpAnswer::Ack => Kind::Ack { offset },
                NdpAnswer::Nack => Kind::Nack { offset },
            },
        );
    }

    fn timers(&mut self) {
        while let Some(flow) = self.pacer.next(self.now) {
            self.pulls.push((self.now, flow));
            let receiver = &mut self.flows[flow].receiver;
            let counter = receiver.take_pull(self.now).expect("it is in the queue");
            if receiver.owes_pulls() {
                self.pacer.join(flow);
            }
            self.carry(flow, Kind::Pull { counter });
        }
        for flow in 0..self.flows.len() {
            let of = &mut self.flows[flow];
            of.sender.on_timeout(self.now);
            if let Some(counter) = of.receiver.on_timeout(self.now) {
                self.carry(flow, Kind::Pull { counter });
            }
            self.pump(flow);
        }
    }

    /// Runs until all senders know that everything has arrived, and checks each byte.
    fn run(mut self) -> Self {
        (0..self.flows.len()).for_each(|flow| self.pump(flow));
        for _ in 0..2_000_000 {
            let ends = self.flows.iter().flat_map(|f| [f.sender.deadline(), f.receiver.deadline()]);
            // That of an idle pacer may be.
            let pull = self.pacer.deadline().map(|at| at.max(self.now));
            let timer = ends.chain([pull]).flatten().min();
            let arrival = self.heap.peek().map(|Reverse((at, _))| *at);
            if self.flows.iter().all(|f| f.sender.is_done()) {
                for flow in &self.flows {
                    assert!(flow.receiver.is_complete() && flow.delivered.iter().all(|&times| times == 1));
                    assert_eq!(flow.sender.acknowledged(), flow.delivered.len() as u64);
                }
                return self;
            }
            let next = timer.into_iter().chain(arrival).min().expect("a flow that is not done waits for something");
            assert!(next >= self.now, "a deadline is past");
            self.now = next;
            if arrival == Some(next) && timer.is_none_or(|t| next <= t) {
                let Reverse((_, packet)) = self.heap.pop().expect("it was seen");
                let (flow, kind) = self.packets[packet];
                self.arrive(flow, kind);
                self.pump(flow);
            }
            self.timers();
        }
        panic!("no end after two million events");
    }

    fn timeouts(&self) -> u32 {
        self.flows.iter().map(|f| f.sender.timeouts()).sum()
    }
}

fn config(payload: u32, window: u32) -> NdpConfig {
    NdpConfig { payload, window, rto: Duration::from_ms(1) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_arrives_once(
        sizes in prop::collection::vec(1u64..6_000, 1..6),
        payload in 1u32..500,
        window in 1u32..20,
        cut in 0.0..0.9,
        loss in prop_oneof![Just(0.0), 0.0..0.4],
        jitter_us in 0i64..200,
        seed in any::<u64>(),
    ) {
        // Few packets, as every second one may be lost.
        let payload = payload.max(20);
        let net = Net::new(config(payload, window), &sizes, Trouble { cut, loss, jitter_us, seed }).run();
        if loss == 0.0 {
            prop_assert_eq!(net.timeouts(), 0, "what is cut needs no timeout");
            // No packet is sent twice that was not cut, and none is pulled in vain.
            for flow in &net.flows {
                let allowed = u64::from(window) + flow.receiver.pulls();
                prop_assert!(u64::from(flow.sender.sent()) <= allowed);
            }
        }
        for pair in net.pulls.windows(2) {
            prop_assert!(pair[1].0 - pair[0].0 >= INTERVAL, "{:?}", pair);
        }
    }
}

/// Long flows to one host take turns: each has its share of pulls, and they end together.
#[test]
fn flows_share_the_pulls_of_their_host() {
    let net = Net::new(config(100, 10), &[100_000; 4], CALM).run();
    let pulled = |flow| net.pulls[..2_000].iter().filter(|p| p.1 == flow).count();
    assert!((0..4).all(|flow| (499..=501).contains(&pulled(flow))), "{:?}", [0, 1, 2, 3].map(pulled));
    // 990 packets of each are pulled, one in 3 us; the window came before.
    let line = 4 * 990 * 3;
    let last = net.flows.iter().filter_map(|f| f.finished).max().expect("all finished") - Time::ZERO;
    let us = last.as_ps() / 1_000_000;
    assert!((line..line + 60).contains(&us), "{us} us, {line} us of pulls");
    assert_eq!(net.timeouts(), 0);
}

/// Where nothing but pulls is lost, no data is repeated: the next pull stands for those before.
#[test]
fn a_lost_pull_does_no_harm() {
    let config = config(100, 10);
    let (mut sender, mut receiver) = (NdpSender::new(&config, 10_000), NdpReceiver::new(&config, 10_000));
    let mut now = Time::ZERO;
    let mut pulls = 0;
    while !sender.is_done() {
        now = now.saturating_add(Duration::from_us(10));
        let mut packets: Vec<_> = std::iter::from_fn(|| sender.poll(now)).collect();
        if packets.is_empty() {
            // All pulls since the last packet were lost: the receiver repeats the last one.
            now = receiver.deadline().expect("it waits");
            sender.on_pull(now, receiver.on_timeout(now).expect("it is due"));
            packets = std::iter::from_fn(|| sender.poll(now)).collect();
            assert!(!packets.is_empty(), "all packets that were pulled");
        }
        for packet in packets {
            let arrival = receiver.on_data(now, packet.offset, packet.len);
            assert_eq!((arrival.new, arrival.answer), (u64::from(packet.len), NdpAnswer::Ack));
            sender.on_ack(now, packet.offset);
        }
        while let Some(counter) = receiver.take_pull(now) {
            pulls += 1;
            // Every third window, the pull before the last arrives; otherwise none does.
            if pulls % 30 == 29 {
                sender.on_pull(now, counter);
            }
        }
    }
    assert_eq!((sender.retransmissions(), sender.timeouts(), receiver.pulls()), (0, 0, 90));
}
