//! Sets of byte ranges.
//!
//! A receiver stores in one which bytes have arrived out of order; a sender stores which of these
//! it knows of.

/// Bytes `start..end` of a flow; empty unless `start < end`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Range {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
}

impl Range {
    /// The number of bytes.
    pub const fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
    /// Whether the range holds no byte.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// A set of bytes as sorted ranges that neither overlap nor touch.
///
/// It allocates once it holds something and keeps its memory. Finding a byte takes the logarithm of
/// the number of ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<Range>,
}

impl RangeSet {
    /// An empty set.
    pub const fn new() -> Self {
        Self { ranges: Vec::new() }
    }
    /// The ranges in ascending order.
    pub fn as_slice(&self) -> &[Range] {
        &self.ranges
    }
    /// Whether the set holds no byte.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// The number of bytes in the set.
    pub fn total(&self) -> u64 {
        self.ranges.iter().map(|r| r.len()).sum()
    }
    /// The range that holds `byte`.
    pub fn containing(&self, byte: u64) -> Option<Range> {
        let i = self.ranges.partition_point(|r| r.end <= byte);
        self.ranges.get(i).copied().filter(|r| r.start <= byte)
    }

    /// Adds the bytes of `new`. Calls `added` with each part that is new, in ascending order.
    pub fn insert(&mut self, new: Range, mut added: impl FnMut(Range)) {
        if new.is_empty() {
            return;
        }
        // The ranges that overlap or touch `new` are first..last.
        let first = self.ranges.partition_point(|r| r.end < new.start);
        let mut last = first;
        let mut from = new.start;
        let mut merged = new;
        while let Some(&r) = self.ranges.get(last).filter(|r| r.start <= new.end) {
            if from < r.start {
                added(Range { start: from, end: r.start });
            }
            from = from.max(r.end);
            merged = Range { start: merged.start.min(r.start), end: merged.end.max(r.end) };
            last += 1;
        }
        if from < new.end {
            added(Range { start: from, end: new.end });
        }
        if first == last {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..last);
        }
    }

    /// Removes all bytes below `end`.
    pub fn remove_below(&mut self, end: u64) {
        let gone = self.ranges.partition_point(|r| r.end <= end);
        self.ranges.drain(..gone);
        if let Some(r) = self.ranges.first_mut() {
            r.start = r.start.max(end);
        }
    }

    /// Removes up to `max` bytes from the lowest range; `None` if the set is empty or `max` is
    /// zero.
    pub fn take_first(&mut self, max: u64) -> Option<Range> {
        let r = self.ranges.first_mut().filter(|_| max > 0)?;
        let taken = Range { start: r.start, end: r.end.min(r.start.saturating_add(max)) };
        r.start = taken.end;
        if r.is_empty() {
            self.ranges.remove(0);
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    #[test]
    fn tells_what_is_new_and_merges_neighbors() {
        let mut set = RangeSet::new();
        let mut new = Vec::new();
        for r in [range(10, 20), range(30, 40), range(20, 25), range(5, 35), range(7, 7)] {
            new.clear();
            set.insert(r, |r| new.push(r));
        }
        assert_eq!(set.as_slice(), [range(5, 40)]);
        set.insert(range(0, 50), |r| new.push(r));
        assert_eq!(new, [range(0, 5), range(40, 50)]);
        assert_eq!(set.take_first(0), None);
        assert_eq!(set.take_first(8), Some(range(0, 8)));
        assert_eq!(set.take_first(80), Some(range(8, 50)));
        assert_eq!(set.take_first(80), None);
    }

    proptest! {
        /// The oracle is an array of bits.
        #[test]
        fn is_a_set(steps in prop::collection::vec((0u64..60, 0u64..20, 0u64..6), 0..40)) {
            let mut set = RangeSet::new();
            let mut oracle = [false; 80];
            for (start, len, below) in steps {
                let mut added = 0;
                set.insert(range(start, start + len), |r| added += r.len());
                let fresh = oracle[start as usize..(start + len) as usize].iter_mut().filter(|b| !**b);
                prop_assert_eq!(fresh.map(|b| *b = true).count() as u64, added);
                if below == 0 {
                    set.remove_below(start);
                    oracle[..start as usize].fill(false);
                }
                for (byte, held) in oracle.iter().enumerate() {
                    prop_assert_eq!(set.containing(byte as u64).is_some(), *held);
                }
                prop_assert_eq!(set.total(), oracle.iter().filter(|b| **b).count() as u64);
                for pair in set.as_slice().windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
                prop_assert!(set.as_slice().iter().all(|r| !r.is_empty()));
            }
        }
    }
}
