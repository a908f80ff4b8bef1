//! Configuration files of controller and agent.
//!
//! They are TOML; durations and rates are texts with units.

use crate::gate::{Allowed, Mode, SafeState, Scope};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use timeplane_model::{Bytes, Duration};
use timeplane_protocol::wire::SignalEncoding;

/// An invalid configuration file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// It is invalid; the message names line and key.
    #[error("{path}: {source}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// The error and its place.
        source: Box<toml::de::Error>,
    },
    /// Its interfaces leave open through which one a host hears its signals.
    #[error("{path}: `interfaces`: {why}")]
    Interfaces {
        /// The file.
        path: PathBuf,
        /// The error.
        why: String,
    },
}

/// Reads a configuration; paths in it that are not absolute are taken from where it lies by
/// [`beside`].
///
/// # Errors
/// If it cannot be read, or holds what it may not.
pub fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    toml::from_str(&text).map_err(|e| ConfigError::Parse { path: path.to_owned(), source: Box::new(e) })
}

/// `named` as it is meant in a file at `file`.
pub fn beside(file: &Path, named: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(named)
}

/// How frames between hosts are sealed. It must be the same on all hosts and controllers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seal {
    /// A tag of SipHash-2-4 on every frame.
    #[default]
    Siphash,
    /// No tag: everybody on the network can forge frames.
    None,
}

/// From when on a signal is too late to open a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// As the controller says: the guard of its plan.
    #[default]
    ByPlan,
    /// After this time.
    After(Duration),
    /// Never, so that delayed signals are obeyed.
    Never,
}

impl Late {
    /// The limit before a controller has said one.
    pub fn at_first(self) -> Option<Duration> {
        match self {
            Self::After(limit) => Some(limit),
            Self::ByPlan | Self::Never => None,
        }
    }
}

/// The address of another controller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerAddress {
    /// Address that it listens at.
    pub address: SocketAddr,
    /// The name in its certificate.
    #[serde(default = "first_controller")]
    pub name: String,
}

fn first_controller() -> String {
    "controller-0".to_owned()
}

/// Configuration file of a controller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerFile {
    /// The scenario, relative to this file.
    pub scenario: PathBuf,
    /// Name of the scheme to run.
    pub scheme: String,
    /// The interface for signals to hosts that no other interface lists.
    pub interface: String,
    /// Other interfaces, with the hosts behind each.
    #[serde(default)]
    pub interfaces: Vec<OtherInterface>,
    /// Address for connections of hosts.
    pub listen: SocketAddr,
    /// The folder with `ca.pem`, `NAME.pem` and `NAME.key`.
    pub keys: PathBuf,
    /// The folder for runtime files. It is not that of agents, which have files of the same names.
    #[serde(default = "controller_runtime")]
    pub runtime: PathBuf,
    /// The folder that keeps the number of the last start when the machine is started again;
    /// default: the one that systemd gives, if any.
    #[serde(default)]
    pub state: Option<PathBuf>,
    /// Which of several controllers it is: the name is `controller-PLACE`.
    #[serde(default)]
    pub place: u32,
    /// The other controllers.
    #[serde(default)]
    pub peers: Vec<ControllerAddress>,
    /// Encoding of signals.
    #[serde(default, deserialize_with = "encoding")]
    pub encoding: SignalEncoding,
    /// How hosts seal the frames between them: `siphash` or `none`.
    #[serde(default)]
    pub seal: Seal,
    /// Loopback address of the status page; none if missing.
    pub status: Option<SocketAddr>,
    /// A file with the token of the status page, 64 hexadecimal digits; missing: one is made at
    /// each start, in `status.token` of `runtime`.
    pub token: Option<PathBuf>,
    /// Whether to ask for real-time priority.
    #[serde(default = "yes")]
    pub real_time: bool,
    /// Log of planned slots, one line of JSON for each; none if missing.
    pub log: Option<PathBuf>,
    /// Folder of a BPF file system in which the circuit switch is pinned, for plans of circuits.
    pub circuits: Option<PathBuf>,
    /// Share of grants and rates to drop on purpose, 0 to 1. For labs with plans that tolerate
    /// losses.
    #[serde(default, deserialize_with = "share")]
    pub control_loss: f64,
}

/// Another interface of a controller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherInterface {
    /// Name in the controller's network namespace.
    pub name: String,
    /// Numbers of the hosts whose signals go out through it.
    pub hosts: Vec<u32>,
}

