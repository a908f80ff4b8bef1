//! The driver of the lab of rotor switches: every run of datagrams over circuits that take turns.
//!
//! Tables and checks are those of a simulation; `live.json` has what only a lab can tell.

use super::network::{MTU, NetworkError, RotorNetwork, topology};
use super::racks::{Common, Flow, Host, RackReport};
use super::tables::{CompletedRun, RecordError, live_json};
use crate::answers::{LabError, Outcome, complete, unrecorded};
use crate::circuit_switch::{CircuitCounters, CircuitSwitch, prepare_receiver};
use crate::fabric::{Fabric, FabricError, FabricParameters, INTERFACE};
use crate::flows::measured;
use crate::run::arrivals;
use crate::workload::STALLED;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration as Wait, Instant};
use timeplane_experiment::{Driver, Experiment, PlannedRun, Prepared, Progress, Watch};
use timeplane_live::clock;
use timeplane_live::netns::NetError;
use timeplane_live::packet_socket::PacketSocket;
use timeplane_live::tuner::CircuitError;
use timeplane_model::{Bytes, Duration};
use timeplane_protocol::wire::ETHER_TYPE_DATA;
use timeplane_results::{Recorder, ResultsError, RunSummary};
use timeplane_scenario::Loaded;

/// From the start of a run's threads to its first slice.
const LEAD: Duration = Duration::from_ms(100);
/// Receive buffer of a rack's socket: all that can come while it does not run.
const BUFFER: Bytes = Bytes::mb(8);

/// How to run the schemes of a scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder in which the folder `NAME-live` is made.
    pub results: PathBuf,
    /// Prefix of the namespaces' names: 1 to 32 lower-case letters and digits, the first a letter.
    pub name: String,
    /// Run only these schemes; empty for all.
    pub schemes: Vec<String>,
    /// Whether racks ask for real-time priority.
    pub real_time: bool,
}

/// Why the lab rejects a scenario, or why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The lab does not support the scenario.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A lab can run none of the schemes.
    #[error("none of the schemes can run in a lab")]
    Nothing,
    /// The namespaces cannot be created.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// A namespace cannot be entered.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The circuit switch cannot be attached or read.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// A rack's interface fails.
    #[error("the interface of rack {rack}: {source}")]
    Interface {
        /// Number of the rack.
        rack: u16,
        /// The system's message.
        source: std::io::Error,
    },
    /// The run cannot be recorded, as bytes are missing or wrong.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The results cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A file of the run cannot be written.
    #[error("{path}: {source}")]
    File {
        /// Path of that file.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
}

/// Runs what is missing, and compares the completed runs.
///
/// # Errors
/// If the lab does not support the scenario, results cannot be written, or a run fails. Completed
/// runs are kept.
pub fn run(
    loaded: &Loaded,
    options: &Options,
    cancel: &(dyn Fn() -> bool + Sync),
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Outcome, LabError<RunError>> {
    let settings = timeplane_experiment::Options::new(1, &options.results);
    let mut experiment = Experiment::open(RotorLab { options }, loaded, &settings, &tell)?;
    Ok(complete(experiment.run_in_turn(cancel, tell)?))
}

/// Runs the schemes of a scenario with racks in namespaces.
struct RotorLab<'a> {
    options: &'a Options,
}

impl Driver for RotorLab<'_> {
    /// The schemes of the point, each ready or with the reason why a lab cannot run it. Those that
    /// were asked for are ready.
    type Setup = BTreeMap<String, Result<RotorNetwork, NetworkError>>;
    type Error = RunError;

    fn suffix(&self) -> &'static str {
        "-live"
    }

    fn prepare(&self, loaded: &Loaded, point: &Prepared) -> Result<Self::Setup, RunError> {
        let scenario = &point.point.scenario;
        topology(scenario)?;
        let network = |name: &String| RotorNetwork::new(scenario, name, &loaded.base);
        let asked = &self.options.schemes;
        if asked.is_empty() {
            return Ok(scenario.scheme.keys().map(|name| (name.clone(), network(name))).collect());
        }
        asked.iter().map(|name| Ok((name.clone(), Ok(network(name)?)))).collect()
    }

    fn select(
        &self,
        _: &Loaded,
        points: &[(Prepared, Self::Setup)],
        runs: Vec<PlannedRun>,
        tell: &dyn Fn(Progress<'_>),
    ) -> Result<Vec<PlannedRun>, RunError> {
        unrecorded(points.iter().map(|(point, _)| &point.point), &[], tell);
        let (mut selected, mut left_out) = (Vec::new(), Vec::new());
        for run in runs {
            if left_out.contains(&run.scheme) {
                continue;
            }
            match points[run.point].1.get(&run.scheme) {
                Some(Ok(_)) => selected.push(run),
                Some(Err(why)) => {
                    tell(Progress::LeftOut(&why.to_string()));
                    left_out.push(run.scheme);
                }
                None => {}
            }
        }
        if selected.is_empty() {
            return Err(RunError::Nothing);
        }
        Ok(selected)
    }

    fn run(
        &self,
        (point, setup): &(Prepared, Self::Setup),
        run: &PlannedRun,
        results: &Path,
        watch: &Watch<'_>,
    ) -> Result<Option<RunSummary>, RunError> {
        let Some(Ok(network)) = setup.get(&run.scheme) else {
            unreachable!("only runs of schemes that are ready are selected")
        };
        let Some(ended) = self.send(point, network, run, watch)? else { return Ok(None) };
        let done = CompletedRun {
            scenario: &point.point.scenario,
            fabric: &point.fabric,
            run,
            coflows: point.source.coflows(run.seed),
            common: &ended.common,
            racks: &ended.racks,
            ports: &ended.ports,
            length: ended.length,
        };
        let summary = done.record(Recorder::files(results)?)?;
        if self.options.real_time && !ended.racks.iter().all(|r| r.real_time) {
            watch.note("racks have no real-time priority, and wake up later");
        }
        let live = live_json(&ended.racks, &ended.ports);
        let path = results.join("live.json");
        std::fs::write(&path, format!("{live:#}\n")).map_err(|source| RunError::File { path, source })?;
        Ok(Some(summary))
    }
}

