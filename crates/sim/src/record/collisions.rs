//! Collisions: packets of slots that meet although a plan keeps them apart.
//!
//! The network reports each packet that joins a link. Nothing here delays a packet.

use crate::engine::time::SimTime;

/// Counts packets that join a link while a packet of another sender still occupies it. There are
/// none if all hosts keep to their slots. A collision shows a guard that is too short, a clock that
/// is off, or a lost frame.
#[derive(Debug)]
pub struct Collisions {
    /// By link, the sender of the packet that joined last, and when it leaves.
    last: Vec<(u32, SimTime)>,
    packets: u64,
}

impl Collisions {
    /// No collisions yet, on this number of links.
    pub fn new(links: usize) -> Self {
        Self { last: vec![(u32::MAX, SimTime::ZERO); links], packets: 0 }
    }

    /// A packet of `source` is about to join a link at `ready`.
    pub fn joins(&mut self, link: u32, source: u32, ready: SimTime) {
        let (other, busy_until) = self.last[link as usize];
        self.packets += u64::from(busy_until > ready && other != source);
    }

    /// The packet joined, and departs then.
    pub fn departs(&mut self, link: u32, source: u32, departure: SimTime) {
        self.last[link as usize] = (source, departure);
    }

    /// The packet that joined last departs at another time.
    pub fn moved(&mut self, link: u32, departure: SimTime) {
        self.last[link as usize].1 = departure;
    }

    /// Packets that met a packet of another sender.
    pub fn packets(&self) -> u64 {
        self.packets
    }
}
