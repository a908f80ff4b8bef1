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
/// (equation 3). So delayed acknowledgements slow the growth down. With
/// [`byte_counting`](TcpConfig::byte_counting) it adds `SMSS * acked / cwnd` instead. The remainder
/// of the division is kept: equation 3 cut to whole bytes would grow too slowly for windows of
/// hundreds of segments.
#[derive(Clone, Debug)]
pub struct NewReno {
    counts_bytes: bool,
    /// The remainder of the last division, in units of `1 / cwnd` bytes.
    rest: u64,
    /// For the initial slow start, if enabled.
    hystart: Option<Box<HyStart>>,
}

impl NewReno {
    /// NewReno whose slow start lasts until a loss or a mark.
    pub(super) const fn plain(config: &TcpConfig) -> Self {
        Self { counts_bytes: config.byte_counting, rest: 0, hystart: None }
    }

    /// Half of the outstanding bytes, at least two segments (equation 4).
    fn halve(&mut self, window: &mut Window, flight: u64) {
        window.ssthresh = (flight / 2).max(window.floor());
        self.rest = 0;
        self.hystart = None;
    }

    /// About one segment more per window of acknowledgements (equation 3) or of bytes (RFC 3465,
    /// section 2.1).
    fn avoid(&mut self, window: &mut Window, bytes: u64) {
        let mss = u64::from(window.mss);
        let counted = if self.counts_bytes { bytes } else { mss };
        let growth = mss.saturating_mul(counted).saturating_add(self.rest);
        self.rest = growth % window.cwnd;
        window.cwnd += growth / window.cwnd;
    }
}

impl CongestionControl for NewReno {
    fn new(config: &TcpConfig) -> Self {
        Self { hystart: HyStart::enabled(config), ..Self::plain(config) }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if !window.in_slow_start() {
            self.avoid(window, acked.bytes);
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

    /// The window after `acks` acknowledgements of two segments in congestion avoidance, from
    /// `segments` of `mss` bytes.
    fn grown(segments: u64, mss: u32, acks: u64, byte_counting: bool) -> u64 {
        let mut reno = NewReno::plain(&TcpConfig { byte_counting, ..TcpConfig::default() });
        let mut window = Window { cwnd: segments * u64::from(mss), ssthresh: 0, mss };
        for _ in 0..acks {
            reno.avoid(&mut window, 2 * u64::from(mss));
        }
        window.cwnd
    }

    /// Equation 3 adds up to `W(n)^2 = W(0)^2 + 2 n` in segments for `n` acknowledgements, and to
    /// twice the growth of the square with bytes, as each acknowledgement covers two segments.
    #[test]
    fn grows_by_equation_3_or_by_bytes() {
        for (segments, mss, acks) in [(6, 1_460, 600), (131, 1_460, 10_000), (5_000, 1_460, 100_000), (50, 10, 5_000)] {
            for (byte_counting, counted) in [(false, acks), (true, 2 * acks)] {
                let expected = ((segments * segments + 2 * counted) as f64).sqrt() - segments as f64;
                let growth = grown(segments, mss, acks, byte_counting) as f64 / f64::from(mss) - segments as f64;
                assert!((growth / expected - 1.0).abs() < 0.01, "{segments}: {growth} for {expected}");
            }
        }
    }
}
