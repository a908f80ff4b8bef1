//! Recovery from losses, ECN echoes and timeouts, and what they do to the window.
//!
//! It follows RFC 6675 with SACK, RFC 6582 without, RFC 5681, and RFC 3168 for echoes.

use timeplane_model::Time;

use super::{DUP_THRESH, Record, Repair, Sender};
use crate::congestion::CongestionControl;

impl Sender {
    /// Updates repair and timer after an advance that echoes a timestamp, or none. Returns whether
    /// the window may grow.
    ///
    /// It does not grow in fast recovery, nor in a gradual reduction after a mark. That one ends
    /// when data is acknowledged that was sent after the mark's echo, as in Linux. With SACK, the
    /// acknowledgement that ends a recovery belongs to congestion avoidance, in which each one of
    /// new data counts (RFC 5681, section 3.1), as in Linux. Without SACK, RFC 6582 sets the
    /// window.
    pub(super) fn after_advance(&mut self, now: Time, timestamp_echo: Option<u32>) -> bool {
        self.judge_recovery(timestamp_echo);
        let mut grow = self.repair != Repair::Fast;
        if self.repair != Repair::None {
            if self.una >= self.recover {
                if self.repair == Repair::Fast && !self.sack {
                    // RFC 6582, section 3.2, step 3, first choice: no burst.
                    let mss = u64::from(self.window.mss);
                    let flight = (self.next - self.una).max(mss) + mss;
                    self.congestion.limit(&mut self.window, flight);
                }
                grow |= self.sack;
                self.end_reduction();
                self.end_repair();
                self.left = 0;
                self.repeat_head = false;
            } else if self.repair == Repair::Fast && !self.sack {
                // A partial acknowledgement: the next segment is lost too.
                self.lose_head();
                if self.partial_seen {
                    return false;
                }
                self.arm(now);
                self.partial_seen = true;
                return false;
            }
        } else if self.reduction.is_some() {
            grow = self.una > self.reduced_below;
            if grow {
                self.end_reduction();
            }
        }
        grow &= self.una < self.bytes;
        // RFC 6298, rules 5.2 and 5.3.
        if self.una == self.next {
            self.disarm();
        } else {
            self.arm(now);
        }
        grow
    }

    /// Growth without use says nothing about the path. At least half of the window in slow start,
    /// and three quarters of it later, must have been outstanding, except for the part of a segment
    /// that never fits. With [`limited_growth`](crate::TcpConfig::limited_growth) the window must
    /// have limited the sender.
    pub(super) fn window_was_used(&self, outstanding: u64) -> bool {
        if self.usage.decides {
            return self.usage.limits(&self.window);
        }
        let cwnd = self.window.cwnd;
        let enough = if self.window.in_slow_start() { cwnd / 2 } else { cwnd - cwnd / 4 };
        outstanding + u64::from(self.window.mss) > enough
    }

    /// A duplicate acknowledgement, without SACK (RFC 5681, section 3.2; RFC 6582).
    pub(super) fn on_duplicate(&mut self, now: Time, outstanding: u64) {
        self.duplicates += 1;
        if self.repair == Repair::Timeout {
            return;
        }
        // At most all but the first have left.
        self.left = (self.left + 1).min(self.records.len() as u32 - 1);
        // RFC 6582, section 3.2, step 2: duplicates of repeated segments start no other recovery.
        let fresh = !self.has_recovered || self.una > self.recover;
        if self.repair == Repair::None && u64::from(self.duplicates) == DUP_THRESH && fresh {
            self.lose_head();
            self.enter_recovery(now, outstanding);
        }
    }

    /// Marks the first segment as lost and repeats it at once.
    pub(super) fn lose_head(&mut self) {
        let len = u64::from(self.segment_len(self.head));
        let record = &mut self.records[0];
        if !record.lost {
            record.lost = true;
            record.copies -= 1;
            self.pipe -= len;
            if let Some(delivery) = &mut self.delivery {
                delivery.lost(0, len);
            }
        }
        self.repeat_head = true;
    }

