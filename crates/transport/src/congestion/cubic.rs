//! CUBIC's window (RFC 9438).
//!
//! Results are the same on every machine, as only basic arithmetic is used.

use timeplane_model::Time;

use super::hystart::HyStart;
use super::{Acked, CongestionControl, Window};
use crate::TcpConfig;

/// Grows by the cube of the time since the last reduction (RFC 9438).
///
/// Windows are in segments, times in seconds, as in the RFC. Only additions, products, quotients
/// and an own cube root are used, so that all machines get the same result.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Window before the last reduction, lowered by fast convergence; zero before the first.
    w_max: f64,
    /// When W(t) is back at `w_max`, seconds after the epoch's start.
    k: f64,
    /// The window of NewReno by now.
    w_est: f64,
    /// Window before the last reduction.
    prior: f64,
    /// The fraction of a byte that the window could not take yet.
    carry: f64,
    /// When this stage of congestion avoidance started.
    epoch: Option<Time>,
    /// Time up to here has counted for growth.
    counted: Time,
    /// The stage follows slow start: it starts on the plateau (section 4.8).
    plateau: bool,
    /// `w_max` comes from the window, not from the bytes in flight.
    w_max_from_cwnd: bool,
    /// For the initial slow start, if enabled.
    hystart: Option<Box<HyStart>>,
}

/// Aggressiveness, segments per second cubed (section 5.1).
const C: f64 = 0.4;
/// The remaining share of the window after a reduction (section 4.6).
const BETA: f64 = 0.7;
/// NewReno's increase that makes up for the smaller decrease (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

impl Cubic {
    fn reduce(&mut self, window: &mut Window, flight: u64) {
        let before = if self.w_max_from_cwnd { window.cwnd } else { flight };
        let cwnd = before as f64 / f64::from(window.mss);
        // Section 4.7, fast convergence: a flow whose window shrinks makes room for new ones.
        self.w_max = if cwnd < self.w_max { cwnd * ((1.0 + BETA) / 2.0) } else { cwnd };
        self.prior = cwnd;
        self.epoch = None;
        self.plateau = false;
        self.carry = 0.0;
        self.hystart = None;
        window.ssthresh = ((flight as f64 * BETA) as u64).max(window.floor());
    }

    fn start_epoch(&mut self, now: Time, cwnd: f64) {
        self.epoch = Some(now);
        self.w_est = cwnd;
        if self.plateau || self.w_max <= cwnd {
            self.w_max = cwnd;
            self.k = 0.0;
        } else {
            self.k = cube_root((self.w_max - cwnd) / C);
        }
    }

    /// Section 4.2, equation 1, segments.
    fn cubic_window(&self, seconds: f64) -> f64 {
        let d = seconds - self.k;
        C * (d * d * d) + self.w_max
    }
}

impl CongestionControl for Cubic {
    fn new(config: &TcpConfig) -> Self {
        Self {
            w_max: 0.0,
            k: 0.0,
            w_est: 0.0,
            prior: 0.0,
            carry: 0.0,
            epoch: None,
            counted: Time::ZERO,
            plateau: true,
            w_max_from_cwnd: config.w_max_from_cwnd,
            hystart: HyStart::enabled(config),
        }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        let mut bytes = acked.bytes;
        if window.in_slow_start() {
            if let Some(hystart) = &mut self.hystart {
                hystart.on_ack(window, acked);
                return;
            }
            bytes = window.slow_start(bytes, acked.slow_start_limit);
            if bytes == 0 {
                return;
            }
        }
        let mss = f64::from(window.mss);
        let cwnd = window.cwnd as f64 / mss;
        let segments = bytes as f64 / mss;
        if self.epoch.is_none() {
            self.start_epoch(acked.now, cwnd);
        }
        let epoch = self.epoch.unwrap_or(acked.now);
        self.counted = acked.now;
        let t = (acked.now - epoch).as_secs_f64();

        // Section 4.3: the window of NewReno.
        let alpha = if self.w_est < self.prior { ALPHA } else { 1.0 };
        self.w_est += alpha * segments / cwnd;

        let grown = if self.cubic_window(t) < self.w_est {
            self.w_est.max(cwnd)
        } else {
            // Sections 4.4 and 4.5: towards the curve a round trip from now, per acknowledged
            // segment.
            let target = self.cubic_window(t + acked.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * segments
        };
        let growth = (grown - cwnd) * mss + self.carry;
        let whole = growth as u64;
        self.carry = growth - whole as f64;
        window.cwnd += whole;
    }

    fn on_loss(&mut self, window: &mut Window, flight: u64, _: Time) {
        self.reduce(window, flight);
        window.cwnd = window.ssthresh;
    }

    /// Section 4.8: the threshold as at a loss, and the next stage starts on the plateau.
    fn on_timeout(&mut self, window: &mut Window, flight: u64, first: bool) {
        if first {
            self.reduce(window, flight);
        }
        self.epoch = None;
        self.plateau = true;
        window.collapse();
    }

    fn on_unused(&mut self, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = epoch.saturating_add(now - self.counted);
            self.counted = now;
        }
    }

