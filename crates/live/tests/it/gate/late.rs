//! Signals with times: late ones open no class, and holds count from the sending.
//!
//! A measured difference of clocks says how late signals are, so that no test has to wait, and none
//! depends on how fast frames arrive.

use super::*;
use timeplane_live::clock::monotonic_ns;
use timeplane_protocol::wire::{Endpoint, PORT, UdpFrame};

const SECOND: u64 = 1_000_000_000;
const LIMIT: Duration = Duration::from_secs(10);

/// A gate that refuses what is more than ten seconds late.
fn bench(name: &str) -> Bench {
    Bench::new(name, |c| {
        c.encodings = SignalEncoding::ALL.to_vec();
        c.late_after = Some(LIMIT);
    })
}

/// A signal that leaves so many seconds from now, by a clock that is the host's.
fn from_now(seconds: i64, open: Option<u16>) -> Pfc {
    pfc(monotonic_ns().wrapping_add_signed(seconds * SECOND as i64), open)
}

fn in_encoding(bench: &Bench, encoding: SignalEncoding, pfc: &Pfc) {
    let sealed = pfc.seal(encoding, &KEY, CONTROLLER, HOST).unwrap();
    if encoding != SignalEncoding::Udp {
        return bench.signal(&sealed);
    }
    let end = |mac, last| Endpoint { mac, ip: [10, 0, 0, last].into(), port: PORT };
    let datagram = UdpFrame { source: end(CONTROLLER, 9), destination: end(HOST, 1), payload: sealed };
    bench.signal(&datagram.encode().unwrap());
}

#[test]
fn late_signals_open_nothing_in_any_encoding_and_close_all_the_same() {
    for encoding in SignalEncoding::ALL.into_iter().filter(|e| e.is_sealed()) {
        let bench = bench("lat");
        let before = bench.gate.counters();
        assert_eq!(before, GateCounters::default());
        in_encoding(&bench, encoding, &from_now(0, Some(3)));
        assert!(bench.leaves(3), "{encoding:?}");
        // The demand channel says that the clocks differ by less: all signals were held back.
        bench.gate.measured(1, -20 * SECOND as i64).unwrap();
        in_encoding(&bench, encoding, &from_now(0, Some(4)));
        assert!(!bench.leaves(3) && !bench.leaves(4), "{encoding:?}: late, but class 3 is over");
        in_encoding(&bench, encoding, &from_now(15, Some(5)));
        assert!(bench.leaves(5), "{encoding:?}: within the limit");
        in_encoding(&bench, encoding, &from_now(16, Some(6)));
        let late = pfc(monotonic_ns() + 17 * SECOND, None);
        bench.gate.measured(1, -40 * SECOND as i64).unwrap();
        assert!(bench.leaves(6));
        in_encoding(&bench, encoding, &late);
        assert!(!bench.leaves(6), "{encoding:?}: one that closes is obeyed however late");
        let c = bench.gate.counters();
        assert_eq!((c.obeyed, c.late, c.stale, c.forged, c.malformed), (4, 1, 0, 0, 0), "{encoding:?}");
    }
}

#[test]
fn a_signal_that_was_held_back_among_others_is_late() {
    let bench = Bench::new("held", |c| c.late_after = Some(Duration::from_secs(1)));
    let held = bench.seal(from_now(0, Some(3)));
    bench.signal(&bench.seal(from_now(0, None)));
    // Numbers grow, so that the one that is held back is the newest when it arrives.
    let newest = bench.seal(pfc(monotonic_ns() + 1, Some(4)));
    std::thread::sleep(std::time::Duration::from_millis(1300));
    bench.signal(&held);
    bench.signal(&newest);
    assert!(!bench.leaves(3) && !bench.leaves(4));
    let c = bench.gate.counters();
    assert_eq!((c.stale, c.late), (1, 1));
}

#[test]
fn a_hold_counts_from_the_sending() {
    let bench = bench("from");
    let difference = -5 * SECOND as i64;
    bench.gate.measured(1, difference).unwrap();
    let hold = Duration::from_secs(7);
    let sent = monotonic_ns();
    bench.signal(&bench.seal(Pfc { hold, ..pfc(sent, Some(3)) }));
    let until = bench.gate.class(3).unwrap().until_ns;
    let expected = sent - 5 * SECOND + 7 * SECOND;
    // What drift is allowed for in the time since the measurement.
    assert!((expected..expected + SECOND / 100).contains(&until), "{until}, expected {expected}");
    assert_eq!(bench.gate.counters().obeyed, 1);
    // One whose hold is over opens nothing, within the limit too.
    bench.signal(&bench.seal(Pfc { hold: Duration::from_secs(4), ..pfc(sent + 1, Some(4)) }));
    assert!(!bench.leaves(3) && !bench.leaves(4));
    // Without a limit it counts from the arrival.
    bench.gate.configure(&GateConfig { late_after: None, ..bench.config.clone() }).unwrap();
    bench.signal(&bench.seal(Pfc { hold, ..pfc(sent + 2, Some(3)) }));
    assert!(bench.gate.class(3).unwrap().until_ns > sent + 7 * SECOND);
}

#[test]
fn another_controller_has_another_clock() {
    let bench = bench("next");
    bench.gate.measured(1, -3600 * SECOND as i64).unwrap();
    bench.signal(&bench.seal(from_now(3600, Some(3))));
    assert!(bench.leaves(3));
    // Its machine was started an hour later.
    bench.signal(&bench.seal(Pfc { epoch: 2, ..from_now(0, Some(4)) }));
    assert!(bench.leaves(4) && !bench.leaves(3));
    bench.signal(&bench.seal(Pfc { epoch: 2, ..from_now(0, Some(5)) }));
    assert!(bench.leaves(5));
    bench.gate.measured(2, -20 * SECOND as i64).unwrap();
    bench.signal(&bench.seal(Pfc { epoch: 2, ..from_now(0, Some(3)) }));
    let c = bench.gate.counters();
    assert_eq!((c.obeyed, c.late, c.stale), (3, 1, 0));
}

/// The agent hears of a new controller before the gate hears a signal of it: those of the one
/// before open and close nothing any more.
#[test]
fn a_controller_that_was_replaced_is_not_obeyed() {
    let bench = bench("ruled");
    bench.signal(&bench.seal(from_now(0, Some(3))));
    assert!(bench.leaves(3));
    bench.gate.obey_from(2).unwrap();
    bench.signal(&bench.seal(from_now(0, Some(4))));
    assert!(bench.leaves(3) && !bench.leaves(4));
    bench.signal(&bench.seal(Pfc { epoch: 2, ..from_now(0, Some(4)) }));
    assert!(bench.leaves(4) && !bench.leaves(3));
    let c = bench.gate.counters();
    assert_eq!((c.obeyed, c.stale), (2, 1));
}

#[test]
fn plain_frames_have_no_time_and_are_never_late() {
    let bench = bench("notime");
    bench.gate.measured(1, -3600 * SECOND as i64).unwrap();
    in_encoding(&bench, SignalEncoding::PlainPfc, &from_now(0, Some(3)));
    assert!(bench.leaves(3));
    assert_eq!(bench.gate.counters().late, 0);
}
