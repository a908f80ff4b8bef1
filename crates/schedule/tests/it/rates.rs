//! Tests that rates are feasible, fair as their name says, and near the highest total where
//! intended.

use proptest::prelude::*;
use timeplane_model::{Duration, Fabric, Framing, LinkSpec, Rate, Switch};
use timeplane_schedule::rates::{
    AllPairs, Flows, Hosts, MaxMin, Offered, Proportional, max_min, max_min_hosts, scale_both, scale_down,
};
use timeplane_schedule::{Normalizer, OwnError, RateAllocator, RateNormalizer, RateParameters, RateRule};

const ROUNDING: f64 = 1e-9;

/// Sums of rows and of columns.
fn sums(n: usize, offered: &[Offered], rates: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut rows, mut columns) = (vec![0.0; n], vec![0.0; n]);
    for (o, rate) in offered.iter().zip(rates) {
        rows[o.source as usize] += rate;
        columns[o.destination as usize] += rate;
    }
    (rows, columns)
}

fn assert_sub_stochastic(hosts: &Hosts, offered: &[Offered], rates: &[f64]) {
    assert_eq!(offered.len(), rates.len());
    assert!(rates.iter().all(|&r| r >= 0.0 && r.is_finite()), "{rates:?}");
    let (rows, columns) = sums(hosts.len(), offered, rates);
    for (sum, capacity) in rows.iter().zip(hosts.send()).chain(columns.iter().zip(hosts.receive())) {
        assert!(*sum <= capacity * (1.0 + 1e-12), "{sum} of {capacity}");
    }
}

/// The highest total on these pairs: a maximum flow, by augmenting paths over residual capacities.
fn highest_total(hosts: &Hosts, offered: &[Offered]) -> f64 {
    let n = hosts.len();
    let (mut send, mut receive) = (hosts.send().to_vec(), hosts.receive().to_vec());
    let mut edge = vec![vec![false; n]; n];
    let mut flow = vec![vec![0.0f64; n]; n];
    offered.iter().filter(|o| o.rate > 0.0).for_each(|o| edge[o.source as usize][o.destination as usize] = true);
    let mut total = 0.0;
    loop {
        // Breadth-first search from senders with spare capacity; rows are 0..n, columns n..2n.
        let mut from = vec![None; 2 * n];
        let mut queue: Vec<usize> = (0..n).filter(|&i| send[i] > 1e-12).collect();
        let begin = queue.clone();
        let mut end = None;
        let mut head = 0;
        while head < queue.len() && end.is_none() {
            let at = queue[head];
            head += 1;
            for next in 0..2 * n {
                let open = match (at < n, next < n) {
                    (true, false) => edge[at][next - n],
                    (false, true) => flow[next][at - n] > 1e-12,
                    _ => false,
                };
                if open && from[next].is_none() && !begin.contains(&next) {
                    from[next] = Some(at);
                    queue.push(next);
                    if next >= n && receive[next - n] > 1e-12 {
                        end = Some(next);
                        break;
                    }
                }
            }
        }
        let Some(end) = end else { return total };
        let mut path = vec![end];
        while let Some(before) = from[path[path.len() - 1]] {
            path.push(before);
        }
        let begin = path[path.len() - 1];
        let mut amount = send[begin].min(receive[end - n]);
        for step in path.windows(2).filter(|step| step[1] >= n) {
            amount = amount.min(flow[step[0]][step[1] - n]);
        }
        for step in path.windows(2) {
            match step[0] >= n {
                true => flow[step[1]][step[0] - n] += amount,
                false => flow[step[0]][step[1] - n] -= amount,
            }
        }
        send[begin] -= amount;
        receive[end - n] -= amount;
        total += amount;
    }
}

