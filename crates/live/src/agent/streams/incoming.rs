//! A stream that this host receives: its bytes until a program reads them, and the reports that ask
//! its sender for missing ones.

use super::Read;
use super::pool::Pool;
use super::ring::Ring;
use timeplane_model::{Duration, Time};
use timeplane_protocol::wire::DataHeader;
use timeplane_transport::{RawConfig, RawReceiver};

/// Maximum time until received bytes are reported, if nothing else triggers a report.
const REPORT_DELAY: Duration = Duration::from_ms(20);
/// A report is due after this many bytes, or after a quarter of the send buffer if that is less.
const REPORT_BYTES: u64 = 256 * 1024;
/// Maximum number of missing ranges that are tracked; a lossy path has some hundreds.
const MAX_HELD: usize = 4096;
/// A receiver without progress asks less and less often, down to once in this many intervals.
const SLOWEST: i64 = 64;

/// How a receiver handled a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameOutcome {
    /// This many bytes are new; 0 if only the end is.
    New(u64),
    /// All bytes had arrived before.
    Duplicate,
    /// The frame is beyond the buffer.
    Beyond,
    /// The frame contradicts earlier ones.
    Contradiction,
}

/// An incoming stream, from its frames to the program that reads it.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) port: u16,
    raw: RawReceiver,
    ring: Ring,
    interval: Duration,
    /// Bytes that the sender may have unacknowledged.
    buffer: u64,
    read: u64,
    pub(super) length: Option<u64>,
    /// Whether the end has arrived, even if bytes before it are missing.
    ended: bool,
    /// Bytes below this offset were sent but not kept, as no program listened.
    unheard: u64,
    /// Offset that the last report acknowledged.
    told: u64,
    /// Bytes that had arrived at the last report.
    had: u64,
    reported: Option<Time>,
    /// Time until the next report if the missing ranges do not change.
    pause: Duration,
    due: Option<Time>,
    /// Whether the first byte has arrived, so that a program may accept the stream.
    pub(super) begun: bool,
    /// Whether a program has accepted it.
    pub(super) accepted: bool,
    /// When it is given up if it has not started or no program listens.
    pub(super) patience: Option<Time>,
    /// Time that its timer is set to.
    pub(super) timer: Option<Time>,
}

impl Receiving {
    pub(super) fn new(port: u16, buffer: u64, config: &RawConfig, patience: Time, pool: &Pool) -> Self {
        let interval = config.report_interval.max(Duration::from_us(1));
        Self {
            port,
            raw: RawReceiver::new(config, u64::MAX),
            ring: Ring::new(pool),
            interval,
            buffer,
            read: 0,
            length: None,
            ended: false,
            unheard: 0,
            told: 0,
            had: 0,
            reported: None,
            pause: interval,
            due: None,
            begun: false,
            accepted: false,
            patience: Some(patience),
            timer: None,
        }
    }

    /// Handles a frame while no program listens: only its offset is remembered.
    pub(super) fn on_unheard(&mut self, header: &DataHeader) {
        self.unheard = self.unheard.max(header.offset + u64::from(header.payload)).max(1);
    }

    /// Handles a frame. `most` limits the bytes that are kept for the program.
    pub(super) fn on_frame(&mut self, now: Time, header: &DataHeader, payload: &[u8], most: u64) -> FrameOutcome {
        let (offset, len) = (header.offset, payload.len() as u64);
        if offset + len > self.read.saturating_add(most.min(2 * self.buffer)) {
            return FrameOutcome::Beyond;
        }
        if self.raw.missing_ranges() >= MAX_HELD && offset > self.raw.received() {
            return FrameOutcome::Beyond;
        }
        if let Some(length) = header.length {
            if self.length.is_some_and(|l| l != length) || !self.raw.set_length(now, length + 1) {
                return FrameOutcome::Contradiction;
            }
            self.length = Some(length);
        } else if self.length.is_some_and(|l| offset + len > l) {
            return FrameOutcome::Contradiction;
        }
        // The end arrives with the last byte.
        let end = u64::from(self.length == Some(offset + len));
        let is_end_new = end == 1 && !std::mem::replace(&mut self.ended, true);
        let new = self.raw.on_frame(now, offset, (len + end) as u32);
        let skip = self.read.saturating_sub(offset).min(len);
        if new > 0 {
            self.ring.write(offset + skip, &payload[skip as usize..]);
        }
        if new == 0 {
            // The sender may have missed the last report.
            self.speak(now);
            return FrameOutcome::Duplicate;
        }
        self.progress(now);
        FrameOutcome::New(new - u64::from(is_end_new))
    }

