//! A station on the path of a host's signals that holds some of them back: an attack on gates.
//!
//! The kernel of a lab need not have netem. At the switch's port towards the controller, signals to
//! the host are redirected to a virtual interface, and a thread sends them on later. They stay in
//! order, as in a queue: one that is held back holds back those behind it.

use crate::fabric::{CONTROLLER_PORT, Fabric, host_mac, host_port};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};
use timeplane_live::netns::{self, NetError};
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, Frames, PacketSocket};
use timeplane_model::Duration;
use timeplane_protocol::wire::ETHER_TYPE_EXPERIMENTAL;

/// Which signals are held back, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held {
    /// Signals pass at once.
    None,
    /// All, for the same time.
    All(Wait),
    /// All, each for a time between zero and this one.
    UpTo(Wait),
    /// A share of them, 0 to 1, for this time.
    Share(f64, Wait),
}

impl Held {
    fn time(self, random: &mut Xoshiro256PlusPlus) -> Wait {
        let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        match self {
            Self::None => Wait::ZERO,
            Self::All(time) => time,
            Self::UpTo(most) => most.mul_f64(uniform),
            Self::Share(share, time) if uniform < share => time,
            Self::Share(..) => Wait::ZERO,
        }
    }
}

/// Why signals cannot be held back.
#[derive(Debug, thiserror::Error)]
pub enum DelayError {
    /// The interfaces or the redirection cannot be made.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A socket failed.
    #[error("a socket of the delay: {0}")]
    Socket(#[from] io::Error),
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    passed: AtomicU64,
}

/// Holds back signals to one host. Dropping the value ends the thread; the redirection ends with
/// the fabric.
#[derive(Debug)]
pub struct Delay {
    shared: Arc<Shared>,
    held: Arc<Mutex<Held>>,
    thread: Option<JoinHandle<()>>,
}

impl Delay {
    /// Takes the path of the signals to a host, in the encoding of EtherType 0x88B5. It holds none
    /// back until [`set`](Self::set).
    ///
    /// # Errors
    /// If the interfaces, the redirection or the sockets cannot be made.
    pub fn start(fabric: &Fabric, host: u16) -> Result<Self, DelayError> {
        let (switch, near, far, mac) =
            (fabric.switch(), format!("dn{host}"), format!("df{host}"), host_mac(host).to_string());
        switch.ip(&format!("link add {near} type veth peer name {far}"))?;
        switch.ip(&format!("link set {near} up"))?;
        switch.ip(&format!("link set {far} up"))?;
        let forwards = || Ok(switch.ip(&format!("link show {far}"))?.contains("LOWER_UP"));
        netns::until(forwards, &format!("{far} of {}", switch.name()))?;
        let sockets = || {
            Ok::<_, io::Error>([
                PacketSocket::open(&far, ALL_ETHER_TYPES)?,
                PacketSocket::open(&host_port(host), ALL_ETHER_TYPES)?,
            ])
        };
        let [takes, gives] = switch.enter(sockets)??;
        // Another host's delay may have made it already.
        let _ = switch.tc(&format!("qdisc add dev {CONTROLLER_PORT} clsact"));
        switch.tc(&format!(
            "filter add dev {CONTROLLER_PORT} ingress protocol {ETHER_TYPE_EXPERIMENTAL:#x} prio {} \
             u32 match ether dst {mac} action mirred egress redirect dev {near}",
            host + 1
        ))?;
        let (shared, held) = (Arc::<Shared>::default(), Arc::new(Mutex::new(Held::None)));
        let (of_thread, rule) = (Arc::clone(&shared), Arc::clone(&held));
        let thread = std::thread::spawn(move || hold(&takes, &gives, &of_thread, &rule, u64::from(host)));
        Ok(Self { shared, held, thread: Some(thread) })
    }

    /// Sets which signals are held back from now on.
    pub fn set(&self, held: Held) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    /// Number of signals that have been sent on.
    pub fn passed(&self) -> u64 {
        self.shared.passed.load(Relaxed)
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sends on what arrives, until it is told to stop or an interface is gone.
fn hold(takes: &PacketSocket, gives: &PacketSocket, shared: &Shared, held: &Mutex<Held>, seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut frames = Frames::new(1514);
    let mut queue = VecDeque::<(Instant, Vec<u8>)>::new();
    while !shared.stop.load(Relaxed) {
        let most = Wait::from_millis(20);
        let wait = queue.front().map_or(most, |(due, _)| due.saturating_duration_since(Instant::now()).min(most));
        if takes.wait(Duration::from_ns(wait.as_nanos() as i64)).is_err() {
            return;
        }
        while takes.receive_batch(&mut frames).is_ok_and(|count| count > 0) {
            let rule = *held.lock().unwrap_or_else(PoisonError::into_inner);
            for frame in frames.iter() {
                let due = Instant::now() + rule.time(&mut random);
                let due = queue.back().map_or(due, |last| due.max(last.0));
                queue.push_back((due, frame.to_vec()));
            }
        }
        while queue.front().is_some_and(|(due, _)| *due <= Instant::now()) {
            let Some((_, frame)) = queue.pop_front() else { break };
            if gives.send(&frame).is_err() {
                return;
            }
            shared.passed.fetch_add(1, Relaxed);
        }
    }
}
