//! Training workloads of SimAI: a text file with one layer per line.
//!
//! The first line states the kind of parallelism and its sizes, the second the number of layers. A
//! layer has twelve columns: its name, an unused number, three groups of three, and the time of its
//! update in ns. The groups are for the forward pass, the input gradient and the weight gradient.
//! Each contains the time to compute in ns, a collective and its bytes.
//!
//! The order is that of SimAI (`HYBRID_TRANSFORMER_FWD_IN_BCKWD` without checkpoints). Forward,
//! layer by layer, each rank computes, takes part in the collective, and continues when that is
//! over for it. Backward, from the last layer on, it computes the weight gradient; only the layer's
//! update waits for its collective. Then it computes the input gradient, and continues when that
//! collective is over. The step ends when all work is over.

use crate::bundled::BundledKind;
use crate::cdf::LARGEST;
use crate::collective::{check_scale, check_steps, computing, facts, scaled};
use crate::emit::{EmitFault, Emitter};
use crate::error::{WorkloadError, shorten};
use crate::graph::{GraphFault, Work};
use crate::input::Input;
use crate::source::Facts;
use crate::steps::{Steps, groups};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use timeplane_model::{Bytes, Duration, Fabric, HostId};
use timeplane_scenario::{Collective, SimaiWorkload};

const COLUMNS: [&str; 12] = [
    "name",
    "dependency",
    "forward compute",
    "forward collective",
    "forward bytes",
    "input gradient compute",
    "input gradient collective",
    "input gradient bytes",
    "weight gradient compute",
    "weight gradient collective",
    "weight gradient bytes",
    "update",
];
const WAY: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
const COLLECTIVES: &str = "`NONE`, `ALLREDUCE`, `ALLGATHER`, `REDUCESCATTER`, `ALLTOALL` or `BROADCAST`, with `_EP` or `_DP_EP` at its end for experts";
/// The largest group size, so that products of sizes fit.
const MOST_RANKS: u32 = 1 << 16;

/// The ranks that take part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Among {
    /// Ranks that share a layer.
    Tensor,
    /// Ranks with the same part of the layers.
    Data,
    /// Data-parallel ranks that share experts.
    Expert,
    /// Data-parallel ranks with the same experts.
    DataOfExpert,
}

/// Computation and collective of a layer's pass.
#[derive(Clone, Copy, Debug)]
struct Pass {
    compute: u64,
    collective: Option<(Collective, Among, u64)>,
}

#[derive(Clone, Debug)]
struct Layer {
    name: String,
    forward: Pass,
    input: Pass,
    weight: Pass,
    update: u64,
}

/// The parsed content of a file.
#[derive(Clone, Debug)]
struct Parsed {
    tensor: u32,
    expert: u32,
    layers: Vec<Layer>,
}

fn parse(input: &Input) -> Result<Parsed, WorkloadError> {
    let mut lines = input.text()?.lines().zip(1u64..);
    let Some((head, _)) = lines.next() else {
        return Err(input.file_error("the file is empty", "a training workload of SimAI"));
    };
    let mut words = head.split_whitespace();
    let way = words.next().unwrap_or_default();
    if way != WAY {
        return Err(input.line_error(1, format!("the way of parallelism is `{}`", shorten(way)), format!("`{WAY}`")));
    }
    let mut sizes = BTreeMap::new();
    while let Some(word) = words.next() {
        let key = word.trim_end_matches(':');
        let text = words.next().unwrap_or_default();
        let size: u64 = text
            .parse()
            .map_err(|_| input.line_error(1, format!("`{}: {}`", shorten(key), shorten(text)), "a whole number"))?;
        sizes.insert(key, size);
    }
    let size = |key: &'static str, missing: Option<u64>| {
        let found = sizes.get(key).copied().or(missing);
        let right = found.filter(|s| (1..=u64::from(MOST_RANKS)).contains(s)).map(|s| s as u32);
        let said = || found.map_or(format!("`{key}` is missing"), |f| format!("`{key}` is {f}"));
        right.ok_or_else(|| input.line_error(1, said(), format!("1 to {MOST_RANKS}")))
    };
    let tensor = size("model_parallel_NPU_group", None)?;
    let expert = size("ep", Some(1))?;
    for (key, only) in [("pp", 1), ("checkpoints", 0)] {
        if let Some(found) = sizes.get(key).filter(|s| **s != only) {
            let allowed = if key == "pp" {
                "1: layers of several stages of a pipeline are not told apart in this format"
            } else {
                "0: the forward pass is not done again"
            };
            return Err(input.line_error(1, format!("`{key}` is {found}"), allowed));
        }
    }
    let Some((count, _)) = lines.next() else {
        return Err(input.line_error(2, "the file ends", "the number of layers"));
    };
    let Ok(said) = count.trim().parse::<usize>() else {
        return Err(input.line_error(2, format!("found `{}`", shorten(count.trim())), "the number of layers"));
    };
    let mut layers = Vec::new();
    for (line, number) in lines.filter(|(line, _)| !line.trim().is_empty()) {
        layers.push(layer(input, line, number)?);
    }
    if layers.len() != said || said == 0 {
        let found = format!("the file has {} layers, and line 2 says {said}", layers.len());
        return Err(input.file_error(found, "as many as it says, at least 1"));
    }
    Ok(Parsed { tensor, expert, layers })
}

