//! The clock of live agents: CLOCK_MONOTONIC, which BPF programs read too.
//!
//! The clocks of two machines do not agree.

use timeplane_model::Time;

/// Nanoseconds of the monotonic clock.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The current time of an agent: picoseconds of the monotonic clock, with zero at about the start
/// of the machine. Clocks of two machines are unrelated, so times in messages are relative to
/// sending and arrival.
pub fn now() -> Time {
    Time::from_ps((monotonic_ns() * 1000) as i64)
}
