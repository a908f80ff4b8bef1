//! The simulated unit: 32 bytes a packet, in one slab.

/// A packet under way. What its transport means by it is in its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Slot of its flow in the flow table.
    pub flow: u32,
    /// Destination host.
    pub destination: u32,
    /// What ECMP hashes on.
    pub hash: u32,
    /// Size of the packet without the link's framing, in bytes.
    pub bytes: u32,
    /// First byte of its payload, or the acknowledgement number.
    pub seq: u64,
    /// Slot of its SACK blocks, where it has any; `NO_SACK` otherwise.
    pub sack: u32,
    /// Path tag plus one; 0 leaves the choice to ECMP.
    pub path: u16,
    /// What it is, from the constants of [`flags`].
    pub flags: u16,
}

impl Packet {
    /// Its traffic class: the high byte of its flags.
    #[inline]
    pub const fn class(&self) -> u8 {
        (self.flags >> flags::CLASS_SHIFT) as u8
    }
}

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
struct Slot {
    packet: Packet,
    /// Its last bit leaves the sending end, in ps.
    departure: i64,
    /// The packet behind it on the same link, or `LAST`.
    next: u32,
}

/// No packet.
pub(crate) const LAST: u32 = u32::MAX;

/// Packets by number; freed numbers are used again, the latest first, while they are still in the cache.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Packets {
    /// Keeps a packet.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        let slot = Slot { packet, departure: 0, next: LAST };
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = slot;
            id
        } else {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        }
    }
    /// Gives a packet back.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Packet {
        self.free.push(id);
        self.slots[id as usize].packet
    }
    /// A packet.
    pub fn get(&self, id: u32) -> &Packet {
        &self.slots[id as usize].packet
    }
    /// A packet, to read or change.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.slots[id as usize].packet
    }
    /// When a packet leaves, and its size.
    #[inline]
    pub(crate) fn departure(&self, id: u32) -> (i64, u32) {
        let slot = &self.slots[id as usize];
        (slot.departure, slot.packet.bytes)
    }
    /// The packet behind one.
    #[inline]
    pub(crate) fn next(&self, id: u32) -> u32 {
        self.slots[id as usize].next
    }
    /// Puts a packet behind `last`, or first.
    #[inline]
    pub(crate) fn append(&mut self, last: u32, id: u32, departure: i64) {
        let slot = &mut self.slots[id as usize];
        slot.departure = departure;
        slot.next = LAST;
        if let Some(slot) = self.slots.get_mut(last as usize) {
            slot.next = id;
        }
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
