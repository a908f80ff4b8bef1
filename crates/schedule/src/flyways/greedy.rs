//! A greedy flyway policy: the link that takes the most traffic off the busiest wire.
//!
//! It ranks all links that are offered by an estimate of their relief.

use super::{Bottleneck, Candidate, Fluid, LinkSet, Policy};
use crate::OwnError;

/// Chooses, of all offered links, the one that takes the most traffic off the busiest wire.
///
/// The relief of a link is estimated. It is at most the traffic that makes link and wire take
/// equally long. Transit traffic is further limited to what makes the wire at the link's other end
/// take as long as the busiest one. Of links with equal relief, the one with the most bytes of its
/// own pair comes first, because transit loads other wires.
#[derive(Clone, Copy, Debug)]
pub struct Greedy {
    /// Whether links carry other pairs' traffic: true in policy `greedy`, false in `greedy_direct`.
    pub transit: bool,
}

/// Bytes that cross a wire, by the links that could carry them.
struct Crossing {
    n: usize,
    /// Bytes of each pair, row by row.
    pair: Vec<f64>,
    /// Bytes by sending rack, and by receiving rack.
    from: Vec<f64>,
    to: Vec<f64>,
}

impl Crossing {
    fn of(fluid: &Fluid, wire: Bottleneck) -> Self {
        let n = fluid.racks();
        let mut all = Self { n, pair: vec![0.0; n * n], from: vec![0.0; n], to: vec![0.0; n] };
        for (i, j, bytes) in fluid.by_wire().filter(|&(i, j, _)| fluid.crosses(i, j, wire)) {
            all.pair[i * n + j] += bytes;
            all.from[i] += bytes;
            all.to[j] += bytes;
        }
        all
    }

    /// Bytes that a link from `p` to `q` takes off the wire.
    fn relief(&self, fluid: &Fluid, wire: Bottleneck, p: usize, q: usize, link: f64, transit: bool) -> f64 {
        let capacity = fluid.rate_of(wire);
        let load = fluid.seconds(wire) * capacity;
        let direct = self.pair[p * self.n + q];
        let most = load * link / (capacity + link);
        // Time that another wire has left until it takes as long as this one.
        let room = |other: Bottleneck| {
            let rate = fluid.rate_of(other);
            ((fluid.seconds(wire) - fluid.seconds(other)) * capacity * rate / (capacity + rate)).max(0.0)
        };
        let mut taken = direct;
        if transit {
            // Bytes that go from q on to others without crossing the wire again; a downlink's
            // traffic ends at q.
            let on = match wire {
                Bottleneck::Uplink(_) | Bottleneck::ToCore(_) => self.from[p] - direct,
                Bottleneck::FromCore(_) => self.from[p] - direct,
                Bottleneck::Downlink(_) => 0.0,
            };
            let by = match wire {
                Bottleneck::Downlink(_) | Bottleneck::FromCore(_) | Bottleneck::ToCore(_) => self.to[q] - direct,
                Bottleneck::Uplink(_) => 0.0,
            };
            taken += on.min(room(Bottleneck::Uplink(q))) + by.min(room(Bottleneck::Downlink(p)));
        }
        taken.min(most)
    }
}

impl Policy for Greedy {
    fn transit(&self) -> bool {
        self.transit
    }
    fn candidates(
        &self,
        fluid: &Fluid,
        links: &dyn LinkSet,
        bottleneck: Bottleneck,
    ) -> Result<Vec<Candidate>, OwnError> {
        let n = fluid.racks();
        let crossing = Crossing::of(fluid, bottleneck);
        let mut found: Vec<(f64, f64, Candidate)> = Vec::new();
        for p in 0..n {
            for q in 0..n {
                // A link that relieves the wire has an end that the wire's traffic passes.
                let may = match bottleneck {
                    Bottleneck::Uplink(rack) => p == rack,
                    Bottleneck::Downlink(rack) => q == rack,
                    Bottleneck::ToCore(_) | Bottleneck::FromCore(_) => fluid.crosses(p, q, bottleneck),
                };
                if p == q || !may || (!self.transit && crossing.pair[p * n + q] == 0.0) {
                    continue;
                }
                let Some(offer) = links.offer(p, q) else { continue };
                let link = offer.rate.as_bps() as f64 / 8.0;
                let relief = crossing.relief(fluid, bottleneck, p, q, link, self.transit);
                if relief > 0.0 {
                    found.push((relief, crossing.pair[p * n + q], Candidate { a: p, b: q, offer }));
                }
            }
        }
        let most_first = |x: f64, y: f64| y.total_cmp(&x);
        found.sort_by(|x, y| {
            let ends = |c: &Candidate| (c.a, c.b);
            most_first(x.0, y.0).then(most_first(x.1, y.1)).then(ends(&x.2).cmp(&ends(&y.2)))
        });
        Ok(found.into_iter().map(|(_, _, candidate)| candidate).collect())
    }
}
