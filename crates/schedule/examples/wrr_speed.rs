//! Measures how long the weighted round robin takes for a slot: `cargo run --release --example
//! wrr_speed`.
//!
//! Hosts are under one switch or in racks of 30 under one root. Rounds have 32 slots, and random
//! pairs have up to 64 slots of demand each.

use std::time::Instant;
use timeplane_model::{Backlog, Bytes, Demand, Duration, Fabric, Framing, HostId, LinkSpec, Plan, Rate, Switch, mix64};
use timeplane_schedule::{Scheduler, SlotParameters, Standing, WeightedRoundRobin};

fn main() {
    println!("{:>6} {:>8} {:>10} {:>8} {:>10}", "hosts", "fabric", "pairs", "slots", "us/slot");
    for (hosts, pairs) in [(24, 552), (150, 2_000), (150, 22_350), (512, 6_800), (512, 261_632)] {
        measure("switch", hosts, pairs, |link| Fabric::single_switch(hosts, Switch::default(), link));
    }
    for (hosts, pairs) in [(150, 2_000), (150, 22_350)] {
        measure("tree", hosts, pairs, |link| Fabric::tree(hosts / 30, 30, Switch::default(), link, link));
    }
}

fn measure(
    name: &str,
    hosts: u32,
    pairs: usize,
    fabric: impl Fn(LinkSpec) -> Result<Fabric, timeplane_model::FabricError>,
) {
    let link =
        LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
    let fabric = fabric(link).expect("a fabric");
    let parameters =
        SlotParameters { open: Duration::from_us(300), guard: Duration::from_us(15), slots: 32, frame: Bytes::ZERO };
    let mut scheduler = WeightedRoundRobin::new(parameters);
    let (mut slots, mut seconds) = (0, 0.0);
    for round in 0..20u64 {
        let demand = draw(hosts, pairs, round);
        let start = Instant::now();
        let plan = scheduler.plan(&demand, &fabric, &Standing::default());
        seconds += start.elapsed().as_secs_f64();
        let Plan::Slots(entries) = plan else { unreachable!() };
        slots += entries.len();
    }
    println!("{hosts:>6} {name:>8} {pairs:>10} {slots:>8} {:>10.1}", seconds * 1e6 / slots as f64);
}

/// Random demand of `pairs` pairs, or of all pairs if there are no more.
fn draw(hosts: u32, pairs: usize, round: u64) -> Demand {
    let all = (hosts * (hosts - 1)) as usize;
    let mut rows = vec![Vec::new(); hosts as usize];
    for i in 0..hosts {
        for j in (0..hosts).filter(|&j| j != i) {
            let dice = mix64(round << 40 ^ u64::from(i) << 20 ^ u64::from(j));
            if (dice >> 40) as usize * all < pairs << 24 {
                rows[i as usize].push((HostId(j), Bytes::new(375_000 * (dice % 64 + 1))));
            }
        }
    }
    let mut demand = Demand::none(hosts);
    for (i, row) in rows.into_iter().enumerate() {
        demand.set_row(HostId(i as u32), Backlog::of_bytes(row));
    }
    demand
}
