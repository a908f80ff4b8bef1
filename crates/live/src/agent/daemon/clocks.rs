//! The differences between the clocks of this machine and of the controllers, as messages over the
//! demand channel show them.
//!
//! The gate compares signals with each other. That alone does not show a delay that all signals
//! have. An answer over the demand channel bounds it: a signal that takes longer than the answer
//! did, by more than the limit, is late. So no signal is obeyed later than the round trip and the
//! limit. Standbys are asked as well, so that the difference is known when one leads.

use super::LiveAgent;
use crate::channel::Record;
use crate::clock;
use crate::lateness::{DRIFT_SHIFT, Fastest};
use crate::notes::{Asked, Note, Told};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;
use timeplane_model::{Duration, Time};

/// How often controllers are asked.
const EVERY: Duration = Duration::from_secs(1);
/// Answers of a controller until questions are that rare. Before, each answer is followed by the
/// next question.
const FIRST: u32 = 4;

/// The same for plans that send by the clock.
const OFTEN: Duration = Duration::from_ms(250);
/// The answers of which the best one tells the offset.
const TRIPS: usize = 16;

/// The difference between the clocks of this machine and of a controller, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    /// How far this machine's clock is ahead.
    pub(super) ahead: i64,
    /// How wrong that may be, in either direction.
    pub(super) error: u64,
}

/// What is known of one controller's clock.
#[derive(Debug, Default)]
struct Known {
    fastest: Fastest,
    /// The last answers, with the times of their arrival. The controller's clock was read between
    /// the question and the answer, and is taken to be read halfway.
    trips: VecDeque<(u64, Offset)>,
    answers: u32,
    /// When the next question is due.
    due: Time,
}

/// What is known of the controllers' clocks.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// By the controller's place in the configuration.
    known: BTreeMap<usize, Known>,
    /// The epoch that rules, and whose it is.
    ruling: Option<(u32, usize)>,
}

impl Clocks {
    /// Forgets a controller that has connected: it may have been started on another machine.
    pub(super) fn forget(&mut self, controller: usize) {
        self.known.insert(controller, Known::default());
    }

    /// Takes the epoch in which a controller plans. Returns whether it is news.
    fn rules(&mut self, controller: usize, epoch: u32) -> bool {
        let news = self.ruling.is_none_or(|ruling| epoch > ruling.0);
        if news {
            self.ruling = Some((epoch, controller));
        }
        news
    }

    /// Whether a controller is to be asked now, and otherwise after `every`.
    fn asks(&mut self, controller: usize, now: Time, every: Duration) -> bool {
        let Some(known) = self.known.get_mut(&controller).filter(|known| known.due <= now) else { return false };
        known.due = now.saturating_add(every);
        true
    }

    /// Takes an answer of a controller at `now`.
    fn told(&mut self, controller: usize, now: u64, told: Told) {
        if let Some(epoch) = told.epoch {
            self.rules(controller, epoch);
        }
        let known = self.known.entry(controller).or_default();
        known.fastest.take(now, told.told);
        let trip = now.saturating_sub(told.asked);
        let halfway = told.asked.wrapping_add(trip / 2);
        let offset = Offset { ahead: halfway.wrapping_sub(told.told) as i64, error: trip.div_ceil(2) };
        known.trips.truncate(TRIPS - 1);
        known.trips.push_front((now, offset));
        known.answers += 1;
        if known.answers < FIRST {
            known.due = Time::ZERO;
        }
    }

    /// The offset of a controller's clock at `now`. Clocks drift apart with the age of an answer.
    fn offset_at(&self, controller: usize, now: u64) -> Option<Offset> {
        let trips = self.known.get(&controller)?.trips.iter();
        let aged = trips.map(|(at, offset)| {
            let drift = now.saturating_sub(*at) >> DRIFT_SHIFT;
            Offset { error: offset.error.saturating_add(drift), ..*offset }
        });
        aged.min_by_key(|offset| offset.error)
    }

    /// The offset of a controller's clock; `None` before its first answer.
    pub(super) fn offset(&self, controller: usize) -> Option<Offset> {
        self.offset_at(controller, clock::monotonic_ns())
    }

    /// The ruling epoch, and the least difference to its controller's clock.
    fn difference(&self) -> Option<(u32, i64)> {
        let (epoch, controller) = self.ruling?;
        Some((epoch, self.known.get(&controller)?.fastest.least()?))
    }
}

impl LiveAgent {
    /// Asks controllers for their clocks, if it is time.
    pub(super) fn ask_clocks(&mut self) {
        let every = match (self.has_timeslots(), self.config.gate.late_after) {
            (true, _) => OFTEN,
            (false, Some(_)) => EVERY,
            (false, None) => return,
        };
        let now = clock::now();
        for (place, controller) in self.controllers.iter().enumerate() {
            if !self.clocks.asks(place, now, every) {
                continue;
            }
            let Ok(note) = serde_json::to_value(Note::Ask(Asked { asked: clock::monotonic_ns() })) else { return };
            // A controller that has left is asked when it is back.
            let _ = controller.send(Record::Note(note));
        }
    }

