//! Proportional rate reduction: how much to send while the window falls (RFC 9937, RFC 6937).
//!
//! Without it the window falls at once: the sender is silent until enough has left the network, and
//! sends bursts where a lot is lost. The RFCs are about recoveries from losses. After a mark, the
//! window falls in the same way over the next round trip, as in Linux (`tcp_enter_cwr`).

use super::Sender;

/// The state of a recovery, or of a reduction after a mark, with the names of RFC 9937, section 6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Prr {
    /// `prr_delivered`: bytes delivered during the recovery.
    delivered: u64,
    /// `prr_out`: bytes sent during the recovery.
    out: u64,
    /// `RecoverFS`: bytes outstanding and not delivered at its start.
    recover_fs: u64,
    /// No acknowledgement has counted yet.
    fresh: bool,
}

impl Prr {
    /// A recovery with `undelivered` bytes outstanding. Its first acknowledgement adds what it
    /// delivers.
    const fn new(undelivered: u64) -> Self {
        Self { delivered: 0, out: 0, recover_fs: undelivered, fresh: true }
    }

    /// `SndCnt`: the bytes that may be sent after an acknowledgement that delivers `delivered`
    /// bytes, or nothing at the start of a recovery. `None` if it changes nothing.
    ///
    /// The target is the slow start threshold. While more than that is in flight, the sender sends
    /// in proportion to what is delivered, rounded up to whole segments as in RFC 6937. Otherwise
    /// it sends what is delivered, by packet conservation (PRR-CRB), and a segment more if the
    /// recovery makes good progress, as in slow start (PRR-SSRB).
    fn send_count(&mut self, delivered: u64, in_flight: u64, target: u64, mss: u64, is_safe: bool) -> Option<u64> {
        if core::mem::take(&mut self.fresh) {
            self.recover_fs = (self.recover_fs + delivered).max(1);
        } else if delivered == 0 {
            return None;
        }
        self.delivered += delivered;
        let count = if in_flight > target {
            let share = u128::from(self.delivered) * u128::from(target);
            let segments = share.div_ceil(u128::from(self.recover_fs) * u128::from(mss));
            u64::try_from(segments).unwrap_or(u64::MAX).saturating_mul(mss).saturating_sub(self.out)
        } else {
            let conserved = self.delivered.saturating_sub(self.out).max(delivered);
            (conserved + if is_safe { mss } else { 0 }).min(target - in_flight)
        };
        // A recovery starts with a repetition. A reduction after a mark starts with a segment that
        // tells the receiver of it.
        Some(if self.out == 0 && count == 0 { mss } else { count })
    }

    /// `now` bytes are held in a small queue, where `before` were. They count as sent.
    pub(super) fn hold(&mut self, before: u64, now: u64) {
        self.out = (self.out + now).saturating_sub(before);
    }
}

impl Sender {
    /// Starts the reduction after the control has set its target, if it has set one.
    pub(super) fn begin_reduction(&mut self) {
        let has_target = self.window.cwnd == self.window.ssthresh;
        if self.reduces_gradually && has_target && self.steered.is_none() {
            let undelivered = self.outstanding().saturating_sub(self.sacked.total());
            let prr = Prr::new(undelivered);
            match &mut self.reduction {
                Some(old) => **old = prr,
                None => self.reduction = Some(Box::new(prr)),
            }
        }
    }

    /// Sets the window for what may be sent after an acknowledgement that delivers `delivered`
    /// bytes. `is_safe` if it advances and shows no further loss.
    pub(super) fn reduce(&mut self, delivered: u64, is_safe: bool) {
        let in_flight = self.in_flight() + self.held();
        let (target, mss) = (self.window.ssthresh, u64::from(self.window.mss));
        if let Some(prr) = &mut self.reduction
            && let Some(count) = prr.send_count(delivered, in_flight, target, mss, is_safe)
        {
            self.window.cwnd = (in_flight + count).max(mss);
        }
    }

    /// Counts `len` bytes that are sent and were not held.
    pub(super) fn count_sent(&mut self, len: u32) {
        if let Some(prr) = &mut self.reduction {
            prr.out += u64::from(len);
        }
    }

