//! Moves packets between wires and air links: selects those that take an air link, and handles
//! their deliveries and losses.
//!
//! [`AirLinks`], [`Handovers`] and [`FlywayLinks`] know which links exist, which devices use them
//! and when they carry traffic.

use crate::air::DeviceTrace;
use crate::air::flyways::links::{FLOWN, FlywayLinks, Way};
use crate::air::handover::access::{Handovers, NewAccess};
use crate::air::links::AirLinks;
use crate::air::medium::{Medium, Outcome};
use crate::air::rows::rows;
use crate::air::switches;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::packet::{UNKNOWN, flags};
use crate::network::{Loss, Network};
use std::sync::Arc;
use timeplane_model::Duration;
use timeplane_protocol::RackFlyways;
use timeplane_radio::{Field, Mcs};
use timeplane_results::AirRow;
use timeplane_scenario::{FabricSpec, QueuedSpec, RadioSpec};

/// Set-up, before the run starts.
impl Network {
    /// Adds the air links of a scenario, at these rates.
    pub fn add_air(&mut self, radio: &RadioSpec, fabric: &FabricSpec, medium: Medium, rates: &[Mcs]) {
        let air = AirLinks::fixed(&mut self.wires, radio, fabric, medium, rates);
        self.detours |= air.has_shares();
        self.air = Some(Box::new(air));
    }

    /// Adds air links that a controller points: one for each rack and channel, all of them down.
    pub fn add_flyways(&mut self, medium: Medium, field: Arc<Field>, channels: u32, acknowledgements_by_wire: bool) {
        let air = AirLinks::flyways(&mut self.wires, medium, channels, acknowledgements_by_wire);
        self.flyways = Some(Box::new(FlywayLinks::new(field, switches(&self.wires.fabric), channels)));
        self.air = Some(Box::new(air));
        self.detours = true;
    }

    /// Lets devices change their access points. Called after [`Network::add_air`].
    pub fn associate(&mut self, traces: &[DeviceTrace], queued: QueuedSpec) {
        let Some(air) = &mut self.air else { return };
        let handovers = Handovers::new(traces, queued);
        for link in handovers.unused() {
            air.medium.close(link);
            air.medium.close(link + 1);
        }
        self.wires.avoid(&handovers.dead(air));
        self.handovers = Some(Box::new(handovers));
    }
}

/// What others ask.
impl Network {
    /// The number in the network of an air link.
    pub fn air_number(&self, air_link: u32) -> Option<u32> {
        self.air.as_ref().and_then(|air| air.numbers.get(air_link as usize)).copied()
    }

    /// Packets and bytes in the queue of an air link, and its longest queue so far; `None` for a
    /// wire.
    pub fn air_queue(&self, number: u32) -> Option<(u64, u64, u64)> {
        self.air.as_ref()?.queue(number)
    }

    /// Packets that the queue of an air link has dropped so far.
    pub fn queue_drops(&self, number: u32) -> u64 {
        self.meters.lost(number, Loss::BufferFull) + self.meters.lost(number, Loss::Shed)
    }

    /// What air links were and carried over time until `end`: one row for each change.
    pub fn air_rows(&self, end: SimTime) -> Vec<AirRow> {
        let Some(air) = &self.air else { return Vec::new() };
        rows(air, &self.wires, self.handovers.as_deref(), self.flyways.as_deref(), end)
    }

    /// How long frames of an air link were in the air; `None` for a wire.
    pub fn airtime(&self, number: u32) -> Option<Duration> {
        self.air.as_ref()?.airtime(number)
    }

    /// Whether an air link, by its number in the network, is in use, or the only one of its device.
    pub fn is_used(&self, number: u32) -> bool {
        match (&self.air, &self.handovers) {
            (Some(air), Some(handovers)) => handovers.is_used(air, number),
            _ => true,
        }
    }

    /// When a device next leaves its access point or arrives at its new one.
    pub fn next_handover(&self) -> Option<SimTime> {
        self.handovers.as_ref()?.next()
    }
}

/// The run.
impl Network {
    /// Sends a packet from a switch over an air link alongside the wires, if it takes one.
    #[inline(never)]
    pub(super) fn takes_off(&mut self, at: SimTime, node: u32, id: u32, ends: &mut Endpoints) -> bool {
        let Some(air) = &self.air else { return false };
        let number = match &self.flyways {
            Some(flyways) => match flyways.choose(&mut self.wires, air, at, node, id) {
                Way::Wire => None,
                Way::Air(number) => Some(number),
            },
            None => air.share(node, self.wires.packets.get(id)),
        };
        let Some(number) = number else { return false };
        // The links that it knows ahead are wires.
        self.wires.packets.get_mut(id).ahead = UNKNOWN;
        self.offer_air(at, number, id, ends);
        true
    }

