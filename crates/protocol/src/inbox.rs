//! Checks that every controller applies to a report before using it.
//!
//! A report counts if host and destinations exist and no newer report of the same host came before.

use crate::agent::Address;
use crate::message::BacklogReport;
use timeplane_model::HostId;

/// Accepts reports of existing hosts about existing hosts, each newer than all before of its host.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    /// By host, the epoch and sequence of its newest report.
    newest: Vec<Option<(u32, u64)>>,
    counters: ReportCounters,
}

/// Counts of received inputs since a controller's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportCounters {
    /// Reports newer than all before of their host.
    pub taken: u64,
    /// Reports that were not newer.
    pub stale: u64,
    /// Inputs that no host sends: of unknown hosts, about unknown hosts, or not reports.
    pub malformed: u64,
}

impl Inbox {
    /// An inbox that has received nothing yet.
    pub(crate) fn new(hosts: u32) -> Self {
        Self { newest: vec![None; hosts as usize], counters: ReportCounters::default() }
    }

    pub(crate) fn counters(&self) -> &ReportCounters {
        &self.counters
    }

    /// Counts an input other than a report.
    pub(crate) fn malformed(&mut self) {
        self.counters.malformed += 1;
    }

    /// Returns the report's host if the report counts.
    pub(crate) fn take(&mut self, from: Address, report: &BacklogReport) -> Option<HostId> {
        let hosts = self.newest.len() as u32;
        let Address::Host(host) = from else {
            self.malformed();
            return None;
        };
        let known = |destination: HostId| destination.0 < hosts && destination != host;
        let backlog = &report.backlog;
        let entries = backlog.entries().iter().map(|e| e.destination);
        if host.0 >= hosts || !entries.chain(backlog.bursts.iter().map(|b| b.destination)).all(known) {
            self.malformed();
            return None;
        }
        let this = Some((report.epoch, report.sequence));
        let newest = &mut self.newest[host.index()];
        if *newest >= this {
            self.counters.stale += 1;
            return None;
        }
        *newest = this;
        self.counters.taken += 1;
        Some(host)
    }
}
