//! Plans, rates and rules of the controller of circuits.
//!
//! Each test looks into one step of planning.

use super::*;
use proptest::prelude::*;
use timeplane_schedule::circuits::{CoverAll, RoundRobin, uptimes};
use timeplane_schedule::rates::{Hosts, Offered, max_min_hosts};

const PERIOD: Duration = Duration::from_us(3000);

fn controller(limits: bool, unreported: f64) -> CircuitController {
    let circuits = CircuitParameters {
        circuit: Rate::bps(100_000_000_000 - if limits { (1e10 * (unreported + SLACK)) as u64 } else { 0 }),
        packet: Rate::gbps(10),
        dark: Duration::from_us(20),
        retune: Retune::AllStop,
        least_open: Duration::from_us(20),
        window: PERIOD,
        most: u32::MAX,
    };
    let config = CircuitControllerConfig {
        epoch: 0,
        start: Time::ZERO,
        circuits,
        line: Rate::gbps(100),
        circuit: Rate::gbps(100),
        limits,
        acknowledgements: 0.0,
        unreported,
        links: (0..4).map(|h| LinkId(2 * h)).collect(),
        racks: (0..4).collect(),
        packet_uplinks: (0..4).map(|r| vec![LinkId(8 + 2 * r)]).collect(),
        circuit_uplinks: (0..4).map(|r| vec![LinkId(16 + 2 * r)]).collect(),
        control_latency: Duration::ZERO,
        compute_time: Duration::ZERO,
        stop: Duration::from_us(5),
        open_lead: Duration::from_us(1),
        margin: Duration::from_us(1),
    };
    CircuitController::new(config, Box::new(CoverAll::new()))
}

/// Host 0 has 90 Gb/s for host 1 and 4 Gb/s for host 2.
fn demand() -> Demand {
    let mut demand = Demand::none(4);
    let entry = |to, rate: Rate| BacklogEntry { destination: HostId(to), bytes: rate.bytes_in(PERIOD), arrived: None };
    demand.set_row(HostId(0), Backlog::new(vec![entry(1, Rate::gbps(90)), entry(2, Rate::gbps(4))]));
    demand
}

fn rates_of(controller: &CircuitController, demand: &Demand, ups: &[Uptime]) -> PacketRates {
    let mut packets = PacketRates::default();
    controller.set_packet_rates(&mut packets, demand, ups);
    packets
}

/// The open time of the only configuration, the limit of host 0 to send, and its rates to hosts
/// 2 and 3.
fn planned(limits: bool, unreported: f64) -> (Duration, Rate, [Rate; 2]) {
    let mut controller = controller(limits, unreported);
    let demand = demand();
    let parameters = controller.config.parameters();
    let plan = controller.scheduler.plan(&demand, &parameters, None).unwrap();
    assert_eq!(plan.len(), 1);
    let ups = uptimes(&plan, &parameters, None);
    let packets = rates_of(&controller, &demand, &ups);
    let [send, receive] = controller.limits(&packets);
    assert_eq!(controller.check(&ups, &packets, &[send.clone(), receive]), Ok(()));
    let to = |h| packets.get(HostId(0), HostId(h));
    (plan[0].open, send[0], [to(2), to(3)])
}

#[test]
fn a_circuit_beside_packets_stays_open_for_as_long_as_its_slower_pace_takes() {
    // 90 % of the period's line time at 90 % of the line rate fill the period except for the
    // dark time.
    assert_eq!(planned(true, 1.0).0, PERIOD - Duration::from_us(20));
    let open = planned(false, 1.0).0;
    assert!(open <= Duration::from_us(2700) && open > Duration::from_us(2699), "{open}");
}

#[test]
fn circuits_get_what_is_not_kept_open_for_packets() {
    let mut last = Rate::gbps(100);
    for unreported in [0.0, 0.5, 1.0] {
        let (_, send, [reported, other]) = planned(true, unreported);
        // Reported demand gets its rate, whatever else may arrive.
        assert!(reported >= Rate::bps(3_999_999_000), "{reported}");
        // The line is shared to the last bit, except for the slack.
        let together = send.as_bps() + reported.as_bps() + other.as_bps() + 200_000_000;
        assert!(together.abs_diff(100_000_000_000) <= 2, "{together}");
        assert!(send < last, "{unreported}: {send}");
        last = send;
    }
    assert_eq!(planned(true, 0.0).2[1], Rate::ZERO);
    assert_eq!(planned(false, 1.0).1, Rate::gbps(100));
}

