//! Sunflow: one uninterrupted circuit for each pair.
//!
//! It needs a switch of which only the moved ports go dark.

use super::cover_all::{in_order, keep_from_packets, packets_in, packets_until_bound};
use super::lines::{Lines, NONE};
use super::plan::matching;
use super::{CircuitAlgorithm, CircuitError, CircuitParameters, CircuitScheduler, Configuration, Retune};
use std::collections::BTreeSet;
use timeplane_model::{Demand, Duration, Matching, Named};

/// Sunflow: Xin Sunny Huang, Xiaoye Steven Sun and T. S. Eugene Ng, "Sunflow: efficient optical
/// circuit scheduling for coflows" (CoNEXT 2016).
///
/// Ports are reserved one circuit at a time. As soon as both ports of a pair are free, the pair
/// reserves them for a dark time and for all its demand, without interruption. Other circuits carry
/// on meanwhile, so only the moved ports may go dark. No port is idle longer than the other ports
/// of its pairs are busy. So the plan ends within twice the longest row or column sum, one dark
/// time per pair included, for any order of pairs. Here the longest demands come first; standing
/// circuits need no dark time and come before all others.
///
/// With a packet switch, the smallest demands are left to it, as [`CoverAll`](super::CoverAll)
/// does. A configuration lasts from one setup of circuits to the next, so a limit on configurations
/// limits the number of setups. Circuits stay up until one of their ports is needed. A pair whose
/// demand does not fit into the window gets what fits.
///
/// Takes O(sum over pairs of the pairs at both their ports).
#[derive(Clone, Debug, Default)]
pub struct Sunflow;

impl Sunflow {
    fn run(lines: &Lines, parameters: &CircuitParameters, standing: Option<&Matching>) -> Vec<Configuration> {
        let n = lines.ports;
        let mut ports = Ports::new(n, standing);
        let mut order = in_order(lines, u64::MAX);
        order.sort_by_key(|&(_, _, time)| std::cmp::Reverse(time));
        // Standing circuits first; the sort is stable.
        order.sort_by_key(|&(i, j, _)| ports.output[i] != j as u32);
        // Waiting pairs by port, as positions in the order; senders, then receivers.
        let mut waiting = vec![BTreeSet::new(); 2 * n];
        for (place, &(i, j, _)) in order.iter().enumerate() {
            waiting[i].insert(place);
            waiting[n + j].insert(place);
        }
        let window = parameters.window.as_ps() as u64;
        let dark = parameters.dark.as_ps() as u64;
        let least = (parameters.least_open.as_ps() as u64).max(1);
        // Times at which ports become free; at first all are.
        let mut releases: BTreeSet<(u64, usize)> = (0..2 * n).map(|port| (0, port)).collect();
        let mut starts: Vec<Start> = Vec::new();
        let mut candidates = BTreeSet::new();
        while let Some(&(now, _)) = releases.first() {
            candidates.clear();
            while let Some(&(time, port)) = releases.first().filter(|r| r.0 == now) {
                releases.remove(&(time, port));
                let free = |place: &usize| {
                    let (i, j, _) = order[*place];
                    ports.free[i].max(ports.free[n + j]) <= now
                };
                candidates.extend(waiting[port].iter().copied().filter(free));
            }
            if starts.len() as u64 >= u64::from(parameters.most) {
                break;
            }
            let mut changed = false;
            for &place in &candidates {
                let (i, j, time) = order[place];
                if ports.free[i] > now || ports.free[n + j] > now {
                    continue;
                }
                let up = ports.output[i] == j as u32;
                let setup = if up { 0 } else { dark };
                waiting[i].remove(&place);
                waiting[n + j].remove(&place);
                // The window ends too soon, and will not end later.
                let Some(room) = window.checked_sub(now + setup).filter(|&room| room >= least) else { continue };
                let end = now + setup + time.max(least).min(room);
                for port in [i, n + j] {
                    ports.free[port] = end;
                    releases.insert((end, port));
                }
                ports.join(i, j);
                changed = true;
                ports.up_from = ports.up_from.max(now + setup);
                ports.last_end = ports.last_end.max(end);
            }
            if changed {
                starts.push(Start { at: now, up_from: ports.up_from, output: ports.output.clone() });
            }
        }
        let ends: Vec<u64> = starts.iter().skip(1).map(|s| s.at).chain([ports.last_end]).collect();
        let configuration = |(start, end): (Start, u64)| {
            let dark = end.min(start.up_from).saturating_sub(start.at);
            Configuration {
                matching: matching(&start.output),
                dark: Duration::from_ps(dark as i64),
                open: Duration::from_ps((end - start.at - dark) as i64),
            }
        };
        starts.into_iter().zip(ends).map(configuration).collect()
    }
}

/// The circuits that were set up at one time.
struct Start {
    at: u64,
    /// When all these circuits are up.
    up_from: u64,
    output: Vec<u32>,
}

/// Partners and reservations of the ports.
struct Ports {
    output: Vec<u32>,
    input: Vec<u32>,
    /// When the reservation of each port ends; senders, then receivers.
    free: Vec<u64>,
    up_from: u64,
    last_end: u64,
}

impl Ports {
    fn new(n: usize, standing: Option<&Matching>) -> Self {
        let mut ports =
            Self { output: vec![NONE; n], input: vec![NONE; n], free: vec![0; 2 * n], up_from: 0, last_end: 0 };
        for (i, j) in standing.into_iter().flat_map(Matching::pairs) {
            ports.join(i.index(), j.index());
        }
        ports
    }

    /// Connects two ports and disconnects their previous partners.
    fn join(&mut self, i: usize, j: usize) {
        if self.output[i] != NONE {
            self.input[self.output[i] as usize] = NONE;
        }
        if self.input[j] != NONE {
            self.output[self.input[j] as usize] = NONE;
        }
        self.output[i] = j as u32;
        self.input[j] = i as u32;
    }
}

fn check(parameters: &CircuitParameters) -> Result<(), CircuitError> {
    match parameters.retune {
        Retune::AllStop => Err(CircuitError::AllStop { algorithm: CircuitAlgorithm::Sunflow.name() }),
        Retune::Moved => Ok(()),
    }
}

impl CircuitScheduler for Sunflow {
    fn plan(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let lines = Lines::of(demand, parameters, standing)?;
        check(parameters)?;
        let budget = packets_in(parameters.window, parameters);
        Ok(Self::run(&keep_from_packets(lines, budget, u64::MAX), parameters, standing))
    }

    fn finish(
        &mut self,
        demand: &Demand,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Result<Vec<Configuration>, CircuitError> {
        let endless = parameters.endless();
        let lines = Lines::of(demand, &endless, standing)?;
        check(parameters)?;
        let budget = packets_until_bound(&lines, parameters);
        Ok(Self::run(&keep_from_packets(lines, budget, u64::MAX), &endless, standing))
    }
}
