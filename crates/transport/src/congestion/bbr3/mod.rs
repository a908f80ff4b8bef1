//! BBR version 3 (draft-ietf-ccwg-bbr-06, July 2026).
//!
//! Section numbers are those of the draft. This file has the states other than ProbeBW, and what
//! the model sets; `probing` has ProbeBW, `signals` the path's rate and the response to losses.

mod probing;
mod signals;

use timeplane_model::{Duration, Rate, Time};

use super::max_filter::MaxFilter;
use super::{Acked, CongestionControl, LostSegment, Window};
use crate::TcpConfig;
use crate::delivery::{RateSample, rate_of};

/// A gain of one; gains and shares are in thousandths.
const UNIT: u64 = 1_000;
/// 4 ln 2: the least pacing gain that doubles the rate each round (section 2.5).
const STARTUP_PACING_GAIN: u64 = 2_770;
const DRAIN_PACING_GAIN: u64 = 500;
const DOWN_PACING_GAIN: u64 = 900;
const UP_PACING_GAIN: u64 = 1_250;
/// The window in bandwidth-delay products in most states.
const CWND_GAIN: u64 = 2_000;
const UP_CWND_GAIN: u64 = 2_250;
const PROBE_RTT_CWND_GAIN: u64 = 500;
/// Pacing is slower than the model by 1 %, so that queues shrink (section 5.6.2).
const PACING_SHARE: u64 = 990;
/// The highest loss rate in a round trip while probing: 2 %.
const LOSS_THRESHOLD: u64 = 20;
/// The largest reduction in a round trip.
const BETA: u64 = 700;
/// What an echo leaves of the bytes in the network, if no probe has caused it (RFC 8511, section
/// 3.1, for CUBIC).
const ECN_BETA: u64 = 850;
/// The share of the long-term bound that is left to other flows.
const HEADROOM: u64 = 150;
const MIN_PIPE_SEGMENTS: u64 = 4;
/// How long the least round trip counts.
const MIN_RTT_LENGTH: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_LENGTH: Duration = Duration::from_ms(200);
/// Rounds that the largest aggregation of acknowledgements counts for, once the pipe was full.
const AGGREGATION_ROUNDS: u64 = 10;
/// Rounds without growth by a quarter after which the pipe is full.
const FULL_ROUNDS: u8 = 3;
/// Separate ranges that must be lost in a round to end Startup (section 5.3.1.3).
const STARTUP_LOST_RANGES: u32 = 6;
/// Rounds after which Drain gives up.
const DRAIN_ROUNDS: u64 = 3;
/// The round trip before the first measurement.
const NOMINAL_RTT: Duration = Duration::from_ms(1);

/// The states of BBR version 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Doubles the rate each round until the pipe is full, or until losses show that it is.
    Startup,
    /// Drains the queue that Startup has left.
    Drain,
    /// ProbeBW: sends a little slower than the path delivers, until the queue is gone and there is
    /// room for others.
    Down,
    /// ProbeBW: sends at the path's rate.
    Cruise,
    /// ProbeBW: sends at the path's rate, without the bounds that losses have set since the last
    /// probe, for one round.
    Refill,
    /// ProbeBW: sends faster than the path has delivered so far.
    Up,
    /// Keeps half a bandwidth-delay product in the network for 200 ms, to measure the path without
    /// a queue.
    ProbeRtt,
}

impl Mode {
    /// Table of section 5.6.1.
    fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            Self::Drain => DRAIN_PACING_GAIN,
            Self::Down => DOWN_PACING_GAIN,
            Self::Up => UP_PACING_GAIN,
            Self::Cruise | Self::Refill | Self::ProbeRtt => UNIT,
        }
    }

    /// Table of section 5.6.1.
    fn cwnd_gain(self) -> u64 {
        match self {
            Self::Up => UP_CWND_GAIN,
            Self::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// In a state of ProbeBW.
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// In a state that looks for more bandwidth, in which losses do not set short-term bounds.
    fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// Sends at the path's delivery rate like [version 1](super::Bbr), and also learns from losses how
/// much fits into the network.
///
/// A probe that loses more than 2 % in a round trip sets a long-term bound of the bytes in the
/// network. Losses at other times set short-term bounds until the next probe. Probes are as rare as
/// the losses that Reno would cause on the same path, but follow after 3 s at the latest.
///
/// Differences from the draft:
///
/// - The send quantum is a segment, as each is paced by itself.
/// - The draft has no response to ECN of its own, but requires one. Here an echo, at most one per
///   window of data, counts as a loss. While probing it counts as more than 2 %, and echoes in two
///   successive rounds of Startup end it. At other times it also leaves 85 % of what was in the
///   network (RFC 8511), as marks do not reduce the rate of delivery. Linux's version 3 instead
///   has the share of marked segments, as DCTCP, if a route says so.
/// - Random waits are hashes of the time and of the delivered bytes, so that runs can be repeated.
/// - Losses of a fast recovery are never found to be spurious. Those of a timeout are, by F-RTO.
/// - The least round trip is that of data; the SYN's is shorter, and sets only the first pacing
///   rate.
/// - After idleness, the count of aggregated bytes starts anew with its time. Otherwise each pause
///   would add to it.
/// - To reach a bound means that no other segment fits.
/// - State for undoing is saved at the first loss of a recovery, not in each of its rounds.
/// - A slot of the bandwidth filter that got no sample does not replace one that did.
#[derive(Clone, Debug)]
pub struct Bbr3(Box<Model>);

/// What the acknowledgements of ProbeBW belong to (section 2.14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feedback {
    /// To no probe.
    None,
    /// To the round that fills the pipe.
    Refilling,
    /// To data from before the probe, which has started.
    Starting,
    /// To data that the probe has sent.
    Probe,
    /// To the probe, which has ended.
    Stopping,
}

/// What a spurious recovery must give back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The state that losses have ended.
    mode: Option<Mode>,
    shortterm_bandwidth: u64,
    shortterm_inflight: u64,
    longterm_inflight: u64,
}

