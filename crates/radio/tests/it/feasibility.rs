//! Tests of sets of flyways: incremental sums against the definition, on random layouts and the
//! published one.

use proptest::prelude::*;
use timeplane_model::{Named, Rate};
use timeplane_radio::{
    Antenna, AntennaName, Db, Field, Flyway, FlywayRules, Flyways, Layout, LinkBudget, Mcs, Rack, Refusal, bundled,
    first_infeasible,
};

fn antenna(name: &str) -> Antenna {
    AntennaName::named(name).unwrap().antenna()
}

fn racks_160() -> Layout {
    Layout::parse("racks_160.csv", bundled::RACKS_160, Rack::default()).unwrap()
}

/// The fastest rate by the definition: every rate is tried, with all others in place.
fn by_definition(field: &Field, rules: &FlywayRules, up: &[Flyway], a: usize, b: usize, channel: usize) -> Option<Mcs> {
    let free = |rack| up.iter().filter(|w| w.a == rack || w.b == rack).count() < rules.radios;
    let clash = |rack| up.iter().any(|w| w.channel == channel && (w.a == rack || w.b == rack));
    if a == b || !free(a) || !free(b) || clash(a) || clash(b) {
        return None;
    }
    let fits = |m: &Mcs| {
        let mut all = up.to_vec();
        all.push(Flyway { a, b, channel, mcs: *m });
        first_infeasible(field, rules, &all).is_none()
    };
    rules.rates.iter().copied().filter(fits).max_by_key(|m| m.rate())
}

#[test]
fn one_link_by_hand() {
    // 20 m with the wide beam: 10 dBm + 2 · 9.5 dBi - 93.94 dB - 3 dB = -67.94 dBm, 2 dB below what
    // MCS 13 needs.
    let pair = |m: f64| Layout::new(Rack::default(), &[(0.0, 0.0), (m, 0.0)]).unwrap();
    let offer = |m, name| {
        let field = Field::new(&pair(m), antenna(name), &LinkBudget::default());
        Flyways::new(&field, FlywayRules::default()).offer(0, 1, 0).map(Mcs::name)
    };
    assert_eq!(offer(20.0, "wide_beam"), Err(Refusal::Weak));
    // The range of MCS 13 with this antenna is 15.99 m.
    assert_eq!(offer(15.9, "wide_beam"), Ok("13"));
    assert_eq!(offer(16.1, "wide_beam"), Err(Refusal::Weak));
    // -28.7 dBm with the narrow beam: every rate.
    assert_eq!(offer(20.0, "narrow_beam"), Ok("24"));
    // 3 m with Geo-fencing, 7.92 dBi: 10 + 15.84 - 77.47 - 3 = -54.6 dBm, enough for -56 dBm (MCS
    // 19), not for -54 dBm.
    assert_eq!(offer(3.0, "geofencing"), Ok("19"));
}

#[test]
fn refusals() {
    let places: Vec<_> = (0..6).map(|i| (f64::from(i) * 2.0, 0.0)).collect();
    let layout = Layout::new(Rack::default(), &places).unwrap();
    let field = Field::new(&layout, antenna("narrow_beam"), &LinkBudget::default());
    let mut ways = Flyways::new(&field, FlywayRules { channels: 1, ..FlywayRules::default() });
    assert_eq!(ways.offer(0, 6, 0), Err(Refusal::Unknown));
    assert_eq!(ways.offer(0, 1, 1), Err(Refusal::Unknown));
    assert_eq!(ways.offer(2, 2, 0), Err(Refusal::OneRack(2)));
    let (id, mcs) = ways.add(0, 5, 0).unwrap();
    assert_eq!(mcs.name(), "24");
    assert_eq!(ways.offer(1, 5, 0), Err(Refusal::NoRadio(5)));
    // On one line, antennas point at each other: a second link interferes, and suffers
    // interference, at full gain.
    assert!(matches!(ways.offer(1, 2, 0), Err(Refusal::Disturbs(_) | Refusal::Weak)));
    assert!(ways.remove(id) && !ways.remove(id));
    assert_eq!(ways.offer(1, 2, 0).map(Mcs::name), Ok("24"));

    let mut ways = Flyways::new(&field, FlywayRules { radios: 2, ..FlywayRules::default() });
    ways.add(0, 1, 0).unwrap();
    assert_eq!(ways.offer(0, 5, 0), Err(Refusal::OwnChannel(0)));
    assert!(ways.offer(0, 5, 1).is_ok());
    assert_eq!(ways.radios_left(0), 1);
}

