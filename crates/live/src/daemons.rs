//! The daemons behind `timeplane live controller` and `timeplane live agent`.
//!
//! Each puts its configuration, keys, status page and control loop together.

use crate::agent::{
    AgentConfig, AgentError, Api, LiveAgent, Shared, Streams, StreamsConfig, ip_of, mac_of, random_bytes, usable_mtu,
};
use crate::channel::{Client, Server};
use crate::config::{self, AgentFile, ControllerFile, Seal};
use crate::controller::{Controller, ControllerConfig, Origin, Plan, SignalInterface};
use crate::gate::{Allowed, GateConfig};
use crate::keys::{ExpiryWarning, Identity};
use crate::lock::{Lock, LockError};
use crate::service::{self, Stop, Watchdog};
use crate::starts::Starts;
use crate::status::{self, StatusPage, Token};
use crate::timed::{self, Inbox};
use crate::watch::{About, Publisher, Watch};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use timeplane_model::HostId;
use timeplane_protocol::Event;
use timeplane_protocol::wire::{HostSecret, MacAddress, SignalKey};

/// Why a daemon ended, with an explanation for the user.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

fn at<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> Failure {
    let path = path.display().to_string();
    move |e| format!("{path}: {e}").into()
}

/// Runs a controller until `stop` is set.
///
/// `read_plan` gets the path of a scenario and the name of one of its schemes; it returns the
/// scenario's name and the scheme's plan.
///
/// # Errors
/// With an explanation for the user.
pub fn controller(
    path: &Path,
    stop: &Stop,
    read_plan: impl FnOnce(&Path, &str) -> Result<(String, Box<dyn Plan>), Failure>,
) -> Result<(), Failure> {
    let file: ControllerFile = config::read(path)?;
    let (scenario, plan) = read_plan(&config::beside(path, &file.scenario), &file.scheme)?;
    file.check_interfaces(path, plan.fabric().hosts())?;
    let identity = Identity::load(config::beside(path, &file.keys), &format!("controller-{}", file.place))?;
    let _warning = ExpiryWarning::start(&identity)?;
    let starts = Starts::new(&file.runtime, file.state.as_deref(), &format!("controller-{}", file.place));
    let (epoch, after_restart) = starts.next()?;
    let inbox = Inbox::new()?;
    let heard = Arc::clone(&inbox);
    let about = file.status.map(|_| about(&file, scenario, &*plan, epoch)).transpose()?;
    let watch = about.map(Watch::new);
    let page = watch.as_ref().map(|w| Arc::clone(&w.0));
    let hear = move |event| {
        // Reports for the page alone do not wake the controller.
        if !page.as_ref().is_some_and(|page| page.hear(&event)) {
            heard.push((Origin::Server, event));
        }
    };
    let server = Server::start(file.listen, &identity, hear)?;
    // Those that come later connect to those before them.
    let mut peers = Vec::new();
    for peer in file.peers.iter().filter(|p| p.name < format!("controller-{}", file.place)) {
        let heard = Arc::clone(&inbox);
        peers.push(Client::start(peer.address, &peer.name, &identity, move |event| {
            heard.push((Origin::Client, event))
        })?);
    }
    let config = controller_config(path, &file, epoch, after_restart)?;
    let channel = server.count();
    let mut controller = Controller::new(config, plan, server, peers, inbox)?;
    controller.starts = Some(starts);
    if let Some(log) = &file.log {
        controller.log = Some(slot_log(log)?);
    }
    if let Some((watch, _)) = &watch {
        controller.show(Arc::clone(watch));
    }
    let pulse = controller.pulse();
    let token = file.token.as_ref().map(|token| Token::read(&config::beside(path, token))).transpose()?;
    let page = file.status.zip(watch).map(|(listen, (watch, planned))| {
        let counters = controller.counters();
        let pages = Arc::clone(&watch);
        let metrics = status::of_controller(&counters, &channel, move || pages.pages() as u64);
        let identity = identity.clone();
        metrics.expiry(move || identity.seconds_left());
        let (state, known) = (controller.state(), controller.state());
        let pulse = pulse.clone();
        let status = move || state.to_json();
        let ready = move || pulse.age() < Duration::from_secs(1);
        let counted = move || serde_json::json!(counters.iter().collect::<BTreeMap<_, _>>());
        let publisher = Publisher::new(watch, planned, move || known.known(), counted);
        let own = file.runtime.join("status.token");
        StatusPage::with_page(listen, own, token, metrics, status, ready, publisher)
    });
    let page = page.transpose()?;
    if let Some(page) = &page {
        tracing::info!("page at http://{}/, token in {}", page.address(), page.token().display());
    }
    let alive = pulse.clone();
    let _watchdog = Watchdog::start(move || alive.age() < Duration::from_secs(1))?;
    service::ready(&format!("scheme {} of {}", file.scheme, file.scenario.display()));
    std::fs::write(file.runtime.join("ready"), "")?;
    let done = controller.run(stop);
    service::stopping();
    let _ = std::fs::remove_file(file.runtime.join("ready"));
    let counters: BTreeMap<_, _> = controller.counters().iter().collect();
    let _ = std::fs::write(file.runtime.join("last.json"), serde_json::to_string(&counters).unwrap_or_default());
    Ok(done?)
}

