//! Equality with ns-3: the completion time of every flow, to the picosecond.
//!
//! `ns3/*/fct.csv` was written by ns-3 3.37 (`benches/peers/ns3/peer`, with its Internet stack) for
//! the flows of `ns3/*/flows.csv`. These are open-loop datagrams of up to 1500 B on the wire, with
//! hosts at 1 Gb/s, links between switches at 10 Gb/s, 1 us each, and ECMP by the flow's hash with
//! salt 0. `benches/peers/compare.py` does the same with lists of any length and both programs.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Fabric, Framing, LinkSpec, Rate, Switch};
use timeplane_results::Recorder;
use timeplane_scenario::{FlowList, Workload};
use timeplane_sim::bench;
use timeplane_sim::engine::Pulse;
use timeplane_sim::hosts::endpoints::Transport;
use timeplane_workload::Source;

fn link(rate: Rate) -> LinkSpec {
    LinkSpec { rate, propagation: Duration::from_us(1), framing: Framing::Ppp, bit_error: 0.0 }
}

/// `flow,fct_ps` lines in the order of the flows.
fn simulate(fabric: Fabric, folder: &Path) -> Vec<String> {
    let fabric = Arc::new(fabric);
    let workload = Workload::Flows(FlowList { file: "flows.csv".to_owned() });
    let source = Source::load(&workload, folder, &fabric, Bytes::new(u64::from(bench::MTU))).unwrap();
    let arrivals: Vec<_> = source.arrivals(1).collect();
    let mut engine = bench::engine(&fabric, &arrivals, Transport::Datagrams, 0, Recorder::memory());
    engine.run(&Pulse::default());
    let tables = engine.ends.ledger.recorder.finish().unwrap();
    let mut fct = vec![String::from("unfinished"); arrivals.len()];
    for batch in &tables.get("flows").unwrap().batches {
        let flow = batch.column_by_name("flow").unwrap().as_primitive::<UInt32Type>();
        let time = batch.column_by_name("fct_ps").unwrap().as_primitive::<Int64Type>();
        for (flow, time) in flow.values().iter().zip(time.values()) {
            fct[*flow as usize] = format!("{flow},{time}");
        }
    }
    fct
}

fn equal(name: &str, fabric: Fabric, flows: usize) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/ns3").join(name);
    let expected = std::fs::read_to_string(folder.join("fct.csv")).unwrap();
    let found = simulate(fabric, &folder);
    assert_eq!(found.len(), flows);
    let expected: Vec<&str> = expected.lines().skip(1).collect();
    assert_eq!(found, expected);
}

#[test]
fn leaf_spine_is_that_of_ns3() {
    let (down, up) = (link(Rate::gbps(1)), link(Rate::gbps(10)));
    equal("leaf-spine", Fabric::leaf_spine(3, 5, 2, Switch::default(), down, up).unwrap(), 300);
}

#[test]
fn tree_is_that_of_ns3() {
    let (down, up) = (link(Rate::gbps(1)), link(Rate::gbps(10)));
    equal("tree", Fabric::tree(3, 5, Switch::default(), down, up).unwrap(), 200);
}
