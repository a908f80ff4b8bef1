//! The gate of a host in the kernel: which classes of frames may leave, and until when.
//!
//! `bpf/gate.bpf.c` describes its behavior. Signals open and close it without any process;
//! [`Gate::open`] is for rates, which arrive over the demand channel. The gate can be
//! [pinned](GateConfig::pin). It then outlives a dead agent in its last state until its lease ends,
//! and [`release`] removes it.

use crate::bpf::{self, BpfError};
use crate::tcx;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use timeplane_model::{Duration, Rate};
use timeplane_protocol::wire::{MacAddress, PORT, SignalEncoding, SignalKey};

/// How a gate treats frames outside of their slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Counts the frames, and lets them pass.
    Observe,
    /// Drops the frames.
    #[default]
    Enforce,
}

/// Which frames are gated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Frames of agents, which have a class. All others pass.
    #[default]
    Slots,
    /// All frames. Those without a class pass only if they are [allowed](Allowed).
    All,
}

/// State of a gate once controllers have been silent for its lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SafeState {
    /// Closed, for a fabric that must not carry frames outside of slots.
    #[default]
    Closed,
    /// Open, for a network that must not stop.
    Open,
}

/// Traffic that a gate never stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allowed {
    /// All frames of an EtherType.
    EtherType(u16),
    /// All packets of an IP protocol.
    Protocol(u8),
    /// TCP segments from or to a port.
    Tcp(u16),
    /// UDP datagrams from or to a port.
    Udp(u16),
    /// TCP segments from or to a port, of sockets that root has made.
    TcpOfRoot(u16),
    /// TCP segments to a port of one address.
    TcpTo(SocketAddr),
}

impl Allowed {
    /// Traffic that is always allowed: ARP, ICMPv6 (neighbor discovery), SSH of root's sockets, and
    /// the demand channels to these addresses of controllers.
    ///
    /// The rules for TCP name more than a port, because any program can bind a port.
    pub fn always(controllers: impl IntoIterator<Item = SocketAddr>) -> Vec<Self> {
        let fixed = [Self::EtherType(0x0806), Self::Protocol(58), Self::TcpOfRoot(22)];
        fixed.into_iter().chain(controllers.into_iter().map(Self::TcpTo)).collect()
    }

    /// Key and value in the kernel's map.
    fn entry(self) -> ([u8; 24], [u8; 1]) {
        let (ether_type, port, protocol) = match self {
            Self::EtherType(t) => (t, 0, 0),
            Self::Protocol(p) => (0, 0, p),
            Self::Tcp(port) | Self::TcpOfRoot(port) => (0, port, 6),
            Self::TcpTo(to) => (0, to.port(), 6),
            Self::Udp(port) => (0, port, 17),
        };
        let mut key = [0; 24];
        key[..2].copy_from_slice(&ether_type.to_ne_bytes());
        key[2..4].copy_from_slice(&port.to_ne_bytes());
        key[4] = protocol;
        if let Self::TcpTo(to) = self {
            let address = match to.ip() {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            key[8..].copy_from_slice(&address.octets());
        }
        (key, [if matches!(self, Self::TcpOfRoot(_)) { 2 } else { 1 }])
    }
}

/// Configuration of a gate.
#[derive(Clone, Debug)]
pub struct GateConfig {
    /// The interface, in the network namespace of the calling thread.
    pub interface: String,
    /// MAC address of the interface. Signals for other addresses are not obeyed.
    pub mac: MacAddress,
    /// Key that signals are sealed with.
    pub key: SignalKey,
    /// Encodings of signals to accept.
    pub encodings: Vec<SignalEncoding>,
    /// How frames outside of their slots are treated.
    pub mode: Mode,
    /// Which frames are gated.
    pub scope: Scope,
    /// How long a signal or rate remains valid, at most a day.
    pub lease: Duration,
    /// State after the lease.
    pub safe: SafeState,
    /// The longest time for which a signal can open a class, at most a day.
    pub max_hold: Duration,
    /// How late a signal may open a class, at most a day. If `None`, times of signals do not
    /// matter, and holds count from the arrival. See [`Fastest`](crate::lateness::Fastest).
    pub late_after: Option<Duration>,
    /// Traffic that passes under [`Scope::All`].
    pub allowed: Vec<Allowed>,
    /// A folder of a BPF file system (mounted if there is none), and the gate's name in it. The
    /// gate then outlives the process. If `None`, it ends with its value.
    pub pin: Option<(PathBuf, String)>,
}

impl GateConfig {
    /// Defaults: gates agents' frames, accepts the default encoding, closes after a second of
    /// silence, does not judge times of signals, and is not pinned.
    pub fn new(interface: &str, mac: MacAddress, key: SignalKey) -> Self {
        Self {
            interface: interface.to_owned(),
            mac,
            key,
            encodings: vec![SignalEncoding::default()],
            mode: Mode::default(),
            scope: Scope::default(),
            lease: Duration::from_ms(1000),
            safe: SafeState::default(),
            max_hold: Duration::from_ms(1000),
            late_after: None,
            allowed: Allowed::always([]),
            pin: None,
        }
    }

