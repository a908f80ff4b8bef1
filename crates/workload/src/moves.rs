//! Collectives as transfers that depend on each other, among ranks 0 to n - 1.
//!
//! A buffer is cut into pieces, n unless stated otherwise. A transfer carries pieces. It waits for
//! all transfers that its sender needs to have these pieces in their required state. There is no
//! other order: a sender's transfers start in the order in which their inputs arrive.

use timeplane_scenario::{Collective, CollectiveAlgorithm};

/// Maximum number of ranks of a collective. A direct collective has a transfer for each pair, and a
/// rank that relays for all others (a ring's all-to-all) carries pieces of all pairs.
pub(crate) const MOST_RANKS: u32 = 1024;
/// Maximum number of ranks of an all-to-all along a ring.
pub(crate) const MOST_RANKS_RELAYED: u32 = 256;

/// A transfer of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// The sending rank.
    pub from: u32,
    /// The receiving rank.
    pub to: u32,
    /// Numbers of the pieces that it carries. In an all-to-all, piece `s * n + d` is the data of
    /// rank s for rank d.
    pub pieces: Vec<u32>,
    /// Whether the receiver adds the pieces to its own. Otherwise they replace its own.
    pub reduces: bool,
    /// Transfers that must be over before: an index into [`Moves::sets`].
    pub after: u32,
}

/// All transfers of a collective, each listed after those that it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// Transfers in order.
    pub moves: Vec<Move>,
    /// Sets of transfers that others wait for; several transfers can share a set.
    pub sets: Vec<Vec<u32>>,
}

/// If an algorithm does not support an operation, describes what is allowed.
pub(crate) fn refuses(operation: Collective, algorithm: CollectiveAlgorithm, ranks: u32) -> Option<String> {
    let relays = operation == Collective::AllToAll && algorithm == CollectiveAlgorithm::Ring;
    let most = if relays { MOST_RANKS_RELAYED } else { MOST_RANKS };
    if ranks > most {
        return Some(format!("at most {most} ranks"));
    }
    match algorithm {
        CollectiveAlgorithm::HalvingDoubling if !ranks.is_power_of_two() => Some(
            "`halving_doubling` is for a power of two of ranks; `ring`, `tree` and `direct` take any number".to_owned(),
        ),
        CollectiveAlgorithm::Tree if operation == Collective::AllToAll => {
            Some("an all-to-all does not go along a tree; `direct`, `ring` and `halving_doubling` do it".to_owned())
        }
        _ => None,
    }
}

/// Bytes of a piece. A buffer of `bytes` is cut into `ranks` pieces that differ by at most one
/// byte, larger ones first.
pub(crate) fn piece_bytes(bytes: u64, ranks: u32, piece: u32) -> u64 {
    let (n, piece) = (u64::from(ranks), u64::from(piece % ranks));
    bytes / n + u64::from(piece < bytes % n)
}

/// The transfers of a collective that is not [refused](refuses).
pub(crate) fn moves(operation: Collective, algorithm: CollectiveAlgorithm, ranks: u32) -> Moves {
    use CollectiveAlgorithm::{Direct, HalvingDoubling, Ring, Tree};
    if operation == Collective::AllToAll {
        return all_to_all(algorithm, ranks);
    }
    let mut maker = Maker::new(ranks);
    match (operation, algorithm) {
        (Collective::AllReduce, Ring) => {
            // Piece r + 1 is complete at rank r after the first half.
            maker.ring(true, |r| r);
            maker.ring(false, |r| r + 1);
        }
        (Collective::AllReduce, HalvingDoubling) => {
            maker.halving();
            maker.doubling();
        }
        (Collective::AllReduce, Direct) => {
            maker.collect_sums();
            maker.hand_out();
        }
        (Collective::AllReduce, Tree) => {
            for piece in 0..ranks {
                maker.up(&[piece]);
                maker.down(&[piece]);
            }
        }
        (Collective::ReduceScatter, Ring) => maker.ring(true, |r| r + ranks - 1),
        (Collective::ReduceScatter, HalvingDoubling) => maker.halving(),
        (Collective::ReduceScatter, Direct) => maker.collect_sums(),
        (Collective::ReduceScatter, Tree) => {
            for piece in 0..ranks {
                maker.up(&[piece]);
            }
            maker.scatter();
        }
        (Collective::AllGather, Ring) => maker.ring(false, |r| r),
        (Collective::AllGather, HalvingDoubling) => maker.doubling(),
        (Collective::AllGather, Direct) => maker.hand_out(),
        (Collective::AllGather, Tree) => {
            maker.gather();
            maker.spread();
        }
        (Collective::Broadcast, Ring) => {
            for piece in 0..ranks {
                for r in 0..ranks.saturating_sub(1) {
                    maker.round(vec![(r, r + 1, vec![piece], false)]);
                }
            }
        }
        (Collective::Broadcast, HalvingDoubling) => maker.binomial(),
        (Collective::Broadcast, Direct) => {
            let all: Vec<u32> = (0..ranks).collect();
            maker.round((1..ranks).map(|r| (0, r, all.clone(), false)).collect());
        }
        (Collective::Broadcast, Tree) => {
            for piece in 0..ranks {
                maker.down(&[piece]);
            }
        }
        (Collective::AllToAll, _) => unreachable!("it is made elsewhere"),
    }
    maker.made
}

