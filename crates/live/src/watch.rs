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

use crate::channel::Event as Word;
use crate::clock;
use crate::observer::Report;
use heard::Heard;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timeplane_model::{Duration, HostId, Rate, Round, Time};

/// Slots that wait for the page's thread at most. It takes them ten times a second.
const SLOTS: usize = 8192;

/// What a controller is, for its page.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// The scenario's name.
    pub scenario: String,
    /// Its scheme.
    pub scheme: String,
    /// What is planned.
    pub plan: Kind,
    /// How many hosts there are.
    pub hosts: u32,
    /// Of a host's link.
    #[serde(skip)]
    pub rate: Rate,
    /// Which of several controllers it is.
    pub place: u32,
    /// Counts its starts.
    pub epoch: u32,
    /// For how long ports of a circuit switch are dark that change.
    #[serde(rename = "dark_ns", serialize_with = "nanoseconds")]
    pub dark: Duration,
    /// A host that is there and has not reported for so long is late; `None` where hosts report
    /// only what changes.
    #[serde(rename = "late_after_ns", serialize_with = "perhaps_nanoseconds")]
    pub late_after: Option<Duration>,
}

/// What a controller plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Slots.
    Slots,
    /// Circuits, and rates beside them.
    Circuits,
    /// Rates: nobody holds a slot.
    Rates,
}

fn nanoseconds<S: serde::Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_i64(d.as_ps() / 1000)
}

fn perhaps_nanoseconds<S: serde::Serializer>(d: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
    d.map(|d| d.as_ps() / 1000).serialize(s)
}

/// A slot as it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The round.
    pub round: Round,
    /// Its place in it.
    pub index: u32,
    /// When it opens, by the machine's clock.
    pub start: Time,
    /// For how long.
    pub open: Duration,
    /// What lies between it and the next.
    pub gap: Duration,
    /// Who sends to whom.
    pub pairs: Vec<(HostId, HostId)>,
}

/// Where a controller's threads write down what its page shows.
#[derive(Debug)]
pub struct Watch {
    about: About,
    begun: Time,
    watched: AtomicBool,
    slots: SyncSender<Planned>,
    missed: AtomicU64,
    pages: AtomicUsize,
    heard: Mutex<Heard>,
    observed: Mutex<Option<(Time, Report)>>,
}

impl Watch {
    /// Nobody looks yet. Slots come out of the other half, for a [`Publisher`].
    pub fn new(about: About) -> (Arc<Self>, Receiver<Planned>) {
        let (slots, planned) = sync_channel(SLOTS);
        let heard = Mutex::new(Heard::new(about.hosts));
        let (watched, missed, pages) = (AtomicBool::new(false), AtomicU64::new(0), AtomicUsize::new(0));
        let (begun, observed) = (clock::now(), Mutex::new(None));
        (Arc::new(Self { about, begun, watched, slots, missed, pages, heard, observed }), planned)
    }

    /// A slot is planned. `slot` is called only while somebody looks. Never waits: where the page's
    /// thread is behind, the slot is counted as missed.
    pub fn slot(&self, slot: impl FnOnce() -> Planned) {
        if self.watched.load(Relaxed) && self.slots.try_send(slot()).is_err() {
            self.missed.fetch_add(1, Relaxed);
        }
    }

    /// Something came over the demand channel. Whether it is for the page alone. Called on the
    /// channel's thread.
    pub fn hear(&self, word: &Word) -> bool {
        self.heard().hear(clock::now(), word)
    }

    /// How many pages are told what is new.
    pub fn pages(&self) -> usize {
        self.pages.load(Relaxed)
    }

    /// What an observer at the switch has seen by now.
    pub fn observe(&self, report: Report) {
        *self.observed.lock().unwrap_or_else(PoisonError::into_inner) = Some((clock::now(), report));
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observed(&self) -> Option<(Time, Report)> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests;
