//! Flows that arrive as a Poisson process.
//!
//! The load of the hosts' links determines the rate of arrivals.

use crate::bundled::BundledKind;
use crate::cdf::{Cdf, LARGEST};
use crate::error::WorkloadError;
use crate::input::Input;
use crate::matrix::Matrix;
use crate::numbers::{below, exponential, unit};
use crate::source::{Facts, FlowArrival, LATEST};
use crate::streams::Streams;
use crate::wire::FlowWire;
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::Path;
use timeplane_model::{Bytes, Duration, Fabric, Framing, HostId, LinkSpec};
use timeplane_scenario::{Pattern, Poisson, Sizes};

/// IPv4 and UDP headers of a datagram.
const HEADERS: u32 = 28;

#[derive(Debug)]
enum SizeLaw {
    Fixed(u64),
    Exponential(f64),
    Cdf(Cdf),
}

impl SizeLaw {
    fn load(spec: &Poisson, base: &Path, facts: &mut Facts) -> Result<Self, WorkloadError> {
        Ok(match &spec.sizes {
            Sizes::Fixed(b) if (1..=LARGEST).contains(&b.get()) => Self::Fixed(b.get()),
            Sizes::Fixed(b) => return Err(value("workload.poisson.sizes.fixed", b, "from 1 B to 1 PB")),
            Sizes::Exponential(b) if (1..=LARGEST).contains(&b.get()) => Self::Exponential(b.get() as f64),
            Sizes::Exponential(b) => return Err(value("workload.poisson.sizes.exponential", b, "from 1 B to 1 PB")),
            Sizes::Cdf(name) => Self::Cdf(cdf("workload.poisson.sizes.cdf", name, base, facts)?),
            Sizes::CdfPoints(name) => {
                Self::Cdf(cdf("workload.poisson.sizes.cdf_points", name, base, facts)?.in_steps())
            }
        })
    }

    fn sample(&self, rng: &mut impl Rng) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Exponential(mean) => ((mean * exponential(rng) + 0.5) as u64).max(1),
            Self::Cdf(cdf) => cdf.sample(rng),
        }
    }

    fn mean_of(&self, wire: &FlowWire) -> f64 {
        match self {
            Self::Fixed(bytes) => wire.at(*bytes),
            Self::Exponential(mean) => wire.mean_exponential(*mean),
            Self::Cdf(cdf) => cdf.mean_of(wire),
        }
    }
}

fn cdf(key: &'static str, name: &str, base: &Path, facts: &mut Facts) -> Result<Cdf, WorkloadError> {
    let input = Input::open(key, name, base, Some(BundledKind::Cdf))?;
    facts.files.push(input.record());
    Cdf::parse(&input)
}

#[derive(Debug)]
enum Pairs {
    Uniform,
    Incast(u32),
    Permutation,
    Stride(u32),
    AllToAll,
    /// Pairs, with cumulative sums of their weights.
    Matrix(Vec<(u32, u32)>, Vec<f64>),
}

impl Pairs {
    /// The pairs of hosts that exchange flows, with their matrix if the pattern is one.
    fn load(
        spec: &Poisson,
        base: &Path,
        hosts: u32,
        facts: &mut Facts,
    ) -> Result<(Self, Option<Matrix>), WorkloadError> {
        let pairs = match &spec.pattern {
            Pattern::Uniform => Self::Uniform,
            Pattern::Permutation => Self::Permutation,
            Pattern::AllToAll => Self::AllToAll,
            &Pattern::Incast { receiver } if receiver < hosts => Self::Incast(receiver),
            Pattern::Incast { receiver } => {
                let allowed = format!("a host, 0 to {}", hosts - 1);
                return Err(value("workload.poisson.pattern.incast.receiver", receiver, allowed));
            }
            &Pattern::Stride { by } if !by.is_multiple_of(hosts) => Self::Stride(by % hosts),
            Pattern::Stride { by } => {
                let allowed =
                    format!("no multiple of {hosts}, the number of hosts, as every host would send to itself");
                return Err(value("workload.poisson.pattern.stride.by", by, allowed));
            }
            Pattern::Matrix { file, more_racks } => {
                let input = Input::open("workload.poisson.pattern.matrix.file", file, base, Some(BundledKind::Matrix))?;
                facts.files.push(input.record());
                let matrix = Matrix::parse(&input, hosts, *more_racks)?;
                let mut sum = 0.0;
                let sums = matrix.weights.iter().map(|w| {
                    sum += w;
                    sum
                });
                return Ok((Self::Matrix(matrix.pairs.clone(), sums.collect()), Some(matrix)));
            }
        };
        Ok((pairs, None))
    }
}

