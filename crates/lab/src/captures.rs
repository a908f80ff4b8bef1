//! Captures at the ports of a lab's switch, with the kernel's time stamps.
//!
//! They share nothing with the observer: frames are stamped when they enter the switch, signals at
//! the controller's port and data at the hosts' ports. [`Judge`] finds frames in foreign slots.

mod judge;
mod stamped;

pub use judge::{Foreign, Judge, latest};
pub use stamped::Stamped;

use crate::fabric::{CONTROLLER_PORT, Fabric, host_mac, host_port};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant, SystemTime, UNIX_EPOCH};
use timeplane_model::Duration;
use timeplane_protocol::Pfc;
use timeplane_protocol::wire::{ETHER_TYPE_DATA, ETHER_TYPE_EXPERIMENTAL, UNGATED};

/// A frame that has entered the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it did, by the kernel's clock of the day in nanoseconds.
    pub at: u64,
    /// A signal at the controller's port, or data at a host's.
    pub frame: Frame,
}

/// What captures know of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A signal of a controller.
    Signal {
        /// Number of the host that it was addressed to.
        host: u16,
        /// Its epoch and number, which order the signals to a host.
        number: (u32, u64),
        /// The class that it opens; `None` closes.
        open: Option<u16>,
        /// How long it opens the gate, in nanoseconds.
        hold: u64,
    },
    /// A frame of a host that must be in a slot.
    Data {
        /// Number of the host whose port it entered.
        host: u16,
        /// Class of the frame.
        class: u16,
    },
}

/// What threads at the ports have captured so far.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    seen: Mutex<Vec<Seen>>,
    /// By port, a time up to which everything has been captured.
    up_to: Vec<AtomicU64>,
    lost: AtomicU64,
    epoch: AtomicU32,
}

/// Threads that capture at all ports of a switch. Dropping the value ends them.
#[derive(Debug)]
pub struct Captures {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// The current time, as captures stamp frames.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

impl Captures {
    /// Captures at the ports of a fabric. Signals must be in the encoding of EtherType 0x88B5.
    ///
    /// # Errors
    /// If a socket cannot be opened.
    pub fn start(fabric: &Fabric) -> io::Result<Self> {
        let hosts = fabric.parameters().hosts;
        let ports: Vec<Option<u16>> = (0..hosts).map(Some).chain([None]).collect();
        let up_to = ports.iter().map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(Shared { up_to, ..Shared::default() });
        let mut threads = Vec::with_capacity(ports.len());
        for (place, port) in ports.into_iter().enumerate() {
            let name = port.map_or_else(|| CONTROLLER_PORT.to_owned(), host_port);
            let socket = fabric.switch().enter(|| Stamped::open(&name)).map_err(io::Error::other)??;
            let shared = Arc::clone(&shared);
            threads.push(std::thread::spawn(move || capture(&socket, place, port, hosts, &shared)));
        }
        Ok(Self { shared, threads })
    }

    /// Removes and returns what was captured before `end`, in the order of time. It waits for the
    /// threads, for ten seconds at most.
    pub fn take(&self, end: u64) -> Vec<Seen> {
        let began = Instant::now();
        while self.shared.up_to.iter().any(|u| u.load(Relaxed) < end) && began.elapsed() < Wait::from_secs(10) {
            std::thread::sleep(Wait::from_millis(2));
        }
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut before, after): (Vec<Seen>, Vec<Seen>) = seen.drain(..).partition(|s| s.at < end);
        *seen = after;
        drop(seen);
        before.sort_by_key(|s| s.at);
        before
    }

    /// The highest epoch of a controller that has sent a signal.
    pub fn epoch(&self) -> u32 {
        self.shared.epoch.load(Relaxed)
    }

    /// Number of frames that were not captured, as a buffer was full.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Relaxed)
    }
}

impl Drop for Captures {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // One that has panicked has said so.
            let _ = thread.join();
        }
    }
}

fn capture(socket: &Stamped, place: usize, port: Option<u16>, hosts: u16, shared: &Shared) {
    let mut new = Vec::new();
    while !shared.stop.load(Relaxed) {
        // What arrives later has a later stamp, so an empty socket has told all up to here.
        let up_to = now();
        while let Some((at, frame)) = socket.receive() {
            new.extend(parse(&frame, port, hosts).map(|frame| Seen { at, frame }));
        }
        let epoch = |seen: &Seen| if let Frame::Signal { number, .. } = seen.frame { number.0 } else { 0 };
        shared.epoch.fetch_max(new.iter().map(epoch).max().unwrap_or(0), Relaxed);
        if !new.is_empty() {
            shared.seen.lock().unwrap_or_else(PoisonError::into_inner).append(&mut new);
        }
        shared.up_to[place].store(up_to, Relaxed);
        shared.lost.fetch_add(socket.lost(), Relaxed);
        // A port that goes down makes an error, and captures again when it is up.
        if socket.wait(Duration::from_ms(20)).is_err() {
            std::thread::sleep(Wait::from_millis(1));
        }
    }
}

fn parse(frame: &[u8], port: Option<u16>, hosts: u16) -> Option<Frame> {
    let word = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
    match (port, word(12)?) {
        (None, ETHER_TYPE_EXPERIMENTAL) => {
            let host = (0..hosts).find(|&h| frame[..6] == host_mac(h).0)?;
            let Pfc { epoch, sequence, open, hold } = Pfc::parse(frame, host_mac(host)).ok()?;
            Some(Frame::Signal { host, number: (epoch, sequence), open, hold: hold.as_ps() as u64 / 1000 })
        }
        (Some(host), ETHER_TYPE_DATA) => {
            let class = word(16).filter(|class| *class != UNGATED)?;
            Some(Frame::Data { host, class })
        }
        _ => None,
    }
}
