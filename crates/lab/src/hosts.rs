//! The daemons of a lab: controllers and agents as processes in its namespaces, as on real hosts.
//!
//! [`Hosts`] makes their keys and configurations, starts, kills and restarts them, and reads what
//! they counted.

use super::circuits::Circuits;
use super::fabric::{self, Fabric, FabricError, FabricParameters, INTERFACE};
use super::metrics;
use crate::load::Threads;
use crate::plan::CircuitFabric;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration as Wait, Instant};
use timeplane_live::agent::Snapshot;
use timeplane_live::client;
use timeplane_live::config::{self, Late};
use timeplane_live::gate::{Mode, SafeState, Scope};
use timeplane_live::keys::{Authority, KeyError};
use timeplane_live::tuner::CircuitError;
use timeplane_model::Duration;
use timeplane_protocol::wire::{PORT, SignalEncoding};

/// Parameters of the daemons of a lab.
#[derive(Clone, Debug)]
pub struct HostsParameters {
    /// The program `timeplane-live`.
    pub program: PathBuf,
    /// A folder for keys, configurations, sockets and logs. It is created.
    pub folder: PathBuf,
    /// The scenario's file.
    pub scenario: PathBuf,
    /// Name of a scheme of the scenario.
    pub scheme: String,
    /// Number of controllers: two for a controller with a standby.
    pub controllers: u32,
    /// Encoding of signals.
    pub encoding: SignalEncoding,
    /// Whether gates enforce slots or only observe them.
    pub mode: Mode,
    /// Which traffic is gated.
    pub scope: Scope,
    /// How long agents trust a controller that is silent.
    pub lease: Duration,
    /// How late a signal may open a gate.
    pub late_after: Late,
    /// How long another host may be away before its streams end.
    pub give_up_after: Duration,
    /// State of a gate after the lease.
    pub safe: SafeState,
    /// Whether every host has a TUN interface, in the network 10.99.0.0/16.
    pub tun: bool,
    /// Whether daemons ask for real-time priority.
    pub real_time: bool,
    /// The circuit switch and the packet switch of a scheme that plans circuits.
    pub circuits: Option<CircuitFabric>,
    /// Probability that a grant or rate is lost, 0 to 1.
    pub control_loss: f64,
    /// Whether controllers have a status page, at 127.0.0.1 in their namespace. See
    /// [`Hosts::metrics`].
    pub status: bool,
    /// Port of the first controller's page and the file of its token. If `None`, the lab chooses
    /// the ports, and each page has a token of its own.
    pub page: Option<(u16, PathBuf)>,
}

impl HostsParameters {
    /// Defaults: one controller, the default encoding, gates that enforce slots and close after a
    /// second of silence, and no TUN interface.
    pub fn new(
        program: impl Into<PathBuf>,
        folder: impl Into<PathBuf>,
        scenario: impl Into<PathBuf>,
        scheme: &str,
    ) -> Self {
        Self {
            program: program.into(),
            folder: folder.into(),
            scenario: scenario.into(),
            scheme: scheme.to_owned(),
            controllers: 1,
            encoding: SignalEncoding::default(),
            mode: Mode::default(),
            scope: Scope::default(),
            lease: Duration::from_ms(1000),
            late_after: Late::ByPlan,
            give_up_after: Duration::from_secs(10),
            safe: SafeState::default(),
            tun: false,
            real_time: true,
            circuits: None,
            control_loss: 0.0,
            status: false,
            page: None,
        }
    }
}

