//! Random streams, each with an address.
//!
//! A stream depends on the seed and its address only, never on other streams.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The context of BLAKE3's key derivation. Changing it changes every random number of every run.
const CONTEXT: &str = "timeplane 2025 random streams v1";

/// The random streams of one run. Each has an address, `(name, id, purpose)`, and is independent of
/// all others: adding a host, or one more draw elsewhere, changes no other stream.
///
/// The key of a stream is BLAKE3 in its key derivation mode, under a fixed context. Its input is:
/// the seed (8 B, little endian), the name's length (8 B), the name, the id (8 B), the purpose's
/// length (8 B) and the purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of a run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The 32 bytes that seed the stream at an address.
    pub fn key(&self, name: &str, id: u64, purpose: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&self.seed.to_le_bytes());
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(&id.to_le_bytes());
        hasher.update(&(purpose.len() as u64).to_le_bytes());
        hasher.update(purpose.as_bytes());
        *hasher.finalize().as_bytes()
    }

    /// The stream at an address, such as `rng("link", 7, "loss")`: ChaCha8 with the address's key.
    pub fn rng(&self, name: &str, id: u64, purpose: &str) -> ChaCha8Rng {
        ChaCha8Rng::from_seed(self.key(name, id, purpose))
    }

    /// A generator for hot loops: xoshiro256++ whose state is the first 32 bytes of the stream at
    /// that address.
    pub fn fast(&self, name: &str, id: u64, purpose: &str) -> Xoshiro256PlusPlus {
        let mut state = [0; 32];
        self.rng(name, id, purpose).fill_bytes(&mut state);
        Xoshiro256PlusPlus::from_seed(state)
    }

    /// The first 64 bits of the stream at an address: a seed for something smaller, such as a
    /// [`PacketSizer`](crate::PacketSizer).
    pub fn number(&self, name: &str, id: u64, purpose: &str) -> u64 {
        self.rng(name, id, purpose).next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_never_change() {
        let s = Streams::new(1);
        let first = |mut r: ChaCha8Rng| [r.next_u64(), r.next_u64()];
        let fast = |mut r: Xoshiro256PlusPlus| [r.next_u64(), r.next_u64()];
        let golden = [
            first(s.rng("link", 0, "loss")),
            first(s.rng("link", 1, "loss")),
            fast(s.fast("workload", 0, "sizes")),
            first(Streams::new(2).rng("link", 0, "loss")),
        ];
        let expected = [
            [9_710_314_180_941_774_788, 10_324_181_915_278_514_549],
            [2_473_353_239_018_438_133, 10_742_486_788_952_728_241],
            [16_197_079_970_505_457_339, 6_920_862_917_663_740_281],
            [7_258_962_320_152_348_984, 81_973_867_144_738_690],
        ];
        assert_eq!(golden, expected);
        assert_eq!(s.number("link", 0, "loss"), golden[0][0]);
    }

    #[test]
    fn every_part_of_an_address_counts() {
        let s = Streams::new(1);
        let mut keys = vec![
            s.key("a", 0, "b"),
            s.key("ab", 0, ""),
            s.key("", 0, "ab"),
            s.key("a", 1, "b"),
            s.key("b", 0, "a"),
            Streams::new(0).key("a", 0, "b"),
        ];
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 6);
    }
}
