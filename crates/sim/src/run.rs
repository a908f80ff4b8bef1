//! One run: a scenario's point, one of its schemes, one seed.

use crate::air::flyways;
use crate::air::{AirError, LinkTraces, set_up};
use crate::circuit::switch::Circuits;
use crate::control::proxies::Proxies;
use crate::control::{ControlError, Controllers};
use crate::engine::time::SimTime;
use crate::engine::{Ended, Engine, Pulse};
use crate::hosts::endpoints::{Carrier, Endpoints, Setting};
use crate::hosts::receive::ReceiveBuffer;
use crate::network::{Network, Watch};
use crate::record::capture::Capture;
use crate::record::latency::{Histogram, Latencies};
use crate::record::ledger::Ledger;
use indexmap::IndexMap;
use std::path::Path;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, FabricError};
use timeplane_protocol::ACKNOWLEDGEMENTS;
use timeplane_results::{
    ControlRow, DropRow, LatencyRow, LinkRow, Recorder, ResultsError, RttRow, RunFacts, RunSummary, Tables, Tally,
    WindowSummary,
};
use timeplane_scenario::{
    AckWay, Congestion, Discipline, Ecmp, PlanSpec, RateEstimator, RatesSpec, Retune, Scenario, Scheme, SlotFill,
    Topology, Transport, Workload,
};
use timeplane_schedule::Schedulers;
use timeplane_transport::{CongestionKind, DelayedAck, RawConfig, TcpConfig};
use timeplane_workload::{Source, Streams};

