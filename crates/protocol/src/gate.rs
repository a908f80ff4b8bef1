//! A gate executes the grants of one queue.
//!
//! It decides by time alone and sends nothing: the host's agent opens the queue as the gate says.

use crate::agent::Opening;
use std::collections::VecDeque;
use timeplane_model::{Grant, Time, Trigger};

/// The grants of one queue (destination and class), in the order of time.
///
/// Grants start and end by the host's clock, at their leases at the latest. Times are half-open:
/// the start is inside, the end outside. Grants by signal are not kept here, as frames open and
/// close them.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// In the order of starts, without overlaps. The first one may have started.
    grants: VecDeque<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    start: Time,
    end: Time,
    grant: Grant,
    begun: bool,
}

/// Reasons to refuse a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Its start is in the past.
    #[error("it began at {start:?}, it is {now:?}")]
    Late {
        /// The granted start.
        start: Time,
        /// When the grant arrived.
        now: Time,
    },
    /// It starts by a signal, or never.
    #[error("it begins at no time")]
    NoTime,
    /// It ends before it starts.
    #[error("it is open for no time")]
    Empty,
    /// It overlaps another grant of the queue.
    #[error("it overlaps another grant of its queue")]
    Overlap,
}

impl Gate {
    /// A closed gate without grants.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts a grant that has yet to start.
    ///
    /// # Errors
    ///
    /// If the grant is late, empty, without a time, or overlaps an accepted one.
    pub fn accept(&mut self, now: Time, grant: Grant) -> Result<(), Refused> {
        let Trigger::At(start) = grant.start else { return Err(Refused::NoTime) };
        let end = match grant.end {
            Trigger::At(end) => end.min(grant.lease),
            Trigger::Signal(_) | Trigger::Never => grant.lease,
        };
        if start < now {
            return Err(Refused::Late { start, now });
        }
        if end <= start {
            return Err(Refused::Empty);
        }
        let at = self.grants.partition_point(|w| w.start < start);
        let before = at.checked_sub(1).is_some_and(|i| self.grants[i].end > start);
        if before || self.grants.get(at).is_some_and(|w| w.start < end) {
            return Err(Refused::Overlap);
        }
        self.grants.insert(at, Window { start, end, grant, begun: false });
        Ok(())
    }

    /// The grant by which the queue may send at `at`. Grants that are over may be missing.
    pub fn open_at(&self, at: Time) -> Option<&Grant> {
        self.grants.iter().find(|w| w.start <= at && at < w.end).map(|w| &w.grant)
    }

    /// When the gate opens or closes next after `now`.
    pub fn next_change(&self, now: Time) -> Option<Time> {
        self.grants.iter().flat_map(|w| [w.start, w.end]).find(|&t| t > now)
    }

    /// When [`advance`](Self::advance) is due next: the start of the first grant that has not
    /// started.
    pub fn due(&self) -> Option<Time> {
        self.grants.iter().find(|w| !w.begun).map(|w| w.start)
    }

    /// Starts the grant whose time is `now` and drops grants that are over. Also returns how many
    /// of these never started because the call came too late. A grant that starts late still ends
    /// as granted.
    pub fn advance(&mut self, now: Time) -> (Option<Opening>, u32) {
        let mut missed = 0;
        while let Some(first) = self.grants.front().filter(|w| w.end <= now) {
            missed += u32::from(!first.begun);
            self.grants.pop_front();
        }
        let opening = match self.grants.front_mut() {
            Some(first) if first.start <= now && !first.begun => {
                first.begun = true;
                Some(Opening::of(&first.grant, now, first.end))
            }
            _ => None,
        };
        (opening, missed)
    }

    /// Drops all grants that have not started and returns their number.
    pub fn withdraw(&mut self) -> u32 {
        let before = self.grants.len();
        self.grants.retain(|w| w.begun);
        (before - self.grants.len()) as u32
    }

    /// Whether no grant is left, started or not.
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use timeplane_model::{Class, HostId, Medium};

