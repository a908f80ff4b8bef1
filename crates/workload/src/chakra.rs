//! Chakra execution traces: a graph of computations, sends, receives and collectives per rank, with
//! one file for each rank.
//!
//! `chakra/format.rs` lists the parts of the format that are read. Order is given by three things:
//! the nodes' dependencies, messages and collectives. Sends and receives are matched by source,
//! destination and tag in the order of their files. The first collective of a group at one rank
//! belongs to the first of that group at all others. A group is all ranks, or those that name the
//! same process group (`pg_name`).
//! group (`pg_name`).

mod format;

use crate::cdf::LARGEST;
use crate::collective::{check_scale, check_steps, computing, facts, scaled};
use crate::emit::{EmitFault, Emitter};
use crate::error::{WorkloadError, shorten};
use crate::graph::{GraphFault, Work};
use crate::input::Input;
use crate::source::Facts;
use crate::steps::Steps;
use format::{Kind, Record};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use timeplane_model::{Bytes, Duration, Fabric, HostId};
use timeplane_scenario::{ChakraTrace, Collective};

/// The largest rank in a file name.
const MOST_RANKS: u32 = 1 << 16;

/// The existing files of a Chakra trace, by rank. File names are relative to `base`.
#[expect(clippy::disallowed_methods, reason = "it lists a folder")]
pub fn chakra_files(prefix: &str, base: &Path) -> BTreeMap<u32, PathBuf> {
    let path = base.join(prefix);
    let (Some(folder), Some(stem)) = (path.parent(), path.file_name()) else { return BTreeMap::new() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let stem = format!("{}.", stem.to_string_lossy());
    let rank = |name: &str| {
        let number = name.strip_prefix(&stem)?.strip_suffix(".et")?;
        let rank = number.parse::<u32>().ok().filter(|r| *r < MOST_RANKS)?;
        // `01` is not a rank's usual name, so such files are skipped.
        (rank.to_string() == number).then_some(rank)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|e| Some((rank(&e.file_name().to_string_lossy())?, e.path()))).collect()
}

/// Nodes of one rank's file.
struct Rank {
    input: Input,
    nodes: Vec<Record>,
    /// Positions of nodes by id.
    places: BTreeMap<u64, usize>,
}

impl Rank {
    /// An error about a node.
    fn bad(&self, node: &Record, found: impl AsRef<str>, allowed: impl Into<String>) -> WorkloadError {
        self.input.file_error(format!("{} {}", named(node), found.as_ref()), allowed)
    }
}

fn named(node: &Record) -> String {
    format!("node {} `{}`", node.id, shorten(&node.name))
}

pub(crate) fn load(
    spec: &ChakraTrace,
    base: &Path,
    fabric: &Fabric,
    mtu: Bytes,
) -> Result<(Steps, Facts), WorkloadError> {
    check_steps("workload.chakra.steps", spec.steps)?;
    check_scale("workload.chakra.time_scale", spec.time_scale)?;
    check_scale("workload.chakra.byte_scale", spec.byte_scale)?;
    let ranks = read(spec, base, fabric.hosts())?;
    let mut trace = Trace { spec, ranks: &ranks, emitter: Emitter::default(), begins: Vec::new(), ends: Vec::new() };
    trace.nodes()?;
    trace.collectives()?;
    trace.dependencies()?;
    trace.messages()?;
    let Trace { emitter, begins, .. } = trace;
    let graph = emitter.graph.finish().map_err(|fault| match fault {
        GraphFault::Cycle(cycle) => told_cycle(&ranks, &begins, &cycle),
        fault => too_large(&ranks[0], &fault),
    })?;
    let steps = Steps::new("workload.chakra.steps", graph, spec.steps, fabric, mtu)?;
    let files = ranks.iter().map(|r| r.input.record()).collect();
    let facts = Facts { files, ..facts("chakra", &steps) };
    Ok((steps, facts))
}

/// Reads the files of all ranks.
#[expect(clippy::disallowed_methods, reason = "it reads the files of a trace")]
fn read(spec: &ChakraTrace, base: &Path, hosts: u32) -> Result<Vec<Rank>, WorkloadError> {
    let found = chakra_files(&spec.prefix, base);
    let file = |rank: u32| base.join(format!("{}.{rank}.et", spec.prefix)).display().to_string();
    let count = match (spec.ranks, found.last_key_value()) {
        (Some(ranks), _) => ranks,
        (None, Some((last, _))) => last + 1,
        (None, None) => {
            let allowed = "a file for each rank: the name, a dot, the rank and `.et`".to_owned();
            return Err(WorkloadError::File { file: file(0), found: "there is no such file".to_owned(), allowed });
        }
    };
    if count == 0 || count > hosts {
        let allowed = format!("1 to {hosts}, as each is a host of the fabric");
        return Err(WorkloadError::Value { key: "workload.chakra.ranks", found: count.to_string(), allowed });
    }
    if let Some(missing) = (0..count).find(|r| !found.contains_key(r)) {
        let found = format!("rank {missing} is missing: there is no such file");
        let allowed = format!("a file for each of the ranks 0 to {}", count - 1);
        return Err(WorkloadError::File { file: file(missing), found, allowed });
    }
    let one = |rank: u32| {
        let path = &found[&rank];
        let bytes = std::fs::read(path).map_err(|source| WorkloadError::Read { path: path.clone(), source })?;
        let input = Input { file: path.display().to_string(), bytes: bytes.into() };
        let nodes = format::parse(&input)?;
        let mut places = BTreeMap::new();
        for (place, node) in nodes.iter().enumerate() {
            if places.insert(node.id, place).is_some() {
                return Err(
                    input.file_error(format!("{} has the id of another one", named(node)), "an id for each node")
                );
            }
        }
        Ok(Rank { input, nodes, places })
    };
    (0..count).map(one).collect()
}

fn too_large(rank: &Rank, fault: &GraphFault) -> WorkloadError {
    rank.input.file_error("with all other ranks' files, a step is too large", fault.allowed())
}

/// Describes nodes that wait for each other in a cycle.
fn told_cycle(ranks: &[Rank], begins: &[Vec<u32>], cycle: &[u32]) -> WorkloadError {
    let mut origins = BTreeMap::new();
    for (rank, begins) in begins.iter().enumerate() {
        origins.extend(begins.iter().enumerate().map(|(place, &node)| (node, (rank, place))));
    }
    // A collective contains no cycle, so some node of a file is in it.
    let way: Vec<(usize, usize)> = cycle.iter().filter_map(|n| origins.get(n).copied()).collect();
    let name = |(rank, place): (usize, usize)| format!("{} of rank {rank}", named(&ranks[rank].nodes[place]));
    let &first = way.first().expect("a collective by itself has no cycle");
    let mut through: Vec<String> = way[1..].iter().take(5).map(|&at| name(at)).collect();
    if way.len() > 6 {
        through.push(format!("{} more", way.len() - 6));
    }
    let node = &ranks[first.0].nodes[first.1];
    let found = match through.is_empty() {
        true => "waits for itself".to_owned(),
        false => format!("waits for itself, by way of {}", through.join(", ")),
    };
    ranks[first.0].bad(node, found, "dependencies, sends and receives without a cycle")
}

/// A trace during its conversion to a graph.
struct Trace<'a> {
    spec: &'a ChakraTrace,
    ranks: &'a [Rank],
    emitter: Emitter,
    /// By rank and node: the node of the graph that is over when all dependencies are. For all but
    /// collectives it is the node itself.
    begins: Vec<Vec<u32>>,
    /// By rank and node: the node of the graph that is over when the node is.
    ends: Vec<Vec<u32>>,
}

