//! The data of a controller's page: planned slots, backlog, how full slots are, and which hosts are
//! silent.
//!
//! Three threads share it, and none waits for a browser. The control loop hands over planned slots
//! without a lock, and only while a page is open ([`Watch::slot`]). The demand channel's thread
//! records what hosts report ([`Watch::hear`]). The status page's thread makes a few events a
//! second of both ([`Publisher`]).

mod heard;
mod hold;
mod page;
mod picture;
mod publisher;

pub(crate) use hold::Hold;
pub(crate) use page::{POLICY, html};
pub(crate) use publisher::{Full, LISTENERS, Publisher};

use crate::channel::Event as ChannelEvent;
use crate::clock;
use crate::observer::ObserverReport;
use heard::HostRecords;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timeplane_model::{Duration, HostId, Rate, Round, Time};

/// Maximum number of slots that wait for the page's thread. It takes them ten times a second.
const SLOTS: usize = 8192;

/// Description of a controller for its page.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// The scenario's name.
    pub scenario: String,
    /// Name of the scheme that the controller runs.
    pub scheme: String,
    /// Kind of the plan.
    pub plan: Kind,
    /// Number of hosts.
    pub hosts: u32,
    /// Rate of a host's link.
    #[serde(skip)]
    pub rate: Rate,
    /// Position among several controllers, from 0.
    pub place: u32,
    /// Number of this start.
    pub epoch: u32,
    /// Longest dark time of a circuit switch's ports when they move; 0 without circuits.
    #[serde(rename = "dark_ns", serialize_with = "nanoseconds")]
    pub dark: Duration,
    /// A joined host that has not reported for this time is late. `None` if hosts report only
    /// changes.
    #[serde(rename = "late_after_ns", serialize_with = "perhaps_nanoseconds")]
    pub late_after: Option<Duration>,
}

/// What a controller plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Slots, in which hosts send exclusively.
    Slots,
    /// Circuits, with rates for the remaining traffic.
    Circuits,
    /// Rates, without slots.
    Rates,
}

fn nanoseconds<S: serde::Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_i64(d.as_ps() / 1000)
}

fn perhaps_nanoseconds<S: serde::Serializer>(d: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
    d.map(|d| d.as_ps() / 1000).serialize(s)
}

/// A planned slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Round that the slot belongs to.
    pub round: Round,
    /// Number of the slot in its round.
    pub index: u32,
    /// Start, by the machine's clock.
    pub start: Time,
    /// Length of the slot.
    pub open: Duration,
    /// Guard between this slot and the next.
    pub guard: Duration,
    /// Pairs of source and destination.
    pub pairs: Vec<(HostId, HostId)>,
}

/// Data of a controller's page, written by the controller's threads.
#[derive(Debug)]
pub struct Watch {
    about: About,
    begun: Time,
    watched: AtomicBool,
    slots: SyncSender<Planned>,
    missed: AtomicU64,
    pages: AtomicUsize,
    heard: Mutex<HostRecords>,
    observed: Mutex<Option<(Time, ObserverReport)>>,
}

impl Watch {
    /// Creates the data of a page that no browser has opened yet. The receiver of slots is for a
    /// [`Publisher`].
    pub fn new(about: About) -> (Arc<Self>, Receiver<Planned>) {
        let (slots, planned) = sync_channel(SLOTS);
        let heard = Mutex::new(HostRecords::new(about.hosts));
        let (watched, missed, pages) = (AtomicBool::new(false), AtomicU64::new(0), AtomicUsize::new(0));
        let (begun, observed) = (clock::now(), Mutex::new(None));
        (Arc::new(Self { about, begun, watched, slots, missed, pages, heard, observed }), planned)
    }

    /// Records a planned slot. `slot` is called only while a page is open. Never blocks: if the
    /// page's thread is behind, the slot counts as missed.
    pub fn slot(&self, slot: impl FnOnce() -> Planned) {
        if self.watched.load(Relaxed) && self.slots.try_send(slot()).is_err() {
            self.missed.fetch_add(1, Relaxed);
        }
    }

    /// Records an event of the demand channel. Returns whether it is for the page alone. Called on
    /// the channel's thread.
    pub fn hear(&self, event: &ChannelEvent) -> bool {
        self.heard().hear(clock::now(), event)
    }

    /// Number of open pages.
    pub fn pages(&self) -> usize {
        self.pages.load(Relaxed)
    }

    /// Records a report of an observer at the switch.
    pub fn observe(&self, report: ObserverReport) {
        *self.observed.lock().unwrap_or_else(PoisonError::into_inner) = Some((clock::now(), report));
    }

    fn heard(&self) -> MutexGuard<'_, HostRecords> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observed(&self) -> Option<(Time, ObserverReport)> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests;
