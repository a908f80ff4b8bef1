//! Water-filling: computes weighted max-min fair rates.
//!
//! The rate per weight rises equally for all flows until a link is full or a demand is met.

use super::{Flows, Hosts, Offered};

/// Weighted max-min fair rates of flows over links, by flow.
///
/// A flow's rate over its weight cannot rise without lowering that of a flow that has no more. So
/// each flow meets its demand or has a bottleneck: a full link on which no flow has more per weight
/// (Bertsekas and Gallager, Data Networks, 6.5.2).
///
/// Takes O((sum of path lengths) + B log L) for L links, with B visits to links that may be the
/// next to be full. There are few visits, because each is to the link that seems lowest.
///
/// # Panics
/// Panics if a flow crosses a link that does not exist, or if a capacity is negative or not finite.
pub fn max_min(capacity: &[f64], flows: &Flows) -> Vec<f64> {
    flows.check(capacity);
    let on = ByLink::new(capacity.len(), flows);
    // A flow without links gets its demand.
    let mut rates = flows.demand.clone();
    Filling::default().fill(&Network { flows, on: &on, capacity }, &mut rates);
    rates
}

/// Max-min fair rates of pairs of hosts, one for every entry. The hosts' links and the offered
/// rates ([`f64::INFINITY`] for no limit) are the limits.
///
/// # Panics
/// Panics if a host does not exist, or if a rate is negative.
pub fn max_min_hosts(hosts: &Hosts, offered: &[Offered]) -> Vec<f64> {
    let capacity: Vec<f64> = hosts.send.iter().chain(&hosts.receive).copied().collect();
    max_min(&capacity, &Flows::between(hosts, offered))
}

/// The network as water-filling sees it. Flows are indices into the rates; some may be unused.
pub(super) trait Links {
    fn capacity(&self) -> &[f64];
    fn path(&self, flow: u32) -> &[u32];
    fn weight(&self, flow: u32) -> f64;
    fn demand(&self, flow: u32) -> f64;
    /// Whether any demand is finite.
    fn any_demand(&self) -> bool;
    /// Sum of the weights of the flows on a link, up to rounding, and their number.
    fn load(&self, link: u32) -> (f64, u32);
    /// Flows on a link.
    fn on(&self, link: u32) -> impl Iterator<Item = u32>;
}

/// Flows by link.
struct ByLink {
    first: Vec<u32>,
    flows: Vec<u32>,
    weight: Vec<f64>,
}

impl ByLink {
    fn new(links: usize, flows: &Flows) -> Self {
        let mut first = vec![0u32; links + 1];
        for &l in &flows.links {
            first[l as usize + 1] += 1;
        }
        for l in 0..links {
            first[l + 1] += first[l];
        }
        let mut at = first.clone();
        let (mut on, mut weight) = (vec![0; flows.links.len()], vec![0.0; links]);
        for f in 0..flows.len() {
            for &l in flows.path(f) {
                on[at[l as usize] as usize] = f as u32;
                at[l as usize] += 1;
                weight[l as usize] += flows.weight[f];
            }
        }
        Self { first, flows: on, weight }
    }
}

struct Network<'a> {
    flows: &'a Flows,
    on: &'a ByLink,
    capacity: &'a [f64],
}

impl Links for Network<'_> {
    fn capacity(&self) -> &[f64] {
        self.capacity
    }
    fn path(&self, flow: u32) -> &[u32] {
        self.flows.path(flow as usize)
    }
    fn weight(&self, flow: u32) -> f64 {
        self.flows.weight[flow as usize]
    }
    fn demand(&self, flow: u32) -> f64 {
        self.flows.demand[flow as usize]
    }
    fn any_demand(&self) -> bool {
        self.flows.demand.iter().any(|d| d.is_finite())
    }
    fn load(&self, link: u32) -> (f64, u32) {
        let l = link as usize;
        (self.on.weight[l], self.on.first[l + 1] - self.on.first[l])
    }
    fn on(&self, link: u32) -> impl Iterator<Item = u32> {
        let of = self.on.first[link as usize] as usize..self.on.first[link as usize + 1] as usize;
        self.on.flows[of].iter().copied()
    }
}

/// State of a link while the level rises.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Capacity that settled flows leave.
    left: f64,
    /// Sum of the weights of unsettled flows and their number; the sum alone would not return to
    /// exactly 0.
    weight: f64,
    flows: u32,
}

