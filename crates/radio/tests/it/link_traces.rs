//! Tests link traces against their definition, and in the two rooms of the proxy's measurements.

use proptest::prelude::*;
use std::collections::BTreeSet;
use timeplane_model::Duration;
use timeplane_radio::{
    Angle, BeamTrace, Dbm, ErrorTables, LinkParameters, LinkTrace, LinkTraceError, LinkTraceRules, MatrixError, Mcs,
    RateBySignal, TESTBED_LEVEL, Testbed, Walk,
};

fn ms(t: i64) -> Duration {
    Duration::from_ms(t)
}

fn rates() -> RateBySignal {
    RateBySignal::new(ErrorTables::bundled(), LinkParameters::default(), Mcs::single_carrier())
}

fn link_trace(testbed: &Testbed, seconds: i64) -> LinkTrace {
    let length = Duration::from_secs(seconds);
    LinkTrace::new(&testbed.trace(length).unwrap(), &rates(), LinkTraceRules::default(), length).unwrap()
}

/// The position of a state's rate on the ladder, from 1; 0 in an outage.
fn rungs(link_trace: &LinkTrace) -> Vec<usize> {
    let rates = rates();
    let ladder: Vec<Mcs> = rates.ladder().map(|l| l.0).collect();
    let place = |mcs| 1 + ladder.iter().position(|&m| m == mcs).unwrap();
    link_trace.states().iter().map(|s| s.link.map_or(0, |l| place(l.mcs))).collect()
}

#[test]
fn a_rate_older_than_its_channel_loses_packets() {
    let two = [Angle::ZERO, Angle::degrees(10.0)];
    let levels = |a, b| [Dbm::new(a), Dbm::new(b)];
    // The first beam falls from -65 to -85 dBm in 100 ms, the second one stays at -80.
    let mut trace = BeamTrace::new(two[..1].to_vec(), two.to_vec(), &levels(-65.0, -80.0)).unwrap();
    trace.push(ms(100), &levels(-85.0, -80.0)).unwrap();
    let rates = rates();
    let run = |select| {
        let rules = LinkTraceRules { every: ms(1), select_every: ms(select) };
        LinkTrace::new(&trace, &rates, rules, ms(200)).unwrap()
    };
    let slow = run(50);
    let (first, before, after) = (slow.at(ms(0)), slow.at(ms(49)), slow.at(ms(50)));
    // Selected at -65 dBm: MCS 12, also at -74.8 dBm, where it carries nothing.
    assert_eq!(first.link.unwrap().mcs.name(), "12");
    assert_eq!((before.link.unwrap().mcs.name(), before.rx), ("12", 0));
    assert!((before.level.get() + 74.8).abs() < 1e-9 && before.link.unwrap().packet_error == 1.0);
    // At -75 dBm.
    assert_eq!(Some(after.link.unwrap().mcs), rates.at(Dbm::new(-75.0)).map(|l| l.mcs));
    // From 100 ms on the second beam, after which nothing changes.
    let last = slow.states().last().unwrap();
    assert_eq!((last.at, last.rx, last.level), (ms(100), 1, Dbm::new(-80.0)));
    // Sampled every millisecond, no rate ever loses more than the target.
    assert!(run(1).states().iter().all(|s| s.link.is_none_or(|l| l.packet_error <= 0.01)));
    assert!(run(10).states().iter().any(|s| s.link.is_some_and(|l| l.packet_error > 0.01)));
    // A link in an outage when sampled stays in it.
    let mut trace = BeamTrace::new(two[..1].to_vec(), two.to_vec(), &levels(-95.0, -95.0)).unwrap();
    trace.push(ms(10), &levels(-60.0, -95.0)).unwrap();
    let rules = LinkTraceRules { every: ms(1), select_every: ms(30) };
    let link_trace = LinkTrace::new(&trace, &rates, rules, ms(60)).unwrap();
    assert!(link_trace.at(ms(29)).link.is_none() && link_trace.at(ms(30)).link.is_some());
    assert_eq!(link_trace.at(ms(-5)), &link_trace.states()[0]);
    let text = link_trace.to_csv();
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(lines[..2], ["time_s,tx,rx,level_dbm,mcs,rate_bps,packet_error", "0,0,0,-95,,0,1"]);
    assert!(lines[2].starts_with("0.001,0,0,-91.5,,0,1"), "{}", lines[2]);
}

