//! Rates for pairs that request them, so that no host link is overloaded.
//!
//! The uplinks of a switch together are not overloaded, either.

use crate::rates::{Flows, Hosts, Offered, Proportional, Scaling, max_min, scale_down};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Clos, ClosError, Fabric, HostId};

/// Algorithm that turns requested rates into rates that fit on the links of all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateNormalizer {
    /// Scales rows and columns in turn, up and down, for the highest total (Sinkhorn).
    #[schemars(extend(
        "x-source" = "ASY, German Sviridov et al., Globecom 2018",
        "x-departures" = "ends within 1 % of a bound or after 50 rounds; uplinks of switches are kept by scaling \
                          down"
    ))]
    #[default]
    ScaleBoth,
    /// Scales rows, then columns, down only.
    #[schemars(extend("x-source" = "timeplane", "x-departures" = "none"))]
    ScaleDown,
    /// Max-min fairness.
    #[schemars(extend(
        "x-source" = "Data Networks, Dimitri Bertsekas and Robert Gallager, 1992, section 6.5.2",
        "x-departures" = "none"
    ))]
    MaxMin,
    /// Proportional fairness, by prices of links (Flowtune's NED).
    #[schemars(extend(
        "x-source" = "Flowtune, Jonathan Perry et al., NSDI 2017",
        "x-departures" = "moves prices 20 times after each change, not all the time"
    ))]
    Proportional,
}

/// Relative distance from its bound at which [`scale_both`](crate::rates::scale_both) ends, and the
/// maximum number of rounds.
const TOLERANCE: f64 = 0.01;
const ROUNDS: u32 = 50;
/// Number of price updates after each change.
const STEPS: u32 = 20;

/// Allocates rates as shares of a host's link.
///
/// Limits are the hosts' links. If a switch has less capacity above than its hosts below
/// (oversubscription), the sums of what leaves and enters that switch are limits, too. Flows spread
/// over the links between switches by chance, so only these sums can be kept.
#[derive(Debug)]
pub struct RateAllocator {
    normalizer: RateNormalizer,
    hosts: Hosts,
    clos: Clos,
    /// Whether the limits of switches can apply at all.
    oversubscribed: bool,
    /// Capacities: sending hosts, receiving hosts, switches up, switches down.
    capacity: Vec<f64>,
    prices: Proportional,
    scaling: Scaling,
    flows: Flows,
}

impl RateAllocator {
    /// Creates an allocator for a fabric of hosts with equal links.
    ///
    /// # Errors
    /// Fails if links do not stand for parallel unit links.
    pub fn new(fabric: &Fabric, normalizer: RateNormalizer) -> Result<Self, ClosError> {
        let clos = Clos::of(fabric)?;
        let n = fabric.hosts() as usize;
        let mut under = vec![0u32; clos.edges()];
        (0..fabric.hosts()).for_each(|h| under[clos.edge(HostId(h)) as usize] += 1);
        let oversubscribed = clos.edges() > 1 && under.iter().any(|&u| u > clos.capacity());
        let above = if oversubscribed { 2 * clos.edges() } else { 0 };
        let capacity: Vec<f64> =
            std::iter::repeat_n(1.0, 2 * n).chain(std::iter::repeat_n(f64::from(clos.capacity()), above)).collect();
        Ok(Self {
            normalizer,
            hosts: Hosts::equal(n),
            oversubscribed,
            prices: Proportional::new(capacity.clone()),
            capacity,
            scaling: Scaling::default(),
            flows: Flows::new(),
            clos,
        })
    }

    /// Computes rates for pairs that request these shares of the link. Replaces the contents of
    /// `given` with one rate for each pair.
    pub fn allocate(&mut self, offered: &[Offered], given: &mut Vec<f64>) {
        given.clear();
        match self.normalizer {
            RateNormalizer::ScaleBoth => {
                self.scaling.scale(&self.hosts, offered, TOLERANCE, ROUNDS, given);
                self.keep_above(offered, given);
            }
            RateNormalizer::ScaleDown => {
                given.extend(scale_down(&self.hosts, offered));
                self.keep_above(offered, given);
            }
            RateNormalizer::MaxMin => {
                self.find_links(offered);
                given.extend(max_min(&self.capacity, &self.flows));
            }
            RateNormalizer::Proportional => {
                self.find_links(offered);
                self.prices.rates(&self.flows, STEPS, given);
            }
        }
    }

    /// The switches of a pair, if they differ.
    fn crossing(&self, o: &Offered) -> Option<(usize, usize)> {
        let (s, d) = (self.clos.edge(HostId(o.source)), self.clos.edge(HostId(o.destination)));
        (self.oversubscribed && s != d).then_some((s as usize, d as usize))
    }

    fn find_links(&mut self, offered: &[Offered]) {
        self.flows.clear();
        let n = self.hosts.len() as u32;
        for o in offered {
            let own = [o.source, n + o.destination];
            match self.crossing(o) {
                None => self.flows.push(&own, 1.0, o.rate),
                Some((s, d)) => {
                    let (up, down) = (2 * n + s as u32, 2 * n + (self.clos.edges() + d) as u32);
                    self.flows.push(&[own[0], own[1], up, down], 1.0, o.rate);
                }
            }
        }
    }

    /// Scales down traffic across overloaded switches; the result stays feasible elsewhere.
    fn keep_above(&self, offered: &[Offered], rates: &mut [f64]) {
        if !self.oversubscribed {
            return;
        }
        for side in 0..2 {
            let mut sum = vec![0.0; self.clos.edges()];
            let switch = |o: &Offered| self.crossing(o).map(|c| if side == 0 { c.0 } else { c.1 });
            for (o, rate) in offered.iter().zip(rates.iter()) {
                if let Some(e) = switch(o) {
                    sum[e] += rate;
                }
            }
            for (o, rate) in offered.iter().zip(rates.iter_mut()) {
                if let Some(e) = switch(o) {
                    *rate *= (f64::from(self.clos.capacity()) / sum[e]).min(1.0);
                }
            }
        }
    }
}
