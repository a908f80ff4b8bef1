//! Pseudorandom numbers of a seed, for schedules that are shuffled once.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), as elsewhere in these crates.

use timeplane_model::mix64;

/// The step of SplitMix64's state, 2^64 over the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of numbers that its seed determines.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(mix64(seed.wrapping_add(STEP)))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix64(self.0)
    }

    /// A number below `n`, with a bias of at most n / 2^64.
    pub(super) fn below(&mut self, n: usize) -> usize {
        below(self.next(), n)
    }

    /// A random order of the numbers below `n` (Fisher and Yates).
    pub(super) fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Maps 64 random bits to a number below `n`.
pub(super) fn below(bits: u64, n: usize) -> usize {
    ((u128::from(bits) * n as u128) >> 64) as usize
}
