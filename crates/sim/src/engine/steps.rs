//! Flows that wait for others: the graph of a step while it runs.
//!
//! A receiver's last packet can be booked ahead, so a node may be told an end time in the
//! future. Each node therefore keeps the latest end of the nodes that it waits for. Steps do not
//! know the network.

use crate::engine::time::SimTime;
use std::collections::BTreeSet;
use timeplane_model::Duration;
use timeplane_results::{CollectiveRow, StepRow};
use timeplane_scenario::{Collective, CollectiveAlgorithm};
use timeplane_workload::{FlowArrival, Steps, Work};

/// A collective in a step.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Its nodes that have not ended.
    left: u32,
    /// Its transfers, and their bytes.
    flows: u32,
    bytes: u64,
    /// When its first transfer started.
    begin: Option<SimTime>,
    /// The latest end of its nodes.
    end: SimTime,
}

/// Steps in progress.
pub(crate) struct Release<'a> {
    steps: &'a Steps,
    /// The step, counted from 0; the number of steps once all have ended.
    step: u32,
    begin: SimTime,
    /// The latest end of the step's nodes.
    end: SimTime,
    /// Nodes of the step that have not ended.
    left: usize,
    /// By node, how many nodes it still waits for, and their latest end.
    waits: Vec<(u32, SimTime)>,
    /// The next transfers that start and computations that end.
    next: BTreeSet<(SimTime, u32)>,
    /// By flow, its node in its step.
    flows: Vec<u32>,
    /// The waits and the collectives of a step at its start.
    fresh: (Vec<(u32, SimTime)>, Vec<Group>),
    groups: Vec<Group>,
    /// Nodes that have ended but are not yet reported to the nodes that wait for them. A field only
    /// to reuse its memory.
    told: Vec<(u32, SimTime)>,
    rows: (Vec<StepRow>, Vec<CollectiveRow>),
}

impl<'a> Release<'a> {
    pub(crate) fn new(steps: &'a Steps) -> Self {
        let graph = steps.graph();
        let waits = |n: u32| (graph.after(n).len() as u32, SimTime::ZERO);
        let empty = Group { left: 0, flows: 0, bytes: 0, begin: None, end: SimTime::ZERO };
        let mut groups = vec![empty; graph.collectives().len()];
        for node in graph.nodes() {
            let Some(c) = node.collective else { continue };
            let group = &mut groups[c as usize];
            group.left += 1;
            if let Work::Transfer { bytes, .. } = node.work {
                group.flows += 1;
                group.bytes += bytes.get();
            }
        }
        let fresh = ((0..graph.nodes().len() as u32).map(waits).collect(), groups);
        let mut this = Self {
            steps,
            step: 0,
            begin: SimTime::ZERO,
            end: SimTime::ZERO,
            left: 0,
            waits: Vec::new(),
            next: BTreeSet::new(),
            flows: Vec::new(),
            fresh,
            groups: Vec::new(),
            told: Vec::new(),
            rows: (Vec::new(), Vec::new()),
        };
        this.start(SimTime::ZERO);
        this
    }

    fn start(&mut self, at: SimTime) {
        self.begin = at;
        self.end = at;
        self.waits.clone_from(&self.fresh.0);
        self.groups.clone_from(&self.fresh.1);
        self.left = self.waits.len();
        for node in 0..self.waits.len() as u32 {
            if self.waits[node as usize].0 == 0 {
                self.ready(node, at);
            }
        }
        self.tell();
    }

    /// A node waits for nothing more.
    fn ready(&mut self, node: u32, at: SimTime) {
        let one = self.steps.graph().nodes()[node as usize];
        match one.work {
            Work::Compute(Duration::ZERO) => self.told.push((node, at)),
            Work::Compute(time) => {
                self.next.insert((at + time, node));
            }
            Work::Transfer { .. } => {
                if let Some(c) = one.collective {
                    let begin = &mut self.groups[c as usize].begin;
                    *begin = Some(begin.map_or(at, |b| b.min(at)));
                }
                self.next.insert((at, node));
            }
        }
    }

