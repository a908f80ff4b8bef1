//! Traffic matrix scheduling, Mordia's scheduler.
//!
//! It scales the demand to a doubly stochastic matrix and cuts that into permutations.

use super::lines::Lines;
use super::plan::Builder;
use super::slices::{Slices, Worth};
use super::stuff::Stuffed;
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration};
use crate::rates::{Hosts, Offered, scale_both};
use timeplane_model::{Demand, Matching};

/// Traffic matrix scheduling: George Porter et al., "Integrating microsecond circuit switching into
/// the data center" (SIGCOMM 2013), the paper on Mordia.
///
/// The demand is scaled until all line sums are 1 (Sinkhorn and Knopp). It is then cut into
/// weighted permutations, long ones first (Birkhoff and von Neumann). The permutations with the
/// largest weights share a frame in proportion to their weights. Their number maximizes the open
/// time of the frame times the sum of their weights. A frame lasts as long as the busiest line's
/// demand plus the dark times; the remaining demand gets further frames.
///
/// Scaling requires a positive entry wherever a line needs one: pairs without demand count as
/// 1/1000 of the mean. If demand is skewed, the scaled matrix resembles it little. This is the
/// weakness of the algorithm that Solstice avoids.
#[derive(Clone, Debug, Default)]
pub struct Tms {
    stuffed: Stuffed,
    slices: Slices,
}

/// A row or column sum of 1, in integer units.
const ONE: f64 = (1u64 << 40) as f64;
/// Relative difference of line sums at which scaling ends.
const TOLERANCE: f64 = 1e-3;
/// Maximum rounds of scaling: a skewed matrix would take very many, and the difference is stuffed.
const ROUNDS: u32 = 200;

/// A permutation and its weight, in parts of [`ONE`].
struct Term {
    outputs: Vec<u32>,
    weight: u64,
}

impl Tms {
    /// Creates the scheduler with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Scales and decomposes a demand. Returns terms by decreasing weight, which add up to [`ONE`]
    /// or a little more.
    fn decompose(&mut self, left: &Lines) -> Vec<Term> {
        let n = left.ports;
        let total: f64 = left.time.iter().map(|&t| t as f64).sum();
        let fill = total / (n * n) as f64 / 1000.0;
        let mut offered = Vec::with_capacity(n * n);
        for i in 0..n as u32 {
            for j in (0..n as u32).filter(|&j| j != i) {
                let rate = (left.at_pair(i as usize, j as usize) as f64).max(fill);
                offered.push(Offered { source: i, destination: j, rate });
            }
        }
        let scaled = scale_both(&Hosts::equal(n), &offered, TOLERANCE, ROUNDS);
        let mut even = Lines { ports: n, time: vec![0; n * n], rows: vec![0; n], columns: vec![0; n] };
        for (o, rate) in offered.iter().zip(scaled.rates) {
            let (i, j) = (o.source as usize, o.destination as usize);
            let time = (rate * ONE) as u64;
            even.time[i * n + j] = time;
            even.rows[i] += time;
            even.columns[j] += time;
        }
        self.stuffed.stuff(&even);
        self.slices.begin(n, &self.stuffed.time);
        let mut terms = Vec::new();
        while let Some(weight) = self.slices.next(Worth::Longest { above: 0 }) {
            terms.push(Term { outputs: self.slices.outputs().to_vec(), weight });
            self.slices.cut(weight);
        }
        terms.sort_by_key(|t| std::cmp::Reverse(t.weight));
        terms
    }
}

/// The number of terms to use and the sum of their weights, which maximize the weight times the
/// open time of a frame.
fn choose(terms: &[Term], demand: u64, dark: u64, room: u64) -> (usize, u64) {
    let (mut best, mut chosen, mut sum) = (0, (0, 0), 0);
    for (k, term) in (1u64..).zip(terms) {
        sum += term.weight;
        let darks = dark.saturating_mul(k);
        let open = room.saturating_sub(darks).min(demand);
        // Divided by the length of the frame: a longer frame has no value in itself.
        let worth = u128::from(sum) * u128::from(open) / u128::from((open + darks).max(1));
        if worth > best {
            (best, chosen) = (worth, (k as usize, sum));
        }
    }
    chosen
}

impl CircuitScheduler for Tms {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let mut plan = Builder::new(parameters, lines, standing);
        let mut all = false;
        'frames: while !plan.rest_fits() && plan.open_room().is_some() {
            let (busiest, room) = (plan.left.longest(), plan.room());
            let terms = self.decompose(&plan.left);
            let (mut k, mut sum) = choose(&terms, busiest, plan.dark(), room);
            if all {
                (k, sum) = (terms.len(), terms.iter().map(|t| t.weight).sum());
            }
            let open = room.saturating_sub(plan.dark().saturating_mul(k as u64)).min(busiest);
            if k == 0 || open == 0 {
                break;
            }
            let mut added = false;
            for term in &terms[..k] {
                let time = u128::from(open) * u128::from(term.weight) / u128::from(sum);
                added |= plan.add_useful(&term.outputs, time as u64).is_some();
                if plan.rest_fits() {
                    break 'frames;
                }
            }
            // The largest terms may cover none of the remaining demand; all terms together cover
            // every pair.
            if !added && all {
                break;
            }
            all = !added;
        }
        Ok(plan.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::mix64;

    #[test]
    fn the_terms_add_up_to_a_matrix_with_equal_line_sums() {
        let mut tms = Tms::new();
        for case in 0..200u64 {
            let n = 2 + (case % 9) as usize;
            let mut lines = Lines { ports: n, time: vec![0; n * n], rows: vec![0; n], columns: vec![0; n] };
            for e in (0..n * n).filter(|e| e / n != e % n) {
                let random = mix64(case << 16 ^ e as u64 ^ 1 << 50);
                let time = if random % 10 < case % 11 { random >> 40 } else { 0 };
                lines.time[e] = time;
                lines.rows[e / n] += time;
                lines.columns[e % n] += time;
            }
            if lines.longest() == 0 {
                continue;
            }
            let terms = tms.decompose(&lines);
            // Each term removes at least one entry, and the last one all that are left. This is
            // Birkhoff's bound, diagonal included.
            assert!(terms.len() <= (n - 1) * (n - 1) + 1, "{} terms for {n} hosts", terms.len());
            let mut sum = vec![0; n * n];
            for term in &terms {
                for (i, &j) in term.outputs.iter().enumerate() {
                    sum[i * n + j as usize] += term.weight;
                }
            }
            assert_eq!(sum, tms.stuffed.time);
            let all: u64 = terms.iter().map(|t| t.weight).sum();
            for line in 0..n {
                assert_eq!((0..n).map(|x| sum[line * n + x]).sum::<u64>(), all);
                assert_eq!((0..n).map(|x| sum[x * n + line]).sum::<u64>(), all);
            }
            assert!((0.999..1.001).contains(&(all as f64 / ONE)), "{all}");
            // Scaling preserves D_ij D_kl / (D_il D_kj); with n = 4 all these pairs are off the
            // diagonal.
            if n == 4 && case % 11 == 10 && lines.pairs().count() == 12 {
                let at = |t: &[u64], i: usize, j: usize| t[i * n + j] as f64;
                let ratio = |t: &[u64]| at(t, 0, 2) * at(t, 1, 3) / (at(t, 0, 3) * at(t, 1, 2));
                let (before, after) = (ratio(&lines.time), ratio(&sum));
                assert!((after / before - 1.0).abs() < 0.02, "{before} became {after}");
            }
        }
    }
}