/// The controller's configuration, with the addresses of this machine's interfaces.
fn controller_config(
    path: &Path,
    file: &ControllerFile,
    epoch: u32,
    after_restart: bool,
) -> Result<ControllerConfig, Failure> {
    let all =
        std::iter::once((&file.interface, &[][..])).chain(file.interfaces.iter().map(|i| (&i.name, &i.hosts[..])));
    let interface = |(name, hosts): (&String, &[u32])| -> Result<_, Failure> {
        let hosts = hosts.iter().map(|h| HostId(*h)).collect();
        Ok(SignalInterface { name: name.clone(), mac: mac_of(name)?, ip: ip_of(name)?, hosts })
    };
    Ok(ControllerConfig {
        interfaces: all.map(interface).collect::<Result<_, _>>()?,
        encoding: file.encoding,
        epoch,
        place: file.place,
        after_restart,
        real_time: file.real_time,
        circuits: file.circuits.as_ref().map(|folder| config::beside(path, folder)),
        control_loss: file.control_loss,
        seals: file.seal != Seal::None,
    })
}

/// The controller as its page describes it.
fn about(file: &ControllerFile, scenario: String, plan: &dyn Plan, epoch: u32) -> Result<About, Failure> {
    let hosts = plan.host(file.encoding)?;
    // Where hosts report every round, or after some rounds of silence: that is not missed four
    // times by chance.
    let late = (hosts.fallback * 4).max(timeplane_model::Duration::from_secs(1));
    Ok(About {
        scenario,
        scheme: file.scheme.clone(),
        plan: plan.kind(),
        hosts: hosts.hosts,
        rate: hosts.rate,
        place: file.place,
        epoch,
        dark: plan.most_dark().unwrap_or_default(),
        late_after: (!hosts.reporting.on_change).then_some(late),
    })
}

/// Appends every planned slot to a file, as a line of JSON.
fn slot_log(path: &Path) -> Result<crate::controller::SlotLog, Failure> {
    // What a controller before this one has written stays.
    let file = std::fs::File::options().create(true).append(true).open(path);
    let mut file = std::io::BufWriter::new(file.map_err(at(path))?);
    Ok(Box::new(move |event| {
        if let Event::SlotPlanned { round, index, start, open, guard, pairs } = event {
            let pairs: Vec<(u32, u32)> = pairs.iter().map(|(s, d)| (s.0, d.0)).collect();
            let line = serde_json::json!({
                "round": round.0, "slot": index, "start_ps": start.as_ps(), "open_ps": open.as_ps(), "gap_ps": guard.as_ps(), "pairs": pairs,
            });
            // A log that cannot be written must not end what it tells of.
            let _ = writeln!(file, "{line}");
        }
    }))
}

mod option {
    use nix::{getsockopt_impl, libc, sockopt_impl};
    sockopt_impl!(
        /// The number of the network namespace, which no other ever has until the machine starts
        /// again (socket(7)).
        NetnsCookie, GetOnly, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE, u64);
}

