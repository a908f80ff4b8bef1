//! The results of a run in a lab, as the tables and the summary of a simulation.
//!
//! Missing are: frames resent in flows that were not delivered (the summary has all that agents
//! know of), queue lengths, and the bytes sent in each slot. A frame that no agent received counts
//! as lost if a receive buffer, the circuit switch or the packet switch counted it as dropped,
//! otherwise as in flight. Slots have their planned times, without the schedule's slip.
//!
//! Reports and grants count with their size in the simulator, although TLS carries them here. Links
//! count what the kernel counts: data, signals, and the demand channel's TCP. Their load refers to
//! the rate in the scenario.

use super::flows::{EndedFlow, FlowTables, facts};
use super::links::LinkCounts;
use super::report::Counted;
use super::workload::{Flow, Programs};
use crate::plan::LivePlan;
use timeplane_experiment::PlannedRun;
use timeplane_model::{Duration, HostId, LinkId, Time};
use timeplane_results::{
    ControlRow, DropRow, Recorder, ResultsError, RunFacts, RunSummary, SlotRow, Summarizer, Tally,
};
use timeplane_scenario::Scenario;
use timeplane_workload::Source;

/// Bytes of a control frame on the wire: the smallest Ethernet frame with preamble and inter-frame
/// gap.
const SIGNAL: u64 = 84;

/// Why a run has no valid result.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A flow's bytes did not arrive unchanged.
    #[error("flow {flow}, host {source_host} to {destination}: {what}")]
    Flow {
        /// Number of the flow.
        flow: u32,
        /// Number of the sending host.
        source_host: u32,
        /// Number of the receiving host.
        destination: u32,
        /// Description of the wrong bytes.
        what: String,
    },
    /// More arrived than was sent.
    #[error("{what} are not conserved: {tally:?}")]
    Conservation {
        /// What was counted: packets or bytes.
        what: &'static str,
        /// The contradicting counts.
        tally: Tally,
    },
    /// A daemon's counters are missing.
    #[error("no counters of {who}: it did not stop cleanly")]
    Missing {
        /// Name of the daemon.
        who: String,
    },
    /// The tables cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// A completed run, to be recorded.
pub struct CompletedRun<'a> {
    /// The point's scenario.
    pub scenario: &'a Scenario,
    /// Scheme, point and seed of the run.
    pub run: &'a PlannedRun,
    /// Plan of the run's scheme.
    pub plan: &'a LivePlan,
    /// The workload.
    pub source: &'a Source,
    /// Results of the programs.
    pub programs: &'a Programs,
    /// Counters of the daemons.
    pub counted: &'a Counted,
    /// The kernel's counters of the switch's ports.
    pub links: &'a LinkCounts,
}

