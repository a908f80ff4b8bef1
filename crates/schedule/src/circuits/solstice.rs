//! Solstice.

use super::augment::Augment;
use super::lines::Lines;
use super::plan::Builder;
use super::stuff::Stuffed;
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Matching};

/// A slice may be shorter than the longest one by a 32nd: it takes a third of the time to find, and is no worse.
const NEAR: u64 = 32;

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
/// A matching is kept from one slice to the next: only pairs that have fallen below the threshold are matched anew, by paths over
/// bit sets. O(ports squared) per threshold and step of a bisection, of which a slice has about six, and O(ports squared / 64 + ports) per pair that is matched.
#[derive(Clone, Debug)]
pub struct Solstice {
    /// Whether slices are to be as long as they can be.
    longest: bool,
    stuffed: Stuffed,
    graph: Augment,
    /// The best matching so far; its edges are of no use.
    best: Augment,
    /// By column, its largest entry.
    columns: Vec<u64>,
}

impl Solstice {
    /// Its name.
    pub const NAME: &str = "solstice";
    /// What it does.
    pub const ABOUT: &str =
        "long slices first, by matchings above a threshold that halves; stops where packets can carry the rest";

    /// With empty buffers.
    pub fn new() -> Self {
        Self {
            longest: true,
            stuffed: Stuffed::default(),
            graph: Augment::default(),
            best: Augment::default(),
            columns: Vec::new(),
        }
    }

    /// With any matching above a threshold, as the paper has it.
    pub fn as_published() -> Self {
        Self { longest: false, ..Self::new() }
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
        let mut slice = self.smallest(ports);
        if self.longest {
            // No slice is longer than the shortest of the lines' largest entries.
            let mut longest = self.most(ports);
            while longest - slice > slice / NEAR {
                let middle = slice + (longest - slice).div_ceil(2);
                self.best.copy_matching(&self.graph);
                self.raise(ports, middle);
                if self.graph.perfect() {
                    slice = self.smallest(ports);
                } else {
                    self.graph.copy_matching(&self.best);
                    longest = middle - 1;
                }
            }
            self.set_rows(ports, *threshold);
        }
        Some(slice)
    }

    /// The smallest entry of a perfect matching.
    fn smallest(&self, ports: usize) -> u64 {
        let pairs = self.graph.outputs().iter().enumerate();
        pairs.map(|(i, &j)| self.stuffed.time[i * ports + j as usize]).min().unwrap_or(0)
    }

    /// The smallest of all lines' largest entries.
    fn most(&mut self, ports: usize) -> u64 {
        self.columns.clear();
        self.columns.resize(ports, 0);
        let mut least = u64::MAX;
        for row in self.stuffed.time.chunks_exact(ports) {
            let mut largest = 0;
            for (&entry, column) in row.iter().zip(&mut self.columns) {
                largest = largest.max(entry);
                *column = entry.max(*column);
            }
            least = least.min(largest);
        }
        self.columns.iter().copied().fold(least, u64::min)
    }

    /// Removes all edges below a threshold.
    fn raise(&mut self, ports: usize, threshold: u64) {
        for i in 0..ports {
            let row = &self.stuffed.time[i * ports..][..ports];
            let j = self.graph.outputs()[i] as usize;
            if row[j] < threshold {
                self.graph.forbid(i, j);
            }
            self.graph.set_row(i, row, threshold);
        }
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
        self.best.reset(left.ports);
        if threshold > 0 {
            self.set_rows(left.ports, threshold);
        }
        threshold
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
                if threshold > 0 {
                    self.set_rows(n, threshold);
                }
            } else {
                self.cut(n, open, threshold);
            }
        }
        Ok(plan.finish())
    }
}
