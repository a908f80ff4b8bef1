//! HyStart++: leaves slow start before it causes losses (RFC 9406).
//!
//! CUBIC and NewReno use it if it is enabled.

use timeplane_model::Duration;

use super::{Acked, Window};
use crate::TcpConfig;

/// Watches the round-trip times of the initial slow start. If a round's minimum exceeds that of the
/// round before, the window grows at a quarter of the pace for up to five rounds (conservative slow
/// start). Congestion avoidance follows, unless the round trips shorten again.
///
/// The threshold is at least 4 ms (section 4.3), so it does nothing in a data center before queues
/// are long. The first loss or mark ends it (section 4.2): the control then drops it.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The round ends when this is acknowledged.
    round_end: u64,
    last_round: Option<Duration>,
    this_round: Option<Duration>,
    samples: u32,
    /// L: how many segments one acknowledgement may add to the window.
    limit: u32,
    /// In conservative slow start: the least round trip at its start.
    baseline: Option<Duration>,
    conservative_rounds: u32,
}

const MIN_THRESHOLD: Duration = Duration::from_ms(4);
const MAX_THRESHOLD: Duration = Duration::from_ms(16);
const MIN_RTT_DIVISOR: i64 = 8;
const SAMPLES: u32 = 8;
const GROWTH_DIVISOR: u64 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// L where nothing spreads segments; paced senders have no limit (section 4.3).
const UNPACED_LIMIT: u32 = 8;

impl HyStart {
    /// The watch over the initial slow start, if the connection wants one.
    pub(super) fn enabled(config: &TcpConfig) -> Option<Box<Self>> {
        let limit = if config.pacing { u32::MAX } else { UNPACED_LIMIT };
        config.hystart.then(|| Box::new(Self::new(limit)))
    }

    fn new(limit: u32) -> Self {
        Self {
            round_end: 0,
            last_round: None,
            this_round: None,
            samples: 0,
            limit,
            baseline: None,
            conservative_rounds: 0,
        }
    }

