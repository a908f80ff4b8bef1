//! What a scheme of a scenario means for agents on real hosts.

mod circuits;

pub use circuits::CircuitFabric;

use crate::watch::Kind;
use std::sync::Arc;
use timeplane_model::{Duration, Fabric, FabricError, HostId, Rate, Time};
use timeplane_protocol::numbering::circuit_classes;
use timeplane_protocol::wire::SignalEncoding;
use timeplane_protocol::{
    Agent, CircuitController, CircuitControllerConfig, MakeScheduler, RateController, Reporting, SlotController,
    SlotControllerConfig, Standby, Succession,
};
use timeplane_scenario::agents::{circuit_algorithm, rate_controller, slot_controller};
use timeplane_scenario::{CircuitsSpec, PlanSpec, RateEstimator, Scenario, TdmaSpec, Topology, nearest};
use timeplane_schedule::{Schedulers, UnknownScheduler};

/// Why a scheme cannot run on real hosts.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The scenario has no such scheme.
    #[error("there is no scheme `{name}`{}", hint(.nearest))]
    Scheme {
        /// As it was named.
        name: String,
        /// The one that may be meant.
        nearest: Option<String>,
    },
    /// It has none, or one that only the simulator has.
    #[error("scheme `{scheme}`: {what}; live there are `plan.tdma` with `signals`, `plan.rates` and `plan.circuits`")]
    NotLive {
        /// The scheme.
        scheme: String,
        /// What it is.
        what: String,
    },
    /// The fabric cannot be built.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// Its scheduler does not exist.
    #[error(transparent)]
    Scheduler(#[from] UnknownScheduler),
    /// An encoding has fewer classes than the hosts need.
    #[error("an encoding of {classes} classes cannot name {hosts} hosts, which need {needed}")]
    Classes {
        /// Of the encoding.
        classes: u16,
        /// Of the fabric.
        hosts: u32,
        /// One or three for each.
        needed: u32,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
}

/// A scheme of a scenario, ready for real hosts.
#[derive(Clone, Debug)]
pub struct LivePlan {
    /// The scenario's name for it.
    pub scheme: String,
    /// All hosts and links.
    pub fabric: Arc<Fabric>,
    spec: PlanSpec,
    /// Of a plan of circuits.
    circuits: Option<CircuitFabric>,
    mtu: u32,
}

/// What every host of a plan is told when it joins: it needs no scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostPlan {
    /// How many hosts there are.
    pub hosts: u32,
    /// See [`HostConfig::fallback`](timeplane_protocol::HostConfig::fallback).
    pub fallback: Duration,
    /// When it reports beside that.
    pub reporting: Reporting,
    /// Classes below are destinations; `None` where no signals are sent.
    pub signals: Option<u16>,
    /// How fast hosts' links are: frames leave no faster, whatever the interface could do.
    pub rate: Rate,
}

