//! The frames by which a TDMA controller opens and closes gates.
//!
//! Only the controller's clock counts with signals: times in its messages start at their arrival.
//! Each frame holds for its slot and the spread of frames, so a lost frame costs at most one slot.

use crate::agent::{Address, Output};
use crate::message::{Grants, Message, Pfc};
use crate::numbering::destinations;
use std::collections::VecDeque;
use timeplane_model::{Bytes, Class, Duration, Fabric, Grant, HostId, Medium, Time, Transmission, Trigger};

/// How a [`SlotController`](crate::SlotController) opens gates by PFC frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalConfig {
    /// The longest time that a frame may open a gate: 65,535 quanta of 512 bits in IEEE 802.3x.
    pub hold: Duration,
    /// The largest difference between the reactions of two hosts to frames of one slot: the skew of
    /// frames that leave one after the other, and the slowest reaction. A gate stays open for a
    /// slot and this time, so that it closes by itself if its closing frame is lost.
    pub slack: Duration,
    /// The average time from a slot's start at the controller until gates open. Granted demand
    /// counts as served with this delay.
    pub delay: Duration,
}

/// Frames to send together.
#[derive(Clone, Debug)]
struct Burst {
    at: Time,
    /// Opening frames are useless from here on, because the slot is over.
    end: Time,
    frames: Vec<(HostId, Option<u16>)>,
}

/// Sends two frames per slot to each sender: one that opens its gate, and one that closes it.
///
/// Frames leave in the order of an interface: all hosts of one edge switch, then those of the next
/// one. The orders of switches and of the hosts below each rotate with every slot, so that none is
/// always last.
#[derive(Clone, Debug)]
pub(crate) struct Signaller {
    config: SignalConfig,
    epoch: u32,
    /// Hosts by edge switch.
    edges: Vec<Vec<HostId>>,
    /// By host, the position of its switch and its position below it.
    place: Vec<(usize, usize)>,
    turn: usize,
    /// The sequence of each host's next frame.
    sequence: Vec<u64>,
    /// In the order of time.
    pending: VecDeque<Burst>,
    /// Classes below this are destinations.
    destinations: u16,
    /// The class of each host's next grant.
    class: Vec<u16>,
}

impl Signaller {
    /// A signaller without frames. Sequences start at `first`.
    pub(crate) fn new(config: SignalConfig, epoch: u32, first: u64, fabric: &Fabric) -> Self {
        let hosts = fabric.hosts();
        let mut switches = Vec::new();
        let mut edges: Vec<Vec<HostId>> = Vec::new();
        let mut place = Vec::with_capacity(hosts as usize);
        for host in (0..hosts).map(HostId) {
            let switch = fabric.link(fabric.uplink(host)).to;
            let edge = switches.iter().position(|&s| s == switch).unwrap_or_else(|| {
                switches.push(switch);
                edges.push(Vec::new());
                edges.len() - 1
            });
            place.push((edge, edges[edge].len()));
            edges[edge].push(host);
        }
        let destinations = destinations(hosts);
        let class = vec![destinations; hosts as usize];
        let sequence = vec![first; hosts as usize];
        Self { config, epoch, edges, place, turn: 0, sequence, pending: VecDeque::new(), destinations, class }
    }

    /// Sorts hosts into this slot's order.
    fn order(&self, hosts: &mut [(HostId, Option<u16>)]) {
        let edges = self.edges.len();
        hosts.sort_by_key(|(h, _)| {
            let (edge, place) = self.place[h.index()];
            let below = self.edges[edge].len();
            ((edge + edges - self.turn % edges) % edges, (place + below - self.turn % below) % below)
        });
    }

