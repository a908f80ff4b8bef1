//! The least completion time of a flow: alone in the network, at once, without acknowledgements or ramp-up.
//!
//! It is that of the path of the flow's hash. Where each packet takes its own path and equal paths have different delays, a flow may be faster.

use timeplane_model::{Duration, Fabric, Forwarding, HostId};

use crate::link::CUT_THROUGH_HEADER;

/// One link of a path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    ps_per_byte: f64,
    rate: timeplane_model::Rate,
    framing: timeplane_model::Framing,
    /// From the last bit's departure to when the next node may send it on.
    lag: i64,
    cut_through: bool,
}

/// A path, to be asked for many sizes.
#[derive(Clone, Debug)]
pub struct IdealPath {
    hops: Vec<Hop>,
}

impl IdealPath {
    /// The path that a flow of this hash takes.
    pub fn new(fabric: &Fabric, source: HostId, destination: HostId, hash: u32) -> Self {
        let hops = fabric
            .path(source, destination, hash)
            .into_iter()
            .map(|l| {
                let link = fabric.link(l);
                let switch = fabric.switch(link.to);
                Hop {
                    ps_per_byte: 8e12 / link.spec.rate.as_bps() as f64,
                    rate: link.spec.rate,
                    framing: link.spec.framing,
                    lag: link.spec.propagation.as_ps() + switch.map_or(0, |s| s.latency.as_ps()),
                    cut_through: switch.is_some_and(|s| s.forwarding == Forwarding::CutThrough),
                }
            })
            .collect();
        Self { hops }
    }

    /// Completion time of packets of these sizes (link framing not included), all there at time zero.
    ///
    /// The recursion `departure[k][n] = max(departure[k][n - 1], ready[k][n]) + line time`, packet by packet, but for the first run:
    /// behind the first packet of an empty network, each equal one adds the line time of the slowest link.
    pub fn completion(&self, runs: impl IntoIterator<Item = (u32, u64)>) -> Duration {
        let mut free = vec![0i64; self.hops.len()];
        let mut done = 0;
        let mut empty = true;
        for (bytes, mut count) in runs {
            if empty && count > 1 {
                done = self.one(&mut free, bytes);
                let mut slowest = 0;
                for (hop, free) in self.hops.iter().zip(&mut free) {
                    slowest = slowest.max(hop.line(bytes));
                    *free += (count - 1) as i64 * slowest;
                }
                done += (count - 1) as i64 * slowest;
                count = 0;
            }
            empty = false;
            for _ in 0..count {
                done = self.one(&mut free, bytes);
            }
        }
        Duration::from_ps(done)
    }

    /// Sends one packet through; `free` are the times at which the links are free.
    fn one(&self, free: &mut [i64], bytes: u32) -> i64 {
        let (mut ready, mut whole) = (0, 0);
        for (hop, free) in self.hops.iter().zip(free.iter_mut()) {
            let line = hop.line(bytes);
            *free = ((*free).max(ready) + line).max(whole);
            whole = *free + hop.lag;
            ready = if hop.cut_through {
                whole - (line - hop.line_wire(hop.framing.wire(bytes).min(CUT_THROUGH_HEADER)))
            } else {
                whole
            };
        }
        whole
    }
}

impl Hop {
    fn line(&self, bytes: u32) -> i64 {
        self.line_wire(self.framing.wire(bytes))
    }
    fn line_wire(&self, wire: u32) -> i64 {
        let exact = self.ps_per_byte * f64::from(wire);
        // Whole picoseconds a byte, as at nearly all rates, are exact as floats.
        if self.ps_per_byte.fract() == 0.0 && exact < 9e15 {
            exact as i64
        } else {
            self.rate.time_for(timeplane_model::Bytes::new(u64::from(wire))).as_ps()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use timeplane_model::{Framing, LinkSpec, Rate, Switch};

    fn spec(rate: Rate) -> LinkSpec {
        LinkSpec { rate, propagation: Duration::from_us(1), framing: Framing::Ppp, bit_error: 0.0 }
    }

    #[test]
    fn three_packets_over_two_links() {
        let f = Fabric::single_switch(2, Switch::default(), spec(Rate::gbps(1))).unwrap();
        let path = IdealPath::new(&f, HostId(0), HostId(1), 0);
        // 1500 B on the wire take 12 us; the last one's two lines and two propagations come on top of the first two.
        assert_eq!(path.completion([(1498, 3)]), Duration::from_us(3 * 12 + 12 + 2));
        assert_eq!(path.completion([(1498, 2), (623, 1)]), Duration::from_us(2 * 12 + 12 + 2 + 5));
    }

    proptest! {
        /// Runs taken at once equal packet by packet.
        #[test]
        fn runs_are_exact(
            rates in (1u64..100, 1u64..100),
            runs in prop::collection::vec((1u32..9000, 1u64..40), 1..5),
            cut_through in any::<bool>(),
        ) {
            let forwarding = if cut_through { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
            let switch = Switch { forwarding, latency: Duration::from_ns(300), ..Switch::default() };
            let f = Fabric::leaf_spine(2, 2, 1, switch, spec(Rate::gbps(rates.0)), spec(Rate::gbps(rates.1))).unwrap();
            let path = IdealPath::new(&f, HostId(0), HostId(3), 0);
            let each = runs.iter().flat_map(|&(b, n)| (0..n).map(move |_| (b, 1)));
            prop_assert_eq!(path.completion(runs.clone()), path.completion(each));
        }
    }
}