impl ControllerFile {
    /// Checks that each of `hosts` hosts is behind one interface. `path` is the file, for errors.
    ///
    /// # Errors
    /// If a host is unknown or behind two interfaces, or an interface is named twice.
    pub fn check_interfaces(&self, path: &Path, hosts: u32) -> Result<(), ConfigError> {
        let wrong = |why| Err(ConfigError::Interfaces { path: path.to_owned(), why });
        let (mut names, mut behind) = (vec![self.interface.as_str()], BTreeMap::new());
        for other in &self.interfaces {
            if names.contains(&other.name.as_str()) {
                return wrong(format!("`{}` is named twice; do not list the hosts behind `interface`", other.name));
            }
            names.push(&other.name);
            for &host in &other.hosts {
                if host >= hosts {
                    return wrong(format!("unknown host {host}: expected 0 to {}", hosts - 1));
                }
                if let Some(before) = behind.insert(host, &other.name) {
                    return wrong(format!("host {host} is behind `{before}` and `{}`", other.name));
                }
            }
        }
        Ok(())
    }
}

/// Configuration file of an agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentFile {
    /// Number of the host in the scenario. The daemon's name is `host-NUMBER`.
    pub host: u32,
    /// The interface to gate. Others are not touched.
    pub interface: String,
    /// Controllers to connect to.
    pub controllers: Vec<ControllerAddress>,
    /// The folder with `ca.pem`, `NAME.pem` and `NAME.key`.
    pub keys: PathBuf,
    /// The folder for files that exist while it runs, such as the socket for programs,
    /// `agent.sock`.
    #[serde(default = "runtime")]
    pub runtime: PathBuf,
    /// The folder that keeps the number of the last start when the machine is started again;
    /// default: the one that systemd gives, if any.
    #[serde(default)]
    pub state: Option<PathBuf>,
    /// Settings of the kernel's gate.
    #[serde(default)]
    pub gate: GateTable,
    /// How it seals frames to other hosts: `siphash` or `none`.
    #[serde(default)]
    pub seal: Seal,
    /// A TUN interface for unmodified programs; none if missing.
    pub tun: Option<TunTable>,
    /// Loopback address of the status page; none if missing.
    pub status: Option<SocketAddr>,
    /// Whether to ask for real-time priority.
    #[serde(default = "yes")]
    pub real_time: bool,
    /// How long another host may be away before programs that send to it or receive from it get an
    /// error; `10 s` by default. A host is away if no connected controller knows it.
    #[serde(default = "give_up_after", deserialize_with = "positive")]
    pub give_up_after: Duration,
    /// Memory for the bytes of all programs' streams; `256 MB` by default. Each stream may take up
    /// to 64 KiB, and a stream that comes 128 KiB, in addition.
    #[serde(default = "memory")]
    pub memory: Bytes,
}

/// Configuration of a gate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GateTable {
    /// `enforce` or `observe`.
    pub mode: Mode,
    /// `slots` or `all`.
    pub scope: Scope,
    /// How long it trusts a controller that is silent.
    pub lease: Duration,
    /// Its state after the lease: `closed` or `open`.
    pub safe: SafeState,
    /// The longest time for which a signal can open a class.
    pub max_hold: Duration,
    /// How late a signal may be and still open a class: a time, `never` if times of signals do not
    /// matter, or by default the guard of the plan.
    #[serde(deserialize_with = "late")]
    pub late_after: Late,
    /// Encodings of signals to accept.
    #[serde(deserialize_with = "encodings")]
    pub encodings: Vec<SignalEncoding>,
    /// Traffic that passes under `scope = "all"`, in addition to ARP, neighbor discovery, SSH of
    /// root's sockets, and the demand channel to `controllers`. Examples: `tcp/443`, `udp/53`,
    /// `ip/1`, `ether/0x88cc`. A port is open to every program that binds it.
    #[serde(deserialize_with = "allowed")]
    pub allow: Vec<Allowed>,
    /// Whether the gate stays in its last state when its agent crashes, and closes or opens after
    /// its lease. `release` removes it.
    pub outlives: bool,
}

impl Default for GateTable {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            scope: Scope::default(),
            lease: Duration::from_ms(1000),
            safe: SafeState::default(),
            max_hold: Duration::from_ms(1000),
            late_after: Late::default(),
            encodings: vec![SignalEncoding::default()],
            allow: Vec::new(),
            outlives: true,
        }
    }
}

/// A TUN interface. IP packets to its network are sent in slots.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunTable {
    /// Interface name; `tp0` by default.
    #[serde(default = "tun_name")]
    pub name: String,
    /// The network of all hosts. Host n has its address n + 1.
    pub network: Ipv4Addr,
    /// Length of the network's prefix, in bits.
    #[serde(default = "prefix")]
    pub prefix: u8,
}

