//! The clock of a controller that may wake up late.
//!
//! It stops for as long as the controller overslept.

use timeplane_model::{Duration, Time};

/// A clock that stops while its owner oversleeps.
///
/// An owner that wakes more than `tolerance` late sees a clock that is only `tolerance` late: the
/// rest is subtracted from the clock for good.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slipping {
    slipped: Duration,
    tolerance: Duration,
    slips: u64,
}

impl Slipping {
    /// A clock that has not slipped.
    pub fn new(tolerance: Duration) -> Self {
        Self { tolerance, ..Self::default() }
    }
    /// Time of this clock when the machine's clock shows `real`.
    pub fn read(&self, real: Time) -> Time {
        real.saturating_add(self.slipped * -1)
    }
    /// Time of the machine's clock when this clock shows `time`.
    pub fn real(&self, time: Time) -> Time {
        time.saturating_add(self.slipped)
    }
    /// The current time for an owner that wanted to wake up at `deadline`.
    pub fn wake(&mut self, real: Time, deadline: Time) -> Time {
        let late = self.read(real) - deadline;
        if late > self.tolerance {
            self.slipped += late - self.tolerance;
            self.slips += 1;
        }
        self.read(real)
    }
    /// Total slip, and how often it has grown.
    pub fn slipped(&self) -> (Duration, u64) {
        (self.slipped, self.slips)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However late its owner is woken, two of its instants are as far apart on the machine's
        /// clock, except for the tolerance.
        #[test]
        fn a_guard_is_never_shorter_than_planned(
            tolerance in 0i64..50, steps in proptest::collection::vec((0i64..500, 0i64..300), 1..50),
        ) {
            let us = Duration::from_us;
            let mut clock = Slipping::new(us(tolerance));
            let mut real = Time::from_ps(1_000_000_000);
            let mut deadline = clock.read(real);
            let mut woken: Option<(Time, Time)> = None;
            for (wait, late) in steps {
                deadline += us(wait);
                real = real.max(clock.real(deadline)) + us(late);
                let now = clock.wake(real, deadline);
                prop_assert!(now >= deadline && now - deadline <= us(tolerance));
                prop_assert_eq!(clock.read(real), now);
                if let Some((before, then)) = woken {
                    prop_assert!(real - then >= deadline - before - us(tolerance));
                }
                woken = Some((deadline, real));
            }
            prop_assert!(clock.slipped().0 >= Duration::ZERO);
        }
    }
}
