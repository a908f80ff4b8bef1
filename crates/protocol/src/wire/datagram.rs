//! The header of datagrams, and how long messages are split.
//!
//! Parts of a message are numbered; the last one is marked.

use super::bytes::{Reader, put};
use super::error::{EncodeError, WireError};
use timeplane_model::Time;

/// The default UDP port of agents, from the range that is never assigned.
pub const PORT: u16 = 51_208;

/// The most bytes after a datagram's header: IPv4 and UDP take 28 of 1500.
pub const ROOM: usize = 1500 - 28 - Header::BYTES;

/// The most datagrams of a message.
pub const MAX_PARTS: usize = 1 << 15;

/// The first 24 bytes of a datagram.
///
/// | byte | length | field |
/// | --- | --- | --- |
/// | 0 | 1 | version: 1 |
/// | 1 | 1 | lower four bits: kind; upper four: flags of the kind |
/// | 2 | 2 | top bit: this is the last part; 15 bits: which part, from 0 |
/// | 4 | 4 | epoch of the sender |
/// | 8 | 8 | number: sequence of a report (7 bytes, after one for the round that the host has heard of) or a window, round of grants, rates, class names and heartbeats to peers, period of a schedule or heartbeat |
/// | 16 | 8 | time in picoseconds, two's complement |
///
/// All parts of a message have the same header except for the part. Their contents are
/// concatenated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind: 1 report, 2 grants, 3 rates, 4 schedule, 5 heartbeat, 6 class names, 7 heartbeat
    /// of a controller to its peers, 8 relay's part of a round, 9 reports gathered by a relay, 10
    /// access point's report on its link, 11 window for a sender.
    pub kind: u8,
    /// Four bits with a meaning of each kind.
    pub flags: u8,
    /// The part's number, from 0.
    pub part: u16,
    /// Whether it is the last part.
    pub last: bool,
    /// Counts the starts of the sender.
    pub epoch: u32,
    /// Counts the messages of an epoch.
    pub number: u64,
    /// A time whose meaning depends on the kind.
    pub time: Time,
}

impl Header {
    /// Bytes of the header.
    pub const BYTES: usize = 24;
    /// The version of all layouts.
    pub const VERSION: u8 = 1;

    /// The header of a message's first part.
    pub(super) fn new(kind: u8, epoch: u32, number: u64, time: Time) -> Self {
        Self { kind, flags: 0, part: 0, last: false, epoch, number, time }
    }
    /// Encodes the header.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = Self::VERSION;
        bytes[1] = self.kind & 0xf | self.flags << 4;
        bytes[2..4].copy_from_slice(&(self.part & 0x7fff | u16::from(self.last) << 15).to_be_bytes());
        bytes[4..8].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..].copy_from_slice(&self.time.as_ps().to_be_bytes());
        bytes
    }
    /// Parses the start of a datagram and returns the rest.
    ///
    /// # Errors
    ///
    /// If there are fewer than 24 bytes, or the version differs.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), WireError> {
        if datagram.len() < Self::BYTES {
            return Err(WireError::Truncated { have: datagram.len(), need: Self::BYTES });
        }
        let (header, body) = datagram.split_at(Self::BYTES);
        let mut r = Reader::new(header);
        match r.u8()? {
            Self::VERSION => {}
            found => return Err(WireError::Version { found }),
        }
        let (kind, part) = (r.u8()?, r.u16()?);
        let (epoch, number, time) = (r.u32()?, r.u64()?, Time::from_ps(r.i64()?));
        let (flags, kind) = (kind >> 4, kind & 0xf);
        Ok((Self { kind, flags, part: part & 0x7fff, last: part >> 15 == 1, epoch, number, time }, body))
    }
    /// The same header for another part.
    pub(super) fn whole(&self) -> Self {
        Self { part: 0, last: false, ..*self }
    }
}

/// The content of a message after its header: a fixed piece, then items that are never split.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    bytes: Vec<u8>,
    /// The end of each piece; the fixed one is the first.
    ends: Vec<usize>,
}

impl Body {
    /// Appends the low `length` bytes of a number.
    pub(super) fn put(&mut self, number: u64, length: usize) {
        put(&mut self.bytes, number, length);
    }
    /// Ends the fixed piece, or an item.
    pub(super) fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }
    /// Splits the content into datagrams, each as full as possible.
    pub(super) fn datagrams(&self, header: Header) -> Result<Vec<Vec<u8>>, EncodeError> {
        let (mut parts, mut start, mut upto) = (Vec::new(), 0, 0);
        for &end in &self.ends {
            if end - start > ROOM {
                parts.push(start..upto);
                start = upto;
            }
            upto = end;
        }
        parts.push(start..upto);
        if parts.len() > MAX_PARTS {
            return Err(EncodeError::Parts { parts: parts.len() });
        }
        let last = parts.len() - 1;
        let datagram = |(i, range): (usize, core::ops::Range<usize>)| {
            let header = Header { part: i as u16, last: i == last, ..header };
            [&header.encode(), &self.bytes[range]].concat()
        };
        Ok(parts.into_iter().enumerate().map(datagram).collect())
    }
}

/// Checks that a number fits its field.
pub(super) fn within(what: &'static str, value: u64, most: u64) -> Result<u64, EncodeError> {
    if value <= most { Ok(value) } else { Err(EncodeError::Range { what, value, most }) }
}
