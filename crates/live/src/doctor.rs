//! `timeplane live doctor`: finds out which features work on this machine by trying them.
//!
//! A kernel's version does not tell how it was built, nor a capability what a container permits.
//! The doctor therefore loads and attaches the programs of the daemons in temporary namespaces.

use crate::acks::AckRedirect;
use crate::gate::{Gate, GateConfig};
use crate::netns::{Namespace, veth};
use crate::observer::Observer;
use crate::packet_socket::PacketSocket;
use crate::proxy::WindowControl;
use crate::timed;
use clap::Args;
use serde::Serialize;
use std::fmt::Display;
use timeplane_protocol::wire::{ETHER_TYPE_EXPERIMENTAL, MacAddress, SignalKey};

/// Arguments of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// Result of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// Name of the feature.
    pub what: &'static str,
    /// What needs the feature.
    pub needed_for: &'static str,
    /// Whether it works.
    pub works: bool,
    /// Whether the feature is required, as it has no replacement.
    pub required: bool,
    /// Details: the variant that works, or why none does.
    pub found: String,
    /// Remedy; empty if the feature works.
    pub remedy: &'static str,
}

/// Remedy if the kernel refuses a BPF program.
pub const OLD_KERNEL: &str =
    "Linux 6.6 or newer with CONFIG_BPF_SYSCALL, and the capabilities BPF, NET_ADMIN and PERFMON are required";
const NOT_ROOT: &str = "run this program as root, or with the capabilities NET_ADMIN, NET_RAW and SYS_ADMIN";

/// Describes the result of a trial.
pub fn trial<T, E: Display>(
    what: &'static str,
    needed_for: &'static str,
    remedy: &'static str,
    done: Result<T, E>,
    found: impl FnOnce(T) -> String,
) -> Trial {
    let (works, found) = match done {
        Ok(value) => (true, found(value)),
        Err(why) => (false, why.to_string()),
    };
    Trial { what, needed_for, works, required: true, found, remedy: if works { "" } else { remedy } }
}

/// The same for a feature that has a replacement.
pub fn optional(trial: Trial) -> Trial {
    Trial { required: false, ..trial }
}

/// Tries the features that the daemons need, and removes all traces. Takes a second or two.
pub fn examine() -> Vec<Trial> {
    examine_with(&|_, _| Vec::new())
}

/// Tries the features that the daemons need, then `more` between two namespaces connected by `eth0`
/// and `eth1`.
pub fn examine_with(more: &dyn Fn(&Namespace, &Namespace) -> Vec<Trial>) -> Vec<Trial> {
    // The trials report libbpf's messages themselves.
    libbpf_rs::set_print(None);
    let none = |()| String::new();
    let mut trials = vec![kernel(), capabilities(), type_information()];
    // Runs on a temporary thread, so that the priority ends with it.
    let real_time = std::thread::spawn(timed::real_time).join().unwrap_or(false);
    let real_time = if real_time { Ok(()) } else { Err("the system refuses SCHED_FIFO") };
    trials.push(optional(trial(
        "real-time priority",
        "punctual slots on a busy machine",
        "grant the capability SYS_NICE, or plan guards of several milliseconds",
        real_time,
        none,
    )));
    let name = format!("tpdoctor{}", std::process::id());
    let pair = || -> Result<(Namespace, Namespace), crate::netns::NetError> {
        let (a, b) = (Namespace::create(&format!("{name}a"))?, Namespace::create(&format!("{name}b"))?);
        veth((&a, "eth0", "02:00:00:00:00:01"), (&b, "eth0", "02:00:00:00:00:02"))?;
        veth((&a, "eth1", "02:00:00:00:00:03"), (&b, "eth1", "02:00:00:00:00:04"))?;
        Ok((a, b))
    };
    let pair = pair();
    let namespaces = pair.as_ref().map(drop);
    trials.push(trial("namespaces and virtual links", "labs on one machine", NOT_ROOT, namespaces, none));
    let Ok((a, b)) = pair else { return trials };
    let inside = |f: &(dyn Fn() -> Trial + Sync)| a.enter(f).unwrap_or_else(|e| unexpected(&e));

    trials.push(inside(&|| {
        let opened = PacketSocket::open("eth0", ETHER_TYPE_EXPERIMENTAL);
        trial("raw Ethernet", "controllers and agents", "grant the capability NET_RAW", opened, |_| String::new())
    }));
    trials.push(inside(&|| {
        let config = GateConfig::new("eth0", MacAddress([2, 0, 0, 0, 0, 1]), SignalKey([0; 16]));
        let by = |gate: Gate| format!("receives signals by {}", if gate.by_xdp() { "XDP" } else { "tc" });
        trial("gate (XDP, tcx)", "agents", OLD_KERNEL, Gate::attach(&config), by)
    }));
    trials.push(inside(&|| {
        let observer = Observer::attach(&["eth0"], MacAddress([2, 0, 0, 0, 0, 9]));
        trial("observer (tcx, ring buffer)", "`observe`, and figures of labs", OLD_KERNEL, observer, |_| String::new())
    }));
    trials.push(inside(&|| {
        let redirect = AckRedirect::attach("eth0", "eth1", None);
        optional(trial("redirect (tcx)", "acknowledgements on another wire", OLD_KERNEL, redirect, |_| String::new()))
    }));
    trials.push(inside(&|| {
        let scheme = WindowControl::load();
        let remedy = "use Linux 6.6 or newer with BTF; otherwise the proxy sets send buffers, which is less exact";
        let name = |c: WindowControl| format!("registered as {}", c.name());
        optional(trial("congestion control (struct_ops)", "exact windows of the proxy", remedy, scheme, name))
    }));
    trials.push(inside(&|| {
        let device = tun_rs::DeviceBuilder::new().name("tun0").ipv4("10.99.0.1", 24, None).build_sync();
        let remedy = "run `modprobe tun`, and pass /dev/net/tun into a container";
        trial("TUN", "unmodified programs under slots; emulated links", remedy, device, |_| String::new())
    }));
    trials.extend([departures(&b, "departure times (fq)", "fq"), departures(&b, "departure times (etf)", ETF)]);
    trials.extend(more(&a, &b));
    trials
}