    /// A packet joins the queue of an air link, given by its number in the network.
    #[inline(never)]
    pub(super) fn offer_air(&mut self, at: SimTime, number: u32, id: u32, ends: &mut Endpoints) {
        let Some(air) = &mut self.air else { return };
        if !air.offer(&mut self.wires, at, number, id) {
            self.lose_passing(number, id, Some(Loss::BufferFull), ends);
        }
    }

    /// The medium continues.
    #[inline(never)]
    pub fn serve_air(&mut self, now: SimTime, ends: &mut Endpoints) {
        if self.air.as_mut().is_some_and(|air| air.is_due(now)) {
            self.drain_air(now, ends);
        }
    }

    /// Runs the medium up to `now` and moves the packets that leave it.
    fn drain_air(&mut self, now: SimTime, ends: &mut Endpoints) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        if let Some(air) = &mut self.air {
            air.step(now, &mut outcomes);
        }
        for outcome in outcomes.drain(..) {
            let Some(air) = &self.air else { break };
            match outcome {
                Outcome::Arrived { link, packet } => air.arrive(&mut self.wires, now, link, packet),
                Outcome::Lost { link, packet, shed } => {
                    let reason = if shed { Loss::Shed } else { Loss::Air };
                    self.lose_passing(air.numbers[link as usize], packet, Some(reason), ends);
                }
                Outcome::Returned { link, packet } => {
                    self.return_to_wire(now, air.numbers[link as usize], packet, ends);
                }
                Outcome::Marked { packet } => self.wires.packets.get_mut(packet).flags |= flags::CE,
            }
        }
        self.outcomes = outcomes;
        if let Some(air) = &mut self.air {
            air.arm(&mut self.wires);
        }
    }

    /// A rack learns of its flyways and shares.
    pub fn tell_rack(&mut self, now: SimTime, rack: u32, told: RackFlyways, ends: &mut Endpoints) {
        if let Some(flyways) = &mut self.flyways
            && flyways.tell_rack(&mut self.wires, now, rack, told)
        {
            self.update_flyways(now, ends);
        }
    }

    /// Takes flyways down and sets them up as both of their ends agree.
    #[inline(never)]
    pub fn update_flyways(&mut self, now: SimTime, ends: &mut Endpoints) {
        if let (Some(flyways), Some(air)) = (&mut self.flyways, &mut self.air) {
            flyways.update(&mut self.wires, air, now);
            self.drain_air(now, ends);
        }
    }

    /// A packet that waited for a flyway that is down continues by wire.
    fn return_to_wire(&mut self, at: SimTime, number: u32, id: u32, ends: &mut Endpoints) {
        let packet = self.wires.packets.get_mut(id);
        packet.path = FLOWN;
        packet.ahead = UNKNOWN;
        let (from, _) = self.ends_of(number);
        match self.route(from - self.wires.hosts, id, number) {
            Ok(_) => self.forward_beside_detours(at, number, from, id, ends),
            Err(reason) => self.lose_passing(number, id, Some(reason), ends),
        }
    }

    /// Does what handovers do at `at`; returns the devices that leave their access points then.
    #[inline(never)]
    pub fn hand_over(&mut self, at: SimTime, ends: &mut Endpoints) -> Vec<NewAccess> {
        let (Some(air), Some(handovers)) = (&mut self.air, &mut self.handovers) else { return Vec::new() };
        let due = handovers.due(air, at);
        let queued = handovers.queued;
        if !due.devices.is_empty() {
            self.wires.avoid(&handovers.dead(air));
        }
        for left in due.left {
            let [Some(old), Some(back)] = [left.air_link, left.air_link + 1].map(|l| self.air_number(l)) else {
                continue;
            };
            for id in left.at_access_point {
                match queued {
                    QueuedSpec::Forwarded => self.forward(at, old, self.ends_of(old).0, id, ends),
                    QueuedSpec::Lost => self.lose_passing(old, id, Some(Loss::Handover), ends),
                }
            }
            for id in left.at_device {
                self.forward(at, back, self.ends_of(back).0, id, ends);
            }
        }
        if let Some(air) = &mut self.air {
            due.opens.iter().flat_map(|&l| [l, l + 1]).for_each(|l| air.medium.open(at, l));
            air.arm(&mut self.wires);
        }
        due.devices
    }
}