    fn grant(start: i64, end: i64, lease: i64) -> Grant {
        Grant {
            destination: HostId(1),
            class: Class(0),
            medium: Medium::Fabric,
            rate: None,
            bytes: None,
            packets: None,
            start: Trigger::At(Time::from_ps(start)),
            end: Trigger::At(Time::from_ps(end)),
            lease: Time::from_ps(lease),
        }
    }
    fn t(ps: i64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn a_grant_opens_once_and_ends_with_its_lease() {
        let mut gate = Gate::new();
        gate.accept(t(0), grant(10, 30, 20)).unwrap();
        gate.accept(t(0), Grant { end: Trigger::Never, ..grant(40, 0, 50) }).unwrap();
        assert_eq!((gate.due(), gate.next_change(t(10))), (Some(t(10)), Some(t(20))));
        assert!(gate.open_at(t(9)).is_none() && gate.open_at(t(19)).is_some() && gate.open_at(t(20)).is_none());
        assert!(gate.open_at(t(49)).is_some() && gate.open_at(t(50)).is_none());
        assert_eq!(gate.advance(t(9)), (None, 0));
        let opening = gate.advance(t(10)).0.unwrap();
        assert_eq!((opening.from, opening.until), (t(10), t(20)));
        assert_eq!(gate.advance(t(11)), (None, 0));
        // Called late, the gate opens for the rest. Called too late, it misses the grant.
        let late = gate.advance(t(45)).0.unwrap();
        assert_eq!((late.from, late.until), (t(45), t(50)));
        gate.accept(t(45), grant(60, 70, 70)).unwrap();
        assert_eq!(gate.advance(t(70)), (None, 1));
        assert!(gate.is_empty());
    }

    #[test]
    fn a_grant_is_taken_whole_or_not_at_all() {
        let mut gate = Gate::new();
        assert_eq!(gate.accept(t(11), grant(10, 30, 30)), Err(Refused::Late { start: t(10), now: t(11) }));
        assert_eq!(gate.accept(t(0), grant(10, 30, 10)), Err(Refused::Empty));
        assert_eq!(gate.accept(t(0), Grant { start: Trigger::Signal(1), ..grant(0, 9, 9) }), Err(Refused::NoTime));
        gate.accept(t(0), grant(10, 30, 30)).unwrap();
        for (start, end) in [(0, 11), (29, 40), (15, 16), (0, 50)] {
            assert_eq!(gate.accept(t(0), grant(start, end, end)), Err(Refused::Overlap));
        }
        gate.accept(t(0), grant(30, 40, 40)).unwrap();
        gate.accept(t(0), grant(0, 10, 10)).unwrap();
        assert!(gate.advance(t(0)).0.is_some());
        assert_eq!(gate.withdraw(), 2);
        assert!(gate.open_at(t(9)).is_some() && gate.open_at(t(10)).is_none());
    }

    proptest! {
        #[test]
        fn openings_are_grants_in_order_and_never_overlap(
            grants in proptest::collection::vec((0i64..1000, 0i64..100, 0i64..1000), 0..40),
            calls in proptest::collection::vec(1i64..100, 0..40),
        ) {
            let mut gate = Gate::new();
            let accepted = grants.iter().filter(|(s, l, lease)| gate.accept(t(0), grant(*s, s + l, *lease)).is_ok());
            let leases: Vec<(i64, i64)> = accepted.map(|&(s, l, lease)| (s, lease.min(s + l))).collect();
            let (mut now, mut openings, mut missed) = (0, Vec::new(), 0);
            for step in calls.into_iter().chain([2000]) {
                // The call comes at the deadline, or a step late.
                now = gate.due().filter(|_| step % 2 == 0).map_or(now + step, |d| d.as_ps().max(now));
                let (opening, m) = gate.advance(t(now));
                openings.extend(opening.map(|o| (o.from.as_ps(), o.until.as_ps())));
                missed += m as usize;
            }
            prop_assert!(openings.windows(2).all(|w| w[0].1 <= w[1].0));
            prop_assert!(openings.iter().all(|o| leases.iter().any(|l| l.0 <= o.0 && o.0 < o.1 && o.1 == l.1)));
            prop_assert!(openings.len() + missed <= leases.len());
        }
    }
}
