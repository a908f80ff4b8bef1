//! What the reports of hosts say about the controllers that they hear.
//!
//! Two controllers without contact to each other agree by the majority of the hosts: each host
//! obeys one controller at a time and tells all of them which.

use std::collections::BTreeMap;
use timeplane_model::{HostId, Time};

/// A round of a controller, as hosts tell it: the epoch, and the round by
/// [`short_round`](crate::message::short_round).
pub(crate) type Told = (u32, u8);

/// Whether a round is newer. Rounds start again after 255, so of two rounds of one epoch, that is
/// newer which is at most 127 ahead.
fn newer(told: Told, base: Told) -> bool {
    let ahead = (i16::from(told.1) - i16::from(base.1)).rem_euclid(255);
    // Zero is no round.
    told.0 > base.0 || told.0 == base.0 && told.1 != 0 && (base.1 == 0 || (1..=127).contains(&ahead))
}

/// A host that obeys a controller.
#[derive(Clone, Copy, Debug)]
struct Witness {
    /// The newest round that it told.
    told: Told,
    /// The newest round that proves nothing.
    base: Told,
    /// When its newest report came.
    at: Time,
    /// Whether that report was of an empty backlog.
    idle: bool,
}

/// Hosts that were heard since this controller's start, with what they have told of controllers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witnesses(BTreeMap<HostId, Witness>);

/// How many hosts were heard lately, of how many that have ever been heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub lately: u32,
    pub ever: u32,
}

impl Heard {
    /// Whether these are more than half. With no host ever heard there is nobody to ask.
    pub fn is_majority(self) -> bool {
        self.ever == 0 || self.lately * 2 > self.ever
    }

    /// Whether these are fewer than half, so that another controller may have more than half.
    pub fn is_minority(self) -> bool {
        self.lately * 2 < self.ever
    }
}

impl Witnesses {
    /// Takes a host's report, which may be of an empty backlog. A host that knows no controller
    /// says only that it can be heard.
    pub fn hear(&mut self, now: Time, host: HostId, told: Told, idle: bool) {
        let witness = self.0.entry(host).or_insert(Witness { told, base: told, at: now, idle });
        (witness.at, witness.idle) = (now, idle);
        if newer(told, witness.told) {
            witness.told = told;
        }
    }

    /// A controller was heard itself: only rounds after this one prove that it led later.
    pub fn heard_leader(&mut self, round: Told) {
        self.0.values_mut().for_each(|w| w.base = round);
    }

    /// From now on only rounds prove something that no host has told yet.
    pub fn renew(&mut self) {
        self.0.values_mut().for_each(|w| w.base = w.told);
    }

    /// Whether most of the hosts that were heard since `since` know a newer round than at the last
    /// renewal. A controller then plans and is obeyed, though this one may not hear it.
    pub fn see_a_leader(&self, since: Time) -> bool {
        let lately = self.0.values().filter(|w| w.at >= since);
        let (see, of) = lately.fold((0, 0), |(see, of), w| (see + u32::from(newer(w.told, w.base)), of + 1));
        see * 2 > of
    }

    /// Whether all hosts that were heard since `since` have reported empty backlogs. A controller
    /// then asks them seldom.
    pub fn are_idle(&self, since: Time) -> bool {
        self.0.values().filter(|w| w.at >= since).all(|w| w.idle)
    }

    /// How many hosts were heard since `since`.
    pub fn heard(&self, since: Time) -> Heard {
        let lately = self.0.values().filter(|w| w.at >= since).count() as u32;
        Heard { lately, ever: self.0.len() as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::short_round;
    use proptest::prelude::*;
    use timeplane_model::{Duration, Round};

    const US: Duration = Duration::from_us(1);

    proptest! {
        /// Rounds are in order as long as they are close, whatever their numbers.
        #[test]
        fn close_rounds_have_an_order(round in any::<u64>().prop_map(|r| r >> 1), ahead in 1u64..=127) {
            let (a, b) = ((7, short_round(Round(round))), (7, short_round(Round(round + ahead))));
            prop_assert!(newer(b, a) && !newer(a, b) && !newer(a, a));
            // A newer controller has a newer round, whichever it is.
            prop_assert!(newer((8, a.1), b) && !newer(b, (8, a.1)));
            prop_assert!(newer(a, (7, 0)) && !newer((7, 0), a));
        }
    }

    #[test]
    fn most_of_those_that_speak_decide() {
        let (mut all, now) = (Witnesses::default(), Time::ZERO + US * 100);
        assert!(!all.see_a_leader(Time::ZERO) && all.heard(now).is_majority());
        (0..4).for_each(|h| all.hear(now, HostId(h), (3, 9), false));
        assert!(!all.see_a_leader(now), "a first report proves nothing");
        (0..2).for_each(|h| all.hear(now, HostId(h), (3, 10), false));
        assert!(!all.see_a_leader(now), "half is not most");
        all.hear(now, HostId(2), (3, 10), false);
        assert!(all.see_a_leader(now));
        all.renew();
        assert!(!all.see_a_leader(now));
        all.heard_leader((3, 12));
        (0..4).for_each(|h| all.hear(now, HostId(h), (3, 12), false));
        assert!(!all.see_a_leader(now), "it may have failed since");
        // Only those that still speak count.
        let later = now + US * 50;
        all.hear(later, HostId(3), (3, 13), false);
        assert!(all.see_a_leader(later) && !all.see_a_leader(now));
        assert_eq!(all.heard(later - US * 49), Heard { lately: 1, ever: 4 });
        assert!(all.heard(later - US * 49).is_minority());
        all.hear(later, HostId(2), (3, 13), false);
        let half = all.heard(later - US * 49);
        assert!(!half.is_minority() && !half.is_majority());
        assert!(all.heard(later - US * 50).is_majority());
        assert!(!all.are_idle(later));
        all.hear(later, HostId(2), (3, 13), true);
        assert!(!all.are_idle(later), "one has data");
        all.hear(later, HostId(3), (3, 13), true);
        assert!(all.are_idle(later) && !all.are_idle(now), "the others were not heard lately");
        // A host that knows no controller can be heard, and proves nothing.
        all.hear(later, HostId(9), (0, 0), false);
        assert_eq!(all.heard(later), Heard { lately: 3, ever: 5 });
        assert!(all.see_a_leader(later), "two of three");
    }
}
