//! A stream that this host sends: its bytes until the receiver has acknowledged them, and their
//! retransmission.

use super::StreamError;
use super::pool::Pool;
use super::reach::Attempts;
use super::ring::Ring;
use timeplane_model::{HostId, Time};
use timeplane_transport::{Range, RawConfig, RawFrame, RawSender, RepairReport};

/// A stream from the program that writes it to the frames it leaves in. Offsets count one more byte
/// than the program writes: the end.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) to: HostId,
    pub(super) port: u16,
    raw: RawSender,
    ring: Ring,
    accepted: u64,
    /// Length that the program has declared, or that is known since it has finished.
    pub(super) length: Option<u64>,
    finished: bool,
    /// Everything below this offset has arrived; the end counts as one byte.
    acknowledged: u64,
    /// Whether the receiver has given it up, or has lost what it had.
    given_up: bool,
    /// Epoch of the receiver's agent, once it has reported.
    receiver: Option<u32>,
    /// Number of the newest report of this agent.
    report: Option<u32>,
    /// Whether it waits for its turn to send.
    pub(super) ready: bool,
    /// Time that its timer is set to.
    pub(super) timer: Option<Time>,
    /// Frames that may be too long to arrive.
    pub(super) attempts: Attempts,
}

impl Sending {
    pub(super) fn new(to: HostId, port: u16, length: Option<u64>, config: &RawConfig, pool: &Pool) -> Self {
        let mut stream = Self {
            to,
            port,
            raw: RawSender::new(config, 0),
            ring: Ring::new(pool),
            accepted: 0,
            length,
            finished: false,
            acknowledged: 0,
            given_up: false,
            receiver: None,
            report: None,
            ready: false,
            timer: None,
            attempts: Attempts::default(),
        };
        if length == Some(0) {
            stream.finish();
        }
        stream
    }

    /// Takes as many bytes as fit into the send buffer.
    pub(super) fn write(&mut self, bytes: &[u8], buffer: u64) -> Result<usize, StreamError> {
        if self.given_up {
            return Err(StreamError::GivenUp { host: self.to });
        }
        if self.finished && !bytes.is_empty() {
            return Err(StreamError::Finished);
        }
        let left = match self.length {
            Some(length) => length - self.accepted,
            None => u64::MAX,
        };
        if bytes.len() as u64 > left {
            let declared = self.length.unwrap_or_default();
            return Err(StreamError::TooLong { declared, found: self.accepted + bytes.len() as u64 });
        }
        let room = buffer.saturating_sub(self.accepted - self.acknowledged_bytes());
        let n = room.min(bytes.len() as u64);
        self.ring.write(self.accepted, &bytes[..n as usize]);
        self.accepted += n;
        self.raw.extend(n);
        if self.length == Some(self.accepted) && n > 0 {
            self.finish();
        }
        Ok(n as usize)
    }

    /// Ends the stream. Returns false if a longer one was declared.
    pub(super) fn finish(&mut self) -> bool {
        if self.length.is_some_and(|l| l != self.accepted) {
            return false;
        }
        if !self.finished && !self.given_up {
            self.finished = true;
            self.length = Some(self.accepted);
            self.raw.extend(1);
        }
        true
    }

    /// Gives the stream up.
    pub(super) fn give_up(&mut self) {
        if !self.is_complete() {
            self.given_up = true;
            self.ring.clear();
        }
    }

    /// Returns the next frame, with at most `most` bytes.
    pub(super) fn next_frame(&mut self, now: Time, most: u64) -> Option<RawFrame> {
        if self.given_up {
            return None;
        }
        let mut frame = self.raw.next_frame(now, most.min(u64::from(u32::MAX)) as u32)?;
        let end = frame.offset + u64::from(frame.len);
        if self.finished && !frame.retransmission && end == self.accepted {
            // The end needs no room.
            frame.len += self.raw.next_frame(now, 1).map_or(0, |f| f.len);
        }
        self.attempts.sent();
        Some(frame)
    }

    /// Appends the bytes of a frame.
    pub(super) fn copy(&self, frame: &RawFrame, into: &mut Vec<u8>) {
        self.ring.read(frame.offset, usize::from(self.payload(frame)), |piece| into.extend_from_slice(piece));
    }

    /// Number of payload bytes of a frame; the end has none.
    pub(super) fn payload(&self, frame: &RawFrame) -> u16 {
        let end = (frame.offset + u64::from(frame.len)).min(self.accepted);
        (end - frame.offset) as u16
    }

    pub(super) fn unsent(&mut self, frame: RawFrame) {
        self.raw.unsent(frame);
    }

    /// Handles a report of the receiver. Returns whether it contains anything new.
    ///
    /// Reports are totals, so an older one, late or recorded and sent again, has nothing to add.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        (epoch, number): (u32, u32),
        contiguous: u64,
        missing: &[(u64, u64)],
    ) -> bool {
        match self.receiver {
            Some(known) if epoch < known => return false,
            Some(known) if epoch > known => {
                self.give_up();
                return true;
            }
            _ => self.receiver = Some(epoch),
        }
        if self.report.is_some_and(|newest| (number.wrapping_sub(newest) as i32) <= 0) {
            return false;
        }
        self.report = Some(number);
        // A receiver that has the last byte of a finished stream has its end as well, even if the
        // end was not sent.
        let all = self.finished && contiguous == self.accepted + 1;
        let contiguous = if all { contiguous.min(self.raw.next_offset()) } else { contiguous };
        let progress = contiguous > self.acknowledged;
        match (progress, missing.is_empty()) {
            (true, _) => {}
            (false, false) => self.attempts.failed(now),
            // Everything has arrived, and the program there does not read.
            (false, true) => self.attempts = Attempts::default(),
        }
        if self.given_up || contiguous > self.raw.next_offset() || (!progress && missing.is_empty()) {
            // The report says nothing new, for example because the receiving program does not read.
            // The timeout keeps growing.
            return false;
        }
        let missing = missing.iter().map(|&(start, end)| Range { start, end }).collect();
        self.raw.on_report(now, &RepairReport { contiguous, missing });
        if progress {
            self.acknowledged = contiguous;
            self.ring.release(self.acknowledged_bytes());
        }
        true
    }

    /// Handles a restart of the receiver's agent: all that the former one had is lost.
    pub(super) fn on_epoch(&mut self, epoch: u32) {
        if self.receiver.is_some_and(|known| known < epoch) {
            self.give_up();
        }
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.attempts.failed(now);
        self.raw.on_timeout(now);
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.raw.deadline().filter(|_| !self.given_up)
    }

    /// Bytes to send now; the end counts as one byte.
    pub(super) fn backlog(&self) -> u64 {
        if self.given_up { 0 } else { self.raw.backlog() }
    }

    pub(super) fn accepted(&self) -> u64 {
        self.accepted
    }
    pub(super) fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged.min(self.accepted)
    }
    /// Bytes that are kept until they are acknowledged.
    pub(super) fn held(&self) -> u64 {
        self.accepted - self.acknowledged_bytes()
    }
    pub(super) fn resent(&self) -> u64 {
        self.raw.retransmissions()
    }
    pub(super) fn is_complete(&self) -> bool {
        self.finished && self.acknowledged == self.accepted + 1
    }
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up
    }
    /// Whether the receiver may know of the stream.
    pub(super) fn is_begun(&self) -> bool {
        self.raw.next_offset() > 0
    }
    pub(super) fn memory(&self) -> u64 {
        self.ring.memory()
    }
}
