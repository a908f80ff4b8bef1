//! Matrices of rates with bounded row and column sums, by scaling rows and columns.

use super::{Hosts, Offered};

/// A doubly sub-stochastic matrix, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// A rate for every entry offered, in that order.
    pub rates: Vec<f64>,
    /// Their sum.
    pub total: f64,
    /// What no matrix on the same pairs can exceed in total.
    pub bound: f64,
    /// Rounds of row and column scaling.
    pub rounds: u32,
}

/// Entries below this become 0: they fade out where a matrix has no total support, and denormal numbers are slow.
const FADED: f64 = 1e-100;
/// A row that wants so much more than its capacity is one that stays full.
const FULL: f64 = 1.02;

/// Scales rows and columns up and down in turn (Sinkhorn and Knopp, 1967), towards the highest total of rates, and at last
/// rows down only, so that no row or column sum exceeds its host's capacity by more than rounding.
///
/// A rate may become higher than offered: what is offered says who shares with whom, and in what proportion. A pair that offers 0
/// gets 0.
///
/// With total support (each positive entry lies on a perfect matching of positive entries) and equal capacities, all sums tend to
/// the capacity. Without, the matrix after column scaling still tends to a limit, in which some rows are short and others in excess
/// (Aas, "Limit points of the iterative scaling procedure", 2014); the excess cut off, the total is the highest that
/// the pairs allow. Entries that can not be part of such a matrix fade out, slowly (as 1 / rounds).
///
/// Rounds end when the total is within `tolerance` (relative) of a bound, after `rounds` at the latest. The bound is the
/// capacity of a vertex cover: of senders that stay full, and of all receivers that someone else sends to. [`Scaled`] tells both.
///
/// One round takes time in proportion to the entries.
///
/// # Panics
/// Where a host does not exist, or a rate is negative or not finite.
pub fn scale_both(hosts: &Hosts, offered: &[Offered], tolerance: f64, rounds: u32) -> Scaled {
    let mut matrix = Matrix::new(hosts, offered);
    let mut done = 0;
    let (mut total, mut bound) = matrix.gap();
    while done < rounds && bound - total > tolerance * bound {
        matrix.round();
        done += 1;
        (total, bound) = matrix.gap();
    }
    matrix.finish();
    let rates = matrix.rates(offered.len());
    Scaled { total: rates.iter().sum(), rates, bound, rounds: done }
}

/// Scales rows down to their capacity where they exceed it, then columns: one pass, never up.
///
/// The result is feasible, as columns only lower rows, but may leave capacity that somebody could use.
///
/// # Panics
/// Where a host does not exist, or a rate is negative or not finite.
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

/// Positive entries by rows, after a column scaling that is still to be multiplied in.
struct Matrix<'a> {
    hosts: &'a Hosts,
    /// Entries of row i: `first[i]..first[i + 1]`.
    first: Vec<u32>,
    column: Vec<u32>,
    value: Vec<f64>,
    /// Where the entry comes from.
    from: Vec<u32>,
    /// Factors of columns to come, and sums of columns as they are.
    factor: Vec<f64>,
    sums: Vec<f64>,
    /// Sums of rows with those factors.
    rows: Vec<f64>,
    covered: Vec<bool>,
}

impl<'a> Matrix<'a> {
    fn new(hosts: &'a Hosts, offered: &[Offered]) -> Self {
        hosts.check(offered);
        assert!(offered.iter().all(|o| o.rate.is_finite()), "rates are finite");
        let n = hosts.len();
        // Who can not send or receive takes no part.
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
        Self { hosts, first, column, value, from, factor, sums, rows: vec![0.0; n], covered: vec![false; n] }
    }

    fn row(&self, i: usize) -> core::ops::Range<usize> {
        self.first[i] as usize..self.first[i + 1] as usize
    }

    /// Multiplies the columns' factors in and brings every row to its capacity; then computes the columns' next factors.
    fn round(&mut self) {
        self.sums.fill(0.0);
        for i in 0..self.hosts.len() {
            let row = self.row(i);
            let up = to(self.rows[i], self.hosts.send[i]);
            for (&j, x) in self.column[row.clone()].iter().zip(&mut self.value[row]) {
                let scaled = *x * self.factor[j as usize] * up;
                *x = if scaled < FADED { 0.0 } else { scaled };
                self.sums[j as usize] += *x;
            }
        }
        for ((factor, &sum), &capacity) in self.factor.iter_mut().zip(&self.sums).zip(&self.hosts.receive) {
            *factor = to(sum, capacity);
        }
    }

    /// Computes row sums, the total if we stopped here, and a bound.
    fn gap(&mut self) -> (f64, f64) {
        self.covered.fill(false);
        let (mut total, mut bound) = (0.0, 0.0);
        for i in 0..self.hosts.len() {
            let row = self.row(i);
            let columns = &self.column[row.clone()];
            let sum: f64 = columns.iter().zip(&self.value[row]).map(|(&j, x)| x * self.factor[j as usize]).sum();
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
        // Another cover: all who have something to send; and all who have something to receive.
        let of = |entries: bool, capacity: &f64| if entries { *capacity } else { 0.0 };
        let senders: f64 = (0..self.hosts.len()).map(|i| of(!self.row(i).is_empty(), &self.hosts.send[i])).sum();
        let receivers: f64 = self.sums.iter().zip(&self.hosts.receive).map(|(s, r)| of(*s > 0.0, r)).sum();
        (total, bound.min(senders).min(receivers))
    }

    /// Multiplies the columns' factors in and scales rows down where they are in excess.
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