/// Where an agent's gate is kept: a folder for all of this machine, and one for the interface of
/// this network namespace in it.
///
/// # Errors
/// If there is no such interface.
pub fn pin_of(interface: &str) -> Result<(PathBuf, String), Failure> {
    let index = crate::bpf::interface_index(interface)?;
    Ok((PathBuf::from(crate::bpf::PINS), format!("{}-{index}-{interface}", namespace()?)))
}

/// The number of this thread's network namespace.
fn namespace() -> Result<u64, Failure> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    Ok(nix::sys::socket::getsockopt(&socket, option::NetnsCookie)?)
}

/// The file that the agent of an interface holds, also while the interface is removed.
fn lock_of(interface: &str) -> Result<PathBuf, Failure> {
    let locks = Path::new(crate::bpf::PINS).with_file_name("locks");
    Ok(locks.join(format!("{}-{interface}", namespace()?)))
}

/// Removes the gate at an interface of this network namespace.
///
/// # Errors
/// If there is none, or it cannot be taken away.
pub fn release(interface: &str) -> Result<(), Failure> {
    // Removes the file that a killed agent has left.
    drop(Lock::take(&lock_of(interface)?));
    let (root, name) = pin_of(interface)?;
    let folder = root.join(name);
    if !folder.is_dir() {
        return Err(format!("no gate of an ended agent at {interface}").into());
    }
    crate::gate::release(&folder).map_err(at(&folder))
}

/// The locks of an agent: on its folder, and on its interface in this network namespace.
///
/// Another agent there would replace the key of the gate, and the first one would obey nothing any
/// more.
fn only_agent(file: &AgentFile) -> Result<[Option<Lock>; 2], Failure> {
    let folder = Lock::take(&file.runtime.join("agent.lock")).map_err(|e| match e {
        LockError::Held { .. } => {
            let folder = file.runtime.display();
            format!("another agent runs in {folder}: {e}; stop it first, or set another `runtime`")
        }
        LockError::File { .. } => e.to_string(),
    })?;
    let interface = match Lock::take(&lock_of(&file.interface)?) {
        Ok(lock) => Some(lock),
        Err(e @ LockError::Held { .. }) => {
            return Err(format!("another agent gates {}: {e}; stop it first", file.interface).into());
        }
        // Without root's folder there are no pinned gates either.
        Err(e @ LockError::File { .. }) => {
            tracing::warn!("cannot tell whether another agent gates {}: {e}", file.interface);
            None
        }
    };
    Ok([Some(folder), interface])
}

/// A new secret for the keys of frames to this host, unless hosts do not seal them.
fn secret(seal: Seal) -> Result<Option<HostSecret>, Failure> {
    match seal {
        Seal::Siphash => Ok(Some(HostSecret(random_bytes()?))),
        Seal::None => {
            tracing::warn!("`seal` is \"none\": everybody on the network can forge frames between hosts");
            Ok(None)
        }
    }
}

/// The gate of an agent, with a new key.
fn gate_config(file: &AgentFile, mac: MacAddress) -> Result<GateConfig, Failure> {
    let channels = file.controllers.iter().map(|c| c.address);
    Ok(GateConfig {
        encodings: file.gate.encodings.clone(),
        mode: file.gate.mode,
        scope: file.gate.scope,
        lease: file.gate.lease,
        safe: file.gate.safe,
        max_hold: file.gate.max_hold,
        late_after: file.gate.late_after.at_first(),
        allowed: [Allowed::always(channels), file.gate.allow.clone()].concat(),
        pin: if file.gate.outlives { Some(pin_of(&file.interface)?) } else { None },
        ..GateConfig::new(&file.interface, mac, SignalKey(random_bytes()?))
    })
}

/// Runs an agent until `stop` is set.
///
/// # Errors
/// With an explanation for the user. If another agent runs in its folder or at its interface,
/// nothing has changed.
pub fn agent(path: &Path, stop: &Stop) -> Result<(), Failure> {
    let file: AgentFile = config::read(path)?;
    let identity = Identity::load(config::beside(path, &file.keys), &format!("host-{}", file.host))?;
    let _warning = ExpiryWarning::start(&identity)?;
    let _locks = only_agent(&file)?;
    let starts = Starts::new(&file.runtime, file.state.as_deref(), &format!("host-{}", file.host));
    let (mut epoch, _) = starts.next()?;
    while let Some(known) = run_agent(&file, &identity, epoch, stop)? {
        epoch = starts.above(known)?;
        tracing::warn!("a controller knows epoch {known} of host {}: starting again with {epoch}", file.host);
    }
    Ok(())
}

