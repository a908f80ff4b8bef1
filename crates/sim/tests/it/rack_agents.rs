//! Racks as agents, each with its own clock, in virtual time: against the simulator's racks, and
//! with clocks, wake-ups and switches that are wrong.

use crate::common::{Ran, flow_list, run};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Rate, Time};
use timeplane_protocol::{NextPacket, Rack, RackConfig, RackCounts, RackPacket};
use timeplane_scenario::{Late, RotorRouting, Stepping};
use timeplane_schedule::Algorithms;
use timeplane_schedule::rotor::routing::RoutingParameters;
use timeplane_schedule::rotor::{Cycle, RotorSchedule, RotorTiming, matchings};

const RACKS: u32 = 6;
const RATE: Rate = Rate::gbps(10);
const LIGHT: Duration = Duration::from_ns(250);
const SLICE: Duration = Duration::from_us(20);
const DARK: Duration = Duration::from_us(2);
/// A frame of the MTU, as nothing is added to its 1500 B.
const LINE: Duration = Duration::from_ns(1_200);
const PAYLOAD: u64 = 1472;

/// A flow's number and the offset in it.
type Piece = (usize, u64);
/// A packet at a rack.
type Packet = RackPacket<Piece>;

/// What is to happen at a rack, by the true time. Ties are in the order of their making.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Arrives(u32, u16, Piece),
    Wakes,
}

/// What racks are like that are not perfect.
#[derive(Clone, Default)]
struct Faults {
    /// By rack, how much its clock is ahead.
    ahead: Vec<Duration>,
    /// How late racks wake up.
    wake: Duration,
    /// A rack that does not run in this time. Packets that come then are lost.
    down: Option<(u32, Time, Time)>,
    /// The switch turns this much later than planned, and is dark for this time.
    switch: Option<(Duration, Duration)>,
    /// Whether racks find that some packets have not left.
    stops: bool,
    late: Late,
    queue: Option<Bytes>,
}

struct Ended {
    /// Completion times of flows from one rack to the next, with the hosts' wires.
    fct: BTreeMap<usize, Duration>,
    delivered: u64,
    dark: u64,
    /// Frames that a switch led to another rack than their own.
    misled: u64,
    /// Frames that came to a rack that was down.
    missed: u64,
    counts: Vec<RackCounts>,
    waiting: u64,
}

impl Ended {
    fn sum(&self, of: impl Fn(&RackCounts) -> u64) -> u64 {
        self.counts.iter().map(of).sum()
    }
}

type Flow = (i64, u32, u32, u64);

