//! Tests of which demands get a circuit: cover-all, cover-most, and rounds of all matchings.

use crate::circuits::{PARAMETERS, US, assert_valid, cases, matching, reactor, text};
use crate::matrices::demand;
use proptest::prelude::*;
use timeplane_model::{Demand, Duration, HostId, Matching, Rate};
use timeplane_schedule::circuits::{
    CircuitAlgorithm, CircuitParameters, CircuitTuning, Configuration, Retune, evaluate, uptimes,
};

/// Bytes that circuits and packets carry of a demand in a window: pairs with a circuit never use
/// packets, and the others share what the packet switch has for each port.
fn carried(d: &Demand, p: &CircuitParameters, standing: Option<&Matching>, plan: &[Configuration]) -> u64 {
    let ups = uptimes(plan, p, standing);
    let hosts = d.hosts() as usize;
    let mut left = [vec![0u64; hosts], vec![0u64; hosts]];
    for (i, row) in d.rows().iter().enumerate() {
        let without = |to| ups.iter().all(|up| (up.source, up.destination) != (HostId(i as u32), to));
        for entry in row.entries().iter().filter(|e| without(e.destination)) {
            left[0][i] += entry.bytes.get();
            left[1][entry.destination.index()] += entry.bytes.get();
        }
    }
    let budget = p.packet.bytes_in(p.window).get();
    let sums = left.map(|side| side.iter().map(|l| *l.min(&budget)).sum::<u64>());
    evaluate(d, p, standing, plan).unwrap().served.get() + sums[0].min(sums[1])
}

#[test]
fn cover_most_leaves_out_as_many_circuits_as_is_best() {
    let up: Vec<(u32, u32)> = (0..64).map(|i| (i, (i + 1) % 64)).collect();
    let up = matching(&up, 64);
    for packet in [0.0f64, 0.1, 0.2] {
        for large in [50.0f64, 60.0, 70.0, 78.0, 80.0, 82.0, 86.0, 88.0, 89.0, 90.0, 95.0] {
            let small = 3000.0 * (100.0 - large) / 100.0 / 20.0;
            // Circuits have the rate that packets leave. The large flow's is up at the start.
            let pace = 1.0 - packet;
            let open = (small / pace).max(20.0);
            let with = |covered: f64| {
                let rest = pace * (3000.0 - covered * (20.0 + open));
                ((20.0 - covered) * small).min(3000.0 * packet) + covered * small + rest.min(30.0 * large)
            };
            let best = (0..=20).map(|k| with(f64::from(k))).fold(0.0, f64::max) / 3000.0;
            let gbps = |share: f64| Rate::mbps((1e5 * share) as u64);
            let p = CircuitParameters { circuit: gbps(pace), packet: gbps(packet), ..PARAMETERS };
            let d = reactor(large, 20);
            let plan = CircuitAlgorithm::CoverMost.build().plan(&d, &p, Some(&up)).unwrap();
            assert_valid("cover_most", &p, &plan, Some(&up));
            let share = carried(&d, &p, Some(&up), &plan) as f64 / d.total().get() as f64;
            assert!((share - best).abs() < 2e-4, "{large} % beside {packet}: {share} for {best}");
        }
    }
    // A little more than packets carry is not worth a circuit. One that is worth it stays.
    let d = demand(4, &[0, 2500, 31, 0, 0, 0, 2500, 31, 31, 0, 0, 2500, 2500, 31, 0, 0].map(|time| time * US));
    let p = CircuitParameters { packet: Rate::mbps(10), window: Duration::from_us(2560), ..PARAMETERS };
    let plan = |algorithm: CircuitAlgorithm, p| text(&algorithm.build().plan(&d, p, None).unwrap());
    assert_eq!(plan(CircuitAlgorithm::CoverAll, &p).len(), 2);
    assert_eq!(plan(CircuitAlgorithm::CoverMost, &p), ["0>1 1>2 2>3 3>0 20+2500"]);
    let longer = CircuitParameters { window: Duration::from_us(2600), ..p };
    assert_eq!(plan(CircuitAlgorithm::CoverMost, &longer), plan(CircuitAlgorithm::CoverAll, &longer));
}

proptest! {
    #[test]
    fn cover_most_carries_at_least_what_cover_all_does(case in cases(Retune::AllStop)) {
        let (d, p, standing) = (&case.0, &case.1, case.2.as_ref());
        let [all, most] = [CircuitAlgorithm::CoverAll, CircuitAlgorithm::CoverMost].map(|algorithm| {
            let plan = algorithm.build().plan(d, p, standing).unwrap();
            carried(d, p, standing, &plan)
        });
        // A byte of each pair is lost to whole picoseconds.
        let pairs = d.rows().iter().map(|row| row.entries().len() as u64).sum::<u64>();
        prop_assert!(most + 2 * pairs >= all, "{most} after {all}");
    }
}

#[test]
fn rounds_have_all_matchings_in_ever_other_orders() {
    for hosts in 2..12u32 {
        let most = hosts as usize - 1;
        let p = CircuitParameters { window: Duration::from_us(40 * most as i64), ..PARAMETERS };
        for reorder in [false, true] {
            let tuning = CircuitTuning { day: Some(Duration::from_us(20)), reorder, ..CircuitTuning::default() };
            let mut scheduler = CircuitAlgorithm::RoundRobin.build_with(tuning);
            assert!(scheduler.is_oblivious());
            // Nothing is waiting, and every window is filled.
            let mut round = || {
                let plan = scheduler.plan(&Demand::none(hosts), &p, None).unwrap();
                plan.iter().map(|c| c.matching.outputs()[0].unwrap().0).collect::<Vec<_>>()
            };
            let rounds = [round(), round(), round()];
            for (k, round) in rounds.iter().enumerate() {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (1..hosts).collect::<Vec<_>>(), "{hosts} hosts, round {k}: {round:?}");
            }
            let differ = rounds[0] != rounds[1] && rounds[1] != rounds[2];
            assert_eq!(differ, reorder && hosts > 2, "{rounds:?}");
        }
    }
}

#[test]
fn pairs_with_a_circuit_keep_it_until_their_demand_is_much_smaller() {
    // Packets carry 300 us of each line in a window.
    let p = CircuitParameters { packet: Rate::mbps(100), ..PARAMETERS };
    let plan = |factor: f64, first: u64, second: u64| {
        let tuning = CircuitTuning { hysteresis: Some(factor), ..CircuitTuning::default() };
        let mut scheduler = CircuitAlgorithm::CoverAll.build_with(tuning);
        let mut standing = None;
        [first, second].map(|time| {
            let d = demand(3, &[0, time * US, 0, 0, 0, 0, 0, 0, 0]);
            let plan = scheduler.plan(&d, &p, standing.as_ref()).unwrap();
            scheduler.remember(&uptimes(&plan, &p, standing.as_ref()));
            standing = plan.last().map(|c| c.matching.clone());
            plan.len()
        })
    };
    assert_eq!(plan(1.0, 301, 300), [1, 0]);
    assert_eq!(plan(4.0, 301, 300), [1, 1]);
    assert_eq!(plan(4.0, 301, 76), [1, 1]);
    assert_eq!(plan(4.0, 301, 75), [1, 0]);
    // Without a circuit before, nothing counts more than once.
    assert_eq!(plan(4.0, 300, 300), [0, 0]);
}
