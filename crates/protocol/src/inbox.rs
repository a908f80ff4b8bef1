//! What every controller asks of a report before it believes it.

use crate::agent::Address;
use crate::message::Report;
use timeplane_model::HostId;

/// Which reports a controller takes: of hosts that exist, about hosts that exist, and newer than all before of the same host.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    /// Per host: epoch and sequence of its newest report.
    newest: Vec<Option<(u32, u64)>>,
    counters: ReportCounters,
}

/// What a controller has counted of what came in, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportCounters {
    /// Reports that were newer than all before of their host.
    pub taken: u64,
    /// Reports that were not.
    pub stale: u64,
    /// Inputs that no host could mean: of unknown hosts, about them, or no reports.
    pub malformed: u64,
}

impl Inbox {
    /// Of `hosts` hosts, none of which has reported.
    pub(crate) fn new(hosts: u32) -> Self {
        Self { newest: vec![None; hosts as usize], counters: ReportCounters::default() }
    }

    /// What came in.
    pub(crate) fn counters(&self) -> &ReportCounters {
        &self.counters
    }

    /// Counts an input that is no report.
    pub(crate) fn malformed(&mut self) {
        self.counters.malformed += 1;
    }

    /// The host whose report this is, where it is to be taken.
    pub(crate) fn take(&mut self, from: Address, report: &Report) -> Option<HostId> {
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
