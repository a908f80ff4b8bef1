//! The least completion time of a flow: alone in the network, without acknowledgments or ramp-up.
//!
//! It is the time on the path that the flow's hash selects. If each packet takes its own path and
//! equal paths have different delays, a flow may be faster.

use timeplane_model::{CUT_THROUGH_HEADER, Duration, Fabric, Forwarding, HostId};

/// One link of a path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// Picoseconds per byte if that is a whole number, otherwise 0.
    ps_per_byte: i64,
    rate: timeplane_model::Rate,
    framing: timeplane_model::Framing,
    /// Time from the departure of the last bit to when the next node may send it on.
    lag: i64,
    cut_through: bool,
    /// Time at which the link is free.
    free: i64,
}

/// A path whose completion times can be computed for many sizes.
#[derive(Clone, Debug, Default)]
pub struct IdealPath {
    hops: Vec<Hop>,
}

impl IdealPath {
    /// Sets the path to that of a flow with this hash. Allocates only if the path is longer than
    /// all before.
    pub fn find(&mut self, fabric: &Fabric, source: HostId, destination: HostId, hash: u32) {
        self.hops.clear();
        let mut next = fabric.uplink(source);
        loop {
            let link = fabric.link(next);
            let bps = link.spec.rate.as_bps();
            // Light crosses a rotor switch, so its two wires are one hop.
            let beyond = fabric.is_rotor(link.to).then(|| fabric.next_link(link.to, destination, hash));
            let (to, light) = beyond.map_or((link.to, Duration::ZERO), |l| {
                let beyond = fabric.link(l);
                (beyond.to, beyond.spec.propagation)
            });
            let switch = fabric.switch(to);
            self.hops.push(Hop {
                ps_per_byte: if 8_000_000_000_000 % bps == 0 { (8_000_000_000_000 / bps) as i64 } else { 0 },
                rate: link.spec.rate,
                framing: link.spec.framing,
                lag: (link.spec.propagation + light).as_ps() + switch.map_or(0, |s| s.latency.as_ps()),
                cut_through: switch.is_some_and(|s| s.forwarding == Forwarding::CutThrough),
                free: 0,
            });
            if to == destination.node() {
                return;
            }
            next = fabric.next_link(to, destination, hash);
        }
    }

    /// Completion time of packets of these sizes (without link framing) that are all there at time
    /// zero.
    ///
    /// Computes the recursion `departure[k][n] = max(departure[k][n - 1], ready[k][n]) + line time`
    /// packet by packet, except for the first run of equal packets. In an empty network, each of
    /// these adds the line time of the slowest link.
    pub fn completion(&mut self, runs: impl IntoIterator<Item = (u32, u64)>) -> Duration {
        self.hops.iter_mut().for_each(|hop| hop.free = 0);
        let mut done = 0;
        let mut empty = true;
        for (bytes, mut count) in runs {
            if empty && count > 1 {
                done = self.one(bytes);
                let mut slowest = 0;
                for hop in &mut self.hops {
                    slowest = slowest.max(hop.line(bytes));
                    hop.free += (count - 1) as i64 * slowest;
                }
                done += (count - 1) as i64 * slowest;
                count = 0;
            }
            empty = false;
            for _ in 0..count {
                done = self.one(bytes);
            }
        }
        Duration::from_ps(done)
    }

    /// Sends one packet through the path.
    fn one(&mut self, bytes: u32) -> i64 {
        let (mut ready, mut whole) = (0, 0);
        for hop in &mut self.hops {
            let line = hop.line(bytes);
            hop.free = (hop.free.max(ready) + line).max(whole);
            whole = hop.free + hop.lag;
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
        if self.ps_per_byte > 0 {
            self.ps_per_byte * i64::from(wire)
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
        let mut path = IdealPath::default();
        path.find(&f, HostId(0), HostId(1), 0);
        // 1500 B on the wire take 12 us. The last packet's two lines and two propagations come on
        // top of the first two.
        assert_eq!(path.completion([(1498, 3)]), Duration::from_us(3 * 12 + 12 + 2));
        assert_eq!(path.completion([(1498, 2), (623, 1)]), Duration::from_us(2 * 12 + 12 + 2 + 5));
    }

    #[test]
    fn light_crosses_a_rotor_switch_without_a_line_time() {
        let f = Fabric::rotor(3, 1, 2, Switch::default(), spec(Rate::gbps(1)), spec(Rate::gbps(2))).unwrap();
        let mut path = IdealPath::default();
        path.find(&f, HostId(0), HostId(2), 7);
        // Lines of 12, 6 and 12 us, and four wires of 1 us.
        assert_eq!(path.completion([(1498, 1)]), Duration::from_us(12 + 6 + 12 + 4));
    }

    proptest! {
        /// Runs computed at once equal runs computed packet by packet.
        #[test]
        fn runs_are_exact(
            rates in (1u64..100, 1u64..100),
            runs in prop::collection::vec((1u32..9000, 1u64..40), 1..5),
            cut_through in any::<bool>(),
        ) {
            let forwarding = if cut_through { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
            let switch = Switch { forwarding, latency: Duration::from_ns(300), ..Switch::default() };
            let f = Fabric::leaf_spine(2, 2, 1, switch, spec(Rate::gbps(rates.0)), spec(Rate::gbps(rates.1))).unwrap();
            let mut path = IdealPath::default();
            path.find(&f, HostId(0), HostId(3), 0);
            let each = runs.iter().flat_map(|&(b, n)| (0..n).map(move |_| (b, 1)));
            prop_assert_eq!(path.completion(runs.clone()), path.completion(each));
        }
    }
}
