//! Partition of a fabric's hosts, for instance among regional controllers.
//!
//! Hosts are divided in the order of their switches.

use crate::fabric::Fabric;
use crate::ids::HostId;

impl Fabric {
    /// Part of each host, from 0.
    ///
    /// Hosts in the order of their switches are cut into `parts` parts whose sizes differ by at
    /// most one. With zero or one parts, all are in part 0. With more parts than hosts, some are
    /// empty.
    pub fn parts(&self, parts: u32) -> Vec<u32> {
        let mut switches = Vec::new();
        let mut order: Vec<(usize, HostId)> = (0..self.hosts())
            .map(|h| {
                let switch = self.link(self.uplink(HostId(h))).to;
                let known = switches.iter().position(|&s| s == switch);
                let place = known.unwrap_or_else(|| {
                    switches.push(switch);
                    switches.len() - 1
                });
                (place, HostId(h))
            })
            .collect();
        order.sort_unstable();
        let hosts = u64::from(self.hosts());
        let mut part = vec![0; order.len()];
        for (i, (_, host)) in order.into_iter().enumerate() {
            part[host.index()] = (i as u64 * u64::from(parts) / hosts) as u32;
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duration, Framing, LinkSpec, NodeId, Rate, Switch};

    #[test]
    fn parts_are_whole_switches_where_these_are_alike() {
        let link =
            LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
        // Hosts take turns below two switches.
        let wires: Vec<_> =
            (0..8).map(|h| (NodeId(h), NodeId(8 + h % 2), link)).chain([(NodeId(8), NodeId(9), link)]).collect();
        let fabric = Fabric::new(8, vec![Switch::default(); 2], &wires).unwrap();
        assert_eq!(fabric.parts(1), [0; 8]);
        assert_eq!(fabric.parts(0), [0; 8]);
        assert_eq!(fabric.parts(2), [0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(fabric.parts(4), [0, 2, 0, 2, 1, 3, 1, 3]);
        let three = fabric.parts(3);
        let sizes: Vec<usize> = (0..3).map(|p| three.iter().filter(|q| **q == p).count()).collect();
        assert_eq!(sizes, [3, 3, 2]);
        assert_eq!(fabric.parts(100).iter().max(), Some(&87));
    }
}
