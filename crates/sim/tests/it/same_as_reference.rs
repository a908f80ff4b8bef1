//! On random small networks the engine and the reference engine agree on every packet: when it
//! arrived, marked or not, or that it was lost.
//!
//! Cases cover failures, changes of rates, pauses, gates and every switch of the fabric.

use crate::reference::{Gate, Gates, Kind, Reference};
use crate::script::Script;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use timeplane_model::{
    Buffer, Bytes, Duration, Fabric, Forwarding, Framing, HostId, LinkId, LinkSpec, NodeId, Pfc, Rate, Switch, mix64,
};
use timeplane_results::Recorder;
use timeplane_scenario::{Change, Element, Failure, HostTimes, Nic, PacketMix, Wires};
use timeplane_sim::SimTime;
use timeplane_sim::engine::{Ended, Engine, Pulse};
use timeplane_sim::hosts::endpoints::{Config, Endpoints, PacketEvent, Transport};
use timeplane_sim::hosts::turns::Quanta;
use timeplane_sim::network::{InterfaceForm, Network};
use timeplane_sim::record::ledger::Ledger;
use timeplane_transport::{CongestionKind, TcpConfig};
use timeplane_workload::{FlowArrival, Streams};

/// A network and its flows, drawn from a seed.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    hosts: u32,
    switches: u32,
    extra: u32,
    flows: u32,
    tcp: Option<CongestionKind>,
    mix: bool,
    buffer: u8,
    ecn: bool,
    errors: bool,
    cut_through: bool,
    per_packet: bool,
    latency_ns: i64,
    passive: bool,
    failures: Vec<Drawn>,
    changes: Vec<Rates>,
    /// Frames that an input holds before it is paused; 0 turns PFC off.
    pfc: u64,
    /// Headroom in bytes, if it is not the formula's.
    headroom: Option<u64>,
    /// Whether hosts serve flows in turn.
    fair: bool,
    /// Whether hosts send in slots, or at rates.
    gates: Option<Plan>,
    /// The hosts' own time.
    host_times: Option<HostTimes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Slots,
    Rates,
}

/// A case in which gates decide when hosts send.
fn gated() -> impl Strategy<Value = Case> {
    let plan = prop_oneof![Just(Plan::Slots), Just(Plan::Rates)];
    (case(), plan).prop_map(|(case, plan)| Case { gates: Some(plan), ..case })
}

