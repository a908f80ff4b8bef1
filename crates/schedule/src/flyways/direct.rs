//! The pair that finishes last gets a link.

use super::{Bottleneck, Candidate, Fluid, LinkSet, Policy};

/// Links the pair that finishes last, for its own traffic alone.
///
/// As fluids, all pairs of the busiest wire finish with it: last is the one that has most bytes for it, then the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Straggler;

/// [`Straggler`], whose links carry other pairs' traffic too, on a way of two hops: without that a link is as good as its own pair is hot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transit;

fn stragglers(fluid: &Fluid, links: &dyn LinkSet, bottleneck: Bottleneck) -> Vec<Candidate> {
    let mut pairs: Vec<_> = fluid.by_wire().filter(|&(from, to, _)| fluid.crosses(from, to, bottleneck)).collect();
    pairs.sort_by(|x, y| y.2.total_cmp(&x.2).then((x.0, x.1).cmp(&(y.0, y.1))));
    let offered = |&(a, b, _): &(usize, usize, f64)| links.offer(a, b).map(|offer| Candidate { a, b, offer });
    pairs.iter().filter_map(offered).collect()
}

impl Policy for Straggler {
    fn transit(&self) -> bool {
        false
    }
    fn candidates(&self, fluid: &Fluid, links: &dyn LinkSet, bottleneck: Bottleneck) -> Vec<Candidate> {
        stragglers(fluid, links, bottleneck)
    }
}

impl Policy for Transit {
    fn transit(&self) -> bool {
        true
    }
    fn candidates(&self, fluid: &Fluid, links: &dyn LinkSet, bottleneck: Bottleneck) -> Vec<Candidate> {
        stragglers(fluid, links, bottleneck)
    }
}
