//! Matrices of rates with limited row and column sums, by scaling rows and columns.
//!
//! Rows are senders and columns are receivers.

use super::{Hosts, Offered};

/// A doubly sub-stochastic matrix with its total and a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// A rate for every entry offered, in the same order.
    pub rates: Vec<f64>,
    /// Sum of all rates.
    pub total: f64,
    /// Upper bound on the total of any matrix on the same pairs.
    pub bound: f64,
    /// Number of rounds of row and column scaling.
    pub rounds: u32,
}

/// Entries below this become 0: they fade out if a matrix has no total support, and denormal
/// numbers are slow.
const FADED: f64 = 1e-100;
/// A row that exceeds its capacity by this factor is expected to stay full.
const FULL: f64 = 1.02;

/// Scales rows and columns up and down in turn (Sinkhorn and Knopp, 1967), towards the highest
/// total of rates. At the end it scales rows down only, so that no row or column sum exceeds its
/// host's capacity by more than rounding.
///
/// A rate may become higher than offered: the offered rates say which pairs share capacity, and in
/// what proportion. A pair that offers 0 gets 0.
///
/// With total support (each positive entry lies on a perfect matching of positive entries) and
/// equal capacities, all sums tend to the capacity. Without it, the matrix after column scaling
/// still tends to a limit, in which some rows are short and others in excess (Aas, "Limit points of
/// the iterative scaling procedure", 2014). With the excess cut off, the total is the highest that
/// the pairs allow. Entries that cannot be part of such a matrix fade out slowly (as 1 / rounds).
///
/// Rounds end when the total is within `tolerance` (relative) of a bound, after `rounds` at the
/// latest. The bound is the capacity of a vertex cover: all senders that stay full, and all
/// receivers of other senders. [`Scaled`] contains both.
///
/// One round takes time in proportion to the number of entries.
///
/// # Panics
/// Panics if a host does not exist, or if a rate is negative or not finite.
pub fn scale_both(hosts: &Hosts, offered: &[Offered], tolerance: f64, rounds: u32) -> Scaled {
    let mut rates = Vec::new();
    let (bound, rounds) = Scaling::default().scale(hosts, offered, tolerance, rounds, &mut rates);
    Scaled { total: rates.iter().sum(), rates, bound, rounds }
}

/// Scales rows down to their capacity if they exceed it, then columns: one pass, never up.
///
/// The result is feasible, because column scaling only lowers rows. It may leave usable capacity
/// unused.
///
/// # Panics
/// Panics if a host does not exist, or if a rate is negative or not finite.
pub fn scale_down(hosts: &Hosts, offered: &[Offered]) -> Vec<f64> {
    hosts.check(offered);
    assert!(offered.iter().all(|o| o.rate.is_finite()), "rates are finite");
    let mut rates: Vec<f64> = offered.iter().map(|o| o.rate).collect();
    for (capacity, of) in
        [(&hosts.send, (|o: &Offered| o.source) as fn(&Offered) -> u32), (&hosts.receive, |o| o.destination)]
    {
        let mut sums = vec![0.0; hosts.len()];
        for (o, rate) in offered.iter().zip(&rates) {
            sums[of(o) as usize] += rate;
        }
        for (sum, &capacity) in sums.iter_mut().zip(capacity) {
            *sum = down(*sum, capacity);
        }
        for (o, rate) in offered.iter().zip(&mut rates) {
            *rate *= sums[of(o) as usize];
        }
    }
    rates
}

/// The factor that brings a sum to its capacity, at most 1.
fn down(sum: f64, capacity: f64) -> f64 {
    if sum > capacity { capacity / sum } else { 1.0 }
}

/// The factor that brings a sum to its capacity.
fn to(sum: f64, capacity: f64) -> f64 {
    if sum > 0.0 { capacity / sum } else { 1.0 }
}

/// Lines that are summed at once. Each has a register, so that no sum waits for another one.
const WIDTH: usize = 4;
/// No lane.
const NONE: u32 = u32::MAX;

