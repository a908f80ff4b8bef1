//! Tests that rotor schedules connect all racks as their generators promise.

use proptest::prelude::*;
use std::collections::VecDeque;
use timeplane_model::Duration;
use timeplane_schedule::rotor::matchings::{grid, random_factorization, round_robin, side};
use timeplane_schedule::rotor::{RackMatching, RotorError, RotorSchedule, RotorTiming, Stepping};

/// How often each ordered pair has a circuit in these matchings, row by row.
fn meetings(matchings: &[RackMatching]) -> Vec<u32> {
    let racks = matchings[0].racks();
    let mut count = vec![0; (racks * racks) as usize];
    for (from, to) in matchings.iter().flat_map(RackMatching::circuits) {
        count[(from * racks + to) as usize] += 1;
    }
    count
}

/// Every pair meets once, a rack never meets itself, and all circuits go both ways.
fn assert_factorization(matchings: &[RackMatching]) {
    let racks = matchings[0].racks();
    for (pair, count) in (0..).zip(meetings(matchings)) {
        assert_eq!(count, u32::from(pair / racks != pair % racks), "{} to {}", pair / racks, pair % racks);
    }
    for matching in matchings {
        assert!(matching.circuits().all(|(from, to)| matching.destination(to) == Some(from)));
    }
}

#[test]
fn round_robin_is_a_factorization_of_the_complete_graph() {
    for racks in (2..40).chain([64, 107, 108, 256]) {
        let all = round_robin(racks).unwrap();
        assert_factorization(&all);
        let idle = racks % 2;
        assert_eq!(all.len() as u32, racks - 1 + idle);
        assert!(all.iter().all(|m| m.circuits().count() as u32 == racks - idle));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_factorizations_cover_every_pair_once(vertices in 1u32..12, factor in 1u32..9, seed: u64) {
        let racks = vertices * factor;
        prop_assume!(racks >= 2);
        let all = random_factorization(racks, factor, seed).unwrap();
        prop_assert_eq!(all.len() as u32, racks);
        assert_factorization(&all);
        prop_assert_eq!(random_factorization(racks, factor, seed).unwrap(), all);
    }

    #[test]
    fn schedules_show_what_they_were_given(
        racks in 2u32..9,
        uplinks in 1usize..4,
        dice in prop::collection::vec(any::<u64>(), 1..12),
    ) {
        let all = random_factorization(racks, 1, 5).unwrap();
        let row = |die: &u64| (0..uplinks).map(|p| &all[(die >> (8 * p)) as usize % all.len()]).collect();
        let rows: Vec<Vec<&RackMatching>> = dice.iter().map(row).collect();
        let schedule = RotorSchedule::new(&rows).unwrap();
        let slices = rows.len() as u32;
        prop_assert_eq!((schedule.racks(), schedule.uplinks(), schedule.slices()), (racks, uplinks as u32, slices));
        for slice in 0..2 * slices {
            let (row, before) = (&rows[(slice % slices) as usize], &rows[((slice + slices - 1) % slices) as usize]);
            for (p, uplink) in (0..uplinks).zip(0..) {
                prop_assert_eq!(schedule.is_changing(slice, uplink), row[p] != before[p]);
                let stays = (1..=slices).find(|&k| rows[((slice + k) % slices) as usize][p] != row[p]);
                let always = rows.iter().all(|r| r[p] == row[p]);
                let holds = schedule.holds(slice, uplink);
                prop_assert_eq!(holds.is_none(), always);
                prop_assert!(always || holds >= stays.filter(|_| slices > 1));
                for rack in 0..racks {
                    prop_assert_eq!(schedule.destination(slice, rack, uplink), row[p].destination(rack));
                }
            }
        }
    }
}

#[test]
fn factorizations_of_a_seed_never_change() {
    let all = random_factorization(6, 2, 1).unwrap();
    let text = |m: &RackMatching| m.circuits().filter(|(a, b)| a < b).map(|(a, b)| format!("{a}-{b} ")).collect();
    let lines: Vec<String> = all.iter().map(text).collect();
    assert_eq!(lines, GOLDEN);
    assert_ne!(random_factorization(6, 2, 2).unwrap(), all);
}

/// The first factorization of 6 racks, by seed 1.
const GOLDEN: [&str; 6] = ["0-1 2-3 4-5 ", "0-4 2-5 ", "0-3 1-2 ", "1-4 3-5 ", "0-2 1-5 3-4 ", "0-5 1-3 2-4 "];

/// The largest distance between racks over the circuits of a slice, without the switch that
/// changes; `None` if some are not connected.
fn diameter(schedule: &RotorSchedule, slice: u32) -> Option<u32> {
    let mut most = 0;
    for start in 0..schedule.racks() {
        let mut distance = vec![None; schedule.racks() as usize];
        distance[start as usize] = Some(0);
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            let next = distance[at as usize].map(|d| d + 1);
            for (uplink, to) in schedule.circuits(slice, at) {
                if !schedule.is_changing(slice, uplink) && distance[to as usize].is_none() {
                    distance[to as usize] = next;
                    queue.push_back(to);
                }
            }
        }
        most = most.max(distance.into_iter().try_fold(0, |most, d| d.map(|d| most.max(d)))?);
    }
    Some(most)
}

