//! Round-trip time and retransmission timeout (RFC 6298, or as in Linux).
//!
//! The clock's granularity G is a picosecond and therefore left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// The longest retransmission timeout: 60 s, the least that RFC 6298 (rule 2.5) allows.
pub(crate) const MAX_RTO: Duration = Duration::from_secs(60);

/// How the retransmission timeout follows from round-trip times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RtoRule {
    /// SRTT + 4 RTTVAR, at least the minimum (RFC 6298).
    #[default]
    Rfc,
    /// SRTT and the larger of 4 RTTVAR and the minimum, where RTTVAR falls by at most a quarter per
    /// round trip (`tcp_rtt_estimator` of Linux).
    Linux,
}

/// The smoothed round-trip time and the timeout that follows from it (RFC 6298).
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Zero before the first sample.
    srtt: Duration,
    variation: Duration,
    /// Without backoff, within the bounds.
    rto: Duration,
    min_rto: Duration,
    /// Linux's rule: how much the timeout exceeds `srtt`, `rttvar_us` of Linux.
    margin: Duration,
    /// Linux's rule: four times the largest variation in this window of data, `mdev_max_us`.
    largest: Duration,
    /// Linux's rule: the window of data ends here, `rtt_seq`.
    window_end: u64,
    rule: RtoRule,
    /// How often the timeout has doubled since the last sample.
    backoff: u8,
}

impl RttEstimator {
    /// An estimator that follows RFC 6298. Before any sample the timeout is `initial_rto` (rule
    /// 2.1: 1 s). It is at least `min_rto` (rule 2.4: 1 s; data centers use much less) and at most
    /// 60 s.
    pub fn new(initial_rto: Duration, min_rto: Duration) -> Self {
        let min_rto = min_rto.clamp(Duration::from_ps(1), MAX_RTO);
        let rto = initial_rto.clamp(min_rto, MAX_RTO);
        Self {
            srtt: Duration::ZERO,
            variation: Duration::ZERO,
            rto,
            min_rto,
            margin: Duration::ZERO,
            largest: Duration::ZERO,
            window_end: 0,
            rule: RtoRule::Rfc,
            backoff: 0,
        }
    }

    /// The estimator with another rule; call it before the first sample.
    #[must_use]
    pub const fn with_rule(self, rule: RtoRule) -> Self {
        Self { rule, ..self }
    }

    /// Takes a measurement and ends the backoff (rules 2.2, 2.3 and 5.7). The caller follows Karn's
    /// rule: no measurement of a segment that was sent twice. A round trip of less than a
    /// picosecond counts as one.
    ///
    /// With [`RtoRule::Linux`], all bytes below `una` are acknowledged and `next` is the first byte
    /// never sent. They tell where a window of data ends; RFC 6298 ignores them.
    pub fn sample(&mut self, rtt: Duration, una: u64, next: u64) {
        let rtt = rtt.max(Duration::from_ps(1));
        let first = self.srtt == Duration::ZERO;
        if first {
            self.srtt = rtt;
            self.variation = rtt / 2;
        } else {
            let error = rtt.as_ps() - self.srtt.as_ps();
            let more = error.abs() - self.variation.as_ps();
            // Linux lets shorter round trips raise the variation by an eighth of the usual gain.
            let gain = if self.rule == RtoRule::Linux && error < 0 && more > 0 { 5 } else { 2 };
            self.variation += Duration::from_ps(more >> gain);
            self.srtt += Duration::from_ps(error >> 3);
        }
        self.rto = match self.rule {
            RtoRule::Rfc => self.above_srtt(self.four_variations()).clamp(self.min_rto, MAX_RTO),
            RtoRule::Linux => {
                self.widen(first, una, next);
                self.above_srtt(self.margin).min(MAX_RTO)
            }
        };
        self.backoff = 0;
    }

    fn above_srtt(&self, margin: Duration) -> Duration {
        Duration::from_ps(self.srtt.as_ps().saturating_add(margin.as_ps()))
    }

    fn four_variations(&self) -> Duration {
        Duration::from_ps(self.variation.as_ps().saturating_mul(4))
    }

    /// The margin follows larger variations at once. Once per window of data it approaches the
    /// window's largest one, and is never less than the minimum.
    fn widen(&mut self, first: bool, una: u64, next: u64) {
        if first {
            self.margin = self.four_variations().max(self.min_rto);
            self.largest = self.margin;
            self.window_end = next;
            return;
        }
        self.largest = self.largest.max(self.four_variations());
        self.margin = self.margin.max(self.largest);
        if una > self.window_end {
            self.margin = self.margin - (self.margin - self.largest) / 4;
            self.window_end = next;
            self.largest = self.min_rto;
        }
    }

