//! A benchmark of the engine on one core: `cargo run --release -p timeplane-sim --example speed`.
//!
//! It measures the event loop alone, without reading scenarios or writing tables.

use crate::control::Controllers;
use crate::engine::event::{Event, Key};
use crate::engine::time::SimTime;
use crate::engine::{Ended, Engine, Pulse};
use crate::hosts::endpoints::{Config, Endpoints, Transport};
use crate::hosts::nic::GateOpening;
use crate::network::{InterfaceForm, Network};
use crate::record::ledger::Ledger;
use crate::run::{RunSpec, prepare};
use indexmap::IndexMap;
use std::path::Path;
use std::sync::Arc;
use timeplane_assembly::{Site, assemble};
use timeplane_model::{Bytes, Duration, Fabric, FabricError, Framing, HostId, LinkSpec, Rate, Switch};
use timeplane_results::Recorder;
use timeplane_scenario::{
    Loaded, Nic, PacketMix, Pattern, PlanSpec, Poisson, RatesSpec, Retune, Sizes, TimeslotsSpec, Workload,
};
use timeplane_schedule::Algorithms;
use timeplane_transport::TcpConfig;
use timeplane_workload::{FlowArrival, Source, Streams, WorkloadError};

/// One measurement.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Measured {
    /// What was measured.
    pub name: String,
    /// Hosts of the fabric.
    pub hosts: u32,
    /// Flows carried.
    pub flows: u64,
    /// Packets that crossed a link, counted once for each link.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
    /// CPU time of the event loop, in seconds.
    pub cpu_s: f64,
    /// Packet hops per CPU second.
    pub packet_hops_per_cpu_s: f64,
    /// Peak resident memory of the process so far, in kB.
    pub peak_rss_kb: u64,
}

/// A leaf-spine with 1 Gb/s servers, 10 Gb/s uplinks, 1 us of propagation and 2 B of framing. With
/// 28 B of datagram headers this gives the 30 B on up to 1470 B of the comparison with other
/// simulators.
///
/// # Errors
///
/// If a dimension is zero.
pub fn leaf_spine(leaves: u32, per_leaf: u32, spines: u32) -> Result<Fabric, FabricError> {
    let spec = |rate| LinkSpec { rate, propagation: Duration::from_us(1), framing: Framing::Ppp, bit_error: 0.0 };
    Fabric::leaf_spine(leaves, per_leaf, spines, Switch::default(), spec(Rate::gbps(1)), spec(Rate::gbps(10)))
}

/// The largest packet of the comparison, in bytes: 1500 B on the wire.
pub const MTU: u32 = 1498;

/// Poisson flows between uniform pairs, with exponential sizes of 46 kB on average.
///
/// # Errors
///
/// Never for a load in (0, 1].
pub fn uniform(fabric: &Fabric, load: f64) -> Result<Source, WorkloadError> {
    let poisson =
        Poisson { load, pattern: Pattern::Uniform, sizes: Sizes::Exponential(Bytes::kb(46)), packets: PacketMix::Mtu };
    Source::load(&Workload::Poisson(poisson), Path::new("."), fabric, Bytes::new(u64::from(MTU)))
}

/// Carries the flows of a source's first `span` over unbounded queues until they end. Flows are
/// drawn while it runs, a few at a time; drawing them does not count.
pub fn carry(name: &str, fabric: &Arc<Fabric>, source: &Source, span: Duration, transport: Transport) -> Measured {
    measure(name, fabric, source, span, transport, None)
}

/// Carries datagrams under a plan.
pub fn carry_planned(name: &str, fabric: &Arc<Fabric>, source: &Source, span: Duration, plan: &PlanSpec) -> Measured {
    measure(name, fabric, source, span, Transport::Datagrams, Some(plan))
}

fn measure(
    name: &str,
    fabric: &Arc<Fabric>,
    source: &Source,
    span: Duration,
    transport: Transport,
    plan: Option<&PlanSpec>,
) -> Measured {
    // Linux resets the peak memory of a process on request. Elsewhere the peak is that of all
    // measurements so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let mut drawing = 0.0;
    let arrivals = Drawn {
        arrivals: source.arrivals(1).take_while(|f| f.at < span),
        some: Vec::with_capacity(SOME),
        drawing: &mut drawing,
    };
    let mut engine = carrying(fabric, Box::new(arrivals), transport, plan, 0, Recorder::discard());
    let before = cpu();
    engine.run(&Pulse::default());
    let total = cpu() - before;
    let found = measured(name, &engine.network, &engine.ends, engine.events, 0.0);
    drop(engine);
    let cpu_s = total - drawing;
    Measured { cpu_s, packet_hops_per_cpu_s: found.packet_hops as f64 / cpu_s, ..found }
}

