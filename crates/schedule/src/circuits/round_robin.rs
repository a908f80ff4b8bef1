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
///
/// A round has all matchings once. Rounds may have [different orders](Self::reordered), as the
/// schedules of REACToR's figure 7 do (He Liu et al., NSDI 2014). Round r starts at k = 3 r + 1,
/// and k grows by another step, which has no common factor with the number of matchings.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    /// Open time of a matching.
    day: Option<Duration>,
    /// Whether rounds have different orders.
    reorder: bool,
    /// Number of matchings served.
    served: usize,
}

impl RoundRobin {
    /// Opens each matching for `day`, or else for nine dark times (a duty cycle of 90 %) and at
    /// least a microsecond. The least open time always applies.
    pub fn new(day: Option<Duration>) -> Self {
        Self { day, ..Self::default() }
    }

    /// Serves the matchings in another order in each round.
    pub fn reordered(self, reorder: bool) -> Self {
        Self { reorder, ..self }
    }

    /// The distance k that is served next, of `most` distances.
    fn distance(&self, most: usize) -> usize {
        let (round, place) = (self.served / most, self.served % most);
        let (start, step) = if self.reorder { (3 * round, step(round, most)) } else { (0, 1) };
        (start + place * step) % most + 1
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
            let distance = self.distance(n - 1);
            for (i, j) in outputs.iter_mut().enumerate() {
                *j = ((i + distance) % n) as u32;
            }
            if plan.add_all(&outputs, day).is_none() {
                break;
            }
            self.served += 1;
        }
        Ok(plan.finish())
    }
}

/// One of the numbers below `most` that have no common factor with it: another one for each round,
/// as long as there are more.
fn step(round: usize, most: usize) -> usize {
    let factor = |a: usize| {
        let (mut a, mut b) = (a, most);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let steps: Vec<usize> = (1..=most).filter(|&s| factor(s) == 1).collect();
    steps[round % steps.len()]
}

impl CircuitScheduler for RoundRobin {
    fn is_oblivious(&self) -> bool {
        true
    }

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
