//! A window that somebody else sets: a proxy that knows what the path carries.

use timeplane_model::{Duration, Rate, Time};

use super::{Connection, Repair, Sender};
use crate::HEADER_BYTES;
use crate::congestion::{Acked, CongestionControl};

/// What a sender is told from outside, by [`Sender::steer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steering {
    /// Congestion window, bytes. Less than a segment counts as one; zero stops the sender.
    pub window: u64,
    /// Segments leave no faster than this, headers ([`HEADER_BYTES`]) included; zero stops the sender. `None`: paced, or
    /// not, as it was.
    pub rate: Option<Rate>,
    /// The window is this one again after each loss recovery, and ECN echoes do not change it. Otherwise what a recovery
    /// has made of the window stays until the next steering.
    pub hold: bool,
}

impl Steering {
    fn stops(&self) -> bool {
        self.window == 0 || self.rate == Some(Rate::ZERO)
    }
}

/// What a steered sender keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steered {
    pub(super) order: Steering,
    /// While stopped: what was left until the retransmission timer's end, if it ran.
    timer: Option<Duration>,
}

impl Sender {
    /// Sets the window from outside, until the next call or [`Sender::unsteer`]. To be followed by [`Sender::poll`]: a larger
    /// window lets more go at once or, with a rate, at that pace; a smaller one nothing until less is in the network.
    ///
    /// Acknowledgements do not enlarge a steered window. Losses are found and repaired as ever, and the congestion control
    /// reduces the window at them; after a timeout slow start brings it back to the threshold until the repair has ended,
    /// but not above the steered window. See [`Steering::hold`] for what follows.
    ///
    /// **Stopped** (a window or rate of zero) a sender sends nothing at all, takes acknowledgements as ever, and its
    /// retransmission timer stands still: [`Sender::deadline`] is `None`. It goes on where it stood with the next steering
    /// that is no stop. So the timer expires when it has run for an RTO in all without an acknowledgement: a stop costs
    /// no timeout and no backoff, and however often a sender is stopped and released, what was lost is repeated in the end.
    pub fn steer(&mut self, now: Time, steering: Steering) {
        let timer = match &self.steered {
            Some(steered) if self.stopped => steered.timer,
            _ => self.rto_at.map(|at| (at - now).max(Duration::ZERO)),
        };
        let was_stopped = core::mem::replace(&mut self.stopped, steering.stops());
        let steered = Steered { order: steering, timer };
        match &mut self.steered {
            Some(old) => **old = steered,
            None => self.steered = Some(Box::new(steered)),
        }
        if self.stopped {
            self.rto_at = None;
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
            self.release = self.release.min(now.saturating_add(self.gap(self.window.mss)));
        }
    }

    /// Back to its own control: congestion avoidance from the steered window; from one segment, in slow start up to the
    /// threshold, where it was stopped. Does nothing where it is not steered.
    pub fn unsteer(&mut self, now: Time) {
        let Some(steered) = self.steered.take() else { return };
        if core::mem::take(&mut self.stopped) {
            self.rto_at = steered.timer.map(|left| now.saturating_add(left));
            self.window.collapse();
        } else {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd.max(self.window.floor()));
        }
        self.pacing = self.paces_itself;
        self.release = self.release.min(now.saturating_add(self.gap(self.window.mss)));
        self.congestion.on_new_window();
    }

    /// The steering in force.
    pub fn steering(&self) -> Option<Steering> {
        self.steered.as_ref().map(|s| s.order)
    }

    /// Starts the retransmission timer of a stopped sender, which stands still, or ends it.
    pub(super) fn arm_stopped(&mut self, rto: Option<Duration>) {
        if let Some(steered) = &mut self.steered {
            steered.timer = rto;
        }
    }

    /// Growth while steered: that of the repair after a timeout.
    pub(super) fn grow_steered(&mut self, order: Steering, acked: &Acked) {
        if self.repair == Repair::Timeout {
            let most = order.window.max(self.window.cwnd);
            self.congestion.on_ack(&mut self.window, acked);
            self.window.cwnd = self.window.cwnd.min(most);
        }
    }

    /// After an acknowledgement: the steered window again, if it is to be held.
    pub(super) fn hold_window(&mut self, order: Steering) {
        if order.hold && !self.stopped && self.repair == Repair::None && self.connection == Connection::Open {
            self.window.cwnd = order.window.max(u64::from(self.window.mss));
        }
    }

    /// The time from one paced segment of `len` bytes to the next one; none before anything is known of the path.
    pub(super) fn gap(&self, len: u32) -> Duration {
        if let Some(rate) = self.steered.as_ref().and_then(|s| s.order.rate) {
            return time_at(rate, u64::from(len) + u64::from(HEADER_BYTES));
        }
        if let Some(rate) = self.congestion.pacing_rate() {
            return time_at(rate, u64::from(len));
        }
        let Some(srtt) = self.rtt.srtt().filter(|_| self.pacing) else { return Duration::ZERO };
        // The factor is 2 in slow start, 6/5 later.
        let (num, den) = if self.window.in_slow_start() { (1, 2) } else { (5, 6) };
        let gap = i128::from(srtt.as_ps()) * i128::from(len) * num / (i128::from(self.window.cwnd) * den);
        Duration::from_ps(i64::try_from(gap).unwrap_or(i64::MAX))
    }
}

/// How long `bytes` take, and no longer than time can tell; zero rates never get here in earnest.
fn time_at(rate: Rate, bytes: u64) -> Duration {
    let ps = (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(rate.as_bps().max(1)));
    Duration::from_ps(i64::try_from(ps).unwrap_or(i64::MAX))
}
