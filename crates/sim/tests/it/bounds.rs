//! No simulated run beats the theoretical bounds.
//!
//! Nothing is faster than a bound. Where packets spread over all paths, little is slower.

use crate::common::{folder, load, run};
use timeplane_workload::{Bounds, Source, mean_bounds};

fn scenario(topology: &str, rates: &str, scheme: &str) -> String {
    format!(
        r#"
        [fabric]
        topology.{topology}
        {rates}
        switch.buffer.per_port = "20 MB"
        propagation = "100 ns"
        [workload.shuffle]
        bytes = "1 MB"
        [scheme.c]
        {scheme}
        "#
    )
}

fn bound(text: &str) -> Bounds {
    let scenario = load(text).scenario;
    let fabric = scenario.fabric.build().unwrap();
    let mtu = scenario.fabric.mtu;
    let source = Source::load(&scenario.workload, &folder(), &fabric, mtu).unwrap();
    mean_bounds(&fabric, &source, [1], mtu.get(), false).unwrap()
}

fn took(text: &str) -> f64 {
    let ran = run(text, "c", 1);
    assert_eq!(ran.summary.flows.unfinished, 0);
    ran.summary.completion_ps.unwrap() as f64
}

const LEAVES: &str = "leaf_spine = { leaves = 3, hosts_per_leaf = 4, spines = 2 }";

/// Packets that spread over all paths fill the wires of a cut. Racks that send twice as much as
/// gets out take twice as long, as the bound says.
#[test]
fn spread_packets_take_little_longer_than_the_cut_allows() {
    let spread = "transport.datagrams = {}\necmp = \"packet\"\nnic.discipline = \"round_robin\"";
    for (rates, cut) in [("rate = \"10 Gb/s\"", true), ("rate = \"10 Gb/s\"\nuplink_rate = \"40 Gb/s\"", false)] {
        let text = scenario(LEAVES, rates, spread);
        let bound = bound(&text);
        assert_eq!(bound.by_cut, cut, "{rates}");
        let took = took(&text);
        assert!(took >= bound.completion_ps && took < 1.05 * bound.completion_ps, "{rates}: {took} of {bound:?}");
    }
    // Of four hosts, 32 of 44 MB leave the rack over two wires, 16 MB each. A host's own wire
    // carries 11 MB.
    let leaves = bound(&scenario(LEAVES, "rate = \"10 Gb/s\"", spread));
    let payload = 16e6 * 8.0 / 10e9 * 1e12;
    assert!(leaves.completion_ps > payload && leaves.completion_ps < 1.04 * payload, "{leaves:?}");
}

#[test]
fn no_transport_is_faster_than_the_bound() {
    for topology in
        [LEAVES, "fat_tree = { k = 4 }", "tree = { edges = 3, hosts_per_edge = 2 }", "single_switch = { hosts = 6 }"]
    {
        for scheme in ["transport.tcp = {}", "transport.tcp = {}\necmp = \"packet\"", "transport.raw = {}"] {
            let text = scenario(topology, "rate = \"10 Gb/s\"\nuplink_rate = \"4 Gb/s\"", scheme);
            let (took, bound) = (took(&text), bound(&text));
            assert!(took >= bound.completion_ps, "{topology} {scheme}: {took} of {bound:?}");
        }
    }
}
