//! Tests of the flyway controller in virtual time: reports, links and shares, renewal and end of
//! leases.

use timeplane_model::{Backlog, Bytes, Duration, HostId, Rate, Time};
use timeplane_protocol::{
    Address, Agent, BacklogReport, FlywayController, FlywayControllerConfig, Input, Message, Output, RackFlyways,
    RackShare, Rates,
};
use timeplane_schedule::flyways::{Duplex, FlywayError, FlywayPlanner, FlywayPolicy, Ports, Wired};

const CONFIG: FlywayControllerConfig = FlywayControllerConfig {
    epoch: 3,
    every: Duration::from_ms(1),
    compute_time: Duration::from_us(200),
    latency: Duration::from_us(50),
    setup: Duration::from_us(500),
    lease: Duration::from_ms(20),
    measure_every: None,
};

fn at(us: i64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn controller(racks: usize) -> FlywayController<Ports> {
    with(CONFIG, racks)
}

fn with(config: FlywayControllerConfig, racks: usize) -> FlywayController<Ports> {
    let ports = Ports::new(racks, 1, Rate::gbps(5), Duplex::Half).unwrap();
    let controller = FlywayPlanner::new(FlywayPolicy::Greedy.build());
    FlywayController::new(config, controller, Wired::oversubscribed_racks(racks, 2).unwrap(), ports).unwrap()
}

fn report(from: u32, sequence: u64, waits: &[(u32, u64)]) -> Input {
    let backlog = Backlog::of_bytes(waits.iter().map(|&(d, mb)| (HostId(d), Bytes::mb(mb))));
    let report = BacklogReport { epoch: 1, sequence, taken_at: Time::ZERO, obeys: 3, heard: 0, backlog };
    Input::Message { from: Address::Host(HostId(from)), message: Message::Report(Box::new(report)) }
}

/// Messages between two times: time, rack, content.
fn between(controller: &mut FlywayController<Ports>, mut now: Time, end: Time) -> Vec<(Time, u32, RackFlyways)> {
    let mut sent = Vec::new();
    while let Some(due) = controller.deadline().filter(|&d| d <= end) {
        now = now.max(due);
        let mut out = Vec::new();
        controller.handle(now, Input::Due, &mut out);
        for output in out {
            let Output::Send { to: Address::Host(rack), message: Message::Flyways(told) } = output else {
                panic!("{output:?}");
            };
            sent.push((now, rack.0, told));
        }
    }
    sent
}

fn tell(controller: &mut FlywayController<Ports>, now: Time, input: Input) {
    let mut out = Vec::new();
    controller.handle(now, input, &mut out);
    assert!(out.is_empty(), "{out:?}");
}

#[test]
fn both_ends_hear_of_a_link_and_the_sender_of_its_shares() {
    let mut m = controller(4);
    assert_eq!(m.deadline(), None);
    tell(&mut m, at(0), report(0, 1, &[(1, 100)]));
    let sent = between(&mut m, at(0), at(5_000));
    assert_eq!(sent.iter().map(|s| (s.0, s.1)).collect::<Vec<_>>(), [(at(200), 0), (at(200), 1)]);
    for (_, rack, told) in &sent {
        let link = told.links[0];
        assert_eq!((told.epoch, told.lease, told.links.len()), (3, at(20_200), 1));
        assert_eq!((link.peer, link.rate, link.up), (HostId(1 - rack), Rate::gbps(5), at(750)));
    }
    // Slightly less than a third of 100 MB: 0.8 ns a byte by wire, 1.6 by the link, which starts
    // 0.55 ms late.
    let share = sent[0].2.shares[0];
    assert_eq!((share.destination, share.start, share.end), (HostId(1), HostId(0), HostId(1)));
    assert!((f64::from(share.ppm) / 1e6 - (80.0 - 0.55) / 240.0).abs() < 1e-3, "{share:?}");
    assert!(sent[1].2.shares.is_empty());
    assert_eq!((m.counters().plans, m.counters().messages, m.counters().begun), (1, 2, 1));
}

#[test]
fn others_hear_of_transit() {
    // 4 GB over 10 Gb/s and 5 Gb/s: the link carries 1.33 GB, of which 1 GB is its own rack's.
    let mut m = controller(5);
    for from in 1..5 {
        tell(&mut m, at(0), report(from, 1, &[(0, 1000)]));
    }
    let sent = between(&mut m, at(0), at(1_000));
    let end = |s: &RackShare| (s.end, s.destination) == (HostId(0), HostId(0));
    let shares: Vec<(u32, RackShare)> =
        sent.iter().flat_map(|(_, rack, told)| told.shares.iter().map(|&s| (*rack, s))).collect();
    assert!(shares.iter().all(|(_, s)| end(s)));
    let relay = shares[0].1.start;
    // One rack has the link; another one sends over it.
    assert!(shares.iter().all(|(_, s)| s.start == relay) && shares.iter().any(|&(rack, s)| HostId(rack) != s.start));
}

#[test]
fn leases_are_renewed_and_a_silent_controller_leaves_none() {
    let mut m = controller(3);
    tell(&mut m, at(0), report(0, 1, &[(1, 1000)]));
    let sent = between(&mut m, at(0), at(100_000));
    let own: Vec<_> = sent.iter().filter(|s| s.1 == 0).collect();
    assert!(own.len() >= 8, "{} messages in 100 ms, of leases of 20 ms", own.len());
    for two in own.windows(2) {
        assert!(two[1].0 + CONFIG.latency < two[0].2.lease, "renewed too late");
        assert_eq!(two[0].2.links, two[1].2.links, "a link that stays is up since it was");
        assert!(two[0].2.round < two[1].2.round);
    }
    // Everything is sent: the rack is told once that it has no links.
    tell(&mut m, at(100_000), report(0, 2, &[]));
    let last = between(&mut m, at(100_000), at(300_000));
    assert_eq!(last.iter().map(|s| s.1).collect::<Vec<_>>(), [0, 1]);
    assert!(last.iter().all(|(_, _, told)| told.links.is_empty() && told.shares.is_empty()));
    assert_eq!(m.deadline(), None);
}

#[test]
fn plans_keep_their_distance_and_a_rack_that_missed_its_answer_gets_it_again() {
    let mut m = controller(3);
    tell(&mut m, at(0), report(0, 1, &[(1, 1000)]));
    assert_eq!(between(&mut m, at(0), at(400)).len(), 2);
    tell(&mut m, at(400), report(0, 2, &[(1, 1000)]));
    let again = between(&mut m, at(400), at(5_000));
    // Not within a millisecond of the first plan; the other end has missed nothing.
    assert_eq!(again.iter().map(|s| (s.0, s.1)).collect::<Vec<_>>(), [(at(1_200), 0)]);
    assert_eq!(again[0].2.links[0].up, at(750));
    // Another rack has more for it: the link moves, and all three racks are told.
    tell(&mut m, at(5_000), report(0, 3, &[(1, 1)]));
    tell(&mut m, at(5_000), report(2, 1, &[(1, 5000)]));
    let moved = between(&mut m, at(5_000), at(6_000));
    assert_eq!(moved.iter().map(|s| s.1).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(moved[0].2.links.is_empty());
    assert_eq!((moved[2].2.links[0].peer, moved[2].2.links[0].up), (HostId(1), at(5_750)));
}

#[test]
fn what_no_rack_could_mean_changes_nothing() {
    let mut m = controller(3);
    tell(&mut m, at(0), report(0, 5, &[(7, 10)]));
    tell(&mut m, at(0), report(9, 1, &[(0, 10)]));
    let rates = Rates { epoch: 1, round: timeplane_model::Round(1), lease: at(1), rates: vec![] };
    tell(&mut m, at(0), Input::Message { from: Address::Peer, message: Message::Rates(rates) });
    tell(&mut m, at(0), Input::Changed);
    tell(&mut m, at(0), report(0, 6, &[(1, 10)]));
    tell(&mut m, at(0), report(0, 6, &[(2, 10)]));
    let heard = *m.heard();
    assert_eq!((heard.malformed, heard.taken, heard.stale), (4, 1, 1));
    assert!(between(&mut m, at(0), at(1_000)).iter().all(|s| s.1 < 2));
}

#[test]
fn a_controller_that_can_plan_nothing_is_none() {
    let new = |racks, wired: Wired| {
        let ports = Ports::new(racks, 1, Rate::gbps(5), Duplex::Half).unwrap();
        let controller = FlywayPlanner::new(FlywayPolicy::Greedy.build());
        FlywayController::new(CONFIG, controller, wired, ports).map(|_| ())
    };
    let wired = Wired::oversubscribed_racks(3, 2).unwrap();
    assert_eq!(new(3, wired.clone()), Ok(()));
    assert!(matches!(new(2, wired.clone()), Err(FlywayError::Racks { .. })));
    assert!(matches!(new(3, Wired { uplink: Rate::ZERO, ..wired }), Err(FlywayError::NoRate { .. })));
}

#[test]
fn racks_get_a_link_once_they_have_measured_each_other() {
    // Of four racks, 1 and 3 measure each other in the first round, which ends at 2 ms. The
    // controller knows it 50 us later, and plans when the next report arrives. The link carries the
    // traffic to 2 in transit, as 1 and 2 have not measured each other.
    let config = FlywayControllerConfig { measure_every: Some(Duration::from_ms(2)), ..CONFIG };
    let mut controller = with(config, 4);
    let mut first = None;
    for k in 0..12 {
        let now = at(1000 * k);
        tell(&mut controller, now, report(1, k as u64, &[(2, 900 - k as u64)]));
        let sent = between(&mut controller, now, at(1000 * k + 999));
        let link = |(time, rack, told): &(Time, u32, RackFlyways)| told.links.first().map(|l| (*time, *rack, l.peer.0));
        first = first.or(sent.iter().find_map(link));
    }
    assert_eq!(first, Some((at(3200), 1, 3)));
}
