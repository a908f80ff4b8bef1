//! Openings of gates: when the queues of an interface may send, and the bytes booked in advance.
//!
//! An opening is a grant that a host executes, whether or not its queue holds packets.

use crate::engine::time::SimTime;
use crate::hosts::nic::QueueId;
use crate::network::packet::{Packet, UNKNOWN};
use timeplane_model::{Duration, Rate, Time};

/// The time in which a queue may send: an executed grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateOpening {
    /// Destination and class of the packets that may leave.
    pub queue: QueueId,
    /// When it opens.
    pub from: SimTime,
    /// No bit may leave at or after this.
    pub until: SimTime,
    /// No frame starts at or after this. A frame that a closing signal finds under way is finished.
    pub closes: SimTime,
    /// No signal is expected to close it before this, so a train may run until then. `MAX` where it
    /// ends by the clock.
    pub certain: SimTime,
    /// Whether a signal opened it. A repeated signal then prolongs it.
    pub by_signal: bool,
    /// The rate, if it is not line rate.
    pub rate: Option<Rate>,
    /// Whether it is a slot, whose rate ends with it. Other rates hold until they are replaced.
    pub paced: bool,
    /// Path tag plus one, 0, or [`CIRCUIT`](crate::circuit::switch::CIRCUIT).
    pub path: u16,
    /// The opening time on the host's own clock, which names the slot in tables.
    pub opened: Time,
    /// The most wire bytes that it may send.
    pub most: u64,
    /// The most packets that it may send.
    pub most_packets: u32,
    /// Wire bytes sent so far.
    pub sent: u64,
    /// When its rate allows the next packet (leaky bucket).
    pub eligible: SimTime,
}

impl GateOpening {
    /// A slot at line rate, by the clock, without other limits.
    pub fn slot(queue: QueueId, from: SimTime, until: SimTime) -> Self {
        Self {
            queue,
            from,
            until,
            closes: SimTime::MAX,
            certain: SimTime::MAX,
            by_signal: false,
            rate: None,
            paced: false,
            path: 0,
            opened: from.on_perfect_clock(),
            most: u64::MAX,
            most_packets: u32::MAX,
            sent: 0,
            eligible: from,
        }
    }
    pub(super) fn is_open(&self, now: SimTime) -> bool {
        self.from <= now && now < self.until && now < self.closes
    }
    pub(super) fn is_over(&self, now: SimTime) -> bool {
        self.until <= now || self.closes <= now
    }
    /// Gives a packet the path of the opening, if that has one.
    pub fn route(&self, packet: &mut Packet) {
        take_path(self.path, packet);
    }
}

/// Gives a packet the [path](GateOpening::path) of an opening.
pub(super) fn take_path(path: u16, packet: &mut Packet) {
    if path != 0 {
        packet.path = path;
        packet.ahead = UNKNOWN;
    }
}

/// Packets of a queue that leave back to back, all booked when the first one started.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    /// Destination and class of its packets.
    pub queue: QueueId,
    /// When the first one starts to leave.
    pub first: SimTime,
    /// The line time of each.
    pub line: Duration,
    /// The number of packets, at least one.
    pub count: u64,
    /// Wire bytes of each.
    pub wire: u32,
}

impl Train {
    /// When the last one starts to leave.
    pub fn last(&self) -> SimTime {
        self.first + self.line * (self.count - 1) as i64
    }
    /// How many have not started before `now`.
    pub(super) fn waiting(&self, now: SimTime) -> u64 {
        let begun = (now - self.first).as_ps().max(0).unsigned_abs().div_ceil(self.line.as_ps().unsigned_abs());
        self.count - begun.min(self.count)
    }
}
