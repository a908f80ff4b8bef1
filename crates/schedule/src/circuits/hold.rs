//! Hold: one matching stays up until it no longer serves the demand.
//!
//! It suits senders that wait for each other, as in collectives.

use super::lines::{Lines, NONE};
use super::plan::Builder;
use super::weight::Assignment;
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Matching};

/// Keeps the standing matching for the whole window, even while nothing waits for it. When a demand
/// appears that it does not connect, the matching of the largest demand takes its place. Circuits
/// of the old matching that do not conflict with the new one stay.
///
/// In collectives, senders wait for each other: little waits at any moment, and the next data goes
/// where the last went. A schedule for the current backlog alone would take down circuits that are
/// needed again at once. A pair that neither the matching nor the packet switch serves waits.
#[derive(Clone, Debug, Default)]
pub struct Hold {
    assignment: Assignment,
}

impl Hold {
    /// Creates the scheduler.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next receiver of each host, or none where nothing waits and no circuit is up.
    fn choose(&mut self, left: &Lines, up: &[u32]) -> Vec<u32> {
        if left.pairs().all(|(i, j, _)| up[i] == j as u32) {
            return up.to_vec();
        }
        let solved = self.assignment.solve(left.ports, left.time.iter().copied());
        let waits = |(i, &j): (usize, &u32)| if j != NONE && left.at_pair(i, j as usize) > 0 { j } else { NONE };
        let mut next: Vec<u32> = solved.iter().enumerate().map(waits).collect();
        let mut receives = vec![false; left.ports];
        next.iter().filter(|j| **j != NONE).for_each(|&j| receives[j as usize] = true);
        for (next, &up) in next.iter_mut().zip(up) {
            if *next == NONE && up != NONE && !std::mem::replace(&mut receives[up as usize], true) {
                *next = up;
            }
        }
        next
    }
}

/// The receiver of each sender under a matching.
fn outputs(ports: usize, standing: Option<&Matching>) -> Vec<u32> {
    let mut up = vec![NONE; ports];
    standing.iter().flat_map(|s| s.pairs()).for_each(|(i, j)| up[i.index()] = j.0);
    up
}

impl CircuitScheduler for Hold {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let next = self.choose(&lines, &outputs(lines.ports, standing));
        let mut plan = Builder::new(parameters, lines, standing);
        if next.iter().any(|&j| j != NONE) {
            plan.add_all(&next, plan.room());
        }
        Ok(plan.finish())
    }

    fn finish(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let parameters = &parameters.endless();
        let lines = Lines::of(demand, parameters, standing)?;
        let mut up = outputs(lines.ports, standing);
        let mut plan = Builder::new(parameters, lines, standing);
        while !plan.rest_fits() {
            up = self.choose(&plan.left, &up);
            let times =
                up.iter().enumerate().filter(|(_, j)| **j != NONE).map(|(i, &j)| plan.left.at_pair(i, j as usize));
            let Some(open) = times.max().filter(|&open| open > 0) else { break };
            if plan.add_all(&up, open).is_none() {
                break;
            }
        }
        Ok(plan.finish())
    }
}
