//! Switches with priority flow control: what they hold of each input, and when they pause it.

use super::Reference;
use timeplane_model::{Bytes, LinkId};
use timeplane_sim::hosts::endpoints::Endpoints;
use timeplane_sim::network::packet::Packet;

impl Reference {
    /// Lets switches pause. Called before the run.
    pub fn pause(&mut self, mtu: u32) {
        self.pfc = Some(mtu);
    }

    /// Where an input pauses, where it resumes, and how much it holds.
    pub(super) fn bounds(&self, link: u32) -> (u64, u64, u64) {
        let at = self.fabric.link(LinkId(link));
        let pfc = self.fabric.switch(at.to).unwrap().pfc.unwrap();
        let (rate, mtu) = (at.spec.rate.as_bps() as f64, self.pfc.unwrap());
        let frame = u64::from(at.spec.framing.wire(mtu));
        let flying = (at.spec.propagation * 2 + pfc.reaction).as_secs_f64() * rate / 8.0;
        let headroom = pfc.headroom.map_or((flying - 1e-6).ceil() as u64 + 2 * frame + 84, Bytes::get);
        (pfc.pause_at.get() - frame, pfc.resume_at.get(), pfc.pause_at.get() + headroom)
    }

    /// A packet comes to a switch with PFC. `false` if there is no room for it.
    pub(super) fn take(&mut self, link: u32, packet: &Packet, wire: u32, ends: &mut Endpoints) -> bool {
        let (pause_above, _, most) = self.bounds(link);
        let priority = packet.class();
        let input = &mut self.ports[link as usize];
        let held = &mut input.held[usize::from(priority)];
        if *held + u64::from(wire) > most {
            return false;
        }
        *held += u64::from(wire);
        if *held > pause_above && input.asked & 1 << priority == 0 {
            input.asked |= 1 << priority;
            self.begin(link ^ 1, ends);
        }
        true
    }
}
