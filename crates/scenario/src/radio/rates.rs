//! Rates of air links: what a link's MCS or signal gives, and the most that a trace can give.
//!
//! A rate is that of bits within frames. Headers, waits and answers are the simulator's.

use super::{RadioLink, RadioSpec};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use timeplane_model::{Fabric, Framing, LinkId, LinkSpec, Rate};
use timeplane_radio::{Db, Dbm, FLYWAYS_NOISE, LinkBudget, Mcs, Meters, Milliwatts, fastest, sinr};

/// Maximum length of a 60 GHz link in meters.
pub(crate) const LONGEST_LINK: f64 = 10_000.0;
/// Allowed received power of a link in dBm.
pub(crate) const SIGNALS: RangeInclusive<f64> = -120.0..=30.0;
/// Allowed factors for the rates of a link trace.
pub(crate) const RATE_FACTORS: RangeInclusive<f64> = 0.001..=1.0;

/// Why a link without a trace has no rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoRate {
    /// The signal is too weak for all rates.
    Weak(Dbm),
    /// 802.11ad has no such data rate.
    Unknown(u8),
}

impl RadioSpec {
    /// The power at which both ends of a link receive each other; `None` if the link says neither
    /// its signal nor its distance, or one that is not allowed.
    pub fn signal(&self, link: &RadioLink) -> Option<Dbm> {
        let gain = self.antenna.map_or(Db::ZERO, |name| name.antenna().ahead());
        let distance = link.distance_m.filter(|&d| d > 0.0 && d <= LONGEST_LINK);
        let by_distance = distance.map(|d| LinkBudget::default().signal(Meters::new(d), gain, gain));
        link.signal_dbm.filter(|level| SIGNALS.contains(level)).map(Dbm::new).or(by_distance)
    }

    /// The MCS of a link without a trace: the one that it says, or the fastest that its signal
    /// supports without interference.
    ///
    /// # Errors
    /// If the signal is too weak for all rates, or 802.11ad does not have the MCS.
    pub fn mcs(&self, link: &RadioLink) -> Result<Mcs, NoRate> {
        match link.mcs {
            Some(mcs) => Mcs::numbered(mcs).map_err(|_| NoRate::Unknown(mcs)),
            None => {
                let level = self.signal(link).unwrap_or(Dbm::new(0.0));
                let sinr = sinr(level, FLYWAYS_NOISE, Milliwatts::ZERO);
                fastest(Mcs::ofdm(), sinr, FLYWAYS_NOISE).ok_or(NoRate::Weak(level))
            }
        }
    }

    /// The highest rate of a link over time; `None` if no rate suits it. It is the rate within
    /// frames, so headers, waits and answers lower what the link carries.
    pub fn most(&self, link: &RadioLink) -> Option<Rate> {
        match &link.trace {
            Some(trace) if !RATE_FACTORS.contains(&trace.rate_factor) => None,
            Some(trace) => Mcs::single_carrier().map(|mcs| trace.parameters().rate(mcs)).max(),
            None => self.mcs(link).ok().map(Mcs::rate),
        }
    }

    /// The fabric in which wires that air links replace have the [highest rates](Self::most) of
    /// these links, and no framing of a wire.
    pub(crate) fn in_place_of_wires(&self, fabric: Fabric) -> Fabric {
        let mut between = BTreeMap::<[u32; 2], (LinkId, LinkSpec)>::new();
        for (number, link) in (0..).zip(fabric.links()) {
            between.entry([link.from.0, link.to.0]).or_insert((LinkId(number), link.spec));
        }
        let replaces = self.link.iter().filter(|l| l.share.is_none());
        let specs: Vec<_> = replaces
            .filter_map(|link| Some((link.nodes, self.most(link)?)))
            .flat_map(|([a, b], rate)| [[a, b], [b, a]].map(|nodes| (nodes, rate)))
            .filter_map(|(nodes, rate)| {
                let &(wire, spec) = between.get(&nodes)?;
                Some((wire, LinkSpec { rate, framing: Framing::None, ..spec }))
            })
            .collect();
        fabric.with_specs(specs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FabricSpec;

    fn fabric(link: &str) -> Result<FabricSpec, toml::de::Error> {
        toml::from_str(&format!(
            "rate = \"10 Gb/s\"\ntopology = {{ graph = {{ hosts = 2, switches = 2, links = [\n\
             {{ nodes = [0, 2] }}, {{ nodes = [1, 3] }}, {{ nodes = [2, 3], rate = \"1 Gb/s\" }}] }} }}\n\
             [radio]\n{link}"
        ))
    }

    fn rate_between_switches(link: &str) -> (Rate, Framing) {
        let spec = fabric(link).unwrap().build().unwrap().link(LinkId(4)).spec;
        (spec.rate, spec.framing)
    }

    #[test]
    fn links_in_place_of_wires_have_the_rates_of_their_radios() {
        let by_mcs = rate_between_switches("link = [{ nodes = [3, 2], mcs = 24, signal_dbm = -40.0 }]");
        assert_eq!(by_mcs, (Rate::bps(6_756_750_000), Framing::None));
        let by_signal = rate_between_switches("link = [{ nodes = [2, 3], signal_dbm = -60.0 }]");
        let sinr = sinr(Dbm::new(-60.0), FLYWAYS_NOISE, Milliwatts::ZERO);
        let expected = fastest(Mcs::ofdm(), sinr, FLYWAYS_NOISE).unwrap().rate();
        assert_eq!(by_signal.0, expected);
        // A quarter of 500 MHz at 4 bits a symbol and a code rate of 3/4, which MCS 12 has.
        let by_trace = rate_between_switches(
            "access = \"planned\"\nlink = [{ nodes = [2, 3], trace = { room = \"b\", rate_factor = 0.25 } }]",
        );
        assert_eq!(by_trace, (Rate::mbps(375), Framing::None));
    }

    #[test]
    fn wires_that_no_link_replaces_keep_their_rates() {
        for link in [
            "link = [{ nodes = [2, 3], mcs = 24, signal_dbm = -40.0, share = 0.5 }]",
            // Its rate is refused elsewhere.
            "link = [{ nodes = [2, 3], signal_dbm = -110.0 }]",
            "antenna = \"narrow_beam\"\nlink = [{ nodes = [2, 3], distance_m = -1.0, mcs = 255 }]",
            "link = [{ nodes = [2, 3], trace = { room = \"b\", rate_factor = nan } }]",
        ] {
            assert_eq!(rate_between_switches(link).0, Rate::gbps(1), "{link}");
        }
    }
}
