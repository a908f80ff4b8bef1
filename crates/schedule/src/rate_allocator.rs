//! Rates for pairs that request them, so that no host link is overloaded.
//!
//! The uplinks of a switch together are not overloaded, either.

use crate::OwnError;
use crate::rates::{Flows, Hosts, Offered, Proportional, Scaling, max_min, scale_down};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::{Clos, ClosError, Fabric, HostId, Named};

/// Algorithm that turns requested rates into rates that fit on the links of all hosts.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    VariantArray,
    IntoStaticStr,
    EnumMessage,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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

impl Named for RateNormalizer {
    const KIND: &'static str = "rate normalizer";
}

/// What an own normalizer is made for.
#[derive(Clone, Debug, PartialEq)]
pub struct RateParameters {
    /// Number of hosts.
    pub hosts: u32,
    /// Capacity of each link, as a multiple of a host's link. Links are the hosts' to send, by
    /// host, then those to receive. If switches are oversubscribed, the sums of what leaves and of
    /// what enters each follow.
    pub capacity: Vec<f64>,
}

/// An own algorithm that turns requested rates into rates that fit on all links.
pub trait Normalizer: Send {
    /// Computes rates for flows between pairs of hosts. `given`, which is empty, gets one for each.
    /// A flow's demand is the rate that its pair requests. Its first links are those of its source
    /// and its destination. Rates are in the unit of the capacities.
    ///
    /// # Errors
    /// Fails if it has no rates. The plan, and the run with it, then end.
    fn normalize(&mut self, flows: &Flows, given: &mut Vec<f64>) -> Result<(), OwnError>;
}

/// The algorithm by which an allocator works.
pub enum RateRule {
    /// One of this crate.
    BuiltIn(RateNormalizer),
    /// One of a program.
    Own(Box<dyn Normalizer>),
}

impl From<RateNormalizer> for RateRule {
    fn from(normalizer: RateNormalizer) -> Self {
        Self::BuiltIn(normalizer)
    }
}

impl fmt::Debug for RateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(normalizer) => normalizer.fmt(f),
            Self::Own(_) => f.write_str("Own"),
        }
    }
}

/// Relative distance from its bound at which [`scale_both`](crate::rates::scale_both) ends, and the
/// maximum number of rounds.
const TOLERANCE: f64 = 0.01;
const ROUNDS: u32 = 50;
/// Number of price updates after each change.
const STEPS: u32 = 20;
/// Share of a link by which own rates may exceed it, as sums are rounded.
const ROUNDING: f64 = 1e-9;

impl RateParameters {
    /// The links of a fabric.
    ///
    /// # Errors
    /// Fails if links do not stand for parallel unit links.
    pub fn of(fabric: &Fabric) -> Result<Self, ClosError> {
        let clos = Clos::of(fabric)?;
        let n = fabric.hosts() as usize;
        let mut under = vec![0u32; clos.edges()];
        (0..fabric.hosts()).for_each(|h| under[clos.edge(HostId(h)) as usize] += 1);
        let oversubscribed = clos.edges() > 1 && under.iter().any(|&u| u > clos.capacity());
        let above = if oversubscribed { 2 * clos.edges() } else { 0 };
        let capacity =
            std::iter::repeat_n(1.0, 2 * n).chain(std::iter::repeat_n(f64::from(clos.capacity()), above)).collect();
        Ok(Self { hosts: fabric.hosts(), capacity })
    }

    /// Checks that there is a rate for each flow, that none is negative, and that no link is
    /// exceeded by more than rounding.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self, flows: &Flows, rates: &[f64]) -> Result<(), String> {
        flows.check_rates(&self.capacity, rates, ROUNDING)
    }
}

/// Allocates rates as shares of a host's link.
///
/// Limits are the hosts' links. If a switch has less capacity above than its hosts below
/// (oversubscription), the sums of what leaves and enters that switch are limits, too. Flows spread
/// over the links between switches by chance, so only these sums can be kept.
#[derive(Debug)]
pub struct RateAllocator {
    rule: RateRule,
    hosts: Hosts,
    clos: Clos,
    /// Whether the limits of switches can apply at all.
    oversubscribed: bool,
    links: RateParameters,
    prices: Proportional,
    scaling: Scaling,
    flows: Flows,
}

impl RateAllocator {
    /// Creates an allocator for a fabric of hosts with equal links.
    ///
    /// # Errors
    /// Fails if links do not stand for parallel unit links.
    pub fn new(fabric: &Fabric, rule: impl Into<RateRule>) -> Result<Self, ClosError> {
        let clos = Clos::of(fabric)?;
        let n = fabric.hosts() as usize;
        let links = RateParameters::of(fabric)?;
        Ok(Self {
            rule: rule.into(),
            hosts: Hosts::equal(n),
            oversubscribed: links.capacity.len() > 2 * n,
            prices: Proportional::new(links.capacity.clone()),
            links,
            scaling: Scaling::default(),
            flows: Flows::new(),
            clos,
        })
    }

    /// Computes rates for pairs that request these shares of the link. Replaces the contents of
    /// `given` with one rate for each pair.
    ///
    /// # Errors
    /// Fails if an own normalizer does, or if its rates do not fit on the links.
    pub fn allocate(&mut self, offered: &[Offered], given: &mut Vec<f64>) -> Result<(), OwnError> {
        given.clear();
        let normalizer = match self.rule {
            RateRule::BuiltIn(normalizer) => normalizer,
            RateRule::Own(_) => return self.allocate_own(offered, given),
        };
        match normalizer {
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
                given.extend(max_min(&self.links.capacity, &self.flows));
            }
            RateNormalizer::Proportional => {
                self.find_links(offered);
                self.prices.rates(&self.flows, STEPS, given);
            }
        }
        Ok(())
    }

    /// Asks an own normalizer and checks its answer.
    fn allocate_own(&mut self, offered: &[Offered], given: &mut Vec<f64>) -> Result<(), OwnError> {
        self.find_links(offered);
        if let RateRule::Own(own) = &mut self.rule {
            own.normalize(&self.flows, given)?;
        }
        self.links.check(&self.flows, given).map_err(OwnError::Failed)
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