impl LivePlan {
    /// Of a scheme of a scenario.
    ///
    /// # Errors
    /// Where there is none of that name, or it is nothing that real hosts do.
    pub fn new(scenario: &Scenario, scheme: &str) -> Result<Self, PlanError> {
        let unknown = || PlanError::Scheme {
            name: scheme.to_owned(),
            nearest: nearest(scheme, scenario.scheme.keys().map(String::as_str)),
        };
        let of = scenario.scheme.get(scheme).ok_or_else(unknown)?;
        let not_live = |what: &str| PlanError::NotLive { scheme: scheme.to_owned(), what: what.to_owned() };
        let spec = of.plan.clone().ok_or_else(|| not_live("it plans nothing"))?;
        match &spec {
            PlanSpec::Tdma(slots) if slots.signals.is_none() => {
                return Err(not_live("its gates follow the hosts' clocks, as there are no `signals`"));
            }
            PlanSpec::Tdma(slots) if slots.controllers.is_some() => return Err(not_live("its controller has relays")),
            PlanSpec::Tdma(slots) if slots.background.is_some() => {
                return Err(not_live("it leaves a share of the network outside the slots"));
            }
            PlanSpec::Tdma(slots) if slots.receive.is_some() => {
                return Err(not_live("it plans by receive buffers, and agents do not tell their room"));
            }
            PlanSpec::Rates(rates) if matches!(rates.estimator, RateEstimator::Arrivals(_)) => {
                return Err(not_live("it estimates by arrivals, and agents tell what waits only"));
            }
            PlanSpec::Rates(rates) if rates.control_loss > 0.0 => {
                return Err(not_live("it loses messages, and rates go over TCP, which loses none"));
            }
            PlanSpec::Tdma(_) | PlanSpec::Rates(_) => {
                if let Topology::Hybrid(_) = scenario.fabric.topology {
                    return Err(not_live("it plans no circuits, and the fabric has a circuit switch"));
                }
            }
            PlanSpec::Circuits(spec) => circuits::refuse(spec, &scenario.fabric.topology).map_err(|e| not_live(&e))?,
            PlanSpec::Timeslots(_) => {
                return Err(not_live("it plans timeslots, which need clocks that agree to a packet"));
            }
            PlanSpec::Flyways(_) => return Err(not_live("it plans flyways, which need radios")),
        }
        let fabric = Arc::new(scenario.fabric.build()?);
        let circuits = CircuitFabric::of(&scenario.fabric.topology);
        Ok(Self { scheme: scheme.to_owned(), fabric, spec, circuits, mtu: scenario.fabric.mtu.get() as u32 })
    }

    /// Whether signals alone open and close gates; rates do it otherwise, or beside them.
    pub fn by_signal(&self) -> bool {
        matches!(self.spec, PlanSpec::Tdma(_))
    }

    /// By how much a controller may be late before its schedule slips: a quarter of what lies between two slots, or of what the dark time of a plan of
    /// circuits has to spare. Rates have no gaps to keep: what is late is late.
    pub fn tolerance(&self) -> Duration {
        match (&self.spec, &self.circuits) {
            (PlanSpec::Tdma(slots), _) => slots.guard / 4,
            (PlanSpec::Circuits(spec), Some(of)) => circuits::spare(spec, of, &self.fabric, self.mtu) / 4,
            _ => Duration::MAX,
        }
    }

    /// The circuit switch of a plan of circuits, and the packet switch beside it.
    pub fn circuits(&self) -> Option<&CircuitFabric> {
        self.circuits.as_ref()
    }

    /// The share of signals that get lost on their way to hosts; 0 to 1. Reports and grants go over TCP, which loses none; of circuits, schedules and
    /// heartbeats are lost as well, as they are datagrams in the paper (see [`HostsParameters`](crate::lab::hosts::HostsParameters)).
    pub fn control_loss(&self) -> f64 {
        match &self.spec {
            PlanSpec::Tdma(slots) => slots.control_loss,
            PlanSpec::Circuits(circuits) => circuits.control_loss,
            _ => 0.0,
        }
    }

    /// What it plans, for a page of its controller.
    pub fn kind(&self) -> Kind {
        match self.spec {
            PlanSpec::Circuits(_) => Kind::Circuits,
            PlanSpec::Rates(_) => Kind::Rates,
            _ => Kind::Slots,
        }
    }

    /// How many controllers there are: two where one stands by.
    pub fn controllers(&self) -> u32 {
        match &self.spec {
            PlanSpec::Tdma(slots) if slots.standby.is_some() => 2,
            _ => 1,
        }
    }

    fn slots(&self, slots: &TdmaSpec) -> SlotControllerConfig {
        slot_controller(slots, &self.fabric, self.mtu)
    }

