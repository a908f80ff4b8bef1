//! States, bounds and filters of BBR version 3 on synthetic samples.
//!
//! They follow the test cases of the draft's appendix. Each sample is a round trip of 40 ms,
//! unless a test says otherwise.

use super::*;

const MSS: u64 = 1_000;
/// The path delivers this in a round trip.
const PIPE: u64 = 100;

fn ms(ms: i64) -> Time {
    Time::from_ps(ms * 1_000_000_000)
}

/// The rate of `segments` per round trip.
fn per_round(segments: u64) -> u64 {
    rate_of(segments * MSS, Duration::from_ms(40)).as_bps()
}

struct Flow {
    bbr: Bbr3,
    window: Window,
    now: i64,
}

impl Flow {
    fn new(config: TcpConfig) -> Self {
        let config = TcpConfig { mss: MSS as u32, ..config };
        Self { bbr: Bbr3::new(&config), window: Window::new(MSS as u32, 10), now: 0 }
    }

    /// A round trip in which `segments` were delivered, told at once.
    fn round(&mut self, segments: u64) -> RateSample {
        self.now += 40;
        let prior = self.bbr.0.delivered;
        RateSample {
            now: ms(self.now),
            rate: Some(Rate::bps(per_round(segments))),
            app_limited: false,
            prior_delivered: Some(prior),
            delivered: prior + segments * MSS,
            newly_delivered: segments * MSS,
            newly_lost: 0,
            rtt: Some(Duration::from_ms(40)),
            in_flight: 2 * segments * MSS,
            prior_in_flight: 2 * segments * MSS,
            is_recovering: false,
            is_fast_recovery: false,
            window_limited: false,
            tx_in_flight: segments * MSS,
            lost: 0,
        }
    }

    fn take(&mut self, sample: &RateSample) -> Mode {
        let limits = self.bbr.on_rate(&mut self.window, sample);
        assert_eq!(limits, self.bbr.mode() == Mode::ProbeRtt);
        self.bbr.mode()
    }

    fn rounds(&mut self, rounds: usize, segments: u64) -> Mode {
        for _ in 0..rounds {
            let sample = self.round(segments);
            self.take(&sample);
        }
        self.bbr.mode()
    }

    /// A sample that ends no round, with an empty queue.
    fn drained(&mut self) -> Mode {
        let sample = RateSample { prior_delivered: None, newly_delivered: 0, in_flight: 0, ..self.round(0) };
        self.take(&RateSample { rate: None, ..sample })
    }

    /// A lost segment that was sent with `tx_in_flight` segments in the network, and since when
    /// `lost` of them were lost.
    fn lose(&mut self, number: u64, tx_in_flight: u64, lost: u64) {
        let sample = RateSample { delivered: self.bbr.0.delivered, ..self.round(0) };
        self.now -= 40;
        let (tx_in_flight, lost) = (tx_in_flight * MSS, lost * MSS);
        let lost = LostSegment { number, len: MSS, tx_in_flight, lost, app_limited: false };
        self.bbr.on_lost_segment(&self.window, &sample, &lost);
    }

    fn pacing_rate(&self) -> u64 {
        self.bbr.0.pacing_rate.as_bps()
    }

    /// In Cruise, on the pipe of [`PIPE`] segments.
    fn cruising() -> Self {
        let mut flow = Self::new(TcpConfig::default());
        assert_eq!(flow.rounds(4, PIPE), Mode::Drain);
        assert_eq!((flow.drained(), flow.drained()), (Mode::Cruise, Mode::Cruise));
        flow
    }

    /// In Up, after a round of Refill.
    fn probing() -> Self {
        let mut flow = Self::cruising();
        flow.refill();
        assert_eq!(flow.rounds(1, PIPE), Mode::Up);
        flow
    }

    /// Waits until the next Refill, without a ProbeRTT.
    fn refill(&mut self) {
        let since = self.now;
        self.bbr.0.probe_rtt_min_at = ms(since);
        while self.bbr.mode() != Mode::Refill {
            self.rounds(1, PIPE);
            assert!(self.now - since < 3_100, "{:?}", self.bbr.mode());
        }
    }
}