impl Trace<'_> {
    fn all(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let counts: Vec<usize> = self.ranks.iter().map(|r| r.nodes.len()).collect();
        counts.into_iter().enumerate().flat_map(|(rank, n)| (0..n).map(move |place| (rank, place)))
    }

    /// Scaled bytes of a node.
    fn bytes(&self, rank: usize, node: &Record) -> Result<u64, WorkloadError> {
        let size =
            node.number("comm_size").and_then(|s| u64::try_from(s).ok()).map(|s| scaled(s, self.spec.byte_scale));
        size.filter(|s| *s <= LARGEST).ok_or_else(|| {
            let found = match node.number("comm_size") {
                Some(size) => format!("has a `comm_size` of {size}"),
                None => "has no attribute `comm_size`".to_owned(),
            };
            self.ranks[rank].bad(node, found, "bytes, 0 to 1e15 once multiplied by `byte_scale`")
        })
    }

    /// The peer of a send or receive.
    fn other(&self, rank: usize, node: &Record, attribute: &str) -> Result<u32, WorkloadError> {
        let last = self.ranks.len() - 1;
        let other = node.number(attribute);
        let right = other.filter(|&o| o >= 0 && o <= last as i128 && o != rank as i128);
        right.map(|o| o as u32).ok_or_else(|| {
            let found = match other {
                None => format!("has no attribute `{attribute}`"),
                Some(o) if o == rank as i128 => format!("of rank {rank} has itself as `{attribute}`"),
                Some(o) => format!("has rank {o} as `{attribute}`, of which there is no file"),
            };
            self.ranks[rank].bad(node, found, format!("another one of the ranks 0 to {last}"))
        })
    }

    /// Adds a node to the graph for each node of a file.
    fn nodes(&mut self) -> Result<(), WorkloadError> {
        for (rank, this) in self.ranks.iter().enumerate() {
            let mut begins = Vec::with_capacity(this.nodes.len());
            for node in &this.nodes {
                let work = match node.kind {
                    Kind::Send => {
                        let destination = self.other(rank, node, "comm_dst")?;
                        match self.bytes(rank, node)? {
                            0 => Work::Compute(Duration::ZERO),
                            bytes => Work::Transfer {
                                source: HostId(rank as u32),
                                destination: HostId(destination),
                                bytes: Bytes::new(bytes),
                            },
                        }
                    }
                    Kind::Receive | Kind::Collective | Kind::Metadata => Work::Compute(Duration::ZERO),
                    Kind::Compute => {
                        if node.duration_micros == 0 && node.number("num_ops").is_some_and(|n| n > 0) {
                            let found = "has `num_ops` and no `duration_micros`";
                            return Err(this.bad(
                                node,
                                found,
                                "how long it computes: nothing is known of the processor",
                            ));
                        }
                        let time = computing(node.duration_micros, 1_000_000, self.spec.time_scale);
                        Work::Compute(time.ok_or_else(|| {
                            let found = format!("computes for {} us", node.duration_micros);
                            this.bad(node, found, "at most 26 days, once multiplied by `time_scale`")
                        })?)
                    }
                };
                begins.push(self.emitter.graph.node(work, None).map_err(|f| too_large(this, &f))?);
            }
            self.ends.push(begins.clone());
            self.begins.push(begins);
        }
        Ok(())
    }

    /// Adds the collectives, group by group.
    fn collectives(&mut self) -> Result<(), WorkloadError> {
        // By group and rank, the positions of its collectives.
        let mut groups: BTreeMap<Option<&str>, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
        let ranks = self.ranks;
        for (rank, place) in self.all() {
            let node = &ranks[rank].nodes[place];
            if node.kind == Kind::Collective {
                groups.entry(node.text("pg_name")).or_default().entry(rank).or_default().push(place);
            }
        }
        if let Some(all) = groups.get_mut(&None) {
            (0..ranks.len()).for_each(|rank| {
                all.entry(rank).or_default();
            });
        }
        for (group, members) in groups {
            let most = members.values().map(Vec::len).max().unwrap_or(0);
            let (&longest, _) = members.iter().find(|(_, p)| p.len() == most).expect("one is the longest");
            for k in 0..most {
                let lead = &ranks[longest].nodes[members[&longest][k]];
                if let Some((&rank, places)) = members.iter().find(|(_, places)| places.len() <= k) {
                    let of = group.map_or(String::new(), |g| format!(" of the group `{}`", shorten(g)));
                    let found = format!(
                        "rank {rank} has {} collectives{of}, and rank {longest} waits for it in its collective {} there, {}",
                        places.len(),
                        k + 1,
                        named(lead),
                    );
                    return Err(ranks[rank].input.file_error(found, "every collective at every rank of its group"));
                }
                let places: Vec<(usize, usize)> = members.iter().map(|(&rank, places)| (rank, places[k])).collect();
                self.collective(&places)?;
            }
        }
        Ok(())
    }

    /// Adds one collective, which consists of these nodes.
    fn collective(&mut self, places: &[(usize, usize)]) -> Result<(), WorkloadError> {
        let ranks = self.ranks;
        let (first_rank, first_place) = places[0];
        let first = &ranks[first_rank].nodes[first_place];
        let size = self.bytes(first_rank, first)?;
        let kind = first.number("comm_type");
        for &(rank, place) in &places[1..] {
            let node = &ranks[rank].nodes[place];
            if node.number("comm_type") != kind || self.bytes(rank, node)? != size {
                let shown = |n: &Record| {
                    let number = |a| n.number(a).map_or("none".to_owned(), |n: i128| n.to_string());
                    format!("`comm_type` {} and `comm_size` {}", number("comm_type"), number("comm_size"))
                };
                let found = format!("has {}, and rank {first_rank} {} in {}", shown(node), shown(first), named(first));
                return Err(ranks[rank].bad(node, found, "the same at all ranks of a collective"));
            }
        }
        // Numbers of `CollectiveCommType`.
        let operation = match kind {
            Some(0) => Collective::AllReduce,
            Some(2) => Collective::AllGather,
            Some(5) => Collective::Broadcast,
            Some(6) => Collective::AllToAll,
            Some(7 | 8) => Collective::ReduceScatter,
            // A barrier carries nothing, and waits for all ranks.
            Some(9) => Collective::AllReduce,
            other => {
                let found = match other {
                    None => "has no attribute `comm_type`".to_owned(),
                    Some(n) => format!("has a `comm_type` of {n}"),
                };
                let allowed = "0 (all-reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), 7 and 8 (reduce-scatter) or 9 (barrier)";
                return Err(ranks[first_rank].bad(first, found, allowed));
            }
        };
        let size = if kind == Some(9) { 0 } else { size };
        // For an all-gather, traces state the bytes of a single rank.
        let whole = if operation == Collective::AllGather { size.checked_mul(places.len() as u64) } else { Some(size) };
        let Some(whole) = whole.filter(|w| *w <= LARGEST) else {
            return Err(ranks[first_rank].bad(first, "gathers too much", "at most 1e15 B from all ranks"));
        };
        let members: Vec<HostId> = places.iter().map(|p| HostId(p.0 as u32)).collect();
        let entries: Vec<u32> = places.iter().map(|&(rank, place)| self.begins[rank][place]).collect();
        let algorithm = self.spec.algorithms.of(operation);
        let exits = self.emitter.collective(operation, algorithm, Bytes::new(whole), &members, &entries);
        let exits = exits.map_err(|fault| match fault {
            EmitFault::Graph(fault) => too_large(&ranks[first_rank], &fault),
            EmitFault::Refused(allowed) => {
                ranks[first_rank].bad(first, format!("is a collective of {} ranks", members.len()), allowed)
            }
        })?;
        for (&(rank, place), exit) in places.iter().zip(exits) {
            self.ends[rank][place] = exit;
        }
        Ok(())
    }

    /// Adds the dependencies within a file.
    fn dependencies(&mut self) -> Result<(), WorkloadError> {
        for (rank, place) in self.all() {
            let this = &self.ranks[rank];
            let node = &this.nodes[place];
            for id in node.ctrl_deps.iter().chain(&node.data_deps) {
                let Some(&before) = this.places.get(id) else {
                    let found = format!("waits for node {id}, which is not there");
                    return Err(this.bad(node, found, "ids of nodes of the same file"));
                };
                let edge = self.emitter.graph.edge(self.ends[rank][before], self.begins[rank][place]);
                edge.map_err(|f| too_large(this, &f))?;
            }
        }
        Ok(())
    }

    /// Makes receives wait for their sends.
    fn messages(&mut self) -> Result<(), WorkloadError> {
        // By source, destination and tag, the positions of sends.
        let mut sends: BTreeMap<(u32, u32, i128), VecDeque<usize>> = BTreeMap::new();
        let ranks = self.ranks;
        let tag = |node: &Record| node.number("comm_tag").unwrap_or(0);
        for (rank, place) in self.all() {
            let node = &ranks[rank].nodes[place];
            if node.kind == Kind::Send {
                let to = self.other(rank, node, "comm_dst")?;
                sends.entry((rank as u32, to, tag(node))).or_default().push_back(place);
            }
        }
        for (rank, place) in self.all() {
            let this = &ranks[rank];
            let node = &this.nodes[place];
            if node.kind != Kind::Receive {
                continue;
            }
            let from = self.other(rank, node, "comm_src")?;
            let send = sends.get_mut(&(from, rank as u32, tag(node))).and_then(VecDeque::pop_front);
            let Some(send) = send else {
                let found = format!("waits for a send of rank {from} with tag {}, which is not there", tag(node));
                return Err(this.bad(
                    node,
                    found,
                    format!("a send for each receive, in {}", ranks[from as usize].input.file),
                ));
            };
            let sent = &ranks[from as usize].nodes[send];
            let (got, put) = (self.bytes(rank, node)?, self.bytes(from as usize, sent)?);
            if got != put {
                let found = format!("receives {got} B, and {} of rank {from} sends {put} B", named(sent));
                return Err(this.bad(node, found, "the same size at both ends"));
            }
            let edge = self.emitter.graph.edge(self.ends[from as usize][send], self.begins[rank][place]);
            edge.map_err(|f| too_large(this, &f))?;
        }
        let left = sends.into_iter().find_map(|(key, left)| Some((key, *left.front()?)));
        if let Some(((from, to, tag), send)) = left {
            let this = &ranks[from as usize];
            let found = format!("sends to rank {to} with tag {tag}, which does not receive it");
            let allowed = format!("a receive for each send, in {}", ranks[to as usize].input.file);
            return Err(this.bad(&this.nodes[send], found, allowed));
        }
        Ok(())
    }
}
