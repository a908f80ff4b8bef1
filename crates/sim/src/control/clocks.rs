//! Clocks of agents: each has an offset from the true time, and may drift further away from it.
//!
//! Beacons set hosts' clocks at intervals, up to an error. A clock never goes back: one that was
//! ahead stands still until the truth has caught up.

use super::nodes::Nodes;
use crate::engine::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use timeplane_assembly::{ClockTerms, PlanTerms};
use timeplane_model::{Duration, Time};
use timeplane_workload::Streams;

/// The clocks of all agents. Planners' clocks show the true time.
pub struct Clocks {
    clocks: Vec<Clock>,
    terms: ClockTerms,
    beacons: Xoshiro256PlusPlus,
}

impl Clocks {
    /// Draws offsets and drifts.
    pub fn new(nodes: &Nodes, terms: &PlanTerms, streams: &Streams) -> Self {
        let host = |h: u32| {
            let draw = |purpose| either_way(&mut streams.fast("host", u64::from(h), purpose));
            let late = if terms.clocks.phase > Duration::ZERO {
                terms.clocks.phase.scale((draw("phase") + 1.0) / 2.0)
            } else {
                Duration::ZERO
            };
            let drift = if terms.clocks.drift_ppm > 0.0 { draw("clock drift") * terms.clocks.drift_ppm } else { 0.0 };
            Clock::new(terms.clocks.error.scale(draw("clock error")) - late, drift)
        };
        let planners = nodes.planners().map(|_| Clock::new(Duration::ZERO, 0.0));
        let relays = terms.relays.iter().flat_map(|relays| {
            // Results depend on the stream's name, so it keeps the former word for a relay.
            let draw = |number: u32| either_way(&mut streams.fast("deputy", u64::from(number), "clock error"));
            (0..relays.count).map(move |number| Clock::new(relays.clock_error.scale(draw(number)), 0.0))
        });
        Self {
            clocks: nodes.hosts().map(host).chain(planners).chain(relays).collect(),
            terms: terms.clocks,
            beacons: streams.fast("control", 0, "beacons"),
        }
    }

    pub fn of(&self, node: u32) -> &Clock {
        &self.clocks[node as usize]
    }

    /// The interval of beacons, if there are any.
    pub fn beacon_interval(&self) -> Option<Duration> {
        self.terms.resync
    }

    /// Sets a host's clock, as a beacon does.
    pub fn set(&mut self, at: SimTime, host: u32) {
        let error = self.terms.error.scale(either_way(&mut self.beacons));
        self.clocks[host as usize].set(at, error);
    }
}

/// Draws uniformly from -1 to 1.
fn either_way(stream: &mut Xoshiro256PlusPlus) -> f64 {
    let uniform = (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    2.0 * uniform - 1.0
}

/// A clock with an offset and a constant drift.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Its offset from the truth at `since`, in ps.
    ahead: i64,
    since: i64,
    /// Parts per billion by which it runs fast.
    drift: i64,
    /// It never shows less than this, in ps.
    floor: i64,
}

impl Clock {
    /// A clock with this offset at the start, which runs fast by `drift_ppm` parts per million.
    pub fn new(ahead: Duration, drift_ppm: f64) -> Self {
        Self { ahead: ahead.as_ps(), since: 0, drift: (drift_ppm * 1e3).round() as i64, floor: i64::MIN }
    }

    /// Its offset from the truth at `at`.
    pub fn ahead(&self, at: SimTime) -> Duration {
        self.read(at) - Time::from_ps(at.0)
    }

    fn unbounded(&self, at: i64) -> i64 {
        let shown = at.saturating_add(self.ahead);
        // Most clocks do not drift, and dividing 128 bits takes long.
        if self.drift == 0 {
            return shown;
        }
        let parted = i128::from(at - self.since) * i128::from(self.drift);
        shown.saturating_add(parted.div_euclid(1_000_000_000) as i64)
    }

    /// The time that it shows.
    pub fn read(&self, at: SimTime) -> Time {
        Time::from_ps(self.unbounded(at.0).max(self.floor))
    }

    /// The first instant at which it shows `time` or later, if it is not set before that.
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

    /// Sets it to the true time plus `error`.
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