/// Sinkhorn's method written out: rows and columns to their capacity in turn, then rows down.
fn plainly_scaled(hosts: &Hosts, offered: &[Offered], rounds: u32) -> Vec<f64> {
    let n = hosts.len();
    // Hosts that cannot send or receive take no part.
    let of = |o: &Offered| hosts.send()[o.source as usize].min(hosts.receive()[o.destination as usize]);
    let mut rates: Vec<f64> = offered.iter().map(|o| if of(o) > 0.0 { o.rate } else { 0.0 }).collect();
    let scale = |rates: &mut Vec<f64>, rows: bool, up: bool| {
        let (r, c) = sums(n, offered, rates);
        for (o, rate) in offered.iter().zip(rates) {
            let (sum, capacity) = match rows {
                true => (r[o.source as usize], hosts.send()[o.source as usize]),
                false => (c[o.destination as usize], hosts.receive()[o.destination as usize]),
            };
            if sum > 0.0 && (up || sum > capacity) {
                *rate *= capacity / sum;
            }
        }
    };
    scale(&mut rates, false, true);
    for _ in 0..rounds {
        scale(&mut rates, true, true);
        scale(&mut rates, false, true);
    }
    scale(&mut rates, true, false);
    rates
}

fn offers(n: u32) -> impl Strategy<Value = Vec<Offered>> {
    let rate = prop_oneof![1 => Just(0.0), 4 => Just(1.0), 4 => 0.001f64..1.0];
    prop::collection::vec((0..n, 0..n, rate), 0..60).prop_map(|all| {
        all.into_iter().map(|(source, destination, rate)| Offered { source, destination, rate }).collect()
    })
}
fn hosts(n: usize) -> impl Strategy<Value = Hosts> {
    let some = || prop::collection::vec(prop_oneof![1 => Just(0.0), 6 => 0.1f64..3.0], n);
    prop_oneof![1 => Just(Hosts::equal(n)), 1 => (some(), some()).prop_map(|(s, r)| Hosts::new(s, r))]
}

#[derive(Clone, Debug)]
struct Problem {
    capacity: Vec<f64>,
    flows: Flows,
}

fn problems() -> impl Strategy<Value = Problem> {
    let capacity = prop::collection::vec(0.1f64..10.0, 1..8);
    let path = prop::collection::btree_set(0u32..1000, 1..5);
    let flow = (path, prop_oneof![Just(1.0), 0.1f64..10.0], prop_oneof![2 => Just(f64::INFINITY), 1 => 0.0f64..3.0]);
    (capacity, prop::collection::vec(flow, 0..25)).prop_map(|(capacity, all)| {
        let mut flows = Flows::new();
        for (path, weight, demand) in all {
            let path: std::collections::BTreeSet<u32> = path.into_iter().map(|l| l % capacity.len() as u32).collect();
            flows.push(&path.into_iter().collect::<Vec<_>>(), weight, demand);
        }
        Problem { capacity, flows }
    })
}

impl Problem {
    fn loads(&self, rates: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.capacity.len()];
        for (f, rate) in rates.iter().enumerate() {
            self.flows.path(f).iter().for_each(|&l| loads[l as usize] += rate);
        }
        loads
    }
    fn assert_feasible(&self, rates: &[f64]) {
        assert_eq!(rates.len(), self.flows.len());
        for (load, capacity) in self.loads(rates).iter().zip(&self.capacity) {
            assert!(*load <= capacity * (1.0 + ROUNDING), "{load} of {capacity} in {self:?}: {rates:?}");
        }
        for (f, &rate) in rates.iter().enumerate() {
            assert!((0.0..=self.flows.demand(f) * (1.0 + ROUNDING)).contains(&rate), "flow {f}: {rate}");
        }
    }
    /// Checks that every flow meets its demand, or has a full link on which no flow has more per
    /// weight.
    fn assert_max_min(&self, rates: &[f64]) {
        self.assert_feasible(rates);
        let loads = self.loads(rates);
        let level = |f: usize| rates[f] / self.flows.weight(f);
        for f in 0..self.flows.len() {
            let met = rates[f] >= self.flows.demand(f) * (1.0 - ROUNDING);
            let is_bottleneck = |l: u32| {
                let full = loads[l as usize] >= self.capacity[l as usize] * (1.0 - ROUNDING);
                let others = (0..self.flows.len()).filter(|&g| self.flows.path(g).contains(&l));
                full && others.map(level).fold(0.0, f64::max) <= level(f) * (1.0 + ROUNDING)
            };
            let bottleneck = self.flows.path(f).iter().any(|&l| is_bottleneck(l));
            assert!(met || bottleneck, "flow {f} could have more: {self:?}, {rates:?}");
        }
    }
}

