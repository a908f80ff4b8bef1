//! The types of a scenario: a fabric, a workload and the schemes to compare on it.
//!
//! These types are the only definition of a scenario. TOML parsing, the JSON Schema, the reference
//! and the Python classes are derived from them. Keys are snake_case; quantities are strings with a
//! unit. A choice among alternatives is a table with one key, the name of the alternative:
//! `topology.leaf_spine = { leaves = 4, hosts_per_leaf = 30, spines = 3 }`.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod capture;
mod change;
mod check;
mod circuits;
mod control;
mod controllers;
mod document;
mod error;
mod fabric;
mod failure;
mod flyways;
mod host;
#[expect(clippy::disallowed_methods, reason = "it reads scenario files")]
mod load;
mod ndp;
mod own_fabric;
mod pause;
mod preset;
mod proxy;
mod radio;
mod rotor;
mod scheme;
mod shape;
mod signals;
mod standby;
mod tcp;
mod validate;
mod workload;

pub use capture::{CapturePoint, CapturePointError};
pub use change::{Change, Wires};
pub use check::{Check, Limit};
pub use control::{ControlNetworkSpec, ControlSpec, InBandSpec};
pub use controllers::ControllersSpec;
pub use error::{Issue, Location, Problem, ScenarioError, Source};
pub use fabric::{
    DarkTime, FabricSpec, GraphLink, HybridSpec, MOST_HOSTS, MOST_SWITCHES, MOST_WIRES, RetuneTimes, Topology,
};
pub use failure::{Element, Failure};
pub use flyways::{FlywaysSpec, PointingSpec};
pub use host::{HostLatency, HostSpec, HostTimes};
pub use load::{Loaded, Point, split_override};
pub use ndp::Ndp;
pub use own_fabric::{OwnFabric, OwnSwitch};
pub use pause::{Pause, PausedPackets};
pub use preset::{Preset, PresetHost, PresetLatency};
pub use proxy::ProxySpec;
pub use radio::{
    Access, AirQueue, HandoverSpec, InOutage, Interference, LinkTraceSpec, NoRate, OwnRadio, QueuedSpec, RadioLink,
    RadioSpec,
};
pub use rotor::{BulkBy, BulkSpec, Matchings, RotorRoutingSpec, RotorSpec, RotorSpecError};
pub use scheme::{
    BackgroundSpec, CircuitDemand, CircuitsSpec, Discipline, Ecmp, FlowOrder, Nic, PlanSpec, RatesSpec, Raw,
    ReceiveSpec, Scheme, TdmaSpec, TimeslotsSpec, Transport,
};
pub use signals::{Interfaces, Reaction, ReactionTimes, SignalSpec};
pub use standby::StandbySpec;
pub use tcp::{Tcp, TcpPreset};
// Choices that scenarios name, defined beside their implementations.
pub use timeplane_protocol::{PredictedConfig, ProactiveConfig, ProxyPolicy, RateEstimator};
pub use timeplane_radio::{AckPath, AntennaName, MacName, RoomName};
pub use timeplane_schedule::circuits::{CircuitAlgorithm, Retune};
pub use timeplane_schedule::flyways::FlywayPolicy;
pub use timeplane_schedule::rotor::{Late, Stepping, routing::RotorRouting};
pub use timeplane_schedule::{
    Algorithm, Algorithms, OwnAlgorithm, PathColoring, RateNormalizer, SlotFill, SlotMetric, TdmaScheduler,
};
pub use timeplane_transport::ndp::Spray;
pub use timeplane_transport::{CongestionKind, DelayedAck, RtoRule};
pub use workload::{
    ChakraTrace, CoflowTrace, Collective, CollectiveAlgorithm, CollectiveAlgorithms, CollectiveSpec, FlowList,
    MOST_STEPS, MoreRacks, PacketMix, Pattern, Poisson, Shuffle, SimaiWorkload, Sizes, Workload,
};

use core::ops::Not;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// An experiment: one workload under several schemes. Schemes share one fabric unless they define
/// their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the results folder; default: the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Question that the scenario answers, in one or two sentences; printed above the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// First seed.
    #[serde(default = "one")]
    pub seed: u64,
    /// Number of consecutive seeds; confidence intervals need at least two.
    #[serde(default = "one_u32")]
    pub seeds: u32,
    /// Network between the hosts.
    pub fabric: FabricSpec,
    /// Traffic; it never depends on the scheme.
    pub workload: Workload,
    /// Measurement: warm-up, measured interval, drain.
    #[serde(default)]
    pub window: Window,
    /// Data to record in addition to flows, coflows, drops and control messages.
    #[serde(default)]
    pub record: Record,
    /// Elements that fail during the run, and when they recover.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure: Vec<Failure>,
    /// Wires that change their rate during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<Change>,
    /// Hosts that pause data or acknowledgements at given times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pause: Vec<Pause>,
    /// Schemes to compare, by name; the first is the baseline for differences.
    pub scheme: IndexMap<String, Scheme>,
    /// Values to sweep, by dotted key: `"workload.poisson.load" = [0.2, 0.5]`. Several keys form a
    /// grid. Keys joined by commas change together: `"fabric.rate, workload.poisson.load" = [["10
    /// Gb/s", 0.2], ["40 Gb/s", 0.5]]`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub sweep: IndexMap<String, Vec<serde_json::Value>>,
    /// Bounds on the results; if one is violated, the command exits with code 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<Check>,
}

