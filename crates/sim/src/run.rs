//! One run: a point of a scenario, one of its schemes, one seed.
//!
//! A run is prepared from its scenario, simulated, and concluded with its last rows and a check of
//! its books. This module does not know which runs a scenario has.

use crate::air::flyways;
use crate::air::{AirError, LinkTraces, set_up};
use crate::circuit::switch::Circuits;
use crate::control::Controllers;
use crate::control::proxies::Proxies;
use crate::engine::time::SimTime;
use crate::engine::{Ended, Engine, Pulse};
use crate::hosts::endpoints::{self, Config, Endpoints, GrantedFlows};
use crate::hosts::receive::ReceiveBuffer;
use crate::hosts::turns::Quanta;
use crate::network::{InterfaceForm, Loss, Network, Trimming};
use crate::record::capture::Capture;
use crate::record::latency::{Histogram, Latencies};
use crate::record::ledger::Ledger;
use crate::rotor::{Rotor, RotorSetupError};
use indexmap::IndexMap;
use std::path::Path;
use std::sync::Arc;
use timeplane_assembly::{AssemblyError, Site, assemble};
use timeplane_model::{Duration, Fabric, FabricError};
use timeplane_protocol::ACKNOWLEDGEMENTS;
use timeplane_results::{
    ControlRow, Distribution, DropRow, LatencyRow, LinkRow, Recorder, ResultsError, RttRow, RunFacts, RunSummary,
    Tables, Tally, WindowSummary,
};
use timeplane_scenario::{
    AckPath, ControlSpec, Discipline, Ecmp, PlanSpec, RateEstimator, Retune, Scenario, Scheme, SlotFill, TdmaSpec,
    Topology, Transport, Workload,
};
use timeplane_schedule::Algorithms;
use timeplane_transport::RawConfig;
use timeplane_transport::ndp::{NDP_HEADER, NdpConfig};
use timeplane_workload::{Source, Streams};

