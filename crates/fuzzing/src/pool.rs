//! The inputs that are changed: valid ones, the corpus, and those with an outcome that no input
//! had before.
//!
//! An outcome is known by its message without numbers and quotations. So an input that passes a
//! check of the parser, and fails at the next one, becomes the start of further inputs.

use crate::digest;
use crate::numbers::Random;
use crate::target::Outcome;
use std::collections::HashSet;

/// No input is longer, except valid ones.
const LONGEST: usize = 1 << 14;
/// The most inputs with new outcomes.
const MOST: usize = 4096;
/// One accepted input of this many is kept, at the place of an earlier one once there are enough.
const KEEP_ACCEPTED: usize = 64;
/// The most accepted inputs.
const ACCEPTED: usize = 256;

pub(crate) struct Pool {
    seeds: Vec<Vec<u8>>,
    novel: Vec<Vec<u8>>,
    accepted: Vec<Vec<u8>>,
    known: HashSet<u64>,
    longest: usize,
}

impl Pool {
    pub fn new(seeds: Vec<Vec<u8>>) -> Self {
        let longest = seeds.iter().map(|s| s.len() + 1024).max().unwrap_or(0).max(LONGEST);
        Self { seeds, novel: Vec::new(), accepted: Vec::new(), known: HashSet::new(), longest }
    }

    /// The most bytes of an input.
    pub fn longest(&self) -> usize {
        self.longest
    }

    pub fn pick(&self, random: &mut Random) -> &[u8] {
        let of = match random.below(4) {
            0 => &self.novel,
            1 => &self.accepted,
            _ => &self.seeds,
        };
        random.of(of).or_else(|| self.seeds.first()).map_or(&[], Vec::as_slice)
    }

    /// Keeps an input whose outcome is new.
    pub fn learn(&mut self, input: &[u8], outcome: &Outcome, random: &mut Random) {
        let hash = match outcome {
            Outcome::Accepted => {
                if random.once_in(KEEP_ACCEPTED) {
                    let place = random.below(ACCEPTED);
                    match self.accepted.get_mut(place) {
                        Some(old) => *old = input.to_vec(),
                        None => self.accepted.push(input.to_vec()),
                    }
                }
                return;
            }
            Outcome::Refused(why) => digest::of_message(why),
            Outcome::Parsed(why) => digest::of_message(why).rotate_left(1),
        };
        if self.novel.len() < MOST && self.known.insert(hash) {
            self.novel.push(input.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inputs_with_new_outcomes_are_kept() {
        let (mut pool, mut random) = (Pool::new(vec![b"seed".to_vec()]), Random::new(1));
        for (input, why) in [("a", "line 1: no"), ("b", "line 2: no"), ("c", "line 2: too large")] {
            pool.learn(input.as_bytes(), &Outcome::Parsed(why.to_owned()), &mut random);
        }
        assert_eq!(pool.novel, [b"a".to_vec(), b"c".to_vec()]);
        let picked: HashSet<&[u8]> = (0..100).map(|_| pool.pick(&mut random)).collect();
        assert_eq!(picked.len(), 3);
    }
}
