//! Devices that go from one access point to another: links that close and open, and routes that follow.

use crate::air::DeviceTrace;
use crate::air::carrying::AirState;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::Endpoints;
use crate::network::routes::Routes;
use crate::network::{Loss, Network};
use std::sync::Arc;
use timeplane_model::LinkId;
use timeplane_scenario::QueuedSpec;

/// What a link is to its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is the one in use.
    Used,
    /// It is not.
    Unused,
    /// It will be the one in use, once the handover is over.
    Awaited,
}

/// At one instant, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Opens,
    Leaves,
}

/// All devices that may change their access point.
pub(crate) struct Handovers {
    /// By device: its node, and of its links the first of the two air links.
    devices: Vec<(u32, Vec<u32>)>,
    /// By device: the place of the link in use.
    used: Vec<usize>,
    /// In order, the next one last: when, what, which device, the new link's place, and when that opens.
    turns: Vec<(SimTime, Turn, usize, usize, SimTime)>,
    queued: QueuedSpec,
    /// Air link and what it is to its device from a time on.
    history: Vec<(SimTime, u32, Use)>,
}

impl Handovers {
    fn new(traces: &[DeviceTrace], queued: QueuedSpec) -> Self {
        let mut turns = Vec::new();
        for (d, trace) in traces.iter().enumerate() {
            for h in &trace.handovers {
                turns.push((h.at, Turn::Leaves, d, h.to, h.until));
                if h.until > h.at {
                    turns.push((h.until, Turn::Opens, d, h.to, h.until));
                }
            }
        }
        turns.sort_unstable_by(|a, b| b.cmp(a));
        let devices: Vec<_> = traces.iter().map(|c| (c.node, c.links.clone())).collect();
        let used: Vec<usize> = traces.iter().map(|c| c.first).collect();
        let mut history = Vec::new();
        for ((_, links), &used) in devices.iter().zip(&used) {
            for (place, &link) in links.iter().enumerate() {
                history.push((SimTime::ZERO, link, if place == used { Use::Used } else { Use::Unused }));
            }
        }
        Self { devices, used, turns, queued, history }
    }

    /// What an air link is to its device over time; nothing where it is the only one.
    pub(crate) fn uses(&self, air_link: u32) -> impl Iterator<Item = (SimTime, Use)> + '_ {
        // Both directions are used together.
        self.history.iter().filter(move |h| h.1 == air_link & !1).map(|h| (h.0, h.2))
    }

    /// Of every device the air links that are not in use.
    fn unused(&self) -> impl Iterator<Item = u32> + '_ {
        self.devices.iter().zip(&self.used).flat_map(|((_, links), &used)| {
            let others = links.iter().enumerate().filter(move |l| l.0 != used);
            others.map(|(_, &link)| link)
        })
    }
}

/// A device that goes to another access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAccess {
    /// The device's switch.
    pub device: u32,
    /// The link to it from the new access point, by its number in the network.
    pub link: u32,
}

impl Network {
    /// Lets devices change their access points. Behind [`Network::add_air`], before the run begins.
    pub fn associate(&mut self, traces: &[DeviceTrace], queued: QueuedSpec) {
        let Some(air) = &mut self.air else { return };
        let handovers = Handovers::new(traces, queued);
        for link in handovers.unused() {
            air.medium.close(link);
            air.medium.close(link + 1);
        }
        air.handovers = Some(handovers);
        self.route_by_association();
    }

    /// When a device leaves its access point or is with its new one next.
    pub fn next_handover(&self) -> Option<SimTime> {
        Some(self.air.as_ref()?.handovers.as_ref()?.turns.last()?.0)
    }

    /// Whether an air link, by its number in the network, is the one that its device uses, or the only one.
    pub fn is_used(&self, number: u32) -> bool {
        let Some(air) = &self.air else { return true };
        !air.handovers.iter().flat_map(Handovers::unused).any(|l| air.numbers[l as usize] == number)
    }

    /// Switches send to devices by the links in use.
    fn route_by_association(&mut self) {
        let Some(air) = &self.air else { return };
        let unused = air.handovers.iter().flat_map(Handovers::unused);
        // The other direction goes with it.
        let dead: Vec<LinkId> = unused.map(|l| LinkId(air.numbers[l as usize])).collect();
        self.routed = Arc::new(self.fabric.without(dead));
        self.routes = Routes::new(&self.routed);
    }

    /// All that handovers do at `at`; the devices that leave their access points then.
    #[inline(never)]
    pub fn hand_over(&mut self, at: SimTime, ends: &mut Endpoints) -> Vec<NewAccess> {
        let (mut gone, mut waiting, mut opens) = (Vec::new(), Vec::new(), Vec::new());
        let Some(air) = &mut self.air else { return gone };
        let AirState { medium, handovers: Some(handovers), numbers, .. } = &mut **air else { return gone };
        let queued = handovers.queued;
        while let Some((_, turn, d, to, until)) = handovers.turns.pop_if(|t| t.0 <= at) {
            let (device, links) = &handovers.devices[d];
            let new = links[to];
            if turn == Turn::Leaves {
                let old = links[handovers.used[d]];
                handovers.used[d] = to;
                waiting.push((old, medium.close(old), medium.close(old + 1)));
                handovers.history.push((at, old, Use::Unused));
                gone.push(NewAccess { device: *device, link: numbers[new as usize] });
            }
            if until > at {
                handovers.history.push((at, new, Use::Awaited));
            } else {
                handovers.history.push((at, new, Use::Used));
                opens.push(new);
            }
        }
        if !gone.is_empty() {
            self.route_by_association();
        }
        for (old, at_access_point, at_device) in waiting {
            for id in at_access_point {
                match queued {
                    QueuedSpec::Forwarded => self.go_another_way(at, old, id, ends),
                    QueuedSpec::Lost => {
                        let Some(air) = &self.air else { continue };
                        let number = air.numbers[old as usize];
                        let packet = self.packets.remove(id);
                        self.lose(number, Loss::Handover, packet, ends);
                    }
                }
            }
            for id in at_device {
                self.go_another_way(at, old + 1, id, ends);
            }
        }
        if let Some(air) = &mut self.air {
            opens.iter().flat_map(|&l| [l, l + 1]).for_each(|l| air.medium.open(at, l));
        }
        self.arm_air();
        gone
    }

    /// A packet that waited for an air link goes as its switch sends it now.
    fn go_another_way(&mut self, at: SimTime, air_link: u32, id: u32, ends: &mut Endpoints) {
        let Some(number) = self.air_number(air_link) else { return };
        let node = timeplane_model::NodeId(self.ends_of(number).0);
        self.forward(at, number, node, id, ends);
    }
}
