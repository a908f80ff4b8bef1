//! Tests of controllers that fail and of their successors, in virtual time.

use crate::common::{OPEN, SLOT_BYTES, World, parameters};
use proptest::prelude::*;
use std::sync::Arc;
use timeplane_model::{Backlog, Bytes, Duration, HostId, Time};
use timeplane_protocol::{
    Address, Agent, BacklogReport, Event, Input, Message, Output, SignalConfig, SlotControllerConfig, Standby,
    Succession,
};
use timeplane_schedule::WeightedRoundRobin;

const US: Duration = Duration::from_us(1);

/// Gates by clocks; gates by signals; a network that is asked seldom while it is idle.
fn configs() -> [SlotControllerConfig; 3] {
    let by_clock = SlotControllerConfig { control_latency: US * 14, ..SlotControllerConfig::new(parameters()) };
    let signals = SignalConfig { hold: US * 3_355, slack: US * 7, delay: US * 10 };
    let seldom = SlotControllerConfig { idle: by_clock.slots.round() * 5, ..by_clock };
    [by_clock, SlotControllerConfig { signals: Some(signals), ..by_clock }, seldom]
}
/// A round and its messages. Heartbeats come twice in it, so one may be lost.
fn takeover(c: &SlotControllerConfig) -> Duration {
    c.slots.round() + c.message_time() * 3
}
/// Time from the loss of a controller until its successor's first slot opens.
fn recovery(c: &SlotControllerConfig) -> Duration {
    takeover(c) + c.memory() + c.idle.min(c.slots.round()) + c.lead() + c.message_time() * 3
}

#[test]
fn a_controller_that_is_well_is_never_replaced() {
    for c in configs() {
        let mut world = World::new(6, c);
        world.two_controllers(takeover(&c));
        world.all_to_all(100 * SLOT_BYTES);
        world.run_until_empty(Duration::from_ms(400));
        // While idle, too.
        world.run(Duration::from_ms(600), |_| false);
        assert_eq!(world.counted(|h| h.withdrawn), 0);
        assert!(world.overlaps().is_empty());
    }
}

/// The controller fails in the middle of a round: while a slot is open, in a guard, while a round's
/// messages are in flight.
#[test]
fn a_lost_controller_is_replaced_within_the_bound() {
    for (c, name) in configs().into_iter().zip(["by clock", "by signals", "asked seldom"]) {
        let mut longest = Duration::ZERO;
        for killed in [200, 9_500, 9_801, 10_110, 12_345, 20_000] {
            let mut world = World::new(6, c);
            world.two_controllers(takeover(&c));
            world.all_to_all(100 * SLOT_BYTES);
            world.run(US * killed, |_| false);
            world.dead = true;
            world.run_until_empty(Duration::from_ms(900));
            assert!(world.overlaps().is_empty(), "killed at {killed} us");
            // Every pair sends again: no host is muted.
            let back = |h: u32| {
                let first =
                    |s: &&crate::common::Sending| s.source == h && s.from > (US * killed + recovery(&c) / 2).as_ps();
                world.sendings.iter().filter(first).map(|s| s.from).min().expect("it sends again")
            };
            let last = Duration::from_ps((0..6).map(back).max().unwrap()) - US * killed;
            longest = longest.max(last);
            assert!(last <= recovery(&c) + OPEN * 5, "killed at {killed}: {last}");
        }
        println!("{name}: all hosts send again after {longest} at most; the bound is {}", recovery(&c));
    }
}

/// While all queues are empty, a lost controller is missed late. New data waits no longer than
/// under load once the hosts have told that they hear nobody.
#[test]
fn a_controller_that_is_lost_while_the_network_is_idle_is_replaced() {
    let [_, _, c] = configs();
    for (lost_for, by) in [(US * 10, c.idle_longer()), (c.idle * 2, Duration::ZERO)] {
        let mut world = World::new(6, c);
        world.two_controllers(takeover(&c));
        world.all_to_all(2 * SLOT_BYTES);
        world.run(Duration::from_ms(400), |_| false);
        assert_eq!(world.waiting(), 0);
        let (before, start) = (world.messages, world.now);
        world.run(Duration::from_ps(start) + c.idle * 10, |_| false);
        // Each time, a message to each host and from it to both controllers, and heartbeats.
        let asked = 10 * (6 * 3) + 10 * 5 * 2;
        assert!(world.messages - before <= asked + 20, "{} messages", world.messages - before);
        world.dead = true;
        let killed = world.now;
        world.run(Duration::from_ps(killed) + lost_for, |_| false);
        world.all_to_all(2 * SLOT_BYTES);
        let arrived = world.now;
        world.run_until_empty(Duration::from_secs(3));
        let first = world.sendings.iter().map(|s| s.from).filter(|from| *from > killed).min().expect("it sends again");
        let after = Duration::from_ps(first - arrived);
        println!("lost for {lost_for}: data waits for {after}");
        assert!(after <= recovery(&c) + by, "{after}");
        assert!(world.overlaps().is_empty());
        assert_eq!(world.counted(|h| h.withdrawn), 0);
    }
}

