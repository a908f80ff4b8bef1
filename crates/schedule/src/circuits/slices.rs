//! Decomposition of a matrix with equal line sums into permutations, long ones first.
//!
//! Both kinds of Solstice and traffic matrix scheduling cut their demand with it.

use super::augment::Augment;
use super::lines::NONE;

/// A slice may be shorter than the longest possible one by 1/32: finding it takes a third of the
/// time, and schedules are no worse.
const NEAR: u64 = 32;

/// Which of the matchings above the threshold a slice takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// Whichever is found first.
    Any,
    /// About the longest one, if it may be longer than this.
    Longest {
        /// Picoseconds.
        above: u64,
    },
}

/// A matrix of times with equal line sums, and a perfect matching of entries of at least a
/// threshold. The threshold is a power of two of picoseconds and is halved when there is no such
/// matching.
///
/// The matching is kept from one slice to the next: only pairs that have fallen below the threshold
/// are matched again.
#[derive(Clone, Debug, Default)]
pub(super) struct Slices {
    ports: usize,
    threshold: u64,
    /// Times in picoseconds, row by row.
    time: Vec<u64>,
    /// Columns of the entries that were above zero at first, row by row. Most are few. Those of row
    /// i are `first[i]..first[i + 1]`.
    first: Vec<u32>,
    entries: Vec<u32>,
    graph: Augment,
    /// The best matching so far; its edges are unused.
    best: Augment,
    /// Largest entry of each column.
    columns: Vec<u64>,
}

impl Slices {
    /// Starts with a new matrix.
    pub(super) fn begin(&mut self, ports: usize, time: &[u64]) {
        let largest = time.iter().copied().max().unwrap_or(0);
        self.threshold = largest.checked_ilog2().map_or(0, |bits| 1 << bits);
        self.ports = ports;
        self.time.clear();
        self.time.extend_from_slice(time);
        self.list();
        self.graph.reset(ports);
        self.best.reset(ports);
        self.set_rows(self.threshold);
    }

    /// Continues with another matrix of the same size, at the same threshold.
    pub(super) fn go_on(&mut self, time: &[u64]) {
        self.time.copy_from_slice(time);
        self.list();
        self.raise(self.threshold);
    }

    /// Lists the entries above zero. Until there is another matrix, entries only shrink.
    fn list(&mut self) {
        self.entries.clear();
        self.first.clear();
        self.first.push(0);
        for row in self.time.chunks_exact(self.ports.max(1)) {
            self.entries.extend((0..).zip(row).filter(|(_, time)| **time > 0).map(|(j, _)| j));
            self.first.push(self.entries.len() as u32);
        }
    }

    /// Finds the next slice and returns its length, or `None` if nothing is left. It has at least
    /// the threshold.
    pub(super) fn next(&mut self, worth: Worth) -> Option<u64> {
        if self.threshold == 0 {
            return None;
        }
        while !self.graph.perfect() {
            self.threshold /= 2;
            if self.threshold == 0 {
                return None;
            }
            self.set_rows(self.threshold);
        }
        let mut slice = self.smallest();
        if let Worth::Longest { above } = worth
            && 2 * self.threshold > above
        {
            // No perfect matching had entries of twice the threshold. The matrix may have changed
            // since, but a slice of that length is long enough.
            let mut most = self.most().min(2 * self.threshold);
            while most.saturating_sub(slice) > slice / NEAR {
                let middle = slice + (most - slice).div_ceil(2);
                self.best.copy_matching(&self.graph);
                self.raise(middle);
                if self.graph.perfect() {
                    slice = self.smallest();
                } else {
                    self.graph.copy_matching(&self.best);
                    most = middle - 1;
                }
            }
            self.set_rows(self.threshold);
        }
        Some(slice)
    }

    /// The permutation of the slice that was found.
    pub(super) fn outputs(&self) -> &[u32] {
        self.graph.outputs()
    }

