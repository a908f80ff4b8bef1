//! Coflows of a trace, in which every mapper sends to every reducer.
//!
//! Two layouts of trace files are read.

use crate::bundled::BundledKind;
use crate::cdf::LARGEST;
use crate::error::{WorkloadError, shorten};
use crate::input::Input;
use crate::numbers::below;
use crate::shuffle::check_jitter;
use crate::source::{CoflowStart, Facts, FlowArrival, LATEST};
use crate::streams::Streams;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use timeplane_model::{Bytes, CoflowId, Duration, Fabric, HostId};
use timeplane_scenario::CoflowTrace;

/// The most blocks of a trace.
const MOST_BLOCKS: u32 = 1_000_000;

/// One coflow: every mapper sends to every reducer.
#[derive(Debug)]
pub(crate) struct Coflow {
    name: u64,
    at: Duration,
    /// Position in the file. It is the address of the coflow's random stream, whatever else is
    /// chosen from the trace.
    record: u64,
    mappers: Vec<u32>,
    /// Rack of each reducer, and its bytes from all mappers together.
    reducers: Vec<(u32, u64)>,
}

impl Coflow {
    /// All flows in listed order, including those inside a rack. In step k = 0, 1, ... every mapper
    /// i sends to reducer i + k modulo the reducers. A reducer's bytes are shared evenly; the first
    /// mappers send the bytes that are left over.
    fn flows(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        let (m, r) = (self.mappers.len(), self.reducers.len());
        (0..r).flat_map(move |k| {
            (0..m).map(move |i| {
                let (to, total) = self.reducers[(i + k) % r];
                let share = total / m as u64 + u64::from((i as u64) < total % m as u64);
                (self.mappers[i], to, share.max(1))
            })
        })
    }

    fn crossing(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        self.flows().filter(|(from, to, _)| from != to)
    }
}

#[derive(Debug)]
pub(crate) struct CoflowSource {
    /// Coflows in order of arrival.
    coflows: Vec<Coflow>,
    jitter: Duration,
    /// Number of blocks of time of which each seed draws as many; 1 for the trace as it is.
    blocks: u32,
}

/// A coflow of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    /// Its position in the trace's order.
    index: u32,
    pub at: Duration,
    /// How often it was drawn before.
    copy: u32,
}

impl CoflowSource {
    pub(crate) fn load(spec: &CoflowTrace, base: &Path, fabric: &Fabric) -> Result<(Self, Facts), WorkloadError> {
        let scale = |key, scale: f64, zero: bool| {
            if (scale > 0.0 || zero && scale == 0.0) && scale <= 1e9 {
                return Ok(());
            }
            let allowed = if zero { "0 to 1e9" } else { "above 0, at most 1e9" };
            Err(WorkloadError::Value { key, found: scale.to_string(), allowed: allowed.to_owned() })
        };
        scale("workload.coflows.time_scale", spec.time_scale, true)?;
        scale("workload.coflows.byte_scale", spec.byte_scale, false)?;
        check_jitter("workload.coflows.jitter", spec.jitter)?;
        if let Some(found) = spec.blocks.filter(|blocks| !(1..=MOST_BLOCKS).contains(blocks)) {
            let allowed = format!("1, which replays the trace as it is, to {MOST_BLOCKS}");
            return Err(WorkloadError::Value { key: "workload.coflows.blocks", found: found.to_string(), allowed });
        }
        let input = Input::open("workload.coflows.file", &spec.file, base, Some(BundledKind::Coflows))?;
        Self::parse(&input, spec, fabric.hosts())
    }

