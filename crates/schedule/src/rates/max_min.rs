//! Max-min fair rates of flows that start and end.
//!
//! Paths are kept between changes; rates are recomputed on request.

use super::fill::{Filling, Links};

/// Weighted max-min fair rates over links, maintained as flows start and end.
///
/// Paths, and the flows of each link, are kept between changes. After a change, rates are computed
/// anew on request, because one flow's change may affect all others. The same flows have the same
/// rates up to rounding, whatever flows existed before. See [`max_min`](super::max_min).
#[derive(Clone, Debug)]
pub struct MaxMin {
    network: Kept,
    /// Rates by flow; the numbers of removed flows are in `unused`.
    rates: Vec<f64>,
    unused: Vec<u32>,
    filling: Filling,
    changed: bool,
    /// Starts of unused stretches of `network.links`, by length.
    stretches: Vec<Vec<u32>>,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    capacity: Vec<f64>,
    flows: Vec<Flow>,
    /// Links of all paths, with the position of the flow in each link's entry of `on`.
    links: Vec<u32>,
    place: Vec<u32>,
    /// By link, its flows, with the position of the link in `links`.
    on: Vec<Vec<(u32, u32)>>,
    /// By link, the sum of its flows' weights.
    weight: Vec<f64>,
    /// Number of flows with a finite demand.
    bounded: usize,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    first: u32,
    hops: u32,
    weight: f64,
    demand: f64,
    used: bool,
}

impl Links for Kept {
    fn capacity(&self) -> &[f64] {
        &self.capacity
    }
    fn path(&self, flow: u32) -> &[u32] {
        let Flow { first, hops, .. } = self.flows[flow as usize];
        &self.links[first as usize..][..hops as usize]
    }
    fn weight(&self, flow: u32) -> f64 {
        self.flows[flow as usize].weight
    }
    fn demand(&self, flow: u32) -> f64 {
        self.flows[flow as usize].demand
    }
    fn any_demand(&self) -> bool {
        self.bounded > 0
    }
    fn load(&self, link: u32) -> (f64, u32) {
        (self.weight[link as usize], self.on[link as usize].len() as u32)
    }
    fn on(&self, link: u32) -> impl Iterator<Item = u32> {
        self.on[link as usize].iter().map(|&(flow, _)| flow)
    }
}

impl MaxMin {
    /// Creates links of these capacities without flows.
    ///
    /// # Panics
    /// Panics if a capacity is negative or not finite.
    pub fn new(capacity: Vec<f64>) -> Self {
        assert!(capacity.iter().all(|&c| c >= 0.0 && c.is_finite()), "capacities are finite, not negative");
        let (on, weight) = (vec![Vec::new(); capacity.len()], vec![0.0; capacity.len()]);
        Self {
            network: Kept { capacity, on, weight, ..Kept::default() },
            rates: Vec::new(),
            unused: Vec::new(),
            filling: Filling::default(),
            changed: false,
            stretches: Vec::new(),
        }
    }

    /// Adds a flow over `links`, each at most once, with its weight and the most it can use, or
    /// [`f64::INFINITY`]. Returns the number of the flow. Numbers are small and reused after
    /// removal.
    ///
    /// # Panics
    /// Panics if a link does not exist, if the weight is not positive and finite, if the demand is
    /// negative, or if a flow without links has an infinite demand.
    pub fn add(&mut self, links: &[u32], weight: f64, demand: f64) -> u32 {
        assert!(weight > 0.0 && weight.is_finite() && demand >= 0.0, "weight {weight}, demand {demand}");
        assert!(!links.is_empty() || demand.is_finite(), "a flow over no link has a bounded demand");
        let network = &mut self.network;
        assert!(links.iter().all(|&l| (l as usize) < network.capacity.len()), "a link that does not exist: {links:?}");
        let first = self.stretches.get_mut(links.len()).and_then(Vec::pop).unwrap_or_else(|| {
            let first = network.links.len();
            network.links.resize(first + links.len(), 0);
            network.place.resize(first + links.len(), 0);
            first as u32
        });
        let flow = Flow { first, hops: links.len() as u32, weight, demand, used: true };
        let name = self.unused.pop().unwrap_or_else(|| {
            network.flows.push(flow);
            self.rates.push(0.0);
            network.flows.len() as u32 - 1
        });
        network.flows[name as usize] = flow;
        network.bounded += usize::from(demand.is_finite());
        for (at, &l) in (first..).zip(links) {
            network.links[at as usize] = l;
            network.place[at as usize] = network.on[l as usize].len() as u32;
            network.on[l as usize].push((name, at));
            network.weight[l as usize] += weight;
        }
        // A flow without links gets its demand.
        self.rates[name as usize] = demand;
        self.changed = true;
        name
    }

    /// Removes a flow. Returns whether it existed.
    pub fn remove(&mut self, flow: u32) -> bool {
        let network = &mut self.network;
        let Some(Flow { first, hops, weight, demand, used }) = network.flows.get_mut(flow as usize).filter(|f| f.used)
        else {
            return false;
        };
        *used = false;
        let (first, hops, weight) = (*first, core::mem::take(hops) as usize, *weight);
        network.bounded -= usize::from(demand.is_finite());
        for at in first..first + hops as u32 {
            let l = network.links[at as usize] as usize;
            let on = &mut network.on[l];
            let place = network.place[at as usize];
            on.swap_remove(place as usize);
            if let Some(&(_, moved)) = on.get(place as usize) {
                network.place[moved as usize] = place;
            }
            // The sum of an empty link is set to 0, so that rounding errors do not accumulate.
            network.weight[l] = if on.is_empty() { 0.0 } else { network.weight[l] - weight };
        }
        if self.stretches.len() <= hops {
            self.stretches.resize(hops + 1, Vec::new());
        }
        self.stretches[hops].push(first);
        self.unused.push(flow);
        self.rates[flow as usize] = 0.0;
        self.changed = true;
        true
    }

    /// Changes the most that a flow can use. Returns whether the flow exists.
    ///
    /// # Panics
    /// Panics if the demand is negative, or if the demand of a flow without links is infinite.
    pub fn set_demand(&mut self, flow: u32, demand: f64) -> bool {
        assert!(demand >= 0.0, "demand {demand}");
        let Some(of) = self.network.flows.get_mut(flow as usize).filter(|f| f.used) else { return false };
        assert!(of.hops > 0 || demand.is_finite(), "a flow over no link has a bounded demand");
        self.network.bounded += usize::from(demand.is_finite());
        self.network.bounded -= usize::from(of.demand.is_finite());
        of.demand = demand;
        if of.hops == 0 {
            self.rates[flow as usize] = demand;
        }
        self.changed = true;
        true
    }

    /// Rates of all flows by number; 0 for unused numbers.
    pub fn rates(&mut self) -> &[f64] {
        if core::mem::take(&mut self.changed) {
            self.filling.fill(&self.network, &mut self.rates);
        }
        &self.rates
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.network.flows.len() - self.unused.len()
    }

    /// Whether there are no flows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
