//! Solstice.

use super::lines::Lines;
use super::plan::Builder;
use super::slices::Slices;
use super::stuff::Stuffed;
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Matching};

/// Solstice: He Liu et al., "Scheduling techniques for hybrid circuit/packet networks" (CoNEXT 2015).
///
/// Demand is stuffed until every line has the same sum. Then long slices are cut off first: a perfect matching of entries of
/// at least a threshold is open for as long as its smallest entry, and the threshold, a power of two of picoseconds, is halved
/// where there is none. It stops as soon as the packet switch can have carried the rest by the time the circuits
/// are done, so that few configurations suffice where demand is skewed.
///
/// The paper takes any matching above the threshold. Here it is one whose smallest entry is about as large as it can be, found by
/// bisection. Where large flows coincide, any one may be half as long as it could be, and cuts the other entries into
/// pieces. [`as_published`](Self::as_published) leaves that out.
///
/// All-stop by design; where only moved ports go dark, circuits that stay carry on. A slice shorter than the least open
/// time is stretched, and what then remains is stuffed anew. A slice of nothing but stuffing is not set up.
///
/// O(ports squared) per threshold and step of a bisection, of which a slice has about six, and O(ports squared / 64 + ports) per pair
/// that is matched.
#[derive(Clone, Debug)]
pub struct Solstice {
    /// Whether slices are to be as long as they can be.
    longest: bool,
    stuffed: Stuffed,
    slices: Slices,
}

impl Solstice {
    /// Its name.
    pub const NAME: &str = "solstice";
    /// What it does.
    pub const ABOUT: &str =
        "long slices first, by matchings above a threshold that halves; stops where packets can carry the rest";

    /// With empty buffers.
    pub fn new() -> Self {
        Self { longest: true, stuffed: Stuffed::default(), slices: Slices::default() }
    }

    /// With any matching above a threshold, as the paper has it.
    pub fn as_published() -> Self {
        Self { longest: false, ..Self::new() }
    }
}

impl Default for Solstice {
    fn default() -> Self {
        Self::new()
    }
}

impl CircuitScheduler for Solstice {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let mut plan = Builder::new(parameters, lines, standing);
        self.stuffed.stuff(&plan.left);
        self.slices.begin(plan.left.ports, &self.stuffed.time);
        // Slices that are stretched anyway need not be long.
        let worth = if self.longest { plan.least() } else { u64::MAX };
        while !plan.rest_fits() {
            let Some(slice) = self.slices.next(worth) else { break };
            let useful = |(i, &j): (usize, &u32)| plan.left.at_pair(i, j as usize) > 0;
            if !self.slices.outputs().iter().enumerate().any(useful) {
                self.slices.cut(slice);
                continue;
            }
            let Some(open) = plan.add_useful(self.slices.outputs(), slice) else { break };
            if open > slice {
                self.stuffed.stuff(&plan.left);
                self.slices.go_on(&self.stuffed.time);
            } else {
                self.slices.cut(open);
            }
        }
        Ok(plan.finish())
    }
}
