//! Tests of a sender whose application provides bytes gradually: what it sends, and how its window
//! develops.

use crate::path::{Event, Path, PathConfig};
use proptest::prelude::*;
use timeplane_model::{Duration, Named, Rate, Time};
use timeplane_transport::{CongestionKind, DelayedAck, Sender, TcpConfig};

const MSS: u64 = 1_000;

fn tcp() -> TcpConfig {
    let delayed_ack = DelayedAck { segments: 1, ..DelayedAck::default() };
    TcpConfig { mss: MSS as u32, delayed_ack, ..TcpConfig::default() }
}

fn sent(sender: &mut Sender) -> u64 {
    std::iter::from_fn(|| sender.poll(Time::ZERO)).map(|s| u64::from(s.len)).sum()
}

#[test]
fn sends_whole_segments_of_what_there_is() {
    let mut sender = Sender::new(&tcp(), 5 * MSS + 7);
    sender.limit_to(0);
    sender.start(Time::ZERO);
    assert_eq!((sent(&mut sender), sender.deadline()), (0, None));
    for (limit, more) in [(MSS - 1, 0), (2 * MSS + 1, 2 * MSS), (0, 0), (5 * MSS + 6, 3 * MSS), (5 * MSS + 7, 7)] {
        sender.limit_to(limit);
        assert_eq!(sent(&mut sender), more, "{limit}");
    }
    assert_eq!(sender.unsent(), 0);
}

/// Two segments every round trip of 2 ms, with windows of ten, which stay. Then all the rest, which
/// lets them grow.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for &congestion in CongestionKind::all() {
        let mut path = Path::with_flow(PathConfig::default(), &TcpConfig { congestion, ..tcp() }, 1_000 * MSS);
        path.limit(0, 0);
        for i in 1..=100 {
            path.run_logged(Duration::from_ms(3 * i), |_, _, _, _| {});
            path.limit(0, 2 * i as u64 * MSS);
        }
        let sender = &path.flows[0].sender;
        assert_eq!(sender.acknowledged(), 198 * MSS);
        match congestion {
            // The drafts let it grow by the first ten segments in any case, and no further.
            CongestionKind::Bbr | CongestionKind::Bbr3 => assert_eq!(sender.cwnd() / MSS, 19),
            _ => assert_eq!(sender.cwnd() / MSS, 10, "{congestion:?}"),
        }
        path.limit(0, u64::MAX);
        path.run(Duration::from_secs(60));
        assert!(congestion == CongestionKind::Fixed || path.flows[0].sender.cwnd() > 20 * MSS);
    }
}

/// CUBIC after a loss, idle for 20 s, then busy again: its curve continues where it was.
#[test]
fn rest_does_not_count_for_cubic() {
    let config = PathConfig { propagation: Duration::from_ms(50), drop_data: [900].into(), ..PathConfig::default() };
    let mut path = Path::with_flow(config, &tcp(), u64::MAX);
    let mut at = 2_000;
    path.run_logged(Duration::from_ms(at), |_, _, _, _| {});
    let so_far = path.flows[0].sender.acknowledged();
    path.limit(0, so_far);
    at += 20_000;
    path.run_logged(Duration::from_ms(at), |_, _, _, _| {});
    let before = path.flows[0].sender.cwnd();
    assert!(path.flows[0].sender.ssthresh() < u64::MAX && path.flows[0].sender.in_flight() == 0);
    path.limit(0, u64::MAX);
    at += 1_000;
    path.run_logged(Duration::from_ms(at), |_, _, _, _| {});
    let after = path.flows[0].sender.cwnd();
    // W(t) moves by less than 0.4 * K^2 * 3 segments in a second. If idle time counted, it would
    // exceed W_max by 0.4 * 15^3.
    assert!((before..before * 5 / 4).contains(&after), "{} to {}", before / MSS, after / MSS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// A split connection over a lossy path: the second half never sends what the first has not
    /// delivered, and everything arrives.
    #[test]
    fn a_split_connection_brings_all(
        kinds in (0..CongestionKind::all().len(), 0..CongestionKind::all().len()),
        bytes in 1u64..200_000,
        mss in 100u32..3_000,
        (loss, jitter, seed) in (0.0..0.1f64, 0i64..2_000, any::<u64>()),
    ) {
        let config = PathConfig { loss, jitter: Duration::from_us(jitter), rate: Some(Rate::mbps(50)), seed, ..PathConfig::default() };
        let mut path = Path::new(config);
        path.add(&TcpConfig { congestion: CongestionKind::all()[kinds.0], ..tcp() }, bytes, Time::ZERO);
        path.add(&TcpConfig { congestion: CongestionKind::all()[kinds.1], mss, handshake: true, ..tcp() }, bytes, Time::ZERO);
        path.relay(0, 1);
        let mut highest = 0;
        path.run_logged(Duration::from_secs(1_000), |_, flow, sender, event| {
            if let (1, Event::Sent(_)) = (flow, event) {
                highest = bytes - sender.unsent();
            }
        });
        prop_assert!(path.flows.iter().all(|f| f.finished.is_some()), "at {:?}", path.now);
        prop_assert_eq!(highest, bytes);
        prop_assert!(path.flows[1].finished >= path.flows[0].finished.map(|t| t - Duration::from_ms(1_000)));
    }
}