fn layer(input: &Input, line: &str, number: u64) -> Result<Layer, WorkloadError> {
    let cells: Vec<&str> = line.split_whitespace().collect();
    if cells.len() != COLUMNS.len() {
        let allowed = format!("{}: {}", COLUMNS.len(), COLUMNS.join(", "));
        return Err(input.line_error(number, format!("{} columns", cells.len()), allowed));
    }
    let whole = |c: usize| {
        let bad = |_| input.cell_error(number, COLUMNS[c], shorten(cells[c]), "a whole number, 0 or more");
        cells[c].parse::<u64>().map_err(bad)
    };
    let pass = |c: usize, plain: Among| {
        let bad = || input.cell_error(number, COLUMNS[c + 1], shorten(cells[c + 1]), COLLECTIVES);
        let text = cells[c + 1];
        let (text, among) = match (text.strip_suffix("_DP_EP"), text.strip_suffix("_EP")) {
            (Some(text), _) => (text, Among::DataOfExpert),
            (_, Some(text)) => (text, Among::Expert),
            _ => (text, plain),
        };
        let operation = match text {
            "NONE" if among == plain => None,
            "ALLREDUCE" => Some(Collective::AllReduce),
            "ALLGATHER" => Some(Collective::AllGather),
            "REDUCESCATTER" => Some(Collective::ReduceScatter),
            "ALLTOALL" => Some(Collective::AllToAll),
            "BROADCAST" => Some(Collective::Broadcast),
            _ => return Err(bad()),
        };
        let bytes = whole(c + 2)?;
        let collective = operation.filter(|_| bytes > 0).map(|o| (o, among, bytes));
        Ok(Pass { compute: whole(c)?, collective })
    };
    Ok(Layer {
        name: cells[0].to_owned(),
        forward: pass(2, Among::Tensor)?,
        input: pass(5, Among::Tensor)?,
        weight: pass(8, Among::Data)?,
        update: whole(11)?,
    })
}

/// Moves all collectives of the layers `across` to the data groups, and drops all but the first
/// `keep` layers of each name. The layers `across` then carry the remaining share of bytes, and
/// compute for that share of their times.
fn choose(parsed: &mut Parsed, spec: &SimaiWorkload) {
    let mut share = 1.0;
    if let Some(keep) = spec.layers {
        let mut all: BTreeMap<String, u32> = BTreeMap::new();
        parsed.layers.iter().for_each(|l| *all.entry(l.name.clone()).or_default() += 1);
        let many: Vec<u32> = all.values().copied().filter(|&n| n > keep).collect();
        if !many.is_empty() {
            share = f64::from(keep) * many.len() as f64 / many.iter().map(|&n| f64::from(n)).sum::<f64>();
        }
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        parsed.layers.retain(|l| {
            let seen = seen.entry(l.name.clone()).or_default();
            *seen += 1;
            *seen <= keep
        });
    }
    for layer in parsed.layers.iter_mut().filter(|l| spec.across.contains(&l.name)) {
        for pass in [&mut layer.forward, &mut layer.input, &mut layer.weight] {
            pass.compute = (pass.compute as f64 * share).round() as u64;
            if let Some((_, among, bytes)) = &mut pass.collective {
                if *among == Among::Tensor {
                    *among = Among::Data;
                }
                *bytes = scaled(*bytes, share);
            }
        }
    }
}

