//! Tests of links over an oversubscribed tree: small plans by hand, and rules for all plans.

use proptest::prelude::*;
use timeplane_model::{Duration, Named, Rate};
use timeplane_schedule::flyways::{
    Duplex, Either, FlywayError, FlywayPlan, FlywayPlanner, FlywayPolicy, Link, LinkSet, Measured, Phases, Place,
    Ports, Request, Route, Traffic, Wired, evaluate,
};

/// Demand of pairs in GB.
fn traffic(racks: usize, pairs: &[(usize, usize, f64)]) -> Traffic {
    let mut bytes = vec![0; racks * racks];
    pairs.iter().for_each(|&(i, j, gb)| bytes[i * racks + j] = (gb * 1e9) as u64);
    Traffic::new(racks, bytes).unwrap()
}

fn flat(racks: usize) -> Wired {
    Wired::oversubscribed_racks(racks, 2).unwrap()
}

fn ports(racks: usize, ports: usize, gbps: u64) -> Ports {
    Ports::new(racks, ports, Rate::gbps(gbps), Duplex::Half).unwrap()
}

fn controller(policy: &str) -> FlywayPlanner {
    FlywayPlanner::new(FlywayPolicy::named(policy).unwrap().build())
}

fn planned(policy: &str, traffic: &Traffic, wired: &Wired, mut links: Ports) -> FlywayPlan {
    controller(policy).plan(&Request::new(traffic, wired), &mut links).unwrap()
}

fn near(found: Duration, seconds: f64) {
    assert!((found.as_secs_f64() / seconds - 1.0).abs() < 2e-3, "{found} where {seconds} s are right");
}

#[test]
fn one_hot_pair_by_hand() {
    // 10 GB over 10 Gb/s take 8 s, and 4 s over 20 Gb/s of hosts. With a link of 5 Gb/s they take
    // 80 / 15 s, two thirds of them by wire.
    let (t, w) = (traffic(3, &[(0, 1, 10.0)]), flat(3));
    for policy in ["straggler", "transit", "greedy", "greedy_direct"] {
        let plan = planned(policy, &t, &w, ports(3, 1, 5));
        near(plan.wired, 8.0);
        near(plan.unsubscribed, 4.0);
        near(plan.ctd, 80.0 / 15.0);
        assert_eq!((plan.links.len(), plan.routes.len()), (1, 1));
        assert!((plan.routes[0].share - 1.0 / 3.0).abs() < 1e-3);
        assert!((plan.relative_wired() - 2.0).abs() < 1e-9);
    }
}

#[test]
fn transit_by_hand() {
    // Every rack sends 2 GB to rack 0, whose downlink takes 4.8 s for 6 GB. A link of 10 Gb/s from
    // rack 1 takes rack 1's 2 GB directly. With transit it also takes some of the others', over
    // rack 1's downlink: 3 GB each way, 2.4 s, which 20 Gb/s of hosts take, too.
    let (t, w) = (traffic(4, &[(1, 0, 2.0), (2, 0, 2.0), (3, 0, 2.0)]), flat(4));
    near(planned("straggler", &t, &w, ports(4, 1, 10)).ctd, 3.2);
    let plan = planned("transit", &t, &w, ports(4, 1, 10));
    near(plan.ctd, 2.4);
    near(plan.unsubscribed, 2.4);
    let found = evaluate(&t, &w, &plan.links, &plan.routes).unwrap();
    assert!((found.bytes[&Place::Link(0)] / 3e9 - 1.0).abs() < 0.01);
    assert!((found.bytes[&Place::Downlink(1)] / 1e9 - 1.0).abs() < 0.02);
}

#[test]
fn a_core_is_relieved() {
    // 1:1 has four racks under 40 Gb/s of core: all four racks of one switch send 10 GB each
    // across. With 1:1 links gain nothing.
    let mut w = Wired::oversubscribed(8, 1).unwrap();
    let t = traffic(8, &[(0, 4, 10.0), (1, 5, 10.0), (2, 6, 10.0), (3, 7, 10.0)]);
    let plan = planned("greedy", &t, &w, ports(8, 1, 5));
    assert_eq!((plan.ctd, plan.links.len()), (plan.unsubscribed, 0));
    // A core of 20 Gb/s takes 16 s. Four links of 5 Gb/s carry as much in the same time: 8 s, as
    // for the uplinks.
    w.core.as_mut().unwrap().rate = Rate::gbps(20);
    let plan = planned("greedy", &t, &w, ports(8, 1, 5));
    near(plan.wired, 16.0);
    near(plan.ctd, 8.0);
    assert_eq!(plan.links.len(), 4);
}

