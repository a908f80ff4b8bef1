//! Tests that Sunflow keeps its bound for one coflow, and the order of several.

use crate::circuits::{PARAMETERS, US, sparse, us};
use crate::matrices::{Numbers, demand};
use timeplane_model::{Backlog, Bytes, CoflowBacklog, CoflowId, Demand, Duration, HostId};
use timeplane_schedule::circuits::{CircuitAlgorithm, CircuitParameters, Retune, Uptime, evaluate, uptimes};

#[test]
fn sunflow_is_done_within_twice_the_busiest_port_and_never_interrupts() {
    let mut numbers = Numbers::new(5);
    let p = CircuitParameters { retune: Retune::Moved, ..PARAMETERS };
    let mut worst = 0.0;
    for case in 0..500 {
        let hosts = 2 + case % 9;
        let d = sparse(hosts, 10 + 10 * (case as u64 % 10), 200_000, &mut numbers);
        let plan = CircuitAlgorithm::Sunflow.build().finish(&d, &p, None).unwrap();
        let ups = uptimes(&plan, &p, None);
        let mut ports = vec![Duration::ZERO; 2 * hosts];
        let mut pairs = 0;
        for (i, row) in d.rows().iter().enumerate() {
            for entry in row.entries() {
                let ours: Vec<_> =
                    ups.iter().filter(|u| u.source.index() == i && u.destination == entry.destination).collect();
                assert_eq!(ours.len(), 1, "a pair has one circuit");
                let time = p.circuit.time_for(entry.bytes).max(p.least_open);
                assert!(ours[0].end - ours[0].begin >= time);
                for port in [i, hosts + entry.destination.index()] {
                    ports[port] += p.dark + time;
                }
                pairs += 1;
            }
        }
        assert_eq!(ups.len(), pairs);
        let busiest = ports.into_iter().max().unwrap();
        let e = evaluate(&d, &p, None, &plan).unwrap();
        assert!(e.circuits_end <= busiest * 2, "{} for {busiest}", e.circuits_end);
        worst = f64::max(worst, us(e.circuits_end) / us(busiest));
    }
    // In practice the ratio is much lower.
    assert!(worst < 1.5, "{worst}");
    // Two pairs that share no port are set up when earlier demand ends, each with its own dark
    // time.
    let d = demand(4, &[0, 100 * US, 70 * US, 0, 0, 0, 0, 60 * US, 0, 0, 0, 0, 0, 0, 0, 0]);
    let ups = uptimes(&CircuitAlgorithm::Sunflow.build().finish(&d, &p, None).unwrap(), &p, None);
    let ups: Vec<_> = ups.iter().map(|u| (u.source.0, u.destination.0, us(u.begin), us(u.end))).collect();
    // 1 > 3 carries on while 0 moves to 2, and stays up.
    assert_eq!(ups, [(0, 1, 20.0, 120.0), (1, 3, 20.0, 210.0), (0, 2, 140.0, 210.0)]);
    let error = CircuitAlgorithm::Sunflow.build().plan(&d, &PARAMETERS, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`sunflow` sets circuits up one by one: it needs a switch of which only the moved ports go dark"
    );
}

/// Demand of coflows: entries of sender, receiver and microseconds.
fn coflows(hosts: u32, all: &[&[(u32, u32, u64)]]) -> Demand {
    let mut demand = Demand::none(hosts);
    for i in 0..hosts {
        let ours = all.iter().enumerate().flat_map(|(c, pairs)| {
            let ours = pairs.iter().filter(move |p| p.0 == i);
            ours.map(move |p| (HostId(p.1), CoflowId(c as u32), Bytes::new(p.2 * US)))
        });
        let parts: Vec<_> =
            ours.map(|(destination, coflow, bytes)| CoflowBacklog { destination, coflow, bytes }).collect();
        let row = Backlog::of_bytes(parts.iter().map(|p| (p.destination, p.bytes)));
        demand.set_row(HostId(i), row.with_coflows(parts));
    }
    demand
}