/// What is run.
#[derive(Clone, Debug)]
pub struct RunSpec<'a> {
    /// The scenario, with the values of its point.
    pub scenario: &'a Scenario,
    /// Which of its schemes.
    pub scheme: &'a str,
    /// The swept keys and their values, for the summary.
    pub point: IndexMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// Where files that the fabric names are looked up.
    pub base: &'a Path,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario has no such scheme.
    #[error("there is no scheme `{0}`")]
    Scheme(String),
    /// The scheme's own fabric cannot be built, or has other hosts than the scenario's.
    #[error("its own fabric: {0}")]
    Fabric(#[from] FabricError),
    /// Its radios cannot be set up.
    #[error(transparent)]
    Air(Box<AirError>),
    /// The scheme cannot be set up.
    #[error(transparent)]
    Setup(#[from] ControlError),
    /// The scheduler's plan cannot be executed.
    #[error("{0}")]
    Plan(String),
    /// The results could not be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Packets or bytes are missing, or came from nowhere: a mistake of the simulator.
    #[error("{what} are not conserved: {tally:?}; this is a mistake of the simulator, its results are void")]
    Conservation {
        /// Packets or bytes.
        what: &'static str,
        /// The counts.
        tally: Tally,
    },
    /// It was told to end.
    #[error("interrupted")]
    Cancelled,
}

impl From<AirError> for RunError {
    fn from(e: AirError) -> Self {
        Self::Air(Box::new(e))
    }
}

/// The least time in which a host hears of anything beside the network where no plan sets a latency.
const REPORT_LATENCY: Duration = Duration::from_us(20);

/// Runs. Where a plan keeps senders apart their packets move [together](Network::allow_trains), with the same results.
///
/// `fabric` is that of the scenario, which `source` was loaded for and which slowdowns are relative to. A scheme that has its own runs on that:
/// it is built here.
///
/// # Errors
/// Where the scenario names what does not exist, results cannot be written, packets are not conserved, or it is cancelled.
pub fn simulate(
    spec: &RunSpec<'_>,
    fabric: &Arc<Fabric>,
    source: &Source,
    schedulers: &Schedulers,
    recorder: Recorder,
    pulse: &Pulse,
) -> Result<(RunSummary, Tables), RunError> {
    let mut engine = prepare(spec, fabric, source, schedulers, recorder)?;
    match engine.run(pulse) {
        Ended::Disturbed => {
            let recorder = engine.ends.ledger.recorder.again()?;
            simulate_by_packets(spec, fabric, source, schedulers, recorder, pulse)
        }
        ended => conclude(engine, ended, spec, source),
    }
}

/// The same as [`simulate`], each packet by itself.
///
/// # Errors
/// As there.
pub fn simulate_by_packets(
    spec: &RunSpec<'_>,
    fabric: &Arc<Fabric>,
    source: &Source,
    schedulers: &Schedulers,
    recorder: Recorder,
    pulse: &Pulse,
) -> Result<(RunSummary, Tables), RunError> {
    let mut engine = prepare(spec, fabric, source, schedulers, recorder)?;
    engine.network.forbid_trains();
    let ended = engine.run(pulse);
    conclude(engine, ended, spec, source)
}

/// A run that is ready to begin.
///
/// # Errors
/// Where the scenario names what does not exist.
pub fn prepare<'a>(
    spec: &RunSpec<'_>,
    fabric: &Arc<Fabric>,
    source: &'a Source,
    schedulers: &Schedulers,
    recorder: Recorder,
) -> Result<Engine<'a>, RunError> {
    let unknown = || RunError::Scheme(spec.scheme.to_owned());
    let scenario = &*spec.scenario.seen_by(spec.scheme).ok_or_else(unknown)?;
    let scheme = scenario.scheme.get(spec.scheme).ok_or_else(unknown)?;
    let shared = fabric;
    let fabric = &match scheme.fabric {
        None => Arc::clone(shared),
        Some(_) => Arc::new(own_fabric(scenario, shared)?),
    };
    let streams = Streams::new(spec.seed);
    let window = scenario.window;
    let at = |d: Duration| SimTime::ZERO + d;
    let begin = at(window.warmup);
    let end = window.measure.map_or(SimTime::MAX, |m| begin + m);
    let (stop, arrivals_end) = match (window.measure, window.drain) {
        (Some(_), Some(drain)) => (end + drain, end + drain),
        (Some(_), None) => (SimTime::MAX, end),
        (None, Some(drain)) => {
            let last = source.arrivals(spec.seed).last().map_or(Duration::ZERO, |f| f.at);
            (at(last + drain), SimTime::MAX)
        }
        (None, None) => (SimTime::MAX, SimTime::MAX),
    };
    let mtu = scenario.fabric.mtu.get() as u32;
    let plan = scheme.plan.as_ref();
    let (fragments, classes) = match plan {
        Some(PlanSpec::Timeslots(t)) => (t.fill == SlotFill::Fragments, t.classes.clone()),
        _ => (false, Vec::new()),
    };
    let slots = match plan {
        Some(PlanSpec::Tdma(slots)) => Some(slots),
        _ => None,
    };
    let acknowledgements = match plan {
        Some(PlanSpec::Circuits(c)) if c.acknowledgements > 0.0 => Some(ACKNOWLEDGEMENTS.0),
        _ => None,
    };
    let setting = Setting {
        carrier: carrier(scheme, mtu, plan.map_or(REPORT_LATENCY, PlanSpec::control_latency)),
        packets: source.packets().clone(),
        mtu,
        salt: streams.number("fabric", 0, "ecmp salt"),
        per_packet: scheme.ecmp == Ecmp::Packet,
        routes_change: !scenario.failure.is_empty()
            || scenario.fabric.radio.as_ref().is_some_and(|r| !r.devices().is_empty()),
        packet_seed: streams.number("workload", 0, "packet sizes"),
        fragments,
        acknowledgements,
        background: slots.and_then(|s| s.background).map(|b| b.below),
        classes,
        measured: begin..end,
        stop,
    };
    let recorder_folder = recorder.folder().map(Path::to_owned);
    let mut ledger = Ledger::new(fabric.hosts(), begin..end, recorder);
    ledger.rtts = scenario.record.rtt.then(Histogram::default);
    let mut ends = Endpoints::new(Arc::clone(fabric), setting, ledger);
    ends.ideals_of(Arc::clone(shared));
    // What a raw sender sends next depends on the reports that have come by then: it is asked when the link is free, not ahead.
    let raw = matches!(scheme.transport, Transport::Raw(_));
    // A host that can be paused must not have its packets on the link ahead.
    let paused = scenario.fabric.switch.pfc.is_some();
    // Flyways open no gates.
    let gated = plan.is_some_and(|p| !matches!(p, PlanSpec::Flyways(_)));
    let plain = !gated && !raw && !paused && scheme.nic.discipline == Discipline::Fifo && scheme.nic.burst.get() == 0;
    let nic = (!plain).then_some((scheme.nic, gated));
    let receive = slots.and_then(|s| s.receive);
    let in_turn = matches!(&scenario.workload, Workload::Shuffle(shuffle) if shuffle.in_turn);
    // Packets that arrive without an event are in no queue that a sample could see, and a receive buffer is asked when they come. What a
    // multiplexer sends next depends on what comes first.
    let passive = ends.is_passive()
        && scenario.record.queues_every.is_none()
        && scenario.record.received_every.is_none()
        && !in_turn
        && receive.is_none()
        && fabric.circuit_switch().is_none();
    let report_latency = plan.map_or(REPORT_LATENCY, |p| p.control_latency() * 2);
    let mut network = Network::new(Arc::clone(fabric), &streams, passive, stop, report_latency, nic);
    let mut retune = Retune::default();
    if let Topology::Hybrid(spec) = &scenario.fabric.topology {
        retune = spec.retune;
        if let Some(circuits) = Circuits::new(fabric, spec.retune, spec.dark.times(), &streams) {
            network.add_circuits(circuits, spec.multiplexer_frames, scenario.fabric.framing.wire(mtu));
        }
    }
    let mut traces = LinkTraces::default();
    if let Some(radio) = &scenario.fabric.radio {
        let length = (stop < SimTime::MAX).then(|| stop - SimTime::ZERO);
        let air = set_up(radio, mtu, spec.base, length, &streams)?;
        network.add_air(radio, &scenario.fabric, air.medium, &air.rates);
        if let Some(handover) = radio.handover {
            network.associate(&air.devices, handover.queued);
        }
        traces = air.traces;
    }
    if let Some(PlanSpec::Flyways(flyways)) = plan {
        let racks = fabric.hosts();
        let medium = flyways::medium(flyways, racks, mtu, &streams);
        let by_wire = flyways.acknowledgements == AckWay::Wire;
        network.add_flyways(medium, flyways::field(flyways, racks)?, flyways.channels, by_wire);
    }
    network.fail(&scenario.failure);
    network.change_rates(&scenario.change);
    network.pause(mtu);
    network.watch = watch(plan);
    if slots.is_some() {
        network.count_collisions();
        // What happens to a packet must be known when it leaves.
        if passive
            && slots.is_some_and(|s| s.background.is_none())
            && scenario.failure.is_empty()
            && scenario.change.is_empty()
            && scenario.record.capture.is_empty()
        {
            network.allow_trains();
        }
    }
    if let Some(background) = slots.and_then(|s| s.background) {
        network.set_background(background.rate);
    }
    if let Some(class) = acknowledgements {
        network.leave_unreported(class);
    }
    if let Some(receive) = receive {
        network.receive = vec![ReceiveBuffer::new(receive.buffer, receive.drain); fabric.hosts() as usize];
    }
    if let Some(folder) = recorder_folder.filter(|_| !scenario.record.capture.is_empty()) {
        let points = scenario.record.captured().filter(|p| u128::from(p.parts().1) < p.count(scenario, scheme));
        let capture = Capture::create(&folder, points, fabric, gated, |link| network.ends_of(link))?;
        network.capture = Some(Box::new(capture));
    }
    network.latencies = scenario.record.latency.then(|| Latencies::new(begin..end));
    if let Some(PlanSpec::Rates(RatesSpec { estimator: RateEstimator::Arrivals(_), .. })) = plan {
        network.count_arrivals();
    }
    let mut controllers = plan.map(|p| Controllers::new(p, fabric, mtu, retune, schedulers, &streams)).transpose()?;
    if let (Some(plan), Some(controllers)) = (plan, &mut controllers) {
        if scenario.record.grants {
            controllers.record_grants(plan, fabric, mtu);
        }
        for controller in controllers.controllers() {
            controllers.restart_at(
                controller,
                &network.controller_returns(controller),
                plan,
                fabric,
                mtu,
                retune,
                schedulers,
            )?;
        }
    }
    let proxies = scheme.proxy.as_ref().map(|p| Proxies::new(p, traces, &network, &streams));
    let arrivals = source.arrivals(spec.seed);
    let mut engine = Engine::new(network, ends, controllers, arrivals, arrivals_end, scenario.record.queues_every);
    engine.record_received(scenario.record.received_every);
    engine.record_tcp(scenario.record.tcp_every);
    if let Some(proxies) = proxies {
        engine.steer_by(proxies);
    }
    if in_turn {
        engine.take_turns();
    }
    if let Some(steps) = source.steps() {
        engine.follow(steps);
    }
    Ok(engine)
}

