//! The `[workload]` table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration};

/// Steps of a workload, at most.
pub const MOST_STEPS: u32 = 1_000;

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
    /// A collective of AI training: transfers that wait for each other.
    Collective(CollectiveSpec),
    /// A Chakra execution trace: computations, sends, receives and collectives that wait for each other.
    Chakra(ChakraTrace),
    /// A training workload of SimAI: layers with their computations and collectives.
    Simai(SimaiWorkload),
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

impl Workload {
    /// Whether flows wait for others, so that when they begin depends on the scheme.
    pub const fn has_steps(&self) -> bool {
        matches!(self, Self::Collective(_) | Self::Chakra(_) | Self::Simai(_))
    }
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
    /// over, so that its sender knows that all has arrived. When flows start then depends on the scheme.
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

/// A collective among all hosts, or among groups of them at the same time: each rank sends when it has received what that needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveSpec {
    /// What is done.
    pub operation: Collective,
    /// How.
    #[serde(default)]
    pub algorithm: CollectiveAlgorithm,
    /// The whole buffer: what each rank has before an all-reduce, a reduce-scatter or an all-to-all, and after an all-gather or a broadcast. It is cut
    /// into as many pieces as a group has ranks, which differ by a byte at most.
    pub bytes: Bytes,
    /// Ranks of a group; all hosts where it is missing. The hosts have to be a multiple of `group` times `stride`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// A group's ranks are so many hosts apart.
    #[serde(default = "one")]
    pub stride: u32,
    /// So many times, each time when all groups are done with the time before: each is a step.
    #[serde(default = "one")]
    pub steps: u32,
    /// How long each rank computes at the begin of a step.
    #[serde(default)]
    pub compute: Duration,
}

/// An operation of a group of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Collective {
    /// Everybody has the sum of all buffers.
    AllReduce,
    /// Everybody has the pieces of all.
    AllGather,
    /// Everybody has a piece of the sum.
    ReduceScatter,
    /// Everybody has a piece from everybody.
    AllToAll,
    /// Everybody has what the first rank has.
    Broadcast,
}

/// How a collective is made of transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveAlgorithm {
    /// To the next rank, piece by piece (Patarasuk and Yuan, JPDC 2009).
    #[default]
    Ring,
    /// With the rank of one other bit, half as much or twice as much each time (Thakur, Rabenseifner and Gropp, IJHPCA 2005); ranks are a power of
    /// two. For an all-to-all half of the buffer each time, for a broadcast a binomial tree.
    HalvingDoubling,
    /// Up a binary tree to its root and down again, piece after piece; not for an all-to-all.
    Tree,
    /// Everybody to everybody at once.
    Direct,
}

/// How the collectives of a trace are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CollectiveAlgorithms {
    /// All-reduces.
    pub all_reduce: CollectiveAlgorithm,
    /// All-gathers.
    pub all_gather: CollectiveAlgorithm,
    /// Reduce-scatters.
    pub reduce_scatter: CollectiveAlgorithm,
    /// All-to-alls.
    pub all_to_all: CollectiveAlgorithm,
    /// Broadcasts.
    pub broadcast: CollectiveAlgorithm,
}

impl Default for CollectiveAlgorithms {
    fn default() -> Self {
        use CollectiveAlgorithm::{Direct, Ring, Tree};
        Self { all_reduce: Ring, all_gather: Ring, reduce_scatter: Ring, all_to_all: Direct, broadcast: Tree }
    }
}

impl CollectiveAlgorithms {
    /// That of an operation.
    pub const fn of(&self, operation: Collective) -> CollectiveAlgorithm {
        match operation {
            Collective::AllReduce => self.all_reduce,
            Collective::AllGather => self.all_gather,
            Collective::ReduceScatter => self.reduce_scatter,
            Collective::AllToAll => self.all_to_all,
            Collective::Broadcast => self.broadcast,
        }
    }
}

/// A Chakra execution trace: a file per rank, length-delimited protobuf. Rank r is host r.
///
/// A node begins when all that it depends on is over. A send is over when all has been received, a receive when its send is; the first send to a rank
/// with a tag belongs to the first receive there, and so on. Computations take their `duration_micros`, and others at the same rank do not
/// delay them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChakraTrace {
    /// The files without their ends, looked up beside the scenario: `PREFIX.0.et`, `PREFIX.1.et`, ...
    pub prefix: String,
    /// How many ranks there have to be; as many as there are files where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// How collectives are done.
    #[serde(default)]
    pub algorithms: CollectiveAlgorithms,
    /// So many times, each time when all is over.
    #[serde(default = "one")]
    pub steps: u32,
    /// Computing times are multiplied by this.
    #[serde(default = "unit")]
    pub time_scale: f64,
    /// Sizes are multiplied by this; at least 1 B is left of those that are not zero.
    #[serde(default = "unit")]
    pub byte_scale: f64,
}

/// A training workload of SimAI: a layer a line, with times to compute and collectives of the forward pass, the input gradient and the weight gradient.
///
/// Hosts are ranks: with a tensor-parallel size of T (from the file), host h is in the tensor group of `h / T`, whose ranks are next to each other, and in the
/// data group of `h % T`, whose ranks are T apart. Collectives of the forward pass and of input gradients are done in the tensor groups, those of weight
/// gradients in the data groups; those of layers in `across` all in the data groups. `_EP` and `_DP_EP` at a collective's name are the expert groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimaiWorkload {
    /// The file, looked up beside the scenario, or a bundled name (`gpt_13b`, `llama_7b`).
    pub file: String,
    /// Names of layers whose collectives all are among the data groups: in files of AICB those of gradients and parameters, `grad_norm`, `layernorm` and `embedding_norm`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub across: Vec<String>,
    /// Only the first so many layers of a name, of those names that come more often; all where it is missing. Layers in `across` then have
    /// the share of their bytes and times that these layers are of theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u32>,
    /// How collectives are done.
    #[serde(default)]
    pub algorithms: CollectiveAlgorithms,
    /// Training steps, one after the other.
    #[serde(default = "one")]
    pub steps: u32,
    /// Computing times are multiplied by this.
    #[serde(default = "unit")]
    pub time_scale: f64,
    /// Sizes are multiplied by this; at least 1 B is left of those that are not zero.
    #[serde(default = "unit")]
    pub byte_scale: f64,
}

const fn unit() -> f64 {
    1.0
}
const fn one() -> u32 {
    1
}