/// A controller that returns follows its successor, and leads again when the successor is lost.
#[test]
fn controllers_take_turns() {
    for c in configs() {
        let mut world = World::new(4, c);
        world.two_controllers(takeover(&c));
        world.all_to_all(400 * SLOT_BYTES);
        world.run(Duration::from_ms(10), |_| false);
        world.dead = true;
        world.run(Duration::from_ms(100), |_| false);
        world.controller = world.follower(takeover(&c), 0);
        world.dead = false;
        world.run(Duration::from_ms(200), |_| false);
        let before = world.sendings.len();
        world.standby = None;
        world.run(Duration::from_ms(300), |_| false);
        assert!(world.sendings.len() > before, "it leads again");
        world.run_until_empty(Duration::from_secs(2));
        assert!(world.overlaps().is_empty());
    }
}

/// Two controllers start to follow at the same time and hear nothing: both take over, and one
/// yields.
#[test]
fn controllers_that_return_together_do_not_both_lead() {
    for c in configs() {
        let mut world = World::new(6, c);
        world.two_controllers(takeover(&c));
        world.all_to_all(200 * SLOT_BYTES);
        world.run(Duration::from_ms(15), |_| false);
        world.dead = true;
        world.standby = None;
        world.run(Duration::from_ms(16), |_| false);
        world.dead = false;
        world.controller = world.follower(takeover(&c), 0);
        world.standby = Some(world.follower(takeover(&c), 1));
        let took = world.run_until_empty(Duration::from_secs(2));
        assert!(world.overlaps().is_empty());
        assert!(took > Duration::from_ms(16) + c.memory());
    }
}

/// A controller that returns after its successor has failed knows only its own epoch: the hosts
/// tell it the other.
#[test]
fn hosts_tell_whom_they_obey() {
    for c in configs() {
        let mut world = World::new(6, c);
        world.two_controllers(takeover(&c));
        world.all_to_all(1_000 * SLOT_BYTES);
        world.run(Duration::from_ms(10), |_| false);
        world.dead = true;
        world.run(Duration::from_ms(600), |_| false);
        world.standby = None;
        world.dead = false;
        world.controller = world.follower(takeover(&c), 0);
        let returned = world.now;
        world.run(Duration::from_ms(700), |_| false);
        assert!(world.overlaps().is_empty());
        for h in 0..6 {
            let silent = (returned + c.memory().as_ps()).max(returned + takeover(&c).as_ps());
            let first = world.sendings.iter().filter(|s| s.source == h && s.from > silent).map(|s| s.from).min();
            let after = Duration::from_ps(first.expect("it sends again") - returned);
            assert!(after <= recovery(&c) + OPEN * 5, "{after} of {}", recovery(&c));
        }
    }
}

/// Controllers do not hear each other, while hosts hear both. The older one learns from reports
/// that it was replaced.
#[test]
fn controllers_that_are_cut_off_from_each_other_do_not_plan_at_once() {
    for c in configs() {
        let mut world = World::new(6, c);
        world.two_controllers(takeover(&c));
        // Hosts that miss the newer controller's first message obey the older one for a while.
        world.network.lost = 150;
        world.all_to_all(300 * SLOT_BYTES);
        world.run(Duration::from_ms(10), |_| false);
        world.cut_off = true;
        world.run(Duration::from_ms(400), |_| false);
        let before = world.waiting();
        assert!(before > 0 && before < 6 * 5 * 300 * SLOT_BYTES, "they go on in turns");
        world.cut_off = false;
        world.run_until_empty(Duration::from_secs(3));
        assert!(world.overlaps().is_empty());
    }
}

/// A controller that hears nothing plans on with old reports, until it has heard too few hosts for
/// too long. Hosts that have heard its successor obey only that one, even if the older controller
/// still sends frames.
#[test]
fn a_deaf_controller_is_not_obeyed() {
    let mut refused = 0;
    for c in configs() {
        let mut world = World::new(6, c);
        world.two_controllers(takeover(&c));
        // One sender in a slot: the others have seen no frame of the successor for a while.
        for host in &mut world.hosts[1..6] {
            host.queues.insert(0, 100 * SLOT_BYTES);
        }
        world.run(Duration::from_ms(10), |_| false);
        world.deaf = true;
        // The other controller must miss it: only its heartbeats are lost.
        world.cut_off = true;
        world.run_until_empty(Duration::from_secs(3));
        assert!(world.overlaps().is_empty());
        assert!(world.events.iter().any(|e| matches!(e, Event::FewHosts { heard: 0, .. })), "it steps back");
        refused += world.counted(|h| h.stale);
    }
    assert!(refused > 0, "it is heard after its successor");
}

