//! Tests that routings find the paths that they promise, against searches of the whole graph.

use petgraph::algo::dijkstra;
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Add;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Rate, mix64};
use timeplane_schedule::rotor::matchings::{grid, random_factorization, round_robin};
use timeplane_schedule::rotor::routing::{
    Direct, Disjoint, Hoho, Hop, Position, Routing, Shale, Shortest, ShortestParameters, Spread, Ucmp, UcmpParameters,
    Vlb, path,
};
use timeplane_schedule::rotor::{RackMatching, RotorSchedule, Stepping};

/// Any schedule, also one in which racks never meet and whose circuits go one way only.
fn schedules() -> impl Strategy<Value = Arc<RotorSchedule>> {
    (2usize..8, 1usize..4, 1usize..6).prop_flat_map(|(racks, uplinks, slices)| {
        let matching = Just((0..racks as u32).map(Some).collect::<Vec<_>>()).prop_shuffle();
        let row = prop::collection::vec(matching, uplinks);
        prop::collection::vec(row, slices).prop_map(|rows| {
            let row = |row: &Vec<Vec<_>>| row.iter().map(|to| RackMatching::new(to).unwrap()).collect();
            Arc::new(RotorSchedule::new(&rows.iter().map(row).collect::<Vec<Vec<_>>>()).unwrap())
        })
    })
}

/// Slices first, then hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Cost(u32, u32);

impl Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}

/// The states of rack, slice and hops so far, with their edges.
struct Expanded {
    graph: DiGraph<(), Cost>,
    states: BTreeMap<(u32, u32, u32), NodeIndex>,
}

impl Expanded {
    fn new(schedule: &RotorSchedule, hops: u32) -> Self {
        let (racks, slices) = (schedule.racks(), schedule.slices());
        let mut graph = DiGraph::new();
        let all = (0..racks).flat_map(|r| (0..slices).flat_map(move |s| (0..=hops).map(move |h| (r, s, h))));
        let states: BTreeMap<_, _> = all.map(|state| (state, graph.add_node(()))).collect();
        for (&(rack, slice, used), &from) in &states {
            graph.add_edge(from, states[&(rack, (slice + 1) % slices, used)], Cost(1, 0));
            for (_, to) in schedule.circuits(slice, rack) {
                if used < hops {
                    graph.add_edge(from, states[&(to, slice, used + 1)], Cost(0, 1));
                }
            }
        }
        Self { graph, states }
    }

    /// The least cost from a rack and slice to each rack.
    fn costs(&self, rack: u32, slice: u32) -> BTreeMap<u32, Cost> {
        let reached = dijkstra(&self.graph, self.states[&(rack, slice, 0)], None, |e| *e.weight());
        let mut least = BTreeMap::new();
        for (&(rack, ..), node) in &self.states {
            if let Some(&cost) = reached.get(node) {
                let entry = least.entry(rack).or_insert(cost);
                *entry = cost.min(*entry);
            }
        }
        least
    }
}

/// The least costs from each rack and slice.
fn costs(schedule: &RotorSchedule, expanded: &Expanded) -> BTreeMap<(u32, u32), BTreeMap<u32, Cost>> {
    let all = (0..schedule.racks()).flat_map(|rack| (0..schedule.slices()).map(move |slice| (rack, slice)));
    all.map(|(rack, slice)| ((rack, slice), expanded.costs(rack, slice))).collect()
}

/// Checks that the hops are circuits of the schedule, and returns slices and hops of the path.
fn cost(schedule: &RotorSchedule, from: &Position, hops: &[Hop]) -> Cost {
    let (mut rack, mut slice) = (from.rack, from.slice);
    for hop in hops {
        slice += hop.wait;
        assert_eq!(schedule.destination(slice, rack, hop.uplink), Some(hop.rack), "{from:?} {hops:?}");
        rack = hop.rack;
    }
    assert_eq!(rack, from.destination);
    Cost(slice - from.slice, hops.len() as u32)
}

