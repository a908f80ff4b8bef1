//! Solstice.

use super::augment::Augment;
use super::lines::Lines;
use super::plan::Builder;
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
/// All-stop by design; where only moved ports go dark, circuits that stay carry on. A slice shorter than the least open
/// time is stretched, and what then remains is stuffed anew. A slice of nothing but stuffing is not set up.
///
/// A matching is kept from one slice to the next: only pairs that have fallen below the threshold are matched anew, by paths over
/// bit sets. O(ports squared) per threshold, and O(ports squared / 64 + ports) per pair that is matched.
#[derive(Clone, Debug, Default)]
pub struct Solstice {
    stuffed: Stuffed,
    graph: Augment,
}

impl Solstice {
    /// Its name.
    pub const NAME: &str = "solstice";
    /// What it does.
    pub const ABOUT: &str =
        "long slices first, by matchings above a threshold that halves; stops where packets can carry the rest";

    /// With empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds the next slice, at or below a threshold, which is lowered; its length. `None` where nothing is left.
    fn slice(&mut self, ports: usize, threshold: &mut u64) -> Option<u64> {
        while !self.graph.perfect() {
            *threshold /= 2;
            if *threshold == 0 {
                return None;
            }
            self.set_rows(ports, *threshold);
        }
        let pairs = self.graph.outputs().iter().enumerate();
        pairs.map(|(i, &j)| self.stuffed.time[i * ports + j as usize]).min()
    }

    fn set_rows(&mut self, ports: usize, threshold: u64) {
        for i in 0..ports {
            self.graph.set_row(i, &self.stuffed.time[i * ports..][..ports], threshold);
        }
    }

    /// Takes a slice off the stuffed matrix.
    fn cut(&mut self, ports: usize, slice: u64, threshold: u64) {
        for i in 0..ports {
            let j = self.graph.outputs()[i] as usize;
            let entry = &mut self.stuffed.time[i * ports + j];
            *entry -= slice;
            if *entry < threshold {
                self.graph.forbid(i, j);
            }
        }
    }

    /// Stuffs what is left; the threshold to begin with.
    fn stuff(&mut self, left: &Lines) -> u64 {
        self.stuffed.stuff(left);
        let largest = self.stuffed.time.iter().copied().max().unwrap_or(0);
        let threshold = largest.checked_ilog2().map_or(0, |bits| 1 << bits);
        self.graph.reset(left.ports);
        if threshold > 0 {
            self.set_rows(left.ports, threshold);
        }
        threshold
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
        let n = lines.ports;
        let mut plan = Builder::new(parameters, lines, standing);
        let mut threshold = self.stuff(&plan.left);
        while threshold > 0 && !plan.rest_fits() {
            let Some(slice) = self.slice(n, &mut threshold) else { break };
            let useful = |(i, &j): (usize, &u32)| plan.left.at_pair(i, j as usize) > 0;
            if !self.graph.outputs().iter().enumerate().any(useful) {
                self.cut(n, slice, threshold);
                continue;
            }
            let Some(open) = plan.add_useful(self.graph.outputs(), slice) else { break };
            if open > slice {
                threshold = self.stuff(&plan.left).min(threshold);
                self.set_rows(n, threshold.max(1));
            } else {
                self.cut(n, open, threshold);
            }
        }
        Ok(plan.finish())
    }
}
