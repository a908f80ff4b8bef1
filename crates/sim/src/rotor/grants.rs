//! RotorLB among hosts and racks: hosts keep bulk until their rack has granted it a circuit.
//!
//! When circuits change, racks share each new one: first what they relay, then what their hosts
//! have for its end, then what its end accepts for others ([RotorLB](timeplane_schedule::rotor::lb)).
//! All counts are packets of the MTU. Racks know the queues of their hosts and exchange offers
//! without delay. A host sends over each circuit at its fair part of two rates, that of its own
//! link and that of the uplink, or faster if a grant needs all of the circuit's time. It may fill
//! the time between with void packets.
//!
//! What goes over another rack waits there, or at the hosts of that rack, which are granted
//! circuits for it before all others.

use crate::engine::time::SimTime;
use crate::hosts::flow::FlowKey;
use crate::rotor::cycle::{Cycle, Hold};
use crate::rotor::fabric::Racks;
use std::collections::{BTreeMap, VecDeque};
use timeplane_model::{Duration, mix64};
use timeplane_schedule::rotor::lb::{Offer, Rack, fair_share};
use timeplane_schedule::rotor::routing::{BulkRelay, CircuitShare};

/// Flows of one host for another one.
#[derive(Debug, Default)]
struct Pair {
    flows: VecDeque<FlowKey>,
    /// Packets without a grant.
    packets: u64,
}

/// Packets that a host relays to one rack.
#[derive(Debug, Default)]
struct Stored {
    /// First to last, those with a grant first.
    packets: VecDeque<u32>,
    /// How many of them have a grant.
    granted: u64,
}

/// Packets that a host may send over one circuit of its rack.
#[derive(Clone, Copy, Debug)]
struct Grant {
    /// Of its flows to a host, or of what it relays.
    what: What,
    /// The rack of the destination.
    to: u32,
    uplink: u32,
    hold: u32,
    /// The rack that relays them; `None` if it is that of the destination.
    over: Option<u32>,
    left: u64,
    /// When the next one may start.
    due: SimTime,
    every: Duration,
    /// Each must have left by then.
    until: SimTime,
    /// The part of the host's link that it takes.
    share: f64,
}

/// What a host may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Packets of its own flows to this host.
    Flows(u32),
    /// Packets that it relays.
    Relayed,
}

/// What a host has for granted circuits.
#[derive(Debug, Default)]
struct Host {
    pairs: BTreeMap<u32, Pair>,
    /// By rack, what it relays.
    stored: BTreeMap<u32, Stored>,
    grants: Vec<Grant>,
    /// From when until when void packets fill the gaps of its link.
    voids: (SimTime, SimTime),
    /// The part of its link that grants take, to send and to receive, at this planning.
    used: [f64; 2],
    /// Grants towards it: the part of its link and until when.
    incoming: Vec<(SimTime, f64)>,
}

/// The next packet of a host, and the circuit that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    pub packet: GrantedPacket,
    pub uplink: u32,
    pub hold: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantedPacket {
    /// The next one of a flow.
    Of { flow: FlowKey, destination: u32 },
    /// This one, which the host relays.
    Relayed(u32),
}

/// The times that packets of the MTU take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    /// On a host's link and on an uplink.
    pub host: Duration,
    pub uplink: Duration,
    /// From the last bit at a host to its rack's output queue.
    pub way: Duration,
}

/// The parameters of RotorLB, as scenarios have them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lb {
    pub relay: BulkRelay,
    pub share: CircuitShare,
    pub void_packets: bool,
}

/// Hosts with bulk, and what racks relay.
pub(crate) struct Grants {
    hosts: Vec<Host>,
    /// Packets without a grant, and packets that are or will be relayed.
    racks: Vec<Rack>,
    /// By host, when an event serves it next.
    armed: Vec<SimTime>,
    /// Packets that hosts hold, with and without a grant.
    held: u64,
    lb: Lb,
    /// By rack, which of its hosts was given a packet to relay last.
    turns: Vec<u32>,
}

impl Grants {
    pub fn new(hosts: u32, racks: u32, lb: Lb) -> Self {
        Self {
            hosts: (0..hosts).map(|_| Host::default()).collect(),
            racks: (0..racks).map(|_| Rack::new(racks as usize)).collect(),
            armed: vec![SimTime::MAX; hosts as usize],
            held: 0,
            lb,
            turns: vec![0; racks as usize],
        }
    }