/// The fabric of a scheme that has its own: `scenario` is what the scheme sees, `shared` the fabric that the workload is made for.
fn own_fabric(scenario: &Scenario, shared: &Fabric) -> Result<Fabric, FabricError> {
    let own = scenario.fabric.build()?;
    if own.hosts() == shared.hosts() {
        return Ok(own);
    }
    let allowed = "as many as the scenario's fabric has";
    Err(FabricError::Dimension { what: "hosts", found: own.hosts().into(), allowed })
}

/// Which changes of their queues hosts tell the controller.
pub(crate) fn watch(plan: Option<&PlanSpec>) -> Watch {
    match plan {
        None | Some(PlanSpec::Tdma(_) | PlanSpec::Circuits(_) | PlanSpec::Flyways(_)) => Watch::Nothing,
        Some(PlanSpec::Timeslots(_)) => Watch::Arrivals,
        Some(PlanSpec::Rates(rates)) if rates.estimator == RateEstimator::Backlogged => Watch::Transitions,
        Some(PlanSpec::Rates(_)) => Watch::Everything,
    }
}

fn carrier(scheme: &Scheme, mtu: u32, report_latency: Duration) -> Carrier {
    match &scheme.transport {
        Transport::Datagrams {} => Carrier::Datagrams,
        Transport::Raw(raw) => {
            let config = RawConfig {
                report_interval: raw.report_every,
                // Longer than a report takes, or what is under way is sent twice.
                resend_timeout: raw.report_every.max(report_latency * 10),
            };
            Carrier::Raw { header: raw.header.get() as u32, config }
        }
        Transport::Tcp(tcp) => Carrier::Tcp(TcpConfig {
            congestion: match tcp.congestion {
                Congestion::NewReno => CongestionKind::NewReno,
                Congestion::Cubic => CongestionKind::Cubic,
                Congestion::Dctcp => CongestionKind::Dctcp,
                Congestion::Bbr => CongestionKind::Bbr,
            },
            mss: mtu - timeplane_transport::HEADER_BYTES,
            initial_window: tcp.initial_window,
            min_rto: tcp.min_rto,
            delayed_ack: DelayedAck { count: tcp.delayed_ack.segments, timeout: tcp.delayed_ack.timeout },
            sack: tcp.sack,
            ecn: tcp.ecn,
            pacing: tcp.pacing,
            hystart: tcp.hystart,
            handshake: tcp.handshake,
            receive_window: tcp.receive_window.map(|b| b.get()),
            ..TcpConfig::default()
        }),
    }
}