/// Whatever `unreported` keeps open, configurations last as long as their demands take at the rates
/// that circuits have beside packets.
#[test]
fn configurations_count_on_the_rates_that_circuits_have() {
    // 85 and 11.5 Gb/s need circuits; 6 Gb/s fit into the packet switch.
    let mut demand = Demand::none(4);
    let gbps = [(1, 85_000), (2, 11_500), (3, 6_000)].map(|(to, mbps)| (HostId(to), Rate::mbps(mbps)));
    demand.set_row(HostId(0), Backlog::of_bytes(gbps.iter().map(|&(to, rate)| (to, rate.bytes_in(PERIOD)))));
    // 100 Gb/s without the slack, the 6 Gb/s, and a third of what host 3 keeps for all senders.
    for (unreported, expected) in [(0.0, 93.8e9), (0.5, 93.8e9 - 2e9 / 3.0)] {
        let mut controller = controller(true, unreported);
        let period = controller.schedule(&demand, &mut PacketRates::default()).unwrap();
        let [large, small] = &period.plan[..] else { panic!("{:?}", period.plan) };
        let rate = period.rate(&period.ups[0]);
        assert!((rate.as_bps() as f64 - expected).abs() < 10.0, "{unreported}: {rate}");
        let time = rate.time_for(gbps[1].1.bytes_in(PERIOD));
        assert!((small.open - time).as_ps().abs() < 1000, "{unreported}: {} for {time}", small.open);
        // The large demand has the rest of the period.
        assert_eq!(large.length() + small.length(), PERIOD, "{unreported}");
    }
}

/// A scheduler that ignores demand fills each period, also when nothing is reported, and goes on
/// where it was.
#[test]
fn fixed_schedules_are_kept_up_without_demand() {
    let scheduler = Box::new(RoundRobin::new(Some(PERIOD - Duration::from_us(20))));
    let mut controller = CircuitController { scheduler, ..controller(true, 0.0) };
    for demand in [&Demand::none(4), &demand(), &Demand::none(4), &demand()].iter().zip([1, 2, 3, 1]) {
        let period = controller.schedule(demand.0, &mut PacketRates::default()).unwrap();
        let to: Vec<_> = period.plan.iter().map(|c| c.matching.outputs()[0]).collect();
        assert_eq!(to, [Some(HostId(demand.1))]);
    }
}

#[test]
fn a_broken_rule_is_named_with_its_hosts() {
    let controller = controller(true, 0.0);
    let limits = |gbps| [vec![Rate::gbps(gbps); 4], vec![Rate::gbps(gbps); 4]];
    let rates = |all: &[(u32, u32, u64)]| PacketRates::of(4, all.iter().map(|&(i, j, gbps)| (i, j, Rate::gbps(gbps))));
    let up = |source, destination, begin, end| Uptime {
        source: HostId(source),
        destination: HostId(destination),
        begin: Duration::from_us(begin),
        end: Duration::from_us(end),
    };
    let said = |ups: &[Uptime], packets: &[(u32, u32, u64)], gbps| {
        controller.check(ups, &rates(packets), &limits(gbps)).map_err(|e| e.to_string())
    };
    let ups = [up(0, 1, 20, 500), up(1, 2, 20, 1000), up(0, 3, 520, 3000)];
    assert_eq!(said(&ups, &[(0, 2, 5), (1, 0, 10)], 90), Ok(()));
    for (ups, packets, gbps, says) in [
        (
            &ups[..],
            &[(0, 2, 6), (3, 2, 5)][..],
            90,
            "host 2 receives packets at 11 Gb/s, and the packet switch carries 10 Gb/s",
        ),
        (&ups, &[(1, 0, 10)], 91, "host 1 sends packets at 10 Gb/s beside a circuit of 91 Gb/s, on a link of 100 Gb/s"),
        (&ups, &[(0, 3, 1)], 90, "host 0 has a circuit to host 3 and a rate of packets, too"),
        (
            &[up(0, 1, 20, 500), up(2, 1, 499, 900)],
            &[],
            90,
            "the circuit from host 2 to host 1 begins 499 us after the period does, while host 1 receives by another one until 500 us",
        ),
    ] {
        assert_eq!(said(ups, packets, gbps), Err(says.to_owned()));
    }
}

#[test]
fn a_refused_period_says_why() {
    let mut controller = controller(true, 0.0);
    controller.config.circuits.dark = PERIOD;
    let mut out = Vec::new();
    controller.plan(Time::ZERO, &mut out);
    let refused = out.iter().find_map(|o| match o {
        Output::Log(Event::PlanRefused { round, fault }) => Some((round.0, fault.to_string())),
        _ => None,
    });
    let why = "no circuits can be scheduled: a dark time of 3 ms leaves nothing of a window of 3 ms";
    assert_eq!(refused, Some((1, why.to_owned())));
}

