//! What comes out.

use super::Link;
use timeplane_model::Duration;

/// Links and what goes over them.
#[derive(Clone, Debug, PartialEq)]
pub struct FlywayPlan {
    /// The links that are up, and how long each has to be set up before it carries; zero for one that joined these racks before.
    pub links: Vec<(Link, Duration)>,
    /// Shares of pairs' traffic that leave the wires, by sender, receiver and link. What is not in them goes by wire alone.
    pub routes: Vec<Route>,
    /// Completion time of demands with all this.
    pub ctd: Duration,
    /// The same by wire alone.
    pub wired: Duration,
    /// The same without oversubscription: the racks' hosts alone. Nothing is shorter.
    pub unsubscribed: Duration,
}

/// A share of a pair's traffic that goes over a link. Which way follows: direct where it joins the two, on by wire from its other end where
/// one end is the sender's rack, by wire to its other end where one end is the receiver's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// Sender's rack.
    pub from: usize,
    /// Receiver's rack.
    pub to: usize,
    /// By its place in [`FlywayPlan::links`].
    pub link: usize,
    /// More than 0, and at most 1; all of a pair together are at most 1.
    pub share: f64,
}

impl FlywayPlan {
    /// Completion time over that without oversubscription, at least 1; 1 where there is nothing to send.
    pub fn relative(&self) -> f64 {
        ratio(self.ctd, self.unsubscribed)
    }

    /// The same by wire alone.
    pub fn relative_wired(&self) -> f64 {
        ratio(self.wired, self.unsubscribed)
    }
}

fn ratio(of: Duration, to: Duration) -> f64 {
    if to == Duration::ZERO { 1.0 } else { of.as_ps() as f64 / to.as_ps() as f64 }
}
