//! A scenario in a lab: all schemes that can run on real hosts, every point and seed, one after the other, with the results of a simulation.

use super::fabric::FabricParameters;
use super::failures::Failures;
use super::hosts::{Hosts, HostsParameters, LabError};
use super::links::LinkCounts;
use super::loss::Loss;
use super::page::{PageError, Pages};
use super::report::{Counted, live_json};
use super::tables::{Done, RecordError, measured};
use super::workload::{self, Ended, MOST_FLOWS};
use crate::answers::Asker;
use crate::fabric::controller_mac;
use crate::plan::{LivePlan, PlanError};
use serde_json::json;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration as Wait, Instant};
use timeplane_experiment::{Question, questions};
use timeplane_live::client::Agent;
use timeplane_live::config;
use timeplane_live::controller::Plan;
use timeplane_live::gate::SafeState;
use timeplane_live::observer::{Observer, ObserverError};
use timeplane_model::{Duration, Fabric, HostId};
use timeplane_protocol::wire::SignalEncoding;
use timeplane_results::{Recorder, ResultsError, Store};
use timeplane_scenario::{Loaded, Point, Scenario, ScenarioError, Topology};
use timeplane_workload::{FlowArrival, Source, WorkloadError};

pub use crate::answers::{Outcome, Progress};

/// What agents send, bytes without Ethernet's header.
const MTU: u64 = 1500;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program `timeplane-live`.
    pub program: PathBuf,
    /// Folder in which the folder `NAME-live` is made.
    pub results: PathBuf,
    /// Of the lab: its namespaces begin with it. See [`FabricParameters::name`].
    pub name: String,
    /// Only these schemes; empty: all that can run.
    pub schemes: Vec<String>,
    /// How signals travel.
    pub encoding: SignalEncoding,
    /// For how long agents believe a controller that is not heard of.
    pub lease: Duration,
    /// What gates are after that.
    pub safe: SafeState,
    /// Real-time priority, where it may.
    pub real_time: bool,
    /// Folders with the daemons' configurations and logs stay.
    pub keep: bool,
    /// Shows the controllers' pages on the caller's loopback at this port, 0 for one that the system chooses; the first run begins when somebody looks.
    pub page: Option<u16>,
}

/// Why there is no outcome. Runs that are complete stay.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It asks for something that a lab has not.
    #[error("{0}")]
    NotLive(String),
    /// A scheme.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The fabric.
    #[error("fabric: {0}")]
    Fabric(#[from] timeplane_model::FabricError),
    /// Its page.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The results.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A run.
    #[error("scheme `{scheme}`, seed {seed}: {source}")]
    Run {
        /// Which scheme.
        scheme: String,
        /// Which seed.
        seed: u64,
        /// Why.
        source: OneError,
    },
}