/// Makes transfers, and tracks the origin of each piece at each rank.
struct Maker {
    n: u32,
    made: Moves,
    /// By rank and piece, the transfers on which its current state depends.
    holds: Vec<Vec<u32>>,
}

/// From, to, pieces, and whether they are added.
type Planned = (u32, u32, Vec<u32>, bool);

impl Maker {
    fn new(n: u32) -> Self {
        Self { n, made: Moves::default(), holds: vec![Vec::new(); (n * n) as usize] }
    }

    fn place(&self, rank: u32, piece: u32) -> usize {
        (rank * self.n + piece) as usize
    }

    /// Adds transfers of one round, none of which waits for another.
    fn round(&mut self, planned: Vec<Planned>) {
        let first = self.made.moves.len() as u32;
        for (from, to, pieces, reduces) in planned {
            let like_last = self.made.moves[first as usize..].last().filter(|m| m.from == from && m.pieces == pieces);
            let after = match like_last.map(|m| m.after) {
                Some(after) => after,
                None => {
                    let mut set: Vec<u32> =
                        pieces.iter().flat_map(|&p| self.holds[self.place(from, p)].iter().copied()).collect();
                    set.sort_unstable();
                    set.dedup();
                    self.made.sets.push(set);
                    self.made.sets.len() as u32 - 1
                }
            };
            self.made.moves.push(Move { from, to, pieces, reduces, after });
        }
        for m in first..self.made.moves.len() as u32 {
            let Move { to, ref pieces, reduces, .. } = self.made.moves[m as usize];
            for &p in pieces {
                let holds = &mut self.holds[(to * self.n + p) as usize];
                if !reduces {
                    holds.clear();
                }
                holds.push(m);
            }
        }
    }

    /// n - 1 rounds to the next rank. Rank r starts with the piece `first(r)`, and continues with
    /// the piece that it has just received.
    fn ring(&mut self, reduces: bool, first: impl Fn(u32) -> u32) {
        let n = self.n;
        for k in 0..n.saturating_sub(1) {
            let piece = |r: u32| (first(r) + n - k) % n;
            self.round((0..n).map(|r| (r, (r + 1) % n, vec![piece(r)], reduces)).collect());
        }
    }

    /// Recursive halving: at the end, rank r has piece r of the sum.
    fn halving(&mut self) {
        let mut distance = self.n / 2;
        while distance > 0 {
            let half = |r: u32| {
                let partner = r ^ distance;
                let begin = partner / distance * distance;
                (r, partner, (begin..begin + distance).collect(), true)
            };
            self.round((0..self.n).map(half).collect());
            distance /= 2;
        }
    }

    /// Recursive doubling: rank r starts with piece r.
    fn doubling(&mut self) {
        let mut distance = 1;
        while distance < self.n {
            let own = |r: u32| {
                let begin = r / distance * distance;
                (r, r ^ distance, (begin..begin + distance).collect(), false)
            };
            self.round((0..self.n).map(own).collect());
            distance *= 2;
        }
    }

    /// Each rank sends each piece to the rank of its number, which adds them up; first to the next
    /// rank, then to the one after.
    fn collect_sums(&mut self) {
        let n = self.n;
        let pairs = (0..n).flat_map(|r| (1..n).map(move |k| (r, (r + k) % n)));
        self.round(pairs.map(|(r, to)| (r, to, vec![to], true)).collect());
    }

    /// Each rank sends the piece of its number to all others.
    fn hand_out(&mut self) {
        let n = self.n;
        let pairs = (0..n).flat_map(|r| (1..n).map(move |k| (r, (r + k) % n)));
        self.round(pairs.map(|(r, to)| (r, to, vec![r], false)).collect());
    }

    /// The sum goes up the tree, in which rank r is the parent of 2 r + 1 and 2 r + 2.
    fn up(&mut self, pieces: &[u32]) {
        for r in (1..self.n).rev() {
            self.round(vec![(r, (r - 1) / 2, pieces.to_vec(), true)]);
        }
    }