fn tun_name() -> String {
    "tp0".to_owned()
}
const fn prefix() -> u8 {
    16
}
const fn yes() -> bool {
    true
}
const fn memory() -> Bytes {
    Bytes::mb(256)
}
const fn give_up_after() -> Duration {
    Duration::from_secs(10)
}
fn runtime() -> PathBuf {
    PathBuf::from("/run/timeplane")
}
fn controller_runtime() -> PathBuf {
    PathBuf::from("/run/timeplane-controller")
}

const ENCODINGS: [(&str, SignalEncoding); 5] = [
    ("experimental", SignalEncoding::Experimental),
    ("mac_control", SignalEncoding::MacControl),
    ("pfc", SignalEncoding::Pfc),
    ("udp", SignalEncoding::Udp),
    ("plain_pfc_insecure", SignalEncoding::PlainPfc),
];

fn named<E: serde::de::Error>(name: &str) -> Result<SignalEncoding, E> {
    encoding_named(name).map_err(E::custom)
}

/// Finds an encoding by its name.
///
/// # Errors
/// If there is none: what there is.
pub fn encoding_named(name: &str) -> Result<SignalEncoding, String> {
    let found = ENCODINGS.iter().find(|e| e.0 == name);
    found.map(|e| e.1).ok_or_else(|| {
        let all: Vec<&str> = ENCODINGS.iter().map(|e| e.0).collect();
        let near = timeplane_model::nearest(name, all.iter().copied());
        let near = near.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        format!("unknown encoding `{name}`: expected one of {}{near}", all.join(", "))
    })
}

/// The name of an encoding in files.
pub fn name_of(encoding: SignalEncoding) -> &'static str {
    ENCODINGS.iter().find(|e| e.1 == encoding).map_or("", |e| e.0)
}

fn share<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(d)?;
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err(serde::de::Error::custom(format_args!("a share of {share}: expected 0 to 1")))
}

fn positive<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    let time = Duration::deserialize(d)?;
    if time > Duration::ZERO {
        return Ok(time);
    }
    Err(serde::de::Error::custom(format_args!("a time of {time}: expected more than zero")))
}

fn late<'de, D: Deserializer<'de>>(d: D) -> Result<Late, D::Error> {
    let text = String::deserialize(d)?;
    match text.parse::<Duration>() {
        _ if text == "never" => Ok(Late::Never),
        Ok(limit) if limit > Duration::ZERO => Ok(Late::After(limit)),
        _ => Err(serde::de::Error::custom(format_args!(
            "invalid time `{text}`: expected more than zero, such as \"200 us\", or \"never\""
        ))),
    }
}

fn encoding<'de, D: Deserializer<'de>>(d: D) -> Result<SignalEncoding, D::Error> {
    named(&String::deserialize(d)?)
}

fn encodings<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<SignalEncoding>, D::Error> {
    Vec::<String>::deserialize(d)?.iter().map(|n| named(n)).collect()
}