    /// Copies bytes for the program into a buffer.
    pub(super) fn read(&mut self, clock: Time, buf: &mut [u8]) -> Read {
        let there = self.raw.received().min(self.length.unwrap_or(u64::MAX)) - self.read;
        let n = there.min(buf.len() as u64) as usize;
        if n == 0 {
            return if there == 0 && self.is_complete() { Read::End } else { Read::Nothing };
        }
        let mut at = 0;
        self.ring.read(self.read, n, |piece| {
            buf[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
        self.read += n as u64;
        self.ring.release(self.read);
        self.progress(clock);
        Read::Bytes(n)
    }

    /// Whether there are bytes to read, or the end.
    pub(super) fn is_readable(&self) -> bool {
        self.raw.received() > self.read
    }

    /// Whether more can be acknowledged than the last report did.
    fn progress(&mut self, now: Time) {
        let more = self.acknowledged() - self.told;
        if more > 0 && (more >= REPORT_BYTES.min(self.buffer / 4) || self.is_acknowledged()) {
            self.speak(now);
        } else if more > 0 && self.due.is_none() {
            self.due = Some(now.saturating_add(REPORT_DELAY));
        }
    }

    /// Makes a report due as soon as allowed.
    pub(super) fn speak(&mut self, now: Time) {
        let at = self.reported.map_or(now, |at| now.max(at.saturating_add(self.interval)));
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// The offset that a report acknowledges. It is limited by what the program has read, which
    /// limits the sender.
    fn acknowledged(&self) -> u64 {
        self.raw.received().min(self.read.saturating_add(self.buffer)).max(self.told)
    }
    /// Whether all bytes and the end have arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.length.is_some_and(|l| self.raw.received() == l + 1)
    }
    /// Whether a report may acknowledge the end.
    fn is_acknowledged(&self) -> bool {
        self.length.is_some_and(|l| self.acknowledged() == l + 1)
    }
    pub(super) fn is_started(&self) -> bool {
        self.raw.received() > 0
    }
    pub(super) fn memory(&self) -> u64 {
        self.ring.memory()
    }

    /// When to [report](Self::report).
    pub(super) fn deadline(&self) -> Option<Time> {
        let report = match (self.raw.deadline(), self.reported) {
            (Some(at), Some(reported)) => Some(at.max(reported.saturating_add(self.pause))),
            (at, _) => at,
        };
        [report, self.due].into_iter().flatten().min()
    }

    /// The content of a report: the acknowledged offset, and at most `most` missing ranges.
    pub(super) fn report(&mut self, now: Time, most: usize) -> (u64, Vec<(u64, u64)>) {
        let report = self.raw.report_now(now);
        let mut missing: Vec<(u64, u64)> = report.missing.iter().take(most).map(|r| (r.start, r.end)).collect();
        let have = self.raw.delivered_unique();
        self.pause = if have > self.had { self.interval } else { (self.pause * 2).min(self.interval * SLOWEST) };
        self.due = None;
        if missing.is_empty() && self.unheard > report.contiguous {
            missing.push((report.contiguous, self.unheard));
            self.due = Some(now.saturating_add(self.pause));
        }
        (self.had, self.reported, self.told) = (have, Some(now), self.acknowledged());
        (self.told, missing)
    }
}
