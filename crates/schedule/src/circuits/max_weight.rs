//! Matchings of the highest weight, for days of a fixed length.

use super::lines::Lines;
use super::plan::Builder;
use super::weight::Assignment;
use super::{CircuitAlgorithm, CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Duration, Matching, Named};

/// The matching with the most demand left, for a day; and again, until the packet switch can have carried the rest by then.
///
/// Helios (Nathan Farrington et al., SIGCOMM 2010) and c-Through (Guohui Wang et al., SIGCOMM 2010) do so with Edmonds' algorithm, for days
/// of milliseconds to seconds; here each direction has its own circuit, and the matching is bipartite. It looks at how much waits,
/// not at how much a day can carry.
#[derive(Clone, Debug, Default)]
pub struct MaxWeight {
    day: Option<Duration>,
    assignment: Assignment,
}

impl MaxWeight {
    /// With a matching open for `day`, or else for nine dark times (a duty cycle of 90 %) and at least a microsecond; in any
    /// case for the least open time.
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
