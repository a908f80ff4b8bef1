//! Traffic as fluids over wires and links.
//!
//! It tracks which share of each pair's traffic goes where, and how long each place takes.

use super::places::{Places, Way};
use super::{Bottleneck, Link, Route, Traffic, Wired};
use timeplane_model::Duration;

/// Traffic with the shares of it that leave the wires, during planning.
#[derive(Clone, Debug)]
pub struct Fluid {
    pub(super) places: Places,
    /// By place: bytes per second, seconds before the place starts, bytes.
    pub(super) rate: Vec<f64>,
    pub(super) setup: Vec<f64>,
    pub(super) load: Vec<f64>,
    /// Pairs of racks, those with the most bytes first.
    pub(super) pairs: Vec<Pair>,
    /// By slot; the slot of a removed link stays empty.
    pub(super) links: Vec<Option<Link>>,
    /// By rack, slots of its links.
    pub(super) at: Vec<Vec<usize>>,
    /// Whether traffic may take a link as one of two hops.
    pub(super) transit: bool,
    /// Seconds that the racks' hosts take.
    pub(super) least: f64,
    wired: Wired,
}

/// Traffic of one rack for another.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) bytes: f64,
    /// Bytes that use wires only.
    pub(super) by_wire: f64,
    /// Bytes on links, by slot.
    pub(super) over: Vec<(usize, f64)>,
}

/// Numbers of bytes below this are rounding errors.
const NOTHING: f64 = 1e-6;

impl Fluid {
    /// All traffic on wires. Tree and traffic have the same size.
    pub(super) fn new(traffic: &Traffic, wired: &Wired, transit: bool) -> Self {
        let places = Places::new(wired);
        let wires = places.wires();
        let bytes_per_second = |k| match places.wire(k) {
            Bottleneck::Uplink(_) | Bottleneck::Downlink(_) => wired.uplink,
            // Without a core, no traffic uses this place.
            _ => wired.core.map_or(wired.uplink, |c| c.rate),
        };
        let rate = (0..wires).map(|k| bytes_per_second(k).as_bps() as f64 / 8.0).collect();
        let mut load = vec![0.0; wires];
        let mut pairs = Vec::new();
        for (from, to, bytes) in traffic.pairs() {
            let bytes = bytes.get() as f64;
            places.wired(from, to).places().iter().for_each(|&p| load[p as usize] += bytes);
            pairs.push(Pair { from, to, bytes, by_wire: bytes, over: Vec::new() });
        }
        pairs.sort_by(|x, y| y.bytes.total_cmp(&x.bytes).then((x.from, x.to).cmp(&(y.from, y.to))));
        Self {
            rate,
            setup: vec![0.0; wires],
            load,
            pairs,
            links: Vec::new(),
            at: vec![Vec::new(); wired.racks],
            transit,
            least: 8.0 * traffic.busiest_rack() / wired.hosts.as_bps() as f64,
            wired: wired.clone(),
            places,
        }
    }

    /// Adds an unused link and returns its slot.
    pub(super) fn add(&mut self, link: Link, setup: Duration) -> usize {
        let slot = self.links.len();
        self.links.push(Some(link));
        for _ in 0..2 {
            self.rate.push(link.rate.as_bps() as f64 / 8.0);
            self.setup.push(setup.as_secs_f64());
            self.load.push(0.0);
        }
        self.at[link.a].push(slot);
        self.at[link.b].push(slot);
        slot
    }

    /// Removes a link; its traffic returns to the wires.
    pub(super) fn remove(&mut self, slot: usize) {
        let Some(link) = self.links[slot] else { return };
        for k in 0..self.pairs.len() {
            let carried = self.pairs[k].over.iter().find(|(s, _)| *s == slot).map_or(0.0, |&(_, bytes)| bytes);
            if carried > 0.0 {
                self.shift(k, Some(slot), None, carried);
            }
        }
        self.at[link.a].retain(|&s| s != slot);
        self.at[link.b].retain(|&s| s != slot);
        self.links[slot] = None;
    }

    /// The way of a pair over a link, or over wires; `None` if the pair cannot use the link.
    pub(super) fn way(&self, pair: &Pair, slot: Option<usize>) -> Option<Way> {
        let Some(slot) = slot else { return Some(self.places.wired(pair.from, pair.to)) };
        let link = self.links[slot].as_ref()?;
        let direct = link.other(pair.from) == Some(pair.to);
        (self.transit || direct).then(|| self.places.over(slot, link, pair.from, pair.to)).flatten()
    }

