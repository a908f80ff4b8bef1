//! Weighted round robin over pairs of hosts, with critical links served first.
//!
//! It is the default scheduler of slots.

use crate::cover::Cover;
use crate::turns::{self, LONGEST_WAIT, Memory, Turn};
use crate::{Scheduler, SlotParameters, Standing};
use timeplane_model::{
    Bytes, Class, Demand, Fabric, HostId, LinkId, Plan, Rate, ScheduleEntry, Slot, Transmission, flow_hash,
};

/// Gives slots to backlogged pairs in turn, more often to those with more to send.
///
/// The default scheduler of "Practical TDMA for Datacenter Ethernet" (Vattikonda et al., EuroSys
/// 2012) is a weighted round robin with a bounded wait. The paper leaves open how slots are filled.
/// This scheduler works as follows:
///
/// - **Counting.** A pair's demand is a number of slots: its bytes over what its slowest link
///   carries while a slot is open, rounded up. Transmissions run at the rate of that link. A pair
///   without demand gets no slot, and slots that no pair needs are not planned.
/// - **Links.** A host sends to one host at a time and receives from one. Inner links carry no more
///   than their rate. If a fabric has several shortest paths, only host links are certain and
///   considered (as in [`Slot::new`]).
/// - **Turns.** Every pair has a due slot. When it is served, it is due again one period later. The
///   period is the remaining load of the most loaded link of its path over the remaining demand of
///   the pair, so that shares are in proportion to demand. It is at most
///   [`LONGEST_WAIT`](Self::LONGEST_WAIT) times the number of pairs at that link. The pair that is
///   due first is always served, the others in order of their due slots, as far as they fit.
/// - **Bound.** With P backlogged pairs, at most d of them at a link of its path, a pair is served
///   within `4 d + P` slots. (Once its due slot is past, every slot serves a pair that is due
///   before it, and served pairs become due after it.)
/// - **Critical links.** If the most loaded link has M slots left, this slot uses all links with M
///   left. If hosts' links are the bottleneck, a fixed demand takes M slots in total, the least
///   possible (Koenig). The pair that is due first does not prevent that: every pair is in one of M
///   matchings that together serve everything. If inner links of a two-level tree are the
///   bottleneck, pairs of switches are matched in the same way before pairs of hosts. It is a
///   heuristic on deeper trees, and if an inner link carries several pairs at once but not all.
/// - **Room.** A plan sends a receiver no more than its room, by limits on bytes. Less than an
///   eighth of a slot is not granted, unless it is all that waits: the receiver first drains
///   (compare RFC 1122, 4.2.3.3).
///
/// A slot takes O(P) with a small constant, plus at worst O(P) for each critical link that turns
/// alone leave idle.
#[derive(Clone, Debug)]
pub struct WeightedRoundRobin {
    parameters: SlotParameters,
    memory: Memory,
}

const NOBODY: u32 = u32::MAX;

impl WeightedRoundRobin {
    /// The longest period of a pair, as a multiple of its period in a round robin without weights.
    pub const LONGEST_WAIT: u64 = LONGEST_WAIT;

    /// Creates a scheduler that has planned nothing.
    ///
    /// # Panics
    /// Panics if `open` is not positive or `slots` is 0.
    pub fn new(parameters: SlotParameters) -> Self {
        assert!(parameters.open.as_ps() > 0 && parameters.slots > 0, "{parameters:?}");
        Self { parameters, memory: Memory::default() }
    }
}

impl Scheduler for WeightedRoundRobin {
    fn plan(&mut self, demand: &Demand, fabric: &Fabric, _: &Standing) -> Plan {
        let mut table = Table::new(self, demand, fabric);
        let mut entries = Vec::new();
        while entries.len() < self.parameters.slots as usize && table.fill() {
            let slot = Slot::new(table.transmissions(), self.parameters.open, fabric)
                .expect("pairs were checked against the links");
            entries.push(ScheduleEntry { slot, guard: self.parameters.guard });
            self.memory.now += 1;
            table.served(self.memory.now);
        }
        self.memory.keep(table.pairs.iter().map(|p| (p.source, p.destination, &p.turn)));
        Plan::Slots(entries)
    }
}