/// All pairs of racks in all slices.
fn positions(schedule: &RotorSchedule) -> impl Iterator<Item = Position> {
    let (racks, slices) = (schedule.racks(), schedule.slices());
    (0..racks * racks * slices).map(move |i| {
        let (rack, destination, slice) = (i % racks, i / racks % racks, i / racks / racks);
        Position { rack, destination, slice, ..Position::default() }
    })
}

const UCMP: UcmpParameters = UcmpParameters {
    hops: 4,
    alpha_permille: 500,
    buckets: vec![],
    rate: Rate::gbps(100),
    slice: Duration::from_us(50),
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hoho_arrives_first_and_with_the_fewest_hops(schedule in schedules(), hops in 1u32..5) {
        let hoho = Hoho::new(&schedule, hops).unwrap();
        prop_assert_eq!(hoho.table_bytes(), u64::from(4 * hops * schedule.slices() * schedule.racks().pow(2)));
        let expanded = Expanded::new(&schedule, hops);
        let costs = costs(&schedule, &expanded);
        for from in positions(&schedule) {
            let least = costs[&(from.rack, from.slice)].get(&from.destination).copied();
            let found = path(&hoho, &from, 99).map(|hops| cost(&schedule, &from, &hops));
            prop_assert_eq!(found, least, "{:?} in {:?}", from, schedule);
        }
    }

    #[test]
    fn hoho_with_one_hop_is_direct(schedule in schedules()) {
        let (hoho, direct) = (Hoho::new(&schedule, 1).unwrap(), Direct::new(&schedule).unwrap());
        for from in positions(&schedule) {
            prop_assert_eq!(hoho.next_hop(&from), direct.next_hop(&from), "{:?}", from);
            // Slices are counted on over cycles.
            let later = Position { slice: from.slice + 3 * schedule.slices(), ..from };
            prop_assert_eq!(direct.next_hop(&later), direct.next_hop(&from));
        }
    }

    #[test]
    fn direct_waits_for_the_first_circuit(schedule in schedules()) {
        let direct = Direct::new(&schedule).unwrap();
        for from in positions(&schedule).filter(|p| p.rack != p.destination) {
            let circuits = |wait: u32| schedule.circuits(from.slice + wait, from.rack);
            let meets = |wait: &u32| circuits(*wait).any(|(_, to)| to == from.destination);
            let wait = (0..schedule.slices()).find(meets);
            let found = path(&direct, &from, 1);
            prop_assert_eq!(found.as_ref().map(|hops| cost(&schedule, &from, hops)), wait.map(|w| Cost(w, 1)));
        }
    }

    #[test]
    fn ucmp_takes_the_path_of_least_cost(
        schedule in schedules(),
        alpha_permille in 0u32..=1000,
        bounds in prop::collection::btree_set(1u64..3_000_000, 1..4),
        age in 0u64..4_000_000,
    ) {
        let buckets: Vec<_> = bounds.iter().copied().map(Bytes::new).collect();
        let parameters = UcmpParameters { alpha_permille, buckets, ..UCMP };
        let ucmp = Ucmp::new(&schedule, parameters.clone()).unwrap();
        // The bound in force, found differently: the first above the age, or the last.
        let bound = bounds.iter().copied().find(|b| age < *b).unwrap_or(*bounds.last().unwrap());
        let weigh = |Cost(slices, hops): Cost| {
            // 50 us a slice; a byte takes 80 ps.
            let (alpha, latency) = (u128::from(alpha_permille), u128::from(slices) * 50_000_000);
            alpha * latency + (1000 - alpha) * u128::from(hops) * u128::from(bound) * 80
        };
        // The earliest path for each limit on hops; a limit that is not needed costs more.
        let graphs: Vec<_> = (1..=4).map(|hops| costs(&schedule, &Expanded::new(&schedule, hops))).collect();
        for from in positions(&schedule).filter(|p| p.rack != p.destination) {
            let from = Position { age: Bytes::new(age), ..from };
            let paths = graphs.iter().filter_map(|g| g[&(from.rack, from.slice)].get(&from.destination).copied());
            let least = paths.min_by_key(|&cost| (weigh(cost), cost.1));
            let found = path(&ucmp, &from, 4).map(|hops| cost(&schedule, &from, &hops));
            prop_assert_eq!(found, least, "{:?} in {:?}", from, schedule);
        }
    }

    #[test]
    fn shortest_paths_are_those_of_their_slice(schedule in schedules(), paths in 1u32..6, settled: bool) {
        let shortest = Shortest::new(&schedule, ShortestParameters { paths, settled }).unwrap();
        for from in positions(&schedule).filter(|p| p.rack != p.destination) {
            let edges = |slice, rack| {
                let usable = |p| !(settled && schedule.is_changing(slice, p));
                schedule.circuits(slice, rack).filter(|&(p, _)| usable(p)).collect::<Vec<_>>()
            };
            let all = all_shortest(schedule.racks(), from.rack, from.destination, |rack| edges(from.slice, rack));
            let hops = |wait| shortest.hops(from.slice + wait, from.rack, from.destination);
            prop_assert_eq!(hops(0), all.first().map(|p| p.len() as u32));
            if all.is_empty() {
                // It waits for the first slice with a path, or has none.
                let later = (1..schedule.slices()).find(|&wait| hops(wait).is_some());
                prop_assert_eq!(shortest.next_hop(&from).map(|hop| hop.wait), later);
                continue;
            }
            // Random draws find exactly the first of them, in the order of uplinks.
            let mut found: Vec<_> = (0..100).map(|draw| {
                let hops = path(&shortest, &Position { draw, ..from }, 99).unwrap();
                assert_eq!(cost(&schedule, &from, &hops).0, 0);
                hops.iter().map(|hop| hop.uplink).collect::<Vec<_>>()
            }).collect();
            found.sort_unstable();
            found.dedup();
            prop_assert_eq!(&found[..], &all[..all.len().min(paths as usize)]);
        }
    }

    #[test]
    fn disjoint_paths_share_no_circuit(schedule in schedules(), paths in 1u32..6, settled: bool) {
        let parameters = ShortestParameters { paths, settled };
        let shortest = Shortest::new(&schedule, parameters).unwrap();
        let disjoint = Disjoint::new(&schedule, parameters).unwrap();
        for from in positions(&schedule).filter(|p| p.rack != p.destination) {
            let Some(fewest) = shortest.hops(from.slice, from.rack, from.destination) else {
                let wait = |routing: &dyn Routing| routing.next_hop(&from).map(|hop| hop.wait);
                prop_assert_eq!(wait(&disjoint), wait(&shortest));
                continue;
            };
            let mut found: Vec<_> = (0..100).map(|draw| {
                let hops = path(&disjoint, &Position { draw, ..from }, 99).unwrap();
                assert_eq!(cost(&schedule, &from, &hops).0, 0);
                let racks = std::iter::once(from.rack).chain(hops.iter().map(|hop| hop.rack));
                racks.zip(hops.iter().map(|hop| hop.uplink)).collect::<Vec<_>>()
            }).collect();
            found.sort_unstable_by_key(|path| (path.len(), path.clone()));
            found.dedup();
            prop_assert_eq!(found[0].len() as u32, fewest);
            let mut circuits: Vec<_> = found.concat();
            let all = circuits.len();
            circuits.sort_unstable();
            circuits.dedup();
            prop_assert_eq!(circuits.len(), all, "{:?} share a circuit", found);
            // By Menger's theorem there are as many as a flow of circuits carries. A shortest path
            // may cross two others, so that not all of these are found.
            let usable = |&(slice, rack, p): &(u32, u32, u32)| {
                !(settled && schedule.is_changing(slice, p)) && schedule.destination(slice, rack, p).is_some()
            };
            let uplinks = (0..schedule.uplinks()).filter(|&p| usable(&(from.slice, from.rack, p))).count();
            prop_assert!(found.len() <= uplinks.min(paths as usize));
            let left = |rack: u32, p: u32| usable(&(from.slice, rack, p)) && !circuits.contains(&(rack, p));
            let reached = all_shortest(schedule.racks(), from.rack, from.destination, |rack| {
                schedule.circuits(from.slice, rack).filter(|&(p, _)| left(rack, p)).collect()
            });
            prop_assert!(found.len() == paths as usize || reached.is_empty(), "{:?} leave {:?}", found, reached);
        }
    }

    #[test]
    fn vlb_takes_at_most_two_hops(
        (vertices, factor, uplinks) in (1u32..5, 1u32..4, 1u32..4),
        staggered: bool,
        seed: u64,
        draw: u64,
    ) {
        let racks = vertices * factor;
        prop_assume!(racks >= 2 && uplinks <= racks);
        let stepping = if staggered { Stepping::Staggered } else { Stepping::Together };
        let matchings = random_factorization(racks, factor, seed).unwrap();
        let schedule = Arc::new(RotorSchedule::spread(&matchings, uplinks, stepping).unwrap());
        let direct = Direct::new(&schedule).unwrap();
        for spread in [Spread::Random, Spread::InTurn] {
            let vlb = Vlb::new(&schedule, spread).unwrap();
            for from in positions(&schedule).filter(|p| p.rack != p.destination) {
                let from = Position { draw, ..from };
                let hops = path(&vlb, &from, 2).unwrap();
                let total = cost(&schedule, &from, &hops);
                let now: Vec<_> = schedule.circuits(from.slice, from.rack).collect();
                if now.iter().any(|(_, to)| *to == from.destination) {
                    prop_assert_eq!(total, Cost(0, 1));
                } else if !now.is_empty() {
                    prop_assert_eq!(hops[0].wait, 0);
                    let second = direct.next_hop(&Position { rack: hops[0].rack, ..from }).unwrap();
                    prop_assert_eq!(total, Cost(second.wait, 2));
                }
            }
        }
    }

    /// A packet that misses slices still arrives, from wherever it is.
    #[test]
    fn late_packets_arrive(
        vertices in 2u32..5,
        factor in 2u32..4,
        seed: u64,
        lateness in prop::collection::vec(0u32..40, 32),
    ) {
        let matchings = random_factorization(vertices * factor, factor, seed).unwrap();
        let schedule = Arc::new(RotorSchedule::spread(&matchings, 2, Stepping::Staggered).unwrap());
        let all: [Box<dyn Routing>; 4] = [
            Box::new(Direct::new(&schedule).unwrap()),
            Box::new(Vlb::new(&schedule, Spread::Random).unwrap()),
            Box::new(Hoho::new(&schedule, 3).unwrap()),
            Box::new(Ucmp::new(&schedule, UcmpParameters { buckets: vec![Bytes::kb(15)], ..UCMP }).unwrap()),
        ];
        for routing in &all {
            for from in positions(&schedule).filter(|p| p.rack != p.destination) {
                let (mut at, mut hops) = (from, 0);
                for late in &lateness {
                    let Some(hop) = routing.next_hop(&at) else { break };
                    // Every other packet misses its slice and asks again.
                    at = if late % 2 == 0 {
                        hops += 1;
                        Position { rack: hop.rack, slice: at.slice + hop.wait, progress: hop.progress, ..at }
                    } else {
                        Position { slice: at.slice + hop.wait + late, ..at }
                    };
                }
                prop_assert!(at.rack == at.destination || hops < 4, "{:?} after {} hops", at, hops);
            }
        }
    }
}