/// Where the entries of all rows, or of all columns, are stored.
///
/// Each line has a lane, longest lines first. A block of [`WIDTH`] lanes stores the first entries
/// of its lines, then the second ones, and so on. Lines of a block have about the same length, so
/// few places are empty.
#[derive(Clone, Debug, Default)]
struct Lanes {
    /// The lane of each line, and the line of each lane ([`NONE`] where there is none).
    lane: Vec<u32>,
    line: Vec<u32>,
    /// The steps of block b are `first[b]..first[b + 1]`.
    first: Vec<u32>,
    /// Lines by length, see [`arrange`](Self::arrange).
    counts: Vec<u32>,
    /// By lane, the number of its entries, and the place of the next one.
    lengths: Vec<u32>,
    next: Vec<u32>,
}

impl Lanes {
    /// Gives lanes to lines of these lengths.
    fn arrange(&mut self, lengths: &[u32]) {
        // Counts how many lines are longer than each length, then gives lanes in that order.
        let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
        self.counts.clear();
        self.counts.resize(longest + 2, 0);
        lengths.iter().for_each(|&length| self.counts[length as usize] += 1);
        for length in (0..=longest).rev() {
            self.counts[length] += self.counts[length + 1];
        }
        let lanes = lengths.len().next_multiple_of(WIDTH);
        for (table, empty) in [(&mut self.lane, NONE), (&mut self.line, NONE), (&mut self.lengths, 0)] {
            table.clear();
            table.resize(lanes, empty);
        }
        for (line, &length) in (0..).zip(lengths) {
            let lane = &mut self.counts[length as usize + 1];
            self.lane[line as usize] = *lane;
            self.line[*lane as usize] = line;
            self.lengths[*lane as usize] = length;
            *lane += 1;
        }
        self.first.clear();
        let mut steps = 0;
        self.first.push(steps);
        for block in self.lengths.chunks_exact(WIDTH) {
            steps += block[0];
            self.first.push(steps);
        }
        self.next.clear();
        self.next.resize(lanes, 0);
        self.rewind();
    }

    /// The steps of all blocks.
    fn steps(&self) -> usize {
        self.first.last().map_or(0, |&steps| steps as usize)
    }

    fn lanes(&self) -> usize {
        self.line.len()
    }

    /// Starts again with the first entry of every lane.
    fn rewind(&mut self) {
        for (lane, next) in (0u32..).zip(&mut self.next) {
            let width = WIDTH as u32;
            *next = self.first[(lane / width) as usize] * width + lane % width;
        }
    }

    /// The place of a lane's next entry.
    fn place(&mut self, lane: u32) -> u32 {
        let next = &mut self.next[lane as usize];
        std::mem::replace(next, *next + WIDTH as u32)
    }

    /// The steps of a block.
    fn block(&self, block: usize) -> core::ops::Range<usize> {
        self.first[block] as usize..self.first[block + 1] as usize
    }

    /// The places of a lane's entries.
    fn places(&self, lane: usize) -> impl Iterator<Item = usize> + use<> {
        let first = self.first[lane / WIDTH] as usize * WIDTH + lane % WIDTH;
        (first..).step_by(WIDTH).take(self.lengths[lane] as usize)
    }
}

/// [`scale_both`] with buffers that are kept.
///
/// Sums are those of entries in the order of rows, and in the order offered within a row. Rows and
/// columns are both [stored](Lanes) so that several sums grow at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scaling {
    rows: Lanes,
    columns: Lanes,
    /// Indices of offered rates in the order of rows.
    order: Vec<u32>,
    /// By place of a row, the entry's place of its column, and the column's lane.
    entries: Vec<[(u32, u32); WIDTH]>,
    /// By place of a column, the lane of the entry's row, and its value without the factors.
    sources: Vec<[u32; WIDTH]>,
    values: Vec<[f64; WIDTH]>,
    /// By lane of a row: its capacity, its sum with the columns' factors up to its capacity, its
    /// factor, and whether its sum is above [`FULL`].
    send: Vec<f64>,
    capped: Vec<f64>,
    up: Vec<f64>,
    full: Vec<bool>,
    /// By lane of a column: its capacity, its sum, its factor, and how many entries of rows that
    /// are not full it has.
    receive: Vec<f64>,
    sums: Vec<f64>,
    factor: Vec<f64>,
    short: Vec<u32>,
    /// Bounds: all senders with entries, and the cover of full rows and of columns of other rows.
    senders: f64,
    cover: f64,
    /// The bound of all receivers of entries, and how many columns have a sum above zero.
    receivers: f64,
    receiving: Option<usize>,
    /// Lengths of lines.
    lengths: [Vec<u32>; 2],
}

