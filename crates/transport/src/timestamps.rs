//! The timestamp option (RFC 7323): its clock, and what a receiver echoes.
//!
//! A sender stamps each segment, and the receiver echoes a stamp in each acknowledgement. The echo
//! tells which transmission has arrived, where a segment was sent more than once. So there is a
//! round-trip time after repetitions too (RTTM, section 4), and a repetition that was needless
//! shows at once (Eifel detection, RFC 3522).
//!
//! As in Linux, the echo is a round-trip time only where the time of sending leaves that open: this
//! time is exact, and the clock of timestamps is not. Only the retransmission timeout takes it.
//! RACK does not judge repetitions by the echo, which RFC 8985 allows: above a gap, the echo is
//! older than any repetition. Linux does not either.
//!
//! Protection against wrapped sequence numbers (PAWS, section 5) is not modeled: sequence numbers
//! have 64 bits and do not wrap, and no packet outlives its flow.

use timeplane_model::{Duration, Time};

/// The granularity of the clock: that of Linux (`TCP_TS_HZ`), unless a route asks for microseconds,
/// which is possible since version 6.7. RFC 7323, section 5.4, allows 1 ms to 1 s.
pub const TIMESTAMP_TICK: Duration = Duration::from_ms(1);

/// The clock's reading. It starts at one, as an echo of zero means that nothing is echoed, and
/// wraps after 49 days.
pub(crate) fn reading(now: Time) -> u32 {
    (now.as_ps().div_euclid(TIMESTAMP_TICK.as_ps()) as u32).wrapping_add(1)
}

/// Whether a timestamp is older than another one, by the difference modulo 2^32.
pub(crate) fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// The time since a timestamp that is echoed now: at least a tick, as in Linux. `None` if the clock
/// has not read it yet.
pub(crate) fn since(echo: u32, now: Time) -> Option<Duration> {
    let ticks = reading(now).wrapping_sub(echo) as i32;
    (ticks >= 0).then(|| TIMESTAMP_TICK * i64::from(ticks.max(1)))
}

/// Whether an echo shows that an earlier transmission has arrived than the repetition with this
/// timestamp: steps 3 and 4 of RFC 3522. Within one tick, it shows nothing.
pub(crate) fn shows_earlier(repeated: Option<u32>, echo: Option<u32>) -> bool {
    let echo = echo.filter(|&echo| echo > 0);
    repeated.zip(echo).is_some_and(|(repeated, echo)| is_before(echo, repeated))
}

/// The timestamp that a receiver echoes (section 4.3).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recent {
    /// `TS.Recent`; zero before any timestamp.
    value: u32,
    /// `Last.ACK.sent`.
    acknowledged: u64,
}

impl Recent {
    /// A segment with this timestamp arrives that starts at `seq` (rule 2): if acknowledgements are
    /// delayed, the earliest segment counts, and if one is missing, the last that arrived in order.
    pub(crate) fn take(&mut self, timestamp: u32, seq: u64) {
        let is_new = self.value == 0 || !is_before(timestamp, self.value);
        if is_new && seq <= self.acknowledged {
            self.value = timestamp;
        }
    }

    /// The echo of an acknowledgement of all bytes below `next` (rules 1 and 3).
    pub(crate) fn echo(&mut self, next: u64) -> u32 {
        self.acknowledged = next;
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: i64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn the_clock_ticks_each_millisecond() {
        assert_eq!([0, 1, 50].map(|at| reading(ms(at))), [1, 2, 51]);
        assert_eq!(reading(ms(50) - Duration::from_ps(1)), 50);
        // After 2^32 ticks it starts again.
        assert_eq!(reading(ms((1 << 32) + 6)), 7);
        assert!(is_before(1, 2) && !is_before(2, 2) && !is_before(2, 1));
        assert!(is_before(u32::MAX, 3) && !is_before(3, u32::MAX));
        assert_eq!(since(reading(ms(3)), ms(20)), Some(Duration::from_ms(17)));
        assert_eq!(since(reading(ms(3)), ms(3)), Some(TIMESTAMP_TICK), "at least a tick");
        assert_eq!(since(reading(ms(4)), ms(3)), None, "nobody can have sent that");
    }

    proptest! {
        /// Between two readings are the true time's whole milliseconds, or one more.
        #[test]
        fn a_measurement_is_true_to_a_tick(from in 0i64..10_000_000_000, us in 0i64..10_000_000) {
            let (from, span) = (Time::ZERO + Duration::from_us(from), Duration::from_us(us));
            let measured = since(reading(from), from + span).expect("it was read before");
            prop_assert!(measured >= TIMESTAMP_TICK);
            prop_assert!(measured - span <= TIMESTAMP_TICK && span - measured < TIMESTAMP_TICK);
        }
    }
}
