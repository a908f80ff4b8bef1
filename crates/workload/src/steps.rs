//! A workload whose flows depend on others: a graph that is carried out step by step.
//!
//! Lower bounds on the time of a step come with it.

use crate::bounds::least_wire;
use crate::error::WorkloadError;
use crate::graph::{Graph, Work};
use crate::source::{CoflowStart, FlowArrival, LATEST};
use timeplane_model::{Bytes, CoflowId, Duration, Fabric, HostId};

/// A graph that is repeated a number of times. Each step starts when the whole previous step is
/// over.
#[derive(Clone, Debug)]
pub struct Steps {
    graph: Graph,
    count: u32,
    /// Earliest start of each node, from the start of the step.
    starts: Vec<i64>,
    /// Transfers in order of earliest start.
    order: Vec<u32>,
    bound: i64,
    /// By collective: shortest time from the start of its first transfer to its end, and that
    /// start.
    collectives: Vec<(i64, i64)>,
}

impl Steps {
    /// Computes earliest times of a graph on a fabric.
    pub(crate) fn new(
        key: &'static str,
        graph: Graph,
        count: u32,
        fabric: &Fabric,
        mtu: Bytes,
    ) -> Result<Self, WorkloadError> {
        let lengths: Vec<Least> = graph.nodes().iter().map(|n| Least::of(&n.work, fabric, mtu.get())).collect();
        let (starts, path) = earliest(&graph, &lengths, |_, _| true);
        let bound = path.max(busiest(&graph, &lengths, &starts, fabric.hosts()));
        let mut order: Vec<u32> = (0..graph.nodes().len() as u32).filter(|&n| is_transfer(&graph, n)).collect();
        order.sort_by_key(|&n| (starts[n as usize], n));
        let all = i128::from(bound) * i128::from(count);
        if all > i128::from(LATEST / 2) {
            let steps = if count == 1 { "a step".to_owned() } else { format!("{count} steps") };
            let found = format!("{steps} of {}", at_least(bound));
            return Err(WorkloadError::Value { key, found, allowed: "less than 26 days in all".to_owned() });
        }
        let collectives = collectives(&graph, &lengths, &starts);
        Ok(Self { graph, count, starts, order, bound, collectives })
    }

    /// The graph of one step.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
    /// Number of steps.
    pub fn count(&self) -> u32 {
        self.count
    }
    /// Lower bound on the time of a step. It is the longest chain of computations and transfers,
    /// where a transfer takes its line time on the slower of its hosts' links plus propagation.
    /// Where a node waits for several transfers on one link, the link carries them one after the
    /// other. If it is longer, the bound is what the most loaded link still has to carry from any
    /// moment on.
    pub fn bound(&self) -> Duration {
        Duration::from_ps(self.bound)
    }
    /// The same bound for a collective, as if all its inputs were ready at once.
    pub fn collective_bound(&self, collective: u32) -> Duration {
        Duration::from_ps(self.collectives[collective as usize].0)
    }

    /// All transfers at the earliest times at which they could start, if each step took its
    /// shortest time.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = FlowArrival> + Send + '_ {
        (0..self.count).flat_map(move |step| {
            let begin = self.bound * i64::from(step);
            self.order.iter().filter_map(move |&n| {
                let node = self.graph.nodes()[n as usize];
                let Work::Transfer { source, destination, bytes } = node.work else { return None };
                let at = Duration::from_ps(begin + self.starts[n as usize]);
                let coflow = node.collective.map(|c| self.coflow(step, c));
                Some(FlowArrival { at, source, destination, bytes, coflow })
            })
        })
    }

    /// The coflow of a collective in a step.
    pub fn coflow(&self, step: u32, collective: u32) -> CoflowId {
        CoflowId(step * self.graph.collectives().len() as u32 + collective)
    }

    /// Number of coflows.
    pub(crate) fn coflows(&self) -> u64 {
        u64::from(self.count) * self.graph.collectives().len() as u64
    }

    /// The coflows, with the earliest starts of their first transfers.
    pub(crate) fn starts(&self) -> Vec<CoflowStart> {
        let starts = (0..self.count).flat_map(|step| {
            let begin = self.bound * i64::from(step);
            self.collectives.iter().map(move |c| Duration::from_ps(begin + c.1))
        });
        (0..).zip(starts).map(|(name, at)| CoflowStart { name, at }).collect()
    }
}

/// A lower bound on a time for a message. Sums of times stop at the largest one.
fn at_least(ps: i64) -> String {
    let seconds = Duration::from_ps(ps).as_secs_f64();
    match ps {
        i64::MAX => "more than 106 days".to_owned(),
        _ if seconds >= 86_400.0 => format!("at least {:.1} days", seconds / 86_400.0),
        _ => format!("at least {seconds:.1} s"),
    }
}

fn is_transfer(graph: &Graph, node: u32) -> bool {
    matches!(graph.nodes()[node as usize].work, Work::Transfer { .. })
}

/// Shortest time of a node in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// Line time on the sender's link and on the receiver's, during which no other transfer can use
    /// the link; 0 for a computation.
    line: [i64; 2],
    /// Total time, propagation included.
    whole: i64,
}

