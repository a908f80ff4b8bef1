//! Packets that nobody waits for move layer by layer instead of in one order.
//!
//! Where hosts answer nothing, no flow waits for another, and links are only rates and delays, a
//! packet on its way concerns the packets behind it on its links, and nothing else. What arrives at
//! switches before a horizon can then be forwarded at once, if every packet that may still leave a
//! host arrives at or behind it. Links have layers that packets cross upwards, so each layer is
//! done before the next one. Within a layer, packets join links in the order of events: by time,
//! then by the link that they came over. So every departure, and the order in which flows end, is
//! that of the calendar, without an event for each hop.
//!
//! The horizon follows from the fabric alone: a packet that leaves a host at `t` reaches a switch
//! at `t` plus the propagation delay and the line time of a header at the earliest. It is no guess,
//! so nothing is ever repeated.

use crate::engine::time::SimTime;
use crate::hosts::endpoints::{DATAGRAM_HEADER, Endpoints};
use crate::hosts::flow::FlowKey;
use crate::network::Network;
use crate::network::packet::{LAST, Packet};
use crate::network::wires::Wires;
use std::cmp::Ordering;
use timeplane_model::{Duration, Fabric, Link, NodeId};

/// Packets between hosts and the last switch of their path.
#[derive(Debug)]
pub(crate) struct Lookahead {
    /// By link, its layer, and the latency of the switch that sends on it.
    links: Vec<(u8, Duration)>,
    /// By layer of the link that they join next.
    coming: Vec<Vec<Coming>>,
    /// Those that join now, and the same link by link; kept to be used again.
    joining: Vec<Coming>,
    grouped: Vec<Coming>,
    /// By link, where its next packet goes in `grouped`; 0 between uses. And the links in question.
    places: Vec<u32>,
    joined: Vec<u32>,
    /// Flows that are over, with the place of their last packet in the order of events.
    over: Vec<(SimTime, u32, FlowKey)>,
    /// The least time from the start of a packet at a host to its arrival at a switch.
    least: Duration,
    /// When the last packet so far arrived at its last switch.
    pub last: SimTime,
}

/// A packet that arrives at a switch.
#[derive(Clone, Copy, Debug)]
struct Coming {
    at: SimTime,
    /// The link that it comes over.
    from: u32,
    /// The link that it joins.
    out: u32,
    /// Its number.
    id: u32,
}

impl Lookahead {
    /// For these wires; `None` if they have anything but plain links in layers.
    pub fn new(wires: &Wires) -> Option<Self> {
        let layers = layers(&wires.fabric)?;
        if layers.len() != wires.links.len() || !wires.links.iter().all(|link| link.is_plain()) {
            return None;
        }
        let from_host = |&uplink: &u32| {
            let link = &wires.links[uplink as usize];
            link.arrival(SimTime::ZERO, 0) + Duration::from_ps(link.line_time(link.wire(DATAGRAM_HEADER)))
                - SimTime::ZERO
        };
        let least = wires.uplinks.iter().map(from_host).min()?;
        let count = usize::from(*layers.iter().max()?) + 1;
        let latency = |from: NodeId| from.0.checked_sub(wires.hosts).map_or(Duration::ZERO, |_| wires.latency(from.0));
        let links = layers.into_iter().zip(wires.fabric.links()).map(|(layer, l)| (layer, latency(l.from))).collect();
        let coming = (0..count).map(|_| Vec::new()).collect();
        let places = vec![0; wires.links.len()];
        let (joining, grouped, joined, over) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Some(Self { links, coming, joining, grouped, places, joined, over, least, last: SimTime::ZERO })
    }

    /// The numbers of all packets that have not arrived at their last switch.
    pub fn packets(&self) -> impl Iterator<Item = u32> {
        self.coming.iter().flatten().map(|c| c.id)
    }

    /// A packet will arrive at the switch behind a link.
    #[inline]
    fn comes(&mut self, wires: &mut Wires, at: SimTime, from: u32, id: u32) {
        let switch = wires.links[from as usize].to - wires.hosts;
        let packet = wires.packets.get_mut(id);
        let [known, ahead @ ..] = packet.ahead;
        let out = if known == LAST {
            let packet = wires.packets.get(id);
            wires.route(switch, packet).unwrap_or_else(|loss| unreachable!("{loss:?} in a fabric without failures"))
        } else {
            packet.ahead[..ahead.len()].copy_from_slice(&ahead);
            packet.ahead[ahead.len()] = LAST;
            known
        };
        let layer = self.links[out as usize].0;
        assert!(layer > self.links[from as usize].0, "a packet goes down and up again");
        self.coming[usize::from(layer)].push(Coming { at, from, out, id });
    }
}

impl Lookahead {
    /// Takes out the packets that join a layer and arrive before the horizon: link by link, and for
    /// each link in the order of events. Links do not disturb each other within a layer.
    fn group(&mut self, layer: usize, horizon: SimTime) {
        let Self { coming, joining, grouped, places, joined, .. } = self;
        joining.clear();
        joining.extend(coming[layer].extract_if(.., |c| c.at < horizon));
        joined.clear();
        for c in &*joining {
            let place = &mut places[c.out as usize];
            if *place == 0 {
                joined.push(c.out);
            }
            *place += 1;
        }
        let mut begin = 0;
        for &link in &*joined {
            begin += std::mem::replace(&mut places[link as usize], begin);
        }
        grouped.clear();
        grouped.extend_from_slice(joining);
        for c in &*joining {
            let place = &mut places[c.out as usize];
            grouped[*place as usize] = *c;
            *place += 1;
        }
        let mut begin = 0;
        for &link in &*joined {
            let end = std::mem::take(&mut places[link as usize]) as usize;
            in_order(&mut grouped[begin..end]);
            begin = end;
        }
    }
}

