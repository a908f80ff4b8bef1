//! Devices that change their access point: links that close and open, and routes that follow.
//!
//! When a device leaves its access point, both directions of the old link close. The link to the
//! new one opens once the handover is over. This module knows when that happens, not why: levels
//! decide it before the run.

use crate::air::DeviceTrace;
use crate::air::links::AirLinks;
use crate::engine::time::SimTime;
use timeplane_model::LinkId;
use timeplane_scenario::QueuedSpec;

/// The role of a link for its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It is in use.
    Used,
    /// It is not in use.
    Unused,
    /// It will be in use once the handover is over.
    Awaited,
}

/// What happens, in the order within one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Opens,
    Leaves,
}

/// All devices that may change their access point.
pub(crate) struct Handovers {
    /// By device: its node, and the first of the two air links of each of its links.
    devices: Vec<(u32, Vec<u32>)>,
    /// By device: the place of the link in use.
    used: Vec<usize>,
    /// In order, the next one last: when, what, which device, the place of the new link, and when
    /// that opens.
    turns: Vec<(SimTime, Turn, usize, usize, SimTime)>,
    pub queued: QueuedSpec,
    /// Each change of a role: when, which air link, and its role from then on.
    history: Vec<(SimTime, u32, Use)>,
}

impl Handovers {
    pub fn new(traces: &[DeviceTrace], queued: QueuedSpec) -> Self {
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

    /// The role of an air link over time; empty if it is the only one of its device.
    pub(crate) fn uses(&self, air_link: u32) -> impl Iterator<Item = (SimTime, Use)> + '_ {
        // Both directions are used together.
        self.history.iter().filter(move |h| h.1 == air_link & !1).map(|h| (h.0, h.2))
    }

    /// The air links of all devices that are not in use.
    pub fn unused(&self) -> impl Iterator<Item = u32> + '_ {
        self.devices.iter().zip(&self.used).flat_map(|((_, links), &used)| {
            let others = links.iter().enumerate().filter(move |l| l.0 != used);
            others.map(|(_, &link)| link)
        })
    }

    /// Whether an air link, by its number in the network, is in use, or the only one of its device.
    pub fn is_used(&self, air: &AirLinks, number: u32) -> bool {
        !self.unused().any(|l| air.numbers[l as usize] == number)
    }

    /// Links on which switches must not send to devices. The other direction goes with each of
    /// them.
    pub fn dead(&self, air: &AirLinks) -> Vec<LinkId> {
        self.unused().map(|l| LinkId(air.numbers[l as usize])).collect()
    }

    /// When a device next leaves its access point or arrives at its new one.
    pub fn next(&self) -> Option<SimTime> {
        Some(self.turns.last()?.0)
    }

    /// Performs the handovers due at `at`: closes links that devices leave, and returns those that
    /// open.
    pub fn due(&mut self, air: &mut AirLinks, at: SimTime) -> DueHandovers {
        let mut due = DueHandovers::default();
        while let Some((_, turn, d, to, until)) = self.turns.pop_if(|t| t.0 <= at) {
            let (device, links) = &self.devices[d];
            let new = links[to];
            let changed = [new, links[self.used[d]]].into_iter().flat_map(|l| [l, l + 1]);
            changed.for_each(|link| air.medium.note(at, link));
            if turn == Turn::Leaves {
                let old = links[self.used[d]];
                self.used[d] = to;
                due.left.push(LeftLink {
                    air_link: old,
                    at_access_point: air.medium.close(old),
                    at_device: air.medium.close(old + 1),
                });
                self.history.push((at, old, Use::Unused));
                due.devices.push(NewAccess { device: *device, link: air.numbers[new as usize] });
            }
            if until > at {
                self.history.push((at, new, Use::Awaited));
            } else {
                self.history.push((at, new, Use::Used));
                due.opens.push(new);
            }
        }
        due
    }
}

/// A link that a device has left, with the packets that waited for it.
pub(crate) struct LeftLink {
    /// The direction from the access point; the other one has the next number.
    pub air_link: u32,
    pub at_access_point: Vec<u32>,
    pub at_device: Vec<u32>,
}

/// What handovers do at one instant.
#[derive(Default)]
pub(crate) struct DueHandovers {
    /// Devices that leave their access points.
    pub devices: Vec<NewAccess>,
    pub left: Vec<LeftLink>,
    /// Links that open, by the direction from the access point.
    pub opens: Vec<u32>,
}

/// A device that goes to another access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAccess {
    /// The device's switch.
    pub device: u32,
    /// The link to it from the new access point, by its number in the network.
    pub link: u32,
}