/// A pair of hosts with demand.
struct Pair {
    source: u32,
    destination: u32,
    /// The pair's entry of [`Table::cores`]; [`NOBODY`] if only the hosts' links matter.
    core: u32,
    /// Rate in bit/s; `line` tells whether it is the sender's line rate.
    rate: u64,
    line: bool,
    turn: Turn,
}

/// The path between two switches, if some of its links are too slow for all hosts that could use
/// them at once.
struct Core {
    /// The slow links of the path.
    links: Vec<u32>,
    /// Ends of the path in [`Table::inner`]: the first slow link on the way up, and the last on the
    /// way down.
    ends: [u32; 2],
}

/// An inner link that may be a bottleneck.
#[derive(Clone, Copy, Default)]
struct Inner {
    /// Rate in bit/s, and the rate left in this slot.
    rate: u64,
    free: u64,
    /// Number of pairs that the link carries at once.
    multiple: u64,
    /// Number of pairs' slots that it still has to carry.
    left: u64,
    /// Number of the link's node in [`Table::inner`].
    node: u32,
}

/// The due slot, the turn and the number of a pair, in one number that is fast to compare.
type Entry = u128;

fn entry(pair: &Pair, number: u32) -> Entry {
    u128::from(pair.turn.due) << 64 | u128::from(pair.turn.diagonal) << 32 | u128::from(number)
}

/// The number of the pair of an entry.
fn pair_of(entry: Entry) -> u32 {
    entry as u32
}

/// A plan under construction.
struct Table {
    hosts: usize,
    pairs: Vec<Pair>,
    /// Pairs with demand and room, by due slot and turn.
    order: Vec<Entry>,
    /// Pairs of this slot; and by pair, while the order is updated, whether it is in the slot.
    picked: Vec<u32>,
    served: Vec<bool>,
    /// By host, senders first, then receivers: slots left, and whether the host is reserved while
    /// cores are chosen.
    left: Vec<u64>,
    spoken: Vec<bool>,
    /// By receiver, the bytes that it has room for.
    room: Vec<u64>,
    bounded: bool,
    /// Senders, then receivers; an edge is a pair.
    outer: Cover,
    cores: Vec<Core>,
    links: Vec<Inner>,
    /// Links up, then links down, each followed by a node for cores without such a link; an edge is
    /// a core.
    inner: Cover,
}

impl Table {
    fn new(state: &WeightedRoundRobin, demand: &Demand, fabric: &Fabric) -> Self {
        let hosts = fabric.hosts();
        assert_eq!(demand.hosts(), hosts, "demand of the fabric's hosts");
        let n = hosts as usize;
        let mut routes = Routes::new(fabric);
        let room: Vec<u64> = demand.rows().iter().map(|r| r.room.map_or(u64::MAX, Bytes::get)).collect();

        let mut pairs: Vec<Pair> = Vec::new();
        let mut route_of = Vec::new();
        let mut known = state.memory.known();
        for (source, row) in demand.rows().iter().enumerate() {
            for entry in row.entries() {
                let (source, destination) = (source as u32, entry.destination.0);
                let route = routes.route(HostId(source), entry.destination);
                let line = fabric.link(fabric.uplink(HostId(source))).spec.rate.as_bps();
                let down = fabric.link(fabric.downlink(entry.destination)).spec.rate.as_bps();
                let rate = line.min(down).min(routes.all[route].rate);
                let carries = Rate::bps(rate).bytes_in(state.parameters.open).get();
                // A slot too short for a byte serves nobody.
                if carries == 0 {
                    continue;
                }
                let turn = known.turn(source, destination, hosts, [entry.bytes.get(), carries]);
                pairs.push(Pair { source, destination, core: NOBODY, rate, line: rate == line, turn });
                route_of.push(route as u32);
            }
        }

        let (cores, links, inner) = routes.cores(&mut pairs, &route_of);
        let ends = pairs.iter().map(|p| [p.source, hosts + p.destination]).collect();
        let mut table = Self {
            hosts: n,
            order: Vec::with_capacity(pairs.len()),
            picked: Vec::new(),
            served: vec![false; pairs.len()],
            left: vec![0; 2 * n],
            spoken: vec![false; 2 * n],
            bounded: room.iter().any(|&r| r != u64::MAX),
            room,
            outer: Cover::new(vec![1; 2 * n], ends),
            cores,
            links,
            inner,
            pairs,
        };
        table.enter(state.memory.now);
        table
    }

