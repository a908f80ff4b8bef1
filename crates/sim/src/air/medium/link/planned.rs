//! What only planned links do: their packet in the air, and being closed while the run goes on.

use super::{AirLink, Quality};
use crate::air::medium::Medium;
use crate::engine::time::SimTime;

impl AirLink {
    /// Where it follows a link trace and sends: what it carries, and the bytes of its packet.
    pub(in crate::air::medium) fn in_air(&self) -> Option<(Quality, u32)> {
        let &(_, bytes) = self.outstanding.parts.first().filter(|_| self.in_air)?;
        Some((self.quality()?, bytes))
    }

    /// The packet in the air arrives with this probability, whatever its link promised.
    pub(in crate::air::medium) fn set_success(&mut self, success: f64) {
        self.outstanding.success = success;
    }

    /// No packet of its begins from now on. Packets that wait come out, in order; one that is in the air stays, and is not sent again.
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
    /// Closes a planned link: the packets that waited, which the link does not have any more, in their order.
    pub fn close(&mut self, link: u32) -> Vec<u32> {
        self.links[link as usize].close()
    }

    /// Opens a link again: what has come meanwhile is sent.
    pub fn open(&mut self, now: SimTime, link: u32) {
        let l = &mut self.links[link as usize];
        l.closed = false;
        let s = l.from;
        self.contend(now, s);
    }
}
