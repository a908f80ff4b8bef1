//! The scoreboard: which segments have arrived, which are lost, and which to repeat.
//!
//! It follows RFC 6675 with SACK, and RFC 6582 without.

use timeplane_model::{Duration, Time};

use super::{Candidate, DUP_THRESH, Repair, Sender};
use crate::{Ack, Range, timestamps};

impl Sender {
    /// Notes that everything below `ack` has arrived. Returns the measured round-trip time, if any.
    ///
    /// It is that of the highest segment that is acknowledged now and was not selectively before,
    /// as its arrival caused the acknowledgement. There is none if any of them was sent twice
    /// (Karn). The retransmission timeout then takes the time since the echoed timestamp, if there
    /// is one (RTTM of RFC 7323, section 4.1).
    pub(super) fn advance(&mut self, now: Time, ack: &Ack) -> Option<Duration> {
        let Ack { ack, timestamp_echo, .. } = *ack;
        let mss = u64::from(self.window.mss);
        self.una = ack;
        self.duplicates = 0;
        self.head_timed_out = false;
        let mut repeated = false;
        let mut sent = None;
        let mut popped = 0;
        let kept = self.samples.is_some();
        let first = self.records.front().filter(|first| kept && !first.repeated).map(|first| now - first.sent);
        while self.head < self.next {
            let len = self.bytes.min(self.head + mss) - self.head;
            if self.head + len > ack {
                break;
            }
            let Some(record) = self.records.pop_front() else { break };
            if let Some(delivery) = &mut self.delivery {
                if !record.sacked {
                    delivery.arrived(0, len);
                }
                delivery.pop();
            }
            self.pipe -= u64::from(record.copies) * len;
            self.head += len;
            repeated |= record.repeated;
            popped += 1;
            if !record.sacked {
                self.delivered += len;
                if let Some(rack) = &mut self.rack {
                    rack.arrived(now, &record, self.head);
                }
                sent = Some(record.sent);
                if let Some(samples) = self.samples.as_mut().filter(|_| !record.repeated) {
                    samples.segments.push(now - record.sent);
                }
            }
            if !record.repeated {
                self.youngest = self.youngest.max(record.sent);
            }
        }
        if let Some(samples) = &mut self.samples {
            samples.acknowledgement = first.filter(|_| popped > 0);
        }
        if self.repair == Repair::Fast {
            // RFC 6582: an arrival leaves the network once, as a duplicate or in this advance.
            self.left = (self.left + 1).saturating_sub(popped).min(self.records.len() as u32);
        } else {
            self.left = 0;
        }
        if popped > 0 {
            self.repeat_head = false;
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(self.head);
        }
        let sample = sent.filter(|_| !repeated).map(|sent| now - sent);
        let echoed = || timestamps::since(timestamp_echo.filter(|&echo| echo > 0)?, now);
        if let Some(rtt) = sample.or_else(echoed) {
            self.rtt.sample(rtt, self.una, self.next);
        }
        sample
    }

    /// Update() of RFC 6675: notes SACK blocks, and which segments are lost because of them.
    pub(super) fn take_sacks(&mut self, now: Time, blocks: &[Range]) {
        let mss = u64::from(self.window.mss);
        let (head, next, bytes) = (self.head, self.next, self.bytes);
        let (records, pipe, youngest) = (&mut self.records, &mut self.pipe, &mut self.youngest);
        let (delivery, samples, delivered) = (&mut self.delivery, &mut self.samples, &mut self.delivered);
        let rack = &mut self.rack;
        let mut news = false;
        for block in blocks.iter().filter(|b| b.start < next && b.end > head) {
            // Only whole segments count.
            let start = head + block.start.saturating_sub(head).div_ceil(mss) * mss;
            let end = block.end.min(next);
            let end = if end == bytes { end } else { head + (end - head) / mss * mss };
            self.sacked.insert(Range { start, end }, |new| {
                news = true;
                let mut seq = new.start;
                let mut i = ((seq - head) / mss) as usize;
                while seq < new.end {
                    let len = mss.min(bytes - seq);
                    let record = &mut records[i];
                    *pipe -= u64::from(record.copies) * len;
                    record.copies = 0;
                    record.sacked = true;
                    *delivered += len;
                    if let Some(delivery) = delivery {
                        delivery.arrived(i, len);
                    }
                    if let Some(rack) = rack {
                        rack.arrived(now, record, seq + len);
                    }
                    if !record.repeated {
                        *youngest = (*youngest).max(record.sent);
                        if let Some(samples) = samples {
                            samples.segments.push(now - record.sent);
                        }
                    }
                    seq += mss;
                    i += 1;
                }
            });
        }
        if news && self.rack.is_none() {
            self.mark_lost();
        }
    }

    /// IsLost() of RFC 6675 for all segments: those with at least three SACKed segments above them.
    ///
    /// Three segments exceed twice the MSS and need not be apart, so one count serves both rules.
    pub(super) fn mark_lost(&mut self) {
        let mss = u64::from(self.window.mss);
        let mut needed = DUP_THRESH;
        for range in self.sacked.as_slice().iter().rev() {
            let segments = range.len().div_ceil(mss);
            if segments >= needed {
                // The start of the third highest SACKed segment; only the flow's last one can be
                // short.
                let below = range.start + (segments - needed) * mss;
                let mut seq = self.lost_below.max(self.head);
                while seq < below {
                    let i = ((seq - self.head) / mss) as usize;
                    let record = &mut self.records[i];
                    if !record.sacked && !record.lost {
                        record.lost = true;
                        record.copies -= 1;
                        self.pipe -= mss;
                        self.found_loss = true;
                        if let Some(delivery) = &mut self.delivery {
                            delivery.lost(i, mss);
                        }
                    }
                    seq += mss;
                }
                self.lost_below = self.lost_below.max(below);
                return;
            }
            needed -= segments;
        }
    }

    /// The first segment below `end`, and above the last repeated one, that the receiver may not
    /// hold. Moves the place to look from.
    pub(super) fn first_unrepeated(&mut self, end: u64) -> Option<u64> {
        let mss = u64::from(self.window.mss);
        let mut seq = self.repeat_from.max(self.head);
        let end = end.min(self.next);
        if seq >= end {
            return None;
        }
        let mut i = ((seq - self.head) / mss) as usize;
        while seq < end && self.records[i].sacked {
            i += 1;
            seq += mss;
        }
        self.repeat_from = seq;
        (seq < end).then_some(seq)
    }

    /// The last segment that the receiver may not hold, once per recovery (NextSeg, rule 4).
    pub(super) fn rescue(&self) -> Option<Candidate> {
        if self.rescued {
            return None;
        }
        let i = self.records.iter().rposition(|r| !r.sacked)?;
        Some(Candidate::Rescue(self.head + i as u64 * u64::from(self.window.mss)))
    }
}