impl Scaling {
    /// As [`scale_both`]: replaces `rates`, and returns the bound and the number of rounds.
    ///
    /// # Panics
    /// As [`scale_both`].
    pub(crate) fn scale(
        &mut self,
        hosts: &Hosts,
        offered: &[Offered],
        tolerance: f64,
        rounds: u32,
        rates: &mut Vec<f64>,
    ) -> (f64, u32) {
        self.store(hosts, offered);
        let mut done = 0;
        let (mut total, mut bound) = self.total_and_bound(hosts);
        while done < rounds && bound - total > tolerance * bound {
            self.round();
            done += 1;
            (total, bound) = self.total_and_bound(hosts);
        }
        self.finish(offered, rates);
        (bound, done)
    }

    /// Hosts that cannot send or receive take no part.
    fn takes_part(hosts: &Hosts, o: &Offered) -> bool {
        o.rate > 0.0 && hosts.send[o.source as usize] > 0.0 && hosts.receive[o.destination as usize] > 0.0
    }

    /// Stores the offered rates, with the factors of columns.
    fn store(&mut self, hosts: &Hosts, offered: &[Offered]) {
        hosts.check(offered);
        assert!(offered.iter().all(|o| o.rate.is_finite()), "rates are finite");
        let n = hosts.len();
        for lengths in &mut self.lengths {
            lengths.clear();
            lengths.resize(n, 0);
        }
        let [row_lengths, column_lengths] = &mut self.lengths;
        self.order.clear();
        for (e, o) in (0..).zip(offered).filter(|(_, o)| Self::takes_part(hosts, o)) {
            row_lengths[o.source as usize] += 1;
            column_lengths[o.destination as usize] += 1;
            self.order.push(e);
        }
        if !offered.is_sorted_by_key(|o| o.source) {
            self.order.sort_by_key(|&e| offered[e as usize].source);
        }
        self.rows.arrange(row_lengths);
        self.columns.arrange(column_lengths);
        let lanes = self.rows.lanes();
        // An empty place leads to the place and the lane behind all others, whose value is zero.
        let (places, steps) = (self.columns.steps() * WIDTH, self.columns.steps());
        self.entries.clear();
        self.entries.resize(self.rows.steps(), [(places as u32, lanes as u32); WIDTH]);
        self.sources.clear();
        self.sources.resize(steps, [lanes as u32; WIDTH]);
        self.values.clear();
        self.values.resize(steps + 1, [0.0; WIDTH]);
        for (table, value) in
            [(&mut self.capped, 0.0), (&mut self.up, 1.0), (&mut self.sums, 0.0), (&mut self.factor, 1.0)]
        {
            table.clear();
            table.resize(lanes + 1, value);
        }
        for (lanes, capacity, table) in
            [(&self.rows, &hosts.send, &mut self.send), (&self.columns, &hosts.receive, &mut self.receive)]
        {
            table.clear();
            table.extend(lanes.line.iter().map(|&line| if line == NONE { 0.0 } else { capacity[line as usize] }));
        }
        self.full.clear();
        self.full.resize(lanes, true);
        self.short.clear();
        self.short.resize(lanes, 0);
        let sends = |(&length, &capacity): (&u32, &f64)| if length > 0 { capacity } else { 0.0 };
        self.senders = row_lengths.iter().zip(&hosts.send).map(sends).sum();
        self.receiving = None;
        let (entries, sources, values) =
            (self.entries.as_flattened_mut(), self.sources.as_flattened_mut(), self.values.as_flattened_mut());
        for &e in &self.order {
            let o = &offered[e as usize];
            let (row, column) = (self.rows.lane[o.source as usize], self.columns.lane[o.destination as usize]);
            let (at, of_column) = (self.rows.place(row), self.columns.place(column));
            entries[at as usize] = (of_column, column);
            sources[of_column as usize] = row;
            values[of_column as usize] = o.rate;
            self.sums[column as usize] += o.rate;
        }
        for ((factor, &sum), &capacity) in self.factor.iter_mut().zip(&self.sums).zip(&self.receive) {
            *factor = to(sum, capacity);
        }
    }