/// A controller yields when a host reports that it obeys another one. It leads again, with a higher
/// epoch of its own, once it has heard nothing.
#[test]
fn a_controller_learns_from_reports_that_it_is_replaced() {
    let c = configs()[0];
    for (place, next) in [(0, 6), (1, 7)] {
        let succession = Succession { takeover: takeover(&c), controllers: 2, place };
        let make = move || -> Box<dyn timeplane_schedule::Scheduler> { Box::new(WeightedRoundRobin::new(c.slots)) };
        let mut standby = Standby::leading(c, succession, Box::new(make), crate::common::one_switch(3));
        assert_eq!(standby.controller().map(|m| m.config().epoch), Some(place));
        let mut out = Vec::new();
        let now = Time::ZERO + US * 50;
        for (obeys, leads) in [(place, true), (5, false)] {
            let report =
                BacklogReport { epoch: 0, sequence: 0, taken_at: now, obeys, heard: 0, backlog: Backlog::default() };
            let message = Message::Report(Box::new(report));
            standby.handle(now, Input::Message { from: Address::Host(HostId(0)), message }, &mut out);
            assert_eq!(standby.controller().is_some(), leads);
        }
        assert_eq!(standby.deadline(), Some(now + takeover(&c)));
        standby.handle(now + takeover(&c), Input::Due, &mut out);
        assert_eq!(standby.controller().map(|m| m.config().epoch), Some(next));
    }
}

/// A host that invents an epoch deposes nobody, and leaves room for the epochs of successors.
#[test]
fn an_impossible_epoch_in_a_report_is_not_adopted() {
    let c = configs()[0];
    let succession = Succession { takeover: takeover(&c), controllers: 2, place: 1 };
    for leads in [true, false] {
        let make = move || -> Box<dyn timeplane_schedule::Scheduler> { Box::new(WeightedRoundRobin::new(c.slots)) };
        let (make, fabric) = (Box::new(make), crate::common::one_switch(3));
        let mut standby = if leads {
            Standby::leading(c, succession, make, fabric)
        } else {
            Standby::new(c, succession, make, fabric)
        };
        let mut out = Vec::new();
        for obeys in [u32::MAX, u32::MAX - 1, 1 << 31] {
            let now = Time::ZERO + US * 50;
            let report =
                BacklogReport { epoch: 0, sequence: 0, taken_at: now, obeys, heard: 0, backlog: Backlog::default() };
            let message = Message::Report(Box::new(report));
            standby.handle(now, Input::Message { from: Address::Host(HostId(0)), message }, &mut out);
        }
        assert_eq!(standby.controller().is_some(), leads);
        standby.handle(Time::ZERO + takeover(&c) + c.slots.round() * 2, Input::Due, &mut out);
        // Its own first one.
        assert_eq!(standby.controller().map(|m| m.config().epoch), Some(1));
    }
}