/// Closes the books of a run that is over.
fn conclude(
    mut engine: Engine<'_>,
    ended: Ended,
    spec: &RunSpec<'_>,
    source: &Source,
) -> Result<(RunSummary, Tables), RunError> {
    if ended == Ended::Cancelled {
        // A write that failed says more than that the run ended.
        engine.ends.ledger.recorder.finish()?;
        return Err(RunError::Cancelled);
    }
    if let Some(fault) = engine.control.as_mut().and_then(|s| s.fault.take()) {
        return Err(RunError::Plan(fault));
    }
    engine.network.end_capture(engine.now, &engine.ends)?;
    let (steps, collectives) = engine.step_rows();
    let network = &mut engine.network;
    let in_flight = network.in_flight();
    let (mut dropped, mut dropped_bytes) = (0, 0);
    let ledger = &mut engine.ends.ledger;
    for (&(link, reason), &(packets, bytes)) in &network.losses {
        let node = network.ends_of(link).0;
        let row = DropRow { link, node, reason: reason.name(), packets, bytes };
        ledger.recorder.drop(&row);
        ledger.summary.drop(&row);
        dropped += packets;
        dropped_bytes += bytes;
    }
    for row in &steps {
        ledger.recorder.step(row);
        ledger.summary.step(row);
    }
    for row in &collectives {
        ledger.recorder.collective(row);
    }
    for row in network.air_traces(engine.now) {
        ledger.recorder.air(&row);
    }
    for (l, state) in network.links.iter().enumerate() {
        let (from, to) = network.ends_of(l as u32);
        let air = network.air_queue(l as u32);
        ledger.recorder.link(&LinkRow {
            link: l as u32,
            from,
            to,
            sent_packets: state.sent_packets,
            sent_bytes: state.sent_bytes,
            busy_ps: network.busy(l as u32).as_ps(),
            max_queue_bytes: air.map_or_else(|| network.longest_bytes(l as u32), |a| a.2),
        });
    }
    if let Some(latencies) = &network.latencies {
        for (latency, packets) in latencies.histogram().bins() {
            ledger.recorder.latency(&LatencyRow { latency_ps: latency.as_ps(), packets });
        }
    }
    let network_latency_ps = network.latencies.as_ref().and_then(|l| l.histogram().distribution());
    let rtts = ledger.rtts.take();
    for (rtt, packets) in rtts.iter().flat_map(Histogram::bins) {
        ledger.recorder.rtt(&RttRow { rtt_ps: rtt.as_ps(), packets });
    }
    let rtt_ps = rtts.and_then(|r| Some((r.distribution()?, r.percentile(0.99999)?)));
    let mut control_rows = Vec::new();
    if network.reported.0 > 0 {
        let (messages, bytes) = network.reported;
        control_rows.push(ControlRow { kind: "repair", sender: None, messages, bytes, lost: 0, late: 0 });
    }
    if network.pauses().0 > 0 {
        let (messages, bytes) = network.pauses();
        control_rows.push(ControlRow { kind: "pause", sender: None, messages, bytes, lost: 0, late: 0 });
    }
    if let Some(scheme) = &mut engine.control {
        control_rows.extend(scheme.close(engine.now, network, &mut ledger.recorder));
    }
    if let Some(proxies) = &engine.proxies {
        control_rows.extend(proxies.rows());
    }
    for row in &control_rows {
        ledger.recorder.control(row);
        ledger.summary.control(row);
    }
    let simulated = engine.now;
    engine.ends.close();
    let ledger = engine.ends.ledger;
    let packets = Tally { sent: ledger.sent.0, delivered: ledger.delivered.0, dropped, in_flight: in_flight.0 };
    let bytes =
        Tally { sent: ledger.sent.1, delivered: ledger.delivered.1, dropped: dropped_bytes, in_flight: in_flight.1 };
    for (what, tally) in [("packets", packets), ("bytes", bytes)] {
        if !tally.is_balanced() {
            return Err(RunError::Conservation { what, tally });
        }
    }
    let mut ledger = ledger;
    ledger.close(|c| source.coflow_name(timeplane_model::CoflowId(c)));
    let window = spec.scenario.window;
    let facts = RunFacts {
        scheme: spec.scheme.to_owned(),
        point: spec.point.clone(),
        seed: spec.seed,
        window: WindowSummary {
            warmup_ps: window.warmup.as_ps(),
            measure_ps: window.measure.map(Duration::as_ps),
            drain_ps: window.drain.map(Duration::as_ps),
        },
        received_ps: window.measure.map_or(simulated.as_ps() - window.warmup.as_ps(), Duration::as_ps),
        received_bytes: ledger.received,
        network_latency_ps,
        rtt_ps,
        packets,
        bytes,
        simulated_ps: simulated.as_ps(),
        collisions: engine.network.collisions.as_ref().map(|c| c.packets()),
        packet_hops: engine.network.hops,
        events: engine.events,
    };
    let summary = ledger.summary.finish(facts);
    Ok((summary, ledger.recorder.finish()?))
}
