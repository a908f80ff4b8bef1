//! Rotor switches through the whole simulator: times against arithmetic, throughput against the
//! theory of each routing, and books that balance whatever fails.

use crate::common::{Ran, assert_same, flow_list, run, try_run};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

/// A frame of the MTU takes 1.2 us at 10 Gb/s, as nothing is added to its 1500 B.
const LINE: i64 = 1_200_000;
/// 1472 B of payload in each.
const PAYLOAD: f64 = 1472.0;
const US: i64 = 1_000_000;

/// Racks at 10 Gb/s; a wire takes 250 ns.
fn fabric(topology: &str) -> String {
    format!(
        "[fabric]\nrate = \"10 Gb/s\"\npropagation = \"250 ns\"\nframing = \"none\"\ntopology.rotor = {{ {topology} }}\n"
    )
}

fn scheme(name: &str, routing: &str) -> String {
    format!("[scheme.{name}]\ntransport.datagrams = {{}}\n[scheme.{name}.rotor]\n{routing}\n")
}

/// The completion times of flows that start together, by flow.
fn fct(ran: &Ran) -> Vec<i64> {
    let mut flows: Vec<(i64, i64)> =
        ran.column("flows", "flow").into_iter().zip(ran.column("flows", "fct_ps")).collect();
    flows.sort_unstable();
    flows.into_iter().map(|f| f.1).collect()
}

/// Four racks, one switch: rack 0 meets rack 3 in the first slice, then 2, then 1.
#[test]
fn a_packet_leaves_with_the_first_circuit_to_its_rack() {
    flow_list("rotor-first.csv", &[(0, 0, 3, 100), (0, 0, 2, 100), (0, 0, 1, 100), (95_000_000, 0, 3, 1472)]);
    let text = fabric("racks = 4, hosts_per_rack = 1, switches = 1, slice = \"10 us\", dark = \"1 us\"")
        + "[workload.flows]\nfile = \"rotor-first.csv\"\n"
        + &scheme("direct", "routing.direct = {}");
    let line = |bytes: i64| (bytes + 28) * 800;
    let end = |open: i64, bytes: i64| open + 3 * 250_000 + 2 * line(bytes);
    // Slices begin at racks 250 ns earlier than at the switch. The second slice is open from 11 us
    // on, the third one from 21 us. The last flow comes at its rack after 96.45 us, in slice 9 of a
    // cycle of three, which is a first one. It is dark until 91 us.
    let first = line(100) + 250_000;
    let open = |slice: i64| slice * 10 * US + US - 250_000;
    let expected =
        [end(first.max(open(0)), 100), end(open(1), 100), end(open(2), 100), line(1472) + 250_000 + end(0, 1472)];
    assert_eq!(fct(&run(&text, "direct", 1)), expected);
}

/// A host sends a few packets at its fair part of the circuit, and does not spread them over all of
/// its time: under RotorLB, two hosts of a rack have half of an uplink each.
#[test]
fn small_flows_leave_when_their_circuit_begins() {
    let flows: Vec<_> = (1..4).map(|to| (5 * US, 0, 2 * to, 7 * 1472)).collect();
    flow_list("rotor-small.csv", &flows);
    let text = fabric("racks = 4, hosts_per_rack = 2, switches = 1, slice = \"100 us\", dark = \"1 us\"")
        + "[workload.flows]\nfile = \"rotor-small.csv\"\n"
        + &scheme("lb", "routing.rotor_lb.relay = \"off\"");
    let ran = run(&text, "lb", 1);
    for fct in fct(&ran) {
        // Dark time, seven packets at every second line, and the last one's way.
        let in_slice = (5 * US + fct) % (100 * US);
        assert!(in_slice < US + 14 * LINE + 4 * LINE, "{in_slice} ps after the start of its slice");
    }
}

