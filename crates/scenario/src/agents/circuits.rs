//! What a controller of circuits is told of the fabric and its hosts.

use crate::{CircuitAlgorithm, CircuitsSpec, Retune};
use timeplane_model::{Candidates, Duration, Fabric, HostId, NodeId, Rate, Time};
use timeplane_protocol::{CircuitControllerConfig, SLACK};
use timeplane_schedule::circuits::{self, CircuitParameters};

/// What a controller of circuits is told, of packets of `mtu` bytes, where the switch darkens the ports that `retune` says.
///
/// The fabric is a hybrid one: scenarios with circuits on another are refused.
pub fn circuit_controller(spec: &CircuitsSpec, fabric: &Fabric, retune: Retune, mtu: u32) -> CircuitControllerConfig {
    let hosts = fabric.hosts();
    let tor = |h: u32| fabric.link(fabric.uplink(HostId(h))).to;
    let host_link = &fabric.link(fabric.uplink(HostId(0))).spec;
    let ports = fabric.circuit_uplinks(tor(0));
    let circuit_link = &fabric.link(ports[0]).spec;
    let packet = fabric.candidates(tor(0), HostId(hosts - 1));
    let packet_rate = match packet {
        Candidates::Set([first, ..]) => fabric.link(*first).spec.rate,
        _ => Rate::ZERO,
    };
    // Racks with fewer wires than hosts share them.
    let share = |rate: Rate, wires: usize, per_rack: usize| {
        Rate::bps(rate.as_bps() * wires.min(per_rack) as u64 / per_rack as u64)
    };
    let per_rack = (0..hosts).filter(|&h| tor(h) == tor(0)).count();
    let packet_wires = match packet {
        Candidates::Set(set) => set.len(),
        Candidates::Host(_) => 0,
    };
    let packet = if spec.packets { share(packet_rate, packet_wires, per_rack) } else { Rate::ZERO };
    let racks = (0..hosts).map(|h| tor(h).0 - tor(0).0).collect();
    // In the order of hosts, racks are counted as they come.
    let mut tors: Vec<NodeId> = (0..hosts).map(tor).collect();
    tors.dedup();
    let packet_uplinks = tors.iter().map(|&t| {
        // Any host of another rack; a single rack needs no way up.
        let far = (0..hosts).find(|&h| tor(h) != t).map(|h| fabric.candidates(t, HostId(h)));
        if let Some(Candidates::Set(set)) = far { set.to_vec() } else { Vec::new() }
    });
    let circuit = circuit_link.rate.min(host_link.rate);
    let limits = spec.limits && spec.packets;
    // Schedules count on what is left beside a packet switch that nobody has asked for.
    let share = spec.acknowledgements + spec.unreported + SLACK;
    let kept = if limits { (packet.as_bps() as f64 * share).ceil() as u64 } else { 0 };
    let beside = circuit.min(Rate::bps(host_link.rate.as_bps().saturating_sub(kept).max(1)));
    CircuitControllerConfig {
        epoch: 0,
        start: Time::ZERO,
        circuits: CircuitParameters {
            circuit: beside,
            packet,
            dark: spec.dark,
            retune: match retune {
                Retune::AllStop => circuits::Retune::AllStop,
                Retune::Moved => circuits::Retune::Moved,
            },
            least_open: spec.least_open,
            window: spec.period,
            most: spec.configurations.unwrap_or(u32::MAX),
        },
        line: host_link.rate,
        circuit,
        limits,
        acknowledgements: spec.acknowledgements,
        unreported: spec.unreported,
        links: (0..hosts).map(|h| fabric.uplink(HostId(h))).collect(),
        racks,
        circuit_uplinks: tors.iter().map(|&t| fabric.circuit_uplinks(t)).collect(),
        packet_uplinks: packet_uplinks.collect(),
        control_latency: spec.control_latency + spec.frames(fabric),
        compute_time: spec.compute_time,
        stop: spec.stop(fabric, mtu),
        open_lead: spec.open_lead(fabric),
        margin: Duration::from_us(1),
    }
}

/// A scenario's algorithm as the schedulers know it.
pub const fn circuit_algorithm(name: CircuitAlgorithm) -> circuits::CircuitAlgorithm {
    match name {
        CircuitAlgorithm::Solstice => circuits::CircuitAlgorithm::Solstice,
        CircuitAlgorithm::Eclipse => circuits::CircuitAlgorithm::Eclipse,
        CircuitAlgorithm::Tms => circuits::CircuitAlgorithm::Tms,
        CircuitAlgorithm::MaxWeight => circuits::CircuitAlgorithm::MaxWeight { day: None },
        CircuitAlgorithm::Adjust => circuits::CircuitAlgorithm::Adjust { lambda: None },
        CircuitAlgorithm::Sunflow => circuits::CircuitAlgorithm::Sunflow,
        CircuitAlgorithm::CoverAll => circuits::CircuitAlgorithm::CoverAll,
        CircuitAlgorithm::RoundRobin => circuits::CircuitAlgorithm::RoundRobin,
        CircuitAlgorithm::Hold => circuits::CircuitAlgorithm::Hold,
    }
}
