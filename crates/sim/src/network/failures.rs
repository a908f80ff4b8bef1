//! Elements that fail and return: what is lost then, and who learns of it when.
//!
//! Nothing on the way of a packet asks about failures where there are none. A link that is down, or leads to a node that is down, is no
//! plain link for that time; what will arrive at a node while it is down is marked when the node fails, or when it joins the
//! link, and is then lost as a corrupt packet would be.

use super::{Loss, Network};
use crate::circuit::multiplexer::Multiplexer;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::{Endpoints, FlowQueue};
use crate::network::packet::{DOOMED, LAST, Packet, UNKNOWN, flags};
use crate::network::routes::Routes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, LinkId, NodeId, Rate};
use timeplane_scenario::{Element, Failure};

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Wire(u32),
    Node(u32),
    Controller(Controller),
}

/// A controller that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// That which plans, or the first of those that may.
    First,
    /// The second one.
    Standby,
    /// One that is in charge of a part of the hosts.
    Relay(u32),
}

/// What happens to it. At one instant, what fails does so before something returns, and word comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Fails,
    Returns,
    KnownDown,
    KnownUp,
}

type Change = (SimTime, Turn, Part);

/// What controllers have to know of the changes of one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Hosts, and whether they work now.
    pub hosts: Vec<(u32, bool)>,
    /// Controllers, of which a plan may have fewer, and whether they work now.
    pub controllers: Vec<(Controller, bool)>,
    /// All links that are now known to carry nothing, where that has changed.
    pub dead: Option<Vec<LinkId>>,
    /// Rates that links have from a time on, now or later, of which word comes now.
    pub rates: Vec<(SimTime, Vec<(LinkId, Rate)>)>,
}

/// Failures of one run.
pub(crate) struct Outages {
    /// In order, the next one last.
    changes: Vec<Change>,
    /// Parts that are down, and when they return.
    down: BTreeMap<Part, SimTime>,
    /// Parts that are known to be down.
    known: BTreeSet<Part>,
    /// When parts fail and return.
    spans: BTreeMap<Part, Vec<(SimTime, SimTime)>>,
    /// What waits at hosts that cannot send.
    held: BTreeMap<u32, Held>,
}

/// What waits at a host that cannot send.
#[derive(Default)]
struct Held {
    /// Packets that were put on the link ahead of their time, before a cut-through switch.
    packets: Vec<Packet>,
    /// Flows that hold bytes.
    flows: FlowQueue,
}

/// Spans of time in order, those that touch as one.
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

impl Outages {
    fn new(failures: &[Failure], fabric: &Fabric) -> Self {
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

    fn next(&self) -> Option<SimTime> {
        self.changes.last().map(|c| c.0)
    }

    fn is_down(&self, part: Part) -> bool {
        self.down.contains_key(&part)
    }

    /// Links that are known to carry nothing.
    fn dead(&self, fabric: &Fabric) -> Vec<LinkId> {
        let mut dead: Vec<LinkId> = Vec::new();
        for &part in &self.known {
            match part {
                Part::Wire(wire) => dead.extend([LinkId(2 * wire), LinkId(2 * wire + 1)]),
                Part::Node(node) => dead.extend(fabric.links_of(NodeId(node))),
                Part::Controller(_) => {}
            }
        }
        dead.sort_unstable();
        dead.dedup();
        dead
    }
}

/// The reason for which a node's packets are lost while it is down.
fn node_down(node: u32, hosts: u32) -> Loss {
    if node < hosts { Loss::HostDown } else { Loss::SwitchDown }
}

/// Marks a packet as one that will be lost where it arrives.
fn doom(packet: &mut Packet) {
    if packet.ahead[0] != DOOMED {
        packet.ahead = [DOOMED, u32::from(packet.flags & flags::CORRUPT), LAST, LAST];
        packet.flags |= flags::CORRUPT;
    }
}

/// A packet as it was before it was marked; whether it was.
pub(crate) fn undoomed(mut packet: Packet) -> (Packet, bool) {
    let doomed = packet.ahead[0] == DOOMED;
    if doomed {
        if packet.ahead[1] == 0 {
            packet.flags &= !flags::CORRUPT;
        }
        // Where routes change, nothing else was known.
        packet.ahead = UNKNOWN;
    }
    (packet, doomed)
}

impl Network {
    /// Lets elements fail in this run. Before it begins.
    ///
    /// # Panics
    /// Where an element does not exist.
    pub fn fail(&mut self, failures: &[Failure]) {
        if !failures.is_empty() {
            // What would be booked ahead may never arrive.
            self.passive = false;
            self.outages = Some(Box::new(Outages::new(failures, &self.fabric)));
        }
    }