/// A run: a scenario at one point of its sweep, a scheme and a seed.
#[derive(Clone, Debug)]
pub struct RunSpec<'a> {
    /// The scenario, with the values of its point.
    pub scenario: &'a Scenario,
    /// The name of the scheme.
    pub scheme: &'a str,
    /// The swept keys and their values, for the summary.
    pub point: IndexMap<String, String>,
    /// The seed of the workload and of all random choices.
    pub seed: u64,
    /// The folder that file names in the fabric are relative to.
    pub base: &'a Path,
}

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario has no such scheme.
    #[error("there is no scheme `{0}`")]
    Scheme(String),
    /// The scheme's own fabric cannot be built, or has other hosts than the scenario's.
    #[error("the scheme's fabric: {0}")]
    Fabric(#[from] FabricError),
    /// Its radios cannot be set up.
    #[error(transparent)]
    Air(Box<AirError>),
    /// Its rotor switches cannot be set up.
    #[error(transparent)]
    Rotor(Box<RotorSetupError>),
    /// The scheme cannot be set up.
    #[error(transparent)]
    Setup(#[from] AssemblyError),
    /// The scheduler's plan cannot be executed.
    #[error("{0}")]
    Plan(String),
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Packets, bytes or control frames are missing, or came from nowhere: a bug in the simulator.
    #[error("{what} are not conserved: {tally:?}; this is a bug in the simulator, and the results are void")]
    Conservation {
        /// Packets, bytes or control frames.
        what: &'static str,
        /// The counts.
        tally: Tally,
    },
    /// The run was canceled.
    #[error("interrupted")]
    Cancelled,
}

impl From<AirError> for RunError {
    fn from(e: AirError) -> Self {
        Self::Air(Box::new(e))
    }
}

impl From<RotorSetupError> for RunError {
    fn from(e: RotorSetupError) -> Self {
        Self::Rotor(Box::new(e))
    }
}

/// How long a message takes at least alongside the network, where no plan sets it.
const REPORT_LATENCY: Duration = Duration::from_us(20);

/// Runs a scheme. Packets move as [trains](Network::allow_trains) where a plan keeps senders apart,
/// with the same results.
///
/// `fabric` is that of the scenario. `source` was loaded for it, and slowdowns are relative to it.
/// The own fabric of a scheme is built here.
///
/// # Errors
///
/// If the scenario names something that does not exist, results cannot be written, packets are not
/// conserved, or the run is canceled.
pub fn simulate(
    spec: &RunSpec<'_>,
    fabric: &Arc<Fabric>,
    source: &Source,
    algorithms: &Algorithms,
    recorder: Recorder,
    pulse: &Pulse,
) -> Result<(RunSummary, Tables), RunError> {
    let mut engine = prepare(spec, fabric, source, algorithms, recorder)?;
    match engine.run(pulse) {
        Ended::Disturbed => {
            let recorder = engine.ends.ledger.recorder.again()?;
            simulate_by_packets(spec, fabric, source, algorithms, recorder, pulse)
        }
        ended => conclude(engine, ended, spec, source),
    }
}

/// As [`simulate`], with each packet and each host by itself.
///
/// # Errors
///
/// As [`simulate`].
pub fn simulate_by_packets(
    spec: &RunSpec<'_>,
    fabric: &Arc<Fabric>,
    source: &Source,
    algorithms: &Algorithms,
    recorder: Recorder,
    pulse: &Pulse,
) -> Result<(RunSummary, Tables), RunError> {
    let mut engine = prepare(spec, fabric, source, algorithms, recorder)?;
    engine.network.forbid_trains();
    engine.network.forbid_lookahead();
    if let Some(control) = &mut engine.control {
        control.act_alone();
    }
    let ended = engine.run(pulse);
    conclude(engine, ended, spec, source)
}

/// A run that is ready to start.
///
/// # Errors
///
/// If the scenario names something that does not exist.
pub fn prepare<'a>(
    spec: &RunSpec<'_>,
    fabric: &Arc<Fabric>,
    source: &'a Source,
    algorithms: &Algorithms,
    recorder: Recorder,
) -> Result<Engine<'a>, RunError> {
    let unknown = || RunError::Scheme(spec.scheme.to_owned());
    let scenario = &*spec.scenario.seen_by(spec.scheme).ok_or_else(unknown)?;
    let scheme = scenario.scheme.get(spec.scheme).ok_or_else(unknown)?;
    let own = match scheme.fabric {
        None => Arc::clone(fabric),
        Some(_) => Arc::new(own_fabric(scenario, fabric)?),
    };
    let setup = Setup {
        scenario,
        scheme,
        fabric: &own,
        streams: &Streams::new(spec.seed),
        times: Times::new(scenario, source, spec.seed),
        mtu: scenario.fabric.mtu.get() as u32,
    };
    let folder = recorder.folder().map(Path::to_owned);
    let ends = setup.endpoints(source, fabric, recorder);
    let (mut network, traces) = setup.network(&ends, algorithms, spec.base)?;
    if let Some(folder) = folder.filter(|_| !scenario.record.capture.is_empty()) {
        let points = scenario.record.captured().filter(|p| u128::from(p.parts().1) < p.count(scenario, scheme));
        let gated = setup.is_gated();
        let capture = Capture::create(&folder, points, setup.fabric, gated, |link| network.ends_of(link))?;
        network.capture(capture);
    }
    let controllers = setup.controllers(&mut network, algorithms)?;
    let proxies = scheme.proxy.as_ref().map(|p| Proxies::new(p, traces, &network, setup.streams));
    let arrivals = source.arrivals(spec.seed);
    let queues_every = scenario.record.queues_every;
    let mut engine = Engine::new(network, ends, controllers, arrivals, setup.times.arrivals_end, queues_every);
    engine.record_received(scenario.record.received_every);
    engine.record_tcp(scenario.record.tcp_every);
    if let Some(proxies) = proxies {
        engine.steer_by(proxies);
    }
    if setup.in_turn() {
        engine.take_turns();
    }
    if let Some(steps) = source.steps() {
        engine.follow(steps);
    }
    Ok(engine)
}

/// The times of a run.
#[derive(Clone, Copy)]
struct Times {
    /// The measurement.
    begin: SimTime,
    end: SimTime,
    /// When the run ends at the latest.
    stop: SimTime,
    /// When no more flows arrive.
    arrivals_end: SimTime,
}

