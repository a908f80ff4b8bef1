//! Eclipse: a greedy scheduler that maximizes the bytes carried in a window.
//!
//! The gain of each configuration is weighed against its open time and dark time.

use super::lines::Lines;
use super::plan::Builder;
use super::weight::Assignment;
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use timeplane_model::{Demand, Matching};

/// Eclipse: Shaileshh Bojja Venkatakrishnan et al., "Costly circuits, submodular schedules and
/// approximate Carathéodory theorems" (SIGMETRICS 2016).
///
/// The bytes that a schedule carries within a window are a submodular function of its
/// configurations, so these are chosen greedily. The next configuration is the matching and open
/// time with the most bytes per unit of time, dark time included. For an open time a, the best
/// matching has the highest weight, where a pair weighs what it can send in a. The best open time
/// is an entry of the remaining demand or the rest of the window. Without a packet switch, the
/// schedule carries at least half of what any schedule could. With one, it stops as soon as packets
/// can carry the rest.
///
/// The paper searches open times by bisection. The ratio can have several peaks, so all times are
/// considered here, but few are computed. Between two known times, the weight is at most that of
/// the later one, and it grows at most in proportion to the time. Times whose bound is not at least
/// 0.1 % better than the best known ratio are skipped.
#[derive(Clone, Debug, Default)]
pub struct Eclipse {
    assignment: Assignment,
    times: Vec<u64>,
    /// Intervals of `times` that are still to be searched.
    open: Vec<Interval>,
}

/// An interval between two known times, as indices, with the weights at both.
#[derive(Clone, Copy, Debug)]
struct Interval {
    first: usize,
    last: usize,
    weights: [u128; 2],
}

/// A time, its weight per unit of time, and its matching.
#[derive(Default)]
struct Best {
    time: u64,
    rate: f64,
    outputs: Vec<u32>,
}

impl Eclipse {
    /// Creates the scheduler with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The weight of the best matching for a time. Updates `best` if the matching is better.
    fn weigh(&mut self, left: &Lines, dark: u64, time: u64, best: &mut Best) -> u128 {
        let n = left.ports;
        let outputs = self.assignment.solve(n, left.time.iter().map(|&t| t.min(time)));
        let of = |(i, &j): (usize, &u32)| u128::from(left.at_pair(i, j as usize).min(time));
        let weight = outputs.iter().enumerate().map(of).sum::<u128>();
        let rate = weight as f64 / (dark + time) as f64;
        if rate > best.rate {
            best.rate = rate;
            best.time = time;
            best.outputs.clear();
            best.outputs.extend_from_slice(outputs);
        }
        weight
    }

    /// The best configuration of at least `least` and at most `room`.
    fn search(&mut self, left: &Lines, dark: u64, least: u64, room: u64) -> Best {
        self.times.clear();
        self.times.extend(left.time.iter().filter(|&&t| t > 0).map(|&t| t.clamp(least, room)));
        self.times.sort_unstable();
        self.times.dedup();
        let mut best = Best::default();
        let Some(last) = self.times.len().checked_sub(1) else { return best };
        let weights = [0, last].map(|k| self.weigh(left, dark, self.times[k], &mut best));
        self.open.clear();
        self.open.push(Interval { first: 0, last, weights });
        while let Some(Interval { first, last, weights }) = self.open.pop() {
            if last - first < 2 {
                continue;
            }
            let [low, high] = [first, last].map(|k| self.times[k] as f64);
            let [at_low, at_high] = weights.map(|w| w as f64);
            // The time at which growth in proportion to the time would reach the weight of the last
            // one.
            let turn = (low * (at_high / at_low)).clamp(low, high);
            if at_high / (dark as f64 + turn) <= best.rate * 1.001 {
                continue;
            }
            let middle = first + (last - first) / 2;
            let at_middle = self.weigh(left, dark, self.times[middle], &mut best);
            self.open.push(Interval { first, last: middle, weights: [weights[0], at_middle] });
            self.open.push(Interval { first: middle, last, weights: [at_middle, weights[1]] });
        }
        best
    }
}

impl CircuitScheduler for Eclipse {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let mut plan = Builder::new(parameters, lines, standing);
        let (dark, least) = (plan.dark(), plan.least());
        while !plan.rest_fits() {
            let Some(room) = plan.open_room() else { break };
            let best = self.search(&plan.left, dark, least, room);
            if plan.add_useful(&best.outputs, best.time).is_none() {
                break;
            }
        }
        Ok(plan.finish())
    }
}
