//! The schedule of rotor switches in time: which slice it is, and how long a circuit is open.
//!
//! Slices begin at the switches. Racks see them earlier, by the time that light takes to a switch,
//! so that what they send in a slice crosses the switch in it. A *hold* is the time in which a
//! switch keeps a matching: it begins dark where the matching is new.

use super::{RotorSchedule, RotorTiming};
use std::sync::Arc;
use timeplane_model::{Duration, Time};

/// Where a slice is in a hold of its uplink.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The number of the hold in the cycle.
    number: u32,
    /// Slices since its begin.
    begun: u32,
    /// Slices from this one to its end.
    left: u32,
}

/// A schedule in time. Time counts from the start of a cycle, at the switches.
#[derive(Debug)]
pub struct Cycle {
    schedule: Arc<RotorSchedule>,
    timing: RotorTiming,
    /// How much earlier slices begin at racks than at switches, in ps.
    ahead: i64,
    /// By slice and uplink; empty for an uplink that never changes.
    places: Vec<Place>,
    /// By uplink, its holds in a cycle; 1 if it never changes.
    holds: Vec<u32>,
    /// By uplink, the slices in which it changes.
    changes: Vec<Vec<u32>>,
}

/// The time in which an uplink leads to one rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Its number in the cycle.
    pub number: u32,
    /// From when racks may send, by their time.
    pub open: Time,
    /// When the last bit must have left, by their time.
    pub close: Time,
}

impl Cycle {
    /// A schedule at racks that are `propagation` from the switches.
    pub fn new(schedule: Arc<RotorSchedule>, timing: RotorTiming, propagation: Duration) -> Self {
        let (slices, uplinks) = (schedule.slices(), schedule.uplinks());
        let mut places = vec![Place { number: 0, begun: 0, left: 0 }; (slices * uplinks) as usize];
        let (mut holds, mut changes) = (Vec::new(), Vec::new());
        for uplink in 0..uplinks {
            let starts: Vec<u32> = (0..slices).filter(|&s| schedule.is_changing(s, uplink)).collect();
            holds.push(starts.len().max(1) as u32);
            for (number, &start) in (0..).zip(&starts) {
                let next = starts.get(number as usize + 1).copied().unwrap_or(starts[0] + slices);
                for slice in start..next {
                    let place = Place { number, begun: slice - start, left: next - slice };
                    places[(slice % slices * uplinks + uplink) as usize] = place;
                }
            }
            changes.push(starts);
        }
        Self { schedule, timing, ahead: propagation.as_ps(), places, holds, changes }
    }

    /// Which racks meet in which slice.
    #[inline]
    pub fn schedule(&self) -> &Arc<RotorSchedule> {
        &self.schedule
    }

    /// Lengths of slices and dark times.
    #[inline]
    pub fn timing(&self) -> &RotorTiming {
        &self.timing
    }

    /// The slice in which racks are at `at`, counted from time zero on, and negative before.
    #[inline]
    pub fn slice_at(&self, at: Time) -> i64 {
        (at.as_ps() + self.ahead).div_euclid(self.timing.slice().as_ps())
    }

    /// When racks see a slice begin.
    #[inline]
    pub fn start(&self, slice: i64) -> Time {
        Time::from_ps(slice * self.timing.slice().as_ps() - self.ahead)
    }

    /// The number of a slice in the cycle.
    #[inline]
    pub fn in_cycle(&self, slice: i64) -> u32 {
        slice.rem_euclid(i64::from(self.schedule.slices())) as u32
    }

    /// By uplink, its holds in a cycle.
    pub fn holds(&self) -> &[u32] {
        &self.holds
    }

    /// Whether an uplink leads elsewhere than in the slice before.
    #[inline]
    pub fn is_changing(&self, slice: i64, uplink: u32) -> bool {
        !self.changes[uplink as usize].is_empty() && self.place(slice, uplink).begun == 0
    }

    #[inline]
    fn place(&self, slice: i64, uplink: u32) -> Place {
        self.places[(self.in_cycle(slice) * self.schedule.uplinks() + uplink) as usize]
    }

