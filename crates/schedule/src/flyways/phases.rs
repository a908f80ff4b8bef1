//! Demand over time: a plan per phase, in which links stay where they help.

use super::{FlywayError, FlywayPlan, FlywayPlanner, Link, LinkSet, Request, Traffic, Wired};
use timeplane_model::Duration;

/// Plans phase after phase. The phases of the flyways work are its future; how they are changed here is ours.
///
/// A link between racks that had one in the phase before carries at once, any other one after the setup time, in which its beams are
/// steered, or found. Two plans are made, one that begins with the links that are up and one that begins with none, and the faster one is
/// taken: the first where they are equal. Links that carry nothing go down.
#[derive(Clone)]
pub struct Phases<L> {
    controller: FlywayPlanner,
    wired: Wired,
    none: L,
    setup: Duration,
    up: Vec<Link>,
}

/// What a phase does.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its links and shares.
    pub plan: FlywayPlan,
    /// Links between racks that had one before.
    pub kept: usize,
    /// Others.
    pub begun: usize,
    /// Links of the phase before that have none between their racks now.
    pub ended: usize,
}

impl<L: LinkSet + Clone> Phases<L> {
    /// Before the first phase. `none` has no links up.
    pub fn new(controller: FlywayPlanner, wired: Wired, none: L, setup: Duration) -> Self {
        Self { controller, wired, none, setup, up: Vec::new() }
    }

    /// Plans the next phase.
    ///
    /// # Errors
    /// As [`FlywayPlanner::plan`] has them; the phase before stays.
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

    /// The links that are up.
    pub fn up(&self) -> &[Link] {
        &self.up
    }
}
