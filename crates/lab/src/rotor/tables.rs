//! The results of a run in a lab of rotor switches, as the tables and the summary of a simulation.
//!
//! Packets in flight are those that wait at racks when the run ends, and the few that a virtual
//! link lost without a count. Links have the frames that racks sent and got.

use super::racks::{Common, RackReport};
use crate::circuit_switch::CircuitCounters;
use crate::flows::{EndedFlow, FlowTables, facts};
use serde_json::{Value, json};
use std::sync::atomic::Ordering::Relaxed;
use timeplane_experiment::PlannedRun;
use timeplane_model::{Bytes, Duration, Fabric, LinkId};
use timeplane_results::{DropRow, LinkRow, Recorder, ResultsError, RunFacts, RunSummary, Summarizer, Tally};
use timeplane_scenario::Scenario;
use timeplane_workload::CoflowStart;

/// Bytes of Ethernet's header.
const ETHERNET: u64 = 14;
/// Bytes of preamble, FCS and inter-frame gap.
const FRAMING: u64 = 24;

/// Why a run has no valid result.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Bytes came that nobody sent so.
    #[error("rack {rack} got {frames} frames with wrong bytes, or of another run")]
    Wrong {
        /// Number of the rack.
        rack: usize,
        /// Number of these frames.
        frames: u64,
    },
    /// More arrived or was lost than was sent.
    #[error("{what} are not conserved: {tally:?}")]
    Conservation {
        /// What was counted: packets or bytes.
        what: &'static str,
        /// The contradicting counts.
        tally: Tally,
    },
    /// The tables cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// A completed run, to be recorded.
pub(super) struct CompletedRun<'a> {
    pub scenario: &'a Scenario,
    pub fabric: &'a Fabric,
    pub run: &'a PlannedRun,
    pub coflows: Vec<CoflowStart>,
    pub common: &'a Common,
    pub racks: &'a [RackReport],
    /// Counters of the switch's port of each rack.
    pub ports: &'a [CircuitCounters],
    /// How long the run took.
    pub length: Duration,
}

