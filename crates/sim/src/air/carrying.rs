//! The way of packets over the air: which take an air link, and what comes of them.
//!
//! Air links have numbers as wires have: that of the wire whose place they take, or one after all wires. A packet waits in the medium
//! until it has been received, and then flies for the propagation like all others.

use crate::air::flyways::carrying::{FlywayState, Way};
use crate::air::handover::access::{Handovers, Use};
use crate::air::medium::{Medium, Offered, Outcome};
use crate::air::switches;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::discipline::OnArrival;
use crate::hosts::endpoints::Endpoints;
use crate::network::link::LinkState;
use crate::network::packet::{UNKNOWN, flags};
use crate::network::{Loss, Network};
use std::collections::BTreeMap;
use std::sync::Arc;
use timeplane_model::{Duration, Framing, Link, LinkId, LinkSpec, NodeId, Rate};
use timeplane_radio::{Field, Mcs};
use timeplane_results::AirRow;
use timeplane_scenario::{AckWay, FabricSpec, RadioSpec};

/// The fastest rate of 802.11ad's OFDM PHY, MCS 24.
const FASTEST: Rate = Rate::bps(6_756_750_000);

/// What a network has beside wires.
pub(crate) struct AirState {
    pub(crate) medium: Medium,
    /// By air link: its number in the network.
    pub(crate) numbers: Vec<u32>,
    /// The air links that take the place of wires, by number in the network.
    in_place: BTreeMap<u32, u32>,
    /// Beside the wires: by switch and the destination's switch, the air link and the flows that take it, as a bound of their hash.
    ways: BTreeMap<(u32, u32), Vec<(u32, u64)>>,
    /// By host: its switch.
    switches: Vec<u32>,
    /// Acknowledgements keep to the wires.
    pub(crate) acknowledgements_by_wire: bool,
    /// Links that a controller sets up, and by switch the rack that it is of.
    pub(crate) flyways: Option<FlywayState>,
    pub(crate) rack_of: BTreeMap<u32, u32>,
    /// By air link: the longest queue, bytes.
    longest: Vec<u64>,
    armed: SimTime,
    /// Devices that change their access points.
    pub handovers: Option<Handovers>,
}

impl Network {
    /// Adds air links. Before the run begins.
    pub fn add_air(&mut self, radio: &RadioSpec, fabric: &FabricSpec, medium: Medium, rates: &[Mcs]) {
        let (mut numbers, mut in_place, mut ways) = (Vec::new(), BTreeMap::new(), BTreeMap::<_, Vec<_>>::new());
        for (link, mcs) in radio.link.iter().zip(rates) {
            let [a, b] = link.nodes;
            for (from, to) in [(a, b), (b, a)] {
                let air_link = numbers.len() as u32;
                let there = timeplane_scenario::RadioLink { nodes: [from, to], ..link.clone() };
                if let Some(wire) = RadioSpec::wire(&there, &self.fabric) {
                    self.links[wire.index()].set_air();
                    in_place.insert(wire.0, air_link);
                    numbers.push(wire.0);
                    continue;
                }
                let spec = LinkSpec {
                    rate: mcs.rate(),
                    propagation: RadioSpec::propagation(link, fabric),
                    framing: Framing::None,
                    bit_error: 0.0,
                };
                numbers.push(self.links.len() as u32);
                let mut state = LinkState::new(&Link { from: NodeId(from), to: NodeId(to), spec }, None, None);
                state.host = u32::MAX;
                self.links.push(state);
                self.beside.push((from, to));
                let share = (link.share.unwrap_or(0.0) * (1_u64 << 32) as f64) as u64;
                let flows = ways.entry((from, to)).or_default();
                let before = flows.last().map_or(0, |f: &(u32, u64)| f.1);
                flows.push((air_link, before.saturating_add(share)));
            }
        }
        self.errors.resize_with(self.links.len(), || None);
        self.air = Some(Box::new(AirState {
            longest: vec![0; numbers.len()],
            medium,
            numbers,
            in_place,
            ways,
            switches: switches(&self.fabric),
            acknowledgements_by_wire: radio.acknowledgements == AckWay::Wire,
            flyways: None,
            rack_of: BTreeMap::new(),
            armed: SimTime::MAX,
            handovers: None,
        }));
        self.arm_air();
    }

