//! NewReno's window (RFC 5681).
//!
//! Growth keeps the remainder of each division, so that large windows grow at the right pace.

use timeplane_model::Time;

use super::hystart::HyStart;
use super::{Acked, CongestionControl, Window};
use crate::TcpConfig;

/// Additive increase, multiplicative decrease (RFC 5681, section 3.1).
///
/// In congestion avoidance, each acknowledgement adds `SMSS * SMSS / cwnd`, however much it covers
/// (equation 3). So delayed acknowledgements slow the growth down. The remainder of the division is
/// kept: equation 3 cut to whole bytes would grow too slowly for windows of hundreds of segments.
#[derive(Clone, Debug)]
pub struct NewReno {
    /// The remainder of the last division, in units of `1 / cwnd` bytes.
    rest: u64,
    /// For the initial slow start, if enabled.
    hystart: Option<Box<HyStart>>,
}

impl NewReno {
    /// NewReno whose slow start lasts until a loss or a mark.
    pub(super) const fn plain() -> Self {
        Self { rest: 0, hystart: None }
    }

    /// Half of the outstanding bytes, at least two segments (equation 4).
    fn halve(&mut self, window: &mut Window, flight: u64) {
        window.ssthresh = (flight / 2).max(window.floor());
        self.rest = 0;
        self.hystart = None;
    }

    /// About one segment more per window of acknowledgements (equation 3).
    fn avoid(&mut self, window: &mut Window) {
        let mss = u64::from(window.mss);
        let growth = (mss * mss).saturating_add(self.rest);
        self.rest = growth % window.cwnd;
        window.cwnd += growth / window.cwnd;
    }
}

impl CongestionControl for NewReno {
    fn new(config: &TcpConfig) -> Self {
        Self { hystart: HyStart::enabled(config), ..Self::plain() }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if !window.in_slow_start() {
            self.avoid(window);
        } else if let Some(hystart) = &mut self.hystart {
            hystart.on_ack(window, acked);
        } else {
            window.slow_start(acked.bytes, acked.slow_start_limit);
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

    fn on_new_window(&mut self) {
        self.rest = 0;
        self.hystart = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window after `acks` acknowledgements in congestion avoidance, from `segments` of `mss`
    /// bytes.
    fn grown(segments: u64, mss: u32, acks: u64) -> u64 {
        let mut reno = NewReno::plain();
        let mut window = Window { cwnd: segments * u64::from(mss), ssthresh: 0, mss };
        for _ in 0..acks {
            reno.avoid(&mut window);
        }
        window.cwnd
    }

    /// Equation 3 adds up to `W(n)^2 = W(0)^2 + 2 n` in segments.
    #[test]
    fn grows_by_equation_3() {
        for (segments, mss, acks) in [(6, 1_460, 600), (131, 1_460, 10_000), (5_000, 1_460, 100_000), (50, 10, 5_000)] {
            let expected = ((segments * segments + 2 * acks) as f64).sqrt() - segments as f64;
            let growth = grown(segments, mss, acks) as f64 / f64::from(mss) - segments as f64;
            assert!((growth / expected - 1.0).abs() < 0.01, "{segments}: {growth} for {expected}");
        }
    }
}
