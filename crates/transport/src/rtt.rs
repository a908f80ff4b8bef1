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

    /// `tcp_rtt_estimator` of Linux 6.12 with the kernel's names and scales: `srtt` is eight times
    /// the smoothed round trip, `mdev` and the others four times theirs.
    #[derive(Default)]
    struct Kernel {
        srtt: i64,
        mdev: i64,
        mdev_max: i64,
        rttvar: i64,
        rtt_seq: u64,
    }

    impl Kernel {
        fn sample(&mut self, mrtt: i64, rto_min: i64, snd_una: u64, snd_nxt: u64) -> i64 {
            let mut m = mrtt;
            if self.srtt == 0 {
                self.srtt = m << 3;
                self.mdev = m << 1;
                self.rttvar = self.mdev.max(rto_min);
                self.mdev_max = self.rttvar;
                self.rtt_seq = snd_nxt;
            } else {
                m -= self.srtt >> 3;
                self.srtt += m;
                if m < 0 {
                    m = -m - (self.mdev >> 2);
                    if m > 0 {
                        m >>= 3;
                    }
                } else {
                    m -= self.mdev >> 2;
                }
                self.mdev += m;
                if self.mdev > self.mdev_max {
                    self.mdev_max = self.mdev;
                    self.rttvar = self.rttvar.max(self.mdev_max);
                }
                if snd_una > self.rtt_seq {
                    if self.mdev_max < self.rttvar {
                        self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                    }
                    self.rtt_seq = snd_nxt;
                    self.mdev_max = rto_min;
                }
            }
            (self.srtt >> 3) + self.rttvar
        }
    }

    proptest! {
        /// The kernel counts in microseconds and rounds; here its arithmetic is done in
        /// picoseconds, where rounding is invisible.
        #[test]
        fn linux_rule_is_the_kernels(
            min_rto in 1i64..200_000,
            samples in prop::collection::vec((10i64..1_000_000, 0u64..5, 0u64..5), 1..200),
        ) {
            const US: i64 = 1_000_000;
            let min_rto = Duration::from_us(min_rto);
            let mut rtt = RttEstimator::new(Duration::from_secs(1), min_rto).with_rule(RtoRule::Linux);
            let mut kernel = Kernel::default();
            let (mut una, mut next) = (0, 0);
            for (us, acked, sent) in samples {
                next += sent;
                una = next.min(una + acked);
                rtt.sample(Duration::from_us(us), una, next);
                let expected = kernel.sample(us * US, min_rto.as_ps(), una, next);
                prop_assert!((rtt.rto().as_ps() - expected).abs() < US / 1_000, "{:?} for {expected} ps", rtt.rto());
                prop_assert!(rtt.rto() >= rtt.srtt().expect("a sample") + min_rto);
            }
        }
    }
}