/// Sorts the few packets of a link, which are mostly in order.
fn in_order(packets: &mut [Coming]) {
    for next in 1..packets.len() {
        let one = packets[next];
        let mut place = next;
        while place > 0 && (packets[place - 1].at, packets[place - 1].from) > (one.at, one.from) {
            packets[place] = packets[place - 1];
            place -= 1;
        }
        packets[place] = one;
    }
}

/// The layer of each link: first the way up from the hosts, then the way down. `None` if a link
/// joins two hosts, or two switches of one level.
fn layers(fabric: &Fabric) -> Option<Vec<u8>> {
    let mut levels: Vec<Option<u8>> = vec![None; fabric.nodes().len()];
    levels[..fabric.hosts() as usize].fill(Some(0));
    for level in 1..u8::MAX / 2 {
        let below: Vec<NodeId> =
            fabric.links().iter().filter(|l| levels[l.from.index()] == Some(level - 1)).map(|l| l.to).collect();
        let fresh: Vec<NodeId> = below.into_iter().filter(|n| levels[n.index()].is_none()).collect();
        if fresh.is_empty() {
            break;
        }
        fresh.into_iter().for_each(|n| levels[n.index()] = Some(level));
    }
    let highest = levels.iter().copied().collect::<Option<Vec<u8>>>()?.into_iter().max()?;
    let layer = |link: &Link| {
        let (from, to) = (levels[link.from.index()]?, levels[link.to.index()]?);
        match from.cmp(&to) {
            Ordering::Less => Some(from),
            Ordering::Equal => None,
            Ordering::Greater => Some(2 * highest - from),
        }
    };
    fabric.links().iter().map(layer).collect()
}

impl Network {
    /// Lets packets move ahead of the calendar, where nothing but their links decides about them.
    /// Called before a run of datagrams in which hosts act in step and no flow waits for another.
    /// Changes no result.
    pub(crate) fn look_ahead(&mut self) {
        let alone = self.passive && !self.inspects && !self.detours && self.is_steady() && self.trains.is_none();
        if alone && self.meters.collisions.is_none() && self.interfaces.nics.is_some() {
            self.lookahead = Lookahead::new(&self.wires).map(Box::new);
        }
    }

    /// Moves every packet by events.
    pub(crate) fn forbid_lookahead(&mut self) {
        self.lookahead = None;
    }

    /// Puts a packet on a host's link, ready at `ready`: when it departs.
    #[inline]
    pub(super) fn send_from_queue(&mut self, link: u32, ready: SimTime, packet: Packet) -> SimTime {
        let Some(lookahead) = &mut self.lookahead else { return self.send(link, ready, packet) };
        let (departure, arrival) = self.wires.links[link as usize].join(ready, packet.bytes);
        let id = self.wires.packets.insert(packet);
        lookahead.comes(&mut self.wires, arrival, link, id);
        departure
    }

    /// Forwards all packets whose place in the order of events is certain. No packet leaves a host
    /// before `now` any more.
    pub(crate) fn move_ahead(&mut self, now: SimTime, ends: &mut Endpoints) {
        if let Some(lookahead) = &self.lookahead {
            let horizon = now + lookahead.least;
            self.forward_before(horizon, ends);
        }
    }

    /// Forwards all packets that arrive at switches by `until`, before which every packet has left
    /// its host.
    pub(crate) fn forward_until(&mut self, until: SimTime, ends: &mut Endpoints) {
        let horizon = SimTime(until.0.saturating_add(1));
        self.forward_before(horizon, ends);
    }

    /// When the last packet so far arrived at its last switch; nothing happens later without an
    /// event.
    pub(crate) fn last_ahead(&self) -> SimTime {
        self.lookahead.as_ref().map_or(SimTime::ZERO, |l| l.last)
    }

    /// Whether packets move ahead of the calendar.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.lookahead.is_some()
    }

    fn forward_before(&mut self, horizon: SimTime, ends: &mut Endpoints) {
        let Some(mut lookahead) = self.lookahead.take() else { return };
        let horizon = horizon.min(SimTime(self.stop.0.saturating_add(1)));
        for layer in 1..lookahead.coming.len() {
            lookahead.group(layer, horizon);
            let grouped = std::mem::take(&mut lookahead.grouped);
            for &coming in &grouped {
                self.join_ahead(&mut lookahead, coming, ends);
            }
            lookahead.grouped = grouped;
        }
        lookahead.over.sort_unstable();
        lookahead.over.drain(..).for_each(|(.., flow)| ends.end(flow));
        self.lookahead = Some(lookahead);
    }

    /// A packet arrives at a switch and joins its next link.
    #[inline(always)]
    fn join_ahead(&mut self, lookahead: &mut Lookahead, coming: Coming, ends: &mut Endpoints) {
        let Coming { at, from, out, id } = coming;
        self.meters.hops += 1;
        let link = &mut self.wires.links[out as usize];
        let bytes = self.wires.packets.get(id).bytes;
        let arrival = link.join(at + lookahead.links[out as usize].1, bytes).1;
        if link.to >= self.wires.hosts {
            return lookahead.comes(&mut self.wires, arrival, out, id);
        }
        lookahead.last = lookahead.last.max(at);
        let packet = self.wires.packets.remove(id);
        if arrival > self.stop {
            self.meters.beyond.0 += 1;
            self.meters.beyond.1 += u64::from(packet.bytes);
            return;
        }
        self.meters.hops += 1;
        if ends.receive_ahead(arrival, &packet) {
            lookahead.over.push((at, from, packet.flow));
        }
    }
}