/// Two hosts of a rack send over one circuit at line rate, in step: each has half of it, as either
/// the packet that finds a full queue or the last one there is trimmed. If it were always the first
/// one, the same host would lose every time.
#[test]
fn flows_over_a_full_circuit_share_what_is_trimmed() {
    flow_list("rotor-full.csv", &[(5 * US, 0, 6, 150_000), (5_400_000, 1, 7, 150_000)]);
    let text = fabric("racks = 4, hosts_per_rack = 2, switches = 1, slice = \"600 us\", dark = \"1 us\"")
        + "[workload.flows]\nfile = \"rotor-full.csv\"\n[scheme.ndp]\nrotor.routing.direct = {}\n\
           transport.ndp = { window = 20, queue = 7 }\n";
    let ran = run(&text, "ndp", 1);
    let lost = ran.column("flows", "retransmissions");
    assert!(lost.iter().all(|&packets| packets > 50), "{lost:?} packets are trimmed");
    assert!(lost[0].abs_diff(lost[1]) < 20, "{lost:?} packets are trimmed");
    let fct = fct(&ran);
    assert!(fct[0].abs_diff(fct[1]) < 10 * US as u64, "{fct:?} ps");
}

/// A packet that would not be through before the end of its slice waits for the next circuit, and
/// light never meets a dark switch.
#[test]
fn nothing_is_sent_into_the_dark() {
    let flows: Vec<_> = (0..200).map(|i| (i * 4_400_000, 0, 3, 1472)).collect();
    flow_list("rotor-dark.csv", &flows);
    let text = fabric("racks = 4, hosts_per_rack = 1, switches = 1, slice = \"10 us\", dark = \"1 us\"")
        + "[workload.flows]\nfile = \"rotor-dark.csv\"\n"
        + &scheme("direct", "routing.direct = {}");
    let ran = run(&text, "direct", 1);
    assert!(ran.column("drops", "packets").is_empty());
    // By arrival at the switch: seven frames fit into the 9 us of a slice that is open.
    let arrived: Vec<i64> = ran.column("flows", "start_ps").iter().zip(fct(&ran)).map(|(s, t)| s + t).collect();
    let crossed = arrived.iter().map(|at| at - LINE - 2 * 250_000);
    let mut by_cycle = std::collections::BTreeMap::<i64, i64>::new();
    for at in crossed {
        let (cycle, within) = (at / (30 * US), at % (30 * US));
        assert!((US + LINE..=10 * US).contains(&within), "crossed {within} ps after the start of a cycle");
        *by_cycle.entry(cycle).or_default() += 1;
    }
    assert_eq!(by_cycle.values().max(), Some(&7));
}

/// Delivered bytes as a part of what hosts' links carry in the measured time.
fn throughput(ran: &Ran, hosts: f64) -> f64 {
    // Frames have 1500 B for their payload.
    ran.summary.goodput_bps.expect("a measured time") / (hosts * 10e9) * 1500.0 / PAYLOAD
}

fn poisson(load: f64, pattern: &str) -> String {
    format!(
        "[workload.poisson]\nload = {load}\npattern = \"{pattern}\"\nsizes.fixed = \"1472 B\"\n\
         [window]\nwarmup = \"1 ms\"\nmeasure = \"3 ms\"\ndrain = \"0 s\"\n"
    )
}

/// Two hops carry half of what one hop would (Valiant), and a little more as some packets need one
/// only: 1 / (2 - 1 / 15) for 16 racks, for as long as switches are not dark. Below, nothing is
/// lost, and above, the network is full.
#[test]
fn load_balancing_carries_half() {
    let text = |load| {
        fabric("racks = 16, hosts_per_rack = 2, switches = 2, slice = \"50 us\", dark = \"500 ns\"")
            + &poisson(load, "permutation")
            + &scheme("vlb", "routing.vlb = {}")
    };
    let full = 0.99 / (2.0 - 1.0 / 15.0);
    let below = run(&text(0.9 * full), "vlb", 1);
    let carried = throughput(&below, 32.0);
    assert!((carried / (0.9 * full) - 1.0).abs() < 0.03, "carries {carried} of {}", 0.9 * full);
    assert!(below.column("drops", "packets").iter().sum::<i64>() < 50);
    let above = run(&text(1.25 * full), "vlb", 1);
    let carried = throughput(&above, 32.0);
    assert!(carried < 1.03 * full, "carries {carried} of {full}");
}

/// RotorLB fills the network for demand of all racks to all others, and loses nothing.
#[test]
fn racks_that_agree_fill_the_network() {
    let text = fabric("racks = 10, hosts_per_rack = 3, switches = 3, slice = \"100 us\", dark = \"1 us\"")
        + "[workload.shuffle]\nbytes = \"300 kB\"\n[window]\nmeasure = \"3 ms\"\ndrain = \"0 s\"\n"
        + &scheme("lb", "routing.rotor_lb = {}");
    let ran = run(&text, "lb", 1);
    let carried = throughput(&ran, 30.0);
    // The first cycle begins when the flows come, and flows within a rack are few.
    assert!(carried > 0.9, "carries {carried}");
    assert!(ran.column("drops", "packets").is_empty());
}

