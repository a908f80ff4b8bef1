//! The `[workload]` table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration};

/// What is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// Flows that arrive as a Poisson process.
    Poisson(Poisson),
    /// A list of flows from a file.
    Flows(FlowList),
    /// Every host sends the same amount to every other.
    Shuffle(Shuffle),
    /// Groups of flows from a trace; a group is done when its last flow is.
    Coflows(CoflowTrace),
}

/// Flows that arrive as a Poisson process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Wire bytes over the rate of the hosts' links, as datagrams of the fabric's MTU would fill them: averaged over receivers, or
    /// at the one receiver of an incast. A matrix is scaled so that its most loaded host link has this load.
    pub load: f64,
    /// Who sends to whom.
    #[serde(default)]
    pub pattern: Pattern,
    /// Bytes of a flow.
    pub sizes: Sizes,
    /// How a flow is cut into packets; datagrams and raw frames only.
    #[serde(default)]
    pub packets: PacketMix,
}

/// Who sends to whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// A random host to a random other one, flow by flow.
    #[default]
    Uniform,
    /// All others to one host.
    Incast {
        /// Who receives.
        receiver: u32,
    },
    /// Every host to one other, drawn once from the seed; everyone receives from one (no host from itself).
    Permutation,
    /// Host i to host i + by, modulo the hosts.
    Stride {
        /// By how much.
        by: u32,
    },
    /// Every host to all others in turn.
    AllToAll,
    /// Pairs drawn with the weights of a matrix: a CSV file `source,destination,weight` with a header, or the name of a bundled one.
    Matrix {
        /// The file, looked up beside the scenario, or a bundled name (`projector`).
        file: String,
    },
}

/// Bytes of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sizes {
    /// All the same.
    Fixed(Bytes),
    /// Exponential with this mean, at least 1 B.
    Exponential(Bytes),
    /// From a CDF: a CSV file `bytes,cdf` (linear between its points), or the name of a bundled one.
    Cdf(String),
}

/// How a flow is cut into packets. Sizes are of IP packets, headers included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PacketMix {
    /// As large as the MTU allows.
    #[default]
    Mtu,
    /// All of one size.
    Fixed(Bytes),
    /// 40 B with probability 0.4, else 1500 B.
    Bimodal,
    /// A Facebook web server's: median about 150 B, 15 % at 1500 B (Roy et al., SIGCOMM 2015).
    FacebookWeb,
    /// 1500 B and 40 B in turn, each flow from its first packet on: what fits timeslots worst.
    Alternating,
    /// One packet a flow, however large: for queueing theory.
    Single,
}

/// A list of flows: CSV or Parquet with the columns `start_ps`, `source`, `destination`, `size_bytes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowList {
    /// The file, looked up beside the scenario.
    pub file: String,
}

/// Every host sends `bytes` to every other, all from time zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {
    /// For each pair.
    pub bytes: Bytes,
    /// Each flow starts at a random time in `[0, jitter)`.
    #[serde(default)]
    pub jitter: Duration,
    /// A host sends to its next neighbour first, then to the one after, and so on: each flow starts, at the earliest, when the host's flow before it is
    /// over, so that its sender knows that all has arrived. When flows start then depends on the control.
    #[serde(default)]
    pub in_turn: bool,
}

/// Coflows of a trace in the format of the Coflow benchmark; racks are hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoflowTrace {
    /// The file, looked up beside the scenario, or a bundled name (`fb2010`).
    pub file: String,
    /// Only coflows of at most so many flows that cross the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_flows: Option<u32>,
    /// Arrival times are multiplied by this.
    #[serde(default = "unit")]
    pub time_scale: f64,
    /// Sizes are multiplied by this; at least 1 B is left.
    #[serde(default = "unit")]
    pub byte_scale: f64,
    /// Each flow starts at a random time in `[0, jitter)` after its coflow: mappers do not end in the same picosecond.
    #[serde(default)]
    pub jitter: Duration,
}

const fn unit() -> f64 {
    1.0
}