/// Hosts, pairs that are left out, and demands of some of the others.
#[derive(Clone, Debug)]
struct Sparse {
    hosts: Hosts,
    without: Vec<(u32, u32)>,
    offered: Vec<Offered>,
}

fn sparse() -> impl Strategy<Value = Sparse> {
    let capacity = || prop_oneof![Just(0.0), Just(1.0), Just(0.3), 0.0f64..2.0];
    let hosts = (1u32..14).prop_flat_map(move |n| {
        let side = || prop::collection::vec(capacity(), n as usize);
        (
            side(),
            side(),
            prop::collection::vec((0..n, 0..n), 0..30),
            prop::collection::vec((0..n, 0..n, 0u32..12), 0..30),
        )
    });
    hosts.prop_map(|(send, receive, mut without, asked)| {
        without.retain(|p| p.0 != p.1);
        without.sort_unstable();
        without.dedup();
        let mut offered: Vec<Offered> = asked
            .into_iter()
            .filter(|&(i, j, _)| i != j && !without.contains(&(i, j)))
            .map(|(source, destination, tenths)| Offered { source, destination, rate: f64::from(tenths) / 10.0 })
            .collect();
        offered.sort_by_key(|o| (o.source, o.destination));
        offered.dedup_by_key(|o| (o.source, o.destination));
        Sparse { hosts: Hosts::new(send, receive), without, offered }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn scaled_matrices_are_sub_stochastic((hosts, offered) in (hosts(8), offers(8)), rounds in 0u32..50) {
        let scaled = scale_both(&hosts, &offered, 0.0, rounds);
        assert_sub_stochastic(&hosts, &offered, &scaled.rates);
        let highest = highest_total(&hosts, &offered);
        prop_assert!((scaled.total - scaled.rates.iter().sum::<f64>()).abs() < ROUNDING);
        prop_assert!(scaled.bound >= highest - 1e-6, "bound {} below {}", scaled.bound, highest);
        prop_assert!(scaled.total <= highest + 1e-6);
        let plain = plainly_scaled(&hosts, &offered, scaled.rounds);
        for (o, (a, b)) in offered.iter().zip(scaled.rates.iter().zip(&plain)) {
            prop_assert!((a - b).abs() < 1e-9, "{:?}: {} and {}", o, a, b);
        }
        let down = scale_down(&hosts, &offered);
        assert_sub_stochastic(&hosts, &offered, &down);
        for (o, rate) in offered.iter().zip(down) {
            prop_assert!(rate <= o.rate);
        }
    }

    /// For any support, the total approaches the highest one; a reported bound holds.
    #[test]
    fn scaling_both_ways_tends_to_the_highest_total(offered in offers(8)) {
        let hosts = Hosts::equal(8);
        let scaled = scale_both(&hosts, &offered, 1e-3, 3000);
        let highest = highest_total(&hosts, &offered);
        prop_assert!(scaled.total >= highest * 0.995, "{} of {} after {}", scaled.total, highest, scaled.rounds);
        if scaled.rounds < 3000 {
            prop_assert!(scaled.total >= scaled.bound * (1.0 - 1.1e-3));
        }
    }

    #[test]
    fn every_flow_has_a_bottleneck(problem in problems()) {
        problem.assert_max_min(&max_min(&problem.capacity, &problem.flows));
    }

    #[test]
    fn pairs_of_hosts_are_flows_over_two_links((hosts, offered) in (hosts(6), offers(6))) {
        let capacity = [hosts.send(), hosts.receive()].concat();
        let problem = Problem { flows: Flows::between(&hosts, &offered), capacity };
        let rates = max_min_hosts(&hosts, &offered);
        assert_sub_stochastic(&hosts, &offered, &rates);
        problem.assert_max_min(&rates);
    }

    /// Few capacities and demands, so that many are equal. The buffers of the first problem are
    /// used again for the second one.
    #[test]
    fn all_pairs_have_the_rates_of_their_matrix(problems in prop::collection::vec(sparse(), 1..3)) {
        let mut all = AllPairs::default();
        for Sparse { hosts, without, offered } in problems {
            let n = hosts.len() as u32;
            let pairs: Vec<(u32, u32)> = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)))
                .filter(|p| p.0 != p.1 && !without.contains(p)).collect();
            let matrix = |rate: &dyn Fn((u32, u32)) -> f64| -> Vec<Offered> {
                pairs.iter().map(|&p| Offered { source: p.0, destination: p.1, rate: rate(p) }).collect()
            };
            let asked = |p| offered.iter().find(|o| (o.source, o.destination) == p).map_or(0.0, |o| o.rate);
            all.leave_out(n, &without);
            let mut rates = vec![];
            all.demanded(&hosts, &offered, &mut rates);
            let given = |p| offered.iter().position(|o| (o.source, o.destination) == p).map_or(0.0, |at| rates[at]);
            for (p, want) in pairs.iter().zip(max_min_hosts(&hosts, &matrix(&asked))) {
                prop_assert_eq!(given(*p).to_bits(), want.to_bits(), "{:?}: {} instead of {}", p, given(*p), want);
            }
            let levels = all.unlimited(&hosts);
            for (p, want) in pairs.iter().zip(max_min_hosts(&hosts, &matrix(&|_| f64::INFINITY))) {
                let have = levels.rate(p.0, p.1);
                prop_assert_eq!(have.to_bits(), want.to_bits(), "{:?}: {} instead of {}", p, have, want);
                let (a, b) = (levels.sender(p.0), levels.receiver(p.1));
                prop_assert_eq!(have, if a.0 < b.0 { a.1 } else { b.1 });
            }
        }
    }

    /// Flows are added, removed and changed; rates are those of a new instance.
    #[test]
    fn kept_rates_are_those_from_nothing(problem in problems(), dice in prop::collection::vec(any::<u32>(), 0..60)) {
        let mut kept = MaxMin::new(problem.capacity.clone());
        let mut there: Vec<(u32, usize, f64)> = vec![];
        for d in dice {
            if problem.flows.is_empty() {
                break;
            }
            let f = (d >> 8) as usize % problem.flows.len();
            match d % 4 {
                0 if !there.is_empty() => {
                    let (name, ..) = there.swap_remove(f % there.len());
                    prop_assert!(kept.remove(name) && !kept.remove(name));
                }
                1 if !there.is_empty() => {
                    let at = f % there.len();
                    there[at].2 = if d & 4 == 0 { f64::INFINITY } else { f64::from(d >> 16) / 65536.0 };
                    prop_assert!(kept.set_demand(there[at].0, there[at].2));
                }
                _ => {
                    let demand = problem.flows.demand(f);
                    there.push((kept.add(problem.flows.path(f), problem.flows.weight(f), demand), f, demand));
                }
            }
            let mut flows = Flows::new();
            for &(_, f, demand) in &there {
                flows.push(problem.flows.path(f), problem.flows.weight(f), demand);
            }
            prop_assert_eq!(kept.len(), there.len());
            let expected = max_min(&problem.capacity, &flows);
            for (&(name, ..), want) in there.iter().zip(expected) {
                let have = kept.rates()[name as usize];
                prop_assert!((have - want).abs() <= ROUNDING * want, "{} instead of {}", have, want);
            }
        }
    }

    /// Holds for any prices. After convergence, no small shift from one flow to others gains (the
    /// optimum of a concave function).
    #[test]
    fn proportional_rates_never_exceed_links(problem in problems(), iterations in 0u32..20) {
        let mut prices = Proportional::new(problem.capacity.clone());
        let mut rates = vec![];
        prices.rates(&problem.flows, iterations, &mut rates);
        problem.assert_feasible(&rates);
    }
}