    /// Multiplies in the columns' factors, brings every row to its capacity, and computes the
    /// columns' next factors. [`total_and_bound`](Self::total_and_bound) goes before each round.
    fn round(&mut self) {
        let up = &self.up[..];
        let lanes = self.sums.chunks_exact_mut(WIDTH).zip(self.factor.chunks_exact_mut(WIDTH));
        for (block, ((sums, factors), capacity)) in lanes.zip(self.receive.chunks_exact(WIDTH)).enumerate() {
            let steps = self.columns.block(block);
            let mut sum = [0.0; WIDTH];
            let mut factor = [0.0; WIDTH];
            factor.copy_from_slice(factors);
            for (values, sources) in self.values[steps.clone()].iter_mut().zip(&self.sources[steps]) {
                for l in 0..WIDTH {
                    let scaled = values[l] * factor[l] * up[sources[l] as usize];
                    values[l] = if scaled < FADED { 0.0 } else { scaled };
                    sum[l] += values[l];
                }
            }
            for l in 0..WIDTH {
                sums[l] = sum[l];
                factors[l] = to(sum[l], capacity[l]);
            }
        }
    }

    /// Computes row sums, the total if scaling stopped here, and an upper bound.
    fn total_and_bound(&mut self, hosts: &Hosts) -> (f64, f64) {
        let (values, factor) = (self.values.as_flattened(), &self.factor[..]);
        let mut moved = self.receiving.is_none();
        let lanes = self.capped.chunks_exact_mut(WIDTH).zip(self.up.chunks_exact_mut(WIDTH));
        for (block, ((capped, up), capacity)) in lanes.zip(self.send.chunks_exact(WIDTH)).enumerate() {
            let mut sum = [0.0; WIDTH];
            for step in &self.entries[self.rows.block(block)] {
                for l in 0..WIDTH {
                    let (at, column) = step[l];
                    sum[l] += values[at as usize] * factor[column as usize];
                }
            }
            for l in 0..WIDTH {
                let lane = block * WIDTH + l;
                up[l] = to(sum[l], capacity[l]);
                capped[l] = sum[l].min(capacity[l]);
                let full = sum[l] > FULL * capacity[l];
                if std::mem::replace(&mut self.full[lane], full) != full {
                    moved = true;
                    let entries = self.entries.as_flattened();
                    for at in self.rows.places(lane) {
                        let short = &mut self.short[entries[at].1 as usize];
                        *short = if full { *short - 1 } else { *short + 1 };
                    }
                }
            }
        }
        // Sums are in the order of hosts.
        let mut total = 0.0;
        for &lane in &self.rows.lane[..hosts.len()] {
            total += self.capped[lane as usize];
        }
        if moved {
            let rows = self.rows.lane.iter().zip(&hosts.send).filter(|(lane, _)| self.full[**lane as usize]);
            let full = rows.fold(0.0, |sum, (_, capacity)| sum + capacity);
            let columns =
                self.columns.lane.iter().zip(&hosts.receive).filter(|(lane, _)| self.short[**lane as usize] > 0);
            self.cover = full + columns.map(|(_, capacity)| capacity).sum::<f64>();
        }
        // A column whose entries have all faded stays so.
        let receiving = self.sums.iter().filter(|sum| **sum > 0.0).count();
        if self.receiving.replace(receiving) != Some(receiving) {
            let columns =
                self.columns.lane.iter().zip(&hosts.receive).filter(|(lane, _)| self.sums[**lane as usize] > 0.0);
            self.receivers = columns.map(|(_, capacity)| capacity).sum();
        }
        // Two more covers: all hosts with something to send, and all hosts with something to
        // receive.
        (total, self.cover.min(self.senders).min(self.receivers))
    }