/// The connections of an agent to its controllers.
fn connect(
    file: &AgentFile,
    identity: &Identity,
    inbox: &Arc<Inbox<(usize, crate::channel::Event)>>,
) -> Result<Vec<Client>, Failure> {
    let mut controllers = Vec::new();
    for (place, controller) in file.controllers.iter().enumerate() {
        let heard = Arc::clone(inbox);
        let on_event = move |event| heard.push((place, event));
        controllers.push(Client::start(controller.address, &controller.name, identity, on_event)?);
    }
    Ok(controllers)
}

/// Runs an agent until `stop` is set, or until a controller tells a newer epoch of this host, which
/// is returned.
fn run_agent(file: &AgentFile, identity: &Identity, epoch: u32, stop: &Stop) -> Result<Option<u32>, Failure> {
    let mac = mac_of(&file.interface)?;
    let host = HostId(file.host);
    let gate = gate_config(file, mac)?;
    let secret = secret(file.seal)?;
    let first_stream = u32::from_ne_bytes(random_bytes()?);
    let mtu = usable_mtu(&file.interface)?;
    let streams =
        StreamsConfig { mtu, secret, first_stream, memory: file.memory, ..StreamsConfig::new(host, mac, epoch) };
    let shared = Shared::new(Streams::new(streams))?;
    let inbox = Inbox::new()?;
    if file.real_time {
        // The loop says so if it is not allowed.
        timed::real_time_helpers();
    }
    let controllers = connect(file, identity, &inbox)?;
    let config = AgentConfig {
        host,
        epoch,
        gate,
        late: file.gate.late_after,
        ip: ip_of(&file.interface)?,
        real_time: file.real_time,
        give_up_after: file.give_up_after,
    };
    let mut agent = LiveAgent::new(config, Arc::clone(&shared), controllers, inbox)?;
    let _tun = match &file.tun {
        Some(table) => Some(crate::agent::tun::start(table, host, Arc::clone(&shared), &mut agent)?),
        None => None,
    };
    let joined = file.runtime.join("joined");
    agent.on_joined(move |hosts| {
        // For scripts that wait; the status page and the socket tell as well.
        let beside = joined.with_extension("new");
        if std::fs::write(&beside, format!("{hosts}\n")).is_ok() {
            let _ = std::fs::rename(&beside, &joined);
        }
    });
    let _api = Api::start(&file.runtime.join("agent.sock"), Arc::clone(&shared), 0o660)?;
    if file.real_time {
        timed::no_real_time();
    }
    let pulse = agent.pulse();
    let page = file.status.map(|listen| {
        let metrics = status::of_agent(&agent.counters());
        let identity = identity.clone();
        metrics.expiry(move || identity.seconds_left());
        let pulse = pulse.clone();
        let of = Arc::clone(&shared);
        let status = move || of.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let ready = move || pulse.age() < Duration::from_secs(1);
        StatusPage::start(listen, file.runtime.join("status.token"), metrics, status, ready)
    });
    let _page = page.transpose()?;
    let alive = pulse.clone();
    let _watchdog = Watchdog::start(move || alive.age() < Duration::from_secs(1))?;
    service::ready(&format!("host {} at {}", file.host, file.interface));
    std::fs::write(file.runtime.join("ready"), "")?;
    let done = agent.run(stop);
    service::stopping();
    let _ = std::fs::remove_file(file.runtime.join("ready"));
    let last = serde_json::to_string(&agent.snapshot()).unwrap_or_default();
    let _ = std::fs::write(file.runtime.join("last.json"), last);
    // An agent that ends of its own accord takes its gate with it: what was gated is plain traffic
    // again.
    let kept = agent.pinned();
    drop(agent);
    if let Err(AgentError::Outranked { known }) = done {
        // The next one replaces the gate.
        return Ok(Some(known));
    }
    if let Some(folder) = kept {
        let _ = crate::gate::release(&folder);
    }
    done?;
    Ok(None)
}