    /// Moves bytes of a pair from one way to another.
    pub(super) fn shift(&mut self, k: usize, from: Option<usize>, to: Option<usize>, bytes: f64) {
        let ways = (self.way(&self.pairs[k], from), self.way(&self.pairs[k], to));
        let (Some(off), Some(on)) = ways else { unreachable!("both ways are the pair's") };
        off.places().iter().for_each(|&p| self.load[p as usize] = (self.load[p as usize] - bytes).max(0.0));
        on.places().iter().for_each(|&p| self.load[p as usize] += bytes);
        let pair = &mut self.pairs[k];
        for (slot, change) in [(from, -bytes), (to, bytes)] {
            match slot {
                None => pair.by_wire = (pair.by_wire + change).max(0.0),
                Some(slot) => match pair.over.iter_mut().find(|(s, _)| *s == slot) {
                    Some((_, carried)) => *carried += change,
                    None => pair.over.push((slot, change)),
                },
            }
        }
        pair.over.retain(|(_, carried)| *carried > NOTHING);
    }

    /// Seconds that a place takes; 0 if it carries nothing.
    pub(super) fn takes(&self, place: usize) -> f64 {
        let load = self.load[place];
        if load > NOTHING { self.setup[place] + load / self.rate[place] } else { 0.0 }
    }

    /// Seconds that the busiest place takes, apart from hosts.
    pub(super) fn busiest(&self) -> f64 {
        (0..self.load.len()).map(|p| self.takes(p)).fold(0.0, f64::max)
    }

    /// Wires by how long they take, longest first, down to a share of the busiest place's time.
    pub(super) fn bottlenecks(&self, down_to: f64) -> Vec<Bottleneck> {
        let least = self.busiest() * down_to;
        let mut wires: Vec<(f64, usize)> = (0..self.places.wires()).map(|w| (self.takes(w), w)).collect();
        wires.retain(|&(time, _)| time > 0.0 && time >= least);
        wires.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        wires.into_iter().map(|(_, w)| self.places.wire(w)).collect()
    }

    /// Bytes that a link carries, both directions together.
    pub(super) fn carried(&self, slot: usize) -> f64 {
        let first = self.places.wires() + 2 * slot;
        self.load[first] + self.load[first + 1]
    }

    /// Shares that leave the wires. `number` maps slots to links of the plan.
    pub(super) fn routes(&self, number: impl Fn(usize) -> usize) -> Vec<Route> {
        let mut routes = Vec::new();
        for pair in &self.pairs {
            // The sum of rounded shares must not exceed the whole.
            let total = pair.over.iter().map(|(_, bytes)| bytes).sum::<f64>().max(pair.bytes);
            for &(slot, bytes) in &pair.over {
                let share = (bytes / total).min(1.0);
                routes.push(Route { from: pair.from, to: pair.to, link: number(slot), share });
            }
        }
        routes.sort_by_key(|r| (r.from, r.to, r.link));
        routes
    }

    /// Number of pairs of racks with traffic.
    pub(super) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Number of racks.
    pub fn racks(&self) -> usize {
        self.at.len()
    }

    /// Capacities of the tree.
    pub fn tree(&self) -> &Wired {
        &self.wired
    }

    /// Whether traffic may take a link as one of two hops.
    pub fn transit(&self) -> bool {
        self.transit
    }

    /// Seconds that a wire takes for its traffic.
    pub fn seconds(&self, wire: Bottleneck) -> f64 {
        self.takes(self.places.number(wire))
    }

    /// Rate of a wire in bytes per second.
    pub fn rate_of(&self, wire: Bottleneck) -> f64 {
        self.rate[self.places.number(wire)]
    }

    /// Pairs with bytes that use wires only, as (sender, receiver, bytes); those with the most
    /// traffic come first.
    pub fn by_wire(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        self.pairs.iter().filter(|p| p.by_wire > NOTHING).map(|p| (p.from, p.to, p.by_wire))
    }

    /// Whether the wired path from one rack to another includes this wire.
    pub fn crosses(&self, from: usize, to: usize, wire: Bottleneck) -> bool {
        self.places.wired(from, to).has(self.places.number(wire) as u32)
    }
}