#[test]
fn steps_that_do_not_exist_are_refused() {
    let trace = BeamTrace::new(vec![Angle::ZERO], vec![Angle::ZERO], &[Dbm::new(-60.0)]).unwrap();
    let new = |every, select_every, length| {
        LinkTrace::new(&trace, &rates(), LinkTraceRules { every, select_every }, length).unwrap_err().to_string()
    };
    let zero = Duration::ZERO;
    assert_eq!(new(zero, ms(1), ms(1)), "a sampling step of 0 ps: it must be above 0");
    assert_eq!(new(ms(1), -ms(1), ms(1)), "a selection interval of -1 ms: it must be above 0");
    assert_eq!(new(ms(1), ms(1), -ms(1)), "a link_trace of -1 ms: at least 0");
    let long = Duration::from_secs(10_001);
    let most = LinkTraceRules { every: ms(1), select_every: ms(1) };
    let error = LinkTrace::new(&trace, &rates(), most, long).unwrap_err();
    assert_eq!(error, LinkTraceError::TooLong { length: long, every: ms(1) });
    // A body that stands still has no trace along its walk.
    let still = Testbed::b(TESTBED_LEVEL);
    let still = still.clone().walked(Walk { speed: 0.0, ..still.walk });
    assert!(still.trace(ms(100)).is_ok());
    let back = still.clone().walked(Walk { speed: -1.0, ..still.walk });
    assert!(matches!(back.trace(ms(100)), Err(MatrixError::Order { .. })));
}

#[test]
fn room_b_falls_through_all_rates_to_none_and_recovers() {
    let b = Testbed::b(TESTBED_LEVEL);
    let nobody = b.scene().matrix(&[]).into_iter().reduce(Dbm::max).unwrap();
    assert!((nobody.get() + 66.0).abs() < 1e-9);
    let link_trace = link_trace(&b, 10);
    let rungs = rungs(&link_trace);
    let (first, last) = (rungs[0], rungs[rungs.len() - 1]);
    assert_eq!((first, last), (11, 11));
    assert!(rungs.contains(&0));
    // On the way down at least six of the eleven rates are used.
    let down: BTreeSet<usize> = rungs.iter().copied().take_while(|&r| r > 0).collect();
    assert!(down.len() >= 6, "{down:?}");
    let silence: i64 =
        link_trace.states().windows(2).filter(|w| w[0].link.is_none()).map(|w| (w[1].at - w[0].at).as_ps()).sum();
    let silence = Duration::from_ps(silence);
    assert!((Duration::from_secs(1)..Duration::from_secs(4)).contains(&silence), "{silence:?}");
    // 35 dB for a body that stands in the middle, 15 dB or more without the extra loss.
    let line = |extra| {
        let mut b = b.clone();
        b.extra = timeplane_radio::Db::new(extra);
        b.scene().matrix(&[b.blocker(Duration::from_secs(5))]).into_iter().reduce(Dbm::max).unwrap()
    };
    assert!((33.0..36.0).contains(&(nobody - line(27.0)).get()), "{:?}", line(27.0));
    assert!((13.0..20.0).contains(&(nobody - line(0.0)).get()), "{:?}", line(0.0));
}

#[test]
fn room_a_has_ways_round() {
    let a = Testbed::a(TESTBED_LEVEL);
    let link_trace = link_trace(&a, 5);
    let rungs = rungs(&link_trace);
    assert!(!rungs.contains(&0) && rungs.iter().min() < rungs.iter().max());
    // While the line of sight is blocked, the signal goes over a cabinet.
    let beams: BTreeSet<(usize, usize)> = link_trace.states().iter().map(|s| (s.tx, s.rx)).collect();
    assert!(beams.contains(&(3, 3)) && beams.len() >= 3, "{beams:?}");
    // The same sender, 0.5 m nearer.
    assert!((a.level - TESTBED_LEVEL).get() > 1.3 && (a.level - TESTBED_LEVEL).get() < 1.4);
}

#[test]
fn a_walk_goes_to_and_fro() {
    let walk = Walk { along: 0.5, before: 2.0, speed: 1.0, angle: Angle::degrees(90.0), returns: true };
    let at = |s: i64| walk.beyond(Duration::from_secs(s));
    assert_eq!([0, 1, 2, 4, 5, 6, 8, 9].map(at), [-2.0, -1.0, 0.0, 2.0, 1.0, 0.0, -2.0, -1.0]);
    let away = Walk { returns: false, ..walk };
    assert_eq!(away.beyond(Duration::from_secs(9)), 7.0);
    // At a right angle it stays at the same distance from either end.
    let b = Testbed::b(TESTBED_LEVEL).walked(walk);
    let line = b.blocker(Duration::from_secs(2)).at;
    let beside = b.blocker(Duration::from_secs(3)).at;
    assert!((line.distance(beside).get() - 1.0).abs() < 1e-9);
    assert!((line.x - 1.6256).abs() < 1e-3 && (line.y - 0.8).abs() < 1e-9, "{line:?}");
}