    /// Subtracts the slice that was found, or a part of its length, from the matrix.
    pub(super) fn cut(&mut self, slice: u64) {
        for i in 0..self.ports {
            let j = self.graph.outputs()[i] as usize;
            let entry = &mut self.time[i * self.ports + j];
            *entry -= slice;
            if *entry < self.threshold {
                self.graph.forbid(i, j);
            }
        }
    }

    /// The smallest entry of a perfect matching.
    fn smallest(&self) -> u64 {
        let pairs = self.graph.outputs().iter().enumerate();
        pairs.map(|(i, &j)| self.time[i * self.ports + j as usize]).min().unwrap_or(0)
    }

    /// The smallest of all lines' largest entries: an upper bound on the length of a slice.
    fn most(&mut self) -> u64 {
        self.columns.clear();
        self.columns.resize(self.ports, 0);
        let mut least = u64::MAX;
        for i in 0..self.ports {
            let mut largest = 0;
            for &j in &self.entries[self.first[i] as usize..self.first[i + 1] as usize] {
                let entry = self.time[i * self.ports + j as usize];
                let column = &mut self.columns[j as usize];
                largest = largest.max(entry);
                *column = entry.max(*column);
            }
            least = least.min(largest);
        }
        self.columns.iter().copied().fold(least, u64::min)
    }

    /// Removes all edges below a threshold.
    fn raise(&mut self, threshold: u64) {
        for i in 0..self.ports {
            let j = self.graph.outputs()[i];
            if j != NONE && self.time[i * self.ports + j as usize] < threshold {
                self.graph.forbid(i, j as usize);
            }
        }
        self.set_rows(threshold);
    }

    fn set_rows(&mut self, threshold: u64) {
        for i in 0..self.ports {
            let times = &self.time[i * self.ports..][..self.ports];
            // With many entries, a look at all is faster.
            let row = &self.entries[self.first[i] as usize..self.first[i + 1] as usize];
            if 4 * row.len() > self.ports {
                self.graph.set_row(i, times, threshold);
            } else {
                self.graph.set_edges(i, row.iter().filter(|j| times[**j as usize] >= threshold));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Lines;
    use super::super::stuff::Stuffed;
    use super::*;
    use proptest::prelude::*;

    /// The definition: the edges of a threshold are all entries of at least that.
    fn edges(slices: &Slices, threshold: u64) -> Augment {
        let mut graph = slices.graph.clone();
        for i in 0..slices.ports {
            graph.set_row(i, &slices.time[i * slices.ports..][..slices.ports], threshold);
        }
        graph
    }

    proptest! {
        #[test]
        fn listed_entries_are_all_edges(
            ports in 1usize..80,
            cells in prop::collection::vec((0usize..6_400, 1u64..1_000), 0..200),
            longest in any::<bool>(),
        ) {
            let mut lines = Lines { ports, time: vec![0; ports * ports], rows: vec![0; ports], columns: vec![0; ports] };
            for (at, time) in cells {
                let at = at % (ports * ports);
                lines.time[at] += time;
                lines.rows[at / ports] += time;
                lines.columns[at % ports] += time;
            }
            let (mut stuffed, mut slices) = (Stuffed::default(), Slices::default());
            let sum = stuffed.stuff(&lines);
            slices.begin(ports, &stuffed.time);
            let worth = if longest { Worth::Longest { above: 0 } } else { Worth::Any };
            let mut cut = 0;
            while let Some(slice) = slices.next(worth) {
                prop_assert_eq!(&slices.graph, &edges(&slices, slices.threshold));
                let most = slices.most();
                let largest = |line: &mut dyn Iterator<Item = u64>| line.max().unwrap_or(0);
                let rows = (0..ports).map(|i| largest(&mut slices.time[i * ports..][..ports].iter().copied()));
                let columns = (0..ports).map(|j| largest(&mut slices.time[j..].iter().step_by(ports).copied()));
                prop_assert_eq!(most, rows.chain(columns).min().unwrap_or(0));
                slices.cut(slice);
                cut += slice;
                if cut % 3 == 0 {
                    let time = slices.time.clone();
                    slices.go_on(&time);
                }
            }
            prop_assert_eq!(cut, sum, "slices are all of it");
        }
    }
}
