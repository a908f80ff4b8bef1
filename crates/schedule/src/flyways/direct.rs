//! Flyway policies that give a link to the pair of racks that finishes last.
//!
//! [`Straggler`] and [`Transit`] differ in whether other pairs may use the link, too.

use super::{Bottleneck, Candidate, Fluid, LinkSet, Policy};
use crate::OwnError;

/// Links the pair that finishes last, for its own traffic only.
///
/// In the fluid model, all pairs of the busiest wire finish at the same time. The pair with the
/// most bytes for that wire counts as last, then the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Straggler;

/// [`Straggler`] with links that also carry other pairs' traffic over two hops. Without that, a
/// link helps no more than its own pair's traffic allows.
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
    fn candidates(
        &self,
        fluid: &Fluid,
        links: &dyn LinkSet,
        bottleneck: Bottleneck,
    ) -> Result<Vec<Candidate>, OwnError> {
        Ok(stragglers(fluid, links, bottleneck))
    }
}

impl Policy for Transit {
    fn transit(&self) -> bool {
        true
    }
    fn candidates(
        &self,
        fluid: &Fluid,
        links: &dyn LinkSet,
        bottleneck: Bottleneck,
    ) -> Result<Vec<Candidate>, OwnError> {
        Ok(stragglers(fluid, links, bottleneck))
    }
}
