//! The scoreboard against definitions of RFC 6675.
//!
//! A peer acknowledges at random, and every step is compared with counts made anew.

use super::*;
use crate::{Range, SackBlocks};
use proptest::prelude::*;

#[test]
fn stays_small() {
    // Seven and a half cache lines, and a word for round trips that are recorded.
    assert!(size_of::<Sender>() <= 496, "{}", size_of::<Sender>());
    assert_eq!(size_of::<Record>(), 16);
}

/// The scoreboard against RFC 6675's definitions, worked out anew for each segment.
fn check_scoreboard(sender: &Sender) {
    let mss = u64::from(sender.window.mss);
    let mut pipe = 0;
    for (i, record) in sender.records.iter().enumerate() {
        let seq = sender.head + i as u64 * mss;
        let sacked_above = sender.records.iter().skip(i + 1).filter(|r| r.sacked).count();
        assert_eq!(record.sacked, sender.sacked.containing(seq).is_some());
        assert_eq!(seq % mss, 0);
        if sender.rack.is_some() {
            // What is neither in the network nor at the receiver is lost, and will be repeated.
            assert!(record.copies > 0 || record.sacked || record.lost, "segment at {seq}");
            assert!(record.copies > 0 || record.sacked || (sender.repeat_from <= seq && seq < sender.lost_below));
        } else if sender.sack && !record.sacked {
            let lost = sacked_above >= DUP_THRESH as usize;
            assert!(record.lost == lost || (record.lost && sender.timeouts > 0), "segment at {seq}");
        }
        pipe += u64::from(record.copies) * u64::from(sender.segment_len(seq));
    }
    assert_eq!(sender.pipe, pipe);
    assert_eq!(sender.records.len() as u64, (sender.next - sender.head).div_ceil(mss));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A peer that acknowledges at random, in whole segments or not, some of it impossible.
    #[test]
    fn the_scoreboard_is_what_the_rfc_says(
        segments in 1u64..60,
        short in 0u64..10,
        whole: bool,
        sack: bool,
        linux: bool,
        rack: bool,
        timestamps: bool,
        steps in prop::collection::vec((0u64..64, 0u64..10, 0u64..64, 1u64..8, 0u8..8), 1..80),
    ) {
        let options = TcpConfig { limited_growth: linux, prr: linux, f_rto: linux, ..TcpConfig::default() };
        let options = TcpConfig { rack, tail_loss_probe: rack, timestamps, ..options };
        let config = TcpConfig { mss: 10, sack, ecn: true, ..options };
        let mut sender = Sender::new(&config, segments * 10 - short);
        let mut now = Time::ZERO;
        sender.start(now);
        for (ack, odd, block, blocks, kind) in steps {
            for _ in 0..kind {
                sender.poll(now);
            }
            now += Duration::from_ms(7);
            let odd = if whole { 0 } else { odd };
            let mut sacks = SackBlocks::NONE;
            sacks.push(Range { start: block * 10 + odd, end: (block + blocks) * 10 + odd / 2 });
            // Mostly duplicates, as those are what the scoreboard is about.
            let ack = if kind == 0 { sender.una.max(ack * 10 + odd) } else { sender.una };
            // Any echo, also of what was never sent.
            let timestamp_echo = timestamps.then_some((odd * block * 50) as u32);
            sender.on_ack(now, &Ack { ack, sacks, ece: kind == 1, timestamp_echo, ..Ack::default() });
            if kind == 7 && blocks == 7 {
                now = sender.deadline().unwrap_or(now);
                sender.on_timeout(now);
            }
            check_scoreboard(&sender);
        }
    }
}
