//! Agents of `plan.circuits`: a controller that sets a circuit switch and tells hosts when to send.
//!
//! The fabric is a hybrid one: a circuit switch and a packet switch side by side. Scenarios with
//! circuits on any other fabric are refused.

use crate::{AssemblyError, DemandSource, PlanAgents, PlanTerms, Role, Site, Start};
use std::sync::Arc;
use timeplane_model::{Candidates, Duration, Fabric, HostId, LinkId, NodeId, Rate, Time};
use timeplane_protocol::numbering::circuit_classes;
use timeplane_protocol::{Agent, CircuitController, CircuitControllerConfig, Detail, Reporting};
use timeplane_scenario::{CircuitDemand, CircuitsSpec};
use timeplane_schedule::circuits::CircuitParameters;
use timeplane_schedule::{Algorithm, Algorithms};

pub(crate) struct Circuits {
    pub spec: CircuitsSpec,
    pub site: Site,
}

impl Circuits {
    fn config(&self) -> CircuitControllerConfig {
        let (spec, fabric) = (&self.spec, &*self.site.fabric);
        let hosts = fabric.hosts();
        let host_rate = fabric.link(fabric.uplink(HostId(0))).spec.rate;
        let racks = Racks::of(fabric);
        let circuit = fabric.link(fabric.circuit_uplinks(racks.switches[0])[0]).spec.rate.min(host_rate);
        let packet = if spec.packets { racks.packet_share(fabric) } else { Rate::ZERO };
        let limits = spec.limits && spec.packets;
        let kept = spec.reserved(packet).as_bps();
        let planned = circuit.min(Rate::bps(host_rate.as_bps().saturating_sub(kept).max(1)));
        CircuitControllerConfig {
            epoch: 0,
            start: Time::ZERO,
            circuits: CircuitParameters {
                circuit: planned,
                packet,
                dark: spec.dark,
                retune: self.site.retune,
                least_open: spec.least_open,
                window: spec.period,
                most: spec.configurations.unwrap_or(u32::MAX),
            },
            line: host_rate,
            circuit,
            limits,
            acknowledgements: spec.acknowledgements,
            unreported: spec.unreported,
            links: (0..hosts).map(|h| fabric.uplink(HostId(h))).collect(),
            circuit_uplinks: racks.switches.iter().map(|&s| fabric.circuit_uplinks(s)).collect(),
            packet_uplinks: racks.switches.iter().map(|&s| racks.packet_uplinks(fabric, s)).collect(),
            racks: racks.of_hosts,
            control_latency: spec.control_latency + spec.frames(fabric).max(spec.transfer(fabric, self.site.mtu)),
            compute_time: spec.compute_time,
            stop: spec.stop(fabric, self.site.mtu),
            open_lead: if self.site.prompt_signals { Duration::ZERO } else { spec.open_lead(fabric) },
            margin: Duration::from_us(1),
        }
    }
}

impl PlanAgents for Circuits {
    fn fabric(&self) -> &Arc<Fabric> {
        &self.site.fabric
    }

    fn terms(&self) -> PlanTerms {
        let config = self.config();
        PlanTerms {
            control_loss: self.spec.control_loss,
            signal_classes: Some(config.host_signals()),
            least_classes: circuit_classes(self.site.fabric.hosts()),
            signals: self.spec.signals,
            slot_slack: Some(config.open_lead + config.stop),
            opens_early: true,
            reporting: Reporting {
                detail: if self.spec.reports_coflows() { Detail::Coflows } else { Detail::Destinations },
                ..Reporting::default()
            },
            demand: match self.spec.demand {
                CircuitDemand::Oracle => DemandSource::Oracle,
                _ => DemandSource::Queues,
            },
            ..PlanTerms::new(self.spec.control, self.spec.control_latency, config.fallback())
        }
    }

    fn controller(
        &self,
        _: Role,
        start: Start,
        algorithms: &Algorithms,
    ) -> Result<Box<dyn Agent + Send>, AssemblyError> {
        let config = self.config();
        // Schedules and rates of an earlier start reach this far.
        let reach = config.circuits.window + config.margin * 2;
        let at = if start.after_restart { start.at.saturating_add(reach) } else { start.at };
        let config = CircuitControllerConfig { epoch: start.epoch, start: at, ..config };
        let scheduler = match &self.spec.scheduler {
            Algorithm::BuiltIn(scheduler) => scheduler.build_with(self.spec.tuning()),
            Algorithm::Own(own) => algorithms
                .circuits
                .build(own, &config.parameters())
                .map_err(AssemblyError::own("plan.circuits.scheduler"))?,
        };
        Ok(Box::new(CircuitController::new(config, scheduler)))
    }
}

/// The racks of a hybrid fabric.
struct Racks {
    /// The rack of each host.
    of_hosts: Vec<u32>,
    /// The switch of each rack.
    switches: Vec<NodeId>,
}

impl Racks {
    fn of(fabric: &Fabric) -> Self {
        let switch = |h: u32| fabric.link(fabric.uplink(HostId(h))).to;
        // Hosts are numbered rack by rack.
        let mut switches: Vec<NodeId> = (0..fabric.hosts()).map(switch).collect();
        let of_hosts = switches.iter().map(|s| s.0 - switches[0].0).collect();
        switches.dedup();
        Self { of_hosts, switches }
    }

    /// The packet switch's rate for one host; hosts of a rack with fewer uplinks than hosts share
    /// them.
    fn packet_share(&self, fabric: &Fabric) -> Rate {
        let last = HostId(fabric.hosts() - 1);
        let Candidates::Set(uplinks @ [first, ..]) = fabric.candidates(self.switches[0], last) else {
            return Rate::ZERO;
        };
        let hosts = self.of_hosts.iter().filter(|&&rack| rack == 0).count();
        let rate = fabric.link(*first).spec.rate.as_bps();
        Rate::bps(rate * uplinks.len().min(hosts) as u64 / hosts as u64)
    }

    /// Links from a rack's switch to the packet switch; none if there is only one rack.
    fn packet_uplinks(&self, fabric: &Fabric, switch: NodeId) -> Vec<LinkId> {
        let far = (0..fabric.hosts()).find(|&h| fabric.link(fabric.uplink(HostId(h))).to != switch);
        match far.map(|h| fabric.candidates(switch, HostId(h))) {
            Some(Candidates::Set(uplinks)) => uplinks.to_vec(),
            _ => Vec::new(),
        }
    }
}
