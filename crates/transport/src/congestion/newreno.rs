//! NewReno's window (RFC 5681).

use timeplane_model::Time;

use super::{Acked, CongestionControl, Window};
use crate::TcpConfig;

/// Additive increase, multiplicative decrease (RFC 5681, section 3.1).
///
/// In congestion avoidance each acknowledgement counts one segment, however much it covers (equation 3), so
/// that delayed acknowledgements slow the growth down. The window grows by a whole segment once a window's
/// worth has been counted, which avoids the division and its rounding.
#[derive(Clone, Copy, Debug)]
pub struct NewReno {
    /// Bytes counted towards the next segment.
    credit: u64,
}

impl NewReno {
    /// Half of what was outstanding, at least two segments (equation 4).
    fn halve(&mut self, window: &mut Window, flight: u64) {
        window.ssthresh = (flight / 2).max(window.floor());
        self.credit = 0;
    }

    /// A segment more per window of acknowledgements (equation 3).
    pub(super) fn avoid(&mut self, window: &mut Window) {
        let mss = u64::from(window.mss);
        self.credit += mss;
        if self.credit >= window.cwnd {
            self.credit -= window.cwnd;
            window.cwnd += mss;
        }
    }
}

impl CongestionControl for NewReno {
    fn new(_: &TcpConfig) -> Self {
        Self { credit: 0 }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if window.in_slow_start() {
            window.slow_start(acked.bytes, acked.slow_start_limit);
        } else {
            self.avoid(window);
        }
    }

    fn on_loss(&mut self, window: &mut Window, flight: u64, _: Time) {
        self.halve(window, flight);
        window.cwnd = window.ssthresh;
    }

    fn on_timeout(&mut self, window: &mut Window, flight: u64, first: bool) {
        if first {
            self.halve(window, flight);
        }
        window.collapse();
    }
}
