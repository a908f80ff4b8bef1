//! Tests of timestamps (RFC 7323) in a sender: sizes, measurements after repetitions, and needless
//! repetitions that their echoes show (RFC 3522).

use crate::path::{Event, Path, PathConfig};
use proptest::prelude::*;
use timeplane_model::{Duration, Rate, Time};
use timeplane_transport::{
    Ack, CongestionKind, HEADER_BYTES, Range, SackBlocks, Sender, TIMESTAMP_BYTES, TIMESTAMP_TICK, TcpConfig,
};

const MSS: u64 = 1_000;

fn tcp(timestamps: bool) -> TcpConfig {
    TcpConfig { congestion: CongestionKind::NewReno, mss: MSS as u32, timestamps, ..TcpConfig::default() }
}

fn ms(ms: i64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

/// The timestamp of a segment that is sent at a time: the clock reads one at the start.
fn stamp(at: i64) -> Option<u32> {
    Some(at as u32 + 1)
}

/// An acknowledgement that echoes the timestamp of a segment sent at `sent`.
fn ack(segments: u64, sent: i64) -> Ack {
    Ack { ack: segments * MSS, timestamp_echo: stamp(sent), ..Ack::default() }
}

fn sacked(segments: u64, block: (u64, u64), sent: i64) -> Ack {
    let mut sacks = SackBlocks::NONE;
    assert!(sacks.push(Range { start: block.0 * MSS, end: block.1 * MSS }));
    Ack { sacks, ..ack(segments, sent) }
}

/// Sends all that may go, and checks timestamps.
fn seqs(sender: &mut Sender, at: i64) -> Vec<u64> {
    let segments = std::iter::from_fn(|| sender.poll(ms(at)));
    segments
        .map(|s| {
            assert_eq!(s.timestamp, stamp(at));
            assert_eq!(s.wire_bytes(), s.len + 52);
            s.seq / MSS
        })
        .collect()
}

#[test]
fn headers_are_larger_and_segments_of_the_mtu_smaller() {
    assert_eq!([tcp(false), tcp(true)].map(|tcp| 1_500 - tcp.header_bytes()), [1_460, 1_448]);
    assert_eq!(tcp(true).header_bytes(), HEADER_BYTES + TIMESTAMP_BYTES);
    let mut sender = Sender::new(&TcpConfig { handshake: true, ..tcp(true) }, 100 * MSS);
    sender.start(ms(3));
    let syn = sender.poll(ms(3)).expect("a SYN");
    assert_eq!((syn.syn, syn.timestamp, syn.wire_bytes()), (true, stamp(3), 52));
    let mut sender = Sender::new(&tcp(false), 100 * MSS);
    sender.start(ms(3));
    assert_eq!(sender.poll(ms(3)).map(|s| (s.timestamp, s.wire_bytes())), Some((None, 1_040)));
}

/// The first ten segments have timed out after 1 s, and the first is repeated. The echo tells how
/// long its repetition took, which ends the backoff; without timestamps nobody knows.
#[test]
fn repetitions_are_measured() {
    for timestamps in [true, false] {
        let mut sender = Sender::new(&tcp(timestamps), 100 * MSS);
        sender.start(Time::ZERO);
        while sender.poll(Time::ZERO).is_some() {}
        sender.on_timeout(ms(1_000));
        assert_eq!(sender.poll(ms(1_000)).map(|s| s.seq), Some(0));
        assert_eq!(sender.rto(), Duration::from_secs(2));
        let echo = stamp(1_000).filter(|_| timestamps);
        sender.on_ack(ms(1_040), &Ack { ack: MSS, timestamp_echo: echo, ..Ack::default() });
        let (srtt, rto) = if timestamps { (Some(40), 200) } else { (None, 2_000) };
        assert_eq!((sender.srtt(), sender.rto()), (srtt.map(Duration::from_ms), Duration::from_ms(rto)));
    }
}

/// The time of sending is exact, so it wins over the clock of timestamps. An echo of nothing, and
/// one of the future, are ignored.
#[test]
fn segments_that_were_sent_once_have_exact_times() {
    for echo in [stamp(0), Some(0), stamp(4_000), None] {
        let mut sender = Sender::new(&tcp(true), 100 * MSS);
        sender.start(Time::ZERO);
        while sender.poll(Time::ZERO).is_some() {}
        let at = Time::ZERO + Duration::from_us(12_345);
        sender.on_ack(at, &Ack { ack: 2 * MSS, timestamp_echo: echo, ..Ack::default() });
        assert_eq!(sender.srtt(), Some(Duration::from_us(12_345)));
    }
    for echo in [Some(0), stamp(4_000), None] {
        let mut sender = Sender::new(&tcp(true), 100 * MSS);
        sender.start(Time::ZERO);
        while sender.poll(Time::ZERO).is_some() {}
        sender.on_timeout(ms(1_000));
        while sender.poll(ms(1_000)).is_some() {}
        sender.on_ack(ms(1_040), &Ack { ack: MSS, timestamp_echo: echo, ..Ack::default() });
        assert_eq!(sender.srtt(), None, "{echo:?}");
    }
}

/// All ten segments were late, not lost. Without timestamps, F-RTO needs two acknowledgements to
/// see that. An echo from before the repetition says so at once; one of the repetition does not.
#[test]
fn an_old_echo_undoes_a_timeout() {
    for (sent, is_spurious) in [(0, true), (1_000, false)] {
        let mut sender = Sender::new(&TcpConfig { f_rto: true, ..tcp(true) }, 100 * MSS);
        sender.start(Time::ZERO);
        assert_eq!(seqs(&mut sender, 0).len(), 10);
        sender.on_timeout(ms(1_000));
        assert_eq!(seqs(&mut sender, 1_000), [0]);
        sender.on_ack(ms(1_010), &ack(2, sent));
        assert_eq!(sender.is_recovering(), !is_spurious);
        assert_eq!(sender.srtt(), Some(Duration::from_ms(if is_spurious { 1_010 } else { 10 })));
        if is_spurious {
            assert_eq!((sender.cwnd(), sender.ssthresh()), (10 * MSS, u64::MAX));
            assert_eq!((sender.in_flight(), seqs(&mut sender, 1_010)), (8 * MSS, vec![10, 11]));
        } else {
            // F-RTO goes on: two new segments, and the next acknowledgement decides.
            assert_eq!((sender.ssthresh(), seqs(&mut sender, 1_010)), (5 * MSS, vec![10, 11]));
            sender.on_ack(ms(1_020), &ack(4, 0));
            assert!(!sender.is_recovering());
        }
    }
}

/// All that was sent before the timeout has arrived: an echo can still tell that nothing was lost.
#[test]
fn an_old_echo_of_everything_undoes_a_timeout() {
    for (sent, cwnd) in [(0, 10), (1_000, 3)] {
        let mut sender = Sender::new(&TcpConfig { f_rto: true, ..tcp(true) }, 100 * MSS);
        sender.start(Time::ZERO);
        seqs(&mut sender, 0);
        sender.on_timeout(ms(1_000));
        assert_eq!(seqs(&mut sender, 1_000), [0]);
        sender.on_ack(ms(1_010), &ack(10, sent));
        assert_eq!((sender.is_recovering(), sender.cwnd()), (false, cwnd * MSS), "echo of {sent} ms");
    }
}

/// The first segment was overtaken by more than RACK allows, and is repeated. The first
/// acknowledgement that advances tells which copy has arrived.
#[test]
fn an_old_echo_undoes_a_recovery() {
    for (sent, is_spurious) in [(0, true), (20, false)] {
        let mut sender = Sender::new(&TcpConfig { rack: true, ..tcp(true) }, 100 * MSS);
        sender.start(Time::ZERO);
        assert_eq!(seqs(&mut sender, 0).len(), 10);
        // Nothing before the gap has arrived, so nothing is echoed.
        let above = Ack { timestamp_echo: Some(0), ..sacked(0, (1, 5), 0) };
        sender.on_ack(ms(20), &above);
        assert!(sender.is_recovering());
        assert_eq!(sender.ssthresh(), 5 * MSS);
        assert_eq!(seqs(&mut sender, 20).first(), Some(&0));
        sender.on_ack(ms(25), &ack(5, sent));
        assert_eq!(sender.is_recovering(), !is_spurious);
        let windows = if is_spurious { (10 * MSS, u64::MAX) } else { (5 * MSS, 5 * MSS) };
        assert_eq!((sender.cwnd().min(10 * MSS), sender.ssthresh()), windows);
        // Only the first one decides.
        sender.on_ack(ms(30), &ack(6, 0));
        assert_eq!(sender.is_recovering(), !is_spurious);
    }
}

/// A repetition within the same tick as the first transmission has the same timestamp, so an echo
/// shows nothing.
#[test]
fn within_a_tick_an_echo_shows_nothing() {
    let at = |us| Time::ZERO + Duration::from_us(us);
    let mut sender = Sender::new(&TcpConfig { rack: true, ..tcp(true) }, 100 * MSS);
    sender.start(Time::ZERO);
    seqs(&mut sender, 0);
    sender.on_ack(at(100), &Ack { timestamp_echo: Some(0), ..sacked(0, (1, 5), 0) });
    assert_eq!(sender.poll(at(100)).map(|s| (s.seq, s.timestamp)), Some((0, stamp(0))));
    sender.on_ack(at(150), &ack(5, 0));
    assert!(sender.is_recovering());
}

/// A path on which single packets are late, so that they are repeated without need. The echoes undo
/// recoveries before reports of duplicates could.
#[test]
fn reordering_costs_less_with_timestamps() {
    let [without, with] = [false, true].map(|timestamps| {
        let config = PathConfig {
            rate: Some(Rate::mbps(50)),
            propagation: Duration::from_ms(20),
            jitter: Duration::from_ms(15),
            ..PathConfig::default()
        };
        let tcp = TcpConfig { rack: true, prr: true, f_rto: true, limited_growth: true, ..tcp(timestamps) };
        let mut path = Path::with_flow(config, &tcp, 900 * MSS);
        path.run(Duration::from_secs(100));
        path.flows[0].finished.expect("it is done") - Time::ZERO
    });
    assert!(with < without, "{with:?} and {without:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Paths that lose, delay and duplicate, with a short timeout: every byte arrives in the end.
    #[test]
    fn every_byte_arrives(
        sack: bool,
        rack: bool,
        handshake: bool,
        loss in 0.0f64..0.2,
        jitter_us in 0i64..30_000,
        segments in 1u64..300,
        kind in 0usize..3,
        seed: u64,
    ) {
        let config = PathConfig::harsh(loss, jitter_us, seed);
        let congestion = [CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Dctcp][kind];
        let tcp = TcpConfig { min_rto: Duration::from_ms(2), prr: true, f_rto: true, ..tcp(true) };
        let tcp = TcpConfig { congestion, sack, rack, tail_loss_probe: rack, handshake, ..tcp };
        let mut path = Path::with_flow(config, &tcp, segments * MSS - 7);
        path.run_logged(Duration::from_secs(100_000), |_, _, _, _| {});
        prop_assert!(path.flows[0].sender.is_done());
    }

    /// However much is lost, a measurement is the round trip, within a tick, and up to the delay of
    /// an acknowledgement longer; and each acknowledgement that advances brings one.
    #[test]
    fn measurements_are_round_trips(loss in 0.0f64..0.4, rtt_ms in 4i64..60, rack: bool, seed: u64) {
        let config = PathConfig { propagation: Duration::from_us(rtt_ms * 500), loss, seed, ..PathConfig::default() };
        let tcp = TcpConfig { rack, ..tcp(true) };
        let mut path = Path::with_flow(config, &tcp, 200 * MSS);
        let rtt = Duration::from_ms(rtt_ms);
        path.run_logged(Duration::from_secs(100_000), |_, _, sender, event| {
            if let Event::Acknowledged(_) = event && sender.acknowledged() > 0 {
                let srtt = sender.srtt().expect("a measurement");
                let delay = tcp.delayed_ack.timeout;
                assert!(srtt > rtt - TIMESTAMP_TICK && srtt < rtt + delay + TIMESTAMP_TICK, "{srtt:?} of {rtt:?}");
            }
        });
        prop_assert!(path.flows[0].sender.is_done());
    }
}