    /// Handles a controller's answer.
    pub(super) fn told_clock(&mut self, controller: usize, told: Told) {
        let now = clock::monotonic_ns();
        self.clocks.told(controller, now, told);
        if self.clocks.ruling.is_some_and(|ruling| ruling.1 == controller) {
            self.counters.round_trip_ns.store(now.saturating_sub(told.asked), Relaxed);
            self.tell_gate();
        }
    }

    /// Handles the epoch in which a controller plans.
    pub(super) fn plans_in(&mut self, controller: usize, epoch: u32) {
        if epoch > self.ruling {
            self.ruling = epoch;
            // Before the report that this host obeys it: the new controller counts on that.
            if let Err(e) = self.gate.obey_from(epoch) {
                self.troubles.say(clock::now(), |more| tracing::warn!("{e}{more}"));
            }
        }
        if self.clocks.rules(controller, epoch) {
            self.tell_gate();
        }
    }

    fn tell_gate(&mut self) {
        let Some((epoch, difference)) = self.clocks.difference() else { return };
        if let Err(e) = self.gate.measured(epoch, difference) {
            self.troubles.say(clock::now(), |more| tracing::warn!("{e}{more}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_the_controller_that_rules_counts_and_a_standby_is_known_before_it_leads() {
        let mut clocks = Clocks::default();
        let told = |told| Told { asked: 0, told, epoch: None };
        (0..2).for_each(|controller| clocks.forget(controller));
        clocks.told(0, 1000, told(900));
        clocks.told(1, 1000, told(100));
        assert_eq!(clocks.difference(), None, "nobody has planned");
        assert!(clocks.rules(0, 5) && !clocks.rules(0, 5) && !clocks.rules(1, 4));
        assert_eq!(clocks.difference(), Some((5, 100)));
        clocks.told(0, 2000, told(1950));
        clocks.told(1, 2000, told(1200));
        assert_eq!(clocks.difference(), Some((5, 50)));
        assert!(clocks.rules(1, 6));
        assert_eq!(clocks.difference(), Some((6, 800)));
        clocks.told(0, 3000, Told { epoch: Some(5), ..told(2990) });
        assert_eq!(clocks.difference(), Some((6, 800)));
        // It is started again, on a machine that was, too.
        clocks.forget(1);
        assert_eq!(clocks.difference(), None);
        clocks.told(1, 4000, Told { epoch: Some(7), ..told(3) });
        assert_eq!(clocks.difference(), Some((7, 3997)));
    }

    #[test]
    fn the_first_questions_follow_each_other() {
        let mut clocks = Clocks::default();
        let (now, answer) = (Time::from_ps(1), Told { asked: 0, told: 0, epoch: None });
        assert!(!clocks.asks(0, now, EVERY), "it has not connected");
        clocks.forget(0);
        for _ in 0..FIRST {
            assert!(clocks.asks(0, now, EVERY) && !clocks.asks(0, now, EVERY));
            clocks.told(0, 0, answer);
        }
        assert!(!clocks.asks(0, now, EVERY) && clocks.asks(0, now.saturating_add(EVERY), EVERY));
    }

    #[test]
    fn the_answer_that_came_back_soonest_tells_the_offset_until_it_is_old() {
        let mut clocks = Clocks::default();
        let ms = 1_000_000;
        // The clock here is 5 ms ahead. The way back takes longer than the way there.
        let mut answer = |asked, there, back| {
            let told = Told { asked, told: asked + there - 5 * ms, epoch: None };
            clocks.told(0, asked + there + back, told);
            clocks.offset_at(0, asked + there + back).unwrap()
        };
        let first = answer(100 * ms, ms, 3 * ms);
        assert_eq!(first, Offset { ahead: 6 * ms as i64, error: 2 * ms });
        let second = answer(200 * ms, ms / 10, ms / 10);
        assert_eq!(second, Offset { ahead: 5 * ms as i64, error: ms / 10 });
        // A slower one later changes nothing but the age.
        let third = answer(300 * ms, 2 * ms, ms);
        assert_eq!(third, Offset { error: ms / 10 + (102_800_000 >> DRIFT_SHIFT), ..second });
        let far = (0..TRIPS as u64).map(|i| answer((400 + i * 10) * ms, ms, ms)).last().unwrap();
        assert_eq!((far.ahead, far.error), (5 * ms as i64, ms), "the fast one is forgotten");
        for answer in [first, second, third, far] {
            assert!(answer.ahead.abs_diff(5 * ms as i64) <= answer.error);
        }
    }
}
