//! The `[workload]` table: flows from a random process or a file, coflows, and collectives of AI
//! training. The crate `workload` generates the flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration};

/// Maximum number of steps of a workload.
pub const MOST_STEPS: u32 = 1_000;

/// Traffic between the hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// Flows that arrive as a Poisson process.
    Poisson(Poisson),
    /// A list of flows from a file.
    Flows(FlowList),
    /// Every host sends the same amount to every other host.
    Shuffle(Shuffle),
    /// Coflows from a trace: groups of flows, each complete when its last flow is.
    Coflows(CoflowTrace),
    /// A collective of AI training: transfers that depend on each other.
    Collective(CollectiveSpec),
    /// A Chakra execution trace: computations, sends, receives and collectives that depend on each
    /// other.
    Chakra(ChakraTrace),
    /// A SimAI training workload: layers with computations and collectives.
    Simai(SimaiWorkload),
}

/// Flows that arrive as a Poisson process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Load: wire bytes as a share of the rate of the hosts' links, if datagrams fill the MTU of
    /// the fabric. It is the mean over receivers, or the load of the single receiver of an incast.
    /// A matrix is scaled so that its most loaded host link has this load.
    pub load: f64,
    /// Sources and destinations of the flows.
    #[serde(default)]
    pub pattern: Pattern,
    /// Distribution of the bytes of a flow.
    pub sizes: Sizes,
    /// Sizes of the packets of a flow; datagrams and raw frames only.
    #[serde(default)]
    pub packets: PacketMix,
}

/// Sources and destinations of the flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// From a random host to a random other host, for each flow.
    #[default]
    Uniform,
    /// From all hosts to one host.
    Incast {
        /// The receiver.
        receiver: u32,
    },
    /// From every host to one other host: a permutation without fixed points, drawn once from the
    /// seed.
    Permutation,
    /// From host `i` to host `i + by`, modulo the number of hosts.
    Stride {
        /// Distance between source and destination.
        by: u32,
    },
    /// From every host to all others in turn.
    AllToAll,
    /// Pairs drawn with the weights of a matrix: a CSV file `source,destination,weight` with a
    /// header, or the name of a bundled matrix.
    Matrix {
        /// File relative to the scenario, or a bundled name (`projector`).
        file: String,
        /// What to do with a matrix of more racks than the fabric has hosts; default: refuse it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more_racks: Option<MoreRacks>,
    },
}

/// How a matrix of more racks than hosts becomes one of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoreRacks {
    /// Rack `i` becomes a part of host `i` modulo the number of hosts. Traffic between two racks of
    /// one host is left out.
    Fold,
    /// The racks that send and receive most, in the order of their numbers. Traffic of others is
    /// left out.
    Busiest,
}

/// Distribution of the bytes of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Sizes {
    /// All flows have the same size.
    Fixed(Bytes),
    /// Exponential with this mean, at least 1 B.
    Exponential(Bytes),
    /// From a CDF: a CSV file `bytes,cdf` (interpolated linearly), or the name of a bundled CDF.
    Cdf(String),
    /// Only the sizes of a CDF's points, from such a file or a bundled one: the next larger one of
    /// the interpolated size. Opera's simulations draw sizes in this way (NSDI 2020, section 5).
    CdfPoints(String),
}

impl Workload {
    /// Whether flows wait for others, so that their start times depend on the scheme.
    pub const fn has_steps(&self) -> bool {
        matches!(self, Self::Collective(_) | Self::Chakra(_) | Self::Simai(_))
    }

    /// Whether the start times of flows depend on the scheme: with steps, or if the flows of a host
    /// take turns. Otherwise all schemes get the same arrivals.
    pub const fn starts_depend_on_scheme(&self) -> bool {
        self.has_steps() || matches!(self, Self::Shuffle(shuffle) if shuffle.in_turn)
    }
}