    pub(crate) fn parse(input: &Input, spec: &CoflowTrace, hosts: u32) -> Result<(Self, Facts), WorkloadError> {
        let mut facts = Facts { kind: "coflows", files: vec![input.record()], ..Facts::default() };
        let mut coflows = Vec::new();
        let (mut flows, mut bytes) = (0u64, 0u64);
        for (record, line) in input.text()?.lines().enumerate() {
            let number = record as u64 + 1;
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if record == 0 && line.split_whitespace().count() == 2 {
                check_header(input, line, hosts)?;
                continue;
            }
            let coflow = Line { input, number, hosts, spec }.parse(line)?;
            let too_much = || input.line_error(number, "more than 18 EB up to here", "less than that in all");
            let (mut n, mut sum, mut in_rack, mut sum_in_rack) = (0u64, 0u64, 0u64, 0u64);
            for (from, to, share) in coflow.flows() {
                let (count, total) = if from == to { (&mut in_rack, &mut sum_in_rack) } else { (&mut n, &mut sum) };
                *count += 1;
                *total = total.checked_add(share).ok_or_else(too_much)?;
            }
            if spec.max_flows.is_some_and(|most| n > u64::from(most)) {
                facts.coflows_too_large += 1;
                continue;
            }
            flows += n;
            bytes = bytes.checked_add(sum).ok_or_else(too_much)?;
            facts.flows_in_rack += in_rack;
            facts.bytes_in_rack = facts.bytes_in_rack.checked_add(sum_in_rack).ok_or_else(too_much)?;
            if n == 0 {
                facts.coflows_in_rack += 1;
                continue;
            }
            coflows.push(coflow);
        }
        if coflows.is_empty() {
            return Err(
                input.file_error("no coflow has flows that cross the fabric", "at least one that `max_flows` lets in")
            );
        }
        facts.sorted = !coflows.is_sorted_by_key(|c| c.at);
        coflows.sort_by_key(|c| c.at);
        facts.flows = Some(flows);
        facts.bytes = Some(bytes);
        facts.coflows = Some(coflows.len() as u64);
        facts.mean_flow_bytes = bytes as f64 / flows as f64;
        let blocks = spec.blocks.unwrap_or_else(|| default_blocks(coflows.len() as u64));
        Ok((Self { coflows, jitter: spec.jitter, blocks }, facts))
    }

    /// The name and the time of each coflow of a run, by their numbers.
    pub(crate) fn starts(&self, seed: u64) -> Vec<CoflowStart> {
        let start = |d: &Drawn| CoflowStart { name: self.coflows[d.index as usize].name, at: d.at };
        self.draw(seed).iter().map(start).collect()
    }

    /// The run of a seed.
    pub(crate) fn arrivals(&self, seed: u64) -> Arrivals<'_> {
        self.run(seed, self.draw(seed))
    }

    /// The trace as it is.
    pub(crate) fn replay(&self) -> Arrivals<'_> {
        self.run(0, self.all())
    }

    fn run(&self, seed: u64, drawn: Vec<Drawn>) -> Arrivals<'_> {
        let streams = Streams::new(seed);
        Arrivals { source: self, streams, drawn, next: 0, listed: 0, waiting: BinaryHeap::new() }
    }

    fn all(&self) -> Vec<Drawn> {
        self.coflows.iter().zip(0..).map(|(coflow, index)| Drawn { index, at: coflow.at, copy: 0 }).collect()
    }

    /// A seed's coflows, in the order of their times: a block bootstrap of the trace (Künsch, "The
    /// jackknife and the bootstrap for general stationary observations", Annals of Statistics 1989;
    /// with blocks that do not overlap, Carlstein 1986). A draw of empty blocks only is repeated. A
    /// trace without a duration is not cut.
    fn draw(&self, seed: u64) -> Vec<Drawn> {
        let span = self.coflows.last().map_or(0, |c| c.at.as_ps()) as u64 + 1;
        let length = span.div_ceil(u64::from(self.blocks));
        if self.blocks == 1 || span <= u64::from(self.blocks) {
            return self.all();
        }
        let first_of = |block: u64| self.coflows.partition_point(|c| (c.at.as_ps() as u64) < block * length);
        let mut rng = Streams::new(seed).fast("workload", 0, "blocks");
        loop {
            let mut drawn = Vec::new();
            let mut copies = vec![0; self.blocks as usize];
            for place in 0..u64::from(self.blocks) {
                let block = below(&mut rng, u64::from(self.blocks));
                let moved = Duration::from_ps((place as i64 - block as i64) * length as i64);
                for index in first_of(block)..first_of(block + 1) {
                    let at = self.coflows[index].at + moved;
                    drawn.push(Drawn { index: index as u32, at, copy: copies[block as usize] });
                }
                copies[block as usize] += 1;
            }
            if !drawn.is_empty() {
                return drawn;
            }
        }
    }
}

