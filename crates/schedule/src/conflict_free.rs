//! A scheduler of slots on any fabric, in which every transmission has a path of its own.
//!
//! No two transmissions of a slot overload a link.

use crate::routes::{Choice, Choices};
use crate::turns::{self, LONGEST_WAIT, Memory, Turn};
use crate::{ClosPaths, PathColoring, Scheduler, SlotParameters, Standing};
use timeplane_model::{
    Bytes, Class, Demand, Duration, Fabric, HostId, LinkId, PathTag, Plan, Rate, ScheduleEntry, Slot, Transmission,
};

/// Assigns slots to pairs of hosts together with paths, so that no link of the fabric is
/// overloaded.
///
/// The constraint is that of "Practical TDMA for Datacenter Ethernet" (Vattikonda et al., EuroSys
/// 2012): no two pairs of a slot share a link on their paths. The paper leaves schedules for
/// arbitrary topologies open. This scheduler works as follows:
///
/// - **Paths.** If a fabric has several shortest paths, every transmission names its own by a
///   [`PathTag`]; up to 64 paths per pair of switches are considered. In a Clos network whose links
///   stand for parallel unit links, pairs of a slot are chosen first, as many as the switches'
///   links to the next layer carry. [Coloring](ClosPaths) then always finds their paths. In other
///   fabrics each pair takes, of the paths with room, the one whose links are least wanted by
///   others.
/// - **Rates.** A transmission runs at the rate of the slowest link on its path. If a link has less
///   left, the transmission runs at what is left, but not below half its rate. So a fast sender
///   serves several slow receivers in one slot.
/// - **Small senders.** A pair with less to send than a slot carries gets only the rate that it
///   needs, but enough for one frame. So several small senders share a slot towards one receiver,
///   and their rates add up to at most its link rate. Two of their packets can meet in a switch;
///   one then waits for as long as the other takes.
/// - **Turns.** Every pair has a due slot. When it is served, it is due again one period later. The
///   period is the remaining load of the busier of its two hosts over the remaining demand of the
///   pair, so that shares are in proportion to demand. It is at most
///   [`LONGEST_WAIT`](Self::LONGEST_WAIT) times the number of pairs at that host. The pair that is
///   due first is always served. Then come pairs of the hosts with the most to do, and then all
///   others in order of due slots, as far as they fit.
/// - **Bound.** With P backlogged pairs, at most d of them at a host, a pair is served at least
///   every `4 d + P` slots, as under [`WeightedRoundRobin`](crate::WeightedRoundRobin).
/// - **Maximal.** A pair with demand is left out of a slot only if none of its paths has room for
///   at least half its rate, or for all its demand.
/// - **Room.** A plan sends a receiver no more than its room, by limits on bytes. Less than an
///   eighth of a slot is not granted, unless it is all that waits.
///
/// A slot takes O(P + links) if paths are colored, plus the paths of each pair that is tried
/// individually.
#[derive(Clone, Debug)]
pub struct ConflictFree {
    parameters: SlotParameters,
    memory: Memory,
}

const UNKNOWN: u32 = u32::MAX;