/// Where one rack sends to one other rack, RotorLB uses all others as relays, and direct circuits
/// alone carry 1 / 15 of that.
#[test]
fn relays_carry_what_direct_circuits_cannot() {
    let flows: Vec<_> = (0..4).map(|h| (0, h, 4 + h, 2_000_000)).collect();
    flow_list("rotor-relays.csv", &flows);
    let text = fabric("racks = 16, hosts_per_rack = 4, switches = 4, slice = \"50 us\", dark = \"1 us\"")
        + "[workload.flows]\nfile = \"rotor-relays.csv\"\n"
        + &scheme("lb", "routing.rotor_lb = {}")
        + &scheme("hosts", "routing.rotor_lb.relay = \"hosts\"")
        + &scheme("direct", "routing.direct = {}\nqueue = \"100 MB\"");
    let slowest = |ran: &Ran| *fct(ran).iter().max().expect("flows") as f64;
    let [lb, hosts, direct] = ["lb", "hosts", "direct"].map(|scheme| run(&text, scheme, 1));
    // 2 MB take 1.63 ms at line rate. With relays, they wait for a cycle of 0.2 ms at each end.
    assert!(slowest(&lb) < 4.0e9, "{} ps", slowest(&lb));
    assert!(slowest(&direct) > 5.0 * slowest(&lb), "{} ps against {} ps", slowest(&direct), slowest(&lb));
    assert!(slowest(&hosts) < 1.2 * slowest(&lb), "{} ps against {} ps", slowest(&hosts), slowest(&lb));
    // Links of hosts that neither send nor receive flows carry what their racks relay, both ways.
    let carried = |ran: &Ran, column: &str| -> i64 {
        let of = ran.column("links", column).into_iter().zip(ran.column("links", "sent_packets"));
        of.filter(|(host, _)| (8..64).contains(host)).map(|(_, packets)| packets).sum()
    };
    assert_eq!([carried(&lb, "from"), carried(&lb, "to")], [0, 0]);
    assert_eq!(carried(&hosts, "from"), carried(&hosts, "to"));
    assert!(carried(&hosts, "to") > 4 * 1_000, "of 5436 packets, {}", carried(&hosts, "to"));
}

/// A circuit carries 82 packets. Of 120, a host that has it alone sends the rest with the second
/// one. With half of it, it needs a third one.
#[test]
fn hosts_have_equal_parts_if_they_do_not_share_by_demand() {
    flow_list("rotor-parts.csv", &[(5 * US, 0, 4, 120 * 1472)]);
    let text = fabric("racks = 4, hosts_per_rack = 2, switches = 1, slice = \"100 us\", dark = \"1 us\"")
        + "[workload.flows]\nfile = \"rotor-parts.csv\"\n"
        + &scheme("demand", "routing.rotor_lb.relay = \"off\"")
        + &scheme("equal", "routing.rotor_lb = { relay = \"off\", share = \"equal\" }");
    let [demand, equal] = ["demand", "equal"].map(|name| fct(&run(&text, name, 1))[0]);
    assert_eq!(equal - demand, 300 * US);
}