pub(crate) fn load(
    spec: &SimaiWorkload,
    base: &Path,
    fabric: &Fabric,
    mtu: Bytes,
) -> Result<(Steps, Facts), WorkloadError> {
    check_steps("workload.simai.steps", spec.steps)?;
    check_scale("workload.simai.time_scale", spec.time_scale)?;
    check_scale("workload.simai.byte_scale", spec.byte_scale)?;
    let input = Input::open("workload.simai.file", &spec.file, base, Some(BundledKind::Simai))?;
    let mut parsed = parse(&input)?;
    let names: BTreeSet<&str> = parsed.layers.iter().map(|l| l.name.as_str()).collect();
    if let Some(unknown) = spec.across.iter().find(|a| !names.contains(a.as_str())) {
        let allowed = format!("names of layers of {}: {}", input.file, shorten(&Vec::from_iter(names).join(", ")));
        return Err(WorkloadError::Value { key: "workload.simai.across", found: unknown.clone(), allowed });
    }
    choose(&mut parsed, spec);
    let hosts = fabric.hosts();
    let block = u64::from(parsed.tensor) * u64::from(parsed.expert);
    if !u64::from(hosts).is_multiple_of(block) {
        let (t, e) = (parsed.tensor, parsed.expert);
        let found = format!("a tensor-parallel size of {t} and an expert-parallel size of {e}");
        let allowed = format!("sizes whose product, {block}, divides the number of hosts, {hosts}");
        return Err(input.line_error(1, found, allowed));
    }
    let mut step = Step { emitter: Emitter::default(), spec, input: &input, parsed: &parsed, hosts, at: Vec::new() };
    step.make()?;
    let graph = step.emitter.graph.finish().map_err(|f| too_large(&input, &f))?;
    let steps = Steps::new("workload.simai.steps", graph, spec.steps, fabric, mtu)?;
    let facts = Facts { files: vec![input.record()], ..facts("simai", &steps) };
    Ok((steps, facts))
}

fn too_large(input: &Input, fault: &GraphFault) -> WorkloadError {
    input.file_error("a step of it is too large", fault.allowed())
}

/// A step under construction.
struct Step<'a> {
    emitter: Emitter,
    spec: &'a SimaiWorkload,
    input: &'a Input,
    parsed: &'a Parsed,
    hosts: u32,
    /// By rank, the node that must be over before it continues.
    at: Vec<u32>,
}

impl Step<'_> {
    fn make(&mut self) -> Result<(), WorkloadError> {
        let begin: Result<Vec<u32>, _> = (0..self.hosts).map(|_| self.emitter.graph.join(None)).collect();
        self.at = begin.map_err(|f| too_large(self.input, &f))?;
        let layers = &self.parsed.layers;
        for layer in layers {
            self.compute(layer, layer.forward.compute)?;
            self.at = self.collective(layer, &layer.forward)?;
        }
        for layer in layers.iter().rev() {
            self.compute(layer, layer.weight.compute)?;
            let done = self.collective(layer, &layer.weight)?;
            let goes_on = std::mem::replace(&mut self.at, done);
            self.compute(layer, layer.update)?;
            self.at = goes_on;
            self.compute(layer, layer.input.compute)?;
            self.at = self.collective(layer, &layer.input)?;
        }
        Ok(())
    }

    /// Makes every rank compute for `ns` nanoseconds.
    fn compute(&mut self, layer: &Layer, ns: u64) -> Result<(), WorkloadError> {
        let time = computing(ns, 1_000, self.spec.time_scale).ok_or_else(|| {
            let found = format!("layer `{}` computes for {ns} ns", shorten(&layer.name));
            self.input.file_error(found, "at most 26 days, once multiplied by `time_scale`")
        })?;
        if time == Duration::ZERO {
            return Ok(());
        }
        for at in &mut self.at {
            let graph = &mut self.emitter.graph;
            let node = graph.node(Work::Compute(time), None).and_then(|n| graph.edge(*at, n).map(|()| n));
            *at = node.map_err(|f| too_large(self.input, &f))?;
        }
        Ok(())
    }

    /// Adds the collective of a pass. Returns by rank the node that ends it.
    fn collective(&mut self, layer: &Layer, pass: &Pass) -> Result<Vec<u32>, WorkloadError> {
        let mut done = self.at.clone();
        let Some((operation, among, bytes)) = pass.collective else { return Ok(done) };
        let (t, e) = (self.parsed.tensor, self.parsed.expert);
        let (size, stride) = match among {
            Among::Tensor => (t, 1),
            Among::Data => (self.hosts / t, t),
            Among::Expert => (e, t),
            Among::DataOfExpert => (self.hosts / t / e, t * e),
        };
        let bytes = scaled(bytes, self.spec.byte_scale);
        if bytes > LARGEST {
            let found = format!("layer `{}` has a collective of {bytes} B", shorten(&layer.name));
            return Err(self.input.file_error(found, "at most 1e15 B, once multiplied by `byte_scale`"));
        }
        let bytes = Bytes::new(bytes);
        let algorithm = self.spec.algorithms.of(operation);
        for members in groups(self.hosts, size, stride) {
            let entries: Vec<u32> = members.iter().map(|h: &HostId| self.at[h.index()]).collect();
            let exits = self.emitter.collective(operation, algorithm, bytes, &members, &entries);
            let exits = exits.map_err(|fault| match fault {
                EmitFault::Graph(fault) => too_large(self.input, &fault),
                EmitFault::Refused(allowed) => {
                    let found = format!("layer `{}` has a collective of {size} ranks", shorten(&layer.name));
                    self.input.file_error(found, allowed)
                }
            })?;
            for (member, exit) in members.iter().zip(exits) {
                done[member.index()] = exit;
            }
        }
        Ok(done)
    }
}