    /// Sums the remaining load per link, and gives every pair its period and due slot.
    fn enter(&mut self, now: u64) {
        let mut degree = vec![0u64; 2 * self.hosts];
        let mut link_degree = vec![0u64; self.links.len()];
        for p in 0..self.pairs.len() {
            let (pair, slots) = (&self.pairs[p], self.pairs[p].turn.slots());
            let open = self.has_room(pair);
            self.outer.limit(p, (open && pair.core == NOBODY).into());
            if !open {
                continue;
            }
            for v in [pair.source as usize, self.hosts + pair.destination as usize] {
                self.left[v] += slots;
                degree[v] += 1;
            }
            if let Some(core) = self.cores.get(pair.core as usize) {
                for &l in &core.links {
                    self.links[l as usize].left += slots;
                    link_degree[l as usize] += 1;
                }
            }
        }
        for p in 0..self.pairs.len() {
            let pair = &self.pairs[p];
            if !self.has_room(pair) {
                continue;
            }
            let mut load = 0;
            let mut pairs = 0;
            for v in [pair.source as usize, self.hosts + pair.destination as usize] {
                load = load.max(self.left[v]);
                pairs = pairs.max(degree[v]);
            }
            if let Some(core) = self.cores.get(pair.core as usize) {
                for &l in &core.links {
                    let link = &self.links[l as usize];
                    load = load.max(link.left.div_ceil(link.multiple));
                    pairs = pairs.max(link_degree[l as usize].div_ceil(link.multiple));
                }
            }
            let pair = &mut self.pairs[p];
            pair.turn.enter(now, load, pairs);
            self.order.push(entry(pair, p as u32));
        }
        self.order.sort_unstable();
    }

    /// Whether the receiver has room for enough of the pair's demand.
    fn has_room(&self, pair: &Pair) -> bool {
        pair.turn.has_room(self.room[pair.destination as usize])
    }

    /// Chooses the pairs of the next slot. Returns `false` if no demand is left.
    fn fill(&mut self) -> bool {
        self.picked.clear();
        let Some(head) = self.order.first().map(|&e| pair_of(e)) else { return false };
        let longest = self.longest();
        self.outer.reset();
        for v in 0..2 * self.hosts {
            if self.left[v] == longest {
                self.outer.want(v, 1);
            }
        }
        if !self.cores.is_empty() {
            self.inner.reset();
            for l in &mut self.links {
                l.free = l.rate;
                if l.node == NOBODY {
                    continue;
                }
                let more = l.left.saturating_sub((longest - 1) * l.multiple);
                self.inner.want(l.node as usize, more.min(l.multiple) as u32);
            }
        }
        self.pick(head);
        if !self.cores.is_empty() {
            self.cross(longest);
        }
        self.greedy();
        if self.outer.cover() {
            self.greedy();
        }
        for sender in 0..self.hosts {
            self.picked.extend(self.outer.chosen(sender));
        }
        true
    }

    /// Number of slots that the most loaded link needs.
    fn longest(&self) -> u64 {
        let hosts = self.left.iter().copied().max().unwrap_or(0);
        self.links.iter().map(|l| l.left.div_ceil(l.multiple)).max().unwrap_or(0).max(hosts)
    }