#[test]
fn sunflow_serves_the_coflow_with_the_least_bound_first() {
    let p = CircuitParameters { retune: Retune::Moved, ..PARAMETERS };
    let ups = |d: &Demand| -> Vec<_> {
        let ups = uptimes(&CircuitAlgorithm::Sunflow.build().finish(d, &p, None).unwrap(), &p, None);
        ups.iter().map(|u| (u.source.0, u.destination.0, us(u.begin), us(u.end))).collect()
    };
    // The second coflow has a bound of 30 us, the first one of 100 us. As one, the longest demand
    // comes first.
    let (long, short): (&[_], &[_]) = (&[(0, 1, 100)], &[(0, 2, 30), (3, 1, 20)]);
    let first = [(0, 2, 20.0, 50.0), (3, 1, 20.0, 50.0), (0, 1, 70.0, 170.0)];
    assert_eq!(ups(&coflows(4, &[long, short])), first);
    assert_eq!(ups(&coflows(4, &[short, long])), first);
    let together = [long, short].concat();
    let as_one = [(0, 1, 20.0, 120.0), (3, 1, 140.0, 170.0), (0, 2, 140.0, 170.0)];
    let mut found = ups(&coflows(4, &[&together]));
    found.sort_by(|a, b| (a.2, b.0).partial_cmp(&(b.2, a.0)).unwrap());
    assert_eq!(found, as_one);
    // The longer coflow (2 > 3) uses port 2 until the shorter one needs it, and goes on afterwards.
    let d = coflows(4, &[&[(2, 3, 200)], &[(0, 1, 50), (2, 1, 40)]]);
    assert_eq!(ups(&d), [(0, 1, 20.0, 70.0), (2, 3, 20.0, 70.0), (2, 1, 90.0, 130.0), (2, 3, 150.0, 300.0)]);
}

#[test]
fn no_coflow_of_sunflow_delays_one_with_a_lower_bound() {
    let mut numbers = Numbers::new(31);
    let p = CircuitParameters { retune: Retune::Moved, ..PARAMETERS };
    for case in 0..300 {
        let hosts = 3 + case % 6;
        let mut all: Vec<Vec<(u32, u32, u64)>> = (0..2 + case % 4)
            .map(|_| {
                let pairs = (0..1 + numbers.below(8)).map(|_| {
                    let to = numbers.cycle(hosts as usize);
                    let from = numbers.below(hosts as u64) as u32;
                    (from, to[from as usize] as u32, 1 + numbers.below(500))
                });
                pairs.collect()
            })
            .collect();
        let bound = |pairs: &[(u32, u32, u64)]| {
            let sums = (0..hosts as u32).flat_map(|h| {
                let of = |side: fn(&(u32, u32, u64)) -> u32| -> u64 {
                    pairs.iter().filter(|p| side(p) == h).map(|p| p.2).sum()
                };
                [of(|p| p.0), of(|p| p.1)]
            });
            sums.max().unwrap()
        };
        all.sort_by_key(|pairs| bound(pairs));
        let plan = |some: &[Vec<(u32, u32, u64)>]| {
            let some: Vec<&[_]> = some.iter().map(Vec::as_slice).collect();
            let d = coflows(hosts as u32, &some);
            let plan = CircuitAlgorithm::Sunflow.build().finish(&d, &p, None).unwrap();
            let endless = CircuitParameters { window: Duration::from_ps(1 << 61), most: u32::MAX, ..p };
            endless.check_plan(d.hosts(), &plan, None).unwrap();
            assert_eq!(evaluate(&d, &p, None, &plan).unwrap().left, Bytes::ZERO);
            uptimes(&plan, &p, None)
        };
        // When the circuits of each pair have been up for as long as these coflows need them.
        let done = |ups: &[Uptime], some: &[Vec<(u32, u32, u64)>]| -> Duration {
            let mut last = Duration::ZERO;
            for i in 0..hosts as u32 {
                for j in 0..hosts as u32 {
                    let mut left: Duration = some
                        .iter()
                        .flatten()
                        .filter(|f| (f.0, f.1) == (i, j))
                        .fold(Duration::ZERO, |sum, f| sum + Duration::from_us(f.2 as i64));
                    for up in ups.iter().filter(|u| (u.source.0, u.destination.0) == (i, j)) {
                        let used = left.min(up.end - up.begin);
                        left = left - used;
                        if used > Duration::ZERO {
                            last = last.max(up.begin + used);
                        }
                    }
                    assert_eq!(left, Duration::ZERO);
                }
            }
            last
        };
        let ups = plan(&all);
        for k in 1..all.len() {
            let (with_others, alone) = (done(&ups, &all[..k]), done(&plan(&all[..k]), &all[..k]));
            assert!(with_others <= alone, "{with_others} instead of {alone}: {all:?}");
        }
    }
}
