//! Data frames of live agents.
//!
//! They carry streams, repairs and IP packets, and wait for slots.

use super::bytes::Reader;
use super::error::WireError;
use super::ethernet::{self, MacAddress};
use super::pair_key::PairKey;
use timeplane_model::HostId;

/// The second of two EtherTypes for local experiments (IEEE 802).
pub const ETHER_TYPE_DATA: u16 = 0x88b6;

/// The class of frames without a gate: repair reports.
pub const UNGATED: u16 = u16::MAX;

/// The offset of a repair that gives a stream up.
pub const GIVEN_UP: u64 = u64::MAX;

/// The content of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// A piece of a stream.
    Stream,
    /// A repair: what a receiver of a stream has and lacks; [`UNGATED`].
    Repair,
    /// An IP packet between TUN interfaces.
    Packet,
}

/// The header of a data frame, behind Ethernet's.
///
/// | byte | length | field |
/// | --- | --- | --- |
/// | 0 | 6 | destination |
/// | 6 | 6 | source |
/// | 12 | 2 | EtherType 0x88B6 |
/// | 14 | 1 | version: 1 |
/// | 15 | 1 | kind: 1 stream, 2 repair, 3 packet |
/// | 16 | 2 | the class whose gate it waits for (11 bits), bit 11: it goes [by circuit](crate::numbering::CIRCUIT); 0xffff: none |
/// | 18 | 2 | bytes of the payload |
/// | 20 | 4 | the host that sends it |
/// | 24 | 4 | epoch of its agent |
/// | 28 | 4 | stream, counted by the sender of the stream; zero for packets |
/// | 32 | 2 | port at which the receiver of the stream listens; zero for packets |
/// | 34 | 1 | zero |
/// | 35 | 1 | 1 if the frame is sealed, otherwise zero |
/// | 36 | 8 | offset of the payload in the stream; number of a packet; for repairs, their number (4 B) and the epoch of the sending agent (4 B) |
/// | 44 | 8 | length of the stream, all bits set while it is not known; zero for packets |
///
/// The payload of a repair is the offset below which everything has arrived (8 B), then missing
/// ranges with start and end (8 B each). Epoch and stream are those of the stream's sender. The end
/// of a stream counts as one more byte, so that it can be missing and arrive as well. The offset
/// [`GIVEN_UP`] means that the receiver, or, with length zero, the sender gives the stream up.
/// A sealed frame has a tag behind its payload ([`PairKey`]). Frames may be padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// The destination's MAC address.
    pub destination: MacAddress,
    /// The source's MAC address.
    pub source: MacAddress,
    /// The kind of content.
    pub kind: DataKind,
    /// The class of its gate, with [`CIRCUIT`](crate::numbering::CIRCUIT) for the circuit switch.
    pub class: u16,
    /// Bytes behind the header.
    pub payload: u16,
    /// The number of the sending host.
    pub host: HostId,
    /// Counts the starts of the agent that sends the stream.
    pub epoch: u32,
    /// The stream's number at that agent.
    pub stream: u32,
    /// The receiver's port.
    pub port: u16,
    /// Whether a [tag](PairKey) follows the payload.
    pub sealed: bool,
    /// The offset of the payload in the stream.
    pub offset: u64,
    /// The stream's length, once it is known.
    pub length: Option<u64>,
}

impl DataHeader {
    /// Bytes with Ethernet's header.
    pub const BYTES: usize = 52;
    /// The version of the layout.
    pub const VERSION: u8 = 1;

