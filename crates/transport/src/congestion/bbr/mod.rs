//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! Cardwell et al., ACM Queue 14(5), 2016. Section numbers are those of the draft.

use timeplane_model::{Duration, Rate, Time, mix64};

use super::max_filter::MaxFilter;
use super::{Acked, CongestionControl, Window};
use crate::TcpConfig;
use crate::delivery::{RateSample, rate_of};

/// A gain of one.
const UNIT: u64 = 1 << 10;
/// 2 / ln 2: the least gain that doubles the delivery rate each round (section 4.3.2.1).
const HIGH_GAIN: u64 = 2_955;
/// Its inverse.
const DRAIN_GAIN: u64 = 355;
/// Two bandwidth-delay products: one for the path, one for acknowledgements that are late or
/// aggregated (section 4.2.3).
const CWND_GAIN: u64 = 2 * UNIT;
/// Probe, drain, cruise (section 4.3.4.3).
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Rounds that the largest delivery rate counts for.
const BANDWIDTH_ROUNDS: u64 = 10;
/// How long the least round trip counts.
const RTPROP_LENGTH: Duration = Duration::from_secs(10);
const PROBE_RTT_LENGTH: Duration = Duration::from_ms(200);
const MIN_PIPE_SEGMENTS: u64 = 4;
/// Rounds without growth by a quarter after which the pipe is full.
const FULL_ROUNDS: u8 = 3;
/// The round trip before the first measurement.
const NOMINAL_RTT: Duration = Duration::from_ms(1);

/// The states of BBR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Doubles the rate each round until the pipe is full.
    Startup,
    /// Drains the queue that Startup has left.
    Drain,
    /// Sends at the bottleneck's rate, and a little more and less in turn.
    ProbeBw,
    /// Keeps four segments in the network for 200 ms, to measure the path without a queue.
    ProbeRtt,
}

/// Sends at the path's delivery rate, with as much in the network as that needs: bottleneck
/// bandwidth and round-trip propagation time.
///
/// Differences from the draft: gains are multiples of 1/1024. The send quantum is a segment, as
/// each is paced by itself. The first measured round trip sets the initial pacing rate, even after
/// the first data. The first phase of ProbeBW is a hash of the time and of the delivered bytes
/// instead of random, so that flows that are not in lockstep differ. Marks and losses as such do
/// not matter; the sender decides which segments are lost and when to repeat them.
#[derive(Clone, Debug)]
pub struct Bbr(Box<Model>);

#[derive(Clone, Debug)]
struct Model {
    mode: Mode,
    mss: u64,
    initial_window: u64,
    bandwidth: MaxFilter,
    rtprop: Option<Duration>,
    rtprop_at: Time,
    rtprop_expired: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    round: u64,
    round_start: bool,
    next_round_delivered: u64,
    full_bandwidth: u64,
    full_rounds: u8,
    filled_pipe: bool,
    pacing_gain: u64,
    cwnd_gain: u64,
    pacing_rate: Rate,
    cycle: usize,
    cycle_at: Time,
    conservation: bool,
    prior_cwnd: u64,
    was_recovering: bool,
    idle_restart: bool,
    seen_rtt: bool,
}

impl Bbr {
    /// The current state.
    pub fn mode(&self) -> Mode {
        self.0.mode
    }
    /// Estimated rate of the bottleneck, in payload.
    pub fn bandwidth(&self) -> Rate {
        Rate::bps(self.0.bandwidth.max())
    }
    /// Estimated round trip without queues; `None` before the first measurement.
    pub fn rtprop(&self) -> Option<Duration> {
        self.0.rtprop
    }
}

fn times(gain: u64, value: u64) -> u64 {
    u64::try_from(u128::from(gain) * u128::from(value) / u128::from(UNIT)).unwrap_or(u64::MAX)
}

impl Model {
    fn min_pipe(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.mss
    }

    /// BBRInflight (section 4.2.3.2), bytes.
    fn inflight(&self, gain: u64) -> u64 {
        let Some(rtprop) = self.rtprop else { return self.initial_window };
        let bdp = Rate::bps(self.bandwidth.max()).bytes_in(rtprop).get();
        times(gain, bdp).saturating_add(3 * self.mss)
    }

