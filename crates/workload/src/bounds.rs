//! What theory says that no control can beat on the scenario's fabric, for workloads that end.

use crate::{FlowArrival, Source};
use std::collections::BTreeMap;
use timeplane_model::{Fabric, HostId, LinkId};

/// Lower bounds of one set of arrivals, in ps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// From the first arrival to the last byte: on each link that traffic must cross, what arrives from any moment on takes
    /// its line time from then.
    pub completion_ps: f64,
    /// Mean over coflows of the line time of each one's busiest link, as if it were alone. Of collectives, of what each one's [longest
    /// chain](crate::Steps::collective_bound) takes.
    pub cct_mean_ps: Option<f64>,
    /// The least time of a step, where flows wait for others ([`Steps::bound`](crate::Steps::bound)).
    pub step_ps: Option<f64>,
}

/// Wire bytes of a flow in frames that are full and have no header of their own: the least that any transport needs.
pub(crate) fn least_wire(bytes: u64, mtu: u64, overhead: u64, minimum: u64) -> u64 {
    let frames = bytes.div_ceil(mtu);
    (bytes + frames * overhead).max(minimum)
}

/// Computes the bounds. Where packets may choose among paths only the hosts' links are certain.
pub fn bounds(fabric: &Fabric, arrivals: &[FlowArrival], mtu: u64) -> Option<Bounds> {
    let first = arrivals.first()?.at;
    let single = fabric.circuit_switch().is_none() && single_path(fabric);
    let mut links: Vec<f64> = vec![0.0; fabric.links().len()];
    let mut coflows: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    let mut completion: f64 = 0.0;
    // From the last arrival back: a link's load is what arrives from here on.
    for flow in arrivals.iter().rev() {
        let path = if single {
            fabric.path(flow.source, flow.destination, 0)
        } else {
            vec![fabric.uplink(flow.source), fabric.downlink(flow.destination)]
        };
        for link in path {
            let spec = fabric.link(link).spec;
            let (overhead, minimum) = (spec.framing.overhead().into(), spec.framing.minimum().into());
            let wire = least_wire(flow.bytes.get(), mtu, overhead, minimum);
            let ps = wire as f64 * 8e12 / spec.rate.as_bps() as f64;
            let load = &mut links[link.index()];
            *load += ps;
            completion = completion.max((flow.at - first).as_ps() as f64 + *load);
            if let Some(c) = flow.coflow {
                *coflows.entry(c.0).or_default().entry(link.0).or_default() += ps;
            }
        }
    }
    let busiest = |links: &BTreeMap<u32, f64>| links.values().copied().fold(0.0, f64::max);
    let cct_mean_ps = (!coflows.is_empty()).then(|| coflows.values().map(busiest).sum::<f64>() / coflows.len() as f64);
    Some(Bounds { completion_ps: completion, cct_mean_ps, step_ps: None })
}

/// The mean of the [`bounds`] over these seeds; none where the workload is endless or empty.
pub fn mean_bounds(fabric: &Fabric, source: &Source, seeds: impl IntoIterator<Item = u64>, mtu: u64) -> Option<Bounds> {
    if source.is_endless() {
        return None;
    }
    if let Some(steps) = source.steps() {
        // The same for all seeds: nothing is drawn.
        let arrivals: Vec<_> = source.arrivals(0).collect();
        let bounds = bounds(fabric, &arrivals, mtu)?;
        let of_all = |c| steps.collective_bound(c).as_ps() as f64;
        let count = steps.graph().collectives().len() as u32;
        let cct = (count > 0).then(|| (0..count).map(of_all).sum::<f64>() / f64::from(count));
        return Some(Bounds { cct_mean_ps: cct, step_ps: Some(steps.bound().as_ps() as f64), ..bounds });
    }
    let each = seeds.into_iter().filter_map(|seed| bounds(fabric, &source.arrivals(seed).collect::<Vec<_>>(), mtu));
    let (completion, cct): (Vec<f64>, Vec<Option<f64>>) = each.map(|b| (b.completion_ps, b.cct_mean_ps)).unzip();
    let mean = |v: &[f64]| (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64);
    let cct: Vec<f64> = cct.into_iter().flatten().collect();
    Some(Bounds { completion_ps: mean(&completion)?, cct_mean_ps: mean(&cct), step_ps: None })
}

/// Whether no pair of hosts has a choice of paths.
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
        let b = bounds(&f, &arrivals, 9000).unwrap();
        assert_eq!(b.completion_ps, 130e6);
        assert_eq!(b.cct_mean_ps, Some(20e6));
    }
}
