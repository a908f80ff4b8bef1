//! Max-min fair rates of all pairs of hosts, of which few have a demand.
//!
//! Hundreds of hosts make tens of thousands of pairs. Pairs without a demand are only counted here,
//! and pairs with an unlimited one have the level of one of their links. So the work depends on the
//! number of hosts and of demands.

use super::fill::Lowest;
use super::{Hosts, Offered};

/// Max-min fair rates like those of [`max_min_hosts`](super::max_min_hosts), to the bit, where each
/// pair of different hosts is one entry, in the order of sources and destinations.
///
/// Some pairs may be [left out](Self::leave_out). Buffers are kept.
#[derive(Clone, Debug, Default)]
pub struct AllPairs {
    hosts: usize,
    /// Pairs left out: by link, the other links.
    absent: ByLink,
    /// Pairs with a demand: by link, their numbers.
    wanted: ByLink,
    /// Links, senders first.
    links: Vec<State>,
    heap: Lowest,
    /// Numbers of pairs to settle next.
    settled: Vec<u32>,
    levels: Levels,
    /// Where all want as much as they can get, by link: the capacity that settled pairs leave, and
    /// the unsettled pairs.
    left: Vec<f64>,
    unsettled: Vec<u32>,
    /// The same of links that have no pair with the current one.
    kept: Vec<(usize, f64, u32)>,
}

/// Lists of numbers by link.
#[derive(Clone, Debug, Default)]
struct ByLink {
    first: Vec<u32>,
    items: Vec<u32>,
}

impl ByLink {
    /// Fills the lists with what `item` says of each pair, number and side, in the order of pairs.
    fn set(
        &mut self,
        hosts: usize,
        pairs: impl Iterator<Item = (u32, u32)> + Clone,
        item: impl Fn(u32, [u32; 2]) -> u32,
    ) {
        let n = hosts as u32;
        let links = |(i, j): (u32, u32)| [i, n + j];
        self.first.clear();
        self.first.resize(2 * hosts + 1, 0);
        for link in pairs.clone().flat_map(links) {
            self.first[link as usize + 1] += 1;
        }
        for link in 0..2 * hosts {
            self.first[link + 1] += self.first[link];
        }
        self.items.clear();
        self.items.resize(self.first[2 * hosts] as usize, 0);
        // Each list starts where the one before ends, and is moved back there below.
        for (number, pair) in (0..).zip(pairs) {
            let [a, b] = links(pair);
            for link in [[a, b], [b, a]] {
                let at = &mut self.first[link[0] as usize];
                self.items[*at as usize] = item(number, link);
                *at += 1;
            }
        }
        for link in (0..2 * hosts).rev() {
            self.first[link + 1] = self.first[link];
        }
        self.first[0] = 0;
    }

    fn of(&self, link: usize) -> &[u32] {
        &self.items[self.first[link] as usize..self.first[link + 1] as usize]
    }
}

/// State of a link while the level rises.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Capacity that settled pairs leave.
    left: f64,
    /// Unsettled pairs with a demand.
    wanted: u32,
    /// Pairs without a demand.
    idle: u32,
    /// Links of the other side that have settled their pairs without a demand, but have no such
    /// pair with this one.
    spared: u32,
    /// Whether its pairs without a demand are settled.
    is_settled: bool,
}

/// Rate per pair at which a link is full, up to rounding.
fn level(left: f64, pairs: u32) -> f64 {
    (left / f64::from(pairs)).max(0.0)
}

/// Rate of a pair that is not settled.
const NOT_YET: f64 = -1.0;

/// Rates of pairs that all want as much as they can get: each is the level of its source or of its
/// destination.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// By link, senders first: when it was full, and the rate of all pairs that it then settled.
    full: Vec<(u32, f64)>,
}

impl Levels {
    /// The rate of a pair that was not left out.
    pub fn rate(&self, source: u32, destination: u32) -> f64 {
        let (a, b) = (self.full[source as usize], self.full[self.full.len() / 2 + destination as usize]);
        if a.0 < b.0 { a.1 } else { b.1 }
    }

    /// When the host's link to send was full, in the order of links, and the level at that time.
    pub fn sender(&self, source: u32) -> (u32, f64) {
        self.full[source as usize]
    }

    /// The same of the host's link to receive.
    pub fn receiver(&self, destination: u32) -> (u32, f64) {
        self.full[self.full.len() / 2 + destination as usize]
    }
}

impl AllPairs {
    /// Among this many hosts, from now on leaves these pairs out. They are sorted, unique, and of
    /// different hosts.
    ///
    /// # Panics
    /// Panics if the pairs are not sorted and unique, or if a host does not exist.
    pub fn leave_out(&mut self, hosts: u32, pairs: &[(u32, u32)]) {
        assert!(pairs.is_sorted_by(|a, b| a < b), "pairs are sorted and unique");
        assert!(pairs.iter().all(|&(i, j)| i < hosts && j < hosts && i != j), "pairs of two of {hosts} hosts");
        self.hosts = hosts as usize;
        self.absent.set(self.hosts, pairs.iter().copied(), |_, [_, other]| other);
    }

