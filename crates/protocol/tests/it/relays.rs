//! Tests of several controllers in virtual time: one plans, and each relay is in charge of a part
//! of the hosts.

use crate::common::{Clock, GUARD, OPEN, SLOT_BYTES, World, one_switch, parameters};
use proptest::prelude::*;
use timeplane_model::{Backlog, Bytes, Class, Duration, Grant, HostId, Medium, Round, Time, Trigger};
use timeplane_protocol::{
    Address, Agent, BacklogReport, Gathered, Input, Message, Output, Part, Relay, RelayConfig, SignalConfig,
    SlotControllerConfig,
};

const US: Duration = Duration::from_us(1);
/// Maximum latency of a hop; the minimum is half of it.
const LATENCY: Duration = Duration::from_us(14);
/// Maximum skew of frames that one relay sends together.
const SKEW: Duration = Duration::from_us(7);

/// Gates by clocks and by frames, with both ways of a message, the time for gathering reports, and
/// the relays' clocks.
fn configs(error: Duration) -> [SlotControllerConfig; 2] {
    let control_latency = LATENCY * 2 + LATENCY / 2 + US + error * 2;
    let by_clock = SlotControllerConfig { control_latency, ..SlotControllerConfig::new(parameters()) };
    let signals = SignalConfig { hold: US * 3_355, slack: SKEW, delay: LATENCY - SKEW / 2 };
    [by_clock, SlotControllerConfig { signals: Some(signals), ..by_clock }]
}

fn world(hosts: u32, config: SlotControllerConfig, relays: u32, error: Duration) -> World {
    let mut world = World::new(hosts, config);
    world.relays(relays, LATENCY, error);
    if config.signals.is_some() {
        for (h, host) in world.hosts.iter_mut().enumerate() {
            let h = h as i64;
            host.clock = Clock { offset: Duration::from_ms((h * 37 % 41 - 20) * 100), ppm: h * 13 % 21 * 10 - 100 };
        }
    }
    world
}

/// The difference of two clocks plus the skew of one relay's frames is below the guard: no openings
/// overlap, and no capacity is lost.
#[test]
fn relays_deliver_one_plan() {
    let error = US * 4;
    for config in configs(error) {
        for relays in [1, 3, 5] {
            let mut world = world(12, config, relays, error);
            world.run(Duration::from_ms(3), |_| false);
            world.all_to_all(20 * SLOT_BYTES);
            let ideal = (OPEN + GUARD) * (20 * 11);
            let took = world.run_until_empty(ideal * 3) - Duration::from_ms(3);
            let start_up = config.idle + config.lead() + config.message_time() * 3;
            println!("{relays} relays: {took} of {ideal}");
            assert!(world.overlaps().is_empty());
            assert!(took < ideal.scale(1.02) + start_up + (OPEN + GUARD) * 2, "{took} of {ideal}");
            assert_eq!(world.counted(|c| c.late + c.refused), 0);
            assert!(world.relays.iter().all(|(d, _)| d.counters().malformed + d.heard().malformed == 0));
        }
    }
}

/// If frames open gates, the guard must cover the difference of clocks: 7 us of skew and twice 4 us
/// fit, twice 10 us do not. With the hosts' clocks it does not matter.
#[test]
fn the_guard_has_to_cover_two_clocks() {
    for (error, apart) in [(4, true), (10, false)] {
        let [by_clock, by_signal] = configs(US * error);
        for (config, apart) in [(by_clock, true), (by_signal, apart)] {
            let mut world = world(6, config, 3, US * error);
            world.all_to_all(20 * SLOT_BYTES);
            world.run_until_empty(Duration::from_ms(200));
            assert_eq!(world.overlaps().is_empty(), apart, "{error} us");
        }
    }
}

/// If a closing frame may be lost, the gate closes by itself later by the slack. Then the guard
/// covers smaller clock errors: 15 us are twice 7 us and twice this.
const HALF: Duration = Duration::from_ns(500);

/// A lost message between controllers costs slots of its part.
#[test]
fn losses_between_controllers_cost_slots_alone() {
    for config in configs(US * 4) {
        for lost in [20, 200, 500] {
            let mut world = world(9, config, 3, US * 4);
            world.lost_between = lost;
            world.all_to_all(60 * SLOT_BYTES);
            let took = world.run_until_empty(Duration::from_secs(4));
            assert!(world.overlaps().is_empty());
            println!("{lost} of 1000 lost: {took} of {}", (OPEN + GUARD) * (60 * 8));
        }
    }
}