#[test]
fn opera_connects_its_racks_at_every_moment() {
    // Opera's network (NSDI 2020, section 4): 108 racks, 6 switches, 108 slices.
    for seed in 0..3 {
        let matchings = random_factorization(108, 9, seed).unwrap();
        let schedule = RotorSchedule::spread(&matchings, 6, Stepping::Staggered).unwrap();
        schedule.check_all_meet().unwrap();
        assert_eq!(schedule.slices(), 108);
        assert_eq!(schedule.table_bytes(), 108 * 108 * 2 + 108 * 6 * 4);
        let diameters: Vec<_> = (0..108).map(|slice| diameter(&schedule, slice)).collect();
        assert!(diameters.iter().all(|d| d.is_some_and(|d| (3..=6).contains(&d))), "{diameters:?}");
        for slice in 0..108 {
            let changing: Vec<_> = (0..6).filter(|&p| schedule.is_changing(slice, p)).collect();
            assert_eq!(changing, [slice % 6]);
            assert_eq!(schedule.holds(slice, slice % 6), Some(6));
        }
    }
}

#[test]
fn matchings_are_spread_over_switches() {
    let all = round_robin(8).unwrap();
    let place = |slice: u32, uplink: u32, schedule: &RotorSchedule| {
        all.iter().position(|m| (0..8).all(|r| m.destination(r) == schedule.destination(slice, r, uplink)))
    };
    let schedule = RotorSchedule::spread(&all, 3, Stepping::Together).unwrap();
    let shown: Vec<Vec<_>> = (0..3).map(|s| (0..3).map(|p| place(s, p, &schedule)).collect()).collect();
    assert_eq!(shown, [[Some(0), Some(1), Some(2)], [Some(3), Some(4), Some(5)], [Some(6), None, None]].map(Vec::from));
    assert_eq!(schedule.circuits(2, 7).count(), 1);
    schedule.check_all_meet().unwrap();
    let schedule = RotorSchedule::spread(&all, 2, Stepping::Staggered).unwrap();
    let shown: Vec<Vec<_>> = (0..2).map(|p| (0..8).map(|s| place(s, p, &schedule)).collect()).collect();
    let twice = |places: [Option<usize>; 4]| places.iter().flat_map(|p| [*p, *p]).collect::<Vec<_>>();
    assert_eq!(shown[0], twice([Some(0), Some(2), Some(4), Some(6)]));
    let mut second = twice([Some(1), Some(3), Some(5), None]);
    second.rotate_right(1);
    assert_eq!(shown[1], second);
}

#[test]
fn grids_connect_racks_that_differ_in_one_dimension() {
    for (racks, dimensions, n) in [(7, 1, 7), (16, 2, 4), (27, 3, 3), (16, 4, 2), (3600, 2, 60)] {
        assert_eq!(side(racks, dimensions), Ok(n));
        let all = grid(racks, dimensions).unwrap();
        assert_eq!(all.len() as u32, dimensions * (n - 1));
        assert!(all.iter().all(|m| m.circuits().count() as u32 == racks));
        if racks > 100 {
            continue;
        }
        for (pair, count) in (0..).zip(meetings(&all)) {
            let (mut a, mut b, mut differ) = (pair / racks, pair % racks, 0);
            for _ in 0..dimensions {
                differ += u32::from(a % n != b % n);
                (a, b) = (a / n, b / n);
            }
            assert_eq!(count, u32::from(differ == 1));
        }
    }
    // The matchings of a dimension follow each other.
    let first: Vec<_> = grid(9, 2).unwrap().iter().map(|m| m.destination(4)).collect();
    assert_eq!(first, [Some(5), Some(3), Some(7), Some(1)]);
}

