//! What a lab of rotor switches takes from a scenario, and what it refuses.
//!
//! Refused is what a lab has not; the scenario itself has been checked before.

use std::path::Path;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Framing, Rate, nearest};
use timeplane_scenario::{
    HostLatency, Late, RotorRouting, RotorSpec, RotorSpecError, Scenario, Scheme, Topology, Transport,
};
use timeplane_schedule::Algorithms;
use timeplane_schedule::rotor::routing::{Routing, RoutingParameters, Spread};
use timeplane_schedule::rotor::{Cycle, RotorError, RotorTiming};

/// The least dark time. Racks may be late by a quarter of it.
const LEAST_DARK: Duration = Duration::from_us(200);
/// The MTU of a lab's links.
pub const MTU: u32 = 1500;

/// Why a lab of rotor switches rejects a scenario.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A key has a value that only a simulation supports.
    #[error("{key}: {what}")]
    Unsupported {
        /// Dotted name of the key.
        key: String,
        /// What it asks for, and what is expected.
        what: String,
    },
    /// The scheme does not exist.
    #[error("unknown scheme `{name}`{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Scheme {
        /// The unknown name.
        name: String,
        /// A scheme with a similar name.
        nearest: Option<String>,
    },
    /// The schedule is impossible.
    #[error("fabric.topology.rotor: {0}")]
    Schedule(#[from] RotorSpecError),
    /// The schedule file cannot be read.
    #[error("fabric.topology.rotor.matchings: {path}: {source}")]
    File {
        /// Path of the file.
        path: std::path::PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// The routing cannot be computed.
    #[error("scheme.{scheme}.rotor.routing: {source}")]
    Routing {
        /// Name of the scheme.
        scheme: String,
        /// The reason.
        source: RotorError,
    },
}

/// The racks of a scheme.
#[derive(Clone)]
pub struct RotorNetwork {
    /// Name of the scheme.
    pub scheme: String,
    /// The schedule in time, as racks plan it.
    pub cycle: Arc<Cycle>,
    /// The schedule of the switch, which is dark for half of the planned time.
    pub switch: Arc<Cycle>,
    /// How much later than racks the switch turns, and so how late racks may be.
    pub margin: Duration,
    /// The routing with its tables.
    pub routing: Arc<dyn Routing>,
    /// Whether packets take turns.
    pub in_turn: bool,
    /// What happens to late packets.
    pub late: Late,
    /// Limit of the queue for one circuit, in wire bytes.
    pub queue: Option<Bytes>,
    /// Rate of hosts.
    pub rate: Rate,
    /// Rate of circuits.
    pub uplink_rate: Rate,
    /// Frames on the wire.
    pub framing: Framing,
}

fn unsupported<T>(key: impl Into<String>, what: impl Into<String>) -> Result<T, NetworkError> {
    Err(NetworkError::Unsupported { key: key.into(), what: what.into() })
}

/// Rejects what no scheme of such a lab can have, and returns the topology.
///
/// # Errors
/// If the scenario has what only a simulation supports.
pub fn topology(scenario: &Scenario) -> Result<&RotorSpec, NetworkError> {
    let Topology::Rotor(spec) = &scenario.fabric.topology else {
        return unsupported("fabric.topology", "expected `rotor`");
    };
    for (key, found) in [("switches", spec.switches), ("hosts_per_rack", spec.hosts_per_rack)] {
        if found != 1 {
            let what = format!("{found}, but each host of a lab is a rack, and a port of one rotor switch: expected 1");
            return unsupported(format!("fabric.topology.rotor.{key}"), what);
        }
    }
    if scenario.fabric.mtu.get() != u64::from(MTU) {
        let found = scenario.fabric.mtu;
        return unsupported("fabric.mtu", format!("{found}, but hosts of a lab send {MTU} B: expected {MTU} B"));
    }
    if spec.dark < LEAST_DARK {
        let what = format!(
            "{}, but hosts of a lab wake up late: expected at least {LEAST_DARK}, of which the switch is dark for half",
            spec.dark
        );
        return unsupported("fabric.topology.rotor.dark", what);
    }
    let needed = spec.dark + line(scenario);
    if spec.slice < needed {
        let what = format!("{}: expected at least {needed}, the dark time and a full frame", spec.slice);
        return unsupported("fabric.topology.rotor.slice", what);
    }
    for (key, is_empty) in [
        ("failure", scenario.failure.is_empty()),
        ("change", scenario.change.is_empty()),
        ("pause", scenario.pause.is_empty()),
    ] {
        if !is_empty {
            return unsupported(key, "only a simulation of rotor switches has it: remove the key");
        }
    }
    if scenario.workload.has_steps() {
        return unsupported(
            "workload",
            "its flows wait for others: expected `poisson`, `flows`, `shuffle` or `coflows`",
        );
    }
    Ok(spec)
}

/// The time of a full frame on a circuit.
fn line(scenario: &Scenario) -> Duration {
    let frame = Bytes::new(scenario.fabric.framing.wire(MTU).into());
    scenario.fabric.uplink_rate.unwrap_or(scenario.fabric.rate).time_for(frame)
}

impl RotorNetwork {
    /// The network of a scheme. Files are relative to `base`.
    ///
    /// # Errors
    /// If the scheme does not exist, or a lab does not support it.
    pub fn new(scenario: &Scenario, scheme: &str, base: &Path) -> Result<Self, NetworkError> {
        let spec = topology(scenario)?;
        let unknown = || NetworkError::Scheme {
            name: scheme.to_owned(),
            nearest: nearest(scheme, scenario.scheme.keys().map(String::as_str)),
        };
        let of = scenario.scheme.get(scheme).ok_or_else(unknown)?;
        let rotor = refuse(scheme, of)?;
        let read = |name: &str| {
            let path = base.join(name);
            std::fs::read_to_string(&path).map_err(|source| NetworkError::File { path, source })
        };
        let text = spec.file().map(read).transpose()?;
        let schedule = Arc::new(spec.schedule(text.as_deref())?);
        let timing = spec.timing().map_err(RotorSpecError::from)?;
        let uplink_rate = scenario.fabric.uplink_rate.unwrap_or(scenario.fabric.rate);
        let parameters =
            RoutingParameters { schedule: Arc::clone(&schedule), slice: spec.slice, rate: uplink_rate, whole: true };
        let routing = rotor
            .routing
            .build(&parameters, &Algorithms::built_in().routings)
            .map_err(|source| NetworkError::Routing { scheme: scheme.to_owned(), source })?;
        let own = RotorTiming::new(spec.slice, spec.dark / 2).map_err(RotorSpecError::from)?;
        Ok(Self {
            scheme: scheme.to_owned(),
            // Virtual wires have no length.
            switch: Arc::new(Cycle::new(Arc::clone(&schedule), own, Duration::ZERO)),
            cycle: Arc::new(Cycle::new(schedule, timing, Duration::ZERO)),
            margin: spec.dark / 4,
            routing: routing.into(),
            in_turn: matches!(rotor.routing, RotorRouting::Vlb { spread: Spread::InTurn }),
            late: rotor.late,
            queue: rotor.queue,
            rate: scenario.fabric.rate,
            uplink_rate,
            framing: scenario.fabric.framing,
        })
    }
}

/// Rejects what a lab has not, and returns the routing.
fn refuse<'a>(name: &str, of: &'a Scheme) -> Result<&'a timeplane_scenario::RotorRoutingSpec, NetworkError> {
    let no = |key: &str, what: &str| unsupported(format!("scheme.{name}{key}"), what);
    let Some(rotor) = &of.rotor else { return no("", "it has no `rotor`: expected one") };
    if of.fabric.is_some() {
        return no(".fabric", "a lab has one fabric for all schemes: remove the key");
    }
    if of.transport != (Transport::Datagrams {}) {
        return no(".transport", "hosts of this lab send raw frames: expected `datagrams`");
    }
    if of.host_latency() != HostLatency::None {
        return no(".host", "hosts of a lab take the time that they take: remove the key");
    }
    if rotor.routing.is_granted() {
        return no(
            ".rotor.routing",
            "racks of RotorLB agree without delay, which only a simulation can: expected another",
        );
    }
    if rotor.routing.own().is_some() {
        return no(".rotor.routing", "only a simulation has routings of your own: expected another");
    }
    if rotor.bulk.is_some() {
        return no(".rotor.bulk", "racks of a lab have one class: remove the key");
    }
    Ok(rotor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_scenario::Loaded;

    fn load(overrides: &[(&str, &str)]) -> Loaded {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/rotor_live.toml");
        let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), vec![v.to_string()])).collect();
        Loaded::from_file(file, &overrides).unwrap()
    }

    #[test]
    fn a_scheme_is_a_network_whose_switch_is_dark_for_half_of_the_planned_time() {
        let loaded = load(&[]);
        for scheme in ["direct", "vlb", "hoho"] {
            let network = RotorNetwork::new(&loaded.scenario, scheme, &loaded.base).unwrap();
            let times = [network.cycle.timing().dark(), network.switch.timing().dark(), network.margin];
            assert_eq!(times, [500, 250, 125].map(Duration::from_us));
            assert_eq!((network.cycle.schedule().racks(), network.in_turn), (6, false));
        }
    }

    #[test]
    fn what_the_lab_has_not_is_refused() {
        let refused = |overrides: &[(&str, &str)], scheme| {
            let loaded = load(overrides);
            RotorNetwork::new(&loaded.scenario, scheme, &loaded.base).map(|_| ()).unwrap_err().to_string()
        };
        for (overrides, scheme, message) in [
            (&[("fabric.topology.rotor.switches", "2")][..], "vlb", "fabric.topology.rotor.switches: 2, but each host"),
            (&[("fabric.topology.rotor.hosts_per_rack", "3")], "vlb", "hosts_per_rack: 3"),
            (&[("fabric.mtu", "9000 B")], "vlb", "fabric.mtu: 9 kB"),
            (&[("fabric.topology.rotor.dark", "10 us")], "vlb", "rotor.dark: 10 us, but hosts of a lab wake up late"),
            (&[("fabric.topology.rotor.slice", "600 us")], "vlb", "rotor.slice: 600 us: expected at least 746.08 us"),
            (&[("scheme.vlb.transport", "{ ndp = {} }")], "vlb", "scheme.vlb.transport: hosts of this lab"),
            (&[("scheme.vlb.rotor.bulk", "{ above = \"1 MB\", routing.direct = {} }")], "vlb", "rotor.bulk"),
            (&[("scheme.vlb.rotor.routing", "{ rotor_lb = {} }")], "vlb", "racks of RotorLB agree"),
            (&[("scheme.vlb.rotor.routing", "{ own = \"mine\" }")], "vlb", "routings of your own"),
            (&[("scheme.vlb.rotor.routing", "{ shale = { dimensions = 2 } }")], "vlb", "scheme.vlb.rotor.routing: "),
            (&[], "vbl", "unknown scheme `vbl`; did you mean `vlb`?"),
        ] {
            let found = refused(overrides, scheme);
            assert!(found.contains(message), "{found}");
        }
    }
}
