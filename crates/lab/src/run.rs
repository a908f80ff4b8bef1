//! The driver of labs with daemons: every run of a scheme that plans slots, rates or circuits.
//!
//! A run starts the daemons in the namespaces of the scenario's fabric. Programs on every host send
//! its flows, and compare every byte that arrives. Tables and checks are those of a simulation;
//! `live.json` has what only a lab can tell.

use crate::answers::{LabError, Outcome, complete, unrecorded};
use crate::fabric::{FabricParameters, controller_mac};
use crate::failures::Failures;
use crate::flows::measured;
use crate::hosts::{self, Hosts, HostsParameters};
use crate::links::LinkCounts;
use crate::loss::Loss;
use crate::page::{PageError, Pages};
use crate::plan::{LivePlan, PlanError};
use crate::report::{Counted, live_json};
use crate::tables::{CompletedRun, RecordError};
use crate::workload::{self, Ended, MOST_FLOWS, Programs};
use serde_json::{Value, json};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration as Wait, Instant};
use timeplane_experiment::{Driver, Experiment, PlannedRun, Prepared, Watch};
use timeplane_live::client::Agent;
use timeplane_live::config;
use timeplane_live::controller::Plan;
use timeplane_live::gate::SafeState;
use timeplane_live::observer::{self, Observer, ObserverError};
use timeplane_model::{Duration, HostId};
use timeplane_protocol::wire::SignalEncoding;
use timeplane_results::{Recorder, ResultsError, RunSummary};
use timeplane_scenario::{HostLatency, Loaded, Scenario, Topology};
use timeplane_workload::FlowArrival;

pub use timeplane_experiment::Progress;

/// How long programs wait for hosts that fail although no scenario says so.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);
/// Largest packet of the agents, in bytes without Ethernet's header.
const MTU: u64 = 1500;

/// How to run the schemes of a scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program `timeplane-lab`.
    pub program: PathBuf,
    /// The folder in which the folder `NAME-live` is made.
    pub results: PathBuf,
    /// Prefix of the namespaces' names. See [`FabricParameters::name`].
    pub name: String,
    /// Run only these schemes; empty for all that can run.
    pub schemes: Vec<String>,
    /// How signals travel.
    pub encoding: SignalEncoding,
    /// How long agents trust a controller that is silent.
    pub lease: Duration,
    /// State of a gate after its lease.
    pub safe: SafeState,
    /// Whether daemons ask for real-time priority.
    pub real_time: bool,
    /// Whether to keep the daemons' configurations and logs.
    pub keep: bool,
    /// Port on the caller's loopback for the controllers' pages; 0 for any free port. The first run
    /// starts when a browser has opened a page.
    pub page: Option<u16>,
}

