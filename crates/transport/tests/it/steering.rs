//! Tests of a window that is set from outside: its immediate effect, its behavior under losses, and
//! that no stop loses bytes.

use crate::path::{Event, Path, PathConfig};
use proptest::prelude::*;
use timeplane_model::{Bytes, Duration, Named, Rate, Time};
use timeplane_transport::{Ack, CongestionKind, DelayedAck, HEADER_BYTES, Sender, Steering, TcpConfig};

const MSS: u64 = 1_000;

fn tcp() -> TcpConfig {
    let delayed_ack = DelayedAck { segments: 1, ..DelayedAck::default() };
    TcpConfig { mss: MSS as u32, delayed_ack, ..TcpConfig::default() }
}

fn window(segments: u64) -> Steering {
    Steering { window: segments * MSS, rate: None, hold: false }
}

const STOP: Steering = Steering { window: 0, rate: None, hold: false };

fn ms(ms: i64) -> Time {
    Time::from_ps(ms * 1_000_000_000)
}

fn sent(sender: &mut Sender, now: Time) -> usize {
    std::iter::from_fn(|| sender.poll(now)).count()
}

fn acknowledge(sender: &mut Sender, now: Time, segments: u64) {
    sender.on_ack(now, &Ack { ack: segments * MSS, ..Ack::default() });
}

#[test]
fn a_window_holds_at_once_and_does_not_grow() {
    // BBR paces under any window.
    let paces = |c: CongestionKind| matches!(c, CongestionKind::Bbr | CongestionKind::Bbr3);
    for &congestion in CongestionKind::all().iter().filter(|&&c| !paces(c)) {
        let mut sender = Sender::new(&TcpConfig { congestion, ..tcp() }, 1_000 * MSS);
        sender.start(Time::ZERO);
        sender.steer(Time::ZERO, window(100));
        assert_eq!(sent(&mut sender, Time::ZERO), 100, "{congestion:?}");
        sender.steer(ms(1), window(20));
        assert_eq!((sender.cwnd(), sent(&mut sender, ms(1))), (20 * MSS, 0));
        acknowledge(&mut sender, ms(10), 80);
        assert_eq!(sent(&mut sender, ms(10)), 0);
        acknowledge(&mut sender, ms(11), 81);
        assert_eq!(sent(&mut sender, ms(11)), 1);
        acknowledge(&mut sender, ms(20), 101);
        assert_eq!(sent(&mut sender, ms(20)), 20);
        assert_eq!(sender.cwnd(), 20 * MSS);
        sender.steer(ms(21), Steering { window: 1, ..window(1) });
        assert_eq!(sender.cwnd(), MSS, "no less than a segment");
    }
}

#[test]
fn a_rate_spaces_segments_from_the_jump_on() {
    let mut sender = Sender::new(&tcp(), 1_000 * MSS);
    sender.start(Time::ZERO);
    let rate = Rate::mbps(100);
    // A pace so slow that the next segment would be due in 23 hours.
    sender.steer(Time::ZERO, Steering { rate: Some(Rate::bps(100)), ..window(50) });
    assert_eq!(sent(&mut sender, Time::ZERO), 1);
    sender.steer(ms(1), Steering { rate: Some(rate), ..window(50) });
    let interval = rate.time_for(Bytes::new(MSS + u64::from(HEADER_BYTES)));
    let mut now = ms(1);
    for _ in 1..50 {
        assert!(sender.poll(now).is_none());
        assert_eq!(sender.deadline(), Some(now + interval));
        now += interval;
        sender.on_timeout(now);
        assert!(sender.poll(now).is_some());
    }
    assert!(sender.poll(now + interval * 10).is_none(), "the window is full");
    sender.steer(now, window(60));
    assert_eq!(sent(&mut sender, now), 10, "no rate, no pacing");
}

