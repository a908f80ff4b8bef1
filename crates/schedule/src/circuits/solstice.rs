//! Solstice: long configurations first, so that the packet switch can carry the rest.
//!
//! Stuffing makes all line sums of the demand equal; slicing then cuts permutations from it.

use super::cover_all::{keep_from_packets, packets_in, packets_until_bound};
use super::lines::Lines;
use super::plan::Builder;
use super::slices::Slices;
use super::stuff::Stuffed;
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Matching};

/// Solstice: He Liu et al., "Scheduling techniques for hybrid circuit/packet networks" (CoNEXT
/// 2015).
///
/// The demand is stuffed until every line has the same sum. Then slices are cut off, longest first.
/// A slice is a perfect matching of entries of at least a threshold, open for as long as its
/// smallest entry. The threshold, a power of two of picoseconds, is halved when there is no such
/// matching. Slicing stops as soon as the packet switch can have carried the rest by the end of the
/// circuits, so that few configurations suffice for skewed demand.
///
/// Three things differ from the paper, except in [`as_published`](Self::as_published):
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
/// Solstice is designed for all-stop switches. If only moved ports go dark, circuits that stay
/// carry on. A slice shorter than the least open time is stretched, and the remaining demand is
/// stuffed again. A slice of nothing but stuffing is skipped.
///
/// Takes O(ports squared) per threshold and bisection step (about six for each slice), and O(ports
/// squared / 64 + ports) per matched pair.
#[derive(Clone, Debug)]
pub struct Solstice {
    /// Whether to deviate from the paper.
    refined: bool,
    stuffed: Stuffed,
    slices: Slices,
}

impl Solstice {
    /// Creates the scheduler with empty buffers.
    pub fn new() -> Self {
        Self { refined: true, stuffed: Stuffed::default(), slices: Slices::default() }
    }

    /// Follows the paper: any matching above a threshold, all demands treated alike, and full
    /// slices to the end.
    pub fn as_published() -> Self {
        Self { refined: false, ..Self::new() }
    }

    /// Makes a plan. With `trim`, the last slice is only as long as the packet switch needs it.
    fn run(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
        trim: bool,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let mut plan = Builder::new(parameters, lines, standing);
        let short = if self.refined { plan.dark() / 2 } else { 0 };
        let budget = packets_until_bound(&plan.left, parameters).min(packets_in(parameters.window, parameters));
        let mut kept = keep_from_packets(plan.left.clone(), budget, short);
        self.stuffed.stuff(&kept);
        self.slices.begin(kept.ports, &self.stuffed.time);
        // Slices that are stretched anyway need not be long.
        let worth = if self.refined { plan.least() } else { u64::MAX };
        while !plan.rest_fits() {
            let Some(slice) = self.slices.next(worth) else { break };
            let useful =
                |(i, &j): (usize, &u32)| kept.at_pair(i, j as usize) > 0 && plan.left.at_pair(i, j as usize) > 0;
            if !self.slices.outputs().iter().enumerate().any(useful) {
                self.slices.cut(slice);
                continue;
            }
            let outputs = self.slices.outputs();
            let open = if trim { plan.add_enough(outputs, slice) } else { plan.add_useful(outputs, slice) };
            let Some(open) = open else { break };
            if open > slice {
                kept.reduce_to(&plan.left);
                self.stuffed.stuff(&kept);
                self.slices.go_on(&self.stuffed.time);
            } else {
                self.slices.cut(open);
            }
        }
        Ok(plan.finish())
    }
}

impl Default for Solstice {
    fn default() -> Self {
        Self::new()
    }
}

impl CircuitScheduler for Solstice {
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
        self.run(demand, &parameters.endless(), standing, self.refined)
    }
}
