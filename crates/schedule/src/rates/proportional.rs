//! Proportionally fair rates by prices of links, as in Flowtune.
//!
//! Prices are kept between calls.

use super::Flows;

/// Weighted proportionally fair rates: those that maximize the sum of weight x log(rate), computed
/// with the Newton-like method of Flowtune (Perry, Balakrishnan, Shah: "Flowtune: Flowlet Control
/// for Datacenter Networks", NSDI 2017, sections 4 and 5).
///
/// Each link has a price. A flow wants its weight over the sum of prices on its path. A price moves
/// by [`GAMMA`](Self::GAMMA) times the link's excess, divided by how much that excess would change
/// with the price. (This is Newton's step with the diagonal of the Hessian only.) Prices are kept
/// between calls: after a change of a few flows, few iterations are enough.
///
/// Rates are normalized per flow (F-NORM), by the most loaded link of its path, load over capacity.
/// So no link is ever exceeded, however far prices are from convergence.
///
/// Rates are in units of capacity, prices in the inverse. Capacities that differ by many orders of
/// magnitude converge slowly.
#[derive(Clone, Debug)]
pub struct Proportional {
    capacity: Vec<f64>,
    price: Vec<f64>,
    load: Vec<f64>,
    /// By link, how fast its load falls as its price rises.
    slope: Vec<f64>,
    wanted: Vec<f64>,
}

impl Proportional {
    /// Length of a step, as in Flowtune.
    pub const GAMMA: f64 = 0.4;

    /// Creates links of these capacities, with prices as if one flow of weight 1 filled each.
    ///
    /// # Panics
    /// Panics if a capacity is not positive and finite.
    pub fn new(capacity: Vec<f64>) -> Self {
        assert!(capacity.iter().all(|&c| c > 0.0 && c.is_finite()), "capacities are positive and finite");
        let links = capacity.len();
        Self {
            price: capacity.iter().map(|c| 1.0 / c).collect(),
            load: vec![0.0; links],
            slope: vec![0.0; links],
            wanted: Vec::new(),
            capacity,
        }
    }

    /// Prices by link.
    pub fn prices(&self) -> &[f64] {
        &self.price
    }

    /// Updates prices `iterations` times and writes a rate for every flow; no rate exceeds a link
    /// or its demand. Returns the largest final error of the links that have a price: |load -
    /// capacity| / capacity as wanted, before normalization.
    ///
    /// # Panics
    /// Panics if a flow crosses a link that does not exist.
    pub fn rates(&mut self, flows: &Flows, iterations: u32, rates: &mut Vec<f64>) -> f64 {
        flows.check(&self.capacity);
        self.want(flows);
        for _ in 0..iterations {
            self.move_prices();
            self.want(flows);
        }
        self.normalize(flows, rates);
        let off = |l: usize| {
            let excess = (self.load[l] - self.capacity[l]) / self.capacity[l];
            // Spare capacity of a link with price zero is no error.
            if self.price[l] * self.capacity[l] < 1e-9 { excess.max(0.0) } else { excess.abs() }
        };
        (0..self.capacity.len()).map(off).fold(0.0, f64::max)
    }

    /// Computes what flows want at these prices, and the loads of links that result.
    fn want(&mut self, flows: &Flows) {
        self.load.fill(0.0);
        self.slope.fill(0.0);
        self.wanted.clear();
        for f in 0..flows.len() {
            let path = flows.path(f);
            let (mut price, mut most) = (0.0, flows.demand(f));
            for &l in path {
                price += self.price[l as usize];
                most = most.min(self.capacity[l as usize]);
            }
            let weight = flows.weight(f);
            let want = (weight / price).min(most);
            self.wanted.push(want);
            // d(w / price) / d(price), with the rate as it is limited.
            let slope = want * want / weight;
            for &l in path {
                self.load[l as usize] += want;
                self.slope[l as usize] += slope;
            }
        }
    }

    fn move_prices(&mut self) {
        let links = self.load.iter().zip(&self.slope).zip(&self.capacity);
        for (price, ((load, slope), capacity)) in self.price.iter_mut().zip(links) {
            // A link that no flow wants has price zero.
            *price = if *slope > 0.0 { (*price + Self::GAMMA * (load - capacity) / slope).max(0.0) } else { 0.0 };
        }
    }

    fn normalize(&self, flows: &Flows, rates: &mut Vec<f64>) {
        rates.clear();
        for f in 0..flows.len() {
            let share = |&l: &u32| self.load[l as usize] / self.capacity[l as usize];
            let most = flows.path(f).iter().map(share).fold(0.0, f64::max);
            let rate = if most > 0.0 { self.wanted[f] / most } else { self.wanted[f] };
            rates.push(rate.min(flows.demand(f)));
        }
    }
}
