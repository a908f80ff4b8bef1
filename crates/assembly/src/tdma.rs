//! Agents of `plan.tdma`: a controller that plans rounds of exclusive slots.
//!
//! There may be a second controller that takes over when the first one fails, and relays that are
//! each in charge of a part of the hosts. Where a share of the links is left to short flows, all of
//! them plan on a fabric whose links are slower by that share.

use crate::{AssemblyError, ClockTerms, PlanAgents, PlanTerms, RelayTerms, Role, Site, Start};
use std::sync::Arc;
use timeplane_model::{Bytes, Demand, Duration, Fabric, LinkSpec, Node, Plan, Rate};
use timeplane_protocol::{
    Agent, ControlPorts, MakeScheduler, Relay, RelayConfig, Reporting, SignalConfig, SlotController,
    SlotControllerConfig, Standby, Succession,
};
use timeplane_scenario::{ControlSpec, TdmaSpec};
use timeplane_schedule::{Algorithm, Algorithms, OwnError, Scheduler, SlotParameters, Standing};

/// How often an idle network of real hosts is asked for reports, unless a round is longer. Each
/// time costs the hosts and the controller some wake-ups.
const SELDOM: Duration = Duration::from_ms(100);

pub(crate) struct Tdma {
    spec: TdmaSpec,
    /// Its fabric is the planned one, without the share of short flows.
    site: Site,
}

impl Tdma {
    pub(crate) fn new(spec: TdmaSpec, mut site: Site) -> Self {
        if let Some(background) = spec.background.filter(|b| b.rate > Rate::ZERO) {
            site.fabric = Arc::new(slower(&site.fabric, background.rate));
        }
        Self { spec, site }
    }

    fn config(&self) -> SlotControllerConfig {
        let (spec, fabric, mtu) = (&self.spec, &self.site.fabric, self.site.mtu);
        let frame = fabric.links().iter().map(|l| l.spec.framing.wire(mtu)).max().unwrap_or(mtu);
        let frame = Bytes::new(u64::from(frame));
        let slots = SlotParameters { open: spec.slot, guard: spec.guard, slots: spec.round_slots, frame };
        let signals = self.signals();
        let config = SlotControllerConfig::new(slots);
        SlotControllerConfig {
            idle: if self.site.seldom_asked { slots.round().max(SELDOM) } else { config.idle },
            control_latency: spec.control_way(fabric, mtu),
            compute_time: spec.compute_time,
            relays: spec.relays(),
            relay_error: spec.relay_error(),
            // Hosts' clocks open no gates if signals do.
            clock_error: if signals.is_some() { Duration::ZERO } else { spec.clock_bound() },
            signals,
            receive_buffers: spec.receive.is_some(),
            ports: self.ports(),
            ..config
        }
    }

    /// What grants pass on their way.
    fn ports(&self) -> Option<ControlPorts> {
        let (spec, fabric) = (&self.spec, &self.site.fabric);
        let ways = if spec.relays() > 0 { 2 } else { 1 };
        let included = spec.transfer(fabric, self.site.mtu) * ways;
        let slowest = || fabric.links().iter().map(|l| l.spec.rate).min();
        let (all, each) = match spec.control {
            ControlSpec::Unlimited => return None,
            ControlSpec::Network(ports) => (ports.controller_rate, ports.host_rate),
            ControlSpec::InBand(_) => slowest().map(|rate| (rate, rate))?,
        };
        Some(ControlPorts { all, each, included })
    }

    /// How the controllers signal; `None` if the hosts' clocks open gates.
    fn signals(&self) -> Option<SignalConfig> {
        let (spec, fabric) = (&self.spec, &self.site.fabric);
        let s = spec.signals?;
        let times = s.reaction.times();
        let skew = s.skew(fabric, spec.relays());
        let delay = spec.control_latency + s.frame_time(fabric) + (skew + times.on_least + times.on_most) / 2;
        Some(SignalConfig { hold: s.hold, slack: skew + times.off_most, delay })
    }

    fn relay(&self, number: u32, epoch: u32) -> Relay {
        let (fabric, mtu) = (&*self.site.fabric, self.site.mtu);
        let config = RelayConfig {
            number,
            relays: self.spec.relays(),
            epoch,
            control_latency: self.spec.control_latency + self.spec.transfer(fabric, mtu),
            gather: self.spec.gather(fabric, mtu),
            signals: self.signals(),
        };
        Relay::new(config, Arc::clone(&self.site.fabric))
    }

    /// Makes the scheduler anew whenever a controller takes over.
    fn maker(&self, slots: SlotParameters, algorithms: &Algorithms) -> Result<MakeScheduler, AssemblyError> {
        let own = match &self.spec.scheduler {
            &Algorithm::BuiltIn(scheduler) => return Ok(Box::new(move || scheduler.build(&slots))),
            Algorithm::Own(own) => own,
        };
        let build = algorithms.tdma.factory(own).map_err(|e| own_error()(e.into()))?;
        let parameters = own.parameters.clone();
        // A constructor that fails now does so before the run.
        build(&slots, &parameters).map_err(own_error())?;
        Ok(Box::new(move || build(&slots, &parameters).unwrap_or_else(|e| Box::new(Unmade(e)))))
    }

