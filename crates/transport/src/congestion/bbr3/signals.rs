//! What acknowledgements and losses tell about the path.
//!
//! Rounds, the largest rate, a full pipe, aggregated acknowledgements, losses, and losses that were
//! none.

use timeplane_model::{Rate, Time};

use super::{AGGREGATION_ROUNDS, BETA, ECN_BETA, FULL_ROUNDS, LOSS_THRESHOLD, Mode, Model, UNIT, Undo, times};
use crate::congestion::{LostSegment, Window};
use crate::delivery::RateSample;

/// The rate of a sample, or zero.
pub(super) fn rate(s: &RateSample) -> u64 {
    s.rate.map_or(0, Rate::as_bps)
}

/// Bytes delivered since the newest acknowledged segment was sent.
fn delivered(s: &RateSample) -> u64 {
    s.prior_delivered.map_or(0, |prior| s.delivered - prior)
}

impl Model {
    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    fn update_round(&mut self, s: &RateSample) {
        self.round_start = s.prior_delivered.is_some_and(|prior| prior >= self.next_round_delivered);
        if self.round_start {
            self.start_round();
            self.round += 1;
            self.rounds_since_probe += 1;
        }
    }

    /// Section 5.5.5: the application's limit says nothing about the path, unless it exceeds it.
    fn update_max_bandwidth(&mut self, s: &RateSample) {
        if !s.app_limited || rate(s) >= self.max_bandwidth() {
            self.max_bandwidths[1] = self.max_bandwidths[1].max(rate(s));
        }
    }

    /// A probing cycle has ended: only it and the next one count.
    pub(super) fn advance_max_bandwidth(&mut self) {
        if self.max_bandwidths[1] > 0 {
            self.max_bandwidths = [self.max_bandwidths[1], 0];
        }
    }

    /// Section 5.5.9: how much more than the model's rate is acknowledged at once.
    pub(super) fn update_aggregation(&mut self, window: &Window, s: &RateSample) {
        let expected = |since: Time| Rate::bps(self.bandwidth).bytes_in(s.now - since).get();
        let mut expected = expected(self.aggregation_since);
        if self.aggregation_delivered <= expected {
            self.aggregation_delivered = 0;
            self.aggregation_since = s.now;
            expected = 0;
        }
        self.aggregation_delivered += s.newly_delivered;
        let extra = (self.aggregation_delivered - expected).min(window.cwnd);
        let length = if self.filled_pipe { AGGREGATION_ROUNDS } else { 1 };
        self.aggregation.update(self.round, extra, length);
    }

    /// Starts to look for a full pipe, at the rate of a sample or from zero.
    pub(super) fn look_for_full_pipe(&mut self, bandwidth: u64) {
        self.full_bandwidth = bandwidth;
        self.full_rounds = 0;
        self.full_now = false;
    }

    /// Section 5.3.1.2: three rounds without growth by a quarter.
    pub(super) fn check_full_pipe(&mut self, s: &RateSample) {
        if self.full_now || !self.round_start || s.app_limited || s.rate.is_none() {
            return;
        }
        if rate(s) >= times(UNIT * 5 / 4, self.full_bandwidth) {
            self.look_for_full_pipe(rate(s));
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.filled_pipe |= self.full_now;
    }

    /// Notes the beginning and the end of a recovery.
    pub(super) fn follow_recovery(&mut self, window: &mut Window, s: &RateSample) {
        if s.is_recovering && !self.was_recovering {
            self.save_cwnd(window);
        } else if !s.is_recovering && self.was_recovering {
            self.restore_cwnd(window);
        }
        self.was_recovering = s.is_recovering;
    }

    /// Section 5.5.10.3: the largest rate and volume of the round, and whether a round has ended
    /// since the first loss.
    pub(super) fn update_latest(&mut self, s: &RateSample) {
        self.loss_round_start = false;
        self.latest_bandwidth = self.latest_bandwidth.max(rate(s));
        self.latest_inflight = self.latest_inflight.max(delivered(s));
        if s.prior_delivered.is_some_and(|prior| prior >= self.loss_round_delivered) {
            self.loss_round_delivered = s.delivered;
            self.loss_round_start = true;
        }
    }

    /// A new round has new largest values.
    pub(super) fn begin_latest(&mut self, s: &RateSample) {
        if self.loss_round_start {
            self.latest_bandwidth = rate(s);
            self.latest_inflight = delivered(s);
        }
    }

    pub(super) fn forget_losses(&mut self) {
        self.loss_in_round = false;
        self.echo_in_round = false;
        self.latest_bandwidth = 0;
        self.latest_inflight = 0;
    }

    /// Follows rounds and rates. At the end of a round with losses, the short-term bounds fall to
    /// what was delivered, but by no more than three tenths.
    pub(super) fn update_signals(&mut self, window: &Window, s: &RateSample) {
        self.update_round(s);
        self.update_max_bandwidth(s);
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !self.mode.is_accelerating() {
            let reduced = |bound: u64, first, latest: u64| {
                let bound = if bound == u64::MAX { first } else { bound };
                latest.max(times(BETA, bound))
            };
            self.shortterm_bandwidth = reduced(self.shortterm_bandwidth, self.max_bandwidth(), self.latest_bandwidth);
            self.shortterm_inflight = reduced(self.shortterm_inflight, window.cwnd, self.latest_inflight);
            if self.echo_in_round {
                self.shortterm_inflight = self.shortterm_inflight.min(times(ECN_BETA, self.latest_inflight));
            }
        }
        self.loss_in_round = false;
        self.echo_in_round = false;
    }

    pub(super) fn forget_shortterm(&mut self) {
        self.shortterm_bandwidth = u64::MAX;
        self.shortterm_inflight = u64::MAX;
    }

    /// More than 2 % of what was in the network is lost. Without SACK, a round trip shows only one
    /// loss.
    pub(super) fn is_too_much(&self, lost: u64, in_flight: u64) -> bool {
        u128::from(lost) * u128::from(UNIT) > u128::from(in_flight) * u128::from(LOSS_THRESHOLD)
            || (lost > 0 && !self.sack)
    }

    fn note_loss(&mut self, window: &Window) {
        if !self.loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.save_for_undo(window);
        }
        self.loss_in_round = true;
    }

