//! Tests of RACK-TLP (RFC 8985): losses found by the time of sending, and tail loss probes.

use crate::path::{Event, Path, PathConfig};
use proptest::prelude::*;
use timeplane_model::{Duration, Rate, Time};
use timeplane_transport::{Ack, CongestionKind, DelayedAck, Range, SackBlocks, Sender, TcpConfig};

const MSS: u64 = 1_000;

fn tcp(rack: bool) -> TcpConfig {
    let delayed_ack = DelayedAck { segments: 1, ..DelayedAck::default() };
    let congestion = CongestionKind::NewReno;
    TcpConfig { congestion, mss: MSS as u32, rack, tail_loss_probe: rack, delayed_ack, ..TcpConfig::default() }
}

fn ms(ms: i64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn ack(segments: u64) -> Ack {
    Ack { ack: segments * MSS, ..Ack::default() }
}

fn sacked(segments: u64, blocks: &[(u64, u64)]) -> Ack {
    let mut sacks = SackBlocks::NONE;
    for &(start, end) in blocks {
        assert!(sacks.push(Range { start: start * MSS, end: end * MSS }));
    }
    Ack { sacks, ..ack(segments) }
}

fn seqs(sender: &mut Sender, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll(now)).map(|s| s.seq / MSS).collect()
}

/// A sender of `segments` with a round trip of 100 ms, from one segment to which the path has
/// answered. From 100 ms on, 11 are outstanding: 1 to 9 sent at 0 ms, 10 and 11 at 100 ms.
fn measured(tcp: &TcpConfig, segments: u64) -> Sender {
    let mut sender = Sender::new(tcp, segments * MSS);
    sender.start(Time::ZERO);
    assert_eq!(seqs(&mut sender, Time::ZERO).len(), 10);
    sender.on_ack(ms(100), &ack(1));
    assert_eq!(seqs(&mut sender, ms(100)), [10, 11]);
    sender
}

/// The whole flow, and how many segments were repeated, with what the path drops by number.
fn transfer(tcp: &TcpConfig, segments: u64, drop_data: &[u64]) -> (Duration, Sender) {
    let config = PathConfig {
        rate: Some(Rate::mbps(100)),
        propagation: Duration::from_ms(10),
        drop_data: drop_data.iter().copied().collect(),
        ..PathConfig::default()
    };
    let mut path = Path::with_flow(config, tcp, segments * MSS);
    path.run(Duration::from_secs(100));
    (path.flows[0].finished.expect("it is done") - Time::ZERO, path.flows[0].sender.clone())
}

/// One segment above the gap: the sender waits a quarter of the round trip, then repeats.
#[test]
fn a_segment_is_lost_after_a_quarter_of_the_round_trip() {
    let mut sender = measured(&tcp(true), 100);
    sender.on_ack(ms(101), &sacked(1, &[(2, 3)]));
    assert!(!sender.is_recovering());
    assert_eq!(seqs(&mut sender, ms(101)), [12], "limited transmit");
    // Segment 2 came 101 ms after it was sent; so may 1, and 25 ms later.
    assert_eq!(sender.deadline(), Some(ms(126)));
    sender.on_timeout(ms(126));
    assert!(sender.is_recovering());
    assert_eq!(seqs(&mut sender, ms(126)).first(), Some(&1));
    assert_eq!((sender.retransmissions(), sender.timeouts()), (1, 0));

    // A late arrival before that changes nothing.
    let mut sender = measured(&tcp(true), 100);
    sender.on_ack(ms(101), &sacked(1, &[(2, 3)]));
    seqs(&mut sender, ms(101));
    sender.on_ack(ms(110), &ack(3));
    sender.on_timeout(ms(126));
    assert_eq!((sender.is_recovering(), sender.retransmissions()), (false, 0));
}

/// Three segments above the gap, on a path that has not reordered: a loss at once, as in RFC 6675.
#[test]
fn three_segments_above_are_enough_without_reordering() {
    let mut sender = measured(&tcp(true), 100);
    sender.on_ack(ms(101), &sacked(1, &[(2, 5)]));
    assert_eq!(seqs(&mut sender, ms(101)).first(), Some(&1));
    assert!(sender.is_recovering());

    // The same after segment 1 has come late: now the window for reordering counts.
    let mut sender = measured(&tcp(true), 100);
    sender.on_ack(ms(101), &sacked(1, &[(2, 3)]));
    sender.on_ack(ms(102), &ack(3));
    sender.on_ack(ms(103), &sacked(3, &[(4, 7)]));
    assert!(!sender.is_recovering());
    assert_eq!(sender.deadline(), Some(ms(128)));
}

