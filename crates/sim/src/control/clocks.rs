//! Clocks of hosts, which may be wrong: off by an offset, and more and more off by a drift.

use crate::engine::time::SimTime;
use timeplane_model::{Duration, Time};

/// A clock: what it shows, and when it shows what.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// How much it was ahead of the truth at `since`.
    ahead: i64,
    since: i64,
    /// Parts per thousand million by which it runs fast.
    drift: i64,
    /// It never shows less than this: set right backwards, it stands still until the truth has caught up.
    floor: i64,
}

impl Clock {
    /// A clock that was ahead by so much at the begin and runs fast by so many parts per million.
    pub fn new(ahead: Duration, drift_ppm: f64) -> Self {
        Self { ahead: ahead.as_ps(), since: 0, drift: (drift_ppm * 1e3).round() as i64, floor: i64::MIN }
    }

    /// How much it is ahead of the truth at `at`.
    pub fn ahead(&self, at: SimTime) -> Duration {
        self.read(at) - Time::from_ps(at.0)
    }

    fn unbounded(&self, at: i64) -> i64 {
        let parted = i128::from(at - self.since) * i128::from(self.drift);
        at.saturating_add(self.ahead).saturating_add(parted.div_euclid(1_000_000_000) as i64)
    }

    /// What it shows.
    pub fn read(&self, at: SimTime) -> Time {
        Time::from_ps(self.unbounded(at.0).max(self.floor))
    }

    /// The first instant at which it shows `time` or later, unless it is set meanwhile.
    pub fn truth(&self, time: Time) -> SimTime {
        let time = time.as_ps();
        if self.drift == 0 {
            return SimTime(time.saturating_sub(self.ahead));
        }
        let shown = i128::from(time) - i128::from(self.ahead) - i128::from(self.since);
        let elapsed = shown * 1_000_000_000 / (1_000_000_000 + i128::from(self.drift));
        let guess = i128::from(self.since) + elapsed - 2;
        let Ok(mut guess) = i64::try_from(guess) else { return SimTime::MAX };
        if guess > i64::MAX / 2 {
            return SimTime::MAX;
        }
        while self.unbounded(guess) < time {
            guess += 1;
        }
        SimTime(guess)
    }

    /// A beacon at `at` sets it right, up to `error`.
    pub fn set(&mut self, at: SimTime, error: Duration) {
        self.floor = self.read(at).as_ps();
        self.ahead = error.as_ps();
        self.since = at.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_clocks_part_by_their_drift() {
        let (fast, slow) = (Clock::new(Duration::ZERO, 50.0), Clock::new(Duration::ZERO, -50.0));
        let at = SimTime::ZERO + Duration::from_secs(20);
        assert_eq!(fast.read(at) - slow.read(at), Duration::from_ms(2));
    }

    #[test]
    fn a_clock_that_is_set_right_never_goes_back() {
        let mut clock = Clock::new(Duration::from_us(5), 100.0);
        let at = SimTime::ZERO + Duration::from_secs(1);
        let before = clock.read(at);
        assert_eq!(clock.ahead(at), Duration::from_us(105));
        clock.set(at, Duration::from_us(-3));
        assert_eq!(clock.read(at), before);
        assert_eq!(clock.read(at + Duration::from_us(50)), before);
        let later = at + Duration::from_ms(10);
        assert_eq!(clock.ahead(later), Duration::from_us(-2));
    }

    proptest! {
        #[test]
        fn truth_is_the_first_instant_of_a_reading(
            ahead in -1_000_000_000i64..1_000_000_000, ppm in -1000.0f64..1000.0, at in 0i64..1_000_000_000_000_000,
        ) {
            let clock = Clock::new(Duration::from_ps(ahead), ppm);
            let time = clock.read(SimTime(at));
            let first = clock.truth(time);
            prop_assert!(clock.read(first) >= time && first.0 <= at);
            prop_assert!(clock.read(SimTime(first.0 - 1)) < time);
        }
    }
}
