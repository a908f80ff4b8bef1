//! A run reports how far it is, and ends when it is asked to, whatever its events are.

use crate::common::load;
use indexmap::IndexMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use timeplane_experiment::{Extent, Pulse};
use timeplane_results::Recorder;
use timeplane_schedule::Algorithms;
use timeplane_sim::run::{RunError, RunSpec, simulate};
use timeplane_workload::Source;

/// Under TCP with explicit marks, most events change something outside of the network, and no flow
/// arrives for most of the run.
const SHUFFLE: &str = r#"
    [fabric]
    topology.single_switch.hosts = 8
    rate = "10 Gb/s"
    switch = { buffer.per_port = "160 kB", ecn = "65 kB" }
    [workload.shuffle]
    bytes = "50 MB"
    jitter = "100 us"
    [scheme.dctcp]
    transport.tcp = { congestion = "dctcp", preset = "datacenter" }
"#;

#[test]
fn a_run_is_cancelled_in_its_middle() {
    let loaded = load(SHUFFLE);
    let scenario = &loaded.scenario;
    let fabric = Arc::new(scenario.fabric.build().unwrap());
    let source = Source::load(&scenario.workload, &loaded.base, &fabric, scenario.fabric.mtu).unwrap();
    let spec = RunSpec { scenario, scheme: "dctcp", point: IndexMap::new(), seed: 1, base: &loaded.base };
    let (pulse, algorithms) = (Pulse::default(), Algorithms::built_in());
    let extent = Extent::new(scenario, &source);
    let ended = std::thread::scope(|scope| {
        let run = scope.spawn(|| simulate(&spec, &fabric, &source, &algorithms, Recorder::discard(), &pulse));
        while !run.is_finished() {
            // All flows have arrived when a thousandth of the bytes has.
            pulse.cancel.store(extent.share(&pulse).is_some_and(|share| share > 1e-3), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
        }
        run.join().unwrap().map(drop)
    });
    assert!(matches!(ended, Err(RunError::Cancelled)), "{ended:?}");
    let share = extent.share(&pulse).unwrap();
    assert!((1e-3..1.0).contains(&share), "it had come to {share}");
}