    /// When something fails or returns next, or word of it comes.
    pub fn next_change(&self) -> Option<SimTime> {
        self.outages.as_ref().and_then(|o| o.next())
    }

    /// When a controller returns, each time.
    pub fn controller_returns(&self, controller: Controller) -> Vec<SimTime> {
        let spans = self.outages.as_ref().and_then(|o| o.spans.get(&Part::Controller(controller)));
        spans.into_iter().flatten().map(|s| s.1).filter(|t| *t < SimTime::MAX).collect()
    }

    /// Whether a host is down; one whose wire is down is not.
    pub fn is_host_down(&self, host: u32) -> bool {
        self.outages.as_ref().is_some_and(|o| o.is_down(Part::Node(host)))
    }

    /// All that fails, returns or changes its rate at `at`, and all word that comes then.
    pub fn change(&mut self, at: SimTime, ends: &mut Endpoints) -> Changes {
        let mut changes = Changes::default();
        if self.nics.is_none() {
            // What hosts have begun to send before is on their links.
            for host in 0..self.hosts {
                self.refill(at - Duration::from_ps(1), host, ends);
            }
        }
        self.take_rates(at, &mut changes);
        let mut news = false;
        while let Some(outages) = self.outages.as_mut().filter(|o| o.next() == Some(at)) {
            let Some((_, turn, part)) = outages.changes.pop() else { break };
            match turn {
                Turn::Fails => {
                    let ends_at = outages.spans[&part].iter().find(|s| s.0 == at).map_or(SimTime::MAX, |s| s.1);
                    outages.down.insert(part, ends_at);
                    self.fails(at, part, ends);
                }
                Turn::Returns => {
                    outages.down.remove(&part);
                    self.returns(at, part, ends);
                }
                Turn::KnownDown => news |= outages.known.insert(part),
                Turn::KnownUp => news |= outages.known.remove(&part),
            }
            let works = turn == Turn::Returns;
            match part {
                Part::Node(node) if turn <= Turn::Returns && node < self.hosts => changes.hosts.push((node, works)),
                Part::Controller(m) if turn <= Turn::Returns => changes.controllers.push((m, works)),
                _ => {}
            }
        }
        if news {
            let dead = self.outages.as_ref().map(|o| o.dead(&self.fabric)).unwrap_or_default();
            self.routed = if dead.is_empty() {
                Arc::clone(&self.fabric)
            } else {
                Arc::new(self.fabric.without(dead.iter().copied()))
            };
            self.routes = Routes::new(&self.routed);
            if let Some(hybrid) = &mut self.hybrid {
                hybrid.circuits.avoid(&dead);
            }
            changes.dead = Some(dead);
        }
        changes
    }

    /// The links that a part is of.
    fn links_at(&self, part: Part) -> Vec<LinkId> {
        match part {
            Part::Wire(wire) => vec![LinkId(2 * wire), LinkId(2 * wire + 1)],
            Part::Node(node) => self.fabric.links_of(NodeId(node)),
            Part::Controller(_) => Vec::new(),
        }
    }

    fn fails(&mut self, at: SimTime, part: Part, ends: &mut Endpoints) {
        for link in self.links_at(part) {
            let (from, to) = (self.fabric.link(link).from.0, self.fabric.link(link).to.0);
            match part {
                Part::Node(node) if node == to => self.doom_arrivals(link.0, part),
                Part::Node(node) => self.cut(at, link.0, false, node_down(node, self.hosts), ends),
                _ => self.cut(at, link.0, true, Loss::LinkDown, ends),
            }
            self.note_state(link);
            self.drain_multiplexer(link.0, ends);
            if from < self.hosts && self.links[link.index()].is_down() {
                let reason = if matches!(part, Part::Node(_)) { Loss::HostDown } else { Loss::LinkDown };
                self.stop_host(from, reason, ends);
            }
        }
    }