#[test]
fn incast_is_shared_evenly() {
    let offered: Vec<Offered> = (1..5).map(|source| Offered { source, destination: 0, rate: 1.0 }).collect();
    let scaled = scale_both(&Hosts::equal(5), &offered, 1e-6, 100);
    assert_eq!(scaled.rates, [0.25; 4]);
    assert_eq!((scaled.total, scaled.bound, scaled.rounds), (1.0, 1.0, 0));
    assert_eq!(max_min_hosts(&Hosts::equal(5), &offered), [0.25; 4]);
    assert_eq!(scale_down(&Hosts::equal(5), &offered), [0.25; 4]);
}

#[test]
fn what_can_not_be_filled_fades_out() {
    // 0 sends to 1 and 2, and 3 only to 1: 0 gives up 1, slowly.
    let offer = |source, destination| Offered { source, destination, rate: 1.0 };
    let offered = [offer(0, 1), offer(0, 2), offer(3, 1)];
    let scaled = scale_both(&Hosts::equal(4), &offered, 1e-3, 10_000);
    assert!(scaled.total > 1.998 && scaled.bound == 2.0, "{scaled:?}");
    assert!(scaled.rounds < 2000, "{scaled:?}");
    // Max-min rates are fair instead of maximal.
    let rates = max_min_hosts(&Hosts::equal(4), &offered);
    assert_eq!(rates, [0.5, 0.5, 0.5]);
}

