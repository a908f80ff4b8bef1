//! Tests of RotorLB: its rules, and its throughput against the authors' rack-level model.

use proptest::prelude::*;
use timeplane_schedule::rotor::lb::{Network, Offer, Rack, fair_share};
use timeplane_schedule::rotor::matchings::random_factorization;
use timeplane_schedule::rotor::{RackMatching, RotorSchedule, Stepping};

fn shares(wants: &[u64], capacity: u64) -> Vec<u64> {
    let mut shares = vec![9];
    fair_share(wants, capacity, &mut shares);
    shares
}

#[test]
fn shares_are_fair() {
    assert_eq!(shares(&[5, 1, 9], 20), [5, 1, 9]);
    assert_eq!(shares(&[5, 1, 9], 9), [4, 1, 4]);
    assert_eq!(shares(&[5, 1, 9], 11), [5, 1, 5]);
    assert_eq!(shares(&[7, 0, 7, 7], 8), [3, 0, 3, 2]);
    assert_eq!(shares(&[7, 7, 7], 2), [1, 1, 0]);
    assert_eq!(shares(&[7, 7], 0), [0, 0]);
    assert_eq!(shares(&[], 3), [0; 0]);
    assert_eq!(shares(&[u64::MAX, 1], u64::MAX), [u64::MAX - 1, 1]);
}

#[test]
fn a_rack_sends_relayed_bytes_first_and_offers_the_rest() {
    let mut rack = Rack { local: vec![0, 50, 30], relayed: vec![0, 80, 0] };
    let sent = rack.send(1, 100);
    assert_eq!((sent.relayed, sent.direct), (80, 20));
    assert_eq!(rack, Rack { local: vec![0, 30, 30], relayed: vec![0, 0, 0] });
    assert_eq!(rack.send(2, 100).direct, 30);
    assert_eq!(rack.offer(70), Offer { bytes: vec![0, 30, 0], room: 70 });
    assert_eq!(rack.send_accepted(&[0, 40, 0]), [0, 30, 0]);
    assert_eq!(rack.backlog(), 0);
}