    /// Chooses how many pairs each core carries, and which pairs.
    fn cross(&mut self, longest: u64) {
        // A pair whose host is taken is of no use to a core.
        for c in 0..self.cores.len() {
            self.inner.limit(c, 0);
        }
        self.spoken.fill(false);
        let mut free = vec![0u32; self.cores.len()];
        for p in self.order.iter().map(|&e| pair_of(e)) {
            let pair = &self.pairs[p as usize];
            if pair.core != NOBODY && self.hosts_free(pair) {
                let c = pair.core as usize;
                free[c] += 1;
                self.inner.limit(c, free[c]);
                let (i, j) = (pair.source as usize, self.hosts + pair.destination as usize);
                if !self.spoken[i] && !self.spoken[j] && self.inner.choose(c) {
                    self.spoken[i] = true;
                    self.spoken[j] = true;
                }
            }
        }
        self.inner.cover();
        for (c, free) in free.iter_mut().enumerate() {
            *free = self.inner.times(c);
        }
        // Hosts with the most slots left first, as far as their pairs cross these cores.
        for critical in [true, false] {
            for k in 0..self.order.len() {
                let p = pair_of(self.order[k]);
                let pair = &self.pairs[p as usize];
                if pair.core == NOBODY || free[pair.core as usize] == 0 || !self.hosts_free(pair) {
                    continue;
                }
                let (i, j) = (pair.source as usize, self.hosts + pair.destination as usize);
                if (!critical || self.left[i] == longest || self.left[j] == longest) && self.fits(pair) {
                    free[pair.core as usize] -= 1;
                    self.pick(p);
                }
            }
        }
    }

    /// Adds pairs that still fit, those due first.
    fn greedy(&mut self) {
        let idle =
            |side: std::ops::Range<usize>| side.filter(|&v| self.left[v] > 0 && self.outer.spare(v as u32)).count();
        let (senders, receivers) = (idle(0..self.hosts), idle(self.hosts..2 * self.hosts));
        let mut most = senders.min(receivers);
        for k in 0..self.order.len() {
            if most == 0 {
                return;
            }
            let p = pair_of(self.order[k]);
            if !self.outer.both_spare(p as usize) {
                continue;
            }
            let pair = &self.pairs[p as usize];
            if pair.core == NOBODY {
                most -= usize::from(self.outer.choose(p as usize));
            } else if self.fits(pair) {
                self.pick(p);
                most -= 1;
            }
        }
    }

    fn hosts_free(&self, pair: &Pair) -> bool {
        self.outer.spare(pair.source) && self.outer.spare(self.hosts as u32 + pair.destination)
    }

    fn fits(&self, pair: &Pair) -> bool {
        self.cores[pair.core as usize].links.iter().all(|&l| self.links[l as usize].free >= pair.rate)
    }

    /// Assigns a pair its hosts and links for this slot.
    fn pick(&mut self, p: u32) {
        let pair = &self.pairs[p as usize];
        self.outer.take_out(pair.source);
        self.outer.take_out(self.hosts as u32 + pair.destination);
        if let Some(core) = self.cores.get(pair.core as usize) {
            for &l in &core.links {
                self.links[l as usize].free -= pair.rate;
            }
            for v in core.ends {
                self.inner.take_out(v);
            }
        }
        self.picked.push(p);
    }

    /// Bytes that a pair may send in this slot.
    fn allowed(&self, pair: &Pair) -> u64 {
        pair.turn.left.min(pair.turn.carries).min(self.room[pair.destination as usize])
    }

    fn transmissions(&mut self) -> Vec<Transmission> {
        // Mostly in order already.
        self.picked.sort_by_key(|&p| self.pairs[p as usize].source);
        let transmission = |&p: &u32| {
            let pair = &self.pairs[p as usize];
            let bounded = self.room[pair.destination as usize] != u64::MAX;
            Transmission {
                source: HostId(pair.source),
                destination: HostId(pair.destination),
                class: Class(0),
                path: None,
                rate: (!pair.line).then(|| Rate::bps(pair.rate)),
                bytes: bounded.then(|| Bytes::new(self.allowed(pair))),
            }
        };
        self.picked.iter().map(transmission).collect()
    }