#[test]
fn gains_are_those_of_the_draft() {
    let high = 4.0 * core::f64::consts::LN_2;
    assert!((STARTUP_PACING_GAIN as f64 / UNIT as f64 - high).abs() < 3e-3);
    // What the window lets into the network has left it after a round at the gain of Drain.
    assert_eq!(times(DRAIN_PACING_GAIN, CWND_GAIN), UNIT);
    assert!(times(UP_PACING_GAIN, UNIT) < UP_CWND_GAIN, "the window does not keep Up from its rate");
}

#[test]
fn the_first_rate_is_that_of_the_initial_window() {
    let mut flow = Flow::new(TcpConfig::default());
    let nominal = |rtt_ms: u64| 10 * MSS * 8_000 / rtt_ms * STARTUP_PACING_GAIN / UNIT;
    assert_eq!(flow.pacing_rate(), nominal(1));
    flow.bbr.on_open(Duration::from_ms(50));
    assert_eq!(flow.pacing_rate(), nominal(50));
    let mut flow = Flow::new(TcpConfig::default());
    let sample = RateSample { rate: None, ..flow.round(1) };
    flow.take(&sample);
    assert_eq!(flow.pacing_rate(), nominal(40), "without a handshake, the first data sets it");
}

#[test]
fn startup_ends_after_three_rounds_without_growth_by_a_quarter() {
    let mut flow = Flow::new(TcpConfig::default());
    for (segments, rounds) in [(100, 0), (125, 0), (150, 1), (160, 0), (190, 1), (190, 2)] {
        flow.rounds(1, segments);
        assert_eq!((flow.bbr.0.full_rounds, flow.bbr.mode()), (rounds, Mode::Startup), "{segments}");
    }
    let limited = RateSample { app_limited: true, ..flow.round(190) };
    assert_eq!(flow.take(&limited), Mode::Startup, "the application's limit is not the path's");
    assert_eq!(flow.rounds(1, 190), Mode::Drain);
    assert_eq!(flow.pacing_rate(), times(DRAIN_PACING_GAIN, times(PACING_SHARE, per_round(190))));
}

#[test]
fn drain_ends_with_the_queue_or_after_three_rounds() {
    let drain = || {
        let mut flow = Flow::new(TcpConfig::default());
        assert_eq!(flow.rounds(4, PIPE), Mode::Drain);
        flow
    };
    let mut flow = drain();
    // Nothing is left for Down to drain.
    for (in_flight, mode) in [(PIPE + 1, Mode::Drain), (PIPE, Mode::Cruise)] {
        let sample = RateSample { in_flight: in_flight * MSS, ..flow.round(PIPE) };
        assert_eq!(flow.take(&sample), mode);
    }
    let mut flow = drain();
    assert_eq!(flow.rounds(3, PIPE), Mode::Drain);
    assert_eq!(flow.rounds(1, PIPE), Mode::Down);
    assert_eq!(flow.pacing_rate(), times(DOWN_PACING_GAIN, times(PACING_SHARE, per_round(PIPE))));
}

/// Enough losses in enough places, in fast recovery for a round, with or without the application's
/// limit.
#[test]
fn losses_end_startup() {
    for (ranges, lost, recovering, app_limited, ended) in [
        (6, 3, true, false, true),
        (6, 3, true, true, true),
        (5, 3, true, false, false),
        (6, 2, true, false, false),
        (6, 3, false, false, false),
    ] {
        let mut flow = Flow::new(TcpConfig::default());
        flow.rounds(2, PIPE);
        // Neighbors are one range.
        (0..2 * ranges).for_each(|i| flow.lose(10 + i / 2 * 5 + i % 2, PIPE, 1));
        let losing = |flow: &mut Flow| {
            let lost = lost * MSS;
            RateSample {
                lost,
                app_limited,
                is_fast_recovery: recovering,
                is_recovering: recovering,
                ..flow.round(PIPE)
            }
        };
        let begin = RateSample { prior_delivered: Some(0), ..losing(&mut flow) };
        assert_eq!(flow.take(&begin), Mode::Startup, "not before the round's end");
        let end = losing(&mut flow);
        let mode = if ended { Mode::Drain } else { Mode::Startup };
        assert_eq!(flow.take(&end), mode, "{ranges} {lost} {recovering} {app_limited}");
        // The most that was delivered in a round.
        let bound = flow.bbr.inflight_bound();
        assert_eq!(bound.is_some(), ended);
        assert!(bound.is_none_or(|bound| bound >= PIPE * MSS));
    }
}

