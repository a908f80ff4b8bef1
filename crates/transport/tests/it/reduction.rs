//! Tests of proportional rate reduction (RFC 9937) in a sender, after losses and after marks.

use crate::path::{Event, Path, PathConfig};
use proptest::prelude::*;
use timeplane_model::{Duration, Rate, Time};
use timeplane_transport::{Ack, CongestionKind, DelayedAck, Range, SackBlocks, Sender, TcpConfig};

const MSS: u64 = 1_000;

fn tcp(prr: bool) -> TcpConfig {
    TcpConfig { congestion: CongestionKind::NewReno, mss: MSS as u32, prr, ..TcpConfig::default() }
}

fn sacked(ack: u64, block: (u64, u64)) -> Ack {
    let mut sacks = SackBlocks::NONE;
    assert!(sacks.push(Range { start: block.0 * MSS, end: block.1 * MSS }));
    Ack { ack: ack * MSS, sacks, ..Ack::default() }
}

fn seqs(sender: &mut Sender, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll(now)).map(|s| s.seq / MSS).collect()
}

/// What a window of 20 segments without its first one makes the sender send, acknowledgement by
/// acknowledgement: RFC 6937, section 5, figure 1.
fn figure_1(prr: bool) -> (Vec<Vec<u64>>, Sender) {
    let mut sender = Sender::new(&TcpConfig { initial_window: 20, ..tcp(prr) }, 1_000 * MSS);
    sender.start(Time::ZERO);
    assert_eq!(seqs(&mut sender, Time::ZERO).len(), 20);
    let now = Time::ZERO + Duration::from_ms(10);
    let sent = (2..=22).map(|end| {
        sender.on_ack(now, &sacked(0, (1, end)));
        seqs(&mut sender, now)
    });
    (sent.collect(), sender)
}

#[test]
fn a_halved_window_sends_for_every_second_acknowledgement() {
    let (sent, mut sender) = figure_1(true);
    let counts: Vec<_> = sent.iter().map(Vec::len).collect();
    // Limited transmit, the repetition, a segment for every second acknowledgement until ten are in
    // flight, and then one for each.
    assert_eq!(counts, [1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]);
    assert_eq!(sent[..5], [vec![20], vec![21], vec![0], vec![], vec![22]]);
    assert_eq!((sender.in_flight(), sender.ssthresh()), (10 * MSS, 10 * MSS));
    assert!(sender.is_recovering());
    // The repetition has arrived: the window is the target, and grows by one acknowledgement.
    let now = Time::ZERO + Duration::from_ms(20);
    sender.on_ack(now, &Ack { ack: 22 * MSS, ..Ack::default() });
    assert!(!sender.is_recovering());
    assert_eq!(sender.cwnd(), 10 * MSS + MSS / 10);
}

#[test]
fn without_it_the_sender_is_silent_and_then_sends_for_each() {
    let (sent, sender) = figure_1(false);
    let counts: Vec<_> = sent.iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(sender.in_flight(), 10 * MSS);
}

/// The first 15 of 20 segments are lost. Without the reduction, the third duplicate lets five
/// segments go at once; with it, one for each that arrives.
#[test]
fn heavy_losses_cause_no_burst() {
    for (prr, most) in [(false, 8), (true, 1)] {
        let mut sender = Sender::new(&TcpConfig { initial_window: 20, ..tcp(prr) }, 1_000 * MSS);
        sender.start(Time::ZERO);
        seqs(&mut sender, Time::ZERO);
        let now = Time::ZERO + Duration::from_ms(10);
        let counts: Vec<_> = (16..=20)
            .map(|end| {
                sender.on_ack(now, &sacked(0, (15, end)));
                seqs(&mut sender, now).len()
            })
            .collect();
        assert!(counts.iter().all(|&count| count <= most), "{prr}: {counts:?}");
        assert_eq!(counts.iter().any(|&count| count > 1), !prr, "{counts:?}");
    }
}