/// The repetition is lost too: what was sent after it shows that, without a timeout and without a
/// second reduction.
#[test]
fn a_lost_repetition_is_repeated() {
    let mut sender = measured(&tcp(true), 100);
    sender.on_ack(ms(101), &sacked(1, &[(2, 5)]));
    assert_eq!(seqs(&mut sender, ms(101)), [1]);
    let threshold = sender.ssthresh();
    for segment in 6..=12 {
        sender.on_ack(ms(102), &sacked(1, &[(2, segment)]));
    }
    let sent = seqs(&mut sender, ms(102));
    assert_eq!(sent.first(), Some(&12));
    sender.on_ack(ms(202), &sacked(1, &[(2, 13)]));
    assert_eq!(seqs(&mut sender, ms(202)).first(), Some(&1));
    assert_eq!((sender.retransmissions(), sender.timeouts(), sender.ssthresh()), (2, 0, threshold));
}

/// Whether a repetition has arrived is judged by the least round trip, of which the SYN's is the
/// first: data waits in queues that the SYN has not seen.
#[test]
fn a_repetition_may_be_faster_than_other_data() {
    let mut sender = Sender::new(&TcpConfig { handshake: true, ..tcp(true) }, 10 * MSS);
    sender.start(Time::ZERO);
    assert!(sender.poll(Time::ZERO).is_some_and(|s| s.syn));
    sender.on_ack(ms(50), &Ack { syn: true, ..Ack::default() });
    assert_eq!(seqs(&mut sender, ms(50)).len(), 10);
    // The first and the last one are lost. Nothing was sent after the last one yet.
    sender.on_ack(ms(150), &sacked(0, &[(1, 9)]));
    assert_eq!(seqs(&mut sender, ms(150)), [0]);
    // The repetition took 60 ms, other data 100 ms: it shows that the last segment is lost.
    sender.on_ack(ms(210), &ack(9));
    assert_eq!(seqs(&mut sender, ms(210)), [9]);
}

/// The last three segments of a flow are lost. The probe leaves after two round trips; RACK then
/// finds the other losses. Without it, the flow waits for its timeout of 200 ms.
#[test]
fn a_lost_end_needs_no_timeout() {
    let drop_data = [37, 38, 39];
    let (with, sender) = transfer(&tcp(true), 40, &drop_data);
    assert_eq!((sender.timeouts(), sender.retransmissions()), (0, 3));
    let (without, sender) = transfer(&tcp(false), 40, &drop_data);
    assert_eq!((sender.timeouts(), sender.retransmissions()), (1, 3));
    let (whole, _) = transfer(&tcp(true), 40, &[]);
    // Two round trips until the probe, one for its answer and a quarter of one for reordering, and
    // one for the repetitions; 5 ms for queues, which round trips include.
    let round_trip = Duration::from_ms(20);
    assert!(with - whole < round_trip * 4 + round_trip / 4 + Duration::from_ms(5), "{:?}", with - whole);
    assert!(without - whole > Duration::from_ms(200), "{:?}", without - whole);
}

/// A probe is a new segment where there is one, even beyond the window.
#[test]
fn a_probe_is_new_data_if_there_is_some() {
    let mut sender = measured(&tcp(true), 100);
    assert_eq!((sender.in_flight(), sender.cwnd()), (11 * MSS, 11 * MSS));
    assert_eq!(sender.deadline(), Some(ms(300)), "two round trips after the last segment");
    sender.on_timeout(ms(300));
    assert_eq!(seqs(&mut sender, ms(300)), [12]);
    // No second probe: the timer for retransmissions has started anew, with its 300 ms.
    assert_eq!(sender.deadline(), Some(ms(600)));
    sender.on_ack(ms(400), &sacked(1, &[(12, 13)]));
    // It was sent 200 ms after the others, so they are lost at once.
    assert!(sender.is_recovering());
    assert_eq!(seqs(&mut sender, ms(400)).first(), Some(&1));
    assert_eq!(sender.timeouts(), 0);
}

/// The answer to a repetition as a probe tells whether the first copy had arrived: with a report of
/// a duplicate nothing was lost, and without one the probe has hidden a sign of congestion.
#[test]
fn a_probe_that_repairs_a_loss_reduces_the_window_once() {
    for lost in [true, false] {
        let mut sender = measured(&tcp(true), 100);
        sender.limit_to(12 * MSS);
        sender.on_ack(ms(200), &ack(11));
        assert_eq!(seqs(&mut sender, ms(200)), [] as [u64; 0]);
        let window = sender.cwnd();
        let at = sender.deadline().expect("a probe is due");
        sender.on_timeout(at);
        assert_eq!(seqs(&mut sender, at), [11], "the last segment");
        let later = at + Duration::from_ms(100);
        if !lost {
            sender.on_ack(later, &ack(12));
            sender.on_ack(later, &sacked(12, &[(11, 12)]));
        } else {
            sender.on_ack(later, &ack(12));
        }
        assert_eq!(sender.cwnd(), window);
        sender.limit_to(100 * MSS);
        assert_eq!(seqs(&mut sender, later).len() as u64, window / MSS);
        sender.on_ack(later + Duration::from_ms(100), &ack(13));
        assert_eq!(sender.ssthresh() < u64::MAX, lost, "lost: {lost}");
        sender.on_ack(later + Duration::from_ms(100), &ack(14));
        assert!(!sender.is_recovering() && sender.timeouts() == 0);
    }
}