    /// Tells the followers of nodes that have ended.
    fn tell(&mut self) {
        let steps = self.steps;
        let graph = steps.graph();
        while let Some((node, at)) = self.told.pop() {
            self.left -= 1;
            self.end = self.end.max(at);
            if let Some(c) = graph.nodes()[node as usize].collective {
                self.close(c, at);
            }
            for &later in graph.next(node) {
                let (waits, since) = &mut self.waits[later as usize];
                *waits -= 1;
                *since = (*since).max(at);
                if *waits == 0 {
                    let since = *since;
                    self.ready(later, since);
                }
            }
            if self.left == 0 {
                return self.over();
            }
        }
    }

    /// A node of a collective has ended.
    fn close(&mut self, collective: u32, at: SimTime) {
        let group = &mut self.groups[collective as usize];
        group.left -= 1;
        group.end = group.end.max(at);
        if group.left == 0 {
            let group = *group;
            let row = self.row(collective, &group, Some(group.end));
            self.rows.1.push(row);
        }
    }

    fn row(&self, collective: u32, group: &Group, end: Option<SimTime>) -> CollectiveRow {
        let facts = &self.steps.graph().collectives()[collective as usize];
        let begin = group.begin.unwrap_or(group.end);
        CollectiveRow {
            step: self.step,
            coflow: self.steps.coflow(self.step, collective).0,
            kind: operation(facts.operation),
            algorithm: algorithm(facts.algorithm),
            ranks: facts.ranks,
            size_bytes: facts.bytes.get(),
            flows: group.flows,
            sent_bytes: group.bytes,
            start_ps: begin.as_ps(),
            collective_ps: end.map(|e| (e - begin).as_ps()),
            ideal_ps: self.steps.collective_bound(collective).as_ps(),
        }
    }

    /// A step has ended.
    fn over(&mut self) {
        self.rows.0.push(self.step_row(Some(self.end)));
        self.step += 1;
        if self.step < self.steps.count() {
            self.start(self.end);
        }
    }

    fn step_row(&self, end: Option<SimTime>) -> StepRow {
        StepRow {
            step: self.step,
            start_ps: self.begin.as_ps(),
            step_ps: end.map(|e| (e - self.begin).as_ps()),
            ideal_ps: self.steps.bound().as_ps(),
        }
    }

    /// When the next transfer starts or computation ends.
    pub(crate) fn next(&self) -> Option<SimTime> {
        Some(self.next.first()?.0)
    }

    /// Takes the next event: a flow that starts, or no flow where a computation has ended.
    pub(crate) fn take(&mut self) -> Option<FlowArrival> {
        let (at, node) = self.next.pop_first()?;
        let one = self.steps.graph().nodes()[node as usize];
        let Work::Transfer { source, destination, bytes } = one.work else {
            self.told.push((node, at));
            self.tell();
            return None;
        };
        self.flows.push(node);
        let coflow = one.collective.map(|c| self.steps.coflow(self.step, c));
        Some(FlowArrival { at: at - SimTime::ZERO, source, destination, bytes, coflow })
    }

    /// Notes that the receiver of a flow has all its bytes at this time.
    pub(crate) fn received(&mut self, flow: u32, at: SimTime) {
        self.told.push((self.flows[flow as usize], at));
        self.tell();
    }

    /// Steps and collectives in the order in which they ended. Those that started and did not end
    /// come last, without a time.
    pub(crate) fn rows(mut self) -> (Vec<StepRow>, Vec<CollectiveRow>) {
        if self.step < self.steps.count() {
            let begun = |(_, g): &(u32, &Group)| g.left > 0 && g.begin.is_some();
            let unfinished = (0..).zip(&self.groups).filter(begun).map(|(c, group)| self.row(c, group, None));
            let unfinished: Vec<CollectiveRow> = unfinished.collect();
            self.rows.1.extend(unfinished);
            self.rows.0.push(self.step_row(None));
        }
        self.rows
    }
}

const fn operation(operation: Collective) -> &'static str {
    match operation {
        Collective::AllReduce => "all_reduce",
        Collective::AllGather => "all_gather",
        Collective::ReduceScatter => "reduce_scatter",
        Collective::AllToAll => "all_to_all",
        Collective::Broadcast => "broadcast",
    }
}

const fn algorithm(algorithm: CollectiveAlgorithm) -> &'static str {
    match algorithm {
        CollectiveAlgorithm::Ring => "ring",
        CollectiveAlgorithm::HalvingDoubling => "halving_doubling",
        CollectiveAlgorithm::Tree => "tree",
        CollectiveAlgorithm::Direct => "direct",
    }
}
