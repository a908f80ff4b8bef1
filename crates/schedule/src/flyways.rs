//! Flyway planning: links between racks that relieve hot spots of an oversubscribed tree.
//!
//! The links may be 60 GHz flyways (Halperin et al., SIGCOMM 2011) or circuits. The input is
//! [`Traffic`] between racks and the tree's capacities ([`Wired`]). The result is a [`FlywayPlan`]:
//! which links are up at which rates, and what share of each pair's traffic takes which link. A
//! share takes a *direct* link between its two racks, or goes in *transit* over a link that ends at
//! only one of them and over wires for the rest.
//!
//! A [`LinkSet`] knows which links may be up together. In [`Ports`], racks have a number of ports
//! and no other constraint; radio links that interfere with each other need another set.
//! [`Measured`] limits any of them to racks that have measured each other.
//!
//! The measure is the completion time of demands (CTD) of fluids: all traffic flows at once, and
//! ends when the busiest place has carried its bytes. [`Wired::unsubscribed`] is the CTD of a tree
//! without oversubscription, in which only the racks' hosts limit traffic.
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
mod measured;
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
pub use measured::Measured;
pub use phases::{Phase, Phases};
pub use plan::{FlywayPlan, Route};
pub use policy::{Candidate, FlywayPolicy, Policy};
pub use ports::Ports;
pub use traffic::Traffic;
pub use wired::{Bottleneck, Core, Wired};
