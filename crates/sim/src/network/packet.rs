//! The simulated unit: 48 bytes a packet, in one slab.

use crate::engine::time::SimTime;
use crate::hosts::flow::FlowKey;

/// A packet under way. What its transport means by it is in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Key of its flow.
    pub flow: FlowKey,
    /// Destination host.
    pub destination: u32,
    /// What ECMP hashes on.
    pub hash: u32,
    /// Size of the packet without the link's framing, in bytes.
    pub bytes: u32,
    /// First byte of its payload, or the acknowledgement number.
    pub seq: u64,
    /// Place of its SACK blocks, where it has any; `NO_SACK` otherwise.
    pub sack: u32,
    /// Path tag plus one; 0 leaves the choice to ECMP.
    pub path: u16,
    /// What it is, from the constants of [`flags`].
    pub flags: u16,
    /// The links that it takes next, as far as they are known; `LAST` where its switch has to look.
    pub ahead: Ahead,
}

impl Packet {
    /// Its traffic class: the high byte of its flags.
    #[inline]
    pub const fn class(&self) -> u8 {
        (self.flags >> flags::CLASS_SHIFT) as u8
    }
}

/// The links that a packet takes after a host's, as many as there is room for; `LAST` in the rest.
///
/// All packets of a flow mostly go one way, so that it is found once, and comes with a packet in its cache line.
pub type Ahead = [u32; 4];

/// Nothing is known.
pub const UNKNOWN: Ahead = [LAST; 4];

/// Bits of [`Packet::flags`].
pub mod flags {
    /// An acknowledgement; data otherwise.
    pub const ACK: u16 = 1;
    /// Opens a connection.
    pub const SYN: u16 = 2;
    /// The sender reduced its window (RFC 3168).
    pub const CWR: u16 = 4;
    /// Echoes a mark (RFC 3168).
    pub const ECE: u16 = 8;
    /// May be marked instead of dropped.
    pub const ECT: u16 = 16;
    /// Was marked.
    pub const CE: u16 = 32;
    /// Sent again.
    pub const RETRANSMISSION: u16 = 64;
    /// A bit was wrong: lost on arrival.
    pub const CORRUPT: u16 = 128;
    /// The high byte is the traffic class.
    pub const CLASS_SHIFT: u16 = 8;
}

/// [`Packet::sack`] of a packet without SACK blocks.
pub const NO_SACK: u32 = u32::MAX;

/// A packet's place, in one cache line: with it what the link needs that carries it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Entry {
    packet: Packet,
    /// When it arrives over the link, in ps.
    arrival: i64,
    /// The packet behind it on the same link, or the next free place; `LAST` where there is none.
    next: u32,
}

/// No packet.
pub(crate) const LAST: u32 = u32::MAX;

/// The first link ahead of a packet that will be lost where it arrives: the node there is down. Another number that no link has.
pub(crate) const DOOMED: u32 = u32::MAX - 1;

/// Packets by number; freed numbers are used again, the latest first, while they are still in the cache.
#[derive(Debug)]
pub struct Packets {
    entries: Vec<Entry>,
    /// The first free place.
    free: u32,
}

impl Default for Packets {
    fn default() -> Self {
        Self { entries: Vec::new(), free: LAST }
    }
}

impl Packets {
    /// Keeps a packet.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        let id = self.free;
        if let Some(entry) = self.entries.get_mut(id as usize) {
            self.free = entry.next;
            entry.packet = packet;
            return id;
        }
        self.entries.push(Entry { packet, arrival: 0, next: LAST });
        (self.entries.len() - 1) as u32
    }
    /// Gives a packet back.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Packet {
        let entry = &mut self.entries[id as usize];
        entry.next = self.free;
        self.free = id;
        entry.packet
    }
    /// A packet.
    #[inline]
    pub fn get(&self, id: u32) -> &Packet {
        &self.entries[id as usize].packet
    }
    /// A packet, unless it is `LAST`.
    #[inline]
    pub(crate) fn try_get(&self, id: u32) -> Option<&Packet> {
        self.entries.get(id as usize).map(|s| &s.packet)
    }
    /// A packet, to read or change.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.entries[id as usize].packet
    }
    /// When a packet arrives.
    #[inline]
    pub(crate) fn arrival(&self, id: u32) -> SimTime {
        SimTime(self.entries[id as usize].arrival)
    }
    /// The packet behind one.
    #[inline]
    pub(crate) fn next(&self, id: u32) -> u32 {
        self.entries[id as usize].next
    }
    /// Sets when a packet arrives; nothing is behind it yet.
    #[inline]
    pub(crate) fn depart(&mut self, id: u32, arrival: SimTime) {
        let entry = &mut self.entries[id as usize];
        entry.arrival = arrival.0;
        entry.next = LAST;
    }
    /// Sets another time at which a packet in flight arrives.
    pub(crate) fn retime(&mut self, id: u32, arrival: SimTime) {
        self.entries[id as usize].arrival = arrival.0;
    }
    /// Leaves nothing behind a packet.
    pub(crate) fn end(&mut self, id: u32) {
        self.entries[id as usize].next = LAST;
    }
    /// Puts a packet behind the last one on its link.
    #[inline]
    pub(crate) fn append(&mut self, last: u32, id: u32) {
        self.entries[last as usize].next = id;
    }
}