#[test]
fn states_of_probe_bw_follow_each_other() {
    let mut flow = Flow::cruising();
    assert_eq!(flow.window.cwnd, 2 * PIPE * MSS + flow.bbr.0.aggregation.max());
    let since = flow.now;
    flow.refill();
    // Reno would need as many rounds as there are segments in the pipe, but not more than 63.
    let rounds = (flow.now - since) / 40;
    assert!((60..=63).contains(&rounds), "{rounds}");
    assert_eq!(flow.pacing_rate(), times(PACING_SHARE, per_round(PIPE)));
    assert_eq!(flow.rounds(1, PIPE), Mode::Up);
    assert_eq!(flow.pacing_rate(), times(UP_PACING_GAIN, times(PACING_SHARE, per_round(PIPE))));
    assert_eq!(flow.rounds(2, PIPE), Mode::Up);
    assert_eq!(flow.rounds(1, PIPE), Mode::Down, "three rounds without growth");
    assert_eq!(flow.pacing_rate(), times(DOWN_PACING_GAIN, times(PACING_SHARE, per_round(PIPE))));
    assert_eq!(flow.drained(), Mode::Cruise);
    // While the application limits, the probe goes on.
    let mut flow = Flow::probing();
    for _ in 0..10 {
        let sample = RateSample { app_limited: true, ..flow.round(50) };
        assert_eq!(flow.take(&sample), Mode::Up);
    }
}

/// If the queue stays, the next probe comes without Cruise.
#[test]
fn probes_wait_two_to_three_seconds_or_as_long_as_reno() {
    let mut waits = Vec::new();
    for seed in 0..20 {
        let mut flow = Flow::cruising();
        flow.bbr.0.pick_wait(ms(seed));
        waits.push((flow.bbr.0.probe_wait, flow.bbr.0.rounds_since_probe));
        let (mut other, wait) = (Flow::cruising(), flow.bbr.0.probe_wait);
        other.bbr.0.pick_wait(ms(seed));
        assert_eq!(other.bbr.0.probe_wait, wait, "the same at the same time");
    }
    assert!(waits.iter().all(|w| w.0 >= Duration::from_secs(2) && w.0 < Duration::from_secs(3) && w.1 <= 1));
    assert!(waits.iter().any(|w| w.1 == 0) && waits.iter().any(|w| w.1 == 1));
    waits.sort();
    waits.dedup();
    assert_eq!(waits.len(), 20);
    // A pipe of 20 segments: 20 rounds, one less for half of the flows.
    let mut flow = Flow::new(TcpConfig::default());
    assert_eq!(flow.rounds(8, 20), Mode::Down);
    let first = flow.now;
    while flow.rounds(1, 20) == Mode::Down {}
    assert_eq!(flow.bbr.mode(), Mode::Refill);
    assert!((19..=20).contains(&((flow.now - first) / 40)));
    // Round trips of 500 ms: by the clock.
    let mut flow = Flow::new(TcpConfig::default());
    let slow = |flow: &mut Flow| {
        flow.now += 460;
        let sample = RateSample { rtt: Some(Duration::from_ms(500)), ..flow.round(PIPE) };
        flow.take(&sample)
    };
    while slow(&mut flow) != Mode::Down {}
    let first = flow.now;
    flow.bbr.0.probe_rtt_min_at = ms(first);
    while slow(&mut flow) != Mode::Refill {}
    assert!((2_000..=3_500).contains(&(flow.now - first)), "{}", flow.now - first);
}

