//! Tests that `solstice` is the published algorithm, and what `solstice_refined` changes.
//!
//! The paper's algorithm is written down here a second time, as plainly as possible. It leaves open
//! which perfect matching of entries above the threshold a slice takes, so all are tried.

use crate::circuits::{PARAMETERS, sparse, text};
use crate::matrices::{Numbers, demand};
use timeplane_model::{Demand, Duration, HostId, Rate};
use timeplane_schedule::circuits::{CircuitAlgorithm, CircuitParameters, Configuration};

type Matrix = Vec<Vec<u64>>;

/// A byte is a picosecond at this rate, so that demand and times are the same numbers.
const BYTE_A_PS: CircuitParameters =
    CircuitParameters { circuit: Rate::gbps(8000), least_open: Duration::ZERO, ..PARAMETERS };

fn matrix(d: &Demand) -> Matrix {
    let hosts = (0..d.hosts()).map(HostId);
    hosts.clone().map(|i| hosts.clone().map(|j| d.row(i).bytes(j).get()).collect()).collect()
}

fn lines(m: &Matrix) -> Vec<u64> {
    let columns = (0..m.len()).map(|j| m.iter().map(|row| row[j]).sum());
    m.iter().map(|row| row.iter().sum()).chain(columns).collect()
}

/// QuickStuff: entries with demand first, then all others.
fn stuff(d: &Matrix) -> Matrix {
    let (n, most) = (d.len(), lines(d).into_iter().max().unwrap());
    let mut stuffed = d.clone();
    let pairs = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    for with_demand in [true, false] {
        for (i, j) in pairs().filter(|&(i, j)| (d[i][j] > 0) == with_demand) {
            let sums = lines(&stuffed);
            stuffed[i][j] += most - sums[i].max(sums[n + j]);
        }
    }
    stuffed
}

/// All permutations of entries of at least `least`.
fn permutations(m: &Matrix, least: u64, row: usize, chosen: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if row == m.len() {
        return found.push(chosen.clone());
    }
    for j in 0..m.len() {
        if m[row][j] >= least && !chosen.contains(&j) {
            chosen.push(j);
            permutations(m, least, row + 1, chosen, found);
            chosen.pop();
        }
    }
}

/// The algorithm at some point: the stuffed demand, the true one, the threshold and the time.
#[derive(Clone)]
struct State {
    stuffed: Matrix,
    left: Matrix,
    threshold: u64,
    elapsed: u64,
}

/// Whether the algorithm, with some choice of matchings, goes on with this plan and then ends.
/// `open` is what of the first configuration earlier slices have filled.
fn explains(mut state: State, p: &CircuitParameters, plan: &[Configuration], open: u64) -> bool {
    let by_packets = u128::from(state.elapsed) * u128::from(p.packet.as_bps()) / u128::from(p.circuit.as_bps());
    let enough = lines(&state.left).into_iter().all(|sum| u128::from(sum) <= by_packets);
    let Some(first) = plan.first() else { return enough };
    let length = first.open.as_ps() as u64;
    if open == length {
        return explains(state, p, &plan[1..], 0);
    }
    let mut all = Vec::new();
    while all.is_empty() && state.threshold > 0 {
        permutations(&state.stuffed, state.threshold, 0, &mut vec![], &mut all);
        if all.is_empty() {
            state.threshold /= 2;
        }
    }
    !enough
        && all.into_iter().any(|outputs| {
            let slice = outputs.iter().enumerate().map(|(i, &j)| state.stuffed[i][j]).min().unwrap();
            let of_plan = |i: usize| first.matching.outputs()[i].map(HostId::index);
            let useful = |i: usize| Some(outputs[i]).filter(|&j| state.left[i][j] > 0);
            // A slice whose circuits are all up already joins the configuration.
            let fits = if open == 0 {
                (0..outputs.len()).all(|i| of_plan(i) == useful(i))
            } else {
                (0..outputs.len()).all(|i| useful(i).is_none_or(|j| of_plan(i) == Some(j)))
            };
            if !fits || open + slice > length {
                return false;
            }
            let mut next = state.clone();
            for (i, &j) in outputs.iter().enumerate() {
                next.stuffed[i][j] -= slice;
            }
            for i in 0..outputs.len() {
                // Circuits that are up carry as long as the configuration does.
                if let Some(j) = of_plan(i) {
                    next.left[i][j] = next.left[i][j].saturating_sub(slice);
                }
            }
            next.elapsed += slice + if open == 0 { first.dark.as_ps() as u64 } else { 0 };
            explains(next, p, plan, open + slice)
        })
}