/// 100 Mb/s, 40 ms: the window jumps from ten segments to the pipe's 481.
#[test]
fn the_pipe_is_full_without_a_queue() {
    let rate = Rate::mbps(100);
    let wire = (MSS + u64::from(HEADER_BYTES)) as f64;
    let pipe = (100e6 * 0.040 / 8.0 / wire).ceil() as u64;
    for paced in [true, false] {
        let config = PathConfig { rate: Some(rate), propagation: Duration::from_ms(20), ..PathConfig::default() };
        let mut path = Path::with_flow(config, &tcp(), u64::MAX);
        path.run_logged(Duration::from_ms(100), |_, _, _, _| {});
        path.queue_seen = (0, 0, 0);
        path.steer(0, Some(Steering { rate: paced.then_some(rate), hold: true, window: (pipe + 2) * MSS }));
        path.run_logged(Duration::from_ms(200), |_, _, _, _| {});
        let begin = path.flows[0].sender.acknowledged();
        path.run_logged(Duration::from_ms(1_200), |_, _, _, _| {});
        let goodput = (path.flows[0].sender.acknowledged() - begin) as f64 * 8.0 / 1.0;
        let most = path.queue_seen.2 as f64 / wire;
        println!("paced {paced}: {:.2} Mb/s, at most {most:.1} packets", goodput / 1e6);
        if paced {
            assert!(goodput > 0.99 * 100e6 * MSS as f64 / wire && most < 5.0, "{goodput}, {most}");
        } else {
            assert!(most > 100.0, "a jump without a rate bursts: {most}");
        }
    }
}

/// Losses halve a steered window until the next steering, or not at all.
#[test]
fn losses_stay_or_do_not() {
    for (hold, congestion) in
        [CongestionKind::NewReno, CongestionKind::Cubic].into_iter().flat_map(|c| [(true, c), (false, c)])
    {
        let config = PathConfig {
            loss: 2e-3,
            rate: Some(Rate::mbps(100)),
            propagation: Duration::from_ms(20),
            ..PathConfig::default()
        };
        let mut path = Path::with_flow(config, &TcpConfig { congestion, ..tcp() }, u64::MAX);
        path.run_logged(Duration::from_ms(50), |_, _, _, _| {});
        let order = Steering { window: 480 * MSS, rate: Some(Rate::mbps(100)), hold };
        path.steer(0, Some(order));
        let mut windows = Vec::new();
        path.run_logged(Duration::from_secs(10), |_, _, sender, event| {
            if matches!(event, Event::Acknowledged(_)) && !sender.is_recovering() {
                windows.push(sender.cwnd());
            }
        });
        assert!(path.dropped > 5);
        if hold {
            assert!(windows.iter().all(|&w| w == order.window));
        } else {
            assert!(windows.windows(2).all(|w| w[1] <= w[0]), "no growth, as no timeout was repaired");
            assert!(*windows.last().unwrap() < 20 * MSS, "{congestion:?}: {:?}", windows.last());
        }
        assert_eq!(path.flows[0].sender.timeouts(), 0);
        path.steer(0, Some(order));
        assert_eq!(path.flows[0].sender.cwnd(), order.window);
    }
}

#[test]
fn a_timeout_is_repaired_in_slow_start_below_the_steered_window() {
    for hold in [false, true] {
        let config = PathConfig { drop_data: (100..200).collect(), ..PathConfig::default() };
        let mut path = Path::with_flow(config, &tcp(), 2_000 * MSS);
        path.flows[0].sender.steer(Time::ZERO, Steering { hold, ..window(100) });
        let (mut least, mut most, mut last) = (u64::MAX, 0, 0);
        path.run_logged(Duration::from_secs(60), |_, _, sender, _| {
            least = least.min(sender.cwnd());
            most = most.max(sender.cwnd());
            last = sender.cwnd();
        });
        let sender = &path.flows[0].sender;
        assert!(sender.is_done() && sender.timeouts() > 0);
        assert_eq!((least, most), (MSS, 100 * MSS));
        // CUBIC's threshold is 70 % of what was outstanding.
        assert_eq!(last / MSS, if hold { 100 } else { 70 });
    }
}

#[test]
fn a_stopped_sender_waits_without_a_timer() {
    let mut sender = Sender::new(&tcp(), 1_000 * MSS);
    sender.start(Time::ZERO);
    assert_eq!(sent(&mut sender, Time::ZERO), 10);
    acknowledge(&mut sender, ms(40), 1);
    sender.steer(ms(100), STOP);
    // The timeout from the first sample of 40 ms, at least 200 ms; 60 of them are over.
    assert_eq!((sender.deadline(), sender.cwnd()), (None, 0));
    assert_eq!(sent(&mut sender, ms(5_000)), 0);
    sender.on_timeout(ms(50_000));
    sender.steer(ms(60_000), STOP);
    assert_eq!(sender.timeouts(), 0);
    sender.steer(ms(100_000), window(5));
    assert_eq!(sender.deadline(), Some(ms(100_140)));
    sender.steer(ms(100_100), STOP);
    sender.steer(ms(200_000), Steering { rate: Some(Rate::ZERO), ..window(5) });
    sender.unsteer(ms(300_000));
    assert_eq!((sender.deadline(), sender.cwnd()), (Some(ms(300_040)), MSS));
    sender.on_timeout(ms(300_040));
    assert_eq!((sender.timeouts(), sent(&mut sender, ms(300_040))), (1, 1));
    // An acknowledgement during a stop restarts the timer, and ends it if nothing is outstanding.
    sender.steer(ms(300_050), STOP);
    acknowledge(&mut sender, ms(300_060), 5);
    sender.steer(ms(400_000), window(1));
    assert_eq!(sender.deadline().map(|at| at - ms(400_000)), Some(sender.rto()));
    sender.steer(ms(400_001), STOP);
    acknowledge(&mut sender, ms(400_002), 10);
    sender.steer(ms(400_003), window(1));
    assert_eq!(sender.deadline(), None);
    assert_eq!(sent(&mut sender, ms(400_003)), 1);
}