/// While a host may send bulk, void packets fill its link: a packet that comes at a random time
/// waits for half of one on average, and for one at most.
#[test]
fn packets_wait_for_the_void_packet_before_them() {
    // In each cycle, bulk of ten packets for the circuit that carries 82.
    let bulk = (0..120).map(|i| (i * 300 * US, 0, 4, 14_720));
    let short = (0..2_000).map(|i| (20 * US + i * 17_389_511, 0, 1, 1_000));
    let mut flows: Vec<_> = bulk.chain(short).collect();
    flows.sort_unstable();
    flow_list("rotor-voids.csv", &flows);
    let bulk = |more: &str| {
        format!("routing.direct = {{}}\nbulk = {{ above = \"10 kB\", routing.rotor_lb = {{ relay = \"off\"{more} }} }}")
    };
    let text = fabric("racks = 4, hosts_per_rack = 2, switches = 1, slice = \"100 us\", dark = \"1 us\"")
        + "[workload.flows]\nfile = \"rotor-voids.csv\"\n[window]\nmeasure = \"36 ms\"\ndrain = \"0 s\"\n"
        + &scheme("plain", &bulk(""))
        + &scheme("voids", &bulk(", void_packets = true"));
    let waits = |name: &str| -> Vec<i64> {
        let ran = run(&text, name, 1);
        let times = ran.nullable("flows", "fct_ps").into_iter().zip(ran.column("flows", "ideal_ps"));
        let small = times.zip(ran.column("flows", "size_bytes")).filter(|(_, size)| *size == 1_000);
        small.map(|((fct, ideal), _)| fct.expect("short flows end") - ideal).collect()
    };
    let (plain, voids) = (waits("plain"), waits("voids"));
    assert_eq!((plain.len(), voids.len()), (2_000, 2_000));
    let mean = |waits: &[i64]| waits.iter().sum::<i64>() as f64 / waits.len() as f64 / LINE as f64;
    // The circuit is up for a third of the time. Bulk takes 12 us of 300.
    assert!((mean(&plain) - 0.5 * 0.04).abs() < 0.01, "{} packets", mean(&plain));
    assert!((mean(&voids) - 0.5 / 3.0).abs() < 0.02, "{} packets", mean(&voids));
    assert!(voids.iter().all(|wait| (0..=LINE).contains(wait)), "{:?}", voids.iter().max());
}

/// Without relays a shuffle ends with the circuits that it needs: 9 flows of 35 packets between two
/// racks need three circuits of 145 packets, and none of them ends with the second one.
#[test]
fn a_shuffle_without_relays_takes_whole_cycles() {
    let text = fabric(
        "racks = 12, hosts_per_rack = 3, switches = 3, slice = \"60 us\", dark = \"6 us\", stepping = \"staggered\", \
         matchings.random.factor = 2",
    ) + "[workload.shuffle]\nbytes = \"51520 B\"\n"
        + &scheme("direct", "routing.rotor_lb.relay = \"off\"")
        + &scheme("lb", "routing.rotor_lb = {}");
    let direct = run(&text, "direct", 1);
    let (cycle, hold) = (12 * 60 * US, 3 * 60 * US);
    let between: Vec<i64> = flows_between_racks(&direct, 3);
    assert_eq!(between.len(), 36 * 33);
    let (first, last) = (between.iter().min().expect("flows"), between.iter().max().expect("flows"));
    // Circuits that are open at the start are not granted.
    assert!(*first > 2 * cycle - hold && *last < 3 * cycle + hold, "{first} to {last} ps");
    assert!(direct.column("links", "late_packets").iter().all(|n| *n == 0));
    // Each packet takes one circuit; relays take more.
    let circuits = |ran: &Ran| -> i64 {
        let to = ran.column("links", "to");
        to.iter().zip(ran.column("links", "sent_packets")).filter(|(to, _)| **to >= 48).map(|(_, n)| n).sum()
    };
    assert_eq!(circuits(&direct), 36 * 33 * 35);
    assert!(circuits(&run(&text, "lb", 1)) > 36 * 33 * 35);
}

/// The completion times of flows to other racks.
fn flows_between_racks(ran: &Ran, per_rack: i64) -> Vec<i64> {
    let (from, to) = (ran.column("flows", "source"), ran.column("flows", "destination"));
    let times = ran.column("flows", "fct_ps");
    (0..times.len()).filter(|&i| from[i] / per_rack != to[i] / per_rack).map(|i| times[i]).collect()
}

/// A single packet goes over the first circuit that opens, and from there with the next one to its
/// rack: any of a cycle, but not the one that is open, whose room others have.
#[test]
fn relayed_packets_wait_for_a_cycle_at_most() {
    let racks = 24;
    let flows: Vec<_> = (0..4_000u64)
        .map(|i| (i as i64 * 23_456_789, (i * 7_919 % racks) as u32, ((i * 104_729 + 1) % racks) as u32, 1_000))
        .filter(|f| f.1 != f.2)
        .collect();
    flow_list("rotor-single.csv", &flows);
    let text = fabric(
        "racks = 24, hosts_per_rack = 1, switches = 3, slice = \"60 us\", dark = \"6 us\", stepping = \"staggered\", \
         matchings.random.factor = 2",
    ) + "[workload.flows]\nfile = \"rotor-single.csv\"\n"
        + &scheme("lb", "routing.rotor_lb = {}");
    let times = fct(&run(&text, "lb", 1));
    let slices: Vec<f64> = times.iter().map(|&t| t as f64 / (60 * US) as f64).collect();
    let mean = slices.iter().sum::<f64>() / slices.len() as f64;
    // The wait is uniform from 1 to 24 slices, but for the part of a slice until the next begins.
    assert!((11.5..13.0).contains(&mean), "{mean} slices");
    let short = slices.iter().filter(|s| **s < 6.0).count() as f64 / slices.len() as f64;
    assert!((0.18..0.30).contains(&short), "{short} of them within a quarter of a cycle");
}

