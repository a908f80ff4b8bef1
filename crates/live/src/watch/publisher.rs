//! Sends events to open pages: few, small, and without waiting for a slow reader.
//!
//! A page that falls behind is disconnected. It connects again and gets a new snapshot.

use super::picture::Picture;
use super::{Hold, Planned, Watch};
use crate::clock;
use crate::controller::Known;
use axum::body::Bytes;
use futures_core::Stream;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration as Wait;
use timeplane_model::Time;
use tokio::sync::{Notify, mpsc};

/// Maximum number of open pages.
pub(crate) const LISTENERS: usize = 8;
/// Maximum number of events that wait for a page. A slower page is disconnected; it reconnects and
/// gets a new snapshot.
pub(super) const QUEUE: usize = 16;
/// Time between two events.
const EVERY: Wait = Wait::from_millis(100);
/// One of this many events contains more than slots.
const REST: u32 = 5;

/// The maximum number of pages is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

struct Listener {
    events: mpsc::Sender<Bytes>,
    hold: Hold,
}

/// Sends changes to open pages. Without open pages, nothing is collected.
pub(crate) struct Publisher {
    watch: Arc<Watch>,
    planned: Receiver<Planned>,
    known: Box<dyn Fn() -> Known + Send>,
    counters: Box<dyn Fn() -> Value + Send>,
    picture: Picture,
    listeners: Vec<Listener>,
    /// Of the last event.
    number: u64,
    ticks: u32,
    wake: Arc<Notify>,
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Publisher({} listeners)", self.listeners.len())
    }
}

impl Publisher {
    /// Of a controller that says who is there (`known`) and what it counts, a JSON object.
    pub(crate) fn new(
        watch: Arc<Watch>,
        planned: Receiver<Planned>,
        known: impl Fn() -> Known + Send + 'static,
        counters: impl Fn() -> Value + Send + 'static,
    ) -> Self {
        let picture = Picture::new(watch.about.hosts);
        let (known, counters) = (Box::new(known), Box::new(counters));
        let (listeners, wake) = (Vec::new(), Arc::default());
        Self { watch, planned, known, counters, picture, listeners, number: 0, ticks: 0, wake }
    }

    /// What it is about.
    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// Another page: a snapshot at once, and all events after it, for as long as it takes them.
    ///
    /// # Errors
    /// If the maximum number of pages is open.
    pub(crate) fn listen(&mut self, hold: Hold) -> Result<Events, Full> {
        self.listeners.retain(|l| !l.events.is_closed());
        if self.listeners.len() >= LISTENERS {
            return Err(Full);
        }
        let now = clock::now();
        if self.listeners.is_empty() {
            // What was left of those before says nothing of now.
            while self.planned.try_recv().is_ok() {}
            self.watch.missed.store(0, Relaxed);
            self.picture = Picture::new(self.watch.about.hosts);
            self.watch.heard().hosts.iter_mut().for_each(|h| h.changed = true);
            self.watch.watched.store(true, Relaxed);
            // All rows, even if they exceed the size of an event.
            while self.rest(now)["demand"].as_object().is_some_and(|rows| !rows.is_empty()) {}
            self.wake.notify_one();
        }
        let (events, received) = mpsc::channel(QUEUE);
        let snapshot = event("snapshot", self.number, &self.picture.snapshot(&self.watch, now));
        let _ = events.try_send(snapshot);
        hold.set(true);
        self.listeners.push(Listener { events, hold: hold.clone() });
        self.watch.pages.store(self.listeners.len(), Relaxed);
        Ok(Events { received, hold })
    }

    fn rest(&mut self, now: Time) -> Value {
        self.picture.rest(&self.watch, now, &(self.known)(), (self.counters)())
    }

    /// Tells what is new, where somebody listens; whether anybody does.
    pub(crate) fn tick(&mut self) -> bool {
        self.listeners.retain(|l| !l.events.is_closed());
        self.watch.pages.store(self.listeners.len(), Relaxed);
        if self.listeners.is_empty() {
            self.watch.watched.store(false, Relaxed);
            return false;
        }
        let now = clock::now();
        let slots = self.picture.slots(&self.watch, &self.planned);
        let rest = self.ticks.is_multiple_of(REST).then(|| self.rest(now));
        self.ticks = self.ticks.wrapping_add(1);
        if slots.is_none() && rest.is_none() {
            return true;
        }
        let mut told = json!({ "now_ns": (now - self.watch.begun).as_ps() / 1000 });
        for part in [slots, rest].into_iter().flatten() {
            let Value::Object(part) = part else { continue };
            part.into_iter().for_each(|(key, value)| told[key] = value);
        }
        self.number += 1;
        let event = event("update", self.number, &told);
        self.listeners.retain(|l| {
            let taken = l.events.try_send(event.clone()).is_ok();
            if !taken {
                // Its connection ends soon, though it takes nothing.
                l.hold.set(false);
            }
            taken
        });
        true
    }

    /// Ticks while a page is open, and waits while none is.
    pub(crate) async fn run(publisher: Arc<Mutex<Self>>) {
        let lock = || publisher.lock().unwrap_or_else(PoisonError::into_inner);
        let wake = Arc::clone(&lock().wake);
        loop {
            wake.notified().await;
            loop {
                tokio::time::sleep(EVERY).await;
                if !lock().tick() {
                    break;
                }
            }
        }
    }
}

/// An event in the format text/event-stream. The JSON contains no line breaks.
fn event(kind: &str, number: u64, data: &Value) -> Bytes {
    format!("id: {number}\nevent: {kind}\ndata: {data}\n\n").into()
}

/// The events of one page, until it is dropped.
#[derive(Debug)]
pub(crate) struct Events {
    received: mpsc::Receiver<Bytes>,
    hold: Hold,
}

impl Stream for Events {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.received.poll_recv(context).map(|event| event.map(Ok))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.hold.set(false);
    }
}