/// Why the daemons of a lab cannot run.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The namespaces cannot be created.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// Keys or certificates cannot be created.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The circuit switch cannot be created.
    #[error(transparent)]
    Circuits(#[from] CircuitError),
    /// The circuit switch cannot be pinned in a BPF file system.
    #[error(transparent)]
    Pin(#[from] timeplane_live::bpf::BpfError),
    /// A file or process failed.
    #[error("{what}: {source}")]
    Io {
        /// The failed operation.
        what: String,
        /// The system's message.
        source: std::io::Error,
    },
    /// A daemon did not start.
    #[error("{name} did not start within {seconds} s; end of its log:\n{said}")]
    Begin {
        /// Name of the daemon, as `controller-0`.
        name: String,
        /// Waiting time in seconds.
        seconds: u64,
        /// Last lines of its log.
        said: String,
    },
}

fn io(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> HostsError {
    let what = what.to_string();
    move |source| HostsError::Io { what, source }
}

/// Running controllers and agents. Dropping the value ends them.
#[derive(Debug)]
pub struct Hosts {
    // Dropped before the namespaces of the processes.
    controllers: Vec<Daemon>,
    agents: Vec<Daemon>,
    parameters: HostsParameters,
    circuits: Option<Circuits>,
    fabric: Fabric,
}

/// A daemon's process and its namespace.
#[derive(Debug)]
struct Daemon {
    name: String,
    folder: PathBuf,
    child: Option<Child>,
}

/// Maximum time that a daemon may take to start.
const PATIENCE: Wait = Wait::from_secs(30);

impl Hosts {
    /// Creates namespaces, keys and configurations, starts all daemons, and waits until every agent
    /// knows all others.
    ///
    /// The daemons end when the calling thread ends, for whatever reason.
    ///
    /// # Errors
    /// If something cannot be created, or a daemon does not start.
    pub fn start(parameters: HostsParameters, fabric: &FabricParameters) -> Result<Self, HostsError> {
        let mut fabric = Fabric::start(fabric)?;
        let circuits = parameters.circuits.as_ref().map(|of| Circuits::start(&mut fabric, of)).transpose()?;
        let keys = parameters.folder.join("keys");
        let count = u32::from(fabric.parameters().hosts);
        if !keys.join("ca.pem").exists() {
            std::fs::create_dir_all(&parameters.folder).map_err(io(parameters.folder.display()))?;
            let authority = Authority::create(&keys)?;
            let hosts = (0..count).map(|h| format!("host-{h}"));
            for name in hosts.chain((0..parameters.controllers).map(|p| format!("controller-{p}"))) {
                authority.issue(&name)?;
            }
        }
        let mut hosts = Self { controllers: Vec::new(), agents: Vec::new(), parameters, circuits, fabric };
        for place in 0..hosts.parameters.controllers {
            let daemon = hosts.daemon(&format!("controller-{place}"), &hosts.controller_file(place))?;
            hosts.controllers.push(daemon);
        }
        for host in 0..count {
            let daemon = hosts.daemon(&format!("host-{host}"), &hosts.agent_file(host))?;
            hosts.agents.push(daemon);
        }
        for place in 0..hosts.controllers.len() {
            hosts.start_controller(place)?;
        }
        for host in 0..hosts.agents.len() {
            hosts.start_agent(host)?;
        }
        hosts.wait_for_all()?;
        Ok(hosts)
    }

    fn daemon(&self, name: &str, config: &str) -> Result<Daemon, HostsError> {
        let folder = self.parameters.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(io(folder.display()))?;
        let file = folder.join("config.toml");
        std::fs::write(&file, config).map_err(io(file.display()))?;
        Ok(Daemon { name: name.to_owned(), folder, child: None })
    }

    fn port(place: u32) -> u16 {
        PORT + place as u16
    }

    /// Address of a controller's status page in its namespace.
    fn page(&self, place: u32) -> SocketAddr {
        metrics::page(self.parameters.page.as_ref().map_or(metrics::PORT, |p| p.0), place)
    }

    fn controller_file(&self, place: u32) -> String {
        let p = &self.parameters;
        let mut file = format!(
            "scenario = {scenario:?}\nscheme = {scheme:?}\ninterface = {INTERFACE:?}\nlisten = \"{ip}:{port}\"\nkeys = \"../keys\"\n\
             runtime = {runtime:?}\nplace = {place}\nencoding = {encoding:?}\nreal_time = {real_time}\nlog = {log:?}\n",
            scenario = p.scenario.canonicalize().unwrap_or_else(|_| p.scenario.clone()),
            scheme = p.scheme,
            ip = fabric::controller_ip(),
            port = Self::port(place),
            runtime = p.folder.join(format!("controller-{place}")),
            encoding = config::name_of(p.encoding),
            real_time = p.real_time,
            log = p.folder.join(format!("controller-{place}/slots.jsonl")),
        );
        if let Some(circuits) = &self.circuits {
            let _ = writeln!(file, "circuits = {:?}\ncontrol_loss = {:?}", circuits.folder(), p.control_loss);
        }
        if p.status {
            let _ = writeln!(file, "status = \"{}\"", self.page(place));
        }
        if let Some((_, token)) = &p.page {
            let _ = writeln!(file, "token = {token:?}");
        }
        for other in (0..p.controllers).filter(|o| *o != place) {
            let (ip, port) = (fabric::controller_ip(), Self::port(other));
            let _ = writeln!(file, "[[peers]]\naddress = \"{ip}:{port}\"\nname = \"controller-{other}\"");
        }
        file
    }

    fn agent_file(&self, host: u32) -> String {
        let p = &self.parameters;
        let mut file = format!(
            "host = {host}\ninterface = {INTERFACE:?}\nkeys = \"../keys\"\nruntime = {runtime:?}\nreal_time = {real_time}\n\
             give_up_after = \"{give_up_after} us\"\n",
            runtime = p.folder.join(format!("host-{host}")),
            real_time = p.real_time,
            give_up_after = p.give_up_after.as_ps() / 1_000_000,
        );
        for place in 0..p.controllers {
            let (ip, port) = (fabric::controller_ip(), Self::port(place));
            let _ = writeln!(file, "[[controllers]]\naddress = \"{ip}:{port}\"\nname = \"controller-{place}\"");
        }
        let text = |value: serde_json::Value| value.to_string();
        let _ = writeln!(
            file,
            "[gate]\nmode = {mode}\nscope = {scope}\nlease = \"{lease} us\"\nsafe = {safe}\nencodings = [{encoding:?}]",
            mode = text(serde_json::json!(p.mode)),
            scope = text(serde_json::json!(p.scope)),
            lease = p.lease.as_ps() / 1_000_000,
            safe = text(serde_json::json!(p.safe)),
            encoding = config::name_of(p.encoding),
        );
        match p.late_after {
            Late::ByPlan => {}
            Late::Never => file.push_str("late_after = \"never\"\n"),
            Late::After(limit) => {
                let _ = writeln!(file, "late_after = \"{limit}\"");
            }
        }
        if p.tun {
            file.push_str("[tun]\nnetwork = \"10.99.0.0\"\n");
        }
        file
    }

    fn start_daemon(&mut self, kind: &'static str, index: usize) -> Result<(), HostsError> {
        let (namespace, daemon) = match kind {
            "controller" => (self.fabric.controller(), &mut self.controllers[index]),
            _ => (&self.fabric.hosts()[index], &mut self.agents[index]),
        };
        for left in ["ready", "joined"] {
            let _ = std::fs::remove_file(daemon.folder.join(left));
        }
        let path = daemon.folder.join("log");
        let log = std::fs::File::options().create(true).append(true).open(&path).map_err(io(path.display()))?;
        let mut command = namespace.command(&self.parameters.program);
        // SAFETY: between fork and exec the closure makes one system call, and touches no memory.
        unsafe {
            command.pre_exec(|| nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).map_err(std::io::Error::from));
        }
        let child = command
            .arg(kind)
            .arg(daemon.folder.join("config.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(io(&daemon.name))?;
        daemon.child = Some(child);
        Ok(())
    }

    /// Starts a controller, and waits until it listens.
    ///
    /// # Errors
    /// If it does not begin.
    pub fn start_controller(&mut self, place: usize) -> Result<(), HostsError> {
        self.start_daemon("controller", place)?;
        self.await_controller(place)
    }

    /// Waits until a controller that was started listens.
    ///
    /// # Errors
    /// If it does not begin.
    pub fn await_controller(&mut self, place: usize) -> Result<(), HostsError> {
        self.controllers[place].wait(|folder| folder.join("ready").exists())
    }

    /// Starts an agent, and waits until its gate is in place.
    ///
    /// # Errors
    /// If it does not begin.
    pub fn start_agent(&mut self, host: usize) -> Result<(), HostsError> {
        self.start_daemon("agent", host)?;
        self.agents[host].wait(|folder| folder.join("ready").exists())
    }

    /// Starts a controller, and does not wait for it.
    ///
    /// # Errors
    /// If there is no process for it.
    pub fn begin_controller(&mut self, place: usize) -> Result<(), HostsError> {
        self.start_daemon("controller", place)
    }

    /// Starts an agent, and does not wait for it.
    ///
    /// # Errors
    /// If there is no process for it.
    pub fn begin_agent(&mut self, host: usize) -> Result<(), HostsError> {
        self.start_daemon("agent", host)
    }

    /// Waits until every running agent knows all other running agents.
    ///
    /// # Errors
    /// If the agents take too long.
    pub fn wait_for_all(&mut self) -> Result<(), HostsError> {
        let all = self.agents.iter().filter(|a| a.child.is_some()).count();
        let joined = |folder: &Path| {
            let text = std::fs::read_to_string(folder.join("joined")).unwrap_or_default();
            text.trim().parse::<usize>().is_ok_and(|n| n == all)
        };
        self.agents.iter_mut().filter(|a| a.child.is_some()).try_for_each(|a| a.wait(joined))
    }

    /// Kills a controller, as a crash would.
    pub fn kill_controller(&mut self, place: usize) {
        self.controllers[place].end(Signal::SIGKILL);
    }

    /// Kills an agent, as a crash would. Its gate stays.
    pub fn kill_agent(&mut self, host: usize) {
        self.agents[host].end(Signal::SIGKILL);
    }

    /// Asks an agent to end.
    pub fn stop_agent(&mut self, host: usize) {
        self.agents[host].end(Signal::SIGTERM);
    }

    /// Asks a controller to end.
    pub fn stop_controller(&mut self, place: usize) {
        self.controllers[place].end(Signal::SIGTERM);
    }

    /// The counts of the threads of all running daemons.
    pub fn threads(&self) -> Threads {
        let mut threads = Threads::default();
        for (kind, daemons) in [("controller", &self.controllers), ("agent", &self.agents)] {
            daemons.iter().filter_map(|d| d.child.as_ref()).for_each(|child| threads.read(child.id(), kind));
        }
        threads
    }

    /// Stops a controller's process for a while, or lets it go on.
    pub fn freeze_controller(&self, place: usize, frozen: bool) {
        self.controllers[place].signal(if frozen { Signal::SIGSTOP } else { Signal::SIGCONT });
    }

    /// Stops an agent's process for a while, or lets it go on. Its gate works meanwhile.
    pub fn freeze_agent(&self, host: usize, frozen: bool) {
        self.agents[host].signal(if frozen { Signal::SIGSTOP } else { Signal::SIGCONT });
    }

    /// The counters of an agent: the current ones, or the last ones if it has ended in good order.
    pub fn snapshot(&self, host: usize) -> Option<Snapshot> {
        let folder = &self.agents[host].folder;
        let now = client::Agent::new(folder.join("agent.sock")).status().ok();
        now.or_else(|| serde_json::from_str(&std::fs::read_to_string(folder.join("last.json")).ok()?).ok())
            .and_then(|s| serde_json::from_value(s).ok())
    }

    /// Whether a controller was started and not ended since.
    pub fn has_controller(&self, place: usize) -> bool {
        self.controllers[place].child.is_some()
    }

    /// Number of controllers.
    pub fn controllers(&self) -> usize {
        self.controllers.len()
    }

    /// The counters of a controller, by the names of its status page without `timeplane_` and
    /// `_total`. Needs [`HostsParameters::status`].
    ///
    /// # Errors
    /// If the controller has no page, or does not run.
    pub fn metrics(&self, place: usize) -> Result<BTreeMap<String, f64>, HostsError> {
        let name = format!("{}'s status page", self.controllers[place].name);
        let token = self.controllers[place].folder.join("status.token");
        let read = || metrics::read(self.page(place as u32), &token).map_err(io(name));
        self.fabric.controller().enter(read).map_err(FabricError::from)?
    }

    /// The agent's interface for programs on a host.
    pub fn client(&self, host: usize) -> client::Agent {
        client::Agent::new(self.agents[host].folder.join("agent.sock"))
    }

    /// The log of a daemon, by its name, as `controller-0` or `host-3`.
    pub fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.parameters.folder.join(name).join("log")).unwrap_or_default()
    }

    /// The program of the daemons.
    pub fn program(&self) -> &Path {
        &self.parameters.program
    }

    /// Number of a daemon's process, while it runs.
    pub fn process(&self, name: &str) -> Option<u32> {
        let daemon = self.controllers.iter().chain(&self.agents).find(|d| d.name == name)?;
        daemon.child.as_ref().map(Child::id)
    }

    /// The folder of a daemon's files.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.parameters.folder.join(name)
    }

    /// The circuit switch, if the scheme plans circuits.
    pub fn circuits(&self) -> Option<&Circuits> {
        self.circuits.as_ref()
    }

    /// The namespaces.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The fabric of the namespaces, to change its links.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        &mut self.fabric
    }
}