/// A grid of h dimensions carries 1 / (2 h) of the line rate, and a little more, as a packet skips
/// steps.
#[test]
fn a_grid_carries_half_a_dimensions_share() {
    for (dimensions, racks) in [(1u32, 9u32), (2, 9), (3, 27)] {
        let side = f64::from(racks).powf(1.0 / f64::from(dimensions)).round();
        let text = |load| {
            fabric(&format!(
                "racks = {racks}, hosts_per_rack = 1, switches = 1, slice = \"20 us\", matchings.grid.dimensions = \
                 {dimensions}"
            )) + &poisson(load, "uniform")
                + &scheme("shale", &format!("routing.shale.dimensions = {dimensions}"))
        };
        // A step keeps its rack in one of `side` cases.
        let full = 1.0 / (2.0 * f64::from(dimensions) * (1.0 - 1.0 / side));
        let ran = run(&text(0.8 * full), "shale", 1);
        let carried = throughput(&ran, f64::from(racks));
        assert!((carried / (0.8 * full) - 1.0).abs() < 0.06, "{dimensions}: carries {carried} of {}", 0.8 * full);
        let above = throughput(&run(&text(1.3 * full), "shale", 1), f64::from(racks));
        assert!(above < 1.06 * full, "{dimensions}: carries {above} of {full}");
    }
}

/// At low load, no packet takes longer than 2 h (n - 1) slices over a grid of h dimensions, each of
/// n racks, and the longest ones nearly do. In one dimension it is half of that, as the first hop
/// waits for nothing.
#[test]
fn a_grid_delivers_within_two_cycles() {
    for (dimensions, side) in [(1u32, 60u32), (2, 16), (3, 8)] {
        let racks = side.pow(dimensions);
        let flows: Vec<_> = (0..6_000u64)
            .map(|i| {
                (i as i64 * 1_234_567, (i * 7_919 % u64::from(racks)) as u32, (i * 104_729 + 1) as u32 % racks, 1_000)
            })
            .filter(|f| f.1 != f.2)
            .collect();
        flow_list("rotor-grid.csv", &flows);
        let text = fabric(&format!(
            "racks = {racks}, hosts_per_rack = 1, switches = 1, slice = \"20 us\", matchings.grid.dimensions = {dimensions}"
        )) + "[workload.flows]\nfile = \"rotor-grid.csv\"\n"
            + &scheme("shale", &format!("routing.shale.dimensions = {dimensions}"));
        let slices = |ps: i64| ps as f64 / (20 * US) as f64;
        let longest = slices(*fct(&run(&text, "shale", 1)).iter().max().expect("flows"));
        let bound = f64::from(dimensions.min(2) * dimensions * (side - 1));
        assert!((0.95 * bound..1.05 * bound).contains(&longest), "{dimensions}: {longest} slices, of {bound}");
    }
}

/// What is lost on its way to a relay takes no room there for long.
#[test]
fn losses_leave_room_at_relays() {
    let flows: Vec<_> = (0..4).map(|h| (0, h, 4 + h, 8_000_000)).collect();
    flow_list("rotor-losses.csv", &flows);
    let text = |errors| {
        fabric("racks = 16, hosts_per_rack = 4, switches = 4, slice = \"50 us\", dark = \"1 us\"")
            + &format!("bit_error = {errors}\n[workload.flows]\nfile = \"rotor-losses.csv\"\n")
            + &scheme("lb", "routing.rotor_lb = {}")
    };
    let takes = |errors| run(&text(errors), "lb", 1).summary.simulated_ps;
    let (clean, lossy) = (takes("0.0"), takes("3e-6"));
    assert!(lossy as f64 <= 1.1 * clean as f64, "{lossy} ps against {clean} ps");
}