/// Why a lab rejects a scenario, or why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A lab does not support the scenario.
    #[error("{0}")]
    Unsupported(String),
    /// The scheme's plan does not run on real hosts.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The daemons cannot run.
    #[error(transparent)]
    Lab(#[from] hosts::HostsError),
    /// A namespace cannot be entered.
    #[error(transparent)]
    Net(#[from] timeplane_live::netns::NetError),
    /// The observer cannot be attached or read.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// The program that drops signals cannot be attached.
    #[error(transparent)]
    Loss(#[from] timeplane_live::bpf::BpfError),
    /// The run cannot be recorded, as bytes are missing or wrong.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The results cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The controllers' pages cannot be offered.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A file of the run cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of that file.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, RunError> {
    Err(RunError::Unsupported(what.into()))
}

/// Runs what is missing, and compares the completed runs. Daemons end with the calling thread.
///
/// # Errors
/// If a lab does not support the scenario, results cannot be written, or a run fails. Completed
/// runs are kept.
pub fn run(
    loaded: &Loaded,
    options: &Options,
    cancel: &(dyn Fn() -> bool + Sync),
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Outcome, LabError<RunError>> {
    let driver = DaemonLab::new(loaded.name(), options.clone());
    let settings = timeplane_experiment::Options::new(1, &options.results);
    let mut experiment = Experiment::open(driver, loaded, &settings, &tell)?;
    if let Some(port) = options.page {
        let driver = experiment.driver();
        let pages = Pages::start(port, driver.controllers.get())?;
        tell(Progress::Note(&format!("page: {}", pages.addresses().join(" and "))));
        let _ = driver.pages.set(pages);
    }
    let outcome = experiment.run_in_turn(cancel, tell)?;
    Ok(complete(outcome))
}

/// Runs the schemes of a scenario with daemons in namespaces.
struct DaemonLab {
    /// Name of the scenario.
    scenario: String,
    options: Options,
    /// The maximum number of controllers of any run.
    controllers: Cell<u32>,
    pages: OnceCell<Pages>,
    /// Whether a browser has opened a page.
    looked_at: Cell<bool>,
}

/// A scheme that a lab can run.
struct Ready {
    plan: LivePlan,
    failures: Failures,
}

impl DaemonLab {
    fn new(scenario: String, options: Options) -> Self {
        Self { scenario, options, controllers: Cell::new(1), pages: OnceCell::new(), looked_at: Cell::new(false) }
    }

    fn is_chosen(&self, scheme: &str) -> bool {
        self.options.schemes.is_empty() || self.options.schemes.iter().any(|s| s == scheme)
    }

    /// The plan of a scheme, or why a lab cannot run it.
    fn plan(&self, scenario: &Scenario, scheme: &str) -> Result<LivePlan, String> {
        if scenario.scheme.get(scheme).is_some_and(|s| s.fabric.is_some()) {
            return Err(format!("scheme `{scheme}` has a fabric of its own: a lab has one for all schemes"));
        }
        let plan = LivePlan::new(scenario, scheme).map_err(|e| e.to_string())?;
        plan.host(self.options.encoding).map(|_| plan).map_err(|e| e.to_string())
    }
}

impl Driver for DaemonLab {
    /// The schemes of the point, each ready or with the reason why a lab cannot run it.
    type Setup = BTreeMap<String, Result<Ready, String>>;
    type Error = RunError;

    fn suffix(&self) -> &'static str {
        "-live"
    }

    fn settings(&self) -> Option<(&'static str, Value)> {
        let o = &self.options;
        let settings = json!({
            "encoding": config::name_of(o.encoding),
            "lease_ps": o.lease.as_ps(),
            "safe": o.safe,
            "real_time": o.real_time,
        });
        Some(("live", settings))
    }

    fn prepare(&self, loaded: &Loaded, point: &Prepared) -> Result<Self::Setup, RunError> {
        let scenario = &point.point.scenario;
        refuse(loaded, scenario)?;
        let chosen = scenario.scheme.keys().filter(|scheme| self.is_chosen(scheme));
        let ready = |scheme: &String| {
            let plan = match self.plan(scenario, scheme) {
                Ok(plan) => plan,
                Err(why) => return Ok((scheme.clone(), Err(why))),
            };
            let failures = Failures::of(loaded, &scenario.failure, &plan).map_err(RunError::Unsupported)?;
            Ok((scheme.clone(), Ok(Ready { plan, failures })))
        };
        chosen.map(ready).collect()
    }

    fn select(
        &self,
        loaded: &Loaded,
        points: &[(Prepared, Self::Setup)],
        runs: Vec<PlannedRun>,
        tell: &dyn Fn(Progress<'_>),
    ) -> Result<Vec<PlannedRun>, RunError> {
        for scheme in &self.options.schemes {
            LivePlan::new(&loaded.scenario, scheme)?;
        }
        unrecorded(points.iter().map(|(point, _)| &point.point), &[], tell);
        let (mut selected, mut left_out) = (Vec::new(), Vec::new());
        for run in runs {
            if !self.is_chosen(&run.scheme) || left_out.contains(&run.scheme) {
                continue;
            }
            match points[run.point].1.get(&run.scheme) {
                Some(Ok(ready)) => {
                    self.controllers.set(self.controllers.get().max(ready.plan.controllers()));
                    selected.push(run);
                }
                Some(Err(why)) if self.options.schemes.is_empty() => {
                    tell(Progress::LeftOut(why));
                    left_out.push(run.scheme);
                }
                Some(Err(why)) => return unsupported(why),
                None => {}
            }
        }
        if selected.is_empty() {
            return unsupported("none of the schemes can run on real hosts");
        }
        let flows = |run: &PlannedRun| arrivals(&points[run.point].0, run.seed).1.take(MOST_FLOWS + 1).count();
        if selected.iter().any(|run| flows(run) > MOST_FLOWS) {
            return unsupported(format!(
                "a run has more than {MOST_FLOWS} flows, the most that a lab has programs for: shorten \
                 `window.measure`, or configure fewer flows"
            ));
        }
        Ok(selected)
    }

    fn run(
        &self,
        (point, ready): &(Prepared, Self::Setup),
        run: &PlannedRun,
        results: &Path,
        watch: &Watch<'_>,
    ) -> Result<Option<RunSummary>, RunError> {
        let Some(Ok(ready)) = ready.get(&run.scheme) else {
            unreachable!("only runs of schemes that are ready are selected")
        };
        let files = Folder::new(&self.options.name, &run.key, self.options.keep)?;
        let Some(mut lab) = self.start(point, ready, run, &files, watch)? else { return Ok(None) };
        let before = LinkCounts::read(lab.hosts.fabric())?;
        let threads = lab.hosts.threads();
        let (mut programs, failures) = self.send(point, ready, run, &mut lab, watch)?;
        let links = LinkCounts::read(lab.hosts.fabric())?.since(&before);
        let load = lab.hosts.threads().since(&threads);
        let observed = lab.observer.take().map(|o| o.report()).transpose()?;
        if programs.ended == Ended::Delivered {
            programs.settle(Wait::from_secs(2));
        }
        lab.hosts.stop();
        programs.join();
        if files.keep {
            watch.note(&format!("kept: {}", files.path.display()));
        }
        if programs.ended == Ended::Cancelled {
            return Ok(None);
        }
        let lost_signals = lab.loss.take().map_or(0, |loss| loss.counts().0);
        let counted = Counted::read(&lab.hosts, ready.plan.controllers(), &failures)?;
        let counted = Counted { lost_signals, ..counted };
        drop(lab);
        let done = CompletedRun {
            scenario: &point.point.scenario,
            run,
            plan: &ready.plan,
            source: &point.source,
            programs: &programs,
            counted: &counted,
            links: &links,
        };
        let summary = done.record(Recorder::files(results)?)?;
        let rate = point.fabric.link(point.fabric.uplink(HostId(0))).spec.rate;
        let live = live_json(observed.as_ref(), rate, &counted, &programs, &load);
        let path = results.join("live.json");
        std::fs::write(&path, format!("{live:#}\n")).map_err(|source| RunError::File { path, source })?;
        Ok(Some(summary))
    }
}

/// The lab of one run. Fields are dropped in this order: the namespaces go last.
struct Lab<'a> {
    observer: Option<Observer>,
    loss: Option<Loss>,
    _forwarding: Option<PageForwarding<'a>>,
    hosts: Hosts,
}

impl DaemonLab {
    /// Starts the daemons of a run, and waits for a browser before the first run if there are
    /// pages. `None` if the run was cancelled meanwhile.
    fn start(
        &self,
        point: &Prepared,
        Ready { plan, failures }: &Ready,
        run: &PlannedRun,
        files: &Folder,
        watch: &Watch<'_>,
    ) -> Result<Option<Lab<'_>>, RunError> {
        let o = &self.options;
        let token = files.path.join("page.token");
        let pages = self.pages.get();
        pages.map(|pages| pages.write_token(&token)).transpose()?;
        let file = files.path.join("scenario.toml");
        self.write_scenario(point, &file)?;
        // As in a simulation, programs wait for hosts that the scenario lets fail.
        let give_up_after = if failures.is_empty() { GIVE_UP_AFTER } else { Duration::from_secs(86_400) };
        let parameters = HostsParameters {
            give_up_after,
            controllers: plan.controllers(),
            encoding: o.encoding,
            lease: o.lease,
            safe: o.safe,
            real_time: o.real_time,
            status: failures.has_controllers() || pages.is_some(),
            page: pages.map(|pages| (pages.port(), token)),
            circuits: plan.circuits().copied(),
            control_loss: plan.control_loss(),
            ..HostsParameters::new(&o.program, &files.path, &file, &run.scheme)
        };
        let hosts = u16::try_from(point.fabric.hosts()).unwrap_or(u16::MAX);
        let fabric = FabricParameters { name: o.name.clone(), hosts, mtu: MTU as u32, limit: None };
        let hosts = match Hosts::start(parameters, &fabric) {
            // An interrupt reaches the daemons too, and then they do not start.
            Err(_) if watch.is_cancelled() => return Ok(None),
            hosts => hosts?,
        };
        let led = pages.map(|pages| PageForwarding::to(pages, hosts.fabric().controller().path()));
        let ports = hosts.fabric().ports();
        let inside = hosts.fabric().switch();
        // Lost signals are hidden from the observer, as they are from the host.
        let losing = || Loss::attach(&ports).and_then(|loss| loss.set(plan.control_loss()).map(|()| loss));
        let loss = if plan.control_loss() > 0.0 { Some(inside.enter(losing)??) } else { None };
        let attach = || Observer::attach(&ports, controller_mac());
        let observer = if plan.by_signal() { Some(inside.enter(attach)??) } else { None };
        if pages.is_some() && !self.looked_at.get() && !wait_for_a_page(&hosts, watch) {
            return Ok(None);
        }
        self.looked_at.set(true);
        Ok(Some(Lab { observer, loss, _forwarding: led, hosts }))
    }

    /// Writes the scenario of a point for the controllers.
    fn write_scenario(&self, point: &Prepared, file: &Path) -> Result<(), RunError> {
        let scenario = Scenario { name: Some(self.scenario.clone()), ..point.point.scenario.clone() };
        let text = toml::to_string(&scenario).map_err(std::io::Error::other);
        let written = text.and_then(|text| std::fs::write(file, text));
        written.map_err(|source| RunError::File { path: file.to_owned(), source })
    }

    /// Sends the flows of a run while its failures happen. Returns what the programs did, and the
    /// failures that happened.
    fn send(
        &self,
        point: &Prepared,
        ready: &Ready,
        run: &PlannedRun,
        Lab { observer, hosts, .. }: &mut Lab<'_>,
        watch: &Watch<'_>,
    ) -> Result<(Programs, Failures), RunError> {
        let (stop, flows) = arrivals(point, run.seed);
        let flows: Vec<FlowArrival> = flows.collect();
        let agents: Vec<Agent> = (0..point.fabric.hosts()).map(|h| hosts.client(h as usize)).collect();
        let (mut failures, mut failed) = (ready.failures.clone(), Ok(()));
        let mut shown = Instant::now();
        let mut goes_on = |now, share| {
            watch.fraction(share);
            if let (Some(pages), Some(observer)) = (self.pages.get(), &*observer)
                && shown.elapsed() > SHOWN_EVERY
            {
                shown = Instant::now();
                // A report that cannot be read now fails the run at its end.
                let _ = observer.report().map(|report: observer::ObserverReport| pages.observed(&report));
            }
            failed = failures.due(now, hosts);
            failed.is_ok() && !watch.is_cancelled()
        };
        let window = measured(&point.point.scenario);
        let patient = !ready.failures.is_empty();
        let programs = workload::run(&agents, &flows, window, stop, patient, &mut goes_on);
        failed?;
        Ok((programs, failures))
    }
}

/// Rejects what no scheme of a lab can have.
fn refuse(loaded: &Loaded, scenario: &Scenario) -> Result<(), RunError> {
    if scenario.workload.has_steps() {
        return unsupported(
            "workload: its flows wait for others, and a lab's programs start at given times: expected `poisson`, \
             `flows`, `shuffle` or `coflows`",
        );
    }
    if !matches!(scenario.fabric.topology, Topology::SingleSwitch { .. } | Topology::Hybrid(_)) {
        return unsupported(
            "fabric.topology: a lab has its hosts under one switch: expected `single_switch`, or `hybrid` with a \
             circuit switch alongside",
        );
    }
    if scenario.fabric.mtu.get() != MTU {
        let found = scenario.fabric.mtu;
        return unsupported(format!("fabric.mtu is {found}: agents send frames of {MTU} B, expected {MTU} B"));
    }
    if !scenario.change.is_empty() {
        let place = loaded.locate("change").map(|l| format!("{l}: ")).unwrap_or_default();
        return unsupported(format!("{place}change: the rates of a lab do not change: remove the key"));
    }
    if !scenario.pause.is_empty() {
        let place = loaded.locate("pause").map(|l| format!("{l}: ")).unwrap_or_default();
        return unsupported(format!("{place}pause: only simulated hosts pause: remove the key"));
    }
    if let Some((name, _)) = scenario.scheme.iter().find(|(_, s)| s.host_latency() != HostLatency::None) {
        let key = format!("scheme.{name}.host");
        let place = loaded.locate(&key).map(|l| format!("{l}: ")).unwrap_or_default();
        return unsupported(format!("{place}{key}: hosts of a lab take the time that they take: remove the key"));
    }
    Ok(())
}

/// The latest end of a run, and its flows.
pub(crate) fn arrivals(prepared: &Prepared, seed: u64) -> (Option<Duration>, impl Iterator<Item = FlowArrival> + '_) {
    let window = prepared.point.scenario.window;
    let end = window.measure.map(|m| window.warmup + m);
    let (stop, last) = match (end, window.drain) {
        (Some(end), Some(drain)) => (Some(end + drain), end + drain),
        (Some(end), None) => (None, end),
        (None, Some(drain)) => {
            let last = prepared.source.arrivals(seed).last().map_or(Duration::ZERO, |f| f.at);
            (Some(last + drain), Duration::MAX)
        }
        (None, None) => (None, Duration::MAX),
    };
    (stop, prepared.source.arrivals(seed).take_while(move |f| f.at < last))
}

/// How often the pages get the observer's report.
const SHOWN_EVERY: Wait = Wait::from_millis(500);

/// Waits until a browser has opened a page. `false` if the run was cancelled meanwhile.
fn wait_for_a_page(hosts: &Hosts, watch: &Watch<'_>) -> bool {
    watch.note("the run starts when a browser has opened the page; an interrupt ends it");
    loop {
        let pages = |place| hosts.metrics(place).is_ok_and(|m| m.get("controller_pages").is_some_and(|n| *n > 0.0));
        if (0..hosts.controllers()).any(pages) {
            return true;
        }
        if watch.is_cancelled() {
            return false;
        }
        std::thread::sleep(Wait::from_millis(100));
    }
}

/// Forwards the pages to the controllers of a run until it is dropped.
struct PageForwarding<'a>(&'a Pages);

impl<'a> PageForwarding<'a> {
    fn to(pages: &'a Pages, namespace: PathBuf) -> Self {
        pages.lead_to(Some(namespace));
        Self(pages)
    }
}

impl Drop for PageForwarding<'_> {
    fn drop(&mut self) {
        self.0.lead_to(None);
    }
}

/// The folder of the daemons' files. It is removed when dropped, unless it is kept.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn new(lab: &str, key: &str, keep: bool) -> Result<Self, RunError> {
        remove_left_over(lab);
        // A socket's path has at most 108 bytes.
        let kept = if keep { "kept-" } else { "" };
        let path = std::env::temp_dir().join(format!("timeplane-{kept}{lab}-{}", std::process::id())).join(key);
        let made = std::fs::create_dir_all(&path);
        made.map(|()| Self { path: path.clone(), keep }).map_err(|source| RunError::File { path, source })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
            // Fails unless it was the last.
            let _ = self.path.parent().map(std::fs::remove_dir);
        }
    }
}

/// Removes the folders of labs of this name whose processes have ended.
fn remove_left_over(lab: &str) {
    let prefix = format!("timeplane-{lab}-");
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_string_lossy().strip_prefix(&prefix).and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
