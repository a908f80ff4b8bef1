//! Lower bounds on completion times that no scheme can beat on the scenario's fabric.
//!
//! They exist for workloads that end.

use crate::cuts::{FabricCut, cuts};
use crate::{FlowArrival, Source};
use std::collections::BTreeMap;
use timeplane_model::{Fabric, HostId, LinkId};

/// Lower bounds for one set of arrivals, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Time from the first arrival to the last byte. It holds for each link that traffic must cross
    /// and, where paths can be chosen, for each cut ([`cuts`]). All that arrives from any moment on
    /// takes its line time from then.
    pub completion_ps: f64,
    /// Whether a cut gives this time, because it is longer than that of any link.
    pub by_cut: bool,
    /// Mean over coflows of the line time of each one's busiest link or cut, without other traffic.
    /// For collectives, the mean of their [longest chains](crate::Steps::collective_bound).
    pub cct_mean_ps: Option<f64>,
    /// Shortest possible time of a step, if flows depend on others
    /// ([`Steps::bound`](crate::Steps::bound)).
    pub step_ps: Option<f64>,
}

/// Wire bytes of a flow in full frames without headers of their own: the least that any transport
/// needs.
pub(crate) fn least_wire(bytes: u64, mtu: u64, overhead: u64, minimum: u64) -> u64 {
    let frames = bytes.div_ceil(mtu);
    (bytes + frames * overhead).max(minimum)
}

/// Computes the bounds. If packets may choose among paths, only the hosts' links and cuts count. If
/// traffic may leave by radio links that no wire carries (`air`), only the hosts' links count.
pub fn bounds(fabric: &Fabric, arrivals: &[FlowArrival], mtu: u64, air: bool) -> Option<Bounds> {
    let first = arrivals.first()?.at;
    let single = !air && fabric.circuit_switch().is_none() && single_path(fabric);
    let around = Around::new(if single || air { Vec::new() } else { cuts(fabric) });
    // Links by number, then the two directions of each cut, out and in.
    let wires = fabric.links().len();
    let mut links: Vec<f64> = vec![0.0; wires + 2 * around.cuts.len()];
    let mut coflows: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    let (mut completion, mut over_cuts): (f64, f64) = (0.0, 0.0);
    // From the last arrival back: the load of a link is what arrives from here on.
    for flow in arrivals.iter().rev() {
        let path = if single {
            fabric.path(flow.source, flow.destination, 0)
        } else {
            vec![fabric.uplink(flow.source), fabric.downlink(flow.destination)]
        };
        let line = |overhead, minimum, bps: u64| {
            least_wire(flow.bytes.get(), mtu, overhead, minimum) as f64 * 8e12 / bps as f64
        };
        let on_links = path.into_iter().map(|link| {
            let spec = fabric.link(link).spec;
            let framing = (spec.framing.overhead().into(), spec.framing.minimum().into());
            (link.index(), line(framing.0, framing.1, spec.rate.as_bps()))
        });
        let crossed = around
            .crossed(flow.source, flow.destination)
            .map(|(way, cut, bps)| (wires + way, line(cut.overhead, cut.minimum, bps)));
        for (at, ps) in on_links.chain(crossed) {
            links[at] += ps;
            let all = (flow.at - first).as_ps() as f64 + links[at];
            let longest = if at < wires { &mut completion } else { &mut over_cuts };
            *longest = longest.max(all);
            if let Some(c) = flow.coflow {
                *coflows.entry(c.0).or_default().entry(at as u32).or_default() += ps;
            }
        }
    }
    let busiest = |links: &BTreeMap<u32, f64>| links.values().copied().fold(0.0, f64::max);
    let cct_mean_ps = (!coflows.is_empty()).then(|| coflows.values().map(busiest).sum::<f64>() / coflows.len() as f64);
    let by_cut = over_cuts > completion;
    Some(Bounds { completion_ps: completion.max(over_cuts), by_cut, cct_mean_ps, step_ps: None })
}

/// Cuts indexed by the hosts inside them.
struct Around {
    cuts: Vec<FabricCut>,
    /// By host, the cuts around it.
    of: BTreeMap<HostId, Vec<usize>>,
}

impl Around {
    fn new(cuts: Vec<FabricCut>) -> Self {
        let mut of: BTreeMap<HostId, Vec<usize>> = BTreeMap::new();
        for (number, cut) in cuts.iter().enumerate() {
            cut.hosts.iter().for_each(|&host| of.entry(host).or_default().push(number));
        }
        Self { cuts, of }
    }
    /// The directions of cuts that all traffic from one host to another must cross, numbered, with
    /// the rates of their wires in bit/s.
    fn crossed(&self, from: HostId, to: HostId) -> impl Iterator<Item = (usize, &FabricCut, u64)> {
        let around = |host| self.of.get(&host).map_or(&[][..], |cuts| &cuts[..]);
        let (out, into) = (around(from), around(to));
        let leaves = out.iter().filter(|c| !into.contains(c)).map(|&c| (2 * c, &self.cuts[c], self.cuts[c].out_bps));
        let enters = into.iter().filter(|c| !out.contains(c)).map(|&c| (2 * c + 1, &self.cuts[c], self.cuts[c].in_bps));
        leaves.chain(enters)
    }
}

