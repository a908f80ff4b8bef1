//! Tests of the flyway controller with radios: accepted links are feasible by the definition, on
//! random layouts and the published one.

use proptest::prelude::*;
use timeplane_model::{Bytes, Duration, Named, Rate, mix64};
use timeplane_protocol::{Pointing, RadioLinks};
use timeplane_radio::{
    AntennaName, FLYWAYS_DRAFT, Field, Flyway, FlywayRules, Layout, LinkBudget, Rack, bundled, first_infeasible,
};
use timeplane_schedule::flyways::{
    Duplex, FlywayPlan, FlywayPlanner, FlywayPolicy, Link, LinkSet, Measured, Request, Traffic, Wired, evaluate,
};

fn field(layout: &Layout, antenna: &str) -> Field {
    Field::new(layout, AntennaName::named(antenna).unwrap().antenna(), &LinkBudget::default())
}

fn plan(policy: &str, t: &Traffic, w: &Wired, field: &Field, rules: &FlywayRules) -> (FlywayPlan, Vec<Flyway>) {
    let mut links = RadioLinks::new(field, rules.clone());
    let controller = FlywayPlanner::new(FlywayPolicy::named(policy).unwrap().build());
    let plan = controller.plan(&Request::new(t, w), &mut links).unwrap();
    let ways: Vec<Flyway> = links.flyways().iter().map(|(_, way)| way).collect();
    let rates: Vec<Rate> = ways.iter().map(|w| w.mcs.rate()).collect();
    assert_eq!(plan.links.iter().map(|(l, _)| l.rate).collect::<Vec<_>>(), rates);
    (plan, ways)
}

fn keeps_to_the_rules(plan: &FlywayPlan, ways: &[Flyway], t: &Traffic, w: &Wired, field: &Field, rules: &FlywayRules) {
    assert_eq!(first_infeasible(field, rules, ways), None);
    for rack in 0..w.racks {
        let mut channels: Vec<usize> = ways.iter().filter(|x| x.a == rack || x.b == rack).map(|x| x.channel).collect();
        let ends = channels.len();
        channels.sort_unstable();
        channels.dedup();
        assert!(ends <= rules.radios && channels.len() == ends);
    }
    assert!(plan.unsubscribed <= plan.ctd && plan.ctd <= plan.wired);
    assert_eq!(evaluate(t, w, &plan.links, &plan.routes).unwrap().ctd, plan.ctd);
}

#[test]
fn radios_offer_what_flyways_do() {
    let layout = Layout::new(Rack::default(), &[(0.0, 0.0), (3.0, 0.0), (0.0, 30.0), (3.0, 30.0)]).unwrap();
    let field = field(&layout, "narrow_beam");
    let mut links = RadioLinks::new(&field, FlywayRules { channels: 1, ..FlywayRules::default() });
    let offer = links.offer(0, 1).unwrap();
    assert_eq!((offer.channel, offer.duplex), (0, Duplex::Half));
    assert_eq!(offer.rate, Rate::bps(6_756_750_000));
    let number = links.add(&offer.link(0, 1)).unwrap();
    assert_eq!(links.links(), [(number, offer.link(0, 1))]);
    assert_eq!(links.offer(1, 2), None);
    // An unknown rate, and a duplex that radios do not have.
    let odd = Link { rate: Rate::gbps(1), ..offer.link(2, 3) };
    assert_eq!(links.add(&odd), None);
    assert_eq!(links.add(&Link { duplex: Duplex::Full, ..offer.link(2, 3) }), None);
    assert!(links.remove(number) && !links.remove(number) && links.links().is_empty());
}

#[test]
fn racks_that_would_disturb_a_link_do_not_measure() {
    let layout = Layout::new(Rack::default(), &[(0.0, 0.0), (3.0, 0.0), (6.0, 0.0), (9.0, 0.0)]).unwrap();
    // In a row, so that rack 3 points at rack 2 and at rack 0 behind it.
    let field = field(&layout, "narrow_beam");
    let rules = FlywayRules { channels: 1, ..FlywayRules::default() };
    let radios = RadioLinks::new(&field, rules.clone());
    let link = radios.offer(0, 1).unwrap().link(0, 1);
    let mut using = radios.clone();
    using.add(&link).unwrap();
    assert_eq!(using.offer(2, 3), None, "the other pair disturbs this link");
    let known = |up: &[Link], radios: RadioLinks<_>| {
        let mut measured = Measured::none(radios);
        (0..8).for_each(|_| measured.measure(up));
        measured.offer(2, 3).is_some()
    };
    assert!(!known(&[link], radios.clone()) && known(&[], radios));
    // On another channel it disturbs nobody.
    let radios = RadioLinks::new(&field, FlywayRules { channels: 2, ..rules });
    assert!(known(&[link], radios));
}