impl Times {
    fn new(scenario: &Scenario, source: &Source, seed: u64) -> Self {
        let window = scenario.window;
        let at = |d: Duration| SimTime::ZERO + d;
        let begin = at(window.warmup);
        let end = window.measure.map_or(SimTime::MAX, |m| begin + m);
        let (stop, arrivals_end) = match (window.measure, window.drain) {
            (Some(_), Some(drain)) => (end + drain, end + drain),
            (Some(_), None) => (SimTime::MAX, end),
            (None, Some(drain)) => {
                let last = source.arrivals(seed).last().map_or(Duration::ZERO, |f| f.at);
                (at(last + drain), SimTime::MAX)
            }
            (None, None) => (SimTime::MAX, SimTime::MAX),
        };
        Self { begin, end, stop, arrivals_end }
    }
}

/// The parts of a scenario from which a run is put together.
struct Setup<'s> {
    /// As the scheme sees it.
    scenario: &'s Scenario,
    scheme: &'s Scheme,
    /// The scheme's own fabric, or that of the scenario.
    fabric: &'s Arc<Fabric>,
    streams: &'s Streams,
    times: Times,
    mtu: u32,
}

impl Setup<'_> {
    fn plan(&self) -> Option<&PlanSpec> {
        self.scheme.plan.as_ref()
    }

    fn tdma(&self) -> Option<&TdmaSpec> {
        match self.plan() {
            Some(PlanSpec::Tdma(tdma)) => Some(tdma),
            _ => None,
        }
    }

    /// The class of acknowledgements that no circuit waits for.
    fn acknowledgements(&self) -> Option<u8> {
        match self.plan() {
            Some(PlanSpec::Circuits(c)) if c.acknowledgements > 0.0 => Some(ACKNOWLEDGEMENTS.0),
            _ => None,
        }
    }

    /// Flows that wait for grants over rotor switches.
    fn granted(&self) -> Option<GrantedFlows> {
        let (Topology::Rotor(spec), Some(rotor)) = (&self.scenario.fabric.topology, &self.scheme.rotor) else {
            return None;
        };
        let bulk = rotor.bulk.as_ref().filter(|b| b.routing.is_granted()).cloned();
        let is_any = rotor.routing.is_granted() || bulk.is_some();
        is_any.then_some(GrantedFlows { bulk, per_rack: spec.hosts_per_rack })
    }

    /// Whether gates decide what hosts send. Flyways open no gates.
    fn is_gated(&self) -> bool {
        self.plan().is_some_and(|p| !matches!(p, PlanSpec::Flyways(_)))
    }

    /// The path of control messages; that of repair reports where nothing is planned.
    fn control(&self) -> ControlSpec {
        self.plan().map(PlanSpec::control).unwrap_or_default()
    }

    /// Whether each host sends one flow at a time.
    fn in_turn(&self) -> bool {
        matches!(&self.scenario.workload, Workload::Shuffle(shuffle) if shuffle.in_turn)
    }

    /// Both ends of all flows; `shared` is the fabric that slowdowns are relative to.
    fn endpoints(&self, source: &Source, shared: &Arc<Fabric>, recorder: Recorder) -> Endpoints {
        let (scenario, streams, times) = (self.scenario, self.streams, self.times);
        let (fragments, classes) = match self.plan() {
            Some(PlanSpec::Timeslots(t)) => (t.fill == SlotFill::Fragments, t.classes.clone()),
            _ => (false, Vec::new()),
        };
        let latency = self.plan().map_or(REPORT_LATENCY, PlanSpec::control_latency);
        let config = Config {
            transport: transport(self.scheme, self.mtu, latency),
            packets: source.packets().clone(),
            mtu: self.mtu,
            salt: streams.number("fabric", 0, "ecmp salt"),
            per_packet: self.scheme.ecmp == Ecmp::Packet || matches!(self.scheme.transport, Transport::Ndp(_)),
            routes_change: !scenario.failure.is_empty()
                || self.fabric.rotors() > 0
                || scenario.fabric.radio.as_ref().is_some_and(|r| !r.devices().is_empty()),
            packet_seed: streams.number("workload", 0, "packet sizes"),
            fragments,
            acknowledgements: self.acknowledgements(),
            background: self.tdma().and_then(|s| s.background).map(|b| b.below),
            classes,
            granted: self.granted(),
            measured: times.begin..times.end,
            stop: times.stop,
        };
        let mut ledger = Ledger::new(self.fabric.hosts(), times.begin..times.end, recorder);
        ledger.rtts = scenario.record.rtt.then(Histogram::default);
        ledger.round_trips = scenario.record.round_trips.then(Box::default);
        let mut ends = Endpoints::new(Arc::clone(self.fabric), config, ledger);
        ends.ideals_of(Arc::clone(shared));
        ends
    }

    /// Whether the last hop of a packet needs no event.
    ///
    /// Samples must see packets in queues, control frames may overtake packets, receive buffers are
    /// checked when packets arrive, hosts take packets later, and a multiplexer sends in the order
    /// of arrivals. Each of these needs the event.
    fn is_passive(&self, ends: &Endpoints) -> bool {
        ends.is_passive()
            && self.scenario.record.queues_every.is_none()
            && self.scenario.record.received_every.is_none()
            && !self.in_turn()
            && self.control().in_band().is_none()
            && self.tdma().and_then(|s| s.receive).is_none()
            && self.fabric.circuit_switch().is_none()
            && self.scheme.host_latency().times().is_none()
    }

    /// The form of interface that hosts need.
    fn interfaces(&self) -> InterfaceForm {
        let (spec, discipline) = (self.scheme.nic, self.scheme.discipline());
        // The next frame of a raw sender depends on the reports that have come: it is asked when
        // the link is free, not ahead of that.
        let raw = matches!(self.scheme.transport, Transport::Raw(_));
        // A host that can be paused must not have its packets on the link ahead of time.
        let paused = self.scenario.fabric.switch.pfc.is_some() || !self.scenario.pause.is_empty();
        let gated = self.is_gated();
        let turns = match discipline {
            Discipline::FairQueue => Some(Quanta::new(self.mtu, spec.burst.get())),
            Discipline::ControlFirst if !gated => Some(Quanta::WHOLE),
            _ => None,
        };
        if let (Some(turns), false) = (turns, gated) {
            return InterfaceForm::Fair(turns);
        }
        let plain = !gated && !raw && !paused && discipline == Discipline::Fifo && spec.burst.get() == 0;
        if plain { InterfaceForm::Plain } else { InterfaceForm::Queued { spec, gated, turns } }
    }

    /// The network with all features of the scenario, and the link traces of its air links.
    fn network(
        &self,
        ends: &Endpoints,
        algorithms: &Algorithms,
        base: &Path,
    ) -> Result<(Network, LinkTraces), RunError> {
        let Self { scenario, fabric, streams, times, mtu, .. } = *self;
        let passive = self.is_passive(ends);
        let report_latency = self.plan().map_or(REPORT_LATENCY, |p| p.control_latency() * 2);
        let interfaces = self.interfaces();
        let mut network = Network::new(Arc::clone(fabric), streams, passive, times.stop, report_latency, interfaces);
        network.carry_control(self.control());
        if let Topology::Hybrid(spec) = &scenario.fabric.topology
            && let Some(circuits) = Circuits::new(fabric, spec.retune, spec.dark.times(), streams)
        {
            network.add_circuits(circuits, spec.multiplexer_frames, scenario.fabric.framing.wire(mtu));
        }
        if let (Topology::Rotor(spec), Some(routing)) = (&scenario.fabric.topology, &self.scheme.rotor) {
            let rotor = Rotor::new(fabric, spec, &scenario.fabric, routing, &algorithms.routings, base)?;
            network.add_rotors(rotor, mtu);
        }
        let traces = self.add_radios(&mut network, base)?;
        network.fail(&scenario.failure);
        network.change_rates(&scenario.change);
        network.pause(mtu);
        network.pause_hosts(&scenario.pause);
        if let Some(times) = self.scheme.host_latency().times() {
            network.let_hosts_take(times, streams);
        }
        self.add_tdma(&mut network, passive);
        if let Transport::Ndp(ndp) = &self.scheme.transport {
            network.trim(Trimming { queue: ndp.queue, headers: ndp.headers, header: NDP_HEADER });
        }
        if let Some(class) = self.acknowledgements() {
            network.interfaces.leave_unreported(class);
        }
        if scenario.record.latency {
            network.record_latencies(Latencies::new(scenario.record.latency_from, times.begin..times.end));
        }
        match self.plan() {
            Some(PlanSpec::Rates(rates)) => {
                network.interfaces.deepen(rates.depth);
                if matches!(rates.estimator, RateEstimator::Arrivals(_)) {
                    network.interfaces.count_arrivals();
                }
            }
            Some(PlanSpec::Timeslots(timeslots)) if timeslots.shortest_first() => network.interfaces.shortest_first(),
            _ => {}
        }
        Ok((network, traces))
    }

    /// Adds air links and flyways; returns the link traces.
    fn add_radios(&self, network: &mut Network, base: &Path) -> Result<LinkTraces, RunError> {
        let Self { scenario, fabric, streams, times, mtu, .. } = *self;
        let mut traces = LinkTraces::default();
        if let Some(radio) = &scenario.fabric.radio {
            let length = (times.stop < SimTime::MAX).then(|| times.stop - SimTime::ZERO);
            let air = set_up(radio, mtu, base, length, streams)?;
            network.add_air(radio, &scenario.fabric, air.medium, &air.rates);
            if let Some(handover) = radio.handover {
                network.associate(&air.devices, handover.queued);
            }
            traces = air.traces;
        }
        if let Some(PlanSpec::Flyways(flyways)) = self.plan() {
            let racks = fabric.hosts();
            let medium = flyways::medium(flyways, racks, mtu, streams);
            let by_wire = flyways.acknowledgements == AckPath::Wire;
            network.add_flyways(
                medium,
                timeplane_assembly::flyways::field(flyways, racks).map_err(AirError::from)?,
                flyways.channels,
                by_wire,
            );
        }
        Ok(traces)
    }

    /// Prepares the network for rounds of exclusive slots, if they are planned.
    fn add_tdma(&self, network: &mut Network, passive: bool) {
        let Some(tdma) = self.tdma() else { return };
        network.count_collisions();
        // The fate of a packet of a train must be known when it leaves.
        if passive
            && tdma.background.is_none()
            && self.scenario.failure.is_empty()
            && self.scenario.change.is_empty()
            && self.scenario.record.capture.is_empty()
        {
            network.allow_trains();
        }
        if let Some(background) = tdma.background {
            network.interfaces.set_background(background.rate);
        }
        if let Some(receive) = tdma.receive {
            let buffer = ReceiveBuffer::new(receive.buffer, receive.drain);
            network.bound_receive(vec![buffer; self.fabric.hosts() as usize]);
        }
    }

    /// Which ports the circuit switch darkens; any value without one.
    fn retune(&self) -> Retune {
        match &self.scenario.fabric.topology {
            Topology::Hybrid(spec) => spec.retune,
            _ => Retune::default(),
        }
    }

    /// The agents of the plan, if there is one.
    fn controllers(&self, network: &mut Network, algorithms: &Algorithms) -> Result<Option<Controllers>, RunError> {
        let Some(plan) = self.plan() else { return Ok(None) };
        let (fabric, mtu) = (Arc::clone(self.fabric), self.mtu);
        let agents =
            assemble(plan, &Site { fabric, mtu, retune: self.retune(), prompt_signals: false, seldom_asked: false });
        let terms = agents.terms();
        network.interfaces.watch = terms.watch;
        let mut controllers = Controllers::new(&*agents, algorithms, self.streams)?;
        controllers.records_signals = self.scenario.record.signals;
        if let Some(grants) = terms.grants.filter(|_| self.scenario.record.grants) {
            controllers.record_grants(grants);
        }
        for controller in controllers.controllers() {
            let returns = network.controller_returns(controller);
            controllers.restart_at(controller, &returns, &*agents, algorithms)?;
        }
        let reacts = self.scenario.workload.starts_depend_on_scheme();
        if controllers.act_in_step(network) && !reacts && matches!(self.scheme.transport, Transport::Datagrams {}) {
            network.look_ahead();
        }
        Ok(Some(controllers))
    }
}

