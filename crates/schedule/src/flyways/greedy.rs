//! The link that takes most traffic off the busiest wire.

use super::{Bottleneck, Candidate, Fluid, LinkSet, Policy};

/// Of all links that are offered, takes the one that takes most traffic off the busiest wire.
///
/// What a link takes is estimated: no more than what makes link and wire take equally long; of that, transit no more than what makes the
/// wire at the link's other end take as long as the busiest one. Of links that take the same, the one with most of its own pair's bytes comes
/// first: transit is a load for others.
#[derive(Clone, Copy, Debug)]
pub struct Greedy {
    /// Whether links carry other pairs' traffic. `greedy` with, `greedy_direct` without.
    pub transit: bool,
}

/// Bytes that cross a wire, by what they could do instead.
struct Crossing {
    n: usize,
    /// Pair by pair.
    pair: Vec<f64>,
    /// All from a rack, all to one.
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
        // What is left of the wire's time while another wire takes it over.
        let room = |other: Bottleneck| {
            let rate = fluid.rate_of(other);
            ((fluid.seconds(wire) - fluid.seconds(other)) * capacity * rate / (capacity + rate)).max(0.0)
        };
        let mut taken = direct;
        if transit {
            // On from q to others, where that does not cross the wire again: a downlink's traffic ends at it.
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
    fn candidates(&self, fluid: &Fluid, links: &dyn LinkSet, bottleneck: Bottleneck) -> Vec<Candidate> {
        let n = fluid.racks();
        let crossing = Crossing::of(fluid, bottleneck);
        let mut found: Vec<(f64, f64, Candidate)> = Vec::new();
        for p in 0..n {
            for q in 0..n {
                // A link to take the wire's place is crossed by traffic of the wire, at one end at least.
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
        found.into_iter().map(|(_, _, candidate)| candidate).collect()
    }
}