/// One gate for each pair of hosts.
fn gates(case: &Case) -> Vec<Gate> {
    let mut draw = Draw(!case.seed);
    let pairs = (0..case.hosts).flat_map(|a| (0..case.hosts).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let mut one = |(host, destination): (u32, u32)| {
        let kind = match case.gates {
            // Some are too short for a packet of the MTU on slow links, so there is a second one.
            Some(Plan::Slots) => Kind::Slots {
                from: PERIOD + draw.next(500) as i64 * 700_000,
                open: 18_000_000 + draw.next(40) as i64 * 1_030_000,
                every: PERIOD,
                packets: [1, 3, u32::MAX][draw.next(3) as usize],
                bytes: [1_538, 4_000, u64::MAX][draw.next(3) as usize],
            },
            _ => Kind::Rate(LATENCY, [Rate::mbps(300), Rate::gbps(2), Rate::mbps(40)][draw.next(3) as usize]),
        };
        Gate { host, destination, kind }
    };
    pairs.map(&mut one).collect()
}

/// How often slots come back, and how long messages to hosts take, in ps.
const PERIOD: i64 = 410_000_000;
const LATENCY: i64 = 10_000_000;

/// A case in which switches pause.
fn pausing() -> impl Strategy<Value = Case> {
    let headroom = prop_oneof![Just(None), Just(None), (0u64..4_000).prop_map(Some)];
    (case(), 1u64..6, headroom).prop_map(|(case, pfc, headroom)| {
        // The engine decides about a mark when the packet comes to the switch, the reference when
        // it has passed it.
        let latency_ns = if case.ecn { 0 } else { case.latency_ns };
        // In a tree: where paths form a circle, switches may wait for each other for ever.
        Case { pfc, headroom, buffer: 0, cut_through: false, extra: 0, latency_ns, ..case }
    })
}

/// A case in which hosts take time for packets: constant or random, in one direction or both.
fn in_hosts() -> impl Strategy<Value = Case> {
    let bound = || prop_oneof![Just(0), (0i64..4).prop_map(|n| n * 7_000_000), 0i64..90_000_000];
    let case = prop_oneof![case(), gated(), (case(), 4u8..7).prop_map(|(case, buffer)| memories(case, buffer))];
    (case, bound(), bound(), bound(), bound()).prop_map(|(case, a, b, c, d)| {
        let [a, b, c, d] = [a, b, c, d].map(Duration::from_ps);
        let (send_least, send_most) = (a.min(b), a.max(b));
        let (receive_least, receive_most) = (c.min(d), c.max(d));
        Case { host_times: Some(HostTimes { send_least, send_most, receive_least, receive_most }), ..case }
    })
}

/// A case in which switches have memories of inputs.
fn memories(case: Case, buffer: u8) -> Case {
    Case { buffer, cut_through: false, ..case }
}

/// What fails, when, for how long (for good if 0), and how much later it is known; times in ps.
type Drawn = (u32, i64, i64, i64);

/// A case in which elements fail.
fn failing() -> impl Strategy<Value = Case> {
    // Some at arrival times of flows, some short, some that overlap.
    let at = prop_oneof![0i64..3_000_000_000, (0i64..200).prop_map(|n| n * 7_000_000)];
    let length = prop_oneof![0i64..300_000_000, (0i64..100).prop_map(|n| n * 7_000_000), 1i64..5_000];
    let detection = prop_oneof![Just(0), 0i64..400_000_000];
    let failures = prop::collection::vec((any::<u32>(), at, length, detection), 1..7);
    (case(), failures).prop_map(|(case, mut failures)| {
        // A flow that waits for an answer which never comes waits for ever.
        failures.iter_mut().filter(|f| case.tcp.is_some() && f.2 == 0).for_each(|f| f.2 = 1);
        // The engine decides whether a packet fits, is marked or is corrupt when it comes to a
        // switch, the reference when it has passed it. With a failure in between, both lose the
        // packet, but for different reasons, and the draws differ.
        let decides = case.buffer > 0 || case.ecn || case.errors;
        Case { failures, latency_ns: if decides { 0 } else { case.latency_ns }, ..case }
    })
}

/// Which wires change, when, how often (once if 0), and to which of some rates; times in ps.
type Rates = (u32, i64, i64, u32);

/// A case in which rates change, and elements may fail.
fn changing() -> impl Strategy<Value = Case> {
    let at = prop_oneof![0i64..1_000_000_000, (0i64..100).prop_map(|n| n * 7_000_000)];
    let every = prop_oneof![Just(0), 1_000_000i64..200_000_000, (1i64..20).prop_map(|n| n * 7_000_000)];
    let changes = prop::collection::vec((any::<u32>(), at, every, any::<u32>()), 1..5);
    (prop_oneof![case(), failing()], changes).prop_map(|(case, changes)| {
        // As for failures: with a change between a packet's arrival and its passing, the two decide
        // by different rates.
        let decides = case.buffer > 0 || case.ecn;
        let latency_ns = if decides { 0 } else { case.latency_ns };
        Case { changes, cut_through: false, latency_ns, ..case }
    })
}

fn changes(case: &Case, fabric: &Fabric) -> Vec<Change> {
    let one = |&(which, at, every, rates): &Rates| {
        let links = fabric.links().len() as u32;
        let link = fabric.link(LinkId(which / 8 % links));
        let wires = match which % 8 {
            0 | 1 => Wires::All,
            2 => Wires::Between([link.from.0, link.to.0]),
            _ => Wires::Wire(which / 8 % (links / 2)),
        };
        // Some are inexact, some unchanged.
        let all = [Rate::mbps(100), Rate::gbps(1), Rate::mbps(333), Rate::gbps(10), Rate::mbps(700), Rate::gbps(40)];
        let count = if every > 0 { 1 + rates % 3 } else { 1 };
        Change {
            wires,
            at: Duration::from_ps(at),
            rates: (0..count).map(|i| all[(rates >> (4 * i + 2)) as usize % all.len()]).collect(),
            every: (every > 0).then(|| Duration::from_ps(every)),
            notice: Duration::from_ps(i64::from(which)),
        }
    };
    case.changes.iter().map(one).collect()
}

fn failures(case: &Case, fabric: &Fabric) -> Vec<Failure> {
    let one = |&(which, at, length, detection): &Drawn| {
        let wires = fabric.links().len() as u32 / 2;
        let kind = which / 64;
        let element = match which % 8 {
            0 | 1 => Element::Switch(kind % case.switches),
            2 => Element::Host(kind % case.hosts),
            3 => {
                let link = fabric.link(LinkId(kind % (2 * wires)));
                Element::Between([link.from.0, link.to.0])
            }
            _ => Element::Wire(kind % wires),
        };
        Failure {
            element,
            at: Duration::from_ps(at),
            until: (length > 0).then(|| Duration::from_ps(at + length)),
            detection: Duration::from_ps(detection),
        }
    };
    case.failures.iter().map(one).collect()
}

fn case() -> impl Strategy<Value = Case> {
    let tcp = prop_oneof![
        Just(None),
        Just(Some(CongestionKind::NewReno)),
        Just(Some(CongestionKind::Cubic)),
        Just(Some(CongestionKind::Dctcp))
    ];
    let shape = (any::<u64>(), 2u32..9, 1u32..6, 0u32..5, 1u32..40, any::<bool>());
    let network = (0u8..4, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0i64..900);
    (shape, tcp, any::<bool>(), network, any::<bool>()).prop_map(|(shape, tcp, mix, network, passive)| Case {
        seed: shape.0,
        hosts: shape.1,
        switches: shape.2,
        extra: shape.3,
        flows: shape.4,
        tcp,
        mix,
        buffer: network.0,
        ecn: network.1,
        errors: network.2,
        cut_through: network.3,
        per_packet: network.4,
        latency_ns: network.5,
        passive,
        failures: Vec::new(),
        changes: Vec::new(),
        pfc: 0,
        headroom: None,
        fair: shape.5,
        gates: None,
        host_times: None,
    })
}

struct Draw(u64);

impl Draw {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.0) % below
    }
}

