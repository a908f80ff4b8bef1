//! Packets of slots that meet although a plan keeps them apart.

use crate::engine::time::SimTime;

/// Counts packets that join a link while one of another sender still occupies it. Where all hosts keep to their slots there are none: so this shows
/// guards that are too short, clocks that are off, and lost frames.
#[derive(Debug)]
pub struct Collisions {
    /// Per link, the sender of the packet that joined last, and when it leaves.
    last: Vec<(u32, SimTime)>,
    packets: u64,
}

impl Collisions {
    /// None on so many links.
    pub fn new(links: usize) -> Self {
        Self { last: vec![(u32::MAX, SimTime::ZERO); links], packets: 0 }
    }

    /// A packet of `source` is about to join a link at `ready`.
    pub fn joins(&mut self, link: u32, source: u32, ready: SimTime) {
        let (other, busy_until) = self.last[link as usize];
        self.packets += u64::from(busy_until > ready && other != source);
    }

    /// It did, and departs then.
    pub fn departs(&mut self, link: u32, source: u32, departure: SimTime) {
        self.last[link as usize] = (source, departure);
    }

    /// The packet that joined last departs at another time.
    pub fn moved(&mut self, link: u32, departure: SimTime) {
        self.last[link as usize].1 = departure;
    }

    /// Packets that met another sender's.
    pub fn packets(&self) -> u64 {
        self.packets
    }
}