    /// Adds radios that a controller points: a link for each rack and channel, all of them down. Before the run begins.
    pub fn add_flyways(&mut self, medium: Medium, field: Arc<Field>, channels: u32, acknowledgements_by_wire: bool) {
        let racks = self.hosts;
        let switches = switches(&self.fabric);
        let numbers: Vec<u32> = (0..racks * channels).map(|i| self.links.len() as u32 + i).collect();
        for place in 0..racks * channels {
            let from = switches[(place / channels) as usize];
            // Two racks are some metres apart: 10 ns for 3 m.
            let spec =
                LinkSpec { rate: FASTEST, propagation: Duration::from_ns(10), framing: Framing::None, bit_error: 0.0 };
            self.links.push(LinkState::new(&Link { from: NodeId(from), to: NodeId(from), spec }, None, None));
            self.links.last_mut().expect("it was pushed").host = u32::MAX;
            self.beside.push((from, from));
        }
        self.errors.resize_with(self.links.len(), || None);
        self.air = Some(Box::new(AirState {
            longest: vec![0; numbers.len()],
            medium,
            numbers,
            in_place: BTreeMap::new(),
            ways: BTreeMap::new(),
            rack_of: switches.iter().zip(0..).map(|(&s, rack)| (s, rack)).collect(),
            acknowledgements_by_wire,
            flyways: Some(FlywayState::new(field, racks, channels)),
            armed: SimTime::MAX,
            handovers: None,
            switches: switches.clone(),
        }));
        self.hosts_switch = switches;
    }

    /// The number in the network of an air link.
    pub fn air_number(&self, air_link: u32) -> Option<u32> {
        self.air.as_ref().and_then(|air| air.numbers.get(air_link as usize)).copied()
    }

    /// The nodes at the ends of a link, of the air or a wire.
    pub fn ends_of(&self, link: u32) -> (u32, u32) {
        match (link as usize).checked_sub(self.fabric.links().len()) {
            Some(beside) => self.beside[beside],
            None => {
                let link = self.fabric.link(LinkId(link));
                (link.from.0, link.to.0)
            }
        }
    }

    /// The air link beside the wires that a packet takes from a switch, if it takes one.
    #[inline(never)]
    pub(crate) fn flyway(&mut self, at: SimTime, node: NodeId, id: u32) -> Option<u32> {
        let air = self.air.as_ref()?;
        if air.flyways.is_some() {
            return match self.fly_or_drive(at, node.0, id) {
                Way::Wire => None,
                Way::Air(number) => Some(number),
            };
        }
        let packet = self.packets.get(id);
        let ways = air.ways.get(&(node.0, air.switches[packet.destination as usize]))?;
        if air.acknowledgements_by_wire && packet.flags & flags::ACK != 0 {
            return None;
        }
        // Shares are of flows, so that none is torn apart. The hash is that of equal paths: mixed again, it is independent of their choice.
        let place = timeplane_model::mix64(u64::from(packet.hash)) >> 32;
        ways.iter().find(|way| place < way.1).map(|way| air.numbers[way.0 as usize])
    }

    /// A packet joins the queue of an air link, given by its number in the network.
    #[inline(never)]
    pub(crate) fn offer_air(&mut self, at: SimTime, number: u32, id: u32, ends: &mut Endpoints) {
        let Some(air) = &mut self.air else { return };
        let link = match air.in_place.get(&number) {
            Some(&link) => link,
            None if air.flyways.is_some() => number - air.numbers[0],
            None => air.numbers.iter().position(|&n| n == number).expect("an air link of the network") as u32,
        };
        let packet = self.packets.get_mut(id);
        let offered = Offered {
            packet: id,
            bytes: packet.bytes,
            acknowledgement: packet.flags & flags::ACK != 0,
            ecn_capable: packet.flags & flags::ECT != 0,
        };
        match air.medium.offer(at, link, offered) {
            OnArrival::Take => {}
            OnArrival::Mark => packet.flags |= flags::CE,
            OnArrival::Drop => {
                let packet = self.packets.remove(id);
                return self.lose(number, Loss::BufferFull, packet, ends);
            }
        }
        let queued = air.medium.links()[link as usize].queued().1;
        let longest = &mut air.longest[link as usize];
        *longest = (*longest).max(queued);
        self.arm_air();
    }

    pub(crate) fn arm_air(&mut self) {
        let Some(air) = &mut self.air else { return };
        if let Some(at) = air.medium.deadline()
            && at < air.armed
        {
            air.armed = at;
            self.calendar.push(at, EventKind::Air.key());
        }
    }

    /// The medium goes on.
    #[inline(never)]
    pub fn serve_air(&mut self, now: SimTime, ends: &mut Endpoints) {
        let Some(air) = &mut self.air else { return };
        if air.armed != now {
            // What this was for has come earlier.
            return;
        }
        air.armed = SimTime::MAX;
        self.drain_air(now, ends);
    }

