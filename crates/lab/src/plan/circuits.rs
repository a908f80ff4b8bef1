//! Plans of circuits on real hosts: the switches that they need, and which of them are unsupported.
//!
//! The dark time that a plan has to spare is how late its controller may be.

use timeplane_live::tuner::Darkens;
use timeplane_model::{Duration, Fabric, Rate};
use timeplane_scenario::{CircuitDemand, CircuitsSpec, Retune, Topology};

/// A circuit switch and the packet switch beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitFabric {
    /// For how long ports are dark that are retuned, at least.
    pub least_dark: Duration,
    /// At most.
    pub most_dark: Duration,
    /// Which ports those are.
    pub darkens: Darkens,
    /// How fast the packet switch is towards each host, in bits on the wire.
    pub packet_rate: Rate,
    pub(super) retune: Retune,
}

impl CircuitFabric {
    /// That of a fabric which has one.
    pub(super) fn of(topology: &Topology) -> Option<Self> {
        let Topology::Hybrid(hybrid) = topology else { return None };
        let times = hybrid.dark.times();
        Some(Self {
            least_dark: times.least,
            most_dark: times.most,
            darkens: match hybrid.retune {
                Retune::AllStop => Darkens::All,
                Retune::Moved => Darkens::Moved,
            },
            packet_rate: hybrid.packet_rate,
            retune: hybrid.retune,
        })
    }
}

/// What real hosts do not do of it.
pub(super) fn refuse(spec: &CircuitsSpec, topology: &Topology) -> Result<(), String> {
    let Topology::Hybrid(hybrid) = topology else { return Err("its fabric has no circuit switch".to_owned()) };
    let shape = hybrid.shape();
    if (shape.hosts_per_tor, shape.packet_uplinks, shape.circuit_uplinks) != (1, 1, 1) {
        return Err("its fabric has racks, but a host is a port of the circuit switch: expected 1 for `hosts_per_tor` and uplinks".to_owned());
    }
    if spec.demand == CircuitDemand::Oracle {
        return Err("it plans by an oracle, but agents report only their backlog".to_owned());
    }
    if spec.acknowledgements > 0.0 {
        return Err(
            "it reserves packets for acknowledgements, which agents do not need: expected `acknowledgements` of 0"
                .to_owned(),
        );
    }
    Ok(())
}

/// By how much a planned dark time is longer than it has to be; zero where it is too short.
pub(super) fn spare(spec: &CircuitsSpec, of: &CircuitFabric, fabric: &Fabric, mtu: u32) -> Duration {
    (spec.dark - spec.stop(fabric, mtu) - of.most_dark).max(Duration::ZERO)
}