/// All paths of the fewest hops, as lists of uplinks, in their order.
fn all_shortest(racks: u32, from: u32, to: u32, edges: impl Fn(u32) -> Vec<(u32, u32)>) -> Vec<Vec<u32>> {
    let mut paths = vec![(from, vec![])];
    for _ in 0..racks {
        let done: Vec<_> = paths.iter().filter(|(at, _)| *at == to).map(|(_, path)| path.clone()).collect();
        if !done.is_empty() {
            return done;
        }
        let longer = |(at, path): &(u32, Vec<u32>)| {
            let next = |(uplink, rack)| (rack, path.iter().copied().chain([uplink]).collect());
            edges(*at).into_iter().map(next).collect::<Vec<_>>()
        };
        paths = paths.iter().flat_map(longer).collect();
    }
    vec![]
}

#[test]
fn shale_carries_its_share_of_any_permutation() {
    // Every rack sends to one other rack. The load of each circuit is counted over all intermediate
    // racks, in units of what a rack sends in a cycle.
    for (n, h) in [(8u32, 1u32), (5, 2), (3, 3), (2, 4)] {
        let racks = n.pow(h);
        let schedule = Arc::new(RotorSchedule::spread(&grid(racks, h).unwrap(), 1, Stepping::Together).unwrap());
        let shale = Shale::new(&schedule, h).unwrap();
        let (cycle, draws) = (schedule.slices(), 4000);
        let mut most = 0f64;
        for shift in [1, racks / 2, racks - 1] {
            let mut load: BTreeMap<(u32, u32), f64> = BTreeMap::new();
            for rack in 0..racks {
                for draw in 0..draws {
                    let destination = (rack + shift) % racks;
                    let slice = draw as u32 % cycle;
                    // Packets of different racks draw different intermediate racks.
                    let draw = mix64(u64::from(rack) << 32 | draw);
                    let from = Position { rack, destination, slice, draw, ..Position::default() };
                    let hops = path(&shale, &from, 2 * h as usize).unwrap();
                    cost(&schedule, &from, &hops);
                    let (mut at, mut slice) = (rack, from.slice);
                    for hop in hops {
                        slice = (slice + hop.wait) % cycle;
                        *load.entry((slice, at)).or_default() += 1.0 / draws as f64;
                        at = hop.rack;
                    }
                }
            }
            assert!(load.len() as u32 <= cycle * racks);
            most = load.values().copied().fold(most, f64::max);
        }
        // In a cycle a rack may send its rate times h (n - 1) slices, a circuit carries one slice.
        let throughput = 1.0 / (most * f64::from(cycle));
        let expected = f64::from(n) / f64::from(2 * h * (n - 1));
        assert!(throughput > 1.0 / f64::from(2 * h), "{n}^{h}: {throughput}");
        assert!((throughput / expected - 1.0).abs() < 0.25, "{n}^{h}: {throughput} for {expected}");
    }
}

