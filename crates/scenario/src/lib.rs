//! WHAT is studied: a fabric, a workload and the schemes to compare on it.
//!
//! These types are the one definition of a scenario: TOML files, JSON Schema, the reference and the Python classes
//! all come from them. Keys are snake_case; quantities are strings with a unit. A choice among alternatives is a table with one key, the
//! alternative's name: `topology.leaf_spine = { leaves = 4, hosts_per_leaf = 30, spines = 3 }`.

mod capture;
mod change;
mod check;
mod circuits;
mod controllers;
mod document;
mod error;
mod fabric;
mod failure;
mod flyways;
mod load;
mod own_fabric;
mod proxy;
mod radio;
mod scheme;
mod shape;
mod signals;
mod standby;
mod validate;
mod workload;

pub use capture::{CapturePoint, CapturePointError};
pub use change::{Change, Wires};
pub use check::{Check, Limit};
pub use controllers::ControllersSpec;
pub use error::{Issue, Location, Problem, ScenarioError, Source, nearest};
pub use fabric::{
    DarkTime, FabricSpec, GraphLink, HybridSpec, MOST_HOSTS, MOST_SWITCHES, MOST_WIRES, Retune, RetuneTimes, Topology,
};
pub use failure::{Element, Failure};
pub use flyways::{FlywayPolicy, FlywaysSpec, PointingSpec};
pub use load::{Loaded, Point, split_override};
pub use own_fabric::{OwnFabric, OwnSwitch};
pub use proxy::{PredictedSpec, ProactiveSpec, ProxyPolicy, ProxySpec};
pub use radio::{
    AccessSpec, AckWay, AirQueue, AntennaName, HandoverSpec, InOutage, Interference, LinkTraceSpec, MacName, OwnRadio,
    QueuedSpec, RadioLink, RadioSpec, RoomName,
};
pub use scheme::{
    BackgroundSpec, CircuitAlgorithm, CircuitDemand, CircuitsSpec, Congestion, DelayedAck, Discipline, Ecmp, Nic,
    PathColouring, PlanSpec, RateEstimator, RateNormaliser, RatesSpec, Raw, ReceiveSpec, Scheme, SlotFill, SlotMetric,
    Tcp, TdmaSpec, TimeslotsSpec, Transport,
};
pub use signals::{Interfaces, Reaction, ReactionTimes, SignalSpec};
pub use standby::StandbySpec;
pub use workload::{
    ChakraTrace, CoflowTrace, Collective, CollectiveAlgorithm, CollectiveAlgorithms, CollectiveSpec, FlowList,
    MOST_STEPS, PacketMix, Pattern, Poisson, Shuffle, SimaiWorkload, Sizes, Workload,
};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::Duration;

/// A question: one workload under several schemes, on one fabric or, where a scheme has its own, on several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the results folder; the file's name where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is asked, in a sentence or two; printed above the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The first seed.
    #[serde(default = "one")]
    pub seed: u64,
    /// How many seeds, counted up from the first; intervals need at least two.
    #[serde(default = "one_u32")]
    pub seeds: u32,
    /// Everything between hosts.
    pub fabric: FabricSpec,
    /// What is sent. It never depends on the scheme.
    pub workload: Workload,
    /// What counts: warm-up, measured window, drain.
    #[serde(default)]
    pub window: Window,
    /// What is recorded beside flows, coflows, drops and control messages.
    #[serde(default)]
    pub record: Record,
    /// What fails while it runs, and returns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure: Vec<Failure>,
    /// Which wires change their rate while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<Change>,
    /// The schemes to compare, by name; the first is the baseline of differences.
    pub scheme: IndexMap<String, Scheme>,
    /// Values to try, by dotted key: `"workload.poisson.load" = [0.2, 0.5]`; several keys make a grid. Keys with commas between them change
    /// together: `"fabric.rate, workload.poisson.load" = [["10 Gb/s", 0.2], ["40 Gb/s", 0.5]]`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub sweep: IndexMap<String, Vec<serde_json::Value>>,
    /// What must come out; where it does not, the command ends with 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<Check>,
}

impl Record {
    /// The places whose frames are written down; texts that name none are left out, as validation refuses them.
    pub fn captured(&self) -> impl Iterator<Item = CapturePoint> + '_ {
        self.capture.iter().filter_map(|text| text.parse().ok())
    }
}

impl Scenario {
    /// As JSON in one canonical form: keys in the order of the types, defaults written out, quantities in their largest whole unit.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a scenario has text keys and finite numbers")
    }

    /// All that one run depends on, without names: fabric, workload, window, record, failures, changes, one scheme and the seed. The fabric is the
    /// scenario's also where the scheme has its own, as the workload is made for it; what the scheme changes is in the scheme.
    ///
    /// `None` where there is no such scheme.
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
        Some(run)
    }
}

/// The JSON Schema (draft 2020-12) of a scenario, made from the types.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Scenario);
    schema.insert("title".to_owned(), "timeplane scenario".into());
    // Serialised rather than taken as it is: so its keywords come in the order that people read them.
    serde_json::to_value(schema).expect("a schema is JSON")
}

const fn one() -> u64 {
    1
}
const fn one_u32() -> u32 {
    1
}

/// What counts. A flow is measured where it arrives in `[warmup, warmup + measure)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Window {
    /// Flows before this are simulated and not counted.
    pub warmup: Duration,
    /// Length of the measured window. Missing: until the workload ends, which a Poisson workload never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Duration>,
    /// How long the run goes on after the last arrival; flows that do not finish are counted as unfinished. Arrivals go on
    /// in the drain, so that the load stays. Missing: arrivals end with the window and the run ends when every flow is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Duration>,
}

/// What is recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Takes the length of every queue that is not empty, once in each such interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues_every: Option<Duration>,
    /// Takes what each host has received, once in each such interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_every: Option<Duration>,
    /// Takes the window of every TCP sender and its round-trip times, once in each such interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_every: Option<Duration>,
    /// Takes the time that each packet spends in the network.
    pub latency: bool,
    /// Takes the round-trip time of every TCP segment.
    pub rtt: bool,
    /// Writes down what hosts were granted where rates or timeslots are planned: each change of a pair's rate, and each timeslot as a slot. Slots and
    /// circuits are written down in any case.
    pub grants: bool,
    /// Writes the frames of these places to a file each, as `host-3.pcapng` in the folder of a run, for Wireshark and its like. `host 3` is what this host
    /// sends and receives, data and control messages; `link 5` one direction of a wire, by its number in the table `links`; `controller 0` the messages
    /// of a controller (then come a standby and relays). All else stays as it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capture: Vec<String>,
}