    /// The host of a rack that relays its next packet: the next one that works, if hosts relay.
    pub fn relaying_host(&mut self, places: Racks, rack: u32, works: impl Fn(u32) -> bool) -> Option<u32> {
        if self.lb.relay != BulkRelay::Hosts {
            return None;
        }
        let turn = &mut self.turns[rack as usize];
        let next = |n: u32| rack * places.per_rack + (*turn + n) % places.per_rack;
        let host = (1..=places.per_rack).map(next).find(|&host| works(host)).unwrap_or(next(1));
        *turn = host - rack * places.per_rack;
        Some(host)
    }

    /// A packet for another rack comes to the host that relays it.
    pub fn store(&mut self, host: u32, to: u32, packet: u32) {
        self.hosts[host as usize].stored.entry(to).or_default().packets.push_back(packet);
        self.held += 1;
    }

    /// Packets that hosts relay.
    pub fn stored(&self) -> impl Iterator<Item = u32> + '_ {
        self.hosts.iter().flat_map(|h| h.stored.values()).flat_map(|s| s.packets.iter().copied())
    }

    /// If a host fills its link at `now`: since when, and when it sends a granted packet instead.
    pub fn voids_at(&self, host: u32, now: SimTime) -> Option<(SimTime, SimTime)> {
        let h = &self.hosts[host as usize];
        let (since, until) = h.voids;
        if !self.lb.void_packets || now < since || until <= now {
            return None;
        }
        let due = h.grants.iter().map(|g| g.due).filter(|&due| due >= now).min();
        Some((since, due.unwrap_or(SimTime::MAX)))
    }

    /// Whether a host holds packets.
    pub fn waits(&self) -> bool {
        self.held > 0
    }

    /// When an event serves a host next.
    pub fn armed(&mut self, host: u32) -> &mut SimTime {
        &mut self.armed[host as usize]
    }

    /// A flow of this many packets waits for grants.
    pub fn push(&mut self, racks: Racks, host: u32, destination: u32, flow: FlowKey, packets: u64) {
        let pair = self.hosts[host as usize].pairs.entry(destination).or_default();
        pair.flows.push_back(flow);
        pair.packets += packets;
        self.racks[racks.rack_of(host) as usize].local[racks.rack_of(destination) as usize] += packets;
        self.held += packets;
    }

    /// A rack sends or loses a packet that it relays.
    pub fn relays(&mut self, rack: u32, to: u32) {
        let relayed = &mut self.racks[rack as usize].relayed[to as usize];
        *relayed = relayed.saturating_sub(1);
    }

    /// Forgets what racks relay, but for what hosts have not sent yet or store.
    pub fn forget_relayed(&mut self, places: Racks) {
        self.racks.iter_mut().for_each(|rack| rack.relayed.fill(0));
        for (host, h) in (0..).zip(&self.hosts) {
            for grant in &h.grants {
                if let Some(over) = grant.over {
                    self.racks[over as usize].relayed[grant.to as usize] += grant.left;
                }
            }
            let relayed = &mut self.racks[places.rack_of(host) as usize].relayed;
            for (&to, stored) in &h.stored {
                relayed[to as usize] += stored.packets.len() as u64;
            }
        }
    }

    /// A rack stores a packet that it relays.
    pub fn stores(&mut self, rack: u32, to: u32) {
        self.racks[rack as usize].relayed[to as usize] += 1;
    }

    /// A granted packet comes after its circuit: its own rack relays it, in place of `over`.
    pub fn keeps(&mut self, rack: u32, over: Option<u32>, to: u32) {
        self.stores(rack, to);
        if let Some(over) = over.filter(|&over| over != to) {
            self.relays(over, to);
        }
    }

    /// Hosts with grants.
    pub fn granted(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.hosts).filter(|(_, h)| !h.grants.is_empty()).map(|(host, _)| host)
    }

    /// What a host sends at `now`: the packet that is due first, or when it will be. Grants whose
    /// circuits end before a packet could leave are over.
    pub fn next(&mut self, racks: Racks, host: u32, now: SimTime, line: Duration) -> Option<Result<Granted, SimTime>> {
        self.end_grants(racks, host, now + line);
        let h = &mut self.hosts[host as usize];
        let first = (0..h.grants.len()).min_by_key(|&i| (h.grants[i].due, h.grants[i].until, h.grants[i].what))?;
        let grant = &mut h.grants[first];
        if grant.due > now {
            return Some(Err(grant.due));
        }
        let Grant { what, to, uplink, hold, .. } = *grant;
        grant.due = grant.due + grant.every;
        grant.left -= 1;
        if grant.left == 0 {
            h.grants.swap_remove(first);
        }
        self.held -= 1;
        let packet = match what {
            What::Flows(destination) => {
                let flow = h.pairs.get(&destination).and_then(|pair| pair.flows.front());
                GrantedPacket::Of { flow: *flow.expect("grants are of packets that flows hold"), destination }
            }
            What::Relayed => {
                let stored = h.stored.get_mut(&to).expect("grants are of packets that hosts store");
                stored.granted -= 1;
                let packet = stored.packets.pop_front().expect("as many as have a grant");
                if stored.packets.is_empty() {
                    h.stored.remove(&to);
                }
                self.relays(racks.rack_of(host), to);
                GrantedPacket::Relayed(packet)
            }
        };
        Some(Ok(Granted { packet, uplink, hold }))
    }

    /// Takes back what is left of the grants of a host by which a packet had to leave before
    /// `leaves`.
    fn end_grants(&mut self, racks: Racks, host: u32, leaves: SimTime) {
        let h = &mut self.hosts[host as usize];
        let mut place = 0;
        while let Some(grant) = h.grants.get(place).copied() {
            if leaves <= grant.until {
                place += 1;
                continue;
            }
            h.grants.swap_remove(place);
            let What::Flows(destination) = grant.what else {
                if let Some(stored) = h.stored.get_mut(&grant.to) {
                    stored.granted -= grant.left;
                }
                continue;
            };
            h.pairs.entry(destination).or_default().packets += grant.left;
            let (from, to) = (racks.rack_of(host) as usize, grant.to as usize);
            self.racks[from].local[to] += grant.left;
            if let Some(over) = grant.over {
                let relayed = &mut self.racks[over as usize].relayed[to];
                *relayed = relayed.saturating_sub(grant.left);
            }
        }
    }

    /// The first flow of a pair has handed over its last packet.
    pub fn flow_is_sent(&mut self, host: u32, destination: u32) {
        let pairs = &mut self.hosts[host as usize].pairs;
        if let Some(pair) = pairs.get_mut(&destination) {
            pair.flows.pop_front();
            if pair.flows.is_empty() {
                pairs.remove(&destination);
            }
        }
    }

    /// Racks share the circuits of these uplinks, which begin with this slice. `queued` is how many
    /// packets wait at a rack for an uplink's circuit, and `dead` whether an uplink is known to be.
    pub fn plan(
        &mut self,
        cycle: &Cycle,
        places: Racks,
        lines: Lines,
        (slice, uplinks): (i64, &[u32]),
        queued: impl Fn(u32, u32, u32) -> u64,
        dead: impl Fn(u32, u32) -> bool,
    ) {
        let now = cycle.start(slice);
        for host in 0..self.hosts.len() as u32 {
            self.end_grants(places, host, now + lines.host);
        }
        for host in &mut self.hosts {
            host.incoming.retain(|i| i.0 > now);
            host.used = [host.grants.iter().map(|g| g.share).sum(), host.incoming.iter().map(|i| i.1).sum()];
        }
        // By receiving rack, the rooms that circuits to it have left: the sender, the uplink.
        let mut rooms: Vec<Vec<(u32, u32, u64)>> = vec![Vec::new(); places.racks as usize];
        let mut slot = 0;
        for &uplink in uplinks {
            let hold = cycle.hold(slice, uplink);
            if hold.close == SimTime::MAX {
                continue;
            }
            let carries = ((hold.close - hold.open).as_ps() / lines.uplink.as_ps()).max(0) as u64;
            slot = slot.max(carries);
            for rack in 0..places.racks {
                let Some(to) = cycle.destination(slice, rack, uplink) else { continue };
                if dead(rack, uplink) || dead(to, uplink) {
                    continue;
                }
                let room = carries.saturating_sub(queued(rack, uplink, hold.number));
                let circuit = Circuit { places, lines, now, hold, rack, uplink, end: to, share: self.lb.share };
                let relayed = self.grant_relayed(circuit, room);
                let direct = self.grant(circuit, to, room - relayed);
                rooms[to as usize].push((rack, uplink, room - relayed - direct));
            }
        }
        let relaying = if self.lb.relay == BulkRelay::Off { 0 } else { places.racks };
        for to in 0..relaying {
            let rooms = std::mem::take(&mut rooms[to as usize]);
            let offers: Vec<Offer> = rooms.iter().map(|&(rack, _, room)| self.offer(rack, to, room)).collect();
            if offers.iter().all(|o| o.room == 0 || o.bytes.iter().all(|&n| n == 0)) {
                continue;
            }
            let accepted = self.racks[to as usize].accept(&offers, slot);
            for ((rack, uplink, _), accepted) in rooms.into_iter().zip(accepted) {
                let hold = cycle.hold(slice, uplink);
                let circuit = Circuit { places, lines, now, hold, rack, uplink, end: to, share: self.lb.share };
                for turn in 1..places.racks {
                    let destination = (to + turn) % places.racks;
                    let most = accepted[destination as usize];
                    if most > 0 {
                        let granted = self.grant(circuit, destination, most);
                        self.racks[to as usize].relayed[destination as usize] += granted;
                    }
                }
            }
        }
    }

    /// What a rack would send over another one.
    fn offer(&self, rack: u32, over: u32, room: u64) -> Offer {
        let mut offer = self.racks[rack as usize].offer(room);
        offer.bytes[over as usize] = 0;
        offer
    }

    /// Grants up to `most` packets that a rack's hosts relay to the rack at the circuit's end, in
    /// fair shares of hosts: how many.
    fn grant_relayed(&mut self, circuit: Circuit, most: u64) -> u64 {
        if self.lb.relay != BulkRelay::Hosts || most == 0 {
            return 0;
        }
        let Circuit { places, rack, end, .. } = circuit;
        let senders = rack * places.per_rack..(rack + 1) * places.per_rack;
        let has = |h: &Host| h.stored.get(&end).map_or(0, |s| s.packets.len() as u64 - s.granted);
        let want = |h: &Host| has(h).min(circuit.room(h));
        let wants = self.hosts[senders.start as usize..senders.end as usize].iter().map(want).collect();
        let shares = shares_from(circuit.draw(end), wants, most);
        for (host, &packets) in senders.zip(&shares).filter(|s| *s.1 > 0) {
            let h = &mut self.hosts[host as usize];
            h.stored.entry(end).or_default().granted += packets;
            h.give(circuit.grant(What::Relayed, end, packets), &circuit);
        }
        shares.iter().sum()
    }

    /// Grants up to `most` packets of a rack's hosts for hosts of another rack, over a circuit, in
    /// fair shares of hosts: how many.
    fn grant(&mut self, circuit: Circuit, to: u32, most: u64) -> u64 {
        let Circuit { places, rack, .. } = circuit;
        let most = most.min(self.racks[rack as usize].local[to as usize]);
        if most == 0 {
            return 0;
        }
        let senders = rack * places.per_rack..(rack + 1) * places.per_rack;
        let receivers = to * places.per_rack..(to + 1) * places.per_rack;
        let direct = circuit.end == to;
        let has = |h: &Host| h.pairs.range(receivers.clone()).map(|(_, pair)| pair.packets).sum::<u64>();
        let wants: Vec<u64> =
            senders.clone().map(|host| &self.hosts[host as usize]).map(|h| has(h).min(circuit.room(h))).collect();
        let mut granted = 0;
        let draw = circuit.draw(to);
        let shares = shares_from(draw, wants, most);
        for (host, share) in senders.zip(shares).filter(|s| s.1 > 0) {
            let pairs = self.hosts[host as usize].pairs.range(receivers.clone());
            let pairs: Vec<(u32, u64)> = pairs.map(|(&to, pair)| (to, pair.packets)).collect();
            let limit = |(to, packets): &(u32, u64)| {
                if direct { (*packets).min(circuit.fits(self.hosts[*to as usize].used[1])) } else { *packets }
            };
            let wants: Vec<u64> = pairs.iter().map(limit).collect();
            let parts = shares_from(mix64(draw ^ u64::from(host)), wants, share);
            for ((destination, _), &packets) in pairs.into_iter().zip(&parts).filter(|p| *p.1 > 0) {
                self.grant_pair(circuit, host, destination, packets);
                granted += packets;
            }
        }
        self.racks[rack as usize].local[to as usize] -= granted;
        granted
    }

    fn grant_pair(&mut self, circuit: Circuit, host: u32, destination: u32, packets: u64) {
        let grant = circuit.grant(What::Flows(destination), circuit.places.rack_of(destination), packets);
        if grant.over.is_none() {
            let receiver = &mut self.hosts[destination as usize];
            receiver.used[1] += grant.share;
            receiver.incoming.push((circuit.hold.close, grant.share));
        }
        let sender = &mut self.hosts[host as usize];
        sender.give(grant, &circuit);
        if let Some(pair) = sender.pairs.get_mut(&destination) {
            pair.packets -= packets;
        }
    }
}

