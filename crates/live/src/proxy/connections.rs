//! The connections that a proxy has split, shared by its threads.
//!
//! Each has a wired half and a radio half.

use socket2::SockRef;
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timeplane_model::Bytes;

/// Bounds of what a steered connection has and has not sent yet: a few segments, and 10 ms at 800
/// Mb/s.
const LEAST_UNSENT: u32 = 32 << 10;
const MOST_UNSENT: u32 = 1 << 20;

/// Both halves of a connection.
#[derive(Debug)]
pub struct Halves {
    /// Socket of the client that connected.
    pub wired: TcpStream,
    /// Socket to the target, over the radio.
    pub radio: TcpStream,
    /// One of them has failed, or the relay ends: what is not delivered never will be.
    broken: AtomicBool,
    /// See [`SplitConfig::unsent`](super::SplitConfig::unsent).
    unsent: u32,
}

impl Halves {
    pub(super) fn new(wired: TcpStream, radio: TcpStream, unsent: u32) -> Self {
        Self { wired, radio, broken: AtomicBool::new(false), unsent }
    }
    /// Bounds what the radio's side has and has not sent yet: by a window of the connection, so
    /// that the relay may be late by half a round trip before the link runs dry, and a slow link
    /// has no second long queue in front of it; by what was configured where there is none.
    pub(super) fn bound_unsent(&self, window: Option<Bytes>) -> io::Result<()> {
        let bytes = |window: Bytes| u32::try_from(window.get()).unwrap_or(u32::MAX).clamp(LEAST_UNSENT, MOST_UNSENT);
        SockRef::from(&self.radio).set_tcp_notsent_lowat(window.map_or(self.unsent, bytes))
    }
    /// Ends both, so that the peers see a reset and not an end as if all had come. Threads that
    /// read wake up; those that write do within their time limit.
    pub(super) fn reset(&self) {
        self.broken.store(true, Ordering::Relaxed);
        for half in [&self.wired, &self.radio] {
            // Sockets that are closed already need none of it.
            let _ = SockRef::from(half).set_linger(Some(std::time::Duration::ZERO));
            let _ = half.shutdown(Shutdown::Read);
        }
    }
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

/// Counters of connections and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitCounters {
    /// Accepted connections.
    pub accepted: u64,
    /// Connections closed at once as there were too many.
    pub too_many: u64,
    /// Connections closed as the target could not be reached.
    pub unreachable: u64,
    /// Connections ended by an error on one side, which the other side sees as a reset.
    pub broken: u64,
    /// Connections that both sides closed.
    pub finished: u64,
    /// Bytes from clients to targets.
    pub to_radio: u64,
    /// Bytes from targets to clients.
    pub from_radio: u64,
}

/// Counters that many threads add to.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    pub accepted: AtomicU64,
    pub too_many: AtomicU64,
    pub unreachable: AtomicU64,
    pub broken: AtomicU64,
    pub finished: AtomicU64,
    pub to_radio: AtomicU64,
    pub from_radio: AtomicU64,
}

/// The connections that are open, by number. Numbers count from 0 and are not used twice.
#[derive(Debug, Default)]
pub struct Connections {
    open: Mutex<BTreeMap<u32, Arc<Halves>>>,
    pub(super) tallies: Tallies,
}

impl Connections {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Halves>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(super) fn insert(&self, number: u32, halves: Arc<Halves>) {
        self.locked().insert(number, halves);
    }
    pub(super) fn remove(&self, number: u32) {
        self.locked().remove(&number);
    }
    /// The open connections.
    pub fn open(&self) -> BTreeMap<u32, Arc<Halves>> {
        self.locked().clone()
    }
    /// The current counters.
    pub fn counters(&self) -> SplitCounters {
        let t = &self.tallies;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SplitCounters {
            accepted: get(&t.accepted),
            too_many: get(&t.too_many),
            unreachable: get(&t.unreachable),
            broken: get(&t.broken),
            finished: get(&t.finished),
            to_radio: get(&t.to_radio),
            from_radio: get(&t.from_radio),
        }
    }
}