/// A relay that restarts, and no longer sends its frames, continues with the next round.
#[test]
fn a_relay_that_starts_anew_goes_on() {
    for config in configs(HALF) {
        for at in [9_801, 12_345, 20_000] {
            let mut world = world(9, config, 3, HALF);
            world.all_to_all(60 * SLOT_BYTES);
            world.run(US * at, |_| false);
            let anew = world.relay(1, 1);
            world.relays[1].0 = anew;
            let took = world.run_until_empty(Duration::from_secs(4));
            assert!(world.overlaps().is_empty());
            // It costs the current round, and the next one if that was granted.
            assert!(took < (OPEN + GUARD) * (60 * 8 + 4 * 32) + config.lead() * 4, "{took}");
        }
    }
}

/// The planning controller is lost, and its successor plans through the same relays.
#[test]
fn a_standby_takes_over_the_relays() {
    for config in configs(US * 4) {
        for killed in [200, 9_801, 12_345] {
            let mut world = world(6, config, 3, US * 4);
            world.two_controllers(config.slots.round() * 2 + config.message_time() * 2);
            world.lost_between = 20;
            world.all_to_all(60 * SLOT_BYTES);
            world.run(US * killed, |_| false);
            world.dead = true;
            world.run_until_empty(Duration::from_secs(1));
            assert!(world.overlaps().is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_lost_nobody_is_in_a_foreign_slot(
        by_signals in 0usize..2,
        relays in 1u32..7,
        demand in proptest::collection::vec((0u32..6, 0u32..6, 1u64..40 * SLOT_BYTES), 1..30),
        (lost, doubled, between) in (0u64..100, 0u64..100, 0u64..300),
    ) {
        let mut world = world(6, configs(HALF)[by_signals], relays, HALF);
        world.network.lost = lost;
        world.network.doubled = doubled;
        world.lost_between = between;
        for (i, j, b) in demand.into_iter().filter(|(i, j, _)| i != j) {
            *world.hosts[i as usize].queues.entry(j).or_default() += b;
        }
        world.run_until_empty(Duration::from_secs(20));
        prop_assert!(world.overlaps().is_empty());
    }
}

fn at(us: i64) -> Time {
    Time::ZERO + US * us
}

fn report(sequence: u64, to: u32, bytes: u64) -> BacklogReport {
    let backlog = Backlog::of_bytes([(HostId(to), Bytes::new(bytes))]);
    BacklogReport { epoch: 0, sequence, taken_at: at(0), obeys: 0, heard: 0, backlog }
}

fn sent(out: &mut Vec<Output>) -> Vec<(Address, Message)> {
    let sent = |o| match o {
        Output::Send { to, message } => Some((to, message)),
        _ => None,
    };
    out.drain(..).filter_map(sent).collect()
}

/// Hosts 2 and 3 of six belong to the second of three relays.
fn second(signals: Option<SignalConfig>) -> Relay {
    let config = RelayConfig { number: 1, relays: 3, epoch: 0, control_latency: LATENCY, gather: US * 8, signals };
    Relay::new(config, one_switch(6))
}

fn grant(start: i64, end: i64) -> Grant {
    Grant {
        destination: HostId(0),
        class: Class(0),
        medium: Medium::Fabric,
        rate: None,
        bytes: None,
        packets: None,
        start: Trigger::At(at(start)),
        end: Trigger::At(at(end)),
        lease: at(end),
    }
}

#[test]
fn reports_go_on_together() {
    let mut relay = second(None);
    assert_eq!((relay.hosts(), relay.deadline()), (&[HostId(2), HostId(3)][..], None));
    let mut out = vec![];
    let hear = |h: u32, r: BacklogReport| Input::Message {
        from: Address::Host(HostId(h)),
        message: Message::Report(Box::new(r)),
    };
    relay.handle(at(10), hear(3, report(1, 0, 7)), &mut out);
    relay.handle(at(12), hear(2, report(0, 0, 5)), &mut out);
    // A newer report replaces one that was not sent on; an older one, and that of a foreign host,
    // do not.
    relay.handle(at(14), hear(3, report(2, 0, 8)), &mut out);
    relay.handle(at(14), hear(3, report(1, 0, 7)), &mut out);
    relay.handle(at(14), hear(4, report(0, 0, 9)), &mut out);
    assert_eq!((relay.deadline(), out.len()), (Some(at(18)), 0));
    assert_eq!((relay.heard().taken, relay.heard().stale, relay.heard().malformed), (3, 1, 1));
    relay.handle(at(18), Input::Due, &mut out);
    let reports = vec![(HostId(2), report(0, 0, 5)), (HostId(3), report(2, 0, 8))];
    let gathered = Message::Gathered(Gathered { epoch: 0, sequence: 0, reports });
    assert_eq!(sent(&mut out), [(Address::Controller, gathered)]);
    assert_eq!(relay.deadline(), None);
}

#[test]
fn a_round_is_passed_on_once_and_by_signals_as_frames() {
    let signals = SignalConfig { hold: US * 3_355, slack: SKEW, delay: LATENCY };
    for signals in [None, Some(signals)] {
        let mut relay = second(signals);
        let mut out = vec![];
        let part = |epoch, round, grants| {
            let part = Part { epoch, round: Round(round), effective: at(100), report_at: at(300), grants };
            Input::Message { from: Address::Controller, message: Message::Part(part) }
        };
        let good = vec![(HostId(2), grant(100, 200)), (HostId(3), grant(210, 310))];
        relay.handle(at(50), part(0, 1, good.clone()), &mut out);
        let told = sent(&mut out);
        let to: Vec<Address> = told.iter().map(|(to, _)| *to).collect();
        assert_eq!(to, [Address::Host(HostId(2)), Address::Host(HostId(3))]);
        let grants = |m: &Message| match m {
            Message::Grants(g) => (g.grants.len(), g.effective, g.report_at),
            other => panic!("{other:?}"),
        };
        let expected = if signals.is_some() { (0, at(50), at(300)) } else { (1, at(100), at(300)) };
        assert!(told.iter().all(|(_, m)| grants(m) == expected));
        // Known rounds, rounds of a deposed controller, and invalid messages.
        relay.handle(at(51), part(0, 1, good.clone()), &mut out);
        for wrong in [vec![(HostId(4), grant(100, 200))], vec![(HostId(2), grant(200, 200))]] {
            relay.handle(at(51), part(0, 2, wrong), &mut out);
        }
        let endless = Grant { end: Trigger::Never, ..grant(100, 200) };
        let overflowing = Grant { start: Trigger::At(Time::from_ps(i64::MIN)), ..grant(100, 200) };
        for wrong in [endless, overflowing] {
            relay.handle(at(51), part(0, 2, vec![(HostId(2), wrong)]), &mut out);
        }
        relay.handle(at(51), Input::Changed, &mut out);
        assert_eq!((relay.counters().rounds, relay.counters().stale, relay.counters().malformed), (1, 1, 5));
        assert!(out.is_empty());
        if signals.is_none() {
            assert_eq!(relay.deadline(), None);
            continue;
        }
        // Opened and closed in time; the second slot belongs to a replaced controller.
        relay.handle(at(100), Input::Due, &mut out);
        relay.handle(at(200), Input::Due, &mut out);
        let frames = sent(&mut out);
        let open = |m: &Message| match m {
            Message::Pfc(p) => p.open,
            other => panic!("{other:?}"),
        };
        assert_eq!(frames.iter().map(|(_, m)| open(m)).collect::<Vec<_>>(), [Some(0), None]);
        assert_eq!(relay.deadline(), Some(at(210)));
        relay.handle(at(205), part(1, 1, vec![]), &mut out);
        assert_eq!(relay.deadline(), None);
        relay.handle(at(206), part(0, 9, good), &mut out);
        assert_eq!((sent(&mut out).len(), relay.counters().stale), (2, 2));
    }
}

/// The controller talks only to its relays, with one message each, and accepts reports from each
/// about its own hosts only.
#[test]
fn the_controller_hears_relays_alone() {
    let fabric = one_switch(6);
    let [config, _] = configs(Duration::ZERO);
    let mut controller = crate::common::controller(SlotControllerConfig { relays: 3, ..config }, &fabric);
    let mut out = vec![];
    let say = |relay: u32, host: u32| {
        let gathered = Gathered { epoch: 0, sequence: 0, reports: vec![(HostId(host), report(0, 0, SLOT_BYTES))] };
        Input::Message { from: Address::Relay(relay), message: Message::Gathered(gathered) }
    };
    controller.handle(at(1), say(1, 2), &mut out);
    for wrong in [say(0, 3), say(7, 3), say(1, 99)] {
        controller.handle(at(1), wrong, &mut out);
    }
    let direct =
        Input::Message { from: Address::Host(HostId(4)), message: Message::Report(Box::new(report(0, 0, SLOT_BYTES))) };
    controller.handle(at(1), direct, &mut out);
    assert_eq!((controller.heard().taken, controller.heard().malformed), (1, 4));
    let planned = controller.deadline().unwrap();
    controller.handle(planned, Input::Due, &mut out);
    out.clear();
    controller.handle(planned + config.compute_time, Input::Due, &mut out);
    let parts: Vec<(Address, usize)> = sent(&mut out)
        .into_iter()
        .map(|(to, message)| match message {
            Message::Part(part) => (to, part.grants.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [(Address::Relay(0), 0), (Address::Relay(1), 1), (Address::Relay(2), 0)];
    assert_eq!(parts, expected);
}