/// What a window of 20 segments makes the sender send, acknowledgement by acknowledgement, each of
/// one segment. The first ones, `echoes` of them, echo a mark.
fn after_marks(echoes: u64, congestion: CongestionKind, prr: bool) -> (Vec<usize>, Sender) {
    let config = TcpConfig { congestion, ecn: true, initial_window: 20, ..tcp(prr) };
    let mut sender = Sender::new(&config, 1_000 * MSS);
    sender.start(Time::ZERO);
    assert_eq!(seqs(&mut sender, Time::ZERO).len(), 20);
    let now = Time::ZERO + Duration::from_ms(10);
    let sent = (1..=20).map(|ack| {
        sender.on_ack(now, &Ack { ack: ack * MSS, ece: ack <= echoes, ..Ack::default() });
        let segments: Vec<_> = std::iter::from_fn(|| sender.poll(now)).collect();
        assert_eq!(segments.iter().any(|s| s.cwr), prr && ack == 1 || !prr && ack == 11, "the first new segment");
        segments.len()
    });
    (sent.collect(), sender)
}

/// As in a recovery with the same flight and target: `ceil(acknowledged * target / 20)` segments in
/// all while more than the target is in flight, then one for each that arrives.
#[test]
fn a_mark_spreads_the_reduction_too() {
    let half = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1];
    let seven_tenths = [1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1];
    // DCTCP's estimate of the marked share starts at one, which halves the window.
    for (congestion, target, expected) in [
        (CongestionKind::NewReno, 10, half),
        (CongestionKind::Cubic, 14, seven_tenths),
        (CongestionKind::Dctcp, 10, half),
    ] {
        let (sent, mut sender) = after_marks(1, congestion, true);
        assert_eq!(sent, expected, "{congestion:?}");
        assert_eq!((sender.in_flight(), sender.ssthresh()), (target * MSS, target * MSS));
        assert!(!sender.is_recovering());
        // The first segment that was sent after the mark's echo has arrived: the window is the
        // target, and grows again.
        let now = Time::ZERO + Duration::from_ms(20);
        sender.on_ack(now, &Ack { ack: 21 * MSS, ..Ack::default() });
        assert!((target * MSS..=target * MSS + MSS / 10).contains(&sender.cwnd()), "{}", sender.cwnd());
    }
}

