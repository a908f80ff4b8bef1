//! A custom scheduler, outside of the workspace's crates.
//!
//! The guide shows this file.

use crate::common::{folder, load};
use std::sync::atomic::AtomicBool;
// begin: scheduler
use timeplane_model::{Bytes, Class, Demand, Duration, Fabric, HostId, Plan, Rate, ScheduleEntry, Slot, Transmission};
use timeplane_schedule::{Algorithms, Scheduler, SlotParameters, Standing};
use timeplane_sim::Simulator;

/// Host `i` sends to `i + 1`, in the next slot to `i + 2`, and so on, while there is demand.
struct Rotation {
    parameters: SlotParameters,
    /// The position of the rotation, kept from round to round.
    shift: u32,
}

impl Scheduler for Rotation {
    fn plan(&mut self, demand: &Demand, fabric: &Fabric, _: &Standing) -> Plan {
        let hosts = demand.hosts();
        let waits = |source, destination| demand.row(HostId(source)).bytes(HostId(destination)) > Bytes::ZERO;
        let mut entries = Vec::new();
        // Each shift once: a pair with more than a slot's worth gets the rest in the next round.
        for _ in 0..(hosts - 1).min(self.parameters.slots) {
            self.shift = self.shift % (hosts - 1) + 1;
            let pairs = (0..hosts).map(|source| (source, (source + self.shift) % hosts));
            let transmissions: Vec<_> = pairs
                .filter(|&(source, destination)| waits(source, destination))
                .map(|(source, destination)| Transmission {
                    source: HostId(source),
                    destination: HostId(destination),
                    class: Class(0),
                    path: None,
                    rate: None,  // the link's
                    bytes: None, // as many as fit
                })
                .collect();
            if !transmissions.is_empty() {
                let slot = Slot::new(transmissions, self.parameters.open, fabric).expect("a rotation shares no port");
                entries.push(ScheduleEntry { slot, guard: self.parameters.guard });
            }
        }
        Plan::Slots(entries)
    }
}
// end: scheduler

const SCENARIO: &str = r#"
    name = "own_scheduler"
    seeds = 2
    [fabric]
    topology.single_switch = { hosts = 8 }
    rate = "10 Gb/s"
    [workload.shuffle]
    bytes = "500 kB"
    jitter = "20 us"
    [scheme.built_in]
    transport.raw = {}
    plan.tdma = { slot = "100 us", guard = "10 us" }
    [scheme.rotation]
    transport.raw = {}
    plan.tdma = { slot = "100 us", guard = "10 us", scheduler = "rotation" }
"#;

#[test]
fn it_runs_beside_those_that_are_there() {
    let results = folder().join("own_scheduler");
    let _ = std::fs::remove_dir_all(&results);
    // begin: run
    let mut algorithms = Algorithms::built_in();
    // The second argument has parameters of its own, here none.
    algorithms.tdma.register("rotation", |p, _| Ok(Box::new(Rotation { parameters: *p, shift: 0 })));

    let options = timeplane_experiment::Options::new(2, results);
    let (simulator, never) = (Simulator::new(algorithms), AtomicBool::new(false));
    let outcome = timeplane_experiment::run(simulator, &load(SCENARIO), &options, &never, &|_| {}).unwrap();
    print!("{}", outcome.comparison.to_text(100));
    // end: run
    let completion = |scheme: &str| {
        let runs: Vec<_> = outcome.summaries.iter().filter(|s| s.scheme == scheme).collect();
        assert_eq!(runs.len(), 2);
        assert!(runs.iter().all(|r| r.dropped_packets.is_empty()), "slots lose nothing");
        runs.iter().map(|r| r.completion_ps.unwrap() as f64).sum::<f64>() / 2.0
    };
    // A rotation suits an all-to-all shuffle best.
    let ratio = completion("rotation") / completion("built_in");
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn what_nobody_wants_to_send_gets_no_slot() {
    let parameters = SlotParameters {
        open: Duration::from_us(100),
        guard: Duration::from_us(10),
        slots: 16,
        frame: Bytes::new(1538),
    };
    let mut rotation = Rotation { parameters, shift: 0 };
    let link = timeplane_model::LinkSpec {
        rate: Rate::gbps(10),
        propagation: Duration::ZERO,
        framing: timeplane_model::Framing::Ethernet,
        bit_error: 0.0,
    };
    let fabric = Fabric::single_switch(4, timeplane_model::Switch::default(), link).unwrap();
    let mut demand = Demand::none(4);
    assert_eq!(rotation.plan(&demand, &fabric, &Standing::default()), Plan::Slots(vec![]));
    demand.set_row(HostId(1), timeplane_model::Backlog::of_bytes([(HostId(3), Bytes::new(10))]));
    let Plan::Slots(slots) = rotation.plan(&demand, &fabric, &Standing::default()) else { panic!("no slots") };
    let pairs: Vec<_> =
        slots.iter().flat_map(|e| e.slot.transmissions()).map(|t| (t.source.0, t.destination.0)).collect();
    assert_eq!(pairs, [(1, 3)]);
}
