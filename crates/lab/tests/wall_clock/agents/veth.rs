//! The world of real interfaces: controller and agents are processes in namespaces, and an observer
//! counts at the switch.

use super::World;
use super::bodies::HOSTS;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};
use timeplane_lab::fabric::{CONTROLLER_PORT, FabricParameters, controller_mac};
use timeplane_lab::hosts::{Hosts, HostsParameters};
use timeplane_lab::loss::Loss;
use timeplane_live::client::Agent;
use timeplane_live::observer::Observer;
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, Frames, PacketSocket};
use timeplane_model::{Duration, HostId};

/// Slots that do without real-time priority, on a machine that is busy with other tests.
const SLOT: Wait = Wait::from_millis(8);
const GUARD: Wait = Wait::from_millis(1);
/// What a slot carries at 50 Mb/s.
const SLOT_BYTES: u64 = 50_000;

/// By offer, sender and receiver.
type Left = BTreeMap<(u64, u32, u32), u64>;

pub struct Veth {
    hosts: Hosts,
    observer: Observer,
    loss: Loss,
    again: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
    /// Bytes that are still to arrive, of what was offered in one go between a pair.
    left: Arc<Mutex<Left>>,
    arrived: Arc<AtomicU64>,
    offers: u64,
    folder: PathBuf,
}

