//! Edge coloring of bipartite multigraphs: which path each transmission of a slot takes.
//!
//! The switches with hosts are vertices, once as senders (left) and once as receivers (right). A
//! transmission is an edge. A color is a spine switch or one of the unit links to it. In a proper
//! coloring no vertex has two edges of one color, so no link carries two transmissions. As many
//! colors as the largest degree are enough (Koenig's theorem).
//!
//! [`Paull`] maintains a coloring while edges are added and removed, and recolors few of them.
//! [`EulerSplit`] colors a whole slot at once.

mod euler;
mod halving;
mod paull;
mod table;

pub use euler::EulerSplit;
pub use paull::{Inserted, Paull};
