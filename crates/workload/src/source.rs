//! A loaded workload, from which every run draws its arrivals.
//!
//! All kinds of workloads are behind one type.

use crate::chakra;
use crate::coflows::CoflowSource;
use crate::collective;
use crate::error::WorkloadError;
use crate::flows::FlowSource;
use crate::poisson::PoissonSource;
use crate::shuffle::ShuffleSource;
use crate::simai;
use crate::steps::Steps;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use timeplane_model::{Bytes, CoflowId, Duration, Fabric, HostId, LinkId};
use timeplane_scenario::{PacketMix, Workload};

/// The latest arrival of a flow: 53 days, so that a run's sums of times do not overflow.
pub(crate) const LATEST: i64 = i64::MAX / 2;

/// The largest MTU: a megabyte.
const LARGEST_MTU: u64 = 1_000_000;

/// The longest time that a workload's traffic may take on a host's link, in days. Times are
/// picoseconds in 64 bits, which end after 106 days.
const LONGEST_DAYS: f64 = 30.0;

/// Arrival of a flow at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowArrival {
    /// Time since the start of the run; not negative, at most 53 days.
    pub at: Duration,
    /// The sending host.
    pub source: HostId,
    /// The receiving host; never the source.
    pub destination: HostId,
    /// Application bytes; at least 1.
    pub bytes: Bytes,
    /// The coflow that it belongs to.
    pub coflow: Option<CoflowId>,
}

/// A file from which a workload was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// Path, or path in the source tree if it is bundled.
    pub file: String,
    /// BLAKE3 hash of the content, in hexadecimal.
    pub blake3: String,
}

/// Facts about a workload before it runs, for users and manifests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// The workload's key in scenarios.
    pub kind: &'static str,
    /// Files from which it was read.
    pub files: Vec<InputFile>,
    /// Number of flows that cross the fabric; `None` for an endless workload.
    pub flows: Option<u64>,
    /// Application bytes of these flows; `None` for an endless workload.
    pub bytes: Option<u64>,
    /// Mean application bytes of a flow; the expectation for random sizes.
    pub mean_flow_bytes: f64,
    /// Expected wire bytes of a flow, as datagrams under the MTU and the framing of host 0's link.
    /// Poisson workloads only.
    pub mean_wire_bytes: Option<f64>,
    /// Mean number of flows per second in the whole fabric. Poisson workloads only.
    pub arrivals_per_second: Option<f64>,
    /// Number of coflows with flows that cross the fabric, if there are coflows.
    pub coflows: Option<u64>,
    /// Number of chosen coflows without a flow that crosses the fabric; they are left out.
    pub coflows_in_rack: u64,
    /// Number of coflows that `max_flows` left out.
    pub coflows_too_large: u64,
    /// Number of flows of the chosen coflows from a rack to itself. They never enter the fabric and
    /// are left out.
    pub flows_in_rack: u64,
    /// Application bytes of the flows in a rack.
    pub bytes_in_rack: u64,
    /// Whether the file's flows or coflows had to be sorted by time.
    pub sorted: bool,
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let (Some(flows), Some(bytes)) = (self.flows, self.bytes) {
            write!(f, ": {flows} flows, {}", Bytes::new(bytes))?;
        }
        if let Some(coflows) = self.coflows {
            write!(f, ", {coflows} coflows")?;
        }
        if let Some(rate) = self.arrivals_per_second {
            let digits = if rate < 100.0 { 2 } else { 0 };
            write!(f, ": {rate:.digits$} flows/s of {} on average", Bytes::new(self.mean_flow_bytes.round() as u64))?;
        }
        if self.flows_in_rack > 0 {
            let (flows, bytes) = (self.flows_in_rack, Bytes::new(self.bytes_in_rack));
            write!(f, "; left out: {flows} flows ({bytes}) inside racks")?;
            if self.coflows_in_rack > 0 {
                write!(f, ", {} coflows that have no others", self.coflows_in_rack)?;
            }
        }
        if self.coflows_too_large > 0 {
            write!(f, "; {} coflows have too many flows", self.coflows_too_large)?;
        }
        if self.sorted {
            write!(f, "; sorted by time")?;
        }
        for file in &self.files {
            write!(f, "; from {}", file.file)?;
        }
        Ok(())
    }
}

