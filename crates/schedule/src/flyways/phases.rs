//! Planning of demand over time: one plan per phase, in which useful links stay up.
//!
//! Links that change need a setup time.

use super::{FlywayError, FlywayPlan, FlywayPlanner, Link, LinkSet, Request, Traffic, Wired};
use timeplane_model::Duration;

/// Plans one phase after another. The paper on flyways leaves phases to future work; the rules for
/// changes here are this project's own.
///
/// A link between racks that had one in the previous phase carries at once. Any other link carries
/// after the setup time, in which its beams are steered. Two plans are made: one starts with the
/// links that are up, the other with none. The faster plan is taken, or the first if both are
/// equal. Links that carry nothing go down.
#[derive(Clone)]
pub struct Phases<L> {
    controller: FlywayPlanner,
    wired: Wired,
    none: L,
    setup: Duration,
    up: Vec<Link>,
}

/// The plan of a phase and its changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Links and shares of the phase.
    pub plan: FlywayPlan,
    /// Number of links between racks that had one before.
    pub kept: usize,
    /// Number of links between racks that had none before.
    pub begun: usize,
    /// Number of links of the previous phase between racks that have none now.
    pub ended: usize,
}

impl<L: LinkSet + Clone> Phases<L> {
    /// The state before the first phase. `none` is a set without links.
    pub fn new(controller: FlywayPlanner, wired: Wired, none: L, setup: Duration) -> Self {
        Self { controller, wired, none, setup, up: Vec::new() }
    }

    /// Plans the next phase.
    ///
    /// # Errors
    /// Fails as [`FlywayPlanner::plan`] does; the state then stays unchanged.
    pub fn next(&mut self, traffic: &Traffic) -> Result<Phase, FlywayError> {
        let Self { controller, wired, none, setup, up } = self;
        let plan = |keep| {
            let request = Request { traffic, wired, standing: up, keep, setup: *setup };
            controller.plan(&request, &mut none.clone())
        };
        let mut best = plan(true)?;
        if !up.is_empty() {
            let anew = plan(false)?;
            if anew.ctd < best.ctd {
                best = anew;
            }
        }
        let now: Vec<Link> = best.links.iter().map(|(link, _)| *link).collect();
        let kept = now.iter().filter(|l| up.iter().any(|u| u.joins_as(l))).count();
        let ended = up.iter().filter(|u| !now.iter().any(|l| l.joins_as(u))).count();
        let begun = now.len() - kept;
        *up = now;
        Ok(Phase { plan: best, kept, begun, ended })
    }

    /// The set without links from which each phase starts, and the links that are up.
    pub fn links_mut(&mut self) -> (&mut L, &[Link]) {
        (&mut self.none, &self.up)
    }

    /// The links that are up.
    pub fn up(&self) -> &[Link] {
        &self.up
    }
}
