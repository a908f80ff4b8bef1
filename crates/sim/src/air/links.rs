//! Air links as links of the network, with the medium that carries them.
//!
//! An air link has a number as wires have: that of the wire which it replaces, or one after all
//! wires. A packet waits in the medium until it has been received, and then takes the
//! propagation delay as on a wire. This module knows neither controllers of antennas nor moves of
//! devices.

use crate::air::medium::{Medium, Offered, Outcome};
use crate::air::switches;
use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::discipline::OnArrival;
use crate::network::packet::{Packet, flags};
use crate::network::wires::Wires;
use std::collections::BTreeMap;
use timeplane_model::{Duration, Framing, LinkSpec, Rate};
use timeplane_radio::Mcs;
use timeplane_scenario::{AckPath, FabricSpec, RadioSpec};

/// The fastest rate of 802.11ad's OFDM PHY, MCS 24.
const FASTEST: Rate = Rate::bps(6_756_750_000);

/// An air link of flows with a hash below a bound; the bounds of a pair of switches rise.
type Share = (u32, u64);

/// All air links of a network.
pub(crate) struct AirLinks {
    pub medium: Medium,
    /// By air link: its number in the network.
    pub numbers: Vec<u32>,
    /// Air links that replace wires, by number in the network.
    in_place: BTreeMap<u32, u32>,
    /// Air links alongside the wires, by switch and the destination's switch, with their shares of
    /// flows.
    shares: BTreeMap<(u32, u32), Vec<Share>>,
    /// By host: its switch.
    switches: Vec<u32>,
    /// Whether acknowledgements keep to the wires.
    pub acknowledgements_by_wire: bool,
    /// By air link: the longest queue, in bytes.
    longest: Vec<u64>,
    armed: SimTime,
}

impl AirLinks {
    /// The air links of a scenario, at these rates. Each takes the place of a wire or a number of
    /// its own.
    pub fn fixed(wires: &mut Wires, radio: &RadioSpec, fabric: &FabricSpec, medium: Medium, rates: &[Mcs]) -> Self {
        let (mut numbers, mut in_place, mut shares) = (Vec::new(), BTreeMap::new(), BTreeMap::<_, Vec<_>>::new());
        for (link, mcs) in radio.link.iter().zip(rates) {
            let [a, b] = link.nodes;
            for (from, to) in [(a, b), (b, a)] {
                let air_link = numbers.len() as u32;
                let there = timeplane_scenario::RadioLink { nodes: [from, to], ..link.clone() };
                if let Some(wire) = RadioSpec::wire(&there, &wires.fabric) {
                    wires.links[wire.index()].set_air();
                    in_place.insert(wire.0, air_link);
                    numbers.push(wire.0);
                    continue;
                }
                let propagation = RadioSpec::propagation(link, fabric);
                let spec = LinkSpec { rate: mcs.rate(), propagation, framing: Framing::None, bit_error: 0.0 };
                numbers.push(wires.add_link(from, to, spec));
                let share = (link.share.unwrap_or(0.0) * (1_u64 << 32) as f64) as u64;
                let flows = shares.entry((from, to)).or_default();
                let before = flows.last().map_or(0, |f: &Share| f.1);
                flows.push((air_link, before.saturating_add(share)));
            }
        }
        let by_wire = radio.acknowledgements == AckPath::Wire;
        let mut air = Self::of(wires, medium, numbers, by_wire);
        (air.in_place, air.shares) = (in_place, shares);
        air.arm(wires);
        air
    }

    /// An air link for each rack and channel, alongside the wires; all of them are down.
    pub fn flyways(wires: &mut Wires, medium: Medium, channels: u32, acknowledgements_by_wire: bool) -> Self {
        // Two racks are some meters apart: 10 ns for 3 m.
        let propagation = Duration::from_ns(10);
        let spec = LinkSpec { rate: FASTEST, propagation, framing: Framing::None, bit_error: 0.0 };
        let switches = switches(&wires.fabric);
        let mut numbers = Vec::new();
        for &switch in &switches {
            numbers.extend((0..channels).map(|_| wires.add_link(switch, switch, spec)));
        }
        Self::of(wires, medium, numbers, acknowledgements_by_wire)
    }

    fn of(wires: &Wires, medium: Medium, numbers: Vec<u32>, acknowledgements_by_wire: bool) -> Self {
        Self {
            longest: vec![0; numbers.len()],
            medium,
            numbers,
            in_place: BTreeMap::new(),
            shares: BTreeMap::new(),
            switches: switches(&wires.fabric),
            acknowledgements_by_wire,
            armed: SimTime::MAX,
        }
    }