    /// Subtracts what this slot serves from the demand. `now` is the number of the next slot.
    fn served(&mut self, now: u64) {
        for k in 0..self.picked.len() {
            let p = self.picked[k] as usize;
            let bytes = self.allowed(&self.pairs[p]);
            let pair = &mut self.pairs[p];
            let (fewer, j) = (pair.turn.served(now, bytes), pair.destination as usize);
            if self.room[j] != u64::MAX {
                self.room[j] -= bytes;
            }
            if pair.turn.left == 0 {
                self.outer.limit(p, 0);
            }
            self.served[p] = true;
            self.lose(p, fewer);
        }
        let waiting = self.picked.iter().map(|&p| (&self.pairs[p as usize], p)).filter(|(pair, _)| pair.turn.left > 0);
        let again = waiting.map(|(pair, p)| entry(pair, p)).collect();
        turns::reorder(&mut self.order, self.picked.len(), again, |&e| self.served[pair_of(e) as usize]);
        for p in &self.picked {
            self.served[*p as usize] = false;
        }
        if self.bounded {
            self.leave();
        }
    }

    /// Removes pairs whose receiver has no room left.
    fn leave(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.retain(|&e| {
            let p = pair_of(e) as usize;
            let pair = &self.pairs[p];
            let stays = self.has_room(pair);
            if !stays {
                let slots = pair.turn.slots();
                self.outer.limit(p, 0);
                self.lose(p, slots);
            }
            stays
        });
        self.order = order;
    }

    /// Subtracts `slots` of a pair from the sums.
    fn lose(&mut self, p: usize, slots: u64) {
        let pair = &self.pairs[p];
        self.left[pair.source as usize] -= slots;
        self.left[self.hosts + pair.destination as usize] -= slots;
        if let Some(core) = self.cores.get(pair.core as usize) {
            for &l in &core.links {
                self.links[l as usize].left -= slots;
            }
        }
    }
}

/// The routes between switches that pairs take.
struct Routes<'a> {
    fabric: &'a Fabric,
    all: Vec<Route>,
    /// By pair of nodes with hosts (numbered in `last`), its route.
    of: Vec<u32>,
    last: Vec<u32>,
    count: usize,
    /// By node with hosts, the sums of its hosts' link rates into the fabric and out of it.
    sums: Vec<[u64; 2]>,
}

struct Route {
    /// Inner links; empty if there are several paths.
    links: Vec<LinkId>,
    /// Rate of the slowest of these links in bit/s.
    rate: u64,
    ends: [u32; 2],
}