/// Rates of packets pair by pair, as the definition has them.
fn simple_rates(controller: &CircuitController, demand: &Demand, ups: &[Uptime]) -> BTreeMap<(HostId, HostId), Rate> {
    let c = &controller.config;
    let hosts = c.racks.len() as u32;
    let capacity = c.circuits.packet.as_bps() as f64 * (1.0 - c.acknowledgements);
    let has_circuit = |i, j| ups.iter().any(|up| (up.source.0, up.destination.0) == (i, j));
    let pairs: Vec<(u32, u32)> = (0..hosts)
        .flat_map(|i| (0..hosts).map(move |j| (i, j)))
        .filter(|&(i, j)| i != j && !has_circuit(i, j) && controller.has_packets(HostId(i), HostId(j)))
        .collect();
    let seconds = c.circuits.window.as_secs_f64();
    let backlog = |i: u32, j: u32| demand.row(HostId(i)).bytes(HostId(j)).get() as f64 * 8.0 / seconds;
    let offer = |rate: &dyn Fn(u32, u32) -> f64| -> Vec<Offered> {
        pairs.iter().map(|&(i, j)| Offered { source: i, destination: j, rate: rate(i, j) }).collect()
    };
    let all = vec![capacity; hosts as usize];
    let first = max_min_hosts(&Hosts::new(all.clone(), all.clone()), &offer(&backlog));
    let (mut send, mut receive) = (all.clone(), all);
    for (&(i, j), rate) in pairs.iter().zip(&first) {
        send[i as usize] = (send[i as usize] - rate).max(0.0);
        receive[j as usize] = (receive[j as usize] - rate).max(0.0);
    }
    for left in send.iter_mut().chain(&mut receive) {
        *left *= c.unreported;
    }
    let second = max_min_hosts(&Hosts::new(send, receive), &offer(&|_, _| f64::INFINITY));
    let both = first.iter().zip(&second).map(|(a, b)| Rate::bps((a + b).floor() as u64));
    pairs.iter().map(|&(i, j)| (HostId(i), HostId(j))).zip(both).filter(|(_, rate)| *rate > Rate::ZERO).collect()
}

proptest! {
    /// Rates are those of the definition to the last bit, also from used buffers.
    #[test]
    fn rates_of_packets_are_those_of_their_definition(
        periods in prop::collection::vec(
            (
                prop::collection::vec((0u32..4, 0u32..4, 0u64..6), 0..8),
                prop::collection::vec((0u32..4, 0u32..4), 0..3),
                prop::collection::vec(0u32..16, 0..3),
            ),
            1..3,
        ),
        unreported in prop_oneof![Just(0.0), Just(1.0), 0.0f64..1.0],
    ) {
        let mut packets = PacketRates::default();
        for (backlogs, circuits, dead) in periods {
            let mut controller = controller(true, unreported);
            controller.dead = dead.into_iter().collect();
            let mut demand = Demand::none(4);
            for host in 0..4 {
                let of = backlogs.iter().filter(|b| b.0 == host && b.1 != host);
                let bytes = |rate: u64| Rate::bps(rate * 2_345_678_901).bytes_in(PERIOD);
                demand.set_row(HostId(host), Backlog::of_bytes(of.map(|b| (HostId(b.1), bytes(b.2)))));
            }
            let ups: Vec<Uptime> = circuits
                .into_iter()
                .filter(|(i, j)| i != j)
                .map(|(i, j)| Uptime {
                    source: HostId(i),
                    destination: HostId(j),
                    begin: Duration::ZERO,
                    end: PERIOD,
                })
                .collect();
            controller.set_packet_rates(&mut packets, &demand, &ups);
            let simple = simple_rates(&controller, &demand, &ups);
            let mut sums = [[0u64; 4]; 2];
            for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (HostId(i), HostId(j)))) {
                let want = simple.get(&(i, j)).copied().unwrap_or_default();
                prop_assert_eq!(packets.get(i, j), want, "{:?} to {:?}", i, j);
                sums[0][i.index()] += want.as_bps();
                sums[1][j.index()] += want.as_bps();
            }
            let found = packets.sums().each_ref().map(|side| side.iter().map(|r| r.as_bps()).collect::<Vec<_>>());
            prop_assert_eq!(found, sums.map(|side| side.to_vec()));
        }
    }
}
