//! Measures how long the conflict-free scheduler takes for a round of 32 slots: `cargo run
//! --release --example conflict_free_speed`.
//!
//! Every pair of hosts has 1 to 64 slots to send.

use std::time::Instant;
use timeplane_model::{Backlog, Bytes, Demand, Duration, Fabric, Framing, HostId, LinkSpec, Plan, Rate, Switch, mix64};
use timeplane_schedule::{ConflictFree, Scheduler, SlotParameters, Standing};

fn main() {
    let link =
        LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
    let switch = Switch::default();
    println!("{:>24} {:>6} {:>6} {:>12} {:>10}", "fabric", "hosts", "slots", "us/round", "us/slot");
    measure("one switch", &Fabric::single_switch(24, switch, link).expect("a fabric"));
    measure("tree, 3 racks", &Fabric::tree(3, 8, switch, link, link).expect("a fabric"));
    measure("leaf-spine, 3 leaves", &Fabric::leaf_spine(3, 8, 8, switch, link, link).expect("a fabric"));
    measure("one switch", &Fabric::single_switch(128, switch, link).expect("a fabric"));
    measure("leaf-spine, 8 leaves", &Fabric::leaf_spine(8, 16, 16, switch, link, link).expect("a fabric"));
    measure("leaf-spine, 2:1", &Fabric::leaf_spine(8, 16, 8, switch, link, link).expect("a fabric"));
    measure("fat tree, k = 8", &Fabric::fat_tree(8, switch, link, link).expect("a fabric"));
}

fn measure(name: &str, fabric: &Fabric) {
    let parameters =
        SlotParameters { open: Duration::from_us(300), guard: Duration::from_us(15), slots: 32, frame: Bytes::ZERO };
    let mut scheduler = ConflictFree::new(parameters);
    let (mut slots, mut times) = (0, Vec::new());
    for round in 0..20u64 {
        let demand = draw(fabric.hosts(), round);
        let start = Instant::now();
        let plan = scheduler.plan(&demand, fabric, &Standing::default());
        times.push(start.elapsed().as_secs_f64() * 1e6);
        let Plan::Slots(entries) = plan else { unreachable!() };
        slots += entries.len();
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!("{name:>24} {:>6} {slots:>6} {median:>12.0} {:>10.1}", fabric.hosts(), median / 32.0);
}

fn draw(hosts: u32, round: u64) -> Demand {
    let mut demand = Demand::none(hosts);
    for i in 0..hosts {
        let dice = |j: u32| mix64(round << 40 ^ u64::from(i) << 20 ^ u64::from(j));
        let row = (0..hosts).filter(|&j| j != i).map(|j| (HostId(j), Bytes::new(375_000 * (dice(j) % 64 + 1))));
        demand.set_row(HostId(i), Backlog::of_bytes(row));
    }
    demand
}
