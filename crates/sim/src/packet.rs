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
}

/// [`Packet::sack`] of a packet without SACK blocks.
pub const NO_SACK: u32 = u32::MAX;

/// Packets by number; freed numbers are used again, the latest first, while they are still in the cache.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    /// Keeps a packet.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = packet;
            id
        } else {
            self.slots.push(packet);
            (self.slots.len() - 1) as u32
        }
    }
    /// Gives a packet back.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Packet {
        self.free.push(id);
        self.slots[id as usize]
    }
    /// A packet.
    pub fn get(&self, id: u32) -> &Packet {
        &self.slots[id as usize]
    }
    /// A packet, to read or change.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.slots[id as usize]
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