#[test]
fn half_and_full_duplex() {
    let (t, w) = (traffic(2, &[(0, 1, 10.0), (1, 0, 10.0)]), flat(2));
    let both = |duplex| {
        let mut links = Ports::new(2, 1, Rate::gbps(10), duplex).unwrap();
        controller("greedy").plan(&Request::new(&t, &w), &mut links).unwrap().ctd
    };
    near(both(Duplex::Half), 80.0 / 15.0);
    near(both(Duplex::Full), 4.0);
}

#[test]
fn flyways_or_circuits() {
    // One circuit of 40 Gb/s, and radios of 5 Gb/s, for two hot pairs at different racks.
    let (t, w) = (traffic(4, &[(0, 1, 10.0), (2, 3, 10.0)]), flat(4));
    let circuits = Ports::new(4, 1, Rate::gbps(40), Duplex::Full).unwrap();
    let mut both = Either::new(ports(4, 1, 5), circuits).unwrap();
    let plan = controller("greedy").plan(&Request::new(&t, &w), &mut both).unwrap();
    near(plan.ctd, 4.0);
    let channel = Either::<Ports, Ports>::SECOND;
    assert!(plan.links.iter().all(|(l, _)| l.rate == Rate::gbps(40) && l.channel == channel));
    assert_eq!((both.first().left(0), both.second().left(0)), (1, 0));
    assert!(Either::new(ports(4, 1, 5), ports(3, 1, 5)).is_none());
    let (number, link) = both.links()[0];
    assert!(both.remove(number) && !both.remove(number));
    assert_eq!(both.second().left(link.a), 1);
}

#[test]
fn a_port_that_is_taken_is_exchanged() {
    // The standing link serves a pair with little to send; both of its racks have a hot partner.
    let (t, w) = (traffic(4, &[(0, 1, 0.1), (0, 2, 10.0), (3, 1, 10.0)]), flat(4));
    let standing = [Link { a: 0, b: 1, channel: 0, rate: Rate::gbps(10), duplex: Duplex::Half }];
    let request = Request { standing: &standing, keep: true, ..Request::new(&t, &w) };
    let plan = controller("greedy_direct").plan(&request, &mut ports(4, 1, 10)).unwrap();
    // 10.1 GB leave rack 0, half of them over each link.
    near(plan.ctd, 4.04);
    assert!(!plan.links.iter().any(|(l, _)| l.joins_as(&standing[0])));
}

#[test]
fn setup_is_charged() {
    // With 1 s of setup, x GB over the link: 1 + 1.6 x = 0.8 (10 - x), x = 2.9166, 5.667 s.
    let (t, w) = (traffic(2, &[(0, 1, 10.0)]), flat(2));
    let mut phases = Phases::new(controller("greedy"), w.clone(), ports(2, 1, 5), Duration::from_secs(1));
    let first = phases.next(&t).unwrap();
    near(first.plan.ctd, 5.6667);
    assert_eq!((first.kept, first.begun, first.ended), (0, 1, 0));
    let second = phases.next(&t).unwrap();
    near(second.plan.ctd, 80.0 / 15.0);
    assert_eq!((second.kept, second.begun, second.ended), (1, 0, 0));
    let third = phases.next(&traffic(2, &[])).unwrap();
    assert_eq!((third.plan.ctd, third.kept, third.ended), (Duration::ZERO, 0, 1));
    // A link that would come too late is not set up.
    let mut phases = Phases::new(controller("greedy"), w, ports(2, 1, 5), Duration::from_secs(8));
    let late = phases.next(&t).unwrap();
    assert_eq!((late.plan.ctd, late.plan.links.len()), (late.plan.wired, 0));
}

#[test]
fn racks_measure_in_turns() {
    // Without links, every pair has its turn within as many rounds as there are racks.
    for racks in [2, 5, 8] {
        let mut measured = Measured::none(ports(racks, 1, 5));
        let mut left = racks * (racks - 1) / 2;
        assert_eq!(measured.unknown(), left);
        assert_eq!(measured.offer(0, 1), None);
        for _ in 0..racks {
            measured.measure(&[]);
            // Nobody measures twice in a round.
            assert!(left - measured.unknown() <= racks / 2);
            left = measured.unknown();
        }
        assert_eq!((left, measured.rounds()), (0, racks as u64));
        let offer = measured.offer(0, 1).unwrap();
        let number = measured.add(&offer.link(0, 1)).unwrap();
        assert!(measured.offer(0, racks - 1).is_none() && measured.remove(number));
    }
    assert!(Measured::all(ports(3, 1, 5)).offer(0, 2).is_some());
}