/// Runs racks of one host each until `end`.
fn racks(routing: &RotorRouting, flows: &[Flow], end: Duration, faults: &Faults) -> Ended {
    let schedule =
        Arc::new(RotorSchedule::spread(&matchings::round_robin(RACKS).unwrap(), 1, Stepping::Together).unwrap());
    let parameters = RoutingParameters { schedule: Arc::clone(&schedule), slice: SLICE, rate: RATE, whole: true };
    let routing: Arc<dyn timeplane_schedule::rotor::routing::Routing> =
        routing.build(&parameters, &Algorithms::built_in().routings).unwrap().into();
    let cycle = Arc::new(Cycle::new(Arc::clone(&schedule), RotorTiming::new(SLICE, DARK).unwrap(), LIGHT));
    let (later, dark) = faults.switch.unwrap_or((Duration::ZERO, DARK));
    let switch = Cycle::new(schedule, RotorTiming::new(SLICE, dark).unwrap(), LIGHT);
    let config = |rack| RackConfig {
        rack,
        rate: RATE,
        catch_up: faults.wake,
        late: faults.late,
        queue: faults.queue,
        in_turn: false,
    };
    let mut racks: Vec<Rack<Piece>> =
        (0..RACKS).map(|r| Rack::new(config(r), Arc::clone(&cycle), Arc::clone(&routing))).collect();
    let mut events = BinaryHeap::new();
    let mut count = 0_u64;
    let mut push = |events: &mut BinaryHeap<_>, at: Time, rack: u32, what| {
        count += 1;
        events.push(Reverse((at, count, rack, what)));
    };
    // Packets leave their hosts one after the other.
    let mut free = [Time::ZERO; RACKS as usize];
    let mut sorted: Vec<usize> = (0..flows.len()).collect();
    sorted.sort_by_key(|&f| flows[f].0);
    let mut began = 0;
    for flow in sorted {
        let (start, from, to, bytes) = flows[flow];
        for offset in (0..bytes).step_by(PAYLOAD as usize) {
            let free = &mut free[from as usize];
            *free = (*free).max(Time::from_ps(start)) + RATE.time_for(Bytes::new((bytes - offset).min(PAYLOAD) + 28));
            push(&mut events, *free + LIGHT, from, Happening::Arrives(to, 0, (flow, offset)));
            began += 1;
        }
    }
    let is_down = |rack, at: Time| faults.down.is_some_and(|(r, from, to)| r == rack && (from..to).contains(&at));
    let mut ended =
        Ended { fct: BTreeMap::new(), delivered: 0, dark: 0, misled: 0, missed: 0, counts: Vec::new(), waiting: 0 };
    let mut received = vec![0; flows.len()];
    // Wires from racks to hosts, and the next look of each rack.
    let mut down_free = [Time::ZERO; RACKS as usize];
    let mut armed = [Time::MAX; RACKS as usize];
    let mut stopped = BTreeSet::new();
    let mut flying = 0;
    while let Some(Reverse((at, _, rack, what))) = events.pop() {
        if at > Time::ZERO + end {
            flying += u64::from(matches!(what, Happening::Arrives(..)));
            continue;
        }
        let ahead = faults.ahead.get(rack as usize).copied().unwrap_or_default();
        let now = at + ahead;
        if is_down(rack, at) {
            match what {
                Happening::Arrives(..) => ended.missed += 1,
                Happening::Wakes => {
                    armed[rack as usize] = faults.down.unwrap().2;
                    push(&mut events, armed[rack as usize], rack, Happening::Wakes);
                }
            }
            continue;
        }
        if what == Happening::Wakes {
            if armed[rack as usize] != at {
                continue;
            }
            armed[rack as usize] = Time::MAX;
        }
        if let Happening::Arrives(destination, progress, (flow, offset)) = what {
            let bytes = (flows[flow].3 - offset).min(PAYLOAD);
            if destination == rack {
                ended.delivered += 1;
                received[flow] += bytes;
                let down = &mut down_free[rack as usize];
                *down = (*down).max(at) + RATE.time_for(Bytes::new(bytes + 28));
                if received[flow] == flows[flow].3 {
                    ended.fct.insert(flow, *down + LIGHT - Time::from_ps(flows[flow].0));
                }
                continue;
            }
            let draw = timeplane_model::mix64((flow as u64) << 32 ^ offset);
            let wire = bytes as u32 + 28;
            let packet = Packet { destination, wire, progress, draw, age: Bytes::new(offset), content: (flow, offset) };
            racks[rack as usize].admit(now, packet);
        }
        while let NextPacket::Send { to, progress, packet } = racks[rack as usize].next(now, 0) {
            let line = RATE.time_for(Bytes::new(packet.wire.into()));
            if faults.stops && packet.content.1 % (7 * PAYLOAD) == 0 && !stopped.contains(&packet.content) {
                stopped.insert(packet.content);
                racks[rack as usize].has_missed(now, packet);
                continue;
            }
            // By the switch's time, a wire later.
            let [begin, end] = [at + LIGHT, at + LIGHT + line].map(|t| t - later);
            match switch.lit(begin, end, rack, 0) {
                None => ended.dark += 1,
                Some(other) if other != to => ended.misled += 1,
                Some(_) => {
                    let what = Happening::Arrives(packet.destination, progress, packet.content);
                    push(&mut events, at + line + LIGHT * 2, to, what);
                }
            }
        }
        if let Some(due) = racks[rack as usize].due(now) {
            // A rack that cannot send before its next look would look for ever.
            let due = due.max(now + Duration::from_ps(1)) - ahead + faults.wake;
            if due < armed[rack as usize] {
                armed[rack as usize] = due;
                push(&mut events, due, rack, Happening::Wakes);
            }
        }
    }
    ended.counts = racks.iter().map(Rack::counts).collect();
    ended.waiting = racks.iter().map(Rack::waiting).sum();
    let lost = ended.sum(RackCounts::lost) + ended.dark + ended.misled + ended.missed;
    assert_eq!(began, ended.delivered + lost + ended.waiting + flying, "packets are conserved");
    ended
}