    /// What a hybrid rack holds for a host's link that is down is lost.
    fn drain_multiplexer(&mut self, link: u32, ends: &mut Endpoints) {
        if !self.links[link as usize].is_down() {
            return;
        }
        let reason = self.down_reason(link);
        let host = self.links[link as usize].to;
        let held = self.hybrid.as_mut().and_then(|h| h.multiplexers.get_mut(host as usize)).map(Multiplexer::drain);
        for id in held.unwrap_or_default() {
            let packet = self.packets.remove(id);
            self.lose(link, reason, packet, ends);
        }
    }

    fn returns(&mut self, at: SimTime, part: Part, ends: &mut Endpoints) {
        for link in self.links_at(part) {
            self.note_state(link);
            let from = self.fabric.link(link).from.0;
            if from < self.hosts && !self.links[link.index()].is_down() {
                self.resume_host(at, from, ends);
            }
        }
    }

    /// Tells a link whether it and the node that it leads to work.
    fn note_state(&mut self, link: LinkId) {
        let Some(outages) = &self.outages else { return };
        let (from, to) = (self.fabric.link(link).from.0, self.fabric.link(link).to.0);
        let down = outages.is_down(Part::Wire(link.0 / 2)) || outages.is_down(Part::Node(from));
        self.links[link.index()].set_state(down, outages.is_down(Part::Node(to)));
    }

    /// What a link holds is lost: all of it, or what has not left its sending end.
    fn cut(&mut self, at: SimTime, link: u32, all: bool, reason: Loss, ends: &mut Endpoints) {
        let state = &mut self.links[link as usize];
        let first = state.first();
        let cut = state.cut(at, all, &mut self.packets);
        if cut.first().is_some_and(|&id| id == first) {
            self.calendar.remove_arrival(self.packets.arrival(first), link);
        }
        // Flows at a host's plain interface are asked for packets when these begin to leave, or a packet early: that one still waits.
        let host = self.links[link as usize].host;
        let asked = host < self.hosts && self.nics.is_none() && ends.is_passive();
        for id in cut {
            let departure = self.links[link as usize].departs(id, &self.packets);
            let begin = SimTime(departure.0 - self.line_of(link, id));
            if begin < at && self.capture.is_some() {
                self.capture_cut(at, link, id, ends);
            }
            let (packet, _) = undoomed(self.packets.remove(id));
            match &mut self.outages {
                Some(outages) if asked && begin >= at => outages.held.entry(host).or_default().packets.push(packet),
                _ => self.lose(link, reason, packet, ends),
            }
        }
        self.forget_sending(link, at, all);
    }

    /// The node that a link leads to has failed: what comes in before it is back is lost.
    fn doom_arrivals(&mut self, link: u32, node: Part) {
        let Some(&until) = self.outages.as_ref().and_then(|o| o.down.get(&node)) else { return };
        let state = &self.links[link as usize];
        let ids: Vec<u32> = state.in_flight(&self.packets).collect();
        for id in ids {
            let state = &self.links[link as usize];
            let wire = state.wire(self.packets.get(id).bytes);
            if state.first_bit(self.packets.arrival(id), wire, self.line_of(link, id)) < until {
                doom(self.packets.get_mut(id));
            }
        }
    }

    /// A packet that joins a link to a node that is down, to arrive at `arrival`.
    pub(crate) fn doom_if_early(&mut self, link: u32, arrival: SimTime, id: u32) {
        let state = &self.links[link as usize];
        let node = Part::Node(state.to);
        let wire = state.wire(self.packets.get(id).bytes);
        let until = self.outages.as_ref().and_then(|o| o.down.get(&node));
        if until.is_some_and(|until| state.first_bit(arrival, wire, state.line_time(wire)) < *until) {
            doom(self.packets.get_mut(id));
        }
    }

    /// Why a link that is down takes nothing.
    pub(crate) fn down_reason(&self, link: u32) -> Loss {
        let from = self.fabric.link(LinkId(link)).from.0;
        let node = self.outages.as_ref().is_some_and(|o| o.is_down(Part::Node(from)));
        if node { node_down(from, self.hosts) } else { Loss::LinkDown }
    }

