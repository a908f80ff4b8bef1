//! Links between racks that relieve hot spots of an oversubscribed tree: 60 GHz flyways (Halperin et al., SIGCOMM 2011), or circuits.
//!
//! [`Traffic`] between racks and the tree's capacities ([`Wired`]) go in; a [`FlywayPlan`] comes out: which links are up at which rates, and
//! what share of each pair's traffic takes which link. A share goes *direct* over a link between its two racks, or in *transit*: over a
//! link at its sender's rack and on by wire from the other end, or by wire to a link that ends at its receiver's rack.
//!
//! Which links may be up together is not known here: a [`LinkSet`] says it. [`Ports`] is one whose racks have ports and nothing else to
//! keep to; radios that disturb each other are another.
//!
//! The measure is the completion time of demands (CTD) of fluids: all traffic flows at once, and is over when the busiest place has carried
//! what goes through it. [`Wired::unsubscribed`] is what a tree without oversubscription would take: the racks' hosts alone.
//!
//! [`FlywayPolicy`] lists the policies by name.

mod balance;
mod controller;
mod direct;
mod either;
mod error;
mod evaluate;
mod fluid;
mod greedy;
mod link;
mod phases;
mod places;
mod plan;
mod policy;
mod ports;
mod traffic;
mod wired;

pub use controller::{FlywayPlanner, Request};
pub use direct::{Straggler, Transit};
pub use either::Either;
pub use error::FlywayError;
pub use evaluate::{Evaluation, Place, evaluate};
pub use fluid::Fluid;
pub use greedy::Greedy;
pub use link::{Duplex, Link, LinkSet, Offer};
pub use phases::{Phase, Phases};
pub use plan::{FlywayPlan, Route};
pub use policy::{Candidate, FlywayPolicy, Policy};
pub use ports::Ports;
pub use traffic::Traffic;
pub use wired::{Bottleneck, Core, Wired};