    /// Encodes the header; the payload follows.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut frame = [0; Self::BYTES];
        frame[..6].copy_from_slice(&self.destination.0);
        frame[6..12].copy_from_slice(&self.source.0);
        frame[12..14].copy_from_slice(&ETHER_TYPE_DATA.to_be_bytes());
        frame[14] = Self::VERSION;
        frame[15] = match self.kind {
            DataKind::Stream => 1,
            DataKind::Repair => 2,
            DataKind::Packet => 3,
        };
        frame[16..18].copy_from_slice(&self.class.to_be_bytes());
        frame[18..20].copy_from_slice(&self.payload.to_be_bytes());
        frame[20..24].copy_from_slice(&self.host.0.to_be_bytes());
        frame[24..28].copy_from_slice(&self.epoch.to_be_bytes());
        frame[28..32].copy_from_slice(&self.stream.to_be_bytes());
        frame[32..34].copy_from_slice(&self.port.to_be_bytes());
        frame[35] = u8::from(self.sealed);
        frame[36..44].copy_from_slice(&self.offset.to_be_bytes());
        frame[44..52].copy_from_slice(&self.length.unwrap_or(u64::MAX).to_be_bytes());
        frame
    }

    /// Reads what all data frames start with: destination, source and the number of their kind.
    pub(super) fn read_start(r: &mut Reader<'_>) -> Result<(MacAddress, MacAddress, u8), WireError> {
        let (destination, source, found) = ethernet::read_header(r)?;
        if found != ETHER_TYPE_DATA {
            return Err(WireError::EtherType { found, expected: ETHER_TYPE_DATA });
        }
        match r.u8()? {
            Self::VERSION => Ok((destination, source, r.u8()?)),
            found => Err(WireError::Version { found }),
        }
    }

    /// Parses a frame and returns its payload without padding.
    ///
    /// # Errors
    ///
    /// If it is truncated, has another EtherType, version or kind, or exceeds the stream's end.
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut r = Reader::new(frame);
        let (destination, source, kind) = Self::read_start(&mut r)?;
        let kind = match kind {
            1 => DataKind::Stream,
            2 => DataKind::Repair,
            3 => DataKind::Packet,
            found => return Err(WireError::Kind { found }),
        };
        let (class, payload, host) = (r.u16()?, r.u16()?, HostId(r.u32()?));
        let (epoch, stream, port) = (r.u32()?, r.u32()?, r.u16()?);
        r.zeros(1)?;
        let sealed = match r.u8()? {
            0 => false,
            1 => true,
            _ => return Err(WireError::Value { at: 35, what: "neither sealed nor unsealed" }),
        };
        let (offset, length) = (r.u64()?, r.u64()?);
        let bytes = r.slice(usize::from(payload))?;
        if sealed {
            r.slice(PairKey::TAG)?;
        }
        let length = Some(length).filter(|&l| l != u64::MAX);
        let end = offset.checked_add(u64::from(payload));
        if kind == DataKind::Stream && end.is_none_or(|end| length.is_some_and(|l| end > l)) {
            return Err(WireError::Value { at: 36, what: "bytes beyond the stream's end" });
        }
        let header =
            Self { destination, source, kind, class, payload, host, epoch, stream, port, sealed, offset, length };
        Ok((header, bytes))
    }
}

/// Everything below the first number has arrived; then come missing ranges with starts and ends.
pub fn encode_repair(contiguous: u64, missing: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
    let mut payload = contiguous.to_be_bytes().to_vec();
    for (from, to) in missing {
        payload.extend_from_slice(&from.to_be_bytes());
        payload.extend_from_slice(&to.to_be_bytes());
    }
    payload
}

/// Parses the payload of a repair.
///
/// # Errors
///
/// If it is truncated, or ranges are empty, out of order, or below the first number.
pub fn parse_repair(payload: &[u8]) -> Result<(u64, Vec<(u64, u64)>), WireError> {
    let mut r = Reader::new(payload);
    let contiguous = r.u64()?;
    let (mut missing, mut least) = (Vec::new(), contiguous);
    while !r.is_empty() {
        let at = r.at();
        let (from, to) = (r.u64()?, r.u64()?);
        if from < least || to <= from {
            return Err(WireError::Disordered { at });
        }
        least = to;
        missing.push((from, to));
    }
    Ok((contiguous, missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_are_read_as_they_are_written(
            kind in prop_oneof![Just(DataKind::Stream), Just(DataKind::Repair), Just(DataKind::Packet)],
            (class, host, epoch, stream, port) in any::<(u16, u32, u32, u32, u16)>(),
            offset in 0u64..1 << 60, more in proptest::option::of(0u64..1000),
            payload in proptest::collection::vec(any::<u8>(), 0..200), padding in 0usize..20, sealed: bool,
        ) {
            let length = more.map(|m| offset + payload.len() as u64 + m);
            let header = DataHeader {
                destination: MacAddress([1; 6]), source: MacAddress([2; 6]), kind, class, payload: payload.len() as u16,
                host: HostId(host), epoch, stream, port, sealed, offset, length,
            };
            let tag = vec![9; if sealed { PairKey::TAG } else { 0 }];
            let frame = [&header.encode()[..], &payload, &tag, &vec![0; padding]].concat();
            prop_assert_eq!(DataHeader::parse(&frame), Ok((header, &payload[..])));
            let least = DataHeader::BYTES + payload.len() + tag.len();
            prop_assert!(DataHeader::parse(&frame[..least]).is_ok());
            prop_assert!(DataHeader::parse(&frame[..least - 1]).is_err());
        }

        #[test]
        fn repairs_are_read_as_they_are_written(contiguous: u32, steps in proptest::collection::vec((1u64..100, 1u64..100), 0..90)) {
            let mut at = u64::from(contiguous);
            let missing: Vec<(u64, u64)> = steps.iter().map(|(skip, long)| { let from = at + skip; at = from + long; (from, at) }).collect();
            let payload = encode_repair(u64::from(contiguous), missing.iter().copied());
            prop_assert_eq!(parse_repair(&payload), Ok((u64::from(contiguous), missing.clone())));
            if let Some(first) = missing.first() {
                let backwards = encode_repair(first.0 + 1, missing.iter().copied());
                prop_assert!(parse_repair(&backwards).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = parse_repair(&bytes);
            if bytes.len() > 16 {
                bytes[12..16].copy_from_slice(&[0x88, 0xb6, 1, 1]);
            }
            if let Ok((header, payload)) = DataHeader::parse(&bytes) {
                prop_assert_eq!(usize::from(header.payload), payload.len());
            }
        }
    }
}
