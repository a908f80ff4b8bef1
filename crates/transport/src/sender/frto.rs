//! F-RTO: recognizes timeouts without a loss, and undoes them (RFC 5682).
//!
//! After a timeout, everything outstanding counts as lost. If it was only late, its
//! acknowledgements would make the sender repeat all of it. F-RTO repeats the first segment, sends
//! two new ones, and lets the next acknowledgement decide. With timestamps, the first
//! acknowledgement that advances decides, if it echoes one from before the repetition (Eifel
//! detection, RFC 3522).

use super::{Repair, Sender};
use crate::congestion::{Congestion, CongestionControl, Window};
use crate::{Ack, timestamps};

/// How many new segments are sent before the decision (section 2.1, step 2b).
const NEW_SEGMENTS: u64 = 2;
/// The window, in segments, if the decision is that data was lost (section 2.1, step 3a): the two
/// new ones, and a repetition.
const WINDOW_AFTER_LOSS: u64 = 3;

/// The state before a timeout, kept until it is known whether data was lost.
#[derive(Clone, Debug)]
pub(super) struct Frto {
    /// All data below this was sent before the timeout: "recover" of the RFC.
    recover: u64,
    /// The repetition was acknowledged, and new data may be sent: step 3.
    probing: bool,
    /// The timestamp of the first repetition, until an acknowledgement advances: `RetransmitTS` of
    /// RFC 3522.
    repeated: Option<u32>,
    cwr_due: bool,
    window: Window,
    /// `None` for a control that models the path: it keeps its model, and is told.
    congestion: Option<Congestion>,
}

impl Sender {
    /// Notes the state before a timeout changes it.
    ///
    /// Timeouts in a repair are not judged: the first one of several decides (section 2.1, step 1),
    /// and a fast recovery has shown losses. Nor are timeouts of a steered sender.
    pub(super) fn begin_judging(&mut self) {
        let judged = self.judges_timeouts && self.repair == Repair::None && self.steered.is_none();
        self.judged = judged.then(|| {
            Box::new(Frto {
                recover: self.next,
                probing: false,
                repeated: None,
                cwr_due: self.cwr_due,
                window: self.window,
                congestion: self.delivery.is_none().then(|| self.congestion.clone()),
            })
        });
    }

    /// Whether new data may be sent before the timeout is judged. Nothing is repeated until then.
    pub(super) fn may_probe(&self) -> Option<bool> {
        let frto = self.judged.as_ref()?;
        let mss = u64::from(self.window.mss);
        Some(frto.probing && self.next < frto.recover + NEW_SEGMENTS * mss)
    }

    /// Handles an acknowledgement that delivers `delivered` bytes; `advance` is the acknowledgement
    /// if it is cumulative. These are steps 2 and 3 of section 3.1 with SACK, and of section 2.1
    /// without.
    pub(super) fn judge_timeout(&mut self, delivered: u64, advance: Option<&Ack>) {
        let Some(frto) = &mut self.judged else { return };
        if let Some(ack) = advance
            && timestamps::shows_earlier(frto.repeated.take(), ack.timestamp_echo)
        {
            self.undo_timeout();
            return;
        }
        let highest = self.sacked.as_slice().last().map_or(self.una, |r| r.end.max(self.una));
        if self.repair != Repair::Timeout {
            // All that was sent before the timeout has arrived.
            self.judged = None;
        } else if frto.probing {
            if delivered > 0 && highest <= frto.recover {
                // Step 3b: data that was sent once has arrived, before the new data.
                self.undo_timeout();
            } else {
                // Step 3a.
                self.judged = None;
                self.window.cwnd = WINDOW_AFTER_LOSS * u64::from(self.window.mss);
            }
        } else if advance.is_some() {
            frto.probing = true;
            if !self.has_new_data() {
                self.judged = None;
            }
        } else if !self.sack {
            self.judged = None;
        }
    }

    /// Notes the timestamp of a repetition after a timeout.
    pub(super) fn note_timestamp(&mut self, timestamp: Option<u32>) {
        if let Some(frto) = &mut self.judged {
            frto.repeated = frto.repeated.or(timestamp);
        }
    }

    /// Takes back what the timeout has changed: all that was sent once is in the network.
    fn undo_timeout(&mut self) {
        let Some(frto) = self.judged.take() else { return };
        self.window = frto.window;
        if let Some(congestion) = frto.congestion {
            self.congestion = congestion;
        }
        self.congestion.on_spurious(&mut self.window);
        self.cwr_due = frto.cwr_due;
        self.repair = Repair::None;
        self.repeat_head = false;
        let (mss, bytes) = (u64::from(self.window.mss), self.bytes);
        let mut seq = self.head;
        self.pipe = 0;
        for record in &mut self.records {
            if !record.sacked {
                record.copies = record.copies.max(1);
                record.lost = false;
                self.pipe += u64::from(record.copies) * mss.min(bytes - seq);
            }
            seq += mss;
        }
        self.lost_below = self.head;
        if self.rack.is_some() {
            self.judge_again();
        } else if self.sack {
            self.mark_lost();
        }
    }
}
