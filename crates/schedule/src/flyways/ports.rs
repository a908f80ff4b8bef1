//! A set of links between any two racks that have a free port.
//!
//! It models circuits, which do not interfere with each other.

use super::{Duplex, FlywayError, Link, LinkSet, Offer};
use timeplane_model::Rate;

/// Racks with a number of ports each; any two racks can be joined at one rate, as by circuits.
#[derive(Clone, Debug)]
pub struct Ports {
    left: Vec<usize>,
    rate: Rate,
    duplex: Duplex,
    up: Vec<(usize, Link)>,
}

impl Ports {
    /// A set with `ports` free ports for each of `racks`.
    ///
    /// # Errors
    /// Fails if the rate is zero.
    pub fn new(racks: usize, ports: usize, rate: Rate, duplex: Duplex) -> Result<Self, FlywayError> {
        if rate == Rate::ZERO {
            return Err(FlywayError::NoRate { what: "port", found: rate });
        }
        Ok(Self { left: vec![ports; racks], rate, duplex, up: Vec::new() })
    }

    /// Number of free ports of a rack.
    pub fn left(&self, rack: usize) -> usize {
        self.left[rack]
    }
}

impl LinkSet for Ports {
    fn racks(&self) -> usize {
        self.left.len()
    }
    fn links(&self) -> Vec<(usize, Link)> {
        self.up.clone()
    }
    fn offer(&self, a: usize, b: usize) -> Option<Offer> {
        let free = |rack: usize| self.left.get(rack).is_some_and(|&ports| ports > 0);
        (a != b && free(a) && free(b)).then_some(Offer { channel: 0, rate: self.rate, duplex: self.duplex })
    }
    fn add(&mut self, link: &Link) -> Option<usize> {
        let offer = self.offer(link.a, link.b)?;
        if offer.link(link.a, link.b) != *link {
            return None;
        }
        let number = self.up.last().map_or(0, |(n, _)| n + 1);
        self.left[link.a] -= 1;
        self.left[link.b] -= 1;
        self.up.push((number, *link));
        Some(number)
    }
    fn remove(&mut self, number: usize) -> bool {
        let Some(at) = self.up.iter().position(|(n, _)| *n == number) else { return false };
        let (_, link) = self.up.remove(at);
        self.left[link.a] += 1;
        self.left[link.b] += 1;
        true
    }
}