pub fn world(name: &str, standby: bool) -> Veth {
    // Suites run beside each other: the first letters of a body's words and the process tell them
    // apart.
    let short: String = name.split('_').filter_map(|w| w.chars().next()).take(8).collect();
    let name = format!("tps{short}{}", std::process::id());
    let folder = std::env::temp_dir().join(&name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("scenario.toml");
    std::fs::write(&file, crate::common::scenario(HOSTS, SLOT.as_millis() as u64, standby)).unwrap();
    let parameters = HostsParameters {
        controllers: if standby { 2 } else { 1 },
        lease: Duration::from_ms(500),
        real_time: false,
        ..HostsParameters::new(env!("CARGO_BIN_EXE_timeplane-lab"), &folder, &file, "slots")
    };
    let fabric = FabricParameters { name, hosts: HOSTS as u16, mtu: 1500, limit: None };
    let hosts = Hosts::start(parameters, &fabric).unwrap_or_else(|e| panic!("{e}"));
    let ports = hosts.fabric().ports();
    // What is lost is not seen by the observer, as it is not by the host.
    let (loss, observer) = hosts
        .fabric()
        .switch()
        .enter(|| (Loss::attach(&ports).unwrap(), Observer::attach(&ports, controller_mac()).unwrap()))
        .unwrap();
    let mut veth =
        Veth { hosts, observer, loss, again: None, left: Arc::default(), arrived: Arc::default(), offers: 0, folder };
    (0..HOSTS).for_each(|h| veth.listen(h));
    veth
}

impl Veth {
    fn round() -> Wait {
        (SLOT + GUARD) * (HOSTS - 1)
    }

    /// Programs of a host that take what comes, until its agent ends.
    fn listen(&mut self, host: u32) {
        for _ in 0..2 * HOSTS {
            let agent = self.hosts.client(host as usize);
            let (left, arrived) = (Arc::clone(&self.left), Arc::clone(&self.arrived));
            std::thread::spawn(move || while take(&agent, host, &left, &arrived).is_some() {});
        }
    }
}

/// Takes one stream: the number of its offer, then bytes.
fn take(agent: &Agent, host: u32, left: &Mutex<Left>, arrived: &AtomicU64) -> Option<()> {
    let mut stream = agent.receive(0).ok()?;
    let from = stream.source().ok()?.host.0;
    let mut number = [0; 8];
    // One whose sender was killed ends here or anywhere.
    if stream.read_exact(&mut number).is_err() {
        return Some(());
    }
    let (offer, mut buffer, mut at) = (u64::from_be_bytes(number), vec![0; 65536], 8u64);
    loop {
        let Ok(n @ 1..) = stream.read(&mut buffer) else { return Some(()) };
        for byte in &buffer[..n] {
            assert_eq!(*byte, pattern(offer, at), "byte {at} of offer {offer} from {from} to {host}");
            at += 1;
        }
        arrived.fetch_add(n as u64, Relaxed);
        if let Some(left) = left.lock().unwrap().get_mut(&(offer, from, host)) {
            *left -= n as u64;
        }
    }
}

fn pattern(offer: u64, at: u64) -> u8 {
    (at.wrapping_mul(31) ^ (at >> 8) ^ offer) as u8
}

impl World for Veth {
    fn offer(&mut self, slots: u32) {
        self.offers += 1;
        let (offer, bytes) = (self.offers, u64::from(slots) * SLOT_BYTES);
        for i in 0..HOSTS {
            for j in (0..HOSTS).filter(|j| *j != i) {
                self.left.lock().unwrap().insert((offer, i, j), bytes - 8);
                let agent = self.hosts.client(i as usize);
                std::thread::spawn(move || -> Option<()> {
                    let mut stream = agent.send(HostId(j), 0, None).ok()?;
                    let content: Vec<u8> = (8..bytes).map(|at| pattern(offer, at)).collect();
                    stream.write_all(&offer.to_be_bytes()).ok()?;
                    stream.write_all(&content).ok()?;
                    // What an agent has taken it delivers, or it says that it did not.
                    assert_eq!(stream.finish().ok()?, bytes);
                    Some(())
                });
            }
        }
    }
    fn run(&mut self, rounds: u32) {
        std::thread::sleep(Self::round() * rounds);
    }
    fn run_until_delivered(&mut self, most_rounds: u32) -> bool {
        let began = Instant::now();
        // Rounds may take twice as long on a busy machine: the bound is against what never ends.
        while began.elapsed() < Self::round() * most_rounds * 2 {
            if self.left.lock().unwrap().values().all(|left| *left == 0) {
                return true;
            }
            std::thread::sleep(Wait::from_millis(2));
        }
        let left: Vec<_> = self.left.lock().unwrap().iter().filter(|l| *l.1 > 0).map(|(k, v)| (*k, *v)).collect();
        eprintln!("left of (offer, from, to): {left:?}");
        for name in
            (0..HOSTS).map(|h| format!("host-{h}")).chain(["controller-0".to_owned(), "controller-1".to_owned()])
        {
            eprintln!("{name}:\n{}", self.hosts.log(&name));
        }
        (0..HOSTS as usize).for_each(|h| eprintln!("{:?}", self.hosts.snapshot(h)));
        eprintln!("{}", self.observer.report().unwrap());
        false
    }
    fn delivered(&self) -> f64 {
        self.arrived.load(Relaxed) as f64 / SLOT_BYTES as f64
    }
    fn foreign(&mut self) -> u64 {
        let violations = self.observer.violations().unwrap();
        violations.iter().take(5).for_each(|v| eprintln!("{v:?}"));
        self.observer.counters().unwrap().ports.iter().map(|p| p.violations).sum()
    }
    fn disturb(&mut self, lost: f64, again: f64) {
        self.loss.set(lost).unwrap();
        if again == 0.0 {
            return;
        }
        // Who listens at the controller's port, before the bridge takes the frame, and says it all
        // again.
        let heard = self
            .hosts
            .fabric()
            .switch()
            .enter(|| PacketSocket::open(CONTROLLER_PORT, ALL_ETHER_TYPES).unwrap())
            .unwrap();
        let says = self.hosts.fabric().controller().enter(|| PacketSocket::open("eth0", 0x88b5).unwrap()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut frames, mut kept) = (Frames::new(1514), Vec::<(Instant, Vec<u8>)>::new());
            while !stopped.load(Relaxed) {
                let _ = heard.wait(Duration::from_ms(1));
                if heard.receive_batch(&mut frames).unwrap_or(0) > 0 {
                    let signals = frames.iter().filter(|f| f[12..14] == [0x88, 0xb5]);
                    kept.extend(signals.map(|f| (Instant::now(), f.to_vec())));
                }
                // Half at once, half after a round and more.
                let (now, mut late) = (Instant::now(), false);
                kept.retain(|(at, frame)| {
                    late = !late;
                    let due = now - *at > if late { Wait::ZERO } else { Wait::from_millis(40) };
                    if due {
                        let _ = says.send(frame);
                    }
                    !due
                });
            }
        });
        self.again = Some((stop, thread));
    }
    fn stale(&self) -> u64 {
        (0..HOSTS as usize).filter_map(|h| self.hosts.snapshot(h)).map(|s| s.gate.stale).sum()
    }
    fn kill_controller(&mut self) {
        self.hosts.kill_controller(0);
    }
    fn restart_controller(&mut self) {
        self.hosts.start_controller(0).unwrap();
    }
    fn kill_host(&mut self, host: u32) {
        self.hosts.kill_agent(host as usize);
        self.left.lock().unwrap().retain(|(_, from, to), _| *from != host && *to != host);
    }
    fn restart_host(&mut self, host: u32) {
        self.hosts.start_agent(host as usize).unwrap();
        self.hosts.wait_for_all().unwrap();
        self.listen(host);
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.again.take() {
            stop.store(true, Relaxed);
            let _ = thread.join();
        }
        if std::thread::panicking() {
            eprintln!("kept: {}", self.folder.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
