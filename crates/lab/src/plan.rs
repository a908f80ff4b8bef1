//! The plan of a scheme for real hosts: what the controller does, and what hosts are told.
//!
//! [`LivePlan`] rejects plans that only the simulator supports. The agents come from
//! `timeplane_assembly`, as those of the simulator do.

mod circuits;
mod timeslots;

pub use circuits::CircuitFabric;

use std::sync::Arc;
use timeplane_assembly::{AssemblyError, PlanAgents, Role, Site, Start, assemble};
use timeplane_live::controller::{HostPlan, Plan};
use timeplane_live::daemons::Failure;
use timeplane_live::watch::Kind;
use timeplane_model::{Duration, Fabric, FabricError, HostId, Time, nearest};
use timeplane_protocol::Agent;
use timeplane_protocol::wire::SignalEncoding;
use timeplane_scenario::{PlanSpec, RateEstimator, Scenario, Topology};
use timeplane_schedule::Algorithms;

/// Signals that are later than the fastest one by less than this open their gates under any plan.
/// Hosts that are busy hear them that late.
const LEAST_LATE: Duration = Duration::from_us(100);

/// Why a scheme cannot run on real hosts.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The scenario has no such scheme.
    #[error("unknown scheme `{name}`{}", hint(.nearest))]
    Scheme {
        /// The unknown name.
        name: String,
        /// A scheme with a similar name.
        nearest: Option<String>,
    },
    /// The scheme has no plan, or one that only the simulator supports.
    #[error(
        "scheme `{scheme}`: {what}: expected `plan.tdma` with `signals`, `plan.timeslots`, `plan.rates` or `plan.circuits`"
    )]
    NotLive {
        /// Name of the scheme.
        scheme: String,
        /// Description of what the scheme plans instead.
        what: String,
    },
    /// The fabric cannot be built.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// The scheme's controller cannot be built.
    #[error(transparent)]
    Agents(#[from] AssemblyError),
    /// An encoding has fewer classes than the hosts need.
    #[error("encoding with {classes} classes: expected at least {needed}, which {hosts} hosts need")]
    Classes {
        /// Number of classes of the encoding.
        classes: u16,
        /// Number of hosts of the fabric.
        hosts: u32,
        /// Classes that each host needs: one or three.
        needed: u32,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
}

/// A scheme of a scenario, ready for real hosts.
#[derive(Clone, Debug)]
pub struct LivePlan {
    /// Name of the scheme in the scenario.
    pub scheme: String,
    /// The fabric with all hosts and links.
    pub fabric: Arc<Fabric>,
    spec: PlanSpec,
    /// The circuit fabric of a plan of circuits.
    circuits: Option<CircuitFabric>,
    mtu: u32,
}

impl LivePlan {
    /// The plan of a scheme of a scenario.
    ///
    /// # Errors
    /// If the scheme does not exist, or real hosts do not support it.
    pub fn new(scenario: &Scenario, scheme: &str) -> Result<Self, PlanError> {
        let unknown = || PlanError::Scheme {
            name: scheme.to_owned(),
            nearest: nearest(scheme, scenario.scheme.keys().map(String::as_str)),
        };
        let of = scenario.scheme.get(scheme).ok_or_else(unknown)?;
        let not_live = |what: &str| PlanError::NotLive { scheme: scheme.to_owned(), what: what.to_owned() };
        let spec = of.plan.clone().ok_or_else(|| not_live("it has no plan"))?;
        match &spec {
            PlanSpec::Tdma(slots) if slots.signals.is_none() => {
                return Err(not_live("its gates follow the hosts' clocks, because it has no `signals`"));
            }
            PlanSpec::Tdma(slots) if slots.controllers.is_some() => return Err(not_live("its controller has relays")),
            PlanSpec::Tdma(slots) if slots.background.is_some() => {
                return Err(not_live("it reserves a share of the network for background traffic"));
            }
            PlanSpec::Tdma(slots) if slots.receive.is_some() => {
                return Err(not_live("it plans by receive buffers, which agents do not report"));
            }
            PlanSpec::Rates(rates) if matches!(rates.estimator, RateEstimator::Arrivals(_)) => {
                return Err(not_live("it estimates demand by arrivals, but agents report only their backlog"));
            }
            PlanSpec::Rates(rates) if rates.control_loss > 0.0 => {
                return Err(not_live("it loses messages, but rates travel over TCP, which loses none"));
            }
            PlanSpec::Tdma(_) | PlanSpec::Rates(_) | PlanSpec::Timeslots(_) => {
                if let Topology::Hybrid(_) = scenario.fabric.topology {
                    return Err(not_live("it plans no circuits, but the fabric has a circuit switch"));
                }
            }
            PlanSpec::Circuits(spec) => circuits::refuse(spec, &scenario.fabric.topology).map_err(|e| not_live(&e))?,
            PlanSpec::Flyways(_) => return Err(not_live("it plans flyways, which need radios")),
        }
        let fabric = Arc::new(scenario.fabric.build()?);
        if let PlanSpec::Timeslots(spec) = &spec {
            timeslots::refuse(spec, &fabric, scenario.fabric.mtu.get() as u32).map_err(|e| not_live(&e))?;
        }
        let circuits = CircuitFabric::of(&scenario.fabric.topology);
        Ok(Self { scheme: scheme.to_owned(), fabric, spec, circuits, mtu: scenario.fabric.mtu.get() as u32 })
    }

    /// Whether signals alone open and close gates. In other plans rates do so, alone or in
    /// addition.
    pub fn by_signal(&self) -> bool {
        matches!(self.spec, PlanSpec::Tdma(_))
    }

    /// The circuit switch of a plan of circuits, and the packet switch beside it.
    pub fn circuits(&self) -> Option<&CircuitFabric> {
        self.circuits.as_ref()
    }

    /// The share of signals that get lost on their way to hosts; 0 to 1. Reports and grants go over
    /// TCP, which loses none; of circuits, schedules and heartbeats are lost as well, as they are
    /// datagrams in the paper (see [`HostsParameters`](crate::hosts::HostsParameters)).
    pub fn control_loss(&self) -> f64 {
        match &self.spec {
            PlanSpec::Tdma(slots) => slots.control_loss,
            PlanSpec::Circuits(circuits) => circuits.control_loss,
            _ => 0.0,
        }
    }

    /// How many controllers there are: two where one stands by.
    pub fn controllers(&self) -> u32 {
        self.agents().terms().planners
    }

    /// The time between the end of a slot and the start of the next one, in which controllers and
    /// signals may be late: the guard, or what the dark time of a plan of circuits has to spare.
    /// `None` if the plan has no signals.
    fn margin(&self) -> Option<Duration> {
        match (&self.spec, &self.circuits) {
            (PlanSpec::Tdma(slots), _) => Some(slots.guard),
            (PlanSpec::Circuits(spec), Some(of)) => Some(circuits::spare(spec, of, &self.fabric, self.mtu)),
            _ => None,
        }
    }

    fn agents(&self) -> Box<dyn PlanAgents> {
        let site = Site {
            fabric: Arc::clone(&self.fabric),
            mtu: self.mtu,
            retune: self.circuits.map(|c| c.retune).unwrap_or_default(),
            // Signals cross the network in microseconds; messages take the demand channel.
            prompt_signals: true,
            seldom_asked: true,
        };
        assemble(&self.spec, &site)
    }
}

impl Plan for LivePlan {
    fn scheme(&self) -> &str {
        &self.scheme
    }

    fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    fn kind(&self) -> Kind {
        match self.spec {
            PlanSpec::Circuits(_) => Kind::Circuits,
            PlanSpec::Rates(_) => Kind::Rates,
            _ => Kind::Slots,
        }
    }

    /// A quarter of the guard between two slots, or of what the dark time of a plan of circuits has
    /// to spare. Rates have no guards: the schedule never slips.
    fn tolerance(&self) -> Duration {
        self.margin().map_or(Duration::MAX, |margin| margin / 4)
    }

    fn most_dark(&self) -> Option<Duration> {
        self.circuits.as_ref().map(|c| c.most_dark)
    }

    fn host(&self, encoding: SignalEncoding) -> Result<HostPlan, Failure> {
        let (hosts, terms) = (self.fabric.hosts(), self.agents().terms());
        let (classes, needed, signals) = (encoding.classes(), terms.least_classes, terms.signal_classes);
        if u32::from(classes) < needed || signals == Some(0) {
            return Err(PlanError::Classes { classes, hosts, needed }.into());
        }
        let rate = self.fabric.link(self.fabric.uplink(HostId(0))).spec.rate;
        let late_after = self.margin().map(|margin| margin.max(LEAST_LATE));
        let timeslots = matches!(self.spec, PlanSpec::Timeslots(_));
        let (fallback, reporting) = (terms.fallback, terms.reporting);
        Ok(HostPlan { hosts, fallback, reporting, signals, late_after, timeslots, rate })
    }

    fn has_standby(&self) -> bool {
        self.controllers() > 1
    }

    fn agent(
        &self,
        epoch: u32,
        start: Time,
        place: u32,
        after_restart: bool,
    ) -> Result<Box<dyn Agent + Send>, Failure> {
        let start = Start { epoch, at: start, after_restart };
        Ok(self.agents().controller(Role::Planner(place), start, &Algorithms::built_in())?)
    }
}
