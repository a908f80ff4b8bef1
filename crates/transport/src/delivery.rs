//! The delivery rate of a path (draft-cheng-iccrg-delivery-rate-estimation-00).
//!
//! Each outstanding segment has a stamp of the state when it was sent. Acknowledgements turn stamps
//! into samples.

use std::collections::VecDeque;

use timeplane_model::{Duration, Rate, Time};

/// What an acknowledgement tells about the path, for a congestion control that models it.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// When the acknowledgement arrived.
    pub now: Time,
    /// The rate of delivery since the newest acknowledged segment was sent. `None` if it
    /// acknowledges no new segment, or one from before a repetition, faster than any round trip.
    pub rate: Option<Rate>,
    /// The sender had too little to send, or was steered, so the path may carry more.
    pub app_limited: bool,
    /// Bytes delivered when that segment was sent.
    pub prior_delivered: Option<u64>,
    /// Bytes delivered so far, each counted once, selectively acknowledged or not.
    pub delivered: u64,
    /// Bytes of these that this acknowledgement has added.
    pub newly_delivered: u64,
    /// Bytes that it shows to be lost.
    pub newly_lost: u64,
    /// The measured round-trip time.
    pub rtt: Option<Duration>,
    /// Bytes in the network after the acknowledgement.
    pub in_flight: u64,
    /// Bytes in the network before it.
    pub prior_in_flight: u64,
    /// Losses are being repaired, after duplicates or a timeout.
    pub is_recovering: bool,
    /// Losses are being repaired after duplicates.
    pub is_fast_recovery: bool,
    /// The window was full at some time in the last round trip.
    pub window_limited: bool,
    /// Bytes in the network when the newest acknowledged segment was sent, with that segment. Zero
    /// unless the control [weighs losses](crate::congestion::CongestionControl::weighs_losses).
    pub tx_in_flight: u64,
    /// Bytes found lost since that segment was sent. Zero unless the control weighs losses.
    pub lost: u64,
}

/// A segment that counts as lost, for a congestion control that weighs losses.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// Its number in the flow, from zero.
    pub number: u64,
    /// Its bytes.
    pub len: u64,
    /// Bytes in the network when it was sent, with itself.
    pub tx_in_flight: u64,
    /// Bytes found lost since it was sent, with itself.
    pub lost: u64,
    /// It was sent while the application limited the sender, or while that was steered.
    pub app_limited: bool,
}

/// The connection's state when a segment was sent (section 3.1.2 of the draft).
#[derive(Clone, Copy, Debug)]
struct Stamp {
    sent: Time,
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    app_limited: bool,
    repeated: bool,
}

/// What a control that weighs losses knows about the time when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
struct AtSending {
    /// Bytes in the network, with the segment.
    in_flight: u64,
    /// Bytes found lost so far.
    lost: u64,
}

/// Relates losses to what was in the network (draft-ietf-ccwg-bbr-06, section 4.1.2.2).
#[derive(Clone, Debug, Default)]
struct Losses {
    /// One for each record of the sender.
    sent: VecDeque<AtSending>,
    /// Number of the first record's segment in the flow.
    first: u64,
    /// Bytes found lost so far; repetitions count each time.
    lost: u64,
    /// Of the newest segment that the current acknowledgement covers.
    newest: AtSending,
    /// Lost segments that the control does not know yet.
    found: Vec<LostSegment>,
}

/// Counts delivered bytes and takes a sample with each acknowledgement. Uses 40 bytes per
/// outstanding segment, and 16 more if the control weighs losses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// One stamp for each record of the sender.
    stamps: VecDeque<Stamp>,
    delivered: u64,
    delivered_at: Time,
    /// When the first segment of the current interval was sent.
    first_sent: Time,
    /// Samples are limited by the application until more than this is delivered; zero if they are
    /// not.
    limited_until: u64,
    /// The window was full less than a round trip ago until more than this is delivered.
    full_until: u64,
    losses: Option<Losses>,
    min_rtt: Option<Duration>,
    // State of the current acknowledgement:
    newest: Option<Stamp>,
    newly_delivered: u64,
    newly_lost: u64,
}