#[test]
fn a_long_path_gets_a_third_of_two_links() {
    // The parking lot: max-min gives all flows a half; proportional fairness gives 1/3 to the flow
    // over both links.
    let mut flows = Flows::new();
    for path in [&[0, 1][..], &[0], &[1]] {
        flows.push(path, 1.0, f64::INFINITY);
    }
    assert_eq!(max_min(&[1.0, 1.0], &flows), [0.5; 3]);
    let (mut prices, mut rates) = (Proportional::new(vec![1.0, 1.0]), vec![]);
    let off = prices.rates(&flows, 200, &mut rates);
    assert!(off < 1e-9, "{off}");
    for (rate, want) in rates.iter().zip([1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]) {
        assert!((rate - want).abs() < 1e-9, "{rates:?}");
    }
}

#[test]
fn a_flow_without_links_gets_its_demand() {
    let mut flows = Flows::new();
    flows.push(&[], 1.0, 3.0);
    assert_eq!(max_min(&[], &flows), [3.0]);
    let mut kept = MaxMin::new(vec![1.0]);
    let (a, b) = (kept.add(&[], 1.0, 3.0), kept.add(&[0], 1.0, f64::INFINITY));
    assert_eq!((kept.rates()[a as usize], kept.rates()[b as usize]), (3.0, 1.0));
}

/// An own normalizer: max-min fairness, times a factor.
struct Scaled(RateParameters, f64);

impl Normalizer for Scaled {
    fn normalize(&mut self, flows: &Flows, given: &mut Vec<f64>) -> Result<(), OwnError> {
        assert!(given.is_empty());
        given.extend(max_min(&self.0.capacity, flows).iter().map(|rate| rate * self.1));
        Ok(())
    }
}

#[test]
fn own_rates_are_checked() {
    let link =
        LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
    let fabric = Fabric::leaf_spine(2, 4, 2, Switch::default(), link, link).unwrap();
    let offered: Vec<Offered> = (0..8)
        .map(|source| Offered { source, destination: (source + 4) % 8, rate: 1.0 })
        .chain([Offered { source: 0, destination: 1, rate: 0.25 }])
        .collect();
    let allocate = |rule: RateRule| {
        let mut given = vec![7.0];
        let result = RateAllocator::new(&fabric, rule).unwrap().allocate(&offered, &mut given);
        result.map(|()| given)
    };
    let own = |factor| RateRule::Own(Box::new(Scaled(RateParameters::of(&fabric).unwrap(), factor)));
    // Four hosts share two uplinks of their switch.
    let rates = allocate(RateNormalizer::MaxMin.into()).unwrap();
    assert_eq!((rates[1], rates[8]), (0.5, 0.25));
    assert_eq!(allocate(own(1.0)).unwrap(), rates);
    let wrong = |factor| allocate(own(factor)).unwrap_err().to_string();
    assert_eq!(wrong(1.25), "link 16 carries 2.5, more than its capacity of 2");
    assert_eq!(wrong(-1.0), "flow 0 has rate -0.5: a rate is finite and not negative");
    assert_eq!(wrong(f64::NAN), "flow 0 has rate NaN: a rate is finite and not negative");
}