/// An all-to-all shuffle in slots of 100 us with 15 us of guard at 10 Gb/s. Frames of 1500 B are
/// raw datagrams, 81 in a slot. Agents do all their work, and only tables are missing. Packets move
/// by `trains` or one by one, as `packets`.
///
/// # Panics
///
/// If the plan does not keep senders apart.
fn slots(name: &str, topology: &str, scheduler: &str, pair_bytes: u64) -> Measured {
    let text = format!(
        "[fabric]\ntopology.{topology}\nrate = \"10 Gb/s\"\n[workload.shuffle]\nbytes = \"{pair_bytes} B\"\n[scheme.slots]\ntransport.datagrams = {{}}\n\
         plan.tdma = {{ slot = \"100 us\", guard = \"15 us\", scheduler = \"{scheduler}\" }}\n"
    );
    let loaded = Loaded::from_str(&text, "benchmark", ".", &[]).expect("a scenario");
    let scenario = &loaded.scenario;
    let fabric = Arc::new(scenario.fabric.build().expect("a fabric"));
    let source = Source::load(&scenario.workload, &loaded.base, &fabric, scenario.fabric.mtu).expect("a workload");
    let spec = RunSpec { scenario, scheme: "slots", point: IndexMap::new(), seed: 1, base: &loaded.base };
    let mut engine =
        prepare(&spec, &fabric, &source, &Algorithms::built_in(), Recorder::discard()).expect("a scheduler");
    if name == "packets" {
        engine.network.forbid_trains();
    }
    let before = cpu();
    let ended = engine.run(&Pulse::default());
    let cpu_s = cpu() - before;
    assert_eq!(ended, Ended::Complete, "packets of different hosts met");
    measured(name, &engine.network, &engine.ends, engine.events, cpu_s)
}

/// The same slots over one switch by trains, with gates that a fixed rotation opens: the cost of
/// trains without agents, demand and tables.
///
/// # Panics
///
/// If packets of different hosts meet.
pub fn gates(pair_bytes: u64) -> Measured {
    const HOSTS: u32 = 24;
    let spec = LinkSpec {
        rate: Rate::gbps(10),
        propagation: Duration::from_us(1),
        framing: Framing::Ethernet,
        bit_error: 0.0,
    };
    let fabric = Arc::new(Fabric::single_switch(HOSTS, Switch::default(), spec).expect("hosts"));
    let pairs = (1..HOSTS).flat_map(|k| (0..HOSTS).map(move |h| (h, (h + k) % HOSTS)));
    let flows: Vec<FlowArrival> = pairs
        .map(|(source, destination)| FlowArrival {
            at: Duration::ZERO,
            source: HostId(source),
            destination: HostId(destination),
            bytes: Bytes::new(pair_bytes),
            coflow: None,
        })
        .collect();
    let mut ends = endpoints(&fabric, Transport::Datagrams, 1500, 0, Recorder::discard());
    let nic = InterfaceForm::Queued { spec: Nic::default(), gated: true, turns: None };
    let mut network = Network::new(Arc::clone(&fabric), &Streams::new(1), true, SimTime::MAX, Duration::ZERO, nic);
    network.count_collisions();
    network.allow_trains();
    for flow in &flows {
        let action = ends.start(SimTime::ZERO, flow, &mut network);
        network.hold(SimTime::ZERO, action, &mut ends);
    }
    let mut events = 0;
    let before = cpu();
    let (open, period) = (Duration::from_us(100), Duration::from_us(115));
    let mut now = SimTime::ZERO;
    let (mut turn, mut ended) = (0, Vec::new());
    while !ends.flows.is_empty() {
        turn = turn % (HOSTS - 1) + 1;
        for host in 0..HOSTS {
            let queue = ((host + turn) % HOSTS, 0);
            ended.clear();
            network.open(now, host, GateOpening::slot(queue, now, now + open), &mut ended);
        }
        now = now + period;
        let bound = Event { at: now, key: Key::FIRST };
        loop {
            if let Some((at, link)) = network.next_arrival(bound.at, &ends) {
                network.arrive(at, link, &mut ends);
            } else if let Some(event) = network.wires.calendar.pop_other(bound) {
                network.serve(event.at, event.key.element(), &mut ends);
            } else {
                break;
            }
            events += 1;
        }
    }
    let cpu_s = cpu() - before;
    assert!(!network.is_disturbed(), "packets of different hosts met");
    measured("gates", &network, &ends, events, cpu_s)
}

