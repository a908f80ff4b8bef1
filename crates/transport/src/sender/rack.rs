//! RACK: finds losses by the time of sending instead of by counts of duplicates (RFC 8985).
//!
//! A segment is lost if one that was sent later has arrived, and the difference cannot be
//! reordering. This finds lost repetitions as well, and the window for reordering adapts to the
//! path.

use std::collections::VecDeque;

use timeplane_model::{Duration, Time};

use super::{DUP_THRESH, Record, Repair, Sender, Wait};
use crate::Ack;

/// Recoveries without a report of a duplicate after which the window for reordering shrinks again
/// (section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// The state of loss detection, with the terms of the RFC (section 5.2).
///
/// The scoreboard has two queues in the order of sending, so that each segment is judged once per
/// sending: segments sent once, which stand by offset, and repetitions.
#[derive(Clone, Debug, Default)]
pub(super) struct Rack {
    /// When the segment was sent that was sent last of all that have arrived: `RACK.xmit_ts`.
    sent: Time,
    /// The end of this segment: `RACK.end_seq`.
    end: u64,
    /// Its round-trip time: `RACK.rtt`.
    rtt: Duration,
    /// The least round-trip time; zero before the first.
    min_rtt: Duration,
    /// The end of the highest segment that has arrived, by earlier acknowledgements: `RACK.fack`.
    highest: u64,
    /// The same with the current acknowledgement.
    highest_now: u64,
    /// A segment sent once has arrived after a higher one: `RACK.reordering_seen`.
    reordered: bool,
    /// The window for reordering, in quarters of the least round-trip time.
    quarters: u32,
    /// Recoveries until it is one quarter again.
    persist: u8,
    /// A report of a duplicate has widened the window; the next one counts when this is
    /// acknowledged: `RACK.dsack_round`.
    round: Option<u64>,
    /// Segments below it that were sent once are judged.
    judged_below: u64,
    /// Repetitions in the order of sending: when, and where their segments start.
    repeats: VecDeque<(Time, u64)>,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self { quarters: 1, ..Self::default() }
    }

    /// The round trip of the SYN is the first one.
    pub(super) fn opened(&mut self, rtt: Duration) {
        self.min_rtt = rtt;
    }

    /// A segment that ends at `end` has arrived, of which the sender had not known (steps 1 to 3 of
    /// section 6.2).
    pub(super) fn arrived(&mut self, now: Time, record: &Record, end: u64) {
        let rtt = now - record.sent;
        if record.repeated {
            // The first copy has caused the acknowledgement.
            if rtt < self.min_rtt {
                return;
            }
        } else {
            if self.min_rtt == Duration::ZERO || rtt < self.min_rtt {
                self.min_rtt = rtt;
            }
            self.reordered |= end < self.highest;
        }
        self.highest_now = self.highest_now.max(end);
        if !self.is_after(record.sent, end) {
            (self.sent, self.end, self.rtt) = (record.sent, end, rtt);
        }
    }

    /// Whether the last sent segment that has arrived was sent after another one.
    fn is_after(&self, sent: Time, end: u64) -> bool {
        (self.sent, self.end) > (sent, end)
    }

    /// When a segment that was sent at `sent` counts as lost.
    fn expiry(&self, sent: Time, window: Duration) -> Time {
        sent.saturating_add(self.rtt).saturating_add(window)
    }

    /// Takes the report of a duplicate, or its absence, from an acknowledgement whose segments are
    /// noted (step 4).
    fn adapt(&mut self, is_duplicate: bool, una: u64, next: u64) {
        self.highest = self.highest_now;
        self.round = self.round.filter(|&end| una < end);
        if is_duplicate && self.round.is_none() {
            self.round = Some(next);
            self.quarters = self.quarters.saturating_add(1);
            self.persist = PERSISTENCE;
        }
    }

    /// A recovery has ended (step 4).
    fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }
}

impl Sender {
    /// How much later than others a segment may arrive (step 4 of section 6.2).
    ///
    /// Before any reordering is seen, it is zero in a recovery, and where as many segments have
    /// arrived above a gap as duplicates make a loss.
    fn reordering_window(&self, rack: &Rack) -> Duration {
        let mss = u64::from(self.window.mss);
        if !rack.reordered && (self.repair != Repair::None || self.sacked.total() >= DUP_THRESH * mss) {
            return Duration::ZERO;
        }
        let window = Duration::from_ps((rack.min_rtt.as_ps() / 4).saturating_mul(i64::from(rack.quarters)));
        self.rtt.srtt().map_or(window, |srtt| window.min(srtt))
    }

    /// Finds losses after an acknowledgement or when the timer for reordering expires (step 5), and
    /// sets that timer.
    fn detect_losses(&mut self, now: Time) {
        let Some(mut rack) = self.rack.take() else { return };
        let mut waits = false;
        // In the common case nothing has overtaken the first segment.
        let is_late = |r: &Record| rack.is_after(r.sent, self.head + u64::from(self.segment_len(self.head)));
        if !rack.repeats.is_empty() || self.records.front().is_some_and(is_late) {
            waits = self.judge_late(now, &mut rack);
        }
        if waits {
            // Not later than needed by more than the segments were apart when they were sent.
            self.wait(Wait::Reordering, rack.expiry(rack.sent, self.reordering_window(&rack)));
        } else if self.waits_for == Wait::Reordering {
            self.wait_at = None;
        }
        self.rack = Some(rack);
    }