    /// Whether any air link lies alongside the wires.
    pub fn has_shares(&self) -> bool {
        !self.shares.is_empty()
    }

    /// The air link alongside the wires that a packet takes from a switch, by number in the
    /// network.
    pub fn share(&self, node: u32, packet: &Packet) -> Option<u32> {
        let shares = self.shares.get(&(node, self.switches[packet.destination as usize]))?;
        if self.acknowledgements_by_wire && packet.flags & flags::ACK != 0 {
            return None;
        }
        // Shares are of flows, so that no flow is split. The hash also chooses among equal-cost
        // paths; mixing it again makes this choice independent.
        let place = timeplane_model::mix64(u64::from(packet.hash)) >> 32;
        shares.iter().find(|share| place < share.1).map(|share| self.numbers[share.0 as usize])
    }

    /// The air link with this number in the network.
    fn place(&self, number: u32) -> Option<usize> {
        match self.in_place.get(&number) {
            Some(&link) => Some(link as usize),
            None => self.numbers.iter().position(|&n| n == number),
        }
    }

    /// A packet joins the queue of an air link, given by its number in the network. False where the
    /// queue drops it.
    pub fn offer(&mut self, wires: &mut Wires, at: SimTime, number: u32, id: u32) -> bool {
        // Links of flyways have consecutive numbers.
        let first = self.numbers.first().copied().unwrap_or(0);
        let direct = number.wrapping_sub(first);
        let link = match self.numbers.get(direct as usize) {
            Some(&n) if n == number => direct,
            _ => self.place(number).expect("an air link of the network") as u32,
        };
        let packet = wires.packets.get_mut(id);
        let offered = Offered {
            packet: id,
            bytes: packet.bytes,
            acknowledgement: packet.flags & flags::ACK != 0,
            ecn_capable: packet.flags & flags::ECT != 0,
        };
        match self.medium.offer(at, link, offered) {
            OnArrival::Take => {}
            OnArrival::Mark => packet.flags |= flags::CE,
            OnArrival::Drop => return false,
        }
        let queued = self.medium.links()[link as usize].queued().1;
        let longest = &mut self.longest[link as usize];
        *longest = (*longest).max(queued);
        self.arm(wires);
        true
    }

    /// Schedules the medium's next event, unless an earlier one is pending.
    pub fn arm(&mut self, wires: &mut Wires) {
        if let Some(at) = self.medium.deadline()
            && at < self.armed
        {
            self.armed = at;
            wires.calendar.push(at, EventKind::Air.key());
        }
    }

    /// Whether the medium's pending event is the one at `now`; it is then no longer pending.
    pub fn is_due(&mut self, now: SimTime) -> bool {
        let due = self.armed == now;
        if due {
            self.armed = SimTime::MAX;
        }
        due
    }

    /// Runs the medium up to `now` and appends the outcomes of packets.
    pub fn step(&mut self, now: SimTime, outcomes: &mut Vec<Outcome>) {
        outcomes.extend(self.medium.step(now));
    }

    /// A packet comes out of the air at `now`, and flies on.
    pub fn arrive(&self, wires: &mut Wires, now: SimTime, link: u32, id: u32) {
        let number = self.numbers[link as usize];
        let bytes = wires.packets.get(id).bytes;
        // The latency of the sending switch is added behind the link, as it is the same for all
        // packets.
        let latency = wires.latency(wires.ends_of(number).0);
        let arrival = wires.links[number as usize].receive_from_air(now, bytes) + latency;
        wires.fly(number, arrival, id);
    }

    /// How long frames of an air link were in the air, given by its number in the network; `None`
    /// for a wire.
    pub fn airtime(&self, number: u32) -> Option<Duration> {
        let link = self.numbers.iter().position(|&n| n == number)?;
        Some(self.medium.links()[link].carried().airtime)
    }

    /// Packets in the queues of air links.
    pub fn packets(&self) -> impl Iterator<Item = u32> + '_ {
        self.medium.links().iter().flat_map(|l| l.packets())
    }

    /// Packets and bytes in the queue of an air link, and its longest queue so far; `None` for a
    /// wire.
    pub fn queue(&self, number: u32) -> Option<(u64, u64, u64)> {
        let link = self.numbers.iter().position(|&n| n == number)?;
        let (packets, bytes) = self.medium.links()[link].queued();
        Some((packets as u64, bytes, self.longest[link]))
    }
}
