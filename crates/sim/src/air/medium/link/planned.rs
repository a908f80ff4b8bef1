//! What only planned links do: their packet in the air, and closing during the run.
//!
//! A planned link sends each packet as a frame of its own, when its turn comes.

use super::{AirLink, Quality};
use crate::air::medium::Medium;
use crate::engine::time::SimTime;

impl AirLink {
    /// What a sending link with a trace carries, and the bytes of its packet in the air.
    pub(in crate::air::medium) fn in_air(&self) -> Option<(Quality, u32)> {
        let &(_, bytes) = self.outstanding.parts.first().filter(|_| self.in_air)?;
        Some((self.quality()?, bytes))
    }

    /// Sets the probability that the packet in the air arrives.
    pub(in crate::air::medium) fn set_success(&mut self, success: f64) {
        self.outstanding.success = success;
    }

    /// Starts no more packets. Returns the packets that wait, in order; one that is in the air
    /// stays, and is not sent again.
    fn close(&mut self) -> Vec<u32> {
        self.closed = true;
        let kept = usize::from(self.in_air).min(self.queue.len());
        let mut packets = Vec::new();
        for e in self.queue.split_off(kept) {
            self.open -= 1;
            self.open_bytes -= u64::from(e.bytes);
            self.open_data -= usize::from(!e.acknowledgement);
            packets.push(e.packet);
        }
        packets
    }
}

impl Medium {
    /// Closes a planned link, and returns the packets that waited for it, in order.
    pub fn close(&mut self, link: u32) -> Vec<u32> {
        self.links[link as usize].close()
    }

    /// Opens a link again: packets that came meanwhile are sent.
    pub fn open(&mut self, now: SimTime, link: u32) {
        let l = &mut self.links[link as usize];
        l.closed = false;
        let s = l.from;
        self.contend(now, s);
    }
}