    /// Lets the medium do what is due, and packets that have come out of it go on.
    pub(crate) fn drain_air(&mut self, now: SimTime, ends: &mut Endpoints) {
        let Some(air) = &mut self.air else { return };
        let mut outcomes = std::mem::take(&mut self.air_outcomes);
        outcomes.extend(air.medium.step(now));
        for outcome in outcomes.drain(..) {
            let Some(air) = &self.air else { break };
            match outcome {
                Outcome::Arrived { link, packet } => {
                    let number = air.numbers[link as usize];
                    let bytes = self.packets.get(packet).bytes;
                    // The switch's latency is added behind the link: it is the same for all.
                    let switch = self.ends_of(number).0 - self.hosts;
                    let latency = self.switches[switch as usize].latency;
                    let arrival = self.links[number as usize].receive_from_air(now, bytes) + latency;
                    self.fly(number, arrival, packet);
                }
                Outcome::Lost { link, packet, shed } => {
                    let number = air.numbers[link as usize];
                    let packet = self.packets.remove(packet);
                    self.lose(number, if shed { Loss::Shed } else { Loss::Air }, packet, ends);
                }
                Outcome::Returned { link, packet } => {
                    let number = air.numbers[link as usize];
                    self.return_to_wire(now, number, packet, ends);
                }
                Outcome::Marked { packet } => self.packets.get_mut(packet).flags |= flags::CE,
            }
        }
        self.air_outcomes = outcomes;
        self.arm_air();
    }

    /// A packet is to take an air link: whatever it knew of its way is of the wires.
    #[inline(never)]
    pub(crate) fn take_off(&mut self, at: SimTime, number: u32, id: u32, ends: &mut Endpoints) {
        self.packets.get_mut(id).ahead = UNKNOWN;
        self.offer_air(at, number, id, ends);
    }

    /// Packets in the queues of air links.
    pub(crate) fn air_packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.air.iter().flat_map(|air| air.medium.links().iter().flat_map(|l| l.packets()))
    }

    /// What air links that follow a link trace carried over time, until `end`, where that changed.
    pub fn air_traces(&self, end: SimTime) -> Vec<AirRow> {
        let mut rows = Vec::new();
        let Some(air) = &self.air else { return rows };
        for ((link, &number), air_link) in air.medium.links().iter().zip(&air.numbers).zip(0..) {
            let uses: Vec<_> = air.handovers.iter().flat_map(|h| h.uses(air_link)).collect();
            let states = link.trace();
            let mut times: Vec<SimTime> = states.iter().map(|s| s.0).chain(uses.iter().map(|u| u.0)).collect();
            times.sort_unstable();
            times.dedup();
            let mut last = None;
            for at in times.into_iter().take_while(|&at| at <= end) {
                let Some((_, quality)) = states[..states.partition_point(|s| s.0 <= at)].last() else { continue };
                let state = match uses[..uses.partition_point(|u| u.0 <= at)].last() {
                    Some((_, Use::Unused)) => "unused",
                    Some((_, Use::Awaited)) => "handover",
                    _ if quality.is_none() => "outage",
                    _ => "used",
                };
                let now = (state, quality.map(|q| (q.mcs, q.rate, q.packet_error >= 1.0)));
                if last != Some(now) {
                    last = Some(now);
                    rows.push(AirRow {
                        time_ps: at.as_ps(),
                        link: number,
                        state,
                        mcs: quality.and_then(|q| q.mcs.name().parse().ok()),
                        rate_bps: quality.map_or(0, |q| q.rate.as_bps()),
                        lost_ppm: quality.map_or(1_000_000, |q| (q.packet_error * 1e6) as u32),
                    });
                }
            }
        }
        rows
    }

    /// Packets that an air link's queue has not taken, or has given up, since the run's begin.
    pub fn queue_drops(&self, number: u32) -> u64 {
        let of = |reason| self.losses.get(&(number, reason)).map_or(0, |l| l.0);
        of(Loss::BufferFull) + of(Loss::Shed)
    }

    /// Packets and bytes that wait for an air link, and the longest queue that it has had; none for a wire.
    pub fn air_queue(&self, number: u32) -> Option<(u64, u64, u64)> {
        let air = self.air.as_ref()?;
        let link = air.numbers.iter().position(|&n| n == number)?;
        let (packets, bytes) = air.medium.links()[link].queued();
        Some((packets as u64, bytes, air.longest[link]))
    }
}