fn build(case: &Case) -> (Arc<Fabric>, Vec<FlowArrival>) {
    let mut draw = Draw(case.seed);
    let rates = [Rate::gbps(1), Rate::gbps(10), Rate::mbps(700), Rate::gbps(3)];
    let spec = |draw: &mut Draw| LinkSpec {
        rate: rates[draw.next(4) as usize],
        propagation: Duration::from_ps(1_000 + draw.next(3) as i64 * 500_000),
        framing: [Framing::Ethernet, Framing::Ppp][draw.next(2) as usize],
        bit_error: if case.errors && draw.next(3) == 0 { 3e-6 } else { 0.0 },
    };
    let switch = |_: u32| Switch {
        latency: Duration::from_ns(case.latency_ns),
        forwarding: if case.cut_through { Forwarding::CutThrough } else { Forwarding::StoreAndForward },
        buffer: match case.buffer {
            0 => Buffer::Unbounded,
            1 => Buffer::PerPort(Bytes::kb(6)),
            2 => Buffer::PerPort(Bytes::kb(30)),
            3 => Buffer::Shared { memory: Bytes::kb(40), alpha: 1.0 },
            n => Buffer::PerInput(Bytes::new([1_538, 5_000, 30_000][usize::from(n) - 4])),
        },
        ecn: case.ecn.then_some(Bytes::kb(5)),
        pfc: (case.pfc > 0).then(|| Pfc {
            pause_at: Bytes::new(1538 * case.pfc),
            resume_at: Bytes::new(case.seed % (1538 * case.pfc - 1537)),
            headroom: case.headroom.map(Bytes::new),
            reaction: Duration::from_ns(614),
        }),
    };
    let mut wires = Vec::new();
    for h in 0..case.hosts {
        let to = NodeId(case.hosts + draw.next(u64::from(case.switches)) as u32);
        wires.push((NodeId(h), to, spec(&mut draw)));
    }
    // A random tree of switches with a few more wires.
    for s in 1..case.switches {
        let to = NodeId(case.hosts + draw.next(u64::from(s)) as u32);
        wires.push((NodeId(case.hosts + s), to, spec(&mut draw)));
    }
    for _ in 0..case.extra {
        let a = draw.next(u64::from(case.switches)) as u32;
        let b = draw.next(u64::from(case.switches)) as u32;
        if a != b {
            wires.push((NodeId(case.hosts + a), NodeId(case.hosts + b), spec(&mut draw)));
        }
    }
    let fabric = Arc::new(Fabric::new(case.hosts, (0..case.switches).map(switch).collect(), &wires).unwrap());
    let mut at = 0;
    let arrivals = (0..case.flows)
        .map(|_| {
            // Simultaneous arrivals are wanted too.
            at += draw.next(5) as i64 * 7_000_000;
            let source = draw.next(u64::from(case.hosts)) as u32;
            let other = 1 + draw.next(u64::from(case.hosts) - 1) as u32;
            FlowArrival {
                at: Duration::from_ps(at),
                source: HostId(source),
                destination: HostId((source + other) % case.hosts),
                bytes: Bytes::new(1 + draw.next(60_000)),
                coflow: None,
            }
        })
        .collect();
    (fabric, arrivals)
}