/// The number of blocks for `n` coflows, n^(2/3) rounded down: blocks of n^(1/3) coflows suit the
/// variance of a mean (Hall, Horowitz, Jing, "On blocking rules for the bootstrap with dependent
/// data", Biometrika 1995).
fn default_blocks(n: u64) -> u32 {
    let square = u128::from(n) * u128::from(n);
    let (mut low, mut high) = (1u64, n.max(1) + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if u128::from(middle).pow(3) <= square { low = middle } else { high = middle }
    }
    low.min(u64::from(MOST_BLOCKS)) as u32
}

/// Checks the first line of the benchmark's own files: numbers of racks and coflows.
fn check_header(input: &Input, line: &str, hosts: u32) -> Result<(), WorkloadError> {
    let mut racks = line.split_whitespace().map(str::parse::<u64>);
    match (racks.next(), racks.next()) {
        (Some(Ok(racks)), Some(Ok(_))) if racks <= u64::from(hosts) => Ok(()),
        (Some(Ok(racks)), Some(Ok(_))) => {
            Err(input.line_error(1, format!("{racks} racks"), format!("at most {hosts}, the number of hosts")))
        }
        _ => Err(input.line_error(
            1,
            format!("found `{}`", shorten(line)),
            "the numbers of racks and of coflows, or a coflow",
        )),
    }
}

/// Parser of one line.
struct Line<'a> {
    input: &'a Input,
    number: u64,
    hosts: u32,
    spec: &'a CoflowTrace,
}

