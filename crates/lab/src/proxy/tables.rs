//! The results of an experiment in the proxy's lab, as the tables and the summary of a simulation.
//!
//! Missing are the table of links, since the only link is emulated; windows over time; and the
//! proxy's orders to its own sockets, which are no messages. Round trips are those of the link's
//! packets, exact to 50 us: the measured delay of queue and air, and an empty way back.

use super::lab::{Figures, ProxyLab};
use crate::flows::facts;
use serde_json::{Value, json};
use timeplane_experiment::PlannedRun;
use timeplane_model::{Duration, Fabric, NodeId};
use timeplane_results::{
    ControlRow, Distribution, DropRow, FlowRow, LowerBounds, Recorder, ResultsError, RttRow, RunFacts, RunSummary,
    Summarizer, Tally,
};
use timeplane_scenario::Scenario;
use timeplane_workload::{FlowArrival, IdealPath};

/// IPv4's and TCP's headers, with time stamps.
const HEADERS: u64 = 52;

/// Why an experiment has no valid result.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The server's bytes did not arrive unchanged.
    #[error("{sent} B sent, {came} B received: bytes are missing or corrupt")]
    Bytes {
        /// Bytes that the server wrote.
        sent: u64,
        /// Bytes that the device read.
        came: u64,
    },
    /// Counts of the emulated link's packets contradict each other.
    #[error("packets of the emulated link are not conserved")]
    Conservation,
    /// The tables cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// A completed experiment, to be recorded.
pub(super) struct CompletedRun<'a> {
    pub scenario: &'a Scenario,
    pub fabric: &'a Fabric,
    pub run: &'a PlannedRun,
    /// The one flow of the workload.
    pub flow: FlowArrival,
    pub lab: &'a ProxyLab,
    pub figures: &'a Figures,
}

