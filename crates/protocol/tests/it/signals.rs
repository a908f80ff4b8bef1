//! Tests of slots that frames open and close, in virtual time.

use crate::common::{Clock, GUARD, OPEN, RATE, SLOT_BYTES, World, parameters};
use proptest::prelude::*;
use std::sync::Arc;
use timeplane_model::{
    Backlog, Bytes, Duration, Fabric, Framing, HostId, LinkSpec, PathTag, Plan, Rate, ScheduleEntry, Slot, Switch,
    Time, Transmission,
};
use timeplane_protocol::{
    Address, Agent, BacklogReport, Input, Message, Output, Pfc, SignalConfig, SlotController, SlotControllerConfig,
};
use timeplane_schedule::{Scheduler, SlotParameters, Standing, WeightedRoundRobin};

const US: Duration = Duration::from_us(1);
/// Maximum latency one way: frames that are sent together arrive within half of it.
const LATENCY: Duration = Duration::from_us(14);
const SKEW: Duration = Duration::from_us(7);

fn config() -> SlotControllerConfig {
    let signals = SignalConfig { hold: US * 3_355, slack: SKEW, delay: LATENCY - SKEW / 2 };
    SlotControllerConfig { control_latency: LATENCY, signals: Some(signals), ..SlotControllerConfig::new(parameters()) }
}
fn period() -> Duration {
    OPEN + GUARD
}
/// Unrelated clocks: off by up to 2 s, with a drift of up to 100 us per second.
fn astray(world: &mut World) {
    for (h, host) in world.hosts.iter_mut().enumerate() {
        let h = h as i64;
        host.clock = Clock { offset: Duration::from_ms((h * 37 % 41 - 20) * 100), ppm: h * 13 % 21 * 10 - 100 };
    }
}

#[test]
fn clocks_do_not_matter() {
    for hosts in [2, 8, 24] {
        let mut world = World::new(hosts, config());
        astray(&mut world);
        // First reports follow the hosts' clocks; later ones are requested.
        world.run(US * 2_000, |_| false);
        world.all_to_all(10 * SLOT_BYTES);
        let ideal = period() * (10 * (i64::from(hosts) - 1));
        let took = world.run_until_empty(ideal * 3) - US * 2_000;
        let start_up = config().idle + config().lead() + config().message_time() * 3;
        println!("{hosts} hosts: {took} of {ideal}");
        // The last bytes of a pair can appear one report later: bytes in flight during a report
        // count twice.
        assert!(took < ideal.scale(1.02) + start_up + period() * 2, "{took} of {ideal}");
        assert!(world.overlaps().is_empty());
        // Two frames per slot and host.
        world.run(took + US * 2_000 + period() * 80, |_| false);
        assert_eq!(world.counted(|c| c.signals), 2 * world.sendings.len() as u64);
        assert_eq!(world.counted(|c| c.late + c.refused + c.stale), 0);
    }
}

#[test]
fn lost_frames_cost_their_slots_and_nothing_else() {
    for lost in [10, 50, 200] {
        let mut world = World::new(12, config());
        astray(&mut world);
        world.network.lost = lost;
        world.network.doubled = 50;
        world.all_to_all(20 * SLOT_BYTES);
        let ideal = period() * 220;
        let took = world.run_until_empty(ideal * 10);
        println!("{lost} of 1000 lost: {took} of {ideal}");
        assert!(took < ideal.scale(1.0 + 8.0 * lost as f64 / 1000.0) + Duration::from_ms(30), "{took} of {ideal}");
        assert_eq!(world.overlaps().len(), 0);
        // Whatever was lost, no gate is open for longer than a slot and the slack.
        assert!(world.sendings.iter().all(|s| Duration::from_ps(s.until - s.from) <= OPEN + SKEW + US));
        assert!(world.counted(|c| c.stale) > 0, "doubles are dropped");
    }
}

/// With a guard below the skew of two frames, openings overlap: the check above can fail.
#[test]
fn a_guard_shorter_than_the_skew_is_seen() {
    let slots = SlotParameters { guard: US * 3, ..parameters() };
    let mut world = World::new(6, SlotControllerConfig { slots, ..config() });
    world.all_to_all(20 * SLOT_BYTES);
    world.run_until_empty(Duration::from_ms(100));
    assert!(!world.overlaps().is_empty());
}

