//! The gates of a host execute the grants of its queues.
//!
//! They decide by time alone and send nothing: the host's agent opens a queue as its gate says.

use crate::agent::Opening;
use std::collections::VecDeque;
use timeplane_model::{Class, Grant, HostId, Time, Trigger};

/// The grants of a host's queues (destination and class).
///
/// Grants start and end by the host's clock, at their leases at the latest. Times are half-open:
/// the start is inside, the end outside. Grants of one queue never overlap. Grants by signal are
/// not kept here, as frames open and close them.
#[derive(Clone, Debug)]
pub struct Gates {
    /// Grants that have not started, in the order of starts and queues.
    ahead: VecDeque<Opening>,
    /// Queues of grants that have started, with their times, until they are found to be over.
    begun: Vec<(Queue, Time, Time)>,
    /// No accepted grant lasts longer.
    busy_until: Time,
}

type Queue = (HostId, Class);

fn queue(opening: &Opening) -> Queue {
    (opening.destination, opening.class)
}

impl Default for Gates {
    fn default() -> Self {
        Self { ahead: VecDeque::new(), begun: Vec::new(), busy_until: Time::from_ps(i64::MIN) }
    }
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

impl Gates {
    /// Closed gates without grants.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts a grant that has yet to start.
    ///
    /// # Errors
    ///
    /// If the grant is late, empty, without a time, or overlaps an accepted one of its queue.
    pub fn accept(&mut self, now: Time, grant: &Grant) -> Result<(), Refused> {
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
        let opening = Opening::of(grant, start, end);
        // A host has one link, so most of its grants follow one another.
        if start >= self.busy_until {
            self.busy_until = end;
            self.ahead.push_back(opening);
            return Ok(());
        }
        let id = queue(&opening);
        let of_queue = self.ahead.iter().filter(|w| queue(w) == id).map(|w| (w.from, w.until));
        let mut others = of_queue.chain(self.begun.iter().filter(|w| w.0 == id).map(|w| (w.1, w.2)));
        if others.any(|(from, until)| from < end && start < until) {
            return Err(Refused::Overlap);
        }
        self.busy_until = self.busy_until.max(end);
        let at = self.ahead.partition_point(|w| (w.from, queue(w)) < (start, id));
        self.ahead.insert(at, opening);
        Ok(())
    }

    /// When [`advance`](Self::advance) is due next: the start of the first grant that has not
    /// started.
    pub fn due(&self) -> Option<Time> {
        self.ahead.front().map(|w| w.from)
    }

    /// Starts the next grant whose time has come and returns its opening. A grant that starts late
    /// still ends as granted; one that is over already is dropped and counted in `missed`.
    pub fn advance(&mut self, now: Time, missed: &mut u64) -> Option<Opening> {
        while let Some(next) = self.ahead.front().filter(|w| w.from <= now) {
            let next = *next;
            self.ahead.pop_front();
            if next.until <= now {
                *missed += 1;
                continue;
            }
            self.begun.retain(|w| w.2 > now);
            self.begun.push((queue(&next), next.from, next.until));
            return Some(Opening { from: now, ..next });
        }
        None
    }

