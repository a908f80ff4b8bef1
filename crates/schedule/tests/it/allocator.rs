//! Tests that allocations are valid and maximal, match the demand, and starve no pair.

use petgraph::{algo::maximum_matching, graph::UnGraph};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use timeplane_schedule::{Allocation, Allocator, Greedy};

/// The allocator with a separate account of the demand.
struct Checked {
    allocator: Allocator,
    left: BTreeMap<(u16, u16), u64>,
    out: Vec<Allocation>,
}

impl Checked {
    fn new(nodes: usize, slots: u32) -> Self {
        Self { allocator: Allocator::new(nodes, slots), left: BTreeMap::new(), out: Vec::new() }
    }
    fn request(&mut self, source: u16, destination: u16, slots: u32) {
        self.allocator.request(source, destination, slots);
        if slots > 0 {
            *self.left.entry((source, destination)).or_default() += u64::from(slots);
        }
    }
    fn batch(&mut self) {
        self.allocator.allocate_batch(&mut self.out);
        let (mut sources, mut destinations) = (BTreeSet::new(), BTreeSet::new());
        for a in &self.out {
            assert!(u32::from(a.slot) < self.allocator.slots());
            assert!(sources.insert((a.slot, a.source)), "{a:?}: source used twice");
            assert!(destinations.insert((a.slot, a.destination)), "{a:?}: destination used twice");
            let left = self.left.get_mut(&(a.source, a.destination)).expect("no allocation without demand");
            *left -= 1;
            if *left == 0 {
                self.left.remove(&(a.source, a.destination));
            }
        }
        for &(s, d) in self.left.keys() {
            for slot in 0..self.allocator.slots() as u16 {
                assert!(
                    sources.contains(&(slot, s)) || destinations.contains(&(slot, d)),
                    "{s} -> {d} fits slot {slot}"
                );
            }
        }
        self.account();
    }
    fn account(&self) {
        let mut waiting: Vec<_> = self.allocator.waiting().map(|(s, d, n)| ((s, d), n)).collect();
        waiting.sort_unstable();
        assert_eq!(waiting, self.left.iter().map(|(&pair, &n)| (pair, n)).collect::<Vec<_>>());
    }
}

#[derive(Clone, Debug)]
enum Step {
    Request(u16, u16, u32),
    Batch,
    Forget(u16),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_slot_is_a_maximal_matching(
        slots in prop_oneof![Just(64u32), 1u32..=64],
        steps in prop::collection::vec(prop_oneof![
            40 => (0u16..9, 0u16..9, 0u32..40).prop_map(|(s, d, n)| Step::Request(s, d, n)),
            4 => Just(Step::Batch),
            1 => (0u16..9).prop_map(Step::Forget),
        ], 0..300),
    ) {
        let mut checked = Checked::new(9, slots);
        for step in steps {
            match step {
                Step::Request(s, d, n) => checked.request(s, d, n),
                Step::Batch => checked.batch(),
                Step::Forget(source) => {
                    checked.allocator.forget(source);
                    checked.left.retain(|&(s, _), _| s != source);
                    checked.account();
                }
            }
        }
        // Without new demand, a slot serves every critical node at least every other time, so that
        // all demand ends.
        let rest: u64 = checked.left.values().sum();
        for _ in 0..=2 * rest / u64::from(slots) {
            checked.batch();
        }
        prop_assert!(checked.left.is_empty(), "{:?}", checked.left);
    }
}

/// The largest number of these pairs that can send at once.
fn maximum(pairs: &BTreeSet<(u16, u16)>) -> usize {
    let edges = pairs.iter().map(|&(s, d)| (u32::from(s), 20 + u32::from(d)));
    maximum_matching(&UnGraph::<(), ()>::from_edges(edges)).edges().count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_slot_has_half_of_the_most_pairs(pairs in prop::collection::btree_set((0u16..20, 0u16..20), 0..80), dice: u64) {
        let mut checked = Checked::new(20, 1);
        pairs.iter().for_each(|&(s, d)| checked.request(s, d, 1));
        checked.batch();
        prop_assert!(2 * checked.out.len() >= maximum(&pairs));

        // By priority, with several slots: a pair loses a slot only to a pair before it.
        let wanted = |&(s, d): &(u16, u16)| (s, d, (dice >> (s + d)) as u32 % 4);
        let order: Vec<_> = pairs.iter().map(wanted).collect();
        let mut out = vec![];
        Greedy::new(20, 5).allocate(order.iter().copied(), &mut out);
        let mut taken = BTreeSet::new();
        let mut allocations = out.iter().peekable();
        for (s, d, n) in order {
            let free: Vec<u16> = (0..5).filter(|&k| !taken.contains(&(k, s, 0)) && !taken.contains(&(k, d, 1))).collect();
            for &slot in free.iter().take(n as usize) {
                prop_assert_eq!(allocations.next(), Some(&Allocation { slot, source: s, destination: d }));
                taken.extend([(slot, s, 0), (slot, d, 1)]);
            }
        }
        prop_assert_eq!(allocations.next(), None);
        Greedy::new(20, 1).allocate(pairs.iter().map(|&(s, d)| (s, d, 1)), &mut out);
        prop_assert!(2 * out.len() >= maximum(&pairs));
    }
}

#[test]
fn pairs_at_one_node_share_it_evenly() {
    // Incast: 7 sources send more than enough to one destination.
    let mut checked = Checked::new(8, 64);
    let mut got = [0u32; 7];
    for s in 0..7 {
        checked.request(s, 7, 1000);
    }
    for _ in 0..7 {
        checked.batch();
        assert_eq!(checked.out.len(), 64);
        for a in &checked.out {
            got[usize::from(a.source)] += 1;
        }
        assert!(got.iter().max().unwrap() - got.iter().min().unwrap() <= 1, "{got:?}");
    }
}

#[test]
fn who_was_idle_longer_comes_first() {
    let mut checked = Checked::new(4, 2);
    // 0 and 1 were served, one batch apart.
    checked.request(1, 3, 2);
    checked.batch();
    checked.request(0, 3, 2);
    checked.batch();
    for s in [0, 1, 2] {
        checked.request(s, 3, 1);
    }
    checked.batch();
    assert_eq!(checked.out.iter().map(|a| a.source).collect::<Vec<_>>(), [2, 1], "never served, then longest ago");
    // A pair that was left over comes before pairs served since, and is not behind pairs that keep
    // asking.
    checked.request(1, 3, 5);
    checked.request(2, 3, 5);
    checked.batch();
    assert_eq!(checked.out[0].source, 0);
}

#[test]
fn demand_above_a_batch_waits_for_the_next() {
    let mut checked = Checked::new(2, 64);
    checked.request(0, 1, 100);
    checked.request(0, 1, 28);
    checked.batch();
    assert_eq!(checked.out.len(), 64);
    checked.request(1, 0, 1);
    checked.batch();
    assert_eq!(checked.out.len(), 65);
    checked.batch();
    assert!(checked.out.is_empty());
}

#[test]
#[should_panic(expected = "no nodes")]
fn a_node_that_does_not_exist_is_refused() {
    Allocator::new(4, 16).request(0, 4, 1);
}
