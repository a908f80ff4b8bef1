//! The oversubscribed tree that links relieve, as capacities.
//!
//! Racks are under aggregation switches, which are under a core.

use super::{FlywayError, Traffic};
use timeplane_model::{Duration, Rate};

/// Capacities of racks under aggregation switches under a core, for each direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wired {
    /// Number of racks.
    pub racks: usize,
    /// Rate at which all hosts of a rack together send, and receive.
    pub hosts: Rate,
    /// Rate from a rack to its aggregation switch, and back.
    pub uplink: Rate,
    /// Wires between aggregation switches and core; `None` if they are no bottleneck.
    pub core: Option<Core>,
}

/// The core that joins the aggregation switches. Racks of one aggregation switch have consecutive
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Racks under each aggregation switch, at least 1; the last switch may have fewer.
    pub racks_per_aggregation: usize,
    /// Rate from an aggregation switch to the core, and back.
    pub rate: Rate,
}

/// A wire that may be the busiest, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bottleneck {
    /// From this rack up.
    Uplink(usize),
    /// Down to this rack.
    Downlink(usize),
    /// From the racks of an aggregation switch to the core.
    ToCore(usize),
    /// From the core to the racks of an aggregation switch.
    FromCore(usize),
}

impl Wired {
    /// Rate of a host in the paper on flyways.
    pub const HOST: Rate = Rate::gbps(1);
    /// Rate from a rack to its aggregation switch in the paper on flyways.
    pub const UPLINK: Rate = Rate::gbps(10);
    /// Rate from an aggregation switch to the core in the paper on flyways.
    pub const TO_CORE: Rate = Rate::gbps(40);
    /// The largest supported oversubscription factor.
    pub const MOST: u32 = 1000;

    /// A tree whose wires are oversubscribed 1:`factor` at both levels, with the numbers of hosts
    /// and racks that follow (Halperin et al., SIGCOMM 2011). A factor of 2 means 20 hosts of 1
    /// Gb/s on an uplink of 10 Gb/s, and 8 racks on 40 Gb/s to the core.
    ///
    /// # Errors
    /// Fails if the factor is not from 1 to [`Wired::MOST`].
    pub fn oversubscribed(racks: usize, factor: u32) -> Result<Self, FlywayError> {
        let mut wired = Self::oversubscribed_racks(racks, factor)?;
        let racks_per_aggregation = factor as usize * (Self::TO_CORE.as_bps() / Self::UPLINK.as_bps()) as usize;
        wired.core = Some(Core { racks_per_aggregation, rate: Self::TO_CORE });
        Ok(wired)
    }

    /// A tree like [`Wired::oversubscribed`] in which only uplinks are oversubscribed and the core
    /// is no bottleneck.
    ///
    /// # Errors
    /// Fails if the factor is not from 1 to [`Wired::MOST`].
    pub fn oversubscribed_racks(racks: usize, factor: u32) -> Result<Self, FlywayError> {
        if !(1..=Self::MOST).contains(&factor) {
            return Err(FlywayError::Oversubscription { found: factor, most: Self::MOST });
        }
        let hosts_per_rack = u64::from(factor) * (Self::UPLINK.as_bps() / Self::HOST.as_bps());
        Ok(Self { racks, hosts: Rate::bps(hosts_per_rack * Self::HOST.as_bps()), uplink: Self::UPLINK, core: None })
    }

    /// The aggregation switch of a rack; 0 if there is only one.
    pub fn aggregation(&self, rack: usize) -> usize {
        self.core.map_or(0, |c| rack / c.racks_per_aggregation)
    }

    /// Number of aggregation switches.
    pub fn aggregations(&self) -> usize {
        self.core.map_or(1, |c| self.racks.div_ceil(c.racks_per_aggregation.max(1)))
    }

    /// Completion time if only hosts limit traffic: the busiest rack's bytes over the rate of its
    /// hosts.
    pub fn unsubscribed(&self, traffic: &Traffic) -> Duration {
        super::evaluate::rounded_up(8.0 * traffic.busiest_rack() / self.hosts.as_bps() as f64)
    }

    /// Checks that tree and traffic fit together.
    pub(super) fn check(&self, traffic: &Traffic) -> Result<(), FlywayError> {
        if self.racks != traffic.racks() {
            return Err(FlywayError::Racks { what: "a tree", found: self.racks, racks: traffic.racks() });
        }
        let core = self.core.map_or(self.uplink, |c| if c.racks_per_aggregation == 0 { Rate::ZERO } else { c.rate });
        for (what, found) in [("hosts of a rack", self.hosts), ("uplink", self.uplink), ("core", core)] {
            if found == Rate::ZERO {
                return Err(FlywayError::NoRate { what, found });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_from_the_oversubscription() {
        let w = Wired::oversubscribed(160, 2).unwrap();
        assert_eq!((w.hosts, w.core.unwrap().racks_per_aggregation), (Rate::gbps(20), 8));
        assert_eq!((w.aggregations(), w.aggregation(7), w.aggregation(8)), (20, 0, 1));
        let w = Wired::oversubscribed(10, 1).unwrap();
        assert_eq!((w.hosts, w.core.unwrap().racks_per_aggregation, w.aggregations()), (Rate::gbps(10), 4, 3));
        assert!(Wired::oversubscribed(10, 0).is_err());
        assert_eq!(Wired::oversubscribed_racks(10, 4).unwrap().aggregations(), 1);
    }

    #[test]
    fn without_oversubscription_the_busiest_rack_decides() {
        let w = Wired::oversubscribed(2, 2).unwrap();
        let t = Traffic::new(2, vec![0, 5_000_000_000, 1, 0]).unwrap();
        assert_eq!(w.unsubscribed(&t), Duration::from_secs(2));
    }
}
