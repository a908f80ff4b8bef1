//! Tests that on any path every byte arrives once and in order, and no flow stalls.

use crate::path::{Path, PathConfig};
use proptest::prelude::*;
use timeplane_model::{Duration, Named, Rate, Time};
use timeplane_transport::{CongestionKind, DelayedAck, TcpConfig};

fn tcp_config() -> impl Strategy<Value = TcpConfig> {
    let numbers = (prop::sample::select(CongestionKind::all()), 100u32..2_000, 1u32..12, 1u32..4, 1i64..3_000);
    let switches = prop::array::uniform10(any::<bool>());
    let window = prop::option::of(1u64..50_000);
    (numbers, switches, window).prop_map(|((congestion, mss, initial_window, count, timeout), switches, window)| {
        let [sack, ecn, pacing, handshake, hystart, find_lost_repetitions, prr, f_rto, rack, tail_loss_probe] =
            switches;
        TcpConfig {
            congestion,
            mss,
            initial_window,
            min_rto: Duration::from_ms(10),
            delayed_ack: DelayedAck { segments: count, timeout: Duration::from_us(timeout) },
            sack,
            ecn,
            pacing,
            handshake,
            hystart,
            find_lost_repetitions,
            prr,
            f_rto,
            rack,
            tail_loss_probe,
            receive_window: window,
            ..TcpConfig::default()
        }
    })
}

fn path_config() -> impl Strategy<Value = PathConfig> {
    let p = || prop_oneof![Just(0.0), 0.0..0.3f64];
    let rate = prop::option::of(1u64..1_000);
    (p(), p(), p(), 0i64..5_000, rate, 4_000u64..40_000, any::<u64>()).prop_map(
        |(loss, ack_loss, duplication, jitter, rate, queue_limit, seed)| PathConfig {
            rate: rate.map(Rate::mbps),
            propagation: Duration::from_us(200),
            queue_limit,
            mark_above: queue_limit / 3,
            loss,
            ack_loss,
            duplication,
            jitter: Duration::from_us(jitter),
            seed,
            ..PathConfig::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once(
        tcp in tcp_config(),
        path in path_config(),
        sizes in prop::collection::vec(0u64..200_000, 1..3),
    ) {
        let mut path = Path::new(path);
        for (i, &bytes) in sizes.iter().enumerate() {
            path.add(&tcp, bytes, Time::ZERO + Duration::from_us(i as i64 * 100));
        }
        // Timeouts back off to a minute; the flow must end, however late.
        path.run(Duration::from_secs(100_000));
    }
}