    /// Section 4.2.1: the rate of the initial window per round trip.
    fn init_pacing_rate(&mut self, rtt: Duration) {
        self.pacing_rate = Rate::bps(times(HIGH_GAIN, rate_of(self.initial_window, rtt).as_bps()));
    }

    fn update_bandwidth(&mut self, s: &RateSample) {
        self.round_start = s.prior_delivered.is_some_and(|prior| prior >= self.next_round_delivered);
        if self.round_start {
            self.next_round_delivered = s.delivered;
            self.round += 1;
            self.conservation = false;
        }
        if let Some(rate) = s.rate.map(Rate::as_bps)
            && (!s.app_limited || rate >= self.bandwidth.max())
        {
            self.bandwidth.update(self.round, rate, BANDWIDTH_ROUNDS);
        }
    }

    fn check_cycle(&mut self, s: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let over = self.rtprop.is_some_and(|rtprop| s.now - self.cycle_at > rtprop);
        let next = if self.pacing_gain > UNIT {
            over && (s.newly_lost > 0 || s.prior_in_flight >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < UNIT {
            over || s.prior_in_flight <= self.inflight(UNIT)
        } else {
            over
        };
        if next {
            self.advance_cycle(s.now);
        }
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle_at = now;
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.pacing_gain = CYCLE[self.cycle];
    }

    fn enter_probe_bw(&mut self, s: &RateSample) {
        self.mode = Mode::ProbeBw;
        self.cwnd_gain = CWND_GAIN;
        // Any phase except the one that drains.
        let draw = mix64(s.now.as_ps() as u64 ^ s.delivered) % (CYCLE.len() as u64 - 1);
        self.cycle = CYCLE.len() - 1 - draw as usize;
        self.advance_cycle(s.now);
    }

    fn enter_startup(&mut self) {
        self.mode = Mode::Startup;
        (self.pacing_gain, self.cwnd_gain) = (HIGH_GAIN, HIGH_GAIN);
    }

    fn check_full_pipe(&mut self, s: &RateSample) {
        if !self.filled_pipe && self.round_start && !s.app_limited {
            if self.bandwidth.max() >= times(UNIT * 5 / 4, self.full_bandwidth) {
                self.full_bandwidth = self.bandwidth.max();
                self.full_rounds = 0;
            } else {
                self.full_rounds += 1;
                self.filled_pipe = self.full_rounds >= FULL_ROUNDS;
            }
        }
        if self.mode == Mode::Startup && self.filled_pipe {
            self.mode = Mode::Drain;
            (self.pacing_gain, self.cwnd_gain) = (DRAIN_GAIN, HIGH_GAIN);
        }
        if self.mode == Mode::Drain && s.in_flight <= self.inflight(UNIT) {
            self.enter_probe_bw(s);
        }
    }

    fn update_rtprop(&mut self, s: &RateSample) {
        self.rtprop_expired = self.rtprop.is_some() && s.now > self.rtprop_at.saturating_add(RTPROP_LENGTH);
        if let Some(rtt) = s.rtt {
            if !self.seen_rtt {
                self.seen_rtt = true;
                self.init_pacing_rate(rtt);
            }
            if self.rtprop_expired || self.rtprop.is_none_or(|least| rtt <= least) {
                self.rtprop = Some(rtt);
                self.rtprop_at = s.now;
            }
        }
    }

    fn check_probe_rtt(&mut self, window: &mut Window, s: &RateSample) {
        if self.mode != Mode::ProbeRtt && self.rtprop_expired && !self.idle_restart {
            self.save_cwnd(window);
            self.mode = Mode::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (UNIT, UNIT);
            self.probe_rtt_done = None;
        }
        self.idle_restart = false;
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match self.probe_rtt_done {
            None if s.in_flight <= self.min_pipe() => {
                self.probe_rtt_done = Some(s.now.saturating_add(PROBE_RTT_LENGTH));
                self.probe_rtt_round_done = false;
                self.next_round_delivered = s.delivered;
            }
            None => {}
            Some(done) => {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done && s.now > done {
                    self.rtprop_at = s.now;
                    window.cwnd = window.cwnd.max(self.prior_cwnd);
                    if self.filled_pipe {
                        self.enter_probe_bw(s);
                    } else {
                        self.enter_startup();
                    }
                }
            }
        }
    }

    /// BBRSaveCwnd: the last window that neither a recovery nor ProbeRTT has reduced.
    fn save_cwnd(&mut self, window: &Window) {
        let disturbed = self.was_recovering || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if disturbed { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = times(gain, self.bandwidth.max());
        if rate > 0 && (self.filled_pipe || rate > self.pacing_rate.as_bps()) {
            self.pacing_rate = Rate::bps(rate);
        }
    }

    /// Section 4.2.3.4: as much as has left the network, in the first round of a fast recovery.
    fn modulate_for_recovery(&mut self, window: &mut Window, s: &RateSample) {
        if s.is_fast_recovery && !self.was_recovering {
            self.save_cwnd(window);
            self.conservation = true;
            self.next_round_delivered = s.delivered;
            window.cwnd = s.in_flight + s.newly_delivered.max(self.mss);
        } else {
            window.cwnd = window.cwnd.saturating_sub(s.newly_lost).max(self.mss);
            if self.was_recovering && !s.is_recovering {
                self.conservation = false;
                window.cwnd = window.cwnd.max(self.prior_cwnd);
            }
        }
        self.was_recovering = s.is_recovering;
        if self.conservation {
            window.cwnd = window.cwnd.max(s.in_flight + s.newly_delivered);
        }
    }

    fn set_cwnd(&mut self, window: &mut Window, s: &RateSample) {
        let target = self.inflight(self.cwnd_gain);
        self.modulate_for_recovery(window, s);
        if !self.conservation {
            let grown = window.cwnd.saturating_add(s.newly_delivered);
            if self.filled_pipe {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || s.delivered < self.initial_window {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.max(self.min_pipe());
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.min_pipe());
        }
    }
}

impl CongestionControl for Bbr {
    fn new(config: &TcpConfig) -> Self {
        let window = Window::new(config.mss, config.initial_window);
        let mut model = Model {
            mode: Mode::Startup,
            mss: u64::from(window.mss),
            initial_window: window.cwnd,
            bandwidth: MaxFilter::default(),
            rtprop: None,
            rtprop_at: Time::ZERO,
            rtprop_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            round: 0,
            round_start: false,
            next_round_delivered: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            filled_pipe: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: Rate::ZERO,
            cycle: 0,
            cycle_at: Time::ZERO,
            conservation: false,
            prior_cwnd: 0,
            was_recovering: false,
            idle_restart: false,
            seen_rtt: false,
        };
        model.init_pacing_rate(NOMINAL_RTT);
        Self(Box::new(model))
    }

    fn on_ack(&mut self, _: &mut Window, _: &Acked) {}
    fn on_loss(&mut self, _: &mut Window, _: u64, _: Time) {}

    fn on_timeout(&mut self, window: &mut Window, _: u64, _: bool) {
        self.0.save_cwnd(window);
        self.0.was_recovering = true;
        self.0.conservation = false;
        window.collapse();
    }

    fn on_open(&mut self, rtt: Duration) {
        self.0.seen_rtt = true;
        self.0.init_pacing_rate(rtt);
    }

    /// Section 4.3.4.4: after idleness at the bottleneck's rate, as there is no queue to drain.
    fn on_restart(&mut self, _: &mut Window, _: Time) {
        self.0.idle_restart = true;
        if self.0.mode == Mode::ProbeBw {
            self.0.set_pacing_rate(UNIT);
        }
    }

    fn on_rate(&mut self, window: &mut Window, s: &RateSample) -> bool {
        let model = &mut *self.0;
        model.update_bandwidth(s);
        model.check_cycle(s);
        model.check_full_pipe(s);
        model.update_rtprop(s);
        model.check_probe_rtt(window, s);
        model.set_pacing_rate(model.pacing_gain);
        model.set_cwnd(window, s);
        model.mode == Mode::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.0.pacing_rate)
    }
}

#[cfg(test)]
mod tests;
