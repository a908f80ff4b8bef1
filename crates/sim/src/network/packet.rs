//! Packets: 48 bytes each, in one slab.
//!
//! A packet has the fields that links and switches need. The fields of its transport are in its
//! flow.

use crate::engine::time::SimTime;
use crate::hosts::flow::FlowKey;

/// A packet under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The key of its flow.
    pub flow: FlowKey,
    /// The destination host.
    pub destination: u32,
    /// The hash that chooses among equal-cost paths.
    pub hash: u32,
    /// Size without the framing of links, in bytes.
    pub bytes: u32,
    /// The first byte of its payload, or its acknowledgement number.
    pub seq: u64,
    /// The place of an acknowledgement's options, or the timestamp of data, or `NO_OPTIONS`.
    pub options: u32,
    /// The path tag plus one; 0 leaves the choice to ECMP. Circuits and flyways have values of
    /// their own.
    pub path: u16,
    /// Bits from [`flags`].
    pub flags: u16,
    /// The links that it takes next, as far as they are known; `LAST` if its switch looks up the
    /// route.
    pub ahead: Ahead,
}

impl Packet {
    /// The traffic class: the high byte of the flags.
    #[inline]
    pub const fn class(&self) -> u8 {
        (self.flags >> flags::CLASS_SHIFT) as u8
    }

    /// Whether a switch may cut it down to its header: data of NDP that is still whole. NDP marks
    /// it as ECN-capable, as TCP does.
    #[inline]
    pub const fn may_be_trimmed(&self) -> bool {
        self.flags & (flags::ACK | flags::ECT | flags::CE) == flags::ECT
    }

    /// Whether it has a payload that no switch may cut off.
    #[inline]
    pub const fn is_whole_data(&self) -> bool {
        self.flags & (flags::ACK | flags::ECT) == 0
    }

    /// Cuts the packet down to a header of this many bytes and marks it. Returns the bytes that it
    /// loses, which have to be [counted](crate::network::Meters::trimmed).
    pub(crate) fn trim(&mut self, header: u32) -> u32 {
        debug_assert!(self.may_be_trimmed(), "it is whole, and data");
        let cut = self.bytes.saturating_sub(header);
        self.bytes -= cut;
        self.flags |= flags::CE;
        cut
    }

    /// The timestamp of TCP's data, if it has one.
    #[inline]
    pub const fn timestamp(&self) -> Option<u32> {
        if self.flags & flags::ACK != 0 || self.options == NO_OPTIONS { None } else { Some(self.options) }
    }
}

/// The links that a packet takes after that of its host, up to four; `LAST` in the rest.
///
/// All packets of a flow mostly take one path. It is found once, and comes with the packet in its
/// cache line.
pub type Ahead = [u32; 4];

/// No link is known.
pub const UNKNOWN: Ahead = [LAST; 4];

/// Bits of [`Packet::flags`].
pub mod flags {
    /// An acknowledgement; otherwise data.
    pub const ACK: u16 = 1;
    /// Opens a connection.
    pub const SYN: u16 = 2;
    /// The sender reduced its congestion window (RFC 3168).
    pub const CWR: u16 = 4;
    /// Echoes a mark (RFC 3168).
    pub const ECE: u16 = 8;
    /// May be marked instead of dropped, or trimmed.
    pub const ECT: u16 = 16;
    /// Marked, or trimmed.
    pub const CE: u16 = 32;
    /// Its payload was sent before.
    pub const RETRANSMISSION: u16 = 64;
    /// A bit is wrong: lost on arrival.
    pub const CORRUPT: u16 = 128;
    /// The position of the traffic class, the high byte.
    pub const CLASS_SHIFT: u16 = 8;
}

/// [`Packet::options`] of a packet without options.
pub const NO_OPTIONS: u32 = u32::MAX;

/// A packet in one cache line, with what its link needs.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Entry {
    packet: Packet,
    /// When it arrives at the end of its link, in ps.
    arrival: i64,
    /// The packet behind it on the link, or the next free place; `LAST` if there is none.
    next: u32,
}

/// No packet.
pub(crate) const LAST: u32 = u32::MAX;

/// The first link ahead of a packet that will be lost because the node where it arrives is down. No
/// link has this number.
pub(crate) const DOOMED: u32 = u32::MAX - 1;

/// Packets by number. Freed numbers are reused, the latest first, while they are still in the
/// cache.
#[derive(Debug)]
pub struct Packets {
    entries: Vec<Entry>,
    free: u32,
}

impl Default for Packets {
    fn default() -> Self {
        Self { entries: Vec::new(), free: LAST }
    }
}

impl Packets {
    /// Adds a packet and returns its number.
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
    /// Removes a packet.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Packet {
        self.release(id);
        self.entries[id as usize].packet
    }
    /// Removes a packet that nobody needs any more.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) {
        self.entries[id as usize].next = self.free;
        self.free = id;
    }
    /// The packet with this number.
    #[inline]
    pub fn get(&self, id: u32) -> &Packet {
        &self.entries[id as usize].packet
    }
    /// The packet with this number, unless that is `LAST`.
    #[inline]
    pub(crate) fn try_get(&self, id: u32) -> Option<&Packet> {
        self.entries.get(id as usize).map(|s| &s.packet)
    }
    /// The packet with this number, to change it.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.entries[id as usize].packet
    }
    #[inline]
    pub(crate) fn arrival(&self, id: u32) -> SimTime {
        SimTime(self.entries[id as usize].arrival)
    }
    /// The packet behind one on its link.
    #[inline]
    pub(crate) fn next(&self, id: u32) -> u32 {
        self.entries[id as usize].next
    }
    /// Sets when a packet arrives, with no packet behind it yet.
    #[inline]
    pub(crate) fn depart(&mut self, id: u32, arrival: SimTime) {
        let entry = &mut self.entries[id as usize];
        entry.arrival = arrival.0;
        entry.next = LAST;
    }
    /// Changes when a packet in flight arrives.
    pub(crate) fn retime(&mut self, id: u32, arrival: SimTime) {
        self.entries[id as usize].arrival = arrival.0;
    }
    /// Makes a packet the last one on its link.
    pub(crate) fn end(&mut self, id: u32) {
        self.entries[id as usize].next = LAST;
    }
    /// Puts a packet behind the last one on its link.
    #[inline]
    pub(crate) fn append(&mut self, last: u32, id: u32) {
        self.entries[last as usize].next = id;
    }
}