/// A coflow of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoflowStart {
    /// Its name in the trace or the flow list, or its own number if it has none.
    pub name: u64,
    /// Its time in the trace, before the jitter of its flows, or the start of its first flow.
    pub at: Duration,
}

/// Total from one host to another in a finite workload: source, destination, application bytes,
/// number of flows.
pub type PairDemand = (HostId, HostId, Bytes, u64);

#[derive(Debug)]
enum Kind {
    Poisson(PoissonSource),
    Flows(FlowSource),
    Shuffle(ShuffleSource),
    Coflows(CoflowSource),
    Steps(Steps),
}

/// A loaded workload. Its files are read and checked once, and runs share it.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    facts: Facts,
    packets: PacketMix,
}

impl Source {
    /// Reads and checks a workload. Files are bundled ones by name, or looked up in `base`, the
    /// folder of the scenario. `mtu` is the largest IP packet, from 29 B to 1 MB.
    ///
    /// A Poisson workload's rate follows from its load: wire bytes over the rate of the hosts'
    /// links. The packet mix cuts flows into datagrams with 28 B of headers, framed as on the
    /// hosts' links. Expected wire bytes are exact for packets of one size, and within 1e-4 for
    /// random ones. If links differ in rate, the load is relative to the sum of their rates, and
    /// hosts still send equal numbers of flows.
    ///
    /// # Errors
    /// Fails if a file is missing or malformed, if a host does not exist, or if a value does not
    /// fit the fabric; see [`WorkloadError`].
    pub fn load(workload: &Workload, base: &Path, fabric: &Fabric, mtu: Bytes) -> Result<Self, WorkloadError> {
        if !(29..=LARGEST_MTU).contains(&mtu.get()) {
            let allowed = "the MTU must leave room beside 28 B of headers, and be at most 1 MB".to_owned();
            return Err(WorkloadError::Value { key: "fabric.mtu", found: mtu.to_string(), allowed });
        }
        let mut packets = PacketMix::Mtu;
        let (kind, facts) = match workload {
            Workload::Poisson(spec) => {
                packets = spec.packets.clone();
                let (source, facts) = PoissonSource::load(spec, base, fabric, mtu)?;
                (Kind::Poisson(source), facts)
            }
            Workload::Flows(spec) => {
                let (source, facts) = FlowSource::load(spec, base, fabric)?;
                (Kind::Flows(source), facts)
            }
            Workload::Shuffle(spec) => {
                let (source, facts) = ShuffleSource::load(spec, fabric)?;
                (Kind::Shuffle(source), facts)
            }
            Workload::Coflows(spec) => {
                let (source, facts) = CoflowSource::load(spec, base, fabric)?;
                (Kind::Coflows(source), facts)
            }
            Workload::Collective(spec) => {
                let (steps, facts) = collective::load(spec, fabric, mtu)?;
                (Kind::Steps(steps), facts)
            }
            Workload::Chakra(spec) => {
                let (steps, facts) = chakra::load(spec, base, fabric, mtu)?;
                (Kind::Steps(steps), facts)
            }
            Workload::Simai(spec) => {
                let (steps, facts) = simai::load(spec, base, fabric, mtu)?;
                (Kind::Steps(steps), facts)
            }
        };
        let source = Self { kind, facts, packets };
        source.ends_in_time(fabric)?;
        Ok(source)
    }