#[test]
fn racks_with_links_measure_nothing() {
    let set = ports(4, 1, 5);
    let link = set.offer(0, 1).unwrap().link(0, 1);
    let mut measured = Measured::none(set);
    for _ in 0..40 {
        measured.measure(&[link]);
    }
    // 2 and 3 know each other. They know their patterns towards 0 and 1, which have not measured.
    assert!(measured.offer(2, 3).is_some());
    assert!([(0, 1), (0, 2), (1, 3)].iter().all(|&(a, b)| measured.offer(a, b).is_none()));
    assert_eq!(measured.unknown(), 5);
    // Each of them needs one turn more.
    (0..4).for_each(|_| measured.measure(&[]));
    assert_eq!(measured.unknown(), 0);
}

#[test]
fn racks_that_others_keep_from_measuring_have_their_turn() {
    // A set in which one link at most is up.
    #[derive(Clone)]
    struct One(Ports);
    impl LinkSet for One {
        fn racks(&self) -> usize {
            self.0.racks()
        }
        fn links(&self) -> Vec<(usize, Link)> {
            self.0.links()
        }
        fn offer(&self, a: usize, b: usize) -> Option<timeplane_schedule::flyways::Offer> {
            if self.links().is_empty() { self.0.offer(a, b) } else { None }
        }
        fn add(&mut self, link: &Link) -> Option<usize> {
            if self.links().is_empty() { self.0.add(link) } else { None }
        }
        fn remove(&mut self, number: usize) -> bool {
            self.0.remove(number)
        }
    }
    let mut measured = Measured::none(One(ports(8, 1, 5)));
    for _ in 0..8 * 4 {
        measured.measure(&[]);
    }
    assert_eq!(measured.unknown(), 0, "a pair in each round, so 4 passes are enough for 28 pairs");
}

#[test]
fn what_is_wrong_is_said() {
    let (t, w) = (traffic(3, &[(0, 1, 1.0)]), flat(3));
    let plan = |wired: &Wired, links: &mut Ports| controller("greedy").plan(&Request::new(&t, wired), links);
    assert_eq!(plan(&w, &mut ports(4, 1, 5)).unwrap_err().to_string(), "links of 4 racks beside traffic of 3");
    assert_eq!(plan(&flat(2), &mut ports(3, 1, 5)).unwrap_err().to_string(), "a tree of 2 racks beside traffic of 3");
    let none = Wired { uplink: Rate::ZERO, ..w.clone() };
    assert!(matches!(plan(&none, &mut ports(3, 1, 5)), Err(FlywayError::NoRate { what: "uplink", .. })));
    let mut used = ports(3, 1, 5);
    let offer = used.offer(0, 1).unwrap();
    used.add(&offer.link(0, 1)).unwrap();
    assert_eq!(plan(&w, &mut used), Err(FlywayError::NotEmpty { found: 1 }));
    let request = Request { setup: Duration::from_ps(-1), ..Request::new(&t, &w) };
    assert_eq!(controller("greedy").plan(&request, &mut ports(3, 1, 5)), Err(FlywayError::Setup));

    let link = (Link { a: 0, b: 1, channel: 0, rate: Rate::gbps(1), duplex: Duplex::Half }, Duration::ZERO);
    let evaluated = |routes: &[Route]| evaluate(&t, &w, &[link, link], routes).map(|_| ());
    let route = |from, to, link, share| Route { from, to, link, share };
    assert_eq!(evaluated(&[route(0, 1, 0, 0.5), route(0, 1, 1, 0.5)]), Ok(()));
    for wrong in [route(1, 1, 0, 0.5), route(0, 3, 0, 0.5), route(0, 1, 2, 0.5)] {
        assert!(matches!(evaluated(&[wrong]), Err(FlywayError::Route { .. })), "{wrong:?}");
    }
    assert!(matches!(evaluated(&[route(0, 1, 0, 0.5); 2]), Err(FlywayError::Route { .. })));
    assert!(matches!(evaluated(&[route(0, 1, 0, 0.7), route(0, 1, 1, 0.5)]), Err(FlywayError::Share { .. })));
    assert!(matches!(evaluated(&[route(0, 1, 0, f64::NAN)]), Err(FlywayError::Share { .. })));
}