#[test]
fn the_bound_is_where_losses_exceeded_two_percent() {
    let lost = |tx_in_flight, len, lost| LostSegment { number: 0, len, tx_in_flight, lost, app_limited: false };
    // The third of 100 segments: 2 % of 99 had been lost before it.
    assert_eq!(super::signals::inflight_at_loss(&lost(100_000, 1_000, 3_000)), 99_000);
    // 64 segments at once: 36 before them; x of x + 36 is 2 % at 0.73.
    assert_eq!(super::signals::inflight_at_loss(&lost(100_000, 64_000, 64_000)), 36_734);

    let mut flow = Flow::probing();
    flow.lose(500, 120, 1);
    flow.lose(501, 120, 2);
    assert_eq!((flow.bbr.mode(), flow.bbr.inflight_bound()), (Mode::Up, None), "less than 2 %");
    flow.lose(502, 120, 3);
    assert_eq!((flow.bbr.mode(), flow.bbr.inflight_bound()), (Mode::Down, Some(119_387)));
    flow.lose(503, 130, 50);
    assert_eq!(flow.bbr.inflight_bound(), Some(119_387), "one reaction per probe");
    // Down ends with headroom of 15 %.
    for (in_flight, mode) in [(101, Mode::Down), (100, Mode::Cruise)] {
        let sample = RateSample { in_flight: in_flight * MSS, prior_delivered: Some(0), ..flow.round(1) };
        assert_eq!(flow.take(&sample), mode, "{in_flight}");
    }
    assert!(flow.window.cwnd <= 119_387 - 17_908);
    // No more than three tenths below what should be there.
    let mut flow = Flow::probing();
    flow.lose(500, 10, 1);
    assert_eq!(flow.bbr.inflight_bound(), Some(70 * MSS));
    // The application's limit ends the probe, too, but is no bound.
    let mut flow = Flow::probing();
    let sample = RateSample { delivered: flow.bbr.0.delivered, ..flow.round(0) };
    let limited = LostSegment { app_limited: true, ..lost(120_000, 1_000, 3_000) };
    flow.bbr.on_lost_segment(&flow.window, &sample, &limited);
    assert_eq!((flow.bbr.mode(), flow.bbr.inflight_bound()), (Mode::Down, None));
}

/// After a probe that lost too much, the next one ends at the bound. If that was harmless, another
/// follows at once.
#[test]
fn probes_are_cautious_after_one_that_lost_too_much() {
    let mut flow = Flow::probing();
    (0..3).for_each(|i| flow.lose(500 + i, 120, i + 1));
    assert_eq!(flow.bbr.mode(), Mode::Down);
    flow.drained();
    flow.refill();
    assert_eq!(flow.rounds(1, PIPE), Mode::Up, "more than the bound was in flight");
    for (in_flight, mode) in [(117, Mode::Up), (119, Mode::Down)] {
        let sample = RateSample { prior_in_flight: in_flight * MSS, prior_delivered: Some(0), ..flow.round(1) };
        assert_eq!(flow.take(&sample), mode, "{in_flight}");
    }
    assert_eq!(flow.rounds(1, PIPE), Mode::Refill);
    assert_eq!(flow.rounds(1, PIPE), Mode::Up);
    let sample = RateSample { prior_in_flight: 119 * MSS, ..flow.round(PIPE) };
    assert_eq!(flow.take(&sample), Mode::Up);
    // If it lost too much again, the next probe waits.
    let mut flow = Flow::probing();
    (0..3).for_each(|i| flow.lose(500 + i, 120, i + 1));
    flow.drained();
    flow.refill();
    flow.rounds(1, PIPE);
    let sample = RateSample { prior_in_flight: 119 * MSS, prior_delivered: Some(0), ..flow.round(1) };
    assert_eq!(flow.take(&sample), Mode::Down);
    (0..3).for_each(|i| flow.lose(600 + i, 110, i + 1));
    assert_eq!(flow.rounds(1, PIPE), Mode::Down);
}