/// A follower's news of dead links counts when it leads.
#[test]
fn a_successor_knows_what_is_dead() {
    let (c, fabric) = (configs()[0], crate::common::one_switch(3));
    for dead in [vec![], fabric.links_of(timeplane_model::NodeId(2))] {
        let succession = Succession { takeover: takeover(&c), controllers: 2, place: 1 };
        let make = move || -> Box<dyn timeplane_schedule::Scheduler> { Box::new(WeightedRoundRobin::new(c.slots)) };
        let mut standby = Standby::new(c, succession, Box::new(make), Arc::clone(&fabric));
        let mut out = Vec::new();
        standby.handle(Time::ZERO, Input::Down(dead.clone()), &mut out);
        let taken_at = standby.deadline().unwrap();
        standby.handle(taken_at, Input::Due, &mut out);
        assert_eq!(standby.takeovers(), 1);
        let backlog = Backlog::of_bytes([(HostId(1), Bytes::mb(1)), (HostId(2), Bytes::mb(1))]);
        let mut sequence = 0;
        let mut now = taken_at;
        while now < taken_at + c.memory() * 2 {
            let backlog = backlog.clone();
            let report = BacklogReport { epoch: 0, sequence, taken_at: now, obeys: 0, heard: 0, backlog };
            let message = Message::Report(Box::new(report));
            standby.handle(now, Input::Message { from: Address::Host(HostId(0)), message }, &mut out);
            sequence += 1;
            now = standby.deadline().unwrap();
            standby.handle(now, Input::Due, &mut out);
        }
        let to = |h: u32| {
            let planned = |o: &Output| match o {
                Output::Log(Event::SlotPlanned { pairs, .. }) => pairs.contains(&(HostId(0), HostId(h))),
                _ => false,
            };
            out.iter().any(planned)
        };
        assert_eq!((to(1), to(2)), (true, dead.is_empty()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn losing_controllers_costs_time_alone(
        config in 0usize..3,
        demand in proptest::collection::vec((0u32..6, 0u32..6, 1u64..40 * SLOT_BYTES), 1..30),
        killed in 0i64..60_000,
        (lost, doubled) in (0u64..100, 0u64..100),
    ) {
        let c = configs()[config];
        let mut world = World::new(6, c);
        // One of four heartbeats arrives.
        world.two_controllers(c.slots.round() * 5);
        world.network.lost = lost;
        world.network.doubled = doubled;
        for (i, j, b) in demand.into_iter().filter(|(i, j, _)| i != j) {
            *world.hosts[i as usize].queues.entry(j).or_default() += b;
        }
        world.run(US * killed, |_| false);
        world.dead = true;
        world.run_until_empty(Duration::from_secs(20));
        prop_assert!(world.overlaps().is_empty());
    }
}

/// Controllers that never hear each other, as with a firewall between them: the follower sees by
/// the hosts that one leads, and takes over once that one fails.
#[test]
fn a_follower_that_hears_no_heartbeat_does_not_depose_a_leader() {
    for c in configs() {
        let mut world = World::new(6, c);
        world.cut_off = true;
        world.two_controllers(takeover(&c));
        world.all_to_all(300 * SLOT_BYTES);
        world.run(Duration::from_ms(200), |_| false);
        // While idle, too.
        world.run(Duration::from_ms(600), |_| false);
        assert_eq!(world.waiting(), 0);
        assert_eq!(world.counted(|h| h.withdrawn), 0);
        let unheard = |e: &&Event| matches!(e, Event::UnheardLeader { epoch: 0 });
        assert_eq!(world.events.iter().filter(unheard).count(), 1, "it is told once");
        assert!(!world.events.iter().any(|e| matches!(e, Event::FewHosts { .. })));
        // It still replaces a controller that fails.
        world.all_to_all(100 * SLOT_BYTES);
        let killed = world.now;
        world.run(Duration::from_ms(605), |_| false);
        world.dead = true;
        let took = world.run_until_empty(Duration::from_secs(2));
        assert!(took > Duration::from_ps(killed) + takeover(&c) + c.memory());
        assert!(world.overlaps().is_empty());
    }
}

/// Messages of the hosts and heartbeats are lost at random: at most one controller plans at a time.
#[test]
fn a_follower_without_heartbeats_bears_lost_messages() {
    for c in configs() {
        let mut world = World::new(6, c);
        world.cut_off = true;
        world.network.lost = 100;
        world.two_controllers(takeover(&c));
        world.all_to_all(300 * SLOT_BYTES);
        world.run_until_empty(Duration::from_secs(2));
        assert!(world.overlaps().is_empty());
        // Without a look at the hosts it deposes the leader every few rounds.
        let replaced = world.counted(|h| h.withdrawn);
        let rounds = world.now / c.slots.round().as_ps();
        assert!((replaced as i64) < rounds / 4, "{replaced} grants withdrawn in {rounds} rounds");
    }
}

/// Each controller reaches other hosts, and neither hears the other. The one that most hosts can
/// reach leads, and the other one follows.
#[test]
fn of_two_controllers_that_reach_different_hosts_one_leads() {
    for c in configs() {
        for (first, leads_on) in [(0..2, false), (0..3, true), (0..5, true)] {
            let mut world = World::new(6, c);
            world.two_controllers(takeover(&c));
            world.all_to_all(400 * SLOT_BYTES);
            world.run(Duration::from_ms(50), |_| false);
            (world.cut_off, world.reached_by_first) = (true, Some(first.clone()));
            world.run(Duration::from_ms(250), |_| false);
            assert!(world.overlaps().is_empty(), "{first:?}");
            let since = (world.now - Duration::from_ms(60).as_ps(), world.now);
            let sends = |h: u32| world.sendings.iter().any(|s| s.source == h && s.from > since.0);
            let senders: Vec<u32> = (0..6).filter(|&h| sends(h)).collect();
            let expected: Vec<u32> = if leads_on { first.clone().collect() } else { (first.end..6).collect() };
            assert_eq!(senders, expected, "of {first:?}");
            // Both reach all hosts again.
            (world.cut_off, world.reached_by_first) = (false, None);
            world.run_until_empty(Duration::from_secs(3));
            assert!(world.overlaps().is_empty(), "{first:?}");
        }
    }
}
