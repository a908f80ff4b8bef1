//! The flyway planner: adds links while they help, and exchanges them for better ones.
//!
//! A policy proposes the links, the planner measures how much they help.

use super::balance::TRIAL_POWER;
use super::{Candidate, Evaluation, Fluid, FlywayError, FlywayPlan, Link, LinkSet, Policy, Traffic, Wired, evaluate};
use crate::OwnError;
use std::sync::Arc;
use timeplane_model::Duration;

/// Input of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Demand between racks.
    pub traffic: &'a Traffic,
    /// Capacities of the tree.
    pub wired: &'a Wired,
    /// Links that were up before. A new link between the same racks needs no setup.
    pub standing: &'a [Link],
    /// Whether the plan starts with the standing links, as far as they are feasible. Otherwise they
    /// are down until the planner adds them again.
    pub keep: bool,
    /// Setup time of links that were not up before; not negative.
    pub setup: Duration,
}

impl<'a> Request<'a> {
    /// A request without standing links and without setup time.
    pub fn new(traffic: &'a Traffic, wired: &'a Wired) -> Self {
        Self { traffic, wired, standing: &[], keep: false, setup: Duration::ZERO }
    }
}

/// Plans links and shares by a policy.
///
/// The planner repeatedly asks the policy for links that relieve the busiest wire, and takes the
/// first that helps. If none helps, it tries wires that are almost as busy. It measures help after
/// moving shares, as a mean of all places' times at a high power. So one of several equally busy
/// places may be relieved at a time.
///
/// When no link helps any more, the planner tries exchanges. It takes down all links at the racks
/// of a link that the policy would add if nothing were up, or one single link, the least used
/// first. If the links that take their place are better, they stay. Finally it takes down links
/// that carry nothing.
#[derive(Clone)]
pub struct FlywayPlanner {
    policy: Arc<dyn Policy>,
    /// Limit on the effort for exchanges: number of tries times pairs of racks with traffic;
    /// 50,000. A small network is searched as long as anything helps. In a network of 150 racks
    /// that all send to each other, two exchanges are tried.
    pub effort: usize,
    /// Number of wires for which links are looked for before the planner concludes that nothing
    /// helps: 16; after an exchange 3.
    pub wires: usize,
    /// Number of candidates tried for a wire: 6.
    pub trials: usize,
}

/// Wires that take at least this share of the busiest place's time are relieved.
const ALMOST: f64 = 0.97;
/// Number of wires that are considered after a link has been taken down.
const AFTER_EXCHANGE: usize = 3;
/// Least relative improvement that counts as help.
const HELP: f64 = 1e-4;

impl FlywayPlanner {
    /// A planner that follows a policy, with default limits.
    pub fn new(policy: Arc<dyn Policy>) -> Self {
        Self { policy, effort: 50_000, wires: 16, trials: 6 }
    }

    /// Decides which links are up and what they carry. No link of `links` may be up before;
    /// afterwards those of the plan are.
    ///
    /// # Errors
    /// Fails if tree, traffic and links have different sizes, if a wire has no rate, if links are
    /// up before, if the setup time is negative, or if an own policy fails.
    pub fn plan<L: LinkSet + Clone>(&self, request: &Request<'_>, links: &mut L) -> Result<FlywayPlan, FlywayError> {
        let Request { traffic, wired, standing, .. } = *request;
        wired.check(traffic)?;
        if links.racks() != wired.racks {
            return Err(FlywayError::Racks { what: "links", found: links.racks(), racks: wired.racks });
        }
        if request.setup.is_negative() {
            return Err(FlywayError::Setup);
        }
        let found = links.links().len();
        if found > 0 {
            return Err(FlywayError::NotEmpty { found });
        }
        let mut state = State {
            fluid: Fluid::new(traffic, wired, self.policy.transit()),
            links: links.clone(),
            slots: Vec::new(),
            soft: 0.0,
        };
        if request.keep {
            for link in standing {
                state.add(*link, Duration::ZERO);
            }
            state.fluid.balance();
        }
        state.soft = state.fluid.soft(TRIAL_POWER);
        self.fill(request, &mut state, self.wires)?;
        let mut tries = self.effort / state.fluid.pairs().max(1);
        while let Some(better) = self.exchanged(request, &state, &mut tries)? {
            state = better;
        }
        state.fluid.balance();
        for (number, slot) in state.slots.clone() {
            if state.fluid.carried(slot) == 0.0 {
                state.remove(number, slot);
            }
        }
        let plan = self.finish(request, &state)?;
        *links = state.links;
        Ok(plan)
    }

    /// Setup time of a link.
    fn setup(request: &Request<'_>, link: &Link) -> Duration {
        if request.standing.iter().any(|s| s.joins_as(link)) { Duration::ZERO } else { request.setup }
    }

    /// Adds links while they help.
    fn fill<L: LinkSet + Clone>(
        &self,
        request: &Request<'_>,
        state: &mut State<L>,
        wires: usize,
    ) -> Result<(), OwnError> {
        while state.fluid.busiest() > state.fluid.least * (1.0 + HELP) {
            let Some(better) = self.relieved(request, state, wires)? else { break };
            *state = better;
        }
        Ok(())
    }

    /// The state with the first link that helps one of the busiest wires.
    fn relieved<L: LinkSet + Clone>(
        &self,
        request: &Request<'_>,
        state: &State<L>,
        wires: usize,
    ) -> Result<Option<State<L>>, OwnError> {
        for wire in state.fluid.bottlenecks(ALMOST).into_iter().take(wires) {
            let candidates = self.policy.candidates(&state.fluid, &state.links, wire)?;
            let better = candidates.iter().take(self.trials).find_map(|c| Self::tried(request, state, c));
            if better.is_some() {
                return Ok(better);
            }
        }
        Ok(None)
    }