/// The bound grows by 1, 2, 4, ... segments per round while the window is full.
#[test]
fn the_bound_grows_exponentially() {
    let mut flow = Flow::cruising();
    flow.bbr.0.longterm_inflight = 150 * MSS;
    flow.refill();
    let full = |flow: &mut Flow| {
        let cwnd = flow.window.cwnd;
        RateSample { window_limited: true, newly_delivered: cwnd, tx_in_flight: cwnd, ..flow.round(PIPE) }
    };
    let mut bounds = Vec::new();
    for _ in 0..5 {
        let sample = full(&mut flow);
        assert_eq!(flow.take(&sample), Mode::Up, "it is the bound that limits the rate");
        bounds.push(flow.bbr.inflight_bound().expect("a bound") / MSS);
        let same = RateSample { prior_delivered: Some(0), newly_delivered: 0, ..full(&mut flow) };
        flow.take(&same);
    }
    let growth: Vec<_> = bounds.windows(2).map(|b| b[1] - b[0]).collect();
    assert_eq!(growth, [1, 2, 4, 8]);
    // A window that is not full says nothing, and neither does one with losses.
    let before = flow.bbr.inflight_bound();
    let sample = RateSample { window_limited: false, tx_in_flight: 0, ..full(&mut flow) };
    flow.take(&sample);
    let sample = RateSample { lost: 10 * MSS, ..full(&mut flow) };
    flow.take(&sample);
    assert_eq!(flow.bbr.inflight_bound(), before);
}

#[test]
fn losses_while_cruising_bound_until_the_next_probe() {
    let mut flow = Flow::cruising();
    let full = flow.window.cwnd;
    flow.lose(500, PIPE, 50);
    assert_eq!(flow.bbr.mode(), Mode::Cruise, "no probe has caused it");
    let sample = RateSample { prior_delivered: Some(0), ..flow.round(1) };
    flow.take(&sample);
    assert_eq!(flow.bbr.0.bandwidth, per_round(PIPE), "not before the round's end");
    // The rate of the round or of the one before, but at most three tenths less in each.
    for (segments, expected) in [(90, 90_000), (10, 90_000), (10, 63_000), (10, 44_100)] {
        flow.lose(600, PIPE, 1);
        flow.rounds(1, segments);
        assert_eq!(flow.bbr.0.shortterm_bandwidth, expected * 8 * 25, "{segments}");
        assert_eq!(flow.pacing_rate(), times(PACING_SHARE, expected * 8 * 25));
    }
    assert_eq!(flow.bbr.bandwidth().as_bps(), per_round(PIPE), "the model remembers");
    assert!(flow.window.cwnd < full / 2);
    flow.refill();
    assert_eq!(flow.pacing_rate(), times(PACING_SHARE, per_round(PIPE)));
    // A loss in Refill or Up sets no such bound.
    flow.lose(700, PIPE, 1);
    flow.rounds(2, PIPE);
    assert_eq!((flow.bbr.mode(), flow.bbr.0.shortterm_bandwidth), (Mode::Up, u64::MAX));
}

#[test]
fn the_rate_is_the_largest_of_two_cycles() {
    let mut flow = Flow::cruising();
    let limited = RateSample { app_limited: true, ..flow.round(50) };
    flow.take(&limited);
    assert_eq!(flow.bbr.bandwidth().as_bps(), per_round(PIPE));
    let limited = RateSample { app_limited: true, ..flow.round(110) };
    flow.take(&limited);
    assert_eq!(flow.bbr.bandwidth().as_bps(), per_round(110), "only if larger");
    // A slower path: this cycle's rates and those of the next count, then those of the slower path.
    let cycle = |flow: &mut Flow| {
        let mut was = flow.bbr.mode();
        loop {
            flow.rounds(1, 60);
            let mode = flow.bbr.mode();
            if (was, mode) == (Mode::Up, Mode::Down) {
                flow.rounds(1, 60);
                return flow.bbr.bandwidth().as_bps();
            }
            was = mode;
        }
    };
    flow.bbr.0.probe_rtt_min_at = ms(1_000_000);
    assert_eq!(cycle(&mut flow), per_round(110));
    assert_eq!(cycle(&mut flow), per_round(60));
}