impl Delivery {
    /// Relates losses to what was in the network if `weighs_losses`.
    pub(crate) fn new(weighs_losses: bool) -> Self {
        Self { losses: weighs_losses.then(Losses::default), ..Self::default() }
    }

    fn stamp(&self, now: Time, steered: bool, repeated: bool) -> Stamp {
        Stamp {
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            app_limited: steered || self.limited_until > 0,
            repeated,
        }
    }

    /// A segment is sent; `first` if nothing was outstanding. With it, `in_flight` bytes are in the
    /// network.
    pub(crate) fn sent(&mut self, now: Time, first: bool, steered: bool, in_flight: u64) {
        if first {
            self.first_sent = now;
            self.delivered_at = now;
        }
        self.stamps.push_back(self.stamp(now, steered, false));
        if let Some(losses) = &mut self.losses {
            losses.sent.push_back(AtSending { in_flight, lost: losses.lost });
        }
    }

    /// The `i`th outstanding segment is repeated. With it, `in_flight` bytes are in the network.
    pub(crate) fn sent_again(&mut self, i: usize, now: Time, steered: bool, in_flight: u64) {
        self.stamps[i] = self.stamp(now, steered, true);
        if let Some(losses) = &mut self.losses {
            losses.sent[i] = AtSending { in_flight, lost: losses.lost };
        }
    }

    /// The `i`th outstanding segment is acknowledged for the first time, selectively or not.
    pub(crate) fn arrived(&mut self, i: usize, len: u64) {
        let stamp = self.stamps[i];
        self.newly_delivered += len;
        if self.newest.is_none_or(|newest| (newest.delivered, newest.sent) < (stamp.delivered, stamp.sent)) {
            self.newest = Some(stamp);
            if let Some(losses) = &mut self.losses {
                losses.newest = losses.sent[i];
            }
        }
    }

    /// The first outstanding segment is cumulatively acknowledged.
    pub(crate) fn pop(&mut self) {
        self.stamps.pop_front();
        if let Some(losses) = &mut self.losses {
            losses.sent.pop_front();
            losses.first += 1;
        }
    }

    /// An acknowledgement shows that a copy of the `i`th outstanding segment, of `len` bytes, is
    /// lost.
    pub(crate) fn lost(&mut self, i: usize, len: u64) {
        self.newly_lost += len;
        self.lost_by_timeout(i, len);
    }

    /// A timeout makes a copy of the `i`th outstanding segment count as lost.
    pub(crate) fn lost_by_timeout(&mut self, i: usize, len: u64) {
        let Some(losses) = &mut self.losses else { return };
        losses.lost += len;
        let AtSending { in_flight, lost } = losses.sent[i];
        losses.found.push(LostSegment {
            number: losses.first + i as u64,
            len,
            tx_in_flight: in_flight,
            lost: losses.lost - lost,
            app_limited: self.stamps[i].app_limited,
        });
    }

    /// Takes out the segments that were found lost since the last call.
    pub(crate) fn take_lost(&mut self) -> Vec<LostSegment> {
        self.losses.as_mut().map_or_else(Vec::new, |losses| core::mem::take(&mut losses.found))
    }

    /// The window is full, with `in_flight` bytes in the network.
    pub(crate) fn full(&mut self, in_flight: u64) {
        self.full_until = self.delivered + in_flight;
    }

