//! Tests of every algorithm against an oracle and against closed formulas.
//!
//! The oracle tracks which ranks' parts are in each piece.

use super::*;
use proptest::prelude::*;

const OPERATIONS: [Collective; 5] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::AllToAll,
    Collective::Broadcast,
];
const ALGORITHMS: [CollectiveAlgorithm; 4] = [
    CollectiveAlgorithm::Ring,
    CollectiveAlgorithm::HalvingDoubling,
    CollectiveAlgorithm::Tree,
    CollectiveAlgorithm::Direct,
];

/// Content of a piece: how often each rank's part is in it.
type Content = Vec<u32>;

/// Number of pieces.
fn pieces(operation: Collective, n: u32) -> u32 {
    if operation == Collective::AllToAll { n * n } else { n }
}

/// Pieces that a rank starts with.
fn initial(operation: Collective, n: u32, rank: u32) -> Vec<Content> {
    let own = |piece: u32| match operation {
        Collective::AllReduce | Collective::ReduceScatter => true,
        Collective::AllGather => piece == rank,
        Collective::AllToAll => piece / n == rank,
        Collective::Broadcast => rank == 0,
    };
    let content = |piece| (0..n).map(|r| u32::from(r == rank && own(piece))).collect();
    (0..pieces(operation, n)).map(content).collect()
}

/// Required final content of a piece at a rank; `None` if any content is allowed.
fn wanted(operation: Collective, n: u32, rank: u32, piece: u32) -> Option<Content> {
    let all = || vec![1; n as usize];
    let of = |source: u32| (0..n).map(|r| u32::from(r == source)).collect();
    match operation {
        Collective::AllReduce => Some(all()),
        Collective::ReduceScatter => (piece == rank).then(all),
        Collective::AllGather => Some(of(piece)),
        Collective::AllToAll => (piece % n == rank).then(|| of(piece / n)),
        Collective::Broadcast => Some(of(0)),
    }
}

fn apply(state: &mut [Content], m: &Move, carried: &[Content]) {
    for (&piece, content) in m.pieces.iter().zip(carried) {
        let mine = &mut state[piece as usize];
        if m.reduces {
            mine.iter_mut().zip(content).for_each(|(a, b)| *a += b);
        } else {
            mine.clone_from(content);
        }
    }
}

/// Whether all ranks end with the required pieces. Each transfer carries only what its sender has
/// from the transfers that it waits for. Transfers arrive in any order that these dependencies
/// allow: `first` selects the next one.
fn follows(operation: Collective, n: u32, made: &Moves, mut first: impl FnMut(usize) -> usize) {
    let count = made.moves.len();
    // All direct and indirect dependencies of a transfer.
    let mut before = vec![vec![false; count]; count];
    for (m, one) in made.moves.iter().enumerate() {
        for &earlier in &made.sets[one.after as usize] {
            assert!((earlier as usize) < m, "transfers are listed after what they wait for");
            let theirs = before[earlier as usize].clone();
            before[m].iter_mut().zip(theirs).for_each(|(a, b)| *a |= b);
            before[m][earlier as usize] = true;
        }
    }
    let mut carried: Vec<Vec<Content>> = Vec::new();
    for (m, one) in made.moves.iter().enumerate() {
        assert!(one.from < n && one.to < n && one.from != one.to);
        let mut state = initial(operation, n, one.from);
        for (e, earlier) in made.moves[..m].iter().enumerate() {
            if before[m][e] && earlier.to == one.from {
                apply(&mut state, earlier, &carried[e]);
            }
        }
        carried.push(one.pieces.iter().map(|&p| state[p as usize].clone()).collect());
    }
    let mut states: Vec<_> = (0..n).map(|r| initial(operation, n, r)).collect();
    let mut done = vec![false; count];
    for _ in 0..count {
        let ready: Vec<usize> =
            (0..count).filter(|&m| !done[m] && (0..count).all(|e| !before[m][e] || done[e])).collect();
        let next = ready[first(ready.len())];
        done[next] = true;
        let m = &made.moves[next];
        apply(&mut states[m.to as usize], m, &carried[next]);
    }
    for (rank, state) in states.iter().enumerate() {
        for (piece, content) in state.iter().enumerate() {
            if let Some(wanted) = wanted(operation, n, rank as u32, piece as u32) {
                assert_eq!(*content, wanted, "rank {rank}, piece {piece} of {n} ranks: {operation:?}");
            }
        }
    }
}

/// Number of pieces that each rank sends.
fn sent(made: &Moves, n: u32) -> Vec<u32> {
    let mut sent = vec![0; n as usize];
    made.moves.iter().for_each(|m| sent[m.from as usize] += m.pieces.len() as u32);
    sent
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// In any order of arrivals, every algorithm carries out its operation, or is refused.
    #[test]
    fn every_rank_ends_with_what_it_should(n in 1u32..14, power in 0u32..4, seed in any::<u64>()) {
        for operation in OPERATIONS {
            for algorithm in ALGORITHMS {
                let n = if algorithm == CollectiveAlgorithm::HalvingDoubling { 1 << power } else { n };
                if refuses(operation, algorithm, n).is_some() {
                    prop_assert_eq!((operation, algorithm), (Collective::AllToAll, CollectiveAlgorithm::Tree));
                    continue;
                }
                let made = moves(operation, algorithm, n);
                let mut state = seed | 1;
                follows(operation, n, &made, |ready| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as usize % ready
                });
            }
        }
    }

    /// All pieces together are the buffer, and they differ by at most one byte.
    #[test]
    fn pieces_are_the_buffer(bytes in 0u64..1_000_000, n in 1u32..100) {
        let all: Vec<u64> = (0..n).map(|p| piece_bytes(bytes, n, p)).collect();
        prop_assert_eq!(all.iter().sum::<u64>(), bytes);
        prop_assert!(all[0] - all[n as usize - 1] <= 1 && all.is_sorted_by(|a, b| a >= b));
    }
}

