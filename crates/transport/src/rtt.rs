//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! The clock's granularity G is a picosecond and therefore left out.

use timeplane_model::Duration;

/// The longest retransmission timeout: 60 s, the least that RFC 6298 (rule 2.5) allows.
pub(crate) const MAX_RTO: Duration = Duration::from_secs(60);

/// The smoothed round-trip time and the timeout that follows from it (RFC 6298).
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Zero before the first sample.
    srtt: Duration,
    variation: Duration,
    /// Without backoff, within the bounds.
    rto: Duration,
    min_rto: Duration,
    /// How often the timeout has doubled since the last sample.
    backoff: u8,
}

impl RttEstimator {
    /// Before any sample the timeout is `initial_rto` (rule 2.1: 1 s). It is at least `min_rto`
    /// (rule 2.4: 1 s; data centers use much less) and at most 60 s.
    pub fn new(initial_rto: Duration, min_rto: Duration) -> Self {
        let min_rto = min_rto.clamp(Duration::from_ps(1), MAX_RTO);
        let rto = initial_rto.clamp(min_rto, MAX_RTO);
        Self { srtt: Duration::ZERO, variation: Duration::ZERO, rto, min_rto, backoff: 0 }
    }

    /// Takes a measurement and ends the backoff (rules 2.2, 2.3 and 5.7). The caller follows Karn's
    /// rule: no measurement of a segment that was sent twice. A round trip of less than a
    /// picosecond counts as one.
    pub fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_ps(1));
        if self.srtt == Duration::ZERO {
            self.srtt = rtt;
            self.variation = rtt / 2;
        } else {
            let error = (self.srtt.as_ps() - rtt.as_ps()).abs();
            self.variation += Duration::from_ps((error - self.variation.as_ps()) >> 2);
            self.srtt += Duration::from_ps((rtt.as_ps() - self.srtt.as_ps()) >> 3);
        }
        let rto = self.srtt.as_ps().saturating_add(self.variation.as_ps().saturating_mul(4));
        self.rto = Duration::from_ps(rto).clamp(self.min_rto, MAX_RTO);
        self.backoff = 0;
    }

    /// Doubles the timeout, up to 60 s (rule 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(40);
    }

    /// Starts over with `rto`, for data after a repeated SYN (rule 5.7).
    pub(crate) fn restart(&mut self, rto: Duration) {
        *self = Self::new(rto, self.min_rto);
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

    #[test]
    fn follows_the_rules_of_rfc_6298() {
        let ms = Duration::from_ms;
        let mut rtt = RttEstimator::new(Duration::from_secs(1), ms(10));
        assert_eq!((rtt.srtt(), rtt.rto()), (None, ms(1_000)));
        rtt.sample(ms(100));
        // SRTT 100, RTTVAR 50.
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(100)), ms(300)));
        rtt.sample(ms(180));
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
        rtt.sample(Duration::from_us(50));
        assert_eq!(rtt.rto(), Duration::from_ms(200));
    }
}