/// Circuits that could never carry a packet are refused, as hosts would wait for ever.
#[test]
fn circuits_that_carry_nothing_are_refused() {
    let refused = |shape: &str, routing: &str| {
        let text = fabric(shape) + &poisson(0.1, "uniform") + &scheme("a", routing);
        try_run(&text, "a", 1).err().expect("it cannot run").to_string()
    };
    let whole = "racks = 6, hosts_per_rack = 1, switches = 5, slice = \"50 us\"";
    assert_eq!(
        refused(whole, "routing.rotor_lb = {}"),
        "rotor switch 0 never changes, and `rotor_lb` grants circuits that begin: expected fewer switches than \
         matchings, or another routing"
    );
    let short = "racks = 6, hosts_per_rack = 1, switches = 1, slice = \"3 us\", dark = \"2 us\"";
    assert_eq!(
        refused(short, "routing.vlb = {}"),
        "circuits over rotor switch 0 are open for 1 us: expected at least 1.2 us, in which a packet of the MTU gets \
         through"
    );
    let hurried = "racks = 6, hosts_per_rack = 1, switches = 1, slice = \"3 us\", dark = \"500 ns\"";
    let text = fabric(hurried) + &poisson(0.05, "uniform") + &scheme("a", "routing.rotor_lb = {}");
    let ran = run(&text.replace("drain = \"0 s\"", "drain = \"2 ms\""), "a", 1);
    assert_eq!(ran.summary.flows.unfinished, 0, "its circuits carry one packet each");
}

/// Bulk does not delay other packets by more than the frame that is being sent.
#[test]
fn other_packets_go_before_bulk() {
    let flows: Vec<_> = (0..2)
        .flat_map(|h| [(0, h, 4 + h, 5_000_000)])
        .chain((0..20).map(|i| (1_000_000_000 + i * 50_000_000, 0, 6, 1000)))
        .collect();
    flow_list("rotor-classes.csv", &flows);
    let text = fabric("racks = 8, hosts_per_rack = 2, switches = 2, slice = \"50 us\", dark = \"1 us\"")
        + "[workload.flows]\nfile = \"rotor-classes.csv\"\n"
        + &scheme(
            "classes",
            "queue = \"100 MB\"\nrouting.hoho = {}\nbulk = { above = \"1 MB\", routing.rotor_lb = {} }",
        )
        + &scheme(
            "alone",
            "queue = \"100 MB\"\nrouting.hoho = {}\nbulk = { above = \"10 MB\", routing.rotor_lb = {} }",
        )
        + &scheme(
            "of_a_size",
            "queue = \"100 MB\"\nrouting.hoho = {}\nbulk = { above = \"10 MB\", also = \"5 MB\", routing.rotor_lb = {} }",
        );
    let short = |scheme: &str| fct(&run(&text, scheme, 1))[2..].iter().sum::<i64>() / 20;
    let classes = short("classes");
    // Two slices to wait at most, and a few frames.
    assert!(classes < 120 * US, "{classes} ps");
    assert!(short("alone") > classes, "beside flows of the same class");
    assert_eq!(short("of_a_size"), classes, "their size makes them bulk, too");
}

/// What is late is bounced, goes another way or is lost, as the scenario says.
#[test]
fn late_packets_do_as_they_are_told() {
    let text = fabric("racks = 8, hosts_per_rack = 4, switches = 1, slice = \"20 us\", dark = \"1 us\"")
        + "[workload.poisson]\nload = 0.3\nsizes.exponential = \"50 kB\"\n[window]\nmeasure = \"1 ms\"\n"
        // Bulk that finds room is late where others come after it.
        + &["reroute", "bounce", "lose"]
            .map(|late| {
                let bulk = "bulk = { above = \"30 kB\", by = \"age\", routing.vlb = {} }";
                scheme(late, &format!("routing.hoho = {{}}\n{bulk}\nlate = \"{late}\"\n"))
            })
            .concat();
    for late in ["reroute", "bounce", "lose"] {
        let ran = run(&text, late, 1);
        let reasons = ran.words("drops", "reason");
        assert_eq!(reasons.iter().any(|r| r == "late"), late == "lose", "{late}: {reasons:?}");
        let kept: i64 = ran.column("links", "late_packets").iter().sum();
        assert_eq!(kept > 0, late != "lose", "{late}: {kept}");
    }
}

