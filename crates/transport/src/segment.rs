//! Segments and acknowledgements between a sender and a receiver.
//!
//! Sizes of their headers are here as well.

use core::num::NonZeroU32;
use core::ops::Deref;

use crate::Range;

/// Bytes of the headers of every segment: IPv4 (20) and TCP (20).
///
/// Timestamps add [`TIMESTAMP_BYTES`], and SACK blocks add what [`ack_options_bytes`] says. Other
/// options of a SYN are left out.
pub const HEADER_BYTES: u32 = 40;

/// Bytes of the timestamp option in every header, where it is used: ten, padded to words (RFC 7323,
/// appendix A).
pub const TIMESTAMP_BYTES: u32 = 12;

/// The most SACK blocks of one acknowledgement. RFC 2018, section 3, allows four without timestamps
/// and three with them; nearly all hosts send three.
pub const MAX_SACK_BLOCKS: usize = 3;

/// Bytes of TCP options in an acknowledgement with this number of SACK blocks (RFC 2018, section
/// 3): two, and eight per block, padded to a multiple of four; zero without blocks.
pub const fn ack_options_bytes(sack_blocks: u32) -> u32 {
    if sack_blocks == 0 { 0 } else { (2 + 8 * sack_blocks).next_multiple_of(4) }
}

/// A segment to transmit now, from [`Sender::poll`](crate::Sender::poll).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Offset of the first byte in the flow.
    pub seq: u64,
    /// Payload in bytes; at most the MSS, zero for a SYN.
    pub len: u32,
    /// Opens the connection, without data.
    pub syn: bool,
    /// Congestion window reduced: the sender has reacted to an ECN echo (RFC 3168, section 6.1.2).
    pub cwr: bool,
    /// ECN-capable: a queue may mark this segment instead of dropping it.
    ///
    /// By RFC 3168, section 6.1.5, retransmissions and SYNs are not. All segments of DCTCP are, as
    /// RFC 8257, section 3.5, allows.
    pub ect: bool,
    /// Repeats bytes that were sent before.
    pub retransmission: bool,
    /// When it was sent, in ticks of [`TIMESTAMP_TICK`](crate::TIMESTAMP_TICK), with
    /// [`timestamps`](crate::TcpConfig::timestamps).
    pub timestamp: Option<u32>,
}

/// Bytes of the headers, without SACK blocks.
pub(crate) const fn header_bytes(has_timestamp: bool) -> u32 {
    HEADER_BYTES + if has_timestamp { TIMESTAMP_BYTES } else { 0 }
}

impl Segment {
    /// Bytes of the payload, and of the IPv4 and TCP headers with options, without link framing.
    pub const fn wire_bytes(&self) -> u32 {
        header_bytes(self.timestamp.is_some()) + self.len
    }
    /// The segment as it arrives at the receiver; `ce` if a queue has marked it.
    pub const fn arrival(&self, ce: bool) -> Arrival {
        Arrival { seq: self.seq, len: self.len, syn: self.syn, cwr: self.cwr, ce, timestamp: self.timestamp }
    }
}

/// A [`Segment`] as the receiver sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Offset of the first byte in the flow.
    pub seq: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Opens the connection.
    pub syn: bool,
    /// The sender has reacted to an ECN echo.
    pub cwr: bool,
    /// Congestion experienced: a queue marked the packet.
    pub ce: bool,
    /// The sender's timestamp.
    pub timestamp: Option<u32>,
}

/// An acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// All bytes below this offset have arrived.
    pub ack: u64,
    /// Ranges above `ack` that have arrived; the block with the latest arrival comes first (RFC
    /// 2018). Before it comes a range that has arrived twice, if the receiver reports one (RFC
    /// 2883).
    pub sacks: SackBlocks,
    /// ECN echo: until the sender reacts (RFC 3168), or exactly for the acknowledged bytes (RFC
    /// 8257).
    pub ece: bool,
    /// Answers a SYN.
    pub syn: bool,
    /// Bytes above `ack` that may be sent; `None` while that is what the connection began with.
    pub window: Option<NonZeroU32>,
    /// The timestamp that it echoes (RFC 7323, section 4.3), zero if it has none to echo. `None`
    /// without the option.
    pub timestamp_echo: Option<u32>,
}

impl Ack {
    /// The range that has arrived twice, if the acknowledgement reports one: its first block is
    /// below the acknowledged bytes or within the second block (RFC 2883, section 4).
    pub fn duplicate(&self) -> Option<Range> {
        let first = *self.sacks.first()?;
        let within = |outer: &Range| outer.start <= first.start && first.end <= outer.end;
        (first.start < self.ack || self.sacks.get(1).is_some_and(within)).then_some(first)
    }

    /// Bytes of the IPv4 and TCP headers with options, without link framing.
    pub const fn wire_bytes(&self) -> u32 {
        header_bytes(self.timestamp_echo.is_some()) + ack_options_bytes(self.sacks.len as u32)
    }
}

/// Up to [`MAX_SACK_BLOCKS`] ranges, inline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [Range; MAX_SACK_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const NONE: Self = Self { blocks: [Range { start: 0, end: 0 }; MAX_SACK_BLOCKS], len: 0 };

    /// Appends a block. Returns `false`, without any effect, if there is no room.
    pub fn push(&mut self, block: Range) -> bool {
        let room = self.blocks.get_mut(usize::from(self.len));
        let fits = room.is_some();
        if let Some(slot) = room {
            *slot = block;
            self.len += 1;
        }
        fits
    }
}

impl Deref for SackBlocks {
    type Target = [Range];
    fn deref(&self) -> &[Range] {
        &self.blocks[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_padded_to_words() {
        assert_eq!([0, 1, 2, 3, 4].map(ack_options_bytes), [0, 12, 20, 28, 36]);
        let mut ack = Ack::default();
        assert_eq!(ack.wire_bytes(), 40);
        for n in 0..4 {
            assert_eq!(ack.sacks.push(Range { start: n, end: n + 1 }), n < 3);
        }
        assert_eq!((ack.sacks.len(), ack.wire_bytes()), (3, 68));
        // A header has at most 60 bytes (RFC 9293, section 3.1).
        ack.timestamp_echo = Some(0);
        assert_eq!(ack.wire_bytes(), 20 + 60);
    }
}
