//! Matchings of racks, and the sets of them that rotor switches cycle through.
//!
//! - [`round_robin`]: the complete graph as disjoint perfect matchings (RotorNet).
//! - [`random_factorization`]: the same in random order, lifted from a smaller graph (Opera).
//! - [`grid`]: a round robin in each dimension of a grid in turn (Shale).

mod factorization;
mod grid;

pub use factorization::random_factorization;
pub use grid::{grid, side};

use super::error::{MOST_RACKS, RotorError, table, within};

/// The circuits of one rotor switch in one slice: at most one from and one to each rack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RackMatching {
    /// Per rack, the rack to which it has a circuit; itself if it has none.
    to: Vec<u16>,
}

impl RackMatching {
    /// A matching from each rack's destination. A rack that leads to itself has no circuit, as one
    /// with `None`.
    ///
    /// # Errors
    /// Fails if two racks have one destination, if a destination does not exist, or if there are
    /// fewer than 2 or more than [`MOST_RACKS`] racks.
    pub fn new(destinations: &[Option<u32>]) -> Result<Self, RotorError> {
        check_racks(destinations.len() as u64)?;
        let last = destinations.len() as u32 - 1;
        let mut to = Vec::with_capacity(destinations.len());
        let mut from: Vec<Option<u32>> = vec![None; destinations.len()];
        for (rack, destination) in (0..).zip(destinations) {
            let destination = destination.unwrap_or(rack);
            to.push(destination as u16);
            if destination == rack {
                continue;
            }
            match from.get_mut(destination as usize) {
                None => return Err(RotorError::UnknownRack { rack, found: destination, last }),
                Some(Some(first)) => {
                    return Err(RotorError::SharedPort { destination, first: *first, second: rack });
                }
                Some(free) => *free = Some(rack),
            }
        }
        Ok(Self { to })
    }

    /// A matching without circuits.
    ///
    /// # Errors
    /// Fails if there are fewer than 2 or more than [`MOST_RACKS`] racks.
    pub fn idle(racks: u32) -> Result<Self, RotorError> {
        check_racks(u64::from(racks))?;
        Ok(Self { to: (0..racks as u16).collect() })
    }

    /// A matching from a table that is known to be one.
    fn of(to: Vec<u16>) -> Self {
        Self { to }
    }

    /// Number of racks, with or without circuits.
    pub fn racks(&self) -> u32 {
        self.to.len() as u32
    }

    /// The rack to which this rack has a circuit.
    ///
    /// # Panics
    /// If the rack does not exist.
    pub fn destination(&self, rack: u32) -> Option<u32> {
        let to = u32::from(self.to[rack as usize]);
        (to != rack).then_some(to)
    }

    /// All circuits as (sending rack, receiving rack), by sending rack.
    pub fn circuits(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.racks()).filter_map(|rack| self.destination(rack).map(|to| (rack, to)))
    }

    /// Per rack, its destination or itself.
    pub(super) fn table(&self) -> &[u16] {
        &self.to
    }
}

fn check_racks(racks: u64) -> Result<(), RotorError> {
    within("racks", racks, 2, u64::from(MOST_RACKS))
}

/// The complete graph of the racks as disjoint matchings that cover every pair once, by the circle
/// method. All circuits go both ways.
///
/// An even number N of racks has N - 1 perfect matchings. An odd number has N, in each of which
/// another rack has no circuit. These are the matchings of RotorNet's switches (William Mellette et
/// al., "RotorNet: a scalable, low-complexity, optical datacenter network", SIGCOMM 2017);
/// which factorization they use is free.
///
/// # Errors
/// Fails if the number of racks is out of range.
pub fn round_robin(racks: u32) -> Result<Vec<RackMatching>, RotorError> {
    check_racks(u64::from(racks))?;
    table("matchings", &[u64::from(racks), u64::from(racks)], 2)?;
    Ok(circle(racks as usize).into_iter().map(RackMatching::of).collect())
}

/// The circle method for any number of racks: N - 1 tables for even N, N for odd N. In round k the
/// racks i and j meet if i + j = 2 k modulo the number of rounds. That leaves rack k alone, or to
/// the last rack if N is even.
fn circle(racks: usize) -> Vec<Vec<u16>> {
    let rounds = racks - (racks + 1) % 2;
    let round = |k: usize| {
        let partner = |i: usize| (2 * k + rounds - i) % rounds;
        let mut to: Vec<u16> = (0..rounds).map(|i| partner(i) as u16).collect();
        if racks > rounds {
            to[k] = rounds as u16;
            to.push(k as u16);
        }
        to
    };
    (0..rounds).map(round).collect()
}
