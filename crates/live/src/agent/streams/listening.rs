//! Programs that receive streams: listening at ports, accepting streams, reading and closing them.
//!
//! A stream for which no program listens waits for a limited time; then its sender is told.

use super::incoming::Receiving;
use super::peer::Ending;
use super::{Answer, IncomingId, ListenerId, MAX_LISTENERS, PATIENCE, Read, StreamError, Streams, Timer};
use std::collections::VecDeque;
use timeplane_model::HostId;

/// A port at which streams wait for programs.
#[derive(Debug, Default)]
pub(super) struct Port {
    listeners: Vec<u64>,
    /// Streams that have started and that no program has accepted.
    begun: VecDeque<IncomingId>,
}

impl Port {
    /// Whether a program listens.
    pub(super) fn is_open(&self) -> bool {
        !self.listeners.is_empty()
    }
    /// The programs that listen at the port of this number.
    pub(super) fn listeners(&self, port: u16) -> impl Iterator<Item = ListenerId> {
        self.listeners.iter().map(move |&number| ListenerId { port, number })
    }
    /// Adds a stream that has started.
    pub(super) fn offer(&mut self, id: IncomingId) {
        self.begun.push_back(id);
    }
}

impl Streams {
    /// Listens for streams at a port. Several programs may listen at one port: each stream goes to
    /// the first that accepts it. Bytes that arrived while no program listened are requested again.
    ///
    /// # Errors
    /// If there are [`MAX_LISTENERS`] listeners already.
    pub fn listen(&mut self, port: u16) -> Result<ListenerId, StreamError> {
        if self.listeners >= MAX_LISTENERS {
            return Err(StreamError::TooMany { what: "listeners", have: self.listeners });
        }
        self.listeners += 1;
        self.next_listener += 1;
        let place = self.ports.entry(port).or_default();
        place.listeners.push(self.next_listener);
        if place.listeners.len() == 1 {
            let waiting: Vec<IncomingId> =
                self.receiving.iter().filter(|(_, r)| r.port == port && !r.accepted).map(|(&id, _)| id).collect();
            for id in waiting {
                let Some(stream) = self.receiving.get_mut(&id) else { continue };
                if stream.begun {
                    stream.patience = None;
                }
                stream.speak(self.clock);
                self.set_receiving_timer(id);
            }
        }
        Ok(ListenerId { port, number: self.next_listener })
    }

    /// Returns the next stream for a listener, once its first byte or its end has arrived. The
    /// caller must [`close`](Streams::close) it.
    pub fn accept(&mut self, listener: ListenerId) -> Option<IncomingId> {
        let port = self.ports.get_mut(&listener.port).filter(|p| p.listeners.contains(&listener.number))?;
        let id = port.begun.pop_front()?;
        if let Some(stream) = self.receiving.get_mut(&id) {
            stream.accepted = true;
            stream.patience = None;
        }
        self.counters.streams_accepted += 1;
        self.set_receiving_timer(id);
        Some(id)
    }

    /// Whether [`Streams::accept`] would return a stream.
    pub fn offers(&self, listener: ListenerId) -> bool {
        self.ports.get(&listener.port).is_some_and(|p| !p.begun.is_empty())
    }

    /// Ends a listener. Streams that it has accepted remain.
    pub fn stop_listening(&mut self, listener: ListenerId) {
        let Some(port) = self.ports.get_mut(&listener.port) else { return };
        let Some(at) = port.listeners.iter().position(|&n| n == listener.number) else { return };
        port.listeners.remove(at);
        self.listeners -= 1;
        self.watching.offer(std::iter::once(listener));
        if !port.listeners.is_empty() {
            return;
        }
        let left: Vec<IncomingId> = port.begun.iter().copied().collect();
        for id in left {
            if let Some(stream) = self.receiving.get_mut(&id) {
                stream.patience = Some(self.clock.saturating_add(PATIENCE));
            }
        }
        let asked: Vec<IncomingId> =
            self.receiving.iter().filter(|(_, r)| r.port == listener.port).map(|(&id, _)| id).collect();
        asked.into_iter().for_each(|id| self.set_receiving_timer(id));
        self.drop_empty_port(listener.port);
    }