/// No way takes longer than two cycles of h (n - 1) slices, and the longest ones nearly do. In one
/// dimension the first hop waits for nothing, so that it is one cycle.
#[test]
fn shale_arrives_within_two_cycles() {
    for (n, h) in [(400u32, 1u32), (20, 2), (10, 3), (3, 3)] {
        let racks = n.pow(h);
        let schedule = Arc::new(RotorSchedule::spread(&grid(racks, h).unwrap(), 1, Stepping::Together).unwrap());
        let shale = Shale::new(&schedule, h).unwrap();
        let cycle = schedule.slices();
        assert_eq!(cycle, h * (n - 1));
        let mut longest = 0;
        for draw in 0..20_000u64 {
            let [rack, destination] = [draw * 7_919, draw * 104_729 + 1].map(|k| (k % u64::from(racks)) as u32);
            let from = Position { rack, destination, slice: draw as u32 % cycle, draw, ..Position::default() };
            let hops = path(&shale, &from, 2 * h as usize).unwrap();
            // The slice in which it arrives counts, too.
            longest = longest.max(1 + hops.iter().map(|hop| hop.wait).sum::<u32>());
        }
        let bound = h.min(2) * cycle;
        assert!(longest <= bound && f64::from(longest) > 0.95 * f64::from(bound), "{n}^{h}: {longest} of {bound}");
    }
}