    /// The hold of an uplink in a slice.
    #[inline]
    pub fn hold(&self, slice: i64, uplink: u32) -> Hold {
        if self.changes[uplink as usize].is_empty() {
            return Hold { number: 0, open: Time::ZERO, close: Time::MAX };
        }
        let Place { number, begun, left } = self.place(slice, uplink);
        let open = self.start(slice - i64::from(begun)) + self.timing.dark();
        Hold { number, open, close: self.start(slice + i64::from(left)) }
    }

    /// The shortest time that a circuit of an uplink is open; `None` if the uplink never changes.
    pub fn shortest(&self, uplink: u32) -> Option<Duration> {
        let starts = &self.changes[uplink as usize];
        let open = starts.iter().map(|&start| {
            let hold = self.hold(i64::from(start), uplink);
            hold.close - hold.open
        });
        open.min()
    }

    /// The rack to which an uplink of a rack leads in a slice.
    #[inline]
    pub fn destination(&self, slice: i64, rack: u32, uplink: u32) -> Option<u32> {
        self.schedule.destination(self.in_cycle(slice), rack, uplink)
    }

    /// The rack to which an uplink of a rack leads in the hold with this number.
    pub fn end_of(&self, rack: u32, uplink: u32, hold: u32) -> Option<u32> {
        let slice = self.changes[uplink as usize].get(hold as usize).copied().unwrap_or(0);
        self.schedule.destination(slice, rack, uplink)
    }

    /// The rack at the other end of a circuit, if light that crosses the switch from `begin` to
    /// `end`, by the switches' time, finds the circuit up. `None` while it is dark.
    #[inline]
    pub fn lit(&self, begin: Time, end: Time, rack: u32, uplink: u32) -> Option<u32> {
        // By the racks' time. A last bit at the end of a slice is still in it.
        let (begin, end) = (begin - Duration::from_ps(self.ahead), end - Duration::from_ps(self.ahead));
        let slice = self.slice_at(end - Duration::from_ps(1));
        let hold = self.hold(slice, uplink);
        self.destination(slice, rack, uplink).filter(|_| hold.open <= begin && end <= hold.close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotor::Stepping;
    use crate::rotor::matchings::round_robin;

    const US: Duration = Duration::from_us(1);

    fn cycle(stepping: Stepping) -> Cycle {
        let schedule = RotorSchedule::spread(&round_robin(7).unwrap()[..6], 3, stepping).unwrap();
        Cycle::new(Arc::new(schedule), RotorTiming::new(US * 10, US).unwrap(), Duration::from_ns(500))
    }

    fn at(ns: i64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    #[test]
    fn holds_follow_the_steps() {
        let together = cycle(Stepping::Together);
        assert_eq!((together.holds(), together.schedule().slices()), (&[2, 2, 2][..], 2));
        assert_eq!(together.shortest(1), Some(US * 9));
        assert_eq!(together.hold(3, 1), Hold { number: 1, open: at(30_500), close: at(39_500) });
        let staggered = cycle(Stepping::Staggered);
        assert_eq!((staggered.holds(), staggered.schedule().slices()), (&[2, 2, 2][..], 6));
        // Switch 1 changes at the slices 1, 4, 7, ..., and holds for three.
        assert!(staggered.is_changing(7, 1) && !staggered.is_changing(8, 1));
        assert_eq!(staggered.hold(9, 1), staggered.hold(7, 1));
        assert_eq!(staggered.hold(9, 1), Hold { number: 0, open: at(70_500), close: at(99_500) });
        assert_eq!(staggered.slice_at(at(69_499)), 6);
        assert_eq!(staggered.slice_at(at(69_500)), 7);
    }

    #[test]
    fn light_that_meets_a_dark_switch_is_lost() {
        let cycle = cycle(Stepping::Together);
        // By the switches' time, slice 3 is dark until 31 us and ends at 40 us.
        let there = cycle.destination(3, 2, 1);
        assert!(there.is_some());
        assert_eq!(cycle.lit(at(31_000), at(32_000), 2, 1), there);
        assert_eq!(cycle.lit(at(30_999), at(32_000), 2, 1), None);
        assert_eq!(cycle.lit(at(39_000), at(40_000), 2, 1), there);
        assert_eq!(cycle.lit(at(39_000), at(40_001), 2, 1), None);
    }
}
