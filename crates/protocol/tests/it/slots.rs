//! Tests of slots in virtual time, from reports to openings.

use crate::common::{Clock, GUARD, OPEN, SLOT_BYTES, World, parameters};
use proptest::prelude::*;
use std::collections::BTreeMap;
use timeplane_model::{Backlog, Bytes, Duration, HostId, LinkId, Rate, Time};
use timeplane_protocol::{Agent, Event, HostAgent, HostConfig, Input, Output, Reporting, SlotControllerConfig};

fn config() -> SlotControllerConfig {
    SlotControllerConfig::new(parameters())
}
fn period() -> Duration {
    OPEN + GUARD
}

/// Time to start: first reports, first plan.
fn start_up(c: &SlotControllerConfig) -> Duration {
    c.message_time() + c.lead()
}

#[test]
fn a_shuffle_takes_its_slots_and_no_more() {
    for (hosts, slots) in [(2, 7), (8, 20), (24, 10)] {
        let mut world = World::new(hosts, config());
        world.all_to_all(slots * SLOT_BYTES);
        let ideal = period() * (i64::from(hosts - 1) * slots as i64) - GUARD;
        let took = world.run_until_empty(ideal * 2);
        // Until the last slot's end, without its guard.
        assert_eq!(took, start_up(&config()) + ideal, "{hosts} hosts");
        assert_eq!((world.wasted(), world.counted(|c| c.late + c.refused + c.missed + c.fallbacks)), (0, 0));
        assert!(world.overlaps().is_empty());
    }
}

#[test]
fn a_long_shuffle_keeps_near_the_ideal() {
    // 100 slots a pair in whole frames, which the controller does not know of: it counts 98.8 slots
    // of bytes.
    let mut world = World::new(8, config());
    world.all_to_all(100 * SLOT_BYTES);
    let ideal = period() * 700;
    let took = world.run_until_empty(ideal * 2);
    assert!(took < ideal.scale(1.02), "{took} of {ideal}");
    assert!(world.overlaps().is_empty());
}

#[test]
fn slots_are_told_as_planned() {
    let mut world = World::new(4, config());
    world.all_to_all(5 * SLOT_BYTES);
    world.run_until_empty(Duration::from_ms(50));
    let (mut pairs, mut until) = (0, i64::MIN);
    for event in &world.events {
        if let Event::SlotPlanned { start, open, guard, pairs: p, .. } = event {
            assert!(start.as_ps() >= until && (*open, *guard) == (OPEN, GUARD));
            until = (*start + *open + *guard).as_ps();
            pairs += p.len();
        }
    }
    assert_eq!((pairs, world.counted(|c| c.executed)), (12 * 5, 12 * 5));
}

#[test]
fn lost_and_doubled_messages_strand_nothing() {
    for lost in [10, 50, 200] {
        let mut world = World::new(12, config());
        world.network.lost = lost;
        world.network.doubled = 50;
        world.all_to_all(20 * SLOT_BYTES);
        let ideal = period() * 220;
        let took = world.run_until_empty(ideal * 10);
        println!(
            "{lost} of 1000 lost: {took} of {ideal}, {} of {} openings empty",
            world.wasted(),
            world.sendings.len()
        );
        assert!(took < ideal.scale(1.0 + 8.0 * lost as f64 / 1000.0) + Duration::from_ms(30), "{took} of {ideal}");
        // Bytes that were granted, and may have been sent, are not planned again before a report
        // shows them.
        assert_eq!(world.wasted(), 0);
        assert!(world.overlaps().is_empty());
        let mut openings: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for s in &world.sendings {
            *openings.entry((s.source, s.destination)).or_default() += 1;
        }
        assert!(openings.values().all(|&n| n <= 22), "{openings:?}");
    }
}

#[test]
fn clock_errors_within_the_guard_keep_senders_apart() {
    // Offsets of up to 5 us, and drift of up to 10 ppm, which adds 2 us in 200 ms: two hosts differ
    // by less than 15 us.
    let mut c = config();
    c.clock_error = Duration::from_us(7);
    let mut world = World::new(8, c);
    for (h, host) in world.hosts.iter_mut().enumerate() {
        let h = h as i64;
        host.clock = Clock { offset: Duration::from_ns((h * 3 % 8 - 4) * 1250), ppm: h * 5 % 8 * 2 - 10 };
    }
    world.controller_clock = Clock { offset: Duration::from_us(-4), ppm: 3 };
    world.all_to_all(40 * SLOT_BYTES);
    let took = world.run_until_empty(Duration::from_ms(200));
    assert!(took < (period() * 280).scale(1.03), "{took}");
    assert!(world.overlaps().is_empty());
    assert_eq!((world.wasted(), world.counted(|c| c.late)), (0, 0));
}

