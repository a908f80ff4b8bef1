//! A window set from outside, by a proxy that knows what the path carries.
//!
//! A sender can also be stopped, without losing its place.

use timeplane_model::{Duration, Rate, Time};

use super::{Connection, Repair, Sender};
use crate::congestion::{Acked, CongestionControl};
use crate::segment::header_bytes;

/// A command for [`Sender::steer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steering {
    /// The congestion window in bytes. Less than a segment counts as one; zero stops the sender.
    pub window: u64,
    /// The highest rate of segments, including their headers; zero stops the sender.
    /// `None` leaves pacing as it was.
    pub rate: Option<Rate>,
    /// Restores the window after each loss recovery and ignores ECN echoes. Otherwise a recovery's
    /// window stays until the next command.
    pub hold: bool,
}

impl Steering {
    fn stops(&self) -> bool {
        self.window == 0 || self.rate == Some(Rate::ZERO)
    }
}

/// The state of a steered sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steered {
    pub(super) order: Steering,
    /// While stopped: the rest of the retransmission timer, if it ran.
    timer: Option<Duration>,
}

impl Sender {
    /// Sets the window from outside, until the next call or [`Sender::unsteer`]. Call
    /// [`Sender::poll`] afterwards: a larger window lets more segments go at once, or at the rate
    /// if there is one. A smaller one lets none go until less is in the network.
    ///
    /// Acknowledgements do not enlarge a steered window. Losses are found and repaired as usual,
    /// and the congestion control reduces the window. After a timeout, slow start brings it back to
    /// the threshold until the repair has ended, but not above the steered window. See
    /// [`Steering::hold`] for the rest.
    ///
    /// A sender **stopped** by a window or rate of zero sends nothing and takes acknowledgements as
    /// usual. Its retransmission timer stands still, and [`Sender::deadline`] is `None`. The next
    /// command that lets it send continues from there. The timer thus expires after running for an
    /// RTO in total without an acknowledgement. A stop costs no timeout and no backoff, and lost
    /// data is repeated however often a sender is stopped.
    pub fn steer(&mut self, now: Time, steering: Steering) {
        let timer = match &self.steered {
            Some(steered) if self.stopped => steered.timer,
            _ => self.rto_at.map(|at| (at - now).max(Duration::ZERO)),
        };
        self.reduction = None;
        self.judged = None;
        self.undo = None;
        let was_stopped = core::mem::replace(&mut self.stopped, steering.stops());
        let steered = Steered { order: steering, timer };
        match &mut self.steered {
            Some(old) => **old = steered,
            None => self.steered = Some(Box::new(steered)),
        }
        if self.stopped {
            self.rto_at = None;
            self.wait_at = None;
            self.paced_out = false;
            return;
        }
        self.window.cwnd = steering.window.max(u64::from(self.window.mss));
        self.pacing = self.paces_itself || steering.rate.is_some();
        if was_stopped {
            self.rto_at = timer.map(|left| now.saturating_add(left));
        }
        if steering.rate.is_some() {
            // The last segment left at the old pace, not later than now.
            self.release = self.release.min(now.saturating_add(self.spacing(self.window.mss)));
        }
    }

    /// Returns to the sender's own control: congestion avoidance from the steered window, or, if
    /// stopped, slow start from one segment up to the threshold. Does nothing unless steered.
    pub fn unsteer(&mut self, now: Time) {
        let Some(steered) = self.steered.take() else { return };
        if core::mem::take(&mut self.stopped) {
            self.rto_at = steered.timer.map(|left| now.saturating_add(left));
            self.window.collapse();
        } else {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd.max(self.window.floor()));
        }
        self.pacing = self.paces_itself;
        self.release = self.release.min(now.saturating_add(self.spacing(self.window.mss)));
        self.congestion.on_new_window();
    }

    /// The current command.
    pub fn steering(&self) -> Option<Steering> {
        self.steered.as_ref().map(|s| s.order)
    }

    /// Starts or ends the retransmission timer of a stopped sender, which stands still.
    pub(super) fn arm_stopped(&mut self, rto: Option<Duration>) {
        if let Some(steered) = &mut self.steered {
            steered.timer = rto;
        }
    }

    /// Lets the window grow while steered, during the repair after a timeout.
    pub(super) fn grow_steered(&mut self, order: Steering, acked: &Acked) {
        if self.repair == Repair::Timeout {
            let most = order.window.max(self.window.cwnd);
            self.congestion.on_ack(&mut self.window, acked);
            self.window.cwnd = self.window.cwnd.min(most);
        }
    }

    /// Restores the steered window after an acknowledgement, if it is to be held.
    pub(super) fn hold_window(&mut self, order: Steering) {
        if order.hold && !self.stopped && self.repair == Repair::None && self.connection == Connection::Open {
            self.window.cwnd = order.window.max(u64::from(self.window.mss));
        }
    }

    /// The time from one paced segment of `len` bytes to the next one; zero before the first
    /// measurement, or if segments are not paced.
    pub(super) fn spacing(&self, len: u32) -> Duration {
        if self.pacing { self.spacing_if_paced(len) } else { Duration::ZERO }
    }

    /// As [`spacing`](Self::spacing), as if segments were paced. Linux has a pacing rate for each
    /// sender (`tcp_update_pacing_rate`).
    pub(super) fn spacing_if_paced(&self, len: u32) -> Duration {
        if let Some(rate) = self.steered.as_ref().and_then(|s| s.order.rate) {
            return time_at(rate, u64::from(len) + u64::from(header_bytes(self.timestamps)));
        }
        if let Some(rate) = self.congestion.pacing_rate() {
            return time_at(rate, u64::from(len));
        }
        let Some(srtt) = self.rtt.srtt() else { return Duration::ZERO };
        // The factor is 2 in slow start, 6/5 later.
        let (num, den) = if self.window.in_slow_start() { (1, 2) } else { (5, 6) };
        let spacing = i128::from(srtt.as_ps()) * i128::from(len) * num / (i128::from(self.window.cwnd) * den);
        Duration::from_ps(i64::try_from(spacing).unwrap_or(i64::MAX))
    }
}

/// How long `bytes` take, up to the longest duration.
fn time_at(rate: Rate, bytes: u64) -> Duration {
    let ps = (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(rate.as_bps().max(1)));
    Duration::from_ps(i64::try_from(ps).unwrap_or(i64::MAX))
}