impl Record {
    /// The capture points. Skips texts that are not capture points, which validation rejects.
    pub fn captured(&self) -> impl Iterator<Item = CapturePoint> + '_ {
        self.capture.iter().filter_map(|text| text.parse().ok())
    }
}

impl Scenario {
    /// Converts to canonical JSON: keys in the order of the types, defaults written out, quantities
    /// in their largest whole unit.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a scenario has text keys and finite numbers")
    }

    /// Everything that one run depends on, without names: fabric, workload, measurement, record,
    /// failures, rate changes, pauses, one scheme and the seed. The fabric is always the
    /// scenario's, because the workload is generated for it; the differences of a scheme's own
    /// fabric are part of the scheme.
    ///
    /// Returns `None` if there is no such scheme.
    pub fn run_json(&self, scheme: &str, seed: u64) -> Option<serde_json::Value> {
        let scheme = self.scheme.get(scheme)?;
        let mut run = serde_json::json!({
            "seed": seed,
            "fabric": self.fabric,
            "workload": self.workload,
            "window": self.window,
            "record": self.record,
            "scheme": scheme,
        });
        if !self.failure.is_empty() {
            run["failure"] = serde_json::json!(self.failure);
        }
        if !self.change.is_empty() {
            run["change"] = serde_json::json!(self.change);
        }
        if !self.pause.is_empty() {
            run["pause"] = serde_json::json!(self.pause);
        }
        Some(run)
    }
}

/// The JSON Schema (draft 2020-12) of a scenario, derived from the types.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Scenario);
    schema.insert("title".to_owned(), "timeplane scenario".into());
    // Serialized, so that its keywords keep the order of the types.
    serde_json::to_value(schema).expect("a schema is JSON")
}

const fn one() -> u64 {
    1
}
const fn one_u32() -> u32 {
    1
}

/// Measurement. A flow counts if it arrives in `[warmup, warmup + measure)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Window {
    /// Flows that arrive earlier are simulated but not counted.
    pub warmup: Duration,
    /// Length of the measured interval; default: until the workload ends, which a Poisson workload
    /// never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Duration>,
    /// Time that the run continues after the measured interval; flows that are still active then
    /// count as unfinished. Arrivals continue during the drain to keep up the load. Default:
    /// arrivals end with the measured interval, and the run ends when every flow has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Duration>,
}

/// Begin of a packet's time in the network. It ends with the packet's last bit at its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatencyFrom {
    /// Its first bit leaves the host.
    #[default]
    Host,
    /// Its last bit arrives at the first switch, which leaves out the host's own link.
    FirstSwitch,
}

/// Data to record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Interval at which the lengths of all queues that are not empty are sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues_every: Option<Duration>,
    /// Interval at which the bytes that each host has received are sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_every: Option<Duration>,
    /// Interval at which the congestion window and the round-trip times of each TCP sender are
    /// sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_every: Option<Duration>,
    /// Record the time that each packet spends in the network.
    pub latency: bool,
    /// Begin of that time.
    pub latency_from: LatencyFrom,
    /// Record the round-trip time of each TCP segment.
    pub rtt: bool,
    /// Record round-trip times of TCP by three readings, and over time with `tcp_every`: of each
    /// segment; one per acknowledgement of new data, and none of segments that were sent again, as
    /// a sender without SACK measures them; and until a segment is delivered in order.
    #[serde(skip_serializing_if = "Not::not")]
    pub round_trips: bool,
    /// Record what hosts were granted by plans of rates or timeslots: each change of a pair's rate,
    /// and each timeslot as a slot. Slots and circuits are always recorded.
    pub grants: bool,
    /// Record when each control frame arrives at its host, what it opens or closes, and when the
    /// host obeys, under plans with `signals`.
    pub signals: bool,
    /// Capture points. The frames at each are written to a file in the folder of the run, such as
    /// `host-3.pcapng`, for Wireshark and similar tools. `host 3` captures what this host sends and
    /// receives, data and control messages. `link 5` captures one direction of a wire, by its
    /// number in the table `links`. `controller 0` captures the messages of a controller; higher
    /// numbers are the standby, then the relays. Captures do not change the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capture: Vec<String>,
}
