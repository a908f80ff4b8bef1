//! A rack under rotor switches: queues for circuits that take turns, and what they carry when.
//!
//! A packet asks the rack's [`Routing`] for a circuit, and waits for it in the queue of that
//! circuit. While the circuit is open, the rack sends at the rate of its uplink. Packets that are
//! left at its end are late.
//!
//! A rack knows the schedule and its own clock, and nothing of other racks or of the switches. If
//! switches are dark for less than the schedule says, its clock or its machine may be late by what
//! is left.

use std::collections::VecDeque;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Rate, Time};
use timeplane_schedule::rotor::routing::{Position, Routing};
use timeplane_schedule::rotor::{Cycle, Hold, Late};

/// What a rack is told.
#[derive(Clone, Debug)]
pub struct RackConfig {
    /// Its number in the schedule.
    pub rack: u32,
    /// Rate of each uplink.
    pub rate: Rate,
    /// How much time of an uplink a rack may make up for, at a higher rate, if it is woken late.
    pub catch_up: Duration,
    /// What happens to late packets.
    pub late: Late,
    /// Limit of the queue for one circuit, in wire bytes. Without one, what the circuit carries.
    pub queue: Option<Bytes>,
    /// Whether the packets that ask this rack take turns, as [`Spread::InTurn`] needs.
    ///
    /// [`Spread::InTurn`]: timeplane_schedule::rotor::routing::Spread::InTurn
    pub in_turn: bool,
}

/// A packet at a rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RackPacket<P> {
    /// The rack where it goes.
    pub destination: u32,
    /// Bytes on the wire, with all headers and gaps.
    pub wire: u32,
    /// What the last hop handed on; 0 at the source.
    pub progress: u16,
    /// Random bits of the packet or its flow, the same at all racks.
    pub draw: u64,
    /// Bytes that its flow has sent before it.
    pub age: Bytes,
    /// The packet itself.
    pub content: P,
}

/// What an uplink does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextPacket<P> {
    /// Sends this packet to the rack `to`, now.
    Send {
        /// The rack at the other end of the circuit.
        to: u32,
        /// The progress of the packet at that rack.
        progress: u16,
        /// The packet as it was here.
        packet: RackPacket<P>,
    },
    /// Sends nothing before this time.
    Wait(Time),
    /// Sends nothing in this slice, unless another packet comes.
    Nothing,
}

/// Packets of a rack that left, stay or are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RackCounts {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets whose circuit ended before they left, as often as that happened.
    pub late: u64,
    /// Packets lost because they were late.
    pub lost_late: u64,
    /// Packets lost because the queues of all their circuits were full.
    pub lost_full: u64,
    /// Packets lost without a path to their rack.
    pub lost_no_route: u64,
}

impl RackCounts {
    /// All packets that the rack has lost.
    pub fn lost(&self) -> u64 {
        self.lost_late + self.lost_full + self.lost_no_route
    }
}

/// A packet and its progress after the next hop.
struct Waiting<P> {
    packet: RackPacket<P>,
    progress: u16,
}

struct Queue<P> {
    packets: VecDeque<Waiting<P>>,
    wire: u64,
}

impl<P> Default for Queue<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), wire: 0 }
    }
}

/// Why a packet is not queued.
enum Refused {
    Full,
    NoRoute,
}

/// A rack. It asks no clock: callers tell it the time, which never goes back.
pub struct Rack<P> {
    config: RackConfig,
    cycle: Arc<Cycle>,
    routing: Arc<dyn Routing>,
    /// By uplink and hold.
    queues: Vec<Vec<Queue<P>>>,
    /// By uplink, when its last packet has left.
    free_at: Vec<Time>,
    /// The last slice that was seen.
    slice: Option<i64>,
    turns: u64,
    waiting: u64,
    counts: RackCounts,
}

impl<P> Rack<P> {
    /// A rack without packets. Time zero is the start of a cycle.
    pub fn new(config: RackConfig, cycle: Arc<Cycle>, routing: Arc<dyn Routing>) -> Self {
        let queues = cycle.holds().iter().map(|&holds| (0..holds).map(|_| Queue::default()).collect()).collect();
        let free_at = vec![Time::ZERO; cycle.holds().len()];
        let counts = RackCounts::default();
        Self { config, cycle, routing, queues, free_at, slice: None, turns: 0, waiting: 0, counts }
    }

    /// Queues a packet for another rack, or loses it.
    ///
    /// # Panics
    /// If the schedule has no such destination.
    pub fn admit(&mut self, now: Time, packet: RackPacket<P>) {
        self.turn(now);
        self.place_or_lose(now, packet);
    }