impl Line<'_> {
    /// Parses either layout: `id arrival mappers reducers racks#rack:MB,...` or the benchmark's
    /// own, `id arrival mappers rack ... reducers rack:MB ...`.
    fn parse(&self, line: &str) -> Result<Coflow, WorkloadError> {
        let mut words = line.split_whitespace();
        let mut word = |what: &str| {
            let missing =
                || self.input.line_error(self.number, format!("the line ends before {what}"), "a whole coflow");
            words.next().ok_or_else(missing)
        };
        let name = word("the id")?;
        let name = name.parse().map_err(|_| self.cell("id", name, "a whole number"))?;
        let at = self.arrival(word("the arrival")?)?;
        let count = |column, text: &str| match text.parse::<usize>() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(self.cell(column, text, "a whole number, at least 1")),
        };
        let m = count("mappers", word("the number of mappers")?)?;
        let (mut mappers, mut reducers) = (Vec::new(), Vec::new());
        if line.contains('#') {
            let r = count("reducers", word("the number of reducers")?)?;
            let lists = word("the racks")?;
            let Some((from, to)) = lists.split_once('#') else {
                return Err(self.cell("racks", lists, "`rack,rack,...#rack:MB,rack:MB,...`"));
            };
            for rack in from.split(',') {
                mappers.push(self.rack("mapper", rack)?);
            }
            for reducer in to.split(',') {
                reducers.push(self.reducer(reducer)?);
            }
            self.counted("mappers", m, mappers.len())?;
            self.counted("reducers", r, reducers.len())?;
        } else {
            for _ in 0..m {
                mappers.push(self.rack("mapper", word("the last mapper")?)?);
            }
            let r = count("reducers", word("the number of reducers")?)?;
            for _ in 0..r {
                reducers.push(self.reducer(word("the last reducer")?)?);
            }
        }
        if let Some(extra) = words.next() {
            let found = format!("`{}` after the last reducer", shorten(extra));
            return Err(self.input.line_error(self.number, found, "one coflow a line"));
        }
        Ok(Coflow { name, at, record: self.number, mappers, reducers })
    }

    fn cell(&self, column: &'static str, found: &str, allowed: impl Into<String>) -> WorkloadError {
        self.input.cell_error(self.number, column, shorten(found), allowed)
    }

    fn counted(&self, column: &'static str, said: usize, found: usize) -> Result<(), WorkloadError> {
        if said == found {
            return Ok(());
        }
        Err(self.cell(column, &said.to_string(), format!("as many as the line lists, {found}")))
    }

    fn arrival(&self, text: &str) -> Result<Duration, WorkloadError> {
        let ms = text.parse::<f64>().ok().filter(|ms| ms.is_finite() && *ms >= 0.0);
        let ms = ms.ok_or_else(|| self.cell("arrival", text, "milliseconds, 0 or more"))?;
        let ps = (ms * 1e9 * self.spec.time_scale).round();
        if ps > (LATEST / 2) as f64 {
            return Err(self.cell("arrival", text, "at most 26 days, once multiplied by `time_scale`"));
        }
        Ok(Duration::from_ps(ps as i64))
    }

    fn rack(&self, column: &'static str, text: &str) -> Result<u32, WorkloadError> {
        match text.parse::<u32>() {
            Ok(rack) if rack < self.hosts => Ok(rack),
            _ => {
                Err(self.cell(column, text, format!("a rack, which is a host of the fabric: 0 to {}", self.hosts - 1)))
            }
        }
    }

    fn reducer(&self, text: &str) -> Result<(u32, u64), WorkloadError> {
        let Some((rack, megabytes)) = text.split_once(':') else {
            return Err(self.cell("reducer", text, "`rack:MB`"));
        };
        let rack = self.rack("reducer", rack)?;
        let bytes = megabytes.parse::<f64>().ok().map(|mb| (mb * 1e6 * self.spec.byte_scale).round());
        match bytes {
            Some(b) if b >= 0.0 && b <= LARGEST as f64 => Ok((rack, b as u64)),
            _ => Err(self.cell("reducer", text, "`rack:MB` with 0 to 1e9 MB, once multiplied by `byte_scale`")),
        }
    }
}

/// A flow that has not started yet: time, number, source, destination, bytes, coflow. Sorts by
/// time, then in listed order.
type Waiting = (Duration, u64, u32, u32, u64, u32);

/// Arrivals of one run. Holds the flows of coflows that have arrived and whose jitter is not over.
pub(crate) struct Arrivals<'a> {
    source: &'a CoflowSource,
    streams: Streams,
    /// The run's coflows.
    drawn: Vec<Drawn>,
    /// The next coflow to arrive.
    next: usize,
    /// Number of flows made so far.
    listed: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
}

impl Iterator for Arrivals<'_> {
    type Item = FlowArrival;

    fn next(&mut self) -> Option<FlowArrival> {
        while let Some(&Drawn { index, at: start, copy }) = self.drawn.get(self.next) {
            if self.waiting.peek().is_some_and(|Reverse(first)| first.0 <= start) {
                break;
            }
            let coflow = &self.source.coflows[index as usize];
            let jitter = self.source.jitter.as_ps() as u64;
            let mut rng = self.streams.fast("workload", u64::from(copy) << 32 | coflow.record, "jitter");
            for (from, to, bytes) in coflow.crossing() {
                let late = if jitter > 0 { below(&mut rng, jitter) as i64 } else { 0 };
                let at = start + Duration::from_ps(late);
                self.waiting.push(Reverse((at, self.listed, from, to, bytes, self.next as u32)));
                self.listed += 1;
            }
            self.next += 1;
        }
        let Reverse((at, _, from, to, bytes, coflow)) = self.waiting.pop()?;
        Some(FlowArrival {
            at,
            source: HostId(from),
            destination: HostId(to),
            bytes: Bytes::new(bytes),
            coflow: Some(CoflowId(coflow)),
        })
    }
}
