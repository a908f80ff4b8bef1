//! 60 GHz radios as links that a flyway controller may use: who may be linked, and how long beams take to be pointed.

use core::ops::Deref;
use timeplane_model::Duration;
use timeplane_radio::{Field, Flyway, FlywayRules, Flyways, MacParameters, Mcs};
use timeplane_schedule::flyways::{Duplex, Link, LinkSet, Offer};

/// Radios on racks: links are feasible by [`Flyways`], at the PHY's rates, and their directions share them.
#[derive(Clone, Debug)]
pub struct RadioLinks<F> {
    ways: Flyways<F>,
    rates: Vec<Mcs>,
    racks: usize,
}

impl<F: Deref<Target = Field>> RadioLinks<F> {
    /// No links yet.
    pub fn new(field: F, rules: FlywayRules) -> Self {
        Self { rates: rules.rates.clone(), racks: field.places(), ways: Flyways::new(field, rules) }
    }

    /// The flyways that are up.
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
        // Of several with one rate, the first that its SINR allows.
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
    /// By sector sweeps of both ends over the air, as two stations that know nothing of each other.
    Trained {
        /// Lengths of frames and gaps.
        mac: &'static MacParameters,
        /// Of each end.
        sectors: u32,
    },
    /// The wired network tells both ends which pattern points at the other, from history: they only steer.
    Coordinated {
        /// How long that takes.
        steering: Duration,
    },
}

impl Pointing {
    /// From the decision until the link carries; over the wires' latency, which is the controller's to know.
    pub fn takes(&self) -> Duration {
        match self {
            Self::Trained { mac, sectors } => mac.beam_training(*sectors, *sectors),
            Self::Coordinated { steering } => *steering,
        }
    }
}