    /// Ends the reduction, with the window at its target.
    pub(super) fn end_reduction(&mut self) {
        if self.reduction.take().is_some() {
            self.window.cwnd = self.window.ssthresh;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 1_000;

    /// A recovery in segments: in each step, `delivered` segments leave the network and `lost` more
    /// are found. Returns the segments sent after each acknowledgement.
    fn sent(prr: &mut Prr, in_flight: &mut u64, target: u64, steps: &[(u64, u64, bool)]) -> Vec<u64> {
        let mut window = *in_flight;
        let mut counts = Vec::new();
        for &(delivered, lost, is_safe) in steps {
            *in_flight = in_flight.saturating_sub((delivered + lost) * MSS);
            if let Some(count) = prr.send_count(delivered * MSS, *in_flight, target * MSS, MSS, is_safe) {
                window = *in_flight + count;
            }
            let segments = window.saturating_sub(*in_flight) / MSS;
            *in_flight += segments * MSS;
            prr.out += segments * MSS;
            counts.push(segments);
        }
        counts
    }

    /// RFC 6937, section 5, figure 1, where the window of 20 segments is halved and the first one
    /// is lost. Two duplicates have made limited transmit send two segments; 19 arrive in all
    /// before the repetition's acknowledgement. The reduction sends the repetition at once, then a
    /// segment for every second acknowledgement until ten are in flight, then one for each.
    #[test]
    fn reno_sends_for_every_second_acknowledgement() {
        // The third duplicate: 22 outstanding, two delivered before, one now; the head is lost.
        let mut prr = Prr::new(22 * MSS - 3 * MSS);
        let mut in_flight = 20 * MSS;
        let steps: Vec<_> = (0..19).map(|i| (1, u64::from(i == 0), false)).collect();
        let sent = sent(&mut prr, &mut in_flight, 10, &steps);
        assert_eq!(prr.recover_fs, 20 * MSS);
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]);
        assert_eq!(in_flight, 10 * MSS);
    }

    /// RFC 6937, section 5, figure 2: 15 of 20 segments are lost. Each of the few acknowledgements
    /// lets as much go as it delivers, and one segment more if it advances.
    #[test]
    fn heavy_losses_meet_the_reduction_bounds() {
        for (is_safe, expected) in [(false, [1, 1, 1, 1]), (true, [2, 2, 2, 2])] {
            let mut prr = Prr::new(19 * MSS);
            let mut in_flight = 5 * MSS;
            let sent = sent(&mut prr, &mut in_flight, 10, &[(1, 0, is_safe); 4]);
            assert_eq!(sent, expected);
        }
    }

    #[test]
    fn a_recovery_starts_with_a_repetition() {
        let mut prr = Prr::new(10 * MSS);
        assert_eq!(prr.send_count(0, 10 * MSS, 5 * MSS, MSS, false), Some(MSS));
        prr.out += MSS;
        assert_eq!(prr.send_count(0, 10 * MSS, 5 * MSS, MSS, false), None);
    }

    proptest! {
        /// Section 8 of RFC 9937: however losses and acknowledgements come, no more is sent than is
        /// delivered, apart from the first repetition and the segments of PRR-SSRB; the target is
        /// never exceeded by sending; and a recovery without further losses ends near it.
        #[test]
        fn keeps_its_bounds(
            flight in 4u64..200,
            numerator in 1u64..10,
            steps in prop::collection::vec((0u64..4, 0u64..3, any::<bool>()), 1..200),
        ) {
            let target = (flight * numerator / 10).max(2);
            let mut prr = Prr::new((flight - 1) * MSS);
            let (mut in_flight, mut safe, mut delivered) = ((flight - 1) * MSS, 0, 0);
            for (i, &(acked, lost, is_safe)) in steps.iter().enumerate() {
                let acked = if i == 0 { 1 } else { acked }.min(in_flight / MSS);
                // Arrivals show losses.
                let lost = if acked > 0 { lost.min(in_flight / MSS - acked) } else { 0 };
                let before = in_flight;
                let now = sent(&mut prr, &mut in_flight, target, &[(acked, lost, is_safe)])[0];
                delivered += acked;
                safe += u64::from(is_safe && acked > 0);
                prop_assert!(in_flight <= before.max(target * MSS) + u64::from(i == 0) * MSS);
                prop_assert!(prr.out <= (delivered + safe + 1) * MSS, "{} sent in step {i}", now);
            }
        }

        /// Without further losses, what is in flight is the target at the end.
        #[test]
        fn ends_at_the_target(flight in 4u64..300, numerator in 1u64..10) {
            let target = (flight * numerator / 10).max(2);
            let mut prr = Prr::new((flight - 1) * MSS);
            let mut in_flight = flight * MSS;
            let mut steps = vec![(1, 0, false); flight as usize];
            steps[0].1 = 1;
            sent(&mut prr, &mut in_flight, target, &steps);
            prop_assert!(in_flight.abs_diff(target * MSS) <= MSS, "{in_flight} for {target}");
        }
    }
}
