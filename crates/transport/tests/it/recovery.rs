//! Tests of timers, handshake, ECN, and loss recovery step by step.

use std::fmt::Write;

use crate::path::{Event, Path, PathConfig};
use timeplane_model::{Duration, Rate, Time};
use timeplane_transport::{Ack, CongestionKind, DelayedAck, Range, SackBlocks, Segment, Sender, TcpConfig};

fn tcp() -> TcpConfig {
    TcpConfig { congestion: CongestionKind::NewReno, mss: 1_000, ..TcpConfig::default() }
}

fn ms(ms: i64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn ack(ack: u64) -> Ack {
    Ack { ack, ..Ack::default() }
}

fn sacked(ack: u64, blocks: &[(u64, u64)]) -> Ack {
    let mut sacks = SackBlocks::NONE;
    for &(start, end) in blocks {
        assert!(sacks.push(Range { start, end }));
    }
    Ack { ack, sacks, ..Ack::default() }
}

/// All segments that the sender wants to transmit now.
fn poll(sender: &mut Sender, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll(now)).collect()
}

fn seqs(sender: &mut Sender, now: Time) -> Vec<u64> {
    poll(sender, now).iter().map(|s| s.seq / 1_000).collect()
}

fn started(config: &TcpConfig, segments: u64) -> Sender {
    let mut sender = Sender::new(config, segments * 1_000);
    sender.start(Time::ZERO);
    sender
}

/// One line per event: time, what, and the window in segments.
fn trace(tcp: &TcpConfig, path: PathConfig, bytes: u64) -> String {
    let mut path = Path::with_flow(path, tcp, bytes);
    let mut text = String::new();
    path.run_logged(Duration::from_secs(100), |now, _, sender, event| {
        let what = match event {
            Event::Sent(s) if s.retransmission => format!("again {}", s.seq / 1_000),
            Event::Sent(s) => format!("send {}", s.seq / 1_000),
            Event::Dropped(s) => format!("lose {}", s.seq / 1_000),
            Event::TimedOut => "timeout".into(),
            Event::Acknowledged(a) => {
                let blocks = a.sacks.iter().map(|r| format!(" {}-{}", r.start / 1_000, r.end / 1_000));
                format!("ack {}{}", a.ack / 1_000, blocks.collect::<String>())
            }
        };
        let us = now.as_ps() / 1_000_000;
        let _ = writeln!(text, "{us:6} us  {what:16} {:4.1}", sender.cwnd() as f64 / 1e3);
    });
    text
}

/// 16 segments at 100 Mb/s over 1 ms each way; the transmission of segment 10 is lost.
#[test]
fn golden_trace_of_one_loss() {
    let config = PathConfig { rate: Some(Rate::mbps(100)), drop_data: [10].into(), ..PathConfig::default() };
    let text = trace(&tcp(), config, 16_000);
    println!("{text}");
    assert_eq!(text, include_str!("../golden/one_loss.txt"));
}

/// The same without SACK, with the second copy lost as well, so that the timer must expire.
#[test]
fn golden_trace_of_a_loss_that_is_lost_again() {
    let drop_data = [10, 24].into();
    let config = PathConfig { rate: Some(Rate::mbps(100)), drop_data, ..PathConfig::default() };
    let text = trace(&TcpConfig { sack: false, ..tcp() }, config, 24_000);
    println!("{text}");
    assert_eq!(text, include_str!("../golden/lost_again.txt"));
}

