//! ADJUST and DOUBLE: schedules of few configurations, made by rounding the demand.
//!
//! Each configuration costs a dark time, so demand is cut into coarse granules and edge coloring
//! turns these into matchings.

use super::lines::{Lines, NONE};
use super::plan::Builder;
use super::{CircuitAlgorithm, CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use crate::coloring::EulerSplit;
use timeplane_model::Named;
use timeplane_model::{Demand, Matching};

/// ADJUST: Xin Li and Mounir Hamdi, "On scheduling optical packet switches with reconfiguration
/// delay" (JSAC 2003). With lambda = 1 it is DOUBLE: Brian Towles and William Dally, "Guaranteed
/// scheduling for switches with configuration overhead" (ToN 2003).
///
/// Let T be the longest line sum of the demand, N the number of ports, and a granule T / (lambda
/// N). The whole granules of the demand form a multigraph of degree at most lambda N. Its coloring
/// gives at most lambda N matchings, each open for a granule. The remaining demand is less than a
/// granule everywhere: N - 1 disjoint matchings, each open for at most a granule, carry all of it.
/// So (1 + lambda) N configurations carry any demand, within (1 + 1 / lambda) T plus their dark
/// times.
///
/// These numbers are upper bounds. Equal matchings are joined, no matching is open for longer than
/// its largest demand, and the plan stops when packets can carry the rest. Matchings are ordered by
/// what they carry per unit of time, dark time included, so that a short window has the best of
/// them.
#[derive(Clone, Debug, Default)]
pub struct Adjust {
    lambda: Option<u32>,
    coloring: EulerSplit,
}

/// The largest lambda times the number of ports: the coloring supports so many colors.
pub const MOST_STEPS: u32 = 1 << 15;
const COLORS: u64 = MOST_STEPS as u64;
/// The largest lambda chosen automatically: beyond it a finer granule gains less than 2 %.
const FINE: u64 = 64;

impl Adjust {
    /// Uses `lambda`, at least 1, or else the lambda that minimizes (1 + 1 / lambda) T + (1 +
    /// lambda) N dark times.
    pub fn new(lambda: Option<u32>) -> Self {
        Self { lambda, coloring: EulerSplit::new() }
    }

    /// DOUBLE, with a lambda of 1.
    pub fn double() -> Self {
        Self::new(Some(1))
    }

    /// The lambda to use for a demand.
    fn lambda(&self, ports: u64, busiest: u64, dark: u64) -> Result<u64, CircuitError> {
        let error = |found: u32| CircuitError::Parameter {
            algorithm: CircuitAlgorithm::Adjust.name(),
            what: "granularity",
            found: format!("{found} for {ports} hosts"),
            allowed: "at least 1, and at most 32768 over the hosts",
        };
        match self.lambda {
            Some(0) => Err(error(0)),
            Some(lambda) if u64::from(lambda) * ports > COLORS => Err(error(lambda)),
            Some(lambda) => Ok(u64::from(lambda)),
            None => {
                let length = |l: &u64| {
                    let (l, ports, dark) = (u128::from(*l), u128::from(ports), u128::from(dark));
                    (u128::from(busiest).div_ceil(l) + l * ports * dark, l)
                };
                Ok((1..=FINE.min(COLORS / ports.max(1)).max(1)).min_by_key(length).unwrap_or(1))
            }
        }
    }

    /// Matchings of whole granules with their times; equal matchings are joined.
    fn coarse(&mut self, left: &Lines, granule: u64) -> Vec<(Vec<u32>, u64)> {
        let n = left.ports;
        let mut edges = Vec::new();
        for (i, j, time) in left.pairs() {
            edges.extend((0..time / granule).map(|_| (i as u32, j as u32)));
        }
        let mut colors = Vec::new();
        let used = self.coloring.color(n, n, &edges, &mut colors);
        let mut matchings = vec![vec![NONE; n]; used];
        for (&(i, j), &color) in edges.iter().zip(&colors) {
            matchings[usize::from(color)][i as usize] = j;
        }
        matchings.sort_unstable();
        let joined = matchings.chunk_by(|a, b| a == b);
        joined.map(|equal| (equal[0].clone(), granule * equal.len() as u64)).collect()
    }
}

/// The largest demand of a pair in a matching.
fn largest(left: &Lines, outputs: &[u32]) -> u64 {
    let pairs = outputs.iter().enumerate().filter(|&(_, &j)| j != NONE);
    pairs.map(|(i, &j)| left.at_pair(i, j as usize)).max().unwrap_or(0)
}

impl CircuitScheduler for Adjust {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let (n, busiest) = (lines.ports, lines.longest());
        let mut plan = Builder::new(parameters, lines, standing);
        let lambda = self.lambda(n as u64, busiest, plan.dark())?;
        if plan.rest_fits() {
            return Ok(plan.finish());
        }
        let granule = busiest.div_ceil(lambda * n as u64);
        let mut matchings = self.coarse(&plan.left, granule);
        let mut rest = plan.left.clone();
        rest.time.iter_mut().for_each(|time| *time %= granule);
        for k in 1..n {
            let outputs: Vec<u32> = (0..n).map(|i| ((i + k) % n) as u32).collect();
            let open = largest(&rest, &outputs);
            matchings.push((outputs, open));
        }
        let dark = plan.dark();
        let rate = |(outputs, open): &(Vec<u32>, u64)| {
            let pairs = outputs.iter().enumerate().filter(|&(_, &j)| j != NONE);
            let carried: u128 = pairs.map(|(i, &j)| u128::from(plan.left.at_pair(i, j as usize).min(*open))).sum();
            (carried << 16) / u128::from((open + dark).max(1))
        };
        // The sort is stable: among equals, matchings of whole granules come first.
        matchings.sort_by_cached_key(|m| std::cmp::Reverse(rate(m)));
        for (outputs, open) in matchings {
            if plan.rest_fits() {
                break;
            }
            let open = open.min(largest(&plan.left, &outputs));
            if open > 0 {
                plan.add_useful(&outputs, open);
            }
        }
        Ok(plan.finish())
    }
}