#[test]
fn without_a_controller_nobody_sends_and_with_one_nobody_is_muted() {
    // The controller fails while a slot is open, between two slots, before the first frame and
    // later.
    for killed in [200, 1_000, 1_003, 1_160, 7_000, 9_446] {
        let mut world = World::new(6, config());
        astray(&mut world);
        world.network.lost = 20;
        world.all_to_all(40 * SLOT_BYTES);
        let killed = US * killed;
        world.run(killed, |_| false);
        world.dead = true;
        world.run(killed + Duration::from_ms(20), |_| false);
        let silent = killed + LATENCY + OPEN + SKEW + US;
        assert!(world.sendings.iter().all(|s| s.until <= silent.as_ps()), "after {killed}");
        let waits = world.waiting();
        world.restart_controller(1);
        let took = world.run_until_empty(Duration::from_ms(500));
        let ideal = Duration::from_ps(i64::try_from(waits / SLOT_BYTES / 6 + 1).unwrap() * period().as_ps());
        let bound = killed + Duration::from_ms(20) + config().memory() + config().fallback() + ideal.scale(1.4);
        assert!(took < bound, "killed at {killed}: {took} of {bound}");
        assert!(world.overlaps().is_empty());
        assert!((0..6).all(|h| world.sendings.iter().any(|s| s.source == h && s.from > silent.as_ps())));
    }
}

/// A new controller's frames count; the predecessor's frames in flight do not.
#[test]
fn a_controller_that_restarts_at_once_meets_nobody() {
    for killed in [1_000, 1_003, 1_160, 5_000] {
        let mut world = World::new(6, config());
        world.all_to_all(40 * SLOT_BYTES);
        world.run(US * killed, |_| false);
        world.restart_controller(1);
        let took = world.run_until_empty(Duration::from_ms(500));
        assert!(took < period() * 200 + config().memory() * 2, "{took}");
        assert!(world.overlaps().is_empty());
    }
}

/// Limits of bytes come as grants by signal, because frames cannot contain them.
#[test]
fn a_receive_buffer_never_overflows() {
    let mut world = World::new(5, SlotControllerConfig { receive_buffers: true, ..config() });
    astray(&mut world);
    let size = 2_000_000;
    world.hosts[0].buffer = Some((size, 0, Rate::gbps(4)));
    for h in 1..5 {
        world.hosts[h].queues.insert(0, 10 * SLOT_BYTES);
    }
    let took = world.run_until_empty(Duration::from_ms(500));
    assert!(world.most_buffered <= size && world.most_buffered > size / 2, "{}", world.most_buffered);
    let ideal = Rate::gbps(4).time_for(Bytes::new(40 * SLOT_BYTES));
    assert!(took < ideal.scale(1.6), "{took} of {ideal}");
}

