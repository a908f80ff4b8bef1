//! Tests of F-RTO (RFC 5682): timeouts without a loss are undone, others are not.

use crate::path::{Event, Path, PathConfig};
use proptest::prelude::*;
use timeplane_model::{Duration, Rate, Time};
use timeplane_transport::{Ack, CongestionKind, Range, SackBlocks, Sender, TcpConfig};

const MSS: u64 = 1_000;

fn tcp(f_rto: bool, sack: bool) -> TcpConfig {
    TcpConfig { congestion: CongestionKind::NewReno, mss: MSS as u32, f_rto, sack, ..TcpConfig::default() }
}

fn ms(ms: i64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn ack(segments: u64) -> Ack {
    Ack { ack: segments * MSS, ..Ack::default() }
}

fn sacked(segments: u64, block: (u64, u64)) -> Ack {
    let mut sacks = SackBlocks::NONE;
    assert!(sacks.push(Range { start: block.0 * MSS, end: block.1 * MSS }));
    Ack { sacks, ..ack(segments) }
}

fn seqs(sender: &mut Sender, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll(now)).map(|s| s.seq / MSS).collect()
}

/// A sender of `segments` whose first ten have timed out after 1 s, and whose first is repeated.
fn timed_out(tcp: &TcpConfig, segments: u64) -> Sender {
    let mut sender = Sender::new(tcp, segments * MSS);
    sender.start(Time::ZERO);
    assert_eq!(seqs(&mut sender, Time::ZERO).len(), 10);
    sender.on_timeout(ms(1_000));
    assert_eq!(seqs(&mut sender, ms(1_000)), [0]);
    assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, 5 * MSS));
    sender
}

/// The ten segments were only late: their acknowledgements follow the timeout.
#[test]
fn late_acknowledgements_undo_the_timeout() {
    for sack in [false, true] {
        let mut sender = timed_out(&tcp(true, sack), 100);
        sender.on_ack(ms(1_001), &ack(2));
        assert_eq!(seqs(&mut sender, ms(1_001)), [10, 11], "step 2b: new data");
        sender.on_ack(ms(1_002), &ack(4));
        assert!(!sender.is_recovering());
        assert_eq!((sender.cwnd(), sender.ssthresh()), (10 * MSS, u64::MAX), "step 3b");
        // Segments 4 to 11 are in flight again, and two more fit.
        assert_eq!((sender.in_flight(), seqs(&mut sender, ms(1_002))), (8 * MSS, vec![12, 13]));
        assert_eq!(sender.retransmissions(), 1);
        // The late segments count as a measurement.
        assert_eq!(sender.srtt(), Some(Duration::from_ms(1_002)));
    }
    // Without it, acknowledgements of late segments make the sender repeat others that are late.
    let mut sender = timed_out(&tcp(false, true), 100);
    sender.on_ack(ms(1_001), &ack(2));
    assert_eq!(seqs(&mut sender, ms(1_001)), [2, 3]);
}

/// All ten were lost: the acknowledgements of the new segments say so.
#[test]
fn acknowledgements_of_new_data_confirm_the_timeout() {
    for sack in [false, true] {
        let mut sender = timed_out(&tcp(true, sack), 100);
        sender.on_ack(ms(1_010), &ack(1));
        assert_eq!(seqs(&mut sender, ms(1_010)), [10, 11]);
        let duplicate = if sack { sacked(1, (10, 11)) } else { ack(1) };
        sender.on_ack(ms(1_020), &duplicate);
        assert!(sender.is_recovering());
        assert!(sender.cwnd() <= 3 * MSS, "step 3a");
        assert_eq!(sender.ssthresh(), 5 * MSS);
        assert_eq!(seqs(&mut sender, ms(1_020)).first(), Some(&1));
    }
}

/// Duplicates before the acknowledgement of the repetition decide nothing with SACK. Without SACK,
/// they mean that data was lost.
#[test]
fn duplicates_before_the_repetition_arrives() {
    let mut sender = timed_out(&tcp(true, true), 100);
    sender.on_ack(ms(1_001), &sacked(0, (1, 2)));
    assert_eq!(seqs(&mut sender, ms(1_001)), [] as [u64; 0]);
    sender.on_ack(ms(1_002), &sacked(0, (1, 3)));
    sender.on_ack(ms(1_003), &ack(3));
    assert_eq!(seqs(&mut sender, ms(1_003)), [10, 11]);
    sender.on_ack(ms(1_004), &ack(5));
    assert!(!sender.is_recovering());

    let mut sender = timed_out(&tcp(true, false), 100);
    sender.on_ack(ms(1_001), &ack(0));
    sender.on_ack(ms(1_002), &ack(1));
    assert_eq!(seqs(&mut sender, ms(1_002)), [1, 2], "conventional");
}

/// Nothing new to send: the RFC recommends the conventional recovery.
#[test]
fn without_new_data_there_is_no_judgment() {
    let mut sender = timed_out(&tcp(true, true), 10);
    sender.on_ack(ms(1_001), &ack(1));
    assert_eq!(seqs(&mut sender, ms(1_001)), [1, 2]);
}

#[test]
fn a_second_timeout_is_conventional() {
    let mut sender = timed_out(&tcp(true, true), 100);
    sender.on_timeout(ms(3_000));
    assert_eq!(seqs(&mut sender, ms(3_000)), [0]);
    sender.on_ack(ms(3_010), &ack(1));
    assert_eq!(seqs(&mut sender, ms(3_010)), [1, 2]);
}

/// A link that nearly stops for a segment or two, while the timer expires after 10 ms at least.
#[test]
fn a_pause_of_the_link_repeats_one_segment() {
    let [without, with] = [false, true].map(|f_rto| {
        let config = PathConfig { rate: Some(Rate::mbps(100)), queue_limit: 1_000_000, ..PathConfig::default() };
        let tcp = TcpConfig { min_rto: Duration::from_ms(10), receive_window: Some(50 * MSS), ..tcp(f_rto, true) };
        let mut path = Path::with_flow(config, &tcp, 4_000 * MSS);
        path.run_logged(Duration::from_ms(100), |_, _, _, _| {});
        // A segment takes 12.5 ms.
        path.set_rate(Rate::bps(1_040 * 8 * 80));
        path.run_logged(Duration::from_us(100_100), |_, _, _, _| {});
        path.set_rate(Rate::mbps(100));
        path.run(Duration::from_secs(20));
        assert_eq!((path.flows[0].sender.timeouts(), path.dropped), (1, 0));
        path.flows[0].sender.retransmissions()
    });
    assert!(with == 1 && without > 10, "{with} and {without}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Paths that lose, delay and duplicate, with a short timeout: every byte arrives in the end.
    /// The path checks that, and that a sender never waits for nothing.
    #[test]
    fn every_byte_arrives(
        sack: bool,
        loss in 0.0f64..0.2,
        jitter_us in 0i64..30_000,
        segments in 1u64..300,
        seed: u64,
    ) {
        let config = PathConfig::harsh(loss, jitter_us, seed);
        let tcp = TcpConfig { min_rto: Duration::from_ms(2), prr: true, limited_growth: true, ..tcp(true, sack) };
        let mut path = Path::with_flow(config, &tcp, segments * MSS - 7);
        let mut timeouts = 0;
        path.run_logged(Duration::from_secs(100_000), |_, _, _, event| {
            timeouts += u32::from(matches!(event, Event::TimedOut));
        });
        prop_assert!(path.flows[0].sender.is_done(), "after {timeouts} timeouts");
    }
}
