//! Round robin over fixed matchings, as the rotor switches of RotorNet do.
//!
//! The demand has no influence on the order of matchings.

use super::lines::Lines;
use super::plan::Builder;
use super::{CircuitAlgorithm, CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Duration, Matching, Named};

/// Cyclic matchings in turn, for any demand: host i to host i + k, for k from 1 to hosts - 1.
///
/// These are the rotor switches of RotorNet (William Mellette et al., "RotorNet: a scalable,
/// low-complexity, optical datacenter network", SIGCOMM 2017). The next plan continues where this
/// one ends. A plan fills its window as far as the limit on configurations allows. The last
/// configuration is cut to the window, and left out if it would be shorter than the least open
/// time.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    /// Open time of a matching.
    day: Option<Duration>,
    /// The distance k that was served last.
    last: usize,
}

impl RoundRobin {
    /// Opens each matching for `day`, or else for nine dark times (a duty cycle of 90 %) and at
    /// least a microsecond. The least open time always applies.
    pub fn new(day: Option<Duration>) -> Self {
        Self { day, last: 0 }
    }

    fn run(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
        to_the_end: bool,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let day = parameters.day(CircuitAlgorithm::RoundRobin.name(), self.day)?;
        let n = lines.ports;
        let mut plan = Builder::new(parameters, lines, standing);
        if n < 2 {
            return Ok(plan.finish());
        }
        let mut outputs = vec![0; n];
        while !(to_the_end && plan.rest_fits()) {
            let distance = self.last % (n - 1) + 1;
            for (i, j) in outputs.iter_mut().enumerate() {
                *j = ((i + distance) % n) as u32;
            }
            if plan.add_all(&outputs, day).is_none() {
                break;
            }
            self.last = distance;
        }
        Ok(plan.finish())
    }
}

impl CircuitScheduler for RoundRobin {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        self.run(demand, parameters, standing, false)
    }

    fn finish(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        self.run(demand, &parameters.endless(), standing, true)
    }
}
