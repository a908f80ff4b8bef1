//! A stream that this host receives.

use super::Read;
use super::ring::Ring;
use timeplane_model::{Duration, Time};
use timeplane_protocol::wire::DataHeader;
use timeplane_transport::{RawConfig, RawReceiver};

/// How long bytes that have come go unreported, where nothing else makes the receiver speak.
const REPORT_DELAY: Duration = Duration::from_ms(20);
/// As many bytes are reported at once, or a quarter of the send buffer.
const REPORT_BYTES: u64 = 256 * 1024;
/// More gaps than this are not kept; a lossy path has some hundreds.
const MAX_HELD: usize = 4096;
/// A receiver to whom nothing comes asks less and less often, down to once in so many intervals.
const SLOWEST: i64 = 64;

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// So many bytes are new; none where only the end is.
    New(u64),
    /// All of it had come before.
    Duplicate,
    /// Beyond what is kept.
    Beyond,
    /// It contradicts what came before.
    Contradiction,
}

/// A stream from the frames it comes in to the program that reads it.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) port: u16,
    raw: RawReceiver,
    ring: Ring,
    interval: Duration,
    /// What the sender may have unacknowledged.
    buffer: u64,
    read: u64,
    pub(super) length: Option<u64>,
    /// The end has come, whatever is missing before it.
    ended: bool,
    /// Sent, but not kept, below this offset: nobody listened.
    unheard: u64,
    /// What the last report acknowledged.
    told: u64,
    /// Bytes that had come at the last report.
    had: u64,
    reported: Option<Time>,
    /// Time until the next report while gaps stay as they are.
    pause: Duration,
    due: Option<Time>,
    /// The first byte is there: a program may have it.
    pub(super) begun: bool,
    /// A program has it.
    pub(super) accepted: bool,
    /// It is given up then, where it has not begun, or nobody listens.
    pub(super) patience: Option<Time>,
    /// When its timer is set to.
    pub(super) timer: Option<Time>,
}

impl Receiving {
    pub(super) fn new(port: u16, buffer: u64, config: &RawConfig, patience: Time) -> Self {
        let interval = config.report_interval.max(Duration::from_us(1));
        Self {
            port,
            raw: RawReceiver::new(config, u64::MAX),
            ring: Ring::default(),
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

    /// A frame comes while nobody listens: only that there was one is remembered.
    pub(super) fn on_unheard(&mut self, header: &DataHeader) {
        self.unheard = self.unheard.max(header.offset + u64::from(header.payload)).max(1);
    }

    /// A frame comes.
    pub(super) fn on_frame(&mut self, now: Time, header: &DataHeader, payload: &[u8]) -> Taken {
        let (offset, len) = (header.offset, payload.len() as u64);
        if offset + len > self.read.saturating_add(2 * self.buffer) {
            return Taken::Beyond;
        }
        if self.raw.missing_ranges() >= MAX_HELD && offset > self.raw.received() {
            return Taken::Beyond;
        }
        if let Some(length) = header.length {
            if self.length.is_some_and(|l| l != length) || !self.raw.set_length(now, length + 1) {
                return Taken::Contradiction;
            }
            self.length = Some(length);
        } else if self.length.is_some_and(|l| offset + len > l) {
            return Taken::Contradiction;
        }
        // The end comes with the last byte.
        let end = u64::from(self.length == Some(offset + len));
        let is_end_new = end == 1 && !std::mem::replace(&mut self.ended, true);
        let new = self.raw.on_frame(now, offset, (len + end) as u32);
        let skip = self.read.saturating_sub(offset).min(len);
        if new > 0 {
            self.ring.write(offset + skip, &payload[skip as usize..]);
        }
        if new == 0 {
            // The sender cannot have heard.
            self.speak(now);
            return Taken::Duplicate;
        }
        self.progress(now);
        Taken::New(new - u64::from(is_end_new))
    }

    /// Bytes for the program.
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

    /// More may be acknowledged than the last report said.
    fn progress(&mut self, now: Time) {
        let more = self.acknowledged() - self.told;
        if more > 0 && (more >= REPORT_BYTES.min(self.buffer / 4) || self.is_acknowledged()) {
            self.speak(now);
        } else if more > 0 && self.due.is_none() {
            self.due = Some(now.saturating_add(REPORT_DELAY));
        }
    }

    /// A report is due as soon as may be.
    pub(super) fn speak(&mut self, now: Time) {
        let at = self.reported.map_or(now, |at| now.max(at.saturating_add(self.interval)));
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// What a report acknowledges: no more than the sender can do without before the program has
    /// read it.
    fn acknowledged(&self) -> u64 {
        self.raw.received().min(self.read.saturating_add(self.buffer)).max(self.told)
    }
    /// Whether the end has come, and everything before it.
    pub(super) fn is_complete(&self) -> bool {
        self.length.is_some_and(|l| self.raw.received() == l + 1)
    }
    /// Whether a report may say so.
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
        let gaps = match (self.raw.deadline(), self.reported) {
            (Some(at), Some(reported)) => Some(at.max(reported.saturating_add(self.pause))),
            (at, _) => at,
        };
        [gaps, self.due].into_iter().flatten().min()
    }

    /// What to tell the sender, with at most so many gaps.
    pub(super) fn report(&mut self, now: Time, most: usize) -> (u64, Vec<(u64, u64)>) {
        let report = self.raw.report_now(now);
        let mut gaps: Vec<(u64, u64)> = report.missing.iter().take(most).map(|r| (r.start, r.end)).collect();
        let have = self.raw.delivered_unique();
        self.pause = if have > self.had { self.interval } else { (self.pause * 2).min(self.interval * SLOWEST) };
        self.due = None;
        if gaps.is_empty() && self.unheard > report.contiguous {
            gaps.push((report.contiguous, self.unheard));
            self.due = Some(now.saturating_add(self.pause));
        }
        (self.had, self.reported, self.told) = (have, Some(now), self.acknowledged());
        (self.told, gaps)
    }
}