impl<'a> Routes<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let mut number = vec![NOBODY; fabric.nodes().len()];
        let mut last = Vec::with_capacity(fabric.hosts() as usize);
        let mut sums: Vec<[u64; 2]> = Vec::new();
        for h in (0..fabric.hosts()).map(HostId) {
            let to = fabric.link(fabric.uplink(h)).to.index();
            if number[to] == NOBODY {
                number[to] = sums.len() as u32;
                sums.push([0; 2]);
            }
            let sum = &mut sums[number[to] as usize];
            sum[0] += fabric.link(fabric.uplink(h)).spec.rate.as_bps();
            sum[1] += fabric.link(fabric.downlink(h)).spec.rate.as_bps();
            last.push(number[to]);
        }
        let count = sums.len();
        Self { fabric, all: Vec::new(), of: vec![NOBODY; count * count], last, count, sums }
    }

    fn route(&mut self, from: HostId, to: HostId) -> usize {
        let ends = [self.last[from.index()], self.last[to.index()]];
        let at = ends[0] as usize * self.count + ends[1] as usize;
        if self.of[at] == NOBODY {
            self.of[at] = self.all.len() as u32;
            let mut links = Vec::new();
            if self.fabric.is_single_path(from, to) {
                let path = self.fabric.path(from, to, flow_hash(from.0, to.0, 0, 0));
                links.extend(path.iter().take(path.len() - 1).skip(1));
            }
            let rate = links.iter().map(|&l| self.fabric.link(l).spec.rate.as_bps()).min().unwrap_or(u64::MAX);
            self.all.push(Route { links, rate, ends });
        }
        self.of[at] as usize
    }

    /// Finds the inner links that can be a bottleneck: those slower than the hosts on either side.
    /// The numbers lead from a fabric's link to its place in the list.
    fn bottlenecks(&self) -> (Vec<Inner>, Vec<u32>) {
        let fabric = self.fabric;
        // The hosts that could use a link at once: all hosts under the switches at which its routes
        // start, and end.
        let mut users: Vec<(LinkId, u8, u32)> = Vec::new();
        for route in &self.all {
            for &l in &route.links {
                users.extend([(l, 0, route.ends[0]), (l, 1, route.ends[1])]);
            }
        }
        users.sort_unstable();
        users.dedup();
        let mut links = Vec::new();
        let mut number = vec![NOBODY; fabric.links().len()];
        for of_link in users.chunk_by(|a, b| a.0 == b.0) {
            let mut sums = [0; 2];
            for &(_, side, end) in of_link {
                sums[side as usize] += self.sums[end as usize][side as usize];
            }
            let rate = fabric.link(of_link[0].0).spec.rate.as_bps();
            if rate < sums[0].min(sums[1]) {
                number[of_link[0].0.index()] = links.len() as u32;
                links.push(Inner { rate, multiple: rate, node: NOBODY, ..Inner::default() });
            }
        }
        (links, number)
    }

    /// Finds the inner links that may be a bottleneck, and sets the core of each pair.
    fn cores(&self, pairs: &mut [Pair], route_of: &[u32]) -> (Vec<Core>, Vec<Inner>, Cover) {
        let (mut links, number) = self.bottlenecks();
        // Nodes are the links on the first half of a route (up) and on the second (down). A link
        // that is neither for all routes is checked when pairs are picked.
        let mut sides: [Vec<u32>; 2] = Default::default();
        let mut cores: Vec<Core> = Vec::new();
        let mut core_of = vec![NOBODY; self.all.len()];
        let mut side_of = vec![usize::MAX; links.len()];
        for (route, core_of) in self.all.iter().zip(&mut core_of) {
            let slow = |l: &LinkId| Some(number[l.index()]).filter(|&l| l != NOBODY);
            let (up, down) = route.links.split_at(route.links.len().div_ceil(2));
            let ends = [up.iter().find_map(slow), down.iter().rev().find_map(slow)];
            let ends = [0, 1].map(|side| {
                let link = ends[side]?;
                if side_of[link as usize] == usize::MAX {
                    side_of[link as usize] = side;
                    links[link as usize].node = sides[side].len() as u32;
                    sides[side].push(link);
                }
                (side_of[link as usize] == side).then_some(links[link as usize].node)
            });
            let slow: Vec<u32> = route.links.iter().filter_map(slow).collect();
            if !slow.is_empty() {
                *core_of = cores.len() as u32;
                cores.push(Core { links: slow, ends: ends.map(|e| e.unwrap_or(NOBODY)) });
            }
        }

        let mut fastest = vec![0; links.len()];
        for (pair, &route) in pairs.iter_mut().zip(route_of) {
            pair.core = core_of[route as usize];
            if let Some(core) = cores.get(pair.core as usize) {
                for &l in &core.links {
                    fastest[l as usize] = pair.rate.max(fastest[l as usize]);
                }
            }
        }
        for (link, fastest) in links.iter_mut().zip(fastest) {
            link.multiple = (link.rate / fastest.max(1)).max(1);
        }

        // One more node on either side stands for no such link.
        let [ups, downs] = sides;
        let many = u32::MAX;
        let capacity = |side: &[u32]| -> Vec<u32> {
            side.iter().map(|&l| links[l as usize].multiple.min(many.into()) as u32).chain([many]).collect()
        };
        let capacities = [capacity(&ups), capacity(&downs)].concat();
        let (no_up, no_down) = (ups.len() as u32, (ups.len() + 1 + downs.len()) as u32);
        for &l in &downs {
            links[l as usize].node += no_up + 1;
        }
        for core in &mut cores {
            let [up, down] = core.ends;
            core.ends = [up.min(no_up), if down == NOBODY { no_down } else { down + no_up + 1 }];
        }
        let inner = Cover::new(capacities, cores.iter().map(|c| c.ends).collect());
        (cores, links, inner)
    }
}
