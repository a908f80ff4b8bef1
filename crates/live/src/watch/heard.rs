//! Reports of hosts on the demand channel, recorded by the channel's thread.
//!
//! The publisher takes it from there.

use crate::channel::{Event as ChannelEvent, PeerId};
use crate::notes::{Counts, Note};
use std::collections::{BTreeMap, VecDeque};
use timeplane_model::Time;
use timeplane_protocol::Message;
use timeplane_protocol::wire::Control;

/// Maximum number of a host's counts that are kept; older ones are dropped. They arrive once a
/// second, and are fetched twice a second while a page is open.
const COUNTS: usize = 4;

/// Of all hosts.
#[derive(Debug)]
pub(super) struct HostRecords {
    pub(super) hosts: Vec<Host>,
    /// Whose certificates they are.
    names: BTreeMap<PeerId, usize>,
}

/// Of one host.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    peer: Option<PeerId>,
    /// When the host connected.
    pub(super) joined: Option<Time>,
    /// When its last report arrived.
    pub(super) reported: Option<Time>,
    pub(super) reports: u64,
    /// Backlog of that report: wire bytes by destination.
    pub(super) backlog: Vec<(u32, u64)>,
    /// Whether the backlog has changed since it was last fetched.
    pub(super) changed: bool,
    /// Counts of its agent, with their arrival times.
    pub(super) counts: VecDeque<(Time, Counts)>,
}

impl HostRecords {
    pub(super) fn new(hosts: u32) -> Self {
        Self { hosts: vec![Host::default(); hosts as usize], names: BTreeMap::new() }
    }

    /// Records an event. Returns whether it is for the page alone.
    pub(super) fn hear(&mut self, now: Time, event: &ChannelEvent) -> bool {
        match event {
            ChannelEvent::Joined { peer, name } => {
                // A certificate is valid for its own host only.
                let host = name.strip_prefix("host-").and_then(|n| n.parse::<usize>().ok());
                if let Some(host) = host.filter(|h| *h < self.hosts.len()) {
                    self.names.insert(*peer, host);
                    self.hosts[host].peer = Some(*peer);
                    self.hosts[host].joined = Some(now);
                }
                false
            }
            ChannelEvent::Control { peer, control: Control::Message(Message::Report(report)), .. } => {
                if let Some(host) = self.of(*peer) {
                    let row = report.backlog.entries().iter().map(|e| (e.destination.0, e.bytes.get()));
                    host.changed |= !row.clone().eq(host.backlog.iter().copied());
                    if host.changed {
                        host.backlog = row.collect();
                    }
                    host.reported = Some(now);
                    host.reports += 1;
                }
                false
            }
            ChannelEvent::Note { peer, note } if note.get("counts").is_some() => {
                if let (Some(host), Ok(Note::Counts(counts))) = (self.of(*peer), serde_json::from_value(note.clone())) {
                    host.counts.push_back((now, counts));
                    if host.counts.len() > COUNTS {
                        host.counts.pop_front();
                    }
                }
                true
            }
            ChannelEvent::Left { peer, .. } => {
                // Its backlog is dropped.
                if let Some(host) = self.of(*peer) {
                    *host = Host { changed: true, reported: host.reported, reports: host.reports, ..Host::default() };
                }
                self.names.remove(peer);
                false
            }
            ChannelEvent::Control { .. } | ChannelEvent::Note { .. } => false,
        }
    }

    /// The host of this connection, unless it has a newer one.
    fn of(&mut self, peer: PeerId) -> Option<&mut Host> {
        let host = &mut self.hosts[*self.names.get(&peer)?];
        (host.peer == Some(peer)).then_some(host)
    }
}
