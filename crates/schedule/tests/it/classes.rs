//! Classes are valid in every round, change as seldom as they can, and those who need too many are named.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use timeplane_model::HostId;
use timeplane_schedule::{ClassError, ClassMap, Recolouring};

/// Rounds of pairs among `HOSTS` hosts.
const HOSTS: u32 = 7;

fn rounds() -> impl Strategy<Value = Vec<Vec<(u32, u32)>>> {
    let pair = (0..3u32, 0..HOSTS);
    prop::collection::vec(prop::collection::vec(pair, 0..12), 1..12)
}

fn hosts(pairs: &[(u32, u32)]) -> impl Iterator<Item = (HostId, HostId)> + '_ {
    pairs.iter().map(|&(s, d)| (HostId(s), HostId(d)))
}

/// The fewest classes that any table for `wanted` changes: all tables are tried.
fn fewest_changes(table: &[Option<u32>], wanted: &BTreeSet<u32>) -> usize {
    fn search(table: &[Option<u32>], wanted: &[u32], used: &mut Vec<bool>) -> usize {
        let Some((&next, rest)) = wanted.split_first() else { return 0 };
        let mut best = usize::MAX;
        for class in 0..table.len() {
            if !used[class] {
                used[class] = true;
                let changed = usize::from(table[class] != Some(next));
                best = best.min(changed + search(table, rest, used));
                used[class] = false;
            }
        }
        best
    }
    search(table, &wanted.iter().copied().collect::<Vec<_>>(), &mut vec![false; table.len()])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A host that only ever hears of changes knows all classes of every round, and no table changes fewer.
    #[test]
    fn changes_are_all_there_is_and_the_fewest(rounds in rounds(), first in 0u16..3, number in 0u16..6) {
        let mut map = ClassMap::new(HOSTS, first..first + number);
        // What each host has been told.
        let mut told: BTreeMap<u32, Vec<Option<u32>>> = BTreeMap::new();
        for pairs in rounds {
            let mut wanted: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
            for &(s, d) in &pairs {
                wanted.entry(s).or_default().insert(d);
            }
            let too_many = wanted.iter().find(|(_, d)| d.len() > usize::from(number));
            let before: Vec<_> = (0..HOSTS).map(|s| map.names(HostId(s)).collect::<Vec<_>>()).collect();
            let result = map.begin_round(hosts(&pairs));
            if let Some((&source, destinations)) = too_many {
                let (needed, available) = (destinations.len(), usize::from(number));
                prop_assert_eq!(result, Err(ClassError::RunOut { source_host: HostId(source), needed, available }));
                let after: Vec<_> = (0..HOSTS).map(|s| map.names(HostId(s)).collect::<Vec<_>>()).collect();
                prop_assert_eq!(before, after);
                continue;
            }
            let changes = result.unwrap();
            prop_assert!(changes.is_sorted_by(|a, b| (a.source, a.class) < (b.source, b.class)));
            for (&source, destinations) in &wanted {
                let table = told.entry(source).or_insert_with(|| vec![None; usize::from(number)]);
                let of_source: Vec<&Recolouring> = changes.iter().filter(|c| c.source.0 == source).collect();
                prop_assert_eq!(of_source.len(), fewest_changes(table, destinations), "{:?} {:?}", table, destinations);
                for change in of_source {
                    let at = usize::from(change.class - first);
                    prop_assert_eq!(table[at], change.before.map(|h| h.0));
                    // Nobody of this round is evicted.
                    prop_assert!(change.before.is_none_or(|h| !destinations.contains(&h.0)));
                    table[at] = Some(change.destination.0);
                }
                let mut seen = BTreeSet::new();
                for &d in destinations {
                    let class = map.class(HostId(source), HostId(d)).unwrap();
                    prop_assert!((first..first + number).contains(&class) && seen.insert(class));
                    prop_assert_eq!(table[usize::from(class - first)], Some(d));
                }
            }
            prop_assert!(changes.iter().all(|c| wanted.contains_key(&c.source.0)));
            for (&source, table) in &told {
                let known = table.iter().enumerate().filter_map(|(c, d)| d.map(|d| (first + c as u16, HostId(d))));
                prop_assert_eq!(map.names(HostId(source)).collect::<Vec<_>>(), known.collect::<Vec<_>>());
            }
        }
    }

    /// Who is evicted: of those that are not in the round, those longest out of any.
    #[test]
    fn the_longest_idle_is_evicted(rounds in rounds(), number in 1u16..6) {
        let mut map = ClassMap::new(HOSTS, 0..number);
        let mut used: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (i, pairs) in rounds.iter().enumerate() {
            let Ok(changes) = map.begin_round(hosts(pairs)) else { continue };
            used.extend(pairs.iter().map(|&p| (p, i)));
            let evicted = changes.iter().filter_map(|c| c.before.map(|b| (c.source.0, b.0)));
            for (source, before) in evicted {
                // Nobody who stayed and is not in this round has been idle for longer.
                for (_, stayed) in map.names(HostId(source)) {
                    prop_assert!(used[&(source, stayed.0)] >= used[&(source, before)]);
                }
            }
        }
    }
}