#[test]
fn impossible_networks_are_refused_with_their_numbers() {
    let text = |error: RotorError| error.to_string();
    let refused = |destinations: &[Option<u32>]| text(RackMatching::new(destinations).unwrap_err());
    assert_eq!(
        refused(&[Some(2), None, Some(2), Some(2)]),
        "racks 0 and 3 both have a circuit to rack 2: expected one on a port in a slice"
    );
    assert_eq!(refused(&[Some(1), Some(4)]), "rack 1 has a circuit to rack 4: expected 0 to 1");
    assert_eq!(refused(&[Some(1), Some(u32::MAX)]), "rack 1 has a circuit to rack 4294967295: expected 0 to 1");
    assert_eq!(refused(&[None]), "1 racks: expected 2 to 16384");
    assert_eq!(text(round_robin(0).unwrap_err()), "0 racks: expected 2 to 16384");
    assert_eq!(text(round_robin(16_385).unwrap_err()), "16385 racks: expected 2 to 16384");
    assert_eq!(
        text(random_factorization(12, 5, 0).unwrap_err()),
        "a lift of 12 racks by 5: expected a divisor of the number of racks"
    );
    assert!(random_factorization(12, 0, 0).is_err());
    assert_eq!(
        text(grid(12, 2).unwrap_err()),
        "12 racks in 2 dimensions: expected a number of at least 2 to the power of 2"
    );
    assert_eq!(text(grid(4, 0).unwrap_err()), "0 dimensions: expected 1 to 14");
    let all = round_robin(4).unwrap();
    let spread = |uplinks| text(RotorSchedule::spread(&all, uplinks, Stepping::Together).unwrap_err());
    assert_eq!(spread(0), "0 uplinks: expected 1 to 3");
    assert_eq!(spread(4), "4 uplinks: expected 1 to 3");
    let none: [RackMatching; 0] = [];
    assert_eq!(
        text(RotorSchedule::spread(&none, 1, Stepping::Together).unwrap_err()),
        "0 matchings: expected 1 to 16384"
    );
    let new = |rows: &[Vec<RackMatching>]| text(RotorSchedule::new(rows).unwrap_err());
    assert_eq!(new(&[]), "0 slices: expected 1 to 65535");
    assert_eq!(new(&[vec![]]), "0 uplinks: expected 1 to 255");
    assert_eq!(new(&[all[..1].to_vec(), all[..2].to_vec()]), "slice 1 has 2 matchings: expected 1");
    let other = RackMatching::idle(5).unwrap();
    assert_eq!(new(&[vec![all[0].clone(), other]]), "slice 0 has 5 racks: expected 4");
    let many = vec![vec![&all[0]; 255]; 65_535];
    RotorSchedule::new(&many).unwrap();
    let wide: Vec<_> = (0..16_384u32)
        .map(|k| {
            let mut to: Vec<_> = (0..16_384).map(Some).collect();
            to.swap(k as usize / 2, 16_383 - k as usize / 2);
            RackMatching::new(&to).unwrap()
        })
        .take(2)
        .collect();
    assert!(RotorSchedule::spread(&wide, 1, Stepping::Together).is_ok());
}

#[test]
fn racks_that_never_meet_are_counted() {
    let grid = grid(9, 2).unwrap();
    let error = RotorSchedule::spread(&grid, 1, Stepping::Together).unwrap().check_all_meet().unwrap_err();
    assert_eq!(
        error.to_string(),
        "rack 0 has no circuit to rack 4 in 4 slices, the first of 36 such pairs: expected every pair"
    );
}

#[test]
fn slices_are_longer_than_their_dark_time() {
    let us = Duration::from_us;
    let timing = RotorTiming::new(us(100), us(20)).unwrap();
    assert_eq!((timing.slice(), timing.dark()), (us(100), us(20)));
    assert_eq!((timing.open(true), timing.open(false)), (us(80), us(100)));
    assert_eq!(timing.slice_at(us(350)), (3, us(50)));
    assert_eq!(timing.slice_at(us(300)), (3, us(0)));
    assert_eq!(timing.slice_at(us(-1)), (-1, us(99)));
    assert_eq!(
        RotorTiming::new(us(20), us(20)).unwrap_err().to_string(),
        "a slice of 20 us with a dark time of 20 us: expected a slice that is longer than its dark time"
    );
    assert_eq!(
        RotorTiming::new(us(20), us(-1)).unwrap_err().to_string(),
        "a dark time of -1 us: expected none or a positive one"
    );
    assert!(RotorTiming::new(us(0), us(0)).is_err());
}