/// The mean of the [`bounds`] over these seeds; `None` if the workload is endless or empty.
pub fn mean_bounds(
    fabric: &Fabric,
    source: &Source,
    seeds: impl IntoIterator<Item = u64>,
    mtu: u64,
    air: bool,
) -> Option<Bounds> {
    if source.is_endless() {
        return None;
    }
    if let Some(steps) = source.steps() {
        // The same for all seeds: no random numbers are drawn.
        let arrivals: Vec<_> = source.arrivals(0).collect();
        let bounds = bounds(fabric, &arrivals, mtu, air)?;
        let of_all = |c| steps.collective_bound(c).as_ps() as f64;
        let count = steps.graph().collectives().len() as u32;
        let cct = (count > 0).then(|| (0..count).map(of_all).sum::<f64>() / f64::from(count));
        return Some(Bounds { cct_mean_ps: cct, step_ps: Some(steps.bound().as_ps() as f64), ..bounds });
    }
    let arrivals = |seed| source.arrivals(seed).collect::<Vec<_>>();
    let each = seeds.into_iter().filter_map(|seed| bounds(fabric, &arrivals(seed), mtu, air));
    let each: Vec<Bounds> = each.collect();
    let mean = |v: Vec<f64>| (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64);
    let completion_ps = mean(each.iter().map(|b| b.completion_ps).collect())?;
    let cct_mean_ps = mean(each.iter().filter_map(|b| b.cct_mean_ps).collect());
    Some(Bounds { completion_ps, by_cut: each.iter().any(|b| b.by_cut), cct_mean_ps, step_ps: None })
}

/// Whether every pair of hosts has only one path.
fn single_path(fabric: &Fabric) -> bool {
    let mut one_under: BTreeMap<u32, HostId> = BTreeMap::new();
    for h in (0..fabric.hosts()).map(HostId) {
        one_under.entry(fabric.link(LinkId(fabric.uplink(h).0)).to.0).or_insert(h);
    }
    let hosts: Vec<HostId> = one_under.into_values().collect();
    hosts.iter().all(|&a| hosts.iter().all(|&b| a == b || fabric.is_single_path(a, b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Bytes, CoflowId, Duration, Framing, LinkSpec, Rate, Switch};

    fn flow(at_us: i64, source: u32, destination: u32, bytes: u64) -> FlowArrival {
        FlowArrival {
            at: Duration::from_us(at_us),
            source: HostId(source),
            destination: HostId(destination),
            bytes: Bytes::new(bytes),
            coflow: Some(CoflowId(source)),
        }
    }

    #[test]
    fn the_busiest_link_from_the_worst_moment_on() {
        let link =
            LinkSpec { rate: Rate::gbps(8), propagation: Duration::ZERO, framing: Framing::None, bit_error: 0.0 };
        let f = Fabric::single_switch(3, Switch::default(), link).unwrap();
        // 1 B takes 1 ns. Two flows to host 2: 10 us at time 0, 30 us at time 100 us.
        let arrivals = [flow(0, 0, 2, 10_000), flow(100, 1, 2, 30_000)];
        let b = bounds(&f, &arrivals, 9000, false).unwrap();
        assert_eq!(b.completion_ps, 130e6);
        assert_eq!(b.cct_mean_ps, Some(20e6));
    }

    /// Two racks of two hosts, three spines: a rack's hosts send 2 x 9000 B at 8 Gb/s each, and its
    /// uplinks carry 3 x 1 Gb/s.
    #[test]
    fn a_cut_takes_longer_than_any_link_where_racks_send_more_than_they_get_out() {
        let link = |gbps| LinkSpec {
            rate: Rate::gbps(gbps),
            propagation: Duration::ZERO,
            framing: Framing::None,
            bit_error: 0.0,
        };
        let f = Fabric::leaf_spine(2, 2, 3, Switch::default(), link(8), link(1)).unwrap();
        let arrivals = [flow(0, 0, 2, 9000), flow(0, 1, 3, 9000), flow(0, 0, 1, 90)];
        let b = bounds(&f, &arrivals, 9000, false).unwrap();
        // 144,000 bits at 3 Gb/s. Each coflow alone is half of it, and traffic within the rack
        // crosses no uplink.
        assert_eq!((b.completion_ps, b.by_cut), (48e6, true));
        assert_eq!(b.cct_mean_ps, Some(24e6));
        // By radio racks may send more: only the rate of a host's wire is certain. It sends 9090 B
        // at 8 Gb/s.
        let b = bounds(&f, &arrivals, 9000, true).unwrap();
        assert_eq!((b.completion_ps, b.by_cut), (9.09e6, false));
    }
}
