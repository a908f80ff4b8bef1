//! Maximum-weight matchings for days of a fixed length, as in Helios and c-Through.
//!
//! A day is the open time of one matching.

use super::lines::Lines;
use super::plan::Builder;
use super::weight::Assignment;
use super::{CircuitAlgorithm, CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Duration, Matching, Named};

/// Opens the matching with the most remaining demand for a day, and repeats until the packet switch
/// can have carried the rest.
///
/// Helios (Nathan Farrington et al., SIGCOMM 2010) and c-Through (Guohui Wang et al., SIGCOMM 2010)
/// do so with Edmonds' algorithm, for days of milliseconds to seconds. Here each direction has its
/// own circuit, so the matching is bipartite. The weight of a pair is its whole backlog, not what a
/// day can carry.
#[derive(Clone, Debug, Default)]
pub struct MaxWeight {
    day: Option<Duration>,
    assignment: Assignment,
}

impl MaxWeight {
    /// Opens each matching for `day`, or else for nine dark times (a duty cycle of 90 %) and at
    /// least a microsecond. The least open time always applies.
    pub fn new(day: Option<Duration>) -> Self {
        Self { day, assignment: Assignment::default() }
    }
}

impl CircuitScheduler for MaxWeight {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let day = parameters.day(CircuitAlgorithm::MaxWeight.name(), self.day)?;
        let mut plan = Builder::new(parameters, lines, standing);
        while !plan.rest_fits() {
            let outputs = self.assignment.solve(plan.left.ports, plan.left.time.iter().copied());
            if plan.add_useful(outputs, day).is_none() {
                break;
            }
        }
        Ok(plan.finish())
    }
}
