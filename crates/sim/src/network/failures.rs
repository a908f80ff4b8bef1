//! Elements that fail and recover: the packets that are lost, and the times at which controllers
//! learn of it.
//!
//! The path of a packet checks for failures only if the scenario has some. A link that is down, or
//! leads to a node that is down, leaves the fast path for that time. A packet that will arrive at a
//! node while it is down is marked when the node fails or when the packet joins the link; the node
//! then drops it as it drops a corrupt packet.
//!
//! Only frames on or in the failed element are lost, with its reason. A packet is in a switch once
//! its last bit has arrived, and on a wire from its first bit on. Behind cut-through, a packet that
//! has started on its next wire is not caught.
//!
//! Other elements learn of a failure, and of the return, after the detection time. Switches then
//! route over the remaining elements, and packets without a route are lost as `no_route`. A host
//! that cannot send keeps its flows. A controller that returns is a new one with the next epoch,
//! and stays quiet until the grants of its predecessor have ended.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::FlowQueue;
use crate::network::meters::Loss;
use crate::network::packet::{DOOMED, LAST, Packet, UNKNOWN, flags};
use crate::network::rate_changes::RateChanges;
use crate::network::wires::Wires;
use std::collections::{BTreeMap, BTreeSet};
use timeplane_model::{Fabric, LinkId, NodeId, Rate};
use timeplane_scenario::{Element, Failure};

/// A part that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Wire(u32),
    Node(u32),
    Controller(Controller),
}

/// A controller that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// The controller that plans, or the first of two.
    First,
    /// The second of two.
    Standby,
    /// The relay with this number, in charge of a part of the hosts.
    Relay(u32),
}

/// What happens to a part. At one instant failures come first, then returns, then word of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    Fails,
    Returns,
    KnownDown,
    KnownUp,
}

type Change = (SimTime, Turn, Part);

/// Changes of one instant that controllers learn of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Hosts, and whether they work now.
    pub hosts: Vec<(u32, bool)>,
    /// Controllers, and whether they work now. A plan may have fewer.
    pub controllers: Vec<(Controller, bool)>,
    /// All links that are now known to be dead, if that has changed.
    pub dead: Option<Vec<LinkId>>,
    /// Rates of links, now or announced, with the time from which they hold.
    pub rates: Vec<(SimTime, Vec<(LinkId, Rate)>)>,
}

/// The failures of one run.
pub(crate) struct Failures {
    /// In order, the next one last.
    changes: Vec<Change>,
    /// Parts that are down, and when they return.
    down: BTreeMap<Part, SimTime>,
    /// Parts that are known to be down.
    known: BTreeSet<Part>,
    /// When each part fails and returns.
    spans: BTreeMap<Part, Vec<(SimTime, SimTime)>>,
    /// Packets and flows that wait at plain hosts that cannot send.
    held: BTreeMap<u32, Held>,
}

/// What waits at a plain host that cannot send.
#[derive(Default)]
pub(crate) struct Held {
    /// Packets that were put on the link ahead of their time.
    pub packets: Vec<Packet>,
    /// Flows that hold bytes.
    pub flows: FlowQueue,
}

/// A packet that a failing link loses, and whether its first bit had left.
pub(crate) struct CutPacket {
    pub id: u32,
    pub begun: bool,
}

/// Sorts spans of time, and joins those that touch.
fn merged(mut spans: Vec<(SimTime, SimTime)>) -> Vec<(SimTime, SimTime)> {
    spans.sort_unstable();
    let mut all: Vec<(SimTime, SimTime)> = Vec::with_capacity(spans.len());
    for (from, until) in spans {
        match all.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => all.push((from, until)),
        }
    }
    all
}