    pub(super) fn on_echo(&mut self, now: Time, outstanding: u64) {
        // A repair has reduced the window too; it covers data up to `recover`.
        let reduced_below = if self.has_recovered { self.reduced_below.max(self.recover) } else { self.reduced_below };
        if self.repair == Repair::None && self.una > reduced_below {
            let flight = self.flight(outstanding);
            self.congestion.on_ecn(&mut self.window, flight, now);
            self.reduced_below = self.handed_over();
            self.cwr_due = true;
            self.undo = None;
            self.begin_reduction();
        }
    }

    /// FlightSize of RFC 5681 before the current event, without the additions of limited transmit.
    pub(super) fn flight(&self, outstanding: u64) -> u64 {
        let window = if self.reduction.is_some() { self.window.ssthresh } else { self.window.cwnd };
        outstanding.min(window)
    }

    pub(super) fn enter_recovery(&mut self, now: Time, outstanding: u64) {
        self.repair = Repair::Fast;
        self.recover = self.next;
        self.has_recovered = true;
        // RACK has found the first loss already.
        if self.rack.is_none() {
            self.repeat_from = self.head;
        }
        self.end_probing();
        self.repeat_head = true;
        self.partial_seen = false;
        self.rescued = false;
        // At most one reduction per window of data, by marks or losses (RFC 3168, section 6.1.2).
        // A loss after a mark in the same window continues the mark's reduction.
        if self.una >= self.reduced_below {
            let flight = self.flight(outstanding);
            self.end_reduction();
            self.keep_for_undo();
            self.congestion.on_loss(&mut self.window, flight, now);
            self.cwr_due = self.ecn;
            self.begin_reduction();
        }
    }

    /// Repeats the first segment once more if its repetition is lost: a segment sent later by a
    /// quarter of a round trip has arrived (the reordering window of RFC 8985, section 6.2). This
    /// is a second sign of congestion (RFC 5681, section 4.3).
    pub(super) fn find_lost_repetition(&mut self, now: Time, outstanding: u64) {
        let tolerance = self.rtt.srtt().unwrap_or_default() / 4;
        let lost = |r: &Record| r.lost && r.copies == 1 && r.sent.saturating_add(tolerance) < self.youngest;
        if !self.repeat_head && self.records.front().is_some_and(lost) {
            let len = u64::from(self.segment_len(self.head));
            self.pipe -= len;
            if let Some(delivery) = &mut self.delivery {
                delivery.lost(0, len);
            }
            self.records[0].copies = 0;
            self.repeat_head = true;
            self.found_loss = true;
            let flight = self.flight(outstanding);
            self.congestion.on_loss(&mut self.window, flight, now);
            self.begin_reduction();
        }
    }

    /// Handles the retransmission timeout (RFC 5681, section 3.1; RFC 6675, section 5.1):
    /// everything that the receiver may not hold is lost, and repeated in slow start. With RACK,
    /// segments that were sent late are not lost yet.
    pub(super) fn collapse(&mut self, now: Time) {
        let flight = self.flight(self.outstanding());
        if self.repair == Repair::None {
            self.end_reduction();
        }
        self.begin_judging();
        self.reduction = None;
        self.undo = None;
        self.congestion.on_timeout(&mut self.window, flight, !self.head_timed_out);
        self.head_timed_out = true;
        self.repair = Repair::Timeout;
        self.recover = self.next;
        self.has_recovered = true;
        self.cwr_due = self.ecn;
        self.left = 0;
        self.duplicates = 0;
        self.repeat_from = self.head;
        self.repeat_head = true;
        self.end_probing();
        if self.rack.is_some() {
            self.lose_overdue(now);
            return;
        }
        self.note_timeout();
        for record in &mut self.records {
            record.copies = 0;
            record.lost |= !record.sacked;
        }
        self.pipe = 0;
        self.lost_below = self.next;
    }
}