#[test]
fn the_timeout_doubles_up_to_a_minute_and_recovers() {
    let mut sender = started(&tcp(), 10);
    assert_eq!(poll(&mut sender, Time::ZERO).len(), 10);
    let (mut now, mut seconds) = (Time::ZERO, Vec::new());
    for _ in 0..9 {
        let at = sender.deadline().expect("a timer runs");
        seconds.push((at - now).as_secs_f64());
        now = at;
        sender.on_timeout(now - Duration::from_ps(1));
        assert_eq!(seqs(&mut sender, now), [] as [u64; 0], "nothing before the deadline");
        sender.on_timeout(now);
        assert_eq!(seqs(&mut sender, now), [0]);
        assert_eq!((sender.cwnd(), sender.ssthresh()), (1_000, 5_000), "the threshold falls once");
    }
    assert_eq!(seconds, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);

    // Karn: segment 0 was sent more than once and gives no sample, so the backoff stays.
    now += Duration::from_ms(10);
    sender.on_ack(now, &ack(1_000));
    assert_eq!((sender.srtt(), sender.rto()), (None, Duration::from_secs(60)));
    assert_eq!(seqs(&mut sender, now), [1, 2]);
    // Slow start by one segment per acknowledgement after a timeout (RFC 3465, section 2.3).
    sender.on_ack(now, &ack(3_000));
    assert_eq!((seqs(&mut sender, now), sender.cwnd()), (vec![3, 4, 5], 3_000));
    sender.on_ack(now, &ack(10_000));
    assert!(sender.is_done());
    assert_eq!((sender.deadline(), sender.timeouts(), sender.retransmissions()), (None, 9, 14));
}

#[test]
fn a_sample_ends_the_backoff() {
    let mut sender = started(&TcpConfig { initial_window: 1, ..tcp() }, 10);
    poll(&mut sender, Time::ZERO);
    sender.on_timeout(ms(1_000));
    poll(&mut sender, ms(1_000));
    assert_eq!(sender.rto(), Duration::from_secs(2));
    sender.on_ack(ms(1_010), &ack(1_000));
    assert_eq!(sender.rto(), Duration::from_secs(2));
    assert_eq!(seqs(&mut sender, ms(1_010)), [1, 2]);
    sender.on_ack(ms(1_020), &ack(3_000));
    assert_eq!((sender.rto(), sender.srtt()), (Duration::from_ms(200), Some(Duration::from_ms(10))));
}

#[test]
fn sack_tells_what_to_repeat() {
    let mut sender = started(&tcp(), 30);
    assert_eq!(poll(&mut sender, Time::ZERO).len(), 10);
    // Segments 0, 2 and 5 are lost. Limited transmit: a segment for each duplicate (RFC 6675,
    // section 5, step 3).
    sender.on_ack(ms(10), &sacked(0, &[(1_000, 2_000)]));
    assert_eq!(seqs(&mut sender, ms(10)), [10]);
    sender.on_ack(ms(10), &sacked(0, &[(3_000, 4_000), (1_000, 2_000)]));
    assert_eq!(seqs(&mut sender, ms(10)), [11]);
    // The third duplicate: segment 0 at once. The window is 5 segments; 8 are presumably in flight.
    sender.on_ack(ms(10), &sacked(0, &[(3_000, 5_000), (1_000, 2_000)]));
    assert_eq!((seqs(&mut sender, ms(10)), sender.cwnd(), sender.in_flight()), (vec![0], 5_000, 9_000));
    for end in [7, 8, 9] {
        sender.on_ack(ms(11), &sacked(0, &[(6_000, end * 1_000), (3_000, 5_000), (1_000, 2_000)]));
    }
    // 2 and 5 count as lost now: 0, 9, 10 and 11 are in flight, and 2 makes five.
    assert_eq!((seqs(&mut sender, ms(11)), sender.in_flight()), (vec![2], 5_000));
    sender.on_ack(ms(20), &sacked(2_000, &[(6_000, 10_000), (3_000, 5_000)]));
    assert_eq!(seqs(&mut sender, ms(20)), [5, 12]);
    assert!(sender.is_recovering());
    sender.on_ack(ms(30), &ack(12_000));
    assert!(!sender.is_recovering());
    // The acknowledgement that ends the recovery counts as one in congestion avoidance, however
    // much it covers.
    assert_eq!((sender.cwnd(), sender.retransmissions(), sender.timeouts()), (5_200, 3, 0));
}

