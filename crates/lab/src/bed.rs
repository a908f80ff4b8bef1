//! A bed for faults and attacks: four hosts in short slots, a controller and a standby, programs
//! that send all the time, and an observer and captures that do not know of each other.
//!
//! Slots take 2 ms with guards of 200 us, so a round of eight slots takes 17.6 ms. Files are in a
//! file system in memory, which a fault can fill.

use crate::captures::{self, Captures, Foreign, Judge, Seen};
use crate::disturbance::Disturbance;
use crate::fabric::{FabricParameters, controller_mac};
use crate::hosts::{Hosts, HostsParameters};
use crate::lag::Lag;
use crate::traffic::{AfterError, Traffic};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration as Wait, Instant};
use timeplane_live::daemons::Failure;
use timeplane_live::netns::Namespace;
use timeplane_live::observer::Observer;
use timeplane_model::Duration;

/// Number of hosts.
pub const HOSTS: u16 = 4;
/// Guard of a slot.
pub const GUARD: Wait = Wait::from_micros(200);
/// Time of a round of slots.
pub const ROUND: Wait = Wait::from_micros(8 * 2200);
/// Bytes of a stream: so many that hosts have something to send while a busy machine keeps programs
/// waiting.
const STREAM: u64 = 240_000;
/// Size of the file system for files of daemons.
const DISK: &str = "size=128m";

const SCENARIO: &str = r#"
[fabric]
topology.single_switch = { hosts = 4 }
rate = "50 Mb/s"
[workload.shuffle]
bytes = "1 kB"
[scheme.slots]
transport.raw = {}
[scheme.slots.plan.tdma]
slot = "2 ms"
guard = "200 us"
round_slots = 8
control_latency = "2 ms"
compute_time = "200 us"
standby = {}
signals = { hold = "3 ms", reaction.times = { off_least = "1 us", off_most = "100 us", on_least = "10 us", on_most = "100 us" } }
"#;

/// A running bed. Dropping it ends all and removes it.
#[derive(Debug)]
pub struct Bed {
    /// Programs of all pairs of hosts.
    pub traffic: Traffic,
    /// Captures at all ports.
    pub captures: Captures,
    /// Judges what is captured.
    judge: Judge,
    /// Whether it knows what is open.
    is_settled: bool,
    /// An observer at the ports of hosts.
    pub observer: Observer,
    /// Delays of the machine.
    pub lag: Lag,
    /// Disturbs frames, where a fault does.
    pub disturbance: Option<Disturbance>,
    /// The daemons.
    pub hosts: Hosts,
    disk: Disk,
}

impl Bed {
    /// Starts a bed with daemons of `program`. Namespaces begin with `name`, and the calling thread
    /// must live as long as the bed.
    ///
    /// # Errors
    /// If something cannot be made or started.
    pub fn start(program: &Path, name: &str, change: impl FnOnce(&mut HostsParameters)) -> Result<Self, Failure> {
        let disk = Disk::mount(std::env::temp_dir().join(name))?;
        let file = disk.folder.join("scenario.toml");
        std::fs::write(&file, SCENARIO)?;
        let mut parameters = HostsParameters {
            controllers: 2,
            status: true,
            lease: Duration::from_ms(500),
            ..HostsParameters::new(program, &disk.folder, &file, "slots")
        };
        change(&mut parameters);
        let fabric = FabricParameters { name: name.to_owned(), hosts: HOSTS, mtu: 1500, limit: None };
        let hosts = Hosts::start(parameters, &fabric)?;
        let (ports, controller) = (hosts.fabric().ports(), controller_mac());
        let observer = hosts.fabric().switch().enter(|| Observer::attach(&ports, controller))??;
        let captures = Captures::start(hosts.fabric())?;
        let traffic = Traffic::start(&hosts, 1, &pairs(), STREAM, AfterError::Retry);
        let (judge, lag) = (Judge::default(), Lag::start());
        Ok(Self { traffic, captures, judge, is_settled: false, observer, lag, disturbance: None, hosts, disk })
    }

    /// The place of the controller that leads, by its signals.
    pub fn leader(&self) -> usize {
        self.captures.epoch() as usize % self.hosts.controllers()
    }

    /// Waits until a stream of every pair that begins from now on is delivered, for `most` at most.
    /// Returns whether they were.
    pub fn all_deliver(&self, most: Wait) -> bool {
        let (before, began) = (self.traffic.by_pair(), Instant::now());
        // The first one may have begun before.
        let more = |pair: &(u32, u32)| {
            let count = |of: &std::collections::BTreeMap<(u32, u32), u64>| of.get(pair).copied().unwrap_or(0);
            count(&self.traffic.by_pair()) >= count(&before) + 2
        };
        while !pairs().iter().all(more) {
            if began.elapsed() > most {
                return false;
            }
            std::thread::sleep(Wait::from_millis(5));
        }
        true
    }

