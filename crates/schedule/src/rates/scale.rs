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
    let mut matrix = Matrix::new(hosts, offered);
    let mut done = 0;
    let (mut total, mut bound) = matrix.total_and_bound();
    while done < rounds && bound - total > tolerance * bound {
        matrix.round();
        done += 1;
        (total, bound) = matrix.total_and_bound();
    }
    matrix.finish();
    let rates = matrix.rates(offered.len());
    Scaled { total: rates.iter().sum(), rates, bound, rounds: done }
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

/// Positive entries by rows, with factors of columns that are not yet multiplied in.
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
    /// columns' next factors. [`total_and_bound`](Self::total_and_bound) goes before each round.
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