/// Flows that start at odd times, so that no two events are at the same one.
fn random_flows(seed: u64, count: u64, within: Duration, most: u64) -> Vec<Flow> {
    let draw = |n: u64| timeplane_model::mix64(seed << 20 ^ n);
    let of = |n: u64| {
        let from = (draw(4 * n) % u64::from(RACKS)) as u32;
        let to = (from + 1 + (draw(4 * n + 1) % u64::from(RACKS - 1)) as u32) % RACKS;
        let start = (draw(4 * n + 2) % within.as_ps() as u64) as i64;
        (start, from, to, 1 + draw(4 * n + 3) % most)
    };
    (0..count).map(of).collect()
}

fn named(name: &str) -> RotorRouting {
    match name {
        "direct" => RotorRouting::Direct {},
        "vlb" => RotorRouting::Vlb { spread: Default::default() },
        _ => RotorRouting::Hoho { hops: 3 },
    }
}

fn simulated(name: &str, flows: &[Flow], late: &str) -> Ran {
    let file = format!("rack-agents-{name}-{late}.csv");
    flow_list(&file, flows);
    let routing = match name {
        "hoho" => "hoho.hops = 3".to_owned(),
        name => format!("{name} = {{}}"),
    };
    let text = format!(
        "[fabric]\nrate = \"10 Gb/s\"\npropagation = \"250 ns\"\nframing = \"none\"\n\
         topology.rotor = {{ racks = 6, hosts_per_rack = 1, switches = 1, slice = \"20 us\", dark = \"2 us\" }}\n\
         [workload.flows]\nfile = \"{file}\"\n[window]\ndrain = \"10 ms\"\n\
         [scheme.a]\ntransport.datagrams = {{}}\nrotor.routing.{routing}\nrotor.late = \"{late}\"\n"
    );
    run(&text, "a", 1)
}

/// The oracle shares the schedule and the routing with the agents. Queues, rates and times are its
/// own.
#[test]
fn racks_do_what_the_simulator_does() {
    for (late, rule) in [("reroute", Late::Reroute), ("bounce", Late::Bounce)] {
        for name in ["direct", "vlb", "hoho"] {
            let flows = random_flows(7, 120, Duration::from_ms(2), 20_000);
            let ran = simulated(name, &flows, late);
            let mut expected = BTreeMap::new();
            // The table numbers flows by their start.
            let mut order: Vec<usize> = (0..flows.len()).collect();
            order.sort_by_key(|&f| flows[f].0);
            for (flow, fct) in ran.column("flows", "flow").into_iter().zip(ran.nullable("flows", "fct_ps")) {
                if let Some(fct) = fct {
                    expected.insert(order[flow as usize], Duration::from_ps(fct));
                }
            }
            let faults = Faults { late: rule, ..Faults::default() };
            let found = racks(&named(name), &flows, Duration::from_ms(12), &faults);
            assert!(expected.len() > 60, "{name}: {} flows finish", expected.len());
            let same = expected.iter().filter(|(flow, fct)| found.fct.get(flow) == Some(fct)).count();
            println!("{name} {late}: {same} of {} flows; {} here", expected.len(), found.fct.len());
            assert_eq!(found.fct, expected, "{name} {late}");
            assert_eq!((found.dark, found.misled), (0, 0));
        }
    }
}

#[test]
fn load_balancing_carries_a_permutation_up_to_its_theory() {
    let end = Duration::from_ms(8);
    let open = (SLICE - DARK).as_ps() as f64 / SLICE.as_ps() as f64;
    let faults = Faults { late: Late::Bounce, queue: Some(Bytes::mb(100)), ..Faults::default() };
    // The share of packets from each rack to its neighbor that come, if they are this share of the
    // time in which circuits are open.
    let share = |name: &str, load: f64| {
        let every = (LINE.as_ps() as f64 / (load * open)) as i64;
        let count = end.as_ps() / every;
        let flows: Vec<Flow> = (0..count)
            .flat_map(|i| (0..RACKS).map(move |r| (i * every + i64::from(r), r, (r + 1) % RACKS, PAYLOAD)))
            .collect();
        racks(&named(name), &flows, end, &faults).delivered as f64 / flows.len() as f64
    };
    // A direct packet has one circuit of five. With load balancing, a fifth takes one hop and the
    // others two.
    for (name, most) in [("direct", 0.2), ("vlb", 1.0 / (2.0 - 0.2))] {
        let (below, above) = (share(name, 0.95 * most), share(name, 1.3 * most));
        assert!(below > 0.96, "{name}: {below} of what is below the limit");
        assert!(above < 0.9, "{name}: {above} of what is above it");
    }
}

