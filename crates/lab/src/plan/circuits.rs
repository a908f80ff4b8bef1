//! Plans of circuits on real hosts: the switches that they need, and which of them are unsupported.
//!
//! The controller may be late by as much as the planned dark time exceeds the switch's.

use timeplane_live::tuner::Darkens;
use timeplane_model::{Duration, Fabric, Rate};
use timeplane_scenario::{CircuitDemand, CircuitsSpec, Retune, Topology};

/// A circuit switch and the packet switch next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitFabric {
    /// Minimum dark time of retuned ports.
    pub least_dark: Duration,
    /// Maximum dark time of retuned ports.
    pub most_dark: Duration,
    /// Which ports are dark during a change.
    pub darkens: Darkens,
    /// Rate of the packet switch towards each host, in bits on the wire.
    pub packet_rate: Rate,
    pub(super) retune: Retune,
}

impl CircuitFabric {
    /// The switches of a fabric that has a circuit switch.
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

/// What real hosts do not support of the plan.
pub(super) fn refuse(spec: &CircuitsSpec, topology: &Topology) -> Result<(), String> {
    let Topology::Hybrid(hybrid) = topology else { return Err("its fabric has no circuit switch".to_owned()) };
    let shape = hybrid.shape();
    if (shape.hosts_per_tor, shape.packet_uplinks, shape.circuit_uplinks) != (1, 1, 1) {
        return Err("its fabric has racks, but a host is a port of the circuit switch: expected 1 for `hosts_per_tor` and uplinks".to_owned());
    }
    if spec.demand == CircuitDemand::Oracle {
        return Err("it plans by an oracle, but agents report only their backlog".to_owned());
    }
    if spec.reports_coflows() {
        return Err("it orders coflows, but agents do not know them: expected `coflows = false`".to_owned());
    }
    if spec.acknowledgements > 0.0 {
        return Err(
            "it reserves packets for acknowledgements, which agents do not need: expected `acknowledgements` of 0"
                .to_owned(),
        );
    }
    Ok(())
}

/// By how much the planned dark time exceeds the switch's; zero if it is too short.
pub(super) fn spare(spec: &CircuitsSpec, of: &CircuitFabric, fabric: &Fabric, mtu: u32) -> Duration {
    (spec.dark - spec.stop(fabric, mtu) - of.most_dark).max(Duration::ZERO)
}