impl Failures {
    pub fn new(failures: &[Failure], fabric: &Fabric) -> Self {
        type Spans = BTreeMap<Part, Vec<(SimTime, SimTime)>>;
        let (mut spans, mut known) = (Spans::new(), Spans::new());
        for failure in failures {
            let parts: Vec<Part> = match failure.element {
                Element::Wire(wire) => vec![Part::Wire(wire)],
                Element::Switch(switch) => vec![Part::Node(fabric.hosts() + switch)],
                Element::Host(host) => vec![Part::Node(host)],
                Element::Controller => vec![Part::Controller(Controller::First)],
                Element::Standby => vec![Part::Controller(Controller::Standby)],
                Element::Relay(d) => vec![Part::Controller(Controller::Relay(d))],
                Element::Between([a, b]) => {
                    let joins = |l: LinkId| (fabric.link(l).from, fabric.link(l).to) == (NodeId(a), NodeId(b));
                    let links = (0..fabric.links().len() as u32).filter(|&l| joins(LinkId(l)));
                    links.map(|l| Part::Wire(l / 2)).collect()
                }
            };
            let from = SimTime::ZERO + failure.at;
            let until = failure.until.map(|until| SimTime::ZERO + until);
            let later = |t: Option<SimTime>| t.map_or(SimTime::MAX, |t| t + failure.detection);
            for part in parts {
                spans.entry(part).or_default().push((from, until.unwrap_or(SimTime::MAX)));
                known.entry(part).or_default().push((from + failure.detection, later(until)));
            }
        }
        let mut changes = Vec::new();
        for (all, turns) in [(&mut spans, [Turn::Fails, Turn::Returns]), (&mut known, [Turn::KnownDown, Turn::KnownUp])]
        {
            for (&part, of_part) in all.iter_mut() {
                *of_part = merged(std::mem::take(of_part));
                for &(from, until) in of_part.iter() {
                    changes.push((from, turns[0], part));
                    if until < SimTime::MAX {
                        changes.push((until, turns[1], part));
                    }
                }
            }
        }
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Self { changes, down: BTreeMap::new(), known: BTreeSet::new(), spans, held: BTreeMap::new() }
    }

    /// When the next change happens or becomes known.
    pub fn next(&self) -> Option<SimTime> {
        self.changes.last().map(|c| c.0)
    }

    /// Takes the next change if it happens at `at`, and notes that the part is down or works again.
    pub fn pop(&mut self, at: SimTime) -> Option<(Turn, Part)> {
        let (_, turn, part) = self.changes.pop_if(|c| c.0 == at)?;
        match turn {
            Turn::Fails => {
                let until = self.spans[&part].iter().find(|s| s.0 == at).map_or(SimTime::MAX, |s| s.1);
                self.down.insert(part, until);
            }
            Turn::Returns => {
                self.down.remove(&part);
            }
            Turn::KnownDown | Turn::KnownUp => {}
        }
        Some((turn, part))
    }

    /// Word comes that a part is down or works again. Whether that is new.
    pub fn learn(&mut self, part: Part, down: bool) -> bool {
        if down { self.known.insert(part) } else { self.known.remove(&part) }
    }

    /// The times at which a controller returns.
    pub fn returns_of(&self, controller: Controller) -> Vec<SimTime> {
        let spans = self.spans.get(&Part::Controller(controller));
        spans.into_iter().flatten().map(|s| s.1).filter(|t| *t < SimTime::MAX).collect()
    }

    /// Whether a part is down.
    pub fn is_down(&self, part: Part) -> bool {
        self.down.contains_key(&part)
    }

    /// Links that are known to be dead.
    pub fn dead(&self, fabric: &Fabric) -> Vec<LinkId> {
        let mut dead: Vec<LinkId> = self.known.iter().flat_map(|part| part.links(fabric)).collect();
        dead.sort_unstable();
        dead.dedup();
        dead
    }

    /// Why a link that is down takes no packets.
    pub fn down_reason(&self, wires: &Wires, link: u32) -> Loss {
        let from = wires.fabric.link(LinkId(link)).from.0;
        if self.is_down(Part::Node(from)) { node_down(from, wires.hosts) } else { Loss::LinkDown }
    }

    /// Tells a link whether it and the node that it leads to work.
    pub fn note_state(&self, wires: &mut Wires, link: LinkId) {
        let (from, to) = (wires.fabric.link(link).from.0, wires.fabric.link(link).to.0);
        let down = self.is_down(Part::Wire(link.0 / 2)) || self.is_down(Part::Node(from));
        wires.links[link.index()].set_state(down, self.is_down(Part::Node(to)));
    }

    /// Takes from a link all packets, or those that have not left its sending end.
    pub fn cut(
        &self,
        wires: &mut Wires,
        rates: Option<&RateChanges>,
        at: SimTime,
        link: u32,
        all: bool,
    ) -> Vec<CutPacket> {
        let state = &mut wires.links[link as usize];
        let first = state.first();
        let ids = state.cut(at, all, &mut wires.packets);
        if ids.first().is_some_and(|&id| id == first) {
            wires.calendar.remove_arrival(wires.packets.arrival(first), link);
        }
        let state = &wires.links[link as usize];
        let cut = ids.into_iter().map(|id| {
            let departure = state.departs(id, &wires.packets);
            CutPacket { id, begun: departure.0 - line_of(wires, rates, link, id) < at.0 }
        });
        cut.collect()
    }