#[test]
fn slower_links_bear_more() {
    // Two links in parallel, 10 m long, side by side.
    let layout = Layout::new(Rack::default(), &[(0.0, 0.0), (10.0, 0.0), (0.0, 2.0), (10.0, 2.0)]).unwrap();
    let field = Field::new(&layout, antenna("narrow_beam"), &LinkBudget::default());
    let rules = FlywayRules { channels: 1, ..FlywayRules::default() };
    let mcs = |name: &str| name.parse::<Mcs>().unwrap();
    let mut greedy = Flyways::new(&field, rules.clone());
    assert_eq!(greedy.add(0, 1, 0).unwrap().1, mcs("24"));
    let second = greedy.offer(2, 3, 0);
    assert_eq!(second, Err(Refusal::Disturbs(0)));
    let mut modest = Flyways::new(&field, rules.clone());
    modest.add_at(0, 1, 0, mcs("13")).unwrap();
    let second = modest.add(2, 3, 0).unwrap().1;
    let up: Vec<_> = modest.iter().map(|(_, w)| w).collect();
    assert_eq!((up.len(), up[0].mcs), (2, mcs("13")));
    assert_eq!(first_infeasible(&field, &rules, &up), None);
    // By the definition the second could not be faster.
    assert_eq!(by_definition(&field, &rules, &up[..1], 2, 3, 0), Some(second));
    assert_eq!(modest.add_at(0, 1, 0, mcs("24")), Err(Refusal::NoRadio(0)));
    assert_eq!(Flyways::new(&field, rules).add_at(0, 1, 0, mcs("1")), Err(Refusal::Weak));
}

#[test]
fn three_channels_carry_three_links_where_one_carries_one() {
    let places: Vec<_> = (0..8).map(|i| (f64::from(i) * 2.0, 0.0)).collect();
    let layout = Layout::new(Rack::default(), &places).unwrap();
    let field = Field::new(&layout, antenna("narrow_beam"), &LinkBudget::default());
    let mut ways = Flyways::new(&field, FlywayRules::default());
    let added = ways.fill([(0, 7), (1, 6), (2, 5), (3, 4)], Rate::gbps(6));
    assert_eq!(added.len(), 3);
    let channels: Vec<_> = ways.iter().map(|(_, w)| w.channel).collect();
    assert_eq!(channels, [0, 1, 2]);
}

#[test]
fn the_published_layout_holds_many_links() {
    let layout = racks_160();
    // Candidates in an order unrelated to the layout.
    let mut candidates: Vec<_> = (0..160).flat_map(|a| (0..160).map(move |b| (a, b))).filter(|(a, b)| a != b).collect();
    assert_eq!(candidates.len(), 25_440);
    candidates.sort_by_key(|&(a, b)| timeplane_model::mix64((a * 160 + b) as u64));
    for (name, least) in [("narrow_beam", 25), ("wide_beam", 5), ("geofencing", 5)] {
        let field = Field::new(&layout, antenna(name), &LinkBudget::default());
        for radios in [1, 2] {
            let rules = FlywayRules { radios, ..FlywayRules::default() };
            let mut ways = Flyways::new(&field, rules.clone());
            let added = ways.fill(candidates.iter().copied(), Rate::ZERO);
            let up: Vec<_> = ways.iter().map(|(_, w)| w).collect();
            assert!(added.len() == up.len() && up.len() >= least && up.len() <= 80 * radios, "{name}: {}", up.len());
            assert_eq!(first_infeasible(&field, &rules, &up), None, "{name}");
            // Greedy filling leaves nothing that still fits.
            for &(a, b) in candidates.iter().step_by(97) {
                assert!(ways.best(a, b).is_err(), "{name}: {a} {b}");
            }
            let sinr: Vec<Db> = added.iter().map(|&id| ways.sinr(id).unwrap()).collect();
            for (way, sinr) in up.iter().zip(sinr) {
                assert!(sinr + Db::new(1e-9) >= way.mcs.sensitivity().unwrap() - rules.noise);
            }
        }
    }
}

