//! Rates for flows that share links, from the rates that they offer or want.
//!
//! Rates are plain numbers in the unit of the capacities; with links of capacity 1 they are shares
//! of the link rate. There are two kinds of problems. One is a matrix of pairs of hosts, limited by
//! the hosts' own links ([`scale_both`], [`scale_down`], [`max_min_hosts`], [`AllPairs`]). The
//! other is a set of flows over any links ([`max_min`], [`MaxMin`], [`Proportional`]). All results
//! are deterministic: the same calls give the same bits.

mod all_pairs;
mod fill;
mod max_min;
mod proportional;
mod scale;

pub use all_pairs::{AllPairs, Levels};
pub use fill::{max_min, max_min_hosts};
pub use max_min::MaxMin;
pub use proportional::Proportional;
pub(crate) use scale::Scaling;
pub use scale::{Scaled, scale_both, scale_down};

/// Capacities of hosts to send and to receive.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    send: Vec<f64>,
    receive: Vec<f64>,
}

impl Hosts {
    /// Creates hosts from their capacities to send and to receive.
    ///
    /// # Panics
    /// Panics if the two vectors differ in length, or if a capacity is negative or not finite.
    pub fn new(send: Vec<f64>, receive: Vec<f64>) -> Self {
        assert_eq!(send.len(), receive.len(), "a capacity to send and one to receive for every host");
        assert!(send.iter().chain(&receive).all(|c| c.is_finite() && *c >= 0.0), "capacities are finite, not negative");
        Self { send, receive }
    }
    /// Hosts with links of capacity 1.
    pub fn equal(hosts: usize) -> Self {
        Self { send: vec![1.0; hosts], receive: vec![1.0; hosts] }
    }
    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.send.len()
    }
    /// Whether there are no hosts.
    pub fn is_empty(&self) -> bool {
        self.send.is_empty()
    }
    /// Capacity to send, by host.
    pub fn send(&self) -> &[f64] {
        &self.send
    }
    /// Capacity to receive, by host.
    pub fn receive(&self) -> &[f64] {
        &self.receive
    }
    fn check(&self, offered: &[Offered]) {
        let n = self.len();
        for o in offered {
            assert!((o.source as usize) < n && (o.destination as usize) < n, "{o:?} among {n} hosts");
            assert!(o.rate >= 0.0, "{o:?}: a rate is not negative");
        }
    }
}

/// The rate that a pair of hosts offers: an entry of a sparse matrix. A pair may have several
/// entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// The sending host.
    pub source: u32,
    /// The receiving host.
    pub destination: u32,
    /// The rate offered; not negative.
    pub rate: f64,
}

/// Flows over links, numbered in the order of [`push`](Self::push).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// The links of flow f are `links[first[f]..first[f + 1]]`.
    first: Vec<u32>,
    links: Vec<u32>,
    weight: Vec<f64>,
    demand: Vec<f64>,
}

impl Flows {
    /// Contains no flows.
    pub fn new() -> Self {
        Self { first: vec![0], ..Self::default() }
    }
    /// Adds a flow that crosses `links`, each at most once. `weight` is its share against others'
    /// (1 if all are equal), `demand` the most it can use, or [`f64::INFINITY`].
    ///
    /// # Panics
    /// Panics if the weight is not positive and finite, if the demand is negative, or if a flow
    /// without links has an infinite demand.
    pub fn push(&mut self, links: &[u32], weight: f64, demand: f64) {
        assert!(weight > 0.0 && weight.is_finite() && demand >= 0.0, "weight {weight}, demand {demand}");
        assert!(!links.is_empty() || demand.is_finite(), "a flow over no link has a bounded demand");
        if self.first.is_empty() {
            self.first.push(0);
        }
        self.links.extend_from_slice(links);
        self.first.push(self.links.len() as u32);
        self.weight.push(weight);
        self.demand.push(demand);
    }
    /// Flows between hosts, each over the links of its source and its destination. Links are
    /// numbered senders first, then receivers. The offered rate is the flow's demand.
    pub fn between(hosts: &Hosts, offered: &[Offered]) -> Self {
        hosts.check(offered);
        let n = hosts.len() as u32;
        Self {
            first: (0..=offered.len() as u32).map(|f| 2 * f).collect(),
            links: offered.iter().flat_map(|o| [o.source, n + o.destination]).collect(),
            weight: vec![1.0; offered.len()],
            demand: offered.iter().map(|o| o.rate).collect(),
        }
    }
    /// Number of flows.
    pub fn len(&self) -> usize {
        self.weight.len()
    }
    /// Whether there are no flows.
    pub fn is_empty(&self) -> bool {
        self.weight.is_empty()
    }
    /// Removes all flows.
    pub fn clear(&mut self) {
        self.first.truncate(1);
        self.links.clear();
        self.weight.clear();
        self.demand.clear();
    }
    /// A flow's links.
    pub fn path(&self, flow: usize) -> &[u32] {
        &self.links[self.first[flow] as usize..self.first[flow + 1] as usize]
    }
    /// A flow's weight.
    pub fn weight(&self, flow: usize) -> f64 {
        self.weight[flow]
    }
    /// The highest rate that a flow can use.
    pub fn demand(&self, flow: usize) -> f64 {
        self.demand[flow]
    }
    /// Checks that rates are nonnegative, and that no link carries more than its capacity by more
    /// than the share `over` of it. Says what is wrong.
    pub(crate) fn check_rates(&self, capacity: &[f64], rates: &[f64], over: f64) -> Result<(), String> {
        if rates.len() != self.len() {
            return Err(format!("{} rates for {} flows", rates.len(), self.len()));
        }
        let mut loads = vec![0.0; capacity.len()];
        for (flow, &rate) in rates.iter().enumerate() {
            if !(rate >= 0.0 && rate.is_finite()) {
                return Err(format!("flow {flow} has rate {rate}: a rate is finite and not negative"));
            }
            self.path(flow).iter().for_each(|&link| loads[link as usize] += rate);
        }
        let crowded = loads.iter().zip(capacity).position(|(load, capacity)| *load > capacity * (1.0 + over));
        crowded.map_or(Ok(()), |link| {
            Err(format!("link {link} carries {}, more than its capacity of {}", loads[link], capacity[link]))
        })
    }
    fn check(&self, capacity: &[f64]) {
        assert!(self.links.iter().all(|&l| (l as usize) < capacity.len()), "a flow over a link that does not exist");
        assert!(capacity.iter().all(|&c| c >= 0.0 && c.is_finite()), "capacities are finite, not negative");
    }
}
