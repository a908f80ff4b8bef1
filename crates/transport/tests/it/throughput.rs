//! Tests NewReno under random loss against two formulas.
//!
//! The first is that of Mathis, Semke, Mahdavi, Ott (CCR 27(3), 1997), table 1: rate = MSS / RTT *
//! C / sqrt(p), with C = 1.31 for random losses and C = 0.93 with delayed acknowledgements. It
//! includes neither timeouts nor the round trip of each recovery, so it is too high for small
//! windows: at p = 1 % about a dozen segments. There the reference is equation 30 of Padhye,
//! Firoiu, Towsley, Kurose (SIGCOMM 1998). It is used as published without SACK, and without its
//! timeouts with SACK, which avoids nearly all of them.

use crate::path::{Path, PathConfig};
use timeplane_model::Duration;
use timeplane_transport::{CongestionKind, DelayedAck, TcpConfig};

struct Measured {
    c: f64,
    timeouts: u32,
    losses: u64,
}

fn measure(p: f64, count: u32, sack: bool, seconds: i64) -> Measured {
    let tcp = TcpConfig {
        congestion: CongestionKind::NewReno,
        mss: 1_000,
        delayed_ack: DelayedAck { segments: count, timeout: Duration::from_ms(1) },
        sack,
        ..TcpConfig::default()
    };
    let config = PathConfig { loss: p, propagation: Duration::from_ms(50), seed: 7, ..PathConfig::default() };
    let mut path = Path::with_flow(config, &tcp, u64::MAX);
    let warm_up = Duration::from_secs(200);
    path.run_logged(warm_up, |_, _, _, _| {});
    let before = path.flows[0].sender.acknowledged();
    path.run_logged(warm_up + Duration::from_secs(seconds), |_, _, _, _| {});
    let sender = &path.flows[0].sender;
    let segments = (sender.acknowledged() - before) as f64 / 1_000.0;
    let rtt = 0.1;
    Measured { c: segments / seconds as f64 * rtt * p.sqrt(), timeouts: sender.timeouts(), losses: path.dropped }
}

/// One row per loss rate: C with each segment acknowledged, and with every second one.
fn table(sack: bool) -> Vec<(f64, Measured, Measured)> {
    let rows = [(1e-4, 8_000), (1e-3, 8_000), (1e-2, 8_000)];
    rows.map(|(p, seconds)| (p, measure(p, 1, sack, seconds), measure(p, 2, sack, seconds))).into()
}

fn print(name: &str, table: &[(f64, Measured, Measured)]) {
    println!("{name}\n     p  C(1.31)  losses  timeouts  C(0.93)  losses  timeouts");
    for (p, each, second) in table {
        print!("{p:6}  {:7.3}  {:6}  {:8}", each.c, each.losses, each.timeouts);
        println!("  {:7.3}  {:6}  {:8}", second.c, second.losses, second.timeouts);
    }
}

/// Equation 30 of Padhye et al. as a C, for `b` segments per acknowledgement and a first timeout of
/// `timeout` seconds.
fn padhye(p: f64, b: f64, timeout: f64) -> f64 {
    let rtt = 0.1;
    let in_timeouts = timeout * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    rtt * p.sqrt() / (rtt * (2.0 * b * p / 3.0).sqrt() + in_timeouts)
}

fn check(table: &[(f64, Measured, Measured)], timeout: f64) {
    for (p, each, second) in table {
        let (expected, margin) =
            if *p < 5e-3 { ((1.31, 0.93), 0.10) } else { ((padhye(*p, 1.0, timeout), padhye(*p, 2.0, timeout)), 0.10) };
        assert!((each.c / expected.0 - 1.0).abs() < margin, "p {p}: C {} for {expected:?}", each.c);
        assert!((second.c / expected.1 - 1.0).abs() < margin, "p {p}: C {} for {expected:?}", second.c);
    }
}

#[test]
fn newreno_follows_the_square_root_of_the_loss() {
    let table = table(true);
    print("SACK", &table);
    check(&table, 0.0);
}

#[test]
fn so_it_does_without_sack() {
    let table = table(false);
    print("no SACK", &table);
    check(&table, 0.2);
}