#[test]
fn a_rack_accepts_what_fits_into_a_link_slot() {
    // It holds 40 of 100 for rack 1 and more than enough for rack 3.
    let rack = Rack { local: vec![0, 30, 0, 200], relayed: vec![0, 10, 0, 0] };
    let offers = [Offer { bytes: vec![0, 500, 20, 500], room: 100 }, Offer { bytes: vec![0, 500, 0, 0], room: 10 }];
    // The first would share 80 and 20; the space of 60 is shared as 50 and 10.
    assert_eq!(rack.accept(&offers, 100), [[0, 50, 20, 0], [0, 10, 0, 0]]);
    assert!(rack.accept(&[], 100).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn shares_are_max_min_fair(wants in prop::collection::vec(0u64..50, 0..9), capacity in 0u64..200) {
        let shares = shares(&wants, capacity);
        prop_assert_eq!(shares.iter().sum::<u64>(), capacity.min(wants.iter().sum()));
        for (i, share) in shares.iter().enumerate() {
            prop_assert!(*share <= wants[i]);
            // Who has less than wanted has, up to one, as much as everybody.
            prop_assert!(*share == wants[i] || shares.iter().all(|other| *other <= share + 1), "{:?}", shares);
        }
    }

    /// No byte is lost, no circuit carries more than a link-slot, and a rack holds at most a
    /// link-slot of relayed bytes for a destination.
    #[test]
    fn a_slice_keeps_all_limits(
        racks in 2u32..7,
        uplinks in 1u32..3,
        seed: u64,
        demand in prop::collection::vec(0u64..300, 49),
        link_slot in 0u64..100,
    ) {
        let matchings = random_factorization(racks, 1, seed).unwrap();
        let schedule = RotorSchedule::spread(&matchings, uplinks.min(racks), Stepping::Together).unwrap();
        let n = racks as usize;
        let row = |i: usize| (0..n).map(|j| if i == j { 0 } else { demand[i * 7 + j] }).collect();
        let mut network = Network::new((0..n).map(row).collect());
        let backlog = |network: &Network| network.racks.iter().map(Rack::backlog).sum::<u64>();
        let (mut slice, mut idle) = (0, 0);
        while idle < schedule.slices() {
            let before = backlog(&network);
            let totals = network.step(&schedule, slice, link_slot);
            prop_assert_eq!(before - backlog(&network), totals.delivered());
            let circuits: u64 = (0..racks).map(|rack| schedule.circuits(slice, rack).count() as u64).sum();
            prop_assert!(totals.delivered() + totals.spread <= circuits * link_slot);
            for rack in &network.racks {
                prop_assert!(rack.relayed.iter().all(|bytes| *bytes <= link_slot));
            }
            idle = if totals.delivered() + totals.spread == 0 { idle + 1 } else { 0 };
            slice += 1;
        }
        // Circuits that do nothing for a cycle have nothing to do.
        prop_assert!(link_slot == 0 || backlog(&network) == 0);
    }
}

/// The rack-level model with its switches. Shares are rounded to bytes, so a link-slot has many
/// bytes.
struct Model {
    schedule: RotorSchedule,
    link_slot: u64,
}

impl Model {
    /// In slice a, every rack is connected to those whose number differs by one of some masks. Each
    /// mask is a switch; 0 connects nobody. Crossover a (from 1) reverses the order within blocks
    /// of 2^a racks, which is a mask of a ones. Switch 0 shows crossover a in slice a; the others
    /// apply a product of crossovers as well.
    fn new(racks: u32, slices: u32, products: &[&[u32]], link_slot: u64) -> Self {
        let ones = |a: u32| (1 << a) - 1;
        let mask = |a: u32, product: &[u32]| product.iter().fold(ones(a), |mask, &b| mask ^ ones(b));
        let matching = |mask: u32| {
            let to: Vec<_> = (0..racks).map(|rack| Some(rack ^ mask)).collect();
            RackMatching::new(&to).unwrap()
        };
        let row = |a: u32| [&[][..]].iter().chain(products).map(|p| matching(mask(a, p))).collect();
        let schedule = RotorSchedule::new(&(1..=slices).map(row).collect::<Vec<Vec<_>>>()).unwrap();
        schedule.check_all_meet().unwrap();
        Self { schedule, link_slot }
    }

    /// 16 racks, 4 switches, 4 slices.
    fn small() -> Self {
        Self::new(16, 4, &[&[1, 2, 3], &[1, 2, 3, 4], &[4]], 1 << 40)
    }

    /// 256 racks, 32 switches, 8 slices.
    fn large() -> Self {
        Self::new(256, 8, &LARGE, 1 << 36)
    }

    /// What a rack can send in a slice.
    fn rack(&self) -> u64 {
        self.link_slot * u64::from(self.schedule.uplinks())
    }

    /// A demand of `amount` where `has` says so.
    fn demand(&self, amount: u64, has: impl Fn(u64, u64) -> bool) -> Vec<Vec<u64>> {
        let racks = u64::from(self.schedule.racks());
        (0..racks).map(|i| (0..racks).map(|j| u64::from(i != j && has(i, j)) * amount).collect()).collect()
    }

    /// A demand between scattered pairs. A formula, so that any program can make the same one.
    fn scattered(&self, amount: u64, permille: u64) -> Vec<Vec<u64>> {
        let racks = u64::from(self.schedule.racks());
        self.demand(amount, |i, j| {
            let k = i * racks + j + 1;
            ((k * k * 48271 % 65521) * 16807 + k * 69621) % 65521 % 1000 < permille
        })
    }

    /// Bytes delivered in each cycle, over what a rack can send in a cycle.
    fn throughput(&self, demand: Vec<Vec<u64>>, cycles: u32) -> Vec<f64> {
        let (mut network, slices) = (Network::new(demand), self.schedule.slices());
        let sent = (self.rack() * u64::from(slices)) as f64;
        let mut slice = |slice: u32| network.step(&self.schedule, slice, self.link_slot).delivered();
        (0..cycles).map(|c| (c * slices..(c + 1) * slices).map(&mut slice).sum::<u64>() as f64 / sent).collect()
    }
}

/// The products of crossovers of the switches with 256 racks.
const LARGE: [&[u32]; 31] = [
    &[1, 2, 3],
    &[1, 4, 5],
    &[1, 6, 7],
    &[2, 4, 6],
    &[2, 5, 7],
    &[3, 4, 7],
    &[3, 5, 6],
    &[1, 2, 3, 4],
    &[1, 2, 5, 6],
    &[1, 2, 7, 8],
    &[1, 3, 5, 7],
    &[1, 3, 6, 8],
    &[1, 4, 5, 8],
    &[1, 4, 6, 7],
    &[2, 3, 5, 8],
    &[2, 3, 6, 7],
    &[2, 4, 5, 7],
    &[2, 4, 6, 8],
    &[3, 4, 5, 6],
    &[3, 4, 7, 8],
    &[5, 6, 7, 8],
    &[1, 2, 4, 7, 8],
    &[1, 2, 5, 6, 8],
    &[1, 3, 4, 6, 8],
    &[1, 3, 5, 7, 8],
    &[2, 3, 4, 5, 8],
    &[2, 3, 6, 7, 8],
    &[4, 5, 6, 7, 8],
    &[1, 2, 3, 4, 5, 6, 7],
    &[1, 2, 3, 4, 5, 6, 7, 8],
    &[8],
];

fn assert_close(name: &str, found: &[f64], expected: &[f64]) {
    let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-8);
    assert!(close && found.len() == expected.len(), "{name}: {found:.10?} for {expected:.10?}");
}