/// `etf` by the only clock that it accepts without help of the interface.
const ETF: &str = "etf clockid CLOCK_TAI delta 200000 skip_sock_check";

/// Whether the kernel could send packets at their times.
fn departures(at: &Namespace, what: &'static str, qdisc: &str) -> Trial {
    let made = at.tc(&format!("qdisc replace dev eth1 root {qdisc}")).map(drop);
    let remedy = "nothing to do: the agent's thread sends timeslots, with real-time priority if it may";
    optional(trial(what, "timeslots by the kernel, which agents do not use", remedy, made, |()| String::new()))
}

/// The trial's namespace could not be entered.
pub fn unexpected(e: &dyn Display) -> Trial {
    trial("a namespace", "labs on one machine", NOT_ROOT, Err::<(), _>(e), |()| String::new())
}

/// Only informative: the trials below decide.
fn kernel() -> Trial {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    let release = release.map(|r| r.trim().to_owned());
    trial("kernel", "everything", "use Linux 6.6 or newer", release, |release| release)
}

/// Bits of linux/capability.h.
const CAPABILITIES: [(&str, u32); 6] =
    [("NET_ADMIN", 12), ("NET_RAW", 13), ("SYS_ADMIN", 21), ("SYS_NICE", 23), ("PERFMON", 38), ("BPF", 39)];

/// Capabilities of this process. Only informative: the trials below decide.
fn capabilities() -> Trial {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let missing: Vec<&str> = CAPABILITIES.iter().filter(|(_, bit)| mask >> bit & 1 == 0).map(|(n, _)| *n).collect();
    let all: Vec<&str> = CAPABILITIES.iter().map(|c| c.0).collect();
    let found = if missing.is_empty() { Ok(all.join(", ")) } else { Err(format!("missing: {}", missing.join(", "))) };
    let remedy = "run this program as root, or grant it the capabilities";
    optional(trial("capabilities", "gates, raw frames, namespaces, priority", remedy, found, |all| all))
}

/// BTF, without which programs that follow the kernel's structures cannot be loaded.
fn type_information() -> Trial {
    const FILE: &str = "/sys/kernel/btf/vmlinux";
    let found = std::fs::metadata(FILE).map_err(|e| format!("{FILE}: {e}"));
    let remedy = "use a kernel with CONFIG_DEBUG_INFO_BTF";
    trial("BTF", "the proxy's congestion control, the redirect", remedy, found, |m| format!("{} kB", m.len() / 1000))
}

impl DoctorArgs {
    /// Prints the trials on stdout; returns 0 if all that is required works, otherwise 1.
    ///
    /// # Errors
    /// If a trial cannot be written as JSON.
    pub fn print(&self, trials: &[Trial]) -> Result<u8, serde_json::Error> {
        if self.json {
            println!("{}", serde_json::to_string_pretty(trials)?);
            return Ok(code(trials));
        }
        for trial in trials {
            let mark = match (trial.works, trial.required) {
                (true, _) => "works",
                (false, true) => "MISSING",
                (false, false) => "missing",
            };
            println!("{:<8} {:<32} {}", mark, trial.what, trial.found);
            if !trial.works {
                println!("{:<8} {:<32} needed for {}; {}", "", "", trial.needed_for, trial.remedy);
            }
        }
        Ok(code(trials))
    }
}

fn code(trials: &[Trial]) -> u8 {
    u8::from(trials.iter().any(|t| t.required && !t.works))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_the_tests_here_need_is_found_to_work_and_nothing_is_left() {
        let trials = examine();
        for trial in &trials {
            assert!(trial.works || !trial.required, "{trial:?}");
            assert_eq!(trial.works, trial.remedy.is_empty(), "{trial:?}");
        }
        for what in ["gate (XDP, tcx)", "congestion control (struct_ops)", "TUN"] {
            assert!(trials.iter().any(|t| t.what == what), "{what}");
        }
        let left = crate::netns::ip("netns list").unwrap();
        assert!(!left.contains(&format!("tpdoctor{}", std::process::id())), "{left}");
    }

    #[test]
    fn what_does_not_work_says_why_and_what_to_do() {
        let t = trial("a thing", "others", "buy one", Err::<(), _>("it is not there"), |()| String::new());
        let expected = (false, "it is not there", "buy one");
        assert_eq!((t.works, t.found.as_str(), t.remedy), expected);
    }
}
