//! Agents of `plan.flyways`: a controller that sets up 60 GHz links between racks.
//!
//! The fabric's hosts are racks here. The [`field`] tells which rack hears which other one; the
//! simulator derives its medium from the same field.

use crate::{AssemblyError, DemandSource, PlanAgents, PlanTerms, Role, Site, Start};
use std::sync::Arc;
use timeplane_model::{Fabric, HostId, Rate};
use timeplane_protocol::{Agent, FlywayController, FlywayControllerConfig, Pointing, RadioLinks};
use timeplane_radio::{Field, FlywayRules, InputError, Layout, LinkBudget, Rack, bundled};
use timeplane_scenario::{FlywaysSpec, PointingSpec, RadioSpec};
use timeplane_schedule::flyways::{FlywayPlanner, Wired};
use timeplane_schedule::{Algorithm, Algorithms};

/// Why racks have no field.
#[derive(Debug, thiserror::Error)]
pub enum FieldError {
    /// The bundled layout cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The positions of racks are impossible.
    #[error("the layout of racks: {0}")]
    Layout(String),
}

/// Computes the received power between racks, for this number of racks.
///
/// # Errors
/// If there are more racks than positions, or racks overlap.
pub fn field(spec: &FlywaysSpec, racks: u32) -> Result<Arc<Field>, FieldError> {
    let all = Layout::parse("racks_160.csv", bundled::RACKS_160, Rack::default())?;
    let middles =
        spec.middles(racks).unwrap_or_else(|| all.antennas().iter().take(racks as usize).map(|p| (p.x, p.y)).collect());
    let layout = Layout::new(Rack::default(), &middles).map_err(|e| FieldError::Layout(e.to_string()))?;
    if layout.racks() != racks as usize {
        return Err(FieldError::Layout(format!("{racks} racks on {} places", layout.racks())));
    }
    Ok(Arc::new(Field::new(&layout, spec.antenna.antenna(), &LinkBudget::default())))
}

pub(crate) struct Flyways {
    pub spec: FlywaysSpec,
    pub site: Site,
}

impl Flyways {
    fn config(&self) -> FlywayControllerConfig {
        let spec = &self.spec;
        let mac = spec.mac.parameters();
        let pointing = match spec.pointing() {
            PointingSpec::Trained { sectors } => Pointing::Trained { mac, sectors },
            PointingSpec::Coordinated { steering } => Pointing::Coordinated { steering },
        };
        FlywayControllerConfig {
            epoch: 0,
            every: spec.every,
            compute_time: spec.compute_time,
            latency: spec.control_latency,
            setup: pointing.takes(),
            lease: spec.lease,
            measure_every: spec.measure_every,
        }
    }
}

impl PlanAgents for Flyways {
    fn fabric(&self) -> &Arc<Fabric> {
        &self.site.fabric
    }

    fn terms(&self) -> PlanTerms {
        PlanTerms {
            control_loss: self.spec.control_loss,
            reporting: self.config().reporting(),
            demand: DemandSource::Sockets,
            ..PlanTerms::new(self.spec.control, self.spec.control_latency, self.spec.report_every)
        }
    }

    fn controller(
        &self,
        _: Role,
        start: Start,
        algorithms: &Algorithms,
    ) -> Result<Box<dyn Agent + Send>, AssemblyError> {
        let (spec, fabric) = (&self.spec, &self.site.fabric);
        let error = |e: &dyn std::fmt::Display| AssemblyError::Flyways(e.to_string());
        let field = field(spec, fabric.hosts()).map_err(|e| error(&e))?;
        let rules =
            FlywayRules { radios: spec.radios as usize, channels: spec.channels as usize, ..FlywayRules::default() };
        let links = RadioLinks::new(field, rules);
        let config = FlywayControllerConfig { epoch: start.epoch, ..self.config() };
        let wired = wired(fabric);
        let policy = match &spec.policy {
            Algorithm::BuiltIn(policy) => policy.build(),
            Algorithm::Own(own) => {
                algorithms.flyways.build(own, &wired).map_err(AssemblyError::own("plan.flyways.policy"))?
            }
        };
        let controller = FlywayController::new(config, FlywayPlanner::new(policy), wired, links);
        Ok(Box::new(controller.map_err(|e| error(&e))?))
    }
}

/// The wired network between racks: a rack's uplink is what its switch can send to other switches.
fn wired(fabric: &Fabric) -> Wired {
    let switch = RadioSpec::switch_of(fabric, 0);
    let up = fabric.links().iter().filter(|l| l.from == switch && l.to.0 >= fabric.hosts());
    let uplink: u64 = up.map(|l| l.spec.rate.as_bps()).sum();
    Wired {
        racks: fabric.hosts() as usize,
        hosts: fabric.link(fabric.uplink(HostId(0))).spec.rate,
        uplink: Rate::bps(uplink),
        core: None,
    }
}
