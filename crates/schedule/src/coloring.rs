//! Edge coloring of bipartite multigraphs: which path each transmission of a slot takes.
//!
//! Leaves are vertices, once as senders (left) and once as receivers (right); a transmission is an edge; a color is a spine,
//! or one of the unit links to it. A coloring is proper where no vertex has two edges of one color: then no link carries
//! two transmissions. Koenig: as many colors as the largest degree are enough.
//!
//! [`Paull`] keeps a coloring while edges come and go, and moves few of them; [`EulerSplit`] colors a whole slot at once.

mod euler;
mod halving;
mod paull;
mod table;

pub use euler::EulerSplit;
pub use paull::{Inserted, Paull};
