//! Tests of how windows develop: CUBIC's curve, DCTCP's queue, and fairness.

use crate::path::{Event, Path, PathConfig};
use timeplane_model::{Duration, Named, Rate, Time};
use timeplane_transport::congestion::Congestion;
use timeplane_transport::{CongestionKind, DelayedAck, TcpConfig};

const MSS: u32 = 1_000;

fn tcp(congestion: CongestionKind) -> TcpConfig {
    let delayed_ack = DelayedAck { segments: 1, ..DelayedAck::default() };
    TcpConfig { congestion, mss: MSS, delayed_ack, ..TcpConfig::default() }
}

/// The window before the first loss, and (seconds since the end of recovery, window) from then on,
/// in segments.
fn windows_after_a_loss(propagation: Duration, lost: u64, limit: Duration) -> (f64, Vec<(f64, f64)>) {
    let config = PathConfig { propagation, drop_data: [lost].into(), ..PathConfig::default() };
    let mut path = Path::with_flow(config, &tcp(CongestionKind::Cubic), u64::MAX);
    let segments = |bytes: u64| bytes as f64 / f64::from(MSS);
    let (mut before, mut recovering, mut end, mut points) = (0.0, false, None, Vec::new());
    path.run_logged(limit, |now, _, sender, event| {
        if !matches!(event, Event::Acknowledged(_)) {
            return;
        }
        if sender.ssthresh() == u64::MAX {
            before = segments(sender.cwnd());
        } else if recovering && !sender.is_recovering() {
            end = Some(now);
        }
        recovering = sender.is_recovering();
        if let Some(end) = end {
            points.push(((now - end).as_secs_f64(), segments(sender.cwnd())));
        }
    });
    (before, points)
}

#[test]
fn cubic_follows_its_curve() {
    let (w_max, points) = windows_after_a_loss(Duration::from_ms(50), 1_500, Duration::from_secs(25));
    let k = (w_max * 0.3 / 0.4).cbrt();
    assert!(w_max > 500.0 && points.last().is_some_and(|p| p.0 > 2.0 * k), "w_max {w_max}, K {k}");
    let mut worst: f64 = 0.0;
    for &(t, w) in &points {
        let expected = 0.4 * (t - k).powi(3) + w_max;
        worst = worst.max((w / expected - 1.0).abs());
    }
    println!("W_max {w_max}, K {k:.2} s, largest deviation {:.2} %", worst * 100.0);
    assert!(worst < 0.03, "{worst}");
}

/// With a short round trip, the cube lies below NewReno's window. It then grows by 0.529 segments
/// per round trip up to the window before the loss, then by one (RFC 9438, section 4.3).
#[test]
fn cubic_is_friendly_where_the_round_trip_is_short() {
    let (w_max, points) = windows_after_a_loss(Duration::from_us(500), 60, Duration::from_ms(150));
    let alpha = 3.0 * 0.3 / 1.7;
    let knee = 0.3 * w_max / alpha;
    assert!(w_max > 20.0 && points.last().is_some_and(|p| p.0 > 2.0 * knee * 1e-3), "w_max {w_max}");
    for &(t, w) in &points {
        let round_trips = t / 1e-3;
        let expected = if round_trips < knee { 0.7 * w_max + alpha * round_trips } else { w_max + round_trips - knee };
        assert!((w / expected - 1.0).abs() < 0.05, "{w} for {expected} at {t}, W_max {w_max}");
    }
}

/// A pipe of 1000 segments before an unlimited queue: slow start would double until something is
/// lost. HyStart++ detects the queue when the window is about twice the pipe, and then grows by a
/// quarter in each of five rounds before it leaves slow start.
#[test]
fn hystart_leaves_slow_start_without_a_loss() {
    for hystart in [false, true] {
        let config =
            PathConfig { rate: Some(Rate::mbps(100)), propagation: Duration::from_us(41_600), ..PathConfig::default() };
        let mut path = Path::with_flow(config, &TcpConfig { hystart, ..tcp(CongestionKind::Cubic) }, u64::MAX);
        path.run_logged(Duration::from_secs(3), |_, _, _, _| {});
        let sender = &path.flows[0].sender;
        if hystart {
            assert!((2_000_000..9_000_000).contains(&sender.ssthresh()), "{}", sender.ssthresh());
        } else {
            assert_eq!(sender.ssthresh(), u64::MAX);
            assert!(sender.cwnd() > 10_000_000, "{}", sender.cwnd());
        }
    }
}

