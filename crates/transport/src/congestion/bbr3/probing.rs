//! ProbeBW: when to probe for more bandwidth, and how far.
//!
//! A cycle goes down, cruises, refills the pipe, and goes up.

use timeplane_model::{Duration, Time, mix64};

use super::signals::rate;
use super::{BETA, Feedback, HEADROOM, Mode, Model, UNIT, times};
use crate::congestion::Window;
use crate::delivery::RateSample;

/// Rounds after which Reno would cause a loss on the largest path where it works well: probes are
/// no rarer (section 5.3.3.8).
const RENO_ROUNDS: u64 = 63;
/// Probes are no rarer than this, and at most [`PROBE_SPREAD`].
const PROBE_WAIT: Duration = Duration::from_secs(2);
const PROBE_SPREAD: Duration = Duration::from_secs(1);
/// The bound of the exponent by which the long-term bound grows.
const MAX_UP_ROUNDS: u32 = 30;

impl Model {
    pub(super) fn start_down(&mut self, now: Time) {
        self.forget_losses();
        self.up_acked_per_segment = u64::MAX;
        self.pick_wait(now);
        self.cycle_at = now;
        self.feedback = Feedback::Stopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.forget_shortterm();
        self.up_rounds = 0;
        self.up_acked = 0;
        self.probe_precautionary = false;
        self.feedback = Feedback::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, window: &Window, s: &RateSample) {
        self.is_probe_sample = true;
        self.feedback = Feedback::Starting;
        self.start_round();
        self.look_for_full_pipe(rate(s));
        self.mode = Mode::Up;
        self.raise_slope(window);
    }

    /// Random, so that flows mix.
    pub(super) fn pick_wait(&mut self, now: Time) {
        self.drawn = mix64(self.drawn ^ now.as_ps() as u64 ^ self.delivered.rotate_left(32));
        self.rounds_since_probe = self.drawn & 1;
        let spread = (self.drawn >> 1) % PROBE_SPREAD.as_ps() as u64;
        self.probe_wait = PROBE_WAIT + Duration::from_ps(spread as i64);
    }

    /// The states of ProbeBW.
    pub(super) fn update_cycle(&mut self, window: &Window, s: &RateSample) {
        if !self.filled_pipe || self.adapt_longterm(window, s) {
            return;
        }
        match self.mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(window, s.now) => self.start_refill(),
            Mode::Down if self.is_time_to_cruise(s) => self.mode = Mode::Cruise,
            Mode::Refill if self.round_start => self.start_up(window, s),
            Mode::Up => self.check_up(window, s),
            _ => {}
        }
    }

    /// After 2 to 3 s, or as many rounds as Reno needs to fill the pipe by a segment in each.
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        let reno = (self.target(window) / self.mss).min(RENO_ROUNDS);
        now > self.cycle_at.saturating_add(self.probe_wait) || self.rounds_since_probe >= reno
    }

    fn is_time_to_cruise(&self, s: &RateSample) -> bool {
        let product = self.products(UNIT, self.max_bandwidth());
        s.in_flight <= self.inflight_with_headroom() && s.in_flight <= self.quantized(product)
    }

    /// A probe ends when the rate no longer grows. After one that has lost too much, it ends at the
    /// long-term bound (section 5.3.3.7).
    fn check_up(&mut self, window: &Window, s: &RateSample) {
        let at_bound = s.prior_in_flight.saturating_add(self.mss) > self.longterm_inflight;
        if self.probe_too_high && at_bound {
            self.probe_precautionary = true;
        } else if s.window_limited && window.cwnd >= self.longterm_inflight {
            // The bound keeps the rate from growing.
            self.look_for_full_pipe(rate(s));
            return;
        } else if !self.full_now {
            return;
        }
        self.probe_too_high = false;
        self.start_down(s.now);
    }

    /// What should be in the network, unless congestion has reduced the window.
    fn target(&self, window: &Window) -> u64 {
        self.product().min(window.cwnd)
    }

    /// The long-term bound without a share for other flows.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.longterm_inflight == u64::MAX {
            return u64::MAX;
        }
        let headroom = times(HEADROOM, self.longterm_inflight).max(self.mss);
        self.longterm_inflight.saturating_sub(headroom).max(self.min_pipe())
    }

    /// A probe has lost too much with `in_flight` bytes in the network.
    pub(super) fn end_high_probe(&mut self, window: &Window, now: Time, in_flight: u64, app_limited: bool) {
        self.probe_too_high = true;
        self.is_probe_sample = false;
        if !app_limited {
            self.longterm_inflight = in_flight.max(times(BETA, self.target(window)));
        }
        if self.mode == Mode::Up {
            self.undo.mode = Some(Mode::Up);
            self.start_down(now);
        }
    }

    /// Follows what acknowledgements belong to, and raises the long-term bound if nothing speaks
    /// against it. Returns whether it has changed the state.
    fn adapt_longterm(&mut self, window: &Window, s: &RateSample) -> bool {
        if self.round_start {
            match self.feedback {
                Feedback::Starting => self.feedback = Feedback::Probe,
                Feedback::Stopping => {
                    self.is_probe_sample = false;
                    self.feedback = Feedback::None;
                    if self.mode.is_probe_bw() {
                        if !s.app_limited {
                            self.advance_max_bandwidth();
                        }
                        if self.probe_precautionary && !self.probe_too_high {
                            // The cautious probe was harmless: a longer one follows at once.
                            self.start_refill();
                            return true;
                        }
                    }
                }
                Feedback::None | Feedback::Refilling | Feedback::Probe => {}
            }
        }
        if self.longterm_inflight < u64::MAX && !self.is_too_much(s.lost, s.tx_in_flight) {
            self.longterm_inflight = self.longterm_inflight.max(s.tx_in_flight);
            if self.mode == Mode::Up {
                self.raise_longterm(window, s);
            }
        }
        false
    }

    /// Segments per round by which the bound grows double each round (section 5.3.3.5).
    fn raise_slope(&mut self, window: &Window) {
        let segments = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.up_acked_per_segment = (window.cwnd / segments).max(self.mss);
    }

    fn raise_longterm(&mut self, window: &Window, s: &RateSample) {
        if !s.window_limited || window.cwnd < self.longterm_inflight {
            return;
        }
        self.up_acked += s.newly_delivered;
        let segments = self.up_acked / self.up_acked_per_segment;
        self.up_acked %= self.up_acked_per_segment;
        self.longterm_inflight += segments * self.mss;
        if self.round_start {
            self.raise_slope(window);
        }
    }
}