impl CompletedRun<'_> {
    /// Checks that no byte was changed and that all packets are accounted for, fills the tables,
    /// and returns the summary.
    pub fn record(&self, mut recorder: Recorder) -> Result<RunSummary, RecordError> {
        if let Some((rack, report)) = self.racks.iter().enumerate().find(|(_, r)| r.wrong > 0) {
            return Err(RecordError::Wrong { rack, frames: report.wrong });
        }
        let mut summarizer = Summarizer::new();
        let ended = |(number, flow): (u32, &super::racks::Flow)| EndedFlow {
            number,
            arrival: flow.arrival,
            fct: flow.finished().map(|at| at - flow.arrival.at),
            received: flow.received.load(Relaxed),
            resent: 0,
        };
        let tables = FlowTables {
            scenario: self.scenario,
            scheme: &self.run.scheme,
            fabric: self.fabric,
            coflows: self.coflows.clone(),
        };
        let started = self.common.flows.iter().filter(|flow| flow.arrival.at <= self.length);
        tables.record((0..).zip(started).map(ended), &mut recorder, &mut summarizer);
        let (packets, bytes) = self.tallies(&mut recorder, &mut summarizer)?;
        for row in self.links() {
            recorder.link(&row);
        }
        let facts = RunFacts {
            received_bytes: self.common.received.iter().map(|r| r.load(Relaxed)).collect(),
            packets,
            bytes,
            packet_hops: self.sum(|r| r.sent),
            ..facts(self.scenario, self.run, self.length)
        };
        recorder.finish()?;
        Ok(summarizer.finish(facts))
    }

    fn sum(&self, of: impl Fn(&RackReport) -> u64) -> u64 {
        self.racks.iter().map(of).sum()
    }

    /// The link from a rack to the switch; the one back follows it.
    fn uplink(&self, rack: u32) -> LinkId {
        LinkId(2 * (self.fabric.hosts() + rack))
    }

    fn tallies(&self, recorder: &mut Recorder, summarizer: &mut Summarizer) -> Result<(Tally, Tally), RecordError> {
        let mut packets =
            Tally { sent: self.sum(|r| r.began), delivered: self.sum(|r| r.delivered), ..Tally::default() };
        let mut bytes =
            Tally { sent: self.sum(|r| r.began_bytes), delivered: self.sum(|r| r.delivered_bytes), ..Tally::default() };
        let left = |tally: &Tally, what| {
            let Tally { sent, delivered, dropped, .. } = *tally;
            sent.checked_sub(delivered + dropped).ok_or(RecordError::Conservation { what, tally: *tally })
        };
        for row in self.losses() {
            packets.dropped += row.packets;
            // Racks count the packets that they lose, and no bytes: these are an upper bound.
            let row = DropRow { bytes: row.bytes.min(left(&bytes, "bytes")?), ..row };
            bytes.dropped += row.bytes;
            if row.packets > 0 {
                recorder.drop(&row);
                summarizer.drop(&row);
            }
        }
        (packets.in_flight, bytes.in_flight) = (left(&packets, "packets")?, left(&bytes, "bytes")?);
        Ok((packets, bytes))
    }

    fn losses(&self) -> Vec<DropRow> {
        let mtu = self.scenario.fabric.mtu.get();
        let mut rows = Vec::new();
        for (rack, (report, port)) in (0..).zip(self.racks.iter().zip(self.ports)) {
            let (up, node) = (self.uplink(rack).0, self.fabric.link(self.uplink(rack)).from.0);
            let down = up + 1;
            let mut add = |link: u32, reason, packets: u64, bytes: u64| {
                rows.push(DropRow { link, node, reason, packets, bytes });
            };
            let packets_only = |bytes: u64, frames: u64| bytes - ETHERNET * frames;
            let unconnected = packets_only(port.unconnected_bytes, port.unconnected);
            add(up, "circuit_dark", port.dark, packets_only(port.dark_bytes, port.dark));
            add(up, "circuit_unconnected", port.unconnected, unconnected);
            let counts = report.counts;
            add(up, "late", counts.lost_late, counts.lost_late * mtu);
            add(up, "buffer_full", counts.lost_full + report.refused, (counts.lost_full + report.refused) * mtu);
            add(up, "no_route", counts.lost_no_route, counts.lost_no_route * mtu);
            add(down, "misled", report.misled, report.misled * mtu);
            add(down, "receive_buffer", report.overrun, report.overrun * mtu);
        }
        rows
    }

    fn links(&self) -> Vec<LinkRow> {
        let of = |(rack, report): (u32, &RackReport)| {
            let up = self.uplink(rack);
            let link = self.fabric.link(up);
            let wire = report.sent_bytes + FRAMING * report.sent;
            LinkRow {
                link: up.0,
                from: link.from.0,
                to: link.to.0,
                sent_packets: report.sent,
                sent_bytes: wire,
                busy_ps: link.spec.rate.time_for(Bytes::new(wire)).as_ps(),
                max_queue_bytes: 0,
                late_packets: report.counts.late,
            }
        };
        (0..).zip(self.racks).map(of).collect()
    }
}

/// The content of `live.json`.
pub(super) fn live_json(racks: &[RackReport], ports: &[CircuitCounters]) -> Value {
    let sum = |of: fn(&RackReport) -> u64| racks.iter().map(of).sum::<u64>();
    let switch: CircuitCounters = ports.iter().copied().sum();
    let delivered = sum(|r| r.delivered);
    let longest = racks.iter().map(|r| r.longest).max().unwrap_or_default();
    json!({
        "datagrams": sum(|r| r.began),
        "delivered": delivered,
        "mean_hops": if delivered > 0 { sum(|r| r.hops) as f64 / delivered as f64 } else { 0.0 },
        "late": sum(|r| r.counts.late),
        "dark": switch.dark,
        "misled": sum(|r| r.misled),
        "overrun": sum(|r| r.overrun),
        "refused": sum(|r| r.refused),
        "wakes": sum(|r| r.wakes),
        "late_wakes": sum(|r| r.late_wakes),
        "longest_delay_us": longest.as_ps() as f64 / 1e6,
        "real_time": racks.iter().all(|r| r.real_time),
        "circuits": switch,
    })
}