/// Rates in bits of payload per second, volumes in bytes; bounds that are not set are `u64::MAX`.
#[derive(Clone, Debug)]
struct Model {
    mode: Mode,
    mss: u64,
    sack: bool,
    initial_window: u64,
    /// Bytes delivered so far.
    delivered: u64,

    // Rounds.
    round: u64,
    round_start: bool,
    next_round_delivered: u64,

    // Rates.
    /// The largest of the previous probing cycle and of the current one.
    max_bandwidths: [u64; 2],
    shortterm_bandwidth: u64,
    bandwidth: u64,
    full_bandwidth: u64,
    full_rounds: u8,
    /// The pipe is full in this Startup or Up.
    full_now: bool,
    /// The pipe was full once.
    filled_pipe: bool,

    // Volumes.
    longterm_inflight: u64,
    shortterm_inflight: u64,
    aggregation: MaxFilter,
    aggregation_since: Time,
    aggregation_delivered: u64,

    // Losses.
    loss_round_start: bool,
    loss_round_delivered: u64,
    loss_in_round: bool,
    latest_bandwidth: u64,
    latest_inflight: u64,
    lost_ranges: u32,
    last_lost: Option<u64>,
    /// An echo arrived with the current acknowledgement.
    echoed: bool,
    echo_in_round: bool,
    echo_round: Option<u64>,
    undo: Undo,

    // Round trips.
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    /// The least since the last ProbeRTT.
    probe_rtt_min: Option<Duration>,
    probe_rtt_min_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,

    // ProbeBW.
    feedback: Feedback,
    is_probe_sample: bool,
    /// The last probe lost too much.
    probe_too_high: bool,
    /// The last probe ended at the long-term bound, as the one before had lost too much.
    probe_precautionary: bool,
    up_acked: u64,
    up_acked_per_segment: u64,
    up_rounds: u32,
    rounds_since_probe: u64,
    probe_wait: Duration,
    cycle_at: Time,
    drain_round: u64,
    drawn: u64,

    // Control.
    pacing_rate: Rate,
    prior_cwnd: u64,
    was_recovering: bool,
    idle_restart: bool,
    seen_rtt: bool,
}

impl Bbr3 {
    /// The current state.
    pub fn mode(&self) -> Mode {
        self.0.mode
    }
    /// Estimated rate of the bottleneck, in payload: the largest of the last two probing cycles.
    pub fn bandwidth(&self) -> Rate {
        Rate::bps(self.0.max_bandwidth())
    }
    /// Estimated round trip without queues; `None` before the first measurement.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.0.min_rtt
    }
    /// The bytes in the network above which a probe has lost too much; `None` before one has.
    pub fn inflight_bound(&self) -> Option<u64> {
        Some(self.0.longterm_inflight).filter(|&bound| bound < u64::MAX)
    }
}

/// `share` thousandths of a value.
fn times(share: u64, value: u64) -> u64 {
    u64::try_from(u128::from(share) * u128::from(value) / u128::from(UNIT)).unwrap_or(u64::MAX)
}

impl Model {
    fn min_pipe(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.mss
    }

    fn max_bandwidth(&self) -> u64 {
        self.max_bandwidths[0].max(self.max_bandwidths[1])
    }

