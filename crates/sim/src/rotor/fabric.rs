//! Places in a fabric of racks and rotor switches: hosts, racks and uplinks by number.
//!
//! Numbers of links follow from those of racks, so that no table has to be read.

use timeplane_model::{Fabric, HostId};

/// The numbers of a fabric of rotor switches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Racks {
    pub hosts: u32,
    pub per_rack: u32,
    pub racks: u32,
    pub uplinks: u32,
}

impl Racks {
    pub fn new(fabric: &Fabric, per_rack: u32) -> Self {
        let (hosts, uplinks) = (fabric.hosts(), fabric.rotors());
        let racks = Self { hosts, per_rack, racks: hosts / per_rack, uplinks };
        let (first, last) = (racks.uplink(0, 0), racks.uplink(racks.racks - 1, uplinks - 1));
        debug_assert!([first, last].iter().all(|&l| fabric.is_rotor(fabric.links()[l as usize].to)));
        debug_assert_eq!(fabric.link(fabric.uplink(HostId(hosts - 1))).to.0, hosts + racks.racks - 1);
        racks
    }

    /// The rack of a host.
    #[inline]
    pub fn rack_of(&self, host: u32) -> u32 {
        host / self.per_rack
    }

    /// The link of a rack towards one of its hosts.
    #[inline]
    pub fn downlink(&self, host: u32) -> u32 {
        2 * host + 1
    }

    /// The link of an uplink of a rack, towards its rotor switch.
    #[inline]
    pub fn uplink(&self, rack: u32, uplink: u32) -> u32 {
        2 * (self.hosts + rack * self.uplinks + uplink)
    }

    /// The rack and the uplink of a link towards a rotor switch.
    #[inline]
    pub fn place_of(&self, link: u32) -> Option<(u32, u32)> {
        let wire = (link / 2).checked_sub(self.hosts).filter(|_| link.is_multiple_of(2))?;
        (wire < self.racks * self.uplinks).then_some((wire / self.uplinks, wire % self.uplinks))
    }

    /// Whether a node is a rotor switch.
    #[inline]
    pub fn is_rotor(&self, node: u32) -> bool {
        node >= self.hosts + self.racks
    }
}
