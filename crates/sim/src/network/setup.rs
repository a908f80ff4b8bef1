//! The features of a network, and queries about its state.
//!
//! Everything here happens before a run or between its events. Nothing here moves packets.

use crate::circuit::hybrid::Hybrid;
use crate::circuit::switch::Circuits;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::hosts::pauses::Pauses;
use crate::hosts::receive::ReceiveBuffer;
use crate::network::Network;
use crate::network::failures::Failures;
use crate::network::packet::Packet;
use crate::network::pfc::PfcSwitches;
use crate::network::rate_changes::RateChanges;
use crate::network::trains::Trains;
use crate::record::capture::Capture;
use crate::record::collisions::Collisions;
use crate::record::latency::Latencies;
use timeplane_model::{Backlog, Duration, Fabric};
use timeplane_protocol::Detail;
use timeplane_scenario::{Change, Failure, Pause};

/// Set-up, before the run starts.
impl Network {
    /// Counts packets of slots that meet in switches.
    pub fn count_collisions(&mut self) {
        self.wires.watch_meetings();
        if let Some(rates) = &self.rate_changes {
            rates.mark(&mut self.wires);
        }
        self.meters.collisions = Some(Box::new(Collisions::new(self.wires.links.len())));
    }

    /// Records the latency of each packet.
    pub fn record_latencies(&mut self, latencies: Latencies) {
        self.meters.latencies = Some(latencies);
        self.inspects = true;
    }

    /// Bounds the receive buffers of hosts; one for each.
    pub fn bound_receive(&mut self, buffers: Vec<ReceiveBuffer>) {
        self.interfaces.receive = buffers;
        self.inspects = true;
    }

    /// Captures frames.
    pub fn capture(&mut self, capture: Capture) {
        self.capture = Some(Box::new(capture));
        self.inspects = true;
    }

    /// Lets elements fail.
    ///
    /// # Panics
    /// Where an element does not exist.
    pub fn fail(&mut self, failures: &[Failure]) {
        if !failures.is_empty() {
            // An arrival that is booked ahead may never happen.
            self.passive = false;
            self.failures = Some(Box::new(Failures::new(failures, &self.wires.fabric)));
        }
    }

    /// Lets rates change.
    ///
    /// # Panics
    /// Where a change has no rate.
    pub fn change_rates(&mut self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        assert!(changes.iter().all(|c| !c.rates.is_empty()), "a change has a rate");
        // An arrival that is booked ahead may happen at another time.
        self.passive = false;
        let rates = RateChanges::new(changes, &self.wires.fabric);
        rates.mark(&mut self.wires);
        self.rate_changes = Some(Box::new(rates));
    }

    /// Lets switches pause each other and hosts, where the fabric's switches have PFC.
    ///
    /// # Panics
    /// Where switches have PFC and hosts have no queued interfaces.
    pub fn pause(&mut self, mtu: u32) {
        self.pfc = PfcSwitches::new(&self.wires.fabric, mtu).map(Box::new);
        if self.pfc.is_some() {
            assert!(!self.interfaces.is_plain(), "a host that can be paused has queues");
            self.passive = false;
        }
    }

    /// Lets hosts pause.
    ///
    /// # Panics
    /// Where a host does not exist, or hosts have plain interfaces.
    pub fn pause_hosts(&mut self, pauses: &[Pause]) {
        if !pauses.is_empty() {
            assert!(!self.interfaces.is_plain(), "a host that pauses has queues");
            self.interfaces.pauses = Some(Box::new(Pauses::new(pauses, self.wires.hosts)));
        }
    }

    /// Lets packets of gates move as trains. Unsupported where the fate of a packet depends on
    /// chance, or on time alone.
    pub fn allow_trains(&mut self) {
        self.trains = Some(Box::new(Trains::new(self.wires.links.len(), self.stop)));
    }

    /// Moves every packet by itself.
    pub fn forbid_trains(&mut self) {
        self.trains = None;
    }

    /// Adds the circuit switch of a hybrid fabric, and multiplexers that hold up to `frames` frames
    /// of `largest` wire bytes of each input.
    pub fn add_circuits(&mut self, circuits: Circuits, frames: u32, largest: u32) {
        self.hybrid = Hybrid::new(&self.wires, circuits, frames, largest).map(Box::new);
        self.detours |= self.hybrid.is_some();
    }
}

/// What others ask.
impl Network {
    /// The fabric without failures, as the run was given it.
    pub fn fabric(&self) -> &Fabric {
        &self.wires.fabric
    }

    /// The nodes that send and receive on a link.
    pub fn ends_of(&self, link: u32) -> (u32, u32) {
        self.wires.ends_of(link)
    }

    /// Whether nothing but gates and its queues decides when a host sends, and nobody looks at the
    /// messages of its plan.
    pub(crate) fn is_steady(&self) -> bool {
        let changes = self.failures.is_some() || self.rate_changes.is_some() || self.handovers.is_some();
        let pauses = self.pfc.is_some() || self.interfaces.pauses.is_some();
        !(changes || pauses || self.hybrid.is_some() || self.capture.is_some())
    }

    /// Whether something came between the packets of a train, so that the run counts for nothing.
    pub fn is_disturbed(&self) -> bool {
        self.trains.as_ref().is_some_and(|t| t.is_disturbed()) || self.wires.uncertain
    }

