//! Simulated time.
//!
//! [`SimTime`] is the truth of a run, which only the simulator knows. Agents and transports know
//! their own node's [`Time`](timeplane_model::Time).

use core::fmt;
use core::ops::{Add, Sub};
use timeplane_model::{Duration, Time};

/// Picoseconds since the start of the run, the same at every node.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub(crate) i64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// After everything.
    pub const MAX: Self = Self(i64::MAX);

    /// `ps` picoseconds after the start of the run.
    pub const fn from_ps(ps: i64) -> Self {
        Self(ps)
    }
    /// Picoseconds since the start of the run.
    pub const fn as_ps(self) -> i64 {
        self.0
    }
    /// The time on a perfect clock. Transports of a host use it, as they measure differences of one
    /// clock only.
    pub const fn on_perfect_clock(self) -> Time {
        Time::from_ps(self.0)
    }
    /// The time on a clock that is `ahead` of the truth.
    pub fn on_clock(self, ahead: Duration) -> Time {
        Time::from_ps(self.0 + ahead.as_ps())
    }
}

impl Add<Duration> for SimTime {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0 + d.as_ps())
    }
}
impl Sub<Duration> for SimTime {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0 - d.as_ps())
    }
}
impl Sub for SimTime {
    type Output = Duration;
    fn sub(self, o: Self) -> Duration {
        Duration::from_ps(self.0 - o.0)
    }
}
impl fmt::Debug for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_ps(self.0))
    }
}

/// How many of `count` times lie in a window: the first at `first`, each further one another `step`
/// later. `step` is positive.
pub(crate) fn evenly_within(window: &core::ops::Range<SimTime>, first: SimTime, step: Duration, count: u64) -> u64 {
    if count == 0 || window.contains(&first) && window.contains(&(first + step * (count - 1) as i64)) {
        return count;
    }
    let before =
        |t: SimTime| (t - first).as_ps().max(0).unsigned_abs().div_ceil(step.as_ps().unsigned_abs()).min(count);
    before(window.end) - before(window.start).min(before(window.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evenly_spaced_times_are_counted_as_one_by_one() {
        let at = SimTime::from_ps;
        for (start, end) in [(0, 100), (7, 43), (10, 40), (41, 42), (0, 5), (90, 200), (30, 30)] {
            for (first, step, count) in [(10, 10, 4), (0, 7, 10), (40, 1, 3), (99, 5, 1), (12, 3, 0)] {
                let times = (0..count as i64).map(|i| at(first + step * i));
                let counted = times.filter(|t| (at(start)..at(end)).contains(t)).count() as u64;
                let found = evenly_within(&(at(start)..at(end)), at(first), Duration::from_ps(step), count);
                assert_eq!(found, counted, "{start}..{end}: {first} + {step} x {count}");
            }
        }
    }
}
