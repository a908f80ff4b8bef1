//! Solstice: long configurations first, so that the packet switch can carry the rest.
//!
//! Stuffing makes all line sums of the demand equal; slicing then cuts permutations from it.

use super::lines::Lines;
use super::plan::Builder;
use super::slices::{Slices, Worth};
use super::stuff::Stuffed;
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Matching};

/// Solstice: He Liu et al., "Scheduling techniques for hybrid circuit/packet networks" (CoNEXT
/// 2015).
///
/// The demand is stuffed until every line has the same sum (QuickStuff). Then slices are cut off,
/// long ones first (BigSlice). A slice is any perfect matching of entries of at least a threshold,
/// open for as long as its smallest entry. The threshold starts at the largest power of two up to
/// the largest entry, and is halved when there is no such matching. Slicing stops as soon as the
/// packet switch can have carried the rest by the end of the circuits. So few configurations
/// suffice for skewed demand.
///
/// The algorithm is that of the paper; times are integer picoseconds. Limits of the plan change
/// what is done with a slice:
///
/// - A slice shorter than the least open time is stretched, and the remaining demand is stuffed
///   again.
/// - The plan ends with its window or its last configuration.
/// - Entries that are nothing but stuffing get no circuit, and circuits that stay up cost no dark
///   time. The paper counts a dark time for every slice.
///
/// Solstice is designed for all-stop switches. If only moved ports go dark, circuits that stay
/// carry on. [`SolsticeRefined`](super::SolsticeRefined) makes shorter schedules.
///
/// Takes O(ports squared) per threshold and per slice, and O(ports squared / 64 + ports) per
/// matched pair.
#[derive(Clone, Debug, Default)]
pub struct Solstice {
    slicing: Slicing,
}

/// Stuffing and slicing, with their buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Slicing {
    stuffed: Stuffed,
    slices: Slices,
}

/// How long configurations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// As long as their slices, the last one too.
    Whole,
    /// The last one is only as long as the packet switch needs it.
    Enough,
}

impl Slicing {
    /// Cuts `kept`, which is a part of the plan's demand, into configurations of the plan.
    pub(super) fn run(
        &mut self,
        mut plan: Builder<'_>,
        mut kept: Lines,
        worth: Worth,
        last: Last,
    ) -> Vec<Configuration> {
        self.stuffed.stuff(&kept);
        self.slices.begin(kept.ports, &self.stuffed.time);
        while !plan.rest_fits() {
            let Some(slice) = self.slices.next(worth) else { break };
            let outputs = self.slices.outputs();
            let useful =
                |(i, &j): (usize, &u32)| kept.at_pair(i, j as usize) > 0 && plan.left.at_pair(i, j as usize) > 0;
            // A busiest line has no stuffing, so this is rare: circuits that carried for longer
            // than their slices have emptied the line.
            if !outputs.iter().enumerate().any(useful) {
                self.slices.cut(slice);
                continue;
            }
            let open = match last {
                Last::Whole => plan.add_useful(outputs, slice),
                Last::Enough => plan.add_enough(outputs, slice),
            };
            let Some(open) = open else { break };
            if open > slice {
                kept.reduce_to(&plan.left);
                self.stuffed.stuff(&kept);
                self.slices.go_on(&self.stuffed.time);
            } else {
                self.slices.cut(open);
            }
        }
        plan.finish()
    }
}

impl Solstice {
    /// Creates the scheduler with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }
}

impl CircuitScheduler for Solstice {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let plan = Builder::new(parameters, lines.clone(), standing);
        Ok(self.slicing.run(plan, lines, Worth::Any, Last::Whole))
    }
}