/// Sizes of the packets of a flow: IP packets, including headers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PacketMix {
    /// As large as the MTU allows.
    #[default]
    Mtu,
    /// All packets have the same size.
    Fixed(Bytes),
    /// 40 B with probability 0.4, else 1500 B.
    Bimodal,
    /// A Facebook web server: median about 150 B, 15 % at 1500 B (Roy et al., SIGCOMM 2015).
    FacebookWeb,
    /// 1500 B and 40 B in turn, for each flow from its first packet; the worst case for timeslots.
    Alternating,
    /// One packet per flow, however large; for queueing theory.
    Single,
}

/// A list of flows: CSV or Parquet with the columns `start_ps`, `source`, `destination`,
/// `size_bytes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowList {
    /// File relative to the scenario.
    pub file: String,
}

/// Every host sends `bytes` to every other host, starting at time zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {
    /// Bytes for each pair.
    pub bytes: Bytes,
    /// Flows start at random times in `[0, jitter)`.
    #[serde(default)]
    pub jitter: Duration,
    /// Send to one destination at a time: first to the next host, then to the one after it, and so
    /// on. A flow starts when the host's previous flow has completed, so start times depend on the
    /// scheme.
    #[serde(default)]
    pub in_turn: bool,
}

/// Coflows of a trace in the format of the Coflow benchmark; racks are hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoflowTrace {
    /// File relative to the scenario, or a bundled name (`fb2010`).
    pub file: String,
    /// Maximum number of flows across the fabric; larger coflows are skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_flows: Option<u32>,
    /// Factor for arrival times.
    #[serde(default = "unit")]
    pub time_scale: f64,
    /// Factor for sizes; at least 1 B remains.
    #[serde(default = "unit")]
    pub byte_scale: f64,
    /// Flows start at random times in `[0, jitter)` after their coflow, because mappers do not all
    /// end at the same picosecond.
    #[serde(default)]
    pub jitter: Duration,
    /// Number of equal blocks of time into which the trace is cut. Each seed draws as many of them,
    /// with repetition, and joins them, so that seeds vary the traffic (a block bootstrap);
    /// default: n^(2/3) for n coflows. `1` replays the trace as it is, for every seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
}

/// A collective among all hosts, or among several groups at the same time. A rank sends as soon as
/// it has received the data that it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveSpec {
    /// Operation of the collective.
    pub operation: Collective,
    /// Algorithm.
    #[serde(default)]
    pub algorithm: CollectiveAlgorithm,
    /// Size of the whole buffer. It is what each rank has before an all-reduce, a reduce-scatter or
    /// an all-to-all, and after an all-gather or a broadcast. It is cut into as many pieces as a
    /// group has ranks; their sizes differ by at most one byte.
    pub bytes: Bytes,
    /// Ranks per group; default: all hosts. The number of hosts has to be a multiple of `group`
    /// times `stride`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Distance between the hosts of two consecutive ranks of a group.
    #[serde(default = "one")]
    pub stride: u32,
    /// Number of repetitions. Each is a step, which starts when all groups have finished the one
    /// before.
    #[serde(default = "one")]
    pub steps: u32,
    /// Computation time of each rank at the start of a step.
    #[serde(default)]
    pub compute: Duration,
}

/// Operation among a group of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Collective {
    /// All ranks get the sum of all buffers.
    AllReduce,
    /// All ranks get the pieces of all ranks.
    AllGather,
    /// Each rank gets a piece of the sum.
    ReduceScatter,
    /// Each rank gets a piece from every rank.
    AllToAll,
    /// All ranks get the buffer of the first rank.
    Broadcast,
}

/// Algorithm that decomposes a collective into transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveAlgorithm {
    /// Ring: each rank sends piece by piece to the next (Patarasuk and Yuan, JPDC 2009).
    #[default]
    Ring,
    /// Exchange with ranks that differ in one bit, with half or twice the data each time (Thakur,
    /// Rabenseifner and Gropp, IJHPCA 2005); the number of ranks is a power of two. An all-to-all
    /// exchanges half of the buffer each time; a broadcast uses a binomial tree.
    HalvingDoubling,
    /// Up a binary tree to its root and down again, piece by piece; not for all-to-all.
    Tree,
    /// From every rank to every rank at once.
    Direct,
}

