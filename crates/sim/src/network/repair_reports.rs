//! Repair reports of raw receivers on their way to the senders.
//!
//! Reports travel alongside the network with a fixed latency, and are lost only where an end is
//! down. They are counted with the bytes that they would take as datagrams.

use crate::engine::time::SimTime;
use std::collections::BTreeMap;
use timeplane_model::Duration;
use timeplane_transport::RepairReport;

/// Reports under way.
pub(crate) struct RepairReports {
    /// By arrival, flow and sequence: the flow's key and the report, `None` if it is lost.
    under_way: BTreeMap<(SimTime, u32, u32), (u32, Option<RepairReport>)>,
    sequence: u32,
    latency: Duration,
    /// Reports sent, and their wire bytes.
    pub sent: (u64, u64),
}

/// A report that arrives.
pub(crate) struct ArrivedReport {
    pub at: SimTime,
    pub flow: u32,
    pub key: u32,
    /// `None` if its sender was down.
    pub report: Option<RepairReport>,
}

impl RepairReports {
    pub fn new(latency: Duration) -> Self {
        Self { under_way: BTreeMap::new(), sequence: 0, latency, sent: (0, 0) }
    }

    /// When the next report arrives.
    pub fn next(&self) -> Option<SimTime> {
        self.under_way.first_key_value().map(|(k, _)| k.0)
    }

    /// Takes the next report.
    pub fn pop(&mut self) -> Option<ArrivedReport> {
        let ((at, flow, _), (key, report)) = self.under_way.pop_first()?;
        Some(ArrivedReport { at, flow, key, report })
    }

    /// A receiver sends a report, or is down.
    pub fn send(&mut self, now: SimTime, flow: u32, key: u32, report: Option<RepairReport>) {
        if let Some(report) = &report {
            self.sent.0 += 1;
            self.sent.1 += wire_bytes(report);
        }
        self.sequence += 1;
        self.under_way.insert((now + self.latency, flow, self.sequence), (key, report));
    }
}

/// Bytes of a repair report on the wire: a datagram of 12 B, and 16 B for each gap.
fn wire_bytes(report: &RepairReport) -> u64 {
    let payload = 28 + 12 + 16 * report.missing.len() as u64;
    (payload + 38).max(84)
}
