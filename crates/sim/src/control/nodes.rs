//! Numbers of agents: hosts come first, then planners, then relays.
//!
//! A planner is a controller that plans, or takes over when another one fails. A relay is in charge
//! of a part of the hosts and stands between them and the planners.

use crate::network::Controller;
use std::ops::Range;
use timeplane_assembly::PlanTerms;
use timeplane_model::{Fabric, HostId};
use timeplane_protocol::Address;

/// Which agent has which number.
pub struct Nodes {
    hosts: u32,
    planners: u32,
    relays: u32,
    /// The relay in charge of each host; empty without relays.
    parts: Vec<u32>,
}

/// What lies between two agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// A host and a controller.
    ToHost,
    /// A relay and a planner.
    Relay,
    /// Two planners.
    Peers,
}

impl Nodes {
    pub fn new(fabric: &Fabric, terms: &PlanTerms) -> Self {
        let relays = terms.relays.map_or(0, |r| r.count);
        let parts = if relays > 0 { fabric.parts(relays) } else { Vec::new() };
        Self { hosts: fabric.hosts(), planners: terms.planners, relays, parts }
    }

    pub fn hosts(&self) -> Range<u32> {
        0..self.hosts
    }

    pub fn planners(&self) -> Range<u32> {
        self.hosts..self.hosts + self.planners
    }

    /// The planner that leads at the start.
    pub fn leader(&self) -> u32 {
        self.hosts
    }

    /// How many agents there are.
    pub fn count(&self) -> usize {
        (self.hosts + self.planners + self.relays) as usize
    }

    /// The position of a controller among all controllers; `None` for a host.
    pub fn position(&self, node: u32) -> Option<usize> {
        node.checked_sub(self.hosts).map(|position| position as usize)
    }

    /// All controllers, in the order of their numbers.
    pub fn controllers(&self) -> Vec<Controller> {
        let planners = [Controller::First, Controller::Standby].into_iter().take(self.planners as usize);
        planners.chain((0..self.relays).map(Controller::Relay)).collect()
    }

    /// The number of a controller; `None` if this plan does not have it.
    pub fn find(&self, controller: Controller) -> Option<u32> {
        let relays = self.planners().end;
        match controller {
            Controller::First => Some(self.hosts),
            Controller::Standby => Some(self.hosts + 1).filter(|n| *n < relays),
            Controller::Relay(number) => (number < self.relays).then_some(relays + number),
        }
    }

    fn relay(&self, node: u32) -> Option<u32> {
        node.checked_sub(self.planners().end)
    }

    pub fn hop(&self, from: u32, to: u32) -> Hop {
        if from.min(to) < self.hosts {
            Hop::ToHost
        } else if self.relay(from.max(to)).is_some() {
            Hop::Relay
        } else {
            Hop::Peers
        }
    }

    /// The agents that a message to this address reaches; the sender may be one of them.
    ///
    /// A host reaches its relay. Without relays, all planners hear hosts and each other.
    pub fn recipients(&self, from: u32, to: Address) -> Range<u32> {
        let one = |node| node..node + 1;
        let relays = self.planners().end;
        match to {
            Address::Host(host) => one(host.0),
            Address::Relay(relay) => one(relays + relay),
            Address::Controller if from < self.hosts && self.relays > 0 => one(relays + self.parts[from as usize]),
            Address::Controller | Address::Peer => self.planners(),
        }
    }

    /// The address of a sender, as the recipient sees it.
    pub fn address(&self, from: u32, to: u32) -> Address {
        if from < self.hosts {
            return Address::Host(HostId(from));
        }
        if to < self.hosts {
            return Address::Controller;
        }
        match (self.relay(from), self.relay(to)) {
            (Some(relay), _) => Address::Relay(relay),
            (None, Some(_)) => Address::Controller,
            (None, None) => Address::Peer,
        }
    }
}
