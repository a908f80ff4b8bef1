//! DCTCP's window (RFC 8257).
//!
//! It estimates the share of marked bytes once per window of data.

use timeplane_model::Time;

use super::{Acked, CongestionControl, NewReno, Window};
use crate::TcpConfig;

/// Reduces the window by half the share of marked bytes. Growth and reactions to losses are
/// NewReno's.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: NewReno,
    /// Estimated share of marked bytes, in units of 2^-20; starts at one (RFC 8257, section 3.3).
    alpha: u32,
    /// The estimate is renewed when this offset is acknowledged.
    window_end: u64,
    acked: u64,
    marked: u64,
}

/// One, in the unit of alpha.
const ONE: u32 = 1 << 20;
/// The gain g is 2^-4 (RFC 8257, section 4.2).
const GAIN_SHIFT: u32 = 4;

impl Dctcp {
    /// The estimated share of marked bytes, 0 to 1.
    pub fn alpha(&self) -> f64 {
        f64::from(self.alpha) / f64::from(ONE)
    }
}

impl CongestionControl for Dctcp {
    fn new(config: &TcpConfig) -> Self {
        Self { reno: NewReno::plain(config), alpha: ONE, window_end: 0, acked: 0, marked: 0 }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.reno.on_ack(window, acked);
    }

    /// Section 3.4: as a conventional TCP.
    fn on_loss(&mut self, window: &mut Window, flight: u64, now: Time) {
        self.reno.on_loss(window, flight, now);
    }

    /// Section 3.3, step 9: cwnd * (1 - alpha / 2), at least two segments.
    fn on_ecn(&mut self, window: &mut Window, _: u64, _: Time) {
        let cut = u128::from(window.cwnd) * u128::from(self.alpha) / u128::from(2 * ONE);
        window.cwnd = (window.cwnd - cut as u64).max(window.floor());
        window.ssthresh = window.cwnd;
    }

    fn on_timeout(&mut self, window: &mut Window, flight: u64, first: bool) {
        self.reno.on_timeout(window, flight, first);
    }

    fn on_new_window(&mut self) {
        self.reno.on_new_window();
    }

    /// Section 3.3, steps 1 to 8.
    fn on_feedback(&mut self, bytes: u64, echo: bool, una: u64, next: u64) {
        self.acked += bytes;
        if echo {
            self.marked += bytes;
        }
        if una > self.window_end && self.acked > 0 {
            let share = (u128::from(self.marked) * u128::from(ONE) / u128::from(self.acked)) as u32;
            self.alpha = self.alpha - (self.alpha >> GAIN_SHIFT) + (share >> GAIN_SHIFT);
            self.window_end = next;
            (self.acked, self.marked) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control() -> Dctcp {
        Dctcp::new(&TcpConfig::default())
    }

    #[test]
    fn alpha_follows_the_share_of_marks() {
        let mut c = control();
        // Windows of ten segments, three of them marked.
        for i in 1..=2_000u64 {
            c.on_feedback(1_000, i % 10 < 3, i * 1_000, (i + 10) * 1_000);
        }
        assert!((c.alpha() - 0.3).abs() < 0.03, "{}", c.alpha());
        for i in 2_001..=6_000u64 {
            c.on_feedback(1_000, false, i * 1_000, (i + 10) * 1_000);
        }
        assert!(c.alpha() < 1e-4, "{}", c.alpha());
        for i in 6_001..=10_000u64 {
            c.on_feedback(1_000, true, i * 1_000, (i + 10) * 1_000);
        }
        assert!(c.alpha() > 0.9999 && c.alpha() <= 1.0, "{}", c.alpha());
    }

    #[test]
    fn reduces_by_half_of_alpha() {
        let mut c = control();
        let mut w = Window { cwnd: 100_000, ssthresh: u64::MAX, mss: 1_000 };
        c.alpha = ONE / 4;
        c.on_ecn(&mut w, 0, Time::ZERO);
        assert_eq!((w.cwnd, w.ssthresh), (87_500, 87_500));
        w.cwnd = 2_100;
        c.on_ecn(&mut w, 0, Time::ZERO);
        assert_eq!(w.cwnd, 2_000);
    }
}