    /// Section 5.5.10.2: handles a lost segment.
    pub(super) fn lose(&mut self, window: &Window, now: Time, lost: &LostSegment) {
        self.note_loss(window);
        if self.last_lost.is_none_or(|last| lost.number != last + 1) {
            self.lost_ranges += 1;
        }
        self.last_lost = Some(lost.number);
        if self.is_probe_sample && self.is_too_much(lost.lost, lost.tx_in_flight) {
            self.end_high_probe(window, now, inflight_at_loss(lost), lost.app_limited);
        }
    }

    /// An echo of a congestion mark: a loss in an unknown part of the window.
    pub(super) fn take_echo(&mut self, window: &Window, s: &RateSample) {
        if !core::mem::take(&mut self.echoed) {
            return;
        }
        self.note_loss(window);
        self.echo_in_round = true;
        if self.is_probe_sample {
            self.end_high_probe(window, s.now, s.tx_in_flight, s.app_limited);
        }
        if self.mode == Mode::Startup && !self.filled_pipe {
            let again = self.echo_round.is_some_and(|last| self.round <= last + 2);
            self.echo_round = Some(self.round);
            if again {
                self.end_startup();
            }
        }
    }

    /// Keeps the state before a recovery. Its later losses do not count.
    pub(super) fn save_for_undo(&mut self, window: &Window) {
        if !self.was_recovering {
            self.save_cwnd(window);
            self.undo = Undo {
                mode: None,
                shortterm_bandwidth: self.shortterm_bandwidth,
                shortterm_inflight: self.shortterm_inflight,
                longterm_inflight: self.longterm_inflight,
            };
        }
    }

    /// Section 5.5.11.2: nothing was lost.
    pub(super) fn undo_recovery(&mut self, window: &mut Window) {
        let undo = self.undo;
        self.restore_cwnd(window);
        self.loss_in_round = false;
        self.look_for_full_pipe(0);
        self.shortterm_bandwidth = self.shortterm_bandwidth.max(undo.shortterm_bandwidth);
        self.shortterm_inflight = self.shortterm_inflight.max(undo.shortterm_inflight);
        self.longterm_inflight = self.longterm_inflight.max(undo.longterm_inflight);
        match undo.mode {
            Some(Mode::Startup) if self.mode != Mode::Startup => {
                self.filled_pipe = false;
                if self.mode != Mode::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(Mode::Up) if !matches!(self.mode, Mode::Up | Mode::ProbeRtt) => self.start_refill(),
            _ => {}
        }
        self.undo.mode = None;
    }
}

/// The bytes in the network at which losses have exceeded the threshold, within the lost segment or
/// before it.
pub(super) fn inflight_at_loss(lost: &LostSegment) -> u64 {
    let in_flight = lost.tx_in_flight.saturating_sub(lost.len);
    let lost_before = lost.lost.saturating_sub(lost.len);
    let more = times(LOSS_THRESHOLD, in_flight).saturating_sub(lost_before);
    in_flight + more * UNIT / (UNIT - LOSS_THRESHOLD)
}