impl Hosts {
    /// Stops all daemons and waits for them. Their counters remain available from
    /// [`snapshot`](Self::snapshot).
    pub fn stop(&mut self) {
        // Agents first: they remove their gates.
        for daemon in self.agents.iter_mut().chain(&mut self.controllers) {
            daemon.signal(Signal::SIGTERM);
        }
        // Signaled only once, as a second signal would kill them.
        for daemon in self.agents.iter_mut().chain(&mut self.controllers) {
            daemon.wait_for_end();
        }
    }

    /// The counters of a controller that has ended in good order.
    pub fn controller_counters(&self, place: usize) -> Option<BTreeMap<String, u64>> {
        let file = self.controllers[place].folder.join("last.json");
        serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.stop();
        for host in self.fabric.hosts() {
            // Those of agents that were killed; there is none where they ended in good order.
            let _ = host.enter(|| timeplane_live::daemons::release(INTERFACE).is_ok());
        }
    }
}

impl Daemon {
    fn signal(&self, signal: Signal) {
        if let Some(child) = &self.child {
            // It is ours and has not been waited for, so that its number is nobody else's.
            let _ = kill(Pid::from_raw(child.id() as i32), signal);
        }
    }

    /// Ends it, at the latest after some seconds.
    fn end(&mut self, signal: Signal) {
        self.signal(signal);
        self.wait_for_end();
    }

    /// Waits until it has ended, and ends it at once after some seconds.
    fn wait_for_end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let began = Instant::now();
        while began.elapsed() < Wait::from_secs(5) {
            match child.try_wait() {
                Ok(None) => std::thread::sleep(Wait::from_millis(5)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    fn wait(&mut self, until: impl Fn(&Path) -> bool) -> Result<(), HostsError> {
        let began = Instant::now();
        while !until(&self.folder) {
            let ended = self.child.as_mut().is_none_or(|c| c.try_wait().ok().flatten().is_some());
            if ended || began.elapsed() > PATIENCE {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let said = lines[lines.len().saturating_sub(20)..].join("\n");
                let (name, seconds) = (self.name.clone(), began.elapsed().as_secs());
                return Err(HostsError::Begin { name, seconds, said });
            }
            std::thread::sleep(Wait::from_millis(5));
        }
        Ok(())
    }
}
