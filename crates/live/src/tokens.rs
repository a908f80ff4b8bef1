//! A token bucket, for limits of what other machines may ask of a daemon.
//!
//! It stores one time: when the bucket will be full again.

use timeplane_model::{Duration, Time};

/// A rate with a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Tokens per second, at least 1.
    pub per_second: u32,
    /// Tokens of a full bucket, at least 1.
    pub burst: u32,
}

impl Allowance {
    /// Time in which a token comes back.
    fn interval(self) -> Duration {
        Duration::from_ps(1_000_000_000_000 / i64::from(self.per_second.max(1)))
    }
}

/// A bucket of tokens. It starts full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens {
    allowance: Allowance,
    full_at: Time,
}

impl Tokens {
    pub(crate) fn new(allowance: Allowance) -> Self {
        Self { allowance, full_at: Time::from_ps(i64::MIN) }
    }

    /// When there is a token; now or earlier if there is one.
    pub(crate) fn ready(&self) -> Time {
        let spare = i64::from(self.allowance.burst.max(1)) - 1;
        let spare = self.allowance.interval().as_ps().saturating_mul(spare);
        self.full_at.saturating_add(Duration::from_ps(-spare))
    }

    /// Takes a token. Returns whether there was one.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        let there = self.ready() <= now;
        if there {
            self.borrow(now);
        }
        there
    }

    /// Takes a token that may not be there yet: [`ready`](Self::ready) is later then.
    pub(crate) fn borrow(&mut self, now: Time) {
        self.full_at = self.full_at.max(now).saturating_add(self.allowance.interval());
    }

    pub(crate) fn is_full(&self, now: Time) -> bool {
        self.full_at <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_the_burst_and_then_the_rate() {
        let mut tokens = Tokens::new(Allowance { per_second: 100, burst: 20 });
        let begin = Time::ZERO + Duration::from_secs(5);
        // 10,000 a second for two seconds.
        let at = |i: i64| begin + Duration::from_us(100 * i);
        let taken: Vec<i64> = (0..20_000).filter(|&i| tokens.take(at(i))).collect();
        assert_eq!(taken[..20], (0..20).collect::<Vec<_>>());
        assert_eq!((taken[20], taken[21], taken.len()), (100, 200, 20 + 199));
        assert!(!tokens.is_full(at(20_000)) && tokens.is_full(at(20_000) + Duration::from_ms(200)));
        // Never more than the burst, however long nobody asked.
        let later = begin + Duration::from_secs(1000);
        assert_eq!((0..50).filter(|_| tokens.take(later)).count(), 20);
    }

    #[test]
    fn borrowed_tokens_are_waited_for() {
        let mut tokens = Tokens::new(Allowance { per_second: 10, burst: 2 });
        let begin = Time::ZERO + Duration::from_secs(5);
        let waits = (0..4).map(|_| {
            tokens.borrow(begin);
            (tokens.ready() - begin).as_ps() / 1_000_000_000
        });
        // Of the burst, one is left after the first.
        assert_eq!(waits.collect::<Vec<_>>(), [0, 100, 200, 300]);
    }
}