/// Two edge switches with three and two hosts.
fn two_edges() -> Arc<Fabric> {
    let link = LinkSpec { rate: RATE, propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
    Arc::new(Fabric::tree(2, 3, Switch::default(), link, link).unwrap())
}

struct Fixed(Vec<ScheduleEntry>);
impl Scheduler for Fixed {
    fn plan(&mut self, _: &timeplane_model::Demand, _: &Fabric, _: &Standing) -> Plan {
        Plan::Slots(self.0.clone())
    }
}

fn send(source: u32, destination: u32) -> Transmission {
    Transmission {
        source: HostId(source),
        destination: HostId(destination),
        class: timeplane_model::Class(0),
        path: None,
        rate: None,
        bytes: None,
    }
}

/// Frames in the order of sending: time, host, class.
fn frames(controller: &mut SlotController, until: Time) -> Vec<(Time, u32, Option<u16>, Duration)> {
    let mut frames = Vec::new();
    let mut out = Vec::new();
    while let Some(due) = controller.deadline().filter(|d| *d <= until) {
        controller.handle(due, Input::Due, &mut out);
        for output in out.drain(..) {
            if let Output::Send { to: Address::Host(h), message: Message::Pfc(Pfc { open, hold, .. }) } = output {
                frames.push((due, h.0, open, hold));
            }
        }
    }
    frames
}

#[test]
fn frames_go_switch_by_switch_in_turn() {
    let fabric = two_edges();
    // Below each switch, a ring.
    let ring = [send(0, 1), send(1, 2), send(2, 0), send(3, 4), send(4, 5), send(5, 3)];
    let entry = ScheduleEntry { slot: Slot::new(ring.to_vec(), OPEN, &fabric).unwrap(), guard: GUARD };
    let c = config();
    let mut controller = SlotController::new(c, Box::new(Fixed(vec![entry; 7])), Arc::clone(&fabric));
    let first = Time::ZERO + c.message_time() + c.lead();
    let frames = frames(&mut controller, first + period() * 7 - US);
    assert_eq!(frames.len(), 7 * 12);
    for (slot, frames) in frames.chunks(12).enumerate() {
        let (opens, closes) = frames.split_at(6);
        let start = first + period() * slot as i64;
        assert!(opens.iter().all(|f| f.0 == start && f.3 == OPEN + SKEW));
        assert!(closes.iter().all(|f| f.0 == start + OPEN && f.2.is_none() && f.3 == Duration::ZERO));
        let order: Vec<u32> = opens.iter().map(|f| f.1).collect();
        assert_eq!(order, closes.iter().map(|f| f.1).collect::<Vec<_>>());
        let turn = slot as u32 + 1;
        let below = |edge: u32| (0..3).map(move |k| 3 * edge + (turn + k) % 3);
        let expected: Vec<u32> = (0..2).flat_map(|k| below((turn + k) % 2)).collect();
        assert_eq!(order, expected, "slot {slot}");
        assert!(opens.iter().all(|f| f.2 == Some((f.1 / 3 * 3 + (f.1 + 1) % 3) as u16)));
    }
}

/// Several transmissions of a host in a slot, with paths and rates: one frame opens them all, as
/// the round's message says.
#[test]
fn what_a_frame_cannot_say_comes_as_a_grant() {
    let fabric = two_edges();
    let half = |t: Transmission| Transmission { rate: Some(Rate::gbps(5)), ..t };
    let tagged = Transmission { path: Some(PathTag::new(0, 0)), bytes: Some(Bytes::kb(9)), ..send(1, 5) };
    let slot = Slot::new(vec![half(send(0, 2)), half(send(0, 1)), tagged, send(3, 4)], OPEN, &fabric).unwrap();
    let c = config();
    let entries = vec![ScheduleEntry { slot, guard: GUARD }; 2];
    let mut controller = SlotController::new(c, Box::new(Fixed(entries)), Arc::clone(&fabric));
    let mut world: Vec<_> = (0..6)
        .map(|h| timeplane_protocol::HostAgent::new(crate::common::host_config(h, 6, 0, Time::ZERO, &c)))
        .collect();
    let (mut out, mut opened) = (vec![], vec![]);
    for _ in 0..40 {
        let due = controller.deadline().unwrap();
        controller.handle(due, Input::Due, &mut out);
        for output in std::mem::take(&mut out) {
            let Output::Send { to: Address::Host(h), message } = output else { continue };
            // At a host whose clock differs.
            let input = Input::Message { from: Address::Controller, message };
            let mut answers = vec![];
            world[h.index()].handle(due - Duration::from_secs(5), input, &mut answers);
            for answer in answers {
                if let Output::Open(o) = answer {
                    opened.push((h.0, o.destination.0, o.rate, o.bytes, o.medium));
                }
            }
        }
    }
    use timeplane_model::Medium::{Fabric as ByRoute, Path};
    let five = Some(Rate::gbps(5));
    let expected = [
        (0, 1, five, None, ByRoute),
        (0, 2, five, None, ByRoute),
        (1, 5, None, Some(Bytes::kb(9)), Path(PathTag::new(0, 0))),
        (3, 4, None, None, ByRoute),
    ];
    assert!(opened.len() >= 16, "{opened:?}");
    for slot in opened.chunks_exact(4) {
        let mut slot = slot.to_vec();
        slot.sort_by_key(|s| (s.0, s.1));
        assert_eq!(slot, expected);
    }
}

/// A driver that calls late opens gates for the rest, and not after the end.
#[test]
fn frames_that_are_called_for_late_open_for_less() {
    let fabric = two_edges();
    let entry = ScheduleEntry { slot: Slot::new(vec![send(0, 1)], OPEN, &fabric).unwrap(), guard: GUARD };
    let c = config();
    let mut controller = SlotController::new(c, Box::new(Fixed(vec![entry; 3])), Arc::clone(&fabric));
    let first = Time::ZERO + c.message_time() + c.lead();
    let mut out = vec![];
    controller.handle(Time::ZERO + c.message_time(), Input::Due, &mut out);
    controller.handle(first - c.message_time(), Input::Due, &mut out);
    out.clear();
    let mut holds = |controller: &mut SlotController, at| {
        out.clear();
        controller.handle(at, Input::Due, &mut out);
        let hold = |o: &Output| match o {
            Output::Send { message: Message::Pfc(p), .. } => Some((p.open, p.hold)),
            _ => None,
        };
        out.iter().filter_map(hold).collect::<Vec<_>>()
    };
    assert_eq!(holds(&mut controller, first + US * 100), [(Some(1), OPEN - US * 100 + SKEW)]);
    // The second slot is over: only closing frames are sent for both slots.
    assert_eq!(holds(&mut controller, first + period() * 2 - GUARD), [(None, Duration::ZERO); 2]);
}

#[test]
fn a_report_counts_from_the_message_that_asks() {
    let fabric = two_edges();
    let c = config();
    let mut controller = SlotController::new(c, Box::new(WeightedRoundRobin::new(c.slots)), Arc::clone(&fabric));
    let mut out = vec![];
    let backlog = Backlog::of_bytes([(HostId(1), Bytes::new(375_000 * 4))]);
    // Reports dated in the future or in the past by wrong clocks.
    for (sequence, taken_at) in [Time::MAX, Time::from_ps(i64::MIN / 2)].into_iter().enumerate() {
        let report = BacklogReport {
            epoch: 0,
            sequence: sequence as u64,
            taken_at,
            obeys: 0,
            heard: 0,
            backlog: backlog.clone(),
        };
        let from = Address::Host(HostId(0));
        controller.handle(
            Time::ZERO + US,
            Input::Message { from, message: Message::Report(Box::new(report)) },
            &mut out,
        );
    }
    for _ in 0..60 {
        let due = controller.deadline().unwrap();
        controller.handle(due, Input::Due, &mut out);
    }
    // The demand is planned once.
    assert_eq!(controller.counters().slots, 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_demand_drains_whatever_happens_to_frames(
        demand in proptest::collection::vec((0u32..6, 0u32..6, 1u64..20 * SLOT_BYTES), 1..40),
        (lost, doubled) in (0u64..300, 0u64..300),
        offsets in proptest::collection::vec((-2_000i64..=2_000, -100i64..=100), 6),
        slots in 1u32..40,
        compute in 0i64..1000,
        killed in 0i64..20_000,
    ) {
        let mut c = config();
        c.slots.slots = slots;
        c.compute_time = US * compute;
        let mut world = World::new(6, c);
        world.network.lost = lost;
        world.network.doubled = doubled;
        for (host, (ms, ppm)) in world.hosts.iter_mut().zip(&offsets) {
            host.clock = Clock { offset: Duration::from_ms(*ms), ppm: *ppm };
        }
        for (i, j, b) in demand.into_iter().filter(|(i, j, _)| i != j) {
            *world.hosts[i as usize].queues.entry(j).or_default() += b;
        }
        world.run(US * killed, |_| false);
        world.restart_controller(1);
        world.run_until_empty(Duration::from_secs(20));
        prop_assert!(world.overlaps().is_empty());
        prop_assert_eq!(world.counted(|c| c.late + c.missed + c.refused), 0);
    }
}