    fn settings(&self) -> [u8; 56] {
        let bit = |e: &SignalEncoding| match e {
            SignalEncoding::Experimental => 1u32,
            SignalEncoding::MacControl => 2,
            SignalEncoding::Pfc => 4,
            SignalEncoding::Udp => 8,
            SignalEncoding::PlainPfc => 16,
        };
        let encodings = self.encodings.iter().map(bit).fold(0, |all, one| all | one);
        let flags = u32::from(self.mode == Mode::Enforce)
            | u32::from(self.scope == Scope::All) << 1
            | u32::from(self.safe == SafeState::Open) << 2;
        let mut s = [0; 56];
        s[..16].copy_from_slice(&kernel_key(&self.key));
        s[16..24].copy_from_slice(&nanoseconds(self.lease).to_ne_bytes());
        s[24..32].copy_from_slice(&nanoseconds(self.max_hold).to_ne_bytes());
        s[32..40].copy_from_slice(&self.late_after.map_or(u64::MAX, nanoseconds).to_ne_bytes());
        s[40..44].copy_from_slice(&flags.to_ne_bytes());
        s[44..48].copy_from_slice(&encodings.to_ne_bytes());
        s[48..50].copy_from_slice(&PORT.to_be_bytes());
        s[50..56].copy_from_slice(&self.mac.0);
        s
    }
}

/// The key as the kernel's programs use it: two numbers in native byte order.
pub(crate) fn kernel_key(key: &SignalKey) -> [u8; 16] {
    let mut halves = [0; 16];
    for (i, half) in key.0.chunks_exact(8).enumerate() {
        let number = half.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
        halves[8 * i..8 * i + 8].copy_from_slice(&number.to_ne_bytes());
    }
    halves
}

/// The duration in nanoseconds, at most a day.
fn nanoseconds(d: Duration) -> u64 {
    (d.as_ps() / 1000).clamp(0, 86_400_000_000_000) as u64
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Counters of a gate since it was first attached.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct GateCounters {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }
        impl GateCounters {
            /// Names and values, in the order of the kernel's counters.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
            fn of(values: &[u64]) -> Self {
                let mut values = values.iter().copied();
                Self { $($name: values.next().unwrap_or(0)),+ }
            }
        }
        const COUNTERS: u32 = [$(stringify!($name)),+].len() as u32;
    };
}

counters! {
    /// Signals obeyed.
    obeyed,
    /// Signals with a wrong tag.
    forged,
    /// Signals older than one that was obeyed: replayed, duplicated, reordered, or from a replaced
    /// controller.
    stale,
    /// Signals that arrived too late to open their class. They only closed the one before.
    late,
    /// Invalid signals.
    malformed,
    /// Signals in an encoding that is not accepted.
    unwanted,
    /// Signals for another station.
    other_station,
    /// Frames of an open class.
    passed,
    /// Bytes of these frames, without FCS.
    passed_bytes,
    /// Frames dropped.
    gated,
    /// Their bytes, without FCS.
    gated_bytes,
    /// Frames that [`Mode::Enforce`] would have dropped.
    would_gate,
    /// Frames that exceeded the rate of their class. They also count as dropped or passed by
    /// [`Mode::Observe`].
    too_fast,
    /// Frames that passed while controllers were silent.
    unscheduled,
    /// Repair reports, which no gate stops.
    repairs,
    /// Allowed frames, under [`Scope::All`].
    allowed,
    /// Frames without a class, under [`Scope::Slots`].
    other,
}

/// A host's gate.
#[derive(Debug)]
pub struct Gate {
    settings: MapHandle,
    renewals: MapHandle,
    ruling: MapHandle,
    clocks: MapHandle,
    gates: MapHandle,
    counters: MapHandle,
    /// Links of the programs. Dropping them detaches the programs unless they are pinned.
    _links: Vec<Link>,
    by_xdp: bool,
}

/// State of a class in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassState {
    /// Time of the last opening, in ns of the monotonic clock.
    pub opened_ns: u64,
    /// End of the opening, in ns of the monotonic clock.
    pub until_ns: u64,
}