/// Traffic with hot pairs, a tree, and ports.
fn cases() -> impl Strategy<Value = (Traffic, Wired, usize, u64, Duplex)> {
    (2usize..9, 1u32..4, any::<bool>(), 1usize..4, 1u64..12, any::<bool>()).prop_flat_map(
        |(racks, factor, core, ports, gbps, full)| {
            let mut wired = Wired::oversubscribed_racks(racks, factor).unwrap();
            if core {
                wired = Wired::oversubscribed(racks, factor).unwrap();
                wired.core.as_mut().unwrap().racks_per_aggregation = 2;
                wired.core.as_mut().unwrap().rate = Rate::gbps(10);
            }
            let cell = prop_oneof![3 => Just(0u64), 3 => 0u64..1_000_000, 1 => 0u64..10_000_000_000];
            let duplex = if full { Duplex::Full } else { Duplex::Half };
            prop::collection::vec(cell, racks * racks).prop_map(move |mut bytes| {
                (0..racks).for_each(|i| bytes[i * racks + i] = 0);
                (Traffic::new(racks, bytes).unwrap(), wired.clone(), ports, gbps, duplex)
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn plans_keep_to_the_rules((t, w, k, gbps, duplex) in cases()) {
        for policy in FlywayPolicy::all().iter().map(|p| p.name()) {
            let mut links = Ports::new(w.racks, k, Rate::gbps(gbps), duplex).unwrap();
            let plan = controller(policy).plan(&Request::new(&t, &w), &mut links).unwrap();
            prop_assert!(plan.ctd <= plan.wired && plan.ctd >= plan.unsubscribed, "{plan:?}");
            let up: Vec<Link> = links.links().into_iter().map(|(_, link)| link).collect();
            prop_assert_eq!(&plan.links.iter().map(|(l, _)| *l).collect::<Vec<_>>(), &up);
            for rack in 0..w.racks {
                let ends = up.iter().filter(|l| l.other(rack).is_some()).count();
                prop_assert!(ends + links.left(rack) == k);
            }
            // The definition agrees, and every byte arrives: what goes down to a rack, or ends a
            // link there, less the transit that leaves it, is what the rack receives.
            let found = evaluate(&t, &w, &plan.links, &plan.routes).unwrap();
            prop_assert_eq!(found.ctd, plan.ctd);
            let direct = policy == "straggler" || policy == "greedy_direct";
            for rack in 0..w.racks {
                let at = |place| found.bytes.get(&place).copied().unwrap_or(0.0);
                let (mut arrives, mut leaves) = (at(Place::Downlink(rack)), at(Place::Uplink(rack)));
                for route in &plan.routes {
                    let link = &plan.links[route.link].0;
                    let bytes = t.get(route.from, route.to).get() as f64 * route.share;
                    prop_assert!(!direct || link.other(route.from) == Some(route.to));
                    let start = if link.other(route.from).is_some() { route.from } else { link.other(route.to).unwrap() };
                    if start == rack { leaves += bytes }
                    if link.other(start) == Some(rack) { arrives += bytes }
                }
                let sum = |of: &dyn Fn(usize) -> u64| (0..w.racks).map(of).sum::<u64>() as f64;
                let (out, in_) = (sum(&|j| t.get(rack, j).get()), sum(&|i| t.get(i, rack).get()));
                let total = out.max(in_).max(1.0);
                prop_assert!(((arrives - in_) - (leaves - out)).abs() <= 1e-6 * (total + arrives));
                prop_assert!(arrives >= in_ * (1.0 - 1e-6) && leaves >= out * (1.0 - 1e-6));
            }
            // The same inputs give the same plan.
            let mut again = Ports::new(w.racks, k, Rate::gbps(gbps), duplex).unwrap();
            prop_assert_eq!(controller(policy).plan(&Request::new(&t, &w), &mut again).unwrap(), plan);
        }
    }

    #[test]
    fn scaling_bytes_scales_time((t, w, k, gbps, duplex) in cases()) {
        let many: Vec<u64> = (0..w.racks * w.racks).map(|c| t.get(c / w.racks, c % w.racks).get() * 1024).collect();
        let many = Traffic::new(w.racks, many).unwrap();
        let ctd = |t: &Traffic| {
            let mut links = Ports::new(w.racks, k, Rate::gbps(gbps), duplex).unwrap();
            controller("greedy").plan(&Request::new(t, &w), &mut links).unwrap().ctd.as_ps() as f64
        };
        let (one, other) = (ctd(&t), ctd(&many));
        prop_assert!((other - 1024.0 * one).abs() <= 1e-3 * other + 4096.0, "{one} {other}");
    }
}