fn allowed<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Allowed>, D::Error> {
    let one = |text: &String| {
        let number = |n: &str| match n.strip_prefix("0x") {
            Some(hex) => u16::from_str_radix(hex, 16).ok(),
            None => n.parse().ok(),
        };
        let (kind, n) = text.split_once('/')?;
        let n = number(n)?;
        Some(match kind {
            "tcp" => Allowed::Tcp(n),
            "udp" => Allowed::Udp(n),
            "ip" => Allowed::Protocol(u8::try_from(n).ok()?),
            "ether" => Allowed::EtherType(n),
            _ => return None,
        })
    };
    let texts = Vec::<String>::deserialize(d)?;
    let all = texts.iter().map(|text| {
        let wrong = || {
            format!("invalid traffic `{text}`: expected `tcp/PORT`, `udp/PORT`, `ip/PROTOCOL` or `ether/TYPE`, such as tcp/443")
        };
        one(text).ok_or_else(|| serde::de::Error::custom(wrong()))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(more: &str) -> Result<AgentFile, ConfigError> {
        let dir =
            std::env::temp_dir().join(format!("tp-config-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("agent.toml");
        let text = format!(
            "host = 3\ninterface = \"eth0\"\nkeys = \"keys\"\ncontrollers = [{{ address = \"10.0.0.1:51208\" }}]\n{more}"
        );
        std::fs::write(&file, text).unwrap();
        let read = read(&file);
        std::fs::remove_dir_all(&dir).unwrap();
        read
    }

    #[test]
    fn a_short_file_is_enough() {
        let file = agent("").unwrap();
        assert_eq!(
            (file.host, file.controllers[0].name.as_str(), file.gate.safe),
            (3, "controller-0", SafeState::Closed)
        );
        assert_eq!((file.gate.lease, file.give_up_after), (Duration::from_ms(1000), Duration::from_secs(10)));
        assert_eq!((file.memory, agent("memory = \"1 GB\"").unwrap().memory), (Bytes::mb(256), Bytes::mb(1000)));
        assert_eq!(agent("give_up_after = \"90 s\"").unwrap().give_up_after, Duration::from_secs(90));
        assert_eq!((file.gate.lease, file.seal), (Duration::from_ms(1000), Seal::Siphash));
        assert_eq!(agent("seal = \"none\"").unwrap().seal, Seal::None);
        let late = |text: &str| agent(&format!("[gate]\nlate_after = \"{text}\"")).unwrap().gate.late_after;
        assert_eq!((file.gate.late_after, late("never")), (Late::ByPlan, Late::Never));
        assert_eq!(late("300 us").at_first(), Some(Duration::from_us(300)));
        let file = agent("[gate]\nmode = \"observe\"\nlease = \"20 ms\"\nencodings = [\"pfc\"]\nallow = [\"tcp/443\", \"ether/0x88cc\"]").unwrap();
        assert_eq!(file.gate.allow, [Allowed::Tcp(443), Allowed::EtherType(0x88cc)]);
        assert_eq!((file.gate.mode, file.gate.lease), (Mode::Observe, Duration::from_ms(20)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let said = |more: &str| agent(more).unwrap_err().to_string();
        for (more, words) in [
            ("[gate]\nmodus = 1", &["line 6", "modus", "mode"][..]),
            ("[gate]\nencodings = [\"pcf\"]", &["line 6", "unknown encoding `pcf`", "did you mean `pfc`?"]),
            ("[gate]\nallow = [\"tcp/ssh\"]", &["line 6", "`tcp/ssh`", "tcp/PORT"]),
            ("[gate]\nlease = 5", &["line 6"]),
            ("status = \"here\"", &["line 5"]),
            ("[gate]\nlate_after = \"0 us\"", &["line 6", "`0 us`", "more than zero", "never"]),
            ("[gate]\nlate_after = \"off\"", &["line 6", "`off`", "never"]),
            ("give_up_after = \"0 s\"", &["line 5", "expected more than zero"]),
            ("seal = \"off\"", &["line 5", "off", "siphash", "none"]),
        ] {
            let text = said(more);
            assert!(words.iter().all(|w| text.contains(w)), "{more}: {text}");
        }
    }

    #[test]
    fn a_host_is_behind_one_interface() {
        let check = |interfaces: &str| {
            let text = format!(
                "scenario = \"s.toml\"\nscheme = \"slots\"\ninterface = \"eth0\"\nlisten = \"10.0.0.1:51208\"\nkeys = \"keys\"\n{interfaces}"
            );
            let file: ControllerFile = toml::from_str(&text).unwrap();
            file.check_interfaces(Path::new("controller.toml"), 8).map_err(|e| e.to_string())
        };
        assert_eq!(check(""), Ok(()));
        assert_eq!(
            check("interfaces = [{ name = \"eth1\", hosts = [4, 7] }, { name = \"eth2\", hosts = [5] }]"),
            Ok(())
        );
        for (interfaces, why) in [
            ("{ name = \"eth0\", hosts = [1] }", "`eth0` is named twice; do not list the hosts behind `interface`"),
            ("{ name = \"eth1\", hosts = [8] }", "unknown host 8: expected 0 to 7"),
            ("{ name = \"a\", hosts = [1] }, { name = \"b\", hosts = [0, 1] }", "host 1 is behind `a` and `b`"),
        ] {
            let said = check(&format!("interfaces = [{interfaces}]")).unwrap_err();
            assert_eq!(said, format!("controller.toml: `interfaces`: {why}"));
        }
    }

    #[test]
    fn the_files_of_the_guide_can_be_read() {
        let guide = include_str!("../../../docs/live.md");
        let file = |name: &str| {
            let begin = format!("```toml\n# {name}\n");
            let (_, rest) = guide.split_once(&begin).unwrap_or_else(|| panic!("docs/live.md has no {name}"));
            rest.split_once("```").unwrap().0
        };
        let controller: ControllerFile = toml::from_str(file("controller.toml")).unwrap();
        let agent: AgentFile = toml::from_str(file("agent.toml")).unwrap();
        assert_eq!(controller.listen, agent.controllers[0].address);
        // Both may run on one machine.
        assert_ne!(controller.runtime, agent.runtime);
        let unit = include_str!("../systemd/timeplane-controller.service");
        assert!(unit.contains(&format!("\nRuntimeDirectory={}\n", controller.runtime.file_name().unwrap().display())));
        assert_eq!(agent.controllers[0].name, format!("controller-{}", controller.place));
        assert!(agent.tun.is_some());
    }
}
