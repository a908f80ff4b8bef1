//! A windowed maximum.
//!
//! It keeps only values that can still become the maximum.

use std::collections::VecDeque;

/// The exact maximum of the last rounds. Values that a later one exceeds are dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    /// Rounds rising, values falling.
    candidates: VecDeque<(u64, u64)>,
}

impl MaxFilter {
    /// Takes the value of a round; rounds do not decrease. Drops values of `length` rounds ago and
    /// earlier.
    pub(super) fn update(&mut self, round: u64, value: u64, length: u64) {
        while self.candidates.front().is_some_and(|c| c.0 + length <= round) {
            self.candidates.pop_front();
        }
        while self.candidates.back().is_some_and(|c| c.1 <= value) {
            self.candidates.pop_back();
        }
        // Within a round only the largest can come to count.
        if self.candidates.back().is_none_or(|c| c.0 < round) {
            self.candidates.push_back((round, value));
        }
    }

    /// Zero before the first value.
    pub(super) fn max(&self) -> u64 {
        self.candidates.front().map_or(0, |c| c.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_maximum_of_the_last_rounds(values in prop::collection::vec((0u64..3, 0u64..20), 1..200), length in 1u64..12) {
            let (mut filter, mut round, mut all) = (MaxFilter::default(), 0, Vec::new());
            prop_assert_eq!(filter.max(), 0);
            for (rounds, value) in values {
                round += rounds;
                all.push((round, value));
                filter.update(round, value, length);
                let expected = all.iter().filter(|v| v.0 + length > round).map(|v| v.1).max();
                prop_assert_eq!(Some(filter.max()), expected);
                prop_assert!(filter.candidates.len() as u64 <= length);
            }
        }
    }
}