/// Throughput of all racks in four cycles, in units of what one rack sends. The numbers are ours.
/// They agree with those of the authors' rack-level model (`RotorLB.m` of figure 8a of the RotorNet
/// paper, run in GNU Octave 7.3 on the same demand and switches) to 1e-8.
#[test]
fn throughput_with_16_racks_is_that_of_the_authors_model() {
    let model = Model::small();
    let (plenty, few) = (1000 * model.rack(), model.rack() * 3 / 10);
    let close = |name: &str, demand, expected: [f64; 4]| {
        assert_close(name, &model.throughput(demand, 4), &expected);
    };
    close("one to all", model.demand(plenty, |i, _| i == 0), [0.9375, 0.9375, 0.9375, 0.9375]);
    close("to the fifth next", model.demand(plenty, |i, j| j == (i + 5) % 16), [4.875, 9.125, 7.5, 8.125]);
    close("7 flows", model.scattered(plenty, 40), [1.65625, 4.9375, 4.0, 4.375]);
    close("79 flows", model.scattered(plenty, 300), [7.855253802910, 9.653464244378, 9.496242492167, 9.505789495884]);
    close("all to all", model.scattered(plenty, 1000), [15.0, 15.0, 15.0, 15.0]);
    close("2 small flows", model.scattered(few, 4), [0.0, 0.15, 0.0, 0.0]);
    close("7 small flows", model.scattered(few, 40), [0.3, 0.225, 0.0, 0.0]);
    close("28 small flows", model.scattered(few, 100), [1.502083333333, 0.597916666667, 0.0, 0.0]);
}

/// Circuits of a rack with itself carry nothing: one slot of all slots of all switches.
#[test]
fn direct_circuits_carry_all_that_they_can() {
    let model = Model::large();
    let plenty = 1_000_000 * model.rack();
    assert_eq!(model.throughput(model.scattered(plenty, 1000), 2), [255.0, 255.0]);
}

/// As with 16 racks, but over two cycles.
#[test]
fn throughput_with_256_racks_is_that_of_the_authors_model() {
    let model = Model::large();
    let found = model.throughput(model.scattered(1_000_000 * model.rack(), 1), 2);
    assert_close("72 flows", &found, &[27.423828125, 52.267578125]);
}
