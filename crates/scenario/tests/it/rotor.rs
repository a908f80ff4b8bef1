//! Errors of `topology.rotor` and of `scheme.NAME.rotor` with their locations.
//!
//! What needs the tables of a routing is refused by the simulator, before it runs anything.

use crate::messages::{Answers, load};

const ROTOR: &str = r#"
[fabric]
rate = "10 Gb/s"
[fabric.topology.rotor]
racks = 9
hosts_per_rack = 2
switches = 3
slice = "100 us"
dark = "10 us"
[workload.poisson]
load = 0.3
sizes.fixed = "9 kB"
[window]
measure = "1 ms"
[scheme.opera]
transport.ndp = {}
rotor.routing.shortest = {}
rotor.bulk = { above = "1 MB", routing.rotor_lb = {} }
"#;

#[test]
fn rotor_switches() {
    let mut a = Answers::default();
    assert_eq!(load(ROTOR, &[]).unwrap(), [""; 0]);
    for (right, wrong) in [
        ("racks = 9", "racks = 1"),
        ("hosts_per_rack = 2", "hosts_per_rack = 0"),
        ("switches = 3", "switches = 0"),
        ("switches = 3", "switches = 10"),
        ("slice = \"100 us\"", "slice = \"0 s\""),
        ("dark = \"10 us\"", "dark = \"100 us\""),
        ("dark = \"10 us\"", "dark = \"-1 us\""),
        ("dark = \"10 us\"", "stepping = \"in_turn\""),
        ("dark = \"10 us\"", "matchings = \"random_robin\""),
        ("dark = \"10 us\"", "matchings.random.factor = 2"),
        ("dark = \"10 us\"", "matchings.grid.dimensions = 3"),
        ("dark = \"10 us\"", "matchings.file = \"none.txt\""),
        ("rate = \"10 Gb/s\"", "rate = \"10 Gb/s\"\nswitch.forwarding = \"cut_through\""),
        ("rate = \"10 Gb/s\"", "rate = \"10 Gb/s\"\nswitch.pfc = { pause_at = \"20 kB\", resume_at = \"10 kB\" }"),
        ("[scheme.opera]", "[[change]]\nwires = { wire = 1 }\nat = \"30 us\"\nrates = [\"1 Gb/s\"]\n[scheme.opera]"),
        ("rotor.routing.shortest = {}\nrotor.bulk", "rotor.bulk"),
        ("rotor.routing.shortest = {}", "rotor.routing.shortest.paths = 256"),
        ("rotor.routing.shortest = {}", "rotor.routing.shortst = {}"),
        ("rotor.routing.shortest = {}", "rotor.routing.hoho.hops = 0"),
        ("rotor.routing.shortest = {}", "rotor.routing.ucmp = { alpha = 1.5, buckets = [\"2 kB\", \"1 kB\"] }"),
        ("rotor.routing.shortest = {}", "rotor.routing.shale.dimensions = 15"),
        ("rotor.routing.shortest = {}", "rotor.routing.rotor_lb = {}"),
        ("routing.rotor_lb = {}", "by = \"age\", routing.rotor_lb = {}"),
        ("routing.rotor_lb = {}", "by = \"age\", also = \"5 kB\", routing.vlb = {}"),
        ("rotor.routing.shortest = {}", "rotor.routing.own = \"mine\""),
        ("rotor.routing.shortest = {}", "rotor.routing.own = { name = \"shortst\", depth = 3 }"),
        ("rotor.routing.shortest = {}", "rotor.routing.own = \"vlb\""),
        ("transport.ndp = {}", "transport.tcp = {}"),
        ("transport.ndp = {}", "transport.ndp = {}\nrotor.queue = \"0 B\""),
        ("transport.ndp = {}", "transport.datagrams = {}\nplan.rates = {}"),
    ] {
        a.with(ROTOR, right, wrong);
    }
    let mix = ROTOR.replace("ndp", "datagrams");
    a.with(&mix, "sizes.fixed = \"9 kB\"", "sizes.fixed = \"9 kB\"\npackets = \"bimodal\"");
    let routing = "rotor.routing.shortest = {}\nrotor.bulk = { above = \"1 MB\", routing.rotor_lb = {} }\n";
    a.with(ROTOR, routing, "");
    let plain = "[fabric.topology.leaf_spine]\nleaves = 2\nhosts_per_leaf = 2\nspines = 2\n";
    let topology = &ROTOR[ROTOR.find("[fabric.topology").expect("a table")..ROTOR.find("[workload").expect("a table")];
    a.with(ROTOR, topology, plain);
    insta::assert_snapshot!(a.0);
}
