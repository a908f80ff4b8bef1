//! How late a message is, for a receiver whose clock has nothing to do with the sender's.
//!
//! The difference between a message's arrival, by the receiver's clock, and its sending, by the
//! sender's, is the difference of the clocks and the delay. The least difference belongs to the
//! fastest message, and a message is late by as much as its own difference is larger.
//!
//! The least difference counts for one to two windows of [`WINDOW`]. A clock that steps thus makes
//! messages late for two windows at most. A window ends only with a message, so a message after a
//! long silence is still compared with the ones before. Between messages the least difference
//! grows by [`DRIFT_SHIFT`], so that clocks which drift apart make no message late.
//!
//! `bpf/lateness.h` does the same in the kernel, for signals. Delays can only make a difference
//! larger, so nobody on the network can make messages appear late that are not. Whoever delays all
//! messages alike is not noticed.

/// Length of a window, in nanoseconds.
pub const WINDOW: u64 = 2_000_000_000;
/// Clocks may drift apart by 1 in 2 to this power: 61 ppm.
pub const DRIFT_SHIFT: u32 = 14;

/// The least difference of recent messages. Times are nanoseconds of the two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fastest {
    /// The least difference in this window.
    current: Option<i64>,
    /// The least one in the window before.
    before: Option<i64>,
    /// When this window began.
    began: u64,
    /// When the differences were last aged.
    seen: u64,
}

impl Fastest {
    /// Takes a message that arrives `now` and was sent at `sent`. Returns how late it is.
    pub fn take(&mut self, now: u64, sent: u64) -> u64 {
        if self.current.is_none() {
            (self.began, self.seen) = (now, now);
        }
        let drift = (now.saturating_sub(self.seen) >> DRIFT_SHIFT) as i64;
        self.seen = self.seen.max(now);
        for least in [&mut self.current, &mut self.before].into_iter().flatten() {
            *least = least.saturating_add(drift);
        }
        if now.saturating_sub(self.began) >= WINDOW {
            (self.before, self.current, self.began) = (self.current, None, now);
        }
        let difference = now.wrapping_sub(sent) as i64;
        self.current = Some(self.current.map_or(difference, |least| least.min(difference)));
        self.least().map_or(0, |least| difference.saturating_sub(least) as u64)
    }

    /// The least difference; `None` before the first message.
    pub fn least(&self) -> Option<i64> {
        [self.current, self.before].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests;