#[test]
fn a_lost_repetition_is_found_by_what_was_sent_later() {
    for find_lost_repetitions in [false, true] {
        let mut sender = started(&TcpConfig { find_lost_repetitions, initial_window: 20, ..tcp() }, 100);
        poll(&mut sender, Time::ZERO);
        sender.on_ack(ms(8), &ack(1_000));
        poll(&mut sender, ms(8));
        // Segment 1 is lost, and so is its repetition at 10 ms. 21 was sent before that, 22 and 23
        // over 2 ms later.
        sender.on_ack(ms(10), &sacked(1_000, &[(2_000, 5_000)]));
        assert_eq!(seqs(&mut sender, ms(10)), [1]);
        sender.on_ack(ms(13), &sacked(1_000, &[(2_000, 18_000)]));
        assert_eq!(seqs(&mut sender, ms(13))[0], 22);
        sender.on_ack(ms(16), &sacked(1_000, &[(2_000, 22_000)]));
        let cwnd = sender.cwnd();
        assert!(!seqs(&mut sender, ms(16)).contains(&1));
        sender.on_ack(ms(26), &sacked(1_000, &[(2_000, 24_000)]));
        assert_eq!(seqs(&mut sender, ms(26)).contains(&1), find_lost_repetitions);
        assert_eq!(sender.cwnd() < cwnd, find_lost_repetitions, "lowered twice (RFC 5681, section 4.3)");
    }
}

/// The last segments are lost while others are repaired: the rescue retransmission avoids the
/// timeout.
#[test]
fn rescue_repeats_the_tail_once() {
    let mut sender = started(&tcp(), 8);
    poll(&mut sender, Time::ZERO);
    // 0 and 7 are lost.
    for end in 2..=7 {
        sender.on_ack(ms(10), &sacked(0, &[(1_000, end * 1_000)]));
    }
    assert_eq!(seqs(&mut sender, ms(10)), [0, 7]);
    sender.on_ack(ms(11), &sacked(0, &[(1_000, 7_000)]));
    assert_eq!(seqs(&mut sender, ms(11)), [] as [u64; 0]);
    sender.on_ack(ms(20), &ack(8_000));
    assert!(sender.is_done());
}

#[test]
fn ecn_reduces_once_per_window() {
    for (kind, after) in [(CongestionKind::NewReno, 5_000), (CongestionKind::Cubic, 7_000)] {
        let mut sender = started(&TcpConfig { congestion: kind, ecn: true, ..tcp() }, 1_000);
        assert!(poll(&mut sender, Time::ZERO).iter().all(|s| s.ect && !s.cwr));
        let echo = |ack| Ack { ack, ece: true, ..Ack::default() };
        sender.on_ack(ms(10), &echo(2_000));
        assert_eq!(sender.cwnd(), after, "{kind:?}");
        for acked in 3..=10 {
            sender.on_ack(ms(10), &echo(acked * 1_000));
        }
        assert_eq!(sender.cwnd(), after, "{kind:?}: the same window of data, and no growth");
        // The first new segment has CWR, once.
        let cwr: Vec<_> = poll(&mut sender, ms(10)).iter().map(|s| s.cwr).collect();
        assert_eq!(cwr.iter().filter(|&&cwr| cwr).count(), 1);
        assert!(cwr[0]);
        sender.on_ack(ms(20), &echo(11_000));
        assert!(sender.cwnd() < after, "{kind:?}: new data, marked again");
        assert_eq!(sender.retransmissions(), 0);
    }
}

#[test]
fn a_mark_and_a_loss_in_one_window_reduce_once() {
    let mut sender = started(&TcpConfig { ecn: true, ..tcp() }, 1_000);
    poll(&mut sender, Time::ZERO);
    sender.on_ack(ms(10), &Ack { ece: true, ..ack(1_000) });
    assert_eq!(sender.cwnd(), 5_000);
    sender.on_ack(ms(10), &sacked(1_000, &[(2_000, 5_000)]));
    assert!(sender.is_recovering());
    assert_eq!(sender.cwnd(), 5_000);
    assert_eq!(seqs(&mut sender, ms(10))[0], 1);
}