impl Gate {
    /// Attaches the programs to an interface of this thread's network namespace. A pinned gate is
    /// replaced atomically, and keeps its counters.
    ///
    /// All classes are closed and no signal is known, as the key is new with every start of an
    /// agent.
    ///
    /// # Errors
    /// If the interface does not exist or the kernel refuses.
    pub fn attach(config: &GateConfig) -> Result<Self, BpfError> {
        let Some((root, name)) = &config.pin else { return Self::load(config, None) };
        let folder = bpf::pin_folder(root, name)?;
        Self::load(config, Some(&folder)).or_else(|_| {
            // A gate of another version: its maps have another layout.
            release(&folder).map_err(|source| BpfError::Pin { path: folder.display().to_string(), source })?;
            let folder = bpf::pin_folder(root, name)?;
            // The interface may have gone meanwhile. Nobody would remove the maps of this gate.
            Self::load(config, Some(&folder)).inspect_err(|_| drop(release(&folder)))
        })
    }

    fn load(config: &GateConfig, folder: Option<&Path>) -> Result<Self, BpfError> {
        let ifindex = bpf::interface_index(&config.interface)?;
        let loading = || BpfError::refused("loading the gate");
        let mut open: OpenObject = ObjectBuilder::default().open_memory(bpf::GATE).map_err(loading())?;
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            // The compiler's own maps of constants, such as `.rodata`, belong to the program.
            if let Some(folder) = folder.filter(|_| !name.starts_with('.')) {
                map.set_pin_path(folder.join(name)).map_err(loading())?;
            }
        }
        let object = open.load().map_err(loading())?;
        let map = |name: &str| {
            let map = object.maps().find(|m| m.name() == name).expect("a map of the object it was compiled from");
            MapHandle::try_from(&map).map_err(loading())
        };
        let (settings, states, gates, counters) = (map("settings")?, map("states")?, map("gates")?, map("counters")?);
        let (renewals, ruling) = (map("renewals")?, map("ruling")?);
        let (clocks, allow) = (map("clocks")?, map("allow")?);
        let write = || BpfError::refused("writing the gate's maps");
        // A state of zeros has obeyed no signal. The key changes first, so that signals with the
        // old key are refused.
        settings.update(&ZERO, &config.settings(), MapFlags::ANY).map_err(write())?;
        for map in [&states, &renewals, &ruling, &clocks] {
            map.update(&ZERO, &vec![0; map.value_size() as usize], MapFlags::ANY).map_err(write())?;
        }
        for key in allow.keys() {
            allow.delete(&key).map_err(write())?;
        }
        // Of two rules for the same traffic the last one counts: an operator's comes behind those
        // that there always are.
        for (key, whose) in config.allowed.iter().map(|a| a.entry()) {
            allow.update(&key, &whose, MapFlags::ANY).map_err(write())?;
        }
        let mut gate = Self { settings, renewals, ruling, clocks, gates, counters, _links: Vec::new(), by_xdp: true };
        for class in 0..CLASSES {
            gate.close(class)?;
        }
        gate.put_in_place(&object, ifindex, &config.interface, folder)?;
        Ok(gate)
    }

    fn put_in_place(
        &mut self,
        object: &Object,
        ifindex: i32,
        interface: &str,
        folder: Option<&Path>,
    ) -> Result<(), BpfError> {
        let refused = |what: &str| BpfError::refused(format!("{what} at {interface}"));
        let place = |name: &str, attach: &dyn Fn() -> Result<Link, libbpf_rs::Error>| {
            let Some(folder) = folder else { return attach() };
            let path = folder.join(format!("link_{name}"));
            if path.exists() {
                let mut link = Link::open(&path)?;
                link.update_prog(&bpf::program(object, name))?;
                return Ok(link);
            }
            let mut link = attach()?;
            link.pin(&path)?;
            Ok(link)
        };
        let by_tc = || tcx::attach(&bpf::program(object, "hear_tc"), interface).map_err(Into::into);
        let by_xdp = || bpf::program(object, "hear_xdp").attach_xdp(ifindex);
        let ears = match place("hear_xdp", &by_xdp) {
            Ok(link) => link,
            Err(_) => {
                self.by_xdp = false;
                place("hear_tc", &by_tc).map_err(refused("hearing signals"))?
            }
        };
        let egress = || tcx::attach(&bpf::program(object, "gate"), interface).map_err(Into::into);
        let gate = place("gate", &egress).map_err(refused("the gate"))?;
        self._links = vec![ears, gate];
        Ok(())
    }

    /// Whether XDP receives the signals. If the interface does not support XDP, tc does.
    pub fn by_xdp(&self) -> bool {
        self.by_xdp
    }

    /// Opens a class for a time from now on, with or without a rate limit.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn open(&self, class: u16, hold: Duration, rate: Option<Rate>) -> Result<(), BpfError> {
        let now = crate::clock::monotonic_ns();
        let bytes_per_second = rate.map_or(0, |r| (r.as_bps() / 8).max(1));
        self.write(class, now, now + nanoseconds(hold), bytes_per_second)
    }

    /// Closes a class.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn close(&self, class: u16) -> Result<(), BpfError> {
        self.write(class, 0, 0, 0)
    }

    fn write(&self, class: u16, opened: u64, until: u64, rate: u64) -> Result<(), BpfError> {
        let mut value = [0; 32];
        value[..8].copy_from_slice(&opened.to_ne_bytes());
        value[8..16].copy_from_slice(&until.to_ne_bytes());
        value[16..24].copy_from_slice(&rate.to_ne_bytes());
        let key = u32::from(class).to_ne_bytes();
        self.gates.update(&key, &value, MapFlags::ANY).map_err(BpfError::refused("opening a class"))
    }

    /// Renews the lease, as messages over the demand channel also show that the controller is
    /// alive.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn renew(&self, lease: Duration) -> Result<(), BpfError> {
        let until = crate::clock::monotonic_ns() + nanoseconds(lease);
        let renewed = self.renewals.update(&ZERO, &until.to_ne_bytes(), MapFlags::ANY);
        renewed.map_err(BpfError::refused("renewing the lease"))
    }

    /// From now on the gate obeys no signal of a controller with a lower epoch, even before it
    /// hears the first signal of the new one.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn obey_from(&self, epoch: u32) -> Result<(), BpfError> {
        let written = self.ruling.update(&ZERO, &epoch.to_ne_bytes(), MapFlags::ANY);
        written.map_err(BpfError::refused("writing the epoch of the controller"))
    }

    /// Tells the gate the least difference between this machine's clock and that of the controller
    /// of an epoch, in nanoseconds of both, as messages over the demand channel show it. It counts
    /// for ten seconds, and bounds the delay that all signals may have.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn measured(&self, epoch: u32, difference: i64) -> Result<(), BpfError> {
        let mut value = [0; 24];
        value[4..8].copy_from_slice(&epoch.to_ne_bytes());
        value[8..16].copy_from_slice(&difference.to_ne_bytes());
        value[16..].copy_from_slice(&crate::clock::monotonic_ns().to_ne_bytes());
        let written = self.clocks.update(&ZERO, &value, MapFlags::LOCK);
        written.map_err(BpfError::refused("writing the difference of clocks"))
    }

    /// Current state of a class.
    pub fn class(&self, class: u16) -> Option<ClassState> {
        let value = self.gates.lookup(&u32::from(class).to_ne_bytes(), MapFlags::ANY).ok()??;
        let number = |at: usize| value.get(at..at + 8).map(|b| u64::from_ne_bytes(b.try_into().unwrap_or_default()));
        Some(ClassState { opened_ns: number(0)?, until_ns: number(8)? })
    }

    /// The current counters.
    pub fn counters(&self) -> GateCounters {
        let one = |i: u32| {
            let cpus = self.counters.lookup_percpu(&i.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
            cpus.iter().filter_map(|v| v.as_slice().try_into().ok()).map(u64::from_ne_bytes).sum()
        };
        GateCounters::of(&(0..COUNTERS).map(one).collect::<Vec<u64>>())
    }

    /// Changes the settings in place: mode, scope, lease and the state after it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn configure(&self, config: &GateConfig) -> Result<(), BpfError> {
        self.settings.update(&ZERO, &config.settings(), MapFlags::ANY).map_err(BpfError::refused("changing the gate"))
    }
}

const ZERO: [u8; 4] = [0; 4];
const CLASSES: u16 = 2048;

/// Removes a pinned gate, whichever process made it. All frames pass then.
///
/// # Errors
/// If a file of the folder cannot be removed.
pub fn release(folder: &Path) -> std::io::Result<()> {
    // Detaches the programs first, as a gate without its pinned maps would still be in force.
    // Removing the pin alone detaches a program only some time later.
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    entries.sort_by_key(|p| !p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("link_")));
    for path in &entries {
        if let Ok(link) = Link::open(path) {
            // A program whose interface is gone cannot be detached. It disappears with its pin, and
            // must not block a new gate.
            let _ = link.detach();
        }
        std::fs::remove_file(path)?;
    }
    std::fs::remove_dir(folder)
}