impl CompletedRun<'_> {
    /// Checks that no byte was lost or changed, fills the tables, and returns the summary.
    pub fn record(&self, mut recorder: Recorder) -> Result<RunSummary, RecordError> {
        let Figures { packets: [there, back], bytes: (sent, came), .. } = *self.figures;
        if !self.figures.intact {
            return Err(RecordError::Bytes { sent, came });
        }
        if !there.conserved() || !back.conserved() {
            return Err(RecordError::Conservation);
        }
        let mut summarizer = Summarizer::new();
        let row = self.flow_row();
        recorder.flow(&row);
        summarizer.flow(&row);
        let (mut lost, mut lost_bytes) = (0, 0);
        let link = self.air_link();
        for (link, way) in [(link, there), (link.map(|(l, from, to)| (l ^ 1, to, from)), back)] {
            for (reason, count) in [("buffer_full", way.no_room), ("air", way.lost), ("host_down", way.refused)] {
                if count.packets == 0 {
                    continue;
                }
                (lost, lost_bytes) = (lost + count.packets, lost_bytes + count.bytes);
                let (link, node, _) = link.unwrap_or_default();
                let row = DropRow { link, node, reason, packets: count.packets, bytes: count.bytes };
                recorder.drop(&row);
                summarizer.drop(&row);
            }
        }
        if let Some(steering) = self.figures.steering {
            let (messages, bytes) = (steering.reports + steering.stale, steering.report_bytes);
            let row = ControlRow {
                kind: "link_report",
                sender: None,
                messages,
                bytes,
                lost: 0,
                late: steering.stale,
                max_transfer_ps: 0,
            };
            recorder.control(&row);
            summarizer.control(&row);
        }
        for (delay, packets) in self.figures.delays.cells() {
            let rtt_ps = (delay + self.lab.propagation).as_ps();
            recorder.rtt(&RttRow { rtt_ps, packets });
        }
        let ways = there.came + back.came;
        let (delivered, waiting) = (there.delivered + back.delivered, there.under_way + back.under_way);
        let tally = |sent, delivered, dropped, in_flight| Tally { sent, delivered, dropped, in_flight };
        let mut received_bytes = vec![0; self.fabric.hosts() as usize];
        received_bytes[self.flow.destination.index()] = self.figures.in_time.get();
        let facts = RunFacts {
            received_bytes,
            rtt_ps: self.round_trips(),
            packets: tally(ways.packets, delivered.packets, lost, waiting.packets),
            bytes: tally(ways.bytes, delivered.bytes, lost_bytes, waiting.bytes),
            packet_hops: ways.packets,
            ..facts(self.scenario, self.run, self.lab.duration)
        };
        recorder.finish()?;
        Ok(summarizer.finish(facts))
    }

    fn flow_row(&self) -> FlowRow {
        let FlowArrival { at, source, destination, bytes, coflow } = self.flow;
        let mtu = self.scenario.fabric.mtu.get();
        let most = mtu.saturating_sub(HEADERS).max(1);
        let mut path = IdealPath::default();
        path.find(self.fabric, source, destination, 0);
        let rest = bytes.get() % most;
        let packets = [(mtu as u32, bytes.get() / most), ((rest + HEADERS) as u32, u64::from(rest > 0))];
        FlowRow {
            flow: 0,
            coflow: coflow.map(|c| c.0),
            source: source.0,
            destination: destination.0,
            size_bytes: bytes.get(),
            start_ps: at.as_ps(),
            // The flow lasts longer than the server sends.
            fct_ps: None,
            acknowledged_ps: None,
            received_bytes: self.figures.in_time.get(),
            ideal_ps: path.completion(packets).as_ps(),
            measured: true,
            retransmissions: self.figures.sent_again,
            // Timeouts of the kernel are not read.
            timeouts: 0,
        }
    }

    /// The emulated link towards the device: its number and its end nodes.
    fn air_link(&self) -> Option<(u32, u32, u32)> {
        let radio = self.scenario.fabric.radio.as_ref()?;
        let [from, to] = radio.link.iter().find(|l| l.trace.is_some())?.nodes;
        let of = self.fabric.links_of(NodeId(from));
        let link = of.into_iter().find(|&l| self.fabric.link(l).from.0 == from && self.fabric.link(l).to.0 == to)?;
        Some((link.0, from, to))
    }

    /// Distribution of round-trip times, and their quantile at 99.999 %.
    fn round_trips(&self) -> Option<(Distribution, f64)> {
        let delays = &self.figures.delays;
        let ps = |delay: Duration| (delay + self.lab.propagation).as_ps() as f64;
        let at = |share| delays.quantile(share).map(ps);
        let (mean, max) = (ps(delays.mean()?), ps(delays.longest()?));
        let lower_bounds = LowerBounds::default();
        let found = Distribution { mean, p50: at(0.5)?, p95: at(0.95)?, p99: at(0.99)?, max, lower_bounds };
        Some((found, at(0.99999)?))
    }
}

/// The content of `live.json`. `policy` is who controlled.
pub(super) fn live_json(policy: &str, actuator: &str, lab: &ProxyLab, figures: &Figures) -> Value {
    let us = |d: Duration| d.as_ps() as f64 / 1e6;
    let base = lab.propagation * 2;
    let there = figures.packets[0];
    let mut live = json!({
        "policy": policy,
        "capacity_bps": figures.capacity.as_bps(),
        "goodput_bps": figures.goodput.as_bps(),
        "goodput_share": figures.share(),
        "base_rtt_us": us(base),
        "rtt_p50_us": us(figures.rtt.p50),
        "rtt_p99_us": us(figures.rtt.p99),
        "over_base_p50_us": us(figures.rtt.p50 - base),
        "over_base_p99_us": us(figures.rtt.p99 - base),
        "smoothed_rtt_p50_us": us(figures.srtt.p50),
        "smoothed_rtt_p99_us": us(figures.srtt.p99),
        "sent_again": figures.sent_again,
        "no_room_packets": there.no_room.packets,
        "lost_in_the_air_packets": there.lost.packets,
        // How late the emulator's packets were.
        "handed_over_late_p99_us": us(figures.late),
    });
    if let Some(steering) = figures.steering {
        live["actuator"] = actuator.into();
        live["reports"] = steering.reports.into();
        live["orders"] = steering.orders.into();
        live["failed_orders"] = steering.failed.into();
    }
    live
}