/// The fabric of a scheme that has its own: `scenario` is what the scheme sees, `shared` the fabric
/// that the workload is made for.
fn own_fabric(scenario: &Scenario, shared: &Fabric) -> Result<Fabric, FabricError> {
    let own = scenario.fabric.build()?;
    if own.hosts() == shared.hosts() {
        return Ok(own);
    }
    let allowed = "as many as the scenario's fabric has";
    Err(FabricError::Dimension { what: "hosts", found: own.hosts().into(), allowed })
}

fn transport(scheme: &Scheme, mtu: u32, report_latency: Duration) -> endpoints::Transport {
    match &scheme.transport {
        Transport::Datagrams {} => endpoints::Transport::Datagrams,
        Transport::Raw(raw) => {
            let overtaken = match &scheme.plan {
                Some(PlanSpec::Circuits(circuits)) => circuits.period,
                _ => Duration::ZERO,
            };
            let reordering = raw.reordering.unwrap_or(overtaken);
            let config = RawConfig {
                report_interval: raw.report_every,
                reordering,
                // Longer than a report takes, or bytes under way are sent twice.
                resend_timeout: raw.report_every.max(report_latency * 10).max(reordering * 2),
            };
            endpoints::Transport::Raw { header: raw.header.get() as u32, config }
        }
        Transport::Tcp(tcp) => endpoints::Transport::Tcp(tcp.config(mtu - tcp.header_bytes())),
        Transport::Ndp(ndp) => {
            let config = NdpConfig { payload: mtu - NDP_HEADER, window: ndp.window, rto: ndp.rto };
            endpoints::Transport::Ndp { config, spray: ndp.spray }
        }
    }
}

