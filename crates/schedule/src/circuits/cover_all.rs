//! Cover-all: a circuit for every demand that the packet switch cannot carry; cover-most: for those
//! that gain by it.
//!
//! Also selects the demands that other schedulers leave to the packet switch.

use super::gain::Gain;
use super::lines::{Lines, NONE};
use super::plan::{Builder, by_packets};
use super::{CircuitError, CircuitParameters, CircuitScheduler, Configuration, Uptime};
use crate::coloring::Paull;
use std::collections::BTreeSet;
use timeplane_model::{Demand, Duration, Matching};

/// Gives every demand that the packet switch cannot carry a circuit, in as few configurations as
/// possible.
///
/// This is the scheduler that figures 10 and 11 of the REACToR paper imply (He Liu et al., "Circuit
/// switching under the radar with REACToR", NSDI 2014, section 5.4): "the switch schedules each
/// small flow a circuit to carry its traffic". A circuit is up for at least the least open time,
/// whether it needs that long or not.
///
/// 1. Demands are left to the packet switch, smallest first, as long as both ports can carry them
///    within the window. A demand is never split between the two switches.
/// 2. The other demands are colored edge by edge, largest first, with as many colors as a port has
///    circuits (Paull). Each color is a configuration. Equal demands from host i to host i + k are
///    ordered by k, so that regular demand gets regular matchings.
/// 3. A configuration is open for its largest demand; the longest comes first. If the window is too
///    short, the longest ones are cut to one common length, and their rest waits for the next
///    window.
/// 4. If not even all configurations of the least open time fit, or if there are more than allowed,
///    those with the least demand are left out.
///
/// Takes O(demands x (log demands + ports)).
///
/// [`CoverAll::most`] leaves out more configurations, again those with the least demand, where
/// circuits and packets then carry more within the window. Each configuration costs a dark time and
/// an open time that may be longer than its demand. Without it, the packet switch shares its
/// capacity among more demands, and the rest waits for the next window. This takes
/// O(configurations^2 x log ports) on top.
///
/// With [hysteresis](Self::with_hysteresis), a pair that had a circuit in the last plan returns to
/// the packet switch only if a multiple of its demand fits there.
#[derive(Clone, Debug)]
pub struct CoverAll {
    /// Leaves out configurations where that carries more.
    gains: bool,
    /// How often the demand of a pair counts that had a circuit in the last plan; at least 1.
    hysteresis: f64,
    /// Pairs with a circuit in the last plan.
    had: BTreeSet<(usize, usize)>,
}

impl CoverAll {
    /// Covers every demand that the packet switch cannot carry.
    pub fn new() -> Self {
        Self { gains: false, hysteresis: 1.0, had: BTreeSet::new() }
    }

    /// Covers the demands for which circuits and packets carry the most in the window.
    pub fn most() -> Self {
        Self { gains: true, ..Self::new() }
    }

    /// Lets the demand of a pair that had a circuit count `factor` times when demands are left to
    /// the packet switch. Factors below 1 count as 1.
    pub fn with_hysteresis(self, factor: f64) -> Self {
        Self { hysteresis: factor.max(1.0), ..self }
    }

    fn run(
        &self,
        lines: Lines,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
        by_packets: u64,
    ) -> Vec<Configuration> {
        let all = self.gains.then(|| (lines.rows.clone(), lines.columns.clone()));
        let counted = |i, j, time| {
            if self.had.contains(&(i, j)) { (time as f64 * self.hysteresis) as u64 } else { time }
        };
        let circuits = keep(lines, by_packets, u64::MAX, counted);
        let mut groups = groups(&circuits);
        let mut plan = Builder::new(parameters, circuits, standing);
        let least = plan.least();
        for group in &mut groups {
            group.open = group.open.max(least);
        }
        groups.sort_by_key(|g| std::cmp::Reverse(g.open));
        // The standing matching needs no dark time: a plan of one such configuration repeats
        // forever at no cost.
        let stays = groups.first().is_some_and(|g| standing.is_some_and(|s| g.is_part_of(s)));
        let mut saved = if stays { plan.dark() } else { 0 };
        let fit = (plan.room() + saved) / (plan.dark() + least);
        let fit = usize::try_from(fit.min(u64::from(parameters.most))).unwrap_or(usize::MAX);
        if groups.len() > fit || self.gains {
            let mut by_total: Vec<usize> = (0..groups.len()).collect();
            by_total.sort_by_key(|&g| std::cmp::Reverse(groups[g].total));
            by_total.truncate(fit);
            if let Some((rows, columns)) = &all {
                let gain = Gain::new([rows, columns], &plan.left, by_packets);
                by_total.truncate(gain.best(&groups, &by_total, &plan, saved));
                saved = if by_total.contains(&0) { saved } else { 0 };
            }
            by_total.sort_unstable();
            groups = by_total.into_iter().map(|g| std::mem::take(&mut groups[g])).collect();
        }
        let mut room = plan.room() + saved - plan.dark() * groups.len() as u64;
        // Shortest first: each gets its demand or an even share of the remaining window.
        for at in (0..groups.len()).rev() {
            let share = room / (at as u64 + 1);
            groups[at].open = groups[at].open.min(share);
            room -= groups[at].open;
        }
        for group in groups {
            plan.add_useful(&group.outputs, group.open);
        }
        plan.finish()
    }
}

