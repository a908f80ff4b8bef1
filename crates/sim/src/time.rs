//! The engine's truth. Agents and transports know only a node's own [`Time`](timeplane_model::Time).

use core::fmt;
use core::ops::{Add, Sub};
use timeplane_model::{Duration, Time};

/// Picoseconds since the run's begin, the same for everyone. Only the simulator can name it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub(crate) i64);

impl SimTime {
    /// The run's begin.
    pub const ZERO: Self = Self(0);
    /// After everything.
    pub const MAX: Self = Self(i64::MAX);

    /// `ps` picoseconds after the run's begin.
    pub const fn from_ps(ps: i64) -> Self {
        Self(ps)
    }
    /// Picoseconds since the run's begin.
    pub const fn as_ps(self) -> i64 {
        self.0
    }
    /// What a perfect clock shows; transports of a host use it, as a wrong clock does not change what they measure.
    pub const fn on_perfect_clock(self) -> Time {
        Time::from_ps(self.0)
    }
    /// What a clock shows that is `ahead` of the truth.
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