#[test]
fn shale_visits_dimensions_in_turn() {
    let schedule = Arc::new(RotorSchedule::spread(&grid(27, 3).unwrap(), 1, Stepping::Together).unwrap());
    let shale = Shale::new(&schedule, 3).unwrap();
    for (draw, start) in positions(&schedule).filter(|p| p.rack != p.destination).zip(0..).map(|(p, d)| (d, p)) {
        let hops = path(&shale, &Position { draw, ..start }, 6).unwrap();
        let mut at = start.rack;
        let dimensions: Vec<u32> = hops
            .iter()
            .map(|hop| {
                let dimension = (0..3).find(|d| at / 3u32.pow(*d) % 3 != hop.rack / 3u32.pow(*d) % 3).unwrap();
                at = hop.rack;
                dimension
            })
            .collect();
        // From the dimension of the present slice on, each at most twice.
        let first = start.slice / 2;
        let turns: Vec<u32> = dimensions.iter().map(|d| (d + 3 - first) % 3).collect();
        assert!(turns.windows(2).filter(|pair| pair[1] <= pair[0]).count() <= 1, "{turns:?}");
        // The path ends within the two turns and one cycle more for the first slice that it missed.
        assert!(cost(&schedule, &start, &hops).0 < 3 * schedule.slices());
    }
}

