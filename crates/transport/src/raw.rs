//! Raw frames without TCP, and the end-to-end repair that makes each byte arrive.
//!
//! The sender sends at the pace at which its driver asks for frames. The receiver
//! [reports](RepairReport) missing ranges, and the sender repeats them before new data. A lost tail
//! leaves no missing range to report. So after its last frame, the sender repeats that frame until
//! it hears from the receiver.

use timeplane_model::{Duration, Time};

use crate::{Range, RangeSet};

/// The most missing ranges in one [`RepairReport`]: as many of 16 bytes as fit a frame of 1500
/// bytes with its header.
pub const MAX_MISSING: usize = 90;

/// Timers of the repair. Both should exceed the round-trip time, or bytes in flight are repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawConfig {
    /// The shortest time between two reports of a receiver. Default 1 ms.
    pub report_interval: Duration,
    /// How long a missing range may take to arrive after bytes above it, before it is reported.
    /// Frames overtake each other where a flow has several paths. Default 0.
    pub reordering: Duration,
    /// A sender that has sent everything repeats its last frame after this time without a report.
    /// It doubles with each repetition, up to 64 times. Default 10 ms.
    pub resend_timeout: Duration,
}

impl Default for RawConfig {
    fn default() -> Self {
        Self {
            report_interval: Duration::from_ms(1),
            reordering: Duration::ZERO,
            resend_timeout: Duration::from_ms(10),
        }
    }
}

/// A piece of a flow for one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawFrame {
    /// Offset of the first byte in the flow.
    pub offset: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Whether some of its bytes were sent before.
    pub retransmission: bool,
}

/// A receiver's report to the sender.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RepairReport {
    /// All bytes below this offset have arrived.
    pub contiguous: u64,
    /// The lowest missing ranges below the highest byte that has arrived, at most [`MAX_MISSING`],
    /// in ascending order.
    pub missing: Vec<Range>,
}

/// Sends one flow in raw frames. Its length is known, or [grows](RawSender::extend).
#[derive(Clone, Debug)]
pub struct RawSender {
    bytes: u64,
    /// The first byte never sent.
    next: u64,
    acknowledged: u64,
    /// Ranges to repeat.
    resend: RangeSet,
    resend_bytes: u64,
    /// The payload of the flow's last frame.
    last_len: u32,
    repetitions: u8,
    timeout: Duration,
    deadline: Option<Time>,
    retransmissions: u64,
}

impl RawSender {
    /// A sender for a flow of `bytes`.
    pub fn new(config: &RawConfig, bytes: u64) -> Self {
        Self {
            bytes,
            next: 0,
            acknowledged: 0,
            resend: RangeSet::new(),
            resend_bytes: 0,
            last_len: 0,
            repetitions: 0,
            timeout: config.resend_timeout.max(Duration::from_ps(1)),
            deadline: None,
            retransmissions: 0,
        }
    }

    /// Extends the flow by `bytes`, for streams whose end is not known yet. A sender with new data
    /// no longer waits for news of its tail. The backoff of its timer stays.
    pub fn extend(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.backlog() > 0 {
            self.deadline = None;
        }
    }

    /// Takes back a frame that did not leave. The newest frame counts as never sent. Return several
    /// frames in reverse order.
    pub fn unsent(&mut self, frame: RawFrame) {
        let end = frame.offset.saturating_add(u64::from(frame.len));
        self.retransmissions -= u64::from(frame.retransmission).min(self.retransmissions);
        if !frame.retransmission && end == self.next && frame.offset >= self.acknowledged {
            self.next = frame.offset;
        } else {
            self.missing(&[Range { start: frame.offset, end }]);
        }
        if self.backlog() > 0 {
            self.deadline = None;
        }
    }

    /// Returns the next frame to send, with at most `max_payload` bytes: repetitions first, then
    /// new data. `None` if there is nothing to send.
    pub fn next_frame(&mut self, now: Time, max_payload: u32) -> Option<RawFrame> {
        let frame = if let Some(range) = self.resend.take_first(u64::from(max_payload)) {
            self.resend_bytes -= range.len();
            self.retransmissions += 1;
            RawFrame { offset: range.start, len: range.len() as u32, retransmission: true }
        } else {
            let len = (self.bytes - self.next).min(u64::from(max_payload)) as u32;
            if len == 0 {
                return None;
            }
            self.next += u64::from(len);
            self.last_len = len;
            RawFrame { offset: self.next - u64::from(len), len, retransmission: false }
        };
        self.arm(now);
        Some(frame)
    }