impl CompletedRun<'_> {
    /// Checks that no byte was changed and that all packets are accounted for, fills the tables,
    /// and returns the summary.
    ///
    /// # Errors
    /// If a wrong byte arrived, counts contradict each other, or the tables cannot be written.
    pub fn record(&self, mut recorder: Recorder) -> Result<RunSummary, RecordError> {
        self.programs.flows.iter().try_for_each(|f| self.check(f))?;
        let mut summarizer = Summarizer::new();
        self.flows(&mut recorder, &mut summarizer);
        let (packets, bytes) = self.tallies(&mut recorder, &mut summarizer)?;
        for row in self.control_rows() {
            recorder.control(&row);
            summarizer.control(&row);
        }
        self.slots(&mut recorder);
        self.links.rows(&self.plan.fabric).iter().for_each(|row| recorder.link(row));
        let facts = RunFacts {
            received_bytes: self.programs.received.clone(),
            packets,
            bytes,
            // To the switch and from it.
            packet_hops: packets.sent + packets.delivered,
            ..facts(self.scenario, self.run, self.programs.length)
        };
        let mut summary = summarizer.finish(facts);
        summary.retransmissions = self.counted.streams("frames_resent");
        recorder.finish()?;
        Ok(summary)
    }

    /// Checks that a flow's receiver has read what its sender wrote.
    fn check(&self, flow: &Flow) -> Result<(), RecordError> {
        let error = |what: String| {
            let (source_host, destination) = (flow.arrival.source.0, flow.arrival.destination.0);
            Err(RecordError::Flow { flow: flow.number, source_host, destination, what })
        };
        let of = |n: &std::sync::atomic::AtomicU64| n.load(std::sync::atomic::Ordering::Relaxed);
        let (read, size) = (of(&flow.read), flow.arrival.bytes.get());
        match flow.corruption() {
            Some(what) => error(what),
            _ if read > size => error(format!("{read} B came of {size} B")),
            _ if flow.finished().is_some() && of(&flow.written) != size => {
                error(format!("{size} B came, and {} B were taken from the sender", of(&flow.written)))
            }
            _ => Ok(()),
        }
    }

    fn flows(&self, recorder: &mut Recorder, summarizer: &mut Summarizer) {
        let of = |n: &std::sync::atomic::AtomicU64| n.load(std::sync::atomic::Ordering::Relaxed);
        let ended = |flow: &std::sync::Arc<Flow>| EndedFlow {
            number: flow.number,
            arrival: flow.arrival,
            fct: flow.finished().map(|at| at - flow.arrival.at),
            received: of(&flow.read),
            resent: of(&flow.resent) as u32,
        };
        let tables = FlowTables {
            scenario: self.scenario,
            scheme: &self.run.scheme,
            fabric: &self.plan.fabric,
            coflows: self.source.coflows(self.run.seed),
        };
        tables.record(self.programs.flows.iter().map(ended), recorder, summarizer);
    }

    fn tallies(&self, recorder: &mut Recorder, summarizer: &mut Summarizer) -> Result<(Tally, Tally), RecordError> {
        let counted = self.counted;
        let came = (counted.agents("received"), counted.agents("received_bytes"));
        let mut sent = (counted.agents("frames") + counted.agents("repairs"), counted.agents("sent_bytes"));
        if counted.killed_agents > 0 {
            // The last counts of a killed agent are unknown; frames that arrived were sent.
            sent = (sent.0.max(came.0), sent.1.max(came.1));
        }
        let missing = (sent.0.checked_sub(came.0), sent.1.checked_sub(came.1));
        let (Some(frames), Some(bytes)) = missing else {
            let tally = Tally { sent: sent.0, delivered: came.0, ..Tally::default() };
            return Err(RecordError::Conservation { what: "frames", tally });
        };
        let (mut lost, mut lost_bytes) = (0, 0);
        for row in self.losses() {
            // No more is lost than is missing, as frames that arrived were not lost.
            let packets = row.packets.min(frames - lost);
            let row = DropRow { packets, bytes: row.bytes.min(bytes - lost_bytes), ..row };
            if row.packets > 0 {
                recorder.drop(&row);
                summarizer.drop(&row);
                (lost, lost_bytes) = (lost + row.packets, lost_bytes + row.bytes);
            }
        }
        let tally = |sent, delivered, dropped, in_flight| Tally { sent, delivered, dropped, in_flight };
        let packets = tally(sent.0, came.0, lost, frames - lost);
        Ok((packets, tally(sent.1, came.1, lost_bytes, bytes - lost_bytes)))
    }

    /// Known losses by link and reason. Bytes are without Ethernet's header; where only frames are
    /// counted, they are upper bounds.
    fn losses(&self) -> Vec<DropRow> {
        let fabric = &self.plan.fabric;
        let most = self.scenario.fabric.mtu.get();
        let row = |link: LinkId, reason, packets, bytes| {
            let node = fabric.link(link).from.0;
            DropRow { link: link.0, node, reason, packets, bytes }
        };
        let mut rows = Vec::new();
        for (host, agent) in (0..).map(HostId).zip(&self.counted.agents) {
            let overrun = agent.agent.get("overrun").copied().unwrap_or(0);
            rows.push(row(fabric.downlink(host), "receive_buffer", overrun, overrun * most));
        }
        let Some(seen) = &self.counted.circuits else { return rows };
        for (host, port) in (0..).map(HostId).zip(&seen.ports) {
            let up = fabric.circuit_uplinks(fabric.link(fabric.uplink(host)).to);
            let Some(&up) = up.first() else { continue };
            let packets_only = |bytes: u64, frames: u64| bytes.saturating_sub(14 * frames);
            let unconnected = packets_only(port.unconnected_bytes, port.unconnected);
            rows.push(row(up, "circuit_dark", port.dark, packets_only(port.dark_bytes, port.dark)));
            rows.push(row(up, "circuit_unconnected", port.unconnected, unconnected));
        }
        for (host, &dropped) in (0..).map(HostId).zip(&seen.packets_dropped) {
            rows.push(row(fabric.downlink(host), "buffer_full", dropped, dropped * most));
        }
        rows
    }

    fn control_rows(&self) -> Vec<ControlRow> {
        let none =
            ControlRow { kind: "report", sender: None, messages: 0, bytes: 0, lost: 0, late: 0, max_transfer_ps: 0 };
        let of = |agent: &timeplane_live::agent::Snapshot, name: &str| agent.agent.get(name).copied().unwrap_or(0);
        let reports = self.counted.agents.iter().map(|a| ControlRow {
            sender: Some(a.host),
            messages: of(a, "reports"),
            bytes: of(a, "report_bytes"),
            ..none
        });
        let mut rows: Vec<ControlRow> = reports.collect();
        let late = self.counted.agents("late");
        let lost = self.counted.controllers("grants_lost");
        let (messages, bytes) = (self.counted.controllers("grants"), self.counted.controllers("grant_bytes"));
        rows.push(ControlRow { kind: "grants", messages, bytes, lost, late, ..none });
        let signals = self.counted.controllers("signals");
        // Signals that the controller's interface refused, and signals dropped as the scenario
        // demands.
        let lost = self.counted.controllers("signals_lost") + self.counted.lost_signals;
        if signals > 0 {
            rows.push(ControlRow { kind: "pfc", messages: signals, bytes: signals * SIGNAL, lost, ..none });
        }
        rows
    }

    fn slots(&self, recorder: &mut Recorder) {
        let begin = self.programs.begin;
        let fabric = &self.plan.fabric;
        for slot in &self.counted.slots {
            let start = Time::from_ps(slot.start_ps) - begin;
            if start.is_negative() || start > self.programs.length {
                continue;
            }
            for &(source, destination) in &slot.pairs {
                let rate = fabric.link(fabric.uplink(HostId(source))).spec.rate;
                recorder.slot(&SlotRow {
                    round: slot.round,
                    slot: slot.slot,
                    start_ps: start.as_ps(),
                    open_ps: slot.open_ps,
                    gap_ps: slot.gap_ps,
                    source,
                    destination,
                    granted_bytes: rate.bytes_in(Duration::from_ps(slot.open_ps)).get(),
                    sent_bytes: None,
                });
            }
        }
    }
}