impl ConflictFree {
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

impl Scheduler for ConflictFree {
    fn plan(&mut self, demand: &Demand, fabric: &Fabric, _: &Standing) -> Plan {
        let mut table = Table::new(self, demand, fabric);
        let mut entries = Vec::new();
        while entries.len() < self.parameters.slots as usize && table.fill() {
            let slot = Slot::new(table.transmissions(), self.parameters.open, fabric).expect("no link was overbooked");
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
    /// The links of its two hosts.
    up: usize,
    down: usize,
    /// Number of its paths in [`Choices`], or [`UNKNOWN`] until they are looked up.
    paths: u32,
    /// Rate of the pair without others, in bit/s.
    rate: u64,
    turn: Turn,
}

/// A pair in the order of due slots, with the fields that most decisions about it need.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    due: u64,
    turn: u32,
    pair: u32,
    source: u32,
    /// Number of the receiver, after those of all senders.
    destination: u32,
}

/// A pair that was chosen for the slot.
struct Picked {
    pair: usize,
    /// Rate of the transmission in bit/s.
    rate: u64,
    tag: Option<PathTag>,
    /// Wire bytes that the pair may send.
    bytes: u64,
}

/// Paths by coloring, with how many packets may go up from and down to each switch with hosts.
struct Colored {
    paths: ClosPaths,
    capacity: u32,
    crossing: Vec<[u32; 2]>,
}

/// A plan under construction.
struct Table<'a> {
    fabric: &'a Fabric,
    open: Duration,
    /// Size of the largest frame in wire bytes.
    frame: u64,
    hosts: usize,
    pairs: Vec<Pair>,
    choices: Choices<'a>,
    colored: Option<Colored>,
    /// Pairs with demand and room, by due slot and turn.
    order: Vec<Entry>,
    /// Whether each pair is in this slot.
    taken: Vec<bool>,
    /// By host, senders first, then receivers: whether this slot uses its link fully, and whether
    /// it is among the hosts with the most to do.
    full: Vec<bool>,
    critical: Vec<bool>,
    /// Number of senders, and of receivers, with demand and with capacity left in this slot.
    idle: [usize; 2],
    picked: Vec<Picked>,
    /// By host, senders first, then receivers: slots still needed.
    left: Vec<u64>,
    /// By link: rate in bit/s, rate left in this slot, and number of pairs' slots that could cross
    /// it on one path or another.
    rates: Vec<u64>,
    free: Vec<u64>,
    wanted: Vec<f64>,
    /// Bytes that each receiver has room for, and whether any of them is limited.
    room: Vec<u64>,
    bounded: bool,
}

impl<'a> Table<'a> {
    fn new(state: &ConflictFree, demand: &Demand, fabric: &'a Fabric) -> Self {
        let hosts = fabric.hosts();
        assert_eq!(demand.hosts(), hosts, "demand of the fabric's hosts");
        let open = state.parameters.open;
        let rates: Vec<u64> = fabric.links().iter().map(|l| l.spec.rate.as_bps()).collect();
        let mut choices = Choices::new(fabric);
        // In a Clos network, inner links are no slower than host links, and paths are looked up
        // only if coloring leaves room.
        let clos = ClosPaths::new(fabric, PathColoring::EulerSplit).ok();
        let clos = clos.filter(|p| p.clos().first().choices > 1 || p.clos().second().choices > 1);
        let mut pairs: Vec<Pair> = Vec::new();
        let mut known = state.memory.known();
        for (source, row) in demand.rows().iter().enumerate() {
            for entry in row.entries() {
                let (source, destination) = (source as u32, entry.destination.0);
                let (up, down) = (fabric.uplink(HostId(source)).index(), fabric.downlink(entry.destination).index());
                let mut rate = rates[up].min(rates[down]);
                let mut paths = UNKNOWN;
                if clos.is_none() {
                    paths = choices.between(HostId(source), entry.destination);
                    rate = rate.min(choices.of(paths).iter().map(|c| c.rate).max().unwrap_or(u64::MAX));
                }
                let carries = Rate::bps(rate).bytes_in(open).get();
                // A slot too short for a byte serves nobody.
                if carries == 0 {
                    continue;
                }
                let turn = known.turn(source, destination, hosts, [entry.bytes.get(), carries]);
                pairs.push(Pair { source, destination, up, down, paths, rate, turn });
            }
        }
        let colored = clos.map(|paths| Colored {
            capacity: paths.clos().capacity(),
            crossing: vec![[0; 2]; paths.clos().edges()],
            paths,
        });
        let mut table = Self {
            fabric,
            open,
            frame: state.parameters.frame.get(),
            hosts: hosts as usize,
            order: Vec::with_capacity(pairs.len()),
            full: vec![false; 2 * hosts as usize],
            critical: vec![false; 2 * hosts as usize],
            idle: [0; 2],
            taken: vec![false; pairs.len()],
            picked: Vec::new(),
            left: vec![0; 2 * hosts as usize],
            free: rates.clone(),
            wanted: vec![0.0; rates.len()],
            bounded: demand.rows().iter().any(|r| r.room.is_some()),
            room: demand.rows().iter().map(|r| r.room.map_or(u64::MAX, Bytes::get)).collect(),
            rates,
            choices,
            colored,
            pairs,
        };
        table.enter(state.memory.now);
        table
    }

    /// Sums the remaining load per host and link, and gives every pair its period and due slot.
    fn enter(&mut self, now: u64) {
        let mut degree = vec![0u64; 2 * self.hosts];
        for pair in self.pairs.iter().filter(|p| has_room(&self.room, p)) {
            for v in [pair.source as usize, self.hosts + pair.destination as usize] {
                self.left[v] += pair.turn.slots();
                degree[v] += 1;
            }
            let choices = if pair.paths == UNKNOWN { &[] } else { self.choices.of(pair.paths) };
            for choice in choices {
                for link in &choice.links {
                    self.wanted[link.index()] += pair.turn.slots() as f64 / choices.len() as f64;
                }
            }
        }
        for (p, pair) in self.pairs.iter_mut().enumerate() {
            if !has_room(&self.room, pair) {
                continue;
            }
            let (i, j) = (pair.source as usize, self.hosts + pair.destination as usize);
            let (load, pairs) = (self.left[i].max(self.left[j]), degree[i].max(degree[j]));
            pair.turn.enter(now, load, pairs);
            self.order.push(entry(pair, p, self.hosts));
        }
        self.order.sort_unstable();
    }