#[test]
fn each_sender_has_a_name_space_of_its_own() {
    // All to all among nine hosts: eight classes are enough, and are the same numbers at every host.
    let pairs = || (0..9).flat_map(|s| (0..9).filter(move |&d| d != s).map(move |d| (HostId(s), HostId(d))));
    let mut map = ClassMap::new(9, 0..8);
    assert_eq!(map.begin_round(pairs()).unwrap().len(), 72);
    assert_eq!(map.begin_round(pairs()), Ok(vec![]));
    for s in 0..9 {
        assert_eq!(map.names(HostId(s)).map(|n| n.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
    // Ten hosts need nine classes in a round that has all pairs.
    let mut map = ClassMap::new(10, 0..8);
    let all = (0..10).flat_map(|s| (0..10).filter(move |&d| d != s).map(move |d| (HostId(s), HostId(d))));
    let error = map.begin_round(all).unwrap_err();
    assert_eq!(error, ClassError::RunOut { source_host: HostId(0), needed: 9, available: 8 });
    assert_eq!(error.to_string(), "host 0 sends to 9 destinations in a round, but there are 8 classes");
}

#[test]
fn classes_are_recoloured_between_rounds() {
    let h = HostId;
    let to = |ds: &'static [u32]| ds.iter().map(|&d| (h(0), h(d)));
    // The eighth class is not given, as REACToR keeps it for the packet network.
    let mut map = ClassMap::new(24, 0..7);
    map.begin_round(to(&[1, 2, 3, 4, 5, 6, 7])).unwrap();
    map.begin_round(to(&[1, 3, 4, 5, 6])).unwrap();
    // 2 and 7 have been idle; 2 has the lower class.
    let change = |class, destination, before| Recolouring { source: h(0), class, destination: h(destination), before };
    assert_eq!(map.begin_round(to(&[20, 1])), Ok(vec![change(1, 20, Some(h(2)))]));
    assert_eq!(map.begin_round(to(&[2, 7])), Ok(vec![change(2, 2, Some(h(3)))]));
    assert_eq!((map.class(h(0), h(3)), map.class(h(0), h(7))), (None, Some(6)));
    // A host that has failed is told anew, lowest classes first; others keep theirs.
    map.begin_round([(h(5), h(6))]).unwrap();
    map.forget(h(0));
    assert_eq!(map.names(h(0)).count(), 0);
    assert_eq!(map.begin_round(to(&[9])), Ok(vec![change(0, 9, None)]));
    assert_eq!(map.class(h(5), h(6)), Some(0));
}

#[test]
fn bad_input_changes_nothing() {
    let mut map = ClassMap::new(2, 0..2048);
    let error = map.begin_round([(HostId(0), HostId(1)), (HostId(2), HostId(0))]).unwrap_err();
    assert_eq!(error, ClassError::Unknown { source_host: HostId(2), hosts: 2 });
    assert_eq!(map.class(HostId(0), HostId(1)), None);
    assert_eq!((map.class(HostId(9), HostId(1)), map.names(HostId(9)).count()), (None, 0));
    // 2,048 destinations have their classes, 2,049 have not.
    let many = |n: u32| (0..n).map(|d| (HostId(0), HostId(d + 1)));
    let mut map = ClassMap::new(1, 0..2048);
    assert_eq!(map.begin_round(many(2048)).unwrap().len(), 2048);
    let error = map.begin_round(many(2049)).unwrap_err();
    assert_eq!(error, ClassError::RunOut { source_host: HostId(0), needed: 2049, available: 2048 });
    // An empty range of classes serves nobody.
    let reversed = core::ops::Range { start: 5, end: 3 };
    assert_eq!(
        ClassMap::new(1, reversed).begin_round(many(1)).unwrap_err().to_string(),
        "host 0 sends to 1 destinations in a round, but there are 0 classes"
    );
}
