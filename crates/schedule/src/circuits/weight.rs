//! Maximum-weight assignments by the Hungarian method.
//!
//! The schedulers `eclipse`, `max_weight` and `hold` find their matchings with it.

use super::lines::NONE;

/// The Hungarian method by shortest augmenting paths (R. Jonker and A. Volgenant, "A shortest
/// augmenting path algorithm for dense and sparse linear assignment problems", 1987): O(ports
/// cubed).
///
/// Exact as long as the largest weight times the number of ports is below 2^60. Beyond that, the
/// lowest bits of the weights are ignored.
#[derive(Clone, Debug, Default)]
pub(super) struct Assignment {
    /// Negated weights, row by row.
    cost: Vec<i64>,
    /// Dual potentials: each cost is at least the sum of the potentials of its row and column, with
    /// equality for matched pairs.
    rows: Vec<i64>,
    columns: Vec<i64>,
    output: Vec<u32>,
    input: Vec<u32>,
    /// By column: length of the shortest path to it, the row before it, and whether the length is
    /// final.
    length: Vec<i64>,
    from: Vec<u32>,
    done: Vec<bool>,
}

impl Assignment {
    /// Assigns a different column to each row of a square matrix, with the highest sum of weights.
    pub(super) fn solve(&mut self, ports: usize, weights: impl Iterator<Item = u64> + Clone) -> &[u32] {
        let largest = weights.clone().max().unwrap_or(0);
        let bits = u64::BITS - largest.leading_zeros() + usize::BITS - ports.leading_zeros();
        let shift = bits.saturating_sub(60);
        self.cost.clear();
        self.cost.extend(weights.map(|w| -((w >> shift) as i64)));
        for table in [&mut self.rows, &mut self.columns, &mut self.length] {
            table.clear();
            table.resize(ports, 0);
        }
        for table in [&mut self.output, &mut self.input, &mut self.from] {
            table.clear();
            table.resize(ports, NONE);
        }
        self.done.clear();
        self.done.resize(ports, false);
        // Rows with different cheapest columns are matched at once.
        for i in 0..ports {
            let row = &self.cost[i * ports..][..ports];
            let (j, &least) = row.iter().enumerate().min_by_key(|&(_, c)| *c).expect("a row has columns");
            self.rows[i] = least;
            if self.input[j] == NONE {
                self.input[j] = i as u32;
                self.output[i] = j as u32;
            }
        }
        for i in 0..ports {
            if self.output[i] == NONE {
                self.augment(ports, i);
            }
        }
        &self.output
    }

    /// Matches a row by the shortest path to a free column (Dijkstra), and updates the potentials.
    fn augment(&mut self, ports: usize, start: usize) {
        self.length.fill(i64::MAX);
        self.done.fill(false);
        let (mut i, mut so_far) = (start, 0);
        let end = loop {
            let row = &self.cost[i * ports..][..ports];
            let base = so_far - self.rows[i];
            let (mut nearest, mut least) = (NONE, i64::MAX);
            for (j, &cost) in row.iter().enumerate() {
                if self.done[j] {
                    continue;
                }
                let length = base + cost - self.columns[j];
                if length < self.length[j] {
                    self.length[j] = length;
                    self.from[j] = i as u32;
                }
                if self.length[j] < least {
                    least = self.length[j];
                    nearest = j as u32;
                }
            }
            so_far = least;
            let j = nearest as usize;
            if self.input[j] == NONE {
                break j;
            }
            self.done[j] = true;
            i = self.input[j] as usize;
        };
        self.rows[start] += so_far;
        for j in (0..ports).filter(|&j| self.done[j]) {
            let beyond = so_far - self.length[j];
            self.columns[j] -= beyond;
            self.rows[self.input[j] as usize] += beyond;
        }
        let mut j = end as u32;
        loop {
            let i = self.from[j as usize] as usize;
            let before = self.output[i];
            self.output[i] = j;
            self.input[j as usize] = i as u32;
            if i == start {
                return;
            }
            j = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::mix64;

    /// The highest sum over all permutations of the rows from `i` on.
    fn best(weights: &[u64], ports: usize, i: usize, used: u32) -> u128 {
        let rest = (0..ports).filter(|&j| used >> j & 1 == 0);
        rest.map(|j| u128::from(weights[i * ports + j]) + best(weights, ports, i + 1, used | 1 << j)).max().unwrap_or(0)
    }

    #[test]
    fn no_permutation_weighs_more() {
        let mut assignment = Assignment::default();
        for case in 0..2000u64 {
            let ports = 1 + (case % 6) as usize;
            // Small ranges, so that many weights are equal, and large ones.
            let bits = [1, 3, 20, 56][(case / 6 % 4) as usize];
            let weights: Vec<u64> =
                (0..ports * ports).map(|e| mix64(case << 8 ^ e as u64 ^ 1 << 40) >> (64 - bits)).collect();
            let outputs = assignment.solve(ports, weights.iter().copied());
            let mut columns: Vec<u32> = outputs.to_vec();
            columns.sort_unstable();
            assert!(columns.iter().copied().eq(0..ports as u32), "{outputs:?}");
            let sum: u128 = outputs.iter().enumerate().map(|(i, &j)| u128::from(weights[i * ports + j as usize])).sum();
            assert_eq!(sum, best(&weights, ports, 0, 0), "{weights:?}");
        }
        // Weights whose sums would overflow.
        let weights = vec![u64::MAX; 9];
        assert_eq!(assignment.solve(3, weights.into_iter()).len(), 3);
    }
}