    /// The state after adding a link, if the link helps.
    fn tried<L: LinkSet + Clone>(request: &Request<'_>, state: &State<L>, candidate: &Candidate) -> Option<State<L>> {
        let Candidate { a, b, offer } = *candidate;
        let link = offer.link(a, b);
        let mut then = state.clone();
        let slot = then.add(link, Self::setup(request, &link))?;
        then.fluid.rounds(TRIAL_POWER, 4, Some(slot));
        then.fluid.rounds(TRIAL_POWER, 2, None);
        then.soft = then.fluid.soft(TRIAL_POWER);
        (then.soft < state.soft * (1.0 - HELP)).then_some(then)
    }

    /// A better plan in which a link displaces others, or one link is removed. Counts every try.
    fn exchanged<L: LinkSet + Clone>(
        &self,
        request: &Request<'_>,
        state: &State<L>,
        tries: &mut usize,
    ) -> Result<Option<State<L>>, OwnError> {
        if state.fluid.busiest() <= state.fluid.least * (1.0 + HELP) {
            return Ok(None);
        }
        let mut attempt = |then: Option<State<L>>| {
            let Some(rest) = tries.checked_sub(1) else { return Ok(None) };
            *tries = rest;
            then.map_or(Ok(None), |then| self.refilled(request, state, then))
        };
        for candidate in self.wanted(state)? {
            if let Some(better) = attempt(Self::with_room(request, state, &candidate))? {
                return Ok(Some(better));
            }
        }
        let mut all = state.slots.clone();
        all.sort_by(|x, y| state.fluid.carried(x.1).total_cmp(&state.fluid.carried(y.1)).then(x.cmp(y)));
        for (number, slot) in all {
            let mut then = state.clone();
            then.remove(number, slot);
            if let Some(better) = attempt(Some(then))? {
                return Ok(Some(better));
            }
        }
        Ok(None)
    }

    /// Links for the busiest wires that are not up, and that the policy would add if nothing were
    /// up.
    fn wanted<L: LinkSet + Clone>(&self, state: &State<L>) -> Result<Vec<Candidate>, OwnError> {
        let mut none = state.links.clone();
        let up = none.links();
        for (number, _) in &up {
            none.remove(*number);
        }
        let there = |c: &Candidate| up.iter().any(|(_, l)| l.joins_as(&c.offer.link(c.a, c.b)));
        let mut wanted = Vec::new();
        for wire in state.fluid.bottlenecks(ALMOST).into_iter().take(self.trials) {
            let candidates = self.policy.candidates(&state.fluid, &none, wire)?.into_iter();
            wanted.extend(candidates.filter(|c| !there(c)).take(self.trials));
        }
        Ok(wanted)
    }

    /// The state with a link in place of all others at its racks, if the link is then feasible.
    fn with_room<L: LinkSet + Clone>(
        request: &Request<'_>,
        state: &State<L>,
        candidate: &Candidate,
    ) -> Option<State<L>> {
        let Candidate { a, b, .. } = *candidate;
        let mut then = state.clone();
        for (number, slot) in state.slots.iter().copied() {
            if then.fluid.links[slot].is_some_and(|l| l.other(a).is_some() || l.other(b).is_some()) {
                then.remove(number, slot);
            }
        }
        let link = then.links.offer(a, b)?.link(a, b);
        then.add(link, Self::setup(request, &link))?;
        Some(then)
    }

    /// A changed state with links added while they help, if the result is better than before.
    fn refilled<L: LinkSet + Clone>(
        &self,
        request: &Request<'_>,
        before: &State<L>,
        mut then: State<L>,
    ) -> Result<Option<State<L>>, OwnError> {
        then.fluid.rounds(TRIAL_POWER, 4, None);
        then.soft = then.fluid.soft(TRIAL_POWER);
        self.fill(request, &mut then, AFTER_EXCHANGE)?;
        Ok((then.soft < before.soft * (1.0 - HELP)).then_some(then))
    }

    /// The final plan; it uses wires only if links are no faster.
    fn finish<L: LinkSet + Clone>(&self, request: &Request<'_>, state: &State<L>) -> Result<FlywayPlan, FlywayError> {
        let Request { traffic, wired, .. } = *request;
        let links: Vec<(Link, Duration)> = state
            .slots
            .iter()
            .filter_map(|&(_, slot)| state.fluid.links[slot])
            .map(|link| (link, Self::setup(request, &link)))
            .collect();
        let number = |slot| state.slots.iter().position(|&(_, s)| s == slot).unwrap_or(usize::MAX);
        let routes = state.fluid.routes(number);
        let alone = evaluate(traffic, wired, &[], &[])?.ctd;
        let Evaluation { ctd, .. } = evaluate(traffic, wired, &links, &routes)?;
        let unsubscribed = wired.unsubscribed(traffic);
        let routes = if ctd <= alone { routes } else { Vec::new() };
        Ok(FlywayPlan { links, routes, ctd: ctd.min(alone), wired: alone, unsubscribed })
    }
}

/// A plan under construction.
#[derive(Clone)]
struct State<L> {
    fluid: Fluid,
    links: L,
    /// Numbers of links in the set, with their slots in the fluid.
    slots: Vec<(usize, usize)>,
    /// The mean of times that the planner minimizes.
    soft: f64,
}

impl<L: LinkSet> State<L> {
    fn add(&mut self, link: Link, setup: Duration) -> Option<usize> {
        let number = self.links.add(&link)?;
        let slot = self.fluid.add(link, setup);
        self.slots.push((number, slot));
        Some(slot)
    }
    fn remove(&mut self, number: usize, slot: usize) {
        self.links.remove(number);
        self.fluid.remove(slot);
        self.slots.retain(|s| s.0 != number);
    }
}