proptest! {
    /// Every state equals the definition, computed directly.
    #[test]
    fn a_link_trace_is_its_definition(
        levels in prop::collection::vec(prop::collection::vec(-95.0..-60.0f64, 4), 1..6),
        every in 1..40i64, select_every in 1..60i64,
    ) {
        let two = vec![Angle::ZERO, Angle::degrees(10.0)];
        let dbm = |l: &Vec<f64>| l.iter().map(|&x| Dbm::new(x)).collect::<Vec<_>>();
        let mut trace = BeamTrace::new(two.clone(), two, &dbm(&levels[0])).unwrap();
        for (i, l) in levels.iter().enumerate().skip(1) {
            trace.push(ms(50 * i as i64), &dbm(l)).unwrap();
        }
        let rates = rates();
        let rules = LinkTraceRules { every: ms(every), select_every: ms(select_every) };
        let link_trace = LinkTrace::new(&trace, &rates, rules, ms(300)).unwrap();
        prop_assert!(link_trace.states().windows(2).all(|w| w[0].at < w[1].at));
        for t in 0..=300 {
            let sample = t / every * every;
            let chosen = ms(sample / select_every * select_every);
            let (mut pair, mut most) = ((0, 0), trace.level(chosen, 0, 0));
            for p in [(0, 1), (1, 0), (1, 1)] {
                let here = trace.level(chosen, p.0, p.1);
                if here > most { (pair, most) = (p, here); }
            }
            let state = link_trace.at(ms(t));
            prop_assert_eq!((state.tx, state.rx), pair);
            let now = trace.level(ms(sample), pair.0, pair.1);
            prop_assert_eq!(state.level, now);
            // The fastest rate whose losses meet the target at the level of the selection, within a
            // millionth for the thresholds' bisection.
            let meets = |m: &Mcs| rates.packet_error(*m, most).unwrap() <= 0.01;
            let margin = |m: &Mcs| rates.packet_error(*m, most - timeplane_radio::Db::new(0.002)).unwrap() <= 0.01;
            let fastest = Mcs::single_carrier().filter(meets).max_by_key(|m| m.rate());
            let sure = Mcs::single_carrier().filter(margin).max_by_key(|m| m.rate());
            prop_assert!(state.link.map(|l| l.mcs) == fastest || state.link.map(|l| l.mcs) == sure);
            if let Some(l) = state.link {
                prop_assert_eq!(Some(l.packet_error), rates.packet_error(l.mcs, now));
            }
        }
    }
}

#[test]
fn a_trace_that_is_too_short_begins_again() {
    let one = [Angle::ZERO];
    let mut trace = BeamTrace::new(one.to_vec(), one.to_vec(), &[Dbm::new(-60.0)]).unwrap();
    trace.push(ms(300), &[Dbm::new(-80.0)]).unwrap();
    let of = |length| LinkTrace::repeating(&trace, &rates(), LinkTraceRules::default(), ms(length)).unwrap();
    let once = LinkTrace::new(&trace, &rates(), LinkTraceRules::default(), ms(300)).unwrap();
    assert_eq!(of(300), once);
    let long = of(1_000);
    for t in 0..1_000 {
        let (there, here) = (long.at(ms(t)), once.at(ms(t % 300)));
        assert_eq!((there.level, there.link), (here.level, here.link), "at {t} ms");
    }
    assert!(long.states().windows(2).all(|w| w[0].at < w[1].at));
    // A single matrix lasts forever.
    let still = BeamTrace::new(one.to_vec(), one.to_vec(), &[Dbm::new(-60.0)]).unwrap();
    assert_eq!(LinkTrace::repeating(&still, &rates(), LinkTraceRules::default(), ms(500)).unwrap().states().len(), 1);
}

#[test]
fn slower_links_choose_as_the_full_ones_do() {
    let quarter = LinkParameters { rate_factor: 0.25, ..LinkParameters::default() };
    let slow = RateBySignal::new(ErrorTables::bundled(), quarter, Mcs::single_carrier());
    let full = rates();
    for level in -85..-55 {
        let (slow, full) = (slow.at(Dbm::new(f64::from(level))), full.at(Dbm::new(f64::from(level))));
        assert_eq!(slow.map(|l| (l.mcs, l.packet_error)), full.map(|l| (l.mcs, l.packet_error)));
        assert_eq!(slow.map(|l| l.rate.as_bps() * 4), full.map(|l| l.rate.as_bps()));
    }
    assert_eq!(slow.at(Dbm::new(-55.0)).unwrap().rate.as_bps(), 375_000_000);
}
