//! Takes back a recovery that nothing was lost in.
//!
//! Each repetition that was needless arrives twice, which the receiver reports (RFC 2883). When it
//! has reported all of a recovery, the sender restores the window (RFC 3708 for the detection, and
//! as Linux for the response, where RFC 4015 is more careful). With timestamps it need not wait for
//! reports: the first acknowledgement that advances echoes the timestamp of what has arrived (Eifel
//! detection, RFC 3522). Linux looks at later ones too; where several segments are lost, those may
//! be of segments that were only late.

use timeplane_model::Time;

use super::{Repair, Sender};
use crate::congestion::{Congestion, CongestionControl, Window};
use crate::{Range, timestamps};

/// The state before a recovery, kept until the next reduction.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// Repetitions below it belong to earlier recoveries.
    from: u64,
    /// Repetitions that are not reported as needless.
    open: u32,
    /// The timestamp of the first one, until an acknowledgement advances: `RetransmitTS` of RFC
    /// 3522.
    repeated: Option<u32>,
    window: Window,
    /// `None` for a control that models the path: it keeps its model, and is told.
    congestion: Option<Congestion>,
}

impl Sender {
    /// The timestamp of a segment that is sent now, if it has one.
    pub(super) fn timestamp(&self, now: Time) -> Option<u32> {
        self.timestamps.then(|| timestamps::reading(now))
    }

    /// Keeps the state before a recovery changes it. A recovery of a steered sender is not undone.
    pub(super) fn keep_for_undo(&mut self) {
        let keeps = self.rack.is_some() && self.steered.is_none();
        self.undo = keeps.then(|| {
            Box::new(Undo {
                from: self.una,
                open: 0,
                repeated: None,
                window: self.window,
                congestion: self.delivery.is_none().then(|| self.congestion.clone()),
            })
        });
    }

    /// Takes the report of a segment that has arrived twice.
    pub(super) fn note_needless(&mut self, duplicate: Range) {
        let Some(undo) = &mut self.undo else { return };
        if duplicate.start < undo.from || undo.open == 0 {
            return;
        }
        undo.open -= 1;
        if undo.open == 0 {
            self.undo_recovery();
        }
    }

    /// Judges the recovery by an acknowledgement that advances.
    pub(super) fn judge_recovery(&mut self, echo: Option<u32>) {
        if let Some(undo) = &mut self.undo
            && timestamps::shows_earlier(undo.repeated.take(), echo)
        {
            self.undo_recovery();
        }
    }

    /// Takes back what the recovery has changed.
    fn undo_recovery(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.window.cwnd = self.window.cwnd.max(undo.window.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(undo.window.ssthresh);
        if let Some(congestion) = undo.congestion {
            self.congestion = congestion;
        }
        self.congestion.on_spurious(&mut self.window);
        self.reduction = None;
        if self.repair == Repair::Fast {
            self.end_repair();
        }
    }

    /// Counts a repetition, which is sent now.
    pub(super) fn note_repetition_to_undo(&mut self, now: Time) {
        let timestamp = self.timestamp(now);
        if let Some(undo) = &mut self.undo {
            if undo.open == 0 {
                undo.repeated = timestamp;
            }
            undo.open += 1;
        }
    }
}