/// The rate of arrivals at load 1, flows per second.
fn flows_per_second_at_load_1(fabric: &Fabric, pairs: &Pairs, matrix: Option<&Matrix>, wires: &mut Wires<'_>) -> f64 {
    let hosts = fabric.hosts();
    let link = |h: u32| fabric.link(fabric.downlink(HostId(h))).spec;
    match (pairs, matrix) {
        (Pairs::Incast(receiver), _) => wires.flows_per_second(link(*receiver)),
        (_, Some(matrix)) => {
            let (mut out, mut inn) = (vec![0.0; hosts as usize], vec![0.0; hosts as usize]);
            for (&(s, d), w) in matrix.pairs.iter().zip(&matrix.weights) {
                out[s as usize] += w;
                inn[d as usize] += w;
            }
            let mut most_loaded = f64::INFINITY;
            for h in 0..hosts {
                let share = f64::max(out[h as usize], inn[h as usize]);
                if share > 0.0 {
                    most_loaded = most_loaded.min(wires.flows_per_second(link(h)) / share);
                }
            }
            most_loaded
        }
        _ => (0..hosts).map(|h| wires.flows_per_second(link(h))).sum(),
    }
}

/// A Poisson workload, ready to draw arrivals from.
#[derive(Debug)]
pub(crate) struct PoissonSource {
    hosts: u32,
    pairs: Pairs,
    sizes: SizeLaw,
    /// Mean time between arrivals, in picoseconds.
    interval: f64,
}

fn value(key: &'static str, found: impl ToString, allowed: impl Into<String>) -> WorkloadError {
    WorkloadError::Value { key, found: found.to_string(), allowed: allowed.into() }
}

impl PoissonSource {
    pub(crate) fn load(
        spec: &Poisson,
        base: &Path,
        fabric: &Fabric,
        mtu: Bytes,
    ) -> Result<(Self, Facts), WorkloadError> {
        let mut facts = Facts { kind: "poisson", ..Facts::default() };
        let hosts = fabric.hosts();
        if !(spec.load > 0.0 && spec.load <= 10.0) {
            return Err(value("workload.poisson.load", spec.load, "above 0 and at most 10 (1 fills a link)"));
        }
        let sizes = SizeLaw::load(spec, base, &mut facts)?;
        let (pairs, matrix) = Pairs::load(spec, base, hosts, &mut facts)?;
        let mut wires = Wires { spec, mtu, sizes: &sizes, means: Vec::new() };
        let full = flows_per_second_at_load_1(fabric, &pairs, matrix.as_ref(), &mut wires);
        facts.mean_wire_bytes = Some(wires.mean(fabric.link(fabric.downlink(HostId(0))).spec.framing));
        let rate = spec.load * full;
        let interval = 1e12 / rate;
        // The negation catches NaN as well.
        if !(interval > 0.0 && interval <= 1e18) {
            let allowed = "so that at least one flow arrives in 11 days; the rate of the hosts' links must be above 0";
            return Err(value("workload.poisson.load", spec.load, allowed));
        }
        facts.arrivals_per_second = Some(rate);
        facts.mean_flow_bytes = sizes.mean_of(&FlowWire::identity());
        Ok((Self { hosts, pairs, sizes, interval }, facts))
    }

    pub(crate) fn arrivals(&self, seed: u64) -> Arrivals<'_> {
        let streams = Streams::new(seed);
        let partner = match self.pairs {
            Pairs::Permutation => derangement(self.hosts, &mut streams.fast("workload", 0, "permutation")),
            Pairs::AllToAll => vec![0; self.hosts as usize],
            _ => Vec::new(),
        };
        Arrivals {
            source: self,
            times: streams.fast("workload", 0, "times"),
            pairs: streams.fast("workload", 0, "pairs"),
            sizes: streams.fast("workload", 0, "sizes"),
            at: 0,
            fraction: 0.0,
            partner,
        }
    }
}