impl RunError {
    /// Whether nothing was run, because of what was asked.
    pub fn is_configuration(&self) -> bool {
        !matches!(self, Self::Results(_) | Self::Page(_) | Self::Run { .. })
    }
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum OneError {
    /// The hosts.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A namespace.
    #[error(transparent)]
    Net(#[from] timeplane_live::netns::NetError),
    /// The observer.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// The loss of signals.
    #[error(transparent)]
    Loss(#[from] timeplane_live::bpf::BpfError),
    /// What happened.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The results.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The page's token.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A point, ready to be run.
struct Prepared {
    point: Point,
    /// Of the scenario.
    name: String,
    fabric: Arc<Fabric>,
    source: Source,
}

/// One run.
struct Planned {
    question: Question,
    plan: LivePlan,
    failures: Failures,
}

/// Runs what is missing, and compares what is complete. Daemons end with the thread that calls this.
///
/// # Errors
/// Where the scenario asks for what a lab has not, results cannot be written, or a run fails. Complete runs stay in any case.
pub fn run(
    loaded: &Loaded,
    options: &Options,
    cancel: &dyn Fn() -> bool,
    told: &dyn Fn(Progress<'_>),
) -> Result<Outcome, RunError> {
    let prepared = prepare(loaded)?;
    let planned = plan(loaded, options, &prepared, told)?;
    let questions: Vec<&Question> = planned.iter().map(|p| &p.question).collect();
    let points = prepared.iter().map(|p| (&p.point, &*p.fabric, &p.source));
    let controllers = planned.iter().map(|p| p.plan.controllers()).max().unwrap_or(1);
    let pages = options.page.map(|port| Pages::start(port, controllers)).transpose()?;
    if let Some(pages) = &pages {
        let addresses = pages.addresses().join(" and ");
        told(Progress::Said(&format!("page: {addresses}")));
    }
    let looked_at = Cell::new(false);
    Asker { loaded, results: &options.results, records: &[], cancel, told }.ask(
        &questions,
        points,
        |number, store, run| {
            let one = &planned[number];
            let page = pages.as_ref().map(|p| (p, &looked_at));
            let done = once(&prepared[one.question.point], one, &run.key, options, page, store, cancel, told);
            done.map_err(|source| {
                let Question { scheme, seed, .. } = one.question.clone();
                RunError::Run { scheme, seed, source }
            })
        },
    )
}

fn prepare(loaded: &Loaded) -> Result<Vec<Prepared>, RunError> {
    loaded
        .points()?
        .into_iter()
        .map(|point| {
            refuse(loaded, &point.scenario)?;
            let fabric = Arc::new(point.scenario.fabric.build()?);
            let source = Source::load(&point.scenario.workload, &loaded.base, &fabric, point.scenario.fabric.mtu)?;
            Ok(Prepared { point, name: loaded.name(), fabric, source })
        })
        .collect()
}

/// What a lab has not.
fn refuse(loaded: &Loaded, scenario: &Scenario) -> Result<(), RunError> {
    let not = |what: String| Err(RunError::NotLive(what));
    if scenario.workload.has_steps() {
        return not("workload: its flows wait for others, and a lab's programs begin at given times: `poisson`, `flows`, `shuffle` \
                    and `coflows` are what it can run"
            .into());
    }
    if !matches!(scenario.fabric.topology, Topology::SingleSwitch { .. } | Topology::Hybrid(_)) {
        let can_be = "`fabric.topology.single_switch`, or `hybrid` with a circuit switch beside it, is what it can be";
        return not(format!("a lab has hosts under one switch: {can_be}"));
    }
    if scenario.fabric.mtu.get() != MTU {
        let found = scenario.fabric.mtu;
        return not(format!("fabric.mtu is {found}, and agents send frames of {MTU} B: it has to be that"));
    }
    if !scenario.change.is_empty() {
        let place = loaded.locate("change").map(|l| format!("{l}: ")).unwrap_or_default();
        return not(format!("{place}change: a lab has no rates that change: take the scenario without"));
    }
    if scenario.fabric.radio.is_some() {
        return not("a lab has no radios: take the scenario without `fabric.radio`".into());
    }
    Ok(())
}

fn plan(
    loaded: &Loaded,
    options: &Options,
    prepared: &[Prepared],
    told: &dyn Fn(Progress<'_>),
) -> Result<Vec<Planned>, RunError> {
    for scheme in &options.schemes {
        LivePlan::new(&loaded.scenario, scheme)?;
    }
    let lab = json!({
        "encoding": config::name_of(options.encoding),
        "lease_ps": options.lease.as_ps(),
        "safe": options.safe,
        "real_time": options.real_time,
    });
    let mut planned = Vec::new();
    let mut left_out: Vec<String> = Vec::new();
    for question in questions(loaded)? {
        let chosen = options.schemes.is_empty() || options.schemes.contains(&question.scheme);
        if !chosen || left_out.contains(&question.scheme) {
            continue;
        }
        let scenario = &prepared[question.point].point.scenario;
        let scheme = scenario.scheme.get(&question.scheme);
        let plan = if scheme.is_some_and(|c| c.fabric.is_some()) {
            Err(format!("scheme `{}` has a fabric of its own, and a lab has one for all", question.scheme))
        } else {
            let plan = LivePlan::new(scenario, &question.scheme).map_err(|e| e.to_string());
            plan.and_then(|plan| plan.host(options.encoding).map(|_| plan).map_err(|e| e.to_string()))
        };
        match plan {
            Ok(plan) => {
                let mut question = question;
                question.json["live"] = lab.clone();
                let failures = Failures::of(loaded, &scenario.failure, &plan).map_err(RunError::NotLive)?;
                planned.push(Planned { question, plan, failures });
            }
            Err(why) if options.schemes.is_empty() => {
                told(Progress::LeftOut(&why));
                left_out.push(question.scheme);
            }
            Err(why) => return Err(RunError::NotLive(why)),
        }
    }
    if planned.is_empty() {
        return Err(RunError::NotLive("none of the schemes can run on real hosts".into()));
    }
    for one in &planned {
        let prepared = &prepared[one.question.point];
        let count = arrivals(prepared, one.question.seed).1.take(MOST_FLOWS + 1).count();
        if count > MOST_FLOWS {
            let what = format!("a run has more than {MOST_FLOWS} flows, which is what a lab has programs for");
            return Err(RunError::NotLive(format!("{what}: shorten `window.measure`, or take fewer")));
        }
    }
    Ok(planned)
}

/// When a run ends at the latest, and its flows.
fn arrivals(prepared: &Prepared, seed: u64) -> (Option<Duration>, impl Iterator<Item = FlowArrival> + '_) {
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

/// Runs one, and keeps it; whether it is complete. With pages comes whether anybody has looked at one.
#[expect(clippy::too_many_arguments, reason = "each is another thing, and there is one caller")]
fn once(
    prepared: &Prepared,
    one: &Planned,
    key: &str,
    options: &Options,
    pages: Option<(&Pages, &Cell<bool>)>,
    store: &Store,
    cancel: &dyn Fn() -> bool,
    told: &dyn Fn(Progress<'_>),
) -> Result<bool, OneError> {
    let folder = Folder::new(&options.name, key, options.keep)?;
    let token = folder.path.join("page.token");
    pages.map(|(pages, _)| pages.write_token(&token)).transpose()?;
    let scenario = &prepared.point.scenario;
    let file = folder.path.join("scenario.toml");
    let named = Scenario { name: Some(prepared.name.clone()), ..scenario.clone() };
    let text = toml::to_string(&named).map_err(std::io::Error::other);
    let written = text.and_then(|text| std::fs::write(&file, text));
    written.map_err(|source| OneError::File { path: file.clone(), source })?;
    let parameters = HostsParameters {
        controllers: one.plan.controllers(),
        encoding: options.encoding,
        lease: options.lease,
        safe: options.safe,
        real_time: options.real_time,
        status: one.failures.has_controllers() || pages.is_some(),
        page: pages.map(|(pages, _)| (pages.port(), token)),
        circuits: one.plan.circuits().copied(),
        control_loss: one.plan.control_loss(),
        ..HostsParameters::new(&options.program, &folder.path, &file, &one.question.scheme)
    };
    let hosts = u16::try_from(prepared.fabric.hosts()).unwrap_or(u16::MAX);
    let fabric = FabricParameters { name: options.name.clone(), hosts, mtu: MTU as u32, limit: None };
    let mut hosts = match Hosts::start(parameters, &fabric) {
        // An interrupt ends daemons as well, and then they do not begin.
        Err(_) if cancel() => return Ok(false),
        hosts => hosts?,
    };
    // Where the run ends, however it does, nobody is there any more.
    let _led = pages.map(|(pages, _)| Led::to(pages, hosts.fabric().controller().path()));
    let ports = hosts.fabric().ports();
    // What is lost is not seen by the observer either, as it is not by the host.
    let losing = || {
        let loss = Loss::attach(&ports)?;
        loss.set(one.plan.control_loss()).map(|()| loss)
    };
    let loses = one.plan.control_loss() > 0.0;
    let loss = if loses { Some(hosts.fabric().switch().enter(losing)??) } else { None };
    let attach = || Observer::attach(&ports, controller_mac());
    let observer = if one.plan.by_signal() { Some(hosts.fabric().switch().enter(attach)??) } else { None };
    if let Some((_, looked_at)) = pages
        && !looked_at.get()
        && !wait_for_a_page(&hosts, cancel, told)
    {
        return Ok(false);
    }
    pages.inspect(|(_, looked_at)| looked_at.set(true));
    let before = LinkCounts::read(hosts.fabric())?;
    let (stop, flows) = arrivals(prepared, one.question.seed);
    let flows: Vec<FlowArrival> = flows.collect();
    let agents: Vec<Agent> = (0..prepared.fabric.hosts()).map(|h| hosts.client(h as usize)).collect();
    let (mut failures, mut failed) = (one.failures.clone(), Ok(()));
    let mut shown = Instant::now();
    let mut goes_on = |now, share| {
        told(Progress::Share(share));
        if let (Some((pages, _)), Some(observer)) = (pages, &observer)
            && shown.elapsed() > SHOWN_EVERY
        {
            shown = Instant::now();
            // What cannot be read now is said at the end.
            let _ = observer.report().map(|report| pages.observed(&report));
        }
        failed = failures.due(now, &mut hosts);
        failed.is_ok() && !cancel()
    };
    let patient = !one.failures.is_empty();
    let mut programs = workload::run(&agents, &flows, measured(scenario), stop, patient, &mut goes_on);
    failed?;
    let links = LinkCounts::read(hosts.fabric())?.since(&before);
    let seen = observer.map(|o| o.report()).transpose()?;
    if programs.ended == Ended::Delivered {
        programs.settle(std::time::Duration::from_secs(2));
    }
    hosts.stop();
    programs.join();
    if folder.keep {
        told(Progress::Kept(&folder.path));
    }
    if programs.ended == Ended::Cancelled {
        return Ok(false);
    }
    let lost = loss.map_or(0, |loss| loss.counts().0);
    let counted = Counted { lost_signals: lost, ..Counted::read(&hosts, one.plan.controllers(), &failures)? };
    drop(hosts);
    let partial = store.begin(key)?;
    let recorder = Recorder::files(partial.dir())?;
    let (question, plan, source) = (&one.question, &one.plan, &prepared.source);
    let done = Done { scenario, question, plan, source, programs: &programs, counted: &counted, links: &links };
    let summary = done.record(recorder)?;
    let rate = prepared.fabric.link(prepared.fabric.uplink(HostId(0))).spec.rate;
    let live = live_json(seen.as_ref(), rate, &counted, &programs);
    let path = partial.dir().join("live.json");
    std::fs::write(&path, format!("{live:#}\n")).map_err(|source| OneError::File { path, source })?;
    partial.commit(&summary)?;
    Ok(true)
}

/// How often a page hears what the observer sees.
const SHOWN_EVERY: Wait = Wait::from_millis(500);

/// Waits until a page of a controller is open; whether one is.
fn wait_for_a_page(hosts: &Hosts, cancel: &dyn Fn() -> bool, told: &dyn Fn(Progress<'_>)) -> bool {
    told(Progress::Said("the run begins when a browser has opened the page; an interrupt ends it"));
    loop {
        let pages = |place| hosts.metrics(place).is_ok_and(|m| m.get("controller_pages").is_some_and(|n| *n > 0.0));
        if (0..hosts.controllers()).any(pages) {
            return true;
        }
        if cancel() {
            return false;
        }
        std::thread::sleep(Wait::from_millis(100));
    }
}

/// Pages that show a run, until it is dropped.
struct Led<'a>(&'a Pages);

impl<'a> Led<'a> {
    fn to(pages: &'a Pages, namespace: PathBuf) -> Self {
        pages.lead_to(Some(namespace));
        Self(pages)
    }
}

impl Drop for Led<'_> {
    fn drop(&mut self) {
        self.0.lead_to(None);
    }
}

/// Where daemons of a run have their files; it goes when it is dropped, unless it is kept.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn new(lab: &str, key: &str, keep: bool) -> Result<Self, OneError> {
        remove_left_over(lab);
        // Short, as a socket's path has 108 bytes at most.
        let kept = if keep { "kept-" } else { "" };
        let path = std::env::temp_dir().join(format!("timeplane-{kept}{lab}-{}", std::process::id())).join(key);
        let made = std::fs::create_dir_all(&path);
        made.map(|()| Self { path: path.clone(), keep }).map_err(|source| OneError::File { path, source })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
            // Where it was the last.
            let _ = self.path.parent().map(std::fs::remove_dir);
        }
    }
}

/// Removes the folders of labs of this name whose processes are no more.
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
