//! Several TDMA controllers, each in charge of a part of the hosts: their clocks, their messages,
//! and what smaller parts save.
//!
//! The root controller plans; relays pass grants on to their hosts.

use crate::common::{Ran, load, run};
use timeplane_model::{Bytes, Duration};
use timeplane_scenario::PlanSpec;

/// Application bytes of a full frame of 9000 B, and its bytes on the wire.
const PAYLOAD: u64 = 9000 - 16;
const FRAME: u64 = 9038;

/// All to all between twelve hosts under four switches; `keys` are those of the plan, in addition
/// to slots of 300 us.
fn shuffle(frames: u64, keys: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.tree = {{ edges = 4, hosts_per_edge = 3 }}
        rate = "10 Gb/s"
        mtu = "9000 B"
        [workload.shuffle]
        bytes = "{} B"
        [scheme.slots]
        transport.raw = {{}}
        plan.tdma = {{ slot = "300 us", {keys} }}
        "#,
        frames * PAYLOAD
    )
}

fn least_guard(text: &str) -> Duration {
    let loaded = load(text);
    let Some(PlanSpec::Tdma(slots)) = &loaded.scenario.scheme["slots"].plan else { panic!("a plan of slots") };
    slots.least_guard(&loaded.scenario.fabric.build().unwrap(), Bytes::new(FRAME)).expect("signals")
}

fn collisions(ran: &Ran) -> u64 {
    assert_eq!(ran.summary.flows.unfinished, 0);
    assert!(ran.summary.dropped_packets.is_empty(), "{:?}", ran.summary.dropped_packets);
    ran.summary.collisions.expect("a run of slots counts them")
}

fn guard(of: Duration) -> String {
    format!("guard = \"{} ps\"", of.as_ps())
}