/// Mean wire bytes of a flow, computed once for each framing.
struct Wires<'a> {
    spec: &'a Poisson,
    mtu: Bytes,
    sizes: &'a SizeLaw,
    means: Vec<(Framing, f64)>,
}

impl Wires<'_> {
    fn mean(&mut self, framing: Framing) -> f64 {
        if let Some((_, mean)) = self.means.iter().find(|(f, _)| *f == framing) {
            return *mean;
        }
        let mean = self.sizes.mean_of(&FlowWire::new(&self.spec.packets, self.mtu, HEADERS, framing));
        self.means.push((framing, mean));
        mean
    }

    /// Number of flows per second that fill a link.
    fn flows_per_second(&mut self, link: LinkSpec) -> f64 {
        link.rate.as_bps() as f64 / (8.0 * self.mean(link.framing))
    }
}

/// A uniformly random permutation without fixed points: shuffles (Fisher and Yates) until there is
/// none, 2.7 times on average.
fn derangement(hosts: u32, rng: &mut impl Rng) -> Vec<u32> {
    let mut to: Vec<u32> = (0..hosts).collect();
    loop {
        for i in (1..to.len()).rev() {
            to.swap(i, below(rng, i as u64 + 1) as usize);
        }
        if to.iter().enumerate().all(|(i, &j)| i as u32 != j) {
            return to;
        }
    }
}

/// Arrivals of one run. Times, pairs and sizes come from separate streams.
pub(crate) struct Arrivals<'a> {
    source: &'a PoissonSource,
    times: Xoshiro256PlusPlus,
    pairs: Xoshiro256PlusPlus,
    sizes: Xoshiro256PlusPlus,
    /// Last arrival in whole picoseconds, and the fraction beyond it, so that sums do not drift.
    at: u64,
    fraction: f64,
    /// Permutation: each host's receiver. All to all: number of flows that each host has sent,
    /// modulo the other hosts.
    partner: Vec<u32>,
}

impl Iterator for Arrivals<'_> {
    type Item = FlowArrival;

    fn next(&mut self) -> Option<FlowArrival> {
        let n = self.source.hosts;
        let interval = self.source.interval * exponential(&mut self.times) + self.fraction;
        self.fraction = interval.fract();
        self.at = self.at.saturating_add(interval as u64);
        if self.at > LATEST as u64 {
            return None;
        }
        let rng = &mut self.pairs;
        let (source, destination) = match &self.source.pairs {
            Pairs::Uniform => {
                let s = below(rng, n.into()) as u32;
                (s, other(s, rng, n))
            }
            Pairs::Incast(receiver) => (other(*receiver, rng, n), *receiver),
            Pairs::Permutation => {
                let s = below(rng, n.into()) as u32;
                (s, self.partner[s as usize])
            }
            Pairs::Stride(by) => {
                let s = below(rng, n.into()) as u32;
                (s, around(s, *by, n))
            }
            Pairs::AllToAll => {
                let s = below(rng, n.into()) as u32;
                let turn = &mut self.partner[s as usize];
                let d = around(s, *turn + 1, n);
                *turn = (*turn + 1) % (n - 1);
                (s, d)
            }
            Pairs::Matrix(pairs, sums) => {
                let u = unit(rng) * sums[sums.len() - 1];
                pairs[sums.partition_point(|&sum| sum <= u).min(pairs.len() - 1)]
            }
        };
        Some(FlowArrival {
            at: Duration::from_ps(self.at as i64),
            source: HostId(source),
            destination: HostId(destination),
            bytes: Bytes::new(self.source.sizes.sample(&mut self.sizes)),
            coflow: None,
        })
    }
}

/// A random host other than this one.
fn other(host: u32, rng: &mut impl Rng, hosts: u32) -> u32 {
    let h = below(rng, u64::from(hosts) - 1) as u32;
    if h >= host { h + 1 } else { h }
}

/// The host that is `by` places further.
fn around(host: u32, by: u32, hosts: u32) -> u32 {
    ((u64::from(host) + u64::from(by)) % u64::from(hosts)) as u32
}