/// A path that reorders by up to 3 ms of a round trip of 20 ms, and loses nothing. Counting to
/// three takes late segments for lost all the time; RACK does until the first of them arrives, and
/// then takes the reduction back.
#[test]
fn reordering_is_tolerated() {
    let [without, with] = [false, true].map(|rack| {
        let config = PathConfig {
            rate: Some(Rate::mbps(100)),
            propagation: Duration::from_ms(10),
            jitter: Duration::from_ms(3),
            ..PathConfig::default()
        };
        let tcp = TcpConfig { receive_window: Some(250 * MSS), ..tcp(rack) };
        let mut path = Path::with_flow(config, &tcp, 5_000 * MSS);
        path.run(Duration::from_secs(100));
        assert_eq!(path.dropped, 0);
        (path.flows[0].sender.retransmissions(), path.now - Time::ZERO)
    });
    assert!(without.0 > 30, "{without:?}");
    assert!(with.0 <= 10, "{with:?}");
    // 5,000 segments of 1,040 B take 416 ms at 100 Mb/s.
    assert!(with.1 < Duration::from_ms(900) && without.1 > with.1 * 10, "{with:?} {without:?}");
}

/// Reports of duplicates widen the window where a quarter of the round trip is too little.
#[test]
fn the_window_for_reordering_adapts() {
    let config = PathConfig {
        rate: Some(Rate::mbps(100)),
        propagation: Duration::from_ms(10),
        jitter: Duration::from_ms(18),
        ..PathConfig::default()
    };
    let tcp = TcpConfig { receive_window: Some(250 * MSS), ..tcp(true) };
    let mut path = Path::with_flow(config, &tcp, 20_000 * MSS);
    let mut early = 0;
    path.run_logged(Duration::from_ms(500), |_, _, sender, _| early = sender.retransmissions());
    path.run(Duration::from_secs(100));
    let late = path.flows[0].sender.retransmissions() - early;
    assert!(early > 0 && late <= early, "{early} in the first 500 ms, {late} later");
    assert_eq!(path.flows[0].sender.timeouts(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A few losses anywhere in a flow, of first copies or repetitions: no timeout as long as
    /// something arrives behind them, and never more repetitions than losses and probes.
    #[test]
    fn few_losses_need_no_timeout(
        segments in 20u64..200,
        drops in prop::collection::btree_set(0u64..200, 0..6),
    ) {
        let drops: Vec<u64> = drops.into_iter().filter(|&i| i < segments).collect();
        let (_, sender) = transfer(&tcp(true), segments, &drops);
        // A probe that is lost itself leaves only the timer.
        let needless = u64::from(sender.timeouts());
        prop_assert!(needless <= 1, "{needless} timeouts after {drops:?}");
        let most = 2 * drops.len() as u64 + 1 + needless;
        prop_assert!(sender.retransmissions() <= most, "{} after {drops:?}", sender.retransmissions());
    }

    /// Paths that lose, delay and duplicate: every byte arrives, with each control.
    #[test]
    fn every_byte_arrives(
        congestion in prop::sample::select(vec![CongestionKind::Cubic, CongestionKind::Dctcp, CongestionKind::Bbr]),
        flags in prop::array::uniform5(any::<bool>()),
        loss in 0.0f64..0.2,
        jitter_us in 0i64..30_000,
        segments in 1u64..300,
        seed: u64,
    ) {
        let config = PathConfig::harsh(loss, jitter_us, seed);
        let [tail_loss_probe, prr, f_rto, pacing, handshake] = flags;
        let min_rto = Duration::from_ms(2);
        let tcp = TcpConfig { congestion, min_rto, tail_loss_probe, prr, f_rto, pacing, handshake, ..tcp(true) };
        let mut path = Path::with_flow(config, &tcp, segments * MSS - 7);
        let mut timeouts = 0;
        path.run_logged(Duration::from_secs(100_000), |_, _, _, event| {
            timeouts += u32::from(matches!(event, Event::TimedOut));
        });
        prop_assert!(path.flows[0].sender.is_done(), "after {timeouts} timeouts");
    }
}
