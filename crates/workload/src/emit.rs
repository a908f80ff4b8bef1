//! Insertion of collectives into a graph of transfers.
//!
//! Collectives of the same kind and size share their plan of transfers.

use crate::graph::{Builder, CollectiveFacts, GraphFault, Work};
use crate::moves::{Moves, moves, piece_bytes, refuses};
use std::collections::BTreeMap;
use std::rc::Rc;
use timeplane_model::{Bytes, HostId};
use timeplane_scenario::{Collective, CollectiveAlgorithm};

/// A reason why a collective cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EmitFault {
    /// The algorithm does not support it; the text says what is allowed.
    Refused(String),
    /// The graph is too large or has a cycle.
    Graph(GraphFault),
}

impl From<GraphFault> for EmitFault {
    fn from(fault: GraphFault) -> Self {
        Self::Graph(fault)
    }
}

/// Adds collectives to a graph. Plans of equal collectives are computed once.
#[derive(Debug, Default)]
pub(crate) struct Emitter {
    pub graph: Builder,
    known: BTreeMap<(Collective, CollectiveAlgorithm, u32), Rc<Moves>>,
}

impl Emitter {
    /// Adds a collective of these hosts, which are its ranks in this order. A rank takes part once
    /// its node of `entries` is over: a transfer waits for both its ends. Returns for each rank the
    /// node that is over when the rank has sent and received everything.
    pub(crate) fn collective(
        &mut self,
        operation: Collective,
        algorithm: CollectiveAlgorithm,
        bytes: Bytes,
        members: &[HostId],
        entries: &[u32],
    ) -> Result<Vec<u32>, EmitFault> {
        let n = members.len() as u32;
        if let Some(allowed) = refuses(operation, algorithm, n) {
            return Err(EmitFault::Refused(allowed));
        }
        let made =
            self.known.entry((operation, algorithm, n)).or_insert_with(|| Rc::new(moves(operation, algorithm, n)));
        let made = Rc::clone(made);
        let graph = &mut self.graph;
        let number = graph.collective(CollectiveFacts { operation, algorithm, ranks: n, bytes });
        let own = Some(number);
        let exits: Vec<u32> = members.iter().map(|_| graph.join(own)).collect::<Result<_, _>>()?;
        for (&entry, &exit) in entries.iter().zip(&exits) {
            graph.edge(entry, exit)?;
        }
        // Nodes of the sets that transfers wait for, once used; and nodes of transfers.
        let mut sets: Vec<Option<u32>> = vec![None; made.sets.len()];
        let mut nodes: Vec<u32> = Vec::with_capacity(made.moves.len());
        for m in &made.moves {
            let size: u64 = m.pieces.iter().map(|&p| piece_bytes(bytes.get(), n, p)).sum();
            let (source, destination) = (members[m.from as usize], members[m.to as usize]);
            // Pieces of zero bytes are not sent; the transfers after them still wait.
            let node = match size {
                0 => graph.join(own)?,
                _ => graph.node(Work::Transfer { source, destination, bytes: Bytes::new(size) }, own)?,
            };
            let set = &made.sets[m.after as usize];
            match (&set[..], sets[m.after as usize]) {
                ([], _) => {}
                ([one], _) => graph.edge(nodes[*one as usize], node)?,
                (_, Some(join)) => graph.edge(join, node)?,
                (many, None) => {
                    let join = graph.join(own)?;
                    for &one in many {
                        graph.edge(nodes[one as usize], join)?;
                    }
                    sets[m.after as usize] = Some(join);
                    graph.edge(join, node)?;
                }
            }
            for rank in [m.from, m.to] {
                graph.edge(entries[rank as usize], node)?;
                graph.edge(node, exits[rank as usize])?;
            }
            nodes.push(node);
        }
        Ok(exits)
    }
}