fn measured(name: &str, network: &Network, ends: &Endpoints, events: u64, cpu_s: f64) -> Measured {
    let packet_hops = network.meters.hops;
    Measured {
        name: name.to_owned(),
        hosts: network.fabric().hosts(),
        flows: ends.ledger.ended,
        packet_hops,
        events,
        cpu_s,
        packet_hops_per_cpu_s: packet_hops as f64 / cpu_s,
        peak_rss_kb: peak_rss_kb(),
    }
}

const SOME: usize = 1 << 10;

/// Flows drawn in advance, some at a time, and the time that drawing took.
struct Drawn<'a, I> {
    arrivals: I,
    /// The next ones, last first.
    some: Vec<FlowArrival>,
    drawing: &'a mut f64,
}

impl<I: Iterator<Item = FlowArrival>> Iterator for Drawn<'_, I> {
    type Item = FlowArrival;
    fn next(&mut self) -> Option<FlowArrival> {
        if self.some.is_empty() {
            let before = cpu();
            self.some.extend(self.arrivals.by_ref().take(SOME));
            self.some.reverse();
            *self.drawing += cpu() - before;
        }
        self.some.pop()
    }
}

/// The benchmark. Datagrams and TCP over a leaf-spine of 120 hosts at load 0.6 carry the flow list
/// of the comparison with other simulators. Datagrams under timeslots and under rates at load 0.8
/// include all work of agents; timeslots are measured with 1,024 hosts, too. Datagrams over
/// leaf-spines of 128 to 16,384 hosts, 32 per leaf, show how time scales.
///
/// # Panics
///
/// Never: its fabrics and loads are valid.
pub fn report(quick: bool) -> Vec<Measured> {
    let parts = if quick { 10 } else { 1 };
    let plain = |name: &str, leaves: u32, per_leaf: u32, span_us: i64, transport| {
        let fabric = Arc::new(leaf_spine(leaves, per_leaf, 3).expect("dimensions above zero"));
        let source = uniform(&fabric, 0.6).expect("a load below one");
        carry(name, &fabric, &source, Duration::from_us(span_us / parts), transport)
    };
    let mut rows =
        vec![plain("datagrams", 4, 30, 1_000_000, Transport::Datagrams), plain("tcp", 4, 30, 1_000_000, tcp())];
    let fabric = Arc::new(leaf_spine(4, 30, 3).expect("dimensions above zero"));
    let source = uniform(&fabric, 0.8).expect("a load below one");
    for (name, plan) in &plans() {
        rows.push(carry_planned(name, &fabric, &source, Duration::from_us(200_000 / parts), plan));
    }
    let [(name, timeslots), _] = plans();
    rows.push(many_hosts(name, Duration::from_us(100_000 / parts), &timeslots));
    rows.extend(slots_report(40_000_000 / parts as u64, &["packets", "trains"]));
    rows.push(gates(400_000_000 / parts as u64));
    // Short spans would measure how the fabric fills: two mean flows take 1 ms.
    for (leaves, span_us) in [(4, 1_000_000), (32, 200_000), (512, 40_000)] {
        rows.push(plain("scaling", leaves, 32, span_us, Transport::Datagrams));
    }
    rows
}

/// Datagrams under a plan over a leaf-spine of 1,024 hosts, 32 per leaf, at load 0.8.
///
/// # Panics
///
/// Never: the fabric and the load are valid.
pub fn many_hosts(name: &str, span: Duration, plan: &PlanSpec) -> Measured {
    let fabric = Arc::new(leaf_spine(32, 32, 3).expect("dimensions above zero"));
    let source = uniform(&fabric, 0.8).expect("a load below one");
    carry_planned(name, &fabric, &source, span, plan)
}

