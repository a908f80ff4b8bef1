//! Demand matrices for circuit schedulers, shared by tests and the example `circuits`.

use timeplane_model::{Backlog, Bytes, Demand, Duration, HostId, Rate, mix64};

/// A pseudorandom sequence (splitmix64).
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(mix64(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.0)
    }
    /// A number below `n`; the bias of n / 2^64 does not matter here.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
    /// A random permutation in one cycle, so that it has no fixed point (Sattolo).
    pub fn cycle(&mut self, n: usize) -> Vec<usize> {
        let mut to: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            to.swap(i, self.below(i as u64) as usize);
        }
        to
    }
}

/// A demand from bytes, row by row; the diagonal is ignored.
pub fn demand(hosts: usize, bytes: &[u64]) -> Demand {
    let mut demand = Demand::none(hosts as u32);
    for i in 0..hosts {
        let row = (0..hosts).filter(|&j| j != i).map(|j| (HostId(j as u32), Bytes::new(bytes[i * hosts + j])));
        demand.set_row(HostId(i as u32), Backlog::of_bytes(row));
    }
    demand
}

/// The matrix of the Solstice paper (CoNEXT 2015, section 5). Each port has 4 large flows with 70 %
/// and 12 small ones with 30 % of what a circuit carries in `time`; each is a random permutation.
/// Every entry has uniform noise of up to `noise` of that, either way.
pub fn published(hosts: usize, rate: Rate, time: Duration, noise: f64, seed: u64) -> Demand {
    let mut numbers = Numbers::new(seed);
    let line = rate.bytes_in(time).get() as f64;
    let mut bytes = vec![0.0; hosts * hosts];
    for flow in 0..16 {
        let share = if flow < 4 { 0.7 / 4.0 } else { 0.3 / 12.0 };
        for (i, j) in numbers.cycle(hosts).into_iter().enumerate() {
            bytes[i * hosts + j] += share * line;
        }
    }
    for b in bytes.iter_mut().filter(|b| **b > 0.0) {
        let even = numbers.next() as f64 / u64::MAX as f64;
        *b = (*b + (2.0 * even - 1.0) * noise * line).max(0.0);
    }
    demand(hosts, &bytes.iter().map(|b| *b as u64).collect::<Vec<_>>())
}