impl Host {
    fn give(&mut self, grant: Grant, circuit: &Circuit) {
        self.used[0] += grant.share;
        self.grants.push(grant);
        let since = if circuit.now < self.voids.1 { self.voids.0 } else { circuit.now };
        self.voids = (since, self.voids.1.max(circuit.hold.close));
    }
}

/// Fair shares, of which a drawn one is the first to get a packet more than others. Otherwise some
/// flows would get more at every circuit.
fn shares_from(draw: u64, mut wants: Vec<u64>, most: u64) -> Vec<u64> {
    let (first, mut shares) = ((draw % wants.len() as u64) as usize, Vec::new());
    wants.rotate_left(first);
    fair_share(&wants, most, &mut shares);
    shares.rotate_right(first);
    shares
}

/// A circuit that is shared.
#[derive(Clone, Copy)]
struct Circuit {
    places: Racks,
    lines: Lines,
    now: SimTime,
    hold: Hold,
    rack: u32,
    uplink: u32,
    /// The rack at its end.
    end: u32,
    share: CircuitShare,
}

impl Circuit {
    /// A number that all circuits draw differently, for packets to a rack.
    fn draw(&self, to: u32) -> u64 {
        mix64(self.now.0 as u64 ^ mix64(u64::from(self.rack) << 32 | u64::from(to)))
    }