    /// A packet that was corrupt, or that was bound for a node which is down, arrives there.
    #[cold]
    pub(crate) fn lose_arriving(&mut self, link: u32, packet: Packet, ends: &mut Endpoints) {
        let (packet, doomed) = undoomed(packet);
        let reason = if doomed { node_down(self.links[link as usize].to, self.hosts) } else { Loss::BitError };
        self.lose(link, reason, packet, ends);
    }

    /// A packet that a host's interface could not take. The ends that hand it over hear of it when they are done.
    #[cold]
    pub(crate) fn refuse(&mut self, link: u32, packet: Packet) {
        let reason = self.down_reason(link);
        self.refused.push((link, reason, packet));
        self.news = true;
    }

    /// Counts what interfaces that are down have refused.
    #[inline]
    pub fn lose_refused(&mut self, ends: &mut Endpoints) {
        if !self.refused.is_empty() {
            self.lose_all_refused(ends);
        }
    }

    #[cold]
    fn lose_all_refused(&mut self, ends: &mut Endpoints) {
        for (link, reason, packet) in std::mem::take(&mut self.refused) {
            self.lose(link, reason, packet, ends);
        }
    }

    /// A host's interface stops: packets that wait there are lost, flows wait.
    fn stop_host(&mut self, host: u32, reason: Loss, ends: &mut Endpoints) {
        let uplink = self.uplinks[host as usize];
        if let Some(nics) = &mut self.nics {
            let lost = nics[host as usize].stop();
            if !lost.is_empty() {
                self.note_departure(host, true);
            }
            for packet in lost {
                self.lose(uplink, reason, packet, ends);
            }
        } else if let Some(outages) = &mut self.outages {
            let queue = std::mem::take(&mut self.flow_queues[host as usize]);
            self.queued_flows -= queue.iter().count() as u32;
            outages.held.entry(host).or_default().flows.append(queue);
        }
    }

    fn resume_host(&mut self, at: SimTime, host: u32, ends: &mut Endpoints) {
        self.links[self.uplinks[host as usize] as usize].free_from(at);
        if let Some(nics) = &mut self.nics {
            nics[host as usize].resume();
            return self.wake(at, host);
        }
        let held = self.outages.as_mut().and_then(|o| o.held.remove(&host)).unwrap_or_default();
        for packet in held.packets {
            self.send_again(at, self.uplinks[host as usize], packet);
        }
        for slot in held.flows.iter() {
            self.flow_queues[host as usize].push(slot, at);
            self.queued_flows += 1;
        }
        self.refill(at, host, ends);
    }

    /// Puts a packet on a host's link that was there before; whether a bit of it is wrong is drawn already.
    fn send_again(&mut self, at: SimTime, link: u32, packet: Packet) {
        let state = &mut self.links[link as usize];
        let wire = state.wire(packet.bytes);
        let sending = state.accept(at, at, wire, i64::MAX).expect("a host's queue has no bound");
        let arrival = state.arrival(sending.departure, wire);
        let begin = SimTime(sending.departure.0 - state.line_time(wire));
        let (leads_down, changing) = (state.leads_down(), state.is_changing());
        let id = self.packets.insert(packet);
        if changing {
            self.note_sending(link, id, at, sending.departure);
        }
        if leads_down {
            self.doom_if_early(link, arrival, id);
        }
        if let Some(latencies) = &mut self.latencies {
            latencies.begin(id, begin);
        }
        self.fly(link, arrival, id);
    }

    /// Keeps a flow of a host that cannot send. False where it can.
    pub(crate) fn hold_back(&mut self, now: SimTime, host: u32, slot: u32) -> bool {
        let stopped = self.links[self.uplinks[host as usize] as usize].is_down();
        if stopped && let Some(outages) = &mut self.outages {
            outages.held.entry(host).or_default().flows.push(slot, now);
        }
        stopped
    }

    /// Flows that wait at a host that cannot send.
    pub(crate) fn held(&self, host: u32) -> impl Iterator<Item = u32> + '_ {
        self.outages.as_ref().and_then(|o| o.held.get(&host)).into_iter().flat_map(|h| h.flows.iter())
    }

    /// Packets that wait at hosts that cannot send.
    pub(crate) fn held_packets(&self) -> impl Iterator<Item = &Packet> {
        self.outages.iter().flat_map(|o| o.held.values()).flat_map(|h| &h.packets)
    }
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
