//! The agents themselves, with their deadlines, failures and successors.
//!
//! An agent that is down gets no input. A controller that returns is a new agent, built before the
//! run, that knows nothing; a host's agent returns as it was.

use super::clocks::Clocks;
use super::nodes::Nodes;
use crate::engine::time::SimTime;
use std::collections::VecDeque;
use timeplane_assembly::{AssemblyError, PlanAgents, PlanTerms, Role, Start};
use timeplane_model::HostId;
use timeplane_protocol::{Agent, HostAgent};
use timeplane_schedule::Algorithms;

type Controller = Box<dyn Agent + Send>;

/// All agents of a plan.
pub struct Agents {
    hosts: Vec<HostAgent>,
    controllers: Vec<Controller>,
    /// The successors of each controller, in the order of its returns.
    successors: Vec<VecDeque<Controller>>,
    down: Vec<bool>,
    /// When each agent's pending event fires.
    due: Vec<SimTime>,
    /// By host, when an event behind the pending one fires. A host's deadline mostly moves between
    /// the next grant, which is near, and the next report, which is far: so the far one needs no
    /// new event each time. An agent of a host that is called too early does nothing.
    later: Vec<SimTime>,
    /// When each host's agent next learns of changes of its queues.
    notified: Vec<SimTime>,
}

impl Agents {
    /// Builds all agents.
    ///
    /// # Errors
    /// If the plan names an unknown scheduler, or does not suit the fabric.
    pub fn new(
        plan: &dyn PlanAgents,
        terms: &PlanTerms,
        nodes: &Nodes,
        algorithms: &Algorithms,
    ) -> Result<Self, AssemblyError> {
        let relays = terms.relays.map_or(0, |r| r.count);
        let roles = (0..terms.planners).map(Role::Planner).chain((0..relays).map(Role::Relay));
        let controllers: Vec<_> =
            roles.map(|role| plan.controller(role, Start::FIRST, algorithms)).collect::<Result<_, _>>()?;
        Ok(Self {
            hosts: nodes.hosts().map(|h| HostAgent::new(terms.host(HostId(h)))).collect(),
            successors: controllers.iter().map(|_| VecDeque::new()).collect(),
            controllers,
            down: vec![false; nodes.count()],
            due: vec![SimTime::MAX; nodes.count()],
            later: vec![SimTime::MAX; nodes.hosts().len()],
            notified: vec![SimTime::MAX; nodes.hosts().len()],
        })
    }

    pub fn get(&mut self, node: u32) -> &mut dyn Agent {
        let hosts = self.hosts.len();
        match self.hosts.get_mut(node as usize) {
            Some(host) => host,
            None => self.controllers[node as usize - hosts].as_mut(),
        }
    }

    /// The agent of a host; `None` for a controller.
    pub fn host(&mut self, node: u32) -> Option<&mut HostAgent> {
        self.hosts.get_mut(node as usize)
    }

    pub fn is_down(&self, node: u32) -> bool {
        self.down[node as usize]
    }

    /// Adds a successor for the next return of a controller that has none yet.
    pub fn push_successor(&mut self, position: usize, successor: Controller) {
        self.successors[position].push_back(successor);
    }

    /// An agent fails, or returns.
    pub fn set_down(&mut self, node: u32, down: bool) {
        self.down[node as usize] = down;
        self.disarm(node);
        if let Some(position) = (node as usize).checked_sub(self.hosts.len()).filter(|_| !down) {
            let successor = self.successors[position].pop_front();
            self.controllers[position] = successor.expect("each return has a successor");
        }
    }

    /// Forgets the pending events of an agent.
    pub fn disarm(&mut self, node: u32) {
        self.due[node as usize] = SimTime::MAX;
        if let Some(later) = self.later.get_mut(node as usize) {
            *later = SimTime::MAX;
        }
    }

    /// Takes out the pending event of an agent. `false` if the event at `at` is stale.
    pub fn take_due(&mut self, at: SimTime, node: u32) -> bool {
        let due = &mut self.due[node as usize];
        let is_due = *due == at;
        if is_due {
            let later = self.later.get_mut(node as usize);
            *due = later.map_or(SimTime::MAX, |later| std::mem::replace(later, SimTime::MAX));
        }
        is_due
    }

    /// The time for a new event at an agent's deadline; `None` if it has no deadline, or an event
    /// that fires by then.
    pub fn arm(&mut self, at: SimTime, node: u32, clocks: &Clocks) -> Option<SimTime> {
        let deadline = self.get(node).deadline()?;
        let due = clocks.of(node).truth(deadline).max(at);
        let pending = &mut self.due[node as usize];
        (due < *pending).then(|| {
            if let Some(later) = self.later.get_mut(node as usize) {
                *later = *pending;
            }
            *pending = due;
            due
        })
    }

    /// Notes that a host's agent will learn of changes at `at`. `false` if it is noted already.
    pub fn notify(&mut self, at: SimTime, host: u32) -> bool {
        std::mem::replace(&mut self.notified[host as usize], at) != at
    }

    /// A host's agent learns of changes.
    pub fn end_notice(&mut self, host: u32) {
        self.notified[host as usize] = SimTime::MAX;
    }
}
