//! Flows and coflows of a run in a lab, as rows of the tables of a simulation.
//!
//! All labs fill these tables here, whatever carried the flows.

use std::collections::BTreeMap;
use std::ops::Range;
use timeplane_experiment::PlannedRun;
use timeplane_model::{Bytes, Duration, Fabric, HostId};
use timeplane_results::{CoflowRow, FlowRow, Recorder, RunFacts, Summarizer, WindowSummary};
use timeplane_scenario::{Scenario, Transport};
use timeplane_workload::{CoflowStart, FlowArrival, IdealPath};

/// Header bytes of an agent's frame that count towards the MTU.
const HEADER: u64 = 38;
/// IPv4's and UDP's headers, and those of datagrams in a lab.
pub(crate) const DATAGRAM_HEADER: u64 = 28;

/// A flow at the end of a run.
#[derive(Clone, Debug)]
pub(crate) struct EndedFlow {
    /// Number of the flow, in the order of arrival.
    pub number: u32,
    /// Arrival time, size, source and destination.
    pub arrival: FlowArrival,
    /// From its arrival to that of its last byte.
    pub fct: Option<Duration>,
    /// Bytes that its receiver has read.
    pub received: u64,
    /// Frames that were sent again.
    pub resent: u32,
}

/// Where the flows of a run belong.
pub(crate) struct FlowTables<'a> {
    /// The point's scenario.
    pub scenario: &'a Scenario,
    /// The run's scheme.
    pub scheme: &'a str,
    /// The fabric of ideal completion times.
    pub fabric: &'a Fabric,
    /// The coflows of the workload.
    pub coflows: Vec<CoflowStart>,
}

impl FlowTables<'_> {
    /// Fills the tables of flows and coflows.
    pub fn record(&self, flows: impl Iterator<Item = EndedFlow>, recorder: &mut Recorder, summarizer: &mut Summarizer) {
        let measured = measured(self.scenario);
        let mut path = IdealPath::default();
        let mut groups: BTreeMap<u32, CoflowRow> = BTreeMap::new();
        for EndedFlow { number, arrival, fct, received, resent } in flows {
            let row = FlowRow {
                flow: number,
                coflow: arrival.coflow.map(|c| c.0),
                source: arrival.source.0,
                destination: arrival.destination.0,
                size_bytes: arrival.bytes.get(),
                start_ps: arrival.at.as_ps(),
                fct_ps: fct.map(Duration::as_ps),
                acknowledged_ps: None,
                received_bytes: received,
                ideal_ps: self.ideal(&mut path, arrival.source, arrival.destination, arrival.bytes).as_ps(),
                measured: measured.contains(&arrival.at),
                retransmissions: resent,
                timeouts: 0,
            };
            recorder.flow(&row);
            summarizer.flow(&row);
            let Some(coflow) = arrival.coflow else { continue };
            let group = groups.entry(coflow.0).or_insert(CoflowRow {
                coflow: coflow.0,
                name: self.coflows[coflow.index()].name,
                flows: 0,
                size_bytes: 0,
                start_ps: row.start_ps,
                cct_ps: Some(0),
                finished_flows: 0,
                measured: row.measured,
            });
            group.flows += 1;
            group.size_bytes += row.size_bytes;
            group.finished_flows += u32::from(fct.is_some());
            let end = row.fct_ps.map(|fct| row.start_ps + fct - group.start_ps);
            group.cct_ps = group.cct_ps.zip(end).map(|(a, b)| a.max(b));
        }
        for row in groups.values() {
            recorder.coflow(row);
            summarizer.coflow(row);
        }
    }

    /// The flow's completion time in an empty network, in the frames of its scheme.
    fn ideal(&self, path: &mut IdealPath, source: HostId, destination: HostId, bytes: Bytes) -> Duration {
        let mtu = self.scenario.fabric.mtu.get();
        let header = match self.scenario.scheme.get(self.scheme).map(|c| &c.transport) {
            Some(Transport::Raw(raw)) => raw.header.get(),
            Some(Transport::Datagrams {}) => DATAGRAM_HEADER,
            _ => HEADER,
        };
        let most = mtu.saturating_sub(header).max(1);
        path.find(self.fabric, source, destination, 0);
        let rest = bytes.get() % most;
        path.completion([(mtu as u32, bytes.get() / most), ((rest + header) as u32, u64::from(rest > 0))])
    }
}

/// What all labs know of a run that took `length`: its scheme, point, seed and window.
pub(crate) fn facts(scenario: &Scenario, run: &PlannedRun, length: Duration) -> RunFacts {
    let window = scenario.window;
    RunFacts {
        scheme: run.scheme.clone(),
        point: run.values.clone(),
        seed: run.seed,
        window: WindowSummary {
            warmup_ps: window.warmup.as_ps(),
            measure_ps: window.measure.map(Duration::as_ps),
            drain_ps: window.drain.map(Duration::as_ps),
        },
        received_ps: window.measure.unwrap_or(length - window.warmup).as_ps(),
        simulated_ps: length.as_ps(),
        ..RunFacts::default()
    }
}

/// The window in which arriving flows are measured.
pub fn measured(scenario: &Scenario) -> Range<Duration> {
    let begin = scenario.window.warmup;
    let end = scenario.window.measure.map_or(Duration::MAX, |m| begin + m);
    begin..end
}
