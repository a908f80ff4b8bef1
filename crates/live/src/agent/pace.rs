//! How fast frames may leave.

use timeplane_model::{Duration, Rate, Time};

/// A leaky bucket that fills only while it runs.
///
/// An interface may be faster than the link that it stands for, as a veth pair is. Over any time
/// that it runs, no more leaves than the rate carries and [a slot's worth](Self::DEPTH) on top:
/// what a thread that is woken late may still send of the time that it overslept.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: Rate,
    /// When all that has left will have been carried, where the rate were that of a wire.
    free_at: Time,
    /// Since when it stands still.
    stopped: Option<Time>,
}

impl Pace {
    /// By how much what leaves may be ahead of the rate.
    pub const DEPTH: Duration = Duration::from_ms(4);

    /// One that runs, and is as full as it gets.
    pub fn new(now: Time, rate: Rate) -> Self {
        Self { rate, free_at: now.saturating_add(Self::DEPTH * -1), stopped: None }
    }
    /// One that has run since `begin`, when it was empty: what begins with a slot carries no more
    /// than the slot.
    pub fn since(begin: Time, rate: Rate) -> Self {
        Self { rate, free_at: begin, stopped: None }
    }
    /// The same at another rate from now on.
    pub fn at(self, now: Time, rate: Rate) -> Self {
        let ahead = (self.free_at - now).max(Self::DEPTH * -1);
        let bytes = self.rate.bytes_in(ahead.max(Duration::ZERO));
        let free_at =
            if ahead > Duration::ZERO { now.saturating_add(rate.time_for(bytes)) } else { now.saturating_add(ahead) };
        Self { rate, free_at, stopped: None }
    }
    /// Stands still from now on.
    pub fn stop(&mut self, now: Time) {
        self.stopped.get_or_insert(now);
    }
    /// Goes on.
    pub fn start(&mut self, now: Time) {
        if let Some(stopped) = self.stopped.take() {
            self.free_at = self.free_at.saturating_add((now - stopped).max(Duration::ZERO));
        }
    }
    /// Whether a frame may leave now.
    pub fn allows(&self, now: Time) -> bool {
        self.free_at <= now
    }
    /// A frame has left.
    pub fn take(&mut self, now: Time, wire_bytes: u64) {
        let least = now.saturating_add(Self::DEPTH * -1);
        let carries = self.rate.time_for(timeplane_model::Bytes::new(wire_bytes));
        self.free_at = self.free_at.max(least).saturating_add(carries);
    }
    /// It has not.
    pub fn give_back(&mut self, wire_bytes: u64) {
        let carries = self.rate.time_for(timeplane_model::Bytes::new(wire_bytes));
        self.free_at = self.free_at.saturating_add(carries * -1);
    }
    /// The gate has let nothing through, though this one allows it: its bucket is fuller. Nothing
    /// leaves for a quarter of the depth, instead of being refused again and again.
    pub fn refused(&mut self, now: Time) {
        self.free_at = self.free_at.max(now.saturating_add(Self::DEPTH / 4));
    }
    /// When it is worth waking up again: a quarter of its depth is free, or at once.
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
