//! Flyways of a scenario: the field of its radios, their medium, and their controller.

pub(crate) mod links;

use crate::air::medium::{Access, AirLink, Medium, MediumSpec, Way};
use crate::air::{AirError, queue};
use crate::control::ControlError;
use std::sync::Arc;
use timeplane_model::{Fabric, HostId, Rate};
use timeplane_protocol::{FlywayController, FlywayControllerConfig, Pointing, RadioLinks};
use timeplane_radio::{
    Antenna, Dbm, FLYWAYS_NOISE, Field, FlywayRules, Layout, LinkBudget, MacParameters, Mcs, Rack, bundled,
};
use timeplane_scenario::{AccessSpec, FlywaysSpec, PointingSpec, RadioSpec};
use timeplane_schedule::flyways::{FlywayPlanner, Policies, Wired};
use timeplane_workload::Streams;

/// Who hears whom among a scenario's racks.
///
/// # Errors
/// Where racks do not fit into the layout, or one into another.
pub fn field(spec: &FlywaysSpec, racks: u32) -> Result<Arc<Field>, AirError> {
    let all = Layout::parse("racks_160.csv", bundled::RACKS_160, Rack::default())?;
    let middles: Vec<(f64, f64)> = match &spec.positions_m {
        Some(places) => places.iter().map(|p| (p[0], p[1])).collect(),
        None => all.antennas().iter().take(racks as usize).map(|p| (p.x, p.y)).collect(),
    };
    let layout = Layout::new(Rack::default(), &middles).map_err(|e| AirError::Layout(e.to_string()))?;
    if layout.racks() != racks as usize {
        return Err(AirError::Layout(format!("{racks} racks on {} places", layout.racks())));
    }
    let antenna = Antenna::Table(bundled::antenna(spec.antenna.name())?);
    Ok(Arc::new(Field::new(&layout, antenna, &LinkBudget::default())))
}

/// An idle medium: a station and a link, which is down, for each rack and channel.
pub fn medium(spec: &FlywaysSpec, racks: u32, mtu: u32, streams: &Streams) -> Medium {
    let n = racks * spec.channels;
    let slowest = Mcs::ofdm().next().expect("there are OFDM rates");
    let links = (0..n).map(|s| {
        let stream = streams.fast("air link", u64::from(s), "losses");
        AirLink::new(s, s, Way::Coded(slowest), queue(spec.queue, mtu), stream)
    });
    let medium = MediumSpec {
        mac: spec.mac.parameters(),
        access: match spec.access {
            AccessSpec::Dcf => Access::Dcf,
            AccessSpec::DcfWithoutCollisions => Access::DcfWithoutCollisions,
            AccessSpec::NoBackoff => Access::NoBackoff,
            AccessSpec::Token | AccessSpec::Planned => Access::Token,
        },
        retries: spec.retries,
        noise: FLYWAYS_NOISE.milliwatts(),
        senses: Dbm::new(RadioSpec::default().senses_dbm).milliwatts(),
        channels: (0..n).map(|s| s % spec.channels).collect(),
        powers: vec![0.0; (n * n) as usize],
    };
    let mut medium = Medium::new(
        medium,
        links.collect(),
        (0..u64::from(n)).map(|s| streams.fast("station", s, "back-off")).collect(),
    );
    (0..n).for_each(|l| medium.take_down(l));
    medium
}

/// What the controller is told.
pub fn flyway_config(spec: &FlywaysSpec) -> FlywayControllerConfig {
    let mac = MacParameters::ALL.into_iter().find(|m| **m == spec.mac.parameters()).unwrap_or(MacParameters::ALL[0]);
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
    }
}

/// The controller, on a fabric whose hosts are racks.
///
/// # Errors
/// Where flyways cannot be planned for this fabric.
pub fn flyway_controller(
    spec: &FlywaysSpec,
    config: FlywayControllerConfig,
    fabric: &Fabric,
) -> Result<FlywayController<RadioLinks<Arc<Field>>>, ControlError> {
    let wrong = |e: &dyn std::fmt::Display| ControlError::Flyways(e.to_string());
    let racks = fabric.hosts();
    let field = field(spec, racks).map_err(|e| wrong(&e))?;
    let rules =
        FlywayRules { radios: spec.radios as usize, channels: spec.channels as usize, ..FlywayRules::default() };
    let policy = Policies::built_in().get(spec.policy.name()).map_err(|e| wrong(&e))?;
    let links = RadioLinks::new(field, rules);
    FlywayController::new(config, FlywayPlanner::new(policy), wired(fabric), links).map_err(|e| wrong(&e))
}

/// A fabric's racks as the controller knows them: what leaves a rack is what its switch sends to other switches.
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