    /// The sender has nothing to send, with fewer bytes in the network than it might have.
    pub(crate) fn limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Ends an acknowledgement; `None` if it brought no news. The sender fills in the fields that
    /// are zero.
    pub(crate) fn sample(&mut self, now: Time) -> Option<RateSample> {
        let (newest, newly_delivered) = (self.newest.take(), core::mem::take(&mut self.newly_delivered));
        let newly_lost = core::mem::take(&mut self.newly_lost);
        // Only segments sent once count (Karn): the newest one caused the acknowledgement.
        let rtt = newest.filter(|newest| !newest.repeated).map(|newest| now - newest.sent);
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if newly_delivered == 0 && newly_lost == 0 {
            return None;
        }
        self.delivered += newly_delivered;
        if newly_delivered > 0 {
            self.delivered_at = now;
        }
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let rate = newest.and_then(|newest| {
            self.first_sent = newest.sent;
            let interval = (newest.sent - newest.first_sent).max(now - newest.delivered_at);
            // Section 3.3: shorter than a round trip means an unnecessary repetition.
            let plausible = interval > Duration::ZERO && self.min_rtt.is_none_or(|least| interval >= least);
            plausible.then(|| rate_of(self.delivered - newest.delivered, interval))
        });
        let (tx_in_flight, lost) = match &self.losses {
            Some(losses) if newest.is_some() => (losses.newest.in_flight, losses.lost - losses.newest.lost),
            _ => (0, 0),
        };
        Some(RateSample {
            now,
            rate,
            app_limited: newest.is_some_and(|newest| newest.app_limited),
            prior_delivered: newest.map(|newest| newest.delivered),
            delivered: self.delivered,
            newly_delivered,
            newly_lost,
            rtt,
            in_flight: 0,
            prior_in_flight: 0,
            is_recovering: false,
            is_fast_recovery: false,
            window_limited: self.delivered <= self.full_until,
            tx_in_flight,
            lost,
        })
    }
}

