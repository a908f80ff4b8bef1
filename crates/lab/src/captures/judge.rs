//! Which captured frames were sent in foreign slots.
//!
//! The rule is the observer's, written again for stamps: a frame is foreign if its class is not
//! open at its host, and a slot has opened at any host since the class closed.

use super::{Frame, Seen};
use std::collections::BTreeMap;
use std::time::Duration;

/// A frame in a foreign slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// When it entered the switch.
    pub at: u64,
    /// The host that sent it.
    pub host: u16,
    /// Class in the header of the frame.
    pub class: u16,
    /// Time from the closing of its class to the frame, in nanoseconds; `None` if the class was
    /// never open.
    pub after: Option<u64>,
}

/// The longest time from the closing of a class to one of these frames; over five hundred years if
/// the class was never open.
pub fn latest(foreign: &[Foreign]) -> Duration {
    Duration::from_nanos(foreign.iter().map(|f| f.after.unwrap_or(u64::MAX)).max().unwrap_or(0))
}

#[derive(Clone, Debug, Default)]
struct Host {
    newest: (u32, u64),
    /// The open class, and until when it is open.
    open: Option<(u16, u64)>,
    /// When each class that was open has closed.
    closed: BTreeMap<u16, u64>,
}

impl Host {
    fn expire(&mut self, now: u64) {
        if let Some((class, until)) = self.open.filter(|(_, until)| *until <= now) {
            self.closed.insert(class, until);
            self.open = None;
        }
    }
}

/// Follows signals, and judges frames by them. It takes frames in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    hosts: BTreeMap<u16, Host>,
    /// When a slot last opened at any host.
    opened: u64,
    /// Number of frames in their own slots, and after them before the next one.
    correct: u64,
    reactions: u64,
}

impl Judge {
    /// Takes the next frame; returns it if it was sent in a foreign slot.
    pub fn take(&mut self, seen: Seen) -> Option<Foreign> {
        let now = seen.at;
        match seen.frame {
            Frame::Signal { host, number, open, hold } => {
                let host = self.hosts.entry(host).or_default();
                // An older one, or one of a replaced controller.
                if number <= host.newest {
                    return None;
                }
                host.newest = number;
                host.expire(now);
                let before = host.open.take();
                if let Some((class, _)) = before.filter(|(class, _)| Some(*class) != open) {
                    host.closed.insert(class, now);
                }
                if let Some(class) = open {
                    host.open = Some((class, now + hold));
                    if before.is_none_or(|(before, _)| before != class) {
                        self.opened = now;
                    }
                }
                None
            }
            Frame::Data { host: number, class } => {
                let host = self.hosts.entry(number).or_default();
                host.expire(now);
                if host.open.is_some_and(|(open, _)| open == class) {
                    self.correct += 1;
                    return None;
                }
                let closed = host.closed.get(&class).copied();
                if closed.is_some_and(|closed| self.opened <= closed) {
                    self.reactions += 1;
                    return None;
                }
                Some(Foreign { at: now, host: number, class, after: closed.map(|closed| now.saturating_sub(closed)) })
            }
        }
    }

    /// Number of frames in their own slots, and of frames in the guard after them.
    pub fn judged(&self) -> (u64, u64) {
        (self.correct, self.reactions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(at: u64, host: u16, number: u64, open: Option<u16>) -> Seen {
        Seen { at, frame: Frame::Signal { host, number: (1, number), open, hold: 100 } }
    }

    fn data(at: u64, host: u16, class: u16) -> Seen {
        Seen { at, frame: Frame::Data { host, class } }
    }

    fn foreign(frames: &[Seen]) -> Vec<(u64, u16, Option<u64>)> {
        let mut judge = Judge::default();
        frames.iter().filter_map(|f| judge.take(*f)).map(|f| (f.at, f.host, f.after)).collect()
    }

    #[test]
    fn frames_in_their_slots_and_in_the_guard_are_not_foreign() {
        let frames = [signal(10, 0, 1, Some(1)), data(20, 0, 1), signal(50, 0, 2, None), data(55, 0, 1)];
        assert_eq!(foreign(&frames), []);
        let mut judge = Judge::default();
        assert!(frames.iter().all(|f| judge.take(*f).is_none()));
        assert_eq!(judge.judged(), (1, 1));
    }

    #[test]
    fn frames_after_the_next_slot_has_opened_are_foreign() {
        let first = [signal(10, 0, 1, Some(1)), signal(50, 0, 2, None), signal(60, 1, 3, Some(7))];
        assert_eq!(foreign(&[&first[..], &[data(70, 1, 7), data(71, 0, 1)]].concat()), [(71, 0, Some(21))]);
        // A class that was never open, and a host that has never had a slot.
        assert_eq!(foreign(&[&first[..], &[data(70, 1, 6), data(71, 2, 1)]].concat()), [(70, 1, None), (71, 2, None)]);
    }

    #[test]
    fn a_hold_closes_a_class_and_the_same_signal_again_lasts_longer() {
        let hold = [signal(10, 0, 1, Some(1)), signal(60, 0, 2, Some(1)), data(159, 0, 1), data(161, 0, 1)];
        assert_eq!(foreign(&hold), []);
        let after = [signal(10, 0, 1, Some(1)), signal(112, 1, 2, Some(1)), data(113, 0, 1)];
        assert_eq!(foreign(&after), [(113, 0, Some(3))]);
    }

    #[test]
    fn repeated_and_replaced_signals_change_nothing() {
        let again = [signal(10, 0, 5, Some(1)), signal(50, 0, 6, None), signal(60, 1, 7, Some(1))];
        let frames = [&again[..], &[signal(61, 0, 5, Some(1)), data(62, 0, 1)]].concat();
        assert_eq!(foreign(&frames), [(62, 0, Some(12))]);
        let older = Seen { at: 61, frame: Frame::Signal { host: 0, number: (0, 99), open: Some(1), hold: 100 } };
        assert_eq!(foreign(&[&again[..], &[older, data(62, 0, 1)]].concat()), [(62, 0, Some(12))]);
    }

    /// Slots of two hosts begin at the same time; their signals leave one after the other.
    #[test]
    fn the_first_signal_of_a_slot_ends_the_guard_for_all() {
        let frames =
            [signal(10, 0, 1, Some(1)), signal(11, 1, 2, Some(1)), signal(50, 0, 3, None), signal(51, 1, 4, None)];
        let next = [signal(60, 0, 5, Some(2)), data(61, 1, 1), signal(62, 1, 6, Some(2)), data(63, 1, 2)];
        assert_eq!(foreign(&[&frames[..], &next].concat()), [(61, 1, Some(10))]);
    }
}
