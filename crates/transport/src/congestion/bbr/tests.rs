//! Gains, phases and filters of BBR on synthetic samples.
//!
//! Each test feeds samples of a path and looks at the window and the pacing rate.

use super::*;

const MSS: u64 = 1_000;

fn bbr() -> (Bbr, Window) {
    let config = TcpConfig { mss: MSS as u32, ..TcpConfig::default() };
    (Bbr::new(&config), Window::new(MSS as u32, 10))
}

fn ms(ms: i64) -> Time {
    Time::from_ps(ms * 1_000_000_000)
}

/// A round trip of 40 ms in which `segments` were delivered, told at once.
fn round(bbr: &Bbr, now: Time, segments: u64) -> RateSample {
    let delivered = bbr.0.next_round_delivered + segments * MSS;
    RateSample {
        now,
        rate: Some(rate_of(segments * MSS, Duration::from_ms(40))),
        app_limited: false,
        prior_delivered: Some(bbr.0.next_round_delivered),
        delivered,
        newly_delivered: segments * MSS,
        newly_lost: 0,
        rtt: Some(Duration::from_ms(40)),
        in_flight: segments * MSS,
        prior_in_flight: 2 * segments * MSS,
        is_recovering: false,
        is_fast_recovery: false,
        window_limited: true,
        tx_in_flight: 0,
        lost: 0,
    }
}

/// Up to ProbeBW over a pipe of 100 segments.
fn cruising() -> (Bbr, Window, i64) {
    let (mut bbr, mut window) = bbr();
    let mut now = 0;
    while bbr.mode() != Mode::ProbeBw {
        now += 40;
        let sample = round(&bbr, ms(now), 100);
        bbr.on_rate(&mut window, &sample);
        assert!(now < 4_000);
    }
    (bbr, window, now)
}

#[test]
fn gains_are_those_of_the_draft() {
    let gain = |g: u64| g as f64 / UNIT as f64;
    let high = 2.0 / core::f64::consts::LN_2;
    assert!((gain(HIGH_GAIN) - high).abs() < 1e-3 && (gain(DRAIN_GAIN) - 1.0 / high).abs() < 1e-3);
    assert!((CYCLE.iter().map(|&g| gain(g)).sum::<f64>() / 8.0 - 1.0).abs() < 1e-9, "the cycle's mean is one");
    // The least gain that doubles: e^(2/g) = 2.
    assert!(((2.0 / gain(HIGH_GAIN)).exp() - 2.0).abs() < 1e-3);
}

#[test]
fn the_first_rate_is_that_of_the_initial_window() {
    let (mut b, mut window) = bbr();
    let nominal = |rtt_ms: u64| 10 * MSS * 8_000 / rtt_ms * HIGH_GAIN / UNIT;
    assert_eq!(b.pacing_rate().unwrap().as_bps(), nominal(1));
    b.on_open(Duration::from_ms(50));
    assert_eq!(b.pacing_rate().unwrap().as_bps(), nominal(50));
    // Without a handshake, the first data does.
    b = bbr().0;
    let first = RateSample { rate: None, ..round(&b, ms(40), 1) };
    b.on_rate(&mut window, &first);
    assert_eq!(b.pacing_rate().unwrap().as_bps(), nominal(40));
}

#[test]
fn startup_ends_after_three_rounds_without_growth_by_a_quarter() {
    let (mut b, mut window) = bbr();
    // By a quarter; by less; by more than a quarter since the last time that counted; by less.
    for (i, (segments, rounds_without)) in [(100, 0), (125, 0), (150, 1), (180, 0), (190, 1)].into_iter().enumerate() {
        let sample = round(&b, ms(40 * (i as i64 + 1)), segments);
        b.on_rate(&mut window, &sample);
        assert_eq!((b.0.full_rounds, b.0.filled_pipe), (rounds_without, false), "{segments}");
    }
    assert_eq!(b.mode(), Mode::Startup);
    for _ in 0..2 {
        let sample = RateSample { in_flight: 1_000 * MSS, ..round(&b, ms(400), 190) };
        b.on_rate(&mut window, &sample);
    }
    assert_eq!(b.mode(), Mode::Drain);
    assert_eq!(b.pacing_rate().unwrap().as_bps(), times(DRAIN_GAIN, b.bandwidth().as_bps()));
    // Drained at a bandwidth-delay product and three segments.
    for (in_flight, mode) in [(194, Mode::Drain), (193, Mode::ProbeBw)] {
        let sample = RateSample { in_flight: in_flight * MSS, ..round(&b, ms(440), 190) };
        b.on_rate(&mut window, &sample);
        assert_eq!(b.mode(), mode);
    }
}

#[test]
fn app_limited_samples_count_only_if_they_are_larger() {
    let (mut b, mut window, mut now) = cruising();
    let limited = |b: &Bbr, now, segments| RateSample { app_limited: true, ..round(b, ms(now), segments) };
    for _ in 0..20 {
        now += 40;
        let sample = limited(&b, now, 50);
        b.on_rate(&mut window, &sample);
    }
    assert_eq!(b.bandwidth(), rate_of(100 * MSS, Duration::from_ms(40)));
    let sample = limited(&b, now + 40, 120);
    b.on_rate(&mut window, &sample);
    assert_eq!(b.bandwidth(), rate_of(120 * MSS, Duration::from_ms(40)));
    // Ten rounds later it is forgotten.
    for i in 1..=10 {
        assert_eq!(b.bandwidth(), rate_of(120 * MSS, Duration::from_ms(40)), "{i}");
        let sample = round(&b, ms(now + 40 + 40 * i), 60);
        b.on_rate(&mut window, &sample);
    }
    assert_eq!(b.bandwidth(), rate_of(60 * MSS, Duration::from_ms(40)));
}

