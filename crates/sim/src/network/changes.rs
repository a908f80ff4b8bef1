//! Applies failures, returns and changes of rates to a running network.
//!
//! [`Failures`] and [`RateChanges`](super::rate_changes::RateChanges) know what happens when. Here
//! packets are lost, hosts stop and resume, and routes change with it.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::failures::{Changes, Controller, Failures, Part, Turn, node_down, undoomed};
use crate::network::packet::{Packet, flags};
use crate::network::rate_changes::RateTurn;
use crate::network::{Loss, Network};
use timeplane_model::{Duration, LinkId};

impl Network {
    /// When something next fails or returns, or becomes known.
    pub fn next_change(&self) -> Option<SimTime> {
        self.failures.as_ref().and_then(|f| f.next())
    }

    /// When a rate changes next, or becomes known.
    pub fn next_rate(&self) -> Option<SimTime> {
        self.rate_changes.as_ref().and_then(|r| r.next())
    }

    /// The times at which a controller returns.
    pub fn controller_returns(&self, controller: Controller) -> Vec<SimTime> {
        self.failures.as_ref().map_or_else(Vec::new, |f| f.returns_of(controller))
    }

    fn is_down(&self, part: Part) -> bool {
        self.failures.as_ref().is_some_and(|f| f.is_down(part))
    }

    /// Whether a host is down; a host with a failed wire is not.
    pub fn is_host_down(&self, host: u32) -> bool {
        self.is_down(Part::Node(host))
    }

    /// Applies all that fails, returns or changes its rate at `at`, and all word that comes then.
    pub fn change(&mut self, at: SimTime, ends: &mut Endpoints) -> Changes {
        let mut changes = Changes::default();
        if self.interfaces.is_plain() {
            // Packets that hosts began to send earlier are on their links.
            for host in 0..self.wires.hosts {
                self.refill(at - Duration::from_ps(1), host, ends);
            }
        }
        self.change_rates_at(at, &mut changes);
        let mut news = false;
        while let Some((turn, part)) = self.failures.as_mut().and_then(|f| f.pop(at)) {
            match turn {
                Turn::Fails => self.fails(at, part, ends),
                Turn::Returns => self.returns(at, part, ends),
                Turn::KnownDown | Turn::KnownUp => {
                    news |= self.failures.as_mut().is_some_and(|f| f.learn(part, turn == Turn::KnownDown));
                }
            }
            let works = turn == Turn::Returns;
            match part {
                Part::Node(node) if turn <= Turn::Returns && node < self.wires.hosts => {
                    changes.hosts.push((node, works));
                }
                Part::Controller(m) if turn <= Turn::Returns => changes.controllers.push((m, works)),
                _ => {}
            }
        }
        if news {
            let dead = self.failures.as_ref().map(|f| f.dead(&self.wires.fabric)).unwrap_or_default();
            self.wires.avoid(&dead);
            if let Some(hybrid) = &mut self.hybrid {
                hybrid.avoid(&dead);
            }
            if let Some(rotor) = &mut self.rotor {
                rotor.avoid(&dead);
            }
            changes.dead = Some(dead);
        }
        changes
    }

    fn change_rates_at(&mut self, at: SimTime, changes: &mut Changes) {
        let Some(rates) = &mut self.rate_changes else { return };
        while let Some((turn, from, rate, links)) = rates.pop(at) {
            match turn {
                RateTurn::Holds => {
                    for link in links {
                        let failures = self.failures.as_deref();
                        rates.retime(&mut self.wires, &mut self.meters, failures, at, link.0, rate);
                    }
                }
                RateTurn::Known => changes.rates.push((from, links.iter().map(|l| (*l, rate)).collect())),
            }
        }
    }

    fn fails(&mut self, at: SimTime, part: Part, ends: &mut Endpoints) {
        let hosts = self.wires.hosts;
        for link in part.links(&self.wires.fabric) {
            let (from, to) = (self.fabric().link(link).from.0, self.fabric().link(link).to.0);
            match part {
                Part::Node(node) if node == to => {
                    if let Some(failures) = &self.failures {
                        failures.doom_arrivals(&mut self.wires, self.rate_changes.as_deref(), link.0, part);
                    }
                }
                Part::Node(node) => self.cut(at, link.0, false, node_down(node, hosts), ends),
                _ => self.cut(at, link.0, true, Loss::LinkDown, ends),
            }
            self.note_state(link);
            self.drain_multiplexer(link.0, ends);
            self.drain_uplink(link.0, ends);
            self.drain_trimming(link.0, ends);
            if from < hosts && self.wires.links[link.index()].is_down() {
                let reason = if matches!(part, Part::Node(_)) { Loss::HostDown } else { Loss::LinkDown };
                self.stop_host(at, from, reason, ends);
            }
        }
    }

    fn returns(&mut self, at: SimTime, part: Part, ends: &mut Endpoints) {
        for link in part.links(&self.wires.fabric) {
            self.note_state(link);
            let from = self.fabric().link(link).from.0;
            if from < self.wires.hosts && !self.wires.links[link.index()].is_down() {
                self.resume_host(at, from, ends);
            }
        }
    }

    fn note_state(&mut self, link: LinkId) {
        if let Some(failures) = &self.failures {
            failures.note_state(&mut self.wires, link);
        }
    }

    /// Loses what a hybrid rack holds for a host's link that is down.
    fn drain_multiplexer(&mut self, link: u32, ends: &mut Endpoints) {
        if !self.wires.links[link as usize].is_down() {
            return;
        }
        let host = self.wires.links[link as usize].to;
        let held = self.hybrid.as_mut().map(|h| h.drain(host)).unwrap_or_default();
        for id in held {
            self.lose_passing(link, id, Some(self.down_reason(link)), ends);
        }
    }