    /// Marks the packets on a link whose first bit arrives at a failed node before it returns.
    pub fn doom_arrivals(&self, wires: &mut Wires, rates: Option<&RateChanges>, link: u32, node: Part) {
        let Some(&until) = self.down.get(&node) else { return };
        let ids: Vec<u32> = wires.links[link as usize].in_flight(&wires.packets).collect();
        for id in ids {
            let state = &wires.links[link as usize];
            let wire = state.wire(wires.packets.get(id).bytes);
            let line = line_of(wires, rates, link, id);
            if state.first_bit(wires.packets.arrival(id), wire, line) < until {
                doom(wires.packets.get_mut(id));
            }
        }
    }

    /// Marks a packet that joins a link to a failed node, if it arrives before the node returns.
    pub fn doom_if_early(&self, wires: &mut Wires, link: u32, arrival: SimTime, id: u32) {
        let state = &wires.links[link as usize];
        let wire = state.wire(wires.packets.get(id).bytes);
        let until = self.down.get(&Part::Node(state.to));
        if until.is_some_and(|until| state.first_bit(arrival, wire, state.line_time(wire)) < *until) {
            doom(wires.packets.get_mut(id));
        }
    }

    /// What waits at a plain host that cannot send, to add to it.
    pub fn held_mut(&mut self, host: u32) -> &mut Held {
        self.held.entry(host).or_default()
    }

    /// Takes what waited at a host that can send again.
    pub fn release(&mut self, host: u32) -> Held {
        self.held.remove(&host).unwrap_or_default()
    }

    /// Flows that wait at a host that cannot send.
    pub fn held_flows(&self, host: u32) -> impl Iterator<Item = u32> + '_ {
        self.held.get(&host).into_iter().flat_map(|h| h.flows.iter())
    }

    /// Packets that wait at hosts that cannot send.
    pub fn held_packets(&self) -> impl Iterator<Item = &Packet> {
        self.held.values().flat_map(|h| &h.packets)
    }
}

impl Part {
    /// The links that fail with the part.
    pub fn links(self, fabric: &Fabric) -> Vec<LinkId> {
        match self {
            Self::Wire(wire) => vec![LinkId(2 * wire), LinkId(2 * wire + 1)],
            Self::Node(node) => fabric.links_of(NodeId(node)),
            Self::Controller(_) => Vec::new(),
        }
    }
}

/// How long a packet in flight is or was sent, in ps.
fn line_of(wires: &Wires, rates: Option<&RateChanges>, link: u32, id: u32) -> i64 {
    let state = &wires.links[link as usize];
    let known = rates.and_then(|r| r.line_of(wires, link, id));
    known.unwrap_or_else(|| state.line_time(state.wire(wires.packets.get(id).bytes)))
}

/// The reason of losses at a node that is down.
pub(crate) fn node_down(node: u32, hosts: u32) -> Loss {
    if node < hosts { Loss::HostDown } else { Loss::SwitchDown }
}

/// Marks a packet to be lost where it arrives.
fn doom(packet: &mut Packet) {
    if packet.ahead[0] != DOOMED {
        packet.ahead = [DOOMED, u32::from(packet.flags & flags::CORRUPT), LAST, LAST];
        packet.flags |= flags::CORRUPT;
    }
}

/// The packet without its mark, and whether it was marked.
pub(crate) fn undoomed(mut packet: Packet) -> (Packet, bool) {
    let doomed = packet.ahead[0] == DOOMED;
    if doomed {
        if packet.ahead[1] == 0 {
            packet.flags &= !flags::CORRUPT;
        }
        // Where routes can change, packets know no links ahead.
        packet.ahead = UNKNOWN;
    }
    (packet, doomed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_are_one() {
        let spans = |all: &[(i64, i64)]| all.iter().map(|&(a, b)| (SimTime(a), SimTime(b))).collect::<Vec<_>>();
        let found = merged(spans(&[(9, 12), (1, 3), (2, 5), (5, 6), (10, 11), (20, i64::MAX), (30, 40)]));
        assert_eq!(found, spans(&[(1, 6), (9, 12), (20, i64::MAX)]));
    }
}
