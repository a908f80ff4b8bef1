//! A histogram of delays.
//!
//! Its buckets have constant width, so that quantiles are exact to one bucket.

use timeplane_model::Duration;

/// Width of a cell, which is the resolution of quantiles.
const CELL: Duration = Duration::from_us(50);
/// Maximum number of cells, which cover 10 s. The last one counts all longer delays.
const CELLS: usize = 200_000;

/// A histogram of delays in cells of 50 us up to 10 s. Its memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// Counts of cells, up to that of the longest delay.
    cells: Vec<u32>,
    count: u64,
    longest: Duration,
    /// Sum of all delays, in picoseconds.
    sum: i128,
}

impl Delays {
    /// Counts a delay; negative ones count as 0.
    pub fn add(&mut self, delay: Duration) {
        let cell = usize::try_from(delay.as_ps() / CELL.as_ps()).unwrap_or(0).min(CELLS - 1);
        if self.cells.len() <= cell {
            self.cells.resize(cell + 1, 0);
        }
        self.cells[cell] = self.cells[cell].saturating_add(1);
        self.count += 1;
        self.longest = self.longest.max(delay);
        self.sum += i128::from(delay.as_ps().max(0));
    }
    /// Number of delays.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The exact mean; `None` without delays.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_ps((self.sum / i128::from(self.count)) as i64))
    }
    /// Counts by delay: each entry is for delays from its value to less than 50 us longer. The
    /// entry of 10 s includes all longer ones.
    pub fn cells(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let each = (0..).zip(&self.cells).filter(|(_, n)| **n > 0);
        each.map(|(i, &n)| (CELL * i, u64::from(n)))
    }
    /// The longest delay; `None` without delays.
    pub fn longest(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.longest)
    }
    /// The quantile of a share from 0 to 1, rounded up to 50 us but at most the longest delay;
    /// `None` without delays.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (i, &n) in self.cells.iter().enumerate() {
            below += u64::from(n);
            if below >= rank {
                let last = i + 1 == CELLS;
                return Some(if last { self.longest } else { (CELL * (i as i64 + 1)).min(self.longest) });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_list() {
        let mut delays = Delays::default();
        assert_eq!((delays.quantile(0.5), delays.longest(), delays.mean()), (None, None, None));
        for ms in (1..=1000).rev() {
            delays.add(Duration::from_ms(ms));
        }
        for (share, ms) in [(0.0, 1), (0.5, 500), (0.99, 990), (1.0, 1000)] {
            let error = delays.quantile(share).unwrap() - Duration::from_ms(ms);
            assert!(error >= Duration::ZERO && error <= CELL, "{share}: {error} off");
        }
        assert_eq!(delays.mean(), Some(Duration::from_us(500_500)));
        assert_eq!(delays.cells().map(|c| c.1).sum::<u64>(), 1000);
        assert_eq!(delays.cells().next(), Some((Duration::from_ms(1), 1)));
        delays.add(Duration::from_secs(100));
        delays.add(-Duration::from_secs(1));
        assert_eq!((delays.longest(), delays.count()), (Some(Duration::from_secs(100)), 1002));
        assert_eq!(delays.quantile(1.0), Some(Duration::from_secs(100)));
    }
}
