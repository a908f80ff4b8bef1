//! What an interface reports of its queues.
//!
//! A TCP flow that hands over its segments in turn counts with those that it could send now,
//! although they wait in its socket.

use super::{Bucket, Nic, Queue};
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::hosts::flow::{FlowKey, NONE};
use crate::network::link::LinkState;
use timeplane_model::{Backlog, BacklogEntry, Burst, Bytes, Class, CoflowBacklog, CoflowId, Duration, HostId};
use timeplane_protocol::Detail;

impl Nic {
    /// The backlog in wire bytes by destination, in this detail. Flow by flow, bytes by destination
    /// are left out: an agent adds up those of flows.
    pub fn backlog(
        &self,
        now: SimTime,
        link: &LinkState,
        ahead: Duration,
        detail: Detail,
        ends: &Endpoints,
    ) -> Backlog {
        if detail == Detail::Bursts {
            let bursts = self.bursts(now, link, ahead, ends);
            if !bursts.is_empty() {
                let mut backlog = Backlog::new(Vec::new());
                backlog.bursts = bursts;
                return backlog;
            }
        }
        let entry = |(destination, (_, bytes))| BacklogEntry {
            destination: HostId(destination),
            bytes: Bytes::new(bytes),
            arrived: self.arrived_for(now, destination, link, ends),
        };
        // Bytes that are sent and not paid for count as backlog, or their share would be given away
        // twice.
        let reported = |w: &&Bucket| self.unreported != Some(w.queue.1);
        let owing = self.rates.owing().filter(|w| !self.queues.contains_key(&w.queue)).filter(reported);
        let owed = owing.map(|w| (w.queue.0, (0, w.owed_bits(now).div_ceil(8_000_000_000_000) as u64)));
        let gated = self.queues.iter().filter(|(id, _)| self.unreported != Some(id.1));
        let waiting = gated.map(|(id, q)| {
            let flows = q.flows().map(|(since, key)| ends.backlog_of(now, since, key, link));
            let (packets, bytes) = sum(packets_of(q, link).chain(flows));
            // Booked packets that have not left count as backlog.
            let booked = self.train.filter(|train| train.queue == *id).map_or((0, 0), |train| {
                let packets = train.waiting(now);
                (packets, packets * u64::from(train.wire))
            });
            (id.0, (packets + booked.0, bytes + booked.1))
        });
        let mut backlog = Backlog::new(waiting.chain(owed).map(entry).collect());
        match detail {
            Detail::Destinations | Detail::Bursts => {}
            Detail::Coflows => backlog = backlog.with_coflows(self.coflows(now, link, ends)),
        }
        backlog
    }

    /// The backlog of the coflows of flows in progress.
    fn coflows(&self, now: SimTime, link: &LinkState, ends: &Endpoints) -> Vec<CoflowBacklog> {
        let mut parts = Vec::new();
        for (&(destination, _), queue) in self.queues.iter().filter(|(id, _)| self.unreported != Some(id.1)) {
            let mut add = |key: FlowKey, bytes: u64| {
                let coflow = ends.flows.get(key).sender.coflow;
                if coflow != NONE {
                    let (destination, coflow) = (HostId(destination), CoflowId(coflow));
                    parts.push(CoflowBacklog { destination, coflow, bytes: Bytes::new(bytes) });
                }
            };
            queue.packets.iter().for_each(|(_, p)| add(p.flow, u64::from(link.wire(p.bytes))));
            queue.flows().for_each(|(since, key)| add(key, ends.backlog_of(now, since, key, link).1));
        }
        parts
    }

    /// The backlog flow by flow, in the order in which it will leave its queue.
    fn bursts(&self, now: SimTime, link: &LinkState, ahead: Duration, ends: &Endpoints) -> Vec<Burst> {
        let mut bursts: Vec<Burst> = Vec::with_capacity(self.queues.len());
        for (&(destination, class), queue) in &self.queues {
            let mut add = |since: SimTime, packets: u64, bytes: u64| {
                let burst = Burst {
                    destination: HostId(destination),
                    class: Class(class),
                    arrived: since.on_clock(ahead),
                    packets: packets as u32,
                    bytes: Bytes::new(bytes),
                };
                bursts.push(burst);
            };
            for (since, packet) in &queue.packets {
                add(*since, 1, u64::from(link.wire(packet.bytes)));
            }
            for (since, key) in queue.flows() {
                let (packets, bytes) = if ends.is_passive() {
                    ends.unsent_exact(key, link)
                } else {
                    ends.backlog_of(now, since, key, link)
                };
                // A flow that has nothing to send any more leaves in its turn.
                if packets > 0 {
                    add(since, packets, bytes);
                }
            }
        }
        bursts
    }

    /// Wire bytes that were ever queued for a destination, where the controller asks for them.
    /// Those that a TCP flow could hand over in turn count as queued.
    fn arrived_for(&self, now: SimTime, destination: u32, link: &LinkState, ends: &Endpoints) -> Option<Bytes> {
        let before = self.arrived.as_ref()?.get(&destination).copied().unwrap_or(0);
        let flows = self.queues.range((destination, 0)..=(destination, u8::MAX)).flat_map(|(_, q)| q.flows());
        let flows = flows.filter(|_| !ends.is_passive());
        let (_, now) = sum(flows.map(|(since, key)| ends.backlog_of(now, since, key, link)));
        Some(Bytes::new(before + now))
    }

    /// What waits here by destination, in packets and their wire bytes. Segments that TCP flows
    /// have yet to hand over wait in their sockets.
    pub fn waiting(&self, link: &LinkState, ends: &Endpoints) -> impl Iterator<Item = (u32, (u64, u64))> {
        self.queues.iter().map(|(&(destination, _), q)| {
            let flows = q.flows().map(|(_, key)| ends.unsent(key, link));
            (destination, sum(packets_of(q, link).chain(flows)))
        })
    }
}

/// The packets of a queue, with their wire bytes.
fn packets_of(queue: &Queue, link: &LinkState) -> impl Iterator<Item = (u64, u64)> {
    queue.packets.iter().map(|(_, p)| (1, u64::from(link.wire(p.bytes))))
}

/// Packets and wire bytes in all.
fn sum(parts: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    parts.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}
