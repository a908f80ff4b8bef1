//! Tests of proportional rate reduction (RFC 9937) in a sender.

use crate::path::{Event, Path, PathConfig};
use proptest::prelude::*;
use timeplane_model::{Duration, Rate, Time};
use timeplane_transport::{Ack, CongestionKind, Range, SackBlocks, Sender, TcpConfig};

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
}