    /// What hosts are told.
    ///
    /// # Errors
    /// Where an encoding cannot name all of them.
    pub fn host(&self, encoding: SignalEncoding) -> Result<HostPlan, PlanError> {
        let hosts = self.fabric.hosts();
        let rate = self.fabric.link(self.fabric.uplink(HostId(0))).spec.rate;
        Ok(match &self.spec {
            PlanSpec::Tdma(slots) => {
                let config = self.slots(slots);
                let signals = config.host_signals(hosts);
                // A plain class per destination, and others for grants where the encoding has any left.
                if u32::from(encoding.classes()) < hosts || signals == Some(0) {
                    return Err(PlanError::Classes { classes: encoding.classes(), hosts, needed: hosts });
                }
                HostPlan { hosts, fallback: config.fallback(), reporting: Reporting::default(), signals, rate }
            }
            PlanSpec::Rates(rates) => {
                let config = rate_controller(rates);
                HostPlan { hosts, fallback: config.fallback, reporting: config.reporting(), signals: None, rate }
            }
            PlanSpec::Circuits(spec) => {
                let needed = circuit_classes(hosts);
                if u32::from(encoding.classes()) < needed {
                    return Err(PlanError::Classes { classes: encoding.classes(), hosts, needed });
                }
                let config = self.circuit_controller(spec);
                let signals = Some(config.host_signals());
                HostPlan { hosts, fallback: config.fallback(), reporting: Reporting::default(), signals, rate }
            }
            _ => unreachable!("refused when it was made"),
        })
    }

    /// The controller, as the `place`-th of all; the first leads at once.
    ///
    /// `after_restart`: others may still hold what a controller before this one granted, so that nothing is granted before that is over.
    ///
    /// # Errors
    /// Where the scheduler does not exist.
    pub fn controller(
        &self,
        epoch: u32,
        start: Time,
        place: u32,
        after_restart: bool,
    ) -> Result<Box<dyn Agent + Send>, PlanError> {
        let schedulers = Schedulers::built_in();
        match &self.spec {
            PlanSpec::Tdma(slots) => {
                let config = self.slots(slots);
                let quiet = if after_restart { config.memory() } else { Duration::ZERO };
                let config = SlotControllerConfig { epoch, start, quiet, ..config };
                if slots.standby.is_none() {
                    let scheduler = schedulers.build(&slots.scheduler, &config.slots)?;
                    return Ok(Box::new(SlotController::new(config, scheduler, Arc::clone(&self.fabric))));
                }
                let build = schedulers.factory(&slots.scheduler)?;
                let parameters = config.slots;
                let make: MakeScheduler = Box::new(move || build(&parameters));
                let succession = Succession { takeover: slots.takeover(), controllers: 2, place };
                // One that was killed and comes back does not know who leads by now, and a follower must not begin with an epoch above the
                // leader's, which it would take for a controller that has been replaced. It learns the epoch from peers and hosts.
                if place == 0 && !after_restart {
                    return Ok(Box::new(Standby::leading(config, succession, make, Arc::clone(&self.fabric))));
                }
                let config = SlotControllerConfig { epoch: 0, ..config };
                Ok(Box::new(Standby::new(config, succession, make, Arc::clone(&self.fabric))))
            }
            PlanSpec::Rates(rates) => {
                let config = timeplane_protocol::RateControllerConfig { epoch, ..rate_controller(rates) };
                let controller = RateController::new(config, &self.fabric);
                Ok(Box::new(
                    controller.map_err(|e| PlanError::NotLive { scheme: self.scheme.clone(), what: e.to_string() })?,
                ))
            }
            PlanSpec::Circuits(spec) => {
                let config = self.circuit_controller(spec);
                // As far as the schedules and rates of one before reach.
                let quiet = if after_restart { config.circuits.window + config.margin * 2 } else { Duration::ZERO };
                let config = CircuitControllerConfig { epoch, start: start.saturating_add(quiet), ..config };
                Ok(Box::new(CircuitController::new(config, circuit_algorithm(spec.scheduler).build())))
            }
            _ => unreachable!("refused when it was made"),
        }
    }

    fn circuit_controller(&self, spec: &CircuitsSpec) -> CircuitControllerConfig {
        let of = self.circuits.as_ref().expect("a plan without a circuit switch is refused");
        circuits::controller(spec, of, &self.fabric, self.mtu)
    }
}