impl State {
    /// Rate per weight at which the link is full, up to rounding.
    fn level(&self) -> f64 {
        // Rounding may leave nothing of small weights next to large ones. Such links come last,
        // with a new sum.
        if self.weight > 0.0 { (self.left / self.weight).max(0.0) } else { f64::INFINITY }
    }
}

/// Buffers of water-filling.
#[derive(Clone, Debug, Default)]
pub(super) struct Filling {
    links: Vec<State>,
    heap: Lowest,
    /// Flows to settle next.
    settled: Vec<u32>,
}

/// Rate of a flow that is not settled.
const NOT_YET: f64 = -1.0;

impl Filling {
    /// Writes the rates of all flows on links; leaves other rates unchanged.
    pub(super) fn fill(&mut self, network: &impl Links, rates: &mut [f64]) {
        for (f, rate) in (0..).zip(rates.iter_mut()) {
            if !network.path(f).is_empty() {
                *rate = NOT_YET;
            }
        }
        self.links.clear();
        self.heap.begin();
        for (l, &left) in (0..).zip(network.capacity()) {
            let (weight, flows) = network.load(l);
            let state = State { left, weight, flows };
            self.links.push(state);
            if flows > 0 {
                self.heap.push(state.level(), l);
            }
        }
        self.heap.arrange();
        let any_demand = network.any_demand();
        while let Some((seen, link)) = self.heap.first() {
            let state = self.links[link as usize];
            if state.flows == 0 {
                self.heap.pop();
                continue;
            }
            let level = state.level();
            if level > seen {
                self.heap.raise(level);
                continue;
            }
            if any_demand && self.settle_demands(network, link, level, rates) {
                // The link's level may have risen.
                continue;
            }
            self.settled.clear();
            self.settled.extend(network.on(link).filter(|&f| rates[f as usize] == NOT_YET));
            let weight: f64 = self.settled.iter().map(|&f| network.weight(f)).sum();
            let level = (state.left / weight).max(0.0);
            for i in 0..self.settled.len() {
                let f = self.settled[i];
                let rate = (network.weight(f) * level).min(network.demand(f));
                self.settle(network, f, rate, rates);
            }
            self.heap.pop();
        }
    }

    /// Settles flows of a link whose demand is met at or below a level. Returns whether there were
    /// any.
    fn settle_demands(&mut self, network: &impl Links, link: u32, level: f64, rates: &mut [f64]) -> bool {
        self.settled.clear();
        let met = |f: &u32| rates[*f as usize] == NOT_YET && network.demand(*f) <= network.weight(*f) * level;
        self.settled.extend(network.on(link).filter(met));
        for i in 0..self.settled.len() {
            let f = self.settled[i];
            self.settle(network, f, network.demand(f), rates);
        }
        !self.settled.is_empty()
    }

    fn settle(&mut self, network: &impl Links, flow: u32, rate: f64, rates: &mut [f64]) {
        rates[flow as usize] = rate;
        let weight = network.weight(flow);
        for &l in network.path(flow) {
            let state = &mut self.links[l as usize];
            state.left -= rate;
            state.weight -= weight;
            state.flows -= 1;
        }
    }
}

/// A heap of links with a lower bound of their level, lowest first. Levels only rise.
#[derive(Clone, Debug, Default)]
pub(super) struct Lowest {
    heap: Vec<(f64, u32)>,
}

impl Lowest {
    /// Removes all links.
    pub(super) fn begin(&mut self) {
        self.heap.clear();
    }

    /// Adds a link; [`arrange`](Self::arrange) follows.
    pub(super) fn push(&mut self, level: f64, link: u32) {
        self.heap.push((level, link));
    }

    /// Puts the links in the order of a heap.
    pub(super) fn arrange(&mut self) {
        for i in (0..self.heap.len() / 2).rev() {
            self.sift_down(i);
        }
    }

    /// The link that seems lowest.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.heap.first().copied()
    }

    /// The level of the first link is higher than it seemed.
    pub(super) fn raise(&mut self, level: f64) {
        self.heap[0].0 = level;
        self.sift_down(0);
    }

    /// Removes the first link.
    pub(super) fn pop(&mut self) {
        self.heap.swap_remove(0);
        self.sift_down(0);
    }

    fn sift_down(&mut self, mut i: usize) {
        let Some(&item) = self.heap.get(i) else { return };
        loop {
            let mut child = 2 * i + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].0 < self.heap[child].0 {
                child += 1;
            }
            if self.heap[child].0 >= item.0 {
                break;
            }
            self.heap[i] = self.heap[child];
            i = child;
        }
        self.heap[i] = item;
    }
}