/// Writes the last rows of a run that is over, checks its books, and sums it up.
fn conclude(
    mut engine: Engine<'_>,
    ended: Ended,
    spec: &RunSpec<'_>,
    source: &Source,
) -> Result<(RunSummary, Tables), RunError> {
    let unrouted = engine.network.rotor.as_mut().and_then(|r| r.fault.take());
    if let Some(fault) = engine.control.as_mut().and_then(|s| s.fault.take()).or(unrouted) {
        return Err(RunError::Plan(fault));
    }
    if ended == Ended::Cancelled {
        // A failed write says more than that the run ended.
        engine.ends.ledger.recorder.finish()?;
        return Err(RunError::Cancelled);
    }
    engine.network.end_capture(engine.now, &engine.ends)?;
    let in_flight = engine.network.in_flight();
    let [sent, delivered, dropped] = engine.network.meters.control_frames;
    let control = Tally { sent, delivered, dropped, in_flight: engine.network.control_in_flight() };
    let dropped = write_drops(&mut engine);
    write_steps(&mut engine);
    write_links(&mut engine);
    let (network_latency_ps, rtt_ps) = write_latencies(&mut engine);
    write_control(&mut engine);
    let simulated = engine.now;
    engine.ends.close();
    let mut ledger = engine.ends.ledger;
    let (sent, delivered) = (ledger.sent, ledger.delivered);
    let packets = Tally { sent: sent.0, delivered: delivered.0, dropped: dropped.0, in_flight: in_flight.0 };
    let bytes = Tally { sent: sent.1, delivered: delivered.1, dropped: dropped.1, in_flight: in_flight.1 };
    for (what, tally) in [("packets", packets), ("bytes", bytes), ("control frames", control)] {
        if !tally.is_balanced() {
            return Err(RunError::Conservation { what, tally });
        }
    }
    let coflows = source.coflows(spec.seed);
    ledger.close(|c| coflows[c as usize].name);
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
        collisions: engine.network.meters.collisions.as_ref().map(|c| c.packets()),
        packet_hops: engine.network.meters.hops,
        events: engine.events,
    };
    let summary = ledger.summary.finish(facts);
    Ok((summary, ledger.recorder.finish()?))
}