    /// One of two controllers that replace each other.
    fn standby(&self, place: u32, start: Start, algorithms: &Algorithms) -> Result<Standby, AssemblyError> {
        let fabric = Arc::clone(&self.site.fabric);
        let config = SlotControllerConfig { start: start.at, ..self.config() };
        let make = self.maker(config.slots, algorithms)?;
        let succession =
            Succession { takeover: self.spec.takeover(&self.site.fabric, self.site.mtu), controllers: 2, place };
        if place == 0 && !start.after_restart {
            let config = SlotControllerConfig { epoch: start.epoch, ..config };
            return Ok(Standby::leading(config, succession, make, fabric));
        }
        // A controller that returns does not know which one leads. It learns the epoch from peers
        // and hosts: with a higher one of its own it would depose the leader.
        Ok(Standby::new(config, succession, make, fabric))
    }
}

fn own_error() -> impl Fn(OwnError) -> AssemblyError {
    AssemblyError::own("plan.tdma.scheduler")
}

/// Stands for an own scheduler whose constructor fails at a takeover.
struct Unmade(OwnError);

impl Scheduler for Unmade {
    fn plan(&mut self, _: &Demand, _: &Fabric, _: &Standing) -> Plan {
        Plan::Slots(Vec::new())
    }
    fn failure(&self) -> Option<OwnError> {
        Some(self.0.clone())
    }
}

impl PlanAgents for Tdma {
    fn fabric(&self) -> &Arc<Fabric> {
        &self.site.fabric
    }

    fn terms(&self) -> PlanTerms {
        let (spec, config) = (&self.spec, self.config());
        let hosts = self.site.fabric.hosts();
        let signals = config.signals.map_or(Duration::ZERO, |s| s.slack * 2 + config.control_latency);
        let relays = spec.controllers.as_ref().map(|relays| RelayTerms {
            count: relays.count,
            latency: spec.relay_latency(),
            loss: relays.loss.unwrap_or(spec.control_loss),
            clock_error: relays.clock_error,
        });
        PlanTerms {
            peer_latency: spec.peer_latency(),
            control_loss: spec.control_loss,
            clocks: ClockTerms {
                error: spec.clock_error,
                drift_ppm: spec.clock_drift,
                resync: spec.resync,
                ..ClockTerms::default()
            },
            signal_classes: config.host_signals(hosts),
            // One for each destination; grants take others where some are left.
            least_classes: if config.signals.is_some() { hosts } else { 0 },
            signals: spec.signals.unwrap_or_default(),
            planners: if spec.standby.is_some() { 2 } else { 1 },
            relays,
            slot_slack: Some(spec.clock_bound() * 2 + signals + spec.relay_error() * 2),
            reporting: Reporting {
                after_idle: self.site.seldom_asked.then(|| config.idle_longer()),
                ..Reporting::default()
            },
            shares_links: spec.background.is_some_and(|b| b.rate > Rate::ZERO),
            ..PlanTerms::new(spec.control, spec.control_latency, config.fallback())
        }
    }

    fn controller(
        &self,
        role: Role,
        start: Start,
        algorithms: &Algorithms,
    ) -> Result<Box<dyn Agent + Send>, AssemblyError> {
        let place = match role {
            Role::Relay(number) => return Ok(Box::new(self.relay(number, start.epoch))),
            Role::Planner(place) => place,
        };
        if self.spec.standby.is_some() {
            return Ok(Box::new(self.standby(place, start, algorithms)?));
        }
        let config = self.config();
        let quiet = if start.after_restart { config.memory() } else { Duration::ZERO };
        let config = SlotControllerConfig { epoch: start.epoch, start: start.at, quiet, ..config };
        let scheduler = match &self.spec.scheduler {
            Algorithm::BuiltIn(scheduler) => scheduler.build(&config.slots),
            Algorithm::Own(own) => algorithms.tdma.build(own, &config.slots).map_err(own_error())?,
        };
        Ok(Box::new(SlotController::new(config, scheduler, Arc::clone(&self.site.fabric))))
    }
}

/// The fabric with every link slower by `share`.
fn slower(fabric: &Fabric, share: Rate) -> Fabric {
    let slower =
        |spec: LinkSpec| LinkSpec { rate: Rate::bps(spec.rate.as_bps().saturating_sub(share.as_bps())), ..spec };
    let switches = fabric.nodes().iter().filter_map(|n| match n {
        Node::Switch(switch) => Some(*switch),
        Node::Host(_) => None,
    });
    // Links come in pairs, one for each direction of a wire, with the same specification.
    let wires: Vec<_> = fabric.links().iter().step_by(2).map(|l| (l.from, l.to, slower(l.spec))).collect();
    Fabric::new(fabric.hosts(), switches.collect(), &wires).expect("the shape of the fabric does not change")
}