    /// Loses all packets of a link, or those that have not left its sending end.
    fn cut(&mut self, at: SimTime, link: u32, all: bool, reason: Loss, ends: &mut Endpoints) {
        let Some(failures) = &self.failures else { return };
        let cut = failures.cut(&mut self.wires, self.rate_changes.as_deref(), at, link, all);
        // A plain host hands a packet over when its transmission starts, or one packet early. That
        // packet is still in the host's queue.
        let host = self.wires.links[link as usize].host;
        let early = host < self.wires.hosts && self.interfaces.is_plain() && ends.is_passive();
        for packet in cut {
            if packet.begun
                && let Some((capture, tap)) = self.tap()
            {
                capture.cut(&tap, at, link, packet.id, ends);
            }
            let (was, _) = undoomed(self.wires.packets.remove(packet.id));
            match &mut self.failures {
                Some(failures) if early && !packet.begun && was.control_message().is_none() => {
                    failures.held_mut(host).packets.push(was)
                }
                _ => self.meters.lose(link, reason, was, ends),
            }
        }
        if let Some(rates) = &mut self.rate_changes {
            rates.forget_sending(link, at, all);
        }
    }

    /// Why a link that is down takes no packets.
    pub(super) fn down_reason(&self, link: u32) -> Loss {
        self.failures.as_ref().map_or(Loss::LinkDown, |f| f.down_reason(&self.wires, link))
    }

    /// A packet arrives that is corrupt, or that was bound for a node which is down.
    #[cold]
    pub(super) fn lose_arriving(&mut self, link: u32, packet: Packet, ends: &mut Endpoints) {
        debug_assert!(packet.flags & flags::CORRUPT != 0, "only such packets are lost where they arrive");
        let (packet, doomed) = undoomed(packet);
        let node = self.wires.links[link as usize].to;
        let reason = if doomed { node_down(node, self.wires.hosts) } else { Loss::BitError };
        self.meters.lose(link, reason, packet, ends);
    }

    /// A host's interface cannot take a packet. It is counted once its sender is done.
    #[cold]
    pub(super) fn refuse(&mut self, link: u32, packet: Packet) {
        let reason = self.down_reason(link);
        self.news.refused.push((link, reason, packet));
        self.news.pending = true;
    }

    /// Counts the packets that interfaces have refused.
    #[inline]
    pub fn lose_refused(&mut self, ends: &mut Endpoints) {
        if !self.news.refused.is_empty() {
            self.lose_all_refused(ends);
        }
    }

    #[cold]
    fn lose_all_refused(&mut self, ends: &mut Endpoints) {
        for (link, reason, packet) in std::mem::take(&mut self.news.refused) {
            self.meters.lose(link, reason, packet, ends);
        }
    }

    /// A host's interface stops: packets that wait there are lost, flows wait. TCP sends on, in
    /// vain.
    fn stop_host(&mut self, at: SimTime, host: u32, reason: Loss, ends: &mut Endpoints) {
        let uplink = self.wires.uplinks[host as usize];
        if self.interfaces.is_plain() {
            if let Some(failures) = &mut self.failures {
                failures.held_mut(host).flows.append(self.interfaces.take_flows(host));
            }
            return;
        }
        let (lost, flows) = self.interfaces.stop(host, !ends.is_passive());
        if self.interfaces.nics.is_some() && !(lost.is_empty() && flows.is_empty()) {
            self.interfaces.note_departure(host, true, &mut self.news);
        }
        for packet in lost {
            self.meters.lose(uplink, reason, packet, ends);
        }
        for key in flows {
            ends.interface_stopped(at, key, self);
        }
    }

    fn resume_host(&mut self, at: SimTime, host: u32, ends: &mut Endpoints) {
        let uplink = self.wires.uplinks[host as usize];
        self.wires.links[uplink as usize].free_from(at);
        if let Some(nics) = &mut self.interfaces.nics {
            nics[host as usize].resume();
            return self.interfaces.wake(&mut self.wires, at, host);
        }
        if let Some(fair) = &mut self.interfaces.fair {
            fair[host as usize].resume();
            return self.interfaces.wake(&mut self.wires, at, host);
        }
        let held = self.failures.as_mut().map(|f| Failures::release(f, host)).unwrap_or_default();
        for packet in held.packets {
            self.send_again(at, uplink, packet);
        }
        for key in held.flows.iter() {
            self.interfaces.push_flow(host, key, at);
        }
        self.refill(at, host, ends);
    }

    /// Puts a packet back on a host's link. Its bit errors have already been drawn.
    fn send_again(&mut self, at: SimTime, link: u32, packet: Packet) {
        let state = &mut self.wires.links[link as usize];
        let wire = state.wire(packet.bytes);
        let sending = state.accept(at, at, wire, i64::MAX).expect("a host's queue has no bound");
        let arrival = state.arrival(sending.departure, wire);
        let begin = SimTime(sending.departure.0 - state.line_time(wire));
        let (leads_down, changing) = (state.leads_down(), state.is_changing());
        let id = self.wires.packets.insert(packet);
        if changing && let Some(rates) = &mut self.rate_changes {
            rates.note_sending(&self.wires, link, id, at, sending.departure);
        }
        if leads_down && let Some(failures) = &self.failures {
            failures.doom_if_early(&mut self.wires, link, arrival, id);
        }
        if let Some(latencies) = &mut self.meters.latencies {
            latencies.begin(id, begin, arrival);
        }
        self.wires.fly(link, arrival, id);
    }
}