    /// Doubles the timeout, up to 60 s (rule 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(40);
    }

    /// Starts over with `rto`, for data after a repeated SYN (rule 5.7).
    pub(crate) fn restart(&mut self, rto: Duration) {
        *self = Self::new(rto, self.min_rto).with_rule(self.rule);
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt > Duration::ZERO).then_some(self.srtt)
    }

    /// The timeout with backoff.
    pub fn rto(&self) -> Duration {
        if self.backoff == 0 {
            return self.rto;
        }
        Duration::from_ps(self.rto.as_ps().saturating_mul(1 << self.backoff)).min(MAX_RTO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn follows_the_rules_of_rfc_6298() {
        let ms = Duration::from_ms;
        let mut rtt = RttEstimator::new(Duration::from_secs(1), ms(10));
        assert_eq!((rtt.srtt(), rtt.rto()), (None, ms(1_000)));
        rtt.sample(ms(100), 0, 0);
        // SRTT 100, RTTVAR 50.
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(100)), ms(300)));
        rtt.sample(ms(180), 0, 0);
        // RTTVAR 3/4 * 50 + 1/4 * 80 = 57.5; SRTT 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(110)), ms(340)));
    }

    #[test]
    fn backs_off_up_to_a_minute_until_a_sample() {
        let mut rtt = RttEstimator::new(Duration::from_secs(1), Duration::from_ms(200));
        let seconds: Vec<_> = (0..8)
            .map(|_| {
                rtt.back_off();
                rtt.rto().as_ps() / 1_000_000_000_000
            })
            .collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60, 60]);
        for _ in 0..300 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), MAX_RTO);
        rtt.sample(Duration::from_us(50), 0, 0);
        assert_eq!(rtt.rto(), Duration::from_ms(200));
    }

    /// A round trip without variation: the timeout of RFC 6298 falls to its minimum, which Linux
    /// adds to the round trip.
    #[test]
    fn linux_adds_the_minimum_to_the_round_trip() {
        let ms = Duration::from_ms;
        for (rule, min_rto, expected) in
            [(RtoRule::Rfc, 200, 200), (RtoRule::Linux, 200, 300), (RtoRule::Rfc, 5, 100), (RtoRule::Linux, 5, 105)]
        {
            let mut rtt = RttEstimator::new(Duration::from_secs(1), ms(min_rto)).with_rule(rule);
            for i in 0..400 {
                rtt.sample(ms(100), i, i + 1);
            }
            let above = rtt.rto() - ms(expected);
            assert!((Duration::ZERO..Duration::from_us(1)).contains(&above), "{rule:?}, {min_rto} ms: {:?}", rtt.rto());
        }
    }

    /// After a restart, the rule is the same.
    #[test]
    fn a_lost_syn_does_not_change_the_rule() {
        let ms = Duration::from_ms;
        let mut rtt = RttEstimator::new(Duration::from_secs(1), ms(200)).with_rule(RtoRule::Linux);
        rtt.restart(Duration::from_secs(3));
        assert_eq!(rtt.rto(), Duration::from_secs(3));
        rtt.sample(ms(10), 0, 0);
        assert_eq!(rtt.rto(), ms(210));
    }

    /// A larger variation counts at once. A smaller one takes effect at the end of a window of
    /// data, by a quarter of the difference.
    #[test]
    fn the_margin_of_linux_rises_at_once_and_falls_slowly() {
        let ms = Duration::from_ms;
        let mut rtt = RttEstimator::new(Duration::from_secs(1), ms(200)).with_rule(RtoRule::Linux);
        // Four variations are 1,600 ms.
        rtt.sample(ms(800), 0, 10);
        assert_eq!(rtt.rto(), ms(2_400));
        // Within the window of data, equal round trips change nothing.
        for una in 1..=10 {
            rtt.sample(ms(800), una, 20);
            assert_eq!(rtt.rto(), ms(2_400), "{una}");
        }
        // Its end at byte 10 has passed. The largest variation in it was the first one, so the
        // margin stays; the next window ends at 20 and has the variation of its first sample.
        rtt.sample(ms(800), 11, 20);
        assert_eq!(rtt.rto(), ms(2_400));
        for una in 12..=200 {
            rtt.sample(ms(800), una.min(20), 30);
        }
        rtt.sample(ms(800), 21, 30);
        // What is left of the variation is below the minimum of 200 ms: 1,600 - (1,600 - 200) / 4.
        assert_eq!(rtt.rto(), ms(800 + 1_250));
    }

    proptest! {
        /// The minimum is always added to the smoothed round trip, four variations always fit, and
        /// the margin above it falls at most once per window of data, by a quarter at most.
        #[test]
        fn linux_keeps_its_margin(
            min_rto in 1i64..200_000,
            samples in prop::collection::vec((10i64..1_000_000, 0u64..5, 0u64..5), 1..200),
        ) {
            let min_rto = Duration::from_us(min_rto);
            let mut rtt = RttEstimator::new(Duration::from_secs(1), min_rto).with_rule(RtoRule::Linux);
            let (mut una, mut next, mut fell_at) = (0, 0, None);
            let mut before = Duration::ZERO;
            for (us, acked, sent) in samples {
                next += sent;
                una = next.min(una + acked);
                rtt.sample(Duration::from_us(us), una, next);
                let margin = rtt.rto() - rtt.srtt().expect("a sample");
                prop_assert!(margin >= min_rto);
                prop_assert!(margin >= rtt.four_variations() || fell_at == Some(una), "{margin:?}");
                prop_assert!(margin >= before - before / 4 - Duration::from_ps(4));
                if margin < before {
                    prop_assert!(fell_at.is_none_or(|at| una > at), "twice in a window of data");
                    fell_at = Some(una);
                }
                before = margin;
            }
        }
    }
}