#[test]
fn clocks_and_wake_ups_may_be_wrong_by_what_the_switch_leaves() {
    let quarter = DARK / 4;
    let flows = random_flows(3, 150, Duration::from_ms(2), 20_000);
    let of = |wrong: Duration, wake: Duration| {
        let ahead = (0..RACKS).map(|r| if r % 2 == 0 { wrong } else { Duration::ZERO - wrong }).collect();
        let switch = Some((quarter, DARK / 2));
        let faults = Faults { ahead, wake, switch, late: Late::Bounce, ..Faults::default() };
        racks(&named("vlb"), &flows, Duration::from_ms(15), &faults)
    };
    let within = of(quarter - Duration::from_ns(10), Duration::ZERO);
    assert_eq!((within.dark, within.misled), (0, 0));
    assert!(within.delivered > 900, "{}", within.delivered);
    assert_eq!(within.waiting, 0);
    // Racks do not send what would not be through by their own clock, however late they wake up.
    let woken_late = of(Duration::ZERO, Duration::from_us(3));
    assert_eq!((woken_late.dark, woken_late.misled), (0, 0));
    assert_eq!(woken_late.delivered, within.delivered);
    let beyond = of(DARK, Duration::ZERO);
    assert!(beyond.dark + beyond.misled > 10, "{} {}", beyond.dark, beyond.misled);
    // A clock that is wrong by a slice leads frames to others.
    let far = of(SLICE / 2, Duration::ZERO);
    assert!(far.misled > 100, "{}", far.misled);
}

#[test]
fn a_rack_that_was_down_goes_on_and_the_keys_say_what_is_late() {
    let flows = random_flows(5, 200, Duration::from_ms(2), 20_000);
    let of = |late| {
        let down = Some((2, Time::ZERO + Duration::from_us(700), Time::ZERO + Duration::from_us(1_300)));
        racks(&named("direct"), &flows, Duration::from_ms(15), &Faults { down, late, ..Faults::default() })
    };
    let [reroute, bounce, lose] = [Late::Reroute, Late::Bounce, Late::Lose].map(of);
    for ended in [&reroute, &bounce, &lose] {
        assert!(ended.missed > 0 && ended.counts[2].late > 0, "{:?}", ended.counts[2]);
        assert_eq!((ended.dark, ended.misled), (0, 0));
    }
    let stops = racks(
        &named("direct"),
        &flows,
        Duration::from_ms(15),
        &Faults { stops: true, late: Late::Bounce, ..Faults::default() },
    );
    assert_eq!((stops.waiting, stops.sum(RackCounts::lost), stops.dark, stops.misled), (0, 0, 0, 0));
    assert!(stops.sum(|c| c.late) > 200, "{}", stops.sum(|c| c.late));
    assert_eq!(bounce.sum(|c| c.lost_late), 0);
    assert!(lose.counts[2].lost_late > 0 && lose.delivered < bounce.delivered);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is wrong, packets are conserved: `racks` asserts it.
    #[test]
    fn packets_are_conserved(
        seed in 0u64..1000,
        name in proptest::sample::select(vec!["direct", "vlb", "hoho"]),
        late in proptest::sample::select(vec![Late::Reroute, Late::Bounce, Late::Lose]),
        queue in proptest::option::of(1_500u64..40_000),
        ahead in proptest::collection::vec(-30i64..30, RACKS as usize),
        wake in 0i64..30,
        down in 0u32..RACKS,
    ) {
        let flows = random_flows(seed, 80, Duration::from_ms(1), 30_000);
        let faults = Faults {
            ahead: ahead.into_iter().map(Duration::from_us).collect(),
            wake: Duration::from_us(wake),
            down: Some((down, Time::ZERO + Duration::from_us(300), Time::ZERO + Duration::from_us(600))),
            switch: None,
            stops: wake % 2 == 1,
            late,
            queue: queue.map(Bytes::new),
        };
        let first = racks(&named(name), &flows, Duration::from_ms(3), &faults);
        let again = racks(&named(name), &flows, Duration::from_ms(3), &faults);
        prop_assert_eq!(first.fct, again.fct);
    }
}