#[test]
fn clock_errors_beyond_the_guard_are_seen() {
    let mut c = config();
    c.clock_error = Duration::from_us(20);
    let mut world = World::new(4, c);
    world.hosts[1].clock.offset = Duration::from_us(20);
    world.all_to_all(10 * SLOT_BYTES);
    world.run_until_empty(Duration::from_ms(50));
    assert!(!world.overlaps().is_empty());
}

#[test]
fn a_restarted_host_takes_up_again() {
    let mut world = World::new(6, config());
    world.network.lost = 20;
    world.all_to_all(40 * SLOT_BYTES);
    for (k, at) in [(1, 7), (2, 23), (3, 24)] {
        world.run(Duration::from_ms(at), |_| false);
        world.restart_host(2, k);
    }
    let took = world.run_until_empty(Duration::from_ms(500));
    assert!(took < period() * 200 + Duration::from_ms(60), "{took}");
    assert!(world.overlaps().is_empty());
}

#[test]
fn a_restarted_controller_takes_up_again() {
    let mut world = World::new(6, config());
    world.all_to_all(40 * SLOT_BYTES);
    world.run(Duration::from_ms(23), |_| false);
    world.restart_controller(1);
    let took = world.run_until_empty(Duration::from_ms(500));
    assert!(took < period() * 200 + config().memory() * 2, "{took}");
    assert!(world.overlaps().is_empty());
    assert_eq!(world.wasted(), 0);
    assert!(world.counted(|c| c.withdrawn) > 0);
}

#[test]
fn late_grants_are_counted_and_not_executed() {
    let mut world = World::new(4, config());
    // The control network is three times slower than configured.
    world.network.latency = config().control_latency * 3;
    world.all_to_all(5 * SLOT_BYTES);
    world.run(Duration::from_ms(20), |_| false);
    assert!(world.counted(|c| c.late) > 0);
    assert_eq!(world.counted(|c| c.executed), 0);
    assert!(world.events.iter().any(|e| matches!(e, Event::GrantsLost { .. })));
    // Once it is as configured, everything is sent.
    world.network.latency = config().control_latency;
    world.run_until_empty(Duration::from_ms(80));
}

#[test]
fn an_idle_network_is_asked_once_a_slot_and_wakes() {
    let mut world = World::new(4, config());
    world.run(Duration::from_ms(100), |_| false);
    let rounds = 100_000.0 / 315.0;
    let per_round = world.messages as f64 / rounds / 4.0;
    assert!((1.9..2.1).contains(&per_round), "{per_round} messages per host and idle round");
    assert_eq!(world.counted(|c| c.fallbacks), 0);

    world.hosts[0].queues.insert(3, 1000);
    world.run(Duration::from_ms(101), |_| false);
    let first = world.sendings.first().expect("an opening");
    // At worst: an idle round until the report, then the time to the start of a round.
    let wait = Duration::from_ps(first.from) - Duration::from_ms(100);
    assert!(wait < config().idle + config().lead() + config().message_time(), "{wait}");
    assert_eq!(first.bytes, 1000);
}

#[test]
fn a_receive_buffer_never_overflows() {
    let mut world = World::new(5, config());
    let size = 2_000_000;
    // All hosts send to host 0, which reads 4 Gb/s of the 10 Gb/s that arrive.
    world.hosts[0].buffer = Some((size, 0, Rate::gbps(4)));
    for h in 1..5 {
        world.hosts[h].queues.insert(0, 10 * SLOT_BYTES);
    }
    let took = world.run_until_empty(Duration::from_ms(500));
    assert!(world.most_buffered <= size && world.most_buffered > size / 2, "{}", world.most_buffered);
    let ideal = Rate::gbps(4).time_for(timeplane_model::Bytes::new(40 * SLOT_BYTES));
    assert!(took < ideal.scale(1.6), "{took} of {ideal}");
}