/// Writes losses by link and reason; returns packets and bytes lost. Packets that were trimmed have
/// lost bytes only.
fn write_drops(engine: &mut Engine<'_>) -> (u64, u64) {
    let (mut dropped, mut dropped_bytes) = (0, 0);
    let ledger = &mut engine.ends.ledger;
    for (&(link, reason), &(packets, bytes)) in &engine.network.meters.losses {
        let node = engine.network.ends_of(link).0;
        let row = DropRow { link, node, reason: reason.name(), packets, bytes };
        ledger.recorder.drop(&row);
        dropped_bytes += bytes;
        if reason == Loss::Trimmed {
            ledger.summary.trimmed(packets);
        } else {
            ledger.summary.drop(&row);
            dropped += packets;
        }
    }
    (dropped, dropped_bytes)
}

fn write_steps(engine: &mut Engine<'_>) {
    let (steps, collectives) = engine.step_rows();
    let ledger = &mut engine.ends.ledger;
    for row in &steps {
        ledger.recorder.step(row);
        ledger.summary.step(row);
    }
    for row in &collectives {
        ledger.recorder.collective(row);
    }
}

fn write_links(engine: &mut Engine<'_>) {
    let (network, recorder) = (&engine.network, &mut engine.ends.ledger.recorder);
    for row in network.air_rows(engine.now) {
        recorder.air(&row);
    }
    for (link, state) in (0..).zip(&network.wires.links) {
        let (from, to) = network.ends_of(link);
        recorder.link(&LinkRow {
            link,
            from,
            to,
            sent_packets: state.sent_packets,
            sent_bytes: state.sent_bytes,
            busy_ps: network.busy(link).as_ps(),
            max_queue_bytes: network.air_queue(link).map_or_else(|| network.longest_bytes(link), |a| a.2),
            late_packets: network.late(link),
        });
    }
}