/// The oracle detects a dependency set that lacks one transfer.
#[test]
fn the_oracle_sees_what_is_missing() {
    for (operation, algorithm) in [
        (Collective::AllReduce, CollectiveAlgorithm::Ring),
        (Collective::AllReduce, CollectiveAlgorithm::HalvingDoubling),
        (Collective::AllReduce, CollectiveAlgorithm::Direct),
        (Collective::AllGather, CollectiveAlgorithm::Tree),
        (Collective::AllToAll, CollectiveAlgorithm::Ring),
    ] {
        let good = moves(operation, algorithm, 4);
        // Dependencies of the last transfer that has any.
        let mut sets = good.moves.iter().rev().map(|m| m.after as usize);
        let set = sets.find(|&s| !good.sets[s].is_empty()).unwrap();
        let mut bad = good.clone();
        bad.sets[set].pop();
        follows(operation, 4, &good, |_| 0);
        let found = std::panic::catch_unwind(|| follows(operation, 4, &bad, |_| 0));
        assert!(found.is_err(), "{operation:?} {algorithm:?}");
    }
}

#[test]
fn bytes_are_those_of_the_closed_formulas() {
    use Collective::{AllGather, AllReduce, AllToAll, ReduceScatter};
    use CollectiveAlgorithm::{Direct, HalvingDoubling, Ring, Tree};
    for n in [2u32, 3, 5, 8, 16] {
        let power = n.is_power_of_two();
        for algorithm in ALGORITHMS {
            if algorithm == HalvingDoubling && !power || algorithm == Tree {
                continue;
            }
            // Counted in pieces, the n-th parts of a buffer: 2 (n - 1), and n - 1.
            for (operation, each) in [(AllReduce, 2 * (n - 1)), (AllGather, n - 1), (ReduceScatter, n - 1)] {
                let made = moves(operation, algorithm, n);
                assert_eq!(sent(&made, n), vec![each; n as usize], "{operation:?} {algorithm:?} {n}");
            }
        }
        assert_eq!(sent(&moves(AllToAll, Direct, n), n), vec![n - 1; n as usize]);
        assert_eq!(sent(&moves(AllToAll, Ring, n), n), vec![n * (n - 1) / 2; n as usize]);
        if power {
            assert_eq!(sent(&moves(AllToAll, HalvingDoubling, n), n), vec![n.ilog2() * n / 2; n as usize]);
        }
        // Up the tree once and down once: each of the n - 1 edges carries a whole buffer.
        assert_eq!(sent(&moves(AllReduce, Tree, n), n).iter().sum::<u32>(), 2 * (n - 1) * n);
        for algorithm in [Ring, Tree, Direct] {
            let made = moves(Collective::Broadcast, algorithm, n);
            assert_eq!(sent(&made, n).iter().sum::<u32>(), (n - 1) * n, "{algorithm:?}");
        }
    }
}

/// Length of the longest chain of transfers, which determines latency.
fn rounds(made: &Moves) -> usize {
    let mut depth: Vec<usize> = Vec::new();
    for m in &made.moves {
        let before = made.sets[m.after as usize].iter().map(|&e| depth[e as usize]).max();
        depth.push(before.unwrap_or(0) + 1);
    }
    depth.into_iter().max().unwrap_or(0)
}

#[test]
fn latencies_count_as_often_as_the_formulas_say() {
    use CollectiveAlgorithm::{Direct, HalvingDoubling, Ring};
    let all_reduce = |algorithm, n| rounds(&moves(Collective::AllReduce, algorithm, n));
    assert_eq!([2, 3, 8, 64].map(|n| all_reduce(Ring, n)), [2, 4, 14, 126]);
    assert_eq!([2, 8, 64].map(|n| all_reduce(HalvingDoubling, n)), [2, 6, 12]);
    assert_eq!([2, 8, 64].map(|n| all_reduce(Direct, n)), [2, 2, 2]);
}

#[test]
fn what_is_not_possible_is_refused() {
    use CollectiveAlgorithm::{HalvingDoubling, Ring, Tree};
    assert!(refuses(Collective::AllReduce, HalvingDoubling, 6).unwrap().contains("power of two"));
    assert!(refuses(Collective::AllToAll, Tree, 4).unwrap().contains("does not go along a tree"));
    assert!(refuses(Collective::AllToAll, Ring, 257).unwrap().contains("at most 256"));
    assert!(refuses(Collective::AllReduce, Ring, 1025).unwrap().contains("at most 1024"));
    assert_eq!(refuses(Collective::AllReduce, Ring, 1024), None);
}
