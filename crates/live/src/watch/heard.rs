//! What hosts reported on the demand channel, as the channel's thread records it.
//!
//! The publisher takes it from there.

use crate::channel::{Event as ChannelEvent, PeerId};
use crate::notes::{Counts, Note};
use std::collections::{BTreeMap, VecDeque};
use timeplane_model::Time;
use timeplane_protocol::Message;
use timeplane_protocol::wire::Control;

/// Counts of a host that nobody has looked at yet; older ones go. They come once a second, and are
/// fetched twice while somebody looks.
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
    /// When its connection was made.
    pub(super) joined: Option<Time>,
    /// When its last report came.
    pub(super) reported: Option<Time>,
    pub(super) reports: u64,
    /// What waits, by that report: wire bytes by destination.
    pub(super) backlog: Vec<(u32, u64)>,
    /// Whether that has changed since somebody looked.
    pub(super) changed: bool,
    /// What its agent has counted, by when that came.
    pub(super) counts: VecDeque<(Time, Counts)>,
}

impl HostRecords {
    pub(super) fn new(hosts: u32) -> Self {
        Self { hosts: vec![Host::default(); hosts as usize], names: BTreeMap::new() }
    }

    /// Whether the event is for the page alone.
    pub(super) fn hear(&mut self, now: Time, event: &ChannelEvent) -> bool {
        match event {
            ChannelEvent::Joined { peer, name } => {
                // A certificate speaks for its own host alone.
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
                // What it wanted to send is nobody's any more.
                if let Some(host) = self.of(*peer) {
                    *host = Host { changed: true, reported: host.reported, reports: host.reports, ..Host::default() };
                }
                self.names.remove(peer);
                false
            }
            ChannelEvent::Control { .. } | ChannelEvent::Note { .. } => false,
        }
    }

    /// The host that speaks over this connection, where no newer one speaks for it.
    fn of(&mut self, peer: PeerId) -> Option<&mut Host> {
        let host = &mut self.hosts[*self.names.get(&peer)?];
        (host.peer == Some(peer)).then_some(host)
    }
}
