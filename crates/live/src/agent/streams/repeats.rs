//! Which numbered frames of a host have arrived, so that a recorded frame has no effect.
//!
//! Numbers far below the highest one count as having arrived.

/// Numbers that are remembered below the highest one. Frames that take a circuit overtake those
/// through the packet switch by less: 23 ms at 350,000 frames a second, the most an agent sends.
const WINDOW: u64 = 8192;

/// A window of numbers up to the highest one that has arrived.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    highest: u64,
    /// A bit for each number, by its remainder; allocated with the first one.
    seen: Vec<u64>,
}

impl Repeats {
    /// Notes a number. Returns false if it has been noted before, or is too far below the highest
    /// one to tell.
    pub(super) fn is_new(&mut self, number: u64) -> bool {
        if self.seen.is_empty() {
            self.seen = vec![0; (WINDOW / 64) as usize];
        }
        if number.saturating_add(WINDOW) <= self.highest {
            return false;
        }
        if number > self.highest {
            // Numbers between the two have not arrived.
            for skipped in (self.highest.max(number.saturating_sub(WINDOW)) + 1)..=number {
                let (word, bit) = Self::place(skipped);
                self.seen[word] &= !bit;
            }
            self.highest = number;
        }
        let (word, bit) = Self::place(number);
        let is_new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_new
    }

    fn place(number: u64) -> (usize, u64) {
        let at = number % WINDOW;
        ((at / 64) as usize, 1 << (at % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn each_number_is_new_once(numbers in proptest::collection::vec(prop_oneof![0u64..40_000, 0u64..300, any::<u64>()], 1..300)) {
            let (mut repeats, mut seen, mut highest) = (Repeats::default(), BTreeSet::new(), 0u64);
            for number in numbers {
                let is_old = number.saturating_add(WINDOW) <= highest;
                prop_assert_eq!(repeats.is_new(number), !is_old && !seen.contains(&number), "{}", number);
                seen.insert(number);
                highest = highest.max(number);
            }
        }
    }
}
