//! 60 GHz radios as links for a flyway controller.
//!
//! [`RadioLinks`] tells which links are feasible at which rate. [`Pointing`] tells how long the
//! beams of a new link take to meet.

use core::ops::Deref;
use timeplane_model::Duration;
use timeplane_radio::{Field, Flyway, FlywayRules, Flyways, MacParameters, Mcs};
use timeplane_schedule::flyways::{Duplex, Link, LinkSet, Offer};

/// Radios on racks. [`Flyways`] decides which links are feasible; both directions share the PHY's
/// rate.
#[derive(Clone, Debug)]
pub struct RadioLinks<F> {
    ways: Flyways<F>,
    rates: Vec<Mcs>,
    racks: usize,
}

impl<F: Deref<Target = Field>> RadioLinks<F> {
    /// Radios without links.
    pub fn new(field: F, rules: FlywayRules) -> Self {
        Self { rates: rules.rates.clone(), racks: field.places(), ways: Flyways::new(field, rules) }
    }

    /// The links that are up.
    pub fn flyways(&self) -> &Flyways<F> {
        &self.ways
    }

    fn link(way: &Flyway) -> Link {
        let Flyway { a, b, channel, mcs } = *way;
        Link { a, b, channel, rate: mcs.rate(), duplex: Duplex::Half }
    }
}

impl<F: Deref<Target = Field>> LinkSet for RadioLinks<F> {
    fn racks(&self) -> usize {
        self.racks
    }
    fn links(&self) -> Vec<(usize, Link)> {
        self.ways.iter().map(|(number, way)| (number, Self::link(&way))).collect()
    }
    fn offer(&self, a: usize, b: usize) -> Option<Offer> {
        let (channel, mcs) = self.ways.best(a, b).ok()?;
        Some(Offer { channel, rate: mcs.rate(), duplex: Duplex::Half })
    }
    fn add(&mut self, link: &Link) -> Option<usize> {
        if link.duplex != Duplex::Half {
            return None;
        }
        // The first of several with the same rate that its SINR allows.
        let mut rates = self.rates.iter().filter(|m| m.rate() == link.rate);
        rates.find_map(|&mcs| self.ways.add_at(link.a, link.b, link.channel, mcs).ok())
    }
    fn remove(&mut self, number: usize) -> bool {
        self.ways.remove(number)
    }
}

/// How the beams of a new flyway find each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pointing {
    /// Both ends sweep their sectors over the air, as stations that know nothing of each other.
    Trained {
        /// Durations of frames and interframe spaces.
        mac: &'static MacParameters,
        /// Sectors of each end.
        sectors: u32,
    },
    /// The wired network tells both ends from history which pattern to use, so they only steer.
    Coordinated {
        /// How long steering takes.
        steering: Duration,
    },
}

impl Pointing {
    /// The time from the start of pointing until the link carries data. The latency of the wired
    /// network is not included.
    pub fn takes(&self) -> Duration {
        match self {
            Self::Trained { mac, sectors } => mac.beam_training(*sectors, *sectors),
            Self::Coordinated { steering } => *steering,
        }
    }
}