/// Algorithms of the collectives of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CollectiveAlgorithms {
    /// Algorithm of all-reduce.
    pub all_reduce: CollectiveAlgorithm,
    /// Algorithm of all-gather.
    pub all_gather: CollectiveAlgorithm,
    /// Algorithm of reduce-scatter.
    pub reduce_scatter: CollectiveAlgorithm,
    /// Algorithm of all-to-all.
    pub all_to_all: CollectiveAlgorithm,
    /// Algorithm of broadcast.
    pub broadcast: CollectiveAlgorithm,
}

impl Default for CollectiveAlgorithms {
    fn default() -> Self {
        use CollectiveAlgorithm::{Direct, Ring, Tree};
        Self { all_reduce: Ring, all_gather: Ring, reduce_scatter: Ring, all_to_all: Direct, broadcast: Tree }
    }
}

impl CollectiveAlgorithms {
    /// The algorithm of an operation.
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

/// A Chakra execution trace: one file per rank, length-delimited protobuf. Rank `r` is host `r`.
///
/// A node starts when all its dependencies are complete. A send is complete when all its data has
/// arrived, and a receive when its send is. The n-th send to a rank with a tag belongs to the n-th
/// receive there. Computations take their `duration_micros`, and do not delay other computations of
/// the same rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChakraTrace {
    /// Common prefix of the files, relative to the scenario: `PREFIX.0.et`, `PREFIX.1.et`, ...
    pub prefix: String,
    /// Expected number of ranks; default: the number of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Algorithms of the collectives.
    #[serde(default)]
    pub algorithms: CollectiveAlgorithms,
    /// Number of repetitions; each starts when the one before is complete.
    #[serde(default = "one")]
    pub steps: u32,
    /// Factor for computation times.
    #[serde(default = "unit")]
    pub time_scale: f64,
    /// Factor for sizes; at least 1 B remains of sizes that are not zero.
    #[serde(default = "unit")]
    pub byte_scale: f64,
}

/// A SimAI training workload: one layer per line, with computation times and collectives of the
/// forward pass, the input gradient and the weight gradient.
///
/// Hosts are ranks. With a tensor-parallel size of T (from the file), host `h` belongs to tensor
/// group `h / T`, whose ranks are adjacent, and to data group `h % T`, whose ranks are T apart.
/// Collectives of the forward pass and of input gradients run in the tensor groups, those of weight
/// gradients in the data groups. All collectives of layers in `across` run in the data groups.
/// Suffixes `_EP` and `_DP_EP` of a collective's name select the expert groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimaiWorkload {
    /// File relative to the scenario, or a bundled name (`gpt_13b`, `llama_7b`).
    pub file: String,
    /// Names of layers whose collectives all run in the data groups. In files of AICB these are the
    /// layers of gradients and parameters: `grad_norm`, `layernorm` and `embedding_norm`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub across: Vec<String>,
    /// Number of layers to keep of each name that occurs several times; default: all. Layers in
    /// `across` are scaled by the share of bytes and times that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u32>,
    /// Algorithms of the collectives.
    #[serde(default)]
    pub algorithms: CollectiveAlgorithms,
    /// Number of training steps, one after the other.
    #[serde(default = "one")]
    pub steps: u32,
    /// Factor for computation times.
    #[serde(default = "unit")]
    pub time_scale: f64,
    /// Factor for sizes; at least 1 B remains of sizes that are not zero.
    #[serde(default = "unit")]
    pub byte_scale: f64,
}

const fn unit() -> f64 {
    1.0
}
const fn one() -> u32 {
    1
}
