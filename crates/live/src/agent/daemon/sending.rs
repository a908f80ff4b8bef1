//! Sending: hands the frames that open queues may send to the interface, and takes back those that
//! it refuses.

use super::opening::OpenQueue;
use super::{LiveAgent, packet_bytes, wire_bytes};
use crate::clock;
use crate::gate::SafeState;
use crate::packet_socket::Stop;
use std::sync::atomic::Ordering::Relaxed;
use timeplane_model::{Duration, Time};

/// How long frames wait that the interface has refused for now.
const AGAIN: Duration = Duration::from_us(200);

impl LiveAgent {
    /// Whether frames leave without slots because all controllers have been silent for a lease.
    fn abandoned(&self, now: Time) -> bool {
        self.config.gate.safe == SafeState::Open && now - self.heard > self.config.gate.lease
    }

    /// Sends the frames that open queues may send. Returns when to call again.
    pub(super) fn send(&mut self) -> std::io::Result<Option<Time>> {
        let mut now = clock::now();
        let expired = self.open.len();
        self.open.retain(|o| o.until > now);
        if self.open.len() < expired && self.open.is_empty() {
            self.link.stop(now);
        }
        if self.open.is_empty() && self.abandoned(now) {
            let waiting = Self::streams(&self.shared).backlog();
            self.link.start(now);
            let until = now.saturating_add(Duration::from_ms(1));
            self.open.extend(waiting.iter().map(|&(destination, _)| OpenQueue::unscheduled(destination, until)));
        }
        if self.interface.retry_at > now && !self.open.is_empty() {
            return Ok(Some(self.interface.retry_at));
        }
        let mut next: Option<Time> = None;
        let mut at = 0;
        while at < self.open.len() {
            let ready = {
                let mut streams = Self::streams(&self.shared);
                self.batch.fill(now, &mut self.open, &mut at, &mut self.link, &mut streams)
            };
            next = [next, ready].into_iter().flatten().min();
            let count = self.batch.frames().len();
            if count == 0 {
                continue;
            }
            let abandoned = self.abandoned(now);
            let sent = self.data.send_batch(self.batch.frames())?;
            self.count_sent(sent.sent, abandoned);
            if sent.sent < count {
                let again = self.stopped(now, sent.sent, sent.stop, &mut at);
                next = [next, again].into_iter().flatten().min();
                continue;
            }
            self.unhindered();
            now = clock::now();
            let is_slot = self.open[self.batch.queue_of(0)].is_slot();
            // Signals that have arrived meanwhile are read before the next batch. Rates need none.
            if self.batch.is_full() || is_slot && self.open.len() > 1 {
                next = Some(now);
                break;
            }
        }
        // Where the link is busy, or the loop too late for all queues, the last ones lose. So the
        // first one changes.
        if self.open.first().is_some_and(|o| !o.is_slot()) {
            self.open.rotate_left(1);
        }
        Ok(next)
    }

    /// Handles the frames of the batch from `first` on, which did not leave. Moves `at` to the
    /// queue that is next. Returns when to try again; `None` if the queue of the first frame is
    /// closed, and removed.
    fn stopped(&mut self, now: Time, first: usize, stop: Option<Stop>, at: &mut usize) -> Option<Time> {
        let all = self.batch.frames().len();
        let queue = self.batch.queue_of(first);
        {
            let mut streams = Self::streams(&self.shared);
            self.batch.take_back(first..all, &mut self.open, &mut self.link, &mut streams);
        }
        *at = queue + 1;
        match stop {
            Some(Stop::Refused) => {
                // The kernel has obeyed a signal that this thread has not yet read.
                let of_queue = (first..all).filter(|&frame| self.batch.queue_of(frame) == queue).count();
                self.counters.too_late.fetch_add(of_queue as u64, Relaxed);
                // A rate remains in force until the next one.
                if self.open[queue].is_slot() {
                    self.open.swap_remove(queue);
                    *at = queue;
                    if self.open.is_empty() {
                        self.link.stop(now);
                    }
                    return None;
                }
                if let Some(pace) = &mut self.open[queue].pace {
                    pace.refused(now);
                }
            }
            Some(stop @ (Stop::TooLong | Stop::Down | Stop::Gone)) => return Some(self.hindered(stop)),
            Some(Stop::Full) | None => {}
        }
        Some(now.saturating_add(AGAIN))
    }

    /// Counts frames that the interface has taken: the first `sent` of the batch.
    fn count_sent(&self, sent: usize, abandoned: bool) {
        let frames = &self.batch.frames()[..sent];
        let (mut wire, mut by_circuit) = (0, (0, 0));
        for (place, frame) in frames.iter().enumerate() {
            let bytes = wire_bytes(frame.len());
            wire += bytes;
            if self.open[self.batch.queue_of(place)].by_circuit() {
                by_circuit = (by_circuit.0 + 1, by_circuit.1 + bytes);
            }
        }
        self.counters.frames.fetch_add(sent as u64, Relaxed);
        self.counters.wire_bytes.fetch_add(wire, Relaxed);
        self.counters.sent_bytes.fetch_add(packet_bytes(frames), Relaxed);
        self.counters.circuit_frames.fetch_add(by_circuit.0, Relaxed);
        self.counters.circuit_wire_bytes.fetch_add(by_circuit.1, Relaxed);
        if abandoned {
            self.counters.unscheduled.fetch_add(sent as u64, Relaxed);
        }
    }
}