    /// Marks late segments as lost. Returns whether others may still have been reordered.
    fn judge_late(&mut self, now: Time, rack: &mut Rack) -> bool {
        let window = self.reordering_window(rack);
        let mss = u64::from(self.window.mss);
        let mut waits = false;

        rack.judged_below = rack.judged_below.max(self.head);
        while rack.judged_below < self.next {
            let seq = rack.judged_below;
            let record = self.records[((seq - self.head) / mss) as usize];
            if !record.sacked && !record.repeated && record.copies > 0 {
                if !rack.is_after(record.sent, seq + u64::from(self.segment_len(seq))) {
                    break;
                }
                if now < rack.expiry(record.sent, window) {
                    waits = true;
                    break;
                }
                self.lose(seq);
                self.report_loss(seq);
            }
            rack.judged_below += mss;
        }
        while let Some(&(sent, seq)) = rack.repeats.front() {
            let record = seq.checked_sub(self.head).map(|above| self.records[(above / mss) as usize]);
            if record.is_some_and(|r| !r.sacked && r.sent == sent && r.copies > 0) {
                if !rack.is_after(sent, seq + u64::from(self.segment_len(seq))) {
                    break;
                }
                if now < rack.expiry(sent, window) {
                    waits = true;
                    break;
                }
                self.lose(seq);
                self.report_loss(seq);
            }
            rack.repeats.pop_front();
        }

        waits
    }

    /// Whether the repair of a loss has to begin.
    #[inline]
    pub(super) fn has_losses(&mut self) -> bool {
        self.lost_below > self.head && (self.rack.is_none() || self.next_lost(u64::MAX).is_some())
    }

    /// The timer for reordering has expired: what is missing is lost.
    pub(super) fn end_waiting(&mut self, now: Time) {
        self.found_loss = false;
        self.detect_losses(now);
        if self.repair == Repair::None && self.has_losses() {
            self.enter_recovery(now, self.outstanding());
            self.reduce(0, false);
        }
    }

    /// Marks all copies of a segment as lost.
    fn lose(&mut self, seq: u64) {
        let mss = u64::from(self.window.mss);
        let len = u64::from(self.segment_len(seq));
        let record = &mut self.records[((seq - self.head) / mss) as usize];
        self.pipe -= u64::from(record.copies) * len;
        record.copies = 0;
        record.lost = true;
        self.lost_below = self.lost_below.max(seq + len);
        self.repeat_from = self.repeat_from.min(seq);
        self.found_loss = true;
    }

    /// Tells a control that models the path of a loss.
    fn report_loss(&mut self, seq: u64) {
        let (mss, len) = (u64::from(self.window.mss), u64::from(self.segment_len(seq)));
        if let Some(delivery) = &mut self.delivery {
            delivery.lost(((seq - self.head) / mss) as usize, len);
        }
    }

    /// The first lost segment below `end` that is not repeated yet. Moves the place to look from.
    pub(super) fn next_lost(&mut self, end: u64) -> Option<u64> {
        let mss = u64::from(self.window.mss);
        let end = end.min(self.lost_below).min(self.next);
        let mut seq = self.repeat_from.max(self.head);
        while seq < end {
            let record = &self.records[((seq - self.head) / mss) as usize];
            if !record.sacked && record.copies == 0 {
                break;
            }
            seq += mss;
        }
        self.repeat_from = seq;
        (seq < end).then_some(seq)
    }

    /// Notes that the segment at `seq` is repeated now.
    pub(super) fn note_repetition(&mut self, now: Time, seq: u64) {
        if let Some(rack) = &mut self.rack {
            rack.repeats.push_back((now, seq));
            self.note_repetition_to_undo(now);
        }
    }

    /// A timeout: the first segment is lost, and those that are overdue (section 6.3).
    pub(super) fn lose_overdue(&mut self, now: Time) {
        let Some(mut rack) = self.rack.take() else { return };
        let window = self.reordering_window(&rack);
        let mss = u64::from(self.window.mss);
        for i in 0..self.records.len() {
            let record = self.records[i];
            if !record.sacked && record.copies > 0 && (i == 0 || rack.expiry(record.sent, window) <= now) {
                let seq = self.head + i as u64 * mss;
                let len = u64::from(self.segment_len(seq));
                self.lose(seq);
                if let Some(delivery) = &mut self.delivery {
                    delivery.lost_by_timeout(i, len);
                }
            }
        }
        rack.judged_below = self.head;
        self.rack = Some(rack);
    }

    /// All that was sent is in the network again, and not judged.
    pub(super) fn judge_again(&mut self) {
        let mss = u64::from(self.window.mss);
        let Some(rack) = &mut self.rack else { return };
        rack.judged_below = self.head;
        let repeated = self.records.iter().enumerate().filter(|(_, r)| r.repeated && !r.sacked);
        rack.repeats = repeated.map(|(i, r)| (r.sent, self.head + i as u64 * mss)).collect();
        rack.repeats.make_contiguous().sort_unstable();
    }

    /// Takes an acknowledgement whose segments are noted: reports of duplicates, and losses that it
    /// shows. A probe that was not needed says nothing of reordering.
    pub(super) fn take_reports(&mut self, now: Time, ack: &Ack) {
        if self.rack.is_none() {
            return;
        }
        let duplicate = ack.duplicate();
        let by_reordering = duplicate.is_some_and(|block| !self.was_probed(block.end));
        if let Some(rack) = &mut self.rack {
            rack.adapt(by_reordering, self.una, self.next);
        }
        if let Some(duplicate) = duplicate {
            self.note_needless(duplicate);
        }
        self.detect_losses(now);
    }

    /// A repair has ended.
    pub(super) fn end_repair(&mut self) {
        self.repair = Repair::None;
        if let Some(rack) = &mut self.rack {
            rack.recovered();
        }
    }
}
