//! A flyway plan: the links that are up and the shares of traffic that they carry.
//!
//! It also states the completion times with and without links.

use super::Link;
use timeplane_model::Duration;

/// Links, their shares of traffic, and the completion times.
#[derive(Clone, Debug, PartialEq)]
pub struct FlywayPlan {
    /// Links that are up, with the setup time before each carries; zero for a link between racks
    /// that had one before.
    pub links: Vec<(Link, Duration)>,
    /// Shares of pairs' traffic that leave the wires, ordered by sender, receiver and link. All
    /// other traffic uses wires only.
    pub routes: Vec<Route>,
    /// Completion time of demands (CTD) under this plan.
    pub ctd: Duration,
    /// Completion time on wires only.
    pub wired: Duration,
    /// Completion time without oversubscription, when only the racks' hosts limit traffic. Nothing
    /// is faster.
    pub unsubscribed: Duration,
}

/// A share of a pair's traffic that uses a link. The link determines the way: direct if it joins
/// both racks. If one end is the sender's rack, wires continue from the other end. If one end is
/// the receiver's rack, wires lead to the other end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// Rack of the sender.
    pub from: usize,
    /// Rack of the receiver.
    pub to: usize,
    /// Index of the link in [`FlywayPlan::links`].
    pub link: usize,
    /// Share of the pair's traffic: more than 0 and at most 1. The shares of a pair add up to at
    /// most 1.
    pub share: f64,
}

impl FlywayPlan {
    /// Completion time over that without oversubscription, at least 1; exactly 1 without traffic.
    pub fn relative(&self) -> f64 {
        ratio(self.ctd, self.unsubscribed)
    }

    /// Completion time on wires only over that without oversubscription.
    pub fn relative_wired(&self) -> f64 {
        ratio(self.wired, self.unsubscribed)
    }
}

fn ratio(of: Duration, to: Duration) -> f64 {
    if to == Duration::ZERO { 1.0 } else { of.as_ps() as f64 / to.as_ps() as f64 }
}
