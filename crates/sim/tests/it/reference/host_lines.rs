//! The hosts' own time for packets: each packet has an event of its own.

use super::{Reference, What};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::VecDeque;
use timeplane_model::{Duration, HostId, LinkId};
use timeplane_scenario::HostTimes;
use timeplane_sim::hosts::endpoints::Endpoints;
use timeplane_sim::network::packet::{Packet, flags};
use timeplane_workload::Streams;

/// Packets within a host, in one direction.
pub struct HostLine {
    bounds: [Duration; 2],
    draws: Xoshiro256PlusPlus,
    waiting: VecDeque<(u32, Packet, u32)>,
    last: i64,
}

impl Reference {
    /// Lets hosts take time for packets. Called before the run.
    pub fn let_hosts_take(&mut self, times: HostTimes, streams: &Streams) {
        for host in (0..self.fabric.hosts()).map(HostId) {
            let sends = (self.fabric.uplink(host), "time to send", [times.send_least, times.send_most]);
            let receives = (self.fabric.downlink(host), "time to receive", [times.receive_least, times.receive_most]);
            for (link, purpose, bounds) in [sends, receives] {
                let draws = streams.fast("host", u64::from(host.0), purpose);
                let line = HostLine { bounds, draws, waiting: VecDeque::new(), last: 0 };
                if bounds[1] > Duration::ZERO {
                    self.host_lines.insert(link.0, line);
                }
            }
        }
    }

    /// Whether a packet that has come over a link is within a host now.
    pub(super) fn waits_in_host(&mut self, link: u32, packet: Packet, wire: u32) -> bool {
        let receives = self.fabric.link(LinkId(link)).to.0 < self.fabric.hosts();
        if receives && packet.flags & flags::CORRUPT != 0 {
            return false;
        }
        let id = self.numbered();
        let Some(line) = self.host_lines.get_mut(&link) else { return false };
        let [least, most] = line.bounds;
        let uniform = (line.draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        // Not before the packet that came before it.
        line.last = line.last.max(self.now + (least + (most - least).scale(uniform)).as_ps());
        line.waiting.push_back((id, packet, wire));
        let at = line.last;
        self.at(at, What::Pass(link, id));
        true
    }

    pub(super) fn pass(&mut self, link: u32, id: u32, ends: &mut Endpoints) {
        let (first, packet, wire) = self.host_lines.get_mut(&link).unwrap().waiting.pop_front().unwrap();
        assert_eq!(first, id, "packets of a host keep their order");
        self.go_on([link, link + self.ports.len() as u32], packet, wire, ends);
    }
}