/// Random networks of rotor switches, some of which fail.
fn networks() -> impl Strategy<Value = String> {
    let shape = select(vec![
        "racks = 4, hosts_per_rack = 2, switches = 1, slice = \"20 us\", dark = \"2 us\"",
        "racks = 6, hosts_per_rack = 2, switches = 3, slice = \"10 us\", dark = \"1 us\", stepping = \"staggered\"",
        "racks = 8, hosts_per_rack = 1, switches = 2, slice = \"30 us\", matchings.random.factor = 2",
        "racks = 9, hosts_per_rack = 1, switches = 2, slice = \"15 us\", dark = \"5 us\", matchings.grid.dimensions = 1",
        "racks = 2, hosts_per_rack = 3, switches = 1, slice = \"10 us\", dark = \"1 us\"",
    ]);
    let routing = select(vec![
        "routing.direct = {}",
        "routing.vlb = {}",
        "routing.vlb.spread = \"in_turn\"",
        "routing.hoho.hops = 3",
        "routing.ucmp = { hops = 3, alpha = 0.7 }",
        "routing.shortest.settled = false",
        "routing.disjoint = { paths = 3, settled = false }",
        "routing.rotor_lb = {}",
        "routing.rotor_lb = { relay = \"hosts\", share = \"equal\", void_packets = true }",
        "routing.hoho = {}\nbulk = { above = \"20 kB\", routing.rotor_lb = {} }",
        "routing.hoho = {}\nbulk = { above = \"20 kB\", routing.rotor_lb = { relay = \"hosts\", share = \"equal\", void_packets = true } }",
        "routing.shortest.paths = 3\nbulk = { above = \"20 kB\", by = \"age\", routing.vlb = {} }",
    ]);
    let transport = select(vec![
        "transport.datagrams = {}",
        "transport.datagrams = {}\necmp = \"packet\"",
        "transport.raw = { report_every = \"300 us\" }",
        "transport.tcp = { congestion = \"cubic\", min_rto = \"2 ms\" }",
        "transport.ndp = {}",
        "transport.ndp = { window = 4, queue = 2, headers = 9 }",
    ]);
    let queues = (
        select(vec!["", "late = \"bounce\"\n", "late = \"lose\"\n"]),
        select(vec!["", "queue = \"9 kB\"\n"]),
        select(vec!["latency = \"0 s\"", "latency = \"300 ns\"", "buffer.per_port = \"6 kB\"", "ecn = \"9 kB\""]),
        select(vec!["0.0", "1e-7"]),
    );
    let failure = (
        select(vec!["{ switch = 0 }", "{ switch = 2 }", "{ wire = 7 }", "{ wire = 0 }", "{ host = 1 }"]),
        0u32..400,
        1u32..300,
        select(vec!["0 s", "30 us"]),
    )
        .prop_map(|(element, at, length, detection)| {
            let until = at + length;
            format!(
                "[[failure]]\nelement = {element}\nat = \"{at} us\"\nuntil = \"{until} us\"\ndetection = \"{detection}\"\n"
            )
        });
    let failures = prop_oneof![Just(String::new()), prop::collection::vec(failure, 1..4).prop_map(|f| f.concat())];
    let load = select(vec![0.1, 0.5, 1.2]);
    (shape, routing, transport, queues, failures, load).prop_map(
        |(shape, routing, transport, (late, queue, switch, errors), failures, load)| {
            let granted = routing.contains("rotor_lb");
            // With two racks there is one matching, which never changes.
            let shape = if granted { shape.replace("racks = 2", "racks = 3") } else { shape.to_owned() };
            // Bulk that waits for grants is datagrams.
            let fits = transport.contains("ndp") && routing.contains("bulk");
            let transport = if granted && !fits { "transport.datagrams = {}" } else { transport };
            format!(
                "{}bit_error = {errors}\nswitch = {{ {switch} }}\n[workload.poisson]\nload = {load}\nsizes.exponential = \
                 \"30 kB\"\n[window]\nmeasure = \"400 us\"\ndrain = \"1 ms\"\n{failures}[scheme.a]\n{transport}\n\
                 [scheme.a.rotor]\n{routing}\n{late}{queue}",
                fabric(&shape)
            )
            // `bulk` and `routing` are keys of the same table.
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(21), ..ProptestConfig::default() })]

    /// Packets and bytes are conserved, and a seed gives the same rows.
    #[test]
    fn books_balance_whatever_fails(text in networks()) {
        let first = try_run(&text, "a", 5).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let again = try_run(&text, "a", 5).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_same(&text, &first, &again);
        prop_assert!(first.summary.packets.sent > 0);
    }
}
