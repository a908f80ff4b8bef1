//! Sunflow: one uninterrupted circuit for each demand of a coflow, and short coflows first.
//!
//! It needs a switch of which only the moved ports go dark.

use super::cover_all::{keep_from_packets, packets_in, packets_until_bound};
use super::lines::{Lines, NONE};
use super::plan::matching;
use super::timetable::{Reservation, Timetable};
use super::{CircuitAlgorithm, CircuitError, CircuitParameters, CircuitScheduler, Configuration, Retune};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use timeplane_model::{CoflowId, Demand, Duration, Matching, Named};

/// Sunflow: Xin Sunny Huang, Xiaoye Steven Sun and T. S. Eugene Ng, "Sunflow: efficient optical
/// circuit scheduling for coflows" (CoNEXT 2016).
///
/// **Within a coflow.** Ports are reserved one circuit at a time. As soon as both ports of a pair
/// are free, the pair reserves them for a dark time and for all its demand, without interruption.
/// Other circuits carry on meanwhile, so only the moved ports may go dark. No port is idle longer
/// than the other ports of its pairs are busy. So the first coflow ends within twice its longest
/// row or column sum, one dark time per pair included, for any order of pairs.
///
/// **Between coflows.** Coflows are served in the order of their bounds: the longest row or column
/// sum of what is left of them, without dark times. Each coflow reserves only what earlier ones
/// have left, so none delays an earlier one. A circuit ends before the next reservation of its
/// ports; what is left of its demand gets another circuit.
///
/// [Coflows](timeplane_model::Backlog::coflows) are those that hosts report. All demand that
/// belongs to none counts as one coflow.
///
/// The paper allows any order of the pairs of a coflow. Here the longest demands come first. What
/// differs from the paper:
///
/// - The plan is made once a window, not whenever a coflow arrives or ends.
/// - Circuits that are up need no dark time. Those that are up at the start come first in their
///   coflow, and stay up until one of their ports is needed.
/// - With a packet switch, the smallest demands are left to it, as [`CoverAll`](super::CoverAll)
///   does.
/// - A circuit is up for at least the least open time. A pair whose demand does not fit into the
///   window gets what fits. A configuration lasts from one setup of circuits to the next, so a
///   limit on configurations limits the number of setups.
///
/// Takes O(sum over coflows and their pairs of the circuits at both ports, times a logarithm).
#[derive(Clone, Debug, Default)]
pub struct Sunflow;

/// The demand of a coflow: sender, receiver, line time.
#[derive(Debug, Default)]
struct Coflow {
    pairs: Vec<(usize, usize, u64)>,
}

impl Coflow {
    /// The longest row or column sum.
    fn bound(&self, ports: usize) -> u64 {
        let mut sums = vec![0u64; 2 * ports];
        for &(i, j, time) in &self.pairs {
            sums[i] += time;
            sums[ports + j] += time;
        }
        sums.into_iter().max().unwrap_or(0)
    }
}

/// Splits demand into coflows, the one with the least bound first.
fn coflows(demand: &Demand, kept: &Lines, parameters: &CircuitParameters) -> Vec<Coflow> {
    let n = kept.ports;
    let mut left = kept.time.clone();
    // The rest belongs to no coflow, and has the last key.
    let mut all: BTreeMap<(bool, CoflowId), Coflow> = BTreeMap::new();
    for (i, row) in demand.rows().iter().enumerate() {
        for part in row.coflows() {
            let j = part.destination.index();
            let left = &mut left[i * n + j];
            let time = (parameters.circuit.time_for(part.bytes).as_ps() as u64).min(*left);
            if time > 0 {
                *left -= time;
                all.entry((false, part.coflow)).or_default().pairs.push((i, j, time));
            }
        }
    }
    for (at, &time) in left.iter().enumerate().filter(|(_, time)| **time > 0) {
        all.entry((true, CoflowId(0))).or_default().pairs.push((at / n, at % n, time));
    }
    let mut all: Vec<Coflow> = all.into_values().collect();
    all.sort_by_cached_key(|coflow| coflow.bound(n));
    all
}

