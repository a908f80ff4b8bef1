//! The clock of the proxy, its access point and the emulated link.
//!
//! It is monotonic, and starts at zero.

use rustix::time::{ClockId, clock_gettime};
use timeplane_model::{Duration, Time};

/// Time since an origin, by CLOCK_MONOTONIC. Copies share the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Nanoseconds.
    origin: i64,
}

fn monotonic() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { origin: monotonic() }
    }
    /// Time since the origin.
    pub fn now(&self) -> Time {
        Time::from_ps((monotonic() - self.origin) * 1000)
    }
    /// A time as nanoseconds of CLOCK_MONOTONIC, as the kernel's programs have it; of the origin
    /// where it is before that.
    pub fn kernel(&self, time: Time) -> u64 {
        let since = time.as_ps().max(0) / 1000;
        self.origin.saturating_add(since).unsigned_abs()
    }
    /// How long until `time`, for functions that wait; none where it is over.
    pub fn until(&self, time: Time) -> std::time::Duration {
        let left = time.as_ps().saturating_sub(self.now().as_ps()).max(0);
        // Rounded up: who wakes too early waits twice.
        std::time::Duration::from_nanos(left.unsigned_abs().div_ceil(1000))
    }
}

/// A span of ours for functions that wait; none where it is negative.
pub fn wall(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_ps().max(0).unsigned_abs().div_ceil(1000))
}