    /// A grant of this many packets to a rack.
    fn grant(&self, what: What, to: u32, packets: u64) -> Grant {
        let Self { places, lines, now, hold, uplink, end, .. } = *self;
        // The first packet comes to the rack as the circuit opens. When the last one comes, it may
        // find one of each other host there.
        let start = now.max(hold.open - lines.way - lines.host);
        let last = hold.close - lines.way - lines.host - lines.uplink * i64::from(places.per_rack);
        let needed = Duration::from_ps((last - start).as_ps().max(0) / packets as i64);
        Grant {
            what,
            to,
            uplink,
            hold: hold.number,
            over: (to != end).then_some(end),
            left: packets,
            due: start,
            every: needed.min(self.fair()),
            until: hold.close - lines.way - lines.uplink,
            share: self.part(packets),
        }
    }

    /// The time from a packet to the next if a host sends at its fair part.
    fn fair(&self) -> Duration {
        let Self { places, lines, .. } = self;
        (lines.host * i64::from(places.uplinks)).max(lines.uplink * i64::from(places.per_rack))
    }

    /// The part of a host's link that these packets take while the circuit is open.
    fn part(&self, packets: u64) -> f64 {
        packets as f64 * self.lines.host.as_ps() as f64 / (self.hold.close - self.hold.open).as_ps() as f64
    }

    /// How many packets fit beside others that take a part of a host's link.
    fn fits(&self, used: f64) -> u64 {
        let most = (self.hold.close - self.hold.open).as_ps() as f64 / self.lines.host.as_ps() as f64;
        // A packet that all but fits does.
        ((1.0 - used).max(0.0) * most + 0.01) as u64
    }

    /// How many packets a host may be granted.
    fn room(&self, host: &Host) -> u64 {
        let fits = self.fits(host.used[0]);
        if self.share == CircuitShare::Demand {
            return fits;
        }
        let most = (self.hold.close - self.hold.open).as_ps() / self.fair().as_ps();
        let of_this = |g: &&Grant| (g.uplink, g.hold) == (self.uplink, self.hold.number);
        let granted: u64 = host.grants.iter().filter(of_this).map(|g| g.left).sum();
        fits.min((most as u64).saturating_sub(granted))
    }
}