#[test]
fn the_round_trip_is_probed_after_five_seconds() {
    let mut flow = Flow::cruising();
    let queued = |flow: &mut Flow| RateSample { rtt: Some(Duration::from_ms(45)), ..flow.round(PIPE) };
    let since = flow.bbr.0.probe_rtt_min_at;
    while flow.bbr.mode() != Mode::ProbeRtt {
        let sample = queued(&mut flow);
        flow.take(&sample);
    }
    let waited = ms(flow.now) - since;
    assert!(waited > Duration::from_secs(5) && waited < Duration::from_ms(5_100), "{waited:?}");
    assert_eq!(flow.window.cwnd, PIPE * MSS / 2);
    assert_eq!(flow.bbr.min_rtt(), Some(Duration::from_ms(40)), "10 s are not over");
    let low = |flow: &mut Flow, after: i64, in_flight| {
        flow.now += after - 40;
        let sample = RateSample { in_flight: in_flight * MSS, ..flow.round(PIPE / 2) };
        flow.take(&sample)
    };
    // 200 ms, and a round, from when half a product is left.
    assert_eq!(low(&mut flow, 100, 51), Mode::ProbeRtt);
    assert_eq!(low(&mut flow, 300, 50), Mode::ProbeRtt);
    assert_eq!(low(&mut flow, 200, 50), Mode::ProbeRtt);
    assert_eq!(low(&mut flow, 1, 50), Mode::Cruise);
    assert!(flow.window.cwnd >= 2 * PIPE * MSS, "as before");
    // In Startup it returns there.
    let mut flow = Flow::new(TcpConfig::default());
    flow.rounds(1, PIPE);
    flow.now += 6_000;
    let sample = RateSample { app_limited: true, ..flow.round(PIPE) };
    assert_eq!(flow.take(&sample), Mode::ProbeRtt);
    assert_eq!((low(&mut flow, 100, 50), low(&mut flow, 201, 50)), (Mode::ProbeRtt, Mode::Startup));
}

#[test]
fn idleness_replaces_a_probe_of_the_round_trip() {
    let mut flow = Flow::cruising();
    flow.now += 60_000;
    flow.bbr.0.pacing_rate = Rate::bps(1);
    flow.bbr.on_restart(&mut flow.window, ms(flow.now));
    assert_eq!(flow.pacing_rate(), times(PACING_SHARE, per_round(PIPE)));
    assert!(flow.rounds(1, PIPE) != Mode::ProbeRtt);
    // Bytes before one pause and after another are no aggregation.
    let before = flow.bbr.0.aggregation.max();
    for _ in 0..5 {
        flow.bbr.on_restart(&mut flow.window, ms(flow.now));
        flow.rounds(1, PIPE);
    }
    assert!(flow.bbr.0.aggregation.max() <= before.max(PIPE * MSS));
    // A ProbeRTT that is due to end, ends before anything is sent.
    let mut flow = Flow::cruising();
    flow.now += 6_000;
    let sample = RateSample { in_flight: 0, ..flow.round(PIPE) };
    let before = flow.window.cwnd;
    assert_eq!(flow.take(&sample), Mode::ProbeRtt);
    let sample = RateSample { in_flight: 0, ..flow.round(PIPE) };
    assert_eq!(flow.take(&sample), Mode::ProbeRtt);
    assert!(flow.window.cwnd < before);
    flow.bbr.on_restart(&mut flow.window, ms(flow.now + 201));
    assert_eq!((flow.bbr.mode(), flow.window.cwnd), (Mode::Cruise, before));
}