fn layouts() -> impl Strategy<Value = Layout> {
    // On a grid, so that racks never overlap, with some places left out.
    prop::collection::btree_set((0u8..7, 0u8..6), 2..14).prop_map(|places| {
        let middles: Vec<_> = places.iter().map(|&(x, y)| (f64::from(x) * 0.7, f64::from(y) * 2.9)).collect();
        Layout::new(Rack::default(), &middles).unwrap()
    })
}

#[derive(Clone, Debug)]
enum Step {
    Add(usize, usize, usize),
    Best(usize, usize),
    Remove(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rack = || 0usize..14;
    prop::collection::vec(
        prop_oneof![
            4 => (rack(), rack(), 0usize..3).prop_map(|(a, b, c)| Step::Add(a, b, c)),
            2 => (rack(), rack()).prop_map(|(a, b)| Step::Best(a, b)),
            1 => (0usize..12).prop_map(Step::Remove),
        ],
        0..30,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// After any steps, offers are what the definition allows, and links that are up are feasible.
    #[test]
    fn offers_are_those_of_the_definition(
        layout in layouts(), steps in steps(), which in 0usize..3, radios in 1usize..3, channels in 1usize..4, headroom in 0.0..3.0f64,
    ) {
        let field = Field::new(&layout, AntennaName::all()[which].antenna(), &LinkBudget::default());
        let rules = FlywayRules { radios, channels, headroom: Db::new(headroom), ..FlywayRules::default() };
        let mut ways = Flyways::new(&field, rules.clone());
        let n = layout.racks();
        for step in steps {
            let up: Vec<_> = ways.iter().map(|(_, w)| w).collect();
            match step {
                Step::Add(a, b, channel) => {
                    let (a, b) = (a % n, b % n);
                    let expected = if channel < channels { by_definition(&field, &rules, &up, a, b, channel) } else { None };
                    prop_assert_eq!(ways.offer(a, b, channel).ok(), expected);
                    prop_assert_eq!(ways.add(a, b, channel).ok().map(|l| l.1), expected);
                }
                Step::Best(a, b) => {
                    let (a, b) = (a % n, b % n);
                    let offers: Vec<_> = (0..channels).map(|c| by_definition(&field, &rules, &up, a, b, c)).collect();
                    let fastest = offers.iter().flatten().map(|m| m.rate()).max();
                    let best = ways.best(a, b).ok();
                    prop_assert_eq!(best.map(|o| o.1.rate()), fastest);
                    if let Some((channel, mcs)) = best { prop_assert_eq!(offers[channel], Some(mcs)); }
                }
                Step::Remove(id) => {
                    let there = ways.iter().any(|(i, _)| i == id);
                    prop_assert_eq!(ways.remove(id), there);
                }
            }
            let up: Vec<_> = ways.iter().map(|(_, w)| w).collect();
            prop_assert_eq!(first_infeasible(&field, &rules, &up), None);
            // Removed and rebuilt in the same order, links leave no rounding error behind.
            for (a, b) in (0..n).map(|a| (a, (a + 1) % n)) {
                prop_assert_eq!(ways.offer(a, b, 0).ok(), if a == b { None } else { by_definition(&field, &rules, &up, a, b, 0) });
            }
        }
    }
}