fn ends(case: &Case, fabric: &Arc<Fabric>) -> Endpoints {
    let all = SimTime::ZERO..SimTime::MAX;
    let transport = match case.tcp {
        None => Transport::Datagrams,
        Some(congestion) => Transport::Tcp(TcpConfig {
            timestamps: case.fair,
            mss: if case.fair { 1_448 } else { 1_460 },
            congestion,
            min_rto: Duration::from_ms(2),
            initial_rto: Duration::from_ms(5),
            ecn: case.ecn,
            handshake: case.mix,
            pacing: case.seed.is_multiple_of(4),
            sack: !case.seed.is_multiple_of(3),
            ..TcpConfig::default()
        }),
    };
    let config = Config {
        transport,
        packets: if case.mix && case.tcp.is_none() { PacketMix::Bimodal } else { PacketMix::Mtu },
        mtu: 1500,
        salt: case.seed,
        per_packet: case.per_packet,
        routes_change: !case.failures.is_empty(),
        packet_seed: case.seed,
        fragments: false,
        acknowledgements: None,
        background: None,
        classes: if case.pfc > 0 { vec![Bytes::kb(15), Bytes::kb(40)] } else { Vec::new() },
        granted: None,
        measured: all.clone(),
        stop: SimTime::MAX,
    };
    let mut ends = Endpoints::new(Arc::clone(fabric), config, Ledger::new(case.hosts, all, Recorder::discard()));
    ends.log = Some(Vec::new());
    ends
}

fn sorted(ends: &mut Endpoints) -> Vec<PacketEvent> {
    let mut log = ends.log.take().unwrap();
    log.sort_unstable();
    log
}