impl Least {
    fn of(work: &Work, fabric: &Fabric, mtu: u64) -> Self {
        let (source, destination, bytes) = match *work {
            Work::Compute(time) => return Self { line: [0; 2], whole: time.as_ps() },
            Work::Transfer { source, destination, bytes } => (source, destination, bytes),
        };
        let (up, down) = (fabric.link(fabric.uplink(source)), fabric.link(fabric.downlink(destination)));
        let line = [up, down].map(|link| {
            let framing = link.spec.framing;
            let wire = least_wire(bytes.get(), mtu, framing.overhead().into(), framing.minimum().into());
            // Saturated: a time longer than any run is refused as a whole.
            let ps = (u128::from(wire) * 8_000_000_000_000).div_ceil(u128::from(link.spec.rate.as_bps()));
            i64::try_from(ps).unwrap_or(i64::MAX / 4)
        });
        // Every path crosses the sender's switch.
        let latency = fabric.switch(up.to).map_or(Duration::ZERO, |s| s.latency);
        let way = up.spec.propagation + down.spec.propagation + latency;
        Self { line, whole: line[0].max(line[1]).saturating_add(way.as_ps()) }
    }
}

/// Earliest start of each node and earliest end of the last one, considering dependencies for which
/// `counts` is true.
fn earliest(graph: &Graph, lengths: &[Least], counts: impl Fn(u32, u32) -> bool) -> (Vec<i64>, i64) {
    let mut starts = vec![0i64; graph.nodes().len()];
    let mut last = 0;
    // Transfers that a node waits for, by link: which one, earliest start, line time.
    let mut shared: Vec<(u64, i64, i64)> = Vec::new();
    for &node in graph.order() {
        let mut start = 0;
        shared.clear();
        for &before in graph.after(node).iter().filter(|&&b| counts(b, node)) {
            let (begin, least) = (starts[before as usize], &lengths[before as usize]);
            start = start.max(begin.saturating_add(least.whole));
            if let Work::Transfer { source, destination, .. } = graph.nodes()[before as usize].work {
                shared.push((u64::from(source.0) << 1, begin, least.line[0]));
                shared.push((u64::from(destination.0) << 1 | 1, begin, least.line[1]));
            }
        }
        if shared.len() > 2 {
            shared.sort_unstable();
            for link in shared.chunk_by(|a, b| a.0 == b.0) {
                start = start.max(from_any_moment(link.iter().rev().map(|&(_, begin, line)| (begin, line))));
            }
        }
        starts[node as usize] = start;
        last = last.max(start.saturating_add(lengths[node as usize].whole));
    }
    (starts, last)
}

/// Earliest time at which a link completes transfers with these earliest starts, given latest
/// first.
fn from_any_moment(transfers: impl Iterator<Item = (i64, i64)>) -> i64 {
    let (mut done, mut load) = (0, 0i64);
    for (begin, line) in transfers {
        load = load.saturating_add(line);
        done = done.max(begin.saturating_add(load));
    }
    done
}

/// Earliest time at which the last host's link is done.
fn busiest(graph: &Graph, lengths: &[Least], starts: &[i64], hosts: u32) -> i64 {
    let mut links: Vec<Vec<(i64, i64)>> = vec![Vec::new(); 2 * hosts as usize];
    for (node, (least, &start)) in graph.nodes().iter().zip(lengths.iter().zip(starts)) {
        if let Work::Transfer { source, destination, .. } = node.work {
            let places = [2 * source.index(), 2 * destination.index() + 1];
            for (place, line) in places.into_iter().zip(least.line) {
                links[place].push((start, line));
            }
        }
    }
    let done = links.iter_mut().map(|transfers| {
        transfers.sort_unstable();
        from_any_moment(transfers.iter().rev().copied())
    });
    done.max().unwrap_or(0)
}

/// Shortest time of each collective alone, and earliest start of its first transfer.
fn collectives(graph: &Graph, lengths: &[Least], starts: &[i64]) -> Vec<(i64, i64)> {
    let of = |n: u32| graph.nodes()[n as usize].collective;
    let (alone, _) = earliest(graph, lengths, |before, node| of(before) == of(node));
    let mut all = vec![(0, i64::MAX); graph.collectives().len()];
    for n in 0..graph.nodes().len() as u32 {
        let Some(collective) = of(n) else { continue };
        let (least, begin) = &mut all[collective as usize];
        *least = (*least).max(alone[n as usize].saturating_add(lengths[n as usize].whole));
        if is_transfer(graph, n) {
            *begin = (*begin).min(starts[n as usize]);
        }
    }
    // A collective that sends nothing has no start.
    all.into_iter().map(|(least, begin)| (least, if begin == i64::MAX { 0 } else { begin })).collect()
}

/// Hosts of all groups of `size` ranks that are `stride` apart, group by group. The number of hosts
/// is a multiple of `size` times `stride`.
pub(crate) fn groups(hosts: u32, size: u32, stride: u32) -> Vec<Vec<HostId>> {
    let block = size * stride;
    let firsts = (0..hosts).filter(|h| h % block < stride);
    firsts.map(|first| (0..size).map(|i| HostId(first + i * stride)).collect()).collect()
}
