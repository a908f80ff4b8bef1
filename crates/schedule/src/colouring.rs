//! Edge colouring of bipartite multigraphs: which path each transmission of a slot takes.
//!
//! Leaves are vertices, once as senders (left) and once as receivers (right); a transmission is an edge; a colour is a spine,
//! or one of the unit links to it. A colouring is proper where no vertex has two edges of one colour: then no link carries
//! two transmissions. Koenig: as many colours as the largest degree are enough.
//!
//! [`Paull`] keeps a colouring while edges come and go, and moves few of them; [`EulerSplit`] colours a whole slot at once.

mod euler;
mod halving;
mod paull;
mod table;

pub use euler::EulerSplit;
pub use paull::{Inserted, Paull};