    /// Takes the slots of a round with their starts, ends and transmissions. Schedules their
    /// frames, and adds the grants that classes need to `messages`, one for each host. Returns how
    /// many transmissions are left out because no class is free.
    ///
    /// `limit` returns the bytes that a transmission may send. It matters for receive buffers, as a
    /// gate may be open for longer than its slot.
    pub(crate) fn take(
        &mut self,
        slots: impl Iterator<Item = (Time, Time, Vec<Transmission>)>,
        lease: Time,
        limit: impl Fn(&Transmission, Duration) -> Option<Bytes>,
        messages: &mut [Grants],
    ) -> u64 {
        let free = usize::from(Pfc::CLASSES - self.destinations);
        let mut left_out = 0;
        for (start, end, slot) in slots {
            self.turn += 1;
            let open = end - start;
            let mut opens: Vec<(HostId, Option<u16>)> = Vec::with_capacity(slot.len());
            for (source, mut transmissions) in by_source(slot) {
                transmissions.iter_mut().for_each(|t| t.bytes = t.bytes.or_else(|| limit(t, open)));
                let plain = self.plain_class(&transmissions);
                // A class returns after four rounds at the earliest, when the lease of its last
                // grant has ended.
                if plain.is_none() && messages[source.index()].grants.len() + transmissions.len() > free / 4 {
                    left_out += 1;
                    continue;
                }
                let class = plain.unwrap_or_else(|| {
                    let next = &mut self.class[source.index()];
                    let class = *next;
                    *next = if class + 1 == Pfc::CLASSES { self.destinations } else { class + 1 };
                    messages[source.index()].grants.extend(transmissions.iter().map(|t| by_signal(t, class, lease)));
                    class
                });
                opens.push((source, Some(class)));
            }
            self.order(&mut opens);
            let closes = opens.iter().map(|(h, _)| (*h, None)).collect();
            self.pending.push_back(Burst { at: start, end, frames: opens });
            self.pending.push_back(Burst { at: end, end: Time::MAX, frames: closes });
        }
        left_out
    }

    /// The class of a destination, if a transmission needs no grant.
    fn plain_class(&self, transmissions: &[Transmission]) -> Option<u16> {
        let [t] = transmissions else { return None };
        let plain = t.class == Class(0) && t.path.is_none() && t.rate.is_none() && t.bytes.is_none();
        u16::try_from(t.destination.0).ok().filter(|&d| plain && d < self.destinations)
    }

    /// When the next frames are due.
    pub(crate) fn due(&self) -> Option<Time> {
        self.pending.front().map(|b| b.at)
    }

    /// Sends frames that are due. A slot that is over is not opened; one that has started opens for
    /// the rest.
    pub(crate) fn send(&mut self, now: Time, out: &mut Vec<Output>) {
        while self.due().is_some_and(|at| at <= now) {
            let Some(burst) = self.pending.pop_front() else { return };
            let opens = burst.end < Time::MAX;
            if opens && burst.end <= now {
                continue;
            }
            let hold = if opens { (burst.end - now + self.config.slack).min(self.config.hold) } else { Duration::ZERO };
            for (host, open) in burst.frames {
                let sequence = &mut self.sequence[host.index()];
                *sequence += 1;
                let pfc = Pfc { epoch: self.epoch, sequence: *sequence, open, hold };
                out.push(Output::Send { to: Address::Host(host), message: Message::Pfc(pfc) });
            }
        }
    }
}

/// A slot's transmissions in the order of sources.
fn by_source(mut sorted: Vec<Transmission>) -> Vec<(HostId, Vec<Transmission>)> {
    sorted.sort_by_key(|t| t.source);
    sorted.chunk_by(|a, b| a.source == b.source).map(|c| (c[0].source, c.to_vec())).collect()
}

fn by_signal(t: &Transmission, class: u16, lease: Time) -> Grant {
    Grant {
        destination: t.destination,
        class: t.class,
        medium: t.path.map_or(Medium::Fabric, Medium::Path),
        rate: t.rate,
        bytes: t.bytes,
        packets: None,
        start: Trigger::Signal(u32::from(class)),
        end: Trigger::Never,
        lease,
    }
}