/// A configuration under construction.
#[derive(Clone, Default)]
pub(super) struct Group {
    pub(super) outputs: Vec<u32>,
    /// Largest demand of its pairs, then its open time.
    pub(super) open: u64,
    /// Sum of the demands of its pairs.
    pub(super) total: u64,
}

impl Group {
    fn is_part_of(&self, standing: &Matching) -> bool {
        let up = standing.outputs().iter().map(|o| o.map_or(NONE, |o| o.0));
        self.outputs.iter().zip(up).all(|(&j, up)| j == NONE || j == up)
    }
}

/// Removes the demands that are left to the packet switch: the smallest ones, up to `longest` each,
/// as long as both ports have a `budget` for them.
pub(super) fn keep_from_packets(lines: Lines, budget: u64, longest: u64) -> Lines {
    keep(lines, budget, longest, |_, _, time| time)
}

/// Like [`keep_from_packets`], with demands as large as `counted`, which is at least their time.
fn keep(mut lines: Lines, budget: u64, longest: u64, counted: impl Fn(usize, usize, u64) -> u64) -> Lines {
    if budget == 0 {
        return lines;
    }
    let (mut rows, mut columns) = (vec![budget; lines.ports], vec![budget; lines.ports]);
    let mut pairs = in_order(&lines, longest.min(budget));
    // The sort is stable: equal ones stay ordered by distance.
    pairs.sort_by_key(|&(i, j, time)| counted(i, j, time));
    for (i, j, time) in pairs {
        if counted(i, j, time) <= rows[i].min(columns[j]) {
            rows[i] -= time;
            columns[j] -= time;
            lines.take(i, j, time);
        }
    }
    lines
}

/// Pairs with a time of at most `longest`, shortest first; ties are ordered by distance, then by
/// source.
pub(super) fn in_order(lines: &Lines, longest: u64) -> Vec<(usize, usize, u64)> {
    let n = lines.ports;
    let mut pairs: Vec<_> = lines.pairs().filter(|&(_, _, time)| time <= longest).collect();
    pairs.sort_unstable_by_key(|&(i, j, time)| (time, (j + n - i) % n, i));
    pairs
}

/// Colors all pairs, the longest first.
fn groups(lines: &Lines) -> Vec<Group> {
    let n = lines.ports;
    let mut degrees = vec![0usize; 2 * n];
    for (i, j, _) in lines.pairs() {
        degrees[i] += 1;
        degrees[n + j] += 1;
    }
    let colors = degrees.into_iter().max().unwrap_or(0);
    let mut coloring = Paull::new(n, n, colors);
    let mut pairs = in_order(lines, u64::MAX);
    // The sort is stable: equal demands stay ordered by distance.
    pairs.sort_by_key(|&(_, _, time)| std::cmp::Reverse(time));
    let edges: Vec<_> = pairs.iter().map(|&(i, j, _)| coloring.insert(i, j).map(|inserted| inserted.edge)).collect();
    let mut groups = vec![Group { outputs: vec![NONE; n], open: 0, total: 0 }; colors];
    for (&(i, j, time), edge) in pairs.iter().zip(edges) {
        let color = edge.and_then(|e| coloring.color(e)).expect("as many colors as the largest degree are enough");
        let group = &mut groups[usize::from(color)];
        group.outputs[i] = j as u32;
        group.open = group.open.max(time);
        group.total += time;
    }
    groups
}

/// What a port sends through the packet switch until even the best schedule could end, as line time
/// of a circuit.
pub(super) fn packets_until_bound(lines: &Lines, parameters: &CircuitParameters) -> u64 {
    let (packet, circuit) = (u128::from(parameters.packet.as_bps()), u128::from(parameters.circuit.as_bps()));
    let share = u128::from(lines.longest()) * packet / (packet + circuit);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// What a port sends through the packet switch in the window, as line time of a circuit.
pub(super) fn packets_in(window: Duration, parameters: &CircuitParameters) -> u64 {
    by_packets(parameters, window.as_ps() as u64)
}

impl Default for CoverAll {
    fn default() -> Self {
        Self::new()
    }
}

impl CircuitScheduler for CoverAll {
    fn remember(&mut self, circuits: &[Uptime]) {
        self.had.clear();
        if self.hysteresis > 1.0 {
            self.had.extend(circuits.iter().map(|up| (up.source.index(), up.destination.index())));
        }
    }

    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        let budget = packets_in(parameters.window, parameters);
        Ok(self.run(lines, parameters, standing, budget))
    }

    fn finish(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let endless = parameters.endless();
        let lines = Lines::of(demand, &endless, standing)?;
        let budget = packets_until_bound(&lines, parameters);
        // Whatever waits has to be carried in the end.
        Ok(Self::new().run(lines, &endless, standing, budget))
    }
}