/// The guard of the formula suffices for the largest clock difference. Without its part for clocks,
/// hosts send in each other's slots.
#[test]
fn the_guard_covers_the_clocks_of_controllers() {
    let keys = r#"signals = { reaction = "immediate" }, controllers = { count = 4, clock_error = "20 us" }"#;
    let least = least_guard(&shuffle(1, &format!(r#"guard = "1 ms", {keys}"#)));
    let alone = least_guard(&shuffle(1, r#"guard = "1 ms", signals = { reaction = "immediate" }"#));
    // Twice the error more, and the skew of frames to 3 hosts instead of 12: 84 B take 67.2 ns.
    assert_eq!(least - alone, Duration::from_us(40) - Duration::from_ps(9 * 67_200));
    let with = |of: Duration, seed| collisions(&run(&shuffle(84, &format!("{}, {keys}", guard(of))), "slots", seed));
    let enough: Vec<u64> = (1..=10).map(|seed| with(least, seed)).collect();
    assert_eq!(enough, [0; 10], "{least}");
    let short = least - Duration::from_us(30);
    let met: u64 = (1..=10).map(|seed| with(short, seed)).sum();
    println!("four controllers off by 20 us: no collision with {least}, {met} with {short}");
    assert!(met > 0);
    // With gates by the hosts' clocks, those of controllers do not count.
    let by_clock = r#"guard = "25 us", controllers = { count = 4, clock_error = "20 us" }"#;
    assert_eq!(collisions(&run(&shuffle(84, by_clock), "slots", 1)), 0);
}

/// A frame every 4 us: frames to twelve hosts one after the other need 44 us of guard, frames to
/// three hosts 8 us.
#[test]
fn frames_leave_side_by_side() {
    let with = |controllers: &str| {
        let keys = format!(r#"signals = {{ reaction = "immediate", frame_gap = "4 us" }}{controllers}"#);
        let least = least_guard(&shuffle(1, &format!(r#"guard = "1 ms", {keys}"#)));
        let ran = run(&shuffle(420, &format!("{}, {keys}", guard(least))), "slots", 1);
        assert_eq!(collisions(&ran), 0, "{least}");
        (least, ran)
    };
    let (one, alone) = with("");
    let (four, shared) = with(r#", controllers = { count = 4, clock_error = "1 us" }"#);
    let took = |ran: &Ran| ran.summary.completion_ps.unwrap();
    println!("one controller: guard {one}, {} ps; four: guard {four}, {} ps", took(&alone), took(&shared));
    let frame = Duration::from_ps(67_200) + Duration::from_us(4);
    assert_eq!(one - four, frame * 9 - Duration::from_us(2));
    assert!(took(&shared) < took(&alone));
    // One message to each relay per round, and one from each with its reports.
    let peers = &shared.summary.control_messages["peers"];
    let grants = &shared.summary.control_messages["grants"];
    assert!(peers.messages * 12 <= grants.messages * 9, "{} to {}", peers.messages, grants.messages);
}

/// Lost messages between controllers cost slots of their parts, and never a collision.
#[test]
fn losses_between_controllers_cost_slots_alone() {
    for keys in [r#"signals = { reaction = "interface" }"#, r#"clock_error = "2 us""#] {
        let mut took = Vec::new();
        for loss in ["0.0", "0.2", "0.5"] {
            let controllers = format!(
                r#"{keys}, controllers = {{ count = 4, clock_error = "2 us", latency = "50 us", loss = {loss} }}"#
            );
            for seed in 1..=3 {
                let ran = run(&shuffle(126, &format!(r#"guard = "45 us", {controllers}"#)), "slots", seed);
                assert_eq!(collisions(&ran), 0, "{controllers}");
                let lost = ran.summary.control_messages["peers"].lost;
                assert_eq!((lost > 0, ran.summary.control_messages["grants"].lost), (loss != "0.0", 0));
                took.push(ran.summary.completion_ps.unwrap() / 1_000_000);
            }
        }
        println!("{keys}: {took:?} us with 0, 20 and 50 % lost between controllers");
        assert!(took[..3].iter().max() < took[6..].iter().min());
    }
}

/// The planning controller fails, and its standby plans through the same relays.
#[test]
fn a_standby_takes_the_relays_over() {
    for keys in [r#"signals = { reaction = "interface" }"#, r#"clock_error = "2 us""#] {
        for (at, until) in [(3, 300), (12, 14), (9, 40)] {
            let keys = format!(
                r#"guard = "45 us", round_slots = 8, {keys}, standby = {{}}, controllers = {{ count = 4, clock_error = "2 us" }}"#
            );
            let failure = format!(
                "[[failure]]\nelement = \"controller\"\nat = \"{at} ms\"\nuntil = \"{until} ms\"\n[scheme.slots]"
            );
            let text = shuffle(126, &keys).replace("[scheme.slots]", &failure);
            let ran = run(&text, "slots", 1);
            assert_eq!(collisions(&ran), 0, "{keys}, away from {at} ms to {until} ms");
            assert!(ran.summary.completion_ps.unwrap() < 150_000_000_000, "it does not wait for the first one");
            // One of twenty messages is lost, frames among them.
            let lossy = text.replace("standby = {}", "control_loss = 0.05, standby = {}");
            for seed in 2..=4 {
                let ran = run(&lossy, "slots", seed);
                assert_eq!(collisions(&ran), 0, "{keys}, away from {at} ms to {until} ms, with losses, seed {seed}");
                assert!(ran.summary.control_messages["peers"].lost > 0);
            }
        }
    }
}

/// While one of four is away, its hosts have no slots, and the others continue. It resumes with the
/// next round.
#[test]
fn a_relay_that_is_lost_mutes_its_part_alone() {
    for keys in [r#"signals = { reaction = "interface", hold = "400 us" }"#, r#"clock_error = "2 us""#] {
        let keys =
            format!(r#"guard = "45 us", round_slots = 8, {keys}, controllers = {{ count = 4, clock_error = "2 us" }}"#);
        let failure = "[[failure]]\nelement = { relay = 1 }\nat = \"4 ms\"\nuntil = \"20 ms\"\n[scheme.slots]";
        let ran = run(&shuffle(126, &keys).replace("[scheme.slots]", failure), "slots", 1);
        assert_eq!(collisions(&ran), 0, "{keys}");
        let (start, source) = (ran.column("slots", "start_ps"), ran.column("slots", "source"));
        let sent = ran.column("slots", "sent_bytes");
        let used = |part: i64, from: i64, until: i64| {
            let ms = 1_000_000_000;
            (0..start.len())
                .filter(|&i| source[i] / 3 == part && (from * ms..until * ms).contains(&start[i]) && sent[i] > 0)
                .count()
        };
        // By clocks, slots that it has passed on are still used: the current round and the next
        // one.
        assert!(used(1, 0, 4) > 0 && used(1, 10, 20) == 0, "{keys}");
        assert!([0, 2, 3].iter().all(|part| used(*part, 10, 20) > 10), "{keys}");
        // Two rounds after its return: hosts that have heard nothing report by then.
        assert!(used(1, 20, 30) > 10, "{keys}");
    }
}