/// Writes the histograms of latencies and round trips; returns what the summary says of them.
fn write_latencies(engine: &mut Engine<'_>) -> (Option<Distribution>, Option<(Distribution, f64)>) {
    let ledger = &mut engine.ends.ledger;
    if let Some(mut round_trips) = ledger.round_trips.take() {
        round_trips.write(engine.now, &mut ledger.recorder);
    }
    let latencies = engine.network.meters.latencies.as_ref().map(Latencies::histogram);
    for (latency, packets) in latencies.iter().flat_map(|l| l.bins()) {
        ledger.recorder.latency(&LatencyRow { latency_ps: latency.as_ps(), packets });
    }
    let rtts = ledger.rtts.take();
    for (rtt, packets) in rtts.iter().flat_map(Histogram::bins) {
        ledger.recorder.rtt(&RttRow { rtt_ps: rtt.as_ps(), packets });
    }
    let rtt_ps = rtts.and_then(|r| Some((r.distribution()?, r.percentile(0.99999)?)));
    (latencies.and_then(Histogram::distribution), rtt_ps)
}

/// Writes the counts of control messages.
fn write_control(engine: &mut Engine<'_>) {
    let heard = engine.heard_until();
    let (network, ledger) = (&mut engine.network, &mut engine.ends.ledger);
    let mut rows = Vec::new();
    let (messages, bytes, lost) = network.repair_reports();
    let max_transfer_ps = network.longest_repair().as_ps();
    if messages > 0 {
        rows.push(ControlRow { kind: "repair", sender: None, messages, bytes, lost, late: 0, max_transfer_ps });
    }
    let (messages, bytes) = network.pauses();
    if messages > 0 {
        rows.push(ControlRow { kind: "pause", sender: None, messages, bytes, lost: 0, late: 0, max_transfer_ps: 0 });
    }
    if let Some(control) = &mut engine.control {
        rows.extend(control.close(engine.now, heard, network, &mut ledger.recorder));
    }
    if let Some(proxies) = &engine.proxies {
        rows.extend(proxies.rows());
    }
    for row in &rows {
        ledger.recorder.control(row);
        ledger.summary.control(row);
    }
}