    /// PFC frames sent, and their wire bytes.
    pub fn pauses(&self) -> (u64, u64) {
        self.pfc.as_ref().map_or((0, 0), |p| p.frames())
    }

    /// Repair reports sent, and their wire bytes.
    pub fn repair_reports(&self) -> (u64, u64, u64) {
        self.repairs.sent
    }

    /// The longest time of a repair report on ports or links, besides the latency.
    pub fn longest_repair(&self) -> Duration {
        self.repairs.longest
    }

    /// A frame of a repair report arrives in band, or was lost.
    pub(crate) fn repair_frame(&mut self, at: SimTime, number: u64, lost: bool) {
        self.repairs.frame(at, number, lost);
    }

    /// When the next repair report arrives, or reaches a port.
    pub fn next_report(&self) -> Option<SimTime> {
        self.repairs.next()
    }

    /// Packets and wire bytes that wait at a host's interface, without those that its link has
    /// accepted.
    pub fn waiting(&self, host: u32, ends: &Endpoints) -> (u64, u64) {
        let link = self.wires.uplink(host);
        let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
        if let Some(nics) = &self.interfaces.nics {
            return nics[host as usize].waiting(link, ends).map(|w| w.1).fold((0, 0), add);
        }
        if let Some(fair) = &self.interfaces.fair {
            let queue = &fair[host as usize];
            let packets = queue.packets().map(|p| (1, u64::from(link.wire(p.bytes))));
            return packets.chain(queue.flows.iter().map(|w| ends.unsent(w.flow, link))).fold((0, 0), add);
        }
        let held = self.failures.iter().flat_map(|f| f.held_flows(host));
        let flows = self.interfaces.flow_queues[host as usize].iter().chain(held);
        flows.map(|key| ends.unsent(key, link)).fold((0, 0), add)
    }

    /// Packets and wire bytes that wait at a switch's port that chooses its next packet.
    pub fn port_waiting(&self, link: u32) -> (u64, u64) {
        if let Some(waiting) = self.rotor.as_ref().and_then(|r| r.waiting(link)) {
            return waiting;
        }
        let at_inputs = self.wires.input_buffers.as_ref().map(|b| b.waiting(link));
        let at_ports = at_inputs.or_else(|| self.pfc.as_ref().map(|p| p.waiting(link)));
        at_ports.or_else(|| Some(self.trimming.as_ref()?.waiting(&self.wires, link))).unwrap_or((0, 0))
    }

    /// The time that a link has spent sending; of an air link, its airtime.
    pub fn busy(&self, link: u32) -> Duration {
        let tracked = self.airtime(link).or_else(|| self.rate_changes.as_ref()?.busy(link));
        tracked.unwrap_or_else(|| self.wires.links[link as usize].busy())
    }

    /// The longest queue that a packet has found on a link with itself, in wire bytes.
    pub fn longest_bytes(&self, link: u32) -> u64 {
        let waited = self.rotor.as_ref().map_or(0, |r| r.longest(link));
        let tracked = self.rate_changes.as_ref().and_then(|r| r.longest_bytes(link));
        waited + tracked.unwrap_or_else(|| self.wires.links[link as usize].longest_bytes())
    }

    /// Packets that were sent and have not arrived, and their bytes without framing.
    pub fn in_flight(&self) -> (u64, u64) {
        let data = self.packets().filter(|packet| packet.control_message().is_none());
        data.fold(self.meters.beyond, |(n, bytes), packet| (n + 1, bytes + u64::from(packet.bytes)))
    }

    /// Frames of control messages that are in flight.
    pub fn control_in_flight(&self) -> u64 {
        self.packets().filter(|packet| packet.control_message().is_some()).count() as u64
    }

    fn packets(&self) -> impl Iterator<Item = &Packet> {
        let packets = &self.wires.packets;
        let on_links = self.wires.links.iter().flat_map(|link| link.in_flight(packets));
        let at_inputs = self.wires.input_buffers.iter().flat_map(|b| b.packets(packets));
        let at_ports = self.pfc.iter().flat_map(|p| p.packets()).chain(at_inputs);
        let at_ports = at_ports.chain(self.trimming.iter().flat_map(|t| t.packets()));
        let in_air = self.air.iter().flat_map(|a| a.packets());
        let at_rotors = self.rotor.iter().flat_map(|r| r.packets(packets));
        let in_racks = self.hybrid.iter().flat_map(|h| h.packets());
        let ahead = self.lookahead.iter().flat_map(|l| l.packets());
        let numbered = on_links
            .chain(at_ports)
            .chain(in_air)
            .chain(in_racks)
            .chain(at_rotors)
            .chain(ahead)
            .map(|id| packets.get(id));
        let in_hosts = self.host_lines.iter().flat_map(|l| l.packets(packets));
        let held = self.failures.iter().flat_map(|f| f.held_packets());
        numbered.chain(in_hosts).chain(held).chain(self.interfaces.packets())
    }

    /// The backlog of a host by destination, in this detail; its clock is `ahead` of
    /// the truth.
    pub fn backlog(&self, now: SimTime, host: u32, ahead: Duration, detail: Detail, ends: &Endpoints) -> Backlog {
        self.interfaces.backlog(&self.wires, now, host, ahead, detail, ends)
    }
}