    /// Grows the window in slow start; sets the threshold to end it.
    pub(super) fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let divisor = if self.baseline.is_some() { GROWTH_DIVISOR } else { 1 };
        let limit = u64::from(self.limit) * u64::from(window.mss);
        window.cwnd += acked.bytes.min(limit) / divisor;
        if let Some(rtt) = acked.rtt {
            self.this_round = Some(self.this_round.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        self.judge();
        if acked.una > self.round_end {
            self.conservative_rounds += u32::from(self.baseline.is_some());
            if self.conservative_rounds >= CONSERVATIVE_ROUNDS {
                window.ssthresh = window.cwnd;
            }
            self.round_end = acked.next;
            self.last_round = self.this_round.take();
            self.samples = 0;
        }
    }

    /// Enters and leaves conservative slow start (section 4.2).
    fn judge(&mut self) {
        let Some(now) = self.this_round.filter(|_| self.samples >= SAMPLES) else { return };
        if let Some(baseline) = self.baseline {
            if now < baseline {
                self.baseline = None;
                self.conservative_rounds = 0;
            }
        } else if let Some(last) = self.last_round
            && now >= last + (last / MIN_RTT_DIVISOR).clamp(MIN_THRESHOLD, MAX_THRESHOLD)
        {
            self.baseline = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use timeplane_model::Time;

    const MSS: u64 = 1_000;

    fn acked(segments: u64, rtt_us: i64, una: u64, next: u64) -> Acked {
        Acked {
            now: Time::ZERO,
            bytes: segments * MSS,
            slow_start_limit: 2 * MSS,
            srtt: Duration::ZERO,
            rtt: Some(Duration::from_us(rtt_us)),
            una,
            next,
        }
    }

    fn window() -> Window {
        Window::new(MSS as u32, 10)
    }

    /// Rounds of ten acknowledgements of a segment each. Returns the window's growth in each round,
    /// in quarters of a segment, and whether slow start has ended after it.
    fn rounds(rtts_us: &[i64]) -> Vec<(u64, bool)> {
        let (mut hystart, mut window) = (HyStart::new(UNPACED_LIMIT), window());
        // The first acknowledgement ends a round that has no data.
        hystart.on_ack(&mut window, &acked(1, 50_000, MSS, 10 * MSS));
        let mut una = MSS;
        let mut growth = Vec::new();
        for &rtt in rtts_us {
            let before = window.cwnd;
            for _ in 0..10 {
                una += MSS;
                if window.in_slow_start() {
                    hystart.on_ack(&mut window, &acked(1, rtt, una, una + 9 * MSS));
                }
            }
            growth.push(((window.cwnd - before) * 4 / MSS, !window.in_slow_start()));
        }
        growth
    }

    /// RTTs of 32 ms have the threshold of 4 ms, an eighth; longer ones up to 16 ms (section 4.2).
    #[test]
    fn the_threshold_is_an_eighth_within_bounds() {
        for (last, threshold) in [(1, 4_000), (32_000, 4_000), (80_000, 10_000), (128_000, 16_000), (800_000, 16_000)] {
            for (more, found) in [(threshold - 1, false), (threshold, true)] {
                let mut hystart = HyStart::new(UNPACED_LIMIT);
                hystart.last_round = Some(Duration::from_us(last));
                hystart.this_round = Some(Duration::from_us(last + more));
                hystart.samples = SAMPLES - 1;
                hystart.judge();
                assert!(hystart.baseline.is_none(), "too few samples");
                hystart.samples = SAMPLES;
                hystart.judge();
                assert_eq!(hystart.baseline.is_some(), found, "{last} us and {more} us more");
            }
        }
    }

    /// The eighth sample of the second round shows the delay: ten segments, then seven, eight with
    /// the one that shows it, and quarters for the rest and for five rounds with the partial one.
    #[test]
    fn five_conservative_rounds_then_congestion_avoidance() {
        let growth = rounds(&[50_000, 60_000, 60_000, 60_000, 60_000, 60_000, 60_000]);
        let quarters: Vec<_> = growth.iter().map(|g| g.0).collect();
        assert_eq!(quarters[..6], [40, 8 * 4 + 2, 10, 10, 10, 10]);
        let ended: Vec<_> = growth.iter().map(|g| g.1).collect();
        assert_eq!(ended, [false, false, false, false, false, true, true]);
    }

    #[test]
    fn shorter_round_trips_resume_slow_start() {
        let growth = rounds(&[50_000, 60_000, 60_000, 50_000, 50_000]);
        assert_eq!(growth.iter().map(|g| g.0).collect::<Vec<_>>(), [40, 34, 10, 7 + 1 + 2 * 4, 40]);
        assert!(growth.iter().all(|g| !g.1));
    }

    #[test]
    fn one_acknowledgement_adds_eight_segments_unless_paced() {
        for (pacing, growth) in [(false, 8), (true, 30)] {
            let config = TcpConfig { hystart: true, pacing, ..TcpConfig::default() };
            let mut hystart = HyStart::enabled(&config).expect("enabled");
            let mut w = window();
            hystart.on_ack(&mut w, &acked(30, 100, 30 * MSS, 60 * MSS));
            assert_eq!(w.cwnd, (10 + growth) * MSS);
        }
        assert!(HyStart::enabled(&TcpConfig::default()).is_none());
    }

    proptest! {
        /// Round trips that vary by less than 4 ms never end slow start, however they vary.
        #[test]
        fn small_variation_changes_nothing(
            base in 0i64..20_000,
            jitter in prop::collection::vec(0i64..4_000, 1..300),
        ) {
            let (mut hystart, mut window) = (HyStart::new(UNPACED_LIMIT), window());
            for (i, more) in jitter.iter().enumerate() {
                let una = (i as u64 + 1) * MSS;
                hystart.on_ack(&mut window, &acked(1, base + more, una, una + 10 * MSS));
            }
            prop_assert_eq!(window.cwnd, (10 + jitter.len() as u64) * MSS);
            prop_assert_eq!(window.ssthresh, u64::MAX);
        }
    }
}
