//! Pacing of frames to a rate. A leaky bucket for each open queue, and one for the link, decide
//! when the agent may hand the next frame to the interface.

use timeplane_model::{Duration, Rate, Time};

/// A leaky bucket that drains only while it runs.
///
/// An interface, such as a veth pair, may be faster than the link that it represents. Over any time
/// that the bucket runs, at most the rate's bytes leave, plus [a burst](Self::DEPTH). The burst
/// lets a thread that was woken late catch up.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: Rate,
    /// When a wire of this rate would have sent all frames that have left.
    free_at: Time,
    /// Since when it is stopped; `None` while it runs.
    stopped: Option<Time>,
}

impl Pace {
    /// How far frames may be ahead of the rate.
    pub const DEPTH: Duration = Duration::from_ms(4);

    /// A running bucket that allows a full burst.
    pub fn new(now: Time, rate: Rate) -> Self {
        Self { rate, free_at: now.saturating_add(Self::DEPTH * -1), stopped: None }
    }
    /// A bucket that has run since `begin` without a burst: a slot carries no more than its length
    /// allows.
    pub fn since(begin: Time, rate: Rate) -> Self {
        Self { rate, free_at: begin, stopped: None }
    }
    /// The same bucket at another rate from now on.
    pub fn at(self, now: Time, rate: Rate) -> Self {
        let ahead = (self.free_at - now).max(Self::DEPTH * -1);
        let bytes = self.rate.bytes_in(ahead.max(Duration::ZERO));
        let free_at =
            if ahead > Duration::ZERO { now.saturating_add(rate.time_for(bytes)) } else { now.saturating_add(ahead) };
        Self { rate, free_at, stopped: None }
    }
    /// Stops the bucket.
    pub fn stop(&mut self, now: Time) {
        self.stopped.get_or_insert(now);
    }
    /// Restarts the bucket.
    pub fn start(&mut self, now: Time) {
        if let Some(stopped) = self.stopped.take() {
            self.free_at = self.free_at.saturating_add((now - stopped).max(Duration::ZERO));
        }
    }
    /// Whether a frame may leave now.
    pub fn allows(&self, now: Time) -> bool {
        self.free_at <= now
    }
    /// Accounts for a frame that leaves.
    pub fn take(&mut self, now: Time, wire_bytes: u64) {
        let least = now.saturating_add(Self::DEPTH * -1);
        let carries = self.rate.time_for(timeplane_model::Bytes::new(wire_bytes));
        self.free_at = self.free_at.max(least).saturating_add(carries);
    }
    /// Takes back a frame that has not left.
    pub fn give_back(&mut self, wire_bytes: u64) {
        let carries = self.rate.time_for(timeplane_model::Bytes::new(wire_bytes));
        self.free_at = self.free_at.saturating_add(carries * -1);
    }
    /// Accounts for a refusal by the gate, whose bucket is fuller than this one. Frames wait for a
    /// quarter of the depth, instead of being refused repeatedly.
    pub fn refused(&mut self, now: Time) {
        self.free_at = self.free_at.max(now.saturating_add(Self::DEPTH / 4));
    }
    /// When to wake up again: once a quarter of the depth is free, or at once.
    pub fn ready(&self) -> Time {
        self.free_at.saturating_add(Self::DEPTH / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_more_leaves_than_the_rate_carries_while_it_runs(
            mbps in 1u64..10_000,
            steps in proptest::collection::vec((0i64..3_000, any::<bool>(), 84u64..1539), 1..200),
        ) {
            let rate = Rate::mbps(mbps);
            let (mut now, mut ran, mut left, mut last) = (Time::from_ps(1_000_000_000_000), Duration::ZERO, 0, 0);
            let mut pace = Pace::new(now, rate);
            let mut runs = true;
            for (us, toggles, frame) in steps {
                let step = Duration::from_us(us);
                now = now.saturating_add(step);
                ran += if runs { step } else { Duration::ZERO };
                if toggles {
                    if runs { pace.stop(now) } else { pace.start(now) }
                    runs = !runs;
                }
                while runs && pace.allows(now) && left < 1 << 30 {
                    pace.take(now, frame);
                    (left, last) = (left + frame, frame);
                }
                let most = rate.bytes_in(ran + Pace::DEPTH).get() + last + 1;
                prop_assert!(left <= most, "{left} of {most}");
            }
        }
    }

    #[test]
    fn one_that_was_refused_waits() {
        let now = Time::from_ps(1_000_000_000_000);
        let mut pace = Pace::new(now, Rate::mbps(8));
        pace.refused(now);
        assert!(!pace.allows(now + Duration::from_us(999)) && pace.allows(now + Duration::from_ms(1)));
        // One that waits for longer still does.
        pace.take(now + Duration::from_ms(1), 5000);
        pace.refused(now + Duration::from_ms(1));
        assert!(!pace.allows(now + Duration::from_us(5999)) && pace.allows(now + Duration::from_ms(6)));
    }

    #[test]
    fn one_that_begins_with_a_slot_has_saved_nothing() {
        let begin = Time::from_ps(1_000_000_000_000);
        // A byte a microsecond: in 1 ms, ten frames of 100 bytes, and the one that is begun at its
        // end.
        let mut pace = Pace::since(begin, Rate::mbps(8));
        let mut sent = 0;
        while pace.allows(begin + Duration::from_ms(1)) {
            pace.take(begin + Duration::from_ms(1), 100);
            sent += 1;
        }
        assert_eq!(sent, 11);
    }

    #[test]
    fn at_another_rate_what_has_left_is_still_owed() {
        let now = Time::from_ps(1_000_000_000_000);
        let mut pace = Pace::new(now, Rate::mbps(8));
        pace.take(now, 4_000);
        pace.take(now, 1_000);
        // 5 ms of frames at 1 byte a microsecond, 4 of them from before.
        assert!(!pace.allows(now) && pace.allows(now + Duration::from_ms(1)));
        let faster = pace.at(now, Rate::mbps(80));
        assert!(!faster.allows(now) && faster.allows(now + Duration::from_us(100)));
        faster.clone().give_back(1_000);
    }
}
