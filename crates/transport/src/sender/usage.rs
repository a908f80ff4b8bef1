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
    /// Segments never sent that Linux would have handed over, see [`Sender::waits`].
    pub(super) held: u16,
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
    /// Notes how full the window is, after a segment was sent or held, or if none may be.
    pub(super) fn note_usage(&mut self, sent: bool) {
        let full = self.in_flight() + self.held() + u64::from(self.window.mss) > self.window.cwnd;
        if sent || full {
            self.usage.note(full, self.una, self.handed_over());
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

    proptest! {
        /// After each step, the record is compared with all that was noted: a window that was full
        /// limits until all data sent by then is acknowledged. One that was never full limits in
        /// slow start only, if more than half of it was outstanding.
        #[test]
        fn what_was_full_limits_for_a_window_of_data(
            steps in prop::collection::vec((0u64..12, 0u64..12, 2u64..40), 1..60),
            ssthresh in 1u64..60,
        ) {
            let mut usage = Usage::new(true);
            let (mut una, mut next) = (0, 0);
            // Of each segment: what was outstanding with it, whether the window was full then, and
            // where the segment ends.
            let mut noted: Vec<(u64, bool, u64)> = Vec::new();
            for (acked, offered, cwnd) in steps {
                una = next.min(una + acked * MSS);
                for _ in 0..offered {
                    if next - una >= cwnd * MSS {
                        break;
                    }
                    next += MSS;
                    let full = next - una + MSS > cwnd * MSS;
                    usage.note(full, una, next);
                    noted.push((next - una, full, next));
                    let window = window(cwnd, ssthresh);
                    if noted.iter().any(|&(_, full, end)| full && una < end) {
                        prop_assert!(usage.limits(&window));
                    }
                    if noted.iter().all(|&(_, full, _)| !full) {
                        let most = noted.iter().map(|&(outstanding, ..)| outstanding).max().unwrap_or(0);
                        prop_assert!(!usage.limits(&window) || 2 * most > window.cwnd);
                        if window.in_slow_start() && 2 * (next - una) > window.cwnd {
                            prop_assert!(usage.limits(&window));
                        }
                    }
                }
            }
        }
    }
}