/// Two flows, 10 Gb/s, round trip 20 us, K of 65 segments.
#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    const K: u64 = 65 * 1_040;
    for count in [1, 2] {
        let config = PathConfig {
            rate: Some(Rate::gbps(10)),
            propagation: Duration::from_us(10),
            queue_limit: 400 * 1_040,
            mark_above: K,
            ..PathConfig::default()
        };
        let mut path = Path::new(config);
        let delayed_ack = DelayedAck { segments: count, timeout: Duration::from_us(100) };
        for i in 0..2 {
            let tcp = TcpConfig { delayed_ack, ..tcp(CongestionKind::Dctcp) };
            path.add(&tcp, u64::MAX, Time::ZERO + Duration::from_us(i * 333));
        }
        path.run_logged(Duration::from_ms(20), |_, _, _, _| {});
        let acked = acknowledged(&path);
        path.queue_seen = (0, 0, 0);
        path.run_logged(Duration::from_ms(220), |_, _, _, _| {});
        let (sum, seen, most) = path.queue_seen;
        let mean = sum as f64 / seen as f64 / K as f64;
        let most = most as f64 / K as f64;
        let alphas: Vec<_> = path.flows.iter().map(|f| alpha(f.sender.congestion())).collect();
        let rates: Vec<_> = acknowledged(&path).iter().zip(&acked).map(|(b, a)| (b - a) as f64).collect();
        let used = rates.iter().sum::<f64>() * 8.0 * 1.04 / 0.2 / 10e9;
        println!("{count} per ACK: queue {mean:.3} K, at most {most:.3} K, alpha {alphas:.3?}, used {used:.4}");
        assert!((0.75..1.15).contains(&mean), "mean queue {mean} K");
        assert!(most < 1.5, "largest queue {most} K");
        assert!(alphas.iter().all(|a| (0.02..0.6).contains(a)), "alpha {alphas:?}");
        assert!(used > 0.99, "link used {used}");
        assert!(jain(&rates) > 0.98, "{rates:?}");
        assert_eq!(path.dropped, 0);
    }
}

fn alpha(congestion: &Congestion) -> f64 {
    let Congestion::Dctcp(dctcp) = congestion else { panic!("not DCTCP") };
    dctcp.alpha()
}

fn acknowledged(path: &Path) -> Vec<u64> {
    path.flows.iter().map(|f| f.sender.acknowledged()).collect()
}

/// Jain's index of fairness: 1 if all are equal, 1/n if one has everything.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

#[test]
fn flows_share_a_queue_fairly() {
    println!("control   queue     Jain   used");
    for (kind, marking) in [
        (CongestionKind::NewReno, false),
        (CongestionKind::Cubic, false),
        (CongestionKind::NewReno, true),
        (CongestionKind::Cubic, true),
        (CongestionKind::Dctcp, true),
    ] {
        // 100 Mb/s and 10 ms: 120 segments in the pipe and as many in the queue.
        let config = PathConfig {
            rate: Some(Rate::mbps(100)),
            propagation: Duration::from_ms(5),
            queue_limit: 125_000,
            mark_above: if marking { 80_000 } else { u64::MAX },
            ack_jitter: Duration::from_us(83),
            ..PathConfig::default()
        };
        let mut path = Path::new(config);
        for i in 0..8 {
            let tcp = TcpConfig { ecn: marking, ..tcp(kind) };
            path.add(&tcp, u64::MAX, Time::ZERO + Duration::from_us(i * 17_351));
        }
        path.run_logged(Duration::from_secs(10), |_, _, _, _| {});
        let before = acknowledged(&path);
        path.run_logged(Duration::from_secs(70), |_, _, _, _| {});
        let rates: Vec<_> = acknowledged(&path).iter().zip(&before).map(|(b, a)| (b - a) as f64).collect();
        let used = rates.iter().sum::<f64>() * 8.0 * 1.04 / 60.0 / 100e6;
        let queue = if marking { "marking" } else { "drop tail" };
        println!("{:8}  {queue:9} {:.3}  {used:.3}", kind.name(), jain(&rates));
        assert!(jain(&rates) > 0.95, "{kind:?}: {rates:?}");
        assert!(used > 0.9, "{kind:?}: {used}");
    }
}