#[test]
fn spraying_reaches_all_circuits_evenly() {
    let schedule = Arc::new(RotorSchedule::spread(&round_robin(16).unwrap(), 5, Stepping::Together).unwrap());
    let vlb = |spread| Vlb::new(&schedule, spread).unwrap();
    let from = Position { rack: 3, destination: 4, ..Position::default() };
    assert!(schedule.circuits(0, 3).all(|(_, to)| to != 4));
    let mut count = [[0; 5]; 2];
    for draw in 0..10_000 {
        for (spread, count) in [Spread::Random, Spread::InTurn].into_iter().zip(&mut count) {
            count[vlb(spread).next_hop(&Position { draw, ..from }).unwrap().uplink as usize] += 1;
        }
    }
    // Binomial(10000, 1/5): standard deviation 40.
    assert!(count[0].iter().all(|c: &i32| c.abs_diff(2000) < 200), "{count:?}");
    assert_eq!(count[1], [2000; 5]);
}

#[test]
fn operas_paths_are_short_in_every_slice() {
    let matchings = random_factorization(108, 9, 0).unwrap();
    let schedule = Arc::new(RotorSchedule::spread(&matchings, 6, Stepping::Staggered).unwrap());
    let shortest = Shortest::new(&schedule, ShortestParameters { paths: 5, settled: true }).unwrap();
    assert_eq!(shortest.table_bytes(), 2 * 108u64.pow(3));
    let mut hops = [0u64; 8];
    for from in positions(&schedule).filter(|p| p.rack != p.destination) {
        hops[shortest.hops(from.slice, from.rack, from.destination).unwrap() as usize] += 1;
    }
    let mean = (0..).zip(hops).map(|(h, n)| h as f64 * n as f64).sum::<f64>() / (108.0 * 108.0 * 107.0);
    assert!((2.9..3.4).contains(&mean), "{hops:?}");
}

#[test]
fn operas_disjoint_paths_start_over_all_settled_uplinks() {
    let matchings = random_factorization(108, 9, 0).unwrap();
    let schedule = Arc::new(RotorSchedule::spread(&matchings, 6, Stepping::Staggered).unwrap());
    let disjoint = Disjoint::new(&schedule, ShortestParameters { paths: 5, settled: true }).unwrap();
    assert_eq!(disjoint.table_bytes(), 4 * 5 * 108u64.pow(3));
    let (mut firsts, mut hops, mut pairs) = (0, 0, 0);
    for from in positions(&schedule).filter(|p| p.rack != p.destination && p.slice % 9 == 0 && p.rack % 4 == 0) {
        let paths: BTreeMap<_, _> = (0..60)
            .map(|draw| path(&disjoint, &Position { draw, ..from }, 8).unwrap())
            .map(|hops| (hops[0].uplink, hops.len()))
            .collect();
        firsts += paths.len();
        hops += paths.values().sum::<usize>();
        pairs += 1;
    }
    let (firsts, hops) = (firsts as f64 / f64::from(pairs), hops as f64 / firsts as f64);
    assert!(firsts > 4.9 && (4.2..4.8).contains(&hops), "{firsts} paths of {hops} hops");
}