/// Runs both, and returns the reasons of losses.
fn both(case: &Case) -> Result<BTreeSet<&'static str>, TestCaseError> {
    let (fabric, arrivals) = build(case);
    let failures = failures(case, &fabric);
    let changes = changes(case, &fabric);
    let latency = Duration::from_us(20);

    let mut slow_ends = ends(case, &fabric);
    let mut slow = Reference::new(Arc::clone(&fabric), &Streams::new(case.seed), latency);
    slow.fail(&failures);
    slow.change_rates(&changes);
    slow.fair = case.fair;
    let gates = case.gates.map(|_| gates(case));
    slow.gates = gates.clone().map(Gates::new);
    if case.pfc > 0 {
        slow.pause(1500);
    }
    let streams = Streams::new(case.seed);
    if let Some(times) = case.host_times {
        slow.let_hosts_take(times, &streams);
    }
    slow.run(&mut slow_ends, &arrivals);

    let fast_ends = ends(case, &fabric);
    let passive = case.passive && case.host_times.is_none() && fast_ends.is_passive();
    let turns = case.fair.then(|| Quanta::new(1500, 0));
    let spec = Nic::default();
    let form = match (case, turns) {
        (Case { gates: Some(_), .. }, turns) => InterfaceForm::Queued { spec, gated: true, turns },
        (_, Some(turns)) => InterfaceForm::Fair(turns),
        (Case { pfc: 0, .. }, None) => InterfaceForm::Plain,
        _ => InterfaceForm::Queued { spec, gated: false, turns },
    };
    let mut network = Network::new(Arc::clone(&fabric), &streams, passive, SimTime::MAX, latency, form);
    network.pause(1500);
    network.fail(&failures);
    network.change_rates(&changes);
    if let Some(times) = case.host_times {
        network.let_hosts_take(times, &streams);
    }
    network.wires.large = case.seed.is_multiple_of(2);
    let script = gates.map(|gates| Script { fabric: Arc::clone(&fabric), gates, latency: LATENCY, period: PERIOD });
    let control = script.map(|script| script.controllers(&streams));
    let mut fast = Engine::new(network, fast_ends, control, Box::new(arrivals.iter().copied()), SimTime::MAX, None);
    prop_assert_eq!(fast.run(&Pulse::default()), Ended::Complete);

    let losses: BTreeMap<_, _> =
        fast.network.meters.losses.iter().map(|(&(l, why), n)| ((l, why.name()), n.0)).collect();
    let (a, b) = (sorted(&mut fast.ends), sorted(&mut slow_ends));
    if let Some(i) = (0..a.len().max(b.len())).find(|&i| a.get(i) != b.get(i)) {
        return Err(TestCaseError::fail(format!("event {i}: {:?}, reference {:?}", a.get(i), b.get(i))));
    }
    // Which of two elements that fail in one instant a packet is lost by is open; that it is lost
    // by a failure is not.
    let starts: BTreeSet<_> = failures.iter().map(|f| f.at).collect();
    let all_apart = starts.len() == failures.len();
    let clear = |all: &BTreeMap<(u32, &'static str), u64>| {
        let mut sums = BTreeMap::new();
        for (&(link, why), n) in all {
            let why = if !all_apart && why.ends_with("_down") { "down" } else { why };
            *sums.entry((link, why)).or_insert(0) += n;
        }
        sums
    };
    prop_assert_eq!(clear(&losses), clear(&slow.losses));
    prop_assert_eq!(fast.network.meters.hops, slow.hops);
    // A flow that waits for ever at a host may have handed over one packet.
    let forever = failures.iter().any(|f| f.until.is_none());
    let (sent, waiting) = (fast.ends.ledger.sent, fast.network.in_flight());
    prop_assert!(waiting == (0, 0) || forever && waiting.0 <= u64::from(case.hosts));
    prop_assert_eq!((sent.0 - waiting.0, sent.1 - waiting.1), slow_ends.ledger.sent);
    // Only open-loop flows that lost packets end without being finished.
    prop_assert_eq!(fast.ends.flows.len(), slow_ends.flows.len());
    prop_assert!(fast.ends.flows.is_empty() || forever);
    Ok(losses.keys().map(|&(_, why)| why).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn packet_by_packet(case in case()) {
        both(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn packet_by_packet_behind_gates(case in gated()) {
        both(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn packet_by_packet_through_hosts(case in in_hosts()) {
        both(&case)?;
    }
}

#[test]
fn packet_by_packet_while_switches_pause() {
    let lossy = RefCell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(400));
    let all = runner.run(&pausing(), |case| {
        let reasons = both(&case)?;
        prop_assert!(case.headroom.is_some() || !reasons.contains("input_full"), "{:?}", reasons);
        *lossy.borrow_mut() += u32::from(reasons.contains("input_full"));
        Ok(())
    });
    all.unwrap_or_else(|e| panic!("{e}"));
    assert!(lossy.into_inner() > 10);
}

#[test]
fn packet_by_packet_with_memories_of_inputs() {
    let lossy = RefCell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(600));
    let cases = (case(), 4u8..7).prop_map(|(case, buffer)| memories(case, buffer));
    let all = runner.run(&cases, |case| {
        *lossy.borrow_mut() += u32::from(both(&case)?.contains("input_full"));
        Ok(())
    });
    all.unwrap_or_else(|e| panic!("{e}"));
    assert!(lossy.into_inner() > 50);
}

#[test]
fn packet_by_packet_while_elements_fail() {
    let seen = RefCell::new(BTreeMap::<&str, u32>::new());
    let mut runner = TestRunner::new(ProptestConfig::with_cases(600));
    let all = runner.run(&failing(), |case| {
        let reasons = both(&case)?;
        reasons.into_iter().for_each(|r| *seen.borrow_mut().entry(r).or_default() += 1);
        Ok(())
    });
    all.unwrap_or_else(|e| panic!("{e}"));
    let seen = seen.into_inner();
    let reasons = ["link_down", "switch_down", "host_down", "no_route", "buffer_full", "bit_error"];
    assert!(reasons.iter().all(|r| seen.get(r).is_some_and(|&n| n > 20)), "{seen:?}");
}

#[test]
fn packet_by_packet_while_rates_change() {
    let seen = RefCell::new(BTreeMap::<&str, u32>::new());
    let mut runner = TestRunner::new(ProptestConfig::with_cases(800));
    let all = runner.run(&changing(), |case| {
        let reasons = both(&case)?;
        reasons.into_iter().for_each(|r| *seen.borrow_mut().entry(r).or_default() += 1);
        Ok(())
    });
    all.unwrap_or_else(|e| panic!("{e}"));
    let seen = seen.into_inner();
    let reasons = ["link_down", "switch_down", "host_down", "buffer_full", "bit_error"];
    assert!(reasons.iter().all(|r| seen.get(r).is_some_and(|&n| n > 20)), "{seen:?}");
}
