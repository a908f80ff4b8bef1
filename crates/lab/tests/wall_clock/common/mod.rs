//! A lab of real daemons in namespaces, and programs that send streams over it and compare every
//! byte.
#![allow(dead_code, reason = "each test file takes what it needs")]

pub mod judged;
pub mod place;
mod scenario;

pub use scenario::scenario;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::{Duration as Wait, Instant};
use timeplane_lab::captures::{self, Captures, Judge};
use timeplane_lab::fabric::{FabricParameters, controller_mac};
use timeplane_lab::hosts::{Hosts, HostsParameters};
use timeplane_lab::traffic::{self, AfterError};
use timeplane_live::observer::Observer;
use timeplane_model::Duration;

/// Hosts of every lab here.
pub const HOSTS: u32 = 3;
/// Slots that do without real-time priority, and the gap between two.
pub const SLOT: Wait = Wait::from_millis(10);
pub const GUARD: Wait = Wait::from_millis(1);

/// Daemons, and an observer at their switch. Dropped by a test that fails it prints what they said,
/// and keeps its folder.
pub struct Lab {
    pub observer: Observer,
    /// They know when frames have entered the switch, where a busy machine lets the observer see
    /// them later.
    captures: Captures,
    judge: Judge,
    captured: u64,
    pub hosts: Hosts,
    pub folder: PathBuf,
    controllers: usize,
}

impl Lab {
    /// One controller, or two of which one stands by; agents believe a controller that is not heard
    /// of for half a second.
    pub fn start(name: &str, controllers: u32, change: impl FnOnce(&mut HostsParameters)) -> Self {
        let name = format!("tp{name}{}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("scenario.toml");
        std::fs::write(&file, scenario(HOSTS, SLOT.as_millis() as u64, controllers > 1)).unwrap();
        let mut parameters = HostsParameters {
            controllers,
            lease: Duration::from_ms(500),
            real_time: false,
            ..HostsParameters::new(env!("CARGO_BIN_EXE_timeplane-lab"), &folder, &file, "slots")
        };
        change(&mut parameters);
        let fabric = FabricParameters { name, hosts: HOSTS as u16, mtu: 1500, limit: None };
        let hosts = Hosts::start(parameters, &fabric).unwrap_or_else(|e| panic!("{e}"));
        let (ports, controller) = (hosts.fabric().ports(), controller_mac());
        let observer = hosts.fabric().switch().enter(|| Observer::attach(&ports, controller).unwrap()).unwrap();
        let captures = Captures::start(hosts.fabric()).unwrap();
        let (judge, controllers) = (Judge::default(), controllers as usize);
        Self { observer, captures, judge, captured: 0, hosts, folder, controllers }
    }

    /// Frames in foreign slots, at all ports: by the observer, but not more than captures show. A
    /// busy machine may take a frame from its interface long after it has arrived, and the observer
    /// sees it then.
    pub fn violations(&mut self) -> u64 {
        self.observer.violations().unwrap().iter().take(5).for_each(|v| eprintln!("{v:?}"));
        let observed = self.observer.counters().unwrap().ports.iter().map(|p| p.violations).sum();
        let seen = self.captures.take(captures::now());
        let foreign = seen.into_iter().filter_map(|s| self.judge.take(s));
        self.captured += foreign.count() as u64;
        // Captures that have missed frames know nothing.
        if self.captures.lost() > 0 { observed } else { self.captured.min(observed) }
    }

    /// Data frames that hosts have sent.
    pub fn frames(&self) -> u64 {
        self.observer.counters().unwrap().ports.iter().map(|p| p.frames).sum()
    }

    /// What an agent has counted for certain: it shows itself five times a second.
    pub fn settled(&self, host: usize) -> timeplane_live::agent::Snapshot {
        std::thread::sleep(Wait::from_millis(450));
        self.hosts.snapshot(host).expect("an agent that runs")
    }

    /// A stream in each direction of each pair, whole; for `most` at most.
    pub fn exchange(&self, port: u16, most: Wait) {
        let traffic = Traffic::start(self, port, &pairs(), 30_000);
        until("a stream of each pair arrives", most, || {
            // A program that was refused does not try again.
            let errors: Vec<_> = (0..HOSTS).flat_map(|host| traffic.errors(host)).collect();
            assert!(errors.is_empty(), "{errors:?}");
            traffic.pairs_done() == pairs().len()
        });
        traffic.stop();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
            return;
        }
        eprintln!("kept: {}", self.folder.display());
        for name in ["host-0", "host-1", "host-2", "controller-0", "controller-1"] {
            let log = self.hosts.log(name);
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("{name}:\n{}", lines[lines.len().saturating_sub(12)..].join("\n"));
        }
        (0..HOSTS as usize).for_each(|h| eprintln!("{:?}", self.hosts.snapshot(h)));
        (0..self.controllers).for_each(|m| eprintln!("controller {m}: {:?}", self.hosts.metrics(m)));
    }
}

/// All ordered pairs of hosts.
pub fn pairs() -> Vec<(u32, u32)> {
    (0..HOSTS).flat_map(|a| (0..HOSTS).filter(move |b| *b != a).map(move |b| (a, b))).collect()
}

/// Waits for what has to come, and fails where it does not.
pub fn until(what: &str, most: Wait, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < most, "within {most:?}: {what}");
        std::thread::sleep(Wait::from_millis(2));
    }
}

/// Programs that send streams in a loop, as [`traffic::Traffic`]. A program ends with its first
/// error.
pub struct Traffic(traffic::Traffic);

impl Traffic {
    /// Streams of so many bytes, to a port that is this traffic's alone.
    pub fn start(lab: &Lab, port: u16, pairs: &[(u32, u32)], bytes: u64) -> Self {
        Self(traffic::Traffic::start(&lab.hosts, port, pairs, bytes, AfterError::End))
    }

    /// Lets every program finish its stream, and checks that what was delivered has arrived whole;
    /// how many streams. Errors but those of `hosts` fail it.
    pub fn stop_but_for(self, hosts: &[u32]) -> usize {
        let outcome = self.0.finish();
        assert_eq!(outcome.lost_bytes, 0, "what was delivered is read");
        assert_eq!(outcome.wrong, 0, "bytes that nobody sent");
        let others: Vec<_> = outcome.errors.iter().filter(|e| !hosts.contains(&e.0)).collect();
        assert!(others.is_empty(), "{others:?}");
        outcome.delivered
    }
    /// The same, where nothing may go wrong.
    pub fn stop(self) -> usize {
        self.stop_but_for(&[])
    }
}

impl Deref for Traffic {
    type Target = traffic::Traffic;

    fn deref(&self) -> &traffic::Traffic {
        &self.0
    }
}
