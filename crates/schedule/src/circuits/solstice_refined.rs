//! Solstice with the longest slices, and with short demands left to the packet switch.
//!
//! It is the default: its schedules are never much longer than those of the paper's Solstice, and
//! mostly shorter.

use super::cover_all::{keep_from_packets, packets_in, packets_until_bound};
use super::lines::Lines;
use super::plan::Builder;
use super::slices::Worth;
use super::solstice::{Last, Slicing};
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Matching};

/// [`Solstice`](super::Solstice) with three changes:
///
/// - The paper takes any matching above the threshold. Here the smallest entry of the matching is
///   about as large as possible, found by bisection. If large flows coincide, an arbitrary matching
///   may be half as long, and cuts the other entries into pieces.
/// - Demands shorter than half a dark time are left to the packet switch from the start, smallest
///   first, as far as it can carry them by the time that any schedule takes. Otherwise they cut up
///   the long demands if demand is skewed.
/// - Without a window, the last slice is no longer than the packet switch needs to have carried the
///   rest.
///
/// Bisection takes about six steps of O(ports squared) for each slice.
#[derive(Clone, Debug, Default)]
pub struct SolsticeRefined {
    slicing: Slicing,
}

impl SolsticeRefined {
    /// Creates the scheduler with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    fn run(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
        last: Last,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let plan = Builder::new(parameters, lines, standing);
        let budget = packets_until_bound(&plan.left, parameters).min(packets_in(parameters.window, parameters));
        let kept = keep_from_packets(plan.left.clone(), budget, plan.dark() / 2);
        // Slices that are stretched anyway need not be long.
        let worth = Worth::Longest { above: plan.least() };
        Ok(self.slicing.run(plan, kept, worth, last))
    }
}

impl CircuitScheduler for SolsticeRefined {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        self.run(demand, parameters, standing, Last::Whole)
    }

    fn finish(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        self.run(demand, &parameters.endless(), standing, Last::Enough)
    }
}