#[test]
fn beams_take_time() {
    // 36 sectors of each end, feedback and its answer: more than a millisecond. By wire only
    // steering takes time.
    let trained = Pointing::Trained { mac: &FLYWAYS_DRAFT, sectors: 36 }.takes();
    assert_eq!(trained, FLYWAYS_DRAFT.beam_training(36, 36));
    assert!(trained > Duration::from_ms(1) && trained < Duration::from_ms(2));
    assert_eq!(Pointing::Coordinated { steering: Duration::from_us(1) }.takes(), Duration::from_us(1));
}

#[test]
fn a_hot_rack_in_the_published_layout() {
    let layout = Layout::parse("racks_160.csv", bundled::RACKS_160, Rack::default()).unwrap();
    let field = field(&layout, "narrow_beam");
    let w = Wired::oversubscribed_racks(160, 2).unwrap();
    // Forty racks send 1 GB each to rack 5, and as many others 0.2 GB to various racks.
    let mut bytes = vec![0; 160 * 160];
    for i in 0..40 {
        bytes[(20 + i) * 160 + 5] = 1_000_000_000;
        bytes[(70 + i) * 160 + (mix64(i as u64) % 60) as usize] += 200_000_000;
    }
    let t = Traffic::new(160, bytes).unwrap();
    let relative: Vec<f64> = ["straggler", "transit", "greedy"]
        .map(|policy| {
            let rules = FlywayRules::default();
            let (plan, ways) = plan(policy, &t, &w, &field, &rules);
            keeps_to_the_rules(&plan, &ways, &t, &w, &field, &rules);
            plan.relative()
        })
        .to_vec();
    // One link of 6.76 Gb/s in addition to 10 Gb/s. With transit, 40 GB take 32 s · 10 / 16.76; its
    // own pair is a fortieth of them.
    assert!((relative[1] - 2.0 * 10.0 / 16.756_75).abs() < 0.02, "{relative:?}");
    assert!((relative[2] - 2.0 * 10.0 / 16.756_75).abs() < 0.02, "{relative:?}");
    assert!((relative[0] - 2.0 * 39.0 / 40.0).abs() < 0.01, "{relative:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn accepted_sets_are_feasible(
        seed in any::<u64>(), racks in 3usize..12, radios in 1usize..4, channels in 1usize..4, antenna in 0usize..3,
        hot in 1usize..6, core in any::<bool>(),
    ) {
        let draw = |k: u64, below: u64| mix64(seed ^ mix64(k)) % below;
        let places: Vec<(f64, f64)> = (0..racks)
            .map(|r| ((r % 4) as f64 * 2.5 + draw(r as u64, 100) as f64 / 100.0, (r / 4) as f64 * 6.0))
            .collect();
        let layout = Layout::new(Rack::default(), &places).unwrap();
        let field = field(&layout, AntennaName::all()[antenna].name());
        let mut bytes: Vec<u64> = (0..racks * racks).map(|c| draw(1000 + c as u64, 50_000_000)).collect();
        for h in 0..hot as u64 {
            bytes[draw(2000 + h, (racks * racks) as u64) as usize] = 1_000_000_000 + draw(3000 + h, 9_000_000_000);
        }
        (0..racks).for_each(|i| bytes[i * racks + i] = 0);
        let t = Traffic::new(racks, bytes).unwrap();
        let mut w = Wired::oversubscribed_racks(racks, 2).unwrap();
        if core {
            w = Wired::oversubscribed(racks, 1).unwrap();
            w.core.as_mut().unwrap().rate = Rate::gbps(15);
        }
        let rules = FlywayRules { radios, channels, ..FlywayRules::default() };
        for policy in FlywayPolicy::all().iter().map(|p| p.name()) {
            let (found, ways) = plan(policy, &t, &w, &field, &rules);
            keeps_to_the_rules(&found, &ways, &t, &w, &field, &rules);
            prop_assert_eq!(plan(policy, &t, &w, &field, &rules), (found, ways));
        }
        prop_assert!(t.pairs().map(|(_, _, b)| b).sum::<Bytes>() > Bytes::ZERO);
    }
}