impl Sunflow {
    fn run(
        demand: &Demand,
        kept: &Lines,
        parameters: &CircuitParameters,
        standing: Option<&Matching>,
    ) -> Vec<Configuration> {
        let mut table = Timetable::new(kept.ports, parameters, standing);
        for coflow in coflows(demand, kept, parameters) {
            Self::reserve(&mut table, coflow.pairs);
        }
        configurations(kept.ports, parameters, standing, &table)
    }

    /// Reserves circuits for the pairs of a coflow, around the reservations that are there.
    fn reserve(table: &mut Timetable, mut order: Vec<(usize, usize, u64)>) {
        let n = table.ports();
        // Circuits that are up at the start come first, then the longest demands. Equal ones are
        // ordered by distance, so that regular demand gets regular matchings.
        order.sort_unstable_by_key(|&(i, j, time)| (!table.stands(i, j), Reverse(time), (j + n - i) % n, i));
        // Waiting pairs by port, as positions in the order; senders, then receivers.
        let mut waiting: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (place, &(i, j, _)) in order.iter().enumerate() {
            waiting.entry(i).or_default().insert(place);
            waiting.entry(n + j).or_default().insert(place);
        }
        // Times at which ports become free. A pair can start only when one of its ports does.
        let mut releases: BTreeSet<(u64, usize)> = BTreeSet::new();
        for &port in waiting.keys() {
            releases.insert((0, port));
            releases.extend(table.ends(port).map(|end| (end, port)));
        }
        let mut candidates = BTreeSet::new();
        while let Some(&(now, _)) = releases.first() {
            candidates.clear();
            while let Some(&(time, port)) = releases.first().filter(|r| r.0 == now) {
                releases.remove(&(time, port));
                candidates.extend(waiting[&port].iter().copied());
            }
            for &place in &candidates {
                let (i, j, time) = order[place];
                let Some(reserved) = table.reserve(now, i, j, time) else { continue };
                order[place].2 = time.saturating_sub(reserved.open());
                if order[place].2 == 0 {
                    for port in [i, n + j] {
                        waiting.get_mut(&port).expect("a port of a pair").remove(&place);
                    }
                }
                releases.extend([(reserved.end, i), (reserved.end, n + j)]);
            }
        }
    }
}

/// The configurations between the setups of a timetable.
fn configurations(
    n: usize,
    parameters: &CircuitParameters,
    standing: Option<&Matching>,
    table: &Timetable,
) -> Vec<Configuration> {
    let mut setups: Vec<&Reservation> = table.reservations().iter().collect();
    // A stable sort: what is reserved first is set up first.
    setups.sort_by_key(|r| r.start);
    let mut ports = Ports::new(n, standing);
    let mut starts: Vec<Start> = Vec::new();
    let mut up_from = 0;
    let dark = parameters.dark.as_ps() as u64;
    for at_once in setups.chunk_by(|a, b| a.start == b.start) {
        let at = at_once[0].start;
        let mut changed = at == 0;
        for r in at_once {
            if ports.output[r.source] != r.destination as u32 {
                ports.join(r.source, r.destination);
                up_from = up_from.max(at + dark);
                changed = true;
            }
        }
        if changed {
            starts.push(Start { at, up_from, output: ports.output.clone() });
        }
    }
    let last_end = table.reservations().iter().map(|r| r.end).max().unwrap_or(0);
    let ends: Vec<u64> = starts.iter().skip(1).map(|s| s.at).chain([last_end]).collect();
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

/// The circuits that were set up at one time.
struct Start {
    at: u64,
    /// When all these circuits are up.
    up_from: u64,
    output: Vec<u32>,
}

/// Partners of the ports.
struct Ports {
    output: Vec<u32>,
    input: Vec<u32>,
}

impl Ports {
    fn new(n: usize, standing: Option<&Matching>) -> Self {
        let mut ports = Self { output: vec![NONE; n], input: vec![NONE; n] };
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
        Ok(Self::run(demand, &keep_from_packets(lines, budget, u64::MAX), parameters, standing))
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
        Ok(Self::run(demand, &keep_from_packets(lines, budget, u64::MAX), &endless, standing))
    }
}