    /// What an uplink sends now.
    pub fn next(&mut self, now: Time, uplink: u32) -> NextPacket<P> {
        self.turn(now);
        let slice = self.cycle.slice_at(now);
        let Hold { open, close, number } = self.cycle.hold(slice, uplink);
        let Some(to) = self.cycle.destination(slice, self.config.rack, uplink) else { return NextPacket::Nothing };
        let queue = &mut self.queues[uplink as usize][number as usize];
        let Some(first) = queue.packets.front() else { return NextPacket::Nothing };
        let free = self.free_at[uplink as usize].max(open);
        let line = self.config.rate.time_for(Bytes::new(first.packet.wire.into()));
        if free > now {
            return if free + line > close { NextPacket::Nothing } else { NextPacket::Wait(free) };
        }
        if now + line > close {
            return NextPacket::Nothing;
        }
        let Some(Waiting { packet, progress }) = queue.packets.pop_front() else { return NextPacket::Nothing };
        queue.wire -= u64::from(packet.wire);
        self.free_at[uplink as usize] = free.max(now - self.config.catch_up) + line;
        self.waiting -= 1;
        self.counts.sent += 1;
        NextPacket::Send { to, progress, packet }
    }

    /// A packet of [`next`](Self::next) has not left before its slice ended: it is late after all.
    pub fn has_missed(&mut self, now: Time, packet: RackPacket<P>) {
        self.turn(now);
        self.counts.sent -= 1;
        self.counts.late += 1;
        self.put_back(now, packet);
    }

    /// When the rack has to be asked again, if no packet comes before: a circuit has room for one
    /// that waits, or a slice ends. `None` if nothing waits.
    pub fn due(&mut self, now: Time) -> Option<Time> {
        self.turn(now);
        let slice = self.cycle.slice_at(now);
        let free = |uplink: u32| {
            let Hold { open, close, number } = self.cycle.hold(slice, uplink);
            let first = self.queues[uplink as usize][number as usize].packets.front()?;
            let free = self.free_at[uplink as usize].max(open).max(now);
            let line = self.config.rate.time_for(Bytes::new(first.packet.wire.into()));
            (free + line <= close).then_some(free)
        };
        let next_slice = self.cycle.start(slice + 1);
        (self.waiting > 0).then(|| (0..self.free_at.len() as u32).filter_map(free).fold(next_slice, Time::min))
    }

    /// Packets that wait.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// What became of all packets: those that were queued have been sent, wait, or were late and
    /// lost.
    pub fn counts(&self) -> RackCounts {
        self.counts
    }

    /// Queues a packet for the first circuit that its routing names and that has room for it.
    fn place(&mut self, now: Time, packet: RackPacket<P>) -> Result<(), Refused> {
        let draw = if self.config.in_turn { self.turns } else { packet.draw };
        self.turns += 1;
        let mut slice = self.cycle.slice_at(now);
        let last = slice + i64::from(self.cycle.schedule().slices());
        while slice <= last {
            let position = Position {
                rack: self.config.rack,
                destination: packet.destination,
                slice: self.cycle.in_cycle(slice),
                progress: packet.progress,
                draw,
                age: packet.age,
            };
            let hop = self.routing.next_hop(&position).ok_or(Refused::NoRoute)?;
            let when = slice + i64::from(hop.wait);
            let Hold { open, close, number } = self.cycle.hold(when, hop.uplink);
            let free = self.free_at[hop.uplink as usize].max(open).max(now);
            let queue = &mut self.queues[hop.uplink as usize][number as usize];
            let wire = queue.wire + u64::from(packet.wire);
            if self.config.queue.is_some_and(|limit| wire > limit.get()) {
                return Err(Refused::Full);
            }
            let waits_for_more = self.config.queue.is_some() || self.config.late == Late::Bounce;
            if free.saturating_add(self.config.rate.time_for(Bytes::new(wire))) <= close || waits_for_more && open > now
            {
                queue.wire = wire;
                queue.packets.push_back(Waiting { packet, progress: hop.progress });
                self.waiting += 1;
                return Ok(());
            }
            slice = when + 1;
        }
        Err(Refused::Full)
    }

    /// Takes late packets from the circuits that have ended since the last call.
    fn turn(&mut self, now: Time) {
        let slice = self.cycle.slice_at(now);
        let Some(seen) = self.slice.replace(slice).filter(|&seen| seen < slice) else { return };
        // A rack that has slept for a cycle finds all circuits ended.
        let first = (seen + 1).max(slice - i64::from(self.cycle.schedule().slices()) + 1);
        let mut late = Vec::new();
        for (begun, uplink) in (first..=slice).flat_map(|s| (0..self.free_at.len() as u32).map(move |u| (s, u))) {
            if !self.cycle.is_changing(begun, uplink) {
                continue;
            }
            let ended = self.cycle.hold(begun - 1, uplink).number;
            let queue = &mut self.queues[uplink as usize][ended as usize];
            self.counts.late += queue.packets.len() as u64;
            if self.config.late != Late::Bounce {
                late.extend(queue.packets.drain(..));
                queue.wire = 0;
            }
        }
        self.waiting -= late.len() as u64;
        for Waiting { packet, .. } in late {
            self.put_back(now, packet);
        }
    }

    /// Queues a late packet again, or loses it.
    fn put_back(&mut self, now: Time, packet: RackPacket<P>) {
        if self.config.late == Late::Lose {
            self.counts.lost_late += 1;
        } else {
            self.place_or_lose(now, packet);
        }
    }

    fn place_or_lose(&mut self, now: Time, packet: RackPacket<P>) {
        match self.place(now, packet) {
            Ok(()) => {}
            Err(Refused::Full) => self.counts.lost_full += 1,
            Err(Refused::NoRoute) => self.counts.lost_no_route += 1,
        }
    }
}