    /// The length of a stream, once it is known.
    pub fn incoming_length(&self, id: IncomingId) -> Option<u64> {
        self.receiving.get(&id)?.length
    }

    /// Whether [`Streams::read`] would return anything but [`Read::Nothing`].
    pub fn is_readable(&self, id: IncomingId) -> bool {
        self.receiving.get(&id).is_none_or(Receiving::is_readable)
    }

    /// Reads bytes of a stream, in order.
    pub fn read(&mut self, id: IncomingId, buf: &mut [u8]) -> Read {
        let Some(stream) = self.receiving.get_mut(&id) else { return Read::Broken };
        let read = stream.read(self.clock, buf);
        self.set_receiving_timer(id);
        read
    }

    /// Ends reading of a stream. If it is incomplete, its sender is told that it was given up.
    pub fn close(&mut self, id: IncomingId) {
        let Some(stream) = self.receiving.get(&id) else { return };
        if stream.is_complete() {
            // The agent has acknowledged all bytes, even those that the program has not read.
            let length = stream.length.unwrap_or_default();
            self.end(id, Ending::Complete);
            self.answer(id.host, id.epoch, id.stream, Answer::Complete(length));
        } else {
            self.end(id, Ending::GivenUp);
            self.answer(id.host, id.epoch, id.stream, Answer::Unwanted);
        }
    }

    /// Ends a stream: frees its memory, and makes sure that late frames do not start it again.
    pub(super) fn end(&mut self, id: IncomingId, ending: Ending) {
        self.remove_receiving(id);
        if let Some(peer) = self.peers.get_mut(&id.host).filter(|p| p.epoch == id.epoch) {
            peer.ended.insert(id.stream, ending);
        }
    }

    /// Removes a stream from all lists.
    pub(super) fn remove_receiving(&mut self, id: IncomingId) -> Option<Receiving> {
        let stream = self.receiving.remove(&id)?;
        self.watching.readable(id);
        if let Some(at) = stream.timer {
            self.timers.remove(&(at, Timer::Receiving(id)));
        }
        if let Some(peer) = self.peers.get_mut(&id.host) {
            peer.incoming -= 1;
        }
        if stream.begun && !stream.accepted {
            if let Some(port) = self.ports.get_mut(&stream.port) {
                port.begun.retain(|&i| i != id);
            }
            self.drop_empty_port(stream.port);
        }
        Some(stream)
    }

    fn drop_empty_port(&mut self, number: u16) {
        if self.ports.get(&number).is_some_and(|p| p.listeners.is_empty() && p.begun.is_empty()) {
            self.ports.remove(&number);
        }
    }

    /// Queues an answer to a host about a stream that is not open here.
    pub(super) fn answer(&mut self, host: HostId, epoch: u32, stream: u32, answer: Answer) {
        if self.answers.len() < super::MAX_ANSWERS {
            self.answers.insert((host, epoch, stream), answer);
        }
    }

    pub(super) fn set_receiving_timer(&mut self, id: IncomingId) {
        let Some(stream) = self.receiving.get_mut(&id) else { return };
        // While no program listens, no bytes are requested.
        let is_heard = stream.accepted || self.ports.get(&stream.port).is_some_and(Port::is_open);
        let speaks = stream.deadline().filter(|_| is_heard);
        let deadline = [speaks, stream.patience].into_iter().flatten().min();
        if stream.timer != deadline {
            let key = Timer::Receiving(id);
            if let Some(at) = stream.timer {
                self.timers.remove(&(at, key));
            }
            if let Some(at) = deadline {
                self.timers.insert((at, key));
            }
            stream.timer = deadline;
        }
    }
}