    /// The rates of pairs with these demands, where all other pairs want nothing. Offers are sorted
    /// by source and destination, unique, and none is left out.
    ///
    /// # Panics
    /// Panics if offers are not sorted and unique, or if a host does not exist.
    pub fn demanded(&mut self, hosts: &Hosts, offered: &[Offered], rates: &mut Vec<f64>) {
        let pair = |o: &Offered| (o.source, o.destination);
        assert!(offered.is_sorted_by(|a, b| pair(a) < pair(b)), "offers are sorted and unique");
        assert_eq!(hosts.len(), self.hosts, "a capacity for every host");
        hosts.check(offered);
        rates.clear();
        rates.resize(offered.len(), NOT_YET);
        self.wanted.set(self.hosts, offered.iter().map(pair), |number, _| number);
        self.links.clear();
        self.heap.begin();
        for (l, &left) in hosts.send.iter().chain(&hosts.receive).enumerate() {
            let wanted = self.wanted.of(l).len() as u32;
            let idle = self.hosts as u32 - 1 - self.absent.of(l).len() as u32 - wanted;
            self.links.push(State { left, wanted, idle, ..State::default() });
            if wanted + idle > 0 {
                self.heap.push(level(left, wanted + idle), l as u32);
            }
        }
        self.heap.arrange();
        // Links of either side that have settled their pairs without a demand.
        let mut done = [0u32; 2];
        while let Some((seen, l)) = self.heap.first() {
            let l = l as usize;
            let side = usize::from(l >= self.hosts);
            let state = self.links[l];
            let idle = if state.is_settled { 0 } else { state.idle + state.spared - done[1 - side] };
            let pairs = state.wanted + idle;
            if pairs == 0 {
                self.heap.pop();
                continue;
            }
            let lowest = level(state.left, pairs);
            if lowest > seen {
                self.heap.raise(lowest);
                continue;
            }
            self.settled.clear();
            let open = |f: &&u32| rates[**f as usize] == NOT_YET;
            let met = |f: &&u32| offered[**f as usize].rate <= lowest;
            self.settled.extend(self.wanted.of(l).iter().filter(open).filter(met));
            if idle > 0 {
                done[side] += 1;
                self.settle_idle(l, offered);
            }
            if idle > 0 || !self.settled.is_empty() {
                for at in 0..self.settled.len() {
                    let f = self.settled[at];
                    self.settle(f, &offered[f as usize], offered[f as usize].rate, rates);
                }
                continue;
            }
            self.settled.extend(self.wanted.of(l).iter().filter(open));
            for at in 0..self.settled.len() {
                let f = self.settled[at];
                let rate = lowest.min(offered[f as usize].rate);
                self.settle(f, &offered[f as usize], rate, rates);
            }
            self.heap.pop();
        }
    }

    /// Settles the pairs of a link without a demand.
    fn settle_idle(&mut self, l: usize, offered: &[Offered]) {
        let n = self.hosts;
        let other = |f: &u32| match (l < n, &offered[*f as usize]) {
            (true, o) => n + o.destination as usize,
            (false, o) => o.source as usize,
        };
        let own = if l < n { l + n } else { l - n };
        let absent = self.absent.of(l).iter().map(|&m| m as usize);
        for m in self.wanted.of(l).iter().map(other).chain(absent).chain([own]) {
            self.links[m].spared += 1;
        }
        self.links[l].is_settled = true;
    }

    fn settle(&mut self, f: u32, pair: &Offered, rate: f64, rates: &mut [f64]) {
        rates[f as usize] = rate;
        for l in [pair.source as usize, self.hosts + pair.destination as usize] {
            self.links[l].left -= rate;
            self.links[l].wanted -= 1;
        }
    }

    /// The rates of all pairs, where each wants as much as it can get.
    pub fn unlimited(&mut self, hosts: &Hosts) -> &Levels {
        assert_eq!(hosts.len(), self.hosts, "a capacity for every host");
        let n = self.hosts;
        self.levels.full.clear();
        self.levels.full.resize(2 * n, (u32::MAX, 0.0));
        self.left.clear();
        self.left.extend(hosts.send.iter().chain(&hosts.receive));
        self.unsettled.clear();
        self.unsettled.extend((0..2 * n).map(|l| n as u32 - 1 - self.absent.of(l).len() as u32));
        self.heap.begin();
        for (l, (&left, &pairs)) in (0..).zip(self.left.iter().zip(&self.unsettled)) {
            if pairs > 0 {
                self.heap.push(level(left, pairs), l);
            }
        }
        self.heap.arrange();
        let mut turn = 0;
        while let Some((seen, l)) = self.heap.first() {
            let l = l as usize;
            if self.unsettled[l] == 0 {
                self.heap.pop();
                continue;
            }
            let rate = level(self.left[l], self.unsettled[l]);
            if rate > seen {
                self.heap.raise(rate);
                continue;
            }
            self.levels.full[l] = (turn, rate);
            turn += 1;
            // Links that were full before are not visited again, so their state is of no use. For
            // all others, the pair with this link is settled now.
            let (others, own) = if l < n { (n..2 * n, l + n) } else { (0..n, l - n) };
            self.kept.clear();
            let absent = self.absent.of(l).iter().map(|&m| m as usize).chain([own]);
            self.kept.extend(absent.map(|m| (m, self.left[m], self.unsettled[m])));
            for left in &mut self.left[others.clone()] {
                *left -= rate;
            }
            for pairs in &mut self.unsettled[others] {
                *pairs = pairs.wrapping_sub(1);
            }
            for &(m, left, pairs) in &self.kept {
                (self.left[m], self.unsettled[m]) = (left, pairs);
            }
            self.heap.pop();
        }
        &self.levels
    }
}