/// `bytes` per positive `span`, rounded down.
pub(crate) fn rate_of(bytes: u64, span: Duration) -> Rate {
    let bps = u128::from(bytes) * 8_000_000_000_000 / span.as_ps().max(1) as u128;
    Rate::bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Time {
        Time::from_ps(ms * 1_000_000_000)
    }

    /// Ten segments of 1000 bytes, one each ms, on a path that delivers one each 2 ms and takes 20
    /// ms.
    #[test]
    fn the_slower_of_sending_and_arriving_counts() {
        let mut d = Delivery::default();
        for i in 0..10 {
            d.sent(ms(i), i == 0, false, 0);
        }
        let rates: Vec<_> = (0..10)
            .map(|i| {
                d.arrived(0, 1_000);
                d.pop();
                let sample = d.sample(ms(20 + 2 * i)).expect("a sample");
                assert_eq!(sample.rtt, Some(Duration::from_ms(20 + i)));
                assert_eq!((sample.prior_delivered, sample.delivered), (Some(0), 1_000 * (i as u64 + 1)));
                sample.rate.expect("a rate").as_bps()
            })
            .collect();
        // Bytes delivered since the first was sent, by the time since then.
        let expected: Vec<_> = (0..10).map(|i| 8_000_000 * (i + 1) / (20 + 2 * i)).collect();
        assert_eq!(rates, expected);
        // The next flight has stamps of 10 delivered segments, in the 20 ms from 38 to 58.
        for i in 0..10 {
            d.sent(ms(38), i == 0, false, 0);
        }
        (0..10).for_each(|i| d.arrived(i, 1_000));
        let sample = d.sample(ms(58)).expect("a sample");
        assert_eq!((sample.rate, sample.prior_delivered), (Some(Rate::bps(4_000_000)), Some(10_000)));
    }

    /// Three segments are repeated although their first copies are in flight.
    #[test]
    fn what_is_faster_than_a_round_trip_is_no_sample() {
        let mut d = Delivery::default();
        for i in 0..4 {
            d.sent(ms(0), i == 0, false, 0);
        }
        let acknowledge = |d: &mut Delivery, now| {
            d.arrived(0, 1_000);
            d.pop();
            let sample = d.sample(ms(now)).expect("a sample");
            assert_eq!(sample.newly_delivered, 1_000);
            (sample.rate.is_some(), sample.rtt)
        };
        assert_eq!(acknowledge(&mut d, 20), (true, Some(Duration::from_ms(20))));
        d.sent_again(0, ms(21), false, 0);
        assert_eq!(acknowledge(&mut d, 22), (true, None), "21 ms since the last one acknowledged was sent");
        d.sent_again(0, ms(23), false, 0);
        assert_eq!(acknowledge(&mut d, 24), (false, None), "2 ms");
        assert!(d.sample(ms(25)).is_none(), "it tells nothing");
    }

    #[test]
    fn marks_end_with_what_was_in_flight() {
        let mut d = Delivery::default();
        let marks = |d: &mut Delivery, now| {
            d.arrived(0, 1_000);
            d.pop();
            d.sample(now).expect("a sample").app_limited
        };
        d.sent(ms(0), true, false, 0);
        d.sent(ms(0), false, false, 0);
        d.limited(2_000);
        d.sent(ms(1), false, false, 0);
        assert!(!marks(&mut d, ms(10)) && !marks(&mut d, ms(11)), "sent before");
        assert!(marks(&mut d, ms(12)));
        d.sent(ms(13), true, false, 0);
        d.sent(ms(13), false, true, 0);
        assert!(!marks(&mut d, ms(23)));
        assert!(marks(&mut d, ms(24)), "steered");
    }

    /// Segments 2 and 5 of ten are lost, and the repetition of 2 again.
    #[test]
    fn losses_know_what_was_in_the_network() {
        let mut d = Delivery::new(true);
        for i in 0..10 {
            d.sent(ms(i), i == 0, false, 1_000 * (i as u64 + 1));
        }
        for _ in 0..2 {
            d.arrived(0, 1_000);
            d.pop();
        }
        let sample = d.sample(ms(20)).expect("a sample");
        assert_eq!((sample.tx_in_flight, sample.lost), (2_000, 0));
        for i in [1, 2, 4, 5] {
            d.arrived(i, 1_000);
        }
        d.lost(0, 1_000);
        d.lost(3, 1_000);
        let sample = d.sample(ms(22)).expect("a sample");
        assert_eq!((sample.tx_in_flight, sample.lost, sample.newly_lost), (8_000, 2_000, 2_000));
        let lost = |d: &mut Delivery| -> Vec<_> {
            d.take_lost().iter().map(|l| (l.number, l.len, l.tx_in_flight, l.lost)).collect()
        };
        assert_eq!(lost(&mut d), [(2, 1_000, 3_000, 1_000), (5, 1_000, 6_000, 2_000)]);
        assert_eq!(lost(&mut d), [], "each is told once");
        d.sent_again(0, ms(22), false, 3_000);
        d.lost_by_timeout(0, 1_000);
        assert_eq!(lost(&mut d), [(2, 1_000, 3_000, 1_000)], "since it was repeated");
        assert!(d.sample(ms(30)).is_none(), "a timeout is no acknowledgement");
        // Controls that do not ask are not told, and do not pay.
        let mut d = Delivery::new(false);
        d.sent(ms(0), true, false, 1_000);
        d.lost(0, 1_000);
        assert_eq!((d.take_lost().len(), d.sample(ms(1)).expect("a sample").newly_lost), (0, 1_000));
    }

    #[test]
    fn a_full_window_counts_for_a_round_trip() {
        let mut d = Delivery::default();
        for i in 0..3 {
            d.sent(ms(i), i == 0, false, 0);
        }
        d.full(2_000);
        let limited = |d: &mut Delivery, now| {
            d.arrived(0, 1_000);
            d.pop();
            d.sample(ms(now)).expect("a sample").window_limited
        };
        assert!(limited(&mut d, 10) && limited(&mut d, 11));
        assert!(!limited(&mut d, 12), "sent later");
    }
}