/// A run that is over.
struct EndedRun {
    common: Arc<Common>,
    racks: Vec<RackReport>,
    ports: Vec<CircuitCounters>,
    length: Duration,
}

impl RotorLab<'_> {
    /// Sends the flows of a run. `None` if it was cancelled.
    fn send(
        &self,
        point: &Prepared,
        network: &RotorNetwork,
        run: &PlannedRun,
        watch: &Watch<'_>,
    ) -> Result<Option<EndedRun>, RunError> {
        let hosts = u16::try_from(point.fabric.hosts()).unwrap_or(u16::MAX);
        let parameters = FabricParameters { name: self.options.name.clone(), hosts, mtu: MTU, limit: None };
        let fabric = Fabric::start(&parameters)?;
        let open = |rack: u16| {
            let opened = fabric.hosts()[usize::from(rack)].enter(|| {
                prepare_receiver(INTERFACE)?;
                let socket = PacketSocket::open(INTERFACE, ETHER_TYPE_DATA)?;
                socket.set_receive_buffer(BUFFER)?;
                socket.set_send_buffer(BUFFER)?;
                Ok(socket)
            })?;
            opened.map_err(|source| RunError::Interface { rack, source })
        };
        let sockets = (0..hosts).map(open).collect::<Result<Vec<_>, _>>()?;
        let (stop, flows) = arrivals(point, run.seed);
        let common = Arc::new(Common {
            begin: clock::now() + LEAD,
            window: measured(&point.point.scenario),
            flows: flows.map(Flow::new).collect(),
            received: (0..hosts).map(|_| AtomicU64::new(0)).collect(),
            moved: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        });
        let ports = fabric.ports();
        let attach = || CircuitSwitch::rotor(&ports, &network.switch, common.begin + network.margin);
        let switch = fabric.switch().enter(attach)??;
        let racks: Vec<Host> =
            (0..).zip(sockets).map(|(rack, socket)| Host::new(rack, socket, &common, network)).collect();
        let (reports, length) = std::thread::scope(|scope| {
            let real_time = self.options.real_time;
            let threads: Vec<_> = racks.into_iter().map(|rack| scope.spawn(move || rack.run(real_time))).collect();
            let length = wait(&common, stop, watch);
            common.ended.store(true, Relaxed);
            let reports =
                threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            (reports.collect::<Vec<_>>(), length)
        });
        let racks = (0..)
            .zip(reports)
            .map(|(rack, report)| report.map_err(|source| RunError::Interface { rack, source }))
            .collect::<Result<Vec<_>, _>>()?;
        let ports = switch.counters()?;
        Ok(length.map(|length| EndedRun { common, racks, ports, length }))
    }
}

/// Waits for the end of a run: all bytes have come, `stop` has passed, or nothing comes any more.
/// Returns how long it took; `None` if it was cancelled.
fn wait(common: &Common, stop: Option<Duration>, watch: &Watch<'_>) -> Option<Duration> {
    let all: u64 = common.flows.iter().map(|f| f.arrival.bytes.get()).sum();
    let last = common.flows.iter().map(|f| f.arrival.at).max().unwrap_or_default();
    let (mut moved, mut moved_at) = (0, Instant::now());
    loop {
        let now = clock::now() - common.begin;
        let came = common.moved.load(Relaxed);
        if came > moved || now < last {
            (moved, moved_at) = (came, Instant::now());
        }
        watch.fraction(came as f64 / all.max(1) as f64);
        if watch.is_cancelled() {
            return None;
        }
        if came == all && now >= last {
            return common.flows.iter().filter_map(Flow::finished).max().or(Some(now));
        }
        if stop.is_some_and(|stop| now >= stop) || moved_at.elapsed() > STALLED {
            return Some(now);
        }
        std::thread::sleep(Wait::from_millis(5));
    }
}