#[test]
fn without_it_a_mark_silences_the_sender() {
    let (sent, sender) = after_marks(1, CongestionKind::NewReno, false);
    assert_eq!(sent[..11], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    // The window grows already while it is not full.
    assert!(sender.cwnd() > 11 * MSS && sender.ssthresh() == 10 * MSS);
}

/// Further echoes in the same window change nothing. One of a segment that was sent after the first
/// echo reduces again.
#[test]
fn marks_on_later_segments_reduce_again() {
    let (sent, mut sender) = after_marks(20, CongestionKind::NewReno, true);
    assert_eq!((sent, sender.ssthresh()), (after_marks(1, CongestionKind::NewReno, true).0, 10 * MSS));
    let now = Time::ZERO + Duration::from_ms(20);
    sender.on_ack(now, &Ack { ack: 21 * MSS, ece: true, ..Ack::default() });
    assert_eq!(sender.ssthresh(), 5 * MSS);
    assert_eq!((sender.in_flight(), sender.cwnd()), (9 * MSS, 10 * MSS), "a segment may go at once");
}

/// Segment 2 is lost, which shows while the window falls after a mark: one reduction for both.
#[test]
fn a_loss_after_a_mark_continues_its_reduction() {
    let config = TcpConfig { ecn: true, initial_window: 20, ..tcp(true) };
    let mut sender = Sender::new(&config, 1_000 * MSS);
    sender.start(Time::ZERO);
    seqs(&mut sender, Time::ZERO);
    let now = Time::ZERO + Duration::from_ms(10);
    let mut sent = Vec::new();
    sender.on_ack(now, &Ack { ack: 2 * MSS, ece: true, ..Ack::default() });
    sent.push(seqs(&mut sender, now));
    for end in 4..=20 {
        sender.on_ack(now, &sacked(2, (3, end)));
        sent.push(seqs(&mut sender, now));
    }
    assert!(sender.is_recovering());
    assert_eq!(sender.ssthresh(), 10 * MSS);
    // 19 segments have arrived and one is lost. In all, ten segments go, the lost one among them.
    let counts: Vec<_> = sent.iter().map(Vec::len).collect();
    assert!(counts.iter().all(|&count| count <= 2), "{counts:?}");
    assert!(sent.concat().contains(&2));
    assert_eq!(sender.in_flight(), 10 * MSS);
}

#[test]
fn a_window_that_does_not_change_stays() {
    let mut sender = Sender::new(&TcpConfig { congestion: CongestionKind::Fixed, ..tcp(true) }, 1_000 * MSS);
    sender.start(Time::ZERO);
    seqs(&mut sender, Time::ZERO);
    sender.on_ack(Time::ZERO + Duration::from_ms(1), &sacked(0, (1, 4)));
    assert!(sender.is_recovering());
    assert_eq!(sender.cwnd(), 10 * MSS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Over a path with losses, every byte arrives; each recovery that ends without a timeout ends
    /// with the window at its target; and none has more in flight than at its start or its target.
    #[test]
    fn recoveries_end_at_their_target(
        lost in prop::collection::btree_set(10u64..400, 1..40),
        cubic: bool,
        queue in 20u64..200,
    ) {
        let congestion = if cubic { CongestionKind::Cubic } else { CongestionKind::NewReno };
        let config = PathConfig {
            rate: Some(Rate::mbps(100)),
            queue_limit: queue * 1_040,
            drop_data: lost,
            ..PathConfig::default()
        };
        let mut path = Path::with_flow(config, &TcpConfig { congestion, ..tcp(true) }, 600 * MSS);
        let (mut recovering, mut timed_out, mut most, mut ends) = (false, false, 0, Vec::new());
        path.run_logged(Duration::from_secs(1_000), |_, _, sender, event| match event {
            Event::Acknowledged(_) => {
                if recovering && !sender.is_recovering() && !timed_out {
                    ends.push((sender.cwnd(), sender.ssthresh()));
                }
                if !recovering {
                    most = sender.in_flight();
                }
                recovering = sender.is_recovering();
                timed_out &= recovering;
            }
            Event::TimedOut => timed_out = true,
            Event::Sent(_) | Event::Dropped(_) if recovering && !timed_out => {
                assert!(sender.in_flight() <= most.max(sender.ssthresh()) + 2 * MSS, "{}", sender.in_flight());
            }
            Event::Sent(_) | Event::Dropped(_) => {}
        });
        prop_assert!(path.flows[0].sender.is_done());
        for (cwnd, ssthresh) in ends {
            prop_assert!((ssthresh..=ssthresh + MSS).contains(&cwnd), "{cwnd} at the end for {ssthresh}");
        }
    }

    /// Over a path that marks and loses nothing, what is in flight never grows in a reduction. It
    /// ends with the window at its target, when data is acknowledged that was sent after the echo.
    #[test]
    fn reductions_after_marks_end_at_their_target(
        kind in 0usize..3,
        mark_above in 5u64..100,
        rate in 10u64..200,
        segments in 1u32..3,
    ) {
        let congestion = [CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Dctcp][kind];
        let config = PathConfig {
            rate: Some(Rate::mbps(rate)),
            mark_above: mark_above * 1_040,
            ..PathConfig::default()
        };
        let delayed_ack = DelayedAck { segments, ..DelayedAck::default() };
        let tcp = TcpConfig { congestion, ecn: true, delayed_ack, ..tcp(true) };
        let mut path = Path::with_flow(config, &tcp, 3_000 * MSS);
        // In a reduction: where it ends, and what was in flight at its start.
        let mut falling: Option<(u64, u64)> = None;
        let (mut threshold, mut next, mut ends) = (u64::MAX, 0, Vec::new());
        path.run_logged(Duration::from_secs(1_000), |_, _, sender, event| match event {
            Event::Acknowledged(ack) => {
                let reacts = sender.ssthresh() != threshold;
                threshold = sender.ssthresh();
                if reacts {
                    // With what the acknowledgement has delivered.
                    falling = Some((next, sender.in_flight() + u64::from(segments) * MSS));
                } else if let Some((end, _)) = falling && sender.acknowledged() > end {
                    // At the least window, another reaction keeps the threshold.
                    ends.extend((!ack.ece).then(|| (sender.cwnd(), sender.ssthresh())));
                    falling = None;
                }
            }
            Event::Sent(segment) => {
                next = segment.seq + u64::from(segment.len);
                if let Some((_, start)) = falling {
                    assert!(sender.in_flight() <= start, "{} after {start}", sender.in_flight());
                }
            }
            Event::Dropped(_) | Event::TimedOut => unreachable!("nothing is lost"),
        });
        prop_assert!(path.flows[0].sender.is_done() && path.flows[0].sender.retransmissions() == 0);
        for (cwnd, ssthresh) in ends {
            prop_assert!((ssthresh..=ssthresh + MSS).contains(&cwnd), "{cwnd} at the end for {ssthresh}");
        }
    }
}