#[test]
fn nothing_is_planned_over_dead_links() {
    let mut world = World::new(4, config());
    world.all_to_all(200 * SLOT_BYTES);
    let start = Duration::from_us(100);
    world.run(start, |_| false);
    // The wire of host 3, named by one of its links.
    world.controller.handle(Time::ZERO + start, Input::Down(vec![LinkId(6)]), &mut Vec::new());
    world.run(Duration::from_ms(160), |_| false);
    let meets = |w: &World| {
        let to_3 = (0..3).map(|h| w.hosts[h].queues.get(&3).copied().unwrap_or(0));
        (to_3.collect::<Vec<_>>(), w.hosts[3].queues.values().sum::<u64>())
    };
    // The round planned before may continue; after it, nothing is sent there. All others are
    // served.
    let (to, from) = meets(&world);
    assert!(to.iter().all(|b| *b > 100 * SLOT_BYTES) && from > 300 * SLOT_BYTES, "{to:?} {from}");
    let left: u64 = to.iter().sum::<u64>() + from;
    assert_eq!(world.waiting(), left);
    let end = Duration::from_ms(160);
    world.controller.handle(Time::ZERO + end, Input::Down(Vec::new()), &mut Vec::new());
    world.run_until_empty(Duration::from_ms(400));
    assert!(world.overlaps().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_demand_drains_whatever_happens_to_messages(
        demand in proptest::collection::vec((0u32..6, 0u32..6, 1u64..20 * SLOT_BYTES), 1..40),
        later in proptest::collection::vec((0u32..6, 0u32..6, 1u64..5 * SLOT_BYTES), 0..10),
        (lost, doubled) in (0u64..300, 0u64..300),
        offsets in proptest::collection::vec(-7_000i64..=7_000, 7),
        slots in 1u32..40,
        (latency, compute) in (1i64..400, 0i64..1000),
    ) {
        let mut c = config();
        c.slots.slots = slots;
        c.clock_error = Duration::from_us(7);
        c.control_latency = Duration::from_us(latency);
        c.compute_time = Duration::from_us(compute);
        let mut world = World::new(6, c);
        world.network.lost = lost;
        world.network.doubled = doubled;
        for (host, offset) in world.hosts.iter_mut().zip(&offsets) {
            host.clock.offset = Duration::from_ns(*offset);
        }
        world.controller_clock.offset = Duration::from_ns(offsets[6]);
        for (i, j, b) in demand.into_iter().filter(|(i, j, _)| i != j) {
            *world.hosts[i as usize].queues.entry(j).or_default() += b;
        }
        world.run(Duration::from_ms(13), |_| false);
        for (i, j, b) in later.into_iter().filter(|(i, j, _)| i != j) {
            *world.hosts[i as usize].queues.entry(j).or_default() += b;
        }
        world.run_until_empty(Duration::from_secs(20));
        prop_assert!(world.overlaps().is_empty());
        prop_assert_eq!(world.wasted(), 0);
        prop_assert_eq!(world.counted(|c| c.late + c.missed + c.refused), 0);
    }
}

#[test]
fn a_host_that_is_asked_seldom_reports_the_first_data_at_once() {
    let reporting = Reporting { after_idle: Some(Duration::from_ms(100)), ..Reporting::default() };
    let (fallback, start) = (Duration::from_ms(100), Time::ZERO);
    let mut host = HostAgent::new(HostConfig { host: HostId(0), epoch: 0, start, fallback, reporting, signals: None });
    let mut out = vec![];
    let mut reads = |host: &mut HostAgent, input| {
        out.clear();
        host.handle(start, input, &mut out);
        out.iter().filter(|o| matches!(o, Output::ReadBacklog(_))).count()
    };
    let waiting = Backlog::of_bytes([(HostId(1), Bytes::new(9000))]);
    assert_eq!(reads(&mut host, Input::Changed), 1);
    reads(&mut host, Input::Backlog(waiting));
    // The controller knows of a backlog, and asks in time.
    assert_eq!(reads(&mut host, Input::Changed), 0);
    reads(&mut host, Input::Backlog(Backlog::default()));
    assert_eq!(reads(&mut host, Input::Changed), 1);
}

#[test]
fn a_host_bears_the_longest_times_that_a_controller_can_name() {
    let longest = Duration::from_ps(i64::MAX);
    let reporting = Reporting { after_idle: Some(longest), ..Reporting::default() };
    let config =
        HostConfig { host: HostId(0), epoch: 0, start: Time::ZERO, fallback: longest, reporting, signals: None };
    let mut host = HostAgent::new(config);
    host.handle(Time::ZERO, Input::Due, &mut Vec::new());
    assert_eq!(host.deadline(), Some(Time::MAX));
}
