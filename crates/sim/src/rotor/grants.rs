//! RotorLB among hosts and racks: hosts keep bulk until their rack has granted it a circuit.
//!
//! When circuits change, racks share each new one: first what they relay, then what their hosts
//! have for its end, then what its end accepts for others ([RotorLB](timeplane_schedule::rotor::lb)).
//! All counts are packets of the MTU. Racks know the queues of their hosts and exchange offers
//! without delay. A host sends over each circuit at its fair part of two rates, that of its own
//! link and that of the uplink, or faster if a grant needs all of the circuit's time.

use crate::engine::time::SimTime;
use crate::hosts::flow::FlowKey;
use crate::rotor::cycle::{Cycle, Hold};
use crate::rotor::fabric::Racks;
use std::collections::{BTreeMap, VecDeque};
use timeplane_model::{Duration, mix64};
use timeplane_schedule::rotor::lb::{Offer, Rack, fair_share};

/// Flows of one host for another one.
#[derive(Debug, Default)]
struct Pair {
    flows: VecDeque<FlowKey>,
    /// Packets without a grant.
    packets: u64,
}

/// Packets that a host may send over one circuit of its rack.
#[derive(Clone, Copy, Debug)]
struct Grant {
    destination: u32,
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

/// What a host has for granted circuits.
#[derive(Debug, Default)]
struct Host {
    pairs: BTreeMap<u32, Pair>,
    grants: Vec<Grant>,
    /// The part of its link that grants take, to send and to receive, at this planning.
    used: [f64; 2],
    /// Grants towards it: the part of its link and until when.
    incoming: Vec<(SimTime, f64)>,
}

/// The next packet of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Granted {
    pub flow: FlowKey,
    pub destination: u32,
    pub uplink: u32,
    pub hold: u32,
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

/// Hosts with bulk, and what racks relay.
pub(crate) struct Grants {
    hosts: Vec<Host>,
    /// Packets without a grant, and packets that are or will be relayed.
    racks: Vec<Rack>,
    /// By host, when an event serves it next.
    armed: Vec<SimTime>,
    /// Packets that hosts hold, with and without a grant.
    held: u64,
    /// Whether racks relay packets for others.
    relay: bool,
}

impl Grants {
    pub fn new(hosts: u32, racks: u32, relay: bool) -> Self {
        Self {
            hosts: (0..hosts).map(|_| Host::default()).collect(),
            racks: (0..racks).map(|_| Rack::new(racks as usize)).collect(),
            armed: vec![SimTime::MAX; hosts as usize],
            held: 0,
            relay,
        }
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

    /// Forgets what racks relay, but for what hosts have not sent yet.
    pub fn forget_relayed(&mut self) {
        self.racks.iter_mut().for_each(|rack| rack.relayed.fill(0));
        for grant in self.hosts.iter().flat_map(|h| &h.grants) {
            if let Some(over) = grant.over {
                self.racks[over as usize].relayed[grant.to as usize] += grant.left;
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
        let first =
            (0..h.grants.len()).min_by_key(|&i| (h.grants[i].due, h.grants[i].until, h.grants[i].destination))?;
        let grant = &mut h.grants[first];
        if grant.due > now {
            return Some(Err(grant.due));
        }
        let Grant { destination, uplink, hold, .. } = *grant;
        grant.due = grant.due + grant.every;
        grant.left -= 1;
        if grant.left == 0 {
            h.grants.swap_remove(first);
        }
        self.held -= 1;
        let flow = h.pairs.get(&destination).and_then(|pair| pair.flows.front());
        let flow = *flow.expect("grants are of packets that flows hold");
        Some(Ok(Granted { flow, destination, uplink, hold }))
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
            h.pairs.entry(grant.destination).or_default().packets += grant.left;
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
                let circuit = Circuit { places, lines, now, hold, rack, uplink, end: to };
                let direct = self.grant(circuit, to, room);
                rooms[to as usize].push((rack, uplink, room - direct));
            }
        }
        let relaying = if self.relay { places.racks } else { 0 };
        for to in 0..relaying {
            let rooms = std::mem::take(&mut rooms[to as usize]);
            let offers: Vec<Offer> = rooms.iter().map(|&(rack, _, room)| self.offer(rack, to, room)).collect();
            if offers.iter().all(|o| o.room == 0 || o.bytes.iter().all(|&n| n == 0)) {
                continue;
            }
            let accepted = self.racks[to as usize].accept(&offers, slot);
            for ((rack, uplink, _), accepted) in rooms.into_iter().zip(accepted) {
                let hold = cycle.hold(slice, uplink);
                let circuit = Circuit { places, lines, now, hold, rack, uplink, end: to };
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
        let wants: Vec<u64> = senders
            .clone()
            .map(|host| &self.hosts[host as usize])
            .map(|h| has(h).min(circuit.fits(h.used[0])))
            .collect();
        let mut granted = 0;
        let draw = mix64(circuit.now.0 as u64 ^ mix64(u64::from(rack) << 32 | u64::from(to)));
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
        let Circuit { places, lines, now, hold, uplink, end, .. } = circuit;
        let over = (places.rack_of(destination) != end).then_some(end);
        // The first packet comes to the rack as the circuit opens. When the last one comes, it may
        // find one of each other host there.
        let start = now.max(hold.open - lines.way - lines.host);
        let end = hold.close - lines.way - lines.host - lines.uplink * i64::from(places.per_rack);
        let needed = Duration::from_ps((end - start).as_ps().max(0) / packets as i64);
        let fair = (lines.host * i64::from(places.uplinks)).max(lines.uplink * i64::from(places.per_rack));
        let every = needed.min(fair);
        let share = circuit.share(packets);
        if over.is_none() {
            let receiver = &mut self.hosts[destination as usize];
            receiver.used[1] += share;
            receiver.incoming.push((hold.close, share));
        }
        let sender = &mut self.hosts[host as usize];
        let until = hold.close - lines.way - lines.uplink;
        let grant = Grant {
            destination,
            to: places.rack_of(destination),
            uplink,
            hold: hold.number,
            over,
            left: packets,
            due: start,
            every,
            until,
            share,
        };
        sender.grants.push(grant);
        sender.used[0] += share;
        if let Some(pair) = sender.pairs.get_mut(&destination) {
            pair.packets -= packets;
        }
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
}

impl Circuit {
    /// The part of a host's link that these packets take while the circuit is open.
    fn share(&self, packets: u64) -> f64 {
        packets as f64 * self.lines.host.as_ps() as f64 / (self.hold.close - self.hold.open).as_ps() as f64
    }

    /// How many packets fit beside others that take a part of a host's link.
    fn fits(&self, used: f64) -> u64 {
        let most = (self.hold.close - self.hold.open).as_ps() as f64 / self.lines.host.as_ps() as f64;
        // A packet that all but fits does.
        ((1.0 - used).max(0.0) * most + 0.01) as u64
    }
}
