//! How far the window was used, as Linux judges it.
//!
//! A window that did not limit the sender says nothing about the path, so it must not grow (the
//! intent of RFC 7661).

use super::Sender;
use crate::congestion::Window;

/// What the latest window of data has used of the window: `tcp_cwnd_validate` and
/// `tcp_is_cwnd_limited` of Linux, with bytes instead of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// The record counts until this is acknowledged.
    until: u64,
    /// Outstanding bytes: the most so far, or those when the window limited. At most 4 GiB.
    outstanding: u32,
    /// The window has left no room for another segment.
    limited: bool,
    /// Whether the record decides if the window grows.
    pub(super) decides: bool,
}

impl Usage {
    pub(super) fn new(decides: bool) -> Self {
        Self { decides, ..Self::default() }
    }

    /// Notes that bytes from `una` to `next` are outstanding, and whether the window leaves no room
    /// for another segment. That it was full outlasts all else until the window of data ends.
    pub(super) fn note(&mut self, limited: bool, una: u64, next: u64) {
        let outstanding = u32::try_from(next - una).unwrap_or(u32::MAX);
        if una >= self.until || limited || (!self.limited && outstanding > self.outstanding) {
            *self = Self { until: next, outstanding, limited, ..*self };
        }
    }

    /// Whether the window has limited the sender. In slow start, a window of less than twice the
    /// outstanding bytes has, so that it can double in each round trip.
    pub(super) fn limits(&self, window: &Window) -> bool {
        self.limited || (window.in_slow_start() && window.cwnd < 2 * u64::from(self.outstanding))
    }
}

impl Sender {
    /// Notes how full the window is, after a segment was sent.
    pub(super) fn note_usage(&mut self) {
        let full = self.in_flight() + u64::from(self.window.mss) > self.window.cwnd;
        self.usage.note(full, self.una, self.next);
    }

    /// Notes that nothing more may be sent, if that is because of the window.
    pub(super) fn note_full_window(&mut self) {
        if self.in_flight() + u64::from(self.window.mss) > self.window.cwnd {
            self.usage.note(true, self.una, self.next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 1_000;

    fn window(cwnd: u64, ssthresh: u64) -> Window {
        Window { cwnd: cwnd * MSS, ssthresh: ssthresh.saturating_mul(MSS), mss: MSS as u32 }
    }

    #[test]
    fn half_a_window_is_enough_in_slow_start_only() {
        let mut usage = Usage::new(true);
        for sent in 1..=5 {
            usage.note(false, 0, sent * MSS);
        }
        assert!(usage.limits(&window(9, u64::MAX)));
        assert!(!usage.limits(&window(10, u64::MAX)), "not less than twice the outstanding bytes");
        assert!(!usage.limits(&window(9, 9)), "congestion avoidance wants a full window");
        usage.note(true, 0, 6 * MSS);
        assert!(usage.limits(&window(9, 9)));
        // Full once in this window of data, whatever follows.
        usage.note(false, 3 * MSS, 7 * MSS);
        assert!(usage.limits(&window(9, 9)));
        // The next window of data.
        usage.note(false, 6 * MSS, 8 * MSS);
        assert!(!usage.limits(&window(9, 9)));
        assert!(usage.limits(&window(3, u64::MAX)) && !usage.limits(&window(4, u64::MAX)));
    }

    /// `tcp_cwnd_validate` of Linux 6.12, with the kernel's names.
    #[derive(Default)]
    struct Kernel {
        cwnd_usage_seq: u64,
        max_packets_out: u64,
        is_cwnd_limited: bool,
    }

    impl Kernel {
        fn cwnd_validate(&mut self, is_cwnd_limited: bool, snd_una: u64, snd_nxt: u64) {
            let packets_out = (snd_nxt - snd_una) / MSS;
            let new_window = snd_una >= self.cwnd_usage_seq;
            if new_window || is_cwnd_limited || (!self.is_cwnd_limited && packets_out > self.max_packets_out) {
                self.is_cwnd_limited = is_cwnd_limited;
                self.max_packets_out = packets_out;
                self.cwnd_usage_seq = snd_nxt;
            }
        }

        fn is_cwnd_limited(&self, cwnd: u64, ssthresh: u64) -> bool {
            self.is_cwnd_limited || (cwnd < ssthresh && cwnd < 2 * self.max_packets_out)
        }
    }

    proptest! {
        /// The kernel notes a burst once, at its end; here each segment is noted.
        #[test]
        fn judges_as_the_kernel(
            steps in prop::collection::vec((0u64..12, 0u64..12, 2u64..40), 1..60),
            ssthresh in 1u64..60,
        ) {
            let (mut usage, mut kernel) = (Usage::new(true), Kernel::default());
            let (mut una, mut next) = (0, 0);
            for (acked, offered, cwnd) in steps {
                una = next.min(una + acked * MSS);
                let mut sent = 0;
                while sent < offered && next - una < cwnd * MSS {
                    next += MSS;
                    sent += 1;
                    usage.note(next - una + MSS > cwnd * MSS, una, next);
                }
                let full = next - una >= cwnd * MSS;
                if sent < offered && full {
                    usage.note(true, una, next);
                }
                if sent > 0 || (full && offered > 0) {
                    kernel.cwnd_validate(full, una, next);
                }
                prop_assert_eq!(usage.limits(&window(cwnd, ssthresh)), kernel.is_cwnd_limited(cwnd, ssthresh));
            }
        }
    }
}
