//! Tests of when windows grow and when slow start ends: the options beyond RFC 5681.

use crate::path::{Path, PathConfig};
use timeplane_model::{Duration, Rate, Time};
use timeplane_transport::{Ack, CongestionKind, DelayedAck, Sender, TcpConfig};

const MSS: u64 = 1_000;

fn tcp(congestion: CongestionKind) -> TcpConfig {
    let delayed_ack = DelayedAck { segments: 1, ..DelayedAck::default() };
    TcpConfig { congestion, mss: MSS as u32, delayed_ack, ..TcpConfig::default() }
}

/// Eight segments in every round trip, from an initial window of ten. By Linux's rule slow start
/// goes on to twice what is outstanding, and no further.
#[test]
fn limited_growth_stops_at_twice_what_is_used() {
    for (congestion, limited_growth, window) in
        [(CongestionKind::NewReno, false, 18), (CongestionKind::NewReno, true, 16), (CongestionKind::Cubic, true, 16)]
    {
        let tcp = TcpConfig { limited_growth, ..tcp(congestion) };
        let mut path = Path::with_flow(PathConfig::default(), &tcp, 2_000 * MSS);
        path.limit(0, 0);
        for i in 1..=100 {
            path.run_logged(Duration::from_ms(3 * i), |_, _, _, _| {});
            path.limit(0, 8 * i as u64 * MSS);
        }
        assert_eq!(path.flows[0].sender.cwnd() / MSS, window, "{congestion:?}, {limited_growth}");
    }
}

/// A driver with a full queue takes four segments per round trip. Only the queue limits the sender,
/// so the window stays.
#[test]
fn a_window_does_not_grow_while_the_interface_limits() {
    let mut sender = Sender::new(&TcpConfig { limited_growth: true, ..tcp(CongestionKind::NewReno) }, u64::MAX);
    let mut now = Time::ZERO;
    sender.start(now);
    for round in 1..=50 {
        for _ in 0..4 {
            assert!(sender.poll(now).is_some());
        }
        now += Duration::from_ms(1);
        sender.on_ack(now, &Ack { ack: 4 * round * MSS, ..Ack::default() });
    }
    assert_eq!(sender.cwnd(), 10 * MSS);
    // The queue is empty again: the window limits, and doubles.
    let sent = std::iter::from_fn(|| sender.poll(now)).count() as u64;
    assert_eq!(sent, 10);
    for i in 1..=sent {
        sender.on_ack(now + Duration::from_ms(1), &Ack { ack: (200 + i) * MSS, ..Ack::default() });
    }
    assert_eq!(sender.cwnd(), 20 * MSS);
}

/// In congestion avoidance three quarters of the window are not enough.
#[test]
fn congestion_avoidance_wants_a_full_window() {
    for limited_growth in [false, true] {
        let config = PathConfig { drop_data: [10].into(), ..PathConfig::default() };
        let tcp = TcpConfig { limited_growth, ..tcp(CongestionKind::NewReno) };
        let mut path = Path::with_flow(config, &tcp, 100_000 * MSS);
        path.run_logged(Duration::from_ms(100), |_, _, _, _| {});
        let sent = 100_000 * MSS - path.flows[0].sender.unsent();
        path.limit(0, sent);
        path.run_logged(Duration::from_ms(110), |_, _, _, _| {});
        let cwnd = path.flows[0].sender.cwnd();
        assert!(cwnd > 20 * MSS && cwnd >= path.flows[0].sender.ssthresh(), "{cwnd}");
        // Nine tenths of the window in each round trip.
        let share = cwnd / MSS * 9 / 10 * MSS;
        for i in 1..=20 {
            path.limit(0, sent + i * share);
            path.run_logged(Duration::from_ms(110 + 3 * i as i64), |_, _, _, _| {});
        }
        assert_eq!(path.flows[0].sender.cwnd() > cwnd, !limited_growth);
    }
}

/// A flow that always has data to send grows as before.
#[test]
fn a_busy_flow_grows_as_before() {
    for congestion in [CongestionKind::NewReno, CongestionKind::Cubic] {
        let windows = [false, true].map(|limited_growth| {
            let config = PathConfig { rate: Some(Rate::mbps(100)), drop_data: [300].into(), ..PathConfig::default() };
            let tcp = TcpConfig { limited_growth, ..tcp(congestion) };
            let mut path = Path::with_flow(config, &tcp, u64::MAX);
            let mut windows = Vec::new();
            path.run_logged(Duration::from_secs(1), |now, _, sender, _| windows.push((now, sender.cwnd())));
            windows
        });
        assert_eq!(windows[0], windows[1], "{congestion:?}");
    }
}

/// A pipe of 1000 segments before an unlimited queue, as for CUBIC in `windows.rs`: NewReno leaves
/// slow start as well, and DCTCP never does so without marks.
#[test]
fn hystart_serves_newreno_but_not_dctcp() {
    for (congestion, leaves) in [(CongestionKind::NewReno, true), (CongestionKind::Dctcp, false)] {
        let config =
            PathConfig { rate: Some(Rate::mbps(100)), propagation: Duration::from_us(41_600), ..PathConfig::default() };
        let mut path = Path::with_flow(config, &TcpConfig { hystart: true, ..tcp(congestion) }, u64::MAX);
        path.run_logged(Duration::from_secs(3), |_, _, _, _| {});
        let ssthresh = path.flows[0].sender.ssthresh();
        assert_eq!((2_000_000..9_000_000).contains(&ssthresh), leaves, "{congestion:?}: {ssthresh}");
        assert_eq!(ssthresh == u64::MAX, !leaves);
    }
}