    /// Whether no grant waits for its start.
    pub fn is_idle(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Whether a queue has a grant that has not started.
    pub fn is_granted(&self, destination: HostId, class: Class) -> bool {
        self.ahead.iter().any(|w| queue(w) == (destination, class))
    }

    /// Drops all grants that have not started and returns their number.
    pub fn withdraw(&mut self) -> u64 {
        let dropped = self.ahead.len() as u64;
        self.ahead.clear();
        dropped
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

    fn of(destination: u32, grant: Grant) -> Grant {
        Grant { destination: HostId(destination), ..grant }
    }
    /// Destination, start and end of each opening, and how many were missed.
    fn advance(gates: &mut Gates, now: i64) -> (Vec<(u32, i64, i64)>, u64) {
        let mut missed = 0;
        let opening = |o: Opening| (o.destination.0, o.from.as_ps(), o.until.as_ps());
        (std::iter::from_fn(|| gates.advance(t(now), &mut missed)).map(opening).collect(), missed)
    }

    #[test]
    fn a_grant_opens_once_and_ends_with_its_lease() {
        let mut gates = Gates::new();
        gates.accept(t(0), &grant(10, 30, 20)).unwrap();
        gates.accept(t(0), &Grant { end: Trigger::Never, ..grant(40, 0, 50) }).unwrap();
        assert_eq!(gates.due(), Some(t(10)));
        assert_eq!(advance(&mut gates, 9), (vec![], 0));
        assert_eq!(advance(&mut gates, 10), (vec![(1, 10, 20)], 0));
        assert_eq!(advance(&mut gates, 11), (vec![], 0));
        // Called late, the gate opens for the rest. Called too late, it misses the grant.
        assert_eq!(gates.due(), Some(t(40)));
        assert_eq!(advance(&mut gates, 45), (vec![(1, 45, 50)], 0));
        gates.accept(t(45), &grant(60, 70, 70)).unwrap();
        assert_eq!(advance(&mut gates, 70), (vec![], 1));
        assert_eq!(gates.due(), None);
    }

    #[test]
    fn a_grant_is_taken_whole_or_not_at_all() {
        let mut gates = Gates::new();
        assert_eq!(gates.accept(t(11), &grant(10, 30, 30)), Err(Refused::Late { start: t(10), now: t(11) }));
        assert_eq!(gates.accept(t(0), &grant(10, 30, 10)), Err(Refused::Empty));
        assert_eq!(gates.accept(t(0), &Grant { start: Trigger::Signal(1), ..grant(0, 9, 9) }), Err(Refused::NoTime));
        gates.accept(t(0), &grant(10, 30, 30)).unwrap();
        for (other, (start, end)) in (2..).zip([(0, 11), (29, 40), (15, 16), (0, 50)]) {
            assert_eq!(gates.accept(t(0), &grant(start, end, end)), Err(Refused::Overlap));
            gates.accept(t(0), &of(other, grant(start, end, end))).unwrap();
        }
        gates.accept(t(0), &grant(30, 40, 40)).unwrap();
        gates.accept(t(0), &grant(0, 10, 10)).unwrap();
        assert_eq!(advance(&mut gates, 0).0, [(1, 0, 10), (2, 0, 11), (5, 0, 50)]);
        assert_eq!(gates.accept(t(1), &grant(5, 9, 9)), Err(Refused::Overlap), "with one that has begun");
        assert!(gates.is_granted(HostId(1), Class(0)) && !gates.is_granted(HostId(2), Class(0)));
        assert_eq!(gates.withdraw(), 4);
        assert_eq!(gates.accept(t(1), &grant(5, 9, 9)), Err(Refused::Overlap), "it goes on");
        gates.accept(t(1), &grant(10, 20, 20)).unwrap();
    }

    proptest! {
        #[test]
        fn openings_are_grants_in_order_and_never_overlap_in_a_queue(
            grants in proptest::collection::vec((0u32..3, 0i64..1000, 0i64..100, 0i64..1000), 0..60),
            calls in proptest::collection::vec(1i64..100, 0..40),
        ) {
            let mut gates = Gates::new();
            let mut leases: Vec<(u32, i64, i64)> = vec![];
            for (d, s, l, lease) in grants {
                let (end, taken) = (lease.min(s + l), gates.accept(t(0), &of(d, grant(s, s + l, lease))));
                let overlaps = leases.iter().any(|o| o.0 == d && o.1 < end && s < o.2);
                let expected = if end <= s { Err(Refused::Empty) } else if overlaps { Err(Refused::Overlap) } else { Ok(()) };
                prop_assert_eq!(taken, expected);
                if taken.is_ok() {
                    leases.push((d, s, end));
                }
            }
            let (mut now, mut openings, mut missed) = (0, Vec::new(), 0);
            for step in calls.into_iter().chain([2001]) {
                // The call comes at the deadline, or a step late.
                now = gates.due().filter(|_| step % 2 == 0).map_or(now + step, |d| d.as_ps().max(now));
                let (opened, m) = advance(&mut gates, now);
                openings.extend(opened);
                missed += m;
            }
            for d in 0..3 {
                let of: Vec<_> = openings.iter().filter(|o| o.0 == d).collect();
                prop_assert!(of.windows(2).all(|w| w[0].2 <= w[1].1));
            }
            let granted = |o: &(u32, i64, i64)| leases.iter().any(|l| l.0 == o.0 && l.1 <= o.1 && o.1 < o.2 && o.2 == l.2);
            prop_assert!(openings.iter().all(granted));
            prop_assert_eq!(openings.len() as u64 + missed, leases.len() as u64, "each opens or is missed");
        }
    }
}