/// The plans that the benchmark measures over a leaf-spine, by name.
pub fn plans() -> [(&'static str, PlanSpec); 2] {
    [("timeslots", PlanSpec::Timeslots(TimeslotsSpec::default())), ("rates", PlanSpec::Rates(RatesSpec::default()))]
}

/// Slots by `packets`, by `trains`, or both in turn, over one switch and over a fat tree, with so
/// many bytes for each pair.
///
/// # Panics
///
/// Never: the plans suit their fabrics.
pub fn slots_report(pair_bytes: u64, how: &[&str]) -> Vec<Measured> {
    let fabrics =
        [("single_switch = { hosts = 24 }", "weighted_round_robin"), ("fat_tree = { k = 4 }", "conflict_free")];
    let each = |name| fabrics.map(|(topology, scheduler)| slots(name, topology, scheduler, pair_bytes));
    how.iter().copied().flat_map(each).collect()
}

/// The benchmark as a table with a line for each measurement. The last column is the time per
/// packet hop relative to the smallest fabric.
pub fn table(rows: &[Measured]) -> String {
    let mut text = format!(
        "{:<10} {:>6} {:>9} {:>12} {:>13} {:>7} {:>8} {:>6}\n",
        "", "hosts", "flows", "packet-hops", "M hops/CPU s", "ns/hop", "peak MB", "ratio"
    );
    let base = rows.iter().find(|r| r.name == "scaling").map(|r| r.packet_hops_per_cpu_s);
    for r in rows {
        let rate = r.packet_hops_per_cpu_s;
        let ratio = base.filter(|_| r.name == "scaling").map_or(String::new(), |b| format!("{:.2}", b / rate));
        text += &format!(
            "{:<10} {:>6} {:>9} {:>12} {:>13.1} {:>7.1} {:>8.1} {:>6}\n",
            r.name,
            r.hosts,
            r.flows,
            r.packet_hops,
            rate / 1e6,
            1e9 / rate,
            r.peak_rss_kb as f64 / 1e3,
            ratio
        );
    }
    text
}

/// An engine that carries these flows until they end.
pub fn engine<'a>(
    fabric: &Arc<Fabric>,
    arrivals: &'a [FlowArrival],
    transport: Transport,
    salt: u64,
    recorder: Recorder,
) -> Engine<'a> {
    carrying(fabric, Box::new(arrivals.iter().copied()), transport, None, salt, recorder)
}

fn carrying<'a>(
    fabric: &Arc<Fabric>,
    arrivals: Box<dyn Iterator<Item = FlowArrival> + Send + 'a>,
    transport: Transport,
    plan: Option<&PlanSpec>,
    salt: u64,
    recorder: Recorder,
) -> Engine<'a> {
    let ends = endpoints(fabric, transport, MTU, salt, recorder);
    let passive = ends.is_passive();
    let gated = |_| InterfaceForm::Queued { spec: Nic::default(), gated: true, turns: None };
    let nic = plan.map_or(InterfaceForm::Plain, gated);
    let streams = Streams::new(1);
    let mut network = Network::new(Arc::clone(fabric), &streams, passive, SimTime::MAX, Duration::from_us(20), nic);
    let scheme = plan.map(|plan| {
        let site = Site {
            fabric: Arc::clone(fabric),
            mtu: MTU,
            retune: Retune::default(),
            prompt_signals: false,
            seldom_asked: false,
        };
        let agents = assemble(plan, &site);
        network.interfaces.watch = agents.terms().watch;
        let plan = Controllers::new(&*agents, &Algorithms::built_in(), &streams);
        let mut plan = plan.expect("the fabric is a Clos network");
        if plan.act_in_step(&network) {
            network.look_ahead();
        }
        plan
    });
    Engine::new(network, ends, scheme, arrivals, SimTime::MAX, None)
}

pub(crate) fn endpoints(
    fabric: &Arc<Fabric>,
    transport: Transport,
    mtu: u32,
    salt: u64,
    recorder: Recorder,
) -> Endpoints {
    let all = SimTime::ZERO..SimTime::MAX;
    let config = Config {
        transport,
        packets: PacketMix::Mtu,
        mtu,
        salt,
        per_packet: false,
        routes_change: false,
        packet_seed: 0,
        fragments: false,
        acknowledgements: None,
        background: None,
        classes: Vec::new(),
        granted: None,
        measured: all.clone(),
        stop: SimTime::MAX,
    };
    let ledger = Ledger::new(fabric.hosts(), all, recorder);
    Endpoints::new(Arc::clone(fabric), config, ledger)
}

/// The arrivals of a source's first `span`.
pub fn first(source: &Source, seed: u64, span: Duration) -> Vec<FlowArrival> {
    source.arrivals(seed).take_while(|f| f.at < span).collect()
}

/// The TCP of the benchmark: NewReno, open from the start, with an acknowledgement for every second
/// segment.
pub fn tcp() -> Transport {
    Transport::Tcp(TcpConfig {
        congestion: timeplane_transport::CongestionKind::NewReno,
        mss: MTU - timeplane_transport::HEADER_BYTES,
        ..TcpConfig::default()
    })
}

/// CPU time of this thread, in seconds.
#[cfg(unix)]
pub fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Wall-clock time in seconds. Without CPU time of threads, the machine should be idle otherwise.
#[cfg(not(unix))]
pub fn cpu() -> f64 {
    static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(std::time::Instant::now).elapsed().as_secs_f64()
}

/// Peak resident memory of the process, in kB; 0 if the system does not tell.
pub fn peak_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