    /// Chooses the pairs of the next slot. Returns `false` if no demand is left.
    fn fill(&mut self) -> bool {
        self.picked.clear();
        if self.order.is_empty() {
            return false;
        }
        self.free.copy_from_slice(&self.rates);
        if let Some(colored) = &mut self.colored {
            colored.crossing.fill([0; 2]);
        }
        let longest = self.left.iter().copied().max().unwrap_or(0);
        self.full.fill(false);
        let (senders, receivers) = self.left.split_at(self.hosts);
        self.idle = [senders, receivers].map(|side| side.iter().filter(|&&left| left > 0).count());
        for (critical, left) in self.critical.iter_mut().zip(&self.left) {
            *critical = *left == longest;
        }
        self.offer(self.order[0].pair as usize);
        for all in [false, true] {
            for k in 0..self.order.len() {
                if self.idle.contains(&0) {
                    break;
                }
                let e = self.order[k];
                let (i, j) = (e.source as usize, e.destination as usize);
                if self.full[i] || self.full[j] || !(all || self.critical[i] || self.critical[j]) {
                    continue;
                }
                if !self.taken[e.pair as usize] {
                    self.offer(e.pair as usize);
                }
            }
        }
        if self.colored.is_some() {
            self.color();
            // Links that coloring counts as full unit links may have room for more.
            for k in 0..self.order.len() {
                if self.idle.contains(&0) {
                    break;
                }
                let e = self.order[k];
                let p = e.pair as usize;
                if !self.full[e.source as usize]
                    && !self.full[e.destination as usize]
                    && !self.taken[p]
                    && let Some(rate) = self.at_hosts(p)
                {
                    self.route(p, rate);
                }
            }
        }
        true
    }

    /// The rate in bit/s that a pair's hosts have left for it: all it needs, or at least half of
    /// its rate without others.
    fn at_hosts(&self, p: usize) -> Option<u64> {
        let pair = &self.pairs[p];
        if !has_room(&self.room, pair) {
            return None;
        }
        enough(self.needs(pair), pair.rate, self.free[pair.up].min(self.free[pair.down]))
    }

    /// The rate in bit/s that sends all of a pair's demand in this slot, or all that its receiver
    /// has room for, at most its rate without others. It is enough for one frame at least: an
    /// earlier grant may have been too small for the last frame, so that more waits than is
    /// counted.
    fn needs(&self, pair: &Pair) -> u64 {
        let bytes = pair.turn.left.max(self.frame).min(self.room[pair.destination as usize]);
        if bytes >= pair.turn.carries {
            return pair.rate;
        }
        let bits = u128::from(bytes) * 8_000_000_000_000;
        (bits.div_ceil(self.open.as_ps() as u128) as u64).clamp(1, pair.rate)
    }

    /// Adds a pair to the slot if it fits.
    fn offer(&mut self, p: usize) {
        let Some(rate) = self.at_hosts(p) else { return };
        let Some(colored) = &mut self.colored else { return self.route(p, rate) };
        let pair = &self.pairs[p];
        let (from, to) = (HostId(pair.source), HostId(pair.destination));
        let (s, d) = (colored.paths.clos().edge(from) as usize, colored.paths.clos().edge(to) as usize);
        if s != d {
            if colored.crossing[s][0] == colored.capacity || colored.crossing[d][1] == colored.capacity {
                return;
            }
            colored.crossing[s][0] += 1;
            colored.crossing[d][1] += 1;
        }
        self.pick(p, rate, None);
    }

    /// Adds a pair at `rate`, on the path with room whose links are least wanted.
    fn route(&mut self, p: usize, rate: u64) {
        let pair = &mut self.pairs[p];
        if pair.paths == UNKNOWN {
            pair.paths = self.choices.between(HostId(pair.source), HostId(pair.destination));
        }
        let pair = &self.pairs[p];
        let needs = self.needs(pair).min(rate);
        let mut best: Option<(f64, u64, usize)> = None;
        for (c, choice) in self.choices.of(pair.paths).iter().enumerate() {
            let free = choice.links.iter().map(|l| self.free[l.index()]).min().unwrap_or(u64::MAX);
            let Some(rate) = enough(needs, pair.rate, free) else { continue };
            let wanted = choice.links.iter().map(|l| self.wanted[l.index()]).fold(0.0, f64::max);
            if best.is_none_or(|(w, r, _)| rate > r || rate == r && wanted < w) {
                best = Some((wanted, rate, c));
            }
        }
        let Some((_, rate, c)) = best else { return };
        let Choice { tag, links, .. } = &self.choices.of(pair.paths)[c];
        for link in links {
            self.free[link.index()] -= rate;
        }
        let tag = *tag;
        self.pick(p, rate, tag);
    }