/// An outage swallows a whole window. The proxy stops and releases the sender every 50 ms, four
/// times as often as its timer would expire.
#[test]
fn stopping_again_and_again_does_not_starve() {
    let config = PathConfig { drop_data: (50..100).collect(), ..PathConfig::default() };
    let mut path = Path::with_flow(config, &tcp(), 500 * MSS);
    let mut at = Duration::ZERO;
    path.run_logged(at, |_, _, _, _| {});
    for i in 0..200 {
        path.steer(0, Some(if i % 2 == 0 { window(50) } else { STOP }));
        at += Duration::from_ms(50);
        path.run_logged(at, |_, _, _, _| {});
        if path.flows[0].sender.is_done() {
            break;
        }
    }
    let sender = &path.flows[0].sender;
    assert!(sender.is_done(), "{} of 500", sender.acknowledged() / MSS);
    assert!((1..4).contains(&sender.timeouts()), "{}", sender.timeouts());
}

/// After release, the window neither jumps nor starts over.
#[test]
fn unsteered_it_avoids_congestion_from_there() {
    for congestion in [CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Dctcp] {
        let config = PathConfig { propagation: Duration::from_ms(20), ..PathConfig::default() };
        let mut path = Path::with_flow(config, &TcpConfig { congestion, ..tcp() }, u64::MAX);
        path.run_logged(Duration::from_ms(100), |_, _, _, _| {});
        path.steer(0, Some(window(200)));
        path.run_logged(Duration::from_secs(20), |_, _, _, _| {});
        path.steer(0, None);
        let begin = path.flows[0].sender.cwnd();
        path.run_logged(Duration::from_ms(20_200), |_, _, _, _| {});
        let grown = (path.flows[0].sender.cwnd() - begin) / MSS;
        assert_eq!(begin, 200 * MSS);
        assert!((1..=6).contains(&grown), "{congestion:?}: by {grown} segments in five round trips");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the proxy orders, every byte arrives once it says go or falls silent. The path
    /// checks each byte, and that no deadline lies in the past or is missing.
    #[test]
    fn no_order_loses_a_byte(
        kind in 0..CongestionKind::all().len(),
        segments in 1u64..150,
        short in 0u64..10,
        orders in prop::collection::vec((0u64..30_000, 0u64..20, 0i64..400, any::<bool>(), 0u8..8), 1..30),
        (loss, jitter, sack, handshake) in (0.0..0.3f64, 0i64..3_000, any::<bool>(), any::<bool>()),
        seed: u64,
    ) {
        let config = PathConfig { loss, ack_loss: loss, jitter: Duration::from_us(jitter), seed, ..PathConfig::default() };
        let tcp = TcpConfig { congestion: CongestionKind::all()[kind], sack, handshake, ecn: true, ..tcp() };
        let mut path = Path::with_flow(config, &tcp, segments * MSS - short);
        let mut at = Duration::ZERO;
        path.run_logged(at, |_, _, _, _| {});
        for (window, mbps, wait, hold, what) in orders {
            if path.flows[0].finished.is_some() {
                break;
            }
            let window = if what == 0 { 0 } else { window };
            let rate = (mbps > 0 || what == 1).then_some(Rate::mbps(mbps));
            path.steer(0, (what != 2).then_some(Steering { window, rate, hold }));
            at += Duration::from_ms(wait);
            path.run_logged(at, |_, _, _, _| {});
        }
        if path.flows[0].finished.is_none() && (path.flows[0].sender.cwnd() == 0 || seed % 2 == 0) {
            path.steer(0, (seed % 4 < 2).then_some(Steering { window: 3 * MSS, rate: None, hold: true }));
        }
        path.set_loss(0.1);
        path.run(Duration::from_secs(4_000));
    }
}
