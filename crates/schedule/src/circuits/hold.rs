//! One matching, for as long as it is enough.

use super::lines::{Lines, NONE};
use super::plan::Builder;
use super::weight::Assignment;
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Matching};

/// The matching that is up stays for the whole window, also where nothing waits for it, until something waits that it does not join; then the matching of
/// the largest demand takes its place, with those circuits that are up and in nobody's way.
///
/// For senders that wait for each other, as in collectives: what waits at a moment is little, and what comes next goes where the last went. A schedule
/// made for what waits takes circuits down that are needed at once. Who is joined by neither the largest demand nor the packet switch waits.
#[derive(Clone, Debug, Default)]
pub struct Hold {
    assignment: Assignment,
}

impl Hold {
    /// A scheduler.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whom each host is joined to next; nobody where nothing waits and nothing is up.
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

/// By sender, whom a matching joins it to.
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