    fn pick(&mut self, p: usize, rate: u64, tag: Option<PathTag>) {
        let pair = &self.pairs[p];
        self.free[pair.up] -= rate;
        self.free[pair.down] -= rate;
        let ends = [(pair.source as usize, pair.up), (self.hosts + pair.destination as usize, pair.down)];
        for ((v, link), idle) in ends.into_iter().zip(&mut self.idle) {
            if self.free[link] == 0 {
                self.full[v] = true;
                *idle -= 1;
            }
        }
        self.taken[p] = true;
        let room = &mut self.room[pair.destination as usize];
        let bytes = pair.turn.left.min(Rate::bps(rate).bytes_in(self.open).get()).min(*room);
        if *room != u64::MAX {
            *room -= bytes;
        }
        self.picked.push(Picked { pair: p, rate, tag, bytes });
    }

    /// Finds paths for all pairs of the slot at once.
    fn color(&mut self) {
        let Some(colored) = &mut self.colored else { return };
        let hosts = |p: &Picked| (HostId(self.pairs[p.pair].source), HostId(self.pairs[p.pair].destination));
        let slot: Vec<(HostId, HostId)> = self.picked.iter().map(hosts).collect();
        let mut tags = Vec::new();
        colored.paths.assign(&slot, &mut tags);
        for ((picked, tag), (from, to)) in self.picked.iter_mut().zip(tags).zip(slot) {
            let Some(tag) = tag else { continue };
            picked.tag = Some(tag);
            let path: Vec<LinkId> = self.fabric.tagged_path(from, to, tag);
            for link in path.iter().take(path.len() - 1).skip(1) {
                self.free[link.index()] -= picked.rate;
            }
        }
    }

    fn transmissions(&mut self) -> Vec<Transmission> {
        self.picked.sort_unstable_by_key(|p| p.pair);
        let transmission = |picked: &Picked| {
            let pair = &self.pairs[picked.pair];
            let bounded = self.room[pair.destination as usize] != u64::MAX;
            let slower = picked.rate != self.rates[pair.up];
            // Whole frames at this rate could exceed by one frame what the rate carries.
            let most = slower.then(|| Rate::bps(picked.rate).bytes_in(self.open));
            Transmission {
                source: HostId(pair.source),
                destination: HostId(pair.destination),
                class: Class(0),
                path: picked.tag,
                rate: slower.then(|| Rate::bps(picked.rate)),
                bytes: if bounded { Some(Bytes::new(picked.bytes)) } else { most },
            }
        };
        self.picked.iter().map(transmission).collect()
    }

    /// Subtracts what this slot serves from the demand. `now` is the number of the next slot.
    fn served(&mut self, now: u64) {
        let mut again = Vec::with_capacity(self.picked.len());
        for picked in &self.picked {
            let pair = &mut self.pairs[picked.pair];
            let fewer = pair.turn.served(now, picked.bytes);
            self.left[pair.source as usize] -= fewer;
            self.left[self.hosts + pair.destination as usize] -= fewer;
            if pair.turn.left > 0 {
                again.push(entry(pair, picked.pair, self.hosts));
            }
        }
        turns::reorder(&mut self.order, self.picked.len(), again, |e| self.taken[e.pair as usize]);
        for picked in self.picked.drain(..) {
            self.taken[picked.pair] = false;
        }
        if self.bounded {
            let (pairs, left, room) = (&self.pairs, &mut self.left, &self.room);
            self.order.retain(|e| {
                let pair = &pairs[e.pair as usize];
                let stays = has_room(room, pair);
                if !stays {
                    left[e.source as usize] -= pair.turn.slots();
                    left[e.destination as usize] -= pair.turn.slots();
                }
                stays
            });
        }
    }
}

fn entry(pair: &Pair, number: usize, hosts: usize) -> Entry {
    let destination = hosts as u32 + pair.destination;
    Entry { due: pair.turn.due, turn: pair.turn.diagonal, pair: number as u32, source: pair.source, destination }
}

/// Whether the receiver has room for enough of the pair's demand.
fn has_room(room: &[u64], pair: &Pair) -> bool {
    pair.turn.has_room(room[pair.destination as usize])
}

/// The rate `needs`, or the free rate if that is at least half of `alone`.
fn enough(needs: u64, alone: u64, free: u64) -> Option<u64> {
    if needs <= free {
        Some(needs)
    } else if free > 0 && free >= alone.div_ceil(2) {
        Some(free)
    } else {
        None
    }
}
