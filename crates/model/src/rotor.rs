//! Racks whose uplinks lead to rotor switches (RotorNet, SIGCOMM 2017; Opera, NSDI 2020).
//!
//! The fabric has the wires only. Which racks a rotor switch joins at a time is the matter of a
//! schedule, so a path through any rotor switch counts as one between two racks.

use crate::fabric::{Fabric, FabricError, LinkSpec, Switch};
use crate::ids::NodeId;

impl Fabric {
    /// `racks` switches with `per_rack` hosts each, all joined to each of `rotors` rotor switches.
    ///
    /// Nodes are hosts, racks, rotor switches. Wires are those of hosts in order, then rack by rack
    /// to each rotor switch. Light crosses a rotor switch without a queue and without latency.
    ///
    /// # Errors
    /// If there are fewer than two racks, or another dimension is zero.
    pub fn rotor(
        racks: u32,
        per_rack: u32,
        rotors: u32,
        switch: Switch,
        link: LinkSpec,
        uplink: LinkSpec,
    ) -> Result<Self, FabricError> {
        let least = [("racks", racks, 2, "at least 2"), ("hosts_per_rack", per_rack, 1, "at least 1")];
        for (what, found, least, allowed) in least.into_iter().chain([("switches", rotors, 1, "at least 1")]) {
            if found < least {
                return Err(FabricError::Dimension { what, found: found.into(), allowed });
            }
        }
        let hosts = racks * per_rack;
        let rack = |r: u32| NodeId(hosts + r);
        let mut wires: Vec<_> = (0..hosts).map(|h| (NodeId(h), rack(h / per_rack), link)).collect();
        wires.extend((0..racks * rotors).map(|w| (rack(w / rotors), rack(racks + w % rotors), uplink)));
        let mut switches = vec![switch; racks as usize];
        switches.resize((racks + rotors) as usize, Switch::default());
        let mut fabric = Self::new(hosts, switches, &wires)?;
        fabric.rotors = rotors;
        Ok(fabric)
    }

    /// Number of rotor switches; 0 in other fabrics.
    pub const fn rotors(&self) -> u32 {
        self.rotors
    }

    /// Whether a node is a rotor switch, which light crosses.
    pub fn is_rotor(&self, node: NodeId) -> bool {
        node.0 >= self.nodes().len() as u32 - self.rotors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Framing;
    use crate::ids::HostId;
    use crate::units::{Duration, Rate};

    #[test]
    fn racks_lead_to_every_rotor_switch() {
        let spec =
            LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
        let build = |racks, rotors| Fabric::rotor(racks, 2, rotors, Switch::default(), spec, spec);
        let fabric = build(4, 3).unwrap();
        assert_eq!((fabric.hosts(), fabric.switches(), fabric.rotors()), (8, 7, 3));
        let rotors: Vec<u32> = (0..15).filter(|&n| fabric.is_rotor(NodeId(n))).collect();
        assert_eq!(rotors, [12, 13, 14]);
        assert!(fabric.path(HostId(0), HostId(7), 5).iter().any(|&l| fabric.is_rotor(fabric.link(l).to)));
        assert!(fabric.without([]).is_rotor(NodeId(12)));
        assert!(build(1, 3).is_err() && build(4, 0).is_err());
        assert_eq!(Fabric::leaf_spine(4, 2, 3, Switch::default(), spec, spec).unwrap().rotors(), 0);
    }
}