#[test]
fn the_handshake_survives_lost_syns() {
    // A SYN, then a SYN-ACK are lost: one second, then two.
    let config = PathConfig { drop_control: [0, 2].into(), ..PathConfig::default() };
    let mut path = Path::with_flow(config, &TcpConfig { handshake: true, ..tcp() }, 5_000);
    let mut data = Vec::new();
    path.run_logged(Duration::from_secs(10), |now, _, sender, event| {
        if matches!(event, Event::Sent(s) if !s.syn) {
            data.push((now, sender.cwnd(), sender.rto()));
        }
    });
    let (first, cwnd, rto) = data[0];
    assert_eq!(first, ms(3_002));
    assert_eq!((cwnd, rto), (1_000, Duration::from_secs(3)), "RFC 5681, section 3.1; RFC 6298, rule 5.7");
    assert_eq!(path.flows[0].sender.timeouts(), 2);
    assert!(path.flows[0].sender.is_done());
}

#[test]
fn an_undisturbed_handshake_costs_one_round_trip() {
    for handshake in [false, true] {
        let tcp = TcpConfig { handshake, ..tcp() };
        let mut path = Path::with_flow(PathConfig::default(), &tcp, 5_000);
        path.run(Duration::from_secs(1));
        let expected = if handshake { ms(4) } else { ms(2) };
        assert_eq!(path.flows[0].finished, Some(expected));
        assert_eq!(path.flows[0].sender.srtt(), Some(Duration::from_ms(2)));
    }
}

#[test]
fn an_odd_segment_waits_for_the_delayed_acknowledgement() {
    // The first window is one segment of several: its acknowledgement waits for the timer.
    let delayed_ack = DelayedAck { segments: 2, timeout: Duration::from_ms(40) };
    let tcp = TcpConfig { initial_window: 1, delayed_ack, ..tcp() };
    let mut path = Path::with_flow(PathConfig::default(), &tcp, 2_000);
    path.run(Duration::from_secs(1));
    assert_eq!(path.flows[0].finished, Some(ms(44)));
}

#[test]
fn pacing_spreads_a_window_over_the_round_trip() {
    let mut sender = started(&TcpConfig { pacing: true, initial_window: 4, ..tcp() }, 1_000);
    assert_eq!(poll(&mut sender, Time::ZERO).len(), 4, "no round-trip time is known yet");
    let mut now = ms(10);
    sender.on_ack(now, &ack(4_000));
    // 6 segments, slow start: one per 10 ms / (2 * 6).
    let mut times = Vec::new();
    for _ in 0..6 {
        assert_eq!(poll(&mut sender, now).len(), 1);
        times.push((now - ms(10)).as_ps() / 1_000_000);
        now = sender.deadline().expect("pacing or the timer");
        sender.on_timeout(now);
    }
    assert_eq!(times, [0, 833, 1_666, 2_499, 3_333, 4_166]);
    assert_eq!(sender.timeouts(), 1, "the window is used up: the last deadline is the timer's");
}

#[test]
fn the_receive_window_limits_what_is_outstanding() {
    let mut sender = started(&TcpConfig { receive_window: Some(3_500), ..tcp() }, 100);
    assert_eq!(seqs(&mut sender, Time::ZERO), [0, 1, 2]);
    let mut now = Time::ZERO;
    for i in 1..50 {
        now += Duration::from_ms(1);
        sender.on_ack(now, &ack(i * 1_000));
        assert_eq!(seqs(&mut sender, now), [i + 2]);
    }
    assert!(sender.cwnd() <= 20_000, "a window that is not used does not grow: {}", sender.cwnd());
}

#[test]
fn odd_acknowledgements_do_no_harm() {
    let mut sender = started(&tcp(), 20);
    sender.on_ack(ms(1), &ack(1_000));
    poll(&mut sender, ms(1));
    for odd in [
        ack(11_000),
        ack(u64::MAX),
        Ack { syn: true, ..ack(0) },
        sacked(0, &[(u64::MAX - 5, u64::MAX), (30_000, 20_000), (0, u64::MAX)]),
        sacked(1_500, &[(0, 100), (1_500, 1_600)]),
        ack(0),
    ] {
        sender.on_ack(ms(2), &odd);
        poll(&mut sender, ms(2));
        assert!(sender.acknowledged() <= 1_500 && sender.in_flight() <= 20_000);
    }
    while !sender.is_done() {
        sender.on_ack(ms(3), &ack(20_000 - sender.unsent()));
        poll(&mut sender, ms(3));
    }
}