    /// Starts a stage on its plateau.
    fn on_new_window(&mut self) {
        self.epoch = None;
        self.plateau = true;
        self.carry = 0.0;
    }
}

/// The real cube root of a nonnegative number, nearly to the last bit.
///
/// Newton's method from a guess that divides the exponent by three gives the same bits on every
/// machine; the mathematical library does not.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return 0.0;
    }
    // A third of the exponent, and of its bias: within 12 % for normal numbers.
    let mut y = f64::from_bits(x.to_bits() / 3 + 0x2A9F_7893_0000_0000);
    for _ in 0..5 {
        y -= (y * y * y - x) / (3.0 * y * y);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state after a loss with a window of 100 segments and fewer in flight.
    fn reduced(w_max_from_cwnd: bool, flights: &[u64]) -> (Cubic, Window) {
        let mut cubic = Cubic::new(&TcpConfig { w_max_from_cwnd, ..TcpConfig::default() });
        let mut window = Window { cwnd: 0, ssthresh: u64::MAX, mss: 1_000 };
        for flight in flights {
            window.cwnd = 100_000;
            cubic.on_loss(&mut window, flight * 1_000, Time::ZERO);
        }
        (cubic, window)
    }

    /// Section 4.6: the threshold follows what is in flight, `cwnd_prior` and `W_max` the window.
    #[test]
    fn w_max_is_the_window_or_what_is_in_flight() {
        for (from_cwnd, w_max) in [(false, 60.0), (true, 100.0)] {
            let (cubic, window) = reduced(from_cwnd, &[60]);
            assert_eq!((window.cwnd, window.ssthresh), (42_000, 42_000), "0.7 of 60 segments");
            assert_eq!((cubic.w_max, cubic.prior), (w_max, w_max));
            let (cubic, _) = reduced(from_cwnd, &[100, 60]);
            // Section 4.7: fast convergence only where the window itself shrinks.
            assert_eq!(cubic.w_max, if from_cwnd { 100.0 } else { 60.0 * 0.85 });
            // The curve is back at W_max after K = cbrt((W_max - cwnd) / C), section 4.2.
            let (mut cubic, window) = reduced(from_cwnd, &[60]);
            cubic.start_epoch(Time::ZERO, window.cwnd as f64 / 1_000.0);
            assert!((cubic.k - ((w_max - 42.0) / 0.4).cbrt()).abs() < 1e-9, "{}", cubic.k);
            assert!((cubic.cubic_window(0.0) - 42.0).abs() < 1e-9);
        }
    }

    #[test]
    fn cube_roots() {
        for x in [1e-9, 0.001, 0.3, 1.0, 2.0, 8.0, 27.0, 1e3, 123_456.789, 1e12] {
            let y = cube_root(x);
            assert!((y * y * y / x - 1.0).abs() < 1e-14, "{x}: {y}");
        }
        assert_eq!(cube_root(0.0), 0.0);
    }
}
