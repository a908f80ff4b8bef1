//! QuickStuff: raises the entries of a demand until all line sums are equal.
//!
//! A matrix with equal line sums is a sum of permutations, so it can be cut into matchings.

use super::lines::Lines;

/// QuickStuff (He Liu et al., "Scheduling techniques for hybrid circuit/packet networks", CoNEXT
/// 2015). Raises entries until every line has the sum of the longest one. Positive entries are
/// raised first, so that few new ones appear. New entries may be on the diagonal, where a port
/// idles. A matrix with equal line sums is a sum of permutations (Birkhoff), so its positive
/// entries have a perfect matching.
#[derive(Clone, Debug, Default)]
pub(super) struct Stuffed {
    /// Times in picoseconds, row by row.
    pub(super) time: Vec<u64>,
    rows: Vec<u64>,
    columns: Vec<u64>,
}

impl Stuffed {
    /// Stuffs a demand in O(ports squared). Returns the sum of every line.
    pub(super) fn stuff(&mut self, demand: &Lines) -> u64 {
        let n = demand.ports;
        let sum = demand.longest();
        self.time.clone_from(&demand.time);
        for (missing, sums) in [(&mut self.rows, &demand.rows), (&mut self.columns, &demand.columns)] {
            missing.clear();
            missing.extend(sums.iter().map(|s| sum - s));
        }
        for there in [true, false] {
            for i in 0..n {
                let missing = &mut self.rows[i];
                if *missing == 0 {
                    continue;
                }
                let demands = demand.row(i);
                for (j, (entry, column)) in self.time[i * n..][..n].iter_mut().zip(&mut self.columns).enumerate() {
                    if (demands[j] > 0) == there {
                        let more = (*missing).min(*column);
                        *entry += more;
                        *missing -= more;
                        *column -= more;
                        if *missing == 0 {
                            break;
                        }
                    }
                }
            }
        }
        sum
    }
}
