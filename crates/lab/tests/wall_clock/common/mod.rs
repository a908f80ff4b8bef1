//! A lab of real daemons in namespaces, and programs that send streams over it and compare every
//! byte.
#![allow(dead_code, reason = "each test file takes what it needs")]

pub mod judged;
pub mod place;
mod scenario;

pub use scenario::scenario;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};
use timeplane_lab::fabric::{FabricParameters, controller_mac};
use timeplane_lab::hosts::{Hosts, HostsParameters};
use timeplane_live::client::Agent;
use timeplane_live::observer::Observer;
use timeplane_model::{Duration, HostId};

/// Hosts of every lab here.
pub const HOSTS: u32 = 3;
/// Slots that do without real-time priority, and the gap between two.
pub const SLOT: Wait = Wait::from_millis(10);
pub const GUARD: Wait = Wait::from_millis(1);

/// Daemons, and an observer at their switch. Dropped by a test that fails it prints what they said,
/// and keeps its folder.
pub struct Lab {
    pub observer: Observer,
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
        Self { observer, hosts, folder, controllers: controllers as usize }
    }

    /// Frames in foreign slots, at all ports.
    pub fn violations(&mut self) -> u64 {
        self.observer.violations().unwrap().iter().take(5).for_each(|v| eprintln!("{v:?}"));
        self.observer.counters().unwrap().ports.iter().map(|p| p.violations).sum()
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
            let errors = traffic.counts.errors.lock().unwrap();
            assert!(errors.is_empty(), "{errors:?}");
            drop(errors);
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

#[derive(Debug, Default)]
struct Counts {
    stop: AtomicBool,
    /// Streams that the sender was told are delivered, and those that came whole.
    sent: Mutex<BTreeSet<(u32, u32, u64)>>,
    arrived: Mutex<BTreeSet<(u32, u32, u64)>>,
    bytes: AtomicU64,
    /// Bytes that were not those sent, and streams that came twice.
    wrong: AtomicU64,
    /// Why programs were told that a stream failed, by host.
    errors: Mutex<Vec<(u32, String)>>,
}

/// Programs that send streams in a loop, one for each pair, and programs that take them.
pub struct Traffic {
    counts: Arc<Counts>,
    senders: Vec<(u32, JoinHandle<()>)>,
}

/// No program waits for longer: what takes so long hangs.
const PATIENCE: Wait = Wait::from_secs(40);

impl Traffic {
    /// Streams of so many bytes, to a port that is this traffic's alone.
    pub fn start(lab: &Lab, port: u16, pairs: &[(u32, u32)], bytes: u64) -> Self {
        let counts = Arc::<Counts>::default();
        for &(_, to) in pairs {
            // As many as may have a stream at a time, and one that listens meanwhile.
            for _ in 0..2 {
                let (agent, counts) = (lab.hosts.client(to as usize), Arc::clone(&counts));
                std::thread::spawn(move || while take(&agent, to, port, &counts).is_some() {});
            }
        }
        let sender = |&(from, to): &(u32, u32)| {
            let (agent, counts) = (lab.hosts.client(from as usize), Arc::clone(&counts));
            let sending = std::thread::spawn(move || {
                for number in 0.. {
                    if counts.stop.load(Relaxed) {
                        return;
                    }
                    match send(&agent, to, port, number, bytes) {
                        Ok(()) => drop(counts.sent.lock().unwrap().insert((from, to, number))),
                        Err(e) => {
                            counts.errors.lock().unwrap().push((from, e.to_string()));
                            return;
                        }
                    }
                }
            });
            (from, sending)
        };
        let senders = pairs.iter().map(sender).collect();
        Self { counts, senders }
    }

    /// Bytes that have arrived and been compared.
    pub fn bytes(&self) -> u64 {
        self.counts.bytes.load(Relaxed)
    }
    /// Streams that have been delivered.
    pub fn streams(&self) -> usize {
        self.counts.sent.lock().unwrap().len()
    }
    /// Pairs of which a stream has been delivered.
    pub fn pairs_done(&self) -> usize {
        self.counts.sent.lock().unwrap().iter().map(|s| (s.0, s.1)).collect::<BTreeSet<_>>().len()
    }
    /// What programs of a host were told that went wrong.
    pub fn errors(&self, host: u32) -> Vec<String> {
        self.counts.errors.lock().unwrap().iter().filter(|e| e.0 == host).map(|e| e.1.clone()).collect()
    }
    /// Whether the programs that send from a host have ended.
    pub fn has_ended(&self, host: u32) -> bool {
        self.senders.iter().filter(|s| s.0 == host).all(|s| s.1.is_finished())
    }

    /// Lets every program finish its stream, and checks that what was delivered has arrived whole;
    /// how many streams. Errors but those of [`errors`](Self::errors) that were asked for fail it.
    pub fn stop_but_for(mut self, hosts: &[u32]) -> usize {
        self.counts.stop.store(true, Relaxed);
        for (_, sender) in self.senders.drain(..) {
            sender.join().unwrap();
        }
        let counts = &self.counts;
        let missing = || counts.sent.lock().unwrap().difference(&counts.arrived.lock().unwrap()).count();
        // A program may read its last bytes after the agents have told each other.
        until("what was delivered is read", Wait::from_secs(10), || missing() == 0);
        assert_eq!(counts.wrong.load(Relaxed), 0, "bytes that nobody sent");
        let errors = counts.errors.lock().unwrap();
        let others: Vec<_> = errors.iter().filter(|e| !hosts.contains(&e.0)).collect();
        assert!(others.is_empty(), "{others:?}");
        counts.sent.lock().unwrap().len()
    }
    /// The same, where nothing may go wrong.
    pub fn stop(self) -> usize {
        self.stop_but_for(&[])
    }
}

fn pattern(number: u64, at: u64) -> u8 {
    (at.wrapping_mul(31) ^ (at >> 8) ^ number) as u8
}

fn send(agent: &Agent, to: u32, port: u16, number: u64, bytes: u64) -> Result<(), timeplane_live::client::ClientError> {
    let mut stream = agent.send(HostId(to), port, None)?;
    stream.set_timeout(Some(PATIENCE))?;
    let content: Vec<u8> = (0..bytes).map(|at| pattern(number, at)).collect();
    stream.write_all(&number.to_be_bytes())?;
    stream.write_all(&bytes.to_be_bytes())?;
    stream.write_all(&content)?;
    assert_eq!(stream.finish()?, bytes + 16, "what is said to be delivered is what was written");
    Ok(())
}

/// Takes one stream; `None` where there is no agent any more.
fn take(agent: &Agent, to: u32, port: u16, counts: &Counts) -> Option<()> {
    let mut stream = agent.receive(port).ok()?;
    let from = stream.source().ok()?.host.0;
    let mut content = Vec::new();
    // One that its sender's agent did not live to finish ends with an error, or as short as it is.
    if stream.read_to_end(&mut content).is_err() {
        return Some(());
    }
    let Some((head, bytes)) = content.split_at_checked(16) else { return Some(()) };
    let number = |at: usize| u64::from_be_bytes(head[at..at + 8].try_into().unwrap());
    let (offer, length) = (number(0), number(8));
    let wrong = (0..).zip(bytes).filter(|(at, byte)| pattern(offer, *at) != **byte).count() as u64;
    let whole = bytes.len() as u64 == length;
    let again = whole && !counts.arrived.lock().unwrap().insert((from, to, offer));
    counts.wrong.fetch_add(wrong + u64::from(again) + u64::from(!whole), Relaxed);
    counts.bytes.fetch_add(bytes.len() as u64, Relaxed);
    Some(())
}
