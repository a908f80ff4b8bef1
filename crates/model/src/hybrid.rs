//! Racks with two uplinks: a packet switch alongside a faster circuit switch (REACToR, NSDI 2014,
//! section 3).
//!
//! Packets use the circuit switch only with a grant.

use crate::fabric::{Fabric, FabricError, LinkSpec, Switch};
use crate::grant::PathTag;
use crate::ids::{HostId, LinkId, NodeId};

/// The dimensions of a hybrid fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hybrid {
    /// Top-of-rack switches.
    pub tors: u32,
    /// Hosts under each.
    pub hosts_per_tor: u32,
    /// Wires from each to the packet switch.
    pub packet_uplinks: u32,
    /// Wires from each to the circuit switch.
    pub circuit_uplinks: u32,
}

impl Fabric {
    /// Racks below one packet switch and one circuit switch.
    ///
    /// Nodes are hosts, top-of-rack switches, the packet switch, the circuit switch. Wires are
    /// those of hosts, then rack by rack those to the packet switch, then rack by rack those to the
    /// circuit switch. Routes cross the packet switch; a packet takes the circuit switch only if
    /// its grant names it.
    ///
    /// # Errors
    /// If a dimension is zero.
    pub fn hybrid(
        shape: Hybrid,
        switch: Switch,
        link: LinkSpec,
        packet: LinkSpec,
        circuit: LinkSpec,
    ) -> Result<Self, FabricError> {
        let Hybrid { tors, hosts_per_tor, packet_uplinks, circuit_uplinks } = shape;
        for (what, found) in [
            ("tors", tors),
            ("hosts_per_tor", hosts_per_tor),
            ("packet_uplinks", packet_uplinks),
            ("circuit_uplinks", circuit_uplinks),
        ] {
            if found == 0 {
                return Err(FabricError::Dimension { what, found: 0, allowed: "at least 1" });
            }
        }
        let hosts = tors * hosts_per_tor;
        let tor = |t: u32| NodeId(hosts + t);
        let (packets, circuits) = (NodeId(hosts + tors), NodeId(hosts + tors + 1));
        let mut wires: Vec<_> = (0..hosts).map(|h| (NodeId(h), tor(h / hosts_per_tor), link)).collect();
        wires.extend((0..tors * packet_uplinks).map(|w| (tor(w / packet_uplinks), packets, packet)));
        wires.extend((0..tors * circuit_uplinks).map(|w| (tor(w / circuit_uplinks), circuits, circuit)));
        Self::beside(hosts, vec![switch; tors as usize + 2], &wires, Some(circuits))
    }

    /// Links from a switch to the circuit switch, in order; empty without a circuit switch.
    pub fn circuit_uplinks(&self, tor: NodeId) -> Vec<LinkId> {
        let Some(circuits) = self.circuit_switch() else { return Vec::new() };
        let links = self.links().iter().enumerate();
        links.filter(|(_, l)| l.from == tor && l.to == circuits).map(|(i, _)| LinkId(i as u32)).collect()
    }

    /// Path of packets alongside circuits.
    ///
    /// Packets of a rack's i-th host use the i-th wire to the packet switch, modulo the number of
    /// wires, in both directions. Hosts of a fully provisioned rack thus share no wire.
    pub fn packet_path(&self, from: HostId, to: HostId) -> Option<PathTag> {
        self.circuit_switch()?;
        let place = |h: HostId| {
            let tor = self.link(self.uplink(h)).to;
            let first = (0..=h.0).rev().take_while(|&x| self.link(self.uplink(HostId(x))).to == tor).count();
            (first - 1) as u8
        };
        Some(PathTag::new(place(from), place(to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Framing;
    use crate::units::{Duration, Rate};

    fn spec(gbps: u64) -> LinkSpec {
        LinkSpec { rate: Rate::gbps(gbps), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 }
    }

    #[test]
    fn routes_cross_the_packet_switch_only() {
        let shape = Hybrid { tors: 3, hosts_per_tor: 2, packet_uplinks: 2, circuit_uplinks: 1 };
        let f = Fabric::hybrid(shape, Switch::default(), spec(100), spec(10), spec(100)).unwrap();
        let circuits = f.circuit_switch().unwrap();
        assert_eq!((f.hosts(), f.nodes().len(), circuits), (6, 11, NodeId(10)));
        for (from, to) in (0..6).flat_map(|a| (0..6).map(move |b| (HostId(a), HostId(b)))).filter(|(a, b)| a != b) {
            let tag = f.packet_path(from, to).unwrap();
            let path = f.tagged_path(from, to, tag);
            assert!(path.iter().all(|&l| f.link(l).to != circuits));
            let crosses = from.0 / 2 != to.0 / 2;
            assert_eq!(path.len(), if crosses { 4 } else { 2 });
            if crosses {
                // Hosts 0 and 1 of a rack have wires of their own.
                assert_eq!(path[1].0, 2 * (6 + from.0 / 2 * 2 + from.0 % 2));
                assert_eq!(path[2].0, 2 * (6 + to.0 / 2 * 2 + to.0 % 2) + 1);
            }
        }
        assert_eq!(f.circuit_uplinks(NodeId(7)), vec![LinkId(2 * (6 + 6 + 1))]);
        assert!(Fabric::hybrid(Hybrid { tors: 0, ..shape }, Switch::default(), spec(1), spec(1), spec(1)).is_err());
    }
}