    /// How many full frames of `payload` new bytes come next, without the flow's last one; none
    /// before repetitions.
    pub fn frames_alike(&self, payload: u32) -> u64 {
        if payload == 0 || !self.resend.is_empty() {
            return 0;
        }
        (self.bytes - self.next).saturating_sub(1) / u64::from(payload)
    }

    /// Takes up to that many [equal frames](Self::frames_alike) at once and returns the offset of
    /// the first. It has the same effect as [`RawSender::next_frame`] for each of them at any
    /// times.
    pub fn next_frames(&mut self, payload: u32, count: u64) -> u64 {
        debug_assert!(count <= self.frames_alike(payload));
        let offset = self.next;
        self.next += count * u64::from(payload);
        self.last_len = payload;
        self.deadline = None;
        offset
    }

    /// Takes a report of the receiver.
    pub fn on_report(&mut self, now: Time, report: &RepairReport) {
        self.repetitions = 0;
        self.acknowledged(report.contiguous);
        self.missing(&report.missing);
        self.arm(now);
    }

    /// Queues ranges for repetition, except bytes that were never sent or are acknowledged.
    pub fn missing(&mut self, ranges: &[Range]) {
        for range in ranges {
            let range = Range { start: range.start.max(self.acknowledged), end: range.end.min(self.next) };
            self.resend.insert(range, |new| self.resend_bytes += new.len());
        }
    }

    /// Notes that all bytes below `up_to` have arrived. Ignored if they were not sent.
    pub fn acknowledged(&mut self, up_to: u64) {
        if up_to <= self.acknowledged || up_to > self.next {
            return;
        }
        self.acknowledged = up_to;
        if !self.resend.is_empty() {
            self.resend.remove_below(up_to);
            self.resend_bytes = self.resend.total();
        }
        if self.is_done() {
            self.deadline = None;
        }
    }

    /// Offset of the first byte that was never sent.
    pub fn next_offset(&self) -> u64 {
        self.next
    }

    /// Bytes to send now, new or repeated.
    pub fn backlog(&self) -> u64 {
        self.bytes - self.next + self.resend_bytes
    }
    /// Whether the receiver has everything.
    pub fn is_done(&self) -> bool {
        self.acknowledged == self.bytes
    }
    /// Frames sent that repeat bytes.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// When to call [`RawSender::on_timeout`]; `None` while there is something to send.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Queues the last frame again once the deadline has passed, so that the receiver reports.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline.is_none_or(|at| now < at) {
            return;
        }
        self.repetitions = (self.repetitions + 1).min(6);
        self.deadline = None;
        self.missing(&[Range { start: self.bytes - u64::from(self.last_len), end: self.bytes }]);
    }

    /// The timer runs while everything is sent and not everything acknowledged.
    fn arm(&mut self, now: Time) {
        let waits = self.backlog() == 0 && !self.is_done();
        self.deadline = waits.then(|| now.saturating_add(self.timeout * (1 << self.repetitions)));
    }
}

/// Receives one flow in raw frames. Its length may become known [later](RawReceiver::set_length).
#[derive(Clone, Debug)]
pub struct RawReceiver {
    bytes: u64,
    /// All bytes below it have arrived.
    next: u64,
    held: RangeSet,
    interval: Duration,
    reordering: Duration,
    /// When the last report was made.
    reported: Option<Time>,
    due: Option<Time>,
    /// The end of the highest byte that had arrived when `due` was set: what is missing below has
    /// been missing since then.
    mark: u64,
    duplicates: u64,
}

impl RawReceiver {
    /// A receiver for a flow of `bytes`; [`u64::MAX`] while the length is unknown.
    pub fn new(config: &RawConfig, bytes: u64) -> Self {
        Self {
            bytes,
            next: 0,
            held: RangeSet::new(),
            interval: config.report_interval.max(Duration::from_ps(1)),
            reordering: config.reordering,
            reported: None,
            due: None,
            mark: 0,
            duplicates: 0,
        }
    }

