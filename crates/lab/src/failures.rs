//! Failures in a lab, as the scenario's `[[failure]]` tables ask for.
//!
//! For a failed host, its agent is killed and its backlog is lost; its gate stays, and closes. For
//! a failed wire, the switch's port goes down. Failed controllers are killed, and started again
//! later. The daemons detect failures themselves: the key `detection` is for the simulator only.

use super::fabric::host_port;
use super::hosts::{Hosts, HostsError};
use crate::plan::LivePlan;
use std::collections::BTreeMap;
use timeplane_live::agent::Snapshot;
use timeplane_model::Duration;
use timeplane_scenario::{Element, Failure, Loaded};

/// A part of a lab that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A host's agent.
    Agent(u16),
    /// The switch's port towards a host.
    Port(u16),
    /// A controller, by its place.
    Controller(u32),
}

/// Failures and repairs in order of time, and the last counters of killed daemons.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    /// Time of each event, its part, and whether the part fails or returns.
    changes: Vec<(Duration, Part, bool)>,
    next: usize,
    /// Number of failures of a part that are in progress.
    lasting: BTreeMap<Part, u32>,
    /// Last state of each killed agent, by host.
    pub agents: BTreeMap<u16, Vec<Snapshot>>,
    /// Last counters of each killed controller, by place, from its status page.
    pub controllers: BTreeMap<u32, Vec<BTreeMap<String, u64>>>,
}

impl Failures {
    /// The failures of a scenario, for one of its schemes.
    ///
    /// # Errors
    /// If a lab has no such part; the message names the key.
    pub fn of(loaded: &Loaded, failures: &[Failure], plan: &LivePlan) -> Result<Self, String> {
        let mut changes = Vec::new();
        for (i, failure) in failures.iter().enumerate() {
            let part = part(failure.element, plan).map_err(|why| {
                let key = format!("failure.{i}.element");
                let place = loaded.locate(&key).map(|l| format!("{l}: ")).unwrap_or_default();
                format!("{place}{key}: {why}")
            })?;
            changes.push((failure.at, part, true));
            changes.extend(failure.until.map(|until| (until, part, false)));
        }
        // At equal times, repairs come before failures.
        changes.sort_by_key(|&(at, part, fails)| (at, fails, part));
        Ok(Self { changes, ..Self::default() })
    }

    /// Whether the scenario has no failures.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether a controller fails. Its status page is needed then, to read its counters before.
    pub fn has_controllers(&self) -> bool {
        self.changes.iter().any(|c| matches!(c.1, Part::Controller(_)))
    }

    /// Carries out the failures that are due, `now` after the start of the run.
    ///
    /// # Errors
    /// If a daemon cannot be started, or a port cannot be changed.
    pub fn due(&mut self, now: Duration, hosts: &mut Hosts) -> Result<(), HostsError> {
        while let Some(&(_, part, fails)) = self.changes.get(self.next).filter(|c| c.0 <= now) {
            self.next += 1;
            let lasting = self.lasting.entry(part).or_default();
            let before = *lasting;
            *lasting = if fails { before + 1 } else { before.saturating_sub(1) };
            match (before, *lasting) {
                (0, 1) => self.fail(part, hosts)?,
                (1, 0) => returns(part, hosts)?,
                // It is already or still down.
                _ => {}
            }
        }
        Ok(())
    }

    fn fail(&mut self, part: Part, hosts: &mut Hosts) -> Result<(), HostsError> {
        match part {
            Part::Agent(host) => {
                // Up to 0.2 s old, as a process's counters are lost with it.
                self.agents.entry(host).or_default().extend(hosts.snapshot(host.into()));
                hosts.kill_agent(host.into());
            }
            Part::Controller(place) => {
                let counted = hosts.metrics(place as usize).unwrap_or_default().into_iter();
                let named =
                    |(name, value): (String, f64)| Some((name.strip_prefix("controller_")?.to_owned(), value as u64));
                self.controllers.entry(place).or_default().push(counted.filter_map(named).collect());
                hosts.kill_controller(place as usize);
            }
            Part::Port(host) => set_port(hosts, host, "down")?,
        }
        Ok(())
    }
}

fn returns(part: Part, hosts: &mut Hosts) -> Result<(), HostsError> {
    match part {
        Part::Agent(host) => hosts.begin_agent(host.into()),
        Part::Controller(place) => hosts.begin_controller(place as usize),
        Part::Port(host) => set_port(hosts, host, "up"),
    }
}

fn set_port(hosts: &Hosts, host: u16, state: &str) -> Result<(), HostsError> {
    let set = hosts.fabric().switch().ip(&format!("link set {} {state}", host_port(host)));
    Ok(set.map(drop).map_err(super::fabric::FabricError::from)?)
}

/// The part of a lab that an element of the scenario stands for.
fn part(element: Element, plan: &LivePlan) -> Result<Part, String> {
    let hosts = plan.fabric.hosts();
    // The scenario was checked: the host exists.
    let number = |host: u32| u16::try_from(host).unwrap_or(u16::MAX);
    match element {
        Element::Host(host) => Ok(Part::Agent(number(host))),
        Element::Wire(wire) if wire < hosts => Ok(Part::Port(number(wire))),
        Element::Between([a, b]) if a < hosts && b == hosts => Ok(Part::Port(number(a))),
        Element::Between([a, b]) if b < hosts && a == hosts => Ok(Part::Port(number(b))),
        Element::Controller => Ok(Part::Controller(0)),
        Element::Standby if plan.controllers() > 1 => Ok(Part::Controller(1)),
        Element::Standby => Err(format!("scheme `{}` has no `plan.tdma.standby`", plan.scheme)),
        Element::Switch(_) => {
            Err("a lab has one switch, by which its controllers talk as well: hosts, their wires, the controller and the standby can fail".into())
        }
        Element::Wire(_) | Element::Between(_) => Err(format!("a lab has the wires of its hosts: 0 to {}", hosts - 1)),
        Element::Relay(_) => Err("a lab has no relays: hosts, their wires, the controller and the standby can fail".into()),
    }
}