    /// Multiplies in the columns' factors and scales rows down that exceed their capacity.
    fn finish(&mut self, offered: &[Offered], rates: &mut Vec<f64>) {
        // A row that exceeds its capacity has a factor below 1.
        for up in &mut self.up {
            *up = up.min(1.0);
        }
        rates.clear();
        rates.resize(offered.len(), 0.0);
        // Entries were stored in this order.
        self.columns.rewind();
        let values = self.values.as_flattened();
        for &e in &self.order {
            let o = &offered[e as usize];
            let (row, column) = (self.rows.lane[o.source as usize], self.columns.lane[o.destination as usize]);
            let value = values[self.columns.place(column) as usize];
            rates[e as usize] = value * (self.factor[column as usize] * self.up[row as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: rows one after the other. It has positive entries by rows, with factors of
    /// columns that are not yet multiplied in.
    struct Matrix<'a> {
        hosts: &'a Hosts,
        /// The entries of row i are `first[i]..first[i + 1]`.
        first: Vec<u32>,
        column: Vec<u32>,
        value: Vec<f64>,
        /// By entry, its index in the offered rates.
        from: Vec<u32>,
        /// Factors of columns not yet multiplied in, and sums of columns without them.
        factor: Vec<f64>,
        sums: Vec<f64>,
        /// Values with the factors of columns, and their sums by rows.
        product: Vec<f64>,
        rows: Vec<f64>,
        covered: Vec<bool>,
    }

    impl<'a> Matrix<'a> {
        fn new(hosts: &'a Hosts, offered: &[Offered]) -> Self {
            hosts.check(offered);
            assert!(offered.iter().all(|o| o.rate.is_finite()), "rates are finite");
            let n = hosts.len();
            // Hosts that cannot send or receive take no part.
            let taken = |o: &Offered| {
                o.rate > 0.0 && hosts.send[o.source as usize] > 0.0 && hosts.receive[o.destination as usize] > 0.0
            };
            let mut first = vec![0u32; n + 1];
            for o in offered.iter().filter(|o| taken(o)) {
                first[o.source as usize + 1] += 1;
            }
            for i in 0..n {
                first[i + 1] += first[i];
            }
            let entries = first[n] as usize;
            let mut at = first.clone();
            let (mut column, mut value, mut from) = (vec![0; entries], vec![0.0; entries], vec![0; entries]);
            for (e, o) in offered.iter().enumerate().filter(|(_, o)| taken(o)) {
                let i = at[o.source as usize] as usize;
                at[o.source as usize] += 1;
                (column[i], value[i], from[i]) = (o.destination, o.rate, e as u32);
            }
            let mut sums = vec![0.0; n];
            for (&j, x) in column.iter().zip(&value) {
                sums[j as usize] += x;
            }
            let factor = sums.iter().zip(&hosts.receive).map(|(&s, &c)| to(s, c)).collect();
            let (product, rows, covered) = (vec![0.0; entries], vec![0.0; n], vec![false; n]);
            Self { hosts, first, column, value, from, factor, sums, product, rows, covered }
        }

        fn row(&self, i: usize) -> core::ops::Range<usize> {
            self.first[i] as usize..self.first[i + 1] as usize
        }

        /// Multiplies in the columns' factors, brings every row to its capacity, and computes the
        /// columns' next factors. `total_and_bound` goes before each round.
        fn round(&mut self) {
            self.sums.fill(0.0);
            for i in 0..self.hosts.len() {
                let row = self.row(i);
                let up = to(self.rows[i], self.hosts.send[i]);
                let products = &self.product[row.clone()];
                for ((&j, x), product) in self.column[row.clone()].iter().zip(&mut self.value[row]).zip(products) {
                    let scaled = product * up;
                    *x = if scaled < FADED { 0.0 } else { scaled };
                    self.sums[j as usize] += *x;
                }
            }
            for ((factor, &sum), &capacity) in self.factor.iter_mut().zip(&self.sums).zip(&self.hosts.receive) {
                *factor = to(sum, capacity);
            }
        }

        /// Computes row sums, the total if scaling stopped here, and an upper bound.
        fn total_and_bound(&mut self) -> (f64, f64) {
            self.covered.fill(false);
            let (mut total, mut bound) = (0.0, 0.0);
            for i in 0..self.hosts.len() {
                let row = self.row(i);
                let columns = &self.column[row.clone()];
                let values = self.value[row.clone()].iter().zip(&mut self.product[row]);
                let mut sum = 0.0;
                for (&j, (x, product)) in columns.iter().zip(values) {
                    *product = x * self.factor[j as usize];
                    sum += *product;
                }
                self.rows[i] = sum;
                let capacity = self.hosts.send[i];
                total += sum.min(capacity);
                if sum > FULL * capacity {
                    bound += capacity;
                } else {
                    for &j in columns {
                        self.covered[j as usize] = true;
                    }
                }
            }
            bound += self.covered.iter().zip(&self.hosts.receive).filter(|(c, _)| **c).map(|(_, r)| r).sum::<f64>();
            // Two more covers: all hosts with something to send, and all hosts with something to
            // receive.
            let of = |entries: bool, capacity: &f64| if entries { *capacity } else { 0.0 };
            let senders: f64 = (0..self.hosts.len()).map(|i| of(!self.row(i).is_empty(), &self.hosts.send[i])).sum();
            let receivers: f64 = self.sums.iter().zip(&self.hosts.receive).map(|(s, r)| of(*s > 0.0, r)).sum();
            (total, bound.min(senders).min(receivers))
        }

        /// Multiplies in the columns' factors and scales rows down that exceed their capacity.
        fn finish(&mut self) {
            for i in 0..self.hosts.len() {
                let row = self.row(i);
                let down = down(self.rows[i], self.hosts.send[i]);
                for (&j, x) in self.column[row.clone()].iter().zip(&mut self.value[row]) {
                    *x *= self.factor[j as usize] * down;
                }
            }
        }

        fn rates(&self, offered: usize) -> Vec<f64> {
            let mut rates = vec![0.0; offered];
            for (&from, &x) in self.from.iter().zip(&self.value) {
                rates[from as usize] = x;
            }
            rates
        }
    }

    fn plain(hosts: &Hosts, offered: &[Offered], tolerance: f64, rounds: u32) -> (Vec<f64>, f64, u32) {
        let mut matrix = Matrix::new(hosts, offered);
        let mut done = 0;
        let (mut total, mut bound) = matrix.total_and_bound();
        while done < rounds && bound - total > tolerance * bound {
            matrix.round();
            done += 1;
            (total, bound) = matrix.total_and_bound();
        }
        matrix.finish();
        (matrix.rates(offered.len()), bound, done)
    }

    fn hosts(n: usize) -> impl Strategy<Value = Hosts> {
        let some = || prop::collection::vec(prop_oneof![1 => Just(0.0), 6 => 0.1f64..3.0], n);
        prop_oneof![2 => Just(Hosts::equal(n)), 1 => (some(), some()).prop_map(|(s, r)| Hosts::new(s, r))]
    }

    fn problems() -> impl Strategy<Value = (Hosts, Vec<Offered>)> {
        let rate = prop_oneof![1 => Just(0.0), 6 => Just(1.0), 3 => 0.001f64..1.0, 1 => 1e-99f64..1e-97];
        // Some hosts have many more entries than others.
        let host = |n: u32| prop_oneof![(0..n), (0..n.div_ceil(4))];
        let offers = move |n| (hosts(n as usize), prop::collection::vec((host(n), host(n), rate.clone()), 0..120));
        (1u32..24).prop_flat_map(offers).prop_map(|(hosts, all)| {
            let offer = |(source, destination, rate)| Offered { source, destination, rate };
            (hosts, all.into_iter().map(offer).collect())
        })
    }

    proptest! {
        /// Buffers that are used again leave no trace, and all digits are those of the definition.
        #[test]
        fn lanes_change_no_digit(
            problems in prop::collection::vec((problems(), any::<bool>()), 1..4),
            tolerance in prop_oneof![Just(0.01), Just(1e-6)],
            rounds in 0u32..60,
        ) {
            let (mut scaling, mut rates) = (Scaling::default(), Vec::new());
            for ((hosts, mut offered), sorted) in problems {
                if sorted {
                    offered.sort_by_key(|o| (o.source, o.destination));
                }
                let (bound, done) = scaling.scale(&hosts, &offered, tolerance, rounds, &mut rates);
                let found: Vec<u64> = rates.iter().map(|r| r.to_bits()).collect();
                let (expected, expected_bound, expected_done) = plain(&hosts, &offered, tolerance, rounds);
                let expected: Vec<u64> = expected.iter().map(|r| r.to_bits()).collect();
                prop_assert_eq!((found, bound.to_bits(), done), (expected, expected_bound.to_bits(), expected_done));
            }
        }
    }
}