    /// Sets the length. If everything has arrived already, a report is due now. Returns `false`,
    /// without any effect, if bytes beyond the end have arrived.
    pub fn set_length(&mut self, now: Time, bytes: u64) -> bool {
        if bytes < self.highest() {
            return false;
        }
        if bytes != self.bytes {
            self.bytes = bytes;
            if self.is_complete() {
                self.due = Some(now);
            }
        }
        true
    }

    /// Takes a frame and returns how many of its bytes are new; the other ones count as duplicates.
    ///
    /// A report becomes due when a range has been missing for the time of reordering, at each
    /// interval while ranges are missing, and when the flow is complete. It is also due for each
    /// later frame, as the sender cannot have heard.
    pub fn on_frame(&mut self, now: Time, offset: u64, len: u32) -> u64 {
        let end = offset.saturating_add(u64::from(len)).min(self.bytes);
        let mut new = 0;
        if self.held.is_empty() && offset <= self.next {
            new = end.saturating_sub(self.next);
            self.next += new;
        } else {
            self.held.insert(Range { start: offset.max(self.next), end }, |added| new += added.len());
            if let Some(first) = self.held.as_slice().first().filter(|r| r.start <= self.next) {
                self.next = first.end;
                self.held.remove_below(self.next);
            }
        }
        self.duplicates += end.saturating_sub(offset) - new;
        if self.is_complete() {
            self.due = Some(now);
        } else if self.held.is_empty() {
            self.due = None;
        } else if self.due.is_none() {
            let patient = now.saturating_add(self.reordering);
            self.due = Some(self.reported.map_or(patient, |at| patient.max(at.saturating_add(self.interval))));
            self.mark = self.highest();
        }
        new
    }

    /// The end of the highest byte that has arrived.
    fn highest(&self) -> u64 {
        self.held.as_slice().last().map_or(self.next, |r| r.end)
    }

    /// Takes frames with the next `bytes`, while nothing is missing and the flow does not end. It
    /// has the same effect as [`RawReceiver::on_frame`] for each of them at any times.
    pub fn on_frames(&mut self, offset: u64, bytes: u64) {
        debug_assert!(self.is_next(offset) && offset + bytes < self.bytes);
        self.next += bytes;
        self.due = None;
    }

    /// Whether all bytes below `offset` have arrived, and none above.
    pub fn is_next(&self, offset: u64) -> bool {
        self.held.is_empty() && self.next == offset
    }

    /// When to call [`RawReceiver::report`], possibly at the time of the frame that has just
    /// arrived.
    pub fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// Returns the report to send now; `None` before it is due. What is missing may also have
    /// arrived in time, and other ranges be missing: then a report is due later.
    pub fn report(&mut self, now: Time) -> Option<RepairReport> {
        self.due.filter(|&at| at <= now)?;
        if self.reordering > Duration::ZERO && !self.held.is_empty() && self.next >= self.mark {
            self.due = Some(now.saturating_add(self.reordering));
            self.mark = self.highest();
            return None;
        }
        let mark = if self.reordering > Duration::ZERO { self.mark } else { u64::MAX };
        Some(self.report_below(now, mark))
    }

    /// Returns a report at any time, for drivers that also report progress. It has all missing
    /// ranges, however short a time they have been missing.
    pub fn report_now(&mut self, now: Time) -> RepairReport {
        self.report_below(now, u64::MAX)
    }

    /// A report of what is missing below `mark`.
    fn report_below(&mut self, now: Time, mark: u64) -> RepairReport {
        self.reported = Some(now);
        self.due = (!self.held.is_empty()).then(|| now.saturating_add(self.interval.max(self.reordering)));
        self.mark = self.highest();
        let mut missing = Vec::new();
        let mut start = self.next;
        for range in self.held.as_slice().iter().take_while(|r| r.start < mark).take(MAX_MISSING) {
            missing.push(Range { start, end: range.start });
            start = range.end;
        }
        RepairReport { contiguous: self.next, missing }
    }

    /// Number of missing ranges below the highest byte that has arrived.
    pub fn missing_ranges(&self) -> usize {
        self.held.as_slice().len()
    }

    /// Bytes that have arrived without gaps.
    pub fn received(&self) -> u64 {
        self.next
    }
    /// Bytes that have arrived, each counted once.
    pub fn delivered_unique(&self) -> u64 {
        self.next + self.held.total()
    }
    /// Bytes that arrived again.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }
    /// Whether all bytes have arrived.
    pub fn is_complete(&self) -> bool {
        self.next == self.bytes
    }
}