fn is_published(d: &Demand, p: &CircuitParameters, plan: &[Configuration]) -> bool {
    let left = matrix(d);
    let stuffed = stuff(&left);
    let sums = lines(&stuffed);
    assert!(sums.iter().all(|&sum| sum == sums[0]), "{stuffed:?}");
    let largest = stuffed.iter().flatten().copied().max().unwrap();
    let threshold = if largest == 0 { 0 } else { 1 << largest.ilog2() };
    explains(State { stuffed, left, threshold, elapsed: 0 }, p, plan, 0)
}

#[test]
fn solstice_takes_the_steps_of_the_paper() {
    let mut numbers = Numbers::new(17);
    let mut refined_too = 0;
    for case in 0..400u64 {
        let hosts = 2 + (case % 3) as usize;
        let d = sparse(hosts, 30 + case % 70, 1 + (200_000_000 >> (case % 20)), &mut numbers);
        let packet = Rate::gbps([0, 400, 2000][(case % 7 % 3) as usize]);
        let p = CircuitParameters { packet, dark: Duration::from_ns(case as i64 % 5), ..BYTE_A_PS };
        let plan = |algorithm: CircuitAlgorithm| algorithm.build().finish(&d, &p, None).unwrap();
        let published = plan(CircuitAlgorithm::Solstice);
        assert!(is_published(&d, &p, &published), "{:?}: {:?}", matrix(&d), text(&published));
        refined_too += u32::from(is_published(&d, &p, &plan(CircuitAlgorithm::SolsticeRefined)));
    }
    // Without packets and with one matching to choose from, both are the same.
    assert!((40..300).contains(&refined_too), "{refined_too} of 400");
}

#[test]
fn an_example_by_hand() {
    // The longest line is row 0 with 12. QuickStuff adds 2 to 1 > 0, which makes row 1 full, 2 to
    // 2 > 1 and, as no entry with demand has room left, 3 to 2 > 2:
    //
    //   0 9 3      0 9 3
    //   4 0 6  ->  6 0 6
    //   6 1 0      6 3 3
    //
    // No matching has entries of at least 8. One has entries of at least 4: 0 > 1, 1 > 2, 2 > 0,
    // for min(9, 6, 6) = 6. It leaves
    //
    //   0 3 3
    //   6 0 0
    //   0 3 3
    //
    // and at a threshold of 2 two slices of 3, in either order. Of the demand 4 of 1 > 0, the
    // second needs only 1. The stuffing of 2 > 2 has no circuit.
    let d = demand(3, &[0, 9, 3, 4, 0, 6, 6, 1, 0]);
    let plan = |packet, algorithm: CircuitAlgorithm| {
        let p = CircuitParameters { packet: Rate::gbps(packet), dark: Duration::from_ps(2), ..BYTE_A_PS };
        let plan = algorithm.build().finish(&d, &p, None).unwrap();
        plan.iter().map(|c| (c.matching.pairs().map(|(i, j)| (i.0, j.0)).collect(), c.open.as_ps())).collect::<Vec<_>>()
    };
    let first = (vec![(0, 1), (1, 2), (2, 0)], 6);
    let second = (vec![(0, 1), (1, 0)], 3);
    let third = (vec![(0, 2), (1, 0), (2, 1)], 3);
    assert_eq!(plan(0, CircuitAlgorithm::Solstice), [first.clone(), second.clone(), third]);
    // With packets at a quarter of the rate, the first two take 2 + 6 + 2 + 3 = 13, in which
    // packets carry 3: row 0, with 3 left, is the longest.
    assert_eq!(plan(2000, CircuitAlgorithm::Solstice), [first, second]);
}

#[test]
fn refined_takes_longer_slices_where_large_demands_coincide() {
    // At the threshold of 64 there are two matchings: 0 > 1, 1 > 2, 2 > 0 is open for 64, and
    // 0 > 2, 1 > 0, 2 > 1 for 127. The first one comes first in the order of ports.
    let d = demand(4, &[0, 64, 127, 1, 127, 0, 64, 1, 64, 127, 0, 1, 1, 1, 1, 0]);
    let lengths = |algorithm: CircuitAlgorithm| {
        let plan = algorithm.build().finish(&d, &BYTE_A_PS, None).unwrap();
        plan.iter().map(|c| c.open.as_ps()).collect::<Vec<_>>()
    };
    let (published, refined) = (lengths(CircuitAlgorithm::Solstice), lengths(CircuitAlgorithm::SolsticeRefined));
    assert!(published[0] < refined[0] && published.len() >= refined.len(), "{published:?} and {refined:?}");
}