    /// Bandwidth-delay products at `bandwidth`; the initial window before the first measurement.
    fn products(&self, gain: u64, bandwidth: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window };
        times(gain, Rate::bps(bandwidth).bytes_in(min_rtt).get())
    }

    fn product(&self) -> u64 {
        self.products(UNIT, self.bandwidth)
    }

    /// At least four segments. In Up two more, so that a small window can grow (section 5.6.4.2).
    fn quantized(&self, inflight: u64) -> u64 {
        let more = if self.mode == Mode::Up { 2 * self.mss } else { 0 };
        inflight.max(self.min_pipe()).saturating_add(more)
    }

    /// Section 5.6.2: the rate of the initial window per round trip.
    fn init_pacing_rate(&mut self, rtt: Duration) {
        self.pacing_rate = Rate::bps(times(STARTUP_PACING_GAIN, rate_of(self.initial_window, rtt).as_bps()));
    }

    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = times(gain, times(PACING_SHARE, self.bandwidth));
        if rate > 0 && (self.filled_pipe || rate > self.pacing_rate.as_bps()) {
            self.pacing_rate = Rate::bps(rate);
        }
    }

    fn enter_startup(&mut self) {
        self.mode = Mode::Startup;
    }

    /// Startup ends when the pipe is full, or when a round in fast recovery has lost too much, in
    /// many places (section 5.3.1.3).
    fn check_startup(&mut self, s: &RateSample) {
        if self.mode == Mode::Startup && !self.filled_pipe && s.is_fast_recovery {
            let heavy = self.loss_round_start && self.lost_ranges >= STARTUP_LOST_RANGES;
            if (heavy || !self.sack) && self.is_too_much(s.lost, s.tx_in_flight) {
                self.undo.mode = Some(Mode::Startup);
                self.end_startup();
            }
        }
        if self.loss_round_start {
            self.lost_ranges = 0;
        }
        if self.mode == Mode::Startup && self.filled_pipe {
            self.mode = Mode::Drain;
            self.drain_round = self.round;
        }
    }

    /// The pipe is full because of losses, which tell how much fits into it.
    fn end_startup(&mut self) {
        self.filled_pipe = true;
        self.longterm_inflight = self.product().max(self.latest_inflight);
    }

    fn check_drain(&mut self, s: &RateSample) {
        if self.mode == Mode::Drain {
            let drained = s.in_flight <= self.quantized(self.product());
            if drained || self.round > self.drain_round + DRAIN_ROUNDS {
                self.start_down(s.now);
            }
        }
    }

    /// Section 5.3.4.3: the least round trip of 5 s decides about ProbeRTT, that of 10 s is the
    /// path's.
    fn update_min_rtt(&mut self, s: &RateSample) {
        let over = |since: Time, length| s.now > since.saturating_add(length);
        self.probe_rtt_expired = self.probe_rtt_min.is_some() && over(self.probe_rtt_min_at, PROBE_RTT_INTERVAL);
        if let Some(rtt) = s.rtt {
            if !self.seen_rtt {
                self.seen_rtt = true;
                self.init_pacing_rate(rtt);
            }
            if self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|least| rtt < least) {
                (self.probe_rtt_min, self.probe_rtt_min_at) = (Some(rtt), s.now);
            }
        }
        let lower = self.min_rtt.is_none() || self.probe_rtt_min < self.min_rtt;
        if lower || over(self.min_rtt_at, MIN_RTT_LENGTH) {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_min_at);
        }
    }

    fn check_probe_rtt(&mut self, window: &mut Window, s: &RateSample) {
        if self.mode != Mode::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd(window);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = None;
            self.feedback = Feedback::Stopping;
            self.start_round();
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                self.check_probe_rtt_done(window, s.now);
            } else if s.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done = Some(s.now.saturating_add(PROBE_RTT_LENGTH));
                self.probe_rtt_round_done = false;
                self.start_round();
            }
        }
        if s.prior_delivered.is_some() {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt_round_done && self.probe_rtt_done.is_some_and(|done| now > done) {
            self.probe_rtt_done = None;
            self.probe_rtt_min_at = now;
            self.restore_cwnd(window);
            self.forget_shortterm();
            if self.filled_pipe {
                // Less than a product is in the network: there is nothing to drain.
                self.start_down(now);
                self.mode = Mode::Cruise;
            } else {
                self.enter_startup();
            }
        }
    }

    fn probe_rtt_cwnd(&self) -> u64 {
        self.products(PROBE_RTT_CWND_GAIN, self.bandwidth).max(self.min_pipe())
    }

    /// Keeps the last window that neither a recovery nor ProbeRTT has reduced.
    fn save_cwnd(&mut self, window: &Window) {
        let disturbed = self.was_recovering || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if disturbed { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    fn restore_cwnd(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    fn set_cwnd(&self, window: &mut Window, s: &RateSample) {
        let products = self.products(self.mode.cwnd_gain(), self.bandwidth);
        let target = self.quantized(products.saturating_add(self.aggregation.max()));
        let grown = window.cwnd.saturating_add(s.newly_delivered);
        if self.filled_pipe {
            window.cwnd = grown.min(target);
        } else if window.cwnd < target || s.delivered < self.initial_window {
            window.cwnd = grown;
        }
        window.cwnd = window.cwnd.max(self.min_pipe());
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        window.cwnd = window.cwnd.min(self.bound());
    }

    /// The bound of the window because of losses (section 5.6.4.7).
    fn bound(&self) -> u64 {
        let longterm = match self.mode {
            Mode::Startup | Mode::Drain => u64::MAX,
            Mode::Down | Mode::Refill | Mode::Up => self.longterm_inflight,
            Mode::Cruise | Mode::ProbeRtt => self.inflight_with_headroom(),
        };
        longterm.min(self.shortterm_inflight).max(self.min_pipe())
    }
}

impl CongestionControl for Bbr3 {
    fn new(config: &TcpConfig) -> Self {
        let window = Window::new(config.mss, config.initial_window);
        let undo = Undo {
            mode: None,
            shortterm_bandwidth: u64::MAX,
            shortterm_inflight: u64::MAX,
            longterm_inflight: u64::MAX,
        };
        let mut model = Model {
            mode: Mode::Startup,
            mss: u64::from(window.mss),
            sack: config.sack,
            initial_window: window.cwnd,
            delivered: 0,
            round: 0,
            round_start: false,
            next_round_delivered: 0,
            max_bandwidths: [0; 2],
            shortterm_bandwidth: u64::MAX,
            bandwidth: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            full_now: false,
            filled_pipe: false,
            longterm_inflight: u64::MAX,
            shortterm_inflight: u64::MAX,
            aggregation: MaxFilter::default(),
            aggregation_since: Time::ZERO,
            aggregation_delivered: 0,
            loss_round_start: false,
            loss_round_delivered: 0,
            loss_in_round: false,
            latest_bandwidth: 0,
            latest_inflight: 0,
            lost_ranges: 0,
            last_lost: None,
            echoed: false,
            echo_in_round: false,
            echo_round: None,
            undo,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            feedback: Feedback::None,
            is_probe_sample: false,
            probe_too_high: false,
            probe_precautionary: false,
            up_acked: 0,
            up_acked_per_segment: u64::MAX,
            up_rounds: 0,
            rounds_since_probe: 0,
            probe_wait: Duration::ZERO,
            cycle_at: Time::ZERO,
            drain_round: 0,
            drawn: 0,
            pacing_rate: Rate::ZERO,
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

    fn on_ecn(&mut self, _: &mut Window, _: u64, _: Time) {
        self.0.echoed = true;
    }

    /// Section 5.6.4.4.
    fn on_timeout(&mut self, window: &mut Window, _: u64, _: bool) {
        self.0.save_for_undo(window);
        self.0.save_cwnd(window);
        self.0.was_recovering = true;
        window.collapse();
    }

    fn on_open(&mut self, rtt: Duration) {
        self.0.seen_rtt = true;
        self.0.init_pacing_rate(rtt);
    }

    /// Section 5.4.1: after idleness at the bottleneck's rate, as there is no queue to drain. If
    /// that was in ProbeRTT, it has served its purpose.
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let model = &mut *self.0;
        model.idle_restart = true;
        (model.aggregation_since, model.aggregation_delivered) = (now, 0);
        if model.mode.is_probe_bw() {
            model.set_pacing_rate(UNIT);
        } else if model.mode == Mode::ProbeRtt {
            model.check_probe_rtt_done(window, now);
        }
    }

    /// Section 5.2.3.
    fn on_rate(&mut self, window: &mut Window, s: &RateSample) -> bool {
        let model = &mut *self.0;
        model.delivered = s.delivered;
        model.follow_recovery(window, s);
        model.update_latest(s);
        model.take_echo(window, s);
        model.update_signals(window, s);
        model.update_aggregation(window, s);
        model.check_full_pipe(s);
        model.check_startup(s);
        model.check_drain(s);
        model.update_cycle(window, s);
        model.update_min_rtt(s);
        model.check_probe_rtt(window, s);
        model.begin_latest(s);
        model.bandwidth = model.max_bandwidth().min(model.shortterm_bandwidth);
        model.set_pacing_rate(model.mode.pacing_gain());
        model.set_cwnd(window, s);
        model.mode == Mode::ProbeRtt
    }

    fn weighs_losses(&self) -> bool {
        true
    }

    fn on_lost_segment(&mut self, window: &Window, sample: &RateSample, lost: &LostSegment) {
        self.0.delivered = sample.delivered;
        self.0.lose(window, sample.now, lost);
    }

    fn on_spurious(&mut self, window: &mut Window) {
        self.0.undo_recovery(window);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.0.pacing_rate)
    }
}

#[cfg(test)]
mod tests;
