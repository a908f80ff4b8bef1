//! When the queues of an interface may send, and what was booked in advance.
//!
//! A window is a grant that a host executes. It does not know whether its queue holds anything.

use crate::engine::time::SimTime;
use crate::hosts::nic::QueueId;
use crate::network::packet::{Packet, UNKNOWN};
use timeplane_model::{Duration, Rate, Time};

/// When a queue may send: an executed grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Which queue.
    pub queue: QueueId,
    /// From here.
    pub from: SimTime,
    /// No bit may leave at or after this.
    pub until: SimTime,
    /// No frame is begun at or after this: where a signal closes it, what has begun is finished.
    pub closes: SimTime,
    /// No signal is expected to close it before this: a train through it ends by then. `MAX` where it ends by the clock.
    pub certain: SimTime,
    /// A signal opened it: what opens it again prolongs it.
    pub by_signal: bool,
    /// How fast, where it is not line rate.
    pub rate: Option<Rate>,
    /// It is a slot: its rate paces what is sent in it and ends with it, instead of holding until another one comes.
    pub paced: bool,
    /// Path tag plus one, 0, or [`CIRCUIT`](crate::circuit::switch::CIRCUIT).
    pub path: u16,
    /// When the host's own clock said that it opens: names it in the table of slots.
    pub opened: Time,
    /// The most wire bytes that may be sent in it.
    pub most: u64,
    /// The most packets that may be sent in it.
    pub most_packets: u32,
    /// Wire bytes sent in it.
    pub sent: u64,
    /// A rate's next packet leaves no earlier (leaky bucket).
    pub eligible: SimTime,
    /// A rate's queue is empty, but its last packet is not paid for until it is eligible again: it still takes its share.
    pub owes: bool,
}

impl Window {
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
            owes: false,
        }
    }
    pub(super) fn is_open(&self, now: SimTime) -> bool {
        self.from <= now && now < self.until && now < self.closes
    }
    pub(super) fn is_over(&self, now: SimTime) -> bool {
        self.until <= now || self.closes <= now
    }
    /// A packet takes the window's path, where that has one, instead of its flow's.
    pub fn route(&self, packet: &mut Packet) {
        if self.path != 0 {
            packet.path = self.path;
            packet.ahead = UNKNOWN;
        }
    }
    /// What a rate's bucket still holds, in bits times 10^12.
    pub(super) fn owed_bits(&self, now: SimTime) -> u128 {
        (self.eligible - now).as_ps().max(0) as u128 * u128::from(self.rate.map_or(0, Rate::as_bps))
    }
}

/// Packets of a queue that leave one behind the other, and were all booked when the first one began to.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    /// Of which queue.
    pub queue: QueueId,
    /// When the first one begins to leave.
    pub first: SimTime,
    /// How long each takes.
    pub line: Duration,
    /// How many there are, at least one.
    pub count: u64,
    /// Wire bytes of each.
    pub wire: u32,
}

impl Train {
    /// When the last one begins to leave.
    pub fn last(&self) -> SimTime {
        self.first + self.line * (self.count - 1) as i64
    }
    /// How many have not begun before `now`.
    pub(super) fn waiting(&self, now: SimTime) -> u64 {
        let begun = (now - self.first).as_ps().max(0).unsigned_abs().div_ceil(self.line.as_ps().unsigned_abs());
        self.count - begun.min(self.count)
    }
}
