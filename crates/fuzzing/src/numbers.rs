//! Random numbers and the numbers at the ends of ranges.
//!
//! Both are the same in every run with the same seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Whole numbers at the ends of ranges.
pub(crate) const ODD: [u64; 15] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 53,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];

/// The source of all choices.
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.any()) * n as u128) >> 64) as usize
    }

    /// One of them; `None` if there are none.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