    /// Checks that a workload that ends can end before times overflow, with room for repetitions
    /// and waiting.
    fn ends_in_time(&self, fabric: &Fabric) -> Result<(), WorkloadError> {
        let mut sent = vec![0u64; fabric.links().len()];
        let mut add = |link: LinkId, bytes: Bytes| sent[link.index()] = bytes.get().saturating_add(sent[link.index()]);
        if let Kind::Shuffle(shuffle) = &self.kind {
            // A large one has too many pairs to list them.
            for host in (0..fabric.hosts()).map(HostId) {
                add(fabric.uplink(host), shuffle.of_host());
                add(fabric.downlink(host), shuffle.of_host());
            }
        } else {
            for (source, destination, bytes, _) in self.demand().unwrap_or_default() {
                add(fabric.uplink(source), bytes);
                add(fabric.downlink(destination), bytes);
            }
        }
        for (link, bytes) in fabric.links().iter().zip(sent) {
            let days = bytes as f64 * 8.0 / link.spec.rate.as_bps() as f64 / 86_400.0;
            if days > LONGEST_DAYS {
                let (bytes, rate) = (Bytes::new(bytes), link.spec.rate);
                let found = format!("{bytes} over a host's link of {rate}, which takes {days:.0} days");
                let allowed = format!("at most {LONGEST_DAYS} days of traffic over a link");
                return Err(WorkloadError::Value { key: "workload", found, allowed });
            }
        }
        Ok(())
    }

    /// A run's flows in the order of their arrival. The order of flows with equal times depends on
    /// the workload alone.
    ///
    /// Poisson flows are drawn one by one, and end after 53 days. Of a trace of coflows, each seed
    /// draws blocks of time, unless there is one block only. A coflow's flows are made when it
    /// arrives: mapper i to reducer i + k, for k = 0, 1, ... A shuffle's flows go from each host to
    /// the host that is k = 1, 2, ... places further. Flows that depend on others
    /// ([`steps`](Self::steps)) get the earliest times at which they could start.
    pub fn arrivals(&self, seed: u64) -> Box<dyn Iterator<Item = FlowArrival> + Send + '_> {
        match &self.kind {
            Kind::Poisson(s) => Box::new(s.arrivals(seed)),
            Kind::Flows(s) => Box::new(s.arrivals()),
            Kind::Shuffle(s) => s.arrivals(seed),
            Kind::Coflows(s) => Box::new(s.arrivals(seed)),
            Kind::Steps(s) => Box::new(s.arrivals()),
        }
    }

    /// The graph of dependencies, if flows depend on others: their start times are known only
    /// during the run.
    pub const fn steps(&self) -> Option<&Steps> {
        match &self.kind {
            Kind::Steps(steps) => Some(steps),
            _ => None,
        }
    }

    /// Whether flows arrive until the run ends.
    pub const fn is_endless(&self) -> bool {
        matches!(self.kind, Kind::Poisson(_))
    }

    /// Facts known before the workload runs.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Totals of a finite workload by source and destination. A trace of which each seed draws
    /// blocks counts as it is. `None` for an endless workload.
    pub fn demand(&self) -> Option<Vec<PairDemand>> {
        if self.is_endless() {
            return None;
        }
        let mut pairs: BTreeMap<(HostId, HostId), (Bytes, u64)> = BTreeMap::new();
        let arrivals = match &self.kind {
            Kind::Coflows(s) => Box::new(s.replay()),
            _ => self.arrivals(0),
        };
        for flow in arrivals {
            let (bytes, flows) = pairs.entry((flow.source, flow.destination)).or_default();
            *bytes += flow.bytes;
            *flows += 1;
        }
        Some(pairs.into_iter().map(|((s, d), (bytes, flows))| (s, d, bytes, flows)).collect())
    }

    /// The coflows of a run, which are numbered in this order: that of their arrival.
    pub fn coflows(&self, seed: u64) -> Vec<CoflowStart> {
        match &self.kind {
            Kind::Flows(s) => s.coflows().iter().map(|&(name, at)| CoflowStart { name, at }).collect(),
            Kind::Coflows(s) => s.starts(seed),
            Kind::Steps(s) => s.starts(),
            Kind::Poisson(_) | Kind::Shuffle(_) => Vec::new(),
        }
    }

    /// How flows are cut into packets; [`PacketMix::Mtu`] for workloads that do not choose.
    pub const fn packets(&self) -> &PacketMix {
        &self.packets
    }
}
