//! The engine's speed, measured on one core: programs that anyone can run, apart from the tests.

use crate::endpoints::{Carrier, Endpoints, Setting};
use crate::engine::{Engine, Pulse};
use crate::ledger::Ledger;
use crate::network::Network;
use crate::time::SimTime;
use std::path::Path;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Fabric, FabricError, Framing, LinkSpec, Rate, Switch};
use timeplane_results::Recorder;
use timeplane_scenario::{PacketMix, Pattern, Poisson, Sizes, Workload};
use timeplane_transport::TcpConfig;
use timeplane_workload::{FlowArrival, Source, Streams, WorkloadError};

/// What one measurement gave.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Measured {
    /// What was run.
    pub name: String,
    /// Hosts of the fabric.
    pub hosts: u32,
    /// Flows that were carried.
    pub flows: u64,
    /// Packets that crossed a link, each counted at every link.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
    /// CPU time of the event loop, in seconds.
    pub cpu_s: f64,
    /// Packet-hops in a CPU second.
    pub packet_hops_per_cpu_s: f64,
    /// Peak resident memory of the process so far, in kB.
    pub peak_rss_kb: u64,
}

/// A leaf-spine of 1 Gb/s servers and 10 Gb/s uplinks, 1 us of propagation and 2 B of framing: with 28 B of datagram headers, the 30 B
/// on up to 1470 B of the comparison with other simulators.
///
/// # Errors
/// Where a dimension is zero.
pub fn leaf_spine(leaves: u32, per_leaf: u32, spines: u32) -> Result<Fabric, FabricError> {
    let spec = |rate| LinkSpec { rate, propagation: Duration::from_us(1), framing: Framing::Ppp, bit_error: 0.0 };
    Fabric::leaf_spine(leaves, per_leaf, spines, Switch::default(), spec(Rate::gbps(1)), spec(Rate::gbps(10)))
}

/// Largest packet of the comparison: 1500 B on the wire.
pub const MTU: u32 = 1498;

/// Poisson flows of exponential size, mean 46 kB, uniform.
///
/// # Errors
/// Never for a load in (0, 1].
pub fn uniform(fabric: &Fabric, load: f64) -> Result<Source, WorkloadError> {
    let poisson = Poisson {
        load,
        pattern: Pattern::Uniform,
        sizes: Sizes::Exponential(Bytes::kb(46)),
        packets: PacketMix::Mtu,
    };
    Source::load(&Workload::Poisson(poisson), Path::new("."), fabric, Bytes::new(u64::from(MTU)))
}

/// Runs these flows to their end over unbounded queues.
pub fn carry(name: &str, fabric: &Arc<Fabric>, arrivals: &[FlowArrival], carrier: Carrier, salt: u64) -> Measured {
    let mut engine = engine(fabric, arrivals, carrier, salt, Recorder::discard());
    let before = cpu();
    engine.run(&Pulse::default());
    let cpu_s = cpu() - before;
    Measured {
        name: name.to_owned(),
        hosts: fabric.hosts(),
        flows: engine.ends.ledger.ended,
        packet_hops: engine.network.hops,
        events: engine.events,
        cpu_s,
        packet_hops_per_cpu_s: engine.network.hops as f64 / cpu_s,
        peak_rss_kb: peak_rss_kb(),
    }
}

/// An engine that carries these flows to their end.
pub fn engine<'a>(
    fabric: &Arc<Fabric>,
    arrivals: &'a [FlowArrival],
    carrier: Carrier,
    salt: u64,
    recorder: Recorder,
) -> Engine<'a> {
    let all = SimTime::ZERO..SimTime::MAX;
    let setting = Setting {
        carrier,
        packets: PacketMix::Mtu,
        mtu: MTU,
        salt,
        per_packet: false,
        packet_seed: 0,
        measured: all.clone(),
        stop: SimTime::MAX,
    };
    let ledger = Ledger::new(fabric.hosts(), all, recorder);
    let ends = Endpoints::new(Arc::clone(fabric), setting, ledger);
    let passive = ends.is_passive();
    let network =
        Network::new(Arc::clone(fabric), &Streams::new(1), passive, SimTime::MAX, Duration::from_us(20), None);
    Engine::new(network, ends, None, Box::new(arrivals.iter().copied()), SimTime::MAX, None)
}

/// The arrivals of a source's first `span`.
pub fn first(source: &Source, seed: u64, span: Duration) -> Vec<FlowArrival> {
    source.arrivals(seed).take_while(|f| f.at < span).collect()
}

/// The TCP of the benchmark: NewReno, declared open, every second segment acknowledged.
pub fn tcp() -> Carrier {
    Carrier::Tcp(TcpConfig {
        congestion: timeplane_transport::CongestionKind::NewReno,
        mss: MTU - timeplane_transport::HEADER_BYTES,
        ..TcpConfig::default()
    })
}

/// CPU time of this thread, in seconds.
pub fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Peak resident memory of the process, in kB; 0 where the system does not say.
pub fn peak_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