#[test]
fn tables_and_parameters_beyond_their_limits_are_refused() {
    let schedule = Arc::new(RotorSchedule::spread(&round_robin(4).unwrap(), 1, Stepping::Together).unwrap());
    let text = |routing: Result<(), timeplane_schedule::rotor::RotorError>| routing.unwrap_err().to_string();
    assert_eq!(text(Hoho::new(&schedule, 0).map(|_| ())), "0 hops: expected 1 to 16");
    assert_eq!(text(Hoho::new(&schedule, 17).map(|_| ())), "17 hops: expected 1 to 16");
    let shortest = |paths| Shortest::new(&schedule, ShortestParameters { paths, settled: true }).map(|_| ());
    assert_eq!(text(shortest(0)), "0 paths: expected 1 to 255");
    assert_eq!(text(shortest(256)), "256 paths: expected 1 to 255");
    let disjoint = |of, paths| Disjoint::new(of, ShortestParameters { paths, settled: true }).map(|_| ());
    assert_eq!(text(disjoint(&schedule, 0)), "0 paths: expected 1 to 255");
    let large = Arc::new(RotorSchedule::spread(&round_robin(512).unwrap(), 64, Stepping::Together).unwrap());
    let steps = 8 * 512 * 512 * 512 * 64 * 5u64;
    assert_eq!(
        text(disjoint(&large, 5)),
        format!("{steps} steps of a search for disjoint paths: expected 1 to 17179869184")
    );
    let ucmp = |parameters| text(Ucmp::new(&schedule, parameters).map(|_| ()));
    assert_eq!(ucmp(UCMP), "0 buckets: expected 1 to 255");
    let buckets = vec![Bytes::kb(1), Bytes::kb(3), Bytes::kb(3)];
    assert_eq!(ucmp(UcmpParameters { buckets, ..UCMP }), "2 buckets in rising order: expected 3 to 255");
    let buckets = vec![Bytes::kb(1)];
    let with = UcmpParameters { buckets, ..UCMP };
    assert_eq!(
        ucmp(UcmpParameters { alpha_permille: 1001, ..with.clone() }),
        "1001 thousandths of weight: expected 0 to 1000"
    );
    assert!(ucmp(UcmpParameters { rate: Rate::ZERO, ..with.clone() }).starts_with("0 bit/s of a circuit"));
    assert!(ucmp(UcmpParameters { slice: Duration::ZERO, ..with }).starts_with("0 picoseconds of a slice"));
    assert_eq!(
        text(Shale::new(&schedule, 3).map(|_| ())),
        "4 racks in 3 dimensions: expected a number of at least 2 to the power of 3"
    );
    let grid = Arc::new(RotorSchedule::spread(&grid(9, 2).unwrap(), 1, Stepping::Together).unwrap());
    assert!(text(Vlb::new(&grid, Spread::Random).map(|_| ())).contains("has no circuit to rack 4"));
    assert!(text(Shale::new(&grid, 1).map(|_| ())).contains("has no circuit to rack 4"));
    let large = Arc::new(RotorSchedule::spread(&round_robin(512).unwrap(), 1, Stepping::Together).unwrap());
    assert_eq!(
        text(Hoho::new(&large, 5).map(|_| ())),
        "the table of earliest paths would take 2679111680 bytes: expected at most 1073741824"
    );
}