    /// The root's data goes down the tree.
    fn down(&mut self, pieces: &[u32]) {
        for r in 1..self.n {
            self.round(vec![((r - 1) / 2, r, pieces.to_vec(), false)]);
        }
    }

    /// The ranks below each rank, including itself.
    fn below(&self) -> Vec<Vec<u32>> {
        let mut below: Vec<Vec<u32>> = (0..self.n).map(|r| vec![r]).collect();
        for r in (1..self.n as usize).rev() {
            let own = below[r].clone();
            below[(r - 1) / 2].extend(own);
        }
        below
    }

    /// Each rank's piece goes up the tree.
    fn gather(&mut self) {
        let below = self.below();
        for r in (1..self.n).rev() {
            self.round(vec![(r, (r - 1) / 2, below[r as usize].clone(), false)]);
        }
    }

    /// Each rank gets from its parent all pieces that are not from its subtree.
    fn spread(&mut self) {
        let below = self.below();
        for r in 1..self.n {
            let mut own = vec![false; self.n as usize];
            below[r as usize].iter().for_each(|&p| own[p as usize] = true);
            let others = (0..self.n).filter(|&p| !own[p as usize]).collect();
            self.round(vec![((r - 1) / 2, r, others, false)]);
        }
    }

    /// Each rank gets from its parent the pieces for its subtree.
    fn scatter(&mut self) {
        let below = self.below();
        for r in 1..self.n {
            self.round(vec![((r - 1) / 2, r, below[r as usize].clone(), false)]);
        }
    }

    /// From rank 0, the number of ranks with the data doubles in each round.
    fn binomial(&mut self) {
        let all: Vec<u32> = (0..self.n).collect();
        let mut have = 1;
        while have < self.n {
            self.round((0..have).map(|r| (r, r + have, all.clone(), false)).collect());
            have *= 2;
        }
    }
}

/// An all-to-all: pieces belong to pairs and never change on their way.
fn all_to_all(algorithm: CollectiveAlgorithm, n: u32) -> Moves {
    let mut made = Moves { moves: Vec::new(), sets: vec![Vec::new()] };
    let round = |made: &mut Moves, pieces: &dyn Fn(u32) -> Vec<u32>, to: &dyn Fn(u32) -> u32, last: &mut Vec<u32>| {
        // A rank may have to pass on what it has received so far.
        for r in 0..n {
            made.moves.push(Move { from: r, to: to(r), pieces: pieces(r), reduces: false, after: last[r as usize] });
        }
        let first = made.moves.len() as u32 - n;
        for r in 0..n {
            let mut set = made.sets[last[to(r) as usize] as usize].clone();
            if algorithm == CollectiveAlgorithm::Ring {
                // Only the pieces received last go on.
                set.clear();
            }
            set.push(first + r);
            made.sets.push(set);
        }
        let begin = made.sets.len() as u32 - n;
        for r in 0..n {
            last[to(r) as usize] = begin + r;
        }
    };
    let mut last = vec![0; n as usize];
    match algorithm {
        CollectiveAlgorithm::Direct | CollectiveAlgorithm::Tree => {
            for r in 0..n {
                for to in (1..n).map(|k| (r + k) % n) {
                    made.moves.push(Move { from: r, to, pieces: vec![r * n + to], reduces: false, after: 0 });
                }
            }
        }
        CollectiveAlgorithm::Ring => {
            for k in 0..n.saturating_sub(1) {
                // Pieces from k ranks before, for all ranks beyond the next one.
                let pieces = |r: u32| {
                    let source = (r + n - k) % n;
                    (k + 1..n).map(|far| source * n + (source + far) % n).collect()
                };
                round(&mut made, &pieces, &|r| (r + 1) % n, &mut last);
            }
        }
        CollectiveAlgorithm::HalvingDoubling => {
            let mut bit = 1;
            while bit < n {
                // After the rounds of the lower bits, a rank holds pieces for ranks that agree with
                // it in these bits, from ranks that agree with it in all others.
                let pieces = |r: u32| {
                    let lower = bit - 1;
                    let sources = (0..n).filter(move |s| s & !lower == r & !lower);
                    let pairs = sources.flat_map(move |s| {
                        (0..n).filter(move |d| d & lower == r & lower && d & bit != r & bit).map(move |d| (s, d))
                    });
                    pairs.map(|(s, d)| s * n + d).collect()
                };
                round(&mut made, &pieces, &|r| r ^ bit, &mut last);
                bit *= 2;
            }
        }
    }
    made
}

#[cfg(test)]
mod tests;
