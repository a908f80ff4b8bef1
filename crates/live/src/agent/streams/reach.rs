//! How long frames to a host may be. A network drops frames that exceed the MTU of the receiver's
//! interface and tells nobody, so a stream that does not get on tries shorter frames.

use timeplane_model::{Duration, Time};
use timeplane_protocol::wire::{DataHeader, PairKey};

/// The largest payload of a short frame, with room for a tag. IPv4 hosts support packets of 576 B.
const SHORT: u64 = 576 - (DataHeader::BYTES + PairKey::TAG - 14) as u64;
/// Attempts without progress after which a stream tries shorter frames, if they take this time.
const ATTEMPTS: u8 = 4;
const STUCK: Duration = Duration::from_ms(200);
/// For how long frames to a host stay short the first time, and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(64);

/// Attempts of a stream that do not arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempts {
    /// Whether frames were sent since the last news.
    sent: bool,
    count: u8,
    since: Time,
}

impl Attempts {
    pub(super) fn sent(&mut self) {
        self.sent = true;
    }
    /// Handles news that bytes have not arrived, or that no news has come.
    pub(super) fn failed(&mut self, now: Time) {
        if std::mem::replace(&mut self.sent, false) {
            if self.count == 0 {
                self.since = now;
            }
            self.count = self.count.saturating_add(1);
        }
    }
    /// Handles the arrival of so many bytes. Returns whether they came in a short frame, while
    /// longer ones that were sent with it did not arrive.
    pub(super) fn succeeded(&mut self, now: Time, bytes: u64) -> bool {
        let short_only = self.are_in_vain(now) && bytes <= SHORT;
        *self = Self::default();
        short_only
    }
    fn are_in_vain(&self, now: Time) -> bool {
        self.count >= ATTEMPTS && now - self.since >= STUCK
    }
    /// Whether to try a short frame: the first one after news.
    fn try_short(&self, now: Time) -> bool {
        !self.sent && self.are_in_vain(now)
    }
}

/// Whether frames to a host have to be short. Longer ones are tried again after a while, later and
/// later while they do not arrive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    until: Time,
    period: Duration,
}

impl Reach {
    /// Handles the arrival of bytes of a stream, which was stuck before or not.
    pub(super) fn progress(&mut self, now: Time, was_stuck: bool) {
        if was_stuck {
            self.period = (self.period * 2).clamp(FIRST, LONGEST);
            self.until = now.saturating_add(self.period);
        } else if now >= self.until.saturating_add(FIRST) {
            *self = Self::default();
        }
    }
    /// The largest payload of the next frame of a stream.
    pub(super) fn most(&self, now: Time, attempts: &Attempts) -> u64 {
        if self.is_short(now) || attempts.try_short(now) { SHORT } else { u64::MAX }
    }
    fn is_short(&self, now: Time) -> bool {
        now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn only_frames_that_were_sent_are_attempts() {
        let mut attempts = Attempts::default();
        for ms in 0..1000 {
            attempts.failed(at(ms));
        }
        assert!(!attempts.try_short(at(1000)), "nothing could leave");
        for ms in 1000..1004 {
            attempts.sent();
            attempts.failed(at(ms));
        }
        assert!(!attempts.try_short(at(1199)) && attempts.try_short(at(1200)));
        attempts.sent();
        assert!(!attempts.try_short(at(1201)), "others are as long as they can be");
        assert!(attempts.succeeded(at(1202), SHORT) && !attempts.try_short(at(9000)));
        assert!(!attempts.succeeded(at(9000), SHORT), "it was not stuck");
    }

    #[test]
    fn frames_stay_short_for_longer_each_time() {
        let mut reach = Reach::default();
        assert!(!reach.is_short(at(0)));
        let mut now = 0;
        for seconds in [1, 2, 4, 8, 16, 32, 64, 64] {
            reach.progress(at(now), true);
            assert!(reach.is_short(at(now + seconds * 1000 - 1)) && !reach.is_short(at(now + seconds * 1000)));
            now += seconds * 1000;
        }
        // Long frames arrive: all is forgotten.
        reach.progress(at(now + 1000), false);
        reach.progress(at(now + 1000), true);
        assert!(!reach.is_short(at(now + 2000)));
    }
}
