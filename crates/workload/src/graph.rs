//! The transfers and computations of a step, as an acyclic graph of dependencies.
//!
//! Collectives, Chakra traces and SimAI workloads all become such a graph. A transfer is over when
//! its receiver has all bytes, not when its sender learns of it.

use std::ops::Range;
use timeplane_model::{Bytes, Duration, HostId};
use timeplane_scenario::{Collective, CollectiveAlgorithm};

/// Maximum number of transfers and computations in a step; with dependencies they take some
/// gigabytes.
pub const MOST_NODES: usize = 20_000_000;
// Nodes and dependencies have 32-bit numbers.
const _: () = assert!(MOST_NODES < MOST_EDGES && MOST_EDGES < u32::MAX as usize);
/// Maximum number of dependencies in a step.
const MOST_EDGES: usize = 200_000_000;

/// The work of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Bytes go from one host to another; over when the receiver has all of them.
    Transfer {
        /// The sending host.
        source: HostId,
        /// The receiving host; never the source.
        destination: HostId,
        /// Application bytes; at least 1.
        bytes: Bytes,
    },
    /// A computation; its duration is never negative, and zero for a node that only waits for
    /// others.
    Compute(Duration),
}

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Transfer or computation of the node.
    pub work: Work,
    /// Number of the node's collective, from 0.
    pub collective: Option<u32>,
}

/// A collective of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveFacts {
    /// Operation of the collective.
    pub operation: Collective,
    /// Algorithm that carries it out.
    pub algorithm: CollectiveAlgorithm,
    /// Number of ranks that take part.
    pub ranks: u32,
    /// Size of the whole buffer, as in
    /// [`CollectiveSpec::bytes`](timeplane_scenario::CollectiveSpec::bytes).
    pub bytes: Bytes,
}

/// The work of one step. The graph is acyclic and not empty.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    after: Lists,
    next: Lists,
    /// Nodes in topological order.
    order: Vec<u32>,
    collectives: Vec<CollectiveFacts>,
}

impl Graph {
    /// All nodes, by number.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// Nodes that must be over before a node starts.
    pub fn after(&self, node: u32) -> &[u32] {
        self.after.of(node)
    }
    /// Nodes that wait for a node.
    pub fn next(&self, node: u32) -> &[u32] {
        self.next.of(node)
    }
    /// All nodes in topological order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }
    /// The collectives, by number.
    pub fn collectives(&self) -> &[CollectiveFacts] {
        &self.collectives
    }
    /// Number of transfers, and their total bytes. The sum fits: it was checked when the graph was
    /// made.
    pub fn transfers(&self) -> (u64, u64) {
        let bytes = self.nodes.iter().filter_map(|n| match n.work {
            Work::Transfer { bytes, .. } => Some(bytes.get()),
            Work::Compute(_) => None,
        });
        bytes.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes))
    }
}

/// A list of numbers for each node.
#[derive(Clone, Debug)]
struct Lists {
    begins: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Groups pairs by their first number and keeps their order.
    fn of_pairs(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut begins = vec![0u32; nodes + 1];
        pairs.clone().for_each(|(a, _)| begins[a as usize + 1] += 1);
        for i in 1..begins.len() {
            begins[i] += begins[i - 1];
        }
        let mut items = vec![0; begins[nodes] as usize];
        let mut free = begins.clone();
        for (a, b) in pairs {
            items[free[a as usize] as usize] = b;
            free[a as usize] += 1;
        }
        Self { begins, items }
    }

    fn range(&self, node: u32) -> Range<usize> {
        self.begins[node as usize] as usize..self.begins[node as usize + 1] as usize
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.items[self.range(node)]
    }
}

/// A reason why there is no graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GraphFault {
    /// There are more nodes than [`MOST_NODES`], or too many dependencies.
    TooLarge,
    /// The total number of bytes exceeds 64 bits.
    TooMuch,
    /// Nodes that wait in a cycle: each for the one before it, and the first for the last.
    Cycle(Vec<u32>),
}

impl GraphFault {
    /// Description of what is allowed.
    pub(crate) fn allowed(&self) -> String {
        match self {
            Self::TooLarge => format!("at most {MOST_NODES} transfers and computations in a step"),
            Self::TooMuch => "less than 18 EB in a step".to_owned(),
            Self::Cycle(_) => "no cycle".to_owned(),
        }
    }
}

/// A graph under construction.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    nodes: Vec<Node>,
    /// Pairs of a node and a node that waits for it.
    edges: Vec<(u32, u32)>,
    collectives: Vec<CollectiveFacts>,
    total: u64,
}

impl Builder {
    /// Adds a node.
    pub(crate) fn node(&mut self, work: Work, collective: Option<u32>) -> Result<u32, GraphFault> {
        if self.nodes.len() >= MOST_NODES {
            return Err(GraphFault::TooLarge);
        }
        if let Work::Transfer { bytes, .. } = work {
            self.total = self.total.checked_add(bytes.get()).ok_or(GraphFault::TooMuch)?;
        }
        self.nodes.push(Node { work, collective });
        Ok(self.nodes.len() as u32 - 1)
    }

    /// Adds a node that takes no time.
    pub(crate) fn join(&mut self, collective: Option<u32>) -> Result<u32, GraphFault> {
        self.node(Work::Compute(Duration::ZERO), collective)
    }

    /// Makes `later` wait until `first` is over.
    pub(crate) fn edge(&mut self, first: u32, later: u32) -> Result<(), GraphFault> {
        if self.edges.len() >= MOST_EDGES {
            return Err(GraphFault::TooLarge);
        }
        self.edges.push((first, later));
        Ok(())
    }

    /// Adds a collective.
    pub(crate) fn collective(&mut self, facts: CollectiveFacts) -> u32 {
        self.collectives.push(facts);
        self.collectives.len() as u32 - 1
    }

    /// Checks the graph and orders its nodes.
    pub(crate) fn finish(self) -> Result<Graph, GraphFault> {
        let Self { nodes, edges, collectives, .. } = self;
        let next = Lists::of_pairs(nodes.len(), edges.iter().copied());
        let after = Lists::of_pairs(nodes.len(), edges.iter().map(|&(a, b)| (b, a)));
        drop(edges);
        let mut waits: Vec<u32> = (0..nodes.len() as u32).map(|n| after.of(n).len() as u32).collect();
        let mut order: Vec<u32> = (0..nodes.len() as u32).filter(|&n| waits[n as usize] == 0).collect();
        let mut done = 0;
        while let Some(&node) = order.get(done) {
            done += 1;
            for &later in next.of(node) {
                waits[later as usize] -= 1;
                if waits[later as usize] == 0 {
                    order.push(later);
                }
            }
        }
        if order.len() < nodes.len() {
            return Err(GraphFault::Cycle(cycle(&after, &waits)));
        }
        Ok(Graph { nodes, after, next, order, collectives })
    }
}

/// Finds a cycle among nodes that still wait; each of them waits for another one of them.
fn cycle(after: &Lists, waits: &[u32]) -> Vec<u32> {
    let mut seen = vec![false; waits.len()];
    let mut way = Vec::new();
    let mut at = waits.iter().position(|&w| w > 0).expect("some wait") as u32;
    while !seen[at as usize] {
        seen[at as usize] = true;
        way.push(at);
        let before = after.of(at).iter().find(|&&b| waits[b as usize] > 0);
        at = *before.expect("it waits for one that waits");
    }
    let begin = way.iter().position(|&n| n == at).expect("it was seen");
    way.drain(..begin);
    // Each node waits for the next one; after the reversal, each comes before the next.
    way.reverse();
    way
}