    /// Lets the judge learn what is open, once: captures do not show what was opened before them.
    pub fn settle(&mut self) {
        if !std::mem::replace(&mut self.is_settled, true) {
            let _unknown = self.judged(captures::now());
        }
    }

    /// What was captured since the last call and before `end`, and the frames in foreign slots
    /// among it.
    pub fn judged(&mut self, end: u64) -> (Vec<Seen>, Vec<Foreign>) {
        let seen = self.captures.take(end);
        let foreign = seen.iter().filter_map(|s| self.judge.take(*s)).collect();
        (seen, foreign)
    }

    /// Frames in foreign slots, by the observer.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn violations(&self) -> Result<u64, Failure> {
        Ok(self.observer.counters()?.ports.iter().map(|p| p.violations).sum())
    }

    /// How long the schedules of the running controllers have slipped since they were started.
    pub fn slipped(&self) -> Wait {
        let of = |place| self.hosts.metrics(place).ok()?.get("controller_slipped_ns").copied();
        Wait::from_nanos((0..self.hosts.controllers()).filter_map(of).sum::<f64>() as u64)
    }

    /// Changes the configuration of a daemon, for its next start.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn configure(&self, daemon: &str, change: impl FnOnce(String) -> String) -> Result<(), Failure> {
        let file = self.hosts.folder(daemon).join("config.toml");
        Ok(std::fs::write(&file, change(std::fs::read_to_string(&file)?))?)
    }

    /// Fills the file system of the daemons' files, or makes room again.
    ///
    /// # Errors
    /// If the file cannot be made or removed.
    pub fn fill_disk(&self, full: bool) -> Result<(), Failure> {
        self.disk.fill(full)
    }

    /// Runs nft with this command in a namespace of the bed.
    ///
    /// # Errors
    /// If nft is missing or fails, with its message.
    pub fn nft(namespace: &Namespace, command: &str) -> Result<(), Failure> {
        let output = namespace.command("nft").arg(command).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("nft {command}: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
    }

    /// Copies the daemons' logs.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn copy_logs(&self, to: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(to)?;
        let hosts = (0..HOSTS).map(|h| format!("host-{h}"));
        for name in hosts.chain((0..self.hosts.controllers()).map(|c| format!("controller-{c}"))) {
            std::fs::write(to.join(format!("{name}.log")), self.hosts.log(&name))?;
        }
        Ok(())
    }
}

/// The program of the daemons: `named`, or else the one in the folder above that of this example.
///
/// # Errors
/// If there is none.
pub fn program(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()?;
    let beside = || Some(own.parent()?.parent()?.join("timeplane-lab"));
    let program = named.or_else(beside).ok_or("this program has no folder: expected --program")?;
    if !program.is_file() {
        return Err(format!("no program {}: build it, or name it with --program", program.display()).into());
    }
    Ok(program)
}

/// All ordered pairs of hosts.
pub fn pairs() -> Vec<(u32, u32)> {
    let hosts = u32::from(HOSTS);
    (0..hosts).flat_map(|a| (0..hosts).filter(move |b| *b != a).map(move |b| (a, b))).collect()
}

/// A file system in memory. It goes when it is dropped.
#[derive(Debug)]
struct Disk {
    folder: PathBuf,
}

impl Disk {
    fn mount(folder: PathBuf) -> Result<Self, Failure> {
        // One that a killed process has left.
        let _ = umount2(&folder, MntFlags::MNT_DETACH);
        std::fs::create_dir_all(&folder)?;
        mount(Some("tmpfs"), &folder, Some("tmpfs"), MsFlags::empty(), Some(DISK))?;
        Ok(Self { folder })
    }

    fn fill(&self, full: bool) -> Result<(), Failure> {
        let path = self.folder.join("full");
        if !full {
            return Ok(std::fs::remove_file(path)?);
        }
        let mut file = std::fs::File::create(path)?;
        // Page by page in the end, so that nothing is left.
        for block in [vec![0; 1 << 20], vec![0; 4096], vec![0; 1]] {
            while file.write_all(&block).is_ok() {}
        }
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Files that are still open go with their processes.
        let _ = umount2(&self.folder, MntFlags::MNT_DETACH);
        let _ = std::fs::remove_dir(&self.folder);
    }
}
