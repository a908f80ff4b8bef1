//! Programs that wait: each is woken by what it waits for, and by nothing else.
//!
//! Waking all programs at every frame would cost more than the frames: a host has a sender and a
//! receiver for each stream.

use super::{Awaited, IncomingId, ListenerId, StreamId, Streams};
use std::collections::BTreeMap;
use std::task::Waker;

/// Who waits for what, and who is to be woken.
#[derive(Debug, Default)]
pub(super) struct Watching {
    waiting: BTreeMap<Awaited, Waker>,
    woken: Vec<Waker>,
}

impl Watching {
    fn wake(&mut self, what: Awaited) {
        self.woken.extend(self.waiting.remove(&what));
    }
    /// A stream that this host sends has progressed, or is over.
    pub(super) fn progress(&mut self, id: StreamId, has_room: bool, is_over: bool) {
        if has_room || is_over {
            self.wake(Awaited::Room(id));
        }
        if is_over {
            self.wake(Awaited::Delivered(id));
        }
    }
    /// A stream that this host sends is forgotten.
    pub(super) fn end(&mut self, id: StreamId) {
        self.progress(id, true, true);
    }
    /// A stream that this host receives can be read, or is forgotten.
    pub(super) fn readable(&mut self, id: IncomingId) {
        self.wake(Awaited::Readable(id));
    }
    /// A stream has started at the port of these listeners.
    pub(super) fn offer(&mut self, listeners: impl Iterator<Item = ListenerId>) {
        listeners.for_each(|listener| self.wake(Awaited::Offer(listener)));
    }
}

impl Streams {
    /// Wakes a program the next time that what it waits for happens, once. A later call for the
    /// same replaces an earlier one.
    ///
    /// Nothing is woken at once: whoever has changed the streams calls the wakers that
    /// [`Streams::take_woken`] returns.
    pub fn watch(&mut self, what: Awaited, waker: &Waker) {
        let known = self.watching.waiting.get(&what);
        if known.is_none_or(|known| !known.will_wake(waker)) {
            self.watching.waiting.insert(what, waker.clone());
        }
    }

    /// The wakers to call, each once.
    pub fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.watching.woken)
    }
}
