//! Demand as line time: how long each pair's bytes take on a circuit.
//!
//! Checks the sizes that all circuit schedulers share.

use super::{CircuitError, CircuitParameters};
use timeplane_model::{Demand, Duration, Matching, Rate};

/// No partner.
pub(super) const NONE: u32 = u32::MAX;
/// Maximum number of ports: a matrix of them takes 2 GB.
const PORTS: u32 = 16_384;
/// The longest row or column sum in picoseconds: 20 hours. Sums of a few such times fit into 64
/// bits.
const LONGEST: u64 = 1 << 56;
/// Picoseconds that a byte takes at 1 bit/s.
const PS: u64 = 8_000_000_000_000;

/// A square matrix of times in picoseconds, with its row and column sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    pub(super) ports: usize,
    /// Row by row: a row is a sender.
    pub(super) time: Vec<u64>,
    pub(super) rows: Vec<u64>,
    pub(super) columns: Vec<u64>,
}

impl Lines {
    /// Converts the demand of a plan and checks all inputs.
    pub(super) fn of(
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Self, CircuitError> {
        parameters.check()?;
        check_hosts(demand.hosts(), standing)?;
        Self::at(demand, parameters.circuit)
    }

    /// Converts a demand at a positive rate.
    pub(super) fn at(demand: &Demand, rate: Rate) -> Result<Self, CircuitError> {
        let hosts = demand.hosts();
        if hosts > PORTS {
            return Err(CircuitError::TooManyHosts { hosts, most: PORTS });
        }
        let ports = hosts as usize;
        let mut lines = Self { ports, time: vec![0; ports * ports], rows: vec![0; ports], columns: vec![0; ports] };
        let longest = Duration::from_ps(LONGEST as i64);
        let mut total = 0u64;
        // Whole picoseconds per byte at the usual rates: a division for every pair would take
        // longer than some schedules.
        let per_byte = Some(rate.as_bps()).filter(|&r| PS.is_multiple_of(r)).map(|r| PS / r);
        for (i, row) in demand.rows().iter().enumerate() {
            for entry in row.entries() {
                // Other code sums bytes: that sum must fit, too.
                let too_much = CircuitError::TooMuch { host: i as u32, longest };
                total = total.checked_add(entry.bytes.get()).ok_or(too_much)?;
                let bytes = entry.bytes.get();
                let time = per_byte.and_then(|ps| bytes.checked_mul(ps)).unwrap_or_else(|| {
                    let time = (u128::from(bytes) * u128::from(PS)).div_ceil(u128::from(rate.as_bps()));
                    u64::try_from(time).unwrap_or(u64::MAX)
                });
                let time = time.min(2 * LONGEST);
                let j = entry.destination.index();
                lines.time[i * ports + j] = time;
                for (sum, host) in [(&mut lines.rows[i], i), (&mut lines.columns[j], j)] {
                    *sum += time;
                    if *sum > LONGEST {
                        return Err(CircuitError::TooMuch { host: host as u32, longest });
                    }
                }
            }
        }
        Ok(lines)
    }

    pub(super) fn row(&self, i: usize) -> &[u64] {
        &self.time[i * self.ports..][..self.ports]
    }

    pub(super) fn at_pair(&self, i: usize, j: usize) -> u64 {
        self.time[i * self.ports + j]
    }

    /// The largest row or column sum.
    pub(super) fn longest(&self) -> u64 {
        self.rows.iter().chain(&self.columns).copied().max().unwrap_or(0)
    }

    /// Takes at most `time` off a pair.
    pub(super) fn take(&mut self, i: usize, j: usize, time: u64) {
        let entry = &mut self.time[i * self.ports + j];
        let taken = time.min(*entry);
        *entry -= taken;
        self.rows[i] -= taken;
        self.columns[j] -= taken;
    }

    /// Subtracts what `other`, of which this matrix was a part, no longer contains.
    pub(super) fn reduce_to(&mut self, other: &Self) {
        for i in 0..self.ports {
            for j in 0..self.ports {
                let excess = self.at_pair(i, j).saturating_sub(other.at_pair(i, j));
                if excess > 0 {
                    self.take(i, j, excess);
                }
            }
        }
    }

    /// Pairs with time left, row by row.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize, u64)> + '_ {
        let n = self.ports;
        self.time.iter().enumerate().filter(|&(_, &t)| t > 0).map(move |(at, &t)| (at / n, at % n, t))
    }
}

/// Checks that a standing matching has as many hosts as the demand.
pub(super) fn check_hosts(hosts: u32, standing: Option<&Matching>) -> Result<(), CircuitError> {
    match standing {
        Some(m) if m.outputs().len() != hosts as usize => {
            Err(CircuitError::Hosts { what: "the matching that is up", found: m.outputs().len() as u32, hosts })
        }
        _ => Ok(()),
    }
}