#[test]
fn the_cycle_goes_through_its_eight_gains() {
    let (mut b, mut window, mut now) = cruising();
    assert_ne!(b.0.pacing_gain, CYCLE[1], "it begins anywhere but there");
    let mut gains = Vec::new();
    for _ in 0..16 {
        now += 41;
        let sample = round(&b, ms(now), 100);
        b.on_rate(&mut window, &sample);
        gains.push(b.0.pacing_gain);
        assert_eq!(b.pacing_rate().unwrap().as_bps(), times(b.0.pacing_gain, b.bandwidth().as_bps()));
    }
    let probe = gains.iter().position(|&g| g == CYCLE[0]).unwrap();
    assert_eq!(gains[probe..probe + 8], CYCLE);
    assert_eq!(window.cwnd, 203 * MSS, "two products, and three segments");
    // Probing lasts until that much is in the network, or a loss; draining ends once it is gone.
    while b.0.pacing_gain != CYCLE[0] {
        now += 41;
        let sample = round(&b, ms(now), 100);
        b.on_rate(&mut window, &sample);
    }
    for (prior, newly_lost, gain) in [(127, 0, 1_280), (127, MSS, 768), (104, 0, 768), (103, 0, 1_024)] {
        now += if gain == 1_280 || newly_lost > 0 { 41 } else { 1 };
        let sample = RateSample { prior_in_flight: prior * MSS, newly_lost, ..round(&b, ms(now), 100) };
        b.on_rate(&mut window, &sample);
        assert_eq!(b.0.pacing_gain, gain, "{prior}");
    }
}

#[test]
fn the_round_trip_is_probed_after_ten_seconds() {
    let (mut b, mut window, mut now) = cruising();
    let queued = |b: &Bbr, now| RateSample { rtt: Some(Duration::from_ms(45)), ..round(b, ms(now), 100) };
    let begin = b.0.rtprop_at;
    while b.mode() == Mode::ProbeBw {
        now += 45;
        let sample = queued(&b, now);
        b.on_rate(&mut window, &sample);
        assert!(ms(now) - begin < Duration::from_secs(11));
    }
    assert!(ms(now) - begin > Duration::from_secs(10));
    assert_eq!((b.mode(), window.cwnd), (Mode::ProbeRtt, 4 * MSS));
    // 200 ms, and a round, from when four segments are left.
    let low = |b: &mut Bbr, window: &mut Window, now, in_flight| {
        let sample = RateSample { in_flight: in_flight * MSS, ..round(b, ms(now), 4) };
        assert_eq!(b.on_rate(window, &sample), b.mode() == Mode::ProbeRtt);
    };
    low(&mut b, &mut window, now + 100, 5);
    low(&mut b, &mut window, now + 400, 4);
    low(&mut b, &mut window, now + 600, 4);
    assert_eq!((b.mode(), window.cwnd), (Mode::ProbeRtt, 4 * MSS));
    low(&mut b, &mut window, now + 601, 4);
    assert_eq!((b.mode(), b.rtprop()), (Mode::ProbeBw, Some(Duration::from_ms(40))));
    assert_eq!(window.cwnd, 203 * MSS, "as before");
}

#[test]
fn a_recovery_begins_with_a_round_of_conservation() {
    let (mut b, mut window, now) = cruising();
    for i in 0..20 {
        let sample = round(&b, ms(now + 1 + i), 100);
        b.on_rate(&mut window, &sample);
    }
    let before = window.cwnd;
    let lost = |b: &Bbr, newly_delivered, newly_lost, in_flight, prior| RateSample {
        newly_delivered,
        newly_lost,
        in_flight,
        prior_delivered: Some(prior),
        is_recovering: true,
        is_fast_recovery: true,
        ..round(b, ms(now + 40), 100)
    };
    let sample = lost(&b, MSS, 3 * MSS, 60 * MSS, 0);
    b.on_rate(&mut window, &sample);
    assert_eq!(window.cwnd, 61 * MSS);
    let sample = lost(&b, 2 * MSS, 10 * MSS, 70 * MSS, 0);
    b.on_rate(&mut window, &sample);
    assert_eq!(window.cwnd, 72 * MSS, "no less than what is there and what has left");
    // A round later it grows by what is delivered, and falls by what is lost.
    let sample = lost(&b, 5 * MSS, 2 * MSS, 70 * MSS, u64::MAX);
    b.on_rate(&mut window, &sample);
    assert_eq!(window.cwnd, 75 * MSS);
    let sample = round(&b, ms(now + 90), 1);
    b.on_rate(&mut window, &sample);
    assert_eq!(window.cwnd, before);
    // A timeout: one segment, then at least four, and the old window at its end.
    b.on_timeout(&mut window, 0, true);
    assert_eq!(window.cwnd, MSS);
    let sample = RateSample { is_recovering: true, ..round(&b, ms(now + 400), 1) };
    b.on_rate(&mut window, &sample);
    assert_eq!(window.cwnd, 4 * MSS);
    let sample = round(&b, ms(now + 500), 1);
    b.on_rate(&mut window, &sample);
    assert_eq!(window.cwnd, before);
}

#[test]
fn idleness_is_no_reason_to_probe() {
    let (mut b, mut window, now) = cruising();
    b.0.pacing_rate = Rate::bps(1);
    b.on_restart(&mut window, ms(now + 60_000));
    assert_eq!(b.pacing_rate(), Some(b.bandwidth()));
    let sample = round(&b, ms(now + 60_000), 100);
    b.on_rate(&mut window, &sample);
    assert_eq!(b.mode(), Mode::ProbeBw);
}