#[test]
fn a_timeout_is_undone_if_nothing_was_lost() {
    let mut flow = Flow::probing();
    let before = flow.window.cwnd;
    flow.bbr.on_timeout(&mut flow.window, 0, true);
    assert_eq!(flow.window.cwnd, MSS);
    (0..50).for_each(|i| flow.lose(500 + i, 120, i + 1));
    assert_eq!(flow.bbr.mode(), Mode::Down);
    let sample = RateSample { is_recovering: true, ..flow.round(1) };
    flow.take(&sample);
    assert_eq!(flow.window.cwnd, MIN_PIPE_SEGMENTS * MSS, "at least four segments");
    flow.bbr.on_spurious(&mut flow.window);
    assert_eq!((flow.window.cwnd, flow.bbr.inflight_bound()), (before, None));
    assert_eq!(flow.bbr.mode(), Mode::Refill, "the probe begins anew");
    flow.rounds(1, PIPE);
    assert!(flow.window.cwnd >= before);
    // Startup goes on.
    let mut flow = Flow::new(TcpConfig::default());
    flow.rounds(2, PIPE);
    flow.bbr.0.undo.mode = Some(Mode::Startup);
    flow.bbr.0.end_startup();
    assert_eq!(flow.rounds(1, PIPE), Mode::Drain);
    flow.bbr.on_spurious(&mut flow.window);
    assert_eq!((flow.bbr.mode(), flow.bbr.0.filled_pipe, flow.bbr.inflight_bound()), (Mode::Startup, false, None));
}

#[test]
fn a_recovery_gives_back_the_window() {
    let mut flow = Flow::cruising();
    let before = flow.window.cwnd;
    let sample = RateSample { is_recovering: true, is_fast_recovery: true, ..flow.round(PIPE) };
    flow.take(&sample);
    flow.window.cwnd = 10 * MSS;
    flow.rounds(1, PIPE);
    assert_eq!(flow.window.cwnd, before);
}

/// Acknowledgements for two round trips at once, then none for as long.
#[test]
fn aggregated_acknowledgements_enlarge_the_window() {
    let mut flow = Flow::cruising();
    for _ in 0..5 {
        flow.now += 40;
        let sample = RateSample { newly_delivered: 2 * PIPE * MSS, ..flow.round(PIPE) };
        flow.take(&sample);
    }
    let extra = flow.bbr.0.aggregation.max();
    assert!(extra >= PIPE * MSS, "{extra}");
    assert_eq!(flow.window.cwnd, 2 * PIPE * MSS + extra);
    flow.rounds(12, PIPE);
    assert!(flow.bbr.0.aggregation.max() <= extra);
}

#[test]
fn echoes_count_as_losses() {
    let echo = |flow: &mut Flow, segments| {
        flow.bbr.on_ecn(&mut flow.window, 0, ms(flow.now));
        flow.rounds(1, segments)
    };
    let mut flow = Flow::probing();
    assert_eq!(echo(&mut flow, PIPE), Mode::Down);
    assert_eq!(flow.bbr.inflight_bound(), Some(PIPE * MSS));
    let mut flow = Flow::cruising();
    assert_eq!(echo(&mut flow, PIPE), Mode::Cruise);
    flow.rounds(1, 90);
    assert_eq!(flow.bbr.0.shortterm_bandwidth, per_round(PIPE), "marks do not slow the path down");
    assert_eq!(flow.bbr.0.shortterm_inflight, PIPE * MSS * 85 / 100);
    let mut flow = Flow::new(TcpConfig::default());
    flow.rounds(1, PIPE);
    assert_eq!(echo(&mut flow, PIPE), Mode::Startup);
    assert_eq!(echo(&mut flow, PIPE), Mode::Drain);
}

/// A pipe of half a segment.
#[test]
fn four_segments_are_the_least() {
    let mut flow = Flow::new(TcpConfig::default());
    for _ in 0..40 {
        let sample = RateSample { rate: Some(Rate::bps(per_round(1) / 2)), in_flight: MSS, ..flow.round(1) };
        flow.take(&sample);
        assert!(flow.window.cwnd >= MIN_PIPE_SEGMENTS * MSS);
    }
    assert!(flow.bbr.mode().is_probe_bw());
    assert!(flow.pacing_rate() <= times(UP_PACING_GAIN, per_round(1) / 2));
}
